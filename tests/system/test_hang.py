# SPDX-License-Identifier: LGPL-2.1-or-later
"""A FUSE filesystem whose process does not answer: nothing else waits for it."""

import pytest

from harness import wait_until

PATIENCE = 60
RULES = 'watch: { r: { path = "/t"; events = "create"; coalesce = "0"; }; };\n'


@pytest.fixture
def fuse(machine, w):
    """bindfs at /t/fuse, with the process id in /run/bindfs.pid; answers again at the end."""
    if machine.sh("command -v bindfs && grep -qw fuse /proc/filesystems", check=False).status != 0:
        pytest.skip("no bindfs, or no FUSE here")
    machine.sh("[ -e /dev/fuse ] || mknod -m 666 /dev/fuse c 10 229; mkdir -p /t/from /t/fuse")
    # not exec: what waits for the shell would stop with it
    server = machine.spawn("bindfs -f /t/from /t/fuse & echo $! > /run/bindfs.pid; wait")
    wait_until(lambda: machine.sh("mountpoint -q /t/fuse", check=False).status == 0, "the FUSE mount", PATIENCE)
    yield "/t/fuse"
    machine.sh("kill -CONT $(cat /run/bindfs.pid); umount -l /t/fuse; kill $(cat /run/bindfs.pid)", check=False)
    server.wait(timeout=PATIENCE)


def stop(machine):
    machine.sh("kill -STOP $(cat /run/bindfs.pid)")


def fed(fawatchd):
    return int(fawatchd.property("WatchdogTimestampMonotonic"))


def assert_the_rest_goes_on(fawatchd, machine, name):
    """Events elsewhere are recorded, rules are loaded, and the watchdog is fed twice and again."""
    machine.sh(f"touch /t/w/{name}{{1..20}}")
    assert {f"/t/w/{name}{i}" for i in range(1, 21)} <= {r.get("path") for r in fawatchd.records()}
    fawatchd.reload()
    machine.sh(f"touch /t/w/{name}")
    assert f"/t/w/{name}" in {r.get("path") for r in fawatchd.records()}
    for _ in range(2):
        before = fed(fawatchd)
        wait_until(lambda: fed(fawatchd) > before, "the watchdog is fed", PATIENCE)
    assert fawatchd.property("NRestarts") == "0"


def coverage(fawatchd, point):
    found = [f for f in fawatchd.ctl_status("coverage")["filesystems"] if f["mountpoint"] == point]
    assert len(found) <= 1, found
    return found[0] if found else {"state": "unknown"}


@pytest.mark.parametrize("hangs", ["before the start", "while it runs"])
def test_hung_fuse(fawatchd, machine, fuse, hangs):
    machine.write("/etc/systemd/system/fawatchd.service.d/watchdog.conf", "[Service]\nWatchdogSec=8s\n")
    machine.sh("systemctl daemon-reload")
    if hangs == "before the start":
        stop(machine)
    fawatchd.start(RULES)
    stop(machine)
    assert_the_rest_goes_on(fawatchd, machine, "a")
    # another mount, which makes it look at all of them again
    machine.mount("tmpfs", "/t/other")
    wait_until(lambda: coverage(fawatchd, "/t/other")["state"] == "covered", "the new mount is covered", PATIENCE)
    assert_the_rest_goes_on(fawatchd, machine, "b")
    hung = coverage(fawatchd, fuse)
    assert (hung["state"], hung["error"]) == ("not covered", "ETIMEDOUT")
    assert "does not answer" in hung["how"]
