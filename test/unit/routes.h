/* routes.h - a world of routing brains: links are queues, time is a number, faults are drawn. */

/* Hosts have ranks, and a rank is the first byte of an id; every brain has its own indices. A link
 * is made by the two words of the real handshake, so one end is up before the other, and each end
 * hears of its loss when it has read what was still under way. Notes carry the number of their
 * link: what belongs to a link that has been replaced is dropped, as phx__node_frames_in does.
 *
 *      world_link: b's ANSWER -> a is up, a's PROOF -> b is up
 *      world_cut: some notes are lost, END to both
 *
 * After each event on a host its table is looked at (world_look): what may never be is counted. */
#ifndef TEST_ROUTES_H
#define TEST_ROUTES_H
#ifdef PHX_PAPER
#include "../sim/paper.h"
#endif

enum { WORLD_MAX = 20 };
#define WORLD_HOPS 16

enum note_kind {
    NOTE_UPDATE,
    NOTE_REQUEST,
    NOTE_BEAT,
    NOTE_SUMMARY,
    NOTE_ANSWER,
    NOTE_PROOF,
    NOTE_END
};

struct item {
    struct phx__entry e;
    uint8_t card[4];
};

/* What a side says of itself in the handshake; echo: what the other side has said. */
struct words {
    uint64_t incarnation;
    uint32_t seq, card, have, echo;
};

struct note {
    struct note *next;
    enum note_kind kind;
    uint32_t link;
    uint32_t count; /* items or lines */
    int flags;      /* of a beat; reply of a summary; hops of a request */
    struct item *items;
#ifdef PHX_PAPER
    struct paper_sets sets;
#endif
    struct phx__entry *lines;
    struct phx__request request;
    struct phx__beat beat;
    struct words words;
};

struct queue {
    struct note *head, **tail;
    uint32_t count;
};

/* What a host has held of a destination, to see that it never goes back. */
struct mark {
    uint64_t incarnation;
    uint32_t seq;
    uint8_t hops, set;
};

struct host {
    struct world *w;
    uint32_t rank;
    int alive;
    int full; /* no link has room for news */
    int starting; /* first dials wait */
    struct test_heap heap;
    struct phx_alloc alloc;
    struct phx__mem mem;
    struct phx__ids ids;
    struct phx__timers timers;
    struct phx__rnd rnd;
    struct phx__route route;
#ifdef PHX_PAPER
    struct paper *paper; /* NULL: the product's rules */
#endif
    struct mark mark[WORLD_MAX];
};

struct world {
    uint32_t count;
    int rules; /* of paper.h, with PHX_PAPER; 0: the product's */
    uint64_t now;
    struct phx__rnd rnd;
    struct host host[WORLD_MAX];
    struct queue queue[WORLD_MAX][WORLD_MAX]; /* from, to */
    uint32_t wire[WORLD_MAX][WORLD_MAX];      /* the link that exists; 0: none */
    uint32_t link[WORLD_MAX][WORLD_MAX];      /* the link that the first one sees up; 0: none */
    uint64_t seen[WORLD_MAX][WORLD_MAX];      /* the incarnation that the first one met on it */
    uint32_t links, notes;                    /* links made so far; notes under way */
    long drop;                                /* the so many-th update from now is lost; 0: none */
    int dropped;
    uint32_t loops, regressed, forged, dangling, loose; /* what may never be seen */
    uint32_t summaries, requests, events;
};

/* ---- Notes ----------------------------------------------------------------------------------- */

static inline void note_free(struct note *n)
{
    free(n->items);
#ifdef PHX_PAPER
    paper_clear(&n->sets);
#endif
    free(n->lines);
    free(n);
}

static inline struct note *note_new(enum note_kind kind, uint32_t link)
{
    struct note *n = calloc(1, sizeof *n);

    n->kind = kind;
    n->link = link;
    return n;
}

static inline void queue_put(struct world *w, uint32_t from, uint32_t to, struct note *n)
{
    struct queue *q = &w->queue[from][to];

    if (q->count++ == 0)
        q->tail = &q->head;
    *q->tail = n;
    q->tail = &n->next;
    w->notes++;
}

static inline struct note *queue_take(struct world *w, uint32_t from, uint32_t to)
{
    struct queue *q = &w->queue[from][to];
    struct note *n = q->head;

    if (n == NULL)
        return NULL;
    q->head = n->next;
    q->count--;
    w->notes--;
    return n;
}

