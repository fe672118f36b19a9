// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Process events. These programs also maintain the task names and the followed trees,
 * so fork, exec and rename stay attached while anything is traced. The sessions decide
 * whether they also write an event.
 */
#include "emit.h"
#include "names.h"
#include "syscall.h"

/* Follows the child of a followed process: it inherits its parent's roots. False if the
 * map is full. */
static __always_inline bool inherit_follow(struct task_struct *parent, struct task_struct *child)
{
	u32 parent_tgid = READ(parent, tgid), tgid = READ(child, tgid);
	struct followed_process *followed_parent, inherited = { .precision = 1 };

	if (!control.following || parent_tgid == tgid)
		return true;
	followed_parent = followed_entry(parent);
	if (!followed_parent)
		return true;
	inherited.roots = followed_parent->roots;
	inherited.start_time = READ(child, start_boottime);
	return !bpf_map_update_elem(&followed, &tgid, &inherited, BPF_ANY);
}

/* Not an event: does the work of sched_process_fork earlier. From 7.0 on, programs can
 * be preempted: a program misses a fork while another task of that CPU is running the
 * same program. A child that both programs miss has no name, and neither it nor its
 * children would be followed. */
SEC("?raw_tp/task_newtask")
int child_born(u64 *ctx)
{
	struct task_struct *child = (void *)ctx[0];
	u32 tid = READ(child, pid);

	inherit_follow((void *)bpf_get_current_task(), child);
	task_named(child, tid, (void *)&child->comm);
	evict_thread(tid);
	return 0;
}

/* sched_process_fork(parent, child) */
EVENT_PROGRAM(sched_process_fork, OF_PAIR(1), u64 *ctx)
{
	struct task_struct *parent = (void *)ctx[0], *child = (void *)ctx[1];
	struct rec_sched_process_fork r = {};

	r.parent_pid = READ(parent, pid);
	r.child_pid = READ(child, pid);
	r.child_tgid = READ(child, tgid);
	if (!inherit_follow(parent, child))
		__sync_fetch_and_add(&control.follow_lost, 1);
	if (!task_known(child, r.child_pid))
		task_named(child, r.child_pid, (void *)&child->comm);
	evict_thread(r.child_pid);

	u32 sessions = sessions_of_sched_process_fork(ctx, current_task());

	return sessions ? EMIT(sched_process_fork, &r, sessions) : 0;
}

/* A record of exec that is being built, twice as long as the longest record: a piece of
 * RECORD_MAX bytes fits at any offset below RECORD_MAX, which satisfies the verifier. */
union exec_record {
	struct rec_sched_process_exec r;
	u8 bytes[2 * RECORD_MAX];
};

/* One for each CPU. It belongs to one program, which the kernel does not run again on a CPU
 * while it runs there. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, union exec_record);
} exec_records SEC(".maps");

_Static_assert(sizeof(struct rec_sched_process_exec) + FILENAME_MAX_LEN + ARGV_MAX + 1 + sizeof(u64) <=
		       RECORD_MAX,
	       "the longest record of exec fits");

/* 0x80 in each byte that is 0. */
static __always_inline u64 zero_bytes(u64 word)
{
	const u64 low = 0x7f7f7f7f7f7f7f7f;

	return ~(((word & low) + low) | word | low);
}

/* Makes each blank of a text in the record LOCATED_WORD_BLANK and each NUL a blank, eight bytes at
 * a time: up to 7 bytes behind the text may change too. A global function, because the verifier
 * checks those once, not for each length. */
__noinline u32 join_arguments(u32 at, u32 length)
{
	const u64 blanks = 0x2020202020202020;
	u32 zero = 0;
	union exec_record *r = bpf_map_lookup_elem(&exec_records, &zero);

	if (!r || at > RECORD_MAX - ARGV_MAX)
		return 0;
	for (u32 i = 0; i < ARGV_MAX; i += sizeof(u64)) {
		u64 *word = (u64 *)(r->bytes + at + i);

		if (i >= length)
			break;
		u64 blank = zero_bytes(*word ^ blanks), nul = zero_bytes(*word);

		/* 0x80 is moved to 0x3f, the difference of both bytes, and to 0x20. */
		*word ^= ((blank >> 1) - (blank >> 7)) | nul >> 2;
	}
	return 0;
}

