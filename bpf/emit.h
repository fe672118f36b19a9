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
 * and forgotten, and a program that is preempted or interrupted half-way leaves
 * no trace in a ring. Counters are atomic for the same reason.
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

static __always_inline struct cpu_state *this_cpu_state(u32 *cpu)
{
	*cpu = bpf_get_smp_processor_id();
	return bpf_map_lookup_elem(&cpu_states, cpu);
}

static __always_inline bool count_filtered(u32 id)
{
	u32 cpu;
	struct cpu_state *state = this_cpu_state(&cpu);

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
	return (event_on(id) && current_wanted(bpf_get_current_pid_tgid() >> 32)) || count_filtered(id);
}

/* The same for an event that is also about another task. */
static __always_inline bool pair_hit_wanted(u32 id, struct task_struct *other)
{
	return (event_on(id) && pair_wanted(bpf_get_current_pid_tgid() >> 32, other)) || count_filtered(id);
}

/* Wake the reader whenever another wakeup_bytes were written, not for each record:
 * a wake-up costs several times the record itself. */
static __always_inline u64 wakeup_flag(struct cpu_state *state, u32 size)
{
	u64 before = __sync_fetch_and_add(&state->stream_bytes, size);

	return (before ^ (before + size)) & control.wakeup_bytes ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP;
}

/* Into the flight ring of this CPU; false if it has none. Place is taken with one
 * atomic subtraction, so interrupts nest without harm; nothing can fail after it. */
static __always_inline bool flight_store(struct record *r, u32 id, u32 size, u32 cpu)
{
	u32 index = control.flight_bank * layout.cpus + cpu, zero = 0;
	void *ring = bpf_map_lookup_elem(&flight_rings, &index);
	struct flight_header *header;
	void *place;

	if (!ring)
		return false;
	header = bpf_map_lookup_elem(ring, &zero);
	if (!header)
		return false;
	place = (void *)(header + 1) +
		((__sync_fetch_and_add(&header->head, -(u64)size) - size) & (layout.flight_bytes - 1));
	if (__builtin_constant_p(size))
		__builtin_memcpy(place, r, size);
	else
		bpf_probe_read_kernel(place, size, r);
	__sync_fetch_and_add(&header->records[id], 1);
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
	u32 cpu;
	struct cpu_state *state = this_cpu_state(&cpu);
	bool stored = true;

	if (!state || id >= EVENT_ID_MAX)
		return 0;
	r->ts = bpf_ktime_get_boot_ns();
	r->id = id;
	r->size = size;
	r->tid = bpf_get_current_pid_tgid();
	if (control.flight) {
		stored = flight_store(r, id, size, cpu);
		if (!stored)
			__sync_fetch_and_add(&state->flight_misses[id].count, 1);
	}
	if (control.stream)
		stored &= stream_store(state, r, size, cpu);
	if (stored) {
		__sync_fetch_and_add(&state->events[id].recorded, 1);
		return 0;
	}
	__sync_fetch_and_add(&state->events[id].dropped, 1);
	__sync_fetch_and_add(&state->dropped_total, 1);
	return 0;
}

#define EMIT(name, rec) emit(&(rec)->h, EVENT_##name, sizeof(*(rec)))

#endif
