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
 * A record is made on the stack, and then copied to its place in each ring. In a ring of the
 * arena and in a flight ring, one atomic step reserves the space, which is then filled.
 * Nothing can fail between reserving and submitting. A reader of a stream ring stops at a
 * record that is not submitted; one of a flight ring first waits for all programs that may be
 * writing to it. Counters are atomic because programs nest.
 */
#ifndef KTRACED_BPF_EMIT_H
#define KTRACED_BPF_EMIT_H

#include "emit/count.h"
#include "emit/flight.h"
#include "emit/stream.h"

/* For the schema: the compiler puts a type into BTF only if a variable has that type. A
 * member that points to the type gives only a forward declaration. */
const enum event_id events_declared SEC(".rodata.events") = 0;

/* What a program sees of a hit. */
struct hit {
	const u64 *args;             /* of the tracepoint, in the order of its prototype */
	struct task_struct *current; /* the running task */
};

/* Stores a record of this time for each of these sessions. `of_header`: see size_and_context(). */
static __always_inline int emit_at(u64 ts, struct record *r, u32 id, u32 size, u32 of_header, u32 sessions)
{
	struct task_struct *current = current_task();
	u32 cpu = this_cpu(current);

	if (id >= EVENT_ID_MAX)
		return 0;
	set_header(r, ts, id, of_header, current);
	if (sessions & WAY_RECORDER) {
		struct session_state *state = bpf_map_lookup_elem(&session_states, &cpu);
		bool stored = flight_store(r, id, size, cpu, &control.flight_slots);

		if (state)
			account(state, id, stored);
	}
	if (sessions & ~WAY_RECORDER)
		stream_store(r, id, size, cpu, sessions);
	return 0;
}

/* emit_at() for a record of now. */
static __always_inline int emit(struct record *r, u32 id, u32 size, u32 sessions)
{
	return emit_at(bpf_ktime_get_boot_ns(), r, id, size, size_and_context(size, false), sessions);
}

#define EMIT(name, rec, sessions) emit(&(rec)->h, EVENT_##name, sizeof(*(rec)), sessions)

