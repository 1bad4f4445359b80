/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What fawatchctl asks, answered from what the daemon owns. */
#include <errno.h>
#include <string.h>

#include "answers.h"
#include "control_json.h"
#include "loader.h"
#include "log.h"
#include "notes.h"
#include "notify.h"

static int answer_status(void *userdata, struct strbuf *out)
{
        return control_json_status(userdata, out);
}

static int answer_marks(void *userdata, struct strbuf *out)
{
        notes_verify(userdata); /* what is shown is what the kernel has */
        return control_json_marks(userdata, out);
}

static int answer_coverage(void *userdata, struct strbuf *out)
{
        return control_json_coverage(userdata, out);
}

static int answer_rules(void *userdata, struct strbuf *out)
{
        const struct daemon *d = userdata;
        rules_print(d->generation->rules, true, out);
        return strbuf_failed(out) ? -ENOMEM : 0;
}

static int answer_explain(void *userdata, const char *path, const char *second, struct strbuf *out)
{
        const struct daemon *d = userdata;
        const struct explain_request request = {
                .street = &d->street, .generation = d->generation, .view = MOUNTS_OF_PID1,
                .path = path, .second = second,
        };
        _cleanup_(explained_freep) struct explained *e = NULL;

        int r = explain_path(&request, &e);
        return r < 0 ? r : control_json_explain(d, e, out);
}

static void ask_reload(void *userdata, bool dry_run, const struct control_peer *peer,
                       struct control_reload *token)
{
        const struct reload_request request = { .token = token, .dry_run = dry_run, .peer = *peer };
        if (!dry_run)
                notify_reloading();
        loader_request(userdata, &request);
}

static const struct control_ops control_ops = {
        .status = answer_status,
        .marks = answer_marks,
        .coverage = answer_coverage,
        .rules = answer_rules,
        .explain = answer_explain,
        .reload = ask_reload,
};

int answers_open(struct daemon *d, struct sd_event *event)
{
        if (!d->runtime)
                return 0;
        int r = control_new(event, runtime_control_path(d->runtime), &control_ops, d,
                            &d->street.counters.followers_lost, &d->control);
        if (r < 0)
                log_message(LOG_ERR, "the control socket %s cannot be opened: %s",
                            runtime_control_path(d->runtime), strerror(-r));
        return r;
}

void answers_publish(void *userdata, const char *record, size_t len)
{
        struct daemon *d = userdata;
        if (d->control && control_has_followers(d->control))
                control_publish(d->control, record, len);
}
