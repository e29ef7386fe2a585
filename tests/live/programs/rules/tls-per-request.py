"""Forty questions over TLS, each with a connection of its own to the same peer (fires), or to as many peers (silent)."""

import socket
import ssl
import sys
import time

PORT = 7443


def ask(context, address):
    for _ in range(100):
        try:
            plain = socket.create_connection((address, PORT))
            break
        except ConnectionRefusedError:
            time.sleep(0.05)
    with context.wrap_socket(plain) as connection:
        connection.sendall(b"question\n")
        assert connection.recv(100) == b"noitseuq\n"


context = ssl.create_default_context()
context.check_hostname = False
context.verify_mode = ssl.CERT_NONE
# Here a handshake takes two ways there and back.
context.maximum_version = ssl.TLSVersion.TLSv1_2
for number in range(40):
    ask(context, "10.77.0.2" if sys.argv[1] == "fires" else f"10.77.0.{2 + number}")
