/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Decides which hits match the filter, before anything is written.
 *
 * A task matches when, for every included kind of value, at least one value matches,
 * and no excluded value does. Events about two tasks (switch, wake-up, signal) match
 * when either task does. An excluded task therefore still appears in events whose other
 * task matches.
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

static __always_inline bool id_listed(const struct filter_side *side, u32 slot, u32 kind, u32 exclude,
				      u32 value)
{
	struct filter_id_key key = { .slot = slot, .kind = kind, .exclude = exclude, .value = value };

	return id_hinted(side, value) && bpf_map_lookup_elem(&filter_ids, &key) != NULL;
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

static __always_inline bool follow_matches(const struct filter_side *side, u32 tgid)
{
	u64 *roots = bpf_map_lookup_elem(&followed, &tgid);

	return roots && (*roots & side->follow_roots);
}

static __always_inline const struct filter_side *filter_side(u32 slot, u32 exclude)
{
	const struct filter *filter = &control.filter[slot & 1];

	return exclude ? &filter->exclude : &filter->include;
}

/* The task to match, with the ids that every filter needs. */
struct subject {
	struct task_struct *task; /* an address, not a typed pointer */
	u32 tid, tgid;
};

/* The kinds of one side that have a value matching the task. This is a global function
 * because the verifier checks those once, not at each call; their arguments must be
 * scalars. */
__noinline u32 matching_kinds(u64 task_address, u32 tid, u32 tgid, u32 slot, u32 exclude)
{
	const struct filter_side *side = filter_side(slot, exclude);
	struct task_struct *task = (void *)task_address;
	u32 kinds = side->kinds, matching = 0;

	if (kinds & FILTER_PID && (id_listed(side, slot, FILTER_PID, exclude, tgid) ||
				   id_listed(side, slot, FILTER_PID, exclude, tid)))
		matching |= FILTER_PID;
	if (kinds & FILTER_UID && id_listed(side, slot, FILTER_UID, exclude, READ(task, cred, uid.val)))
		matching |= FILTER_UID;
	if (kinds & FILTER_COMM) {
		u64 comm[2] = {};

		bpf_core_read(comm, sizeof(comm), &task->comm);
		if (comm_matches(side, comm))
			matching |= FILTER_COMM;
	}
	if (kinds & FILTER_FOLLOW && follow_matches(side, tgid))
		matching |= FILTER_FOLLOW;
	if (kinds & FILTER_CGROUP && cgroup_matches(side, task))
		matching |= FILTER_CGROUP;
	return matching;
}

static __always_inline u32 matching(const struct subject *s, u32 slot, u32 exclude)
{
	return matching_kinds((u64)s->task, s->tid, s->tgid, slot, exclude);
}

static __always_inline bool task_included(const struct subject *s, u32 slot)
{
	const struct filter_side *side = filter_side(slot, 0);

	if (!side->kinds)
		return true;
	/* Rejects most tasks early when the filter includes only a few processes. */
	if (side->kinds & FILTER_PID && !id_hinted(side, s->tgid) && !id_hinted(side, s->tid))
		return false;
	return matching(s, slot, 0) == side->kinds;
}

static __always_inline bool task_excluded(const struct subject *s, u32 slot)
{
	return filter_side(slot, 1)->kinds && matching(s, slot, 1);
}

static __always_inline struct subject current_subject(void)
{
	struct task_struct *current = current_task();

	return (struct subject){ (void *)bpf_get_current_task(), current->pid, current->tgid };
}

/* A task that is an argument of the program. In a typed program the verifier treats it
 * as a pointer, so the address is read as a scalar. */
static __always_inline struct subject argument_subject(const u64 *args, u32 argument)
{
	struct task_struct *task = (void *)args[argument];
	struct subject s = { NULL, READ(task, pid), READ(task, tgid) };

	barrier_var(args); /* the verifier refuses context loads at a computed address */
	bpf_probe_read_kernel(&s.task, sizeof(s.task), args + argument);
	return s;
}

/* For an event about the current task only. */
static __always_inline bool current_matches(void)
{
	if ((u32)current_task()->tgid == control.self_tgid)
		return false;
	if (!control.filtering)
		return true;

	struct subject current = current_subject();
	u32 slot = control.filter_slot;

	return task_included(&current, slot) && !task_excluded(&current, slot);
}

/* For an event of the current task that is also about another task: argument
 * `argument`. */
static __always_inline bool pair_matches(const u64 *args, u32 argument)
{
	u32 tgid = current_task()->tgid;
	bool current_is_self = tgid == control.self_tgid;

	if (current_is_self && (u32)READ((struct task_struct *)args[argument], tgid) == tgid)
		return false;
	if (!control.filtering)
		return true;

	struct subject current = current_subject(), other = argument_subject(args, argument);
	u32 slot = control.filter_slot;

	if (!task_included(&current, slot) && !task_included(&other, slot))
		return false;
	return !(current_is_self || task_excluded(&current, slot)) || !task_excluded(&other, slot);
}

static __always_inline bool syscall_selected(u32 abi, u32 nr)
{
	if (!control.select_syscalls)
		return true;
	if (abi >= SYSCALL_ABIS || nr >= SYSCALL_MAX)
		return false;
	return control.syscalls[abi][nr / 64] >> (nr % 64) & 1;
}

#endif
