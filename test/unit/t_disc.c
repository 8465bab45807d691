/* t_disc.c - whom to dial and when: races, back-off, bounds, errors, and a long random run. */
#include "test.h"
#ifdef PHX_JOINED
#include "../../phoenix.c"
#else
#include "dial/target.h"
#endif

#define MS PHX__MS
#define SECOND PHX__SECOND
#define RETRY_MIN (50 * MS)
#define RETRY_MAX (30 * SECOND)
#define OPEN 256

/* One node's room, all it stands on, and a dial that only writes down what it is asked for. */
struct dialled {
    uint32_t attempt, expect;
    struct phx_address to;
    uint64_t at;
};
struct rig {
    struct test_heap heap;
    struct phx__mem mem;
    struct phx__ids ids;
    struct phx__timers timers;
    struct phx__rnd rnd;  /* the room's */
    struct phx__rnd dice; /* the test's */
    struct phx__dial d;
    uint64_t now;
    struct dialled open[OPEN]; /* under way */
    uint32_t open_count;
    struct dialled last;   /* of all dials */
    uint32_t dials, abandons, asks;
    int refuse;            /* each dial fails at once so; 0: under way */
    uint16_t fail_port;    /* or only this port's, with PHX_EREFUSED */
    uint32_t wrong;        /* what must never happen did */
    struct phx_address said[64][4]; /* by node: what phx__dial_contact was last told */
    uint32_t said_count[64];
};

static int rig_dial(void *ctx, uint32_t attempt, uint32_t expect, const struct phx_address *to)
{
    struct rig *r = ctx;
    uint32_t i;

    r->dials++;
    r->last.attempt = attempt;
    r->last.expect = expect;
    r->last.to = *to;
    r->last.at = r->now;
    r->wrong += attempt == PHX__NONE || r->open_count >= r->d.limits.max_dials;
    r->wrong += expect != PHX__NONE && r->d.nodes[expect].linked;
    for (i = 0; i < r->open_count; i++) {
        r->wrong += r->open[i].attempt == attempt;
        r->wrong += phx__addr_equal(&r->open[i].to, to) != 0;
    }
    if (r->refuse != 0)
        return r->refuse;
    if (r->fail_port != 0 && r->fail_port == to->port)
        return PHX_EREFUSED;
    r->open[r->open_count++] = r->last;
    return 0;
}

static int rig_close(struct rig *r, uint32_t attempt)
{
    uint32_t i;

    for (i = 0; i < r->open_count; i++) {
        if (r->open[i].attempt != attempt)
            continue;
        r->open[i] = r->open[--r->open_count];
        return 1;
    }
    return 0;
}

static void rig_abandon(void *ctx, uint32_t attempt)
{
    struct rig *r = ctx;

    r->abandons++;
    r->wrong += !rig_close(r, attempt);
}

static uint32_t rig_addresses(void *ctx, uint32_t node, struct phx_address *out)
{
    struct rig *r = ctx;

    memcpy(out, r->said[node], sizeof r->said[node]);
    return r->said_count[node];
}

static int rig_says(struct rig *r, uint32_t node, const struct phx_address *a, uint32_t count)
{
    memcpy(r->said[node], a, count * sizeof *a);
    r->said_count[node] = count;
    return phx__dial_contact(&r->d, node, a, count, r->now);
}

static void rig_ask(void *ctx)
{
    ((struct rig *)ctx)->asks++;
}

static void rig_id(struct phx__rnd *dice, struct phx_id *id)
{
    uint32_t i;

    for (i = 0; i < sizeof id->b; i++)
        id->b[i] = (unsigned char)phx__rnd_below(dice, 256);
}

static int rig_init(struct rig *r, uint32_t max_links, uint32_t max_dials, uint64_t seed)
{
    struct phx__dial_ops ops = { NULL, rig_dial, rig_abandon, rig_ask, NULL };
    struct phx__dial_limits limits = { 0, 0, RETRY_MIN, RETRY_MAX, 0 };
    struct phx_alloc alloc;
    struct phx_id self;
    uint32_t index;

    alloc.alloc = test_alloc;
    alloc.world = &r->heap;
    phx__mem_init(&r->mem, &alloc, 0);
    phx__id_init(&r->ids, &r->mem, 100000);
    phx__timer_init(&r->timers, &r->mem);
    phx__rnd_seed(&r->rnd, seed, 1);
    phx__rnd_seed(&r->dice, seed, 2);
    memset(&r->d, 0, sizeof r->d);
    r->d.mem = &r->mem;
    r->now = SECOND;
    rig_id(&r->dice, &self);
    if (phx__id_add(&r->ids, &self, &index) != 0)
        return PHX_ENOMEM;
    ops.ctx = r;
    limits.max_links = max_links;
    limits.max_dials = max_dials;
    return phx__dial_init(&r->d, &r->mem, &r->ids, &r->timers, &r->rnd, &limits, &ops);
}

static struct rig *rig_new(uint32_t max_links, uint32_t max_dials, uint64_t seed)
{
    struct rig *r = calloc(1, sizeof *r);

    if (r == NULL || rig_init(r, max_links, max_dials, seed) != 0)
        exit(1);
    return r;
}

static void rig_free(struct rig *r)
{
    phx__dial_free(&r->d);
    phx__id_free(&r->ids);
    phx__timer_free(&r->timers);
    check(r->mem.used == 0 && test_heap_is_clean(&r->heap), "no memory is left behind");
    check(r->wrong == 0, "no dial was against the rules: %u", r->wrong);
    free(r);
}

/* Others say that it is back; and that it is gone again, so that no route keeps its dials frequent. */
static void rig_news(struct rig *r, uint32_t node)
{
    phx__dial_route(&r->d, node, 0, r->now);
    phx__dial_route(&r->d, node, 1, r->now);
    phx__dial_route(&r->d, node, 0, r->now);
}

/* Lets time pass up to and including `until`. */
static void rig_run(struct rig *r, uint64_t until)
{
    uint32_t arg;
    int kind, count = 0;

    while (phx__timer_next(&r->timers) <= until && count++ < 1000000) {
        if (phx__timer_next(&r->timers) > r->now)
            r->now = phx__timer_next(&r->timers);
        if (phx__timer_pop(&r->timers, r->now, &kind, &arg) == 1)
            phx__dial_due(&r->d, arg, r->now);
    }
    check(count < 1000000, "time does not stand still");
    r->now = until;
}

static void rig_pass(struct rig *r, uint64_t us)
{
    rig_run(r, r->now + us);
}

/* Runs to the next dial; how long it took, or UINT64_MAX if none comes within an hour. */
static uint64_t rig_wait(struct rig *r)
{
    uint64_t begin = r->now;
    uint32_t dials = r->dials;

    while (r->dials == dials) {
        if (phx__timer_next(&r->timers) > begin + 3600 * SECOND)
            return UINT64_MAX;
        rig_run(r, phx__timer_next(&r->timers) > r->now ? phx__timer_next(&r->timers) : r->now);
    }
    return r->now - begin;
}

static void rig_fail(struct rig *r, uint32_t attempt, int error)
{
    r->wrong += !rig_close(r, attempt);
    phx__dial_result(&r->d, attempt, error, r->now);
}

static int rig_up(struct rig *r, uint32_t attempt, uint32_t node)
{
    if (attempt != PHX__NONE)
        r->wrong += !rig_close(r, attempt);
    return phx__dial_up(&r->d, node, attempt, r->now);
}

/* A node with a random id. */
static uint32_t rig_node(struct rig *r)
{
    struct phx_id id;
    uint32_t node = PHX__NONE;

    rig_id(&r->dice, &id);
    if (phx__id_add(&r->ids, &id, &node) != 0)
        return PHX__NONE;
    return node;
}

static struct phx_address v4(uint32_t host, uint16_t port)
{
    struct phx_address a;

    memset(&a, 0, sizeof a);
    a.family = PHX_IPV4;
    a.ip[0] = 10;
    a.ip[2] = (unsigned char)(host >> 8);
    a.ip[3] = (unsigned char)host;
    a.port = port;
    return a;
}

static struct phx_address v6(uint32_t host, uint16_t port)
{
    struct phx_address a = v4(host, port);

    a.family = PHX_IPV6;
    return a;
}

static struct phx_address in_unix(const char *path)
{
    struct phx_address a;

    memset(&a, 0, sizeof a);
    a.family = PHX_UNIX;
    memcpy(a.path, path, strlen(path));
    return a;
}

/* A node at 10.0.x.y, with x.y its index. */
static uint32_t rig_contact(struct rig *r)
{
    uint32_t node = rig_node(r);
    struct phx_address a = v4(node, 7000);

    check(phx__dial_contact(&r->d, node, &a, 1, r->now) == 0, "contact");
    return node;
}

/* A place to dial that is not the address of any node. */
static int rig_hub(struct rig *r, uint32_t host)
{
    struct phx_address a = v6(host, 7000);

    return phx__dial_hub(&r->d, &a, 1, r->now);
}

/* What must hold whatever happened. */
static void rig_check(struct rig *r)
{
    const struct phx__dial *d = &r->d;
    uint32_t i, k, open = 0, linked = 0, known = 0, queued = 0, latent = 0, wrong = 0;

    for (i = 0; i < d->target_count; i++) {
        const struct phx__dial_target *t = &d->targets[i];
        uint32_t mine = 0;
        if (!t->in_use)
            continue;
        for (k = 0; k < t->count; k++)
            mine += t->at[k].attempt != PHX__NONE;
        open += mine;
        queued += t->queued;
        wrong += mine != t->open;
        wrong += !t->round && (mine > 0 || t->untried != 0);
        wrong += t->round && mine == 0 && t->untried == 0;
        /* Whoever has something to try has a timer or a place in the queue. */
        wrong += t->untried != 0 && !t->queued && phx__timer_at(&r->timers, t->timer) == UINT64_MAX;
        if (t->node != PHX__NONE && t->node < d->node_capacity && d->nodes[t->node].linked)
            wrong += t->round || t->queued;
        else if (!d->stopped
                 && (t->hub || (d->links < d->limits.max_links && d->known <= d->limits.max_links)))
            /* And nobody who should be linked is at rest. */
            wrong += !t->round && !t->queued && phx__timer_at(&r->timers, t->timer) == UINT64_MAX;
    }
    for (i = 0; i < d->node_capacity; i++) {
        linked += d->nodes[i].linked != 0;
        latent += d->nodes[i].target == PHX__TARGET_LATENT;
        /* Who may be dialled has a target. */
        wrong += d->nodes[i].target == PHX__TARGET_LATENT
                 && (d->known <= d->limits.max_links || d->nodes[i].wanted || phx__dial_pick_has(&d->best, i));
        known += d->nodes[i].linked || d->nodes[i].target != 0;
    }
    wrong += open != d->attempts.open || open != r->open_count || open > d->limits.max_dials;
    wrong += linked != d->links || known != d->known || latent != d->latent;
    /* Whoever waits either waits for an attempt or is called at once. */
    wrong += queued > 0 && open < d->limits.max_dials && phx__timer_next(&r->timers) > r->now;
    wrong += (queued > 0) != (d->head != PHX__NONE);
    r->wrong += wrong;
}

