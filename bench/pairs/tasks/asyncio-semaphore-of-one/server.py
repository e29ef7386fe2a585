"""Answers each line after 20 ms."""
import asyncio
import sys


async def serve(reader, writer):
    while line := await reader.readline():
        await asyncio.sleep(0.02)
        writer.write(line)
        await writer.drain()
    writer.close()


async def main():
    server = await asyncio.start_server(serve, "127.0.0.1", int(sys.argv[1]))
    await server.serve_forever()


asyncio.run(main())
