# SPDX-License-Identifier: BSD-2-Clause
# Sourced: committed tables of figures that each kernel series has its own of, so that growth is
# seen in review. Their first line names the compiler of the BPF programs they are of.
# shellcheck shell=bash

# The compiler of the BPF programs: other instructions, other figures.
bpf_compiler() {
	"$(sed -n 's/^BPF_CLANG:FILEPATH=//p' "$build/CMakeCache.txt")" --version |
		sed -n 's/.*\(clang\) version \([0-9]*\).*/# \1 \2/p'
}

# series_of RELEASE: 6.12 for 6.12.107+deb13-cloud-amd64.
series_of() { sed 's/^\([0-9]*\.[0-9]*\).*/\1/' <<<"$1"; }

# compare_with_table WHAT TABLE FIGURES COMPARE UPDATE: false if `COMPARE TABLE FIGURES`, which
# prints the reasons, says that the table is exceeded; the command UPDATE writes it anew. Where there
# is nothing to compare with, that is said.
compare_with_table() {
	local what=$1 table=$2 figures=$3 compare=$4 update=$5
	if [ ! -s "$table" ]; then
		notice "no table ${table#"$repository/"} of $what; make one: $update"
	elif [ "$(head -n 1 "$table")" != "$(bpf_compiler)" ]; then
		notice "$what: not compared, for programs of $(bpf_compiler) with a table of $(head -n 1 "$table")"
	else
		"$compare" "$table" "$figures" && return
		echo "if that has to be: $update"
		return 1
	fi
}
