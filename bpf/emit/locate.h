/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A program that the daemon runs before it attaches a catcher: finds what catchers read of the kernel. */
#ifndef KTRACED_BPF_EMIT_LOCATE_H
#define KTRACED_BPF_EMIT_LOCATE_H

#include "../catcher.h"

/* The address of an object as a number: the verifier computes with what it loads, not with pointers. */
static __always_inline u64 number_of(const void *object)
{
	volatile u64 *number = &catching.located;

	*number = (u64)object;
	return *number;
}

/* The per-CPU memory of a CPU begins this many bytes behind the addresses that the kernel has for all. */
static __always_inline void locate_cpu(u32 cpu)
{
	u64 elements = number_of(&per_cpu_anchor) + bpf_core_field_offset(((struct bpf_array *)0)->pptrs),
	    element;
	u32 first = 0;
	void *of_cpu = bpf_map_lookup_percpu_elem(&per_cpu_anchor, &first, cpu);

	if (of_cpu && !bpf_probe_read_kernel(&element, sizeof(element), (void *)elements))
		catching.cpu_offsets[cpu & (CATCHER_CPUS - 1)] = number_of(of_cpu) - element;
}

/* The daemon has the program of the event open as file `fd`. */
static __always_inline void locate_running(u64 event, u64 fd)
{
	struct file **files = BPF_CORE_READ(current_task(), files, fdt, fd), *file = NULL;
	struct bpf_prog *program;

	bpf_probe_read_kernel(&file, sizeof(file), files + fd);
	program = BPF_CORE_READ(file, private_data);
	if (event < CATCHER_EVENTS)
		catching.running[event] = (u64)BPF_CORE_READ(program, active);
}

/* Unknown if it does not count how often preemption is turned off. */
static __always_inline void locate_preempt_count(u64 address)
{
	u32 place = offsetof(struct catching, preempt_count), outside, inside;

	catching.preempt_count = address;
	bpf_preempt_disable();
	outside = read_per_cpu(place);
	bpf_preempt_disable();
	inside = read_per_cpu(place);
	bpf_preempt_enable();
	bpf_preempt_enable();
	if (inside != outside + 1)
		catching.preempt_count = 0;
}

/* The arguments: enum catcher_locate. */
SEC("?raw_tp/sys_enter")
int locate(u64 *ctx)
{
	if (!features.rdonly_cast)
		return 0;
	if (ctx[0] == LOCATE_RUNNING)
		locate_running(ctx[1], ctx[2]);
	else if (ctx[0] == LOCATE_CPU)
		locate_cpu(ctx[1]);
	else if (features.preemptible)
		locate_preempt_count(ctx[1]);
	return 0;
}

#endif
