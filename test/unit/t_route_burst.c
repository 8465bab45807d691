/* t_route_burst.c - the routing brain while a crowd starts: what is said too early or changes nothing. */
#include "test.h"
#ifdef PHX_JOINED
#include "../../phoenix.c"
#else
#include "route/route.h"
#endif
#include "route_rig.h"

enum { ALWAYS = 999000, NEVER = 200000, OURS = 1, VAGUE = 2, MUTE = 3 };

static const struct row {
    const char *what;
    uint32_t before_ms;                        /* so long after the last link it begins */
    uint32_t starting_ms, links_ms, theirs_ms; /* until when dials wait, links come, node 2's come */
    uint32_t says, others;                     /* how many nodes are known beside those here */
    uint32_t asked, first_ms, told_ms;         /* how often node 2 is asked, first when; when it is told */
} rows[] = {
    { "after a moment without a link", 0, 0, 0, 0, 0, 70, 1, 1100, 1100 },
    { "long after the start", 60000, 0, 0, 0, 0, 70, 1, 1100, 1100 },
    { "when no dial waits", 0, 5000, 0, 0, 0, 70, 1, 5300, 5300 },
    { "when no link comes any more", 0, 0, 5000, 0, 0, 70, 1, 5100, 5100 },
    { "when it says the same twice", 0, 0, 0, 1500, 0, 70, 3, 1100, 4200 },
    { "it never does", 0, 0, 0, ALWAYS, 0, 70, 4, 1100, 16800 },
    { "it never does, long after the start", 60000, 0, 0, ALWAYS, 0, 70, 4, 1100, 16800 },
    { "it never says which", 0, 0, 0, 0, VAGUE, 70, 4, 1100, 16800 },
    { "dials always wait", 0, ALWAYS, 0, 0, 0, 70, 0, 0, 16800 },
    { "links come for 20 s", 0, 0, 20000, ALWAYS, 0, 70, 4, 20100, 35800 },
    { "links always come", 0, 0, ALWAYS, 0, 0, 70, 0, 0, 66900 },
    { "it is next to the same nodes: node 3 tells it", 0, 0, 0, 0, OURS, 70, 0, 0, NEVER },
    { "no crowd: its first heartbeat does", 0, 0, 0, ALWAYS, 0, 0, 0, 0, 100 },
    { "no crowd, and no heartbeat: it is asked, whatever waits", 0, ALWAYS, 0, 0, MUTE, 0, 4, 1000, 16000 },
};

/* Node 2's neighbourhood after so many ms: another one each tenth of a second, as long as its links come. */
static void say(const struct row *row, uint32_t ms)
{
    uint64_t around = 1000 + PHX__MIN(ms, row->theirs_ms) / 100;
    struct phx__beat b = { .digest = r->digest, .around = row->says == OURS ? r->neighbourhood : around,
                           .around_count = 2 };

    if (row->says == VAGUE)
        b.around = b.around_count = 0;
    if (row->says != MUTE)
        phx__route_beat_in(r, node_of(2), &b, 0, world.now);
}

/* How often node 2 was asked since, which it answers then. */
static uint32_t asked(const struct row *row, uint32_t ms)
{
    uint32_t times = 0;
    struct note *n;

    while ((n = queue_take(&world, 0, 2)) != NULL) {
        times += n->kind == NOTE_BEAT && (n->flags & (int)PHX__BEAT_REPLY);
        note_free(n);
    }
    if (times > 0)
        say(row, ms);
    return times;
}

/* Goal: what is held back for a neighbour of many is sent when its neighbourhood stands, after 16 moments
 * (here of 1.05 s; of 1 s where few are known) without a link, and after 64 in any case. */
