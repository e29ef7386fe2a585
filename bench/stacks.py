#!/usr/bin/env python3
"""How whole are the stacks, and how large the recording? timesink beside `perf record --call-graph dwarf`.

Each workload is run bare and under both recorders in turn, some rounds; told are medians. A stack of
perf's counts as whole if it has a function where threads begin. Then how much a recording grows with a program
that waits a thousand times a second. Must be run as root; prints Markdown.
"""

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path

BENCH = Path(__file__).resolve().parent
# Stripped programs have no name for _start: who called main, or ran the thread, says as much.
BEGINNINGS = ("_start", "__libc_start", "__clone", "clone3", "start_thread", "ret_from_fork", "_dl_start_user")
ROWS = 500
PYTHON = "import json\nfor i in range(40): json.loads(json.dumps([{'a': i, 'b': [1.5] * 1000}] * 300))"
NODE = ("let s = 0; function leaf(n) { let x = 0; for (let i = 0; i < n; i++) x += Math.sqrt(i); "
        "return x; } for (let i = 0; i < 200; i++) s += leaf(1e6);")
JAVA = ("public class Spin { static double leaf(int n) { double x = 0; for (int i = 0; i < n; i++) "
        "x += Math.sqrt(i); return x; } public static void main(String[] a) { double s = 0; "
        "for (int i = 0; i < 1000; i++) s += leaf(1000000); System.out.println(s); } }\n")
WAITS = "import time\nfor i in range(10000): time.sleep(0.0009)"
SOURCE = "#include <map>\n#include <string>\n#include <regex>\nint main() { std::regex r(\"a*b\"); " \
         "std::map<int, std::string> m; return m.size() + std::regex_match(\"aab\", r); }\n"


LARGE = "int g{n}(int x, int y) {{ int s = 0; for (int i = 0; i < x; i++) {{ s += i * y + {n}; if (s & {n} % 7) s ^= i; " \
        "switch (s % 5) {{ case 0: s += 3; break; case 1: s -= i; break; default: s *= 3; }} }} return s; }}\n"
MAKEFILE = "OBJECTS := $(patsubst %.c,%.o,$(wildcard *.c))\nall: $(OBJECTS)\n%.o: %.c\n\tgcc -O2 -c -o $@ $<\n"
CRATE = "[package]\nname = \"small\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[workspace]\n"


