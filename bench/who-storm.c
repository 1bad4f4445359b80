/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Short-lived writers, each of which writes who it is into the name of its file:
 * DIRECTORY/PROGRAM~PID~EUID~NUMBER.  Static, so that its programs live as short as can be.
 *
 * What a tool prepares for itself is not counted: of sed's files only the renames are.
 *
 * who-storm DIRECTORY BINARIES KIND COUNT PARALLEL
 */

#define _GNU_SOURCE 1
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *directory, *binaries;

static const char *program(void)
{
        static char path[PATH_MAX];
        ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);
        char *slash = n > 0 ? strrchr(path, '/') : NULL;

        return slash ? slash + 1 : "?";
}

static void name_of(const char *who, int number, char *path, size_t size)
{
        snprintf(path, size, "%s/%s~%d~%u~%d", directory, who, getpid(), geteuid(), number);
}

static void write_here(int number)
{
        char path[PATH_MAX];

        name_of(program(), number, path, sizeof(path));
        int fd = open(path, O_CREAT | O_WRONLY | O_EXCL, 0666);
        if (fd < 0 || write(fd, "x", 1) != 1)
                _exit(99);
        close(fd);
}

static void run(const char *path, ...) __attribute__((sentinel));
static void run(const char *path, ...)
{
        char *argv[16] = { (char *)path };
        va_list ap;

        va_start(ap, path);
        for (size_t i = 1; i < 15 && (argv[i] = va_arg(ap, char *)); i++)
                ;
        va_end(ap);
        execv(path, argv);
        _exit(98);
}

static char *binary(const char *name)
{
        static char path[PATH_MAX];

        snprintf(path, sizeof(path), "%s/%s", binaries, name);
        return path;
}

static void tool(const char *name, int number)
{
        char target[PATH_MAX];

        name_of(name, number, target, sizeof(target));
        if (!strcmp(name, "touch"))
                run("/usr/bin/touch", target, NULL);
        if (!strcmp(name, "sed")) {
                int fd = open(target, O_CREAT | O_WRONLY, 0666);
                close(fd);
                run("/usr/bin/sed", "-i", "s/a/b/", target, NULL);
        }
        if (!strcmp(name, "cp"))
                run("/usr/bin/cp", "/etc/hostname", target, NULL);
        run("/usr/bin/install", "-m", "600", "/etc/hostname", target, NULL);
}

static void shell(int number)
{
        char script[PATH_MAX];

        snprintf(script, sizeof(script), "( echo x > %s/bash~$BASHPID~$EUID~%d )\n:", directory, number);
        run("/bin/bash", "-c", script, NULL);
}

static void chain(const char *next, int number)
{
        char text[16];

        snprintf(text, sizeof(text), "%d", number);
        run(binary(next), directory, binaries, next, text, "0", NULL);
}

/* What one child does. */
static void act(const char *kind, int number)
{
        if (!strcmp(kind, "fork")) {
                write_here(number);
        } else if (!strcmp(kind, "double")) {
                if (fork() == 0)
                        write_here(number);
        } else if (!strcmp(kind, "one")) { /* written, then another program at once */
                chain("one-of", number);
        } else if (!strcmp(kind, "uid")) {
                write_here(number);
                if (setresuid(12345, 12345, 12345) == 0)
                        chain("two-of", number);
        } else if (!strcmp(kind, "bash")) {
                shell(number);
        } else if (!strcmp(kind, "mixed")) {
                static const char *const tools[] = { "cp", "sed", "install" };
                tool(tools[number % 3], number);
        } else {
                tool(kind, number);
        }
        _exit(0);
}

/* A link of a chain: writes, and becomes the next. */
static int link_of_chain(const char *me, int number)
{
        write_here(number);
        if (!strcmp(me, "one-of"))
                chain("two-of", number);
        if (!strcmp(me, "two-of"))
                chain("three-of", number);
        return 0;
}

static void start(const char *kind, int number)
{
        pid_t pid;

        if (!strcmp(kind, "vfork")) {
                char text[16], *path = binary("three-of");

                snprintf(text, sizeof(text), "%d", number);
                pid = vfork();
                if (pid == 0) {
                        execl(path, path, directory, binaries, "three-of", text, "0", (char *)NULL);
                        _exit(98);
                }
        } else if ((pid = fork()) == 0) {
                act(kind, number);
        }
        if (pid < 0)
                exit(97);
}

int main(int argc, char **argv)
{
        if (argc != 6)
                return 2;
        directory = argv[1];
        binaries = argv[2];
        int count = atoi(argv[4]), parallel = atoi(argv[5]), running = 0, failed = 0, status;

        if (parallel == 0)
                return link_of_chain(argv[3], count);
        for (int i = 0; i < count; i++) {
                if (running == parallel && wait(&status) > 0) {
                        running--;
                        failed += status != 0;
                }
                start(argv[3], i);
                running++;
        }
        while (wait(&status) > 0)
                failed += status != 0;
        if (failed)
                fprintf(stderr, "who-storm: %d of %d failed\n", failed, count);
        return failed != 0;
}
