/* t_route_edges.c - one routing brain at its edges: times, counts, lists, memory; t_route.c has the rules. */
#include "test.h"
#ifdef PHX_JOINED
#include "../../phoenix.c"
#else
#include "route/route.h"
#endif
#include "route_rig.h"

/* ---- Counts */

static void test_counts(void)
{
    /* Goal: how many are known and reachable; the lists have room for all of them. */
    uint32_t v, small = 0;

    begin();
    ok(r->known == 1 && r->reachable == 1, "itself");
    up(1);
    ok(r->known == 2 && r->reachable == 2, "a neighbour");
    for (v = 2; v < 12; v++) {
        tell(1, v, 2, 1);
        small += r->dirty.capacity <= node_of(v) || r->changed.capacity <= node_of(v);
    }
    ok(r->known == 12 && r->reachable == 12 && small == 0, "and ten behind it");
    tell(1, 5, 2, PHX__UNREACHABLE);
    ok(r->reachable == 11, "one is gone");
    tell(1, 5, 4, 3);
    ok(r->reachable == 12, "and back");
    down(1);
    ok(r->known == 12 && r->reachable == 1, "all are");
    end();
}

static void test_looks(void)
{
    /* Goal: what a frame and a chore cost is counted, so that others can be charged for it (promise 110). */
    struct phx__beat b = { .digest = 1, .lost = 0 };
    uint64_t walked, looks;

    begin();
    up(1);
    tell(1, 2, 2, 1);
    host_flush(h);
    hear();
    phx__route_summary_begin(r);
    walked = r->counters.walked;
    phx__route_summary_end(r, node_of(1), 1);
    ok(r->counters.walked - walked == 2 * ((uint64_t)r->table.live_count + 16), "a summary, and two lines");
    looks = h->mem.looks;
    check(phx__route_chores(r, world.now) == PHX__NONE, "nothing to forget");
    phx__route_beat_due(r, world.now);
    ok(h->mem.looks - looks >= r->table.live_count, "a chore");
    up(2);
    host_flush(h);
    b.lost = phx__id_hash(&h->ids.at[node_of(2)]);
    r->pace.look = 0;
    walked = r->counters.walked;
    phx__route_beat_in(r, node_of(1), &b, 1, world.now);
    ok(r->pace.look && r->counters.walked - walked >= 2 * (uint64_t)r->table.capacity,
       "a neighbour has lost a neighbour: both are looked at again");
    tell(2, 3, 2, 1);
    tell(1, 3, 2, 2);
    host_flush(h);
    hear();
    walked = r->counters.walked;
    check(tell_as(1, 3, 2, 2, 1, 0) == 0, "what the owner's side has said, too");
    hear();
    ok(r->counters.walked == walked && said[NOTE_UPDATE] == 0, "is only taken");
    check(tell_as(1, 3, 2, 2, 1, 9) == 0, "a card that the owner's side has not said");
    hear();
    ok(r->counters.walked - walked == 512 && said[NOTE_UPDATE] == 1, "a frame to the owner's side alone");
    end();
}

/* ---- This node's own number */

static void test_self(void)
{
    /* Goal: what others say of this node from a former life is topped, what is beyond belief is not. */
    const uint64_t leap = (uint64_t)1 << 36;
    const struct phx__dest *own;
    uint32_t seq;

    begin();
    up(1);
    own = phx__route_dest(r, PHX__SELF);
    seq = own->seq;
    check(tell_as(1, 0, seq + 50, 3, 0, 0) == 0 && own->seq == seq, "a former life's number is nothing");
    ok(own->incarnation == 1, "nor is its life");
    check(tell_as(1, 0, seq, 3, 1, own->card_version + 7) == 0, "a card that we never wrote");
    ok(own->seq == seq + 1 && own->card_version == 9, "is topped by a later one, at a later number");
    check(tell_as(1, 0, 0x80000000u, 3, 1, 0) == 0, "the last number of all");
    own = phx__route_dest(r, PHX__SELF);
    ok(own->incarnation == 2 && own->seq == 1, "begins a new life, at number 1");
    check(tell_as(1, 0, 1, 3, 2 + leap + 1, 0) == 0 && own->incarnation == 2, "a leap that nobody believes");
    ok(r->rise.to == 0, "is not followed");
    check(tell_as(1, 0, 1, 3, 2 + leap, 0) == 0, "one that they believe");
    ok(own->incarnation == 2 + leap - 65536 && r->rise.to == 2 + leap + 1,
       "is, but for 2^16: up to %u in 2^16", (unsigned)(own->incarnation >> 16));
    wait(30 * PHX__SECOND - 1);
    (void)phx__route_chores(r, world.now);
    ok(own->incarnation == 2 + leap - 65536, "for 30 s");
    wait(1);
    (void)phx__route_chores(r, world.now);
    ok(own->incarnation == 2 + leap + 1, "and then all the way");
    end();
}

