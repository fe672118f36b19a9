# SPDX-License-Identifier: BSD-2-Clause
"""The process that works, and times single stretches of its work."""
import contextlib
import subprocess

from harness.hooks import raw_tracepoints
from harness.host import MeasurementError

# The hooks that each kind of work hits, by their names in tracefs: GROUP/EVENT.
HOOKS = {
    "getppid": ("raw_syscalls/sys_enter", "raw_syscalls/sys_exit"),
    "pingpong": ("sched/sched_switch", "sched/sched_waking", "sched/sched_wakeup"),
    "procfile": ("kmem/kmalloc", "kmem/kfree", "kmem/kmem_cache_alloc", "kmem/kmem_cache_free"),
}


class Worker:
    """`bench_work serve` on one CPU, as long as the context lasts. It ends too when this process dies."""

    def __init__(self, build, work, cpu):
        self.work, self.hooks = work, HOOKS[work]
        command = [str(build / "bench_work"), "serve", work, str(cpu), raw_tracepoints(self.hooks)]
        self.popen = subprocess.Popen(command,
                                      stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                      start_new_session=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.popen.kill()
        self.popen.wait()
        for pipe in (self.popen.stdin, self.popen.stdout, self.popen.stderr):
            with contextlib.suppress(BrokenPipeError):
                pipe.close()

    def stretch(self, program, turns):
        """Does the work `turns` times under a BPF program of bench_work's own. Returns its ns, and the records of `ringbuf`."""
        try:
            self.popen.stdin.write(f"{program} {turns}\n")
            self.popen.stdin.flush()
            answer = self.popen.stdout.readline().split()
        except BrokenPipeError:
            answer = []
        if len(answer) != 2:
            raise MeasurementError(f"bench_work has ended: {self.popen.stderr.read().strip()}")
        return int(answer[0]), int(answer[1])
