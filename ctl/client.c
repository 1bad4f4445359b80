/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A D-Bus peer without a broker: no Hello, no names. */

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <systemd/sd-bus.h>
#include <time.h>
#include <unistd.h>

#include "client.h"

#define OBJECT_PATH "/org/fawatch/Manager1"
#define INTERFACE "org.fawatch.Manager1"
/* A reload may take longer than sd-bus's 25 s; who asks decides how long to wait. */
#define NO_TIMEOUT UINT64_MAX

struct client {
        sd_bus *bus;
        const struct client_follow *follow; /* while following */
        int result;                         /* a callback's errno */
};

void client_free(struct client *c)
{
        if (!c)
                return;
        sd_bus_close_unref(c->bus);
        free(c);
}

void client_answer_done(struct client_answer *a)
{
        free(a->bytes);
        *a = (struct client_answer){};
}

static int connect_to(const char *path)
{
        struct sockaddr_un address = { .sun_family = AF_UNIX };

        if (strlen(path) >= sizeof(address.sun_path))
                return -ENAMETOOLONG;
        strcpy(address.sun_path, path);

        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (fd < 0)
                return -errno;
        if (connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0) {
                int error = errno;
                close(fd);
                return error == ENOENT ? -ECONNREFUSED : -error;
        }
        return fd;
}

/* The many ways in which sd-bus says that nobody is there any more. */
static int gone(int r)
{
        return r == -ENOTCONN || r == -EPIPE || r == -ECONNRESET ? -ECONNRESET : r;
}

int client_open(const char *path, struct client **ret)
{
        _cleanup_(client_freep) struct client *c = calloc(1, sizeof(*c));
        int r;

        if (!c)
                return -ENOMEM;
        r = sd_bus_new(&c->bus);
        if (r < 0)
                return r;
        int fd = connect_to(path);
        if (fd < 0)
                return fd;
        r = sd_bus_set_fd(c->bus, fd, fd);
        if (r < 0) {
                close(fd);
                return r;
        }
        r = sd_bus_start(c->bus);
        if (r < 0)
                return gone(r);

        *ret = STEAL(c);
        return 0;
}

static int take_bytes(sd_bus_message *m, struct client_answer *ret)
{
        const void *bytes;
        size_t len;

        int r = sd_bus_message_read_array(m, SD_BUS_TYPE_BYTE, &bytes, &len);
        if (r < 0)
                return r;
        char *copy = malloc(len + 1);
        if (!copy)
                return -ENOMEM;
        if (len > 0)
                memcpy(copy, bytes, len);
        copy[len] = '\0';
        *ret = (struct client_answer){ .bytes = copy, .len = len };
        return 0;
}

static int new_call(struct client *c, const char *method, sd_bus_message **ret)
{
        return sd_bus_message_new_method_call(c->bus, ret, NULL, OBJECT_PATH, INTERFACE, method);
}

static int call(struct client *c, sd_bus_message *m, sd_bus_message **ret_reply)
{
        return gone(sd_bus_call(c->bus, m, NO_TIMEOUT, NULL, ret_reply));
}

static uint64_t monotonic_usec(void)
{
        struct timespec t;

        (void)clock_gettime(CLOCK_MONOTONIC, &t);
        return (uint64_t)t.tv_sec * USEC_PER_SEC + (uint64_t)t.tv_nsec / NSEC_PER_USEC;
}

/* A call waits for the greeting first, and for that as long as sd-bus likes. */
static int greet_until(struct client *c, uint64_t until_usec)
{
        int r;

        while ((r = sd_bus_is_ready(c->bus)) == 0) {
                uint64_t now = monotonic_usec();

                if (now >= until_usec)
                        return -ETIMEDOUT;
                if ((r = sd_bus_process(c->bus, NULL)) < 0 ||
                    (r == 0 && (r = sd_bus_wait(c->bus, until_usec - now)) < 0))
                        return r;
        }
        return r < 0 ? r : 0;
}

int client_ask_within(struct client *c, const char *method, uint64_t usec, struct client_answer *ret)
{
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *m = NULL, *reply = NULL;
        int r = gone(greet_until(c, monotonic_usec() + usec));

        if (r < 0 || (r = new_call(c, method, &m)) < 0 ||
            (r = gone(sd_bus_call(c->bus, m, usec, NULL, &reply))) < 0)
                return r;
        return take_bytes(reply, ret);
}

int client_ask(struct client *c, const char *method, struct client_answer *ret)
{
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *m = NULL, *reply = NULL;
        int r;

        if ((r = new_call(c, method, &m)) < 0 || (r = call(c, m, &reply)) < 0)
                return r;
        return take_bytes(reply, ret);
}

