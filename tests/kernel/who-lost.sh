#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# More process events than can be taken in: the tracker says so, and recovers.  Needs root
# and the initial pid and network namespaces; runs in a root of its own.  Speaks TAP.
#
# who-lost.sh [BUILDDIR]
set -u
self=$(realpath "$0")
. "$(dirname "$self")/../tap.sh"
[ "$(id -u)" = 0 ] || skip_all 'needs root'
[ "$(readlink /proc/self/ns/pid)" = 'pid:[4026531836]' ] || skip_all 'not in the initial pid namespace'
build=$(realpath "${1:-$builddir}")
if [ -z "${WHO_INSIDE:-}" ]; then
    export WHO_INSIDE=1
    exec "$(dirname "$self")/../own-root" "$self" "$build"
fi
mkdir -p /w/f /w/other /run/fawatchd /etc/fawatchd/rules.d /var/lib/fawatchd
chmod 0750 /etc/fawatchd/rules.d
echo 'watch: { w: { path = "/w/f"; events = "create"; coalesce = "0"; }; };' >/etc/fawatchd/rules.d/w.conf
cat >/w/forks.c <<'C'
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
"${CC:-gcc}" -O2 -static -o /w/forks /w/forks.c
cp /usr/bin/touch /w/touch
"$build/fawatchd" 2>/run/err &
daemon=$!
trap 'kill -CONT $daemon; kill $daemon; wait $daemon' EXIT
sleep 1
status() { "$build/fawatchctl" status --json | jq -r "$1"; }
verdict 'it tracks' "$([ "$(status .process_tracking)" = 'process events' ] || status .process_tracking)"
verdict 'nothing was lost' "$([ "$(status .processes.events_lost)" = 0 ] || status .processes)"
kill -STOP $daemon
/w/forks
kill -CONT $daemon
sleep 0.2
[ "$(status .processes.events_lost)" -gt 0 ] && ok 'it says that events were lost' ||
    not_ok 'it says that events were lost' "$(status .processes)"
sleep 3
verdict 'the table is complete again' "$([ "$(status .processes.complete)" = true ] || status .processes)"
"$build/fawatchctl" follow --json >/run/follow &
follow=$!
sleep 0.5
for i in 1 2 3 4 5; do /w/touch /w/f/$i; done
sleep 1
kill $follow
wait $follow 2>/dev/null
named=$(jq -r 'select(.comm == "touch") | .path' /run/follow | wc -l)
wrong=$(jq -r 'select(.comm and .comm != "touch")' /run/follow)
verdict 'nobody else is named' "$wrong"
[ "$named" -ge 4 ] && ok "who writes is named again" || not_ok "who writes is named again" "$(cat /run/follow)"
tap_done
