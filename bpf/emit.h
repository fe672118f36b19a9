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

_Static_assert(sizeof(((struct cpu_state *)0)->hits[0]) == 1 << WAY_COUNTER_SHIFT,
	       "the bits WAY_COUNTER are an offset in hits");

/* What a program sees of a hit. */
struct hit {
	const u64 *args;             /* of the tracepoint, in the order of its prototype */
	struct task_struct *current; /* the running task */
};

/* The sessions that have the event on. Counts the hit, also when there is none: a
 * detached program may still run for some milliseconds. */
static __always_inline u32 count_hit(u32 id)
{
	u32 cpu = bpf_get_smp_processor_id(), way;
	struct cpu_state *state = bpf_map_lookup_elem(&cpu_states, &cpu);
	const struct control *c = &control;
	u64 *row;

	if (!state || id >= EVENT_ID_MAX)
		return 0;
	barrier_var(c); /* so that the direct way does not load its address for this one */
	way = c->event_ways[id];
	row = (void *)state->hits + (way & WAY_COUNTER);
	__sync_fetch_and_add(&row[id], 1);
	return way & WAY_SESSIONS;
}

/* The sessions that a hit matches of the current task. */
static __always_inline u32 sessions_of_hit(u32 id)
{
	struct task_struct *current = current_task();

	return matching_current(count_hit(id), current);
}

/* Wakes the reader after every wakeup_bytes bytes, not after each record: a wake-up
 * costs several times as much as a record. */
