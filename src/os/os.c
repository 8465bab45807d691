/* os.c - the built-in world: sockets, waking, random bytes and the clock of a POSIX system. */

/* This room alone talks to the operating system. It promises that
 *
 *   - no call blocks, but resolve;
 *   - every descriptor made here is non-blocking and close-on-exec. Sockets are born so where the
 *     system can do it; elsewhere, and for the pipe, the flags are set right after, as accept4 and
 *     pipe2 are not in POSIX.1-2008: a host that forks and execs in another thread at that very
 *     moment leaks it to the child;
 *   - SIGPIPE is never raised, and no disposition of a signal is changed;
 *   - a call that fails leaves nothing behind: no descriptor, no path, no watch.
 *
 * What travels through a handle, when to dial again and whom to trust is decided above. Readiness is in
 * poll.c, the short way between two processes of one host in samehost.c.
 *
 * Handles are descriptors, so a handle costs nothing here: no table of connections exists, the kernel has it.
 * Kept are only the paths of UNIX listeners, which must be unlinked.
 *
 * A dialled connection:
 *
 *      dial --> in progress --PHX_WRITE--> finish --> connected
 *        |                                   |
 *        '--> refused at once                '--> why not; PHX_ESELF
 *
 * PHX_ESELF: whoever dials a port of its own machine on which nobody listens can be given just that port as
 * its local one, and TCP's simultaneous open then connects the socket to itself. It looks like a peer that
 * echoes everything, and it keeps the real listener from binding its port.
 *
 * wake writes a byte into a pipe. A pipe rather than an eventfd: it exists everywhere, and write is
 * async-signal-safe. Whoever polls by himself finds it through phx__os_wake_handle. */
#ifndef PHX_PRIVATE /* not in the joined file; see base.h */
#define _GNU_SOURCE 1
#endif
#include "os/os.h"
#include "base/addr.h"
#include "os/poll.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <sys/stat.h>
#ifdef __linux__
#include <sys/file.h>
#include <sys/syscall.h>
long syscall(long number, ...); /* which only extensions of unistd.h show */
#endif
#include <time.h>
#include <unistd.h>

/* Unacknowledged data kills a TCP connection after this long; the system's own limit is about a quarter of
 * an hour. The heartbeat finds dead peers much earlier; this bounds what is left when nobody looks, such as
 * a link that drains while it closes. Linux counts the time that a full receiver takes none, too: of one
 * that may be silent for longer see phx__os_patience. */
#define OS_TCP_USER_TIMEOUT_MS 600000

/* What a UNIX socket may hold that its peer has not read. A writer that found it full is woken when three
 * quarters are free again, so with the system's default the reader mostly finds nothing while the writer
 * wakes up: a tenth less throughput. Hosts that come by once per time step move no more than this in one.
 * Linux doubles it, to the 4 MiB that TCP gets there, and cuts it to wmem_max before: 208 KiB by default. */
#define OS_UNIX_BUFFER (2 << 20)

/* A socket born so needs no three calls of fcntl, and no child of another thread can inherit it. */
#if defined(SOCK_CLOEXEC) && defined(SOCK_NONBLOCK) && defined(MSG_NOSIGNAL)
#define OS_SOCKET_FLAGS (SOCK_CLOEXEC | SOCK_NONBLOCK)
#if defined(OS_GNU) || defined(__FreeBSD__) || defined(__NetBSD__) || defined(__OpenBSD__) \
    || defined(__DragonFly__)
#define OS_ACCEPT4 1
#endif
#endif

/* Connections that died in the queue are skipped; past this many let the rest of the step run. */
#define OS_ACCEPT_TRIES 16

/* Buffers per sendmsg: 64 fragments are more than a socket buffer takes. POSIX guarantees only 16. */
#if defined(IOV_MAX) && IOV_MAX < 64
#define OS_IOV_MAX IOV_MAX
#else
#define OS_IOV_MAX 64
#endif

