"""httpx 0.27.2 makes a client for each call of `get`, and each client reads all the certificates that it may need."""
import sys

import httpx

URL = "http://127.0.0.1:18431/"


def ask(get):
    for _ in range(25):
        get(URL).raise_for_status()


if sys.argv[1] == "before":
    ask(httpx.get)
else:
    with httpx.Client() as client:
        ask(client.get)
