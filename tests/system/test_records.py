# SPDX-License-Identifier: LGPL-2.1-or-later
"""What a record says: each field, each kind, what is thinned, and for whom."""

import os
import re

import pytest

from harness import FILESYSTEMS, SHELL_UNIT, stdout_records, wait_until

WATCH = """
watch: {
  web: {
    path = "/t/w"; events = [ "change", "attrib" ]; priority = "warning"; coalesce = "0";
    tags = [ "deface", "pci-dss:11.5.2" ];
  };
};
"""

# appends to a file as another user with a login of its own, from a login shell's child
WRITER = """
import os, sys
open('/proc/self/loginuid', 'w').write('1')
os.setgid(1); os.setuid(1)
with open('/t/w/dir/file', 'a') as f: f.write('more')
print(os.getpid(), os.getppid(), flush=True)
sys.stdin.readline()
"""


@pytest.fixture
def written(fawatchd, machine, anyfs):
    """A file written by a process that lives until its record was made."""
    machine.sh("mkdir -m 777 /t/w/dir; echo 1234 > /t/w/dir/file; chmod 666 /t/w/dir/file; chown 2:2 /t/w/dir/file")
    fawatchd.start(WATCH)
    machine.write("/run/writer.py", WRITER)
    command = "systemd-run --quiet --wait --pipe --collect --unit=editor --slice=people.slice " \
              "bash -c 'python3 -B /run/writer.py first --token second; exit 0'"
    process = machine.spawn(command, stdin=-1)
    try:
        pid, ppid = map(int, process.stdout.readline().split())
        records = wait_until(lambda: [r for r in fawatchd.records() if "close_write" in r.events], "the record")
    finally:
        process.communicate(b"\n", timeout=30)
    stat = machine.sh(["stat", "-c", "%i %Hd:%Ld %F", "/t/w/dir/file"]).out.split()
    records[-1].expect = {"pid": str(pid), "ppid": str(ppid), "inode": stat[0], "fstype": anyfs}
    return records[-1]


def test_fields_of_the_rule_and_the_event(written, kinds):
    assert written["MESSAGE_ID"] == kinds["content"]
    assert written["PRIORITY"] == "4"
    assert written["SYSLOG_IDENTIFIER"] == "fawatchd"
    assert written["SYSLOG_FACILITY"] == "3"
    assert sorted(written.all("event")) == sorted(written["events"].split(","))
    assert set(written.all("event")) <= {"modify", "close_write"}
    assert written.all("rule") == ["web"] and written["rules"] == "web"
    assert sorted(written.all("tag")) == ["deface", "pci-dss:11.5.2"]
    assert written["path"] == "/t/w/dir/file" and "old_path" not in written
    assert written.all("under") == ["/t/w/dir/file", "/t/w/dir", "/t/w", "/t"] or \
        set(written.all("under")) == {"/t/w/dir/file", "/t/w/dir", "/t/w", "/t"}


def test_fields_of_the_object(written):
    assert written["type"] == "file"
    assert re.fullmatch(r"\d+:\d+", written["device"])
    assert written["inode"] == written.expect["inode"]
    assert written["fstype"] == written.expect["fstype"]
    assert int(written["mode"], 8) & 0o7777 == 0o666
    assert written["owner"] == "bin" and written["owner_group"] == "bin"
    assert written["size"] == "9"
    assert "path_state" not in written and "origin" not in written and "cause" not in written


def test_fields_of_the_actor(written):
    python = os.path.realpath("/usr/bin/python3")
    assert written["pid"] == written.expect["pid"]
    assert written["comm"] == "python3"
    assert written["exe"] == python
    assert written["cmdline"] == "python3 -B /run/writer.py first --token second"
    assert written["uid"] == "1" and "euid" not in written and written["gid"] == "1"
    assert written["user"] == "daemon"
    assert written["loginuid"] == "1" and written["login_user"] == "daemon"
    assert written["ppid"] == written.expect["ppid"] and written["parent_comm"] == "bash"
    assert written["unit"] == "editor.service"
    assert written["slice"] == "people.slice"
    assert written["cgroup"].endswith("/people.slice/editor.service")
    assert "tty" not in written and "container" not in written
    assert written["attribution"] == "verified"
    assert written["OBJECT_SYSTEMD_UNIT"] == "editor.service"
    assert "OBJECT_PID" not in written


