#!/usr/bin/env python3
"""What does recording cost? Runs workloads bare and under recorders, side by side.

Each round runs every recorder once, in random order, with one bare run among them; what counts is
the ratio of two runs of the same round, so that a machine that gets slower for a minute does not
speak for or against anybody. Told are the median of the ratios and a 95 % interval for it (the one
that goes with the Wilcoxon signed-rank test). A recorder that makes a workload more than five times
slower is run in fewer rounds, and the table says so.

Two times are taken. The workload's own wall time is measured inside, by `stopwatch`, which is the
program that the recorder is given. The time of the whole command has the recorder's start, end and
writing in it as well. The peak memory of timesink is read in runs of their own, which are not timed.

Must be run as root, as the recorders must. Needs python3 and gcc; recorders that are not installed
are left out, and the table says so. Writes bench/results/DATE.json and prints Markdown.
"""

import argparse
import datetime
import json
import math
import os
import platform
import random
import select
import shutil
import signal
import statistics
import subprocess
import sys
import time
from pathlib import Path

BENCH = Path(__file__).resolve().parent
SLOW_RATIO = 5.0
LONG_RUN_NS = 5_000_000_000
ROWS = 2000
RUN_TIMEOUT_S = 600
TRACEFS = Path("/sys/kernel/debug/tracing/events")


# ---------------------------------------------------------------- statistics

