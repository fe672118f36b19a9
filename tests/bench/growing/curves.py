# SPDX-License-Identifier: BSD-2-Clause
"""The curves: what each shows, and how it should grow."""
import dataclasses
import math

FLAT, LINEAR = "flat", "linear"
FLAT_EXPONENT, LINEAR_EXPONENT = 0.05, 1.1  # at most


@dataclasses.dataclass(frozen=True)
class Curve:
    """`expected` maps each series to FLAT or LINEAR. Values are divided by `scale`. log: the axes, "x", "y" or "xy"."""

    name: str
    title: str
    x: str
    y: str
    expected: dict
    log: str = ""
    scale: float = 1


CURVES = {curve.name: curve for curve in (
    Curve("cpus-cost", "A recorded getppid()", "CPUs", "instructions", {"recorded": FLAT}),
    Curve("cpus-memory", "Memory", "CPUs", "MiB", {"kernel": LINEAR, "daemon": LINEAR}, scale=1024),
    Curve("cpus-incomplete", "Incomplete snapshots of 5, all CPUs busy", "CPUs", "snapshots", {"incomplete": FLAT}),
    Curve("events-cost", "A recorded getppid()", "enabled events", "instructions", {"recorded": FLAT}),
    Curve("events-memory", "Memory", "enabled events", "MiB", {"kernel": FLAT, "daemon": FLAT}, scale=1024),
    Curve("filter-cost", "A rejected getppid()", "process ids in the filter", "instructions", {"rejected": FLAT}, log="x"),
    Curve("filter-set", "Setting a filter, CPU time of the daemon", "process ids in the filter", "ms", {"set-filter": LINEAR},
          log="xy", scale=1e6),
    Curve("filter-memory", "Memory", "process ids in the filter", "MiB", {"kernel": FLAT, "daemon": FLAT}, log="x", scale=1024),
    Curve("sessions-cost", "getppid(), by what the sessions do with it", "sessions", "instructions",
          {"recorded": LINEAR, "rejected": FLAT}),
    Curve("sessions-memory", "Memory", "sessions", "MiB", {"kernel": LINEAR, "daemon": LINEAR}, scale=1024),
    Curve("tasks-cost", "A recorded getppid()", "threads", "instructions", {"recorded": FLAT}, log="x"),
    Curve("tasks-time", "CPU time of the daemon", "threads", "ms", {"session-begins": LINEAR, "snapshot": LINEAR}, log="xy", scale=1e6),
    Curve("tasks-memory", "Memory", "threads", "MiB", {"kernel": FLAT, "daemon": FLAT}, log="x", scale=1024),
    Curve("rings-time", "A snapshot, CPU time of the daemon", "flight ring, MiB", "ms", {"snapshot": LINEAR}, log="xy", scale=1e6),
    Curve("rings-memory", "Memory", "flight ring, MiB", "MiB", {"kernel": LINEAR, "daemon": LINEAR}, log="xy", scale=1024),
    Curve("trace-time", "CPU time of ktracectl", "trace, MiB", "s",
          {"show": LINEAR, "summary": LINEAR, "syscalls": LINEAR, "query": LINEAR, "last-ms": FLAT}, log="xy"),
    Curve("trace-memory", "Memory of ktracectl", "trace, MiB", "MiB",
          {"show": FLAT, "summary": FLAT, "syscalls": FLAT, "query": FLAT, "last-ms": FLAT}, log="x", scale=1024),
)}


def exponent(points):
    """p of the power law y ~ x^p that fits best: 0 is flat, 1 is linear. None for fewer than two points above 0."""
    logs = [(math.log(x), math.log(y)) for x, y in points if x > 0 and y > 0]
    if len({x for x, _ in logs}) < 2:
        return None
    mean_x, mean_y = (sum(column) / len(logs) for column in zip(*logs))
    return sum((x - mean_x) * (y - mean_y) for x, y in logs) / sum((x - mean_x) ** 2 for x, _ in logs)


def is_constant(points):
    return len({y for _, y in points}) == 1


@dataclasses.dataclass(frozen=True)
class Verdict:
    """How a series has grown. `slope` is its exponent; for a series that should be linear, of what is added to its first point."""

    curve: str
    series: str
    expected: str
    slope: float | None
    first: tuple
    last: tuple
    holds: bool


def above_first(points):
    """What is added to the first point: the fixed part of a cost hides how the rest grows."""
    (first_x, first_y), *others = points
    return [(x - first_x, y - first_y) for x, y in others]


def judged(curve, series, points):
    """Of a series that should be linear, only the larger half counts: small additions drown in noise."""
    expected, points = curve.expected[series], sorted(points)
    added = above_first(points)
    slope = exponent(points) if expected == FLAT else exponent(added[(len(added) - 1) // 2:])
    if is_constant(points):
        slope = 0.0
    limit = FLAT_EXPONENT if expected == FLAT else LINEAR_EXPONENT
    return Verdict(curve.name, series, expected, slope, points[0], points[-1], slope is not None and slope <= limit)


def series_of(points, name):
    """By series of a curve: its (x, y), scaled as it is drawn."""
    found = {}
    for one in points:
        if one["curve"] == name and one["series"] in CURVES[name].expected:
            found.setdefault(one["series"], []).append((one["x"], one["y"] / CURVES[name].scale))
    return {series: sorted(values) for series, values in found.items()}


def verdicts(points):
    """Of all measured series, in the order of CURVES."""
    return [judged(curve, series, values) for curve in CURVES.values()
            for series, values in series_of(points, curve.name).items()]


def number(value):
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def verdict_table(points):
    """As Markdown."""
    lines = ["| what | against | series | should be | exponent | from | to | is it? |", "|---|---|---|---|--:|--:|--:|---|"]
    for one in verdicts(points):
        curve = CURVES[one.curve]
        ends = [f"{number(y)} {curve.y} at {number(x)}" for x, y in (one.first, one.last)]
        slope = "" if one.slope is None else f"{one.slope:.2f}"
        lines.append(f"| {curve.title} | {curve.x} | {one.series} | {one.expected} | {slope} | {ends[0]} | {ends[1]} | "
                     f"{'yes' if one.holds else '**no**'} |")
    return "\n".join(lines)
