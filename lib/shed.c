/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What was shed, by rule and by number. */

#include "shed.h"

#include <errno.h>

void shed_done(struct shed *s)
{
        for (size_t i = 0; i < s->n_entries; i++)
                free(s->entries[i].rule);
        free(s->entries);
        free(s->ranges);
        *s = SHED_NULL;
}

/* Where the rule's entry is, or belongs. */
static size_t find_entry(const struct shed *s, const char *rule, bool *ret_found)
{
        size_t low = 0, high = s->n_entries;

        *ret_found = false;
        while (low < high) {
                size_t middle = low + (high - low) / 2;
                int order = strcmp(s->entries[middle].rule, rule);

                if (order == 0) {
                        *ret_found = true;
                        return middle;
                }
                if (order < 0)
                        low = middle + 1;
                else
                        high = middle;
        }
        return low;
}

static struct shed_entry *insert_entry(struct shed *s, size_t at, const char *rule)
{
        if (s->n_entries == s->cap_entries) {
                size_t cap = s->cap_entries ? 2 * s->cap_entries : 8;
                struct shed_entry *entries = reallocarray(s->entries, cap, sizeof(*entries));

                if (!entries)
                        return NULL;
                s->entries = entries;
                s->cap_entries = cap;
        }

        char *name = strdup(rule);

        if (!name)
                return NULL;
        memmove(&s->entries[at + 1], &s->entries[at], (s->n_entries - at) * sizeof(*s->entries));
        s->entries[at] = (struct shed_entry){ .rule = name };
        s->n_entries++;
        return &s->entries[at];
}

/* Makes room for one more by joining the two ranges with the least between them. */
static void merge_nearest(struct shed *s)
{
        size_t best = 0;
        uint64_t least = UINT64_MAX;

        for (size_t i = 0; i + 1 < s->n_ranges; i++) {
                uint64_t between = s->ranges[i + 1].first - s->ranges[i].last;

                if (between < least) {
                        least = between;
                        best = i;
                }
        }
        s->ranges[best].last = s->ranges[best + 1].last;
        memmove(&s->ranges[best + 1], &s->ranges[best + 2], (s->n_ranges - best - 2) * sizeof(*s->ranges));
        s->n_ranges--;
        s->merged_ranges = true;
}

static int add_number(struct shed *s, uint64_t seq)
{
        if (s->n_ranges > 0 && s->ranges[s->n_ranges - 1].last + 1 == seq) {
                s->ranges[s->n_ranges - 1].last = seq;
                return 0;
        }
        if (!s->ranges) {
                s->ranges = calloc(SHED_MAX_RANGES, sizeof(*s->ranges));
                if (!s->ranges)
                        return -ENOMEM;
        }
        if (s->n_ranges == SHED_MAX_RANGES)
                merge_nearest(s);
        s->ranges[s->n_ranges++] = (struct shed_range){ seq, seq };
        return 0;
}

int shed_note(struct shed *s, uint64_t seq, const char *rule, uint32_t events, uint64_t now_usec)
{
        bool found;
        size_t at = find_entry(s, rule ? rule : "", &found);
        struct shed_entry *e = found ? &s->entries[at] : insert_entry(s, at, rule ? rule : "");

        if (s->total++ == 0)
                s->first_usec = now_usec;
        s->last_usec = now_usec;
        if (e) {
                if (e->count++ == 0)
                        e->first = seq;
                e->last = seq;
                e->events |= events;
        }
        return add_number(s, seq) < 0 || !e ? -ENOMEM : 0;
}

unsigned shed_level(unsigned level, uint64_t queued_bytes, uint64_t bound)
{
        if (queued_bytes > bound)
                return MIN_OF(level + 1, SHED_MAX_LEVEL);
        return queued_bytes < bound / 2 ? 0 : level;
}

/* ---- over the end of the process ---- */

