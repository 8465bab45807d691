/* t_route_rtt.c - round trip times choose among next hops that are equally near: rtt.c in one brain. */
#include "test.h"
#ifdef PHX_JOINED
#include "../../phoenix.c"
#else
#include "route/route.h"
#endif
#include "routes.h"

#define ROUND (10 * PHX__SECOND)
#define MS PHX__MS

/* Host 0 is the brain; all others are this file. What it sends is counted and dropped. */
static struct world world;
static struct host *h;
static struct phx__route *r;
static uint32_t asked[WORLD_MAX]; /* heartbeats with REPLY, by rank */
static uint32_t entries;          /* and of these with a time, and the last time told */
static uint32_t timed, told, leaked; /* leaked: to one without the option */

static void hear(void)
{
    memset(asked, 0, sizeof asked);
    entries = timed = told = 0;
    for (uint32_t to = 0; to < WORLD_MAX; to++) {
        struct note *n;
        while ((n = queue_take(&world, 0, to)) != NULL) {
            asked[to] += n->kind == NOTE_BEAT && (n->flags & (int)PHX__BEAT_REPLY) != 0;
            for (uint32_t i = 0; n->kind == NOTE_UPDATE && i < n->count; i++) {
                entries++;
                timed += n->items[i].e.rtt != 0;
                leaked += n->items[i].e.rtt != 0 && to == 4;
                told = n->items[i].e.rtt != 0 ? n->items[i].e.rtt : told;
            }
            note_free(n);
        }
    }
}

static void beat(phx *ctx, uint32_t nbr, int flags)
{
    host_beat(ctx, nbr, flags);
    if ((flags & (int)PHX__BEAT_REPLY) != 0)
        (void)phx__route_rtt_ask(&phx__route_nbr(r, nbr)->rtt, world.now);
}

static void begin(int on)
{
    world_begin(&world, WORLD_MAX, 1);
    h = &world.host[0];
    r = &h->route;
    check(host_start(&world, 0, 1) == 0, "begun");
    r->ops.beat = beat;
    r->rtt.on = on;
    if (on)
        phx__route_plan(r, world.now);
    host_flush(h);
}

static void end(void)
{
    check(world_free(&world), "no byte leaked");
}

static uint32_t node_of(uint32_t rank)
{
    struct phx_id id;
    uint32_t node = PHX__NONE;

    host_id(&id, rank);
    check(phx__id_add(&h->ids, &id, &node) == 0, "an index");
    return node;
}

/* rank says of v: number, hops, and that its way takes so many milliseconds; 0: it does not say. */
static void tell(uint32_t rank, uint32_t v, uint32_t seq, unsigned hops, unsigned ms)
{
    uint8_t bytes[4] = { (uint8_t)v, 1, 0, 0 };
    struct phx__entry e = { .incarnation = 1, .seq = seq, .hops = (uint8_t)hops, .card_version = 1,
                            .card = bytes, .card_size = 4, .rtt = (uint16_t)(ms * 10) };

    host_id(&e.id, v);
    check(phx__route_entry(r, node_of(rank), &e, world.now) == 0, "told");
}

/* A link to rank, which has the option on as well (metric), or not. */
static void up(uint32_t rank, int metric)
{
    const struct phx__dest *own = phx__route_dest(r, PHX__SELF);
    const struct phx__route_hello hello = { 1, 2, 1, own->seq, own->card_version, metric };

    world.wire[0][rank] = world.link[0][rank] = ++world.links;
    check(phx__route_up(r, node_of(rank), &hello, world.now) == 0, "up");
    tell(rank, rank, 2, 0, 0);
}

/* Its timers alone, for so long, as steps of a node would. */
static void wait(uint64_t us)
{
    uint64_t until = world.now + us;

    host_flush(h);
    while (phx__timer_next(&h->timers) <= until) {
        world.now = phx__timer_next(&h->timers);
        host_due(h);
        host_flush(h);
    }
    world.now = until;
}

/* A question to rank is answered after so many microseconds. */
static void sample(uint32_t rank, uint64_t us)
{
    struct phx__route_rtt_link *l = &phx__route_nbr(r, node_of(rank))->rtt;
    uint32_t clock = phx__route_rtt_ask(l, world.now);

    phx__route_rtt_answer(l, clock, world.now + us);
}

