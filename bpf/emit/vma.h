/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which file a process has mapped at an address. The kernel's table of mappings is a maple tree, which is read
 * here without its lock: bpf_find_vma() fails while any thread of the process changes its mappings, and where
 * interrupts are off, as in sched_switch, it works once and takes an interrupt to unlock. What is read while
 * the tree changes can be wrong, so it counts only if the mapping found is of this process and has the address.
 *
 * All functions are global: the verifier follows their loops once. They use the scratch memory of their caller,
 * which belongs to one program at a time.
 */
#ifndef KTRACED_BPF_EMIT_VMA_H
#define KTRACED_BPF_EMIT_VMA_H

#include "../kernel_compat.h"
#include "stack_buffer.h"

enum {
	MAPPINGS_MAX = 16,       /* power of two: of one stack */
	MAPPING_LOOKUPS = 24,    /* for one stack: many addresses can be of no mapping */
	MAPPING_TREE_LEVELS = 8, /* a tree of all mappings that a process may have has 6 */
	MAPPING_PIVOTS = 15,     /* of a node with the most of them; there is one slot more */
	FILE_PATH_NAMES = 32,    /* names of a path that are kept, the last ones */
	FILE_PATH_STEPS = 48,    /* names and mount points of a path */
	FILE_NAME_MAX = 256,     /* of one name, with the NUL */
	PAGE_SHIFT = 12,
	VM_EXEC = 0x4,
};

/* A path that is followed from a file up to the root of the process. */
struct path_walk {
	u64 dentry, mnt;            /* addresses: where it is now */
	u64 root, root_mnt;         /* where it ends */
	u32 count, length;          /* names so far, and their bytes with the '/' before each */
	u32 ended, truncated;       /* flags; truncated: there are more names than are kept */
	u64 names[FILE_PATH_NAMES]; /* addresses of struct dentry, the last name first */
};

/* The mappings of a stack. */
struct mapping_scratch {
	/* Those that were found. The member `file` is the address of a struct file, or enum mapping_of. */
	struct rec_mapping mappings[MAPPINGS_MAX];
	u32 count;
	u32 lookups;
	u64 pivots[MAPPING_PIVOTS + 1]; /* of a node */
	struct path_walk walk;
};

/* ---- the mapping at an address ---- */

enum maple_type { maple_dense, maple_leaf_64, maple_range_64, maple_arange_64 };

enum {
	MAPLE_NODE_MASK = 255, /* bits of the address of a node that say what it is */
	MAPLE_TYPE_SHIFT = 3,
	MAPLE_TYPE_MASK = 15,
	MAPLE_ROOT_BITS = 3, /* of the root: the lowest bits are MAPLE_ROOT_NODE if it is a node */
	MAPLE_ROOT_NODE = 2,
};

/* The address of the slot of a node that has `address`. A node has a value for each slot, the last one in it;
 * that of its last slot may be 0. */
static __always_inline u64 maple_slot(struct mapping_scratch *scratch, u64 node, u32 type, u64 address)
{
	struct maple_range_64 *range = (void *)node;
	struct maple_arange_64 *arange = (void *)node;
	bool is_range = type != maple_arange_64;
	u32 pivots = is_range ? 15 : 9, i;

	if (is_range ? bpf_core_read(scratch->pivots, 15 * sizeof(u64), &range->pivot)
		     : bpf_core_read(scratch->pivots, 9 * sizeof(u64), &arange->pivot))
		return 0;
	for (i = 0; i < MAPPING_PIVOTS && i < pivots; i++) {
		u64 last = scratch->pivots[i];

		if (last >= address || (i && !last))
			break;
	}
	return (is_range ? (u64)&range->slot : (u64)&arange->slot) + i * sizeof(u64);
}

