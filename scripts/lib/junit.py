# SPDX-License-Identifier: BSD-2-Clause
"""Reads the JUnit report of one suite, as ctest or GoogleTest writes it.

    junit.py REPORT WHAT FAILURES

Prints how many tests passed and how many failed. Appends the end of each failed test's output to
the file FAILURES. A test that was not run has failed, and so has a suite without a report.
"""

import os
import sys
import xml.etree.ElementTree

LINES = 30
COLUMNS = 240


def end_of(text):
    return "".join(f"    {line[:COLUMNS]}\n" for line in text.splitlines()[-LINES:])


def main():
    report, what, failures = sys.argv[1:]
    if not os.path.exists(report) or os.path.getsize(report) == 0:
        with open(failures, "a", encoding="utf-8") as out:
            out.write(f"{what}: no report was written; counted as one failure\n")
        print(0, 1)
        return
    tests = list(xml.etree.ElementTree.parse(report).iter("testcase"))
    failed = [test for test in tests if test.get("status") != "run" or test.find("failure") is not None]
    with open(failures, "a", encoding="utf-8") as out:
        for test in failed:
            out.write(f"{what}: FAILED {test.get('name')} ({test.get('time')} s)\n")
            out.write(end_of(test.findtext("system-out") or test.findtext("failure") or ""))
    print(len(tests) - len(failed), len(failed))


main()
