/* os.c - the built-in world: sockets, readiness, random bytes and the clock of a POSIX system. */

/* This is the only room that talks to the operating system. It promises that
 *
 *   - no call blocks, but resolve;
 *   - every descriptor made here is non-blocking and close-on-exec. Sockets are born so where the
 *     system can do it; elsewhere, and for the pipe, the flags are set right after, as accept4 and
 *     pipe2 are not in POSIX.1-2008: a host that forks and execs in another thread at that very
 *     moment leaks it to the child;
 *   - SIGPIPE is never raised, and no disposition of a signal is changed;
 *   - a call that fails leaves nothing behind: no descriptor, no path, no watch.
 *
 * What travels through a handle, when to dial again and whom to trust is decided above. This file has
 * readiness, waking, random bytes, files and the clocks; sock.c has the sockets, samehost.c the short way
 * between two processes of one host.
 *
 * Readiness comes from epoll on Linux, kqueue on the BSDs and macOS, and poll(2) elsewhere or with
 * -DPHX_USE_POLL. All are used level-triggered: what is not read now is reported again. The first two give
 * one descriptor that stands for all (phx_fd).
 *
 * wake writes a byte into a pipe. A pipe rather than an eventfd: it exists everywhere, and write is
 * async-signal-safe. wait drains it and never reports it; whoever polls by himself finds it through
 * phx__os_wake_handle. */
#include "os/sock.h"

#include <errno.h>
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#ifdef OS_WAIT_KQUEUE
#include <sys/event.h>
#endif
#ifdef OS_WAIT_EPOLL
#include <sys/epoll.h>
#endif

/* Handles reported by one wait. 128 events are 1.5 KB of stack with epoll and 8 KB with kqueue. */
#define OS_BATCH 128

/* ---- Waking */

static int os_wake_open(struct os_world *w)
{
    int ends[2], err;
    if (pipe(ends) != 0)
        return phx__os_sock_error(errno);
    w->wake_read = ends[0];
    w->wake_write = ends[1];
    err = phx__os_sock_prepare(ends[0]);
    return err != 0 ? err : phx__os_sock_prepare(ends[1]);
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
    after = n < 0 ? phx__os_sock_error(errno) : 0; /* only reads a table: safe here */
    errno = before;
    return after == PHX_EAGAIN ? 0 : after;
}

/* Bounded, because another thread may write as fast as we read. What is left is found the next time. */
static void os_drain(int fd)
{
    char bytes[256];
    int rounds = 16;
    while (rounds-- > 0 && read(fd, bytes, sizeof bytes) == (ssize_t)sizeof bytes)
        ;
}

int phx__os_wake_handle(const struct phx_os *os)
{
    return os->wake == os_wake ? ((const struct os_world *)os->world)->wake_read : -1;
}

void phx__os_wake_drain(const struct phx_os *os)
{
    int fd = phx__os_wake_handle(os);
    if (fd >= 0)
        os_drain(fd);
}

/* ---- Readiness: epoll */

#ifdef OS_WAIT_EPOLL

static int os_queue_open(struct os_world *w)
{
    w->queue = epoll_create1(EPOLL_CLOEXEC);
    return w->queue < 0 ? phx__os_sock_error(errno) : 0;
}

/* Adding what is watched and changing what is not are errors. A byte for each descriptor says which to try
 * first, and is believed no further than that: a number may have got another owner since, in the host's
 * hands, and then the other one is right. */
int phx__os_watch(void *world, int handle, int events)
{
    struct os_world *w = (struct os_world *)world;
    uint32_t i = (uint32_t)handle;
    int first = i < w->known_capacity && w->known[i] ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;
    struct epoll_event e;
    memset(&e, 0, sizeof e);
    e.data.fd = handle;
    e.events = ((events & PHX_READ) != 0 ? (uint32_t)EPOLLIN : 0u)
               | ((events & PHX_WRITE) != 0 ? (uint32_t)EPOLLOUT : 0u);
    if (i < w->known_capacity)
        w->known[i] = events != 0;
    if (events == 0) {
        /* Deleting is not the same as no events: errors are reported as long as it is registered. */
        if (epoll_ctl(w->queue, EPOLL_CTL_DEL, handle, &e) == 0 || errno == ENOENT)
            return 0;
        return phx__os_sock_error(errno);
    }
    if (epoll_ctl(w->queue, first, handle, &e) != 0
        && ((errno != ENOENT && errno != EEXIST)
            || epoll_ctl(w->queue, EPOLL_CTL_ADD + EPOLL_CTL_MOD - first, handle, &e) != 0))
        return phx__os_sock_error(errno);
    /* Without memory for it each change costs a call more. */
    if (i >= w->known_capacity
        && phx__mem_grow(w->mem, &w->known, &w->known_capacity, i + 1, sizeof *w->known) == 0)
        w->known[i] = 1;
    return 0;
}

