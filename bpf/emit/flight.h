/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Stores records in the flight rings; see struct flight_header. */
#ifndef KTRACED_BPF_EMIT_FLIGHT_H
#define KTRACED_BPF_EMIT_FLIGHT_H

#include "../arena/arena.h"
#include "../kernel_compat.h"
#include "../maps.h"

_Static_assert(sizeof(struct flight_header) % ARENA_PAGE == 0, "the data begins with a page");

/* Of every record: the place where its header is set. `size`: see size_and_context(). */
static __always_inline void set_header(struct record *r, u64 ts, u32 id, u32 size, struct task_struct *current)
{
	r->ts = ts;
	r->id = id;
	r->size = size;
	r->tid = current->pid;
}

/* Where the data of a CPU's flight ring is, in the bank that begins at `*slots`: an offset in the arena.
 * The header is right before it. 0: there is none. */
static __always_inline u32 flight_in_arena(const u32 *slots, u32 cpu, u32 places)
{
	return arena_place(places, *slots + cpu);
}

/* The data of a CPU's flight ring, in the bank that begins at `*slots`, as a pointer into a map. The
 * header is right before it. NULL: there is none. */
static __always_inline void *flight_in_map(const u32 *slots, u32 cpu)
{
	u32 index = *slots + cpu;
	void *ring;

	mention_arena();
	ring = bpf_map_lookup_elem(&flight_rings, &index);
	if (ring)
		ring = bpf_map_lookup_elem(ring, (void *)&layout.zero);
	return ring ? ring + sizeof(struct flight_header) : NULL;
}

/* Reserves space for a record. One atomic subtraction does it, so nested interrupts are safe.
 * Nothing can fail after that. */
static __always_inline void *flight_reserve(void *data, u64 mask, u32 id, u32 size)
{
	struct flight_header *ring = (struct flight_header *)data - 1;

	__sync_fetch_and_add(&ring->records[id], 1);
	data = arena_add(data, (__sync_fetch_and_add(&ring->head, -(u64)size) - size) & mask);
	__builtin_assume(data != NULL);
	return data;
}

static __always_inline u64 mask_in_arena(void *data)
{
	return ((struct flight_header *)data - 1)->mask;
}

/* Stores a record in a CPU's flight ring, in the bank that begins at `*slots`. False: there is no ring. */
static __always_inline bool flight_store(struct record *r, u32 id, u32 size, u32 cpu, const u32 *slots)
{
	u32 places = layout.flight_places, place;
	void *data;

	if (places) {
		place = flight_in_arena(slots, cpu, places);
		if (!place)
			return false;
		data = arena_at(place);
	} else {
		data = flight_in_map(slots, cpu);
		if (!data)
			return false;
	}
	data = flight_reserve(data, places ? mask_in_arena(data) : layout.flight_mask, id, size);
	/* Copy whole words: the compiler does not know that both are aligned. */
	if (__builtin_constant_p(size))
		__builtin_memcpy(__builtin_assume_aligned(data, sizeof(u64)),
				 __builtin_assume_aligned(r, sizeof(u64)), size);
	else if (places)
		arena_copy(data, r, 0, size);
	else
		bpf_probe_read_kernel(data, size, r);
	return true;
}

/* Where to store the record of a hit for the recorder without further checks; its header is
 * already there. Null if the daemon makes the hit, or this CPU has no ring. `begun`: see begin_record(). */
static __always_inline void *begin_direct(struct task_struct *current, const struct control *c, u32 id,
					  u32 size, const struct record *begun)
{
	u32 places = layout.flight_places, place;
	struct record *r;
	void *data;
	u64 ts;

	if ((u32)current->tgid == c->self_tgid)
		return NULL;
	if (places) {
		place = flight_in_arena(&c->flight_slots, this_cpu(current), places);
		if (!place)
			return NULL;
		data = arena_at(place);
		ts = bpf_ktime_get_boot_ns(); /* late: less has to be kept across the call */
		r = flight_reserve(data, mask_in_arena(data), id, size);
	} else {
		data = flight_in_map(&c->flight_slots, this_cpu(current));
		if (!data)
			return NULL;
		ts = bpf_ktime_get_boot_ns();
		r = flight_reserve(data, layout.flight_mask, id, size);
	}
	set_header(r, ts, id, size_of_begun(begun), current);
	return r;
}

#endif
