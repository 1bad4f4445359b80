/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Rules that load, and yet probably do not say what was meant: one rule at a time. */

#include "pattern.h"
#include "rules_lint.h"

/* The kernel keeps so many bytes of a program's name: TASK_COMM_LEN without the NUL. */
#define COMM_MAX 15u

/* Directories in which something happens all the time on most machines. */
static const char *const busy_paths[] = { "/",        "/dev",     "/home",      "/run",
                                          "/srv",     "/tmp",     "/var",       "/var/cache",
                                          "/var/lib", "/var/log", "/var/spool", "/var/tmp" };

bool lint_is_busy(const struct clause *c)
{
        if (c->scope == SCOPE_MOUNT || c->scope == SCOPE_FILESYSTEM)
                return true;
        if (c->scope == SCOPE_FILE)
                return false;
        for (size_t i = 0; i < c->paths.n; i++)
                for (size_t j = 0; j < ELEMENTSOF(busy_paths); j++)
                        if (streq(c->paths.v[i], busy_paths[j]))
                                return true;
        return false;
}

static bool is_whole_filesystem(const struct clause *c)
{
        if (c->scope == SCOPE_FILESYSTEM)
                return true;
        for (size_t i = 0; i < c->paths.n && c->scope == SCOPE_TREE; i++)
                if (streq(c->paths.v[i], "/"))
                        return true;
        return false;
}

static void warn_price(struct diag *diag, const struct rule *rule)
{
        const struct clause *c = &rule->clause;

        if (!is_whole_filesystem(c))
                return;
        if (c->events & EV_MODIFY)
                diag_add(
                        diag, DIAG_WARNING, c->source.file, c->source.line,
                        "watch \"%s\": modify on a whole filesystem makes every write there cost 2.4 to 5.5 times as "
                        "much: events = \"saved\" has one event a save (close_write) instead",
                        c->name);
        if (c->events & EV_ACCESS)
                diag_add(
                        diag, DIAG_WARNING, c->source.file, c->source.line,
                        "watch \"%s\": access on a whole filesystem is an event for every read there: \"open\" has one "
                        "an opening instead",
                        c->name);
}

static void warn_priority(struct diag *diag, const struct rule *rule)
{
        const struct clause *c = &rule->clause;

        /* journald writes to disk at once from crit upwards */
        if (rule->priority > 2 || c->match.n > 0 || !actors_empty(&rule->only) || !lint_is_busy(c))
                return;
        diag_add(
                diag, DIAG_WARNING, c->source.file, c->source.line,
                "watch \"%s\": priority %s on a place where much happens: journald syncs the disk after each such "
                "record; \"err\" is the highest without",
                c->name, priority_name(rule->priority));
}

static bool only_comm(const struct actors *a)
{
        for (size_t key = 0; key < N_ACTOR_KEYS; key++) {
                const struct strings *values = actors_key_const(a, key);

                if ((values->n > 0) != (values == &a->comm))
                        return false;
        }
        return true;
}

static void warn_comm(struct diag *diag, const struct source *at, const char *what, const struct actors *a)
{
        for (size_t i = 0; i < a->comm.n; i++)
                if (!pattern_is_glob(a->comm.v[i]) && strlen(a->comm.v[i]) > COMM_MAX)
                        diag_add(
                                diag, DIAG_WARNING, at->file, at->line,
                                "%s: comm \"%s\" never matches: the kernel keeps %u bytes of a name (\"%.*s\")",
                                what, a->comm.v[i], COMM_MAX, (int)COMM_MAX, a->comm.v[i]);
}

static void warn_unit(struct diag *diag, const struct source *at, const char *what, const struct actors *a)
{
        for (size_t i = 0; i < a->unit.n; i++)
                if (!pattern_is_glob(a->unit.v[i]) && !strchr(a->unit.v[i], '.'))
                        diag_add(diag, DIAG_WARNING, at->file, at->line,
                                 "%s: unit \"%s\" never matches: unit names have a suffix (\"%s.service\")",
                                 what, a->unit.v[i], a->unit.v[i]);
}

/* Conditions on who did it, wherever they stand. */
static void lint_actors(struct diag *diag, const struct source *at, const char *what, const struct actors *a)
{
        warn_comm(diag, at, what, a);
        warn_unit(diag, at, what, a);
}

static void warn_only_comm(struct diag *diag, const struct source *at, const char *what,
                           const struct actors *a)
{
        if (only_comm(a))
                diag_add(
                        diag, DIAG_WARNING, at->file, at->line,
                        "%s: any program can take any name: with comm alone everybody can hide here; add exe or unit",
                        what);
}

static bool is_below(const char *path, const char *top)
{
        size_t len = strlen(top);

        if (streq(top, "/"))
                return true;
        return strncmp(path, top, len) == 0 && (path[len] == '\0' || path[len] == '/');
}

