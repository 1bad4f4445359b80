/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The control socket's server.  Each connection is a D-Bus peer of its own
 * (sd_bus_set_server): no broker, so it works in containers and early boot.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "control_internal.h"

#define MAX_CONNECTIONS 64
/* Messages that may wait for one slow follower: sd-bus itself has a bound only in hundreds of megabytes. */
#define MAX_QUEUED 1024
/* Answers that a client did not read: it asks on and on without listening. */
#define MAX_UNREAD (2 * MAX_QUEUED)
#define TICK_USEC (200 * USEC_PER_MSEC)

/* ---- followers ---- */

static void arm_tick(struct control *control)
{
        sd_event_source_set_time_relative(control->tick, TICK_USEC);
        sd_event_source_set_enabled(control->tick, SD_EVENT_ONESHOT);
}

static int send_lost(struct connection *c)
{
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *m = NULL;

        int r = sd_bus_message_new_signal(c->bus, &m, CONTROL_OBJECT_PATH, CONTROL_INTERFACE, "Lost");
        if (r < 0)
                return r;
        r = sd_bus_message_append(m, "t", c->lost);
        if (r < 0)
                return r;
        r = sd_bus_send(c->bus, m, NULL);
        if (r < 0)
                return r;
        c->lost = 0;
        return 0;
}

static int send_event(struct connection *c, const char *record, size_t len)
{
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *m = NULL;

        int r = sd_bus_message_new_signal(c->bus, &m, CONTROL_OBJECT_PATH, CONTROL_INTERFACE, "Event");
        if (r < 0)
                return r;
        r = sd_bus_message_append_array(m, SD_BUS_TYPE_BYTE, record, len);
        if (r < 0)
                return r;
        return sd_bus_send(c->bus, m, NULL);
}

static bool has_room(const struct connection *c)
{
        uint64_t queued;
        return sd_bus_get_n_queued_write(c->bus, &queued) >= 0 && queued < MAX_QUEUED;
}

bool control_has_followers(const struct control *c)
{
        return c && c->n_followers > 0;
}

void control_publish(struct control *control, const char *record, size_t len)
{
        for (struct connection *c = control->connections; c; c = c->next) {
                if (!c->filter || !control_filter_wants(c->filter, record, len))
                        continue;
                /* what was lost is told at the place where it is missing */
                if (has_room(c) && (c->lost == 0 || send_lost(c) >= 0) && send_event(c, record, len) >= 0)
                        continue;
                c->lost++;
                (*control->lost_counter)++;
                arm_tick(control);
        }
}

static int on_tick(sd_event_source *source, uint64_t usec, void *userdata)
{
        struct control *control = userdata;

        for (struct connection *c = control->connections; c; c = c->next)
                if (c->lost > 0 && (!has_room(c) || send_lost(c) < 0))
                        arm_tick(control);
        if (control->listen_source)
                sd_event_source_set_enabled(control->listen_source, SD_EVENT_ON);
        return 0;
}

/* ---- connections ---- */

static void connection_free(struct connection *c)
{
        struct control *control = c->control;

        control_forget_reloads(c);
        if (c->prev)
                c->prev->next = c->next;
        else
                control->connections = c->next;
        if (c->next)
                c->next->prev = c->prev;
        control->n_connections--;
        if (c->filter)
                control->n_followers--;
        control_filter_free(c->filter);
        sd_bus_close_unref(c->bus);
        free(c);
}

static int on_disconnected(sd_bus_message *m, void *userdata, sd_bus_error *error)
{
        connection_free(userdata);
        return 1;
}

static int on_message(sd_bus_message *m, void *userdata, sd_bus_error *error)
{
        struct connection *c = userdata;
        uint64_t queued;

        if (sd_bus_get_n_queued_write(c->bus, &queued) >= 0 && queued < MAX_UNREAD)
                return 0;
        connection_free(c);
        return 1; /* seen to: no method is called */
}

static void read_comm(struct control_peer *peer)
{
        char path[32];

        snprintf(path, sizeof(path), "/proc/%d/comm", peer->pid);
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd < 0)
                return;
        ssize_t n = read(fd, peer->comm, sizeof(peer->comm) - 1);
        close(fd);
        peer->comm[n > 0 ? n : 0] = '\0';
        peer->comm[strcspn(peer->comm, "\n")] = '\0';
}

/* Root, or whoever runs this program (which is root, but in tests). */
static int read_peer(int fd, struct control_peer *ret)
{
        struct ucred cred;
        socklen_t len = sizeof(cred);

        if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) < 0)
                return -errno;
        if (cred.uid != 0 && cred.uid != geteuid())
                return -EPERM;
        *ret = (struct control_peer){ .pid = cred.pid, .uid = cred.uid };
        read_comm(ret);
        return 0;
}

static int bus_configure(sd_bus *bus)
{
        sd_id128_t id;
        int r;

        if ((r = sd_id128_randomize(&id)) < 0 || (r = sd_bus_set_server(bus, true, id)) < 0)
                return r;
        /* SO_PEERCRED has spoken: neither the handshake nor each method asks again */
        if ((r = sd_bus_set_anonymous(bus, true)) < 0 || (r = sd_bus_set_trusted(bus, true)) < 0)
                return r;
        /* without a sender, a client's match on it gets no signal */
        if ((r = sd_bus_set_sender(bus, CONTROL_INTERFACE)) < 0)
                return r;
        /* else the end of the event loop waits until a slow follower has read all */
        return sd_bus_set_close_on_exit(bus, false);
}

