"""Twelve slow servers with a news feed each: feeds.py FIRST_PORT. Each takes 50 to 150 ms for an answer."""

import asyncio
import sys

SERVERS = 12
ITEMS = 40


def feed_of(number):
    items = "".join(
        f"<item><title>News {item} of {number}</title><guid>urn:{number}:{item}</guid>"
        f"<description>{'Something happened somewhere. ' * 8}</description></item>"
        for item in range(ITEMS)
    )
    return f"<?xml version='1.0'?><rss version='2.0'><channel><title>Feed {number}</title>{items}</channel></rss>".encode()


def delay_of(number):
    return 0.05 + 0.1 * (number * 5 % SERVERS) / (SERVERS - 1)


def answer_to(head, feed, tag):
    if f"If-None-Match: {tag}" in head:
        return f"HTTP/1.1 304 Not Modified\r\nETag: {tag}\r\n\r\n".encode()
    return f"HTTP/1.1 200 OK\r\nETag: {tag}\r\nContent-Length: {len(feed)}\r\n\r\n".encode() + feed


def server_of(number):
    feed, tag = feed_of(number), f'"feed-{number}"'

    async def serve(reader, writer):
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                await asyncio.sleep(delay_of(number))
                writer.write(answer_to(head, feed, tag))
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    return serve


async def main(first_port):
    servers = [await asyncio.start_server(server_of(number), "127.0.0.1", first_port + number) for number in range(SERVERS)]
    await asyncio.gather(*(server.serve_forever() for server in servers))


asyncio.run(main(int(sys.argv[1])))
