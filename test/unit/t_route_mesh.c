/* t_route_mesh.c - many routing brains: random faults, lost updates, no memory, cliques. */
#include "test.h"
#ifdef PHX_JOINED
#include "../../phoenix.c"
#else
#include "route/route.h"
#endif
#include "routes.h"

#if defined(__SANITIZE_ADDRESS__)
#define MESH_SEEDS 300u
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define MESH_SEEDS 300u
#endif
#endif
#ifndef MESH_SEEDS
#define MESH_SEEDS 2000u
#endif

static struct world world;

/* ---- Random faults --------------------------------------------------------------------------- */

/* Hosts die and come back, links come and go; links may be replaced while they are up. */
static void mesh_fault(struct world *w)
{
    uint32_t a = (uint32_t)phx__rnd_below(&w->rnd, w->count);
    uint32_t b = (uint32_t)phx__rnd_below(&w->rnd, w->count);
    uint64_t dice = phx__rnd_below(&w->rnd, 20);

    if (dice == 0) {
        uint64_t incarnation = w->host[a].route.table.at[0].incarnation;
        host_stop(w, a);
        host_start(w, a, incarnation + 1);
    } else if (dice == 1) {
        host_card(&w->host[a]);
    } else if (a != b && w->wire[a][b] == 0) {
        world_link(w, a, b);
    } else if (a != b && dice < 14) {
        world_cut(w, a, b);
    } else if (a != b) {
        world_link(w, a, b); /* in place of the old one */
    }
}

/* One note arrives, from anybody, and its host may flush. */
static void mesh_take(struct world *w)
{
    uint32_t from, to, tries;

    for (tries = 0; tries < 1000 && w->notes > 0; tries++) {
        from = (uint32_t)phx__rnd_below(&w->rnd, w->count);
        to = (uint32_t)phx__rnd_below(&w->rnd, w->count);
        if (w->queue[from][to].head == NULL)
            continue;
        world_deliver(w, from, to);
        if (phx__rnd_below(&w->rnd, 3) > 0)
            host_flush(&w->host[to]);
        break;
    }
}

/* One note arrives; or, if there is none, time passes. */
static void mesh_arrive(struct world *w)
{
    mesh_take(w);
    w->now += phx__rnd_below(&w->rnd, 300);
    if (phx__rnd_below(&w->rnd, 16) == 0)
        world_flush(w);
    if (phx__rnd_below(&w->rnd, 64) == 0)
        w->now += phx__rnd_below(&w->rnd, 2 * PHX__SECOND);
    if (phx__rnd_below(&w->rnd, 128) == 0)
        world_beats(w);
}

static void test_random(void)
{
    /* Goal: PITFALLS 1, 6, 7, 11; promises 22, 23, 27: no loop at any instant, no number that its
     * owner did not make, feasible distances never go back; when the faults end every route is
     * a shortest one and all digests are equal.
     * Method: 2,000 seeds, 5 to 12 hosts, 250 random arrivals with faults between them, seen after
     * each; then calm, compared with a breadth-first search. */
    uint32_t seed, wrong = 0, repaired = 0, events = 0;
    struct world *w = &world;
    int i, s, clean = 1;

    for (seed = 0; seed < MESH_SEEDS && wrong < 5; seed++) {
        world_begin(w, 5, seed);
        world_init(w, 5 + (uint32_t)phx__rnd_below(&w->rnd, 8), seed);
        world_wire(w, (uint32_t)phx__rnd_below(&w->rnd, w->count * 2));
        for (i = 0; i < 250; i++) {
            if (phx__rnd_below(&w->rnd, 10) == 0)
                mesh_fault(w);
            mesh_arrive(w);
        }
        w->summaries = 0;
        s = world_settle(w, 400, RIGHT_ALL);
        repaired += w->summaries > 0;
        events += w->events;
        wrong += !check(s >= 0, "seed %u settles", seed);
        wrong += !check(world_is_sound(w),
                        "seed %u: %u loops, %u back, %u forged, %u dangling, %u loose", seed,
                        w->loops, w->regressed, w->forged, w->dangling, w->loose);
        clean &= world_free(w);
    }
    ok(wrong == 0, "PITFALLS 1, 7, 11; promises 22, 23: %u worlds, %u events, %u with summaries",
       seed, events, repaired);
    ok(clean, "freed");
}

