/* t_dial_start.c - many nodes start together: news, how many dials at once. */
#include "dial_rig.h"

/* One more, to which there is a route. */
static uint32_t rig_reached(struct rig *r)
{
    uint32_t node = rig_known(r);

    phx__dial_route(&r->d, node, 1);
    return node;
}

/* Twenty nodes are heard of at once where more than eight are a start of many. */
static struct rig *rig_many(uint64_t seed)
{
    struct rig *r = rig_new(100, 64, seed);
    uint32_t i;

    r->d.limits.start_above = 8;
    r->d.start.began_at = r->now; /* a hub was dialled */
    for (i = 0; i < 20; i++)
        (void)rig_reached(r);
    return r;
}

static void test_start(void)
{
    /* Goal: when many start together few are dialled while nodes are being heard of; after a moment without
     * news the next dial begins when one has ended, and more at once when they are quick. Method: news, then
     * none; answer late, and at once. */
    struct rig *r = rig_many(40);
    uint32_t i, node;
    uint64_t end;

    r->answers = 1;
    for (i = 0; i < 15; i++) {
        rig_pass(r, 2 * MS);
        (void)rig_reached(r);
    }
    ok(r->dials == 0, "many: none is dialled in 30 ms of news");
    for (i = 0; i < 15; i++) {
        rig_pass(r, 2 * MS);
        (void)rig_reached(r);
    }
    ok(r->dials == 1, "and one in 60, when there was a millisecond for each that is known (%u)", r->dials);
    rig_fail(r, r->last.slot, PHX_EREFUSED);
    ok(rig_hub(r, 500) == 0, "a hub");
    rig_pass(r, MS);
    ok(r->dials == 2 && r->last.expect == PHX__NONE, "a hub need not wait for that");
    rig_fail(r, r->last.slot, PHX_EREFUSED);
    node = rig_known(r);
    rig_pass(r, 2 * MS);
    ok(r->dials == 3 && r->last.expect == node, "nor one who cannot be reached");
    phx__dial_route(&r->d, rig_reached(r), 0);
    rig_pass(r, 2 * MS);
    ok(r->dials == 3, "but one who could be, until a moment ago, waits: its way may be back soon");
    rig_fail(r, r->last.slot, PHX_EREFUSED);
    rig_pass(r, 20 * MS);
    ok(r->open_count == 2, "that was all: two are dialled at once");
    rig_pass(r, MS);
    rig_up(r, r->last.slot, r->last.expect);
    rig_pass(r, MS);
    ok(r->open_count == 3, "one came quickly: now three at once");
    for (end = r->now + SECOND; r->open_count > 0 && r->now < end;) {
        if (r->open[0].expect == PHX__NONE) /* the hub once more */
            rig_fail(r, r->open[0].slot, PHX_EREFUSED);
        else
            rig_up(r, r->open[0].slot, r->open[0].expect);
        rig_pass(r, 200 * MS);
    }
    ok(r->d.start.window <= 3, "they are slow: fewer at once (%u)", r->d.start.window);
    rig_free(r);
}

static void test_start_busy(void)
{
    /* Goal: while messages are under way a start leaves the processor to them: one first dial in 20 ms where
     * 20 are known, those first to whom somebody sends. Then it goes on. */
    struct rig *r = rig_many(48);
    uint32_t i, k, last, best = 0;

    r->answers = r->busy = 1;
    rig_pass(r, 10 * MS);
    for (i = 0; i < 5; i++) {
        last = 1 + (i * 7) % 20;
        phx__dial_want(&r->d, last);
        rig_pass(r, 20 * MS);
        for (k = 0; k < r->open_count; k++)
            best += r->open[k].expect == last;
        while (r->open_count > 0)
            rig_up(r, r->open[0].slot, r->open[0].expect);
    }
    ok(r->dials == 5 && best == 5, "busy: five in a tenth of a second, those who are sent to: %u of %u", best,
       r->dials);
    r->busy = 0;
    rig_pass(r, 20 * MS);
    ok(r->open_count >= 2, "then as many as there is room for");
    rig_free(r);
}

static void test_start_firewalls(void)
{
    /* Goal: dials that nobody answers do not hold up a start: sites that start together find each other's
     * gateways among many that a firewall hides. Method: nobody answers. */
    struct rig *r = rig_many(43);

    rig_pass(r, 10 * MS);
    rig_pass(r, 20 * MS);
    ok(r->open_count == 20, "they are silent, so all are dialled within 20 ms (%u)", r->open_count);
    rig_free(r);
}

