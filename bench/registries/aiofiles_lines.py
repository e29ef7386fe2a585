"""aiofiles 23.2.1 hands each line to a thread and waits for it."""
import asyncio
import sys

import aiofiles


async def main():
    total = 0
    async with aiofiles.open("lines.txt") as file:
        if sys.argv[1] == "before":
            async for line in file:
                total += len(line)
        else:
            for line in (await file.read()).splitlines(keepends=True):
                total += len(line)
    assert total == 12 * 15000


asyncio.run(main())
