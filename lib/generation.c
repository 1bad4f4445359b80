/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "generation.h"

#include <errno.h>
#include <gcrypt.h>

#include "plan_above.h"
#include "plan_ignore.h"
#include "strbuf.h"

#define SHA256_BYTES 32

/*
 * libgcrypt wants its version check before anything else, once a process; more
 * often and from several threads does no harm.
 */
static void hash_text(const char *text, size_t len, char ret[2 * SHA256_BYTES + 1])
{
        static const char digits[] = "0123456789abcdef";
        uint8_t digest[SHA256_BYTES];

        (void)gcry_check_version(NULL);
        gcry_md_hash_buffer(GCRY_MD_SHA256, digest, text, len);
        for (size_t i = 0; i < SHA256_BYTES; i++) {
                ret[2 * i] = digits[digest[i] >> 4];
                ret[2 * i + 1] = digits[digest[i] & 0xf];
        }
        ret[2 * SHA256_BYTES] = '\0';
}

static int print_canonical(struct generation *g)
{
        _cleanup_strbuf_ struct strbuf text = STRBUF_NULL;
        size_t len;

        rules_print(g->rules, false, &text);
        if (strbuf_failed(&text))
                return -ENOMEM;
        len = text.len;
        g->canonical = text.data ? strbuf_steal(&text) : strdup("");
        if (!g->canonical)
                return -ENOMEM;
        hash_text(g->canonical, len, g->sha256);
        return 0;
}

int generation_build(struct rules *rules, struct settings *settings, struct world *world,
                     struct generation **ret)
{
        _cleanup_(generation_freep) struct generation *g = calloc(1, sizeof(*g));
        int r;

        if (!g) {
                rules_free(rules);
                settings_free(settings);
                world_free(world);
                return -ENOMEM;
        }
        g->rules = rules;
        g->settings = settings;
        g->world = world;

        r = plan_build(rules, settings, world, &g->plan);
        if (r < 0)
                return r;
        r = matcher_build(rules, settings, world, &g->matcher);
        if (r < 0)
                return r;
        r = plan_ignores(g->plan, rules, settings, g->matcher);
        if (r < 0)
                return r;
        r = plan_above(g->plan, rules, world);
        if (r < 0)
                return r;
        r = leads_build(rules, world, &g->leads);
        if (r < 0)
                return r;
        r = print_canonical(g);
        if (r < 0)
                return r;
        *ret = STEAL(g);
        return 0;
}

void generation_free(struct generation *g)
{
        if (!g)
                return;
        leads_free(g->leads);
        matcher_free(g->matcher); /* borrows from all that follows */
        plan_free(g->plan);
        world_free(g->world);
        settings_free(g->settings);
        rules_free(g->rules);
        free(g->canonical);
        free(g);
}
