#!/usr/bin/env python3
"""Programs as package registries have them, slow and fixed: does timesink tell the cause that is on public record?

    pairs.py check                      all pairs are complete; how many there are, by language and kind
    pairs.py verify open|sealed [NAME]  without timesink: installs, and times slow and fixed in turn
    pairs.py open [NAME...]             records the open pairs and judges what is told
    pairs.py sealed                     the same for the sealed ones; --write docs/pairs.md
    pairs.py tasks [NAME...]            the same for small programs of goroutines and coroutines, written for this
    pairs.py repeat [NAME...]           records slow forms of open pairs five times: is the first finding the same?

bench/pairs/README.md tells what a pair.toml says. What is installed lies below target/pairs. Recording needs root.
Nothing is retried: each recording is a first try, and a program that fails counts as not told.
"""

import argparse
import contextlib
import ctypes
import datetime
import functools
import json
import os
import shutil
import signal
import socket
import statistics
import string
import subprocess
import sys
import threading
import time
import tomllib
from pathlib import Path

from pairs_judge import Told, judge_fixed, judge_slow, same_first

BENCH = Path(__file__).resolve().parent
PAIRS = BENCH / "pairs"
TARGET = BENCH.parent / "target/pairs"
TIMESINK = BENCH.parent / "target/release/timesink"
# Where this machine has its certificates is for installing; a program that is run reads its own.
CERTIFICATES = ("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")
# How many programs `repeat` takes.
REPEATED = 20
# A run that takes longer than this has failed.
RUN_LIMIT_S = 120
FORMS = ("slow", "fixed")
KINDS = ("waiting", "cpu", "healthy", "everyday")
HALVES = ("open", "sealed", "tasks", "everyday")
INSTALLED = ("pip", "npm", "cargo", "crates", "go", "gobin", "maven", "setup")
FORM_KEYS = {*INSTALLED, "run", "env"}
TOP_KEYS = {"title", "language", "kind", "record", "cause", "packages", "install", "data", "prepare", "server", "expect", "verified", "expert", "judged", *FORMS}
EXPECT_KEYS = {"rules", "words", "object", "place", "fixed_may", "may"}
SERVER_KEYS = {"run", "port", "ready", "recorded", "env"}


class Pair:
    """One folder below bench/pairs/open or bench/pairs/sealed."""

    def __init__(self, folder):
        self.folder, self.name = folder, folder.name
        with open(folder / "pair.toml", "rb") as file:
            self.table = tomllib.load(file)
        self.kind, self.expect = self.table["kind"], self.table.get("expect", {})
        self.forms = [form for form in FORMS if form in self.table]
        self.root = TARGET / self.name
        self.data, self.work = self.root / "data", self.root / "work"

    def needs(self, form):
        """What a form needs installed: its own and what both need."""
        both, own = self.table.get("install", {}), self.table[form]
        return {key: [*both.get(key, []), *own.get(key, [])] for key in INSTALLED if key in both or key in own}

    def home(self, form):
        """Where it is installed: once, if both forms need the same."""
        alike = len({json.dumps(self.needs(form)) for form in self.forms}) == 1
        return self.root / ("both" if alike else form)

    def environment(self, form, table=None):
        home = self.home(form)
        values = {"PAIR": str(self.folder), "HERE": str(home), "DATA": str(self.data), "FORM": form,
                  "SERVICES": str(PAIRS / "services"), "BENCH": str(BENCH)}
        if "server" in self.table and "port" in self.table["server"]:
            values["PORT"] = str(self.table["server"]["port"])
        paths = [home / "venv/bin", home / "node_modules/.bin", home / "bin"]
        environment = {
            **os.environ, **values,
            "PATH": os.pathsep.join([*(str(path) for path in paths if path.is_dir()), os.environ["PATH"]]),
            "NODE_PATH": str(home / "node_modules"),
            "CLASSPATH": f"{home}/classes:{home}/jars/*",
        }
        # A shell's own; `$_` in a command is Perl's.
        environment.pop("_", None)
        for key, value in {**self.table[form].get("env", {}), **(table or {}).get("env", {})}.items():
            environment[key] = expanded(value, environment)
        return environment


