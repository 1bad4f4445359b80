# SPDX-License-Identifier: LGPL-2.1-or-later
"""What is short, read-only, full or closed: degraded to, said, and recovered from."""

import itertools
import json

from harness import wait_until
from test_lossless import wait_active

PATIENCE = 60
RULES = 'watch: { r: { path = "/t/w"; events = "create"; coalesce = "0"; }; };\n'


def said(fawatchd, text):
    return text in fawatchd.machine.sh("journalctl --sync; journalctl -q --no-pager -u fawatchd -o cat").out


def test_var_is_read_only(fawatchd, machine, w):
    """Nothing can be saved: said once, and it works all the same, also over a restart."""
    machine.sh("mkdir -p /var/lib/fawatchd && mount -t tmpfs -o ro,mode=700 tmpfs /var/lib/fawatchd")
    try:
        fawatchd.start(RULES)
        wait_until(lambda: said(fawatchd, "could not be saved") and said(fawatchd, "cannot be saved"), "what is wrong")
        machine.sh("touch /t/w/1")
        fawatchd.restart()
        machine.sh("touch /t/w/2")
        assert {"/t/w/1", "/t/w/2"} <= {r["path"] for r in fawatchd.records()}
    finally:
        machine.sh("systemctl stop fawatchd; umount /var/lib/fawatchd")


def test_state_directory_is_full(fawatchd, machine, w):
    """No room for the rules in force, nor for the sign of life: each said, the saved ones stay whole, the
    watch goes on, also over a restart, and when there is room again both are saved."""
    state = "/var/lib/fawatchd"

    def saved(name):
        return machine.read(f"{state}/{name}")
    machine.sh(f"mkdir -p {state} && mount -t tmpfs -o size=64k,mode=700 tmpfs {state}")
    try:
        fawatchd.start(RULES, settings='heartbeat = "1s";\n')
        wait_until(lambda: "other" not in saved("rules.saved") and saved("last-life"), "both are saved")
        machine.sh(f"dd if=/dev/zero of={state}/full bs=4k 2>/dev/null; true")
        wait_until(lambda: said(fawatchd, "sign of life cannot be saved"), "what is wrong with the sign of life")
        life = saved("last-life")
        fawatchd.rules(RULES.replace("r:", "other:"))
        wait_until(lambda: said(fawatchd, "rules in force could not be saved for the next start: No space left"),
                   "what is wrong with the rules")
        assert "other" not in saved("rules.saved") and "/t/w" in saved("rules.saved")
        machine.sh("touch /t/w/1")
        fawatchd.restart()
        machine.sh("touch /t/w/2")
        assert {r["path"]: r["rule"] for r in fawatchd.records()} == {"/t/w/1": "other", "/t/w/2": "other"}
        assert saved("last-life") == life
        machine.sh(f"rm {state}/full")
        wait_until(lambda: saved("last-life") != life, "the sign of life again")
        fawatchd.reload()
        wait_until(lambda: "other" in saved("rules.saved"), "the rules again")
    finally:
        machine.sh(f"systemctl stop fawatchd; umount {state}")


# a disk that fails: an ext4 on a sparse image that finds no room
DYING = """
mkdir -p /run/dying && mount -t tmpfs -o size=48M tmpfs /run/dying
truncate -s 256M /run/dying/image && mkfs.ext4 -q -F /run/dying/image
mount -o loop /run/dying/image /var/log/journal
mkdir /var/log/journal/$(cat /etc/machine-id)
systemctl restart systemd-journald; journalctl --flush
"""
DEAD = """
import os
try:
    while True:
        with open("/var/log/journal/x", "ab") as f:
            f.write(bytes(1 << 20))
            f.flush()
            os.fsync(f.fileno())
except OSError as e:
    print(e)
"""

REPLACED = """
umount -l /var/log/journal /run/dying 2>/dev/null
systemctl restart systemd-journald; journalctl --flush
"""


def test_disk_dies_under_the_journal(fawatchd, machine, w):
    """What journald took and could not write is missing, and verify says so; the rest is as before."""
    machine.sh(DYING)
    try:
        fawatchd.start(RULES)
        machine.sh("touch /t/w/before{1..20}")
        fawatchd.settle()
        assert fawatchd.ctl("verify", check=False).status == 0
        machine.sh("dd if=/dev/zero of=/run/dying/full bs=64k 2>/dev/null; true")
        assert machine.python(DEAD).out
        machine.sh("touch /t/w/while{1..8000}")
        log = wait_until(lambda: (status := fawatchd.ctl_json("status"))["counters"]["events_recorded"] >= 8021 and
                         status["log"]["waiting"] == 0 and status, "all is sent", PATIENCE)
        lost = fawatchd.ctl_status("verify")
        assert not lost["complete"] and lost["missing"] > 0 and lost["records"] + lost["missing"] == log["seq"], lost
        machine.sh(REPLACED)
        fawatchd.begin = machine.cursor()
        machine.sh("touch /t/w/after{1..20}")
        after = fawatchd.records(kinds="all", barrier=True)
        assert {f"/t/w/after{i}" for i in range(1, 21)} <= {r.get("path") for r in after}
        numbers = [int(r["seq"]) for r in after]
        assert numbers == list(range(log["seq"] + 1, log["seq"] + 1 + len(after)))
        stream = next(s for s in fawatchd.ctl_status("verify")["streams"] if s["stream"] == log["stream"])
        assert all(m["last"] <= log["seq"] for m in stream["missing"]), stream
    finally:
        machine.sh(REPLACED)


