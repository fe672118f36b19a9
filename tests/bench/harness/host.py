# SPDX-License-Identifier: BSD-2-Clause
"""The machine that is measured: its packages, mounts and description, and how a measurement ends."""
import contextlib
import os
import pathlib
import platform
import re
import signal
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[3]
BPFFS, TRACEFS = pathlib.Path("/sys/fs/bpf"), pathlib.Path("/sys/kernel/tracing")


class MeasurementError(Exception):
    """One sentence: what failed, on what, what to do."""


def say(text):
    """Progress, on stderr: stdout has the table."""
    print(text, file=sys.stderr, flush=True)


def require_root(script):
    if os.geteuid() != 0:
        raise SystemExit(f"{script}: needs root to load BPF programs; run: sudo tests/bench/{script}")


def end_on_signals():
    """SIGTERM and SIGHUP end the program as Ctrl-C does, so that everything is cleaned up."""
    def interrupt(*_):
        raise KeyboardInterrupt
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, interrupt)


def install_packages(names):
    """Installs missing packages as all scripts do."""
    libraries = ROOT / "scripts/lib"
    code = f'set -euo pipefail; . "{libraries}/common.sh"; . "{libraries}/packages.sh"; install_packages "$@" >&2'
    # RUNLEVEL=1: packages with a service do not start it.
    done = subprocess.run(["bash", "-c", code, "bench", *names], env={**os.environ, "RUNLEVEL": "1"}, check=False)
    if done.returncode:
        raise MeasurementError(f"cannot install {' '.join(names)}; install them by hand")


def file_system_of(directory):
    """The type of the file system that is mounted on exactly this directory, or None."""
    for line in pathlib.Path("/proc/self/mounts").read_text(encoding="utf-8").splitlines():
        _, where, kind, *_ = line.split()
        if where == str(directory):
            return kind
    return None


@contextlib.contextmanager
def mounts():
    """Mounts bpffs and tracefs if they are missing, and unmounts what it has mounted."""
    with contextlib.ExitStack() as stack:
        for kind, directory in (("bpf", BPFFS), ("tracefs", TRACEFS)):
            if file_system_of(directory) != kind:
                subprocess.run(["mount", "-t", kind, kind, directory], check=True)
                stack.callback(subprocess.run, ["umount", directory], check=False)
        yield


def description():
    """What a reader of the figures must know of the machine."""
    cpu = re.search(r"^model name\s*:\s*(.*)$", pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8"), re.MULTILINE)
    return {"kernel": platform.release(), "cpus": len(os.sched_getaffinity(0)),
            "cpu": cpu[1] if cpu else platform.machine()}
