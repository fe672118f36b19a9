/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Makes and frees pages of the arena, for the daemon: it can make pages itself, by touching them, but
 * then it does not say of which node, and does not learn of a failure. */
#ifndef KTRACED_BPF_ARENA_PAGES_H
#define KTRACED_BPF_ARENA_PAGES_H

#include "arena.h"

extern void *bpf_arena_alloc_pages(void *map, void *address__ign, u32 pages, int node, u64 flags) __ksym __weak;
extern void bpf_arena_free_pages(void *map, void *address__ign, u32 pages) __ksym __weak;

SEC("?syscall")
int make_pages(struct arena_request *request)
{
	request->done =
		(u64)bpf_arena_alloc_pages(&arena, (void *)request->address, request->pages, request->node, 0);
	return 0;
}

SEC("?syscall")
int free_pages(struct arena_request *request)
{
	bpf_arena_free_pages(&arena, (void *)request->address, request->pages);
	return 0;
}

#endif
