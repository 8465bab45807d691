/* stream.c - the simulated world's streams and ports, behind struct phx_os.
 *
 * The life of a stream: dial makes it and sends WORLD_SYN. That finds a listener, a wall
 * (silence: sent again after 1, 2, 4 .. s, as TCP does) or nobody (WORLD_REFUSED). WORLD_SYNACK
 * opens the dialling end, WORLD_ESTABLISHED puts the other one into the backlog. From then on
 * each send is one segment in the receiver's queue; one WORLD_DELIVER per direction stands in
 * the heap, for the earliest segment under way, so an idle stream costs its struct and nothing
 * else.
 *
 *      struct world_end     head -> [read in part] -> [unread] -> due -> [under way] -> tail
 *                                   '------- arrived --------'
 *                                   '------------------- queued ------------------'
 *
 * A stream is free again when no handle and no event names it. */
#include "world.h"

#include <stdlib.h>
#include <string.h>

#define RETRY_US 200000u      /* Linux's least retransmission time; doubles */
#define RETRY_MAX_US 30000000u
#define SYN_RETRY_US 1000000u /* Linux: 1, 2, 4 .. s */
#define SYN_TRIES 6u

/* ---- Streams in pages -------------------------------------------------------------------- */

struct world_stream *world_stream_at(const struct world *w, uint32_t stream)
{
    return &w->pages[stream / WORLD_PAGE][stream % WORLD_PAGE];
}

struct world_end *world_end_at(const struct world *w, uint32_t ref)
{
    return &world_stream_at(w, ref / 2)->e[ref % 2];
}

static int page_add(struct world *w)
{
    struct world_stream *page = calloc(WORLD_PAGE, sizeof *page), **pages;
    uint32_t i, first = w->page_count * WORLD_PAGE;

    pages = realloc(w->pages, (w->page_count + 1u) * sizeof *pages);
    if (pages)
        w->pages = pages;
    if (!page || !pages) {
        free(page);
        world_fail(w, "the simulator is out of memory for streams");
        return -1;
    }
    for (i = WORLD_PAGE; i-- > 0;) {
        page[i].next = w->stream_free;
        w->stream_free = first + i;
    }
    w->pages[w->page_count++] = page;
    return 0;
}

uint32_t world_stream_new(struct world *w)
{
    struct world_stream *s;
    uint32_t i;

    if (w->stream_free == WORLD_NONE && page_add(w) < 0)
        return WORLD_NONE;
    i = w->stream_free;
    s = world_stream_at(w, i);
    w->stream_free = s->next;
    memset(s, 0, sizeof *s);
    s->e[0].handle = s->e[1].handle = -1;
    s->next = WORLD_NONE;
    if (++w->streams_open > w->streams_peak)
        w->streams_peak = w->streams_open;
    return i;
}

static void queue_free(struct world_end *e)
{
    while (e->head) {
        struct world_segment *next = e->head->next;
        free(e->head);
        e->head = next;
    }
    e->tail = e->due = NULL;
}

void world_unref(struct world *w, uint32_t stream)
{
    struct world_stream *s = world_stream_at(w, stream);

    if (--s->refs)
        return;
    queue_free(&s->e[0]);
    queue_free(&s->e[1]);
    s->next = w->stream_free;
    w->stream_free = stream;
    w->streams_open--;
}

/* An event that names the stream keeps it. */
void world_push_stream(struct world *w, uint64_t at, int kind, uint32_t stream, uint32_t arg)
{
    world_stream_at(w, stream)->refs++;
    world_push(w, at, kind, arg);
}

void world_streams_free(struct world *w)
{
    uint32_t i, k;

    for (i = 0; i < w->page_count; i++) {
        for (k = 0; k < WORLD_PAGE; k++) {
            queue_free(&w->pages[i][k].e[0]);
            queue_free(&w->pages[i][k].e[1]);
        }
        free(w->pages[i]);
    }
    free(w->pages);
}

