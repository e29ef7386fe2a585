// Starts the page: where its data are, what was recorded, and the rest follows.

import { render } from "preact";
import { App } from "./App";
import { Recording } from "./data/recording";
import { FileSource, ServedSource, type Source } from "./data/source";
import { show } from "./store";
import "./style.css";

const CONTRACT = 1;
const ALIVE_MS = 10 * 1000;

async function start(root: Element): Promise<void> {
  const isServed = document.documentElement.dataset.mode === "served";
  const served = isServed ? new ServedSource(new URLSearchParams(location.search).get("token") ?? "") : null;
  const source: Source = served ?? new FileSource(document);
  document.getElementById("plain")?.setAttribute("hidden", "");
  render(<App error={null} />, root);
  // Who serves it ends when no page is open any more.
  if (served !== null) setInterval(() => void served.fetch("/alive").catch(() => undefined), ALIVE_MS);
  try {
    const a = new Recording(source, "a");
    const overview = await a.overview();
    if (overview.contract !== CONTRACT) throw new Error("This page and its data are of different versions of timesink.");
    const b = overview.has.b ? new Recording(source, "b") : null;
    show({ a, overview, b: b === null ? null : { recording: b, overview: await b.overview() } });
    performance.mark("timesink-loaded");
  } catch (fault) {
    document.getElementById("plain")?.removeAttribute("hidden");
    render(<App error={fault instanceof Error ? fault.message : String(fault)} />, root);
  }
}

const root = document.getElementById("app");
if (root !== null) void start(root);
