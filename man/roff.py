# SPDX-License-Identifier: BSD-2-Clause
"""Writes text as roff of the man(7) macros."""
import re
import textwrap


def escape(text):
    """Text that roff shows as it is."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    text = "".join(char if ord(char) < 128 else f"\\[u{ord(char):04X}]" for char in text)
    return "\\&" + text if text.startswith((".", "'")) else text


def bold(text):
    return f"\\fB{escape(text)}\\fR"


def italic(text):
    return f"\\fI{escape(text)}\\fR"


def term(text):
    """The term of an option: its names bold, its value italic, the rest as it is."""
    names, _, value = text.partition(" ")
    if not names.startswith("-"):
        return italic(text)
    shown = ", ".join(bold(name) for name in names.split(","))
    if match := re.match(r"[^ =(][^ =]*", value):
        shown += " " + italic(match[0]) + escape(value[match.end():])
    elif value:
        shown += " " + escape(value)
    return shown


def entries(items):
    """A tagged paragraph for each entry."""
    lines = []
    for item in items:
        lines += [".TP", term(item.term), escape(item.text)]
    return lines


def literal(lines):
    """Lines as they are, not filled, in a block of their own."""
    return [".RS 4", ".nf", *(escape(line) or "\\&" for line in lines), ".fi", ".RE"]


def usage(program, words):
    """A line of the synopsis: commands and options bold, other words italic."""
    shown = [bold(program)]
    for word in words:
        shown.append(bold(word) if re.fullmatch(r"[a-z][a-z-]*", word) else italic(word))
    return " ".join(shown)


def wrap(text):
    """The source of a page with its long lines wrapped, where that does not change what is shown."""
    lines, is_literal, before = [], False, ""
    for line in text.splitlines():
        is_literal = line == ".nf" or (is_literal and line != ".fi")
        if is_literal or line.startswith(".") or before == ".TP":  # a tag is one line
            lines.append(line)
        else:
            lines += textwrap.wrap(line, 80, break_long_words=False, break_on_hyphens=False)
        before = line
    return "\n".join("\\&" + line if line.startswith("'") else line for line in lines) + "\n"
