/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/* Durations, sizes and rates as rule files write them. */

#include "base.h"

struct strbuf;

/* "0", "500ms", "1s", "15min", "2h", "1d", "1min 30s" → microseconds.  Only 0
 * needs no unit.  Returns 0, -EINVAL (not a duration), -ERANGE (more than
 * INT64_MAX). */
int units_parse_duration(const char *text, uint64_t *ret_usec);
/* "4096", "64K", "64M", "1G", "1T" (powers of 1024) → bytes.  Same returns. */
int units_parse_size(const char *text, uint64_t *ret_bytes);
/* "5000/10s", "100/s" → count and window; "0" → 0, 0.  Same returns. */
int units_parse_rate(const char *text, uint64_t *ret_count, uint64_t *ret_usec);
/* The plainest text that parses to the same value: one number, in the largest
 * unit that divides it ("90s", "15min", "64M"). */
void units_print_duration(uint64_t usec, struct strbuf *out);
void units_print_size(uint64_t bytes, struct strbuf *out);
void units_print_rate(uint64_t count, uint64_t usec, struct strbuf *out);
