"""Four threads that compute in Python, where one runs at a time (fires), or in C, which lets go of Python's lock
meanwhile (silent)."""
import hashlib
import sys
import threading


def compute():
    total = 0
    for number in range(5_000_000):
        total += number * number
    return total


def digest():
    block = bytes(1 << 20)
    for _ in range(400):
        hashlib.sha256(block).digest()


work = {"fires": compute, "silent": digest}[sys.argv[1]]
threads = [threading.Thread(target=work) for _ in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
