# SPDX-License-Identifier: BSD-2-Clause
"""Reads what a program's --help prints, as CLI11 writes it."""
import dataclasses
import re
import subprocess

COLUMN = 30  # bytes before a description; CLI11 counts bytes too


@dataclasses.dataclass
class Entry:
    """A subcommand, an argument or an option."""
    term: str  # "-o,--output FILE (needed)"
    text: str


@dataclasses.dataclass
class Help:
    """The help of one command."""
    description: str
    usage: list  # words after the program: ["snapshot", "take", "[OPTIONS]", "[NAME]"]
    sections: dict  # title: entries, in the order of the help
    examples: list  # lines

    def entries(self, title):
        return self.sections.get(title, [])


def read_entries(lines):
    """The entries of a section: a term, then a description from COLUMN on, which may go on in further lines."""
    entries = []
    for line in (line.encode() for line in lines):
        head, rest = line[:COLUMN].decode(errors="ignore"), line[COLUMN:].decode(errors="ignore")
        if not head.strip() and entries:
            entries[-1].text = f"{entries[-1].text} {rest.strip()}".strip()
        elif len(line) > COLUMN and not line[COLUMN - 1:COLUMN].isspace():  # the term is longer than the column
            entries.append(Entry(line.decode().strip(), ""))
        else:
            entries.append(Entry(head.strip(), rest.strip()))
    for entry in entries:
        entry.term = re.sub(r",\s+(?=-)", ",", re.sub(r" Needs: .*", "", entry.term))
    return entries


def parse_help(text):
    """The parts of the text of a help. Raises ValueError if it has another form."""
    above, found, rest = text.partition("\nUsage: ")
    if not found:
        raise ValueError(f"no line 'Usage:' in {text[:80]!r}")
    usage, _, rest = rest.partition("\n")
    result = Help(" ".join(above.split()), usage.split()[1:], {}, [])
    title = None
    for line in rest.splitlines():
        if heading := re.fullmatch(r"(\w+):", line, re.I):
            title = heading[1].capitalize()
            result.sections.setdefault(title, [])
        elif title == "Examples":
            result.examples.append(line.removeprefix("  "))
        elif line.strip():
            result.sections[title].append(line)
    result.sections = {name: read_entries(lines) for name, lines in result.sections.items() if name != "Examples"}
    return result


class Program:
    """A program and its help, each command asked once."""

    def __init__(self, path, has_commands):
        self.path, self.has_commands, self.known = path, has_commands, {}

    def help(self, words=()):
        words = tuple(words)
        if words not in self.known:
            command = [self.path, *(["help", *words] if self.has_commands else ["--help"])]
            # Without the user's settings, which the help would show.
            output = subprocess.run(command, check=True, capture_output=True, text=True, env={"LC_ALL": "C.UTF-8"})
            self.known[words] = parse_help(output.stdout)
        return self.known[words]

    def below(self, words=()):
        """The subcommands of a command, each as a tuple of words."""
        return [(*words, entry.term) for entry in self.help(words).entries("Subcommands")]

    def leaves(self, words=()):
        """The commands below `words` that have no subcommands."""
        below = self.below(words)
        return [leaf for command in below for leaf in self.leaves(command)] if below else [tuple(words)]
