"""Tasks of asyncio that go on after a wait for a timer to one for a lock without any call. Prints how long they waited for what. Usage: unseen_waits.py"""
import asyncio
import json
import os
import time

WAITED = {"lock": 0.0, "timer": 0.0}


async def locked(lock):
    for _ in range(30):
        began = time.perf_counter()
        await lock.acquire()
        taken = time.perf_counter()
        # It is seen here alone.
        os.getppid()
        await asyncio.sleep(0.005)
        done = time.perf_counter()
        lock.release()
        WAITED["lock"] += taken - began
        WAITED["timer"] += done - taken


async def main():
    lock = asyncio.Lock()
    await asyncio.gather(*(locked(lock) for _ in range(6)))


# That it has loaded asyncio is seen within 20 ms.
time.sleep(0.1)
asyncio.run(main())
print(json.dumps(WAITED))
