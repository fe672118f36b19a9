/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Events with stacks: see struct stack_control and bpf/state/stack_records.h.
 *
 * A kernel stack is taken by the kernel's unwinder, whose buffer belongs to the CPU: preemption is off while
 * it is in use. Before 7.0 it is in every program of a raw tracepoint, and later in a section of this one. A
 * user stack is followed here by its frame pointers. That takes half the time, needs no buffer of the kernel,
 * and shows how the stack ends.
 */
#ifndef KTRACED_BPF_EMIT_STACK_H
#define KTRACED_BPF_EMIT_STACK_H

#include "../catcher.h"
#include "stack_buffer.h"
#include "vma.h"

enum {
	STACK_LENGTH_SHIFT = 8, /* what user_frames() returns: length << 8 | enum stack_end */
};

_Static_assert(sizeof(struct rec_stack) + (STACK_DEPTH_MAX + STACK_OWN_FRAMES) * sizeof(u64) <= RECORD_MAX,
	       "before 5.18 the kernel stores fewer frames than fit, by those that it skips");

/* The buffers of a program, by what it makes in them while it records a hit. */
enum {
	BUFFER_EVENT,
	BUFFER_KERNEL,
	BUFFER_USER,
	BUFFER_MAPPING, /* and file */
};
_Static_assert(BUFFER_MAPPING < STACK_BUFFERS, "there is one for each");

/* Where and when a hit happened, and its flight ring: all of its records are in the same bank. */
struct stacked_hit {
	u64 ts;
	u32 cpu;
	u32 slots;
	u32 sessions;
	u32 context;
};

/* The hit is here and not on the stack, because the verifier does not follow what is in a map: otherwise it
 * takes the way through all that comes after it for each value that it knows. */
struct stack_buffers {
	union stack_buffer of[STACK_BUFFERS];
	struct mapping_scratch mappings;
	struct stacked_hit hit;
};
_Static_assert(sizeof(struct stack_buffers) == STACK_LEVEL_BYTES, "a level of struct stack_cpu has its memory");

/* Index = CPU. It is made when the first event gets stacks; the daemon sets its size. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct stack_cpu);
} stack_cpus SEC(".maps");

/* ---- taking a stack ---- */

#define STACK_MULTIPLIER 0x9e3779b97f4a7c15ull /* 2^64 / the golden ratio */

static __always_inline u64 mix(u64 hash, u64 value)
{
	hash = (hash ^ value) * STACK_MULTIPLIER;
	return hash ^ hash >> 29;
}

/* Global functions: the verifier follows their loops once, and not for each length of a stack. */

/* The number of a stack: a hash of all that its record says of it. */
__noinline u64 stack_number(const union stack_buffer *buffer)
{
	u32 length;
	u64 hash;

	if (!buffer)
		return 0;
	length = buffer->stack.length;
	hash = mix((u64)buffer->stack.kind << 8 | buffer->stack.end, length);
	hash = mix(hash, buffer->stack.layout);
	for (u32 i = 0; i < STACK_DEPTH_MAX && i < length; i++)
		hash = mix(hash, buffer->stack.frames[i]);
	return hash | 1ull << 63;
}

/* A frame of code with frame pointers: where the frame of its caller is, and where it returns to. */
struct user_frame {
	u64 caller;
	u64 returns;
};

/* False: the memory is not present, or is none of the process. */
static __always_inline bool read_frame(struct user_frame *frame, u64 at, u32 compat)
{
	u64 words[2];

	if (bpf_probe_read_user(words, compat ? 8 : 16, (void *)at))
		return false;
	if (compat) { /* two words of 32 bits */
		words[1] = words[0] >> 32;
		words[0] = (u32)words[0];
	}
	frame->caller = words[0];
	frame->returns = words[1];
	return true;
}

enum {
	USER_PAGE_ZERO = 4096,  /* no frame is below */
	USER_ADDRESS_BITS = 56, /* with five levels of page tables */
};

