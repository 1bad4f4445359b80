/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <stdalign.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "pattern.h"
#include "pattern_translate.h"

/* No path is longer (PATH_MAX with its NUL), so no pattern needs to be. */
#define PATTERN_MAX 4095u

static const struct pattern_dialect match_dialect = { .escapes = true };
static const struct pattern_dialect text_dialect = { .crosses_slash = true };

static const struct pattern_dialect *glob_dialect(bool path)
{
        return path ? &match_dialect : &text_dialect;
}

/* The pattern without its leading and trailing '/': what is compared. */
struct span {
        const char *start, *end;
        bool rooted, directory_only;
};

static struct span span_of(const char *text)
{
        struct span s = { .start = text, .end = text + strlen(text) };

        if (s.end - s.start > 1 && s.end[-1] == '/') {
                s.end--;
                s.directory_only = true;
        }
        if (*s.start == '/') {
                s.start++;
                s.rooted = true;
        }
        return s;
}

static const char *check_atoms(const char *text, const struct pattern_dialect *dialect)
{
        const char *end = text + strlen(text);

        if (text == end)
                return "an empty pattern matches nothing: leave it out";
        if ((size_t)(end - text) > PATTERN_MAX)
                return "the pattern is longer than any path";
        while (text < end) {
                struct pattern_atom atom = pattern_atom_at(text, end, dialect);

                if (atom.kind == ATOM_BAD)
                        return atom.error;
                text = atom.end;
        }
        return NULL;
}

static const char *check_names(const char *at, const char *end)
{
        for (const char *stop; at <= end; at = stop + 1) {
                size_t len;

                stop = memchr(at, '/', (size_t)(end - at));
                if (!stop)
                        stop = end;
                len = (size_t)(stop - at);
                if (len == 0)
                        return "nothing stands between two slashes: no path looks like this";
                if ((len == 1 && at[0] == '.') || (len == 2 && at[0] == '.' && at[1] == '.'))
                        return "\".\" and \"..\" are never part of a path here: write the path below `path`";
                if (stop == end)
                        break;
        }
        return NULL;
}

static const char *check_globstars(const char *at, const char *end)
{
        const char *ignored, *also_ignored;

        /* Without a slash there is nothing to cross: stars in a row are one. */
        if (memchr(at, '/', (size_t)(end - at)) &&
            pattern_inner_globstars(at, end, &ignored, &also_ignored) > 1)
                return "\"**\" may stand inside a name once: elsewhere put it between slashes";
        return NULL;
}

const char *pattern_check(const char *text)
{
        const char *error = check_atoms(text, &match_dialect);
        struct span s;

        if (error)
                return error;
        if (*text == '!')
                return "negation is not part of the dialect: what is to be left out goes into `except` "
                       "(a literal one is \\!)";
        s = span_of(text);
        if (s.start == s.end)
                return "a / alone matches nothing: a rule without `match` takes in everything below its path";
        error = check_names(s.start, s.end);
        return error ? error : check_globstars(s.start, s.end);
}

const char *pattern_check_glob(const char *text, bool path)
{
        const char *error = check_atoms(text, glob_dialect(path));

        if (error || !path || !pattern_is_glob(text))
                return error;
        if (*text != '/' && !(text[0] == '*' && text[1] == '*'))
                return "no program's path matches this: begin with / or **/";
        if (text[strlen(text) - 1] == '/')
                return "no program's path ends in a slash: write ** behind it for everything below";
        error = check_names(text + (*text == '/'), text + strlen(text));
        return error ? error : check_globstars(text, text + strlen(text));
}

static int compile_regex(const char *regex, size_t len, struct pattern *p)
{
        const uint32_t options = PCRE2_ANCHORED | PCRE2_DOTALL | PCRE2_NEVER_UTF | PCRE2_NO_AUTO_CAPTURE;
        int error;
        PCRE2_SIZE offset;

        p->code = pcre2_compile((PCRE2_SPTR)regex, len, options | PCRE2_ENDANCHORED, &error, &offset, NULL);
        if (p->code && p->anchored)
                p->open_code = pcre2_compile((PCRE2_SPTR)regex, len, options, &error, &offset, NULL);
        if (p->code && (p->open_code || !p->anchored))
                return 0;
        pcre2_code_free(p->code);
        p->code = NULL;
        /* A checked pattern compiles unless it is too large for PCRE2's offsets. */
        return error == PCRE2_ERROR_NOMEMORY || error == PCRE2_ERROR_HEAP_FAILED ? -ENOMEM : -EINVAL;
}

