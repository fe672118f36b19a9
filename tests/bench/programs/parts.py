# SPDX-License-Identifier: BSD-2-Clause
"""Where the time of a tracing goes: its parts are left out one after the other, until nothing is traced."""
import statistics

from harness.hooks import WITHOUT_CATCHERS
from programs.changes import UNTRACED, percent, slow_downs, spread
from programs.tracings import Default, Empty, Flight, Floor, Rejected, Stream, StreamInMemory, Tracing


def variant(tracing, name, **sections):
    """The tracing with other sections of its configuration."""
    return type(tracing.__name__, (tracing,), {"name": f"{tracing.name}-{name}", "config": {**tracing.config, **sections}})


def without_groups(tracing, *groups):
    events = {**tracing.config.get("events", {}), **dict.fromkeys(groups, False)}
    return variant(tracing, "no-" + "-".join(groups), events=events)


def without_catchers(tracing):
    return variant(tracing, "no-catchers", exact=WITHOUT_CATCHERS)


HOOKS, CLOCK = (Empty, "hooks and empty programs"), (Floor, "reading the clock")
PLAIN_FLIGHT = (without_catchers(Flight), "counters, filter and records")
# By name: the tracings, each with what the next one leaves out. The last of each leaves out what is left.
PARTS = {
    "default": ((Default, "sched"), (without_groups(Default, "sched"), "process, signal, oom")),
    "events": ((Flight, "kmem"), (without_groups(Flight, "kmem"), "syscalls"), (without_groups(Flight, "kmem", "syscalls"), "sched"),
               (without_groups(Flight, "kmem", "syscalls", "sched"), "process, signal")),
    "flight": ((Flight, "catchers"), PLAIN_FLIGHT, CLOCK, HOOKS),
    "rejected": ((Rejected, "catchers"), (without_catchers(Rejected), "counters and filter"), HOOKS),
    "stream": ((Stream, "the disk"), (StreamInMemory, "draining and writing"), (Flight, "catchers"), PLAIN_FLIGHT, CLOCK, HOOKS),
}


def tracings_of(name):
    """What has to be measured."""
    return [Tracing, *(tracing for tracing, _ in PARTS[name])]


def shares(slow, names):
    """What each tracing costs above the next one: by name, the difference of each round that has both."""
    slow = {**slow, UNTRACED: {number: 0.0 for rounds in slow.values() for number in rounds}}
    return {name: [cost - slow[less][number] for number, cost in slow[name].items() if number in slow[less]]
            for name, less in zip(names, [*names[1:], UNTRACED])}


def part_table(name, figure, slow):
    """As Markdown; None if a tracing was not measured."""
    names = [tracing.name for tracing, _ in PARTS[name]]
    if not all(slow.get(tracing) for tracing in names):
        return None
    costs = shares(slow, names)
    if not all(costs.values()):
        return None
    lines = [f"| {figure}: parts of {name} | slow-down | the next row is without | that is | from … to |", "|---|--:|---|--:|---|"]
    for tracing, part in PARTS[name]:
        own = costs[tracing.name]
        lines.append(f"| {tracing.name} | {percent(statistics.median(slow[tracing.name].values()))} | {part} | "
                     f"{percent(statistics.median(own))} | {spread(own)} |")
    return "\n".join(lines)


def part_tables(measurements, figures):
    """One for each figure and PARTS, as far as they were measured."""
    found = [part_table(name, figure, slow_downs(measurements, figure)) for figure in figures for name in PARTS]
    return [table for table in found if table]
