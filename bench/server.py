#!/usr/bin/env python3
"""What does it cost a server at full load to be attached to?

A server (nginx with two workers, or one of net/http in Go or of http in Node.js) is asked by one wrk all the time. Each round has a
slice of each kind, in random order: nobody attached, timesink, `perf record -g`. What counts is the ratio of two slices of the same
round, by the server's own count of requests: runs of their own, one after the other, scatter by a third on a virtual machine.

Must be run as root. Needs wrk and perf, and nginx, Go or Node.js (Debian's nginx-light, wrk, linux-perf).
"""

import argparse
import random
import signal
import statistics
import subprocess
import tempfile
import time
import urllib.request
from pathlib import Path

TIMESINK = Path(__file__).resolve().parent.parent / "target/release/timesink"
PORT = 18999
BEFORE_S = 1.0  # until a recorder is at work
WORKLOADS = Path(__file__).resolve().parent / "workloads"
CONFIGURATION = """
worker_processes 2; daemon off; pid {folder}/pid; error_log {folder}/errors;
events {{ worker_connections 512; }}
http {{
  access_log off; keepalive_requests 1000000000; sendfile on;
  server {{ listen 127.0.0.1:{port}; root {folder}; location /requests {{ stub_status; }} }}
}}
"""


def address(path):
    return f"http://127.0.0.1:{PORT}/{path}"


def requests_so_far():
    """How many requests the server has answered, and when that was. nginx tells it among other numbers."""
    words = urllib.request.urlopen(address("requests")).read().decode().split()
    return int(words[9] if len(words) > 9 else words[0]), time.monotonic()


def rate(seconds):
    """Requests per second in the slice that begins now."""
    before, began = requests_so_far()
    time.sleep(seconds)
    after, ended = requests_so_far()
    return (after - before) / (ended - began)


def rate_under(command, seconds):
    """The same while a recorder is at work; it is stopped as by Ctrl-C."""
    if not command:
        return rate(seconds)
    recorder = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(BEFORE_S)
    if recorder.poll() is not None:
        raise SystemExit(f"{command[0]} ended at once")
    found = rate(seconds)
    recorder.send_signal(signal.SIGINT)
    recorder.wait()
    return found


def recorders(folder, pids, before):
    """What is attached, by name, anew for each slice."""
    number = time.monotonic_ns()
    builds = {"timesink attach": TIMESINK} | ({"timesink before": Path(before)} if before else {})
    ours = {name: [str(build), "attach", "-q", "-o", f"{folder}/{number}-{build_number}.timesink", *pids]
            for build_number, (name, build) in enumerate(builds.items())}
    return {
        "bare": [],
        **ours,
        "perf record -F 999 -g": ["perf", "record", "-q", "-F", "999", "-g", "-o", f"{folder}/{number}.data",
                                  "-p", ",".join(pids)],
    }


def measure(folder, pids, options):
    """The ratios to bare of each recorder."""
    ratios = {}
    for number in range(options.rounds):
        kinds = list(recorders(folder, pids, options.before).items())
        random.shuffle(kinds)
        found = {name: rate_under(command, options.seconds) for name, command in kinds}
        for name in found:
            if name != "bare":
                ratios.setdefault(name, []).append(found[name] / found["bare"])
        print(f"round {number + 1} of {options.rounds}: bare {found['bare']:,.0f} requests/s", flush=True)
    return ratios


def nginx(folder):
    Path(folder).chmod(0o755)
    Path(folder, "index.html").write_text("x" * 2700)
    Path(folder, "nginx.conf").write_text(CONFIGURATION.format(folder=folder, port=PORT))
    return ["nginx", "-c", f"{folder}/nginx.conf"]


def go(folder):
    subprocess.run(["go", "build", "-o", f"{folder}/server", WORKLOADS / "server.go"], check=True)
    return [f"{folder}/server", str(PORT)]


def node(_folder):
    return ["node", WORKLOADS / "server.mjs", str(PORT)]


SERVERS = {"nginx": nginx, "go": go, "node": node}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--server", choices=SERVERS, default="nginx")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--seconds", type=float, default=1.5, help="how long a slice is")
    parser.add_argument("--before", metavar="TIMESINK", help="another build of timesink, attached in the same rounds")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        server = subprocess.Popen(SERVERS[options.server](folder))
        time.sleep(1)
        client = subprocess.Popen(["wrk", "-t2", "-c32", "-d100000", address("")], stdout=subprocess.DEVNULL)
        try:
            time.sleep(2)
            # Those of nginx that answer are its children.
            workers = subprocess.run(["pgrep", "-P", str(server.pid)], capture_output=True, text=True, check=False)
            ratios = measure(folder, workers.stdout.split() or [str(server.pid)], options)
        finally:
            client.terminate()
            server.terminate()
            server.wait()
    for name, found in ratios.items():
        low, middle, high = statistics.quantiles(found, n=4)
        print(f"{name}: {middle:.3f} of the requests without it (quartiles {low:.3f}-{high:.3f}, {options.rounds} rounds)")


if __name__ == "__main__":
    main()
