"""PyYAML 6 reads with Python code, unless it is asked for the loader that is written in C."""
import sys

import yaml

with open("rows.yaml") as file:
    rows = yaml.load(file, yaml.SafeLoader if sys.argv[1] == "before" else yaml.CSafeLoader)
assert len(rows) == 6000
