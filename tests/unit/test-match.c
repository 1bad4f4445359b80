/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a rule set says of single events: rules and worlds as text, events as lines of a table. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "match.h"
#include "strbuf.h"

static const char world_text[] =
        "mount 1 0 8:1 / / ext4 /dev/a\n"
        "mount 2 1 0:4 / /proc proc proc pseudo\n"
        "mount 3 1 8:2 / /srv xfs /dev/b\n"
        "mount 4 3 8:3 / /srv/www/data ext4 /dev/c\n"
        "mount 5 1 8:2 /www /export/www xfs /dev/b\n"
        "mount 6 2 0:5 / /proc/real tmpfs tmpfs\n"
        "path /etc/passwd type=file handle=aabb\n"
        "path /etc/alternatives/editor type=file resolved=/usr/bin/vi link=/etc/alternatives/editor\n"
        "path /var/run/app type=directory resolved=/run/app link=/var/run\n"
        "path /lib/lib type=file resolved=/usr/lib/lib link=/lib\n"
        "path /missing/dir/file link=/missing\n"
        "path /current type=directory resolved=/srv/releases/5 link=/current\n"
        "user alice 1000\n";

struct fixture {
        struct rules *rules;
        struct world *world;
        struct settings settings;
        struct matcher *matcher;
        struct match_hits hits;
};

static void set_up(struct fixture *f, const char *rules_text)
{
        struct conf_text file = { (char *)"test.conf", (char *)rules_text, strlen(rules_text) };
        struct diag diag = DIAG_NULL;

        *f = (struct fixture){ .settings.coalesce_usec = USEC_PER_SEC };
        if (rules_parse(&file, 1, &diag, &f->rules) < 0)
                print_message("# %s: %s\n", rules_text, diag.n_entries ? diag.entries[0].text : "?");
        assert_non_null(f->rules);
        assert_int_equal(world_parse_text(world_text, strlen(world_text), &diag, &f->world), 0);
        assert_int_equal(matcher_build(f->rules, &f->settings, f->world, &f->matcher), 0);
        diag_done(&diag);
}

static void tear_down(struct fixture *f)
{
        match_hits_done(&f->hits);
        matcher_free(f->matcher);
        world_free(f->world);
        rules_free(f->rules);
}

/* "8:2 /www/x" or "-", nothing: where an event was. */
static struct match_path path_of(const struct world *w, const char *text)
{
        unsigned major, minor;
        int at;

        if (!text || sscanf(text, "%u:%u %n", &major, &minor, &at) != 2)
                return MATCH_PATH_NONE;
        return (struct match_path){ world_find_fs(w, major, minor), text + at, strlen(text + at) };
}

/* "rule:event,event rule:event", in the fixed order of both. */
static const char *print_hits(const struct fixture *f, struct strbuf *b)
{
        strbuf_reset(b);
        for (size_t i = 0; i < f->hits.n; i++) {
                char separator = ':';

                strbuf_adds(b, i > 0 ? " " : "");
                strbuf_adds(b, f->rules->watches[f->hits.v[i].rule].clause.name);
                for (unsigned bit = 0; bit < EV_N_NAMES; bit++) {
                        if (!(f->hits.v[i].events & 1u << bit))
                                continue;
                        strbuf_addc(b, separator);
                        strbuf_adds(b, vocab_name(1u << bit));
                        separator = ',';
                }
        }
        return strbuf_str(b);
}

struct event_case {
        uint32_t events;
        const char *path, *old_path, *alias;
        bool is_dir;
        int mount_id;     /* an event of this mount's own group; 0 = of the main one */
        uint32_t type;
        const char *hits;
};

static struct match_query query_of(const struct fixture *f, const struct event_case *e)
{
        return (struct match_query){
                .source = { e->mount_id != 0, e->mount_id }, .events = e->events, .is_dir = e->is_dir,
                .path = path_of(f->world, e->path), .old_path = path_of(f->world, e->old_path),
                .alias = path_of(f->world, e->alias), .unresolved_fs = WORLD_NONE,
        };
}

static const struct actor root = {
        .pid = 7, .start_ticks = 1, .program_known = true, .comm = "sh", .exe = "/bin/sh",
        .euid = 0, .egid = 0, .loginuid = ID_UNKNOWN,
};

