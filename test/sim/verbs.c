/* verbs.c - struct phx_os as one host of the simulated world sees it. */
#include "world.h"

#include <stdlib.h>
#include <string.h>

/* ---- struct phx_os ----------------------------------------------------------------------- */

/* The process asks the world something: a system call, and perhaps more. */
static const struct world_costs *asked(struct world_host *h)
{
    static const struct world_costs nothing;
    const struct world_costs *c = h->w->o.costs ? h->w->o.costs : &nothing;

    world_charge(h, c->call);
    return c;
}

static uint16_t port_new(struct world_host *h)
{
    uint32_t tries;

    for (tries = 0; tries < 65536; tries++) {
        uint16_t port = h->next_port++;
        if (h->next_port == 0)
            h->next_port = 32768;
        if (port >= 32768 && !world_listener_on(h, port))
            return port;
    }
    return 0;
}

/* Which host that address means to this one; WORLD_NONE: packets to it get lost. */
static uint32_t host_of(const struct world_host *h, const struct phx_address *a)
{
    uint32_t realm = 0, n;

    if (a->ip[0] == 127)
        return h->index;
    n = ((uint32_t)a->ip[2] << 8) | a->ip[3];
    if (a->ip[0] == 10)
        n |= (uint32_t)a->ip[1] << 16;
    else if (a->ip[0] == 192 && a->ip[1] == 168 && h->realm)
        realm = h->realm;
    else
        return WORLD_NONE;
    if (!n || n > h->w->realm_count[realm])
        return WORLD_NONE;
    return h->w->realm_hosts[realm][n - 1];
}

static int os_listen(void *world, struct phx_address *at, int *handle)
{
    static const unsigned char any[4] = { 0, 0, 0, 0 };
    struct world_host *h = world;
    uint32_t i;
    int err;

    if (at->family != PHX_IPV4)
        return PHX_ESCHEME;
    if (memcmp(at->ip, any, 4) != 0 && host_of(h, at) != h->index)
        return PHX_ENOADDR;
    if (at->port && world_listener_on(h, at->port))
        return PHX_EINUSE;
    for (i = 0; i < WORLD_LISTENERS && h->listeners[i].port; i++)
        continue;
    if (i == WORLD_LISTENERS)
        return PHX_EMFILE;
    if ((err = world_handle_new(h, WORLD_SLOT_LISTENER, i, handle)) != 0)
        return err;
    if (!at->port)
        at->port = port_new(h);
    h->listeners[i].port = at->port;
    h->listeners[i].handle = *handle;
    return 0;
}

/* Where e[1] sees e[0]. */
static void seen_from(const struct world *w, const struct world_stream *s, struct phx_address *out)
{
    const struct world_host *a = &w->hosts[s->e[0].host], *b = &w->hosts[s->e[1].host];

    world_address(w, a->index, s->e[0].port, out);
    if (!a->realm || a->realm == b->realm)
        return;
    out->ip[0] = 203; /* TEST-NET-3: the outside of a NAT */
    out->ip[1] = 0;
    out->ip[2] = 113;
    out->ip[3] = (unsigned char)a->realm;
    out->port = s->seen_port;
}

static int os_accept(void *world, int listener, int *handle, struct phx_address *from)
{
    struct world_host *h = world;
    struct world_slot *slot = world_slot_at(h, listener, WORLD_SLOT_LISTENER);
    struct world_listener *l;
    struct world_stream *s;
    uint32_t stream;
    const struct world_costs *costs = asked(h);
    int err;

    if (!slot)
        return PHX_EINVAL;
    l = &h->listeners[slot->ref];
    if (!l->waiting)
        return PHX_EAGAIN;
    world_charge(h, costs->accept);
    stream = l->first;
    if ((err = world_handle_new(h, WORLD_SLOT_END, stream * 2 + 1, handle)) != 0)
        return err;
    s = world_stream_at(h->w, stream);
    l->first = s->next;
    l->waiting--;
    s->next = WORLD_NONE;
    s->e[1].state = WORLD_END_OPEN;
    s->e[1].handle = *handle;
    seen_from(h->w, s, from);
    world_refresh(h, listener);
    return 0;
}

