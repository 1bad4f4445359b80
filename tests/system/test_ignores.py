# SPDX-License-Identifier: LGPL-2.1-or-later
"""Ignores against the running service: paths that are not as one thinks, and what an ignored place costs."""

import pytest

from harness import wait_until

WATCH = 'watch: { w: { path = "/t/w"; events = [ "create", "delete", "modify" ]; coalesce = "0"; limit = "0"; }; };\n'

# without starting programs: fawatchd is told of each of those
CHURN = """
import os, sys
directory, n = sys.argv[1], int(sys.argv[2])
for i in range(n):
    name = f"{directory}/n{i}"
    fd = os.open(name, os.O_CREAT | os.O_WRONLY)
    os.write(fd, b"x")
    os.close(fd)
    os.unlink(name)
"""
FILES = 4000


def ignore(path, more=""):
    return WATCH + f'ignore: {{ i: {{ path = "{path}"; {more} }}; }};\n'


def paths(fawatchd):
    return {r["path"] for r in fawatchd.records()}


def read_during(fawatchd, machine, directory, files=FILES):
    """Events that the daemon read while files were made, written and removed there: three a file, if it is told;
    the barrier and the programs of the test itself are a few."""
    fawatchd.settle()
    before = fawatchd.ctl_json("status")["counters"]["events_read"]
    machine.python(CHURN, directory, files)
    fawatchd.settle()
    return fawatchd.ctl_json("status")["counters"]["events_read"] - before


def state(fawatchd, path, name="i"):
    """What became of the ignore, as explained for one of its paths."""
    rules = fawatchd.ctl_json("explain", path)["paths"][0]["rules"]
    return next(r["state"] for r in rules if r["name"] == name)


# What is there before, the ignored path, and the directory that is churned in: nothing of it is recorded, and
# behind the first event of a directory nothing is read.
@pytest.mark.parametrize("before, path, directory", [
    ("mkdir /t/w/d", "/t/w/d", "/t/w/d"),
    ("true", "/t/w/gone", "/t/w/gone"),
    ("mkdir -p /t/w/d; ln -s d /t/w/link", "/t/w/link", "/t/w/d"),
    ("mkdir -p /t/w/a/b/c", "/t/w/a", "/t/w/a/b/c"),
], ids=["there", "vanished", "link", "deep"])
def test_ignored_path(fawatchd, machine, w, before, path, directory):
    machine.sh(before)
    fawatchd.start(ignore(path))
    machine.sh(f"mkdir -p {directory}; : > {directory}/first")
    assert read_during(fawatchd, machine, directory) < FILES
    machine.sh(": > /t/w/seen")
    assert paths(fawatchd) == {"/t/w/seen"}


def test_ignored_where_nothing_can_be_marked(fawatchd, machine, w):
    fawatchd.start(WATCH + 'ignore: { p: { path = "/proc/sys"; }; d: { path = "/t/w/d"; }; };\n')
    machine.sh("mkdir /t/w/d; : > /t/w/d/f; : > /t/w/seen")
    assert paths(fawatchd) == {"/t/w/seen"}
    assert "on a pseudo filesystem: nothing there is watched" in fawatchd.ctl("explain", "/proc/sys").out
    assert state(fawatchd, "/t/w/d", "d").startswith("in the kernel")


def test_ignored_while_open_for_writing(fawatchd, machine, w):
    """Other than for a mark that ends with the first change, it makes no difference."""
    machine.sh("touch /t/w/f")
    writer = machine.spawn("exec 3>>/t/w/f; echo open; read -r line; echo x >&3; echo written; read -r line", stdin=-1)
    try:
        assert writer.stdout.readline() == b"open\n"
        fawatchd.start(ignore("/t/w/f", 'scope = "file"; events = "modify";'))
        assert state(fawatchd, "/t/w/f") == "in the kernel"
        writer.stdin.write(b"\n")
        writer.stdin.flush()
        assert writer.stdout.readline() == b"written\n"
        assert fawatchd.records() == []
    finally:
        writer.communicate(timeout=30)


def test_unlink_in_an_ignored_directory_is_nothing(fawatchd, machine, anyfs):
    """The link count that changes is an event of an object without a name."""
    machine.sh("mkdir /t/w/d; touch /t/w/d/old")
    fawatchd.start('watch: { w: { path = "/t/w"; coalesce = "0"; }; }; ignore: { i: { path = "/t/w/d"; }; };')
    machine.sh("rm /t/w/d/old; touch /t/w/d/new; ln /t/w/d/new /t/w/d/link; rm /t/w/d/new /t/w/d/link; : > /t/w/seen")
    assert paths(fawatchd) == {"/t/w/seen"}


