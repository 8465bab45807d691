/* check.c - the invariants; one translation unit with the shipped phoenix.c, so it may look
 * inside. Promise 133.
 *
 * After a step only the node that stepped can have changed its next hops, and so a new loop must
 * pass through it: following each changed next hop until it ends or comes back is an exact test,
 * at a cost of the path's length per changed entry. Each node's beliefs are kept as arrays by
 * `life` for that. Where not every step is looked at, these are of different moments, and a loop in them need
 * never have been one: so before it counts, all on it are asked what they believe now. */
#include "../../phoenix.c"
#ifdef PHX_PAPER
#include "paper.h"
#endif

#include "check.h"
#include "owners.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NO_HOPS 255u

/* ---- Lives ------------------------------------------------------------------------------- */

static uint64_t id_word(const struct phx_id *id)
{
    uint64_t a, b;

    memcpy(&a, id->b, 8);
    memcpy(&b, id->b + 8, 8);
    return world_mix(a ^ world_mix(b));
}

static uint32_t life_find(const struct check *c, const struct phx_id *id)
{
    uint32_t i, life;

    if (!c->index_size)
        return WORLD_NONE;
    for (i = (uint32_t)id_word(id) & (c->index_size - 1);
         (life = c->index[i]) != WORLD_NONE; i = (i + 1) & (c->index_size - 1))
        if (memcmp(c->lives[life].id.b, id->b, sizeof id->b) == 0)
            return life;
    return WORLD_NONE;
}

static void index_put(struct check *c, uint32_t life)
{
    uint32_t i = (uint32_t)id_word(&c->lives[life].id) & (c->index_size - 1);

    while (c->index[i] != WORLD_NONE)
        i = (i + 1) & (c->index_size - 1);
    c->index[i] = life;
}

static int index_grow(struct check *c)
{
    uint32_t i, size = c->index_size ? c->index_size * 2 : 64;
    uint32_t *index = malloc(size * sizeof *index);

    if (!index)
        return -1;
    for (i = 0; i < size; i++)
        index[i] = WORLD_NONE;
    free(c->index);
    c->index = index;
    c->index_size = size;
    for (i = 0; i < c->life_count; i++)
        index_put(c, i);
    return 0;
}

static int life_add(struct check *c, const struct phx_id *id, uint32_t host)
{
    if (c->life_count == c->life_capacity) {
        uint32_t capacity = c->life_capacity ? c->life_capacity * 2 : 64;
        struct check_life *lives = realloc(c->lives, capacity * sizeof *lives);
        if (!lives)
            return -1;
        c->lives = lives;
        c->life_capacity = capacity;
    }
    if (c->life_count * 2 >= c->index_size && index_grow(c) < 0)
        return -1;
    c->lives[c->life_count].id = *id;
    c->lives[c->life_count].host = host;
    c->lives[c->life_count].alive = 1;
    index_put(c, c->life_count++);
    return 0;
}

static void *grow(void *old, uint32_t from, uint32_t to, size_t item, int fill)
{
    unsigned char *p = realloc(old, to * item);

    if (p)
        memset(p + from * item, fill, (to - from) * item);
    return p;
}

static int view_grow(struct check_view *v, uint32_t need)
{
    uint32_t to = v->capacity ? v->capacity : 16;
    void *p;

    while (to < need)
        to *= 2;
    if (to == v->capacity)
        return 0;
    if (!(p = grow(v->next, v->capacity, to, sizeof *v->next, 0xff)))
        return -1;
    v->next = p;
    if (!(p = grow(v->claimed, v->capacity, to, sizeof *v->claimed, 0)))
        return -1;
    v->claimed = p;
    if (!(p = grow(v->lost_at, v->capacity, to, sizeof *v->lost_at, 0)))
        return -1;
    v->lost_at = p;
    if (!(p = grow(v->hops, v->capacity, to, sizeof *v->hops, (int)NO_HOPS)))
        return -1;
    v->hops = p;
    v->capacity = to;
    return 0;
}

static void view_free(struct check_view *v)
{
    free(v->next);
    free(v->claimed);
    free(v->lost_at);
    free(v->hops);
    owners_view_free(v->owners);
#ifdef PHX_PAPER
    paper_free(v->paper);
#endif
    memset(v, 0, sizeof *v);
}

