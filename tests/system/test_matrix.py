# SPDX-License-Identifier: LGPL-2.1-or-later
"""The same operations on every kind of filesystem and mount: the same records, or a gap that says why.

What is expected of each is data: COVERED and READ_ONLY are seen whole, BY_DIRECTORIES where
each directory has its mark.  Nothing is silently missing.
"""

import shlex

import pytest

from harness import wait_until

PATIENCE = 60

OPERATIONS = """
    echo a > f; echo b >> f; chmod 600 f; mv f g; mkdir d; echo c > d/h; mv d e; rm e/h; rmdir e; rm g
"""
CHANGES = {
    "f": {"create", "modify", "close_write", "attrib"}, "d": {"create"}, "d/h": {"create", "modify", "close_write"},
    "e/h": {"delete"}, "e": {"delete"}, "g": {"delete"},
}
RENAMES = {("f", "g"), ("d", "e")}


COVERED, READ_ONLY, BY_DIRECTORIES = "covered", "read-only", "by directories"

BTRFS = ("truncate -s 128M /run/images/b; mkfs.btrfs -q -f /run/images/b; mkdir -p /t/top; "
         "mount -o loop /run/images/b /t/top; btrfs -q subvolume create /t/top/s; dev=$(findmnt -no SOURCE /t/top); ")
OVERLAY = ("mkdir /t/l && mount -t tmpfs t /t/l && mkdir -p /t/l/lower /t/l/upper /t/l/work /t/w && "
           "mount -t overlay -o {options}lowerdir=/t/l/lower,upperdir=/t/l/upper,workdir=/t/l/work o /t/w")

# name: how it is made (a shell command), what is expected, and where it differs from the default:
# the directory that the operations are done in (work), its canonical path (shown), the mount point that
# coverage speaks of (point), what is needed (needs: a filesystem of the kernel, or a program), how a command is
# run (via), what is done after the start (then)
KINDS = {
    "tmpfs": dict(make="mount -t tmpfs t /t/w", expect=COVERED),
    "ext4": dict(fstype="ext4", expect=COVERED),
    "xfs": dict(fstype="xfs", expect=COVERED),
    "vfat": dict(make="truncate -s 32M /run/images/v; mkfs.vfat /run/images/v >/dev/null; "
                      "mount -o loop /run/images/v /t/w",
                 expect=COVERED, needs=["vfat", "mkfs.vfat"]),
    "btrfs": dict(fstype="btrfs", expect=COVERED),
    "btrfs subvolume": dict(make=BTRFS + "mount -o subvol=s $dev /t/w", expect=COVERED, shown="/t/top/s",
                            point="/t/top", needs=["btrfs"]),
    "btrfs nested subvolume": dict(make=BTRFS + "btrfs -q subvolume create /t/top/s/n", expect=COVERED,
                                   work="/t/top/s/n", point="/t/top", needs=["btrfs"]),
    "btrfs lone subvolume": dict(make=BTRFS + "mount -o subvol=s $dev /t/w; umount /t/top", expect=BY_DIRECTORIES,
                                 needs=["btrfs"]),
    "overlay": dict(make=OVERLAY.format(options="index=off,nfs_export=off,"), expect=BY_DIRECTORIES),
    "overlay with nfs_export": dict(make=OVERLAY.format(options="index=on,nfs_export=on,"), expect=COVERED),
    "fuse": dict(make="[ -e /dev/fuse ] || mknod -m 666 /dev/fuse c 10 229; mkdir /t/from; bindfs /t/from /t/w",
                 expect=BY_DIRECTORIES, needs=["fuse", "bindfs"]),
    "squashfs": dict(make="mkdir -p /t/from/sub; echo x > /t/from/f; "
                     "mksquashfs /t/from /run/images/s -quiet -no-progress >/dev/null; "
                     "mount -o loop /run/images/s /t/w", expect=READ_ONLY, needs=["squashfs", "mksquashfs"]),
    "loop device": dict(make="truncate -s 32M /run/images/l; mkfs.ext4 -q -F /run/images/l; "
                        "mount $(losetup -f --show /run/images/l) /t/w; losetup -d $(findmnt -no SOURCE /t/w)",
                        expect=COVERED),
    "bind mount": dict(make="mkdir /t/o; mount -t tmpfs t /t/o; mkdir /t/o/d; mount --bind /t/o/d /t/w",
                       expect=COVERED, shown="/t/o/d", point="/t/o"),
    "mount over a watched directory": dict(make="mount -t tmpfs below /t/w", expect=COVERED,
                                           then="mount -t tmpfs above /t/w"),
    "mount namespace": dict(make="mount -t tmpfs t /t/w", expect=COVERED, via="unshare -m --propagation private"),
    "unmounted and mounted again": dict(fstype="ext4", expect=COVERED,
                                        then="dev=$(losetup -f --show $(findmnt -no SOURCE /t/w)); "
                                        "umount /t/w; mount $dev /t/w; losetup -d $dev"),
}


