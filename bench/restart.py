# SPDX-License-Identifier: LGPL-2.1-or-later
"""The part of restart.sh that runs in the booted machine.

usage: restart.py BUILD [ROUNDS]
"""

import json
import os
import subprocess
import sys
import threading
import time

RULE = 'watch: { r: { path = "/t"; events = "create"; coalesce = "0"; limit = "0"; }; };\n'
LOAD = 4  # processes that make files besides, 1,000 a second each


def run(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def pid():
    return run("systemctl", "show", "-P", "MainPID", "fawatchd").strip()


def wait_active(old):
    while pid() in ("0", old) or run("systemctl", "show", "-P", "ActiveState", "fawatchd").strip() != "active":
        time.sleep(0.01)


def writer(who, times, stop):
    n = 0
    while not stop.is_set():
        name = f"/t/{who}.{n}"
        times[name] = time.time()
        os.close(os.open(name, os.O_CREAT | os.O_WRONLY))
        n += 1
        time.sleep(0.001)


def measure(what, trouble):
    """The longest time, in ms, from a file's creation to its record, while this happens."""
    times, stop = {}, threading.Event()
    cursor = run("journalctl", "-q", "-n1", "-o", "json", "--output-fields=MESSAGE")
    cursor = json.loads(cursor)["__CURSOR"]
    threads = [threading.Thread(target=writer, args=(f"{what}{i}", times, stop)) for i in range(LOAD)]
    for thread in threads:
        thread.start()
    time.sleep(0.5)
    trouble()
    time.sleep(0.5)
    stop.set()
    for thread in threads:
        thread.join()
    for _ in range(100):
        run("journalctl", "--sync")
        out = run("journalctl", "-q", f"--after-cursor={cursor}", "-o", "json", "--all",
                  "--output-fields=FAWATCH_PATH")
        late = {}
        for line in out.splitlines():
            record = json.loads(line)
            path = record.get("FAWATCH_PATH")
            if path in times:
                late[path] = int(record["__REALTIME_TIMESTAMP"]) / 1e6 - times[path]
        if len(late) == len(times):
            return max(late.values()) * 1000
        time.sleep(0.1)
    missing = sorted(set(times) - set(late))
    sys.exit(f"{what}: {len(missing)} of {len(times)} files have no record: {missing[:5]}")


def main():
    build = sys.argv[1]
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 5
    run("make", "-C", build, "-s", "install")
    os.makedirs("/t")
    run("mount", "-t", "tmpfs", "tmpfs", "/t")
    os.makedirs("/etc/fawatchd/rules.d", mode=0o750, exist_ok=True)
    with open("/etc/fawatchd/rules.d/bench.conf", "w", encoding="utf-8") as file:
        file.write(RULE)
    run("systemctl", "daemon-reload")
    run("systemctl", "start", "fawatchd")

    def kill():
        old = pid()
        run("systemctl", "kill", "-s", "KILL", "fawatchd")
        wait_active(old)

    quiet = max(measure(f"quiet{i}", lambda: time.sleep(0.3)) for i in range(rounds))
    restart = [measure(f"restart{i}", lambda: run("systemctl", "restart", "fawatchd")) for i in range(rounds)]
    killed = [measure(f"kill{i}", kill) for i in range(rounds)]
    print(f"longest from event to record: {quiet:.0f} ms without a restart")
    print(f"systemctl restart: {', '.join(f'{ms:.0f}' for ms in restart)} ms (bound 100)")
    print(f"kill -9:           {', '.join(f'{ms:.0f}' for ms in killed)} ms (bound 300)")
    sys.exit(max(restart) > 100 or max(killed) > 300)


main()
