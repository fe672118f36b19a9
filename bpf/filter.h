/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Decides which sessions a hit matches, before anything is written.
 *
 * Each session has a filter. A task matches when, for every included kind of value, at
 * least one value matches, and no excluded value does. Events about two tasks (switch,
 * wake-up, signal) match when either task does. An excluded task therefore still appears
 * in events whose other task matches.
 *
 * Filters are about threads, and what they match changes rarely: when a thread is made,
 * when it is renamed or moved to another control group, when a filter is set. So the
 * result is kept in the table of threads, and a hit only loads it.
 */
#ifndef KTRACED_BPF_FILTER_H
#define KTRACED_BPF_FILTER_H

#include "kernel_compat.h"
#include "maps.h"

/* False: certainly not listed. True: perhaps listed. Needs no map look-up. */
static __always_inline bool id_hinted(const struct filter_side *side, u32 value)
{
	return side->id_hints[value / 64 % (FILTER_HINTS / 64)] >> (value % 64) & 1;
}

/* One side of the filter of a session, as it is in use now. */
struct side {
	const struct filter_side *values;
	u32 owner, exclude; /* see struct filter_id_key */
};

static __always_inline struct side side_of(u32 session, u32 exclude)
{
	const struct session_filter *filter = &control.filters[session & (SESSIONS_MAX - 1)];
	u32 slot = filter->slot & 1;
	const struct filter_side *include = &filter->slots[slot].include;

	/* Without a branch: the verifier would follow both sides through all loops. */
	_Static_assert(sizeof(struct filter) == 2 * sizeof(*include), "they are an array");
	return (struct side){ include + (exclude & 1), FILTER_OWNER(session, slot), exclude };
}

static __always_inline bool id_listed(const struct side *side, u32 kind, u32 value)
{
	struct filter_id_key key = {
		.owner = side->owner, .kind = kind, .exclude = side->exclude, .value = value
	};

	return id_hinted(side->values, value) && bpf_map_lookup_elem(&filter_ids, &key) != NULL;
}

static __always_inline bool comm_matches(const struct filter_side *side, const u64 comm[2])
{
	for (u32 i = 0; i < FILTER_COMM_MAX; i++) {
		if (i >= side->comm_count)
			break;
		const struct comm_pattern *p = &side->comm[i];
		if ((comm[0] & p->mask[0]) == p->word[0] && (comm[1] & p->mask[1]) == p->word[1])
			return true;
	}
	return false;
}

static __always_inline bool cgroup_matches(const struct filter_side *side, struct task_struct *task)
{
	struct cgroup *cgroup = READ(task, cgroups, dfl_cgrp);

	for (u32 i = 0; i < FILTER_CGROUP_MAX; i++) {
		if (i >= side->cgroup_count)
			break;
		if (cgroup_ancestor_id(cgroup, side->cgroup[i].level) == side->cgroup[i].id)
			return true;
	}
	return false;
}

/* The entry of the process of a task; null: it is not followed. */
static __always_inline struct followed_process *followed_entry(struct task_struct *task)
{
	u32 tgid = READ(task, tgid);
	struct followed_process *process = bpf_map_lookup_elem(&followed, &tgid);

	if (!process || READ(task, group_leader, start_boottime) - process->start_time >= process->precision)
		return NULL;
	return process;
}

static __always_inline bool follow_matches(const struct filter_side *side, struct task_struct *task)
{
	struct followed_process *process = followed_entry(task);

	return process && (process->roots & side->follow_roots);
}

/* The name of a thread. A rename is noted before the kernel carries it out, so what was
 * noted is newer than what the task says. The idle tasks have no entry. */
static __always_inline void comm_of(struct task_struct *task, u32 tid, u64 comm[2])
{
	struct task_info *known = bpf_map_lookup_elem(&tasks, &tid);

	if (tid && known && known->start_time == READ(task, start_boottime))
		__builtin_memcpy(comm, known->comm, 2 * sizeof(u64));
	else
		bpf_core_read(comm, 2 * sizeof(u64), &task->comm);
}

