# SPDX-License-Identifier: LGPL-2.1-or-later
"""Reload: good, bad, dry; where rule files come from."""

import json

from harness import ETC_RULES, RUN_RULES, VENDOR_RULES, wait_until

CREATE = 'watch: {{ {name}: {{ path = "{path}"; events = "create"; }}; }};\n'


def rules_in_force(fawatchd):
    out = fawatchd.ctl("rules").out
    return {name for name in ("a", "b", "c", "fawatchd", "barrier") if f"{name}:" in out}


def paths(fawatchd):
    return {r["path"] for r in fawatchd.records()}


def test_reload_takes_new_rules_and_prints_what_changed(fawatchd, machine, w):
    machine.mount("tmpfs", "/t/x")
    fawatchd.start(CREATE.format(name="a", path="/t/w"))
    result = fawatchd.rules('watch: { a: { path = "/t/w"; events = "create"; }; '
                            'b: { path = "/t/x"; events = "create"; }; };')
    assert "b" in result.out
    machine.sh("touch /t/w/f /t/x/f")
    assert paths(fawatchd) == {"/t/w/f", "/t/x/f"}
    assert {r["generation"] for r in fawatchd.records()} == {"2"}


def test_systemctl_reload_waits_and_fails_when_refused(fawatchd, machine, w):
    fawatchd.start(CREATE.format(name="a", path="/t/w"))
    assert machine.sh("systemctl reload fawatchd", check=False).status == 0
    fawatchd.write_rule("test", 'watch: { a: { path = "/t/w"; evnets = "create"; }; };')
    assert machine.sh("systemctl reload fawatchd", check=False).status != 0
    assert fawatchd.property("ActiveState") == "active"
    assert "test.conf:1" in fawatchd.property("StatusText")
    machine.sh("touch /t/w/f")
    assert paths(fawatchd) == {"/t/w/f"}, "the old rules stay in force"
    fawatchd.rules(CREATE.format(name="a", path="/t/w"))
    assert "test.conf" not in fawatchd.property("StatusText")


def test_reload_says_errors_with_file_line_and_hint(fawatchd, machine, w):
    fawatchd.start(CREATE.format(name="a", path="/t/w"))
    fawatchd.write_rule("test", 'watch: {\n  a: { path = "/t/w"; };\n  b: {\n    pth = "/t/x";\n  };\n};')
    fawatchd.write_rule("second", 'watch: {\n  c: { path = "/t/c"; events = "modfy"; };\n};')
    result = fawatchd.reload(expect_ok=False)
    text = result.err + result.out
    assert result.status == 1
    assert f"{ETC_RULES}/test.conf:4" in text and "path" in text
    assert f"{ETC_RULES}/second.conf:2" in text and "modify" in text, "all errors of all files in one run"


def test_dry_run_changes_nothing(fawatchd, machine, w):
    fawatchd.start(CREATE.format(name="a", path="/t/w"))
    fawatchd.write_rule("test", CREATE.format(name="b", path="/t/w"))
    result = fawatchd.ctl("reload", "--dry-run")
    assert "a" in result.out and "b" in result.out
    assert rules_in_force(fawatchd) == {"a", "barrier"}
    as_json = json.loads(fawatchd.ctl("reload", "--dry-run", "--json").out)
    assert as_json["dry_run"] is True and as_json["rules"]["added"] == 1 and as_json["rules"]["removed"] == 1
    fawatchd.write_rule("test", "watch: {")
    assert fawatchd.ctl("reload", "--dry-run", check=False).status == 1
    machine.sh("touch /t/w/f")
    assert [r.all("rule") for r in fawatchd.records()] == [["a"]]


def test_later_places_replace_and_mask_by_name(fawatchd, machine, w):
    machine.sh("mkdir -p /run/fawatchd/rules.d")
    fawatchd.write_rule("one", CREATE.format(name="a", path="/t/w/vendor"), where=VENDOR_RULES)
    try:
        fawatchd.start()
        assert rules_in_force(fawatchd) == {"a", "barrier"}
        fawatchd.write_rule("one", CREATE.format(name="b", path="/t/w/run"), where=RUN_RULES)
        fawatchd.reload()
        assert rules_in_force(fawatchd) == {"b", "barrier"}
        fawatchd.write_rule("one", CREATE.format(name="c", path="/t/w/etc"))
        fawatchd.reload()
        assert rules_in_force(fawatchd) == {"c", "barrier"}
        machine.sh(f"ln -sf /dev/null {ETC_RULES}/one.conf")
        fawatchd.reload()
        assert rules_in_force(fawatchd) == {"barrier"}
    finally:
        machine.sh(f"rm -f {VENDOR_RULES}/one.conf {RUN_RULES}/one.conf")


