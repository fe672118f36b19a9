/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Names are kept once, not written into every record: tasks by tid, slab caches by
 * address. Each name is stored in a map, where it can be read at any time. While the
 * stream has a reader, a metadata record reports it too.
 */
#ifndef KTRACED_BPF_NAMES_H
#define KTRACED_BPF_NAMES_H

#include "kernel_compat.h"
#include "maps.h"

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

#endif
