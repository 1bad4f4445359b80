/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>

#include <libconfig.h>

#include "conf_lex.h"
#include "conf_syntax.h"
#include "conftree.h"
#include "rules_scan.h"
#include "strbuf.h"

const char *conf_kind_name(enum conf_kind kind)
{
        static const char *const names[] = {
                [CONF_GROUP] = "a group",    [CONF_LIST] = "a list",    [CONF_STRING] = "a string",
                [CONF_INTEGER] = "a number", [CONF_FLOAT] = "a number", [CONF_BOOLEAN] = "true or false",
        };

        return names[kind];
}

struct conversion {
        struct arena *arena;
        const char *file;
        struct lexer lexer; /* walks along: libconfig's line of a value is that of the word behind it */
};

/* The line of the next name, or of the next plain value. */
static unsigned next_line(struct conversion *c, bool named)
{
        struct token t;

        do
                t = lexer_next(&c->lexer);
        while (t.kind != TOKEN_END && (named ? t.kind != TOKEN_NAME : !token_is_scalar(&t)));
        return t.line;
}

/* libconfig has joined strings side by side (an error already): so does this. */
static unsigned next_value_line(struct conversion *c)
{
        unsigned line = next_line(c, false);
        struct lexer ahead = c->lexer;
        struct token t;

        while (t = lexer_next(&ahead), t.kind == TOKEN_STRING)
                c->lexer = ahead;
        return line;
}

static int convert(struct conversion *c, const config_setting_t *setting, bool root, struct conf_node *ret);

static int convert_children(struct conversion *c, const config_setting_t *setting, struct conf_node *node)
{
        int n = config_setting_length(setting);
        struct conf_node *children = arena_alloc_array(c->arena, (size_t)n, sizeof(*children));

        if (!children)
                return -ENOMEM;
        for (int i = 0; i < n; i++) {
                int r = convert(c, config_setting_get_elem(setting, (unsigned)i), false, &children[i]);

                if (r < 0)
                        return r;
        }
        node->children = children;
        node->n_children = (size_t)n;
        return 0;
}

/* Fills kind, value and children.  The depth is bounded by rules_scan(). */
static int convert_value(struct conversion *c, const config_setting_t *setting, struct conf_node *node)
{
        switch (config_setting_type(setting)) {
        case CONFIG_TYPE_GROUP:
                node->kind = CONF_GROUP;
                return convert_children(c, setting, node);
        case CONFIG_TYPE_ARRAY:
        case CONFIG_TYPE_LIST:
                node->kind = CONF_LIST;
                return convert_children(c, setting, node);
        case CONFIG_TYPE_STRING:
                node->kind = CONF_STRING;
                node->string = arena_strdup(c->arena, config_setting_get_string(setting));
                return node->string ? 0 : -ENOMEM;
        case CONFIG_TYPE_BOOL:
                node->kind = CONF_BOOLEAN;
                node->boolean = config_setting_get_bool(setting);
                return 0;
        case CONFIG_TYPE_FLOAT:
                node->kind = CONF_FLOAT;
                return 0;
        default:
                node->kind = CONF_INTEGER;
                node->integer = config_setting_get_int64(setting);
                return 0;
        }
}

static int convert(struct conversion *c, const config_setting_t *setting, bool root, struct conf_node *ret)
{
        const char *name = root ? NULL : config_setting_name(setting);
        struct conf_node node = { .source = { .file = c->file } };
        int r;

        if (name) {
                node.name = arena_strdup(c->arena, name);
                if (!node.name)
                        return -ENOMEM;
                node.source.line = next_line(c, true);
        }
        if (config_setting_is_scalar(setting)) {
                unsigned line = next_value_line(c);

                if (!name)
                        node.source.line = line;
        } else if (!name)
                node.source.line = root ? 0 : config_setting_source_line(setting);
        r = convert_value(c, setting, &node);
        if (r < 0)
                return r;
        *ret = node;
        return 0;
}

static int check_syntax(const struct conf_text *file, const char *text, struct diag *diag)
{
        _cleanup_strbuf_ struct strbuf why = STRBUF_NULL;
        unsigned line = conf_syntax_check(text, strlen(text), &why);

        if (strbuf_failed(&why))
                return -ENOMEM;
        if (line == 0)
                return 0;
        diag_add(diag, DIAG_ERROR, file->name, line, "%s", strbuf_str(&why));
        return -EINVAL;
}

int conftree_parse(const struct conf_text *file, struct arena *arena, struct diag *diag,
                   const struct conf_node **ret_root)
{
        _cleanup_(config_destroy) config_t config;
        _cleanup_free_ char *text = NULL;
        struct conversion c = { .arena = arena, .file = file->name };
        struct conf_node *root;
        int r;

        config_init(&config);
        r = rules_scan(file, diag, &text);
        if (r < 0)
                return r;
        r = check_syntax(file, text, diag);
        if (r < 0)
                return r;
        if (config_read_string(&config, text) != CONFIG_TRUE) {
                const char *reason = config_error_text(&config);

                diag_add(diag, DIAG_ERROR, file->name, (unsigned)MAX_OF(config_error_line(&config), 0), "%s",
                         reason ? reason : "libconfig refuses it");
                return -EINVAL;
        }

        root = arena_alloc(arena, sizeof(*root));
        c.lexer = lexer_init(text, strlen(text));
        if (!root)
                return -ENOMEM;
        r = convert(&c, config_root_setting(&config), true, root);
        if (r < 0)
                return r;
        *ret_root = root;
        return 0;
}
