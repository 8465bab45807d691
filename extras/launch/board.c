/* board.c - what travels in a tree beside operations: events up and down, and the keys of the board. */

/* An event up has its origin and a number of that origin's; one down a number of agent 0's. Without go_on
 * they are forgotten when they are sent: the streams between neighbours lose nothing. With go_on the
 * origin keeps what goes up until agent 0 has it, and what goes down is kept by each agent until its whole
 * subtree has it: whoever gets a new parent, or a child, sends what may be lost, and numbers show what is
 * there already.
 *
 * A put is an event up, which all agents on its way read. A get climbs until an agent knows the key; one
 * agent asks once for a key, however many wait for it. The answer goes down the same way and stays in each
 * cache. */
#include "tree_state.h"

#include <stdlib.h>
#include <string.h>

/* ---- Events up ------------------------------------------------------------------------------- */

int la_board_event(struct la_tree *t, uint32_t type, const void *data, size_t size)
{
    struct la_buf *b = &t->mine;
    size_t was = la_wire_left(b);

    (void)la_wire_var(b, t->mine_number + 1);
    (void)la_wire_var(b, type);
    (void)la_wire_var(b, size);
    if (la_wire_bytes(b, data, size) == 0) {
        t->mine_number++;
        return 0;
    }
    b->size = b->first + was;
    b->failed = 0; /* this event was not taken, and that is all */
    return PHX_ENOMEM;
}

int la_board_is_quiet(const struct la_tree *t)
{
    return la_wire_left(&t->mine) == t->mine_at - t->mine_base;
}

/* At the root: is this the next event of its origin? */
static int board_is_next(struct la_tree *t, uint32_t origin, uint64_t number)
{
    uint32_t i;

    if (!t->go_on || origin == t->self)
        return 1;
    for (i = 0; i < t->origins_count && t->origins[i].agent != origin; i++)
        ;
    if (i == t->origins_count) {
        if (la_tree_grow(&t->origins, &t->origins_capacity, i + 1, sizeof *t->origins) != 0) {
            la_tree_fail(t);
            return 0;
        }
        t->origins[i].agent = origin;
        t->origins[i].heard = 0;
        t->origins_count++;
    }
    if (number != t->origins[i].heard + 1)
        return 0;
    t->origins[i].heard = number;
    return 1;
}

/* The child on the way to an agent; NULL: no way. An orphan that is our child now hides its old parent. */
static struct tree_edge *board_towards(struct la_tree *t, uint32_t agent)
{
    struct tree_edge *best = NULL;
    uint32_t i;

    for (i = 0; i < t->kids_count; i++) {
        struct tree_edge *e = &t->kids[i];
        if (e->state == TREE_LIVE && la_tree_has(e, agent)
            && (best == NULL || e->end - e->agent < best->end - best->agent))
            best = e;
    }
    return best;
}

/* Tells an origin how far agent 0 has heard it. Lost on the way it comes again with the replay. */
static int board_say_heard(struct la_tree *t, uint32_t origin, uint64_t number)
{
    struct tree_edge *e = board_towards(t, origin);
    struct la_buf m;

    if (e == NULL)
        return 0;
    memset(&m, 0, sizeof m);
    (void)la_wire_var(&m, origin);
    (void)la_wire_var(&m, number);
    return la_tree_queue_buf(t, e, TREE_HEARD_UP, &m);
}

static int board_differ(struct la_tree *t, struct la_reader *r)
{
    struct la_coll a, b;

    la_wire_take_coll(r, &a);
    la_wire_take_coll(r, &b);
    if (r->bad)
        return PHX_EPROTO;
    if (t->root)
        t->ops.differ(t->ops.ctx, &a, &b);
    return 0;
}

static int board_put(struct la_tree *t, struct la_reader *r)
{
    uint32_t job = la_wire_take_u32(r);
    const char *key = la_wire_take_text(r), *value = la_wire_take_text(r);

    if (r->bad)
        return PHX_EPROTO;
    if (la_tree_find_job(t, job) != NULL)
        t->ops.learn(t->ops.ctx, job, key, value);
    return 0;
}

/* The tree's own events are read on each agent of their way; the host's by agent 0. */
static int board_read(struct la_tree *t, uint32_t from, uint32_t type, const void *data, size_t size)
{
    struct la_reader r;

    la_wire_read(&r, data, size);
    if (type < TREE_EVENTS) {
        if (t->root)
            t->ops.up(t->ops.ctx, from, type, data, size);
        return 0;
    }
    if (type == TREE_PUT)
        return board_put(t, &r);
    if (type == TREE_DIFFER)
        return board_differ(t, &r);
    return PHX_EPROTO;
}

