"""A client asks a server over a connection, both in one loop; the server takes 5 ms for each answer."""
import asyncio
from clocks import AWAITING, block, compute, run


async def serve(reader, writer):
    while line := await reader.readline():
        with block("serve"):
            compute(0.005)
            writer.write(line)
        await writer.drain()
    writer.close()


async def ask(port):
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    for number in range(80):
        writer.write(b"%d\n" % number)
        with block("ask", AWAITING):
            await reader.readline()
    writer.close()


async def main():
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    await asyncio.create_task(ask(server.sockets[0].getsockname()[1]))
    server.close()


run(main())
