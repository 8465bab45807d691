/* poll.c - readiness: which handles can be read or written; epoll, kqueue or poll, and what errno means. */

/* Readiness comes from epoll on Linux, kqueue on the BSDs and macOS, and poll(2) elsewhere or with
 * -DPHX_USE_POLL. All are used level-triggered: what is not read now is reported again. The first two give
 * one descriptor that stands for all (phx_fd). The wake pipe (os.c) is drained here and never reported. */
#include "os/poll.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#ifdef OS_WAIT_KQUEUE
#include <sys/event.h>
#include <time.h>
#endif
#ifdef OS_WAIT_EPOLL
#include <sys/epoll.h>
#endif
#ifdef OS_WAIT_POLL
#include <poll.h>
#endif

/* Handles reported by one wait. 128 events are 1.5 KB of stack with epoll and 8 KB with kqueue. */
#define OS_BATCH 128

/* ---- Errors */

/* EAGAIN stands first: it is the one that happens often. */
static const struct os_errno {
    int theirs, ours;
} os_errnos[] = {
    {EAGAIN, PHX_EAGAIN},          {EWOULDBLOCK, PHX_EAGAIN},
    {ECONNRESET, PHX_ERESET},      {EPIPE, PHX_ERESET},
    {ECONNABORTED, PHX_ERESET},    {ENOTCONN, PHX_ERESET},
    {ECONNREFUSED, PHX_EREFUSED},  {EPROTOTYPE, PHX_EREFUSED}, /* a datagram socket is there */
    {ETIMEDOUT, PHX_ETIMEDOUT},    {ENETDOWN, PHX_EUNREACH},
    {ENETUNREACH, PHX_EUNREACH},   {EHOSTUNREACH, PHX_EUNREACH},
#ifdef EHOSTDOWN
    {EHOSTDOWN, PHX_EUNREACH},
#endif
    {EADDRINUSE, PHX_EINUSE},      {EROFS, PHX_EACCES},
    {EACCES, PHX_EACCES},          {EPERM, PHX_EACCES},
    {EADDRNOTAVAIL, PHX_ENOADDR},  {ENOTDIR, PHX_ENOADDR},
    {ENOENT, PHX_ENOADDR}, /* no directory for a path; what it means to os_dial, see there */
    {EMFILE, PHX_EMFILE},          {ENFILE, PHX_EMFILE},
    {ENOMEM, PHX_ENOMEM},          {ENOBUFS, PHX_ENOMEM},
    {EAFNOSUPPORT, PHX_ENOTSUP},   {EPROTONOSUPPORT, PHX_ENOTSUP},
    {EBADF, PHX_EINVAL}, /* the host adopted something that is not open */
};

int phx__os_poll_error(int theirs)
{
    for (size_t i = 0; i < PHX__COUNT(os_errnos); i++)
        if (os_errnos[i].theirs == theirs)
            return os_errnos[i].ours;
    return PHX_EIO; /* nothing a caller could act upon */
}

int phx__os_poll_high(int fd)
{
    int low = fd;
    if (fd < 0 || fd > 2)
        return fd;
    fd = fcntl(low, F_DUPFD_CLOEXEC, 3);
    close(low);
    return fd;
}

/* Bounded, because another thread may write as fast as we read. What is left is found the next time. */
void phx__os_poll_drain(int fd)
{
    char bytes[256];
    int rounds = 16;
    while (rounds-- > 0 && read(fd, bytes, sizeof bytes) == (ssize_t)sizeof bytes)
        ;
}

/* ---- epoll */

#ifdef OS_WAIT_EPOLL

int phx__os_poll_open(struct os_world *w)
{
    w->queue = phx__os_poll_high(epoll_create1(EPOLL_CLOEXEC));
    return w->queue < 0 ? phx__os_poll_error(errno) : 0;
}

/* Which handles are watched the kernel knows best, as a number may have got another owner in the host's
 * hands: changing what is not watched is an error. Only of the fresh one it is known. */
