"""How often verdicts are wrong, and how often they see what is there, on run times that `timesink bench --csv` recorded.

    python trials.py JUDGE PAIRS [--drawn N] FILE.csv...

Takes the runs of the first two commands of each file, makes comparisons of PAIRS rounds in a row of them, or N comparisons of
rounds drawn from all with their sides changed over at random (for commands that are the same), and judges each:
by timesink (JUDGE is target/release/examples/judge), by the Mann-Whitney test that benchstat uses, at 5 % each, and by the
interval that hyperfine prints (the ratio of the means, plus and minus one standard deviation). Prints how many of them
say 'different', by wall time and by CPU time. Needs SciPy.
"""

import csv
import math
import statistics
import subprocess
import sys
from random import Random

from scipy import stats


def rounds_of(path):
    """(wall, cpu) of A and B, round by round."""
    rounds = {}
    for row in csv.DictReader(open(path)):
        figures = (float(row["wall_ns"]), float(row["user_ns"]) + float(row["system_ns"]))
        rounds.setdefault(int(row["round"]), {})[row["label"]] = figures
    return [(rounds[n]["A"], rounds[n]["B"]) for n in sorted(rounds)]


def comparisons_of(paths, pairs):
    for path in paths:
        rounds = rounds_of(path)
        for start in range(0, len(rounds) - pairs + 1, pairs):
            yield rounds[start : start + pairs]


def drawn_comparisons(paths, pairs, count):
    random = Random(1)
    rounds = [one for path in paths for one in rounds_of(path)]
    for _ in range(count):
        drawn = random.sample(rounds, pairs)
        yield [one if random.random() < 0.5 else one[::-1] for one in drawn]


def hyperfine_differs(a, b):
    ratio = statistics.mean(b) / statistics.mean(a)
    spread = ratio * math.hypot(statistics.stdev(a) / statistics.mean(a), statistics.stdev(b) / statistics.mean(b))
    return abs(ratio - 1) > spread


def main():
    judge, pairs, paths = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
    if paths[0] == "--drawn":
        comparisons = list(drawn_comparisons(paths[2:], pairs, int(paths[1])))
    else:
        comparisons = list(comparisons_of(paths, pairs))
    print(f"{len(comparisons)} comparisons of {pairs} pairs")
    for at, figure in enumerate(("wall", "CPU")):
        lines, others = [], {"Mann-Whitney": 0, "hyperfine's interval": 0}
        for rounds in comparisons:
            a, b = ([command[at] for command in side] for side in zip(*rounds))
            lines.append("0.05 0 " + " ".join(f"{x} {y}" for x, y in zip(a, b)) + "\n")
            others["Mann-Whitney"] += stats.mannwhitneyu(a, b).pvalue < 0.05
            others["hyperfine's interval"] += hyperfine_differs(a, b)
        answers = subprocess.run([judge], input="".join(lines), capture_output=True, text=True, check=True)
        answers = [line.split() for line in answers.stdout.splitlines()]
        counts = {"timesink": sum(one[0] == "changed" for one in answers), **others}
        counts["timesink's gate at 5 %"] = sum(one[1] == "lost" for one in answers)
        for name, count in counts.items():
            print(f"  {figure:4}  {count:4}  {100 * count / len(comparisons):5.1f} %  {name}")


main()
