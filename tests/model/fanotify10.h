/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/*
 * What the Linux Test Project's fanotify10 checks of ignore masks, as data: a mark
 * here, an ignore mask there, an event: what arrives with the ignore mask and what
 * without it.  The model and the running kernel are both asked.
 *
 * The place: a filesystem mounted twice, with a directory that holds two files,
 * two executable files and a directory.  Cases 24 to 27, which need eviction, are
 * EVICTABLE: their ignore marks are evicted before the event.
 */

#include "base.h"
#include "fan_uapi.h"

enum f10_object {
        F10_FILE, F10_FILE2, F10_EXE, F10_EXE2, F10_SUBDIR, /* the entries of the directory */
        F10_PARENT,
        F10_MOUNT1, F10_MOUNT2, F10_FILESYSTEM,
        F10_N_OBJECTS,
};

struct f10_case {
        const char *text;
        enum f10_object mark;
        uint32_t mark_flags;
        enum f10_object ignore;
        uint32_t ignore_flags;
        enum f10_object event;
        unsigned mount; /* through which the event comes: 1 or 2 */
        uint32_t with, without;
        bool evictable;
};

#define F10_CHILD FAN_EVENT_ON_CHILD
#define F10_BOTH (FAN_OPEN | FAN_OPEN_EXEC)
#define F10_DIR (FAN_OPEN | FAN_ONDIR)

