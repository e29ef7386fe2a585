#!/usr/bin/env python3
"""Do predictions come true? Programs that are slow in a known way are recorded, the wall time without
the cause is predicted from that one recording, and the program without it is run and measured.

Each round runs every form once, in random order: slow, fixed, and slow while being recorded. Told are
medians over the rounds: the wall times, the prediction with its interval, and by how much it misses the
fixed form as measured. `first` says whether the cause stands first among those that report tells the gains of.

Must be run as root. Needs python3 and gcc; cases whose programs are missing are left out, and said.
Writes bench/results/DATE-whatif.json and prints Markdown.
"""

import argparse
import datetime
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
from pathlib import Path

BENCH = Path(__file__).resolve().parent
TIMEOUT_S = 300


class Case:
    """A program, the question, and which causes may stand first (a function or a kind of wait)."""

    def __init__(self, name, question, first, slow=None, fixed=None, needs=None):
        self.name, self.question, self.first = name, question, first
        self.slow, self.fixed, self.needs = slow, fixed, needs


def sqlite(synchronous):
    rows = "".join(f"insert into t values({n}, 'row {n}');" for n in range(300))
    text = f"pragma synchronous={synchronous}; create table t(a, b); {rows}"
    return ["sh", "-c", 'rm -f whatif.db; printf "%s" "$0" | sqlite3 whatif.db', text]


def script(text):
    return ["sh", "-c", text]


CASES = [
    Case("cpu", ["--scale", "func=work_a", "0.25"], ["work_a"]),
    Case("flush-each", ["--cut", "flush"], ["flush"]),
    Case("flush-batch", ["--batch", "flush", "10"], ["flush"]),
    Case("delays", ["--cut", "sleep"], ["sleep"]),
    Case("direct-reads", ["--cut", "disk read"], ["disk read"]),
    Case("loads", ["--scale", "func=work_a", str(1 / 12)], ["work_rest"]),
    Case("two-alike", ["--scale", "func=work_a", "0.2"], None),
    Case("two-unlike", ["--scale", "func=work_a", str(100 / 350)], ["work_a"]),
    Case("four", ["--cut", "func=work_a"], None),
    Case("one-processor", ["--cpus", "2"], None),
    Case("lock-work", ["--cut", "lock"], None),
    Case("lock-nap", ["--cut", "lock"], ["sleep", "nap"]),
    Case("lock-held", ["--cut", "sleep"], ["sleep", "nap"]),
    Case("barrier-unlike", ["--scale", "func=work_a", str(1 / 6)], ["work_a", "rounds_a"]),
    Case("barrier-alike", ["--scale", "func=work_a", "0.25"], None),
    Case("flush-behind", ["--cut", "flush"], None),
    Case("polled", ["--scale", "func=work_a", "0.25"], ["work_a"]),
    Case("pool", ["--scale", "func=work_a", "0.25"], ["work_a"]),
    Case("pipe-maker", ["--scale", "func=work_a", "0.2"], ["work_a"]),
    Case("pipe-user", ["--scale", "func=work_b", "0.4"], ["work_b", "line"]),
    Case("pipe-alike", ["--scale", "func=work_a", "0.25"], None),
    Case("pipe-three", ["--scale", "func=work_c", "0.2"], ["work_c", "passes"]),
    Case("events", ["--scale", "func=work_a", "0.25"], ["work_a", "answers"]),
    Case("server-work", ["--scale", "func=work_a", "0.2"], ["work_a"]),
    Case("server-nap", ["--cut", "sleep"], ["sleep", "nap"]),
    Case("spawn", ["--cut", "process=true"], None),
    Case("children", ["--cut", "func=child_a"], ["sleep", "nap", "child_a"]),
    Case("fetches", ["--overlap", "sleep"], ["sleep", "nap", "asks"]),
    Case("sqlite", ["--cut", "flush"], ["flush"], sqlite("full"), sqlite("off"), "sqlite3"),
    Case("sleep-in-script", ["--cut", "process=sleep"], ["sleep"],
         script("for i in 1 2 3 4 5; do sleep 0.1; seq 20000 | sort -R >/dev/null; done"),
         script("for i in 1 2 3 4 5; do seq 20000 | sort -R >/dev/null; done")),
    Case("gzip-after-sort", ["--cut", "process=gzip"], None,
         script("seq 150000 | sort -R >s.tmp; gzip -9 -f s.tmp"),
         script("seq 150000 | sort -R >s.tmp")),
]


