#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The completions of bash, zsh and fish, with a daemon that a thread plays.

    shells_test.py BUILD
"""
import json
import os
import pathlib
import socketserver
import subprocess
import sys
import tempfile
import threading
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(sys.argv[1]).resolve()
SCRIPTS = SOURCE / "configs/completion"
WAITS = "nanosleep,clock_nanosleep,poll,ppoll,select,pselect6,epoll_wait,epoll_pwait"
ANSWERS = {
    "version": {"protocol": int((SOURCE / "src/trace/packet/protocol_version.h").read_text().split("kProtocolVersion = ")[1].split(";")[0]),
                "version": "test"},
    "snapshot.list": {"snapshots": [{"name": "slow-request", "reason": "latency: high"}, {"name": "slower"},
                                    {"name": "two words; $(touch run)"}]},
    "events.list": {"events": [{"name": "kmalloc", "group": "kmem", "doc": "memory"},
                               {"name": "irq:softirq_entry", "group": "irq"}]},
}

# The words of a line, split as readline does it, then the function.
BASH = r"""
. "$1"
COMP_LINE=$2 COMP_POINT=${#2}
mapfile -t COMP_WORDS <"$3"
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
_ktracectl
((${#COMPREPLY[@]} == 0)) || printf '%s\n' "${COMPREPLY[@]}"
"""
# Completion functions add to lists of zsh's own: these print instead.
ZSH = r"""
_describe() { print -l -- "${(@P)4}" }
_files() { print ":files $*" }
_command_names() { print ":programs" }
words=("${(@f)$(<$2)}")
words=("${(@)words:#}")
[[ $3 == '' ]] && words+=('')
CURRENT=$#words PREFIX=$3
. "$1"
"""


class Daemon(socketserver.StreamRequestHandler):
    def handle(self):
        for line in self.rfile:
            request = json.loads(line)
            answer = {"jsonrpc": "2.0", "id": request["id"], "result": ANSWERS.get(request["method"], {})}
            self.wfile.write(json.dumps(answer).encode() + b"\n")


class Shells(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.directory = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        (cls.directory / "traces").mkdir()
        for name in ("archive.tar.zst", "archive.tar", "archive.zip", "archive.tar.gz"):
            (cls.directory / name).touch()
        socket = str(cls.directory / "socket")
        server = socketserver.ThreadingUnixStreamServer(socket, Daemon)
        server.daemon_threads = True
        cls.addClassCleanup(server.server_close)
        cls.addClassCleanup(server.shutdown)
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        cls.environment = {"PATH": f"{BUILD}:{os.environ['PATH']}", "KTRACED_SOCKET": socket, "LC_ALL": "C.UTF-8",
                           "HOME": str(cls.directory), "TERM": "dumb"}

    def run_shell(self, *command, **environment):
        done = subprocess.run([str(word) for word in command], check=True, capture_output=True, text=True, cwd=self.directory,
                              env={**self.environment, **environment}, timeout=100)
        self.assertEqual(done.stderr, "")
        return done.stdout.splitlines()

    def bash(self, line, *words):
        """What is put in the place of the last one of the words, as readline splits the line."""
        file = self.directory / "words"
        file.write_text("\n".join(words) + "\n")
        return sorted(self.run_shell("bash", "-c", BASH, "bash", SCRIPTS / "ktracectl.bash", line, file))

    def zsh(self, *words):
        file = self.directory / "words"
        file.write_text("\n".join(words) + "\n")
        return self.run_shell("zsh", "-f", "-c", ZSH, "zsh", SCRIPTS / "ktracectl.zsh", file, words[-1])

    def fish(self, line):
        return sorted(self.run_shell("fish", "--no-config", "-c",
                                     f"source {SCRIPTS}/ktracectl.fish; complete -C '{line}'"))

    def test_have_no_mistakes_of_syntax(self):
        for shell in ("bash", "zsh", "fish"):
            self.run_shell(shell, "-n", SCRIPTS / f"ktracectl.{shell}")

    def test_bash_completes_commands_and_names(self):
        self.assertEqual(self.bash("ktracectl sna", "ktracectl", "sna"), ["snapshot"])
        self.assertEqual(self.bash("ktracectl snapshot keep slow", "ktracectl", "snapshot", "keep", "slow"), ["slow-request", "slower"])
        self.assertEqual(self.bash("ktracectl show t", "ktracectl", "show", "t"), ["traces", "two words; $(touch run)"])
        self.assertEqual(self.bash("ktracectl show arch", "ktracectl", "show", "arch"), ["archive.tar", "archive.tar.zst"])
        self.assertEqual(self.bash("ktracectl record -o t", "ktracectl", "record", "-o", "t"), ["traces"])
        self.assertIn("bash", self.bash("ktracectl record -o d -- bas", "ktracectl", "record", "-o", "d", "--", "bas"))

    def test_bash_quotes_names_for_the_shell(self):
        name, = self.bash("ktracectl snapshot keep t", "ktracectl", "snapshot", "keep", "t")
        self.assertEqual(self.run_shell("bash", "-c", f"printf '%s\\n' {name}"), ["two words; $(touch run)"])
        self.assertFalse((self.directory / "run").exists())

    def test_bash_completes_words_that_readline_splits(self):
        self.assertEqual(self.bash("ktracectl stream --event=km", "ktracectl", "stream", "--event", "=", "km"),
                         ["kmalloc", "kmem"])
        self.assertEqual(self.bash("ktracectl events enable irq:s", "ktracectl", "events", "enable", "irq", ":", "s"),
                         ["softirq_entry"])
        self.assertEqual(self.bash("ktracectl filter set syscall=read,openat2", "ktracectl", "filter", "set", "syscall", "=",
                                   "read,openat2"), ["read,openat2"])

    def test_zsh_completes_commands_and_names(self):
        self.assertEqual(self.zsh("ktracectl", "sna"), ["snapshot:Save what the flight recorder holds"])
        self.assertEqual(self.zsh("ktracectl", "snapshot", "keep", "slow"), ["slow-request:latency: high", "slower:"])
        self.assertEqual(self.zsh("ktracectl", "events", "enable", "irq:"), ["irq\\:softirq_entry:"])
        self.assertEqual(self.zsh("ktracectl", "show", "u"), [":files -g *.tar(|.zst)"])
        self.assertEqual(self.zsh("ktracectl", "filter", "set", "fol"), ["follow=:"])

    def test_fish_completes_commands_and_names(self):
        self.assertEqual(self.fish("ktracectl snaps"), ["snapshot\tSave what the flight recorder holds"])
        self.assertEqual(self.fish("ktracectl snapshot keep slow"), ["slow-request\tlatency: high", "slower"])
        self.assertEqual(self.fish("ktracectl show tr"), ["traces/\tDirectory"])
        self.assertEqual([line.split("\t")[0] for line in self.fish("ktracectl show arch")], ["archive.tar", "archive.tar.zst"])
        self.assertEqual(self.fish("ktracectl stream --event=kma"), ["--event=kmalloc\tmemory"])

    def test_are_silent_without_a_daemon_and_do_not_wait_for_one(self):
        calls = self.directory / "calls"
        answer = self.run_shell("strace", "-qq", "-o", calls, "-e", f"trace=connect,{WAITS}", "ktracectl", "complete", "--",
                                "snapshot", "keep", "", KTRACED_SOCKET="/nowhere", ASAN_OPTIONS="detect_leaks=0")
        self.assertEqual(answer, [])
        self.assertRegex(calls.read_text(), r'\Aconnect\([^\n]*"/nowhere"[^\n]*ENOENT[^\n]*\n\Z')


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