/* Follows the frame pointers of a user stack from `at` on, of which frames[0] is there already. */
__noinline u32 user_frames(union stack_buffer *buffer, u64 at, u32 depth, u32 compat)
{
	struct user_frame frame = {};
	u32 length = 1, end = STACK_DEPTH;

	if (!buffer)
		return 0;
	for (u32 i = 1; i < STACK_DEPTH_MAX && i < depth; i++) {
		if (!at) {
			end = STACK_START;
			break;
		}
		if (at < USER_PAGE_ZERO || at >> USER_ADDRESS_BITS) {
			end = STACK_BROKEN;
			break;
		}
		if (!read_frame(&frame, at, compat)) {
			end = STACK_UNREADABLE;
			break;
		}
		if (!frame.returns) {
			end = STACK_START;
			break;
		}
		buffer->stack.frames[i] = frame.returns;
		length = i + 1;
		if (frame.caller && frame.caller <= at) {
			end = STACK_BROKEN;
			break;
		}
		at = frame.caller;
	}
	return length << STACK_LENGTH_SHIFT | end;
}

enum {
	PF_KTHREAD = 0x00200000,
	/* Of the lowest byte of the code segment; Xen's segments of guests differ above. */
	USER_MODE = 3,
	SEGMENT_OF_PROCESS = 4, /* it has made the segment: modify_ldt() */
	USER32_CODE = 0x23,     /* 32-bit code */
};

/* Is the thread in execve()? For the second half of it, the memory is that of the new program, but the
 * registers are those of the old one. */
static __always_inline bool is_in_execve(struct task_struct *current)
{
	return bpf_core_field_exists(current->in_execve) && BPF_CORE_READ_BITFIELD(current, in_execve);
}

/* See struct rec_stack. Equal addresses of programs with different layouts have nothing to do with each other:
 * a process can map what it likes at any address, but does not choose where the kernel places its memory. */
static __always_inline u32 layout_of(struct task_struct *current)
{
	return mix(mix(0, READ(current, mm, mmap_base)), READ(current, mm, start_stack)) >> 32;
}

/* Takes the stack of the running thread; its number, or 0: it has none. */
static __always_inline u64 take_user_stack(union stack_buffer *buffer, struct task_struct *current, u32 depth)
{
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(current);
	u64 ip = READ(regs, ip), frame = READ(regs, bp);
	u8 cs = READ(regs, cs);
	u32 result;

	/* A kernel thread and one that is ending have no memory of a process, or only for a while; threads of
	 * io_uring have no registers. */
	if (!current->mm || current->flags & PF_KTHREAD || !ip || (cs & USER_MODE) != USER_MODE ||
	    is_in_execve(current))
		return 0;
	buffer->stack.frames[0] = ip;
	/* No frame is below the stack pointer: the register has anything. The addresses of code in a segment
	 * of the process begin there, and the size of its words is not known. */
	if ((frame && frame < READ(regs, sp)) || cs & SEGMENT_OF_PROCESS)
		result = 1 << STACK_LENGTH_SHIFT | STACK_BROKEN;
	else
		result = user_frames(buffer, frame, depth, cs == USER32_CODE);
	buffer->stack.length = result >> STACK_LENGTH_SHIFT;
	buffer->stack.kind = STACK_USER;
	buffer->stack.end = result;
	buffer->stack.layout = layout_of(current);
	return stack_number(buffer);
}

/* The kernel's unwinder has a buffer of this CPU: no other task may run meanwhile. */
static __always_inline bool may_unwind(void)
{
	return !features.preemptible || features.preemption_kfuncs;
}

/* Takes the stack of the kernel up to here, without the first `skip` frames; 0: the kernel gives none. A perf
 * event has nothing to skip: its stack begins with what it has interrupted. */
static __always_inline u64 take_kernel_stack(union stack_buffer *buffer, void *ctx, u32 depth, u32 skip)
{
	long bytes = bpf_get_stack(ctx, buffer->stack.frames, (depth + skip) * sizeof(u64), skip);
	u32 length = (u64)bytes / sizeof(u64);

	if (bytes <= 0)
		return 0;
	buffer->stack.end = length < depth ? STACK_START : STACK_DEPTH;
	buffer->stack.length = length < depth ? length : depth;
	buffer->stack.kind = skip ? STACK_KERNEL : STACK_SAMPLED;
	buffer->stack.layout = 0;
	return stack_number(buffer);
}

