/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Edit a rule file as visudo does: on a copy, checked, put in place whole, then reload. */

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "client.h"
#include "cmd.h"
#include "edit_file.h"
#include "edit_target.h"
#include "print.h"
#include "ruleset.h"

static const char first_text[] =
        "# Rules of this machine, see fawatchd.rules(5).  For example:\n"
        "#\n"
        "# watch: {\n"
        "#   etc: { path = \"/etc\"; };\n"
        "# };\n";

static volatile sig_atomic_t interrupted;

static void on_signal(int number)
{
        interrupted = 1;
}

/* Without SA_RESTART: waiting for the editor or an answer ends, and the copy is removed. */
static void catch_signals(void)
{
        struct sigaction action = { .sa_handler = on_signal };

        sigaction(SIGTERM, &action, NULL);
        sigaction(SIGHUP, &action, NULL);
        sigaction(SIGINT, &action, NULL);
}

static const char *choose_editor(void)
{
        static const char *const usual[] = { "/usr/bin/editor", "/usr/bin/vi", "/usr/bin/nano" };
        const char *editor = getenv("VISUAL");

        if (!editor || !*editor)
                editor = getenv("EDITOR");
        if (editor && *editor)
                return editor;
        for (size_t i = 0; i < ELEMENTSOF(usual); i++)
                if (access(usual[i], X_OK) == 0)
                        return usual[i];
        return NULL;
}

/* In the child: the shell takes the editor's own arguments apart. */
static void exec_editor(const char *editor, const char *file)
{
        char *script;

        signal(SIGINT, SIG_DFL);
        signal(SIGQUIT, SIG_DFL);
        signal(SIGPIPE, SIG_DFL);
        if (asprintf(&script, "%s \"$@\"", editor) >= 0)
                execl("/bin/sh", "sh", "-c", script, editor, file, (char *)NULL);
        _exit(127);
}

/* Ctrl-C belongs to the editor while it runs. */
static int wait_for_editor(pid_t child)
{
        struct sigaction ignore = { .sa_handler = SIG_IGN }, old_int, old_quit;
        int wstatus = -1;

        sigaction(SIGINT, &ignore, &old_int);
        sigaction(SIGQUIT, &ignore, &old_quit);
        while (waitpid(child, &wstatus, 0) < 0 && errno == EINTR)
                if (interrupted)
                        kill(child, SIGTERM);
        sigaction(SIGINT, &old_int, NULL);
        sigaction(SIGQUIT, &old_quit, NULL);
        return wstatus;
}

static enum exit_status run_editor(const char *file)
{
        const char *editor = choose_editor();

        if (!editor) {
                complain("no editor found: set EDITOR");
                return STATUS_OTHER;
        }
        fflush(NULL);
        pid_t child = fork();
        if (child < 0) {
                complain("cannot start the editor: %s", strerror(errno));
                return STATUS_OTHER;
        }
        if (child == 0)
                exec_editor(editor, file);
        int wstatus = wait_for_editor(child);
        if (interrupted)
                return STATUS_OTHER;
        if (!WIFEXITED(wstatus) || WEXITSTATUS(wstatus) != 0) {
                complain("the editor (%s) failed: nothing was changed", editor);
                return STATUS_OTHER;
        }
        return STATUS_YES;
}

/* Findings of this severity in the file being edited. */
static size_t count_here(const struct verdict *v, const char *path, enum diag_severity severity)
{
        size_t n = 0;

        for (size_t i = 0; i < v->diag.n_entries; i++) {
                const struct diag_entry *e = &v->diag.entries[i];
                n += e->severity == severity && e->file && streq(e->file, path);
        }
        return n;
}

enum choice { CHOICE_EDIT, CHOICE_QUIT, CHOICE_SAVE };

static enum choice ask(bool may_save)
{
        _cleanup_free_ char *line = NULL;
        size_t size = 0;

        for (;;) {
                fprintf(stderr,
                        "What now?  (e)dit again, (q)uit without saving%s: ", may_save ? ", (s)ave" : "");
                errno = 0;
                if (getline(&line, &size, stdin) < 0) {
                        fputc('\n', stderr);
                        return CHOICE_QUIT;
                }
                if (line[0] == 'e')
                        return CHOICE_EDIT;
                if (line[0] == 'q')
                        return CHOICE_QUIT;
                if (line[0] == 's' && may_save)
                        return CHOICE_SAVE;
        }
}

