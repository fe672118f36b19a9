/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * State shared between the BPF programs and the daemon: what the daemon sets
 * before loading (features), what it changes at run time (control, filters),
 * and what the programs count (cpu_state, session_state).
 */
#ifndef KTRACED_BPF_SHARED_STATE_H
#define KTRACED_BPF_SHARED_STATE_H

#include "state/dynamic_state.h"
#include "records.h"
#include "state/arena_state.h"
#include "state/filter_state.h"
#include "state/stack_state.h"
#include "state/stream_state.h"

enum {
	SESSIONS_MAX = 8,           /* one bit each */
	SESSION_RECORDER = 0,       /* writes to the flight rings; the others have stream rings */
	SESSION_OUTPUT = 1,         /* the daemon's own trace files */
	SESSION_CLIENT_FIRST = 2,   /* sessions of clients */
	TASKS_MAX = 32768,          /* names kept, of live and ended threads */
	NAME_CHANGES_MAX = 32768,   /* power of two, see struct name_change */
	CACHES_MAX = 4096,          /* slab cache names kept */
	CGROUPS_MAX = 16384,        /* control groups that exist whose paths are kept */
	REMOVED_CGROUPS_MAX = 4096, /* power of two, see struct removed_cgroup */
	CACHE_SLOTS = 1024,         /* power of two, see cache_seen() */
	SYSCALL_MAX = 1024,         /* system call numbers below this can be selected */
	SYSCALL_ABIS = 3,           /* values of syscall_abi_t */

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

/* Where the kernel counts, for each CPU, its reasons not to preempt: interrupts are among them. */
enum preempt_count_source {
	PREEMPT_COUNT_UNKNOWN = 0,
	PREEMPT_COUNT_VARIABLE = 1, /* __preempt_count */
	PREEMPT_COUNT_HOT = 2,      /* pcpu_hot.preempt_count (6.2 ... 6.14) */
	PREEMPT_COUNT_WIDE = 3,     /* __preempt_count, with hard interrupts and NMIs 8 bits higher (7.3) */
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
	u8 preemptible;           /* programs of tracepoints can be preempted (7.0), and are then
				   * skipped for all other tasks of that CPU */
	u8 arena;                 /* BPF arenas with atomic operations (6.10) */
	u8 running_readable;      /* catchers read whether the first program is running, and need no
				   * notes: see bpf/catcher.h */
	u8 exec_at_function;      /* no sched_prepare_exec (6.10): exec_begins() runs at a function */
	u8 users_at_returns;      /* user_changed() cannot be attached: users are noted as calls return */
	u8 preempt_count;         /* enum preempt_count_source: records say in which context they were made */
	u8 preemption_kfuncs;     /* bpf_preempt_disable() and what turns it on again (6.10, 6.14). No padding:
				   * all bytes identify the programs */
};

/* Sizes fixed when the programs are loaded, so that the verifier knows them. */
struct layout {
	u32 zero;        /* always 0: the key of maps with one element */
	u32 cpus;        /* possible CPUs */
	u32 flight_mask; /* data bytes of a flight ring, a power of two, minus 1 */
	/* Offset of the table in the arena that has the flight rings; 0: they are maps. */
	u32 flight_places;
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
	/* These bits are the offset of the counter's row in cpu_state.hits, in bytes. */
	WAY_COUNTER_SHIFT = 14,
	WAY_COUNTERS = 4, /* the last two are of hits that the recorder sees and does not store directly */
	WAY_COUNTER = (WAY_COUNTERS - 1) << WAY_COUNTER_SHIFT,
	WAY_OF_RECORDER = WAY_COUNTERS / 2 << WAY_COUNTER_SHIFT, /* the first of the last two */
	/* The recorder has no filter: its hits are stored at once. They are counted by the flight
	 * ring. Other sessions have the event on too, and their hits are counted by a counter of
	 * the first two. One that could not be stored is counted for the recorder too, two rows
	 * behind. Excludes WAY_DIRECT. */
	WAY_BESIDE = 1 << 16,
	/* Only the recorder has the event on, without a filter: its hits are stored at once, and
	 * counted by the flight ring. Excludes WAY_BESIDE; nothing is set above this bit. */
	WAY_DIRECT = 1 << 17,
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
	u64 names_dropped;   /* metadata records lost; the daemon then rereads the tables */
	u64 sampled;         /* time of the last sample; ns, CLOCK_BOOTTIME */
	u64 samples_missing; /* periods without a sample, between two samples */
	u64 reserved[5];
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
	u64 stacks_since;  /* the reader has no stack from before: see struct stack_cpu; only the daemon writes
			      it */
	u64 reserved[5];
	struct session_counters events[EVENT_ID_MAX];
};

/*
 * A flight ring: in the arena, or the value of a one-element array map, mapped by the daemon.
 *
 * Written downwards: `head` is the position of the newest record, positions only
 * decrease, and a record is at data[position % bytes]. A record that begins near the
 * end continues in the spill area behind the data. A reader starts at head and advances
 * by the size of a record to older records until it has read as many bytes as the ring holds.
 * Everything beyond that has been overwritten.
 */
struct flight_header {
	u64 unused[504];           /* what programs use is near the data, so that one register has both */
	u64 emptied[EVENT_ID_MAX]; /* records[] when last emptied; only the daemon writes this */
	u64 records[EVENT_ID_MAX]; /* written so far, by event; never reset */
	u64 stacks_since; /* when it was made or last emptied: see struct stack_cpu; only the daemon writes it
			   */
	u64 reserved[5];
	u64 mask; /* in the arena: bytes of data, a power of two, minus 1 */
	u64 head; /* 0 when empty, then minus the bytes written since */
};

enum {
	FLIGHT_SPILL = RECORD_MAX, /* bytes behind the data */
	/* Bytes of data. The verifier refuses programs whose variable offset into a map may
	 * reach BPF_MAX_VAR_OFF (1 << 29). */
	FLIGHT_BYTES_MAX = 1 << 29,
};

/*
 * When each thread entered its system call: a table of words, directly addressed by the lowest
 * bits of the tid. A word is
 *
 *	time (57 bits; ns, CLOCK_BOOTTIME) | ENTRY_UNCHECKED | the other bits of the tid (6)
 *
 * It is stored at once, so it is never that of two threads. A tid has at most 22 bits in the kernel.
 */
enum {
	ENTRY_SLOTS_BITS = 16,
	ENTRY_SLOTS = 1 << ENTRY_SLOTS_BITS, /* power of two */
	ENTRY_TID = (1 << (22 - ENTRY_SLOTS_BITS)) - 1,
	ENTRY_UNCHECKED = ENTRY_TID + 1, /* check_entry() has not seen it; only where features.preemptible */
	ENTRY_TIME_SHIFT = 23 - ENTRY_SLOTS_BITS,
};

/*
 * What the two programs of an event do that has a catcher (bpf/catcher.h): 0, or these bits. The
 * daemon sets one after the other when it attaches a catcher, and clears all at once. Where
 * features.running_readable there are no notes, and only the last bit is ever set.
 */
enum catcher_state {
	CATCHER_NOTES = 1 << 0,     /* the first program leaves notes */
	CATCHER_GETS_REST = 1 << 1, /* it leaves hits to the catcher that it cannot note */
	CATCHER_RECORDS = 1 << 2,   /* the catcher records hits without a note */
};

enum {
	CATCHER_ROWS_BITS = 9,
	CATCHER_ROWS = 1 << CATCHER_ROWS_BITS,
	CATCHER_EVENTS = 32,  /* ids of events with a catcher are below this */
	CATCHER_COLUMNS = 16, /* events of one hook have different columns: id % CATCHER_COLUMNS */
	CATCHER_CPUS = 2048,  /* power of two; machines with more use notes */
};

/* Of the events with a catcher, by id; the daemon reads the counts through mmap. */
struct catching {
	u64 caught[CATCHER_EVENTS]; /* hits that catchers recorded */
	u64 left[CATCHER_EVENTS];   /* hits that first programs left to them */
	/* Only where features.running_readable: the kernel's count of running instances of the first
	 * program is at running[event] + cpu_offsets[cpu]. */
	u64 running[CATCHER_EVENTS];
	u64 cpu_offsets[CATCHER_CPUS];
	/* Only where features.preemptible: the kernel's count of reasons not to preempt is at
	 * preempt_count + cpu_offsets[cpu]. 0: not known. */
	u64 preempt_count;
	u64 located;                              /* used by the program `locate` only */
	u64 notes[CATCHER_ROWS][CATCHER_COLUMNS]; /* 0: none. All offsets fit into an instruction */
};

/* What the daemon wants of the program `locate`: its first argument. The others follow. */
enum catcher_locate {
	LOCATE_RUNNING = 0, /* running[event]: event, descriptor of its program */
	LOCATE_CPU = 1,     /* cpu_offsets[cpu]: cpu */
	LOCATE_PREEMPT = 2, /* preempt_count: its address; needs the offsets of all CPUs */
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
	u8 catcher_states[CATCHER_EVENTS]; /* by event id: enum catcher_state */
	/* By event id: enum event_way. Set before its program is attached, cleared before it is
	 * detached. */
	u32 event_ways[EVENT_ID_MAX];
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
	u64 name_changes;    /* entries written so far to the map name_changes */
	u64 removed_cgroups; /* entries written so far to the map removed_cgroups */
	u64 unkept_cgroups;  /* control groups that exist, for whose paths the map cgroups has no room */
	/* Threads in a call with a string that could not be read yet: at least as many as the
	 * map unread_strings has. */
	u32 unread_strings;
	u32 reserved;
	/* The times at which calls began are complete since this time; ns, CLOCK_BOOTTIME. UINT64_MAX:
	 * a program that notes or takes them is not attached. */
	u64 entries_since;
	struct stack_control stacks;
	struct sample_control sampling;
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

/*
 * An element of the map removed_cgroups, a history that overwrites its oldest entries.
 * Removal number n (from 0) is at n % REMOVED_CGROUPS_MAX.
 */
struct removed_cgroup {
	u64 number;                        /* n + 1; 0: being written */
	struct rec_metadata_cgroup record; /* h.ts is when it was removed */
};

#endif