def test_message_is_for_people(written):
    assert re.fullmatch(
        r"web: /t/w/dir/file .*(modified|written).* by python3\[%s\] as daemon.*editor\.service"
        % written.expect["pid"], written["MESSAGE"]), written["MESSAGE"]


def test_fields_of_the_stream(written):
    assert re.fullmatch("[0-9a-f]{32}", written["stream"])
    assert int(written["seq"]) > 0
    assert int(written["generation"]) == 1
    assert "realtime_usec" not in written
    assert "count" not in written and "first_usec" not in written and "last_usec" not in written
    assert not [f for f in written.fields if f.startswith("CODE_") and written.fields.get("FAWATCH_EVENT")]


def test_journalctl_finds_what_a_unit_changed(written, machine):
    out = machine.sh("journalctl -q -u editor -o cat").out
    assert written["MESSAGE"] in out.splitlines()
    out = machine.sh("journalctl -q FAWATCH_UNDER=/t/w/dir -o cat").out
    assert written["MESSAGE"] in out.splitlines()


def test_parts_of_the_session(fawatchd, machine, w):
    """A terminal, an effective user that differs, a deep ancestry."""
    fawatchd.start(WATCH)
    machine.python("""
import os, pty, time
pid, master = pty.fork()
if pid == 0:
    os.setresuid(0, 1, 0)
    os.seteuid(0)
    os.setresuid(3, 0, 0)
    open('/t/w/f', 'w').close()
    time.sleep(1)
    os._exit(0)
os.waitpid(pid, 0)
""")
    record = [r for r in fawatchd.records() if r["path"] == "/t/w/f"][0]
    assert record["uid"] == "3" and record["euid"] == "0" and record["user"] == "root"
    assert re.fullmatch(r"pts/\d+", record["tty"])
    assert "python3" in record["ancestry"]
    assert record["unit"] == SHELL_UNIT


# one kind of record for each kind of event, with its own catalog entry

@pytest.mark.parametrize("kind, rule, act, path, events", [
    ("create", 'events = "create";', "mkdir /t/w/d", "/t/w/d", {"create"}),
    ("delete", 'events = "delete";', "rm /t/w/old", "/t/w/old", {"delete"}),
    ("rename", 'events = "rename";', "mv /t/w/old /t/w/new", "/t/w/new", {"rename"}),
    ("content", 'events = "close_write";', "echo x >> /t/w/old", "/t/w/old", {"close_write"}),
    ("attrib", 'events = "attrib";', "chmod 600 /t/w/old", "/t/w/old", {"attrib"}),
    ("exec", 'events = "open_exec";', "/t/w/true", "/t/w/true", {"open_exec"}),
    ("read", 'events = "access";', "cat /t/w/old", "/t/w/old", {"access"}),
    ("read", 'events = "open";', "cat /t/w/old", "/t/w/old", {"open"}),
    ("read", 'events = "close_nowrite";', "cat /t/w/old", "/t/w/old", {"close_nowrite"}),
])
def test_kinds_of_events(fawatchd, machine, anyfs, kinds, kind, rule, act, path, events):
    machine.sh("echo x > /t/w/old; cp /bin/true /t/w/true")
    fawatchd.start(f'watch: {{ r: {{ path = "/t/w"; coalesce = "0"; type = "{"directory" if "mkdir" in act else "file"}";'
                   f' {rule} }}; }};')
    machine.sh(act)
    records = fawatchd.records()
    assert [(r["path"], r.events, r["MESSAGE_ID"]) for r in records] == [(path, events, kinds[kind])]
    explained = machine.sh(f"journalctl -q -x -o short FAWATCH_SEQ={records[0]['seq']} "
                           f"FAWATCH_STREAM={records[0]['stream']}").out
    assert "fawatchd" in explained and "@" not in explained.split("Subject:")[1]


