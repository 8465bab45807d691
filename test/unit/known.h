/* known.h - a node in a world where nothing happens, which is told of others by hand. */

/* Nothing ever arrives but what a test puts into `in`, every dial fails, and nobody reads what is sent. What
 * routing would have read from links is handed to it, or is said on a link that has no other end. Include
 * phoenix.c or node/links.h before. */
#ifndef TEST_KNOWN_H
#define TEST_KNOWN_H
#include "test.h"

struct known {
    phx *p;
    struct test_heap heap;
    unsigned char seed;
    uint64_t now;
    size_t before; /* bytes, when it had its links and knew nobody else */
    const unsigned char *in; /* what the next read gives */
    size_t in_size, takes; /* takes: bytes that writes may take in all ... */
    int deaf;              /* ... but for those to links from this handle on, which take nothing; 0: all do */
    void (*heard)(struct known *k, int handle, const void *data, size_t size); /* what was written; or NULL */
};

/* ---- A world where nothing happens ------------------------------------------------------------- */

static inline int none_listen(void *w, struct phx_address *at, int *h)
{
    (void)w;
    at->port = 7000;
    *h = 1;
    return 0;
}

static inline int none_accept(void *w, int l, int *h, struct phx_address *from)
{
    (void)w, (void)l, (void)h, (void)from;
    return PHX_EAGAIN;
}

static inline int none_dial(void *w, const struct phx_address *to, int *h)
{
    (void)w, (void)to, (void)h;
    return PHX_EUNREACH;
}

static inline int none_finish(void *w, int h)
{
    (void)w, (void)h;
    return PHX_EAGAIN;
}

static inline int none_local(void *w, int h, struct phx_address *out)
{
    (void)w, (void)h, (void)out;
    return PHX_EIO;
}

static inline long none_send(void *w, int h, const struct iovec *iov, int count)
{
    struct known *k = w;
    size_t n = 0, one = 1;

    for (; count-- > 0 && one > 0 && (k->deaf == 0 || h < k->deaf); iov++) {
        one = iov->iov_len < k->takes ? iov->iov_len : k->takes;
        if (k->heard != NULL)
            k->heard(k, h, iov->iov_base, one);
        k->takes -= one;
        n += one;
    }
    return n > 0 ? (long)n : PHX_EAGAIN;
}

static inline long none_recv(void *w, int h, void *data, size_t size)
{
    struct known *k = w;

    (void)h;
    size = size < k->in_size ? size : k->in_size;
    if (size == 0)
        return PHX_EAGAIN;
    memcpy(data, k->in, size);
    k->in += size;
    k->in_size -= size;
    return (long)size;
}

static inline void none_close(void *w, int h)
{
    (void)w, (void)h;
}

static inline int none_watch(void *w, int h, int events)
{
    (void)w, (void)h, (void)events;
    return 0;
}

static inline int none_wait(void *w, struct phx_ready *out, int capacity)
{
    (void)w, (void)out, (void)capacity;
    return 0;
}

static inline int none_random(void *w, void *out, size_t size)
{
    memset(out, ++((struct known *)w)->seed, size);
    return 0;
}

static inline int none_resolve(void *w, const char *host, struct phx_address *out, int capacity)
{
    (void)w, (void)host, (void)out, (void)capacity;
    return PHX_ERESOLVE;
}

static inline int none_fd(void *w)
{
    (void)w;
    return PHX_ENOTSUP;
}

static inline int none_wake(void *w)
{
    (void)w;
    return 0;
}

/* ---- A node, and what it is told --------------------------------------------------------------- */

static inline void known_begin(struct known *k, size_t mem_limit, uint32_t max_nodes)
{
    struct phx_os os = { PHX_OS_VERSION, NULL,       none_listen, none_accept, none_dial,
                         none_finish,    none_local, none_send,   none_recv,   none_close,
                         none_watch,     none_wait,  none_random, none_resolve, none_fd,
                         none_wake,      NULL,       NULL,      NULL };
    struct phx_alloc alloc = { test_alloc, NULL };
    struct phx_config c;

    memset(k, 0, sizeof *k);
    os.world = k;
    alloc.world = &k->heap;
    k->now = 1000000;
    phx_config_init(&c);
    c.os = &os;
    c.alloc = &alloc;
    c.insecure = 1;
    c.mem_limit = mem_limit;
    c.max_nodes = max_nodes;
    if (phx_new(&k->p, &c, k->now) != 0)
        exit(1);
}

static inline struct phx_stats known_stats(const struct known *k)
{
    struct phx_stats s;

    phx_stats(k->p, &s);
    return s;
}

static inline void known_end(struct known *k)
{
    check(known_stats(k).mem_bytes == k->heap.bytes, "mem_bytes is what was allocated");
    phx_free(k->p);
    check(k->heap.bytes == 0, "all memory is back");
}

