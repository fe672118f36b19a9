#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Writes the answers in docs/query.md anew: the output of each command that it shows.

    update_query_doc.py KTRACECTL
"""
import re
import subprocess
import sys
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[3]
PAGE = SOURCE / "docs/query.md"
TRACE = SOURCE / "tests/data/recorded/6.12-whole"
COMMAND = re.compile(r"""(```\n\$ ktracectl query DIR (['"])(.*?)\2\n)(.*?)(```\n)""", re.DOTALL)


def answered(match):
    command = [sys.argv[1], "query", TRACE, match[3]]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return match[1] + done.stdout + match[5]


PAGE.write_text(COMMAND.sub(answered, PAGE.read_text()))