#ifdef EVENTS_WITH_STACKS
/* What follows for the second programs of events: see emit/stack.h. */
#define EVENT(name, of, ...)                                    \
	DEFINE_STACKED("?raw_tp/" #name, name, of, __VA_ARGS__) \
	static __always_inline void fill_##name(__VA_ARGS__)
#define TYPED_EVENT(name, of, ...)                                      \
	DEFINE_STACKED("?raw_tracepoint/" #name, name, of, __VA_ARGS__) \
	static __always_inline void fill_##name(__VA_ARGS__)
#else
/*
 * An event: its record, and the raw tracepoint program that writes it. `of` is
 * OF_CURRENT, OF_PAIR(N), OF_TYPED_PAIR(N) or OF_CURRENT_IF(function). The parameters of
 * the body follow.
 *
 * The fast path stores straight into the flight ring. Otherwise the hit is first
 * matched against the filters of the sessions.
 */
#define EVENT(name, of, ...)                   \
	DEFINE_EVENT(name, of, __VA_ARGS__)    \
	DEFINE_PROGRAM("?raw_tp/" #name, name) \
	static __always_inline void fill_##name(__VA_ARGS__)

/*
 * An EVENT whose program reads through its arguments with TYPED(), by plain loads. The
 * other section name means the same to libbpf. src/kernel/programs/bpf_loader.cpp
 * recognizes these programs by it, and lets the kernel check the types of their
 * arguments where possible. Use it only if every argument is always a pointer to its
 * declared type.
 */
#define TYPED_EVENT(name, of, ...)                     \
	DEFINE_EVENT(name, of, __VA_ARGS__)            \
	DEFINE_PROGRAM("?raw_tracepoint/" #name, name) \
	static __always_inline void fill_##name(__VA_ARGS__)
#endif

#define DEFINE_PROGRAM(section, name)   \
	SEC(section)                    \
	int name(u64 *ctx)              \
	{                               \
		return run_##name(ctx); \
	}

/* An EVENT with the whole program as body, for one that does more than to write the event,
 * or whose record is of variable length. It calls sessions_of_NAME(args,
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
#define DECLARE_RECORD(name, matched_by)                \
	const struct rec_##name *const record_of_##name \
		__attribute__((btf_decl_tag("matched_by:" matched_by))) SEC(".rodata.events") = 0;

/* DECLARE_RECORD(), and the sessions that a hit of the event matches: sessions_of_NAME(). */
#define DECLARE_EVENT(...) DECLARE_EVENT_OF(__VA_ARGS__)
#define DECLARE_EVENT_OF(name, matched_by, matching, other)                                         \
	DECLARE_RECORD(name, matched_by)                                                            \
	static __always_inline u32 sessions_of_##name(const u64 *args, struct task_struct *current) \
	{                                                                                           \
		return matching(count_hit(EVENT_##name, current), current, args, other);            \
	}

/*
 * The ways of a hit; run_NAME() chooses. record_NAME() stores it for the recorder without further
 * checks. beside_NAME() does that while other sessions have the event on too, and gives them a
 * copy; the daemon asks for that only where programs cannot be preempted. unstored_NAME() has what
 * these two could not store. Both are functions of their own, so
 * that the usual hit saves no registers for them. match_NAME() asks the filters first; after them
 * the current task is asked for again, so that it need not be kept across their calls.
 */
#define DEFINE_EVENT(...) DEFINE_EVENT_OF(__VA_ARGS__)
#define DEFINE_EVENT_OF(name, matched_by, matching, other, ...)                                             \
	DECLARE_RECORD(name, matched_by)                                                                    \
	static __always_inline void fill_##name(__VA_ARGS__);                                               \
	static __always_inline bool record_##name(const struct hit *hit, const struct control *c)           \
	{                                                                                                   \
		struct rec_##name r = {};                                                                   \
		void *place;                                                                                \
                                                                                                            \
		begin_record(&r.h, sizeof(r), true);                                                        \
		place = begin_direct(hit->current, c, EVENT_##name, sizeof(r), &r.h);                       \
		if (!place)                                                                                 \
			return false;                                                                       \
		fill_##name(&r, hit);                                                                       \
		store_fields(place, &r.h, sizeof(r));                                                       \
		return true;                                                                                \
	}                                                                                                   \
	static __always_inline int emit_##name(const struct hit *hit, u32 sessions)                         \
	{                                                                                                   \
		struct rec_##name r = {};                                                                   \
		u32 session;                                                                                \
                                                                                                            \
		begin_record(&r.h, sizeof(r), false);                                                       \
		fill_##name(&r, hit);                                                                       \
		session = only_stream(sessions);                                                            \
		if (session)                                                                                \
			return stream_put(bpf_ktime_get_boot_ns(), &r.h, EVENT_##name, sizeof(r),           \
					  current_task(), session);                                         \
		return emit_at(bpf_ktime_get_boot_ns(), &r.h, EVENT_##name, sizeof(r), size_of_begun(&r.h), \
			       sessions);                                                                   \
	}                                                                                                   \
	static __always_inline int match_##name(struct hit *hit, u32 sessions)                              \
	{                                                                                                   \
		sessions = matching(sessions, hit->current, hit->args, other);                              \
		if (!sessions)                                                                              \
			return 0;                                                                           \
		hit->current = current_task();                                                              \
		return emit_##name(hit, sessions);                                                          \
	}                                                                                                   \
	static __noinline int unstored_##name(u64 *ctx)                                                     \
	{                                                                                                   \
		struct hit hit = { ctx, current_task() };                                                   \
		u32 way = event_way(&control, EVENT_##name);                                                \
                                                                                                            \
		return match_##name(&hit, count_by(way, EVENT_##name, hit.current, way & WAY_BESIDE));      \
	}                                                                                                   \
	static __noinline int beside_##name(u64 *ctx)                                                       \
	{                                                                                                   \
		struct hit hit = { ctx, current_task() };                                                   \
		const struct control *c = &control;                                                         \
		struct rec_##name r = {};                                                                   \
		struct record *place;                                                                       \
		u32 way, sessions;                                                                          \
                                                                                                            \
		begin_record(&r.h, sizeof(r), true);                                                        \
		barrier_var(c);                                                                             \
		way = event_way(c, EVENT_##name);                                                           \
		if (!(way & WAY_BESIDE) ||                                                                  \
		    !(place = begin_direct(hit.current, c, EVENT_##name, sizeof(r), &r.h)))                 \
			return unstored_##name(ctx);                                                        \
		set_header(&r.h, place->ts, EVENT_##name, size_of_begun(&r.h), hit.current);                \
		fill_##name(&r, &hit);                                                                      \
		store_fields(place, &r.h, sizeof(r));                                                       \
		sessions = count_by(way, EVENT_##name, hit.current, false) & ~WAY_RECORDER;                 \
		sessions = matching(sessions, hit.current, ctx, other);                                     \
		return sessions ? stream_copy(&r.h, EVENT_##name, sizeof(r), sessions) : 0;                 \
	}                                                                                                   \
	static __always_inline int run_##name(u64 *ctx)                                                     \
	{                                                                                                   \
		struct hit hit = { ctx, current_task() };                                                   \
		const struct control *c = load_control();                                                   \
		u32 way;                                                                                    \
                                                                                                            \
		way = event_way(c, EVENT_##name);                                                           \
		if (__builtin_expect(way >= WAY_DIRECT, 1) && record_##name(&hit, c))                       \
			return 0;                                                                           \
		if (way >= WAY_BESIDE)                                                                      \
			return beside_##name(ctx);                                                          \
		return match_##name(&hit, count_by(way, EVENT_##name, hit.current, false));                 \
	}

#endif
