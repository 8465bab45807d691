/* t_post_asks.c - silence: when a flow asks its target, and when it lets others ask. */
#define NODES 9
#include "post_rig.h"

static void test_one_asks(void)
{
    /* Goal: while no round trip was measured one flow a second asks for all. Method: two targets, and all
     * waits. */
    struct world *w = world_new(1, NULL);
    struct node *n = &w->node[0];

    all_see(w, 3, 2);
    all_see(w, 4, 1);
    w->frozen = 1;
    check(send_size(n, 3, 10, 1, 0, 0) == 0 && send_size(n, 4, 10, 2, 0, 0) == 0, "sent");
    turns(w, 15, 100000);
    ok(w->emitted == 2 + 1, "one asks after a second");
    turns(w, 10, 100000);
    ok(w->emitted == 2 + 2, "the other one a second later");
    turns(w, 1200, 100000);
    ok(w->emitted > 8 && w->emitted < 20, "both ever more rarely");
    w->frozen = 0;
    ok(settle(w) && all_arrived(w) && n->post.counters.retransmitted == 0, "all comes, nothing twice");
    ok(n->post.usual[1].rtt > 100 * PHX__SECOND, "and how long it took is known");
    ok(world_free(w), "no byte leaked");
}

static void test_knows(void)
{
    /* Goal: what acks have just told of round trips through relays holds, for a lone message too, but not for
     * ever. Method: a relay that stands still, while round trips of 3 s are measured five times a second. */
    struct world *w = world_new(1, NULL);
    struct node *n = &w->node[0];

    all_see(w, 3, 2);
    route(w, 0, 2, 1);
    w->frozen = 1;
    check(send_size(n, 3, 10, 0, 0, 0) == 0, "sent");
    for (int i = 0; i < 9; i++) {
        n->post.usual[0].rtt = 3 * PHX__SECOND;
        n->post.usual[0].at = w->now - 200 * PHX__MS;
        turns(w, 1, 200000); /* what is due is done, then time passes */
    }
    ok(w->emitted == 1, "while they are measured nothing is asked");
    turns(w, 15, 200000);
    ok(w->emitted == 2, "and soon after that it is");
    n->post.usual[0].rtt = 0;
    w->frozen = 0;
    ok(settle(w) && all_arrived(w), "it comes");
    ok(n->post.usual[0].rtt > 4 * PHX__SECOND && n->post.usual[0].at > 4 * PHX__SECOND
           && n->post.usual[1].rtt == 0,
       "and how long it took is known, and when that was");
    ok(world_free(w), "no byte leaked");
}

/* Names first to last are those of as many nodes, behind this relay. */
static void behind(struct world *w, int first, int last, int relay)
{
    for (int k = first; k <= last; k++) {
        all_see(w, (uint64_t)k, k);
        route(w, 0, k, relay);
    }
}

static void say(struct world *w, int first, int last)
{
    for (int k = first; k <= last; k++)
        check(send_size(&w->node[0], (uint64_t)k, 10, 0, 0, 0) == 0, "sent");
}

/* To how many of these nodes all has come that was said, after so many tenths of a second. */
static int come_within(struct world *w, int first, int last, int tenths)
{
    int come = 0;

    turns(w, tenths, 100000);
    for (int k = first; k <= last; k++)
        come += peer_of(w, 0, k)->out.base == peer_of(w, 0, k)->out.left;
    return come;
}

static void test_neighbours(void)
{
    /* Goal: neighbours say nothing of those behind a relay, by answering or by being asked. Method: one
     * answers at once, two are silent and asked again and again, and what is first said to four through a
     * relay is lost. */
    struct world *w = world_new(1, NULL);
    struct node *n = &w->node[0];
    int k;

    for (k = 1; k < 5; k++)
        all_see(w, (uint64_t)k, k);
    behind(w, 5, 8, 4);
    say(w, 1, 3);
    turns(w, 20, 1000);
    ok(n->post.usual[1].rtt > 0 && n->post.usual[0].rtt == 0, "neighbours have answered");
    for (k = 1; k < 3; k++) {
        route(w, k, 0, -1);
        say(w, k, k);
        turns(w, 10, 100000);
    }
    w->loss = 1000;
    say(w, 5, 8);
    turns(w, 1, 1000);
    w->loss = 0;
    w->emitted = 0;
    turns(w, 11, 100000);
    ok(w->emitted <= 2 + 2, "after a second one asks for all behind the relay");
    ok(come_within(w, 5, 8, 15) == 4, "when it is answered the others ask, too: all have come");
    for (k = 1; k < 3; k++)
        route(w, k, 0, 0);
    ok(settle(w) && no_errors(w), "settles");
    ok(world_free(w), "no byte leaked");
}