/* Agents that are gone: what is told above may be less than what was told here. */
static int board_recv_gone(struct la_tree *t, uint32_t kid, uint32_t origin, uint64_t number,
                           struct la_reader *r)
{
    struct la_buf m;
    int err;

    memset(&m, 0, sizeof m);
    (void)la_wire_var(&m, origin);
    (void)la_wire_var(&m, number);
    (void)la_wire_var(&m, TREE_GONE);
    err = la_replay_gone(t, &t->kids[kid], r, &m);
    if (err == 0 && !t->root)
        return la_tree_queue_buf(t, &t->up, TREE_EVENT_UP, &m);
    la_wire_free(&m);
    return err;
}

int la_board_recv_up(struct la_tree *t, uint32_t kid, struct la_reader *r)
{
    struct la_reader whole = *r;
    uint32_t origin = la_wire_take_u32(r), type;
    uint64_t number = la_wire_take_var(r);
    int err = 0;

    type = la_wire_take_u32(r);
    if (r->bad || !la_tree_has(&t->kids[kid], origin) || (type == TREE_GONE && !t->go_on))
        return PHX_EPROTO;
    if (type == TREE_GONE && (!t->root || board_is_next(t, origin, number)))
        err = board_recv_gone(t, kid, origin, number, r);
    else if (t->root && type != TREE_GONE && board_is_next(t, origin, number))
        err = board_read(t, origin, type, r->at, r->left);
    if (t->root) {
        if (err == 0 && t->go_on)
            err = board_say_heard(t, origin, number);
        return err;
    }
    if (type == TREE_GONE || err != 0)
        return err;
    if ((err = board_read(t, origin, type, r->at, r->left)) != 0)
        return err;
    return la_tree_queue(t, &t->up, TREE_EVENT_UP, whole.at, whole.left);
}

int la_board_recv_heard_up(struct la_tree *t, struct la_reader *r)
{
    uint32_t origin = la_wire_take_u32(r);
    uint64_t number = la_wire_take_var(r);
    struct la_reader of;

    if (r->bad || origin < t->self || origin >= t->end)
        return PHX_EPROTO;
    if (origin != t->self)
        return board_say_heard(t, origin, number);
    while (t->go_on && la_wire_left(&t->mine) > 0 && t->mine_base < t->mine_at) {
        size_t before = la_wire_left(&t->mine);
        la_wire_read(&of, la_wire_front(&t->mine), before);
        if (la_wire_take_var(&of) > number)
            break;
        (void)la_wire_take_var(&of);
        (void)la_wire_take(&of, (size_t)la_wire_take_var(&of));
        la_wire_drop(&t->mine, before - of.left);
        t->mine_base += before - of.left;
    }
    return 0;
}

/* The next own event: 1 if it has left, or was read here. */
static int board_send_mine(struct la_tree *t)
{
    size_t at = (size_t)(t->mine_at - t->mine_base), size, used;
    const unsigned char *data;
    struct la_reader r;
    uint64_t number;
    uint32_t type;

    if (la_wire_left(&t->mine) == at)
        return 0;
    la_wire_read(&r, la_wire_front(&t->mine) + at, la_wire_left(&t->mine) - at);
    used = r.left;
    number = la_wire_take_var(&r);
    type = la_wire_take_u32(&r);
    size = (size_t)la_wire_take_var(&r);
    data = la_wire_take(&r, size);
    used -= r.left;
    la_wire_clear(&t->scratch);
    if (t->root) { /* a callback may add events, and so move them */
        (void)la_wire_bytes(&t->scratch, data, size);
        la_wire_drop(&t->mine, used);
        t->mine_base = t->mine_at += used;
        if (t->scratch.failed || board_read(t, t->self, type, la_wire_front(&t->scratch), size) != 0)
            la_tree_fail(t);
        return 1;
    }
    if (!la_tree_can_send(&t->up, size + 32))
        return 0;
    (void)la_wire_var(&t->scratch, t->self);
    (void)la_wire_var(&t->scratch, number);
    (void)la_wire_var(&t->scratch, type);
    (void)la_wire_bytes(&t->scratch, data, size);
    if (la_tree_send(t, &t->up, TREE_EVENT_UP, &t->scratch) != 0)
        return 0;
    t->mine_at += used;
    if (!t->go_on) {
        la_wire_drop(&t->mine, used);
        t->mine_base += used;
    }
    return 1;
}

/* ---- Events down ----------------------------------------------------------------------------- */

