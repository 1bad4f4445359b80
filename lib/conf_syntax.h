/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/*
 * The grammar of libconfig, read once before libconfig reads it: libconfig says
 * "syntax error" and a line, often one behind the mistake, does not say which
 * name is given twice, and leaks what it has read so far.  This names what is
 * wrong and shows the line.
 */

#include "strbuf.h"

/*
 * text is what rules_scan() made.  Returns 0 when it is good.  Else appends one
 * sentence about the first mistake to out and returns its line.
 */
unsigned conf_syntax_check(const char *text, size_t len, struct strbuf *out);
