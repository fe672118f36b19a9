/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What is where in the arena: a part of shared_state.h. */
#ifndef KTRACED_BPF_STATE_ARENA_STATE_H
#define KTRACED_BPF_STATE_ARENA_STATE_H

#include "../types.h"

/*
 * The arena has the rings where the kernel has BPF arenas: 4 GiB of addresses, whose pages the
 * daemon makes and frees. Its first pages have a table of the areas that are in use, and tables of
 * words by which programs find a ring: its offset in the arena; 0: there is none.
 */
enum {
	ARENA_PAGE = 4096,        /* bytes */
	ARENA_PAGES = 1 << 20,    /* the most that an arena can have */
	ARENA_AREAS_MAX = 8192,   /* of struct arena_area, at offset 0 */
	ARENA_PLACES_MAX = 16384, /* words of a table */
	/* Index = bank × CPUs + CPU. Not used if layout.flight_places is 0. */
	ARENA_FLIGHT_PLACES = ARENA_AREAS_MAX * 8,
	/* Index = session × CPUs + CPU. */
	ARENA_STREAM_PLACES = ARENA_FLIGHT_PLACES + ARENA_PLACES_MAX * 4,
	ARENA_TABLES_END = ARENA_STREAM_PLACES + ARENA_PLACES_MAX * 4,
};

/* Pages in use. Only the daemon reads and writes it. */
struct arena_area {
	u32 first;
	u32 pages; /* 0: free element */
};

/* What the daemon asks of the programs of bpf/arena/pages.h. */
struct arena_request {
	u64 address; /* in the daemon's mapping */
	u32 pages;
	s32 node; /* -1: any */
	u64 done; /* not 0: the pages are there */
};

#endif