def timed(tool, command, work, before=()):
    """The seconds that a command took, by a stopwatch inside of what records it."""
    inside = work / "whatif.ns"
    inside.unlink(missing_ok=True)
    subprocess.run([*before, str(tool), str(inside), *command], cwd=work, check=True, timeout=TIMEOUT_S,
                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return int(inside.read_text()) / 1e9


def told(timesink, *arguments):
    return json.loads(subprocess.run([timesink, *arguments], check=True, stdout=subprocess.PIPE).stdout)


def stands_first(path, wanted):
    """Whether one of these has the largest gain of all kinds of causes; or is, of the functions that would gain
    anything, the longest on the path (without `main` all that it calls is gone: gains do not rank functions)."""
    def gain(row):
        return row["gain_ns"] or 0
    functions = [row for row in path["functions"] if gain(row) > 0]
    kinds = [row for row in path["kinds"] if gain(row) > 0]
    best_function = max(functions, key=lambda row: row["ns"], default={}).get("function")
    best_kind = max(kinds, key=gain, default={})
    return best_function in wanted or best_kind.get("detail") in wanted


def measure(case, tools, timesink, work, rounds, say):
    slow = case.slow or [str(tools / "whatif"), case.name, "slow"]
    fixed = case.fixed or [str(tools / "whatif"), case.name, "fixed"]
    watch = tools / "stopwatch"
    rows = {"slow": [], "fixed": [], "wall": [], "after": [], "lo": [], "hi": [], "error": [], "first": []}

    def record():
        file = work / "whatif.timesink"
        shutil.rmtree(file, ignore_errors=True)
        file.unlink(missing_ok=True)
        timed(watch, slow, work, [timesink, "run", "-q", "-o", str(file), "--"])
        answer = told(timesink, "whatif", str(file), "--json", *case.question)
        rows["wall"].append(answer["wall_ns"] / 1e9)
        rows["after"].append(answer["wall_after_ns"] / 1e9)
        rows["lo"].append(answer["wall_lo_ns"] / 1e9)
        rows["hi"].append(answer["wall_hi_ns"] / 1e9)
        rows["error"].append(answer["replay_error_pct"])
        if case.first:
            report = told(timesink, "report", str(file), "--json")
            rows["first"].append(stands_first(report["path"], case.first))

    for number in range(rounds):
        say(f"{case.name}: round {number + 1} of {rounds}")
        todo = [lambda: rows["slow"].append(timed(watch, slow, work)),
                lambda: rows["fixed"].append(timed(watch, fixed, work)), record]
        random.shuffle(todo)
        for one in todo:
            one()
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--timesink", default=str(BENCH.parent / "target/release/timesink"))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--case", action="append", metavar="NAME")
    parser.add_argument("--work", default=str(BENCH.parent / "target/bench"))
    options = parser.parse_args()
    work = Path(options.work).resolve()
    tools = work / "bin"
    subprocess.run(["make", "-s", "-C", str(BENCH / "workloads"), f"OUT={tools}"], check=True)

    def say(text):
        print(text, file=sys.stderr, flush=True)

    results, left_out = {}, []
    for case in CASES:
        if options.case and case.name not in options.case:
            continue
        if case.needs and not shutil.which(case.needs):
            left_out.append(f"{case.name} ({case.needs} is not installed)")
            continue
        results[case.name] = measure(case, tools, options.timesink, work, options.rounds, say)
    if not results:
        sys.exit("no such case")
    folder = BENCH / "results"
    folder.mkdir(exist_ok=True)
    now = datetime.datetime.now()
    kept = folder / f"{now:%Y-%m-%dT%H%M%S}-whatif.json"
    kept.write_text(json.dumps({"version": 1, "cases": results}, indent=1))
    say(f"kept in {kept}")
    report(results, left_out, options.rounds, now)


def report(results, left_out, rounds, now):
    uname = os.uname()
    print(f"Measured {now:%Y-%m-%d} on Linux {uname.release}, {os.cpu_count()} CPUs; medians of {rounds} rounds.\n")
    print("| case | change | slow | fixed | predicted | interval | miss | within | first finding | replay error |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    misses, within, first = [], [], []
    for case in CASES:
        rows = results.get(case.name)
        if not rows:
            continue
        middle = {key: statistics.median(values) for key, values in rows.items() if values}
        miss = abs(middle["after"] - middle["fixed"]) / middle["fixed"] * 100
        inside = middle["lo"] <= middle["fixed"] <= middle["hi"]
        misses.append(miss)
        within.append(inside)
        stands = ""
        if rows["first"]:
            first.append(sum(rows["first"]) * 2 > len(rows["first"]))
            stands = "yes" if first[-1] else "**no**"
        asked = " ".join(case.question).replace("--", "", 1)
        print(f"| {case.name} | {asked} | {middle['slow']:.3f} s | {middle['fixed']:.3f} s | {middle['after']:.3f} s "
              f"| {middle['lo']:.3f} - {middle['hi']:.3f} s | {miss:.1f} % | {'yes' if inside else '**no**'} "
              f"| {stands} | {middle['error']:+.2f} % |")
    print(f"\nMedian miss {statistics.median(misses):.1f} % of the fixed form's wall time; within the interval: "
          f"{sum(within)} of {len(within)}; the cause stands first in {sum(first)} of {len(first)}.")
    if left_out:
        print("Left out: " + ", ".join(left_out))


if __name__ == "__main__":
    main()