/* ---- Lost updates ---------------------------------------------------------------------------- */

static void test_lost_update(void)
{
    /* Goal: PITFALLS 4, 5; promise 27: no lost update is final, be it good news or bad.
     * Method: a graph settles; then a fault, and the first, second, ... update after it vanishes;
     * all is reachable again and all digests
     * are equal. Distances are in no digest: a route may stay longer than it need be. */
    struct world *w = &world;
    uint32_t seed, lost = 0, repaired = 0, wrong = 0;
    long k;
    int s, cut;

    for (seed = 0; seed < 200; seed++) {
        cut = seed % 2 == 0;
        for (k = 1; k <= 4; k++) {
            world_init(w, 7, seed);
            world_wire(w, 4);
            if (cut)
                world_settle(w, 60, RIGHT_ALL);
            w->summaries = 0;
            w->drop = k;
            if (cut && w->wire[0][1] != 0)
                world_cut(w, 0, 1);
            s = world_settle(w, 200, RIGHT_SAME);
            lost += (uint32_t)w->dropped;
            repaired += w->summaries > 0;
            wrong += !check(s >= 0 && world_is_sound(w), "seed %u, update %ld lost%s", seed, k,
                            cut ? " after a cut" : "");
            world_free(w);
        }
    }
    ok(wrong == 0 && lost > 300 && repaired > 30, "promise 27: %u updates lost, %u repairs", lost,
       repaired);
}

/* ---- No memory ------------------------------------------------------------------------------- */

/* Links that broke for want of memory are dialled again. */
static void mesh_redial(struct world *w, const uint8_t want[WORLD_MAX][WORLD_MAX])
{
    uint32_t a, b;

    for (a = 0; a < w->count; a++)
        for (b = 0; b < a; b++)
            if (want[a][b] && (w->wire[a][b] == 0 || w->link[a][b] != w->wire[a][b]
                               || w->link[b][a] != w->wire[a][b]))
                world_link(w, a, b);
}

static void test_memory(void)
{
    /* Goal: without memory a brain stays consistent, and what it missed comes back.
     * Method: a ring of five with a chord starts and loses a link; the n-th allocation of the first
     * host fails, for every n; broken links are dialled again; all must be right in the end. */
    static uint8_t want[WORLD_MAX][WORLD_MAX];
    struct world *w = &world;
    uint32_t i, wrong = 0, refused = 0;
    int s = 0, failed = 1;
    long k;

    memset(want, 0, sizeof want);
    for (i = 1; i < 5; i++)
        want[i][i - 1] = 1;
    want[4][0] = want[3][1] = 1;
    for (k = 1; failed && k < 1000; k++) {
        world_begin(w, 5, 1);
        w->host[0].heap.fail_at = k;
        failed = host_start(w, 0, 1) != 0;
        for (i = 1; i < 5; i++)
            host_start(w, i, 1);
        if (!failed) {
            mesh_redial(w, (const uint8_t(*)[WORLD_MAX])want);
            world_run(w, 50 * PHX__MS);
            world_cut(w, 1, 0);
            for (i = 0; i < 40; i++) {
                world_run(w, 50 * PHX__MS);
                mesh_redial(w, (const uint8_t(*)[WORLD_MAX])want);
            }
            s = world_settle(w, 200, RIGHT_ALL);
            failed = w->host[0].heap.calls >= k;
            wrong += !check(s >= 0 && world_is_sound(w), "allocation %ld fails", k);
        }
        refused += (uint32_t)failed;
        wrong += !check(world_free(w), "allocation %ld: freed", k);
    }
    ok(wrong == 0 && refused > 20, "%u single allocations refused, all repaired", refused);
}

/* ---- Cliques --------------------------------------------------------------------------------- */

