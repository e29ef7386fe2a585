# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Tags: what a thread is at work for, said by the program itself, for timesink to read from outside.

    with tag("storage/scrub"):
        ...
        with tag("crc"):            # storage/scrub/crc

    @tag("request")                 # functions and coroutines
    async def answer(): ...

    asyncio.run(follow(main()))     # each task has its own tags

Without a recorder nothing else happens. What is measured, and what is not seen: docs/tags.md of timesink.
"""

import asyncio
import functools
import inspect

from ._tags import Tags, capture, resume, shown, stepped, tag

__all__ = ["Tags", "capture", "carried", "follow", "install", "resume", "tag"]


def _decorated(text, function):
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise TypeError("a generator runs with the tags of who asks it; tag what is between two yields")
    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def tagged(*args, **kwargs):
            with tag(text):
                return await function(*args, **kwargs)
    else:

        @functools.wraps(function)
        def tagged(*args, **kwargs):
            with tag(text):
                return function(*args, **kwargs)

    return tagged


def carried(function):
    """The function with the tags that are here now: for threads and executors, which begin without any."""
    held = capture()

    @functools.wraps(function)
    def run(*args, **kwargs):
        with resume(held):
            return function(*args, **kwargs)

    return run


def install(loop=None):
    """Tasks that this loop of asyncio makes from now on show their own tags while they run."""
    loop = loop or asyncio.get_running_loop()
    before = loop.get_task_factory()
    if getattr(before, "follows_tags", False):
        return

    def task(loop, coro, **kwargs):
        if before is not None:
            return before(loop, stepped(coro), **kwargs)
        return asyncio.Task(stepped(coro), loop=loop, **kwargs)

    task.follows_tags = True
    loop.set_task_factory(task)


async def _main(coro):
    install()
    return await coro


def follow(coro):
    """The coroutine, which shows its own tags while it runs, as do all tasks of its loop: asyncio.run(follow(main()))."""
    return stepped(_main(coro))