def test_delete_self_and_move_self_of_a_file_rule(fawatchd, machine, anyfs):
    machine.sh("echo x > /t/w/a; echo x > /t/w/b")
    fawatchd.start('watch: { r: { path = [ "/t/w/a", "/t/w/b" ]; scope = "file"; '
                   'events = [ "delete_self", "move_self" ]; }; };')
    machine.sh("rm /t/w/a; mv /t/w/b /t/w/c")
    records = fawatchd.records()
    assert len([r for r in records if {"delete_self", "delete"} & r.events]) == 1, records
    assert len([r for r in records if {"move_self", "rename"} & r.events]) == 1, records


def test_directory_removed_is_one_record(fawatchd, machine, anyfs):
    machine.sh("mkdir -p /t/w/d")
    fawatchd.start('watch: { r: { path = "/t/w/d"; scope = "directory"; events = [ "delete", "delete_self" ]; }; };')
    machine.sh("rmdir /t/w/d")
    assert [r["path"] for r in fawatchd.records()] == ["/t/w/d"]


def test_filesystem_error(fawatchd, machine, kinds):
    machine.mount("ext4", "/t/w", "errors=continue")
    fawatchd.start('watch: { r: { path = "/t/w"; scope = "filesystem"; events = "fs_error"; }; };')
    machine.sh("mount -o remount,abort /t/w; touch /t/w/f", check=False)
    records = wait_until(lambda: [r for r in fawatchd.records() if "fs_error" in r.events], "a record of the error")
    assert records[0]["MESSAGE_ID"] == kinds["fs_error"]
    assert records[0]["fstype"] == "ext4"


def test_record_of_several_rules_is_one(fawatchd, machine, w):
    fawatchd.start("""watch: {
        one: { path = "/t/w"; events = "create"; priority = "info"; tags = "a"; };
        two: { path = "/t/w/f"; events = "change"; priority = "err"; tags = [ "b", "a" ]; };
    };""")
    machine.sh(": > /t/w/f")
    created = [r for r in fawatchd.records() if "create" in r.events]
    assert len(created) == 1
    assert sorted(created[0].all("rule")) == ["one", "two"]
    assert sorted(created[0]["rules"].split(",")) == ["one", "two"]
    assert created[0]["PRIORITY"] == "3"
    assert set(created[0].all("tag")) == {"a", "b"}


# names are bytes

ODD_NAMES = [
    b"new\nline", b"esc\x1b[31mred", b"quote\"'`", b"FAWATCH_RULE=x", b"a=b", b"caf\xc3\xa9", b"latin\xe9",
    b"back\\slash", b"tab\there", b" space ", b"\x01\x02\x7f", b"\nFAWATCH_RULE=evil\nMESSAGE=evil",
]
LONG_NAMES = [b"x" * 255, b"\xff" * 255]


@pytest.mark.parametrize("anyfs, name", [
    *(("tmpfs", name) for name in ODD_NAMES),
    *((fstype, name) for fstype in FILESYSTEMS for name in LONG_NAMES),
], indirect=["anyfs"], ids=repr)
def test_names_are_recorded_byte_for_byte(fawatchd, machine, anyfs, name):
    fawatchd.start('watch: { r: { path = "/t/w"; events = "create"; }; };')
    machine.sh(["touch", os.path.join(b"/t/w", name)])
    records = fawatchd.records()
    assert [os.fsencode(r["path"]) for r in records] == [b"/t/w/" + name]
    assert records[0].all("rule") == ["r"]
    message = records[0]["MESSAGE"]
    assert message.encode("utf-8") and not re.search(r"[\x00-\x1f\x7f-\x9f]", message)


def test_paths_near_and_beyond_path_max(fawatchd, machine, anyfs):
    """20 directories of 250 bytes are 5,020 bytes of path: no system call takes them."""
    fawatchd.start('watch: { r: { path = "/t/w"; events = "create"; }; };')
    machine.python("""
import os
os.chdir('/t/w')
for i in range(20):
    name = chr(97 + i) * 250
    os.mkdir(name); os.chdir(name)
    open('f', 'w').close()
""")
    records = fawatchd.records()
    deep, parts = "/t/w", []
    for i in range(20):
        deep += "/" + chr(97 + i) * 250
        parts += [deep, deep + "/f"]
    found = [r.get("path") for r in records]
    short = [p for p in parts if len(p) < 4000]
    assert [p for p in found if p in short] == short
    # beyond PATH_MAX each is still one record: with the path, or with the name and no false path
    assert len(records) == len(parts)
    for record, path in zip(records[len(short):], parts[len(short):]):
        assert record.get("path") == path or ("path" not in record and record["name"] == os.path.basename(path))


