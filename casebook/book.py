#!/usr/bin/env python3
"""Makes docs/casebook.md, and the three cases in casebook/README.md, of the cases and of what came out when they were last
verified (casebook/verified.json).

`make book` verifies all cases and runs this; `book.py --check` fails if a page is not what it would be made to.
"""

import datetime
import json
import sys
import tomllib
from pathlib import Path

BOOK = Path(__file__).resolve().parent
PAGE = BOOK.parent / "docs/casebook.md"
README = BOOK / "README.md"
# What it shows: a disk, a server behind another process, a script.
SHOWN = ["seqhound-loader", "seqhound-init", "bash-subshells"]
MARKS = "<!-- casebook -->\n", "<!-- /casebook -->\n"

HEAD = """# The casebook

Slow programs whose cause is known, and what timesink says of them. Some retell published accounts of people who found the
cause by hand; the others are everyday faults in several languages and with real servers; the healthy ones have
no fault, and must not be accused of any. Each is a folder in [`casebook/`](../casebook) with a slow and a fixed form.
`timesink casebook run NAME` runs one, `make casebook` all of them.

Below is the tool's own answer to each, the gain that it predicted from a recording of the slow form alone, and the
gain that the fixed form then brought, both as shares of the slow form's time (the recorded run is another one). Measured {date} on Linux {kernel}, {processors} CPUs; `make book` measures again
and makes this page.
"""


def seconds(s):
    for unit, factor in (("s", 1), ("ms", 1e3)):
        if s * factor >= 1:
            return f"{s * factor:.3g} {unit}"
    return f"{s * 1e6:.3g} us"


def first_finding(why):
    """The lines of the finding that is told first, without the margin."""
    lines = []
    for line in why.splitlines():
        if not line.startswith(("  1  ", "     ")):
            break
        lines.append(line[2:])
    return "\n".join(lines).rstrip()


def rows(outcome):
    yield "| form | takes | told first | predicted to save | the fixed form saves |"
    yield "|---|---|---|---|---|"
    for form in outcome["forms"]:
        took = seconds(form["seconds"])
        if form["rate"]:
            took += f" ({form['rate'][0]:,.0f} {form['rate'][1]}/s)"
        told = form["told"]["rule"] if form["told"] else "nothing"
        predicted = measured = ""
        if gain := form["gain"]:
            predicted = f"{gain['predicted']:.0%} ({gain['lo']:.0%} to {gain['hi']:.0%})"
            measured = f"{gain['measured']:.1%}{'' if gain['within'] else ', **outside**'}"
        yield f"| {form['name']} | {took} | {told} | {predicted} | {measured} |"


def answer(case, outcome):
    """What is said of the first form of which something has to be."""
    asked = next((form["name"] for form in case["form"] if "told" in form), outcome["forms"][0]["name"])
    for form in outcome["forms"]:
        if form["name"] == asked and first_finding(form["why"]):
            yield f"What timesink says of `{form['name']}`:"
            yield ""
            yield "```"
            yield first_finding(form["why"])
            yield "```"
            yield ""


def chapter(folder, outcome):
    case = tomllib.loads((folder / "case.toml").read_text())
    story = (folder / "README.md").read_text().strip()
    yield "#" + story
    yield ""
    if case.get("source"):
        yield f"*The source: {case['source']}.*"
        yield ""
    yield from answer(case, outcome)
    yield from rows(outcome)
    yield ""
    for fact in outcome["facts"]:
        ours = f"{fact['ours']:.3f} s" if fact["unit"] == "s" else f"{fact['ours']:.1f} {fact['unit']}"
        because = ""
        if difference := fact.get("difference"):
            because = f"; of that `timesink diff` says first: {difference['first']} ({difference['first_share']:.0%} of the difference)"
        yield f"- {fact['says']}: {fact['source']} in the source, {ours} here{because}"
    if outcome["facts"]:
        yield ""


def in_readme(kept):
    """README with three of the cases, between its marks."""
    before, rest = README.read_text().split(MARKS[0])
    after = rest.split(MARKS[1])[1]
    lines = []
    for outcome in kept["cases"]:
        if outcome["case"] in SHOWN:
            case = tomllib.loads((BOOK / outcome["case"] / "case.toml").read_text())
            lines += [f"**{case['title']}.** *{case['source']}.*", "", *answer(case, outcome), *rows(outcome), ""]
    return before + MARKS[0] + "\n".join(lines) + MARKS[1] + after


def page(kept):
    outcomes = {outcome["case"]: outcome for outcome in kept["cases"]}
    date = datetime.datetime.fromtimestamp(kept["measured_unix"], datetime.UTC)
    lines = [HEAD.format(date=f"{date:%Y-%m-%d}", **kept)]
    gains = [form["gain"] for outcome in kept["cases"] for form in outcome["forms"] if form["gain"]]
    within = sum(gain["within"] for gain in gains)
    told = f"Of {len(gains)} gains that were predicted and measured, {within} are within the interval"
    outside = [
        outcome["case"] for outcome in kept["cases"] for form in outcome["forms"] if (form["gain"] or {"within": 1})["within"] == 0
    ]
    lines.append(told + (f"; not those of {', '.join(outside)}: their chapters say why.\n" if outside else ".\n"))
    folders = [case.parent for case in BOOK.glob("*/case.toml") if case.parent.name in outcomes]
    # The old stories come first, the healthy programs last.
    is_story = {folder: bool(tomllib.loads((folder / "case.toml").read_text()).get("source")) for folder in folders}
    order = sorted(folders, key=lambda f: (f.name.startswith("healthy"), not is_story[f], f.name))
    for folder in order:
        lines.extend(chapter(folder, outcomes[folder.name]))
    return "\n".join(lines).rstrip() + "\n"


if __name__ == "__main__":
    kept = json.loads((BOOK / "verified.json").read_text())
    for file, text in ((PAGE, page(kept)), (README, in_readme(kept))):
        if "--check" not in sys.argv:
            file.write_text(text)
        elif file.read_text() != text:
            sys.exit(f"{file.name} is not what casebook/book.py makes: run it")
