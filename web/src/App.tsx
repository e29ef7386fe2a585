// The page: what is at its top, its views, and keys.

import { useEffect, useRef, useState } from "preact/hooks";
import type { Code } from "./generated/model";
import { fileName } from "./logic/flame";
import { TABS, type Tab } from "./logic/address";
import { moved, zoomed } from "./logic/tiles";
import { time } from "./logic/units";
import { Help } from "./parts/Help";
import { go, goTo, loaded, range, state, theme, whole, type Loaded } from "./store";
import { Answer } from "./views/Answer";
import { Checks } from "./views/Checks";
import { Compare } from "./views/Compare";
import { Flame } from "./views/Flame";
import { Things } from "./views/Things";
import { Timeline } from "./views/Timeline";
import { WhatIf } from "./views/WhatIf";

const TITLES: Record<Tab, string> = {
  answer: "Answer", timeline: "Timeline", flame: "Flame graph", things: "Files & calls", whatif: "What if", compare: "Compare", checks: "Checks",
};

export function App(props: { error: string | null }) {
  const now = loaded.value;
  if (props.error !== null) return <p class="warning" role="alert">{props.error}</p>;
  if (now === null) return <p class="faint" role="status">Reading the recording …</p>;
  return <Page loaded={now} />;
}

/** The code, once a view needs it. */
function useCode(now: Loaded): Code | null {
  const [code, setCode] = useState<Code | null>(null);
  const isNeeded = state.value.tab !== "answer" && now.overview.has.stacks;
  useEffect(() => {
    if (isNeeded && code === null) void now.a.code().then(setCode, () => undefined);
  }, [isNeeded]);
  return code;
}

function Page(props: { loaded: Loaded }) {
  const now = props.loaded;
  const { overview } = now;
  const { tab } = state.value;
  const code = useCode(now);
  const [isHelp, setHelp] = useState(false);
  const search = useRef<HTMLInputElement>(null);
  const tabs = TABS.filter((one) => one !== "compare" || now.b !== null);
  useKeys(tabs, search, () => setHelp(true));
  const view = () => {
    switch (tab) {
      case "timeline": return <Timeline recording={now.a} overview={overview} code={code} />;
      case "flame": return <Flame recording={now.a} overview={overview} code={code} />;
      case "things": return <Things recording={now.a} overview={overview} code={code} />;
      case "whatif": return <WhatIf recording={now.a} overview={overview} />;
      case "checks": return <Checks recording={now.a} overview={overview} />;
      case "compare": return now.b === null ? <Answer recording={now.a} overview={overview} /> : <Compare loaded={{ ...now, b: now.b }} code={code} />;
      case "answer": return <Answer recording={now.a} overview={overview} />;
    }
  };
  return (
    <div class="page">
      <header class="top">
        <h1 title={overview.name}>{fileName(overview.name)}</h1>
        <span>{time(overview.wall_ns)}</span>
        <span class="facts mono" title={overview.command.join(" ")}>{overview.command.join(" ")}</span>
        <input ref={search} type="search" placeholder="Search ( / )" aria-label="Search functions, threads, files and calls" value={state.value.search} onInput={(event) => go({ search: event.currentTarget.value })} />
        <button type="button" onClick={flip} aria-label={theme.value === "dark" ? "Light colours" : "Dark colours"}>{theme.value === "dark" ? "☀" : "☾"}</button>
        <button type="button" onClick={() => setHelp(true)} aria-label="Keys">?</button>
      </header>
      <nav class="tabs" role="tablist" aria-label="Views" onKeyDown={(event) => alongTabs(event, tabs)}>
        {tabs.map((one) => (
          <button key={one} id={`tab-${one}`} type="button" role="tab" aria-selected={tab === one} aria-controls="view" tabIndex={tab === one ? 0 : -1} onClick={() => go({ tab: one })}>{TITLES[one]}</button>
        ))}
      </nav>
      <main id="view" role="tabpanel" aria-labelledby={`tab-${tab}`}>{view()}</main>
      <Help isOpen={isHelp} close={() => setHelp(false)} />
    </div>
  );
}

const flip = () => {
  theme.value = theme.value === "dark" ? "light" : "dark";
};

/** Arrow keys in the row of views, as everywhere. */
function alongTabs(event: KeyboardEvent, tabs: readonly Tab[]): void {
  const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
  const next = tabs[(tabs.indexOf(state.value.tab) + step + tabs.length) % tabs.length];
  if (step === 0 || next === undefined) return;
  event.preventDefault();
  go({ tab: next });
  requestAnimationFrame(() => document.getElementById(`tab-${next}`)?.focus());
}

function useKeys(tabs: readonly Tab[], search: { current: HTMLInputElement | null }, help: () => void): void {
  useEffect(() => {
    const middle = () => (range.value.from + range.value.until) / 2;
    const zoom = (factor: number) => goTo(zoomed(whole.value, range.value, middle(), factor));
    const move = (share: number) => goTo(moved(whole.value, range.value, share));
    const onKey = (event: KeyboardEvent) => {
      const target = event.target as HTMLElement;
      if (event.key === "Escape") {
        target.blur();
        go({ thread: null, at: null, function: null });
        return;
      }
      if (event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(target.tagName)) return;
      const tab = /^[1-9]$/.test(event.key) ? tabs[Number(event.key) - 1] : undefined;
      if (tab !== undefined) go({ tab });
      else if (event.key === "w" || event.key === "W") zoom(1 / 1.4);
      else if (event.key === "s" || event.key === "S") zoom(1.4);
      else if (event.key === "a" || event.key === "A") move(-0.15);
      else if (event.key === "d" || event.key === "D") move(0.15);
      else if (event.key === "f" || event.key === "F") goTo(whole.value);
      else if (event.key === "t" || event.key === "T") flip();
      else if (event.key === "[" || event.key === "]") dispatchEvent(new CustomEvent("timesink-step", { detail: event.key === "]" ? 1 : -1 }));
      else if (event.key === "/") search.current?.focus();
      else if (event.key === "?") help();
      else return;
      event.preventDefault();
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, [tabs.length]);
}
