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


def calm(fawatchd):
    """Waits until the kernel's queue is empty and the log has all: a barrier could be shed before."""
    seen = None

    def unchanged():
        nonlocal seen
        time.sleep(1.2)  # the file is written once a second
        now = fawatchd.counters()
        before, seen = seen, (now["records_made"], now["records_shed"], now["events_unread"])
        return before == seen and now["waiting"] == 0
    wait_until(unchanged, "the end of the storm", 120)


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


def test_full_speed_is_recorded_or_shed(fawatchd, machine, kinds):
    """More than the log takes, for five seconds: recorded and shed add up to what was made."""
    prepare(fawatchd, settings=SETTINGS.replace("256M", "8M"))
    made = finish(start_writers(machine, 100_000_000, 0))
    calm(fawatchd)
    account = Account(everything(fawatchd), kinds)
    assert account.missing == [] and account.twice == []
    unread = sum(int(r["count"]) for r in account.of_kind(kinds["shed"]) if not r.get("shed_seq"))
    assert len(account.streams) == 1
    assert max(account.paths.values()) == 1
    # the folders of the writers are files made, too
    others = len([n for n in account.shed]) + unread
    assert len(account.paths) + others >= sum(made)
    assert len(account.paths) + others <= sum(made) + WRITERS + 8
    verdict = fawatchd.ctl("verify", "--since", "-60s", "--json", check=False)
    assert verdict.status == (1 if others else 0), verdict


def test_queue_memory_is_kept_by_what_matters_least(fawatchd, machine, w, kinds):
    """With a longer queue in the kernel only what is urgent is looked at; the rest is counted, to the last event."""
    fawatchd.start("""watch: {
  many: { path = "/t/w"; events = "create"; priority = "info"; coalesce = "0"; limit = "0"; };
  few: { path = "/t/w"; events = "delete"; priority = "err"; coalesce = "0"; limit = "0"; };
};
""", settings='queue_memory = "64K";\n')
    machine.sh("touch /t/w/old{1..100}")
    fawatchd.mark()
    pid = fawatchd.main_pid()
    machine.sh(f"kill -STOP {pid}")
    try:
        machine.python("for i in range(60000): open(f'/t/w/new{i}', 'x').close()")
        machine.sh("rm /t/w/old*; sleep 1")
    finally:
        machine.sh(f"kill -CONT {pid}")
    unread = fawatchd.of_kind(kinds["shed"])
    records = fawatchd.records()
    assert {r["path"] for r in records if "delete" in r.events} == {f"/t/w/old{i}" for i in range(1, 101)}
    counted = sum(int(r["count"]) for r in unread)
    assert counted > 0 and all("queue_memory" in r["reason"] for r in unread)
    assert len([r for r in records if "create" in r.events]) + counted == 60000


RECOVER = 'queue = "bounded";\nrecover = true;\nspool = "64M";\n'


