/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Dynamic events: their ids and fields are known only at run time.
 *
 * One program serves many events. Its attach cookie is the event's id. It is written as
 *
 *	SEC("?tp/any")
 *	int some_event(void *ctx)
 *	{
 *		u32 id = bpf_get_attach_cookie(ctx);
 *		u32 sessions = sessions_of_hit(id);
 *		union dynamic_record *r;
 *
 *		if (!sessions || !(r = dynamic_record()))
 *			return 0;
 *		… fill r->bytes from DYNAMIC_PAYLOAD on …
 *		return emit_dynamic(r, id, size, context_now(), sessions);
 *	}
 */
#ifndef KTRACED_BPF_DYNAMIC_H
#define KTRACED_BPF_DYNAMIC_H

#include "emit.h"

enum {
	DYNAMIC_PAYLOAD = sizeof(struct record), /* offset of the first field */
};

/* A record that is being built. It is twice as long as the longest record: a piece of
 * RECORD_MAX bytes fits at any offset below RECORD_MAX, which satisfies the verifier. */
union dynamic_record {
	struct record h;
	u8 bytes[2 * RECORD_MAX];
};

/*
 * One record for each CPU. A nested hit can't overwrite it: the kernel runs these
 * programs (perf's tracepoints and kprobes) with preemption off, and never nests them
 * on one CPU (bpf_prog_active in trace_call_bpf()). Neither is true for raw tracepoints
 * and fentry.
 */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, union dynamic_record);
} dynamic_records SEC(".maps");

static __always_inline union dynamic_record *dynamic_record(void)
{
	u32 zero = 0;

	return bpf_map_lookup_elem(&dynamic_records, &zero);
}

/* Emits the first `size` bytes, the header included; pads them with zeros. `context`: enum record_context. */
static __always_inline int emit_dynamic(union dynamic_record *r, u32 id, u32 size, u32 context, u32 sessions)
{
	if (size > RECORD_MAX - sizeof(u64))
		size = RECORD_MAX - sizeof(u64);
	__builtin_memset(r->bytes + size, 0, sizeof(u64));
	size = (size + 7) & ~7U;
	barrier_var(size); /* the verifier must see the bound on the value that is used */
	return size <= RECORD_MAX ? emit_at(bpf_ktime_get_boot_ns(), &r->h, id, size, size + context, sessions)
				  : 0;
}

#endif