static void samples(uint32_t rank, uint64_t us, int count)
{
    while (count-- > 0)
        sample(rank, us);
}

static uint32_t link_us(uint32_t rank)
{
    return phx__route_nbr(r, node_of(rank))->rtt.smooth / 8;
}

static uint64_t way_us(uint32_t v)
{
    return phx__route_rtt_us(phx__route_way(r, &r->table.at[node_of(v)], phx__route_next(r, node_of(v))));
}

static uint32_t next_of(uint32_t v)
{
    uint32_t next = phx__route_next(r, node_of(v));

    return next == PHX__NONE ? 0 : host_rank(h, next);
}

/* ---- A link */

static void test_smoothing(void)
{
    /* Promise 29. Goal: RFC 6298, section 2, with a bound for one sample; and only the answer to the last
     * question counts. Method: answers by hand. */
    struct phx__route_rtt_link *l;
    uint32_t clock;

    begin(1);
    up(1, 1);
    l = &r->nbrs[0].rtt;
    ok(link_us(1) == 0 && way_us(1) == 0, "not known");
    sample(1, 8000);
    ok(link_us(1) == 8000, "the first sample is taken as it is: %u", link_us(1));
    sample(1, 16000);
    ok(link_us(1) == 9000, "the next ones count an eighth: %u", link_us(1));
    sample(1, 5 * PHX__SECOND);
    ok(link_us(1) == 9000 + 27000 / 8, "and four times the usual at most: %u", link_us(1));
    samples(1, 20, 200);
    ok(link_us(1) < 40, "a short one: %u", link_us(1));
    sample(1, 900);
    ok(link_us(1) > 120, "may be as long as a millisecond: %u", link_us(1));
    clock = phx__route_rtt_ask(l, world.now);
    phx__route_rtt_answer(l, clock ^ 2, world.now + 700000);
    phx__route_rtt_answer(l, 0, world.now + 700000);
    ok(link_us(1) < 400 && phx__route_rtt_waits(l, world.now), "another clock is no answer");
    phx__route_rtt_answer(l, clock, world.now + 400);
    phx__route_rtt_answer(l, 0, world.now + 700000);
    clock = link_us(1);
    phx__route_rtt_answer(l, (uint32_t)world.now, world.now + 700000);
    ok(link_us(1) == clock, "an answer counts once");
    l->smooth = 0;
    sample(1, 3600 * PHX__SECOND);
    ok(link_us(1) == 10 * PHX__SECOND, "no round trip takes longer than 10 s: %u", link_us(1));
    l->smooth = 0;
    world.now = UINT32_MAX + UINT64_C(1); /* its low half is 0 */
    sample(1, 5000);
    ok(link_us(1) == 4999, "the clock is never 0, which asks for nothing: %u", link_us(1));
    end();
}

static void test_asks(void)
{
    /* Goal: each link is asked once in ten seconds, of many no more than 16 a second; one that does not
     * answer is left alone for a minute. Method: counts of an hour and of ten seconds. */
    uint32_t i, all = 0;

    begin(0);
    up(1, 1);
    hear();
    wait(3600 * PHX__SECOND);
    hear();
    ok(asked[1] == 0, "the option is off: nobody is asked");
    end();
    begin(1);
    up(1, 1);
    wait(2 * ROUND);
    hear();
    ok(asked[1] == 1, "a lonely link: asked, and not again as long as there is no answer: %u", asked[1]);
    wait(6 * ROUND);
    hear();
    ok(asked[1] == 1, "but for a minute: %u", asked[1]);
    for (i = 0; i < 100; i++) {
        r->nbrs[0].rtt.asked = 0;
        wait(PHX__SECOND);
    }
    hear();
    ok(asked[1] == 10, "once in ten seconds if it answers: %u", asked[1]);
    for (i = 2; i < WORLD_MAX; i++)
        up(i, 1);
    hear();
    for (i = 0; i < 100; i++) {
        for (uint32_t k = 0; k < r->nbr_count; k++)
            r->nbrs[k].rtt.asked = 0;
        wait(PHX__SECOND);
    }
    hear();
    for (i = 1; i < WORLD_MAX; i++)
        all += asked[i];
    ok(all == 190, "19 links: 1.9 a second: %u", all);
    for (i = 1, all = 0; i < WORLD_MAX; i++)
        all += asked[i] != 10;
    ok(all == 0, "each in its turn");
    end();
}

