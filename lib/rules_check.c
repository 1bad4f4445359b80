/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "escape.h"
#include "pattern.h"
#include "rules_build.h"
#include "strbuf.h"

/* PATH_MAX and NAME_MAX of the kernel, without the NUL. */
#define PATH_LENGTH_MAX 4095u
#define NAME_LENGTH_MAX 255u

#define RULE_NAME_MAX 64u
#define TAG_MAX 128u

/* The longest prefix of a path that holds no wildcard and ends at a name: what `path` may be. */
static int literal_prefix(const char *text)
{
        size_t len = strcspn(text, "*?[");

        while (len > 1 && text[len - 1] != '/')
                len--;
        return (int)(len > 1 ? len - 1 : 1);
}

static const char *complain_glob(struct conf_reader *r, const struct source *at, const char *text)
{
        int len = literal_prefix(text);

        conf_complain(
                r, at,
                "\"%s\": a path is literal, without *, ? and [: write path = \"%.*s\" and put the pattern "
                "below it into match = \"%s\"",
                text, len, text, text + (len > 1 ? len + 1 : 1));
        return NULL;
}

/* Appends one name of a path; "." and nothing are left out. */
static bool add_name(struct conf_reader *r, const struct source *at, const char *text, const char *name,
                     size_t len, struct strbuf *out)
{
        if (len == 0 || (len == 1 && *name == '.'))
                return true;
        if (len == 2 && name[0] == '.' && name[1] == '.') {
                conf_complain(r, at, "\"%s\" holds \"..\": write the path it leads to", text);
                return false;
        }
        if (len > NAME_LENGTH_MAX) {
                conf_complain(r, at, "a name of %zu bytes: no file system takes more than %u", len,
                              NAME_LENGTH_MAX);
                return false;
        }
        strbuf_addc(out, '/');
        strbuf_add(out, name, len);
        return true;
}

const char *rules_check_path(struct conf_reader *r, const struct source *at, const char *text)
{
        _cleanup_strbuf_ struct strbuf path = STRBUF_NULL;
        const char *copy;

        if (*text == '\0') {
                conf_complain(r, at, "the path is empty (the whole tree is \"/\")");
                return NULL;
        }
        if (*text == '~') {
                conf_complain(r, at, "\"%s\": ~ is not expanded here: write the path from /", text);
                return NULL;
        }
        if (*text != '/') {
                conf_complain(r, at, "\"%s\" is relative: write the path from /", text);
                return NULL;
        }
        if (pattern_is_glob(text))
                return complain_glob(r, at, text);

        for (const char *name = text + 1;;) {
                size_t len = strcspn(name, "/");

                if (!add_name(r, at, text, name, len, &path))
                        return NULL;
                if (name[len] == '\0')
                        break;
                name += len + 1;
        }
        if (path.len == 0)
                strbuf_addc(&path, '/');
        if (path.len > PATH_LENGTH_MAX) {
                conf_complain(r, at, "a path of %zu bytes: the kernel takes at most %u", path.len,
                              PATH_LENGTH_MAX);
                return NULL;
        }
        copy = strbuf_failed(&path) ? NULL : arena_strdup(r->arena, strbuf_str(&path));
        if (!copy)
                conf_no_memory(r);
        return copy;
}

const char *rules_check_pattern(struct conf_reader *r, const struct source *at, const char *text)
{
        const char *error = pattern_check(text);

        if (!error)
                return text;
        conf_complain(r, at, "\"%s\": %s", text, error);
        return NULL;
}

static const char *check_glob(struct conf_reader *r, const struct source *at, const char *text, bool path)
{
        const char *error = *text ? pattern_check_glob(text, path) : "an empty string matches nothing";

        if (!error)
                return text;
        conf_complain(r, at, "\"%s\": %s", text, error);
        return NULL;
}

static const char *check_text_glob(struct conf_reader *r, const struct source *at, const char *text)
{
        return check_glob(r, at, text, false);
}

