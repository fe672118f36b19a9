/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Every difference between kernels, behind one named accessor each.
 *
 * The running kernel's BTF decides: CO-RE checks whether a field exists, and
 * src/kernel/programs/features.cpp checks tracepoint prototypes and fills `features`
 * before loading. Version numbers are never used, because stable series carry
 * back-ports.
 */
#ifndef KTRACED_BPF_KERNEL_COMPAT_H
#define KTRACED_BPF_KERNEL_COMPAT_H

#include "kernel.h"
#include "shared_state.h"

const volatile struct features features SEC(".rodata.features") = {};

/* 6.2 (a35b9af4ec2c "bpf: Add a kfunc for generic type cast"). Where it is
 * missing the verifier removes the call together with its branch. */
extern void *bpf_rdonly_cast(const void *obj__ign, u32 btf_id__k) __ksym __weak;

/* 6.4 ("bpf: implement numbers iterator"), so all kernels with arenas. The verifier follows a loop over numbers
 * twice, and not for each number. Where it is missing, see above. */
#ifndef HAVE_BPF_ITER_NUM
struct bpf_iter_num {
	u64 opaque[1];
} __attribute__((aligned(8)));
#endif
extern int bpf_iter_num_new(struct bpf_iter_num *it, int start, int end) __ksym __weak;
extern int *bpf_iter_num_next(struct bpf_iter_num *it) __ksym __weak;
extern void bpf_iter_num_destroy(struct bpf_iter_num *it) __ksym __weak;

#define READ_ONLY(ptr) ((typeof(ptr))bpf_rdonly_cast((ptr), bpf_core_type_id_kernel(typeof(*(ptr)))))

/*
 * The way to read a member of a kernel object: READ(task, pid). A second member is read
 * from what the first one points to: READ(task, cred, uid.val).
 *
 * This is a direct load where the kernel allows it, else a probe read. Both give 0 for a
 * bad address. Of a TYPED() argument, it is always a direct load.
 */
#define READ(ptr, ...) ___bpf_apply(READ_, ___bpf_narg(__VA_ARGS__))(ptr, __VA_ARGS__)
#define READ_1(ptr, member)                                 \
	__builtin_choose_expr(IS_TYPED(ptr), (ptr)->member, \
			      features.rdonly_cast ? READ_ONLY(ptr)->member : BPF_CORE_READ(ptr, member))
#define READ_2(ptr, first, member) \
	(features.rdonly_cast ? READ_ONLY(ptr)->first->member : BPF_CORE_READ(ptr, first, member))

/*
 * A pointer argument of a TYPED_EVENT. The verifier knows its type, or learns it here
 * once. READ() recognizes it by `const`.
 */
#define TYPED(hit, i, type) TYPED_ARGUMENT((hit)->args, i, type)
#define TYPED_ARGUMENT(args, i, type)               \
	((const type *)(features.typed_programs     \
				? (void *)(args)[i] \
				: bpf_rdonly_cast((void *)(args)[i], bpf_core_type_id_kernel(type))))
#define IS_TYPED(ptr) __builtin_types_compatible_p(typeof(&*(ptr)), const typeof(*(ptr)) *)

/* State as the sched_switch tracepoint of ftrace reports it:
 * __trace_sched_switch_state() in include/trace/events/sched.h. */
enum {
	TASK_UNINTERRUPTIBLE = 0x0002,
	TASK_DEAD = 0x0080,
	TASK_REPORT = 0x007f,
	TASK_REPORT_IDLE = 0x0080,
	TASK_REPORT_PREEMPTED = 0x0100,
	TASK_IDLE = 0x0402, /* TASK_UNINTERRUPTIBLE | TASK_NOLOAD */
	TASK_RTLOCK_WAIT = 0x1000,
	TASK_FROZEN = 0x8000, /* 6.1 */
};

