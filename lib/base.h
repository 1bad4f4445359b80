/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/*
 * The few macros every file may use: scope cleanup, ownership transfer,
 * attributes.  No function bodies that do work, no dependencies.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define ELEMENTSOF(x) (sizeof(x) / sizeof((x)[0]))
#define MIN_OF(a, b) ((a) < (b) ? (a) : (b))
#define MAX_OF(a, b) ((a) > (b) ? (a) : (b))

#define _cleanup_(f) __attribute__((cleanup(f)))
#define _printf_(a, b) __attribute__((format(printf, a, b)))
#define _nonnull_ __attribute__((nonnull))
#define _malloc_ __attribute__((malloc))
#define _pure_ __attribute__((pure))

/* Hand a local over and forget it: "return STEAL(p);" at the end of a builder. */
#define STEAL(p)                        \
        ({                              \
                __typeof__(p) p_ = (p); \
                (p) = NULL;             \
                p_;                     \
        })

/* Defines NAMEp(T **): the cleanup form of a destructor that accepts NULL. */
#define DEFINE_CLEANUP(T, destroy)                            \
        static inline void destroy##p(T **p) { destroy(*p); } \
        struct base_swallow_semicolon

static inline void freep(void *p) { free(*(void **)p); }
#define _cleanup_free_ _cleanup_(freep)

static inline bool streq(const char *a, const char *b) { return strcmp(a, b) == 0; }

#define USEC_PER_MSEC UINT64_C(1000)
#define USEC_PER_SEC UINT64_C(1000000)
#define NSEC_PER_USEC UINT64_C(1000)