/* Old Darwin has a socket option in place of the flag; see os_prepare. */
#ifdef MSG_NOSIGNAL
#define OS_SEND_FLAGS MSG_NOSIGNAL
#else
#define OS_SEND_FLAGS 0
#endif

/* ---- Addresses */

static int os_pack_path(const char *path, size_t capacity, struct sockaddr_un *out, socklen_t *size)
{
    size_t length = strnlen(path, capacity);
    /* An empty path would make Linux choose a name of its own, outside the file system. */
    if (length == capacity || length == 0 || length >= sizeof out->sun_path)
        return PHX_EADDRESS;
    out->sun_family = AF_UNIX;
    memcpy(out->sun_path, path, length + 1);
    *size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length + 1);
    return 0;
}

int phx__os_pack(const struct phx_address *at, union os_sockaddr *out, socklen_t *size)
{
    memset(out, 0, sizeof *out);
    switch (at->family) {
    case PHX_IPV4:
        out->v4.sin_family = AF_INET;
        out->v4.sin_port = htons(at->port);
        memcpy(&out->v4.sin_addr, at->ip, 4);
        *size = sizeof out->v4;
        return 0;
    case PHX_IPV6:
        out->v6.sin6_family = AF_INET6;
        out->v6.sin6_port = htons(at->port);
        memcpy(&out->v6.sin6_addr, at->ip, 16);
        *size = sizeof out->v6;
        return 0;
    case PHX_UNIX:
        return os_pack_path(at->path, sizeof at->path, &out->un, size);
    default: /* a peer may tell us addresses of a family to come */
        return PHX_ENOTSUP;
    }
}

/* The other way. The kernel need not end a path with a NUL, and a socket without a name has none. A host with
 * a dual-stack socket of its own may have us adopt a connection that calls itself ::ffff:1.2.3.4: others must
 * see the address that they can compare and dial. */
static int os_unpack(const union os_sockaddr *in, socklen_t size, struct phx_address *out)
{
    size_t i, length = (size_t)size, path = offsetof(struct sockaddr_un, sun_path);
    const uint8_t *v4;
    memset(out, 0, sizeof *out);
    switch (in->any.sa_family) {
    case AF_INET:
        out->family = PHX_IPV4;
        out->port = ntohs(in->v4.sin_port);
        memcpy(out->ip, &in->v4.sin_addr, 4);
        return 0;
    case AF_INET6:
        out->family = PHX_IPV6;
        out->port = ntohs(in->v6.sin6_port);
        memcpy(out->ip, &in->v6.sin6_addr, 16);
        if ((v4 = phx__addr_v4(out)) != NULL) {
            out->family = PHX_IPV4;
            memcpy(out->ip, v4, 4);
            memset(out->ip + 4, 0, 12);
        }
        return 0;
    case AF_UNIX:
        out->family = PHX_UNIX;
        for (i = 0; i + 1 < sizeof out->path && path + i < length && in->un.sun_path[i] != 0; i++)
            out->path[i] = in->un.sun_path[i];
        return 0;
    default: /* a host may adopt sockets of any kind */
        return PHX_ENOTSUP;
    }
}

PHX__COLD static int os_local(void *world, int handle, struct phx_address *out)
{
    union os_sockaddr a;
    socklen_t size = sizeof a;
    (void)world;
    memset(&a, 0, sizeof a); /* some systems leave an unnamed socket's family unset */
    return getsockname(handle, &a.any, &size) != 0 ? phx__os_poll_error(errno) : os_unpack(&a, size, out);
}

/* ---- Descriptors */

static int os_set(int fd, int level, int name, int value)
{
    return setsockopt(fd, level, name, &value, sizeof value);
}

static int os_prepare(int fd)
{
    int flags = fcntl(fd, F_GETFL);
    if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) != 0 || fcntl(fd, F_SETFD, FD_CLOEXEC) != 0)
        return phx__os_poll_error(errno);
#if !defined(MSG_NOSIGNAL) && defined(SO_NOSIGPIPE)
    if (os_set(fd, SOL_SOCKET, SO_NOSIGPIPE, 1) != 0 && errno != ENOTSOCK)
        return phx__os_poll_error(errno);
