#!/usr/bin/env python3
"""What does each of the programs in the kernel take? Records a command with `kernel.bpf_stats_enabled` set and prints, for each
program of that timesink, how long it ran while the command did, and how often: medians of several rounds.

The kernel measures each run by itself (and takes some 50 ns more for that, which are in the figures). What others do on the machine is
in the number of runs, not in how long one takes, so this tells versions apart that wall times do not. As root:

    python3 bench/programs.py [--rounds 5] [--timesink PATH] -- COMMAND ARGUMENT ...

On a machine that others keep busy: `chrt -r 5 python3 bench/programs.py ...`.
"""

import argparse
import collections
import ctypes
import os
import shutil
import statistics
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve()
SWITCH = Path("/proc/sys/kernel/bpf_stats_enabled")
BPF = 321  # the system call, on x86-64
GET_INFO, PROGRAM_OF_NUMBER = 15, 13
INFO_BYTES, NAME_AT, RUN_AT = 256, 64, 192
libc = ctypes.CDLL(None, use_errno=True)


def bpf(command, attributes):
    return libc.syscall(BPF, command, ctypes.create_string_buffer(attributes, 128), 128)


def numbers_of(pid):
    """The numbers of the programs that a process has loaded."""
    lines = []
    for path in Path(f"/proc/{pid}/fdinfo").iterdir():
        try:
            lines += path.read_text().splitlines()
        except OSError:
            continue
    return {int(line.split()[1]) for line in lines if line.startswith("prog_id:")}


def runs(numbers):
    """For each program: its name, how long it has run, how often."""
    found = {}
    for number in numbers:
        program = bpf(PROGRAM_OF_NUMBER, struct.pack("IIII", number, 0, 0, 0))
        if program < 0:
            continue
        info = ctypes.create_string_buffer(INFO_BYTES)
        bpf(GET_INFO, struct.pack("IIQ", program, INFO_BYTES, ctypes.addressof(info)))
        os.close(program)
        name = info.raw[NAME_AT:NAME_AT + 16].split(b"\0")[0].decode()
        found[number] = (name, *struct.unpack_from("QQ", info.raw, RUN_AT))
    return found


def within(results, command):
    """What is recorded: runs the command and writes what timesink's programs took meanwhile."""
    numbers = numbers_of(os.getppid())
    before = runs(numbers)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    with open(results, "w") as file:
        for number, (name, took, count) in runs(numbers).items():
            _, took_before, count_before = before[number]
            file.write(f"{name} {took - took_before} {count - count_before}\n")


def record(timesink, command):
    """One recording; by name, how long each program ran and how often."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        results = f"{folder}/results"
        inner = [sys.executable, str(HERE), "--within", results, "--", *command]
        subprocess.run([timesink, "run", "-o", f"{folder}/recording", "--", *inner],
                       check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        lines = [line.split() for line in Path(results).read_text().splitlines()]
    return {name: (int(took), int(count)) for name, took, count in lines}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--timesink", default=shutil.which("timesink") or "target/release/timesink")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--within", help=argparse.SUPPRESS)
    parser.add_argument("command", nargs="+")
    options = parser.parse_args()
    if options.within:
        return within(options.within, options.command)
    was = SWITCH.read_text()
    SWITCH.write_text("1")
    try:
        rounds = [record(options.timesink, options.command) for _ in range(options.rounds)]
    finally:
        SWITCH.write_text(was)
    times, counts = collections.defaultdict(list), collections.defaultdict(list)
    for one in rounds:
        for name, (took, count) in one.items():
            times[name].append(took)
            counts[name].append(count)
    took = {name: statistics.median(values) for name, values in times.items()}
    for name in sorted(took, key=took.get, reverse=True):
        count = statistics.median(counts[name])
        if count:
            print(f"{name:16} {took[name] / 1e6:9.2f} ms  {count:9.0f} runs  {took[name] / count:7.0f} ns each")
    print(f"{'all':16} {statistics.median(sum(t for t, _ in one.values()) for one in rounds) / 1e6:9.2f} ms")


if __name__ == "__main__":
    main()
