#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Adds the event of docs/adding-an-event.md to a copy of the sources, with the snippets of that
document and nothing else.

    adding_an_event_test.py formats BUILD-DIRECTORY BPF-COMPILER…   shows it in every format, updates generated files
    adding_an_event_test.py live BUILD-DIRECTORY BPF-COMPILER…      records it, and runs its test (root)

BPF-COMPILER is the command of the BPF objects, without the source and "-o".
"""
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import textwrap
import time
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
GUIDE = SOURCE / "docs/adding-an-event.md"
# "…`FILE`…:", an empty line, and a fenced block, which may be indented as part of a list.
SNIPPET = re.compile(r"`([\w/.-]+\.(?:h|c|cpp))`[^\n`]*:\n\n( *)```(?:c|cpp)\n(.*?)\n\2```", re.S)
UPDATE = re.compile(r"`cmake --build build --target ([\w ]+)`")  # of what is generated
# The tests that compare it, and where it and they are.
COMPARING_TESTS = ("EventsDoc.DescribesTheEventsAsTheyAre", "ConfigSchema.IsWrittenFromTheRulesOfTheDaemon",
                   "ConfigSchema.IsAsStrictAsTheDaemon")
COMPARED = ("docs/events.md", "configs/ktraced.schema.json", "configs/ktraced.json", "tests/unit/daemon/config")
THREAD = 4711  # of sample_trace

if len(sys.argv) < 4 or sys.argv[1] not in ("formats", "live"):
    sys.exit(__doc__)
BUILD = pathlib.Path(sys.argv[2]).resolve()
BPF_COMPILER = sys.argv[3:]


def run(*command, **options):
    """The output of a command, which must succeed."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, **options)
    if done.returncode != 0:
        raise AssertionError(f"{shlex.join(map(str, command))} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


class Copy:
    """A copy of the sources with the event of the guide."""

    def __init__(self, directory):
        self.path = directory / "source"
        shutil.copytree(SOURCE / "bpf", self.path / "bpf")
        self.files = {}
        for file, indent, text in SNIPPET.findall(GUIDE.read_text()):
            self.apply(self.path / file, textwrap.dedent(indent + text))

    def apply(self, file, snippet):
        number = re.match(r"\s*EVENT_(\w+) = \d+", snippet)
        self.files.setdefault(file.relative_to(self.path).as_posix(), []).append(snippet)
        if number:
            self.event = number[1]
            self.add_number(file)
        elif file.name == "records.h":  # before the end of its include guard
            file.write_text(file.read_text().removesuffix("\n#endif\n") + "\n" + snippet + "\n\n#endif\n")
        elif file.exists():
            file.write_text(file.read_text() + "\n" + snippet + "\n")
        else:
            file.parent.mkdir(parents=True)
            file.write_text(snippet + "\n")

    def add_number(self, file):
        """Appends the event with the next number, whatever the guide's example says."""
        head, enum, rest = re.split(r"(enum event_id \{.*?\n)(?=\};)", file.read_text(), maxsplit=1, flags=re.S)
        last = max(map(int, re.findall(r" = (\d+),", enum)))
        file.write_text(f"{head}{enum}\tEVENT_{self.event} = {last + 1},\n{rest}")

    def build_object(self, to):
        run(*BPF_COMPILER, self.path / "bpf/ktraced.bpf.c", "-o", to)


class GuideTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.TemporaryDirectory(prefix="ktraced_guide_")
        cls.addClassCleanup(cls.directory.cleanup)
        cls.path = pathlib.Path(cls.directory.name)
        cls.copy = Copy(cls.path)
        cls.event = cls.copy.event
        cls.object = cls.path / "ktraced.bpf.o"
        cls.copy.build_object(cls.object)


class FormatsTest(GuideTest):
    """The event in all formats, by the programs of the build: none of them knows the event."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.trace = cls.path / "trace"
        run(BUILD / "sample_trace", cls.object, cls.event, cls.trace)
        schema = json.loads((cls.trace / "manifest.json").read_text())["schema"]
        cls.schema = next(event for event in schema["events"] if event["name"] == cls.event)

    def shown(self, form):
        return run(BUILD / "ktracectl", "show", "--format", form, self.trace)

    def test_the_guide_changes_three_files(self):
        self.assertEqual(len(self.copy.files), 3, self.copy.files.keys())
        self.assertEqual(len([file for file in self.copy.files if file.startswith("tests/live/")]), 1)

    def test_the_schema_says_how_to_show_it(self):
        for key in ("id", "group", "doc", "ftrace", "perfetto", "matched_by"):
            self.assertTrue(self.schema.get(key), key)

    def test_is_shown_as_json(self):
        line = json.loads(self.shown("json"))
        self.assertEqual((line["event"], line["tid"], line["comm"]), (self.event, THREAD, "worker"))
        self.assertLessEqual({field["name"] for field in self.schema["fields"]}, set(line["args"]))
        self.assertEqual(line["args"]["pid"], THREAD)

    def test_is_shown_as_the_kernel_does(self):
        text = self.shown("ftrace").splitlines()[-1]
        pattern = re.escape(self.schema["ftrace"])
        for field in self.schema["fields"]:
            pattern = re.sub(r"\\\{%s(:[^}]*)?\\\}" % field["name"], r"\\S+", pattern)
        self.assertRegex(text, f": {self.event}: {pattern}$")
        self.assertIn("comm=worker", text)

    def test_is_in_the_ctf_metadata(self):
        metadata = (self.trace / "ctf/metadata").read_text()
        declaration = metadata[metadata.index(f'name = "{self.event}"'):]
        for field in self.schema["fields"]:
            self.assertRegex(declaration[:declaration.index("\n};")], rf"\b_?{field['name']}\b")

    def test_is_exported_to_perfetto(self):
        file = self.path / "out.pftrace"
        run(BUILD / "ktracectl", "export", self.trace, "--to", "perfetto", "-o", file)
        with file.open("rb") as trace:
            decoded = run("protoc", "--decode_raw", stdin=trace)
        message = re.search(r"\b%d \{([^}]*)\}" % self.schema["perfetto"], decoded)
        self.assertIsNotNone(message, decoded)
        for field in self.schema["fields"]:
            self.assertRegex(message[1], r"\b%d: " % field["perfetto"])
            if "perfetto_comm" in field:
                self.assertRegex(message[1], r'\b%d: "worker"' % field["perfetto_comm"])


class GeneratedFilesTest(GuideTest):
    """The targets that the guide names, and the tests that compare what they write, by the programs of the build."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        for name in COMPARED:
            (cls.copy.path / name).parent.mkdir(parents=True, exist_ok=True)
            copy = shutil.copytree if (SOURCE / name).is_dir() else shutil.copy
            copy(SOURCE / name, cls.copy.path / name)

    def in_copy(self, command):
        """The command of the build, for the files of the copy."""
        command = command.replace(str(BUILD / "ktraced.bpf.o"), str(self.object))
        for name in COMPARED:
            command = command.replace(str(SOURCE / name), str(self.copy.path / name))
        return command

    def failing_tests(self):
        listed = run("ctest", "--test-dir", BUILD, "--show-only=json-v1", "-R", f"^({'|'.join(COMPARING_TESTS)})$")
        commands = {test["name"]: self.in_copy(shlex.join(test["command"])) for test in json.loads(listed)["tests"]}
        self.assertEqual(set(commands), set(COMPARING_TESTS))
        return {name for name, command in commands.items()
                if subprocess.run(command, shell=True, capture_output=True, cwd=self.path).returncode != 0}

    def test_are_up_to_date_after_the_targets_of_the_guide(self):
        self.assertEqual(self.failing_tests(), set(COMPARING_TESTS))
        for target in UPDATE.search(GUIDE.read_text())[1].split():
            command = run("ninja", "-C", BUILD, "-t", "commands", target).splitlines()[-1]
            run("sh", "-c", self.in_copy(command), cwd=BUILD)
        self.assertEqual(self.failing_tests(), set())
        self.assertIn(f"### {self.event}", (self.copy.path / "docs/events.md").read_text())


class Daemon:
    """A daemon of the changed build."""

    def __init__(self, program, directory):
        self.socket = directory / "control.sock"
        config = directory / "config.json"
        config.write_text(json.dumps({"events": {}, "flight": {"enabled": False}, "bpffs": f"/sys/fs/bpf/{directory.name}",
                                      "control": {"socket": str(self.socket)}}))
        self.process = subprocess.Popen([program, "--config", config])

    def __enter__(self):
        while self.process.poll() is None and not self.socket.exists():
            time.sleep(0.05)
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()

    def ctl(self, *words):
        return run(BUILD / "ktracectl", "--socket", self.socket, *words)


class LiveTest(GuideTest):
    """A daemon with the event, and its live test. Only what contains the BPF object is built again."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.daemon = cls.build_daemon()

    @staticmethod
    def compile_of(directory, source):
        """The command that compiles a source of the build, perhaps joined with others."""
        for entry in json.loads((BUILD / "compile_commands.json").read_text()):
            file = pathlib.Path(entry["file"])
            if directory not in entry["command"]:
                continue
            if file == SOURCE / source or "Unity" in file.parts and f'/{source}"' in file.read_text():
                words = shlex.split(entry["command"])
                return words[:words.index("-o")] + ["-c"], file
        raise AssertionError(f"the build compiles no {source}")

    @staticmethod
    def link(target, to, *objects):
        """Links a program of the build with more objects. They replace members of its libraries."""
        last = run("ninja", "-C", BUILD, "-t", "commands", target).splitlines()[-1]
        words = last.replace(f" -o {target} ", f" {shlex.join(map(str, objects))} -o {to} ")
        run("sh", "-c", words, cwd=BUILD)
        return to

    @classmethod
    def build_daemon(cls):
        generated = cls.path / "generated"
        generated.mkdir()
        (generated / "ktraced.skel.h").write_text(
            run(shutil.which("bpftool", path=os.environ["PATH"] + ":/usr/sbin:/sbin"), "gen", "skeleton", cls.object,
                "name", "ktraced_bpf"))
        command, source = cls.compile_of("ktraced_kernel.dir", "src/kernel/programs/bpf_loader.cpp")
        loader = cls.path / "bpf_loader.o"
        run(command[0], "-isystem", generated, *command[1:], source, "-o", loader, cwd=BUILD)
        return cls.link("ktraced", cls.path / "ktraced", loader)

    def test_is_listed(self):
        with Daemon(self.daemon, self.path) as daemon:
            listed = json.loads(daemon.ctl("--json", "events", "list", self.event))["events"]
            self.assertEqual([(event["name"], event["available"]) for event in listed], [(self.event, True)])
            self.assertIn(self.event, daemon.ctl("events", "list"))

    def test_its_live_test_passes(self):
        file = next(name for name in self.copy.files if name.startswith("tests/live/"))
        command, _ = self.compile_of("live_tests.dir", "tests/live/main.cpp")
        compiled = self.path / "test.o"
        run(*command, self.copy.path / file, "-o", compiled, cwd=BUILD)
        tests = self.link("live_tests", self.path / "live_tests", compiled)
        suite = re.search(r"TEST(?:_F)?\((\w+),", (self.copy.path / file).read_text())[1]
        (self.path / "ktracectl").symlink_to(BUILD / "ktracectl")
        output = run(tests, f"--gtest_filter={suite}.*", env=os.environ | {"KTRACED_TEST_PROGRAMS": str(self.path)})
        self.assertRegex(output, r"\[  PASSED  \] [1-9]")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1],
                  defaultTest={"formats": ["FormatsTest", "GeneratedFilesTest"], "live": ["LiveTest"]}[sys.argv[1]])