#endif
    return 0;
}

/* Failures are ignored: these make a connection better, not possible, and some systems refuse them on one
 * that the peer has just closed. Phoenix gathers small frames itself, so Nagle could only delay. */
PHX__COLD void phx__os_tune(int fd, int family)
{
    if (family == AF_UNIX)
        (void)os_set(fd, SOL_SOCKET, SO_SNDBUF, OS_UNIX_BUFFER);
    if (family != AF_INET && family != AF_INET6)
        return;
    (void)os_set(fd, IPPROTO_TCP, TCP_NODELAY, 1);
#ifdef TCP_USER_TIMEOUT
    (void)os_set(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, OS_TCP_USER_TIMEOUT_MS);
#endif
}

int phx__os_socket(int family)
{
#ifdef OS_SOCKET_FLAGS
    int fd = phx__os_poll_high(socket(family, SOCK_STREAM | OS_SOCKET_FLAGS, 0));
    return fd < 0 ? phx__os_poll_error(errno) : fd;
#else
    int fd = phx__os_poll_high(socket(family, SOCK_STREAM, 0)), err;
    if (fd < 0)
        return phx__os_poll_error(errno);
    if ((err = os_prepare(fd)) != 0) {
        close(fd);
        return err;
    }
    return fd;
#endif
}

int phx__os_give(void *world, int fd, int err, int *handle)
{
    if (err != 0)
        close(fd);
    else
        *handle = ((struct os_world *)world)->fresh = fd;
    return err;
}

/* ---- Waking */

static int os_wake_open(struct os_world *w)
{
    int ends[2], err;
    if (pipe(ends) != 0)
        return phx__os_poll_error(errno);
    w->wake_read = phx__os_poll_high(ends[0]);
    w->wake_write = phx__os_poll_high(ends[1]);
    if (w->wake_read < 0 || w->wake_write < 0)
        return phx__os_poll_error(errno);
    err = os_prepare(w->wake_read);
    return err != 0 ? err : os_prepare(w->wake_write);
}

/* Called from signal handlers: nothing here but write, and errno is put back. A full pipe is readable
 * already, so that is success too. */
static int os_wake(void *world)
{
    const struct os_world *w = (const struct os_world *)world;
    int before = errno, after;
    ssize_t n;
    do
        n = write(w->wake_write, "w", 1);
    while (n < 0 && errno == EINTR);
    after = n < 0 ? phx__os_poll_error(errno) : 0; /* only reads a table: safe here */
    errno = before;
    return after == PHX_EAGAIN ? 0 : after;
}

PHX__COLD void phx__os_patience(const struct phx_os *os, int handle, int yes)
{
    if (phx__os_wake_handle(os) < 0)
        return;
#ifdef TCP_USER_TIMEOUT
    (void)os_set(handle, IPPROTO_TCP, TCP_USER_TIMEOUT, yes ? 0 : OS_TCP_USER_TIMEOUT_MS);
#endif
#if defined(TCP_KEEPIDLE) && defined(TCP_KEEPINTVL) && defined(TCP_KEEPCNT)
    (void)os_set(handle, IPPROTO_TCP, TCP_KEEPIDLE, 60);
    (void)os_set(handle, IPPROTO_TCP, TCP_KEEPINTVL, 10);
    (void)os_set(handle, IPPROTO_TCP, TCP_KEEPCNT, 6);
#endif
    (void)os_set(handle, SOL_SOCKET, SO_KEEPALIVE, yes != 0);
}

int phx__os_wake_handle(const struct phx_os *os)
{
    return os->wake == os_wake ? ((const struct os_world *)os->world)->wake_read : -1;
}

void phx__os_wake_drain(const struct phx_os *os)
{
    int fd = phx__os_wake_handle(os);
    if (fd >= 0)
        phx__os_poll_drain(fd);
}

/* ---- Listening */

