# SPDX-License-Identifier: BSD-2-Clause
"""Values from virtual machines that count instructions."""
import pathlib

from harness.host import MeasurementError, say
from harness.process import Process

BOOT = pathlib.Path(__file__).resolve().parent / "boot"
MACHINE_SECONDS = 3600


def parse(report):
    """The points and notes of a machine's report; an error if it did not reach its end."""
    points, notes = [], {}
    for line in report.splitlines():
        kind, _, rest = line.partition(" ")
        if kind == "point":
            curve, series, x, y = rest.split()
            points.append({"curve": curve, "series": series, "x": float(x), "y": float(y)})
        elif kind == "note":
            name, _, text = rest.partition(" ")
            notes[name] = text
        elif kind == "failed:":
            raise MeasurementError(rest)
    if "done" not in report.splitlines():
        raise MeasurementError("the machine has not ended its measurement: " + report[-500:])
    return points, notes


def measure(build, work, kernel, cpus, parts):
    """The points and notes of one machine."""
    say(f"{', '.join(parts)}: a machine with Linux {kernel} and {cpus} CPUs")
    with Process([BOOT, build, kernel, cpus, ",".join(parts)], work / "machine.log") as machine:
        machine.wait(MACHINE_SECONDS)
        return parse(machine.output())

