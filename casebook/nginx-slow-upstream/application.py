"""An application behind a proxy. Long ago a race was hidden by a delay, and nobody dares to remove it."""
import time
from http.server import BaseHTTPRequestHandler, HTTPServer


class Pages(BaseHTTPRequestHandler):
    def do_GET(self):
        if self.path == "/delayed":
            self.let_the_cache_settle()
        page = b"<p>stock: 17</p>\n"
        self.send_response(200)
        self.send_header("Content-Length", str(len(page)))
        self.end_headers()
        self.wfile.write(page)

    def let_the_cache_settle(self):
        time.sleep(0.03)

    def log_message(self, *_):
        pass


HTTPServer(("127.0.0.1", 18423), Pages).serve_forever()