/* Copies the arguments behind the first `end` bytes, and returns where they end. The kernel has
 * just written them, so they are resident. */
static __always_inline u32 add_argv(union exec_record *r, struct task_struct *task, u32 end)
{
	u64 start = READ(task, mm, arg_start), length = READ(task, mm, arg_end) - start;
	u32 cut = 0;
	u8 *text;

	if (length > ARGV_MAX) {
		length = ARGV_MAX;
		cut = LOCATED_CUT;
	}
	barrier_var(end);
	if (end > RECORD_MAX - ARGV_MAX)
		return end;
	text = r->bytes + end;
	barrier_var(length);
	if (length > ARGV_MAX || bpf_probe_read_user(text, length, (void *)start)) {
		length = 0;
		cut = LOCATED_CUT;
	}
	join_arguments(end, length);
	if (length && !cut)
		length--; /* the last NUL */
	barrier_var(length);
	if (length > ARGV_MAX) /* for the verifier of Linux 6.1 */
		length = 0;
	text[length] = 0;
	r->r.argv = end | cut | (u32)(length + 1) << LOCATED_COUNT_SHIFT;
	return end + length + 1;
}

static __noinline int record_exec(struct linux_binprm *bprm, struct task_struct *task, u32 old_tid,
				  u32 sessions)
{
	u32 zero = 0, end;
	union exec_record *r = bpf_map_lookup_elem(&exec_records, &zero);
	u64 length;

	if (!r)
		return 0;
	r->r.pid = READ(task, pid);
	r->r.old_pid = old_tid;
	r->r.parent_pid = READ(task, real_parent, tgid);
	length = bpf_probe_read_kernel_str(r->r.filename, FILENAME_MAX_LEN, READ(bprm, filename));
	if (length > FILENAME_MAX_LEN) { /* unreadable: a negative error */
		length = 1;
		r->r.filename[0] = 0;
	}
	end = add_argv(r, task, sizeof(r->r) + length);
	barrier_var(end); /* the verifier must see the bound on the value that is used */
	if (end > RECORD_MAX - sizeof(u64))
		return 0;
	__builtin_memset(r->bytes + end, 0, sizeof(u64));
	end = (end + 7) & ~7U;
	barrier_var(end);
	return end <= RECORD_MAX ? emit(&r->r.h, EVENT_sched_process_exec, end, sessions) : 0;
}

/*
 * Not an event: notes which call executes a program. That is not to be seen later: the kernel gives the
 * new program registers with the number of execve of its ABI, also where the call was execveat, or that of
 * another ABI. From here on a failure ends the process.
 *
 * The tracepoint is there since 6.10. Before, this runs when begin_new_exec(bprm) returns: see
 * src/kernel/programs/bpf_loader.cpp.
 */
SEC("?raw_tp/sched_prepare_exec")
int exec_begins(u64 *ctx)
{
	if (features.exec_at_function && (int)ctx[1]) /* begin_new_exec() has failed: the old program goes on */
		return 0;

	const struct pt_regs *regs = (const struct pt_regs *)bpf_task_pt_regs(bpf_get_current_task_btf());
	struct task_struct *current = current_task();
	struct call call = call_of(current, READ(regs, orig_ax));
	struct exec_call exec = { .tgid = current->tgid, .nr = call.nr, .abi = call.abi };
	u64 task = bpf_get_current_task();

	/* The kernel itself executes programs without a call. */
	if (is_execve(call) || is_execveat(call))
		bpf_map_update_elem(&exec_calls, &task, &exec, BPF_ANY);
	return 0;
}

/* If it is noted twice, exec_begins() was skipped since: the note is of an earlier call. */
static __always_inline void exec_succeeds(void)
{
	u64 task = bpf_get_current_task();
	struct exec_call *exec = bpf_map_lookup_elem(&exec_calls, &task);

	if (!exec)
		return;
	if (exec->succeeded)
		bpf_map_delete_elem(&exec_calls, &task);
	else
		exec->succeeded = 1;
}

