/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Counts a hit for the sessions that have its event on. */
#ifndef KTRACED_BPF_EMIT_COUNT_H
#define KTRACED_BPF_EMIT_COUNT_H

#include "../filter.h"

_Static_assert(sizeof(((struct cpu_state *)0)->hits[0]) == 1 << WAY_COUNTER_SHIFT,
	       "the bits WAY_COUNTER are an offset in hits");

/* The word of an event: enum event_way. */
static __always_inline u32 event_way(const struct control *c, u32 id)
{
	return c->event_ways[id & (EVENT_ID_MAX - 1)];
}

/* Counts a hit where its word says, also if no session has the event on: a detached program
 * may still run for some milliseconds. `of_recorder`: it is another hit of the recorder, which
 * stores those beside other sessions directly. Returns the sessions of the word. */
static __always_inline u32 count_by(u32 way, u32 id, struct task_struct *current, bool of_recorder)
{
	u32 cpu = this_cpu(current);
	struct cpu_state *state = bpf_map_lookup_elem(&cpu_states, &cpu);
	u64 *row;

	if (id >= EVENT_ID_MAX)
		return 0;
	if (state) { /* always: the map has an element for each CPU */
		row = (void *)state->hits + (way & WAY_COUNTER);
		__sync_fetch_and_add(&row[id], 1);
	}
	if (state && of_recorder) {
		row = (void *)state->hits + ((way | WAY_OF_RECORDER) & WAY_COUNTER);
		__sync_fetch_and_add(&row[id], 1);
	}
	return way & WAY_SESSIONS;
}

/* The sessions that have the event on, of a hit that is not stored directly. */
static __always_inline u32 count_hit(u32 id, struct task_struct *current)
{
	u32 way = event_way(&control, id);

	return count_by(way, id, current, way & WAY_BESIDE);
}

/* The sessions that a hit matches of the current task. */
static __always_inline u32 sessions_of_hit(u32 id)
{
	struct task_struct *current = current_task();

	return matching_current(count_hit(id, current), current);
}

#endif
