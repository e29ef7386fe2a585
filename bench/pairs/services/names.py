"""On one port: a name server (UDP) that answers after 15 ms, and a web server (TCP) that closes after each answer."""
import asyncio
import sys


class Names(asyncio.DatagramProtocol):
    def connection_made(self, transport):
        self.transport = transport

    def datagram_received(self, query, caller):
        end = query.index(b"\0", 12) + 5
        question, address = query[12:end], query[end - 4:end - 2] == b"\0\1"
        answer = query[:2] + b"\x81\x80\0\1" + (b"\0\1" if address else b"\0\0") + b"\0\0\0\0" + question
        if address:
            answer += b"\xc0\x0c\0\1\0\1\0\0\1\x2c\0\4\x7f\0\0\1"
        asyncio.get_running_loop().call_later(0.015, self.transport.sendto, answer, caller)


async def page(reader, writer):
    try:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\nConnection: close\r\n\r\nhello\n")
        await writer.drain()
    except asyncio.IncompleteReadError:
        pass
    writer.close()


async def main():
    port = int(sys.argv[1])
    await asyncio.get_running_loop().create_datagram_endpoint(Names, local_addr=("127.0.0.1", port))
    server = await asyncio.start_server(page, "127.0.0.1", port)
    await server.serve_forever()

asyncio.run(main())
