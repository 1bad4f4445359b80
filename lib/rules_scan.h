/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/*
 * The scan before libconfig.  It names, with file and line, what libconfig 1.5
 * accepts in silence or refuses without a reason, and cures what can be cured:
 * two strings side by side (libconfig joins them), \x00 (cuts the string),
 * integers too large (they wrap), @include (opens files), bytes that are not
 * UTF-8, control characters, a comma before a closing bracket, a comment in the
 * last line, files and groups too large for its quadratic search for
 * duplicates.
 */

#include "rules.h"

/*
 * Writes a NUL-terminated copy of the text that libconfig may parse; free() it.
 * Its lines are those of the file.
 *
 * Returns 0: parse it, although diag may have got errors (then the copy holds
 * something harmless in their place, so that the remaining errors are found in
 * the same run); -EINVAL: no use in parsing, diag says why; -ENOMEM.
 */
int rules_scan(const struct conf_text *file, struct diag *diag, char **ret_text);
