"""Forty tasks ask a server over connections of their own, as many at once as a semaphore has places."""
import asyncio
import sys


async def ask(number, places):
    async with places:
        reader, writer = await asyncio.open_connection("127.0.0.1", int(sys.argv[2]))
        writer.write(b"%d\n" % number)
        await reader.readline()
        writer.close()


async def main(places):
    places = asyncio.Semaphore(places)
    await asyncio.gather(*[ask(number, places) for number in range(40)])


asyncio.run(main(1 if sys.argv[1] == "slow" else 10))
