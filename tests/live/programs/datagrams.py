"""Asks a server by datagrams on a socket that is not connected; and sends to two servers on one socket. The servers' ports are the
arguments."""

import os
import socket
import sys

ports = [int(port) for port in sys.argv[1:3]]
servers = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in ports]
for server, port in zip(servers, ports):
    server.bind(("127.0.0.1", port))

if os.fork() == 0:
    while True:
        question, asking = servers[0].recvfrom(100)
        servers[0].sendto(question, asking)
        if question == b"end":
            os._exit(0)

asking = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for number in range(300):
    asking.sendto(b"question %d" % number, ("127.0.0.1", ports[0]))
    asking.recvfrom(100)
telling = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for port in ports:
    telling.sendmsg([b"end"], [], 0, ("127.0.0.1", port))
os.wait()