static void test_start_stuck(void)
{
    /* Goal: nor do hosts that take a connection and then say nothing more, a stopped process say. Method: 18
     * of 20 are such. */
    struct rig *r = rig_many(44);
    uint32_t i;

    rig_pass(r, 10 * MS);
    for (i = 0; i < 1500; i++) {
        uint32_t k;
        for (k = 0; k < r->open_count; k++)
            phx__dial_answered(&r->d, r->open[k].slot, 1);
        rig_pass(r, 10 * MS);
    }
    ok(r->dials == 20, "they are stuck, and all are dialled in fifteen seconds (%u)", r->dials);
    rig_free(r);
}

static void test_start_turns(void)
{
    /* Goal: while a node has not come to all nodes that are its own to dial, it dials none that is another's:
     * those are late, too, and each pair would be dialled twice. Then it does. Method: it sends to 80 nodes,
     * so a dial in 80 ms; about half are its own, and nobody dials it. */
    struct rig *r = rig_new(100, 64, 49);
    uint8_t own[128] = { 0 };
    uint32_t i, node, target, left = 0, early = 0;
    uint64_t begin = r->now;

    r->d.limits.start_above = 8;
    r->d.listening = r->busy = r->answers = 1;
    for (i = 0; i < 80; i++) {
        node = rig_reached(r);
        target = (uint32_t)(phx__dial_target_of(&r->d.targets, node) - r->d.targets.at);
        own[node] = phx__timer_at(&r->d.targets.due, target) == r->now;
        left += own[node];
        phx__dial_want(&r->d, node);
    }
    check(left > 25 && left < 55, "about half are its own: %u", left);
    while (r->now < begin + 20 * SECOND) {
        rig_pass(r, 10 * MS);
        if (r->open_count == 0)
            continue;
        left -= own[r->last.expect];
        early += !own[r->last.expect] && left > 0;
        rig_up(r, r->last.slot, r->last.expect);
    }
    ok(left == 0 && early == 0, "its own first: %u of others before them", early);
    ok(r->dials == 80, "and then the others, each once: %u", r->dials);
    rig_free(r);
}

static void test_start_news(void)
{
    /* Goal: news that never ends keep nobody from dialling.
     * Method: somebody new every half second. */
    struct rig *r = rig_many(45);
    uint32_t i;

    for (i = 0; i < 20; i++) {
        rig_pass(r, 500 * MS);
        (void)rig_reached(r);
    }
    ok(r->dials > 20, "after ten seconds of news %u are dialled", r->dials);
    rig_free(r);
}

static void test_start_gives_way(void)
{
    /* Goal: those that dial silent addresses have their full time while a start waits for something else than
     * their places. Method: 20 of 64 linger, then somebody new comes. */
    struct rig *r = rig_many(47);
    uint64_t end;

    rig_pass(r, 10 * MS);
    rig_pass(r, 4 * SECOND);
    ok(r->open_count == 20 && r->abandons == 0, "20 are silent");
    r->d.start.began_at = r->now;
    (void)rig_reached(r);
    rig_pass(r, 2 * MS);
    ok(r->open_count == 20 && r->abandons == 0, "and none gives way to one that waits for the news");
    end = phx__timer_next(&r->timers);
    ok(end > r->now, "which does not keep the node busy");
    rig_free(r);
}

static void test_start_is_dialled(void)
{
    /* Goal: in a start of many who is dialled by a node, and has answered, leaves it the patience that an
     * answer has before it dials, too: of two such links one is lost that was used. Not for ever, nobody has
     * proved anything yet, and not where nothing waits anyway. Method: all 20 dial and none comes; then all
     * claim to dial again; the same with a start that is none; and each dial fails at once. */
    struct rig *r = rig_many(51), *few = rig_many(51), *ended = rig_many(51);
    uint32_t i, node, soon = 0;

    few->d.limits.start_above = 100;
    for (node = 1; node <= 20; node++) {
        phx__dial_give_way(&r->d, node, 5 * SECOND);
        phx__dial_give_way(&few->d, node, 5 * SECOND);
        phx__dial_give_way(&ended->d, node, 5 * SECOND);
        phx__dial_resume(&ended->d, node);
        phx__dial_resume(&few->d, node);
    }
    for (i = 0; i < 490; i++) {
        rig_pass(r, 10 * MS);
        rig_pass(few, 10 * MS);
        rig_pass(ended, 10 * MS);
        soon = i == 150 ? ended->dials : soon;
    }
    ok(soon == 20 && ended->dials == 20, "whose dial failed is dialled at once (%u)", soon);
    ok(r->dials == 0 && few->dials == 20, "who is dialled waits, in a start of many (%u and %u)", r->dials,
       few->dials);
    for (node = 1; node <= 20; node++)
        phx__dial_give_way(&r->d, node, 5 * SECOND);
    for (i = 0; i < 150; i++)
        rig_pass(r, 10 * MS);
    ok(r->dials == 20, "once: then it dials, whatever is said (%u)", r->dials);
    rig_free(r);
    rig_free(few);
    rig_free(ended);
}