/* A UNIX socket outlives its process as a file that refuses connections. Removes it if it is such a one: 0,
 * and the path is free; or PHX_EINUSE. Only sockets are touched, since connect refuses at plain files too,
 * and only the file that was tried: it is compared again. Where there is no os_lock_path, two processes that
 * start at one path in the same microseconds can still remove each other's. */
static int os_remove_stale(const union os_sockaddr *a, socklen_t size)
{
    struct stat tried, now;
    int fd, refused;
    if (lstat(a->un.sun_path, &tried) != 0)
        return errno == ENOENT ? 0 : phx__os_poll_error(errno);
    if (!S_ISSOCK(tried.st_mode))
        return PHX_EINUSE; /* not ours to remove, whatever it is */
    if ((fd = phx__os_socket(AF_UNIX)) < 0)
        return fd;
    refused = connect(fd, &a->any, size) != 0 && errno == ECONNREFUSED;
    close(fd);
    if (!refused)
        return PHX_EINUSE;
    if (lstat(a->un.sun_path, &now) == 0 && now.st_ino == tried.st_ino && now.st_dev == tried.st_dev)
        (void)unlink(a->un.sun_path); /* if it fails, bind says why */
    return 0;
}

#define OS_LOCK_KEPT (-2)

/* A lock on the path's directory, until the caller closes what this returns: between bind and listen a socket
 * looks stale. Others hold it for microseconds, so it is waited for, but not for long: who may read the
 * directory could keep it. Then nothing is removed. -1: there is no lock, or nothing of the kind here. */
