#!/usr/bin/env python3
"""How right is what timesink tells of tasks? Records programs that measure their own tasks, and holds the two against each other.

Each program below bench/workloads/asyncio and bench/workloads/tokio prints how long each of its functions that are tasks was on a
thread of its loop or runtime, and how long it awaited. A time is right within 2 % or 1 ms for each of the tasks. Every program is
recorded --times times; nothing is repeated. Must be run as root. Prints a line for each time, and how many were right.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

BENCH = Path(__file__).resolve().parent
ASYNCIO, TOKIO = BENCH / "workloads/asyncio", BENCH / "workloads/tokio"
WITHIN, WITHIN_MS = 0.02, 1.0


def programs(of, python):
    """The programs of a runtime, by name, each as a command."""
    if of == "asyncio":
        return {file.stem: [python, str(file)] for file in ASYNCIO.glob("*.py") if file.stem != "clocks"}
    target = BENCH.parent / "target/tokio"
    build = ["cargo", "build", "-q", "--release", "--locked", "--manifest-path", str(TOKIO / "Cargo.toml")]
    subprocess.run([*build, "--target-dir", str(target)], check=True)
    return {file.stem: [str(target / "release" / file.stem)] for file in (TOKIO / "src/bin").glob("*.rs")}


def function(group):
    """What a group begins with, as the source has it: tokio_program::fetch::{{closure}} is fetch."""
    name = group["function"] or (group["first"] or {}).get("function") or ""
    return re.sub(r"(::\{\{?closure.*)$", "", name).split("::")[-1]


def recorded(timesink, program, folder):
    """What the program says of itself, and what timesink tells."""
    file = Path(folder) / "r.timesink"
    run = [timesink, "run", "-q", "-o", str(file), "--", *program]
    said = subprocess.run(run, check=True, capture_output=True, text=True, cwd=folder).stdout
    report = subprocess.run([timesink, "report", str(file), "--json"], check=True, capture_output=True, text=True).stdout
    return json.loads(said.splitlines()[-1]), json.loads(report)


def compared(truth, report):
    """For each time that the program told: what, how many tasks, the truth and what was told, in milliseconds."""
    groups = {}
    for group in (report["tasks"] or {"groups": []})["groups"]:
        groups.setdefault(function(group), group)
    for name, seconds in truth["on_thread"].items():
        group = groups.get(name)
        told = sum(group[key] for key in ("cpu_ns", "ready_ns", "wait_ns")) if group else 0
        yield f"{name} on the thread", group["count"] if group else 0, seconds * 1e3, told / 1e6
    for name, seconds in truth["awaiting"].items():
        group = groups.get(name)
        yield f"{name} awaiting", group["count"] if group else 0, seconds * 1e3, (group["parked_ns"] if group else 0) / 1e6


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--timesink", default=str(BENCH.parent / "target/release/timesink"))
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--of", choices=["asyncio", "tokio"], default="asyncio")
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--program", action="append", help="only these, by name")
    options = parser.parse_args()
    right = every = 0
    print("| program | time of | tasks | true, ms | told, ms | off | right |\n|---|---|---|---|---|---|---|")
    for name, program in sorted(programs(options.of, options.python).items()):
        if options.program and name not in options.program:
            continue
        for _ in range(options.times):
            with tempfile.TemporaryDirectory() as folder:
                truth, report = recorded(options.timesink, program, folder)
            for what, count, true, told in compared(truth, report):
                is_right = abs(told - true) <= max(WITHIN * true, WITHIN_MS * max(count, 1))
                right, every = right + is_right, every + 1
                print(f"| {name} | {what} | {count} | {true:.1f} | {told:.1f} | {told / true - 1:+.1%} | {'yes' if is_right else 'no'} |")
    print(f"\nRight within {WITHIN:.0%} or {WITHIN_MS} ms a task: {right} of {every}.")


if __name__ == "__main__":
    main()
