# SPDX-License-Identifier: BSD-2-Clause
"""Reads the JUnit report of one suite, as ctest or GoogleTest writes it.

    junit.py REPORT WHAT FAILURES [AGAIN UNSTABLE]

Prints how many tests passed and how many failed. Appends the end of each failed test's output to
the file FAILURES. A test that was not run has failed, and so has a suite without a report. Tests that failed,
and passed in the report AGAIN, if there is one, count as passed; their output goes to the file UNSTABLE.
"""

import os
import sys
import xml.etree.ElementTree

LINES = 30
COLUMNS = 240


def end_of(text):
    return "".join(f"    {line[:COLUMNS]}\n" for line in text.splitlines()[-LINES:])


def is_written(report):
    return os.path.exists(report) and os.path.getsize(report) > 0


def tests_of(report):
    return list(xml.etree.ElementTree.parse(report).iter("testcase"))


def has_failed(test):
    return test.get("status") != "run" or any(test.find(outcome) is not None for outcome in ("failure", "skipped"))


def write(file, tests, what, outcome):
    with open(file, "a", encoding="utf-8") as out:
        for test in tests:
            out.write(f"{what}: {outcome} {test.get('name')} ({test.get('time')} s)\n")
            out.write(end_of(test.findtext("system-out") or test.findtext("failure") or ""))


def main():
    report, what, failures, *repetition = sys.argv[1:]
    if not is_written(report):
        with open(failures, "a", encoding="utf-8") as out:
            out.write(f"{what}: no report was written; counted as one failure\n")
        print(0, 1)
        return
    tests = tests_of(report)
    failed = [test for test in tests if has_failed(test)]
    if repetition and is_written(repetition[0]):
        again, unstable_file = repetition
        passed_then = {test.get("name") for test in tests_of(again) if not has_failed(test)}
        write(unstable_file, [test for test in failed if test.get("name") in passed_then], what, "UNSTABLE")
        failed = [test for test in failed if test.get("name") not in passed_then]
    write(failures, failed, what, "FAILED")
    print(len(tests) - len(failed), len(failed))


main()