@pytest.mark.parametrize("events", ["change", "all"])
def test_overflow_is_one_gap_and_is_recovered(fawatchd, machine, w, kinds, events):
    """With all events, too: what the scan itself opens and reads neither feeds it nor fills the queue."""
    fawatchd.write_settings(RECOVER)
    fawatchd.start('watch: { r: { path = "/t/w"; events = "%s"; coalesce = "0"; limit = "0"; }; };\n' % events)
    machine.sh("mkdir -p /t/w/old /t/w/gone; touch /t/w/old/untouched /t/w/old/touched /t/w/gone/f; sleep 5")
    fawatchd.mark()
    pid = fawatchd.main_pid()
    machine.sh(f"kill -STOP {pid}")
    try:
        machine.python("""
import os
for i in range(17000): open(f'/t/w/{i}', 'w').close()
os.makedirs('/t/w/new/deep')
open('/t/w/new/deep/f', 'w').write('x')
open('/t/w/old/touched', 'a').write('x')
os.unlink('/t/w/gone/f')
""")
    finally:
        machine.sh(f"kill -CONT {pid}")
    wait_until(lambda: [r for r in machine.journal(fawatchd.begin, f"MESSAGE_ID={kinds['coverage']}")
                        if r.get("reason") == "recovery after a gap"], "the end of the recovery", 180)
    records = fawatchd.records(kinds="all")
    gaps = [r for r in records if r.fields["MESSAGE_ID"][0] == kinds["gap"]]
    assert [r["gap"] for r in gaps] == ["overflow"]
    places = gaps[0].all("mountpoint")
    assert "/t/w" in places and len(set(places)) == len(places)
    assert int(gaps[0]["from_usec"]) < int(gaps[0]["until_usec"])
    found = [r for r in records if r.get("origin") == "recovery"]
    assert all(r.events == {"changed"} and r["attribution"] == "unknown" for r in found)
    known = {r["path"] for r in records if "path" in r}
    paths = {r["path"] for r in found}
    assert {f"/t/w/{i}" for i in range(17000)} <= known
    assert {"/t/w/new", "/t/w/new/deep", "/t/w/new/deep/f", "/t/w/old/touched", "/t/w/gone"} <= paths
    assert "/t/w/old/untouched" not in paths and "/t/w/old" not in paths
    assert fawatchd.counters()["events_overflow"] == 1
    verdict = fawatchd.ctl_status("verify", "--since", "-10min")
    assert not verdict["complete"] and "overflow" in {g["kind"] for g in verdict["gaps"]}


def test_stop_and_start_is_a_gap_that_is_recovered(fawatchd, machine, w, kinds):
    fawatchd.start('watch: { r: { path = "/t/w"; events = "change"; }; };\n', settings="recover = true;\n")
    machine.sh("touch /t/w/before; sleep 3")
    fawatchd.mark()
    fawatchd.stop()
    machine.sh("sleep 1; touch /t/w/meanwhile")
    machine.sh("systemctl start fawatchd")
    gap = fawatchd.of_kind(kinds["gap"])
    assert [r["gap"] for r in gap] == ["absent"]
    assert 1e6 < int(gap[0]["until_usec"]) - int(gap[0]["from_usec"]) < 30e6
    wait_until(lambda: [r for r in fawatchd.records() if r["path"] == "/t/w/meanwhile"], "what the scan found")
    assert [r["path"] for r in fawatchd.records() if r.get("origin") == "recovery"] == ["/t/w", "/t/w/meanwhile"]


def test_sign_of_life_of_another_machine_says_nothing(fawatchd, machine, w, kinds):
    """An image that was copied: what another machine saw is no gap of this one."""
    life = "/var/lib/fawatchd/last-life"
    fawatchd.start('watch: { r: { path = "/t/w"; events = "create"; }; };\n')
    for edit, gaps in ("s/^machine=.*/machine=" + 32 * "7" + "/", 0), ("", 1):
        fawatchd.mark()
        fawatchd.stop()
        machine.sh(["sed", "-i", edit, life])
        machine.sh("systemctl start fawatchd; touch /t/w/after")
        records = fawatchd.records(kinds="all")
        assert len([r for r in records if r.fields["MESSAGE_ID"][0] == kinds["gap"]]) == gaps


