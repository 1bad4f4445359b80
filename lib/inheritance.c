/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "inheritance.h"

static struct inheritance_gap of_store(const char *fault, const char *otherwise)
{
        return (struct inheritance_gap){ .kind = "store", .reason = fault ? fault : otherwise };
}

/* The queue goes on: what of the rest is missing. */
static size_t gaps_of_heir(const struct inheritance *i, struct inheritance_gap *ret)
{
        size_t n = 0;

        if (!i->spool)
                ret[n++] = of_store(i->spool_fault, "the spool of the process before is missing");
        if (i->group_fault || i->new_group)
                ret[n++] = of_store(i->group_fault,
                                    "no process before watched one of the mounts: its fanotify group is new");
        if (!i->rules)
                ret[n++] = of_store(i->rules_fault, "the rules of the process before are missing: what waited "
                                                    "is judged by those of the files");
        return n;
}

size_t inheritance_gaps(const struct inheritance *i, struct inheritance_gap ret[static INHERITANCE_MAX_GAPS])
{
        if (i->main_group)
                return gaps_of_heir(i, ret);
        if (i->groups || i->group_fault || i->spool)
                ret[0] = of_store(i->group_fault, "the fanotify group of the process before is missing");
        else if (i->spool_fault || i->rules_fault)
                ret[0] = of_store(i->spool_fault, i->rules_fault);
        else if (!i->life)
                return 0;
        else if (i->same_boot)
                ret[0] = (struct inheritance_gap){ "absent", "fawatchd was not running" };
        else
                ret[0] = (struct inheritance_gap){
                        "boot", "the machine was started, and fawatchd was not running before"
                };
        return 1;
}
