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
};

/* The daemon changes it at run time, for all sessions. */
struct stack_control {
	u32 depth; /* frames of each stack: 1 to STACK_DEPTH_MAX */
	u8 kernel; /* 1: kernel stacks */
	u8 user;   /* 1: user stacks */
	u16 reserved;
	u32 every[STACK_EVENTS]; /* by event: one of so many hits of a CPU has stacks; 0, 1: all */
};

/*
 * Which stacks are in a ring: words, by the lowest bits of the key of the stack. A word is
 *
 *	other bits of the key (40) | stamp (24)
 *
 * The stamp is where in the ring the stack was written last: bytes written to the ring, in units of
 * 1 / STACK_UNITS of its size. A word is stored at once, so it is never that of two stacks. A stack that finds
 * the word of another one is written again.
 *
 * The key is the number of the stack, mixed with a salt of the ring: `stacks_since` of flight_header or
 * session_state, which the daemon changes when the ring is made or emptied, plus the number of events lost.
 * So with an empty ring, and after each loss, the table begins again.
 *
 * Index of a table: session × CPUs + CPU for a stream ring; SESSIONS_MAX × CPUs + bank × CPUs + CPU for a
 * flight ring.
 */
enum {
	STACK_SLOTS_BITS = 12,
	STACK_SLOTS = 1 << STACK_SLOTS_BITS,
	STACK_STAMP_BITS = 24,
	STACK_UNITS = 32,
	STACK_FRESH = STACK_UNITS / 4, /* a stack is in its ring for so many units, and is written again then */
};

struct stack_table {
	u64 words[STACK_SLOTS];
};

#endif
