#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Finds links in the project's Markdown files that lead nowhere: to a missing file or heading.

    links.py     names each of them; exit code 1 if there is any

Pages that are installed may link only to what is installed with them.
"""
import pathlib
import re
import subprocess
import sys

LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
CODE = re.compile(r"`[^`]*`")
HEADING = re.compile(r"#{1,6} +(.*)")


def is_installed(name):
    """As CMakeLists.txt installs them."""
    return name in ("README.md", "CONTRIBUTING.md", "LICENSE") or name.startswith("docs/")


def prose(path):
    """The lines outside of code blocks, with their numbers."""
    in_code = False
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if line.lstrip().startswith("```"):
            in_code = not in_code
        elif not in_code:
            yield number, line


def anchor(heading):
    """The anchor that GitHub makes of a heading."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
    return re.sub(r"[^\w\- ]", "", text).replace(" ", "-")


def anchors(path):
    counts, found = {}, set()
    for _, line in prose(path):
        if match := HEADING.fullmatch(line):
            name = anchor(match[1])
            found.add(name if name not in counts else f"{name}-{counts[name]}")
            counts[name] = counts.get(name, 0) + 1
    return found


def problem(root, page, target, files):
    """What is wrong with a link, or nothing."""
    if re.match(r"[a-z]+:", target):
        return None
    name, _, fragment = target.partition("#")
    to = (page.parent / name).resolve() if name else page
    if not to.is_relative_to(root):
        return "is outside of the project"
    where = to.relative_to(root).as_posix()
    if where not in files and not any(file.startswith(where + "/") for file in files):
        return "does not exist"
    if is_installed(page.relative_to(root).as_posix()) and not is_installed(where):
        return "is not installed with this page"
    if fragment and fragment not in anchors(to):
        return "has no such heading"
    return None


def main():
    root = pathlib.Path(__file__).resolve().parents[2]
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=root, check=True,
                            capture_output=True, text=True).stdout.splitlines()
    files = {name for name in listed if (root / name).exists()}
    found = 0
    for name in sorted(file for file in files if file.endswith(".md")):
        for number, line in prose(root / name):
            for target in LINK.findall(CODE.sub("", line)):
                if why := problem(root, root / name, target, files):
                    print(f"{name}:{number}: {target} {why}", file=sys.stderr)
                    found += 1
    sys.exit(found > 0)


if __name__ == "__main__":
    main()
