#!/usr/bin/env python3
"""Draws what `timesink run` prints on a terminal, for README: records the demo's program, writes the screen with its
colours to docs/screen.svg, and the same as text between README's marks.

`make picture` builds all that this needs. As root, because recording is. Nothing is touched up: a screen of more than
LONGEST lines is cut there, and says so.

Usage: picture.py TIMESINK FOLDER, FOLDER being the demo's, with its program and data.
"""

import fcntl
import html
import os
import pty
import re
import struct
import subprocess
import sys
import termios
import unicodedata
from pathlib import Path

DOCS = Path(__file__).resolve().parent
PICTURE = DOCS / "screen.svg"
README = DOCS.parent / "README.md"
MARKS = "<!-- screen: begin -->\n", "<!-- screen: end -->\n"
RECORDING = "nightly-import.timesink"
PROGRAM = ["./nightly-import", "data.txt"]

COLUMNS = 116
LONGEST = 44

# What the style of the report uses (present/terminal/style.rs), as it looks on a dark terminal.
PLAIN, BACKGROUND = "#d4d4d4", "#1b1d21"
COLOURS = {"31": "#f2777a", "32": "#8fc97e", "33": "#e6c35c", "34": "#6ea8e0", "35": "#c594c5", "36": "#66cccc"}
FAINT = "#8a8f98"
CELL, LINE, MARGIN, SIZE = 7.83, 17, 14, 13

ESCAPE = re.compile(r"\x1b\[([0-9;]*)m")
OTHER_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-ln-z]")


def record(timesink, folder):
    """What the command prints on a terminal, standard output and standard error in the order in which they came."""
    subprocess.run(["rm", "-rf", RECORDING], cwd=folder, check=True)
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, COLUMNS, 0, 0))
    # Colours are wanted, and settings of whoever runs this are not.
    environment = {k: v for k, v in os.environ.items() if k != "NO_COLOR" and not k.startswith("SUDO_")}
    environment |= {"TERM": "xterm-256color", "XDG_CONFIG_HOME": "/nonexistent", "LC_ALL": "C.UTF-8"}
    command = [timesink, "run", "-o", RECORDING, "--", *PROGRAM]
    child = subprocess.Popen(command, cwd=folder, stdin=theirs, stdout=theirs, stderr=theirs, env=environment)
    os.close(theirs)
    said = b""
    while True:
        try:
            piece = os.read(ours, 65536)
        except OSError:  # the other end is closed
            break
        if not piece:
            break
        said += piece
    if child.wait() != 0:
        sys.exit(f"{' '.join(command)} ended with {child.returncode}:\n{said.decode(errors='replace')}")
    return said.decode()


def screen(said):
    """The lines as they stand on the terminal in the end: progress that was written over is gone."""
    lines = []
    for line in said.replace("\r\n", "\n").split("\n"):
        line = OTHER_ESCAPES.sub("", line.rsplit("\r", 1)[-1]).rstrip()
        lines.append(line)
    while lines and not lines[-1]:
        lines.pop()
    lines.insert(0, f"$ timesink run -- {' '.join(PROGRAM)}")
    if len(lines) > LONGEST:
        left = len(lines) - LONGEST
        lines = [*lines[:LONGEST], f"[cut here: {left} more lines]"]
    return lines


def plain(line):
    return ESCAPE.sub("", line)


def pieces(line):
    """The stretches of a line between changes of colour, each with its style."""
    bold, faint, underlined, colour = False, False, False, None
    at = 0
    for match in [*ESCAPE.finditer(line), None]:
        text = line[at : match.start() if match else len(line)]
        if text:
            yield text, (bold, faint, underlined, colour)
        if not match:
            return
        at = match.end()
        for code in (match.group(1) or "0").split(";"):
            if code == "0":
                bold, faint, underlined, colour = False, False, False, None
            elif code == "1":
                bold = True
            elif code == "2":
                faint = True
            elif code == "4":
                underlined = True
            elif code in COLOURS:
                colour = COLOURS[code]


def width(text):
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 0 if unicodedata.combining(c) else 1 for c in text)


def drawn(lines):
    """The lines as an SVG that needs no font but any of fixed width: each stretch has its place and its length."""
    wide = MARGIN * 2 + CELL * max(width(plain(line)) for line in lines)
    high = MARGIN * 2 + LINE * len(lines)
    yield f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide:.0f} {high}" width="{wide:.0f}" height="{high}" role="img">'
    yield "<title>What timesink run prints of the demo's program</title>"
    yield f'<rect width="100%" height="100%" rx="6" fill="{BACKGROUND}"/>'
    font = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace"
    yield f'<g font-family="{font}" font-size="{SIZE}" fill="{PLAIN}" xml:space="preserve">'
    for number, line in enumerate(lines):
        column, down = 0, MARGIN + LINE * number + SIZE
        for text, (bold, faint, underlined, colour) in pieces(line):
            cells = width(text)
            if text.strip():
                style = f' fill="{colour or FAINT}"' if colour or faint else ""
                style += ' font-weight="bold"' if bold else ""
                style += ' text-decoration="underline"' if underlined else ""
                place = f'x="{MARGIN + CELL * column:.1f}" y="{down}" textLength="{CELL * cells:.1f}"'
                yield f"<text {place}{style}>{html.escape(text)}</text>"
            column += cells
    yield "</g>"
    yield "</svg>"


def in_readme(lines):
    before, rest = README.read_text().split(MARKS[0])
    after = rest.split(MARKS[1])[1]
    text = "\n".join(plain(line) for line in lines)
    return f"{before}{MARKS[0]}```\n{text}\n```\n{MARKS[1]}{after}"


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    timesink, folder = Path(sys.argv[1]).resolve(), Path(sys.argv[2])
    shown = screen(record(timesink, folder))
    PICTURE.write_text("\n".join(drawn(shown)) + "\n")
    README.write_text(in_readme(shown))
    print(f"{PICTURE} and {README.name}: {len(shown)} lines")
