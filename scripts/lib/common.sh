# SPDX-License-Identifier: BSD-2-Clause
# Sourced by all scripts: their common functions. Expects `set -euo pipefail`.
# shellcheck shell=bash disable=SC2034 # used by those who source it

repository=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
export LC_ALL=C.UTF-8
export PYTHONDONTWRITEBYTECODE=1 # nothing of root's beside the sources

# say TEXT: prints a heading.
say() { printf '\n== %s\n' "$*"; }

# die TEXT: ends the script with one sentence.
die() {
	printf '%s: %s\n' "${0##*/}" "$*" >&2
	exit 1
}

require_root() {
	[ "$(id -u)" -eq 0 ] || die "needs root to load BPF programs; run: sudo $0"
}

# give_back DIRECTORY…: gives it to the user behind sudo, because files of root would stop the next build.
give_back() {
	local directory
	[ -n "${SUDO_UID:-}" ] || return 0
	for directory in "$@"; do
		[ ! -d "$directory" ] || chown -R --no-dereference "$SUDO_UID:${SUDO_GID:-$SUDO_UID}" "$directory"
	done
}
