/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Rules, a world and marks in; what becomes of each event out, one line a case. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "explain.h"
#include "strbuf.h"

static const char world_text[] =
        "mount 1 0 8:1 / / ext4 /dev/a\n"
        "mount 2 1 8:2 / /srv ext4 /dev/b\n"
        "fs 8:1 fsid=1\n"
        "fs 8:2 fsid=2\n"
        "path /etc exists handle=aa\n"
        "path /etc/passwd type=file links=1 handle=ab\n"
        "path /srv exists handle=ac\n"
        "path /srv/log exists handle=ad\n";

static struct generation *build(const char *rules_text)
{
        struct conf_text file = { (char *)"test.conf", (char *)rules_text, strlen(rules_text) };
        struct settings *settings = settings_default();
        struct diag diag = DIAG_NULL;
        struct rules *rules = NULL;
        struct world *world = NULL;
        struct generation *g = NULL;

        if (rules_parse(&file, 1, &diag, &rules) < 0)
                fail_msg("%s: %s", rules_text, diag.n_entries ? diag.entries[0].text : "?");
        assert_int_equal(world_parse_text(world_text, strlen(world_text), &diag, &world), 0);
        settings->process_tracking = false;
        assert_int_equal(generation_build(rules, settings, world, &g), 0);
        diag_done(&diag);
        return g;
}

/* An ignore mask, or none: "" */
struct ignored {
        uint64_t mask, ignore_mask;
        bool old_interface;
};

struct explain_case {
        const char *rules, *path;
        uint32_t type;
        bool is_rules;
        const char *alias;
        struct ignored inode, parent;
        const char *expected;
};

static const struct mark *filesystem_mark(const struct generation *g, uint32_t fs)
{
        const struct group_key group = { .kind = GROUP_MAIN };
        const struct mark_object o = {
                .kind = MARK_FILESYSTEM, .sdev_major = g->world->fs[fs].sdev_major,
                .sdev_minor = g->world->fs[fs].sdev_minor,
        };

        return markset_find(&g->plan->wanted, &group, &o);
}

static const struct mark *mount_mark(const struct generation *g, const char *path)
{
        uint32_t mount = world_mount_of(g->world, path);
        const struct group_key group = { .kind = GROUP_MOUNT, .mount_id = g->world->mounts[mount].id };
        const struct mark_object o = { .kind = MARK_MOUNT, .mount_id = group.mount_id };

        return markset_find(&g->plan->wanted, &group, &o);
}

static struct match_path path_of(const struct generation *g, const char *path, struct strbuf *inside)
{
        if (!path)
                return MATCH_PATH_NONE;
        uint32_t mount = world_locate(g->world, path, inside);
        return (struct match_path){
                .fs = g->world->mounts[mount].fs, .path = strbuf_str(inside), .len = inside->len,
        };
}

static struct mark mark_of(const struct ignored *i)
{
        return (struct mark){
                .object.kind = MARK_INODE, .mask = i->mask, .ignore_mask = i->ignore_mask, .ignore_surv = true,
                .ignore_new = !i->old_interface,
        };
}

static void print_event(const struct generation *g, const struct explain_event *e, struct strbuf *out)
{
        strbuf_addf(out, "%s%s:", out->len > 0 ? " " : "", vocab_name(e->event));
        switch (e->decision) {
        case EXPLAIN_REPORTED:
                for (size_t i = 0; i < e->n_rules; i++)
                        strbuf_addf(out, "%s%s", i > 0 ? "+" : "", g->rules->watches[e->rules[i]].clause.name);
                strbuf_addf(out, "(%s,%d%s)", record_kind_name(e->record), e->priority, e->coalesce_usec ? ",c" : "");
                break;
        case EXPLAIN_NO_MARK:
                strbuf_addc(out, '-');
                break;
        case EXPLAIN_KERNEL_IGNORE:
                strbuf_addf(out, "kernel@%s", explain_slot_name(e->slot));
                break;
        case EXPLAIN_USERSPACE:
                strbuf_adds(out, "read");
                break;
        }
        if (e->by)
                strbuf_addf(out, "=%s", e->by->clause ? e->by->clause->name : "built-in");
        strbuf_adds(out, e->by_actor ? "?" : "");
        strbuf_adds(out, e->uncovered ? "!" : "");
        strbuf_adds(out, e->nameless ? "~" : "");
}