/* ---- The choice */

/* v = 9 is behind 1 and 2, both equally near. */
static void fork_ways(void)
{
    begin(1);
    up(1, 1);
    up(2, 1);
    tell(1, 9, 2, 1, 0);
    tell(2, 9, 2, 1, 0);
    wait(2 * ROUND);
    samples(1, 10 * MS, 30);
    samples(2, 10 * MS, 30);
}

static void test_choice(void)
{
    /* Goal: hops first, then the number, then the time if it is 25 % better and known in whole. Method: two
     * neighbours, whose links take 10 ms; what they tell of their ways changes. */
    uint32_t slow, fast;

    fork_ways();
    slow = next_of(9);
    fast = 3 - slow;
    tell(fast, 9, 2, 1, 10);
    wait(2 * ROUND);
    ok(next_of(9) == slow, "one whose time is not known is not left");
    tell(slow, 9, 2, 1, 15);
    wait(2 * ROUND);
    ok(next_of(9) == slow && way_us(9) == 25000,
       "20 ms in place of 25: 20 %% is too little");
    tell(slow, 9, 2, 1, 17);
    wait(2 * ROUND);
    ok(next_of(9) == fast && way_us(9) == 20000, "20 ms in place of 27: it changes");
    tell(slow, 9, 2, 1, 0);
    wait(2 * ROUND);
    ok(next_of(9) == fast, "nor for one that is not known");
    tell(slow, 9, 2, 1, 10);
    wait(2 * ROUND);
    ok(next_of(9) == fast, "the same: it stays");
    tell(slow, 9, 2, 1, 6);
    wait(2 * ROUND);
    ok(next_of(9) == fast, "back at 16 ms: not at once");
    tell(slow, 9, 2, 1, 5);
    wait(2 * ROUND);
    ok(next_of(9) == slow, "at 15, which is 25 %%");
    tell(fast, 9, 2, 1, 5);
    wait(2 * ROUND);
    ok(next_of(9) == slow, "the same: it stays there, too");
    tell(fast, 9, 2, 1, 0);
    wait(2 * ROUND);
    ok(next_of(9) == slow, "one that is not known any more is not taken");
    tell(fast, 9, 2, 2, 1);
    tell(slow, 9, 2, 1, 500);
    wait(2 * ROUND);
    ok(next_of(9) == slow, "fewer hops first, however slow");
    tell(fast, 9, 2, 1, 1);
    tell(slow, 9, 3, 1, 500);
    wait(2 * ROUND);
    ok(next_of(9) == slow, "a newer number first, too");
    tell(fast, 9, 3, 1, 1);
    wait(2 * ROUND);
    ok(next_of(9) == fast, "both have it: the faster way");
    tell(fast, 9, 3, PHX__UNREACHABLE, 0);
    ok(next_of(9) == slow, "which is lost: the other at once");
    samples(slow, 300, 60);
    samples(fast, 400, 60);
    tell(slow, 9, 4, 1, 1);
    tell(fast, 9, 4, 1, 1);
    slow = next_of(9);
    samples(slow, 700, 60);
    samples(3 - slow, 20, 60);
    tell(slow, 9, 4, 1, 0);
    tell(3 - slow, 9, 4, 1, 0);
    wait(2 * ROUND);
    ok(way_us(9) == 0, "unknown again");
    end();
}