/* A cold start: all dial the hub, and whoever knows somebody dials him. Entries told in all. */
static uint64_t mesh_clique(struct world *w, uint32_t count)
{
    uint32_t a, b, round;

    world_init(w, count, count);
    for (a = 1; a < count; a++)
        world_link(w, a, 0);
    for (round = 0; round < 200; round++) {
        world_round(w);
        for (a = 1; a < count; a++)
            for (b = 1; b < a; b++)
                if (w->wire[a][b] == 0 && host_dest(&w->host[a], b) != NULL)
                    world_link(w, a, b);
    }
    return world_entries(w);
}

static void test_clique(void)
{
    /* Goal: PITFALLS 16; promise 26: a cold start costs at most 1.2 N(N-1) entries, and promise 24:
     * a cut hurts only its users.
     * Method: 16 hosts and one hub; then the link between two of them is cut, and for each pair of
     * hosts it is seen how long it has no route. */
    enum { N = 16 };
    struct world *w = &world;
    uint64_t entries = mesh_clique(w, N);
    uint32_t i, k, lost, worst = 0;
    int s;

    ok(entries * 10 <= 12 * N * (N - 1), "promise 26: %u entries for N(N-1) = %u",
       (unsigned)entries, (unsigned)(N * (N - 1)));
    s = world_settle(w, 20, RIGHT_ALL);
    ok(s >= 0 && w->summaries == 0, "all right without a summary, %u more entries",
       (unsigned)(world_entries(w) - entries));
    entries = world_entries(w);
    world_run(w, 20 * PHX__SECOND);
    world_beats(w);
    world_run(w, 20 * PHX__SECOND);
    ok(world_entries(w) == entries, "then nothing is told");
    world_cut(w, 3, 7);
    while (w->notes > 0) {
        world_round(w);
        for (lost = 0, i = 0; i < N; i++)
            for (k = 0; k < N; k++)
                lost += host_dest(&w->host[i], k)->hops == PHX__UNREACHABLE;
        worst = lost > worst ? lost : worst;
    }
    ok(worst <= 2, "promise 24: one cut, %u pairs without a route, %u entries", worst,
       (unsigned)(world_entries(w) - entries));
    ok(world_settle(w, 20, RIGHT_ALL) >= 0 && world_is_sound(w), "and all is right");
    ok(world_free(w), "freed");
}

static void test_memory_deaths(void)
{
    /* Goal: the same where neighbours are lost, return and are linked anew. Method: a full mesh of six, in
     * which one dies and comes back while the first host gets another link with a second one and two others
     * lose theirs; its n-th allocation from there on fails, for every n. */
    static uint8_t want[WORLD_MAX][WORLD_MAX];
    struct world *w = &world;
    uint32_t a, b, wrong = 0, refused = 0;
    int i, s, failed = 1;
    long k;

    for (a = 0; a < 6; a++)
        for (b = 0; b < a; b++)
            want[a][b] = a != 2 || b != 1;
    for (k = 1; failed && k < 1000; k++) {
        (void)mesh_clique(w, 6);
        check(world_settle(w, 20, RIGHT_ALL) >= 0, "a mesh");
        world_beats(w);
        world_run(w, 2 * PHX__SECOND);
        w->host[0].heap.fail_at = w->host[0].heap.calls + k;
        host_stop(w, 5);
        world_link(w, 0, 3); /* in place of the old one */
        world_cut(w, 1, 2);
        world_run(w, 50 * PHX__MS);
        check(host_start(w, 5, 2) == 0, "it is back");
        for (i = 0; i < 40; i++) {
            mesh_redial(w, (const uint8_t(*)[WORLD_MAX])want);
            world_run(w, 50 * PHX__MS);
        }
        s = world_settle(w, 200, RIGHT_ALL);
        failed = w->host[0].heap.calls >= w->host[0].heap.fail_at;
        refused += (uint32_t)failed;
        wrong += !check(s >= 0 && world_is_sound(w), "allocation %ld fails", k);
        wrong += !check(world_free(w), "allocation %ld: freed", k);
    }
    ok(wrong == 0 && refused > 10, "%u single allocations refused after deaths, all repaired", refused);
}