/* ---- Cards */

static void test_cards(void)
{
    /* Goal: a card that is new is listed as a change, and so is its owner's own word; an older one is no word
     * of the owner; without memory that is said. */
    begin();
    up(1);
    up(2);
    tell(1, 2, 2, 1);
    check(is_listed(2), "known");
    check(tell_as(1, 2, 2, 1, 1, 5) == 0, "another version");
    ok(is_listed(2) && phx__route_dest(r, node_of(2))->card_version == 5, "is a change");
    check(tell_as(2, 2, 2, 0, 1, 4) == 0, "an older one by its owner");
    ok(!is_listed(2) && !phx__route_dest(r, node_of(2))->card_own, "is not its word");
    check(tell_as(2, 2, 2, 0, 1, 5) == 0, "the same by its owner");
    ok(is_listed(2) && phx__route_dest(r, node_of(2))->card_own, "is");
    h->heap.fail_from = h->heap.calls + 1;
    ok(tell_as(1, 2, 2, 1, 1, 6) == PHX_ENOMEM, "no memory for the next");
    ok(phx__route_show(r, 300, world.now) == PHX_ENOMEM, "nor for an unknown node");
    h->heap.fail_from = 0;
    end();
}

/* ---- Requests */

static void test_asks(void)
{
    /* Goal: a request is repeated after 300 ms, then twice that, up to a minute, as long as somebody offers
     * the destination at a number that is too old (promise 25); it ends with a route. */
    static const uint64_t ms[] = { 300, 600, 1200, 2400, 4800, 9600, 19200, 38400, 60000, 60000, 60000 };
    uint64_t at;
    size_t i;

    begin();
    up(1);
    up(2);
    tell(1, 3, 2, 1);
    host_flush(h);
    wait(2 * PHX__SECOND);
    hear();
    tell(2, 3, 2, 9); /* as far as we told, or farther: not feasible */
    tell(1, 3, 2, PHX__UNREACHABLE);
    hear();
    ok(said[NOTE_REQUEST] == 1, "asked at once");
    for (i = 0; i < sizeof ms / sizeof *ms; i++) {
        at = world.now;
        wait(ms[i] * PHX__MS - 1);
        hear();
        check(said[NOTE_REQUEST] == 0, "not before");
        wait(1);
        hear();
        check(said[NOTE_REQUEST] == 1, "again after %u ms", (unsigned)((world.now - at) / PHX__MS));
    }
    ok(r->table.ask_count == 1, "eleven times, and not forgotten");
    tell(2, 3, 3, 9);
    ok(r->table.ask_count == 0 && phx__route_dest(r, node_of(3))->hops == 10, "a route ends it");
    end();
}

static void test_two_asks(void)
{
    /* Goal: of two requests each is repeated in its time, and a new one begins like the first. */
    begin();
    up(1);
    up(2);
    tell(1, 3, 2, 1);
    tell(1, 4, 2, 1);
    host_flush(h);
    tell(2, 3, 2, 9);
    tell(2, 4, 2, 9);
    wait(2 * PHX__SECOND);
    hear();
    tell(1, 3, 2, PHX__UNREACHABLE);
    wait(100 * PHX__MS);
    tell(1, 4, 2, PHX__UNREACHABLE);
    hear();
    ok(said[NOTE_REQUEST] == 2, "both are asked for");
    wait(200 * PHX__MS);
    hear();
    ok(said[NOTE_REQUEST] == 1, "one again");
    wait(100 * PHX__MS);
    hear();
    ok(said[NOTE_REQUEST] == 1, "the other again");
    end();
}

/* Two neighbours, of which 1 leads to 3; and a request for a newer way there. */
static struct phx__request begin_asked(void)
{
    struct phx__request q = { .incarnation = 1, .seq = 9 };

    begin();
    up(1);
    up(2);
    tell(1, 3, 2, 1);
    host_flush(h);
    host_id(&q.id, 3);
    return q;
}

static void test_relinked(void)
{
    /* Goal: what a neighbour asked for is void when its link is another one. */
    struct phx__request q = begin_asked();

    phx__route_request(r, node_of(2), &q, 5, world.now);
    check(phx__route_table_advertised(phx__route_dest(r, node_of(3)), node_of(2))->want == 9, "9 is wanted");
    down(2);
    ok(r->table.at[node_of(2)].flags & PHX__DEST_LAPSED, "one link is lost");
    up(2);
    ok(phx__route_table_advertised(phx__route_dest(r, node_of(3)), node_of(2))->want == 0
           && !(r->table.at[node_of(2)].flags & PHX__DEST_LAPSED),
       "and there is another");
    end();
}

/* ---- Beats */

static void disagree(uint32_t rank)
{
    static uint64_t other;
    struct phx__beat b = { .around = r->neighbourhood };

    b.digest = r->digest ^ ++other;
    phx__route_beat_in(r, node_of(rank), &b, 0, world.now);
}

