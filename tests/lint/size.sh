#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Growth is a decision: a file has at most 800 lines, a function at most 100.
# size-exceptions lists what may be longer: "FILE LINES REASON" or "FILE:FUNCTION LINES REASON".
set -u
. "${srcdir:-.}/tests/tap.sh"
cd "$srcdir" || exit 1
exceptions=tests/lint/size-exceptions
sources=$(find lib daemon ctl bench tests -name '*.[ch]' | sort)
texts=$(find tests -name '*.py' -o -name '*.sh' | sort)

# "NAME LINES" on standard input: those longer than LIMIT, or than their exception allows
longer_than() { # LIMIT
    awk -v limit="$1" '
        FILENAME != "-" { if ($0 !~ /^#/ && NF) allowed[$1] = $2; next }
        $2 > ($1 in allowed ? allowed[$1] : limit) { print $1 ": " $2 " lines" }' "$exceptions" -
}

# shellcheck disable=SC2086
verdict 'no file has more than 800 lines' "$(wc -l $sources $texts | awk '$2 != "total" { print $2, $1 }' | longer_than 800)"

# A function is what stands between "{" and "}" in the first column, the braces counted.
awk '
    FNR == 1 { name = ""; start = 0 }
    /^[a-zA-Z_].*\(/ { name = $0; sub(/\(.*/, "", name); sub(/.*[ *]/, "", name) }
    /^\{/ { start = FNR }
    /^\}/ && start { if (FNR - start + 1 > 100) print FILENAME ":" name, FNR - start + 1; start = 0 }
' $sources | longer_than 100 >"${TMPDIR:-/tmp}/size.$$"
verdict 'no function has more than 100 lines' "$(cat "${TMPDIR:-/tmp}/size.$$")"

LC_ALL=C.UTF-8 grep -nE '^.{121,}$' $sources >"${TMPDIR:-/tmp}/size.$$"
verdict 'no line has more than 120 columns' "$(cut -c1-100 "${TMPDIR:-/tmp}/size.$$")"

awk '!/^#/ && NF && NF < 3 { print FILENAME ":" FNR ": no reason" }' "$exceptions" >"${TMPDIR:-/tmp}/size.$$"
verdict 'each exception has a reason' "$(cat "${TMPDIR:-/tmp}/size.$$")"
rm -f "${TMPDIR:-/tmp}/size.$$"
tap_done
