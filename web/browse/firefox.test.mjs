// The page in Firefox: each view opens, draws and says what it says in Chromium.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import puppeteer from "puppeteer-core";
import { settled, twoFrames, VIEWS } from "./browser.mjs";
import { file, make, recording, says, serve } from "./recordings.mjs";

let browser;
before(async () => {
  make();
  browser = await puppeteer.launch({ browser: "firefox", executablePath: process.env.FIREFOX ?? "/usr/bin/firefox-esr", headless: true });
});
after(() => browser?.close());

/** How many colours a chart has: one that was not drawn has one. */
const coloursOf = (page) =>
  page.evaluate(() => {
    const canvas = document.querySelector("main canvas");
    if (canvas === null) return null;
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    const colours = new Set();
    for (let at = 0; at < data.length; at += 4) colours.add((data[at] << 16) | (data[at + 1] << 8) | data[at + 2]);
    return colours.size;
  });

async function look(address) {
  const page = await browser.newPage();
  const faults = [];
  page.on("pageerror", (fault) => faults.push(String(fault)));
  page.on("console", (message) => message.type() === "error" && faults.push(message.text()));
  await page.setViewport({ width: 1280, height: 900 });
  await page.goto(address);
  await page.waitForSelector("[role=tab]");
  await settled(page);
  await page.evaluate(() => [...document.querySelectorAll("[role=tab]")].find((tab) => tab.innerText === "Answer").click());
  await settled(page);
  const title = await page.evaluate(() => document.querySelector("article h3").innerText.replace(/^\d+\. /, ""));
  assert.ok(says("report", recording("nightly-import")).includes(title), title);
  for (const one of [...VIEWS, "Compare"]) {
    await page.evaluate((name) => [...document.querySelectorAll("[role=tab]")].find((tab) => tab.innerText === name).click(), one);
    await settled(page);
    assert.equal(await page.evaluate(() => document.querySelector("[role=alert]")?.innerText ?? null), null, one);
    assert.ok((await page.evaluate(() => document.querySelector("main").innerText.trim().length)) > 0, one);
    if (["Timeline", "Flame graph", "Compare"].includes(one)) {
      await page.waitForFunction(() => document.querySelector("main canvas") !== null);
      await twoFrames(page);
      assert.ok((await coloursOf(page)) > 4, one);
    }
  }
  assert.deepEqual(faults, []);
  await page.close();
}

test("every view opens in Firefox, as a file", () => look(file("nightly-import", "one-flush")));

test("every view opens in Firefox, served", async () => {
  const server = await serve(recording("nightly-import"), recording("one-flush"));
  try {
    await look(server.address);
  } finally {
    await server.end();
  }
});
