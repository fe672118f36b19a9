/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Every record ktraced writes, declared once.
 *
 * These structs are the ring buffer content, the packet content on the socket
 * and the file content on disk, byte for byte. Schema, JSON, text, trace
 * metadata and docs/events.md are all derived from them through BTF.
 *
 * Rules:
 *  - every record begins with struct record and is a multiple of 8 bytes;
 *  - at most one trailing `char name[]`, NUL-terminated; then the data of fields of the
 *    type located_text_t or located_words_t, one after another; then zeros to the next multiple of 8
 *    (record.size is the total size, and says in its lowest bits in which context it was made);
 *  - a record with stacks ends with their numbers (bpf/state/stack_records.h);
 *  - event numbers are append-only; a retired number is never used again;
 *  - tags on the struct, which everything that shows the event derives from:
 *      GROUP, DOC     its group and what happens;
 *      FTRACE         its text in the kernel's tracer; without it, "name=value" for each
 *                     field. From "print fmt" in /sys/kernel/tracing/events/X/X/format,
 *                     with {field} or {field:form} for a value: see
 *                     src/decoders/ftrace/ftrace_formats.h for the forms. Values that the
 *                     record does not contain are left out;
 *      PERFETTO       number of its message in Perfetto's FtraceEvent (ftrace_event.proto);
 *                     without it, an instant on the track of its thread;
 *      PERFETTO_MARK  that instant too: Perfetto does not draw the message;
 *  - tags on a field:
 *      DOC            if its name does not explain it;
 *      PERFETTO       its number in the message of the event;
 *      PERFETTO_COMM  number there of the name of the thread in this field.
 */
#ifndef KTRACED_BPF_RECORDS_H
#define KTRACED_BPF_RECORDS_H

#include "types.h"

#ifdef __bpf__
#define GROUP(name) __attribute__((btf_decl_tag("group:" name)))
#define DOC(text) __attribute__((btf_decl_tag("doc:" text)))
#define FTRACE(format) __attribute__((btf_decl_tag("ftrace:" format)))
#define PERFETTO(number) __attribute__((btf_decl_tag("perfetto:" #number)))
#define PERFETTO_COMM(number) __attribute__((btf_decl_tag("perfetto_comm:" #number)))
#define PERFETTO_MARK __attribute__((btf_decl_tag("perfetto_mark:1")))
#else
#define GROUP(name)
#define DOC(text)
#define FTRACE(format)
#define PERFETTO(number)
#define PERFETTO_COMM(number)
#define PERFETTO_MARK
#endif

enum {
	COMM_LEN = 16,          /* the kernel's TASK_COMM_LEN, with the NUL */
	FILENAME_MAX_LEN = 240, /* longest exec file name kept, with the NUL */
	ARGV_MAX = 512,         /* bytes kept of the arguments of exec */
	CACHE_NAME_LEN = 48,    /* longest slab cache name kept, with the NUL */
	CGROUP_PATH_MAX = 512,  /* longest path of a control group kept, with the NUL */
	EVENT_ID_MAX = 2048,    /* event ids are below this */
	DYNAMIC_ID_FIRST = 256, /* first id of the dynamic events, see bpf/dynamic.h */
	STRING_MAX = 256,       /* bytes kept of a string argument, without the NUL */
	RECORD_MAX = 1024,      /* longest record in bytes; a multiple of 8 */
};

