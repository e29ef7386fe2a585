"""One task puts work into a short queue, two take it out."""
import asyncio
from clocks import AWAITING, block, compute, run


async def producer(queue):
    for item in [*range(60), None, None]:
        with block("producer", AWAITING):
            await queue.put(item)


async def consumer(queue):
    while True:
        item = await queue.get()
        if item is None:
            return
        with block("consumer"):
            compute(0.004)
        with block("consumer", AWAITING):
            await asyncio.sleep(0.002)


async def main():
    queue = asyncio.Queue(4)
    await asyncio.gather(producer(queue), consumer(queue), consumer(queue))


run(main())