def test_order_of_files_and_rules_means_nothing(fawatchd, machine, w):
    one = 'watch: { a: { path = "/t/w"; events = "create"; }; };'
    two = 'ignore: { i: { path = "/t/w/i"; }; };'
    fawatchd.write_rule("10-one", one)
    fawatchd.write_rule("20-two", two)
    fawatchd.start()
    first = fawatchd.ctl("rules").out
    fawatchd.write_rule("10-one", two)
    fawatchd.write_rule("20-two", one)
    fawatchd.reload()
    def strip(text):
        return [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    assert strip(fawatchd.ctl("rules").out) == strip(first)


def test_settings_apply_at_reload(fawatchd, machine, w):
    fawatchd.start(CREATE.format(name="a", path="/t/w"))
    fawatchd.write_settings('omit = [ "cmdline" ];')
    fawatchd.reload()
    machine.sh("touch /t/w/f")
    assert "cmdline" not in fawatchd.records()[0]
    fawatchd.write_settings('omitt = [ "cmdline" ];')
    result = fawatchd.reload(expect_ok=False)
    assert "fawatchd.conf:1" in result.err + result.out and "omit" in result.err + result.out


def test_sighup_is_a_reload_whose_result_is_logged(fawatchd, machine, w, kinds):
    fawatchd.start(CREATE.format(name="a", path="/t/w"))
    fawatchd.write_rule("test", CREATE.format(name="b", path="/t/w"))
    machine.sh("systemctl kill -s HUP fawatchd")
    fawatchd.of_kind(kinds["rules_loaded"])
    assert rules_in_force(fawatchd) == {"b", "barrier"}


def test_two_reloads_at_once_each_get_an_answer(fawatchd, machine, w):
    fawatchd.start(CREATE.format(name="a", path="/t/w"))
    out = machine.sh("for i in 1 2 3 4; do fawatchctl reload >/dev/null & done; s=0; "
                     "for j in $(jobs -p); do wait $j || s=1; done; echo $s").out
    assert out.strip() == "0"


def test_nothing_is_lost_over_reloads(fawatchd, machine, anyfs):
    """A writer makes numbered files while the rules change fifty times: each is recorded once."""
    rules = ['watch: { a: { path = "/t/w"; events = "create"; }; };',
             'watch: { a: { path = "/t/w"; events = [ "create", "attrib" ]; }; b: { path = "/t/w/none"; }; };']
    fawatchd.start(rules[0])
    writer = machine.spawn(["python3", "-B", "-c", """
import time, os
i = 0
while not os.path.exists('/run/enough'):
    open(f'/t/w/{i}', 'w').close(); i += 1; time.sleep(0.001)
print(i)
"""])
    try:
        for turn in range(50):
            fawatchd.rules(rules[(turn + 1) % 2])
    finally:
        machine.sh(": > /run/enough")
        count = int(writer.communicate(timeout=30)[0])
        machine.sh("rm /run/enough")
    records = [r for r in fawatchd.records() if "create" in r.events]
    assert sorted(int(r["path"].rsplit("/", 1)[1]) for r in records) == list(range(count))
    generations = [int(r["generation"]) for r in records]
    assert generations == sorted(generations) and generations[-1] >= 50


def test_last_good_rules_are_kept(fawatchd, machine, w, kinds):
    fawatchd.start(CREATE.format(name="a", path="/t/w"))
    fawatchd.write_rule("test", "watch: {")
    before = machine.cursor()
    fawatchd.restart()
    assert rules_in_force(fawatchd) == {"a", "barrier"}
    said = [r for r in machine.journal(before, "SYSLOG_IDENTIFIER=fawatchd") if r.get("PRIORITY") == "3"]
    assert len(said) == 1 and "test.conf" in str(said[0].fields)
    assert "test.conf" in fawatchd.property("StatusText")
    assert "last good" in fawatchd.ctl("status", check=False).out
    fawatchd.begin = machine.cursor()
    machine.sh("touch /t/w/f")
    assert paths(fawatchd) == {"/t/w/f"}
    fawatchd.rules(CREATE.format(name="b", path="/t/w"))
    assert "test.conf" not in fawatchd.property("StatusText")
    assert "last good" not in fawatchd.ctl("status", check=False).out


def test_a_path_that_appears_needs_no_reload(fawatchd, machine):
    fawatchd.start(CREATE.format(name="a", path="/t/new"))
    machine.mount("tmpfs", "/t/new")
    wait_until(lambda: machine.sh("touch /t/new/$RANDOM") and paths(fawatchd), "records of a new mount")
