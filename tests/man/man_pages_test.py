#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The man pages explain every command, option and key, and have no mistakes that man and mandoc know.

    man_pages_test.py BUILD
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import unittest

BUILD = pathlib.Path(sys.argv[1]).resolve()
PAGES = BUILD / "man/pages"
ENVIRONMENT = {**os.environ, "LC_ALL": "C.UTF-8", "MANWIDTH": "1000"}


def run(*command):
    return subprocess.run([str(word) for word in command], check=True, capture_output=True, text=True, env=ENVIRONMENT)


def text_of(page):
    """A page as it is shown, on long lines; of a reference, the page that it names."""
    source = (PAGES / page).read_text(encoding="ascii")
    if source.startswith(".so "):
        page = source.split("/")[1].strip()
    return re.sub(r".\x08", "", run("mandoc", "-T", "utf8", "-O", "width=1000", PAGES / page).stdout)


def pages():
    """The pages that are no references to others."""
    return [path for path in sorted(PAGES.iterdir()) if not path.read_text(encoding="ascii").startswith(".so ")]


def help_of(words):
    return run(BUILD / "ktracectl", "help", *words).stdout


def commands(words=()):
    """Every command of ktracectl, as its help lists them."""
    _, _, below = help_of(words).partition("\nSubcommands:\n")
    for name in re.findall(r"^  (\w+) ", below.partition("\n\n")[0], re.M):
        yield (*words, name)
        yield from commands((*words, name))


def section_of(page, heading, needed=True):
    """The text below a heading of the second level."""
    parts = re.split(rf"(?m)^   {heading}$", page)
    if len(parts) == 1 and not needed:
        return ""
    return re.split(r"(?m)^ {0,3}\S", parts[1])[0]


def options(help_text):
    return set(re.findall(r"^  (?:-\w,)?(--[a-z-]+)", help_text, re.M)) - {"--help"}


class ManPages(unittest.TestCase):
    def test_explain_every_command_and_option(self):
        every = list(commands())
        self.assertIn(("report", "sched"), every)
        self.assertIn(("help",), every)
        shown = {command: text_of(f"ktracectl-{command[0]}.1") for command in every if command != ("help",)}
        for command, text in shown.items():
            if "\nSubcommands:" not in help_of(command):
                heading = f"ktracectl {' '.join(command)}"
                self.assertRegex(text, rf"(?m)^   {heading}$")
                section = section_of(text, heading) + section_of(text, "Common options", needed=False)
            else:
                section = text
            for option in options(help_of(command)):
                self.assertRegex(section, rf"(?m)^ +(-\w, )?{option}( |$)", command)

    def test_say_once_what_options_of_several_reports_mean(self):
        source = (PAGES / "ktracectl-report.1").read_text(encoding="ascii")
        said = re.findall(r"^\.TP\n(\\fB\\-.*)\n((?:[^.\n].*\n)+)", source, re.M)
        self.assertIn(("\\fB\\-\\-csv\\fR", "Print one table as comma\\-separated values (not of html)\n"), said)
        self.assertEqual(len(said), len(set(said)))
        common = section_of(text_of("ktracectl-report.1"), "Common options")
        for option in ("--pid", "--where", "--live"):
            self.assertRegex(common, rf"(?m)^ +{option}( |$)")
            self.assertEqual(len(re.findall(rf"(?m)^ +{option}( |$)", text_of("ktracectl-report.1"))), 1)

    def test_explain_the_options_of_the_programs_themselves(self):
        for page, help_text in (("ktraced.8", run(BUILD / "ktraced", "--help").stdout), ("ktracectl.1", help_of(()))):
            self.assertGreater(len(options(help_text)), 2)
            for option in options(help_text):
                self.assertRegex(text_of(page), rf"(?m)^ +(-\w, )?{option}( |$)")

    def test_list_the_page_of_each_command(self):
        for (command,) in (words for words in commands() if len(words) == 1 and words != ("help",)):
            page, = re.findall(rf"(?m)^ +{command}\s+\S.*(ktracectl-\w+)\(1\)$", text_of("ktracectl.1"))
            self.assertIn(command, text_of(f"{page}.1"))

    def test_explain_every_key_of_the_configuration(self):
        schema = json.loads((BUILD / "configs/ktraced.schema.json").read_text(encoding="utf-8"))
        text, found = text_of("ktraced.json.5"), 0

        def check(path, value):
            nonlocal found
            for key, below in value.get("properties", {}).items():
                if key == "$schema":
                    continue
                found += 1
                if below.get("type") == "object":
                    check((*path, key), below)
                else:
                    self.assertRegex(text, rf"(?m)^ +{re.escape('.'.join((*path, key)))}( |$)")
        check((), schema)
        self.assertGreater(found, 40)

    def test_refer_only_to_pages_that_exist(self):
        known = {path.name for path in PAGES.iterdir()} | {"bpf.2", "sd_listen_fds.3", "systemd.socket.5"}
        for page in pages():
            for name, section in re.findall(r"([\w.-]+)\((\d)\)", text_of(page.name).partition("NAME")[2].rpartition("\n\n")[0]):
                self.assertIn(f"{name}.{section}", known, page.name)
        for path in set(PAGES.iterdir()) - set(pages()):
            self.assertTrue((PAGES / path.read_text(encoding="ascii").split("/")[1].strip()).exists(), path.name)

    def test_have_no_mistakes(self):
        for page in pages():
            self.assertNotIn("@", re.sub(r"\S+@\S+\.\S+", "", page.read_text(encoding="ascii")), page.name)
            lint = subprocess.run(["mandoc", "-T", "lint", page], check=False, capture_output=True, text=True)
            self.assertEqual(lint.stdout + lint.stderr, "", page.name)
            shown = run("man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z", page)
            self.assertEqual(shown.stderr, "", page.name)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