# what is thinned is accounted for

def test_coalesce_is_one_record_at_once_and_one_at_the_end(fawatchd, machine, w):
    machine.sh("echo x > /t/w/f")
    fawatchd.start('watch: { r: { path = "/t/w"; events = "content"; coalesce = "1s"; }; };')
    machine.python("""
import time
with open('/t/w/f', 'a') as f:
    for i in range(50):
        f.write('x'); f.flush(); time.sleep(0.01)
""")
    records = wait_until(lambda: [r for r in fawatchd.records() if "count" in r] and fawatchd.records(),
                         "the record at the end of the window")
    assert len(records) == 2
    first, last = records
    assert first.events == {"modify"} and "count" not in first
    assert last.events == {"modify", "close_write"}
    assert 1 < int(last["count"]) <= 51
    assert int(first["seq"]) < int(last["seq"])
    assert 0 <= int(last["last_usec"]) - int(last["first_usec"]) < 1_500_000


def test_create_delete_rename_attrib_are_never_coalesced(fawatchd, machine, w):
    fawatchd.start('watch: { r: { path = "/t/w"; events = [ "create", "delete" ]; coalesce = "10s"; }; };')
    machine.python("""
import os, time
for i in range(20):
    os.close(os.open('/t/w/f', os.O_CREAT)); os.unlink('/t/w/f')
""")
    records = fawatchd.records()
    # what the kernel merged (same process, object and name) is one; each file is another object
    assert len([r for r in records if "create" in r.events]) == 20
    assert len([r for r in records if "delete" in r.events]) == 20


def test_open_windows_are_written_at_stop(fawatchd, machine, w):
    machine.sh("echo x > /t/w/f")
    fawatchd.start('watch: { r: { path = "/t/w"; events = "modify"; coalesce = "1min"; }; };')
    machine.python("""
import time
with open('/t/w/f', 'a') as f:
    for i in range(10): f.write('x'); f.flush(); time.sleep(0.01)
""")
    fawatchd.settle()
    fawatchd.stop()
    counted = [r for r in fawatchd.records(settle=False) if "count" in r]
    machine.sh("journalctl --sync")
    counted = counted or [r for r in fawatchd.records(settle=False) if "count" in r]
    assert len(counted) == 1 and int(counted[0]["count"]) > 1


def test_limit_sheds_and_says_how_many(fawatchd, machine, w, kinds):
    fawatchd.start('watch: { r: { path = "/t/w"; events = "create"; limit = "5/2s"; }; };')
    process = machine.spawn(["python3", "-c", "for i in range(30): open(f'/t/w/{i}', 'x')\nimport time; time.sleep(30)"])
    shed = wait_until(lambda: fawatchd.of_kind(kinds["shed"], wait=False), "the account")
    process.kill()
    assert len(fawatchd.records()) == 5
    text = " ".join(str(v) for v in shed[0].fields.values())
    assert len(shed) == 1 and "25" in text and "python3" in text and "create" in text
    assert shed[0].all("rule") == ["r"]


# the settings that shape records

def test_omit_leaves_fields_out(fawatchd, machine, w):
    fawatchd.start(WATCH, settings='omit = [ "cmdline", "under" ];\n')
    machine.sh("touch /t/w/f")
    record = fawatchd.records()[0]
    assert "cmdline" not in record and "under" not in record and record["path"] == "/t/w/f"


def test_facility_and_unit_log(fawatchd, machine, w):
    fawatchd.start(WATCH, settings='facility = "authpriv"; unit_log = false;\n')
    machine.sh("touch /t/w/f")
    record = fawatchd.records()[0]
    assert record["SYSLOG_FACILITY"] == "10" and "OBJECT_SYSTEMD_UNIT" not in record


def test_mask_options_hides_values(fawatchd, machine, w):
    fawatchd.start(WATCH, settings='mask_options = [ "--password" ];\n')
    machine.sh(["python3", "-B", "-c", "import time; open('/t/w/f', 'w').close(); time.sleep(2)",
                "--password=geheim", "--password", "secret", "--user", "u"])
    record = [r for r in fawatchd.records() if r["path"] == "/t/w/f"][0]
    assert "geheim" not in str(record.fields) and "secret" not in str(record.fields)
    assert "--user u" in record["cmdline"]


