/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A directory with an ignore mark was moved to where rules look: between the move and
 * the removal of the mark nothing was told.  So it is listed, after the removal, and
 * what is new there is held against the queue: what no event tells of is recorded
 * from the look itself (FAWATCH_ORIGIN=scan).  What was made and removed again
 * meanwhile is not known.
 */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/fanotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dirwalk.h"
#include "fdutil.h"
#include "hash.h"
#include "lru.h"
#include "pipeline_internal.h"
#include "unwanted.h"

/* As many entries wait for the queue at a time; what is over is recorded without. */
#define MAX_WAITING 65536u
#define TOLD_WAYS   8u
#define KEY_MAX     (8u + 4u + 128u + 256u)

struct found {
        uint32_t fs;
        uint32_t events;
        bool is_dir;
        uint64_t told[2]; /* as is_told() asks for create and changed; 0 = not known */
        struct object object;
        size_t path_len;
        char path[];
};

struct adopt {
        struct adopt *next;
        struct group_key key; /* whose events are waited for */
        struct lru *found;    /* by directory and name */
        uint64_t left;        /* events queued before the last look and not judged yet */
        bool looked;          /* since the queue was counted */
        struct pipeline *pipeline;
        bool dropping; /* what leaves the table is recorded, else it is told by an event */
};

/* What was told lately, in short lines by hash, the newest first.  A look asks only about what was told
 * within a tick of the file clock: longer than a line no tick's share of it is. */
static uint64_t *told_line(const struct pipeline *p, uint64_t hash)
{
        return p->told + hash % (ADOPT_TOLD / TOLD_WAYS) * TOLD_WAYS;
}

static bool was_told(const struct pipeline *p, uint64_t hash)
{
        const uint64_t *line = told_line(p, hash);

        for (size_t i = 0; i < TOLD_WAYS; i++)
                if (line[i] == hash)
                        return true;
        return false;
}

static void set_told(struct pipeline *p, uint64_t hash)
{
        uint64_t *line = told_line(p, hash);

        if (was_told(p, hash))
                return;
        memmove(line + 1, line, (TOLD_WAYS - 1) * sizeof(*line));
        line[0] = hash;
}

static void hold_found(struct pipeline *p, const struct found *f)
{
        struct held *h = judge_new_held(p);
        size_t before = p->texts.len;

        if (!h || p->texts.failed) {
                p->params.counters->events_no_memory++;
                return;
        }
        *h = (struct held){
                .query = {
                        .events = f->events, .is_dir = f->is_dir,
                        .path = { .fs = f->fs, .path = f->path, .len = f->path_len },
                        .old_path = MATCH_PATH_NONE, .alias = MATCH_PATH_NONE, .unresolved_fs = WORLD_NONE,
                },
                .facts = {
                        .type = f->object.type, .owner_uid = ID_UNKNOWN, .owner_gid = ID_UNKNOWN,
                        .dir_uid = ID_UNKNOWN, .dir_gid = ID_UNKNOWN,
                },
                .object = f->object,
                .who = { .attribution = ATTRIBUTION_UNKNOWN, .actor = &actor_nobody },
                .origin = ORIGIN_SCAN,
                .read_usec = p->params.realtime_usec(),
                .end = p->judged_end,
        };
        h->shown = h->query.path;
        h->shown_at = judge_keep_text(p, f->path, f->path_len);
        if (p->texts.failed) {
                p->texts.len = before;
                p->texts.failed = false;
                p->params.counters->events_no_memory++;
                return;
        }
        p->n_held++;
        for (size_t i = 0; i < ELEMENTSOF(f->told); i++)
                if (f->told[i] != 0)
                        set_told(p, f->told[i]);
        p->params.counters->adopted++;
}

/* What is lost when this process is killed now. */
static void count_waiting(const struct pipeline *p, bool more)
{
        uint64_t *found = p->params.spool ? &spool_state(p->params.spool)->found : NULL;

        if (found && more)
                ++*found;
        else if (found && *found > 0)
                --*found;
}

static void dropped(void *userdata, void *value)
{
        struct adopt *a = userdata;

        count_waiting(a->pipeline, false);
        if (a->dropping)
                hold_found(a->pipeline, value);
        free(value);
}

static struct adopt *of_group(const struct pipeline *p)
{
        struct adopt *a = p->adopt;

        while (a && group_key_compare(&a->key, &p->key) != 0)
                a = a->next;
        return a;
}

static struct adopt *begin(struct pipeline *p)
{
        struct adopt *a = of_group(p);

        if (a)
                return a;
        a = calloc(1, sizeof(*a));
        if (!a)
                return NULL;
        *a = (struct adopt){ .next = p->adopt, .key = p->key, .pipeline = p, .dropping = true };
        if (lru_new(MAX_WAITING, SIZE_MAX, dropped, a, &a->found) < 0) {
                free(a);
                return NULL;
        }
        return p->adopt = a;
}

