/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The memory in which programs make records of stacks, and of what these refer to. */
#ifndef KTRACED_BPF_EMIT_STACK_BUFFER_H
#define KTRACED_BPF_EMIT_STACK_BUFFER_H

#include "../records.h"

/* A record that is being made. */
union stack_buffer {
	struct record h;
	struct rec_stack stack;
	struct rec_mapping mapping;
	struct rec_file file;
	u8 bytes[RECORD_MAX];
};

#endif
