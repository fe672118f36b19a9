// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Any tracepoint: copies the record that the kernel makes for perf.
 *
 * The context is that record. Fields of fixed length are copied unchanged. Fields of
 * variable length follow them, one after another, and their location words are
 * rewritten, see LOCATED_OFFSET.
 */
#include "dynamic.h"

/* Copies one field of variable length to `end` and advances `end`. A field that does
 * not fit is truncated and marked so. */
static __always_inline void copy_located(void *ctx, union dynamic_record *r, u32 *end, u32 at, u32 relative,
					 u32 size_log2)
{
	u32 word_at = DYNAMIC_PAYLOAD + at - TRACEPOINT_COMMON, room = RECORD_MAX - sizeof(u64) - *end;
	u32 word, from, length, cut = 0;

	if (word_at > RECORD_MAX - sizeof(word))
		return;
	word = *(u32 *)(r->bytes + word_at);
	from = (word & 0xffff) + (relative ? at + sizeof(word) : 0);
	length = word >> 16;
	if (length > room) {
		length = room >> (size_log2 & 3) << (size_log2 & 3);
		cut = LOCATED_CUT;
	}
	/* The masks change nothing; the verifier needs them. */
	if (bpf_probe_read_kernel(r->bytes + (*end & (RECORD_MAX - 1)), length & (RECORD_MAX - 1), ctx + from))
		length = 0, cut = LOCATED_CUT;
	*(u32 *)(r->bytes + word_at) = *end | cut | (length >> (size_log2 & 3)) << LOCATED_COUNT_SHIFT;
	*end += length;
}

SEC("?tp/any")
int tracepoint_event(void *ctx)
{
	u32 id = bpf_get_attach_cookie(ctx), sessions = sessions_of_hit(id), fixed, end;
	struct tracepoint_layout *layout = bpf_map_lookup_elem(&tracepoint_layouts, &id);
	union dynamic_record *r = dynamic_record();

	if (!layout || !r || !sessions)
		return 0;
	fixed = layout->fixed;
	if (fixed > TRACEPOINT_FIXED_MAX)
		return 0;
	bpf_probe_read_kernel(r->bytes + DYNAMIC_PAYLOAD, fixed, ctx + TRACEPOINT_COMMON);
	end = DYNAMIC_PAYLOAD + fixed;
	for (u32 i = 0; i < LOCATED_MAX; i++) {
		if (i >= layout->located)
			break;
		copy_located(ctx, r, &end, layout->field[i].at, layout->field[i].relative,
			     layout->field[i].size_log2);
	}
	return emit_dynamic(r, id, end, context_now(), sessions);
}
