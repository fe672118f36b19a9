/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Stores records in stream rings in the arena; see struct stream_header. */
#ifndef KTRACED_BPF_EMIT_STREAM_RING_H
#define KTRACED_BPF_EMIT_STREAM_RING_H

#include "../arena/arena.h"
#include "../maps.h"

/* Room for a record in a stream ring. */
struct stream_place {
	struct record *record; /* null: there is none */
	u64 wakeup;            /* not 0: wake the reader */
};

/* Programs of one CPU nest, or preempt each other (7.0), and no others write to its ring. So a place is lost to
 * another program only if that ran between two instructions here: a few tries are enough. After them, as
 * without room, the record is dropped. */
static __always_inline struct stream_place ring_reserve(u32 index, u32 size)
{
	u32 offset = arena_place(ARENA_STREAM_PLACES, index);
	struct stream_header *ring = arena_at(offset);
	struct stream_place place = {};
	u64 mask;

	if (!offset)
		return place;
	mask = ring->mask;
#pragma clang loop unroll(disable)
	for (u32 i = 0; i < STREAM_TRIES; i++) {
		u64 begin = *(volatile u64 *)&ring->produced, end = begin + size, before;

		if (end - *(volatile u64 *)&ring->released > mask)
			return place;
		before = __sync_val_compare_and_swap(&ring->produced, begin, end);
		barrier_var(before); /* the compiler would make a variable of the comparison */
		if (before != begin)
			continue;
		place.record = arena_add(ring + 1, begin & mask);
		place.wakeup = (begin ^ end) & ring->wakeup;
		__builtin_assume(place.record != NULL);
		return place;
	}
	return place;
}

/* Not a function of its own: the programs of strings have no room on the stack for one more. */
static __always_inline void wake_reader(void)
{
	bpf_ringbuf_output(&stream_wakeups, (void *)&layout.zero, sizeof(layout.zero), BPF_RB_FORCE_WAKEUP);
}

/* The members `id` and `size` of a record, as one word. `of_header`: see size_and_context(). */
static __always_inline u32 id_and_size(u32 id, u32 of_header)
{
	return id | of_header << 16;
}

/* The record is whole, except for this word. A reader that sees the size sees everything else: the
 * compiler stores it last, and x86-64 keeps the order of stores. */
static __always_inline void ring_commit(const struct stream_place *place, u32 word)
{
	barrier();
	*(volatile u32 *)&place->record->id = word;
	if (place->wakeup)
		wake_reader();
}

/* Stores a whole record of any size. False: there is no room, or no ring. `of_header`: see size_and_context().
 */
static __noinline bool ring_output(u32 index, const struct record *r, u32 id, u32 of_header)
{
	u32 size = of_header & ~(u32)RECORD_CONTEXT, last = id_and_size(id, of_header);
	struct stream_place place = ring_reserve(index, size);

	if (!place.record)
		return false;
	barrier_var(last); /* computed before the copy: after it, the verifier would follow each size */
	place.record->ts = r->ts;
	place.record->tid = r->tid;
	arena_copy(place.record, r, sizeof(*r), size);
	ring_commit(&place, last);
	return true;
}

#endif
