/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "store.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <systemd/sd-daemon.h>

#include "fdutil.h"
#include "notify.h"

#define NAME_MAX_BYTES 64
#define MAIN_GROUP     "group-main"
#define MOUNT_GROUP    "group-mount-"
#define FILESYSTEM_GROUP "group-filesystem-"

struct store {
        bool works;
        size_t n;
        struct stored {
                int fd; /* -1: taken */
                char name[NAME_MAX_BYTES];
        } v[];
};

int store_open(struct store **ret)
{
        /* Before the names are asked for: that takes the variable out of the environment. */
        bool works = getenv("NOTIFY_SOCKET");
        char **names = NULL;
        int handed = sd_listen_fds_with_names(1, &names), n = MAX_OF(handed, 0);
        struct store *s = calloc(1, sizeof(*s) + (size_t)n * sizeof(s->v[0]));

        for (int i = 0; i < n; i++) {
                if (s) {
                        s->v[i].fd = SD_LISTEN_FDS_START + i;
                        (void)snprintf(s->v[i].name, sizeof(s->v[i].name), "%s", names[i]);
                } else {
                        (void)close_fd(SD_LISTEN_FDS_START + i);
                }
                free(names[i]);
        }
        free(names);
        if (!s)
                return -ENOMEM;
        s->works = works;
        s->n = (size_t)n;
        *ret = s;
        return 0;
}

void store_forget_rest(struct store *s)
{
        for (size_t i = 0; i < s->n; i++)
                if (s->v[i].fd >= 0) {
                        store_drop(s, s->v[i].name);
                        s->v[i].fd = close_fd(s->v[i].fd);
                }
}

void store_free(struct store *s)
{
        if (s)
                store_forget_rest(s);
        free(s);
}

bool store_works(const struct store *s)
{
        return s->works;
}

size_t store_count(const struct store *s)
{
        return s->n;
}

int store_take(struct store *s, const char *name)
{
        for (size_t i = 0; i < s->n; i++)
                if (s->v[i].fd >= 0 && streq(s->v[i].name, name))
                        return STEAL_FD(s->v[i].fd);
        return -1;
}

/* prefix and a number, nothing behind it. */
static bool numbered(const char *name, const char *prefix, uint64_t *ret)
{
        size_t len = strlen(prefix);
        char *end;

        if (strncmp(name, prefix, len) != 0 || name[len] < '0' || name[len] > '9')
                return false;
        errno = 0;
        *ret = strtoull(name + len, &end, 10);
        return errno == 0 && *end == '\0';
}

int store_take_numbered(struct store *s, const char *prefix, uint64_t *ret_number)
{
        struct stored *best = NULL;
        uint64_t highest = 0, number;

        for (size_t i = 0; i < s->n; i++)
                if (s->v[i].fd >= 0 && numbered(s->v[i].name, prefix, &number) &&
                    (!best || number > highest)) {
                        best = &s->v[i];
                        highest = number;
                }
        if (!best)
                return -1;
        *ret_number = highest;
        return STEAL_FD(best->fd);
}

int store_take_group(struct store *s, struct group_key *ret_key)
{
        uint64_t mount_id;

        for (size_t i = 0; i < s->n; i++) {
                if (s->v[i].fd < 0)
                        continue;
                if (streq(s->v[i].name, MAIN_GROUP))
                        *ret_key = (struct group_key){ .kind = GROUP_MAIN };
                else if (numbered(s->v[i].name, MOUNT_GROUP, &mount_id) && mount_id <= INT32_MAX)
                        *ret_key = (struct group_key){ .kind = GROUP_MOUNT, .mount_id = (int)mount_id };
                else if (numbered(s->v[i].name, FILESYSTEM_GROUP, &mount_id) && mount_id <= UINT32_MAX)
                        *ret_key = (struct group_key){ .kind = GROUP_FILESYSTEM, .mount_id = (int)mount_id };
                else
                        continue;
                return STEAL_FD(s->v[i].fd);
        }
        return -1;
}

void store_put(struct store *s, const char *name, int fd)
{
        if (s->works)
                notify_store(name, fd);
}

void store_drop(struct store *s, const char *name)
{
        if (s->works)
                notify_unstore(name);
}

static void group_name(const struct group_key *key, char name[static NAME_MAX_BYTES])
{
        if (key->kind == GROUP_MAIN)
                (void)snprintf(name, NAME_MAX_BYTES, "%s", MAIN_GROUP);
        else if (key->kind == GROUP_MOUNT)
                (void)snprintf(name, NAME_MAX_BYTES, MOUNT_GROUP "%d", key->mount_id);
        else
                (void)snprintf(name, NAME_MAX_BYTES, FILESYSTEM_GROUP "%u", (unsigned)key->mount_id);
}

void store_put_group(struct store *s, const struct fan_group *g)
{
        char name[NAME_MAX_BYTES];

        group_name(fan_group_key(g), name);
        store_put(s, name, fan_group_fd(g));
}

void store_drop_group(struct store *s, const struct fan_group *g)
{
        char name[NAME_MAX_BYTES];

        group_name(fan_group_key(g), name);
        store_drop(s, name);
}