int phx__os_poll_watch(void *world, int handle, int events)
{
    struct os_world *w = (struct os_world *)world;
    struct epoll_event e = { .data = { .fd = handle } };
    int fresh = handle == w->fresh;
    w->fresh = fresh ? -1 : w->fresh;
    e.events = (events & PHX_READ ? (uint32_t)EPOLLIN : 0) | (events & PHX_WRITE ? (uint32_t)EPOLLOUT : 0);
    if (events == 0) {
        /* Deleting is not the same as no events: errors are reported as long as it is registered. */
        if (fresh || epoll_ctl(w->queue, EPOLL_CTL_DEL, handle, &e) == 0 || errno == ENOENT)
            return 0;
        return phx__os_poll_error(errno);
    }
    if (!fresh && epoll_ctl(w->queue, EPOLL_CTL_MOD, handle, &e) == 0)
        return 0;
    if ((!fresh && errno != ENOENT) || epoll_ctl(w->queue, EPOLL_CTL_ADD, handle, &e) != 0)
        return errno == EPERM || errno == ELOOP ? PHX_EINVAL : phx__os_poll_error(errno); /* no stream */
    return 0;
}

typedef struct epoll_event os_event;
#define OS_EVENT_HANDLE(e) ((e).data.fd)
#define OS_EVENT_HAS_FAILED(e) (((e).events & (EPOLLERR | EPOLLHUP)) != 0)
#define OS_EVENT_READS(e) (((e).events & EPOLLIN) != 0)
#define OS_EVENT_WRITES(e) (((e).events & EPOLLOUT) != 0)

/* The kernel moves what it reported to the end of its list, which makes a small capacity fair. */
static int os_take_events(const struct os_world *w, os_event *out, int capacity)
{
    return epoll_wait(w->queue, out, capacity, 0);
}

#endif

/* ---- kqueue */

#ifdef OS_WAIT_KQUEUE

int phx__os_poll_open(struct os_world *w)
{
    if ((w->queue = phx__os_poll_high(kqueue())) < 0 || fcntl(w->queue, F_SETFD, FD_CLOEXEC) != 0)
        return phx__os_poll_error(errno);
    return 0;
}

/* Reading and writing are two filters, each added or deleted by itself. Adding twice is fine. */
static int os_filter(struct os_world *w, int handle, int filter, int on)
{
    struct kevent change;
    EV_SET(&change, (uintptr_t)handle, (short)filter, on ? EV_ADD : EV_DELETE, 0, 0, 0);
    if (kevent(w->queue, &change, 1, NULL, 0, NULL) == 0 || (!on && errno == ENOENT))
        return 0;
    return phx__os_poll_error(errno);
}

int phx__os_poll_watch(void *world, int handle, int events)
{
    struct os_world *w = (struct os_world *)world;
    int err = os_filter(w, handle, EVFILT_READ, (events & PHX_READ) != 0);
    return err != 0 ? err : os_filter(w, handle, EVFILT_WRITE, (events & PHX_WRITE) != 0);
}

typedef struct kevent os_event;
#define OS_EVENT_HANDLE(e) ((int)(e).ident)
#define OS_EVENT_HAS_FAILED(e) (((e).flags & (EV_EOF | EV_ERROR)) != 0)
#define OS_EVENT_READS(e) ((e).filter == EVFILT_READ)
#define OS_EVENT_WRITES(e) ((e).filter != EVFILT_READ)

/* A handle that is ready both ways is reported twice. */
static int os_take_events(const struct os_world *w, os_event *out, int capacity)
{
    static const struct timespec at_once = {0, 0};
    return kevent(w->queue, NULL, 0, out, capacity, &at_once);
}

#endif

#ifndef OS_WAIT_POLL

