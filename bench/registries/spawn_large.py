"""Python's subprocess copies the page tables of a large process for each child, unless vfork spares it that."""
import subprocess
import sys

subprocess._USE_VFORK = sys.argv[1] == "after"
RESIDENT = b"x" * 1_500_000_000
for _ in range(60):
    subprocess.run(["true"], check=True)
