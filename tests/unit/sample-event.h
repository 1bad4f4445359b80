/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/* An event with everything that is usually known, and two rules that it hits:
 * what the tests of record, message and reporter vary. */

#include "record.h"
#include "rules.h"
#include "settings.h"

#define BYTES(text) ((struct bytes){ text, sizeof(text) - 1 })

static const char *const sample_tags[] = { "pci-dss:11.5.2", "deface" };
static const char *const sample_tags_too[] = { "deface", "night" };

static struct rule sample_watches[] = {
        { .clause = { .name = "etc" }, .priority = 5, .tags = { sample_tags, 2 },
          .coalesce_usec = COALESCE_UNSET },
        { .clause = { .name = "passwd" }, .priority = 4, .tags = { sample_tags_too, 2 },
          .coalesce_usec = COALESCE_UNSET, .index = 1 },
};
static const struct rules sample_rules = { .watches = sample_watches, .n_watches = 2 };

static struct match_hit sample_hit[] = { { 0, EV_MODIFY }, { 1, EV_MODIFY } };
static const struct match_hits sample_hits = { .v = sample_hit, .n = 1, .events = EV_MODIFY };
static const struct match_hits sample_two_hits = { .v = sample_hit, .n = 2, .events = EV_MODIFY };

static const struct actor sample_actor = {
        .pid = 4242, .start_ticks = 77, .program_known = true,
        .comm = "vipw", .exe = "/usr/sbin/vipw", .cmdline = { "vipw -s", 7 },
        .uid = 1000, .euid = 0, .gid = 1000, .egid = 0, .loginuid = 1000,
        .user = "root", .login_user = "alice", .session = "3", .tty = "pts/1",
        .ppid = 4000, .parent_comm = "bash", .ancestry = "bash(4000) \xe2\x86\x90 sshd(812)",
        .unit = "session-3.scope", .slice = "user-1000.slice",
        .cgroup = "/user.slice/user-1000.slice/session-3.scope",
};

static const struct event sample_event = {
        .events = EV_MODIFY | EV_CLOSE_WRITE,
        .path = { "/etc/passwd", 11 },
        .fstype = "ext4", .sdev_major = 8, .sdev_minor = 1,
        .object = { .known = true, .type = TYPE_FILE, .dev_major = 8, .dev_minor = 1, .ino = 1234,
                    .mode = 0100644, .uid = 0, .gid = 42, .size = 1820,
                    .owner = "root", .owner_group = "shadow" },
        .attribution = ATTRIBUTION_VERIFIED, .actor = &sample_actor,
        .read_realtime_usec = UINT64_C(1700000000000000),
};

static const struct record_context sample_context = {
        .stream = "0123456789abcdef0123456789abcdef", .seq = 17, .generation = 3, .rules = &sample_rules,
};
#define SAMPLE_NOW UINT64_C(1700000000500000) /* half a second later */
