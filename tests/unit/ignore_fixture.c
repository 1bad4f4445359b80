/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ignore_fixture.h"

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

#include "spool.h"
#include "strbuf.h"
#include "world_collect.h"

#define IMAGES "/media"
#define SPOOL_BYTES (1024u * 1024u)

static const char *why_not; /* the namespace was not entered */
static struct spool *spool; /* of the street, to look into at each record */
static struct spool_window seen[SPOOL_WINDOWS];
static bool went_back;
static char **lines;
static struct ignore_who last_who;
static size_t n_lines, cap_lines;

/* ---- the reporter that records ---- */

/* With a record its event is done: what was done stays so. */
static void look_at_windows(void)
{
        for (unsigned i = 0; spool && i < SPOOL_WINDOWS; i++) {
                const struct spool_window *w = &spool_state(spool)->windows[i];

                went_back |= w->order == seen[i].order && w->done < seen[i].done;
                seen[i] = *w;
        }
}

bool ignore_went_back(void)
{
        return went_back;
}

void reporter_event(struct reporter *r, const struct event *e, const struct match_hits *hits)
{
        struct strbuf out = STRBUF_NULL;

        look_at_windows();

        for (uint32_t i = 0; i < EV_N_NAMES; i++)
                if (e->events & (1u << i))
                        strbuf_addf(&out, "%s%s", out.len > 0 ? "," : "", vocab_name(1u << i));
        strbuf_addc(&out, ' ');
        if (e->path.p)
                strbuf_add(&out, e->path.p, e->path.len);
        else
                strbuf_adds(&out, "?");
        if (e->old_path.p) {
                strbuf_adds(&out, " <- ");
                strbuf_add(&out, e->old_path.p, e->old_path.len);
        }
        if (e->origin == ORIGIN_SCAN)
                strbuf_adds(&out, " scan");
        if (n_lines == cap_lines) {
                cap_lines = cap_lines ? 2 * cap_lines : 256;
                lines = reallocarray(lines, cap_lines, sizeof(*lines));
        }
        lines[n_lines++] = strbuf_steal(&out);
        last_who = (struct ignore_who){ .attribution = e->attribution, .pid = e->actor->pid };
}

const struct ignore_who *ignore_last_who(void)
{
        return &last_who;
}

int reporter_note(struct reporter *r, enum record_kind kind, int priority, const char *const *fields,
                  const char *format, ...)
{
        return 0;
}

void reporter_set_generation(struct reporter *r, const struct generation *g) {}

void ignore_clear(void)
{
        for (size_t i = 0; i < n_lines; i++)
                free(lines[i]);
        n_lines = 0;
}

size_t ignore_n_lines(void)
{
        return n_lines;
}

const char *ignore_line(size_t i)
{
        return lines[i];
}

const char *ignore_lines(void)
{
        static struct strbuf out;

        strbuf_reset(&out);
        for (size_t i = 0; i < n_lines; i++)
                strbuf_addf(&out, "%s\n", lines[i]);
        return strbuf_str(&out);
}

/* ---- the namespace ---- */

static const char *enter(void)
{
        if (geteuid() != 0)
                return "needs root";

        int fd = fanotify_init(FAN_CLASS_NOTIF | FAN_CLOEXEC | FAN_REPORT_DFID_NAME_TARGET, O_RDONLY);
        if (fd < 0)
                return "fanotify with names is not available here";
        (void)close(fd);
        if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
                return "no mount namespace of its own";
        return NULL;
}

void ignore_enter(void)
{
        why_not = enter();
}

const char *ignore_why_not(void)
{
        return why_not;
}

static void run(const char *command)
{
        if (system(command) != 0)
                fail_msg("%s", command);
}

void ignore_mount(const char *fstype)
{
        if (streq(fstype, "tmpfs")) {
                assert_int_equal(mount("ignores", IGNORE_ROOT, "tmpfs", 0, "size=512m"), 0);
                return;
        }
        assert_int_equal(mount("images", IMAGES, "tmpfs", 0, "size=512m"), 0);
        if (streq(fstype, "overlay")) {
                run("cd " IMAGES " && mkdir lower upper work && mount -t overlay -o index=off,nfs_export=off,"
                    "lowerdir=lower,upperdir=upper,workdir=work o " IGNORE_ROOT);
                return;
        }
        run("truncate -s 64M " IMAGES "/image && mkfs.ext4 -q -F " IMAGES "/image >/dev/null 2>&1");
        run("mount -o loop " IMAGES "/image " IGNORE_ROOT);
}

void ignore_unmount(void)
{
        (void)umount2(IGNORE_ROOT, 0);
        (void)umount2(IMAGES, MNT_DETACH);
}

