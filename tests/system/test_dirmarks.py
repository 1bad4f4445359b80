# SPDX-License-Identifier: LGPL-2.1-or-later
"""Trees that are watched by marks on their directories: an overlay, and a FUSE filesystem."""

import pytest

from harness import wait_until

RULES = 'watch: { d: { path = "/t/w"; events = "create"; coalesce = "0"; limit = "0"; }; };'
DIRECTORIES, FILES = 75, 4  # by each of two processes

MAKE = {
    "overlay": "mkdir -p /t/w /t/l && mount -t tmpfs t /t/l && cd /t/l && mkdir lower upper work && "
               "mount -t overlay -o index=off,nfs_export=off,lowerdir=lower,upperdir=upper,workdir=work o /t/w",
    "bindfs": "[ -e /dev/fuse ] || mknod -m 666 /dev/fuse c 10 229; mkdir -p /t/w /t/from; bindfs /t/from /t/w",
}
STORM = """
import os, sys
who, directories, files = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
for d in range(directories):
    os.mkdir(f'/t/w/{who}-{d}')
    for f in range(files):
        with open(f'/t/w/{who}-{d}/{f}', 'w') as file: file.write('x')
"""


def need(machine, kind):
    fuse = kind == "bindfs"
    if fuse and machine.sh("command -v bindfs && grep -qw fuse /proc/filesystems", check=False).status != 0:
        pytest.skip("no bindfs here")


def storm(machine, *names):
    writers = [machine.spawn(["python3", "-B", "-c", STORM, name, str(DIRECTORIES), str(FILES)]) for name in names]
    for writer in writers:
        assert writer.wait(timeout=120) == 0
    made = [f"/t/w/{name}-{d}" for name in names for d in range(DIRECTORIES)]
    return made + [f"{directory}/{f}" for directory in made for f in range(FILES)]


def created(fawatchd):
    return sorted(r["path"] for r in fawatchd.records() if "create" in r.events)


def check(fawatchd, made):
    """Each object once: not before all are there can it be said that none came twice."""
    wait_until(lambda: set(made) <= set(created(fawatchd)), "all records", 60)
    assert created(fawatchd) == sorted(made)


def start(fawatchd, machine, kind):
    need(machine, kind)
    machine.sh(MAKE[kind])
    fawatchd.start(RULES)
    marked(fawatchd)


def marked(fawatchd):
    """Waits until no directory is left to mark; how many have one."""
    status = wait_until(lambda: (s := fawatchd.ctl_json("status")["directories"]) and not s["walking"] and s,
                        "the walk's end", 60)
    assert status["error"] is None and status["failed"] == 0
    return status["marks"]


@pytest.mark.parametrize("kind", MAKE)
def test_storm_restart_and_kill(fawatchd, machine, kind):
    start(fawatchd, machine, kind)
    made = storm(machine, "a", "b")
    check(fawatchd, made)
    number = marked(fawatchd)

    fawatchd.restart()
    assert marked(fawatchd) == number
    machine.sh("mkdir /t/w/after-restart; : > /t/w/a-0/after-restart")
    made += ["/t/w/after-restart", "/t/w/a-0/after-restart"]
    check(fawatchd, made)

    fawatchd.restarts_expected = True
    old = fawatchd.main_pid()
    machine.sh(f"kill -STOP {old}; mkdir -p /t/w/away/deep; : > /t/w/away/deep/f; : > /t/w/b-0/away")
    machine.sh("systemctl kill -s KILL fawatchd")
    wait_until(lambda: fawatchd.main_pid() not in (0, old) and fawatchd.property("ActiveState") == "active",
               "the next process", 60)
    marked(fawatchd)
    check(fawatchd, made + ["/t/w/away", "/t/w/away/deep", "/t/w/away/deep/f", "/t/w/b-0/away"])


def test_limit_is_a_gap(fawatchd, machine):
    machine.sh(MAKE["overlay"] + "; mkdir /t/w/1 /t/w/2 /t/w/3")
    fawatchd.start(RULES, settings="max_directory_marks = 2;")
    gap = wait_until(lambda: [g for g in fawatchd.ctl_status("coverage")["gaps"] if g["path"] == "/t/w" and g["error"]],
                     "the gap", 60)
    assert [(g["error"], g["weight"]) for g in gap] == [("ENOSPC", "not covered")]
    assert "max_directory_marks = 2 is reached" in gap[0]["reason"]
