#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The test of the test: each deliberate mistake in a copy of lib/interest must make
# test-interest-kernel fail, and the copy without one must not.
set -u
. "${srcdir:-$(dirname "$0")/../..}/tests/tap.sh"
[ "$(id -u)" -eq 0 ] || skip_all 'needs root, as test-interest-kernel does'
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cc=${CC:-cc}
flags=(-std=gnu17 -O1 -D_GNU_SOURCE -iquote "$work" -iquote "$srcdir/lib" -iquote "$srcdir/tests/model")
cp "$srcdir"/lib/interest*.[ch] "$work"
operations=12000

compile() { # SOURCE OBJECT
    # shellcheck disable=SC2086
    $cc "${flags[@]}" -c "$1" -o "$2"
}

links() { # PROGRAM; the modules with a mistake are compiled again, the others are there
    # shellcheck disable=SC2086
    $cc -o "$1" "$work"/*.o
}

for source in "$srcdir"/tests/model/{fsmodel,fsmodel_ops,fanqueue,probe,kernel_fanotify10,test-interest-kernel}.c \
    "$work"/interest*.c; do
    name=${source##*/}
    compile "$source" "$work/${name%.c}.o" || { not_ok "$name compiles"; tap_done; }
done

# The first seed that finds something ends it.
finds() { # PROGRAM
    local seed
    for seed in 1 2 3; do
        "$1" --only=random --operations="$operations" --seed="$seed" >"$work/log" 2>&1 || return 0
    done
    return 1
}

# mutant WHAT FILE SED-SCRIPT: a change that does not apply any more is a failure too
mutant() {
    local what=$1 file=$2 script=$3 module=${2%.c}
    sed -E "$script" "$srcdir/lib/$file" >"$work/$file"
    if cmp -s "$srcdir/lib/$file" "$work/$file"; then
        not_ok "$what" "the change does not apply to $file"
        return
    fi
    if ! compile "$work/$file" "$work/$module.o" 2>"$work/log" || ! links "$work/mutant"; then
        not_ok "$what" "$(cat "$work/log")"
    elif ! finds "$work/mutant"; then
        not_ok "$what" 'not found'
    elif ! grep -q '^not ok' "$work/log"; then
        not_ok "$what" "$(tail -n 3 "$work/log")"
    else
        ok "found: $what"
    fi
    cp "$srcdir/lib/$file" "$work/$file"
    compile "$work/$file" "$work/$module.o"
}

links "$work/program" || { not_ok 'links'; tap_done; }
if finds "$work/program"; then
    not_ok 'without a mistake nothing is found' "$(grep -v '^ok' "$work/log")"
    tap_done
fi
grep -q '1..0 # SKIP' "$work/log" && skip_all "$(sed -n 's/^1..0 # SKIP //p' "$work/log")"
ok 'without a mistake nothing is found'

mutant 'a mark with an ignore mask that does not survive hears of no modification' interest_mask.c \
    's/mask \|= FAN_MODIFY;/;/'
mutant 'ignored events are no interest of the object' interest_mask.c \
    's/return mask \| m->ignore_mask;/return mask;/'
mutant 'a legacy ignore mask leaves directories out' interest_mask.c \
    's/\| FAN_ONDIR \| \(m->mask/| (m->mask/'
mutant 'a legacy ignore mask never takes in children' interest_mask.c \
    's/ \| \(m->mask & FAN_EVENT_ON_CHILD\);/;/'
mutant 'an ignore mask takes in children without its flag' interest_mask.c \
    's/return slot != SLOT_PARENT \|\|/return true ||/'
mutant 'a modification clears no ignore mask' interest_deliver.c \
    's/line->marks\[slot\]->ignore_mask = 0;/;/'
mutant 'a modification clears ignore masks that survive' interest_deliver.c \
    's/ && !line->marks\[slot\]->ignore_surv\)/)/'
mutant 'any mark on the parent counts as one on children' interest_deliver.c \
    's/slot != SLOT_PARENT \|\| asks_about_children/true || asks_about_children/'
mutant 'a rename tells both sides to whoever asked for one' interest_deliver.c \
    's/bool both = .*/bool both = true;/'
mutant 'the object comes with every entry event' interest_deliver.c \
    's/return init_flags & FAN_REPORT_TARGET_FID;/return true;/; s/is_dirent\(mask\) && !\(init_flags & FAN_REPORT_TARGET_FID\)/false/'
mutant 'a mark that does not ask about directories gets their events' interest_deliver.c \
    's/if \(!interest_mask_applicable\(m->mask, is_dir, slot\)\)/if (false)/'
mutant 'a group of directories gets events that have none' interest_deliver.c \
    's/return \(fid_mode & FAN_REPORT_FID\) \|\|.*/return true;/'
mutant 'what is written into a fifo happens in its directory' interest_deliver.c \
    's/if \(k->special_untold && /if (false \&\& /'
mutant 'directories are told with their names' interest_deliver.c \
    's/needed = e->dir && !is_dir &&/needed = e->dir \&\&/; s/as_name = is_dirent\(mask\) \|\| !\(mask & FAN_ONDIR\);/as_name = true;/'
mutant 'a mark with bits that nobody can remove stays' interest_mark.c \
    's/\(m->mask \| m->ignore_mask\) & ~kept/m->mask | m->ignore_mask/'
mutant 'a file open for writing takes an ignore mask that does not survive' interest_mark.c \
    's/            o->open_for_write\)/            false)/'
mutant 'an evictable mark stays evictable' interest_mark.c \
    's/m->evictable = false;/;/'
mutant 'FAN_MARK_IGNORE may forget that the ignore mask survives' interest_mark.c \
    's/\(flags & FAN_MARK_IGNORE\) && !\(flags & FAN_MARK_IGNORED_SURV_MODIFY\) && m->ignore_surv/false/'
mutant 'files take what only directories have' interest_mark.c \
    's/add && strict && /false \&\& /'
mutant 'names are not asked for by themselves' interest_mark.c \
    's/bits \|= FAN_EVENT_ON_CHILD;/;/'
tap_done