static void test_summaries(void)
{
    /* Goal: neighbours that go on disagreeing exchange summaries 10 s apart, then 20, up to 5 minutes. */
    static const unsigned seconds[] = { 10, 20, 40, 80, 160, 300, 300 };
    unsigned i, s = 0;

    begin();
    up(1);
    host_flush(h);
    wait(3 * PHX__SECOND);
    hear();
    for (i = 0; i < 2; i++) {
        disagree(1);
        wait(PHX__SECOND);
    }
    hear();
    check(said[NOTE_SUMMARY] == 1, "the first at the second beat");
    for (i = 0; i < sizeof seconds / sizeof *seconds; i++) {
        for (s = 1; s < 1000; s++) {
            disagree(1);
            hear();
            if (said[NOTE_SUMMARY] > 0)
                break;
            wait(PHX__SECOND);
        }
        ok(s == seconds[i] || s == seconds[i] + 1, "the next %u s later", s);
        wait(PHX__SECOND);
    }
    end();
}

static void test_held(void)
{
    /* Goal: entries that were held back until a neighbour's neighbours are known are looked at then. */
    struct phx__beat b = { .around_count = 1 };

    begin();
    up(1);
    host_flush(h);
    r->pace.look = 0;
    b.digest = r->digest;
    b.around = r->neighbourhood;
    phx__route_beat_in(r, node_of(1), &b, 0, world.now);
    ok(!r->pace.look && !phx__route_nbr(r, node_of(1))->dirty, "none was held back");
    phx__route_nbr(r, node_of(1))->held_at = world.now;
    phx__route_beat_in(r, node_of(1), &b, 0, world.now);
    ok(r->pace.look && phx__route_nbr(r, node_of(1))->dirty, "some were");
    ok(phx__route_nbr(r, node_of(1))->held_at == 0, "and are not any more");
    end();
}

static void test_first(void)
{
    /* Goal: a card that nobody hears keeps nobody waiting. In a burst the next word leaves a millisecond
     * later; while messages are under way 50 us for each known node later, and four or more are. */
    static const struct {
        uint32_t count, us;
        int busy, told;
    } rows[] = { { 1, 999, 0, -1 },  { 1, 1000, 0, 2 },   { 1, 199, 1, -1 },
                 { 1, 200, 1, 2 },   { 20, 999, 1, -1 },  { 20, 1000, 1, 2 } };

    for (uint32_t i = 0; i < PHX__COUNT(rows); i++) {
        begin();
        r->pace.busy = rows[i].busy;
        check(host_card(h) == 0, "a card");
        host_flush(h);
        up(1);
        up(2);
        for (uint32_t k = 0; k < rows[i].count; k++)
            tell(1, 4 + k, 2, 1);
        ok(now_told(2, 4) == 2, "row %u: told at once", i);
        tell(1, 3, 2, 1);
        check(now_told(2, 3) == -1, "the next one waits");
        wait(rows[i].us);
        ok(now_told(2, 3) == rows[i].told, "of the next one after %u us", (unsigned)rows[i].us);
        end();
    }
}

static void test_linked(void)
{
    /* Goal: a new link with a node that was reachable before is told at once; other neighbours hear of the
     * shorter way together with what the new neighbour says. */
    begin();
    for (uint32_t i = 1; i <= 3; i++)
        up(i);
    tell(1, 3, 2, 1);
    tell(1, 4, 2, 2);
    check(told(2, 4) == 3, "a long way, which all know");
    wait(PHX__SECOND);
    up(4);
    ok(now_told(4, 3) == 1, "the new neighbour is told at once");
    ok(now_told(2, 4) == 3 && r->pace.since != 0, "the others wait for more");
    ok(told(2, 4) == 1, "but not for ever");
    end();
}

static void test_site(void)
{
    /* Goal: a site of 16 nodes or more behind a neighbour is told at once to whom leads to others, as 2 to 4,
     * and to the rest, as 3, a millisecond later for each known node, up to 100; or if messages wait. */
    static const struct {
        uint32_t count, ms;
        int busy, told;
    } rows[] = { { 15, 0, 0, 1 }, { 16, 0, 0, 0 },    { 16, 19, 0, 0 }, { 16, 21, 0, 1 },
                 { 16, 0, 1, 1 }, { 150, 99, 0, 0 }, { 150, 100, 0, 1 } };

    for (uint32_t i = 0; i < PHX__COUNT(rows); i++) {
        begin();
        for (uint32_t k = 1; k <= 3; k++)
            up(k);
        tell(2, 4, 2, 1);
        check(told(3, 4) == 2, "all is told");
        wait(PHX__SECOND);
        for (uint32_t k = 0; k < rows[i].count; k++)
            tell(1, 30 + k, 2, 1);
        host_flush(h);
        wait(rows[i].ms * PHX__MS);
        r->pace.busy = rows[i].busy;
        ok(now_told(2, 30) >= 0, "node 2");
        ok((now_told(3, 30) >= 0) == rows[i].told, "row %u", i);
        end();
    }
}