def signed_rank_cut(n, confidence=0.95):
    """How many of the ordered pair averages to cut off at each end; None: too few pairs.

    >>> signed_rank_cut(5), signed_rank_cut(6), signed_rank_cut(15), signed_rank_cut(20)
    (None, 1, 26, 53)
    """
    ways = [1] + [0] * (n * (n + 1) // 2)
    for rank in range(1, n + 1):
        for total in range(len(ways) - 1, rank - 1, -1):
            ways[total] += ways[total - rank]
    below, cut = 0, 0
    for total, count in enumerate(ways):
        below += count
        if below / 2**n > (1 - confidence) / 2:
            break
        cut = total + 1
    return cut or None


def interval(ratios):
    """The interval of the middle of the ratios, and whether it is 95 % or, for lack of pairs, just
    the least and the greatest.

    >>> interval([1.0, 1.1, 1.2])
    (1.0, 1.2, False)
    >>> low, high, sure = interval([1.0, 1.01, 1.02, 1.03, 1.04, 1.05, 1.06])
    >>> round(low, 3), round(high, 3), sure
    (1.01, 1.05, True)
    """
    cut = signed_rank_cut(len(ratios))
    if cut is None:
        return min(ratios), max(ratios), False
    logs = [math.log(ratio) for ratio in ratios]
    averages = sorted(
        (one + other) / 2 for index, one in enumerate(logs) for other in logs[index:])
    return math.exp(averages[cut - 1]), math.exp(averages[-cut]), True


# ---------------------------------------------------------------- what is run

class Workload:
    """A command, and what has to be put in order before each run of it. `longer_than` names the
    workload that it repeats at greater length; who was slow there is spared this one."""

    def __init__(self, name, title, command, prepare=lambda: None, longer_than=None):
        self.name, self.title, self.command = name, title, command
        self.prepare, self.longer_than = prepare, longer_than


def workloads(work):
    """The six workloads, and the first again at four times the length, to tell what is paid at
    every call from what is paid once."""
    tools = work / "bin"
    statements, rows = work / "inserts.sql", work / "inserts.db"

    def dd(count):
        return ["dd", "if=/dev/zero", "of=/dev/null", "bs=1", f"count={count}", "status=none"]

    def no_rows():
        for path in work.glob("inserts.db*"):
            path.unlink()

    inserts = [str(BENCH / "workloads/inserts.sh"), str(statements), str(rows)]
    return [
        Workload("dd", "dd bs=1, 1M calls", dd(500_000)),
        Workload("dd-long", "dd bs=1, 4M calls", dd(2_000_000), longer_than="dd"),
        Workload("pipe", "pinned pipe ping-pong, 200k", [str(tools / "pingpong"), "200000"]),
        Workload("fork", "500 forks of /bin/true", [str(tools / "forks"), "500"]),
        Workload("cpu", "pure CPU loop", [str(tools / "spin")]),
        Workload("sqlite", f"sqlite, {ROWS} commits", inserts, no_rows),
        Workload("threads", "2,000 threads", [str(tools / "threads"), "2000"]),
    ]


def build(work):
    """Compiles the workloads and writes the statements."""
    tools = work / "bin"
    tools.mkdir(parents=True, exist_ok=True)
    subprocess.run(["make", "-s", "-C", str(BENCH / "workloads"), f"OUT={tools}"], check=True)
    lines = ["CREATE TABLE record (id INTEGER PRIMARY KEY, text TEXT);"]
    lines += [f"INSERT INTO record VALUES ({n}, 'row {n} of an import');" for n in range(ROWS)]
    (work / "inserts.sql").write_text("\n".join(lines) + "\n")


class Recorder:
    """How to put a recorder in front of a command. `wrap` is given the command and a path for what
    it writes; the recorder is left out, with the reason, where `missing` is set."""

    def __init__(self, name, wrap, missing=None):
        self.name, self.wrap, self.missing = name, wrap, missing


def recorders(timesink, before):
    """Bare first; all others are compared with it. `before`: another timesink to stand beside, if there is one."""

    def absent(tool):
        return None if shutil.which(tool) else f"{tool} is not installed"

    no_timesink = None if timesink and os.access(timesink, os.X_OK) else "it is not built"
    no_events = None if TRACEFS.exists() else "no tracefs here"
    script = str(BENCH / "peers/offcpu.bt")
    beside = [Recorder("timesink before", lambda command, out: [before, "run", "-o", out, "--", *command])] if before else []
    return [
        Recorder("bare", lambda command, out: command),
        *beside,
        Recorder("timesink run", lambda command, out:
                 [timesink, "run", "-o", out, "--", *command], no_timesink),
        Recorder("timesink run --exact", lambda command, out:
                 [timesink, "run", "--exact", "-o", out, "--", *command], no_timesink),
        Recorder("perf record -F 999 -g", lambda command, out:
                 ["perf", "record", "-q", "-F", "999", "-g", "-o", out, "--", *command],
                 absent("perf")),
        Recorder("perf trace -s", lambda command, out:
                 ["perf", "trace", "-s", "-o", out, "--", *command], absent("perf") or no_events),
        Recorder("strace -c -f -w", lambda command, out:
                 ["strace", "-c", "-f", "-w", "-o", out, *command], absent("strace")),
        # bpftrace splits its command at spaces and knows no quotes; our paths have none.
        Recorder("bpftrace off-CPU", lambda command, out:
                 ["bpftrace", "-o", out, "-c", " ".join(command), script],
                 absent("bpftrace") or no_events),
    ]


# ---------------------------------------------------------------- one run

class RunFailed(Exception):
    """A run that cannot be counted, with the reason as a sentence."""


class Runner:
    """Runs a workload under a recorder, in a folder on a real file system."""

    def __init__(self, work):
        self.work, self.inside, self.out = work, work / "stopwatch.ns", work / "out"
        # Without this bpftrace would drop stacks of the workloads with many tasks.
        self.environment = dict(os.environ, BPFTRACE_MAP_KEYS_MAX="65536")

    def clear(self, workload):
        """Removes what the last run left."""
        workload.prepare()
        self.inside.unlink(missing_ok=True)
        if self.out.is_dir():
            shutil.rmtree(self.out)
        self.out.unlink(missing_ok=True)

    def start(self, recorder, workload):
        """Starts a run; the folder is clear."""
        timed = [str(self.work / "bin/stopwatch"), str(self.inside), *workload.command]
        with open(self.work / "stderr", "wb") as errors:
            return subprocess.Popen(
                recorder.wrap(timed, str(self.out)), cwd=self.work, env=self.environment,
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=errors,
                start_new_session=True)

    def finish(self, process):
        """Waits for the end, and reads the stopwatch. `Popen.wait` with a time-out would look only
        every 50 ms, which is a tenth of some of our workloads."""
        ended = process.returncode is not None
        if not ended:
            pidfd = os.pidfd_open(process.pid)
            ended = bool(select.select([pidfd], [], [], RUN_TIMEOUT_S)[0])
            os.close(pidfd)
        if not ended:
            os.killpg(process.pid, signal.SIGKILL)
        code = process.wait()
        if not ended:
            raise RunFailed(f"took longer than {RUN_TIMEOUT_S} s")
        if code != 0 or not self.inside.exists():
            said = (self.work / "stderr").read_text(errors="replace").strip().splitlines()
            raise RunFailed(f"exit code {code}: {said[-1] if said else 'without a word'}")
        return int(self.inside.read_text())

    def time(self, recorder, workload):
        """Nanoseconds of the workload by itself, and of the whole command."""
        self.clear(workload)
        started = time.monotonic_ns()
        process = self.start(recorder, workload)
        own = self.finish(process)
        return own, time.monotonic_ns() - started

    def weigh(self, recorder, workload):
        """Peak memory of the recorder's process alone, in KiB, and bytes written.

        The usage that `wait4` gives would be the greatest of the process and of the children that
        it has waited for, the workload among them; so the kernel is asked while it lives."""
        self.clear(workload)
        process = self.start(recorder, workload)
        peak, until = 0, time.monotonic() + RUN_TIMEOUT_S
        while process.poll() is None and time.monotonic() < until:
            peak = max(peak, high_water_kib(process.pid))
            time.sleep(0.005)
        self.finish(process)
        return peak, size_of(self.out)


def high_water_kib(pid):
    """VmHWM of a process; 0 when it has just ended."""
    try:
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1])
    except OSError:
        pass
    return 0