static void check(const struct explain_case *c)
{
        _cleanup_strbuf_ struct strbuf inside = STRBUF_NULL, other = STRBUF_NULL, out = STRBUF_NULL;
        struct generation *g = build(c->rules);
        const struct mark inode = mark_of(&c->inode), parent = mark_of(&c->parent);
        struct explain_scene scene = { .generation = g };
        struct explanation *e;

        scene.name = (struct explain_name){
                .path = path_of(g, c->path, &inside), .type = c->type, .is_rules = c->is_rules,
                .alias = path_of(g, c->alias, &other), .told_as = MATCH_PATH_NONE,
                .inode = c->inode.ignore_mask ? &inode : NULL, .parent = c->parent.ignore_mask ? &parent : NULL,
        };
        scene.name.told_as = c->is_rules ? scene.name.path : scene.name.alias;
        scene.filesystem = filesystem_mark(g, scene.name.path.fs);
        scene.mount = mount_mark(g, c->path);
        assert_int_equal(explain_build(&scene, &e), 0);
        for (size_t i = 0; i < e->n_events; i++)
                if (e->events[i].decision != EXPLAIN_NO_MARK || e->events[i].uncovered)
                        print_event(g, &e->events[i], &out);
        if (!streq(strbuf_str(&out), c->expected))
                print_message("# %s of %s\n", c->rules, c->path);
        assert_string_equal(strbuf_str(&out), c->expected);
        explanation_free(e);
        generation_free(g);
}

#define WATCH "watch: { w: { path = \"/srv\"; events = [ \"modify\", \"create\", \"rename\", \"attrib\" ]; }; }; "
#define CHILD_IGNORE (FAN_MODIFY | FAN_CREATE | FAN_ATTRIB | FAN_ONDIR | FAN_EVENT_ON_CHILD)

static const struct explain_case cases[] = {
        { WATCH, "/srv/f", TYPE_FILE,
          .expected = "create:w(create,5) rename:w(rename,5) modify:w(content,5,c) attrib:w(attrib,5)" },
        { WATCH, "/etc/f", TYPE_FILE, .expected = "" },
        { WATCH, "/srv/d", TYPE_DIRECTORY, .expected = "create:w(create,5) rename:w(rename,5) attrib:w(attrib,5)" },
        { WATCH, "/srv/s", TYPE_SYMLINK, .expected = "create:w(create,5) rename:w(rename,5) attrib:w(attrib,5)" },
        /* special files tell of their names only */
        { WATCH, "/srv/p", TYPE_FIFO,
          .expected = "create:w(create,5) rename:w(rename,5) modify:read attrib:w(attrib,5)" },
        /* nobody makes the root of a filesystem */
        { WATCH, "/srv", TYPE_DIRECTORY, .expected = "attrib:w(attrib,5)" },
        /* an ignore with its mark on the directory, and before it has one */
        { WATCH "ignore: { i: { path = \"/srv/log\"; }; };", "/srv/log/f", TYPE_FILE,
          .expected = "create:read=i rename:read=i modify:read=i attrib:read=i" },
        { WATCH "ignore: { i: { path = \"/srv/log\"; }; };", "/srv/log/f", TYPE_FILE, .parent = { 0, CHILD_IGNORE },
          .expected = "create:kernel@parent=i rename:read=i modify:kernel@parent=i attrib:kernel@parent=i" },
        /* without the flag, what happens to its children arrives */
        { WATCH "ignore: { i: { path = \"/srv/log\"; }; };", "/srv/log/f", TYPE_FILE,
          .parent = { 0, CHILD_IGNORE & ~FAN_EVENT_ON_CHILD },
          .expected = "create:kernel@parent=i rename:read=i modify:read=i attrib:read=i" },
        /* the old interface takes the flag from the mask */
        { WATCH "ignore: { i: { path = \"/srv/log\"; }; };", "/srv/log/f", TYPE_FILE,
          .parent = { FAN_EVENT_ON_CHILD, FAN_MODIFY, true },
          .expected = "create:read=i rename:read=i modify:kernel@parent=i attrib:read=i" },
        { WATCH "ignore: { i: { path = \"/srv/f\"; scope = \"file\"; events = \"modify\"; }; };", "/srv/f", TYPE_FILE,
          .inode = { 0, FAN_MODIFY },
          .expected = "create:w(create,5) rename:w(rename,5) modify:kernel@inode=i attrib:w(attrib,5)" },
        /* a mark that is there though it must not be: said, not hidden */
        { WATCH, "/srv/f", TYPE_FILE, .inode = { 0, FAN_MODIFY },
          .expected = "create:w(create,5) rename:w(rename,5) modify:kernel@inode! attrib:w(attrib,5)" },
        /* only for who it is */
        { "watch: { w: { path = \"/srv\"; events = \"create\"; except: { e: { user = \"root\"; }; }; }; };", "/srv/f",
          TYPE_FILE, .expected = "create:w(create,5)?" },
        { "watch: { w: { path = \"/srv\"; events = \"create\"; except = [ \"*.swp\" ]; }; };", "/srv/x.swp", TYPE_FILE,
          .expected = "create:read=except rename:read=except" },
        /* two rules, one record: of the higher priority */
        { "watch: { w: { path = \"/srv\"; events = \"create\"; }; v: { path = \"/srv/d\"; events = \"create\"; "
          "priority = \"alert\"; always = true; }; }; ignore: { i: { path = \"/srv\"; }; };", "/srv/d/f", TYPE_FILE,
          .expected = "create:v(create,1) rename:read=i" },
        /* the object of a rule is told by itself, any other is not */
        { "watch: { w: { path = \"/etc/passwd\"; scope = \"file\"; events = [ \"delete_self\", \"modify\" ]; }; };",
          "/etc/passwd", TYPE_FILE, .is_rules = true,
          .expected = "rename:read modify:w(content,5,c) delete_self:w(delete,5)" },
        { "watch: { w: { path = \"/etc/passwd\"; scope = \"file\"; events = [ \"delete_self\", \"modify\" ]; }; };",
          "/etc/other", TYPE_FILE, .expected = "rename:read modify:read delete_self:read~" },
        { "watch: { w: { path = \"/etc/passwd\"; scope = \"file\"; events = [ \"delete_self\", \"modify\" ]; }; };",
          "/etc/other", TYPE_FILE, .alias = "/etc/passwd",
          .expected = "rename:read modify:w(content,5,c) delete_self:w(delete,5)" },
        /* a group of its own for what is reached through the mount; ignores hold there, too */
        { "watch: { m: { path = \"/srv\"; scope = \"mount\"; events = \"open\"; }; };", "/srv/f", TYPE_FILE,
          .expected = "open:m(read,5,c)" },
        { "watch: { m: { path = \"/srv\"; scope = \"mount\"; events = \"open\"; }; t: { path = \"/srv\"; "
          "events = \"open\"; }; };", "/srv/f", TYPE_FILE, .expected = "open:t+m(read,5,c)" },
        { "watch: { m: { path = \"/srv\"; scope = \"mount\"; events = \"open\"; }; }; "
          "ignore: { i: { path = \"/srv/log\"; }; };", "/srv/log/f", TYPE_FILE, .expected = "open:read=i" },
        /* the daemon's own files */
        { "watch: { w: { path = \"/\"; events = \"create\"; }; };", "/var/log/journal/x", TYPE_FILE,
          .expected = "create:read=built-in rename:read=built-in" },
};