static void check_events(const char *rules_text, const struct event_case *events, size_t n)
{
        _cleanup_strbuf_ struct strbuf b = STRBUF_NULL;
        struct fixture f;

        set_up(&f, rules_text);
        for (size_t i = 0; i < n; i++) {
                struct match_query q = query_of(&f, &events[i]);
                struct match_facts facts = {
                        .type = events[i].type, .actor = &root,
                        .owner_uid = ID_UNKNOWN, .owner_gid = ID_UNKNOWN, .dir_uid = 0, .dir_gid = 0,
                };

                assert_int_equal(matcher_match(f.matcher, &q, &facts, &f.hits), 0);
                if (!streq(print_hits(&f, &b), events[i].hits))
                        print_message("# %s %zu: %s\n", rules_text, i, events[i].path ? events[i].path : "-");
                assert_string_equal(print_hits(&f, &b), events[i].hits);
        }
        tear_down(&f);
}

#define CHECK_EVENTS(rules, ...)                                                                 \
        check_events(rules, (const struct event_case[]){ __VA_ARGS__ },                          \
                     sizeof((const struct event_case[]){ __VA_ARGS__ }) / sizeof(struct event_case))

static void test_scopes(void **state)
{
        CHECK_EVENTS("watch: { t: { path = \"/etc\"; }; };",
                     { EV_MODIFY, "8:1 /etc/passwd", .hits = "t:modify" },
                     { EV_CREATE, "8:1 /etc/a/b/c", .hits = "t:create" },
                     { EV_ATTRIB, "8:1 /etc", .is_dir = true, .hits = "t:attrib" },
                     { EV_MODIFY, "8:1 /etcetera", .hits = "" },
                     { EV_MODIFY, "8:1 /", .is_dir = true, .hits = "" },
                     { EV_MODIFY, "8:2 /etc/passwd", .hits = "" },
                     { EV_OPEN, "8:1 /etc/passwd", .hits = "" },
                     { EV_OPEN | EV_CLOSE_WRITE, "8:1 /etc/passwd", .hits = "t:close_write" });
        CHECK_EVENTS("watch: { d: { path = \"/etc\"; scope = \"directory\"; }; };",
                     { EV_MODIFY, "8:1 /etc/passwd", .hits = "d:modify" },
                     { EV_ATTRIB, "8:1 /etc", .is_dir = true, .hits = "d:attrib" },
                     { EV_MODIFY, "8:1 /etc/a/b", .hits = "" });
        CHECK_EVENTS("watch: { f: { path = \"/etc/passwd\"; scope = \"file\"; }; };",
                     { EV_MODIFY, "8:1 /etc/passwd", .hits = "f:modify" },
                     { EV_MODIFY, "8:1 /etc/passwd/x", .hits = "" },
                     { EV_MODIFY, "8:1 /etc", .hits = "" });
        CHECK_EVENTS("watch: { all: { path = \"/\"; }; };",
                     { EV_MODIFY, "8:1 /", .is_dir = true, .hits = "all:modify" },
                     { EV_MODIFY, "8:3 /x", .hits = "all:modify" },
                     { EV_MODIFY, "0:4 /1/mem", .hits = "" },       /* a pseudo filesystem */
                     { EV_MODIFY, "0:5 /x", .hits = "all:modify" }); /* but what is mounted below it is not */
}

static void test_mounts(void **state)
{
        CHECK_EVENTS("watch: { w: { path = \"/srv\"; }; };",
                     { EV_MODIFY, "8:2 /x", .hits = "w:modify" },
                     { EV_MODIFY, "8:3 /x", .hits = "w:modify" },
                     { EV_MODIFY, "8:1 /srv/below", .hits = "" });
        CHECK_EVENTS("watch: { w: { path = \"/srv/www\"; scope = \"directory\"; }; };",
                     { EV_ATTRIB, "8:3 /", .is_dir = true, .hits = "w:attrib" }, /* a child, mounted */
                     { EV_MODIFY, "8:3 /x", .hits = "" });
        CHECK_EVENTS("watch: { w: { path = \"/srv\"; scope = \"directory\"; }; };",
                     { EV_ATTRIB, "8:3 /", .is_dir = true, .hits = "" }, /* a child's child */
                     { EV_ATTRIB, "8:2 /www", .is_dir = true, .hits = "w:attrib" });
        /* the bind mount and its source are the same files */
        CHECK_EVENTS("watch: { b: { path = \"/export/www\"; }; };",
                     { EV_MODIFY, "8:2 /www/x", .hits = "b:modify" },
                     { EV_MODIFY, "8:2 /other", .hits = "" },
                     { EV_MODIFY, "8:3 /x", .hits = "" });
        CHECK_EVENTS("watch: { fs: { path = \"/srv\"; scope = \"filesystem\"; }; no: { path = \"/etc\"; "
                     "scope = \"filesystem\"; }; };",
                     { EV_MODIFY, "8:2 /anything", .hits = "fs:modify" },
                     { EV_MODIFY, "8:3 /x", .hits = "" },
                     { EV_MODIFY, "8:1 /etc/x", .hits = "" });
        CHECK_EVENTS("watch: { m: { path = \"/export/www\"; scope = \"mount\"; }; t: { path = \"/export\"; }; };",
                     { EV_MODIFY, "8:2 /www/x", .mount_id = 5, .hits = "m:modify" },
                     { EV_MODIFY, "8:2 /www/x", .mount_id = 3, .hits = "" },
                     { EV_MODIFY, "8:2 /www/x", .hits = "t:modify" },
                     { EV_MODIFY, "8:2 /x", .mount_id = 5, .hits = "" });
        /* ignores by path hold for both */
        CHECK_EVENTS("watch: { m: { path = \"/export/www\"; scope = \"mount\"; }; };"
                     "ignore: { i: { path = \"/srv/www/tmp\"; }; };",
                     { EV_MODIFY, "8:2 /www/tmp/x", .mount_id = 5, .hits = "" },
                     { EV_MODIFY, "8:2 /www/x", .mount_id = 5, .hits = "m:modify" });
}