def size_of(path):
    """Bytes of a file, or of all files of a folder."""
    if path.is_dir():
        return sum(part.stat().st_size for part in path.rglob("*") if part.is_file())
    return path.stat().st_size if path.exists() else 0


# ---------------------------------------------------------------- rounds

class Series:
    """All runs of one workload: per recorder the times by round, and what kept it from more."""

    def __init__(self, workload):
        self.workload, self.times, self.faults = workload, {}, {}
        self.slow, self.weights = set(), {}

    def add(self, recorder, round_number, times):
        self.times.setdefault(recorder.name, {})[round_number] = times

    def ratios(self, name, which):
        """The ratios to the bare run of the same round; `which`: 0 own time, 1 whole command."""
        bare = self.times.get("bare", {})
        return [times[which] / bare[number][which]
                for number, times in sorted(self.times.get(name, {}).items()) if number in bare]

    def note_slow(self, name):
        """One bad moment of the machine is not enough, unless waiting for a second is too much."""
        ratios = self.ratios(name, 0)
        longest = max((own for own, _ in self.times.get(name, {}).values()), default=0)
        known = len(ratios) >= 2 or longest > LONG_RUN_NS
        if known and min(ratios, default=0) > SLOW_RATIO:
            self.slow.add(name)


def run_series(workload, present, runner, rounds, slow_rounds, say):
    """Interleaved rounds of one workload."""
    series = Series(workload)
    runner.time(present[0], workload)  # Warms caches; not counted.
    for number in range(rounds):
        todo = [recorder for recorder in present if recorder.name not in series.faults
                and not (recorder.name in series.slow and number >= slow_rounds)]
        if len(todo) < 2 and number > 0:
            break
        random.shuffle(todo)
        for recorder in todo:
            try:
                series.add(recorder, number, runner.time(recorder, workload))
            except RunFailed as fault:
                series.faults[recorder.name] = str(fault)
                if recorder.name == "bare":
                    raise
        for recorder in todo:
            series.note_slow(recorder.name)
        say(f"{workload.name}: round {number + 1} of {rounds}")
    for recorder in present:
        if recorder.name.startswith("timesink") and recorder.name not in series.faults:
            try:
                series.weights[recorder.name] = runner.weigh(recorder, workload)
            except RunFailed as fault:
                series.faults[recorder.name] = str(fault)
    return series


# ---------------------------------------------------------------- telling

