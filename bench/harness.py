#!/usr/bin/env python3
"""What a run costs beside the command itself, in ms: timesink bench, hyperfine -N and perf stat -r in turn, a thousand runs of /bin/true each.

All time of the tool but what it measured as wall time, divided by the runs: what is done before the first run and after the last is in it.

    harness.py TIMESINK [ROUNDS]      needs hyperfine and perf
"""

import json
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

RUNS = 1000
COMMAND = "/bin/true"


def with_timesink(timesink, folder):
    words = [timesink, "bench", "--rounds", str(RUNS), f"--json={folder}/bench.json", "--", COMMAND]
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    runs = json.loads((folder / "bench.json").read_text())["commands"][0]["runs"]
    assert len(runs) == RUNS, len(runs)
    return sum(run["wall_ns"] for run in runs) / 1e9


def with_hyperfine(_, folder):
    words = ["hyperfine", "-N", "--runs", str(RUNS), "--export-json", f"{folder}/hyperfine.json", COMMAND]
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return sum(json.loads((folder / "hyperfine.json").read_text())["results"][0]["times"])


def with_perf(_, folder):
    words = ["perf", "stat", "-r", str(RUNS), "-e", "task-clock", "-o", f"{folder}/perf.txt", COMMAND]
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    mean = re.search(r"([\d.]+) \+- [\d.]+ seconds time elapsed", (folder / "perf.txt").read_text())
    return float(mean[1]) * RUNS


def main():
    timesink, rounds = sys.argv[1], int((sys.argv[2:] or [5])[0])
    tools = {"timesink bench": with_timesink, "hyperfine -N": with_hyperfine, "perf stat -r": with_perf}
    beside = {name: [] for name in tools}
    for _ in range(rounds):
        for name, measured in tools.items():
            with tempfile.TemporaryDirectory() as folder:
                began = time.monotonic()
                commands_s = measured(timesink, Path(folder))
                beside[name].append((time.monotonic() - began - commands_s) * 1000 / RUNS)
    for name, ms in beside.items():
        print(f"{name}: {statistics.median(ms):.3f} ms a run ({min(ms):.3f}-{max(ms):.3f})")


if __name__ == "__main__":
    main()
