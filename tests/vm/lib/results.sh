# SPDX-License-Identifier: BSD-2-Clause
# Sourced: a machine's results as a JUnit report and as a summary.
# shellcheck shell=bash

# judge TESTS RESULTS: a line for each test: its name, "ok", "failed" or "missing", seconds. A
# test that did not end has failed; one that never began is missing, and counts as failed.
judge() {
	awk '
		{ sub(/\r$/, "") }
		FNR == NR { order[++count] = $0; next }
		$1 == "begin" && NF == 2 { state[$2] = "failed"; seconds[$2] = 0 }
		$1 == "end" && NF == 4 { state[$2] = $3 == 0 ? "ok" : "failed"; seconds[$2] = $4 }
		END {
			for (i = 1; i <= count; ++i)
				print order[i], order[i] in state ? state[order[i]] : "missing", seconds[order[i]] + 0
		}' "$1" "$2"
}

# output_of TEST RESULTS: prints the output of a test.
output_of() {
	awk -v test="$1" '
		{ sub(/\r$/, "") }
		$1 == "end" && $2 == test { inside = 0 }
		inside { print }
		$1 == "begin" && $2 == test { inside = 1 }' "$2"
}

# The test that ran when the machine died; nothing if the machine ended normally.
last_test() {
	awk '{ sub(/\r$/, "") }
		$1 == "begin" && NF == 2 { last = $2 }
		$1 == "end" && NF == 4 { last = "" }
		END { print last }' "$1"
}

# Text made safe for XML.
escaped() {
	tr -d '\000-\010\013-\037' | sed 's/&/\&amp;/g; s/</\&lt;/g; s/>/\&gt;/g; s/"/\&quot;/g'
}

# junit WHAT JUDGED RESULTS: the report.
junit() {
	local what=$1 judged=$2 results=$3 test state seconds
	printf '<?xml version="1.0" encoding="UTF-8"?>\n<testsuite name="%s" tests="%d" failures="%d" disabled="0" skipped="0">\n' \
		"$what" "$(wc -l <"$judged")" "$(grep -vc ' ok ' "$judged" || true)"
	while read -r test state seconds; do
		printf '<testcase name="%s" classname="%s" time="%s">' "$test" "$what" "$seconds"
		[ "$state" = ok ] || printf '<failure>%s</failure>' "$(output_of "$test" "$results" | escaped)"
		printf '</testcase>\n'
	done <"$judged"
	printf '</testsuite>\n'
}