static void test_patterns(void **state)
{
        CHECK_EVENTS("watch: { p: { path = \"/srv\"; match = [ \"*.php\", \".ssh\", \"data\", \"www/*.ini\","
                     "                                         \"log/\" ]; }; };",
                     { EV_MODIFY, "8:2 /a/b/x.php", .hits = "p:modify" },
                     { EV_MODIFY, "8:2 /.php", .hits = "p:modify" },
                     { EV_MODIFY, "8:2 /x.php5", .hits = "" },
                     { EV_MODIFY, "8:2 /home/.ssh/id", .hits = "p:modify" },
                     { EV_MODIFY, "8:2 /www/a.ini", .hits = "p:modify" },
                     { EV_MODIFY, "8:2 /a/www/a.ini", .hits = "" },
                     { EV_MODIFY, "8:2 /log", .hits = "" },
                     { EV_MODIFY, "8:2 /log", .is_dir = true, .hits = "p:modify" },
                     { EV_MODIFY, "8:2 /log/x", .hits = "p:modify" },
                     { EV_MODIFY, "8:2 /", .is_dir = true, .hits = "" }, /* never the path itself */
                     { EV_MODIFY, "8:3 /x", .hits = "p:modify" },        /* below the directory data */
                     { EV_ATTRIB, "8:3 /", .is_dir = true, .hits = "p:attrib" });
        CHECK_EVENTS("watch: { p: { path = \"/srv\"; match = [ \"www/data/*.c\", \"*.h\" ]; }; };",
                     { EV_MODIFY, "8:3 /x.c", .hits = "p:modify" },
                     { EV_MODIFY, "8:3 /a/x.c", .hits = "" },
                     { EV_MODIFY, "8:3 /a/x.h", .hits = "p:modify" },
                     { EV_ATTRIB, "8:3 /", .is_dir = true, .hits = "" });
        CHECK_EVENTS("watch: { p: { path = \"/a\"; match = [ \"*.tar.gz\", \"*.gz\" ]; scope = \"directory\"; }; };",
                     { EV_MODIFY, "8:1 /a/x.tar.gz", .hits = "p:modify" },
                     { EV_MODIFY, "8:1 /a/b/x.gz", .hits = "" },
                     { EV_MODIFY, "8:1 /a/x.gz/y", .hits = "" });
}

