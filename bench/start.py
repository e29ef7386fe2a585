#!/usr/bin/env python3
"""What a start costs: `timesink run -q -- true`, beside `true` alone and, with --before, another build.

All are run once in each round, in random order. Wall time is told beyond `true`, processor time with that of all children.
The least and the median are told, and the ratio to the other build by rounds: median and 95 % interval, as bench/overhead.py
has it. On a machine that is busy the processor time and the least wall time say more than the median.

Must be run as root.
"""

import argparse
import os
import random
import resource
import shutil
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

from overhead import BENCH, interval


def measured(command):
    """Milliseconds of wall and of processor time."""
    def spent():
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime

    before, start = spent(), time.monotonic()
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    return (time.monotonic() - start) * 1e3, (spent() - before) * 1e3


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--timesink", default=str(BENCH.parent / "target/release/timesink"))
    parser.add_argument("--before", metavar="TIMESINK", help="another build, in the same rounds")
    parser.add_argument("--rounds", type=int, default=16)
    options = parser.parse_args()
    binaries = {"true": None, "before": options.before, "timesink": options.timesink}
    names = [name for name in binaries if name == "true" or binaries[name]]
    times = {name: [] for name in names}
    with tempfile.TemporaryDirectory() as work:
        out = Path(work) / "out"
        for _ in range(options.rounds):
            for name in random.sample(names, len(names)):
                shutil.rmtree(out, ignore_errors=True)
                run = [binaries[name], "run", "-q", "-o", str(out), "--"] if binaries[name] else []
                times[name].append(measured([*run, "true"]))
    print(f"{options.rounds} rounds, load {os.getloadavg()[0]:.1f}")
    bare = statistics.median(wall for wall, _ in times["true"])
    for name in names[1:]:
        wall, spent = zip(*times[name])
        print(f"{name}: wall beyond true least {min(wall) - bare:.0f} ms, median {statistics.median(wall) - bare:.0f} ms; "
              f"processor least {min(spent):.0f} ms, median {statistics.median(spent):.0f} ms")
    for at, what in enumerate(("wall", "processor") if options.before else ()):
        ratios = [after[at] / before[at] for after, before in zip(times["timesink"], times["before"])]
        low, high, _ = interval(ratios)
        print(f"{what}: {statistics.median(ratios):.2f} of before ({low:.2f}-{high:.2f})")


if __name__ == "__main__":
    main()