/* We and node 1 are gateways of a site, 2 is in it, 3 is a gateway of another, and 5 is behind that. */
static void begin_gateways(unsigned hops)
{
    begin();
    for (uint32_t rank = 1; rank <= 3; rank++)
        up(rank);
    tell(1, 2, 2, 1);
    tell(1, 5, 2, hops);
    check(told(2, 5) == -1, "node 1 tells it");
    tell(3, 5, 2, 1);
    tell(3, 1, 2, 1);
}

static void test_gateways(void)
{
    /* Goal: while a start goes on, a node to which another leads nearly as well waits, but not for ever; and
     * who was told of a longer way learns of the shorter one, for which it may wait (promise 26). */
    struct phx__beat b = { .around = 77, .around_count = 2 };

    begin_gateways(3);
    ok(told(2, 5) == -1 && phx__route_nbr(r, node_of(2))->held_at != 0, "one hop longer: it waits");
    b.digest = r->digest;
    phx__route_beat_in(r, node_of(2), &b, 0, world.now);
    ok(told(2, 5) == 2, "until its neighbours are known");
    end();
    begin_gateways(3);
    tell(1, 5, 2, 2);
    ok(told(2, 5) == -1, "as near as we are: it will be told");
    phx__route_beat_in(r, node_of(2), &b, 0, world.now);
    ok(told(2, 5) == -1, "and was, as that says that it is next to it");
    end();
    begin();
    for (uint32_t rank = 1; rank <= 4; rank++)
        up(rank);
    tell(1, 2, 2, 1);
    tell(4, 2, 2, 1);
    tell(4, 5, 2, 3);
    check(told(2, 5) == -1, "node 4 tells it");
    tell(3, 5, 2, 1);
    check(told(2, 5) == -1 && told(1, 5) == 2, "it waits for node 4; node 1 is told");
    tell(1, 5, 2, 2);
    phx__route_beat_in(r, node_of(2), &b, 0, world.now);
    ok(told(2, 5) == 2, "node 1 comes as near: it may wait for us, as it knows that we do (promise 22)");
    end();
    begin_gateways(4);
    ok(told(2, 5) == 2, "two hops longer: it is told");
    end();
    begin_gateways(3);
    check(told(2, 5) == -1, "it waits");
    tell(1, 2, 2, 2);
    ok(told(2, 5) == 2, "who was to tell it is not next to it any more");
    end();
    begin_gateways(3);
    check(told(2, 5) == -1, "it waits");
    tell(1, 5, 2, PHX__UNREACHABLE);
    ok(told(2, 5) == 2, "or has no way");
    end();

    begin();
    up(1);
    up(4);
    tell(4, 5, 2, 2);
    ok(told(1, 5) == 3, "a long way");
    up(3);
    tell(3, 1, 2, 1);
    tell(3, 5, 2, 1);
    ok(told(1, 5) == 2, "and the shorter one, though it has that from elsewhere");
    end();
}

static void test_gap(void)
{
    /* Goal: what is known of losses is given back when a neighbour has seen them all. */
    struct phx__beat b = { .around_count = 2 };

    begin();
    up(1);
    up(2);
    host_flush(h);
    b.digest = r->digest;
    b.around = r->neighbourhood;
    phx__route_beat_in(r, node_of(1), &b, 0, world.now);
    tell(2, 4, 2, 1);
    down(2);
    host_flush(h);
    ok(phx__route_nbr(r, node_of(1))->gap.count == 1, "we have lost one, and what was behind it");
    b.around = r->neighbourhood;
    phx__route_beat_in(r, node_of(1), &b, 0, world.now);
    ok(phx__route_nbr(r, node_of(1))->gap.count == 0 && phx__route_nbr(r, node_of(1))->gap.at == NULL,
       "it has, too, and nothing is kept");
    end();
}

/* ---- Quiet, and what is forgotten */

static void test_quiet(void)
{
    /* Goal: the table is quiet a second after a change, and 20 ms later for each node beyond 64. Method: that
     * they are known is only said. */
    begin();
    up(1);
    r->known = 64;
    ok(phx__route_beat_quiet_at(r) == r->moved + PHX__SECOND, "64 nodes");
    r->known = 65;
    ok(phx__route_beat_quiet_at(r) == r->moved + PHX__SECOND + 20 * PHX__MS, "65 nodes");
    end();
}

static void test_far(void)
{
    /* Goal: an offer of the longest distance that can be said makes no route, also when routes are shared. */
    begin();
    up(1);
    check(tell_as(1, 3, 0, PHX__UNREACHABLE - 1, 1, 1) == 0, "254 hops, at number 0");
    host_flush(h);
    wait(3 * PHX__SECOND);
    ok(phx__route_next(r, node_of(3)) == PHX__NONE, "no route");
    end();
}

