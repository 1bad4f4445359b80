# SPDX-License-Identifier: LGPL-2.1-or-later
"""The rule files that administrators want: each does what its first line says.

tests/rules-wanted/*.conf, installed as they are.  Paths that a Debian machine
does not have are made; what a rule expects of "who" is acted out.
"""

import os

import pytest

from harness import TESTS, stdout_records, wait_until

WANTED = os.path.join(TESTS, "rules-wanted")


@pytest.fixture
def wanted(fawatchd, machine):
    """Starts the service with the named files and tells what they recorded of an act."""
    def start(*names):
        for name in names:
            with open(os.path.join(WANTED, name), "rb") as f:
                fawatchd.write_rule(name.removesuffix(".conf"), f.read())
        fawatchd.start()

        def act(command, run=machine.sh):
            fawatchd.mark()
            run(command)
            fawatchd.settle()
            machine.sh("fawatchctl reload")  # closes the windows that are open
            return fawatchd.records()
        return act
    return start


def of(records, path):
    """The rules that recorded a path, and the events."""
    found = [r for r in records if path in (r.get("path"), r.get("old_path"))]
    return set().union(*(r.all("rule") for r in found)), set().union(*(r.events for r in found))


def rules_of(records):
    return {rule for r in records for rule in r.all("rule")}


def as_unit(machine, unit):
    return lambda command: machine.unit(command, unit)


def test_all_load(machine, fawatchd):
    names = sorted(os.listdir(WANTED))
    assert len(names) == 16
    for name in names:
        with open(os.path.join(WANTED, name), "rb") as f:
            machine.write(f"/run/wanted/{name}", f.read(), mode=0o644)
        assert machine.sh(["fawatchd", "--print-rules", f"--rules=/run/wanted/{name}"]).out


def test_00_minimal(wanted, machine):
    """Everything defaulted but the path: changes in /etc, at any depth, who and what."""
    act = wanted("00-minimal.conf")
    records = act("echo x > /etc/wanted; mkdir -p /etc/wanted.d/a; cat /etc/hostname; mv /etc/wanted /etc/wanted.d/a/b; "
                  "rm -r /etc/wanted.d")
    assert of(records, "/etc/wanted") == ({"etc"}, {"create", "modify", "close_write", "rename"})
    assert of(records, "/etc/wanted.d/a/b")[1] == {"rename", "delete"}
    assert of(records, "/etc/hostname") == (set(), set())
    assert {r["PRIORITY"] for r in records} == {"5"}


def test_01_web_root(wanted, machine):
    """Defacement and web shells; deploy may change the site, nobody may put code among the uploads."""
    machine.sh("id deploy || useradd -M deploy; mkdir -p /srv/www/shop/uploads /srv/www/shop/cache /srv/www/v1 "
               "/srv/www/v2; ln -sfn v1 /srv/www/current; chmod -R 777 /srv/www")
    act = wanted("01-web-root.conf")
    records = act("echo x > /srv/www/index.php; echo x > /srv/www/index.txt; echo x > /srv/www/shop/cache/y.php; "
                  "echo x > /srv/www/shop/uploads/cat.jpg; echo x > /srv/www/shop/uploads/shell.php5; "
                  "ln -sfn v2 /srv/www/current")
    assert of(records, "/srv/www/index.php")[0] == {"web"}
    assert of(records, "/srv/www/index.txt")[0] == set()
    assert of(records, "/srv/www/shop/cache/y.php")[0] == set()
    assert of(records, "/srv/www/shop/uploads/cat.jpg")[0] == set()
    assert of(records, "/srv/www/shop/uploads/shell.php5")[0] == {"webshell"}
    assert of(records, "/srv/www/current")[0] == {"web"}
    assert {r["PRIORITY"] for r in records if "webshell" in r.all("rule")} == {"3"}
    records = act("su -s /bin/sh deploy -c 'echo y >> /srv/www/index.php; echo x > /srv/www/shop/uploads/z.php; "
                  "sleep 0.5'")
    assert of(records, "/srv/www/index.php")[0] == set(), "deploy may"
    assert of(records, "/srv/www/shop/uploads/z.php")[0] == {"webshell"}, "nobody may"


