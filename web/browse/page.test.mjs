// The page as a person uses it, in a browser: against what the terminal says, by keyboard alone, with names that mean harm.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import http from "node:http";
import path from "node:path";
import { after, before, test } from "node:test";
import { ask, launch, open, settled, view, VIEWS } from "./browser.mjs";
import { file, fileWithSource, folder, FRESH_NAMES, make, recording, says, serve, serveWith, timesink } from "./recordings.mjs";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
let browser;
before(async () => {
  make();
  browser = await launch();
});
after(() => browser?.close());

const DRAWN = ["hostile", "one-span", "a-day", "many-threads", "bad-weather"];

/** Serves for as long as something is done. */
async function served(names, work) {
  const server = await serve(...names.map(recording));
  try {
    return await work(server);
  } finally {
    await server.end();
  }
}

async function opened(address, work, options) {
  const { page, context, faults } = await open(browser, address, options);
  try {
    await work(page, faults);
    assert.deepEqual(faults, []);
  } finally {
    await context.close();
  }
}

/** What the page says of itself, in text. */
const textOf = (page) => page.evaluate(() => document.getElementById("app").innerText);

for (const name of [...FRESH_NAMES, ...DRAWN]) {
  test(`every view of ${name} opens, served and as a file`, async () => {
    const each = async (page) => {
      for (const one of VIEWS) {
        await view(page, one);
        const shown = await page.evaluate(() => document.querySelector("main").innerText.trim());
        assert.ok(shown.length > 0, `${one} is empty`);
        assert.equal(await page.locator("[role=alert]").count(), 0, `${one} is refused: ${shown}`);
        const wide = await page.evaluate(() => document.documentElement.scrollWidth > innerWidth);
        assert.equal(wide, false, `${one} is wider than the window`);
      }
    };
    await served([name], ({ address }) => opened(address, each));
    await opened(file(name), each);
  });
}

for (const name of FRESH_NAMES) {
  test(`the page of ${name} says what the terminal says`, async () => {
    const terminal = says("report", recording(name));
    for (const how of ["served", "file"]) {
      const check = async (page) => {
        await settled(page);
        const titles = await page.locator("article h3").allInnerTexts();
        const saves = await page.locator("article .saves").allInnerTexts();
        titles.forEach((title, at) => {
          const line = terminal.split("\n").find((line) => line.includes(title.replace(/^\d+\. /, "")));
          if (at < 5) assert.ok(line?.includes(saves[at]), `${how}: ${title}: ${saves[at]}: ${line}`);
        });
        const rows = await page.locator("table[aria-label='The critical path by state'] tbody tr").evaluateAll((rows) =>
          rows.map((row) => [...row.cells].slice(0, 3).map((cell) => cell.innerText.trim())));
        assert.ok(rows.length > 0);
        for (const [label, time, share] of rows.slice(0, 3)) {
          const line = terminal.split("\n").find((line) => line.startsWith(`  ${label} `));
          if (line !== undefined) assert.ok(line.includes(time) && line.includes(share), `${how}: ${label} ${time} ${share}: ${line}`);
        }
        assert.ok(rows.some(([label]) => terminal.includes(`  ${label} `)));
      };
      if (how === "file") await opened(file(name), check);
      else {
        await served([name], async ({ address }) => {
          await opened(address, async (page) => {
            await check(page);
            const { text } = await ask(page, "/api/answer");
            assert.equal(text, terminal);
          });
        });
      }
    }
  });
}

test("what a finding is about is shown in the other views, and back goes back", async () => {
  await opened(file("nightly-import"), async (page) => {
    await settled(page);
    const first = page.locator("article").first();
    await first.getByRole("button", { name: "Show in the timeline" }).click();
    await settled(page);
    assert.ok((await page.locator("section[aria-label=Selected]").innerText()).includes("nightly-import"));
    const link = page.url();
    await page.goBack();
    assert.equal(await page.getByRole("tab", { name: "Answer" }).getAttribute("aria-selected"), "true");
    await page.goForward();
    assert.equal(await page.getByRole("tab", { name: "Timeline" }).getAttribute("aria-selected"), "true");
    // The address alone leads there, too.
    await page.goto("about:blank");
    await page.goto(link);
    await page.waitForSelector("section[aria-label=Selected]");
    await view(page, "Answer");
    await first.getByRole("button", { name: "Show the code" }).click();
    await settled(page);
    assert.ok((await textOf(page)).includes("✕"), "one function is chosen");
  });
});

