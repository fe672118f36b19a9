#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""configs/ktraced.schema.json, which is written from the rules that the daemon checks, is as
strict as the daemon: it accepts the installed configuration, refuses the bad ones, and names all existing events.

A JSON Schema cannot express cases that begin with "// not in the schema", nor can it count the bytes of a
text, as for "refused_for_bytes" in text_values.json; the schema must accept them.
"""
import json
import pathlib
import re
import sys
import unittest

import jsonschema

SOURCE = pathlib.Path(__file__).resolve().parents[4]
CASES = SOURCE / "tests/unit/daemon/config/config_cases"
SCHEMA = json.loads((SOURCE / "configs/ktraced.schema.json").read_text())
TEXT_VALUES = json.loads((CASES.parent / "text_values.json").read_text())
TEXT_KEYS = {  # as in config_text_test.cpp
    "directory": [("flight", "directory"), ("stream", "output", "directory"), ("bpffs",)],
    "socket": [("control", "socket")],
    "period": [("sampling", "period")],
    "metrics": [("metrics", "listen")],
    "comm": [("filter", "comm", 0), ("filter", "exclude", "comm", 0)],
    "cgroup": [("filter", "cgroup", 0), ("filter", "exclude", "cgroup", 0)],
}
STRING_OR_COMMENT = re.compile(r'("(?:\\.|[^"\\])*")|//[^\n]*|/\*.*?\*/', re.S)


def load(file):
    text = file.read_bytes().decode()
    return json.loads(STRING_OR_COMMENT.sub(lambda match: match.group(1) or " ", text))


def config_with(path, text):
    """The configuration that has only this value, at this path; 0 stands for a list."""
    for key in reversed(path):
        text = [text] if key == 0 else {key: text}
    return text


def spelled_out(value):
    return value if isinstance(value, str) else value["before"] + value["text"] * value["times"]


def groups_in(header):
    groups = {}
    for name, group in re.findall(r'struct rec_(\w+) \{[^}]*^\} GROUP\("(\w+)"\)', header, re.M):
        groups.setdefault(group, []).append(name)
    return groups


class ConfigSchemaTest(unittest.TestCase):
    validator = jsonschema.Draft202012Validator(SCHEMA)

    def test_is_a_schema(self):
        jsonschema.Draft202012Validator.check_schema(SCHEMA)

    def test_accepts_the_installed_configuration(self):
        self.validator.validate(load(SOURCE / "configs/ktraced.json"))

    def test_accepts_everything_that_is_possible(self):
        self.validator.validate({
            "$schema": "x",
            "events": {"sched": ["sched_switch"], "kmem": False, "syscalls": {"only": ["openat"]},
                       "tracepoints": ["block:*", "irq:irq_handler_entry", "net"]},
            "sampling": {"period": "997us", "kernel": False, "user": True},
            "filter": {"pid": [1], "uid": [0, "root"], "comm": ["sshd", "nginx*", "fifteen_bytes_x*"],
                       "follow": [4194304], "cgroup": ["/a..b", "c"], "exclude": {"uid": [4294967294, "daemon"]}},
            "stream": {"buffer_kb": 64, "max_latency_ms": 10000,
                       "output": {"directory": "/d", "events": {"kmem": True, "tracepoints": ["irq"]},
                                  "filter": {"pid": [1], "exclude": {"comm": ["a*"]}}}},
            "control": {"socket": "/s", "group": "ktrace", "admin_uids": [0], "addresses": "real",
                        "readers_see": "own"},
            "log": {"level": "off"}, "metrics": {"listen": "[::1]:9464"}})

    def test_refuses_the_bad_cases(self):
        files = sorted(CASES.glob("*.json"))
        self.assertGreaterEqual(len(files), 30)
        for file in files:
            with self.subTest(file.name):
                try:
                    config = load(file)
                except ValueError:  # not JSON, or not UTF-8
                    continue
                beyond = file.read_text().startswith("// not in the schema")
                self.assertEqual(self.validator.is_valid(config), beyond)

    def test_accepts_the_texts_that_the_daemon_accepts(self):
        for rule, paths in TEXT_KEYS.items():
            for verdict, values in TEXT_VALUES[rule].items():
                for path, value in ((path, spelled_out(value)) for path in paths for value in values):
                    with self.subTest(path=path, verdict=verdict, value=value):
                        self.assertEqual(self.validator.is_valid(config_with(path, value)), verdict != "refused")

    def test_names_the_events_that_there_are(self):
        events = SCHEMA["properties"]["events"]["properties"]
        groups = [group for group in events if group != "tracepoints"]
        named = {group: events[group]["oneOf"][1]["items"]["enum"] for group in groups}
        declared = groups_in((SOURCE / "bpf/records.h").read_text())
        for part in ("strings", "completed"):  # of "syscalls"
            self.assertIn(part, declared)
            del declared[part]
        self.assertEqual(named, declared)
        self.assertLess({"strings", "record"}, events["syscalls"]["oneOf"][2]["properties"].keys())


if __name__ == "__main__":
    unittest.main(argv=sys.argv)