/* ---- Handles ----------------------------------------------------------------------------- */

struct world_slot *world_slot_at(struct world_host *h, int handle, int kind)
{
    if (handle < 0 || (uint32_t)handle >= h->slot_count || h->slots[handle].kind != kind)
        return NULL;
    return &h->slots[handle];
}

static int slots_grow(struct world_host *h)
{
    uint32_t capacity = h->slot_capacity ? h->slot_capacity * 2 : 8;
    struct world_slot *slots = realloc(h->slots, capacity * sizeof *slots);

    if (!slots) {
        world_fail(h->w, "the simulator is out of memory for handles");
        return -1;
    }
    h->slots = slots;
    h->slot_capacity = capacity;
    return 0;
}

int world_handle_new(struct world_host *h, int kind, uint32_t ref, int *handle)
{
    struct world_slot *s;
    int i = h->free_slot;

    if ((h->faults.handles_max && h->handles >= h->faults.handles_max)
        || h->w->now < h->faults.emfile_until)
        return PHX_EMFILE;
    if (i >= 0) {
        h->free_slot = h->slots[i].next;
    } else {
        if (h->slot_count == h->slot_capacity && slots_grow(h) < 0)
            return PHX_EMFILE;
        i = (int)h->slot_count++;
    }
    s = &h->slots[i];
    memset(s, 0, sizeof *s);
    s->kind = (uint8_t)kind;
    s->ref = ref;
    s->prev = s->next = -1;
    h->handles++;
    *handle = i;
    return 0;
}

static void ready_add(struct world_host *h, int i)
{
    h->slots[i].ready = 1;
    h->slots[i].next = -1;
    h->slots[i].prev = h->ready_last;
    if (h->ready_last >= 0)
        h->slots[h->ready_last].next = i;
    else
        h->ready_first = i;
    h->ready_last = i;
    h->ready_count++;
}

static void ready_del(struct world_host *h, int i)
{
    int prev = h->slots[i].prev, next = h->slots[i].next;

    if (prev >= 0)
        h->slots[prev].next = next;
    else
        h->ready_first = next;
    if (next >= 0)
        h->slots[next].prev = prev;
    else
        h->ready_last = prev;
    h->slots[i].ready = 0;
    h->ready_count--;
}

void world_handle_free(struct world_host *h, int i)
{
    if (h->slots[i].ready)
        ready_del(h, i);
    h->slots[i].kind = WORLD_SLOT_FREE;
    h->slots[i].next = h->free_slot;
    h->free_slot = i;
    h->handles--;
}

static int end_events(const struct world_end *e)
{
    int events = 0;

    if (e->error)
        return PHX_READ | PHX_WRITE;
    if (e->state != WORLD_END_OPEN)
        return 0;
    if (e->arrived || e->fin)
        events |= PHX_READ;
    if (!e->full)
        events |= PHX_WRITE;
    return events;
}

void world_refresh(struct world_host *h, int i)
{
    struct world_slot *s = &h->slots[i];
    int events;

    if (s->kind == WORLD_SLOT_LISTENER)
        events = h->listeners[s->ref].waiting ? PHX_READ : 0;
    else
        events = end_events(world_end_at(h->w, s->ref));
    events &= s->watch;
    s->events = (uint8_t)events;
    if (events && !s->ready)
        ready_add(h, i);
    else if (!events && s->ready)
        ready_del(h, i);
    if (events)
        world_soon(h->w, h);
}

static void refresh_end(struct world *w, const struct world_end *e)
{
    if (e->handle >= 0)
        world_refresh(&w->hosts[e->host], e->handle);
}

/* ---- Segments ---------------------------------------------------------------------------- */

