#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# who.sh [SCALE]: storms of short-lived writers, and who is named for what they did.
#
# Root.  Runs in a root of its own (tests/own-root).  Beside it, where it is installed,
# the same storms under fatrace.  SCALE (default 1) multiplies the numbers of writers.
# Variables: builddir (default .), srcdir (default ..), KINDS.
set -eu
self=$(realpath "$0")
srcdir=$(realpath "${srcdir:-$(dirname "$self")/..}") builddir=$(realpath "${builddir:-.}")
scale=${1:-1}
if [ -z "${WHO_INSIDE:-}" ]; then
    export WHO_INSIDE=1 srcdir builddir
    exec "$srcdir/tests/own-root" "$self" "$scale"
fi
mkdir -p /w/f /w/bin /run/who
chmod 1777 /w/f
"${CC:-gcc}" -O2 -static -o /w/bin/who-storm "$srcdir/bench/who-storm.c"
for program in one-of two-of three-of; do cp /w/bin/who-storm "/w/bin/$program"; done
cat >/run/who/rules.conf <<'R'
watch: { storm: { path = "/w/f"; coalesce = "0"; limit = "0"; }; };
R

watcher= output=/run/who/out
begin() { # WATCHER
    rm -rf /w/f && mkdir -m 1777 /w/f
    case $1 in
    fawatchd) "$builddir/fawatchd" --log=stdout --rules=/run/who/rules.conf >$output 2>/run/who/err & ;;
    fatrace) (cd /w/f && exec stdbuf -oL fatrace -c -f 'CW+D<>' >$output 2>/run/who/err) & ;;
    esac
    watcher=$!
    sleep 1
}
end() {
    sleep 1
    kill -INT $watcher
    wait $watcher || true
}
trap '[ -z "$watcher" ] || kill $watcher 2>/dev/null || true' EXIT

status=0
: >/run/who/all
for storm in touch:2000:1 touch:2000:2 touch:2000:4 bash:1000:2 mixed:1500:2 fork:3000:2 double:2000:2 \
    vfork:3000:1 vfork:3000:2 one:2000:1 one:2000:2 uid:1000:2; do
    IFS=: read -r kind count parallel <<<"$storm"
    case " ${KINDS:-$kind} " in *" $kind "*) ;; *) continue ;; esac
    count=$(awk "BEGIN { print int($count * $scale) }")
    for w in fawatchd fatrace; do
        command -v "$w" >/dev/null || [ "$w" = fawatchd ] || continue
        begin "$w"
        /w/bin/who-storm /w/f /w/bin "$kind" "$count" "$parallel" || status=1
        end
        printf '%-8s %5d writers, %d at once, %-8s ' "$kind" "$count" "$parallel" "$w:"
        "$srcdir/bench/who-count.py" "$w" $output || [ "$w" = fatrace ] || status=1
        [ "$w" != fawatchd ] || cat $output >>/run/who/all
    done
done
printf 'all, fawatchd: '
"$srcdir/bench/who-count.py" fawatchd /run/who/all || status=1
exit $status