static void test_held(const struct row *row)
{
    uint32_t times = 0, first = 0, ms, count;

    begin();
    r->known += row->others; /* of whom we hear nothing here */
    h->starting = row->starting_ms > 0;
    for (uint32_t rank = 1; rank <= 3; rank++)
        up(rank);
    wait(row->before_ms * PHX__MS);
    hear();
    tell(1, 2, 2, 1);
    tell(1, 5, 2, 3);
    check(told(2, 5) == -1, "node 1 tells it");
    tell(3, 5, 2, 1);
    tell(3, 1, 2, 1);
    check(told(2, 5) == -1, "node 1 leads to both");
    hear();
    say(row, 0);
    for (ms = 0; now_told(2, 5) == -1 && ms < NEVER; ms += 100) {
        h->starting = ms < row->starting_ms;
        if (ms < row->links_ms && ms % 1000 == 0)
            r->pace.linked_at = r->moved = world.now; /* all that counts here of a link that comes */
        wait(100 * PHX__MS);
        count = asked(row, ms);
        times += count;
        first = first == 0 && count > 0 ? ms + 100 : first;
    }
    ok(ms == row->told_ms && phx__route_nbr(r, node_of(2))->held_at == 0, "%s: after %u ms", row->what, ms);
    ok(times == row->asked && first == row->first_ms, "asked %u times, first after %u ms", times, first);
    end();
}

/* Neighbour rank may need an entry for node v, but node 1 leads to both. */
static void hold(uint32_t rank, uint32_t v)
{
    tell(1, rank, 2, 1);
    tell(1, v, 2, 3);
    check(told(rank, v) == -1, "node 1 tells it");
    tell(3, v, 2, 1);
    tell(3, 1, 2, 1);
    check(told(rank, v) == -1, "the delegate leads to both");
}

static void test_liar(void)
{
    /* Goal: a neighbour that never says who its neighbours are holds up its own entries only. Method: node 2
     * is mute, and 9 s later an entry for node 4 waits, which answers. */
    uint32_t first = 0, ms;

    begin();
    r->known += 70;
    for (uint32_t rank = 1; rank <= 4; rank++)
        up(rank);
    hold(2, 5);
    wait(9 * PHX__SECOND);
    hear();
    hold(4, 6);
    for (ms = 0; now_told(4, 6) == -1 && ms < NEVER; ms += 100) {
        struct phx__beat b = { .digest = r->digest, .around = 1000, .around_count = 2 };
        struct note *note;
        wait(100 * PHX__MS);
        while ((note = queue_take(&world, 0, 4)) != NULL) {
            if (note->kind == NOTE_BEAT && (note->flags & (int)PHX__BEAT_REPLY)) {
                first = first == 0 ? ms + 100 : first;
                phx__route_beat_in(r, node_of(4), &b, 0, world.now);
            }
            note_free(note);
        }
    }
    ok(first == 1100 && ms == 2200, "it is asked after %u ms and told after %u", first, ms);
    ok(now_told(2, 5) == -1, "the other waits");
    end();
}

/* Node 2 says of itself and its neighbours that they are others than ours. */
static void beat_of_2(int shrunk, uint64_t around)
{
    struct phx__beat b = { .digest = r->digest, .around = around, .around_count = 2 };

    phx__route_beat_in(r, node_of(2), &b, shrunk, world.now);
}

static void test_led(void)
{
    /* Goal: in a crowd's start what the delegate leads to waits, whatever number the delegate has heard last;
     * but a node that has more links than the delegate leads to does not: the delegate may wait for
     * it; nor does what a loss makes due. Method: four links, and a newer number of node 5. */
    enum { FEW, MANY, LOSS };

    for (int how = FEW; how <= LOSS; how++) {
        begin();
        r->known += 70;
        for (uint32_t rank = 1; rank <= 4; rank++)
            up(rank);
        beat_of_2(0, 1000);
        hold(2, 5);
        for (uint32_t v = 20; v < 23 && how != FEW; v++)
            tell(1, v, 2, 1);
        tell(3, 5, 3, 1);
        if (how == LOSS)
            beat_of_2(1, 1001);
        ok(told(2, 5) == (how == MANY ? -1 : 2), "case %d: it waits, or is told at once", how);
        wait(2 * PHX__SECOND);
        beat_of_2(0, 1002);
        wait(2 * PHX__SECOND);
        beat_of_2(0, 1002);
        ok(told(2, 5) == 2, "and is told when the neighbourhood stands");
        end();
    }
}