uint32_t world_bytes_hash(uint32_t h, const unsigned char *p, size_t n)
{
    uint64_t x = h, v;

    for (; n >= 8; n -= 8, p += 8) { /* the same on machines of the other byte order */
        v = p[0] | (uint64_t)p[1] << 8 | (uint64_t)p[2] << 16 | (uint64_t)p[3] << 24 | (uint64_t)p[4] << 32
            | (uint64_t)p[5] << 40 | (uint64_t)p[6] << 48 | (uint64_t)p[7] << 56;
        x = (x ^ v) * 0x9e3779b97f4a7c15u;
        x ^= x >> 32;
    }
    for (; n; n--, p++)
        x = (x ^ *p) * 0x100000001b3u;
    return (uint32_t)(x ^ (x >> 32));
}

static void arm(struct world *w, uint32_t ref, uint64_t at)
{
    struct world_end *e = world_end_at(w, ref);

    if (e->armed)
        return;
    e->armed = 1;
    world_push_stream(w, at, WORLD_DELIVER, ref / 2, ref);
}

/* When the last byte of so many arrives that leave now: both hosts' lines carry one segment after the
 * other. */
static uint64_t over_lines(struct world *w, struct world_host *from, struct world_host *to, uint32_t size,
                           uint64_t at, uint64_t latency)
{
    uint64_t takes = (uint64_t)size * 1000000u / w->o.host_bytes_per_ms, begin = at * 1000;

    if (begin < from->out_until)
        begin = from->out_until;
    from->out_until = begin + takes;
    begin += latency * 1000;
    if (begin < to->in_until)
        begin = to->in_until;
    to->in_until = begin + takes;
    return (begin + takes + 999) / 1000;
}

/* Puts a segment under way to end ref. */
void world_segment_push(struct world *w, uint32_t ref, struct world_segment *g)
{
    struct world_end *to = world_end_at(w, ref), *from = world_end_at(w, ref ^ 1u);
    uint64_t at = world_moment(&w->hosts[from->host]);

    if (w->o.bytes_per_ms) {
        at = at > to->sent_until ? at : to->sent_until;
        at += (uint64_t)g->size * 1000u / w->o.bytes_per_ms;
        to->sent_until = at;
    }
    if (w->o.host_bytes_per_ms && from->host != to->host)
        at = over_lines(w, &w->hosts[from->host], &w->hosts[to->host], g->size, at,
                        world_latency(w, from->host, to->host));
    else
        at += world_latency(w, from->host, to->host);
    if (w->o.jitter_us && from->host != to->host)
        at += world_rng_below(&w->rng, w->o.jitter_us);
    if (at < to->last_at)
        at = to->last_at;
    to->last_at = g->at = at;
    g->next = NULL;
    if (to->tail)
        to->tail->next = g;
    else
        to->head = g;
    to->tail = g;
    if (!to->due)
        to->due = g;
    to->queued += g->size;
    arm(w, ref, to->due->at);
}

struct world_segment *world_segment_new(struct world *w, uint32_t size, uint32_t flags)
{
    struct world_segment *g = malloc(sizeof *g + size);

    if (!g) {
        world_fail(w, "the simulator is out of memory for bytes under way");
        return NULL;
    }
    g->size = size;
    g->taken = 0;
    g->flags = flags;
    g->hash = 0;
    return g;
}

/* Sends FIN or RST to end ref. */
static void flag_push(struct world *w, uint32_t ref, uint32_t flag)
{
    struct world_segment *g = world_segment_new(w, 0, flag);

    if (g)
        world_segment_push(w, ref, g);
}

/* What is under way to an end that will not read it goes. */
static void drop_due(struct world_end *e)
{
    struct world_segment **at = &e->head, *last = NULL;

    while (*at && *at != e->due) {
        last = *at;
        at = &(*at)->next;
    }
    while (*at) {
        struct world_segment *next = (*at)->next;
        e->queued -= (*at)->size;
        free(*at);
        *at = next;
    }
    e->tail = last;
    e->due = NULL;
}

static void end_error(struct world *w, struct world_end *e, int error)
{
    if (e->error || e->state == WORLD_END_GONE)
        return;
    e->error = error;
    refresh_end(w, e);
}