def expanded(text, environment):
    """$NAME and ${NAME} of the environment given; what it does not have stays."""
    return string.Template(text).safe_substitute(environment)


# ---------------------------------------------------------------- installing

def shell(line, folder, environment):
    done = subprocess.run(["bash", "-euc", line], cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        raise RuntimeError(f"{line}\n{done.stdout[-2000:]}")


def pom(artifacts):
    """A Maven project that does nothing but depend."""
    row = "<dependency><groupId>{}</groupId><artifactId>{}</artifactId><version>{}</version></dependency>"
    rows = "".join(row.format(*artifact.split(":")) for artifact in artifacts)
    return ("<project><modelVersion>4.0.0</modelVersion><groupId>pair</groupId><artifactId>pair</artifactId>"
            f"<version>1</version><dependencies>{rows}</dependencies></project>")


def steps(pair, needs):
    """Shell lines that install what is needed, run in the folder where it is to lie."""
    if "pip" in needs:
        yield f"{sys.executable} -m venv venv"
        if needs["pip"]:
            yield "venv/bin/pip install -q --disable-pip-version-check " + " ".join(f"'{one}'" for one in needs["pip"])
    if needs.get("npm"):
        yield "npm install --no-fund --no-audit --loglevel=error --prefix . " + " ".join(f"'{one}'" for one in needs["npm"])
    for one in needs.get("cargo", []):
        name, version = one.split("@")
        yield f"cargo install -q --locked --root . --version ={version} {name}"
    if needs.get("crates"):
        rows = "\n".join(needs["crates"])
        manifest = f'[package]\nname = "pair"\nversion = "1.0.0"\nedition = "2021"\n[profile.release]\ndebug = 1\n[dependencies]\n{rows}\n[workspace]\n'
        yield f"mkdir -p src bin && cat > Cargo.toml <<'END'\n{manifest}END\ncp {pair.folder}/main.rs src/main.rs"
        yield "cargo build -q --release && cp target/release/pair bin/"
    if "go" in needs:
        yield f"mkdir -p bin && cp {pair.folder}/main.go . && rm -f go.mod go.sum && go mod init pair 2>/dev/null"
        yield "".join(f"go get {one} && " for one in needs["go"]) + "go mod tidy && go build -o bin/pair ."
    for one in needs.get("gobin", []):
        yield f"GOBIN=$PWD/bin go install {one}"
    if needs.get("maven"):
        yield f"cat > pom.xml <<'END'\n{pom(needs['maven'])}\nEND"
        yield "mvn -q -B org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies -DoutputDirectory=jars"
    if list(pair.folder.glob("*.java")):
        yield f"mkdir -p classes && javac -g -nowarn -cp 'jars/*' -d classes {pair.folder}/*.java"
    yield from needs.get("setup", [])


def packages(names):
    """Debian's packages that are missing."""
    def missing(name):
        state = subprocess.run(["dpkg-query", "-W", "-f", "${db:Status-Status}", name], capture_output=True, text=True)
        return state.stdout != "installed"

    wanted = [name for name in names if missing(name)]
    if wanted:
        environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive", "RUNLEVEL": "1"}
        install = ["apt-get", "install", "-q", "-y", "--no-install-recommends", *wanted]
        if subprocess.run(install, env=environment, stdout=subprocess.DEVNULL).returncode:
            subprocess.run(["apt-get", "update", "-q"], check=True, stdout=subprocess.DEVNULL)
            subprocess.run(install, env=environment, check=True, stdout=subprocess.DEVNULL)


def install(pair):
    packages(pair.table.get("packages", []))
    sources = {file.name: file.read_text(errors="replace") for file in sorted(pair.folder.iterdir()) if file.is_file()}
    del sources["pair.toml"]
    lines = json.dumps(pair.table.get("data", []))
    ready = pair.root / "data.json"
    if not ready.exists() or ready.read_text() != lines:
        shutil.rmtree(pair.data, ignore_errors=True)
        pair.data.mkdir(parents=True)
        for line in pair.table.get("data", []):
            shell(line, pair.data, pair.environment(pair.forms[0]))
        ready.write_text(lines)
    for form in pair.forms:
        home, needs = pair.home(form), pair.needs(form)
        built = {"crates", "go", "setup"} & set(needs) or any(name.endswith(".java") for name in sources)
        wanted = json.dumps([needs, sources if built else None])
        ready = home / "ready.json"
        if ready.exists() and ready.read_text() == wanted:
            continue
        shutil.rmtree(home, ignore_errors=True)
        home.mkdir(parents=True)
        for line in steps(pair, needs):
            shell(line, home, pair.environment(form))
        ready.write_text(wanted)


# ---------------------------------------------------------------- running

class Server:
    """What a form talks to, started before it. Its wall time is not counted."""

    def __init__(self, pair, form):
        self.pair, self.form, self.table, self.process = pair, form, pair.table.get("server"), None

    def __enter__(self):
        if not self.table:
            return self
        environment = self.pair.environment(self.form, self.table)
        command = [expanded(word, environment) for word in self.table["run"]]
        log = open(self.pair.root / "server.log", "wb")
        self.process = subprocess.Popen(command, cwd=self.pair.work, env=environment, stdin=subprocess.DEVNULL,
                                        stdout=log, stderr=log, start_new_session=True)
        for _ in range(300):
            if self.process.poll() is not None:
                raise RuntimeError(f"server ended: {(self.pair.root / 'server.log').read_text(errors='replace')[-1500:]}")
            if self.ready(environment):
                time.sleep(0.3)
                return self
            time.sleep(0.1)
        self.__exit__()
        raise RuntimeError(f"server does not listen on {self.table['port']}")

    def ready(self, environment):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", self.table["port"])):
                return False
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        return subprocess.run(["sh", "-c", self.table.get("ready", "true")], env=environment, **quiet).returncode == 0

    def __exit__(self, *_):
        if not self.process:
            return
        for number in (signal.SIGTERM, signal.SIGKILL):
            try:
                os.killpg(self.process.pid, number)
            except ProcessLookupError:
                pass
            try:
                self.process.wait(10)
                return
            except subprocess.TimeoutExpired:
                continue

    def recorded(self):
        return ["--with", str(self.process.pid)] if self.table and self.table.get("recorded") else []


def run(pair, form, recorder=lambda server: []):
    """One run in an empty folder; its wall time in seconds."""
    shutil.rmtree(pair.work, ignore_errors=True)
    pair.work.mkdir(parents=True)
    environment = {name: value for name, value in pair.environment(form).items() if name not in CERTIFICATES}
    for line in pair.table.get("prepare", []):
        shell(line, pair.work, environment)
    command = [expanded(word, environment) for word in pair.table[form]["run"]]
    found = shutil.which(command[0], path=environment["PATH"])
    if not found:
        raise RuntimeError(f"{command[0]} is not on the path")
    with Server(pair, form) as server, open(pair.root / "output.txt", "wb") as output, nothing_left():
        full = [*recorder(server), found, *command[1:]]
        began = time.monotonic()
        process = subprocess.Popen(full, cwd=pair.work, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=output)
        status = wait(process)
        took = time.monotonic() - began
    if status:
        raise RuntimeError(f"exit {status}: {(pair.root / 'output.txt').read_text(errors='replace')[-1500:]}")
    return took


@contextlib.contextmanager
def nothing_left():
    """Ends what a run leaves behind, such as workers whose parent alone was killed: they would serve the next one."""
    PR_SET_CHILD_SUBREAPER = 36
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    before = children()
    try:
        yield
    finally:
        while left := children() - before:
            for pid in left:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)


