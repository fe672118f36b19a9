# SPDX-License-Identifier: BSD-2-Clause
# Sourced: mounts the file systems that tracing needs, if they are missing. unmount_all unmounts
# them again; call it from the EXIT trap.
# shellcheck shell=bash

mounted_here=()

# own_mounts ARGUMENT…: begins the script again, with these arguments, in a mount namespace of its own: what it mounts is seen by no
# other script, and ends with it. In a chroot the root directory is not a mount whose propagation can be changed.
own_mounts() {
	local propagation=private
	[ -z "${KTRACED_OWN_MOUNTS:-}" ] || return 0
	unshare --mount --propagation "$propagation" true 2>/dev/null || propagation=unchanged
	KTRACED_OWN_MOUNTS=yes exec unshare --mount --propagation "$propagation" "$0" "$@"
}

# mount_missing TYPE DIRECTORY: mounts it, unless a file system of TYPE is there already.
mount_missing() {
	local type=$1 directory=$2
	case "$(stat -f -c %T "$directory" 2>/dev/null)" in "$type" | "${type}_fs" | "${type}fs") return ;; esac
	[ -d "$directory" ] || die "no directory $directory to mount $type on; mount /sys first"
	mount -t "$type" "$type" "$directory" || die "cannot mount $type on $directory"
	mounted_here+=("$directory")
}

# The kernel's own: bpf file system, tracefs, and control groups v2 if they are not mounted.
mount_kernel_file_systems() {
	[ -r /proc/self/mountinfo ] || die "needs /proc; run: mount -t proc proc /proc"
	[ -d /sys/kernel ] || die "needs /sys; run: mount -t sysfs sysfs /sys"
	mount_missing bpf /sys/fs/bpf
	mount_missing tracefs /sys/kernel/tracing
	grep -q ' - cgroup2 ' /proc/self/mountinfo || mount_missing cgroup2 /sys/fs/cgroup
}

unmount_all() {
	local i
	for ((i = ${#mounted_here[@]} - 1; i >= 0; i--)); do
		umount "${mounted_here[i]}"
	done
	mounted_here=()
}
