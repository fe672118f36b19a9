/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * State shared between the BPF programs and the daemon: what the daemon sets
 * before loading (features), what it changes at run time (control, filters),
 * and what the programs count (cpu_state, session_state).
 */
#ifndef KTRACED_BPF_SHARED_STATE_H
#define KTRACED_BPF_SHARED_STATE_H

#include "dynamic_state.h"
#include "records.h"

enum {
	SESSIONS_MAX = 8,         /* one bit each */
	SESSION_RECORDER = 0,     /* writes to the flight rings; the others have stream rings */
	SESSION_OUTPUT = 1,       /* the daemon's own trace files */
	SESSION_CLIENT_FIRST = 2, /* sessions of clients */
	FILTER_COMM_MAX = 16,     /* task name patterns per include or exclude list */
	FILTER_CGROUP_MAX = 16,   /* control groups per include or exclude list */
	FILTER_IDS_MAX = 4096,    /* pids and uids over all lists of one filter */
	FILTER_IDS_TOTAL = 32768, /* of all filters, and of those that are being replaced */
	FOLLOW_ROOTS_MAX = 64,    /* followed processes: one bit each */
	FOLLOWED_MAX = 16384,     /* live processes of all followed trees */
	TASKS_MAX = 32768,        /* names kept, of live and ended threads */
	NAME_CHANGES_MAX = 32768, /* power of two, see struct name_change */
	CACHES_MAX = 4096,        /* slab cache names kept */
	CGROUPS_MAX = 2048,       /* paths of control groups kept */
	CACHE_SLOTS = 1024,       /* power of two, see cache_seen() */
	FILTER_HINTS = 1024,      /* power of two, see struct filter_side */
	SYSCALL_MAX = 1024,       /* system call numbers below this can be selected */
	SYSCALL_ABIS = 3,         /* values of syscall_abi_t */

	/* The tracepoint task_rename runs before the task has its new name. A check
	 * that reads the task within this time must not restore the old name. */
	RENAME_TAKES_NS = 100 * 1000 * 1000,
};

enum node_source {
	NODE_ZERO = 0, /* the machine has only node 0 */
	NODE_IN_PAGE = 1,
	NODE_UNKNOWN = 2,
};

/* Where programs find the NUMA node of memory. The members after `source` are for
 * NODE_IN_PAGE: the highest bits of the flags of a struct page, its first member. */
struct page_nodes {
	u64 page_offset; /* virtual address of physical address 0 */
	u64 vmemmap;     /* address of the struct page of physical address 0 */
	u32 page_struct; /* bytes of a struct page */
	u16 source;      /* enum node_source */
	u16 flags_shift; /* flags >> flags_shift is the node */
};

/* Features of this kernel. Read-only for the programs, so that the verifier prunes the
 * branches of other kernels. */
struct features {
	struct page_nodes page_nodes;
	u8 typed_programs;        /* BPF_TRACE_RAW_TP (5.5): typed arguments; may be forbidden */
	u8 rdonly_cast;           /* bpf_rdonly_cast (6.2): direct loads from untrusted pointers */
	u8 task_state_is_arg;     /* sched_switch passes prev_state (5.18) */
	u8 kmalloc_has_node;      /* kmalloc carries the NUMA node (6.1) */
	u8 cache_alloc_is_cache;  /* kmem_cache_alloc passes struct kmem_cache (6.1) */
	u8 alloc_has_extra_cache; /* 6.0 alone: kmem_cache is the third argument of both */
	u8 cache_free_arg;        /* enum cache_free_arg */
	u8 victim_is_task;        /* mark_victim passes a task, not a pid (6.9, back-ported) */
	u8 exit_has_group_dead;   /* sched_process_exit passes group_dead (6.15) */
	u8 unused[7];             /* no padding: all bytes identify the programs */
};

/* Sizes fixed when the programs are loaded, so that the verifier knows them. */
struct layout {
	u32 zero;        /* always 0: the key of maps with one element */
	u32 cpus;        /* possible CPUs */
	u32 flight_mask; /* data bytes of a flight ring, a power of two, minus 1 */
};

enum cache_free_arg {
	CACHE_FREE_NONE = 0,  /* only call site and pointer */
	CACHE_FREE_NAME = 1,  /* const char *name (5.12 … 6.0) */
	CACHE_FREE_CACHE = 2, /* const struct kmem_cache * (6.1) */
};

/*
 * Which sessions have an event on, as programs read it: one word for each event.
 *
 * The low byte has a bit for each session. A program that loads the word counts its hit
 * in the counter that the word names (WAY_COUNTER). The daemon names another counter
 * with each change of the sessions, so it knows which hits each session saw.
 */