/* The kernel moves what it reported to the end of its list, which makes a small capacity fair. */
static int os_wait(void *world, struct phx_ready *out, int capacity)
{
    struct os_world *w = (struct os_world *)world;
    struct epoll_event ready[OS_BATCH];
    int i, n, count = 0;
    if (capacity <= 0)
        return 0; /* for the kernel that is an error */
    n = epoll_wait(w->queue, ready, capacity < OS_BATCH ? capacity : OS_BATCH, 0);
    if (n < 0)
        return errno == EINTR ? 0 : phx__os_sock_error(errno); /* level-triggered: nothing is lost */
    for (i = 0; i < n; i++) {
        uint32_t e = ready[i].events;
        if (ready[i].data.fd == w->wake_read) {
            os_drain(w->wake_read);
            continue;
        }
        out[count].handle = ready[i].data.fd;
        if ((e & (EPOLLERR | EPOLLHUP)) != 0)
            e = EPOLLIN | EPOLLOUT;
        out[count++].events = ((e & EPOLLIN) != 0 ? PHX_READ : 0)
                              | ((e & EPOLLOUT) != 0 ? PHX_WRITE : 0);
    }
    return count;
}

#endif

/* ---- Readiness: kqueue */

#ifdef OS_WAIT_KQUEUE

static int os_queue_open(struct os_world *w)
{
    w->queue = kqueue();
    if (w->queue < 0 || fcntl(w->queue, F_SETFD, FD_CLOEXEC) != 0)
        return phx__os_sock_error(errno);
    return 0;
}

/* Reading and writing are two filters, each added or deleted by itself. Adding twice is fine. */
static int os_filter(struct os_world *w, int handle, int filter, int on)
{
    struct kevent change;
    EV_SET(&change, (uintptr_t)handle, (short)filter, on ? EV_ADD : EV_DELETE, 0, 0, 0);
    if (kevent(w->queue, &change, 1, NULL, 0, NULL) == 0 || (!on && errno == ENOENT))
        return 0;
    return phx__os_sock_error(errno);
}

int phx__os_watch(void *world, int handle, int events)
{
    struct os_world *w = (struct os_world *)world;
    int err = os_filter(w, handle, EVFILT_READ, (events & PHX_READ) != 0);
    if (err == 0)
        err = os_filter(w, handle, EVFILT_WRITE, (events & PHX_WRITE) != 0);
    return err;
}

/* A handle that is ready both ways is reported twice. */
static int os_wait(void *world, struct phx_ready *out, int capacity)
{
    static const struct timespec at_once = {0, 0};
    struct os_world *w = (struct os_world *)world;
    struct kevent ready[OS_BATCH];
    int i, n, count = 0;
    if (capacity <= 0)
        return 0;
    n = kevent(w->queue, NULL, 0, ready, capacity < OS_BATCH ? capacity : OS_BATCH, &at_once);
    if (n < 0)
        return errno == EINTR ? 0 : phx__os_sock_error(errno); /* level-triggered: nothing is lost */
    for (i = 0; i < n; i++) {
        if ((int)ready[i].ident == w->wake_read) {
            os_drain(w->wake_read);
            continue;
        }
        out[count].handle = (int)ready[i].ident;
        out[count].events = ready[i].filter == EVFILT_READ ? PHX_READ : PHX_WRITE;
        if ((ready[i].flags & (EV_EOF | EV_ERROR)) != 0)
            out[count].events = PHX_READ | PHX_WRITE;
        count++;
    }
    return count;
}

#endif

#ifndef OS_WAIT_POLL

static int os_fd(void *world)
{
    return ((struct os_world *)world)->queue;
}

static void os_queue_close(struct os_world *w)
{
    if (w->queue >= 0)
        close(w->queue);
}

#endif

/* ---- Readiness: poll */

#ifdef OS_WAIT_POLL

static int os_queue_open(struct os_world *w)
{
    (void)w;
    return 0;
}

static void os_queue_close(struct os_world *w)
{
    phx__mem_put(w->mem, w->polled, w->polled_capacity * sizeof *w->polled);
    phx__mem_put(w->mem, w->slots, w->slots_capacity * sizeof *w->slots);
}

static int os_fd(void *world)
{
    (void)world;
    return PHX_ENOTSUP;
}

/* The last entry moves into the gap. */
static void os_unwatch(struct os_world *w, uint32_t handle)
{
    uint32_t slot = handle < w->slots_capacity ? w->slots[handle] : 0;
    if (slot == 0)
        return;
    w->polled[slot - 1] = w->polled[--w->polled_count];
    w->slots[w->polled[slot - 1].fd] = slot;
    w->slots[handle] = 0; /* after the line above: the last may be the one */
}

int phx__os_watch(void *world, int handle, int events)
{
    struct os_world *w = (struct os_world *)world;
    struct pollfd *p;
    int err;
    if (handle < 0)
        return PHX_EINVAL;
    if (events == 0) {
        os_unwatch(w, (uint32_t)handle);
        return 0;
    }
    err = phx__mem_grow(w->mem, &w->slots, &w->slots_capacity, (uint32_t)handle + 1, sizeof *w->slots);
    if (err == 0)
        err = phx__mem_grow(w->mem, &w->polled, &w->polled_capacity, w->polled_count + 1, sizeof *w->polled);
    if (err != 0)
        return err;
    if (w->slots[handle] == 0)
        w->slots[handle] = ++w->polled_count;
    p = &w->polled[w->slots[handle] - 1];
    p->fd = handle;
    p->events = (short)(((events & PHX_READ) != 0 ? POLLIN : 0) | ((events & PHX_WRITE) != 0 ? POLLOUT : 0));
    p->revents = 0; /* of an earlier owner of the place */
    return 0;
}