static void test_start_lull(void)
{
    /* Goal: news are over 2 ms and a microsecond for each pair after the last, but after 200 ms at most; and
     * messages are news. Method: 443 nodes and more; a message 100 ms after the last. */
    struct phx__dial_slots none = { 0 };
    struct phx__dial_start s;
    uint64_t at[4];
    uint32_t i;

    phx__dial_start_init(&s);
    s.began_at = s.news_at = s.since = SECOND;
    for (i = 0; i < 4; i++)
        at[i] = phx__dial_start_room_at(&s, &none, i < 3 ? 443 + i : 100000, 0, SECOND) - SECOND;
    ok(at[0] == 2 * MS + 443 * 443 && at[1] == 2 * MS + 444 * 444, "for 443 and 444 nodes");
    ok(at[2] == 200 * MS && at[3] == 200 * MS, "for 445 it would be more than 200 ms, and is not");
    (void)phx__dial_start_room_at(&s, &none, 443, 1, SECOND + 100 * MS);
    ok(phx__dial_start_room_at(&s, &none, 443, 0, SECOND + 298 * MS) == SECOND + 102 * MS + 443 * 443,
       "a message after 100 ms: as long after that");
    ok(phx__dial_start_room_at(&s, &none, 443, 1, SECOND + 300 * MS) == SECOND + 443 * MS,
       "with messages all the time one dial in 443 ms");
}

static void test_start_lull_share(void)
{
    /* Goal: news that took long have long pauses: they are over after a quarter of that, a second at
     * most. After 4 s without any they are others. Method: news for 2 s, and for 8; after 5 s one more. */
    struct phx__dial_slots none = { 0 };
    struct phx__dial_start s;
    uint64_t now;

    phx__dial_start_init(&s);
    for (now = 10 * SECOND; now <= 12 * SECOND; now += 400 * MS)
        phx__dial_start_news(&s, now);
    s.began_at = now; /* with a thousand known the pace is a second */
    ok(phx__dial_start_room_at(&s, &none, 1000, 0, now) == 12 * SECOND + 500 * MS, "500 ms after 2 s");
    for (; now <= 18 * SECOND; now += 400 * MS)
        phx__dial_start_news(&s, now);
    s.began_at = s.news_at + 900 * MS;
    ok(phx__dial_start_room_at(&s, &none, 1000, 0, now) == s.news_at + SECOND, "a second after 8");
    phx__dial_start_news(&s, now = s.news_at + 5 * SECOND);
    s.began_at = now;
    ok(phx__dial_start_room_at(&s, &none, 1000, 0, now) == now + 200 * MS, "5 s later: other news");
}

static void test_start_hub_first(void)
{
    /* Goal: a hub is dialled, so there will be news: nobody else is dialled for a quarter of the time that
     * its link takes. Method: a link with a hub that takes 400 ms brings twenty nodes. */
    struct rig *r = rig_new(100, 64, 52);
    uint32_t i;

    r->d.limits.start_above = 8;
    r->answers = 1;
    rig_pass(r, 10 * SECOND);
    ok(rig_hub(r, 500) == 0, "a hub");
    rig_pass(r, MS);
    ok(r->dials == 1, "is dialled");
    rig_pass(r, 400 * MS);
    rig_up(r, r->last.slot, rig_known(r));
    for (i = 0; i < 20; i++)
        (void)rig_reached(r);
    r->d.start.began_at = r->now + SECOND; /* not the pace, but the news */
    rig_pass(r, 90 * MS);
    ok(r->dials == 1, "90 ms after its news nobody was dialled: %u", r->dials);
    rig_pass(r, 30 * MS);
    ok(r->dials > 1, "but after 120: %u", r->dials);
    rig_free(r);
}

/* A dial that began `took` ago and was answered after `way` has led to a link. */
static void learn(struct phx__dial_start *s, uint64_t took, uint64_t way, uint32_t known, uint64_t now)
{
    struct phx__dial_slot slot = { .since = now - took, .answered_at = way != 0 ? now - took + way : 0 };

    phx__dial_start_learn(s, &slot, known, 64, now);
}