/* ---- the street ---- */

static uint64_t clock_usec(clockid_t clock)
{
        struct timespec ts;

        (void)clock_gettime(clock, &ts);
        return (uint64_t)ts.tv_sec * USEC_PER_SEC + (uint64_t)ts.tv_nsec / NSEC_PER_USEC;
}

static uint64_t realtime_usec(void)
{
        return clock_usec(CLOCK_REALTIME);
}

static uint64_t monotonic_usec(void)
{
        return clock_usec(CLOCK_MONOTONIC);
}

static uint64_t file_usec(void)
{
        return clock_usec(CLOCK_REALTIME_COARSE);
}

static void world_changed(void *userdata)
{
        struct ignore_street *s = userdata;

        s->world_changes++;
}

struct generation *ignore_build(const struct ignore_street *s, const char *text)
{
        struct conf_text file = { .name = (char *)"test.conf", .text = (char *)text, .len = strlen(text) };
        struct settings *settings = settings_default();
        struct diag diag = DIAG_NULL;
        struct rules *rules = NULL;
        struct world *world = NULL;
        struct generation *g = NULL;
        char *error = NULL;

        if (rules_parse(&file, 1, &diag, &rules) < 0)
                fail_msg("rules: %s\n%s", diag.n_entries > 0 ? diag.entries[0].text : "?", text);
        diag_done(&diag);
        assert_int_equal(world_collect(rules, MOUNTS_OWN, &world, &error), 0);
        if (s->legacy)
                world->kernel.ignore = world->kernel.evictable = false;
        /* else every filesystem of the machine would get a mark */
        settings->process_tracking = false;
        settings->kernel_ignores = s->kernel_ignores;
        if (s->max_directory_marks > 0)
                settings->max_directory_marks = s->max_directory_marks;
        assert_int_equal(generation_build(rules, settings, world, &g), 0);

        struct markset *wanted = &g->plan->wanted;
        for (size_t i = wanted->n; i-- > 0;)
                if (strncmp(wanted->marks[i].where, IGNORE_ROOT, strlen(IGNORE_ROOT)) != 0)
                        markset_remove(wanted, &wanted->marks[i]);
        return g;
}

void ignore_load(struct ignore_street *s, const char *rules)
{
        struct generation *before = s->generation, *after = ignore_build(s, rules);
        struct reload_result result;

        assert_int_equal(reload_apply(&s->street, before, after, &result), 0);
        s->generation = after;
        generation_free(before);
}

static void open_street(struct ignore_street *s, const char *rules, struct fan_group *adopted,
                        struct markset *found)
{
        struct street *t = &s->street;
        struct generation *g = ignore_build(s, rules);

        ignore_clear();
        spool = s->spool;
        memset(seen, 0, sizeof(seen));
        const struct marks_params marks = {
                .kernel = &g->world->kernel,
                .queue_unlimited = true,
                .adopted = &adopted,
                .n_adopted = adopted ? 1 : 0,
                .found = found,
        };
        assert_int_equal(marks_new(&marks, &t->marks), 0);
        assert_int_equal(names_new(&t->names), 0);
        assert_int_equal(resolver_new(&t->counters, 8192, &t->resolver), 0);
        assert_int_equal(attributor_new(&t->counters, t->names, 1024, &t->attributor), 0);
        const struct learn_params learn = {
                .counters = &t->counters,
                .resolver = t->resolver,
                .marks = t->marks,
                .monotonic_usec = monotonic_usec,
                .file_usec = file_usec,
                .max_marks = 10000,
                .evictable = g->world->kernel.evictable,
        };
        assert_int_equal(learn_new(&learn, &t->learn), 0);
        const struct until_params until = {
                .counters = &t->counters,
                .resolver = t->resolver,
                .marks = t->marks,
        };
        assert_int_equal(until_new(&until, &t->until), 0);
        const struct dirmarks_params directories = {
                .counters = &t->counters,
                .resolver = t->resolver,
                .marks = t->marks,
                .realtime_usec = realtime_usec,
                .monotonic_usec = monotonic_usec,
        };
        assert_int_equal(dirmarks_new(&directories, &t->dirmarks), 0);
        const struct pipeline_params params = {
                .counters = &t->counters,
                .resolver = t->resolver,
                .attributor = t->attributor,
                .names = t->names,
                .learn = t->learn,
                .until = t->until,
                .dirmarks = t->dirmarks,
                .spool = s->spool,
                .realtime_usec = realtime_usec,
                .world_changed = world_changed,
                .userdata = s,
        };
        assert_int_equal(pipeline_new(&params, &t->pipeline), 0);
        generation_free(g);
        ignore_load(s, rules);
}