static __always_inline u32 switch_state(bool preempt, const struct task_struct *prev, u32 arg_state)
{
	u32 state = features.task_state_is_arg ? arg_state : READ(prev, __state);

	if (preempt)
		return TASK_REPORT_PREEMPTED;
	if (state & TASK_DEAD)
		return READ(prev, exit_state) & TASK_REPORT;
	if ((state & TASK_IDLE) == TASK_IDLE)
		return TASK_REPORT_IDLE;
	if (state & (TASK_RTLOCK_WAIT | TASK_FROZEN))
		return TASK_UNINTERRUPTIBLE;
	return state & TASK_REPORT;
}

/* task_cpu(): thread_info.cpu since 5.16 (bcf9033e5449), before that in task_struct. */
struct task_struct___before_5_16 {
	unsigned int cpu;
} __attribute__((preserve_access_index));

static __always_inline s32 task_cpu(const struct task_struct *task)
{
	const struct task_struct___before_5_16 *old = (const void *)task;

	if (bpf_core_field_exists(task->thread_info.cpu))
		return READ(task, thread_info.cpu);
	return READ(old, cpu);
}

/* This CPU. A program runs on that of its current task, and the task is at hand: before 6.10
 * bpf_get_smp_processor_id() is a call. */
static __always_inline u32 this_cpu(struct task_struct *current)
{
	struct task_struct___before_5_16 *old = (void *)current;
	u32 cpu;

	if (!bpf_core_field_exists(current->thread_info.cpu))
		return old->cpu;
	cpu = current->thread_info.cpu;
	barrier_var(cpu); /* the compiler would merge the two loads into one at a computed address */
	return cpu;
}

/* Only features.preempt_count says which one programs may read: a kernel that has one may lack it in its
 * table of symbols, and then refuses each program that names it. So if programs may read none, the daemon hides
 * both from libbpf: see src/kernel/programs/bpf_loader.cpp. */
extern const int __preempt_count __ksym __weak;
extern const struct pcpu_hot pcpu_hot __ksym __weak;

static __always_inline u32 preempt_count(u32 source)
{
	const struct pcpu_hot *hot;

	if (source != PREEMPT_COUNT_HOT)
		return *(const int *)bpf_this_cpu_ptr(&__preempt_count);
	hot = bpf_this_cpu_ptr(&pcpu_hot);
	return hot->preempt_count;
}

/* Of the count, in include/linux/preempt.h. */
enum {
	SOFTIRQ_OFFSET = 1 << 8,
	HARDIRQ_OFFSET = 1 << 16,
	NMI_OFFSET = 1 << 20,
	NMI_MASK = 15 << 20,
	/* The multiplier adds the count shifted left by 10, 3 and 0: bits 8, 16 and 20 become 18, 19 and 20. */
	CONTEXT_GATHER = 1 << 10 | 1 << 3 | 1,
	CONTEXT_GATHERED = 18,
};

/* enum record_context of this moment; only where features.preempt_count. An NMI counts as a hard interrupt too,
 * so in another one the lowest bit of their number is clear. */
static __always_inline u32 read_context(u32 source)
{
	u32 count = preempt_count(source), bits;

	if (source == PREEMPT_COUNT_WIDE)
		count = (count & SOFTIRQ_OFFSET) | (count >> 8 & (HARDIRQ_OFFSET | NMI_OFFSET));
	bits = (count & (SOFTIRQ_OFFSET | HARDIRQ_OFFSET | NMI_OFFSET)) * CONTEXT_GATHER;
	bits = (bits >> CONTEXT_GATHERED & 7) + 1;
	return bits - (bits >> 3); /* an NMI in a soft interrupt is one in a task */
}

/* Is this an NMI, or has it begun like one? */
static __always_inline bool in_nmi(void)
{
	u32 source = features.preempt_count;

	return source != PREEMPT_COUNT_UNKNOWN &&
	       preempt_count(source) & (source == PREEMPT_COUNT_WIDE ? NMI_OFFSET << 8 : NMI_MASK);
}

/* A global function: the verifier follows it once for each program, and not at each record. It knows nothing of
 * the result, so no result has a path of its own. Kernels before 6.8 verify it even if nothing calls it:
 * without the question here they would meet a variable that the daemon has hidden. */
