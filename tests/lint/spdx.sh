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

# what is looked at, on one line each: what holds comments, by its name, or begins with "#!"
looked_at() {
    local file start
    for file in $files; do
        case $file in
        tests/golden/*.sh | tests/golden/*.c) ;;
        tests/golden/* | tests/fuzz/corpus/* | tests/rules-wanted/*) continue ;; # data, read as it is
        *.o | *.trs | *.log | *.Po) continue ;;                                        # of a build in the tree
        *.c | *.h | *.sh | *.py | *.m4 | *.mk | *.am | *.ac | *.1 | *.5 | *.7 | *.8 | *.in) ;;
        *) [ -f "$file" ] && LC_ALL=C read -r -n 2 start <"$file" 2>/dev/null && [ "$start" = '#!' ] || continue ;;
        esac
        [ -f "$file" ] && echo "$file"
    done
}
listed=$(looked_at)
n=$(wc -l <<<"$listed")
# shellcheck disable=SC2086
found=$(awk -v line="$line" '
    FNR == 1 { has[FILENAME] = 0 }
    FNR <= 2 && index($0, line) { has[FILENAME] = 1 }
    FNR == 2 && FILENAME ~ /\.h$/ && $0 != "#pragma once" { print "unguarded", FILENAME }
    FNR == 2 { nextfile }
    END { for (file in has) if (!has[file]) print "missing", file }' $listed)
missing=$(sed -n 's/^missing //p' <<<"$found") unguarded=$(sed -n 's/^unguarded //p' <<<"$found")
[ "$n" -gt 0 ] && ok "$n files looked at" || not_ok 'no file found'
verdict 'every file says its licence' "$missing"
verdict 'every header is "#pragma once" on its second line' "$unguarded"
tap_done
