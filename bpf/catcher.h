/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Events that record also the hits at which the kernel skips their program.
 *
 * The kernel skips a program that already runs on the CPU: in an interrupt, or since 7.0
 * while a task is preempted inside it. So the event has a second program on the same hook,
 * the catcher, which runs after the first one and records what the first one did not.
 *
 * On most kernels the catcher asks the kernel: a first program that runs on this CPU is that of a
 * hit around this one, because nothing else can come between, so this hit was skipped there.
 *
 * Where programs can be preempted (7.0), another task may have begun one meanwhile. There, and where
 * reading the kernel's count takes a call (before 6.2), the first program leaves a note, its number
 * of the hit, and the catcher removes it. Both see the same context, an array on the stack of the
 * hit, and no other hit in flight has one at that address. If the catcher finds no note of its hit,
 * the first program was skipped, or has left the hit to it because another note was in the way.
 *
 * Each hit is recorded once at most, and counted as missed if neither records it:
 *
 *	missed = skipped by the kernel at the first program + left - caught
 */
#ifndef KTRACED_BPF_CATCHER_H
#define KTRACED_BPF_CATCHER_H

#include "emit.h"

/* The daemon maps it too. The number of a hit is relative to its address, which is that of a page. */
struct catching catching SEC(".data.catching") = {};

enum {
	NOTE_TAG_SHIFT = 48, /* below: the address; above: what distinguishes hits at one address */
};

/*
 * The number of a hit. The verifier allows to subtract a pointer from the context, but not to
 * compute with it otherwise. Hits at the same address differ by an argument, mostly: a note that
 * nobody has removed, because the catcher was skipped, is seldom taken for that of another hit.
 */
static __always_inline u64 note_of(const u64 *ctx, u64 argument)
{
	u64 number = (u64)ctx - (u64)&catching;

	barrier_var(number);
	return number + (argument << NOTE_TAG_SHIFT);
}

static __always_inline u64 *place_of(u64 row, u32 event)
{
	return &catching.notes[row & (CATCHER_ROWS - 1)][event % CATCHER_COLUMNS];
}

/* Where the note of a hit is: in a row chosen by the page of its stack, so that a task uses few of
 * them. And where it is if that place is taken. */
#define PAGE_PLACE(note, event) place_of((note) >> 12, event)
#define ADDRESS_PLACE(note, event) place_of((note) >> 3 ^ (note) >> 14, event)

/* When a task enters a system call or leaves it, no other hit on its stack is in flight. */
static __always_inline bool is_of_call(u32 event)
{
	return event == EVENT_sys_enter || event == EVENT_sys_exit || event == EVENT_sys_completed ||
	       event == EVENT_sys_enter_string || event == EVENT_sys_exit_string;
}

/* The value of a per-CPU variable of the kernel on this CPU. `address`: its place in `catching`.
 * 0 for a bad address. */
static __always_inline u32 read_per_cpu(u32 address)
{
	u32 cpu = bpf_get_smp_processor_id() & (CATCHER_CPUS - 1);
	const struct catching *c = &catching;
	struct refcount_struct *variable;

	barrier_var(c); /* load its address once */
	variable = (void *)(*(u64 *)((void *)c + address) + c->cpu_offsets[cpu]);
	return READ_ONLY(variable)->refs.counter;
}

enum {
	PREEMPT_NEED_RESCHED = 1U << 31, /* no part of the count */
};

/*
 * Is no other hit on the stack of this one in flight? A first program asks, which has turned preemption
 * off once. If that is the only reason not to preempt, the task does not run inside its own preemption:
 * the scheduler counts as another one, and interrupts have stacks of their own.
 */
static __always_inline bool is_alone(u32 event)
{
	if (is_of_call(event))
		return true;
	return features.preemptible && features.rdonly_cast && catching.preempt_count &&
	       (read_per_cpu(offsetof(struct catching, preempt_count)) & ~PREEMPT_NEED_RESCHED) == 1;
}

/* A note of a hit that has ended. If no other hit on this stack is in flight, all others of its page
 * have: the kernel begins each system call at another address. Else a stack grows down, so what was
 * noted at the same or at a lower address of this page belongs to a function that has returned. */
