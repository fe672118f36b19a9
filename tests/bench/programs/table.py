# SPDX-License-Identifier: BSD-2-Clause
"""Measurements as Markdown: medians and spread."""
import statistics

from programs.aims import aim_table
from programs.changes import TIMES, UNTRACED, changes, percent, round_of, runs_of, spread, unit_of
from programs.parts import part_tables


def keys_in_order(measurements, key):
    return list(dict.fromkeys(one[key] for one in measurements))


def rate(measurements, key):
    """Median a second of the work, or None."""
    values = [one[key] / one["elapsed_s"] for one in measurements if one.get(key) is not None]
    return statistics.median(values) if values else None


def short(number):
    """A count as people say it: 1.24 million, 53,200."""
    if number >= 1e6:
        return f"{number / 1e6:.2f} million"
    return f"{number:,.0f}"


def cell(value, form):
    return "" if value is None else form(value)


def lost_share(measurements):
    """Of the events that should be there, the share that is not; None if nothing is known."""
    pairs = [(one["lost"], one["events"] + (one["rejected"] or 0)) for one in measurements if one.get("lost") is not None]
    shares = [lost / (lost + seen) if lost + seen else 0.0 for lost, seen in pairs]
    return statistics.median(shares) if shares else None


def row(tracing, measurements, figure, changed):
    here = runs_of(measurements, tracing, figure)
    if not here:
        return None
    values = [one["figures"][figure] for one in here]
    middle, own = statistics.median(values), changed.get(tracing, [])
    if tracing == UNTRACED:  # how much the machine changes by itself
        own = [value / middle - 1 for value in values]
    cells = [tracing, f"{middle:,.2f}" if middle < 1000 else f"{middle:,.0f}",
             percent(statistics.median(own)) if own and tracing != UNTRACED else "", spread(own) if own else "",
             cell(rate(here, "events"), short), cell(rate(here, "rejected"), lambda n: short(n) if n else ""),
             cell(lost_share(here), lambda share: "0" if share == 0 else f"{share * 100:.2g} %"),
             cell(rate(here, "cpu_s"), lambda share: f"{share * 100:.1f} %")]
    return "| " + " | ".join(cells) + " |"


def figure_table(measurements, figure):
    """One figure of one work under each tracing."""
    unit = unit_of(measurements, figure)
    changed = changes(measurements, figure)
    rows = [row(tracing, measurements, figure, changed) for tracing in keys_in_order(measurements, "tracing")]
    better = "less" if unit in TIMES else "more"
    return "\n".join([f"| {figure} | {unit} ({better} is better) | change | from … to | events/s | rejected/s | lost | CPU of the tracer |",
                      "|---|--:|--:|---|--:|--:|--:|--:|", *filter(None, rows)])


def overview(measurements, figures):
    """The change of each figure under each tracing."""
    by_figure = {figure: changes(measurements, figure) for figure in figures}
    lines = ["| | " + " | ".join(f"{figure}{' (time)' if unit in TIMES else ''}" for figure, unit in figures.items()) + " |",
             "|---|" + "--:|" * len(figures)]
    for tracing in keys_in_order(measurements, "tracing"):
        if tracing == UNTRACED:
            continue
        cells = [cell(by_figure[figure].get(tracing), lambda values: percent(statistics.median(values), 0)) for figure in figures]
        lines.append(f"| {tracing} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def machine_line(measurements):
    rounds = len({(round_of(one), one["work"]) for one in measurements}) // max(1, len({one["work"] for one in measurements}))
    kernels = ", ".join(keys_in_order(measurements, "kernel"))
    cpus = ", ".join(str(number) for number in keys_in_order(measurements, "cpus"))
    return f"Linux {kernels}, {cpus} CPUs ({', '.join(keys_in_order(measurements, 'cpu'))}); medians of {rounds} rounds."


def document(measurements):
    """Everything that is known, as Markdown."""
    if not measurements:
        return "nothing was measured"
    figures = {figure: unit for one in measurements for figure, unit in one["units"].items()}
    parts = [machine_line(measurements), overview(measurements, figures), aim_table(measurements, figures),
             *part_tables(measurements, figures), *(figure_table(measurements, figure) for figure in figures)]
    return "\n\n".join(filter(None, parts))
