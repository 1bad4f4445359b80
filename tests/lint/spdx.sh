#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Each file that can hold a comment says its licence on its first line (a
# script on its second), headers are "#pragma once".
set -u
. "${srcdir:-.}/tests/tap.sh"
cd "$srcdir" || exit 1
line='SPDX-License-Identifier: LGPL-2.1-or-later'

# in a clone what git knows; else the rooms, and what stands at the top but is not made by autotools
if [ -e .git ] && command -v git >/dev/null; then
    files=$(git -c safe.directory='*' ls-files)
else
    files=$(find bench conf ctl daemon lib m4 man tests -type f; echo autogen.sh quickstart configure.ac Makefile.am)
fi

missing='' unguarded='' n=0
for file in $files; do
    [ -f "$file" ] || continue
    case $file in
    tests/golden/*.sh | tests/golden/*.c) ;;
    tests/golden/* | tests/fuzz/corpus/* | tests/rules-wanted/*) continue ;; # data, read as it is
    *.o | *.trs | *.log | *.Po) continue ;;                                        # of a build in the tree
    *.c | *.h | *.sh | *.py | *.m4 | *.mk | *.am | *.ac | *.1 | *.5 | *.7 | *.8 | *.in) ;;
    *) head -c 2 "$file" | grep -q '^#!' || continue ;;
    esac
    n=$((n + 1))
    head -n 2 "$file" | grep -qF "$line" || missing+="$file"$'\n'
    case $file in
    *.h) sed -n 2p "$file" | grep -qx '#pragma once' || unguarded+="$file"$'\n' ;;
    esac
done
[ "$n" -gt 0 ] && ok "$n files looked at" || not_ok 'no file found'
verdict 'every file says its licence' "${missing%$'\n'}"
verdict 'every header is "#pragma once" on its second line' "${unguarded%$'\n'}"
tap_done
