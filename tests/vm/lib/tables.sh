# SPDX-License-Identifier: BSD-2-Clause
# Sourced: committed tables of figures, one for each kernel series, so that growth is seen in
# review. Their first line names the compiler of the measured BPF programs.
# shellcheck shell=bash

# The compiler of the BPF programs: another one emits other instructions, with other figures.
bpf_compiler() {
	"$(sed -n 's/^BPF_CLANG:FILEPATH=//p' "$build/CMakeCache.txt")" --version |
		sed -n 's/.*\(clang\) version \([0-9]*\).*/# \1 \2/p'
}

# series_of RELEASE: 6.12 for 6.12.107+deb13-cloud-amd64.
series_of() { sed 's/^\([0-9]*\.[0-9]*\).*/\1/' <<<"$1"; }

# compare_with_table WHAT TABLE FIGURES COMPARE UPDATE: runs `COMPARE TABLE FIGURES`. That prints
# the reasons and fails if the table is exceeded; then this fails too. The command UPDATE writes
# the table again. Without a table of this compiler it prints a notice.
compare_with_table() {
	local what=$1 table=$2 figures=$3 compare=$4 update=$5
	if [ ! -s "$table" ]; then
		notice "no table ${table#"$repository/"} of $what; make one: $update"
	elif [ "$(head -n 1 "$table")" != "$(bpf_compiler)" ]; then
		notice "$what: not compared: the programs are of $(bpf_compiler), the table of $(head -n 1 "$table")"
	else
		"$compare" "$table" "$figures" && return
		echo "if the growth is justified: $update"
		return 1
	fi
}
