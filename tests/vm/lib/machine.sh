# SPDX-License-Identifier: BSD-2-Clause
# Sourced: a virtual machine that runs a list of tests and ends.
# shellcheck shell=bash

# Seconds after which a test is killed, and a machine without output is switched off.
test_limit=${KTRACED_VM_TEST_LIMIT:-240}
silence_limit=$((test_limit + 60))

qemu_options=(
	# One thread for both CPUs. The kernel patches its code whenever a tracepoint is enabled. With two
	# threads, one CPU executes code that the other has already patched back, and the kernel dies of
	# a stray int3. Features that QEMU cannot emulate are off. So is cmpxchg16b: an interrupt right
	# after it finds wrong flags, and the kernel dies too. (Both seen with QEMU 7.2.)
	-accel tcg,thread=single -cpu Haswell-noTSX-IBRS,-pcid,-x2apic,-tsc-deadline,-invpcid,-spec-ctrl,-cx16
	-smp "${KTRACED_VM_CPUS:-2}" -m "${KTRACED_VM_MEMORY:-2048}" -nographic -nodefaults -no-reboot
)
# A machine with two NUMA nodes: CPU 0 and half of the memory, CPU 1 and the other half.
node_memory=$((${KTRACED_VM_MEMORY:-2048} / 2))
# shellcheck disable=SC2034
two_nodes=(
	-object "memory-backend-ram,id=m0,size=${node_memory}M" -numa node,memdev=m0,cpus=0
	-object "memory-backend-ram,id=m1,size=${node_memory}M" -numa node,memdev=m1,cpus=1
)
# Settings of the machine's own, NAME=VALUE words for tests/vm/init.
settings=
# The large loads of tests are divided by this.
test_scale=${KTRACED_TEST_SCALE:-20}
# no_timer_check: on a busy host the emulated timer is late when the kernel tests it, and it panics.
kernel_options="console=ttyS0 quiet panic=-1 mitigations=off no_timer_check maxcpus=1 ${KTRACED_VM_OPTIONS:-}"

# initramfs_with KERNEL TESTS FILE: the packed system, the kernel's modules and the list of tests.
initramfs_with() {
	local directory
	directory=$(mktemp -d)
	mkdir "$directory/run"
	cp -r "$1/modules" "$directory/run"
	cp "$2" "$directory/run/tests"
	{
		cat "$system"
		(cd "$directory" && find run | cpio --quiet -o -H newc -R 0:0 | gzip -1)
	} >"$3"
	rm -r "$directory"
}

# boot VMLINUZ INITRAMFS WORDS QEMU-OPTION…: execs QEMU; call it in a subshell.
boot() {
	local vmlinuz=$1 initramfs=$2 words=$3
	shift 3
	exec qemu-system-x86_64 "${qemu_options[@]}" -kernel "$vmlinuz" -initrd "$initramfs" \
		-append "$kernel_options KTRACED_BUILD=$build KTRACED_LIMIT=$test_limit $words" "$@"
}

# watch PID FILE: returns when the process has ended, or the file has not grown for too long.
watch() {
	local pid=$1 file=$2 size=-1 now quiet=0
	while kill -0 "$pid" 2>/dev/null; do
		sleep 1
		now=$(stat -c %s "$file" 2>/dev/null || echo 0)
		quiet=$((now == size ? quiet + 1 : 0))
		size=$now
		if [ "$quiet" -ge "$silence_limit" ]; then
			echo "the machine was silent for $quiet s and was switched off" >&2
			return
		fi
	done
}

# run_machine DIRECTORY OPTION…: boots its kernel/vmlinuz, runs its tests, and leaves there the
# machine's report (results) and its console. Call it in a subshell. The options are QEMU's.
run_machine() {
	local directory=$1 options=("${@:2}") machine
	initramfs_with "$directory/kernel" "$directory/tests" "$directory/initramfs"
	: >"$directory/results"
	(boot "$directory/kernel/vmlinuz" "$directory/initramfs" "KTRACED_TEST_SCALE=$test_scale $settings" \
		"${options[@]}" -serial "file:$directory/console" -serial "file:$directory/results" </dev/null) &
	machine=$!
	# The machine ends with this subshell.
	# shellcheck disable=SC2064
	trap "kill $machine 2>/dev/null || true" EXIT
	trap 'exit 143' TERM
	watch "$machine" "$directory/results"
	kill "$machine" 2>/dev/null || true
	wait "$machine" 2>/dev/null || true
	rm "$directory/initramfs"
}
