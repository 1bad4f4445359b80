/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The calls that a client may make, one function each. */

#include <errno.h>
#include <stdio.h>

#include "control_internal.h"

#define MAX_RELOADS 64
#define MAX_PATH 4096u /* PATH_MAX, which open(2) would refuse too */

/* ---- methods ---- */

static int reply_bytes(sd_bus_message *reply, const char *bytes, size_t len)
{
        int r = sd_bus_message_append_array(reply, SD_BUS_TYPE_BYTE, bytes, len);
        if (r < 0)
                return r;
        return sd_bus_send(NULL, reply, NULL);
}

static int answer(sd_bus_message *call, struct connection *c, int (*op)(void *userdata, struct strbuf *out))
{
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        _cleanup_strbuf_ struct strbuf out = STRBUF_NULL;

        int r = op(c->control->userdata, &out);
        if (r < 0)
                return r;
        if (strbuf_failed(&out))
                return -ENOMEM;
        r = sd_bus_message_new_method_return(call, &reply);
        if (r < 0)
                return r;
        return reply_bytes(reply, out.data, out.len);
}

static int method_status(sd_bus_message *call, void *userdata, sd_bus_error *error)
{
        struct connection *c = userdata;
        return answer(call, c, c->control->ops->status);
}

static int method_marks(sd_bus_message *call, void *userdata, sd_bus_error *error)
{
        struct connection *c = userdata;
        return answer(call, c, c->control->ops->marks);
}

static int method_coverage(sd_bus_message *call, void *userdata, sd_bus_error *error)
{
        struct connection *c = userdata;
        return answer(call, c, c->control->ops->coverage);
}

static int method_rules(sd_bus_message *call, void *userdata, sd_bus_error *error)
{
        struct connection *c = userdata;
        return answer(call, c, c->control->ops->rules);
}

/* A path of the client's as a string: absolute, without a NUL; empty only where that is allowed. */
static int read_path(sd_bus_message *call, bool may_be_empty, char **ret)
{
        const void *bytes;
        size_t len;

        int r = sd_bus_message_read_array(call, SD_BUS_TYPE_BYTE, &bytes, &len);
        if (r < 0)
                return r;
        if (len == 0 && may_be_empty) {
                *ret = NULL;
                return 0;
        }
        if (len == 0 || len > MAX_PATH || ((const char *)bytes)[0] != '/' || memchr(bytes, '\0', len))
                return -EINVAL;
        *ret = strndup(bytes, len);
        return *ret ? 0 : -ENOMEM;
}

static int method_explain(sd_bus_message *call, void *userdata, sd_bus_error *error)
{
        struct connection *c = userdata;
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        _cleanup_strbuf_ struct strbuf out = STRBUF_NULL;
        _cleanup_free_ char *path = NULL, *second = NULL;
        int r;

        if ((r = read_path(call, false, &path)) < 0 || (r = read_path(call, true, &second)) < 0)
                return r == -EINVAL ? sd_bus_error_set(error, SD_BUS_ERROR_INVALID_ARGS, "not an absolute path") : r;
        r = c->control->ops->explain(c->control->userdata, path, second, &out);
        if (r < 0)
                return r;
        if ((r = sd_bus_message_new_method_return(call, &reply)) < 0)
                return r;
        return reply_bytes(reply, out.data, out.len);
}

static int method_reload(sd_bus_message *call, void *userdata, sd_bus_error *error)
{
        struct connection *c = userdata;
        struct control *control = c->control;
        int dry_run;

        int r = sd_bus_message_read(call, "b", &dry_run);
        if (r < 0)
                return r;
        if (control->n_reloads >= MAX_RELOADS)
                return sd_bus_error_set(error, SD_BUS_ERROR_LIMITS_EXCEEDED, "too many reloads are waiting");

        struct control_reload *token = calloc(1, sizeof(*token));
        if (!token)
                return -ENOMEM;
        token->connection = c;
        token->call = sd_bus_message_ref(call);
        token->next = control->reloads;
        if (token->next)
                token->next->prev = token;
        control->reloads = token;
        control->n_reloads++;

        control->ops->reload(control->userdata, dry_run, &c->peer, token);
        return 1; /* the reply follows */
}

static void reload_unlink(struct control *control, struct control_reload *token)
{
        if (token->prev)
                token->prev->next = token->next;
        else
                control->reloads = token->next;
        if (token->next)
                token->next->prev = token->prev;
        control->n_reloads--;
        token->connection = NULL;
        token->call = sd_bus_message_unref(token->call);
}