test("the source that a finding names is shown where it may be: served, and in a file that was asked to keep it", async () => {
  const source = readFileSync(new URL("../../demo/nightly-import.c", import.meta.url), "utf8").split("\n");
  const check = async (page) => {
    await settled(page);
    const shown = page.locator("article").first().locator(".source .here").first();
    const [number, ...text] = (await shown.innerText()).replace("▸", "").trim().split(/\s+/);
    assert.equal(text.join(" "), source[Number(number) - 1].trim().split(/\s+/).join(" "));
  };
  await served(["nightly-import"], ({ address }) => opened(address, check));
  await opened(fileWithSource("nightly-import"), check);
  await opened(file("nightly-import"), async (page) => {
    await settled(page);
    assert.equal(await page.locator(".source").count(), 0);
  });
});

test("a time that is chosen narrows the flame graph", async () => {
  await served(["nightly-import"], ({ address }) =>
    opened(address, async (page) => {
      await view(page, "Flame graph");
      const all = await page.locator(".bar", { hasText: "in all threads" }).innerText();
      await view(page, "Timeline");
      for (let i = 0; i < 6; i++) await page.keyboard.press("w");
      await view(page, "Flame graph");
      const part = await page.locator(".bar", { hasText: "in all threads" }).innerText();
      assert.notEqual(all, part);
      assert.ok((await textOf(page)).includes("of the time ✕"));
    }));
});

test("all of it can be reached by keyboard alone", async () => {
  await opened(file("python-thread-pool"), async (page) => {
    await settled(page);
    const selected = () => page.locator("[role=tab][aria-selected=true]").innerText();
    await page.keyboard.press("2");
    assert.equal(await selected(), "Timeline");
    const shown = async () => (await page.locator("main .bar").first().innerText()).match(/(\S+ \S+) shown/)?.[1];
    const before = await shown();
    await page.keyboard.press("w");
    await page.keyboard.press("d");
    await settled(page);
    assert.notEqual(await shown(), before);
    await page.keyboard.press("f");
    await settled(page);
    assert.equal(await shown(), before);
    await page.keyboard.press("?");
    await page.waitForSelector("dialog[open]");
    await page.keyboard.press("Escape");
    await page.waitForSelector("dialog[open]", { state: "detached" });
    await page.keyboard.press("/");
    await page.keyboard.type("Thread");
    assert.equal(await page.evaluate(() => document.activeElement?.getAttribute("type")), "search");
    await page.keyboard.press("Escape");
    await page.keyboard.press("3");
    assert.equal(await selected(), "Flame graph");
    await page.locator("[role=tab][aria-selected=true]").focus();
    await page.keyboard.press("ArrowRight");
    assert.equal(await selected(), "Files & calls");
  });
});

test("a change that is ticked is predicted, with the gain that the report tells", async () => {
  await served(["nightly-import"], ({ address }) =>
    opened(address, async (page) => {
      await settled(page);
      const saves = await page.locator("article .saves").first().innerText();
      await view(page, "What if");
      const tick = page.locator("fieldset").first().locator("label").first();
      assert.ok((await tick.innerText()).includes(saves), `${saves}: ${await tick.innerText()}`);
      await tick.locator("input").check();
      await page.waitForSelector("section[aria-label=Prediction]");
      const gain = await ask(page, "/api/predict?changes=0:0");
      const { findings } = JSON.parse(says("report", recording("nightly-import"), "--json"));
      assert.deepEqual([gain.gain.ns, gain.gain.lo_ns, gain.gain.hi_ns], [findings[0].gain.ns, findings[0].gain.lo_ns, findings[0].gain.hi_ns]);
      // Any set, and a part of one.
      await page.locator("input[type=range]").first().fill("50");
      await page.waitForFunction(() => document.querySelector("section[aria-label=Prediction] .faint")?.textContent?.includes("50 %"));
    }));
});

