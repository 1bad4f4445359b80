/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/*
 * The one table of event names.  Rules, plan, records and fawatchctl all speak
 * of events through it; fan_uapi.h has the kernel's bits.
 *
 * An event set (uint32_t, "EV_" bits) is ours, not the kernel's: replaced and
 * changed have no kernel bit, and the order of the bits is the fixed order of
 * names in FAWATCH_EVENTS.
 */

#include "base.h"

enum {
        EV_CREATE        = 1u << 0,
        EV_DELETE        = 1u << 1,
        EV_RENAME        = 1u << 2,
        EV_MODIFY        = 1u << 3,
        EV_CLOSE_WRITE   = 1u << 4,
        EV_ATTRIB        = 1u << 5,
        EV_ACCESS        = 1u << 6,
        EV_OPEN          = 1u << 7,
        EV_OPEN_EXEC     = 1u << 8,
        EV_CLOSE_NOWRITE = 1u << 9,
        EV_DELETE_SELF   = 1u << 10,
        EV_MOVE_SELF     = 1u << 11,
        EV_FS_ERROR      = 1u << 12,
        /* only in records */
        EV_REPLACED      = 1u << 13,
        EV_CHANGED       = 1u << 14,
        /* internal: how kernels without FAN_RENAME (before 5.17) tell of a rename */
        EV_MOVED_FROM    = 1u << 15,
        EV_MOVED_TO      = 1u << 16,
};
#define EV_N_NAMES 15 /* names that a record may hold: bits 0..14 */

#define EV_SAVED   (EV_CREATE | EV_DELETE | EV_RENAME | EV_CLOSE_WRITE | EV_ATTRIB)
#define EV_CHANGE  (EV_SAVED | EV_MODIFY)
#define EV_CONTENT (EV_MODIFY | EV_CLOSE_WRITE)
#define EV_READ    (EV_ACCESS | EV_OPEN | EV_OPEN_EXEC)
/* what a rule may name: everything the kernel raises that users see */
#define EV_RULE_ALL ((1u << 13) - 1)
/* what a mark on a mount takes (fanotify_mark(2)): events on an open file */
#define EV_MOUNT_SCOPE \
        (EV_ACCESS | EV_MODIFY | EV_OPEN | EV_OPEN_EXEC | EV_CLOSE_WRITE | EV_CLOSE_NOWRITE)
/* merged within the coalesce window; the others are always records of their own */
#define EV_COALESCED EV_MOUNT_SCOPE
/* what special files (fifo, socket, device) report without being asked for by type */
#define EV_SPECIAL_DEFAULT (EV_CREATE | EV_DELETE | EV_RENAME | EV_ATTRIB)

/* Name of one bit, "create"; NULL when not a single known bit. */
const char *vocab_name(uint32_t bit) _pure_;
/* The bit of a rule's event name, or the bits of a group (change saved content
 * read all); 0 when the name is not known.  moved_from, moved_to, replaced and
 * changed are not known here.  *ret_group tells a group from an event. */
uint32_t vocab_parse(const char *name, bool *ret_group);
/* All names vocab_parse() knows, groups included: for hints. */
const char *const *vocab_rule_names(size_t *ret_n);

/* Kernel mask bits (FAN_*, fan_uapi.h) of a set of ours: without ONDIR and
 * ON_CHILD, without replaced and changed. */
uint64_t vocab_to_fan(uint32_t events) _pure_;
/* Our set of a kernel event mask; unknown bits and flags are left out. */
uint32_t vocab_from_fan(uint64_t mask) _pure_;

/* Object types, as bits: what `type =` in a rule may hold. */
enum {
        TYPE_FILE      = 1u << 0,
        TYPE_DIRECTORY = 1u << 1,
        TYPE_SYMLINK   = 1u << 2,
        TYPE_FIFO      = 1u << 3,
        TYPE_SOCKET    = 1u << 4,
        TYPE_DEVICE    = 1u << 5, /* block and character */
};
#define TYPE_DEFAULT (TYPE_FILE | TYPE_DIRECTORY | TYPE_SYMLINK)
#define TYPE_SPECIAL (TYPE_FIFO | TYPE_SOCKET | TYPE_DEVICE)
#define TYPE_ALL (TYPE_DEFAULT | TYPE_SPECIAL)
const char *vocab_type_name(uint32_t bit) _pure_;  /* "file"; NULL when unknown */
uint32_t vocab_type_parse(const char *name) _pure_; /* 0 when unknown */
/* The type bit of st_mode; 0 for anything unknown. */
uint32_t vocab_type_of_mode(unsigned mode) _pure_;
const char *const *vocab_type_names(size_t *ret_n);
