"""Four tasks take one lock in turn, and keep it over a sleep."""
import asyncio
from clocks import AWAITING, block, run


async def guarded(lock):
    for _ in range(10):
        with block("guarded", AWAITING):
            async with lock:
                await asyncio.sleep(0.005)


async def main():
    lock = asyncio.Lock()
    await asyncio.gather(*[guarded(lock) for _ in range(4)])


run(main())
