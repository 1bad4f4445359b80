#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Rule text in, canonical text and findings out.  NAME.in (or NAME.d/*.conf, one
# rule set of several files) must give NAME.ok on stdout and NAME.err on stderr;
# without NAME.ok it must be refused, without NAME.err nothing may be found.
# What was printed must print the same again.  UPDATE=1 writes what there is now.
set -u
. "${srcdir:-.}/tests/tap.sh"
here=$srcdir/tests/golden
print=$builddir/tests/golden/rules-print
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT

expected() { cat "$1" 2>/dev/null; }

# golden LABEL CASE OPTION...: CASE is the path without .in or .d
golden() {
    local label=$1 case=$2 out=$work/out err=$work/err files findings=
    shift 2
    if [ -d "$case.d" ]; then files=("$case".d/*.conf); else files=("$case.in"); fi
    "$print" "$@" "${files[@]}" >"$out" 2>"$err"
    local status=$?
    if [ -n "${UPDATE-}" ]; then
        rm -f "$case.ok" "$case.err"
        [ $status -ne 0 ] || cp "$out" "$case.ok"
        [ ! -s "$err" ] || cp "$err" "$case.err"
    fi
    if [ -f "$case.ok" ]; then
        [ $status -eq 0 ] || findings+="exit status $status instead of 0"$'\n'
        findings+=$(diff -u "$case.ok" "$out")
        "$print" "$@" "$case.ok" >"$work/again" 2>/dev/null
        findings+=$(diff -u "$out" "$work/again")
    else
        [ $status -eq 1 ] || findings+="exit status $status instead of 1"$'\n'
    fi
    findings+=$(diff -u <(expected "$case.err") "$err")
    verdict "$label" "$findings"
}

# loads FILE OPTION...: nothing is found wrong with it, and its print prints again
loads() {
    local file=$1 findings
    shift
    findings=$("$print" "$@" "$file" 2>&1 >"$work/out") || findings+=$'\n'"refused"
    "$print" "$@" "$work/out" >"$work/again" 2>/dev/null
    verdict "${file#"$srcdir/"} loads" "$findings$(diff -u "$work/out" "$work/again")"
}

each_case() { # FOLDER: paths of cases
    local f
    for f in "$here/$1"/*.in "$here/$1"/*.d; do
        [ -e "$f" ] && printf '%s\n' "${f%.*}"
    done
}

for case in $(each_case rules); do golden "rules/${case##*/}" "$case"; done
for case in $(each_case lint); do golden "lint/${case##*/}" "$case" --lint; done
for case in $(each_case settings); do golden "settings/${case##*/}" "$case" --settings; done

# what is delivered
for file in "$srcdir"/conf/rules.d/*.conf "$srcdir"/conf/examples/*.conf; do loads "$file" --lint; done
for file in "$srcdir"/tests/rules-wanted/*.conf; do loads "$file"; done
loads "$srcdir/conf/fawatchd.conf" --settings
# fawatchd.conf shows each setting, commented out, with its default
verdict 'conf/fawatchd.conf shows the defaults' "$(diff -u \
    <("$print" --settings "$here/settings/defaults.in") \
    <(sed -nE 's/^#([a-z_]+ = .*;)$/\1/p' "$srcdir/conf/fawatchd.conf" >"$work/shown.conf"
      "$print" --settings "$work/shown.conf" 2>&1))"
verdict 'conf/fawatchd.conf shows every setting' "$(diff \
    <("$print" --settings "$here/settings/defaults.in" | cut -d' ' -f1) \
    <(cut -d' ' -f1 "$work/shown.conf" | sort))"
tap_done