def children():
    """The processes that this one has to wait for."""
    own = Path(f"/proc/self/task/{threading.get_native_id()}/children")
    return set(map(int, own.read_text().split()))


def wait(process):
    """Its exit status, at the moment of its exit. With a timeout, subprocess looks every 50 ms: programs of 30 to 60 ms took 63."""
    limit = threading.Timer(RUN_LIMIT_S, process.kill)
    limit.start()
    try:
        return process.wait()
    finally:
        limit.cancel()


def record(pair, form, timesink):
    """What timesink tells of one run."""
    file = pair.root / f"{form}.timesink"
    shutil.rmtree(file, ignore_errors=True)
    run(pair, form, lambda server: [str(timesink), "run", "-q", *server.recorded(), "-o", str(file), "--"])
    report = subprocess.run([str(timesink), "report", str(file), "--json"], check=True, capture_output=True, text=True)
    return Told.of(json.loads(report.stdout))


# What a fix saves is measured by so many bare runs of each form, or as many as there are recordings, if these are more: with three, a disk
# that was slow twice made a fixed form slower than the slow one (2026-11-26).
BARE_ROUNDS = 7


def measure(pair, rounds, timesink):
    """Bare runs of both forms and recordings of both, in turn."""
    row = {"bare": {form: [] for form in pair.forms}, "told": {form: [] for form in pair.forms}, "failed": []}
    for turn in range(max(rounds, BARE_ROUNDS) if timesink else rounds):
        for form in pair.forms:
            for act in ("bare", "told"):
                try:
                    if act == "bare":
                        row["bare"][form].append(run(pair, form))
                    elif timesink and turn < rounds:
                        row["told"][form].append(record(pair, form, timesink).row())
                except (RuntimeError, subprocess.SubprocessError) as error:
                    row["failed"].append(f"{form}, {act}: {error}")
    return row


