# SPDX-License-Identifier: BSD-2-Clause
"""Kinds of tracing under which programs are measured.

A tracing is a context: on inside, gone after it. counts() is what it has counted so far; settle() is called between the end
of the work and the last counts().
"""
import contextlib
import dataclasses
import os
import pathlib
import re
import select
import subprocess
import tempfile
import time

from harness.daemon import Daemon
from harness.ftrace import TraceInstance
from harness.hooks import ALL_EVENTS, ALL_HOOKS, raw_tracepoints
from harness.host import ROOT, MeasurementError
from harness.process import Process, sleeper


@dataclasses.dataclass
class Counts:
    """None: this tracing does not know. `rejected` are hits that a filter has rejected; cpu_s is of the tracer's processes. `dropped`
    is the part of `lost` that the rings had no room for."""

    events: int | None = None
    lost: int | None = None
    rejected: int | None = None
    cpu_s: float | None = None
    dropped: int | None = None

    def since(self, before):
        """What has been counted since."""
        return Counts(*(None if now is None else now - (then or 0)
                        for now, then in zip(dataclasses.astuple(self), dataclasses.astuple(before))))


class Tracing(contextlib.ExitStack):
    """Nothing is traced."""

    name, packages, programs = "nothing", (), ()

    def __init__(self, build, directory):
        super().__init__()
        self.build, self.directory = pathlib.Path(build), pathlib.Path(directory)

    def __enter__(self):
        try:
            self.start()
        except BaseException:
            self.close()
            raise
        return self

    def start(self):
        """Returns when everything is attached."""

    def settle(self):
        """Waits until what the work has caused is counted."""

    def counts(self):
        return Counts()


class Empty(Tracing):
    """BPF programs that do nothing on the same hooks: the lower bound of every program."""

    name, program, programs = "empty", "empty", ("bench_work",)

    def start(self):
        command = [self.build / "bench_work", "hold", self.program, raw_tracepoints(ALL_HOOKS)]
        holder = self.enter_context(Process(command, self.directory / "hold.log"))
        holder.wait_for(lambda: "ready" in holder.output())


class Floor(Empty):
    """BPF programs on the same hooks that only read the clock: no tracer that records time stamps by BPF can be below it."""

    name, program = "floor", "clock"


class Ktraced(Tracing):
    """A ktraced of its own, with CONFIG over the file BASE; its figures are those of SESSION."""

    programs = ("ktraced", "ktracectl")
    base, config, session = None, {}, "recorder"

    def start(self):
        self.daemon = self.enter_context(Daemon(self.build, self.directory, self.configuration(), self.base))
        time.sleep(0.5)  # the daemon's first work is not the traced program's

    def configuration(self):
        return self.config

    def counts(self):
        totals = self.daemon.totals(self.session)
        return Counts(totals["recorded"], totals["dropped"] + totals["missed"], totals["filtered"], self.daemon.cpu_seconds(),
                      totals["dropped"])


class Default(Ktraced):
    """The configuration that is installed."""

    name, base = "default", ROOT / "configs/ktraced.json"


class Flight(Ktraced):
    """All events to the flight recorder, rings of their default size."""

    name, config = "flight", {"events": ALL_EVENTS}


class Rejected(Flight):
    """All events to the flight recorder, with a filter for a process that sleeps."""

    name = "rejected"

    def configuration(self):
        return {**self.config, "filter": {"pid": [self.enter_context(sleeper(self.directory)).pid]}}


class Stream(Ktraced):
    """All events to files, rings of their default size, flight recorder off."""

    name, config, session = "stream", {"events": ALL_EVENTS, "flight": {"enabled": False}}, "output"

    def configuration(self):
        output = {"directory": str(self.parent_of_traces() / "output"), "max_file_mb": 256, "max_files": 4}
        return {**self.config, "stream": {"output": output}}

    def parent_of_traces(self):
        return self.directory

    def settle(self):
        time.sleep(0.5)  # longer than stream.max_latency_ms


class StreamInMemory(Stream):
    """The same stream, to files that are in memory."""

    name = "stream-in-memory"

    def parent_of_traces(self):
        return pathlib.Path(self.enter_context(tempfile.TemporaryDirectory(prefix="ktraced-bench-", dir="/dev/shm")))


