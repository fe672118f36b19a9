# SPDX-License-Identifier: BSD-2-Clause
"""The hooks of ktraced's event groups, by the names of tracefs: GROUP/EVENT."""

GROUPS = {
    "sched": ("sched/sched_switch", "sched/sched_waking", "sched/sched_wakeup", "sched/sched_wakeup_new",
              "sched/sched_migrate_task"),
    "process": ("sched/sched_process_fork", "sched/sched_process_exec", "sched/sched_process_exit", "task/task_rename"),
    "kmem": ("kmem/kmalloc", "kmem/kfree", "kmem/kmem_cache_alloc", "kmem/kmem_cache_free", "kmem/mm_page_alloc",
             "kmem/mm_page_free"),
    "syscalls": ("raw_syscalls/sys_enter", "raw_syscalls/sys_exit"),
    "signal": ("signal/signal_generate", "signal/signal_deliver"),
}
ALL_HOOKS = tuple(hook for hooks in GROUPS.values() for hook in hooks)
ALL_EVENTS = {group: True for group in GROUPS}
WITHOUT_CATCHERS = {"kmem": False, "syscalls": False}  # the section `exact` of a configuration


def raw_tracepoints(hooks):
    """The argument of bench_work: names without their groups, separated by commas."""
    return ",".join(hook.partition("/")[2] for hook in hooks)