struct check *check_new(struct world *w, uint32_t every)
{
    struct check *c = calloc(1, sizeof *c);

    if (!c)
        return NULL;
    c->w = w;
    c->every = every ? every : 1;
    c->views = calloc(w->o.hosts_max ? w->o.hosts_max : 1, sizeof *c->views);
    if (c->views && (c->owners = owners_new()) != NULL)
        return c;
    free(c->views);
    free(c);
    return NULL;
}

void check_free(struct check *c)
{
    uint32_t i;

    if (!c)
        return;
    for (i = 0; i < c->w->o.hosts_max; i++)
        view_free(&c->views[i]);
    free(c->views);
    owners_free(c->owners);
    free(c->lives);
    free(c->index);
    free(c->routes);
    free(c->links);
    free(c);
}

/* From here on the node goes by the papers' rules, if it is to. */
static void view_rules(struct check *c, struct check_view *v, phx *p, int rules)
{
#ifdef PHX_PAPER
    (void)c;
    if (rules == PAPER_NONE)
        return;
    v->paper = paper_new(rules, p);
    p->route.rules = &v->paper->rules;
    p->paper = paper_frame;
#else
    (void)v;
    (void)p;
    if (rules != 0)
        world_fail(c->w, "this simulator was built without -DPHX_PAPER");
#endif
}

void check_born(struct check *c, uint32_t host, phx *p, int rules)
{
    struct check_view *v = &c->views[host];
    struct phx_id id;

    phx_self(p, &id);
    if (life_find(c, &id) != WORLD_NONE)
        world_fail(c->w, "host %u: this id was used before", (unsigned)host);
    view_free(v);
    v->p = p;
    v->life = c->life_count;
    view_rules(c, v, p, rules);
    if (life_add(c, &id, host) < 0 || (v->owners = owners_view_new()) == NULL)
        world_fail(c->w, "the simulator is out of memory");
}

void check_died(struct check *c, uint32_t host)
{
    struct check_view *v = &c->views[host];

    if (v->p)
        c->lives[v->life].alive = 0;
    view_free(v);
}

/* ---- After a step ------------------------------------------------------------------------ */

/* The next hop at this moment, which a view that is not looked at after each step does not know. */
static uint32_t next_now(const struct check *c, uint32_t life, uint32_t to)
{
    const phx *p = c->views[c->lives[life].host].p;
    uint32_t node = phx__id_find(&p->ids, &c->lives[to].id), next;

    next = node == PHX__NONE ? PHX__NONE : phx__route_next(&p->route, node);
    return next == PHX__NONE ? WORLD_NONE : life_find(c, &p->ids.at[next]);
}

static void describe_loop(struct check *c, uint32_t life, uint32_t to)
{
    char text[256];
    uint32_t cur = life, n = 0;
    size_t at = 0;

    text[0] = 0;
    do {
        int k = snprintf(text + at, sizeof text - at, "%u ", (unsigned)c->lives[cur].host);
        at += k > 0 ? (size_t)k : 0;
        cur = next_now(c, cur, to);
    } while (cur != life && ++n < 20 && at < sizeof text - 16);
    world_fail(c->w, "a loop on the way to host %u (life %u): %s", (unsigned)c->lives[to].host,
               (unsigned)to, text);
}

/* Does the way from life to `to` come back to where it began? */
static int is_loop(const struct check *c, uint32_t life, uint32_t to, int afresh)
{
    uint32_t cur = life, n;

    for (n = 0; n <= c->life_count; n++) {
        const struct check_view *v = &c->views[c->lives[cur].host];
        if (!c->lives[cur].alive || (!afresh && to >= v->capacity))
            return 0;
        cur = afresh ? next_now(c, cur, to) : v->next[to];
        if (cur == WORLD_NONE || cur == to)
            return 0;
        if (cur == life)
            return 1;
    }
    return 0;
}

static void check_loop(struct check *c, uint32_t life, uint32_t to)
{
    c->loops_checked++;
    if (is_loop(c, life, to, 0) && is_loop(c, life, to, 1))
        describe_loop(c, life, to);
}

