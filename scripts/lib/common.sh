# Sourced by the scripts: what all of them need. Expects `set -euo pipefail`.
# shellcheck shell=bash disable=SC2034 # used by those who source it

repository=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
export LC_ALL=C.UTF-8

# say TEXT: a heading for a person who watches.
say() { printf '\n== %s\n' "$*"; }

# die TEXT: ends the script with one sentence.
die() {
	printf '%s: %s\n' "${0##*/}" "$*" >&2
	exit 1
}

require_root() {
	[ "$(id -u)" -eq 0 ] || die "needs root to load BPF programs; run: sudo $0"
}
