/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A stream ring in the arena: a part of shared_state.h. */
#ifndef KTRACED_BPF_STATE_STREAM_STATE_H
#define KTRACED_BPF_STATE_STREAM_STATE_H

#include "../records.h"

/*
 * A stream ring in the arena. Kernels without arenas have a BPF ring buffer in its place.
 *
 * Positions are bytes since the ring was made. A record is at data[position & mask]; one that begins
 * near the end continues in the spill area behind the data. A program takes its place by advancing
 * `produced`, and writes the word with the size of the record last: where that is 0, a record is
 * still being written. So the space up to `released` + bytes is zero, except for records.
 *
 * `released` follows `consumed`: in between, the daemon writes zeros. A daemon that adopts the ring of a
 * killed daemon has to do that first.
 */
struct stream_header {
	u64 produced; /* end of the last record; programs write it */
	u64 mask;     /* bytes of data, a power of two, minus 1 */
	u64 wakeup;   /* wake the reader each time this many bytes (a power of two) were written */
	u64 reserved[5];
	/* Another cache line, which the daemon writes. */
	u64 released; /* programs may write up to `released` + bytes */
	u64 consumed; /* the daemon has read everything before */
} __attribute__((aligned(4096)));

enum {
	STREAM_SPILL = RECORD_MAX, /* bytes behind the data */
	STREAM_TRIES = 4,          /* to reserve, while programs that nest take the place */
};

#endif
