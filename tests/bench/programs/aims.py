# SPDX-License-Identifier: BSD-2-Clause
"""Whether whole programs are slowed down as little as they should be."""
import dataclasses
import statistics

from harness.aims import Aim
from programs.changes import percent, runs_of, slow_downs, spread

LEAST_ROUNDS = 5
STREAM, STREAM_RATE = "stream", 1e6  # events a second from which the aims of streams count

AIMS = {
    "default": (Aim("at most 3 %", plus=0.03),),
    "flight": (Aim("at most 1.3 x floor", "floor", 1.3), Aim("below ftrace", "ftrace", below=True)),
    "rejected": (Aim("below the floor", "floor", below=True),),
    STREAM: (Aim("at most 1.1 x ftrace", "ftrace", 1.1),),
}
BY_FIGURE = {("default", "kernel build"): (Aim("at most 1 %", plus=0.01),)}  # in the place of those above


@dataclasses.dataclass(frozen=True)
class Judgement:
    """A row of the table. The verdict is that of the medians; rounds_met are the rounds that meet the aim by themselves."""

    figure: str
    tracing: str
    measured: str
    spread: str
    aim: str
    limit: str
    rounds: int
    rounds_met: int
    verdict: str


def verdict_of(met, rounds, events_per_second):
    """`events_per_second` is that of a stream, or None."""
    if rounds < LEAST_ROUNDS:
        return "too few rounds"
    if events_per_second is not None and events_per_second < STREAM_RATE:
        return "too few events"
    return "met" if met else "missed"


def judged(aim, tracing, figure, slow, events_per_second):
    """None if nothing was measured that can be compared. `slow` is by tracing and round."""
    compared = (tracing, aim.of) if aim.of else (tracing,)
    rounds = sorted(set.intersection(*(set(slow.get(name, {})) for name in compared)), key=str)
    if not rounds:
        return None
    costs = {name: statistics.median(slow[name][number] for number in rounds) for name in compared}
    own = [slow[tracing][number] for number in rounds]
    met_by = [number for number in rounds if aim.is_met(slow[tracing][number], {name: slow[name][number] for name in compared})]
    verdict = verdict_of(aim.is_met(costs[tracing], costs), len(rounds), events_per_second)
    if verdict in ("met", "missed") and aim.of and costs[aim.of] <= 0:
        verdict = f"{aim.of} is not measurable"
    return Judgement(figure, tracing, percent(costs[tracing]), spread(own), aim.text, percent(aim.limit(costs)), len(rounds),
                     len(met_by), verdict)


def dropped_by(run):
    """Earlier results have dropped events only among the lost ones."""
    return run.get("dropped", run["lost"])


def stream_rate(runs):
    """Median events a second, recorded or dropped; None without runs."""
    return statistics.median((one["events"] + dropped_by(one)) / one["elapsed_s"] for one in runs) if runs else None


def nothing_dropped(runs, figure, events_per_second):
    """Whether no run of the stream has dropped an event."""
    if not runs:
        return None
    dropped = [dropped_by(one) for one in runs]
    hits = sum(one["events"] for one in runs) + sum(dropped)
    return Judgement(figure, STREAM, f"{sum(dropped):,} of {hits:,} events", f"{min(dropped):,} to {max(dropped):,}", "nothing dropped", "",
                     len(runs), dropped.count(0), verdict_of(not any(dropped), len(runs), events_per_second))


def judgements(measurements, figures):
    """Of all aims whose tracings were measured, figure by figure."""
    found = []
    for figure in figures:
        slow, streams = slow_downs(measurements, figure), runs_of(measurements, STREAM, figure)
        for tracing in AIMS:
            events_per_second = stream_rate(streams) if tracing == STREAM else None
            found += [judged(aim, tracing, figure, slow, events_per_second)
                      for aim in BY_FIGURE.get((tracing, figure), AIMS[tracing])]
        found.append(nothing_dropped(streams, figure, stream_rate(streams)))
    return [one for one in found if one]


def hints(measurements, missed):
    """The commands that take a tracing apart that has missed an aim."""
    works = {(one["work"], aim.tracing): None for aim in missed for one in measurements if aim.figure in one["figures"]}
    return [f"To see what the time of {tracing} goes to: `sudo tests/bench/whole --work {work} --parts {tracing}`"
            for work, tracing in works]


def aim_table(measurements, figures):
    """As Markdown, with what to do about missed aims; empty if no aim can be judged."""
    found = judgements(measurements, figures)
    if not found:
        return ""
    lines = ["| | tracing | slow-down | from … to | aim | limit | rounds that meet it | |", "|---|---|--:|---|---|--:|--:|---|"]
    for one in found:
        verdict = "**missed**" if one.verdict == "missed" else one.verdict
        lines.append(f"| {one.figure} | {one.tracing} | {one.measured} | {one.spread} | {one.aim} | {one.limit} | "
                     f"{one.rounds_met} of {one.rounds} | {verdict} |")
    missed = [one for one in found if one.verdict == "missed"]
    return "\n\n".join(["\n".join(lines), *hints(measurements, missed)])
