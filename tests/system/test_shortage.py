# SPDX-License-Identifier: LGPL-2.1-or-later
"""What is short, read-only, full or closed: degraded to, said, and recovered from."""

import json
import time

from harness import wait_until
from test_lossless import wait_active

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


def test_run_is_full(fawatchd, machine, w):
    """No room for the status file: said, and nothing else stops."""
    machine.sh("mkdir -p /run/fawatchd && mount -t tmpfs -o size=64k tmpfs /run/fawatchd")
    try:
        fawatchd.start(RULES)
        machine.sh("dd if=/dev/zero of=/run/fawatchd/full bs=4k 2>/dev/null; true")
        machine.sh("touch /t/w/1; sleep 1.5; touch /t/w/2")
        assert {"/t/w/1", "/t/w/2"} <= {r["path"] for r in fawatchd.records()}
        wait_until(lambda: said(fawatchd, "status file"), "what is wrong")
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


def observer(machine, out):
    return machine.spawn(f"exec fawatchd --log=stdout --watch=/t/w {out}", stderr=-1)


def ready(machine):
    time.sleep(1)
    machine.sh("touch /t/w/first")


def test_closed_pipe_ends_an_observer(machine, w):
    process = machine.spawn("fawatchd --log=stdout --watch=/t/w 2>/run/observer.err | head -n1 >/dev/null; "
                            "echo ${PIPESTATUS[0]}")
    ready(machine)
    for i in range(5):
        machine.sh(f"touch /t/w/{i}; sleep 0.3")
    out, _ = process.communicate(timeout=20)
    assert out.strip() not in (b"", b"141"), "not killed by a signal"
    assert "standard output was closed" in machine.read("/run/observer.err")


def test_full_disk_under_an_observer(machine, w):
    """What cannot be written waits, and is written when there is room."""
    machine.sh("mkdir -p /t/out && mount -t tmpfs -o size=256k tmpfs /t/out")
    process = observer(machine, ">/t/out/log")
    try:
        ready(machine)
        machine.sh("dd if=/dev/zero of=/t/out/full bs=4k 2>/dev/null; touch /t/w/a{1..200}; sleep 0.5; touch /t/w/b")
        assert process.poll() is None
        machine.sh("rm /t/out/full; mount -o remount,size=8M /t/out; touch /t/w/last")
        wait_until(lambda: "/t/w/last" in machine.read("/t/out/log"), "what waited", 30)
        lines = machine.read("/t/out/log").splitlines()
        assert {f"/t/w/a{i}" for i in range(1, 201)} <= {json.loads(line).get("path") for line in lines}
    finally:
        machine.sh("pkill -TERM -f 'fawatchd --log=stdou[t]' || true")
        process.wait(timeout=10)


def test_stopped_reader_of_an_observer(machine, w):
    """It reads on while nobody takes what it writes."""
    machine.sh("mkfifo /run/observer.fifo")
    reader = machine.spawn("sleep 4; cat < /run/observer.fifo > /run/observer.out 3>&1")
    process = machine.spawn("exec fawatchd --log=stdout --watch=/t/w 1<>/run/observer.fifo", stderr=-1)
    try:
        ready(machine)
        machine.python("for i in range(1000): open(f'/t/w/x{i}', 'w').close()")
        wait_until(lambda: machine.sh("grep -c /t/w/x /run/observer.out", check=False).out.strip() == "2000" or
                   len({line for line in machine.sh("grep -o '/t/w/x[0-9]*' /run/observer.out | sort -u",
                                                    check=False).out.split()}) == 1000, "all of it", 40)
    finally:
        machine.sh("pkill -TERM -f 'fawatchd --log=stdou[t]' || true; rm -f /run/observer.fifo")
        process.wait(timeout=10)
        reader.kill()


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
