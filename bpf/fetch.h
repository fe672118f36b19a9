/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a kernel probe fetches, as a little program: shared by the BPF program
 * that runs it and the compiler that makes it from a definition.
 *
 * There is one value, on which the operations work one after the other. When a
 * read fails, the value is 0 and the rest of that field goes on with it; the
 * field's bit in the record's mask of failed fields says so.
 */
#ifndef KTRACED_BPF_FETCH_H
#define KTRACED_BPF_FETCH_H

#include "records.h"

enum fetch_code {
	FETCH_END = 0,
	FETCH_REGISTER, /* value = register `number`, by its place in pt_regs */
	FETCH_CONSTANT, /* value = number */
	FETCH_READ,     /* value = `size` bytes of memory at value + number */
	FETCH_BITS,     /* value = value << (number & 63) >> (number >> 8), signed if FETCH_SIGNED */
	FETCH_STORE,    /* `size` bytes of value into the record at `at` */
	FETCH_COPY,     /* `size` bytes of memory at value + number into the record at `at` */
	FETCH_STRING,   /* text at value + number behind the record; its place at `at` */
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
	FETCH_REGISTER_IP = 16,  /* place of the instruction pointer in pt_regs */
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

/* Constant from loading on, so that the verifier follows the operations there are. */
struct fetch_program {
	u32 id;        /* of the event */
	u32 size;      /* bytes of the record without texts */
	u32 failed_at; /* offset of the mask of failed fields; 0: nothing can fail */
	u32 at_return; /* 1: the place is recorded as __probe_func and __probe_ret_ip */
	struct fetch_op ops[FETCH_OPS_MAX];
};

#endif
