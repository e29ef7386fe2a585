"""Forty questions, each on a connection of its own to a server that takes 20 ms: one after the other (fires), or eight at a time
(silent). `serve` is the server."""

import asyncio
import sys

ADDRESS = "10.77.0.2", 7600


async def answer(reader, writer):
    while line := await reader.readline():
        await asyncio.sleep(0.02)
        writer.write(line)
    writer.close()


async def serve():
    server = await asyncio.start_server(answer, port=ADDRESS[1])
    await server.serve_forever()


async def connected():
    while True:
        try:
            return await asyncio.open_connection(*ADDRESS)
        except ConnectionRefusedError:
            await asyncio.sleep(0.05)


async def ask():
    reader, writer = await connected()
    writer.write(b"question\n")
    assert await reader.readline() == b"question\n"
    writer.close()


async def one_by_one():
    for _ in range(40):
        await ask()


async def eight_at_a_time():
    for _ in range(5):
        await asyncio.gather(*[ask() for _ in range(8)])


FORMS = {"serve": serve, "fires": one_by_one, "silent": eight_at_a_time}
asyncio.run(FORMS[sys.argv[1]]())
