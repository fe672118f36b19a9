#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Makes the man pages of this folder: prose from NAME.SECTION.in, the rest from the programs and the configuration.

    man_pages.py --ktraced PATH --ktracectl PATH --configs DIRECTORY --version VERSION --date DATE OUTPUT

In a page, these stand on a line of their own, WORDS being a command:

    @synopsis WORDS@   how each command below WORDS is called
    @commands WORDS@   these commands with their arguments and options; those that most of them have, once
    @options WORDS@    arguments and options of one command
    @list@             the commands of ktracectl, with the page of each
    @examples WORDS@   the examples of a command and of those below it; with -, those of the program alone
    @keys@, @default@  the keys of the configuration, and its default

The command of a page named ktracectl-A(1) is A. A page that explains other commands too has a line
'.\\" also: B C'; pages of these names refer to it.
"""
import argparse
import collections
import json
import pathlib
import re
import sys

sys.dont_write_bytecode = True  # nothing in the sources
sys.path.insert(0, str(pathlib.Path(__file__).parent))
import config_page  # noqa: E402
import program_help  # noqa: E402
import roff  # noqa: E402

HERE = pathlib.Path(__file__).parent
COMMON = "Common options"  # heading of those that half of the commands of a page or more have
ALSO = re.compile(r'^\.\\" also: (.*)\n', re.M)


def is_help(entry):
    return entry.term.startswith("-h")


def options_of_most(leaves):
    """The options that half of the commands or more have with the same text, in the order of their helps; for each, the commands that
    lack it, also with another text."""
    options = {leaf: [(entry.term, entry.text) for entry in found.entries("Options") if not is_help(entry)]
               for leaf, found in leaves.items()}
    counts = collections.Counter(option for each in options.values() for option in each)
    return {(term, text): [leaf for leaf, each in options.items() if term not in dict(each)]
            for (term, text), count in counts.items() if count > 2 and 2 * count >= len(leaves)}


class Pages:
    """The pages with what is generated in them."""

    def __init__(self, arguments):
        self.programs = {"ktraced": program_help.Program(arguments.ktraced, False),
                         "ktracectl": program_help.Program(arguments.ktracectl, True)}
        self.configs = pathlib.Path(arguments.configs)
        self.head = {"version": arguments.version, "date": arguments.date}
        self.templates = {path.name.removesuffix(".in"): path.read_text(encoding="utf-8")
                          for path in sorted(HERE.glob("*.in"))}

    def explained(self, page):
        """The commands that a page explains."""
        match = re.fullmatch(r"ktracectl-(\w+)\.1", page)
        also = ALSO.search(self.templates[page])
        return [match[1], *(also[1].split() if also else [])] if match else []

    def page_of(self, command):
        return next((page for page in self.templates if command in self.explained(page)), None)

    def synopsis(self, program, words):
        if program.path == self.programs["ktraced"].path:
            return ["\\fBktraced\\fR \\fI[OPTIONS]\\fR"]
        calls = [program.help(leaf).usage for leaf in program.leaves(words)]
        return [line for call in calls for line in (roff.usage("ktracectl", call), ".br")][:-1]

    def options(self, program, words):
        found = program.help(words)
        return roff.entries(found.entries("Positionals") + found.entries("Options"))

    def commands(self, program, words):
        lines = []
        own = program.help(words)
        if program.below(words):
            lines += roff.entries([entry for entry in own.entries("Options") if not is_help(entry)])
        leaves = {leaf: program.help(leaf) for leaf in program.leaves(words)}
        common = options_of_most(leaves)
        for leaf, found in leaves.items():
            lines += [f".SS {roff.escape(' '.join(('ktracectl', *leaf)))}", roff.escape(found.description + ".")]
            shown = found.entries("Positionals") + found.entries("Options")
            lines += roff.entries([entry for entry in shown if not is_help(entry) and (entry.term, entry.text) not in common])
        if common:
            lines.append(f".SS {COMMON}")
            for (term, text), lacking in common.items():
                names = ", ".join(" ".join(leaf[len(words):]) for leaf in lacking)
                lines += roff.entries([program_help.Entry(term, f"{text} (not of {names})" if names else text)])
        return lines

    def list(self, program, _words):
        lines = []
        for (command,) in program.below():
            page = self.page_of(command)
            where = [f".BR {roff.escape(page[:-2])} (1)"] if page else []
            lines += [".TP", roff.bold(command), roff.escape(program.help((command,)).description) + (":" if page else ""),
                      *where]
        return lines

    def examples(self, program, words):
        if words == ("-",):  # not of the commands below
            return roff.literal(program.help().examples)
        lines = list(program.help(words).examples)
        for leaf in program.leaves(words):
            lines += [line for line in program.help(leaf).examples if line not in lines]
        return roff.literal(lines)

    def keys(self, _program, _words):
        return config_page.keys(json.loads((self.configs / "ktraced.schema.json").read_text(encoding="utf-8")))

    def default(self, _program, _words):
        return roff.literal((self.configs / "ktraced.json").read_text(encoding="utf-8").splitlines())

    def expand(self, page):
        """The text of a page."""
        program = self.programs["ktraced" if page.startswith("ktraced.8") else "ktracectl"]

        def generated(match):
            kind, *words = match[1].split()
            return "\n".join(getattr(self, kind)(program, tuple(words)))

        text = ALSO.sub("", self.templates[page])
        for name, value in self.head.items():
            text = text.replace(f"@{name}@", value)
        return roff.wrap(re.sub(r"^@([a-z -]+)@$", generated, text, flags=re.M))

    def write(self, output):
        for page in self.templates:
            (output / page).write_text(self.expand(page), encoding="ascii")
            for command in self.explained(page)[1:]:
                (output / f"ktracectl-{command}.1").write_text(f".so man1/{page}\n", encoding="ascii")


def main():
    parser = argparse.ArgumentParser()
    for option in ("ktraced", "ktracectl", "configs", "version", "date"):
        parser.add_argument(f"--{option}", required=True)
    parser.add_argument("output", type=pathlib.Path)
    arguments = parser.parse_args()
    arguments.output.mkdir(parents=True, exist_ok=True)
    for old in arguments.output.glob("*.[1-8]"):
        old.unlink()
    Pages(arguments).write(arguments.output)


if __name__ == "__main__":
    main()
