/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/* Values as configuration text that parses to the same bytes again. */

#include "rules.h"

struct strbuf;

/* The inside of a string: what is not printable UTF-8 as \xHH. */
void conf_print_text(const char *bytes, size_t len, struct strbuf *out);
/* "text", with its quotes */
void conf_print_string(const char *text, struct strbuf *out);
/* [ "a", "b" ] */
void conf_print_strings(const struct strings *values, struct strbuf *out);
