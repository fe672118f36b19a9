/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Names are kept once, not written into every record: tasks by tid, with their control
 * groups, and slab caches by address. Each name is stored in a map, where it can be read at
 * any time. While the stream has a reader, a metadata record reports it too.
 */
#ifndef KTRACED_BPF_NAMES_H
#define KTRACED_BPF_NAMES_H

#include "filter.h"

static __always_inline void emit_metadata(struct record *r, u64 since, u32 id, u32 size, u32 tid)
{
	r->ts = since;
	r->id = id;
	r->size = size;
	r->tid = tid;
	if (!bpf_ringbuf_output(&metadata_records, r, size, BPF_RB_NO_WAKEUP))
		return;

	u32 cpu = bpf_get_smp_processor_id();
	struct cpu_state *state = bpf_map_lookup_elem(&cpu_states, &cpu);

	if (state)
		__sync_fetch_and_add(&state->names_dropped, 1);
}

/* Not inlined: it runs once for each cache, not for each event. */
static __noinline void cache_named(u64 key, const char *name)
{
	struct rec_metadata_slab_cache r = {};

	r.cache = key;
	bpf_probe_read_kernel_str(r.name, sizeof(r.name), name);
	bpf_map_update_elem(&caches, &key, r.name, BPF_ANY);
	emit_metadata(&r.h, bpf_ktime_get_boot_ns(), METADATA_slab_cache, sizeof(r), 0);
}

/* Has the cache been seen before? The table is direct-mapped: two caches that share a
 * slot are reported repeatedly, which costs time but loses nothing. */
static __always_inline bool cache_seen(u64 key)
{
	u64 *slot = &cache_slots[(key * 0x9e3779b97f4a7c15ULL >> 32) & (CACHE_SLOTS - 1)];

	if (*slot == key)
		return true;
	*slot = key;
	return false;
}

static __always_inline slab_cache_t name_at(const char *name, u64 key)
{
	if (!cache_seen(key))
		cache_named(key, name);
	return key;
}

static __always_inline slab_cache_t name_of_cache(struct kmem_cache *cache)
{
	u64 key = (u64)cache;

	if (!cache_seen(key))
		cache_named(key, READ(cache, name));
	return key;
}

/* ---- threads: the current names in the map tasks, earlier changes in name_changes ---- */

static __always_inline bool same_name(const struct task_info *a, const struct task_info *b)
{
	const u64 *x = (const void *)a->comm, *y = (const void *)b->comm;

	return a->start_time == b->start_time && a->tgid == b->tgid && a->uid == b->uid &&
	       a->cgroup == b->cgroup && x[0] == y[0] && x[1] == y[1];
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
	struct cgroup *cgroup = READ(task, cgroups, dfl_cgrp);

	info->tgid = READ(task, tgid);
	info->uid = READ(task, cred, uid.val);
	info->start_time = READ(task, start_boottime);
	info->cgroup = READ(cgroup, kn, id);
	bpf_probe_read_kernel_str(info->comm, sizeof(info->comm), comm);
}

/* Call this after read_task(). `known` is the entry with the id of the task, or null. */
static __always_inline void find_parent(struct task_struct *task, const struct task_info *known,
					struct task_info *info)
{
	if (known && known->start_time == info->start_time && known->parent)
		info->parent = known->parent;
	else
		info->parent = READ(task, real_parent, tgid);
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
	r.cgroup = info->cgroup;
	r.parent = info->parent;
	emit_metadata(&r.h, info->since, METADATA_task, sizeof(r), tid);
}

/* Records the name of `task` from now on. A separate function, so that its stack is
 * free when its callers call other functions. */
static __noinline int task_named(struct task_struct *task, u32 tid, const char *comm)
{
	struct task_info *known = bpf_map_lookup_elem(&tasks, &tid);
	struct task_info info = {};

	read_task(task, comm, &info);
	find_parent(task, known, &info);
	info.since = info.seen = bpf_ktime_get_boot_ns();
	if (known && same_name(known, &info))
		info.since = known->since;
	put_name(tid, known, &info);
	return 0;
}

/* Notes the user of the current thread, if it has another one now. */
static __noinline __attribute__((unused)) int note_user(void)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	u32 tid = READ(task, pid);
	struct task_info *known = bpf_map_lookup_elem(&tasks, &tid);

	if (known && known->start_time == READ(task, start_boottime) && known->uid == READ(task, cred, uid.val))
		return 0;
	return task_named(task, tid, (void *)&task->comm);
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
	find_parent(task, known, &info);
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
