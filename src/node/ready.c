/* ready.c - which links have something to read: wait() tells, the host does, or a prediction. */
#include "node/links.h"

/* Readiness asked for at once. */
#define READY_MOST 128
/* After READY_PREDICTED_AFTER consecutive waits in which only the predicted link was ready, up to
 * READY_PREDICTED_MOST steps read it without calling wait(). Other links wait for that many reads. A host
 * that sleeps still wakes for them: their descriptors stay readable. */
#define READY_PREDICTED_AFTER 4u
#define READY_PREDICTED_MOST 16u
/* No prediction is used later than this after the last wait(): the other nodes of a host that steps ten times
 * a second would seem dead. */
#define READY_PREDICTED_TIME (5 * PHX__MS)

/* A host that sleeps until one link is ready learns twice which link that is: when it wakes, and from wait().
 * Often that can be predicted: it is the same link each time, or at a relay the two ends of a conversation in
 * turn. So each link keeps which one was ready after it, and after READY_PREDICTED_AFTER right predictions
 * that link is read without a wait().
 *
 * The link that should be ready now, or NULL: there is no prediction. */
static struct phx__link *ready_predict(const phx *p)
{
    const struct phx__links *s = &p->links;
    struct phx__link *l;

    if (s->predicted < READY_PREDICTED_AFTER || s->predicted >= READY_PREDICTED_AFTER + READY_PREDICTED_MOST
        || p->detect.blind || p->now > s->waited_at + READY_PREDICTED_TIME || s->last_ready >= s->size
        || s->at[s->last_ready] == NULL || s->at[s->last_ready]->after >= s->size)
        return NULL;
    l = s->at[s->at[s->last_ready]->after];
    return l != NULL && l->state == PHX__LINK_UP && !l->out.full ? l : NULL;
}

/* 1: a link was read, and what others may have is seen at one of the next steps. If it had nothing, the
 * prediction was wrong and cost this step its one system call: the next step, which is to come at once,
 * calls wait(). */
static int ready_read_predicted(phx *p)
{
    struct phx__link *l = ready_predict(p);
    uint64_t before;

    if (l == NULL)
        return 0;
    before = l->in.bytes;
    p->links.last_ready = l->slot;
    phx__node_links_read(p, l);
    if (l->in.bytes != before) {
        p->links.predicted++;
    } else {
        p->links.predicted = 0;
        p->step.more = 1;
    }
    return 1;
}

/* What wait() has found, for the next prediction. */
static void ready_learn_order(phx *p, const struct phx_ready *ready, int n)
{
    struct phx__links *s = &p->links;
    uint32_t slot = n == 1 && ready->events == PHX_READ
                        ? phx__map_get(&s->handles, (uint64_t)ready->handle)
                        : PHX__NONE;
    struct phx__link *last = s->last_ready < s->size ? s->at[s->last_ready] : NULL;

    if (slot >= s->size || last == NULL || last->after != slot)
        s->predicted = 0;
    else if (s->predicted < READY_PREDICTED_AFTER)
        s->predicted++;
    else
        s->predicted = READY_PREDICTED_AFTER; /* begins again */
    if (slot >= s->size)
        return;
    if (last != NULL)
        last->after = slot;
    s->last_ready = slot;
}

void phx__node_ready_wait(phx *p)
{
    struct phx_ready ready[READY_MOST];
    int i, n;

    if (ready_read_predicted(p))
        return;
    p->set.os_calls++;
    p->links.waited_at = p->now;
    n = p->os.wait(p->os.world, ready, READY_MOST);
    ready_learn_order(p, ready, n);
    for (i = 0; i < n; i++)
        phx__node_links_ready(p, ready[i].handle, ready[i].events);
    if (n == READY_MOST)
        p->step.more = 1;
}

void phx__node_ready_given(phx *p, const struct pollfd *fds, int n)
{
    int wake = phx__os_wake_handle(&p->os);
    int i;

    for (i = 0; i < n; i++) {
        int broken = fds[i].revents & (POLLERR | POLLHUP | POLLNVAL);
        int events = (fds[i].revents & POLLIN || broken ? PHX_READ : 0)
                     | (fds[i].revents & POLLOUT || broken ? PHX_WRITE : 0);
        if (events == 0 || fds[i].fd < 0)
            continue;
        if (fds[i].fd == wake)
            phx__os_wake_drain(&p->os);
        else
            phx__node_links_ready(p, fds[i].fd, events);
    }
}
