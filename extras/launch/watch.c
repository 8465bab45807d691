/* watch.c - one wait for many descriptors: epoll where Linux has it, poll elsewhere. */

/* A table by descriptor holds who is to be called. A slot's generation grows whenever the slot is taken, and
 * travels with the event: what was reported for a descriptor that has been dropped, and perhaps taken again
 * since, is not delivered. */
#define _POSIX_C_SOURCE 200809L
#if defined(__linux__) && !defined(LA_POLL)
#define LA_EPOLL 1
#endif
#include "watch.h"
#include "../../phoenix.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#ifdef LA_EPOLL
#include <sys/epoll.h>
#endif

#define WATCH_BATCH 256 /* events taken from the system at once */

struct watch_slot {
    la_watch_fn fn; /* NULL: free */
    void *ctx;
    uint32_t generation;
    int events;
};

struct la_watch {
    struct watch_slot *slots; /* by descriptor */
    int slots_count;
#ifdef LA_EPOLL
    int fd;
    struct epoll_event ready[WATCH_BATCH];
#else
    struct pollfd *polled;
    uint32_t *generations; /* of the polled ones */
    int capacity;
#endif
};

int la_watch_new(struct la_watch **out)
{
    struct la_watch *w = (struct la_watch *)calloc(1, sizeof *w);

    *out = w;
    if (w == NULL)
        return PHX_ENOMEM;
#ifdef LA_EPOLL
    w->fd = epoll_create1(EPOLL_CLOEXEC);
    if (w->fd < 0) {
        free(w);
        *out = NULL;
        return errno == ENOMEM ? PHX_ENOMEM : PHX_EMFILE;
    }
#endif
    return 0;
}

void la_watch_free(struct la_watch *w)
{
    if (w == NULL)
        return;
#ifdef LA_EPOLL
    close(w->fd);
#else
    free(w->polled);
    free(w->generations);
#endif
    free(w->slots);
    free(w);
}

static int watch_grow(struct la_watch *w, int fd)
{
    int n = w->slots_count > 0 ? w->slots_count : 64;
    struct watch_slot *slots;

    if (fd < w->slots_count)
        return 0;
    while (n <= fd)
        n *= 2;
    slots = (struct watch_slot *)realloc(w->slots, (size_t)n * sizeof *slots);
    if (slots == NULL)
        return PHX_ENOMEM;
    memset(slots + w->slots_count, 0, (size_t)(n - w->slots_count) * sizeof *slots);
    w->slots = slots;
    w->slots_count = n;
    return 0;
}

#ifdef LA_EPOLL
static int watch_tell(struct la_watch *w, int fd, int was)
{
    const struct watch_slot *s = &w->slots[fd];
    struct epoll_event e;
    int op = s->events == 0 ? EPOLL_CTL_DEL : was == 0 ? EPOLL_CTL_ADD : EPOLL_CTL_MOD;

    memset(&e, 0, sizeof e);
    e.events = s->events & LA_READ ? (uint32_t)EPOLLIN : 0;
    e.events |= s->events & LA_WRITE ? (uint32_t)EPOLLOUT : 0;
    e.data.u64 = (uint64_t)s->generation << 32 | (uint32_t)fd;
    if (epoll_ctl(w->fd, op, fd, &e) == 0)
        return 0;
    return errno == ENOMEM || errno == ENOSPC ? PHX_ENOMEM : PHX_EINVAL;
}
#endif

int la_watch_add(struct la_watch *w, int fd, int events, la_watch_fn fn, void *ctx)
{
    struct watch_slot *s;
    int err = fd < 0 ? PHX_EINVAL : watch_grow(w, fd);

    if (err != 0)
        return err;
    s = &w->slots[fd];
    s->generation++;
    s->events = events;
    s->ctx = ctx;
    s->fn = fn;
#ifdef LA_EPOLL
    if (events != 0)
        err = watch_tell(w, fd, 0);
    if (err != 0)
        s->fn = NULL;
#endif
    return err;
}