def test_mount_gap_is_recovered(fawatchd, machine, kinds):
    """Unmounted, changed where nobody watches, mounted again: what changed is found, what did not is not."""
    machine.sh("mkdir -p /t/w /run/images; truncate -s 64M /run/images/gap; mkfs.ext4 -q -F /run/images/gap; "
               "mount -o loop /run/images/gap /t/w; mkdir -p /t/w/d /t/w/e; touch /t/w/d/old /t/w/d/changed; "
               "sync -f /t/w")
    fawatchd.start('watch: { r: { path = "/t/w"; events = "change"; coalesce = "0"; }; };\n',
                   settings="recover = true;\n")
    machine.sh("sleep 3")  # longer than the margin for a filesystem's clock
    fawatchd.mark()
    # in a mount namespace of its own nothing is told, since the filesystem is away here
    wait_until(lambda: machine.sh("umount /t/w", check=False).status == 0, "the umount", 3)
    wait_until(lambda: fawatchd.of_kind(kinds["coverage"], wait=False), "that it is gone", 30)
    machine.sh("""unshare -m bash -ec 'mount --make-rprivate /; mount -o loop /run/images/gap /t/w
               echo x >> /t/w/d/changed; echo x > /t/w/e/new; umount /t/w'""")
    fawatchd.begin = machine.cursor()
    machine.sh("mount -o loop /run/images/gap /t/w")
    over = lambda: [r for r in machine.journal(fawatchd.begin, f"MESSAGE_ID={kinds['coverage']}")
                    if r.get("reason") == "recovery after a gap"]
    wait_until(over, "the end of the recovery", 180)
    found = [r for r in fawatchd.records() if r.get("origin") == "recovery"]
    assert sorted(r["path"] for r in found) == ["/t/w/d/changed", "/t/w/e", "/t/w/e/new"], found
    assert {r["attribution"] for r in found} == {"unknown"} and over()[0].get("from_usec")
    machine.sh("umount /t/w; rm /run/images/gap")


def test_recovery_keeps_no_umount_out(fawatchd, machine, kinds):
    """umount(2) of the filesystem that is looked at succeeds while the look goes on: 96,000 names, three seconds."""
    machine.sh("mkdir -p /t/w; mount -t tmpfs -o nr_inodes=1M tmpfs /t/w")
    machine.python("""
import os
for d in range(300):
    os.mkdir(f'/t/w/{d}')
    for f in range(320): open(f'/t/w/{d}/{f}', 'w').close()
""")
    fawatchd.start('watch: { r: { path = "/t/w"; events = "change"; coalesce = "0"; limit = "0"; }; };\n',
                   settings="recover = true;\n")
    machine.sh("sleep 3")  # longer than the margin for a filesystem's clock
    fawatchd.mark()
    fawatchd.stop()
    machine.sh("for d in {0..299..10}; do touch /t/w/$d/new; done; systemctl start fawatchd")

    def found():
        return [r for r in machine.journal(fawatchd.begin, "FAWATCH_ORIGIN=recovery")]
    wait_until(found, "that it looks", 30)
    seconds = float(machine.python("""
import subprocess, time
begin = time.monotonic()
while subprocess.run(['umount', '/t/w'], stderr=subprocess.DEVNULL).returncode: time.sleep(0.002)
print(time.monotonic() - begin)
""").out)
    n = len({r["path"] for r in found() if r["path"].endswith("/new")})
    assert n < 30, "the look was over before"
    assert seconds < 0.5
    over = lambda: [r for r in machine.journal(fawatchd.begin, f"MESSAGE_ID={kinds['coverage']}")
                    if r.get("reason") == "recovery after a gap"]
    wait_until(over, "the end of the recovery", 30)


def test_another_machines_sign_of_life_says_nothing(fawatchd, machine, w, kinds):
    fawatchd.start(RULES)
    fawatchd.stop()
    machine.sh("sed -i 's/^machine=.*/machine=00000000000000000000000000000001/' /var/lib/fawatchd/last-life")
    fawatchd.start()
    fawatchd.settle()
    assert fawatchd.of_kind(kinds["gap"], wait=False) == []


def test_merged_events_of_a_killed_process_are_counted(fawatchd, machine, w, kinds):
    fawatchd.restarts_expected = True
    fawatchd.start('watch: { r: { path = "/t/w"; events = "modify"; coalesce = "1h"; }; };\n')
    machine.sh("for i in 1 2 3 4 5; do echo x; sleep 0.2; done > /t/w/f; touch /t/w/other")
    fawatchd.settle()
    merged = fawatchd.ctl_json("status")["counters"]["events_coalesced"]
    assert merged > 0
    old = fawatchd.main_pid()
    machine.sh("systemctl kill -s KILL fawatchd")
    wait_active(fawatchd, old)
    gap = fawatchd.of_kind(kinds["gap"])
    assert [r["gap"] for r in gap] == ["killed"] and f" {merged} repeated" in gap[0]["reason"]


