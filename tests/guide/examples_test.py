#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Every example of a document works and prints what is shown, with a daemon that has the configuration as installed.

    examples_test.py DOCUMENT BUILD-DIRECTORY     root

An example is a line "$ command" of a ```-block, with its output below. All are run in their order. Each line shown must
be printed, in any order, with its words; numbers, times and ids may differ unless they are FIXED, and there may be more
columns. A line that begins with "…" stands for any lines, a "…" further on for the rest of the line. Of events (JSON,
ftrace's text) only the forms that are shown may be printed, and as many as --count says.
"""
import itertools
import json
import os
import pathlib
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
DOCUMENTS = ("README.md", "docs/usage.md", "docs/questions.md")
TIMEOUT = 100  # seconds: a machine under load takes its time
REPEATED = 150  # seconds from the start of the test in which examples are repeated; ctest ends it later
CONTAINER = "docker-3f2a9c5d7b10f8e4c6a1b2d3e4f5061728394a5b6c7d8e9f0a1b2c3d4e5f6071.scope"

# Another configuration, with stream.output, for the examples of that: small traces of one program, of which none is removed.
OUTPUT_ON = r'''mkdir output && cp $(command -v dd) bin/many_calls
printf '{\n  "stream": {"output": {"directory": "%s", "max_file_mb": 1, "max_files": 64}},\n  "persist": false\n}\n' $PWD/output >ktraced.json
echo '{"stream": {"output": {"events": {"syscalls": true}, "filter": {"comm": ["many_calls"]}}}}' >ktraced.conf.d/output.json
ktracectl reload'''
OUTPUT_OFF = "cp $INSTALLED ktraced.json && rm ktraced.conf.d/output.json && ktracectl reload"
# `ktracectl top` on a terminal, until it has measured what tracing costs.
TOP = ("t='env -u TMUX -u NO_COLOR LC_ALL=C.UTF-8 tmux -S tmux -f /dev/null'; "
       "$t new-session -d -x 100 -y 24 'timeout --foreground 60 ktracectl top'; "
       "until $t capture-pane -p | grep 'of a CPU' >&2; do sleep 0.1; done; $t capture-pane -p; $t kill-server")
# Shell commands that run before an example.
BEFORE = {
    "ktracectl status": "until ktracectl session list | grep -q client-2; do sleep 0.1; done",
    "ktracectl snapshot take slow-request --reason 'latency alert'": "ktracectl snapshot take before-restart",
    "ktracectl snapshot take alert --reason 'latency alert'": "until [ $(wc -l <killed) -ge 3 ]; do sleep 0.1; done",
    "ktraced --config bad.json --check-config": r'''printf '{\n"flihgt": {}}' >bad.json''',
    "grep output /etc/ktraced/ktraced.json": OUTPUT_ON,
    # Until a trace is being written, beside three finished ones or more, and nothing is left in the rings.
    "ktracectl status | grep recording":
        "until many_calls if=/dev/zero of=/dev/null bs=1 count=2000 2>/dev/null; "
        "until s=$(ktracectl status | grep 'recording to'); sleep 0.2; "
        "[ \"$s\" = \"$(ktracectl status | grep 'recording to')\" ]; do :; done; "
        "echo \"$s\" | grep -Eq ': stream-[0-9-]*, .* ([4-9]|[1-9][0-9]) of 64 traces'; do :; done",
    "ktracectl events": OUTPUT_OFF,
}
EXIT_CODES = {"ktraced --config bad.json --check-config": 78}
# Texts with figures that the example or the default configuration determines.
FIXED = {
    "ktracectl stream --comm cat --event sys_exit --error ENOENT --format json --count 1":
        ['"comm":"cat"', '"event":"sys_exit"', '"ret":-2,"error":"ENOENT"'],
    "ktracectl show slow-request --event sched_process_exec --format json --count 1": ['"event":"sched_process_exec"'],
    "ktracectl status": [" 2 x 4 MiB ", ": on, 32.16 MiB, ", "client-1 ", "client-2 ", "(uid 0)"],
    "ktracectl filter show": ["follow=4711", "exclude.uid=0"],
    "ktraced --config bad.json --check-config": ["bad.json:2: "],
    "ktracectl show alert --comm worker --last 2s --format process --time wall --names":
        ["signal SIGKILL errno 0 code SI_USER", "signal SIGCHLD errno 0 code CLD_EXITED"],
    "ktracectl report processes alert --last 2s --by start --top all": [" exit 1 "],
    "ktracectl report processes alert --cgroup 3f2a9c5d7b10 --tree --top 3": [" exit 1 "],
    "ktracectl snapshot list --verbose": ["(uid 0)"],
}
OF_TWO_CPUS = {" 2 x 4 MiB ", ": on, 32.16 MiB, "}
# Tables whose rows depend on the machine: only their headings are as shown.
OTHER_ROWS = {"ktracectl report kmem --live --event kmem --by held --duration 2s --top 3",
              "ktracectl report wakeups worker alert --top 3"}
# In commands: what stands for an endless stream, for a part of the history or of a table, which may lack the rows shown
# when other programs are busy, for a long time, and for the processes 812 and 4711.
HERE = [(r"\bstream --event (kmalloc|sys_enter)", r"stream --count 1 --event \1"), (r"--last 2s", "--last 60s"),
        (r"--top \d+", "--top all"), (r"\bLIMIT 3\b", ""), (r"\b10s\b", "1s"), (r"\b(812|4711)\b", "$(cat nginx.pid)"),
        (r"^ktracectl top$", TOP), (r"/etc/ktraced/ktraced\.json", "ktraced.json"), (r"/var/log/ktraced", "output")]

# What runs beside the daemon. The loops live until the test ends them.
SCRIPTS = {
    "nginx": "echo $$ >nginx.pid; while :; do echo | cat /nonexistent/file; sleep 0.1; done",
    "make": ":",
    # A service in a container, whose worker waits for somebody who reads its queue.
    "web": "echo $$ >$GROUP/cgroup.procs; while :; do worker & wait $!; done",
    "worker": "echo $$ >worker.pid; while :; do cat /etc/web/site.conf; echo job >$PWD/queue; done",
    # Many short children, and then it kills the worker, which has written its number before it opened the queue.
    "backup": "while :; do for i in 1 2 3 4; do head -c 1000000 /dev/zero | gzip >/dev/null; done; sleep 0.1; "
              "cat queue; kill -KILL $(cat worker.pid) && echo >>killed; done",
}
BESIDE = {
    "README.md": ["nginx"],
    "docs/usage.md": ["nginx", "ktracectl record -o followed --all -- sleep 1000", "ktracectl stream --comm nginx"],
    "docs/questions.md": ["web", "backup"],
}

NUMBER = re.compile(r"[-+<>]? ?\b\d(?:[\w.,:/+-]*\w)?(?: (?:ns|us|ms|s|min|h|bytes|KiB|MiB|GiB|%)(?!\w))?")
EVENT = re.compile(r" *\S.*-\d+ +\[\d+\] \S+ +\d+\.\d+: (.*)")


def examples_of(document):
    """Pairs of a command and the lines below it. A command goes on while a quote is open."""
    examples = []
    for block in re.findall(r"^```\n(.*?)^```", (SOURCE / document).read_text(), re.M | re.S):
        found = []
        for line in block.splitlines():
            if found and not is_whole(found[-1][0]):
                found[-1][0] += "\n" + line
            elif line.startswith("$ "):
                found.append([line[2:], []])
            elif found:
                found[-1][1].append(line)
        examples += found
    return [(re.sub(r" +# .*", "", command), shown) for command, shown in examples]


def count_of(command):
    """How many events it prints; None if it does not say."""
    count = re.search(r"--count (\d+)", command)
    return int(count[1]) if count else None


def events_in(lines):
    return [line for line in lines if event_form(line)]


def is_whole(command):
    try:
        shlex.split(command, comments=True)
    except ValueError:
        return False
    return True


def json_keys(value, prefix=""):
    """Without names of other tasks and contexts, which may be unknown."""
    return [prefix + name for key in value if key != "context" and not key.endswith("_comm")
            for name in (json_keys(value[key], key + ".") if isinstance(value[key], dict) else [key])]


def event_form(line):
    """What an event has in common with others of its kind; None if the line is no event, "" if it is a loss."""
    if line.startswith("{"):
        try:
            event = json.loads(line)
        except ValueError:  # a row of a table; names of tasks can begin like this
            return None
        return "" if "lost" in event else " ".join(json_keys(event))
    if match := EVENT.fullmatch(line):
        return re.sub(r"-?\b[0-9a-f]+\b", "N", re.sub(r"=\S*", "=", re.sub(r" argv=.*", " argv=", match[1])))
    return None


def cells(line):
    """The cells of a line with N for numbers."""
    line = re.sub(r"\bincomplete: .*", "complete", line)  # others may have overwritten names
    return ["N" if cell in ("?", "-", "before") else NUMBER.sub("N", cell).strip()
            for cell in re.split(" {2,}", line.strip())]


def is_printed(shown, lines):
    """Whether one of the lines, as cells, has the cells of `shown`, in their order."""
    expected = cells(shown)

    def agrees(cell, other):
        return other.startswith(cell.split("…")[0].rstrip()) if "…" in cell else cell == other

    def has_all(line):
        rest = iter(line)
        return all(any(agrees(cell, other) for other in rest) for cell in expected)
    return any(has_all(line) for line in lines)


def is_heading(line):
    return len(cells(line)) > 1 and not any(map(str.islower, line)) and not cells(line)[0].startswith("N")


def differences(command, shown, printed):
    """The lines that are shown and not printed, and events of forms that are not shown."""
    anything = any(line.startswith("…") for line in shown)
    shown = [line for line in shown if line and not line.startswith("…")]
    if anything and not shown:
        return [] if any(printed) else ["(no output)"]
    forms = {event_form(line) for line in shown} - {None}
    if forms:
        printed_forms = [event_form(line) for line in printed]
        found = [line for line, form in zip(printed, printed_forms) if form and form not in forms]
        return found or ([] if any(printed_forms) else ["(no event)"])
    lines = list(map(cells, printed))
    if command in OTHER_ROWS:
        shown = list(filter(is_heading, shown))
        lines = [line for line, row in itertools.pairwise(lines) if row != [""]]  # a heading of nothing is none
    return [line for line in shown if not is_printed(line, lines)]


class Tables(unittest.TestCase):
    def test_name_examples(self):
        commands = {command for document in DOCUMENTS for command, _ in examples_of(document)}
        self.assertLessEqual({*BEFORE, *EXIT_CODES, *FIXED, *OTHER_ROWS}, commands)

    def test_have_fixed_texts_that_are_shown(self):
        examples = [example for document in DOCUMENTS for example in examples_of(document)]
        for command, shown in examples:
            for text in FIXED.get(command, ()):
                self.assertIn(text, "\n".join(shown), command)
            if count_of(command):
                self.assertEqual(len(events_in(shown)), count_of(command), command)

    def test_have_thirteen_questions_of_at_most_two_commands(self):
        parts = re.split(r"^## (\d+)\. .*\?$", (SOURCE / "docs/questions.md").read_text(), flags=re.M)
        self.assertEqual(list(map(int, parts[1::2])), list(range(1, 14)))
        for number, text in zip(parts[1::2], parts[2::2]):
            self.assertIn(len(re.findall(r"^\$ ", text, re.M)), (1, 2), number)
            self.assertNotIn("\n## ", text, number)


class Differences(unittest.TestCase):
    def test_are_words_and_lines_that_are_missing(self):
        shown = ["PID  PROCESS  END", "812  worker   SIGKILL by backup 4", "…"]
        heading, row = "PID  PROCESS  CGROUP  END", "7  worker  /  SIGKILL by backup 12345"
        self.assertEqual(differences("", shown, [heading, row]), [])
        self.assertEqual(differences("", shown, [heading, row.replace("KILL", "TERM")]), shown[1:2])
        self.assertEqual(differences("", shown, [row]), shown[:1])

    def test_are_any_output_that_is_missing(self):
        self.assertEqual(differences("", ["…"], ["1234"]), [])
        self.assertEqual(differences("", ["…"], [""]), ["(no output)"])
        self.assertEqual(differences("", [], []), [])

    def test_are_events_of_other_forms(self):
        shown = ['{"ts":1,"event":"sys_exit","args":{"nr":21}}']
        same, loss = '{"ts":2,"context":"task","event":"sys_exit","args":{"nr":3}}', '{"ts":3,"lost":4}'
        other = '{"ts":2,"event":"sys_enter","args":{"nr":3,"args":[]}}'
        self.assertEqual(differences("", shown, [same, loss]), [])
        self.assertEqual(differences("", shown, [same, other]), [other])
        self.assertEqual(differences("", shown, [loss]), ["(no event)"])

    def test_are_no_rows_of_tasks_with_such_names(self):
        self.assertEqual(differences("", ["HELD  PROCESS", "…"], ["HELD  PROCESS", '{"comm":1} 12  3 KiB']), [])

    def test_are_no_other_contexts_of_events(self):
        shown = ["             cat-15407   [000] .....  2061.345588: sys_exit: NR 59 = 0"]
        for flags in (".....", "..s..", "..h.."):
            printed = [f"            head-7       [001] {flags}   123.456789: sys_exit: NR 0 = -2"]
            self.assertEqual(differences("", shown, printed), [])
        self.assertEqual(differences("", shown, [printed[0].replace("sys_exit", "sys_enter")]),
                         [printed[0].replace("sys_exit", "sys_enter")])


class Examples(unittest.TestCase):
    def setUp(self):
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="ktraced-examples-"))
        self.addCleanup(shutil.rmtree, self.directory)
        self.pins = pathlib.Path("/sys/fs/bpf", self.directory.name)
        self.addCleanup(shutil.rmtree, self.pins, ignore_errors=True)
        self.group = self.new_group()
        programs = pathlib.Path(os.environ.get("KTRACED_TEST_PROGRAMS", BUILD)).resolve()
        self.environment = {**os.environ, "KTRACED_SOCKET": f"{self.directory}/control.sock", "GROUP": str(self.group),
                            "INSTALLED": f"{SOURCE}/configs/ktraced.json",
                            "PATH": f"{self.directory}/bin:{programs}:{os.environ['PATH']}"}
        (self.directory / "bin").mkdir()
        for name, text in SCRIPTS.items():
            (self.directory / "bin" / name).write_text(f"#!/bin/sh\n{text}\n")
            (self.directory / "bin" / name).chmod(0o755)
        os.mkfifo(self.directory / "queue")
        (self.directory / "killed").touch()
        self.start_daemon()

    def new_group(self):
        """The control group of a container."""
        mounts = [line.split() for line in pathlib.Path("/proc/self/mounts").read_text().splitlines()]
        parent = next(pathlib.Path(words[1]) for words in mounts if words[2] == "cgroup2") / self.directory.name
        for group in (parent, parent / CONTAINER):
            group.mkdir()
            self.addCleanup(self.eventually, lambda group=group: self.remove(group))
        return parent / CONTAINER

    @staticmethod
    def remove(group):
        try:
            group.rmdir()
        except OSError:  # its processes have not ended yet
            return False
        return True

    def eventually(self, condition):
        end = time.monotonic() + TIMEOUT
        while not condition():
            self.assertLess(time.monotonic(), end)
            time.sleep(0.05)

    def start_daemon(self):
        """As installed, but in the directories of the test."""
        shutil.copy(SOURCE / "configs/ktraced.json", self.directory)
        (self.directory / "ktraced.conf.d").mkdir()
        (self.directory / "ktraced.conf.d/test.json").write_text(json.dumps(
            {"control": {"socket": self.environment["KTRACED_SOCKET"]}, "bpffs": str(self.pins),
             "flight": {"directory": f"{self.directory}/snapshots"}}))
        daemon = self.start("exec ktraced --config ktraced.json 2>log")
        self.eventually(lambda: self.run_shell("ktracectl status").returncode == 0 or daemon.poll() is not None)
        self.assertIsNone(daemon.poll(), (self.directory / "log").read_text())

    def start(self, command):
        """A shell command that runs until the test ends."""
        process = subprocess.Popen(["sh", "-c", command], cwd=self.directory, env=self.environment,
                                   start_new_session=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)

        def end():
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        self.addCleanup(end)
        return process

    def run_shell(self, command):
        return subprocess.run(["sh", "-c", command], cwd=self.directory, env=self.environment, timeout=TIMEOUT,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace")

    def lines_of(self, text):
        return (text.replace(f"{self.directory}/snapshots", "/var/lib/ktraced/snapshots")
                .replace(f"{self.directory}/output", "/var/log/ktraced").replace(str(self.directory), "/srv/web")
                .splitlines())

    def missing_figures(self, command, printed):
        """The FIXED texts that are not printed, and the number of events if it is another one."""
        texts = [text for text in FIXED.get(command, ()) if text not in OF_TWO_CPUS or os.cpu_count() == 2]
        missing = [text for text in texts if self.with_pids(text) not in "\n".join(printed)]
        count = len(events_in(printed))
        return missing + ([f"{count} events"] if count_of(command) not in (None, count) else [])

    def with_pids(self, text):
        """With the process that stands for the one that is shown."""
        return re.sub(r"\b(812|4711)\b", lambda _: (self.directory / "nginx.pid").read_text().strip(), text)

    def check(self, command, shown):
        if command in BEFORE:
            self.assertEqual(self.run_shell(BEFORE[command]).returncode, 0)
        here = command
        for pattern, text in HERE:
            here = re.sub(pattern, text, here)
        while True:
            if made := re.search(r"record -o (\w+)", command):
                shutil.rmtree(self.directory / made[1], ignore_errors=True)
            done = self.run_shell(here)
            if "built without the HTML report" in done.stderr:
                return
            self.assertEqual(done.returncode, EXIT_CODES.get(command, 0), done.stderr)
            printed = self.lines_of(done.stdout + done.stderr)
            missing = differences(command, shown, printed) + self.missing_figures(command, printed)
            # The events may come later on a loaded machine.
            if not missing or "--duration" not in command or time.monotonic() > self.repeated_until:
                break
        self.assertEqual(missing, [], f"\n{done.stdout[:20000]}\n{done.stderr}")
        self.assertNotRegex(done.stderr, "not traced: |no event is selected")

    def test_work_as_printed(self):
        self.repeated_until = time.monotonic() + REPEATED
        for command in BESIDE[DOCUMENT]:
            self.start(f"{command}; :")  # a child of the shell
        for command, shown in examples_of(DOCUMENT):
            with self.subTest(command):
                self.check(command, shown)


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] not in DOCUMENTS:
        sys.exit(__doc__)
    DOCUMENT = sys.argv[1]
    BUILD = pathlib.Path(sys.argv[2]).resolve()
    unittest.main(argv=sys.argv[:1], verbosity=2)