static int bus_begin(sd_bus *bus, struct connection *c)
{
        int r;

        if ((r = sd_bus_add_filter(bus, NULL, on_message, c)) < 0 ||
            (r = sd_bus_match_signal(bus, NULL, "org.freedesktop.DBus.Local", "/org/freedesktop/DBus/Local",
                                     "org.freedesktop.DBus.Local", "Disconnected", on_disconnected, c)) < 0 ||
            (r = control_add_methods(c, bus)) < 0 || (r = sd_bus_start(bus)) < 0)
                return r;
        return sd_bus_attach_event(bus, c->control->loop, SD_EVENT_PRIORITY_NORMAL);
}

static void connection_link(struct control *control, struct connection *c)
{
        c->next = control->connections;
        if (c->next)
                c->next->prev = c;
        control->connections = c;
        control->n_connections++;
}

/* *fd is taken over, and then -1, as soon as the bus has it. */
static int connection_new(struct control *control, int *fd)
{
        _cleanup_free_ struct connection *c = NULL;
        _cleanup_(sd_bus_close_unrefp) sd_bus *bus = NULL;
        struct control_peer peer;
        int r;

        if (control->n_connections >= MAX_CONNECTIONS)
                return -EUSERS;
        if ((r = read_peer(*fd, &peer)) < 0)
                return r;
        c = calloc(1, sizeof(*c));
        if (!c)
                return -ENOMEM;
        c->control = control;
        c->peer = peer;
        c->number = ++control->n_accepted;

        if ((r = sd_bus_new(&bus)) < 0 || (r = bus_configure(bus)) < 0 ||
            (r = sd_bus_set_fd(bus, *fd, *fd)) < 0)
                return r;
        *fd = -1;
        if ((r = bus_begin(bus, c)) < 0)
                return r;

        c->bus = STEAL(bus);
        connection_link(control, STEAL(c));
        return 0;
}

int control_adopt(struct control *c, int fd)
{
        int r = connection_new(c, &fd);
        if (fd >= 0)
                close(fd);
        return r;
}

/* ---- the listening socket ---- */

static int on_connect(sd_event_source *source, int listen_fd, uint32_t revents, void *userdata)
{
        struct control *control = userdata;

        int fd = accept4(listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd >= 0) {
                (void)control_adopt(control, fd); /* a refused client sees its connection closed */
                return 0;
        }
        if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS) {
                /* who waits is not served before something is freed: do not spin until then */
                sd_event_source_set_enabled(source, SD_EVENT_OFF);
                arm_tick(control);
        }
        return 0;
}

static int listen_at(const char *path)
{
        struct sockaddr_un address = { .sun_family = AF_UNIX };

        if (strlen(path) >= sizeof(address.sun_path))
                return -ENAMETOOLONG;
        strcpy(address.sun_path, path);

        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (fd < 0)
                return -errno;
        if (unlink(path) < 0 && errno != ENOENT)
                goto fail;
        /* Nobody can connect before listen(2), so the mode is in place in time
         * without a umask, which all threads would share. */
        if (bind(fd, (const struct sockaddr *)&address, sizeof(address)) < 0 || chmod(path, 0600) < 0 ||
            listen(fd, MAX_CONNECTIONS) < 0)
                goto fail;
        return fd;
fail:;
        int r = -errno;
        close(fd);
        return r;
}

static int start_listening(struct control *c, const char *path)
{
        c->listen_fd = listen_at(path);
        if (c->listen_fd < 0)
                return c->listen_fd;
        c->path = strdup(path);
        if (!c->path)
                return -ENOMEM;
        return sd_event_add_io(c->loop, &c->listen_source, c->listen_fd, EPOLLIN, on_connect, c);
}

int control_new(sd_event *loop, const char *path, const struct control_ops *ops, void *userdata,
                uint64_t *lost_counter, struct control **ret)
{
        _cleanup_(control_freep) struct control *c = calloc(1, sizeof(*c));
        int r;

        if (!c)
                return -ENOMEM;
        c->loop = sd_event_ref(loop);
        c->listen_fd = -1;
        c->ops = ops;
        c->userdata = userdata;
        c->lost_counter = lost_counter;

        r = sd_event_add_time(loop, &c->tick, CLOCK_MONOTONIC, UINT64_MAX, 0, on_tick, c);
        if (r < 0)
                return r;
        r = sd_event_source_set_enabled(c->tick, SD_EVENT_OFF);
        if (r < 0)
                return r;
        if (path && (r = start_listening(c, path)) < 0)
                return r;

        *ret = STEAL(c);
        return 0;
}

void control_free(struct control *c)
{
        if (!c)
                return;
        while (c->connections)
                connection_free(c->connections);
        sd_event_source_unref(c->listen_source);
        sd_event_source_unref(c->tick);
        sd_event_unref(c->loop);
        if (c->listen_fd >= 0)
                close(c->listen_fd);
        if (c->path)
                unlink(c->path);
        free(c->path);
        free(c);
}
