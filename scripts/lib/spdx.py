#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Checks that every source has a line with its licence (LICENSE).

    spdx.py          lists sources without that line or with another licence; exit code 1 if there are any
    spdx.py --add    adds the line where it is missing
"""
import pathlib
import subprocess
import sys

TAG = "SPDX-License-Identifier: "
LICENCE, LICENCE_OF_BPF = "BSD-2-Clause", "GPL-2.0-only OR BSD-2-Clause"
COMMENTS = {"//": (".h", ".c", ".cpp", ".proto", ".js", ".mjs", ".h.in"),
            "#": (".py", ".sh", ".bash", ".zsh", ".fish", ".cmake", ".service.in", ".sysusers", "CMakeLists.txt", "Dockerfile"),
            '.\\"': (".1.in", ".5.in", ".8.in"),
            "/*": (".css",), "<!--": (".html",)}
ENDS = {"/*": " */", "<!--": " -->"}
FIRST_LINES = 3  # the tag is in one of these


def comment_of(path, text):
    """The beginning of a comment in a source, or None if the file is not a source."""
    if path.parts[:2] == ("tests", "data") and not text.startswith("#!"):
        return None
    if text.startswith("#!"):
        return "#"
    return next((begin for begin, names in COMMENTS.items() if path.name.endswith(names)), None)


def sources():
    """Each source with its text and the beginning of its comments."""
    names = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "-z"], check=True, capture_output=True,
                           text=True).stdout
    for name in sorted(filter(None, names.split("\0"))):
        path = pathlib.Path(name)
        if not path.is_file() or path.is_symlink():
            continue
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue  # data
        if (begin := comment_of(path, text)) is not None:
            yield path, text, begin


def expected(path):
    return TAG + (LICENCE_OF_BPF if path.parts[0] == "bpf" else LICENCE)


def tag_of(text):
    """The tag with its licence, or None."""
    for line in text.splitlines()[:FIRST_LINES]:
        if TAG in line:
            return line[line.index(TAG):].removesuffix("*/").removesuffix("-->").strip()
    return None


def with_tag(path, text, begin):
    line = f"{begin} {expected(path)}{ENDS.get(begin, '')}\n"
    lines = text.splitlines(keepends=True)
    # These lines must stay first.
    at = 1 if lines and lines[0].lower().startswith(("#!", "<!doctype")) else 0
    return "".join(lines[:at] + [line] + lines[at:])


def main():
    add = sys.argv[1:] == ["--add"]
    wrong = 0
    for path, text, begin in sources():
        tag = tag_of(text)
        if tag is None and add:
            path.write_text(with_tag(path, text, begin), encoding="utf-8")
        elif tag != expected(path):
            print(f"{path}: '{tag}', not '{expected(path)}'" if tag else f"{path}: no line '{expected(path)}'")
            wrong += 1
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
