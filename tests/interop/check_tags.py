"""Holds the package for tags (sdk/python), as pip installs it, against what docs/tags.md says: which path a thread shows where.

    python check_tags.py

Exits with 1 at the first difference.
"""

import asyncio
import contextvars
import sys
import threading

import timesink_tags
from timesink_tags import capture, carried, follow, install, resume, tag
from timesink_tags._tags import shown, stepped


def refuses(error, what):
    try:
        what()
    except error:
        return
    raise AssertionError(f"no {error.__name__}")


def is_shown(path):
    assert shown() == path, f"{shown()}, not {path}"


def blocks():
    is_shown(None)
    assert capture() is None
    with tag("a"):
        with tag("b/c"):
            is_shown("a/b/c")
            assert capture().path() == "a/b/c"
        is_shown("a")
        with resume(None):
            is_shown(None)
        is_shown("a")
        try:
            with tag("fails"):
                raise KeyError
        except KeyError:
            is_shown("a")
    is_shown(None)
    one = tag("again")
    for _ in range(2):
        with one:
            is_shown("again")
            refuses(RuntimeError, one.__enter__)
    is_shown(None)


def texts():
    with tag("l" * 1000):
        is_shown("l" * 256)
        with tag("beyond"):
            is_shown("l" * 256)
    with tag(""):
        is_shown(None)
    with tag("a\0b"):
        is_shown("a")
    for odd in (1, None, b"x"):
        refuses(TypeError, lambda: tag(odd))
    refuses(TypeError, lambda: tag("a", "b"))
    refuses(UnicodeEncodeError, tag("\ud800").__enter__)
    refuses(TypeError, lambda: resume("a"))
    is_shown(None)
    many = []
    for level in range(100_000):
        many.append(tag("t"))
        many[-1].__enter__()
    is_shown("/".join("t" * 128))
    while many:
        many.pop().__exit__(None, None, None)
    is_shown(None)
    for level in range(100_000):
        tag("t").__enter__()
    resume(None)
    is_shown(None)


@tag("deep")
def deep(level):
    is_shown("/".join(["deep"] * level))
    return deep(level + 1) if level < 5 else level


def functions():
    assert deep(1) == 5
    is_shown(None)

    def generator():
        yield

    async def asynchronous():
        yield

    refuses(TypeError, lambda: tag("a")(generator))
    refuses(TypeError, lambda: tag("a")(asynchronous))


def generators():
    """One that is closed elsewhere leaves the tags there as they are."""

    def inside():
        with tag("inside"):
            yield

    one = inside()
    with tag("outer"):
        next(one)
        is_shown("outer/inside")
    is_shown(None)
    one.close()
    is_shown(None)
    two = inside()
    contextvars.Context().run(next, two)
    with tag("outer"):
        two.close()
        is_shown("outer")
    is_shown(None)


def threads():
    seen = []
    with tag("here"):
        for target in (carried(shown), shown):
            thread = threading.Thread(target=lambda run=target: seen.append(run()))
            thread.start()
            thread.join()
    assert seen == ["here", None], seen


@tag("work")
async def work(number):
    is_shown("main/work")
    await asyncio.sleep(0.001)
    is_shown("main/work")
    with tag(str(number)):
        for _ in range(5):
            is_shown(f"main/work/{number}")
            await asyncio.sleep(0)
    is_shown("main/work")
    return number


async def fails():
    with tag("fails"):
        await asyncio.sleep(0.001)
        raise ValueError


async def cancelled():
    try:
        with tag("cancelled"):
            await asyncio.sleep(100)
    finally:
        is_shown("main")


async def main():
    is_shown(None)
    with tag("main"):
        assert await asyncio.gather(*map(work, range(20))) == list(range(20))
        is_shown("main")
        try:
            await asyncio.create_task(fails())
        except ValueError:
            is_shown("main")
        task = asyncio.create_task(cancelled())
        await asyncio.sleep(0.01)
        task.cancel()
        try:
            await task
        except asyncio.CancelledError:
            is_shown("main")
        called = []
        asyncio.get_running_loop().call_soon(lambda: called.append(shown()))
        await asyncio.sleep(0.01)
        assert called == [None], called
        executor = asyncio.get_running_loop().run_in_executor
        assert await executor(None, carried(shown)) == "main"
        assert await executor(None, shown) is None
        await asyncio.wait_for(work(3), 1)
        assert "work" in repr(asyncio.create_task(work(4)))
        assert asyncio.current_task().get_stack()
        await asyncio.sleep(0.01)
    return 5


async def eager():
    asyncio.get_running_loop().set_task_factory(asyncio.eager_task_factory)
    install()
    install()
    with tag("main"):
        assert await asyncio.gather(*map(work, range(20))) == list(range(20))
        is_shown("main")


def tasks():
    assert asyncio.run(follow(main())) == 5
    is_shown(None)
    with tag("around"), resume(None):
        assert asyncio.run(follow(main())) == 5
    is_shown(None)
    if sys.version_info >= (3, 12):
        asyncio.run(stepped(eager()))
    is_shown(None)


for part in (blocks, texts, functions, generators, threads, tasks):
    part()
print(f"{timesink_tags.__name__}: paths are as they should be")