/* The bytes the text stands for when it has no wildcard; NULL when it has one,
 * or when memory is short (then *ret_oom). */
static char *literal_of(const char *at, const char *end, const struct pattern_dialect *dialect,
                        size_t *ret_len, bool *ret_oom)
{
        _cleanup_free_ char *bytes = malloc((size_t)(end - at) + 1);
        size_t len = 0;

        *ret_oom = !bytes;
        if (!bytes)
                return NULL;
        while (at < end) {
                struct pattern_atom atom = pattern_atom_at(at, end, dialect);

                if (atom.kind != ATOM_BYTE)
                        return NULL;
                bytes[len++] = atom.byte;
                at = atom.end;
        }
        bytes[len] = '\0';
        *ret_len = len;
        return STEAL(bytes);
}

/* Tries the two forms that a hash can look up.  Returns 1 when it is one. */
static int compile_literal(const char *at, const char *end, const struct pattern_dialect *dialect,
                           struct pattern *p)
{
        bool ext = end - at > 2 && at[0] == '*' && at[1] == '.';
        bool oom;

        p->literal = literal_of(at + ext, end, dialect, &p->literal_len, &oom);
        if (!p->literal)
                return oom ? -ENOMEM : 0;
        if (ext && memchr(p->literal + 1, '.', p->literal_len - 1)) {
                free((char *)p->literal);
                p->literal = NULL;
                return 0;
        }
        p->kind = ext ? PATTERN_EXT : PATTERN_NAME;
        return 1;
}

/* "**" + "/x" is "x" at any depth, as without a slash. */
static void strip_leading_globstar(struct span *s)
{
        const char *slash = memchr(s->start, '/', (size_t)(s->end - s->start));

        if (slash && pattern_is_globstar(s->start, slash) &&
            !memchr(slash + 1, '/', (size_t)(s->end - slash - 1)) &&
            !pattern_is_globstar(slash + 1, s->end)) {
                s->start = slash + 1;
                s->rooted = false;
        }
}

int pattern_compile(const char *text, struct pattern *ret)
{
        _cleanup_strbuf_ struct strbuf regex = STRBUF_NULL;
        struct pattern p = { .kind = PATTERN_REGEX, .text = text };
        struct span s;
        int r;

        if (pattern_check(text))
                return -EINVAL;
        s = span_of(text);
        strip_leading_globstar(&s);
        p.directory_only = s.directory_only;
        p.anchored = s.rooted || memchr(s.start, '/', (size_t)(s.end - s.start));

        if (!p.anchored) {
                r = compile_literal(s.start, s.end, &match_dialect, &p);
                if (r < 0)
                        return r;
                if (r > 0) {
                        *ret = p;
                        return 0;
                }
                pattern_translate_name(s.start, s.end, &match_dialect, &regex);
        } else
                pattern_translate_path(s.start, s.end, &regex);
        if (strbuf_failed(&regex))
                return -ENOMEM;
        r = compile_regex(strbuf_str(&regex), regex.len, &p);
        if (r < 0)
                return r;
        *ret = p;
        return 0;
}

int pattern_compile_glob(const char *text, bool path, struct pattern *ret)
{
        _cleanup_strbuf_ struct strbuf regex = STRBUF_NULL;
        struct pattern p = { .kind = PATTERN_REGEX, .text = text };
        const char *end = text + strlen(text);
        int r;

        if (pattern_check_glob(text, path))
                return -EINVAL;
        if (!pattern_is_glob(text)) {
                p.kind = PATTERN_NAME;
                p.anchored = true;
                p.literal = strdup(text);
                p.literal_len = (size_t)(end - text);
                if (!p.literal)
                        return -ENOMEM;
                *ret = p;
                return 0;
        }
        if (path)
                pattern_translate_path(text, end, &regex);
        else
                pattern_translate_name(text, end, &text_dialect, &regex);
        if (strbuf_failed(&regex))
                return -ENOMEM;
        r = compile_regex(strbuf_str(&regex), regex.len, &p);
        if (r < 0)
                return r;
        p.anchored = true;
        *ret = p;
        return 0;
}

