/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * From a hit to a record in the rings.
 *
 * A program is written as
 *
 *	EVENT_PROGRAM(kfree)
 *	{
 *		struct rec_kfree r = {};
 *
 *		if (!hit_wanted(EVENT_kfree))
 *			return 0;
 *		r.call_site = ctx[0];
 *		r.ptr = ctx[1];
 *		return EMIT(kfree, &r);
 *	}
 *
 * Records are built on the stack and stored whole, so nothing is ever reserved
 * and forgotten in a stream ring. In a flight ring a place is taken with one step
 * and then filled: nothing can fail in between, and who reads a ring waits before
 * for all programs that may be in it. Counters are atomic, as programs nest.
 */
#ifndef KTRACED_BPF_EMIT_H
#define KTRACED_BPF_EMIT_H

#include "filter.h"

/* For the schema: a variable of a type is what makes the compiler put that type
 * into BTF. Behind a pointer that is a member, it would only be declared there. */
const enum event_id events_declared SEC(".rodata.events") = 0;

/* A raw tracepoint program and its event's record. */
#define EVENT_PROGRAM(name)                                                        \
	const struct rec_##name *const record_of_##name SEC(".rodata.events") = 0; \
	SEC("?raw_tp/" #name)                                                      \
	int name(u64 *ctx)

/*
 * The same for a program that reads what its arguments point to: with ARGUMENT() by
 * plain loads. In a section of another name, which means the same to libbpf, as
 * src/kernel/bpf_loader.cpp tells the kernel to check these by the types of their
 * arguments, where it may. Not for arguments that can be anything but a pointer to
 * what their type says.
 */
#define TYPED_EVENT_PROGRAM(name)                                                  \
	const struct rec_##name *const record_of_##name SEC(".rodata.events") = 0; \
	SEC("?raw_tracepoint/" #name)                                              \
	int name(u64 *ctx)

static __always_inline bool count_filtered(u32 id)
{
	u32 cpu = bpf_get_smp_processor_id();
	struct cpu_state *state = bpf_map_lookup_elem(&cpu_states, &cpu);

	if (state && id < EVENT_ID_MAX)
		__sync_fetch_and_add(&state->events[id].filtered, 1);
	return false;
}

/* A program that was detached may run some milliseconds longer; what it meets then
 * is not wanted any more. */
static __always_inline bool event_on(u32 id)
{
	return id >= sizeof(control.event_on) || control.event_on[id];
}

/* Is this hit of the current task wanted? Counts it as filtered if not. */
static __always_inline bool hit_wanted(u32 id)
{
	return (event_on(id) && current_wanted()) || count_filtered(id);
}

/* The same for an event that is also about another task, an argument of it. */
static __always_inline bool pair_hit_wanted(u32 id, const u64 *ctx, u32 other)
{
	return (event_on(id) && pair_wanted(ctx, other)) || count_filtered(id);
}

/* Wake the reader whenever another wakeup_bytes were written, not for each record:
 * a wake-up costs several times the record itself. */
static __always_inline u64 wakeup_flag(struct cpu_state *state, u32 size)
{
	u64 before = __sync_fetch_and_add(&state->stream_bytes, size);

	return (before ^ (before + size)) & control.wakeup_bytes ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP;
}

/* Place for a record in the flight ring of this CPU; null if it has none. It is
 * taken with one atomic subtraction, so interrupts nest without harm; nothing can
 * fail after it. */
static __always_inline void *flight_place(u32 id, u32 size, u32 cpu)
{
	u32 index = control.flight_slots + cpu;
	void *ring = bpf_map_lookup_elem(&flight_rings, &index);
	struct flight_header *header;
	void *place;

	if (!ring)
		return NULL;
	header = bpf_map_lookup_elem(ring, (void *)&layout.zero);
	if (!header)
		return NULL;
	__sync_fetch_and_add(&header->records[id], 1);
	place = (void *)(header + 1) +
		((__sync_fetch_and_add(&header->head, -(u64)size) - size) & layout.flight_mask);
	/* The header is longer than offsets in instructions reach: added once, not for each field. */
	barrier_var(place);
	__builtin_assume(place != NULL);
	return place;
}

static __always_inline bool flight_store(struct record *r, u32 id, u32 size, u32 cpu)
{
	void *place = flight_place(id, size, cpu);

	if (!place)
		return false;
	/* Word by word: the compiler does not know by itself that both lie at words. */
	if (__builtin_constant_p(size))
		__builtin_memcpy(__builtin_assume_aligned(place, sizeof(u64)),
				 __builtin_assume_aligned(r, sizeof(u64)), size);
	else
		bpf_probe_read_kernel(place, size, r);
	return true;
}

static __always_inline bool stream_store(struct cpu_state *state, struct record *r, u32 size, u32 cpu)
{
	void *ring = bpf_map_lookup_elem(&stream_rings, &cpu);

	return ring && !bpf_ringbuf_output(ring, r, size, wakeup_flag(state, size));
}

/* Recorded means: in every ring that is on. */
static __always_inline int emit(struct record *r, u32 id, u32 size)
{
	u32 cpu = bpf_get_smp_processor_id();
	struct cpu_state *state = bpf_map_lookup_elem(&cpu_states, &cpu);
	bool stored = true, counted = false;

	if (!state || id >= EVENT_ID_MAX)
		return 0;
	r->ts = bpf_ktime_get_boot_ns();
	r->id = id;
	r->size = size;
	r->tid = current_task()->pid;
	if (control.flight) {
		stored = counted = flight_store(r, id, size, cpu);
		if (!stored)
			__sync_fetch_and_add(&state->flight_misses[id].count, 1);
	}
	if (control.stream)
		stored &= stream_store(state, r, size, cpu);
	/* What a flight ring holds it has counted itself. */
	if (stored != counted)
		__sync_fetch_and_add(&state->events[id].recorded, stored ? 1 : -1);
	if (!stored) {
		__sync_fetch_and_add(&state->events[id].dropped, 1);
		__sync_fetch_and_add(&state->dropped_total, 1);
	}
	return 0;
}

#define EMIT(name, rec) emit(&(rec)->h, EVENT_##name, sizeof(*(rec)))

/*
 * The short way of frequent events, for what is so nearly always: the flight
 * recorder is on and nothing else, no filter and no reader. Then the record is
 * written where it stays. A program that has it is written as
 *
 *	FILL(kfree)
 *	{
 *		r->call_site = ctx[0];
 *		r->ptr = ctx[1];
 *	}
 *
 *	EVENT_PROGRAM(kfree)
 *	{
 *		return RECORD(kfree, ptr, hit_wanted(EVENT_kfree));
 *	}
 *
 * FILL sets all fields but the header, and cannot fail; RECORD is told which of them
 * is the last one. What is wanted is asked only
 * if the short way is closed; within it all is but what the daemon itself does.
 */
static __always_inline bool only_flight(const struct control *c)
{
	typedef u64 __attribute__((may_alias)) settings;

	_Static_assert(__builtin_offsetof(struct control, stream) % sizeof(u64) == 0 &&
			       __builtin_offsetof(struct control, flight) ==
				       __builtin_offsetof(struct control, stream) + sizeof(u16),
		       "the four settings that are read at once lie side by side");
	return *(const settings *)&c->stream == 1UL << 16;
}

static __always_inline void *begin_flight_only(struct task_struct *current, u32 id, u32 size, bool padded)
{
	const struct control *c = &control;
	struct record *r;
	u64 ts;

	barrier_var(c); /* its address is loaded once */
	if (!c->event_on[id] || !only_flight(c) || (u32)current->tgid == c->self_tgid)
		return NULL;
	ts = bpf_ktime_get_boot_ns();
	r = flight_place(id, size, bpf_get_smp_processor_id());
	if (!r)
		return NULL;
	if (padded)
		*(u64 *)((void *)r + size - sizeof(u64)) = 0;
	r->ts = ts;
	r->id = id;
	r->size = size;
	r->tid = current->pid;
	return r;
}

#define FILL(name)                                                                    \
	static __always_inline void fill_##name(struct rec_##name *r, const u64 *ctx, \
						struct task_struct *current __attribute__((unused)))

#define FLIGHT_ONLY(name, last)                                                                                \
	({                                                                                                     \
		struct task_struct *task_ = current_task();                                                    \
		struct rec_##name *place_ = begin_flight_only(                                                 \
			task_, EVENT_##name, sizeof(struct rec_##name),                                        \
			__builtin_offsetof(struct rec_##name, last) + sizeof(((struct rec_##name *)0)->last) < \
				sizeof(struct rec_##name));                                                    \
                                                                                                               \
		if (place_)                                                                                    \
			fill_##name(place_, ctx, task_);                                                       \
		place_ != NULL;                                                                                \
	})

#define FILL_AND_EMIT(name)                            \
	({                                             \
		struct rec_##name r_ = {};             \
                                                       \
		fill_##name(&r_, ctx, current_task()); \
		EMIT(name, &r_);                       \
	})

#define RECORD(name, last, wanted) (FLIGHT_ONLY(name, last) || !(wanted) ? 0 : FILL_AND_EMIT(name))

#endif
