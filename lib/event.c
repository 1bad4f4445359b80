/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The names of the closed lists that an event carries. */

#include "event.h"

const struct actor actor_nobody = {
        .uid = ID_UNKNOWN,
        .euid = ID_UNKNOWN,
        .gid = ID_UNKNOWN,
        .egid = ID_UNKNOWN,
        .loginuid = ID_UNKNOWN,
};

/* An index outside of the table is a value that no version of ours writes. */
static const char *name_of(const char *const *names, size_t n, size_t i)
{
        return i < n ? names[i] : NULL;
}

const char *attribution_name(enum attribution a)
{
        static const char *const names[N_ATTRIBUTIONS] = {
                [ATTRIBUTION_UNKNOWN] = "unknown",   [ATTRIBUTION_VERIFIED] = "verified",
                [ATTRIBUTION_PROCESS] = "process",   [ATTRIBUTION_TRACKED] = "tracked",
                [ATTRIBUTION_EXITED] = "exited",     [ATTRIBUTION_FOREIGN] = "foreign",
                [ATTRIBUTION_KERNEL] = "kernel",
        };

        return name_of(names, ELEMENTSOF(names), a);
}

const char *path_state_name(enum path_state s)
{
        static const char *const names[] = {
                [PATH_NORMAL] = NULL,
                [PATH_REPLACED] = "replaced",
                [PATH_DELETED] = "deleted",
                [PATH_HIDDEN] = "hidden",
                [PATH_INSIDE] = "inside",
        };

        return name_of(names, ELEMENTSOF(names), s);
}

const char *origin_name(enum origin o)
{
        static const char *const names[] = {
                [ORIGIN_KERNEL] = NULL,
                [ORIGIN_SCAN] = "scan",
                [ORIGIN_RECOVERY] = "recovery",
                [ORIGIN_REPLAY] = "replay",
        };

        return name_of(names, ELEMENTSOF(names), o);
}
