"""Four tasks take records and write them to one log; flushed after each, or after every fiftieth."""
import asyncio
import os
import sys


async def take(log, every):
    for number in range(1, 201):
        await asyncio.sleep(0.001)
        os.write(log, b"record %d\n" % number)
        if number % every == 0:
            os.fsync(log)


async def main(every):
    log = os.open("records.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    await asyncio.gather(*[take(log, every) for _ in range(4)])


asyncio.run(main(1 if sys.argv[1] == "slow" else 50))