static uint64_t claim_of(const struct phx_route *r)
{
    if (r->feasible_hops < 0)
        return (uint64_t)r->feasible_seq << 9;
    return ((uint64_t)r->feasible_seq << 9) | (256u - (uint32_t)r->feasible_hops);
}

static void note_loss(struct check *c, struct check_view *v, uint32_t to)
{
    if (!c->watching || !c->lives[to].alive)
        return;
    v->lost_at[to] = c->w->now;
    c->pairs_lost++;
    world_say(c->w, 1, "host %u loses its route to %u", (unsigned)c->lives[v->life].host,
              (unsigned)c->lives[to].host);
}

static void note_return(struct check *c, struct check_view *v, uint32_t to)
{
    uint64_t us;

    if (!v->lost_at[to])
        return;
    us = c->w->now - v->lost_at[to];
    v->lost_at[to] = 0;
    c->lost_us_sum += us;
    if (us > c->longest_us)
        c->longest_us = us;
}

static void look_at_route(struct check *c, struct check_view *v, const struct phx_route *r)
{
    uint32_t to = life_find(c, &r->id), next = WORLD_NONE;
    uint64_t claim = claim_of(r);

    if (to == WORLD_NONE || to == v->life)
        return;
    if (r->hops >= 0)
        next = life_find(c, &r->next);
    if (claim < v->claimed[to])
        world_fail(c->w,
                   "host %u went back: it had advertised (%llu, %u) for host %u, now (%u, %d)",
                   (unsigned)c->lives[v->life].host, (unsigned long long)(v->claimed[to] >> 9),
                   (unsigned)(256u - (v->claimed[to] & 511u)), (unsigned)c->lives[to].host,
                   (unsigned)r->feasible_seq, r->feasible_hops);
    v->claimed[to] = claim;
    v->hops[to] = r->hops < 0 ? (uint8_t)NO_HOPS : (uint8_t)r->hops;
    if (next == v->next[to])
        return;
    if (next == WORLD_NONE)
        note_loss(c, v, to);
    else if (v->next[to] == WORLD_NONE)
        note_return(c, v, to);
    v->next[to] = next;
    if (next != WORLD_NONE)
        check_loop(c, v->life, to);
}

static size_t routes_of(struct check *c, const phx *p)
{
    size_t n = phx_routes(p, c->routes, c->route_capacity);

    if (n > c->route_capacity) {
        struct phx_route *routes = realloc(c->routes, (n + n / 2) * sizeof *routes);
        if (!routes) {
            world_fail(c->w, "the simulator is out of memory");
            return 0;
        }
        c->routes = routes;
        c->route_capacity = n + n / 2;
        n = phx_routes(p, c->routes, c->route_capacity);
    }
    return n;
}

void check_look(struct check *c, uint32_t host)
{
    struct check_view *v = &c->views[host];
    size_t i, n;

    if (!v->p)
        return;
    c->looks++;
    n = routes_of(c, v->p);
    if (view_grow(v, c->life_count) < 0) {
        world_fail(c->w, "the simulator is out of memory");
        return;
    }
    for (i = 0; i < n && !c->w->failed; i++)
        look_at_route(c, v, &c->routes[i]);
}

/* Routes change by updates in, by links, and by what is told. Anything else is seen at the next
 * look. */
static uint64_t counters(const phx *p)
{
    struct phx_stats s;

    phx_stats(p, &s);
    return world_mix(world_mix(s.updates_in ^ (s.updates_out << 32)) ^ s.requests_out ^ (s.links_lost << 32))
           ^ world_mix(s.links ^ ((uint64_t)s.reachable << 20) ^ ((uint64_t)s.nodes << 40)) ^ s.digest;
}

void check_step(struct check *c, uint32_t host)
{
    struct check_view *v = &c->views[host];
    uint64_t now;

    if (!v->p)
        return;
    owners_step(c, host);
    now = counters(v->p);
    if (now == v->looked || ++v->steps % c->every)
        return;
    v->looked = now;
    check_look(c, host);
}

