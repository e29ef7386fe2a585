"""What the judge of pairs says of findings: `python3 -m unittest discover -s bench -p 'test_*.py'`."""

import os
import subprocess
import unittest

from pairs import nothing_left
from pairs_judge import Told, judge_fixed, judge_slow, same_first

EXPECT = {"rules": ["flush-per-record"], "words": ["flush"], "object": ["rows\\.db"], "place": ["store", "main\\.c"]}


def finding(rule="flush-per-record", title="rows.db is flushed 4,000 times", frames=("store",), lo=20, hi=60):
    gain = {"ns": (lo + hi) // 2, "lo_ns": lo, "hi_ns": hi}
    return {"rule": rule, "title": title, "main": True, "object": None, "frames": list(frames),
            "places": [{"file": None, "line": None}], "gain": gain, "told": []}


def slow(*findings, saves=0.5):
    return judge_slow(EXPECT, Told(wall_ns=100, findings=list(findings)), saves)


class Runs(unittest.TestCase):
    def test_workers_whose_parent_has_ended_do_not_serve_the_next_run(self):
        with nothing_left():
            worker = int(subprocess.check_output(["sh", "-c", "sleep 600 > /dev/null & echo $!"]))
            os.kill(worker, 0)
        with self.assertRaises(ProcessLookupError):
            os.kill(worker, 0)


class Judge(unittest.TestCase):
    def test_the_cause_first_with_object_and_place_is_right(self):
        self.assertEqual(slow(finding()) | {"gain": None}, {
            "right": True, "rank": 1, "first": "flush-per-record", "title": "rows.db is flushed 4,000 times",
            "gain": None, "within": True})

    def test_the_cause_that_is_not_first_is_not_right_and_keeps_its_rank(self):
        judged = slow(finding(rule="busy", title="busy in main"), finding())
        self.assertEqual((judged["right"], judged["rank"]), (False, 2))

    def test_another_object_or_another_place_is_not_right(self):
        self.assertFalse(slow(finding(title="other.db is flushed"))["right"])
        self.assertFalse(slow(finding(frames=("elsewhere",)))["right"])

    def test_all_words_of_the_title_do_in_place_of_the_rule(self):
        self.assertTrue(slow(finding(rule="a-new-name"))["right"])
        self.assertFalse(slow(finding(rule="busy", title="rows.db is read again"))["right"])

    def test_a_file_and_line_is_a_place(self):
        one = finding(frames=("elsewhere",))
        one["places"] = [{"file": "src/main.c", "line": 7}]
        self.assertTrue(slow(one)["right"])

    def test_no_finding_is_not_right_and_within_nothing(self):
        judged = slow()
        self.assertEqual((judged["right"], judged["first"], judged["within"]), (False, "nothing", False))

    def test_a_measured_share_outside_the_interval_is_not_within(self):
        self.assertFalse(slow(finding(), saves=0.7)["within"])
        self.assertFalse(slow(finding(), saves=0.1)["within"])

    def test_a_fixed_form_is_accused_by_the_cause_that_was_fixed_alone(self):
        told = Told(wall_ns=100, findings=[finding(), finding(rule="small-writes", title="rows.db in pieces")])
        self.assertEqual(judge_fixed(EXPECT, told, healthy=False), ["rows.db is flushed 4,000 times"])
        self.assertEqual(judge_fixed({**EXPECT, "fixed_may": ["flush-per-record"]}, told, healthy=False), [])

    def test_a_healthy_program_is_accused_by_any_finding_but_those_that_accuse_nobody(self):
        told = Told(wall_ns=100, findings=[finding(rule="busy"), finding()])
        self.assertEqual(judge_fixed({}, told, healthy=True), ["rows.db is flushed 4,000 times"])
        self.assertEqual(judge_fixed({"may": ["flush-per-record"]}, told, healthy=True), [])


class Repeated(unittest.TestCase):
    def test_the_first_finding_that_most_have_is_counted(self):
        def told(*signatures):
            return Told(wall_ns=100, findings=[{"signature": one} for one in signatures])

        self.assertEqual(same_first([told("a", "b"), told("a"), told("b", "a"), told()]), ("a", 2))
        self.assertEqual(same_first([told(), told(), told("a")]), ("nothing", 2))
        self.assertEqual(same_first([]), ("nothing", 0))


if __name__ == "__main__":
    unittest.main()