static int os_lock_path(const char *path)
{
    int fd = -1;
#ifdef __linux__
    const char *slash = strrchr(path, '/');
    char dir[sizeof(struct sockaddr_un)] = ".";
    int tries = 100;
    if (slash != NULL)
        memcpy(dir, path, (size_t)(slash + 1 - path));
    if ((fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0)
        return -1;
    while (flock(fd, LOCK_EX | LOCK_NB) != 0) {
        if (tries-- == 0 || (errno != EWOULDBLOCK && errno != EINTR)) {
            close(fd);
            return tries < 0 ? OS_LOCK_KEPT : -1;
        }
        (void)poll(NULL, 0, 1);
    }
#endif
    (void)path;
    return fd;
}

PHX__COLD static int os_bind_unix(struct os_world *w, int fd, int lock, const union os_sockaddr *a,
                                  socklen_t size)
{
    struct os_path *p;
    struct stat made;
    int err = phx__mem_grow(w->mem, &w->paths, &w->paths_capacity, w->paths_count + 1, sizeof *w->paths);
    if (err != 0)
        return err;
    if (bind(fd, &a->any, size) != 0) {
        if (errno != EADDRINUSE || lock == OS_LOCK_KEPT)
            return phx__os_poll_error(errno);
        if ((err = os_remove_stale(a, size)) != 0)
            return err;
        if (bind(fd, &a->any, size) != 0)
            return phx__os_poll_error(errno);
    }
    if (lstat(a->un.sun_path, &made) != 0)
        return phx__os_poll_error(errno);
    p = &w->paths[w->paths_count++];
    *p = (struct os_path){ fd, made.st_dev, made.st_ino, "" };
    memcpy(p->path, a->un.sun_path, strlen(a->un.sun_path) + 1);
    return 0;
}

static int os_bind_tcp(int fd, const union os_sockaddr *a, socklen_t size)
{
    /* Without it a node that restarts waits a minute or more for its old connections' TIME_WAIT. */
    if (os_set(fd, SOL_SOCKET, SO_REUSEADDR, 1) != 0)
        return phx__os_poll_error(errno);
    /* One port can then be had for both families, by two listeners. */
    if (a->any.sa_family == AF_INET6 && os_set(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1) != 0)
        return phx__os_poll_error(errno);
    if (bind(fd, &a->any, size) == 0)
        return 0;
    return errno == EINVAL ? PHX_ENOADDR : phx__os_poll_error(errno); /* see phx_listen */
}

/* Unlinks a UNIX listener's path while it still listens: nobody can take the path for stale meanwhile. */
static void os_unlink(struct os_world *w, int handle)
{
    struct stat now;
    for (uint32_t i = 0; i < w->paths_count; i++) {
        const struct os_path *p = &w->paths[i];
        if (p->handle != handle)
            continue;
        if (lstat(p->path, &now) == 0 && now.st_ino == p->inode && now.st_dev == p->device)
            (void)unlink(p->path);
        w->paths[i] = w->paths[--w->paths_count];
        return;
    }
}

/* The queue must forget the handle before it is closed: if a child of the host holds a copy, closing alone
 * does not remove it from epoll, and it would be reported under a number that means another one. */
PHX__COLD static void os_close(void *world, int handle)
{
    struct os_world *w = (struct os_world *)world;
    (void)phx__os_poll_watch(w, handle, 0);
    os_unlink(w, handle);
    close(handle); /* not repeated on EINTR: the descriptor may belong to somebody else by then */
}

#define OS_LISTEN_TRIES 100

/* Two that bind one port at the same moment both may, and Linux refuses both if they then listen at the same
 * moment: each sees that the other is about to. Again at once, and one of them is first. */
static int os_begin_listening(int fd)
{
    for (int i = 0; listen(fd, OS_BACKLOG) != 0; i++)
        if (errno != EADDRINUSE || i == OS_LISTEN_TRIES)
            return phx__os_poll_error(errno);
    return 0;
}

PHX__COLD static int os_listen(void *world, struct phx_address *at, int *handle)
{
    struct os_world *w = (struct os_world *)world;
    union os_sockaddr a;
    socklen_t size;
    int fd, lock, err = phx__os_pack(at, &a, &size);
    if (err != 0)
        return err;
    if ((fd = phx__os_socket(a.any.sa_family)) < 0)
        return fd;
    lock = a.any.sa_family == AF_UNIX ? os_lock_path(a.un.sun_path) : -1;
    err = a.any.sa_family == AF_UNIX ? os_bind_unix(w, fd, lock, &a, size) : os_bind_tcp(fd, &a, size);
    if (err == 0)
        err = os_begin_listening(fd);
    close(lock); /* no lock is no harm */
    if (err == 0)
        err = os_local(w, fd, at); /* the port, if any would do */
    if (err != 0) {
        os_close(w, fd); /* removes the path too */
        return err;
    }
    *handle = w->fresh = fd;
    return 0;
}

/* Errors of accept that tell about one connection that is gone, or (EPERM) one that a firewall forbids, and
 * not about the listener. Linux hands over what is pending on the new socket as its own. */
static int os_accept_may_go_on(int error)
{
    int ours = phx__os_poll_error(error);
#ifdef ENONET
    if (error == ENONET)
        return 1;
#endif
    return ours == PHX_ERESET || ours == PHX_EUNREACH || ours == PHX_ETIMEDOUT || error == EINTR
           || error == EPROTO || error == EPERM || error == ENOPROTOOPT;
}

/* As accept(2), but what comes is non-blocking and close-on-exec, or it is -1 and errno is 0: Darwin refuses
 * options on what the peer has closed already. */
static int os_accept_fit(int listener, union os_sockaddr *a, socklen_t *size)
{
#ifdef OS_ACCEPT4
    return phx__os_poll_high(accept4(listener, &a->any, size, OS_SOCKET_FLAGS));
#else
    int fd = phx__os_poll_high(accept(listener, &a->any, size));
    if (fd < 0 || os_prepare(fd) == 0)
        return fd;
    close(fd);
    errno = 0;
    return -1;
#endif
}

PHX__COLD static int os_accept(void *world, int listener, int *handle, struct phx_address *from)
{
    union os_sockaddr a;
    socklen_t size;
    int fd, tries;
    for (tries = 0; tries < OS_ACCEPT_TRIES; tries++) {
        size = sizeof a;
        memset(&a, 0, sizeof a);
        if ((fd = os_accept_fit(listener, &a, &size)) < 0 && errno != 0 && !os_accept_may_go_on(errno))
            return phx__os_poll_error(errno);
        if (fd < 0)
            continue; /* that one is gone */
        phx__os_tune(fd, a.any.sa_family);
        if (os_unpack(&a, size, from) != 0)
            memset(from, 0, sizeof *from);
        return phx__os_give(world, fd, 0, handle);
    }
    return PHX_EAGAIN;
}

/* ---- Dialling */

PHX__COLD static int os_dial(void *world, const struct phx_address *to, int *handle)
{
    union os_sockaddr a;
    socklen_t size;
    int fd, err = phx__os_pack(to, &a, &size);
    if (err != 0)
        return err;
    if ((fd = phx__os_socket(a.any.sa_family)) < 0)
        return fd;
    phx__os_tune(fd, a.any.sa_family);
    /* Interrupted means that it goes on by itself, as POSIX says. EAGAIN is a full backlog of a UNIX
     * listener, for which Linux does not wait: the caller tries again later. */
    if (connect(fd, &a.any, size) != 0 && errno != EINPROGRESS && errno != EINTR)
        err = errno == ENOENT ? PHX_EREFUSED : phx__os_poll_error(errno); /* nobody there, not even a path */
    return phx__os_give(world, fd, err, handle);
}

PHX__COLD static int os_finish(void *world, int handle)
{
    struct phx_address here, there;
    union os_sockaddr a;
    socklen_t size = sizeof(int);
    int error = 0, err;
    if (getsockopt(handle, SOL_SOCKET, SO_ERROR, &error, &size) != 0)
        return errno == ENOTSOCK ? 0 : phx__os_poll_error(errno); /* the host's, from cfg.dial: it is there */
    if (error != 0)
        return phx__os_poll_error(error);
    /* No error is also what a connection has that is still being made: only a peer proves one. */
    size = sizeof a;
    memset(&a, 0, sizeof a);
    if (getpeername(handle, &a.any, &size) != 0) {
        if (errno == ENOTCONN)
            return PHX_EAGAIN;
        return errno == EINVAL ? PHX_ERESET : phx__os_poll_error(errno); /* Darwin: came and went */
    }
    if ((err = os_unpack(&a, size, &there)) != 0 || (err = os_local(world, handle, &here)) != 0)
        return err;
    return here.family != PHX_UNIX && phx__addr_equal(&here, &there) ? PHX_ESELF : 0;
}

int phx__os_adopt(const struct phx_os *os, int fd)
{
    struct phx_address here;
    int err;
    if (phx__os_wake_handle(os) < 0)
        return 0;
    if ((err = os_prepare(fd)) != 0)
        return err;
    if (os_local(os->world, fd, &here) == 0 && here.family != PHX_UNIX)
        phx__os_tune(fd, AF_INET);
    return 0;
}

/* ---- Bytes */

/* An adopted descriptor need not be a socket, and then no flag keeps write from raising SIGPIPE. The signal
 * is sent to this thread, so it can be blocked here, taken back and unblocked. It costs four system calls, on
 * this path only. (sigprocmask in place of pthread_sigmask: they are the same on every system we know, and
 * the other one wants a library of its own on some.) */
static ssize_t os_writev_quietly(int fd, const struct iovec *iov, int count)
{
    sigset_t pipe_only, before, pending;
    int was_pending, error, taken;
    ssize_t n;
    sigemptyset(&pipe_only);
    sigaddset(&pipe_only, SIGPIPE);
    sigemptyset(&pending);
    sigpending(&pending);
    was_pending = sigismember(&pending, SIGPIPE);
    if (sigprocmask(SIG_BLOCK, &pipe_only, &before) != 0)
        return -1;
    n = writev(fd, iov, count);
    error = errno;
    if (n < 0 && error == EPIPE && !was_pending) {
        sigpending(&pending); /* not pending if the host ignores it; sigwait would then block */
        if (sigismember(&pending, SIGPIPE))
            sigwait(&pipe_only, &taken);
    }
    sigprocmask(SIG_SETMASK, &before, NULL);
    errno = error;
    return n;
}

static long os_send(void *world, int handle, const struct iovec *iov, int count)
{
    struct msghdr message;
    ssize_t n;
    (void)world;
    count = count < OS_IOV_MAX ? count : OS_IOV_MAX;
    if (count > 1) /* or it is not looked at */
        memset(&message, 0, sizeof message);
    message.msg_iov = (struct iovec *)iov; /* not written to; POSIX left out the const */
    message.msg_iovlen = (unsigned char)count; /* its type differs between systems; this fits all */
    do {
        n = count == 1 ? send(handle, iov->iov_base, iov->iov_len, OS_SEND_FLAGS) /* the lesser call */
                       : sendmsg(handle, &message, OS_SEND_FLAGS);
        if (n < 0 && errno == ENOTSOCK)
            n = os_writev_quietly(handle, iov, count);
    } while (n < 0 && errno == EINTR);
    return n < 0 ? phx__os_poll_error(errno) : (long)n;
}

static long os_recv(void *world, int handle, void *data, size_t size)
{
    ssize_t n;
    (void)world;
    PHX_ASSERT(size > 0);
    do { /* recv is the lesser call, but an adopted descriptor need not be a socket */
        if ((n = recv(handle, data, size, 0)) < 0 && errno == ENOTSOCK)
            n = read(handle, data, size);
    } while (n < 0 && errno == EINTR);
    return n < 0 ? phx__os_poll_error(errno) : (long)n;
}

static long os_recvv(void *world, int handle, const struct iovec *iov, int count)
{
    ssize_t n;
    (void)world;
    count = PHX__MIN(count, OS_IOV_MAX);
    do
        n = readv(handle, iov, count);
    while (n < 0 && errno == EINTR);
    return n < 0 ? phx__os_poll_error(errno) : (long)n;
}

/* ---- Names */

/* Resolvers may give one of the two or neither (RFC 6761, 6.3). So no hostile DNS can move this name. */
static int os_resolve_localhost(struct phx_address *out, int capacity)
{
    union os_sockaddr a;
    socklen_t size;
    int fd, n = 1;
    (void)phx__addr_numeric("127.0.0.1", &out[0]);
    /* Having IPv6 compiled in says little; binding the address says that it is there. */
    if (capacity > 1 && phx__addr_numeric("::1", &out[1]) == 0 && phx__os_pack(&out[1], &a, &size) == 0
        && (fd = phx__os_socket(AF_INET6)) >= 0) {
        n += bind(fd, &a.any, size) == 0;
        close(fd);
    }
    return n;
}

/* Adds one to the n known ones unless it is there; returns how many there are then. */
static int os_add_resolved(const struct addrinfo *from, struct phx_address *out, int n)
{
    union os_sockaddr a;
    int i;
    if (from->ai_addrlen > sizeof a)
        return n;
    memset(&a, 0, sizeof a);
    memcpy(&a, from->ai_addr, from->ai_addrlen);
    if (os_unpack(&a, from->ai_addrlen, &out[n]) != 0)
        return n;
    out[n].port = 0; /* the caller has it from the address */
    for (i = 0; i < n; i++)
        if (phx__addr_equal(&out[i], &out[n]))
            return n;
    return n + 1;
}

PHX__COLD static int os_resolve(void *world, const char *host, struct phx_address *out, int capacity)
{
    const struct addrinfo hints = { .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM };
    struct addrinfo *list = NULL, *i;
    int n = 0, err;
    (void)world;
    if (capacity <= 0)
        return PHX_EINVAL;
    if (strcmp(host, "localhost") == 0)
        return os_resolve_localhost(out, capacity);
    err = getaddrinfo(host, NULL, &hints, &list);
    if (err == EAI_MEMORY || (err == EAI_SYSTEM && errno == ENOMEM))
        return PHX_ENOMEM;
    if (err != 0)
        return PHX_ERESOLVE;
    for (i = list; i != NULL && n < capacity; i = i->ai_next)
        n = os_add_resolved(i, out, n);
    freeaddrinfo(list);
    return n > 0 ? n : PHX_ERESOLVE;
}

/* ---- Random bytes, files, time */

/* Keys and certificates are files. Reading one may block, on a network file system say, so it happens where
 * the host expects it, in phx_new and phx_read_key, and never in a step. */
static int os_file_error(int theirs)
{
    int err = phx__os_poll_error(theirs);
    return err == PHX_EACCES || err == PHX_EMFILE ? err : PHX_EFILE;
}

PHX__COLD long phx__os_read_file(const char *path, void *out, size_t capacity)
{
    unsigned char *to = (unsigned char *)out;
    size_t size = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC), err = 0;

    if (fd < 0)
        return os_file_error(errno);
    while (size < capacity && err == 0) {
        ssize_t n = read(fd, to + size, capacity - size);

        if (n > 0)
            size += (size_t)n;
        else if (n == 0)
            break;
        else if (errno != EINTR)
            err = os_file_error(errno); /* a directory, for one */
    }
    close(fd);
    return err != 0 ? err : (long)size;
}