# ---------------------------------------------------------------- telling

def verdict(pair, row, rounds):
    """What a pair's recordings amount to. A recording that failed told nothing."""
    bare = {form: statistics.median(times) for form, times in row["bare"].items() if times}
    told = {form: [Told(**one) for one in rows] for form, rows in row["told"].items()}
    share = 1 - bare["fixed"] / bare["slow"] if len(bare) == 2 else None
    result = {"name": pair.name, "language": pair.table["language"], "kind": pair.kind, "rounds": rounds, "bare": bare, "saves": share}
    judged = [judge_slow(pair.expect, one, share) for one in told["slow"]] if pair.kind != "healthy" else []
    quiet = "slow" if pair.kind == "healthy" else "fixed"
    accused = [judge_fixed(pair.expect, one, pair.kind == "healthy") for one in told.get(quiet, [])]
    return {**result, "judged": judged, "accused": accused, "failed": row["failed"]}


def percent(value):
    return "" if value is None else f"{value:.0%}"


def table(verdicts):
    yield "| pair | language | kind | bare | cause first | first finding | saves, predicted | saves, measured | within | accused |"
    yield "|---|---|---|---|---|---|---|---|---|---|"
    for one in verdicts:
        judged, rounds = one["judged"], one["rounds"]
        bare = " -> ".join(f"{one['bare'][form]:.2f}" for form in FORMS if form in one["bare"]) + " s"
        first = sorted({judged_one["first"] for judged_one in judged})
        gains = [judged_one["gain"] for judged_one in judged if judged_one["gain"]]
        spans = "; ".join(f"{gain[0]:.0%} ({gain[1]:.0%} to {gain[2]:.0%})" for gain in gains[:1])
        right = f"{sum(judged_one['right'] for judged_one in judged)} of {rounds}" if one["kind"] != "healthy" else ""
        within = f"{sum(bool(judged_one['within']) for judged_one in judged)} of {rounds}" if one["saves"] is not None else ""
        accused = "; ".join(sorted({title for titles in one["accused"] for title in titles})) or "no"
        yield (f"| {one['name']} | {one['language']} | {one['kind']} | {bare} | {right} | {'; '.join(first)} | {spans} "
               f"| {percent(one['saves'])} | {within} | {accused}{' **failed**' if one['failed'] else ''} |")


