"""Holds the figures of crates/trials against SciPy's, on samples drawn from a seed.

    python check_trials.py target/release/examples/judge [SAMPLES]

Each sample is a comparison of two commands: 6 to 120 pairs, some of them with ties. The ratio has to be the median of all
means of two logarithms (Hodges-Lehmann), the p value SciPy's for Wilcoxon's signed-rank test, and the interval what inverts
that test: its p value is above 5 % just inside each end, and not just outside. A tenth as many samples are of 4 to 30 runs of
each command that were not made in turn: the same with the Mann-Whitney test. As many again are histories of 4 to 40 figures: the best
place to cut one in two has to be that with the largest energy statistic, by SciPy's energy distance, and of some of them the p
value has to be that of a permutation test in NumPy, as far as two draws of orders agree. Exits with 1 at the first difference.
"""

import math
import subprocess
import sys

import numpy as np
from scipy import stats

SAMPLES = int(sys.argv[2]) if len(sys.argv) > 2 else 10_000
EXACT = 100
ALPHA = 0.05


def drawn(random):
    n = int(random.integers(6, 121))
    a = np.exp(random.normal(0, 0.1, n))
    b = a * np.exp(random.normal(random.choice([0, 0.02, -0.05]), 0.05, n))
    # Every fifth is of whole milliseconds, so that differences are equal to each other, or nothing.
    if random.integers(5) == 0:
        a, b = np.maximum(np.round(a * 20), 1), np.maximum(np.round(b * 20), 1)
    return a, b


def p_value(d):
    """Wilcoxon's, without differences of nothing: exact up to EXACT of them without ties, else normal with a correction for
    continuity."""
    d = d[d != 0]
    if len(d) == 0:
        return 1.0
    # Equal differences are equal for both sides only if they are to the last bit.
    has_ties = len(set(np.abs(d))) < len(d)
    if len(d) <= EXACT and not has_ties:
        return stats.wilcoxon(d, method="exact").pvalue
    return stats.wilcoxon(d, correction=True, method="asymptotic").pvalue


def differs(ours, theirs):
    return abs(ours - theirs) > 1e-7 * max(abs(theirs), 1e-6)


def check(a, b, judged):
    d = np.array([math.log(y / x) for x, y in zip(a, b)])
    _, _, ratio, lo, hi, p = judged.split()
    i, j = np.triu_indices(len(d))
    walsh = np.sort((d[i] + d[j]) / 2)
    if differs(float(ratio), math.exp(np.median(walsh))):
        return f"ratio {ratio}, SciPy's {math.exp(np.median(walsh))}"
    if differs(float(p), p_value(d)):
        return f"p {p}, SciPy's {p_value(d)}"
    if len(set(walsh)) < len(walsh):
        return None
    for end, outwards in ((math.log(float(lo)), -1), (math.log(float(hi)), 1)):
        step = 1e-9
        inside, outside = (p_value(d - end + outwards * step * side) for side in (1, -1))
        # Beyond EXACT pairs the normal approximation decides on both sides, up to one place.
        slack = 0 if len(d) <= EXACT else 0.002
        if inside <= ALPHA - slack or outside > ALPHA + slack:
            return f"an end of the interval is {math.exp(end)}: p {inside} inside, {outside} outside"
    return None


def drawn_apart(random):
    a = np.exp(random.normal(0, 0.1, int(random.integers(4, 31))))
    return a, np.exp(random.normal(random.choice([0, 0.02, -0.05]), 0.05, int(random.integers(4, 31))))


def check_apart(a, b, judged):
    a, b = np.log(a), np.log(b)
    ratio, lo, hi = map(float, judged.split())
    middle = math.exp(np.median(np.subtract.outer(b, a)))
    if differs(ratio, middle):
        return f"ratio {ratio}, SciPy's {middle}"
    for end, outwards in ((math.log(lo), -1), (math.log(hi), 1)):
        step = 1e-9
        inside, outside = (
            stats.mannwhitneyu(b - end + outwards * step * side, a, method="exact").pvalue for side in (1, -1)
        )
        if inside <= ALPHA or outside > ALPHA:
            return f"an end of the interval is {math.exp(end)}: p {inside} inside, {outside} outside"
    return None


