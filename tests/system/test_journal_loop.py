# SPDX-License-Identifier: LGPL-2.1-or-later
"""Watching where the journal lies must come to rest, also when a forwarder
writes a file because of each of our records."""

import time

import pytest

from harness import wait_until

# A syslog daemon in small: a line for each message, at once.
SYSLOG = """
import os, socket
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind('/run/systemd/journal/syslog')
while True:
    line = s.recv(65536)
    with open('/var/log/forwarded.log', 'ab') as f: f.write(line + b'\\n')
"""

# A forwarder that reads the journal: it hears of a record up to half a second later.
READER = """
import subprocess
p = subprocess.Popen(['journalctl', '-q', '-f', '-n', '0', '-o', 'cat', 'SYSLOG_IDENTIFIER=fawatchd'],
                     stdout=subprocess.PIPE)
for line in p.stdout:
    with open('/var/log/forwarded.log', 'ab') as f: f.write(line)
"""


def rate(fawatchd, seconds=5):
    """Records a second.  Counted by the daemon: looking into the journal makes journald write."""
    def made():
        return fawatchd.ctl_json("status")["counters"]["records_made"]
    time.sleep(1)
    before = made()
    time.sleep(seconds)
    return (made() - before) / seconds


@pytest.mark.parametrize("path, events, always", [
    ("/var/log", "change", "false"), ("/", "change", "false"), ("/var/log", "all", "false"),
    ("/var/log", "change", "true"),
])
def test_the_journal_itself_does_not_feed_back(fawatchd, machine, path, events, always):
    fawatchd.start(f'watch: {{ r: {{ path = "{path}"; events = "{events}"; always = {always}; }}; }};')
    machine.sh("for i in $(seq 50); do logger x$i; done; touch /var/log/mine /var/log/journal/mine; "
               "rm /var/log/journal/mine; journalctl --rotate; logger x")
    paths = {r.get("path") for r in fawatchd.records()}
    assert "/var/log/mine" in paths
    # with always what others do there is told, but not what journald does
    assert ("/var/log/journal/mine" in paths) == (always == "true")
    assert rate(fawatchd) < 1


def test_the_journal_is_ignored_in_the_kernel(fawatchd, machine):
    """Also when journald made new files."""
    fawatchd.start('watch: { r: { path = "/var/log"; }; };')
    journal = machine.sh("echo /var/log/journal/$(cat /etc/machine-id)/system.journal").out.strip()

    def decided():
        machine.sh("logger x; journalctl --sync")
        answer = fawatchd.ctl_json("explain", journal)
        return {e["event"]: e["decided"] for e in answer["events"]}["modify"]

    wait_until(lambda: decided() == "kernel ignore", "the ignore of the journal", 60)
    machine.sh("journalctl --rotate")
    wait_until(lambda: decided() == "kernel ignore", "the ignore of the next journal", 60)


@pytest.mark.parametrize("coalesce", ["1s", "0"])
@pytest.mark.parametrize("forwarder", [SYSLOG, READER], ids=["syslog", "reader"])
def test_a_forwarder_comes_to_rest(fawatchd, machine, kinds, forwarder, coalesce):
    machine.sh(": > /var/log/forwarded.log")
    fawatchd.start(f'watch: {{ r: {{ path = "/var/log"; coalesce = "{coalesce}"; }}; }};')
    process = machine.spawn(["python3", "-B", "-c", forwarder])
    try:
        wait_until(lambda: machine.sh("logger x; touch /var/log/mine; test -s /var/log/forwarded.log",
                                      check=False).status == 0, "the first line", 60)
        # found by its rate, thinned, and said once with a hint
        hint = wait_until(lambda: fawatchd.of_kind(kinds["feedback"], wait=False), "the hint", 60)
        assert "/var/log/forwarded.log" in str(hint[0].fields)
        wait_until(lambda: rate(fawatchd, 10) <= 0.5, "rest", 120)
        assert len(fawatchd.of_kind(kinds["feedback"])) <= 2
    finally:
        process.kill()
        machine.sh(["pkill", "-f", "forwarded.log"], check=False)  # no shell, which would be one of them
        machine.sh("rm -f /run/systemd/journal/syslog /var/log/forwarded.log")


def test_rsyslog_comes_to_rest(fawatchd, machine):
    if not machine.exists("/usr/sbin/rsyslogd"):
        pytest.skip("rsyslog is not installed: the forwarders of the test above stand for it")
    machine.write("/run/rsyslog.conf", 'module(load="imuxsock" SysSock.Name="/run/systemd/journal/syslog")\n'
                  '*.* action(type="omfile" file="/var/log/rsyslog-all.log")\n')
    fawatchd.start('watch: { r: { path = "/var/log"; }; };')
    process = machine.spawn(["rsyslogd", "-n", "-f", "/run/rsyslog.conf", "-i", "/run/rsyslog.pid"])
    try:
        machine.sh("until [ -S /run/systemd/journal/syslog ]; do sleep 0.05; done; logger x; touch /var/log/mine")
        wait_until(lambda: machine.exists("/var/log/rsyslog-all.log"), "the first line")
        wait_until(lambda: rate(fawatchd, 10) <= 0.5, "rest", 120)
    finally:
        machine.sh("kill $(cat /run/rsyslog.pid); rm -f /var/log/rsyslog-all.log", check=False)
        process.wait(timeout=10)
