#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Runs the programs named (relative to the build folder) under valgrind and
# writes an automake-style result file beside each: PROGRAM.valgrind.trs.
set -u
: "${builddir:=$PWD}"
failed=0
command -v valgrind >/dev/null || { echo "valgrind is not installed" >&2; exit 77; }

for program in "$@"; do
    result=PASS
    valgrind --quiet --error-exitcode=99 --leak-check=full --errors-for-leak-kinds=definite,indirect \
        "$builddir/$program" >"$builddir/$program.valgrind.log" 2>&1 </dev/null || result=FAIL
    printf ':test-result: %s %s under valgrind\n' "$result" "${program##*/}" >"$builddir/$program.valgrind.trs"
    printf '%s: %s under valgrind\n' "$result" "${program##*/}"
    [ "$result" = PASS ] || { failed=1; cat "$builddir/$program.valgrind.log"; }
done
exit "$failed"
