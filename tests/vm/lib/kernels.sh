# SPDX-License-Identifier: BSD-2-Clause
# Sourced: fetches Debian's kernels from the archive that this machine installs from, without
# installing them.
#
# A kernel is named by its series: 6.12 is the newest 6.12, 7 the newest 7.x. The newest of a
# series changes over time, so kernels are kept by version.
# shellcheck shell=bash
# shellcheck source=scripts/lib/debian.sh
. "$repository/scripts/lib/debian.sh"

kernel_cache=${KTRACED_KERNELS:-/var/cache/ktraced-kernels}
kernel_suites=(bullseye bookworm bookworm-backports trixie trixie-backports sid)
catalog=$kernel_cache/catalog
catalog_minutes=$((24 * 60))

# private_apt TOOL ARGUMENT…: apt-get or apt-cache with separate lists, so that this
# machine's own apt does not use those suites.
private_apt() {
	local tool=$1 apt=$kernel_cache/apt
	shift
	"$tool" -o Dir::Etc::sourcelist="$apt/sources.list" -o Dir::Etc::sourceparts=/dev/null \
		-o Dir::State::Lists="$apt/lists" -o Dir::Cache="$apt/cache" \
		-o Acquire::Languages=none -o APT::Sandbox::User=root "$@"
}

# Writes a line for each kernel the archive has: VERSION RELEASE PACKAGE. Up to 6.18 the
# kernel itself is in linux-image-RELEASE, later in linux-binary-RELEASE.
list_archive() {
	local -a packages
	mapfile -t packages < <(private_apt apt-cache pkgnames linux- |
		grep -E '^linux-(image|binary)-[0-9].*-cloud-amd64$')
	private_apt apt-cache show "${packages[@]}" |
		awk '/^Package:/ { package = $2 }
			/^Version:/ { release = package; sub(/^linux-(image|binary)-/, "", release)
			              print $2, release, package }'
}

# Updates the catalog, or uses an older one if that fails.
update_catalog() {
	local apt=$kernel_cache/apt mirror suite
	mirror=$(need_debian_mirror)
	mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial"
	for suite in "${kernel_suites[@]}"; do
		echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $suite main"
	done >"$apt/sources.list"
	# A suite that the archive no longer has must not make the others fail.
	private_apt apt-get -qq update || true
	list_archive | sort -u >"$catalog.new"
	if [ -s "$catalog.new" ]; then
		mv "$catalog.new" "$catalog"
	elif [ -s "$catalog" ]; then
		notice "the archive cannot be read; kernels are chosen from the list of $(date -r "$catalog" +%F)"
	else
		die "no kernels found in Debian's archive; is the network up?"
	fi
}

# notice TEXT: prints an important message.
notice() { printf '\n!! %s\n' "$*" >&2; }

# newest_kernel SERIES: prints VERSION, RELEASE and PACKAGE; nothing if there is none.
newest_kernel() {
	# If there are two packages, the kernel is not in linux-image.
	awk -v series="$1." 'index($1, series) == 1' "$catalog" | sort -k 1,1V -k 3,3r | tail -n 1
}

# Modules that tests load.
kernel_modules=(nbd)

# extract PACKAGE VERSION DIRECTORY: unpacks the files of a package.
extract() {
	mkdir -p "$3"
	(cd "$3" && private_apt apt-get -qq download "$1=$2" >&2) || return 1
	dpkg -x "$3"/*.deb "$3" || return 1
	rm "$3"/*.deb
}

# one_file DIRECTORY NAME: prints the path of the one file of that name, or fails.
one_file() {
	local file
	file=$(find "$1" -name "$2" -type f)
	[ -s "$file" ] && printf '%s\n' "$file" && return
	echo "no $2 in the kernel's packages" >&2
	return 1
}

# take_module FILES NAME DIRECTORY: the module as DIRECTORY/NAME.ko, not compressed.
take_module() {
	local file
	file=$(one_file "$1" "$2.ko*") || return 1
	case $file in
	*.xz) busybox xzcat "$file" >"$3/$2.ko" ;;
	*) mv "$file" "$3/$2.ko" ;;
	esac
}

# unpack PACKAGE VERSION RELEASE DIRECTORY: the kernel as DIRECTORY/vmlinuz, and the available
# modules in DIRECTORY/modules. If the kernel is in linux-binary-RELEASE, the modules are in a
# separate package, which the archive does not have for every version.
unpack() {
	local package=$1 version=$2 release=$3 directory=$4 module file
	extract "$package" "$version" "$directory/files" || return 1
	file=$(one_file "$directory/files" 'vmlinuz*') || return 1
	mv "$file" "$directory/vmlinuz"
	mkdir "$directory/modules"
	case $package in
	linux-binary-*) extract "linux-modules-$release" "$version" "$directory/files" || true ;;
	esac
	for module in "${kernel_modules[@]}"; do
		take_module "$directory/files" "$module" "$directory/modules" || true
	done
	rm -r "$directory/files"
}

# has_modules DIRECTORY: are the modules there that tests load?
has_modules() {
	local module
	for module in "${kernel_modules[@]}"; do
		[ -s "$1/modules/$module.ko" ] || return 1
	done
}

# fetch_kernel SERIES: prints the directory that holds its vmlinuz, release, version and
# modules; false if it cannot be fetched.
fetch_kernel() {
	local version release package directory
	[ -n "$(find "$catalog" -mmin "-$catalog_minutes" 2>/dev/null)" ] || update_catalog
	read -r version release package < <(newest_kernel "$1") || return 1
	directory=$kernel_cache/$version
	if [ ! -s "$directory/vmlinuz" ] || [ ! -d "$directory/modules" ]; then
		rm -rf "$directory.new"
		mkdir -p "$directory.new"
		unpack "$package" "$version" "$release" "$directory.new" || return 1
		echo "$release" >"$directory.new/release"
		echo "$version" >"$directory.new/version"
		rm -rf "$directory"
		mv "$directory.new" "$directory"
	fi
	printf '%s\n' "$directory"
}