static int os_dial(void *world, const struct phx_address *to, int *handle)
{
    struct world_host *h = world;
    struct world *w = h->w;
    struct world_stream *s;
    uint32_t stream;
    int err;

    world_charge(h, asked(h)->dial);
    if (to->family == PHX_UNIX)
        return PHX_ESCHEME;
    if (to->family != PHX_IPV4)
        return PHX_EUNREACH;
    if ((err = world_handle_new(h, WORLD_SLOT_END, 0, handle)) != 0)
        return err;
    stream = world_stream_new(w);
    if (stream == WORLD_NONE) {
        world_handle_free(h, *handle);
        return PHX_ENOMEM;
    }
    h->slots[*handle].ref = stream * 2;
    s = world_stream_at(w, stream);
    s->refs = 1;
    s->e[0].host = h->index;
    s->e[0].handle = *handle;
    s->e[0].port = port_new(h);
    s->e[0].state = WORLD_END_DIALING;
    s->e[1].host = host_of(h, to);
    s->e[1].port = to->port;
    s->seen_port = (uint16_t)(1024 + world_rng_below(&w->rng, 64000));
    world_push_stream(w, world_moment(h) + world_one_way(w, s), WORLD_SYN, stream, stream);
    return 0;
}

static int os_finish(void *world, int handle)
{
    struct world_host *h = world;
    struct world_slot *slot = world_slot_at(h, handle, WORLD_SLOT_END);
    const struct world_end *e;

    (void)asked(h);
    if (!slot)
        return PHX_EINVAL;
    e = world_end_at(h->w, slot->ref);
    if (e->error)
        return e->error;
    return e->state == WORLD_END_DIALING ? PHX_EAGAIN : 0;
}

static int os_local(void *world, int handle, struct phx_address *out)
{
    struct world_host *h = world;
    struct world_slot *slot = world_slot_at(h, handle, WORLD_SLOT_END);

    if (slot) {
        world_address(h->w, h->index, world_end_at(h->w, slot->ref)->port, out);
        return 0;
    }
    slot = world_slot_at(h, handle, WORLD_SLOT_LISTENER);
    if (!slot)
        return PHX_EINVAL;
    world_address(h->w, h->index, h->listeners[slot->ref].port, out);
    return 0;
}

static size_t iov_size(const struct iovec *iov, int count, size_t limit)
{
    size_t size = 0;
    int i;

    for (i = 0; i < count && size < limit; i++)
        size += iov[i].iov_len;
    return size < limit ? size : limit;
}

static void iov_copy(const struct iovec *iov, unsigned char *out, size_t size)
{
    int i;

    for (i = 0; size; i++) {
        size_t n = iov[i].iov_len < size ? iov[i].iov_len : size;
        if (n)
            memcpy(out, iov[i].iov_base, n);
        out += n;
        size -= n;
    }
}

static long os_send(void *world, int handle, const struct iovec *iov, int count)
{
    struct world_host *h = world;
    struct world_slot *slot = world_slot_at(h, handle, WORLD_SLOT_END);
    struct world_end *e, *peer;
    struct world_segment *g;
    const struct world_costs *costs = asked(h);
    size_t want, size;

    if (!slot)
        return PHX_EINVAL;
    e = world_end_at(h->w, slot->ref);
    peer = world_end_at(h->w, slot->ref ^ 1u);
    if (e->error)
        return e->error;
    if (e->state != WORLD_END_OPEN)
        return PHX_EAGAIN;
    size = iov_size(iov, count, h->w->o.buffer_bytes - peer->queued);
    want = iov_size(iov, count, size + 1);
    if (want > size) {
        e->full = 1;
        world_refresh(h, handle);
    }
    if (!size)
        return want ? PHX_EAGAIN : 0;
    g = world_segment_new(h->w, (uint32_t)size, 0);
    if (!g)
        return PHX_ENOMEM;
    world_charge(h, costs->send + (uint64_t)size * costs->kilobyte / 1024);
    iov_copy(iov, g->data, size);
    g->hash = world_bytes_hash(1, g->data, size);
    world_segment_push(h->w, slot->ref ^ 1u, g);
    return (long)size;
}

