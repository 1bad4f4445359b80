#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The clock is set by an hour, there and back, and all processes are frozen: under a writer no
# record is lost, told twice or told in another order, none is taken for a gap, and verify
# finds the journal complete.  Needs root and a machine whose clock may be set: a guest of
# tests/run-kernel with systemd as its PID 1.  Speaks TAP.
#
# clock.sh [BUILDDIR]
set -u
. "$(dirname "$0")/../tap.sh"
build=${1:-$builddir}
reason=
[ "$(id -u)" = 0 ] || reason='needs root'
[ "$(cat /proc/1/comm)" = systemd ] || reason='PID 1 is not systemd'
[ "$(systemd-detect-virt --vm)" != none ] || reason='sets the clock: only in a virtual machine'
systemctl -q is-active fawatchd && reason='fawatchd runs here'
[ -z "$reason" ] || skip_all "$reason"

dir=/run/clock
mkdir -p $dir /etc/fawatchd/rules.d
chmod 0750 /etc/fawatchd/rules.d
mount -t tmpfs -o mode=755 clock $dir
mkdir $dir/f
mkfifo $dir/pause
echo "watch: { w: { path = \"$dir/f\"; events = \"create\"; coalesce = \"0\"; }; };" >/etc/fawatchd/rules.d/w.conf
echo 'heartbeat = "6s";' >/etc/fawatchd/fawatchd.conf
systemd-run -q --unit=fawatchd --property=Type=notify --property=RuntimeDirectory=fawatchd \
    --property=StateDirectory=fawatchd "$build/fawatchd" || { not_ok 'it starts' "$(journalctl -u fawatchd)"; tap_done; }
trap 'touch $dir/stop; wait; systemctl stop fawatchd; umount -l $dir' EXIT

# numbered files, some 50 a second; in the end how many there are
writer() {
    local i=0
    while ! [ -e $dir/stop ]; do
        i=$((i + 1))
        : >$dir/f/$i
        read -r -t 0.02 <>$dir/pause
    done
    echo $i >$dir/count
}
written() { # N: so many more than now
    local until=$(($(ls $dir/f | wc -l) + $1))
    wait_for eval "[ \$(ls $dir/f | wc -l) -ge $until ]"
}
gaps() { journalctl -q -u fawatchd -o json --output-fields=MESSAGE,FAWATCH_GAP | jq -r 'select(.FAWATCH_GAP).MESSAGE'; }

writer &
written 100
for step in '+1 hour' '-1 hour' '-1 hour' '+1 hour'; do
    date -s "$step" >/dev/null
    written 100
    verdict "the clock is set by $step" "$(gaps)"
done
# All processes are frozen for five seconds, as for a suspend; devices stay awake: a guest whose
# root is over 9p did not come back from a whole one.
if [ -e /sys/power/pm_test ]; then
    wrong=$({ echo freezer >/sys/power/pm_test && echo freeze >/sys/power/state; } 2>&1)
    written 100
    verdict 'all processes are frozen for a while' "$wrong$(gaps)"
else
    skip 'all processes are frozen for a while' 'this kernel has no /sys/power/pm_test'
fi
touch $dir/stop
wait
count=$(cat $dir/count)
echo "# $count files"
wait_for eval "journalctl --sync; journalctl -q FAWATCH_PATH=$dir/f/$count -o cat | grep -q ."
journalctl -q -u fawatchd -o json --all | jq -r 'select(.FAWATCH_SEQ) | "\(.FAWATCH_SEQ) \(.FAWATCH_PATH // "-")"' |
    sort -n >$dir/records
verdict 'each number is there once' "$(cut -d' ' -f1 $dir/records | diff - <(seq "$(wc -l <$dir/records)") | head)"
verdict 'each file is told once, in the order made' \
    "$(sed -n "s|.* $dir/f/||p" $dir/records | diff - <(seq "$count") | head)"
answer=$("$build/fawatchctl" verify) && ok 'verify finds all' || not_ok 'verify finds all' "$answer"
tap_done