/* clang-format off */
static const struct f10_case f10_cases[] = {
        { "mount, ignore its file", F10_MOUNT1, 0, F10_FILE, 0, F10_FILE, 1, 0, FAN_OPEN, false },
        { "mount, ignore its exe", F10_MOUNT1, 0, F10_EXE, 0, F10_EXE, 1, FAN_OPEN_EXEC, F10_BOTH, false },
        { "mount, ignore another file", F10_MOUNT1, 0, F10_FILE, 0, F10_FILE2, 1, FAN_OPEN, FAN_OPEN, false },
        { "mount, ignore another exe", F10_MOUNT1, 0, F10_EXE, 0, F10_EXE2, 1, F10_BOTH, F10_BOTH, false },
        { "file, ignore its mount", F10_FILE, 0, F10_MOUNT2, 0, F10_FILE, 2, 0, FAN_OPEN, false },
        { "exe, ignore its mount", F10_EXE, 0, F10_MOUNT2, 0, F10_EXE, 2, FAN_OPEN_EXEC, F10_BOTH, false },
        { "file, ignore another mount", F10_FILE, 0, F10_MOUNT2, 0, F10_FILE, 1, FAN_OPEN, FAN_OPEN, false },
        { "exe, ignore another mount", F10_EXE, 0, F10_MOUNT2, 0, F10_EXE, 1, F10_BOTH, F10_BOTH, false },
        { "filesystem, ignore its file", F10_FILESYSTEM, 0, F10_FILE, 0, F10_FILE, 1, 0, FAN_OPEN, false },
        { "filesystem, ignore its exe", F10_FILESYSTEM, 0, F10_EXE, 0, F10_EXE, 1, FAN_OPEN_EXEC, F10_BOTH,
          false },
        { "filesystem, ignore another file", F10_FILESYSTEM, 0, F10_FILE, 0, F10_FILE2, 1, FAN_OPEN, FAN_OPEN,
          false },
        { "filesystem, ignore another exe", F10_FILESYSTEM, 0, F10_EXE, 0, F10_EXE2, 1, F10_BOTH, F10_BOTH,
          false },
        { "filesystem, ignore the file's mount", F10_FILESYSTEM, 0, F10_MOUNT2, 0, F10_FILE, 2, 0, FAN_OPEN,
          false },
        { "filesystem, ignore the exe's mount", F10_FILESYSTEM, 0, F10_MOUNT2, 0, F10_EXE, 2, FAN_OPEN_EXEC,
          F10_BOTH, false },
        { "filesystem, ignore another mount", F10_FILESYSTEM, 0, F10_MOUNT2, 0, F10_FILE, 1, FAN_OPEN,
          FAN_OPEN, false },
        { "filesystem, ignore another mount of an exe", F10_FILESYSTEM, 0, F10_MOUNT2, 0, F10_EXE, 1,
          F10_BOTH, F10_BOTH, false },
        { "parent, ignore the mount", F10_PARENT, F10_CHILD, F10_MOUNT1, 0, F10_EXE, 1, FAN_OPEN_EXEC,
          F10_BOTH, false },
        { "parent, ignore its children", F10_PARENT, F10_CHILD, F10_PARENT, F10_CHILD, F10_FILE, 1, 0,
          FAN_OPEN, false },
        { "file, ignore the parent's children", F10_FILE, 0, F10_PARENT, F10_CHILD, F10_FILE, 1, 0, FAN_OPEN,
          false },
        { "file, ignore the parent alone", F10_FILE, 0, F10_PARENT, 0, F10_FILE, 1, FAN_OPEN, FAN_OPEN,
          false },
        { "mount, ignore the parent's children", F10_MOUNT1, 0, F10_PARENT, F10_CHILD, F10_FILE, 1, 0,
          FAN_OPEN, false },
        { "mount, ignore the parent alone", F10_MOUNT1, 0, F10_PARENT, 0, F10_FILE, 1, FAN_OPEN, FAN_OPEN,
          false },
        { "filesystem, ignore the parent's children", F10_FILESYSTEM, 0, F10_PARENT, F10_CHILD, F10_FILE, 1,
          0, FAN_OPEN, false },
        { "filesystem, ignore the parent alone", F10_FILESYSTEM, 0, F10_PARENT, 0, F10_FILE, 1, FAN_OPEN,
          FAN_OPEN, false },
        { "mount, ignore of a file evicted", F10_MOUNT1, 0, F10_FILE, 0, F10_FILE, 1, FAN_OPEN, FAN_OPEN,
          true },
        { "filesystem, ignore of a file evicted", F10_FILESYSTEM, 0, F10_FILE, 0, F10_FILE, 1, FAN_OPEN,
          FAN_OPEN, true },
        { "mount, ignore of the parent evicted", F10_MOUNT1, 0, F10_PARENT, F10_CHILD, F10_FILE, 1, FAN_OPEN,
          FAN_OPEN, true },
        { "filesystem, ignore of the parent evicted", F10_FILESYSTEM, 0, F10_PARENT, F10_CHILD, F10_FILE, 1,
          FAN_OPEN, FAN_OPEN, true },
        { "subdirectory, ignore the parent's subdirectories", F10_SUBDIR, FAN_ONDIR, F10_PARENT,
          F10_CHILD | FAN_ONDIR, F10_SUBDIR, 1, 0, F10_DIR, false },
        { "subdirectory, ignore the parent itself", F10_SUBDIR, FAN_ONDIR, F10_PARENT, FAN_ONDIR, F10_SUBDIR,
          1, F10_DIR, F10_DIR, false },
        { "subdirectory, ignore the parent's files", F10_SUBDIR, FAN_ONDIR, F10_PARENT, F10_CHILD, F10_SUBDIR,
          1, F10_DIR, F10_DIR, false },
};
/* clang-format on */

/* FAN_MARK_IGNORED_MASK says nothing of directories: what the last three cases tell apart. */
static inline bool f10_needs_ignore_flags(const struct f10_case *c)
{
        return c->event == F10_SUBDIR;
}

/* How an ignore mask is placed: by FAN_MARK_IGNORE, or by FAN_MARK_IGNORED_MASK, where children are
 * taken in by the flag in the mark's own mask. */
enum f10_api { F10_LEGACY, F10_IGNORE, F10_N_APIS };

/* The groups of the original; what they are told is the same, but FAN_ONDIR comes with handles only. */
static const unsigned f10_groups[] = {
        FAN_CLASS_NOTIF,
        FAN_CLASS_CONTENT,
        FAN_CLASS_NOTIF | FAN_REPORT_DFID_NAME | FAN_REPORT_FID,
};