struct board_down {
    uint64_t number;
    uint32_t to, type;
    size_t size, used;
    const unsigned char *data;
};

/* The event at this place of the log; 0: there is none. */
static int board_at(const struct la_tree *t, uint64_t at, struct board_down *out)
{
    size_t from = (size_t)(at - t->events_base);
    struct la_reader r;
    uint64_t to;

    la_wire_read(&r, la_wire_front(&t->events) + from, la_wire_left(&t->events) - from);
    if (r.left == 0)
        return 0;
    out->used = r.left;
    out->number = la_wire_take_var(&r);
    to = la_wire_take_var(&r);
    out->to = to == 0 ? LA_ALL : (uint32_t)(to - 1);
    out->type = la_wire_take_u32(&r);
    out->size = (size_t)la_wire_take_var(&r);
    out->data = la_wire_take(&r, out->size);
    out->used -= r.left;
    return 1;
}

static int board_add(struct la_tree *t, const struct board_down *d)
{
    size_t was = la_wire_left(&t->events);
    struct la_buf *b = &t->events;

    (void)la_wire_var(b, d->number);
    (void)la_wire_var(b, d->to == LA_ALL ? 0 : (uint64_t)d->to + 1);
    (void)la_wire_var(b, d->type);
    (void)la_wire_var(b, d->size);
    if (la_wire_bytes(b, d->data, d->size) == 0) {
        t->events_number = d->number;
        return 0;
    }
    b->size = b->first + was;
    b->failed = 0;
    return PHX_ENOMEM;
}

int la_tree_down(struct la_tree *t, uint32_t to, uint32_t type, const void *data, size_t size)
{
    struct board_down d;
    int err;

    if (!t->root || type >= TREE_EVENTS || size > LA_TREE_EVENT)
        return PHX_EINVAL;
    if (!la_tree_ready(t))
        return PHX_EAGAIN;
    d.number = t->events_number + 1;
    d.to = to;
    d.type = type;
    d.size = size;
    d.data = data;
    err = board_add(t, &d);
    la_tree_run(t);
    return err;
}

int la_board_recv_down(struct la_tree *t, struct la_reader *r)
{
    struct board_down d;
    uint64_t to;

    d.number = la_wire_take_var(r);
    to = la_wire_take_var(r);
    d.to = to == 0 ? LA_ALL : (uint32_t)(to - 1);
    d.type = la_wire_take_u32(r);
    d.data = r->at;
    d.size = r->left;
    if (r->bad || to > UINT32_MAX || d.size > LA_TREE_EVENT)
        return PHX_EPROTO;
    if (d.number <= t->events_number)
        return 0; /* a new parent does not know all that came from the old one */
    return board_add(t, &d);
}

/* Own events come out of the log, so that callbacks find it whole. */
static int board_deliver(struct la_tree *t)
{
    struct board_down d;

    if (!board_at(t, t->events_self, &d))
        return 0;
    t->events_self += d.used;
    if (d.to != LA_ALL && d.to != t->self)
        return 1;
    la_wire_clear(&t->scratch);
    if (la_wire_bytes(&t->scratch, d.data, d.size) != 0)
        la_tree_fail(t);
    else
        t->ops.down(t->ops.ctx, d.type, la_wire_front(&t->scratch), d.size);
    return 1;
}

static int board_send_down(struct la_tree *t, struct tree_edge *e)
{
    struct board_down d;
    int did = 0;

    while (e->state == TREE_LIVE && board_at(t, e->event_at, &d)) {
        if ((d.to == LA_ALL || la_tree_has(e, d.to)) && d.number > e->heard) {
            if (!la_tree_can_send(e, d.size + 32))
                return did;
            la_wire_clear(&t->scratch);
            (void)la_wire_var(&t->scratch, d.number);
            (void)la_wire_var(&t->scratch, d.to == LA_ALL ? 0 : (uint64_t)d.to + 1);
            (void)la_wire_var(&t->scratch, d.type);
            (void)la_wire_bytes(&t->scratch, d.data, d.size);
            if (la_tree_send(t, e, TREE_EVENT_DOWN, &t->scratch) != 0)
                return did;
        }
        e->event_at += d.used;
        did = 1;
    }
    return did;
}

/* May the first event of the log go? */
static int board_is_over(const struct la_tree *t, const struct board_down *d)
{
    const struct tree_edge *e;
    uint32_t i;

    if (t->events_self < t->events_base + d->used)
        return 0;
    for (i = 0; i < t->kids_count; i++) {
        e = &t->kids[i];
        if (e->state == TREE_AWAY || (d->to != LA_ALL && !la_tree_has(e, d->to)))
            continue;
        if (t->go_on ? e->heard < d->number : e->state == TREE_LIVE && e->event_at < t->events_base + d->used)
            return 0;
    }
    return 1;
}

