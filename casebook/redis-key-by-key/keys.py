"""Sets keys in Redis: each by itself, or a thousand in one go."""
import socket
import sys

COUNT = 20_000
AT_ONCE = {"single": 1, "together": 1000}[sys.argv[1]]


def command(*words):
    parts = [f"*{len(words)}\r\n"] + [f"${len(word)}\r\n{word}\r\n" for word in words]
    return "".join(parts).encode()


def set_keys(redis, answers, first, count):
    redis.sendall(b"".join(command("SET", f"key {n}", str(n * n)) for n in range(first, first + count)))
    for _ in range(count):
        assert answers.readline() == b"+OK\r\n"


with socket.create_connection(("127.0.0.1", 18421)) as redis:
    answers = redis.makefile("rb")
    for first in range(0, COUNT, AT_ONCE):
        set_keys(redis, answers, first, AT_ONCE)
