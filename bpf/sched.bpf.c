// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Scheduler events. */
#include "emit.h"

/* sched_switch(preempt, prev, next, prev_state); before 5.18 without prev_state */
EVENT_PROGRAM(sched_switch)
{
	struct task_struct *prev = (void *)ctx[1], *next = (void *)ctx[2];
	struct rec_sched_switch r = {};

	if (!pair_hit_wanted(EVENT_sched_switch, next))
		return 0;
	r.prev_pid = bpf_get_current_pid_tgid();
	r.prev_prio = READ(prev, prio);
	r.prev_state = switch_state(ctx[0], prev, features.task_state_is_arg ? ctx[3] : 0);
	r.next_pid = READ(next, pid);
	r.next_prio = READ(next, prio);
	return EMIT(sched_switch, &r);
}

/* The three wake-up records have the same fields. */
#define FILL_WAKEUP(r, task)                     \
	do {                                     \
		(r).pid = READ(task, pid);       \
		(r).prio = READ(task, prio);     \
		(r).target_cpu = task_cpu(task); \
	} while (0)

/* sched_waking(task) */
EVENT_PROGRAM(sched_waking)
{
	struct task_struct *task = (void *)ctx[0];
	struct rec_sched_waking r = {};

	if (!pair_hit_wanted(EVENT_sched_waking, task))
		return 0;
	FILL_WAKEUP(r, task);
	return EMIT(sched_waking, &r);
}

/* sched_wakeup(task) */
EVENT_PROGRAM(sched_wakeup)
{
	struct task_struct *task = (void *)ctx[0];
	struct rec_sched_wakeup r = {};

	if (!pair_hit_wanted(EVENT_sched_wakeup, task))
		return 0;
	FILL_WAKEUP(r, task);
	return EMIT(sched_wakeup, &r);
}

/* sched_wakeup_new(task) */
EVENT_PROGRAM(sched_wakeup_new)
{
	struct task_struct *task = (void *)ctx[0];
	struct rec_sched_wakeup_new r = {};

	if (!pair_hit_wanted(EVENT_sched_wakeup_new, task))
		return 0;
	FILL_WAKEUP(r, task);
	return EMIT(sched_wakeup_new, &r);
}

/* sched_migrate_task(task, dest_cpu) */
EVENT_PROGRAM(sched_migrate_task)
{
	struct task_struct *task = (void *)ctx[0];
	struct rec_sched_migrate_task r = {};

	if (!pair_hit_wanted(EVENT_sched_migrate_task, task))
		return 0;
	r.pid = READ(task, pid);
	r.prio = READ(task, prio);
	r.orig_cpu = task_cpu(task);
	r.dest_cpu = ctx[1];
	return EMIT(sched_migrate_task, &r);
}