static void test_events(void **state)
{
        for (size_t i = 0; i < ELEMENTSOF(cases); i++)
                check(&cases[i]);
}

/* ---- clauses and interest ---- */

static void test_clauses(void **state)
{
        struct generation *g = build(
                "watch: { w: { path = \"/srv\"; events = \"create\"; "
                "except: { e: { path = \"/srv/a\"; type = \"directory\"; }; }; };\n"
                "v: { path = \"/srv/a\"; events = \"modify\"; only: { user = \"root\"; }; }; };\n"
                "ignore: { i: { path = \"/srv/a/b\"; scope = \"file\"; until = \"modified\"; }; "
                "o: { path = \"/etc\"; }; };");
        _cleanup_strbuf_ struct strbuf inside = STRBUF_NULL, out = STRBUF_NULL;
        struct explain_scene scene = { .generation = g };
        struct explanation *e;

        scene.name = (struct explain_name){
                .path = path_of(g, "/srv/a/b", &inside), .type = TYPE_FILE, .alias = MATCH_PATH_NONE,
                .told_as = MATCH_PATH_NONE,
        };
        matcher_set_spent(g->matcher, 0, true);
        assert_int_equal(explain_build(&scene, &e), 0);
        for (size_t i = 0; i < e->view.n_clauses; i++) {
                const struct explain_clause *c = &e->view.clauses[i];

                strbuf_addf(&out, "%u %s:%u%s%s%s\n", c->kind, c->clause->name, c->clause->source.line,
                            c->spent ? " spent" : "", c->of_other_type ? " type" : "", c->by_actor ? " actor" : "");
        }
        assert_string_equal(strbuf_str(&out), "0 v:2 actor\n0 w:1\n1 e:1 type\n2 i:3 spent\n");
        explanation_free(e);
        generation_free(g);
}

