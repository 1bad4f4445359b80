# SPDX-License-Identifier: LGPL-2.1-or-later
"""Mounts come and go, other namespaces have their own: nothing is missed without a word.

Where a comment names another tool's bug report, that is where the case comes from.
"""

import json

import pytest

from harness import wait_until

RULE = 'watch: { r: { path = "/t"; events = "create"; coalesce = "0"; limit = "0"; }; };\n'
PATIENCE = 60
# how often it is refused is counted in test_umount.py
UMOUNT = 'umount_now() { until umount "$1" 2>/dev/null; do sleep 0.01; done; }; '


def rule(text):
    return f'watch: {{ r: {{ coalesce = "0"; {text} }}; }};\n'


def paths(records):
    return sorted(r.get("path") for r in records)


def coverage(fawatchd):
    return fawatchd.ctl_status("coverage")


def states(fawatchd):
    return {f["mountpoint"]: f["state"] for f in coverage(fawatchd)["filesystems"]}


def wait_covered(fawatchd, *where):
    wait_until(lambda: all(states(fawatchd).get(w) == "covered" for w in where), f"{where} covered", PATIENCE)


def wait_gone(fawatchd, where):
    wait_until(lambda: where not in states(fawatchd), f"{where} is no longer known", PATIENCE)


# What changes the mount table, and what is seen afterwards.  "before" is done before the start;
# after "change" the filesystem at "covered" is waited for.

CHANGES = {
    "mounted": dict(change="mkdir /t/m; mount -t tmpfs t /t/m", covered="/t/m", touch=["/t/m/f"]),
    "over a watched tree": dict(before="mkdir -p /t/w/tree/d", change="mount -t tmpfs t /t/w/tree",
                                covered="/t/w/tree", touch=["/t/w/tree/f", "/t/w/g"]),
    "unmounted": dict(before="mkdir /t/m; mount -t tmpfs t /t/m", change="umount /t/m", gone="/t/m",
                      touch=["/t/m/below", "/t/w/g"], root="/t/w"),
    "lazily unmounted": dict(before="mkdir /t/w/m; mount -t tmpfs t /t/w/m",
                             change="cd /t/w/m; umount -l /t/w/m; : > lost; cd /", gone="/t/w/m", touch=["/t/w/m/f"]),
    "remounted": dict(before="mkdir /t/m; mount -t tmpfs -o ro t /t/m", change="mount -o remount,rw /t/m",
                      covered="/t/m", touch=["/t/m/f"]),
    "moved": dict(before="mkdir /t/m /t/n; mount --make-rprivate /t/w; mount -t tmpfs t /t/w/../m",
                  change="mount --make-private /; mount --move /t/m /t/n; mount --make-shared /", covered="/t/n",
                  touch=["/t/n/f", "/t/w/g"]),
    "bind-mounted": dict(before="mkdir /t/w/d /t/b", change="mount --bind /t/w/d /t/b", covered="/t/w",
                         touch=["/t/b/f"], seen=["/t/w/d/f"]),
    "unmounted and mounted again": dict(before="mkdir /t/m; mount -t tmpfs t /t/m",
                                        change="umount /t/m; mount -t tmpfs t /t/m", covered="/t/m",
                                        touch=["/t/m/f"]),
    "two on one another": dict(change="mkdir /t/m; mount -t tmpfs t /t/m; mount -t tmpfs u /t/m", covered="/t/m",
                               touch=["/t/m/f"]),
}


@pytest.mark.parametrize("case", CHANGES.values(), ids=CHANGES.keys())
def test_the_mount_table_changes(fawatchd, machine, w, case):
    machine.sh(case.get("before", "true"))
    fawatchd.start(RULE)
    looks = fawatchd.ctl_json("status")["mounts"]["looks"]
    machine.sh(case["change"])
    wait_until(lambda: fawatchd.ctl_json("status")["mounts"]["looks"] > looks, "a look at the mounts", PATIENCE)
    if "covered" in case:
        wait_covered(fawatchd, case["covered"])
    if "gone" in case:
        wait_gone(fawatchd, case["gone"])
    fawatchd.mark()
    machine.sh("touch " + " ".join(case["touch"]))
    # what lies below a mount point on the machine's own root need not be watchable
    seen = [p for p in case.get("seen", case["touch"]) if p.startswith(case.get("root", "/"))]
    assert [p for p in paths(fawatchd.records()) if p.startswith(case.get("root", "/"))] == sorted(seen)