static uint64_t backoff(uint32_t tries)
{
    uint64_t wait = (uint64_t)RETRY_US << (tries < 8 ? tries : 8);

    return wait < RETRY_MAX_US ? wait : RETRY_MAX_US;
}

/* The path to end ref is cut. TCP sends again, at growing intervals, and one day gives up. A
 * lone RST is sent once and never again. */
static void deliver_stalled(struct world *w, uint32_t ref)
{
    struct world_end *to = world_end_at(w, ref), *from = world_end_at(w, ref ^ 1u);

    if (to->due->flags & WORLD_RST) {
        drop_due(to);
        return;
    }
    if (!to->stalled_since)
        to->stalled_since = w->now;
    if (w->now - to->stalled_since >= w->o.tcp_timeout_us) {
        drop_due(to);
        end_error(w, from, PHX_ETIMEDOUT);
        return;
    }
    arm(w, ref, w->now + backoff(to->tries++));
}

static void arrive(struct world *w, uint32_t ref, struct world_segment *g)
{
    struct world_end *to = world_end_at(w, ref);

    to->due = g->next;
    world_hash(w, w->now ^ ((uint64_t)ref << 40), g->hash ^ ((uint64_t)g->size << 32) ^ g->flags);
    if (g->flags & WORLD_FIN)
        to->fin = 1;
    if ((g->flags & WORLD_RST) && !to->error)
        to->error = PHX_ERESET;
    to->arrived += g->size;
    w->deliveries++;
    w->bytes += g->size;
    if (w->tracing > 1)
        world_say(w, 2, "%u -> %u: %u bytes%s%s", (unsigned)world_end_at(w, ref ^ 1u)->host,
                  (unsigned)to->host, (unsigned)g->size, g->flags & WORLD_FIN ? " FIN" : "",
                  g->flags & WORLD_RST ? " RST" : "");
}

/* Bytes arrive where nobody is any more: a reset goes back, unless it was one itself. */
static void deliver_to_nobody(struct world *w, uint32_t ref)
{
    struct world_end *to = world_end_at(w, ref), *from = world_end_at(w, ref ^ 1u);
    int reset = to->due->flags & WORLD_RST;
    int answer = to->due->size > 0;

    drop_due(to);
    if (!reset && answer && from->state != WORLD_END_GONE)
        flag_push(w, ref ^ 1u, WORLD_RST);
}

/* The bytes are here, but no acknowledgement gets back: the sender believes them lost, sends
 * again at the same intervals as above, and gives up if none of that is answered. */
static void watch_acks(struct world *w, uint32_t ref)
{
    struct world_end *to = world_end_at(w, ref), *from = world_end_at(w, ref ^ 1u);

    if (from->unacked_since || !world_blocked(w, to->host, from->host))
        return;
    from->unacked_since = w->now;
    from->unacked_tries = 0;
    world_push_stream(w, w->now + RETRY_US, WORLD_UNACKED, ref / 2, ref ^ 1u);
}

static void on_unacked(struct world *w, uint32_t ref)
{
    struct world_end *e = world_end_at(w, ref), *peer = world_end_at(w, ref ^ 1u);

    if (!world_blocked(w, peer->host, e->host) && !world_blocked(w, e->host, peer->host)) {
        e->unacked_since = 0;
        return;
    }
    if (w->now - e->unacked_since >= w->o.tcp_timeout_us) {
        end_error(w, e, PHX_ETIMEDOUT);
        return;
    }
    world_push_stream(w, w->now + backoff(++e->unacked_tries), WORLD_UNACKED, ref / 2, ref);
}

