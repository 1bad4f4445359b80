/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "street_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/fanotify.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "strbuf.h"
#include "world_collect.h"

#define MAX_RECORDS 20000

struct street_record street_records[MAX_RECORDS];
size_t street_n_records, street_n_notes;
char street_last_note[512];
int street_note_result;

/* ---- the reporter that records ---- */

static char *copy(const char *s)
{
        return s ? strdup(s) : NULL;
}

static char *copy_bytes(const struct bytes *b)
{
        return b->p ? strndup(b->p, b->len) : NULL;
}

static char *event_names(uint32_t events)
{
        struct strbuf out = STRBUF_NULL;

        for (uint32_t i = 0; i < EV_N_NAMES; i++)
                if (events & (1u << i)) {
                        if (out.len > 0)
                                strbuf_addc(&out, ',');
                        strbuf_adds(&out, vocab_name(1u << i));
                }
        return strbuf_steal(&out);
}

static const struct rules *rules_in_force;

static char *rule_names(const struct match_hits *hits)
{
        struct strbuf out = STRBUF_NULL;

        for (size_t i = 0; i < hits->n; i++)
                strbuf_addf(&out, "%s%s", i > 0 ? "," : "",
                            rules_in_force->watches[hits->v[i].rule].clause.name);
        return strbuf_steal(&out);
}

void reporter_event(struct reporter *r, const struct event *e, const struct match_hits *hits)
{
        if (street_n_records == MAX_RECORDS)
                return;
        street_records[street_n_records++] = (struct street_record){
                .events = event_names(e->events),
                .path = copy_bytes(&e->path),
                .old_path = copy_bytes(&e->old_path),
                .name = copy_bytes(&e->name),
                .comm = copy(e->actor->comm),
                .exe = copy(e->actor->exe),
                .next_exe = copy(e->actor->next_exe),
                .cmdline = copy_bytes(&e->actor->cmdline),
                .rules = rule_names(hits),
                .attribution = e->attribution,
                .path_state = e->path_state,
                .pid = e->actor->pid,
                .uid = e->actor->uid,
                .euid = e->actor->euid,
                .type = e->object.type,
                .program_known = e->actor->program_known,
                .fs_errno = e->fs_errno,
        };
}

int reporter_note(struct reporter *r, enum record_kind kind, int priority, const char *const *fields,
                  const char *format, ...)
{
        size_t len = 0;

        street_n_notes++;
        street_last_note[0] = '\0';
        for (; fields[0]; fields += 2) {
                int n = snprintf(street_last_note + len, sizeof(street_last_note) - len, "%s=%s ", fields[0],
                                 fields[1]);
                if (n < 0 || (size_t)n >= sizeof(street_last_note) - len)
                        break;
                len += (size_t)n;
        }
        return street_note_result;
}

void street_clear(void)
{
        for (size_t i = 0; i < street_n_records; i++) {
                struct street_record *r = &street_records[i];

                free(r->events);
                free(r->path);
                free(r->old_path);
                free(r->name);
                free(r->comm);
                free(r->exe);
                free(r->next_exe);
                free(r->cmdline);
                free(r->rules);
        }
        street_n_records = street_n_notes = 0;
}

const char *street_lines(void)
{
        static struct strbuf out;

        strbuf_reset(&out);
        for (size_t i = 0; i < street_n_records; i++) {
                const struct street_record *r = &street_records[i];

                strbuf_adds(&out, r->events);
                if (r->old_path)
                        strbuf_addf(&out, " %s ->", r->old_path);
                if (r->path)
                        strbuf_addf(&out, " %s", r->path);
                if (r->name)
                        strbuf_addf(&out, " ?%s", r->name);
                strbuf_addc(&out, '\n');
        }
        return strbuf_str(&out);
}

/* ---- the namespace ---- */

const char *street_enter(void)
{
        if (geteuid() != 0)
                return "needs root";

        int fd = fanotify_init(FAN_CLASS_NOTIF | FAN_CLOEXEC | FAN_REPORT_DFID_NAME_TARGET, O_RDONLY);
        if (fd < 0)
                return "fanotify with names is not available here";
        (void)close(fd);
        if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
                return "no mount namespace of its own";
        street_fresh_root();
        return NULL;
}

void street_fresh_root(void)
{
        (void)umount2(STREET_ROOT, MNT_DETACH);
        if (mount("street", STREET_ROOT, "tmpfs", 0, "size=256m") < 0) {
                perror("mount");
                abort();
        }
}

/* ---- the street ---- */

static uint64_t realtime_usec(void)
{
        struct timespec ts;

        (void)clock_gettime(CLOCK_REALTIME, &ts);
        return (uint64_t)ts.tv_sec * USEC_PER_SEC + (uint64_t)ts.tv_nsec / NSEC_PER_USEC;
}

