# SPDX-License-Identifier: BSD-2-Clause
"""A ktraced of its own: own socket, directories and pins."""
import json
import os
import pathlib
import shutil
import signal
import subprocess

from harness.host import BPFFS, MeasurementError
from harness.process import Process, resident_kib


class Daemon(Process):
    """ktraced with a configuration, as long as the context lasts. `base` is a configuration file that it builds on."""

    def __init__(self, build, work, config, base=None):
        self.work = pathlib.Path(work)
        self.socket, self.pins = self.work / "control.sock", BPFFS / f"ktraced-bench-{os.getpid()}-{self.work.name}"
        self.config, self.build = self.work / "ktraced.json", pathlib.Path(build)
        parts = self.work / "ktraced.conf.d"
        parts.mkdir(parents=True, exist_ok=True)
        if base:
            shutil.copy(base, self.config)
        else:
            self.config.write_text("{}", encoding="utf-8")
        own = {"control": {"socket": str(self.socket), "group": ""}, "bpffs": str(self.pins)}
        flight = {"directory": str(self.work / "snapshots"), **config.get("flight", {})}
        (parts / "bench.json").write_text(json.dumps({**config, **own, "flight": flight}), encoding="utf-8")
        super().__init__([self.build / "ktraced", "--config", self.config], self.work / "daemon.log")

    def __enter__(self):
        try:
            self.wait_for(lambda: self.client("status", check=False).returncode == 0, 60)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        self.end(signal.SIGTERM)
        if self.pins.exists():  # it was killed
            subprocess.run([self.build / "ktraced", "--config", self.config, "--cleanup"], check=False, capture_output=True)

    def client(self, *words, check=True):
        """Runs ktracectl; an error says what it printed."""
        done = subprocess.run([self.build / "ktracectl", "--socket", self.socket, *map(str, words)], check=False,
                              capture_output=True, text=True)
        if check and done.returncode:
            raise MeasurementError(f"ktracectl {' '.join(map(str, words))}: {done.stderr.strip()}")
        return done

    def answer(self, *words):
        """The JSON that ktracectl prints."""
        return json.loads(self.client("--json", *words).stdout)

    def totals(self, session):
        """recorded, filtered, dropped, missed and overwritten of a session."""
        return self.answer("session", "show", session)["totals"]

    def resident_kib(self):
        return resident_kib(self.pid)
