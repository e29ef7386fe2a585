"""Eight tasks ask forty questions, each task on a connection of its own to a server that takes 20 ms. They count them under a lock,
which they keep while they ask (fires), or take only to count (silent). `serve` is the server."""

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


class Counter:
    def __init__(self, keeps):
        self.keeps = keeps
        self.lock = asyncio.Lock()
        self.asked = 0

    async def ask(self, reader, writer):
        writer.write(b"question\n")
        assert await reader.readline() == b"question\n"

    async def count_and_ask(self, reader, writer):
        async with self.lock:
            self.asked += 1
            if self.keeps:
                await self.ask(reader, writer)
        if not self.keeps:
            await self.ask(reader, writer)


async def worker(counter):
    reader, writer = await connected()
    for _ in range(5):
        await counter.count_and_ask(reader, writer)
    writer.close()


async def eight(keeps):
    counter = Counter(keeps)
    await asyncio.gather(*[worker(counter) for _ in range(8)])
    assert counter.asked == 40


FORMS = {"serve": serve, "fires": lambda: eight(True), "silent": lambda: eight(False)}
asyncio.run(FORMS[sys.argv[1]]())
