# SPDX-License-Identifier: BSD-2-Clause
"""Compiles every source by itself, without code: a build joins sources, and a header that one of them lacks may come from another.

    each_source.py BUILD [SOURCE…]

Takes the flags from BUILD/compile_commands.json, without the precompiled headers. With SOURCEs only these. Prints the errors of those
that do not compile, and fails.
"""

import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys

from floors_as_units import flags_of, sources_of


def commands_of(build: pathlib.Path) -> dict[pathlib.Path, list[str]]:
    """By source. Generated sources are left out."""
    commands = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        flags = flags_of(entry["command"], entry["file"])
        for source in sources_of(pathlib.Path(entry["file"])):
            if source.suffix == ".cpp" and build not in source.parents:
                commands[source] = ["clang++-19", *flags, "-w", "-fsyntax-only", str(source)]
    return commands


def main() -> None:
    build = pathlib.Path(sys.argv[1]).resolve()
    commands = commands_of(build)
    requested = {pathlib.Path(name).resolve() for name in sys.argv[2:]} or set(commands)
    unknown = sorted(str(path) for path in requested - set(commands))
    if unknown:
        sys.exit(f"each_source: {build} does not compile {', '.join(unknown)}")
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        runs = [pool.submit(subprocess.run, commands[path], cwd=build, capture_output=True, text=True) for path in sorted(requested)]
        for run in runs:
            if run.result().returncode != 0:
                failed += 1
                print(run.result().stderr, file=sys.stderr)
    if failed:
        sys.exit(f"each_source: {failed} of {len(requested)} sources do not compile by themselves")


if __name__ == "__main__":
    main()