def test_damaged_spool_is_a_gap_and_no_crash(fawatchd, machine, w, kinds):
    """Another version, bytes turned over: a new stream, a gap that says why, and it goes on."""
    fawatchd.restarts_expected = True
    fawatchd.start(RULES)
    # the last: both copies of its state, of which one is in force
    for offset, length, reason in ((8, 1, "another version"), (24, 1, "damaged"), (128, 65536, "damaged")):
        fawatchd.mark()
        old = fawatchd.main_pid()
        machine.python(f"""
import os, signal, time
pid = {old}
os.kill(pid, signal.SIGSTOP)
tasks = f'/proc/{{pid}}/task'
# a thread that has not stopped yet would write over it
while any(open(f'{{tasks}}/{{t}}/stat').read().rsplit(')', 1)[1].split()[0] != 'T' for t in os.listdir(tasks)):
    time.sleep(0.001)
for fd in os.listdir(f'/proc/{{pid}}/fd'):
    if 'fawatchd-spool' in os.readlink(f'/proc/{{pid}}/fd/{{fd}}'):
        with open(f'/proc/{{pid}}/fd/{{fd}}', 'r+b') as f:
            f.seek({offset}); bytes_ = f.read({length}); f.seek({offset}); f.write(bytes(b ^ 255 for b in bytes_))
            break
else:
    maps = [line.split()[0] for line in open(f'/proc/{{pid}}/maps') if 'fawatchd-spool' in line]
    with open(f'/proc/{{pid}}/mem', 'r+b') as f:
        at = int(maps[0].split('-')[0], 16) + {offset}
        f.seek(at); bytes_ = f.read({length}); f.seek(at); f.write(bytes(b ^ 255 for b in bytes_))
os.kill(pid, signal.SIGKILL)
""")
        wait_active(fawatchd, old)
        gap = fawatchd.of_kind(kinds["gap"])
        assert [r["gap"] for r in gap] == ["store"] and reason in gap[0]["reason"], offset
        machine.sh(f"touch /t/w/after{offset}")
        assert f"/t/w/after{offset}" in {r["path"] for r in fawatchd.records()}


def test_what_was_read_and_not_judged_is_judged_by_the_next(fawatchd, machine, w):
    """A process that lives on is still named; a kill in the middle of a storm loses nothing."""
    fawatchd.restarts_expected = True
    fawatchd.start(RULES)
    for turn in range(5):
        writer = machine.spawn(["python3", "-B", "-c", f"""
for i in range(8000): open(f'/t/w/{turn}.{{i}}', 'w').close()
input()
"""], stdin=-1)
        time.sleep(0.1)
        old = fawatchd.main_pid()
        machine.sh("systemctl kill -s KILL fawatchd")
        wait_active(fawatchd, old)
        writer.communicate(b"\n", timeout=30)
    records = [r for r in fawatchd.records() if r["path"].count(".")]
    paths = collections.Counter(r["path"] for r in records)
    assert len(paths) == 40000 and set(paths.values()) == {1}
    assert {r.get("comm") for r in records} <= {"python3", None}


def verdict_of(fawatchd, *arguments):
    return fawatchd.ctl_status("verify", *arguments)


def next_second(machine):
    """A whole second, as --since takes them, that begins now: what was before is before it."""
    return "@" + machine.sh("s=$(date +%s); until [ $(date +%s) -gt $s ]; do sleep 0.01; done; date +%s").out.strip()