void check_watch_losses(struct check *c)
{
    uint32_t i;

    for (i = 0; i < c->w->host_count; i++) {
        check_look(c, i);
        if (c->views[i].p)
            memset(c->views[i].lost_at, 0, c->views[i].capacity * sizeof *c->views[i].lost_at);
    }
    c->watching = 1;
    c->pairs_lost = c->longest_us = c->lost_us_sum = 0;
}

uint64_t check_still_lost(struct check *c)
{
    uint64_t n = 0;
    uint32_t i, k;

    for (i = 0; i < c->w->host_count; i++) {
        struct check_view *v = &c->views[i];
        for (k = 0; v->p && k < v->capacity && k < c->life_count; k++) {
            if (!v->lost_at[k] || !c->lives[k].alive)
                continue;
            note_return(c, v, k);
            n++;
        }
    }
    return n;
}

/* ---- Looking from outside ---------------------------------------------------------------- */

uint8_t check_hops(const struct check *c, uint32_t a, uint32_t b)
{
    const struct check_view *from = &c->views[a], *to = &c->views[b];

    if (!from->p || !to->p || to->life >= from->capacity)
        return NO_HOPS;
    return from->hops[to->life];
}

uint32_t check_next(const struct check *c, uint32_t a, uint32_t b)
{
    const struct check_view *from = &c->views[a], *to = &c->views[b];

    if (!from->p || !to->p || to->life >= from->capacity || from->next[to->life] == WORLD_NONE)
        return WORLD_NONE;
    return c->lives[from->next[to->life]].host;
}

int check_path(const struct check *c, uint32_t a, uint32_t b)
{
    uint32_t n;

    for (n = 0; a != b && n <= c->w->host_count; n++) {
        uint32_t next = check_next(c, a, b);
        if (next == WORLD_NONE || world_blocked(c->w, a, next) || !c->views[next].p)
            return 0;
        a = next;
    }
    return a == b;
}

static size_t links_of(struct check *c, const phx *p)
{
    size_t n = phx_links(p, c->links, c->link_capacity);

    if (n > c->link_capacity) {
        struct phx_link *links = realloc(c->links, (n + n / 2) * sizeof *links);
        if (!links) {
            world_fail(c->w, "the simulator is out of memory");
            return 0;
        }
        c->links = links;
        c->link_capacity = n + n / 2;
        n = phx_links(p, c->links, c->link_capacity);
    }
    return n;
}

void check_links(struct check *c, uint32_t host, size_t queue_limit)
{
    const struct check_view *v = &c->views[host];
    unsigned char *seen;
    size_t i, n;

    if (!v->p || !(seen = calloc(c->life_count, 1)))
        return;
    n = links_of(c, v->p);
    for (i = 0; i < n; i++) {
        uint32_t peer = life_find(c, &c->links[i].peer);
        if (c->links[i].queued_bytes > queue_limit)
            world_fail(c->w, "host %u: %zu bytes are queued on one link", (unsigned)host,
                       c->links[i].queued_bytes);
        if (!c->links[i].up || peer == WORLD_NONE)
            continue;
        if (seen[peer]++)
            world_fail(c->w, "host %u has two links with host %u", (unsigned)host,
                       (unsigned)c->lives[peer].host);
    }
    free(seen);
}

uint32_t check_life(const struct check *c, const struct phx_id *id)
{
    return life_find(c, id);
}

/* A queue takes a message while it has room, so that one of any size fits into an empty one: it
 * may be over its bound by one message, in fragments that have a head each. */
static size_t one_over(uint32_t most)
{
    return most + ((size_t)most / PHX__FRAGMENT + 1) * (PHX__FRAME_MAX - PHX__FRAGMENT);
}

static void over(const struct check *c, uint32_t host, const char *what, size_t bytes, size_t limit)
{
    if (bytes > limit)
        world_fail(c->w, "host %u: %s: %zu bytes, its bound is %zu", (unsigned)host, what, bytes, limit);
}

/* What is for one node: in its flow, and in boxes behind the flow. */
static size_t check_credit(const struct phx__post_peer *peer)
{
    const struct phx__ring *r;
    size_t bytes = peer->out.bytes;

    for (r = peer->boxes.bound.next; r != &peer->boxes.bound; r = r->next)
        bytes += ((const struct phx__box *)(const void *)r)->bytes;
    return bytes;
}

