# SPDX-License-Identifier: BSD-2-Clause
"""What tracing changes: figures against the untraced run of the same round."""

UNTRACED = "nothing"
TIMES = ("s",)  # units that get better downwards


def round_of(measurement):
    return measurement.get("file"), measurement["round"]


def unit_of(measurements, figure):
    return next(one["units"][figure] for one in measurements if figure in one["figures"])


def runs_of(measurements, tracing, figure):
    return [one for one in measurements if one["tracing"] == tracing and figure in one["figures"]]


def by_round(measurements, figure):
    """By tracing, and by round of each file: the value of a figure."""
    found = {}
    for one in measurements:
        if figure in one["figures"]:
            found.setdefault(one["tracing"], {})[round_of(one)] = one["figures"][figure]
    return found


def against_untraced(measurements, figure, change):
    """By tracing and round: change(value, untraced value). A round without an untraced run is left out."""
    values = by_round(measurements, figure)
    untraced = values.get(UNTRACED, {})
    return {tracing: {number: change(value, untraced[number]) for number, value in own.items() if number in untraced}
            for tracing, own in values.items()}


def changes(measurements, figure):
    """By tracing: the changes of a figure, as fractions."""
    changed = against_untraced(measurements, figure, lambda value, untraced: value / untraced - 1)
    return {tracing: list(rounds.values()) for tracing, rounds in changed.items() if rounds}


def slow_downs(measurements, figure):
    """By tracing and round: how much longer the same work takes, as a fraction. In contrast to the change of a rate, it is
    proportional to what a hit costs, so slow-downs can be divided by each other."""
    if unit_of(measurements, figure) in TIMES:
        return against_untraced(measurements, figure, lambda value, untraced: value / untraced - 1)
    return against_untraced(measurements, figure, lambda value, untraced: untraced / value - 1)


def percent(fraction, digits=1):
    return f"{fraction * 100:+.{digits}f} %".replace("-", "−")


def spread(values):
    return f"{percent(min(values))} to {percent(max(values))}"
