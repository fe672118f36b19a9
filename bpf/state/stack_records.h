/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Stacks of events. A stack has a number, a hash of its addresses. A record with stacks ends with two
 * numbers; records of their own, which are no events, have the frames, and say which files the process
 * has mapped there. The rules are those of records.h, which includes this file.
 */
#ifndef KTRACED_BPF_STATE_STACK_RECORDS_H
#define KTRACED_BPF_STATE_STACK_RECORDS_H

enum {
	RECORD_FILE = 251,          /* the id of struct rec_file, the lowest of these three */
	RECORD_MAPPING = 252,       /* the id of struct rec_mapping */
	RECORD_STACK = 253,         /* the id of struct rec_stack */
	RECORD_HAS_STACKS = 0x8000, /* in the id of an event: struct stack_numbers is at the record's end */
	STACK_DEPTH_MAX = 120,      /* frames; such a record is shorter than RECORD_MAX */
	FILE_PATH_MAX = 512,        /* longest path of a mapped file, with the NUL */
};

/* At the end of a record with stacks; at least one is not 0. 0: there is no such stack. It was not asked for,
 * the thread has none (a kernel thread, or one in execve), or it has nothing to do with the hit (an interrupt).
 */
struct stack_numbers {
	u64 kernel;
	u64 user;
};

enum stack_kind {
	STACK_KERNEL = 1,
	STACK_USER = 2,
	STACK_SAMPLED = 3, /* of the kernel, of a cpu_sample: from what the sample has interrupted */
};

/* Where the frames end. */
enum stack_end {
	/* Where the thread entered the kernel. In a process: there is no frame pointer, as where a thread
	 * begins, but also where code without frame pointers has 0 in the register. */
	STACK_START = 1,
	STACK_DEPTH = 2,      /* there are as many as asked for */
	STACK_BROKEN = 3,     /* the frame pointer does not lead up the stack: code without frame pointers */
	STACK_UNREADABLE = 4, /* the next frame is in memory that is not present */
};

/* What a CPU was doing at a cpu_sample. */
enum sample_mode {
	SAMPLE_USER = 1,
	SAMPLE_KERNEL = 2, /* a call or a fault of the thread, or an interrupt: see record_context */
	SAMPLE_IDLE = 3,
	SAMPLE_GUEST = 4,
	SAMPLE_KERNEL_THREAD = 5,
};

/* A stack, before the first event in the ring with its number, with that event's time and thread. It is
 * written again when the last copy is older than a quarter of the ring. */
struct rec_stack {
	struct record h; /* h.id is RECORD_STACK */
	u64 number;      /* hash of everything below; the highest bit is set */
	u16 length;      /* frames that follow */
	u8 kind;         /* enum stack_kind */
	u8 end;          /* enum stack_end */
	/* Of a user stack: a hash of where the kernel has placed the memory of the program, the same for a
	 * process and its children until they execute another program. Else 0. */
	u32 layout;
	__extension__ u64 frames[]; /* return addresses, the innermost first; but the first one of a user stack
				     * is where the thread is, and of STACK_SAMPLED where the CPU is */
};

/* What struct rec_mapping.file says beside numbers of files, which have the highest bit. */
enum mapping_of {
	MAPPING_ANONYMOUS = 0, /* no file: code that the process has made */
	MAPPING_VDSO = 1,      /* code of the kernel, "[vdso]" */
};

/* Executable memory of a process at h.ts, where a frame of a user stack is. It is written before the first
 * event in the ring with that stack in that process, and again as stacks are. A later one replaces what it
 * overlaps. */
struct rec_mapping {
	struct record h;   /* h.id is RECORD_MAPPING */
	u64 process_start; /* ns, CLOCK_BOOTTIME: when the process began, for its id is used again */
	u32 tgid;
	u32 image; /* programs that it and its ancestors have executed: those before have no mappings any more
		    */
	u64 start; /* addresses: the first one, and the one behind the last one */
	u64 end;
	u64 offset; /* in the file, of the byte at `start` */
	u64 file;   /* number of the file, or enum mapping_of */
	u64 layout; /* that of the stacks with frames here */
};

enum file_flags {
	FILE_DELETED = 1 << 0, /* its path is not there any more, or there was none (memfd) */
	FILE_CUT = 1 << 1,     /* the path lacks its beginning: it is too long */
};

/* A file that is mapped, before the first struct rec_mapping of it. */
struct rec_file {
	struct record h; /* h.id is RECORD_FILE */
	u64 number;      /* hash of the device, the inode and the time of its change; the highest bit is set */
	u64 inode;
	u64 changed; /* ns, CLOCK_REALTIME: its ctime */
	u32 device;  /* major << 20 | minor: of the file system; stat() of btrfs and overlays has another one */
	u32 flags;   /* enum file_flags */
	__extension__ char path[]; /* as the process sees it */
};

#endif
