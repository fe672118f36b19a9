/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Stores records in the stream rings of sessions. */
#ifndef KTRACED_BPF_EMIT_STREAM_H
#define KTRACED_BPF_EMIT_STREAM_H

#include "flight.h"
#include "stream_ring.h"

/* RECORD_HAS_STACKS if the record has stacks. */
static __always_inline u32 stacks_bit(const struct record *r __attribute__((unused)))
{
#ifdef EVENTS_WITH_STACKS
	return r->id & RECORD_HAS_STACKS;
#else
	return 0;
#endif
}

/* Counts what a session did with a record. */
static __always_inline void account(struct session_state *state, u64 id, bool stored)
{
	struct session_counters *counters = &state->events[id];

	if (stored) {
		__sync_fetch_and_add(&counters->recorded, 1);
		return;
	}
	__sync_fetch_and_add(&counters->dropped, 1);
	__sync_fetch_and_add(&state->dropped_total, 1);
}

/* Wakes the reader after every wakeup_bytes bytes, not after each record: a wake-up
 * costs several times as much as a record. */
static __always_inline u64 wakeup_flag(struct session_state *state, u32 session, u32 size)
{
	u64 before = __sync_fetch_and_add(&state->stream_bytes, size);

	return (before ^ (before + size)) & control.wakeup_bytes[session] ? BPF_RB_FORCE_WAKEUP
									  : BPF_RB_NO_WAKEUP;
}

/* What a function of its own returns. Where the compiler knows the value, it leaves anything in the
 * register, and the verifier refuses a stack pointer there. */
static __always_inline int done(void)
{
	int zero = 0;

	barrier_var(zero);
	return zero;
}

/* Stores the record in a BPF ring buffer. */
static __always_inline bool buffer_output(struct session_state *state, u32 session, u32 index, struct record *r,
					  u32 size)
{
	void *ring = bpf_map_lookup_elem(&stream_rings, &index);

	return ring && !bpf_ringbuf_output(ring, r, size, wakeup_flag(state, session, size));
}

/* Stores the record for one of these sessions, and returns the others. `in_arena` is constant: what kind the
 * stream rings are. `size`: of the record, and in the arena with its context. `id` has 64 bits, so that the
 * compiler keeps it once: the programs of strings have no more room on the stack. */
static __always_inline u32 store_for_first(struct record *r, u64 id, u32 size, u32 cpu, u32 sessions,
					   bool in_arena)
{
	u32 bit = sessions & -sessions, session = session_numbers[bit];
	u32 index = session * layout.cpus + cpu;
	struct session_state *state = bpf_map_lookup_elem(&session_states, &index);

	if (state && id < EVENT_ID_MAX)
		account(state, id,
			in_arena ? ring_output(index, r, id | stacks_bit(r), size)
				 : buffer_output(state, session, index, r, size));
	return sessions ^ bit;
}

/* Of these sessions, those with a stream. The verifier does not know which: it would follow each set. */
static __always_inline u32 stream_sessions(u32 sessions)
{
	barrier_var(sessions);
	return sessions & WAY_SESSIONS & ~WAY_RECORDER;
}

/* Functions of their own: one copy of each serves all programs. */
static __noinline int ring_store(struct record *r, u64 id, u32 of_header, u32 cpu, u32 sessions)
{
	struct bpf_iter_num streams; /* the verifier follows this loop twice, and not for each session */

	bpf_iter_num_new(&streams, SESSION_RECORDER + 1, SESSIONS_MAX);
	while (bpf_iter_num_next(&streams) && (sessions = stream_sessions(sessions)))
		sessions = store_for_first(r, id, of_header, cpu, sessions, true);
	bpf_iter_num_destroy(&streams);
	return done();
}

static __noinline int buffer_store(struct record *r, u64 id, u32 size, u32 cpu, u32 sessions)
{
	for (u32 i = SESSION_RECORDER + 1; i < SESSIONS_MAX && (sessions = stream_sessions(sessions)); i++)
		sessions = store_for_first(r, id, size, cpu, sessions, false);
	return done();
}

/* Stores the record in the stream ring of each of these sessions. */
static __always_inline int stream_store(struct record *r, u32 id, u32 size, u32 cpu, u32 sessions)
{
	if (features.arena)
		/* The verifier knows no bound of a size that it has not seen computed. */
		return ring_store(r, id, size + (size_of_begun(r) & RECORD_CONTEXT), cpu, sessions);
	mention_arena();
	return buffer_store(r, id, size, cpu, sessions);
}

/* The only session that gets a record, if it has a stream ring: then stream_put() stores it; else 0.
 * A program that is preempted between reserving and submitting keeps later records of the CPU from
 * the reader. Without arenas, there is more in between. */
static __always_inline u32 only_stream(u32 sessions)
{
	barrier_var(sessions); /* the verifier must see the bound on the value that is used */
	return features.arena || !features.preemptible ? session_numbers[sessions & WAY_SESSIONS] : 0;
}

/* Copies a record without its header, in whole words. */
static __always_inline void store_fields(void *place, const struct record *r, u32 size)
{
	__builtin_memcpy(__builtin_assume_aligned(place + sizeof(*r), sizeof(u64)),
			 __builtin_assume_aligned(r + 1, sizeof(u64)), size - sizeof(*r));
}

/* Stores a record in a ring of the arena. `size` is constant. */
static __always_inline void ring_put(struct session_state *state, u32 index, u64 ts, const struct record *r,
				     u32 id, u32 size, struct task_struct *current)
{
	struct stream_place place = ring_reserve(index, size);

	account(state, id, place.record);
	if (!place.record)
		return;
	place.record->ts = ts;
	place.record->tid = current->pid;
	store_fields(place.record, r, size);
	ring_commit(&place, id_and_size(id, size_of_begun(r)));
}

/* Stores a record in a BPF ring buffer. `size` is constant. What was reserved must be submitted:
 * nothing may fail in between. */
static __always_inline void buffer_put(struct session_state *state, u32 session, u32 index, u64 ts,
				       const struct record *r, u32 id, u32 size, struct task_struct *current)
{
	void *ring = bpf_map_lookup_elem(&stream_rings, &index);
	struct record *place = ring ? bpf_ringbuf_reserve(ring, size, 0) : NULL;
	u64 wakeup;

	account(state, id, place);
	if (!place)
		return;
	wakeup = wakeup_flag(state, session, size);
	set_header(place, ts, id, size_of_begun(r), current);
	store_fields(place, r, size);
	bpf_ringbuf_submit(place, wakeup);
}

/* Stores a record that was begun in the stream ring of one session. Of its header, only the size counts beside
 * what is passed here. Without room, the record counts as dropped. */
static __always_inline int stream_put(u64 ts, const struct record *r, u32 id, u32 size,
				      struct task_struct *current, u32 session)
{
	u32 index = session * layout.cpus + this_cpu(current);
	struct session_state *state = bpf_map_lookup_elem(&session_states, &index);

	if (!state)
		return done();
	if (features.arena) {
		ring_put(state, index, ts, r, id, size, current);
		return done();
	}
	mention_arena();
	buffer_put(state, session, index, ts, r, id, size, current);
	return done();
}

/* Stores a whole record of this thread in the stream rings of these sessions. */
static __always_inline int stream_copy(struct record *r, u32 id, u32 size, u32 sessions)
{
	struct task_struct *current = current_task();
	u32 session = only_stream(sessions);

	if (session)
		return stream_put(r->ts, r, id, size, current, session);
	return stream_store(r, id, size, this_cpu(current), sessions);
}

#endif