void control_reload_done(struct control_reload *token, bool ok, const char *json, size_t len)
{
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;

        /* A failure here is a client that is about to be seen as gone. */
        if (token->connection) {
                if (sd_bus_message_new_method_return(token->call, &reply) >= 0 &&
                    sd_bus_message_append(reply, "b", ok) >= 0)
                        (void)reply_bytes(reply, json, len);
                reload_unlink(token->connection->control, token);
        }
        free(token);
}

static int method_follow(sd_bus_message *call, void *userdata, sd_bus_error *error)
{
        struct connection *c = userdata;
        struct control_filter *filter;

        int r = control_filter_read(call, &filter);
        if (r < 0)
                return r;
        if (!c->filter)
                c->control->n_followers++;
        control_filter_free(c->filter);
        c->filter = filter;
        return sd_bus_reply_method_return(call, NULL);
}

static int method_hello(sd_bus_message *call, void *userdata, sd_bus_error *error)
{
        struct connection *c = userdata;
        char name[32];

        snprintf(name, sizeof(name), ":1.%llu", (unsigned long long)c->number);
        return sd_bus_reply_method_return(call, "s", name);
}

/* Signals go to every follower: there is nothing to subscribe to, but general clients ask. */
static int method_match(sd_bus_message *call, void *userdata, sd_bus_error *error)
{
        return sd_bus_reply_method_return(call, NULL);
}

/* clang-format off */
static const sd_bus_vtable manager_vtable[] = {
        SD_BUS_VTABLE_START(0),
        SD_BUS_METHOD_WITH_ARGS("Status", SD_BUS_NO_ARGS, SD_BUS_RESULT("ay", json), method_status, 0),
        SD_BUS_METHOD_WITH_ARGS("Marks", SD_BUS_NO_ARGS, SD_BUS_RESULT("ay", json), method_marks, 0),
        SD_BUS_METHOD_WITH_ARGS("Coverage", SD_BUS_NO_ARGS, SD_BUS_RESULT("ay", json), method_coverage, 0),
        SD_BUS_METHOD_WITH_ARGS("Rules", SD_BUS_NO_ARGS, SD_BUS_RESULT("ay", text), method_rules, 0),
        SD_BUS_METHOD_WITH_ARGS("Explain", SD_BUS_ARGS("ay", path, "ay", second), SD_BUS_RESULT("ay", json),
                                method_explain, 0),
        SD_BUS_METHOD_WITH_ARGS("Reload", SD_BUS_ARGS("b", dry_run), SD_BUS_RESULT("b", ok, "ay", json),
                                method_reload, 0),
        SD_BUS_METHOD_WITH_ARGS("Follow", SD_BUS_ARGS("as", rules, "aay", paths), SD_BUS_NO_RESULT,
                                method_follow, 0),
        SD_BUS_SIGNAL_WITH_ARGS("Event", SD_BUS_ARGS("ay", record), 0),
        SD_BUS_SIGNAL_WITH_ARGS("Lost", SD_BUS_ARGS("t", count), 0),
        SD_BUS_VTABLE_END
};

static const sd_bus_vtable bus_vtable[] = {
        SD_BUS_VTABLE_START(0),
        SD_BUS_METHOD_WITH_ARGS("Hello", SD_BUS_NO_ARGS, SD_BUS_RESULT("s", name), method_hello, 0),
        SD_BUS_METHOD_WITH_ARGS("AddMatch", SD_BUS_ARGS("s", rule), SD_BUS_NO_RESULT, method_match, 0),
        SD_BUS_METHOD_WITH_ARGS("RemoveMatch", SD_BUS_ARGS("s", rule), SD_BUS_NO_RESULT, method_match, 0),
        SD_BUS_VTABLE_END
};
/* clang-format on */

void control_forget_reloads(struct connection *c)
{
        struct control_reload *next;

        for (struct control_reload *t = c->control->reloads; t; t = next) {
                next = t->next;
                if (t->connection == c)
                        reload_unlink(c->control, t);
        }
}

int control_add_methods(struct connection *c, sd_bus *bus)
{
        int r = sd_bus_add_object_vtable(bus, NULL, CONTROL_OBJECT_PATH, CONTROL_INTERFACE, manager_vtable,
                                         c);
        if (r < 0)
                return r;
        return sd_bus_add_object_vtable(bus, NULL, "/org/freedesktop/DBus", "org.freedesktop.DBus",
                                        bus_vtable, c);
}
