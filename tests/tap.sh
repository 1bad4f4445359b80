# SPDX-License-Identifier: LGPL-2.1-or-later
# TAP for shell tests: source it, call ok or not_ok for each case, tap_done last.
# srcdir and builddir are the top folders; a script run by hand finds them itself.
: "${srcdir:=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)}"
: "${builddir:=$PWD}"
tap_n=0 tap_failed=0

ok() { # NAME
    tap_n=$((tap_n + 1))
    printf 'ok %d - %s\n' "$tap_n" "$1"
}

not_ok() { # NAME [EXPLANATION]: the explanation may have several lines
    tap_n=$((tap_n + 1)) tap_failed=$((tap_failed + 1))
    printf 'not ok %d - %s\n' "$tap_n" "$1"
    [ -z "${2-}" ] || printf '%s\n' "$2" | sed 's/^/# /'
}

wait_for() { # COMMAND...: until it succeeds, a minute at most
    local i
    for ((i = 0; i < 600; i++)); do
        "$@" && return
        sleep 0.1
    done
    return 1
}

verdict() { # NAME FINDINGS: passes when there are none
    if [ -z "$2" ]; then ok "$1"; else not_ok "$1" "$2"; fi
}

skip() { # NAME REASON
    tap_n=$((tap_n + 1))
    printf 'ok %d - %s # SKIP %s\n' "$tap_n" "$1" "$2"
}

skip_all() { # REASON
    printf '1..0 # SKIP %s\n' "$1"
    exit 0
}

tap_done() {
    printf '1..%d\n' "$tap_n"
    [ "$tap_failed" -eq 0 ]
    exit
}