static int board_trim(struct la_tree *t)
{
    struct board_down d;
    uint64_t heard = t->events_number;
    uint32_t i;

    while (board_at(t, t->events_base, &d) && board_is_over(t, &d)) {
        la_wire_drop(&t->events, d.used);
        t->events_base += d.used;
        for (i = 0; i < t->kids_count; i++)
            if (t->kids[i].event_at < t->events_base)
                t->kids[i].event_at = t->events_base;
    }
    if (board_at(t, t->events_base, &d))
        heard = d.number - 1;
    if (t->root || !t->go_on || heard <= t->events_heard || !la_tree_can_send(&t->up, 16))
        return 0;
    la_wire_clear(&t->scratch);
    (void)la_wire_var(&t->scratch, heard);
    if (la_tree_send(t, &t->up, TREE_HEARD_DOWN, &t->scratch) != 0)
        return 0;
    t->events_heard = heard;
    return 1;
}

/* ---- Keys ------------------------------------------------------------------------------------ */

static struct tree_want **board_want(struct la_tree *t, uint32_t job, const char *key)
{
    uint32_t hash = 2166136261u ^ job;
    const char *k;
    struct tree_want **at;

    for (k = key; *k != '\0'; k++)
        hash = (hash ^ (unsigned char)*k) * 16777619u;
    at = &t->wants[hash % TREE_BUCKETS];
    while (*at != NULL && ((*at)->job != job || strcmp((*at)->key, key) != 0))
        at = &(*at)->next;
    return at;
}

static int board_ask(struct la_tree *t, const struct tree_want *w)
{
    struct la_buf m;

    memset(&m, 0, sizeof m);
    (void)la_wire_var(&m, w->job);
    (void)la_wire_text(&m, w->key);
    return la_tree_queue_buf(t, &t->up, TREE_GET, &m);
}

/* NULL value: nobody has it. */
static int board_answer(struct la_tree *t, const struct tree_waiter *w, uint32_t job, const char *key,
                        const char *value)
{
    struct tree_edge *e;
    struct la_buf m;

    if (w->agent == t->self) {
        t->ops.got(t->ops.ctx, job, key, value, w->token);
        return 0;
    }
    e = la_tree_edge(t, w->agent);
    if (e == NULL || e->state != TREE_LIVE)
        return 0;
    memset(&m, 0, sizeof m);
    (void)la_wire_var(&m, job);
    (void)la_wire_text(&m, key);
    (void)la_wire_var(&m, value != NULL);
    (void)la_wire_text(&m, value != NULL ? value : "");
    return la_tree_queue_buf(t, e, TREE_GOT, &m);
}

static void board_want_free(struct la_tree *t, struct tree_want **at)
{
    struct tree_want *w = *at;

    *at = w->next;
    t->wants_count--;
    free(w->waiters);
    free(w->key);
    free(w);
}

static struct tree_want *board_want_new(struct la_tree *t, struct tree_want **at, uint32_t job,
                                        const char *key)
{
    struct tree_want *w = t->wants_count < TREE_WANTS ? calloc(1, sizeof *w) : NULL;

    if (w == NULL || (w->key = malloc(strlen(key) + 1)) == NULL) {
        free(w);
        return NULL;
    }
    memcpy(w->key, key, strlen(key) + 1);
    w->job = job;
    *at = w;
    t->wants_count++;
    return w;
}

/* Answers from the cache, or asks the parent if nobody has done so. */
static int board_get(struct la_tree *t, const struct tree_waiter *by, uint32_t job, const char *key)
{
    const char *value = NULL;
    struct tree_want **at, *w;
    int new;

    t->stats.gets++;
    t->stats.gets_below += by->agent != t->self;
    if (t->ops.lookup(t->ops.ctx, job, key, &value)) {
        t->stats.gets_here++;
        return board_answer(t, by, job, key, value);
    }
    if (t->root)
        return board_answer(t, by, job, key, NULL);
    at = board_want(t, job, key);
    new = *at == NULL;
    if ((w = new ? board_want_new(t, at, job, key) : *at) == NULL)
        return PHX_ENOMEM;
    if (la_tree_grow(&w->waiters, &w->capacity, w->count + 1, sizeof *w->waiters) != 0) {
        if (new)
            board_want_free(t, at);
        return PHX_ENOMEM;
    }
    w->waiters[w->count++] = *by;
    return new ? board_ask(t, w) : 0;
}

