/* t_dial_start.c - many nodes start together: news, how many dials at once, patience. */
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

    r->d.start.above = 8;
    r->d.start.began_at = r->now; /* a hub was dialled */
    for (i = 0; i < 20; i++)
        (void)rig_reached(r);
    return r;
}

static void test_start(void)
{
    /* Goal: when many start together few are dialled before whoever told of them was asked whether that was
     * all; then the next dial begins when one has ended, and more at once when they are quick. Method: answer
     * late, and at once, and never. */
    struct rig *r = rig_many(40);
    uint64_t end;

    rig_pass(r, 10 * MS);
    ok(r->dials == 0 && r->asks == 1, "many: after a moment whoever told is asked, none dialled");
    (void)rig_reached(r);
    phx__dial_told_all(&r->d);
    rig_pass(r, MS);
    ok(r->dials == 0, "an answer older than the latest news does not count");
    rig_pass(r, 19 * MS);
    ok(r->dials == 1 && r->asks == 2, "it is asked again after the news, and one is dialled meanwhile");
    ok(rig_hub(r, 500) == 0, "a hub");
    rig_pass(r, MS);
    ok(r->dials == 2 && r->last.expect == PHX__NONE, "a hub need not wait for that");
    rig_fail(r, r->last.slot, PHX_EREFUSED);
    (void)rig_known(r);
    rig_pass(r, 2 * MS);
    ok(r->dials == 3, "nor one who cannot be reached");
    rig_fail(r, r->last.slot, PHX_EREFUSED);
    rig_pass(r, 20 * MS);
    phx__dial_told_all(&r->d);
    rig_pass(r, MS);
    ok(r->open_count == 2, "that was all: two are dialled at once");
    rig_pass(r, MS);
    rig_up(r, r->last.slot, r->last.expect);
    rig_pass(r, MS);
    ok(r->open_count == 3, "one came quickly: now three at once");
    for (end = r->now + SECOND; r->open_count > 0 && r->now < end;) {
        rig_up(r, r->open[0].slot, r->open[0].expect);
        rig_pass(r, 200 * MS);
    }
    ok(r->d.start.window <= 3, "they are slow: fewer at once (%u)", r->d.start.window);
    rig_free(r);

    r = rig_many(41);
    rig_pass(r, 100 * MS);
    ok(r->dials == 2 && r->asks > 3, "no answer: it is asked again and again");
    rig_pass(r, 5 * SECOND);
    ok(r->dials == 20, "and the others are dialled, slowly");
    rig_free(r);
}

static void test_start_busy(void)
{
    /* Goal: while messages are under way a start leaves the processor to them: one first dial in 20 ms where
     * 20 are known, those first to whom somebody sends. Then it goes on. */
    struct rig *r = rig_many(48);
    uint32_t i, k, last, best = 0;

    rig_pass(r, 10 * MS);
    phx__dial_told_all(&r->d);
    r->busy = 1;
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
    /* Goal: dials that nobody answers do not hold up a start. Method: nobody answers. */
    struct rig *r = rig_many(43);

    rig_pass(r, 10 * MS);
    phx__dial_told_all(&r->d);
    rig_pass(r, 10 * MS);
    ok(r->open_count == 2, "two at once");
    rig_pass(r, 3 * SECOND);
    ok(r->open_count == 20, "they are silent, so all are dialled within three seconds");
    rig_free(r);
}

static void test_start_stuck(void)
{
    /* Goal: nor do hosts that take a connection and then say nothing more, a stopped process say. Method: 18
     * of 20 are such. */
    struct rig *r = rig_many(44);
    uint32_t i;

    rig_pass(r, 10 * MS);
    phx__dial_told_all(&r->d);
    for (i = 0; i < 1500; i++) {
        uint32_t k;
        for (k = 0; k < r->open_count; k++)
            phx__dial_answered(&r->d, r->open[k].slot);
        rig_pass(r, 10 * MS);
    }
    ok(r->dials == 20, "they are stuck, and all are dialled in fifteen seconds (%u)", r->dials);
    rig_free(r);
}

static void test_start_news(void)
{
    /* Goal: news that never ends, and somebody asked who always knows more, keep nobody from dialling.
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
    phx__dial_told_all(&r->d);
    rig_pass(r, 4 * SECOND);
    ok(r->open_count == 20 && r->abandons == 0, "20 are silent");
    r->d.start.began_at = r->now;
    (void)rig_reached(r);
    rig_pass(r, 10 * MS);
    ok(r->open_count == 20 && r->abandons == 0, "and none gives way to one that waits for the news");
    end = phx__timer_next(&r->timers);
    ok(end > r->now, "which does not keep the node busy");
    rig_free(r);
}

static void test_start_patience(void)
{
    /* Goal: who leaves the first dial to the others does not dial in their place while links keep coming.
     * Method: two listening nodes each; links come every half second, then no more. */
    struct rig *r = rig_new(100, 64, 42);
    uint32_t i, node, late = 0;

    r->d.start.above = 8;
    r->d.listening = 1;
    for (i = 0; i < 40; i++)
        (void)rig_reached(r);
    rig_pass(r, 10 * MS);
    phx__dial_told_all(&r->d);
    rig_pass(r, 10 * MS);
    for (i = 0; i < 8; i++) {
        while (r->open_count > 0) {
            rig_up(r, r->open[0].slot, r->open[0].expect);
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
    test_start();
    test_start_firewalls();
    test_start_stuck();
    test_start_news();
    test_start_busy();
    test_start_gives_way();
    test_start_patience();
    return test_end();
}