/* What is held for names is bounded when it is accepted. Beyond that only what had been accepted for a
 * node's window comes back from there, when it fails or does not hold the name any more. */
static size_t held_limit(const struct phx__post *post, const struct phx_config *cfg, size_t window)
{
    size_t peers = 0, i;

    for (i = 0; i < post->node_capacity; i++)
        peers += post->nodes[i].peer != NULL;
    return cfg->hold_bytes + (peers + 1) * 2 * window;
}

void check_bounds(const struct check *c, uint32_t host, const struct phx_config *cfg, uint32_t most,
                  uint32_t at_once)
{
    const struct check_view *v = &c->views[host];
    const size_t window = cfg->window + at_once * one_over(most);
    const struct phx__post *post;
    size_t transit = 0, i;

    if (!v->p)
        return;
    post = &v->p->post;
    for (i = 0; i < post->node_capacity; i++) {
        const struct phx__post_peer *peer = post->nodes[i].peer;
        if (!peer)
            continue;
        over(c, host, "the flow to one node", peer->out.bytes, window);
        over(c, host, "all that waits for one node", check_credit(peer), 2 * window + cfg->hold_bytes);
        over(c, host, "transit to one node", peer->transit.queue.bytes, 2 * cfg->window);
        transit += peer->transit.queue.bytes;
    }
    over(c, host, "all transit", transit, (size_t)64 << 20);
    over(c, host, "what is held for names", post->store.held_bytes, held_limit(post, cfg, window));
    for (i = 0; i < v->p->links.size; i++)
        if (v->p->links.at[i])
            over(c, host, "the queue of a link", phx__link_out_queued(v->p->links.at[i]), (size_t)1 << 20);
    if (cfg->mem_limit) /* the peak tells of every moment, not only of this one */
        over(c, host, "memory", c->w->hosts[host].mem_peak, cfg->mem_limit);
}

/* Bytes of messages in all boxes and flows; *held: what counts as held of them, as it is charged. */
static size_t queued_bytes(const struct phx__post *post, size_t *held)
{
    const struct phx__queued *l;
    size_t sum = 0;
    uint32_t i, k;

    for (*held = 0, i = 0; i < post->store.count; i++) {
        const struct phx__box *b = post->store.boxes[i];
        int counts = b->state != PHX__BOX_LOCAL;
        for (l = b->head; l != NULL; l = l->next) {
            sum += phx__post_flow_message_bytes(&l->message);
            *held += counts ? phx__post_store_cost(l->message.size + l->message.rest_size) : 0;
        }
    }
    for (i = 0; i < post->node_capacity; i++)
        for (k = 0; post->nodes[i].peer != NULL && k < post->nodes[i].peer->out.count; k++)
            if (!phx__post_flow_at(&post->nodes[i].peer->out, k)->gone) /* withdrawn, and not swept yet */
                sum += phx__post_flow_payload(phx__post_flow_at(&post->nodes[i].peer->out, k));
    return sum;
}

void check_pending(const struct check *c, uint32_t host, const struct check_told *t)
{
    const struct check_view *v = &c->views[host];
    const struct phx__post *post;
    size_t held, queued, to_tell = 0;
    uint32_t i;

    if (!v->p)
        return;
    post = &v->p->post;
    for (i = 0; i < post->outcomes.count; i++)
        to_tell += post->outcomes.list[post->outcomes.first + i].token != 0;
    queued = queued_bytes(post, &held);
    if (post->pending.bytes != queued || post->store.held_bytes != held)
        world_fail(c->w, "host %u: %zu bytes pending and %zu held; in its queues: %zu and %zu",
                   (unsigned)host, post->pending.bytes, post->store.held_bytes, queued, held);
    if (post->pending.count + to_tell < t->untold
        || post->pending.count + to_tell > t->untold + t->expired + t->mute)
        world_fail(c->w, "host %u: %zu messages are pending, %zu to be told; %llu are untold, %llu expired",
                   (unsigned)host, post->pending.count, to_tell, (unsigned long long)t->untold,
                   (unsigned long long)t->expired);
    if (phx_pending(v->p) > t->untold_bytes + t->expired_bytes + t->mute_bytes)
        world_fail(c->w, "host %u: %zu bytes are pending; %llu are untold, %llu expired", (unsigned)host,
                   phx_pending(v->p), (unsigned long long)t->untold_bytes,
                   (unsigned long long)t->expired_bytes);
}

