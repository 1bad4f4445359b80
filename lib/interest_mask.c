/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What one mark asks for and refuses, and what an object's marks add up to. */

#include "interest.h"

struct interest_kernel interest_kernel_from(const struct kernel_abilities *abilities)
{
        return (struct interest_kernel){
                .rename = abilities->rename,
                .fs_error = abilities->fs_error,
                .evictable = abilities->evictable,
                .ignore = abilities->ignore,
                /* fsnotify_calc_mask() came one version before FAN_MARK_EVICTABLE, and with it to
                 * every stable kernel: a kernel between the two is treated as the older kind */
                .ignore_is_interest = abilities->evictable || abilities->ignore,
        };
}

uint32_t interest_ignored_events(const struct interest_mark *m)
{
        return m->ignore_mask & INTEREST_EVENTS;
}

uint32_t interest_calc_mask(const struct interest_kernel *k, const struct interest_mark *m)
{
        uint32_t mask = m->mask;

        if (!k->ignore_is_interest || interest_ignored_events(m) == 0)
                return mask;
        /* the mark must hear of a modification that clears its ignore mask */
        if (!m->ignore_surv)
                mask |= FAN_MODIFY;
        /* with its flags: a directory that refuses children's events must be asked about them */
        return mask | m->ignore_mask;
}

uint32_t interest_ignore_mask(const struct interest_mark *m)
{
        if (m->ignore_new)
                return m->ignore_mask;
        /* FAN_MARK_IGNORED_MASK has no flags of its own: it refuses events of directories always,
         * and those of children where the mark asks for children's events */
        return (m->ignore_mask & ~FAN_EVENT_ON_CHILD) | FAN_ONDIR | (m->mask & FAN_EVENT_ON_CHILD);
}

bool interest_mask_applicable(uint32_t mask, bool is_dir, enum interest_slot slot)
{
        if (is_dir && !(mask & FAN_ONDIR))
                return false;
        return slot != SLOT_PARENT || (mask & FAN_EVENT_ON_CHILD);
}

uint32_t interest_effective_ignore(const struct interest_mark *m, bool is_dir, enum interest_slot slot)
{
        if (interest_ignored_events(m) == 0)
                return 0;
        /* of a non-directory that is not met as a child, no flag is asked */
        if (!is_dir && slot != SLOT_PARENT)
                return interest_ignored_events(m);
        if (!interest_mask_applicable(interest_ignore_mask(m), is_dir, slot))
                return 0;
        return interest_ignored_events(m);
}

uint32_t interest_of_marks(const struct interest_kernel *k, const struct interest_object *o)
{
        uint32_t interest = 0;

        for (const struct interest_mark *m = o->marks; m; m = m->next_on_object)
                interest |= interest_calc_mask(k, m);
        return interest;
}

uint32_t interest_watches_children(const struct interest_object *dir)
{
        return dir->interest & FAN_EVENT_ON_CHILD ? dir->interest & INTEREST_CHILD : 0;
}