def summary(verdicts):
    """The four figures that pairs are for."""
    slow = [one for one in verdicts if one["kind"] != "healthy"]
    whole = sum(len(one["judged"]) == one["rounds"] and all(told["right"] for told in one["judged"]) for one in slow)
    judged = [told for one in slow for told in one["judged"]]
    right = [told for told in judged if told["right"]]
    recordings = sum(one["rounds"] for one in slow)
    widths = [gain[2] / gain[1] for gain in (told["gain"] for told in right) if gain[1] > 0]
    quiet = [titles for one in verdicts for titles in one["accused"]]
    wrongly = sum(bool(titles) for titles in quiet)
    yield f"- The documented cause stands first, with object and place, in every recording: {whole} of {len(slow)}."
    yield (f"- The measured gain is within the interval of the first finding: {sum(told['within'] for told in judged)} of "
           f"{recordings} recordings; of those with the cause first: {sum(told['within'] for told in right)} of {len(right)}.")
    if widths:
        yield f"- Median width of these intervals: {statistics.median(widths):.1f} to 1."
    yield f"- Recordings of fixed and healthy programs that accuse something wrongly: {wrongly} of {len(quiet)}."
    failed = [one["name"] for one in verdicts if one["failed"]]
    if failed:
        yield f"- Failed at least once: {', '.join(failed)}."


@functools.cache
def commit():
    """What is measured. Asked as it begins: a run takes half an hour, and somebody may go on with the work."""
    done = subprocess.run(["git", "describe", "--always", "--dirty"], cwd=BENCH, capture_output=True, text=True)
    return done.stdout.strip() or "unknown"


def page(verdicts, rounds, now):
    yield "# Sealed pairs\n"
    yield ("Programs from package registries, each slow and fixed, that nobody looks into while rules are written\n"
           "([bench/pairs](../bench/pairs/README.md)). `make pairs-sealed` writes this page, good or bad.\n")
    yield (f"Measured {now:%Y-%m-%d} at commit {commit()} on Linux {os.uname().release}, {os.cpu_count()} CPUs; "
           f"{rounds} recordings each, no retries. Savings are given as a share of the slow program's run time.\n")
    yield from summary(verdicts)
    yield ""
    yield from table(verdicts)


def selected(half, names):
    folders = sorted(folder for folder in (PAIRS / half).iterdir() if (folder / "pair.toml").exists())
    unknown = set(names) - {folder.name for folder in folders}
    if unknown:
        sys.exit(f"pairs.py: no {half} pair is called {', '.join(sorted(unknown))}")
    return [Pair(folder) for folder in folders if not names or folder.name in names]


def faults(pair):
    """What is wrong with a pair.toml."""
    top, form_tables = pair.table, [pair.table[form] for form in pair.forms]
    for key in sorted(set(top) - TOP_KEYS):
        yield f"unknown key {key}"
    for name, table, known in [("expect", pair.expect, EXPECT_KEYS), ("server", top.get("server", {}), SERVER_KEYS),
                               ("install", top.get("install", {}), set(INSTALLED)),
                               *((form, top[form], FORM_KEYS) for form in pair.forms)]:
        for key in sorted(set(table) - known):
            yield f"unknown key {name}.{key}"
    told = ("expert",) if pair.kind == "everyday" else ("cause", "verified")
    for key in ("title", "language", "kind", *told):
        if not top.get(key):
            yield f"no {key}"
    if pair.kind not in KINDS:
        yield f"kind is none of {', '.join(KINDS)}"
    if not all(table.get("run") for table in form_tables):
        yield "a form without run"
    if pair.kind in ("healthy", "everyday"):
        return
    if pair.forms != list(FORMS):
        yield "needs a slow and a fixed form"
    if not top.get("record"):
        yield "no record"
    for key in ("rules", "words", "object", "place"):
        if key not in pair.expect:
            yield f"expects no {key}"


def check():
    count, bad = {}, 0
    for half in HALVES:
        for pair in selected(half, []):
            for fault in faults(pair):
                print(f"{half}/{pair.name}: {fault}", file=sys.stderr)
                bad += 1
            for key in {pair.kind, pair.kind if pair.kind in ("healthy", "everyday") else pair.table["language"]}:
                halves = count.setdefault(key, dict.fromkeys(HALVES, 0))
                halves[half] += 1
    for key, halves in sorted(count.items()):
        print(f"{key:18}", *(f"{many:3} {half}" for half, many in halves.items()))
    return 1 if bad else 0