enum event_way {
	WAY_SESSIONS = 0xff,
	WAY_RECORDER = 1 << SESSION_RECORDER,
	/* Only the recorder has the event on, and it has no filter: such a hit is stored at
	 * once. It is counted by the flight ring, and not as a hit. */
	WAY_DIRECT = 1 << 8,
	/* These bits are the offset of the counter's row in cpu_state.hits, in bytes. */
	WAY_COUNTER_SHIFT = 14,
	WAY_COUNTERS = 4, /* the first two are used while the recorder has the event off */
	WAY_COUNTER = (WAY_COUNTERS - 1) << WAY_COUNTER_SHIFT,
};

/*
 * The programs of bpf/call.bpf.c record sys_enter and sys_exit for other sessions than the
 * tracepoints of that name. So they have words and counters of their own, in the places of
 * ids that no event has.
 */
enum {
	CALL_ENTERED = DYNAMIC_ID_FIRST - 2,
	CALL_RETURNED = DYNAMIC_ID_FIRST - 1,
};

/* Which arguments of a system call are strings: bit N for argument N. */
enum string_args {
	STRING_ARGS = 5,         /* any of the first five may be */
	STRING_ADDRESS = 1 << 7, /* argument 1 is a socket address, and argument 2 its length */
};

struct cpu_state {
	u64 names_dropped; /* metadata records lost; the daemon then rereads the tables */
	u64 reserved[7];
	/* By counter and event: hits that were not stored directly. */
	u64 hits[WAY_COUNTERS][EVENT_ID_MAX];
	/* By event: records counted by flight rings that are no more. Only the daemon writes
	 * this. */
	u64 released[EVENT_ID_MAX];
};

/*
 * What a session did with the hits of one event on one CPU. Atomic adds, because programs
 * nest in interrupts. Of the hits while it had the event on:
 * hits = recorded + filtered + dropped + missed; the kernel counts missed, and filtered is
 * what remains.
 */
struct session_counters {
	u64 recorded; /* the recorder: without what it stored directly */
	u64 dropped;  /* ring full, or no ring for this CPU yet */
	u64 reported; /* part of dropped that the daemon has reported; only it writes this */
};

struct session_state {
	u64 dropped_total; /* sum of events[].dropped: one read shows whether there are new ones */
	u64 stream_bytes;  /* bytes ever offered to the stream ring; drives the wake-ups */
	u64 reserved[6];
	struct session_counters events[EVENT_ID_MAX];
};

/*
 * A flight ring: the value of a one-element array map, mapped by the daemon.
 *
 * Written downwards: `head` is the position of the newest record, positions only
 * decrease, and a record is at data[position % bytes]. A record that begins near the
 * end continues in the spill area behind the data. A reader starts at head and advances
 * by record.size to older records until it has read as many bytes as the ring holds.
 * Everything beyond that has been overwritten.
 */
struct flight_header {
	u64 head; /* 0 when empty, then minus the bytes written since */
	u64 reserved[7];
	u64 records[EVENT_ID_MAX]; /* written so far, by event; never reset */
	u64 emptied[EVENT_ID_MAX]; /* records[] when last emptied; only the daemon writes this */
} __attribute__((aligned(4096)));

enum {
	FLIGHT_SPILL = RECORD_MAX, /* bytes behind the data */
	/* Bytes of data. The verifier refuses programs whose variable offset into a map may
	 * reach BPF_MAX_VAR_OFF (1 << 29). */
	FLIGHT_BYTES_MAX = 1 << 29,
};

/*
 * State of a bank of flight rings. Only the daemon reads and writes it; it is in a map
 * so that it outlives the daemon, as the rings do.
 */
struct flight_bank {
	u64 begin;                         /* when it became active; ns, CLOCK_BOOTTIME */
	u64 end;                           /* when it became inactive; 0: not stored yet */
	char name[256];                    /* trace that it is being saved to, NUL-terminated */
	u64 missed_at_begin[EVENT_ID_MAX]; /* hits missed until then, by event */
	u64 missed_at_end[EVENT_ID_MAX];   /* stored before `end` is */
};

/* A task name or prefix, compared as two words: (comm & mask) == word; mask covers the
 * NUL for an exact name. */
struct comm_pattern {
	u64 word[2];
	u64 mask[2];
};

struct cgroup_ref {
	u64 id;    /* inode number of the control group's directory */
	u32 level; /* depth below the root, which is 0 */
	u32 reserved;
};

enum filter_kind {
	FILTER_PID = 1 << 0,
	FILTER_UID = 1 << 1,
	FILTER_COMM = 1 << 2,
	FILTER_FOLLOW = 1 << 3,
	FILTER_CGROUP = 1 << 4,
};

/* One side of a filter: what is included, or what is excluded. */
struct filter_side {
	u32 kinds; /* enum filter_kind bits that have values; 0: this side is not set */
	u32 comm_count;
	u32 cgroup_count;
	u32 reserved;
	u64 follow_roots; /* bits of the selected roots */
	/* The bit id % FILTER_HINTS is set for each pid and uid: if it is clear,
	 * filter_ids has no such id. */
	u64 id_hints[FILTER_HINTS / 64];
	struct comm_pattern comm[FILTER_COMM_MAX];
	struct cgroup_ref cgroup[FILTER_CGROUP_MAX];
};

