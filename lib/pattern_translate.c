/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "escape.h"
#include "pattern_translate.h"

static const struct pattern_dialect path_dialect = { .escapes = true };

/* One member of a set: a character, a range of ASCII characters, a class. */
struct set_item {
        enum { ITEM_CHARACTER, ITEM_RANGE, ITEM_CLASS, ITEM_BAD } kind;
        const char *start;
        size_t len; /* of a character (more than one when it is not ASCII), or of a class's text */
        char low, high;
        const char *end;
        const char *error;
};

static const char *const class_names[] = { "alnum", "alpha", "blank", "cntrl", "digit", "graph",
                                           "lower", "print", "punct", "space", "upper", "xdigit" };

static struct set_item set_class_at(const char *at, const char *end)
{
        for (size_t i = 0; i < ELEMENTSOF(class_names); i++) {
                size_t len = strlen(class_names[i]);

                if ((size_t)(end - at) >= len + 4 && strncmp(at + 2, class_names[i], len) == 0 &&
                    at[len + 2] == ':' && at[len + 3] == ']')
                        return (struct set_item){
                                .kind = ITEM_CLASS, .start = at, .len = len + 4, .end = at + len + 4
                        };
        }
        return (struct set_item){
                .kind = ITEM_BAD,
                .error = "unknown class in [ ]: known are [:alnum:], [:alpha:], [:digit:], "
                         "[:lower:], [:upper:], [:punct:], [:space:], [:xdigit:] and the like"
        };
}

/* The character at `at`, its backslash taken off. */
static struct set_item set_character_at(const char *at, const char *end, bool escapes)
{
        size_t len;

        if (escapes && *at == '\\' && at + 1 < end)
                at++;
        len = utf8_sequence(at, (size_t)(end - at));
        if (len == 0)
                len = 1; /* names are bytes: what is not UTF-8 stands for itself */
        return (struct set_item){ .kind = ITEM_CHARACTER, .start = at, .len = len, .end = at + len };
}

static struct set_item set_item_at(const char *at, const char *end, bool escapes)
{
        struct set_item low, high;

        if (end - at >= 2 && at[0] == '[' && at[1] == ':')
                return set_class_at(at, end);

        low = set_character_at(at, end, escapes);
        if (end - low.end < 2 || *low.end != '-' || low.end[1] == ']')
                return low;

        high = set_character_at(low.end + 1, end, escapes);
        if (low.len > 1 || high.len > 1)
                return (struct set_item){ .kind = ITEM_BAD,
                                          .error = "a range in [ ] takes ASCII characters only: "
                                                   "write the letters one by one" };
        if ((unsigned char)*low.start > (unsigned char)*high.start)
                return (struct set_item){ .kind = ITEM_BAD,
                                          .error = "the range in [ ] runs backwards: swap its ends" };
        return (struct set_item){
                .kind = ITEM_RANGE, .low = *low.start, .high = *high.start, .end = high.end
        };
}

static bool set_is_negated(const char *start)
{
        return start[1] == '!' || start[1] == '^';
}

static struct pattern_atom bad(const char *error)
{
        return (struct pattern_atom){ .kind = ATOM_BAD, .error = error };
}

/* As it is written: a range may have the slash between its ends, and then does not match it. */
static bool holds_slash(const struct set_item *item)
{
        if (item->kind == ITEM_RANGE)
                return item->low == '/' || item->high == '/';
        return item->kind == ITEM_CHARACTER && *item->start == '/';
}

static struct pattern_atom set_at(const char *start, const char *end, const struct pattern_dialect *dialect)
{
        const char *at = start + 1;
        bool first = true;

        if (at < end && set_is_negated(start))
                at++;
        /* A ']' that comes first is a member. */
        for (; at < end && (first || *at != ']'); first = false) {
                struct set_item item = set_item_at(at, end, dialect->escapes);

                if (item.kind == ITEM_BAD)
                        return bad(item.error);
                if (holds_slash(&item) && !dialect->crosses_slash)
                        return bad("a / cannot stand in [ ]: wildcards match within one name");
                at = item.end;
        }
        if (at >= end)
                return bad(dialect->escapes
                                   ? "the [ is not closed: add the ], or write \\[ for a literal one"
                                   : "the [ is not closed: add the ], or write [[] for a literal one");
        return (struct pattern_atom){ .kind = ATOM_SET, .start = start, .end = at + 1 };
}

