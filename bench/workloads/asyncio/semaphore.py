"""Fifty tasks share ten places, and keep them for 20 ms each."""
import asyncio
from clocks import AWAITING, block, run


async def limited(places):
    with block("limited", AWAITING):
        async with places:
            await asyncio.sleep(0.02)


async def main():
    places = asyncio.Semaphore(10)
    await asyncio.gather(*[limited(places) for _ in range(50)])


run(main())
