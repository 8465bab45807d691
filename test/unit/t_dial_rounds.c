/* t_dial_rounds.c - rounds of dials: order, races, waits, who dials first, what each error leads to. */
#include "dial_rig.h"

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
    ok(phx__dial_hub(&r->d, a, 6) == 0 && r->dials == 0,
       "a hub is taken; the call does not dial");
    rig_run(r, begin);
    ok(r->dials == 1 && r->last.to.family == PHX_UNIX, "at once, UNIX first");
    ok(r->last.expect == PHX__NONE, "whoever answers");
    rig_run(r, begin + 250 * MS - 1);
    ok(r->dials == 1, "nothing for 250 ms");
    rig_run(r, begin + 250 * MS);
    ok(r->dials == 2 && r->last.to.family == PHX_IPV6, "then IPv6");
    rig_pass(r, 100 * MS);
    rig_fail(r, r->open[0].slot, PHX_EREFUSED);
    rig_pass(r, 0);
    ok(r->dials == 3 && phx__addr_equal(&r->last.to, &a[0]),
       "after a failure the next at once: IPv4");
    rig_pass(r, 249 * MS);
    ok(r->dials == 3, "and again 250 ms");
    rig_pass(r, 1 * MS);
    ok(r->dials == 4 && phx__addr_equal(&r->last.to, &a[1]),
       "the second IPv4, the double left out");
    node = rig_node(r);
    ok(rig_up(r, r->open[1].slot, node) == 0 && r->open_count == 0 && r->abandons == 2,
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
        phx__dial_hub(&r->d, a, (uint32_t)i);
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
                rig_known(r);
            bad += rig_wait(r) != 0;
            for (round = 0; round < 20; round++) {
                uint64_t wait, most = hub || round < 10 ? RETRY_MAX : 10 * RETRY_MAX;
                cap = RETRY_MIN << round < most ? RETRY_MIN << round : most;
                rig_fail(r, r->last.slot, PHX_EREFUSED);
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
    phx__dial_hub(&r->d, a, 3);
    rig_pass(r, 0);
    ok(r->dials == 2 && r->open_count == 1 && r->open[0].to.port == 2,
       "the next address in the same breath");
    rig_fail(r, r->open[0].slot, PHX_ETIMEDOUT);
    rig_pass(r, 0);
    ok(r->dials == 3, "and the third");
    r->refuse = PHX_EMFILE;
    rig_fail(r, r->open[0].slot, PHX_ETIMEDOUT);
    ok(r->d.targets.at[0].at[0].error == PHX_EREFUSED && r->d.targets.at[0].at[2].error == PHX_ETIMEDOUT,
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

static uint64_t first_dial(const struct phx_id *self, const struct phx_id *other, int listening,
                           uint64_t seed)
{
    struct rig *r = rig_new(10, 64, seed);
    struct phx_address a = v4(1, 1);
    uint64_t wait;
    uint32_t node;

    r->ids.at[PHX__SELF] = *self;
    phx__id_add(&r->ids, other, &node);
    r->d.listening = listening;
    rig_says(r, node, &a, 1);
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
    /* Goal: nobody is dialled that cannot be or need not be. Method: nodes without addresses,
     * links that the peer made, before and after their addresses. */
    struct rig *r = rig_new(10, 64, 5);
    uint32_t a = rig_node(r), b = rig_node(r), c;
    struct phx_address at = v4(1, 1);

    ok(rig_says(r, a, &at, 0) == 0 && rig_wait(r) == UINT64_MAX,
       "no addresses, no dial");
    rig_up(r, PHX__NONE, b);
    rig_says(r, b, &at, 1);
    ok(rig_wait(r) == UINT64_MAX, "linked before its addresses came: no dial");
    c = rig_known(r);
    rig_pass(r, 0);
    ok(r->open_count == 1 && r->last.expect == c, "this one is dialled");
    rig_up(r, PHX__NONE, c);
    ok(r->open_count == 0 && r->abandons == 1, "but dials us meanwhile: ours is abandoned");
    rig_check(r);
    rig_pass(r, 5 * SECOND);
    phx__dial_down(&r->d, c, 0);
    ok(rig_wait(r) <= RETRY_MIN && r->last.expect == c,
       "its link ends: dialled again, though we had not made it");
    phx__dial_down(&r->d, c, 0);
    phx__dial_down(&r->d, 77, 0);
    rig_check(r);
    ok(rig_says(r, PHX__SELF, &at, 1) == 0 && r->d.targets.known == 2,
       "a node does not know itself");
    rig_free(r);
}

static void test_silent_last(void)
{
    /* Goal: promise 7: a clone of docker0, which swallows what is sent to it, holds up a start by one
     * stagger and a reconnect by nothing. Method: three addresses of one node, the first two silent. */
    struct rig *r = rig_new(100, 8, 63);
    struct phx_address a[3];
    uint32_t node = rig_known(r), i;

    for (i = 0; i < 3; i++)
        a[i] = v4(1000 + i, 7000);
    rig_says(r, node, a, 3);
    rig_pass(r, 600 * MS);
    ok(r->open_count == 3, "all three race");
    while (r->open_count > 0)
        rig_fail(r, r->open[0].slot,
                 phx__addr_equal(&r->open[0].to, &a[2]) ? PHX_EREFUSED : PHX_ETIMEDOUT);
    rig_wait(r);
    ok(phx__addr_equal(&r->last.to, &a[2]), "the one that gave a sign of life comes first");
    rig_free(r);
}

static void test_relayed(void)
{
    /* Goal: promise 14: who can be reached through others is dialled at least once a minute, however
     * often that failed; the dead ones rarely. Method: an hour of failures, with and without a route. */
    struct rig *r = rig_new(100, 4, 62);
    uint32_t node = rig_known(r), i, with, without;
    uint64_t begin, longest = 0, wait;

    r->refuse = PHX_EUNREACH;
    phx__dial_route(&r->d, node, 1);
    for (i = 0; i < 100; i++) {
        wait = rig_wait(r);
        longest = wait > longest ? wait : longest;
    }
    ok(longest <= 60 * SECOND && longest > 50 * SECOND, "never later than a minute after the last: %u s",
       (unsigned)(longest / SECOND));
    begin = r->now;
    with = r->dials;
    rig_run(r, begin + 3600 * SECOND);
    with = r->dials - with;
    phx__dial_route(&r->d, node, 0);
    without = r->dials;
    rig_run(r, begin + 2 * 3600 * SECOND);
    without = r->dials - without;
    ok(with >= 60 && with <= 120 + 10 && without < with / 2, "in an hour %u dials, and %u without a route",
       with, without);
    begin = r->now;
    phx__dial_moved(&r->d);
    wait = rig_wait(r);
    ok(wait <= SECOND, "this node has moved: all is tried again soon, after %u ms",
       (unsigned)(wait / MS));
    /* A plain pause of some 30 s begins again after ten failures; a first message cuts it short. */
    for (i = 0; i < 20; i++)
        rig_wait(r);
    phx__dial_want(&r->d, node);
    wait = rig_wait(r);
    ok(wait <= RETRY_MIN, "so it is on first use, after %u ms", (unsigned)(wait / MS));
    rig_free(r);
}

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
                rig_fail(r, r->last.slot, table[i].error);
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
        phx__dial_hub(&r->d, a, 2);
        for (k = 0; k < 2; k++) {
            rig_wait(r);
            rig_fail(r, r->last.slot, errors[i][k]);
        }
        ok(rig_wait(r) >= RETRY_MAX / 2, "a wrong key and a refusal: long");
        rig_free(r);
    }
}

static void test_self(void)
{
    /* Goal: an address that seems to be ours rests for long, also across new addresses, and is not lost:
     * anybody may have said so. Method: a node that lists one of ours beside its own; then a hub
     * where the first to answer says so. */
    struct rig *r = rig_new(10, 64, 10);
    struct phx_address a[3];
    uint32_t node = rig_node(r), selves = 0, i;
    uint64_t until = r->now + 10 * RETRY_MAX;

    a[0] = v4(1, 1);
    a[1] = v4(2, 2);
    a[2] = v4(3, 3);
    rig_says(r, node, a, 2);
    rig_pass(r, 0);
    rig_fail(r, r->last.slot, PHX_ESELF);
    for (i = 0; i < 12; i++) {
        rig_wait(r);
        selves += r->last.to.port == 1;
        rig_fail(r, r->last.slot, PHX_EREFUSED);
        if (i == 4)
            rig_says(r, node, a, 3);
        if (i == 8)
            rig_says(r, node, a, 2);
    }
    ok(selves == 0, "not dialled again soon");
    rig_says(r, node, a, 1);
    rig_check(r);
    rig_news(r, node);
    rig_check(r);
    rig_wait(r);
    ok(r->now / MS == until / MS && r->last.to.port == 1,
       "but after ten times retry_max, whatever the news");
    rig_free(r);
    r = rig_new(10, 64, 10);
    rig_hub(r, 1);
    rig_wait(r);
    rig_fail(r, r->last.slot, PHX_ESELF);
    for (i = 0; i < 3; i++) {
        ok(rig_wait(r) == 10 * RETRY_MAX, "a hub is not given up for it");
        rig_fail(r, r->last.slot, PHX_ESELF);
    }
    rig_wait(r);
    ok(rig_up(r, r->last.slot, node) == 0 && r->d.links == 1, "and linked when it is one");
    r->now += 2 * SECOND;
    phx__dial_down(&r->d, node, 0);
    ok(rig_wait(r) <= RETRY_MIN, "and an address as any other from then on");
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
    uint64_t wait, least = RETRY_MAX, most = 0;

    a[0] = v4(1, 1);
    a[1] = v4(1, 2);
    phx__dial_hub(&r->d, a, 2);
    rig_up(r, PHX__NONE, node);
    rig_pass(r, 300 * MS);
    ok(r->open_count == 2, "both addresses race");
    rig_fail(r, r->open[0].slot, PHX_EDUPLICATE);
    ok(r->open_count == 1, "one says duplicate, but not who it is: the other goes on");
    rig_fail(r, r->open[0].slot, PHX_EDUPLICATE);
    ok(r->open_count == 0 && !r->d.targets.at[0].round, "it says so, too: the round is over");
    ok(rig_wait(r) == SECOND, "again after a second");
    rig_fail(r, r->last.slot, PHX_EDUPLICATE);
    rig_wait(r);
    rig_fail(r, r->last.slot, PHX_EDUPLICATE);
    ok(rig_wait(r) == SECOND, "and again, if nobody says who that is");
    phx__dial_meet(&r->d, r->last.slot, node);
    rig_fail(r, r->last.slot, PHX_EDUPLICATE);
    ok(rig_wait(r) == UINT64_MAX, "once it is known, no dial");
    phx__dial_down(&r->d, node, 0);
    ok(rig_wait(r) <= RETRY_MIN, "until its link ends");
    phx__dial_meet(&r->d, 12345, node);
    rig_fail(r, r->last.slot, PHX_EREFUSED);
    while (r->open_count > 0 || r->d.targets.at[0].round) {
        if (r->open_count > 0)
            rig_fail(r, r->open[0].slot, PHX_EREFUSED);
        rig_pass(r, 0);
    }
    rig_wait(r);
    phx__dial_meet(&r->d, r->last.slot, node);
    rig_fail(r, r->last.slot, PHX_EDUPLICATE);
    ok(rig_wait(r) == SECOND, "a second also if the link with it is not up here");
    rig_check(r);
    rig_free(r);
    /* A hub has dialled us, and never says who it is. */
    r = rig_new(10, 64, 11);
    check(rig_hub(r, 1) == 0, "a hub");
    rig_wait(r);
    for (i = 0; i < 40; i++) {
        rig_fail(r, r->last.slot, PHX_EDUPLICATE);
        wait = rig_wait(r);
        least = PHX__MIN(wait, least);
        most = i < 20 ? 0 : PHX__MAX(wait, most);
    }
    ok(least == SECOND && most > RETRY_MAX / 2 && most <= RETRY_MAX, "a hub more and more rarely, up to %u s",
       (unsigned)(most / SECOND));
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
    rig_says(r, node, a, 3);
    for (round = 0; round < 3; round++) {
        rig_wait(r);
        rig_fail(r, r->last.slot, PHX_EDUPLICATE);
        rig_check(r);
        wait = rig_wait(r);
        ok(wait == 250 * MS && r->last.to.port == 2,
           "refused by whoever that was: the next address, when it is due");
        rig_fail(r, r->last.slot, PHX_EREFUSED);
        ok(rig_wait(r) == 0 && r->last.to.port == 3, "and the third");
        rig_fail(r, r->last.slot, PHX_EREFUSED);
        rig_check(r);
    }
    rig_wait(r);
    rig_wait(r);
    phx__dial_meet(&r->d, r->last.slot, node);
    rig_fail(r, r->last.slot, PHX_EDUPLICATE);
    rig_check(r);
    ok(r->open_count == 0 && rig_wait(r) >= SECOND, "it has proved who it is: the round is over");
    rig_free(r);
}

static void test_next_life(void)
{
    /* Goal: a node whose addresses have proved to be others' is dialled rarely at once, and as any
     * other after news. Method: ANSWERs with another id, known or not, from one and two addresses;
     * REFUSE with EPEER, which proves nothing; news at once. */
    uint32_t how;

    for (how = 0; how < 5; how++) {
        struct rig *r = rig_new(10, 64, 30 + how);
        uint32_t node = rig_node(r), other = rig_node(r);
        struct phx_address a[2], taken;
        uint64_t wait;
        int again = 0;
        a[0] = v4(1, 1);
        a[1] = v4(2, 2);
        rig_says(r, node, a, how == 2 ? 2 : 1);
        rig_wait(r);
        taken = r->last.to;
        if (how != 3)
            phx__dial_meet(&r->d, r->last.slot, how == 0 ? other : PHX__NONE);
        rig_fail(r, r->last.slot, PHX_EPEER);
        if (how == 2) {
            rig_wait(r);
            rig_fail(r, r->last.slot, PHX_EREFUSED);
        }
        if (how == 4)
            rig_news(r, node);
        rig_check(r);
        wait = rig_wait(r);
        if (how < 2)
            ok(wait >= 5 * RETRY_MAX && wait <= 10 * RETRY_MAX, "its next life answers: rarely");
        else
            ok(wait <= RETRY_MIN, how == 2   ? "it has another address"
                                  : how == 3 ? "nobody has proved that" : "so it is at once");
        rig_fail(r, r->last.slot, PHX_EREFUSED);
        for (uint32_t i = 0; how == 2 && i < 5; i++) {
            rig_wait(r);
            again += phx__addr_equal(&r->last.to, &taken);
            rig_fail(r, r->last.slot, PHX_EREFUSED);
        }
        ok(again == 0, "where another has proved to live nobody is dialled for a while");
        rig_news(r, node);
        rig_wait(r);
        rig_fail(r, r->last.slot, PHX_EREFUSED);
        ok(rig_wait(r) <= RETRY_MIN, "after news it is as any other");
        rig_free(r);
    }
}

static void test_late(void)
{
    /* Goal: results of dials that are over change nothing. Method: numbers of abandoned,
     * finished and invented dials. */
    struct rig *r = rig_new(10, 1, 12);
    uint32_t first, node, i, numbers = 0, last;

    rig_hub(r, 1);
    rig_wait(r);
    first = r->last.slot;
    rig_fail(r, first, PHX_EREFUSED);
    rig_wait(r);
    ok(r->last.slot != first, "the same slot, another number");
    phx__dial_result(&r->d, first, PHX_ESELF);
    phx__dial_result(&r->d, PHX__NONE, PHX_ESELF);
    phx__dial_result(&r->d, 500, PHX_ESELF);
    ok(r->open_count == 1 && r->d.targets.at[0].failures == 1,
       "late and wild results are ignored");
    node = rig_node(r);
    phx__dial_up(&r->d, node, first);
    ok(r->d.targets.at[0].node == PHX__NONE && r->open_count == 1,
       "a late link is the node's, not the hub's");
    rig_up(r, r->last.slot, node);
    ok(r->d.links == 1 && r->d.targets.at[0].node == node, "a second up of a node is no second link");
    phx__dial_down(&r->d, node, 0);
    /* The generation of the one slot goes around, and no number is ever NONE; rig_dial looks. */
    r->refuse = PHX_EREFUSED;
    for (i = 0, last = 0; i < 70000; i++) {
        rig_wait(r);
        numbers += r->last.slot == last;
        last = r->last.slot;
    }
    ok(numbers == 0, "each number differs from the one before, 70000 times");
    rig_free(r);
}

static void test_wrong_peer(void)
{
    /* Goal: a link with another node than the one dialled is that node's. Method: the hub's
     * dial and a node's slot answered by a third. */
    struct rig *r = rig_new(10, 64, 13);
    uint32_t a = rig_known(r), b = rig_node(r);
    uint64_t wait;

    rig_pass(r, 0);
    rig_up(r, r->last.slot, b);
    ok(r->d.links == 1 && r->d.targets.at[0].at[0].error == PHX_EPEER, "that address failed");
    wait = rig_wait(r);
    ok(wait >= 5 * RETRY_MAX && wait <= 10 * RETRY_MAX && r->last.expect == a,
       "and is tried again, rarely");
    rig_check(r);
    rig_free(r);
}

static void test_answered(void)
{
    /* Goal: a node's dial that was answered is known without a look at the links: it is asked for each hello.
     * Method: two nodes and a hub, before, while and after each is dialled and answered. */
    struct rig *r = rig_new(10, 2, 14);
    uint32_t a = rig_known(r), b = rig_known(r), of_a;

    rig_pass(r, 0);
    of_a = r->open[0].expect == a ? 0 : 1;
    ok(r->open_count == 2 && !phx__dial_is_answered(&r->d, a) && !phx__dial_is_answered(&r->d, b),
       "both are dialled, none has answered");
    phx__dial_answered(&r->d, r->open[of_a].slot, 1);
    ok(phx__dial_is_answered(&r->d, a) && !phx__dial_is_answered(&r->d, b), "one has");
    phx__dial_answered(&r->d, r->open[of_a].slot, 0);
    ok(!phx__dial_is_answered(&r->d, a), "until that came to nothing, and it goes on another way");
    phx__dial_answered(&r->d, r->open[of_a].slot, 1);
    phx__dial_answered(&r->d, r->open[1 - of_a].slot, 1);
    rig_fail(r, r->open[of_a].slot, PHX_EREFUSED);
    ok(!phx__dial_is_answered(&r->d, a) && phx__dial_is_answered(&r->d, b), "one failed, the other has");
    rig_up(r, r->open[0].slot, b);
    ok(!phx__dial_is_answered(&r->d, b) && !phx__dial_is_answered(&r->d, 500)
           && !phx__dial_is_answered(&r->d, PHX__NONE), "one is linked; nobody knows others");
    phx__dial_forget(&r->d, a);
    r->answers = 1;
    rig_hub(r, 1);
    rig_pass(r, 0);
    ok(r->open_count == 1 && !phx__dial_is_answered(&r->d, PHX__NONE), "a hub that nobody knows is nobody");
    rig_free(r);
}

static void test_courtesy_again(void)
{
    /* Goal: a new address does not jump the queue of who dials first. Method: 40 listening nodes
     * that failed for long, each with a new address; about half of them wait. */
    struct rig *r;
    struct phx_address a[2];
    uint32_t node, seed, first = 0, second = 0, late = 0;
    uint64_t wait;

    a[0] = v4(1, 1);
    a[1] = v4(2, 2);
    for (seed = 0; seed < 40; seed++) {
        r = rig_new(10, 64, seed);
        node = rig_node(r);
        r->d.listening = 1;
        rig_says(r, node, a, 1);
        rig_wait(r);
        rig_fail(r, r->last.slot, PHX_EKEY);
        rig_says(r, node, a, 2);
        wait = rig_wait(r);
        first += wait <= 20 * MS;
        late += wait > 15 * MS && wait <= 20 * MS;
        second += wait >= 1000 * MS && wait <= 1270 * MS;
        rig_free(r);
    }
    ok(first + second == 40 && first > 8 && second > 8 && late > 0, "%u first, %u second", first, second);
}

static void test_dead_rounds(void)
{
    /* Goal: a node is dialled at least once in retry_max for ten rounds, and then more rarely. */
    uint32_t seed, round, bad = 0, rare = 0;

    for (seed = 0; seed < 50; seed++) {
        struct rig *r = rig_new(10, 64, seed);

        r->d.limits.retry_max_us = SECOND;
        rig_known(r);
        rig_wait(r);
        for (round = 0; round < 10; round++) {
            rig_fail(r, r->last.slot, PHX_EREFUSED);
            bad += rig_wait(r) > SECOND;
        }
        rig_fail(r, r->last.slot, PHX_EREFUSED);
        rare += rig_wait(r) > SECOND;
        rig_free(r);
    }
    ok(bad == 0 && rare > 30, "after ten rounds %u of 50 wait longer", rare);
}

static void test_moved(void)
{
    /* Goal: a node that has moved to another network dials all again within half a second, and not all in the
     * same moment. Method: 100 nodes that refuse a hundred times. */
    struct rig *r = rig_new(1000, 256, 5);
    uint32_t i, before, soon, all;

    r->refuse = PHX_EUNREACH;
    for (i = 0; i < 100; i++)
        (void)rig_known(r);
    rig_pass(r, 7200 * SECOND);
    before = r->dials;
    r->refuse = 0; /* each is dialled once */
    phx__dial_moved(&r->d);
    rig_pass(r, 250 * MS);
    soon = r->dials - before;
    rig_pass(r, 250 * MS);
    all = r->dials - before;
    ok(soon > 25 && soon < 75 && all == 100, "%u in the first half of it, %u in all", soon, all);
    rig_free(r);
}

static void test_rest(void)
{
    /* Goal: a node whose link is one too many is dialled in half of retry_max at the soonest, and then as one
     * that failed often. */
    struct rig *r = rig_new(10, 64, 6);
    uint32_t node = rig_known(r);
    uint64_t wait;

    check(rig_up(r, PHX__NONE, node) == 0, "linked");
    phx__dial_down(&r->d, node, 1);
    wait = rig_wait(r);
    ok(wait >= RETRY_MAX / 2 && wait <= RETRY_MAX, "it rests: %u s", (unsigned)(wait / SECOND));
    rig_fail(r, r->last.slot, PHX_EREFUSED);
    ok(rig_wait(r) > RETRY_MIN, "and again");
    rig_check(r);
    rig_free(r);
}

static void test_too_soon(void)
{
    /* Goal: a message to a node whose only address seems to be our own does not end that address's rest. */
    struct rig *r = rig_new(10, 64, 7);
    uint32_t node = rig_known(r), i;
    struct phx_address a[2];
    uint64_t wait;

    rig_wait(r);
    rig_fail(r, r->last.slot, PHX_ESELF);
    rig_pass(r, SECOND);
    phx__dial_want(&r->d, node);
    wait = rig_wait(r);
    ok(wait >= 9 * RETRY_MAX, "it rests for %u s", (unsigned)(wait / SECOND));
    rig_check(r);
    rig_free(r);
    r = rig_new(10, 64, 9);
    node = rig_node(r);
    a[0] = v4(1, 1);
    a[1] = v4(2, 2);
    check(rig_says(r, node, a, 2) == 0, "two addresses");
    for (i = 0; i < 2; i++) {
        rig_wait(r);
        rig_fail(r, r->last.slot, phx__addr_equal(&r->last.to, &a[0]) ? PHX_ESELF : PHX_EREFUSED);
    }
    check(rig_says(r, node, a, 1) == 0, "of which one is left");
    wait = rig_wait(r);
    ok(wait >= 9 * RETRY_MAX, "so it does if another address, whose turn was sooner, is gone: %u s",
       (unsigned)(wait / SECOND));
    rig_check(r);
    rig_free(r);
}

int main(void)
{
    test_race();
    test_order();
    test_backoff();
    test_sync_failures();
    test_who_dials();
    test_dialled_by_peer();
    test_silent_last();
    test_relayed();
    test_errors();
    test_worst_counts();
    test_self();
    test_duplicate();
    test_unproved();
    test_next_life();
    test_late();
    test_wrong_peer();
    test_answered();
    test_courtesy_again();
    test_dead_rounds();
    test_moved();
    test_rest();
    test_too_soon();
    return test_end();
}
