"""Tests with a server each, in a thread: it looks twice a second whether it is to end (fires), or is asked to look often (silent)."""

import socketserver
import sys
import threading
import time

TESTS = 5


class Answer(socketserver.BaseRequestHandler):
    def handle(self):
        self.request.sendall(b"answer")


def compute(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        sum(range(1000))


def with_server(interval):
    server = socketserver.TCPServer(("127.0.0.1", 0), Answer)
    thread = threading.Thread(target=server.serve_forever, args=(interval,))
    thread.start()
    compute(0.02)
    server.shutdown()
    thread.join()
    server.server_close()


def main(fires):
    for _ in range(TESTS):
        with_server(0.5 if fires else 0.005)
    compute(0.1 if fires else 0.5)


main(sys.argv[1] == "fires")
