# SPDX-License-Identifier: LGPL-2.1-or-later
"""fawatchctl explain and marks against the running service: what they say is what then happens."""

import pytest

RULES = """watch: {
  web: { path = "/t/w"; events = "all"; coalesce = "0"; except: { tmp: { path = "/t/w/tmp"; }; }; };
  one: { path = "/t/w/one"; scope = "file"; events = "change"; priority = "warning"; };
};
ignore: {
  cache: { path = "/t/w/cache"; };
  once: { path = "/t/w/once"; scope = "file"; until = "modified"; };
};
"""


def events(answer):
    return {e["event"]: e for e in answer["events"]}


def marks(name):
    return {m["slot"]: m for m in name["marks"]}


def test_what_is_watched_and_by_which_rule(fawatchd, machine, w):
    machine.sh("touch /t/w/one")
    fawatchd.start(RULES)
    answer = fawatchd.ctl_json("explain", "/t/w/one")
    name = answer["paths"][0]
    assert (name["exists"], name["type"], name["path"]) == (True, "file", "/t/w/one")
    assert [(r["kind"], r["name"]) for r in name["rules"]] == [("watch", "one"), ("watch", "web")]
    assert all(r["file"].endswith("test.conf") and r["line"] in (2, 3) for r in name["rules"])
    modify = events(answer)["modify"]
    assert modify["reported"] and modify["record"]["rules"] == ["one", "web"]
    assert modify["record"]["priority"] == "warning" and modify["record"]["kind"] == "content"
    assert "modify" in marks(name)["filesystem"]["mask"] and "modify" in marks(name)["filesystem"]["interest"]
    text = fawatchd.ctl("explain", "/t/w/one").out
    assert "test.conf:3" in text and "modify" in text


def test_ignored_in_the_kernel_and_here(fawatchd, machine, w):
    machine.sh("mkdir -p /t/w/cache /t/w/tmp/deep; touch /t/w/cache/f /t/w/tmp/f")
    fawatchd.start(RULES)
    modify = events(fawatchd.ctl_json("explain", "/t/w/cache/f"))["modify"]
    assert (modify["reported"], modify["decided"], modify["slot"]) == (False, "kernel ignore", "parent")
    assert (modify["by"]["kind"], modify["by"]["name"], modify["by"]["line"]) == ("ignore", "cache", 6)
    before = events(fawatchd.ctl_json("explain", "/t/w/tmp/deep/f"))["modify"]
    assert (before["decided"], before["by"]["kind"]) == ("userspace", "except")
    machine.sh("echo x > /t/w/tmp/deep/f")
    fawatchd.settle()
    after = events(fawatchd.ctl_json("explain", "/t/w/tmp/deep/f"))["modify"]
    assert (after["decided"], after["slot"], after["by"]["rule"]) == ("kernel ignore", "parent", "web")
    learned = fawatchd.ctl_json("marks")["learned"]
    assert "/t/w/tmp/deep" in [m["where"] for m in learned if m["state"] == "learned"]


def test_until_modified_pending_placed_spent(fawatchd, machine, w):
    machine.sh("touch /t/w/once")
    writer = machine.spawn("exec 3>>/t/w/once; echo open; read -r line <&0; exec 3>&-; echo closed; sleep 60",
                           stdin=-1)
    try:
        assert writer.stdout.readline() == b"open\n"
        fawatchd.start(RULES)

        def state():
            rules = fawatchd.ctl_json("explain", "/t/w/once")["paths"][0]["rules"]
            return next(r["state"] for r in rules if r["name"] == "once")

        assert state().startswith("pending")
        writer.stdin.write(b"\n")
        writer.stdin.flush()
        assert writer.stdout.readline() == b"closed\n"
        fawatchd.settle()
        assert state() == "in the kernel"
        answer = fawatchd.ctl_json("explain", "/t/w/once")
        assert events(answer)["open"]["decided"] == "kernel ignore" and events(answer)["modify"]["spends"]
        assert marks(answer["paths"][0])["inode"]["flags"] == []
        costs = [c for m in fawatchd.ctl_json("marks")["learned"] if m["state"] == "until modified" for c in m["costs"]]
        assert len(costs) == 1 and costs[0].startswith("modify is of interest only because of an ignore")
        machine.sh("echo x >> /t/w/once")
        fawatchd.settle()
        assert state().startswith("spent")
        assert events(fawatchd.ctl_json("explain", "/t/w/once"))["open"]["reported"]
    finally:
        writer.kill()
        writer.wait()


def test_what_does_not_exist_yet(fawatchd, machine, w):
    fawatchd.start(RULES)
    answer = fawatchd.ctl_json("explain", "/t/w/none/such")
    assert not answer["paths"][0]["exists"] and answer["paths"][0]["type"] == "file"
    assert events(answer)["create"]["reported"]
    directory = fawatchd.ctl_json("explain", "/t/w/new/")
    assert directory["paths"][0]["type"] == "directory" and "modify" not in events(directory)


def test_a_rename_has_two_names(fawatchd, machine, w):
    machine.sh("mkdir -p /t/w/cache; touch /t/w/cache/a /t/w/b")
    fawatchd.start(RULES)
    out = events(fawatchd.ctl_json("explain", "/t/w/cache/a", "/t/w/out"))["rename"]
    assert out["reported"] and (out["record"]["old_path"], out["record"]["path"]) == ("/t/w/cache/a", "/t/w/out")
    inside = events(fawatchd.ctl_json("explain", "/t/w/cache/a", "/t/w/cache/c"))["rename"]
    assert not inside["reported"] and inside["decided"] == "userspace"
    machine.sh("mv /t/w/cache/a /t/w/cache/c; mv /t/w/cache/c /t/w/out")
    renames = [r for r in fawatchd.records() if "rename" in r.events]
    assert [(r["old_path"], r["path"]) for r in renames] == [("/t/w/cache/c", "/t/w/out")]
    note = fawatchd.ctl_json("explain", "/t/w/b", "/run/b")["note"]
    assert "two filesystems" in note


def test_links_and_other_filesystems(fawatchd, machine, w):
    machine.sh("mkdir -p /t/w/d; touch /t/w/d/f; ln -sfn /t/w/d /t/link")
    fawatchd.start(RULES)
    name = fawatchd.ctl_json("explain", "/t/link/f")["paths"][0]
    assert (name["asked"], name["path"], name["links"]) == ("/t/link/f", "/t/w/d/f", ["/t/link"])
    other = fawatchd.ctl_json("explain", "/proc/version")
    assert not any(e["reported"] for e in other["events"]) and "pseudo" in other["note"]


def test_modify_on_a_filesystem_is_dear(fawatchd, machine, w):
    fawatchd.start(RULES)
    ours = [m for m in fawatchd.ctl_json("marks")["marks"] if m["where"] == "/t/w"]
    assert any(c.startswith("modify: every write") for m in ours for c in m["costs"])
    assert "every write" in fawatchd.ctl("marks").out


@pytest.mark.parametrize("arguments", [[], ["/a", "/b", "/c"]])
def test_wrong_use(fawatchd, arguments):
    assert fawatchd.ctl("explain", *arguments, check=False).status == 2


def test_without_a_daemon(fawatchd):
    result = fawatchd.ctl("explain", "/t", check=False)
    assert result.status == 3 and "systemctl start fawatchd" in result.err