static void test_ignores(void **state)
{
        CHECK_EVENTS("watch: { w: { path = \"/etc\"; except: { x: { path = \"/etc/x\"; }; }; };"
                     "         a: { path = \"/etc\"; always = true; except = [ \"*.swp\" ]; }; };"
                     "ignore: { i: { path = \"/etc/i\"; events = [ \"modify\" ]; };"
                     "          d: { path = \"/etc/d\"; scope = \"directory\"; }; };",
                     { EV_MODIFY, "8:1 /etc/y", .hits = "a:modify w:modify" },
                     { EV_MODIFY, "8:1 /etc/x/y", .hits = "a:modify" },
                     { EV_MODIFY | EV_ATTRIB, "8:1 /etc/i", .hits = "a:modify,attrib w:attrib" },
                     { EV_MODIFY, "8:1 /etc/d/y", .hits = "a:modify" },
                     { EV_MODIFY, "8:1 /etc/d/y/z", .hits = "a:modify w:modify" },
                     { EV_MODIFY, "8:1 /etc/.y.swp", .hits = "w:modify" });
        /* our own files and the journal's, unless asked for without fail */
        CHECK_EVENTS("watch: { w: { path = \"/\"; }; a: { path = \"/\"; always = true; }; };",
                     { EV_MODIFY, "8:1 /var/log/journal/x/system.journal", .hits = "a:modify" },
                     { EV_MODIFY, "8:1 /run/log/journal/x", .hits = "a:modify" },
                     { EV_MODIFY, "8:1 /run/fawatchd/status", .hits = "a:modify" },
                     { EV_MODIFY, "8:1 /var/lib/fawatchd/rules", .hits = "a:modify" },
                     { EV_MODIFY, "8:1 /var/log/syslog", .hits = "a:modify w:modify" });
        /* by an except without a path: all that the rule covers */
        CHECK_EVENTS("watch: { f: { path = \"/srv/www/data\"; scope = \"filesystem\"; except = [ \"*.o\" ]; }; };",
                     { EV_MODIFY, "8:3 /a/x.o", .hits = "" }, { EV_MODIFY, "8:3 /a/x.c", .hits = "f:modify" });
        CHECK_EVENTS("watch: { b: { path = \"/export/www\"; scope = \"filesystem\"; except = [ \"*.o\" ]; }; };",
                     { EV_MODIFY, "8:2 /elsewhere/x.o", .hits = "" });
}

static void test_renames(void **state)
{
        static const char rules[] = "watch: { w: { path = \"/etc\"; }; s: { path = \"/srv\"; events = \"all\"; }; };"
                                    "ignore: { i: { path = \"/etc/tmp\"; }; };";

        CHECK_EVENTS(rules, { EV_RENAME, "8:1 /etc/b", "8:1 /etc/a", .hits = "w:rename" },
                     { EV_RENAME, "8:1 /etc/b", "8:1 /tmp/a", .hits = "w:rename" },
                     { EV_RENAME, "8:1 /tmp/b", "8:1 /etc/a", .hits = "w:rename" },
                     { EV_RENAME, "8:1 /etc/b", "8:1 /etc/tmp/a", .hits = "w:rename" },
                     { EV_RENAME, "8:1 /etc/tmp/b", "8:1 /etc/a", .hits = "w:rename" },
                     { EV_RENAME, "8:1 /etc/tmp/b", "8:1 /etc/tmp/a", .hits = "" },
                     { EV_RENAME, "8:1 /etc/tmp/b", "8:1 /tmp/a", .hits = "" },
                     { EV_RENAME, "8:1 /tmp/b", "8:1 /tmp/a", .hits = "" },
                     { EV_RENAME, NULL, "8:1 /etc/a", .hits = "w:rename" },
                     { EV_MOVED_FROM, NULL, "8:1 /etc/a", .hits = "w:rename" },
                     { EV_MOVED_TO, "8:1 /etc/a", .hits = "w:rename" },
                     /* what else happened is of the new name */
                     { EV_RENAME | EV_ATTRIB, "8:1 /tmp/b", "8:1 /etc/a", .hits = "w:rename" },
                     { EV_RENAME | EV_ATTRIB, "8:1 /etc/b", "8:1 /tmp/a", .hits = "w:rename,attrib" },
                     { EV_RENAME | EV_MOVE_SELF, "8:1 /x", "8:2 /a", .is_dir = true, .hits = "s:rename,move_self" });
}

/* A directory's own removal raises two events, of its name and of itself. */
static void test_self(void **state)
{
        CHECK_EVENTS("watch: { d: { path = \"/d\"; scope = \"directory\"; events = \"delete_self\"; };"
                     "         n: { path = \"/d\"; events = \"delete\"; }; };",
                     { EV_DELETE | EV_DELETE_SELF, "8:1 /d", .is_dir = true,
                       .hits = "d:delete,delete_self n:delete,delete_self" },
                     { EV_DELETE_SELF, NULL, NULL, "8:1 /d", .is_dir = true, .hits = "d:delete_self" },
                     { EV_DELETE, "8:1 /d/x", .hits = "n:delete" });
}

