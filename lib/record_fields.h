/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/*
 * The one table of the FAWATCH_ fields, in the order a record holds them, and
 * the writing of them.  fawatchd.fields(7) explains each; a name or a meaning
 * here changes only with a major version.
 */

#include "event.h"
#include "settings.h"
#include "strbuf.h"

enum field_flag {
        F_PLAIN = 0,
        F_OMIT = 1 << 0,   /* the setting `omit` may leave it out */
        F_NUMBER = 1 << 1, /* a number in JSON */
        F_LIST = 1 << 2,   /* may repeat: a list in JSON */
};

/* what a record of an event may hold, then what the other kinds add */
#define RECORD_EVENT_FIELDS(X)                  \
        X(EVENT, F_LIST)                        \
        X(EVENTS, F_PLAIN)                      \
        X(RULE, F_LIST)                         \
        X(RULES, F_PLAIN)                       \
        X(TAG, F_OMIT | F_LIST)                 \
        X(PATH, F_PLAIN)                        \
        X(OLD_PATH, F_OMIT)                     \
        X(NAME, F_OMIT)                         \
        X(UNDER, F_OMIT | F_LIST)               \
        X(TYPE, F_OMIT)                         \
        X(DEVICE, F_OMIT)                       \
        X(INODE, F_OMIT | F_NUMBER)             \
        X(FSTYPE, F_OMIT)                       \
        X(MODE, F_OMIT)                         \
        X(OWNER, F_OMIT)                        \
        X(OWNER_GROUP, F_OMIT)                  \
        X(SIZE, F_OMIT | F_NUMBER)              \
        X(PATH_STATE, F_OMIT)                   \
        X(SOURCE, F_OMIT)                       \
        X(CAUSE, F_OMIT)                        \
        X(ERRNO, F_OMIT | F_NUMBER)             \
        X(ERROR_COUNT, F_OMIT | F_NUMBER)       \
        X(PID, F_OMIT | F_NUMBER)               \
        X(COMM, F_OMIT)                         \
        X(EXE, F_OMIT)                          \
        X(EXE_STATE, F_OMIT)                    \
        X(CMDLINE, F_OMIT)                      \
        X(NEXT_COMM, F_OMIT)                    \
        X(NEXT_EXE, F_OMIT)                     \
        X(UID, F_OMIT | F_NUMBER)               \
        X(EUID, F_OMIT | F_NUMBER)              \
        X(GID, F_OMIT | F_NUMBER)               \
        X(USER, F_OMIT)                         \
        X(LOGINUID, F_OMIT | F_NUMBER)          \
        X(LOGIN_USER, F_OMIT)                   \
        X(SESSION, F_OMIT)                      \
        X(TTY, F_OMIT)                          \
        X(PPID, F_OMIT | F_NUMBER)              \
        X(PARENT_COMM, F_OMIT)                  \
        X(ANCESTRY, F_OMIT)                     \
        X(UNIT, F_OMIT)                         \
        X(USER_UNIT, F_OMIT)                    \
        X(SLICE, F_OMIT)                        \
        X(CGROUP, F_OMIT)                       \
        X(CONTAINER, F_OMIT)                    \
        X(ATTRIBUTION, F_PLAIN)                 \
        X(ORIGIN, F_OMIT)                       \
        X(STREAM, F_PLAIN)                      \
        X(SEQ, F_NUMBER)                        \
        X(GENERATION, F_NUMBER)                 \
        X(COUNT, F_OMIT | F_NUMBER)             \
        X(FIRST_USEC, F_OMIT | F_NUMBER)        \
        X(LAST_USEC, F_OMIT | F_NUMBER)         \
        X(REALTIME_USEC, F_NUMBER)             

#define RECORD_NOTE_FIELDS(X)                   \
        X(VERSION, F_PLAIN)                     \
        X(RULES_SHA256, F_PLAIN)                \
        X(RULES_FROM, F_PLAIN)                  \
        X(RULES_ADDED, F_NUMBER)                \
        X(RULES_REMOVED, F_NUMBER)              \
        X(RULES_CHANGED, F_NUMBER)              \
        X(RULES_CHANGE, F_LIST)                 \
        X(ASKED_BY, F_PLAIN)                    \
        X(ASKED_BY_UID, F_NUMBER)               \
        X(COVERAGE, F_PLAIN)                    \
        X(WARNING, F_LIST)                      \
        X(ERROR, F_LIST)                        \
        X(COUNTERS, F_PLAIN)                    \
        X(RULE_COUNTERS, F_LIST)                \
        X(LAST_STREAM, F_PLAIN)                 \
        X(LAST_SEQ, F_NUMBER)                   \
        X(HEARTBEAT_USEC, F_NUMBER)             \
        X(REASON, F_PLAIN)                      \
        X(HINT, F_PLAIN)                        \
        X(MOUNTPOINT, F_PLAIN)                  \
        X(GAP, F_PLAIN)                         \
        X(FROM_USEC, F_NUMBER)                  \
        X(UNTIL_USEC, F_NUMBER)                 \
        X(SHED, F_LIST)                         \
        X(SHED_SEQ, F_PLAIN)                    \
        X(PROGRAM, F_LIST)                     

#define RECORD_FIELDS(X) RECORD_EVENT_FIELDS(X) RECORD_NOTE_FIELDS(X)

enum record_field {
#define X(name, flags) FIELD_##name,
        RECORD_FIELDS(X)
#undef X
        N_RECORD_FIELDS
};
#define FIELD_BIT(field) (UINT64_C(1) << (field))

/* What the setting `omit` leaves out, as FIELD_BITs; settings may be NULL. */
uint64_t record_omitted(const struct settings *settings) _pure_;

/* Where fields go. */
struct fields {
        struct strbuf *out;
        uint64_t omit;
};
/* Each appends one field, unless it is omitted or its value is NULL. */
void fields_add(const struct fields *f, enum record_field field, const char *value, size_t len);
void fields_adds(const struct fields *f, enum record_field field, const char *value);
void fields_addu(const struct fields *f, enum record_field field, uint64_t value);

/* The F_ flags of a field by its whole name, the journal's own included; 0 when unknown. */
unsigned record_field_flags(const char *name, size_t len) _pure_;
