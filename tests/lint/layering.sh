#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Who may include and call what.  A new exception is one line here, with its reason.
set -u
. "${srcdir:-.}/tests/tap.sh"
cd "$srcdir" || exit 1
sources=$(find lib daemon ctl -name '*.[ch]' | sort)

# only WHAT REGEX FILE...: the regex occurs in none but these files
only() {
    local what=$1 regex=$2 found= file
    shift 2
    for file in $sources; do
        case " $* " in *" $file "*) continue ;; esac
        found+=$(grep -nE "$regex" "$file" /dev/null)
        found+=${found:+$'\n'}
    done
    verdict "$what: only ${*:-nowhere}" "$(printf '%s' "$found" | sed '/^$/d')"
}
includes() { printf '^[[:space:]]*#[[:space:]]*include[[:space:]]*[<"](%s)[>"]' "$1"; }

# The rooms.  Each quoted include must be a file of the room itself or of one below it.
rooms() { # ROOM ROOM...: what the first includes is in one of these
    local room=$1 file line header place found=
    while IFS=: read -r file line header; do
        header=$(sed -E 's/^[^"]*"([^"]*)".*/\1/' <<<"$header")
        case $header in */*) place=$header ;; *)
            place=
            for r; do [ ! -e "$r/$header" ] || { place=$r/$header; break; }; done ;;
        esac
        # fawatchctl reads rule files exactly as the daemon does, without a daemon
        [ "$room $place" != 'ctl daemon/conf_read.h' ] || continue
        case " $* " in *" ${place%%/*} "*) ;; *) found+="$file:$line: $header"$'\n' ;; esac
    done < <(grep -nE '^[[:space:]]*#[[:space:]]*include[[:space:]]*"' "$room"/*.[ch])
    verdict "$room includes nothing but of $*" "${found%$'\n'}"
}
rooms lib
rooms daemon lib
rooms ctl lib

# libconfig builds its own tree; ours, with file and line, is made in one place.
only libconfig "$(includes 'libconfig\.h')" lib/conftree.c
# The dialect of patterns is ours: PCRE2 is how it runs.
only pcre2 "$(includes 'pcre2\.h')" lib/pattern.c
# The checksum of the canonical rules.
only libgcrypt "$(includes 'gcrypt\.h')" lib/generation.c
only libmount "$(includes '(libmount/)?libmount\.h')" daemon/mounts.c
# One file owns the loop; the bus connections of followers attach to that loop.
only sd-event "$(includes 'systemd/sd-event\.h')" daemon/loop.c daemon/control.c
# The control protocol: its two ends.
only sd-bus "$(includes 'systemd/sd-bus\.h')" daemon/control.c daemon/control_methods.c \
    daemon/control_filter.c daemon/control_internal.h ctl/client.c
# The daemon speaks journald's protocol itself: sd_journal_send() blocks when journald does.
# "fawatchctl who" and "fawatchctl verify" read it.
only sd-journal "$(includes 'systemd/sd-journal\.h')" ctl/journal.c
# Process events: netlink's process connector.
only cn_proc "$(includes 'linux/(cn_proc|connector|netlink)\.h')" daemon/proc_connector.c daemon/proc_connector.h
# JSON off the hot path: replies of the control socket and what fawatchctl prints.
# shellcheck disable=SC2046
only jansson "$(includes 'jansson\.h')" $(ls daemon/control_json*.[ch] ctl/*.[ch])
# Groups and marks: fan_group is the daemon's; the probe asks the kernel in throw-away groups.
only 'fanotify_init and fanotify_mark' '\bfanotify_(init|mark)[[:space:]]*\(($|[^2])' daemon/fan_group.c daemon/probe.c

# pure means: not even the headers of what would make it impure
impure='(unistd|fcntl|pthread|syslog|time|signal|poll|dirent|pwd|grp)\.h|sys/[a-z]*\.h|systemd/.*'
found=$(grep -nE "$(includes "$impure")" lib/*.[ch] |
    # the layout of the kernel's records and the bits of st_mode: types and constants
    grep -vE '^lib/[a-z_]+\.[ch]:[0-9]+:#include <sys/(types|stat)\.h>$' |
    grep -vE '^lib/(decode\.c|fan_uapi\.h):[0-9]+:#include <sys/fanotify\.h>$')
verdict 'lib includes no header of system calls, clock or threads' "$found"
# uthash calls exit() when memory is short unless it is told not to
for file in $(grep -lE "$(includes 'uthash\.h')" $sources); do
    grep -q '#define HASH_NONFATAL_OOM 1' "$file" && ok "$file: uthash never exits" ||
        not_ok "$file: uthash never exits" 'define HASH_NONFATAL_OOM 1 before the include'
done
# _exit is how the child of a fork ends
verdict 'nothing but main leaves the process' \
    "$(grep -nE '(^|[^_a-z.>])(exit|abort|quick_exit)[[:space:]]*\(' $(ls lib/*.c daemon/*.c ctl/*.c | grep -v '/main\.c$'))"
tap_done
