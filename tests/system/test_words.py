# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the words of the rule language mean, one test each.

The comment over a test is the sentence of fawatchd.rules(5) that it holds to.
"""

import pytest

from harness import wait_until


def rule(name, text):
    return f'watch: {{ {name}: {{ coalesce = "0"; {text} }}; }};\n'


def events_of(records, path):
    """The union of events recorded of a path (the kernel merges as it likes)."""
    return set().union(*(r.events for r in records if r.get("path") == path))


def paths(records):
    return {r.get("path") for r in records}


def canonical(machine, *mountpoints):
    """Of the mounts of one filesystem the one with the lowest id, which the kernel gives out again."""
    lines = [line.split() for line in machine.sh("cat /proc/self/mountinfo").out.splitlines()]
    return min((int(line[0]), line[4]) for line in lines if line[4] in mountpoints)[1]


# A rule follows the name, not the inode: a watched file replaced by rename,
# removed and created again, or not there yet is watched as soon as it exists.

def test_file_replaced_by_rename(fawatchd, machine, anyfs):
    machine.write("/t/w/f", "old")
    machine.write("/t/w/other", "new")
    fawatchd.start(rule("r", 'path = "/t/w/f";'))
    machine.sh("mv /t/w/other /t/w/f")
    renamed = [r for r in fawatchd.records() if "rename" in r.events]
    assert [(r["path"], r["old_path"]) for r in renamed] == [("/t/w/f", "/t/w/other")]
    fawatchd.mark()
    machine.sh("echo more >> /t/w/f")
    assert events_of(fawatchd.records(), "/t/w/f") == {"modify", "close_write"}


def test_file_removed_and_created_again(fawatchd, machine, anyfs):
    machine.write("/t/w/f", "old")
    fawatchd.start(rule("r", 'path = "/t/w/f";'))
    machine.sh("rm /t/w/f")
    assert "delete" in events_of(fawatchd.records(), "/t/w/f")
    fawatchd.mark()
    machine.sh("echo new > /t/w/f")
    assert events_of(fawatchd.records(), "/t/w/f") == {"create", "modify", "close_write"}


@pytest.mark.parametrize("scope", ["file", "tree"])
def test_path_that_does_not_exist_yet(fawatchd, machine, w, scope):
    fawatchd.start(rule("r", f'path = "/t/w/a/b/f"; scope = "{scope}";'))
    machine.sh("mkdir -p /t/w/a/b && echo x > /t/w/a/b/f")
    assert events_of(fawatchd.records(), "/t/w/a/b/f") == {"create", "modify", "close_write"}
    assert paths(fawatchd.records()) == {"/t/w/a/b/f"}
    assert fawatchd.property("NRestarts") == "0"


# A rule follows the structure of the directories above its path and the mount
# table: when the name leads to another object, or to none, one record says so.

def follows(fawatchd, machine, path):
    """The rule reports path soon: a change of the world is looked at off the event street."""
    def reported():
        machine.sh(f"echo y >> {path}")
        return path in paths(fawatchd.records())
    wait_until(reported, f"a record of {path}")


def test_directory_above_renamed(fawatchd, machine, anyfs):
    machine.write("/t/w/d/sub/f", "x")
    fawatchd.start(rule("r", 'path = "/t/w/d/sub/f";'))
    machine.sh("mv /t/w/d /t/w/e")
    fawatchd.mark()
    machine.sh("echo y >> /t/w/e/sub/f; mkdir -p /t/w/d/sub; echo new > /t/w/d/sub/f")
    records = fawatchd.records()
    assert "create" in events_of(records, "/t/w/d/sub/f")
    fawatchd.mark()
    machine.sh("echo z >> /t/w/e/sub/f; echo z >> /t/w/d/sub/f")
    assert paths(fawatchd.records()) == {"/t/w/d/sub/f"}


def test_something_mounted_over_the_path(fawatchd, machine, w):
    machine.write("/t/w/d/f", "below")
    fawatchd.start(rule("r", 'path = "/t/w/d/f";'))
    machine.sh("mount -t tmpfs tmpfs /t/w/d")
    follows(fawatchd, machine, "/t/w/d/f")
    machine.sh("umount /t/w/d")
    fawatchd.mark()
    follows(fawatchd, machine, "/t/w/d/f")
    assert machine.read("/t/w/d/f").startswith("below")


# tree is the name itself and everything below, at any depth, including
# directories made a microsecond ago, moved in, or mounted over.

def test_tree_is_itself_and_everything_below(fawatchd, machine, anyfs):
    machine.sh("mkdir -p /t/w/tree /t/w/beside")
    fawatchd.start(rule("r", 'path = "/t/w/tree"; events = [ "change", "attrib" ];'))
    machine.sh("""
        mkdir -p /t/w/tree/1/2/3/4/5/6/7/8
        echo x > /t/w/tree/1/2/3/4/5/6/7/8/deep
        echo x > /t/w/beside/f; echo x > /t/w/treef
        chmod 700 /t/w/tree""")
    records = fawatchd.records()
    assert events_of(records, "/t/w/tree/1/2/3/4/5/6/7/8/deep") == {"create", "modify", "close_write"}
    assert events_of(records, "/t/w/tree") == {"attrib"}
    below = "/t/w/tree"
    wanted = {below}
    for part in "12345678":
        below += "/" + part
        wanted.add(below)
    assert paths(records) == wanted | {below + "/deep"}


def test_tree_new_directories_lose_nothing(fawatchd, machine, anyfs):
    machine.sh("mkdir /t/w/tree")
    fawatchd.start(rule("r", 'path = "/t/w/tree"; events = "create";'))
    machine.python("""
