# SPDX-License-Identifier: LGPL-2.1-or-later
"""Bad input: each gets one clear message with its place, and changes nothing."""

import pytest

from harness import ETC_RULES

GOOD = 'watch: { good: { path = "/t/w"; events = "create"; }; };\n'

# text of a rule file, the line named, and words of the message (cause or cure)
BAD_RULES = {
    "syntax: missing equals sign": ('watch: {\n  a: { path "/t"; };\n};', 2, ["="]),
    "syntax: open quote": ('watch: {\n  a: { path = "/t; };\n};\n', 2, ["quote"]),
    "syntax: open comment": ('watch: { a: { path = "/t"; }; };\n/* no end\n', 2, ["comment"]),
    "syntax: unquoted word": ('watch: {\n  a: { path = /t; };\n};', 2, []),
    "unknown key": ('watch: {\n  a: { path = "/t"; evnts = "open"; };\n};', 2, ["evnts", "events"]),
    "unknown section": ('wacth: { a: { path = "/t"; }; };', 1, ["wacth", "watch"]),
    "duplicate rule in a file": ('watch: {\n  a: { path = "/t"; };\n  a: { path = "/u"; };\n};', 3, ["a"]),
    "duplicate rule across files": ('watch: {\n  good: { path = "/t"; };\n};', 2, ["good"]),
    "wrong type": ('watch: {\n  a: { path = 7; };\n};', 2, ["path", "string"]),
    "relative path": ('watch: {\n  a: { path = "t/w"; };\n};', 2, ["t/w", "relative"]),
    "empty path": ('watch: {\n  a: { path = ""; };\n};', 2, ["path", "empty"]),
    "path with ..": ('watch: {\n  a: { path = "/t/../etc"; };\n};', 2, [".."]),
    "no path": ('watch: {\n  a: { events = "open"; };\n};', 2, ["path"]),
    "glob in path": ('watch: {\n  a: { path = "/t/*.php"; };\n};', 2, ["match"]),
    "unknown event": ('watch: {\n  a: { path = "/t"; events = [ "modfy" ]; };\n};', 2, ["modfy", "modify"]),
    "internal event": ('watch: {\n  a: { path = "/t"; events = "moved_to"; };\n};', 2, ["moved_to", "rename"]),
    "event of a mount": ('watch: {\n  a: { path = "/t"; scope = "mount"; events = "create"; };\n};', 2,
                         ["create", "mount"]),
    "fs_error of a tree": ('watch: {\n  a: { path = "/t"; events = "fs_error"; };\n};', 2,
                           ["fs_error", "filesystem"]),
    "glob that does not compile": ('watch: {\n  a: { path = "/t"; match = "[a-"; };\n};', 2, ["[a-"]),
    "braces in a pattern": ('watch: {\n  a: { path = "/t"; match = "*.{a,b}"; };\n};', 2, ["{"]),
    "negated pattern": ('watch: {\n  a: { path = "/t"; match = "!x"; };\n};', 2, ["!"]),
    "priority emerg": ('watch: {\n  a: { path = "/t"; priority = "emerg"; };\n};', 2, ["emerg"]),
    "bad duration": ('watch: {\n  a: { path = "/t"; coalesce = "1 week of"; };\n};', 2, ["coalesce"]),
    "unknown actor set": ('watch: {\n  a: { path = "/t"; only: { actor = "nobody"; }; };\n};', 2, ["nobody"]),
    "ignore without path": ('ignore: {\n  a: { match = "*.o"; };\n};', 2, ["path"]),
    "until of a tree": ('ignore: {\n  a: { path = "/t"; until = "modified"; };\n};', 2, ["scope", "file"]),
    "adjacent strings": ('watch: {\n  a: { path = [ "/etc" "/usr" ]; };\n};', 2, ["comma"]),
    "NUL in a string": ('watch: {\n  a: { path = "/t\\x00x"; };\n};', 2, ["\\x00"]),
    "integer too large": ('watch: {\n  a: { path = "/t"; priority = 99999999999999999999; };\n};', 2, ["large"]),
    "include": ('@include "/etc/passwd"\n' + 'watch: { a: { path = "/t"; }; };', 1, ["@include"]),
    "bytes that are not UTF-8": (b'watch: {\n  a: { path = "/t/\xe9"; };\n};', 2, ["UTF-8", "\\xe9"]),
}


@pytest.mark.parametrize("text, line, words", BAD_RULES.values(), ids=BAD_RULES.keys())
def test_bad_rule(machine, fawatchd, text, line, words):
    fawatchd.write_rule("00-good", GOOD)
    fawatchd.write_rule("test", text)
    check = fawatchd.ctl("check", check=False)
    assert check.status == 1
    errors = [m for m in check.err.splitlines() if "error" in m]
    assert len(errors) >= 1 and errors[0].startswith(f"{ETC_RULES}/test.conf:{line}:"), check
    for word in words:
        assert word in check.err, check