/* What to do with a copy that was judged.  Without a terminal nobody can answer: errors are the end. */
static enum choice decide(const struct verdict *v, const char *path)
{
        bool bad = diag_failed(&v->diag), bad_here = count_here(v, path, DIAG_ERROR) > 0;

        verdict_print_findings(v);
        if (!bad && count_here(v, path, DIAG_WARNING) == 0)
                return CHOICE_SAVE;
        verdict_print_summary(v, stderr);
        if (!isatty(STDIN_FILENO))
                return bad ? CHOICE_QUIT : CHOICE_SAVE;
        if (bad && !bad_here)
                fprintf(stderr,
                        "The errors are in other files; a reload will be refused until they are mended.\n");
        return ask(!bad_here);
}

/* Edits and judges until there is something to save. */
static enum exit_status edit_until_good(struct edit_file *file, const char *path, bool *ret_save)
{
        for (;;) {
                _cleanup_verdict_ struct verdict v = VERDICT_NULL;

                enum exit_status status = run_editor(file->copy);
                if (status != STATUS_YES)
                        return status;
                int r = edit_file_changed(file);
                if (r == 0) {
                        printf("%s: nothing changed\n", path);
                        *ret_save = false;
                        return STATUS_YES;
                }
                if (r > 0)
                        r = ruleset_judge("", file->copy, path, &v);
                if (r < 0) {
                        complain("%s: %s", path, strerror(-r));
                        return STATUS_OTHER;
                }
                switch (decide(&v, path)) {
                case CHOICE_EDIT:
                        continue;
                case CHOICE_QUIT:
                        complain("%s: not saved", path);
                        return interrupted ? STATUS_OTHER : STATUS_NO;
                case CHOICE_SAVE:
                        *ret_save = true;
                        return STATUS_YES;
                }
        }
}

static enum exit_status explain_begin(const char *path, int error)
{
        switch (-error) {
        case EBUSY:
                complain("another fawatchctl edit is at work in the directory of %s: wait for it", path);
                return STATUS_NO;
        case EACCES:
        case EPERM:
                complain("not permitted to edit %s: only root may (try sudo)", path);
                return STATUS_NOT_PERMITTED;
        case ENOENT:
                complain("the directory of %s does not exist: mkdir -p -m 0750 it first", path);
                return STATUS_OTHER;
        case EFBIG:
                complain("%s is larger than 1 MiB: split it into several files", path);
                return STATUS_NO;
        default:
                complain("cannot edit %s: %s", path, strerror(-error));
                return STATUS_OTHER;
        }
}

static enum exit_status save(struct edit_file *file, const char *path)
{
        int r = edit_file_save(file);

        if (r == -ESTALE) {
                complain("%s was changed by somebody else meanwhile: not saved; your text is in %s", path,
                         file->copy);
                free(file->copy);
                file->copy = NULL; /* stays */
                return STATUS_NO;
        }
        if (r < 0) {
                complain("cannot save %s: %s", path, strerror(-r));
                return STATUS_OTHER;
        }
        printf("%s: saved\n", path);
        return STATUS_YES;
}

static enum exit_status reload(const struct invocation *i)
{
        struct client *c;

        int r = client_open(i->socket, &c);
        if (r == -ECONNREFUSED) {
                printf("fawatchd is not running: its next start takes the rules "
                       "(systemctl start fawatchd)\n");
                return STATUS_YES;
        }
        if (r >= 0)
                client_free(c);
        return cmd_reload(i);
}

enum exit_status cmd_edit(const struct invocation *i)
{
        _cleanup_edit_target_ struct edit_target target = {};
        _cleanup_edit_file_ struct edit_file file = EDIT_FILE_NULL;
        bool wants_save = false;

        enum exit_status status = ruleset_may_read("");
        if (status == STATUS_YES)
                status = edit_target_find(i->file, &target);
        if (status != STATUS_YES)
                return status;

        catch_signals();
        int r = edit_file_begin(target.real, target.template, first_text, &file);
        if (r < 0)
                return explain_begin(target.path, r);
        status = edit_until_good(&file, target.path, &wants_save);
        if (status != STATUS_YES || !wants_save)
                return status;
        status = save(&file, target.path);
        return status == STATUS_YES ? reload(i) : status;
}
