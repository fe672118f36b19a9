#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Makes a small recording of what the tests' program `truth` does: see README.md beside it.
#
#   make.sh DIRECTORY-OF-PROGRAMS OUTPUT-DIRECTORY filtered|whole|strings
#
# To be run as root, on a machine that nobody else uses: names of its tasks end up in the trace.
set -eu
container=
programs=$1 output=$2 what=$3
socket=/tmp/recorded.sock
control="$programs/ktracectl --socket $socket"

# Of one tree of processes everything; of the whole machine, what is not too much; or the strings of
# system calls of a container that moves, in rings that are too small.
kmem=true
syscalls=true
[ "$what" != whole ] || kmem='["kmalloc", "kfree"]'
[ "$what" != strings ] || kmem=false syscalls='{"strings": true}'
cat >/tmp/recorded.json <<END
{"events": {"sched": true, "process": true, "signal": true, "syscalls": $syscalls, "kmem": $kmem},
 "flight": {"enabled": false}, "control": {"socket": "$socket"}}
END
if [ "$what" = strings ]; then
	group=/sys/fs/cgroup/kubepods.slice/kubepods-pod0a1b2c3d_4e5f_6071_8293_a4b5c6d7e8f9.slice
	container=$group/cri-containerd-0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef.scope
	mount -t cgroup2 cgroup /sys/fs/cgroup || true
	mkdir -p "$container"
fi
hostname recorded
"$programs/ktraced" --config /tmp/recorded.json &
daemon=$!
until [ -S $socket ]; do sleep 0.1; done
$control events enable task:task_newtask
mkfifo "$output.go"
cat >/tmp/tree <<END
read go <$output.go
if [ "$what" != strings ]; then exec '$programs/truth' fork 2 >/dev/null; fi
echo 0 >$container/cgroup.procs
cat /etc/passwd /etc/nonexistent >/dev/null 2>&1
'$programs/truth' strings >/dev/null
'$programs/truth' getppid 3000 >/dev/null
exec ls -l /bin/sh /sys/fs/cgroup >/dev/null
END
sh /tmp/tree &
truth=$!
[ "$what" = whole ] || $control filter set follow=$truth
buffer=
[ "$what" != strings ] || buffer='--buffer-kb 64'
# shellcheck disable=SC2086 # an option and its value, or nothing
$control record $buffer -o "$output" &
recorder=$!
until [ -e "$output.partial/manifest.json" ]; do sleep 0.1; done
echo >"$output.go"
wait $truth
[ "$what" != whole ] || "$programs/truth" signal >/dev/null
kill -INT $recorder
wait $recorder
kill $daemon
wait $daemon
