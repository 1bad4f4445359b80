#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The manual and the code know the same names: options, commands, settings,
# keys, events, fields, message ids.  And mandoc finds nothing to warn of.
set -u
. "${srcdir:-.}/tests/tap.sh"
man=$srcdir/man
pages="fawatchd.8 fawatchctl.1 fawatchd.conf.5 fawatchd.rules.5 fawatchd.fields.7"

# words of a page that mark an entry: arguments of .It, without macros and punctuation
entries() { # PAGE
    grep '^\.It ' "$man/$1" | sed -E 's/\\&//g; s/\\-/-/g; s/\\e/\\/g' | tr -s ' ,=|"()' '\n' | sort -u
}
options_of() { # PAGE: long options that it has an entry for
    grep -E '^\.It .*Fl ' "$man/$1" | grep -oE 'Fl (\\-|-)[a-z][a-z-]*' | sed -E 's/^Fl (\\-|-)//' | sort -u
}

# in_page WHAT PAGE NAMES: each of the code's names has an entry there
in_page() {
    [ -n "$3" ] || { not_ok "$1: the code names some" 'none found: this lint reads the code wrongly'; return; }
    verdict "$2: every $1 has an entry" "$(comm -23 <(sort -u <<<"$3") <(entries "$2"))"
}
# same_options PAGE NAMES: entries and code agree both ways
same_options() {
    [ -n "$2" ] || { not_ok "$1: the code has options" 'none found: this lint reads the code wrongly'; return; }
    verdict "$1: every option has an entry" "$(comm -23 <(sort -u <<<"$2") <(options_of "$1"))"
    verdict "$1: no entry for an option that is not there" "$(comm -13 <(sort -u <<<"$2") <(options_of "$1"))"
}
# the tables of options: of getopt itself, and fawatchctl's own { OPT_X, "name", ... }
getopt_names() { # FILE...
    sed -nE -e 's/^[[:space:]]*\{ *"([a-z][a-z-]*)", *(no|required|optional)_argument.*/\1/p' \
        -e 's/^[[:space:]]*\{ *OPT_[A-Z_]+, *"([a-z][a-z-]*)",.*/\1/p' "$@"
}

for page in $pages; do
    [ -s "$man/$page" ] || { not_ok "$page is there"; continue; }
    if command -v mandoc >/dev/null; then
        # the style findings of mandoc are taste, except for the fourth level they are errors
        verdict "$page: mandoc" "$(mandoc -Tlint -Wwarning "$man/$page" 2>&1)"
    else
        skip "$page: mandoc" 'mandoc is not installed'
    fi
done

same_options fawatchd.8 "$(getopt_names "$srcdir/daemon/options.c")"
same_options fawatchctl.1 "$(getopt_names "$srcdir"/ctl/*.c)"
in_page command fawatchctl.1 "$(sed -nE 's/^[[:space:]]*\{ *"([a-z]+)", .*cmd_[a-z]+,.*/\1/p' "$srcdir/ctl/main.c")"

names=$("$builddir/tests/lint/print-names") || { not_ok 'print-names runs'; tap_done; }
of_kind() { awk -v kind="$1" '$1 == kind { print $2 }' <<<"$names"; }
in_page setting fawatchd.conf.5 "$(of_kind setting)"
in_page key fawatchd.rules.5 "$(
    sed -nE 's/^[[:space:]]*\{ "([a-z]+)", IN_[A-Z_| ]+, read_.*/\1/p' "$srcdir/lib/rules_clause.c"
    of_kind actor)"
in_page event fawatchd.rules.5 "$(of_kind event)"
in_page scope fawatchd.rules.5 "$(of_kind scope)"
in_page field fawatchd.fields.7 "$(of_kind field)"
# words of the text are enough for these
for kind in type priority; do
    verdict "fawatchd.rules.5: every $kind is named" "$(
        of_kind "$kind" | while read -r name; do grep -qw -- "$name" "$man/fawatchd.rules.5" || echo "$name"; done)"
done
verdict 'fawatchd.fields.7: every message id' "$(
    of_kind message | while read -r id; do grep -q "$id" "$man/fawatchd.fields.7" || echo "$id"; done)"

# and back: an entry that looks like a field of ours is one
verdict 'fawatchd.fields.7: no entry for a field that is not there' "$(
    comm -13 <(of_kind field | sort -u) <(entries fawatchd.fields.7 | grep '^FAWATCH_')
)"
tap_done
