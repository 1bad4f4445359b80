/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "heritage.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <systemd/sd-id128.h>
#include <unistd.h>

#include "fdutil.h"
#include "gaps.h"
#include "log.h"
#include "notes.h"
#include "state.h"
#include "window.h"

/* ---- what there is ---- */

static int add_marks(struct heritage *h, const struct markset *marks)
{
        int r = 0;

        for (size_t i = 0; r == 0 && i < marks->n; i++)
                r = markset_append(&h->marks, &marks->marks[i]);
        return r;
}

/* What a killed process had learned is in its group still: its marks are read this once, before
 * anything else is done. */
static int open_group(struct heritage *h, const struct group_key *key, int fd)
{
        _cleanup_markset_ struct markset marks = MARKSET_NULL;
        struct fan_group *g;
        unsigned flags;

        if (h->n_groups == HERITAGE_MAX_GROUPS) {
                (void)close_fd(fd);
                return -EMFILE;
        }
        int r = fan_group_adopt(key, fd, &flags, &marks, &g);
        if (r < 0)
                return r;
        h->groups[h->n_groups++] = g;
        h->found.groups = true;
        if (key->kind == GROUP_MAIN) {
                h->found.main_group = true;
                h->main_flags = flags;
        }
        return add_marks(h, &marks);
}

static int open_groups(struct heritage *h)
{
        struct group_key key;
        int fd;

        while ((fd = store_take_group(h->store, &key)) >= 0) {
                int r = open_group(h, &key, fd);

                if (r == -ENOMEM)
                        return r;
                if (r < 0) {
                        log_message(LOG_WARNING, "a stored fanotify group cannot be used: %s", strerror(-r));
                        h->found.group_fault = "a fanotify group of the process before cannot be used";
                }
        }
        markset_sort(&h->marks);
        return 0;
}

void heritage_refuse_rules(struct heritage *h, const char *reason)
{
        log_message(LOG_WARNING, "the stored rules cannot be used: %s", reason);
        h->found.rules_fault =
                        "the rules of the process before cannot be used: what waited is judged by those of the files";
}

static int open_rules(struct heritage *h)
{
        _cleanup_(build_texts_freep) struct build_texts *t = calloc(1, sizeof(*t));

        if (!t)
                return -ENOMEM;
        t->from = RULES_KEPT;
        int r = keep_find_rules(h->store, &h->rules_number, &t->settings, &t->rules);
        if (r == 0)
                h->texts = STEAL(t);
        else if (r != -ENOENT)
                heritage_refuse_rules(h, strerror(-r));
        return r == -ENOMEM ? r : 0;
}

int heritage_open(struct daemon *d)
{
        struct heritage *h = &d->heritage;

        int r = store_open(&h->store);
        if (r == 0)
                r = open_groups(h);
        return r < 0 ? r : open_rules(h);
}

void heritage_done(struct heritage *h)
{
        for (size_t i = 0; i < h->n_groups; i++)
                fan_group_free(h->groups[i]);
        markset_done(&h->marks);
        build_texts_free(h->texts);
        store_free(h->store);
}

int heritage_open_spool(struct daemon *d)
{
        struct heritage *h = &d->heritage;
        sd_id128_t stream;

        int r = sd_id128_randomize(&stream);
        if (r < 0)
                return r;
        sd_id128_to_string(stream, d->stream);
        if (!h->store)
                return 0;
        r = keep_spool(h->store, d->generation->settings->spool_bytes, PIPELINE_WINDOW_BYTES, d->stream,
                       &h->spool);
        if (r < 0)
                return r;
        if (!h->spool.spool) {
                if (store_works(h->store))
                        log_message(LOG_WARNING, "no memory for a spool that outlives this process: what it "
                                                 "has read is lost when it is killed");
                return 0;
        }
        (void)snprintf(d->stream, sizeof(d->stream), "%s", spool_stream(h->spool.spool));
        d->generations = spool_state(h->spool.spool)->generation;
        return 0;
}

/* ---- what is missing ---- */

static bool read_life(struct life *ret, bool *ret_same_boot)
{
        sd_id128_t id;
        char text[33];

        int r = state_read_life(ret);
        if (r < 0) {
                if (r != -ENOENT)
                        log_message(LOG_WARNING, "the last sign of life cannot be read: %s", strerror(-r));
                return false;
        }
        /* an image that was copied: what another machine saw says nothing about this one */
        if (sd_id128_get_machine(&id) < 0 || !streq(sd_id128_to_string(id, text), ret->machine))
                return false;
        *ret_same_boot = sd_id128_get_boot(&id) >= 0 && streq(sd_id128_to_string(id, text), ret->boot);
        return true;
}

static void note_gaps(struct daemon *d, struct inheritance *found)
{
        struct inheritance_gap gaps[INHERITANCE_MAX_GAPS];
        struct life life;
        bool same_boot = true;

        found->life = d->runtime && read_life(&life, &same_boot);
        found->same_boot = same_boot;
        uint64_t now = daemon_realtime_usec();
        uint64_t since = found->life ? life_since_usec(&life, now, same_boot ? window_boottime_usec() : 0) : 0;
        size_t n = inheritance_gaps(found, gaps);
        for (size_t i = 0; i < n; i++) {
                const struct gap_note gap = {
                        .kind = gaps[i].kind,
                        .reason = gaps[i].reason,
                        .from_usec = since,
                        .until_usec = now,
                        .last_stream = found->life && !streq(life.stream, d->stream) ? life.stream : NULL,
                        .last_seq = found->life ? life.seq : 0,
                };
                gaps_note(d, &gap);
        }
}

