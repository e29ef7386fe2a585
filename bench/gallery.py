#!/usr/bin/env python3
"""Records everyday commands and shows what timesink answers: docs/gallery.md.

Each folder of bench/pairs/everyday is one command, as pairs are (bench/pairs/README.md), with two keys more: `expert`
says what somebody who knows the program and has the recording would say first, `judged` whether the first lines say
it, on which day somebody read them. Each is recorded once, the first try. Recording needs root.

    gallery.py [NAME...]           prints the screens
    gallery.py --write FILE        writes the page
"""

import argparse
import datetime
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

from pairs import TIMESINK, commit, expanded, install, run, selected

COLUMNS = 100


def screen(command, folder):
    """What a command prints in a folder, on a terminal of so many columns, without colours."""
    line = f"stty cols {COLUMNS} rows 50; {shlex.join(command)}"
    environment = {**os.environ, "NO_COLOR": "1", "XDG_CONFIG_HOME": "/nonexistent", "LC_ALL": "C.UTF-8"}
    done = subprocess.run(["script", "-qec", line, "/dev/null"], cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True)
    return done.stdout.replace("\r", "").strip("\n")


def shown(pair, timesink):
    """The one screen of a first recording."""
    file = pair.root / f"{pair.name}.timesink"
    shutil.rmtree(file, ignore_errors=True)
    run(pair, "slow", lambda server: [str(timesink), "run", "-q", *server.recorded(), "-o", str(file), "--"])
    text = screen([str(timesink), "report", file.name], pair.root)
    return text.replace(f"{pair.root}/", "").replace(str(pair.folder), ".")


def command(pair):
    """As a user would type it."""
    words = pair.table["slow"]["run"]
    short = {"PAIR": ".", "DATA": "data", "PORT": str(pair.table.get("server", {}).get("port", ""))}
    return shlex.join(expanded(word, short) for word in words)


def page(entries):
    yield "# Gallery\n"
    yield "Everyday commands, each with the screen that timesink printed for it at the first try, on Linux"
    yield f"{os.uname().release} with {os.cpu_count()} CPUs, {datetime.date.today()} at commit {commit()}. To repeat, as root: `make gallery`.\n"
    for pair, text in entries:
        yield f"## {pair.table['title']}\n"
        server = " --with SERVER" if pair.table.get("server", {}).get("recorded") else ""
        yield f"`timesink run{server} -- {command(pair)}`\n"
        yield f"What somebody who knows it would say first: {pair.table['expert']}."
        yield f"Judged: {pair.table.get('judged', 'not yet')}.\n"
        yield f"```\n{text}\n```\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--timesink", default=str(TIMESINK))
    parser.add_argument("--write", metavar="FILE")
    options = parser.parse_args()
    entries = []
    for pair in selected("everyday", options.names):
        print(f"{pair.name}", file=sys.stderr, flush=True)
        try:
            install(pair)
            text = shown(pair, options.timesink)
        except (RuntimeError, subprocess.SubprocessError) as error:
            text = f"failed: {error}"
        entries.append((pair, text))
    lines = "\n".join(page(entries))
    if options.write:
        Path(options.write).write_text(lines)
    else:
        print(lines)


if __name__ == "__main__":
    main()
