/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/* Going through what read(2) of a group brought: events are aligned to four bytes, their type wants eight. */

#include <sys/types.h>

#include "base.h"
#include "fan_uapi.h"

struct event_cursor {
        const unsigned char *at;
        ssize_t left;
};

/* The next event's metadata; its records begin at *ret_records and end where the cursor then stands. */
static inline bool next_event(struct event_cursor *c, struct fanotify_event_metadata *ret,
                              const unsigned char **ret_records)
{
        if (c->left < (ssize_t)sizeof(*ret))
                return false;
        memcpy(ret, c->at, sizeof(*ret));
        *ret_records = c->at + sizeof(*ret);
        c->at += ret->event_len;
        c->left -= ret->event_len;
        return true;
}