/* The kinds of one side, of those in `asked`, that have a value matching the task. This
 * is a global function because the verifier checks those once, not at each call; their
 * arguments must be scalars. */
__noinline u32 matching_kinds(u64 task_address, u32 session, u32 exclude, u32 asked)
{
	struct task_struct *task = (void *)task_address;
	struct side side = side_of(session, exclude);
	u32 kinds = side.values->kinds & asked, matching = 0, tid = READ(task, pid), tgid = READ(task, tgid);

	if (kinds & FILTER_PID && (id_listed(&side, FILTER_PID, tgid) || id_listed(&side, FILTER_PID, tid)))
		matching |= FILTER_PID;
	if (kinds & FILTER_UID && id_listed(&side, FILTER_UID, READ(task, cred, uid.val)))
		matching |= FILTER_UID;
	if (kinds & FILTER_COMM) {
		u64 comm[2] = {};

		comm_of(task, tid, comm);
		if (comm_matches(side.values, comm))
			matching |= FILTER_COMM;
	}
	if (kinds & FILTER_FOLLOW && follow_matches(side.values, task))
		matching |= FILTER_FOLLOW;
	if (kinds & FILTER_CGROUP && cgroup_matches(side.values, task))
		matching |= FILTER_CGROUP;
	return matching;
}

static __always_inline bool is_daemon(u32 tgid)
{
	return tgid == control.self_tgid;
}

/* Of `sessions`, those whose filter the task matches, by the kinds in `asked`. */
static __always_inline u32 judge(u64 task, u32 sessions, u32 asked)
{
	u32 matching = control.no_session;

	for (u32 session = 0; session < SESSIONS_MAX; session++) {
		u32 bit = session_bit(session), include, exclude;

		if (!(sessions & bit))
			continue;
		include = side_of(session, 0).values->kinds & asked;
		exclude = side_of(session, 1).values->kinds & asked;
		if (include && matching_kinds(task, session, 0, asked) != include)
			continue;
		if (exclude && matching_kinds(task, session, 1, asked))
			continue;
		matching |= bit;
	}
	return matching;
}

static __always_inline u64 thread_word(u64 generation, u32 tid, u32 sessions)
{
	return generation | (u64)tid << THREAD_TID_SHIFT | sessions;
}

/* Computes a word of the table of threads. It is kept unless the thread has changed
 * meanwhile: then evict_thread() has replaced the old word. */
__noinline u32 judge_thread(u64 task_address, u32 tid)
{
	u64 *place = &threads[tid & (THREAD_SLOTS - 1)];
	u64 old = *(volatile u64 *)place, generation = *(volatile u64 *)&control.generation;
	struct task_struct *task = (void *)task_address;
	u32 sessions;

	/* Never kept: without a filter, nothing evicts a thread of the daemon when it ends. */
	if (is_daemon(READ(task, tgid)))
		return 0;
	barrier();
	sessions = judge(task_address, WAY_SESSIONS, ~control.kinds_at_hit);
	if (tid || !control.idle_by_name)
		__sync_val_compare_and_swap(place, old, thread_word(generation, tid, sessions));
	return sessions;
}

/* By the kinds whose changes no hook reports. Only for the sessions that filter by one. */
__noinline u32 judge_at_hit(u64 task_address, u32 sessions)
{
	return judge(task_address, sessions, control.kinds_at_hit);
}

/* What a thread is has changed, or it has ended. The new word fits no thread, and differs
 * from each one before it, see judge_thread(). */
static __always_inline void evict_thread(u32 tid)
{
	*(volatile u64 *)&threads[tid & (THREAD_SLOTS - 1)] =
		bpf_ktime_get_ns() & ((1UL << THREAD_GENERATION_SHIFT) - 1);
}

