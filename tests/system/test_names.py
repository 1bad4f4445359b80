# SPDX-License-Identifier: LGPL-2.1-or-later
"""Rules follow names: what their paths lead to changes without an event on the name itself.

Each such change is one `replaced` record, with what changed and who did it.  The cases of
a table share one service: each has a rule on a path below a directory of its own, and all
take their first step, then all their second.
"""

import pytest

from harness import wait_until

EXCHANGE = ("python3 -B -c 'import ctypes; "
            "assert ctypes.CDLL(None).renameat2(-100, b\"d\", -100, b\"e\", 2) == 0'")
# while the paths of the rules are walked along a mount is in use for a moment
UMOUNT = "um() { for i in {1..200}; do umount $1 2>/dev/null && return; sleep 0.05; done; umount $1; }; um"
MOUNT_FILE = "echo over > /run/over; mount --bind /run/over f"


class Case:
    """Everything below the case's own directory, which is the working directory of its steps."""

    def __init__(self, name, prepared, paths, *steps, sees=None, scope="tree", events="change"):
        self.name, self.prepared, self.paths, self.steps = name, prepared, paths, steps
        self.sees, self.scope, self.events = sees, scope, events


# A step is a command and the records it leads to: path, cause, whether it is known who did it,
# and the type of what is there now (None: nothing).
CASES = [
    Case("directory above renamed and back", "mkdir -p d/sub; echo x > d/sub/f", ["d/sub/f"],
         ("mv d e", [("d/sub/f", "d", True, None)]),
         ("mv e d", [("d/sub/f", "d", True, "file")]), sees="d/sub/f"),
    Case("directory right above renamed", "mkdir -p d/sub; echo x > d/sub/f", ["d/sub/f"],
         ("mv d/sub d/other", [("d/sub/f", "d/sub", True, None)])),
    Case("renamed and made again at once", "mkdir -p d/sub; echo x > d/sub/f", ["d/sub/f"],
         ("mv d e; mkdir -p d/sub; echo y > d/sub/f", [("d/sub/f", "d", True, None)]), sees="d/sub/f"),
    Case("moved away and back at once", "mkdir -p d/sub; echo x > d/sub/f", ["d/sub/f"],
         ("mv d e; mv e d", [("d/sub/f", "d", True, None), ("d/sub/f", "d", True, "file")]), sees="d/sub/f"),
    Case("another directory at once", "mkdir -p d/sub e/sub; echo x > d/sub/f; echo y > e/sub/f", ["d/sub/f"],
         ("mv d o; mv e d", [("d/sub/f", "d", True, None), ("d/sub/f", "d", True, "file")]), sees="d/sub/f"),
    Case("directories exchanged", "mkdir -p d/sub e/sub; echo x > d/sub/f; echo y > e/sub/f", ["d/sub/f"],
         (EXCHANGE, [("d/sub/f", "d", True, "file")]),
         (EXCHANGE, [("d/sub/f", "d", True, "file")]), sees="d/sub/f"),
    Case("filled directory moved in", "mkdir -p e/sub; echo x > e/sub/f", ["d/sub/f"],
         ("mv e d", [("d/sub/f", "d", True, "file")]), sees="d/sub/f"),
    Case("a tree below", "mkdir -p d/tree e", ["d/tree"],
         ("mv d o", [("d/tree", "d", True, None)]),
         ("mkdir -p d/tree", []), sees="d/tree/f"),
    # of these the events of the name itself tell
    Case("file replaced by rename", "mkdir d; echo x > d/f; echo y > new", ["d/f"], ("mv new d/f", []), sees="d/f"),
    Case("file removed and made again", "mkdir d; echo x > d/f", ["d/f"], ("rm d/f", []), ("echo y > d/f", []),
         sees="d/f"),
    Case("all above removed and made again", "mkdir -p d/sub; echo x > d/sub/f", ["d/sub/f"],
         ("rm -r d", []), ("mkdir -p d/sub; echo y > d/sub/f", []), sees="d/sub/f"),
    Case("nothing there yet", "", ["a/b/c/f"], ("mkdir -p a/b/c; echo x > a/b/c/f", []), sees="a/b/c/f"),
    # links
    Case("link leads elsewhere", "mkdir v1 v2; ln -s v1 l", ["l"],
         ("ln -sfn v2 l", [("l", "l", True, "directory")]), sees="v2/f"),
    Case("link on the way leads elsewhere", "mkdir -p v1/s v2/s; echo 1 > v1/s/f; echo 2 > v2/s/f; ln -s v1 l",
         ["l/s/f"], ("ln -sfn v2 l", [("l/s/f", "l", True, "file")]), sees="v2/s/f"),
    Case("link on the way leads to where nothing is", "mkdir -p v1/s v2; echo 1 > v1/s/f; ln -s v1 l",
         ["l/s/f"], ("ln -sfn v2 l", [("l/s/f", "l", True, None)]),
         ("mkdir v2/s; echo > v2/s/f", []), sees="v2/s/f"),
    Case("link removed and made again", "mkdir v1; ln -s v1 l", ["l"],
         ("rm l", [("l", "l", True, None)]),
         ("ln -s v1 l", [("l", "l", True, "directory")]), sees="v1/f"),
    Case("chain of links", "mkdir v1 v2; ln -s v1 m; ln -s m l", ["l"],
         ("ln -sfn v2 m", [("l", "m", True, "directory")]), sees="v2/f"),
    Case("the target of a link is another", "mkdir v1; ln -s v1 l", ["l"],
         ("mv v1 v2", []), ("mkdir v1", []), sees="v1/f"),
    Case("a link takes the place of the path", "mkdir v1; echo > v1/f; mkdir d; echo > d/f", ["d/f"],
         ("ln -sf ../v1/f d/f", [("d/f", "d/f", True, "file")]), sees="v1/f"),
    Case("two paths to one place", "mkdir -p x/d; ln -s x/d l", ["x/d", "l"],
         ("mv x y", [("x/d", "x", True, None)])),
    # mounts: nobody knows who
    Case("mounted over a directory above", "mkdir -p d/sub; echo x > d/sub/f", ["d/sub/f"],
         ("mount -t tmpfs tmpfs d", [("d/sub/f", "d", False, None)]),
         (UMOUNT + " d", [("d/sub/f", "d", False, "file")]), sees="d/sub/f"),
    Case("mounted at the path", "mkdir -p d", ["d"],
         ("mount -t tmpfs tmpfs d", [("d", "d", False, "directory")]),
         (UMOUNT + " d", [("d", "d", False, "directory")]), sees="d/f"),
    Case("a file mounted over", "echo x > f", ["f"],
         (MOUNT_FILE, [("f", "f", False, "file")]),
         (UMOUNT + " f", [("f", "f", False, "file")]), sees="f"),
    Case("mounted twice", "mkdir -p d/sub e/sub", ["d/sub"],
         ("mount --bind e d", [("d/sub", "d", False, "directory")]),
         ("mount -t tmpfs tmpfs d", [("d/sub", "d", False, None)]),
         (UMOUNT + " d", [("d/sub", "d", False, "directory")]), sees="e/sub/f"),
    Case("a bind mount of the same", "mkdir -p d/sub", ["d/sub"], ("mount --bind d/sub d/sub", []), sees="d/sub/f"),
    Case("what is mounted below a tree", "mkdir -p d/m", ["d"], ("mount -t tmpfs tmpfs d/m", []), sees="d/m/f"),
    Case("filesystem scope", "mkdir m", ["m"],
         ("mount -t tmpfs tmpfs m", [("m", "m", False, "directory")]), sees="m/f", scope="filesystem"),
    Case("mount scope", "mkdir m", ["m"],
         ("mount -t tmpfs tmpfs m", [("m", "m", False, "directory")]),
         (UMOUNT + " m", [("m", "m", False, "directory")]), scope="mount", events="content"),
]


