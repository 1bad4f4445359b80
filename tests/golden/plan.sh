#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Rules and a world in, the plan out, compared with what is on file:
# plan/NAME.rules + plan/NAME.world (or machine.world) [+ plan/NAME.settings] → plan/NAME.plan.
# "UPDATE=1 plan.sh" writes what is printed now; read the difference before you commit it.
. "${srcdir:=$(cd "$(dirname "$0")/../.." && pwd)}/tests/tap.sh"

print=$builddir/tests/golden/plan-print
dir=$srcdir/tests/golden/plan

for rules in "$dir"/*.rules; do
    base=${rules%.rules} name=$(basename "$rules" .rules)
    world=$base.world
    [ -e "$world" ] || world=$dir/machine.world
    set -- "$rules" "$world"
    [ ! -e "$base.settings" ] || set -- "$@" "$base.settings"
    found=$("$print" "$@" 2>&1) || found="$found
exit status $?"
    [ -z "${UPDATE-}" ] || printf '%s\n' "$found" >"$base.plan"
    verdict "$name" "$(diff -u "$base.plan" - <<<"$found" 2>&1)"
done
tap_done