/* ---- Rounds */

static void test_race(void)
{
    /* Goal: the order and the pace of a round. Method: a hub with five addresses, none answers,
     * then one fails, then one wins. */
    struct rig *r = rig_new(10, 64, 1);
    struct phx_address a[6];
    uint64_t begin = r->now;
    uint32_t node;

    a[0] = v4(1, 1);
    a[1] = v4(2, 1);
    a[2] = v6(1, 1);
    a[3] = v4(1, 1); /* twice */
    a[4] = in_unix("/s");
    a[5] = v4(3, 1);
    ok(phx__dial_hub(&r->d, a, 6, r->now) == 0 && r->dials == 0,
       "a hub is taken; the call does not dial");
    rig_run(r, begin);
    ok(r->dials == 1 && r->last.to.family == PHX_UNIX, "at once, UNIX first");
    ok(r->last.expect == PHX__NONE, "whoever answers");
    rig_run(r, begin + 250 * MS - 1);
    ok(r->dials == 1, "nothing for 250 ms");
    rig_run(r, begin + 250 * MS);
    ok(r->dials == 2 && r->last.to.family == PHX_IPV6, "then IPv6");
    rig_pass(r, 100 * MS);
    rig_fail(r, r->open[0].attempt, PHX_EREFUSED);
    rig_pass(r, 0);
    ok(r->dials == 3 && phx__addr_equal(&r->last.to, &a[0]),
       "after a failure the next at once: IPv4");
    rig_pass(r, 249 * MS);
    ok(r->dials == 3, "and again 250 ms");
    rig_pass(r, 1 * MS);
    ok(r->dials == 4 && phx__addr_equal(&r->last.to, &a[1]),
       "the second IPv4, the double left out");
    node = rig_node(r);
    ok(rig_up(r, r->open[1].attempt, node) == 0 && r->open_count == 0 && r->abandons == 2,
       "the winner ends the others");
    rig_check(r);
    ok(rig_wait(r) == UINT64_MAX, "and all is quiet");
    rig_free(r);
}

static void test_order(void)
{
    /* Goal: families in turn. Method: lists as strings, u unix, 6 and 4, against the order of
     * dials. */
    static const char *const table[][2] = {
        { "4", "4" },         { "44", "44" },       { "46", "64" },           { "4466", "6464" },
        { "44446", "64444" }, { "66664", "64666" }, { "4u6u", "uu64" },       { "666", "666" },
        { "u", "u" },         { "464646", "646464" }, { "444444444466", "64644444" },
    };
    size_t row, i;

    for (row = 0; row < PHX__COUNT(table); row++) {
        struct rig *r = rig_new(10, 64, 2);
        struct phx_address a[16];
        char seen[16] = "";
        for (i = 0; table[row][0][i] != 0; i++)
            a[i] = table[row][0][i] == '4' ? v4((uint32_t)i, 1)
                   : table[row][0][i] == '6' ? v6((uint32_t)i, 1) : in_unix(i == 1 ? "/a" : "/b");
        phx__dial_hub(&r->d, a, (uint32_t)i, r->now);
        for (i = 0; i < strlen(table[row][1]); i++) {
            rig_wait(r);
            seen[i] = r->last.to.family == PHX_UNIX   ? 'u'
                      : r->last.to.family == PHX_IPV6 ? '6'
                                                      : '4';
        }
        ok(strcmp(seen, table[row][1]) == 0,
           "%s is dialled %s (%s)", table[row][0], table[row][1], seen);
        rig_free(r);
    }
}

static void test_backoff(void)
{
    /* Goal: waits lie in [retry_min/2 .. min(cap, retry_min << failures)], are spread over it,
     * and never end. Method: 300 hubs and 300 nodes refuse 20 times each. */
    uint64_t sum_last = 0, longest[2] = { 0, 0 }, cap;
    uint32_t bad = 0, low = 0, high = 0, seed;
    int hub, round;

    for (hub = 0; hub < 2; hub++) {
        for (seed = 0; seed < 300; seed++) {
            struct rig *r = rig_new(10, 64, seed);
            if (hub)
                rig_hub(r, 1);
            else
                rig_contact(r);
            bad += rig_wait(r) != 0;
            for (round = 0; round < 20; round++) {
                uint64_t wait, most = hub || round < 10 ? RETRY_MAX : 10 * RETRY_MAX;
                cap = RETRY_MIN << round < most ? RETRY_MIN << round : most;
                rig_fail(r, r->last.attempt, PHX_EREFUSED);
                rig_check(r);
                wait = rig_wait(r);
                bad += wait < RETRY_MIN / 2 || wait > cap;
                low += wait < cap / 4;
                high += wait > cap - cap / 4;
                longest[hub] = wait > longest[hub] ? wait : longest[hub];
                sum_last += round == 19 && hub ? wait : 0;
            }
            rig_free(r);
        }
    }
    ok(bad == 0, "waits are within their bounds: %u are not", bad);
    ok(low > 2000 && high > 2000, "and spread over them: %u low, %u high of 12000", low, high);
    ok(sum_last / 300 > 13 * SECOND && sum_last / 300 < 17 * SECOND,
       "the mean is half the longest");
    ok(longest[1] <= RETRY_MAX && longest[1] > RETRY_MAX - SECOND,
       "hubs are dialled for ever, at most 30 s apart");
    ok(longest[0] <= 10 * RETRY_MAX && longest[0] > 9 * RETRY_MAX,
       "dead nodes for ever too, at most 300 s apart");
}

static void test_sync_failures(void)
{
    /* Goal: a dial that fails at once is a result like any other. Method: the first of three
     * addresses fails so, then all do. */
    struct rig *r = rig_new(10, 64, 3);
    struct phx_address a[3];
    uint64_t wait;

    a[0] = v4(1, 1);
    a[1] = v4(1, 2);
    a[2] = v4(1, 3);
    r->fail_port = 1;
    phx__dial_hub(&r->d, a, 3, r->now);
    rig_pass(r, 0);
    ok(r->dials == 2 && r->open_count == 1 && r->open[0].to.port == 2,
       "the next address in the same breath");
    rig_fail(r, r->open[0].attempt, PHX_ETIMEDOUT);
    rig_pass(r, 0);
    ok(r->dials == 3, "and the third");
    r->refuse = PHX_EMFILE;
    rig_fail(r, r->open[0].attempt, PHX_ETIMEDOUT);
    ok(r->d.targets[0].at[0].error == PHX_EREFUSED && r->d.targets[0].at[2].error == PHX_ETIMEDOUT,
       "what went wrong is kept for each address");
    wait = rig_wait(r);
    ok(wait >= RETRY_MIN / 2 && wait <= RETRY_MIN && r->dials == 6,
       "back-off, then all three fail in one call");
    rig_check(r);
    r->refuse = 0;
    wait = rig_wait(r);
    ok(wait >= RETRY_MIN / 2 && wait <= 4 * RETRY_MIN && r->open_count == 1, "and so on");
    rig_free(r);
}

/* ---- Who dials */

static uint64_t first_dial(const struct phx_id *self, const struct phx_id *other, int listening,
                           uint64_t seed)
{
    struct rig *r = rig_new(10, 64, seed);
    struct phx_address a = v4(1, 1);
    uint64_t wait;
    uint32_t node;

    r->ids.at[PHX__SELF] = *self;
    phx__id_add(&r->ids, other, &node);
    phx__dial_listening(&r->d, listening);
    phx__dial_contact(&r->d, node, &a, 1, r->now);
    wait = rig_wait(r);
    rig_free(r);
    return wait;
}

static void test_who_dials(void)
{
    /* Goal: of two listening nodes exactly one dials at once, either one equally often. Method:
     * 1000 random pairs, both sides of each. */
    struct phx__rnd dice;
    struct phx_id a, b;
    uint32_t both_or_none = 0, smaller = 0, off = 0, i;
    uint64_t x, y, later, lowest = UINT64_MAX, highest = 0;

    phx__rnd_seed(&dice, 4, 4);
    for (i = 0; i < 1000; i++) {
        rig_id(&dice, &a);
        rig_id(&dice, &b);
        x = first_dial(&a, &b, 1, i);
        y = first_dial(&b, &a, 1, i + 5000);
        both_or_none += (x == 0) == (y == 0);
        smaller += (x == 0) == (phx__id_compare(&a, &b) < 0);
        later = x > y ? x : y;
        off += later < 1000 * MS || later > 1250 * MS;
        lowest = later < lowest ? later : lowest;
        highest = later > highest ? later : highest;
        off += first_dial(&a, &b, 0, i) != 0;
    }
    ok(both_or_none == 0, "exactly one goes first");
    ok(smaller > 400 && smaller < 600, "nobody is favoured: the smaller id in %u of 1000", smaller);
    ok(off == 0, "the other after 1000..1250 ms; who does not listen at once");
    ok(lowest < 1010 * MS && highest > 1240 * MS, "with jitter over all of that");
}

