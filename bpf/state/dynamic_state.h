/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * State of dynamic events, and the programs of probes, shared between the BPF programs and the daemon. Part of
 * shared_state.h, which includes this file.
 */
#ifndef KTRACED_BPF_STATE_DYNAMIC_STATE_H
#define KTRACED_BPF_STATE_DYNAMIC_STATE_H

#include "../records.h"

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

/*
 * The fetch program of a kernel probe. The compiler makes it from the probe's
 * definition, and a BPF program runs it.
 *
 * The operations work on one value, one after the other. When a read fails, the value
 * becomes 0, the remaining operations of that field continue with 0, and the field's
 * bit in the record's mask of failed fields is set.
 */
enum fetch_code {
	FETCH_END = 0,
	FETCH_REGISTER, /* value = register `number`, an index into pt_regs */
	FETCH_CONSTANT, /* value = number */
	FETCH_READ,     /* value = `size` bytes of memory at value + number */
	FETCH_BITS,     /* value = value << (number & 63) >> (number >> 8), signed if FETCH_SIGNED */
	FETCH_STORE,    /* `size` bytes of value into the record at `at` */
	FETCH_COPY,     /* `size` bytes of memory at value + number into the record at `at` */
	FETCH_STRING,   /* append text at value + number to the record; location word at `at` */
	FETCH_COMM,     /* name of the current task into the record at `at` */
};

enum fetch_flags {
	FETCH_USER = 1 << 0,   /* memory of the current process, not of the kernel */
	FETCH_SIGNED = 1 << 1, /* FETCH_BITS: the topmost bit is a sign */
};

enum {
	FETCH_OPS_MAX = 640,     /* operations of one probe */
	FETCH_FAILABLE_MAX = 64, /* fields that read memory: one bit each */
	FETCH_STRING_MAX = 512,  /* bytes of one text, with the NUL */
	FETCH_REGISTERS = 21,    /* words of pt_regs */
	FETCH_REGISTER_IP = 16,  /* index of the instruction pointer in pt_regs */
	FETCH_FIRST_FIELD = 16,  /* offset of the first field: __probe_ip or __probe_func */
};

struct fetch_op {
	u8 code;  /* enum fetch_code */
	u8 flags; /* enum fetch_flags */
	u8 bit;   /* of the field, in the mask of failed fields */
	u8 reserved;
	u16 size;
	u16 at; /* offset in the record */
	s64 number;
};

/* Constant once loaded, so that the verifier follows only the operations in use. */
struct fetch_program {
	u32 id;        /* of the event */
	u32 size;      /* bytes of the record without texts */
	u32 failed_at; /* offset of the mask of failed fields; 0: nothing can fail */
	u32 at_return; /* 1: a return probe; records __probe_func and __probe_ret_ip */
	struct fetch_op ops[FETCH_OPS_MAX];
};

#endif