import os
for i in range(200):
    os.makedirs(f'/t/w/tree/{i}/a')
    open(f'/t/w/tree/{i}/a/f', 'w').close()
""")
    made = [r["path"] for r in fawatchd.records()]
    wanted = [f"/t/w/tree/{i}{end}" for i in range(200) for end in ("", "/a", "/a/f")]
    assert sorted(made) == sorted(wanted)


def test_tree_directory_moved_in_and_out(fawatchd, machine, anyfs):
    machine.sh("mkdir -p /t/w/tree /t/w/o/dir/sub; echo x > /t/w/o/dir/sub/f")
    fawatchd.start(rule("r", 'path = "/t/w/tree";'))
    machine.sh("mv /t/w/o/dir /t/w/tree/dir; echo y >> /t/w/tree/dir/sub/f")
    records = fawatchd.records()
    assert [(r["path"], r["old_path"]) for r in records if "rename" in r.events] == [("/t/w/tree/dir", "/t/w/o/dir")]
    assert events_of(records, "/t/w/tree/dir/sub/f") == {"modify", "close_write"}
    fawatchd.mark()
    machine.sh("mv /t/w/tree/dir /t/w/o/back; echo z >> /t/w/o/back/sub/f")
    records = fawatchd.records()
    assert [(r["path"], r["old_path"]) for r in records] == [("/t/w/o/back", "/t/w/tree/dir")]


def test_tree_takes_in_what_is_mounted_below(fawatchd, machine, w):
    machine.sh("mkdir -p /t/w/tree/mnt")
    fawatchd.start(rule("r", 'path = "/t/w/tree"; events = "change";'))
    machine.sh("mount -t tmpfs tmpfs /t/w/tree/mnt")
    wait_until(lambda: fawatchd.machine.sh("echo x > /t/w/tree/mnt/f; rm /t/w/tree/mnt/f", check=False) and
               events_of(fawatchd.records(), "/t/w/tree/mnt/f"), "records from the new mount")
    fawatchd.mark()
    machine.sh("mkdir /t/w/tree/mnt/d; echo x > /t/w/tree/mnt/d/g")
    assert events_of(fawatchd.records(), "/t/w/tree/mnt/d/g") == {"create", "modify", "close_write"}


def test_tree_on_a_file_is_a_rule_on_that_file(fawatchd, machine, anyfs):
    machine.write("/t/w/f", "x")
    fawatchd.start(rule("r", 'path = "/t/w/f"; scope = "tree";'))
    machine.sh("echo y >> /t/w/f; echo y > /t/w/ff; echo y > /t/w/g")
    assert paths(fawatchd.records()) == {"/t/w/f"}


def test_directory_is_itself_and_its_direct_children(fawatchd, machine, anyfs):
    machine.sh("mkdir -p /t/w/d/sub")
    fawatchd.start(rule("r", 'path = "/t/w/d"; scope = "directory"; events = [ "create", "attrib" ];'))
    machine.sh("touch /t/w/d/child /t/w/d/sub/grandchild; chmod 700 /t/w/d")
    assert paths(fawatchd.records()) == {"/t/w/d/child", "/t/w/d"}


# mount and filesystem mean what is mounted at path.  Where nothing is mounted
# there it is a gap until something is; never the filesystem of the directory below.

@pytest.mark.parametrize("scope", ["mount", "filesystem"])
def test_nothing_mounted_is_a_gap_until_something_is(fawatchd, machine, w, scope):
    machine.sh("mkdir /t/w/mnt")
    fawatchd.start(rule("r", f'path = "/t/w/mnt"; scope = "{scope}"; events = "content";'))
    coverage = fawatchd.ctl("coverage", check=False)
    assert coverage.status == 1
    assert "/t/w/mnt" in coverage.out and "/t/w" in coverage.out
    machine.sh("echo x > /t/w/mnt/f; echo x > /t/w/g")
    assert fawatchd.records() == []
    machine.sh("mount -t tmpfs tmpfs /t/w/mnt")
    wait_until(lambda: fawatchd.machine.sh("echo x > /t/w/mnt/f") and
               fawatchd.records("FAWATCH_PATH=/t/w/mnt/f"), "records of what is mounted now")
    machine.sh("echo x > /t/w/g")
    assert "/t/w/g" not in paths(fawatchd.records())


def test_mount_scope_sees_this_mount_only(fawatchd, machine, w):
    machine.sh("mkdir -p /t/b; mount --bind /t/w /t/b; echo x > /t/w/f")
    fawatchd.start(rule("r", 'path = "/t/b"; scope = "mount"; events = "content";'))
    machine.sh("echo 1 >> /t/w/f; echo 2 >> /t/b/f")
    wait_until(lambda: fawatchd.records(), "a record")
    sizes = [r["size"] for r in fawatchd.records() if "close_write" in r.events]
    assert len(sizes) == 1, fawatchd.records()


def test_filesystem_scope_sees_all_of_it(fawatchd, machine, w):
    machine.sh("mkdir -p /t/b; mount --bind /t/w /t/b")
    fawatchd.start(rule("r", 'path = "/t/w"; scope = "filesystem"; events = "create";'))
    machine.sh("touch /t/b/a; mkdir -p /t/w/x/y; touch /t/w/x/y/z")
    top = canonical(machine, "/t/w", "/t/b")
    assert paths(fawatchd.records()) == {f"{top}/a", f"{top}/x", f"{top}/x/y", f"{top}/x/y/z"}


# A symbolic link in a rule's path: the link and what it leads to are watched;
# when it leads elsewhere, replaced is reported and the rule follows.

def test_symbolic_link_is_followed_and_watched(fawatchd, machine, anyfs):
    machine.sh("mkdir -p /t/w/v1 /t/w/v2; ln -s v1 /t/w/current; echo x > /t/w/v1/f; echo x > /t/w/v2/f")
    fawatchd.start(rule("r", 'path = "/t/w/current";'))
    machine.sh("echo y >> /t/w/current/f")
    assert paths(fawatchd.records()) == {"/t/w/v1/f"}, "records carry the canonical path"
    fawatchd.mark()
    machine.sh("ln -s v2 /t/w/new; mv -T /t/w/new /t/w/current")
    assert [(r["path"], r["old_path"]) for r in fawatchd.records() if "rename" in r.events] == [
        ("/t/w/current", "/t/w/new")]
    follows(fawatchd, machine, "/t/w/v2/f")
    fawatchd.mark()
    machine.sh("echo y >> /t/w/v2/f; echo y >> /t/w/v1/f")
    assert paths(fawatchd.records()) == {"/t/w/v2/f"}


def test_symbolic_link_removed(fawatchd, machine, w):
    machine.sh("mkdir /t/w/v1; ln -s v1 /t/w/current")
    fawatchd.start(rule("r", 'path = "/t/w/current";'))
    machine.sh("rm /t/w/current")
    assert "delete" in events_of(fawatchd.records(), "/t/w/current")


def test_symbolic_link_in_the_middle_of_a_path(fawatchd, machine, w):
    machine.sh("mkdir -p /t/w/v1/etc /t/w/v2/etc; ln -s v1 /t/w/root")
    fawatchd.start(rule("r", 'path = "/t/w/root/etc/f";'))
    machine.sh("echo x > /t/w/v1/etc/f")
    assert paths(fawatchd.records()) == {"/t/w/v1/etc/f"}
    fawatchd.mark()
    machine.sh("ln -sfn v2 /t/w/root")
    follows(fawatchd, machine, "/t/w/v2/etc/f")


def test_link_inside_a_tree_is_an_object_of_its_own(fawatchd, machine, w):
    machine.sh("mkdir -p /t/w/tree /t/w/o; echo x > /t/w/o/f; ln -s ../o /t/w/tree/link")
    fawatchd.start(rule("r", 'path = "/t/w/tree";'))
    machine.sh("echo y >> /t/w/tree/link/f")
    assert fawatchd.records() == []
    machine.sh("rm /t/w/tree/link")
    records = fawatchd.records()
    assert [(r["path"], r.events) for r in records] == [("/t/w/tree/link", {"delete"})]


def test_two_paths_that_lead_to_the_same_place_are_one(fawatchd, machine, w):
    machine.sh("mkdir /t/w/d; ln -s d /t/w/l")
    fawatchd.start(rule("r", 'path = [ "/t/w/d", "/t/w/l" ]; events = "create";'))
    machine.sh("touch /t/w/d/f")
    assert [(r["path"], r.all("rule")) for r in fawatchd.records()] == [("/t/w/d/f", ["r"])]


# Ignore wins over watch: a global ignore for all rules but those with always,
# an except for the rule it stands in.

def test_ignore_takes_the_path_out_for_all_rules_but_always(fawatchd, machine, anyfs):
    machine.sh("mkdir -p /t/w/d/ign")
    fawatchd.start("""
        watch: {
          plain:  { path = "/t/w/d"; events = "create"; };
          second: { path = "/t/w/d/ign"; events = "create"; };
          canary: { path = "/t/w/d"; events = "create"; always = true; };
        };
        ignore: { out: { path = "/t/w/d/ign"; }; };""")
    machine.sh("touch /t/w/d/ign/f; mkdir -p /t/w/d/ign/new/sub; touch /t/w/d/ign/new/sub/f /t/w/d/seen")
    got = {r["path"]: sorted(r.all("rule")) for r in fawatchd.records()}
    assert got == {"/t/w/d/ign/f": ["canary"], "/t/w/d/ign/new": ["canary"], "/t/w/d/ign/new/sub": ["canary"],
                   "/t/w/d/ign/new/sub/f": ["canary"], "/t/w/d/seen": ["canary", "plain"]}


def test_except_is_for_its_own_rule(fawatchd, machine, w):
    machine.sh("mkdir /t/w/d")
    fawatchd.start("""
        watch: {
          a: { path = "/t/w/d"; events = "create"; except = [ "*.swp" ]; };
          b: { path = "/t/w/d"; events = "create"; };
        };""")
    machine.sh("touch /t/w/d/x.swp /t/w/d/x")
    got = {r["path"]: sorted(r.all("rule")) for r in fawatchd.records()}
    assert got == {"/t/w/d/x.swp": ["b"], "/t/w/d/x": ["a", "b"]}


def test_ignored_directory_and_ignored_tree(fawatchd, machine, anyfs):
    machine.sh("mkdir -p /t/w/one/sub /t/w/all/sub")
    fawatchd.start("""
        watch: { r: { path = "/t/w"; events = "create"; }; };
        ignore: {
          one: { path = "/t/w/one"; scope = "directory"; };
          all: { path = "/t/w/all"; };
        };""")
    machine.sh("touch /t/w/{one,all}/f /t/w/{one,all}/sub/g; mkdir /t/w/{one,all}/new; touch /t/w/{one,all}/new/h")
    assert paths(fawatchd.records()) == {"/t/w/one/sub/g", "/t/w/one/new/h"}


def test_check_warns_of_an_ignore_that_swallows_another_files_path(fawatchd, machine, w):
    fawatchd.start('watch: { r: { path = "/t/w/deep/inside"; }; };')
    fawatchd.write_rule("noise", 'ignore: { big: { path = "/t/w/deep"; }; };')
    check = fawatchd.ctl("check")
    assert "noise.conf:1" in check.err + check.out and "/t/w/deep/inside" in check.err + check.out
    assert fawatchd.ctl("check", "--strict", check=False).status == 1


# A rename is one record with both names, reported when either name is watched
# and not ignored.

@pytest.mark.parametrize("old, new, recorded", [
    ("d/a", "d/b", True), ("d/a", "o/b", True), ("o/a", "d/b", True), ("o/a", "o/b", False),
    ("d/ign/a", "d/b", True), ("d/a", "d/ign/b", True), ("d/ign/a", "d/ign/b", False), ("o/a", "d/ign/b", False),
])
def test_rename_is_one_record_with_both_names(fawatchd, machine, w, old, new, recorded):
    machine.sh(f"mkdir -p /t/w/d/ign /t/w/o; echo x > /t/w/{old}")
    fawatchd.start("""
        watch: { r: { path = "/t/w/d"; events = "change"; coalesce = "0"; }; };
        ignore: { i: { path = "/t/w/d/ign"; }; };""")
    machine.sh(f"mv /t/w/{old} /t/w/{new}")
    got = [(r["old_path"], r["path"], r.events) for r in fawatchd.records()]
    assert got == ([(f"/t/w/{old}", f"/t/w/{new}", {"rename"})] if recorded else [])


# The same file through another name: bind mounts and mount namespaces are the
# same file, reported once, under one canonical path.

@pytest.mark.parametrize("where", ["/t/w/d", "/t/b"])
def test_bind_mount_is_the_same_file(fawatchd, machine, anyfs, where):
    machine.sh("mkdir -p /t/w/d /t/b; mount --bind /t/w/d /t/b")
    fawatchd.start(rule("r", f'path = "{where}"; events = "create";'))
    machine.sh("touch /t/b/through-bind /t/w/d/direct")
    assert sorted(r["path"] for r in fawatchd.records()) == ["/t/w/d/direct", "/t/w/d/through-bind"]


def test_other_mount_namespace_is_the_same_file(fawatchd, machine, anyfs):
    machine.sh("mkdir /t/w/d")
    fawatchd.start(rule("r", 'path = "/t/w/d"; events = "create";'))
    machine.sh("unshare --mount --propagation private sh -c 'mkdir /t/elsewhere; mount --move /t/w /t/elsewhere; "
               ": > /t/elsewhere/d/f; sleep 0.2'")
    assert [(r["path"], r["comm"]) for r in fawatchd.records()] == [("/t/w/d/f", "sh")]


def test_hidden_place(fawatchd, machine, w):
    machine.sh("mkdir -p /t/w/d; echo x > /t/w/d/f")
    fawatchd.start(rule("r", 'path = "/t/w"; events = "content"; scope = "filesystem";'))
    # an open descriptor writes below a mount that came later
    machine.sh("exec 3>>/t/w/d/f; mount -t tmpfs tmpfs /t/w/d; sleep 0.5; echo y >&3; exec 3>&-; umount /t/w/d")
    hidden = [r for r in fawatchd.records() if r.get("path_state") == "hidden"]
    assert {r["path"] for r in hidden} == {"/t/w/d/f"}


# A hard link is another name, reported under the name it was used by; a file
# rule also watches the object; tree and directory rules see only names below them.

@pytest.mark.parametrize("rules, seen", [
    ('path = "/t/w/d/f"; scope = "file";', True),
    ('path = "/t/w/d"; scope = "tree";', False),
    ('path = "/t/w/d"; scope = "directory";', False),
])
def test_hard_link(fawatchd, machine, anyfs, rules, seen):
    machine.sh("mkdir /t/w/d /t/w/o; echo x > /t/w/d/f; ln /t/w/d/f /t/w/o/hl")
    fawatchd.start(rule("r", f'{rules} events = "content";'))
    machine.sh("echo y >> /t/w/o/hl")
    assert paths(fawatchd.records()) == ({"/t/w/o/hl"} if seen else set())


def test_ignore_of_a_tree_is_not_of_a_hard_link_elsewhere(fawatchd, machine, w):
    machine.sh("mkdir /t/w/d /t/w/o; echo x > /t/w/d/f; ln /t/w/d/f /t/w/o/hl")
    fawatchd.start('watch: { r: { path = "/t/w"; events = "content"; }; }; ignore: { i: { path = "/t/w/d"; }; };')
    machine.sh("echo y >> /t/w/o/hl; echo y >> /t/w/d/f")
    assert paths(fawatchd.records()) == {"/t/w/o/hl"}


# Named FIFOs, sockets and device nodes: only create, delete, rename and attrib
# are reported, unless the rule asks by type.  Anonymous ones never raise an event.

def use_special_files(machine):
    machine.python("""