static void test_dialled_by_peer(void)
{
    /* Goal: nobody is dialled that cannot be or need not be. Method: contacts without addresses,
     * links that the peer made, before and after the contact. */
    struct rig *r = rig_new(10, 64, 5);
    uint32_t a = rig_node(r), b = rig_node(r), c;
    struct phx_address at = v4(1, 1);

    ok(phx__dial_contact(&r->d, a, &at, 0, r->now) == 0 && rig_wait(r) == UINT64_MAX,
       "no addresses, no dial");
    rig_up(r, PHX__NONE, b);
    phx__dial_contact(&r->d, b, &at, 1, r->now);
    ok(rig_wait(r) == UINT64_MAX, "linked before its contact came: no dial");
    c = rig_contact(r);
    rig_pass(r, 0);
    ok(r->open_count == 1 && r->last.expect == c, "this one is dialled");
    rig_up(r, PHX__NONE, c);
    ok(r->open_count == 0 && r->abandons == 1, "but dials us meanwhile: ours is abandoned");
    rig_check(r);
    rig_pass(r, 5 * SECOND);
    phx__dial_down(&r->d, c, r->now);
    ok(rig_wait(r) <= RETRY_MIN && r->last.expect == c,
       "its link ends: dialled again, though we had not made it");
    phx__dial_down(&r->d, c, r->now);
    phx__dial_down(&r->d, 77, r->now);
    rig_check(r);
    ok(phx__dial_contact(&r->d, PHX__SELF, &at, 1, r->now) == 0 && r->d.known == 2,
       "a node does not know itself");
    rig_free(r);
}

/* ---- Bounds */

static void test_max_dials(void)
{
    /* Goal: never more than max_dials, and in the order of due. Method: 20 nodes through a gate
     * of 4. */
    struct rig *r = rig_new(100, 4, 6);
    uint32_t i, node[20], order = 0;

    for (i = 0; i < 20; i++)
        node[i] = rig_contact(r);
    rig_pass(r, 0);
    ok(r->open_count == 4 && r->d.attempts.open == 4, "four at once");
    for (i = 0; i < 4; i++)
        phx__dial_answered(&r->d, r->open[i].attempt);
    rig_pass(r, 3 * SECOND);
    ok(r->dials == 4, "and no more while they last");
    rig_check(r);
    rig_up(r, r->open[0].attempt, node[0]);
    rig_pass(r, 0);
    ok(r->dials == 5 && r->last.expect == node[4], "one ends, the next one starts");
    rig_up(r, PHX__NONE, node[5]);
    rig_fail(r, r->open[0].attempt, PHX_EREFUSED);
    rig_pass(r, 0);
    ok(r->dials == 6 && r->last.expect == node[6], "who is linked meanwhile leaves the queue");
    /* Two end at one moment, and the one whose turn is called leaves before it comes. */
    rig_up(r, r->open[0].attempt, r->open[0].expect);
    rig_up(r, r->open[0].attempt, r->open[0].expect);
    phx__dial_forget(&r->d, node[7]);
    rig_pass(r, 0);
    ok(r->dials == 8 && r->last.expect == node[9], "and leaves no gap");
    for (i = 10; i < 20; i++) {
        rig_up(r, r->open[0].attempt, r->open[0].expect);
        rig_pass(r, 0);
        order += r->last.expect != node[i];
        rig_check(r);
    }
    ok(order <= 1, "all in order, but for the one that failed and came back");
    rig_free(r);
}

static void test_give_way(void)
{
    /* Goal: addresses behind a wall, where nobody ever answers, do not keep one waiting that would; and
     * without anybody waiting each has all its time. Method: 100 such nodes and then a good one, through
     * a gate of 16; then nobody else. */
    struct rig *r = rig_new(1000, 16, 61);
    uint32_t i, good, late = 0, most = 0;

    for (i = 0; i < 16; i++)
        rig_contact(r);
    rig_pass(r, 0);
    rig_pass(r, 10 * SECOND);
    ok(r->open_count == 16 && r->dials == 16 && r->abandons == 0, "nobody waits: nobody gives way");
    good = rig_contact(r);
    rig_pass(r, 0);
    ok(r->last.expect == good && r->abandons == 1, "the first who waits has a place at once");
    phx__dial_answered(&r->d, r->last.attempt);
    for (i = 0; i < 100; i++)
        rig_contact(r);
    good = rig_contact(r);
    for (i = 0; i < 1000 && r->last.expect != good; i++) {
        rig_pass(r, 10 * MS);
        most = r->open_count > most ? r->open_count : most;
        late += r->last.expect != good;
    }
    ok(most == 16 && late * 10 * MS < 12500 * MS,
       "a hundred walls hold up a good address for %u ms: each gets an answer's time", late * 10);
    ok(r->d.attempts.at[r->open[0].attempt & 0xffff].target != PHX__NONE, "what answered stays");
    rig_pass(r, 0);
    rig_check(r);
    rig_free(r);
}

static void test_relayed(void)
{
    /* Goal: promise 14: who can be reached through others is dialled at least once a minute, however
     * often that failed; the dead ones rarely. Method: an hour of failures, with and without a route. */
    struct rig *r = rig_new(100, 4, 62);
    uint32_t node = rig_contact(r), i, with, without;
    uint64_t begin, longest = 0, wait;

    r->refuse = PHX_EUNREACH;
    phx__dial_route(&r->d, node, 1, r->now);
    for (i = 0; i < 100; i++) {
        wait = rig_wait(r);
        longest = wait > longest ? wait : longest;
    }
    ok(longest <= 60 * SECOND, "never later than a minute after the last: %u s",
       (unsigned)(longest / SECOND));
    begin = r->now;
    with = r->dials;
    rig_run(r, begin + 3600 * SECOND);
    with = r->dials - with;
    phx__dial_route(&r->d, node, 0, r->now);
    without = r->dials;
    rig_run(r, begin + 2 * 3600 * SECOND);
    without = r->dials - without;
    ok(with >= 60 && with <= 120 + 10 && without < with / 2, "in an hour %u dials, and %u without a route",
       with, without);
    begin = r->now;
    phx__dial_moved(&r->d, r->now);
    wait = rig_wait(r);
    ok(wait <= SECOND, "this node has moved: all is tried again soon, after %u ms",
       (unsigned)(wait / MS));
    /* A plain pause of some 30 s begins again after ten failures; a first message cuts it short. */
    for (i = 0; i < 20; i++)
        rig_wait(r);
    phx__dial_want(&r->d, node, r->now);
    wait = rig_wait(r);
    ok(wait <= RETRY_MIN, "so it is on first use, after %u ms", (unsigned)(wait / MS));
    rig_free(r);
}

static void test_silent_last(void)
{
    /* Goal: promise 7: a clone of docker0, which swallows what is sent to it, holds up a start by one
     * stagger and a reconnect by nothing. Method: three addresses of one node, the first two silent. */
    struct rig *r = rig_new(100, 8, 63);
    struct phx_address a[3];
    uint32_t node = rig_contact(r), i;

    for (i = 0; i < 3; i++)
        a[i] = v4(1000 + i, 7000);
    phx__dial_contact(&r->d, node, a, 3, r->now);
    rig_pass(r, 600 * MS);
    ok(r->open_count == 3, "all three race");
    while (r->open_count > 0)
        rig_fail(r, r->open[0].attempt,
                 phx__addr_equal(&r->open[0].to, &a[2]) ? PHX_EREFUSED : PHX_ETIMEDOUT);
    rig_wait(r);
    ok(phx__addr_equal(&r->last.to, &a[2]), "the one that gave a sign of life comes first");
    rig_free(r);
}

/* Runs an hour in which all dials fail at once; how many different nodes were dialled. */
static uint32_t count_dialled(struct rig *r, uint8_t *seen, uint32_t size)
{
    uint64_t until = r->now + 3600 * SECOND;
    uint32_t i, count = 0;

    memset(seen, 0, size);
    while (phx__timer_next(&r->timers) <= until) {
        rig_run(r, phx__timer_next(&r->timers) > r->now ? phx__timer_next(&r->timers) : r->now);
        while (r->open_count > 0) {
            if (r->open[0].expect < size)
                seen[r->open[0].expect] = 1;
            rig_fail(r, r->open[0].attempt, PHX_EREFUSED);
        }
    }
    r->now = until;
    for (i = 0; i < size; i++)
        count += seen[i];
    return count;
}

static void test_max_links(void)
{
    /* Goal: the mesh is full up to max_links and sparse beyond. Method: 100 nodes and max_links
     * 20; wants, goodbyes and links, and each time who is dialled. */
    struct rig *r = rig_new(20, 64, 7);
    uint8_t seen[200], before[200];
    uint32_t node[100], i, same = 0, extra, best;

    for (i = 0; i < 20; i++)
        node[i] = rig_contact(r);
    ok(count_dialled(r, seen, 200) == 20, "20 of 20");
    for (; i < 100; i++)
        node[i] = rig_contact(r);
    ok(count_dialled(r, before, 200) == PHX__DISC_BEST, "8 of 100");
    for (extra = 0; before[node[extra]]; extra++)
        ;
    phx__dial_want(&r->d, node[extra], r->now);
    phx__dial_want(&r->d, node[extra], r->now);
    count_dialled(r, seen, 200);
    for (i = 0; i < 100; i++)
        same += before[node[i]] == seen[node[i]];
    ok(same == 99 && seen[node[extra]], "a wanted one is dialled too, and the 8 are the same");
    rig_hub(r, 1);
    rig_pass(r, 0);
    ok(r->last.expect == PHX__NONE, "hubs are");
    rig_fail(r, r->last.attempt, PHX_EREFUSED);
    rig_up(r, PHX__NONE, node[extra]);
    rig_pass(r, 10 * SECOND);
    phx__dial_down(&r->d, node[extra], r->now);
    count_dialled(r, seen, 200);
    ok(!seen[node[extra]], "a want is met by a link");
    for (best = 0; !before[node[best]]; best++)
        ;
    phx__dial_forget(&r->d, node[best]);
    ok(count_dialled(r, seen, 200) == PHX__DISC_BEST && !seen[node[best]],
       "one of the 8 leaves: another");
    for (i = 0, same = 0; i < 100; i++)
        same += before[node[i]] && seen[node[i]];
    ok(same == 7, "and the other 7 stay");
    for (i = 0; i < 100; i++)
        if (!before[node[i]])
            phx__dial_forget(&r->d, node[i]);
    for (i = 0; i < 13; i++)
        node[i] = rig_contact(r);
    ok(r->d.known == 20 && count_dialled(r, seen, 200) == 20, "down to 20 known: all of them");
    rig_check(r);
    rig_free(r);
}