def drawn_history(random):
    values = np.exp(random.normal(0, 0.05, int(random.integers(4, 41))))
    values[int(random.integers(len(values))) :] *= random.choice([1, 1.03, 1.2])
    return values if random.integers(5) else np.maximum(np.round(values * 10), 1)


def weighed(values):
    """Logarithms, none further from the median of its neighbours than three deviations, by the distances of neighbours."""
    logarithms = np.log(values)
    logarithms -= np.median(logarithms)
    most = np.median(np.abs(np.diff(logarithms))) / 0.954 * 3
    if most <= 0:
        return logarithms
    last = len(values) - 1
    windows = [(0, 3) if i < 2 else (last - 2, last + 1) if i > last - 2 else (i - 2, i + 3) for i in range(last + 1)]
    around = np.array([np.median(logarithms[a:b]) for a, b in windows])
    return np.clip(logarithms, around - most, around + most)


def energies(values):
    n = len(values)
    cuts = range(2, n - 1)
    return [k * (n - k) / n * stats.energy_distance(values[:k], values[k:]) ** 2 for k in cuts]


def largest_energy(values):
    """The same by all distances at once, for many orders."""
    n = len(values)
    distances = np.abs(np.subtract.outer(values, values))
    sums = np.zeros((n + 1, n + 1))
    sums[1:, 1:] = distances.cumsum(0).cumsum(1)
    k = np.arange(2, n - 1)
    left, right = sums[k, k], sums[n, n] - 2 * sums[k, n] + sums[k, k]
    between = sums[k, n] - left
    return np.max(k * (n - k) / n * (2 * between / (k * (n - k)) - left / k**2 - right / (n - k) ** 2))


def check_history(random, values, judged, with_p):
    figures = weighed(values)
    at, statistic, p = judged.split()
    energy = energies(figures)
    best = max(energy)
    if abs(float(statistic) - best) > 1e-7 or abs(energy[int(at) - 2] - best) > 1e-7:
        return f"the best place is {at} with {statistic}, SciPy's has {best}"
    if not with_p:
        return None
    drawn = [largest_energy(random.permutation(figures)) >= best * (1 - 1e-9) for _ in range(400)]
    theirs = (sum(drawn) + 1) / (len(drawn) + 1)
    # Ours stops drawing when it is above 5 %, and is a rough one then.
    slack = 0.05 + 4 * math.sqrt(theirs * (1 - theirs) * (1 / 400 + 1 / 50))
    if abs(float(p) - theirs) > slack:
        return f"p {p}, by permutations in NumPy {theirs}"
    return None


def judge(lines):
    judged = subprocess.run([sys.argv[1]], input="".join(lines), capture_output=True, text=True, check=True)
    answers = judged.stdout.splitlines()
    if len(answers) != len(lines):
        sys.exit("check_trials: not every sample was judged")
    return answers


def words(*numbers):
    return " ".join(repr(x) for some in numbers for x in some.tolist())


def main():
    random = np.random.default_rng(17)
    samples = [drawn(random) for _ in range(SAMPLES)]
    lines = []
    for a, b in samples:
        lines.append(f"{ALPHA} 0.02 {words(np.column_stack((a, b)).ravel())}\n")
    for number, ((a, b), answer) in enumerate(zip(samples, judge(lines))):
        wrong = check(a, b, answer)
        if wrong:
            sys.exit(f"check_trials: sample {number} of {len(a)} pairs: {wrong}")
    apart = [drawn_apart(random) for _ in range(SAMPLES // 10)]
    lines = [f"apart {ALPHA} {len(a)} {words(a, b)}\n" for a, b in apart]
    for number, ((a, b), answer) in enumerate(zip(apart, judge(lines))):
        wrong = check_apart(a, b, answer)
        if wrong:
            sys.exit(f"check_trials: sample {number} of {len(a)} and {len(b)} runs apart: {wrong}")
    histories = [drawn_history(random) for _ in range(SAMPLES // 10)]
    lines = [f"changes {words(values)}\n" for values in histories]
    for number, (values, answer) in enumerate(zip(histories, judge(lines))):
        wrong = check_history(random, values, answer, number % 10 == 0)
        if wrong:
            sys.exit(f"check_trials: history {number} of {len(values)} figures: {wrong}")
    print(
        f"check_trials: {len(samples)} samples of pairs, {len(apart)} of runs apart and {len(histories)} of histories "
        "as SciPy has them"
    )


main()
