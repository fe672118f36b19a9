#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The benchmarks run on this kernel, and leave nothing behind. No figure decides: only what was counted.

    live_test.py BUILD-DIRECTORY
"""
import json
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
from growing import section  # noqa: E402

BUILD = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "build").resolve()
COMMAND = [HERE / "whole", "--build", BUILD, "--seconds", "1", "--rounds", "1", "--work", "messaging"]
TRACEFS_INSTANCE = pathlib.Path("/sys/kernel/tracing/instances/ktraced-bench")


def left_behind():
    """Pins, files and the tracefs instance of a benchmark."""
    names = [path for pattern in ("/sys/fs/bpf/ktraced-bench-*", "/var/tmp/ktraced-bench-*", "/dev/shm/ktraced-bench-*")
             for path in pathlib.Path("/").glob(pattern[1:])]
    return names + [TRACEFS_INSTANCE] * TRACEFS_INSTANCE.exists()


class Whole(unittest.TestCase):
    def setUp(self):
        output = tempfile.TemporaryDirectory()
        self.addCleanup(output.cleanup)
        self.output = pathlib.Path(output.name)
        self.before = left_behind()

    def measured(self):
        return [json.loads(line) for file in self.output.glob("whole-*.jsonl") for line in file.read_text().splitlines()]

    def test_measures_a_program_without_and_with_tracing(self):
        done = subprocess.run([*COMMAND, "--tracing", "nothing,floor,flight", "--output", self.output], check=False,
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        untraced, floor, flight = self.measured()
        self.assertEqual([one["tracing"] for one in (untraced, floor, flight)], ["nothing", "floor", "flight"])
        self.assertIsNone(untraced["events"])
        self.assertGreater(floor["figures"]["messaging"], 0)
        self.assertIn("| messaging | flight |", done.stdout)
        self.assertIn("| too few rounds |", done.stdout)
        self.assertGreater(flight["events"], 1000)
        self.assertGreater(untraced["figures"]["messaging"], 0)
        self.assertIn("| flight |", done.stdout)
        self.assertEqual(left_behind(), self.before)

    def test_takes_a_stream_apart(self):
        done = subprocess.run([*COMMAND, "--parts", "stream", "--output", self.output], check=False, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual([one["tracing"] for one in self.measured()],
                         ["nothing", "stream", "stream-in-memory", "flight", "flight-no-catchers", "floor", "empty"])
        self.assertTrue(all(one["events"] > 1000 for one in self.measured() if one["events"] is not None))
        self.assertIn("| messaging: parts of stream |", done.stdout)
        self.assertEqual(left_behind(), self.before)

    def test_cleans_up_when_it_is_ended(self):
        process = subprocess.Popen([*COMMAND, "--tracing", "ftrace,flight", "--rounds", "1000", "--output", self.output],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        while len(self.measured()) < 2 and process.poll() is None:
            time.sleep(0.1)
        process.send_signal(signal.SIGTERM)
        self.assertIn("interrupted", process.communicate()[1])
        self.assertEqual(left_behind(), self.before)


class Floor(unittest.TestCase):
    COMMAND = [HERE / "floor", "--build", BUILD, "--stretch-ms", "1"]

    def setUp(self):
        self.before = left_behind()

    def test_measures_hits_under_every_kind_of_tracing(self):
        done = subprocess.run([*self.COMMAND, "--rounds", "2", "--work", "getppid,procfile", "--json"], check=False,
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        works = json.loads(done.stdout)["works"]
        self.assertEqual(works["getppid"]["hits"], 2)
        self.assertGreater(works["procfile"]["hits"], 4)
        every = {"empty", "clock", "rejected", "flight", "stream", "completed", "ringbuf", "ftrace"}
        self.assertEqual(set(works["getppid"]["cases"]), every)
        self.assertEqual(set(works["procfile"]["cases"]), every - {"completed"})
        self.assertTrue(all(ns > 0 for ns in works["getppid"]["turn_ns"].values()))
        self.assertEqual(left_behind(), self.before)

    def test_cleans_up_when_it_is_ended(self):
        process = subprocess.Popen([*self.COMMAND, "--rounds", "100000", "--case", "flight,ftrace"],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.assertIn("100000 rounds", process.stderr.readline())  # everything is prepared
        time.sleep(1)
        process.send_signal(signal.SIGTERM)
        self.assertIn("interrupted", process.communicate()[1])
        self.assertEqual(left_behind(), self.before)


class Growth(unittest.TestCase):
    def test_measures_traces_and_draws_them(self):
        before = left_behind()
        with tempfile.TemporaryDirectory() as directory:
            values, picture, page = (pathlib.Path(directory) / name for name in ("values.json", "growth.svg", "page.md"))
            page.write_text(f"{section.BEGIN}\n{section.END}\n", encoding="utf-8")
            done = subprocess.run([HERE / "growth", "--build", BUILD, "--part", "traces", "--trace-mib", "0", "--results", values,
                                   "--svg", picture, "--page", page], check=False, capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stderr)
            points = json.loads(values.read_text())["traces"]["points"]
            self.assertIn("<svg", picture.read_text())
            self.assertIn("| CPU time of ktracectl |", page.read_text())
        self.assertEqual({point["series"] for point in points}, {"show", "summary", "syscalls", "query", "last-ms"})
        self.assertTrue(all(point["x"] > 0 for point in points))
        self.assertEqual(left_behind(), before)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
