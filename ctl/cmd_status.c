/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Is it running, what does it watch, is anything wrong: the most important first. */

#include <jansson.h>

#include "cmd.h"
#include "journal.h"
#include "print.h"

/* "  rules      " */
static void label(const char *name)
{
        printf("  %-10s ", name);
}

/* A line that something is wrong, and the cure (NULL: it says so itself). */
static void wrong(enum tone tone, const char *what, const char *cure)
{
        printf("%s!%s ", tone_on(stdout, tone), tone_off(stdout, tone));
        print_toned(stdout, tone, what);
        printf("\n");
        if (cure)
                printf("    %s\n", cure);
}

static void print_size(uint64_t bytes)
{
        static const struct {
                uint64_t size;
                char unit;
        } units[] = { { 1 << 30, 'G' }, { 1 << 20, 'M' }, { 1 << 10, 'K' } };

        for (size_t i = 0; i < ELEMENTSOF(units); i++)
                if (bytes >= units[i].size) {
                        printf("%.1f%c", (double)bytes / (double)units[i].size, units[i].unit);
                        return;
                }
        printf("%llu bytes", (unsigned long long)bytes);
}

static unsigned long long number(const json_t *object, const char *key)
{
        return json_number(object, key);
}

static void print_head(const json_t *s)
{
        char time[TIME_SIZE], ago[AGO_SIZE];
        uint64_t started = json_number(s, "started_usec");

        format_time(started, false, time, sizeof(time));
        format_ago(started, ago, sizeof(ago));
        print_toned(stdout, TONE_GOOD, "●");
        printf(" fawatchd %s is running (pid %llu) since %s, for %s\n", json_text(s, "version"),
               number(s, "pid"), time, ago);
}

static const char *string(const json_t *s)
{
        return json_is_string(s) ? json_string_value(s) : "?";
}

static void print_wrongs(const json_t *s)
{
        const json_t *refusal = json_object_get(s, "last_refusal"), *log = json_object_get(s, "log");
        const json_t *rules = json_object_get(s, "rules"), *counters = json_object_get(s, "counters");
        const json_t *item;
        char text[200], time[TIME_SIZE];
        size_t i;

        if (json_is_object(refusal)) {
                format_time(json_number(refusal, "time_usec"), false, time, sizeof(time));
                snprintf(text, sizeof(text), "rules refused at %s; the earlier ones are in force", time);
                wrong(TONE_BAD, text, "mend what is listed, see fawatchctl check, then: fawatchctl reload");
                json_array_foreach (json_object_get(refusal, "errors"), i, item)
                        printf("      %s\n", string(item));
        } else if (streq(json_text(rules, "source"), "last good")) {
                wrong(TONE_BAD, "the rule files were bad at the start; the last good rules are in force",
                      "see fawatchctl check, then: fawatchctl reload");
        }
        if (json_is_string(json_object_get(log, "away"))) {
                snprintf(text, sizeof(text), "the log takes nothing: %s", json_text(log, "away"));
                wrong(TONE_BAD, text,
                      "records wait: systemctl status systemd-journald.socket systemd-journald");
        }
        if (streq(json_text(log, "journal"), "volatile"))
                wrong(TONE_WARNING, "the journal is volatile: the next boot takes its records away",
                      "mkdir -p /var/log/journal; systemctl restart systemd-journald");
        else if (streq(json_text(log, "journal"), "none"))
                wrong(TONE_BAD, "there is no journal on this machine: records are kept nowhere",
                      "see Storage= in journald.conf(5)");
        if (json_number(log, "dropped_by_journald") > 0) {
                snprintf(text, sizeof(text), "journald's rate limit dropped records of fawatchd: %llu",
                         number(log, "dropped_by_journald"));
                wrong(TONE_BAD, text, "LogRateLimitBurst= of the unit must be large: systemctl cat fawatchd");
        }
        if (json_number(counters, "events_overflow") > 0) {
                snprintf(text, sizeof(text), "the kernel's queue overflowed (%llu times): events are missing",
                         number(counters, "events_overflow"));
                wrong(TONE_BAD, text,
                      "journalctl -t fawatchd says when; narrower rules, or queue = \"unlimited\"");
        }
        if (json_number(counters, "records_shed") > 0) {
                snprintf(text, sizeof(text), "records shed, as the log did not keep up: %llu",
                         number(counters, "records_shed"));
                wrong(TONE_WARNING, text,
                      "journalctl -t fawatchd names them; ignore what is noise, or raise the spool");
        }
        if (json_number(json_object_get(s, "marks"), "failed") > 0) {
                snprintf(text, sizeof(text), "marks that could not be placed: %llu",
                         number(json_object_get(s, "marks"), "failed"));
                wrong(TONE_BAD, text, "see fawatchctl marks");
        }
        if (*json_text(json_object_get(s, "directories"), "error"))
                wrong(TONE_BAD, "directories without their mark: what happens in them is not seen",
                      "see fawatchctl coverage");
        if (json_number(json_object_get(s, "coverage"), "not_covered") > 0) {
                snprintf(text, sizeof(text), "filesystems not covered: %llu",
                         number(json_object_get(s, "coverage"), "not_covered"));
                wrong(TONE_WARNING, text, "see fawatchctl coverage");
        }
        json_array_foreach (json_object_get(s, "warnings"), i, item)
                wrong(TONE_WARNING, string(item), NULL);
}

static void print_rules(const json_t *s)
{
        const json_t *rules = json_object_get(s, "rules");
        char time[TIME_SIZE];

        format_time(json_number(rules, "loaded_usec"), false, time, sizeof(time));
        label("rules");
        printf("%llu watches, %llu ignores; generation %llu, loaded %s (%s)\n", number(rules, "watches"),
               number(rules, "ignores"), number(s, "generation"), time, json_text(rules, "source"));
}

