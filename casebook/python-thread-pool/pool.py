"""Counts the colours of pictures in a pool of two workers: threads, of which Python lets one run at a time, or processes."""
import sys
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor


def count_colours(seed):
    state, seen = seed, {}
    for _ in range(250_000):
        state = (state * 1103515245 + 12345) & 0x7FFFFFFF
        colour = state >> 20
        seen[colour] = seen.get(colour, 0) + 1
    return len(seen)


if __name__ == "__main__":
    kind = {"threads": ThreadPoolExecutor, "processes": ProcessPoolExecutor}[sys.argv[1]]
    with kind(2) as pool:
        print(sum(pool.map(count_colours, range(16))))