def cell(series, name, which, rounds):
    """`1.02 (1.01-1.03)`, with the number of pairs where it is not that of the rounds."""
    ratios = series.ratios(name, which)
    if not ratios:
        return "failed" if name in series.faults else "-"
    low, high, sure = interval(ratios)
    digits = 1 if statistics.median(ratios) >= 10 else 2
    told = f"{statistics.median(ratios):.{digits}f} ({low:.{digits}f}-{high:.{digits}f}"
    told += ")" if sure else ", range)"
    return told if len(ratios) == rounds else f"{told} n={len(ratios)}"


def table(head, rows):
    """Markdown."""
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def report(facts, all_series, names, left_out, rounds):
    """The whole text."""
    parts = [f"Measured {facts['date']} on Linux {facts['kernel']}, {facts['cpu']}, "
             f"{facts['processors']} CPUs, {facts['filesystem']}; {rounds} interleaved "
             f"rounds; load {facts['load']:.2f} at the start. Ratios to bare: median and 95 % "
             "interval, or the range where there are under 6 pairs."]
    if left_out:
        parts.append("Left out: " + "; ".join(f"{name} ({why})" for name, why in left_out) + ".")
    slow = sorted({name for series in all_series for name in series.slow})
    if slow:
        parts.append(f"Over {SLOW_RATIO:.0f} times slower somewhere, and there run in fewer rounds "
                     f"(n): {', '.join(slow)}.")
    others = names[1:]
    for which, title in ((0, "Wall time of the workload itself"), (1, "Wall time of the command")):
        rows = []
        for series in all_series:
            bare = statistics.median(times[which] for times in series.times["bare"].values())
            rows.append([series.workload.title, f"{bare / 1e9:.3f} s"]
                        + [cell(series, name, which, rounds) for name in others])
        parts.append(f"**{title}**\n\n" + table(["workload", "bare", *others], rows))
    parts += steady_state(all_series, others)
    rows = [[series.workload.title, name, f"{kib / 1024:.1f} MB", f"{size / 1e6:.2f} MB"]
            for series in all_series for name, (kib, size) in series.weights.items()]
    if rows:
        parts.append("**Peak memory of timesink, and the recording**\n\n"
                     + table(["workload", "", "peak memory", "recording"], rows))
    faults = [f"- {series.workload.name}, {name}: {why}"
              for series in all_series for name, why in series.faults.items()]
    if faults:
        parts.append("**Failed**\n\n" + "\n".join(faults))
    return "\n\n".join(parts) + "\n"


def steady_state(all_series, names):
    """What the added length of a longer workload costs, as a ratio: that is what is paid for ever,
    without what is paid at the start. From medians, because the two were not run in pairs."""
    by_name = {series.workload.name: series for series in all_series}
    rows = []
    for series in all_series:
        short = by_name.get(series.workload.longer_than)
        if short is None:
            continue

        def added(name):
            both = [one.times.get(name) for one in (short, series)]
            if not all(both):
                return None
            less, more = (statistics.median(own for own, _ in one.values()) for one in both)
            return more - less

        bare = added("bare")
        costs = [added(name) for name in names]
        rows.append([f"{series.workload.title}, less {short.workload.title}", f"{bare / 1e9:.3f} s"]
                    + ["-" if cost is None else f"{cost / bare:.2f}" for cost in costs])
    if not rows:
        return []
    return ["**Steady state**\n\n" + table(["workload", "bare", *names], rows)]