void pattern_done(struct pattern *p)
{
        free((char *)p->literal);
        pcre2_code_free(p->code);
        pcre2_code_free(p->open_code);
        *p = (struct pattern){};
}

bool pattern_is_glob(const char *text)
{
        return strpbrk(text, "*?[") != NULL;
}

/*
 * PCRE2 10.41 and later keep 20 KiB of backtracking frames in each match block
 * once it was used; one block a pattern would cost megabytes.  So the block and
 * its frames live on the stack for the time of one match.
 */
struct scratch {
        alignas(max_align_t) char memory[24 * 1024];
        size_t used;
};

static void *scratch_alloc(size_t size, void *userdata)
{
        struct scratch *s = userdata;
        size_t aligned = (size + alignof(max_align_t) - 1) & ~(alignof(max_align_t) - 1);
        void *p;

        if (aligned < size || aligned > sizeof(s->memory) - s->used)
                return malloc(size);
        p = s->memory + s->used;
        s->used += aligned;
        return p;
}

static void scratch_free(void *p, void *userdata)
{
        struct scratch *s = userdata;

        if ((uintptr_t)p - (uintptr_t)s->memory >= sizeof(s->memory))
                free(p);
}

static int regex_run(const pcre2_code *code, const char *candidate, size_t len, uint32_t options)
{
        struct scratch scratch;
        pcre2_general_context *context;
        pcre2_match_data *block;
        int r = PCRE2_ERROR_NOMEMORY;

        scratch.used = 0;
        context = pcre2_general_context_create(scratch_alloc, scratch_free, &scratch);
        block = context ? pcre2_match_data_create(1, context) : NULL;
        if (block)
                r = pcre2_match(code, (PCRE2_SPTR)candidate, len, 0, PCRE2_NO_JIT | options, block, NULL);
        pcre2_match_data_free(block);
        pcre2_general_context_free(context);
        return r;
}

static bool regex_match(const pcre2_code *code, const char *candidate, size_t len)
{
        return regex_run(code, candidate, len, 0) >= 0;
}

bool pattern_match(const struct pattern *p, const char *candidate, size_t len, bool is_dir)
{
        if (p->directory_only && !is_dir)
                return false;
        switch (p->kind) {
        case PATTERN_NAME:
                return len == p->literal_len && memcmp(candidate, p->literal, len) == 0;
        case PATTERN_EXT:
                return len >= p->literal_len &&
                       memcmp(candidate + len - p->literal_len, p->literal, p->literal_len) == 0;
        case PATTERN_REGEX:
                return regex_match(p->code, candidate, len);
        }
        return false;
}

bool pattern_match_path(const struct pattern *p, const char *rel, size_t len, bool is_dir)
{
        const char *end = rel + len, *name = rel;

        while (name < end) {
                const char *stop = memchr(name, '/', (size_t)(end - name));
                const char *candidate = p->anchored ? rel : name;

                if (!stop)
                        stop = end;
                if (pattern_match(p, candidate, (size_t)(stop - candidate), stop < end || is_dir))
                        return true;
                name = stop + 1;
        }
        return false;
}

/*
 * A partial match is one that came to the end of the subject and could have gone
 * on: what matches something below is never called "no match", since up to the end
 * of the directory's path the search is the same.
 */
bool pattern_may_match_below(const struct pattern *p, const char *rel, size_t len)
{
        _cleanup_free_ char *subject = NULL;

        if (!p->anchored || p->kind != PATTERN_REGEX || len == 0)
                return true;
        subject = malloc(len + 1);
        if (!subject)
                return true;
        memcpy(subject, rel, len);
        subject[len] = '/';
        return regex_run(p->open_code, subject, len + 1, PCRE2_PARTIAL_HARD) != PCRE2_ERROR_NOMATCH;
}
