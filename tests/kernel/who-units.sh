#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Units, sessions, users and containers of processes that are gone, exact.  Needs root, and
# systemd as PID 1 in the initial pid and network namespaces (a machine, or a guest of
# tests/run-kernel): in a container the process connector is silent.  Speaks TAP.
#
# who-units.sh [FAWATCHD]
set -u
. "$(dirname "$0")/../tap.sh"
fawatchd=${1:-${builddir:-.}/fawatchd}
reason=
[ "$(id -u)" = 0 ] || reason='needs root'
[ "$(readlink /proc/self/ns/pid)" = 'pid:[4026531836]' ] || reason='not in the initial pid namespace'
[ "$(cat /proc/1/comm)" = systemd ] || reason='PID 1 is not systemd'
[ -z "$reason" ] || skip_all "$reason"

dir=$(mktemp -d /run/who-units.XXXXXX)
mount -t tmpfs -o mode=755 who "$dir"
mkdir -m 1777 "$dir/f"
mkdir "$dir/bin"
for program in touch sh unshare; do cp "$(command -v $program)" "$dir/bin/"; done
cat >"$dir/rules.conf" <<R
watch: {
  w: { path = "$dir/f"; events = "create"; coalesce = "0"; };
  nodes: { path = "/dev"; events = "create"; coalesce = "0"; };
};
R
"$fawatchd" --log=stdout --rules="$dir/rules.conf" >"$dir/out" 2>"$dir/err" &
watcher=$!
user=nobody uid=$(id -u nobody)
cleanup() {
    kill $watcher 2>/dev/null
    wait $watcher
    systemctl stop "user@$uid.service" 2>/dev/null
    rm -f /run/systemd/system/who-units@.service
    umount -l "$dir" && rmdir "$dir"
}
trap cleanup EXIT

# It watches, and has seen all processes that there were when it began.
warm() {
    "$dir/bin/sh" -c "$dir/bin/touch $dir/f/warm-\$\$; :"
    grep -q '"path":"[^"]*/warm-.*"ancestry":"[^"]*systemd(1)' "$dir/out"
}
wait_for warm || echo "# not ready: $(cat "$dir/out" "$dir/err")"

# expect NAME [in FOLDER] FIELD=VALUE...: the record of that file; VALUE "-" means that it is absent
expect() {
    local name=$1 field got wrong= line path=$dir/f/$1
    shift
    [ "$1" != in ] || { path=$2/$name; shift 2; }
    wait_for grep -q "\"path\":\"$path\".*}\$" "$dir/out"
    line=$(grep -m 1 "\"path\":\"$path\"" "$dir/out")
    for field; do
        got=$(jq -r ".${field%%=*} // \"-\"" <<<"${line:-"{}"}")
        [[ $got == ${field#*=} ]] || wrong+="${field%%=*} is $got, not ${field#*=}"$'\n'
    done
    [ -z "$wrong" ] || wrong+=$line
    verdict "$name" "$wrong"
}

systemd-run -q --wait --unit=who-service "$dir/bin/touch" "$dir/f/service"
expect service unit=who-service.service slice=system.slice user_unit=- container=- comm=touch uid=0 \
    exe="$dir/bin/touch" 'attribution=@(tracked|verified)' parent_comm=systemd loginuid=-

cat >/run/systemd/system/who-units@.service <<U
[Service]
Type=oneshot
User=$user
ExecStart=$dir/bin/touch $dir/f/template-%i
U
systemctl daemon-reload
systemctl start who-units@one.service
expect template-one unit=who-units@one.service slice='system-who*.slice' uid="$uid" user=$user comm=touch

systemd-run -q --on-active=100ms --unit=who-timer "$dir/bin/touch" "$dir/f/timer"
expect timer unit=who-timer.service slice=system.slice comm=touch

systemd-run -q --scope --unit=who-scope "$dir/bin/touch" "$dir/f/scope"
expect scope unit=who-scope.scope slice=system.slice comm=touch

# what a login does: a scope for the session, the login user, then the user's own id
systemd-run -q --scope --slice=user-$uid.slice --unit=session-77 "$dir/bin/sh" -c "
    echo $uid >/proc/self/loginuid
    setpriv --reuid=$uid --clear-groups $dir/bin/sh -c '$dir/bin/touch $dir/f/session; : '"
expect session unit=session-77.scope slice=user-$uid.slice uid="$uid" loginuid="$uid" login_user=$user comm=touch \
    'session=+([0-9])'

if systemctl start "user@$uid.service" 2>/dev/null; then
    setpriv --reuid="$uid" --regid="$uid" --clear-groups env XDG_RUNTIME_DIR="/run/user/$uid" \
        systemd-run -q --user --wait --unit=who-user "$dir/bin/touch" "$dir/f/user-service" 2>"$dir/user.err"
    expect user-service unit="user@$uid.service" user_unit=who-user.service uid="$uid" comm=touch
else
    skip user-service 'no user manager starts here'
fi

systemd-run -q --scope --slice=machine.slice --unit=machine-who "$dir/bin/unshare" --pid --mount --fork \
    "$dir/bin/touch" "$dir/f/container"
expect container unit=machine-who.scope slice=machine.slice container=who comm=touch 'pid=+([0-9])'

# the parent is gone before its child writes
systemd-run -q --wait --unit=who-orphan -p KillMode=none -p Type=oneshot "$dir/bin/sh" -c \
    "( sleep 0.3; $dir/bin/touch $dir/f/orphan; : ) & exec true"
expect orphan unit=who-orphan.service comm=touch 'ancestry=*sh(*)*systemd(1)'

# a device node is made by a thread of the kernel, whose root would be a wrong name
python3 -c '
import fcntl, os
fd = os.open("/dev/loop-control", os.O_RDWR)
LOOP_CTL_ADD, LOOP_CTL_REMOVE = 0x4C80, 0x4C81
fcntl.ioctl(fd, LOOP_CTL_ADD, 4711)
fcntl.ioctl(fd, LOOP_CTL_REMOVE, 4711)'
expect loop4711 in /dev attribution=kernel comm=kdevtmpfs 'pid=+([0-9])' uid=- user=- unit=- exe=- cmdline=-
tap_done
