# SPDX-License-Identifier: BSD-2-Clause
# Sourced: finds Debian's archive in this machine's own apt configuration, and makes minimal systems of it.
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

# Where minimal systems are kept.
cache=${FRESH_MACHINE_CACHE:-/var/cache/ktraced-fresh-machine}

# bare_system SUITE: prints the archive of a minimal system; makes it if it does not exist.
bare_system() {
	local suite=$1 archive=$cache/$1.tar mirror
	if [ ! -s "$archive" ]; then
		mirror=$(need_debian_mirror)
		mkdir -p "$cache"
		rm -rf "$cache/$suite.new"
		debootstrap --variant=minbase "$suite" "$cache/$suite.new" "$mirror" >&2 ||
			die "debootstrap of $suite failed"
		tar -C "$cache/$suite.new" -cf "$archive.new" .
		rm -rf "$cache/$suite.new"
		mv "$archive.new" "$archive"
	fi
	printf '%s\n' "$archive"
}

# The registry and the certificates of this machine's npm configuration, for the system in ROOT; nothing else of it.
configure_npm() {
	local root=$1 key value
	command -v npm >/dev/null || return 0
	for key in registry proxy https-proxy cafile; do
		value=$(npm config get "$key" 2>/dev/null)
		case "$value" in null | undefined | '') continue ;; esac
		if [ "$key" = cafile ]; then # under a name that no package of certificates has
			cp "$value" "$root/root/npm-ca.crt"
			value=/root/npm-ca.crt
		fi
		printf '%s=%s\n' "$key" "$value"
	done >"$root/root/.npmrc"
}

# use_archives ROOT: lets the system in ROOT reach the archives that this machine does.
use_archives() {
	cp -L /etc/resolv.conf "$1/etc/resolv.conf"
	apt-config dump Acquire | grep -E 'Proxy|Check-' >"$1/etc/apt/apt.conf.d/99ktraced" || true
	configure_npm "$1"
}
