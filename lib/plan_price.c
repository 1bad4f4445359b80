/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What a filesystem mark costs those that the rule is not about.  Create, delete
 * and rename cost a process that writes nothing; these here are paid by everybody
 * on the filesystem.  The figures are measured: 1-byte writes, tmpfs, one reader.
 */

#include "plan_internal.h"

#include "strbuf.h"

static const struct price_info {
        uint32_t event;
        const char *cost, *advice;
} prices[N_PRICES] = {
        [PRICE_MODIFY] = { EV_MODIFY, "makes every small write on this filesystem 2.4 to 5.5 times as slow",
                           "events = [ \"saved\" ] reports each save and costs writers nothing" },
        [PRICE_ATTRIB] = { EV_ATTRIB, "costs one event for every unlink on this filesystem",
                           "leave attrib out where owners and modes do not matter" },
        [PRICE_ACCESS] = { EV_ACCESS, "costs one event for every read on this filesystem",
                           "open says who reads with one event a file" },
        [PRICE_OPEN] = { EV_OPEN, "costs one event for every open on this filesystem",
                         "a filesystem of its own for this path keeps the others free of it" },
        [PRICE_CLOSE_NOWRITE] = { EV_CLOSE_NOWRITE, "costs one event for every close on this filesystem",
                                  "open tells the same earlier" },
};

void planner_ask(struct planner *pl, uint32_t fs, const char *rule, const char *path, uint32_t events)
{
        for (size_t i = 0; i < N_PRICES; i++) {
                struct asker *a = &pl->demands[fs].askers[i];

                if ((events & prices[i].event) == 0)
                        continue;
                if (a->rule)
                        a->n_more++;
                else
                        *a = (struct asker){ .rule = rule, .path = path };
        }
}

static void add_price(struct planner *pl, const char **v, const struct world_fs *fs,
                      const struct price_info *price, const struct asker *a)
{
        _cleanup_strbuf_ struct strbuf text = STRBUF_NULL;
        char *copy;

        strbuf_addf(&text, "%s: %s for %s", planner_mountpoint(pl, fs), vocab_name(price->event), a->path);
        strbuf_addf(&text, " (asked for by %s", a->rule);
        if (a->n_more > 0)
                strbuf_addf(&text, " and %zu more", a->n_more);
        strbuf_addf(&text, ") %s; %s", price->cost, price->advice);
        copy = strbuf_failed(&text) ? NULL : arena_strdup(pl->plan->arena, strbuf_str(&text));
        if (!copy) {
                pl->no_memory = true;
                return;
        }
        v[pl->plan->prices.n++] = copy;
}

void planner_prices(struct planner *pl)
{
        const char **v = arena_alloc_array(pl->plan->arena, (size_t)pl->world->n_fs * N_PRICES, sizeof(*v));

        if (!v) {
                pl->no_memory = true;
                return;
        }
        pl->plan->prices.v = v;
        for (uint32_t fs = 0; fs < pl->world->n_fs; fs++) {
                const struct demand *d = &pl->demands[fs];
                const struct world_fs *facts = &pl->world->fs[fs];

                if (facts->class == FS_PSEUDO || facts->mark_errno != 0)
                        continue;
                /* Where a rule is about all of it, nobody pays for another's. */
                for (size_t i = 0; i < N_PRICES; i++)
                        if (d->askers[i].rule && (d->whole & prices[i].event) == 0)
                                add_price(pl, v, facts, &prices[i], &d->askers[i]);
        }
}