static inline void known_steps(struct known *k, int count)
{
    for (; count > 0; count--) {
        k->now += 100000;
        phx_step(k->p, k->now, NULL, 0);
    }
}

static inline struct phx_id id_of(uint32_t i)
{
    uint64_t half[2] = { phx__map_mix(i + 77), phx__map_mix(i + 1000077) };
    struct phx_id id;

    memcpy(&id, half, sizeof id);
    return id;
}

/* A neighbour, as far as routing, detection and discovery see: a link without a connection. */
static inline uint32_t known_neighbour(struct known *k, uint32_t i)
{
    const struct phx__route_hello h = { 0, 1, 0, 1, 1, 0 };
    struct phx_id id = id_of(i);
    uint32_t node = PHX__NONE;

    check(phx__id_add(&k->p->ids, &id, &node) == 0 && phx__node_peer(k->p, node) == 0
              && phx__dial_up(&k->p->dial, node, PHX__NONE) == 0
              && phx__detect_link_up(&k->p->detect, node, 0, k->now) == 0
              && phx__route_up(&k->p->route, node, &h, k->now) == 0,
          "a neighbour");
    return node;
}

/* One with a link that is up: what it says is put into `in` and read by phx__node_links_read. */
static inline struct phx__link *known_link(struct known *k, uint32_t i)
{
    struct phx__links *s = &k->p->links;
    struct phx__link *l = phx__mem_zero(&k->p->mem, sizeof *l);
    uint32_t slot = s->size, node = known_neighbour(k, i);

    check(phx__mem_grow(&k->p->mem, &s->at, &s->capacity, slot + 1, sizeof(struct phx__link *)) == 0
              && phx__map_put(&s->handles, 100 + slot, slot) == 0,
          "room for a link");
    phx__ring_init(&l->ring);
    l->slot = slot;
    s->at[slot] = l;
    s->size++;
    s->up++;
    check(phx__link_open(&k->p->set, l, (int)(100 + slot), PHX__LINK_UP, 0) == 0, "a link");
    phx__timer_stop(&k->p->timers, l->timer);
    l->peer = node;
    l->id = k->p->ids.at[node];
    l->generation = ++s->generation;
    k->p->peers.at[node].link = slot + 1;
    phx__detect_heartbeat(&k->p->detect, node, 3600 * PHX__SECOND, 0, 0, k->now); /* it may be silent */
    return l;
}

/* An entry for node i with a card of one address and perhaps one range of names. */
static inline int known_hears(struct known *k, uint32_t nbr, uint32_t i, int hops, int names)
{
    unsigned char bytes[128];
    struct phx__claim claim;
    struct phx__writer w;
    struct phx__card card;
    struct phx__entry e;

    memset(&card, 0, sizeof card);
    card.flags = PHX__CARD_RELAYS;
    card.window = 4u << 20;
    card.address_count = 1;
    card.address[0].family = PHX_IPV4;
    card.address[0].port = 7000;
    card.address[0].ip[0] = 10;
    memcpy(card.address[0].ip + 1, &i, 3);
    card.claim_count = (uint32_t)names;
    memset(&claim, 0, sizeof claim);
    claim.first = (uint64_t)i * 1000;
    claim.last = claim.first + 9;
    claim.epoch = 1;
    phx__buf_writer_init(&w, bytes, sizeof bytes);
    phx__wire_route_put_card(&w, &card, &claim);
    memset(&e, 0, sizeof e);
    e.id = id_of(i);
    e.seq = 2;
    e.hops = (uint8_t)hops;
    e.card_version = 1;
    e.card = bytes;
    e.card_size = (uint32_t)w.size;
    return phx__route_entry(&k->p->route, nbr, &e, k->now);
}

/* The UPDATE that says the card of node i, with other names for each version. */
static inline void known_put_card(struct phx__writer *w, uint32_t i, uint32_t version)
{
    struct phx__claim claim = { 7, 7, 0 };
    unsigned char bytes[128];
    struct phx__writer c;
    struct phx__card card;
    struct phx__entry e;
    size_t start;

    memset(&card, 0, sizeof card);
    card.window = 65536;
    card.claim_count = 1;
    claim.epoch = version;
    phx__buf_writer_init(&c, bytes, sizeof bytes);
    phx__wire_route_put_card(&c, &card, &claim);
    memset(&e, 0, sizeof e);
    e.id = id_of(i);
    e.seq = 2;
    e.hops = 1;
    e.card_version = version;
    e.card = bytes;
    e.card_size = (uint32_t)c.size;
    e.flags = PHX__ENTRY_CARD;
    start = phx__wire_route_begin_update(w);
    phx__wire_route_put_entry(w, &e);
    phx__wire_end(w, start);
}

#endif
