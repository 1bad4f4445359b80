/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "build.h"
#include "state.h"
#include "window.h"

const char *rules_from_name(enum rules_from from)
{
        static const char *const names[] = {
                [RULES_INSTALLED] = "files",
                [RULES_ONE_FILE] = "file",
                [RULES_AD_HOC] = "ad-hoc",
                [RULES_SAVED] = "last good",
                [RULES_KEPT] = "last good, kept over the restart",
        };
        return names[from];
}

void build_texts_free(struct build_texts *t)
{
        if (!t)
                return;
        conf_set_done(&t->settings);
        conf_set_done(&t->rules);
        free(t);
}

void build_result_done(struct build_result *r)
{
        generation_free(r->generation);
        build_texts_free(r->texts);
        diag_done(&r->diag);
        strbuf_done(&r->changes_text);
        *r = (struct build_result){};
}

int build_compare(const struct rules *before, struct build_result *result)
{
        result->changes = (struct rules_diff){ .text = &result->changes_text };
        rules_compare(before, result->generation->rules, &result->changes);
        return strbuf_failed(&result->changes_text) ? -ENOMEM : 0;
}

enum rules_from build_source(const struct options *o)
{
        if (o->rules_file)
                return RULES_ONE_FILE;
        return o->n_watch > 0 ? RULES_AD_HOC : RULES_INSTALLED;
}

enum mount_view build_view(const struct options *o)
{
        return o->log_stdout || o->n_watch > 0 ? MOUNTS_OWN : MOUNTS_OF_PID1;
}

/* A path as a string of the rule language: every byte that is not plain ASCII is escaped. */
static void quote_path(const char *path, struct strbuf *out)
{
        strbuf_addc(out, '"');
        for (const char *p = path; *p; p++) {
                unsigned char c = (unsigned char)*p;
                if (c == '"' || c == '\\' || c < 0x20 || c >= 0x7f)
                        strbuf_addf(out, "\\x%02x", c);
                else
                        strbuf_addc(out, (char)c);
        }
        strbuf_addc(out, '"');
}

/* --watch=PATH...: a rule like any other; paths may be relative to where we stand. */
static int ad_hoc_rules(const struct options *o, struct conf_set *ret)
{
        _cleanup_strbuf_ struct strbuf text = STRBUF_NULL;
        _cleanup_free_ char *here = getcwd(NULL, 0);

        strbuf_adds(&text, "watch: { watch: { path = [ ");
        for (size_t i = 0; i < o->n_watch; i++) {
                const char *path = o->watch[i];
                _cleanup_free_ char *absolute = realpath(path, NULL);
                _cleanup_free_ char *joined = NULL;
                if (!absolute && path[0] != '/' && here && asprintf(&joined, "%s/%s", here, path) < 0) {
                        joined = NULL;
                        return -ENOMEM;
                }
                if (i > 0)
                        strbuf_adds(&text, ", ");
                /* What does not exist yet is taken as written. */
                quote_path(absolute ? absolute : joined ? joined : path, &text);
        }
        strbuf_adds(&text, " ]; }; };\n");

        _cleanup_free_ struct conf_text *one = calloc(1, sizeof(*one));
        _cleanup_free_ char *name = strdup("--watch");
        if (!one || !name || strbuf_failed(&text))
                return -ENOMEM;
        one->name = STEAL(name);
        one->len = text.len;
        one->text = strbuf_steal(&text);
        *ret = (struct conf_set){ .texts = STEAL(one), .n = 1 };
        return 0;
}

static int read_rules(const struct options *o, enum rules_from from, struct diag *diag, struct conf_set *ret)
{
        switch (from) {
        case RULES_INSTALLED:
                return conf_read_rules("", NULL, diag, ret);
        case RULES_ONE_FILE:
                return conf_read_file(o->rules_file, true, diag, ret);
        case RULES_AD_HOC:
                return ad_hoc_rules(o, ret);
        case RULES_SAVED:
        case RULES_KEPT: /* never read from files */
                break;
        }
        _cleanup_free_ char *path = state_rules_path();
        return path ? conf_read_file(path, true, diag, ret) : -ENOMEM;
}

static int read_texts(const struct options *o, enum rules_from from, struct diag *diag,
                      struct build_texts **ret)
{
        _cleanup_(build_texts_freep) struct build_texts *t = calloc(1, sizeof(*t));
        if (!t)
                return -ENOMEM;
        t->from = from;
        /* Both are read and parsed even when one is bad: all errors in one run. */
        int r = conf_read_settings("", diag, &t->settings);
        if (r < 0 && r != -EINVAL)
                return r;
        r = read_rules(o, from, diag, &t->rules);
        if (r < 0 && r != -EINVAL)
                return r;
        *ret = STEAL(t);
        return 0;
}

/* rules and settings → generation; takes both over. */
static int build_on_world(const struct options *o, struct rules *rules, struct settings *settings,
                          struct diag *diag, struct generation **ret)
{
        struct world *world;
        _cleanup_free_ char *text = NULL;

        uint64_t from_usec = window_boottime_usec();
        int r = world_collect(rules, build_view(o), &world, &text);
        uint64_t until_usec = window_boottime_usec();
        if (r < 0) {
                diag_add(diag, DIAG_ERROR, NULL, 0, "%s: %s", text ? text : "cannot look at this machine",
                         strerror(-r));
                rules_free(rules);
                settings_free(settings);
                return r;
        }
        r = generation_build(rules, settings, world, ret);
        if (r < 0)
                return r;
        (*ret)->looked_usec = from_usec;
        (*ret)->looked_until_usec = until_usec;
        return 0;
}

static int build_from(const struct options *o, const struct build_texts *texts, struct diag *diag,
                      struct generation **ret)
{
        _cleanup_(rules_freep) struct rules *rules = NULL;
        _cleanup_(settings_freep) struct settings *settings = NULL;

        int r = settings_parse(texts->settings.texts, texts->settings.n, diag, &settings);
        if (r < 0 && r != -EINVAL)
                return r;
        r = rules_parse(texts->rules.texts, texts->rules.n, diag, &rules);
        if (r < 0 && r != -EINVAL)
                return r;
        if (diag_failed(diag) || !settings || !rules)
                return -EINVAL;

        rules_lint(rules, diag);
        if (rules->n_watches == 0)
                diag_add(diag, DIAG_WARNING, NULL, 0, "no watch rule: nothing is watched");
        return build_on_world(o, STEAL(rules), STEAL(settings), diag, ret);
}

int build_run(const struct options *o, enum rules_from from, const struct build_texts *kept,
              struct build_result *ret)
{
        struct build_result result = { .diag = DIAG_NULL };

        int r = kept ? 0 : read_texts(o, from, &result.diag, &result.texts);
        if (r == 0)
                r = build_from(o, kept ? kept : result.texts, &result.diag, &result.generation);
        if (r < 0 && r != -EINVAL && !diag_failed(&result.diag))
                diag_add(&result.diag, DIAG_ERROR, NULL, 0, "rules cannot be loaded: %s", strerror(-r));
        diag_sort(&result.diag);
        *ret = result;
        return r;
}
