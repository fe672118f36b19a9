#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Makes a small recording of what the tests' program `truth` does: see README.md beside it.
#
#   make.sh DIRECTORY-OF-PROGRAMS OUTPUT-DIRECTORY filtered|whole
#
# To be run as root, on a machine that nobody else uses: names of its tasks end up in the trace.
set -eu
programs=$1 output=$2 what=$3
socket=/tmp/recorded.sock
control="$programs/ktracectl --socket $socket"

# Of one tree of processes everything; of the whole machine, what is not too much.
kmem=true
[ "$what" = filtered ] || kmem='["kmalloc", "kfree"]'
cat >/tmp/recorded.json <<END
{"events": {"sched": true, "process": true, "signal": true, "syscalls": true, "kmem": $kmem},
 "flight": {"enabled": false}, "control": {"socket": "$socket"}}
END
hostname recorded
"$programs/ktraced" --config /tmp/recorded.json &
daemon=$!
until [ -S $socket ]; do sleep 0.1; done
$control events enable task:task_newtask
mkfifo "$output.go"
sh -c "read go <$output.go; exec '$programs/truth' fork 2 >/dev/null" &
truth=$!
[ "$what" = whole ] || $control filter set follow=$truth
$control record -o "$output" &
recorder=$!
until [ -e "$output.partial/manifest.json" ]; do sleep 0.1; done
echo >"$output.go"
wait $truth
[ "$what" = filtered ] || "$programs/truth" signal >/dev/null
kill -INT $recorder
wait $recorder
kill $daemon
wait $daemon
