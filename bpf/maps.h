/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The maps that all programs share. The daemon replaces each size of 1 before loading,
 * according to the number of CPUs.
 */
#ifndef KTRACED_BPF_MAPS_H
#define KTRACED_BPF_MAPS_H

#include "kernel.h"
#include "shared_state.h"

enum {
	EXEC_CALLS_MAX = 4096,
};

struct control control SEC(".data.control") = {
	.session_bits = { 1, 2, 4, 8, 16, 32, 64, 128 },
	.entries_since = (u64)-1,
};

/* The address of `control` once more. To load it takes one instruction, and to keep it across a call of the
 * kernel three: the register for it has to be saved. */
static __always_inline const struct control *load_control(void)
{
	const struct control *c;

	asm volatile("%0 = control ll" : "=r"(c));
	return c;
}

_Static_assert(SESSIONS_MAX == 8, "session_bits has a bit for each session");

/* 1 << session, but not known to the verifier: before 6.2 it follows each set of sessions
 * whose bits it knows separately, which are too many. */
static __always_inline u32 session_bit(u32 session)
{
	return control.session_bits[session & (SESSIONS_MAX - 1)];
}

/* The number of a session, by its bit; 0: several sessions, or the recorder. */
const volatile u8 session_numbers[WAY_SESSIONS + 1] SEC(".rodata.session_numbers") = {
	[1] = 0, [2] = 1, [4] = 2, [8] = 3, [16] = 4, [32] = 5, [64] = 6, [128] = 7,
};

/* Stream rings where the kernel has no arenas: index = session × CPUs + CPU; a CPU without a ring
 * drops and counts. */
struct stream_ring {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(u32));
	__array(values, struct stream_ring);
} stream_rings SEC(".maps");

/* Wakes the reader of stream rings in the arena. What is in it does not matter. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 65536);
} stream_wakeups SEC(".maps");

const volatile struct layout layout SEC(".rodata.layout") = { .cpus = 1, .flight_mask = 65535 };

/* Flight rings: index = bank × CPUs + CPU; see struct flight_header. */
struct flight_ring {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(key_size, sizeof(u32));
	__uint(value_size, sizeof(struct flight_header) + 65536 + FLIGHT_SPILL);
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(u32));
	__array(values, struct flight_ring);
} flight_rings SEC(".maps");

/* Counters: index = CPU, read by the daemon through mmap. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, u32);
	__type(value, struct cpu_state);
} cpu_states SEC(".maps");

/* Its element shows where the kernel has the per-CPU memory of each CPU: locate_cpu(). */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, u64);
} per_cpu_anchor SEC(".maps");

/* Counters of the sessions: index = session × CPUs + CPU, read by the daemon through mmap. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, u32);
	__type(value, struct session_state);
} session_states SEC(".maps");

/* Metadata records for readers of the stream: new tasks, renames, slab caches. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 512 * 1024);
} metadata_records SEC(".maps");

/* Names of threads by tid; those of ended threads stay until the space is needed. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, TASKS_MAX);
	__type(key, u32);
	__type(value, struct task_info);
} tasks SEC(".maps");

/* The latest name changes: a snapshot needs the earlier names for its older events. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, NAME_CHANGES_MAX);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, u32);
	__type(value, struct name_change);
} name_changes SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, CACHES_MAX);
	__type(key, u64);
	__type(value, struct cache_info);
} caches SEC(".maps");

/* Paths of the control groups that exist, by id; h.ts of the value is since when the path is here. They must
 * not be evicted: a group can be older than any number of others. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, CGROUPS_MAX);
	__type(key, u64);
	__type(value, struct rec_metadata_cgroup);
} cgroups SEC(".maps");

/* The latest control groups that were removed: threads of the history were in them. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, REMOVED_CGROUPS_MAX);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, u32);
	__type(value, struct removed_cgroup);
} removed_cgroups SEC(".maps");

/* Caches whose name is already known, by hash of their address. */
u64 cache_slots[CACHE_SLOTS] SEC(".data.cache_slots") = {};

/* Which sessions match a thread: see THREAD_SLOTS. In .bss, the only large section that needs
 * no room in the object file. */
u64 threads[THREAD_SLOTS] = {};

/* When the calls of threads began: see ENTRY_SLOTS. In .bss, to need no room in the object
 * file. */
u64 call_entries[ENTRY_SLOTS] = {};

/* The system calls by which tasks execute programs, key the address of the task: see exec_begins(). */
struct exec_call {
	u32 tgid;
	u32 nr, abi;
	u32 succeeded; /* 0: the kernel has begun to replace the program */
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, EXEC_CALLS_MAX);
	__type(key, u64);
	__type(value, struct exec_call);
} exec_calls SEC(".maps");

/* Pids and uids of all filters. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, FILTER_IDS_TOTAL);
	__type(key, struct filter_id_key);
	__type(value, u8);
} filter_ids SEC(".maps");

/* Living processes of the followed trees, key tgid. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, FOLLOWED_MAX);
	__type(key, u32);
	__type(value, struct followed_process);
} followed SEC(".maps");

/* Definitions of dynamic events, in pieces: struct definition_key. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, DYNAMIC_EVENTS_MAX * 4);
	__type(key, struct definition_key);
	__type(value, struct definition_piece);
} definitions SEC(".maps");

/* Programs that the attached stubs tail-call: enum dynamic_program. */
struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, DYNAMIC_PROGRAMS);
	__type(key, u32);
	__type(value, u32);
} dynamic_programs SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, EVENT_ID_MAX);
	__type(key, u32);
	__type(value, struct tracepoint_layout);
} tracepoint_layouts SEC(".maps");

#endif
