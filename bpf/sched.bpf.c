// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Scheduler events. */
#include "emit.h"

/* sched_switch(preempt, prev, next, prev_state); before 5.18 without prev_state */
TYPED_EVENT(sched_switch, OF_TYPED_PAIR(2), struct rec_sched_switch *r, const struct hit *hit)
{
	const struct task_struct *prev = TYPED(hit, 1, struct task_struct);
	const struct task_struct *next = TYPED(hit, 2, struct task_struct);

	r->prev_pid = READ(prev, pid);
	r->prev_prio = READ(prev, prio);
	r->prev_state = switch_state(hit->args[0], prev, features.task_state_is_arg ? hit->args[3] : 0);
	r->next_pid = READ(next, pid);
	r->next_prio = READ(next, prio);
}

/* sched_waking(task) */
TYPED_EVENT(sched_waking, OF_TYPED_PAIR(0), struct rec_sched_waking *r, const struct hit *hit)
{
	const struct task_struct *task = TYPED(hit, 0, struct task_struct);

	r->pid = READ(task, pid);
	r->prio = READ(task, prio);
	r->target_cpu = task_cpu(task);
}

/* sched_wakeup(task) */
TYPED_EVENT(sched_wakeup, OF_TYPED_PAIR(0), struct rec_sched_wakeup *r, const struct hit *hit)
{
	const struct task_struct *task = TYPED(hit, 0, struct task_struct);

	r->pid = READ(task, pid);
	r->prio = READ(task, prio);
	r->target_cpu = task_cpu(task);
}

/* sched_wakeup_new(task) */
TYPED_EVENT(sched_wakeup_new, OF_TYPED_PAIR(0), struct rec_sched_wakeup_new *r, const struct hit *hit)
{
	const struct task_struct *task = TYPED(hit, 0, struct task_struct);

	r->pid = READ(task, pid);
	r->prio = READ(task, prio);
	r->target_cpu = task_cpu(task);
}

/* sched_migrate_task(task, dest_cpu) */
TYPED_EVENT(sched_migrate_task, OF_TYPED_PAIR(0), struct rec_sched_migrate_task *r, const struct hit *hit)
{
	const struct task_struct *task = TYPED(hit, 0, struct task_struct);

	r->pid = READ(task, pid);
	r->prio = READ(task, prio);
	r->orig_cpu = task_cpu(task);
	r->dest_cpu = hit->args[1];
}
