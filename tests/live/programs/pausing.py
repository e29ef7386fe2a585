"""A task of asyncio that makes many calls, so that they are timed now and then only, blocks its loop, and waits for a timer."""
import asyncio
import os
import time


async def caller():
    for _ in range(300):
        for _ in range(300):
            os.getppid()
        time.sleep(0.0005)
        await asyncio.sleep(0.002)


asyncio.run(caller())
