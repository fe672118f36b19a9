#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Finds words that docs/glossary.md replaces, in sources, docs, tests and scripts.

    words.py     names each place and the word to use; exit code 1 if there is any

A word is also found as a part of an identifier: "told" in told_, is_told and IsTold.
"""
import pathlib
import re
import subprocess
import sys

# Whole words → what to write. Words with an everyday meaning are not here.
WORDS = {
    "told untold tell tells telling news": "report, announce",
    "wanted": "matches, needed, requested, expected",
    "loan loans loaned lend lends lent borrow borrows borrowed borrower": "session, owner",
    "forget forgets forgot forgotten": "evict",
    "doubt doubts doubted unsure": "caveats; uncertain",
    "sibling siblings": "annotation",
    "mend mends mended anew whoever": "plain words",
    "going": "detaching, removing",
    "scope": "trace config, config change",
    "promise promises promised": "watermark",
}
# Other patterns → what to write.
PATTERNS = {
    r"\bpass_on\w*": "propagate",
    r"\b\w+_pass\b": "batch",
    r"\b(?:CutTrace|cut_off|cut short)\b": "rotate; truncated",
    r"\b(?:held back|hold back|\w*HoldBack\w*)\b": "reorder window",
    r"\b(?:in_force|InForce|in force)\b": "trace config, current config",
    r"\b(?:TraceScope|NAME_scope|scope_\w+)\b": "trace config, config change",
    r"\b(?:NAME_(?:task|slab_cache|event)|rec_name_\w+|name records?)\b": "metadata record",
    r"\b(?:Together|OnceOnly|WholeThreads)\b": "fan-out, deduplicator, coverage",
    r"\b(?:as many as may|had enough|so nearly|gives back what)\b": "plain words",
}
# Uses that are right: file (a prefix of its path), and a pattern that covers the word.
ALLOWED = (
    ("", r"cannot tell"),  # cannot distinguish
    ("", r"WantedBy=|\.scope\b"),  # of systemd
    ("", r"std::promise|\bPromise\b|awaitPromise|fs/promises|timers/promises"),  # of the languages
    ("", r"going on"),
    ("tests/live/truth/", r"\bsin6_scope_id\b"),  # of the system's headers
    ("html/", r"\bscope: \"col\""),  # of HTML
    ("scripts/lib/sbom.py", r"[\"_]scope\""),  # of CycloneDX
    ("tests/package/sbom_test.py", r"[\"]scope\""),
)
SUFFIXES = (".h", ".c", ".cpp", ".md", ".py", ".sh", ".js", ".mjs", ".css", ".html", ".json", ".txt", ".in")
SCRIPTS = ("scripts/", "tests/", ".ci/")  # their files without a suffix are scripts
NOT_OURS = ("tests/data/", "tests/unit/kernel/data/", "docs/glossary.md", "scripts/lib/words.py", "html/package")


def in_identifiers(words):
    """A pattern for whole words, also within snake_case and CamelCase."""
    capitals = "|".join(word.capitalize() for word in words)
    return re.compile(rf"(?:(?<![A-Za-z])(?:{'|'.join(words)}|{capitals})|(?<=[a-z0-9])(?:{capitals}))(?![a-z])")


def is_checked(path, name):
    return (not name.startswith(NOT_OURS) and path.is_file()
            and (name.endswith(SUFFIXES) or (not path.suffix and name.startswith(SCRIPTS))))


def found_in(name, line, patterns):
    """(word, what to write) for each word in the line that is not allowed there."""
    allowed = [match.span() for prefix, context in ALLOWED if name.startswith(prefix)
               for match in re.finditer(context, line)]
    for pattern, instead in patterns:
        for match in pattern.finditer(line):
            if not any(begin <= match.start() and match.end() <= end for begin, end in allowed):
                yield match[0], instead


def main():
    root = pathlib.Path(__file__).resolve().parents[2]
    patterns = [(in_identifiers(words.split()), instead) for words, instead in WORDS.items()]
    patterns += [(re.compile(pattern), instead) for pattern, instead in PATTERNS.items()]
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=root, check=True,
                            capture_output=True, text=True).stdout.splitlines()
    found = 0
    for name in listed:
        path = root / name
        if not is_checked(path, name):
            continue
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
            for word, instead in found_in(name, line, patterns):
                print(f"{name}:{number}: '{word}': write {instead} (docs/glossary.md)", file=sys.stderr)
                found += 1
    sys.exit(found > 0)


if __name__ == "__main__":
    main()
