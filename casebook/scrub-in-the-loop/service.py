"""A service in one event loop: it answers requests, and a scrub looks meanwhile whether old blocks are still whole.

service.py loop|thread REQUESTS

loop: the scrub is a task of the loop, and checks a block a byte at a time without giving way. thread: zlib does it, in a thread
and without the interpreter's lock.
"""
import asyncio
import random
import sys
import time
import zlib

BLOCKS = [random.Random(seed).randbytes(1 << 20) for seed in range(4)]
SUMS = [zlib.crc32(block) for block in BLOCKS]
CLIENTS = 8


def make_table():
    for crc in range(256):
        for _ in range(8):
            crc = crc >> 1 ^ (0xEDB88320 if crc & 1 else 0)
        yield crc


TABLE = list(make_table())


def crc_by_table(block):
    crc = 0xFFFFFFFF
    for byte in block:
        crc = crc >> 8 ^ TABLE[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


async def scrub(in_thread):
    checked = 0
    while True:
        number = checked % len(BLOCKS)
        if in_thread:
            crc = await asyncio.to_thread(zlib.crc32, BLOCKS[number])
        else:
            crc = crc_by_table(BLOCKS[number])
        assert crc == SUMS[number], "a block is damaged"
        checked += 1
        await asyncio.sleep(0.001)


async def answer(request):
    await asyncio.sleep(0.001)  # another service is asked
    return zlib.crc32(request * 64)


async def client(requests, took):
    for number in range(requests):
        began = time.monotonic()
        await answer(b"request %d" % number)
        took.append(time.monotonic() - began)


async def main():
    took = []
    scrubbing = asyncio.create_task(scrub(sys.argv[1] == "thread"))
    await asyncio.gather(*(client(int(sys.argv[2]) // CLIENTS, took) for _ in range(CLIENTS)))
    scrubbing.cancel()
    took.sort()
    print(f"{len(took)} requests, p50 {took[len(took) // 2] * 1e3:.1f} ms, p99 {took[len(took) * 99 // 100] * 1e3:.1f} ms")


asyncio.run(main())
