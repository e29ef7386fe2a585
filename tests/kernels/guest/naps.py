"""Known functions on a processor and asleep: what is recorded of them is judged on the host."""

import os
import time


def compute():
    total = 0
    for i in range(60000):
        total = (total * 31 + i) % 1000003
    return total


def store():
    with open("/disk/naps.data", "a") as out:
        out.write(str(compute()))
        out.flush()
        os.fsync(out.fileno())


def nap():
    time.sleep(0.02)


def main():
    for _ in range(20):
        store()
        nap()


main()
