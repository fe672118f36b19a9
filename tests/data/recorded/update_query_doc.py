#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Writes the answers in docs/query.md anew: the output of each command that it shows, for FILES without standard error.

    update_query_doc.py KTRACECTL
"""
import re
import subprocess
import sys
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[3]
PAGE = SOURCE / "docs/query.md"
TRACES = {"DIR": SOURCE / "tests/data/recorded/6.12-whole", "FILES": SOURCE / "tests/data/recorded/6.12-strings"}
COMMAND = re.compile(r"""(```\n\$ ktracectl query (DIR|FILES) (['"])(.*?)\3\n)(.*?)(```\n)""", re.DOTALL)


def answered(match):
    command = [sys.argv[1], "query", TRACES[match[2]], match[4]]
    errors = subprocess.STDOUT if match[2] == "DIR" else subprocess.DEVNULL
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=errors, text=True)
    return match[1] + done.stdout + match[6]


PAGE.write_text(COMMAND.sub(answered, PAGE.read_text()))
