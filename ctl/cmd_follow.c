/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Events as they happen.  Who reads slowly loses some, and is told how many; the daemon never waits. */

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>

#include "client.h"
#include "cmd.h"
#include "paths.h"
#include "print.h"
#include "record.h"

struct output {
        bool json;
        struct strbuf line; /* memory kept from record to record */
};

static volatile int stop;

static void on_signal(int number)
{
        stop = 1;
}

static uint64_t now_usec(void)
{
        struct timespec t;

        clock_gettime(CLOCK_REALTIME, &t);
        return (uint64_t)t.tv_sec * USEC_PER_SEC + (uint64_t)t.tv_nsec / NSEC_PER_USEC;
}

static int written(void)
{
        return ferror(stdout) ? -EPIPE : 0;
}

static bool is_name(struct bytes b, const char *name)
{
        return b.len == strlen(name) && memcmp(b.p, name, b.len) == 0;
}

static uint64_t parse_number(struct bytes b)
{
        uint64_t n = 0;

        for (size_t i = 0; i < b.len && b.p[i] >= '0' && b.p[i] <= '9'; i++)
                n = n * 10 + (uint64_t)(b.p[i] - '0');
        return n;
}

static enum tone tone_of_priority(struct bytes priority)
{
        if (priority.len != 1 || priority.p[0] > '5')
                return TONE_DIM;
        return priority.p[0] <= '3' ? TONE_BAD : priority.p[0] == '4' ? TONE_WARNING : TONE_PLAIN;
}

/* "2026-05-01 12:00:00.123456 etc: /etc/passwd modified by ..." */
static int print_readable(const char *record, size_t len)
{
        struct record_cursor cursor = { .data = record, .len = len };
        struct bytes name, value, message = {}, priority = {};
        uint64_t when = now_usec();
        char time[TIME_SIZE];
        int r;

        while ((r = record_next(&cursor, &name, &value)) > 0) {
                if (is_name(name, "MESSAGE"))
                        message = value;
                else if (is_name(name, "PRIORITY"))
                        priority = value;
                else if (is_name(name, "FAWATCH_REALTIME_USEC"))
                        when = parse_number(value);
        }
        if (r < 0)
                return r;

        enum tone tone = tone_of_priority(priority);
        format_time(when, true, time, sizeof(time));
        printf("%s%s%s ", tone_on(stdout, TONE_DIM), time, tone_off(stdout, TONE_DIM));
        fputs(tone_on(stdout, tone), stdout);
        fwrite(message.p, 1, message.len, stdout);
        printf("%s\n", tone_off(stdout, tone));
        return written();
}

static int on_event(void *userdata, const char *record, size_t len)
{
        struct output *out = userdata;

        if (!out->json)
                return print_readable(record, len);
        strbuf_reset(&out->line);
        int r = record_json(record, len, now_usec(), &out->line);
        if (r < 0)
                return r;
        fwrite(out->line.data, 1, out->line.len, stdout);
        return written();
}

static int on_lost(void *userdata, uint64_t count)
{
        const struct output *out = userdata;

        if (out->json)
                printf("{\"lost\":%llu}\n", (unsigned long long)count);
        else
                printf("%s%llu events not shown: this terminal was too slow%s\n",
                       tone_on(stdout, TONE_WARNING), (unsigned long long)count,
                       tone_off(stdout, TONE_WARNING));
        return written();
}

static void on_idle(void *userdata)
{
        fflush(stdout);
}

struct path_list {
        const char **v;
        size_t n;
};

static void path_list_done(struct path_list *l)
{
        for (size_t i = 0; i < l->n; i++)
                free((char *)l->v[i]);
        free(l->v);
}

/* Each path as written and as it leads: records name what a link leads to, and the
 * link when it changes itself. */
static enum exit_status collect_paths(const struct invocation *i, struct path_list *ret)
{
        ret->v = calloc(2 * i->n_paths + 1, sizeof(*ret->v));
        if (!ret->v)
                return STATUS_OTHER;
        for (size_t k = 0; k < i->n_paths; k++) {
                char *leads_to;

                if (i->paths[k][0] != '/') {
                        complain("--path=%s: give an absolute path", i->paths[k]);
                        return STATUS_USAGE;
                }
                ret->v[ret->n] = strdup(i->paths[k]);
                ret->n += ret->v[ret->n] != NULL;
                leads_to = path_canonical(i->paths[k]);
                if (leads_to)
                        ret->v[ret->n++] = leads_to;
        }
        return STATUS_YES;
}

static void catch_signals(void)
{
        struct sigaction action = { .sa_handler = on_signal }; /* without SA_RESTART: a wait ends */

        sigaction(SIGINT, &action, NULL);
        sigaction(SIGTERM, &action, NULL);
        sigaction(SIGHUP, &action, NULL);
}

static enum exit_status explain_end(int r)
{
        if (r >= 0 || r == -EPIPE)
                return STATUS_YES;
        if (r == -ECONNRESET) {
                complain("the daemon has stopped: systemctl status fawatchd");
                return STATUS_NOT_RUNNING;
        }
        return explain_no_answer(r);
}

enum exit_status cmd_follow(const struct invocation *i)
{
        _cleanup_(client_freep) struct client *c = NULL;
        _cleanup_(path_list_done) struct path_list paths = {};
        struct output out = { .json = i->json };

        enum exit_status status = collect_paths(i, &paths);
        if (status != STATUS_YES)
                return status;
        int r = client_open(i->socket, &c);
        if (r < 0)
                return explain_no_answer(r);

        const struct client_follow follow = {
                .rules = i->rules,
                .n_rules = i->n_rules,
                .paths = paths.v,
                .n_paths = paths.n,
                .event = on_event,
                .lost = on_lost,
                .idle = on_idle,
                .userdata = &out,
        };
        catch_signals();
        r = client_follow(c, &follow, &stop);
        strbuf_done(&out.line);
        fflush(stdout);
        return explain_end(r);
}