/* Of this link's notes the first ones are kept, so many as `keep`. Link 0: of all links'. */
static inline void queue_cut(struct world *w, uint32_t from, uint32_t to, uint32_t link,
                             uint32_t keep)
{
    uint32_t i, count = w->queue[from][to].count;

    for (i = 0; i < count; i++) {
        struct note *n = queue_take(w, from, to);
        n->next = NULL;
        if (link != 0 && n->link != link)
            queue_put(w, from, to, n);
        else if (keep > 0 && keep-- > 0)
            queue_put(w, from, to, n);
        else
            note_free(n);
    }
}

/* ---- What a brain asks for ------------------------------------------------------------------- */

static inline uint32_t host_rank(const struct host *h, uint32_t node)
{
    return h->ids.at[node].b[0];
}

static inline void host_id(struct phx_id *id, uint32_t rank)
{
    memset(id, 0, sizeof *id);
    id->b[0] = (uint8_t)rank;
    id->b[15] = 0x5a;
}

static inline uint32_t host_node(const struct host *h, uint32_t rank)
{
    struct phx_id id;

    host_id(&id, rank);
    return phx__id_find(&h->ids, &id);
}

static inline const struct phx__dest *host_dest(const struct host *h, uint32_t rank)
{
    uint32_t node = host_node(h, rank);

    return node == PHX__NONE ? NULL : phx__route_dest(&h->route, node);
}

/* Lost if the link is no more: the sender will hear of that. */
static inline void host_send(struct host *h, uint32_t nbr, struct note *n)
{
    uint32_t to = host_rank(h, nbr);

    n->link = h->w->link[h->rank][to];
    if (n->link == 0 || n->link != h->w->wire[h->rank][to])
        note_free(n);
    else
        queue_put(h->w, h->rank, to, n);
}

static inline void host_update(phx *ctx, uint32_t nbr, const struct phx__entry *entries,
                               uint32_t count)
{
    struct host *h = (void *)ctx;
    struct note *n;
    uint32_t i;

    if (h->w->drop > 0 && --h->w->drop == 0) {
        h->w->dropped++;
        return;
    }
    n = note_new(NOTE_UPDATE, 0);
    n->count = count;
    n->items = calloc(count, sizeof *n->items);
#ifdef PHX_PAPER
    if (h->paper != NULL) {
        n->sets = h->paper->out;
        memset(&h->paper->out, 0, sizeof h->paper->out);
    }
#endif
    for (i = 0; i < count; i++) {
        n->items[i].e = entries[i];
        if (entries[i].card != NULL)
            memcpy(n->items[i].card, entries[i].card, sizeof n->items[i].card);
    }
    host_send(h, nbr, n);
}

static inline size_t host_room(phx *ctx, uint32_t nbr)
{
    const struct host *h = (const struct host *)ctx;

    (void)nbr;
    return h->full ? 0 : SIZE_MAX;
}

static inline void host_request(phx *ctx, uint32_t nbr, uint32_t node, uint32_t seq, int hops)
{
    struct host *h = (void *)ctx;
    struct note *n = note_new(NOTE_REQUEST, 0);

    n->request.id = h->ids.at[node];
    n->request.incarnation = phx__route_dest(&h->route, node)->incarnation;
    n->request.seq = seq;
    n->flags = hops;
    h->w->requests++;
    host_send(h, nbr, n);
}

static inline void host_beat(phx *ctx, uint32_t nbr, int flags)
{
    struct host *h = (void *)ctx;
    struct note *n = note_new(NOTE_BEAT, 0);

    phx__route_beat_fill(&h->route, nbr, &n->beat);
    n->flags = flags;
    host_send(h, nbr, n);
}

static inline void host_summary(phx *ctx, uint32_t nbr, int reply)
{
    struct host *h = (void *)ctx;
    struct note *n = note_new(NOTE_SUMMARY, 0);
    uint32_t node;

    n->flags = reply;
    n->lines = calloc(h->ids.size, sizeof *n->lines);
    for (node = 0; node < h->ids.size; node++) {
        const struct phx__dest *d = phx__route_dest(&h->route, node);
        if (d == NULL)
            continue;
        n->lines[n->count].id = h->ids.at[node];
        n->lines[n->count].incarnation = d->incarnation;
        n->lines[n->count].seq = d->seq;
        n->lines[n->count++].hops = d->hops;
    }
    h->w->summaries++;
    host_send(h, nbr, n);
}