test("two recordings are compared, and what differs adds up", async () => {
  const check = async (page) => {
    // Who opens two wants to see what differs.
    await settled(page);
    assert.equal(await page.locator("[role=tab][aria-selected=true]").innerText(), "Compare");
    const rows = await page.locator("table.waterfall tbody tr").evaluateAll((rows) => rows.map((row) => row.cells[1].innerText));
    assert.ok(rows.length >= 3, `${rows}`);
    assert.ok((await textOf(page)).includes("faster"));
  };
  await opened(file("nightly-import", "one-flush"), check);
  await served(["nightly-import", "one-flush"], ({ address }) =>
    opened(address, async (page) => {
      await check(page);
      const compare = await ask(page, "/api/compare");
      const sum = compare.rows.reduce((sum, row) => sum + row.difference_ns, compare.not_attributed_ns);
      assert.equal(sum, compare.difference_ns);
      assert.equal(compare.text, says("diff", recording("nightly-import"), recording("one-flush"), "--full"));
    }));
});

test("several recordings of each side are compared, served and as a file", async () => {
  const [first, second] = [["nightly-import", "python-thread-pool"], ["one-flush", "nightly-import"]].map((side) => side.map(recording));
  const text = says("diff", "--full", ...first, "--", ...second);
  const check = async (page) => {
    await view(page, "Compare");
    for (const name of ["nightly-import", "python-thread-pool", "one-flush"]) assert.ok((await textOf(page)).includes(name), name);
    const head = await page.locator("main h2").first().innerText();
    assert.ok(text.includes(head), `${head}\n${text}`);
  };
  const server = await serve(...first, "--", ...second);
  try {
    await opened(server.address, check);
  } finally {
    await server.end();
  }
  const out = recording("sets.html");
  rmSync(out, { force: true });
  says("diff", ...first, "--html", out, "--", ...second);
  await opened(`file://${out}`, check);
});

test("what was lost, and that a recording was cut short, is said", async () => {
  const check = async (page) => {
    await settled(page);
    const terminal = says("report", recording("bad-weather"));
    for (const text of ["its last second is missing"]) assert.ok((await textOf(page)).includes(text) && terminal.includes(text), text);
    await view(page, "Checks");
    assert.match(await textOf(page), /1,204/);
    assert.match(await textOf(page), /a ring was full; some spans are not known/);
  };
  await served(["bad-weather"], ({ address }) => opened(address, check));
  await opened(file("bad-weather"), check);
});

test("a recording that timesink was killed over is mended as it is opened", async () => {
  const killed = recording("killed");
  const recorder = spawn(timesink, ["run", "--quiet", "-o", killed, "--", "sleep", "1"], { stdio: "ignore" });
  const ended = new Promise((done) => recorder.once("exit", done));
  // While the program sleeps.
  await new Promise((done) => setTimeout(done, 700));
  recorder.kill("SIGKILL");
  await ended;
  await new Promise((done) => setTimeout(done, 700));
  const says_so = async (page) => {
    await settled(page);
    assert.match(await textOf(page), /cut short|mended/);
  };
  await opened(file("killed"), says_so);
  await served(["killed"], ({ address }) => opened(address, says_so));
});

for (const colorScheme of ["light", "dark"]) {
  test(`axe finds no serious fault, ${colorScheme}`, async () => {
    await opened(file("nightly-import", "one-flush"), async (page) => {
      for (const one of [...VIEWS, "Compare"]) {
        await view(page, one);
        // As the console would: the page's own policy lets nobody's script in.
        const found = await page.evaluate(`${axe}; axe.run(document, { resultTypes: ["violations"] })`);
        const serious = found.violations.filter((fault) => fault.impact === "serious" || fault.impact === "critical");
        assert.deepEqual(serious.map((fault) => `${one}: ${fault.id}: ${fault.nodes[0]?.html}`), []);
      }
    }, { colorScheme });
  });
}

for (const width of [390, 1280, 3840]) {
  test(`the page fits ${width} pixels`, async () => {
    await opened(file("nightly-import", "one-flush"), async (page) => {
      for (const one of [...VIEWS, "Compare"]) {
        await view(page, one);
        const over = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
        assert.ok(over <= 0, `${one} is ${over} pixels too wide`);
      }
    }, { viewport: { width, height: width < 500 ? 844 : 1000 } });
  });
}

