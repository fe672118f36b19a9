# SPDX-License-Identifier: BSD-2-Clause
"""What reading a trace costs against its size: processor time and memory of ktracectl on this machine."""
import os
import shutil
import subprocess

from harness.daemon import Daemon
from harness.hooks import ALL_EVENTS
from harness.host import ROOT, MeasurementError, install_packages, mounts, say

SMALLEST_WORK = "find /usr/share/doc/[a-b]* >/dev/null"  # less than 1 MiB
RUNS, LONG_RUN = 7, 1.0  # seconds
COMMANDS = {
    "show": ["show", "TRACE", "--no-names"],
    "summary": ["report", "summary", "TRACE"],
    "syscalls": ["report", "syscalls", "TRACE"],
    "query": ["query", "TRACE", "select event, count(*) from events group by event"],
    "last-ms": ["show", "TRACE", "--no-names", "--last", "1ms"],
}


def record(build, work):
    """A recording of all events of a short work."""
    install_packages(["time"])
    trace = work / "recorded"
    with mounts(), Daemon(build, work / "daemon", {"events": ALL_EVENTS, "flight": {"enabled": False}}) as daemon:
        daemon.client("record", "-o", trace, "--", "sh", "-c", SMALLEST_WORK)
    return trace


def mib_of(trace):
    return sum(file.stat().st_size for file in (trace / "ctf").iterdir()) / 2**20


def run_cost(build, words):
    """Processor time in seconds, and most resident memory in KiB. The memory is from time(1): that of a child of this
    interpreter would be at least the interpreter's. The processor time is the kernel's own, which is finer."""
    process = subprocess.Popen(["/usr/bin/time", "--quiet", "-f", "%M", build / "ktracectl", *words], text=True,
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    printed = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)  # with its children
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise MeasurementError(f"ktracectl {' '.join(map(str, words))}: {printed.strip()}")
    return usage.ru_utime + usage.ru_stime, int(printed.split()[-1])


def least_cost(build, words):
    """The least of several runs; of one, if it is long."""
    costs = [run_cost(build, words)]
    while costs[0][0] < LONG_RUN and len(costs) < RUNS:
        costs.append(run_cost(build, words))
    return tuple(map(min, zip(*costs)))


def sizes(recorded_mib, largest_mib):
    """Of the repeated traces, in MiB: powers of ten above the recorded one, and the largest."""
    powers = [10 ** power for power in range(10) if 10 ** power < largest_mib]
    return [mib for mib in [*powers, largest_mib] if mib > recorded_mib]


def measure(build, work, largest_mib):
    """Yields points. One large trace at a time is on disk, beside the recorded one."""
    recorded = record(build, work)
    yield from points_of(build, recorded, mib_of(recorded))
    for mib in sizes(mib_of(recorded), largest_mib):
        trace = work / f"repeated-{mib}"
        subprocess.run([ROOT / "tests/bench/repeat_trace", recorded, trace, str(mib)], check=True, stdout=subprocess.DEVNULL)
        yield from points_of(build, trace, mib_of(trace))
        shutil.rmtree(trace)


def points_of(build, trace, mib):
    say(f"traces: {mib:.1f} MiB")
    for series, words in COMMANDS.items():
        seconds, kib = least_cost(build, [trace if word == "TRACE" else word for word in words])
        yield {"curve": "trace-time", "series": series, "x": round(mib, 2), "y": seconds}
        yield {"curve": "trace-memory", "series": series, "x": round(mib, 2), "y": kib}