/* Only where there are some, or will be. */
static void print_directories(const json_t *directories)
{
        bool walking = json_is_true(json_object_get(directories, "walking"));

        if (!walking && json_number(directories, "marks") == 0)
                return;
        label("directories");
        printf("%llu marked, of %llu at most%s\n", number(directories, "marks"), number(directories, "max"),
               walking ? "; more are being marked" : "");
}

static void print_coverage(const json_t *s)
{
        const json_t *coverage = json_object_get(s, "coverage"), *marks = json_object_get(s, "marks");

        label("coverage");
        printf("%llu filesystems covered, %llu partly, %llu not, %llu skipped\n", number(coverage, "covered"),
               number(coverage, "partly"), number(coverage, "not_covered"), number(coverage, "skipped"));
        label("mounts");
        printf("%llu known", number(json_object_get(s, "mounts"), "known"));
        if (json_is_integer(json_object_get(json_object_get(s, "mounts"), "attached")))
                printf("; since the start %llu came, %llu went", number(json_object_get(s, "mounts"), "attached"),
                       number(json_object_get(s, "mounts"), "detached"));
        printf("\n");
        label("marks");
        printf("%llu wanted, %llu placed, %llu failed; %llu groups\n", number(marks, "wanted"),
               number(marks, "placed"), number(marks, "failed"),
               number(json_object_get(s, "queue"), "groups"));
        print_directories(json_object_get(s, "directories"));
}

static void print_flow(const json_t *s)
{
        const json_t *counters = json_object_get(s, "counters"), *log = json_object_get(s, "log");

        label("events");
        printf("%llu read, %llu recorded, %llu wanted by no rule, %llu ignored\n",
               number(counters, "events_read"), number(counters, "events_recorded"),
               number(counters, "events_filtered"), number(counters, "events_ignored"));
        label("records");
        printf("%llu made, %llu sent, %llu shed; last number %llu\n", number(counters, "records_made"),
               number(counters, "records_sent"), number(counters, "records_shed"), number(s, "seq"));
        label("log");
        printf("%s%s%s, %llu records waiting (", json_text(log, "sink"),
               *json_text(log, "journal") ? " " : "", json_text(log, "journal"), number(log, "waiting"));
        print_size(json_number(log, "waiting_bytes"));
        printf(")\n");
        label("who");
        printf("process tracking: %s\n", json_text(s, "process_tracking"));
        label("memory");
        print_size(json_number(json_object_get(s, "memory"), "rules_bytes"));
        printf(" for rules\n");
        label("stream");
        printf("%s\n", json_text(s, "stream"));
}

/* Per rule, those that recorded or lost something. */
static void print_rule_counters(const json_t *s)
{
        _cleanup_table_ struct table t = {};
        size_t i;
        json_t *item;

        table_add(&t, (const char *const[]){ "RULE", "RECORDED", "OVER LIMIT", "SHED" }, 4);
        json_array_foreach (json_object_get(s, "rule_counters"), i, item) {
                char recorded[24], limited[24], shed[24];

                snprintf(recorded, sizeof(recorded), "%llu", number(item, "recorded"));
                snprintf(limited, sizeof(limited), "%llu", number(item, "limited"));
                snprintf(shed, sizeof(shed), "%llu", number(item, "shed"));
                table_add(&t, (const char *const[]){ json_text(item, "rule"), recorded, limited, shed }, 4);
        }
        if (t.n_rows <= 1)
                return;
        printf("\n");
        table_print(&t, stdout, NULL, NULL);
}

/* The other counters that are not zero: each is a way in which an event was not recorded. */
static void print_counters(const json_t *s)
{
        static const char *const shown_above[] = {
                "events_read",  "events_recorded", "events_filtered", "events_ignored",
                "records_made", "records_sent",    "records_shed",
        };
        json_t *counters = json_object_get(s, "counters");
        const json_t *texts = json_object_get(s, "counter_texts");
        const char *name;
        json_t *value;
        bool first = true;

        json_object_foreach (counters, name, value) {
                bool shown = false;

                for (size_t i = 0; i < ELEMENTSOF(shown_above); i++)
                        shown |= streq(name, shown_above[i]);
                if (shown || json_integer_value(value) == 0)
                        continue;
                if (first)
                        printf("\n");
                first = false;
                printf("  %-20s %12llu  %s\n", name, (unsigned long long)json_integer_value(value),
                       json_text(texts, name));
        }
}

/* What the daemon cannot know: journald takes each record, and tells later that it dropped some. */
static void add_suppressed(json_t *s)
{
        json_t *log = json_object_get(s, "log");
        uint64_t n;

        if (!*json_text(log, "journal"))
                return;
        int r = journal_suppressed(json_number(s, "started_usec"), &n);
        json_object_set_new(log, "dropped_by_journald", r < 0 ? json_null() : json_integer((json_int_t)n));
}

enum exit_status cmd_status(const struct invocation *i)
{
        json_t *s;

        enum exit_status status = ask_daemon_json(i, "Status", &s);
        if (status != STATUS_YES)
                return status;
        add_suppressed(s);
        if (i->json) {
                print_json(s);
                json_decref(s);
                return STATUS_YES;
        }
        print_head(s);
        print_wrongs(s);
        print_rules(s);
        print_coverage(s);
        print_flow(s);
        print_rule_counters(s);
        print_counters(s);
        json_decref(s);
        return STATUS_YES;
}
