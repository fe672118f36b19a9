# SPDX-License-Identifier: BSD-2-Clause
# Sourced: compares the work of a kernel's verifier with the committed tables, so that
# growth is seen in review. A line of a table: PROGRAM INSTRUCTIONS STATES.
# shellcheck shell=bash

verifier_tables=$repository/tests/vm/verifier
verifier_test=Verifier.WorkIsWithinATenthOfItsTable

# update_table SERIES STATISTICS: false, without a change, if a program was refused.
update_table() {
	if grep -vE '^[a-z0-9_]+ [0-9]+ [0-9]+$' "$2"; then
		echo "tests/vm/verifier/$1.txt stays as it was"
		return 1
	fi
	mkdir -p "$verifier_tables"
	{ bpf_compiler && cat "$2"; } >"$verifier_tables/$1.txt"
	echo "wrote tests/vm/verifier/$1.txt"
}

# Of all programs of a kernel together: a start of the daemon waits for the verifier. Those for stacks are
# loaded one by one, when a session asks for them.
verifier_most_instructions=600000

# compare_table TABLE STATISTICS: prints the reasons and fails if anything grew by more than
# 10 % or is missing, or if all together is too much. The program of a new event is held to the largest one of an event in the
# table, with or without stacks as it is, until the table is updated.
compare_table() {
	awk -v table="$1" -v most="$verifier_most_instructions" '
		function grew(what, before, now) {
			if (now * 10 > before * 11) {
				printf "%s: %d %s, %d in %s\n", $1, now, what, before, table
				bad = 1
			}
		}
		/^#/ { next }
		{ stacked = $1 ~ /^stacked_/ }
		FNR == NR {
			instructions[$1] = $2
			states[$1] = $3
			if ($1 !~ /^probe_|^tracepoint_event$/) {
				if ($2 > most_instructions[stacked]) most_instructions[stacked] = $2
				if ($3 > most_states[stacked]) most_states[stacked] = $3
			}
			next
		}
		{
			seen[$1] = 1
			if (!stacked) together += $2
			new = !($1 in instructions)
			if (new && !(stacked in most_instructions)) next
			grew("instructions processed", new ? most_instructions[stacked] : instructions[$1], $2)
			grew("states kept", new ? most_states[stacked] : states[$1], $3)
		}
		END {
			if (together > most) {
				printf "all programs: %d instructions processed, at most %d allowed\n", together, most
				bad = 1
			}
			for (program in instructions)
				if (!(program in seen)) {
					printf "%s: in %s, but not loaded\n", program, table
					bad = 1
				}
			exit bad
		}' "$1" "$2"
}

# check_verifier RELEASE STATISTICS: false, with the reasons, if the table is exceeded.
check_verifier() {
	local series
	series=$(series_of "$1")
	compare_with_table "the verifier's work" "$verifier_tables/$series.txt" "$2" compare_table \
		"tests/vm/run --update-verifier $series"
}
