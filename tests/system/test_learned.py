# SPDX-License-Identifier: LGPL-2.1-or-later
"""Ignores that are learned, one event a directory: evicted by the kernel, and very many."""

import os

import pytest

from harness import wait_until

DROP_CACHES = "/proc/sys/vm/drop_caches"

RULES = """
    watch: { w: { path = "/t/w"; coalesce = "0"; limit = "0"; }; };
    ignore: { i: { path = "/t/w/ignored"; scope = "tree"; }; };
"""

# one event a directory: the times of the file in it
TOUCH = """
import os, sys
for i in range(int(sys.argv[1])):
    os.utime(f"/t/w/ignored/{i}/f")
"""

MAKE = """
import os, sys
os.makedirs("/t/w/ignored")
for i in range(int(sys.argv[1])):
    os.mkdir(f"/t/w/ignored/{i}")
    os.close(os.open(f"/t/w/ignored/{i}/f", os.O_CREAT | os.O_WRONLY))
"""


def counters(fawatchd):
    fawatchd.settle()
    return fawatchd.ctl_json("status")["counters"]


def touch(fawatchd, machine, directories):
    """What that cost: events told of the ignored tree, ignores learned, and learned again."""
    before = counters(fawatchd)
    machine.python(TOUCH, directories)
    after = counters(fawatchd)
    return [after[c] - before[c] for c in ("events_ignored", "ignores_learned", "ignores_renewed")]


def drop_caches(machine):
    """Also of this filesystem's inodes: only what is written back can be dropped."""
    machine.sh("sync --file-system /t/w")
    with open(DROP_CACHES, "w", encoding="ascii") as f:
        f.write("2\n")


@pytest.mark.parametrize("fstype", ["ext4", "xfs", "btrfs"])
def test_evicted_and_learned_again(fawatchd, machine, fstype):
    if not os.access(DROP_CACHES, os.W_OK):
        pytest.skip(f"{DROP_CACHES} cannot be written")
    directories = 40
    machine.mount(fstype, "/t/w")
    machine.python(MAKE, directories)
    fawatchd.start(RULES)
    wanted = []

    def turn():
        wanted.append(f"/t/w/wanted-{len(wanted)}")
        cost = touch(fawatchd, machine, directories)
        machine.sh(["touch", wanted[-1]])
        return cost

    # others may have the caches dropped at any time, too
    assert turn()[:2] == [directories, directories]
    wait_until(lambda: turn()[0] == 0, "a turn that costs nothing", 60)

    def evicted():
        drop_caches(machine)
        return turn()[0]

    renewed = counters(fawatchd)["ignores_renewed"]
    told = wait_until(evicted, "the eviction of an ignore", 60)
    assert told <= directories
    wait_until(lambda: turn()[0] == 0, "a turn that costs nothing again", 60)
    assert counters(fawatchd)["ignores_renewed"] - renewed >= told
    created = [r["path"] for r in fawatchd.records() if "create" in r.events]
    assert created == wanted


def test_very_many_directories(fawatchd, machine, w):
    """No walk at the start, one event a directory, and memory for so many marks."""
    directories = int(os.environ.get("FAWATCHD_DIRECTORIES", "30000"))
    machine.python(MAKE, directories)
    fawatchd.start(RULES)
    assert counters(fawatchd)["ignores_learned"] == 0
    assert touch(fawatchd, machine, directories) == [directories, directories, 0]
    assert touch(fawatchd, machine, directories) == [0, 0, 0]
    # the spool is a memfd of a fixed size: shared memory, not counted here
    anonymous = machine.sh(f"awk '/^RssAnon:/ {{ print $2 }}' /proc/{fawatchd.main_pid()}/status").out
    assert int(anonymous) < 80 * 1024
    assert fawatchd.records() == []