static void test_crossing(void)
{
    /* Goal: whoever rests because of the bound is woken when it falls. Method: 21 nodes and
     * max_links 20; one is forgotten, loses its addresses, or loses its link. */
    uint8_t seen[50];
    uint32_t i, node = 0;
    int how;

    for (how = 0; how < 3; how++) {
        struct rig *r = rig_new(20, 64, 25);
        for (i = 0; i < 20; i++)
            rig_contact(r);
        if (how == 2) {
            node = rig_node(r);
            rig_up(r, PHX__NONE, node);
        } else {
            node = rig_contact(r);
        }
        ok(count_dialled(r, seen, 50) == PHX__DISC_BEST, "21 known: the 8");
        for (i = 1; how < 2 && i <= 20 && seen[i]; i++)
            ;
        if (how == 0)
            phx__dial_forget(&r->d, i);
        else if (how == 1)
            phx__dial_contact(&r->d, i, NULL, 0, r->now);
        else
            phx__dial_down(&r->d, node, r->now);
        ok(count_dialled(r, seen, 50) == 20, "20 known: all");
        rig_free(r);
    }
}

static void test_best(void)
{
    /* Goal: the choice depends on who is known, not on the order of the news. Method: 40 nodes,
     * told forwards, backwards, and with 20 others that go again. */
    uint32_t order, i, k, node, differs = 0;
    struct phx_id id[60], best[PHX__DISC_BEST];
    struct phx__rnd dice;

    phx__rnd_seed(&dice, 26, 26);
    for (i = 0; i < 60; i++)
        rig_id(&dice, &id[i]);
    for (order = 0; order < 3; order++) {
        struct rig *r = rig_new(10, 64, 26);
        for (i = 0; i < 60; i++) {
            struct phx_address a = v4(i, 1);
            k = order == 0 ? i : 59 - i;
            if (k >= 40 && order < 2)
                continue;
            phx__id_add(&r->ids, &id[k], &node);
            phx__dial_contact(&r->d, node, &a, 1, r->now);
        }
        for (i = 40; i < 60 && order == 2; i++)
            phx__dial_forget(&r->d, phx__id_find(&r->ids, &id[i]));
        for (i = 0; i < r->d.best.count; i++) {
            if (order == 0)
                best[i] = r->ids.at[r->d.best.at[i].node];
            differs += !phx__id_equal(&best[i], &r->ids.at[r->d.best.at[i].node]);
        }
        ok(r->d.best.count == PHX__DISC_BEST && differs == 0, "the same 8 in the same order");
        rig_free(r);
    }
}

static void test_full(void)
{
    /* Goal: with max_links links only hubs are dialled, and one less opens the door again.
     * Method: 5 links by the peers, more nodes, a hub. */
    struct rig *r = rig_new(5, 64, 8);
    uint8_t seen[50];
    uint32_t i, node[6], best = 0;

    for (i = 0; i < 5; i++) {
        node[i] = rig_node(r);
        rig_up(r, PHX__NONE, node[i]);
    }
    node[5] = rig_contact(r);
    phx__dial_want(&r->d, node[5], r->now);
    ok(count_dialled(r, seen, 50) == 0, "full: nobody, not even if wanted");
    rig_hub(r, 1);
    ok(rig_wait(r) == 0, "but a hub");
    rig_up(r, r->last.attempt, rig_node(r));
    rig_pass(r, 2 * SECOND);
    phx__dial_down(&r->d, node[0], r->now);
    rig_pass(r, SECOND);
    ok(r->open_count == 0, "six links, then five: still full");
    phx__dial_down(&r->d, node[1], r->now);
    rig_pass(r, SECOND);
    ok(r->open_count == 1 && r->last.expect == node[5], "four: it is dialled");
    rig_check(r);
    for (i = 0; i < r->d.best.count; i++)
        best += r->d.best.at[i].node == node[5];
    ok(best == 1 && r->d.best.count == 1, "only who can be dialled is one of the best");
    rig_free(r);
}

static void test_graph(void)
{
    /* Goal: own choices of 8 make a connected graph of 8 to 30 links a node. Method: 300 rooms
     * that know each other, max_links 50, and a walk over the union of their choices. */
    enum { N = 300 };
    static struct phx_id id[N];
    static uint8_t linked[N][N];
    uint32_t i, k, node, reached = 1, most = 0, links = 0, degree, queue[N], done;
    uint8_t seen[N] = { 1 };
    struct phx__rnd dice;

    phx__rnd_seed(&dice, 9, 9);
    for (i = 0; i < N; i++)
        rig_id(&dice, &id[i]);
    for (i = 0; i < N; i++) {
        struct rig *r = rig_new(50, 64, i);
        r->ids.at[PHX__SELF] = id[i];
        for (k = 0; k < N; k++) {
            struct phx_address a = v4(k, 1);
            if (k != i && phx__id_add(&r->ids, &id[k], &node) == 0)
                phx__dial_contact(&r->d, node, &a, 1, r->now);
        }
        for (k = 0; k < r->d.best.count; k++) {
            node = r->d.best.at[k].node <= i ? r->d.best.at[k].node - 1 : r->d.best.at[k].node;
            linked[i][node] = linked[node][i] = 1;
        }
        rig_free(r);
    }
    for (queue[0] = 0, done = 0; done < reached; done++) {
        for (k = 0, degree = 0; k < N; k++) {
            degree += linked[queue[done]][k];
            if (!linked[queue[done]][k] || seen[k])
                continue;
            seen[k] = 1;
            queue[reached++] = k;
        }
        links += degree;
        most = degree > most ? degree : most;
    }
    ok(reached == N, "%u of %u are connected", reached, (unsigned)N);
    ok(most <= 30, "nobody has more than %u links", most);
    ok(links / 2 > N * 7, "few choose each other: %u links", links / 2);
}

/* ---- Errors */

static void test_errors(void)
{
    /* Goal: each kind of failure has its own consequence. Method: a table of the first error of
     * a hub with one address, and the time to the next dial. */
    static const struct {
        int error;
        uint64_t low, high;
    } table[] = {
        { PHX_EREFUSED, RETRY_MIN / 2, RETRY_MIN },   { PHX_ETIMEDOUT, RETRY_MIN / 2, RETRY_MIN },
        { PHX_EPEER, RETRY_MIN / 2, RETRY_MIN },      { PHX_ERESET, RETRY_MIN / 2, RETRY_MIN },
        { PHX_EKEY, RETRY_MAX / 2, RETRY_MAX },       { PHX_ECLUSTER, RETRY_MAX / 2, RETRY_MAX },
        { PHX_EVERSION, RETRY_MAX / 2, RETRY_MAX },   { PHX_EDUPLICATE, SECOND, SECOND },
        { PHX_ESELF, 10 * RETRY_MAX, 10 * RETRY_MAX },
    };
    size_t i;
    int now_or_later;

    for (i = 0; i < PHX__COUNT(table); i++) {
        for (now_or_later = 0; now_or_later < 2; now_or_later++) {
            struct rig *r = rig_new(10, 64, i);
            uint64_t wait;
            rig_hub(r, 1);
            r->refuse = now_or_later ? 0 : table[i].error;
            rig_wait(r);
            if (now_or_later)
                rig_fail(r, r->last.attempt, table[i].error);
            rig_check(r);
            wait = rig_wait(r);
            ok(wait >= table[i].low && wait <= table[i].high, "error %d %s", table[i].error,
               now_or_later ? "later" : "at once");
            rig_free(r);
        }
    }
}

static void test_worst_counts(void)
{
    /* Goal: what is worst in a round decides. Method: two addresses with two errors, in both
     * orders. */
    static const int errors[][2] = { { PHX_EKEY, PHX_EREFUSED }, { PHX_EREFUSED, PHX_EKEY } };
    size_t i, k;

    for (i = 0; i < PHX__COUNT(errors); i++) {
        struct rig *r = rig_new(10, 64, i);
        struct phx_address a[2];
        a[0] = v4(1, 1);
        a[1] = v4(2, 2);
        phx__dial_hub(&r->d, a, 2, r->now);
        for (k = 0; k < 2; k++) {
            rig_wait(r);
            rig_fail(r, r->last.attempt, errors[i][k]);
        }
        ok(rig_wait(r) >= RETRY_MAX / 2, "a wrong key and a refusal: long");
        rig_free(r);
    }
}

static void test_self(void)
{
    /* Goal: an address that seems to be ours rests for long, also across contacts, and is not lost:
     * anybody may have said so. Method: a node that lists one of ours beside its own; then a hub
     * where the first to answer says so. */
    struct rig *r = rig_new(10, 64, 10);
    struct phx_address a[3];
    uint32_t node = rig_node(r), selves = 0, i;
    uint64_t until = r->now + 10 * RETRY_MAX;

    a[0] = v4(1, 1);
    a[1] = v4(2, 2);
    a[2] = v4(3, 3);
    phx__dial_contact(&r->d, node, a, 2, r->now);
    rig_pass(r, 0);
    rig_fail(r, r->last.attempt, PHX_ESELF);
    for (i = 0; i < 12; i++) {
        rig_wait(r);
        selves += r->last.to.port == 1;
        rig_fail(r, r->last.attempt, PHX_EREFUSED);
        if (i == 4)
            phx__dial_contact(&r->d, node, a, 3, r->now);
        if (i == 8)
            phx__dial_contact(&r->d, node, a, 2, r->now);
    }
    ok(selves == 0, "not dialled again soon");
    phx__dial_contact(&r->d, node, a, 1, r->now);
    rig_check(r);
    rig_news(r, node);
    rig_check(r);
    rig_wait(r);
    ok(r->now == until && r->last.to.port == 1, "but after ten times retry_max, whatever the news");
    rig_free(r);
    r = rig_new(10, 64, 10);
    rig_hub(r, 1);
    rig_wait(r);
    rig_fail(r, r->last.attempt, PHX_ESELF);
    for (i = 0; i < 3; i++) {
        ok(rig_wait(r) == 10 * RETRY_MAX, "a hub is not given up for it");
        rig_fail(r, r->last.attempt, PHX_ESELF);
    }
    rig_wait(r);
    ok(rig_up(r, r->last.attempt, node) == 0 && r->d.links == 1, "and linked when it is one");
    phx__dial_down(&r->d, node, r->now + 2 * SECOND);
    ok(rig_wait(r) <= 2 * SECOND + RETRY_MIN, "and an address as any other from then on");
    rig_check(r);
    rig_free(r);
}