def test_02_etc_noise(wanted, machine):
    """/etc with its known noise taken out."""
    machine.sh("mkdir -p /etc/cups /etc/lvm/archive /usr/local/etc")
    act = wanted("02-etc-noise.conf")
    records = act("touch /etc/a.swp /etc/b~ /etc/.#c /etc/d.dpkg-new /etc/cups/subscriptions.conf.N "
                  "/etc/lvm/archive/vg0; rm /etc/a.swp; touch /etc/cups/other /usr/local/etc/x /etc/resolv.conf.x; "
                  "touch /etc/.resolv.conf.tmp")
    assert {r["path"] for r in records} == {"/etc/cups/other", "/usr/local/etc/x", "/etc/resolv.conf.x",
                                            "/etc/.resolv.conf.tmp"}
    # a program of a filesystem that tells of its start: an overlay does not
    machine.mount("tmpfs", "/t/programs")
    machine.sh("cp /bin/bash /t/programs/nm; touch /usr/sbin/NetworkManager; "
               "mount --bind /t/programs/nm /usr/sbin/NetworkManager")
    machine.sh("fawatchctl reload")
    records = act("/usr/sbin/NetworkManager -c 'echo x > /etc/.resolv.conf.nm; echo x > /etc/other; sleep 0.5; true'")
    assert {r["path"] for r in records} == {"/etc/other"}


def test_03_sshd_sudo(wanted, machine):
    """Ways in: no global ignore silences these."""
    machine.sh("mkdir -p /etc/ssh /etc/pam.d /home/u/.ssh /root/.ssh /etc/sudoers.d")
    act = wanted("03-sshd-sudo.conf")
    machine.write("/etc/fawatchd/rules.d/silence.conf", 'ignore: { all: { path = "/"; }; };', mode=0o644)
    machine.sh("fawatchctl reload")
    records = act("echo k >> /home/u/.ssh/authorized_keys; echo k >> /root/.ssh/authorized_keys; "
                  "echo x > /etc/sudoers.d/x; echo x > /etc/nsswitch.conf; echo x > /home/u/other")
    assert of(records, "/home/u/.ssh/authorized_keys")[0] == {"keys"}
    assert of(records, "/root/.ssh/authorized_keys")[0] == {"keys"}
    assert of(records, "/etc/sudoers.d/x")[0] == {"ssh-server"}
    assert of(records, "/etc/nsswitch.conf")[0] == {"ssh-server"}
    assert of(records, "/home/u/other")[0] == set()
    assert {r["PRIORITY"] for r in records} == {"3"}


def test_04_pci_critical(wanted, machine):
    """Critical files by clause; cardholder files: every opening by a person."""
    machine.sh("mkdir -p /srv/cards; echo 4111 > /srv/cards/pan")
    act = wanted("04-pci-critical.conf")
    records = act("echo '# x' >> /etc/passwd; touch /usr/local/bin/new; cat /srv/cards/pan")
    accounts = [r for r in records if "accounts" in r.all("rule")]
    assert {r["path"] for r in accounts} == {"/etc/passwd"}
    assert set(accounts[0].all("tag")) == {"pci-dss:11.5.2", "cis:4.1.3"}
    assert of(records, "/usr/local/bin/new")[0] == {"binaries"}
    assert of(records, "/srv/cards/pan")[0] <= {"cardholder"}
    daemons = [r for r in records if "cardholder" in r.all("rule") and r["attribution"] != "exited"]
    assert daemons == [], "no login: not a person"
    records = act("echo 1000 > /proc/self/loginuid; exec tail -n 1 -f /srv/cards/pan --pid=$$ & sleep 0.5; kill $!")
    people = [r for r in records if "cardholder" in r.all("rule")]
    assert people and people[-1]["loginuid"] == "1000"
    assert people[-1].all("tag") == ["pci-dss:10.2.1"]


def test_05_container_host(wanted, machine):
    """What containers change on the host, and credentials inside their layers."""
    layer = "/var/lib/docker/overlay2/0123abcd/diff"
    machine.sh(f"mkdir -p {layer}/etc {layer}/root/.ssh {layer}/usr /boot")
    act = wanted("05-container-host.conf")
    container = "docker-" + "0123456789abcdef" * 4
    records = act(": > /etc/from-container; sleep 0.5", as_unit_scope(machine, container))
    found = [r for r in records if r.get("path") == "/etc/from-container"]
    assert found and found[0].all("rule") == ["host-from-container"] and found[0]["container"]
    assert found[0]["PRIORITY"] == "1"
    records = act(f"echo x >> {layer}/etc/passwd; echo k > {layer}/root/.ssh/authorized_keys; touch {layer}/usr/x; "
                  "sleep 0.1")
    by_known = [r for r in records if r["attribution"] not in ("exited", "unknown")]
    assert of(records, f"{layer}/etc/passwd")[0] >= {"in-containers"}
    assert of(records, f"{layer}/root/.ssh/authorized_keys")[0] >= {"in-containers"}
    assert of(by_known, f"{layer}/usr/x")[0] == set()


def as_unit_scope(machine, name):
    """Runs in a scope of this name, as container runtimes do."""
    return lambda command: machine.sh(["systemd-run", "--quiet", "--scope", f"--unit={name}", "bash", "-c", command])


