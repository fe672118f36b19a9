# Sourced: Debian's kernels, fetched from the archive this machine installs from, without
# installing them.
#
# A kernel is asked for by its series: 6.12 is the newest 6.12, 7 the newest 7.x. What a
# series means changes while time goes by, so kernels are kept by version.
# shellcheck shell=bash
# shellcheck source=scripts/lib/debian.sh
. "$repository/scripts/lib/debian.sh"

kernel_cache=${KTRACED_KERNELS:-/var/cache/ktraced-kernels}
kernel_suites=(bullseye bookworm bookworm-backports trixie trixie-backports sid)
catalog=$kernel_cache/catalog
catalog_minutes=$((24 * 60))

# private_apt TOOL ARGUMENT…: apt-get or apt-cache with lists of its own, so that this
# machine's own apt never hears of those suites.
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

# Brings the catalog up to date, or goes on with an older one.
update_catalog() {
	local apt=$kernel_cache/apt mirror suite
	mirror=$(need_debian_mirror)
	mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial"
	for suite in "${kernel_suites[@]}"; do
		echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $suite main"
	done >"$apt/sources.list"
	# A suite that the archive no longer has must not stand in the way of the others.
	private_apt apt-get -qq update || true
	list_archive | sort -u >"$catalog.new"
	if [ -s "$catalog.new" ]; then
		mv "$catalog.new" "$catalog"
	elif [ -s "$catalog" ]; then
		notice "the archive cannot be read; kernels are chosen from the list of $(date -r "$catalog" +%F)"
	else
		die "finds no kernels in Debian's archive; is the network up?"
	fi
}

# notice TEXT: what nobody should overlook.
notice() { printf '\n!! %s\n' "$*" >&2; }

# newest_kernel SERIES: prints VERSION, RELEASE and PACKAGE; nothing if there is none.
newest_kernel() {
	# Where there are two packages, it is not in linux-image.
	awk -v series="$1." 'index($1, series) == 1' "$catalog" | sort -k 1,1V -k 3,3r | tail -n 1
}

# unpack PACKAGE VERSION DIRECTORY: the kernel of a package, as DIRECTORY/vmlinuz.
unpack() {
	local package=$1 version=$2 directory=$3 vmlinuz
	(cd "$directory" && private_apt apt-get -qq download "$package=$version" >&2) || return 1
	dpkg -x "$directory"/*.deb "$directory/files" || return 1
	vmlinuz=$(find "$directory/files" -name 'vmlinuz*' -type f)
	[ -n "$vmlinuz" ] || { echo "$package holds no kernel" >&2 && return 1; }
	mv "$vmlinuz" "$directory/vmlinuz"
	rm -r "$directory/files" "$directory"/*.deb
}

# fetch_kernel SERIES: prints the directory that holds its vmlinuz, release and version;
# false if it cannot be had.
fetch_kernel() {
	local version release package directory
	[ -n "$(find "$catalog" -mmin "-$catalog_minutes" 2>/dev/null)" ] || update_catalog
	read -r version release package < <(newest_kernel "$1") || return 1
	directory=$kernel_cache/$version
	if [ ! -s "$directory/vmlinuz" ]; then
		rm -rf "$directory.new"
		mkdir -p "$directory.new"
		unpack "$package" "$version" "$directory.new" || return 1
		echo "$release" >"$directory.new/release"
		echo "$version" >"$directory.new/version"
		rm -rf "$directory"
		mv "$directory.new" "$directory"
	fi
	printf '%s\n' "$directory"
}