/* ---- Hosts ----------------------------------------------------------------------------------- */

/* A card names its owner and version. */
static inline int host_card(struct host *h)
{
    const struct phx__dest *d = phx__route_dest(&h->route, PHX__SELF);
    uint8_t card[4];

    memset(card, 0, sizeof card);
    card[2] = (uint8_t)h->rank;
    card[1] = (uint8_t)(d->card_version + 1);
    return phx__route_card(&h->route, card, sizeof card, h->w->now);
}

static inline int host_starting(phx *ctx)
{
    return ((struct host *)ctx)->starting;
}

static inline int host_start(struct world *w, uint32_t rank, uint64_t incarnation)
{
    struct host *h = &w->host[rank];
    struct phx__route_ops ops;
    struct phx_id id;
    uint32_t self;
    int err;

    ops.ctx = (void *)h;
    ops.update = host_update;
    ops.request = host_request;
    ops.beat = host_beat;
    ops.summary = host_summary;
    ops.room = host_room;
    ops.starting = host_starting;
    h->w = w;
    h->rank = rank;
    h->alive = 1;
    h->alloc.alloc = test_alloc;
    h->alloc.world = &h->heap;
    memset(h->mark, 0, sizeof h->mark);
    phx__mem_init(&h->mem, &h->alloc, 0);
    phx__id_init(&h->ids, &h->mem, 1000);
    phx__timer_init(&h->timers, &h->mem);
    phx__rnd_seed(&h->rnd, phx__rnd_next(&w->rnd), rank);
    host_id(&id, rank);
    memset(&h->route, 0, sizeof h->route);
    h->route.mem = &h->mem;
    h->route.table.mem = &h->mem;
    if ((err = phx__id_add(&h->ids, &id, &self)) != 0)
        return err;
    err = phx__route_init(&h->route, &h->mem, &h->ids, &h->timers, &h->rnd, WORLD_HOPS,
                          incarnation, &ops);
#ifdef PHX_PAPER
    if (w->rules != 0) {
        h->paper = paper_new(w->rules, NULL);
        h->route.rules = &h->paper->rules;
    }
#endif
    return err != 0 ? err : host_card(h);
}

static inline void host_free(struct host *h)
{
    phx__route_free(&h->route);
#ifdef PHX_PAPER
    paper_free(h->paper);
    h->paper = NULL;
#endif
    phx__timer_free(&h->timers);
    phx__id_free(&h->ids);
    h->alive = 0;
}

static inline void world_begin(struct world *w, uint32_t count, uint64_t seed)
{
    memset(w, 0, sizeof *w);
    w->count = count;
    w->now = 1000 * PHX__SECOND;
    phx__rnd_seed(&w->rnd, seed, 17);
}

static inline void world_init(struct world *w, uint32_t count, uint64_t seed)
{
    uint32_t i;

    world_begin(w, count, seed);
    for (i = 0; i < count; i++)
        host_start(w, i, 1);
}

/* 1 if all memory has come back. */
static inline int world_free(struct world *w)
{
    uint32_t i, k;
    int clean = 1;

    for (i = 0; i < w->count; i++) {
        for (k = 0; k < w->count; k++)
            queue_cut(w, i, k, 0, 0);
        if (w->host[i].alive)
            host_free(&w->host[i]);
        clean &= test_heap_is_clean(&w->host[i].heap);
    }
    return clean;
}

/* ---- Links ----------------------------------------------------------------------------------- */

static inline void host_words(const struct host *h, uint32_t peer, uint64_t incarnation,
                              struct words *out)
{
    const struct phx__dest *self = phx__route_dest(&h->route, PHX__SELF), *d = host_dest(h, peer);

    out->incarnation = self->incarnation;
    out->seq = self->seq;
    out->card = self->card_version;
    out->have = d != NULL && d->incarnation == incarnation ? d->card_version : 0;
}

/* a has dialled b, and b has answered. */
static inline void world_link(struct world *w, uint32_t a, uint32_t b)
{
    struct note *n = note_new(NOTE_ANSWER, ++w->links);

    w->wire[a][b] = w->wire[b][a] = n->link;
    host_words(&w->host[b], a, w->host[a].route.table.at[PHX__SELF].incarnation, &n->words);
    queue_put(w, b, a, n);
}