/* Built-in events: 1 … 191; see bpf/state/stack_records.h. Ids from 256 are given out at run time. */
enum event_id {
	EVENT_sched_switch = 1,
	EVENT_sched_waking = 2,
	EVENT_sched_wakeup = 3,
	EVENT_sched_wakeup_new = 4,
	EVENT_sched_migrate_task = 5,
	EVENT_sched_process_fork = 6,
	EVENT_sched_process_exec = 7,
	EVENT_sched_process_exit = 8,
	EVENT_task_rename = 9,
	EVENT_kmalloc = 10,
	EVENT_kfree = 11,
	EVENT_kmem_cache_alloc = 12,
	EVENT_kmem_cache_free = 13,
	EVENT_mm_page_alloc = 14,
	EVENT_mm_page_free = 15,
	EVENT_sys_enter = 16,
	EVENT_sys_exit = 17,
	EVENT_signal_generate = 18,
	EVENT_signal_deliver = 19,
	EVENT_mark_victim = 20,
	EVENT_sys_enter_string = 22,
	EVENT_sys_exit_string = 23,
	EVENT_sys_completed = 24,
	EVENT_cpu_sample = 25,
};

/* The location word of a field of variable length, at the field's offset. Bits 0–14 are
 * the offset of its data from the start of the record. Bit 15 is set if the data was
 * truncated. Bits 16–31 are the number of elements present. */
enum {
	LOCATED_OFFSET = 0x7fff,
	LOCATED_CUT = 0x8000,
	LOCATED_COUNT_SHIFT = 16,
	/* A text of several words has a blank between two of them, and this byte in the place of
	 * a blank in a word. */
	LOCATED_WORD_BLANK = 0x1f,
};

/* In which context the CPU was when a record was made: the lowest bits of record.size. A hard interrupt or an
 * NMI has nothing to do with the current thread. A soft interrupt runs at the end of a hard one, or in the
 * thread that has raised it. */
enum record_context {
	CONTEXT_UNKNOWN = 0, /* this kernel, this hit of a probe or a trace of before does not say */
	CONTEXT_TASK = 1,
	CONTEXT_SOFTIRQ = 2,
	CONTEXT_HARDIRQ = 3,
	CONTEXT_HARDIRQ_IN_SOFTIRQ = 4,
	CONTEXT_NMI_IN_HARDIRQ = 5,
	CONTEXT_NMI_IN_NESTED_HARDIRQ = 6, /* in a hard interrupt of a soft one */
	CONTEXT_NMI = 7,
	RECORD_CONTEXT = 7, /* these bits */
};

struct record {
	u64 ts;   /* ns, CLOCK_BOOTTIME */
	u16 id;   /* enum event_id */
	u16 size; /* whole record in bytes, a multiple of 8 | enum record_context */
	u32 tid;  /* current thread; 0: the idle task */
};

/* ---- sched ---- */

struct rec_sched_switch {
	struct record h;
	pid_tid_t prev_pid PERFETTO(2) PERFETTO_COMM(1);
	prio_t prev_prio PERFETTO(3);
	task_state_t prev_state PERFETTO(4);
	pid_tid_t next_pid PERFETTO(6) PERFETTO_COMM(5);
	prio_t next_prio PERFETTO(7);
} GROUP("sched") DOC("a CPU leaves one thread and runs another") PERFETTO(4)
	FTRACE("prev_comm={prev_pid:comm} prev_pid={prev_pid} prev_prio={prev_prio} prev_state={prev_state} "
	       "==> next_comm={next_pid:comm} next_pid={next_pid} next_prio={next_prio}");

struct rec_sched_waking {
	struct record h;
	pid_tid_t pid PERFETTO(2) PERFETTO_COMM(1);
	prio_t prio PERFETTO(3);
	cpu_nr_t target_cpu PERFETTO(5) DOC("CPU the thread last ran on");
} GROUP("sched") DOC("a thread is about to be woken, in the context of the waker") PERFETTO(20)
	FTRACE("comm={pid:comm} pid={pid} prio={prio} target_cpu={target_cpu:03}");

struct rec_sched_wakeup {
	struct record h;
	pid_tid_t pid PERFETTO(2) PERFETTO_COMM(1);
	prio_t prio PERFETTO(3);
	cpu_nr_t target_cpu PERFETTO(5) DOC("CPU whose run queue the thread is on");
} GROUP("sched") DOC("a thread has become runnable") PERFETTO(17)
	FTRACE("comm={pid:comm} pid={pid} prio={prio} target_cpu={target_cpu:03}");