void ignore_open(struct ignore_street *s, const char *rules, bool kernel_ignores)
{
        *s = (struct ignore_street){ .kernel_ignores = kernel_ignores };
        open_street(s, rules, NULL, NULL);
}

void ignore_open_as(struct ignore_street *s, const char *rules)
{
        open_street(s, rules, NULL, NULL);
}

void ignore_open_kept(struct ignore_street *s, const char *rules)
{
        *s = (struct ignore_street){
                .kernel_ignores = true,
                .area_size = spool_area_size(SPOOL_BYTES, PIPELINE_WINDOW_BYTES),
        };
        s->area = aligned_alloc(64, (s->area_size + 63) / 64 * 64);
        assert_non_null(s->area);
        spool_format(s->area, SPOOL_BYTES, PIPELINE_WINDOW_BYTES, "");
        assert_int_equal(spool_attach(s->area, s->area_size, &s->spool), 0);
        open_street(s, rules, NULL, NULL);
}

void ignore_kill(struct ignore_street *s)
{
        struct fan_group *const *groups;

        assert_true(marks_groups(s->street.marks, &groups) >= 1);
        s->left_fd = fcntl(fan_group_fd(groups[0]), F_DUPFD_CLOEXEC, 3);
        assert_true(s->left_fd >= 0);
        ignore_close(s);
        s->street = (struct street){};
        s->generation = NULL;
}

void ignore_start_again(struct ignore_street *s, const char *rules)
{
        static const struct group_key main_group = { .kind = GROUP_MAIN };
        struct markset found = MARKSET_NULL;
        struct fan_group *const *groups, *group;
        unsigned flags;

        assert_int_equal(fan_group_adopt(&main_group, s->left_fd, &flags, &found, &group), 0);
        assert_int_equal(spool_attach(s->area, s->area_size, &s->spool), 0);
        open_street(s, rules, group, &found);
        assert_int_equal(found.n, 0);
        (void)pipeline_replay(s->street.pipeline);
        assert_int_equal(marks_groups(s->street.marks, &groups), 1);
        pipeline_look_into_moved(s->street.pipeline, groups[0]);
}

void ignore_open_legacy(struct ignore_street *s, const char *rules)
{
        *s = (struct ignore_street){ .kernel_ignores = true, .legacy = true };
        open_street(s, rules, NULL, NULL);
}

void ignore_close(struct ignore_street *s)
{
        struct street *t = &s->street;

        pipeline_free(t->pipeline);
        learn_free(t->learn);
        until_free(t->until);
        dirmarks_free(t->dirmarks);
        attributor_free(t->attributor);
        resolver_free(t->resolver);
        names_free(t->names);
        marks_free(t->marks);
        generation_free(s->generation);
        spool_free(s->spool);
        spool = s->spool = NULL;
}

void ignore_run(struct ignore_street *s)
{
        struct fan_group *const *groups;
        size_t n = marks_groups(s->street.marks, &groups);
        int r;

        assert_true(n >= 1);
        dirmarks_take(s->street.dirmarks);
        for (size_t i = 0; i < n; i++) {
                while ((r = pipeline_dispatch(s->street.pipeline, groups[i])) == 1)
                        ;
                assert_int_equal(r, 0);
        }
}

/* As lib/plan_above.h wants it for a directory above a rule's path. */
static bool follows_names(const struct mark *m)
{
        return m->ignore_mask == 0 && m->mask == (FAN_CREATE | FAN_DELETE | FAN_RENAME | FAN_ONDIR);
}

size_t ignore_kernel_marks(struct ignore_street *s, struct markset *ret)
{
        struct fan_group *const *groups;

        assert_true(marks_groups(s->street.marks, &groups) >= 1);
        assert_int_equal(fan_group_read_marks(groups[0], ret), 0);
        for (size_t i = ret->n; i-- > 0;)
                if (ret->marks[i].object.kind != MARK_INODE || follows_names(&ret->marks[i]))
                        markset_remove(ret, &ret->marks[i]);
        return ret->n;
}

/* ---- what is done to the files ---- */

pid_t ignore_start(void (*fn)(void *arg), void *arg)
{
        pid_t pid = fork();

        if (pid == 0) {
                fn(arg);
                _exit(0);
        }
        assert_true(pid > 0);
        return pid;
}

void ignore_wait(pid_t pid)
{
        int status;

        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_int_equal(status, 0);
}

void ignore_do(void (*fn)(void *arg), void *arg)
{
        ignore_wait(ignore_start(fn, arg));
}

void ignore_write(const char *path, const char *text)
{
        int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

        if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
                _exit(9);
        (void)close(fd);
}
