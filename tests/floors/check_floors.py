#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Holds the floors of the source tree: who may include whom.

    check_floors.py REPOSITORY    checks src/ and bpf/; exits 1 and names each breach

The rules are in docs/architecture.md: includes only go down, the two pillars (daemon,
ctl) never see each other's floors, of bpf/ the C++ side sees three headers only, and no
files include each other in a circle.
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
# The rooms of each floor, and the rooms of the same floor that each may include. A floor's own name
# stands for the files that lie in no room. What is not named here may include no other room.
ROOMS = {
    # Headers of bpf/ in folders of their own. Circles of files are found all the same.
    "bpf": {"bpf/arena", "bpf/emit", "bpf/state"},
    "bpf/arena": {"bpf"},
    "bpf/emit": {"bpf", "bpf/arena"},
    "bpf/state": {"bpf"},
    "base/files": {"base"},
    "base/text": {"base"},
    "trace/metadata": {"trace/packet"},
    "trace/directory": {"trace/packet", "trace/metadata"},
    "trace/merge": {"trace/packet", "trace/directory"},
    "kernel/programs": {"kernel/arena", "kernel/pins"},
    "kernel/rings": {"kernel/arena", "kernel/pins", "kernel/programs"},
    "kernel/filters": {"kernel/programs", "kernel/symbols"},
    "kernel/tracepoints": {"kernel/programs"},
    "kernel/symbols": {"kernel/programs", "kernel/tracepoints"},
    "kernel/probes": {"kernel/programs", "kernel/symbols"},
    "kernel/calls": {"kernel/pins", "kernel/programs"},
    "kernel/catchers": {"kernel/programs", "kernel/symbols"},
    "daemon/access": {"daemon/runtime"},
    "daemon/programs": {"daemon/runtime"},
    "daemon/log": {"daemon/runtime"},
    "daemon/events": {"daemon/config", "daemon/programs", "daemon/runtime"},
    "daemon/sessions": {"daemon/events"},
    "daemon/stream": {"daemon/runtime"},
    "daemon/capture": {"daemon/config", "daemon/events", "daemon/programs", "daemon/runtime", "daemon/sessions", "daemon/stream"},
    "daemon/output": {"daemon/access", "daemon/capture", "daemon/config", "daemon/runtime"},
    "daemon/snapshots": {"daemon/access", "daemon/capture", "daemon/config", "daemon/output", "daemon/runtime"},
    "daemon/control": {"daemon/access", "daemon/capture", "daemon/config", "daemon/log", "daemon/output", "daemon/runtime", "daemon/sessions", "daemon/snapshots"},
    "daemon/metrics": {"daemon/capture", "daemon/config", "daemon/output", "daemon/runtime", "daemon/sessions", "daemon/snapshots"},
    "daemon/service": {"daemon/runtime"},
    "daemon": {"daemon/access", "daemon/capture", "daemon/config", "daemon/control", "daemon/log", "daemon/metrics", "daemon/output", "daemon/runtime", "daemon/service", "daemon/snapshots"},
    "analysis": {"analysis/coverage"},
    "analysis/intervals": {"analysis", "analysis/coverage"},
    "analysis/predicate": {"analysis/coverage"},
    "analysis/reports": {"analysis", "analysis/coverage", "analysis/intervals"},
    "decoders/printfmt": {"decoders/text"},
    "decoders/ftrace": {"decoders/printfmt", "decoders/text"},
    "decoders/json": {"decoders/ftrace", "decoders/text"},
    "decoders/kmemtrace": {"decoders/text"},
    "decoders/process": {"decoders/ftrace", "decoders/text"},
    "decoders/perfetto": {"decoders/ftrace", "decoders/json", "decoders/text"},
    "decoders/tracedat": {"decoders/ftrace", "decoders/text"},
    "ctl/input": {"ctl/selection", "ctl/terminal"},
    "ctl/exports": {"ctl/input", "ctl/selection", "ctl/terminal"},
    "ctl/live": {"ctl/input", "ctl/terminal"},
    "ctl/printing": {"ctl/input", "ctl/live", "ctl/selection"},
    "ctl/csv": {"ctl/input"},
    "ctl/reports": {"ctl/csv", "ctl/input", "ctl/live", "ctl/terminal"},
    "ctl/html": {"ctl/input", "ctl/reports", "ctl/terminal"},
    "ctl/rates": {"ctl/input", "ctl/live", "ctl/reports", "ctl/terminal"},
    "ctl/top": {"ctl/input", "ctl/rates", "ctl/terminal"},
    "ctl/views": {"ctl/input", "ctl/live", "ctl/terminal"},
    "ctl/command_line": {"ctl/commands", "ctl/csv", "ctl/input", "ctl/live", "ctl/printing", "ctl/reports", "ctl/selection", "ctl/top"},
    "ctl/completion": {"ctl/command_line", "ctl/csv", "ctl/input", "ctl/live", "ctl/printing", "ctl/reports", "ctl/top"},
    "ctl/query": {"ctl/terminal"},
    "ctl/tables": {"ctl/input", "ctl/query", "ctl/reports", "ctl/selection"},
    "ctl/commands": {"ctl/exports", "ctl/input", "ctl/live", "ctl/printing", "ctl/query", "ctl/reports", "ctl/selection", "ctl/tables", "ctl/terminal", "ctl/views"},
    "ctl": {"ctl/command_line", "ctl/commands", "ctl/completion", "ctl/html", "ctl/reports", "ctl/terminal", "ctl/top"},
}
# Sources of one room, at most; more hold a second idea.
ROOM_SIZE = 24
# What the C++ side may see of bpf/.
SHARED_WITH_BPF = {"bpf/types.h", "bpf/records.h", "bpf/shared_state.h"}
# Headers the build makes, and the floor that may include them.
GENERATED = {"configured_paths.h": "base", "ktraced.skel.h": "kernel", "ktraced_probe.skel.h": "kernel",
             "ktraced_call.skel.h": "kernel"}

INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)[">]', re.MULTILINE)
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


def breach_of_room(here, there):
    """Why a file of one room may not include a file of another one on the same floor, or None."""
    allowed = ROOMS.get(here, set())
    if here == there or there in allowed:
        return None
    return f"{here} may include {', '.join(sorted(allowed)) or 'no other room'} of its floor; not {there}"


def breaches_of_size(root):
    """Rooms with too many sources, and rooms that do not say what they are for."""
    files = {}
    for path in sources(root):
        files.setdefault(room(path), []).append(path)
    for name, paths in files.items():
        if len(paths) > ROOM_SIZE:
            yield f"src/{name}: {len(paths)} sources; at most {ROOM_SIZE} fit in a folder"
        if name.split("/")[0] != "bpf" and not (root / "src" / name / "README.md").is_file():
            yield f"src/{name}: has no README.md that says what it is for"


def breach_of_floor(including, included):
    """Why this #include is not allowed, or None."""
    here, there = place(including), place(included)
    if here == there:
        return breach_of_room(room(including), room(included))
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


def breaches(root):
    """All breaches as lines of text."""
    graph, problems = {}, []
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
                problem = breach_of_floor(path, included)
            if problem:
                problems.append(f'{path}: #include "{name}": {problem}')
    problems += breaches_of_size(root)
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