static void test_duplicate(void)
{
    /* Goal: a hub that is linked already is left alone. Method: duplicates with the node
     * unknown, then known, then its link going down. */
    struct rig *r = rig_new(10, 64, 11);
    struct phx_address a[2];
    uint32_t node = rig_node(r), i;
    uint64_t wait = 0;

    a[0] = v4(1, 1);
    a[1] = v4(1, 2);
    phx__dial_hub(&r->d, a, 2, r->now);
    rig_up(r, PHX__NONE, node);
    rig_pass(r, 300 * MS);
    ok(r->open_count == 2, "both addresses race");
    rig_fail(r, r->open[0].attempt, PHX_EDUPLICATE);
    ok(r->open_count == 1, "one says duplicate, but not who it is: the other goes on");
    rig_fail(r, r->open[0].attempt, PHX_EDUPLICATE);
    ok(r->open_count == 0 && r->d.targets[0].failures == 0,
       "it says so, too: the round is over, no failure");
    ok(rig_wait(r) == SECOND, "again after a second");
    rig_fail(r, r->last.attempt, PHX_EDUPLICATE);
    rig_wait(r);
    rig_fail(r, r->last.attempt, PHX_EDUPLICATE);
    rig_wait(r);
    for (i = 0; i < 20; i++) {
        rig_fail(r, r->last.attempt, PHX_EDUPLICATE);
        wait = rig_wait(r);
    }
    ok(wait == RETRY_MAX, "more rarely each time, if nobody says who that is");
    phx__dial_meet(&r->d, r->last.attempt, node);
    rig_fail(r, r->last.attempt, PHX_EDUPLICATE);
    ok(rig_wait(r) == UINT64_MAX, "once it is known, no dial");
    phx__dial_down(&r->d, node, r->now);
    ok(rig_wait(r) <= RETRY_MIN, "until its link ends");
    phx__dial_meet(&r->d, 12345, node);
    rig_fail(r, r->last.attempt, PHX_EREFUSED);
    while (r->open_count > 0 || r->d.targets[0].round) {
        if (r->open_count > 0)
            rig_fail(r, r->open[0].attempt, PHX_EREFUSED);
        rig_pass(r, 0);
    }
    rig_wait(r);
    phx__dial_meet(&r->d, r->last.attempt, node);
    rig_fail(r, r->last.attempt, PHX_EDUPLICATE);
    ok(rig_wait(r) == SECOND, "another failure in between, and it is a second again");
    rig_fail(r, r->last.attempt, PHX_EDUPLICATE);
    rig_wait(r);
    rig_up(r, r->last.attempt, node);
    rig_pass(r, 2 * SECOND);
    phx__dial_down(&r->d, node, r->now);
    rig_wait(r);
    phx__dial_meet(&r->d, r->last.attempt, node);
    rig_fail(r, r->last.attempt, PHX_EDUPLICATE);
    ok(rig_wait(r) == SECOND, "likewise a link");
    rig_check(r);
    rig_free(r);
}

static void test_unproved(void)
{
    /* Goal: a stranger that says "duplicate" keeps no address from being tried, the peer itself
     * does. Method: a card with 127.0.0.1, where somebody else lives, before the real address. */
    struct rig *r = rig_new(10, 64, 29);
    uint32_t node = rig_node(r), round;
    struct phx_address a[3];
    uint64_t wait;

    a[0] = v4(1, 1);
    a[1] = v4(2, 2);
    a[2] = v4(3, 3);
    phx__dial_contact(&r->d, node, a, 3, r->now);
    for (round = 0; round < 3; round++) {
        rig_wait(r);
        rig_fail(r, r->last.attempt, PHX_EDUPLICATE);
        rig_check(r);
        wait = rig_wait(r);
        ok(wait == 250 * MS && r->last.to.port == 2,
           "refused by whoever that was: the next address, when it is due");
        rig_fail(r, r->last.attempt, PHX_EREFUSED);
        ok(rig_wait(r) == 0 && r->last.to.port == 3, "and the third");
        rig_fail(r, r->last.attempt, PHX_EREFUSED);
        rig_check(r);
    }
    rig_wait(r);
    rig_wait(r);
    phx__dial_meet(&r->d, r->last.attempt, node);
    rig_fail(r, r->last.attempt, PHX_EDUPLICATE);
    rig_check(r);
    ok(r->open_count == 0 && rig_wait(r) >= SECOND, "it has proved who it is: the round is over");
    rig_free(r);
}

static void test_next_life(void)
{
    /* Goal: a node whose addresses have proved to be others' is dialled rarely at once, and as any
     * other after news. Method: ANSWERs with another id, known or not, from one and two addresses;
     * REFUSE with EPEER, which proves nothing. */
    uint32_t how;

    for (how = 0; how < 4; how++) {
        struct rig *r = rig_new(10, 64, 30 + how);
        uint32_t node = rig_node(r), other = rig_node(r);
        struct phx_address a[2];
        uint64_t wait;
        a[0] = v4(1, 1);
        a[1] = v4(2, 2);
        phx__dial_contact(&r->d, node, a, how == 2 ? 2 : 1, r->now);
        rig_wait(r);
        if (how < 3)
            phx__dial_meet(&r->d, r->last.attempt, how == 0 ? other : PHX__NONE);
        rig_fail(r, r->last.attempt, PHX_EPEER);
        if (how == 2) {
            rig_wait(r);
            rig_fail(r, r->last.attempt, PHX_EREFUSED);
        }
        rig_check(r);
        wait = rig_wait(r);
        if (how < 2)
            ok(wait >= 5 * RETRY_MAX && wait <= 10 * RETRY_MAX, "its next life answers: rarely");
        else
            ok(wait <= RETRY_MIN, how == 2 ? "it has another address" : "nobody has proved that");
        rig_fail(r, r->last.attempt, PHX_EREFUSED);
        rig_news(r, node);
        rig_wait(r);
        rig_fail(r, r->last.attempt, PHX_EREFUSED);
        ok(rig_wait(r) <= RETRY_MIN, "after news it is as any other");
        rig_free(r);
    }
}

static void test_late(void)
{
    /* Goal: results of attempts that are over change nothing. Method: numbers of abandoned,
     * finished and invented attempts. */
    struct rig *r = rig_new(10, 1, 12);
    uint32_t first, node, i, numbers = 0, last;

    rig_hub(r, 1);
    rig_wait(r);
    first = r->last.attempt;
    rig_fail(r, first, PHX_EREFUSED);
    rig_wait(r);
    ok(r->last.attempt != first, "the same slot, another number");
    phx__dial_result(&r->d, first, PHX_ESELF, r->now);
    phx__dial_result(&r->d, PHX__NONE, PHX_ESELF, r->now);
    phx__dial_result(&r->d, 500, PHX_ESELF, r->now);
    ok(r->d.attempts.open == 1 && r->d.targets[0].failures == 1,
       "late and wild results are ignored");
    node = rig_node(r);
    phx__dial_up(&r->d, node, first, r->now);
    ok(r->d.targets[0].node == PHX__NONE && r->open_count == 1,
       "a late link is the node's, not the hub's");
    rig_up(r, r->last.attempt, node);
    ok(r->d.links == 1 && r->d.targets[0].node == node, "a second up of a node is no second link");
    phx__dial_down(&r->d, node, r->now);
    /* The generation of the one slot goes around, and no number is ever NONE; rig_dial looks. */
    r->refuse = PHX_EREFUSED;
    for (i = 0, last = 0; i < 70000; i++) {
        rig_wait(r);
        numbers += r->last.attempt == last;
        last = r->last.attempt;
    }
    ok(numbers == 0, "each number differs from the one before, 70000 times");
    rig_free(r);
}

static void test_wrong_peer(void)
{
    /* Goal: a link with another node than the one dialled is that node's. Method: the hub's
     * attempt and a node's attempt answered by a third. */
    struct rig *r = rig_new(10, 64, 13);
    uint32_t a = rig_contact(r), b = rig_node(r);
    uint64_t wait;

    rig_pass(r, 0);
    rig_up(r, r->last.attempt, b);
    ok(r->d.links == 1 && r->d.targets[0].at[0].error == PHX_EPEER, "that address failed");
    wait = rig_wait(r);
    ok(wait >= 5 * RETRY_MAX && wait <= 10 * RETRY_MAX && r->last.expect == a,
       "and is tried again, rarely");
    rig_check(r);
    rig_free(r);
}

/* ---- Hubs */

static void test_hub(void)
{
    /* Goal: a hub is a place: whoever answers there is it, and while that node is linked,
     * however, nobody dials. Method: one hub, two incarnations of it. */
    struct rig *r = rig_new(10, 64, 14);
    uint32_t first = rig_node(r), second = rig_node(r), i, bad = 0;
    struct phx_address at = v6(1, 7000);
    uint64_t wait, longest = 0;

    rig_hub(r, 1);
    rig_wait(r);
    rig_up(r, r->last.attempt, first);
    for (i = 0; i < 200; i++) {
        rig_pass(r, 10 * SECOND);
        phx__dial_down(&r->d, first, r->now);
        wait = rig_wait(r);
        bad += wait > RETRY_MIN;
        longest = wait > longest ? wait : longest;
        rig_up(r, r->last.attempt, first);
    }
    ok(bad == 0 && longest > RETRY_MIN * 9 / 10, "a lost link is made again after 0..50 ms");
    rig_pass(r, 10 * SECOND);
    phx__dial_down(&r->d, first, r->now);
    rig_up(r, PHX__NONE, first);
    ok(rig_wait(r) == UINT64_MAX, "unless the hub dials us");
    rig_pass(r, 10 * SECOND);
    phx__dial_down(&r->d, first, r->now);
    rig_wait(r);
    rig_up(r, r->last.attempt, second);
    ok(r->d.targets[0].node == second && rig_wait(r) == UINT64_MAX,
       "another node answers there: it is the hub");
    rig_up(r, PHX__NONE, first);
    phx__dial_down(&r->d, first, r->now);
    ok(rig_wait(r) == UINT64_MAX, "and the first one is nothing to it");
    phx__dial_contact(&r->d, second, &at, 1, r->now);
    rig_pass(r, 10 * SECOND);
    phx__dial_down(&r->d, second, r->now);
    rig_pass(r, 5 * SECOND);
    ok(r->open_count == 1, "hub and node at one address: one dial, not two");
    rig_check(r);
    rig_free(r);
}

