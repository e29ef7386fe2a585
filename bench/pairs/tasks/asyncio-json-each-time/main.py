"""A server in one loop with its client: for each request it parses its settings, or keeps what it has parsed."""
import asyncio
import json
import sys

KEPT = None


def settings():
    global KEPT
    if KEPT is None or sys.argv[1] == "slow":
        with open("settings.json") as file:
            KEPT = json.load(file)
    return KEPT


async def serve(reader, writer):
    while line := await reader.readline():
        value = settings()[int(line) % 1000]
        writer.write(b"%d %d\n" % (value["number"], sum(range(20000))))
        await writer.drain()
    writer.close()


async def ask(port):
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    for number in range(150):
        writer.write(b"%d\n" % number)
        await reader.readline()
    writer.close()


async def main():
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    await asyncio.gather(ask(port), ask(port))
    server.close()


asyncio.run(main())
