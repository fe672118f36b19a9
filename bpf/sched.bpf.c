// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Scheduler events. */
#include "emit.h"

/* sched_switch(preempt, prev, next, prev_state); before 5.18 without prev_state */
FILL(sched_switch)
{
	struct task_struct *prev = ARGUMENT(ctx, 1, struct task_struct);
	struct task_struct *next = ARGUMENT(ctx, 2, struct task_struct);

	r->prev_pid = prev->pid;
	r->prev_prio = prev->prio;
	r->prev_state = switch_state(ctx[0], prev, features.task_state_is_arg ? ctx[3] : 0);
	r->next_pid = next->pid;
	r->next_prio = next->prio;
}

TYPED_EVENT_PROGRAM(sched_switch)
{
	return RECORD(sched_switch, next_prio, pair_hit_matches(EVENT_sched_switch, ctx, 2));
}

/* The three wake-up records have the same fields. */
#define FILL_WAKEUP(r, task)                     \
	do {                                     \
		(r).pid = (task)->pid;           \
		(r).prio = (task)->prio;         \
		(r).target_cpu = task_cpu(task); \
	} while (0)

/* sched_waking(task) */
FILL(sched_waking)
{
	struct task_struct *task = ARGUMENT(ctx, 0, struct task_struct);

	FILL_WAKEUP(*r, task);
}

TYPED_EVENT_PROGRAM(sched_waking)
{
	return RECORD(sched_waking, target_cpu, pair_hit_matches(EVENT_sched_waking, ctx, 0));
}

/* sched_wakeup(task) */
FILL(sched_wakeup)
{
	struct task_struct *task = ARGUMENT(ctx, 0, struct task_struct);

	FILL_WAKEUP(*r, task);
}

TYPED_EVENT_PROGRAM(sched_wakeup)
{
	return RECORD(sched_wakeup, target_cpu, pair_hit_matches(EVENT_sched_wakeup, ctx, 0));
}

/* sched_wakeup_new(task) */
FILL(sched_wakeup_new)
{
	struct task_struct *task = ARGUMENT(ctx, 0, struct task_struct);

	FILL_WAKEUP(*r, task);
}

TYPED_EVENT_PROGRAM(sched_wakeup_new)
{
	return RECORD(sched_wakeup_new, target_cpu, pair_hit_matches(EVENT_sched_wakeup_new, ctx, 0));
}

/* sched_migrate_task(task, dest_cpu) */
FILL(sched_migrate_task)
{
	struct task_struct *task = ARGUMENT(ctx, 0, struct task_struct);

	r->pid = (task)->pid;
	r->prio = (task)->prio;
	r->orig_cpu = task_cpu(task);
	r->dest_cpu = ctx[1];
}

TYPED_EVENT_PROGRAM(sched_migrate_task)
{
	return RECORD(sched_migrate_task, dest_cpu, pair_hit_matches(EVENT_sched_migrate_task, ctx, 0));
}
