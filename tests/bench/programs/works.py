# SPDX-License-Identifier: BSD-2-Clause
"""Whole programs that are measured.

A work is prepared once and then runs many times; each run gives one value for each of its figures.
"""
import os
import pathlib
import re
import resource
import shutil
import subprocess
import tempfile
import time

from harness.host import MeasurementError
from harness.process import Process

KERNEL_CACHE = pathlib.Path("/var/cache/ktraced-bench")
CPUS = len(os.sched_getaffinity(0))
DBENCH_SECONDS = 2  # shorter runs of dbench and tbench end before they count


def output_of(command, **options):
    done = subprocess.run(list(map(str, command)), check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace", **options)
    if done.returncode:
        raise MeasurementError(f"{command[0]} failed: {done.stdout[-1000:].strip()}")
    return done.stdout


def figure(pattern, text, what):
    """The number that a program prints. 0 is none: it ran too short."""
    found = re.search(pattern, text, re.MULTILINE)
    if not found or float(found[1]) == 0:
        raise MeasurementError(f"{what} printed no figure: {text[-500:].strip()}")
    return float(found[1])


class Work:
    """Runs about `seconds`. `figures` maps the name of each figure to its unit; a unit of time gets better downwards.
    `programs` are those of the build that it needs."""

    name, programs, packages, figures = "", (), (), {}

    def __init__(self, build, directory, seconds):
        self.build, self.directory, self.seconds = pathlib.Path(build), pathlib.Path(directory), seconds

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def run(self):
        """The value of each figure."""
        raise NotImplementedError


class Dbench(Work):
    """File operations of two clients, in memory: no disk's noise."""

    name, packages, figures = "dbench", ("dbench",), {"dbench": "MB/s"}

    def __enter__(self):
        self.files = tempfile.mkdtemp(prefix="ktraced-bench-", dir="/dev/shm")
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.files, ignore_errors=True)

    def run(self):
        text = output_of(["dbench", "-D", self.files, "-t", max(DBENCH_SECONDS, self.seconds), CPUS], cwd=self.files)
        return {"dbench": figure(r"^Throughput ([\d.]+) MB/sec", text, "dbench")}


class Tbench(Work):
    """The network traffic of dbench, over the loopback of a network namespace: its port cannot be changed."""

    name, packages, figures = "tbench", ("dbench", "iproute2", "util-linux"), {"tbench": "MB/s"}
    IN_NAMESPACE = 'ip link set lo up && { tbench_srv & server=$!; sleep 0.3; tbench -t "$1" "$2" 127.0.0.1; code=$?; ' \
                   'kill $server; exit $code; }'

    def run(self):
        command = ["unshare", "--net", "--pid", "--fork", "--kill-child", "sh", "-c", self.IN_NAMESPACE, "tbench",
                   max(DBENCH_SECONDS, self.seconds), CPUS]
        return {"tbench": figure(r"^Throughput ([\d.]+) MB/sec", output_of(command, cwd=self.directory), "tbench")}


class Messaging(Work):
    """Groups of processes that send each other messages: mostly the scheduler. The same number in each run."""

    name, packages, figures = "messaging", ("linux-perf",), {"messaging": "s"}
    TRIAL = 100

    def __enter__(self):
        self.loops = self.TRIAL
        self.run()
        self.loops = max(1, int(self.TRIAL * self.seconds / self.run()["messaging"]))
        return self

    def run(self):
        text = output_of(["perf", "bench", "sched", "messaging", "-g", CPUS, "-l", self.loops])
        return {"messaging": figure(r"Total time: ([\d.]+) \[sec\]", text, "perf bench")}


class Redis(Work):
    """A key-value store and its 50 clients on a Unix socket. The same number of requests in each run."""

    name, packages = "redis", ("redis-tools",)
    figures = {"redis SET": "requests/s", "redis GET": "requests/s"}
    TRIAL = 20000
    # Without the package of the service: its program is the same file as redis-check-rdb, which redis-tools has.
    SERVER = ["/usr/bin/redis-check-rdb", "redis-server", "--port", "0", "--save", "", "--appendonly", "no"]

    def __enter__(self):
        self.socket = self.directory / "redis.sock"
        executable, *command = self.SERVER
        self.server = Process([*command, "--unixsocket", self.socket, "--dir", self.directory], self.directory / "redis.log",
                              executable=executable)
        try:
            self.server.wait_for(self.socket.exists)
            self.requests = self.TRIAL
            slower = min(self.run().values())
            self.requests = max(1000, int(slower * self.seconds / 2))
        except BaseException:
            self.server.end()
            raise
        return self

    def __exit__(self, *_):
        self.server.end()

    def run(self):
        text = output_of(["redis-benchmark", "-s", self.socket, "-t", "set,get", "-n", self.requests, "--csv"])
        return {f"redis {what}": figure(rf'^"{what}","([\d.]+)"', text, "redis-benchmark") for what in ("SET", "GET")}


class KernelBuild(Work):
    """Linux, configured as small as it can be, from Debian's sources. `seconds` does not change it."""

    name, figures = "kernel", {"kernel build": "s"}
    packages = ("linux-source", "flex", "bison", "libelf-dev", "libssl-dev", "bc", "make", "gcc", "xz-utils")

    def __enter__(self):
        self.source, self.objects = self.unpacked_source(), tempfile.mkdtemp(prefix="ktraced-bench-", dir="/var/tmp")
        try:
            self.make("tinyconfig")
            self.make("prepare")
            self.run()  # the sources are in the page cache then
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.objects, ignore_errors=True)

    def make(self, *targets):
        output_of(["make", "-s", "-C", self.source, f"O={self.objects}", f"-j{CPUS}", *targets])

    @staticmethod
    def unpacked_source():
        """The sources are unpacked once and kept, because that takes longer than a build."""
        archive = max(pathlib.Path("/usr/src").glob("linux-source-*.tar.xz"), key=lambda path: path.stat().st_mtime)
        source = KERNEL_CACHE / archive.name.removesuffix(".tar.xz")
        if not source.is_dir():
            KERNEL_CACHE.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(dir=KERNEL_CACHE) as new:
                output_of(["tar", "-xf", archive, "-C", new])
                next(pathlib.Path(new).iterdir()).rename(source)
        return source

    def run(self):
        self.make("clean")
        self.make("prepare")
        os.sync()  # nothing of the last build is written during this one
        begin = time.monotonic()
        self.make("vmlinux")
        return {"kernel build": time.monotonic() - begin}


class Noise(Work):
    """Of everything a little: the noise of the live tests without pauses, the same actions in each run. Its CPU time, because
    some of them sleep."""

    name, programs, figures = "noise", ("noise",), {"noise": "s"}
    TRIAL = 3000

    def __enter__(self):
        self.rounds = self.TRIAL
        self.run()
        begin = time.monotonic()
        self.run()
        self.rounds = max(1, int(self.TRIAL * self.seconds / (time.monotonic() - begin)))
        return self

    def run(self):
        before = self.cpu_seconds_of_children()
        output_of([self.build / "noise", "--load", 100, "--seed", 1, "--rounds", self.rounds])
        return {"noise": self.cpu_seconds_of_children() - before}

    @staticmethod
    def cpu_seconds_of_children():
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime


WORKS = {work.name: work for work in (Dbench, Tbench, Messaging, Redis, KernelBuild, Noise)}