static __always_inline u64 wakeup_flag(struct session_state *state, u32 session, u32 size)
{
	u64 before = __sync_fetch_and_add(&state->stream_bytes, size);

	return (before ^ (before + size)) & control.wakeup_bytes[session] ? BPF_RB_FORCE_WAKEUP
									  : BPF_RB_NO_WAKEUP;
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

/* Counts what a session did with a record. */
static __always_inline void account(struct session_state *state, u32 id, bool stored)
{
	struct session_counters *counters = &state->events[id];

	if (stored) {
		__sync_fetch_and_add(&counters->recorded, 1);
		return;
	}
	__sync_fetch_and_add(&counters->dropped, 1);
	__sync_fetch_and_add(&state->dropped_total, 1);
}

/* Stores the record in the stream ring of each of these sessions. A separate function: one
 * copy of it serves all programs. */
static __noinline int stream_store(struct record *r, u32 id, u32 size, u32 cpu, u32 sessions)
{
	for (u32 session = SESSION_RECORDER + 1; session < SESSIONS_MAX; session++) {
		u32 index = session * layout.cpus + cpu;
		struct session_state *state;
		void *ring;

		if (!(sessions >> session))
			break;
		if (!(sessions & session_bit(session)))
			continue;
		state = bpf_map_lookup_elem(&session_states, &index);
		if (!state || id >= EVENT_ID_MAX)
			continue;
		ring = bpf_map_lookup_elem(&stream_rings, &index);
		account(state, id,
			ring && !bpf_ringbuf_output(ring, r, size, wakeup_flag(state, session, size)));
	}
	return 0;
}

/* Stores the record for each of these sessions. */
static __always_inline int emit(struct record *r, u32 id, u32 size, u32 sessions)
{
	u32 cpu = bpf_get_smp_processor_id();

	if (id >= EVENT_ID_MAX)
		return 0;
	r->ts = bpf_ktime_get_boot_ns();
	r->id = id;
	r->size = size;
	r->tid = current_task()->pid;
	if (sessions & WAY_RECORDER) {
		struct session_state *state = bpf_map_lookup_elem(&session_states, &cpu);
		bool stored = flight_store(r, id, size, cpu);

		if (state)
			account(state, id, stored);
	}
	if (sessions & ~WAY_RECORDER)
		stream_store(r, id, size, cpu, sessions);
	return 0;
}

#define EMIT(name, rec, sessions) emit(&(rec)->h, EVENT_##name, sizeof(*(rec)), sessions)

/* Where to store the record of a hit that needs no further checks; its header is already
 * there. Null for other hits. */
static __always_inline void *begin_direct(struct task_struct *current, u32 id, u32 size)
{
	const struct control *c = &control;
	struct record *r;
	u64 ts;

	barrier_var(c); /* load its address once */
	if (!(c->event_ways[id] & WAY_DIRECT) || (u32)current->tgid == c->self_tgid)
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
 * OF_CURRENT, OF_PAIR(N), OF_TYPED_PAIR(N) or OF_CURRENT_IF(function). The parameters of
 * the body follow.
 *
 * The fast path stores straight into the flight ring. Otherwise the hit is first
 * matched against the filters of the sessions.
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
 * event, or whose record is of variable length. It calls sessions_of_NAME(args,
 * current_task()). */
#define EVENT_PROGRAM(name, of, ...) \
	DECLARE_EVENT(name, of)      \
	SEC("?raw_tp/" #name)        \
	int name(__VA_ARGS__)

/* The hit matches if the current task does. */
#define OF_CURRENT "current", matching_of_current, 0
/* The hit matches if the current task or the task in argument N does. */
#define OF_PAIR(n) "pair", matching_pair, n
#define OF_TYPED_PAIR(n) "pair", matching_typed_pair, n /* in a TYPED_EVENT */
/* The hit matches if the current task does and `function`, like matching_of_current(),
 * finds nothing that excludes the hit. */
#define OF_CURRENT_IF(function) "current", function, 0

static __always_inline u32 matching_of_current(u32 sessions, struct task_struct *current,
					       const u64 *args __attribute__((unused)),
					       u32 other __attribute__((unused)))
{
	return matching_current(sessions, current);
}

/*
 * Declares the record of an event for the schema, and which tasks decide whether a hit
 * matches the filter. Readers infer from that which threads are complete, so the filter
 * and the schema have it from the same words.
 */
#define DECLARE_EVENT(...) DECLARE_EVENT_OF(__VA_ARGS__)
#define DECLARE_EVENT_OF(name, matched_by, matching, other)                                         \
	const struct rec_##name *const record_of_##name                                             \
		__attribute__((btf_decl_tag("matched_by:" matched_by))) SEC(".rodata.events") = 0;  \
	static __always_inline u32 sessions_of_##name(const u64 *args, struct task_struct *current) \
	{                                                                                           \
		return matching(count_hit(EVENT_##name), current, args, other);                     \
	}

/* Both ways use the same current task. After the filter it is asked for again, so that it
 * need not be kept across the calls of the filter. */
#define DEFINE_EVENT(...) DEFINE_EVENT_OF(__VA_ARGS__)
#define DEFINE_EVENT_OF(section, name, matched_by, matching, other, ...)                           \
	DECLARE_EVENT_OF(name, matched_by, matching, other)                                        \
	static __always_inline void fill_##name(__VA_ARGS__);                                      \
	static __always_inline bool record_##name(const struct hit *hit)                           \
	{                                                                                          \
		void *place = begin_direct(hit->current, EVENT_##name, sizeof(struct rec_##name)); \
		struct rec_##name r = {};                                                          \
                                                                                                   \
		if (!place)                                                                        \
			return false;                                                              \
		fill_##name(&r, hit);                                                              \
		store_fields(place, &r.h, sizeof(r));                                              \
		return true;                                                                       \
	}                                                                                          \
	SEC(section)                                                                               \
	int name(u64 *ctx)                                                                         \
	{                                                                                          \
		struct hit hit = { ctx, current_task() };                                          \
		u32 sessions;                                                                      \
                                                                                                   \
		if (record_##name(&hit))                                                           \
			return 0;                                                                  \
		sessions = sessions_of_##name(ctx, hit.current);                                   \
		if (!sessions)                                                                     \
			return 0;                                                                  \
                                                                                                   \
		struct rec_##name r = {};                                                          \
                                                                                                   \
		hit.current = current_task();                                                      \
		fill_##name(&r, &hit);                                                             \
		return EMIT(name, &r, sessions);                                                   \
	}                                                                                          \
	static __always_inline void fill_##name(__VA_ARGS__)

#endif
