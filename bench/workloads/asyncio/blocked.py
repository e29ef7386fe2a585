"""A task parses large texts while others answer every 10 ms."""
import asyncio
import json
from clocks import AWAITING, block, compute, run

TEXT = json.dumps([{"number": n, "text": "x" * 20} for n in range(250000)])


async def handle_upload():
    for _ in range(6):
        with block("handle_upload"):
            json.loads(TEXT)
        with block("handle_upload", AWAITING):
            await asyncio.sleep(0.05)


async def answer():
    for _ in range(40):
        with block("answer"):
            compute(0.0005)
        with block("answer", AWAITING):
            await asyncio.sleep(0.01)


async def main():
    await asyncio.gather(handle_upload(), answer(), answer(), answer())


run(main())
