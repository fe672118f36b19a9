# SPDX-License-Identifier: BSD-2-Clause
"""The kernel's own trace, in an instance of its own."""
import contextlib

from harness.host import TRACEFS


class TraceInstance(contextlib.ExitStack):
    """An instance of tracefs that overwrites old events, as long as the context lasts. All events are off at first."""

    def __init__(self, buffer_kb):
        super().__init__()
        self.directory, self.buffer_kb = TRACEFS / "instances/ktraced-bench", buffer_kb

    def __enter__(self):
        self.directory.mkdir()
        self.callback(self.directory.rmdir)
        self.callback(self._write, "events/enable", 0)
        try:
            self._write("buffer_size_kb", self.buffer_kb)
            self._write("options/overwrite", 1)
        except BaseException:
            self.close()
            raise
        return self

    def enable(self, hooks, on=True):
        """Turns events on or off, by their names in tracefs: GROUP/EVENT."""
        for hook in hooks:
            self._write(f"events/{hook}/enable", int(on))

    def counts(self):
        """The events so far, of all CPUs, and those that were lost."""
        sums = {"entries": 0, "overrun": 0, "commit overrun": 0, "dropped events": 0}
        for file in self.directory.glob("per_cpu/cpu*/stats"):
            for line in file.read_text(encoding="ascii").splitlines():
                name, _, value = line.partition(": ")
                if name in sums:
                    sums[name] += int(value)
        return sums["entries"] + sums["overrun"], sums["commit overrun"] + sums["dropped events"]

    def _write(self, name, value):
        (self.directory / name).write_text(str(value), encoding="ascii")