static void lost(void *userdata, uint64_t from_usec)
{
        struct street *s = userdata;

        s->losses++;
        s->lost_since_usec = from_usec;
}

static void world_changed(void *userdata)
{
        struct street *s = userdata;

        s->world_changes++;
}

static struct generation *build(const char *text)
{
        struct conf_text file = { .name = (char *)"test.conf", .text = (char *)text, .len = strlen(text) };
        struct diag diag = DIAG_NULL;
        struct rules *rules = NULL;
        struct world *world = NULL;
        struct generation *g = NULL;
        char *error = NULL;

        if (rules_parse(&file, 1, &diag, &rules) < 0)
                fail_msg("rules: %s", diag.n_entries > 0 ? diag.entries[0].text : "?");
        diag_done(&diag);
        assert_int_equal(world_collect(rules, MOUNTS_OWN, &world, &error), 0);
        assert_int_equal(generation_build(rules, settings_default(), world, &g), 0);

        /* Only our own tmpfs is marked, and only its programs are said to be. */
        struct markset *wanted = &g->plan->wanted;
        for (size_t i = wanted->n; i-- > 0;)
                if (strncmp(wanted->marks[i].where, STREET_ROOT, strlen(STREET_ROOT)) != 0)
                        markset_remove(wanted, &wanted->marks[i]);
        return g;
}

static void place(struct street *s, const struct generation *before, const struct generation *after)
{
        static const struct markset none;
        struct markdiff diff = {};

        assert_int_equal(markdiff_build(before ? &before->plan->wanted : &none, &after->plan->wanted, &diff),
                         0);
        for (size_t i = 0; i < diff.n_widen; i++)
                if (diff.widen[i].group.kind == GROUP_MAIN)
                        assert_int_equal(fan_group_mark(s->group, &diff.widen[i]), 0);
        for (size_t i = 0; i < diff.n_narrow; i++)
                if (diff.narrow[i].group.kind == GROUP_MAIN)
                        assert_int_equal(fan_group_mark(s->group, &diff.narrow[i]), 0);
        markdiff_done(&diff);
}

void street_load(struct street *s, const char *rules)
{
        struct generation *before = s->generation;

        s->generation = build(rules);
        place(s, before, s->generation);
        rules_in_force = s->generation->rules;
        attributor_set_settings(s->attributor, s->generation->settings);
        pipeline_set_generation(s->pipeline, s->generation);
        generation_free(before);
}

void street_open(struct street *s, const char *rules, bool queue_unlimited, size_t window_bytes,
                 size_t max_events)
{
        const struct group_key key = { .kind = GROUP_MAIN };

        street_clear();
        *s = (struct street){};
        struct generation *g = build(rules);
        assert_int_equal(names_new(&s->names), 0);
        assert_int_equal(resolver_new(&s->counters, 8192, &s->resolver), 0);
        assert_int_equal(attributor_new(&s->counters, s->names, 1024, &s->attributor), 0);
        const struct pipeline_params params = {
                .counters = &s->counters,
                .resolver = s->resolver,
                .attributor = s->attributor,
                .names = s->names,
                .window_bytes = window_bytes,
                .max_events = max_events,
                .realtime_usec = realtime_usec,
                .world_changed = world_changed,
                .lost = lost,
                .userdata = s,
        };
        assert_int_equal(pipeline_new(&params, &s->pipeline), 0);
        assert_int_equal(fan_group_open(&key, &g->world->kernel, queue_unlimited, &s->group), 0);
        generation_free(g);
        street_load(s, rules);
}

void street_close(struct street *s)
{
        pipeline_free(s->pipeline);
        attributor_free(s->attributor);
        resolver_free(s->resolver);
        names_free(s->names);
        fan_group_free(s->group);
        generation_free(s->generation);
}

void street_run(struct street *s)
{
        int r;

        while ((r = pipeline_dispatch(s->pipeline, s->group)) == 1)
                ;
        assert_int_equal(r, 0);
}

/* ---- what is done to the files ---- */

int street_command(const char *const *argv)
{
        int status;
        pid_t pid = fork();

        if (pid == 0) {
                execv(argv[0], (char *const *)argv);
                _exit(127);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

void street_copy_self(const char *path)
{
        char buffer[65536];
        ssize_t n;
        int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
        int to = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755);

        assert_true(from >= 0 && to >= 0);
        while ((n = read(from, buffer, sizeof(buffer))) > 0)
                assert_int_equal(write(to, buffer, (size_t)n), n);
        (void)close(from);
        (void)close(to);
}

void street_write(const char *path, const char *text)
{
        int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

        assert_true(fd >= 0);
        assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
        (void)close(fd);
}