struct rec_sched_wakeup_new {
	struct record h;
	pid_tid_t pid PERFETTO(2) PERFETTO_COMM(1);
	prio_t prio PERFETTO(3);
	cpu_nr_t target_cpu PERFETTO(5) DOC("CPU whose run queue the thread is on");
} GROUP("sched") DOC("a new thread has become runnable for the first time") PERFETTO(114)
	FTRACE("comm={pid:comm} pid={pid} prio={prio} target_cpu={target_cpu:03}");

struct rec_sched_migrate_task {
	struct record h;
	pid_tid_t pid PERFETTO(2) PERFETTO_COMM(1);
	prio_t prio PERFETTO(3);
	cpu_nr_t orig_cpu PERFETTO(4);
	cpu_nr_t dest_cpu PERFETTO(5);
} GROUP("sched") DOC("a thread is moved to another CPU's run queue") PERFETTO(491)
	FTRACE("comm={pid:comm} pid={pid} prio={prio} orig_cpu={orig_cpu} dest_cpu={dest_cpu}");

/* ---- process ---- */

struct rec_sched_process_fork {
	struct record h;
	pid_tid_t parent_pid PERFETTO(2) PERFETTO_COMM(1);
	pid_tid_t child_pid PERFETTO(4) PERFETTO_COMM(3);
	pid_tid_t child_tgid DOC("process of the child: its own id, or the parent's process for a new thread");
} GROUP("process") DOC("a process or thread is created") PERFETTO(239) PERFETTO_MARK
	FTRACE("comm={parent_pid:comm} pid={parent_pid} child_comm={child_pid:comm} child_pid={child_pid}");

struct rec_sched_process_exec {
	struct record h;
	pid_tid_t pid PERFETTO(2);
	pid_tid_t old_pid PERFETTO(3)
		DOC("thread that called execve; differs from pid when it was not the leader");
	pid_tid_t parent_pid DOC("process of the parent");
	located_words_t argv DOC("its arguments, quoted as a shell reads them");
	__extension__ char filename[] PERFETTO(1);
} GROUP("process") DOC("a process runs a new program") PERFETTO(237) PERFETTO_MARK
	FTRACE("filename={filename} pid={pid} old_pid={old_pid} parent_pid={parent_pid} argv={argv}");

struct rec_sched_process_exit {
	struct record h;
	pid_tid_t pid PERFETTO(2) PERFETTO_COMM(1);
	prio_t prio PERFETTO(4);
	exit_code_t exit_code
		DOC("exit status << 8, or the killing signal; of the last thread: of its process, as wait(2)");
	bool_t group_dead DOC("1: the last thread of its process");
} GROUP("process") DOC("a thread ends") PERFETTO(238) PERFETTO_MARK
	FTRACE("comm={pid:comm} pid={pid} prio={prio} group_dead={group_dead:truth} exit_code={exit_code} "
	       "status={exit_code:status}");

struct rec_task_rename {
	struct record h;
	pid_tid_t pid PERFETTO(1);
	s16 oom_score_adj PERFETTO(4) DOC("-1000 to 1000: how likely the out-of-memory killer chooses it");
	char oldcomm[COMM_LEN] PERFETTO(2);
	char newcomm[COMM_LEN] PERFETTO(3);
} GROUP("process") DOC("a thread changes its name") PERFETTO(236)
	FTRACE("pid={pid} oldcomm={oldcomm} newcomm={newcomm} oom_score_adj={oom_score_adj}");

/* ---- kmem ---- */

