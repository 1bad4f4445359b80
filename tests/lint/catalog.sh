#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Every kind of record is explained in the journal's catalog: one entry an id,
# with what systemd's catalog format asks for, and fields that exist.
set -u
. "${srcdir:-.}/tests/tap.sh"
catalog=$srcdir/conf/fawatchd.catalog

ids=$(sed -nE 's/^[[:space:]]*X\([A-Z_]+, [a-z_]+, "([0-9a-f]{32})"\).*/\1/p' "$srcdir/lib/message_ids.h" | sort)
entries=$(sed -nE 's/^-- ([0-9a-f]{32})$/\1/p' "$catalog" | sort)
[ "$(wc -l <<<"$ids")" -ge 10 ] && ok 'the code has message ids' ||
    not_ok 'the code has message ids' 'this lint reads lib/message_ids.h wrongly'
verdict 'no id is used twice' "$(uniq -d <<<"$ids")"
verdict 'every id has an entry' "$(comm -23 <(echo "$ids") <(echo "$entries"))"
verdict 'every entry has an id, and only one' "$({ comm -13 <(echo "$ids") <(echo "$entries"); uniq -d <<<"$entries"; })"

# header lines, an empty line, a text
verdict 'every entry has a subject, its origin, documentation and a text' "$(awk '
    function finish() {
        if (id && !(subject && origin && documentation && lines >= 2))
            print id ": subject " subject + 0 ", origin " origin + 0 ", documentation " documentation + 0 ", lines " lines + 0
    }
    /^-- / { finish(); id = $2; header = 1; subject = origin = documentation = lines = 0; next }
    header && /^Subject: ./ { subject++ }
    header && /^Defined-By: fawatchd$/ { origin++ }
    header && /^Documentation: man:/ { documentation++ }
    header && /^$/ { header = 0 }
    !header && /./ { lines++ }
    END { finish() }' "$catalog")"

# journalctl fills in @FIELD@: a name that no record has stays empty for ever
if names=$("$builddir/tests/lint/print-names" 2>/dev/null); then
    known=$(awk '$1 == "field" { print $2 }' <<<"$names"; printf '%s\n' CONFIG_FILE CONFIG_LINE)
    verdict 'every @FIELD@ exists' "$(
        comm -23 <(grep -oE '@[A-Z_]+@' "$catalog" | tr -d @ | sort -u) <(sort -u <<<"$known"))"
else
    skip 'every @FIELD@ exists' 'print-names is not built'
fi
verdict 'the text fits a terminal of 120 columns' "$(awk 'length > 120 { print FNR ": " $0 }' "$catalog")"

if command -v journalctl >/dev/null; then
    root=$(mktemp -d) && trap 'rm -rf "$root"' EXIT
    mkdir -p "$root/usr/lib/systemd/catalog" "$root/var/lib/systemd/catalog"
    cp "$catalog" "$root/usr/lib/systemd/catalog/"
    verdict 'journalctl compiles it' "$(journalctl --root="$root" --update-catalog 2>&1)"
    verdict 'journalctl finds every entry' "$(
        for id in $ids; do
            journalctl --root="$root" --dump-catalog "$id" 2>&1 | grep -q '^Subject: ' || echo "$id"; done)"
else
    skip 'journalctl compiles it' 'journalctl is not installed'
fi
tap_done
