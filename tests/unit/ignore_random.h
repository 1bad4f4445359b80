/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/* Random rule sets, and random paths that they are about, below IGNORE_ROOT. */

#include "strbuf.h"

/* A link below IGNORE_ROOT that rules' paths may lead through. */
#define RANDOM_LINK "l"

void random_begin(uint64_t seed);
uint32_t random_below(uint32_t n);

enum random_kind {
        RANDOM_PLAIN = 0,
        RANDOM_CONDITIONS = 1, /* with users and types, lists of paths and patterns, links on paths */
};
void random_rules(struct strbuf *out, enum random_kind kind);
/* Valid until the call after the next. */
const char *random_file(void);
const char *random_dir(void);
/* Makes directories three deep, and a file in most of them. */
void random_furnish(void *arg);