static int os_polled_events(short e)
{
    if ((e & (POLLERR | POLLHUP | POLLNVAL)) != 0)
        return PHX_READ | PHX_WRITE;
    return ((e & POLLIN) != 0 ? PHX_READ : 0) | ((e & POLLOUT) != 0 ? PHX_WRITE : 0);
}

/* Each look goes round once and begins behind the handle that was reported last, so that the ones at the end
 * get their turn although more are ready than capacity. */
static int os_wait(void *world, struct phx_ready *out, int capacity)
{
    struct os_world *w = (struct os_world *)world;
    uint32_t seen, at = w->start;
    int count = 0, n;
    capacity = capacity < OS_BATCH ? capacity : OS_BATCH;
    n = poll(w->polled, (nfds_t)w->polled_count, 0);
    if (n < 0)
        return errno == EINTR ? 0 : phx__os_sock_error(errno); /* level-triggered: nothing is lost */
    if (n > 0 && w->polled[0].revents != 0)
        os_drain(w->wake_read);
    for (seen = 1; n > 0 && seen < w->polled_count && count < capacity; seen++, at++) {
        if (at == 0 || at >= w->polled_count)
            at = 1; /* behind the wake pipe */
        if (w->polled[at].revents == 0)
            continue;
        out[count].handle = w->polled[at].fd;
        out[count++].events = os_polled_events(w->polled[at].revents);
    }
    w->start = at;
    return count;
}

#endif

/* ---- Random bytes, files, time */

/* /dev/urandom and not getrandom or getentropy: those need extensions, and this is everywhere. */
static int os_random(void *world, void *out, size_t size)
{
    unsigned char *to = (unsigned char *)out;
    int fd = open("/dev/urandom", O_RDONLY | O_CLOEXEC), err = 0;
    (void)world;
    if (fd < 0)
        return errno == EMFILE || errno == ENFILE ? PHX_EMFILE : PHX_EIO;
    while (size > 0 && err == 0) {
        ssize_t n = read(fd, to, size);
        if (n > 0) {
            to += n;
            size -= (size_t)n;
        } else if (n == 0 || errno != EINTR) {
            err = PHX_EIO; /* somebody replaced the device by a file that ends */
        }
    }
    close(fd);
    return err;
}

/* Keys and certificates are files. Reading one may block, on a network file system say, so it happens where
 * the host expects it, in phx_new and phx_read_key, and never in a step. */
static int os_file_error(int theirs)
{
    if (theirs == EACCES || theirs == EPERM)
        return PHX_EACCES;
    return theirs == EMFILE || theirs == ENFILE ? PHX_EMFILE : PHX_EFILE;
}

long phx__os_read_file(const char *path, void *out, size_t capacity)
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

/* Handles that are still open belong to the caller and stay open. */
static void os_free(void *world)
{
    struct os_world *w = (struct os_world *)world;
    os_queue_close(w);
    if (w->wake_read >= 0)
        close(w->wake_read);
    if (w->wake_write >= 0)
        close(w->wake_write);
#ifdef OS_WAIT_EPOLL
    phx__mem_put(w->mem, w->known, w->known_capacity);
#endif
    phx__mem_put(w->mem, w->paths, w->paths_capacity * sizeof *w->paths);
    phx__mem_put(w->mem, w, sizeof *w);
}

/* In the order of struct phx_os; the types catch most swaps. */
static const struct phx_os os_posix = {
    PHX_OS_VERSION, NULL, /* the world is filled in */
    phx__os_sock_listen, phx__os_sock_accept, phx__os_sock_dial, phx__os_sock_finish, phx__os_sock_local,
    phx__os_sock_send, phx__os_sock_recv, phx__os_sock_close, phx__os_watch, os_wait, os_random,
    phx__os_sock_resolve, os_fd, os_wake, os_free, phx__os_sock_recvv,
};

int phx__os_init(struct phx_os *os, struct phx__mem *mem)
{
    struct os_world *w = (struct os_world *)phx__mem_zero(mem, sizeof *w);
    int err;
    if (w == NULL)
        return PHX_ENOMEM;
    w->mem = mem;
    w->wake_read = w->wake_write = -1;
#ifndef OS_WAIT_POLL
    w->queue = -1;
#endif
    err = os_wake_open(w);
    if (err == 0)
        err = os_queue_open(w);
    if (err == 0)
        err = phx__os_watch(w, w->wake_read, PHX_READ);
    if (err != 0) {
        os_free(w);
        return err;
    }
    *os = os_posix;
    os->world = w;
    return 0;
}