int client_explain(struct client *c, const char *path, const char *second, struct client_answer *ret)
{
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *m = NULL, *reply = NULL;
        int r;

        if ((r = new_call(c, "Explain", &m)) < 0 ||
            (r = sd_bus_message_append_array(m, SD_BUS_TYPE_BYTE, path, strlen(path))) < 0 ||
            (r = sd_bus_message_append_array(m, SD_BUS_TYPE_BYTE, second, second ? strlen(second) : 0)) < 0 ||
            (r = call(c, m, &reply)) < 0)
                return r;
        return take_bytes(reply, ret);
}

int client_reload(struct client *c, bool dry_run, bool *ret_ok, struct client_answer *ret)
{
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *m = NULL, *reply = NULL;
        int r, ok;

        if ((r = new_call(c, "Reload", &m)) < 0 || (r = sd_bus_message_append(m, "b", dry_run)) < 0 ||
            (r = call(c, m, &reply)) < 0 || (r = sd_bus_message_read(reply, "b", &ok)) < 0 ||
            (r = take_bytes(reply, ret)) < 0)
                return r;
        *ret_ok = ok;
        return 0;
}

/* ---- following ---- */

static int on_event(sd_bus_message *m, void *userdata, sd_bus_error *error)
{
        struct client *c = userdata;
        const void *record;
        size_t len;

        int r = sd_bus_message_read_array(m, SD_BUS_TYPE_BYTE, &record, &len);
        if (r >= 0 && c->result == 0)
                r = c->follow->event(c->follow->userdata, record, len);
        if (r < 0)
                c->result = r;
        return 0;
}

static int on_lost(sd_bus_message *m, void *userdata, sd_bus_error *error)
{
        struct client *c = userdata;
        uint64_t count;

        int r = sd_bus_message_read(m, "t", &count);
        if (r >= 0 && c->result == 0)
                r = c->follow->lost(c->follow->userdata, count);
        if (r < 0)
                c->result = r;
        return 0;
}

static int append_filter(sd_bus_message *m, const struct client_follow *follow)
{
        int r;

        if ((r = sd_bus_message_open_container(m, SD_BUS_TYPE_ARRAY, "s")) < 0)
                return r;
        for (size_t i = 0; i < follow->n_rules; i++)
                if ((r = sd_bus_message_append(m, "s", follow->rules[i])) < 0)
                        return r;
        if ((r = sd_bus_message_close_container(m)) < 0 ||
            (r = sd_bus_message_open_container(m, SD_BUS_TYPE_ARRAY, "ay")) < 0)
                return r;
        for (size_t i = 0; i < follow->n_paths; i++)
                if ((r = sd_bus_message_append_array(m, SD_BUS_TYPE_BYTE, follow->paths[i],
                                                     strlen(follow->paths[i]))) < 0)
                        return r;
        return sd_bus_message_close_container(m);
}

static int begin_follow(struct client *c)
{
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *m = NULL, *reply = NULL;
        int r;

        if ((r = sd_bus_match_signal(c->bus, NULL, NULL, OBJECT_PATH, INTERFACE, "Event", on_event, c)) < 0 ||
            (r = sd_bus_match_signal(c->bus, NULL, NULL, OBJECT_PATH, INTERFACE, "Lost", on_lost, c)) < 0 ||
            (r = new_call(c, "Follow", &m)) < 0 || (r = append_filter(m, c->follow)) < 0)
                return r;
        return call(c, m, &reply);
}

/* Waits for the daemon, for a signal, or for the reader of our output to go away. */
static int wait_for_more(struct client *c, const volatile int *stop)
{
        struct pollfd fds[] = {
                { .fd = sd_bus_get_fd(c->bus) },
                { .fd = STDOUT_FILENO, .events = 0 }, /* errors are always told */
        };
        sigset_t all, before;

        int events = sd_bus_get_events(c->bus);
        if (fds[0].fd < 0 || events < 0)
                return -ECONNRESET;
        fds[0].events = (short)events;

        /* a signal between the look at *stop and the wait must end the wait */
        sigfillset(&all);
        sigprocmask(SIG_BLOCK, &all, &before);
        int r = *stop || ppoll(fds, ELEMENTSOF(fds), NULL, &before) >= 0 ? 0 : -errno;
        sigprocmask(SIG_SETMASK, &before, NULL);
        if (r < 0 && r != -EINTR)
                return r;
        return r == 0 && fds[1].revents & (POLLERR | POLLHUP) ? -EPIPE : 0;
}

static int pump(struct client *c, const volatile int *stop)
{
        while (!*stop) {
                int r = sd_bus_process(c->bus, NULL);
                if (r < 0)
                        return gone(r);
                if (c->result < 0)
                        return c->result;
                if (r > 0)
                        continue;
                if (!sd_bus_is_open(c->bus))
                        return -ECONNRESET;
                c->follow->idle(c->follow->userdata);
                r = wait_for_more(c, stop);
                if (r < 0)
                        return r;
        }
        return 0;
}

int client_follow(struct client *c, const struct client_follow *follow, const volatile int *stop)
{
        c->follow = follow;
        c->result = 0;
        int r = begin_follow(c);
        if (r >= 0)
                r = pump(c, stop);
        return *stop ? 0 : r;
}