static void on_deliver(struct world *w, uint32_t ref)
{
    struct world_end *to = world_end_at(w, ref), *from = world_end_at(w, ref ^ 1u);

    to->armed = 0;
    if (!to->due)
        return;
    if (to->due->at > w->now) {
        arm(w, ref, to->due->at);
        return;
    }
    if (world_swallows(w, from->host, to->host, to->due->size)) {
        deliver_stalled(w, ref);
        return;
    }
    to->stalled_since = 0;
    to->tries = 0;
    if (to->state == WORLD_END_GONE || to->state == WORLD_END_NONE || to->error) {
        deliver_to_nobody(w, ref);
        return;
    }
    while (to->due && to->due->at <= w->now
           && !world_swallows(w, from->host, to->host, to->due->size))
        arrive(w, ref, to->due);
    watch_acks(w, ref);
    refresh_end(w, to);
    if (to->due)
        arm(w, ref, to->due->at);
}

static void on_room(struct world *w, uint32_t ref)
{
    struct world_end *e = world_end_at(w, ref);

    e->room = 0;
    e->full = world_end_at(w, ref ^ 1u)->queued >= w->o.buffer_bytes;
    refresh_end(w, e);
}

/* ---- Making connections ------------------------------------------------------------------ */

struct world_listener *world_listener_on(struct world_host *h, uint16_t port)
{
    uint32_t i;

    for (i = 0; i < WORLD_LISTENERS; i++)
        if (h->listeners[i].port && h->listeners[i].port == port)
            return &h->listeners[i];
    return NULL;
}

enum verdict { PASS, DROP, REJECT };

static enum verdict syn_verdict(struct world *w, const struct world_stream *s)
{
    uint32_t a = s->e[0].host, b = s->e[1].host;
    const struct world_listener *l;

    if (b == WORLD_NONE || world_blocked(w, a, b) || world_blocked(w, b, a))
        return DROP;
    if (!world_may_dial(w, a, b))
        return w->o.reject ? REJECT : DROP;
    l = world_listener_on(&w->hosts[b], s->e[1].port);
    if (!w->hosts[b].running || !l)
        return REJECT;
    return l->waiting >= w->o.backlog ? DROP : PASS;
}

uint64_t world_one_way(const struct world *w, const struct world_stream *s)
{
    if (s->e[1].host == WORLD_NONE)
        return w->o.latency_us;
    return world_latency(w, s->e[0].host, s->e[1].host);
}

static void on_syn(struct world *w, uint32_t stream)
{
    struct world_stream *s = world_stream_at(w, stream);
    struct world_end *a = &s->e[0];

    if (a->state != WORLD_END_DIALING)
        return;
    switch (syn_verdict(w, s)) {
    case PASS:
        world_push_stream(w, w->now + world_one_way(w, s), WORLD_SYNACK, stream, stream);
        break;
    case REJECT:
        world_push_stream(w, w->now + world_one_way(w, s), WORLD_REFUSED, stream, stream);
        break;
    default:
        if (a->tries > SYN_TRIES) /* 127 s after the first */
            end_error(w, a, PHX_ETIMEDOUT);
        else
            world_push_stream(w, w->now + ((uint64_t)SYN_RETRY_US << a->tries++), WORLD_SYN, stream,
                        stream);
    }
}

static void on_refused(struct world *w, uint32_t stream)
{
    struct world_end *a = &world_stream_at(w, stream)->e[0];

    if (a->state == WORLD_END_DIALING)
        end_error(w, a, PHX_EREFUSED);
}

static void on_synack(struct world *w, uint32_t stream)
{
    struct world_stream *s = world_stream_at(w, stream);
    struct world_end *a = &s->e[0];

    if (a->state != WORLD_END_DIALING || a->error)
        return;
    a->state = WORLD_END_OPEN;
    a->tries = 0;
    s->e[1].last_at = w->now + world_one_way(w, s);
    world_push_stream(w, s->e[1].last_at, WORLD_ESTABLISHED, stream, stream);
    refresh_end(w, a);
}