struct rec_kmalloc {
	struct record h;
	kaddr_t call_site PERFETTO(3);
	kaddr_t ptr PERFETTO(5);
	u32 bytes_req PERFETTO(2) DOC("bytes requested");
	u32 bytes_alloc PERFETTO(1) DOC("bytes allocated");
	gfp_flags_t gfp_flags PERFETTO(4);
	node_t node DOC("NUMA node requested, -1: any");
	node_t page_node DOC("NUMA node of the memory, -1: unknown");
} GROUP("kmem") DOC("memory is allocated from the general slab caches") PERFETTO(299)
	FTRACE("call_site={call_site:symbol} ptr={ptr:pointer} bytes_req={bytes_req} bytes_alloc={bytes_alloc} "
	       "gfp_flags={gfp_flags} node={node} accounted={gfp_flags:accounted}");

struct rec_kfree {
	struct record h;
	kaddr_t call_site PERFETTO(1);
	kaddr_t ptr PERFETTO(2);
} GROUP("kmem") DOC("memory is returned to the general slab caches") PERFETTO(298)
	FTRACE("call_site={call_site:symbol} ptr={ptr:pointer}");

struct rec_kmem_cache_alloc {
	struct record h;
	kaddr_t call_site PERFETTO(3);
	kaddr_t ptr PERFETTO(5);
	slab_cache_t name DOC("slab cache, by name where the kernel gives it");
	u32 bytes_req PERFETTO(2) DOC("bytes of one object");
	u32 bytes_alloc PERFETTO(1) DOC("bytes of one object with alignment and debugging data");
	gfp_flags_t gfp_flags PERFETTO(4);
	node_t node DOC("NUMA node requested, -1: any");
	node_t page_node DOC("NUMA node of the memory, -1: unknown");
} GROUP("kmem") DOC("an object is allocated from a named slab cache") PERFETTO(301)
	FTRACE("call_site={call_site:symbol} ptr={ptr:pointer} name={name} bytes_req={bytes_req} "
	       "bytes_alloc={bytes_alloc} gfp_flags={gfp_flags} node={node}");

struct rec_kmem_cache_free {
	struct record h;
	kaddr_t call_site PERFETTO(1);
	kaddr_t ptr PERFETTO(2);
	slab_cache_t name DOC("slab cache, by name where the kernel gives it");
} GROUP("kmem") DOC("an object is returned to its slab cache") PERFETTO(303)
	FTRACE("call_site={call_site:symbol} ptr={ptr:pointer} name={name}");

struct rec_mm_page_alloc {
	struct record h;
	kaddr_t page PERFETTO(4) DOC("address of struct page; 0: the allocation failed");
	gfp_flags_t gfp_flags PERFETTO(1);
	u32 order PERFETTO(3) DOC("2^order pages");
	s32 migratetype PERFETTO(2) DOC("free list used: 0 unmovable, 1 movable, 2 reclaimable and so on");
	node_t page_node DOC("NUMA node of the memory, -1: unknown");
} GROUP("kmem") DOC("pages are allocated from the page allocator") PERFETTO(307)
	FTRACE("page={page:pointer} order={order} migratetype={migratetype} gfp_flags={gfp_flags}");

struct rec_mm_page_free {
	struct record h;
	kaddr_t page PERFETTO(2) DOC("address of struct page");
	u32 order PERFETTO(1) DOC("2^order pages");
} GROUP("kmem") DOC("pages are returned to the page allocator") PERFETTO(310)
	FTRACE("page={page:pointer} order={order}");

/* ---- syscalls ---- */

struct rec_sys_enter {
	struct record h;
	syscall_nr_t nr;
	syscall_abi_t abi;
	hex_t args[6] DOC("six argument registers, even if the call has fewer arguments");
} GROUP("syscalls") DOC("a system call begins") FTRACE("NR {nr} ({args:hex})");

struct rec_sys_exit {
	struct record h;
	syscall_nr_t nr;
	syscall_abi_t abi;
	syscall_ret_t ret;
} GROUP("syscalls") DOC("a system call returns") FTRACE("NR {nr} = {ret}");

/* ---- completed ---- */

