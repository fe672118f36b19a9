# SPDX-License-Identifier: BSD-2-Clause
"""Interleaved rounds: each work under each tracing."""
import dataclasses
import pathlib
import tempfile
import time

from harness.host import MeasurementError, description, say


def rotated(items, number):
    """The same items, beginning with another one each time."""
    start = number % len(items)
    return items[start:] + items[:start]


class Runner:
    """Writes one measurement for each run of a work under a tracing. `failures` are those that gave none."""

    def __init__(self, build, directory, results):
        self.build, self.directory, self.results = build, directory, results
        self.failures = []

    def run(self, works, tracings, rounds, seconds):
        """Works come one after the other, so that rounds of one work are close together in time."""
        machine = description()
        for work_type in works:
            say(f"{work_type.name}: {rounds} rounds of {len(tracings)} tracings")
            with work_type(self.build, self._new_directory(work_type.name), seconds) as work:
                for number in range(rounds):
                    for tracing in rotated(tracings, number):
                        self._add(work, tracing, round=number, **machine)

    def _add(self, work, tracing, **where):
        """One run that fails does not end the others."""
        try:
            self.results.add(**self._measured(work, tracing), **where)
        except MeasurementError as error:
            self.failures.append(f"{work.name} under {tracing.name}: {error}")
            say(f"  {tracing.name:16}failed: {error}")

    def _new_directory(self, name):
        return pathlib.Path(tempfile.mkdtemp(prefix=name + "-", dir=self.directory))

    def _measured(self, work, tracing_type):
        with tempfile.TemporaryDirectory(prefix=tracing_type.name + "-", dir=self.directory) as directory, \
                tracing_type(self.build, directory) as tracing:
            before, begin = tracing.counts(), time.monotonic()
            figures = work.run()
            elapsed = time.monotonic() - begin
            tracing.settle()
            counted = tracing.counts().since(before)
        say(f"  {tracing_type.name:16}" + "".join(f"{name} {value:.2f} {work.figures[name]}  " for name, value in figures.items()))
        return {"work": work.name, "tracing": tracing_type.name, "figures": figures, "units": work.figures,
                "elapsed_s": elapsed, **dataclasses.asdict(counted)}