def machine(work):
    """Where this was measured."""
    models = [line.split(":", 1)[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines()
              if line.startswith("model name")]
    return {
        "date": datetime.date.today().isoformat(),
        "kernel": platform.release(),
        "cpu": models[0] if models else platform.machine(),
        "processors": os.cpu_count(),
        "filesystem": filesystem(work),
        "load": os.getloadavg()[0],
    }


def filesystem(path):
    """The type of the file system that a folder is on."""
    best, kind = "", "unknown"
    for line in Path("/proc/self/mounts").read_text().splitlines():
        _, where, this, *_ = line.split()
        inside = path == Path(where) or Path(where) in path.parents
        if inside and len(where) >= len(best):
            best, kind = where, this
    return kind


def keep(facts, all_series, left_out):
    """Writes all that was measured, for those who want to count differently."""
    folder = BENCH / "results"
    folder.mkdir(exist_ok=True)
    stamp = datetime.datetime.now().strftime("%Y-%m-%dT%H%M%S")
    content = {
        "version": 1, "machine": facts, "left_out": dict(left_out),
        "workloads": [{
            "name": series.workload.name, "command": series.workload.command,
            "ns_own_and_whole_by_round": series.times,
            "peak_kib_and_recording_bytes": series.weights, "failed": series.faults,
        } for series in all_series],
    }
    path = folder / f"{stamp}.json"
    path.write_text(json.dumps(content, indent=1) + "\n")
    return path


# ---------------------------------------------------------------- the outermost room

def with_tracefs():
    """Starts itself again in a mount name space of its own, with tracefs in it, where there is
    none: two of the peers look for it, and the machine's own mounts are not ours to change."""
    if TRACEFS.exists() or os.geteuid() != 0 or "BENCH_MOUNTED" in os.environ:
        return
    mount = ("mountpoint -q /sys/kernel/debug || mount -t debugfs none /sys/kernel/debug;"
             "mountpoint -q /sys/kernel/tracing || mount -t tracefs none /sys/kernel/tracing;"
             ' exec "$0" "$@"')
    again = ["unshare", "--mount", "sh", "-c", mount, sys.executable, *sys.argv]
    os.execvpe("unshare", again, dict(os.environ, BENCH_MOUNTED="1"))


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--timesink", default=str(BENCH.parent / "target/release/timesink"),
                        help="the binary to measure (default: target/release/timesink)")
    parser.add_argument("--before", metavar="TIMESINK", help="another build of timesink, recorded with in the same rounds")
    parser.add_argument("--rounds", type=int, default=16, help="rounds, default 16")
    parser.add_argument("--recorder", metavar="NAME", action="append",
                        help="only this one beside bare; can be given more than once")
    parser.add_argument("--quick", action="store_true", help="3 rounds, 1 for slow recorders")
    parser.add_argument("--workload", action="append", metavar="NAME",
                        help="only this one; can be given more than once")
    parser.add_argument("--work", default=str(BENCH.parent / "target/bench"),
                        help="a folder on a real file system (default: target/bench)")
    return parser.parse_args()


def main():
    options = arguments()
    with_tracefs()
    work = Path(options.work).resolve()
    work.mkdir(parents=True, exist_ok=True)
    if filesystem(work) in ("tmpfs", "ramfs", "overlay"):
        sys.exit(f"{work} is on {filesystem(work)}, where a flush costs nothing: name another --work")
    if " " in str(work):
        sys.exit(f"{work} has a space in it, which bpftrace -c cannot take: name another --work")
    build(work)
    chosen = [one for one in workloads(work) if not options.workload or one.name in options.workload]
    if not chosen or not shutil.which("sqlite3") and any(one.name == "sqlite" for one in chosen):
        sys.exit("no such workload, or sqlite3 is not installed")
    everybody = recorders(str(Path(options.timesink).resolve()), options.before)
    if options.recorder:
        everybody = [recorder for recorder in everybody
                     if recorder.name == "bare" or recorder.name in options.recorder]
    present = [recorder for recorder in everybody if not recorder.missing]
    left_out = [(recorder.name, recorder.missing) for recorder in everybody if recorder.missing]
    rounds, slow_rounds = (3, 1) if options.quick else (options.rounds, 3)
    facts = machine(work)

    def say(text):
        print(text, file=sys.stderr, flush=True)

    all_series = []
    try:
        for workload in chosen:
            slow = {name for series in all_series for name in series.slow
                    if series.workload.name == workload.longer_than}
            able = [recorder for recorder in present if recorder.name not in slow]
            all_series.append(run_series(workload, able, Runner(work), rounds, slow_rounds, say))
    except RunFailed as fault:
        sys.exit(f"a bare run failed: {fault}")
    say(f"kept in {keep(facts, all_series, left_out)}")
    print(report(facts, all_series, [one.name for one in present], left_out, rounds))


if __name__ == "__main__":
    main()
