"""Runs two steps one after the other, and finds out that each is done by looking now and then, or by waiting for it."""
import subprocess
import sys
import time

STEP = ["sh", "-c", "n=0; while [ $n -lt 900000 ]; do n=$((n + 1)); done"]

for _ in range(2):
    step = subprocess.Popen(STEP)
    if sys.argv[1] == "waits":
        step.wait()
        continue
    pause = 0.02
    while step.poll() is None:
        time.sleep(pause)
        pause *= 2