/* A program: a path, or a glob over paths. */
static const char *check_program(struct conf_reader *r, const struct source *at, const char *text)
{
        if (*text && pattern_is_glob(text))
                return check_glob(r, at, text, true);
        if (*text && !strchr(text, '/')) {
                conf_complain(r, at,
                              "\"%s\" is a name: write the program's path, or \"**/%s\" for any directory",
                              text, text);
                return NULL;
        }
        return rules_check_path(r, at, text);
}

/* Digits that are a user or group number; (uid_t)-1 is none. */
static bool parse_id(const char *text, size_t len, uint32_t *ret)
{
        uint64_t value = 0;

        if (len == 0 || len > 10)
                return false;
        for (size_t i = 0; i < len; i++) {
                if (text[i] < '0' || text[i] > '9')
                        return false;
                value = value * 10 + (uint64_t)(text[i] - '0');
        }
        if (value >= UINT32_MAX)
                return false;
        *ret = (uint32_t)value;
        return true;
}

static bool all_digits(const char *text)
{
        return text[strspn(text, "0123456789")] == '\0';
}

/* A user's or group's name, number, range of numbers, or "@owner". */
static const char *check_id(struct conf_reader *r, const struct source *at, const char *text)
{
        size_t first = strspn(text, "0123456789");
        uint32_t low, high;

        if (*text == '\0') {
                conf_complain(r, at, "the name is empty");
                return NULL;
        }
        if (*text == '@' && !streq(text, "@owner")) {
                conf_complain(r, at, "\"%s\" is not known: the only name with @ is \"@owner\"", text);
                return NULL;
        }
        if (text[0] == '-' && all_digits(text + 1)) {
                conf_complain(r, at, "\"%s\": numbers run from 0 to 4294967294", text);
                return NULL;
        }
        if (first > 0 && text[first] == '\0') {
                if (parse_id(text, first, &low))
                        return text;
                conf_complain(r, at, "\"%s\": numbers run from 0 to 4294967294", text);
                return NULL;
        }
        if (first > 0 && text[first] == '-' && all_digits(text + first + 1)) {
                if (!parse_id(text, first, &low) ||
                    !parse_id(text + first + 1, strlen(text + first + 1), &high)) {
                        conf_complain(r, at, "\"%s\" is no range: write it as in \"1000-59999\"", text);
                        return NULL;
                }
                if (low > high) {
                        conf_complain(r, at, "the range \"%s\" runs backwards: swap its ends", text);
                        return NULL;
                }
                return text;
        }
        if (text[strcspn(text, "*?[]:,\t\n")] != '\0') {
                conf_complain(
                        r, at,
                        "\"%s\" is no name: several values go into a list, and there are no patterns here",
                        text);
                return NULL;
        }
        return text;
}

static const char *check_actor_set(struct conf_reader *r, const struct source *at, const char *text)
{
        if (*text)
                return text;
        conf_complain(r, at, "the name is empty");
        return NULL;
}

/* In the order of actors_key_name(). */
static const struct {
        conf_check_fn check;
        bool numbers;
} actor_values[N_ACTOR_KEYS] = {
        { check_program, false },   /* exe */
        { check_text_glob, false }, /* comm */
        { check_id, true },         /* user */
        { check_id, true },         /* group */
        { check_id, true },         /* login */
        { check_text_glob, false }, /* unit */
        { check_text_glob, false }, /* container */
        { check_program, false },   /* ancestor */
        { check_actor_set, false }, /* actor */
};

conf_check_fn rules_check_actor(size_t key)
{
        return actor_values[key].check;
}

bool rules_actor_takes_numbers(size_t key)
{
        return actor_values[key].numbers;
}

const char *rules_check_tag(struct conf_reader *r, const struct source *at, const char *text)
{
        size_t len = strlen(text);
        bool control = false;

        for (size_t i = 0; i < len; i++)
                control = control || (unsigned char)text[i] < 0x20 || text[i] == 0x7f;
        if (len > 0 && len <= TAG_MAX && !control && utf8_valid(text, len))
                return text;
        conf_complain(r, at, "a tag is 1 to %u bytes of UTF-8 text without control characters", TAG_MAX);
        return NULL;
}

