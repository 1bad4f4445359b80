/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ignore_random.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "ignore_fixture.h"

static uint64_t random_state;

void random_begin(uint64_t seed)
{
        random_state = seed;
}

uint32_t random_below(uint32_t n)
{
        random_state ^= random_state << 13;
        random_state ^= random_state >> 7;
        random_state ^= random_state << 17;
        return (uint32_t)(random_state >> 20) % n;
}

#define ANY(array) (array)[random_below(ELEMENTSOF(array))]

static const char *const dirs[] = { "a", "b" };
static const char *const files[] = { "x.c", "y.o", "z" };
static const char *const patterns[] = { "*.c", "*.o", "z", "a/", "a/*", "/b/*.c", "**/x.c", "b/**", "c/z" };
static const char *const events[] = {
        "create", "delete", "modify", "close_write", "attrib", "open", "access", "close_nowrite",
        "open_exec",
};

/* ---- rules ---- */

struct maker {
        struct strbuf *out;
        bool conditions;
        bool no_renames; /* nothing asks for them */
};

static void add_path(struct maker *m, uint32_t depth)
{
        strbuf_adds(m->out, "\"" IGNORE_ROOT);
        if (m->conditions && depth > 0 && random_below(12) == 0)
                strbuf_adds(m->out, "/" RANDOM_LINK);
        for (; depth > 0; depth--)
                strbuf_addf(m->out, "/%s", depth == 1 && random_below(3) == 0 ? ANY(files) : ANY(dirs));
        strbuf_addc(m->out, '"');
}

static void add_paths(struct maker *m, bool is_watch)
{
        strbuf_adds(m->out, "path = [ ");
        for (bool more = true; more; more = m->conditions && random_below(4) == 0) {
                add_path(m, is_watch && random_below(3) > 0 ? random_below(2) : random_below(4));
                strbuf_adds(m->out, ", ");
        }
        m->out->len -= 2;
        strbuf_adds(m->out, " ]; ");
}

static void add_events(struct maker *m, bool is_watch, bool self)
{
        strbuf_adds(m->out, "events = [ ");
        if (!m->no_renames && random_below(4) > 0)
                strbuf_adds(m->out, "\"rename\", ");
        strbuf_addf(m->out, "\"%s\"", ANY(events));
        for (uint32_t n = is_watch ? 2 + random_below(5) : random_below(4); n > 0; n--)
                strbuf_addf(m->out, ", \"%s\"", ANY(events));
        if (self && random_below(3) == 0)
                strbuf_addf(m->out, ", \"%s\"", random_below(2) ? "delete_self" : "move_self");
        strbuf_adds(m->out, " ]; ");
}

/* Conditions that always hold, or never do: the operations are root's. */
static void add_conditions(struct maker *m, bool is_watch)
{
        static const char *const types[] = { "file", "directory", "symlink" };

        if (random_below(6) == 0)
                strbuf_addf(m->out, "type = \"%s\"; ", ANY(types));
        if (random_below(6) == 0)
                strbuf_addf(m->out, is_watch ? "only: { user = \"%u\"; }; " : "user = \"%u\"; ",
                            random_below(2) ? 0u : 12345u);
}

static void add_clause(struct maker *m, bool is_watch)
{
        static const char *const scopes[] = { "file", "directory", "tree", "tree" };
        const char *scope = ANY(scopes);
        bool file = streq(scope, "file");

        add_paths(m, is_watch);
        strbuf_addf(m->out, "scope = \"%s\"; ", scope);
        if (random_below(3) == 0 && !file)
                strbuf_addf(m->out, "match = \"%s\"; ", ANY(patterns));
        if (m->conditions)
                add_conditions(m, is_watch);
        if (is_watch || random_below(2) > 0)
                add_events(m, is_watch, file || streq(scope, "directory"));
}

static void add_except(struct maker *m)
{
        if (m->conditions && random_below(4) == 0) {
                strbuf_addf(m->out, "except = [ \"%s\" ]; ", ANY(patterns));
                return;
        }
        strbuf_adds(m->out, "except: { e: { ");
        add_clause(m, false);
        strbuf_adds(m->out, "}; }; ");
}

static void add_ignore(struct maker *m)
{
        if (random_below(4) > 0) {
                add_clause(m, false);
                return;
        }
        strbuf_adds(m->out, "until = \"modified\"; scope = \"file\"; path = \"" IGNORE_ROOT);
        for (uint32_t depth = 1 + random_below(2); depth > 0; depth--)
                strbuf_addf(m->out, "/%s", ANY(dirs));
        strbuf_addf(m->out, "/%s\"; ", ANY(files));
}

void random_rules(struct strbuf *out, enum random_kind kind)
{
        struct maker m = {
                .out = out,
                .conditions = kind == RANDOM_CONDITIONS,
                .no_renames = random_below(4) == 0,
        };

        strbuf_adds(out, "watch: {\n");
        for (uint32_t i = 0, n = 1 + random_below(3); i < n; i++) {
                strbuf_addf(out, "  w%u: { ", i);
                add_clause(&m, true);
                if (random_below(4) == 0)
                        strbuf_adds(out, "always = true; ");
                if (random_below(3) == 0)
                        add_except(&m);
                strbuf_adds(out, "};\n");
        }
        strbuf_adds(out, "};\nignore: {\n");
        for (uint32_t i = 0, n = random_below(4); i < n; i++) {
                strbuf_addf(out, "  i%u: { ", i);
                add_ignore(&m);
                strbuf_adds(out, "};\n");
        }
        strbuf_adds(out, "};\n");
}

/* ---- paths ---- */

const char *random_file(void)
{
        static struct strbuf out[2];
        static unsigned turn;
        struct strbuf *b = &out[turn++ % 2];

        strbuf_reset(b);
        strbuf_adds(b, IGNORE_ROOT);
        for (uint32_t depth = random_below(4); depth > 0; depth--)
                strbuf_addf(b, "/%s", ANY(dirs));
        strbuf_addf(b, "/%s", ANY(files));
        return strbuf_str(b);
}

const char *random_dir(void)
{
        static struct strbuf out[2];
        static unsigned turn;
        struct strbuf *b = &out[turn++ % 2];

        strbuf_reset(b);
        strbuf_adds(b, IGNORE_ROOT);
        for (uint32_t depth = 1 + random_below(3); depth > 0; depth--)
                strbuf_addf(b, "/%s", ANY(dirs));
        return strbuf_str(b);
}

/* Directories three deep, and a file in most of them. */
void random_furnish(void *arg)
{
        for (unsigned depth = 1; depth < 4; depth++)
                for (unsigned bits = 0; bits < 1u << depth; bits++) {
                        char path[64] = IGNORE_ROOT;

                        for (unsigned level = 0; level < depth; level++)
                                (void)strcat(strcat(path, "/"), dirs[bits >> level & 1]);
                        (void)mkdir(path, 0755);
                        (void)strcat(strcat(path, "/"), ANY(files));
                        ignore_write(path, "x");
                }
}