bool lint_path_covers(const char *top, const char *path)
{
        return is_below(path, top);
}

/* Does this except never meet its rule, or leave nothing of it? */
static void lint_except_paths(struct diag *diag, const struct rule *rule, const struct clause *except)
{
        bool meets = except->paths.n == 0;
        size_t n_covered = 0;

        for (size_t i = 0; i < rule->clause.paths.n; i++) {
                const char *path = rule->clause.paths.v[i];
                bool covered = false;

                for (size_t j = 0; j < except->paths.n; j++) {
                        meets = meets || is_below(path, except->paths.v[j]) ||
                                is_below(except->paths.v[j], path);
                        covered = covered || is_below(path, except->paths.v[j]);
                }
                n_covered += covered;
        }
        if (!meets)
                diag_add(
                        diag, DIAG_WARNING, except->source.file, except->source.line,
                        "watch \"%s\", except \"%s\": its path is not below the rule's: it takes out nothing",
                        rule->clause.name, except->name);
        else if (n_covered > 0 && n_covered == rule->clause.paths.n && lint_takes_whole(except) &&
                 !(rule->clause.events & ~except->events))
                diag_add(diag, DIAG_WARNING, except->source.file, except->source.line,
                         "watch \"%s\", except \"%s\": it takes out the whole rule", rule->clause.name,
                         except->name);
}

static void lint_excepts(struct diag *diag, const struct rule *rule)
{
        for (size_t i = 0; i < rule->n_excepts; i++) {
                const struct clause *e = &rule->excepts[i];
                _cleanup_free_ char *what = lint_place("watch", rule->clause.name, e->name);

                if (!what) {
                        diag->out_of_memory = true;
                        return;
                }
                lint_except_paths(diag, rule, e);
                lint_actors(diag, &e->source, what, &e->actors);
                warn_only_comm(diag, &e->source, what, &e->actors);
        }
}

/* Patterns with two names or more, in a scope that ends after the first. */
static void lint_directory_patterns(struct diag *diag, const char *kind, const struct clause *c)
{
        for (size_t i = 0; i < c->match.n && c->scope == SCOPE_DIRECTORY; i++) {
                const char *slash = strchr(c->match.v[i] + 1, '/');

                if (slash && slash[1] != '\0' && strncmp(c->match.v[i], "**/", 3) != 0)
                        diag_add(
                                diag, DIAG_WARNING, c->source.file, c->source.line,
                                "%s \"%s\": match \"%s\" never matches: the scope \"directory\" has one level",
                                kind, c->name, c->match.v[i]);
        }
}

void lint_watch(struct diag *diag, const struct rule *rule)
{
        _cleanup_free_ char *what = lint_place("watch", rule->clause.name, NULL);

        if (!what) {
                diag->out_of_memory = true;
                return;
        }
        warn_price(diag, rule);
        warn_priority(diag, rule);
        lint_directory_patterns(diag, "watch", &rule->clause);
        lint_actors(diag, &rule->only_source, what, &rule->only);
        lint_excepts(diag, rule);
}

/* Ignore masks know objects and events: no names, types and processes. */
static void warn_userspace(struct diag *diag, const char *what, const struct clause *ignore)
{
        const char *condition = ignore->match.n > 0              ? "names by pattern"
                                : !actors_empty(&ignore->actors) ? "events by who caused them"
                                : ignore->types != 0             ? "objects by type"
                                                                 : NULL;

        if (condition && lint_is_busy(ignore))
                diag_add(diag, DIAG_WARNING, ignore->source.file, ignore->source.line,
                         "%s: %s cannot be ignored in the kernel: each such event here still wakes fawatchd", what,
                         condition);
}

void lint_ignore(struct diag *diag, const struct clause *ignore)
{
        _cleanup_free_ char *what = lint_place("ignore", ignore->name, NULL);

        if (!what) {
                diag->out_of_memory = true;
                return;
        }
        lint_directory_patterns(diag, "ignore", ignore);
        lint_actors(diag, &ignore->source, what, &ignore->actors);
        warn_only_comm(diag, &ignore->source, what, &ignore->actors);
        if (ignore->until_modified && ignore->events == EV_MODIFY)
                diag_add(
                        diag, DIAG_WARNING, ignore->source.file, ignore->source.line,
                        "%s: the first modify is always reported and spends it: with events = \"modify\" alone it "
                        "never ignores anything",
                        what);
        warn_userspace(diag, what, ignore);
}

void lint_actor_set(struct diag *diag, const struct actor_set *set)
{
        _cleanup_free_ char *what = lint_place("actors", set->name, NULL);

        if (what)
                lint_actors(diag, &set->source, what, &set->actors);
        else
                diag->out_of_memory = true;
}
