# SPDX-License-Identifier: BSD-2-Clause
# Sourced: shows one line of progress for a command with a long output.
# shellcheck shell=bash

# quietly LOG WHAT COMMAND…: runs COMMAND with its output in the file LOG. A terminal shows the time
# and the last line of output. At the end it prints the time it took. If COMMAND fails, the end of LOG follows.
quietly() {
	local log=$1 what=$2 begin=$SECONDS code=0 job
	shift 2
	set -m # a process group of its own
	"$@" >>"$log" 2>&1 </dev/null &
	set +m
	job=$!
	quiet_job=$job
	while [ -t 1 ] && kill -0 "$job" 2>/dev/null; do
		printf '\r\033[K%s: %d s  %.60s' "$what" $((SECONDS - begin)) "$(last_line "$log")"
		sleep 0.5
	done
	wait "$job" || code=$?
	quiet_job=
	[ ! -t 1 ] || printf '\r\033[K'
	if [ "$code" -ne 0 ]; then
		printf '%s: failed; the end of %s:\n' "$what" "$log" >&2
		tail -n 30 "$log" >&2
		return "$code"
	fi
	printf '%s: done in %d s\n' "$what" $((SECONDS - begin))
}

quiet_job=

# Ends the current command and all its children. Call it from the EXIT trap.
end_quiet_job() { [ -z "$quiet_job" ] || kill -- "-$quiet_job" 2>/dev/null || true; }

# The last line of a file, without control characters.
last_line() { tail -c 400 "$1" | tail -n 1 | tr -cd '[:print:]'; }
