"""Pages are fetched one after the other, which could be fetched together."""
import asyncio
from clocks import AWAITING, block, compute, run


async def fetch(number):
    with block("fetch", AWAITING):
        await asyncio.sleep(0.02)
    with block("fetch"):
        compute(0.002)


async def main():
    for number in range(20):
        await asyncio.create_task(fetch(number))


run(main())