import os, socket, threading, time
os.mkfifo('/t/w/fifo')
t = threading.Thread(target=lambda: open('/t/w/fifo', 'rb').read())
t.start()
with open('/t/w/fifo', 'wb') as f: f.write(b'x')
t.join()
os.mknod('/t/w/null', 0o666 | 0o020000, os.makedev(1, 3))
with open('/t/w/null', 'wb') as f: f.write(b'x')
s = socket.socket(socket.AF_UNIX); s.bind('/t/w/sock'); s.close()
os.chmod('/t/w/null', 0o600)
time.sleep(0.5)  # the type is that of the object, which must still be there
for n in 'fifo', 'null', 'sock': os.unlink('/t/w/' + n)
""")


def test_special_files_by_default(fawatchd, machine, w):
    fawatchd.start(rule("r", 'path = "/t/w"; events = "all"; except: { x: { match = "*"; events = "read"; }; };'))
    use_special_files(machine)
    records = [r for r in fawatchd.records() if r["path"] != "/t/w"]
    assert {n: events_of(records, f"/t/w/{n}") for n in ("fifo", "null", "sock")} == {
        "fifo": {"create", "delete"}, "null": {"create", "attrib", "delete"}, "sock": {"create", "delete"}}


def test_special_files_asked_for_by_type(fawatchd, machine, w):
    fawatchd.start(rule("r", 'path = "/t/w"; events = "change"; type = [ "device", "fifo" ];'))
    use_special_files(machine)
    machine.sh("echo x > /t/w/plain")
    records = fawatchd.records()
    # of what is gone the type is not known any more: that fits every rule
    assert paths(r for r in records if r.events != {"delete"}) == {"/t/w/fifo", "/t/w/null"}
    assert {"create", "modify", "close_write", "delete"} <= events_of(records, "/t/w/null")
    assert {r["type"] for r in records if "type" in r} <= {"fifo", "device"}


def test_anonymous_pipes_and_sockets_are_nothing(fawatchd, machine, w):
    fawatchd.start(rule("r", 'path = "/"; scope = "filesystem"; events = "all";'))
    fawatchd.mark()
    before = fawatchd.counters()["events_read"]
    machine.python("""