# records that are not events

def test_started_and_stopping(fawatchd, machine, w, kinds):
    before = machine.cursor()
    fawatchd.start(WATCH)
    fawatchd.stop()
    found = {name: machine.journal(before, f"MESSAGE_ID={kinds[name]}") for name in ("started", "stopping")}
    assert {name: len(r) for name, r in found.items()} == {"started": 1, "stopping": 1}
    assert int(found["started"][0]["seq"]) == 1
    assert "DOCUMENTATION" in found["started"][0]


def test_rules_loaded_and_refused(fawatchd, machine, w, kinds):
    fawatchd.start(WATCH)
    fawatchd.rules(WATCH + 'ignore: { more: { path = "/t/w/x"; }; };')
    loaded = fawatchd.of_kind(kinds["rules_loaded"])[-1]
    assert re.fullmatch("[0-9a-f]{64}", loaded["rules_sha256"])
    assert loaded.all("rules_change") == ["+ ignore more"]
    fawatchd.write_rule("test", "watch: {\n  web: { path = 'relative'; };\n};")
    fawatchd.reload(expect_ok=False)
    refused = fawatchd.of_kind(kinds["rules_refused"])[-1]
    assert refused["CONFIG_FILE"] == "/etc/fawatchd/rules.d/test.conf" and refused["CONFIG_LINE"] == "2"
    assert int(refused["PRIORITY"]) <= 4


def test_coverage_tells_of_mounts(fawatchd, machine, kinds):
    fawatchd.start('watch: { r: { path = "/t"; events = "create"; }; };')
    machine.mount("tmpfs", "/t/new")
    gained = fawatchd.of_kind(kinds["coverage"])
    assert "/t/new" in str([r.fields for r in gained])
    fawatchd.begin = machine.cursor()
    machine.sh("umount /t/new")
    lost = fawatchd.of_kind(kinds["coverage"])
    assert "/t/new" in str([r.fields for r in lost])


def test_alive_each_heartbeat(fawatchd, machine, w, kinds):
    fawatchd.start(WATCH, settings='heartbeat = "1s";\n')
    machine.sh("touch /t/w/f")
    wait_until(lambda: len(fawatchd.of_kind(kinds["alive"])) >= 2, "two heartbeats")
    alive = fawatchd.of_kind(kinds["alive"])[-1]
    assert alive["stream"] and int(alive["seq"]) > 1 and alive["generation"] == "1"
    assert "web" in str(alive.fields)


def test_numbers_have_no_holes(fawatchd, machine, w):
    before = machine.cursor()
    fawatchd.start(WATCH)
    machine.sh("touch /t/w/{1..100}; rm /t/w/{1..50}")
    fawatchd.rules(WATCH.replace("deface", "other"))
    fawatchd.write_rule("test", "watch:")
    fawatchd.reload(expect_ok=False)
    fawatchd.settle()
    fawatchd.stop()
    seqs = [int(r["seq"]) for r in machine.journal(before, "SYSLOG_IDENTIFIER=fawatchd") if "seq" in r]
    assert sorted(seqs) == list(range(1, max(seqs) + 1)) and seqs == sorted(seqs)


# the other sink

def test_stdout_sink_is_json_lines(fawatchd, machine, w):
    machine.write("/run/demo.conf", WATCH, mode=0o644)
    process = machine.spawn("exec fawatchd --log=stdout --rules=/run/demo.conf")
    records = stdout_records(process)
    machine.sh("for i in $(seq 50); do touch /t/w/$i; sleep 0.02; done")
    machine.sh(["touch", b"/t/w/caf\xe9"])
    line = next(r for r in records if "caf" in r["path"] and "create" in r["event"])
    machine.end_ad_hoc(process)
    assert line["rule"] == ["web"] and isinstance(line["tag"], list) and isinstance(line["under"], list)
    assert bytes(line["path_raw"]) == b"/t/w/caf\xe9" and line["path"] == "/t/w/caf\ufffd"
    assert line["rules"] == "web" and line["attribution"]
