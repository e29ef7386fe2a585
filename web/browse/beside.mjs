// The same recording in this page and in the pages of others, by what timesink exports for them: how soon something is to be seen, and how
// long a step of zooming takes. Rounds in turn, medians.
//
//     TIMESINK=target/release/timesink node web/browse/beside.mjs RECORDING SPEEDSCOPE FIREFOX_PROFILER
//
// SPEEDSCOPE is the folder dist/release of the npm package, FIREFOX_PROFILER the folder dist of a checkout after `yarn build-prod`.
import { execFileSync } from "node:child_process";
import { createReadStream, existsSync, mkdtempSync, rmSync, statSync } from "node:fs";
import http from "node:http";
import { tmpdir } from "node:os";
import path from "node:path";
import { launch, middle, twoFrames } from "./browser.mjs";

const timesink = process.env.TIMESINK ?? "target/release/timesink";
const ROUNDS = Number(process.env.ROUNDS ?? 7);
const [recording, speedscope, firefox] = process.argv.slice(2);
const folder = mkdtempSync(path.join(tmpdir(), "timesink-beside-"));
const TYPES = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".json": "application/json", ".wasm": "application/wasm", ".svg": "image/svg+xml" };

/** Serves a folder, and for all that is not in it its index.html, as pages with views of their own want it. */
function served(root) {
  const server = http.createServer((request, response) => {
    const asked = path.join(root, path.normalize(decodeURIComponent(new URL(request.url, "http://here").pathname)));
    const found = existsSync(asked) && statSync(asked).isFile() ? asked : path.join(root, "index.html");
    response.writeHead(200, { "content-type": TYPES[path.extname(found)] ?? "application/octet-stream", "access-control-allow-origin": "*" });
    createReadStream(found).pipe(response);
  });
  return new Promise((done) => server.listen(0, "127.0.0.1", () => done({ server, origin: `http://127.0.0.1:${server.address().port}` })));
}

const exported = (format) => {
  const out = path.join(folder, `${format}.json`);
  execFileSync(timesink, ["export", recording, "--to", format, "-o", out]);
  return `${format}.json`;
};
const data = await served(folder);
const html = path.join(folder, "timesink.html");
execFileSync(timesink, ["report", recording, "--html", html]);
const address = (name) => encodeURIComponent(`${data.origin}/${name}`);

const pages = [{ name: "timesink, a file", url: `file://${html}#tab=timeline`, isThere: ".chart[aria-busy=false] canvas" }];
const others = [];
if (speedscope !== undefined) {
  const { server, origin } = await served(speedscope);
  others.push(server);
  pages.push({ name: "speedscope", url: `${origin}/index.html#profileURL=${address(exported("speedscope"))}`, isThere: "canvas" });
}
if (firefox !== undefined) {
  const { server, origin } = await served(firefox);
  others.push(server);
  pages.push({ name: "Firefox Profiler", url: `${origin}/from-url/${address(exported("firefox"))}/stack-chart/`, isThere: "canvas.stackChartCanvas" });
}

const browser = await launch();
const sums = new Map(pages.map(({ name }) => [name, { first: [], zoom: [] }]));
for (let round = 0; round < ROUNDS; round++) {
  for (const { name, url, isThere } of pages) {
    const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
    const page = await context.newPage();
    const began = performance.now();
    await page.goto(url);
    await page.waitForSelector(isThere, { timeout: 120_000 });
    await twoFrames(page);
    sums.get(name).first.push(performance.now() - began);
    const place = await page.locator(isThere).first().boundingBox();
    if (round === 0 && process.env.SHOTS) await page.screenshot({ path: path.join(process.env.SHOTS, `${name.replace(/\W/g, "-")}.png`) });
    await page.mouse.move(place.x + place.width / 2, place.y + Math.min(place.height / 2, 300));
    await page.keyboard.down("Control");
    for (let step = 0; step < 10; step++) {
      const pressed = performance.now();
      await page.mouse.wheel(0, step < 5 ? -120 : 120);
      await twoFrames(page);
      sums.get(name).zoom.push(performance.now() - pressed);
    }
    await page.keyboard.up("Control");
    await context.close();
  }
}
for (const [name, { first, zoom }] of sums) {
  console.log(`${name}: first view ${middle(first).toFixed(0)} ms (${Math.min(...first).toFixed(0)}-${Math.max(...first).toFixed(0)}); a step of zooming ${middle(zoom).toFixed(0)} ms (longest ${Math.max(...zoom).toFixed(0)})`);
}
await browser.close();
for (const server of [data.server, ...others]) server.close();
rmSync(folder, { recursive: true });
