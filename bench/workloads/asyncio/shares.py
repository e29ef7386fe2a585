"""Three tasks compute in slices of different lengths, in turn."""
import asyncio
from clocks import block, compute, run


async def small():
    for _ in range(60):
        with block("small"):
            compute(0.002)
        await asyncio.sleep(0)


async def middle():
    for _ in range(60):
        with block("middle"):
            compute(0.004)
        await asyncio.sleep(0)


async def large():
    for _ in range(60):
        with block("large"):
            compute(0.008)
        await asyncio.sleep(0)


async def main():
    await asyncio.gather(small(), middle(), large())


run(main())
