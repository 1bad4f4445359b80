# SPDX-License-Identifier: LGPL-2.1-or-later
"""One booted machine for all tests, one clean service for each.

FAWATCHD_BUILD names the build folder (default: ./build).  Run as root, with a machine or
with several at a time, each of which takes the next test when it is done (pytest-xdist):
    FAWATCHD_BUILD=/path/to/build pytest-3 [-n 2] tests/system
"""

import os

import pytest

from harness import BARRIER_RULE, ETC_RULES, FILESYSTEMS, SOURCE, Fawatchd, Machine, message_ids


def pytest_addoption(parser):
    parser.addoption("--trs", help="write results in automake's format to this file")


def pytest_configure(config):
    path = config.getoption("--trs")
    if hasattr(config, "workerinput"):
        path = None  # its results are told to the one that started it
    if path:
        with open(path, "w", encoding="utf-8"):
            pass  # what an earlier run said does not count
    pytest_runtest_logreport.path = path


def pytest_collection_modifyitems(items):
    # the longest first: machines are given some tests in advance, and one would have all of these at the end
    items.sort(key=lambda item: "test_storm_over" not in item.name)


def outcome(report):
    """What a report adds to the count: a line, or None for a phase that says nothing."""
    if report.failed:
        return "FAIL"
    if report.skipped:
        reason = report.wasxfail if hasattr(report, "wasxfail") else report.longrepr[2]
        return f"SKIP ({reason})"
    return "PASS" if report.when == "call" else None


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_logreport(report):
    path = pytest_runtest_logreport.path
    result = outcome(report)
    if path and result:
        word, _, reason = result.partition(" ")
        with open(path, "a", encoding="utf-8") as trs:
            trs.write(f":test-result: {word} {report.nodeid} {reason}\n")


@pytest.fixture(scope="session")
def machine():
    if os.geteuid() != 0:
        pytest.skip("needs root: boots a systemd in namespaces of its own")
    build = os.path.abspath(os.environ.get("FAWATCHD_BUILD", os.path.join(SOURCE, "build")))
    m = Machine(build, f"system-{os.getpid()}")
    try:
        m.boot()
        m.install()
        # room for storms; a syslog daemon hears all, where one listens
        m.write("/etc/systemd/journald.conf.d/tests.conf", "[Journal]\nSystemMaxUse=1G\nSystemMaxFileSize=64M\nForwardToSyslog=yes\n")
        m.sh("systemctl restart systemd-journald")
        # a filesystem of its own: what others do in /run is then not asked for, nor learned
        m.sh("mkdir /run/barrier; mount -t tmpfs barrier /run/barrier")
        yield m
    finally:
        m.power_off()


@pytest.fixture
def fawatchd(machine):
    """The installed service, stopped, without rules but the barrier; start() it with some."""
    machine.sh(f"""
        systemctl stop fawatchd 2>/dev/null; systemctl reset-failed fawatchd 2>/dev/null
        rm -rf /etc/fawatchd /run/fawatchd /var/lib/fawatchd /t /run/barrier/*
        mkdir -p {ETC_RULES} /etc/fawatchd/fawatchd.conf.d /t
        chmod 0750 {ETC_RULES}
        [ ! -e /etc/systemd/system/fawatchd.service.d ] || {{
            rm -r /etc/systemd/system/fawatchd.service.d; systemctl daemon-reload
        }}""")
    service = Fawatchd(machine)
    service.write_rule("00-barrier", BARRIER_RULE)
    # the shipped rule watches what every test writes to: its own test takes it back
    machine.sh(f"ln -s /dev/null {ETC_RULES}/fawatchd.conf")
    yield service
    restarts = machine.sh("systemctl show -P NRestarts fawatchd; systemctl kill -s KILL fawatchd 2>/dev/null; "
                          "systemctl stop fawatchd", check=False).out.strip()
    machine.unmount_all("/t")
    if not service.restarts_expected:
        assert restarts == "0", service.why("the service was restarted")


@pytest.fixture(params=FILESYSTEMS)
def anyfs(request, machine):
    """/t/w as a filesystem of each kind in turn."""
    machine.unmount_all("/t")
    machine.mount(request.param, "/t/w")
    yield request.param
    machine.unmount_all("/t")


@pytest.fixture
def w(machine):
    """/t/w as a tmpfs."""
    machine.unmount_all("/t")
    machine.mount("tmpfs", "/t/w")
    yield "/t/w"
    machine.unmount_all("/t")


@pytest.fixture(scope="session")
def kinds():
    return message_ids()
