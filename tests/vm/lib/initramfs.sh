# SPDX-License-Identifier: BSD-2-Clause
# Sourced: packs a file system for a virtual machine. It holds the programs under test and the
# tests, at the same paths as here, and only the files of this machine that they need.
# shellcheck shell=bash

# The files of the build, and the other programs that tests run.
built_programs=(ktraced ktracectl truth stack_truth stack_library.so compat_truth live_tests verifier_stats)
test_programs=(setpriv unshare prlimit strace curl babeltrace2 python3)
python_modules=json,socket

# The shared libraries of programs and of plug-ins that are loaded by name.
libraries_of() {
	{ ldd "$@" 2>/dev/null || true; } | sed -n 's/.*[[:space:]]\(\/[^ ]*\) (0x.*/\1/p' | sort -u
}

# The files of the Python modules that tests import, and of the modules that those import.
python_files() {
	python3 -I -c "
import encodings.idna, $python_modules, sys
for module in list(sys.modules.values()):
    print(getattr(module, '__file__', None) or '')
print(encodings.__file__.rsplit('/', 2)[0] + '/os.py')
" | grep '^/' | sort -u
}

# Files of this machine that tests need besides the build.
files_for_tests() {
	local program
	for program in "${test_programs[@]}"; do
		command -v "$program" || die "needs $program; install it"
	done
	find /usr/lib/*/babeltrace2/plugins -name '*.so'
	python_files
	echo "$repository/configs/ktraced.json"
}

# files_for BUILD FILE…: lists every file that is copied into the virtual machine.
files_for() {
	local build=$1 files=("${@:2}") program
	for program in "${built_programs[@]}"; do
		[ -x "$build/$program" ] || die "no $build/$program; build first"
		files+=("$build/$program")
	done
	printf '%s\n' "${files[@]}"
	libraries_of "${files[@]}"
}

# make_initramfs BUILD FILE WITH…: packs it, compressed, with the given files.
make_initramfs() {
	local build=$1 file=$2 with=("${@:3}") root source
	root=$(mktemp -d)
	chmod 755 "$root"
	mkdir -p "$root"/{bin,dev,proc,sys,tmp,etc,run}
	chmod 1777 "$root/tmp"
	cp "$(command -v busybox)" "$root/bin/busybox"
	cp "$repository/tests/vm/init" "$root/init"
	grep -E '^(root|nobody|nogroup):' /etc/passwd >"$root/etc/passwd"
	grep -E '^(root|nogroup):' /etc/group >"$root/etc/group"
	while read -r source; do
		mkdir -p "$root${source%/*}"
		cp -L "$source" "$root$source"
	done < <(files_for "$build" "${with[@]}" | sort -u)
	(cd "$root" && find . -print0 | cpio --null --quiet -o -H newc -R 0:0) | gzip -1 >"$file"
	rm -r "$root"
}