@pytest.fixture
def running(fawatchd, machine, w):
    """A service with good rules, which must still be in force at the end."""
    fawatchd.write_rule("00-good", GOOD)
    fawatchd.start()
    yield fawatchd
    machine.sh("touch /t/w/still-watched")
    assert "/t/w/still-watched" in {r["path"] for r in fawatchd.records()}
    assert fawatchd.property("ActiveState") == "active"


def refused(fawatchd, *words):
    result = fawatchd.reload(expect_ok=False)
    text = result.out + result.err
    for word in words:
        assert word in text, result
    return text


def test_file_of_ten_megabytes(running, machine):
    machine.sh(f"yes '# filler filler filler filler filler' | head -c 10M > {ETC_RULES}/test.conf")
    refused(running, "test.conf", "1 MiB", "split")


def test_ten_thousand_rules_in_one_file(running, machine):
    machine.sh(f"(echo 'watch: {{'; for i in $(seq 10000); do echo \"r$i: {{ path = \\\"/t/$i\\\"; }};\"; done; echo '}};') "
               f"> {ETC_RULES}/test.conf")
    refused(running, "test.conf", "1000", "split")


def test_rule_file_writable_by_others(running, machine):
    running.write_rule("test", 'watch: { x: { path = "/t/x"; }; };')
    machine.sh(f"chmod 666 {ETC_RULES}/test.conf")
    refused(running, "test.conf", "writ")
    machine.sh(f"chmod 644 {ETC_RULES}/test.conf; chown 1 {ETC_RULES}/test.conf")
    refused(running, "test.conf", "root")


def test_rules_directory_that_cannot_be_read(running, machine):
    machine.sh(f"mv {ETC_RULES} {ETC_RULES}.away; touch {ETC_RULES}")
    try:
        refused(running, "rules.d")
    finally:
        machine.sh(f"rm {ETC_RULES}; mv {ETC_RULES}.away {ETC_RULES}")


@pytest.mark.parametrize("make, word", [
    ("mkdir {0}/test.conf", "test.conf"), ("mkfifo {0}/test.conf", "test.conf"),
    ("ln -s /nonexistent {0}/test.conf", "test.conf"), ("ln -s /dev/zero {0}/test.conf", "test.conf"),
])
def test_rule_file_that_is_no_file(running, machine, make, word):
    machine.sh(make.format(ETC_RULES))
    try:
        refused(running, word)
    finally:
        machine.sh(f"rm -rf {ETC_RULES}/test.conf")


def test_rule_below_a_pseudo_filesystem_is_a_gap(running, machine):
    running.write_rule("test", 'watch: { p: { path = "/sys/kernel/mm"; }; };')
    running.reload()
    coverage = running.ctl("coverage", check=False)
    assert coverage.status == 1 and "/sys/kernel/mm" in coverage.out and "sysfs" in coverage.out


def test_bad_rules_at_the_first_start(fawatchd, machine):
    fawatchd.write_rule("test", 'watch: {\n  a: { pth = "/t"; };\n};')
    begin = machine.cursor()
    assert machine.sh("systemctl start fawatchd", check=False).status != 0
    assert fawatchd.property("ExecMainStatus") == "78"
    assert fawatchd.property("NRestarts") == "0"
    said = [r.get("MESSAGE") for r in machine.journal(begin, "_SYSTEMD_UNIT=fawatchd.service")]
    assert any(f"{ETC_RULES}/test.conf:2" in m and "path" in m for m in said), said
    machine.sh("systemctl reset-failed fawatchd")


def test_rules_option_with_bad_file(machine, fawatchd):
    machine.write("/run/bad.conf", "watch: {\n  a: { };\n};", mode=0o644)
    result = machine.sh("fawatchd --log=stdout --rules=/run/bad.conf", check=False)
    assert result.status == 78 and "/run/bad.conf:2" in result.err, result
    assert machine.sh("fawatchd --log=stdout --rules=/nonexistent", check=False).status == 78
    assert machine.sh("fawatchd --log=nowhere", check=False).status == 2
    assert machine.sh("fawatchd surplus", check=False).status == 2


def test_a_bad_rule_is_said_once_and_memory_is_flat(running, machine, kinds):
    """One message with file and line for each reload that was asked for, no more."""
    running.write_rule("test", 'watch: {\n  a: { pth = "/t"; };\n};')
    refused(running, "test.conf:2")
    machine.python("import time\nfor i in range(300): open('/t/w/x%d' % i, 'w').close(); time.sleep(0.01)")
    running.settle()
    assert len(running.of_kind(kinds["rules_refused"])) == 1
