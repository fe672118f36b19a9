/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* How programs take stacks, and what they know of those in the rings: a part of shared_state.h. */
#ifndef KTRACED_BPF_STATE_STACK_STATE_H
#define KTRACED_BPF_STATE_STACK_STATE_H

#include "../records.h"

/*
 * An event that a session has with stacks has a second program (bpf/stack.bpf.c), which records it for that
 * session in the place of the first one. Its word in control.event_ways and its counters of hits are in this
 * place, which no event has as id.
 */
enum {
	STACK_EVENTS = 32,  /* ids of events that can have stacks are below this */
	STACK_PLACES = 192, /* the place is STACK_PLACES + id */
	STACK_EVERY_MAX = 1000000,
	/* Frames of a kernel stack that are of a program at a tracepoint: itself, its function that takes the
	 * stack, and the kernel's function that runs programs. */
	STACK_OWN_FRAMES = 3,
};

/* The daemon changes it at run time, for all sessions. */
struct stack_control {
	u32 depth;        /* frames of each stack: 1 to STACK_DEPTH_MAX */
	u8 kernel;        /* 1: kernel stacks */
	u8 user;          /* 1: user stacks */
	u16 kernel_depth; /* as depth, of kernel stacks: kernel.perf_event_max_stack may allow fewer; 0: none */
	u32 every[STACK_EVENTS]; /* by event: one of so many hits of a CPU has stacks; 0, 1: all */
};

/* How samples are taken: of all sessions. The daemon changes it while no sample is taken. */
struct sample_control {
	u64 period; /* ns; 0: the period is not a time */
	u8 kernel;  /* 1: kernel stacks */
	u8 user;    /* 1: user stacks */
	u16 reserved[3];
};

/*
 * Which stacks are in the rings of a CPU: words, by the lowest bits of the key of the stack. A word is
 *
 *	other bits of the key (40) | stamp (24)
 *
 * The stamp is where in the ring the stack was written last: bytes written to the ring, in units of
 * 1 / STACK_UNITS of its size. A word is stored at once, so it is never that of two stacks. A stack that finds
 * the word of another one is written again.
 *
 * The key is the number of the stack, mixed with that of the ring and with a salt: `stacks_since` of
 * flight_header or session_state, which the daemon changes when the ring is made or emptied and when its reader
 * lacks stacks, plus the number of events lost. So each ring has words of its own, and begins again after each
 * loss.
 */
enum {
	STACK_SLOTS_BITS = 13,
	STACK_SLOTS = 1 << STACK_SLOTS_BITS,
	STACK_STAMP_BITS = 24,
	STACK_UNITS = 32,
	STACK_FRESH = STACK_UNITS / 4, /* a stack is in its ring for so many units, and is written again then */
};

/* What programs that record stacks use on a CPU. The daemon only makes it. */
enum {
	STACK_LEVELS = 4,  /* programs of a CPU that have buffers at the same time, mostly one in another */
	STACK_BUFFERS = 4, /* for an event, its kernel and its user stack, and a mapping or file of that */
	STACK_SCRATCH_BYTES = 1592, /* struct mapping_scratch */
	STACK_HIT_BYTES = 24,       /* struct stacked_hit */
	STACK_LEVEL_BYTES =         /* struct stack_buffers */
	STACK_BUFFERS * RECORD_MAX + STACK_SCRATCH_BYTES + STACK_HIT_BYTES,
};

struct stack_cpu {
	u64 used;               /* bit N: a program has levels[N] */
	u64 hits[STACK_EVENTS]; /* hits that match a filter, by event: see stack_control.every */
	u64 table[STACK_SLOTS];
	u8 levels[STACK_LEVELS][STACK_LEVEL_BYTES];
};

#endif
