# SPDX-License-Identifier: LGPL-2.1-or-later
"""A storm of file operations by several processes, reconciled to the last one.

Operations and events differ: the kernel merges what one process does to one
object before it is read.  So each file's create, rename, delete and last change
of content is looked for in the union of its records.
"""

import pytest

from harness import wait_until

PROCESSES = 4
FILES = 5000  # a process; 5 operations each: 4 x 5,000 x 5 = 100,000

# Each process works on names of its own: create, write, close, rename, rewrite, and deletes every second one.
STORM = """
import os, sys
who, files = sys.argv[1], int(sys.argv[2])
base = f'/t/w/{who}'
os.makedirs(base, exist_ok=True)
for i in range(files):
    d = f'{base}/{i % 50}'
    os.makedirs(d, exist_ok=True)
    with open(f'{d}/{i}', 'w') as f: f.write('x')
    os.rename(f'{d}/{i}', f'{d}/{i}.r')
    with open(f'{d}/{i}.r', 'a') as f: f.write('y')
    if i % 2: os.unlink(f'{d}/{i}.r')
"""


def storm(machine, meanwhile=None):
    writers = [machine.spawn(["python3", "-B", "-c", STORM, str(who), str(FILES)]) for who in range(PROCESSES)]
    if meanwhile:
        meanwhile()
    for writer in writers:
        assert writer.wait(timeout=300) == 0


def reconcile(records):
    """What is missing: a list of (name, operation)."""
    created, renamed, changed, deleted = set(), set(), set(), set()
    for r in records:
        path = r.get("path")
        events = r.events
        if "create" in events:
            created.add(path)
        if "rename" in events:
            renamed.add((r.get("old_path"), path))
        if "close_write" in events:
            changed.add(path)
        if "delete" in events:
            deleted.add(path)
    missing = []
    for who in range(PROCESSES):
        for i in range(FILES):
            name = f"/t/w/{who}/{i % 50}/{i}"
            if name not in created:
                missing.append((name, "create"))
            if (name, name + ".r") not in renamed:
                missing.append((name, "rename"))
            if name + ".r" not in changed:
                missing.append((name, "last change"))
            if i % 2 and name + ".r" not in deleted:
                missing.append((name, "delete"))
    return missing


def numbers_without_holes(records):
    seqs = sorted(int(r["seq"]) for r in records)
    return seqs == list(range(seqs[0], seqs[-1] + 1))


RULE = 'watch: { storm: { path = "/t/w"; events = "change"; coalesce = "0"; }; };\n'


def everything(fawatchd):
    fawatchd.settle()
    fields = ("FAWATCH_SEQ", "FAWATCH_EVENT", "FAWATCH_PATH", "FAWATCH_OLD_PATH", "FAWATCH_COUNT",
              "FAWATCH_SHED_SEQ", "MESSAGE_ID")
    found = fawatchd.machine.journal(fawatchd.begin, "SYSLOG_IDENTIFIER=fawatchd", fields=fields)
    return [r for r in found if "seq" in r]


@pytest.fixture(autouse=True)
def journal_in_bounds(machine):
    yield
    machine.sh("journalctl -q --rotate; journalctl -q --vacuum-size=32M")


@pytest.mark.parametrize("fstype", ["tmpfs", "ext4"])
def test_storm_is_reconciled_exactly(fawatchd, machine, fstype):
    machine.mount(fstype, "/t/w")
    fawatchd.start(RULE, settings='spool = "512M";\nomit = [ "under", "cmdline", "ancestry" ];\n')
    storm(machine)
    records = everything(fawatchd)
    assert reconcile(records) == []
    assert numbers_without_holes(records)
    counters = fawatchd.counters()
    assert counters["records_shed"] == 0 and counters["events_overflow"] == 0 and counters["events_unresolved"] == 0


def test_storm_while_journald_is_restarted(fawatchd, machine, w):
    fawatchd.start(RULE, settings='spool = "512M";\nomit = [ "under", "cmdline", "ancestry" ];\n')

    def restart_journald():
        for _ in range(5):
            machine.sh("sleep 0.4; systemctl restart systemd-journald")
    storm(machine, restart_journald)
    records = everything(fawatchd)
    assert reconcile(records) == []
    assert numbers_without_holes(records)


def test_storm_larger_than_the_spool_is_shed_and_counted(fawatchd, machine, w, kinds):
    """journald stands still; what does not fit the spool is accounted for, number by number."""
    fawatchd.start(RULE, settings='spool = "1M";\n')
    journald = machine.sh("systemctl show -P MainPID systemd-journald").out.strip()
    machine.sh(f"kill -STOP {journald}")
    try:
        machine.python("""
for i in range(20000): open(f'/t/w/{i}', 'w').close()
""")
        wait_until(lambda: fawatchd.counters()["records_shed"] > 0, "shedding", 30)
        assert fawatchd.property("ActiveState") == "active"
    finally:
        machine.sh(f"kill -CONT {journald}")
    records = everything(fawatchd)
    shed = [r for r in records if r.fields["MESSAGE_ID"][0] == kinds["shed"]]
    assert shed
    have = {int(r["seq"]) for r in records}
    top = max(have)
    lost = [n for n in range(min(have), top) if n not in have]
    assert lost, "something was shed"
    # the shed records name exactly the missing numbers: "100-113,115"
    told = []
    for numbers in ",".join(r["shed_seq"] for r in shed).split(","):
        first, _, last = numbers.partition("-")
        told += range(int(first), int(last or first) + 1)
    assert sorted(told) == lost
    assert sum(int(r["count"]) for r in shed) == fawatchd.ctl_json("status")["counters"]["records_shed"]
