#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Runs each fuzz target over its corpus, one case a file.
set -u
. "${srcdir:-.}/tests/tap.sh"

for source in "$srcdir"/tests/fuzz/fuzz-*.c; do
    target=$(basename "$source" .c)
    name=${target#fuzz-}
    files=("$srcdir/tests/fuzz/corpus/$name"/*)
    if [ ! -e "${files[0]}" ]; then
        not_ok "$target has a corpus" "tests/fuzz/corpus/$name is empty"
        continue
    fi
    for file in "${files[@]}"; do
        if out=$("$builddir/tests/fuzz/$target" "$file" 2>&1 </dev/null); then
            ok "$name ${file##*/}"
        else
            not_ok "$name ${file##*/}" "$out"
        fi
    done
done
tap_done