/* sched_process_exec(task, old_pid, bprm) */
EVENT_PROGRAM(sched_process_exec, OF_CURRENT, u64 *ctx)
{
	struct task_struct *task = (void *)ctx[0];
	u32 tid = READ(task, pid), old_tid = ctx[1];

	exec_succeeds();
	if (old_tid != tid)
		move_entry(old_tid, tid);
	/* Another thread may have taken over the leader's id, and set-user-id programs
	 * change the user. */
	task_named(task, tid, (void *)&task->comm);
	evict_thread(tid);

	u32 sessions = sessions_of_sched_process_exec(ctx, current_task());

	return sessions ? record_exec((void *)ctx[2], task, old_tid, sessions) : 0;
}

enum {
	SIGNAL_GROUP_EXIT = 0x00000004, /* signal_struct.flags: all threads end, with group_exit_code */
};

/* What wait() will give of a process whose last thread ends: before 6.0, not that of this thread unless
 * all threads were ended together. */
static __always_inline s32 status_of_process(struct task_struct *task)
{
	return READ(task, signal, flags) & SIGNAL_GROUP_EXIT ? READ(task, signal, group_exit_code)
							     : READ(task, group_leader, exit_code);
}

/* sched_process_exit(task, group_dead); before 6.15 without group_dead */
EVENT(sched_process_exit, OF_CURRENT, struct rec_sched_process_exit *r, const struct hit *hit)
{
	struct task_struct *task = (void *)hit->args[0];

	r->pid = READ(task, pid);
	r->prio = READ(task, prio);
	r->group_dead =
		features.exit_has_group_dead ? hit->args[1] != 0 : READ(task, signal, live.counter) == 0;
	r->exit_code = r->group_dead ? status_of_process(task) : READ(task, exit_code);
}

/* task_rename(task, newcomm) */
EVENT_PROGRAM(task_rename, OF_PAIR(0), u64 *ctx)
{
	struct task_struct *task = (void *)ctx[0];
	const char *comm = (const char *)ctx[1];
	u32 sessions = sessions_of_task_rename(ctx, current_task()); /* by the old name */
	struct rec_task_rename r = {};

	r.pid = READ(task, pid);
	task_named(task, r.pid, comm);
	evict_thread(r.pid);
	if (!sessions)
		return 0;
	r.oom_score_adj = READ(task, signal, oom_score_adj);
	bpf_core_read(r.oldcomm, sizeof(r.oldcomm), &task->comm);
	bpf_probe_read_kernel_str(r.newcomm, sizeof(r.newcomm), comm);
	return EMIT(task_rename, &r, sessions);
}

/* Not an event: notes the user of a thread that changes it without an exec. Where no program can be attached
 * to a function, the programs of sys_exit do that, while they are attached. */
SEC("?fexit/commit_creds")
int user_changed(u64 *ctx __attribute__((unused)))
{
	return note_user();
}

/* Not an event: evicts a thread when it is freed, which is after its last switch and
 * exit. A followed process is freed with its leader, when its number may already be another's. */
SEC("?raw_tp/sched_process_free")
int task_freed(u64 *ctx)
{
	struct task_struct *task = (void *)ctx[0];
	u32 tid = READ(task, pid), tgid = READ(task, tgid);

	evict_thread(tid);
	if (control.following && tid == tgid && followed_entry(task))
		bpf_map_delete_elem(&followed, &tgid);
	return 0;
}

/* ---- control groups: their paths, and the moves of threads; no events ---- */

enum cgroup_program {
	CGROUP_MADE = 0,
	CGROUP_REMOVED,
	CGROUP_ATTACHED,
	CGROUP_PROGRAMS,
};

/* A record that is being built, one for each CPU and program: the kernel does not run a program again on a CPU
 * while it runs there. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, CGROUP_PROGRAMS);
	__type(key, u32);
	__type(value, struct rec_metadata_cgroup);
} cgroup_paths SEC(".maps");

/* The record of a control group, which is valid while the program runs. Null for those of other hierarchies
 * than that of cgroup v2: they have ids of their own. */
static __always_inline struct rec_metadata_cgroup *cgroup_record(u32 program, struct cgroup *cgroup,
								 const char *path)
{
	struct rec_metadata_cgroup *r = bpf_map_lookup_elem(&cgroup_paths, &program);
	long length;

	if (!r || READ(cgroup, root, hierarchy_id) != 0)
		return NULL;
	__builtin_memset(r->path, 0, sizeof(r->path));
	length = bpf_probe_read_kernel_str(r->path, sizeof(r->path), path);
	if (length <= 1 || length > CGROUP_PATH_MAX)
		return NULL;
	r->h.ts = bpf_ktime_get_boot_ns();
	r->h.id = METADATA_cgroup;
	r->h.size = (__builtin_offsetof(struct rec_metadata_cgroup, path) + (u32)length + 7) & ~7U;
	r->cgroup = READ(cgroup, kn, id);
	return r;
}