static __always_inline bool stale(u64 old, u64 note, bool alone)
{
	if (alone)
		return (note ^ old) << (64 - NOTE_TAG_SHIFT) <= 4095ull << (64 - NOTE_TAG_SHIFT);
	return (note - old) << (64 - NOTE_TAG_SHIFT) <= (note & 4095) << (64 - NOTE_TAG_SHIFT);
}

/* False if the place is taken. The notes of others stay: of other tasks, whose hits would be
 * recorded twice, and of the same stack, when a hit happens inside another one. */
static __always_inline bool put_note(u64 *place, u64 note, bool alone)
{
	u64 old = *(volatile u64 *)place;

	if (old && !stale(old, note, alone))
		return false;
	return __sync_val_compare_and_swap(place, old, note) == old;
}

/* The usual place was not empty, mostly because of a note that nobody has removed. False: the catcher
 * is to record the hit. */
static __noinline bool leave_note(u64 note, u32 event)
{
	bool alone = is_alone(event);

	if (event >= CATCHER_EVENTS || put_note(PAGE_PLACE(note, event), note, alone) ||
	    put_note(ADDRESS_PLACE(note, event), note, alone) ||
	    !(control.catcher_states[event] & CATCHER_GETS_REST))
		return true;
	__sync_fetch_and_add(&catching.left[event], 1);
	return false;
}

/* Since 6.10 and 6.14: kernels whose programs are preemptible have them. */
extern void bpf_preempt_disable(void) __ksym __weak;
extern void bpf_preempt_enable(void) __ksym __weak;
extern void bpf_local_irq_save(unsigned long *flags) __ksym __weak;
extern void bpf_local_irq_restore(unsigned long *flags) __ksym __weak;

/*
 * Turns preemption on again, but does not reschedule: with interrupts off, bpf_preempt_enable() does
 * not. The kernel reschedules soon after, when the program has ended. Only an interrupt of these few
 * instructions, or of those outside of the section, can let the kernel preempt the task in the
 * program.
 */
static __always_inline void enable_preemption(void)
{
	unsigned long flags;

	bpf_local_irq_save(&flags);
	bpf_preempt_enable();
	bpf_local_irq_restore(&flags);
}

/* Of a first program that leaves notes: does it record the hit? */
static __always_inline bool noted(const u64 *ctx, u64 argument, u32 event)
{
	u64 note = note_of(ctx, argument), *place = PAGE_PLACE(note, event);
	u64 old = __sync_val_compare_and_swap(place, 0, note);

	barrier_var(old);
	return !old || leave_note(note, event); /* the usual case in few instructions */
}

/* Is the first program running on this CPU? Its hit is one around this one. */
#define FIRST_IS_RUNNING(event) (read_per_cpu(offsetof(struct catching, running[event])) != 0)

/* Counts a hit that the catcher records: false if it is to record none now. */
static __always_inline bool count_caught(u32 event)
{
	if (event >= CATCHER_EVENTS || !(control.catcher_states[event] & CATCHER_RECORDS))
		return false;
	__sync_fetch_and_add(&catching.caught[event], 1);
	return true;
}

/* There is no note in the usual place. False: the first program has recorded the hit. */
static __noinline bool catch (u64 note, u32 event)
{
	u64 *place = ADDRESS_PLACE(note, event), old;

	if (*(volatile u64 *)place == note) {
		*(volatile u64 *)place = 0;
		return false;
	}
	if (!count_caught(event))
		return false;
	place = PAGE_PLACE(note, event);
	old = *(volatile u64 *)place;
	if (stale(old, note, is_of_call(event))) /* it may be equal to the note of a later hit */
		*(volatile u64 *)place = 0;
	return true;
}

/* Of the catcher: the usual case, a note in the usual place. */
static __always_inline bool remove_note(const u64 *ctx, u64 argument, u32 event)
{
	u64 note = note_of(ctx, argument), *place = PAGE_PLACE(note, event);

	if (*(volatile u64 *)place != note)
		return false;
	*(volatile u64 *)place = 0;
	return true;
}

