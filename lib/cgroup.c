/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Units: cgroups(7) gives one line a hierarchy, "ID:CONTROLLERS:PATH"; below the
 * slices the first directory of the path is the unit (systemd, "Control Group APIs
 * and Delegation").  What a unit makes below itself is its own affair.
 *
 * Containers: there is no standard, only the names that the engines give to their
 * cgroups: NAME-<64 hex>.scope with the systemd driver, .../<64 hex> with the cgroupfs
 * driver; lxc and systemd-nspawn use the machine's name.
 */

#include "cgroup.h"

#define BYTES(literal) ((struct bytes){ .p = (literal), .len = sizeof(literal) - 1 })

static bool starts_with(const struct bytes *s, const struct bytes *prefix)
{
        return s->len >= prefix->len && memcmp(s->p, prefix->p, prefix->len) == 0;
}

static bool ends_with(const struct bytes *s, const struct bytes *suffix)
{
        return s->len >= suffix->len && memcmp(s->p + s->len - suffix->len, suffix->p, suffix->len) == 0;
}

/* What stands between prefix and suffix, when both are there and something is. */
static bool between(const struct bytes *s, struct bytes prefix, struct bytes suffix, struct bytes *ret)
{
        if (s->len <= prefix.len + suffix.len || !starts_with(s, &prefix) || !ends_with(s, &suffix))
                return false;
        *ret = (struct bytes){ .p = s->p + prefix.len, .len = s->len - prefix.len - suffix.len };
        return true;
}

/* Takes the next component off path; false at its end. */
static bool next_component(struct bytes *path, struct bytes *ret)
{
        while (path->len > 0 && *path->p == '/') {
                path->p++;
                path->len--;
        }
        if (path->len == 0)
                return false;

        const char *slash = memchr(path->p, '/', path->len);
        *ret = (struct bytes){ .p = path->p, .len = slash ? (size_t)(slash - path->p) : path->len };
        path->p += ret->len;
        path->len -= ret->len;
        return true;
}

static bool is_slice(const struct bytes *c)
{
        return c->len > 6 && ends_with(c, &BYTES(".slice"));
}

/* A name of a unit that can hold processes.  systemd puts "_" before names that could
 * be taken for a file of the cgroup filesystem itself. */
static bool is_unit(struct bytes *c)
{
        static const struct bytes suffixes[] = {
                BYTES(".service"), BYTES(".scope"), BYTES(".socket"), BYTES(".mount"), BYTES(".swap"),
        };

        if (c->len > 1 && c->p[0] == '_') {
                c->p++;
                c->len--;
        }
        for (size_t i = 0; i < ELEMENTSOF(suffixes); i++)
                if (c->len > suffixes[i].len && ends_with(c, &suffixes[i]))
                        return true;
        return false;
}

/* Skips slices, keeping the last; then the unit, if there is one. */
static bool parse_unit(struct bytes *rest, struct bytes *slice, struct bytes *ret_unit)
{
        struct bytes component;

        while (next_component(rest, &component)) {
                if (is_slice(&component)) {
                        *slice = component;
                        continue;
                }
                if (!is_unit(&component))
                        return false;
                *ret_unit = component;
                return true;
        }
        return false;
}

static bool is_container_id(const struct bytes *s)
{
        if (s->len != 64)
                return false;
        for (size_t i = 0; i < s->len; i++)
                if (!((s->p[i] >= '0' && s->p[i] <= '9') || (s->p[i] >= 'a' && s->p[i] <= 'f')))
                        return false;
        return true;
}

/* "docker-ID.scope", "cri-containerd-ID.scope" and whatever engine comes next: the id
 * behind the last dash, but not the engine's own monitor beside the container. */
static bool scope_of_engine(const struct bytes *c, struct bytes *ret)
{
        struct bytes stem, id;

        if (!between(c, BYTES(""), BYTES(".scope"), &stem) || stem.len < 64)
                return false;
        id = (struct bytes){ .p = stem.p + stem.len - 64, .len = 64 };
        if (!is_container_id(&id))
                return false;

        struct bytes engine = { .p = stem.p, .len = stem.len - 64 };
        if (ends_with(&engine, &BYTES("conmon-")))
                return false;
        *ret = id;
        return true;
}

static bool container_of(const struct bytes *c, const struct bytes *above, struct bytes *ret)
{
        if (is_container_id(c)) {
                *ret = *c;
                return true;
        }
        if (scope_of_engine(c, ret) || between(c, BYTES("machine-"), BYTES(".scope"), ret) ||
            between(c, BYTES("systemd-nspawn@"), BYTES(".service"), ret) ||
            between(c, BYTES("lxc.payload."), BYTES(""), ret))
                return true;
        if (above->p && above->len == 3 && memcmp(above->p, "lxc", 3) == 0) {
                *ret = *c;
                return true;
        }
        return false;
}

/* "pod<uid>" with the cgroupfs driver, "kubepods-...-pod<uid>.slice" with systemd's. */
static bool pod_of(const struct bytes *c, struct bytes *ret)
{
        struct bytes stem;

        if (between(c, BYTES("kubepods"), BYTES(".slice"), &stem)) {
                for (size_t i = 0; i + 4 < stem.len; i++)
                        if (memcmp(stem.p + i, "-pod", 4) == 0) {
                                *ret = (struct bytes){ .p = stem.p + i + 4, .len = stem.len - i - 4 };
                                return true;
                        }
                return false;
        }
        return between(c, BYTES("pod"), BYTES(""), ret);
}

/* The innermost container; a pod only below kubepods and where nothing better is said. */
static struct bytes parse_container(struct bytes path)
{
        struct bytes component, above = {}, found, container = {}, pod = {};
        bool in_kubepods = false;

        while (next_component(&path, &component)) {
                if (starts_with(&component, &BYTES("kubepods")))
                        in_kubepods = true;
                if (container_of(&component, &above, &found))
                        container = found;
                else if (in_kubepods && pod_of(&component, &found))
                        pod = found;
                above = component;
        }
        return container.p ? container : pod;
}

/* The path of one line, when it is a hierarchy that systemd names its units in:
 * the unified one ("0::PATH") or, on older set-ups, "N:name=systemd:PATH". */
static bool line_path(const struct bytes *line, bool *ret_unified, struct bytes *ret)
{
        const char *first = memchr(line->p, ':', line->len);
        if (!first)
                return false;

        const char *controllers = first + 1;
        const char *second = memchr(controllers, ':', line->len - (size_t)(controllers - line->p));
        if (!second)
                return false;

        struct bytes name = { .p = controllers, .len = (size_t)(second - controllers) };
        *ret_unified = name.len == 0;
        if (!*ret_unified && !(name.len == 12 && memcmp(name.p, "name=systemd", 12) == 0))
                return false;
        *ret = (struct bytes){ .p = second + 1, .len = line->len - (size_t)(second + 1 - line->p) };
        return ret->len > 0;
}

static struct bytes choose_path(const char *text, size_t len)
{
        struct bytes unified = {}, named = {};

        while (len > 0) {
                const char *newline = memchr(text, '\n', len);
                struct bytes path, line = { .p = text, .len = newline ? (size_t)(newline - text) : len };
                bool is_unified;

                if (line.len > 0 && line_path(&line, &is_unified, &path))
                        *(is_unified ? &unified : &named) = path;
                text += line.len + (newline != NULL);
                len -= line.len + (newline != NULL);
        }
        /* in the hybrid set-up everybody may be in the root of the unified hierarchy */
        return named.p && (!unified.p || unified.len == 1) ? named : unified;
}

void cgroup_parse(const char *text, size_t len, struct cgroup_info *ret)
{
        struct cgroup_info info = { .path = choose_path(text, len) };
        struct bytes rest = info.path, user_slice = {}, uid;

        if (info.path.p) {
                if (parse_unit(&rest, &info.slice, &info.unit) &&
                    between(&info.unit, BYTES("user@"), BYTES(".service"), &uid))
                        (void)parse_unit(&rest, &user_slice, &info.user_unit);
                info.container = parse_container(info.path);
        }
        *ret = info;
}

static int hex_digit(char c)
{
        if (c >= '0' && c <= '9')
                return c - '0';
        if (c >= 'a' && c <= 'f')
                return c - 'a' + 10;
        return -1;
}

void cgroup_unescape(const struct bytes *escaped, struct strbuf *out)
{
        for (size_t i = 0; i < escaped->len; i++) {
                const char *p = escaped->p + i;

                if (escaped->len - i >= 4 && p[0] == '\\' && p[1] == 'x' && hex_digit(p[2]) >= 0 &&
                    hex_digit(p[3]) >= 0) {
                        strbuf_addc(out, (char)(hex_digit(p[2]) << 4 | hex_digit(p[3])));
                        i += 3;
                } else {
                        strbuf_addc(out, *p);
                }
        }
}
