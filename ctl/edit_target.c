/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "edit_target.h"
#include "print.h"

#define LOCAL_RULES "/etc/fawatchd/rules.d/"
#define RUNTIME_RULES "/run/fawatchd/rules.d/"
#define VENDOR_RULES "/usr/lib/fawatchd/rules.d/"
#define DEFAULT_NAME "50-local.conf"

void edit_target_done(struct edit_target *t)
{
        free(t->path);
        free(t->real);
        free(t->template);
        *t = (struct edit_target){};
}

static bool begins_with(const char *s, const char *prefix)
{
        return strncmp(s, prefix, strlen(prefix)) == 0;
}

static bool ends_with(const char *s, const char *suffix)
{
        size_t len = strlen(s), n = strlen(suffix);
        return len > n && streq(s + len - n, suffix);
}

static char *join(const char *a, const char *b, const char *c)
{
        char *s;
        return asprintf(&s, "%s%s%s", a, b, c) < 0 ? NULL : s;
}

/* The path that is meant; NULL and *ret_status when there is none. */
static char *path_of(const char *file, enum exit_status *ret_status)
{
        const char *name = file ? file : DEFAULT_NAME;

        *ret_status = STATUS_OTHER; /* memory */
        if (name[0] != '\0' && name[0] != '.' && !strchr(name, '/'))
                return join(LOCAL_RULES, name, ends_with(name, ".conf") ? "" : ".conf");

        *ret_status = STATUS_USAGE;
        if (begins_with(name, VENDOR_RULES)) {
                complain("%s belongs to the package: 'fawatchctl edit %s' makes your own copy of it in %s",
                         name, name + strlen(VENDOR_RULES), LOCAL_RULES);
                return NULL;
        }
        const char *rest = begins_with(name, LOCAL_RULES)     ? name + strlen(LOCAL_RULES)
                           : begins_with(name, RUNTIME_RULES) ? name + strlen(RUNTIME_RULES)
                                                              : "/";
        if (strchr(rest, '/') || rest[0] == '.' || !ends_with(rest, ".conf")) {
                complain("%s is not a rule file: give a name, or a path " LOCAL_RULES "NAME.conf", name);
                return NULL;
        }
        *ret_status = STATUS_OTHER;
        return strdup(name);
}

/* A link is followed, so that it stays one; a mask is not for editing. */
static enum exit_status follow_link(struct edit_target *t)
{
        char target[16];
        struct stat st;

        if (lstat(t->path, &st) < 0 || !S_ISLNK(st.st_mode)) {
                t->real = strdup(t->path);
                return t->real ? STATUS_YES : STATUS_OTHER;
        }
        ssize_t n = readlink(t->path, target, sizeof(target));
        if (n == 9 && memcmp(target, "/dev/null", 9) == 0) {
                complain("%s is masked (a link to /dev/null): remove the link first", t->path);
                return STATUS_NO;
        }
        t->real = realpath(t->path, NULL);
        if (!t->real) {
                complain("%s is a link that leads nowhere: %s", t->path, strerror(errno));
                return STATUS_NO;
        }
        return STATUS_YES;
}

static enum exit_status find_template(struct edit_target *t)
{
        static const char *const places[] = { RUNTIME_RULES, VENDOR_RULES };
        const char *name = strrchr(t->path, '/') + 1;

        for (size_t i = 0; i < ELEMENTSOF(places) && begins_with(t->path, LOCAL_RULES); i++) {
                _cleanup_free_ char *path = join(places[i], name, "");

                if (!path)
                        return STATUS_OTHER;
                if (access(path, F_OK) == 0) {
                        t->template = STEAL(path);
                        return STATUS_YES;
                }
        }
        return STATUS_YES;
}

enum exit_status edit_target_find(const char *file, struct edit_target *ret)
{
        _cleanup_edit_target_ struct edit_target t = {};
        enum exit_status status;

        t.path = path_of(file, &status);
        if (!t.path)
                return status;
        if ((status = follow_link(&t)) != STATUS_YES || (status = find_template(&t)) != STATUS_YES)
                return status;
        *ret = t;
        t = (struct edit_target){};
        return STATUS_YES;
}
