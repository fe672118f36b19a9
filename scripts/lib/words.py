#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Finds words that docs/glossary.md replaces, in sources, docs, tests and scripts.

    words.py     names each place and the word to use; exit code 1 if there is any
"""
import pathlib
import re
import subprocess
import sys

# What must not stand anywhere → what to write. Words with an everyday meaning are not here.
REPLACED = {
    r"untold|tell_\w+|told_\w+": "report, announce",
    r"pass_on\w*": "propagate",
    r"\w*loan|loan\w*|lend\w*|borrow\w*": "temporary filter, owner",
    r"doubts?|unsure": "caveats; uncertain",
    r"in_force|InForce|in force": "trace config, current config",
    r"TraceScope|NAME_scope|scope_\w+": "trace config, config change",
    r"NAME_(task|slab_cache|event)|rec_name_\w+|name records?": "metadata record",
    r"Together|OnceOnly|WholeThreads|siblings?": "fan-out, deduplicator, coverage, annotation",
    r"\w+_wanted": "matches",
    r"whoever|as many as may|had enough|so nearly": "plain words",
}
SUFFIXES = (".h", ".c", ".cpp", ".md", ".py", ".js", ".mjs", ".css", ".json", ".txt", ".in")
NOT_OURS = ("tests/data/", "docs/glossary.md", "scripts/lib/words.py", "html/package")


def main():
    root = pathlib.Path(__file__).resolve().parents[2]
    patterns = [(re.compile(rf"\b(?:{words})\b", re.IGNORECASE if words.islower() else 0), instead)
                for words, instead in REPLACED.items()]
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=root, check=True,
                            capture_output=True, text=True).stdout.splitlines()
    found = 0
    for name in listed:
        path = root / name
        if name.startswith(NOT_OURS) or not name.endswith(SUFFIXES) or not path.is_file():
            continue
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
            for pattern, instead in patterns:
                for match in pattern.finditer(line):
                    print(f"{name}:{number}: '{match[0]}': write {instead} (docs/glossary.md)", file=sys.stderr)
                    found += 1
    sys.exit(found > 0)


if __name__ == "__main__":
    main()