def project(folder, files):
    """A folder that `make` has work in."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    (folder / "Makefile").write_text(MAKEFILE)
    for n in range(files):
        (folder / f"f{n}.c").write_text("".join(LARGE.format(n=100 * n + i) for i in range(40)))


def crate(folder):
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "src").mkdir(parents=True)
    (folder / "Cargo.toml").write_text(CRATE)
    (folder / "src/main.rs").write_text("fn main() { println!(\"{:?}\", (0..9).map(|n| n.to_string()).collect::<Vec<_>>()); }\n")


def workloads(work):
    project(work / "project", 40)
    crate(work / "crate")
    (work / "large.c").write_text("".join(LARGE.format(n=n) for n in range(6000)))
    (work / "rows.sql").write_text("\n".join(
        ["CREATE TABLE t (a);"] + [f"INSERT INTO t VALUES ({n});" for n in range(ROWS)]) + "\n")
    (work / "big.cc").write_text(SOURCE)
    (work / "Spin.java").write_text(JAVA)
    return {
        f"sqlite3, {ROWS} commits": ["sh", "-c", f"rm -f {work}/t.db; sqlite3 {work}/t.db < {work}/rows.sql"],
        "sort, 1M lines": ["sh", "-c", f"seq 1000000 | sort --parallel=2 -rn > {work}/sorted"],
        "python3": ["python3", "-c", PYTHON],
        "node": ["node", "-e", NODE],
        "java": ["java", f"{work}/Spin.java"],
        "bash, 500 children": ["bash", "-c", "for i in $(seq 500); do /bin/true; done"],
        "make -j2, 40 files of C": ["sh", "-c", f"rm -f {work}/project/*.o; make -s -j2 -C {work}/project"],
        "cargo build, small crate": ["sh", "-c", f"cd {work}/crate && rm -rf target && cargo build -q --offline"],
        "gcc, a large file": ["gcc", "-O2", "-c", f"{work}/large.c", "-o", f"{work}/large.o"],
        "g++": ["g++", "-O2", "-c", f"{work}/big.cc", "-o", f"{work}/big.o"],
    }


def timed(command, **options):
    start = time.monotonic()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **options)
    return time.monotonic() - start


def size(path):
    path = Path(path)
    files = path.iterdir() if path.is_dir() else [path]
    return sum(file.stat().st_size for file in files)


def of_timesink(binary, work, command):
    recording = work / "stacks.timesink"
    shutil.rmtree(recording, ignore_errors=True)
    wall = timed([binary, "run", "-q", "-o", recording, "--", *command])
    told = subprocess.run([binary, "report", "--json", recording], check=True, capture_output=True)
    stacks = json.loads(told.stdout)["stacks"]
    whole = 100 * stacks["complete"] / max(1, stacks["taken"])
    return {"wall": wall, "bytes": size(recording), "taken": stacks["taken"], "whole": whole,
            "nameless": stacks["nameless_frames"]}


def of_perf(work, command):
    data = work / "perf.data"
    data.unlink(missing_ok=True)
    try:
        wall = timed(["perf", "record", "-B", "-q", "-F", "499", "--call-graph", "dwarf", "-o", data, "--", *command])
    except subprocess.CalledProcessError:
        return None
    script = subprocess.run(["perf", "script", "-i", data, "-F", "ip,sym"], text=True,
                            capture_output=True, errors="replace")
    stacks = [stack for stack in script.stdout.strip().split("\n\n") if stack.strip()]
    begun = [any(f" {name}" in stack for name in BEGINNINGS) for stack in stacks]
    whole = 100 * sum(begun) / max(1, len(begun))
    return {"wall": wall, "bytes": size(data), "taken": len(stacks), "whole": whole}


def compare(options, work):
    print("| workload | bare | timesink: wall | stacks | whole | frames without a name | bytes |"
          " perf dwarf: wall | stacks | whole | bytes |")
    print("|---|---|---|---|---|---|---|---|---|---|---|")
    for name, command in workloads(work).items():
        if not shutil.which(command[0]):
            continue
        rounds = [(timed(command), of_timesink(options.timesink, work, command), of_perf(work, command))
                  for _ in range(options.rounds)]
        bare = statistics.median(one[0] for one in rounds)

        def median(who, what):
            return statistics.median(one[who][what] for one in rounds if one[who])
        told = "it failed | - | - | -"
        if any(one[2] for one in rounds):
            # A perf older than the kernel cannot read back some of what it wrote: no stacks then.
            told = (f"{median(2, 'wall'):.2f} s | {median(2, 'taken'):.0f} | "
                    f"{median(2, 'whole'):.1f} % | {median(2, 'bytes') / 1e6:.1f} MB")
        print(f"| {name} | {bare:.2f} s | {median(1, 'wall'):.2f} s | {median(1, 'taken'):.0f} | "
              f"{median(1, 'whole'):.1f} % | {median(1, 'nameless'):.0f} | {median(1, 'bytes') / 1e6:.2f} MB | "
              f"{told} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--timesink", default=str(BENCH.parent / "target/release/timesink"))
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    if not shutil.which("perf"):
        sys.exit("perf is not installed")
    work = BENCH.parent / "target/bench/stacks"
    work.mkdir(parents=True, exist_ok=True)
    compare(options, work)
    waits = of_timesink(options.timesink, work, ["python3", "-c", WAITS])
    rate, growth = waits["taken"] / waits["wall"], waits["bytes"] / waits["wall"] * 60 / 1e6
    print(f"\nA program that waits some {rate:.0f} times a second: its recording grows by {growth:.1f} MB a minute.")


if __name__ == "__main__":
    main()
