# SPDX-License-Identifier: LGPL-2.1-or-later
"""fawatchctl who, privacy of what is known of a process, and tracking where it is impossible.

The machine of these tests is a container: the process connector is silent in it.
"""

import json

import pytest

from harness import SHELL_UNIT

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
