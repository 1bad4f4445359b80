# SPDX-License-Identifier: LGPL-2.1-or-later
"""What one process leaves to the next: marks that were learned, and a store that may hold anything."""

import pytest

from harness import wait_until

WATCHED = ('watch: { r: { path = "/t/w"; events = [ "create", "rename", "delete" ]; coalesce = "0"; }; };\n'
           'ignore: { d: { path = "/t/w/d"; }; };\n')
RULES = 'watch: { r: { path = "/t/w"; events = "create"; coalesce = "0"; }; };\n'

# Works on the descriptors that the service manager keeps, from inside of the service's cgroup.
# Commands, one a line: "drop NAME", "put NAME EXPRESSION" (the expression gives a descriptor).
STORE = r"""
import ctypes, fcntl, os, socket, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
cgroup, pid, commands = sys.argv[1], int(sys.argv[2]), sys.argv[3]
open(f'/sys/fs/cgroup{cgroup}/cgroup.procs', 'w').write(str(os.getpid()))
manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC)

def tell(text, fds=()):
    rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, struct.pack(f'{len(fds)}i', *fds))] if fds else []
    # the barrier of sd_notify_barrier(3): when the manager is through, it closes its end
    manager.sendmsg([text.encode()], rights, 0, '/run/systemd/notify')
    wait, theirs = os.pipe()
    manager.sendmsg([b'BARRIER=1'], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, struct.pack('i', theirs))], 0,
                    '/run/systemd/notify')
    os.close(theirs)
    os.read(wait, 1)

def sealed(size, seals=7):
    fd = os.memfd_create('fawatchd-test', os.MFD_ALLOW_SEALING)
    os.ftruncate(fd, size)
    fcntl.fcntl(fd, fcntl.F_ADD_SEALS, seals)
    return fd

def group(flags):
    fd = libc.fanotify_init(flags, 0)
    assert fd >= 0, os.strerror(ctypes.get_errno())
    return fd

for line in commands.splitlines():
    verb, name, *rest = line.split(None, 2)
    if verb == 'drop':
        tell(f'FDSTOREREMOVE=1\nFDNAME={name}')
    else:
        tell(f'FDSTORE=1\nFDNAME={name}', [eval(rest[0])])
"""


class Store:
    def __init__(self, fawatchd):
        self.fawatchd, self.machine = fawatchd, fawatchd.machine
        fawatchd.restarts_expected = True
        self.machine.write("/etc/systemd/system/fawatchd.service.d/store.conf", "[Service]\nNotifyAccess=all\n")
        self.machine.sh("systemctl daemon-reload")

    def change(self, commands):
        """Kills the daemon, with these things done to the store, and waits for the next one."""
        old = self.fawatchd.main_pid()
        self.machine.python(STORE, self.fawatchd.property("ControlGroup"), old, commands)
        self.kill()

    def kill(self, meanwhile=None):
        old = self.fawatchd.main_pid()
        if meanwhile:
            self.machine.sh(f"kill -STOP {old}; {meanwhile}")
        self.machine.sh("systemctl kill -s KILL fawatchd")
        wait_until(lambda: self.fawatchd.main_pid() not in (0, old) and
                   self.fawatchd.property("ActiveState") == "active", "the next process", 60)


# What is done to the store, and what the gaps must say of it, in this order (each kind of descriptor:
# tests/unit/test-keep.c).  Numbers of spool and rules begin with 1.
CASES = {
    "no group": ("drop group-main", ["group of the process before is missing"]),
    "something else for the group": ("drop group-main\nput group-main sealed(4096)", ["cannot be used"]),
    "a group of another kind, that blocks": ("drop group-main\nput group-main group(0x200)", ["made anew"]),
    "no spool, no rules": ("drop spool-1\ndrop rules-1\ndrop rules-2", ["spool of the process before is missing",
                                                                       "rules of the process before are missing"]),
    "a spool larger than the machine, rules that can be written, and what nobody knows": (
        "drop spool-1\nput spool-1 sealed(1 << 44)\nput rules-9 sealed(4096, 7)\nput something sealed(1)\n"
        "put group-mount-x sealed(1)", ["a quarter of the memory", "rules of the process before cannot be used"]),
}


def test_store_is_not_trusted(fawatchd, machine, w, kinds):
    """Whatever is in the store: the next process says what is missing, and watches."""
    store = Store(fawatchd)
    for number, (name, (commands, reasons)) in enumerate(CASES.items()):
        machine.sh("systemctl stop fawatchd; rm -f /var/lib/fawatchd/last-life")
        fawatchd.start(RULES)
        fawatchd.settle()
        fawatchd.begin = machine.cursor()
        store.change(commands)
        machine.sh(f"touch /t/w/after{number}")
        records = fawatchd.records(kinds="all")
        gaps = [r for r in records if r.fields["MESSAGE_ID"][0] == kinds["gap"]]
        assert [r["gap"] for r in gaps] == ["store"] * len(reasons), (name, gaps)
        for gap, reason in zip(gaps, reasons):
            assert reason in gap["reason"], name
        assert f"/t/w/after{number}" in {r.get("path") for r in records}, name
        assert fawatchd.property("NRestarts") == "1", name