void la_watch_set(struct la_watch *w, int fd, int events)
{
    struct watch_slot *s;
    int was;

    if (fd < 0 || fd >= w->slots_count || w->slots[fd].fn == NULL)
        return;
    s = &w->slots[fd];
    was = s->events;
    s->events = events;
#ifdef LA_EPOLL
    if (was != events)
        (void)watch_tell(w, fd, was); /* the descriptor was taken before, so there is room for it */
#else
    (void)was;
#endif
}

void la_watch_drop(struct la_watch *w, int fd)
{
    if (fd < 0 || fd >= w->slots_count || w->slots[fd].fn == NULL)
        return;
    la_watch_set(w, fd, 0);
    w->slots[fd].fn = NULL;
}

static void watch_call(struct la_watch *w, int fd, uint32_t generation, int events)
{
    const struct watch_slot *s;

    if (fd >= w->slots_count)
        return;
    s = &w->slots[fd];
    if (s->fn == NULL || s->generation != generation || s->events == 0)
        return;
    s->fn(s->ctx, fd, events & (s->events | LA_GONE));
}

#ifdef LA_EPOLL
int la_watch_wait(struct la_watch *w, int timeout_ms)
{
    int n = epoll_wait(w->fd, w->ready, WATCH_BATCH, timeout_ms), i;

    if (n < 0)
        return errno == EINTR ? 0 : PHX_EIO;
    for (i = 0; i < n; i++) {
        uint32_t got = w->ready[i].events;
        int events = (got & (uint32_t)EPOLLIN ? LA_READ : 0) | (got & (uint32_t)EPOLLOUT ? LA_WRITE : 0);
        if (got & ((uint32_t)EPOLLHUP | (uint32_t)EPOLLERR))
            events |= LA_GONE | LA_READ | LA_WRITE;
        watch_call(w, (int)(uint32_t)w->ready[i].data.u64, (uint32_t)(w->ready[i].data.u64 >> 32), events);
    }
    return 0;
}
#else
static int watch_list(struct la_watch *w)
{
    int fd, n = 0;

    if (w->capacity < w->slots_count) {
        struct pollfd *polled = (struct pollfd *)realloc(w->polled, (size_t)w->slots_count * sizeof *polled);
        uint32_t *generations;
        if (polled == NULL)
            return PHX_ENOMEM;
        w->polled = polled;
        generations = (uint32_t *)realloc(w->generations, (size_t)w->slots_count * sizeof *generations);
        if (generations == NULL)
            return PHX_ENOMEM;
        w->generations = generations;
        w->capacity = w->slots_count;
    }
    for (fd = 0; fd < w->slots_count; fd++) {
        const struct watch_slot *s = &w->slots[fd];
        if (s->fn == NULL || s->events == 0)
            continue;
        w->polled[n].fd = fd;
        w->polled[n].events = s->events & LA_READ ? POLLIN : 0;
        w->polled[n].events |= s->events & LA_WRITE ? POLLOUT : 0;
        w->polled[n].revents = 0;
        w->generations[n++] = s->generation;
    }
    return n;
}

int la_watch_wait(struct la_watch *w, int timeout_ms)
{
    int n = watch_list(w), i;

    if (n < 0)
        return n;
    if (poll(w->polled, (nfds_t)n, timeout_ms) < 0)
        return errno == EINTR || errno == EAGAIN ? 0 : PHX_EIO;
    for (i = 0; i < n; i++) {
        int got = w->polled[i].revents;
        int events = (got & POLLIN ? LA_READ : 0) | (got & POLLOUT ? LA_WRITE : 0);
        if (got & (POLLHUP | POLLERR | POLLNVAL))
            events |= LA_GONE | LA_READ | LA_WRITE;
        if (events != 0)
            watch_call(w, w->polled[i].fd, w->generations[i], events);
    }
    return 0;
}
#endif
