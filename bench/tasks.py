#!/usr/bin/env python3
"""How right is what timesink tells of tasks? Records programs that measure their own tasks, and holds the two against each other.

Each program below bench/workloads/asyncio prints how long each coroutine was on the thread of its loop, and how long it awaited; those
below bench/workloads/tokio the same of the functions that are tasks; those below bench/workloads/go the same of goroutines by their first
function, once with each GOMAXPROCS of 1 and 2. A time is right within 2 % or 1 ms for each of the tasks. Every program is recorded
--times times; nothing is repeated. Must be run as root. Prints a line for each time, and how many were right.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

BENCH = Path(__file__).resolve().parent
WORKLOADS = BENCH / "workloads"
WITHIN, WITHIN_MS = 0.02, 1.0


def of_asyncio(options, _):
    """For each program of asyncio: its name, its command, and what its environment has besides."""
    for program in chosen(options, "asyncio", "py"):
        yield program.stem, [options.python, str(program)], {}


def of_go(options, folder):
    """The same of Go, built in a folder."""
    for program in chosen(options, "go", "go"):
        built = Path(folder) / program.stem
        subprocess.run(["go", "build", "-o", str(built), str(WORKLOADS / "go/clocks.go"), str(program)], check=True, cwd=folder)
        for processors in "12":
            yield f"{program.stem}, GOMAXPROCS={processors}", [str(built)], {"GOMAXPROCS": processors, "GODEBUG": "asyncpreemptoff=1"}


def of_tokio(options, _):
    """The same of tokio, built where Cargo keeps what it has built before."""
    target = BENCH.parent / "target/tokio"
    build = ["cargo", "build", "-q", "--release", "--locked", "--manifest-path", str(WORKLOADS / "tokio/Cargo.toml")]
    subprocess.run([*build, "--target-dir", str(target)], check=True)
    for program in chosen(options, "tokio/src/bin", "rs"):
        yield program.stem, [str(target / "release" / program.stem)], {}


def of_node(options, _):
    """The same of callbacks."""
    for program in chosen(options, "node", "js"):
        yield program.stem, ["node", str(program)], {}


RUNTIMES = {"asyncio": of_asyncio, "go": of_go, "node": of_node, "tokio": of_tokio}


def chosen(options, runtime, ending):
    """The programs of a runtime that were asked for. What is called clocks is what they have in common."""
    programs = sorted((WORKLOADS / runtime).glob(f"*.{ending}"))
    return [program for program in programs if program.stem != "clocks" and program.stem in (options.program or [program.stem])]


def source_name(name):
    """What a function is called in the source: tokio_program::fetch::{{closure}} is fetch."""
    return re.sub(r"(::\{\{?closure.*)$", "", name).split("::")[-1]


def recorded(timesink, command, environment, folder):
    """What a program says of itself, and what timesink tells."""
    file = Path(folder) / "r.timesink"
    run = [timesink, "run", "-q", "-o", str(file), "--", *command]
    said = subprocess.run(run, check=True, capture_output=True, text=True, cwd=folder, env={**os.environ, **environment}).stdout
    report = subprocess.run([timesink, "report", str(file), "--json"], check=True, capture_output=True, text=True).stdout
    return json.loads(said.splitlines()[-1]), json.loads(report)


def compared(truth, report):
    """For each time that the program told: what, how many tasks, the truth and what was told, in milliseconds."""
    groups = {}
    for group in (report["tasks"] or {"groups": []})["groups"]:
        for name in filter(None, (group["function"], (group["first"] or {}).get("function"))):
            groups.setdefault(name, group)
            groups.setdefault(source_name(name), group)
    # A program's clock has the time in the runtime's own queue where it had to be waited: in a call, or in what was awaited.
    def on_thread(group):
        return group["cpu_ns"] + group["ready_ns"] + group["wait_ns"] + group["queued_after_calls_ns"]

    def awaiting(group):
        return group["parked_ns"] + group["queued_ns"] - group["queued_after_calls_ns"]

    for key, kind, told_of in (("on_thread", "on the thread", on_thread), ("awaiting", "awaiting", awaiting)):
        for name, seconds in truth[key].items():
            group = groups.get(name)
            told = told_of(group) if group else 0
            yield f"{name} {kind}", group["count"] if group else 0, seconds * 1e3, told / 1e6


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--timesink", default=str(BENCH.parent / "target/release/timesink"))
    parser.add_argument("--runtime", choices=RUNTIMES, default="asyncio")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--program", action="append", help="only these, by name")
    options = parser.parse_args()
    right = every = 0
    print("| program | time of | tasks | true, ms | told, ms | off | right |\n|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as built:
        for name, command, environment in RUNTIMES[options.runtime](options, built):
            for _ in range(options.times):
                with tempfile.TemporaryDirectory() as folder:
                    truth, report = recorded(options.timesink, command, environment, folder)
                for what, count, true, told in compared(truth, report):
                    is_right = abs(told - true) <= max(WITHIN * true, WITHIN_MS * max(count, 1))
                    right, every = right + is_right, every + 1
                    print(f"| {name} | {what} | {count} | {true:.1f} | {told:.1f} | {told / true - 1:+.1%} | {'yes' if is_right else 'no'} |", flush=True)
    print(f"\nRight within {WITHIN:.0%} or {WITHIN_MS} ms a task: {right} of {every}.")


if __name__ == "__main__":
    main()
