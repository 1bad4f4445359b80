#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The cost of being ignored, in one run: without fawatchd (A) and with it (B) in turn, in a mount namespace of
# its own, on a tmpfs; the best of each.  Needs root.  "ignore.sh check" fails above the promised ratios.
#   ignore.sh [check]       FAWATCHD=build/fawatchd BENCH=build/bench/bench-ignore ROUNDS=5 SCALE=1
set -eu
if [ -z "${FAWATCH_BENCH_INSIDE-}" ]; then
    FAWATCH_BENCH_INSIDE=1 exec unshare -m --propagation private "$BASH" "$0" "$@"
fi
daemon=${FAWATCHD:-./fawatchd} bench=${BENCH:-./bench/bench-ignore} rounds=${ROUNDS:-5} scale=${SCALE:-1}
check=${1-} failed=0 pid=
dir=$(mktemp -d)
end() {
    [ -z "$pid" ] || { kill "$pid"; wait "$pid"; } 2>/dev/null || :
    umount "$dir/w" "$dir/other" /run 2>/dev/null || :
    rm -rf "$dir"
}
trap end EXIT
mkdir "$dir/w" "$dir/other"
mount -t tmpfs bench "$dir/w"
mount -t tmpfs bench "$dir/other"
# no filesystem but these is marked: program starts are not followed
mount -t tmpfs settings /run
mkdir -p /run/fawatchd/fawatchd.conf.d
echo 'process_tracking = "off";' >/run/fawatchd/fawatchd.conf.d/bench.conf

start() { # RULES: in force, and the queue of the start empty
    printf '%s\n' "$1" >"$dir/rules.conf"
    "$daemon" --log=stdout --rules="$dir/rules.conf" >"$dir/out" 2>"$dir/err" &
    pid=$!
    for _ in $(seq 100); do
        ! grep -q 'rules in force' "$dir/out" || break
        sleep 0.05
    done
    sleep 0.2
}
stop() {
    kill "$pid"
    wait "$pid" || :
    pid=
}
smaller() { awk -v a="$1" -v b="$2" 'BEGIN { print (a == "" || b < a) ? b : a }'; }

compare() { # NAME LIMIT RULES FIRST COMMAND...: prints a number; FIRST (a command or '') lets the daemon learn
    local name=$1 limit=$2 rules=$3 first=$4 a= b= ratio
    shift 4
    # of noise both get the better of: what is above its limit is looked at again, three times in all
    for _ in 1 2 3; do
        for _ in $(seq "$rounds"); do
            a=$(smaller "$a" "$("$@")")
            start "$rules"
            [ -z "$first" ] || { eval "$first"; sleep 0.1; }
            b=$(smaller "$b" "$("$@")")
            stop
        done
        ratio=$(awk -v a="$a" -v b="$b" 'BEGIN { printf "%.3f", b / a }')
        if [ "$check" != check ] || awk -v r="$ratio" -v l="$limit" 'BEGIN { exit !(r <= l) }'; then
            break
        fi
    done
    printf '%-46s %9s %9s %6s  (limit %s)\n' "$name" "$a" "$b" "$ratio" "$limit"
    if [ "$check" = check ] && awk -v r="$ratio" -v l="$limit" 'BEGIN { exit !(r > l) }'; then
        failed=1
    fi
}
loop() { # OPERATION PATH N: ns of CPU time an operation
    "$bench" "$1" "$2" $(($3 * scale))
}
messaging() { # GROUPS: seconds
    perf bench -f simple sched messaging --pipe -g "$1" -l $((1600 * scale / $1)) | tail -n 1
}

w=$dir/w other=$dir/other
mkdir "$w/ignored" "$w/tree" "$w/tree/deep"
: >"$w/self"
watch="watch: { all: { path = \"$w\"; scope = \"filesystem\"; }; };"
ignore="ignore: { d: { path = \"$w/ignored\"; scope = \"directory\"; }; t: { path = \"$w/tree\"; }; };"
self="watch: { self: { path = \"$w/self\"; scope = \"file\"; events = \"delete_self\"; }; };"

printf '%-46s %9s %9s %6s\n' 'ns of CPU time an operation' without with ratio
compare '1-byte write, ignored directory' 1.5 "$watch$ignore" '' loop write "$w/ignored/f" 300000
compare '1-byte write, ignored tree, learned' 1.5 "$watch$ignore" ": >'$w/tree/deep/x'" \
    loop write "$w/tree/deep/f" 300000
compare 'create, write, remove, ignored directory' 1.6 "$watch$ignore" '' loop churn "$w/ignored/c" 30000
compare '1-byte write, only delete_self watched' 1.05 "$self" '' loop write "$w/other" 300000
compare '1-byte write, another filesystem' 1.02 "$watch$ignore" '' loop write "$other/f" 300000
compare 'pipe' 1.02 "$watch$ignore" '' loop pipe - 300000
compare 'eventfd' 1.02 "$watch$ignore" '' loop eventfd - 300000
if command -v perf >/dev/null; then
    echo 'seconds of perf bench sched messaging --pipe'
    for groups in 1 2 4 8 16 32; do
        compare "$groups groups" 1.02 "$watch$ignore" '' messaging "$groups"
    done
fi
exit $failed
