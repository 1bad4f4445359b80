/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/* A scene of objects for tests of lib/interest, with short names for what is said often.  After cmocka.h. */

#include <errno.h>
#include <stdio.h>

#include "fan_uapi.h"
#include "interest.h"

#define ADD FAN_MARK_ADD
#define REMOVE FAN_MARK_REMOVE
#define FLUSH FAN_MARK_FLUSH
#define MOUNT FAN_MARK_MOUNT
#define SB FAN_MARK_FILESYSTEM
#define LEGACY FAN_MARK_IGNORED_MASK
#define IGNORE FAN_MARK_IGNORE
#define SURV FAN_MARK_IGNORED_SURV_MODIFY
#define EVICTABLE FAN_MARK_EVICTABLE
#define CHILD FAN_EVENT_ON_CHILD
#define ONDIR FAN_ONDIR

#define FD FAN_CLASS_NOTIF
#define FID FAN_REPORT_FID
#define DIR_FID FAN_REPORT_DIR_FID
#define NAME FAN_REPORT_DFID_NAME
#define NAME_FID (FAN_REPORT_DFID_NAME | FAN_REPORT_FID)
#define TARGET FAN_REPORT_DFID_NAME_TARGET

static const struct interest_kernel newest = {
        .rename = true,
        .fs_error = true,
        .evictable = true,
        .ignore = true,
        .ignore_is_interest = true,
        .special_untold = true,
};

/* Two directories with a file, a subdirectory and a fifo in the first; mounted twice. */
enum object { ROOT, DIR, DIR2, FILE_, SUBDIR, FIFO, DIRS_MOUNT, OTHER_MOUNT, FILESYSTEM, N_OBJECTS };

struct scene {
        struct interest_kernel kernel;
        struct interest_object o[N_OBJECTS];
        struct interest_group group[2];
        struct interest_report report;
};

static const struct interest_object empty_scene[N_OBJECTS] = {
        [ROOT] = { .kind = MARK_INODE, .type = TYPE_DIRECTORY },
        [DIR] = { .kind = MARK_INODE, .type = TYPE_DIRECTORY },
        [DIR2] = { .kind = MARK_INODE, .type = TYPE_DIRECTORY },
        [FILE_] = { .kind = MARK_INODE, .type = TYPE_FILE },
        [SUBDIR] = { .kind = MARK_INODE, .type = TYPE_DIRECTORY },
        [FIFO] = { .kind = MARK_INODE, .type = TYPE_FIFO },
        [DIRS_MOUNT] = { .kind = MARK_MOUNT },
        [OTHER_MOUNT] = { .kind = MARK_MOUNT },
        [FILESYSTEM] = { .kind = MARK_FILESYSTEM },
};

static inline void scene_init(struct scene *s, unsigned init_flags)
{
        s->kernel = newest;
        memcpy(s->o, empty_scene, sizeof(s->o));
        for (size_t i = 0; i < ELEMENTSOF(s->group); i++)
                s->group[i] = (struct interest_group){ .init_flags = init_flags };
}

static inline void scene_done(struct scene *s)
{
        for (size_t i = 0; i < ELEMENTSOF(s->group); i++)
                interest_group_done(&s->kernel, &s->group[i]);
}

static inline int call(struct scene *s, unsigned g, unsigned flags, uint64_t mask, enum object inode)
{
        struct interest_place place = { &s->o[inode], &s->o[DIRS_MOUNT], &s->o[FILESYSTEM] };

        return interest_fanotify_mark(&s->kernel, &s->group[g], flags, mask, &place);
}

static inline void mark(struct scene *s, unsigned flags, uint64_t mask, enum object inode)
{
        assert_int_equal(call(s, 0, ADD | flags, mask, inode), 0);
}

static inline struct interest_mark *mark_of(struct scene *s, enum object o)
{
        return interest_find_mark(&s->o[o], &s->group[0]);
}

static inline struct interest_event event_at(struct scene *s, uint32_t events, enum object inode,
                                             enum object dir, bool path)
{
        return (struct interest_event){
                .events = events,
                .inode = &s->o[inode],
                .filesystem = &s->o[FILESYSTEM],
                .mount = path ? &s->o[DIRS_MOUNT] : NULL,
                .dir = dir == inode ? NULL : &s->o[dir],
        };
}

/* The mask that group 0 is told, 0 for nothing. */
static inline uint32_t told(const struct scene *s)
{
        for (size_t i = 0; i < s->report.n; i++)
                if (s->report.to[i].group == &s->group[0])
                        return s->report.to[i].mask;
        return 0;
}

/* An open file's event; of the subdirectory and the file the parent is DIR. */
static inline uint32_t on_path(struct scene *s, uint32_t events, enum object inode)
{
        struct interest_event e = event_at(s, events, inode, inode == DIR ? ROOT : DIR, true);

        interest_on_dentry(&s->kernel, &e, &s->report);
        return told(s);
}

static inline uint32_t on_dentry(struct scene *s, uint32_t events, enum object inode)
{
        struct interest_event e = event_at(s, events, inode, inode == DIR ? ROOT : DIR, false);

        interest_on_dentry(&s->kernel, &e, &s->report);
        return told(s);
}

static inline uint32_t on_name(struct scene *s, uint32_t events, enum object dir, enum object inode)
{
        struct interest_event e = event_at(s, events, inode, dir, false);

        interest_on_name(&s->kernel, &e, &s->report);
        return told(s);
}

static inline uint32_t on_inode(struct scene *s, uint32_t events, enum object inode)
{
        struct interest_event e = event_at(s, events, inode, inode, false);

        interest_on_inode(&s->kernel, &e, &s->report);
        return told(s);
}

static inline uint32_t on_rename(struct scene *s, enum object from, enum object to, enum object inode)
{
        struct interest_event e = event_at(s, FAN_RENAME, inode, from, false);

        e.new_dir = &s->o[to];
        interest_on_name(&s->kernel, &e, &s->report);
        return told(s);
}
