#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Figures of the whole daemon.  Runs inside the system that bench/daemon.sh boots."""
import json
import os
import shutil
import subprocess
import sys
import threading
import time

RULES = "/etc/fawatchd/rules.d"
TREE = "/srv/bench"
scale = 0.1 if sys.argv[1:] == ["quick"] else 1


def write_rules(name, first, count, events, where=TREE):
    path = f"{RULES}/{name}.conf"
    with open(path, "w") as f:
        f.write("watch: {\n")
        for i in range(first, first + count):
            f.write(f'  r{i}: {{ path = "{where}/d{i % 100}/p{i}"; events = [ {events} ]; }};\n')
        f.write("};\n")
    os.chmod(path, 0o640)


def clear_rules():
    shutil.rmtree(RULES, ignore_errors=True)
    os.makedirs(RULES, mode=0o750)


class Daemon:
    """fawatchd with its records on a pipe; `lines` are the parsed records."""

    def __init__(self, keep):
        self.started = time.monotonic()
        notify = "/run/bench.notify"
        import socket
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        if os.path.exists(notify):
            os.unlink(notify)
        self.socket.bind(notify)
        self.process = subprocess.Popen(["fawatchd", "--log=stdout"], stdout=subprocess.PIPE,
                                        env={**os.environ, "NOTIFY_SOCKET": notify})
        self.keep = keep
        self.count = 0
        self.thread = threading.Thread(target=self.read, daemon=True)
        self.thread.start()
        while b"READY=1" not in self.socket.recv(4096):
            pass
        self.ready_seconds = time.monotonic() - self.started

    def read(self):
        for line in self.process.stdout:
            self.count += 1
            self.keep(line)

    def private_kib(self):
        with open(f"/proc/{self.process.pid}/status") as f:
            return next(int(line.split()[1]) for line in f if line.startswith("RssAnon:"))

    def counters(self):
        return json.loads(subprocess.check_output(["fawatchctl", "status", "--json"]))["counters"]

    def stop(self):
        self.process.terminate()
        self.process.wait()
        self.socket.close()


def nothing(line):
    pass


def start_figures():
    files = int(1_000_000 * scale)
    for d in range(100):
        os.makedirs(f"{TREE}/d{d}")
    for i in range(files):
        os.close(os.open(f"{TREE}/d{i % 100}/f{i}", os.O_CREAT | os.O_WRONLY))
    clear_rules()
    write_rules("10-thousand", 0, 1000, '"change"')
    best = 9e9
    for _ in range(3):
        daemon = Daemon(nothing)
        best = min(best, daemon.ready_seconds)
        daemon.stop()
    print(f"start to READY, 1,000 rules, {files:,} files: {best:.3f} s (best of 3)")


def memory_figures():
    """1,000 rules; events that no rule wants, read and judged one by one."""
    daemon = Daemon(nothing)
    before = daemon.private_kib()
    print(f"private memory with 1,000 rules: {before / 1024:.1f} MiB")
    wanted = int(10_000_000 * scale)
    stop = threading.Event()
    script = ("import os,sys\n"
              "d=sys.argv[1]; n=0\n"
              "while True:\n"
              "    n+=1; p=f'{d}/x{n%64}'\n"
              "    os.close(os.open(p,os.O_CREAT|os.O_WRONLY)); os.unlink(p)\n")
    writers = [subprocess.Popen([sys.executable, "-c", script, f"{TREE}/d{i}"]) for i in range(2)]
    t0 = time.monotonic()
    read = 0
    while read < wanted and time.monotonic() - t0 < 240:
        stop.wait(2)
        read = daemon.counters()["events_read"]
    seconds = time.monotonic() - t0
    for w in writers:
        w.kill()
        w.wait()
    after = daemon.private_kib()
    print(f"after {read:,} events ({read / seconds:,.0f}/s): {after / 1024:.1f} MiB, "
          f"{(after - before) / 1024:+.1f} MiB")
    daemon.stop()


def reload_figures():
    clear_rules()
    for f in range(10):
        write_rules(f"{f}0-many", f * 1000, 1000, '"create", "delete"')
    with open(f"{RULES}/99-all.conf", "w") as f:
        f.write(f'watch: {{ all: {{ path = "{TREE}"; events = "create"; }}; }};\n')
    os.chmod(f"{RULES}/99-all.conf", 0o640)
    late = []

    def keep(line):
        now = time.monotonic_ns()
        name = json.loads(line).get("path", "").rsplit("/", 1)[-1]
        if name.startswith("t-"):
            late.append((now - int(name[2:])) / 1e6)

    daemon = Daemon(keep)
    stop = threading.Event()

    def write():
        while not stop.is_set():
            os.close(os.open(f"{TREE}/t-{time.monotonic_ns()}", os.O_CREAT | os.O_WRONLY))
            time.sleep(0.001)

    writer = threading.Thread(target=write)
    writer.start()
    time.sleep(1)
    idle = max(late)
    late.clear()
    times = []
    for events in ('"create", "rename"', '"create", "delete"', '"create", "attrib"'):
        for f in range(10):
            write_rules(f"{f}0-many", f * 1000, 1000, events)
        t0 = time.monotonic()
        subprocess.run(["fawatchctl", "reload"], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        times.append(time.monotonic() - t0)
    stop.set()
    writer.join()
    time.sleep(0.3)
    print(f"reload of 10,000 rules in 10 files: {min(times):.3f} s (best of 3, worst {max(times):.3f} s)")
    print(f"latest record while reloading: {max(late):.1f} ms after its event; before: {idle:.1f} ms "
          f"({len(late)} events)")
    daemon.stop()


def main():
    for program in ("fawatchd", "fawatchctl"):
        shutil.copy(f"/build/{program}", f"/usr/bin/{program}")
    os.makedirs(TREE)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4G,nr_inodes=4000000", "bench", TREE], check=True)
    start_figures()
    memory_figures()
    reload_figures()


main()
