"""What the programs beside this tell of their own tasks: seconds on the thread and seconds awaiting, by coroutine."""
import asyncio
import json
import os
import time

ON_THREAD = {}
AWAITING = {}


class block:
    """A part of a coroutine, in which it does not await (or, with AWAITING, does nothing else)."""

    def __init__(self, name, sums=ON_THREAD):
        self.name, self.sums = name, sums

    def __enter__(self):
        if self.sums is AWAITING:
            os.getppid()  # a task is seen by its calls and by samples
        self.began = time.perf_counter()

    def __exit__(self, *_):
        took = time.perf_counter() - self.began
        self.sums[self.name] = self.sums.get(self.name, 0) + took
        if self.sums is AWAITING:
            os.getppid()


def compute(seconds):
    """On CPU for that long by the clock."""
    end = time.perf_counter() + seconds
    value = 0
    while time.perf_counter() < end:
        value += sum(range(100))
    return value


def run(main):
    asyncio.run(main)
    print(json.dumps({"on_thread": ON_THREAD, "awaiting": AWAITING}))
