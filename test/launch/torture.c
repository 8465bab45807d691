/* torture.c - linked into phxrun: the n-th allocation or call of the system fails in one of its processes. */

/* The linker's --wrap leads each call in the list below here; torture.sh has the flags. What happens is told
 * by the environment:
 *
 *      TORTURE        who, which call, which of its errors, lasting: "1 77 0 1"; call 0: nothing fails
 *      TORTURE_DEPTH  of this process in the tree of agents: the launcher is 0; counted up here
 *      TORTURE_FILE   the first process of depth `who` makes it, and is the victim. It writes there what it
 *                     calls and how many errors that has, a line for each call; or which call has failed
 *      TORTURE_WHERE  set: where each failing call was made, to standard error, with sanitizers
 *
 * A child between fork and exec is not the victim, nor is the guard. "Not now" and "interrupted" are said
 * once only: from then on it would be a system in which nothing goes on. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

static const struct {
    const char *name;
    int errors[4]; /* 0 ends them */
} table[] = {
    { "malloc", { ENOMEM } },
    { "calloc", { ENOMEM } },
    { "realloc", { ENOMEM } },
    { "read", { EINTR, EAGAIN } },
    { "readv", { EINTR, EAGAIN, ECONNRESET } },
    { "recv", { EINTR, EAGAIN, ECONNRESET } },
    { "write", { EINTR, EAGAIN, EPIPE } },
    { "writev", { EINTR, EAGAIN, EPIPE } },
    { "send", { EINTR, EAGAIN, EPIPE } },
    { "sendmsg", { EINTR, EAGAIN, EPIPE } },
    { "poll", { EINTR, ENOMEM } },
    { "epoll_wait", { EINTR, ENOMEM } },
    { "epoll_ctl", { ENOMEM, ENOSPC } },
    { "pipe", { EMFILE, ENFILE } },
    { "socketpair", { EMFILE, ENFILE } },
    { "socket", { EMFILE, ENFILE } },
    { "epoll_create1", { EMFILE, ENFILE } },
    { "signalfd", { EMFILE, ENFILE } },
    { "open", { EMFILE, ENFILE, EACCES } },
    { "accept", { EAGAIN, EMFILE, ECONNABORTED } },
    { "accept4", { EAGAIN, EMFILE, ECONNABORTED } },
    { "bind", { EADDRINUSE } },
    { "listen", { EADDRINUSE } },
    { "connect", { ECONNREFUSED, ENETUNREACH } },
    { "fork", { EAGAIN, ENOMEM } },
    { "fcntl", { EMFILE, EINVAL } },
    { "chdir", { ENOENT } },
    { "gethostname", { EINVAL } },
};
#define TABLE (int)(sizeof table / sizeof *table)

static struct {
    int is_victim, lasting, with, file;
    long at, count;
    int kind; /* of the call that failed: its place in the table */
} torture = { 0, 0, 0, -1, 0, 0, -1 };

void __sanitizer_print_stack_trace(void) __attribute__((weak));
ssize_t __real_write(int fd, const void *p, size_t n);
int __real_open(const char *path, int flags, ...);
int __real_fcntl(int fd, int what, ...);

static int errors_of(int kind)
{
    int n = 0;

    while (n < 4 && table[kind].errors[n] != 0)
        n++;
    return n;
}

static void note(int kind)
{
    char line[40];
    int n = snprintf(line, sizeof line, "%s %d\n", table[kind].name, errors_of(kind));

    if (__real_write(torture.file, line, (size_t)n) != n)
        abort();
}

/* Processes come and go in another order each time, so the call may be another one than in the list. */
static int fails(const char *name)
{
    int kind = 0, error;

    if (!torture.is_victim)
        return 0;
    while (kind < TABLE && strcmp(table[kind].name, name) != 0)
        kind++;
    if (kind == TABLE)
        abort();
    torture.count++;
    if (torture.at == 0 || torture.count == torture.at)
        note(kind);
    if (torture.at == 0 || torture.count < torture.at)
        return 0;
    error = table[kind].errors[torture.with % errors_of(kind)];
    if (torture.count == torture.at)
        torture.kind = kind;
    else if (!torture.lasting || torture.kind != kind || error == EINTR || error == EAGAIN)
        return 0;
    if (getenv("TORTURE_WHERE") != NULL && __sanitizer_print_stack_trace != NULL)
        __sanitizer_print_stack_trace();
    errno = error;
    return 1;
}