import os, socket
r, w = os.pipe(); a, b = socket.socketpair(); m = os.memfd_create('x')
for i in range(20000):
    os.write(w, b'x'); os.read(r, 1); a.send(b'x'); b.recv(1); os.write(m, b'x')
""")
    fawatchd.settle()
    # python itself opens its modules on "/": some hundred events, not 100,000
    assert fawatchd.counters()["events_read"] - before < 20000


# A missing or unwatchable path is not an error of the other rules: it is shown
# as a gap, with its reason.

def test_unwatchable_path_is_a_gap_and_others_work(fawatchd, machine, w):
    fawatchd.start("""
        watch: {
          good:    { path = "/t/w/d"; events = "create"; };
          missing: { path = "/t/w/not/there"; events = "create"; };
          pseudo:  { path = "/proc/sys/kernel"; };
        };""")
    machine.sh("mkdir /t/w/d; touch /t/w/d/f")
    assert {"/t/w/d", "/t/w/d/f"} == paths(fawatchd.records())
    coverage = fawatchd.ctl("coverage", check=False)
    assert coverage.status == 1
    assert "/proc/sys/kernel" in coverage.out and "pseudo" in coverage.out
    gaps = {g["path"]: g for g in fawatchd.ctl_json("coverage")["gaps"]} if coverage.status == 0 else {
        g["path"]: g for g in json_of(fawatchd, "coverage")["gaps"]}
    assert gaps["/proc/sys/kernel"]["rule"] == "pseudo"
    assert gaps["/proc/sys/kernel"]["reason"]


def json_of(fawatchd, *command):
    import json
    return json.loads(fawatchd.ctl(*command, "--json", check=False).out)


# Pseudo filesystems are skipped, and say so; tmpfs and the like hold real files.

def test_pseudo_filesystems_are_skipped_and_say_so(fawatchd, machine, w):
    fawatchd.start(rule("r", 'path = "/"; events = "create";'))
    states = {f["mountpoint"]: f["state"] for f in json_of(fawatchd, "coverage")["filesystems"]}
    assert states["/proc"] == "skipped" and states["/sys"] == "skipped"
    assert states["/t/w"] == "covered" and states["/run"] == "covered"
    machine.sh("touch /t/w/f /dev/shm/f; rm /dev/shm/f")
    assert {"/t/w/f", "/dev/shm/f"} <= paths(fawatchd.records())


# The kernel is asked for the union of what the rules on a filesystem need, and
# for no more; what no rule mentions wakes nobody.

def test_nothing_is_asked_of_other_filesystems(fawatchd, machine, w):
    machine.mount("tmpfs", "/t/other")
    fawatchd.start(rule("r", 'path = "/t/w"; events = "create";'))
    fawatchd.mark()
    before = fawatchd.counters()["events_read"]
    machine.python("""
for i in range(2000):
    with open(f'/t/other/{i}', 'w') as f: f.write('x')
    with open('/t/w/f', 'a') as f: f.write('x')
""")
    fawatchd.settle()
    # one create in /t/w, the barriers, and the starts of programs that attribution asks for
    assert fawatchd.counters()["events_read"] - before < 100