/* getrandom wants no descriptor, and no /dev in a jail. Older systems have no such call, and one that has
 * just started may have no bytes yet. */
static int os_random(void *world, void *out, size_t size)
{
    long n = -1;

    (void)world;
#ifdef SYS_getrandom
    n = syscall(SYS_getrandom, out, size, 1u /* do not block */);
#endif
    if (n != (long)size)
        n = phx__os_read_file("/dev/urandom", out, size);
    /* Less, if somebody replaced the device by a file that ends. */
    return n == (long)size ? 0 : n == PHX_EMFILE ? PHX_EMFILE : PHX_EIO;
}

uint64_t phx_now_us(void)
{
    struct timespec now;

    if (clock_gettime(CLOCK_MONOTONIC, &now) != 0)
        return 0;
    return (uint64_t)now.tv_sec * PHX__SECOND + (uint64_t)now.tv_nsec / 1000;
}

#ifdef PHX_TLS
uint64_t phx__os_wall_seconds(void)
{
    struct timespec now;

    if (clock_gettime(CLOCK_REALTIME, &now) != 0 || now.tv_sec < 0)
        return 0; /* 1970: no certificate is valid then, and that is the safe side */
    return (uint64_t)now.tv_sec;
}
#endif

/* ---- The world */

static int os_fd(void *world)
{
    return ((struct os_world *)world)->queue;
}