def test_run_is_full(fawatchd, machine, w):
    """No room for the status file: said, and nothing else stops."""
    machine.sh("mkdir -p /run/fawatchd && mount -t tmpfs -o size=64k tmpfs /run/fawatchd")
    try:
        fawatchd.start(RULES)
        machine.sh("dd if=/dev/zero of=/run/fawatchd/full bs=4k 2>/dev/null; true")
        numbers = itertools.count(1)

        def touch_until_said():
            machine.sh(f"touch /t/w/{next(numbers)}")
            return said(fawatchd, "status file")
        wait_until(touch_until_said, "what is wrong", PATIENCE)
        n = next(numbers)
        assert {r["path"] for r in fawatchd.records()} == {f"/t/w/{i}" for i in range(1, n)}
        machine.sh("rm /run/fawatchd/full; touch /t/w/3")
        wait_until(lambda: fawatchd.counters()["events_recorded"] >= 3, "the status file again")
    finally:
        machine.sh("systemctl stop fawatchd; umount /run/fawatchd")


def test_few_descriptors(fawatchd, machine, w):
    """Each event may open one: only as many are read as may be open."""
    machine.write("/etc/systemd/system/fawatchd.service.d/files.conf", "[Service]\nLimitNOFILE=128\n")
    machine.sh("systemctl daemon-reload")
    fawatchd.start(RULES)
    machine.python("for i in range(5000): open(f'/t/w/{i}', 'w').close()")
    assert len({r["path"] for r in fawatchd.records()}) == 5000
    assert fawatchd.property("NRestarts") == "0"


def test_no_memory_for_the_spool(fawatchd, machine, w):
    """More than a quarter of the machine's: it runs without one, and says what that means."""
    fawatchd.start(RULES, settings='spool = "1T";\n')
    assert said(fawatchd, "no memory for a spool")
    machine.sh("touch /t/w/1")
    assert [r["path"] for r in fawatchd.records()] == ["/t/w/1"]


# --- an observer's standard output ---

# how much waits in the kernel for the first fanotify group of a process: pidfd_getfd(2), FIONREAD
QUEUED = """
import ctypes, fcntl, os, struct, sys, termios
pid = int(sys.argv[1])
folder = f"/proc/{pid}/fd"
group = next(int(n) for n in os.listdir(folder) if os.readlink(f"{folder}/{n}") == "anon_inode:[fanotify]")
fd = ctypes.CDLL(None).syscall(438, os.pidfd_open(pid), group, 0)
print(struct.unpack("i", fcntl.ioctl(fd, termios.FIONREAD, b"0000"))[0])
"""


def touched_until(machine, predicate, what):
    """Makes one file after another until it is so: nobody else says that an observer is ready, or has noticed."""
    numbers = itertools.count(1)

    def again():
        machine.sh(f": > /t/w/try{next(numbers)}")
        return predicate()
    wait_until(again, what, PATIENCE)


def text_of(machine, path):
    return machine.sh(["cat", path], check=False).out  # not there yet: empty


def lines_of(machine, path):
    return [json.loads(line) for line in machine.read(path).splitlines()]


def created(lines, prefix):
    """The names below /t/w that were made, as often as that was told."""
    return sorted(path for line in lines if "create" in line.get("event", []) and
                  (path := line["path"]).startswith(f"/t/w/{prefix}"))


def assert_every_number_once(lines):
    numbers = [int(line["seq"]) for line in lines if "seq" in line]
    assert numbers == list(range(1, len(numbers) + 1))


def test_closed_pipe_ends_an_observer(machine, w):
    process = machine.spawn("fawatchd --log=stdout --watch=/t/w 2>/run/observer.err | head -n1 >/dev/null; "
                            "echo ${PIPESTATUS[0]}")
    touched_until(machine, lambda: process.poll() is not None, "the observer ends")
    assert process.stdout.read().strip() == b"1", "an error, and no signal"
    assert machine.read("/run/observer.err").count("standard output was closed") == 1


