/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <inttypes.h>
#include <systemd/sd-daemon.h>
#include <time.h>

#include "base.h"
#include "notify.h"

void notify_ready(const char *status)
{
        (void)sd_notifyf(0, "READY=1\nSTATUS=%s", status);
}

void notify_reloading(void)
{
        struct timespec now;
        clock_gettime(CLOCK_MONOTONIC, &now);
        (void)sd_notifyf(0, "RELOADING=1\nMONOTONIC_USEC=%" PRIu64,
                         (uint64_t)now.tv_sec * USEC_PER_SEC + (uint64_t)now.tv_nsec / NSEC_PER_USEC);
}

void notify_stopping(void)
{
        (void)sd_notify(0, "STOPPING=1\nSTATUS=writing what was read");
}

void notify_status(const char *status)
{
        (void)sd_notifyf(0, "STATUS=%s", status);
}
