# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the log does with our records, as far as it can be known: where it keeps them, and what it drops."""

import pytest

from harness import wait_until
from test_lossless import next_second

RULES = 'watch: { r: { path = "/t/w"; events = "create"; coalesce = "0"; }; };\n'


def test_rate_limit_of_journald_is_recognised(fawatchd, machine, w):
    """A limit that an administrator set on the unit: recorded and dropped add up to what was caused."""
    machine.write("/etc/systemd/system/fawatchd.service.d/rate.conf",
                  "[Service]\nLogRateLimitIntervalSec=3s\nLogRateLimitBurst=20\n")
    machine.sh("systemctl daemon-reload")
    fawatchd.start(RULES)
    since = next_second(machine)
    before = fawatchd.ctl_json("status")
    assert before["log"]["dropped_by_journald"] == 0
    machine.python("for i in range(2000): open(f'/t/w/{i}', 'w').close()")

    def told():
        # it tells with the next record that it takes after the interval
        machine.sh("touch /t/w/next.$RANDOM$RANDOM; journalctl --sync")
        return fawatchd.ctl_json("status")["log"]["dropped_by_journald"]
    wait_until(told, "journald's word", 60)
    # once more with a calm interval behind: all that was dropped is told
    wait_until(lambda: fawatchd.ctl_json("status")["log"]["waiting"] == 0, "all sent", 30)
    machine.sh("sleep 3.5; touch /t/w/last; journalctl --sync")
    wait_until(lambda: machine.journal(fawatchd.begin, "FAWATCH_PATH=/t/w/last"), "the last record", 30)
    status = fawatchd.ctl_json("status")
    recorded = {int(r["seq"]) for r in fawatchd.records(settle=False, kinds="all", barrier=True)}
    made = status["seq"] - before["seq"]
    new = [n for n in recorded if n > before["seq"]]
    assert len(new) + status["log"]["dropped_by_journald"] == made and made > 2000
    assert "rate limit" in fawatchd.ctl("status").out
    verdict = fawatchd.ctl_status("verify", "--since", since)
    assert verdict["dropped_by_journald"] == verdict["missing"] == made - len(new)
    assert not verdict["complete"]


@pytest.fixture
def other_storage(machine):
    """journald with another Storage=; what it had is set aside meanwhile."""
    def store(where):
        machine.write("/etc/systemd/journald.conf.d/zz-storage.conf", f"[Journal]\nStorage={where}\n")
        machine.sh("""
            systemctl stop systemd-journald.service
            [ -d /var/log/journal.aside ] || mv /var/log/journal /var/log/journal.aside
            rm -rf /run/log/journal; systemctl start systemd-journald""")
    yield store
    machine.sh("""
        rm /etc/systemd/journald.conf.d/zz-storage.conf
        systemctl stop systemd-journald.service
        rm -rf /run/log/journal /var/log/journal; mv /var/log/journal.aside /var/log/journal
        systemctl start systemd-journald; journalctl --flush""")


def test_status_says_where_the_journal_is(fawatchd, machine, w, other_storage):
    fawatchd.start(RULES)
    assert fawatchd.ctl_json("status")["log"]["journal"] == "persistent"
    other_storage("volatile")
    machine.sh("touch /t/w/1")
    wait_until(lambda: fawatchd.ctl_json("status")["log"]["journal"] == "volatile", "a volatile journal")
    assert "volatile" in fawatchd.ctl("status").out
    other_storage("none")
    machine.sh("touch /t/w/2")
    wait_until(lambda: fawatchd.ctl_json("status")["log"]["journal"] == "none", "no journal")
    assert "there is no journal" in fawatchd.ctl("status").out
