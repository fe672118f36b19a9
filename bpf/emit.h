/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Turns a hit into a record in the rings.
 *
 * A program is written as
 *
 *	EVENT_PROGRAM(kfree)
 *	{
 *		struct rec_kfree r = {};
 *
 *		if (!hit_matches(EVENT_kfree))
 *			return 0;
 *		r.call_site = ctx[0];
 *		r.ptr = ctx[1];
 *		return EMIT(kfree, &r);
 *	}
 *
 * Records are built on the stack and stored whole, so a stream ring never contains a
 * reserved but unsubmitted record. In a flight ring, one atomic step reserves the
 * space, which is then filled. Nothing can fail in between, and a reader first waits
 * for all programs that may be writing to the ring. Counters are atomic because
 * programs nest.
 */
#ifndef KTRACED_BPF_EMIT_H
#define KTRACED_BPF_EMIT_H

#include "filter.h"

/* For the schema: the compiler puts a type into BTF only if a variable has that type. A
 * member that points to the type gives only a forward declaration. */
const enum event_id events_declared SEC(".rodata.events") = 0;

/* A raw tracepoint program and the record of its event. */
#define EVENT_PROGRAM(name)                                                        \
	const struct rec_##name *const record_of_##name SEC(".rodata.events") = 0; \
	SEC("?raw_tp/" #name)                                                      \
	int name(u64 *ctx)

/*
 * The same for a program that reads through its arguments with ARGUMENT(), by plain
 * loads. The other section name means the same to libbpf.
 * src/kernel/programs/bpf_loader.cpp recognizes these programs by it, and lets the
 * kernel check the types of their arguments where possible. Use it only if every
 * argument is always a pointer to its declared type.
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

/* A detached program may still run for some milliseconds; its hits are then ignored. */
static __always_inline bool event_on(u32 id)
{
	return id >= sizeof(control.event_on) || control.event_on[id];
}

/* Does this hit of the current task match? Counts it as filtered if not. */
static __always_inline bool hit_matches(u32 id)
{
	return (event_on(id) && current_matches()) || count_filtered(id);
}

/* The same for an event that is also about another task: argument number `other`. */
static __always_inline bool pair_hit_matches(u32 id, const u64 *ctx, u32 other)
{
	return (event_on(id) && pair_matches(ctx, other)) || count_filtered(id);
}

/* Wakes the reader after every wakeup_bytes bytes, not after each record: a wake-up
 * costs several times as much as a record. */
static __always_inline u64 wakeup_flag(struct cpu_state *state, u32 size)
{
	u64 before = __sync_fetch_and_add(&state->stream_bytes, size);

	return (before ^ (before + size)) & control.wakeup_bytes ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP;
}

/* Reserves space for a record in the flight ring of this CPU; null if the CPU has no
 * ring. One atomic subtraction reserves it, so nested interrupts are safe. Nothing can
 * fail after that. */
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
	/* The header is longer than the offset of an instruction: add it once, not for
	 * each field. */
	barrier_var(place);
	__builtin_assume(place != NULL);
	return place;
}

static __always_inline bool flight_store(struct record *r, u32 id, u32 size, u32 cpu)
{
	void *place = flight_place(id, size, cpu);

	if (!place)
		return false;
	/* Copy whole words: the compiler does not know that both are aligned. */
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

/* Stores the record in every enabled ring. It counts as recorded only if all of them
 * took it. */
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
			__sync_fetch_and_add(&state->flight_drops[id].count, 1);
	}
	if (control.stream)
		stored &= stream_store(state, r, size, cpu);
	/* The flight ring has already counted what it stored. */
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
 * The fast path of frequent events, for the most common trace config: only the flight
 * recorder is on, without a filter and without a stream reader. The record is then
 * built directly in the flight ring. A program with a fast path is written as
 *
 *	FILL(kfree)
 *	{
 *		r->call_site = ctx[0];
 *		r->ptr = ctx[1];
 *	}
 *
 *	EVENT_PROGRAM(kfree)
 *	{
 *		return RECORD(kfree, ptr, hit_matches(EVENT_kfree));
 *	}
 *
 * FILL sets all fields except the header, and cannot fail. The second argument of
 * RECORD is the last of these fields. RECORD evaluates the match only outside the fast
 * path; the fast path records every hit except those of the daemon itself.
 */
static __always_inline bool only_flight(const struct control *c)
{
	typedef u64 __attribute__((may_alias)) settings;

	_Static_assert(__builtin_offsetof(struct control, stream) % sizeof(u64) == 0 &&
			       __builtin_offsetof(struct control, flight) ==
				       __builtin_offsetof(struct control, stream) + sizeof(u16),
		       "only_flight() reads these four settings as one word");
	return *(const settings *)&c->stream == 1UL << 16;
}

static __always_inline void *begin_flight_only(struct task_struct *current, u32 id, u32 size, bool padded)
{
	const struct control *c = &control;
	struct record *r;
	u64 ts;

	barrier_var(c); /* load its address once */
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
