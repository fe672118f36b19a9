# SPDX-License-Identifier: BSD-2-Clause
"""Interleaved stretches of work: each case in turn, many times."""
import contextlib
import math

from hits.cases import CASES, check_seen, names_for
from hits.worker import Worker
from harness.host import MeasurementError, say
from programs.runner import rotated

TRIES = 5


def turns_of(worker, stretch_ms):
    """The turns of an untraced stretch of this length, in two digits."""
    ns = min(worker.stretch("nothing", 1000)[0] for _ in range(TRIES)) / 1000
    turns = stretch_ms * 1e6 / ns
    step = 10 ** max(0, math.floor(math.log10(turns)) - 1)
    return max(1, round(turns / step)) * step


def hits_of_a_turn(worker, turns):
    """Counted as records in a ring buffer; the fewest, because other processes add theirs."""
    hits = round(min(worker.stretch("ringbuf", turns)[1] for _ in range(TRIES)) / turns, 1)
    if hits == 0:
        raise MeasurementError(f"{worker.work} causes no hits of {', '.join(worker.hooks)}; measure another kind of work")
    return hits


def ns_of_a_turn(worker, case, turns):
    case.turn(True)
    try:
        return worker.stretch(case.program, turns)[0] / turns
    finally:
        case.turn(False)


def measure(chosen, work, directory):
    """The figures of one kind of work: see hits/table.py."""
    with contextlib.ExitStack() as stack:
        worker = stack.enter_context(Worker(chosen.build, work, chosen.cpu))
        turns = turns_of(worker, chosen.stretch_ms)
        hits = hits_of_a_turn(worker, turns)
        cases = [stack.enter_context(CASES[name](name, chosen.build, directory, worker.hooks))
                 for name in names_for(work, chosen.case)]
        say(f"{work}: {chosen.rounds} rounds of {len(cases)} cases; a stretch has {turns:,} turns of {hits:g} hits")
        before = {case.name: case.seen() for case in cases}
        times = {case.name: [] for case in cases}
        for number in range(chosen.rounds):
            for case in rotated(cases, number):
                times[case.name].append(ns_of_a_turn(worker, case, turns))
        for case in cases:
            check_seen(case, before[case.name], chosen.rounds * turns * hits)
    return {"turns": turns, "hits": hits, "rounds": chosen.rounds, "turn_ns": {name: min(values) for name, values in times.items()}}
