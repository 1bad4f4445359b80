/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "conf_value.h"
#include "strbuf.h"
#include "units.h"

/* watch "web", except "deploy", user:␠ */
static void add_place(const struct conf_reader *r, struct strbuf *out)
{
        if (r->kind) {
                strbuf_adds(out, r->kind);
                if (r->name)
                        strbuf_addf(out, " \"%s\"", r->name);
        }
        if (r->inner_kind) {
                strbuf_addf(out, ", %s", r->inner_kind);
                if (r->inner_name)
                        strbuf_addf(out, " \"%s\"", r->inner_name);
        }
        if (r->key)
                strbuf_addf(out, "%s%s", out->len > 0 ? ", " : "", r->key);
        if (out->len > 0)
                strbuf_adds(out, ": ");
}

static _printf_(4, 0) void note(struct conf_reader *r, enum diag_severity severity, const struct source *at,
                                const char *format, va_list args)
{
        _cleanup_strbuf_ struct strbuf place = STRBUF_NULL;
        _cleanup_free_ char *text = NULL;

        add_place(r, &place);
        if (vasprintf(&text, format, args) < 0)
                text = NULL;
        if (!text || strbuf_failed(&place))
                conf_no_memory(r);
        else
                diag_add(r->diag, severity, at->file, at->line, "%s%s", strbuf_str(&place), text);
}

void conf_complain(struct conf_reader *r, const struct source *at, const char *format, ...)
{
        va_list args;

        va_start(args, format);
        note(r, DIAG_ERROR, at, format, args);
        va_end(args);
}

void conf_warn(struct conf_reader *r, const struct source *at, const char *format, ...)
{
        va_list args;

        va_start(args, format);
        note(r, DIAG_WARNING, at, format, args);
        va_end(args);
}

bool conf_no_memory(struct conf_reader *r)
{
        r->diag->out_of_memory = true;
        return false;
}

bool conf_read_bool(struct conf_reader *r, const struct conf_node *node, bool *ret)
{
        if (node->kind != CONF_BOOLEAN) {
                conf_complain(r, &node->source, "true or false is expected, without quotes, not %s",
                              conf_kind_name(node->kind));
                return false;
        }
        *ret = node->boolean;
        return true;
}

/* The string of a node, not copied. */
static const char *string_of(struct conf_reader *r, const struct conf_node *node, const char *example)
{
        if (node->kind == CONF_STRING)
                return node->string;
        if (node->kind == CONF_INTEGER && example)
                conf_complain(r, &node->source, "a string with a unit is expected, as in %s, not a number",
                              example);
        else
                conf_complain(r, &node->source, "a string is expected, not %s", conf_kind_name(node->kind));
        return NULL;
}

bool conf_read_string(struct conf_reader *r, const struct conf_node *node, const char **ret)
{
        const char *text = string_of(r, node, NULL), *copy;

        if (!text)
                return false;
        copy = arena_strdup(r->arena, text);
        if (!copy)
                return conf_no_memory(r);
        *ret = copy;
        return true;
}

static bool complain_units(struct conf_reader *r, const struct conf_node *node, int error, const char *what,
                           const char *example)
{
        if (error == -ERANGE)
                conf_complain(r, &node->source, "\"%s\" is too large", node->string);
        else
                conf_complain(r, &node->source, "\"%s\" is no %s: write it as in %s", node->string, what,
                              example);
        return false;
}

bool conf_read_duration(struct conf_reader *r, const struct conf_node *node, uint64_t *ret_usec)
{
        static const char example[] = "\"500ms\", \"1s\", \"15min\", or \"0\"";
        const char *text = string_of(r, node, example);
        int error;

        if (!text)
                return false;
        error = units_parse_duration(text, ret_usec);
        return error < 0 ? complain_units(r, node, error, "duration", example) : true;
}

bool conf_read_size(struct conf_reader *r, const struct conf_node *node, uint64_t *ret_bytes)
{
        static const char example[] = "\"64M\" or \"1G\"";
        const char *text = string_of(r, node, example);
        int error;

        if (!text)
                return false;
        error = units_parse_size(text, ret_bytes);
        return error < 0 ? complain_units(r, node, error, "size", example) : true;
}

bool conf_read_rate(struct conf_reader *r, const struct conf_node *node, uint64_t *ret_count,
                    uint64_t *ret_usec)
{
        static const char example[] = "\"5000/10s\", or \"0\" for none";
        const char *text = string_of(r, node, example);
        int error;

        if (!text)
                return false;
        error = units_parse_rate(text, ret_count, ret_usec);
        return error < 0 ? complain_units(r, node, error, "limit", example) : true;
}

