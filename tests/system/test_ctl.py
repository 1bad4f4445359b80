# SPDX-License-Identifier: LGPL-2.1-or-later
"""fawatchctl against the running service."""

import json

import pytest

from harness import ETC_RULES, wait_until

RULES = 'watch: { r: { path = "/t/w"; events = "create"; tags = "x"; }; };\n'


def test_status(fawatchd, machine, w):
    fawatchd.start(RULES)
    machine.sh("touch /t/w/f")
    fawatchd.settle()
    assert fawatchd.ctl("status").out
    status = fawatchd.ctl_json("status")
    assert status["pid"] == fawatchd.main_pid() and status["generation"] == 1
    assert status["rules"]["watches"] == 2 and status["last_refusal"] is None
    assert status["counters"]["events_recorded"] >= 2
    assert status["marks"]["wanted"] == status["marks"]["placed"] and status["marks"]["failed"] == 0


def test_rules_prints_what_parses_again(fawatchd, machine, w):
    fawatchd.start(RULES)
    text = fawatchd.ctl("rules").out
    assert f"{ETC_RULES}/test.conf" in text
    machine.write("/run/again.conf", text, mode=0o644)
    assert "r:" in machine.sh("fawatchd --print-rules --rules=/run/again.conf").out


def test_marks_and_fdinfo_agree(fawatchd, machine, w):
    fawatchd.start(RULES)
    marks = fawatchd.ctl_json("marks")["marks"]
    assert marks and all(m["state"] == "placed" for m in marks)
    ours = [m for m in marks if m["where"] == "/t/w"]
    assert len(ours) == 1 and "create" in ours[0]["placed_mask"] and "modify" not in ours[0]["placed_mask"]
    pid = fawatchd.main_pid()
    kernel = machine.sh(f"grep -hE '^fanotify (sdev|ino|mnt_id):' /proc/{pid}/fdinfo/* | wc -l").out
    assert int(kernel) == len(marks)


def test_coverage(fawatchd, machine, w):
    fawatchd.start(RULES)
    coverage = json.loads(fawatchd.ctl("coverage", "--json", check=False).out)
    states = {f["mountpoint"]: f["state"] for f in coverage["filesystems"]}
    assert states["/t/w"] == "covered"
    assert coverage["gaps"] == []
    assert fawatchd.ctl("coverage").status == 0


def test_check_without_a_daemon(fawatchd, machine):
    fawatchd.write_rule("test", RULES)
    assert fawatchd.ctl("check").status == 0
    machine.write("/run/test.conf", 'watch: { r: { pth = "/t"; }; };', mode=0o644)
    check = fawatchd.ctl("check", "/run/test.conf", check=False)
    assert check.status == 1 and "/run/test.conf:1" in check.err
    machine.write("/run/test.conf", 'watch: { r: { path = "/elsewhere"; }; };', mode=0o644)
    assert fawatchd.ctl("check", "/run/test.conf").status == 0, "it takes the place of the installed test.conf"
    machine.write("/run/other.conf", 'watch: { r: { path = "/elsewhere"; }; };', mode=0o644)
    assert fawatchd.ctl("check", "/run/other.conf", check=False).status == 1, "a second rule of this name"
    machine.write("/run/image/etc/fawatchd/rules.d/x.conf", "watch: {", mode=0o644)
    assert fawatchd.ctl("check", "--root=/run/image", check=False).status == 1
    machine.write("/run/image/etc/fawatchd/rules.d/x.conf", RULES, mode=0o644)
    assert fawatchd.ctl("check", "--root=/run/image").status == 0


@pytest.mark.parametrize("command", ["status", "reload", "rules", "marks", "coverage", "follow"])
def test_without_a_daemon_it_says_what_to_do(fawatchd, command):
    result = fawatchd.ctl(command, check=False)
    assert result.status == 3
    assert "systemctl start fawatchd" in result.err and len(result.err.strip().splitlines()) == 1


def test_only_root(fawatchd, machine, w):
    fawatchd.start(RULES)
    result = machine.sh("setpriv --reuid=1 --regid=1 --clear-groups fawatchctl status", check=False)
    assert result.status == 4 and "root" in result.err


@pytest.mark.parametrize("arguments", [[], ["nonsense"], ["status", "surplus"], ["--nonsense"], ["reload", "--bad"]])
def test_wrong_use(fawatchd, arguments):
    assert fawatchd.ctl(*arguments, check=False).status == 2


