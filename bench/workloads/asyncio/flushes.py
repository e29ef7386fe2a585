"""A task flushes each record to disk, on the thread of the loop; another one ticks."""
import asyncio
import os
import tempfile
from clocks import AWAITING, block, run


async def writer(log):
    for number in range(100):
        with block("writer"):
            os.write(log, b"record %d\n" % number)
            os.fsync(log)
        with block("writer", AWAITING):
            await asyncio.sleep(0.002)


async def ticker():
    for _ in range(50):
        with block("ticker", AWAITING):
            await asyncio.sleep(0.005)


async def main():
    log, path = tempfile.mkstemp(dir=".")
    os.unlink(path)
    await asyncio.gather(writer(log), ticker())


run(main())
