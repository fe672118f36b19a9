# SPDX-License-Identifier: BSD-2-Clause
# Sourced: commands that write pages, behind one line that shows how far they are.
# shellcheck shell=bash

# quietly LOG WHAT COMMAND…: runs COMMAND with its output in the file LOG. A terminal shows the time
# and what it does now; in the end one line with the time it took. If it fails, the end of LOG follows.
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

# Ends the command that runs now, with all that it started. Call that from the EXIT trap.
end_quiet_job() { [ -z "$quiet_job" ] || kill -- "-$quiet_job" 2>/dev/null || true; }

# The last line of a file, without what a terminal would take for a command.
last_line() { tail -c 400 "$1" | tail -n 1 | tr -cd '[:print:]'; }
