"""A server that asks a peer for each request, and four clients: it handles one request at a time (fires), or each in a thread of its own
(silent)."""

import os
import socket
import struct
import sys
import threading

QUESTION = struct.pack("<7I", 0, 10_000, 10, 0, 0, 0, 0xFFFFFFFF)
CLIENTS, REQUESTS = 4, 12


def handle(connection, peer):
    connection.recv(100)
    peer.sendall(QUESTION)
    connection.sendall(peer.recv(10))
    connection.close()


def handle_alone(connection):
    with socket.create_connection(("10.77.0.2", 7000)) as peer:
        handle(connection, peer)


def serve(listener, in_turn):
    with socket.create_connection(("10.77.0.2", 7000)) as peer:
        for _ in range(CLIENTS * REQUESTS):
            connection, _ = listener.accept()
            if in_turn:
                handle(connection, peer)
            else:
                threading.Thread(target=handle_alone, args=(connection,)).start()


def ask(address):
    for _ in range(REQUESTS):
        with socket.create_connection(address) as server:
            server.sendall(b"report")
            assert len(server.recv(10)) == 10


listener = socket.create_server(("127.0.0.1", 0), backlog=64)
if os.fork() == 0:
    clients = [threading.Thread(target=ask, args=(listener.getsockname(),)) for _ in range(CLIENTS)]
    for client in clients:
        client.start()
    for client in clients:
        client.join()
    os._exit(0)
serve(listener, sys.argv[1] == "fires")
os.wait()