/* In all other cases: does it record the hit? */
static __always_inline bool catcher_records(const u64 *ctx, u64 argument, u32 event)
{
	return features.running_readable ? count_caught(event) : catch (note_of(ctx, argument), event);
}

_Static_assert(EVENT_sys_completed < CATCHER_EVENTS, "all events with a catcher have a state");

#ifdef EVENTS_WITH_STACKS
/* The second programs of events have no catchers. */
#define CAUGHT_EVENT(name, argument, of, ...)                   \
	DEFINE_STACKED("?raw_tp/" #name, name, of, __VA_ARGS__) \
	static __always_inline void fill_##name(__VA_ARGS__)
#define CAUGHT_TYPED_EVENT(name, argument, of, ...)                     \
	DEFINE_STACKED("?raw_tracepoint/" #name, name, of, __VA_ARGS__) \
	static __always_inline void fill_##name(__VA_ARGS__)
#else
/* An EVENT with a catcher. `argument` is the one that distinguishes its hits. */
#define CAUGHT_EVENT(name, argument, of, ...)            \
	DEFINE_EVENT(name, of, __VA_ARGS__)              \
	DEFINE_CATCHER("?raw_tp/" #name, name, argument) \
	static __always_inline void fill_##name(__VA_ARGS__)

/* A TYPED_EVENT with a catcher. */
#define CAUGHT_TYPED_EVENT(name, argument, of, ...)              \
	DEFINE_EVENT(name, of, __VA_ARGS__)                      \
	DEFINE_CATCHER("?raw_tracepoint/" #name, name, argument) \
	static __always_inline void fill_##name(__VA_ARGS__)
#endif

/*
 * Both programs of an event, in the order in which they run; run_NAME() records the hit. For the
 * catcher it is in a function of its own, so that a usual hit saves no registers for it.
 *
 * Where programs can be preempted, they turn preemption off while they record. The catcher does not
 * while it only looks for the note: that would take as long. The first program has two copies of
 * run_NAME(), so that none of them is called; on any kernel one is enough for events without a
 * catcher, and the verifier removes the other one where programs cannot be preempted.
 */
#define DEFINE_CATCHER(section, name, argument) DEFINE_CATCHER_AS(__noinline, section, name, argument)
#define DEFINE_CATCHER_AS(kind, section, name, argument)                                        \
	static kind int caught_##name(u64 *ctx)                                                 \
	{                                                                                       \
		if (!catcher_records(ctx, ctx[argument], EVENT_##name))                         \
			return 0;                                                               \
		if (features.preemptible)                                                       \
			bpf_preempt_disable();                                                  \
		run_##name(ctx);                                                                \
		if (features.preemptible)                                                       \
			enable_preemption();                                                    \
		return done();                                                                  \
	}                                                                                       \
	SEC(section)                                                                            \
	int name(u64 *ctx)                                                                      \
	{                                                                                       \
		bool notes = control.catcher_states[EVENT_##name] & CATCHER_NOTES;              \
                                                                                                \
		if (notes && features.preemptible) {                                            \
			bpf_preempt_disable();                                                  \
			if (noted(ctx, ctx[argument], EVENT_##name))                            \
				run_##name(ctx);                                                \
			enable_preemption();                                                    \
			return 0;                                                               \
		}                                                                               \
		return !notes || noted(ctx, ctx[argument], EVENT_##name) ? run_##name(ctx) : 0; \
	}                                                                                       \
	SEC(section)                                                                            \
	int catch_##name(u64 *ctx)                                                              \
	{                                                                                       \
		u64 *volatile kept; /* on the stack: a usual hit saves no register */           \
                                                                                                \
		if (features.running_readable) {                                                \
			kept = ctx;                                                             \
			if (!FIRST_IS_RUNNING(EVENT_##name))                                    \
				return 0;                                                       \
			ctx = kept;                                                             \
		} else if (remove_note(ctx, ctx[argument], EVENT_##name)) {                     \
			return 0;                                                               \
		}                                                                               \
		return caught_##name(ctx);                                                      \
	}

#endif
