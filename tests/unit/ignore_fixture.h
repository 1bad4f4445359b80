/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/*
 * The whole street with its marks and its table of ignores, on one filesystem in a
 * mount namespace of the test's own; records are remembered as lines.
 */

#include "generation.h"
#include "learn.h"
#include "reload.h"

#define IGNORE_ROOT "/mnt"

struct ignore_street {
        struct street street;
        struct generation *generation;
        bool kernel_ignores, legacy;
        size_t world_changes;
        uint64_t max_directory_marks; /* 0: as by default */
        /* what outlives a process */
        void *area;
        size_t area_size;
        struct spool *spool;
        int left_fd;
};

/* Enters the namespace, or remembers why not. */
void ignore_enter(void);
/* A sentence on that, or NULL. */
const char *ignore_why_not(void);
/* At the head of a test (cmocka.h is included by the test). */
#define NEEDS_KERNEL()                                                                                       \
        do {                                                                                                 \
                if (ignore_why_not()) {                                                                      \
                        print_message("# %s\n", ignore_why_not());                                           \
                        skip();                                                                              \
                }                                                                                            \
        } while (0)
/* An empty filesystem at IGNORE_ROOT: "tmpfs", "ext4" on a file in another tmpfs, or "overlay" over two directories
 * of one. */
void ignore_mount(const char *fstype);
void ignore_unmount(void);

void ignore_open(struct ignore_street *s, const char *rules, bool kernel_ignores);
/* With what is set in it already; the rest is zero. */
void ignore_open_as(struct ignore_street *s, const char *rules);
/* The same without FAN_MARK_IGNORE and FAN_MARK_EVICTABLE. */
void ignore_open_legacy(struct ignore_street *s, const char *rules);
/* With a spool, whose area (to free) outlives it. */
void ignore_open_kept(struct ignore_street *s, const char *rules);
/* The process is no more: its group and its spool are what is left. */
void ignore_kill(struct ignore_street *s);
/* The next one, to the point where it begins to read. */
void ignore_start_again(struct ignore_street *s, const char *rules);
/* These rules and the world of now, to be freed. */
struct generation *ignore_build(const struct ignore_street *s, const char *rules);
void ignore_load(struct ignore_street *s, const char *rules);
void ignore_close(struct ignore_street *s);
/* Dispatches until the queues are empty. */
void ignore_run(struct ignore_street *s);

/* What was recorded since ignore_clear(): "EVENTS PATH[ <- OLD][ scan]", one a line, in order. */
const char *ignore_lines(void);
size_t ignore_n_lines(void);
const char *ignore_line(size_t i);
void ignore_clear(void);
/* Who did what was recorded last. */
struct ignore_who {
        enum attribution attribution;
        int32_t pid; /* 0: not known */
};
const struct ignore_who *ignore_last_who(void);
/* A record was made with which less of its window was done than with one before. */
bool ignore_went_back(void);

/* The marks of the main group as the kernel has them, sorted: inode marks only, and none of those that merely follow
 * the names above a rule's path. */
size_t ignore_kernel_marks(struct ignore_street *s, struct markset *ret);

/* In a child, so that it is not the daemon's own: runs fn to its end, or in the background. */
void ignore_do(void (*fn)(void *arg), void *arg);
pid_t ignore_start(void (*fn)(void *arg), void *arg);
void ignore_wait(pid_t pid);

void ignore_write(const char *path, const char *text);
