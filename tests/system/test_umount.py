# SPDX-License-Identifier: LGPL-2.1-or-later
"""Who writes and then unmounts is never told EBUSY because fawatchd looks at the filesystem."""

import os

import pytest

CYCLES = int(os.environ.get("FAWATCHD_CYCLES", "60"))

# Nothing that is learned: reading fdinfo of a group with an evictable mark on a filesystem that
# is being unmounted can lock the group's mutex for good (fanotify_show_fdinfo() puts the inode
# with the mutex held, Linux 6.18), and the umount with it.
RULES = """
    watch: { w: { path = "/t/w"; coalesce = "0"; }; file: { path = "/t/w/known"; scope = "file"; }; };
"""

# Mounts live from no time at all up to some 60 ms: the umount meets the mount's probe, its
# marks, its adoption, and the reading of its events.
LOOP = """
import ctypes, errno, os, sys, time

fstype, source, cycles = sys.argv[1], sys.argv[2], int(sys.argv[3])
libc = ctypes.CDLL(None, use_errno=True)


def call(function, *arguments):
    return 0 if function(*arguments) == 0 else ctypes.get_errno()


busy = 0
for cycle in range(cycles):
    error = call(libc.mount, source.encode(), b"/t/w", fstype.encode(), 0, None)
    assert error == 0, os.strerror(error)
    os.makedirs("/t/w/deep", exist_ok=True)
    deadline = time.monotonic() + cycle % 20 * 0.003
    written = 0
    while written == 0 or time.monotonic() < deadline:
        for name in ("known", f"{written}", f"deep/{written}"):
            with open("/t/w/" + name, "w") as f:
                f.write("x")
        written += 1
        time.sleep(0.001)
    error = call(libc.umount2, b"/t/w", 0)
    busy += error != 0
    while error:
        assert error == errno.EBUSY, os.strerror(error)
        time.sleep(0.0001)
        error = call(libc.umount2, b"/t/w", 0)
print(busy)
"""


def cycle(machine, fstype, source):
    """In how many cycles umount(2) said EBUSY."""
    return int(machine.python(LOOP, fstype, source, CYCLES, timeout=600).out)


@pytest.fixture(params=["tmpfs", "ext4"])
def filesystem(request, machine):
    """Its type, and what mount(2) takes as the source."""
    if request.param == "tmpfs":
        yield request.param, "none"
        return
    device = machine.sh("truncate -s 64M /run/umount.img && mkfs.ext4 -q -F /run/umount.img && "
                        "losetup --find --show /run/umount.img").out.strip()
    yield request.param, device
    machine.sh(f"umount -l /t/w; losetup -d {device}; rm /run/umount.img", check=False)


def test_write_and_umount(fawatchd, machine, filesystem):
    machine.sh("mkdir -p /t/w")
    assert cycle(machine, *filesystem) == 0, "without fawatchd"
    fawatchd.start(RULES)
    # it holds a mount for some microseconds, unless it loses the processor just then: best of three
    busy = [cycle(machine, *filesystem)]
    while busy[-1] > 0 and len(busy) < 3:
        busy.append(cycle(machine, *filesystem))
    assert min(busy) == 0, busy
    assert fawatchd.records(), "nothing was seen of the filesystem: the loop shows nothing"
