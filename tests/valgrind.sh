#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Runs the programs named (relative to the build folder) under valgrind and
# writes an automake-style result file beside each: PROGRAM.valgrind.trs.
set -u
: "${builddir:=$PWD}"
command -v valgrind >/dev/null || { echo "valgrind is not installed" >&2; exit 77; }
export builddir

under_valgrind() { # PROGRAM
    local program=$1 result=PASS
    valgrind --quiet --error-exitcode=99 --leak-check=full --errors-for-leak-kinds=definite,indirect \
        "$builddir/$program" >"$builddir/$program.valgrind.log" 2>&1 </dev/null || result=FAIL
    printf ':test-result: %s %s under valgrind\n' "$result" "${program##*/}" >"$builddir/$program.valgrind.trs"
    printf '%s: %s under valgrind\n' "$result" "${program##*/}"
    [ "$result" = PASS ] || { cat "$builddir/$program.valgrind.log"; return 1; }
}
export -f under_valgrind

# one on each processor: none of them measures time.  Not zero when one failed.
printf '%s\0' "$@" | xargs -0 -n 1 -P "$(nproc)" bash -c 'under_valgrind "$1"' valgrind
