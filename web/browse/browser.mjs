// A browser that is driven, and what it must never say.
import { chromium } from "playwright-core";
import { existsSync } from "node:fs";

const PLACES = [process.env.CHROMIUM, "/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
const executablePath = PLACES.find((path) => path && existsSync(path));
if (executablePath === undefined) throw new Error("no Chromium: apt-get install chromium");

// Inside a container of root there is no sandbox to be had; what is opened is our own.
export const launch = () => chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu"] });

/** Opens a page and keeps what goes wrong in it. */
export async function open(browser, address, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
  const page = await context.newPage();
  const faults = [];
  page.on("pageerror", (fault) => faults.push(String(fault)));
  page.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning") faults.push(message.text());
  });
  page.on("dialog", (dialog) => {
    faults.push(`a dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  await page.goto(address);
  if (options.javaScriptEnabled !== false) await page.waitForSelector("nav.tabs");
  return { page, context, faults };
}

export const VIEWS = ["Answer", "Timeline", "Flame graph", "Files & calls", "What if", "Checks"];

/** Goes to a view and waits until all that it asks is there. */
export async function view(page, name) {
  await page.getByRole("tab", { name, exact: true }).click();
  await settled(page);
}

export async function settled(page) {
  await page.waitForFunction(() => document.querySelector("nav.tabs") !== null && document.querySelector("[role=status], [aria-busy=true]") === null);
  // Charts are drawn with the next frames.
  await twoFrames(page);
}

export const twoFrames = (page) => page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));

/** The median, of an even number the upper one. */
export const middle = (values) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)];

/** What a page's server answers, asked as the page asks. */
export function ask(page, path) {
  return page.evaluate(
    (path) => fetch(path, { headers: { "timesink-token": new URLSearchParams(location.search).get("token") } }).then((answer) => answer.json()),
    path,
  );
}