/* The address of the struct vm_area_struct of the current process at an address; 0: there is none. */
__noinline u64 vma_at(struct mapping_scratch *scratch, u64 address)
{
	struct mm_struct *mm = READ(current_task(), mm);
	u64 entry, slot;

	/* 6.1 (763ecb035029 "mm: remove the vma linked list"). Kernels before 6.8 verify this function even if
	 * nothing calls it. */
	if (!bpf_core_field_exists(mm->mm_mt))
		return 0;
	if (!scratch || !mm)
		return 0;
	entry = (u64)READ(mm, mm_mt.ma_root);
	if ((entry & MAPLE_ROOT_BITS) != MAPLE_ROOT_NODE)
		return 0;
	for (u32 level = 0; level < MAPPING_TREE_LEVELS; level++) {
		u32 type = entry >> MAPLE_TYPE_SHIFT & MAPLE_TYPE_MASK;

		slot = maple_slot(scratch, entry & ~(u64)MAPLE_NODE_MASK, type, address);
		if (!slot || bpf_probe_read_kernel(&entry, sizeof(entry), (void *)slot) || !entry)
			return 0;
		if (type < maple_range_64)
			return entry & MAPLE_ROOT_BITS ? 0 : entry; /* a leaf: else it is a reserved entry */
	}
	return 0;
}

/* Is the address in a mapping that was found? */
__noinline u32 is_found(struct mapping_scratch *scratch, u64 address)
{
	if (!scratch)
		return 0;
	for (u32 i = 0; i < MAPPINGS_MAX && i < scratch->count; i++) {
		const struct rec_mapping *r = &scratch->mappings[i];

		if (address >= r->start && address < r->end)
			return 1;
	}
	return 0;
}

/* Adds the executable mapping at an address to those that were found, if there is one. */
__noinline u32 find_mapping(struct mapping_scratch *scratch, u64 address)
{
	struct task_struct *current = current_task();
	struct vm_area_struct *vma;
	struct rec_mapping *r;

	if (!scratch || scratch->lookups >= MAPPING_LOOKUPS || scratch->count >= MAPPINGS_MAX)
		return 0;
	scratch->lookups++;
	vma = (struct vm_area_struct *)vma_at(scratch, address);
	if (!vma || !(READ(vma, vm_flags) & VM_EXEC))
		return 0;
	r = &scratch->mappings[scratch->count & (MAPPINGS_MAX - 1)];
	r->offset = READ(vma, vm_pgoff) << PAGE_SHIFT;
	*(struct file **)&r->file = READ(vma, vm_file);
	r->start = READ(vma, vm_start);
	r->end = READ(vma, vm_end);
	if (READ(vma, vm_mm) != READ(current, mm) || address < r->start || address >= r->end)
		return 0;
	r->process_start = READ(current, group_leader, start_boottime);
	r->tgid = current->tgid;
	r->image = current->self_exec_id;
	if (!r->file) {
		r->offset = 0;
		if (r->start == (u64)READ(current, mm, context.vdso))
			r->file = MAPPING_VDSO;
	}
	scratch->count++;
	return 1;
}

/* ---- the file of a mapping ---- */

/* ctime: of other types in 6.6 (13bc24457850) and in 6.11 (3aa63a569c64). */
struct timespec64 {
	s64 tv_sec;
	long tv_nsec;
} __attribute__((preserve_access_index));

struct inode___before_6_6 {
	struct timespec64 i_ctime;
} __attribute__((preserve_access_index));

struct inode___before_6_11 {
	struct timespec64 __i_ctime;
} __attribute__((preserve_access_index));

struct inode___since_6_11 {
	s64 i_ctime_sec;
	u32 i_ctime_nsec; /* its highest bit is a note of the file system */
} __attribute__((preserve_access_index));

static __always_inline u64 changed_ns(struct inode *inode)
{
	struct inode___before_6_6 *oldest = (void *)inode;
	struct inode___before_6_11 *older = (void *)inode;
	struct inode___since_6_11 *recent = (void *)inode;

	if (bpf_core_field_exists(recent->i_ctime_sec))
		return READ(recent, i_ctime_sec) * 1000000000ull + (READ(recent, i_ctime_nsec) & 0x7fffffff);
	if (bpf_core_field_exists(older->__i_ctime))
		return READ(older, __i_ctime.tv_sec) * 1000000000ull + READ(older, __i_ctime.tv_nsec);
	return READ(oldest, i_ctime.tv_sec) * 1000000000ull + READ(oldest, i_ctime.tv_nsec);
}

/* Fills the record of a file but for its header, number and path. */
static __always_inline void read_file(struct rec_file *r, struct file *file)
{
	struct inode *inode = READ(file, f_inode);

	r->inode = READ(inode, i_ino);
	r->device = READ(inode, i_sb, s_dev);
	r->changed = changed_ns(inode);
}

