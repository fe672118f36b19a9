/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Turns a hit into a record in the rings.
 *
 * An event is written as
 *
 *	EVENT(kfree, OF_CURRENT, struct rec_kfree *r, const struct hit *hit)
 *	{
 *		r->call_site = hit->args[0];
 *		r->ptr = hit->args[1];
 *	}
 *
 * The body sets the fields of the record, except the header, and cannot fail. Its
 * record begins as zeros. Everything else is the same for all events: EVENT().
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

/* What a program sees of a hit. */
struct hit {
	const u64 *args;             /* of the tracepoint, in the order of its prototype */
	struct task_struct *current; /* the running task */
};

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
static __always_inline bool pair_hit_matches(u32 id, const u64 *args, u32 other)
{
	return (event_on(id) && pair_matches(args, other)) || count_filtered(id);
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

/* True for the most common trace config: only the flight recorder is on, without a
 * filter and without a stream reader. */
static __always_inline bool only_flight(const struct control *c)
{
	typedef u64 __attribute__((may_alias)) settings;

	_Static_assert(__builtin_offsetof(struct control, stream) % sizeof(u64) == 0 &&
			       __builtin_offsetof(struct control, flight) ==
				       __builtin_offsetof(struct control, stream) + sizeof(u16),
		       "only_flight() reads these four settings as one word");
	return *(const settings *)&c->stream == 1UL << 16;
}

/* Where to store the record of a hit that needs no further checks; its header is already
 * there. Null for other hits. */
static __always_inline void *begin_flight_only(struct task_struct *current, u32 id, u32 size)
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
	r->ts = ts;
	r->id = id;
	r->size = size;
	r->tid = current->pid;
	return r;
}

/* Copies a record without its header, in whole words. */
static __always_inline void store_fields(void *place, const struct record *r, u32 size)
{
	__builtin_memcpy(__builtin_assume_aligned(place + sizeof(*r), sizeof(u64)),
			 __builtin_assume_aligned(r + 1, sizeof(u64)), size - sizeof(*r));
}

/*
 * An event: its record, and the raw tracepoint program that writes it. `of` is
 * OF_CURRENT, OF_PAIR(N) or OF_CURRENT_IF(function). The parameters of the body follow.
 *
 * The fast path stores straight into the flight ring. Otherwise the hit is first
 * matched against the filter.
 */
#define EVENT(name, of, ...) DEFINE_EVENT("?raw_tp/" #name, name, of, __VA_ARGS__)

/*
 * The same for a program that reads through its arguments with TYPED(), by plain loads.
 * The other section name means the same to libbpf. src/kernel/programs/bpf_loader.cpp
 * recognizes these programs by it, and lets the kernel check the types of their
 * arguments where possible. Use it only if every argument is always a pointer to its
 * declared type.
 */
#define TYPED_EVENT(name, of, ...) DEFINE_EVENT("?raw_tracepoint/" #name, name, of, __VA_ARGS__)

/* The same with the whole program as body, for one that does more than to write the
 * event, or whose record is of variable length. It calls matches_NAME(args). */
#define EVENT_PROGRAM(name, of, ...) \
	DECLARE_EVENT(name, of)      \
	SEC("?raw_tp/" #name)        \
	int name(__VA_ARGS__)

/* The hit matches if the current task does. */
#define OF_CURRENT "current", matches_by_current, 0
/* The hit matches if the current task or the task in argument N does. */
#define OF_PAIR(n) "pair", pair_hit_matches, n
/* The hit matches if the current task does and `function`, like matches_by_current(),
 * finds nothing that excludes the hit. */
#define OF_CURRENT_IF(function) "current", function, 0

static __always_inline bool matches_by_current(u32 id, const u64 *args __attribute__((unused)),
					       u32 other __attribute__((unused)))
{
	return hit_matches(id);
}

/*
 * Declares the record of an event for the schema, and which tasks decide whether a hit
 * matches the filter. Readers infer from that which threads are complete, so the filter
 * and the schema have it from the same words.
 */
#define DECLARE_EVENT(...) DECLARE_EVENT_OF(__VA_ARGS__)
#define DECLARE_EVENT_OF(name, matched_by, matches, other)                                         \
	const struct rec_##name *const record_of_##name                                            \
		__attribute__((btf_decl_tag("matched_by:" matched_by))) SEC(".rodata.events") = 0; \
	static __always_inline bool matches_##name(const u64 *args)                                \
	{                                                                                          \
		return matches(EVENT_##name, args, other);                                         \
	}

/* The two ways share no value: after the filter the task is asked for again, so that the
 * fast path keeps neither the task nor a record across the call. */
#define DEFINE_EVENT(...) DEFINE_EVENT_OF(__VA_ARGS__)
#define DEFINE_EVENT_OF(section, name, matched_by, matches, other, ...)                                 \
	DECLARE_EVENT_OF(name, matched_by, matches, other)                                              \
	static __always_inline void fill_##name(__VA_ARGS__);                                           \
	static __always_inline bool record_##name(const struct hit *hit)                                \
	{                                                                                               \
		void *place = begin_flight_only(hit->current, EVENT_##name, sizeof(struct rec_##name)); \
		struct rec_##name r = {};                                                               \
                                                                                                        \
		if (!place)                                                                             \
			return false;                                                                   \
		fill_##name(&r, hit);                                                                   \
		store_fields(place, &r.h, sizeof(r));                                                   \
		return true;                                                                            \
	}                                                                                               \
	SEC(section)                                                                                    \
	int name(u64 *ctx)                                                                              \
	{                                                                                               \
		struct hit hit = { ctx, current_task() };                                               \
                                                                                                        \
		if (record_##name(&hit) || !matches_##name(ctx))                                        \
			return 0;                                                                       \
                                                                                                        \
		struct rec_##name r = {};                                                               \
                                                                                                        \
		hit.current = current_task();                                                           \
		fill_##name(&r, &hit);                                                                  \
		return EMIT(name, &r);                                                                  \
	}                                                                                               \
	static __always_inline void fill_##name(__VA_ARGS__)

#endif
