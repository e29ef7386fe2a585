"""Judges what timesink tells of a pair: pure, from the findings of one recording to a verdict."""

import re
from collections import Counter
from dataclasses import asdict, dataclass

# Findings that say where time goes without accusing what it goes to, or that accuse the machine.
ACCUSES_NOBODY = ("busy", "no-processor", "oversubscribed")


@dataclass
class Told:
    """What a recording told: the wall time of its path, and its findings in order."""

    wall_ns: int
    findings: list

    @classmethod
    def of(cls, report):
        keys = ("rule", "title", "main", "object", "frames", "places", "gain", "told", "signature")
        findings = [{key: one[key] for key in keys} for one in report["findings"]]
        return cls(wall_ns=report["path"]["wall_ns"], findings=findings)

    def row(self):
        return asdict(self)


def found(patterns, text):
    """Any of the patterns; what asks for nothing is found."""
    return not patterns or any(re.search(pattern, text, re.IGNORECASE) for pattern in patterns)


def place(finding):
    """Functions and files, as one text."""
    spots = [f"{spot['file']}:{spot['line']}" for spot in finding["places"] if spot["file"]]
    return "\n".join([*(frame or "" for frame in finding["frames"]), *spots])


def words(finding):
    return "\n".join([finding["title"], finding["object"] or "", *finding["told"]])


def is_cause(expect, finding):
    """Whether a finding tells the cause, wherever it places it: by its rule, or by all words."""
    by_words = bool(expect["words"]) and all(found([word], finding["title"]) for word in expect["words"])
    return (finding["rule"] in expect["rules"] or by_words) and found(expect["object"], words(finding) + "\n" + place(finding))


def judge_slow(expect, told, saves):
    """Whether the cause stands first, with object and place, and the measured share is within the predicted one."""
    ranks = [rank for rank, one in enumerate(told.findings, 1) if is_cause(expect, one)]
    first = told.findings[0] if told.findings else None
    right = ranks[:1] == [1] and found(expect["place"], place(first) + "\n" + words(first))
    gain = first and [first["gain"][key] / told.wall_ns for key in ("ns", "lo_ns", "hi_ns")]
    within = gain is not None and saves is not None and gain[1] <= saves <= gain[2]
    return {"right": right, "rank": ranks[0] if ranks else None, "first": first["rule"] if first else "nothing",
            "title": first["title"] if first else "", "gain": gain, "within": within}


def judge_fixed(expect, told, healthy):
    """Titles of findings that accuse what should not be accused. A fixed form is accused wrongly by the cause that was
    fixed; a healthy program by anything. A pair says in `fixed_may` or `may` which rules are right there, too."""
    if healthy:
        allowed = {*ACCUSES_NOBODY, *expect.get("may", [])}
        return [one["title"] for one in told.findings if one["rule"] not in allowed]
    allowed = {*ACCUSES_NOBODY, *expect.get("fixed_may", [])}
    return [one["title"] for one in told.findings if one["rule"] not in allowed and is_cause(expect, one)]


def same_first(told):
    """The first finding that most recordings of one program have, by its signature, and how many have it."""
    firsts = Counter(one.findings[0]["signature"] if one.findings else "nothing" for one in told)
    return max(firsts.items(), key=lambda first: first[1], default=("nothing", 0))
