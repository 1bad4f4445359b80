/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "limit.h"

struct rule_window {
        uint64_t end_usec;      /* 0 = no window yet */
        uint64_t passed;        /* records let through in it */
        struct limited *held;   /* what it held back; NULL = nothing */
};

struct limiter {
        size_t n_rules;
        struct rule_window *rules;
        uint32_t *holding;      /* rules that hold something back */
        size_t n_holding;
};

struct limiter *limiter_new(size_t n_rules)
{
        _cleanup_(limiter_freep) struct limiter *l = calloc(1, sizeof(*l));

        if (!l)
                return NULL;
        l->n_rules = n_rules;
        l->rules = calloc(MAX_OF(n_rules, (size_t)1), sizeof(*l->rules));
        l->holding = calloc(MAX_OF(n_rules, (size_t)1), sizeof(*l->holding));
        return l->rules && l->holding ? STEAL(l) : NULL;
}

void limiter_free(struct limiter *l)
{
        if (!l)
                return;
        for (size_t i = 0; l->holding && i < l->n_holding; i++)
                free(l->rules[l->holding[i]].held);
        free(l->rules);
        free(l->holding);
        free(l);
}

static void count_program(struct limited *held, const char *program)
{
        size_t len = program ? strnlen(program, LIMIT_PROGRAM_MAX) : 0;

        for (size_t i = 0; program && i < held->n_programs; i++)
                if (strlen(held->programs[i].name) == len &&
                    memcmp(held->programs[i].name, program, len) == 0) {
                        held->programs[i].count++;
                        return;
                }
        if (!program || held->n_programs == LIMIT_PROGRAMS) {
                held->other_programs++;
                return;
        }
        memcpy(held->programs[held->n_programs].name, program, len);
        held->programs[held->n_programs++].count = 1;
}

/* Without memory for the account the record is made after all: nothing is lost. */
static bool hold_back(struct limiter *l, struct rule_window *w, const struct limit_offer *o)
{
        struct limited *held = w->held;

        if (!held) {
                held = calloc(1, sizeof(*held));
                if (!held)
                        return false;
                held->rule = o->rule;
                held->first_usec = o->stamp_usec;
                w->held = held;
                l->holding[l->n_holding++] = o->rule;
        }
        held->count++;
        held->events |= o->events;
        held->last_usec = o->stamp_usec;
        count_program(held, o->program);
        return true;
}

/* A window whose account was not fetched yet goes on: its end was reached, but
 * what it held back must not be mixed with records let through since. */
bool limiter_offer(struct limiter *l, const struct limit_offer *o)
{
        struct rule_window *w;

        if (o->limit_count == 0 || o->rule >= l->n_rules)
                return true;
        w = &l->rules[o->rule];
        if (o->now_usec >= w->end_usec && !w->held)
                *w = (struct rule_window){ .end_usec = o->now_usec + o->limit_usec };
        if (w->passed < o->limit_count) {
                w->passed++;
                return true;
        }
        return !hold_back(l, w, o);
}

bool limiter_next(struct limiter *l, uint64_t now_usec, struct limited *ret)
{
        for (size_t i = 0; i < l->n_holding; i++) {
                struct rule_window *w = &l->rules[l->holding[i]];

                if (w->end_usec > now_usec)
                        continue;
                *ret = *w->held;
                free(w->held);
                *w = (struct rule_window){};
                l->holding[i] = l->holding[--l->n_holding];
                return true;
        }
        return false;
}

uint64_t limiter_deadline(const struct limiter *l)
{
        uint64_t first = UINT64_MAX;

        for (size_t i = 0; i < l->n_holding; i++)
                first = MIN_OF(first, l->rules[l->holding[i]].end_usec);
        return first;
}