bool rules_check_name(struct conf_reader *r, const struct conf_node *node)
{
        if (strchr(node->name, '*')) {
                conf_complain(r, &node->source, "a name takes letters, digits, - and _, no *");
                return false;
        }
        if (strlen(node->name) > RULE_NAME_MAX) {
                conf_complain(r, &node->source, "the name has more than %u letters", RULE_NAME_MAX);
                return false;
        }
        return true;
}

uint32_t rules_scope_events(enum scope scope)
{
        switch (scope) {
        case SCOPE_FILE:
        case SCOPE_DIRECTORY:
                return EV_RULE_ALL & ~EV_FS_ERROR;
        case SCOPE_TREE:
                return EV_RULE_ALL & ~(EV_DELETE_SELF | EV_MOVE_SELF | EV_FS_ERROR);
        case SCOPE_MOUNT:
                return EV_MOUNT_SCOPE;
        case SCOPE_FILESYSTEM:
                return EV_RULE_ALL & ~(EV_DELETE_SELF | EV_MOVE_SELF);
        }
        return 0;
}

/* Names that are no events of rules, and what was probably meant. */
static const char *event_hint(struct conf_reader *r, const char *text)
{
        static const struct {
                const char *word, *hint;
        } known[] = {
                { "moved_from", ": a rename is one event with both names: write \"rename\"" },
                { "moved_to", ": a rename is one event with both names: write \"rename\"" },
                { "move", ": write \"rename\"" },
                { "write", ": write \"modify\", or \"close_write\" for one event a save" },
                { "replaced", ": this is reported by itself, it cannot be asked for" },
                { "changed",
                  ": this is reported by itself, it cannot be asked for; the group is \"change\"" },
                { "exec", ": write \"open_exec\"" },
                { "chmod", ": write \"attrib\"" },
                { "chown", ": write \"attrib\"" },
        };
        size_t n_names, prefix = strncmp(text, "FAN_", 4) == 0 ? 4 : strncmp(text, "IN_", 3) == 0 ? 3 : 0;
        const char *const *names = vocab_rule_names(&n_names);

        for (size_t i = 0; i < ELEMENTSOF(known); i++)
                if (streq(known[i].word, text))
                        return known[i].hint;
        return conf_hint(r, text + prefix, names, n_names);
}

/* Where an event can be asked for that this scope does not take. */
static const char *scope_hint(uint32_t event, enum scope scope)
{
        if (event & EV_FS_ERROR)
                return "only the scope \"filesystem\" takes it";
        if (scope == SCOPE_MOUNT)
                return "marks on a mount see open files only (access, modify, open, open_exec, close_write, "
                       "close_nowrite); the scopes \"tree\" and \"filesystem\" see the rest";
        return "only the scopes \"file\" and \"directory\" take it";
}

struct events_reading {
        enum clause_kind kind;
        enum scope scope;
        uint32_t allowed, events;
};

static bool add_event(struct conf_reader *r, const struct source *at, const char *text, void *userdata)
{
        struct events_reading *e = userdata;
        bool group;
        uint32_t events = vocab_parse(text, &group);

        if (events == 0) {
                conf_complain(r, at, "unknown event \"%s\"%s", text, event_hint(r, text));
                return false;
        }
        if (!(events & e->allowed)) {
                conf_complain(r, at, "the scope \"%s\" has no event \"%s\": %s", scope_name(e->scope), text,
                              scope_hint(events, e->scope));
                return false;
        }
        /* A group means those of its events that the scope takes. */
        e->events |= events & e->allowed;
        return true;
}

bool rules_read_events(struct conf_reader *r, const struct conf_node *node, enum clause_kind kind,
                       struct clause *clause)
{
        /* What is ignored need not be what this scope can ask for, but on a mount there is no more. */
        bool all = kind != CLAUSE_WATCH && clause->scope != SCOPE_MOUNT;
        struct events_reading e = {
                .kind = kind,
                .scope = clause->scope,
                .allowed = all ? EV_RULE_ALL : rules_scope_events(clause->scope),
        };

