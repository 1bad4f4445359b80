/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/*
 * /proc/PID/cgroup → what systemd and the container engines mean by it: the
 * unit, the unit of the user's own manager, the slice, the container.
 */

#include "event.h"
#include "strbuf.h"

struct cgroup_info { /* points into the text; p NULL = absent */
        struct bytes path;      /* the unified hierarchy's, else systemd's own */
        struct bytes slice;     /* the innermost slice above the unit */
        struct bytes unit;      /* of the system manager: "cron.service", "session-3.scope" */
        struct bytes user_unit; /* of user@UID.service's manager */
        struct bytes container; /* id or name; a pod's id where only the pod is known */
};

/* Never fails: what the text does not say is absent. */
void cgroup_parse(const char *text, size_t len, struct cgroup_info *ret);

/* Appends a unit name part with systemd's \xHH escapes undone ("my\x2dbox" → "my-box"). */
void cgroup_unescape(const struct bytes *escaped, struct strbuf *out);