static void on_established(struct world *w, uint32_t stream)
{
    struct world_stream *s = world_stream_at(w, stream);
    struct world_host *h = &w->hosts[s->e[1].host];
    struct world_listener *l = world_listener_on(h, s->e[1].port);

    world_hash(w, w->now, stream);
    if (world_blocked(w, s->e[0].host, h->index) || !h->running || !l) {
        s->e[1].state = WORLD_END_GONE;
        flag_push(w, stream * 2, WORLD_RST);
        return;
    }
    s->e[1].state = WORLD_END_WAITING;
    s->refs++;
    s->next = WORLD_NONE;
    if (l->waiting++)
        world_stream_at(w, l->last)->next = stream;
    else
        l->first = stream;
    l->last = stream;
    world_refresh(h, l->handle);
}

void world_stream_event(struct world *w, const struct world_event *e)
{
    uint32_t stream = e->arg;

    switch (e->kind) {
    case WORLD_SYN:
        on_syn(w, stream);
        break;
    case WORLD_REFUSED:
        on_refused(w, stream);
        break;
    case WORLD_SYNACK:
        on_synack(w, stream);
        break;
    case WORLD_ESTABLISHED:
        on_established(w, stream);
        break;
    default: /* the others name an end */
        stream = e->arg / 2;
        if (e->kind == WORLD_DELIVER)
            on_deliver(w, e->arg);
        else if (e->kind == WORLD_ROOM)
            on_room(w, e->arg);
        else
            on_unacked(w, e->arg);
    }
    world_unref(w, stream);
}

/* ---- Closing ----------------------------------------------------------------------------- */

/* flag 0: say nothing. */
static void end_close(struct world *w, uint32_t ref, uint32_t flag)
{
    struct world_end *e = world_end_at(w, ref), *peer = world_end_at(w, ref ^ 1u);
    int was = e->state;

    e->state = WORLD_END_GONE;
    e->handle = -1;
    if (was == WORLD_END_OPEN || was == WORLD_END_WAITING) {
        if (flag && !e->error && peer->state != WORLD_END_GONE)
            flag_push(w, ref ^ 1u, e->arrived ? WORLD_RST : flag);
        while (e->head != e->due) { /* unread */
            struct world_segment *next = e->head->next;
            e->queued -= e->head->size;
            free(e->head);
            e->head = next;
        }
        if (!e->head)
            e->tail = NULL;
        e->arrived = 0;
    }
    world_unref(w, ref / 2);
}

static void listener_close(struct world_host *h, struct world_listener *l, uint32_t flag)
{
    while (l->waiting) {
        uint32_t stream = l->first;
        l->first = world_stream_at(h->w, stream)->next;
        l->waiting--;
        end_close(h->w, stream * 2 + 1, flag);
    }
    memset(l, 0, sizeof *l);
}

void world_close_slot(struct world_host *h, int handle, uint32_t flag)
{
    struct world_slot *s = &h->slots[handle];

    if (s->kind == WORLD_SLOT_LISTENER)
        listener_close(h, &h->listeners[s->ref], flag == WORLD_FIN ? WORLD_RST : flag);
    else
        end_close(h->w, s->ref, flag);
    world_handle_free(h, handle);
}

void world_drop_handles(struct world_host *h, int silent)
{
    uint32_t i;

    for (i = 0; i < h->slot_count; i++)
        if (h->slots[i].kind != WORLD_SLOT_FREE)
            world_close_slot(h, (int)i, silent ? 0 : WORLD_RST);
    h->slot_count = h->handles = 0;
    h->free_slot = h->ready_first = h->ready_last = -1;
    h->ready_count = 0;
}

void world_reset_pair(struct world *w, uint32_t a, uint32_t b)
{
    struct world_host *h = &w->hosts[a];
    uint32_t i;

    for (i = 0; i < h->slot_count; i++) {
        struct world_slot *s = &h->slots[i];
        if (s->kind != WORLD_SLOT_END || world_end_at(w, s->ref ^ 1u)->host != b)
            continue;
        end_error(w, world_end_at(w, s->ref ^ 1u), PHX_ERESET);
        end_error(w, world_end_at(w, s->ref), PHX_ERESET);
    }
}
