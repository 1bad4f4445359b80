/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/*
 * Why a text is no libconfig text.  libconfig says "syntax error" and a line,
 * often one behind the mistake; this reads the text again, names what is wrong
 * and shows the line.
 */

#include "strbuf.h"

/*
 * text is what rules_scan() made, refused by libconfig with its own words in
 * reason and its line.  Appends one sentence to out and returns the line it is
 * about.
 */
unsigned conf_blame(const char *text, size_t len, const char *reason, unsigned line, struct strbuf *out);