static void test_floor(void)
{
    /* Goal: times below a millisecond are equal, and then the choice is as without the option. Method: the
     * same destinations with the option off, and on with links of 20 and 700 us. */
    uint32_t v, off[12], differ = 0, both = 0;

    for (int on = 0; on < 2; on++) {
        begin(on);
        up(1, 1);
        up(2, 1);
        samples(1, 20, 60);
        samples(2, 700, 60);
        for (v = 3; v < 15; v++) {
            struct phx__offer *o;
            tell(1, v, 2, 1, 0);
            tell(2, v, 2, 1, 0);
            o = phx__route_table_offer(&r->table.at[node_of(v)], node_of(1));
            o->rtt = 1; /* 100 us */
            o = phx__route_table_offer(&r->table.at[node_of(v)], node_of(2));
            o->rtt = 2;
        }
        wait(3 * ROUND);
        for (v = 3; v < 15; v++) {
            differ += on && next_of(v) != off[v - 3];
            both |= on ? 1u << next_of(v) : 0;
            off[v - 3] = next_of(v);
        }
        end();
    }
    ok(differ == 0 && both == 6, "ways within a site share the load as ever");
}

static void test_jitter(void)
{
    /* Goal: no flapping and no storm. Method: an hour in which all times jump by a tenth; then in which each
     * is anything between half and double; entries that leave are counted. */
    struct phx__rnd dice;
    uint32_t was, changes = 0, worst = 0, all = 0;

    phx__rnd_seed(&dice, 1, 1);
    fork_ways();
    up(3, 1);
    up(4, 0);
    tell(1, 9, 2, 1, 20);
    tell(2, 9, 2, 1, 20);
    samples(3, 10 * MS, 1);
    samples(4, 10 * MS, 1);
    wait(3 * ROUND);
    hear();
    was = next_of(9);
    for (int i = 0; i < 360; i++) {
        for (uint32_t k = 1; k < 5; k++)
            sample(k, 9 * MS + phx__rnd_below(&dice, 2 * MS));
        tell(1, 9, 2, 1, 18 + (unsigned)phx__rnd_below(&dice, 5));
        tell(2, 9, 2, 1, 18 + (unsigned)phx__rnd_below(&dice, 5));
        wait(ROUND);
        changes += next_of(9) != was;
        was = next_of(9);
        hear();
        all += entries;
    }
    ok(changes == 0 && all == 0, "a tenth: %u changes, %u entries", changes, all);
    for (int i = 0; i < 360; i++) {
        for (int k = 0; k < 20; k++) {
            tell(1, 9, 2, 1, 1 + (unsigned)phx__rnd_below(&dice, 500));
            tell(2, 9, 2, 1, 1 + (unsigned)phx__rnd_below(&dice, 500));
            wait(ROUND / 20);
        }
        hear();
        worst = entries > worst ? entries : worst;
        all += entries;
        check(entries == timed, "with their times");
    }
    /* 1 and 2 are nearer to 9 themselves, and 4 wants no times. */
    ok(all > 100 && worst == 1, "anything: an entry for each that may use it, in a round: %u, %u in all",
       worst, all);
    end();
}

/* ---- What is told */

static void test_covered(void)
{
    /* Goal: a way that others tell as well is told to one with the option, once for each number, when the
     * table has been quiet; not to one without. Method: 9 is 2 hops away through 1; neighbour 3 has it in 2
     * hops, too, and is next to 2 and 4, of which 4 does not have the option. */
    begin(1);
    up(1, 1);
    up(3, 1);
    tell(1, 9, 2, 1, 20);
    tell(3, 9, 2, 2, 20);
    tell(3, 2, 2, 1, 5);
    tell(3, 4, 2, 1, 5);
    wait(PHX__SECOND / 2);
    up(2, 1);
    up(4, 0);
    hear();
    wait(ROUND / 2);
    for (uint32_t k = 1; k < 5; k++)
        sample(k, 10 * MS);
    hear();
    leaked = 0;
    tell(1, 9, 3, 1, 20);
    tell(3, 9, 3, 2, 20);
    wait(ROUND - PHX__SECOND);
    hear();
    ok(timed == 0, "not at once: %u", timed);
    wait(3 * ROUND);
    hear();
    ok(timed > 0 && phx__route_table_advertised(&r->table.at[node_of(9)], node_of(2)) != NULL
           && phx__route_table_advertised(&r->table.at[node_of(9)], node_of(2))->rtt == 300,
       "told to 2 when the table was quiet");
    ok(phx__route_table_advertised(&r->table.at[node_of(9)], node_of(4)) == NULL && leaked == 0,
       "not to 4, which has not the option");
    wait(10 * ROUND);
    hear();
    ok(entries == 0, "once");
    tell(1, 9, 4, 1, 20);
    tell(3, 9, 4, 2, 20);
    wait(4 * ROUND);
    hear();
    ok(timed == 1 && phx__route_table_advertised(&r->table.at[node_of(9)], node_of(2))->seq == 4,
       "and once for a newer number: %u", timed);
    tell(1, 8, 2, 1, 30);
    wait(3 * ROUND);
    hear();
    tell(1, 8, 3, 1, 30);
    wait(PHX__SECOND);
    hear();
    ok(entries == 3 && timed == 2 && leaked == 0, "news of 8 go to 2, 3 and 4, to 4 without a time: %u, %u",
       entries, timed);
    end();
}

