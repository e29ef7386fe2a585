#!/usr/bin/env python3
"""How whole are the stacks, and how large the recording? timesink beside `perf record --call-graph dwarf`.

Each workload is run bare and under both recorders in turn, some rounds; told are medians. A stack of
perf's counts as whole if it has a function where threads begin. Then how much a recording grows with a program
that waits a thousand times a second, and what the names of a program of 100 MB cost (the example `names` of
timesink-capture must be built for that). Must be run as root; prints Markdown. With `--only TEXT` only those
workloads are run that have it in their names, so that all can be done in parts.
"""

import argparse
import json
import os
import re
import shutil
import socket
import statistics
import subprocess
import sys
import time
from pathlib import Path

BENCH = Path(__file__).resolve().parent
# How many percent should be whole: fewer where many processes are started, or code is compiled.
MANY_PCT, SINGLE_PCT = 95, 98
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
# Answers a client of ours, which ends it when it has had enough.
NGINX = """daemon off; pid {work}/nginx.pid; error_log {work}/nginx.log;
events {{}}
http {{ access_log off; server {{ listen 127.0.0.1:{port}; root {work}/html; }} }}
"""
REQUESTS = 20_000
CLIENT = """import http.client, os, signal, time
def connected():
    while True:
        try:
            connection = http.client.HTTPConnection('127.0.0.1', {port})
            connection.connect()
            return connection
        except ConnectionRefusedError:
            time.sleep(0.01)
connection = connected()
for _ in range({requests}):
    connection.request('GET', '/index.html')
    connection.getresponse().read()
connection.close()
os.kill(int(open('{work}/nginx.pid').read()), signal.SIGQUIT)
"""
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


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def server(work):
    """What answers, and the client that runs beside it, unrecorded."""
    (work / "html").mkdir(exist_ok=True)
    (work / "html/index.html").write_text("<p>hello</p>\n" * 100)
    port = free_port()
    (work / "nginx.conf").write_text(NGINX.format(work=work, port=port))
    client = CLIENT.format(work=work, port=port, requests=REQUESTS)
    return ["nginx", "-p", str(work), "-c", str(work / "nginx.conf")], ["python3", "-c", client]


class Workload:
    """A command, how many percent of its stacks should be whole, and what runs beside it."""

    def __init__(self, name, wanted, command, beside=None):
        self.name, self.wanted, self.command, self.beside = name, wanted, command, beside


def workloads(work):
    project(work / "project", 40)
    crate(work / "crate")
    (work / "large.c").write_text("".join(LARGE.format(n=n) for n in range(2000)))
    (work / "rows.sql").write_text("\n".join(
        ["CREATE TABLE t (a);"] + [f"INSERT INTO t VALUES ({n});" for n in range(ROWS)]) + "\n")
    (work / "big.cc").write_text(SOURCE)
    (work / "Spin.java").write_text(JAVA)
    answers, asks = server(work)
    return [
        Workload(f"sqlite3, {ROWS} commits", SINGLE_PCT,
                 ["sh", "-c", f"rm -f {work}/t.db; sqlite3 {work}/t.db < {work}/rows.sql"]),
        Workload("sort, 1M lines", SINGLE_PCT,
                 ["sh", "-c", f"seq 1000000 | sort --parallel=2 -rn > {work}/sorted"]),
        Workload("python3", SINGLE_PCT, ["python3", "-c", PYTHON]),
        Workload("node", SINGLE_PCT, ["node", "-e", NODE]),
        Workload("java", SINGLE_PCT, ["java", f"{work}/Spin.java"]),
        Workload(f"nginx, {REQUESTS:,} requests", SINGLE_PCT, answers, asks),
        Workload("bash, 500 children", MANY_PCT, ["bash", "-c", "for i in $(seq 500); do /bin/true; done"]),
        Workload("make -j2, 40 files of C", MANY_PCT,
                 ["sh", "-c", f"rm -f {work}/project/*.o; make -s -j2 -C {work}/project"]),
        Workload("gcc, a large file", MANY_PCT, ["gcc", "-O2", "-c", f"{work}/large.c", "-o", f"{work}/large.o"]),
        Workload("g++", MANY_PCT, ["g++", "-O2", "-c", f"{work}/big.cc", "-o", f"{work}/big.o"]),
        Workload("cargo build, small crate", MANY_PCT,
                 ["sh", "-c", f"cd {work}/crate && rm -rf target && cargo build -q --offline"]),
    ]


def timed(command, beside=None):
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    start = time.monotonic()
    with subprocess.Popen(command, **quiet) as running:
        if beside:
            subprocess.run(beside, check=True, **quiet)
        code = running.wait()
    if code:
        raise subprocess.CalledProcessError(code, command)
    return time.monotonic() - start


def size(path):
    path = Path(path)
    files = path.iterdir() if path.is_dir() else [path]
    return sum(file.stat().st_size for file in files)


def of_timesink(binary, work, command, beside=None):
    recording = work / "stacks.timesink"
    shutil.rmtree(recording, ignore_errors=True)
    wall = timed([binary, "run", "-q", "-o", recording, "--", *command], beside)
    told = subprocess.run([binary, "report", "--json", recording], check=True, capture_output=True)
    stacks = json.loads(told.stdout)["stacks"]
    whole = 100 * stacks["complete"] / max(1, stacks["taken"])
    return {"wall": wall, "bytes": size(recording), "taken": stacks["taken"], "whole": whole,
            "nameless": stacks["nameless_frames"]}


