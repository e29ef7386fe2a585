"""An HTTP server that answers GET /N after N milliseconds; connections are kept. Its port is $PORT."""
import asyncio
import os


async def serve(reader, writer):
    while line := await reader.readline():
        path = line.split()[1].decode()
        while (await reader.readline()).strip():
            pass
        await asyncio.sleep(int(path.strip("/") or 0) / 1000)
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 6\r\n\r\nhello\n")
        await writer.drain()
    writer.close()


async def main():
    server = await asyncio.start_server(serve, "127.0.0.1", int(os.environ["PORT"]))
    await server.serve_forever()


asyncio.run(main())