static void test_alias(void **state)
{
        CHECK_EVENTS("watch: { f: { path = \"/etc/passwd\"; scope = \"file\"; }; t: { path = \"/etc\"; };"
                     "         tf: { path = \"/etc/passwd\"; }; };"
                     "ignore: { i: { path = \"/home\"; events = \"attrib\"; }; };",
                     /* a write through another hard link: the object's rule, and a tree on a file is one */
                     { EV_MODIFY, "8:1 /home/link", NULL, "8:1 /etc/passwd", .hits = "f:modify tf:modify" },
                     /* that the other name was made is no event of this one */
                     { EV_CREATE | EV_MODIFY, "8:1 /home/link", NULL, "8:1 /etc/passwd", .hits = "f:modify tf:modify" },
                     { EV_ATTRIB, NULL, NULL, "8:1 /etc/passwd", .hits = "f:attrib tf:attrib" },
                     { EV_MODIFY, "8:1 /etc/passwd", NULL, "8:1 /etc/passwd", .hits = "f:modify t:modify tf:modify" },
                     { EV_MODIFY, "8:1 /etc/x", NULL, NULL, .hits = "t:modify" });
}

static void test_types(void **state)
{
        CHECK_EVENTS("watch: { w: { path = \"/run\"; events = \"all\"; };"
                     "         s: { path = \"/run\"; type = [ \"socket\", \"fifo\" ]; };"
                     "         d: { path = \"/run\"; type = \"directory\"; }; };"
                     "ignore: { i: { path = \"/run/i\"; type = \"symlink\"; };"
                     "          j: { path = \"/run/j\"; type = \"directory\"; }; };",
                     { EV_MODIFY | EV_OPEN, "8:1 /run/x", .type = TYPE_FILE, .hits = "w:modify,open" },
                     { EV_MODIFY | EV_CREATE, "8:1 /run/x", .type = TYPE_SOCKET, .hits = "s:create,modify w:create" },
                     { EV_MODIFY, "8:1 /run/x", .type = TYPE_DEVICE, .hits = "" },
                     { EV_DELETE, "8:1 /run/x", .type = 0, .hits = "s:delete w:delete" },
                     { EV_DELETE, "8:1 /run/x", .type = 0, .is_dir = true, .hits = "d:delete w:delete" },
                     { EV_DELETE, "8:1 /run/i/x", .type = TYPE_SYMLINK, .hits = "" },
                     { EV_DELETE, "8:1 /run/i/x", .type = 0, .hits = "s:delete w:delete" }, /* not known to be one */
                     { EV_DELETE, "8:1 /run/j/x", .type = 0, .is_dir = true, .hits = "" });
}

static void test_links(void **state)
{
        CHECK_EVENTS("watch: { ed: { path = \"/etc/alternatives/editor\"; }; run: { path = \"/var/run/app\"; };"
                     "         cur: { path = \"/current\"; events = \"all\"; }; };",
                     { EV_MODIFY, "8:1 /usr/bin/vi", .hits = "ed:modify" },
                     { EV_RENAME, "8:1 /etc/alternatives/editor", "8:1 /etc/alternatives/e.tmp", .hits = "ed:rename" },
                     { EV_MODIFY, "8:1 /etc/alternatives/editor", .hits = "" },
                     { EV_CREATE, "8:1 /run/app/x", .hits = "run:create" },
                     { EV_DELETE, "8:1 /var/run", .hits = "" }, /* a link on the way is followed, not watched */
                     { EV_DELETE, "8:1 /current", .hits = "cur:delete" },
                     { EV_OPEN, "8:2 /releases/5/x", .hits = "cur:open" },
                     { EV_OPEN, "8:1 /current", .hits = "" });
        /* a link on the way that has the same name; a whole filesystem has no link of its own */
        CHECK_EVENTS("watch: { l: { path = \"/lib/lib\"; };"
                     "         fs: { path = \"/current\"; scope = \"filesystem\"; }; };",
                     { EV_DELETE, "8:1 /usr/lib/lib", .hits = "l:delete" },
                     { EV_DELETE, "8:1 /lib", .hits = "" }, { EV_DELETE, "8:1 /current", .hits = "" });
}