def verify(options):
    failed = 0
    for pair in selected(options.half, options.names):
        try:
            install(pair)
        except (RuntimeError, subprocess.SubprocessError) as error:
            print(f"{pair.name}: not installed: {error}", flush=True)
            failed += 1
            continue
        row = measure(pair, options.times, None)
        times = "  ".join(f"{form} " + " ".join(f"{took:.3f}" for took in row["bare"][form]) for form in pair.forms)
        print(f"{pair.name}: {times}", *row["failed"], sep="\n    ", flush=True)
        failed += bool(row["failed"])
    return 1 if failed else 0


def judge(options):
    now, rows, verdicts = datetime.datetime.now(), {}, []
    for pair in selected(options.command, getattr(options, "names", [])):
        print(f"{pair.name}: {options.times} recordings of each form", file=sys.stderr, flush=True)
        try:
            install(pair)
            rows[pair.name] = measure(pair, options.times, options.timesink)
        except (RuntimeError, subprocess.SubprocessError) as error:
            rows[pair.name] = {"bare": {}, "told": {form: [] for form in pair.forms}, "failed": [f"not installed: {error}"]}
        verdicts.append(verdict(pair, rows[pair.name], options.times))
    kept = BENCH / "results" / f"{now:%Y-%m-%dT%H%M%S}-pairs-{options.command}.json"
    kept.parent.mkdir(exist_ok=True)
    kept.write_text(json.dumps({"version": 1, "commit": commit(), "rows": rows, "verdicts": verdicts}, indent=1))
    lines = list(page(verdicts, options.times, now)) if options.write else [*summary(verdicts), "", *table(verdicts)]
    print("\n".join(lines))
    if options.write:
        Path(options.write).write_text("\n".join(lines) + "\n")
    return 0


def repeated(pair, rounds, timesink):
    """What is told of so many recordings of the slow form. One that failed told nothing."""
    told = []
    for _ in range(rounds):
        try:
            told.append(record(pair, "slow", timesink))
        except (RuntimeError, subprocess.SubprocessError) as error:
            print(f"{pair.name}: {error}", file=sys.stderr, flush=True)
    return told


def repeat(options):
    """Without names: twenty of the open pairs, spread evenly over their list."""
    pairs, now = selected("open", options.names), datetime.datetime.now()
    if not options.names:
        pairs = [pairs[len(pairs) * nth // REPEATED] for nth in range(REPEATED)]
    rows, same = [], 0
    for pair in pairs:
        print(f"{pair.name}: {options.times} recordings", file=sys.stderr, flush=True)
        install(pair)
        first, count = same_first(repeated(pair, options.times, options.timesink))
        same += count
        rows.append(f"| {pair.name} | {first} | {count} of {options.times} |")
    lines = ["# The same program, recorded again and again\n",
             f"Slow forms of {len(pairs)} open pairs ([bench/pairs](../bench/pairs/README.md)), {options.times} recordings each, nothing",
             f"retried; {now:%Y-%m-%d} at commit {commit()} on Linux {os.uname().release}, {os.cpu_count()} CPUs. To repeat, as root:",
             "`make pairs-repeat`.\n",
             f"Recordings whose first finding is the most common one for their program: {same} of {options.times * len(pairs)}.\n",
             "| pair | first finding of most | recordings with it |", "|---|---|---|", *rows]
    print("\n".join(lines))
    if options.write:
        Path(options.write).write_text("\n".join(lines) + "\n")
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("check")
    one = commands.add_parser("verify")
    one.add_argument("half", choices=("open", "sealed", "tasks"))
    one.add_argument("names", nargs="*")
    one.add_argument("--times", type=int, default=3)
    for half, times in (("open", 3), ("sealed", 3), ("tasks", 3), ("repeat", 5)):
        one = commands.add_parser(half)
        if half != "sealed":
            one.add_argument("names", nargs="*")
        one.add_argument("--times", type=int, default=times)
        one.add_argument("--timesink", default=str(TIMESINK))
        one.add_argument("--write", metavar="FILE")
    options = parser.parse_args()
    commit()
    others = {"check": lambda: check(), "verify": lambda: verify(options), "repeat": lambda: repeat(options)}
    return others.get(options.command, lambda: judge(options))()


if __name__ == "__main__":
    sys.exit(main())
