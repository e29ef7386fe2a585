#!/usr/bin/env python3
"""What does recording a whole machine cost? A program fills the CPUs, counts what it computes, and hands bytes to and fro beside it
(workloads/crowd.c); it runs with and without `timesink machine`, in random order within pairs. Needs root and gcc.

    machine.py [--rounds 12] [--seconds 4] [--pairs 1] [--threshold 1ms] [--timesink FILE]
"""

import argparse
import random
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

from overhead import BENCH, signed_rank_cut


def run(crowd, options, timesink, folder):
    recorder = None
    if timesink:
        output = Path(folder) / f"{time.time_ns()}.timesink"
        recorder = subprocess.Popen([timesink, "machine", "-q", "--threshold", options.threshold, "--for", f"{options.seconds + 1}s", "-o", str(output)])
        # What it takes to begin is no part of what recording costs.
        time.sleep(1.5)
    said = subprocess.run([crowd, str(options.seconds), str(options.pairs)], check=True, capture_output=True, text=True).stdout
    if recorder and recorder.wait() != 0:
        raise SystemExit("timesink failed")
    switches, computed = said.split()
    return int(switches), int(computed)


def interval(ratios):
    averages = sorted((a + b) / 2 for i, a in enumerate(ratios) for b in ratios[i:])
    cut = signed_rank_cut(len(ratios))
    return (averages[cut], averages[-cut - 1]) if cut else (averages[0], averages[-1])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--seconds", type=int, default=4)
    parser.add_argument("--pairs", type=int, default=1, help="pairs of threads that hand bytes to and fro")
    parser.add_argument("--threshold", default="1ms", help="from which length on waits are recorded one by one")
    parser.add_argument("--timesink", default=str(BENCH.parent / "target/release/timesink"))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        crowd = f"{folder}/crowd"
        subprocess.run(["gcc", "-O2", "-o", crowd, BENCH / "workloads/crowd.c", "-lpthread"], check=True)
        ratios, switches = [], []
        for _ in range(options.rounds):
            sides = [None, options.timesink]
            random.shuffle(sides)
            results = {side: run(crowd, options, side, folder) for side in sides}
            ratios.append(results[options.timesink][1] / results[None][1])
            switches.append(results[options.timesink][0])
            print(f"{switches[-1]} switches/s: {ratios[-1]:.3f}", flush=True)
        low, high = interval(ratios)
        print(f"of the work done without: {statistics.median(ratios):.3f} ({low:.3f} to {high:.3f}), "
              f"{statistics.median(switches):.0f} switches/s, {options.rounds} pairs")


if __name__ == "__main__":
    main()