static inline void world_end(struct world *w, uint32_t from, uint32_t to, uint32_t link)
{
    struct queue *q = &w->queue[from][to];

    queue_cut(w, from, to, link, (uint32_t)phx__rnd_below(&w->rnd, q->count + 1));
    queue_put(w, from, to, note_new(NOTE_END, link));
}

static inline void world_cut(struct world *w, uint32_t a, uint32_t b)
{
    uint32_t link = w->wire[a][b];

    w->wire[a][b] = w->wire[b][a] = 0;
    world_end(w, a, b, link);
    world_end(w, b, a, link);
}

/* A host dies at once; its neighbours read what it had sent. */
static inline void host_stop(struct world *w, uint32_t rank)
{
    uint32_t i;

    for (i = 0; i < w->count; i++) {
        if (w->wire[rank][i] != 0)
            world_cut(w, rank, i);
        queue_cut(w, i, rank, 0, 0);
        w->link[rank][i] = 0;
    }
    host_free(&w->host[rank]);
}

/* ---- Events ---------------------------------------------------------------------------------- */

static inline void host_down(struct host *h, uint32_t peer)
{
    h->w->link[h->rank][peer] = 0;
    phx__route_down(&h->route, host_node(h, peer), h->w->now);
}

/* Follows the next hops from p to v: does it come back? A step that meets another incarnation than
 * the one whose word it follows leads nowhere. */
static inline void world_walk(struct world *w, uint32_t p, uint32_t v)
{
    uint32_t at = p, steps;

    for (steps = 0; at != v && steps <= w->count; steps++) {
        const struct host *h = &w->host[at];
        uint32_t next = phx__route_next(&h->route, host_node(h, v));
        uint32_t to = next == PHX__NONE ? PHX__NONE : host_rank(h, next);
        if (to == PHX__NONE)
            return;
        w->dangling += w->link[at][to] == 0;
        if (!w->host[to].alive || w->seen[at][to] != w->host[to].route.table.at[0].incarnation)
            return;
        at = to;
    }
    w->loops += at != v;
}

/* Only p's table can have changed: a new loop leads through it. */
static inline void world_look(struct world *w, uint32_t p)
{
    struct host *h = &w->host[p];
    uint32_t v;
    int fell;

    for (v = 0; v < w->count; v++) {
        const struct phx__dest *d = host_dest(h, v);
        const struct phx__dest *own = w->host[v].alive ? host_dest(&w->host[v], v) : NULL;
        struct mark *m = &h->mark[v];
        if (d == NULL)
            continue;
        w->forged += own != NULL && d->incarnation == own->incarnation && d->seq > own->seq
                     && d->hops != PHX__UNREACHABLE;
        if (w->rules != 0)
            continue;
        w->regressed += d->incarnation < m->incarnation;
        fell = d->feasible_seq < m->seq
               || (d->feasible_seq == m->seq && d->feasible_hops > m->hops);
        if (d->incarnation == m->incarnation && m->set)
            w->regressed += fell || d->feasible_hops == PHX__UNREACHABLE;
        m->incarnation = d->incarnation;
        m->seq = d->feasible_seq;
        m->hops = d->feasible_hops;
        m->set = d->feasible_hops != PHX__UNREACHABLE;
        if (v == p)
            continue;
        w->loose += d->hops != PHX__UNREACHABLE && m->set
                    && (d->seq < m->seq || (d->seq == m->seq && d->hops > m->hops));
        world_walk(w, p, v);
    }
}

static inline int world_is_sound(const struct world *w)
{
    return w->loops + w->regressed + w->forged + w->dangling + w->loose == 0;
}

static inline int host_meet(struct host *h, uint32_t peer, const struct note *n)
{
    struct phx__route_hello hello;
    struct world *w = h->w;
    struct phx_id id;
    uint32_t node;
    int err;

    if (n->link < w->link[h->rank][peer])
        return 0;
    if (w->link[h->rank][peer] != 0)
        host_down(h, peer);
    host_id(&id, peer);
    if ((err = phx__id_add(&h->ids, &id, &node)) != 0)
        return err;
    hello.incarnation = n->words.incarnation;
    hello.seq = n->words.seq;
    hello.card = n->words.card;
    hello.told_seq = n->kind == NOTE_PROOF ? n->words.echo : h->route.table.at[0].seq;
    hello.told_card = n->words.have;
    hello.metric = h->route.rtt.on;
    w->link[h->rank][peer] = n->link;
    w->seen[h->rank][peer] = n->words.incarnation;
    if (n->kind == NOTE_ANSWER) {
        struct note *proof = note_new(NOTE_PROOF, 0);
        host_words(h, peer, n->words.incarnation, &proof->words);
        proof->words.echo = n->words.seq;
        host_send(h, node, proof);
    }
    if ((err = phx__route_up(&h->route, node, &hello, w->now)) != 0)
        host_down(h, peer);
    return err;
}