/* ---- the stacks that are in the rings ---- */

/* Where a ring is written now, and what distinguishes its table from that of an earlier ring. */
struct ring_state {
	u64 written; /* bytes so far */
	u64 bytes;   /* of the ring; 0: there is none */
	u64 salt;
};

static __always_inline struct ring_state flight_state(u32 cpu, u32 slots)
{
	u32 places = layout.flight_places, place;
	const struct flight_header *ring;
	struct ring_state state = {};
	void *data;

	if (places) {
		place = flight_in_arena(&slots, cpu, places);
		if (!place)
			return state;
		data = arena_at(place);
	} else {
		data = flight_in_map(&slots, cpu);
		if (!data)
			return state;
	}
	ring = (const struct flight_header *)data - 1;
	state.bytes = (places ? ring->mask : layout.flight_mask) + 1;
	state.written = 0 - *(volatile u64 *)&ring->head;
	state.salt = ring->stacks_since;
	return state;
}

static __always_inline struct ring_state stream_state(u32 index)
{
	const struct session_state *session = bpf_map_lookup_elem(&session_states, &index);
	struct ring_state state = {};
	u32 offset;
	void *ring;

	if (!session)
		return state;
	state.salt = session->stacks_since + session->dropped_total;
	if (features.arena) {
		offset = arena_place(ARENA_STREAM_PLACES, index);
		if (!offset)
			return state;
		ring = arena_at(offset);
		state.bytes = ((const struct stream_header *)ring)->mask + 1;
		state.written = *(volatile u64 *)&((const struct stream_header *)ring)->produced;
		return state;
	}
	mention_arena();
	ring = bpf_map_lookup_elem(&stream_rings, &index);
	if (!ring)
		return state;
	state.bytes = bpf_ringbuf_query(ring, BPF_RB_RING_SIZE);
	state.written = bpf_ringbuf_query(ring, BPF_RB_PROD_POS);
	return state;
}

/* Is the stack not in this ring of the CPU, or soon overwritten there? Then it is to be written now, and is
 * noted. */
static __always_inline bool is_lacking(u64 number, u32 cpu, u32 index, struct ring_state ring, u32 fresh)
{
	struct stack_cpu *stacks = bpf_map_lookup_elem(&stack_cpus, &cpu);
	const u64 stamp_mask = (1 << STACK_STAMP_BITS) - 1;
	u64 unit = ring.bytes / STACK_UNITS, key, stamp, *word, old;

	if (!stacks || !unit)
		return true;
	key = mix(number ^ index, ring.salt);
	stamp = ring.written / unit & stamp_mask;
	word = &stacks->table[key & (STACK_SLOTS - 1)];
	old = *(volatile u64 *)word;
	if (!((old ^ key) & ~stamp_mask) && ((stamp - old) & stamp_mask) < fresh)
		return false;
	*(volatile u64 *)word = (key & ~stamp_mask) | stamp;
	return true;
}

/* Which of these sessions have rings that lack the stack. */
__noinline u32 lacking_sessions(u64 number, u32 sessions, u32 cpu, u32 slots, u32 fresh)
{
	u32 lacking = control.no_session;

	for (u32 i = 0; i < SESSIONS_MAX; i++) {
		u32 bit = session_bit(i), index = i * layout.cpus + cpu;
		struct ring_state ring;

		if (!(sessions & bit))
			continue;
		if (i == SESSION_RECORDER) {
			index = SESSIONS_MAX * layout.cpus + slots + cpu;
			ring = flight_state(cpu, slots);
		} else {
			ring = stream_state(index);
		}
		if (is_lacking(number, cpu, index, ring, fresh))
			lacking |= bit;
	}
	return lacking;
}

/* ---- records ---- */

/* Stores the record in a buffer for these sessions. `id`: of the header; `of_header`: see size_and_context().
 */
