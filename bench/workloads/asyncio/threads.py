"""Hashes are made in a pool of threads, and awaited one after the other."""
import asyncio
import hashlib
from clocks import AWAITING, block, run


def hashed():
    return hashlib.pbkdf2_hmac("sha256", b"secret", b"salt", 40000)


async def login():
    for _ in range(10):
        with block("login", AWAITING):
            await asyncio.to_thread(hashed)


async def main():
    await asyncio.create_task(login())


run(main())
