// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Kernel probes: runs the fetch program that was compiled from a probe's definition.
 *
 * This is a separate object because each probe loads its own copy of one of these
 * programs. Its fetch program is constant at load time, so the verifier follows only
 * the operations in use, and the kernel counts its misses separately. All other maps
 * are shared with the main object. The cookie is the probed address.
 */
#include "dynamic.h"

const volatile struct fetch_program fetch SEC(".rodata.fetch") = {};

/* State of one run. It is in a map, so that its values do not multiply the verifier's
 * states. Probes do not nest on one CPU, see dynamic_records. */
struct fetch_state {
	u64 value;
	u64 failed; /* mask of failed fields */
	u64 end;    /* bytes of the record so far, texts included */
	u64 registers[FETCH_REGISTERS];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct fetch_state);
} fetch_states SEC(".maps");

static __always_inline void fail_field(struct fetch_state *s, u8 bit)
{
	s->failed |= 1ULL << (bit & 63);
}

static __always_inline long read_memory(void *to, u32 size, u64 from, u8 flags)
{
	return flags & FETCH_USER ? bpf_probe_read_user(to, size, (void *)from)
				  : bpf_probe_read_kernel(to, size, (void *)from);
}

static __always_inline void fetch_read(struct fetch_state *s, const volatile struct fetch_op *op)
{
	u64 value = 0;
	u32 size = op->size;

	if (size <= sizeof(value) && read_memory(&value, size, s->value + op->number, op->flags)) {
		fail_field(s, op->bit);
		value = 0;
	}
	s->value = value;
}

static __always_inline void fetch_bits(struct fetch_state *s, const volatile struct fetch_op *op)
{
	u64 value = s->value << (op->number & 63);
	u32 right = op->number >> 8 & 63;

	s->value = op->flags & FETCH_SIGNED ? (u64)((s64)value >> right) : value >> right;
}

static __always_inline void fetch_store(struct fetch_state *s, union dynamic_record *r,
					const volatile struct fetch_op *op)
{
	u8 *to = r->bytes + (op->at & (RECORD_MAX - 1));
	u16 size = op->size;

	if (size == sizeof(u64))
		*(u64 *)to = s->value;
	else if (size == sizeof(u32))
		*(u32 *)to = s->value;
	else if (size == sizeof(u16))
		*(u16 *)to = s->value;
	else
		*to = s->value;
}

static __always_inline void fetch_copy(struct fetch_state *s, union dynamic_record *r,
				       const volatile struct fetch_op *op)
{
	u8 *to = r->bytes + (op->at & (RECORD_MAX - 1));
	u32 size = op->size;

	/* A failed read leaves zeros. */
	if (size <= RECORD_MAX && read_memory(to, size, s->value + op->number, op->flags))
		fail_field(s, op->bit);
}

static __always_inline void fetch_string(struct fetch_state *s, union dynamic_record *r,
					 const volatile struct fetch_op *op)
{
	u8 *word = r->bytes + (op->at & (RECORD_MAX - 1));
	u64 from = s->value + op->number, end = s->end;
	u32 room = RECORD_MAX - sizeof(u64);
	long length;

	if (end >= room) {
		*(u32 *)word = room | LOCATED_CUT;
		return;
	}
	room -= end;
	if (room > FETCH_STRING_MAX)
		room = FETCH_STRING_MAX;
	barrier_var(room);
	if (room > FETCH_STRING_MAX)
		return;
	length = op->flags & FETCH_USER
			 ? bpf_probe_read_user_str(r->bytes + (end & (RECORD_MAX - 1)), room, (void *)from)
			 : bpf_probe_read_kernel_str(r->bytes + (end & (RECORD_MAX - 1)), room, (void *)from);
	if (length < 0) {
		fail_field(s, op->bit);
		length = 0;
	}
	*(u32 *)word = end | (length == room ? LOCATED_CUT : 0) | (u32)length << LOCATED_COUNT_SHIFT;
	s->end = end + length;
}

static __always_inline void fetch_one(struct fetch_state *s, union dynamic_record *r,
				      const volatile struct fetch_op *op)
{
	u8 code = op->code;

	if (code == FETCH_REGISTER) {
		u64 place = op->number;

		if (place < FETCH_REGISTERS)
			s->value = s->registers[place];
	} else if (code == FETCH_CONSTANT) {
		s->value = op->number;
	} else if (code == FETCH_READ) {
		fetch_read(s, op);
	} else if (code == FETCH_BITS) {
		fetch_bits(s, op);
	} else if (code == FETCH_STORE) {
		fetch_store(s, r, op);
	} else if (code == FETCH_COPY) {
		fetch_copy(s, r, op);
	} else if (code == FETCH_STRING) {
		fetch_string(s, r, op);
	} else if (code == FETCH_COMM) {
		bpf_get_current_comm(r->bytes + (op->at & (RECORD_MAX - 1)), COMM_LEN);
	}
}

/* enum record_context of a hit that may come by int3, which the kernel handles as an NMI: in one, it is not
 * known. See irqentry_nmi_enter() of the kernel. */
__noinline int context_before_int3(void)
{
	return in_nmi() ? CONTEXT_UNKNOWN : context_now();
}

static __always_inline int probe_hit(void *ctx, bool by_int3)
{
	union dynamic_record *r = dynamic_record();
	u32 zero = 0, id = fetch.id, failed_at = fetch.failed_at, sessions = sessions_of_hit(id);
	struct fetch_state *s = bpf_map_lookup_elem(&fetch_states, &zero);

	if (!r || !s || !sessions)
		return 0;
	s->failed = 0;
	s->end = fetch.size;
	bpf_probe_read_kernel(s->registers, sizeof(s->registers), ctx);
	*(u64 *)(r->bytes + FETCH_FIRST_FIELD) = bpf_get_attach_cookie(ctx);
	if (fetch.at_return)
		*(u64 *)(r->bytes + FETCH_FIRST_FIELD + sizeof(u64)) = s->registers[FETCH_REGISTER_IP];
	for (u32 i = 0; i < FETCH_OPS_MAX; i++) {
		if (fetch.ops[i].code == FETCH_END)
			break;
		fetch_one(s, r, &fetch.ops[i]);
	}
	if (failed_at)
		*(u64 *)(r->bytes + (failed_at & (RECORD_MAX - 1))) = s->failed;
	return emit_dynamic(r, id, s->end, by_int3 ? context_before_int3() : context_now(), sessions);
}

SEC("?kprobe")
int probe_entry(void *ctx)
{
	return probe_hit(ctx, true);
}

SEC("?kprobe.multi")
int probe_entry_multi(void *ctx)
{
	return probe_hit(ctx, false);
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
