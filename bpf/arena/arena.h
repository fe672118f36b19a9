/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Memory at fixed addresses whose pages come and go: a BPF arena (6.10, with atomic operations).
 *
 * An address in it is an offset, and needs no bound check: where no page is, a program reads 0 and
 * writes nothing. A helper of the kernel does not take such an address.
 */
#ifndef KTRACED_BPF_ARENA_ARENA_H
#define KTRACED_BPF_ARENA_ARENA_H

#include "../kernel.h"
#include "../shared_state.h"

/* In its place the daemon puts an arena, if the kernel has them: before 1.3, libbpf does not know
 * that type. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, u32);
} arena SEC(".maps");

/* A program has the arena if it mentions the map, even where it never gets. */
static __always_inline void mention_arena(void)
{
	asm volatile("" ::"r"(&arena));
}

/* The instruction addr_space_cast, which clang has since version 18: BPF_ALU64 | BPF_MOV | BPF_X with
 * offset 1, from address space 1 to 0. Its second byte names the register twice. */
static __always_inline void *arena_at(u64 offset)
{
	asm volatile(".byte 0xbf\n"
		     ".irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9\n"
		     ".ifc %[offset], r\\n\n"
		     ".byte 0x11 * \\n\n"
		     ".endif\n"
		     ".endr\n"
		     ".short 1\n"
		     ".long 1\n"
		     : [offset] "+r"(offset));
	return (void *)offset;
}

/* The offset with this index in a table of words; 0: nothing is there. */
static __always_inline u32 arena_place(u32 table, u32 index)
{
	return *(volatile u32 *)arena_at(table + index * sizeof(u32));
}

/* Adds to an address. The sum is in the register of the address: 6.19 refuses to add an address of an
 * arena to a number. */
static __always_inline void *arena_add(void *address, u64 bytes)
{
	asm volatile("%0 += %1" : "+r"(address) : "r"(bytes));
	return address;
}

/* Copies the words of a record from `begin` on. Their number is a variable of its own: the verifier is not to
 * follow each size. */
static __always_inline void arena_copy(void *place, const struct record *r, u32 begin, u32 size)
{
	const volatile u64 *from = (const void *)r;
	volatile u64 *to = place;
	u32 words = size / sizeof(*to);

	barrier_var(to); /* addresses are computed from this one */
#pragma clang loop unroll(disable)
	for (u32 i = begin / sizeof(*to); i < words; i++)
		to[i] = from[i];
}

#endif
