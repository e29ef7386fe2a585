// How soon the page is there, how smoothly it zooms and moves, and how much memory it takes, with large recordings. Beside it an empty
// canvas of the same size, which is what this machine's drawing allows.
//
//     TIMESINK=target/release/timesink node web/browse/speed.mjs RECORDING...
import { execFileSync, spawn } from "node:child_process";
import { rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { ask, launch, middle, twoFrames } from "./browser.mjs";

const timesink = process.env.TIMESINK ?? "target/release/timesink";
const ROUNDS = Number(process.env.ROUNDS ?? 7);
const browser = await launch();

/** Until the timeline is drawn with all its tiles. */
async function timeline(page) {
  await page.waitForSelector(".chart canvas");
  await twoFrames(page);
  await page.waitForSelector(".chart[aria-busy=false]");
  await twoFrames(page);
}

/** From starting timesink to the first view, as who types it sees it. */
async function served(recording) {
  const began = performance.now();
  const child = spawn(timesink, ["open", "--no-browser", recording], { stdio: ["ignore", "pipe", "ignore"] });
  const address = await new Promise((done) => child.stdout.once("data", (bytes) => done(String(bytes).trim())));
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
  const own = new URL(address);
  own.hash = "tab=timeline";
  await page.goto(own.href);
  await timeline(page);
  return { page, child, ms: performance.now() - began };
}

async function asFile(address) {
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
  const began = performance.now();
  await page.goto(`${address}#tab=timeline`);
  await timeline(page);
  return { page, ms: performance.now() - began };
}

/** Frames while it is zoomed in and out and moved, in milliseconds. */
async function frames(page, keys) {
  const measured = page.evaluate(
    (length) =>
      new Promise((done) => {
        const times = [];
        let last = performance.now();
        const end = last + length;
        const frame = (now) => {
          times.push(now - last);
          last = now;
          if (now < end) requestAnimationFrame(frame);
          else done(times.slice(1));
        };
        requestAnimationFrame(frame);
      }),
    3000,
  );
  const until = Date.now() + 2900;
  for (let at = 0; Date.now() < until; at++) {
    await page.keyboard.press(keys[at % keys.length]);
    await page.waitForTimeout(16);
  }
  return measured;
}

/** From another time being chosen to the view that shows it, in the views that depend on it. */
async function chosenTime(page) {
  const told = {};
  const { from_ns: begin, until_ns: end } = await ask(page, "/api/overview");
  for (const tab of ["timeline", "flame"]) {
    const times = [];
    for (let round = 0; round < ROUNDS; round++) {
      const length = (end - begin) / 2 ** (round + 1);
      const from = begin + ((end - begin - length) * (round + 1)) / (ROUNDS + 1);
      times.push(
        await page.evaluate(async (hash) => {
          const frame = () => new Promise((done) => requestAnimationFrame(done));
          const began = performance.now();
          location.hash = hash;
          do await frame();
          while (document.querySelector("[role=status], [aria-busy=true]") !== null);
          await frame();
          return performance.now() - began;
        }, `tab=${tab}&from=${Math.floor(from)}&until=${Math.ceil(from + length)}`),
      );
    }
    told[tab] = times;
  }
  return told;
}

async function empty() {
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
  await page.setContent("<canvas width=1280 height=650></canvas>");
  await page.evaluate(() => {
    const context = document.querySelector("canvas").getContext("2d");
    const draw = (now) => {
      context.fillStyle = now % 2 < 1 ? "#fff" : "#fefefe";
      context.fillRect(0, 0, 1280, 650);
      requestAnimationFrame(draw);
    };
    requestAnimationFrame(draw);
  });
  const times = await frames(page, ["w"]);
  await page.close();
  return times;
}

const told = (times) => `median ${middle(times).toFixed(1)} ms, longest ${Math.max(...times).toFixed(1)} ms, ${(1000 / (times.reduce((sum, one) => sum + one, 0) / times.length)).toFixed(0)}/s`;
console.log(`empty canvas: frames ${told(await empty())}`);
const IN_AND_OUT = ["w", "w", "w", "w", "w", "w", "w", "w", "d", "d", "a", "s", "s", "s", "s", "s", "s", "s", "s"];
for (const recording of process.argv.slice(2)) {
  const first = [];
  for (let round = 0; round < ROUNDS; round++) {
    const { page, child, ms } = await served(recording);
    first.push(ms);
    if (round === ROUNDS - 1) {
      console.log(`${recording}: served, frames ${told(await frames(page, IN_AND_OUT))}`);
      const memory = await page.evaluate(() => performance.memory?.usedJSHeapSize ?? 0);
      await page.keyboard.press("3");
      await page.waitForFunction(() => document.querySelector("[role=status]") === null && document.querySelector(".chart canvas") !== null);
      for (const [tab, times] of Object.entries(await chosenTime(page))) {
        console.log(`${recording}: another time, ${tab}: ${times.map((ms) => ms.toFixed(0)).join(" ")} ms, median ${middle(times).toFixed(0)}`);
      }
      console.log(`${recording}: memory of scripts ${(memory / 1e6).toFixed(0)} MB`);
    }
    await page.close();
    child.kill();
  }
  console.log(`${recording}: served, from the command to the timeline: ${first.map((ms) => ms.toFixed(0)).join(" ")} ms, median ${middle(first).toFixed(0)}`);
  const out = path.join(tmpdir(), `timesink-speed-${process.pid}.html`);
  rmSync(out, { force: true });
  const began = performance.now();
  execFileSync(timesink, ["report", recording, "--html", out]);
  console.log(`${recording}: the file is made in ${((performance.now() - began) / 1000).toFixed(1)} s and has ${(statSync(out).size / 1e6).toFixed(1)} MB`);
  const files = [];
  for (let round = 0; round < ROUNDS; round++) {
    const { page, ms } = await asFile(`file://${out}`);
    files.push(ms);
    if (round === ROUNDS - 1) console.log(`${recording}: file, frames ${told(await frames(page, IN_AND_OUT))}`);
    await page.close();
  }
  console.log(`${recording}: file, to the timeline: ${files.map((ms) => ms.toFixed(0)).join(" ")} ms, median ${middle(files).toFixed(0)}`);
  rmSync(out);
}
await browser.close();