def test_06_database_host(wanted, machine):
    """The configuration matters, the busy data directory costs nothing."""
    data = "/var/lib/postgresql/15/main"
    machine.sh(f"mkdir -p {data}/base /srv/backup/pg /var/spool/x; touch {data}/pg_hba.conf /srv/backup/pg/dump; "
               f"touch {data}/base/1")
    act = wanted("06-database-host.conf")
    records = act(f"echo x >> {data}/pg_hba.conf; echo x >> {data}/base/1; touch {data}/base/2; touch /var/spool/x/y; "
                  "touch /var/other; cat /srv/backup/pg/dump")
    assert of(records, f"{data}/pg_hba.conf")[0] == {"pg-conf"}
    assert of(records, f"{data}/base/1")[0] == set() and of(records, f"{data}/base/2")[0] == set()
    assert of(records, "/var/spool/x/y")[0] == set()
    assert of(records, "/var/other") == ({"var"}, {"create", "attrib"}) or of(records, "/var/other")[0] == {"var"}
    assert of(records, "/srv/backup/pg/dump") == ({"dumps"}, {"open"})
    records = act("tail -f /srv/backup/pg/dump & sleep 0.5; kill $!", as_unit(machine, "pg-backup.service"))
    assert of(records, "/srv/backup/pg/dump")[0] == set()


def test_07_log_files(wanted, machine):
    """Logs are not removed, renamed or re-permitted but by logrotate."""
    machine.sh("mkdir -p /var/log/app; echo x > /var/log/app/a; echo x > /var/log/app/b")
    # the unit's name is what counts; Debian's own of that name, where it is installed, is in the way
    machine.sh("rm -f /usr/lib/systemd/system/logrotate.*; systemctl daemon-reload")
    act = wanted("07-log-files.conf")
    records = act("echo line >> /var/log/app/a; chmod 600 /var/log/app/a; mv /var/log/app/a /var/log/app/c; "
                  "rm /var/log/app/b")
    assert of(records, "/var/log/app/a") == ({"logs"}, {"attrib", "rename"})
    assert "delete" in of(records, "/var/log/app/b")[1]
    assert not any("journal" in r["path"] for r in records)
    machine.sh("echo x > /var/log/app/d")
    records = act("python3 -B -c \"import os, time; os.rename('/var/log/app/d', '/var/log/app/d.1'); time.sleep(2)\"",
                  as_unit(machine, "logrotate.service"))
    assert of(records, "/var/log/app/d")[0] == set()


def test_08_ci_builder(wanted, machine):
    """Toolchains must not change, workspaces are noise."""
    machine.sh("mkdir -p /opt/toolchains/gcc /var/lib/ci/job")
    act = wanted("08-ci-builder.conf")
    records = act("touch /opt/toolchains/gcc/cc1 /usr/bin/new-tool /var/lib/ci/job/x.o /tmp/y /var/tmp/z; "
                  "rm /usr/bin/new-tool /tmp/y")
    assert {r["path"] for r in records} == {"/opt/toolchains/gcc/cc1", "/usr/bin/new-tool"}
    assert {r["PRIORITY"] for r in records} == {"3"}


def test_09_home_directories(wanted, machine):
    """Dot files that run at login, changed by anybody but their owner."""
    machine.sh("mkdir -p /home/games/.config/autostart /home/games/.ssh; chown -R games:games /home/games")
    act = wanted("09-home-directories.conf")
    own = "import os, time; os.setgid(60); os.setuid(5); open('/home/games/.bashrc', 'w').close(); " \
          "open('/home/games/.ssh/config', 'w').close(); time.sleep(2)"
    records = act(f"python3 -B -c \"{own}\"")
    assert records == [], "the owner may"
    records = act("echo evil >> /home/games/.bashrc; echo x > /home/games/.config/autostart/x.desktop; "
                  "echo x > /home/games/harmless")
    assert of(records, "/home/games/.bashrc")[0] == {"dotfiles"}
    assert of(records, "/home/games/.config/autostart/x.desktop")[0] == {"dotfiles"}
    assert of(records, "/home/games/harmless")[0] == set()


