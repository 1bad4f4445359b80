#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The linker's view of the pure library: it calls nothing that is not in
# pure-symbols (no system call, clock, output, exit), and it has no variables.
set -u
. "${srcdir:-.}/tests/tap.sh"
library=$builddir/lib/libcore.a
case ${SANITIZERS:-no} in no) ;; *) skip_all 'sanitizers put their own symbols and variables in' ;; esac
nm=${NM:-nm}
[ -e "$library" ] || { not_ok "$library is built"; tap_done; }
"$nm" "$library" 2>/dev/null | grep -q __gcov && skip_all 'gcov puts its own variables in'

# "memcpy" stands also for __memcpy_chk, which _FORTIFY_SOURCE makes of it
used=$("$nm" -u "$library" 2>/dev/null | awk '$1 == "U" || $1 == "w" { print $2 }' |
    sed -E 's/^__(.*)_chk$/\1/; s/^__isoc[0-9]+_//' | sort -u)
own=$("$nm" --defined-only "$library" 2>/dev/null | awk 'NF == 3 { print $3 }' | sort -u)
allowed=$(sed 's/#.*//' "$srcdir/tests/lint/pure-symbols" | tr -s ' \t' '\n' | sort -u)
verdict 'calls nothing but what pure-symbols allows' \
    "$(comm -23 <(comm -23 <(echo "$used") <(echo "$own")) <(echo "$allowed"))"

# a table of pointers is constant once relocated: it stands in .data.rel.ro
verdict 'has no variables, only constants' \
    "$("$nm" -f sysv "$library" 2>/dev/null | awk -F'|' '
        /^[^|]*:$/ || NF == 1 { member = $0 }
        { gsub(/ /, "", $3); gsub(/ /, "", $1) }
        $3 ~ /^[bBdDC]$/ && $7 !~ /^ *\.data\.rel\.ro/ { print $1, $7 }')"
tap_done
