/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once
/* What control.c (connections, followers) and control_methods.c (calls) share. */

#include <systemd/sd-bus.h>

#include "control.h"
#include "control_filter.h"

#define CONTROL_OBJECT_PATH "/org/fawatch/Manager1"
#define CONTROL_INTERFACE "org.fawatch.Manager1"

struct connection {
        struct control *control;
        struct connection *prev, *next;
        sd_bus *bus;
        uint64_t number; /* of all since the start: its unique name */
        struct control_peer peer;
        struct control_filter *filter; /* NULL: does not follow */
        uint64_t lost;                 /* events that this follower was not sent and not told of yet */
};

struct control_reload {
        struct connection *connection; /* NULL: the client has left */
        sd_bus_message *call;
        struct control_reload *prev, *next;
};

struct control {
        sd_event *loop;
        int listen_fd;
        char *path;
        sd_event_source *listen_source;
        sd_event_source *tick; /* runs only while there is something to try again */
        const struct control_ops *ops;
        void *userdata;
        uint64_t *lost_counter;
        struct connection *connections;
        size_t n_connections, n_followers;
        uint64_t n_accepted;
        struct control_reload *reloads; /* waiting, of connections that are still there */
        size_t n_reloads;
};

/* Gives the object its methods; c is their userdata.  Returns 0 or -errno. */
int control_add_methods(struct connection *c, sd_bus *bus);
/* The client of these waiting reloads leaves: the tokens live on without it. */
void control_forget_reloads(struct connection *c);
