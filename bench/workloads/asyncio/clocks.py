"""What the programs beside this tell of their own tasks: seconds on the thread and seconds awaiting, by coroutine.

A task is on the thread from when the loop calls it until it comes back to the loop, and awaits from then until it is called
again. Both are measured around asyncio's own call of it, so that nothing of a task is left out.
"""
import asyncio
import json
import os
import time

AWAITING = "awaiting"
ON_THREAD = "on_thread"
SUMS = {ON_THREAD: {}, AWAITING: {}}
TOLD = {ON_THREAD: set(), AWAITING: set()}
LEFT = {}


class block:
    """A part of a coroutine, whose time on the thread is told (or, with AWAITING, whose time awaiting)."""

    def __init__(self, name, kind=ON_THREAD):
        self.kind = kind
        TOLD[kind].add(name)

    def __enter__(self):
        if self.kind is AWAITING:
            os.getppid()  # a task is seen by its calls and by samples

    def __exit__(self, *_):
        if self.kind is AWAITING:
            os.getppid()


def add(kind, name, seconds):
    SUMS[kind][name] = SUMS[kind].get(name, 0) + seconds


def clocked(run):
    """The loop's way to call back, with clocks around it if it calls a task."""

    def _run(handle):
        task = getattr(handle._callback, "__self__", None)
        if not isinstance(task, asyncio.Task):
            return run(handle)
        began = time.perf_counter()
        name = task.get_coro().__name__
        if task in LEFT:
            add(AWAITING, name, began - LEFT[task])
        run(handle)
        LEFT[task] = time.perf_counter()
        add(ON_THREAD, name, LEFT[task] - began)

    return _run


def compute(seconds):
    """On CPU for that long by the clock."""
    end = time.perf_counter() + seconds
    value = 0
    while time.perf_counter() < end:
        value += sum(range(100))
    return value


def run(main):
    time.sleep(0.1)  # the recorder looks every 20 ms whether a program has loaded asyncio
    asyncio.Handle._run = clocked(asyncio.Handle._run)
    asyncio.run(main)
    print(json.dumps({kind: {name: sums[name] for name in sums if name in TOLD[kind]} for kind, sums in SUMS.items()}))
