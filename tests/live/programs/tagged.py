"""Tags in Python, and by this program's own clocks how long a thread had which: `tag PATH NS`, of all threads together.

    python tagged.py FOLDER-OF-THE-PACKAGE MS
"""

import asyncio
import collections
import sys
import threading
import time

sys.path.insert(0, sys.argv[1])
from timesink_tags import carried, follow, tag  # noqa: E402

had = collections.Counter()
now = time.perf_counter_ns


def spin(ms):
    end = now() + ms * 1_000_000
    while now() < end:
        pass


def storage():
    with tag("storage"):
        with tag("scrub"):
            begun = now()
            spin(200)
            inner = now()
            with tag("crc"):
                spin(300)
            had["storage/scrub/crc"] += now() - inner
            had["storage/scrub"] += inner - begun
        with tag("wait"):
            begun = now()
            for _ in range(20):
                time.sleep(0.01)
            had["storage/wait"] += now() - begun


@tag("reply")
def reply():
    begun = now()
    spin(100)
    time.sleep(0.1)
    had["request/reply"] += now() - begun


def handed():
    with tag("request"):
        thread = threading.Thread(target=carried(reply))
    thread.start()
    thread.join()


async def work(name, ms):
    """Ten times a spin with a tag, and one more within it; others run in between, and then nobody."""
    with tag(name):
        for _ in range(10):
            begun = now()
            spin(ms)
            had[f"tasks/{name}"] += now() - begun
            await asyncio.sleep(0)
            with tag("inner"):
                begun = now()
                spin(ms)
                had[f"tasks/{name}/inner"] += now() - begun
                await asyncio.sleep(0.005)


async def main():
    with tag("tasks"):
        await asyncio.gather(work("a", 6), work("b", 10), work("c", 14))


time.sleep(int(sys.argv[2]) / 1000)
storage()
handed()
asyncio.run(follow(main()))
for path, ns in had.items():
    print(f"tag {path} {ns}")
