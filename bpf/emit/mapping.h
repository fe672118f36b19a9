/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which files the frames of user stacks are in. The records of mappings and files are stored before the stack
 * of their hit, where they are lacking: each has a word in the table of the CPU, as stacks have (struct
 * stack_cpu). A third word says that a stack has all of its mappings in the ring, as the process has them now.
 */
#ifndef KTRACED_BPF_EMIT_MAPPING_H
#define KTRACED_BPF_EMIT_MAPPING_H

#include "vma.h"

/* Two of these periods are as long as that of a stack: when the word of a stack and its mappings is still
 * valid, that of each mapping was. */
enum {
	MAPPING_FRESH = STACK_FRESH / 2,
};

/* A stack that is stored for these sessions, and its process: what decides whether mappings are looked up. The
 * sum of the executable pages changes when executable memory is mapped, unmapped or protected. */
static __always_inline u64 stack_in_process(u64 number, struct task_struct *current)
{
	u64 key = mix(number, READ(current, group_leader, start_boottime));

	return mix(mix(key, current->self_exec_id), READ(current, mm, exec_vm));
}

static __always_inline u64 mapping_key(const struct rec_mapping *r)
{
	u64 key = mix(mix(RECORD_MAPPING, r->process_start), (u64)r->tgid << 32 | r->image);

	return mix(mix(mix(mix(mix(key, r->start), r->end), r->offset), r->file), r->layout);
}

/* Finds the mappings that have frames of a stack. */
__noinline int find_mappings(struct mapping_scratch *scratch, const union stack_buffer *buffer)
{
	u32 length;

	if (!scratch || !buffer)
		return 0;
	scratch->count = scratch->lookups = 0;
	length = buffer->stack.length;
	for (u32 i = 0; i < STACK_DEPTH_MAX && i < length; i++) {
		/* A return address can be behind the call that ends a mapping. */
		u64 address = buffer->stack.frames[i] - (i != 0);

		if (!is_found(scratch, address))
			find_mapping(scratch, address);
	}
	return 0;
}

/* Stores the file of a mapping where it is lacking; its number. */
static __always_inline u64 store_file(struct stack_buffers *buffers, u64 file, u32 sessions)
{
	const struct stacked_hit *hit = &buffers->hit;

	union stack_buffer *buffer = &buffers->of[BUFFER_MAPPING];
	struct rec_file *r = &buffer->file;
	u64 number;
	u32 size;

	read_file(r, (struct file *)file);
	number = mix(mix(mix(RECORD_FILE, r->device), r->inode), r->changed) | 1ull << 63;
	sessions = lacking_sessions(number, sessions, hit->cpu, hit->slots, MAPPING_FRESH);
	if (!sessions)
		return number;
	r->number = number;
	size = write_path(&buffers->mappings, buffer, file);
	store_buffer(buffer, hit, RECORD_FILE, size + hit->context, sessions);
	return number;
}

/* Stores a mapping, and its file, for these sessions where they are lacking. */
static __noinline int store_mapping(struct stack_buffers *buffers, u32 index, u32 sessions)
{
	const struct stacked_hit *hit = &buffers->hit;

	struct rec_mapping *r = &buffers->mappings.mappings[index & (MAPPINGS_MAX - 1)];
	union stack_buffer *buffer = &buffers->of[BUFFER_MAPPING];

	r->layout = buffers->of[BUFFER_USER].stack.layout;
	if (r->file > MAPPING_VDSO)
		r->file = store_file(buffers, r->file, sessions);
	sessions = lacking_sessions(mapping_key(r), sessions, hit->cpu, hit->slots, MAPPING_FRESH);
	if (!sessions)
		return done();
	__builtin_memcpy(&buffer->mapping, r, sizeof(*r));
	return store_buffer(buffer, hit, RECORD_MAPPING, sizeof(*r) + hit->context, sessions);
}

/* Stores the mappings of a user stack for the sessions of the hit, where they are lacking. */
static __always_inline void store_mappings(struct stack_buffers *buffers, u64 number)
{
	struct mapping_scratch *scratch = &buffers->mappings;
	const struct stacked_hit *hit = &buffers->hit;
	u32 sessions;

	if (!number)
		return;
	sessions = lacking_sessions(stack_in_process(number, current_task()), hit->sessions, hit->cpu,
				    hit->slots, MAPPING_FRESH);
	if (!sessions)
		return;
	find_mappings(scratch, &buffers->of[BUFFER_USER]);
	for (u32 i = 0; i < MAPPINGS_MAX && i < scratch->count; i++)
		store_mapping(buffers, i, sessions);
}

#endif
