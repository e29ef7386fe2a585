"""A mail server that greets after 10 ms, as those do that look at who calls first, and takes any message.

It acknowledges at once: nodemailer ends a message with a write of its own, and a delayed acknowledgement would cost
both forms 40 ms for each message.
"""
import asyncio
import socket
import sys


async def session(reader, writer):
    await asyncio.sleep(0.01)
    writer.write(b"220 mail.pair.test ESMTP\r\n")
    text, connection = False, writer.get_extra_info("socket")
    while True:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 1)
        line = await reader.readline()
        if not line:
            break
        word = line.strip().upper()
        if text:
            if word != b".":
                continue
            text = False
            writer.write(b"250 kept\r\n")
        elif word == b"DATA":
            text = True
            writer.write(b"354 go on\r\n")
        elif word == b"QUIT":
            writer.write(b"221 bye\r\n")
            break
        else:
            writer.write(b"250 fine\r\n")
    writer.close()


async def main():
    server = await asyncio.start_server(session, "127.0.0.1", int(sys.argv[1]))
    await server.serve_forever()

asyncio.run(main())