static void test_hub_limits(void)
{
    /* Goal: the edges of phx__dial_hub. Method: no address, the same hub again, 64 and one more. */
    struct rig *r = rig_new(10, 64, 15);
    struct phx_address a[2];
    uint32_t i, bad = 0;

    a[0] = v4(1, 1);
    a[1] = v4(2, 1);
    ok(phx__dial_hub(&r->d, a, 0, r->now) == PHX_EINVAL, "a hub without an address");
    phx__dial_hub(&r->d, a, 2, r->now);
    a[0] = v4(2, 1);
    a[1] = v4(1, 1);
    ok(phx__dial_hub(&r->d, a, 2, r->now) == 0 && r->d.hub_count == 1, "the same hub again");
    for (i = 1; i < PHX__DISC_HUBS; i++)
        bad += rig_hub(r, i) != 0;
    ok(bad == 0 && rig_hub(r, 1000) == PHX_ELIMIT, "64 hubs and no more");
    rig_free(r);
}

static void test_flapping(void)
{
    /* Goal: a link that comes and goes does not burn. Method: a hub whose links live 10 ms, then
     * one that lives. */
    struct rig *r = rig_new(10, 64, 16);
    uint32_t node = rig_node(r), i;
    uint64_t begin = r->now, wait;

    rig_hub(r, 1);
    for (i = 0; i < 60; i++) {
        rig_wait(r);
        rig_up(r, r->last.attempt, node);
        rig_pass(r, 10 * MS);
        phx__dial_down(&r->d, node, r->now);
    }
    ok(r->now - begin > 300 * SECOND, "60 of them take more than five minutes");
    rig_wait(r);
    rig_up(r, r->last.attempt, node);
    rig_pass(r, 2 * SECOND);
    phx__dial_down(&r->d, node, r->now);
    wait = rig_wait(r);
    ok(wait <= RETRY_MIN, "one that lasts makes up for it");
    rig_free(r);
}

static void test_hub_leaves(void)
{
    /* Goal: a hub that says goodbye is not dialled while its link lasts, then for ever, and its
     * index may mean somebody else. Method: forget before and after down, then another node on
     * the same index. */
    struct rig *r = rig_new(10, 64, 17);
    uint32_t node = rig_node(r), again;

    rig_hub(r, 1);
    rig_wait(r);
    rig_up(r, r->last.attempt, node);
    rig_pass(r, 5 * SECOND);
    phx__dial_forget(&r->d, node);
    ok(rig_wait(r) == UINT64_MAX, "goodbye, link still there: no dial");
    phx__dial_down(&r->d, node, r->now);
    phx__id_drop(&r->ids, node);
    again = rig_node(r);
    ok(again == node && r->d.targets[0].node == PHX__NONE, "its index is free");
    rig_up(r, PHX__NONE, again);
    ok(rig_wait(r) <= RETRY_MIN, "a node with that index is not that hub");
    rig_up(r, r->last.attempt, again);
    phx__dial_down(&r->d, again, r->now);
    phx__dial_forget(&r->d, again);
    ok(r->d.targets[0].node == PHX__NONE, "the other way around");
    rig_wait(r);
    rig_up(r, r->last.attempt, again);
    phx__dial_forget(&r->d, again);
    phx__dial_contact(&r->d, again, NULL, 0, r->now);
    phx__dial_down(&r->d, again, r->now);
    ok(r->d.targets[0].node == again, "it left, but came back before its link went: still the hub");
    phx__dial_forget(&r->d, 5000);
    rig_check(r);
    rig_free(r);
}

static void test_reset(void)
{
    /* Goal: a link and a new address end a long back-off. Method: twelve failures before each, then
     * one after. */
    struct rig *r = rig_new(10, 64, 27);
    struct phx_address a[2];
    uint32_t node = rig_node(r), i;

    a[0] = v4(1, 1);
    a[1] = v4(2, 2);
    phx__dial_contact(&r->d, node, a, 1, r->now);
    for (i = 0; i < 12; i++) {
        rig_wait(r);
        rig_fail(r, r->last.attempt, PHX_EREFUSED);
    }
    rig_wait(r);
    rig_up(r, r->last.attempt, node);
    rig_pass(r, 2 * SECOND);
    phx__dial_down(&r->d, node, r->now);
    rig_wait(r);
    rig_fail(r, r->last.attempt, PHX_EREFUSED);
    ok(rig_wait(r) <= RETRY_MIN, "after a link the first wait is short");
    for (i = 0; i < 12; i++) {
        rig_fail(r, r->last.attempt, PHX_EREFUSED);
        rig_wait(r);
    }
    rig_fail(r, r->last.attempt, PHX_EREFUSED);
    phx__dial_contact(&r->d, node, a, 2, r->now);
    for (i = 0; i < 2; i++) {
        rig_wait(r);
        rig_fail(r, r->last.attempt, PHX_EREFUSED);
    }
    ok(rig_wait(r) <= RETRY_MIN, "also after a new address");
    phx__dial_due(&r->d, 9999, r->now);
    rig_check(r);
    rig_free(r);
}

static void test_news(void)
{
    /* Goal: news of a node end a long back-off, and are nothing for who is linked or unknown.
     * Method: twelve failures, news, one failure more. */
    struct rig *r = rig_new(10, 64, 29);
    uint32_t node = rig_contact(r), i;

    for (i = 0; i < 12; i++) {
        rig_wait(r);
        rig_fail(r, r->last.attempt, PHX_EREFUSED);
    }
    rig_news(r, node);
    rig_check(r);
    rig_wait(r);
    rig_fail(r, r->last.attempt, PHX_EREFUSED);
    ok(rig_wait(r) <= RETRY_MIN, "the next wait is short again");
    rig_up(r, r->last.attempt, node);
    rig_news(r, node);
    rig_news(r, 9999);
    ok(rig_wait(r) == UINT64_MAX, "linked or unknown: no dial");
    rig_free(r);
}

static void test_courtesy_again(void)
{
    /* Goal: a new address does not jump the queue of who dials first. Method: 40 listening nodes
     * that failed for long, each with a new address; about half of them wait. */
    struct rig *r;
    struct phx_address a[2];
    uint32_t node, seed, first = 0, second = 0;
    uint64_t wait;

    a[0] = v4(1, 1);
    a[1] = v4(2, 2);
    for (seed = 0; seed < 40; seed++) {
        r = rig_new(10, 64, seed);
        node = rig_node(r);
        phx__dial_listening(&r->d, 1);
        phx__dial_contact(&r->d, node, a, 1, r->now);
        rig_wait(r);
        rig_fail(r, r->last.attempt, PHX_EKEY);
        phx__dial_contact(&r->d, node, a, 2, r->now);
        wait = rig_wait(r);
        first += wait <= 20 * MS;
        second += wait >= 1000 * MS && wait <= 1270 * MS;
        rig_free(r);
    }
    ok(first + second == 40 && first > 8 && second > 8, "%u first, %u second", first, second);
}

/* ---- Contacts */

static void test_replace(void)
{
    /* Goal: a new list keeps what stays, ends what goes, tries what is new. Method: lists over the
     * addresses 1..4 in the middle of a round. */
    struct rig *r = rig_new(10, 64, 18);
    struct phx_address a[4], b[4];
    uint32_t node = rig_node(r), first;
    uint64_t wait;

    a[0] = v4(1, 1);
    a[1] = v4(2, 2);
    a[2] = v4(3, 3);
    a[3] = v4(4, 4);
    phx__dial_contact(&r->d, node, a, 2, r->now);
    rig_pass(r, 0);
    first = r->last.attempt;
    b[0] = a[1];
    b[1] = a[0];
    phx__dial_contact(&r->d, node, b, 2, r->now);
    ok(r->abandons == 0 && r->open_count == 1, "the same set in another order: nothing happens");
    b[1] = a[2];
    b[2] = a[0];
    phx__dial_contact(&r->d, node, b, 3, r->now);
    rig_check(r);
    ok(r->abandons == 0 && r->open_count == 1, "one more: the attempt goes on");
    ok(rig_wait(r) <= 20 * MS && r->last.to.port == 2, "and the round, sooner than planned");
    ok(rig_wait(r) == 250 * MS && r->last.to.port == 3, "then the new one");
    phx__dial_contact(&r->d, node, &a[1], 2, r->now);
    ok(r->abandons == 1 && r->open_count == 2, "one less: its attempt ends");
    phx__dial_result(&r->d, first, PHX_ESELF, r->now);
    rig_check(r);
    rig_fail(r, r->open[0].attempt, PHX_EREFUSED);
    ok(r->d.targets[0].at[0].error == PHX_EREFUSED || r->d.targets[0].at[1].error == PHX_EREFUSED,
       "attempts that moved find their address");
    phx__dial_contact(&r->d, node, &a[1], r->open[0].to.port == 2 ? 1 : 2, r->now);
    rig_fail(r, r->open[0].attempt, PHX_EREFUSED);
    rig_check(r);
    rig_wait(r);
    while (r->open_count > 0) {
        rig_fail(r, r->open[0].attempt, PHX_EKEY);
        rig_pass(r, 0);
    }
    rig_pass(r, SECOND);
    phx__dial_contact(&r->d, node, &a[3], 1, r->now);
    wait = rig_wait(r);
    ok(wait <= 20 * MS && r->last.to.port == 4, "a new address cuts a long wait short");
    phx__dial_contact(&r->d, node, a, 0, r->now);
    ok(r->open_count == 0 && r->d.known == 0 && rig_wait(r) == UINT64_MAX,
       "no addresses: all is over");
    rig_free(r);
}

static void test_replace_all(void)
{
    /* Goal: when only the addresses that go were still open, the round ends. Method: two
     * addresses, one has failed, the other one goes. */
    struct rig *r = rig_new(10, 64, 19);
    struct phx_address a[2];
    uint32_t node = rig_node(r);
    uint64_t wait;

    a[0] = v4(1, 1);
    a[1] = v4(2, 2);
    phx__dial_contact(&r->d, node, a, 2, r->now);
    rig_pass(r, 0);
    rig_fail(r, r->last.attempt, PHX_EREFUSED);
    rig_pass(r, 0);
    ok(r->open_count == 1 && r->last.to.port == 2, "the second is open");
    phx__dial_contact(&r->d, node, a, 1, r->now);
    rig_check(r);
    wait = rig_wait(r);
    ok(r->abandons == 1 && wait >= RETRY_MIN / 2 && wait <= RETRY_MIN && r->last.to.port == 1,
       "back-off, then the first");
    phx__dial_listening(&r->d, 1);
    r->wrong += rig_up(r, r->last.attempt, node) != 0;
    phx__dial_contact(&r->d, node, a, 2, r->now);
    ok(rig_wait(r) == UINT64_MAX, "linked: a new address is noted, not dialled");
    rig_check(r);
    rig_free(r);
}