static void test_long_start(void)
{
    /* Goal: a start that never ends counts for 16 moments: then owed beats go out, and entries that are held
     * back wait as they do without a start. */
    begin();
    r->known += 70;
    h->starting = 1;
    for (uint32_t rank = 1; rank <= 4; rank++)
        up(rank);
    host_flush(h);
    wait(16 * PHX__SECOND);
    hear();
    ok(said[NOTE_BEAT] == 0, "16 s: not yet");
    wait(3 * PHX__SECOND);
    hear();
    ok(said[NOTE_BEAT] == 4, "17 s: all hear who our neighbours are");
    hold(4, 6);
    hear();
    wait(1200 * PHX__MS);
    hear();
    ok(said[NOTE_BEAT] == 1, "node 4 is asked after a moment");
    end();
}

/* Goal: in a crowd's start a node does not say who its neighbours are. Method: its dials wait, or not. */
static void test_says(void)
{
    static const struct {
        uint32_t starting, others;
        int says;
    } cases[] = { { 1, 70, 0 }, { 0, 70, 1 }, { 1, 0, 1 } };

    for (uint32_t i = 0; i < PHX__COUNT(cases); i++) {
        struct phx__beat b = { .digest = 0 };
        begin();
        up(1);
        r->known += cases[i].others;
        h->starting = (int)cases[i].starting;
        phx__route_beat_fill(r, node_of(1), &b);
        ok((b.around == r->neighbourhood) == cases[i].says && (b.around_count == 2) == cases[i].says
               && b.digest == r->digest,
           "case %u", i);
        ok((phx__route_nbr(r, node_of(1))->claimed != 0) == cases[i].says, "and who was not told is owed it");
        host_flush(h);
        hear();
        wait(5 * PHX__SECOND);
        hear();
        ok(said[NOTE_BEAT] == 0, "not while it starts");
        h->starting = 0;
        wait(2 * PHX__SECOND);
        hear();
        ok(said[NOTE_BEAT] == !cases[i].says && phx__route_nbr(r, node_of(1))->claimed == r->lost.claimed,
           "but then");
        end();
    }
}

static void test_spare(void)
{
    /* Goal: an offer that changes nothing costs no walk over the others, and no look at any neighbour.
     * Method: eight say that they are next to a neighbour of ours. Beside it: an offer that is worse than
     * before, one of the delegate, and a shorter way. */
    uint64_t looks;

    begin();
    for (uint32_t rank = 1; rank <= 10; rank++)
        up(rank);
    tell(2, 1, 2, 1); /* and their cards */
    tell(2, 4, 2, 1);
    tell(2, 12, 2, 2);
    host_flush(h);
    wait(100 * PHX__MS);
    looks = h->mem.looks;
    for (uint32_t rank = 3; rank <= 10; rank++)
        tell(rank, 1, 2, 1);
    ok(h->mem.looks - looks <= 8 && r->dirty.count == 0 && r->moved == world.now, "eight such offers");
    ok(phx__route_dest(r, node_of(1))->offer_count == 10, "are known");
    wait(100 * PHX__MS);
    tell(3, 1, 2, 1);
    ok(r->moved == world.now - 100 * PHX__MS, "said again: the table is as quiet as before");
    wait(5 * PHX__SECOND);
    tell(3, 12, 2, 2);
    ok(r->dirty.count == 0 && r->pace.choice, "one more way, as long: a choice");
    wait(2 * PHX__SECOND);
    ok(!r->pace.choice, "that is made when the table is quiet, though nothing else happens");
    host_flush(h);
    wait(100 * PHX__MS);
    looks = h->mem.looks;
    tell(3, 1, 2, 2);
    ok(r->dirty.count == 1 && h->mem.looks - looks > 16, "one that is worse than before");
    host_flush(h);
    wait(100 * PHX__MS);
    tell(3, 1, 2, 1);
    host_flush(h);
    wait(100 * PHX__MS);
    r->delegate = node_of(3);
    host_flush(h);
    wait(100 * PHX__MS);
    tell(3, 4, 2, 1);
    ok(r->dirty.count == 1, "one of the delegate");
    host_flush(h);
    wait(100 * PHX__MS);
    tell(4, 12, 2, 1);
    ok(r->dirty.count == 1 && phx__route_next(r, node_of(12)) == node_of(4), "a shorter way");
    end();
}

int main(void)
{
    for (uint32_t i = 0; i < PHX__COUNT(rows); i++)
        test_held(&rows[i]);
    test_liar();
    test_led();
    test_long_start();
    test_says();
    test_spare();
    return test_end();
}
