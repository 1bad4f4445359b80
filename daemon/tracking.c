/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "tracking.h"

#include "log.h"
#include "proc_events.h"

void tracking_stop(struct street *s)
{
        (void)attributor_set_tracker(s->attributor, NULL);
        proc_events_free(STEAL(s->tracker));
}

void tracking_apply(struct street *s, const struct settings *settings)
{
        const char *reason;

        if (!settings->process_tracking) {
                tracking_stop(s);
                return;
        }
        if (s->tracker)
                return;
        if (proc_events_new(&s->tracker, &reason) < 0) {
                /* said once, not at each reload */
                if (s->tracker_reason != reason)
                        log_message(LOG_NOTICE,
                                    "short-lived processes are not named (%s): who did it is read from "
                                    "/proc alone",
                                    reason);
                s->tracker_reason = reason;
                return;
        }
        s->tracker_reason = NULL;
        if (attributor_set_tracker(s->attributor, s->tracker) < 0) {
                s->tracker_reason = "out of memory";
                tracking_stop(s);
                return;
        }
        tracking_watch_groups(s, 0);
}

void tracking_watch_groups(struct street *s, uint64_t since_ns)
{
        struct fan_group *const *groups;
        size_t n = s->tracker ? marks_groups(s->marks, &groups) : 0;

        for (size_t i = 0; i < n; i++)
                if (fan_group_key(groups[i])->kind == GROUP_MAIN) {
                        proc_events_watch_queue(s->tracker, fan_group_fd(groups[i]), since_ns);
                        return;
                }
}

void tracking_describe(const struct street *s, const struct settings *settings, struct strbuf *out)
{
        struct proc_events_status status;

        if (!settings->process_tracking) {
                strbuf_adds(out, "off");
                return;
        }
        if (!s->tracker) {
                strbuf_addf(out, "/proc: %s", s->tracker_reason ? s->tracker_reason : "not started");
                return;
        }
        proc_events_status(s->tracker, &status);
        strbuf_addf(out, "process events%s%s", status.realtime ? "" : ", without real-time priority",
                    status.scanning ? ", incomplete: events were lost a moment ago" : "");
}