/* The reader took something: a sender that waits hears of it when a third is free, as in Linux. */
static void offer_room(struct world *w, uint32_t ref)
{
    struct world_end *e = world_end_at(w, ref), *peer = world_end_at(w, ref ^ 1u);

    if (!peer->full || peer->room || peer->state == WORLD_END_GONE
        || w->o.buffer_bytes - e->queued < w->o.buffer_bytes / 3)
        return;
    peer->room = 1;
    world_push_stream(w, w->now + world_latency(w, e->host, peer->host), WORLD_ROOM, ref / 2,
                      ref ^ 1u);
}

static size_t end_read(struct world_end *e, unsigned char *out, size_t size)
{
    size_t done = 0;

    while (e->head != e->due && (done < size || e->head->taken == e->head->size)) {
        struct world_segment *g = e->head;
        size_t n = g->size - g->taken;
        n = n < size - done ? n : size - done;
        memcpy(out + done, g->data + g->taken, n);
        done += n;
        g->taken += (uint32_t)n;
        if (g->taken < g->size)
            break;
        e->head = g->next;
        free(g);
    }
    if (!e->head)
        e->tail = NULL;
    e->arrived -= (uint32_t)done;
    e->queued -= (uint32_t)done;
    return done;
}

static long os_recvv(void *world, int handle, const struct iovec *iov, int count)
{
    struct world_host *h = world;
    struct world_slot *slot = world_slot_at(h, handle, WORLD_SLOT_END);
    struct world_end *e;
    const struct world_costs *costs = asked(h);
    size_t done = 0, n;
    int i;

    if (!slot || count < 1 || !iov[0].iov_len)
        return PHX_EINVAL;
    e = world_end_at(h->w, slot->ref);
    if (!e->arrived) {
        if (e->error)
            return e->error;
        return e->fin ? 0 : PHX_EAGAIN;
    }
    for (i = 0; i < count; i++) {
        done += n = end_read(e, iov[i].iov_base, iov[i].iov_len);
        if (n < iov[i].iov_len)
            break;
    }
    world_charge(h, (uint64_t)done * costs->kilobyte / 1024);
    offer_room(h->w, slot->ref);
    world_refresh(h, handle);
    return (long)done;
}

static long os_recv(void *world, int handle, void *data, size_t size)
{
    struct iovec one;

    one.iov_base = data;
    one.iov_len = size;
    return os_recvv(world, handle, &one, 1);
}

static void os_close(void *world, int handle)
{
    struct world_host *h = world;

    (void)asked(h);
    if (handle < 0 || (uint32_t)handle >= h->slot_count
        || h->slots[handle].kind == WORLD_SLOT_FREE) {
        if (h->running)
            world_fail(h->w, "host %u closes handle %d, which is not open", (unsigned)h->index,
                       handle);
        return;
    }
    world_close_slot(h, handle, WORLD_FIN);
}

static int os_watch(void *world, int handle, int events)
{
    struct world_host *h = world;

    (void)asked(h);
    if (handle < 0 || (uint32_t)handle >= h->slot_count
        || h->slots[handle].kind == WORLD_SLOT_FREE)
        return PHX_EINVAL;
    h->slots[handle].watch = (uint8_t)events;
    world_refresh(h, handle);
    return 0;
}