static void test_lost_twice(void)
{
    /* Goal: what is sent again on another way and lost there, too, is asked for as soon as what is lost once.
     * Method: four targets behind a relay, then behind another one. */
    struct world *w = world_new(1, NULL);
    int k;

    behind(w, 3, 6, 1);
    w->loss = 1000;
    say(w, 3, 6);
    turns(w, 2, 1000);
    wire_cut(w, 0, 1);
    for (k = 3; k < 7; k++)
        route(w, 0, k, 2);
    turns(w, 2, 1000);
    w->loss = 0;
    ok(w->emitted == 8, "all is emitted twice");
    ok(come_within(w, 3, 6, 9) == 0, "patience");
    ok(come_within(w, 3, 6, 18) == 4, "one asks after a second, then the others: all have come");
    ok(settle(w) && all_arrived(w), "settles");
    ok(world_free(w), "no byte leaked");
}

static void test_gap_unasked(void)
{
    /* Goal: a gap that nobody asked about is no round trip. Method: a word is lost, and the next one, 0.9 s
     * later, tells of it; words to three others are lost, too. */
    struct world *w = world_new(1, NULL);
    struct node *n = &w->node[0];

    behind(w, 3, 6, 1);
    say(w, 3, 3);
    turns(w, 40, 1000);
    w->loss = 1000;
    say(w, 3, 6);
    turns(w, 2, 1000);
    w->loss = 0;
    turns(w, 9, 100000);
    say(w, 3, 3);
    turns(w, 10, 1000);
    ok(n->post.usual[0].rtt < 100 * PHX__MS, "it is not measured: %u us", (unsigned)n->post.usual[0].rtt);
    ok(come_within(w, 3, 6, 5) == 4, "the others are asked a second after they were sent");
    ok(settle(w) && all_arrived(w), "settles");
    ok(world_free(w), "no byte leaked");
}

/* Round trips of `rtt` us through a relay that stands still, and another node is lost after half a second: a
 * lone message is asked for so often in 14 s, and first at this tenth of a second. */
static int asked_for(uint64_t rtt, int lost, int *first)
{
    struct world *w = world_new(1, NULL);
    struct node *n = &w->node[0];
    int tenth, times;

    all_see(w, 3, 2);
    route(w, 0, 2, 1);
    w->frozen = 1;
    n->post.lost_at = w->now; /* before it is sent */
    check(send_size(n, 3, 10, 0, 0, 0) == 0, "sent");
    for (tenth = *first = 0; tenth < 140; tenth++) {
        n->post.lost_at = lost && tenth == 5 ? w->now : n->post.lost_at;
        n->post.usual[0].rtt = rtt;
        n->post.usual[0].at = w->now;
        turns(w, 1, 100000);
        *first = *first == 0 && w->emitted == 2 ? tenth : *first;
    }
    times = (int)w->emitted - 1;
    n->post.usual[0].rtt = 0;
    w->frozen = 0;
    ok(settle(w) && all_arrived(w), "it comes");
    ok(world_free(w), "no byte leaked");
    return times;
}

static void test_node_lost(void)
{
    /* Goal: what a node had that is lost is asked for after one round trip, and two seconds at most, not
     * after four; then as ever. */
    int first, times = asked_for(3 * PHX__SECOND, 0, &first);

    ok(times == 1 && first >= 120 && first <= 130, "no node is lost: %d tenths", first);
    times = asked_for(3 * PHX__SECOND, 1, &first);
    ok(times == 1 && first >= 30 && first <= 32, "one is: %d tenths", first);
    times = asked_for(1500 * PHX__MS, 1, &first);
    ok(times >= 1 && times <= 2 && first >= 15 && first <= 36, "of shorter round trips: %d tenths", first);
}

static void test_slow_way(void)
{
    /* Goal: nodes that are lost are no reason to leave a way that is only slow sooner than else. Method:
     * round trips of 3 s, a better way after half a second, and each second a node is lost. */
    struct world *w = world_new(1, NULL);
    struct node *n = &w->node[0];
    int tenth;

    behind(w, 3, 3, 1);
    w->frozen = 1;
    say(w, 3, 3);
    for (tenth = 0; tenth < 120; tenth++) {
        if (tenth == 5)
            route(w, 0, 3, 2);
        n->post.lost_at = tenth % 10 == 7 ? w->now : n->post.lost_at;
        n->post.usual[0].rtt = 3 * PHX__SECOND;
        n->post.usual[0].at = w->now;
        turns(w, 1, 100000);
    }
    ok(peer_of(w, 0, 3)->out.path.drains == 2 && n->post.counters.retransmitted == 0,
       "asked, and not left after 12 s");
    n->post.usual[0].rtt = 0;
    w->frozen = 0;
    ok(settle(w) && all_arrived(w) && n->post.counters.retransmitted == 0, "all comes, nothing twice");
    ok(world_free(w), "no byte leaked");
}

int main(void)
{
    test_one_asks();
    test_knows();
    test_neighbours();
    test_lost_twice();
    test_gap_unasked();
    test_node_lost();
    test_slow_way();
    return test_end();
}
