/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The kernel's own types, cut down to the members used here.
 *
 * preserve_access_index makes every access a CO-RE relocation, resolved against the
 * running kernel's BTF when the programs are loaded. The order and offsets below have
 * no meaning. kernel_compat.h handles members that some kernels lack.
 */
#ifndef KTRACED_BPF_KERNEL_H
#define KTRACED_BPF_KERNEL_H

#include <linux/bpf.h>
#include <stdbool.h>
#include "types.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

#ifndef __TARGET_ARCH_x86
#error "system call arguments are read from x86-64 registers; other architectures need their own pt_regs here"
#endif

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct kuid {
	u32 val;
};

struct cred {
	struct kuid uid;
};

struct kernfs_node {
	u64 id;
};

struct cgroup_root {
	int hierarchy_id; /* 0: the hierarchy of cgroup v2 */
};

struct cgroup {
	struct cgroup_root *root;
	int level;
	struct kernfs_node *kn;
	struct cgroup *ancestors[];
};

struct css_set {
	struct cgroup *dfl_cgrp;
};

struct atomic {
	int counter;
};

/* Members of the nodes of a maple tree, which has the mappings of a process. */
struct maple_range_64 {
	unsigned long pivot[15];
	void *slot[16];
};

struct maple_arange_64 {
	unsigned long pivot[9];
	void *slot[10];
};

struct maple_tree {
	void *ma_root;
};

typedef struct {
	void *vdso;
} mm_context_t;

struct mm_struct {
	struct maple_tree mm_mt;
	mm_context_t context;
	unsigned long exec_vm;                /* pages of executable mappings */
	unsigned long mmap_base, start_stack; /* where the kernel has placed them at random */
	unsigned long arg_start, arg_end;
};

struct signal_struct {
	struct atomic live;
	unsigned int flags;
	int group_exit_code;
	short oom_score_adj;
};

struct thread_info {
	u32 status;
	u32 cpu;
};

struct super_block {
	u32 s_dev;
};

struct inode {
	unsigned long i_ino;
	struct super_block *i_sb;
};

struct qstr {
	u32 len;
	const unsigned char *name;
};

struct hlist_bl_node {
	void *pprev;
};

struct dentry {
	struct hlist_bl_node d_hash;
	struct dentry *d_parent;
	struct qstr d_name;
};

struct vfsmount {
	struct dentry *mnt_root;
};

struct mount {
	struct mount *mnt_parent;
	struct dentry *mnt_mountpoint;
	struct vfsmount mnt;
};

struct path {
	struct vfsmount *mnt;
	struct dentry *dentry;
};

struct fs_struct {
	struct path root;
};

struct file {
	void *private_data;
	struct inode *f_inode;
	struct path f_path;
};

struct vm_area_struct {
	unsigned long vm_start, vm_end;
	struct mm_struct *vm_mm;
	unsigned long vm_flags;
	unsigned long vm_pgoff;
	struct file *vm_file;
};

struct fdtable {
	struct file **fd;
};

struct files_struct {
	struct fdtable *fdt;
};

struct bpf_prog {
	int *active; /* per CPU */
};

struct bpf_array {
	u32 elem_size;
	void *pptrs[];
};

struct refcount_struct {
	struct atomic refs;
};

struct task_struct {
	struct thread_info thread_info;
	unsigned int __state;
	int exit_state;
	int exit_code;
	int pid;
	int tgid;
	int prio;
	u64 start_boottime;
	struct task_struct *group_leader;
	struct cred *cred;
	char comm[16];
	struct task_struct *real_parent;
	struct mm_struct *mm;
	struct css_set *cgroups;
	struct signal_struct *signal;
	struct files_struct *files;
	unsigned int flags;
	struct fs_struct *fs;
	u64 self_exec_id; /* programs that it and its ancestors have executed */
	unsigned int in_execve : 1;
};

struct linux_binprm {
	const char *filename;
};

struct kmem_cache {
	unsigned int size;
	unsigned int object_size;
	const char *name;
};

struct kernel_siginfo {
	int si_signo;
	int si_errno;
	int si_code;
};

struct sigaction {
	void *sa_handler;
	unsigned long sa_flags;
};

struct k_sigaction {
	struct sigaction sa;
};

struct pcpu_hot {
	int preempt_count;
};

struct pt_regs {
	unsigned long r15, r14, r13, r12, bp, bx;
	unsigned long r11, r10, r9, r8, ax, cx, dx, si, di;
	unsigned long orig_ax, ip, cs, flags, sp, ss;
};

#pragma clang attribute pop

/* bpf_get_current_task_btf() with the local type of struct task_struct. */
static __always_inline struct task_struct *current_task(void)
{
	return (struct task_struct *)bpf_get_current_task_btf();
}

#endif
