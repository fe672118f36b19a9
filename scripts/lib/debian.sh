# SPDX-License-Identifier: BSD-2-Clause
# Sourced: finds Debian's archive in this machine's own apt configuration.
# shellcheck shell=bash

# The archive that this machine installs from: apt's first one for Debian's main.
debian_mirror() {
	# shellcheck disable=SC2016 # apt's own placeholder
	apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' |
		grep -v security | head -n 1
}

# The same, but ends the script if apt has none.
need_debian_mirror() {
	local mirror
	mirror=$(debian_mirror)
	[ -n "$mirror" ] || die "no Debian archive in this machine's apt configuration; run apt-get update"
	printf '%s\n' "$mirror"
}