static void pass_on(void)
{
    host_flush(h);
    while (is_listed(3))
        continue;
}

static void test_forget(void)
{
    /* Goal: a destination is forgotten when a day has passed since it was lost, nobody offers it, and all
     * know that; looked for once a minute. */
    struct phx__beat b = { .around_count = 2 };
    struct phx__advertised told;
    uint64_t next;
    uint32_t v, node;

    begin();
    up(1);
    up(2);
    for (v = 3; v < 12; v++)
        tell(1, v, 2, 1);
    b.digest = r->digest;
    b.around = phx__id_hash(&h->ids.at[node_of(2)]) ^ phx__id_hash(&h->ids.at[0]);
    phx__route_beat_in(r, node_of(2), &b, 0, world.now);
    pass_on();
    wait(3 * PHX__SECOND);
    node = node_of(3);
    ok(!phx__route_is_forgettable(r, node) && !phx__route_is_forgettable(r, node_of(1))
           && !phx__route_is_forgettable(r, PHX__SELF), "not what is reachable");
    tell(1, 3, 2, PHX__UNREACHABLE);
    ok(!phx__route_is_forgettable(r, node), "nor what is to be told");
    pass_on();
    ok(phx__route_is_forgettable(r, node), "then it may be");
    told = *phx__route_table_advertised(phx__route_dest(r, node), node_of(2));
    told.hops = 2;
    check(phx__route_table_advertise(&r->table, &r->table.at[node], node_of(2), &told) == 0, "as if");
    ok(!phx__route_is_forgettable(r, node), "but not what a neighbour has not been told");
    told.hops = PHX__UNREACHABLE;
    check(phx__route_table_advertise(&r->table, &r->table.at[node], node_of(2), &told) == 0, "told");
    wait(3600 * PHX__SECOND);
    next = phx__timer_next(&h->timers);
    wait(next - world.now);
    ok(phx__timer_next(&h->timers) == next + 60 * PHX__SECOND, "it is looked for every minute");
    wait(82000 * PHX__SECOND);
    v = r->known;
    ok(phx__route_dest(r, node) != NULL, "not before a day is over");
    wait(870 * PHX__SECOND);
    ok(phx__route_dest(r, node) == NULL && r->known == v - 1, "and is forgotten");
    end();
}

/* Three neighbours, of whom the second has no link with the others; and then the third is lost. */
static void begin_lost(void)
{
    struct phx__beat b = { .around_count = 4 };

    begin();
    for (uint32_t rank = 1; rank <= 3; rank++)
        up(rank);
    b.digest = r->digest;
    b.around = r->neighbourhood;
    phx__route_beat_in(r, node_of(1), &b, 0, world.now);
    phx__route_beat_in(r, node_of(3), &b, 0, world.now);
    b.around = phx__id_hash(&h->ids.at[0]) ^ phx__id_hash(&h->ids.at[node_of(2)]);
    b.around_count = 2;
    phx__route_beat_in(r, node_of(2), &b, 0, world.now);
    wait(3 * PHX__SECOND);
    down(3);
    host_flush(h);
}

static void test_lost(void)
{
    /* Goal: what is forgotten before its loss is settled leaves no record of that. */
    uint64_t without;

    begin_lost();
    without = r->neighbourhood ^ phx__id_hash(&h->ids.at[node_of(3)]);
    ok(r->lost.count == 1 && phx__route_is_forgettable(r, node_of(3)), "who needs its room need not wait");
    phx__route_forget(r, node_of(3));
    ok(r->lost.count == 0 && r->neighbourhood == without, "and no loss of it is left");
    end();
}

static void test_confirm(void)
{
    /* Goal: whether a lost neighbour lives is asked of its new next hop, and of nobody if there is none. */
    begin();
    for (uint32_t rank = 1; rank <= 3; rank++)
        up(rank);
    tell(1, 3, 2, 1);
    down(3);
    hear();
    phx__route_beat_silent(r, node_of(3));
    hear();
    ok(said[NOTE_REQUEST] == 1, "one request: %u", said[NOTE_REQUEST]);
    tell(1, 3, 3, PHX__UNREACHABLE);
    host_flush(h);
    hear();
    phx__route_beat_silent(r, node_of(3));
    hear();
    ok(said[NOTE_REQUEST] == 0, "and none where there is no way");
    end();
}

static void test_fit(void)
{
    /* Goal: what many nodes needed is given back when they are forgotten. */
    begin();
    check(phx__route_table_make(&r->table, 999) != NULL && r->table.capacity >= 1000, "a thousand");
    r->delegate = 900;
    phx__route_advert_fit(r, 10);
    ok(r->delegate == PHX__NONE && r->delegate_known == 0, "the list of what is not delegated begins anew");
    ok(r->table.capacity == 10, "ten: %u", (unsigned)r->table.capacity);
    end();
}

