"""Eight threads that have worker threads ask a peer for them, five questions each: two of these (fires), or eight (silent)."""
import concurrent.futures
import socket
import struct
import sys
import threading

QUESTION = struct.pack("<7I", 0, 0, 10, 0, 0, 0, 0xFFFFFFFF)
workers = concurrent.futures.ThreadPoolExecutor({"fires": 2, "silent": 8}[sys.argv[1]])
own = threading.local()


def ask():
    if not hasattr(own, "peer"):
        own.peer = socket.create_connection(("10.77.0.2", 7000))
    own.peer.sendall(QUESTION)
    assert len(own.peer.recv(10)) == 10


def work():
    for _ in range(5):
        workers.submit(ask).result()


threads = [threading.Thread(target=work) for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
