# SPDX-License-Identifier: LGPL-2.1-or-later
"""Start, stop, crash, watchdog, a second service, missing rights, a missing journal."""

import time

from harness import stdout_records, wait_until

RULES = 'watch: { r: { path = "/t/w"; events = "create"; }; };\n'


def test_ready_only_when_the_marks_are_in_place(fawatchd, machine, w):
    """What happens right after "systemctl start" returns is seen."""
    fawatchd.start(RULES)
    for turn in range(10):
        machine.sh(f"systemctl restart fawatchd && touch /t/w/{turn}")
    assert {r["path"] for r in fawatchd.records()} >= {f"/t/w/{turn}" for turn in range(10)}


def test_stop_drains_what_was_read(fawatchd, machine, w):
    fawatchd.start(RULES)
    begin = time.monotonic()
    machine.python("for i in range(3000): open(f'/t/w/{i}', 'w').close()")
    fawatchd.stop()
    assert time.monotonic() - begin < 30
    machine.sh("journalctl --sync")
    assert len(fawatchd.records(settle=False)) == 3000
    assert fawatchd.property("Result") == "success"


def test_status_text_says_what_it_does(fawatchd, machine, w):
    fawatchd.start(RULES)
    machine.sh("touch /t/w/f")
    fawatchd.settle()
    text = wait_until(lambda: fawatchd.property("StatusText"), "a status")
    assert "rule" in text and "mark" in text


def test_crash_is_restarted_and_nothing_is_missing(fawatchd, machine, w, kinds):
    fawatchd.restarts_expected = True
    fawatchd.start(RULES)
    old = fawatchd.main_pid()
    machine.sh("systemctl kill -s SEGV fawatchd")
    wait_until(lambda: fawatchd.main_pid() not in (0, old) and fawatchd.property("ActiveState") == "active",
               "the restart")
    assert fawatchd.property("NRestarts") == "1"
    machine.sh("touch /t/w/after")
    assert "/t/w/after" in {r["path"] for r in fawatchd.records()}
    assert fawatchd.of_kind(kinds["gap"], wait=False) == []


def test_watchdog_restarts_a_daemon_that_hangs(fawatchd, machine, w):
    fawatchd.restarts_expected = True
    machine.write("/etc/systemd/system/fawatchd.service.d/watchdog.conf", "[Service]\nWatchdogSec=1s\n")
    machine.sh("systemctl daemon-reload")
    fawatchd.start(RULES)
    pid = fawatchd.main_pid()
    time.sleep(2.5)  # longer than the watchdog: it is fed
    assert fawatchd.main_pid() == pid and fawatchd.property("NRestarts") == "0"
    machine.sh(f"kill -STOP {pid}")
    wait_until(lambda: fawatchd.main_pid() not in (0, pid) and fawatchd.property("ActiveState") == "active",
               "the watchdog's restart", 30)
    assert fawatchd.property("NRestarts") == "1"
    machine.sh("touch /t/w/after")
    assert "/t/w/after" in {r["path"] for r in fawatchd.records()}


def test_a_second_service_is_refused(fawatchd, machine, w):
    fawatchd.start(RULES)
    second = machine.sh("RUNTIME_DIRECTORY=/run/fawatchd STATE_DIRECTORY=/var/lib/fawatchd fawatchd", check=False)
    assert second.status == 75
    assert "another" in second.err or "already" in second.err, second
    assert len(second.err.strip().splitlines()) == 1, second
    machine.sh("touch /t/w/f")
    assert [r["path"] for r in fawatchd.records()] == ["/t/w/f"], "the first goes on"


def test_ad_hoc_daemon_runs_beside_the_service(fawatchd, machine, w):
    fawatchd.start(RULES)
    process = machine.spawn("exec fawatchd --log=stdout --watch=/t/w")
    machine.sh("for i in $(seq 50); do touch /t/w/$i; sleep 0.02; done")
    assert next(stdout_records(process))["path"].startswith("/t/w/")
    assert machine.end_ad_hoc(process) == 0
    assert fawatchd.property("ActiveState") == "active"


