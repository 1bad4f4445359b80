#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# 200 pids that come again and again: nobody gets another's name.  Sets kernel.pid_max of
# the whole machine, so only for a guest that is thrown away (tests/run-kernel):
# it must be told THROW_AWAY=1.  Speaks TAP.
#
# who-recycle.sh [FAWATCHD]
set -u
. "$(dirname "$0")/../tap.sh"
[ "${THROW_AWAY:-}" = 1 ] || skip_all 'changes kernel.pid_max: only where THROW_AWAY=1'
[ "$(readlink /proc/self/ns/pid)" = 'pid:[4026531836]' ] || skip_all 'not in the initial pid namespace'
fawatchd=${1:-$builddir/fawatchd}
dir=$(mktemp -d /run/who-recycle.XXXXXX)
mount -t tmpfs -o mode=755 who "$dir"
mkdir "$dir/bin"
"${CC:-gcc}" -O2 -static -o "$dir/bin/who-storm" "$srcdir/bench/who-storm.c"
for program in one-of two-of three-of; do cp "$dir/bin/who-storm" "$dir/bin/$program"; done
cat >"$dir/rules.conf" <<R
watch: { storm: { path = "$dir/f"; coalesce = "0"; limit = "0"; }; };
R
trap 'umount -l "$dir" && rmdir "$dir"' EXIT
for kind in fork one vfork double; do
    rm -rf "$dir/f" && mkdir -m 1777 "$dir/f"
    "$fawatchd" --log=stdout --rules="$dir/rules.conf" >"$dir/out" 2>"$dir/err" &
    watcher=$!
    wait_for grep -q 'rules in force' "$dir/out"
    echo 500 >/proc/sys/kernel/pid_max # after the first round they begin again at 300
    "$dir/bin/who-storm" "$dir/f" "$dir/bin" "$kind" 600 2
    touch "$dir/f/end"
    wait_for grep -q '"path":"[^"]*/f/end"' "$dir/out"
    rm "$dir/f/end"
    kill $watcher
    wait $watcher
    found=$("$srcdir/bench/who-count.py" fawatchd "$dir/out") && verdict "$kind: $found" '' ||
        not_ok "$kind" "$found"
    reused=$(cd "$dir/f" && ls | cut -d~ -f2 | sort | uniq -d | wc -l)
    [ "$reused" -gt 100 ] && ok "$kind: $reused pids came again" || not_ok "$kind: pids came again" "$reused"
done
tap_done
