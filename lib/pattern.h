/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/*
 * The pattern dialect of `match` (that of .gitignore without its negation) and
 * of the actors' globs.  A pattern is classified once; the two common forms,
 * NAME and *.EXT, are looked up in a hash by the matcher, the rest is PCRE2.
 *
 * "*" matches any number of bytes and "?" one character within one name, a
 * leading dot included; "[...]" is a set, "[!...]" its complement; "\" takes the
 * next byte literally.  "**" as a whole name stands for any number of
 * directories, at the end for everything inside; inside a name, once, it is a
 * "*" that crosses "/".
 */

#include "base.h"

enum pattern_kind {
        PATTERN_NAME,  /* no wildcard, no '/': compared with one component */
        PATTERN_EXT,   /* "*.EXT" with a literal EXT that holds no dot: literal holds ".EXT" */
        PATTERN_REGEX, /* everything else */
};

struct pattern {
        enum pattern_kind kind;
        bool directory_only; /* it ended in '/' */
        bool anchored;       /* holds a '/' elsewhere: compared with the path below `path`, from its beginning */
        const char *text;    /* as written (borrowed) */
        const char *literal; /* NAME and EXT: malloc'ed bytes to compare */
        size_t literal_len;
        void *code;          /* REGEX: pcre2_code */
        void *open_code;     /* anchored REGEX: the same without an end, which PCRE2 refuses partial matches with */
};

/* What is wrong with a pattern, as one sentence with the cure ("braces are not
 * part of the dialect: write one pattern for each alternative"), or NULL when
 * it is good. */
const char *pattern_check(const char *text);

/* Compiles.  Returns 0, -EINVAL (pattern_check() says why), -ENOMEM.  text
 * must outlive the pattern. */
int pattern_compile(const char *text, struct pattern *ret);
/* Frees what compile made; the struct itself is the caller's. */
void pattern_done(struct pattern *p);

/*
 * Does it match this one candidate?  Not anchored: candidate is one component.
 * Anchored: candidate is a path below the rule's path ("a/b/c", no leading
 * slash), and the caller tries every prefix that ends at a component.
 * is_dir: whether the candidate is a directory (prefixes always are).
 * Several threads may match with one pattern.
 */
bool pattern_match(const struct pattern *p, const char *candidate, size_t len, bool is_dir);

/*
 * Is there a directory-prefix or the whole of rel ("a/b/c", "" = the path
 * itself, which no pattern matches) that p matches?  The slow and simple
 * authority that the matcher's index is tested against.
 */
bool pattern_match_path(const struct pattern *p, const char *rel, size_t len, bool is_dir);

/*
 * Can p match something below the directory rel ("" = the path itself), at any
 * depth?  True when in doubt.
 */
bool pattern_may_match_below(const struct pattern *p, const char *rel, size_t len);

/* Globs of actors (exe, unit, ...): '*', '?', '[...]'; with path set '*' does
 * not cross '/', '**' does and '\' escapes; else '*' matches anything and '\' is
 * a byte as any other (unit names hold some).  Same returns. */
const char *pattern_check_glob(const char *text, bool path);
int pattern_compile_glob(const char *text, bool path, struct pattern *ret);
bool pattern_is_glob(const char *text) _pure_; /* holds *, ? or [ */