__attribute__((constructor)) static void begin(void)
{
    const char *what = getenv("TORTURE"), *path = getenv("TORTURE_FILE"), *at = getenv("TORTURE_DEPTH");
    int depth = at != NULL ? atoi(at) + 1 : 0, who;
    char text[20];

    if (what == NULL || path == NULL
        || sscanf(what, "%d %ld %d %d", &who, &torture.at, &torture.with, &torture.lasting) != 4)
        return;
    snprintf(text, sizeof text, "%d", depth);
    setenv("TORTURE_DEPTH", text, 1);
    if (depth != who)
        return;
    torture.file = __real_open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (torture.file < 0)
        return;
    torture.file = __real_fcntl(torture.file, F_DUPFD_CLOEXEC, 900);
    torture.is_victim = torture.file >= 0;
}

/* ret __wrap_name(parameters): fails as the system would, or calls it. */
#define WRAP(ret, failed, name, parameters, arguments)                                                      \
    ret __real_##name parameters;                                                                           \
    ret __wrap_##name parameters;                                                                           \
    ret __wrap_##name parameters                                                                            \
    {                                                                                                       \
        return fails(#name) ? failed : __real_##name arguments;                                             \
    }

WRAP(void *, NULL, malloc, (size_t size), (size))
WRAP(void *, NULL, calloc, (size_t n, size_t size), (n, size))
WRAP(void *, NULL, realloc, (void *old, size_t size), (old, size))
WRAP(ssize_t, -1, read, (int fd, void *p, size_t n), (fd, p, n))
WRAP(ssize_t, -1, write, (int fd, const void *p, size_t n), (fd, p, n))
WRAP(ssize_t, -1, writev, (int fd, const struct iovec *v, int n), (fd, v, n))
WRAP(ssize_t, -1, readv, (int fd, const struct iovec *v, int n), (fd, v, n))
WRAP(ssize_t, -1, recv, (int fd, void *p, size_t n, int flags), (fd, p, n, flags))
WRAP(ssize_t, -1, send, (int fd, const void *p, size_t n, int flags), (fd, p, n, flags))
WRAP(ssize_t, -1, sendmsg, (int fd, const struct msghdr *m, int flags), (fd, m, flags))
WRAP(int, -1, poll, (struct pollfd *p, nfds_t n, int ms), (p, n, ms))
WRAP(int, -1, pipe, (int p[2]), (p))
WRAP(int, -1, socketpair, (int d, int t, int p, int out[2]), (d, t, p, out))
WRAP(int, -1, socket, (int d, int t, int p), (d, t, p))
WRAP(int, -1, bind, (int fd, const struct sockaddr *a, socklen_t n), (fd, a, n))
WRAP(int, -1, listen, (int fd, int n), (fd, n))
WRAP(int, -1, connect, (int fd, const struct sockaddr *a, socklen_t n), (fd, a, n))
WRAP(int, -1, accept, (int fd, struct sockaddr *a, socklen_t *n), (fd, a, n))
WRAP(int, -1, accept4, (int fd, struct sockaddr *a, socklen_t *n, int flags), (fd, a, n, flags))
WRAP(int, -1, epoll_create1, (int flags), (flags))
WRAP(int, -1, epoll_ctl, (int e, int op, int fd, struct epoll_event *v), (e, op, fd, v))
WRAP(int, -1, epoll_wait, (int e, struct epoll_event *v, int n, int ms), (e, v, n, ms))
WRAP(int, -1, signalfd, (int fd, const sigset_t *set, int flags), (fd, set, flags))
WRAP(int, -1, chdir, (const char *path), (path))
WRAP(int, -1, gethostname, (char *name, size_t n), (name, n))

int __wrap_fcntl(int fd, int what, long how);
int __wrap_fcntl(int fd, int what, long how)
{
    return fails("fcntl") ? -1 : __real_fcntl(fd, what, how);
}

int __wrap_open(const char *path, int flags, int mode);
int __wrap_open(const char *path, int flags, int mode)
{
    return fails("open") ? -1 : __real_open(path, flags, mode);
}

pid_t __real_fork(void);
pid_t __wrap_fork(void);
pid_t __wrap_fork(void)
{
    pid_t pid = fails("fork") ? -1 : __real_fork();

    if (pid == 0)
        torture.is_victim = 0;
    return pid;
}
