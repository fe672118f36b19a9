# SPDX-License-Identifier: BSD-2-Clause
# Sourced: suites of tests and scripts that are tests, and the sums over all of them. Expects $results, an empty directory, and
# common.sh.
# shellcheck shell=bash

minutes=45 # the limit of a suite or of a script; each test has its own
passed=0
failed=0
unstable=0
run_with=() # the words before ctest

# begin WHAT: prints a heading with the time since the start.
begin() { say "$* (after $((SECONDS / 60)) min $((SECONDS % 60)) s)"; }

# count GOOD BAD: adds them to the counts.
count() {
	passed=$((passed + $1))
	failed=$((failed + $2))
}

# part NAME COMMAND…: runs a part of the proof, and adds its line to the table.
part() {
	local name=$1 begun=$SECONDS good=$passed bad=$failed chance=$unstable
	shift
	begin "$name"
	"$@"
	printf '%s\t%d\t%d\t%d\t%d\n' "$name" $((passed - good)) $((failed - bad)) $((unstable - chance)) $((SECONDS - begun)) \
		>>"$results/table"
}

# limited COMMAND…: ends it after $minutes.
limited() {
	local options=(--kill-after=30)
	[ ! -t 0 ] || options+=(--foreground) # for Ctrl-C
	timeout "${options[@]}" $((minutes * 60)) "$@"
}

# ---- suites of tests, which write reports ----

# settle WHAT REPORT FORM COMMAND…: counts the tests of REPORT.xml. COMMAND runs those again that have failed, without others
# beside them, to the report that is its last word but one; its last word is a FORM of scripts/lib/results.py.
settle() {
	local what=$1 report=$2 form=$3 tests turn good bad
	shift 3
	tests=$(python3 scripts/lib/results.py failed "$form" "$report.xml")
	for turn in ${tests:+1 2}; do
		begin "Again, alone ($turn of 2): what failed of the $what"
		"$@" "$report-$turn.xml" "$tests" || true
	done
	read -r good bad < <(python3 scripts/lib/results.py count "$report.xml" "$what" "$results/failures" "$results/unstable" \
		${tests:+"$report-1.xml" "$report-2.xml"})
	count "$good" "$bad"
	unstable=$(python3 scripts/lib/results.py names "$results/unstable" | wc -l)
	echo "$what: $good passed, $bad failed"
}

run_ctest() { # BUILD_DIRECTORY CTEST_OPTION…
	limited "${run_with[@]}" ctest --test-dir "$1" --output-on-failure --no-tests=ignore "${@:2}"
}

run_ctest_again() { # BUILD_DIRECTORY REPORT TESTS
	run_ctest "$1" --output-junit "$2" -R "$3"
}

# suite WHAT BUILD_DIRECTORY CTEST_OPTION…
suite() {
	local what=$1 directory=$2 report
	shift 2
	report=$results/${what// /-}
	run_ctest "$directory" --output-junit "$report.xml" "$@" || true
	settle "$what" "$report" ctest run_ctest_again "$directory"
}

run_floor_again() { # PROGRAM REPORT TESTS
	(cd "${1%/*}/tests" && limited "../${1##*/}" --gtest_filter="$3" --gtest_output="xml:$2")
}

# floors WHAT BUILD_DIRECTORY: the unit tests of the floors with one process for each floor, the largest first:
# starting one for each test takes longer than the tests.
floors() {
	local what=$1 directory=$2 program name
	# shellcheck disable=SC2016 # expanded by sh
	find "$directory" -maxdepth 1 -name 'unit_*' -printf '%s %f\n' | sort -nr | cut -d ' ' -f 2 |
		limited xargs -P "$(nproc)" -I NAME sh -c \
			'cd "$1/tests" && ../NAME --gtest_output="xml:$0/$1-NAME.xml" >"$0/$1-NAME.log" 2>&1' \
			"$results" "$directory" || true
	for program in "$directory"/unit_*; do
		name=$directory-${program##*/}
		settle "$what, ${program##*/}" "$results/$name" gtest run_floor_again "$program"
		# Its last test has crashed, or is too slow.
		[ -s "$results/$name.xml" ] || tail -n 60 "$results/$name.log" >>"$results/failures" 2>/dev/null || true
	done
}

# ---- scripts that are tests ----

# closing_line OUTPUT: the numbers of the line that ends the output of scripts/test and of those like it, if there is one.
closing_line() { sed -n 's/^\([0-9]*\) passed, \([0-9]*\) failed$/\1 \2/p' "$1" | tail -n 1; }

# section OUTPUT HEADING NEXT: the lines from a heading to the next one that begins with NEXT.
section() { sed -n "/^== $2/,/^== $3/{/^== /!p}" "$1"; }

# excerpt OUTPUT: what the output of a script says about its failures.
excerpt() {
	if grep -q '^== What failed' "$1"; then
		section "$1" "What failed" Done
	else
		grep -A 60 -E '^[^ ]+: (FAILED|the machine died)' "$1" || tail -n 100 "$1"
	fi
}

# counting COMMAND…: runs a script whose last line has the form of this script's, and adds its counts.
counting() {
	local output good bad
	output=$(mktemp "$results/output.XXXXXX")
	limited "$@" 2>&1 | tee "$output" || true
	read -r good bad < <(closing_line "$output") || {
		echo "$* did not end; counted as one failure" >>"$results/failures"
		good=0 bad=1
	}
	count "$good" "$bad"
	[ "$bad" -eq 0 ] || excerpt "$output" >>"$results/failures"
}

# checking COMMAND…: runs a script that is one test. False if it fails.
checking() {
	local output
	output=$(mktemp "$results/output.XXXXXX")
	if limited "$@" 2>&1 | tee "$output"; then
		count 1 0
		return
	fi
	count 0 1
	{ echo "$* failed; its last lines:" && tail -n 60 "$output"; } >>"$results/failures"
	return 1
}
