# SPDX-License-Identifier: BSD-2-Clause
# Sourced: Debian's archive as this machine's own apt configuration names it.
# shellcheck shell=bash

# The archive this machine itself installs from: the first one apt knows for Debian's main.
debian_mirror() {
	# shellcheck disable=SC2016 # apt's own placeholder
	apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' |
		grep -v security | head -n 1
}

# The same, but ends the script if apt knows none.
need_debian_mirror() {
	local mirror
	mirror=$(debian_mirror)
	[ -n "$mirror" ] || die "finds no Debian archive in this machine's apt configuration; run apt-get update"
	printf '%s\n' "$mirror"
}
