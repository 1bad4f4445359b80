#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# who-price.sh [PAIRS]: what the tracker costs a loop that starts programs (touch), with a
# processor to spare and with all of them busy; then a fork bomb of 20000 processes.
#
# Root.  In a root of its own (tests/own-root).  The daemon is measured with the tracker
# and with process_tracking = "off", in turns: other work on the machine then strikes both.
set -eu
self=$(realpath "$0")
srcdir=$(realpath "${srcdir:-$(dirname "$self")/..}") builddir=$(realpath "${builddir:-.}")
pairs=${1:-5}
if [ -z "${WHO_INSIDE:-}" ]; then
    export WHO_INSIDE=1 srcdir builddir
    exec "$srcdir/tests/own-root" "$self" "$pairs"
fi
mkdir -p /w/f /run/who /etc/fawatchd
"${CC:-gcc}" -O2 -o /w/who-price "$srcdir/bench/who-price.c"
cat >/run/who/rules.conf <<'R'
watch: { w: { path = "/w/f"; events = "delete"; }; };
R
pid= hogs=
begin() { # SETTING
    echo "process_tracking = \"$1\";" >/etc/fawatchd/fawatchd.conf
    "$builddir/fawatchd" --log=stdout --rules=/run/who/rules.conf >/run/who/out 2>/run/who/err &
    pid=$!
    sleep 0.5
}
end() { kill $pid; wait $pid || true; pid=; }
trap 'kill $pid $hogs 2>/dev/null || true' EXIT

measure() { # HOGS
    local i setting
    for ((i = 0; i < $1; i++)); do
        (while :; do :; done) &
        hogs+=" $!"
    done
    for ((i = 0; i < pairs; i++)); do
        for setting in off auto; do
            begin $setting
            echo "$setting $(/w/who-price /usr/bin/touch 100)"
            end
        done
    done | awk -v hogs="$1" '
        { if (!($1 in best) || $2 < best[$1]) best[$1] = $2; sum[$1] += $2 }
        END { printf "%d processors busy: off %.0f us, tracker %.0f us: %.3f (mean %.3f)\n", hogs,
              best["off"], best["auto"], best["auto"] / best["off"], sum["auto"] / sum["off"] }'
    [ -z "$hogs" ] || kill $hogs
    hogs=
}
cpus=$(nproc)
measure 0
measure $((cpus - 1))

begin auto
ticks() { awk '{ print $14 + $15 }' /proc/$pid/stat; }
before=$(ticks)
sleep 5
echo "idle for 5 s: $(($(ticks) - before)) ticks of processor time"
/w/who-price bomb 20000
sleep 3
touch /w/f/after && rm /w/f/after
sleep 1
echo "after the fork bomb: $(awk '/VmHWM/ { print $2 " kB at most" }' /proc/$pid/status)"
end
grep -o '"message":"[^"]*"' /run/who/out | tail -1
cat /run/who/err
