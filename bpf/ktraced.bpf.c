// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The BPF object: all subsystems as one compilation unit.
 *
 * Not linked from separate objects: libbpf's static linker (seen with 1.1.2)
 * refuses a kfunc that more than one object declares ("global
 * 'bpf_rdonly_cast': failed to resolve size of underlying type").
 */
#include "arena/pages.h"
#include "emit/locate.h"
#include "kmem.bpf.c"
#include "process.bpf.c"
#include "sample.bpf.c"
#include "sched.bpf.c"
#include "signal.bpf.c"
#include "strings.bpf.c"
#include "syscalls.bpf.c"
#include "tracepoint.bpf.c"

char LICENSE[] SEC("license") = "Dual BSD/GPL";
