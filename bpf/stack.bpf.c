// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The second programs of events, which record them with stacks: see bpf/emit/stack.h. They have the bodies of
 * the first ones, from the same files.
 *
 * This is a separate object because its programs are loaded only when somebody asks for the stacks of their
 * event. All maps but one are shared with the main object.
 */
#define EVENTS_WITH_STACKS
#include "emit/stack.h"
#include "kmem.bpf.c"
#include "sample.bpf.c"
#include "sched.bpf.c"
#include "signal.bpf.c"
#include "syscalls.bpf.c"

char LICENSE[] SEC("license") = "Dual BSD/GPL";