static void test_runs(void)
{
    /* Goal: the list of what was advertised shrinks when much less is in it, and without memory stays. */
    struct phx__route_table t;
    struct phx__advertised word;
    struct phx__dest *d;
    struct phx__mem *mem;
    uint32_t i, had;
    long calls;

    begin();
    mem = &h->mem;
    memset(&t, 0, sizeof t);
    memset(&word, 0, sizeof word);
    t.mem = mem;
    d = phx__route_table_make(&t, 0);
    check(d != NULL, "a destination");
    for (i = 0; i < 100; i++) {
        word.seq = i; /* all different, so each is a run */
        check(phx__route_table_advertise(&t, d, i + 1, &word) == 0, "told");
    }
    had = d->advertised->capacity;
    check(had >= 100, "a hundred");
    calls = h->heap.calls;
    word.want = 7;
    check(phx__route_table_advertise(&t, d, 50, &word) == 0, "another word");
    ok(h->heap.calls == calls, "where there is room, no memory is asked for");
    word.want = 0;
    h->heap.fail_from = h->heap.calls + 1;
    for (i = 99; i >= 20; i--)
        check(phx__route_table_advertise(&t, d, i + 1, NULL) == 0, "forgotten without memory");
    ok(d->advertised->count == 20 && d->advertised->capacity == had, "it stays as large");
    word.seq = 1000;
    for (i = 20; i < had; i++, word.seq++)
        check(phx__route_table_advertise(&t, d, i + 1, &word) == 0, "there is room for all");
    ok(phx__route_table_advertise(&t, d, i + 1, &word) == PHX_ENOMEM, "but for one more");
    h->heap.fail_from = 0;
    for (i = had - 1; i >= 20; i--)
        check(phx__route_table_advertise(&t, d, i + 1, NULL) == 0, "forgotten");
    ok(d->advertised->capacity < had / 2, "then it is smaller: %u", (unsigned)d->advertised->capacity);
    had = d->advertised->capacity;
    while (had <= 16)
        check(phx__route_table_advertise(&t, d, 200 + i++, &word) == 0 && ++word.seq > 0
                  && (had = d->advertised->capacity) > 0, "more again");
    calls = h->heap.calls;
    while (d->advertised->count > had / 4 + 1)
        check(phx__route_table_advertise(&t, d, 200 + --i, NULL) == 0, "forgotten");
    ok(h->heap.calls == calls && d->advertised->capacity == had, "a quarter of it keeps what it has");
    phx__route_table_free(&t);
    end();
}

static void test_one_run(void)
{
    /* Goal: what was advertised to neighbours in a row is one entry if all of it is the same. */
    struct phx__route_table t;
    struct phx__advertised word;
    struct phx__dest *d;
    uint32_t i;

    begin();
    memset(&t, 0, sizeof t);
    memset(&word, 0, sizeof word);
    t.mem = &h->mem;
    d = phx__route_table_make(&t, 0);
    word.seq = 5;
    for (i = 1; i < 9; i++)
        check(phx__route_table_advertise(&t, d, i, &word) == 0, "told");
    ok(d->advertised->count == 1, "one for eight");
    word.want = 9;
    check(phx__route_table_advertise(&t, d, 4, &word) == 0, "one wants more");
    ok(d->advertised->count == 3 && phx__route_table_advertised(d, 4)->want == 9
           && phx__route_table_advertised(d, 5)->want == 0, "three");
    word.want = 0;
    check(phx__route_table_advertise(&t, d, 4, &word) == 0, "no more");
    ok(d->advertised->count == 1, "one again");
    phx__route_table_free(&t);
    end();
}

static void test_grown(void)
{
    /* Goal: that a neighbourhood grew is no news for a flush. */
    begin();
    up(1);
    host_flush(h);
    host_beat((phx *)h, node_of(1), 0);
    wait(PHX__SECOND / 2);
    hear();
    up(2);
    host_flush(h);
    hear();
    ok(said[NOTE_BEAT] == 0, "no beat");
    down(2);
    host_flush(h);
    end();
}