static void test_told(void)
{
    /* Goal: who is told which time: one that has the option, and may use our way; as far as it is known.
     * Method: 9 is behind 1; neighbours 2 (with the option), 3 (without), 4 (next to 9), 5 (as near). */
    uint32_t i;

    begin(1);
    for (i = 1; i < 6; i++)
        up(i, i != 3);
    tell(1, 9, 2, 1, 20);
    tell(4, 9, 2, 1, 5);
    tell(5, 9, 2, 2, 5);
    for (i = 1; i < 6; i++)
        samples(i, 10 * MS, 1);
    samples(4, 500 * MS, 100);
    wait(5 * ROUND);
    for (i = 1; i < 6; i++)
        samples(i, 10 * MS, i == 4 ? 0 : 1);
    wait(3 * ROUND);
    hear();
    check(next_of(9) == 1, "by 1");
    tell(1, 9, 2, 1, 50);
    wait(2 * ROUND);
    hear();
    ok(entries == 1 && timed == 1 && told == 600, "its time doubles: 2 alone is told: %u, %u", entries, told);
    tell(1, 9, 2, 1, 57);
    wait(3 * ROUND);
    hear();
    ok(entries == 0, "67 in place of 60: nobody");
    tell(1, 9, 2, 1, 58);
    wait(3 * ROUND);
    hear();
    ok(entries == 1 && told == 680, "68: more than an eighth");
    tell(1, 9, 2, 1, 10);
    wait(ROUND / 100);
    hear();
    ok(entries == 0, "not before the round is over");
    wait(ROUND);
    hear();
    ok(entries == 1 && told == 200, "and then: %u", told);
    tell(1, 9, 2, 1, 0);
    wait(2 * ROUND);
    hear();
    ok(entries == 1 && timed == 0, "not known any more: told as well");
    tell(4, 9, 2, PHX__UNREACHABLE, 0); /* else it is the next hop then */
    tell(1, 9, 2, 1, 6550);
    wait(2 * ROUND);
    hear();
    ok(told == UINT16_MAX, "6.5 s and more are the same: %u", told);
    phx__mem_put(r->mem, r->rtt.told, r->rtt.capacity * sizeof *r->rtt.told);
    r->rtt.told = NULL;
    r->rtt.capacity = 0;
    h->heap.fail_from = h->heap.calls + 1;
    tell(1, 9, 2, 1, 10);
    wait(2 * ROUND);
    hear();
    ok(entries <= 1 && timed == 0, "without memory no time is told");
    h->heap.fail_from = 0;
    wait(2 * ROUND);
    hear();
    ok(entries >= 1 && told == 200, "it is told when there is some: %u", told);
    tell(1, 9, 3, PHX__UNREACHABLE, 0);
    tell(5, 9, 3, PHX__UNREACHABLE, 0);
    i = node_of(9);
    check(phx__route_rtt_told(&r->rtt, i) != 0, "known");
    phx__route_forget(r, i);
    ok(phx__route_rtt_told(&r->rtt, i) == 0, "nothing is left of one that was forgotten");
    end();
}

int main(void)
{
    test_smoothing();
    test_asks();
    test_choice();
    test_floor();
    test_jitter();
    test_told();
    test_covered();
    return test_end();
}
