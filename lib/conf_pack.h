/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/*
 * The texts of a configuration as one piece of bytes, and back: what the next process
 * needs to have the same rules, with the same files and lines, whatever is on the disk
 * by then.
 */

#include "rules.h"
#include "strbuf.h"

/* Appends the texts of one kind; the kinds stand one behind the other. */
void conf_pack(const struct conf_text *texts, size_t n, struct strbuf *out);
/*
 * The next kind's texts from *at on, which moves on.  Each has allocated name and text.
 * Returns 0, -EBADMSG, -ENOMEM.
 */
int conf_unpack(const char *data, size_t len, size_t *at, struct conf_text **ret_texts, size_t *ret_n);