static void keep_other(struct shed_kept_entry *others, const struct shed_entry *e)
{
        if (others->count == 0) {
                memcpy(others->rule, SHED_OTHERS, sizeof(SHED_OTHERS));
                others->first = e->first;
        }
        others->first = MIN_OF(others->first, e->first);
        others->last = MAX_OF(others->last, e->last);
        others->count += e->count;
        others->events |= e->events;
}

void shed_keep(const struct shed *s, struct shed_kept *ret)
{
        struct shed_kept_entry others = {};

        ret->total = s->total;
        ret->first_usec = s->first_usec;
        ret->last_usec = s->last_usec;
        ret->merged_ranges = s->merged_ranges;
        ret->n_ranges = s->n_ranges;
        ret->n_entries = 0;
        if (s->n_ranges > 0)
                memcpy(ret->ranges, s->ranges, s->n_ranges * sizeof(*s->ranges));
        for (size_t i = 0; i < s->n_entries; i++) {
                const struct shed_entry *e = &s->entries[i];
                size_t len = strlen(e->rule);

                if (len >= SHED_NAME_SIZE || ret->n_entries == SHED_MAX_KEPT - 1) {
                        keep_other(&others, e);
                        continue;
                }
                struct shed_kept_entry *kept = &ret->entries[ret->n_entries++];
                *kept = (struct shed_kept_entry){
                        .count = e->count, .events = e->events, .first = e->first, .last = e->last,
                };
                memcpy(kept->rule, e->rule, len);
        }
        if (others.count > 0)
                ret->entries[ret->n_entries++] = others;
}

static int restore_entry(struct shed *s, const struct shed_kept_entry *kept)
{
        bool found;
        size_t at = find_entry(s, kept->rule, &found);
        struct shed_entry *e = found ? &s->entries[at] : insert_entry(s, at, kept->rule);

        if (!e)
                return -ENOMEM;
        e->count = kept->count;
        e->events = (uint32_t)kept->events;
        e->first = kept->first;
        e->last = kept->last;
        return 0;
}

int shed_restore(struct shed *s, const struct shed_kept *kept)
{
        s->ranges = calloc(SHED_MAX_RANGES, sizeof(*s->ranges));
        if (!s->ranges)
                return -ENOMEM;
        for (size_t i = 0; i < kept->n_entries; i++)
                if (restore_entry(s, &kept->entries[i]) < 0) {
                        shed_done(s);
                        return -ENOMEM;
                }
        s->n_ranges = kept->n_ranges;
        memcpy(s->ranges, kept->ranges, s->n_ranges * sizeof(*s->ranges));
        s->merged_ranges = kept->merged_ranges;
        s->total = kept->total;
        s->first_usec = kept->first_usec;
        s->last_usec = kept->last_usec;
        return 0;
}

size_t shed_kept_size(const struct shed_kept *kept)
{
        if (kept->n_entries > 0)
                return offsetof(struct shed_kept, entries) + kept->n_entries * sizeof(kept->entries[0]);
        return offsetof(struct shed_kept, ranges) + kept->n_ranges * sizeof(kept->ranges[0]);
}

bool shed_kept_bounded(const struct shed_kept *kept)
{
        return kept->n_ranges <= SHED_MAX_RANGES && kept->n_entries <= SHED_MAX_KEPT;
}

bool shed_kept_valid(const struct shed_kept *kept, uint64_t seq)
{
        for (size_t i = 0; i < kept->n_ranges; i++)
                if (kept->ranges[i].first > kept->ranges[i].last || kept->ranges[i].last > seq ||
                    (i > 0 && kept->ranges[i].first <= kept->ranges[i - 1].last))
                        return false;
        for (size_t i = 0; i < kept->n_entries; i++) {
                const struct shed_kept_entry *e = &kept->entries[i];

                if (!memchr(e->rule, '\0', sizeof(e->rule)) || e->first > e->last || e->last > seq)
                        return false;
        }
        return true;
}
