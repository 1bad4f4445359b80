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

static void add_path(struct strbuf *out, bool is_watch)
{
        strbuf_adds(out, IGNORE_ROOT);
        for (uint32_t depth = is_watch ? random_below(2) : random_below(4); depth > 0; depth--)
                strbuf_addf(out, "/%s", depth == 1 && random_below(3) == 0 ? ANY(files) : ANY(dirs));
}

static void add_clause(struct strbuf *out, bool is_watch)
{
        static const char *const scopes[] = { "file", "directory", "tree", "tree" };

        strbuf_adds(out, "path = \"");
        add_path(out, is_watch && random_below(3) > 0);
        const char *scope = ANY(scopes);
        strbuf_addf(out, "\"; scope = \"%s\"; ", scope);
        if (random_below(3) == 0 && !streq(scope, "file"))
                strbuf_addf(out, "match = \"%s\"; ", ANY(patterns));
        if (!is_watch && random_below(2) == 0)
                return;
        strbuf_adds(out, "events = [ ");
        if (random_below(4) > 0)
                strbuf_adds(out, "\"rename\", ");
        strbuf_addf(out, "\"%s\"", ANY(events));
        for (uint32_t n = is_watch ? 2 + random_below(5) : random_below(4); n > 0; n--)
                strbuf_addf(out, ", \"%s\"", ANY(events));
        if (random_below(3) == 0 && (streq(scope, "file") || streq(scope, "directory")))
                strbuf_addf(out, ", \"%s\"", random_below(2) ? "delete_self" : "move_self");
        strbuf_adds(out, " ]; ");
}

void random_rules(struct strbuf *out)
{
        strbuf_adds(out, "watch: {\n");
        for (uint32_t i = 0, n = 1 + random_below(3); i < n; i++) {
                strbuf_addf(out, "  w%u: { ", i);
                add_clause(out, true);
                if (random_below(4) == 0)
                        strbuf_adds(out, "always = true; ");
                if (random_below(3) == 0) {
                        strbuf_adds(out, "except: { e: { ");
                        add_clause(out, false);
                        strbuf_adds(out, "}; }; ");
                }
                strbuf_adds(out, "};\n");
        }
        strbuf_adds(out, "};\nignore: {\n");
        for (uint32_t i = 0, n = random_below(4); i < n; i++) {
                strbuf_addf(out, "  i%u: { ", i);
                if (random_below(5) == 0) {
                        strbuf_adds(out, "until = \"modified\"; scope = \"file\"; path = \"" IGNORE_ROOT "/");
                        strbuf_addf(out, "%s/%s\"; };\n", ANY(dirs), ANY(files));
                        continue;
                }
                add_clause(out, false);
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
