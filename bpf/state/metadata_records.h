/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Metadata records: not events, but names, event definitions, config changes and
 * accounts. The rules are those of records.h, which includes this file.
 */
#ifndef KTRACED_BPF_METADATA_RECORDS_H
#define KTRACED_BPF_METADATA_RECORDS_H

enum metadata_id {
	METADATA_task = 1,
	METADATA_slab_cache = 2,
	METADATA_event = 3,
	METADATA_config = 4,
	METADATA_account = 5,
	METADATA_cgroup = 6,
	METADATA_end = 7,
	METADATA_command = 8,
	METADATA_lost_names = 9,
	METADATA_lost_commands = 10,
	METADATA_unread_commands = 11,
	METADATA_config_part = 12,
};

/* A thread's name, process, control group and parent, valid from h.ts on. Traces and daemons
 * of earlier versions end before the cgroup, or before the parent. */
struct rec_metadata_task {
	struct record h; /* h.id is METADATA_task, h.tid the thread described */
	u32 tgid;
	u32 uid;
	u64 start_time; /* ns, CLOCK_BOOTTIME */
	char comm[COMM_LEN];
	u64 cgroup; /* id; 0: unknown */
	u32 parent; /* of its process, see struct task_info; 0: none, or unknown */
	u32 reserved;
};

enum {
	METADATA_TASK_MIN = __builtin_offsetof(struct rec_metadata_task, cgroup), /* shortest record */
};

/* The name behind a slab_cache_t. */
struct rec_metadata_slab_cache {
	struct record h; /* h.id is METADATA_slab_cache */
	slab_cache_t cache;
	char name[CACHE_NAME_LEN];
};

/* The path of a control group, below the root of its hierarchy. */
struct rec_metadata_cgroup {
	struct record h;            /* h.id is METADATA_cgroup */
	u64 cgroup;                 /* its id: the inode number of its directory */
	char path[CGROUP_PATH_MAX]; /* NUL-terminated; the record ends at the next multiple of 8 */
};

/* Names that threads got from h.ts until then may be missing. */
struct rec_metadata_lost_names {
	struct record h; /* h.id is METADATA_lost_names */
	u64 until;       /* ns, CLOCK_BOOTTIME */
};

/* Command lines of processes are missing: the daemon had no room for them. */
struct rec_metadata_lost_commands {
	struct record h; /* h.id is METADATA_lost_commands */
};

/* Command lines of processes may be missing: a process hung while they were read, there was no
 * memory to read them, or they were not read in time. */
struct rec_metadata_unread_commands {
	struct record h; /* h.id is METADATA_unread_commands */
};

/* Definition of a dynamic event, sent before the first of its records. The reader of a
 * stream or trace adds it to the schema. The event follows as JSON in the form of the
 * schema, NUL-terminated and zero-padded. */
struct rec_metadata_event {
	struct record h; /* h.id is METADATA_event */
};

/* Trace config from h.ts on: sent at the beginning of a stream, with ts 0, and after
 * each change. JSON as in the "config" of a manifest follows, NUL-terminated and
 * zero-padded. */
struct rec_metadata_config {
	struct record h; /* h.id is METADATA_config */
};

/* A part of a trace config that is too long for one record: these come right before its
 * METADATA_config with the same time, and its text begins with theirs. */
struct rec_metadata_config_part {
	struct record h; /* h.id is METADATA_config_part */
};

/* What became of the hits of an event in the session of a stream: the last records of a
 * stream that ends in an orderly way. Daemons of earlier versions end before the reset. */
struct rec_metadata_account {
	struct record h; /* h.id is METADATA_account */
	u32 event;       /* id; 0: the sums of all events */
	u32 reserved;
	u64 recorded;
	u64 filtered;
	u64 dropped;
	u64 missed;
	u64 reset; /* ns, CLOCK_BOOTTIME: the counts are since then; 0: since the session began */
};

/* Why the daemon ends a stream, the very last record. A sentence follows, NUL-terminated
 * and zero-padded. */
struct rec_metadata_end {
	struct record h; /* h.id is METADATA_end */
};

/* The command line of a process, as /proc showed it at h.ts. Before and after it may have been
 * another one. */
struct rec_metadata_command {
	struct record h;         /* h.id is METADATA_command, h.tid the process */
	u64 start_time;          /* of the process: ns, CLOCK_BOOTTIME, rounded down to a tick of /proc */
	u32 cut;                 /* 1: it was longer */
	u32 parent;              /* process that was its parent when it was read; 0: none, or unknown */
	char text[ARGV_MAX + 8]; /* in the form of LOCATED_WORD_BLANK, NUL-terminated; the record ends at
				  * the next multiple of 8 */
};

#endif