static void test_tripwires(void **state)
{
        static const struct {
                uint32_t events;
                const char *path, *old_path;
                bool tripwire;
        } cases[] = {
                { EV_DELETE, "8:1 /var/run", NULL, true },
                { EV_RENAME, "8:1 /x", "8:1 /var/run", true },
                { EV_RENAME, "8:1 /var/run", "8:1 /x", true },
                { EV_ATTRIB, "8:1 /var/run", NULL, false },
                { EV_DELETE, "8:1 /var/run/app", NULL, false },
                { EV_CREATE, "8:1 /missing", NULL, true },
                { EV_MOVED_TO, "8:1 /missing", NULL, true },
                { EV_CREATE, "8:1 /missing/dir", NULL, false },
                { EV_CREATE, "8:2 /missing", NULL, false },
                { EV_DELETE, "8:1 /etc/alternatives/editor", NULL, true },
        };
        struct fixture f;

        set_up(&f, "watch: { a: { path = \"/var/run/app\"; }; b: { path = \"/missing/dir/file\"; }; };"
                   "ignore: { c: { path = \"/etc/alternatives/editor\"; }; };");
        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                struct event_case e = { cases[i].events, cases[i].path, cases[i].old_path };
                struct match_query q = query_of(&f, &e);

                assert_int_equal(matcher_match(f.matcher, &q, NULL, &f.hits), 0);
                if (f.hits.tripwire != cases[i].tripwire)
                        print_message("# %s\n", cases[i].path);
                assert_int_equal(f.hits.tripwire, cases[i].tripwire);
        }
        tear_down(&f);
}

/* By path alone: watching is assumed, ignoring is not, and what would decide is said. */
static void test_without_facts(void **state)
{
        static const struct {
                const char *path;
                uint32_t events;
                const char *hits;
                bool needs_actor, needs_dir_owner;
        } cases[] = {
                { "8:1 /a/x", EV_MODIFY, "a:modify", false, false },
                { "8:1 /b/x", EV_MODIFY, "b:modify", true, false },
                { "8:1 /b/x", EV_OPEN, "", false, false },
                { "8:1 /c/x", EV_MODIFY, "c:modify", true, true },
                { "8:1 /a/i/x", EV_MODIFY, "a:modify", true, false },
                { "8:1 /a/i/x", EV_ATTRIB, "a:attrib", false, false }, /* that ignore is of modify only */
                { "8:1 /i/x", EV_MODIFY, "", false, false },
                { "8:1 /al/x", EV_MODIFY, "al:modify", false, false }, /* no ignore can take it out */
        };
        _cleanup_strbuf_ struct strbuf b = STRBUF_NULL;
        struct fixture f;

        set_up(&f, "watch: { a: { path = \"/a\"; }; b: { path = \"/b\"; only: { user = \"alice\"; }; };"
                   "         c: { path = \"/c\"; except: { own: { user = \"@owner\"; }; }; };"
                   "         al: { path = \"/al\"; always = true; }; };"
                   "ignore: { i: { path = [ \"/a/i\", \"/i\", \"/al\" ]; events = \"modify\";"
                   "               exe = \"/bin/sh\"; }; };");
        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                struct event_case e = { cases[i].events, cases[i].path };
                struct match_query q = query_of(&f, &e);

                assert_int_equal(matcher_match(f.matcher, &q, NULL, &f.hits), 0);
                assert_string_equal(print_hits(&f, &b), cases[i].hits);
                assert_int_equal(f.hits.needs_actor, cases[i].needs_actor);
                assert_int_equal(f.hits.needs_dir_owner, cases[i].needs_dir_owner);
        }
        tear_down(&f);
        /* with them: root, by /bin/sh, in root's directories */
        CHECK_EVENTS("watch: { a: { path = \"/a\"; }; b: { path = \"/b\"; only: { user = \"alice\"; }; };"
                     "         c: { path = \"/c\"; except: { own: { user = \"@owner\"; }; }; }; };"
                     "ignore: { i: { path = \"/a/i\"; exe = \"/bin/sh\"; }; };",
                     { EV_MODIFY, "8:1 /a/i/x", .hits = "" }, { EV_MODIFY, "8:1 /b/x", .hits = "" },
                     { EV_MODIFY, "8:1 /c/x", .hits = "" }, { EV_MODIFY, "8:1 /a/x", .hits = "a:modify" });
}

static void test_ignored_is_counted(void **state)
{
        struct fixture f;
        struct event_case taken = { EV_MODIFY | EV_ATTRIB | EV_OPEN, "8:1 /etc/i/x" };
        struct event_case unwanted = { EV_OPEN, "8:1 /etc/i/x" };
        struct match_query q;

        set_up(&f, "watch: { w: { path = \"/etc\"; }; };"
                   "ignore: { i: { path = \"/etc/i\"; events = [ \"modify\", \"open\" ]; }; };");
        q = query_of(&f, &taken);
        assert_int_equal(matcher_match(f.matcher, &q, NULL, &f.hits), 0);
        assert_int_equal(f.hits.events, EV_ATTRIB);
        assert_int_equal(f.hits.ignored, EV_MODIFY);
        q = query_of(&f, &unwanted);
        assert_int_equal(matcher_match(f.matcher, &q, NULL, &f.hits), 0);
        assert_int_equal(f.hits.events, 0);
        assert_int_equal(f.hits.ignored, 0);
        tear_down(&f);
}

