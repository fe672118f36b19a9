# Sourced: compares what a kernel's verifier had to do with the committed tables, so that
# growth is seen in review. A line of a table: PROGRAM INSTRUCTIONS STATES.
# shellcheck shell=bash

verifier_tables=$repository/tests/vm/verifier
verifier_test=Verifier.WorkIsWithinATenthOfItsTable

# The compiler of the BPF programs: other instructions, other work.
bpf_compiler() {
	"$(sed -n 's/^BPF_CLANG:FILEPATH=//p' "$build/CMakeCache.txt")" --version |
		sed -n 's/.*\(clang\) version \([0-9]*\).*/# \1 \2/p'
}

# series_of RELEASE: 6.12 for 6.12.107+deb13-cloud-amd64.
series_of() { sed 's/^\([0-9]*\.[0-9]*\).*/\1/' <<<"$1"; }

# update_table SERIES STATISTICS
update_table() {
	mkdir -p "$verifier_tables"
	{ bpf_compiler && cat "$2"; } >"$verifier_tables/$1.txt"
	echo "wrote tests/vm/verifier/$1.txt"
}

# compare_table TABLE STATISTICS: false, and why, if anything grew by more than a tenth or is
# missing.
compare_table() {
	awk -v table="$1" '
		function grew(what, before, now) {
			if (now * 10 > before * 11) {
				printf "%s: %d %s, %d in %s\n", $1, now, what, before, table
				bad = 1
			}
		}
		/^#/ { next }
		FNR == NR { instructions[$1] = $2; states[$1] = $3; next }
		{
			seen[$1] = 1
			if (!($1 in instructions)) {
				printf "%s: not in %s\n", $1, table
				bad = 1
				next
			}
			grew("instructions processed", instructions[$1], $2)
			grew("states kept", states[$1], $3)
		}
		END {
			for (program in instructions)
				if (!(program in seen)) {
					printf "%s: in %s, but not loaded\n", program, table
					bad = 1
				}
			exit bad
		}' "$1" "$2"
}

# check_verifier RELEASE STATISTICS: false, with the reasons, if the table is exceeded. Where
# there is nothing to compare with, that is said.
check_verifier() {
	local series table
	series=$(series_of "$1")
	table=$verifier_tables/$series.txt
	if [ ! -s "$table" ]; then
		notice "no table of the verifier's work on Linux $series; make one: tests/vm/run --update-verifier $series"
	elif [ "$(head -n 1 "$table")" != "$(bpf_compiler)" ]; then
		notice "the verifier's work is not compared: programs of $(bpf_compiler), table of $(head -n 1 "$table")"
	else
		compare_table "$table" "$2" && return
		echo "if that has to be: tests/vm/run --update-verifier $series"
		return 1
	fi
}
