#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The noise ends cleanly, leaves nothing, and repeats itself. Nothing is timed, and no root is needed.

    noise_test.py NOISE
"""
import collections
import ctypes
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import unittest

NOISE = pathlib.Path(sys.argv[1]).resolve()
PR_SET_CHILD_SUBREAPER = 36


def list_of(seed):
    """The actions of a seed, as lines: kind, name, details."""
    return subprocess.run([NOISE, "--list", "--seed", str(seed), "--rounds", "300"], check=True, capture_output=True,
                          text=True).stdout.splitlines()


class Noise(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = pathlib.Path(directory.name)

    def start(self, *command):
        return subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, text=True,
                                env={**os.environ, "TMPDIR": str(self.directory)})

    def assert_nothing_is_left(self):
        """Processes that it leaves become children of this one."""
        self.assertRaises(ChildProcessError, os.waitpid, -1, os.WNOHANG)
        self.assertEqual(list(self.directory.iterdir()), [])

    def test_ends_after_its_rounds(self):
        process = self.start(NOISE, "--seed", 1, "--load", 100, "--rounds", 300)
        output = process.communicate()[0].splitlines()
        self.assertEqual(process.returncode, 0)
        self.assert_nothing_is_left()
        kinds = sorted(collections.Counter(line.split()[0] for line in list_of(1)).items())
        counts = ", ".join(f"{count} {kind}" for kind, count in kinds)
        self.assertEqual(output, ["noise: seed 1", f"noise: 300 rounds: {counts}"])

    def test_ends_by_a_signal(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            process = self.start(NOISE, "--seed", 2)
            process.stdout.readline()
            process.send_signal(number)
            output = process.communicate()[0]
            self.assertEqual(process.returncode, 0)
            self.assertRegex(output, r"^noise: \d+ rounds: ")
            self.assert_nothing_is_left()

    def test_ends_with_its_parent(self):
        shell = self.start("sh", "-c", '"$1" --seed 3 & wait', "sh", NOISE)
        shell.stdout.readline()
        shell.kill()
        output = shell.communicate()[0]
        self.assertRegex(output, r"^noise: \d+ rounds: ")
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(-1, 0)[1]), 0)
        self.assert_nothing_is_left()

    def test_does_the_same_for_the_same_seed(self):
        self.assertEqual(list_of(1), list_of(1))
        self.assertNotEqual(list_of(1), list_of(2))

    def test_refuses_what_it_does_not_know(self):
        for words in (["--load", "0"], ["--load", "101"], ["--seed", "x"], ["--list"], ["more"]):
            done = subprocess.run([NOISE, *words], check=False, capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stderr.split()[0]), (64, "usage:"))


if ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
    sys.exit("noise_test.py: cannot become the parent of orphans")
unittest.main(argv=sys.argv[:1])