/* Until it is modified: then it is reported, and spent. */
static void test_until(void **state)
{
        static const struct {
                uint32_t events;
                const char *path, *old_path;
                bool spent;
                uint32_t hits, n_spends;
        } cases[] = {
                { EV_ATTRIB, "8:1 /srv.db", NULL, false, 0, 0 },
                { EV_CLOSE_WRITE, "8:1 /srv.db", NULL, false, 0, 0 },
                { EV_MODIFY | EV_CLOSE_WRITE, "8:1 /srv.db", NULL, false, EV_MODIFY | EV_CLOSE_WRITE, 1 },
                { EV_RENAME, "8:1 /srv.db", "8:1 /x", false, EV_RENAME, 1 },
                { EV_RENAME, "8:1 /x", "8:1 /srv.db", false, EV_RENAME, 0 }, /* the new name is watched */
                { EV_MODIFY, "8:1 /other", NULL, false, EV_MODIFY, 0 },
                { EV_ATTRIB, "8:1 /srv.db", NULL, true, EV_ATTRIB, 0 },
                { EV_MODIFY, "8:1 /srv.db", NULL, true, EV_MODIFY, 0 },
        };
        struct fixture f;

        set_up(&f, "watch: { w: { path = \"/\"; }; }; ignore: { a: { path = \"/nothing\"; };"
                   "  db: { path = \"/srv.db\"; scope = \"file\"; until = \"modified\"; }; };");
        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                struct event_case e = { cases[i].events, cases[i].path, cases[i].old_path };
                struct match_query q = query_of(&f, &e);

                matcher_set_spent(f.matcher, 1, cases[i].spent);
                assert_int_equal(matcher_match(f.matcher, &q, NULL, &f.hits), 0);
                assert_int_equal(f.hits.events, cases[i].hits);
                assert_int_equal(f.hits.n_spends, cases[i].n_spends);
                if (cases[i].n_spends > 0)
                        assert_int_equal(f.hits.spends[0], 1);
        }
        tear_down(&f);
}

/* Where the path is not known only rules for all of the filesystem can say. */
static void test_unresolved(void **state)
{
        static const struct {
                unsigned minor;
                const char *hits;
        } cases[] = { { 1, "" }, { 2, "fs:modify srv:modify" }, { 3, "data:modify srv:modify www:modify" } };
        _cleanup_strbuf_ struct strbuf b = STRBUF_NULL;
        struct fixture f;

        set_up(&f, "watch: { srv: { path = \"/srv\"; }; fs: { path = \"/srv\"; scope = \"filesystem\"; };"
                   " data: { path = \"/srv/www/data\"; }; pat: { path = \"/srv\"; match = \"*.c\"; };"
                   " www: { path = \"/srv/www\"; }; dir: { path = \"/srv\"; scope = \"directory\"; }; };"
                   "ignore: { i: { path = \"/srv/x\"; }; };");
        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                struct match_query q = {
                        .events = EV_MODIFY, .path = MATCH_PATH_NONE, .old_path = MATCH_PATH_NONE,
                        .alias = MATCH_PATH_NONE, .unresolved_fs = world_find_fs(f.world, 8, cases[i].minor),
                };

                assert_int_equal(matcher_match(f.matcher, &q, NULL, &f.hits), 0);
                assert_string_equal(print_hits(&f, &b), cases[i].hits);
        }
        tear_down(&f);
}

static void print_object(void *userdata, uint32_t fs, const char *inside, const struct handle *handle)
{
        strbuf_addf(userdata, "%u %s %u\n", fs, inside, handle->len);
}

static void test_objects(void **state)
{
        _cleanup_strbuf_ struct strbuf b = STRBUF_NULL;
        struct fixture f;

        set_up(&f, "watch: { a: { path = \"/etc/passwd\"; scope = \"file\"; }; b: { path = \"/etc/passwd\"; };"
                   " c: { path = \"/srv/www\"; scope = \"directory\"; }; d: { path = \"/etc\"; }; };"
                   "ignore: { i: { path = \"/var/x\"; scope = \"file\"; };"
                   " u: { path = \"/var/u\"; scope = \"file\"; until = \"modified\"; }; };");
        matcher_foreach_object(f.matcher, print_object, &b);
        assert_string_equal(strbuf_str(&b), "0 /var/u 0\n0 /etc/passwd 2\n2 /www 0\n");
        tear_down(&f);
}

