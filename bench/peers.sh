#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# What a watcher of one tree of 400 directories costs, in one run, each watcher in turn: none, fawatchd,
# fsnotifywait -m -S and fatrace (Debian's packages), on a tmpfs and on an ext4; the best of each, as nanoseconds
# of the process's own CPU time for one operation, and the ratios to none.  Every watcher's output goes to /dev/null.
#
# Root; in a mount namespace of its own.  "peers.sh check" fails where fawatchd is above its limit.
#   peers.sh [check]        FAWATCHD=build/fawatchd BENCH=build/bench/bench-ignore ROUNDS=3 SCALE=1 RULE='...'
set -eu
if [ -z "${FAWATCH_BENCH_INSIDE-}" ]; then
    FAWATCH_BENCH_INSIDE=1 exec unshare -m --propagation private "$BASH" "$0" "$@"
fi
daemon=${FAWATCHD:-./fawatchd} bench=${BENCH:-./bench/bench-ignore} rounds=${ROUNDS:-3} scale=${SCALE:-1}
rule=${RULE:-} check=${1-} failed=0 pid=
watchers=(none fawatchd)
for tool in fsnotifywait fatrace; do
    if command -v "$tool" >/dev/null; then watchers+=("$tool"); else echo "no $tool here" >&2; fi
done
dir=$(mktemp -d)
end() {
    stop
    umount "$dir/fs" "$dir" /run 2>/dev/null || :
    rmdir "$dir" 2>/dev/null || :
}
stop() {
    [ -z "$pid" ] || { kill "$pid"; wait "$pid"; } 2>/dev/null || :
    pid=
}
trap end EXIT
mount -t tmpfs bench "$dir"
mkdir "$dir/fs"
# no filesystem but the one that is watched is marked: program starts are not followed
mount -t tmpfs settings /run
mkdir -p /run/fawatchd/fawatchd.conf.d
echo 'process_tracking = "off";' >/run/fawatchd/fawatchd.conf.d/bench.conf

mounted() { # FSTYPE
    case $1 in
    tmpfs) mount -t tmpfs bench "$dir/fs" ;;
    ext4)
        truncate -s 512M "$dir/image"
        mkfs.ext4 -q -F "$dir/image"
        mount -o loop "$dir/image" "$dir/fs"
        ;;
    esac
    mkdir -p "$dir"/fs/tree/{1..20}/{1..19} "$dir/fs/other"
    cp "$(type -P true)" "$dir/fs/other/true"
    cp "$(type -P true)" "$dir/fs/tree/1/1/true"
}

start() { # WATCHER: watches, and has nothing left to read of the start
    case $1 in
    none) return ;;
    fawatchd)
        echo "watch: { tree: { path = \"$dir/fs/tree\"; $rule }; };" >"$dir/rules.conf"
        "$daemon" --log=stdout --rules="$dir/rules.conf" >/dev/null 2>"$dir/err" &
        ;;
    fsnotifywait) fsnotifywait -m -S "$dir/fs" >/dev/null 2>"$dir/err" & ;;
    fatrace) (cd "$dir/fs" && exec fatrace -c >/dev/null 2>"$dir/err") & ;;
    esac
    pid=$!
    sleep 0.4
    kill -0 "$pid" || { cat "$dir/err" >&2; exit 1; }
    : >"$dir/fs/other/first" # lets it learn
    rm "$dir/fs/other/first"
    sleep 0.1
}
smaller() { awk -v a="${1:-}" -v b="$2" 'BEGIN { print (a == "" || b < a) ? b : a }'; }
ratio() { awk -v a="$1" -v b="$2" 'BEGIN { printf "%.2f", b / a }'; }

compare() { # NAME LIMIT OPERATION PATH N: limit a number, or "peers": no worse than the better one
    local name=$1 limit=$2 w line r better=
    local -A best=()
    shift 2
    for _ in $(seq "$rounds"); do
        for w in "${watchers[@]}"; do
            start "$w"
            best[$w]=$(smaller "${best[$w]:-}" "$("$bench" "$1" "$2" $(($3 * scale)))")
            stop
        done
    done
    line=$(printf '%-44s %9s' "$name" "${best[none]}")
    for w in "${watchers[@]:1}"; do
        r=$(ratio "${best[none]}" "${best[$w]}")
        line+=$(printf ' %9s' "$r")
        [ "$w" = fawatchd ] || better=$(smaller "$better" "$r")
    done
    [ "$limit" != peers ] || limit=$(awk -v b="${better:-1000}" 'BEGIN { printf "%.2f", (b < 1 ? 1 : b) * 1.02 }')
    echo "$line  (limit $limit)"
    if awk -v r="$(ratio "${best[none]}" "${best[fawatchd]}")" -v l="$limit" 'BEGIN { exit !(r > l) }'; then
        [ "$check" != check ] || failed=1
    fi
}

for fstype in tmpfs ext4; do
    mounted "$fstype"
    echo "$fstype: ns of CPU time an operation without a watcher; ratios: ${watchers[*]:1}"
    o=$dir/fs/other t=$dir/fs/tree/1/1
    compare '1-byte write, unrelated file' 1.05 write "$o/f" 200000
    compare 'create, write, close, remove, unrelated' 1.05 churn "$o/c" 20000
    compare 'fork and exec, unrelated program' 1.05 exec "$o/true" 1000
    compare 'temporary file and rename, unrelated' 1.55 replace "$o/r" 20000
    compare '1-byte write, file in the tree' peers write "$t/f" 200000
    compare 'create, write, close, remove, in the tree' peers churn "$t/c" 20000
    compare 'fork and exec, program in the tree' peers exec "$t/true" 1000
    compare 'temporary file and rename, in the tree' peers replace "$t/r" 20000
    umount "$dir/fs"
done
exit $failed