class Ftrace(Tracing):
    """The kernel's own trace of the same events, overwriting, with buffers as large as ktraced's: in an instance of its own."""

    name = "ftrace"

    def start(self):
        self.instance = self.enter_context(TraceInstance(buffer_kb=8192))
        self.instance.enable(ALL_HOOKS)

    def counts(self):
        return Counts(*self.instance.counts())


def attached_hooks(prefix):
    """The hooks as options of perf (':') or probes of bpftrace."""
    return [prefix + hook.replace("/", ":") for hook in ALL_HOOKS]


class Perf(Tracing):
    """`perf record` of the same events into a file."""

    name, packages, programs = "perf", ("linux-perf",), ()

    def start(self):
        self.data, control, ack = (self.directory / name for name in ("perf.data", "control", "ack"))
        for fifo in (control, ack):
            os.mkfifo(fifo)
        self.perf = self.enter_context(Process(
            ["perf", "record", "-a", "-m", "8M", "-D", "-1", f"--control=fifo:{control},{ack}", "-e",
             ",".join(attached_hooks("")), "-o", self.data], self.directory / "perf.log"))
        ends = [os.open(fifo, os.O_RDWR | os.O_NONBLOCK) for fifo in (control, ack)]
        for end in ends:
            self.callback(os.close, end)
        os.write(ends[0], b"enable\n")
        self.perf.wait_for(lambda: select.select([ends[1]], [], [], 0)[0], 60)  # perf acknowledges when it traces

    def settle(self):
        self.perf.end()

    def counts(self):
        if self.perf.is_alive():
            return Counts(0, 0, None, self.perf.cpu_seconds())
        from programs.perf_data import count_records
        events, lost = count_records(self.data)
        return Counts(events, lost, None, self.perf.cpu_seconds())


class Bpftrace(Tracing):
    """A script of bpftrace that counts the hits of the same hooks."""

    name, packages = "bpftrace", ("bpftrace",)
    action = "@hits = count();"
    READY = "__BPFTRACE_NOTIFY_PROBES_ATTACHED"  # printed, as bpftrace's own tests ask for: BEGIN runs before it attaches

    def start(self):
        script = self.directory / "script.bt"
        script.write_text(",\n".join(attached_hooks("tracepoint:")) + f" {{ {self.action} }}\n", encoding="ascii")
        self.tracer = self.enter_context(Process(["bpftrace", "-B", "full", script], self.directory / "bpftrace.log",
                                                 environment={self.READY: "1"}))
        self.tracer.wait_for(lambda: self.READY in self.tracer.output(), 120)

    def settle(self):
        self.tracer.end()

    def counts(self):
        cpu_s = self.tracer.cpu_seconds()
        return Counts(0, 0, None, cpu_s) if self.tracer.is_alive() else self.final_counts(cpu_s)

    def final_counts(self, cpu_s):
        found = re.search(r"^@hits: (\d+)$", self.tracer.output(), re.MULTILINE)
        if not found:
            raise MeasurementError(f"bpftrace has not counted: {self.tracer.output()[-1000:].strip()}")
        return Counts(int(found[1]), 0, None, cpu_s)


class BpftracePrintf(Bpftrace):
    """A script of bpftrace that prints a line for each hit."""

    name = "bpftrace-printf"
    action = r'printf("%llu %d %s\n", nsecs, tid, probe);'

    def final_counts(self, cpu_s):
        lines = subprocess.run(["grep", "-c", "tracepoint:", self.tracer.log], check=False, capture_output=True, text=True)
        lost = subprocess.run(["grep", "-ao", "Lost [0-9]* events", self.tracer.log], check=False, capture_output=True, text=True)
        return Counts(int(lines.stdout), sum(int(line.split()[1]) for line in lost.stdout.splitlines()), None, cpu_s)


WITH_AIMS = (Tracing, Empty, Floor, Default, Flight, Rejected, Stream, Ftrace)  # and what they are compared with
TRACINGS = {tracing.name: tracing for tracing in (*WITH_AIMS, Perf, Bpftrace, BpftracePrintf)}