# CHURN in each directory, told to an independent group of its own beside fawatchd's: how many events that saw.
COUNTED = """
import ctypes, struct
libc = ctypes.CDLL(None, use_errno=True)
FAN_NONBLOCK, FAN_UNLIMITED_QUEUE, FAN_REPORT_DFID_NAME = 0x2, 0x10, 0xc00
FAN_MARK_ADD, FAN_MARK_FILESYSTEM = 0x1, 0x100
FAN_MODIFY, FAN_CREATE, FAN_DELETE, FAN_EVENT_ON_CHILD = 0x2, 0x100, 0x200, 0x08000000
group = libc.fanotify_init(FAN_NONBLOCK | FAN_UNLIMITED_QUEUE | FAN_REPORT_DFID_NAME, 0)
assert group >= 0 and libc.fanotify_mark(group, FAN_MARK_ADD | FAN_MARK_FILESYSTEM, ctypes.c_uint64(
    FAN_MODIFY | FAN_CREATE | FAN_DELETE | FAN_EVENT_ON_CHILD), -100, b"/t/w") == 0, ctypes.get_errno()

def told():
    n = 0
    while True:
        try:
            events = os.read(group, 1 << 20)
        except BlockingIOError:
            return n
        at = 0
        while at < len(events):
            at += struct.unpack_from("I", events, at)[0]
            n += 1
"""


def test_a_hundred_thousand_events(fawatchd, machine, w):
    """... are nothing to us, as another group proves that there were so many files."""
    files, directories = 34000, ["/t/w/dir", "/t/w/tree", *(f"/t/w/tree/{i}" for i in range(8))]
    machine.sh(["mkdir", "-p", *directories])
    fawatchd.start(WATCH + """
        ignore: { d: { path = "/t/w/dir"; scope = "directory"; }; t: { path = "/t/w/tree"; }; };""")
    machine.python('import sys\nfor d in sys.argv[1:]: open(f"{d}/first", "w").close()', *directories)
    fawatchd.settle()
    before = fawatchd.ctl_json("status")["counters"]
    code = CHURN.split("for i in", 1)
    body = "for i in" + code[1].replace('f"{directory}/n{i}"', 'f"{directories[i % len(directories)]}/n{i}"')
    seen = machine.python("import os, sys\nn, directories = int(sys.argv[1]), sys.argv[2:]\n" + COUNTED + body +
                          "print(told())\n", files, *directories).out
    fawatchd.settle()
    after = fawatchd.ctl_json("status")["counters"]
    assert int(seen) >= files
    assert after["events_ignored"] - before["events_ignored"] <= len(directories)
    # the test's own programs and its barrier are read, too
    assert after["events_read"] - before["events_read"] < files / 10
    assert fawatchd.records() == []


def test_ignores_that_change_lose_nothing_beside_them(fawatchd, machine, w):
    """A writer makes numbered files in turn where it is always watched and where it is ignored now and then."""
    machine.sh("mkdir -p /t/w/always /t/w/now/and /t/w/then")
    rules = [ignore("/t/w/now"), ignore("/t/w/then"), WATCH]
    fawatchd.start(rules[0])
    writer = machine.spawn(["python3", "-B", "-c", """
import os, time
i = 0
while not os.path.exists("/run/enough"):
    for d in "always", "now/and", "then":
        open(f"/t/w/{d}/{i}", "w").close()
    i += 1
    time.sleep(0.002)
print(i)
"""])
    try:
        wait_until(lambda: machine.exists("/t/w/then/0"), "the first files", 60)
        for turn in range(1, 13):
            fawatchd.rules(rules[turn % len(rules)])
    finally:
        machine.sh(": > /run/enough")
        count = int(writer.communicate(timeout=60)[0])
        machine.sh("rm /run/enough")
    created = [r for r in fawatchd.records() if "create" in r.events]
    numbers = {d: [int(r["path"].rsplit("/", 1)[1]) for r in created if r["path"].startswith(f"/t/w/{d}/")]
               for d in ("always", "now", "then")}
    assert sorted(numbers["always"]) == list(range(count))
    assert all(len(n) == len(set(n)) for n in numbers.values())
    generations = [int(r["generation"]) for r in created]
    assert generations == sorted(generations) and generations[-1] >= 12
    # each was watched for a while
    assert numbers["now"] and numbers["then"]


def test_a_rule_without_renames_learns_too(fawatchd, machine, w):
    machine.sh("mkdir /t/w/other")
    fawatchd.start('watch: { w: { path = "/t/w/one"; events = "modify"; coalesce = "0"; }; };\n')
    machine.sh("mkdir /t/w/one; echo x > /t/w/other/f")
    assert read_during(fawatchd, machine, "/t/w/other") < FILES
    # the directory comes to where the rule looks, and its mark must not
    machine.sh("mv /t/w/other /t/w/one/other")
    fawatchd.settle()
    machine.sh("echo x >> /t/w/one/other/f")
    assert paths(fawatchd) == {"/t/w/one/other/f"}
