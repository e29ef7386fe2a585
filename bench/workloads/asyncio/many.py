"""Ten thousand short tasks."""
import asyncio
from clocks import block, compute, run


async def short():
    with block("short"):
        compute(0.00005)


async def main():
    await asyncio.gather(*[short() for _ in range(10000)])


run(main())
