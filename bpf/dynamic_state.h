/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * State of dynamic events, shared between the BPF programs and the daemon. Part of
 * shared_state.h, which includes this file.
 */
#ifndef KTRACED_BPF_DYNAMIC_STATE_H
#define KTRACED_BPF_DYNAMIC_STATE_H

#include "records.h"

enum {
	DYNAMIC_EVENTS_MAX = EVENT_ID_MAX - DYNAMIC_ID_FIRST,
	DEFINITION_PIECE = 4080, /* bytes of a definition in one element of the map definitions */
};

/* Each dynamic event attaches its own stub, because the kernel counts missed hits per
 * program. The stub tail-calls one of these programs. */
enum dynamic_program {
	DYNAMIC_PROGRAM_TRACEPOINT = 0,
	DYNAMIC_PROGRAMS,
};

/* Key and value of the map definitions: the definitions of dynamic events as text, for
 * a daemon that adopts them. Programs do not read it. */
struct definition_key {
	u32 id;
	u32 piece;
};

struct definition_piece {
	u32 bytes; /* of the whole definition */
	char text[DEFINITION_PIECE];
};

enum {
	LOCATED_MAX = 8,            /* fields of variable length kept of a tracepoint */
	TRACEPOINT_FIXED_MAX = 512, /* bytes of a tracepoint's fields of fixed length */
	TRACEPOINT_COMMON = 8,      /* bytes of the kernel's record that all tracepoints share */
};

/* Value of the map tracepoint_layouts, key event id: how to copy the kernel's
 * record of a tracepoint. */
struct tracepoint_layout {
	u16 fixed;   /* bytes after the common fields, copied unchanged */
	u16 located; /* fields of variable length: number of entries in field[] */
	struct {
		u16 at;       /* offset of its location word in the kernel's record */
		u8 relative;  /* 1: the word counts from its own end (__rel_loc) */
		u8 size_log2; /* bytes of an element, as a power of two */
	} field[LOCATED_MAX];
};

#endif
