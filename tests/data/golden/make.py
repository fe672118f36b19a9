#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Makes a small trace that has every event: see README.md beside it.

    make.py DIRECTORY-OF-PROGRAMS OUTPUT-DIRECTORY

To be run as root, on a machine that nobody else uses: names of its tasks end up in the trace.
"""
import itertools
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time

programs, output = sys.argv[1:]
SOCKET = "/tmp/golden.sock"
CGROUP = "/sys/fs/cgroup/golden"
CONFIG = {"events": {}, "flight": {"enabled": False}, "control": {"socket": SOCKET}}


def eventually(done):
    while not done():
        time.sleep(0.05)


class Daemon:
    """A connection to its control socket."""

    def __init__(self):
        self.ids = itertools.count(1)
        self.connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.connection.connect(SOCKET)

    def call(self, method, **params):
        request = {"jsonrpc": "2.0", "id": next(self.ids), "method": method, "params": params}
        self.connection.sendall(json.dumps(request).encode() + b"\n")
        answer = b""
        while not answer.endswith(b"\n"):
            answer += self.connection.recv(1 << 20)
        return json.loads(answer)["result"]


class Enabled:
    """Events that are recorded only while something is done."""

    def __init__(self, daemon, *names):
        self.daemon, self.names = daemon, list(names)

    def __enter__(self):
        self.daemon.call("events.enable", names=self.names)

    def __exit__(self, *_):
        self.daemon.call("events.disable", names=self.names)


def child(work):
    pid = os.fork()
    if pid == 0:
        work()
        os._exit(0)
    os.waitpid(pid, 0)


def renamed_and_executed():
    with open("/proc/self/comm", "w") as comm:
        comm.write("caf\u00e9 \"gold\"")
    os.execv("/bin/true", ["true"])


def terminated():
    os.kill(os.getpid(), signal.SIGTERM)


def out_of_memory():
    os.makedirs(CGROUP, exist_ok=True)
    for name, value in (("memory.max", str(8 << 20)), ("memory.swap.max", "0")):
        if os.path.exists(CGROUP + "/" + name):
            with open(CGROUP + "/" + name, "w") as file:
                file.write(value)
    os.execv("/bin/truth", ["truth", "oom", CGROUP])


def work(daemon):
    with Enabled(daemon, "sched", "process", "signal"):
        for cpus in ({0}, {1}, {0, 1}):
            os.sched_setaffinity(0, cpus)
        os.kill(os.getpid(), signal.SIGUSR1)
        child(renamed_and_executed)
        child(terminated)
    with Enabled(daemon, "syscalls"):
        for _ in range(20):
            os.getppid()
            os.path.exists("/nonexistent")
    with Enabled(daemon, "kmem"):
        for _ in range(5):
            read_end, write_end = os.pipe()
            os.write(write_end, bytes(8192))
            os.close(write_end)
            os.close(read_end)
    with Enabled(daemon, "oom", "sched_process_exec", "sched_process_exit"):
        child(out_of_memory)


def main():
    socket.sethostname("golden")
    shutil.copy(programs + "/truth", "/bin/truth")
    with open("/tmp/golden.json", "w") as file:
        json.dump(CONFIG, file)
    with open("/sys/fs/cgroup/cgroup.subtree_control", "w") as file:
        file.write("+memory")
    traced = subprocess.Popen([programs + "/ktraced", "--config", "/tmp/golden.json"])
    eventually(lambda: os.path.exists(SOCKET))
    daemon = Daemon()
    daemon.call("filter.set", filter={"follow": [os.getpid()]})
    recorder = subprocess.Popen([programs + "/ktracectl", "--socket", SOCKET, "record", "-o",
                                 output, "--reason", "every event, few of each"])
    eventually(lambda: os.path.exists(output + ".partial/manifest.json"))
    signal.signal(signal.SIGUSR1, lambda *_: None)
    work(daemon)
    recorder.send_signal(signal.SIGINT)
    recorder.wait()
    traced.terminate()
    traced.wait()


main()