# The same where no rule asks for creations, removals and renames: the directories above are followed all the
# same.  Of what is made in a directory before that has its mark nothing tells but the next look, so without
# the cases that do two things at once.
QUIET = [Case(c.name, c.prepared, c.paths, *c.steps, sees=c.sees, events="content") for c in CASES if c.name in {
    "directory above renamed and back", "directory right above renamed", "directories exchanged",
    "filled directory moved in", "file replaced by rename", "file removed and made again", "link leads elsewhere",
    "link on the way leads elsewhere", "link removed and made again", "chain of links", "two paths to one place",
    "mounted over a directory above"}]
TABLES = {"change": CASES, "content": QUIET}


def rule(number, case, where):
    paths = ", ".join(f'"{where}/{path}"' for path in case.paths)
    return (f'c{number}: {{ path = [ {paths} ]; scope = "{case.scope}"; events = "{case.events}"; '
            'coalesce = "0"; };')


class Table:
    """Cases with their directories, in one service."""

    def __init__(self, fawatchd, cases):
        self.fawatchd, self.machine = fawatchd, fawatchd.machine
        self.cases = {f"/t/w/{i}": case for i, case in enumerate(cases)}

    def run(self, step_of):
        script = [f"cd {where} && {{ {step}; }} || exit" for where, case in self.cases.items()
                  if (step := step_of(case))]
        self.machine.sh("\n".join(script))

    def start(self, settings=None):
        self.run(lambda case: f"mkdir -p .; {case.prepared or ':'}" )
        rules = " ".join(rule(i, case, where) for i, (where, case) in enumerate(self.cases.items()))
        self.fawatchd.start(f"watch: {{ {rules} }};\n", settings)

    def replaced(self):
        """By case."""
        found = {where: [] for where in self.cases}
        for r in self.fawatchd.records("FAWATCH_EVENT=replaced", settle=False):
            where = "/".join(r["path"].split("/")[:4])
            found[where].append((r["path"][len(where) + 1:], (r.get("cause") or "")[len(where) + 1:],
                                 "pid" in r, r.get("type")))
        return found

    def take(self, i):
        """Every case's i-th step; the records are the expected ones, no fewer and no more."""
        before = self.replaced()
        self.run(lambda case: case.steps[i][0] if i < len(case.steps) else None)
        expected = {where: before[where] + (case.steps[i][1] if i < len(case.steps) else [])
                    for where, case in self.cases.items()}
        n = sum(map(len, expected.values()))
        try:
            wait_until(lambda: sum(map(len, self.replaced().values())) >= n, "all records", 30)
        finally:
            self.fawatchd.settle()
            got = self.replaced()
            wrong = {self.cases[w].name: (got[w][len(before[w]):], expected[w][len(before[w]):])
                     for w in self.cases if got[w] != expected[w]}
            assert not wrong, f"step {i}: got, expected: {wrong}"

    def sees(self):
        """What happens there is recorded, whatever it took to get there, as soon as the rules have followed."""
        since = self.machine.cursor()

        def unseen():
            seen = {r.get("path") for r in self.machine.journal(since, "FAWATCH_EVENT=modify")}
            return {where for where, case in self.cases.items() if case.sees and f"{where}/{case.sees}" not in seen}

        def all_seen():
            missing = unseen()
            self.run(lambda case: f"echo more >> {case.sees}" if case.sees else None)
            self.fawatchd.settle()
            return not missing or not unseen()

        wait_until(all_seen, "a change of each", 30)


@pytest.mark.parametrize("events", TABLES)
@pytest.mark.parametrize("fstype", ["tmpfs", "ext4"])
def test_names(fawatchd, machine, fstype, events):
    cases = TABLES[events]
    machine.mount(fstype, "/t/w")
    machine.sh(f"mkdir /t/w/{{0..{len(cases) - 1}}}")
    table = Table(fawatchd, cases)
    table.start()
    for i in range(max(len(case.steps) for case in cases)):
        table.take(i)
    table.sees()