int phx__os_poll_wait(void *world, struct phx_ready *out, int capacity)
{
    struct os_world *w = (struct os_world *)world;
    os_event ready[OS_BATCH];
    int i, n, count = 0;
    if (capacity <= 0)
        return 0; /* for the kernel that is an error */
    n = os_take_events(w, ready, capacity < OS_BATCH ? capacity : OS_BATCH);
    if (n < 0)
        return errno == EINTR ? 0 : phx__os_poll_error(errno); /* level-triggered: nothing is lost */
    for (i = 0; i < n; i++) {
        int failed = OS_EVENT_HAS_FAILED(ready[i]);
        if (OS_EVENT_HANDLE(ready[i]) == w->wake_read) {
            phx__os_poll_drain(w->wake_read);
            continue;
        }
        out[count].handle = OS_EVENT_HANDLE(ready[i]);
        out[count++].events = (failed || OS_EVENT_READS(ready[i]) ? PHX_READ : 0)
                              | (failed || OS_EVENT_WRITES(ready[i]) ? PHX_WRITE : 0);
    }
    return count;
}

void phx__os_poll_close(struct os_world *w)
{
    if (w->queue >= 0)
        close(w->queue);
}

#endif

/* ---- poll */

#ifdef OS_WAIT_POLL

int phx__os_poll_open(struct os_world *w)
{
    w->queue = PHX_ENOTSUP; /* no one descriptor stands for all */
    return 0;
}

void phx__os_poll_close(struct os_world *w)
{
    phx__mem_put(w->mem, w->polled, w->polled_capacity * sizeof *w->polled);
    phx__mem_put(w->mem, w->slots, w->slots_capacity * sizeof *w->slots);
}

int phx__os_poll_watch(void *world, int handle, int events)
{
    struct os_world *w = (struct os_world *)world;
    uint32_t slot = handle >= 0 && (uint32_t)handle < w->slots_capacity ? w->slots[handle] : 0;
    if (handle < 0)
        return PHX_EINVAL;
    if (events == 0) {
        if (slot == 0)
            return 0;
        w->polled[slot - 1] = w->polled[--w->polled_count]; /* the last entry moves into the gap */
        w->slots[w->polled[slot - 1].fd] = slot;
        w->slots[handle] = 0; /* after the line above: the last may be the one */
        return 0;
    }
    if (phx__mem_grow(w->mem, &w->slots, &w->slots_capacity, (uint32_t)handle + 1, sizeof *w->slots)
        || phx__mem_grow(w->mem, &w->polled, &w->polled_capacity, w->polled_count + 1, sizeof *w->polled))
        return PHX_ENOMEM;
    if (w->slots[handle] == 0)
        w->slots[handle] = ++w->polled_count;
    w->polled[w->slots[handle] - 1] = (struct pollfd){ /* revents: of an earlier owner of the place */
        .fd = handle, .events = (short)((events & PHX_READ ? POLLIN : 0) | (events & PHX_WRITE ? POLLOUT : 0))
    };
    return 0;
}

/* Each look begins behind the handle reported last, so all get their turn if more are ready than capacity. */
int phx__os_poll_wait(void *world, struct phx_ready *out, int capacity)
{
    struct os_world *w = (struct os_world *)world;
    uint32_t seen, at = w->start;
    int count = 0, n;
    capacity = capacity < OS_BATCH ? capacity : OS_BATCH;
    if ((n = poll(w->polled, (nfds_t)w->polled_count, 0)) < 0)
        return errno == EINTR ? 0 : phx__os_poll_error(errno); /* level-triggered: nothing is lost */
    if (n > 0 && w->polled[0].revents != 0)
        phx__os_poll_drain(w->wake_read);
    for (seen = 1; n > 0 && seen < w->polled_count && count < capacity; seen++, at++) {
        int e, failed;
        if (at == 0 || at >= w->polled_count)
            at = 1; /* behind the wake pipe */
        if ((e = w->polled[at].revents) == 0)
            continue;
        failed = e & (POLLERR | POLLHUP | POLLNVAL);
        out[count].handle = w->polled[at].fd;
        out[count++].events = (e & POLLIN || failed ? PHX_READ : 0) | (e & POLLOUT || failed ? PHX_WRITE : 0);
    }
    w->start = at;
    return count;
}

#endif
