/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Types of record fields, shared by BPF C and C++.
 *
 * A field's typedef determines how every decoder shows it: the schema is read from the
 * BTF of the BPF object, and the typedef's name is looked up in src/schema/schema.cpp.
 * Add a new typedef there; otherwise it is shown as a plain number.
 */
#ifndef KTRACED_BPF_TYPES_H
#define KTRACED_BPF_TYPES_H

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef signed char s8;
typedef signed short s16;
typedef signed int s32;
typedef signed long long s64;

typedef u64 kaddr_t;         /* kernel address: hex, shown as a symbol in text */
typedef u64 hex_t;           /* anything best read in hexadecimal */
typedef u64 slab_cache_t;    /* key of a slab cache: a metadata record has its name */
typedef u32 gfp_flags_t;     /* allocation flags; names differ between kernels */
typedef s16 node_t;          /* NUMA node, -1: any or unknown */
typedef s32 pid_tid_t;       /* a thread; shown with the name it had at that time */
typedef u32 uid_nr_t;        /* user id in the initial user namespace */
typedef s32 cpu_nr_t;        /* CPU number */
typedef s32 prio_t;          /* kernel priority: 0..99 real time, 120 = nice 0 */
typedef u32 task_state_t;    /* state as ftrace reports it: bits of "SDTtXZPI", 0x100 preempted */
typedef s32 syscall_nr_t;    /* system call number of the record's syscall_abi_t */
typedef u32 syscall_abi_t;   /* 0 native x86-64, 1 32-bit (ia32), 2 x32 */
typedef u16 syscall_abi16_t; /* a syscall_abi_t, where there is little room */
typedef s64 syscall_ret_t;   /* return value; -1..-4095 is a negated errno */
typedef s32 signo_t;         /* signal number */
typedef s32 sig_code_t;      /* si_code */
typedef s32 sig_result_t;    /* enum of trace/events/signal.h: delivered, ignored, … */
typedef s32 errno_nr_t;      /* a positive errno, 0: none */
typedef s32 exit_code_t;     /* wait(2) status: code << 8, or the killing signal */
typedef u64 clone_flags_t;   /* CLONE_* of clone(2) */
typedef u32 sample_mode_t;   /* enum sample_mode: user, kernel, … */
typedef u8 bool_t;           /* 0 or 1 */
typedef u32 located_text_t;  /* where its text is in the record: LOCATED_OFFSET in bpf/records.h */
typedef u32 located_words_t; /* a located_text_t of several words, see LOCATED_WORD_BLANK */

#endif