/* How many entries the survivors tell when the last `dead` of a full mesh die at one moment. Together: all
 * survivors learn of all of it at once; else of one loss and one note at a time, in any order, and flush in
 * between. */
static uint64_t mesh_deaths(struct world *w, uint32_t count, uint32_t dead, int together)
{
    uint64_t before = 0, after = 0;
    uint32_t i;

    (void)mesh_clique(w, count);
    check(world_settle(w, 20, RIGHT_ALL) >= 0, "a mesh of %u", count);
    world_beats(w);
    world_run(w, 20 * PHX__SECOND);
    for (i = 0; i < count - dead; i++)
        before += w->host[i].route.counters.entries_out;
    for (i = count - dead; i < count; i++)
        host_stop(w, i);
    while (w->notes > 0 && !together)
        mesh_take(w);
    world_run(w, PHX__SECOND);
    check(world_settle(w, 20, RIGHT_ALL) >= 0 && world_is_sound(w), "all is right");
    for (i = 0; i < count - dead; i++)
        after += w->host[i].route.counters.entries_out;
    check(world_free(w), "freed");
    return after - before;
}

static void test_deaths(void)
{
    /* Goal: deaths cost the survivors entries for the dead, not for the living, however many die at once. One
     * that hears of a loss before it sees it tells the bearer of a route to the dead, and retracts that. */
    enum { MANY = WORLD_MAX };
    static const uint32_t dead[] = { 1, 2, 5, 10 };
    uint32_t i, k;

    for (i = 0; i < sizeof dead / sizeof *dead; i++) {
        for (k = 0; k < 2; k++) {
            uint64_t told = mesh_deaths(&world, MANY, dead[i], (int)k);
            ok(told <= (k ? 2 : 4) * dead[i] * (MANY - dead[i]), "%u of 20 die, %s: %u entries", dead[i],
               k ? "seen together" : "seen one by one", (unsigned)told);
        }
    }
}

/* Host `from` says to `to` of `rank` that it is so many hops away; or, in a beat, that it has lost it. */
static void mesh_say(struct world *w, uint32_t from, uint32_t to, uint32_t rank, unsigned hops)
{
    struct host *h = &w->host[to];
    struct phx__entry e = { .incarnation = host_dest(h, rank)->incarnation, .seq = host_dest(h, rank)->seq,
                            .hops = (uint8_t)hops, .card_version = host_dest(h, rank)->card_version };

    host_id(&e.id, rank);
    check(phx__route_entry(&h->route, host_node(h, from), &e, w->now) == 0, "said");
}

static void mesh_name_lost(struct world *w, uint32_t from, uint32_t to, uint32_t rank)
{
    struct host *h = &w->host[to];
    struct phx__beat b = { .around = phx__route_nbr(&h->route, host_node(h, from))->neighbourhood };

    b.lost = phx__id_hash(&h->ids.at[host_node(h, rank)]);
    b.around ^= b.lost;
    phx__route_beat_in(&h->route, host_node(h, from), &b, 1, w->now);
    host_flush(h);
}

/* A full mesh at rest, in which all have heard each other's beats. */
static void mesh_rests(struct world *w, uint32_t count)
{
    (void)mesh_clique(w, count);
    check(world_settle(w, 20, RIGHT_ALL) >= 0, "a mesh of %u", count);
    world_beats(w);
    world_run(w, 20 * PHX__SECOND);
}