/* The sessions that match a thread; more than WAY_SESSIONS if the table does not have it. */
static __always_inline u64 known_sessions(u32 tid)
{
	return threads[tid & (THREAD_SLOTS - 1)] ^ thread_word(control.generation, tid, 0);
}

/* Of the sessions that match by what is kept, those that also do by what is asked at the
 * hit. */
static __always_inline u32 also_at_hit(u64 task, u32 sessions, u32 asked)
{
	return sessions & (judge_at_hit(task, asked) | ~asked);
}

static __always_inline u32 current_sessions(u32 sessions, struct task_struct *current)
{
	u32 tid = current->pid, asked;
	u64 known = known_sessions(tid);

	if (known > WAY_SESSIONS)
		known = judge_thread(bpf_get_current_task(), tid);
	sessions &= known;
	if (!sessions)
		return 0;
	asked = sessions & control.sessions_at_hit;
	return asked ? also_at_hit(bpf_get_current_task(), sessions, asked) : sessions;
}

/* A task that is an argument of the program. In a typed program the verifier treats it
 * as a pointer, so its address is read as a scalar. */
static __always_inline u64 argument_address(const u64 *args, u32 argument)
{
	u64 address = 0;

	barrier_var(args); /* the verifier refuses context loads at a computed address */
	bpf_probe_read_kernel(&address, sizeof(address), args + argument);
	return address;
}

static __always_inline u32 argument_sessions(u32 sessions, const u64 *args, u32 argument, u32 tid)
{
	u64 known = known_sessions(tid);
	u32 asked;

	if (known > WAY_SESSIONS)
		known = judge_thread(argument_address(args, argument), tid);
	sessions &= known;
	if (!sessions)
		return 0;
	asked = sessions & control.sessions_at_hit;
	return asked ? also_at_hit(argument_address(args, argument), sessions, asked) : sessions;
}

/* Of `sessions`, those that match an event about the current task only. */
static __always_inline u32 matching_current(u32 sessions, struct task_struct *current)
{
	if (sessions & control.filtering)
		return current_sessions(sessions, current);
	return is_daemon(current->tgid) ? 0 : sessions;
}

/* Of `sessions`, those that match an event of the current task that is also about another
 * task: argument `argument`, a thread with this tid. */
static __always_inline u32 matching_tasks(u32 sessions, struct task_struct *current, const u64 *args,
					  u32 argument, u32 tid)
{
	u32 matching = current_sessions(sessions, current);

	return matching | argument_sessions(sessions & ~matching, args, argument, tid);
}

static __always_inline u32 matching_pair(u32 sessions, struct task_struct *current, const u64 *args,
					 u32 argument)
{
	struct task_struct *task = (void *)args[argument];

	if (sessions & control.filtering)
		return matching_tasks(sessions, current, args, argument, READ(task, pid));
	return is_daemon(current->tgid) && is_daemon(READ(task, tgid)) ? 0 : sessions;
}

/* matching_pair() for a TYPED_EVENT. */
static __always_inline u32 matching_typed_pair(u32 sessions, struct task_struct *current, const u64 *args,
					       u32 argument)
{
	const struct task_struct *task = TYPED_ARGUMENT(args, argument, struct task_struct);

	if (sessions & control.filtering)
		return matching_tasks(sessions, current, args, argument, READ(task, pid));
	return is_daemon(current->tgid) && is_daemon(READ(task, tgid)) ? 0 : sessions;
}

/* The sessions that select this system call. */
static __always_inline u32 call_sessions(u32 abi, u32 nr)
{
	/* The verifier must see the bounds on the values that are used. */
	barrier_var(abi);
	barrier_var(nr);
	if (abi >= SYSCALL_ABIS || nr >= SYSCALL_MAX)
		return control.all_calls_sessions;
	return control.call_sessions[abi][nr];
}

#endif