def test_not_root_says_which_capability(machine, w):
    refused = machine.sh("setpriv --reuid=1 --regid=1 --clear-groups fawatchd --log=stdout --watch=/t/w", check=False)
    assert refused.status == 77
    assert "CAP_SYS_ADMIN" in refused.err and len(refused.err.strip().splitlines()) == 1, refused


def test_missing_capability_is_named(machine, w):
    refused = machine.sh("setpriv --bounding-set=-dac_read_search --inh-caps=-dac_read_search "
                         "fawatchd --log=stdout --watch=/t/w", check=False)
    assert refused.status == 77 and "CAP_DAC_READ_SEARCH" in refused.err, refused


def test_no_journald_socket_loses_nothing_that_fits(fawatchd, machine, w):
    fawatchd.write_rule("test", RULES)
    machine.sh("mv /run/systemd/journal/socket /run/systemd/journal/away")
    try:
        machine.sh("systemctl start fawatchd; touch /t/w/{1..50}")
        wait_until(lambda: fawatchd.ctl_json("status")["log"]["waiting"] >= 50, "records wait")
        assert "journal" in fawatchd.ctl("status", check=False).out
        assert fawatchd.ctl_json("status")["counters"]["send_errors"] > 0
    finally:
        machine.sh("mv /run/systemd/journal/away /run/systemd/journal/socket")
    wait_until(lambda: len(fawatchd.records()) == 50, "all records after the socket came back", 30)


def test_journald_restarted(fawatchd, machine, w):
    fawatchd.start(RULES)
    machine.sh("touch /t/w/1; systemctl restart systemd-journald; touch /t/w/2")
    assert [r["path"] for r in fawatchd.records()] == ["/t/w/1", "/t/w/2"]


def test_filesystem_that_is_watched_can_be_unmounted(fawatchd, machine):
    machine.mount("ext4", "/t/w")
    fawatchd.start('watch: { r: { path = "/t/w"; events = "change"; }; };\n')
    machine.python("for i in range(2000): open(f'/t/w/{i}', 'w').close()")
    # busy for no longer than it takes to look at one batch
    wait_until(lambda: machine.sh("umount /t/w", check=False).status == 0, "the umount", 5)


def test_status_file_holds_counters_for_everybody(fawatchd, machine, w):
    fawatchd.start(RULES)
    machine.sh("touch /t/w/{1..10}")
    fawatchd.settle()
    mode = machine.sh("stat -c %a /run/fawatchd/status").out.strip()
    assert mode == "644"
    counters = wait_until(lambda: fawatchd.counters()["events_recorded"] >= 11 and fawatchd.counters(), "counters")
    assert counters["records_shed"] == 0 and counters["events_overflow"] == 0
    machine.sh("setpriv --reuid=1 --regid=1 --clear-groups cat /run/fawatchd/status")


def test_counters_add_up(fawatchd, machine, w):
    fawatchd.start("""
        watch: { r: { path = "/t/w/d"; events = "change"; except = [ "*.tmp" ]; }; };
        ignore: { i: { path = "/t/w/d/ign"; }; };""")
    machine.sh("mkdir -p /t/w/d/ign /t/w/o; for i in 1 2 3; do echo x > /t/w/d/$i; echo x > /t/w/d/$i.tmp; "
               "echo x > /t/w/d/ign/$i; echo x > /t/w/o/$i; mv /t/w/d/$i /t/w/o/x; done")
    fawatchd.settle()
    status = fawatchd.ctl_json("status")["counters"]
    parts = ("filtered", "ignored", "self", "nameless", "unresolved", "guarded", "coalesced", "limited", "bad",
             "no_memory", "recorded", "overflow", "exec", "special")
    total = sum(status.get(f"events_{part}", 0) for part in parts)
    assert total == status["events_read"], status
