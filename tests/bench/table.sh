# SPDX-License-Identifier: BSD-2-Clause
# Sourced: the figures of machines as tables. A line of a measurement or of a committed
# table: WORK TRACING INSTRUCTIONS.
# shellcheck shell=bash

cost_tables=$repository/tests/bench/icount.d

# print_costs: prints the measurement on standard input as a table. It has the instructions of one
# untraced turn, and what each kind of tracing adds, also as a ratio to what the kernel's own trace adds.
print_costs() {
	awk '
		{ cost[$1, $2] = $3 }
		!($1 in known) { known[$1] = 1; works[++work_count] = $1 }
		!($2 in kinds) { kinds[$2] = 1; order[++kind_count] = $2 }
		END {
			printf "%-14s", ""
			for (w = 1; w <= work_count; ++w) printf "%18s", works[w]
			print ""
			for (k = 1; k <= kind_count; ++k) {
				printf "%-14s", order[k]
				for (w = 1; w <= work_count; ++w) {
					if (!((works[w], order[k]) in cost)) {
						printf "%18s", ""
						continue
					}
					untraced = cost[works[w], "nothing"]
					added = cost[works[w], order[k]] - untraced
					if (order[k] == "nothing") printf "%11d       ", untraced
					else printf "%+11d %6.2f", added, added / (cost[works[w], "ftrace"] - untraced)
				}
				print ""
			}
		}'
}

# write_costs SERIES RELEASE COSTS
write_costs() {
	mkdir -p "$cost_tables"
	{ bpf_compiler && echo "# Linux $2" && cat "$3"; } >"$cost_tables/$1.txt"
	echo "wrote tests/bench/icount.d/$1.txt"
}

# grown_costs TABLE COSTS: prints a line for each kind of tracing that adds over 5 % more than in
# the table; false if there is one.
grown_costs() {
	awk '
		/^#/ { next }
		FNR == NR { table[$1, $2] = $3; next }
		{ cost[$1, $2] = $3 }
		END {
			for (key in table) {
				split(key, of, SUBSEP)
				if (of[2] == "nothing" || of[2] == "empty" || of[2] == "ftrace") continue
				if (!(key in cost)) {
					printf "%s %s was not measured\n", of[1], of[2]
					bad = 1
					continue
				}
				before = table[key] - table[of[1], "nothing"]
				now = cost[key] - cost[of[1], "nothing"]
				if (now > before * 1.05 + 5) {
					printf "%s %s adds %d instructions now, %d in the table\n", of[1], of[2], now, before
					bad = 1
				}
			}
			exit bad
		}' "$1" "$2"
}

# compare_costs SERIES COSTS: false, with the reasons, if anything has grown.
compare_costs() {
	compare_with_table "what tracing costs" "$cost_tables/$1.txt" "$2" grown_costs \
		"tests/bench/icount --update $1"
}
