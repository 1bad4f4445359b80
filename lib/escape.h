/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/* Bytes for people: always UTF-8, no control characters, reversible by eye. */

#include "strbuf.h"

/* Appends bytes so that the result is UTF-8 without control characters:
 * newline \n, tab \t, other controls and bytes that are not UTF-8 \xHH,
 * backslash \\.  (C1 controls and bidirectional overrides count as controls.) */
void escape_text(const char *bytes, size_t len, struct strbuf *out);
/* Length of the valid UTF-8 sequence at p (1..4), 0 when there is none. */
size_t utf8_sequence(const char *p, size_t len) _pure_;
bool utf8_valid(const char *p, size_t len) _pure_;
/* Appends a JSON string with quotes; what is not UTF-8 becomes U+FFFD.
 * Returns false when something was replaced. */
bool escape_json(const char *bytes, size_t len, struct strbuf *out);
/*
 * A command line for the record: arguments (NUL-separated, as /proc/PID/cmdline)
 * joined by spaces; the value of an option in mask ("--password", "-p") is
 * replaced by "***", as "--password=X", "--password X" and, for one-letter options,
 * "-pX".  Cut at max bytes with "..." appended.
 */
void escape_cmdline(const char *raw, size_t len, const char *const *mask, size_t n_mask, size_t max,
                    struct strbuf *out);
