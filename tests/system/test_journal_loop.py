# SPDX-License-Identifier: LGPL-2.1-or-later
"""Watching where the journal lies must come to rest, also when a forwarder
writes a file because of each of our records."""

import time

import pytest

# writes a line for each record that fawatchd makes, as rsyslog does; sees records 50 ms late at most
FORWARDER = """
import subprocess, os
p = subprocess.Popen(['journalctl', '-q', '-f', '-n', '0', '-o', 'cat', 'SYSLOG_IDENTIFIER=fawatchd'],
                     stdout=subprocess.PIPE)
for line in p.stdout:
    with open('/var/log/forwarded.log', 'ab') as f: f.write(line)
"""


def rate(fawatchd, machine, seconds=5):
    """Records a second, without the barrier's."""
    time.sleep(1)
    begin = machine.cursor()
    time.sleep(seconds)
    found = machine.journal(begin, "SYSLOG_IDENTIFIER=fawatchd")
    return len([r for r in found if "seq" in r and "barrier" not in r.all("rule")]) / seconds


@pytest.mark.parametrize("path, events", [("/var/log", "change"), ("/", "change"), ("/var/log", "all")])
def test_the_journal_itself_does_not_feed_back(fawatchd, machine, path, events):
    fawatchd.start(f'watch: {{ r: {{ path = "{path}"; events = "{events}"; }}; }};')
    machine.sh("for i in $(seq 50); do logger x$i; done; touch /var/log/mine")
    assert "/var/log/mine" in {r.get("path") for r in fawatchd.records()}
    assert rate(fawatchd, machine) < 1


@pytest.mark.parametrize("coalesce", ["1s", "0"])
def test_a_forwarder_comes_to_rest(fawatchd, machine, kinds, coalesce):
    machine.sh(": > /var/log/forwarded.log")
    fawatchd.start(f'watch: {{ r: {{ path = "/var/log"; coalesce = "{coalesce}"; }}; }};')
    forwarder = machine.spawn(["python3", "-B", "-c", FORWARDER])
    try:
        machine.sh("sleep 1; logger x; touch /var/log/mine")
        # found by its rate, thinned, and said once with a hint
        hint = fawatchd.of_kind(kinds["feedback"])
        assert "/var/log/forwarded.log" in str(hint[0].fields)
        time.sleep(30)
        assert rate(fawatchd, machine, 10) <= 0.5
        assert len(fawatchd.of_kind(kinds["feedback"])) <= 2
    finally:
        forwarder.kill()
        machine.sh("pkill -f forwarded.log; rm -f /var/log/forwarded.log", check=False)


def test_rsyslog_comes_to_rest(fawatchd, machine):
    if machine.sh("test -x /usr/sbin/rsyslogd", check=False).status != 0:
        pytest.skip("rsyslog is not installed: the forwarder of the test above stands for it")
    machine.write("/run/rsyslog.conf", 'module(load="imjournal" StateFile="/run/imjournal.state")\n'
                  '*.* action(type="omfile" file="/var/log/rsyslog-all.log")\n')
    if machine.sh("ls /usr/lib/*/rsyslog/imjournal.so", check=False).status != 0:
        machine.write("/run/rsyslog.conf", 'module(load="imuxsock" SysSock.Name="/run/systemd/journal/syslog")\n'
                      '*.* action(type="omfile" file="/var/log/rsyslog-all.log")\n')
        machine.sh("printf '[Journal]\\nForwardToSyslog=yes\\nRateLimitIntervalSec=0\\n' "
                   "> /etc/systemd/journald.conf.d/zz-syslog.conf")
    fawatchd.start('watch: { r: { path = "/var/log"; }; };')
    process = machine.spawn(["rsyslogd", "-n", "-f", "/run/rsyslog.conf", "-i", "/run/rsyslog.pid"])
    try:
        machine.sh("sleep 1; systemctl restart systemd-journald; logger x; touch /var/log/mine; sleep 40")
        assert rate(fawatchd, machine, 10) <= 0.5
    finally:
        machine.sh("kill $(cat /run/rsyslog.pid); rm -f /etc/systemd/journald.conf.d/zz-syslog.conf; "
                   "systemctl restart systemd-journald; rm -f /var/log/rsyslog-all.log", check=False)
        process.wait(timeout=10)
