/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/*
 * Findings about rule files and settings: collected, never printed here.  A
 * builder adds to the list it is given and the outermost caller prints once.
 */

#include "base.h"

enum diag_severity {
        DIAG_NOTE,    /* worth knowing, nothing to mend */
        DIAG_WARNING, /* loads, but probably not what was meant */
        DIAG_ERROR,   /* does not load */
};

struct diag_entry {
        enum diag_severity severity;
        char *file;    /* path as the reader gave it, or NULL when none */
        unsigned line; /* 1-based; 0 = whole file */
        char *text;    /* one line, UTF-8, no control characters, whatever was formatted into it */
        size_t order;  /* when it was added: keeps diag_sort() stable */
};

struct diag {
        struct diag_entry *entries;
        size_t n_entries, cap;
        size_t n_errors, n_warnings;
        bool out_of_memory; /* something could not be noted: treat as an error */
};
#define DIAG_NULL ((struct diag){})

void diag_done(struct diag *d);
#define _cleanup_diag_ _cleanup_(diag_done)

void diag_add(struct diag *d, enum diag_severity severity, const char *file, unsigned line,
              const char *format, ...) _printf_(5, 6);
/* True when the thing diagnosed must not be used. */
static inline bool diag_failed(const struct diag *d) { return d->n_errors > 0 || d->out_of_memory; }
/* Sorts by file, then line, keeping the order of equal ones. */
void diag_sort(struct diag *d);
const char *diag_severity_name(enum diag_severity severity) _pure_;
/* "FILE:LINE: error: TEXT" (parts that are absent are left out), a malloc'ed
 * string without newline, or NULL when memory is short. */
char *diag_format(const struct diag_entry *e) _malloc_;
/* The nearest of the n names to word by edit distance, for "did you mean";
 * NULL when none is near enough (distance > 1 + length/4). */
const char *diag_nearest(const char *word, const char *const *names, size_t n) _pure_;
