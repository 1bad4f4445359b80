#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# More process events than can be taken in: the tracker says so, and recovers.  Needs root
# and a machine that is thrown away: a guest of tests/run-kernel with systemd as its PID 1.
# Speaks TAP.
#
# who-lost.sh [BUILDDIR]
set -u
. "$(dirname "$0")/../tap.sh"
build=${1:-$builddir}
reason=
[ "$(id -u)" = 0 ] || reason='needs root'
[ "$(readlink /proc/self/ns/pid)" = 'pid:[4026531836]' ] || reason='not in the initial pid namespace'
[ "$(cat /proc/1/comm)" = systemd ] || reason='PID 1 is not systemd'
systemctl -q is-active fawatchd && reason='fawatchd runs here'
[ -z "$reason" ] || skip_all "$reason"

dir=/run/who-lost
mkdir -p $dir /etc/fawatchd/rules.d
chmod 0750 /etc/fawatchd/rules.d
mount -t tmpfs -o mode=755 who $dir
mkdir $dir/f
echo "watch: { w: { path = \"$dir/f\"; events = \"create\"; coalesce = \"0\"; }; };" >/etc/fawatchd/rules.d/w.conf
cat >$dir/forks.c <<'C'
#include <sys/wait.h>
#include <unistd.h>
int main(void)
{
        for (int i = 0; i < 40000; i++) {
                if (fork() == 0)
                        _exit(0);
                wait(0);
        }
        return 0;
}
C
"${CC:-gcc}" -O2 -static -o $dir/forks $dir/forks.c
cp /usr/bin/touch $dir/touch
systemd-run -q --unit=fawatchd --property=Type=notify --property=RuntimeDirectory=fawatchd \
    --property=StateDirectory=fawatchd "$build/fawatchd" || { not_ok 'it starts' "$(journalctl -u fawatchd)"; tap_done; }
trap 'systemctl kill -s CONT fawatchd; systemctl stop fawatchd; umount -l $dir' EXIT

status() { "$build/fawatchctl" status --json | jq -r "$1"; }
verdict 'it tracks' "$([ "$(status .process_tracking)" = 'process events' ] || status .process_tracking)"
verdict 'nothing was lost' "$([ "$(status .processes.events_lost)" = 0 ] || status .processes)"
systemctl kill -s STOP fawatchd
$dir/forks
systemctl kill -s CONT fawatchd
lost() { [ "$(status .processes.events_lost)" -gt 0 ]; }
wait_for lost && ok 'it says that events were lost' || not_ok 'it says that events were lost' "$(status .processes)"
complete() { [ "$(status .processes.complete)" = true ]; }
wait_for complete && ok 'the table is complete again' || not_ok 'the table is complete again' "$(status .processes)"
for i in {1..20}; do $dir/touch $dir/f/$i; done
records() { journalctl --sync; journalctl -q -u fawatchd -o json | jq -c 'select(.FAWATCH_PATH)'; }
told() { records | grep -q "$dir/f/20\""; }
wait_for told
wrong=$(records | jq -r 'select(.FAWATCH_COMM and .FAWATCH_COMM != "touch")')
verdict 'nobody else is named' "$wrong"
named=$(records | jq -r 'select(.FAWATCH_COMM == "touch").FAWATCH_PATH' | wc -l)
[ "$named" -ge 19 ] && ok 'who writes is named again' || not_ok 'who writes is named again' "$(records)"
tap_done
