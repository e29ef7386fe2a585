"""Serves the folder that it is in, until it is interrupted."""
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

try:
    ThreadingHTTPServer(("127.0.0.1", 18412), SimpleHTTPRequestHandler).serve_forever()
except KeyboardInterrupt:
    pass
