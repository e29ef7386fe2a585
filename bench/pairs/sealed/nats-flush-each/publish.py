"""Publishes 6,000 readings to a NATS server: with a flush after each, or with one flush at the end."""

import asyncio
import os
import sys

import nats


async def publish(each):
    connection = await nats.connect(f"nats://127.0.0.1:{os.environ['PORT']}")
    for number in range(6000):
        await connection.publish("readings.room", b"temperature %d" % number)
        if each:
            await connection.flush()
    await connection.flush()
    await connection.close()


asyncio.run(publish(each=sys.argv[1] == "each"))
