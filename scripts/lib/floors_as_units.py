# SPDX-License-Identifier: BSD-2-Clause
"""One compilation unit for each floor of src/, for tools that spend most of their time on headers.

    floors_as_units.py BUILD OUT

Writes OUT/<floor>.cpp, which includes every source of the floor, and OUT/compile_commands.json
with the flags that BUILD compiles the floor with. Fails if BUILD leaves out a source of src/.
"""

import json
import pathlib
import re
import shlex
import sys


def flags_of(command: str, source: str) -> list[str]:
    """The compiler's options, without its name, input, output and precompiled headers."""
    # Only GCC has these warnings and parameters, and only GCC reads its precompiled headers.
    left_out = ("-c", source, "-Wshadow=local", "-Wno-tsan", "-Winvalid-pch")
    words = shlex.split(command)[1:]
    words = [word for word in words if word not in left_out and not word.startswith("--param")]
    # With a compiler cache the compiler's name is a second word.
    while words and not words[0].startswith("-"):
        words.pop(0)
    for option in ("-o", "-include"):
        while option in words:
            at = words.index(option)
            del words[at : at + 2]
    return words


def sources_of(unit: pathlib.Path) -> list[pathlib.Path]:
    """The sources of a unit: itself, or the files that CMake has joined in it."""
    if unit.parent.name != "Unity":
        return [unit]
    return [pathlib.Path(name) for name in re.findall(r'^#include "(.*)"$', unit.read_text(), re.M)]


def main() -> None:
    build, out = (pathlib.Path(word).resolve() for word in sys.argv[1:])
    source_root = pathlib.Path(__file__).resolve().parents[2] / "src"
    floors: dict[str, list[str]] = {}
    flags: dict[str, list[str]] = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        for source in sources_of(pathlib.Path(entry["file"])):
            if source_root not in source.parents:
                continue
            floor = source.relative_to(source_root).parts[0]
            floors.setdefault(floor, []).append(str(source))
            flags[floor] = flags_of(entry["command"], entry["file"])

    seen = {name for sources in floors.values() for name in sources}
    left_out = sorted(str(path) for path in source_root.rglob("*.cpp") if str(path) not in seen)
    if left_out:
        sys.exit(f"floors_as_units: {build} does not compile {', '.join(left_out)}")

    out.mkdir(parents=True, exist_ok=True)
    commands = []
    for floor, sources in sorted(floors.items()):
        unit = out / f"{floor}.cpp"
        # Last come those that affect the sources after them: by the macros of curses.h, by the `using namespace` of main.cpp.
        sources.sort(key=lambda name: (name.endswith("/main.cpp"), name.endswith("/curses_screen.cpp"), name))
        unit.write_text("".join(f'#include "{name}"\n' for name in sources))
        arguments = ["clang++", *flags[floor], "-c", str(unit)]
        commands.append({"directory": str(build), "file": str(unit), "arguments": arguments})
    (out / "compile_commands.json").write_text(json.dumps(commands, indent=1))


if __name__ == "__main__":
    main()
