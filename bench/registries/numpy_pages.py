"""Each new array of numpy 1.26.4 is pages that the system has to clear, one by one or (hugepages) 512 at a time."""
import sys

import numpy

assert numpy.core.multiarray._set_madvise_hugepage(sys.argv[1] == "after") is not None
for _ in range(12):
    numpy.ones(16_000_000)