def edit(machine, script, *arguments, data="q\n"):
    machine.write("/run/editor.sh", f"#!/bin/bash\n{script}\n", mode=0o755)
    return machine.sh(["env", "EDITOR=/run/editor.sh", "fawatchctl", "edit", *arguments], check=False, data=data)


def test_edit(fawatchd, machine, w):
    fawatchd.start(RULES)
    result = edit(machine, """sed -i 's/create/attrib/' "$1" """, f"{ETC_RULES}/test.conf")
    assert result.status == 0, result
    assert "attrib" in machine.read(f"{ETC_RULES}/test.conf")
    assert "attrib" in fawatchd.ctl("rules").out, "reloaded"
    result = edit(machine, """sed -i 's/attrib/attriib/' "$1" """, f"{ETC_RULES}/test.conf")
    assert result.status == 1 and "attrib" in result.err + result.out, result
    assert "attriib" not in machine.read(f"{ETC_RULES}/test.conf"), "a bad file is never put in place"
    assert machine.sh(f"ls -A {ETC_RULES}").out.split() == ["00-barrier.conf", "fawatchd.conf", "test.conf"]


def follow(machine, *arguments):
    return machine.spawn(["stdbuf", "-oL", "fawatchctl", "follow", *arguments])


def first_line(fawatchd, machine, process, act):
    """Repeats act until the follower, which takes a moment to connect, shows it."""
    import select
    def seen():
        machine.sh(act)
        return select.select([process.stdout], [], [], 0.3)[0]
    wait_until(seen, "a line of the follower")
    return process.stdout.readline()


def test_follow(fawatchd, machine, w):
    machine.sh("mkdir /t/w/sub")
    fawatchd.start('watch: { r: { path = "/t/w"; events = "create"; }; '
                   's: { path = "/t/w/sub"; events = "create"; }; };')
    process = follow(machine)
    line = first_line(fawatchd, machine, process, "touch /t/w/$RANDOM$RANDOM")
    assert b"r: /t/w/" in line and b"created by" in line
    machine.sh("pkill -INT -x fawatchctl")
    assert process.wait(timeout=10) in (0, 130, -2)

    process = follow(machine, "--json", "--rule=s")
    line = json.loads(first_line(fawatchd, machine, process, "touch /t/w/$RANDOM$RANDOM /t/w/sub/$RANDOM$RANDOM"))
    assert line["path"].startswith("/t/w/sub/") and set(line["rule"]) == {"r", "s"}
    process.kill()
    machine.sh("pkill -x fawatchctl || true")

    process = follow(machine, "--json", "--path=/t/w/sub")
    line = json.loads(first_line(fawatchd, machine, process, "touch /t/w/$RANDOM$RANDOM /t/w/sub/$RANDOM$RANDOM"))
    assert line["path"].startswith("/t/w/sub/")
    fawatchd.stop()
    assert process.wait(timeout=10) == 3


def test_slow_follower_is_told_what_it_lost(fawatchd, machine, w):
    fawatchd.start(RULES)
    # its output goes nowhere until it is continued
    process = machine.spawn("fawatchctl follow --json > /run/follow.out 2> /run/follow.err & echo $!; wait")
    pid = int(process.stdout.readline())
    wait_until(lambda: machine.sh(f"touch /t/w/$RANDOM$RANDOM; test -s /run/follow.out", check=False).status == 0,
               "the follower")
    machine.sh(f"kill -STOP {pid}")
    machine.python("for i in range(20000): open(f'/t/w/x{i}', 'w').close()")
    fawatchd.settle()
    wait_until(lambda: fawatchd.counters()["followers_lost"] > 0, "events that it did not get")
    machine.sh(f"kill -CONT {pid}")
    # the status file follows the counter within a second
    wait_until(lambda: str(fawatchd.counters()["followers_lost"]) in
               machine.sh("cat /run/follow.out /run/follow.err").out, "being told", 60)
    machine.sh(f"kill {pid}; rm /run/follow.*")
    assert len([r for r in fawatchd.records(settle=False) if "/t/w/x" in r["path"]]) == 20000


def test_busctl_speaks_to_it(fawatchd, machine, w):
    fawatchd.start(RULES)
    out = machine.sh("busctl --address=unix:path=/run/fawatchd/control call org.fawatch.Manager1 "
                     "/org/fawatch/Manager1 org.fawatch.Manager1 Rules").out
    assert out.startswith("ay ")