static __noinline int store_buffer(union stack_buffer *buffer, const struct stacked_hit *hit, u64 id,
				   u32 of_header, u32 sessions)
{
	u32 size = of_header & ~(u32)RECORD_CONTEXT, cpu = hit->cpu;

	set_header(&buffer->h, hit->ts, id, of_header, current_task());
	id &= EVENT_ID_MAX - 1;
	barrier_var(size); /* the verifier must see the bound on the value that is used */
	if (size > RECORD_MAX)
		return done();
	if (sessions & WAY_RECORDER) {
		struct session_state *state = bpf_map_lookup_elem(&session_states, &cpu);
		bool stored = flight_store(&buffer->h, id, size, cpu, &hit->slots);

		if (state)
			account(state, id, stored);
	}
	if (sessions & ~WAY_RECORDER)
		stream_store(&buffer->h, id, size, cpu, sessions);
	return done();
}

/* Stores a stack where it is lacking. */
static __always_inline void store_stack(union stack_buffer *buffer, const struct stacked_hit *hit, u64 number)
{
	u32 sessions, size;

	if (!number)
		return;
	sessions = lacking_sessions(number, hit->sessions, hit->cpu, hit->slots, STACK_FRESH);
	if (!sessions)
		return;
	buffer->stack.number = number;
	size = sizeof(struct rec_stack) + buffer->stack.length * sizeof(u64);
	store_buffer(buffer, hit, RECORD_STACK, size + hit->context, sessions);
}

#include "mapping.h"

/* Which stacks a hit is to have. */
struct stack_choice {
	u32 kernel; /* frames; 0: no such stack */
	u32 user;
	u32 skip; /* the first frames of the kernel */
};

/* Takes the stacks of the hit in the buffers, and stores those that its sessions lack. `ctx`: of the program.
 */
static __always_inline struct stack_numbers take_stacks(void *ctx, struct stack_buffers *buffers,
							struct stack_choice choice)
{
	const struct stacked_hit *hit = &buffers->hit;
	struct stack_numbers numbers = {};

	if (choice.kernel > STACK_DEPTH_MAX)
		choice.kernel = STACK_DEPTH_MAX;
	barrier_var(choice.kernel); /* the verifier must see the bounds on the values that are used */
	if (choice.kernel) {
		numbers.kernel =
			take_kernel_stack(&buffers->of[BUFFER_KERNEL], ctx, choice.kernel, choice.skip);
		store_stack(&buffers->of[BUFFER_KERNEL], hit, numbers.kernel);
	}
	barrier_var(choice.user);
	if (choice.user && choice.user <= STACK_DEPTH_MAX) {
		numbers.user = take_user_stack(&buffers->of[BUFFER_USER], current_task(), choice.user);
		store_mappings(buffers, numbers.user);
		store_stack(&buffers->of[BUFFER_USER], hit, numbers.user);
	}
	return numbers;
}

static __always_inline bool has_stacks(struct stack_cpu *cpu, u32 id)
{
	u32 every = control.stacks.every[id & (STACK_EVENTS - 1)];
	u64 hits = __sync_fetch_and_add(&cpu->hits[id & (STACK_EVENTS - 1)], 1);

	return every <= 1 || !(hits % every);
}

/* A global function: the verifier does not follow what comes after it for each level. */

/* The number of the buffers that this program has until release_buffers(); STACK_LEVELS: all are in use. Where
 * programs can be preempted with buffers, another one may release its own first. */
__noinline u32 use_buffers(struct stack_cpu *cpu)
{
	if (!cpu)
		return STACK_LEVELS;
	for (u32 level = 0; level < STACK_LEVELS; level++)
		if (!(__sync_fetch_and_or(&cpu->used, 1ull << level) & 1ull << level))
			return level;
	return STACK_LEVELS;
}

static __always_inline struct stack_buffers *buffers_of(struct stack_cpu *cpu, u32 level)
{
	return (struct stack_buffers *)cpu->levels[level & (STACK_LEVELS - 1)];
}

static __always_inline void release_buffers(struct stack_cpu *cpu, u32 level)
{
	__sync_fetch_and_and(&cpu->used, ~(1ull << level));
}

/* Stores the event in the first buffer for the sessions of the hit, with these stacks at its end. */
static __always_inline int store_stacked(struct stack_buffers *buffers, u32 id, u32 size,
					 struct stack_numbers numbers)
{
	const struct stacked_hit *hit = &buffers->hit;

