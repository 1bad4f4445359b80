#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Figures of the whole daemon, in a booted systemd (root): start with many rules on a
# filesystem with many files, memory, and a reload of ten thousand rules under way.
# Run in the build folder; "quick" takes a tenth of the files and events.
set -eu
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
[ "$(id -u)" -eq 0 ] || { echo 'bench/daemon.sh: needs root, to boot a systemd' >&2; exit 77; }
[ -x "$PWD/fawatchd" ] || { echo 'bench/daemon.sh: run it in the build folder' >&2; exit 2; }
exec "$top/tests/boot-systemd" run -b "$PWD:/build" -b "$top/bench:/bench" \
    python3 -u /bench/daemon.py "${1:-full}"