static void test_same_address(void)
{
    /* Goal: nobody is dialled twice at once, whoever points there. Method: 30 nodes at one
     * address, and one of them with a second address. */
    struct rig *r = rig_new(100, 64, 20);
    struct phx_address a[2];
    uint32_t node[30], i;

    a[0] = v4(1, 1);
    a[1] = v4(2, 2);
    for (i = 0; i < 30; i++) {
        node[i] = rig_node(r);
        phx__dial_contact(&r->d, node[i], a, i == 29 ? 2 : 1, r->now);
    }
    rig_pass(r, 0);
    ok(r->open_count == 2 && r->last.expect == node[29] && r->last.to.port == 2,
       "one dial there, and one to the other address");
    rig_fail(r, r->last.attempt, PHX_EREFUSED);
    rig_pass(r, 0);
    ok(r->d.targets[29].failures == 1, "which does not wait for the first");
    for (i = 1; i < 29 && r->d.targets[i].failures == 0; i++)
        ;
    ok(i == 29, "to wait for one's turn is no failure");
    for (i = 0; i < 400; i++) {
        rig_fail(r, r->open[0].attempt, PHX_EPEER);
        rig_wait(r);
        rig_check(r);
    }
    for (i = 0; i < 30 && r->d.targets[i].failures > 0; i++)
        ;
    ok(i == 30, "everybody gets a turn");
    rig_free(r);
}

static void test_busy_then_free(void)
{
    /* Goal: an address that others were busy with is still tried in the same round. Method: as
     * above, and the first dial ends while the second one is under way. */
    struct rig *r = rig_new(100, 64, 28);
    struct phx_address a[2];
    uint32_t one = rig_node(r), two = rig_node(r);

    a[0] = v4(1, 1);
    a[1] = v4(2, 2);
    phx__dial_contact(&r->d, one, a, 1, r->now);
    rig_pass(r, 0);
    phx__dial_contact(&r->d, two, a, 2, r->now);
    rig_pass(r, 300 * MS);
    ok(r->open_count == 2 && r->open[1].to.port == 2, "the second address first");
    rig_up(r, r->open[0].attempt, one);
    ok(rig_wait(r) <= 250 * MS && r->last.expect == two && r->last.to.port == 1,
       "then the free one");
    rig_check(r);
    rig_free(r);
}

/* Goal: the budget of a host is for those that do not answer. Method: 400 nodes at one host, each at a port
 * of its own, three lives of them with new ids and ports; then as many addresses where nobody is. Each seed
 * is another salt: wherever the host's line falls, so many ports of its own must not drive it out. */
static void test_large_host(uint64_t seed)
{
    struct rig *r = rig_new(1000, 64, seed);
    uint64_t start;
    uint32_t life, i, node[400];
    struct phx_address a;

    for (life = 0; life < 4; life++) {
        start = r->now;
        r->refuse = life == 3 ? PHX_EREFUSED : 0;
        r->dials = 0;
        for (i = 0; i < 400; i++) {
            node[i] = rig_node(r);
            a = v4(7, (uint16_t)(10000 + life * 400 + i));
            check(phx__dial_contact(&r->d, node[i], &a, 1, r->now) == 0, "contact");
        }
        if (life == 3) {
            rig_pass(r, 10 * SECOND);
            ok(r->dials >= 128 && r->dials <= 128 + 80 + 1, "nobody is there: %u dials in 10 s",
               r->dials);
            continue;
        }
        while (r->dials < 400 && rig_wait(r) != UINT64_MAX)
            while (r->open_count > 0)
                check(rig_up(r, r->open[0].attempt, r->open[0].expect) == 0, "up");
        ok(r->dials == 400 && r->now - start < SECOND, "life %u: 400 links after %u ms", life,
           (unsigned)((r->now - start) / 1000));
        while (r->open_count > 0)
            check(rig_up(r, r->open[0].attempt, r->open[0].expect) == 0, "up");
        for (i = 0; i < 400; i++) {
            phx__dial_down(&r->d, node[i], r->now);
            phx__dial_forget(&r->d, node[i]);
        }
        r->now += SECOND;
    }
    rig_free(r);
}

static void test_slots(void)
{
    /* Goal: slots, timers and memory are used again. Method: 1000 nodes come and go one after
     * another. */
    struct rig *r = rig_new(10, 64, 21);
    uint32_t i, node;
    size_t used = 0;

    for (i = 0; i < 1000; i++) {
        node = rig_contact(r);
        rig_pass(r, 0);
        phx__dial_forget(&r->d, node);
        phx__id_drop(&r->ids, node);
        if (i == 0)
            used = r->mem.used;
        rig_check(r);
    }
    ok(r->d.target_count == 1 && r->mem.used == used, "one slot for a thousand nodes");
    ok(r->open_count == 0 && r->d.known == 0 && r->d.best.count == 0,
       "and nothing is left of them");
    rig_free(r);
}

static void test_stop(void)
{
    /* Goal: after stop nothing is dialled. Method: stop in the middle, then every kind of event. */
    struct rig *r = rig_new(10, 2, 22);
    uint32_t i, node = rig_node(r), dials;

    for (i = 0; i < 5; i++)
        rig_contact(r);
    rig_hub(r, 1);
    rig_up(r, PHX__NONE, node);
    rig_pass(r, 0);
    dials = r->dials;
    phx__dial_stop(&r->d);
    ok(dials == 2 && r->open_count == 0, "what is under way is abandoned");
    phx__dial_down(&r->d, node, r->now);
    rig_contact(r);
    rig_hub(r, 2);
    phx__dial_want(&r->d, 2, r->now);
    phx__dial_forget(&r->d, 3);
    rig_pass(r, 1000 * SECOND);
    ok(r->dials == dials && phx__timer_next(&r->timers) == UINT64_MAX,
       "no dial and no timer any more");
    rig_check(r);
    rig_free(r);
}

/* ---- Memory, and all at once */

/* A bit of everything. Failures for lack of memory are fine, inconsistency is not. */
static void memory_scenario(struct rig *r)
{
    struct phx_address a[3];
    uint32_t i, node;

    a[0] = v4(901, 1);
    a[1] = v4(902, 1);
    a[2] = v4(903, 1);
    phx__dial_hub(&r->d, a, 2, r->now);
    for (i = 0; i < 12; i++) {
        int err, known = (int)r->d.known;
        a[2] = v4(i, 2);
        node = rig_node(r);
        if (node == PHX__NONE)
            continue;
        err = phx__dial_contact(&r->d, node, &a[2], 1, r->now);
        r->wrong += err != 0 && ((int)r->d.known != known || err != PHX_ENOMEM);
        rig_check(r);
        rig_pass(r, 100 * MS);
        if (i % 3 == 0 && r->open_count > 0)
            rig_up(r, r->open[0].attempt, node);
        rig_check(r);
        err = phx__dial_contact(&r->d, node, &a[i % 2], 2, r->now);
        r->wrong += err != 0 && err != PHX_ENOMEM;
        rig_check(r);
        rig_pass(r, 300 * MS);
        if (i % 4 == 1)
            phx__dial_down(&r->d, node, r->now);
        phx__dial_want(&r->d, node + 1, r->now);
        if (i % 5 == 4)
            phx__dial_forget(&r->d, node);
        rig_check(r);
    }
}

static void test_memory(void)
{
    /* Goal: any allocation may fail. Method: the n-th one for every n, then all from the n-th
     * on, until the scenario asks for fewer. */
    long n, failed = 0;
    int from;

    for (from = 0; from < 2; from++) {
        for (n = 1; n < 1000; n++) {
            struct rig *r = calloc(1, sizeof *r);
            long calls;
            int err;
            if (r == NULL)
                exit(1);
            if (from)
                r->heap.fail_from = n;
            else
                r->heap.fail_at = n;
            err = rig_init(r, 6, 4, 23);
            check(err == 0 || err == PHX_ENOMEM, "init says so");
            if (err == 0)
                memory_scenario(r);
            failed += r->heap.calls >= n;
            calls = r->heap.calls;
            rig_free(r);
            if (calls < n)
                break;
        }
    }
    ok(failed > 60, "%ld failures were survived", failed);
}

static void test_up_without_memory(void)
{
    /* Goal: a link that cannot be noted leaves no attempt behind. Method: a hub's first link
     * with a node of a high index and no memory. */
    struct rig *r = rig_new(10, 1, 24);

    rig_hub(r, 1);
    rig_wait(r);
    r->heap.fail_from = r->heap.calls + 1;
    ok(rig_up(r, r->last.attempt, 500) == PHX_ENOMEM && r->d.attempts.open == 0,
       "told, and the attempt is over");
    ok(r->d.links == 0 && rig_wait(r) <= RETRY_MIN, "the hub is dialled again");
    rig_check(r);
    r->heap.fail_from = 0;
    ok(rig_up(r, r->last.attempt, 500) == 0 && r->d.links == 1, "with memory it is fine");
    rig_free(r);
}

/* One random event. Nodes 1..n have n of 60 addresses, some of them shared. */
static void random_event(struct rig *r, uint32_t n)
{
    static const int errors[] = { PHX_EREFUSED, PHX_ETIMEDOUT, PHX_EDUPLICATE, PHX_EPEER, PHX_EKEY,
                                  PHX_EMFILE,   PHX_ESELF };
    uint32_t node = 1 + (uint32_t)phx__rnd_below(&r->dice, n), i, count;
    struct phx_address a[4];

    switch (phx__rnd_below(&r->dice, 12)) {
    case 0: case 1:
        count = (uint32_t)phx__rnd_below(&r->dice, 4);
        for (i = 0; i < count; i++)
            a[i] = v4((uint32_t)phx__rnd_below(&r->dice, 60), 1);
        rig_says(r, node, a, count);
        break;
    case 2: case 3: case 4:
        if (r->open_count == 0)
            break;
        i = (uint32_t)phx__rnd_below(&r->dice, r->open_count);
        if (r->open[i].expect != PHX__NONE && phx__rnd_below(&r->dice, 10) > 0)
            node = r->open[i].expect;
        if (phx__rnd_below(&r->dice, 2) == 0)
            phx__dial_meet(&r->d, r->open[i].attempt, node);
        if (phx__rnd_below(&r->dice, 3) == 0)
            rig_up(r, r->open[i].attempt, node);
        else
            rig_fail(r, r->open[i].attempt, errors[phx__rnd_below(&r->dice, PHX__COUNT(errors))]);
        break;
    case 5:
        rig_up(r, PHX__NONE, node);
        break;
    case 6: case 7:
        phx__dial_down(&r->d, node, r->now);
        break;
    case 8:
        phx__dial_want(&r->d, node, r->now);
        break;
    case 9:
        if (phx__rnd_below(&r->dice, 4) == 0)
            phx__dial_forget(&r->d, node);
        break;
    case 10:
        r->refuse = phx__rnd_below(&r->dice, 5) == 0 ? PHX_EUNREACH : 0;
        break;
    default:
        rig_pass(r, phx__rnd_below(&r->dice, 400 * MS));
        break;
    }
}