static void test_liar(void)
{
    /* Goal: a way to one that all have lost goes no further than to him who was told of it, as long as the
     * loss is not settled; and a lie ends with the liar's word. Method: one of eight dies, and one says to
     * another that it is next to the dead one, while a third one has no link with the liar: the second time
     * long after, when all have settled the loss. */
    struct world *w = &world;
    uint32_t round, i, knows;
    uint64_t told, all;

    for (round = 0; round < 2; round++) {
        mesh_rests(w, 8);
        world_cut(w, 1, 3);
        world_run(w, 20 * PHX__SECOND);
        host_stop(w, 7);
        world_run(w, (round ? 2000 : 100) * PHX__MS);
        told = w->host[2].route.counters.entries_out;
        all = world_entries(w);
        mesh_say(w, 1, 2, 7, 1);
        check(host_dest(&w->host[2], 7)->hops == 2, "believed");
        world_run(w, 500 * PHX__MS);
        ok(round || w->host[2].route.counters.entries_out == told, "a way to the dead is told to nobody");
        for (knows = i = 0; i < 7; i++)
            knows += host_dest(&w->host[i], 7)->hops != PHX__UNREACHABLE;
        ok(round || knows == 1, "so %u has one", knows);
        world_run(w, 3 * PHX__SECOND);
        ok(world_entries(w) - all <= 3 * 8, "while the lie stands: %u entries",
           (unsigned)(world_entries(w) - all));
        mesh_say(w, 1, 2, 7, PHX__UNREACHABLE);
        ok(world_settle(w, 60, RIGHT_ALL) >= 0, "then all is right");
        check(world_free(w), "freed");
    }
}

static void test_both_ends(void)
{
    /* Goal: who told one of a way to a neighbour that it has lost tells that neighbour of the way back, once
     * the loss is named, and not before: the other end may be dead. Method: the link between two of six
     * goes, of which the second notices nothing; the first asks. */
    struct world *w = &world;
    struct phx__request q = { .incarnation = 1 };
    struct host *h = &w->host[3];

    mesh_rests(w, 6);
    host_id(&q.id, 5);
    q.incarnation = host_dest(h, 5)->incarnation;
    phx__route_request(&h->route, host_node(h, 4), &q, WORLD_HOPS, w->now);
    host_flush(h);
    ok(phx__route_table_word(host_dest(h, 5), host_node(h, 4)).hops == 1, "who asks is told");
    ok(phx__route_table_word(host_dest(h, 4), host_node(h, 5)).hops == PHX__UNREACHABLE,
       "the other end not yet");
    mesh_name_lost(w, 4, 3, 5);
    ok(phx__route_table_word(host_dest(h, 4), host_node(h, 5)).hops == 1, "but when the loss is named");
    h = &w->host[2];
    mesh_name_lost(w, 4, 2, 5);
    ok(phx__route_table_word(host_dest(h, 4), host_node(h, 5)).hops == PHX__UNREACHABLE,
       "by whom told a way alone");
    ok(world_settle(w, 60, RIGHT_ALL) >= 0 && world_is_sound(w), "all is right");
    check(world_free(w), "freed");
}

static void test_churn(void)
{
    /* Goal: where somebody always dies or comes the cost does not add up, though no table is quiet and losses
     * always wait. Method: a mesh of 16 in which one dies every 400 ms and is back, with links to all at one
     * moment, 200 ms later: what the last 20 cost, beside the first 20. */
    enum { N = 16 };
    struct world *w = &world;
    uint64_t told[2] = { 0, 0 };
    uint32_t i, k;

    mesh_rests(w, N);
    for (k = 0; k < 40; k++) {
        struct phx__route *r = &w->host[1 + k % (N - 1)].route;
        uint64_t life = r->table.at[0].incarnation, before = world_entries(w) - r->counters.entries_out;
        host_stop(w, 1 + k % (N - 1));
        world_run(w, 200 * PHX__MS);
        check(host_start(w, 1 + k % (N - 1), life + 1) == 0, "it is back"); /* its counters are 0 */
        for (i = 0; i < N; i++)
            if (i != 1 + k % (N - 1))
                world_link(w, 1 + k % (N - 1), i);
        world_run(w, 200 * PHX__MS);
        told[k / 20] += world_entries(w) - before;
    }
    ok(told[1] <= told[0] * 6 / 5 && told[1] <= 20 * 3 * N * (N - 1), "20 times %u entries, and then %u",
       (unsigned)told[0] / 20, (unsigned)told[1] / 20);
    ok(world_settle(w, 60, RIGHT_ALL) >= 0 && world_is_sound(w), "and all is right");
    check(world_free(w), "freed");
}

