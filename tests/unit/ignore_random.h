/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/* Random rule sets, and random paths that they are about, below IGNORE_ROOT. */

#include "strbuf.h"

void random_begin(uint64_t seed);
uint32_t random_below(uint32_t n);

void random_rules(struct strbuf *out);
/* Valid until the call after the next. */
const char *random_file(void);
const char *random_dir(void);
/* Makes directories three deep, and a file in most of them. */
void random_furnish(void *arg);