static inline int host_hear(struct host *h, uint32_t node, struct note *n)
{
    struct phx__route *r = &h->route;
    uint32_t i;

    switch (n->kind) {
    case NOTE_UPDATE:
#ifdef PHX_PAPER
        if (h->paper != NULL) {
            paper_clear(paper_from(h->paper, node));
            *paper_from(h->paper, node) = n->sets;
            memset(&n->sets, 0, sizeof n->sets);
        }
#endif
        for (i = 0; i < n->count; i++) {
            struct phx__entry *e = &n->items[i].e;
            e->card = e->card != NULL ? n->items[i].card : NULL;
            if (phx__route_entry(r, node, e, h->w->now) == PHX_ENOMEM)
                return PHX_ENOMEM; /* what it does not believe it drops */
        }
        break;
    case NOTE_REQUEST:
        phx__route_request(r, node, &n->request, n->flags, h->w->now);
        break;
    case NOTE_BEAT:
        phx__route_beat_in(r, node, &n->beat, (n->flags & (int)PHX__BEAT_SHRUNK) != 0, h->w->now);
        if (n->flags & (int)PHX__BEAT_REPLY)
            host_beat((phx *)h, node, 0);
        break;
    default:
        phx__route_summary_begin(r);
        for (i = 0; i < n->count; i++)
            phx__route_summary_line(r, node, &n->lines[i]);
        phx__route_summary_end(r, node, n->flags);
    }
    return 0;
}

static inline void host_drain(struct host *h)
{
    uint32_t node;

    while (phx__route_advert_changed(&h->route, &node))
        ;
}

/* The first note from one to the other arrives. A host without memory for it breaks the link. */
static inline void world_deliver(struct world *w, uint32_t from, uint32_t to)
{
    struct note *n = queue_take(w, from, to);
    struct host *h = &w->host[to];
    int err = 0;

    w->events++;
    if (n->kind == NOTE_ANSWER || n->kind == NOTE_PROOF)
        err = host_meet(h, from, n);
    else if (n->kind == NOTE_END && w->link[to][from] != 0 && n->link >= w->link[to][from])
        host_down(h, from); /* the end of a link is that of those before it */
    else if (n->link == w->link[to][from])
        err = host_hear(h, host_node(h, from), n);
    if (err != 0 && w->wire[from][to] == n->link)
        world_cut(w, from, to);
    note_free(n);
    host_drain(h);
    world_look(w, to);
}

static inline void host_flush(struct host *h)
{
    phx__route_advert_flush(&h->route, h->w->now);
    host_drain(h);
}

static inline void host_due(struct host *h)
{
    uint32_t arg, forgotten;
    int kind;

    while (phx__timer_pop(&h->timers, h->w->now, &kind, &arg)) {
        if (kind == PHX__TIMER_ROUTE_TELL)
            phx__route_advert_flush(&h->route, h->w->now);
        else if ((forgotten = phx__route_chores(&h->route, h->w->now)) != PHX__NONE)
            phx__id_drop(&h->ids, forgotten);
        phx__route_beat_due(&h->route, h->w->now);
        phx__route_advert_times(&h->route, h->w->now);
    }
}

/* ---- Time ------------------------------------------------------------------------------------ */

static inline void world_flush(struct world *w)
{
    uint32_t i;

    for (i = 0; i < w->count; i++) {
        if (!w->host[i].alive)
            continue;
        host_due(&w->host[i]);
        host_flush(&w->host[i]);
        world_look(w, i);
    }
}

/* Everybody reads what has come, then speaks; a millisecond passes. */
static inline void world_round(struct world *w)
{
    uint32_t here[WORLD_MAX][WORLD_MAX], i, k;

    for (i = 0; i < w->count; i++)
        for (k = 0; k < w->count; k++)
            here[i][k] = w->queue[i][k].count;
    w->now += PHX__MS;
    for (i = 0; i < w->count; i++)
        for (k = 0; k < w->count; k++)
            while (here[i][k] > 0 && w->queue[i][k].head != NULL) {
                here[i][k]--;
                world_deliver(w, i, k);
            }
    world_flush(w);
}

