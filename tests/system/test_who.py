# SPDX-License-Identifier: LGPL-2.1-or-later
"""fawatchctl who, privacy of what is known of a process, and tracking where it is impossible.

The machine of these tests is a container: the process connector is silent in it.
"""

import json

import pytest

from harness import SHELL_UNIT, wait_until

RULES = 'watch: { w: { path = "/t/w"; coalesce = "0"; }; };\n'


def who(fawatchd, *args, check=True):
    return fawatchd.ctl("who", *args, check=check)


def test_tells_who_and_how(fawatchd, machine, w):
    fawatchd.start(RULES)
    machine.sh("touch /t/w/f; bash -c 'echo more >>/t/w/f; sleep 0.3; :'; :")
    fawatchd.settle()
    result = who(fawatchd, "/t/w/f")
    assert result.status == 0
    blocks = [b for b in result.out.split("\n2") if "/t/w/f" in b.splitlines()[0]]
    assert "create" in blocks[0].splitlines()[0], result.out
    assert "write" in blocks[-1].splitlines()[0], "the last change is the last shown"
    last = blocks[-1]
    assert "bash[" in last and " as root" in last and SHELL_UNIT in last
    assert "command   bash -c echo more >>/t/w/f; sleep 0.3; :" in last
    assert "from      " in last and "the journal reaches back to" in result.err
    assert "no rule" not in result.err


def test_json(fawatchd, machine, w):
    fawatchd.start(RULES)
    machine.sh("touch /t/w/j; rm /t/w/j")
    fawatchd.settle()
    records = [json.loads(line) for line in who(fawatchd, "--json", "/t/w/j").out.splitlines()]
    assert [r["path"] for r in records] == ["/t/w/j"] * len(records) and len(records) >= 2
    assert "create" in records[0]["event"] and "delete" in records[-1]["event"]
    assert records == sorted(records, key=lambda r: r["seq"])


def test_renames_are_followed_backwards(fawatchd, machine, w):
    fawatchd.start(RULES)
    machine.sh("mkdir -p /t/w/d1; echo x >/t/w/d1/first; mv /t/w/d1/first /t/w/d1/second; mv /t/w/d1 /t/w/d2;"
               "echo y >>/t/w/d2/second; echo z >/t/w/d2/other")
    fawatchd.settle()
    out = who(fawatchd, "/t/w/d2/second").out
    heads = [line for line in out.splitlines() if line[:2] == "20"]
    text = "\n".join(heads)
    assert "/t/w/d1/first" in heads[0] or "create" in text.split("/t/w/d1/first")[0]
    assert "rename /t/w/d1/first -> /t/w/d1/second" in text
    assert "rename /t/w/d1 -> /t/w/d2" in text
    assert "/t/w/d2/second" in heads[-1]
    assert "other" not in text


def test_through_a_link(fawatchd, machine, w):
    fawatchd.start(RULES)
    machine.sh("touch /t/w/target; ln -sfn /t/w /run/who-link")
    fawatchd.settle()
    assert "/t/w/target" in who(fawatchd, "/run/who-link/target").out


def test_since(fawatchd, machine, w):
    fawatchd.start(RULES)
    machine.sh("touch /t/w/s")
    fawatchd.settle()
    assert who(fawatchd, "--since=1h", "/t/w/s").status == 0
    late = who(fawatchd, "--since=2090-01-01", "/t/w/s", check=False)
    assert late.status == 1 and "no record in that time" in late.err
    assert who(fawatchd, "--since=soon", "/t/w/s", check=False).status == 2
    assert who(fawatchd, "w/s", check=False).status == 2
    assert who(fawatchd, check=False).status == 2


