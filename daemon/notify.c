/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <inttypes.h>
#include <stdio.h>
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

void notify_store(const char *name, int fd)
{
        char message[128];

        (void)snprintf(message, sizeof(message), "FDSTORE=1\nFDNAME=%s", name);
        (void)sd_pid_notify_with_fds(0, 0, message, &fd, 1);
}

void notify_unstore(const char *name)
{
        (void)sd_notifyf(0, "FDSTOREREMOVE=1\nFDNAME=%s", name);
}

bool notify_watchdog_interval(uint64_t *ret_usec)
{
        return sd_watchdog_enabled(0, ret_usec) > 0;
}

void notify_watchdog(void)
{
        (void)sd_notify(0, "WATCHDOG=1");
}
