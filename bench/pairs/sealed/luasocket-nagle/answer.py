"""Answers questions that come as a line with their length and as many bytes. Its port is $PORT."""
import os
import socketserver


class Answer(socketserver.StreamRequestHandler):
    def handle(self):
        while line := self.rfile.readline():
            self.rfile.read(int(line))
            self.wfile.write(b"answer\n")


socketserver.ThreadingTCPServer.allow_reuse_address = True
socketserver.ThreadingTCPServer(("127.0.0.1", int(os.environ["PORT"])), Answer).serve_forever()