static __always_inline void emit_cgroup(struct rec_metadata_cgroup *r)
{
	u32 size = r->h.size;

	if (!control.stream)
		return;
	barrier_var(size); /* the verifier must see the bound on the value that is used */
	if (size <= sizeof(*r))
		emit_metadata(&r->h, r->h.ts, METADATA_cgroup, size, 0);
}

/* The programs of control groups hold the kernel's cgroup_mutex, so only one of them runs at a time. */
static __always_inline void cgroup_kept(void)
{
	if (control.unkept_cgroups)
		control.unkept_cgroups--;
}

/* cgroup_mkdir(cgroup, path) */
SEC("?raw_tp/cgroup_mkdir")
int cgroup_made(u64 *ctx)
{
	struct rec_metadata_cgroup *r = cgroup_record(CGROUP_MADE, (void *)ctx[0], (const char *)ctx[1]);
	u64 id;

	if (!r)
		return 0;
	id = r->cgroup;
	if (bpf_map_update_elem(&cgroups, &id, r, BPF_ANY))
		control.unkept_cgroups++;
	emit_cgroup(r); /* a reader that begins before this has the path from the map */
	return 0;
}

static __always_inline void note_removed(const struct rec_metadata_cgroup *r)
{
	u64 number = __sync_fetch_and_add(&control.removed_cgroups, 1);
	u32 index = number & (REMOVED_CGROUPS_MAX - 1);
	struct removed_cgroup *removed = bpf_map_lookup_elem(&removed_cgroups, &index);

	if (!removed)
		return;
	*(volatile u64 *)&removed->number = 0;
	barrier();
	bpf_probe_read_kernel(&removed->record, sizeof(removed->record), r);
	barrier(); /* x86 keeps the order of stores */
	*(volatile u64 *)&removed->number = number + 1;
}

/* cgroup_rmdir(cgroup, path) */
SEC("?raw_tp/cgroup_rmdir")
int cgroup_removed(u64 *ctx)
{
	struct rec_metadata_cgroup *r = cgroup_record(CGROUP_REMOVED, (void *)ctx[0], (const char *)ctx[1]);
	u64 id;

	if (!r)
		return 0;
	id = r->cgroup;
	note_removed(r);
	if (bpf_map_delete_elem(&cgroups, &id))
		cgroup_kept(); /* its path had found no room, and is in the history now */
	return 0;
}

/* cgroup_attach_task(cgroup, path, task, threadgroup): a task, or a whole process, has been
 * moved. Readers know that the threads of a process have moved with its leader. */
SEC("?raw_tp/cgroup_attach_task")
int cgroup_changed(u64 *ctx)
{
	struct task_struct *task = (void *)ctx[2];
	struct rec_metadata_cgroup *r;
	u64 id;

	__sync_fetch_and_add(&control.generation, 1UL << THREAD_GENERATION_SHIFT);
	r = cgroup_record(CGROUP_ATTACHED, (void *)ctx[0], (const char *)ctx[1]);
	if (r) {
		id = r->cgroup;
		if (!bpf_map_update_elem(&cgroups, &id, r, BPF_NOEXIST))
			cgroup_kept(); /* there is room now */
		emit_cgroup(r);
	}
	task_named(task, READ(task, pid), (void *)&task->comm);
	return 0;
}

/* ---- run by the daemon ---- */

/* Run by the daemon over all threads, see KernelNames::check(). */
SEC("?iter/task")
int check_names(u64 *ctx)
{
	struct task_struct *task = (void *)ctx[1]; /* of struct bpf_iter__task; null at the end */

	if (task)
		check_name(task);
	return 0;
}

/* The daemon runs this once at start to learn its global process id; in a container
 * getpid() returns another one. */
SEC("?raw_tp/sys_enter")
int calibrate(u64 *ctx __attribute__((unused)))
{
	control.self_tgid = bpf_get_current_pid_tgid() >> 32;
	return 0;
}
