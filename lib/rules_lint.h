/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/*
 * The two halves of rules_lint(): rules_lint.c looks at one rule at a time,
 * rules_lint_set.c at rules beside each other.
 */

#include "rules.h"

void lint_watch(struct diag *diag, const struct rule *rule);
void lint_ignore(struct diag *diag, const struct clause *ignore);
void lint_actor_set(struct diag *diag, const struct actor_set *set);

/* Is something going on all the time where this looks? */
bool lint_is_busy(const struct clause *c);
/* Is path the same as top or below it? */
bool lint_path_covers(const char *top, const char *path) _pure_;
/* An ignore or except that leaves nothing at and below its paths, but by event. */
bool lint_takes_whole(const struct clause *c) _pure_;
/* `watch "web", except "deploy"` (inner may be NULL); malloc'ed, NULL when memory is short. */
char *lint_place(const char *kind, const char *name, const char *inner) _malloc_;
