#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# How long nobody reads the kernel's queue while the service is restarted or killed
# under load: in a systemd booted for this (root).  Run in the build folder.
#
# A writer makes a file every millisecond.  A file that is made while nobody reads is
# recorded when somebody does: the latest record of all, against the time its file was
# made, is the longest time without a reader (and what comes behind it to the journal).
set -eu
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
[ "$(id -u)" -eq 0 ] || { echo 'bench/restart.sh: needs root, to boot a systemd' >&2; exit 77; }
exec "$top/tests/boot-systemd" run -b "$top:$top" -b "$PWD:$PWD" python3 -B "$top/bench/restart.py" "$PWD" "$@"
