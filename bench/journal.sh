#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# How fast a backlog drains into the journal, against a bare loop that sends the
# same fields: beside a real journald of its own (root).  Run in the build folder.
set -eu
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
[ "$(id -u)" -eq 0 ] || { echo 'bench/journal.sh: needs root, to run a journald' >&2; exit 77; }
exec "$top/tests/run-journald" -- "${1:-$PWD/bench/bench-journal}"