struct filter {
	struct filter_side include;
	struct filter_side exclude;
};

/* The filter of a session. A change fills the slot that is not in use; storing its number
 * then switches atomically. */
struct session_filter {
	u32 slot; /* in use */
	u32 reserved;
	struct filter slots[2];
};

/* Which filter a key of filter_ids belongs to: FILTER_OWNER(session, slot). */
#define FILTER_OWNER(session, slot) ((session) * 2 + ((slot) & 1))

/* Key of the map filter_ids, which holds the pids and uids of all filters. */
struct filter_id_key {
	u32 owner;   /* FILTER_OWNER() */
	u32 kind;    /* FILTER_PID or FILTER_UID */
	u32 exclude; /* 0 include, 1 exclude */
	u32 value;
};

/*
 * Which sessions' filters match a thread. This changes rarely, so it is kept: in a table
 * of words, directly addressed by the lowest bits of the tid. A word is
 *
 *	generation (24 bits) | tid (24 bits) | 0 (8 bits) | sessions (8 bits)
 *
 * A word with another generation or tid is computed again.
 */
enum {
	THREAD_SLOTS = 131072, /* power of two */
	THREAD_TID_SHIFT = 16,
	THREAD_GENERATION_SHIFT = 40,
};

/* The daemon changes this at run time. */
struct control {
	u16 stream;       /* 1: at least one stream has a reader, who needs names */
	u16 flight;       /* 1: the flight recorder is on */
	u32 flight_slots; /* index in flight_rings of the first ring of the bank that is written to;
			   * storing that of another bank is a snapshot */
	u32 self_tgid;    /* the daemon, never traced */
	u32 following;    /* 1: a process tree is followed; forks are inherited */
	u64 follow_lost;  /* processes that did not fit into the map followed */
	/* In the place of the generation in a word of the table of threads. It is increased
	 * after a change of what a filter matches. */
	u64 generation;
	u32 filtering;       /* sessions whose filter has at least one value */
	u32 kinds_at_hit;    /* enum filter_kind: what no hook reports the change of */
	u32 sessions_at_hit; /* sessions that filter by one of these kinds */
	u32 idle_by_name;    /* 1: a filter distinguishes the idle tasks of the CPUs by name */
	/* By session: wake the reader each time this many bytes (a power of two) were written. */
	u64 wakeup_bytes[SESSIONS_MAX];
	/* By event id: enum event_way. Set before its program is attached, cleared before it is
	 * detached. */
	u16 event_ways[EVENT_ID_MAX];
	/* By system call: the sessions that select it. */
	u8 call_sessions[SYSCALL_ABIS][SYSCALL_MAX];
	u32 all_calls_sessions; /* sessions that select all calls, also those with no place above */
	/* By system call: its arguments that are strings, enum string_args. */
	u8 string_args[SYSCALL_ABIS][SYSCALL_MAX];
	/* Constants, see session_bit(). */
	u8 session_bits[SESSIONS_MAX];
	u32 no_session;
	struct session_filter filters[SESSIONS_MAX];
	/* The programs that track names have been attached without a gap since this
	 * time; ns, CLOCK_BOOTTIME. Set before they are attached. */
	u64 names_since;
	/* Value of names_since for which the live threads were compared with the map
	 * tasks: a thread that was not seen since then has ended. */
	u64 names_checked;
	u64 name_changes; /* entries written so far to the map name_changes */
	/* Threads in a call with a string that could not be read yet: at least as many as the
	 * map unread_strings has. */
	u32 unread_strings;
	u32 reserved;
};

/* Value of the map tasks, key tid. Times in ns, CLOCK_BOOTTIME. */
struct task_info {
	u32 tgid;
	u32 uid;
	u64 start_time;
	u64 since; /* has had this name since then */
	u64 seen;  /* last time the thread was known to be alive with this name */
	char comm[COMM_LEN];
	u64 cgroup; /* id of its control group; 0: unknown */
	/* The process that was the parent of the thread's process when the thread was first
	 * seen: at its fork, if it was not alive before. It stays when that process ends and
	 * another one adopts the child. 0: none, or unknown. */
	u32 parent;
	u32 reserved;
};

/*
 * An element of the map name_changes, a history that overwrites its oldest entries.
 * Change number n (from 0) is at n % NAME_CHANGES_MAX.
 */
struct name_change {
	u64 number; /* n + 1; 0: being written */
	u32 tid;
	u32 reserved;
	struct task_info before; /* start_time is 0: this tid was unknown */
	struct task_info after;
};

/* Value of the map caches, key slab_cache_t. */
struct cache_info {
	char name[CACHE_NAME_LEN];
};

/* Value of the map cgroups, key the id of a control group. */
struct cgroup_info {
	char path[CGROUP_PATH_MAX];
};

#endif
