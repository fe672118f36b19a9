# SPDX-License-Identifier: BSD-2-Clause
"""Reads JUnit reports of suites, as ctest or GoogleTest writes them, and writes what scripts/test says of all of them.

    results.py failed ctest|gtest REPORT
        Prints the failed tests as a regular expression of ctest -R, or as a filter of GoogleTest. Prints nothing if there is
        none, or more than ten: so many are no accident.
    results.py count REPORT WHAT FAILURES UNSTABLE [AGAIN…]
        Prints how many tests passed and how many failed. A test that was not run has failed, and so has a suite without
        a report. What failed, and passed in each of the reports AGAIN, is unstable: it counts as passed, and the file
        UNSTABLE gets a line of JSON with its name and the end of its first output. FAILURES gets those of a failed test,
        for readers.
    results.py names UNSTABLE
        Prints the names of the tests in that file.
    results.py describe UNSTABLE
        Prints the tests in that file for readers.
    results.py table TABLE
        Prints the lines of TABLE (part, passed, failed, unstable, seconds; with tabs between) for readers.
    results.py json TABLE UNSTABLE COMMIT FAILED
        Prints them as JSON, with the tests in the file UNSTABLE. FAILED is how many failures there are in all.
"""

import json
import os
import re
import sys
import xml.etree.ElementTree

LINES = 30
COLUMNS = 240
MANY = 10


def is_written(report):
    return os.path.exists(report) and os.path.getsize(report) > 0


def tests_of(report):
    return list(xml.etree.ElementTree.parse(report).iter("testcase")) if is_written(report) else []


def name_of(test):
    """The name as the program that wrote the report takes it: GoogleTest's reports have suite and test apart."""
    suite, name = test.get("classname"), test.get("name")
    return name if suite in (None, name) else f"{suite}.{name}"


def has_failed(test):
    return test.get("status") != "run" or any(test.find(outcome) is not None for outcome in ("failure", "skipped"))


def failed(form, report):
    names = [name_of(test) for test in tests_of(report) if has_failed(test)]
    if not names or len(names) > MANY:
        return
    if form == "gtest":
        print(":".join(names))
    else:
        print("^(" + "|".join(re.sub(r"([.+*?()\[\]^$|])", r"\\\1", name) for name in names) + ")$")


def outcome_of(test, what):
    output = test.findtext("system-out") or test.findtext("failure") or ""
    return {"suite": what, "name": name_of(test), "seconds": test.get("time"),
            "output": [line[:COLUMNS] for line in output.splitlines()[-LINES:]]}


def text_of(outcome, word):
    heading = f"{outcome['suite']}: {word} {outcome['name']} ({outcome['seconds']} s)\n"
    return heading + "".join(f"    {line}\n" for line in outcome["output"])


def append(file, texts):
    with open(file, "a", encoding="utf-8") as out:
        out.writelines(texts)


def count(report, what, failures, unstable, *again):
    if not is_written(report):
        append(failures, [f"{what}: no report was written; counted as one failure\n"])
        print(0, 1)
        return
    tests = tests_of(report)
    bad = [test for test in tests if has_failed(test)]
    passed_each_time = [{name_of(test) for test in tests_of(turn) if not has_failed(test)} for turn in again]
    by_chance = [test for test in bad if again and all(name_of(test) in passed for passed in passed_each_time)]
    bad = [test for test in bad if test not in by_chance]
    append(unstable, [json.dumps(outcome_of(test, what)) + "\n" for test in by_chance])
    append(failures, [text_of(outcome_of(test, what), "FAILED") for test in bad])
    print(len(tests) - len(bad), len(bad))


def unstable_tests(file):
    if not os.path.exists(file):
        return []
    with open(file, encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def names(unstable):
    for test in unstable_tests(unstable):
        print(test["name"])


def describe(unstable):
    for test in unstable_tests(unstable):
        print(text_of(test, "UNSTABLE"), end="")


def rows_of(file):
    with open(file, encoding="utf-8") as lines:
        for line in lines:
            part, *numbers = line.rstrip("\n").split("\t")
            yield part, *map(int, numbers)


def table(file):
    print(f"{'':28}{'passed':>8}{'failed':>8}{'unstable':>10}{'minutes':>9}")
    for part, good, bad, by_chance, seconds in rows_of(file):
        print(f"{part:28}{good:8}{bad:8}{by_chance:10}{seconds / 60:9.1f}")


def as_json(file, unstable, commit, all_failed):
    rows = list(rows_of(file))
    print(json.dumps({
        "commit": commit or None,
        "passed": sum(good for _, good, *_ in rows),
        "failed": int(all_failed),
        "unstable": [test["name"] for test in unstable_tests(unstable)],
        "minutes": {part: round(seconds / 60, 1) for part, *_, seconds in rows},
    }, indent=2))


{"failed": failed, "count": count, "names": names, "describe": describe, "table": table, "json": as_json}[sys.argv[1]](*sys.argv[2:])
