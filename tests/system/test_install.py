# SPDX-License-Identifier: LGPL-2.1-or-later
"""What make install gives: files, unit, first start, and the first rule."""

import re

import pytest

from harness import stage_install, stdout_records, wait_until


def test_files_are_where_the_manual_says(machine):
    machine.sh("""
        test -x /usr/sbin/fawatchd; test -x /usr/bin/fawatchctl
        for f in /usr/lib/fawatchd/rules.d/fawatchd.conf /usr/lib/systemd/catalog/fawatchd.catalog \\
                 /lib/systemd/system/fawatchd.service /usr/share/bash-completion/completions/fawatchctl; do
            test -f $f || { echo missing $f >&2; exit 1; }
        done
        for page in fawatchd.8 fawatchctl.1 fawatchd.conf.5 fawatchd.rules.5 fawatchd.fields.7; do
            test -f /usr/share/man/man${page##*.}/$page || { echo missing $page >&2; exit 1; }
        done""")


@pytest.fixture
def fresh(fawatchd, machine):
    """As make install leaves it: no rule of a test, the shipped rule in force."""
    machine.sh("rm -rf /etc/fawatchd")
    machine.install()
    return fawatchd


def test_rules_d_is_0750_and_nobody_elses(fresh, machine):
    assert machine.sh("stat -c '%a %U' /etc/fawatchd/rules.d").out.split() == ["750", "root"]


def test_an_edited_configuration_survives_a_second_install(machine, tmp_path):
    conf = tmp_path / "etc/fawatchd/fawatchd.conf"
    stage_install(machine.build, tmp_path)
    conf.write_text(conf.read_text() + "# mine\n")
    stage_install(machine.build, tmp_path)
    assert conf.read_text().endswith("# mine\n")


def test_start_write_a_rule_reload_review(fresh, machine):
    """The session of README.md."""
    fresh.start()
    assert fresh.property("ActiveState") == "active"
    machine.write("/etc/fawatchd/rules.d/etc.conf", 'watch: { etc: { path = "/etc"; }; };\n', mode=0o644)
    machine.sh("systemctl reload fawatchd")
    machine.sh("echo 127.0.0.2 elsewhere >> /etc/hosts; sleep 0.3; :")
    found = wait_until(lambda: machine.sh(
        "journalctl --sync; journalctl -q -u fawatchd FAWATCH_RULE=etc FAWATCH_PATH=/etc/hosts -o cat").out,
        "the record")
    assert re.search(r"^etc: /etc/hosts .* by bash\[\d+\] as root", found, re.M), found


def test_shipped_rule_watches_our_own_files(fresh, machine):
    fresh.start()
    machine.sh("mkdir -p /etc/systemd/system/fawatchd.service.d; "
               "echo '[Service]' > /etc/systemd/system/fawatchd.service.d/x.conf; "
               "touch /etc/fawatchd/rules.d/new.conf; chmod u+w /usr/sbin/fawatchd; "
               "touch /etc/systemd/journald.conf")
    def seen():
        return {r.get("path") for r in machine.journal(fresh.begin, "FAWATCH_RULE=fawatchd")}
    wanted = {"/etc/systemd/system/fawatchd.service.d/x.conf", "/etc/fawatchd/rules.d/new.conf"}
    wait_until(lambda: wanted <= seen(), f"{wanted} in {seen()}")


def test_unit_is_what_it_should_be(fawatchd, machine):
    fawatchd.start()
    show = machine.sh("systemctl show fawatchd").out
    for line in ("Type=notify", "Restart=on-failure", "RestartUSec=100ms", "StartLimitIntervalUSec=0",
                 "LimitNOFILE=65536", "FileDescriptorStoreMax=512", "DefaultDependencies=no",
                 "RuntimeDirectoryPreserve=yes", "MemoryDenyWriteExecute=yes", "TimeoutStartUSec=15s"):
        assert line in show.splitlines(), line
    assert int(re.search(r"^LogRateLimitBurst=(\d+)", show, re.M)[1]) >= 1_000_000
    assert re.search(r"^WatchdogUSec=(?!0$|infinity)", show, re.M)
    verify = machine.sh("systemd-analyze verify /lib/systemd/system/fawatchd.service", check=False)
    assert verify.status == 0 and "fawatchd" not in verify.err, verify
    exposure = machine.sh("systemd-analyze security --no-pager fawatchd | tail -n 1", check=False).out
    assert float(re.search(r"(\d+\.\d)", exposure)[1]) <= 4.0, exposure


def test_catalog_knows_every_kind_of_record(machine, kinds):
    dump = machine.sh("journalctl --dump-catalog 2>/dev/null").out
    for name, message_id in kinds.items():
        assert f"-- {message_id}" in dump, name


def test_help_and_version(machine):
    for program in ("fawatchd", "fawatchctl"):
        assert "Usage:" in machine.sh([program, "--help"]).out
        assert machine.sh([program, "--version"]).out.startswith(f"{program} 0.")
        assert machine.sh([program, "--nonsense"], check=False).status == 2


def test_print_rules_and_print_plan(fawatchd, machine, w):
    fawatchd.write_rule("test", 'watch: { r: { path = "/t/w"; }; };')
    assert "r:" in machine.sh("fawatchd --print-rules").out
    plan = machine.sh("fawatchd --print-plan")
    assert "/t/w" in plan.out and "modify" in plan.out
    # a whole filesystem pays for modify: it says so
    assert "modify" in plan.out + plan.err and "write" in plan.out + plan.err


def test_watch_needs_no_configuration(machine, fawatchd, w):
    machine.sh("rm -rf /etc/fawatchd")
    process = machine.spawn("exec fawatchd --log=stdout --watch=/t/w")
    machine.sh("for i in $(seq 50); do touch /t/w/$i; sleep 0.02; done")
    assert next(stdout_records(process))["path"].startswith("/t/w/")
    assert machine.end_ad_hoc(process, "INT") == 0
