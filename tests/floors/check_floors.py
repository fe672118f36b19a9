#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Holds the floors of the source tree: who may include whom.

    check_floors.py REPOSITORY    checks src/ and bpf/; exits 1 and names each breach

The rules are in docs/architecture.md: includes only go down, the two pillars (daemon,
ctl) never see each other's floors, of bpf/ the C++ side sees three headers only, and no
files include each other in a circle. A type of a header has a name of its own: the
floors are linked together, and in one namespace.
"""
import os
import re
import sys
from pathlib import Path

# Each floor of src/, and the floors it may include, itself aside.
FLOORS = {
    "base": set(),
    "schema": {"base"},
    "trace": {"schema", "base"},
    "kernel": {"trace", "schema", "base"},
    "daemon": {"kernel", "trace", "schema", "base"},
    "analysis": {"trace", "schema", "base"},
    "decoders": {"analysis", "trace", "schema", "base"},
    "ctl": {"decoders", "analysis", "trace", "schema", "base"},
}
# Sources of one room, at most; more hold a second idea.
ROOM_SIZE = 24
# What the C++ side may see of bpf/.
SHARED_WITH_BPF = {"bpf/types.h", "bpf/records.h", "bpf/shared_state.h"}
# Headers the build makes, and the floor that may include them.
GENERATED = {"configured_paths.h": "base", "ktraced.skel.h": "kernel", "ktraced_probe.skel.h": "kernel",
             "ktraced_call.skel.h": "kernel", "ktraced_stack.skel.h": "kernel"}

# A row of the table of rooms: the name, what it knows, the rooms of its floor that it may include.
ROW = re.compile(r"^\| \**`([a-z_/]+)`\** \|([^|]*)\|([^|]*)\|$", re.MULTILINE)
TABLE = "docs/architecture.md"
INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)[">]', re.MULTILINE)
# A type that is defined at the beginning of a line, so in the namespace of all floors.
TYPE = re.compile(r"^(?:class|struct|enum(?: class)?) (\w+)(?: final)?(?: : ?[^;{]*)?(?: \{|,?$)", re.MULTILINE)
SOURCES = (".h", ".hpp", ".c", ".cpp")


def sources(root):
    """Paths of all source files, relative to the repository."""
    for top in ("src", "bpf"):
        for path in sorted((root / top).rglob("*")):
            if path.suffix in SOURCES:
                yield path.relative_to(root).as_posix()


def included_file(root, including, name):
    """The file of this repository that an #include names, or None."""
    beside = os.path.normpath(Path(including).parent / name)
    for candidate in (name, f"src/{name}", beside):
        if (root / candidate).is_file():
            return candidate
    return None


def place(path):
    """'bpf', or the floor of a path under src/."""
    parts = path.split("/")
    return "bpf" if parts[0] == "bpf" else parts[1]


def room(path):
    """The folder of a path, without src/."""
    return path.rpartition("/")[0].removeprefix("src/")


def rooms_in(table):
    """The rooms of each floor, and the rooms of the same floor that each may include. A floor's own
    name stands for the files that lie in no room."""
    rooms = {}
    for name, _, included in ROW.findall(table):
        floor = name.split("/")[0]
        rooms[name] = {other if other == floor else f"{floor}/{other}" for other in re.findall(r"`(\w+)`", included)}
    return rooms


def breach_of_room(rooms, here, there):
    """Why a file of one room may not include a file of another one on the same floor, or None."""
    allowed = rooms.get(here, set())
    if here == there or there in allowed:
        return None
    return f"{here} may include {', '.join(sorted(allowed)) or 'no other room'} of its floor; not {there}"


def breaches_of_size(root, rooms):
    """Rooms with too many sources, and rooms and rows of the table that lack each other."""
    files = {}
    for path in sources(root):
        files.setdefault(room(path), []).append(path)
    for name, paths in files.items():
        if len(paths) > ROOM_SIZE:
            yield f"src/{name}: {len(paths)} sources; at most {ROOM_SIZE} fit in a folder"
        if name not in rooms and place(paths[0]) in {*FLOORS, "bpf"}:
            yield f"src/{name}: is not in the table of {TABLE}"
    for name in rooms:
        if "/" in name and name not in files:
            yield f"{TABLE}: there is no room {name}"


def breach_of_floor(rooms, including, included):
    """Why this #include is not allowed, or None."""
    here, there = place(including), place(included)
    if here == there:
        return breach_of_room(rooms, room(including), room(included))
    if here == "bpf":
        return "the BPF side includes nothing of src/"
    if there == "bpf":
        return None if included in SHARED_WITH_BPF else "is for BPF programs only"
    if there not in FLOORS[here]:
        return f"{here} may include {', '.join(sorted(FLOORS[here])) or 'no other floor'}; not {there}"
    return None


def breach_of_form(including, quote, name, included):
    """Why this #include is written wrongly, or None."""
    if included is None:
        if quote == "<":
            return None
        if name in GENERATED and place(including) == GENERATED[name]:
            return None
        return "no such file here; system headers go in <>"
    if quote == "<":
        return 'files of this project go in ""'
    if place(including) != "bpf" and included not in (name, f"src/{name}"):
        return f'write it from the top: "{included.removeprefix("src/")}"'
    return None


def circles(graph):
    """Each circle of files found, as a list that begins and ends with the same file."""
    found, done = [], set()

    def visit(path, trail):
        if path in trail:
            found.append(trail[trail.index(path):] + [path])
        elif path not in done:
            for included in graph.get(path, ()):
                visit(included, trail + [path])
            done.add(path)

    for path in graph:
        visit(path, [])
    return found


def types_with_one_name(root):
    """Types that two headers of src/ define with the same name."""
    first = {}
    for path in sources(root):
        if place(path) == "bpf" or not path.endswith(".h"):
            continue
        for name in TYPE.findall((root / path).read_text()):
            if first.setdefault(name, path) != path:
                yield f"{path}: {name} is a type of {first[name]} too"


def breaches(root):
    """All breaches as lines of text."""
    graph, problems = {}, []
    rooms = rooms_in((root / TABLE).read_text())
    for path in sources(root):
        if place(path) not in FLOORS and place(path) != "bpf":
            problems.append(f"{path}: {place(path)} is no floor; see FLOORS in this test")
            continue
        graph[path] = []
        for quote, name in INCLUDE.findall((root / path).read_text()):
            included = included_file(root, path, name)
            problem = breach_of_form(path, quote, name, included)
            if included and not problem:
                graph[path].append(included)
                problem = breach_of_floor(rooms, path, included)
            if problem:
                problems.append(f'{path}: #include "{name}": {problem}')
    problems += breaches_of_size(root, rooms)
    problems += types_with_one_name(root)
    problems += ["a circle: " + " -> ".join(circle) for circle in circles(graph)]
    return problems


def main():
    root = Path(sys.argv[1])
    if not list(sources(root)):
        sys.exit(f"{root} holds no sources")
    problems = breaches(root)
    print("\n".join(problems) or "all includes go down")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