int check_owner(const struct check *c, uint32_t host, uint64_t name, uint32_t *owner)
{
    phx *p = (phx *)c->views[host].p;
    int err;

    (void)phx__names_owner(&p->names, name, NULL, &err);
    *owner = p->post.ops.owner(p->post.ops.ctx, name);
    if (*owner == PHX__NONE)
        *owner = WORLD_NONE;
    return err != 0 ? -1 : 0;
}

const char *check_who(const struct check *c, const struct phx_id *id, char *out, size_t size)
{
    uint32_t life = life_find(c, id);

    if (life == WORLD_NONE)
        (void)snprintf(out, size, "an unknown node");
    else
        (void)snprintf(out, size, "host %u%s", (unsigned)c->lives[life].host,
                       c->lives[life].alive ? "" : " (dead)");
    return out;
}

uint32_t check_holders(struct check *c, uint64_t name, uint32_t *holder)
{
    struct phx_range ranges[64];
    uint32_t i, count = 0;
    size_t k, n;

    for (i = 0; i < c->w->host_count; i++) {
        if (!c->views[i].p)
            continue;
        n = phx_names(c->views[i].p, &c->lives[c->views[i].life].id, ranges, 64);
        for (k = 0; k < n && k < 64; k++) {
            if (name < ranges[k].first || name > ranges[k].last)
                continue;
            *holder = i;
            count++;
        }
    }
    return count;
}

size_t check_spare_bytes(const phx *p)
{
    return p->mem.spare_bytes;
}

size_t check_dead_bytes(const struct check *c, uint32_t host)
{
    return c->views[host].p ? dead_bytes(c->views[host].p, 0, 0) : 0;
}

void check_sha(const void *data, size_t size, unsigned char out[32])
{
    struct phx__sha h;

    phx__sha_init(&h);
    phx__sha_add(&h, data, size);
    phx__sha_end(&h, out);
}

void check_hmac(const void *data, size_t size, unsigned char out[32])
{
    struct phx__hmac h;

    phx__sha_key_init(&h, NULL, 0);
    phx__sha_add(&h.inner, data, size);
    phx__sha_hmac_end(&h, out);
}

void check_explain_name(struct check *c, uint32_t host, uint64_t name, char *out, size_t size)
{
    const phx *p = c->views[host].p;
    size_t at = 0;
    uint32_t i, k;

    out[0] = 0;
    for (i = 0; p && i < p->names.capacity; i++) {
        const struct phx__names_of *of = &p->names.of[i];
        char who[32];
        for (k = 0; k < of->count && at < size; k++) {
            int n;
            if (name < of->at[k].first || name > of->at[k].last)
                continue;
            n = snprintf(out + at, size - at, "; %s claims it with epoch %llu, state %d%s",
                         check_who(c, &p->ids.at[i], who, sizeof who),
                         (unsigned long long)of->at[k].epoch,
                         (int)phx__detect_state(&p->detect, i, NULL), of->dead ? ", dead" : "");
            at += n > 0 ? (size_t)n : 0;
        }
    }
}

/* ---- Graphs ------------------------------------------------------------------------------ */

static int graph_init(struct graph *g, uint32_t count, size_t edges)
{
    g->count = count;
    g->first = calloc(count + 1u, sizeof *g->first);
    g->to = malloc((edges ? edges : 1) * sizeof *g->to);
    if (g->first && g->to)
        return 0;
    graph_free(g);
    return -1;
}

void graph_free(struct graph *g)
{
    free(g->first);
    free(g->to);
    memset(g, 0, sizeof *g);
}

