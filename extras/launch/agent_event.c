/* agent_event.c - what an agent tells the launcher, and how it ends. */

#define _POSIX_C_SOURCE 200809L
#include "local.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#define EVENT_MOST ((size_t)1 << 20)   /* lines for people are left out beyond this */
#define EVENT_BATCH_US ((uint64_t)10000) /* exits without a fault wait for others of their kind */
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

    la_agent_put32(out, e->rank);
    la_agent_put32(out + 4, e->count);
    la_agent_put32(out + 8, (uint32_t)e->value);
    la_agent_put32(out + 12, e->flags);
    memcpy(out + LA_EVENT_HEAD, e->text, n);
    return LA_EVENT_HEAD + n;
}

int la_event_get(struct la_event *e, const void *data, size_t size)
{
    const unsigned char *in = (const unsigned char *)data;
    size_t i;

    if (size < LA_EVENT_HEAD || size - LA_EVENT_HEAD >= LA_EVENT_TEXT)
        return PHX_EPROTO;
    e->rank = la_agent_get32(in);
    e->count = la_agent_get32(in + 4);
    e->value = (int32_t)la_agent_get32(in + 8);
    e->flags = la_agent_get32(in + 12);
    size -= LA_EVENT_HEAD;
    for (i = 0; i < size; i++) /* it is meant for a terminal */
        e->text[i] = in[LA_EVENT_HEAD + i] < 0x20 || in[LA_EVENT_HEAD + i] == 0x7f
                         ? '?'
                         : (char)in[LA_EVENT_HEAD + i];
    e->text[size] = '\0';
    return 0;
}

void la_agent_flush_events(struct la_local *l)
{
    struct la_queue now;
    int err = 0;

    la_agent_flush_names(l);
    if (l->flushing || l->events.size == 0)
        return;
    l->flushing = 1; /* what the tree calls meanwhile may say more, which waits in a queue of its own */
    now = l->events;
    memset(&l->events, 0, sizeof l->events);
    while (now.size > 0 && err != PHX_EAGAIN) {
        const unsigned char *at = la_queue_first(&now);
        uint32_t size = la_agent_get32(at + 4);
        err = la_tree_up(l->tree, la_agent_get32(at), at + 8, size);
        if (err != PHX_EAGAIN)
            la_queue_take(&now, 8 + size);
    }
    (void)la_queue_add(&now, la_queue_first(&l->events), l->events.size);
    la_queue_free(&l->events);
    l->events = now;
    l->flushing = 0;
}

void la_agent_up(struct la_local *l, uint32_t type, const struct la_event *e)
{
    unsigned char data[8 + LA_EVENT_HEAD + LA_EVENT_TEXT];
    size_t n;

    if (l->root.event != NULL) {
        l->root.event(l->root.ctx, 0, type, e);
        return;
    }
    if (l->orphan || (type == LA_UP_SAY && l->events.size > EVENT_MOST))
        return;
    n = la_event_put(e, data + 8);
    la_agent_put32(data, type);
    la_agent_put32(data + 4, (uint32_t)n);
    if (la_queue_add(&l->events, data, 8 + n) == 0)
        la_agent_flush_events(l);
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

/* ---- Ends of ranks ------------------------------------------------------------------------------- */

void la_agent_flush_exits(struct la_local *l)
{
    struct la_event e;
    size_t i, n = l->exits_count;

    l->exits_count = 0;
    l->exits_due = UINT64_MAX;
    for (i = 0; i < n; i++) {
        e.rank = l->exits[i].rank;
        e.count = l->exits[i].count;
        e.value = l->exits[i].value;
        e.flags = l->exits[i].flags;
        e.text[0] = '\0';
        la_agent_up(l, LA_UP_EXITS, &e);
    }
}

static void local_unstarted(struct la_local *l, const struct la_end *end)
{
    struct la_event e;

    e.rank = end->rank;
    e.count = 1;
    e.value = end->error;
    e.flags = end->directory ? LA_EVENT_DIRECTORY : 0;
    snprintf(e.text, sizeof e.text, "%s", end->what != NULL ? end->what : "");
    la_agent_up(l, LA_UP_UNSTARTED, &e);
}

void la_agent_ended(void *ctx, const struct la_end *end)
{
    struct la_local *l = (struct la_local *)ctx;
    struct local_exits e, *last;

    if (end->error != 0 && end->error != ECANCELED)
        local_unstarted(l, end);
    e.rank = end->rank;
    e.count = 1;
    e.value = end->error != 0 ? 0 : end->wait;
    e.flags = (end->inited ? LA_EVENT_INITED : 0) | (end->finalized ? LA_EVENT_FINALIZED : 0)
              | (end->error != 0 ? LA_EVENT_UNSTARTED : 0);
    if (l->exits_count == LOCAL_EXITS)
        la_agent_flush_exits(l);
    last = l->exits_count > 0 ? &l->exits[l->exits_count - 1] : NULL;
    if (last != NULL && last->rank + last->count == e.rank && last->value == e.value
        && last->flags == e.flags)
        last->count++;
    else
        l->exits[l->exits_count++] = e;
    if (e.value != 0)
        l->exits_due = 0;
    else if (l->exits_due == UINT64_MAX)
        l->exits_due = l->now + EVENT_BATCH_US;
}

void la_agent_said(void *ctx, uint32_t rank, int finalize)
{
    struct la_local *l = (struct la_local *)ctx;

    if (finalize || l->said_init)
        return;
    l->said_init = 1;
    la_agent_tell(l, LA_UP_INIT, rank, 0, "");
}

/* ---- Ending -------------------------------------------------------------------------------------- */

void la_agent_end(struct la_local *l, int now)
{
    l->ending = 1;
    la_ranks_end(l->ranks, now);
}

/* There is no way to the launcher any more: all below ends. */
void la_agent_orphan(struct la_local *l)
{
    if (l->orphan || l->over || l->root.event != NULL)
        return;
    l->orphan = 1;
    la_agent_end(l, 0);
    la_start_kill(l->start, SIGTERM);
    la_ranks_room(l->ranks); /* from here on it goes nowhere */
}

void la_agent_go(struct la_local *l)
{
    if (l->over)
        return;
    l->over = 1;
    l->go_at = l->now + EVENT_GO_US;
    la_ranks_end(l->ranks, 1);
}

void la_local_over(struct la_local *l)
{
    struct la_event e;

    memset(&e, 0, sizeof e);
    la_local_down(l, LA_DOWN_OVER, &e);
    la_agent_go(l);
}
