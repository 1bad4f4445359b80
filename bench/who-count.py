#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""who-count FORMAT FILE: compares who is named with who it was.

The name of each file says who made it: PROGRAM~PID~EUID~NUMBER.
FORMAT is fawatchd (JSON lines) or fatrace (its own).  Prints one line.
"""
import collections
import json
import os
import re
import sys

NAME = re.compile(r"/([^/~]+)~(\d+)~(\d+)~(\d+)$")


def from_fawatchd(line):
    record = json.loads(line)
    if "path" not in record or "attribution" not in record:
        return None
    exe = record.get("exe")
    euid = record.get("euid", record.get("uid"))
    if "/sed~" in record["path"] and "rename" not in record["event"]:
        return None
    return (record["path"], record.get("pid"), os.path.basename(exe) if exe else None, euid, record["attribution"])


def from_fatrace(line):
    found = re.match(r"(.*)\((\d+)\): \S+\s+(\S+)$", line)
    if not found:
        return None
    comm = found[1]
    if "/sed~" in found[3] and not line.split(": ", 1)[1].startswith(">"):
        return None
    return found[3], int(found[2]), None if comm == "unknown" else comm, None, ""


def main():
    parse = {"fawatchd": from_fawatchd, "fatrace": from_fatrace}[sys.argv[1]]
    right = unnamed = total = 0
    wrong, how = [], collections.Counter()
    with open(sys.argv[2], encoding="utf-8", errors="replace") as lines:
        for line in lines:
            event = parse(line)
            found = event and NAME.search(event[0])
            if not found:
                continue
            path, pid, program, euid, attribution = event
            total += 1
            if pid != int(found[2]) or program not in (None, found[1]) or euid not in (None, int(found[3])):
                wrong.append(line.strip())
            elif program is None:
                unnamed += 1
                how["unnamed " + attribution] += 1
            else:
                right += 1
                how[attribution + ("" if euid is not None or not attribution else " without uid")] += 1
    share = 100.0 * right / total if total else 0.0
    print(f"events {total} right {right} ({share:.3f} %) unnamed {unnamed} wrong {len(wrong)}  {dict(how)}")
    for line in wrong[:3]:
        print("   wrong:", line)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
