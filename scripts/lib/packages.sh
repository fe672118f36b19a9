# SPDX-License-Identifier: BSD-2-Clause
# Sourced: lists the Debian packages that ktraced is built and tested with, and installs
# missing ones. Works on Debian 12 and 13, minimal systems included.
# shellcheck shell=bash disable=SC2034 # used by those who source it

build_packages=(
	cmake ninja-build pkg-config g++ clang bpftool
	libbpf-dev libsystemd-dev libseccomp-dev
	libfmt-dev libspdlog-dev nlohmann-json3-dev libcli11-dev libprotozero-dev libsqlite3-dev
	libncurses-dev libarchive-dev libelf-dev libdw-dev libiberty-dev
)
# For the page of `ktracectl report html`. Node.js from another source than Debian includes npm, and
# conflicts with Debian's npm.
html_packages=()
command -v npm >/dev/null || html_packages=(nodejs npm)
test_packages=(
	babeltrace2 e2fsprogs linux-perf strace trace-cmd libgtest-dev libgmock-dev libbenchmark-dev libprotobuf-dev protobuf-compiler
	curl libcap2-bin prometheus python3 python3-jsonschema python3-yaml procps socat systemd
	fish man-db mandoc tmux zsh
)
# For scripts/package.
package_packages=(build-essential debhelper dpkg-dev fakeroot lintian python3)
# The compiler of the fuzz targets, with libFuzzer and the sanitizers.
fuzz_packages=(clang-19 libclang-rt-19-dev)
lint_packages=(clang-format-19 clang-tidy-19 git shellcheck)
browser_packages=(chromium fonts-dejavu-core)
vm_packages=(qemu-system-x86 busybox-static cpio util-linux)

# missing_packages NAME…: prints those that are not installed.
missing_packages() {
	local name
	for name in "$@"; do
		[ "$(dpkg-query -W -f '${db:Status-Status}' "$name" 2>/dev/null)" = installed ] ||
			printf '%s\n' "$name"
	done
}

# install_packages NAME…: installs missing ones from the archive of this machine's own apt
# configuration. Two scripts that do so at once take turns, because apt refuses the second.
install_packages() {
	need_apt "$@"
	[ -n "$(missing_packages "$@")" ] || return 0
	(flock 9 && install_missing "$@") 9>/run/lock/ktraced-packages || exit
}

# install_missing NAME…: those that are still missing. What apt starts must not keep the lock, descriptor 9.
install_missing() {
	local missing
	mapfile -t missing < <(missing_packages "$@")
	[ "${#missing[@]}" -eq 0 ] && return
	say "Installing ${missing[*]}"
	update_packages 9>&- || die "apt-get update failed; is a package mirror configured?"
	get_packages "${missing[@]}" 9>&- || die "apt-get could not install ${missing[*]}"
}

need_apt() { command -v apt-get >/dev/null || die "no apt-get on this machine; install by hand: $*"; }

update_packages() { apt-get -q update; }

get_packages() { DEBIAN_FRONTEND=noninteractive apt-get -q -y --no-install-recommends install "$@"; }

# download_size NAME…: apt's figures for the download and the disk space.
download_size() {
	apt-get -q --assume-no --no-install-recommends install "$@" 2>/dev/null |
		grep -iE '^ *(need to get|after this operation|download size|space needed)' || true
}
