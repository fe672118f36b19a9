# SPDX-License-Identifier: BSD-2-Clause
"""Kinds of tracing that are turned on for one stretch of work, and off again.

A case is a context: prepared inside, gone after it. `program` is what bench_work attaches itself in a stretch of the case.
"""
import contextlib
import os

from harness.daemon import Daemon
from harness.ftrace import TraceInstance
from harness.hooks import WITHOUT_CATCHERS
from harness.host import MeasurementError
from harness.process import Process, sleeper, wait_until


class Case(contextlib.ExitStack):
    """Nothing is traced."""

    program = "nothing"

    def __init__(self, name, build, directory, hooks):
        super().__init__()
        self.name, self.build, self.directory, self.hooks = name, build, directory / name, hooks

    def __enter__(self):
        self.directory.mkdir()
        try:
            self.prepare()
        except BaseException:
            self.close()
            raise
        return self

    def prepare(self):
        """Returns when turn() can be called; nothing is on then."""

    def turn(self, on):
        """Returns when everything is attached, or nothing any more."""

    def seen(self):
        """The hits that the case has seen so far: None if it does not know."""
        return None


class OwnProgram(Case):
    """A program of bench_work that has the name of the case."""

    def prepare(self):
        self.program = self.name


class Ftrace(Case):
    """The kernel's own trace, overwriting, with buffers as large as those of the flight recorder."""

    def prepare(self):
        self.instance = self.enter_context(TraceInstance(buffer_kb=8192))

    def turn(self, on):
        self.instance.enable(self.hooks, on)

    def seen(self):
        return self.instance.counts()[0]


class Flight(Case):
    """The flight recorder of a ktraced of its own, which is paused between the stretches. Rings of their default size; no
    catchers. Nothing is pinned: a pinned program would be detached some time after its pause."""

    session, count, hits_of_a_count = "recorder", "recorded", 1

    def prepare(self):
        config = {"events": self.events(), "exact": WITHOUT_CATCHERS, "persist": False, **self.settings()}
        self.daemon = self.enter_context(Daemon(self.build, self.directory, config))
        self.read_stream()
        self.turn(False)

    def events(self):
        """The section `events` of the configuration: those of the hooks."""
        events = {}
        for hook in self.hooks:
            group, _, name = hook.partition("/")
            events.setdefault({"raw_syscalls": "syscalls"}.get(group, group), []).append(name)
        return events

    def settings(self):
        return {}

    def read_stream(self):
        """Starts a reader, where there is a stream."""

    def turn(self, on):
        self.daemon.client("resume" if on else "pause", "--session", self.session)

    def seen(self):
        return self.daemon.totals(self.session)[self.count] * self.hits_of_a_count


class Rejected(Flight):
    """A filter for a process that sleeps."""

    count = "filtered"

    def settings(self):
        return {"filter": {"pid": [self.enter_context(sleeper(self.directory)).pid]}}


class Completed(Flight):
    """A system call is one record, at its return."""

    hits_of_a_count = 2

    def events(self):
        return {"syscalls": {"record": "completed"}}


class Stream(Flight):
    """A stream to a client that only counts, flight recorder off. The rings are so large that few stretches are read while they
    run."""

    session, buffer_kb = "client-1", 32768

    def settings(self):
        total_mb = 2 * self.buffer_kb // 1024 * os.cpu_count()
        return {"flight": {"enabled": False},
                "stream": {"buffer_kb": self.buffer_kb, "total_mb": total_mb, "max_latency_ms": 10000}}

    def read_stream(self):
        command = [self.build / "ktracectl", "--socket", self.daemon.socket, "stream", "--count-only"]
        self.enter_context(Process(command, self.directory / "stream.log"))
        wait_until(self.has_session, 30, "the start of the stream")

    def has_session(self):
        return self.daemon.client("session", "show", self.session, check=False).returncode == 0


CASES = {"nothing": Case, "empty": OwnProgram, "clock": OwnProgram, "rejected": Rejected, "flight": Flight, "stream": Stream,
         "completed": Completed, "ringbuf": OwnProgram, "ftrace": Ftrace}
NEEDED = ("nothing", "empty", "clock")  # the floor, and what everything is compared with


def names_for(work, chosen):
    """The cases that are measured with a kind of work, in the order of CASES."""
    return [name for name in CASES if name in NEEDED or name in chosen and (name != "completed" or work == "getppid")]


def check_seen(case, before, hits):
    """Fails if a case has seen too few hits to be measured: it was not on, or lost them."""
    after = case.seen()
    if after is not None and after - before < 0.9 * hits:
        raise MeasurementError(f"{case.name} has seen {after - before:,} of {hits:,.0f} hits, so its figure would be too low; "
                               "run it again when the machine is idle")