test("charts fill the paper that they are printed on", async () => {
  await opened(file("nightly-import"), async (page) => {
    for (const tab of ["Timeline", "Flame graph"]) {
      await view(page, tab);
      const high = (await page.locator(".chart canvas").first().boundingBox()).height;
      await page.emulateMedia({ media: "print" });
      const box = await page.locator(".chart canvas").first().boundingBox();
      const shown = await page.evaluate(() => innerWidth);
      assert.ok(Math.abs(box.width - shown) < 2, `${tab}: ${box.width} of ${shown} pixels`);
      assert.ok(box.height > high / 2, `${tab}: ${box.height} of ${high} pixels high`);
      await page.emulateMedia({ media: "screen" });
    }
  }, { viewport: { width: 794, height: 1123 } });
});

test("names that mean harm are text and nothing else", async () => {
  const check = async (page) => {
    for (const one of VIEWS) {
      await view(page, one);
      const found = await page.evaluate(() => ({
        owned: window.owned,
        elements: document.querySelectorAll("#app img, #app script, #app svg, #app iframe, #app b, #app i, #app a[href^=javascript]").length,
        turned: /[\u200e\u200f\u202a-\u202e\u2066-\u2069]/.test(document.body.innerText),
      }));
      assert.deepEqual(found, { owned: undefined, elements: 0, turned: false }, one);
    }
    await view(page, "Answer");
    for (const evidence of await page.getByRole("button", { name: "Evidence" }).all()) await evidence.click();
    // Each file and socket, and each of their calls.
    await view(page, "Files & calls");
    const links = await page.locator("table button.link").count();
    assert.ok(links >= 4, `${links}`);
    for (let at = 0; at < links; at++) {
      await page.locator("table button.link").nth(at).click();
      await settled(page);
      const back = page.getByRole("button", { name: "← All files" });
      if ((await back.count()) > 0) {
        for (const site of await page.locator("details summary").all()) await site.click();
        await back.click();
        await settled(page);
      }
    }
    assert.equal(await page.evaluate(() => window.owned), undefined);
  };
  await opened(file("hostile"), check);
  await served(["hostile"], ({ address }) => opened(address, check));
  await opened(file("hostile"), async (page) => {
    assert.equal(await page.locator("img, script[src]").count(), 0);
    assert.ok((await page.locator("#plain").innerText()).includes("WHY IT TOOK"));
  }, { javaScriptEnabled: false });
});

/** Asks with a request made by hand. */
const asked = (origin, path, headers = {}, method = "GET") =>
  new Promise((done, fail) => {
    const request = http.request(`${origin}${path}`, { method, headers }, (response) => {
      let text = "";
      response.on("data", (bytes) => (text += bytes));
      response.on("end", () => done({ status: response.statusCode, headers: response.headers, text }));
    });
    request.once("error", fail);
    request.end();
  });

test("only who has the token is answered, from no other site, under no other name", async () => {
  await served(["one-span"], async ({ address, origin }) => {
    const query = new URL(address).search;
    const own = { "timesink-token": query.slice("?token=".length) };
    const status = async (...how) => (await asked(origin, ...how)).status;
    assert.equal(await status("/api/overview", own), 200);
    assert.equal(await status(`/${query}`), 200);
    assert.equal(await status("/"), 403);
    assert.equal(await status("/", own), 403);
    assert.equal(await status("/api/overview"), 403);
    assert.equal(await status("/plain"), 403);
    assert.equal(await status("/?token=00000000000000000000000000000000"), 403);
    assert.equal(await status("/api/overview", { "timesink-token": own["timesink-token"].slice(0, -1) }), 403);
    assert.equal(await status("/api/overview", { ...own, origin: "http://evil.example" }), 403);
    assert.equal(await status("/api/overview", { ...own, origin: "null" }), 403);
    assert.equal(await status("/api/overview", { ...own, host: "evil.example" }), 403);
    assert.equal(await status("/api/overview", { ...own, host: `evil.example:${new URL(origin).port}` }), 403);
    assert.equal(await status("/api/overview", own, "POST"), 405);
    for (const path of ["/api/", "/api/../etc/passwd", "/api/%2e%2e/etc/passwd", "/api/path?tile=0&level=0", "/api/overview?x=1"]) {
      assert.ok([400, 404].includes(await status(path, own)), path);
    }
    assert.equal(await status("/etc/passwd", own), 404);
    assert.equal(await status("/api/thing?id=12345", own), 404);
    assert.equal(await status("/api/b/overview", own), 404);
    const page = await asked(origin, `/${query}`);
    // A cookie would go to whoever listens on another port of this machine.
    assert.equal(page.headers["set-cookie"], undefined);
    assert.equal(page.headers["x-frame-options"], "DENY");
    assert.equal(page.headers["cache-control"], "no-store");
    assert.match(page.text, /Content-Security-Policy/);
  });
});