@pytest.mark.parametrize("path, said", [
    ("/srv/elsewhere", "no rule watches /srv/elsewhere; the nearest, "),
    ("/t/w/one/deep", "scope \"directory\", which does not reach so deep"),
    ("/t/p/f.c", "watches only some names below /t/p"),
    ("/t/i/f", "i would, but for the ignore out ("),
])
def test_says_when_no_rule_watches(fawatchd, machine, w, path, said):
    fawatchd.start('watch: { d: { path = "/t/w"; scope = "directory"; }; p: { path = "/t/p"; match = "*.php"; };'
                   ' i: { path = "/t/i"; }; }; ignore: { out: { path = "/t/i"; }; };\n')
    result = who(fawatchd, path, check=False)
    assert result.status == 1
    assert said in result.err


FORGE = """
import os, socket
os.setuid(1)
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.sendto(b"FAWATCH_PATH=/t/w/forged\\nFAWATCH_EVENT=modify\\nMESSAGE=x\\nFAWATCH_COMM=innocent\\n"
         b"SYSLOG_IDENTIFIER=fawatchd\\n", "/run/systemd/journal/socket")
"""


def test_nobody_else_can_write_the_answer(fawatchd, machine, w):
    fawatchd.start(RULES)
    machine.sh("touch /t/w/forged")
    machine.sh(["python3", "-c", FORGE])
    fawatchd.settle()
    assert "innocent" in machine.sh("journalctl --sync; journalctl -o json FAWATCH_COMM=innocent").out
    assert "innocent" not in who(fawatchd, "/t/w/forged").out


def test_works_without_the_daemon(fawatchd, machine, w):
    fawatchd.start(RULES)
    machine.sh("touch /t/w/later")
    fawatchd.settle()
    machine.sh("systemctl stop fawatchd")
    result = who(fawatchd, "/t/w/later")
    assert "/t/w/later" in result.out and "the daemon does not answer" in result.err


# ---- tracking in a container, privacy ----

def test_status_says_why_processes_are_not_tracked(fawatchd, machine, w):
    fawatchd.start(RULES)
    status = fawatchd.ctl_json("status")
    assert status["process_tracking"] == "/proc: not in the initial pid namespace"
    assert status["processes"] is None
    assert "process tracking: /proc: not in the initial pid namespace" in fawatchd.ctl("status").out


def test_stdout_masks_and_omits(fawatchd, machine, w):
    machine.write("/etc/fawatchd/fawatchd.conf", 'mask_options = [ "--password" ]; omit = [ "ancestry" ];', mode=0o644)
    machine.write("/run/privacy.conf", RULES, mode=0o644)
    try:
        out = machine.sh("timeout 4 fawatchd --log=stdout --rules=/run/privacy.conf >/run/privacy.out & sleep 1.5;"
                         "bash -c 'touch /t/w/private; echo x >>/t/w/private; sleep 0.7; :' bash --password hunter2;"
                         "wait; cat /run/privacy.out").out
    finally:
        machine.sh("rm -f /etc/fawatchd/fawatchd.conf")
    assert '"cmdline":"bash -c' in out and "--password ***" in out
    assert "hunter2" not in out and '"ancestry"' not in out


# what the spool holds, which is a memfd that the daemon has mapped
SPOOL = """
import sys
with open(f"/proc/{sys.argv[1]}/maps") as maps, open(f"/proc/{sys.argv[1]}/mem", "rb") as memory:
    for line in maps:
        if "/memfd:" in line:
            begin, end = (int(n, 16) for n in line.split()[0].split("-"))
            memory.seek(begin)
            sys.stdout.buffer.write(memory.read(end - begin))
"""


def test_spool_masks_and_omits(fawatchd, machine, w):
    """What waits for a journald that stands still is as it will be sent."""
    fawatchd.start(RULES, settings='spool = "4M"; mask_options = [ "--password" ]; omit = [ "ancestry" ];\n')
    machine.sh("systemctl kill -s STOP systemd-journald")
    try:
        machine.sh("for i in {1..600}; do bash -c 'echo x >/t/w/$1; :' bash $i --password hunter2; done")
        wait_until(lambda: fawatchd.ctl_json("status")["log"]["waiting"] > 100, "records wait", 60)
        kept = machine.sh(["python3", "-B", "-c", SPOOL, str(fawatchd.main_pid())]).out
    finally:
        machine.sh("systemctl kill -s CONT systemd-journald")
    assert "FAWATCH_PATH=/t/w/600" in kept and "--password ***" in kept
    assert "hunter2" not in kept and "FAWATCH_ANCESTRY" not in kept