def of_perf(work, command, beside=None):
    data = work / "perf.data"
    data.unlink(missing_ok=True)
    try:
        wall = timed(["perf", "record", "-B", "-q", "-F", "499", "--call-graph", "dwarf", "-o", data, "--", *command],
                     beside)
    except subprocess.CalledProcessError:
        return None
    script = subprocess.run(["perf", "script", "-i", data, "-F", "ip,sym"], text=True,
                            capture_output=True, errors="replace")
    stacks = [stack for stack in script.stdout.strip().split("\n\n") if stack.strip()]
    begun = [any(f" {name}" in stack for name in BEGINNINGS) for stack in stacks]
    whole = 100 * sum(begun) / max(1, len(begun))
    return {"wall": wall, "bytes": size(data), "taken": len(stacks), "whole": whole}


def compare(options, work):
    print("| workload | bare | timesink: wall | stacks | whole | wanted | frames without a name | bytes |"
          " perf dwarf: wall | stacks | whole | bytes |")
    print("|---|---|---|---|---|---|---|---|---|---|---|---|")
    for load in workloads(work):
        command, beside = load.command, load.beside
        if not shutil.which(command[0]) or options.only not in load.name:
            continue
        rounds = [(timed(command, beside), of_timesink(options.timesink, work, command, beside),
                   of_perf(work, command, beside)) for _ in range(options.rounds)]
        bare = statistics.median(one[0] for one in rounds)

        def median(who, what):
            return statistics.median(one[who][what] for one in rounds if one[who])
        told = "it failed | - | - | -"
        if any(one[2] for one in rounds):
            # A perf older than the kernel cannot read back some of what it wrote: no stacks then.
            told = (f"{median(2, 'wall'):.2f} s | {median(2, 'taken'):,.0f} | "
                    f"{median(2, 'whole'):.1f} % | {median(2, 'bytes') / 1e6:.1f} MB")
        print(f"| {load.name} | {bare:.2f} s | {median(1, 'wall'):.2f} s | {median(1, 'taken'):,.0f} | "
              f"{median(1, 'whole'):.1f} % | {load.wanted} % | {median(1, 'nameless'):,.0f} | "
              f"{median(1, 'bytes') / 1e6:.2f} MB | {told} |", flush=True)


def large_program(work, copies=72):
    """A program of 100 MB with debug information: the same functions again and again, by other names."""
    program = work / "hundred"
    if program.exists():
        return program
    folder = work / "copies"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()

    def run(*command):
        subprocess.run(command, cwd=folder, check=True)
    (folder / "one.c").write_text("".join(LARGE.format(n=n) for n in range(2500)))
    (folder / "main.c").write_text("int main(void) { return 0; }\n")
    run("gcc", "-g", "-O2", "-c", "one.c")
    for n in range(copies):
        run("objcopy", f"--prefix-symbols=f{n}_", "one.o", f"copy{n}.o")
    run("gcc", "-o", program, "main.c", *(f"copy{n}.o" for n in range(copies)))
    shutil.rmtree(folder)
    return program


def names(options, work):
    """What the names of a large program cost: looked for, and found in the cache."""
    program = large_program(work)
    listing = subprocess.run(["nm", program], check=True, capture_output=True, text=True).stdout
    functions = [int(line.split()[0], 16) for line in listing.splitlines() if " T f" in line]
    step = max(1, len(functions) // 2000)
    offsets = "".join(f"{address + 8:x}\n" for address in functions[::step])
    cache = work / "names"
    shutil.rmtree(cache, ignore_errors=True)
    told = []
    for _ in range(2):
        with subprocess.Popen([options.names, program, cache], text=True, stdin=subprocess.PIPE,
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as running:
            running.stdin.write(offsets)
            running.stdin.close()
            said = running.stderr.read()
            _, _, usage = os.wait4(running.pid, 0)
            running.returncode = 0
        named, of, took = re.match(r"(\d+) of (\d+) offsets named in ([\d.]+.?s)", said).groups()
        told.append(f"{took} and {usage.ru_maxrss / 1024:.0f} MB of memory at most ({named} of {of} named)")
    print(f"\nNames of {offsets.count(chr(10)):,} places in a program of {size(program) / 1e6:.0f} MB with debug "
          f"information: {told[0]}; from the cache {told[1]}. Wanted: 2 s, 0.1 s, 500 MB.")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--timesink", default=str(BENCH.parent / "target/release/timesink"))
    parser.add_argument("--names", default=str(BENCH.parent / "target/release/examples/names"))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default="", help="workloads with this in their names")
    options = parser.parse_args()
    if not shutil.which("perf"):
        sys.exit("perf is not installed")
    work = BENCH.parent / "target/bench/stacks"
    work.mkdir(parents=True, exist_ok=True)
    compare(options, work)
    if options.only in "waits":
        waits = of_timesink(options.timesink, work, ["python3", "-c", WAITS])
        rate, growth = waits["taken"] / waits["wall"], waits["bytes"] / waits["wall"] * 60 / 1e6
        print(f"\nA program that waits some {rate:.0f} times a second: its recording grows by {growth:.1f} MB "
              "a minute (wanted: less than 10 MB).", flush=True)
    if options.only in "names":
        names(options, work)


if __name__ == "__main__":
    main()
