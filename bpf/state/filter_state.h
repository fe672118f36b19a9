/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The filters of the sessions, and what is kept of the threads that they match: a part of
 * shared_state.h. */
#ifndef KTRACED_BPF_STATE_FILTER_STATE_H
#define KTRACED_BPF_STATE_FILTER_STATE_H

#include "../types.h"

enum {
	FILTER_COMM_MAX = 16,     /* task name patterns per include or exclude list */
	FILTER_CGROUP_MAX = 16,   /* control groups per include or exclude list */
	FILTER_IDS_MAX = 16384,   /* pids and uids over all lists of one filter */
	FILTER_UIDS_MAX = 4096,   /* uids per include or exclude list: each may be a name to look up */
	FILTER_IDS_TOTAL = 65536, /* of all filters, and of those that are being replaced */
	FOLLOW_ROOTS_MAX = 64,    /* followed processes: one bit each */
	FOLLOWED_MAX = 16384,     /* live processes of all followed trees */
	FILTER_HINTS = 1024,      /* power of two, see struct filter_side */
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

/* Value of the map followed, key tgid. A number is used again when its process has ended, so the
 * entry says which process it is of: the one that started in the `precision` ns from start_time on. */
struct followed_process {
	u64 roots;      /* bits of the roots it descends from */
	u64 start_time; /* ns, CLOCK_BOOTTIME */
	u64 precision;  /* ns: 1 if its fork was seen, else a tick of /proc */
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

#endif
