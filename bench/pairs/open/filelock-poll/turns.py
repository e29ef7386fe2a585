"""Two processes share a lock: each holds it for 8 ms of work, then does 4 ms of its own, 40 times."""
import os
import sys
import time

from filelock import FileLock


def work(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pass


def turns():
    for _ in range(40):
        with FileLock("turn.lock").acquire(poll_interval=float(sys.argv[1])):
            work(0.008)
        work(0.004)


child = os.fork()
turns()
if child:
    os.waitpid(child, 0)
