"""A server of entries of an archive that is asked through a pipe. It unpacks all of them at its start and is asked for one
(fires), or each when it is asked for, and is asked for all (silent). `make FILE` writes the archive."""

import random
import subprocess
import sys
import zipfile

ENTRIES = [f"entry-{number}" for number in range(200)]


def make(path):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for number, entry in enumerate(ENTRIES):
            archive.writestr(entry, random.Random(number).randbytes(300_000).hex())


def serve(form, path):
    with zipfile.ZipFile(path) as archive:
        unpacked = {entry: archive.read(entry) for entry in ENTRIES} if form == "fires" else {}
        print("ready", flush=True)
        for line in sys.stdin:
            entry = line.strip()
            print(len(unpacked.get(entry) or archive.read(entry)), flush=True)


def ask(form, path):
    command = [sys.executable, __file__, "serve-" + form, path]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout.readline() == "ready\n"
        for entry in ENTRIES[42:43] if form == "fires" else ENTRIES:
            print(entry, file=server.stdin, flush=True)
            assert int(server.stdout.readline()) > 0
        server.stdin.close()


what, path = sys.argv[1], sys.argv[2]
if what == "make":
    make(path)
elif what.startswith("serve-"):
    serve(what.removeprefix("serve-"), path)
else:
    ask(what, path)
