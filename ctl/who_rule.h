/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/* Which of the rules in force looks at a path, told from their text. */

#include "rules.h"
#include "strbuf.h"

/*
 * One sentence in words into out when no rule watches any of the paths (several names of
 * one place): why not, and which comes nearest.  Nothing when one does.
 * Returns true when something was said.
 */
bool who_rule_missing(const struct rules *rules, const char *const *paths, size_t n, struct strbuf *out);
