/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Names of threads: the current ones in the map tasks, earlier changes in the map
 * name_changes.
 */
#ifndef KTRACED_BPF_TASK_NAMES_H
#define KTRACED_BPF_TASK_NAMES_H

#include "filter.h"
#include "names.h"

static __always_inline bool same_name(const struct task_info *a, const struct task_info *b)
{
	const u64 *x = (const void *)a->comm, *y = (const void *)b->comm;

	return a->start_time == b->start_time && a->tgid == b->tgid && a->uid == b->uid && x[0] == y[0] &&
	       x[1] == y[1];
}

static __always_inline void note_change(u32 tid, const struct task_info *before, const struct task_info *after)
{
	u64 number = __sync_fetch_and_add(&control.name_changes, 1);
	u32 index = number & (NAME_CHANGES_MAX - 1);
	struct name_change *change = bpf_map_lookup_elem(&name_changes, &index);

	if (!change)
		return;
	*(volatile u64 *)&change->number = 0;
	barrier();
	change->tid = tid;
	if (before)
		change->before = *before;
	else
		__builtin_memset(&change->before, 0, sizeof(change->before));
	change->after = *after;
	barrier(); /* x86 keeps the order of stores */
	*(volatile u64 *)&change->number = number + 1;
}

static __always_inline void read_task(struct task_struct *task, const char *comm, struct task_info *info)
{
	info->tgid = READ(task, tgid);
	info->uid = READ(task, cred, uid.val);
	info->start_time = READ(task, start_boottime);
	bpf_probe_read_kernel_str(info->comm, sizeof(info->comm), comm);
}

static __always_inline void put_name(u32 tid, const struct task_info *known, const struct task_info *info)
{
	struct rec_metadata_task r = {};

	if (!known || !same_name(known, info))
		note_change(tid, known, info);
	bpf_map_update_elem(&tasks, &tid, info, BPF_ANY);
	if (!control.stream)
		return;
	r.tgid = info->tgid;
	r.uid = info->uid;
	r.start_time = info->start_time;
	__builtin_memcpy(r.comm, info->comm, sizeof(r.comm));
	emit_metadata(&r.h, info->since, METADATA_task, sizeof(r), tid);
}

/* Records the name of `task` from now on. A separate function, so that its stack is
 * free when its callers call other functions. */
static __noinline int task_named(struct task_struct *task, u32 tid, const char *comm)
{
	struct task_info *known = bpf_map_lookup_elem(&tasks, &tid);
	struct task_info info = {};

	read_task(task, comm, &info);
	info.since = info.seen = bpf_ktime_get_boot_ns();
	if (known && same_name(known, &info))
		info.since = known->since;
	put_name(tid, known, &info);
	return 0;
}

static __always_inline bool task_known(struct task_struct *task, u32 tid)
{
	struct task_info *known = bpf_map_lookup_elem(&tasks, &tid);

	return known && known->start_time == READ(task, start_boottime);
}

/*
 * Compares a live thread with its entry, which may be outdated: programs are not always
 * attached, and the table is bounded. Programs that write at the same time win: their
 * recent entries stay. If this check overwrites an entry before the task has its new
 * name, the next check corrects it.
 */
static __always_inline void check_name(struct task_struct *task)
{
	u32 tid = READ(task, pid);
	u64 now = bpf_ktime_get_boot_ns(), begun = control.names_since;
	struct task_info *known = bpf_map_lookup_elem(&tasks, &tid);
	struct task_info info = {};

	read_task(task, (void *)&task->comm, &info);
	if (known && same_name(known, &info)) {
		known->seen = now;
		return;
	}
	if (known && known->since >= begun && known->since + RENAME_TAKES_NS > now)
		return;
	info.seen = now;
	/* The name changed while no program was attached, or a program missed the
	 * change. */
	info.since = known && known->seen >= begun ? now : begun;
	if (info.since < info.start_time)
		info.since = info.start_time;
	put_name(tid, known, &info);
	evict_thread(tid);
}

#endif