static void test_start_window(void)
{
    /* Goal: a link that took twice the quickest and 20 ms is quick yet, and makes the window one larger, up
     * to the most; one that took longer halves it, once in that time, down to one. */
    const uint64_t slow = 2 * 5 * MS + 20 * MS;
    struct phx__dial_start s;
    uint32_t i;

    phx__dial_start_init(&s);
    learn(&s, 5 * MS, 0, 1, SECOND);
    ok(s.window == 3 && s.quickest == 5 * MS, "the quickest so far");
    learn(&s, slow, 0, 1, SECOND);
    ok(s.window == 4, "%u ms are quick", (unsigned)(slow / MS));
    for (i = 0; i < 100; i++)
        learn(&s, slow, 0, 1, SECOND);
    ok(s.window == 64, "64 are the most");
    learn(&s, slow + 1, 0, 1, SECOND);
    learn(&s, slow + 1, 0, 1, SECOND + slow);
    ok(s.window == 32, "a microsecond more is slow; two links at once are one sign of it");
    for (i = 1; i < 10; i++)
        learn(&s, slow + 1, 0, 1, SECOND + i * (slow + 1));
    ok(s.window == 1, "one is the least: %u", s.window);
}

static void test_start_rest(void)
{
    /* Goal: after a slow link a node leaves the processors to others, as if all did so and eight dials
     * were under way in all; for 16 s at most; while there are news, and then for as long again. A long way
     * is not slow. Method: 400 known; news for two seconds. */
    const uint64_t slow = 2 * 5 * MS + 20 * MS + 1;
    const struct phx__dial_slots none = { .count = 0 };
    struct phx__dial_start s;

    phx__dial_start_init(&s);
    s.since = 10 * SECOND;
    s.news_at = 12 * SECOND;
    learn(&s, 5 * MS, 0, 400, SECOND);
    ok(phx__dial_start_room_at(&s, &none, 400, 0, 12 * SECOND) == 12 * SECOND, "none after a quick one");
    learn(&s, 200 * MS, 90 * MS, 400, 12 * SECOND);
    ok(s.rest_until == 0, "nor after a long way");
    learn(&s, 200 * MS, 89 * MS, 400, 12 * SECOND);
    ok(s.rest_until == 22 * SECOND, "200 ms where 400 are known: 10 s");
    learn(&s, slow, 0, 400, 12 * SECOND);
    ok(phx__dial_start_room_at(&s, &none, 400, 0, 12 * SECOND) == 12 * SECOND + 50 * slow,
       "a slow one is followed by a rest");
    learn(&s, SECOND, 0, 400, 12 * SECOND);
    ok(s.rest_until == 28 * SECOND, "of 16 s at most");
    ok(phx__dial_start_room_at(&s, &none, 400, 0, 12 * SECOND) == 14 * SECOND, "and of 2 s after the news");
    ok(phx__dial_start_room_at(&s, &none, 400, 1, 13 * SECOND) == 16 * SECOND, "news: longer");
}

static void test_start_wakes(void)
{
    /* Goal: those that wait for their turn do not wake the node one by one, and while messages are under way
     * it looks for their end less and less often. Method: 60 nodes are known, many of which are the other
     * side's to dial first, and there are messages all the time. */
    struct rig *r = rig_new(100, 64, 51);
    uint32_t i, wakes = 0;
    uint64_t end;

    r->d.limits.start_above = 8;
    r->d.listening = 1;
    r->busy = 1;
    for (i = 0; i < 60; i++)
        (void)rig_reached(r);
    for (end = r->now + 4 * SECOND; phx__timer_next(&r->timers) <= end; wakes++)
        rig_run(r, PHX__MAX(phx__timer_next(&r->timers), r->now));
    ok(r->dials >= 20, "it dials all the time: %u", r->dials);
    ok(wakes < 3 * r->dials, "and wakes up for little else: %u times for %u dials", wakes, r->dials);
    rig_free(r);
}

static void test_start_courtesy(void)
{
    /* Goal: those that wait out of courtesy for the other side's dial do not put each other off when there is
     * time for them. Method: 60 nodes, about half of which are the other side's to dial first, and none does;
     * nothing else happens. */
    struct rig *r = rig_new(100, 64, 51);

    r->d.limits.start_above = 8;
    r->d.listening = 1;
    for (uint32_t i = 0; i < 60; i++)
        (void)rig_reached(r);
    rig_run(r, r->now + 2 * SECOND);
    ok(r->dials >= 60, "all are dialled within 2 s: %u", r->dials);
    rig_free(r);
}

int main(void)
{
    test_start_rest();
    test_start_courtesy();
    test_start_lull_share();
    test_start_hub_first();
    test_start_wakes();
    test_start();
    test_start_firewalls();
    test_start_stuck();
    test_start_turns();
    test_start_news();
    test_start_busy();
    test_start_window();
    test_start_lull();
    test_start_gives_way();
    test_start_is_dialled();
    return test_end();
}
