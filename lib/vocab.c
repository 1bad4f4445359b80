/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <sys/stat.h>

#include "fan_uapi.h"
#include "vocab.h"

struct vocab_entry {
        const char *name;
        uint32_t bit;
        uint64_t fan;  /* the kernel's bit, 0 = none */
        bool in_rules; /* a rule may ask for it by name */
};

/* In the order of the bits: the order of names in a record. */
static const struct vocab_entry entries[] = {
        { "create", EV_CREATE, FAN_CREATE, true },
        { "delete", EV_DELETE, FAN_DELETE, true },
        { "rename", EV_RENAME, FAN_RENAME, true },
        { "modify", EV_MODIFY, FAN_MODIFY, true },
        { "close_write", EV_CLOSE_WRITE, FAN_CLOSE_WRITE, true },
        { "attrib", EV_ATTRIB, FAN_ATTRIB, true },
        { "access", EV_ACCESS, FAN_ACCESS, true },
        { "open", EV_OPEN, FAN_OPEN, true },
        { "open_exec", EV_OPEN_EXEC, FAN_OPEN_EXEC, true },
        { "close_nowrite", EV_CLOSE_NOWRITE, FAN_CLOSE_NOWRITE, true },
        { "delete_self", EV_DELETE_SELF, FAN_DELETE_SELF, true },
        { "move_self", EV_MOVE_SELF, FAN_MOVE_SELF, true },
        { "fs_error", EV_FS_ERROR, FAN_FS_ERROR, true },
        { "replaced", EV_REPLACED, 0, false },
        { "changed", EV_CHANGED, 0, false },
        { "moved_from", EV_MOVED_FROM, FAN_MOVED_FROM, false },
        { "moved_to", EV_MOVED_TO, FAN_MOVED_TO, false },
};

static const struct {
        const char *name;
        uint32_t events;
} groups[] = {
        { "change", EV_CHANGE },
        { "saved", EV_SAVED },
        { "content", EV_CONTENT },
        { "read", EV_READ },
        { "all", EV_RULE_ALL },
};

static const struct {
        const char *name;
        uint32_t bit;
} types[] = {
        { "file", TYPE_FILE },
        { "directory", TYPE_DIRECTORY },
        { "symlink", TYPE_SYMLINK },
        { "fifo", TYPE_FIFO },
        { "socket", TYPE_SOCKET },
        { "device", TYPE_DEVICE },
};

const char *vocab_name(uint32_t bit)
{
        for (size_t i = 0; i < ELEMENTSOF(entries); i++)
                if (entries[i].bit == bit)
                        return entries[i].name;
        return NULL;
}

uint32_t vocab_parse(const char *name, bool *ret_group)
{
        for (size_t i = 0; i < ELEMENTSOF(entries); i++)
                if (entries[i].in_rules && streq(entries[i].name, name)) {
                        *ret_group = false;
                        return entries[i].bit;
                }
        for (size_t i = 0; i < ELEMENTSOF(groups); i++)
                if (streq(groups[i].name, name)) {
                        *ret_group = true;
                        return groups[i].events;
                }
        return 0;
}

const char *const *vocab_rule_names(size_t *ret_n)
{
        static const char *const names[] = {
                "access", "modify",      "attrib",    "close_write", "close_nowrite", "open",
                "open_exec", "create",   "delete",    "delete_self", "move_self",     "rename",
                "fs_error", "change",    "saved",     "content",     "read",          "all",
        };

        *ret_n = ELEMENTSOF(names);
        return names;
}

uint64_t vocab_to_fan(uint32_t events)
{
        uint64_t mask = 0;

        for (size_t i = 0; i < ELEMENTSOF(entries); i++)
                if (events & entries[i].bit)
                        mask |= entries[i].fan;
        return mask;
}

uint32_t vocab_from_fan(uint64_t mask)
{
        uint32_t events = 0;

        for (size_t i = 0; i < ELEMENTSOF(entries); i++)
                if (mask & entries[i].fan)
                        events |= entries[i].bit;
        return events;
}

const char *vocab_type_name(uint32_t bit)
{
        for (size_t i = 0; i < ELEMENTSOF(types); i++)
                if (types[i].bit == bit)
                        return types[i].name;
        return NULL;
}

uint32_t vocab_type_parse(const char *name)
{
        for (size_t i = 0; i < ELEMENTSOF(types); i++)
                if (streq(types[i].name, name))
                        return types[i].bit;
        return 0;
}

uint32_t vocab_type_of_mode(unsigned mode)
{
        switch (mode & S_IFMT) {
        case S_IFREG:
                return TYPE_FILE;
        case S_IFDIR:
                return TYPE_DIRECTORY;
        case S_IFLNK:
                return TYPE_SYMLINK;
        case S_IFIFO:
                return TYPE_FIFO;
        case S_IFSOCK:
                return TYPE_SOCKET;
        case S_IFBLK:
        case S_IFCHR:
                return TYPE_DEVICE;
        default:
                return 0;
        }
}

const char *const *vocab_type_names(size_t *ret_n)
{
        static const char *const names[] = { "file", "directory", "symlink", "fifo", "socket", "device" };

        *ret_n = ELEMENTSOF(names);
        return names;
}
