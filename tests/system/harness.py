# SPDX-License-Identifier: LGPL-2.1-or-later
"""A real systemd with fawatchd installed in it, as an object.

Machine is the booted system: it runs commands, mounts filesystems, reads the
journal.  Fawatchd is the service in it: its rules, its reloads, its records.

Commands run inside the machine's pid namespace, in the unit test-shell.service:
what they do to files has a pid, a program and a unit that fawatchd can see.
"""

import itertools
import json
import os
import re
import subprocess
import tempfile
import time

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SOURCE = os.path.dirname(TESTS)
BOOT = os.path.join(TESTS, "boot-systemd")

SHELL_UNIT = "test-shell.service"
# what a login would give the commands, and nothing of the tests' own environment
ENVIRONMENT = {"HOME": "/root", "LANG": "C.UTF-8", "TERM": "dumb", "SHELL": "/bin/bash",
               "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
ETC_RULES = "/etc/fawatchd/rules.d"
RUN_RULES = "/run/fawatchd/rules.d"
VENDOR_RULES = "/usr/lib/fawatchd/rules.d"

# of each a new one can be made and mounted
FILESYSTEMS = ["tmpfs", "ext4", "xfs", "btrfs"]

# one rule that every rule set of a test has beside its own: see Fawatchd.settle()
BARRIER_RULE = 'watch: { barrier: { path = "/run/barrier"; events = "create"; coalesce = "0"; always = true; }; };\n'


def stage_install(build, folder):
    """make install below a folder."""
    subprocess.run(["make", "-C", build, "-s", "install", f"DESTDIR={folder}"], check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def wait_until(predicate, what, timeout=15.0):
    """Polls until predicate() gives something true, and returns that."""
    deadline = time.monotonic() + timeout
    pause = 0.005
    while True:
        value = predicate()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {timeout} s: {what}")
        time.sleep(pause)
        pause = min(pause * 1.5, 0.1)


class Record:
    """One journal record.  Values are text in which bytes that are not UTF-8
    are surrogates (os.fsencode() gives the bytes back)."""

    def __init__(self, entry):
        self.fields = {name: self._values(value) for name, value in entry.items()}

    @staticmethod
    def _values(value):
        if not isinstance(value, list) or (value and isinstance(value[0], int)):
            value = [value]
        return [os.fsdecode(bytes(v)) if isinstance(v, list) else v for v in value]

    def all(self, name):
        """Every value of a field, in the order sent; [] when absent."""
        return self.fields.get(self._full(name), [])

    def get(self, name):
        """The value of a field that has one; None when absent."""
        values = self.all(name)
        assert len(values) < 2, f"{name} has {len(values)} values: {values}"
        return values[0] if values else None

    def __getitem__(self, name):
        value = self.get(name)
        assert value is not None, f"no field {name} in {self}"
        return value

    def __contains__(self, name):
        return self._full(name) in self.fields

    def _full(self, name):
        # the names of fawatchd's own fields may be given short and in lower case
        return "FAWATCH_" + name.upper() if name.islower() else name

    @property
    def events(self):
        return set(self.all("event"))

    def __repr__(self):
        message = self.fields.get("MESSAGE", ["?"])[0]
        own = {k[8:].lower(): v for k, v in self.fields.items() if k.startswith("FAWATCH_")}
        return f"<{message!r} {own}>"


class Result:
    """What a command gave: text with surrogates for bytes that are not UTF-8."""

    def __init__(self, done):
        self.status = done.returncode
        self.out = os.fsdecode(done.stdout or b"")
        self.err = os.fsdecode(done.stderr or b"")

    def __repr__(self):
        return f"status {self.status}\n--- stdout\n{self.out}\n--- stderr\n{self.err}"


def stdout_records(process):
    """The records of events that "fawatchd --log=stdout" prints, as they come."""
    for line in process.stdout:
        record = json.loads(line)
        if "event" in record:
            yield record


class Machine:
    def __init__(self, build, name):
        self.build = build
        self.name = name
        self.keeper = None
        self._numbers = itertools.count(1)

    def boot(self):
        # the keeper powers the machine off when its standard input ends: also
        # when pytest is killed
        self.keeper = subprocess.Popen([BOOT, "hold", self.name], stdin=subprocess.PIPE,
                                       stdout=subprocess.PIPE, start_new_session=True)
        line = self.keeper.stdout.readline()
        assert line.startswith(b"ready "), f"the machine did not boot: {line!r}"
        _, self.init, self.cgroup = os.fsdecode(line).split()

    def install(self):
        """What "make install" installs, by way of a staging folder: the build stays outside, so
        that no filesystem of the real machine is mounted inside and comes to be watched."""
        with tempfile.TemporaryDirectory() as stage:
            stage_install(self.build, stage)
            # by their names: with "." the stage's own mode would become that of "/"
            packed = subprocess.run(["tar", "-C", stage, "-c", *os.listdir(stage)], stdout=subprocess.PIPE,
                                    check=True).stdout
        # keep links: /lib is one on a merged /usr
        self.sh("tar -C / -x --no-same-owner --keep-directory-symlink -p", data=packed)
        self.sh("journalctl --update-catalog; systemctl daemon-reload")

    def power_off(self):
        if self.keeper:
            self.keeper.stdin.close()
            self.keeper.wait(timeout=60)
            self.keeper = None

    # commands

    def _inside(self, command):
        """What "boot-systemd exec" does, in less: some 20,000 commands are run, and starting programs
        is what the tests' time goes into.  (Nor is this process forked, which storms made big.)"""
        if isinstance(command, str):
            command = ["bash", "-c", command]
        return ["sh", "-c", 'echo 0 >"$0" && exec nsenter -t "$@"',
                f"{self.cgroup}/system.slice/{SHELL_UNIT}/cgroup.procs", self.init, "-m", "-u", "-i", "-n", "-p", "-C",
                *command]

    def sh(self, command, check=True, data=None, timeout=120):
        """Runs a shell command (text) or a program (list) inside."""
        if isinstance(data, str):
            data = os.fsencode(data)
        done = subprocess.run(self._inside(command), input=data, stdin=None if data is not None else subprocess.DEVNULL,
                              env=ENVIRONMENT, capture_output=True, timeout=timeout, check=False)
        result = Result(done)
        if check:
            assert result.status == 0, f"{command}\n{result}"
        return result

    def spawn(self, command, **options):
        """Starts a command inside and returns its Popen; killed with the machine at the latest."""
        options.setdefault("stdin", subprocess.DEVNULL)
        options.setdefault("stdout", subprocess.PIPE)
        return subprocess.Popen(self._inside(command), env=ENVIRONMENT, **options)

    def end_ad_hoc(self, process, signal="TERM"):
        """Ends a "fawatchd --log=stdout" that spawn() started; its exit status."""
        # the brackets keep the pattern from matching this very command
        self.sh(f"pkill -{signal} -f -- '--log=stdou[t]' || true")
        process.stdout.close()
        return process.wait(timeout=20)

    def python(self, code, *arguments, **options):
        """Runs Python code inside."""
        return self.sh(["python3", "-B", "-c", code, *map(str, arguments)], **options)

    def unit(self, command, unit, *properties, check=True):
        """Runs a shell command as a transient service of its own, and waits."""
        return self.sh(["systemd-run", "--quiet", "--wait", "--pipe", "--collect", "--service-type=exec",
                        f"--unit={unit}", *(f"--property={p}" for p in properties), "--",
                        "bash", "-c", command.replace("$", "$$")], check=check)

    # files

    def write(self, path, text, mode=None):
        if isinstance(text, str):
            text = os.fsencode(text)
        self.sh(["bash", "-c", '[ -d "${1%/*}" ] || mkdir -p "${1%/*}"; cat > "$1"; [ -z "$2" ] || chmod "$2" "$1"',
                 "write", path, f"{mode:o}" if mode is not None else ""], data=text)

    def read(self, path):
        return self.sh(["cat", path]).out

    def exists(self, path):
        return self.sh(["test", "-e", path], check=False).status == 0

    # filesystems

    def mount(self, fstype, where, options=""):
        """A new, empty filesystem; all below /t are taken down after each test."""
        self.sh(["mkdir", "-p", where])
        extra = ["-o", options] if options else []
        if fstype == "tmpfs":
            self.sh(["mount", "-t", "tmpfs", *extra, "tmpfs", where])
            return
        size, mkfs = {"ext4": ("64M", "mkfs.ext4 -q -F"), "xfs": ("320M", "mkfs.xfs -q -f"),
                      "btrfs": ("128M", "mkfs.btrfs -q -f")}[fstype]
        image = f"/run/images/{next(self._numbers)}"
        self.sh(f"mkdir -p /run/images && truncate -s {size} {image} && {mkfs} {image}")
        loop = ",".join(["loop", *([options] if options else [])])
        self.sh(["mount", "-t", fstype, "-o", loop, image, where])
        # the image lives as long as its loop device, which ends with the mount
        self.sh(["rm", image])

    def unmount_all(self, below):
        for _ in range(3):  # what was mounted over is seen when the upper one is gone
            with open(f"/proc/{self.init}/mountinfo", encoding="utf-8", errors="surrogateescape") as f:
                points = [line.split()[4] for line in f]
            mine = [p for p in points if p == below or p.startswith(below + "/")]
            if not mine:
                break
            decoded = [re.sub(rb"\\([0-7]{3})", lambda m: bytes([int(m[1], 8)]), os.fsencode(p)) for p in mine]
            self.sh(["bash", "-c", 'for where; do umount -l "$where"; done', "umount",
                     *map(os.fsdecode, reversed(decoded))], check=False)

    # the journal

    def cursor(self):
        """A place in the journal: now."""
        mark = f"FAWATCH_TEST_PLACE={self.name}-{next(self._numbers)}"
        text = self.sh(f"logger --journald; journalctl --sync; journalctl -q -n 1 --show-cursor -o cat {mark}",
                       data=f"MESSAGE=place of a test\n{mark}\n").out
        return text.rsplit("-- cursor: ", 1)[1].strip(), mark

    def journal(self, since=None, *matches, sync=True, fields=None):
        """The records after a place that fit all matches ("FIELD=value"); with
        fields only these of each: a storm's records are many."""
        if sync:
            self.sh(["journalctl", "--sync"])
        after = []
        if since:
            after = [f"--after-cursor={since[0]}"]
            # journalctl passes over one more match than it should when the cursor's record is none
            matches = [*matches, "+", since[1]] if matches else []
        if fields:
            after.append("--output-fields=" + ",".join(fields))
        text = self.sh(["journalctl", "-q", "--no-pager", "--all", "-o", "json", *after, *matches], timeout=300).out
        return [Record(json.loads(line)) for line in text.splitlines()]


class Fawatchd:
    """The service, with the rules of one test."""

    def __init__(self, machine):
        self.machine = machine
        self.begin = machine.cursor()
        self._barriers = itertools.count(1)
        self.restarts_expected = False

    # rules

    def write_rule(self, name, text, where=ETC_RULES):
        self.machine.write(f"{where}/{name}.conf", text, mode=0o644)

    def remove_rule(self, name, where=ETC_RULES):
        self.machine.sh(["rm", "-f", f"{where}/{name}.conf"])

    def write_settings(self, text):
        self.machine.write("/etc/fawatchd/fawatchd.conf", text, mode=0o644)

    # life

    def start(self, rules=None, settings=None, name="test"):
        """Starts the service with these rules and a clean state; returns when it is ready."""
        if rules is not None:
            self.write_rule(name, rules)
        if settings is not None:
            self.write_settings(settings)
        result = self.machine.sh(["systemctl", "start", "fawatchd"], check=False)
        assert result.status == 0, self.why(result)
        self.begin = self.machine.cursor()
        return self

    def why(self, result):
        log = self.machine.sh("systemctl status -l --no-pager fawatchd; journalctl --sync; "
                              "journalctl -q --no-pager -u fawatchd -n 30 -o cat", check=False)
        return f"{result}\n{log.out}"

    def stop(self):
        self.machine.sh(["systemctl", "stop", "fawatchd"])

    def restart(self):
        self.machine.sh(["systemctl", "restart", "fawatchd"])

    def reload(self, expect_ok=True):
        result = self.machine.sh(["fawatchctl", "reload"], check=False)
        assert (result.status == 0) == expect_ok, self.why(result)
        return result

    def rules(self, text, name="test"):
        """These rules instead of the test's last ones, taken into force."""
        self.write_rule(name, text)
        return self.reload()

    def ctl(self, *arguments, check=True, data=None):
        return self.machine.sh(["fawatchctl", *arguments], check=check, data=data)

    def ctl_json(self, *arguments):
        return json.loads(self.ctl(*arguments, "--json").out)

    def ctl_status(self, *arguments):
        """The answer as JSON, whether it is yes or no."""
        result = self.ctl(*arguments, "--json", check=False)
        assert result.status in (0, 1), result
        return json.loads(result.out)

    def main_pid(self):
        return int(self.machine.sh("systemctl show -P MainPID fawatchd").out)

    def property(self, name):
        return self.machine.sh(["systemctl", "show", "-P", name, "fawatchd"]).out.strip()

    def counters(self):
        """The world-readable status file, as numbers."""
        text = self.machine.read("/run/fawatchd/status")
        return {name: int(value) for name, value in (line.split(": ") for line in text.splitlines())}

    # records

    def settle(self):
        """Returns when everything that happened before is in the journal: the
        kernel's queue and ours keep the order, so the record of a file made now is
        behind all others (of the main group)."""
        path = f"/run/barrier/{os.getpid()}-{id(self)}-{next(self._barriers)}"
        self.machine.sh(f": > {path}")
        wait_until(lambda: self.machine.journal(self.begin, f"FAWATCH_PATH={path}"), f"the record of {path}", 60)

    def records(self, *matches, settle=True, kinds=None, barrier=False):
        """The records of this test's time, of events unless kinds says otherwise."""
        if settle:
            self.settle()
        found = self.machine.journal(self.begin, "SYSLOG_IDENTIFIER=fawatchd", *matches, sync=not settle)
        found = [r for r in found if "FAWATCH_SEQ" in r]
        if not barrier:
            found = [r for r in found if "barrier" not in r.all("rule")]
        return found if kinds == "all" else [r for r in found if "FAWATCH_EVENT" in r]

    def mark(self):
        """Forget what was recorded until now."""
        self.settle()
        self.begin = self.machine.cursor()

    def of_kind(self, message_id, wait=True):
        """Records that are no events, by the MESSAGE_ID of their kind."""
        def find():
            return self.machine.journal(self.begin, f"MESSAGE_ID={message_id}")
        return wait_until(find, f"a record of kind {message_id}") if wait else find()


def message_ids():
    """The ids of all kinds of records, by name, from the one place that defines them."""
    import re
    with open(os.path.join(SOURCE, "lib/message_ids.h"), encoding="utf-8") as header:
        return dict(re.findall(r'X\(\w+, (\w+), "([0-9a-f]{32})"\)', header.read()))
