"""A worker takes a millisecond; each test sleeps until it is surely done."""

import threading
import time

import pytest


class Worker:
    def __init__(self):
        self.done = []

    def submit(self, value):
        threading.Timer(0.001, self.done.append, [value]).start()


def settle():
    time.sleep(0.05)


@pytest.mark.parametrize("value", range(40))
def test_a_value_is_done(value):
    worker = Worker()
    worker.submit(value)
    settle()
    assert worker.done == [value]