	if (size > RECORD_MAX - sizeof(numbers))
		return done();
	if (numbers.kernel || numbers.user) {
		__builtin_memcpy(buffers->of[BUFFER_EVENT].bytes + size, &numbers, sizeof(numbers));
		size += sizeof(numbers);
		id |= RECORD_HAS_STACKS;
	}
	return store_buffer(&buffers->of[BUFFER_EVENT], hit, id, size + hit->context, hit->sessions);
}

/* Records the event in the buffers for these sessions. `id_and_size`: of the record without stacks. */
static __noinline int emit_stacked(u64 *ctx, struct stack_cpu *cpu, struct stack_buffers *buffers,
				   u32 id_and_size, u32 sessions)
{
	u32 id = id_and_size & (EVENT_ID_MAX - 1), size = id_and_size >> 16;
	struct stacked_hit *hit = &buffers->hit;
	struct stack_choice choice = { .skip = STACK_OWN_FRAMES };
	struct stack_numbers numbers = {};

	hit->ts = bpf_ktime_get_boot_ns();
	hit->cpu = this_cpu(current_task());
	hit->slots = control.flight_slots;
	hit->sessions = sessions;
	hit->context = context_now();
	barrier(); /* read from there again */
	if (control.stacks.kernel && may_unwind())
		choice.kernel = control.stacks.kernel_depth;
	/* In an interrupt, the process has nothing to do with the hit. */
	if (control.stacks.user && hit->context <= CONTEXT_TASK)
		choice.user = control.stacks.depth;
	if (has_stacks(cpu, id))
		numbers = take_stacks(ctx, buffers, choice);
	return store_stacked(buffers, id, size, numbers);
}

/* ---- events ---- */

/*
 * The second program of an event, with the same filter and the same body. Where programs can be preempted it
 * turns preemption off for the hits that it records, if it can: for the kernel's buffers, and so that hits of
 * other tasks are seldom skipped meanwhile.
 */
#define DEFINE_STACKED(section, name, ...) DEFINE_STACKED_OF(section, name, __VA_ARGS__)
#define DEFINE_STACKED_OF(section, name, matched_by, matching, other, ...)                    \
	_Static_assert(EVENT_##name < STACK_EVENTS, "it has a place");                        \
	static __always_inline void fill_##name(__VA_ARGS__);                                 \
	static __always_inline int record_##name(u64 *ctx, struct hit *hit, u32 sessions)     \
	{                                                                                     \
		u32 cpu = this_cpu(hit->current), level;                                      \
		struct stack_cpu *of_cpu = bpf_map_lookup_elem(&stack_cpus, &cpu);            \
		struct stack_buffers *buffers;                                                \
		struct rec_##name r = {};                                                     \
                                                                                              \
		fill_##name(&r, hit);                                                         \
		level = of_cpu ? use_buffers(of_cpu) : STACK_LEVELS;                          \
		if (!of_cpu || level >= STACK_LEVELS)                                         \
			return EMIT(name, &r, sessions);                                      \
		buffers = buffers_of(of_cpu, level);                                          \
		__builtin_memcpy(buffers->of[BUFFER_EVENT].bytes, &r, sizeof(r));             \
		emit_stacked(ctx, of_cpu, buffers, EVENT_##name | sizeof(r) << 16, sessions); \
		release_buffers(of_cpu, level);                                               \
		return 0;                                                                     \
	}                                                                                     \
	SEC(section)                                                                          \
	int stacked_##name(u64 *ctx)                                                          \
	{                                                                                     \
		struct hit hit = { ctx, current_task() };                                     \
		u32 sessions = count_hit(STACK_PLACES + EVENT_##name, hit.current);           \
                                                                                              \
		sessions = matching(sessions, hit.current, ctx, other);                       \
		if (!sessions)                                                                \
			return 0;                                                             \
		hit.current = current_task();                                                 \
		if (!features.preemptible || !features.preemption_kfuncs)                     \
			return record_##name(ctx, &hit, sessions);                            \
		bpf_preempt_disable();                                                        \
		record_##name(ctx, &hit, sessions);                                           \
		enable_preemption();                                                          \
		return 0;                                                                     \
	}

#endif