struct rec_sys_completed {
	struct record h;
	syscall_nr_t nr;
	syscall_abi16_t abi;
	u16 args_known DOC("0: the call has replaced the registers, args are zeros");
	hex_t args[6] DOC("six argument registers, even if the call has fewer arguments");
	syscall_ret_t ret;
	s64 duration DOC("ns since the call began; -1: unknown");
} GROUP("completed") DOC("a system call returns: the whole call in one record")
	FTRACE("NR {nr} ({args:hex}) = {ret} args_known={args_known} duration={duration}");

/* ---- strings ---- */

struct rec_sys_enter_string {
	struct record h;
	hex_t pointer DOC("address of the argument in the process");
	syscall_nr_t nr;
	syscall_abi_t abi;
	u32 arg DOC("number of the argument, from 0");
	u16 length DOC("bytes of the text");
	bool_t cut DOC("1: the argument is longer");
	bool_t unreadable DOC("1: the memory could not be read; sys_exit_string follows");
	__extension__ char text[] DOC("the string; of a socket address, its text");
} GROUP("strings") DOC("a string argument as a system call begins")
	FTRACE("NR {nr} arg={arg} pointer={pointer} length={length} cut={cut} unreadable={unreadable} "
	       "text=\"{text}\"");

struct rec_sys_exit_string {
	struct record h;
	hex_t pointer DOC("address of the argument in the process");
	syscall_nr_t nr;
	syscall_abi_t abi;
	u32 arg DOC("number of the argument, from 0");
	u16 length DOC("bytes of the text");
	bool_t cut DOC("1: the argument is longer");
	bool_t unreadable DOC("1: the memory cannot be read");
	__extension__ char text[] DOC("what is in the memory now: another thread may have changed it");
} GROUP("strings") DOC("a string argument that could not be read earlier, as the system call returns")
	FTRACE("NR {nr} arg={arg} pointer={pointer} length={length} cut={cut} unreadable={unreadable} "
	       "text=\"{text}\"");

/* ---- signal ---- */

struct rec_signal_generate {
	struct record h;
	signo_t sig;
	errno_nr_t error DOC("si_errno");
	sig_code_t code;
	pid_tid_t pid DOC("thread the signal is sent to");
	bool_t group DOC("1: to the whole process");
	sig_result_t result;
} GROUP("signal") DOC("a signal is sent")
	FTRACE("sig={sig} errno={error} code={code} comm={pid:comm} pid={pid} grp={group} res={result}");

/* The kernel's name for the field is also a macro of the C library's <signal.h>. */
#pragma push_macro("sa_handler")
#undef sa_handler
struct rec_signal_deliver {
	struct record h;
	signo_t sig;
	errno_nr_t error DOC("si_errno");
	sig_code_t code;
	hex_t sa_handler DOC("0: default action, 1: ignored");
	hex_t sa_flags;
} GROUP("signal") DOC("a signal reaches the thread that handles it")
	FTRACE("sig={sig} errno={error} code={code} sa_handler={sa_handler:hex} sa_flags={sa_flags:hex}");
#pragma pop_macro("sa_handler")

/* ---- oom ---- */

struct rec_mark_victim {
	struct record h;
	pid_tid_t pid PERFETTO(1) DOC("process chosen");
	uid_nr_t uid;
} GROUP("oom") DOC("the out-of-memory killer has chosen a process") PERFETTO(334)
	FTRACE("pid={pid} comm={pid:comm} uid={uid}");

/* ---- sampling ---- */

/* Its context is what the sample has interrupted. */
struct rec_cpu_sample {
	struct record h;
	kaddr_t ip DOC("where the kernel was; 0: in user mode");
	hex_t user_ip DOC("where the process was; 0: in the kernel");
	sample_mode_t mode DOC("1 user, 2 kernel, 3 idle, 4 guest: it ran a virtual machine, 5 kernel thread");
	u32 periods DOC("since the last sample of this CPU; more than 1: samples are missing before this one");
} GROUP("sampling") DOC("what a CPU does, at a fixed period");

#include "state/metadata_records.h"
#include "state/stack_records.h"

#endif
