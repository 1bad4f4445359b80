/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/*
 * /proc/PID/fdinfo/FD of a fanotify group → its marks: what the kernel really has
 * (proc(5), "fanotify" lines; fanotify_fdinfo() in fs/notify/fdinfo.c).
 */

#include "markset.h"

struct fdinfo {
        unsigned init_flags, event_flags; /* as given to fanotify_init(2), O_LARGEFILE added */
        struct markset marks;             /* where is "" throughout: the kernel does not keep paths */
        size_t n_unknown; /* inode marks without a handle (the filesystem was busy): read again */
};
#define FDINFO_NULL ((struct fdinfo){})
void fdinfo_done(struct fdinfo *f);
#define _cleanup_fdinfo_ _cleanup_(fdinfo_done)

/*
 * Marks on mount namespaces are left out.  FAN_EVENT_ON_CHILD, which the kernel
 * adds to the mask of filesystem and mount marks by itself, is taken off.
 * Returns 0; -EBADMSG for a line that is not the kernel's; -ENOMEM.
 */
int fdinfo_parse(const char *text, size_t len, const struct group_key *group, struct fdinfo *ret);
