/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which records a follower is sent. */

#include <errno.h>
#include <systemd/sd-bus.h>

#include "control_filter.h"
#include "record.h"

#define MAX_RULES 256
#define MAX_PATHS 256

struct control_filter {
        char **rules;
        size_t n_rules;
        struct bytes *paths; /* each malloc'ed, without a slash at its end: "/" is empty */
        size_t n_paths;
};

void control_filter_free(struct control_filter *f)
{
        if (!f)
                return;
        for (size_t i = 0; i < f->n_rules; i++)
                free(f->rules[i]);
        free(f->rules);
        for (size_t i = 0; i < f->n_paths; i++)
                free((char *)f->paths[i].p);
        free(f->paths);
        free(f);
}

static int add_rule(struct control_filter *f, const char *name)
{
        if (f->n_rules >= MAX_RULES)
                return -E2BIG;
        char **bigger = reallocarray(f->rules, f->n_rules + 1, sizeof(*bigger));
        if (!bigger)
                return -ENOMEM;
        f->rules = bigger;
        f->rules[f->n_rules] = strdup(name);
        if (!f->rules[f->n_rules])
                return -ENOMEM;
        f->n_rules++;
        return 0;
}

static int add_path(struct control_filter *f, const char *path, size_t len)
{
        if (f->n_paths >= MAX_PATHS)
                return -E2BIG;
        struct bytes *bigger = reallocarray(f->paths, f->n_paths + 1, sizeof(*bigger));
        if (!bigger)
                return -ENOMEM;
        f->paths = bigger;

        while (len > 0 && path[len - 1] == '/')
                len--;
        char *copy = malloc(len + 1);
        if (!copy)
                return -ENOMEM;
        if (len > 0)
                memcpy(copy, path, len);
        copy[len] = '\0';
        f->paths[f->n_paths++] = (struct bytes){ .p = copy, .len = len };
        return 0;
}

static int read_rules(sd_bus_message *call, struct control_filter *f)
{
        const char *name;

        int r = sd_bus_message_enter_container(call, SD_BUS_TYPE_ARRAY, "s");
        if (r < 0)
                return r;
        while ((r = sd_bus_message_read_basic(call, SD_BUS_TYPE_STRING, &name)) > 0) {
                r = add_rule(f, name);
                if (r < 0)
                        return r;
        }
        if (r < 0)
                return r;
        return sd_bus_message_exit_container(call);
}

static int read_paths(sd_bus_message *call, struct control_filter *f)
{
        const void *path;
        size_t len;

        int r = sd_bus_message_enter_container(call, SD_BUS_TYPE_ARRAY, "ay");
        if (r < 0)
                return r;
        while ((r = sd_bus_message_read_array(call, SD_BUS_TYPE_BYTE, &path, &len)) > 0) {
                r = add_path(f, path, len);
                if (r < 0)
                        return r;
        }
        if (r < 0)
                return r;
        return sd_bus_message_exit_container(call);
}

int control_filter_read(sd_bus_message *call, struct control_filter **ret)
{
        _cleanup_(control_filter_freep) struct control_filter *f = calloc(1, sizeof(*f));
        if (!f)
                return -ENOMEM;

        int r = read_rules(call, f);
        if (r < 0)
                return r;
        r = read_paths(call, f);
        if (r < 0)
                return r;

        *ret = STEAL(f);
        return 0;
}

static bool bytes_are(struct bytes b, const char *s)
{
        return b.len == strlen(s) && memcmp(b.p, s, b.len) == 0;
}

static bool is_rule(const struct control_filter *f, struct bytes name)
{
        for (size_t i = 0; i < f->n_rules; i++)
                if (bytes_are(name, f->rules[i]))
                        return true;
        return false;
}

static bool is_below(const struct control_filter *f, struct bytes path)
{
        for (size_t i = 0; i < f->n_paths; i++) {
                const struct bytes *top = &f->paths[i];

                if (path.len >= top->len && memcmp(path.p, top->p, top->len) == 0 &&
                    (path.len == top->len || path.p[top->len] == '/'))
                        return true;
        }
        return false;
}

static bool tells_of_loss(struct bytes message_id)
{
        return bytes_are(message_id, record_kind_message_id(RECORD_SHED)) ||
               bytes_are(message_id, record_kind_message_id(RECORD_GAP));
}

bool control_filter_wants(const struct control_filter *f, const char *record, size_t len)
{
        bool rule = f->n_rules == 0, path = f->n_paths == 0;
        struct record_cursor cursor = { .data = record, .len = len };
        struct bytes name, value;

        if (rule && path)
                return true;
        while (record_next(&cursor, &name, &value) > 0) {
                if (bytes_are(name, "MESSAGE_ID") && tells_of_loss(value))
                        return true;
                if (!rule && bytes_are(name, "FAWATCH_RULE"))
                        rule = is_rule(f, value);
                if (!path && (bytes_are(name, "FAWATCH_PATH") || bytes_are(name, "FAWATCH_OLD_PATH")))
                        path = is_below(f, value);
        }
        return rule && path;
}