# ---- whose pid it is ----

def test_short_lived_writers_are_never_another(fawatchd, machine, w):
    """Who is gone before it can be asked has a pid and no other's name."""
    fawatchd.start(RULES)
    machine.sh("end=$((SECONDS + 5)); while [ $SECONDS -lt $end ]; do touch /t/w/t; done")
    records = fawatchd.records()
    assert len(records) >= 20
    for r in records:
        assert int(r["pid"]) > 1 and r["attribution"] in ("exited", "verified", "process"), r
        assert r.get("comm") in (None, "touch") and r.get("exe") in (None, "/usr/bin/touch"), r


def test_pid_is_that_of_the_thread_group(fawatchd, machine, w):
    fawatchd.start(RULES)
    writer = machine.python("""
import os, threading, time
def write(n):
    open(f"/t/w/thread{n}", "w").close()
threads = [threading.Thread(target=write, args=(n,)) for n in range(4)]
for t in threads: t.start()
for t in threads: t.join()
time.sleep(1)
print(os.getpid())
""").out.strip()
    shell = machine.sh("sh -c 'echo x >/t/w/shell; echo $$; sleep 1; :'").out.strip()
    records = fawatchd.records()
    assert {r["pid"] for r in records if "/thread" in r["path"]} == {writer}
    assert {r["pid"] for r in records if r["path"] == "/t/w/shell"} == {shell}
    assert {r.get("comm") for r in records if r["path"] == "/t/w/shell"} == {"sh"}


def test_writer_in_a_pid_namespace(fawatchd, machine, w):
    """The pid is ours, not the one that it has in there; and no path is made up."""
    fawatchd.start(RULES)
    machine.sh("unshare --pid --fork --mount-proc bash -c 'echo $$ >/t/w/inner; sleep 2; :' & "
               "until [ -s /t/w/inner ]; do sleep 0.01; done; pgrep -P $! >/t/w/outer; wait")
    assert machine.read("/t/w/inner").strip() == "1"
    outer = machine.read("/t/w/outer").strip()
    records = [r for r in fawatchd.records() if r["path"] == "/t/w/inner"]
    assert records and {r["pid"] for r in records} == {outer}, (outer, records)
    assert {(r["comm"], r["exe"]) for r in records} == {("bash", "/usr/bin/bash")}


# a device node, which the kernel's own thread makes in every devtmpfs
ADD_LOOP, REMOVE_LOOP = 0x4C80, 0x4C81
NODE = """
import fcntl, os, sys
fd = os.open("/dev/loop-control", os.O_RDWR)
number = 1 << 18 | os.getpid() & 0xffff
fcntl.ioctl(fd, int(sys.argv[1]), number)
fcntl.ioctl(fd, int(sys.argv[2]), number)
print(number)
"""


def test_actor_outside_of_our_pid_namespace(fawatchd, machine):
    machine.mount("tmpfs", "/t/w")
    machine.sh("mkdir /t/w/dev; mount -t devtmpfs dev /t/w/dev")
    fawatchd.start('watch: { w: { path = "/t/w/dev"; events = "create"; coalesce = "0"; }; };\n')
    number = machine.python(NODE, ADD_LOOP, REMOVE_LOOP).out.strip()
    records = [r for r in fawatchd.records() if r["path"] == f"/t/w/dev/loop{number}"]
    assert len(records) == 1 and records[0]["attribution"] == "foreign"
    assert not [name for name in ("pid", "comm", "exe", "uid", "unit") if name in records[0]]