static void test_nothing(void)
{
    /* Goal: what changes nothing is not taken: the end of an unknown node, a beat of one that is no
     * neighbour, more nodes or neighbours than there may be, a life from which there is no later one. */
    struct phx__beat b = { .digest = 1 };
    const struct phx__route_hello hello = { 1, 2, 0, 2, 9, 0 };
    const uint64_t last = UINT64_C(0x7fffffffffffffff);
    uint32_t known;

    begin();
    up(1);
    known = r->known;
    ok(tell_as(1, 7, 2, PHX__UNREACHABLE, 1, 0) == 0 && r->known == known,
       "the end of an unknown node is none");
    phx__route_beat_in(r, node_of(8), &b, 0, world.now);
    hear();
    ok(said[NOTE_SUMMARY] == 0 && phx__route_nbr(r, node_of(8)) == NULL, "a stranger's beat is no news");
    h->ids.limit = h->ids.count;
    ok(tell_as(1, 9, 2, 1, 1, 1) == PHX_ELIMIT && r->known == known, "there may be no more nodes");
    r->nbr_count = PHX__TABLE_LOST;
    ok(phx__route_up(r, node_of(8), &hello, world.now) == PHX_ELIMIT, "nor more than 65,535 neighbours");
    r->nbr_count = 1;
    end();
    world_begin(&world, WORLD_MAX, 1);
    h = &world.host[0];
    r = &h->route;
    check(host_start(&world, 0, last - 1) == 0, "a last life but one");
    up(1);
    check(tell_as(1, 0, 3, 2, last, 0) == 0, "told of the last");
    ok(phx__route_dest(r, PHX__SELF)->incarnation == last - 1 && r->rise.to == 0, "it is not gone to");
    end();
}

static uint32_t named, unnamed; /* beats that say that the neighbourhood shrank */

static void count_beat(phx *ctx, uint32_t nbr, int flags)
{
    struct phx__beat b;

    (void)ctx, (void)flags;
    phx__route_beat_fill(r, nbr, &b);
    named += b.lost != 0;
    unnamed += b.lost == 0;
}

/* So many neighbours are lost at once. One is left, which had heard of them, and soon has a way to each. */
static void lose(uint32_t count)
{
    const struct phx__route_hello hello = { 1, 2, 0, 2, 9, 0 };
    struct phx__entry e = { .incarnation = 1, .seq = 2, .hops = 1 };
    uint32_t i, node;

    begin();
    r->ops.beat = count_beat;
    for (i = 0; i < count; i++) {
        struct phx_id id;

        host_id(&id, 3); /* to the world they are one, which has no link */
        id.b[1] = (uint8_t)i;
        id.b[2] = (uint8_t)(1 + i / 256);
        check(phx__id_add(&h->ids, &id, &node) == 0 && phx__route_up(r, node, &hello, world.now) == 0, "up");
    }
    up(1);
    wait(PHX__SECOND);
    host_flush(h);
    count_beat((phx *)h, node_of(1), 0);
    named = unnamed = 0;
    while (r->nbr_count > 1) {
        node = r->nbrs[r->nbrs[0].node == node_of(1)].node;
        e.id = h->ids.at[node];
        phx__route_down(r, node, world.now);
        check(phx__route_entry(r, node_of(1), &e, world.now) == 0, "another way");
    }
    host_flush(h);
    check(named == 0 && unnamed == 0 && r->lost.count == count, "none is named at once");
    wait(PHX__SECOND);
    host_flush(h);
    check(r->lost.count == 0, "all are settled");
    end();
}

static void test_named(void)
{
    /* Goal: up to 256 neighbours that are lost at once, and not by all, are named in a beat each; of more
     * one beat tells. */
    lose(256);
    ok(named == 256 && unnamed == 0, "256 are named: %u and %u", named, unnamed);
    lose(257);
    ok(named == 0 && unnamed == 1, "257 are not: %u and %u", named, unnamed);
}

static void test_back(void)
{
    /* Goal: a neighbour that comes back is not lost any more, and was one all the time. */
    uint64_t hash;

    begin();
    up(1);
    up(2);
    up(3);
    wait(PHX__SECOND);
    host_flush(h);
    hash = r->neighbourhood;
    phx__route_down(r, node_of(2), world.now);
    phx__route_down(r, node_of(3), world.now);
    check(r->lost.count == 2 && r->neighbourhood == hash, "two are lost");
    up(2);
    ok(r->lost.count == 1 && r->lost.at[0].node == node_of(3) && r->neighbourhood == hash,
       "one of them is back");
    wait(2 * PHX__SECOND);
    ok(r->lost.count == 0 && r->neighbourhood == (hash ^ phx__id_hash(&h->ids.at[node_of(3)])),
       "the other one is settled");
    end();
}

static void test_worsened(void)
{
    /* Goal: what a neighbour's link with another made needless is looked at again when that link is gone, for
     * both of them, whatever covers it. Method: 1 and 3 are linked, and 1 says that 3 is gone. */
    begin();
    up(1);
    up(3);
    tell(1, 3, 2, 1);
    tell(3, 1, 2, 1);
    wait(10 * PHX__SECOND);
    host_flush(h);
    check(r->nbrs[0].dirty == 0 && r->nbrs[1].dirty == 0 && !r->pace.look, "all is told");
    r->pace.news = 0;
    tell(1, 3, 2, 255);
    ok(r->nbrs[0].dirty == 2 && r->nbrs[1].dirty == 2 && r->pace.look && r->pace.news, "both, and soon");
    end();
}

