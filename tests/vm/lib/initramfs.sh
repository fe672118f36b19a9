# Sourced: packs a file system for a virtual machine: the programs under test with the
# tests, at the paths they have here, and as little of this machine as they need.
# shellcheck shell=bash

# What tests run beside the programs under test.
test_programs=(setpriv babeltrace2 python3)
python_modules=json,socket

# The shared libraries of programs and of plug-ins that are loaded by name.
libraries_of() {
	{ ldd "$@" 2>/dev/null || true; } | sed -n 's/.*[[:space:]]\(\/[^ ]*\) (0x.*/\1/p' | sort -u
}

# The files of the Python modules that tests import, and of all that those import.
python_files() {
	python3 -I -c "
import encodings.idna, $python_modules, sys
for module in list(sys.modules.values()):
    print(getattr(module, '__file__', None) or '')
print(encodings.__file__.rsplit('/', 2)[0] + '/os.py')
" | grep '^/' | sort -u
}

# files_for BUILD: every file of this machine that goes into the machine.
files_for() {
	local build=$1 programs=() program
	for program in ktraced ktracectl truth live_tests verifier_stats; do
		[ -x "$build/$program" ] || die "finds no $build/$program; build first"
		programs+=("$build/$program")
	done
	for program in "${test_programs[@]}"; do
		programs+=("$(command -v "$program")") || die "needs $program; install it"
	done
	mapfile -t -O "${#programs[@]}" programs < <(
		find /usr/lib/*/babeltrace2/plugins -name '*.so'
		python_files
	)
	printf '%s\n' "${programs[@]}" "$repository/configs/ktraced.json"
	libraries_of "${programs[@]}"
}

# make_initramfs BUILD FILE: packs it, compressed.
make_initramfs() {
	local build=$1 file=$2 root source
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
	done < <(files_for "$build" | sort -u)
	(cd "$root" && find . -print0 | cpio --null --quiet -o -H newc -R 0:0) | gzip -1 >"$file"
	rm -r "$root"
}
