/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One question to the daemon, and what to say when there is no answer. */

#include <errno.h>
#include <jansson.h>
#include <unistd.h>

#include "client.h"
#include "cmd.h"
#include "print.h"

enum exit_status explain_no_answer(int error)
{
        /* the daemon closes the connection of who is not root */
        if (error == -ECONNRESET && geteuid() != 0)
                error = -EPERM;

        switch (-error) {
        case ECONNREFUSED:
                complain("daemon not running: systemctl start fawatchd");
                return STATUS_NOT_RUNNING;
        case ECONNRESET:
                complain("the daemon closed the connection before it answered: it has stopped, "
                         "or serves too many clients (systemctl status fawatchd)");
                return STATUS_NOT_RUNNING;
        case EACCES:
        case EPERM:
                complain("not permitted: only root may ask the daemon (try sudo)");
                return STATUS_NOT_PERMITTED;
        case ETIMEDOUT:
                complain("the daemon does not answer: systemctl status fawatchd");
                return STATUS_OTHER;
        default:
                complain("cannot ask the daemon: %s", strerror(-error));
                return STATUS_OTHER;
        }
}

enum exit_status ask_daemon(const struct invocation *i, const char *method, struct client_answer *ret)
{
        _cleanup_(client_freep) struct client *c = NULL;

        int r = client_open(i->socket, &c);
        if (r >= 0)
                r = client_ask(c, method, ret);
        return r < 0 ? explain_no_answer(r) : STATUS_YES;
}

enum exit_status ask_daemon_and_print(const struct invocation *i, const char *method)
{
        _cleanup_answer_ struct client_answer answer = {};

        enum exit_status status = ask_daemon(i, method, &answer);
        if (status == STATUS_YES)
                print_answer(answer.bytes, answer.len);
        return status;
}

enum exit_status ask_daemon_json(const struct invocation *i, const char *method, struct json_t **ret)
{
        _cleanup_answer_ struct client_answer answer = {};

        enum exit_status status = ask_daemon(i, method, &answer);
        if (status != STATUS_YES)
                return status;
        json_t *json = json_loadb(answer.bytes, answer.len, 0, NULL);
        if (!json) {
                complain("the daemon's answer cannot be read: is it of another version? "
                         "(systemctl restart fawatchd)");
                return STATUS_OTHER;
        }
        *ret = json;
        return STATUS_YES;
}
