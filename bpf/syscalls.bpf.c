// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* System calls. */
#include "catcher.h"
#include "syscall.h"

static __always_inline u32 matching_entered_call(u32 sessions, struct task_struct *current, const u64 *args,
						 u32 other __attribute__((unused)))
{
	return matching_call(sessions, current, call_of(current, args[1]));
}

/* sys_enter(regs, nr) */
CAUGHT_TYPED_EVENT(sys_enter, 1, OF_CURRENT_IF(matching_entered_call), struct rec_sys_enter *r,
		   const struct hit *hit)
{
	u32 abi = syscall_abi(hit->current, hit->args[1]);

	r->nr = hit->args[1];
	r->abi = abi;
	read_args(r->args, TYPED(hit, 0, struct pt_regs), abi);
}

/* sys_exit(regs, ret) */
CAUGHT_TYPED_EVENT(sys_exit, 1, OF_CURRENT_IF(matching_returning_call), struct rec_sys_exit *r,
		   const struct hit *hit)
{
	struct call call = returning_call(hit->current, hit->args);

	r->nr = call.nr;
	r->abi = call.abi;
	r->ret = hit->args[1];
}

#ifndef EVENTS_WITH_STACKS
/*
 * sys_completed: a call as one record, written when it returns. The registers still hold the
 * arguments then, so at the entry only the time is noted. What is not certain of a call is marked as
 * unknown.
 */
/* Not an event: notes when a call begins. */
SEC("?raw_tp/sys_enter")
int note_entry(u64 *ctx __attribute__((unused)))
{
	u64 ts = bpf_ktime_get_boot_ns();
	u32 tid = current_task()->pid;

	*(volatile u64 *)entry_place(tid) = entry_word(tid, ts) | (features.preemptible ? ENTRY_UNCHECKED : 0);
	return 0;
}

/* Not an event: runs after note_entry(), and notes when a call begins where the kernel skips that.
 * Where programs can be preempted, an entry is valid only if this program has seen it. */
SEC("?raw_tp/sys_enter")
int check_entry(u64 *ctx __attribute__((unused)))
{
	u32 tid = current_task()->pid;
	u64 *place = entry_place(tid), word = *(volatile u64 *)place;

	if (!features.preemptible)
		return 0;
	*(volatile u64 *)place = word & ENTRY_UNCHECKED && is_entry_of(word, tid)
					 ? word & ~(u64)ENTRY_UNCHECKED
					 : entry_word(tid, bpf_ktime_get_boot_ns());
	return 0;
}

/* The tid of a thread that has ended in a call may be in use again. The first return of a new thread,
 * from the call that made it, has no entry. */
static __always_inline s64 duration_of(struct task_struct *current, u64 entered, u64 now)
{
	if (entered < control.entries_since || entered < current->start_boottime || entered > now)
		return -1;
	return now - entered;
}

/* False after sigreturn, which leaves -1 in the place of the number, and after a program was executed. */
static __always_inline bool keeps_args(struct call call, s64 ret)
{
	return (s32)call.nr != -1 && (ret || !(is_execve(call) || is_execveat(call)));
}

DECLARE_EVENT(sys_completed, OF_CURRENT_IF(matching_returning_call))

static __always_inline void fill_completed(struct rec_sys_completed *r, const struct hit *hit, u64 entered,
					   u64 now)
{
	struct call call = returning_call(hit->current, hit->args);

	r->nr = call.nr;
	r->abi = call.abi;
	r->ret = hit->args[1];
	r->duration = duration_of(hit->current, entered, now);
	if (!keeps_args(call, r->ret))
		return;
	r->args_known = 1;
	read_args(r->args, TYPED(hit, 0, struct pt_regs), call.abi);
}

/* A hit that is recorded, not directly. */
static __always_inline int record_completed(const struct hit *hit, u64 entered, u32 sessions)
{
	struct rec_sys_completed r = {};
	u32 session = only_stream(sessions);
	u64 now = bpf_ktime_get_boot_ns();

	begin_record(&r.h, sizeof(r), false);
	fill_completed(&r, hit, entered, now);
	if (session)
		return stream_put(now, &r.h, EVENT_sys_completed, sizeof(r), hit->current, session);
	return emit_at(now, &r.h, EVENT_sys_completed, sizeof(r), size_of_begun(&r.h), sessions);
}

static __always_inline bool record_completed_directly(const struct hit *hit, const struct control *c,
						      u64 entered)
{
	struct rec_sys_completed r = {};
	struct record *place;

	begin_record(&r.h, sizeof(r), true);
	place = begin_direct(hit->current, c, EVENT_sys_completed, sizeof(r), &r.h);
	if (!place)
		return false;
	fill_completed(&r, hit, entered, place->ts);
	store_fields(place, &r.h, sizeof(r));
	return true;
}

/* sys_exit(regs, ret) */
static __always_inline int run_sys_completed(u64 *ctx)
{
	struct hit hit = { ctx, current_task() };
	u64 entered = take_entry(hit.current->pid);
	const struct control *c = &control;
	u32 sessions;

	barrier_var(c); /* load its address once on the direct way */
	if (event_way(c, EVENT_sys_completed) >= WAY_DIRECT && record_completed_directly(&hit, c, entered))
		return 0;
	sessions = sessions_of_sys_completed(ctx, hit.current);
	if (!sessions)
		return 0;
	hit.current = current_task();
	return record_completed(&hit, entered, sessions);
}
DEFINE_CATCHER("?raw_tracepoint/sys_exit", sys_completed, 1)

#endif