/* What only the process before knew, and had counted. */
static void note_untold(struct daemon *d, struct spool_state *kept, uint64_t found, uint64_t from_usec)
{
        _cleanup_strbuf_ struct strbuf reason = STRBUF_NULL;

        if (kept->merged == 0 && kept->limited == 0 && found == 0)
                return;
        strbuf_adds(&reason, "the process was killed, and with it");
        if (found > 0)
                strbuf_addf(&reason, " %" PRIu64 " entries that it had found in new directories", found);
        if (kept->merged > 0 || kept->limited > 0)
                strbuf_addf(&reason, "%s the summary of", found > 0 ? " and" : "");
        if (kept->merged > 0)
                strbuf_addf(&reason, " %" PRIu64 " repeated events", kept->merged);
        if (kept->limited > 0)
                strbuf_addf(&reason, "%s %" PRIu64 " records over a limit", kept->merged > 0 ? " and" : "",
                            kept->limited);
        kept->merged = kept->limited = 0;
        const struct gap_note gap = {
                .kind = "killed",
                .reason = strbuf_str(&reason),
                .from_usec = from_usec,
                .until_usec = daemon_realtime_usec(),
        };
        gaps_note(d, &gap);
}

static void replay(struct daemon *d)
{
        struct spool_state *kept = spool_state(d->heritage.spool.spool);
        uint64_t from = MAX_OF(kept->windows[0].read_usec, kept->windows[1].read_usec);

        const uint64_t found = kept->found;

        kept->found = 0; /* from here on of this process */
        pipeline_set_predecessor(d->street.pipeline, (int32_t)kept->pid);
        size_t n = pipeline_replay(d->street.pipeline);
        if (n > 0)
                log_message(LOG_NOTICE, "%zu events that the process before had read are judged now", n);
        note_untold(d, kept, found, from);
}

void heritage_take(struct daemon *d)
{
        struct heritage *h = &d->heritage;
        struct fan_group *const *groups;

        h->found.spool = h->spool.found;
        h->found.spool_fault = h->spool.fault;
        h->found.rules = d->texts->from == RULES_KEPT;
        if (h->found.main_group && h->found.spool)
                replay(d);
        note_gaps(d, &h->found);
        h->taken = true;
        if (marks_groups(d->street.marks, &groups) > 0)
                pipeline_look_into_moved(d->street.pipeline, groups[0]);
        if (h->store)
                store_forget_rest(h->store);
        if (h->spool.spool) {
                spool_state(h->spool.spool)->pid = getpid();
                spool_commit(h->spool.spool);
        }
}

void heritage_check_groups(struct daemon *d)
{
        struct heritage *h = &d->heritage;
        const struct generation *g = d->generation;
        unsigned wanted = fan_group_flags(&g->world->kernel, g->settings->queue_unlimited);

        if (h->main_flags == 0 || h->main_flags == wanted)
                return;
        h->main_flags = 0;
        int r = daemon_renew_groups(d, "the fanotify group was made anew, for this version or for the setting queue");
        if (r < 0)
                log_message(LOG_ERR, "the fanotify group cannot be made anew: %s", strerror(-r));
}

/* ---- for the next one ---- */

void heritage_keep_rules(struct daemon *d)
{
        struct heritage *h = &d->heritage;

        if (h->spool.spool) {
                spool_state(h->spool.spool)->generation = d->generations;
                spool_commit(h->spool.spool);
        }
        if (!h->store)
                return;
        int r = keep_rules(h->store, h->rules_number + 1, &d->texts->settings, &d->texts->rules);
        if (r == 0)
                h->rules_number++;
        else
                log_message(LOG_WARNING, "the rules in force cannot be kept over a restart: %s",
                            strerror(-r));
}

struct life_job {
        struct job job;
        struct daemon *daemon;
        struct life life;
        int error;
};

static void life_run(struct job *job)
{
        struct life_job *l = (struct life_job *)job;

        l->error = state_save_life(&l->life, true);
}

static void say_life(struct heritage *h, int error)
{
        if (error < 0 && !h->life_failed)
                log_message(LOG_WARNING,
                            "the sign of life cannot be saved, so a later gap will be said to be "
                            "longer than it was: %s",
                            strerror(-error));
        h->life_failed = error < 0;
}

static void life_done(struct job *job, void *userdata)
{
        struct daemon *d = userdata;

        say_life(&d->heritage, ((struct life_job *)job)->error);
        free(job);
}

void heritage_sign_of_life(struct daemon *d, bool stopping)
{
        sd_id128_t machine, boot;
        struct life life = {
                .seq = reporter_seq(d->street.reporter),
                .realtime_usec = daemon_realtime_usec(),
                .boottime_usec = window_boottime_usec(),
        };

        if (!d->runtime || sd_id128_get_machine(&machine) < 0 || sd_id128_get_boot(&boot) < 0)
                return;
        sd_id128_to_string(machine, life.machine);
        sd_id128_to_string(boot, life.boot);
        memcpy(life.stream, d->stream, sizeof(life.stream));
        if (stopping) { /* the disk is not waited for: an unmount writes it */
                say_life(&d->heritage, state_save_life(&life, false));
                return;
        }
        struct life_job *l = calloc(1, sizeof(*l));
        if (!l)
                return;
        *l = (struct life_job){ .job = { .run = life_run, .done = life_done }, .daemon = d, .life = life };
        worker_submit(d->worker, &l->job);
}

void heritage_group_changed(void *userdata, struct fan_group *g, bool opened)
{
        struct daemon *d = userdata;

        if (!d->heritage.store)
                return;
        if (opened && fan_group_key(g)->kind == GROUP_MOUNT && !d->heritage.taken)
                d->heritage.found.new_group = true;
        if (opened)
                store_put_group(d->heritage.store, g);
        else
                store_drop_group(d->heritage.store, g);
}