# fapolicyd 254: nothing to watch is mounted at the start, and what comes later is ignored
def test_nothing_is_mounted_at_the_start(fawatchd, machine):
    machine.sh("mkdir /t/m")
    fawatchd.start(rule('path = "/t/m"; scope = "filesystem"; events = "create";'))
    gap = [r for r in coverage(fawatchd)["rules"] if r["rule"] == "r"]
    assert [(g["state"], g["paths"]) for g in gap] == [("not covered", ["/t/m"])]
    machine.sh("mount -t tmpfs t /t/m")
    wait_covered(fawatchd, "/t/m")
    machine.sh("touch /t/m/f")
    # what the name leads to now is another directory
    assert {(r["path"], r["events"]) for r in fawatchd.records()} == {("/t/m", "replaced"), ("/t/m/f", "create")}


# From the return of mount(2) until a file is seen.  The quickest of five mounts counts, against five times
# what is seen on a quiet machine at most (100 ms), since this one may be busy.
FRESH = """
import ctypes, os, time
libc = ctypes.CDLL(None, use_errno=True)
os.mkdir('/t/m')
for i in range(5):
    assert libc.mount(b't', b'/t/m', b'tmpfs', 0, None) == 0
    begin, usec = time.monotonic(), 0
    while usec < 600_000:
        usec = int((time.monotonic() - begin) * 1e6)
        os.close(os.open(f'/t/m/{i}-{usec}', os.O_CREAT))
        time.sleep(0.002)
    while libc.umount2(b'/t/m', 0) != 0:
        time.sleep(0.01)
"""


def test_a_fresh_mount_is_covered_at_once(fawatchd, machine, w):
    fawatchd.start(RULE)
    machine.python(FRESH)
    # the last one may have been read after the umount: then it has a name only
    names = [(r.get("path") or r["name"]).rsplit("/", 1)[-1] for r in fawatchd.records()]
    usec = [int(name.split("-")[1]) for name in names if "-" in name]
    assert usec and min(usec) < 500_000


# The device is free within 100 ms after umount(2), though the daemon had just looked at it.  The quickest of ten
# counts, against five times that.
FREE = """
import errno, os, subprocess, sys, time
image, best = sys.argv[1], 1e9
device = subprocess.check_output(['losetup', '-f', '--show', image], text=True).strip()
for i in range(10):
    subprocess.check_call(['mount', device, '/t/d'])
    for k in range(50):
        os.makedirs(f'/t/d/{i}/{k}')
    while subprocess.call(['umount', '/t/d'], stderr=subprocess.DEVNULL) != 0:
        time.sleep(0.01)
    begin = time.monotonic()
    while True:
        try:
            os.close(os.open(device, os.O_RDONLY | os.O_EXCL))
            break
        except OSError as e:
            assert e.errno == errno.EBUSY and time.monotonic() < begin + 30
            time.sleep(0.001)
    best = min(best, time.monotonic() - begin)
subprocess.check_call(['losetup', '-d', device])
print(best)
"""


def test_a_device_is_free_after_umount(fawatchd, machine):
    machine.sh("mkdir -p /t/d /run/images; truncate -s 32M /run/images/free; mkfs.ext4 -q -F /run/images/free")
    fawatchd.start(rule('path = "/t"; events = "create"; type = "directory"; limit = "0";'))
    best = float(machine.python(FREE, "/run/images/free").out)
    machine.sh("rm /run/images/free")
    assert best < 0.5


def descriptors(machine, fawatchd):
    """What the daemon holds open, but for the sockets of whoever asks."""
    links = machine.sh(f"cd /proc/{fawatchd.main_pid()}/fd && for f in *; do readlink $f; done; true").out.split("\n")
    return sorted(name for name in links if name and not name.startswith("socket:"))