/* Everything that can be queued by now, when a window is judged: what was read, and what the kernel has. */
static void count_queue(struct pipeline *p, struct adopt *a)
{
        uint64_t queued = 0, bytes;

        if (p->group)
                (void)fan_group_queued(p->group, &queued, &bytes);
        a->left = p->next->n_events + queued;
        a->looked = false;
}

static size_t key_of(const struct fan_handle *dir, const char *name, size_t len, uint8_t key[static KEY_MAX])
{
        size_t n = MIN_OF(dir->len, 128u), m = MIN_OF(len, (size_t)256);

        memcpy(key, &dir->fsid, 8);
        memcpy(key + 8, &dir->type, 4);
        memcpy(key + 12, dir->bytes, n);
        memcpy(key + 12 + n, name, m);
        return 12 + n + m;
}

/* One thing that was told of one object under one name, as a number: the handle of an object is never used
 * again, so that two that are equal are the same. */
static uint64_t hash_told(const struct fan_handle *dir, const char *name, size_t len,
                          const struct fan_handle *object, uint32_t event)
{
        uint64_t h = hash_mix(dir->fsid, event);

        h = hash_mix(h, hash_bytes((const char *)dir->bytes, dir->len));
        h = hash_mix(h, hash_bytes((const char *)object->bytes, object->len));
        return hash_mix(h, hash_bytes(name, len));
}

static struct found *make_found(const struct match_path *path, const char *name, const struct object *object,
                                uint32_t events)
{
        size_t len = strlen(name), total = path->len + (len > 0) + len;
        struct found *f = malloc(sizeof(*f) + total + 1);
        bool root = path->len == 1;

        if (!f)
                return NULL;
        *f = (struct found){
                .fs = path->fs,
                .events = events,
                .is_dir = object->type == TYPE_DIRECTORY,
                .object = *object,
        };
        memcpy(f->path, path->path, path->len);
        f->path_len = path->len;
        if (len > 0) {
                if (!root)
                        f->path[f->path_len++] = '/';
                memcpy(f->path + f->path_len, name, len);
                f->path_len += len;
        }
        f->path[f->path_len] = '\0';
        return f;
}

/* File times tick: what happened just before a mark was placed looks as if it had happened after, but was
 * told. */
static uint32_t told_before(const struct pipeline *p, const struct fan_handle *dir, const struct adopt_entry *e,
                            uint64_t hashes[static 2])
{
        static const uint32_t events[] = { EV_CREATE, EV_CHANGED };
        uint32_t told_events = 0;

        for (size_t i = 0; e->handle && i < ELEMENTSOF(events); i++) {
                hashes[i] = hash_told(dir, e->name, strlen(e->name), e->handle, events[i]);
                if (was_told(p, hashes[i]))
                        told_events |= events[i];
        }
        return told_events;
}

void adopt_one(struct pipeline *p, const struct fan_handle *dir, const struct match_path *path,
               const struct adopt_entry *e)
{
        struct adopt *a = p->told ? begin(p) : NULL;
        uint8_t key[KEY_MAX];
        size_t key_len = key_of(dir, e->name, strlen(e->name), key);
        struct found *f;
        uint64_t hashes[2] = {};
        uint32_t events;

        if (!a)
                return;
        a->looked = true;
        /* found by the look before, and held against the queue already */
        if (lru_get(a->found, key, key_len))
                return;
        events = e->events & ~told_before(p, dir, e, hashes);
        f = events != 0 ? make_found(path, e->name, e->object, events) : NULL;
        if (!f)
                return;
        memcpy(f->told, hashes, sizeof(hashes));
        count_waiting(p, true);
        if (lru_put(a->found, key, key_len, f, 1) < 0)
                dropped(a, f);
}

#define ASKED (STATX_BASIC_STATS | STATX_BTIME)

static void look_at_entry(struct pipeline *p, int dir_fd, const struct fan_handle *dir,
                          const struct match_path *path, const char *name, uint64_t since)
{
        uint8_t bytes[DIRWALK_HANDLE_BYTES];
        struct fan_handle handle = { .fsid = dir->fsid };
        struct adopt_entry e = { .name = name };
        struct object object;
        struct statx stx;

        if (statx(dir_fd, name, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT, ASKED, &stx) < 0)
                return;
        object = dirwalk_object(&stx);
        e.object = &object;
        e.events = dirwalk_events_since(&stx, since);
        if (e.events == 0)
                return;
        if (dirwalk_handle(dir_fd, name, &handle, bytes) == 0)
                e.handle = &handle;
        adopt_one(p, dir, path, &e);
}