test("the address that a browser is started with leads to the page once", async () => {
  const bin = path.join(folder, "bin");
  rmSync(bin, { recursive: true, force: true });
  mkdirSync(bin);
  writeFileSync(path.join(bin, "xdg-open"), `#!/bin/sh\necho "$1" > ${path.join(bin, "told")}\n`, { mode: 0o755 });
  const server = await serveWith({ DISPLAY: ":9", PATH: `${bin}:${process.env.PATH}` }, recording("one-span"));
  try {
    let told = "";
    while (told === "") {
      await new Promise((done) => setTimeout(done, 20));
      try { told = readFileSync(path.join(bin, "told"), "utf8").trim(); } catch { /* not yet */ }
    }
    assert.notEqual(told, server.address);
    const { search } = new URL(told);
    const first = await asked(server.origin, `/${search}`);
    assert.equal(first.status, 303);
    assert.equal(`${server.origin}${first.headers.location}`, server.address);
    assert.equal((await asked(server.origin, `/${search}`)).status, 403);
    assert.equal((await asked(server.origin, "/api/overview", { "timesink-token": search.slice("?token=".length) })).status, 403);
  } finally {
    await server.end();
  }
});

test("where scripts do not run, the answer is there as plain HTML", async () => {
  await served(["nightly-import"], ({ address }) =>
    opened(address, async (page) => {
      await page.waitForURL("**/plain?token=*");
      assert.ok((await page.locator("pre").innerText()).includes("WHY IT TOOK"));
    }, { javaScriptEnabled: false }));
});

test("two pages at once, in one browser, do not take each other's place", async () => {
  await served(["one-span"], (one) =>
    served(["a-day"], async (other) => {
      const { page, context } = await open(browser, one.address);
      const second = await context.newPage();
      await second.goto(other.address);
      await second.waitForSelector("nav.tabs");
      await view(page, "Checks");
      await view(second, "Checks");
      assert.ok((await textOf(page)).includes("one-span"));
      assert.ok((await textOf(second)).includes("a-day"));
      await context.close();
    }));
});

test("a port that is in use is said to be", async () => {
  await served(["one-span"], async ({ origin }) => {
    const { port } = new URL(origin);
    await assert.rejects(serve(recording("a-day"), "--port", port), new RegExp(`port ${port}.*--port`));
  });
});

test("a recording that is deleted while it is open stays open", async () => {
  says("pack", recording("bash-subshells"), "-o", `${recording("bash-subshells")}.tar`);
  const server = await serve(`${recording("bash-subshells")}.tar`);
  try {
    await opened(server.address, async (page) => {
      rmSync(`${recording("bash-subshells")}.tar`);
      for (const one of VIEWS) {
        await view(page, one);
        assert.equal(await page.locator("[role=alert]").count(), 0, one);
      }
    });
  } finally {
    await server.end();
  }
});

test("a server ends when no page is open any more", async () => {
  const server = await serve("--idle", "2s", recording("one-span"));
  await opened(server.address, settled);
  assert.equal(await server.ended, 0);
});

test("a server that is ended is said to be gone", async () => {
  const server = await serve(recording("one-span"));
  const { page, context } = await open(browser, server.address);
  await server.end();
  await page.getByRole("tab", { name: "Checks" }).click();
  await page.waitForSelector("[role=alert]");
  assert.ok((await textOf(page)).includes("no longer answers"));
  await context.close();
});
