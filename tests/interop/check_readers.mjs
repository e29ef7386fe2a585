// Reads exports with what they are made for: speedscope's own importer and the Firefox Profiler's own.
//
//     node check_readers.mjs FOLDER
//
// FOLDER has the same recording's exports: export.folded, .pprof, .speedscope and .firefox. Of each, the time in
// all must be that of the folded stacks (which the unit tests compare with the ledger). Needs the packages
// speedscope and @firefox-devtools/profiler-cli; exits with 1 at the first difference.

import { execFileSync } from "node:child_process";
import fs from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import vm from "node:vm";

const folder = path.resolve(process.argv[2]);
const require = createRequire(path.join(folder, "node_modules", "here.js"));
const file = (kind) => path.join(folder, `export.${kind}`);

function check(condition, text) {
  if (!condition) {
    console.error(`check_readers: ${text}`);
    process.exit(1);
  }
}

const lines = fs.readFileSync(file("folded"), "utf8").trim().split("\n");
const wanted = lines.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(" ") + 1)), 0);
check(wanted > 0, "there is nothing in the folded stacks");

// Whatever is asked of it, it gives itself: a page for a program that only wants to show one.
function page() {
  const answers = { [Symbol.toPrimitive]: () => "", [Symbol.iterator]: () => [].values(), length: 0 };
  const get = (_, name) => (name in answers ? answers[name] : page());
  return new Proxy(function () {}, { get, set: () => true, apply: page, construct: page });
}

// speedscope comes as a page's script. Its importer is a module in there, which is handed out as it is loaded.
async function speedscope() {
  const release = path.join(path.dirname(require.resolve("speedscope/package.json")), "dist/release");
  const name = fs.readdirSync(release).find((name) => /^speedscope-.*\.js$/.test(name));
  const script = fs.readFileSync(path.join(release, name), "utf8");
  const importer = /\((\w+),\{[^}]*importProfilesFromArrayBuffer:/.exec(script)?.[1];
  const loading = new RegExp(`Promise\\.resolve\\(\\)\\.then\\(\\(\\)=>\\(\\w+\\(\\),${importer}\\)\\);`);
  check(importer && loading.test(script), "speedscope's importer is not where it was");
  const own = { console: { log() {}, warn() {}, error() {} }, TextDecoder, TextEncoder, URL, setTimeout, clearTimeout };
  const world = vm.createContext({ ...own, document: page(), navigator: page(), location: page() });
  world.window = world.self = world;
  world.addEventListener = () => {};
  const enough = "the page itself is not wanted";
  try {
    vm.runInContext(script.replace(loading, (found) => `globalThis.importer=${found}throw "${enough}";`), world);
  } catch (error) {
    if (error !== enough) throw error;
  }
  return world.importer;
}

async function check_speedscope(importer, kind) {
  const bytes = fs.readFileSync(file(kind));
  const buffer = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length);
  const group = await importer.importProfilesFromArrayBuffer(`export.${kind}`, buffer);
  check(group && group.profiles.length > 0, `speedscope sees nothing in ${kind}`);
  let sum = 0;
  for (const profile of group.profiles) {
    sum += profile.getTotalWeight();
    let frames = 0;
    profile.forEachFrame(() => (frames += 1));
    check(frames > 0, `speedscope sees a thread without frames in ${kind}`);
  }
  check(Math.abs(sum - wanted) <= 1e-6 * wanted, `speedscope reads ${sum} ns of ${kind}, and not ${wanted}`);
  console.log(`speedscope       ${kind.padEnd(12)} ${group.profiles.length} profiles, ${sum} ns`);
}

function check_firefox() {
  const program = require.resolve("@firefox-devtools/profiler-cli");
  const env = { ...process.env, PROFILER_CLI_SESSION_DIR: fs.mkdtempSync("/tmp/readers-") };
  const ask = (...words) => execFileSync(process.execPath, [program, ...words], { env, encoding: "utf8" });
  const told = (...words) => JSON.parse(ask(...words, "--json"));
  try {
    ask("load", file("firefox"));
    const info = told("profile", "info", "--all");
    const threads = info.processes.flatMap((process) => process.threads);
    let [sum, on_cpu] = [0, 0];
    for (const thread of threads) {
      sum += told("thread", "samples", "--include-idle", "--thread", thread.threadHandle).categoryBreakdown.totalSamples;
      on_cpu += thread.cpuMs;
    }
    check(Math.abs(sum * 1e6 - wanted) <= 1e-6 * wanted, `the Firefox Profiler reads ${sum} ms, and not ${wanted} ns`);
    check(on_cpu > 0 && on_cpu <= sum, `the Firefox Profiler reads ${on_cpu} ms on a processor, of ${sum}`);
    check(info.platform.startsWith("Linux"), `the Firefox Profiler takes the platform for ${info.platform}`);
    console.log(`Firefox Profiler ${"firefox".padEnd(12)} ${threads.length} threads, ${sum} ms, ${on_cpu} on a processor`);
  } finally {
    ask("stop", "--all");
    fs.rmSync(env.PROFILER_CLI_SESSION_DIR, { recursive: true });
  }
}

const importer = await (await speedscope());
for (const kind of ["speedscope", "pprof", "folded"]) await check_speedscope(importer, kind);
check_firefox();
