"""Four threads that ask a peer, twenty questions each: under one lock (fires), or each as it likes (silent)."""
import contextlib
import socket
import struct
import sys
import threading

QUESTION = struct.pack("<7I", 0, 0, 10, 0, 0, 0, 0xFFFFFFFF)
lock = {"fires": threading.Lock(), "silent": contextlib.nullcontext()}[sys.argv[1]]


def ask(peer):
    with lock:
        peer.sendall(QUESTION)
        assert len(peer.recv(10)) == 10


def work():
    with socket.create_connection(("10.77.0.2", 7000)) as peer:
        for _ in range(20):
            ask(peer)


threads = [threading.Thread(target=work) for _ in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