/* Follows a path by one name, or from the root of a mount to where that is mounted. A mount that is nowhere, as
 * the one of a memfd or of a layer of an overlay, ends the path too. */
__noinline u32 step_path(struct mapping_scratch *scratch)
{
	struct path_walk *walk;
	struct dentry *dentry;
	struct vfsmount *mnt;
	struct mount *mount;
	u32 length;

	if (!scratch)
		return 0;
	walk = &scratch->walk;
	dentry = (struct dentry *)walk->dentry;
	mnt = (struct vfsmount *)walk->mnt;
	walk->ended = 1;
	if (!dentry || (walk->dentry == walk->root && walk->mnt == walk->root_mnt))
		return 0;
	if (dentry == READ(mnt, mnt_root)) {
		u64 above, offset = bpf_core_field_offset(struct mount, mnt);

		mount = (struct mount *)(walk->mnt - offset);
		*(struct mount **)&walk->mnt = READ(mount, mnt_parent);
		above = walk->mnt;
		*(struct dentry **)&walk->dentry = READ(mount, mnt_mountpoint);
		walk->mnt = above + offset;
		walk->ended = !above || above == (u64)mount;
		return 0;
	}
	length = walk->length + 1 + READ(dentry, d_name.len);
	if (walk->count >= FILE_PATH_NAMES || length >= FILE_PATH_MAX) {
		walk->truncated = 1;
		return 0;
	}
	walk->length = length;
	walk->names[walk->count++ & (FILE_PATH_NAMES - 1)] = walk->dentry;
	*(struct dentry **)&walk->dentry = READ(dentry, d_parent);
	walk->ended = walk->dentry == (u64)dentry;
	return 0;
}

static __always_inline void follow_path(struct mapping_scratch *scratch, struct file *file)
{
	struct task_struct *current = current_task();
	struct path_walk *walk = &scratch->walk;

	*(struct dentry **)&walk->dentry = READ(file, f_path.dentry);
	*(struct vfsmount **)&walk->mnt = READ(file, f_path.mnt);
	*(struct dentry **)&walk->root = READ(current, fs, root.dentry);
	*(struct vfsmount **)&walk->root_mnt = READ(current, fs, root.mnt);
	walk->count = walk->length = walk->ended = walk->truncated = 0;
	for (u32 i = 0; i < FILE_PATH_STEPS && !walk->ended; i++)
		step_path(scratch);
	walk->truncated |= !walk->ended;
}

_Static_assert(sizeof(struct rec_file) + FILE_PATH_MAX + FILE_NAME_MAX <= RECORD_MAX,
	       "for the verifier, a name fits at any offset in the path");

/* Writes the path of a file behind its record, with the flags, and returns the size of that: a multiple of 8. A
 * name that becomes longer meanwhile is cut, and those after it are. */
__noinline u32 write_path(struct mapping_scratch *scratch, union stack_buffer *buffer, u64 file)
{
	const u32 last = sizeof(struct rec_file) + FILE_PATH_MAX - 1;
	u32 end = sizeof(struct rec_file), flags;
	struct dentry *dentry;

	if (!scratch || !buffer)
		return 0;
	follow_path(scratch, (struct file *)file);
	dentry = READ((struct file *)file, f_path.dentry);
	flags = READ(dentry, d_hash.pprev) ? 0 : FILE_DELETED;
	if (scratch->walk.truncated)
		flags |= FILE_CUT;
	buffer->file.flags = flags;
	for (u32 i = 0; i < FILE_PATH_NAMES; i++) {
		u32 at = scratch->walk.count - 1 - i;
		long length;

		if (at >= FILE_PATH_NAMES || end >= last)
			break;
		dentry = (struct dentry *)scratch->walk.names[at];
		if (i || !(flags & FILE_CUT))
			buffer->bytes[end++] = '/';
		length = bpf_probe_read_kernel_str(buffer->bytes + end, FILE_NAME_MAX,
						   READ(dentry, d_name.name));
		if (length <= 0 || length > FILE_NAME_MAX)
			break;
		end += length - 1;
	}
	if (end > last)
		end = last;
	__builtin_memset(buffer->bytes + end, 0, sizeof(u64)); /* the NUL, and up to a multiple of 8 */
	return (end + 8) & ~7U;
}

#endif
