# SPDX-License-Identifier: BSD-2-Clause
"""Processes that a measurement starts, and ends."""
import os
import pathlib
import signal
import subprocess
import time

from harness.host import MeasurementError

TICKS = os.sysconf("SC_CLK_TCK")


def cpu_seconds(pid):
    """User and system time of a process, its threads and the children that it has waited for."""
    try:
        stat = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except (FileNotFoundError, ProcessLookupError):
        return 0.0
    return sum(map(int, stat.rpartition(")")[2].split()[11:15])) / TICKS


def resident_kib(pid):
    """Resident memory by kind: Rss of /proc/PID/status, in KiB."""
    lines = pathlib.Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines()
    return {name: int(value.split()[0]) for name, _, value in (line.partition(":") for line in lines)
            if name in ("VmRSS", "RssAnon", "RssFile", "RssShmem")}


def wait_until(done, seconds, what):
    """Returns the first true result of `done`."""
    end = time.monotonic() + seconds
    while not (result := done()):
        if time.monotonic() > end:
            raise MeasurementError(f"{what} did not happen within {seconds} s")
        time.sleep(0.05)
    return result


class Process:
    """A process in a session of its own, with its output in a file. Ends with its context."""

    def __init__(self, command, log, *, executable=None, environment=None):
        self.log, self.what = pathlib.Path(log), str(command[0])
        with self.log.open("wb") as output:
            self.popen = subprocess.Popen(list(map(str, command)), stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                                          executable=executable, start_new_session=True,
                                          env={**os.environ, **(environment or {})})
        self.pid, self.usage = self.popen.pid, None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end(signal.SIGTERM)

    def is_alive(self):
        return self.usage is None and self.popen.poll() is None

    def output(self):
        return self.log.read_text(encoding="utf-8", errors="replace")

    def cpu_seconds(self):
        """So far, or altogether if it has been ended."""
        return self.usage if self.usage is not None else cpu_seconds(self.pid)

    def wait_for(self, ready, seconds=30):
        """Waits until ready() is true; an error if the process ends before."""
        def done():
            if not self.is_alive():
                raise MeasurementError(f"{self.what} has ended: {self.output()[-2000:].strip()}")
            return ready()
        return wait_until(done, seconds, f"the start of {self.what}")

    def wait(self, seconds):
        """Waits for its own end; its code."""
        if not self._reap(seconds):
            raise MeasurementError(f"{self.what} has not ended within {seconds} s")
        return self.popen.returncode

    def end(self, number=signal.SIGINT, seconds=60):
        """Sends the signal to its process group; kills what does not end in time."""
        if self.usage is not None:
            return
        for signal_number, limit in ((number, seconds), (signal.SIGKILL, 10)):
            self._send(signal_number)
            if self._reap(limit):
                break
        self._send(signal.SIGKILL)  # children that outlive it

    def _send(self, number):
        try:
            os.killpg(self.pid, number)
        except ProcessLookupError:
            pass

    def _reap(self, seconds):
        """Waits for the end; keeps the CPU time that the kernel then reports."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if self.popen.returncode is not None:  # poll() has waited for it
                self.usage = self.usage or 0.0
                return True
            pid, status, usage = os.wait4(self.pid, os.WNOHANG)
            if pid:
                self.popen.returncode = os.waitstatus_to_exitcode(status)
                self.usage = usage.ru_utime + usage.ru_stime
                return True
            time.sleep(0.02)
        return False


def sleeper(directory):
    """A process that only sleeps: a filter for it rejects what all others do."""
    return Process(["sleep", "infinity"], directory / "sleep.log")