static void test_record(void)
{
    /* Goal: a record of a request that takes another's place has nothing of it. */
    struct phx__ask *a;

    begin();
    up(1);
    tell(1, 2, 2, 1);
    a = phx__route_table_ask(&r->table, node_of(2));
    check(a != NULL, "a record");
    a->asks = 200;
    a->passed_at = a->at = 7;
    a->passed_seq = 9;
    phx__route_table_unask(&r->table, a);
    a = phx__route_table_ask(&r->table, node_of(1));
    ok(a != NULL && a->asks == 0 && a->passed_at == 0 && a->passed_seq == 0, "a new one");
    ok(a->at == UINT64_MAX, "that asks for nothing");
    end();
}

static size_t room_now;
static uint32_t with_card, without;

static size_t say_room(phx *ctx, uint32_t nbr)
{
    (void)ctx, (void)nbr;
    return room_now;
}

static void count_cards(phx *ctx, uint32_t nbr, const struct phx__entry *e, uint32_t count)
{
    (void)ctx, (void)nbr;
    for (; count-- > 0; e++) {
        with_card += e->card != NULL && e->id.b[0] == 5;
        without += e->card == NULL && e->id.b[0] == 5;
    }
}

/* Node 5 is heard of, with a card of so many bytes; or it was known, has another card, and is lost. What is
 * said where there is so much room: 1 with its card, 0 without, -1 nothing. */
static int said_in(size_t room, uint32_t size, int lost)
{
    static uint8_t bytes[300000];
    struct phx__entry e = { .incarnation = 1, .seq = 2, .hops = 1, .card_version = 2, .card = bytes };

    begin();
    r->ops.room = say_room;
    r->ops.update = count_cards;
    room_now = SIZE_MAX;
    up(1);
    up(2);
    if (lost)
        tell(1, 5, 2, 1);
    host_flush(h);
    wait(PHX__SECOND);
    host_id(&e.id, 5);
    e.card_size = size;
    with_card = without = 0;
    check(phx__route_entry(r, node_of(1), &e, world.now) == 0, "another card");
    if (lost)
        check(tell_as(1, 5, 2, PHX__UNREACHABLE, 1, 0) == 0, "and it is lost");
    room_now = room;
    host_flush(h);
    wait(10 * PHX__MS);
    end();
    return with_card > 0 ? 1 : without > 0 ? 0 : -1;
}

static void test_rooms(void)
{
    /* Goal: a card waits where there is not room for it, unless there are 256 KiB. A loss waits for no room,
     * and takes a card of 4 KiB along, or one for which there is room. */
    const size_t card = 1000 + PHX__ENTRY_SIZE;

    ok(said_in(card, 1000, 0) == 1 && said_in(card - 1, 1000, 0) == -1, "a byte less, and it waits");
    ok(said_in(262144, 300000, 0) == 1 && said_in(262143, 300000, 0) == -1, "256 KiB are enough for any");
    ok(said_in(0, 4096, 1) == 1 && said_in(0, 4097, 1) == 0, "a loss takes 4 KiB along");
    ok(said_in(5000, 5000, 1) == 1 && said_in(4999, 5000, 1) == 0, "or what there is room for");
}

static void test_delegate(void)
{
    /* Goal: with 16 nodes known the neighbour that leads to most is the delegate, with 15 there is none. */
    uint32_t v;

    begin();
    up(1);
    for (v = 2; v < 15; v++)
        tell(1, v, 2, 1);
    host_flush(h);
    ok(r->known == 15 && r->delegate == PHX__NONE, "15");
    wait(PHX__SECOND);
    tell(1, 15, 2, 1);
    host_flush(h);
    ok(r->known == 16 && r->delegate == node_of(1), "16");
    end();
}

static void test_passed(void)
{
    /* Goal: a request of others is passed on again only after 150 ms. */
    struct phx__request q = begin_asked();

    wait(PHX__SECOND);
    hear();
    phx__route_request(r, node_of(2), &q, 5, world.now);
    hear();
    check(said[NOTE_REQUEST] == 1, "passed on");
    world.now += 150 * PHX__MS - 1;
    phx__route_request(r, node_of(2), &q, 5, world.now);
    hear();
    ok(said[NOTE_REQUEST] == 0, "not before");
    world.now++;
    phx__route_request(r, node_of(2), &q, 5, world.now);
    hear();
    ok(said[NOTE_REQUEST] == 1, "again");
    end();
}

int main(void)
{
    test_counts();
    test_looks();
    test_self();
    test_cards();
    test_asks();
    test_two_asks();
    test_relinked();
    test_summaries();
    test_held();
    test_first();
    test_linked();
    test_site();
    test_gateways();
    test_gap();
    test_quiet();
    test_far();
    test_forget();
    test_lost();
    test_confirm();
    test_fit();
    test_runs();
    test_one_run();
    test_grown();
    test_nothing();
    test_named();
    test_back();
    test_worsened();
    test_record();
    test_rooms();
    test_delegate();
    test_passed();
    return test_end();
}