int la_tree_get(struct la_tree *t, uint32_t job, const char *key, uint64_t token)
{
    struct tree_waiter by;
    int err;

    if (la_tree_find_job(t, job) == NULL || strlen(key) > LA_TREE_EVENT / 2)
        return PHX_EINVAL;
    by.agent = t->self;
    by.token = token;
    err = board_get(t, &by, job, key);
    la_tree_run(t);
    return err;
}

int la_tree_put(struct la_tree *t, uint32_t job, const char *key, const char *value)
{
    struct la_buf m;
    int err = PHX_EAGAIN;

    if (la_tree_find_job(t, job) == NULL || strlen(key) + strlen(value) > LA_TREE_EVENT / 2)
        return PHX_EINVAL;
    memset(&m, 0, sizeof m);
    (void)la_wire_var(&m, job);
    (void)la_wire_text(&m, key);
    if (la_wire_text(&m, value) != 0)
        err = PHX_ENOMEM;
    else if (la_tree_ready(t))
        err = la_board_event(t, TREE_PUT, la_wire_front(&m), la_wire_left(&m));
    la_wire_free(&m);
    la_tree_run(t);
    return err;
}

int la_board_recv_get(struct la_tree *t, uint32_t kid, struct la_reader *r)
{
    uint32_t job = la_wire_take_u32(r);
    const char *key = la_wire_take_text(r);
    struct tree_waiter by;

    if (r->bad)
        return PHX_EPROTO;
    by.agent = t->kids[kid].agent;
    by.token = 0;
    if (la_tree_find_job(t, job) == NULL)
        return board_answer(t, &by, job, key, NULL);
    return board_get(t, &by, job, key);
}

int la_board_recv_got(struct la_tree *t, struct la_reader *r)
{
    uint32_t job = la_wire_take_u32(r), i;
    const char *key = la_wire_take_text(r);
    int found = la_wire_take_u32(r) != 0, err = 0;
    const char *value = la_wire_take_text(r);
    struct tree_want **at, *w;

    if (r->bad)
        return PHX_EPROTO;
    if (found && la_tree_find_job(t, job) != NULL)
        t->ops.learn(t->ops.ctx, job, key, value);
    at = board_want(t, job, key);
    if ((w = *at) == NULL)
        return 0; /* of an old parent, or those who asked are gone */
    *at = w->next;
    w->next = NULL;
    for (i = 0; i < w->count && err == 0; i++)
        err = board_answer(t, &w->waiters[i], job, key, found ? value : NULL);
    board_want_free(t, &w);
    return err;
}

int la_board_ask_again(struct la_tree *t)
{
    const struct tree_want *w;
    uint32_t i;
    int err = 0;

    for (i = 0; i < TREE_BUCKETS; i++)
        for (w = t->wants[i]; w != NULL && err == 0; w = w->next)
            err = board_ask(t, w);
    return err;
}

void la_board_forget(struct la_tree *t, uint32_t agent)
{
    struct tree_want *w;
    uint32_t i, k, n;

    for (i = 0; i < TREE_BUCKETS; i++)
        for (w = t->wants[i]; w != NULL; w = w->next) {
            for (k = n = 0; k < w->count; k++)
                if (w->waiters[k].agent != agent)
                    w->waiters[n++] = w->waiters[k];
            w->count = n;
        }
}

/* ---- Together -------------------------------------------------------------------------------- */

int la_board_run(struct la_tree *t)
{
    uint32_t i;
    int did = board_deliver(t);

    while (!t->failed && board_send_mine(t))
        did = 1;
    for (i = 0; i < t->kids_count; i++)
        did |= board_send_down(t, &t->kids[i]);
    return did | board_trim(t);
}

size_t la_board_waiting_down(const struct la_tree *t)
{
    uint64_t end = t->events_base + la_wire_left(&t->events), most = 0;
    size_t queued = 0;
    uint32_t i;

    for (i = 0; i < t->kids_count; i++) {
        if (t->kids[i].state != TREE_LIVE)
            continue;
        queued += la_wire_left(&t->kids[i].queue);
        if (end - t->kids[i].event_at > most)
            most = end - t->kids[i].event_at;
    }
    return queued + (size_t)most;
}

void la_board_free(struct la_tree *t)
{
    uint32_t i;

    for (i = 0; i < TREE_BUCKETS; i++)
        while (t->wants[i] != NULL)
            board_want_free(t, &t->wants[i]);
    la_wire_free(&t->mine);
    la_wire_free(&t->events);
    free(t->origins);
}
