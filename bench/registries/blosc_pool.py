"""blosc 1.11.2 keeps Python's lock while it compresses, unless it is told to let go of it."""
import random
import sys
from concurrent.futures import ThreadPoolExecutor

import blosc

blosc.set_nthreads(1)
blosc.set_releasegil(sys.argv[1] == "after")
DATA = random.Random(5).randbytes(1_000_000) * 3 + bytes(range(256)) * 12_000
with ThreadPoolExecutor(2) as pool:
    sizes = list(pool.map(lambda n: len(blosc.compress(DATA + bytes([n]), typesize=8, clevel=9, cname="zlib")), range(24)))
assert len(sizes) == 24
