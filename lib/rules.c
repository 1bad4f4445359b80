/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "rules.h"
#include "strbuf.h"

void rules_free(struct rules *r)
{
        if (r)
                arena_free(r->arena); /* which owns r too */
}

static const struct {
        const char *name;
        size_t offset;
} actor_keys[N_ACTOR_KEYS] = {
        { "exe", offsetof(struct actors, exe) },
        { "comm", offsetof(struct actors, comm) },
        { "user", offsetof(struct actors, user) },
        { "group", offsetof(struct actors, group) },
        { "login", offsetof(struct actors, login) },
        { "unit", offsetof(struct actors, unit) },
        { "container", offsetof(struct actors, container) },
        { "ancestor", offsetof(struct actors, ancestor) },
        { "actor", offsetof(struct actors, actor) },
};

const char *actors_key_name(size_t key)
{
        return actor_keys[key].name;
}

struct strings *actors_key(struct actors *a, size_t key)
{
        return (struct strings *)((char *)a + actor_keys[key].offset);
}

bool actors_empty(const struct actors *a)
{
        for (size_t key = 0; key < N_ACTOR_KEYS; key++)
                if (actors_key_const(a, key)->n > 0)
                        return false;
        return true;
}

const char *scope_name(enum scope scope)
{
        static const char *const names[N_SCOPES] = {
                [SCOPE_FILE] = "file",   [SCOPE_DIRECTORY] = "directory",   [SCOPE_TREE] = "tree",
                [SCOPE_MOUNT] = "mount", [SCOPE_FILESYSTEM] = "filesystem",
        };

        return names[scope];
}

const char *placement_name(enum placement p)
{
        static const char *const names[] = {
                [PLACEMENT_UNSET] = "unset",
                [PLACEMENT_AUTO] = "auto",
                [PLACEMENT_FILESYSTEM] = "filesystem",
                [PLACEMENT_DIRECTORIES] = "directories",
        };

        return names[p];
}

const char *priority_name(int priority)
{
        static const char *const names[] = { "emerg",   "alert",  "crit", "err",
                                             "warning", "notice", "info", "debug" };

        return names[priority & 7];
}

/* A named entry of either set, printed: what rules_compare() compares. */
enum entry_kind { ENTRY_ACTORS, ENTRY_IGNORE, ENTRY_WATCH };

struct entries {
        enum entry_kind kind;
        const char *word;
        const struct rules *rules;
};

static size_t entries_count(const struct entries *e)
{
        if (!e->rules)
                return 0;
        switch (e->kind) {
        case ENTRY_ACTORS:
                return e->rules->n_actor_sets;
        case ENTRY_IGNORE:
                return e->rules->n_ignores;
        case ENTRY_WATCH:
                return e->rules->n_watches;
        }
        return 0;
}

static const char *entry_name(const struct entries *e, size_t i)
{
        switch (e->kind) {
        case ENTRY_ACTORS:
                return e->rules->actor_sets[i].name;
        case ENTRY_IGNORE:
                return e->rules->ignores[i].name;
        case ENTRY_WATCH:
                return e->rules->watches[i].clause.name;
        }
        return "";
}

static void entry_print(const struct entries *e, size_t i, struct strbuf *out)
{
        strbuf_reset(out);
        switch (e->kind) {
        case ENTRY_ACTORS:
                rules_print_actors(&e->rules->actor_sets[i], out);
                break;
        case ENTRY_IGNORE:
                rules_print_ignore(&e->rules->ignores[i], out);
                break;
        case ENTRY_WATCH:
                rules_print_watch(&e->rules->watches[i], out);
                break;
        }
}

static void note_change(struct rules_diff *diff, char sign, const struct entries *e, size_t i)
{
        if (diff->text)
                strbuf_addf(diff->text, "%c %s %s\n", sign, e->word, entry_name(e, i));
}

/* Both sides are sorted by name: one walk along both. */
static void compare_entries(const struct entries *before, const struct entries *after,
                            struct rules_diff *diff)
{
        _cleanup_strbuf_ struct strbuf old_text = STRBUF_NULL, new_text = STRBUF_NULL;
        size_t n_before = entries_count(before), n_after = entries_count(after), i = 0, j = 0;

        while (i < n_before || j < n_after) {
                int order = i == n_before  ? 1
                            : j == n_after ? -1
                                           : strcmp(entry_name(before, i), entry_name(after, j));

                if (order < 0) {
                        diff->removed++;
                        note_change(diff, '-', before, i++);
                        continue;
                }
                if (order > 0) {
                        diff->added++;
                        note_change(diff, '+', after, j++);
                        continue;
                }
                entry_print(before, i, &old_text);
                entry_print(after, j, &new_text);
                /* Where memory was short, "changed" is the careful answer. */
                if (strbuf_failed(&old_text) || strbuf_failed(&new_text) ||
                    !streq(strbuf_str(&old_text), strbuf_str(&new_text))) {
                        diff->changed++;
                        note_change(diff, '~', after, j);
                }
                i++;
                j++;
        }
}

void rules_compare(const struct rules *before, const struct rules *after, struct rules_diff *diff)
{
        static const struct {
                enum entry_kind kind;
                const char *word;
        } kinds[] = { { ENTRY_WATCH, "watch" }, { ENTRY_IGNORE, "ignore" }, { ENTRY_ACTORS, "actors" } };

        diff->added = diff->removed = diff->changed = 0;
        for (size_t i = 0; i < ELEMENTSOF(kinds); i++)
                compare_entries(&(struct entries){ kinds[i].kind, kinds[i].word, before },
                                &(struct entries){ kinds[i].kind, kinds[i].word, after }, diff);
}