static void test_random(void)
{
    /* Goal: the invariants of rig_check and rig_dial after every event, and that all ends well.
     * Method: 50 nodes and 3 hubs, 5000 random events for each of 20 seeds and bounds, then
     * every dial succeeds. Half of the seeds put targets off. */
    static const uint32_t links[] = { 100, 100, 20, 5 };
    uint32_t seed, i, node, unlinked = 0, wrong = 0, dials = 0, latent = 0, before;

    for (seed = 0; seed < 20; seed++) {
        struct rig *r = rig_new(links[seed % 4], 1 + seed % 7, 1000 + seed);
        phx__dial_listening(&r->d, seed % 2);
        r->d.ops.addresses = seed < 10 ? NULL : rig_addresses;
        for (i = 0; i < 50; i++)
            rig_node(r);
        for (i = 0; i < 3; i++)
            rig_hub(r, i);
        for (i = 0; i < 5000; i++) {
            random_event(r, 50);
            before = r->wrong;
            rig_check(r);
            latent += r->d.latent;
            if (before == 0 && r->wrong > 0)
                check(0, "seed %u: wrong after event %u", seed, i);
        }
        r->refuse = 0;
        for (node = 1; node <= 50; node++) {
            struct phx_address a = v4(1000 + node, 1);
            rig_says(r, node, &a, 1);
        }
        for (i = 0; i < 10000; i++) {
            while (r->open_count > 0)
                rig_up(r, r->open[0].attempt,
                       r->open[0].expect == PHX__NONE ? 1 : r->open[0].expect);
            rig_pass(r, 100 * MS);
            rig_check(r);
        }
        unlinked += links[seed % 4] == 100 ? 50 - r->d.links : 0;
        wrong += r->wrong;
        dials += r->dials;
        rig_free(r);
    }
    ok(wrong == 0 && latent > 10000, "nothing was wrong in %u dials", dials);
    ok(unlinked == 0, "and where the mesh is full, everybody ends up linked");
}

/* Twenty nodes are heard of at once where more than eight are a crowd. */
static struct rig *rig_crowd(uint64_t seed)
{
    struct rig *r = rig_new(100, 64, seed);
    uint32_t i;

    r->d.limits.crowd = 8;
    for (i = 0; i < 20; i++)
        rig_contact(r);
    return r;
}

static void test_crowd(void)
{
    /* Goal: in a crowd nobody is dialled before whoever told of it was asked whether that was all; then the
     * next dial begins when one has ended, and more at once when they are quick. Method: answer late, and
     * at once, and never. */
    struct rig *r = rig_crowd(40);
    uint64_t end;

    rig_pass(r, 10 * MS);
    ok(r->dials == 0 && r->asks == 1, "a crowd: after a moment the teller is asked, none dialled");
    rig_contact(r);
    phx__dial_told_all(&r->d, r->now);
    rig_pass(r, MS);
    ok(r->dials == 0, "an answer older than the latest news does not count");
    rig_pass(r, 30 * MS);
    ok(r->dials == 0 && r->asks == 2, "it is asked again after the news");
    ok(rig_hub(r, 500) == 0, "a hub");
    rig_pass(r, MS);
    ok(r->dials == 1 && r->open[0].expect == PHX__NONE, "a hub need not wait for that");
    rig_fail(r, r->open[0].attempt, PHX_EREFUSED);
    phx__dial_told_all(&r->d, r->now);
    rig_pass(r, MS);
    ok(r->open_count == 2, "that was all: two are dialled at once");
    rig_pass(r, MS);
    rig_up(r, r->open[0].attempt, r->open[0].expect);
    rig_pass(r, MS);
    ok(r->open_count == 3, "one came quickly: now three at once");
    for (end = r->now + SECOND; r->open_count > 0 && r->now < end;) {
        rig_up(r, r->open[0].attempt, r->open[0].expect);
        rig_pass(r, 200 * MS);
    }
    ok(r->d.pace <= 3, "they are slow: fewer at once (%u)", r->d.pace);
    rig_free(r);

    r = rig_crowd(41);
    rig_pass(r, SECOND - MS);
    ok(r->dials == 0 && r->asks > 10, "no answer: it is asked again and again");
    rig_pass(r, 10 * MS);
    ok(r->open_count == 2, "but not waited for longer than a second");
    rig_free(r);
}

static void test_crowd_walls(void)
{
    /* Goal: dials that nobody answers do not hold up a crowd. Method: nobody answers. */
    struct rig *r = rig_crowd(43);

    rig_pass(r, 10 * MS);
    phx__dial_told_all(&r->d, r->now);
    rig_pass(r, 10 * MS);
    ok(r->open_count == 2, "two at once");
    rig_pass(r, 3 * SECOND);
    ok(r->open_count == 20, "they are silent, so all are dialled within three seconds");
    rig_free(r);
}

static void test_crowd_stuck(void)
{
    /* Goal: nor do hosts that take a connection and then say nothing more, a stopped process say. Method: 18
     * of 20 are such. */
    struct rig *r = rig_crowd(44);
    uint32_t i;

    rig_pass(r, 10 * MS);
    phx__dial_told_all(&r->d, r->now);
    for (i = 0; i < 1500; i++) {
        uint32_t k;
        for (k = 0; k < r->open_count; k++)
            phx__dial_answered(&r->d, r->open[k].attempt);
        rig_pass(r, 10 * MS);
    }
    ok(r->dials == 20, "they are stuck, and all are dialled in fifteen seconds (%u)", r->dials);
    rig_free(r);
}

static void test_crowd_news(void)
{
    /* Goal: news that never ends, and a teller that always knows more, keep nobody from dialling for long.
     * Method: somebody new every half second. */
    struct rig *r = rig_crowd(45);
    uint32_t i;

    for (i = 0; i < 20; i++) {
        rig_pass(r, 500 * MS);
        rig_contact(r);
    }
    ok(r->dials > 0, "after ten seconds of news somebody is dialled");
    rig_free(r);
}

static void test_crowd_traffic(void)
{
    /* Goal: traffic does not wait for the end of the news, nor for the others. Method: all are in the queue
     * when somebody sends to one of them. */
    struct rig *r = rig_crowd(46);
    uint32_t node = rig_contact(r);

    rig_contact(r);
    rig_pass(r, 10 * MS);
    ok(r->dials == 0 && phx__dial_target_of(&r->d, node) != PHX__NONE
           && r->d.targets[phx__dial_target_of(&r->d, node)].queued,
       "all wait");
    phx__dial_want(&r->d, node, r->now);
    rig_pass(r, 50 * MS);
    ok(r->dials == 1 && r->open[0].expect == node, "the one that is sent to is dialled");
    rig_free(r);
}

static void test_crowd_gives_way(void)
{
    /* Goal: those that dial silent addresses have their full time while a crowd waits for something else than
     * their places. Method: 20 of 64 linger, then somebody new comes. */
    struct rig *r = rig_crowd(47);
    uint64_t end;

    rig_pass(r, 10 * MS);
    phx__dial_told_all(&r->d, r->now);
    rig_pass(r, 4 * SECOND);
    ok(r->open_count == 20 && r->abandons == 0, "20 are silent");
    rig_contact(r);
    rig_pass(r, 10 * MS);
    ok(r->open_count == 20 && r->abandons == 0, "and none gives way to one that waits for the news");
    end = phx__timer_next(&r->timers);
    ok(end > r->now, "which does not keep the node busy");
    rig_free(r);
}

static void test_crowd_patience(void)
{
    /* Goal: who leaves the first dial to the others does not dial in their place while links keep coming.
     * Method: two listening nodes each; links come every half second, then no more. */
    struct rig *r = rig_new(100, 64, 42);
    uint32_t i, node, late = 0;

    r->d.limits.crowd = 8;
    phx__dial_listening(&r->d, 1);
    for (i = 0; i < 40; i++)
        rig_contact(r);
    rig_pass(r, 10 * MS);
    phx__dial_told_all(&r->d, r->now);
    rig_pass(r, 10 * MS);
    for (i = 0; i < 8; i++) {
        while (r->open_count > 0) {
            rig_up(r, r->open[0].attempt, r->open[0].expect);
            rig_pass(r, MS);
        }
        if (i == 0)
            late = r->dials; /* those that are ours to dial */
        node = rig_node(r);
        rig_up(r, PHX__NONE, node);
        rig_pass(r, 500 * MS);
    }
    ok(late > 5 && r->dials == late, "%u dials are ours, and while links come no other is made", late);
    rig_pass(r, 4 * SECOND);
    ok(r->dials > late, "when none comes any more the others are dialled, too");
    rig_free(r);
}

int main(void)
{
    uint64_t seed;

    test_race();
    test_order();
    test_backoff();
    test_sync_failures();
    test_who_dials();
    test_dialled_by_peer();
    test_max_dials();
    test_give_way();
    test_relayed();
    test_silent_last();
    test_max_links();
    test_crossing();
    test_best();
    test_full();
    test_graph();
    test_errors();
    test_worst_counts();
    test_self();
    test_duplicate();
    test_unproved();
    test_next_life();
    test_late();
    test_wrong_peer();
    test_hub();
    test_hub_limits();
    test_flapping();
    test_hub_leaves();
    test_reset();
    test_news();
    test_courtesy_again();
    test_replace();
    test_replace_all();
    test_same_address();
    test_busy_then_free();
    for (seed = 11; seed < 23; seed++)
        test_large_host(seed);
    test_slots();
    test_stop();
    test_memory();
    test_up_without_memory();
    test_crowd();
    test_crowd_patience();
    test_crowd_walls();
    test_crowd_stuck();
    test_crowd_gives_way();
    test_crowd_news();
    test_crowd_traffic();
    test_random();
    return test_end();
}