def test_full_disk_under_an_observer(machine, w):
    """What cannot be written waits, and is written when there is room, with nothing lost of a line."""
    machine.sh("mkdir -p /t/out && mount -t tmpfs -o size=256k tmpfs /t/out")
    process = machine.spawn("exec fawatchd --log=stdout --watch=/t/w >/t/out/log", stderr=-1)
    try:
        touched_until(machine, lambda: "/t/w/try" in text_of(machine, "/t/out/log"), "the first record")
        machine.sh("dd if=/dev/zero of=/t/out/full bs=4k 2>/dev/null; touch /t/w/a{1..200}")
        # the last page that it has is full: the rest of the line found no room
        wait_until(lambda: int(machine.sh("stat -c %s /t/out/log").out) % 4096 == 0, "the disk is full", PATIENCE)
        assert process.poll() is None
        machine.sh("rm /t/out/full; mount -o remount,size=8M /t/out")
        touched_until(machine, lambda: "/t/w/a200" in text_of(machine, "/t/out/log"), "what waited")
    finally:
        assert machine.end_ad_hoc(process) == 0
    lines = lines_of(machine, "/t/out/log")
    assert created(lines, "a") == sorted(f"/t/w/a{i}" for i in range(1, 201))
    assert_every_number_once(lines)


def test_stopped_reader_of_an_observer(machine, w):
    """It reads the kernel's queue while nobody takes what it writes."""
    machine.sh("rm -f /run/observer.*; mkfifo /run/observer.fifo")
    # not exec: what waits for the shell would stop with it
    reader = machine.spawn("cat /run/observer.fifo > /run/observer.out & echo $! > /run/observer.pid; wait")
    process = machine.spawn("echo $$ > /run/observer.own; "
                            "exec fawatchd --log=stdout --watch=/t/w >/run/observer.fifo", stderr=-1)
    try:
        touched_until(machine, lambda: "/t/w/try" in text_of(machine, "/run/observer.out"), "the first record")
        machine.sh("kill -STOP $(cat /run/observer.pid)")
        machine.python("for i in range(1000): open(f'/t/w/x{i}', 'w').close()")
        pid = machine.read("/run/observer.own").strip()
        wait_until(lambda: int(machine.python(QUEUED, pid).out) == 0, "the kernel's queue is empty", PATIENCE)
        assert "/t/w/x999" not in text_of(machine, "/run/observer.out")
        machine.sh("kill -CONT $(cat /run/observer.pid)")
        wait_until(lambda: "/t/w/x999" in text_of(machine, "/run/observer.out"), "what waited", PATIENCE)
    finally:
        machine.sh("kill -CONT $(cat /run/observer.pid)", check=False)
        assert machine.end_ad_hoc(process) == 0
        reader.wait(timeout=PATIENCE)
    lines = lines_of(machine, "/run/observer.out")
    assert created(lines, "x") == sorted(f"/t/w/x{i}" for i in range(1000))
    assert_every_number_once(lines)


def test_spent_ignore_stays_spent_over_a_restart(fawatchd, machine, w):
    fawatchd.restarts_expected = True
    machine.sh("echo x > /t/w/f")
    fawatchd.start('watch: { r: { path = "/t/w"; events = "close_write"; coalesce = "0"; }; };\n'
                   'ignore: { i: { path = "/t/w/f"; scope = "file"; until = "modified"; }; };\n')
    machine.sh("echo y >> /t/w/f; touch /t/w/g")
    fawatchd.settle()
    old = fawatchd.main_pid()
    machine.sh("systemctl kill -s KILL fawatchd")
    wait_active(fawatchd, old)
    fawatchd.mark()
    machine.sh("echo z >> /t/w/f")
    assert [r["path"] for r in fawatchd.records()] == ["/t/w/f"]


def test_another_queue_needs_another_group(fawatchd, machine, w, kinds):
    """The setting takes effect over a restart, with a gap that says so; nothing is reported twice."""
    fawatchd.restarts_expected = True
    fawatchd.start(RULES)
    fawatchd.mark()
    fawatchd.write_settings('queue = "bounded";\n')
    machine.sh("touch /t/w/1")
    fawatchd.restart()
    machine.sh("touch /t/w/2")
    assert [r["path"] for r in fawatchd.records()] == ["/t/w/1", "/t/w/2"]
    assert [r["gap"] for r in fawatchd.of_kind(kinds["gap"])] == ["store"]
    fawatchd.restart()
    machine.sh("touch /t/w/3")
    assert [r["path"] for r in fawatchd.records()] == ["/t/w/1", "/t/w/2", "/t/w/3"]
    assert len(fawatchd.of_kind(kinds["gap"])) == 1