struct pattern_atom pattern_atom_at(const char *at, const char *end, const struct pattern_dialect *dialect)
{
        switch (*at) {
        case '*':
                return (struct pattern_atom){ .kind = ATOM_STAR, .end = at + 1 };
        case '?':
                return (struct pattern_atom){ .kind = ATOM_ANY, .end = at + 1 };
        case '[':
                return set_at(at, end, dialect);
        case '{':
        case '}':
                return bad(dialect->escapes
                                   ? "braces are not part of the dialect: write one pattern for each "
                                     "alternative (a literal brace is \\{)"
                                   : "braces are not part of the dialect: write one pattern for each "
                                     "alternative (a literal brace is [{])");
        case '\\':
                if (!dialect->escapes)
                        break;
                if (at + 1 == end)
                        return bad("the backslash at the end escapes nothing: a literal one is \\\\");
                if (at[1] == '/')
                        return bad("a / cannot be escaped: no name holds one");
                at++;
                break;
        default:
                break;
        }
        return (struct pattern_atom){ .kind = ATOM_BYTE, .byte = *at, .end = at + 1 };
}

static void add_byte(char c, struct strbuf *out)
{
        strbuf_addf(out, "\\x%02x", (unsigned char)c);
}

/* One character: a UTF-8 sequence, else one byte.  Atomic, so that a failure
 * further on does not make it take half a character. */
static void add_any(const struct pattern_dialect *dialect, struct strbuf *out)
{
        strbuf_addf(out,
                    "(?>[\\xc2-\\xdf][\\x80-\\xbf]|[\\xe0-\\xef][\\x80-\\xbf]{2}|"
                    "[\\xf0-\\xf4][\\x80-\\xbf]{3}|%s)",
                    dialect->crosses_slash ? "." : "[^/]");
}

/* The members of a set as alternatives: single bytes as one class, longer
 * characters each by itself. */
static void add_set_members(const struct pattern_atom *set, const struct pattern_dialect *dialect,
                            struct strbuf *out)
{
        _cleanup_strbuf_ struct strbuf class = STRBUF_NULL;
        const char *last = set->end - 1;
        bool more = false;

        for (const char *at = set->start + (set_is_negated(set->start) ? 2 : 1); at < last;) {
                struct set_item item = set_item_at(at, set->end, dialect->escapes);

                if (item.kind == ITEM_CLASS)
                        strbuf_add(&class, item.start, item.len);
                else if (item.kind == ITEM_RANGE) {
                        add_byte(item.low, &class);
                        strbuf_addc(&class, '-');
                        add_byte(item.high, &class);
                } else if (item.len == 1)
                        add_byte(*item.start, &class);
                else {
                        if (more)
                                strbuf_addc(out, '|');
                        more = true;
                        for (size_t i = 0; i < item.len; i++)
                                add_byte(item.start[i], out);
                }
                at = item.end;
        }
        if (class.len > 0)
                strbuf_addf(out, "%s[%s]", more ? "|" : "", strbuf_str(&class));
        if (strbuf_failed(&class))
                out->failed = true;
}

static void add_set(const struct pattern_atom *set, const struct pattern_dialect *dialect, struct strbuf *out)
{
        if (set_is_negated(set->start)) {
                strbuf_adds(out, "(?!");
                add_set_members(set, dialect, out);
                strbuf_addc(out, ')');
                add_any(dialect, out);
                return;
        }
        /* A range such as [+-9] holds the '/', and must not match it. */
        strbuf_adds(out, dialect->crosses_slash ? "(?>" : "(?>(?!/)(?:");
        add_set_members(set, dialect, out);
        strbuf_adds(out, dialect->crosses_slash ? ")" : "))");
}

static const char *last_star(const char *at, const char *end, const struct pattern_dialect *dialect)
{
        const char *last = NULL;

        while (at < end) {
                struct pattern_atom atom = pattern_atom_at(at, end, dialect);

                if (atom.kind == ATOM_STAR)
                        last = at;
                at = atom.end;
        }
        return last;
}

static bool only_stars(const char *at, const char *end)
{
        while (at < end && *at == '*')
                at++;
        return at == end;
}

void pattern_translate_name(const char *at, const char *end, const struct pattern_dialect *dialect,
                            struct strbuf *out)
{
        const char *any = dialect->crosses_slash ? "." : "[^/]";
        const char *last = last_star(at, end, dialect);
        bool open = false;

