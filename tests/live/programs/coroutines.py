"""Tasks of asyncio, whose times they tell themselves. Usage: coroutines.py FOLDER"""
import asyncio
import json
import os
import sys
import time

# Of each coroutine: seconds on the thread, and seconds awaiting.
ON_THREAD = {}
AWAITING = {}


class Clock:
    """What a coroutine does in a block of its own, without awaiting."""

    def __init__(self, name, sums=ON_THREAD):
        self.name, self.sums = name, sums

    def __enter__(self):
        self.began = time.perf_counter()

    def __exit__(self, *_):
        took = time.perf_counter() - self.began
        self.sums[self.name] = self.sums.get(self.name, 0) + took


def compute(seconds):
    end = time.perf_counter() + seconds
    value = 0
    while time.perf_counter() < end:
        value += sum(range(200))
    return value


async def spinner(slice_s):
    for _ in range(20):
        with Clock("spinner"):
            compute(slice_s)
        await asyncio.sleep(0)


async def flusher(folder):
    with open(os.path.join(folder, "log"), "w") as log:
        for number in range(40):
            with Clock("flusher"):
                log.write(f"record {number}\n")
                log.flush()
                os.fsync(log.fileno())
            await asyncio.sleep(0.002)


# A task is seen when it makes a call, or is sampled.
def be_seen():
    os.getppid()


async def sleeper():
    for _ in range(10):
        be_seen()
        with Clock("sleeper", AWAITING):
            await asyncio.sleep(0.03)
    be_seen()


async def limited(semaphore):
    be_seen()
    with Clock("limited", AWAITING):
        async with semaphore:
            be_seen()
            await asyncio.sleep(0.02)
    be_seen()


async def consumer(queue):
    while await queue.get() is not None:
        with Clock("consumer"):
            compute(0.002)


async def producer(queue):
    for number in range(30):
        await queue.put(number)
        be_seen()
        await asyncio.sleep(0.005)
    await queue.put(None)


async def main(folder):
    be_seen()
    semaphore = asyncio.Semaphore(2)
    queue = asyncio.Queue(4)
    await asyncio.gather(
        spinner(0.004), spinner(0.005), spinner(0.006), flusher(folder), sleeper(),
        *[limited(semaphore) for _ in range(20)], consumer(queue),
        asyncio.create_task(producer(queue), name="the producer"),
    )
    be_seen()


# That it has loaded asyncio is seen within 20 ms.
time.sleep(0.1)
asyncio.run(main(sys.argv[1]))
print(json.dumps({"on_thread": ON_THREAD, "awaiting": AWAITING}))