static bool is_unwanted(const struct pipeline *p, const struct match_path *dir)
{
        const uint32_t all = UNWANTED_ENTRY | UNWANTED_CHILD;
        struct unwanted u;

        return unwanted_in_dir(p->generation->matcher, dir, &u) == 0 && (u.events & all) == all;
}

void adopt_directory(struct pipeline *p, const struct fan_handle *dir, const struct match_path *path,
                     uint64_t since_usec)
{
        if (is_unwanted(p, path) || !begin(p))
                return;
        _cleanup_close_ int handle_fd = resolver_open(p->params.resolver, dir, O_DIRECTORY);
        int fd = handle_fd < 0 ? -1 : openat(handle_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOATIME);
        DIR *d = fd < 0 ? NULL : fdopendir(fd);
        if (!d) {
                (void)close_fd(fd);
                return;
        }
        for (struct dirent *e; (e = readdir(d));)
                if (!streq(e->d_name, ".") && !streq(e->d_name, ".."))
                        look_at_entry(p, fd, dir, path, e->d_name, since_usec);
        (void)closedir(d);
}

/* Of a file by its handle: the event that would tell has its directory and name, which are not known here. */
void adopt_file(struct pipeline *p, const struct fan_handle *file, const struct match_path *path,
                uint64_t since_usec)
{
        _cleanup_close_ int fd = resolver_open(p->params.resolver, file, 0);
        struct object object;
        struct adopt *a;
        struct statx stx;
        uint8_t key[KEY_MAX];
        struct found *f;

        if (fd < 0 || statx(fd, "", AT_EMPTY_PATH, ASKED, &stx) < 0 ||
            !(dirwalk_events_since(&stx, since_usec) & EV_CHANGED))
                return;
        a = begin(p);
        if (!a)
                return;
        a->looked = true;
        object = dirwalk_object(&stx);
        f = make_found(path, "", &object, EV_CHANGED);
        if (!f)
                return;
        count_waiting(p, true);
        if (lru_put(a->found, key, key_of(file, "", 0, key), f, 1) < 0)
                dropped(a, f);
}

static void told(struct adopt *a, const struct fan_handle *h, const struct fan_name *name, uint32_t events)
{
        uint8_t key[KEY_MAX];
        size_t len;
        struct found *f;

        if (!fan_handle_given(h))
                return;
        len = key_of(h, name ? name->p : "", name ? name->len : 0, key);
        f = lru_get(a->found, key, len);
        if (!f)
                return;
        f->events &= ~events;
        if (f->events != 0)
                return;
        a->dropping = false;
        (void)lru_remove(a->found, key, len);
        a->dropping = true;
}

static void remember(struct pipeline *p, struct adopt *a, const struct fan_handle *dir,
                     const struct fan_name *name, const struct fan_handle *object, uint32_t events)
{
        if (!fan_handle_given(dir) || !fan_handle_given(object) || !name->p)
                return;
        for (uint32_t left = events; left != 0; left &= left - 1)
                set_told(p, hash_told(dir, name->p, name->len, object, left & -left));
        if (a)
                told(a, dir, name, events);
}

void adopt_judged(struct pipeline *p, const struct fan_event *e)
{
        struct adopt *a;
        uint32_t events = 0;

        if (p->key.kind == GROUP_MOUNT || !p->told)
                return;
        a = of_group(p);
        if (a)
                a->left -= a->left > 0;
        if (e->mask & (FAN_CREATE | FAN_MOVED_TO))
                events |= EV_CREATE;
        if (e->mask & (FAN_MODIFY | FAN_CLOSE_WRITE))
                events |= EV_CHANGED;
        if (e->mask & FAN_RENAME)
                remember(p, a, &e->new_dir, &e->new_name, &e->object, EV_CREATE);
        else if (events != 0)
                remember(p, a, &e->dir, &e->name, &e->object, events);
        if (a && (events & EV_CHANGED))
                told(a, &e->object, NULL, EV_CHANGED);
}

static void finish(struct pipeline *p, struct adopt *a)
{
        a->dropping = p->generation != NULL;
        lru_free(a->found);
        free(a);
}

void adopt_settle(struct pipeline *p, bool now)
{
        struct adopt *a = of_group(p);

        if (now) {
                adopt_free(p);
                return;
        }
        if (a && a->looked)
                count_queue(p, a);
        if (!a || a->left > 0)
                return;
        for (struct adopt **link = &p->adopt; *link; link = &(*link)->next)
                if (*link == a) {
                        *link = a->next;
                        break;
                }
        finish(p, a);
}

void adopt_free(struct pipeline *p)
{
        while (p->adopt) {
                struct adopt *a = p->adopt;

                p->adopt = a->next;
                finish(p, a);
        }
}