/* "a", "b" or "c" */
static const char *join_words(struct conf_reader *r, const char *const *words, size_t n)
{
        _cleanup_strbuf_ struct strbuf list = STRBUF_NULL;
        const char *text;

        for (size_t i = 0; i < n; i++)
                strbuf_addf(&list, "%s\"%s\"", i == 0 ? "" : i + 1 < n ? ", " : " or ", words[i]);
        text = strbuf_failed(&list) ? NULL : arena_strdup(r->arena, strbuf_str(&list));
        if (!text)
                conf_no_memory(r);
        return text ? text : "";
}

bool conf_read_choice(struct conf_reader *r, const struct conf_node *node, const char *const *words, size_t n,
                      size_t *ret)
{
        const char *text = string_of(r, node, NULL);

        if (!text)
                return false;
        for (size_t i = 0; i < n; i++)
                if (streq(words[i], text)) {
                        *ret = i;
                        return true;
                }
        conf_complain(r, &node->source, "\"%s\" is not known: %s", text, join_words(r, words, n));
        return false;
}

static bool each_value(struct conf_reader *r, const struct conf_node *value, enum conf_list_flags flags,
                       bool (*fn)(struct conf_reader *r, const struct source *at, const char *text,
                                  void *userdata),
                       void *userdata)
{
        char digits[24];

        if (value->kind == CONF_STRING)
                return fn(r, &value->source, value->string, userdata);
        if (value->kind == CONF_INTEGER && (flags & CONF_NUMBERS_TOO)) {
                snprintf(digits, sizeof(digits), "%" PRId64, value->integer);
                return fn(r, &value->source, digits, userdata);
        }
        conf_complain(r, &value->source, "a string or a list of strings is expected, not %s",
                      conf_kind_name(value->kind));
        return false;
}

bool conf_each_string(struct conf_reader *r, const struct conf_node *node, enum conf_list_flags flags,
                      bool (*fn)(struct conf_reader *r, const struct source *at, const char *text,
                                 void *userdata),
                      void *userdata)
{
        bool good = true;

        if (node->kind != CONF_LIST)
                return each_value(r, node, flags, fn, userdata);
        if (node->n_children == 0 && !(flags & CONF_MAY_BE_EMPTY)) {
                conf_complain(r, &node->source, "the list is empty: leave the key out");
                return false;
        }
        for (size_t i = 0; i < node->n_children; i++)
                good = each_value(r, &node->children[i], flags, fn, userdata) && good;
        return good;
}

struct collection {
        const char **v;
        size_t n;
        conf_check_fn check;
};

static bool collect(struct conf_reader *r, const struct source *at, const char *text, void *userdata)
{
        struct collection *c = userdata;
        const char *kept = c->check ? c->check(r, at, text) : text;

        if (!kept)
                return false;
        if (kept == text) {
                kept = arena_strdup(r->arena, text);
                if (!kept)
                        return conf_no_memory(r);
        }
        c->v[c->n++] = kept;
        return true;
}

static int compare_strings(const void *a, const void *b)
{
        return strcmp(*(const char *const *)a, *(const char *const *)b);
}

bool conf_read_strings(struct conf_reader *r, const struct conf_node *node, enum conf_list_flags flags,
                       conf_check_fn check, struct strings *ret)
{
        size_t n = node->kind == CONF_LIST ? node->n_children : 1, n_unique = 0;
        struct collection c = { .v = arena_alloc_array(r->arena, n, sizeof(*c.v)), .check = check };

        if (!c.v)
                return conf_no_memory(r);
        if (!conf_each_string(r, node, flags, collect, &c))
                return false;
        /* A list of conditions is a set: neither order nor repetition has a meaning. */
        if (c.n > 1)
                qsort(c.v, c.n, sizeof(*c.v), compare_strings);
        for (size_t i = 0; i < c.n; i++)
                if (i == 0 || !streq(c.v[i], c.v[n_unique - 1]))
                        c.v[n_unique++] = c.v[i];
        *ret = (struct strings){ .v = c.v, .n = n_unique };
        return true;
}

const char *conf_hint(struct conf_reader *r, const char *word, const char *const *names, size_t n)
{
        const char *nearest = diag_nearest(word, names, n);
        const char *hint = nearest ? arena_printf(r->arena, " (did you mean \"%s\"?)", nearest) : "";

        if (!hint)
                conf_no_memory(r);
        return hint ? hint : "";
}