# fapolicyd 237: a storm of mounts, and a FUSE mount that root may not enter, stall the daemon
def test_storm_of_mounts(fawatchd, machine, w, kinds):
    machine.sh("""
        mkdir -p /t/m /t/fuse /t/from && chmod 777 /t/fuse /t/from
        [ -e /dev/fuse ] || mknod -m 666 /dev/fuse c 10 229
        setpriv --reuid 65534 --clear-groups bindfs --no-allow-other /t/from /t/fuse || true""")
    fawatchd.start(RULE)
    machine.sh(UMOUNT + "for i in $(seq 500); do mount -t tmpfs t /t/m && umount_now /t/m || exit 1; done; "
               "touch /t/w/after", timeout=300)
    assert "/t/w/after" in paths(fawatchd.records())
    wait_gone(fawatchd, "/t/m")
    assert fawatchd.property("NRestarts") == "0" and fawatchd.property("ActiveState") == "active"
    told = fawatchd.machine.journal(fawatchd.begin, f"MESSAGE_ID={kinds['coverage']}")
    took = int(told[-1].get("__REALTIME_TIMESTAMP")) - int(told[0].get("__REALTIME_TIMESTAMP")) if told else 0
    assert len(told) <= 22 * (took // 10_000_000 + 2), "so many in each ten seconds, and one that counts the rest"
    mounts = fawatchd.ctl_json("status")["mounts"]
    if mounts["attached"] is not None:
        assert mounts["attached"] >= 500 and mounts["detached"] >= 500, "the kernel counts what nobody saw"
    machine.sh("umount /t/fuse 2>/dev/null || true")


def test_many_mounts_at_a_time(fawatchd, machine, kinds):
    fawatchd.start(RULE)
    before = descriptors(machine, fawatchd)
    machine.sh("for i in $(seq 200); do mkdir /t/m$i && mount -t tmpfs t /t/m$i || exit 1; done", timeout=300)
    wait_covered(fawatchd, *(f"/t/m{i}" for i in range(1, 201)))
    machine.sh("for i in $(seq 200); do : > /t/m$i/f; done")
    seen = {p for p in paths(fawatchd.records()) if p.endswith("/f")}
    assert seen == {f"/t/m{i}/f" for i in range(1, 201)}
    machine.sh(UMOUNT + "for i in $(seq 200); do umount_now /t/m$i; done", timeout=300)
    wait_until(lambda: not any(m.startswith("/t/m") for m in states(fawatchd)), "all are gone", PATIENCE)
    # one a mount would be 200; what is opened once and kept (of /proc, a timer) is no leak
    wait_until(lambda: len(descriptors(machine, fawatchd)) <= len(before) + 50, "few descriptors, as before", PATIENCE)


def test_autofs(fawatchd, machine):
    """An automount point is not triggered by the daemon; what it brings is watched."""
    if " autofs" not in machine.read("/proc/filesystems").replace("\t", " "):
        pytest.skip("this kernel has no autofs")
    machine.write("/run/systemd/system/t-auto.mount", "[Mount]\nWhat=t\nWhere=/t/auto\nType=tmpfs\n")
    machine.write("/run/systemd/system/t-auto.automount", "[Automount]\nWhere=/t/auto\n")
    started = machine.sh("systemctl daemon-reload && mkdir /t/auto && systemctl start t-auto.automount", check=False)
    if started.status != 0:
        pytest.skip("no automount can be made here")
    try:
        fawatchd.start(rule('path = "/t/auto"; events = "create";'))
        assert machine.sh("systemctl is-active t-auto.mount", check=False).out.strip() == "inactive"
        machine.sh("ls /t/auto")
        wait_covered(fawatchd, "/t/auto")
        machine.sh("touch /t/auto/f")
        assert paths(fawatchd.records()) == ["/t/auto/f"]
    finally:
        machine.sh("systemctl stop t-auto.automount t-auto.mount; rm /run/systemd/system/t-auto.*; "
                   "systemctl daemon-reload")


# --- other mount namespaces ---

# clamav PR 1819: blind to another mount namespace
def test_a_private_namespace_writes(fawatchd, machine, anyfs):
    fawatchd.start(rule('path = "/t/w"; events = "create";'))
    machine.sh("unshare -m sh -c ': > /t/w/f'")
    assert paths(fawatchd.records()) == ["/t/w/f"]


def test_a_sandboxed_unit_writes(fawatchd, machine, w):
    machine.sh("mkdir -p /t/w/d")
    fawatchd.start(rule('path = "/t/w"; events = "create";'))
    machine.unit(": > /elsewhere/f; sleep 0.2", "boxed", "ProtectSystem=strict", "PrivateTmp=yes",
                 "BindPaths=/t/w/d:/elsewhere", "ReadWritePaths=/elsewhere")
    assert [(r["path"], r["unit"]) for r in fawatchd.records()] == [("/t/w/d/f", "boxed.service")]


@pytest.mark.parametrize("fstype", ["tmpfs", "ext4"])
def test_a_place_that_process_1_has_not_mounted(fawatchd, machine, fstype):
    """The path inside the filesystem, and what is mounted there; never "/" or nothing."""
    machine.mount(fstype, "/t/whole")
    machine.sh("mkdir -p /t/whole/part /t/whole/rest /t/part")
    # a namespace that keeps the whole, when process 1 has a part of it only
    machine.sh("systemd-run -q --unit=holder -p PrivateMounts=yes sleep infinity; "
               "while ! mount --bind /t/whole/part /t/part; do sleep 0.1; done")
    holder = int(machine.sh("systemctl show -P MainPID holder").out)
    try:
        machine.sh(f"nsenter -t {holder} -m mount --make-rprivate /; umount /t/whole")
        fawatchd.start(rule('path = "/t/part"; scope = "filesystem"; events = "create";'))
        machine.sh(f"touch /t/part/f; nsenter -t {holder} -m sh -c ': > /t/whole/rest/g; mkdir /t/whole/rest/d; "
                   ": > /t/whole/rest/d/h; : > /t/whole/i'")
        records = {r["path"]: r for r in fawatchd.records()}
        assert sorted(records) == ["/i", "/rest/d", "/rest/d/h", "/rest/g", "/t/part/f"]
        assert {p for p, r in records.items() if r.get("path_state") == "inside"} == set(records) - {"/t/part/f"}
        assert "source" not in records["/t/part/f"] and "under" in records["/t/part/f"]
        assert records["/i"]["source"] and "under" not in records["/i"]
        part = [r for r in coverage(fawatchd)["rules"] if r["rule"] == "r"]
        assert part[0]["state"] == "partly covered" and "mount its root" in part[0]["reason"]
    finally:
        machine.sh("systemctl stop holder")


# clamav PR 1819, and every hardening guide: the daemon itself in a sandbox
SANDBOX = "[Service]\nProtectSystem=strict\nProtectHome=tmpfs\nPrivateTmp=yes\nProtectKernelTunables=yes\n"


def test_the_daemon_in_a_sandbox(fawatchd, machine, w):
    fawatchd.start(RULE)
    assert coverage(fawatchd)["namespace_test"] == "not needed"
    fawatchd.stop()
    machine.write("/etc/systemd/system/fawatchd.service.d/sandbox.conf", SANDBOX)
    machine.sh("systemctl daemon-reload")
    fawatchd.start(RULE)
    answer = coverage(fawatchd)
    assert answer["namespace_test"] == "passed"
    assert [g["weight"] for g in answer["gaps"] if g["kind"] == "namespace"] == ["note"]
    machine.sh("mkdir /t/m; mount -t tmpfs t /t/m")
    wait_covered(fawatchd, "/t/m")
    machine.sh("touch /t/w/f /t/m/f")
    assert {"/t/w/f", "/t/m/f"} <= set(paths(fawatchd.records()))


def test_the_daemon_in_a_sandbox_that_shuts_it_off(fawatchd, machine, w):
    """A runtime directory that nobody else sees: what others change there does not arrive, and that is said."""
    machine.write("/etc/systemd/system/fawatchd.service.d/sandbox.conf",
                  "[Service]\nRuntimeDirectory=\nTemporaryFileSystem=/run/fawatchd\n")
    machine.sh("systemctl daemon-reload")
    result = machine.sh("systemctl start fawatchd; journalctl --sync; "
                        "journalctl -q -o cat -u fawatchd FAWATCH_GAP=namespace", check=False)
    assert "was not seen at the start" in result.out


# --- how it is said ---

def test_coverage_of_each_path(fawatchd, machine, w):
    many = ", ".join(f'"/t/w/missing{i}"' for i in range(16))
    fawatchd.start(f'watch: {{ r: {{ path = [ "/t/w/d", {many} ]; events = "create"; }}; '
                   'p: { path = "/proc/sys"; events = "create"; }; };')
    result = fawatchd.ctl("coverage", check=False)
    assert result.status == 1, "a path that is not covered"
    line = [line for line in result.out.splitlines() if "missing" in line]
    assert len(line) == 1 and "and 14 more" in line[0] and "waiting" in line[0]
    assert "holds no files" in result.out
    rows = {r["rule"]: r for r in json.loads(fawatchd.ctl("coverage", "--json", check=False).out)["rules"]}
    assert len(rows["r"]["paths"]) == 17 and rows["r"]["state"] == "waiting"
    assert rows["p"]["state"] == "not covered"
    fawatchd.rules(f'watch: {{ r: {{ path = [ {many} ]; events = "create"; }}; }};')
    assert fawatchd.ctl("coverage", "--strict").status == 0, "what waits is not missing"
    fawatchd.rules('watch: { m: { path = "/t/w"; scope = "mount"; events = "content"; }; };')
    assert fawatchd.ctl("coverage").status == 0
    assert fawatchd.ctl("coverage", "--strict", check=False).status == 1, "a mount mark sees a part"