class TestVerify:
    def test_complete(self, fawatchd, machine, w):
        fawatchd.start(RULES)
        machine.sh("touch /t/w/{1..20}")
        fawatchd.settle()
        fawatchd.restart()
        fawatchd.reload()
        stream = fawatchd.ctl_json("status")["stream"]
        mine = [s for s in verdict_of(fawatchd)["streams"] if s["stream"] == stream]
        assert len(mine) == 1 and mine[0]["missing"] == [] and mine[0]["first"] == 1
        since = next_second(machine)
        machine.sh("touch /t/w/{21..30}")
        fawatchd.settle()
        answer = verdict_of(fawatchd, "--since", since)
        assert answer["complete"] and answer["records"] >= 10, answer
        assert fawatchd.ctl("verify", "--since", since).status == 0
        # a second before the stream began nobody watched, and no record says why: this is the first start
        began = mine[0]["first_usec"]
        answer = verdict_of(fawatchd, "--since", f"@{began // 1000000 - 1}")
        assert [a["until_usec"] for a in answer["absences"]][-1:] == [began] and not answer["complete"], answer

    def test_forged_number(self, fawatchd, machine, w):
        fawatchd.start(RULES)
        fawatchd.settle()
        status = fawatchd.ctl_json("status")
        since = next_second(machine)
        # the forger stays until it was asked who it is: of one that is gone the journal knows the user alone
        machine.python("""
import socket, subprocess, sys
journal = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
journal.connect("/run/systemd/journal/socket")
journal.send(sys.argv[1].encode())
subprocess.run(["journalctl", "--sync"], check=True)
""", f"MESSAGE=forged\nSYSLOG_IDENTIFIER=fawatchd\nFAWATCH_STREAM={status['stream']}\n"
                       f"FAWATCH_SEQ={status['seq'] + 1000}\n")
        machine.sh("touch /t/w/1")
        fawatchd.settle()
        answer = verdict_of(fawatchd, "--since", since)
        assert not answer["complete"] and answer["foreign"] == 1 and answer["missing"] == 0, answer

    def test_missing_records(self, fawatchd, machine, w):
        """A journal file of the middle is deleted, with records and a sign of life in it."""
        fawatchd.start(RULES, settings='heartbeat = "1s";\n')
        machine.sh("journalctl --rotate; touch /t/w/{1..10}; sleep 2.5")
        fawatchd.settle()
        first = int(fawatchd.ctl_json("status")["seq"])
        machine.sh("journalctl --rotate; touch /t/w/{11..20}; sleep 2.5")
        fawatchd.settle()
        machine.sh("journalctl --rotate; touch /t/w/{21..30}")
        fawatchd.settle()
        stream = fawatchd.ctl_json("status")["stream"]
        machine.sh("ls -t /var/log/journal/*/system@*.journal /run/log/journal/*/system@*.journal 2>/dev/null "
                   "| head -1 | xargs rm")
        mine = [s for s in verdict_of(fawatchd)["streams"] if s["stream"] == stream][0]
        assert mine["missing"], mine
        lost = sum(m["last"] - m["first"] + 1 for m in mine["missing"])
        assert lost >= 10 and mine["missing"][0]["first"] >= first

    def test_stood_still(self, fawatchd, machine, w):
        """Nothing is lost while it is stopped, but no sign of life comes: silent.  While it lasts, too."""
        fawatchd.start(RULES, settings='heartbeat = "1s";\n')
        fawatchd.settle()
        since = next_second(machine)
        pid = fawatchd.main_pid()
        # a silence is what follows a sign of life
        wait_until(lambda: verdict_of(fawatchd, "--since", since)["streams"], "a sign of life", 30)
        machine.sh(f"kill -STOP {pid}")
        try:
            hangs = verdict_of(fawatchd, "--since", since)
            assert hangs["silent_since_usec"] > 0 and not hangs["complete"], hangs
        finally:
            machine.sh(f"touch /t/w/meanwhile; kill -CONT {pid}")
        fawatchd.settle()
        answer = verdict_of(fawatchd, "--since", since)
        assert answer["missing"] == 0 and answer["gaps"] == [] and answer["silent_since_usec"] == 0
        longest = max(s["until_usec"] - s["from_usec"] for s in answer["silences"])
        assert longest > 1e6 and not answer["complete"], answer

    def test_end_of_a_stream_is_deleted(self, fawatchd, machine, w):
        """The next daemon knows how far the numbers went before it."""
        fawatchd.start(RULES)
        machine.sh("touch /t/w/{1..5}")
        fawatchd.settle()
        stream = fawatchd.ctl_json("status")["stream"]
        machine.sh("journalctl --rotate; touch /t/w/{6..10}")
        fawatchd.stop()
        machine.sh("journalctl --sync; journalctl --rotate")
        machine.sh("ls -t /var/log/journal/*/system@*.journal | head -1 | xargs rm")
        machine.sh("systemctl start fawatchd")
        fawatchd.settle()
        first, second = [s for s in verdict_of(fawatchd)["streams"]][-2:]
        assert first["stream"] == stream and second["missing"] == []
        lost = sum(m["last"] - m["first"] + 1 for m in first["missing"])
        assert lost >= 6, first  # five files, and that it stops

    def test_older_than_the_journal(self, fawatchd, machine, w):
        fawatchd.start(RULES)
        fawatchd.settle()
        answer = verdict_of(fawatchd, "--since", "2001-01-01")
        assert answer["older_usec"] > 0 and not answer["complete"]

    def test_missing_sign_of_life(self, fawatchd, machine, w):
        """A record of kind alive that is taken out leaves a hole in the numbers, like any other."""
        fawatchd.start(RULES, settings='heartbeat = "1s";\n')
        fawatchd.settle()
        fawatchd.stop()
        fawatchd.write_settings('heartbeat = "1h";\n')
        machine.sh("journalctl --sync; journalctl --rotate")
        fawatchd.start()
        fawatchd.write_settings('heartbeat = "1s";\n')
        seq = fawatchd.ctl_json("status")["seq"]
        machine.sh("journalctl --sync; journalctl --rotate; fawatchctl reload")
        wait_until(lambda: [r for r in fawatchd.records(settle=False, kinds="all")
                            if r.fields["MESSAGE"][0].startswith("alive")], "a sign of life", 30)
        machine.sh("journalctl --rotate; ls -t /var/log/journal/*/system@*.journal | head -1 | xargs rm")
        fawatchd.settle()
        mine = verdict_of(fawatchd)["streams"][-1]
        assert mine["missing"] and mine["missing"][0]["first"] == seq + 1, mine

    def test_stopped_is_absent(self, fawatchd, machine, w):
        fawatchd.start(RULES)
        fawatchd.stop()
        answer = verdict_of(fawatchd, "--since", "-20s")
        assert answer["stopped"] and not answer["complete"]

    def test_wrong_time(self, fawatchd):
        assert fawatchd.ctl("verify", "--since", "next tuesday", check=False).status == 2


SOAK = float(os.environ.get("FAWATCHD_SOAK", "20"))  # seconds; ten minutes: FAWATCHD_SOAK=600


def test_soak(fawatchd, machine, w):
    """Under load and reloads for a long time, memory and descriptors stay what they were."""
    prepare(fawatchd)
    troubles = Troubles(fawatchd)
    pid = fawatchd.main_pid()

    def look():
        text = machine.read(f"/proc/{pid}/status")
        private = int(re.search(r"RssAnon:\s+(\d+)", text).group(1))
        return private, len(machine.sh(f"ls /proc/{pid}/fd").out.split())

    writers = start_writers(machine, int(1500 * SOAK), SOAK)
    seen = []
    begin = time.monotonic()
    while time.monotonic() - begin < SOAK:
        troubles.reload()
        time.sleep(0.5)
        seen.append(look())
    finish(writers)
    assert fawatchd.main_pid() == pid
    third = len(seen) // 3
    early, late = seen[third:2 * third], seen[2 * third:]
    assert max(private for private, _ in late) <= 1.1 * max(private for private, _ in early) + 1024, seen
    # what a batch has open at the moment of the look comes and goes
    assert min(fds for _, fds in late) <= min(fds for _, fds in early) + 2, seen