static uint32_t up_links(struct check *c, uint32_t host, uint32_t *out)
{
    uint32_t count = 0;
    size_t i, n;

    if (!c->views[host].p)
        return 0;
    n = links_of(c, c->views[host].p);
    for (i = 0; i < n; i++) {
        uint32_t life = c->links[i].up ? life_find(c, &c->links[i].peer) : WORLD_NONE;
        if (life == WORLD_NONE || !c->lives[life].alive)
            continue;
        if (out)
            out[count] = c->lives[life].host;
        count++;
    }
    return count;
}

int check_graph_of_links(struct check *c, struct graph *g)
{
    size_t edges = 0;
    uint32_t i, at = 0;

    for (i = 0; i < c->w->host_count; i++)
        edges += up_links(c, i, NULL);
    if (graph_init(g, c->w->host_count, edges) < 0)
        return -1;
    for (i = 0; i < g->count; i++) {
        g->first[i] = at;
        at += up_links(c, i, g->to + at);
    }
    g->first[i] = at;
    return 0;
}

static int could_link(const struct world *w, uint32_t a, uint32_t b)
{
    if (a == b || world_blocked(w, a, b) || world_blocked(w, b, a))
        return 0;
    return (world_may_dial(w, a, b) && w->hosts[b].listeners[0].port)
           || (world_may_dial(w, b, a) && w->hosts[a].listeners[0].port);
}

int check_graph_of_walls(const struct check *c, struct graph *g)
{
    uint32_t i, k, at = 0, count = c->w->host_count;

    if (graph_init(g, count, (size_t)count * count) < 0)
        return -1;
    for (i = 0; i < count; i++) {
        g->first[i] = at;
        for (k = 0; k < count && c->views[i].p; k++)
            if (c->views[k].p && could_link(c->w, i, k))
                g->to[at++] = k;
    }
    g->first[i] = at;
    return 0;
}

void graph_distances(const struct graph *g, uint32_t from, uint8_t *out, uint32_t *queue)
{
    uint32_t head = 0, tail = 0, k;

    memset(out, (int)NO_HOPS, g->count);
    out[from] = 0;
    queue[tail++] = from;
    while (head < tail && tail < g->count) { /* once all are seen the rest can say nothing new */
        uint32_t at = queue[head++];
        for (k = g->first[at]; k < g->first[at + 1]; k++) {
            if (out[g->to[k]] != NO_HOPS || out[at] + 1u >= NO_HOPS)
                continue;
            out[g->to[k]] = (uint8_t)(out[at] + 1);
            queue[tail++] = g->to[k];
        }
    }
}

int check_shortest(struct check *c, const struct graph *g, uint8_t limit, uint32_t *a, uint32_t *b,
                   uint8_t *want)
{
    uint8_t *distance = malloc(g->count ? g->count : 1);
    uint32_t *queue = malloc((g->count + 1u) * sizeof *queue);
    int wrong = 0;

    for (*a = 0; distance && queue && *a < g->count && !wrong; *a += !wrong) {
        if (!c->views[*a].p)
            continue;
        check_look(c, *a);
        graph_distances(g, *a, distance, queue);
        for (*b = 0; *b < g->count; ++*b) {
            if (*a == *b || !c->views[*b].p || check_hops(c, *a, *b) == distance[*b])
                continue;
            if (distance[*b] != NO_HOPS && distance[*b] > limit)
                continue;
            *want = distance[*b];
            wrong = 1;
            break;
        }
    }
    free(distance);
    free(queue);
    return wrong;
}

static uint64_t digest_of(const struct check *c, uint32_t host)
{
    struct phx_stats s;

    phx_stats(c->views[host].p, &s);
    return s.digest;
}

/* Equal across each edge is equal in each component. */
int check_digests(struct check *c, const struct graph *g, uint32_t *a, uint32_t *b)
{
    uint64_t *digest = calloc(g->count ? g->count : 1, sizeof *digest);
    uint32_t k;
    int wrong = 0;

    for (k = 0; digest && k < g->count; k++)
        if (c->views[k].p)
            digest[k] = digest_of(c, k);
    for (*a = 0; digest && *a < g->count && !wrong; *a += !wrong)
        for (k = g->first[*a]; k < g->first[*a + 1] && !wrong; k++) {
            *b = g->to[k];
            wrong = digest[*a] != digest[*b];
        }
    free(digest);
    return wrong;
}