static inline void world_run(struct world *w, uint64_t span)
{
    uint64_t end = w->now + span, next;
    uint32_t i;

    world_flush(w);
    while (w->now < end) {
        if (w->notes > 0) {
            world_round(w);
            continue;
        }
        next = end;
        for (i = 0; i < w->count; i++)
            if (w->host[i].alive && phx__timer_next(&w->host[i].timers) < next)
                next = phx__timer_next(&w->host[i].timers);
        w->now = next > w->now ? next : w->now;
        world_flush(w);
    }
}

static inline void world_beats(struct world *w)
{
    uint32_t i, k;

    for (i = 0; i < w->count; i++)
        for (k = 0; k < w->count; k++)
            if (w->host[i].alive && w->link[i][k] != 0)
                host_beat((phx *)&w->host[i], host_node(&w->host[i], k), 0);
}

/* ---- The truth ------------------------------------------------------------------------------- */

/* Hops from p to all others over the links that exist; PHX__UNREACHABLE if there is no way. */
static inline void world_distances(const struct world *w, uint32_t p, uint32_t hops[WORLD_MAX])
{
    uint32_t list[WORLD_MAX], head = 0, tail = 1, i;

    for (i = 0; i < w->count; i++)
        hops[i] = PHX__UNREACHABLE;
    hops[p] = 0;
    list[0] = p;
    for (; head < tail; head++) {
        for (i = 0; i < w->count; i++) {
            if (w->wire[list[head]][i] == 0 || hops[i] != PHX__UNREACHABLE)
                continue;
            hops[i] = hops[list[head]] + 1;
            list[tail++] = i;
        }
    }
}

enum { RIGHT_REACH, RIGHT_SAME, RIGHT_ALL };

/* Is p's table what it should be: reaches whom it can and nobody else; with the same digest as all
 * whom it reaches, and their newest cards; and by shortest routes? */
static inline int host_is_right(const struct world *w, uint32_t p, int how)
{
    const struct host *h = &w->host[p];
    uint32_t hops[WORLD_MAX], v;

    world_distances(w, p, hops);
    for (v = 0; v < w->count; v++) {
        const struct phx__dest *d = host_dest(h, v);
        uint32_t have = d == NULL ? PHX__UNREACHABLE : d->hops;
        if ((have == PHX__UNREACHABLE) != (hops[v] == PHX__UNREACHABLE))
            return 0;
        if (have == PHX__UNREACHABLE)
            continue;
        if (how >= RIGHT_ALL && have != hops[v])
            return 0;
        if (how >= RIGHT_SAME && (h->route.digest != w->host[v].route.digest
                                 || d->card_version != w->host[v].route.table.at[0].card_version
                                 || d->card->at[2] != v || d->card->at[1] != d->card_version))
            return 0;
    }
    return 1;
}

static inline int world_is_right(const struct world *w, int how)
{
    uint32_t i;

    for (i = 0; i < w->count; i++)
        if (w->host[i].alive && !host_is_right(w, i, how))
            return 0;
    return 1;
}

/* Time passes, with beats every five seconds, until all is right: seconds, or -1 if it never is. */
static inline int world_settle(struct world *w, int seconds, int how)
{
    int s;

    for (s = 0; s <= seconds; s++) {
        world_run(w, PHX__SECOND);
        if (world_is_right(w, how))
            return s;
        if (s % 5 == 1)
            world_beats(w);
    }
    return -1;
}

static inline uint64_t world_entries(const struct world *w)
{
    uint64_t sum = 0;
    uint32_t i;

    for (i = 0; i < w->count; i++)
        sum += w->host[i].route.counters.entries_out;
    return sum;
}

/* A random connected graph: a tree and `more` edges. */
static inline void world_wire(struct world *w, uint32_t more)
{
    uint32_t i, a, b;

    for (i = 1; i < w->count; i++)
        world_link(w, i, (uint32_t)phx__rnd_below(&w->rnd, i));
    for (i = 0; i < more; i++) {
        a = (uint32_t)phx__rnd_below(&w->rnd, w->count);
        b = (uint32_t)phx__rnd_below(&w->rnd, w->count);
        if (a != b && w->wire[a][b] == 0)
            world_link(w, a, b);
    }
}

#endif
