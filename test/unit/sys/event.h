/* event.h - a small kqueue made of epoll, for trying the path of the BSDs on Linux. */

/* Found by #include <sys/event.h> where this directory's parent is searched; see t_node_kqueue.c. What
 * src/os/poll.c uses is there, with the constants of FreeBSD: a filter each for reading and writing; EV_ADD
 * of what is there already is fine, EV_DELETE of what is not is ENOENT; closing a descriptor takes its
 * filters away; the end of a stream is EV_EOF; a handle that is ready both ways is two events; all of it is
 * level-triggered. */
#ifndef TEST_SYS_EVENT_H
#define TEST_SYS_EVENT_H
#include <errno.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <time.h>

#define EVFILT_READ (-1)
#define EVFILT_WRITE (-2)
#define EV_ADD 0x0001
#define EV_DELETE 0x0002
#define EV_ERROR 0x4000
#define EV_EOF 0x8000

struct kevent {
    uintptr_t ident;
    short filter;
    unsigned short flags;
    unsigned int fflags;
    intptr_t data;
    void *udata;
};

#define EV_SET(e, i, f, g, h, d, u) (*(e) = (struct kevent){ (i), (f), (g), (h), (d), (u) })

#define EVENT_FDS 1024
static unsigned char event_on[EVENT_FDS][EVENT_FDS]; /* by queue and descriptor: EPOLLIN, EPOLLOUT */
static unsigned event_turn; /* where both filters are ready and there is room for one */

static inline int kqueue(void)
{
    int queue = epoll_create1(0);

    for (int i = 0; queue >= 0 && queue < EVENT_FDS && i < EVENT_FDS; i++)
        event_on[queue][i] = 0;
    return queue;
}

static inline int event_change(int queue, const struct kevent *c)
{
    int fd = (int)c->ident, before, after, bit = c->filter == EVFILT_READ ? EPOLLIN : EPOLLOUT;
    struct epoll_event e = { .data = { .fd = fd } };

    if (queue < 0 || queue >= EVENT_FDS || c->ident >= EVENT_FDS) {
        errno = EBADF;
        return -1;
    }
    before = event_on[queue][fd];
    after = c->flags & EV_ADD ? before | bit : before & ~bit;
    if (!(c->flags & EV_ADD) && !(before & bit)) {
        errno = ENOENT;
        return -1;
    }
    e.events = (uint32_t)after | (after & EPOLLIN ? (uint32_t)EPOLLRDHUP : 0);
    if (before != 0 && epoll_ctl(queue, after != 0 ? EPOLL_CTL_MOD : EPOLL_CTL_DEL, fd, &e) == 0) {
        event_on[queue][fd] = (unsigned char)after;
        return 0;
    }
    event_on[queue][fd] = 0;
    if (!(c->flags & EV_ADD))
        return -1; /* it was closed: errno is ENOENT, or EBADF */
    e.events = (uint32_t)bit | (bit == EPOLLIN ? (uint32_t)EPOLLRDHUP : 0);
    if (epoll_ctl(queue, EPOLL_CTL_ADD, fd, &e) != 0)
        return -1;
    event_on[queue][fd] = (unsigned char)bit;
    return 0;
}

/* An event for each filter that is ready: how many. */
static inline int event_tell(const struct epoll_event *e, unsigned on, struct kevent *out, int room)
{
    uint32_t ended = EPOLLRDHUP | EPOLLHUP | EPOLLERR;
    int n = 0, k;

    for (k = 0; k < 2 && n < room; k++) {
        int reads = ((unsigned)k + event_turn) % 2 == 0;
        uint32_t bit = reads ? (uint32_t)EPOLLIN : (uint32_t)EPOLLOUT;
        if (!(on & bit) || !(e->events & (bit | (reads ? ended : EPOLLHUP | EPOLLERR))))
            continue;
        out[n++] = (struct kevent){ .ident = (uintptr_t)e->data.fd,
                                    .filter = reads ? EVFILT_READ : EVFILT_WRITE,
                                    .flags = (unsigned short)(e->events & ended ? EV_EOF : 0) };
    }
    event_turn += room == 1;
    return n;
}

static inline int kevent(int queue, const struct kevent *changes, int changes_count, struct kevent *out,
                         int capacity, const struct timespec *timeout)
{
    struct epoll_event ready[64];
    int i, n, count = 0;

    for (i = 0; i < changes_count; i++)
        if (event_change(queue, &changes[i]) != 0)
            return -1;
    if (capacity <= 0)
        return 0;
    n = capacity < 2 ? 1 : capacity / 2 < 64 ? capacity / 2 : 64;
    if ((n = epoll_wait(queue, ready, n, timeout != NULL ? (int)timeout->tv_sec * 1000 : -1)) < 0)
        return -1;
    for (i = 0; i < n; i++)
        count += event_tell(&ready[i], event_on[queue][ready[i].data.fd], out + count, capacity - count);
    return count;
}

#endif