/* Handles that are still open belong to the caller and stay open. */
static void os_free(void *world)
{
    struct os_world *w = (struct os_world *)world;
    phx__os_poll_close(w);
    close(w->wake_read); /* -1, which was not opened, is no harm */
    close(w->wake_write);
    phx__mem_put(w->mem, w->paths, w->paths_capacity * sizeof *w->paths);
    phx__mem_put(w->mem, w, sizeof *w);
}

/* In the order of struct phx_os; the types catch most swaps. */
static const struct phx_os os_posix = {
    PHX_OS_VERSION, NULL, /* the world is filled in */
    os_listen, os_accept, os_dial, os_finish, os_local,
    os_send, os_recv, os_close, phx__os_poll_watch, phx__os_poll_wait, os_random,
    os_resolve, os_fd, os_wake, os_free, os_recvv, NULL,
};

PHX__COLD int phx__os_init(struct phx_os *os, struct phx__mem *mem)
{
    struct os_world *w = (struct os_world *)phx__mem_zero(mem, sizeof *w);
    int err;
    if (w == NULL)
        return PHX_ENOMEM;
    w->mem = mem;
    w->wake_read = w->wake_write = w->queue = w->fresh = -1;
    if ((err = os_wake_open(w)) != 0 || (err = phx__os_poll_open(w)) != 0
        || (err = phx__os_poll_watch(w, w->wake_read, PHX_READ)) != 0) {
        os_free(w);
        return err;
    }
    *os = os_posix;
    os->world = w;
    return 0;
}
