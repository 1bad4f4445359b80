/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/*
 * The config street as far as it needs no marks: files → settings, rules →
 * world → generation, whole or not at all.  Runs in the worker's thread (and at
 * start, before there is a loop).
 */

#include "conf_read.h"
#include "generation.h"
#include "options.h"
#include "world_collect.h"

enum rules_from {
        RULES_INSTALLED, /* rules.d of the three places */
        RULES_ONE_FILE,  /* --rules=FILE */
        RULES_AD_HOC,    /* --watch=PATH */
        RULES_SAVED,     /* the last good ones, since the files are bad */
        RULES_KEPT,      /* those of the process before, since its events are judged by them */
};
const char *rules_from_name(enum rules_from from); /* "files", "file", "ad-hoc", "last good" */

/* The texts a generation was made of: kept, so that a changed mount table leads
 * to a new plan without looking at files that nobody asked to load. */
struct build_texts {
        enum rules_from from;
        struct conf_set settings, rules;
};
void build_texts_free(struct build_texts *t);
DEFINE_CLEANUP(struct build_texts, build_texts_free);

struct build_result {
        struct generation *generation; /* NULL when refused */
        struct build_texts *texts;     /* NULL when `kept` was given */
        struct diag diag;
        struct rules_diff changes;     /* against the rules in force; its text is `changes_text` */
        struct strbuf changes_text;
};
void build_result_done(struct build_result *r);

/* Fills changes of a result that has a generation: ten thousand rules are too many to
 * compare on the street.  before NULL = there were none.  0 or -ENOMEM. */
int build_compare(const struct rules *before, struct build_result *result);

/* Where rules come from by the command line (saved ones excepted). */
enum rules_from build_source(const struct options *o);
/* Whose mounts paths are seen through. */
enum mount_view build_view(const struct options *o);

/*
 * Builds from the source; kept != NULL: from these texts instead (borrowed).
 * Returns 0 with a generation; -EINVAL when the diag has errors; another negative
 * errno, which the diag explains too.
 */
int build_run(const struct options *o, enum rules_from from, const struct build_texts *kept,
              struct build_result *ret);
