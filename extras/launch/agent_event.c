/* agent_event.c - what an agent tells the launcher, and how it ends. */

#define _POSIX_C_SOURCE 200809L
#include "local.h"
#include "status.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define EVENT_MOST ((size_t)1 << 20)   /* lines for people are left out beyond this */
#define EVENT_GO_US ((uint64_t)2000000)  /* children that were told to go are killed then */

/* ---- Events -------------------------------------------------------------------------------------- */

void la_agent_put32(unsigned char *out, uint32_t v)
{
    out[0] = (unsigned char)v;
    out[1] = (unsigned char)(v >> 8);
    out[2] = (unsigned char)(v >> 16);
    out[3] = (unsigned char)(v >> 24);
}

uint32_t la_agent_get32(const unsigned char *in)
{
    return (uint32_t)in[0] | (uint32_t)in[1] << 8 | (uint32_t)in[2] << 16 | (uint32_t)in[3] << 24;
}

size_t la_event_put(const struct la_event *e, unsigned char out[LA_EVENT_HEAD + LA_EVENT_TEXT])
{
    size_t n = strlen(e->text);

    la_agent_put32(out, e->job);
    la_agent_put32(out + 4, e->rank);
    la_agent_put32(out + 8, e->count);
    la_agent_put32(out + 12, (uint32_t)e->value);
    la_agent_put32(out + 16, e->flags);
    memcpy(out + LA_EVENT_HEAD, e->text, n);
    return LA_EVENT_HEAD + n;
}

int la_event_get(struct la_event *e, const void *data, size_t size)
{
    const unsigned char *in = (const unsigned char *)data;
    size_t i;

    if (size < LA_EVENT_HEAD || size - LA_EVENT_HEAD >= LA_EVENT_TEXT)
        return PHX_EPROTO;
    e->job = la_agent_get32(in);
    e->rank = la_agent_get32(in + 4);
    e->count = la_agent_get32(in + 8);
    e->value = (int32_t)la_agent_get32(in + 12);
    e->flags = la_agent_get32(in + 16);
    size -= LA_EVENT_HEAD;
    for (i = 0; i < size; i++) /* it is meant for a terminal */
        e->text[i] = in[LA_EVENT_HEAD + i] < 0x20 || in[LA_EVENT_HEAD + i] == 0x7f
                         ? '?'
                         : (char)in[LA_EVENT_HEAD + i];
    e->text[size] = '\0';
    return 0;
}

/* Nobody would hear of what cannot be said for want of memory, and all would wait. So whoever is in such need
 * ends at once: its guard ends its processes, and those above and below lose the link with it. */
void la_agent_fatal(const char *why)
{
    fprintf(stderr, "phxrun: %s\n", why);
    _exit(LA_STATUS_ERROR);
}

/* The first of a queue, to, type, size, bytes: 0 if the tree has it, or an error. */
static int event_give(struct la_local *l, const struct la_queue *q)
{
    const unsigned char *at = la_queue_first(q);
    uint32_t to = la_agent_get32(at), type = la_agent_get32(at + 4), size = la_agent_get32(at + 8);

    if (l->root.event != NULL)
        return la_tree_down(l->tree, to, type, at + 12, size);
    return la_tree_up(l->tree, type, at + 12, size);
}

void la_agent_flush_events(struct la_local *l)
{
    struct la_queue now;
    int err = 0;

    if (l->flushing || l->events.size == 0)
        return;
    l->flushing = 1; /* what the tree calls meanwhile may say more, which waits in a queue of its own */
    now = l->events;
    memset(&l->events, 0, sizeof l->events);
    while (now.size > 0 && err != PHX_EAGAIN) {
        err = event_give(l, &now);
        if (err == PHX_ENOMEM)
            la_agent_fatal("no memory for an event");
        if (err != PHX_EAGAIN)
            la_queue_take(&now, 12 + la_agent_get32(la_queue_first(&now) + 8));
    }
    if (la_queue_add(&now, la_queue_first(&l->events), l->events.size) != 0)
        la_agent_fatal("no memory for events");
    la_queue_free(&l->events);
    l->events = now;
    l->flushing = 0;
}

void la_agent_post(struct la_local *l, uint32_t to, uint32_t type, const void *data, size_t size)
{
    unsigned char head[12];

    if (la_queue_room(&l->events, sizeof head + size) != 0)
        la_agent_fatal("no memory for an event");
    la_agent_put32(head, to);
    la_agent_put32(head + 4, type);
    la_agent_put32(head + 8, (uint32_t)size);
    (void)la_queue_add(&l->events, head, sizeof head);
    (void)la_queue_add(&l->events, data, size);
    la_agent_flush_events(l);
}

void la_agent_raise(struct la_local *l, uint32_t type, const void *data, size_t size)
{
    la_agent_post(l, 0, type, data, size);
}

void la_agent_up(struct la_local *l, uint32_t type, const struct la_event *e)
{
    unsigned char data[LA_EVENT_HEAD + LA_EVENT_TEXT];
    size_t n;

    if (l->root.event != NULL) {
        l->root.event(l->root.ctx, 0, type, e);
        return;
    }
    if (l->orphan || (type == LA_UP_SAY && l->events.size > EVENT_MOST))
        return;
    n = la_event_put(e, data);
    la_agent_raise(l, type, data, n);
}

void la_agent_tell(struct la_local *l, uint32_t type, uint32_t rank, int32_t value, const char *text)
{
    struct la_event e;

    memset(&e, 0, offsetof(struct la_event, text));
    e.rank = rank;
    e.count = 1;
    e.value = value;
    snprintf(e.text, sizeof e.text, "%s", text);
    la_agent_up(l, type, &e);
}

/* ---- Ending -------------------------------------------------------------------------------------- */

void la_agent_end(struct la_local *l, int now)
{
    const struct local_job *j;

    l->ending = 1;
    for (j = l->jobs; j != NULL; j = j->next)
        la_ranks_end(j->ranks, now);
}

/* There is no way to the launcher any more: all below ends. */
void la_agent_orphan(struct la_local *l)
{
    const struct local_job *j;

    if (l->orphan || l->over || l->root.event != NULL)
        return;
    l->orphan = 1;
    la_agent_end(l, 0);
    la_start_kill(l->start, SIGTERM);
    for (j = l->jobs; j != NULL; j = j->next)
        la_ranks_room(j->ranks); /* from here on it goes nowhere */
}

void la_agent_go(struct la_local *l)
{
    if (l->over)
        return;
    l->over = 1;
    l->go_at = l->now + EVENT_GO_US;
    la_agent_end(l, 1);
}

void la_local_over(struct la_local *l)
{
    struct la_event e;

    memset(&e, 0, sizeof e);
    la_local_down(l, LA_ALL, LA_DOWN_OVER, &e);
    la_agent_go(l);
}
