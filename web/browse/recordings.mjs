// What is looked at: recordings that were drawn, and some that are made now. `make page-test` says where the programs are.
import { execFileSync, spawn } from "node:child_process";
import { mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import path from "node:path";

const root = fileURLToPath(new URL("../..", import.meta.url));
const from = (name, usual) => path.resolve(root, process.env[name] ?? usual);
export const timesink = from("TIMESINK", "target/release/timesink");
const drawn = from("DRAWN", "target/release/examples/drawn");
const demo = from("DEMO", "target/demo");
export const folder = from("PAGES", "target/pages");

const casebook = path.join(root, "casebook");

/** What timesink prints. */
export function says(...words) {
  return execFileSync(timesink, words, { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"], maxBuffer: 1 << 28 });
}

const FRESH = {
  "nightly-import": { at: demo, command: ["./nightly-import", "data.txt"] },
  "one-flush": { at: demo, command: ["./one-flush", "data.txt"] },
  // Of the casebook: many processes, threads that take turns, and waits.
  "bash-subshells": { at: folder, command: ["bash", `${casebook}/bash-subshells/report.sh`, "slow", "requests.log"] },
  "python-thread-pool": { at: folder, command: ["python3", `${casebook}/python-thread-pool/pool.py`, "threads"] },
  "waits-by-looking": { at: folder, command: ["python3", `${casebook}/waits-by-looking/deploy.py`, "looks"] },
};

/** All of them, made anew. */
export function make() {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const lines = Array.from({ length: 200 }, (_, n) => `customer${(n * 7) % 20} /index.html ${(n * 7919) % 9000}\n`);
  writeFileSync(path.join(folder, "requests.log"), lines.join(""));
  const texts = path.join(root, "web/browse/drawn");
  for (const text of readdirSync(texts)) {
    execFileSync(drawn, [path.join(texts, text), path.join(folder, path.basename(text, ".txt"))]);
  }
  for (const [name, { at, command }] of Object.entries(FRESH)) {
    execFileSync(timesink, ["run", "--quiet", "-o", path.join(folder, name), "--", ...command], { cwd: at, stdio: "ignore" });
  }
}

export const recording = (name) => path.join(folder, name);
export const FRESH_NAMES = Object.keys(FRESH);

/** The page of a recording as a file. */
export function file(name, ...beside) {
  const out = path.join(folder, `${name}.html`);
  rmSync(out, { force: true });
  const other = beside.flatMap((name) => ["--beside", name]);
  // By names as short as a user's: pictures are made of it.
  execFileSync(timesink, ["report", name, "--html", out, ...other], { cwd: folder, stdio: "ignore" });
  return `file://${out}`;
}

/** The same with the lines of source that findings name. */
export function fileWithSource(name) {
  const out = path.join(folder, `${name}-with-source.html`);
  rmSync(out, { force: true });
  execFileSync(timesink, ["report", recording(name), "--html", out, "--with-source"], { cwd: root, stdio: "ignore" });
  return `file://${out}`;
}

/** A server of some recordings, as `timesink open` makes it; `end` ends it. */
export const serve = (...words) => serving(["--no-browser", ...words], process.env);

/** The same where a browser can be started. */
export const serveWith = (environment, ...words) => serving(words, { ...process.env, ...environment });

async function serving(words, env) {
  const child = spawn(timesink, ["open", ...words], { cwd: root, env, stdio: ["ignore", "pipe", "pipe"] });
  let [said, complaint] = ["", ""];
  child.stderr.on("data", (bytes) => (complaint += bytes));
  const ended = new Promise((done) => child.once("exit", (code) => done(code)));
  const address = await new Promise((done, fail) => {
    child.stdout.on("data", (bytes) => {
      said += bytes;
      if (said.includes("\n")) done(said.trim());
    });
    void ended.then((code) => fail(new Error(`timesink open ended with ${code}: ${complaint}`)));
  });
  return {
    address,
    origin: new URL(address).origin,
    ended,
    end: async () => {
      child.kill();
      await ended;
    },
  };
}