static void test_named_again(void)
{
    /* Goal: what is kept of losses is bounded by the neighbours. Method: one neighbour says again and again
     * that it lost another; and a link is replaced again and again. */
    struct world *w = &world;
    struct host *h = &w->host[0];
    struct phx__beat b;
    uint32_t i;

    (void)mesh_clique(w, 4);
    check(world_settle(w, 20, RIGHT_ALL) >= 0, "a mesh");
    memset(&b, 0, sizeof b);
    b.around = 1;
    b.lost = phx__id_hash(&h->ids.at[host_node(h, 2)]);
    for (i = 0; i < 1000; i++)
        phx__route_beat_in(&h->route, host_node(h, 1), &b, 1, w->now);
    ok(phx__route_nbr(&h->route, host_node(h, 1))->gap.count == 1, "a loss that is named again is one");
    for (i = 0; i < 100; i++) {
        world_link(w, 0, 3); /* in place of the old one */
        world_run(w, 10 * PHX__MS);
    }
    ok(h->route.lost.count == 0 && h->route.pace.shrunk == 0, "nothing is kept of a link that was replaced");
    world_cut(w, 0, 3);
    ok(world_settle(w, 20, RIGHT_ALL) >= 0 && world_is_sound(w), "all is right");
    ok(world_free(w), "freed");
}

/* In a chain the middle says of the first host, to that host alone, that it leads this life. */
static void mesh_lie(struct world *w, uint64_t incarnation, uint32_t seq)
{
    struct host *h = &w->host[0];
    struct phx__entry e;

    memset(&e, 0, sizeof e);
    host_id(&e.id, 0);
    e.incarnation = incarnation;
    e.seq = seq;
    e.hops = 1;
    check(phx__route_entry(&h->route, host_node(h, 1), &e, w->now) == 0, "said");
}

static void test_lives(void)
{
    /* Goal: who is told of later lives of its own rises above them, but never so fast that those who know it
     * by hearsay only take it for a lie.
     * Method: a chain of four; lives as far ahead as they may be, said once, said again at once, with the
     * last number there is, and then for a while whenever the world is quiet. */
    const uint64_t leap = (uint64_t)1 << 36;
    struct world *w = &world;
    uint32_t k, n, wrong = 0;

    for (k = 0; k < 6; k++) {
        world_init(w, 4, k);
        for (n = 1; n < 4; n++)
            world_link(w, n - 1, n);
        wrong += !check(world_settle(w, 60, RIGHT_ALL) >= 0, "%u: the chain stands", k);
        for (n = 0; n < (k < 4 ? 1 + k % 2 : 20); n++) {
            uint64_t life = host_dest(&w->host[0], 0)->incarnation;
            mesh_lie(w, life + leap - (k % 2), k < 2 ? 7 : PHX__SEQ_MAX);
            mesh_lie(w, host_dest(&w->host[0], 0)->incarnation, PHX__SEQ_MAX);
            if (k >= 4)
                world_run(w, PHX__SECOND / 2);
        }
        wrong += !check(world_settle(w, 20, RIGHT_SAME) >= 0 && world_is_sound(w), "%u: all know it", k);
        world_run(w, 100 * PHX__SECOND);
        wrong += !check(world_settle(w, 20, RIGHT_SAME) >= 0, "%u: and the rest of the way", k);
        wrong += !check(host_dest(&w->host[3], 0)->incarnation > leap, "%u: and that it has risen", k);
        world_free(w);
    }
    ok(wrong == 0, "a life that was leapt to is believed by those who know it by hearsay");
}

int main(void)
{
    test_random();
    test_lost_update();
    test_memory();
    test_clique();
    test_memory_deaths();
    test_deaths();
    test_named_again();
    test_liar();
    test_both_ends();
    test_churn();
    test_lives();
    return test_end();
}
