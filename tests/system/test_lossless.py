# SPDX-License-Identifier: LGPL-2.1-or-later
"""Nothing is lost: counters that reconcile over reloads, restarts, kills, a watchdog, a journal
that is restarted or stands still, and a queue that overflows.

How often the storm over everything is run: FAWATCHD_ROUNDS (default 1).
"""

import collections
import os
import random
import re
import time

import pytest

from harness import wait_until

ROUNDS = int(os.environ.get("FAWATCHD_ROUNDS", "1"))
WRITERS = 4
FILES = 200_000
RULES = 'watch: { storm: { path = "/t/w"; events = "create"; coalesce = "0"; limit = "0"; }; };\n'
SETTINGS = 'spool = "256M";\nomit = [ "under", "cmdline", "ancestry", "parent_comm", "cgroup", "slice" ];\n'

# Creates uniquely named files until told to stop, at a pace; prints how many.
WRITER = """
import os, sys, time
who, files, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
os.makedirs(f'/t/w/{who}', exist_ok=True)
begin = time.monotonic()
made = 0
while made < files:
    if seconds:
        ahead = made / files * seconds - (time.monotonic() - begin)
        if ahead > 0.002: time.sleep(ahead)
    for _ in range(50):
        os.close(os.open(f'/t/w/{who}/{made}', os.O_CREAT | os.O_WRONLY | os.O_EXCL))
        made += 1
    if not seconds and time.monotonic() - begin > 5: break
print(made)
"""


def start_writers(machine, files, seconds):
    return [machine.spawn(["python3", "-B", "-c", WRITER, str(w), str(files // WRITERS), str(seconds)])
            for w in range(WRITERS)]


def finish(writers):
    made = []
    for writer in writers:
        out, _ = writer.communicate(timeout=600)
        assert writer.returncode == 0
        made.append(int(out))
    return made


class Account:
    """The records of one stream, and what is missing of it."""

    def __init__(self, records, kinds):
        self.records = [r for r in records if "seq" in r]
        self.numbers = collections.Counter(int(r["seq"]) for r in self.records)
        self.streams = {r["stream"] for r in self.records}
        self.shed = set()
        for r in self.of_kind(kinds["shed"]):
            for first, last in re.findall(r"(\d+)(?:-(\d+))?", r.get("shed_seq") or ""):
                self.shed.update(range(int(first), int(last or first) + 1))
        top = max(self.numbers)
        self.twice = [n for n, times in self.numbers.items() if times > 1]
        self.missing = [n for n in range(min(self.numbers), top) if n not in self.numbers and n not in self.shed]
        self.paths = collections.Counter(r["path"] for r in self.records
                                         if "create" in r.events and r["path"].count("/") == 4)

    def of_kind(self, message_id):
        return [r for r in self.records if r.fields["MESSAGE_ID"][0] == message_id]


def journald_pid(machine):
    return machine.sh("systemctl show -P MainPID systemd-journald").out.strip()


def everything(fawatchd):
    fawatchd.settle()
    return fawatchd.machine.journal(fawatchd.begin, "SYSLOG_IDENTIFIER=fawatchd")


def wait_active(fawatchd, old):
    wait_until(lambda: fawatchd.main_pid() not in (0, old) and fawatchd.property("ActiveState") == "active",
               "the restart", 30)


class Troubles:
    """Everything that happens to a daemon and its log in its life, at random moments."""

    def __init__(self, fawatchd):
        self.fawatchd, self.machine = fawatchd, fawatchd.machine
        self.reloads = 0

    def reload(self):
        self.reloads += 1
        text = 'watch: { other%d: { path = "/t/%s"; events = "%s"; }; };\nignore: { i%d: { path = "/t/w/none%d"; }; };\n'
        self.fawatchd.write_rule("other", text % (self.reloads, "ow"[self.reloads % 2],
                                                  ("change", "attrib", "open")[self.reloads % 3],
                                                  self.reloads, self.reloads))
        self.fawatchd.reload()

    def restart(self):
        self.fawatchd.restart()

    def kill(self):
        old = self.fawatchd.main_pid()
        self.machine.sh("systemctl kill -s KILL fawatchd")
        wait_active(self.fawatchd, old)

    def watchdog(self):
        old = self.fawatchd.main_pid()
        self.machine.sh(f"kill -STOP {old}")
        wait_active(self.fawatchd, old)

    def journald_restart(self):
        self.machine.sh("systemctl restart systemd-journald")

    def journald_stall(self):
        pid = journald_pid(self.machine)
        self.machine.sh(f"kill -STOP {pid}; sleep 5; kill -CONT {pid}")


def prepare(fawatchd, rules=RULES, settings=SETTINGS):
    fawatchd.restarts_expected = True
    machine = fawatchd.machine
    machine.write("/etc/systemd/system/fawatchd.service.d/watchdog.conf", "[Service]\nWatchdogSec=2s\n")
    machine.sh("systemctl daemon-reload; mkdir -p /t/o")
    machine.unmount_all("/t")
    machine.sh("mkdir -p /t/w && mount -t tmpfs -o size=2G,nr_inodes=2M tmpfs /t/w")
    fawatchd.start(rules, settings)


@pytest.mark.parametrize("turn", range(ROUNDS))
def test_storm_over_everything(fawatchd, machine, kinds, turn):
    """Every file that was made is recorded exactly once, and every number is there exactly once."""
    prepare(fawatchd)
    troubles = Troubles(fawatchd)
    plan = (["reload"] * 50 + ["restart"] * 20 + ["kill"] * 20 + ["watchdog"] * 3 +
            ["journald_restart"] * 5 + ["journald_stall"])
    random.Random(turn).shuffle(plan)
    writers = start_writers(machine, FILES, 60)
    begin = time.monotonic()
    for trouble in plan:
        getattr(troubles, trouble)()
    took = time.monotonic() - begin
    made = finish(writers)
    assert sum(made) == FILES
    account = Account(everything(fawatchd), kinds)
    assert len(account.streams) == 1, f"one stream ({took:.0f} s of troubles)"
    assert account.missing == []
    assert account.twice == []
    assert [r for r in account.of_kind(kinds["gap"])] == []
    wrong = {path: n for path, n in account.paths.items() if n != 1}
    assert wrong == {}
    if not account.shed:
        assert len(account.paths) == FILES
    else:
        assert len(account.paths) + len(account.shed) >= FILES
