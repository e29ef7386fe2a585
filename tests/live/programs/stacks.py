"""Known functions on a processor, asleep, and called back from C; python.rs says what must be seen of them."""

import threading
import time


def spin(ms):
    end = time.perf_counter() + ms / 1000
    while time.perf_counter() < end:
        total = 0
        for i in range(200):
            total += i * i


def a(leaf):
    b(leaf)


def b(leaf):
    c(leaf)


def c(leaf):
    leaf()


def on_cpu():
    spin(150)


def asleep():
    time.sleep(0.05)  # the line that waits


def key(number):
    spin(8)
    return -number


def called_back():
    sorted(range(20), key=key)


def numbers():
    for number in range(20):
        spin(8)
        yield number


def generated():
    sum(numbers())


class Thing:
    def method(self):
        spin(150)


def body():
    for leaf in (on_cpu, asleep, called_back, generated, Thing().method):
        a(leaf)


thread = threading.Thread(target=body)
thread.start()
thread.join()
body()