def need(machine, names):
    known = machine.read("/proc/filesystems").split()
    for name in names:
        if name not in known and machine.sh(f"command -v {name}", check=False).status != 0:
            pytest.skip(f"no {name} here")


def filesystem_at(fawatchd, point):
    found = [f for f in fawatchd.ctl_status("coverage")["filesystems"] if f["mountpoint"] == point]
    return found[0] if found else {"state": "unknown"}


def row_of(fawatchd):
    return [r for r in fawatchd.ctl_status("coverage")["rules"] if r["rule"] == "m"][0]


def changes(fawatchd, shown):
    """Renames, and the other events of each path."""
    below = len(shown) + 1
    records = [r for r in fawatchd.records() if r["path"].startswith(shown + "/")]
    renames = {(r["old_path"][below:], r["path"][below:]) for r in records if "rename" in r.events}
    seen = {}
    for r in records:
        seen.setdefault(r["path"][below:], set()).update(r.events - {"rename"})
    return renames, {path: events for path, events in seen.items() if events}


def check_by_directories(fawatchd, machine, work, shown):
    """A directory first, whose mark what follows is to meet; its group may be another one than the barrier's."""
    machine.sh(f"mkdir {work}/d")
    wait_until(lambda: changes(fawatchd, shown)[1] == {"d": {"create"}}, "the record of the directory", PATIENCE)
    machine.sh(f"cd {work} && {OPERATIONS.replace('mkdir d; ', '')}")
    wait_until(lambda: "g" in changes(fawatchd, shown)[1], "the last record", PATIENCE)
    assert changes(fawatchd, shown) == (RENAMES, CHANGES)


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS.keys())
def test_matrix(fawatchd, machine, kind):
    need(machine, kind.get("needs", []))
    work = kind.get("work", "/t/w")
    shown = kind.get("shown", work)
    point = kind.get("point", "/t/w")
    machine.sh("mkdir -p /t/w /run/images")
    if "fstype" in kind:
        machine.mount(kind["fstype"], "/t/w")
    else:
        machine.sh(kind["make"])
    machine.sh("rm -f /run/images/*")
    events = "change" if kind["expect"] != READ_ONLY else "open"
    fawatchd.start(f'watch: {{ m: {{ path = "{work}"; events = "{events}"; coalesce = "0"; }}; }};')
    if "then" in kind:
        looks = fawatchd.ctl_json("status")["mounts"]["looks"]
        machine.sh(kind["then"])
        wait_until(lambda: fawatchd.ctl_json("status")["mounts"]["looks"] > looks, "a look at the mounts", PATIENCE)
        wait_until(lambda: filesystem_at(fawatchd, point)["state"] == "covered", "coverage again", PATIENCE)
        fawatchd.mark()
    expect = kind["expect"]
    wait_until(lambda: not fawatchd.ctl_json("status")["directories"]["walking"], "the walk's end", PATIENCE)
    state = "partly covered" if expect == BY_DIRECTORIES else "covered"
    there, row = filesystem_at(fawatchd, point), row_of(fawatchd)
    assert (there["state"], row["state"]) == (state, state)
    if expect == BY_DIRECTORIES:
        assert "mark-failed" not in {g["kind"] for g in fawatchd.ctl_status("coverage")["gaps"]}
        assert "directory marks" in there["how"] and "first moments" in row["reason"]
    if expect == READ_ONLY:
        machine.sh(f"cat {work}/f")
        assert {r["path"] for r in fawatchd.records()} == {f"{shown}/f"}
        return
    if expect == BY_DIRECTORIES:
        check_by_directories(fawatchd, machine, work, shown)
        return
    machine.sh(f"{kind.get('via', '')} bash -c {shlex.quote(f'cd {work} && {OPERATIONS}')}")
    assert changes(fawatchd, shown) == (RENAMES, CHANGES)
