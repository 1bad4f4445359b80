/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <stdio.h>

#include "control_json_internal.h"
#include "escape.h"
#include "fan_uapi.h"

json_t *json_of_text(const char *s)
{
        if (!s)
                return json_null();
        _cleanup_strbuf_ struct strbuf out = STRBUF_NULL;
        escape_text(s, strlen(s), &out);
        return json_string(strbuf_str(&out));
}

json_t *json_of_number(uint64_t n)
{
        return json_integer((json_int_t)n);
}

json_t *json_of_error(int error)
{
        return error == 0 ? json_null() : json_string(strerrorname_np(error));
}

void json_append(json_t *array, json_t *value)
{
        json_array_append_new(array, value);
}

void json_set(json_t *object, const char *key, json_t *value)
{
        json_object_set_new(object, key, value);
}

int json_finish(json_t *root, struct strbuf *out)
{
        char *dump = root ? json_dumps(root, JSON_COMPACT) : NULL;
        json_decref(root);
        if (!dump)
                return -ENOMEM;
        strbuf_adds(out, dump);
        free(dump);
        return strbuf_failed(out) ? -ENOMEM : 0;
}

json_t *json_of_events(uint32_t events)
{
        json_t *names = json_array();

        for (unsigned bit = 0; bit < EV_N_NAMES; bit++)
                if (events & (1u << bit))
                        json_append(names, json_string(vocab_name(1u << bit)));
        return names;
}

json_t *json_of_mask(uint64_t mask)
{
        static const struct {
                uint64_t bit;
                const char *name;
        } flags[] = {
                { FAN_MOVED_FROM, "moved_from" },
                { FAN_MOVED_TO, "moved_to" },
                { FAN_ONDIR, "ondir" },
                { FAN_EVENT_ON_CHILD, "on_child" },
        };
        json_t *names = json_of_events(vocab_from_fan(mask));

        for (size_t i = 0; i < ELEMENTSOF(flags); i++)
                if (mask & flags[i].bit)
                        json_append(names, json_string(flags[i].name));
        return names;
}

json_t *json_of_mark_object(const struct mark_object *o)
{
        char name[64];
        if (o->kind == MARK_MOUNT)
                snprintf(name, sizeof(name), "mount %d", o->mount_id);
        else
                snprintf(name, sizeof(name), "%s %u:%u", o->kind == MARK_INODE ? "inode on" : "filesystem",
                         o->sdev_major, o->sdev_minor);
        return json_string(name);
}

json_t *json_of_mark_flags(const struct mark *m)
{
        json_t *flags = json_array();
        if (m->ignore_surv)
                json_append(flags, json_string("survives-modify"));
        if (m->evictable)
                json_append(flags, json_string("evictable"));
        return flags;
}

json_t *json_of_group(const struct group_key *key)
{
        char group[32] = "main";
        if (key->kind == GROUP_MOUNT)
                snprintf(group, sizeof(group), "mount %d", key->mount_id);
        else if (key->kind == GROUP_FILESYSTEM)
                snprintf(group, sizeof(group), "filesystem %u:%u", (unsigned)key->mount_id >> 20,
                         (unsigned)key->mount_id & 0xfffff);
        return json_string(group);
}