static const struct interest_case {
        struct ignored inode;
        bool survives;
        uint32_t interest, refused;
} interests[] = {
        { { FAN_CREATE, 0, false }, true, FAN_CREATE | FAN_EVENT_ON_CHILD, 0 },
        { { 0, FAN_OPEN, false }, true, FAN_OPEN, FAN_OPEN },
        /* an ignore mask that modify clears makes modify of interest */
        { { 0, FAN_OPEN, false }, false, FAN_OPEN | FAN_MODIFY, FAN_OPEN },
};

static void test_interest(void **state)
{
        for (size_t i = 0; i < ELEMENTSOF(interests); i++) {
                struct generation *g = build(WATCH);
                _cleanup_strbuf_ struct strbuf inside = STRBUF_NULL;
                struct mark inode = mark_of(&interests[i].inode);
                struct explain_scene scene = { .generation = g };
                struct explanation *e;

                inode.ignore_surv = interests[i].survives;
                scene.name = (struct explain_name){
                        .path = path_of(g, "/srv/f", &inside), .type = TYPE_FILE, .alias = MATCH_PATH_NONE,
                        .told_as = MATCH_PATH_NONE, .inode = &inode,
                };
                assert_int_equal(explain_build(&scene, &e), 0);
                assert_int_equal(e->view.interest[SLOT_INODE], interests[i].interest);
                assert_int_equal(e->view.refused[SLOT_INODE], interests[i].refused);
                assert_int_equal(e->view.interest[SLOT_PARENT], 0);
                explanation_free(e);
                generation_free(g);
        }
}

/* ---- a rename ---- */

static const struct rename_case {
        const char *from, *to;
        uint64_t from_ignores, to_ignores;
        enum explain_decision expected;
        enum interest_slot slot;
} renames[] = {
        { "/srv/a/f", "/srv/b/f", 0, 0, EXPLAIN_REPORTED, SLOT_INODE },
        { "/srv/log/f", "/srv/b/f", 0, 0, EXPLAIN_REPORTED, SLOT_INODE },
        { "/srv/log/f", "/srv/log/g", 0, 0, EXPLAIN_USERSPACE, SLOT_INODE },
        /* an ignore of renames on either side takes the whole */
        { "/srv/a/f", "/srv/b/f", FAN_RENAME, 0, EXPLAIN_KERNEL_IGNORE, SLOT_PARENT },
        { "/srv/a/f", "/srv/b/f", 0, FAN_RENAME, EXPLAIN_KERNEL_IGNORE, SLOT_NEW_DIR },
};

static void test_renames(void **state)
{
        for (size_t i = 0; i < ELEMENTSOF(renames); i++) {
                const struct rename_case *c = &renames[i];
                struct generation *g = build(WATCH "ignore: { i: { path = \"/srv/log\"; }; };");
                _cleanup_strbuf_ struct strbuf from = STRBUF_NULL, to = STRBUF_NULL;
                const struct mark from_mark = mark_of(&(struct ignored){ 0, c->from_ignores, false });
                const struct mark to_mark = mark_of(&(struct ignored){ 0, c->to_ignores, false });
                struct explain_name new_name = {
                        .path = path_of(g, c->to, &to), .type = TYPE_FILE, .alias = MATCH_PATH_NONE,
                        .told_as = MATCH_PATH_NONE, .parent = c->to_ignores ? &to_mark : NULL,
                };
                struct explain_scene scene = { .generation = g, .new_name = &new_name };
                struct explanation *e;

                scene.name = new_name;
                scene.name.path = path_of(g, c->from, &from);
                scene.name.parent = c->from_ignores ? &from_mark : NULL;
                scene.filesystem = filesystem_mark(g, scene.name.path.fs);
                assert_int_equal(explain_build(&scene, &e), 0);
                assert_int_equal(e->n_events, 2);
                assert_int_equal(e->events[0].event, EV_RENAME);
                assert_int_equal(e->events[0].decision, c->expected);
                assert_int_equal(e->events[0].slot, c->slot);
                explanation_free(e);
                generation_free(g);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_events),
                cmocka_unit_test(test_clauses),
                cmocka_unit_test(test_interest),
                cmocka_unit_test(test_renames),
        };

        cmocka_set_message_output(CM_OUTPUT_TAP);
        return cmocka_run_group_tests_name("explain", tests, NULL, NULL);
}