/* The ring turns by what was handed out, so that a small capacity starves nobody. */
static int os_wait(void *world, struct phx_ready *out, int capacity)
{
    struct world_host *h = world;
    int n = 0, i = h->ready_first, last = -1;

    (void)asked(h);
    while (i >= 0 && n < capacity) {
        out[n].handle = i;
        out[n].events = h->slots[i].events;
        n++;
        last = i;
        i = h->slots[i].next;
    }
    if (i >= 0 && last >= 0) {
        h->slots[h->ready_last].next = h->ready_first;
        h->slots[h->ready_first].prev = h->ready_last;
        h->ready_first = i;
        h->ready_last = last;
        h->slots[i].prev = -1;
        h->slots[last].next = -1;
    }
    return n;
}

static int os_random(void *world, void *out, size_t size)
{
    struct world_host *h = world;
    unsigned char *p = out;
    size_t i;
    uint64_t v = 0;

    if (size == sizeof v) { /* a number, the same one on machines of the other byte order */
        v = world_rng_next(&h->rng);
        memcpy(out, &v, sizeof v);
        return 0;
    }
    for (i = 0; i < size; i++) {
        if (i % 8 == 0)
            v = world_rng_next(&h->rng);
        p[i] = (unsigned char)(v >> (i % 8 * 8));
    }
    return 0;
}

/* Names are "host0", "host1" ..., by index. Promise 39: a step resolves none, since that may block. */
static int os_resolve(void *world, const char *host, struct phx_address *out, int capacity)
{
    struct world_host *h = world;
    char *end;
    unsigned long n;

    if (h->stepping)
        world_fail(h->w, "host %u: a step resolves %s", (unsigned)h->index, host);
    if (strncmp(host, "host", 4) != 0)
        return PHX_ERESOLVE;
    n = strtoul(host + 4, &end, 10);
    if (*end || end == host + 4 || n >= h->w->host_count || capacity < 1)
        return PHX_ERESOLVE;
    world_address(h->w, (uint32_t)n, 0, out);
    return 1;
}

static int os_fd(void *world)
{
    (void)world;
    return PHX_ENOTSUP;
}

static int os_wake(void *world)
{
    struct world_host *h = world;

    world_soon(h->w, h);
    return 0;
}

static uint64_t os_now(void *world)
{
    struct world_host *h = world;

    world_charge(h, 0);
    return world_moment(h) + h->spent_us;
}

void world_os_init(struct world_host *h)
{
    struct phx_os *os = &h->os;

    memset(os, 0, sizeof *os);
    os->version = PHX_OS_VERSION;
    os->world = h;
    os->listen = os_listen;
    os->accept = os_accept;
    os->dial = os_dial;
    os->finish = os_finish;
    os->local = os_local;
    os->send = os_send;
    os->recv = os_recv;
    os->close = os_close;
    os->watch = os_watch;
    os->wait = os_wait;
    os->random = os_random;
    os->resolve = os_resolve;
    os->recvv = os_recvv;
    os->fd = os_fd;
    os->wake = os_wake;
    os->now = os_now;
}

int world_join_pipe(struct world *w, uint32_t a, uint32_t b, int *handle_a, int *handle_b)
{
    uint32_t stream = world_stream_new(w);
    struct world_stream *s;

    if (stream == WORLD_NONE)
        return PHX_ENOMEM;
    s = world_stream_at(w, stream);
    s->refs = 1;
    s->e[0].host = a;
    s->e[1].host = b;
    if (world_handle_new(&w->hosts[a], WORLD_SLOT_END, stream * 2, handle_a) != 0) {
        world_unref(w, stream);
        return PHX_EMFILE;
    }
    s->e[0].state = s->e[1].state = WORLD_END_OPEN;
    s->e[0].handle = *handle_a;
    if (world_handle_new(&w->hosts[b], WORLD_SLOT_END, stream * 2 + 1, handle_b) != 0) {
        os_close(&w->hosts[a], *handle_a);
        return PHX_EMFILE;
    }
    s->refs++;
    s->e[1].handle = *handle_b;
    return 0;
}
