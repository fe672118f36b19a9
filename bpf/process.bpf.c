// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Process events. These programs also maintain the task names and the followed trees,
 * so fork, exec and rename stay attached while anything is traced. The sessions decide
 * whether they also write an event.
 */
#include "emit.h"
#include "task_names.h"

/* Follows the child of a followed process: it inherits its parent's roots. False if the
 * map is full. */
static __always_inline bool inherit_follow(u32 parent_tgid, u32 child_tgid)
{
	u64 *roots, inherited;

	if (!control.following || parent_tgid == child_tgid)
		return true;
	roots = bpf_map_lookup_elem(&followed, &parent_tgid);
	if (!roots)
		return true;
	inherited = *roots;
	return !bpf_map_update_elem(&followed, &child_tgid, &inherited, BPF_ANY);
}

/* Not an event: does the work of sched_process_fork earlier. From 7.0 on, programs can
 * be preempted: a program misses a fork while another task of that CPU is running the
 * same program. A child that both programs miss has no name, and neither it nor its
 * children would be followed. */
SEC("?raw_tp/task_newtask")
int child_born(u64 *ctx)
{
	struct task_struct *child = (void *)ctx[0];
	u32 tid = READ(child, pid), tgid = READ(child, tgid);

	inherit_follow(bpf_get_current_pid_tgid() >> 32, tgid);
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
	if (!inherit_follow(READ(parent, tgid), r.child_tgid))
		__sync_fetch_and_add(&control.follow_lost, 1);
	if (!task_known(child, r.child_pid))
		task_named(child, r.child_pid, (void *)&child->comm);
	evict_thread(r.child_pid);

	u32 sessions = sessions_of_sched_process_fork(ctx, current_task());

	return sessions ? EMIT(sched_process_fork, &r, sessions) : 0;
}

/* A separate function: the stack has no room for both its record and the filter. */
static __noinline int record_exec(struct linux_binprm *bprm, u32 tid, u32 old_tid, u32 sessions)
{
	char buffer[sizeof(struct rec_sched_process_exec) + FILENAME_MAX_LEN] __attribute__((aligned(8))) = {};
	struct rec_sched_process_exec *r = (void *)buffer;
	u64 length, size;

	r->pid = tid;
	r->old_pid = old_tid;
	length = bpf_probe_read_kernel_str(r->filename, FILENAME_MAX_LEN, READ(bprm, filename));
	if (length > FILENAME_MAX_LEN)
		length = 1; /* unreadable: a negative error */
	size = (sizeof(*r) + length + 7) & ~7UL;
	barrier_var(size); /* the verifier must see the bound on the value that is used */
	return size <= sizeof(buffer) ? emit(&r->h, EVENT_sched_process_exec, size, sessions) : 0;
}

/* sched_process_exec(task, old_pid, bprm) */
EVENT_PROGRAM(sched_process_exec, OF_CURRENT, u64 *ctx)
{
	struct task_struct *task = (void *)ctx[0];
	u32 tid = READ(task, pid);

	/* Another thread may have taken over the leader's id, and set-user-id programs
	 * change the user. */
	task_named(task, tid, (void *)&task->comm);
	evict_thread(tid);

	u32 sessions = sessions_of_sched_process_exec(ctx, current_task());

	return sessions ? record_exec((void *)ctx[2], tid, ctx[1], sessions) : 0;
}

/* sched_process_exit(task, group_dead); before 6.15 without group_dead */
EVENT(sched_process_exit, OF_CURRENT, struct rec_sched_process_exit *r, const struct hit *hit)
{
	struct task_struct *task = (void *)hit->args[0];

	r->pid = READ(task, pid);
	r->prio = READ(task, prio);
	r->exit_code = READ(task, exit_code);
	r->group_dead =
		features.exit_has_group_dead ? hit->args[1] != 0 : READ(task, signal, live.counter) == 0;
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

/* Not an event: evicts a thread when it is freed, which is after its last switch and
 * exit. A followed process is freed with its leader. */
SEC("?raw_tp/sched_process_free")
int task_freed(u64 *ctx)
{
	struct task_struct *task = (void *)ctx[0];
	u32 tid = READ(task, pid), tgid = READ(task, tgid);

	evict_thread(tid);
	if (control.following && tid == tgid)
		bpf_map_delete_elem(&followed, &tgid);
	return 0;
}

/* Not an event: a task, or a whole process, was moved to another control group. */
SEC("?raw_tp/cgroup_attach_task")
int cgroup_changed(u64 *ctx __attribute__((unused)))
{
	__sync_fetch_and_add(&control.generation, 1UL << THREAD_GENERATION_SHIFT);
	return 0;
}

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
