#!/usr/bin/env python3
"""Does it tell the cause in programs that we did not write? Programs as found in the registries, slow by a use that is
well known, are recorded; the fix is what their own documentation advises.

Each round runs both forms once and records the slow one, in random order. Told are medians over the rounds: what comes
first in WHY, the gain that it predicts with its interval, and the gain as measured, as shares of the slow form's time: a
recorded run is another run, and takes longer. Must be run as root. What is
needed from PyPI is installed into a folder below target/. Writes bench/results/DATE-registries.json, prints Markdown.
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
import time
from pathlib import Path

from whatif import BENCH, timed, told

PROGRAMS = BENCH / "registries"
# The program, who made it, the rules of which one has to be told first, what has to be installed, what has to run.
CASES = [
    ("pexpect_delay.py", "pexpect 4.9.0", ["fixed-delay"], None),
    ("httpx_client.py", "httpx 0.27.2", ["file-read-again"], "http"),
    ("aiofiles_lines.py", "aiofiles 23.2.1", ["ping-pong"], None),
    ("numpy_pages.py", "numpy 1.26.4", ["page-fault-storm"], None),
    ("blosc_pool.py", "blosc 1.11.2", ["false-pool"], None),
    ("spawn_large.py", "CPython 3.11, subprocess", ["fork-copies-large"], None),
    ("yaml_loader.py", "PyYAML 6.0.2", ["known-slow-function"], None),
    ("redis_keys.py", "redis-py 5.2.1, redis", ["round-trips"], "redis"),
    ("sqlite_rows.sh", "sqlite3", ["flush-per-record"], None),
    ("find_exec.sh", "findutils, coreutils", ["child-per-item"], None),
]


def prepare(work):
    """The packages from PyPI, and the data that the programs read."""
    python = work / "venv/bin/python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(work / "venv")], check=True)
    wanted = ["-q", "--disable-pip-version-check", "-r", str(PROGRAMS / "requirements.txt")]
    subprocess.run([str(python), "-m", "pip", "install", *wanted], check=True)
    (work / "lines.txt").write_text("".join(f"{number:011}\n" for number in range(15000)))
    rows = "".join(f"- {{name: row {number}, size: {number}, tags: [a, b, c]}}\n" for number in range(6000))
    (work / "rows.yaml").write_text(rows)
    files = work / "files"
    files.mkdir(exist_ok=True)
    for number in range(400):
        (files / f"{number}.txt").write_text(f"file {number}\n" * 100)
    return python


class Service:
    """What a program asks, as its own process that is not recorded."""

    def __init__(self, kind, work):
        commands = {
            "http": [sys.executable, "-m", "http.server", "--bind", "127.0.0.1", "18431", "--directory", str(work / "files")],
            "redis": ["redis-server", "--port", "18432", "--save", "", "--dir", str(work)],
        }
        self.command, self.process = commands.get(kind), None

    def __enter__(self):
        if self.command:
            quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
            self.process = subprocess.Popen(self.command, **quiet)
            time.sleep(1)
            assert self.process.poll() is None, f"{self.command[0]} does not run"

    def __exit__(self, *_):
        if self.process:
            self.process.terminate()
            self.process.wait()


def measure(name, python, tools, timesink, work, rounds):
    program = str(PROGRAMS / name)
    command = [str(python), program] if name.endswith(".py") else ["sh", program]
    watch, file = tools / "stopwatch", work / "registries.timesink"
    rows = {"before": [], "after": [], "findings": []}

    def record():
        shutil.rmtree(file, ignore_errors=True)
        recorder = [timesink, "run", "-q", "-o", str(file), "--"]
        timed(watch, [*command, "before"], work, recorder)
        report = told(timesink, "report", str(file), "--json")
        rows["findings"].append([
            {"rule": one["rule"], "title": one["title"], "of_ns": report["path"]["wall_ns"], **one["gain"]}
            for one in report["findings"]
        ])

    for _ in range(rounds):
        todo = [record]
        for form in ("before", "after"):
            todo.append(lambda form=form: rows[form].append(timed(watch, [*command, form], work)))
        random.shuffle(todo)
        for one in todo:
            one()
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--timesink", default=str(BENCH.parent / "target/release/timesink"))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--case", action="append", metavar="NAME")
    options = parser.parse_args()
    work = BENCH.parent / "target/bench/registries"
    tools = BENCH.parent / "target/bench/bin"
    work.mkdir(parents=True, exist_ok=True)
    subprocess.run(["make", "-s", "-C", str(BENCH / "workloads"), f"OUT={tools}"], check=True)
    python = prepare(work)
    results = {}
    for name, _, _, service in CASES:
        if options.case and name not in options.case:
            continue
        print(f"{name}: {options.rounds} rounds", file=sys.stderr, flush=True)
        with Service(service, work):
            results[name] = measure(name, python, tools, options.timesink, work, options.rounds)
    now = datetime.datetime.now()
    kept = BENCH / "results" / f"{now:%Y-%m-%dT%H%M%S}-registries.json"
    kept.write_text(json.dumps({"version": 1, "cases": results}, indent=1))
    report(results, options.rounds, now)


def report(results, rounds, now):
    print(f"Measured {now:%Y-%m-%d} on Linux {os.uname().release}, {os.cpu_count()} CPUs; medians of {rounds} rounds.\n")
    print("| program | before | after | first finding | saves, predicted | saves, measured | within |")
    print("|---|---|---|---|---|---|---|")
    right, within = 0, 0
    for name, what, wanted, _ in CASES:
        if name not in results:
            continue
        rows = results[name]
        before, after = (statistics.median(rows[form]) for form in ("before", "after"))
        first = [findings[0]["rule"] if findings else "" for findings in rows["findings"]]
        most = max(set(first), key=first.count)
        gains = [findings[0] for findings in rows["findings"] if findings and findings[0]["rule"] == most]
        middle = lambda key: statistics.median(gain[key] / gain["of_ns"] for gain in gains) if gains else 0
        saves = 1 - after / before
        is_right, is_within = most in wanted, middle("lo_ns") <= saves <= middle("hi_ns")
        right, within = right + is_right, within + is_within
        print(f"| {what} | {before:.2f} s | {after:.2f} s | {most or 'nothing'}{'' if is_right else ' (**not the cause**)'} "
              f"| {middle('ns'):.0%} ({middle('lo_ns'):.0%} to {middle('hi_ns'):.0%}) | {saves:.1%} "
              f"| {'yes' if is_within else '**no**'} |")
    print(f"\nThe cause is told first in {right} of {len(results)}; the measured gain is within the interval in {within}.")


if __name__ == "__main__":
    main()