class TestLearned:
    """A directory that was learned, and what becomes of it while nobody looks."""

    def prepare(self, fawatchd, machine):
        store = Store(fawatchd)
        machine.sh("mkdir -p /t/w/d/e/s /t/w/o")
        fawatchd.start(WATCHED)
        machine.sh("touch /t/w/d/e/f /t/w/d/e/s/f; sleep 0.1")
        fawatchd.settle()
        assert fawatchd.ctl_json("marks")["n_learned"] == 2
        machine.sh("touch /t/w/o/1; sleep 0.1")
        fawatchd.mark()
        machine.sh("touch /t/w/o/2")
        fawatchd.mark()
        return store

    def test_moved_out_over_a_kill(self, fawatchd, machine, w, kinds):
        store = self.prepare(fawatchd, machine)
        store.kill("mv /t/w/d/e /t/w/o/e; touch /t/w/o/e/away /t/w/o/e/s/away")
        machine.sh("touch /t/w/o/e/new /t/w/o/e/s/new")
        records = fawatchd.records()
        told = {r["path"]: r.get("origin") for r in records if r.events == {"create"}}
        assert told == {"/t/w/o/e/away": "scan", "/t/w/o/e/s/away": "scan", "/t/w/o/e/new": None,
                        "/t/w/o/e/s/new": None}
        assert [(r["old_path"], r["path"]) for r in records if "rename" in r.events] == [("/t/w/d/e", "/t/w/o/e")]
        assert fawatchd.of_kind(kinds["gap"], wait=False) == []
        assert fawatchd.ctl_json("marks")["n_learned"] == 0

    def test_stays_over_a_kill(self, fawatchd, machine, w):
        store = self.prepare(fawatchd, machine)
        store.kill()
        fawatchd.settle()
        assert fawatchd.ctl_json("status")["counters"]["ignores_inherited"] == 2
        assert fawatchd.ctl_json("marks")["n_learned"] == 2
        read = fawatchd.ctl_json("status")["counters"]["events_read"]
        machine.sh("touch /t/w/d/e/{1..100} /t/w/d/e/s/{1..100}")
        fawatchd.settle()
        assert fawatchd.ctl_json("status")["counters"]["events_read"] - read < 100
        assert fawatchd.records() == []

    def test_restart_takes_them_off(self, fawatchd, machine, w):
        """So that the next process can read its group's marks without harm."""
        self.prepare(fawatchd, machine)
        fawatchd.restart()
        fawatchd.settle()
        assert fawatchd.ctl_json("status")["counters"]["ignores_inherited"] == 0
        assert fawatchd.ctl_json("marks")["n_learned"] == 0
        machine.sh("touch /t/w/d/e/again")
        fawatchd.settle()
        assert fawatchd.ctl_json("marks")["n_learned"] == 1
        assert fawatchd.records() == []


# Takes the mark of a filesystem off a group of another process.
BEHIND = """
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
pid, where, flags = int(sys.argv[1]), sys.argv[2], int(sys.argv[3])
pidfd = libc.syscall(434, pid, 0)
fds = [int(n) for n in os.listdir(f'/proc/{pid}/fd') if os.readlink(f'/proc/{pid}/fd/{n}') == 'anon_inode:[fanotify]']
fd = libc.syscall(438, pidfd, fds[0], 0)
assert fd >= 0, os.strerror(ctypes.get_errno())
done = libc.fanotify_mark(fd, flags, ctypes.c_uint64(0x50001fff), -100, where.encode())
assert done == 0, os.strerror(ctypes.get_errno())
"""


@pytest.mark.parametrize("learned", [False, True])
def test_mark_taken_off_behind_its_back(fawatchd, machine, w, learned):
    """Seen on demand, placed again, counted and logged once: from fdinfo, and without it."""
    machine.sh("mkdir -p /t/w/d/e")
    fawatchd.start(WATCHED)
    if learned:
        machine.sh("touch /t/w/d/e/f")
    fawatchd.settle()
    before = fawatchd.ctl_json("status")["counters"]["marks_repaired"]
    machine.python(BEHIND, fawatchd.main_pid(), "/t/w", 0x2 | 0x100)
    machine.sh("touch /t/w/lost")
    fawatchd.settle()
    marks = fawatchd.ctl_json("marks")
    assert {m["state"] for m in marks["marks"]} == {"placed"} and marks["n_learned"] == int(learned)
    assert fawatchd.ctl_json("status")["counters"]["marks_repaired"] == before + 1
    fawatchd.ctl_json("marks")
    machine.sh("touch /t/w/told")
    assert [r["path"] for r in fawatchd.records()] == ["/t/w/told"]
    log = machine.sh("journalctl --sync; journalctl -q -u fawatchd -o cat --after-cursor="
                     f"'{fawatchd.begin[0]}' | grep -c 'differed from what the kernel has'").out
    assert log.strip() == "1"
    assert fawatchd.ctl_json("status")["counters"]["marks_repaired"] == before + 1