        if (only_stars(at, end)) {
                strbuf_addf(out, "%s+", any);
                return;
        }
        strbuf_adds(out, "(?>");
        while (at < end) {
                struct pattern_atom atom = pattern_atom_at(at, end, dialect);

                switch (atom.kind) {
                case ATOM_STAR:
                        if (open)
                                strbuf_addc(out, ')');
                        while (at < last && at[1] == '*') /* several in a row are one */
                                at++;
                        open = at < last;
                        strbuf_addf(out, open ? "(?>%s*?" : "%s*", any);
                        at++;
                        continue;
                case ATOM_ANY:
                        add_any(dialect, out);
                        break;
                case ATOM_SET:
                        add_set(&atom, dialect, out);
                        break;
                default:
                        add_byte(atom.byte, out);
                }
                at = atom.end;
        }
        strbuf_adds(out, dialect->crosses_slash ? "\\z)" : "(?=/|\\z))");
}

bool pattern_is_globstar(const char *at, const char *end)
{
        return end - at >= 2 && only_stars(at, end);
}

static const char *name_end(const char *at, const char *end)
{
        const char *slash = memchr(at, '/', (size_t)(end - at));

        return slash ? slash : end;
}

size_t pattern_inner_globstars(const char *at, const char *end, const char **ret_at, const char **ret_end)
{
        size_t n = 0;

        *ret_at = *ret_end = NULL;
        for (const char *stop; at < end; at = stop + 1) {
                stop = name_end(at, end);
                if (only_stars(at, stop))
                        continue;
                while (at < stop) {
                        struct pattern_atom atom = pattern_atom_at(at, stop, &path_dialect);
                        const char *start = at;

                        at = atom.end;
                        if (atom.kind != ATOM_STAR)
                                continue;
                        while (at < stop && *at == '*')
                                at++;
                        if (at - start < 2)
                                continue;
                        if (n++ == 0) {
                                *ret_at = start;
                                *ret_end = at;
                        }
                }
        }
        return n;
}

static bool more_globstars(const char *at, const char *end)
{
        for (const char *stop; at < end; at = stop + 1) {
                stop = name_end(at, end);
                if (pattern_is_globstar(at, stop))
                        return true;
        }
        return false;
}

/* A path in which "**" is always a whole name. */
static void translate_names(const char *at, const char *end, struct strbuf *out)
{
        bool open = false;

        for (const char *stop; at < end; at = stop + 1) {
                stop = name_end(at, end);
                if (!pattern_is_globstar(at, stop)) {
                        pattern_translate_name(at, stop, &path_dialect, out);
                        if (stop < end)
                                strbuf_addc(out, '/');
                        continue;
                }
                if (open)
                        strbuf_addc(out, ')');
                open = false;
                if (stop == end) /* "a/" + "**": everything inside a, not a itself */
                        strbuf_adds(out, ".+");
                else {
                        open = more_globstars(stop + 1, end);
                        strbuf_adds(out, open ? "(?>(?:[^/]*/)*?" : "(?:[^/]*/)*");
                }
        }
}

void pattern_translate_path(const char *at, const char *end, struct strbuf *out)
{
        _cleanup_strbuf_ struct strbuf deeper = STRBUF_NULL, flat = STRBUF_NULL;
        const char *stars, *behind;

        if (*at == '/') {
                strbuf_addc(out, '/');
                at++;
        }
        if (pattern_inner_globstars(at, end, &stars, &behind) == 0) {
                translate_names(at, end, out);
                return;
        }
        /* "a" + "**" + "b" is either "a*b", or "a*", directories, "*b". */
        strbuf_add(&flat, at, (size_t)(stars - at));
        strbuf_add(&deeper, at, (size_t)(stars - at));
        strbuf_adds(&flat, "*");
        strbuf_adds(&deeper, "*/**/*");
        strbuf_add(&flat, behind, (size_t)(end - behind));
        strbuf_add(&deeper, behind, (size_t)(end - behind));

        strbuf_adds(out, "(?:");
        translate_names(strbuf_str(&flat), strbuf_str(&flat) + flat.len, out);
        strbuf_addc(out, '|');
        translate_names(strbuf_str(&deeper), strbuf_str(&deeper) + deeper.len, out);
        strbuf_addc(out, ')');
        if (strbuf_failed(&flat) || strbuf_failed(&deeper))
                out->failed = true;
}
