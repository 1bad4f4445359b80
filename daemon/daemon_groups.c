/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The daemon's fanotify groups: opened, taken over, read, made anew. */
#include <errno.h>
#include <string.h>

#include "daemon_groups.h"
#include "gaps.h"
#include "log.h"
#include "notes.h"

/* Windows of each group that are read before it is replaced. */
#define RENEW_ROUNDS 64

int daemon_open_marks(struct daemon *d)
{
        const struct marks_params params = {
                .kernel = &d->generation->world->kernel,
                .queue_unlimited = d->generation->settings->queue_unlimited,
                .adopted = d->heritage.groups,
                .n_adopted = d->heritage.n_groups,
                .found = &d->heritage.marks,
                .group_changed = heritage_group_changed,
                .userdata = d,
        };
        d->heritage.n_groups = 0;
        int r = marks_new(&params, &d->street.marks);
        if (r == -ENOSYS)
                log_message(LOG_ERR, "this kernel has no fanotify (CONFIG_FANOTIFY)");
        else if (r == -EMFILE)
                log_message(LOG_ERR, "no more fanotify groups for this user (fs.fanotify.max_user_groups)");
        else if (r < 0)
                log_message(LOG_ERR, "fanotify_init: %s", strerrorname_np(-r));
        return r;
}

bool daemon_read_once(struct daemon *d)
{
        struct fan_group *const *groups;
        size_t n = marks_groups(d->street.marks, &groups);
        bool more = false;

        for (size_t i = 0; i < n; i++)
                more |= pipeline_dispatch(d->street.pipeline, groups[i]) == 1;
        return more;
}

int daemon_renew_groups(struct daemon *d, const char *reason)
{
        struct marks *before = d->street.marks;
        struct fan_group *const *groups;
        size_t n = marks_groups(before, &groups);
        struct reload_result result;
        struct gap_note gap = { .kind = "store", .reason = reason };

        for (unsigned i = 0; i < RENEW_ROUNDS && daemon_read_once(d); i++)
                ;
        gap.from_usec = daemon_realtime_usec();
        for (size_t i = 0; i < n; i++)
                heritage_group_changed(d, groups[i], false);
        d->street.marks = NULL;
        int r = daemon_open_marks(d);
        if (r < 0) {
                d->street.marks = before;
                return r;
        }
        d->queues_since_ns = daemon_monotonic_usec() * NSEC_PER_USEC;
        learn_set_marks(d->street.learn, d->street.marks);
        until_set_marks(d->street.until, d->street.marks);
        dirmarks_set_marks(d->street.dirmarks, d->street.marks);
        r = reload_apply(&d->street, NULL, d->generation, &result);
        daemon_groups_changed(d);
        marks_free(before);
        gap.until_usec = daemon_realtime_usec();
        gaps_note(d, &gap);
        return r;
}
