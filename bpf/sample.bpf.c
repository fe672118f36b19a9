// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Samples of what each CPU does: events of the group sampling. A perf event of each CPU runs the program, in an
 * interrupt or an NMI. The program is in the object of those with stacks; see src/kernel/stacks/samplers.h.
 */
#include "emit.h"

#ifndef EVENTS_WITH_STACKS
DECLARE_RECORD(cpu_sample, "current");
#else

enum {
	FETCH_REGISTER_CS = FETCH_REGISTER_IP + 1,
	PF_VCPU = 0x00000001,
};

/* What a perf event shows to its program: struct bpf_perf_event_data. The registers are those of what it has
 * interrupted. */
struct perf_context {
	u64 registers[FETCH_REGISTERS];
	u64 period;
	u64 address;
};

/* How many periods have passed since the last sample of this CPU. The cookie of the perf event is the time from
 * when on it takes samples. */
static __always_inline u32 count_periods(struct perf_context *ctx, u32 cpu, u64 now)
{
	struct cpu_state *state = bpf_map_lookup_elem(&cpu_states, &cpu);
	u64 period = control.sampling.period, since = bpf_get_attach_cookie(ctx), periods;

	if (!state || !period)
		return 1;
	if (state->sampled > since)
		since = state->sampled;
	state->sampled = now;
	periods = (now - since + period / 2) / period;
	if (now < since || periods < 2)
		return 1;
	__sync_fetch_and_add(&state->samples_missing, periods - 1);
	return periods < (u32)-1 ? periods : (u32)-1;
}

/* The context that this one has interrupted. An NMI in a soft interrupt counts as one in a task. */
static __always_inline u32 interrupted(u32 context)
{
	if (context == CONTEXT_NMI)
		return CONTEXT_TASK;
	return context >= CONTEXT_HARDIRQ ? context - (CONTEXT_HARDIRQ - CONTEXT_TASK) : context;
}

static __always_inline u32 mode_of(const struct task_struct *current, bool in_user, u32 context)
{
	if (in_user)
		return SAMPLE_USER;
	if (current->flags & PF_VCPU)
		return SAMPLE_GUEST;
	if (context > CONTEXT_TASK)
		return SAMPLE_KERNEL;
	if (!current->pid)
		return SAMPLE_IDLE;
	return current->flags & PF_KTHREAD ? SAMPLE_KERNEL_THREAD : SAMPLE_KERNEL;
}

/* Records the sample that is in the buffers. */
static __noinline int store_sample(struct perf_context *ctx, struct stack_buffers *buffers)
{
	struct rec_cpu_sample *r = (struct rec_cpu_sample *)&buffers->of[BUFFER_EVENT];
	struct stack_choice choice = {};
	struct stack_numbers numbers;

	if (control.sampling.kernel && r->mode != SAMPLE_USER)
		choice.kernel = control.stacks.kernel_depth;
	if (control.sampling.user)
		choice.user = control.stacks.depth;
	numbers = take_stacks(ctx, buffers, choice);
	return store_stacked(buffers, EVENT_cpu_sample, sizeof(*r), numbers);
}

/* Without free buffers, a sample has no stacks: programs of tracepoints have all of them. */
static __always_inline int record_sample(struct perf_context *ctx, const struct rec_cpu_sample *r,
					 const struct stacked_hit *hit)
{
	u32 cpu = hit->cpu, level;
	struct stack_cpu *of_cpu = bpf_map_lookup_elem(&stack_cpus, &cpu);
	struct stack_buffers *buffers;

	if (!of_cpu)
		return 0;
	level = use_buffers(of_cpu);
	if (level >= STACK_LEVELS)
		return emit_at(hit->ts, (struct record *)&r->h, EVENT_cpu_sample, sizeof(*r),
			       sizeof(*r) + hit->context, hit->sessions);
	buffers = buffers_of(of_cpu, level);
	__builtin_memcpy(buffers->of[BUFFER_EVENT].bytes, r, sizeof(*r));
	buffers->hit = *hit;
	store_sample(ctx, buffers);
	release_buffers(of_cpu, level);
	return 0;
}

SEC("?perf_event")
int stacked_cpu_sample(struct perf_context *ctx)
{
	struct task_struct *current = current_task();
	u64 ip = ctx->registers[FETCH_REGISTER_IP], cs = ctx->registers[FETCH_REGISTER_CS];
	struct stacked_hit hit = { .ts = bpf_ktime_get_boot_ns(), .cpu = this_cpu(current) };
	bool in_user = (cs & USER_MODE) == USER_MODE;
	struct rec_cpu_sample r = {};

	hit.context = interrupted(context_now());
	r.periods = count_periods(ctx, hit.cpu, hit.ts);
	hit.sessions = sessions_of_hit(STACK_PLACES + EVENT_cpu_sample);
	if (!hit.sessions)
		return 0;
	hit.slots = control.flight_slots;
	current = current_task();
	r.mode = mode_of(current, in_user, hit.context);
	*(in_user ? &r.user_ip : &r.ip) = ip;
	return record_sample(ctx, &r, &hit);
}

#endif