        if (!node) {
                clause->events = kind == CLAUSE_WATCH ? rules_default_events(clause->scope) : EV_RULE_ALL;
                return true;
        }
        if (!conf_each_string(r, node, 0, add_event, &e))
                return false;
        clause->events = e.events;
        clause->events_given = true;
        return true;
}

static bool add_type(struct conf_reader *r, const struct source *at, const char *text, void *userdata)
{
        uint32_t *types = userdata, type = vocab_type_parse(text);
        size_t n_names;
        const char *const *names = vocab_type_names(&n_names);

        if (type == 0) {
                conf_complain(
                        r, at,
                        "unknown type \"%s\"%s: known are file, directory, symlink, fifo, socket, device",
                        text, conf_hint(r, text, names, n_names));
                return false;
        }
        *types |= type;
        return true;
}

bool rules_read_types(struct conf_reader *r, const struct conf_node *node, uint32_t *ret)
{
        uint32_t types = 0;

        if (!conf_each_string(r, node, 0, add_type, &types))
                return false;
        *ret = types;
        return true;
}

static const char *priority_hint(struct conf_reader *r, const char *text)
{
        static const struct {
                const char *word, *name;
        } others[] = {
                { "error", "err" }, { "warn", "warning" }, { "critical", "crit" }, { "information", "info" }
        };
        static const char *const names[] = { "alert", "crit", "err", "warning", "notice", "info", "debug" };

        for (size_t i = 0; i < ELEMENTSOF(others); i++)
                if (streq(others[i].word, text))
                        text = others[i].name;
        return conf_hint(r, text, names, ELEMENTSOF(names));
}

bool rules_read_priority(struct conf_reader *r, const struct conf_node *node, int *ret)
{
        int64_t level = -1;

        if (node->kind == CONF_INTEGER)
                level = node->integer;
        else if (node->kind == CONF_STRING) {
                const char *text = node->string;

                if (text[0] >= '0' && text[0] <= '9' && text[1] == '\0')
                        level = text[0] - '0';
                for (int i = 0; i <= 7 && level < 0; i++)
                        if (streq(priority_name(i), text))
                                level = i;
                if (level < 0 && !all_digits(text)) {
                        conf_complain(r, &node->source, "unknown priority \"%s\"%s", text,
                                      priority_hint(r, text));
                        return false;
                }
        } else {
                conf_complain(r, &node->source, "a level's name or number is expected, not %s",
                              conf_kind_name(node->kind));
                return false;
        }
        if (level == 0) {
                conf_complain(r, &node->source,
                              "emerg is refused: it would write every event to every terminal; "
                              "the highest is \"alert\"");
                return false;
        }
        if (level < 0 || level > 7) {
                conf_complain(r, &node->source, "levels run from 1 (alert) to 7 (debug)");
                return false;
        }
        *ret = (int)level;
        return true;
}

void rules_check_clause(struct conf_reader *r, enum clause_kind kind, const struct clause_keys *given,
                        const struct clause *c)
{
        /* Where a key was not understood, more would only repeat it. */
        if (kind != CLAUSE_EXCEPT && !given->path && !given->unknown)
                conf_complain(r, &c->source, "path is missing%s",
                              kind == CLAUSE_IGNORE
                                      ? " (to ignore something everywhere, path = \"/\" is written out)"
                                      : "");
        if (kind == CLAUSE_EXCEPT && given->n_conditions == 0 && !given->unknown)
                conf_complain(r, &c->source, "it has no condition and would take out the whole rule");
        if (c->scope == SCOPE_FILE && c->match.n > 0)
                conf_complain(r, &c->source,
                              "match says which names below path: the scope \"file\" has none");
        if (c->until_modified && c->scope != SCOPE_FILE)
                conf_complain(r, &c->source, "until = \"modified\" is for one file: add scope = \"file\"");
}
