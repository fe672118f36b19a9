#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Finds what leads nowhere in the project's Markdown files: links to a missing file or heading, and paths of this
tree in `code` that do not exist.

    links.py     names each of them; exit code 1 if there is any

Pages that are installed may link only to what is installed with them. A path in code begins with a folder of the
project, of src/, or beside the page. It may omit the suffix of a source, and capitals stand for anything in it:
`tests/vm/verifier/SERIES.txt`.
"""
import fnmatch
import pathlib
import re
import subprocess
import sys

LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
CODE = re.compile(r"`[^`]*`")
CODE_PATH = re.compile(r"(?<![\w./])[\w.*-]+(?:/[\w.*-]+)+")
PLACEHOLDER = re.compile(r"\b[A-Z]{2,}\b")
NOT_HERE = {  # page: paths that it rightly names although they do not exist
    "docs/adding-an-event.md": {"tests/live/events/oom_score_adj_test.cpp"},  # which the reader writes
}
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


def folders_of(files):
    return {"/".join(parts[:length]) for parts in (file.split("/") for file in files) for length in range(1, len(parts))}


def missing_paths(page, line, files, folders):
    """The paths of this tree in the code of a line that do not exist."""
    beside = "".join(page.rpartition("/")[:2])
    for path in (path for code in CODE.findall(line) for path in CODE_PATH.findall(code)):
        bases = [base for base in ("", "src/", beside) if base + path.split("/")[0] in folders]
        patterns = [base + PLACEHOLDER.sub("*", path) for base in bases]
        if patterns and path not in NOT_HERE.get(page, ()) and not any(
                fnmatch.fnmatchcase(name, pattern + end) for pattern in patterns for name in files | folders
                for end in ("", ".h", ".cpp")):
            yield path


def main():
    root = pathlib.Path(__file__).resolve().parents[2]
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=root, check=True,
                            capture_output=True, text=True).stdout.splitlines()
    files = {name for name in listed if (root / name).exists()}
    folders, found = folders_of(files), 0
    for name in sorted(file for file in files if file.endswith(".md")):
        for number, line in prose(root / name):
            for target in LINK.findall(CODE.sub("", line)):
                if why := problem(root, root / name, target, files):
                    print(f"{name}:{number}: {target} {why}", file=sys.stderr)
                    found += 1
            for path in missing_paths(name, line, files, folders):
                print(f"{name}:{number}: `{path}` does not exist", file=sys.stderr)
                found += 1
    sys.exit(found > 0)


if __name__ == "__main__":
    main()
