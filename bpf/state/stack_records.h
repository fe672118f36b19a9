/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Stacks of events. A stack has a number, a hash of its addresses. A record with stacks ends with two
 * numbers; records of their own, which are no events, have the frames. The rules are those of
 * records.h, which includes this file.
 */
#ifndef KTRACED_BPF_STATE_STACK_RECORDS_H
#define KTRACED_BPF_STATE_STACK_RECORDS_H

enum {
	RECORD_STACK = 253,         /* the id of struct rec_stack */
	RECORD_HAS_STACKS = 0x8000, /* in the id of an event: struct stack_numbers is at the record's end */
	STACK_DEPTH_MAX = 120,      /* frames; such a record is shorter than RECORD_MAX */
};

/* At the end of a record with stacks; at least one is not 0. 0: there is no such stack. It was not asked for,
 * the thread has none (a kernel thread), or it has nothing to do with the hit (an interrupt). */
struct stack_numbers {
	u64 kernel;
	u64 user;
};

enum stack_kind {
	STACK_KERNEL = 1,
	STACK_USER = 2,
};

/* Where the frames end. */
enum stack_end {
	STACK_START = 1,      /* where the thread began, or entered the kernel */
	STACK_DEPTH = 2,      /* there are as many as asked for */
	STACK_BROKEN = 3,     /* the frame pointer does not lead up the stack: code without frame pointers */
	STACK_UNREADABLE = 4, /* the next frame is in memory that is not present */
};

/* A stack, before the first event in the ring with its number, with that event's time and thread. It is
 * written again when the last copy is older than a quarter of the ring. */
struct rec_stack {
	struct record h; /* h.id is RECORD_STACK */
	u64 number;      /* hash of everything below; the highest bit is set */
	u16 length;      /* frames that follow */
	u8 kind;         /* enum stack_kind */
	u8 end;          /* enum stack_end */
	u32 reserved;
	__extension__ u64 frames[]; /* return addresses, the innermost first; the first one of a user stack is
				     * where the thread is */
};

#endif
