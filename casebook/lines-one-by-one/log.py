"""Writes a line for each of many events, and hands each to the system by itself (each) or many together (buffer)."""
import sys

FLUSH = sys.argv[1] == "each"
sys.stdout = open(sys.stdout.fileno(), "w")
for number in range(120_000):
    print(f"event {number}: {number * 7919 % 1009}", flush=FLUSH)
