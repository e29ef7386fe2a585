"""Thirty pages are fetched and read, one after the other or together."""
import asyncio
import sys


def read(page):
    return sum(number * number for number in range(20000))


async def fetch(number):
    reader, writer = await asyncio.open_connection("127.0.0.1", int(sys.argv[2]))
    writer.write(b"%d\n" % number)
    page = await reader.readline()
    writer.close()
    return read(page)


async def one_by_one():
    for number in range(30):
        await fetch(number)


async def together():
    await asyncio.gather(*[fetch(number) for number in range(30)])


asyncio.run(one_by_one() if sys.argv[1] == "slow" else together())