static void test_coalesce_usec(void **state)
{
        static const struct {
                const char *path;
                uint64_t usec;
        } cases[] = {
                { "8:1 /a", USEC_PER_SEC }, { "8:1 /b", 10 * USEC_PER_SEC }, { "8:1 /b/c", 5 * USEC_PER_SEC },
                { "8:1 /b/c/d", 0 },        { "8:1 /none", USEC_PER_SEC },
        };
        struct fixture f;

        set_up(&f, "watch: { a: { path = \"/a\"; }; b: { path = \"/b\"; coalesce = \"10s\"; };"
                   " c: { path = \"/b/c\"; coalesce = \"5s\"; }; d: { path = \"/b/c/d\"; coalesce = \"0\"; }; };");
        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                struct event_case e = { EV_MODIFY, cases[i].path };
                struct match_query q = query_of(&f, &e);

                assert_int_equal(matcher_match(f.matcher, &q, NULL, &f.hits), 0);
                assert_int_equal(matcher_coalesce_usec(f.matcher, &f.hits), cases[i].usec);
        }
        tear_down(&f);
}

static void test_journal(void **state)
{
        static const struct {
                const char *path;
                bool expected;
        } cases[] = {
                { "8:1 /var/log/journal", true },       { "8:1 /var/log/journal/id/system.journal", true },
                { "8:1 /run/log/journal/id", true },    { "8:1 /var/log/journals", false },
                { "8:1 /var/abc/journal", false },      { "8:2 /var/log/journal", false },
        };
        struct match_path none = MATCH_PATH_NONE;
        struct fixture f;

        set_up(&f, "watch: { a: { path = \"/a\"; }; };");
        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                struct match_path p = path_of(f.world, cases[i].path);

                assert_int_equal(matcher_is_journal_dir(f.matcher, &p), cases[i].expected);
        }
        assert_false(matcher_is_journal_dir(f.matcher, &none));
        tear_down(&f);
}

/* What a scan found, and what a name leads to now. */
static void test_found(void **state)
{
        CHECK_EVENTS("watch: { w: { path = \"/a\"; }; o: { path = \"/a\"; events = \"open\"; }; };"
                     "ignore: { m: { path = \"/a/m\"; events = \"modify\"; }; i: { path = \"/a/i\"; }; };",
                     { EV_CHANGED, "8:1 /a/x", .hits = "w:changed" },
                     { EV_REPLACED, "8:1 /a/x", .hits = "o:replaced w:replaced" },
                     { EV_CHANGED | EV_REPLACED, "8:1 /a/m", .hits = "o:replaced w:replaced,changed" },
                     { EV_CHANGED | EV_REPLACED, "8:1 /a/i", .hits = "" });
}

static void test_stats(void **state)
{
        struct matcher_stats s;
        struct fixture f;

        set_up(&f, "watch: { w: { path = [ \"/a\", \"/b\" ]; match = [ \"x\", \"*.c\", \"a/b\", \"?\" ]; }; };");
        matcher_stats(f.matcher, &s);
        assert_int_equal(s.literal_patterns, 2);
        assert_int_equal(s.regex_patterns, 2);
        assert_int_equal(s.anchors, 2 + 4); /* and the built-in ignores */
        assert_in_range(s.bytes, 1000, 100000);
        tear_down(&f);
}

int main(void)
{
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_scopes),        cmocka_unit_test(test_mounts),
                cmocka_unit_test(test_patterns),      cmocka_unit_test(test_ignores),
                cmocka_unit_test(test_renames),       cmocka_unit_test(test_self),
                cmocka_unit_test(test_alias),         cmocka_unit_test(test_types),
                cmocka_unit_test(test_links),         cmocka_unit_test(test_tripwires),
                cmocka_unit_test(test_without_facts), cmocka_unit_test(test_ignored_is_counted),
                cmocka_unit_test(test_until),         cmocka_unit_test(test_unresolved),
                cmocka_unit_test(test_objects),       cmocka_unit_test(test_coalesce_usec),
                cmocka_unit_test(test_journal),       cmocka_unit_test(test_found),
                cmocka_unit_test(test_stats),
        };

        cmocka_set_message_output(CM_OUTPUT_TAP);
        return cmocka_run_group_tests_name("match", tests, NULL, NULL);
}