def test_10_boot_modules(wanted, machine, fawatchd):
    """Boot files, also on the EFI partition when it is mounted, and kernel modules."""
    machine.sh("mkdir -p /boot/efi /usr/lib/modules/6.1/extra /etc/modprobe.d /etc/default; touch /etc/default/grub")
    act = wanted("10-boot-modules.conf")
    assert "/boot/efi" in fawatchd.ctl("coverage", check=False).out
    records = act("touch /boot/vmlinuz-new /usr/lib/modules/6.1/extra/evil.ko; echo x >> /etc/default/grub")
    assert of(records, "/boot/vmlinuz-new")[0] == {"boot"}
    assert of(records, "/usr/lib/modules/6.1/extra/evil.ko")[0] == {"boot"}
    assert of(records, "/etc/default/grub")[0] == {"boot"}
    machine.sh("mount -t tmpfs efi /boot/efi")
    try:
        wait_until(lambda: "efi" in rules_of(act("touch /boot/efi/$RANDOM")), "the EFI partition")
    finally:
        machine.sh("umount /boot/efi")


def test_11_persistence(wanted, machine):
    """Places from which a program comes back."""
    machine.sh("mkdir -p /etc/cron.d /var/spool/cron /etc/profile.d /etc/udev/rules.d")
    act = wanted("11-persistence.conf")
    records = act("touch /etc/cron.d/x /etc/systemd/system/x.service /etc/profile.d/x.sh /etc/udev/rules.d/x.rules "
                  "/var/spool/cron/root; echo lib > /etc/ld.so.preload; rm /etc/ld.so.preload; touch /etc/other")
    assert {r["path"] for r in records} == {
        "/etc/cron.d/x", "/etc/systemd/system/x.service", "/etc/profile.d/x.sh", "/etc/udev/rules.d/x.rules",
        "/var/spool/cron/root", "/etc/ld.so.preload"}
    assert {r["PRIORITY"] for r in records} == {"4"}


def test_12_package_runs(wanted, machine):
    """Package runs are demoted and thinned, not hidden."""
    act = wanted("12-package-runs.conf")
    records = act("touch /usr/by-hand; sleep 0.2")
    known = [r for r in records if r["attribution"] in ("verified", "process")]
    assert {rule for r in known for rule in r.all("rule")} <= {"usr"}
    assert "usr" in of(records, "/usr/by-hand")[0]
    # a child of dpkg that lives long enough to be read
    machine.write("/run/pre-invoke", "#!/bin/bash\ntouch /usr/by-package\n"
                  "python3 -B -c \"open('/usr/by-package2', 'w').close(); import time; time.sleep(2)\"\n", mode=0o755)
    records = act("dpkg --pre-invoke=/run/pre-invoke --configure -a")
    assert of(records, "/usr/by-package2")[0] == {"usr-by-pkg"}
    assert {r["PRIORITY"] for r in records if r["path"] == "/usr/by-package2"} == {"6"}


def test_13_shared_nfs(wanted, machine, fawatchd):
    """A share that comes by automount: a gap until it is there, then what this host does on it."""
    machine.sh("mkdir -p /net/projects")
    act = wanted("13-shared-nfs.conf")
    assert "/net/projects" in fawatchd.ctl("coverage", check=False).out
    machine.sh("mount -t tmpfs share /net/projects")
    try:
        wait_until(lambda: "projects" in rules_of(act("echo x > /net/projects/f")), "the share")
        records = act("echo more >> /net/projects/f")
        assert of(records, "/net/projects/f") == ({"projects"}, {"close_write"})
    finally:
        machine.sh("umount /net/projects")


def test_14_canary(wanted, machine):
    """Decoys: every act at once, nobody's ignore silences it."""
    machine.sh("mkdir -p /srv/share/HR; touch /srv/share/HR/salaries-2026.ods /root/passwords.xlsx")
    act = wanted("14-canary.conf")
    machine.write("/etc/fawatchd/rules.d/silence.conf", 'ignore: { all: { path = "/"; }; };', mode=0o644)
    machine.sh("fawatchctl reload")
    records = act("cat /root/passwords.xlsx; cat /root/passwords.xlsx; echo x >> /srv/share/HR/salaries-2026.ods")
    assert len([r for r in records if r["path"] == "/root/passwords.xlsx" and "open" in r.events]) == 2
    assert of(records, "/srv/share/HR/salaries-2026.ods")[1] >= {"open", "modify", "close_write"}
    assert {r["PRIORITY"] for r in records} == {"1"}


def test_15_laptop_disk(machine, fawatchd, w):
    """Who keeps waking the disk? Beside the service, on the terminal."""
    with open(os.path.join(WANTED, "15-laptop-disk.conf"), "rb") as f:
        machine.write("/run/15.conf", f.read(), mode=0o644)
    process = machine.spawn("exec fawatchd --log=stdout --rules=/run/15.conf")
    machine.sh("for i in $(seq 40); do echo x >> /root/waker; sleep 0.05; done; sleep 0.5")
    record = next(r for r in stdout_records(process) if r["path"] == "/root/waker")
    machine.end_ad_hoc(process)
    assert record["rule"] == ["disk"] and record["comm"] == "bash"
