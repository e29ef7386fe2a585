"""Passes datagrams on to another port of this machine, and answers back after a millisecond, as a network would."""
import asyncio
import sys


class Answers(asyncio.DatagramProtocol):
    def __init__(self, door, caller):
        self.door, self.caller = door, caller

    def datagram_received(self, answer, _):
        asyncio.get_running_loop().call_later(0.001, self.door.sendto, answer, self.caller)


class Door(asyncio.DatagramProtocol):
    def __init__(self, port):
        self.port, self.ways = port, {}

    def connection_made(self, transport):
        self.transport = transport

    def datagram_received(self, request, caller):
        if caller in self.ways:
            self.ways[caller].sendto(request)
        else:
            asyncio.get_running_loop().create_task(self.first(request, caller))

    async def first(self, request, caller):
        self.ways[caller], _ = await asyncio.get_running_loop().create_datagram_endpoint(
            lambda: Answers(self.transport, caller), remote_addr=("127.0.0.1", self.port))
        self.ways[caller].sendto(request)


async def main():
    port, behind = int(sys.argv[1]), int(sys.argv[2])
    await asyncio.get_running_loop().create_datagram_endpoint(lambda: Door(behind), local_addr=("127.0.0.1", port))
    # Whoever waits for this server to be ready tries TCP.
    server = await asyncio.start_server(lambda reader, writer: writer.close(), "127.0.0.1", port)
    await server.serve_forever()

asyncio.run(main())
