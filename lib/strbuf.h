/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/*
 * A growing byte buffer.  The first failed allocation makes it "failed": later
 * appends do nothing, and the one check at the end (strbuf_failed) is enough.
 * Content may hold any byte; a NUL always follows it.
 */

#include "base.h"

struct strbuf {
        char *data; /* NULL while empty and never grown */
        size_t len, cap;
        bool failed;
};
#define STRBUF_NULL ((struct strbuf){})

/* Frees the memory and leaves an empty, usable buffer. */
void strbuf_done(struct strbuf *b);
#define _cleanup_strbuf_ _cleanup_(strbuf_done)

/* Empties it and keeps the memory; clears the failed state. */
void strbuf_reset(struct strbuf *b);
/* Room for extra more bytes, so that appends of that many cannot fail.
 * Returns 0 or -ENOMEM. */
int strbuf_reserve(struct strbuf *b, size_t extra);
void strbuf_add(struct strbuf *b, const void *bytes, size_t len);
void strbuf_adds(struct strbuf *b, const char *s);
void strbuf_addc(struct strbuf *b, char c);
void strbuf_addf(struct strbuf *b, const char *format, ...) _printf_(2, 3);
/* Unsigned decimal without printf: for the record path. */
void strbuf_addu(struct strbuf *b, uint64_t value);
static inline bool strbuf_failed(const struct strbuf *b) { return b->failed; }
/* The content as a string; "" when empty.  Valid until the next append. */
const char *strbuf_str(const struct strbuf *b);
/* Hands the content over (free() it) and leaves the buffer empty.  Returns
 * NULL when the buffer had failed. */
char *strbuf_steal(struct strbuf *b);
