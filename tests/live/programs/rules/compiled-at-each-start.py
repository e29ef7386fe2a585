"""Imports twenty large modules of a folder. `make FOLDER` writes them; `use FOLDER` imports them."""

import os
import sys

what, folder = sys.argv[1], sys.argv[2]
if what == "make":
    body = "\n".join(
        f"def step_{n}(first, second={n}):\n"
        f"    table = {{'name': first, 'rows': [row * {n} for row in range(second) if row % 3]}}\n"
        f"    return [table['name'], *table['rows']] if second > {n} else (first, second)\n"
        for n in range(400)
    )
    for n in range(20):
        with open(os.path.join(folder, f"part_{n}.py"), "w") as module:
            module.write(body)
else:
    sys.path.insert(0, folder)
    for n in range(20):
        __import__(f"part_{n}")