__noinline int context_now(void)
{
	u32 source = features.preempt_count;

	return source != PREEMPT_COUNT_UNKNOWN ? read_context(source) : CONTEXT_UNKNOWN;
}

/* What record.size has for a record of this size that is made now. Call it before its place is reserved: a
 * reader may wait for what is done in between. `often`: without the call of a function, which is faster, and
 * more work for the verifier. */
static __always_inline u32 size_and_context(u32 size, bool often)
{
	u32 source = features.preempt_count;

	if (source == PREEMPT_COUNT_UNKNOWN)
		return size;
	return size + (often ? read_context(source) : (u32)context_now());
}

/* Keeps that in a record on the stack, until the header is set: the programs of catchers have no more room
 * there. */
static __always_inline void begin_record(struct record *r, u32 size, bool often)
{
	*(volatile u16 *)&r->size = size_and_context(size, often);
}

static __always_inline u32 size_of_begun(const struct record *r)
{
	return *(const volatile u16 *)&r->size;
}

/* Ancestors of a control group: pointers since 6.1 (7f203bc89eb6), ids before. */
struct cgroup___before_6_1 {
	u64 ancestor_ids[1];
} __attribute__((preserve_access_index));

/* A separate function, so that other kernels, which cannot resolve this relocation,
 * never reach it. */
static __noinline u64 old_cgroup_ancestor_id(struct cgroup___before_6_1 *cgroup, u32 level)
{
	void *ids = (void *)cgroup + bpf_core_field_offset(cgroup->ancestor_ids);
	u64 id = 0;

	bpf_probe_read_kernel(&id, sizeof(id), ids + level * sizeof(id));
	return id;
}

static __always_inline u64 cgroup_ancestor_id(struct cgroup *cgroup, u32 level)
{
	struct cgroup *ancestor = NULL;
	void *ancestors;

	if ((int)level > READ(cgroup, level))
		return 0;
	if (!bpf_core_field_exists(cgroup->ancestors))
		return old_cgroup_ancestor_id((void *)cgroup, level);
	ancestors = (void *)cgroup + bpf_core_field_offset(cgroup->ancestors);
	bpf_probe_read_kernel(&ancestor, sizeof(ancestor), ancestors + level * sizeof(ancestor));
	return READ(ancestor, kn, id);
}

/* The flags of a struct page have its node in all kernels whose memory map is virtually
 * contiguous, also in those of tail pages. The daemon has checked the first page of each
 * zone. */
static __always_inline node_t node_of_page(u64 page)
{
	u64 flags;

	if (features.page_nodes.source == NODE_ZERO)
		return 0;
	if (features.page_nodes.source == NODE_UNKNOWN ||
	    bpf_probe_read_kernel(&flags, sizeof(flags), (void *)page))
		return -1;
	return flags >> (features.page_nodes.flags_shift & 63);
}

/* The node of the memory at an address that a slab allocator returned. With several nodes
 * it is -1 for NULL and for what kmalloc(0) returns; the only node is always 0. */
static __always_inline node_t node_of_address(u64 address)
{
	u64 offset;

	if (features.page_nodes.source == NODE_ZERO)
		return 0;
	offset = address - features.page_nodes.page_offset;
	if (offset > address)
		return -1;
	return node_of_page(features.page_nodes.vmemmap + (offset >> 12) * features.page_nodes.page_struct);
}

struct alloc_sizes {
	u64 req, alloc, gfp;
};

/* Arguments of an allocation event; 6.0 alone passes a struct kmem_cache before them.
 * The barriers keep the compiler from merging the loads of the two branches into loads
 * at a computed context offset, which the verifier refuses. */
static __always_inline struct alloc_sizes alloc_sizes(const u64 *ctx)
{
	if (features.alloc_has_extra_cache) {
		struct alloc_sizes s = { ctx[3], ctx[4], ctx[5] };

		barrier_var(s.req);
		barrier_var(s.alloc);
		barrier_var(s.gfp);
		return s;
	}
	return (struct alloc_sizes){ ctx[2], ctx[3], ctx[4] };
}

#endif
