/* delivery.c - the scenarios of delivery: messages under load while the world around them changes.
 *
 * Each story talks, disturbs, falls silent, waits for the outcomes and reads out the ledger: none
 * lost, doubled, reordered, without outcome or corrupt, and where all ends live, none that ended
 * otherwise than delivered. Sizes: `nodes` is the number of hosts; how long it lasts grows with it, so
 * that a small one does for `make test`. */
#include "chat.h"
#include "story.h"

#include <stdio.h>
#include <string.h>

/* Outcomes may take the longest way: a silent death is seen after heartbeat and time-out, counts as
 * failed broken_us later, and then all of a window goes again. */
#define TOLD (60 * SECOND)

/* Lines that carry 20 MB a second, each way: so the time of a flow is that of its bytes. */
static void narrow(struct world_options *o)
{
    o->bytes_per_ms = 20000;
}

static void trickle(struct world_options *o)
{
    o->bytes_per_ms = 2000;
}

/* What a node may use if a story does not say otherwise: some windows of 4 MiB, each full. */
#define ENOUGH ((size_t)64 << 20)

static void limit_memory(struct sim *s)
{
    if (!s->cfg.mem_limit)
        s->cfg.mem_limit = ENOUGH;
}

/* ---- Topologies --------------------------------------------------------------------------- */

/* Hosts 0 .. relays - 1 may link with everybody, the others only with those; all know all relays. */
static void relays_and_leaves(struct sim *s, uint32_t relays, uint32_t leaves)
{
    uint32_t a, b, n = relays + leaves;

    s->names = 1;
    limit_memory(s);
    add(s, n, 0, 0);
    for (a = relays; a < n; a++)
        for (b = a + 1; b < n; b++)
            forbid(s, a, b);
    for (a = 0; a < n; a++)
        for (b = 0; b < relays; b++)
            if (a != b)
                join(s, a, b);
    start_all(s);
    wait_until(s, all_well, MINUTE);
}

/* 0 - 1 - 2 - ... */
static void chain(struct sim *s, uint32_t n)
{
    uint32_t a, b;

    s->names = 1;
    limit_memory(s);
    add(s, n, 0, 0);
    for (a = 0; a < n; a++)
        for (b = a + 2; b < n; b++)
            forbid(s, a, b);
    for (a = 1; a < n; a++) {
        join(s, a, a - 1);
        join(s, a - 1, a);
    }
    start_all(s);
    wait_until(s, all_well, MINUTE);
}

static void clique(struct sim *s, uint32_t n)
{
    uint32_t i;

    s->names = 1;
    limit_memory(s);
    add(s, n, 0, 0);
    for (i = 0; i < n; i++)
        join_all(s, i);
    start_all(s);
    wait_until(s, all_well, MINUTE);
}

/* So often a message has a burst of small ones before it: half of all are then in bursts. */
#define BURST_ONE_IN 20u

static struct chat_plan plan_for(uint32_t per_second, uint32_t bytes_max, uint32_t first, uint32_t count)
{
    struct chat_plan p;

    memset(&p, 0, sizeof p);
    p.per_second = per_second;
    p.bytes_max = bytes_max;
    p.first = first;
    p.count = count;
    p.burst_one_in = BURST_ONE_IN;
    return p;
}

/* All ends lived all the time, so nothing may have ended otherwise. */
static void all_arrived(struct sim *s, const char *story)
{
    char name[96];

    (void)snprintf(name, sizeof name, "%s sends that were not delivered", story);
    bar(s, name, (double)chat_failed(s), 0);
}

/* ---- Relays, links and routes -------------------------------------------------------------- */

/* Every second one of four relays dies, by a crash or, one time in four, without a word, and comes
 * back within two seconds. The leaves have no other way. */
static void relay_deaths(struct sim *s)
{
    uint32_t relays = 4, leaves = s->o.nodes - relays, i, seconds = s->o.nodes * 3;
    struct chat_plan plan = plan_for(100, 60000, relays, leaves);

    plan.talk_first = relays;
    plan.talkers = leaves;
    relays_and_leaves(s, relays, leaves);
    chat_begin(s, &plan);
    for (i = 0; i < seconds && !s->w->failed; i++) {
        uint32_t who = (uint32_t)rnd(s, relays);
        run_for(s, rnd(s, SECOND));
        if (rnd(s, 4) || living(s) < s->o.nodes)
            crash(s, who);
        else
            power_off(s, who);
        run_for(s, SECOND - rnd(s, 900 * MS));
        for (who = 0; who < relays; who++)
            if (!s->nodes[who].p && rnd(s, 3))
                restart(s, who);
    }
    for (i = 0; i < relays; i++)
        if (!s->nodes[i].p)
            restart(s, i);
    chat_hush(s);
    chat_bars(s, "relay_deaths", TOLD);
    all_arrived(s, "relay_deaths");
}

/* Links are cut, reset and healed, all the time and at several places. */
static void links_cut(struct sim *s)
{
    uint32_t relays = 3, leaves = s->o.nodes - relays, i;
    struct chat_plan plan = plan_for(100, 60000, 0, s->o.nodes);

    relays_and_leaves(s, relays, leaves);
    chat_begin(s, &plan);
    for (i = 0; i < s->o.nodes * 8 && !s->w->failed; i++) {
        uint32_t a = (uint32_t)rnd(s, relays), b = (a + 1 + (uint32_t)rnd(s, s->o.nodes - 1)) % s->o.nodes;
        switch (rnd(s, 5)) {
        case 0: cut(s, a, b); break;
        case 1: cut_oneway(s, a, b); break;
        case 2: sever(s, a, b); break;
        case 3: unplug(s, a, b); break;
        default: heal_all(s); break;
        }
        run_for(s, rnd(s, SECOND / 2));
        if (i % 16 == 15) { /* long enough for silence to be noticed */
            run_for(s, 12 * SECOND);
            heal_all(s);
            run_for(s, 2 * SECOND);
        }
    }
    heal_all(s);
    chat_hush(s);
    chat_bars(s, "links_cut", TOLD);
}

static int is_direct(struct sim *s)
{
    uint32_t a = s->o.nodes - 2;

    (void)snprintf(s->why, sizeof s->why, "host %u reaches host %u by %u hops", (unsigned)a,
                   (unsigned)a + 1, (unsigned)check_hops(s->c, a, a + 1));
    return check_hops(s->c, a, a + 1) == 1 && check_hops(s->c, a + 1, a) == 1;
}

/* Two hosts pour to each other through a relay; then the wall between them falls, and what is sent next
 * could overtake what is under way; and then it stands again. */
static void to_direct(struct sim *s)
{
    uint32_t n = s->o.nodes, a = n - 2, b = n - 1, i, rounds = 4 * n;
    struct chat_plan plan = plan_for(20, 2000, 0, n);

    relays_and_leaves(s, n - 2, 2);
    join(s, a, b); /* so that it dials for ever */
    chat_begin(s, &plan);
    chat_pour(s, a, b, 3000);
    chat_pour(s, b, a, 70000);
    for (i = 0; i < rounds && !s->w->failed; i++) {
        run_for(s, 200 * MS + rnd(s, 100 * MS));
        world_pair(s->w, a, b, WORLD_PAIR_FORBID, 0);
        if (rnd(s, 2))
            world_pair(s->w, b, a, WORLD_PAIR_FORBID, 0);
        join(s, a, b); /* and at once */
        wait_until(s, is_direct, MINUTE);
        run_for(s, rnd(s, 200 * MS));
        forbid(s, a, b);
        if (rnd(s, 2))
            sever(s, a, b); /* what is under way between them is gone */
        else
            unplug(s, a, b);
        heal(s, a, b);
    }
    chat_hush(s);
    chat_bars(s, "to_direct", TOLD);
    all_arrived(s, "to_direct");
    figure(s, "to_direct switches there and back", rounds);
}

/* All know all as hubs, so each pair dials from both sides, again and again. */
static void dup_dials(struct sim *s)
{
    uint32_t n = s->o.nodes, i, a;
    struct chat_plan plan = plan_for(200, 20000, 0, n);

    clique(s, n);
    chat_begin(s, &plan);
    for (i = 0; i < 60 * n && !s->w->failed; i++) {
        a = (uint32_t)rnd(s, n);
        unplug(s, a, (a + 1 + (uint32_t)rnd(s, n - 1)) % n);
        run_for(s, rnd(s, 60 * MS));
    }
    chat_hush(s);
    chat_bars(s, "dup_dials", TOLD);
    all_arrived(s, "dup_dials");
    wait_until(s, all_linked, MINUTE);
}

/* ---- Names that move ----------------------------------------------------------------------- */

/* A name goes elsewhere: claimed before the old holder releases it, or knows; or released before, so that
 * nobody has it for a while. Not the latter where holders die: an unowned name falls back to a dead
 * process that was once outbid, and what is sent in that moment fails when that one does. */
static void some_move(struct sim *s, uint32_t names, int kills)
{
    static const int64_t gaps[] = { -20000, -60000, -300000, -3000, -700, -1, 0, 300, 2000, 50000,
                                    400000 };
    uint32_t k = (uint32_t)rnd(s, names), to = (uint32_t)rnd(s, s->w->host_count);

    chat_move(s, k, to, gaps[rnd(s, kills ? 3 : sizeof gaps / sizeof *gaps)]);
}

static void move_names(struct sim *s, const char *story, int kills)
{
    uint32_t n = s->o.nodes, relays = 3, names = 6, i, moves = n * 42;
    struct chat_plan plan = plan_for(2000 / n, 20000, 0, 0);

    plan.roaming = names;
    plan.flee_one_in = kills ? 0 : 500;
    relays_and_leaves(s, relays, n - relays);
    chat_begin(s, &plan);
    for (i = 0; i < names; i++)
        chat_move(s, i, i % n, 0);
    for (i = 0; i < moves && !s->w->failed; i++) {
        run_for(s, rnd(s, 200 * MS));
        some_move(s, names, kills);
        if (kills && i % 16 == 7) {
            crash(s, (uint32_t)rnd(s, n));
            run_for(s, rnd(s, 3 * SECOND));
            start_all(s);
        }
    }
    chat_hush(s);
    chat_bars(s, story, TOLD);
    all_arrived(s, story);
    figure(s, kills ? "moves_kills moves" : "moves moves", moves);
}

static void moves(struct sim *s)
{
    move_names(s, "moves", 0);
}

/* The messages of those that live are all delivered: a dead holder's heir is there before it counts as
 * failed. */
static void moves_kills(struct sim *s)
{
    move_names(s, "moves_kills", 1);
}

/* ---- Readers that are slow, and everything full --------------------------------------------- */

/* A stopped reader's own credit (4 MiB) is under way at first, which is no loss: 3 % of this. */
#define MEASURED (7 * SECOND)
#define STOPS (8 * SECOND) /* below the time-out, which would end the link and prove nothing */

/* Host 0 relays from host 1 to hosts 2, 3 ..; what each of 3 .. hears in MEASURED, in the worst case. */
static double worst_heard(struct sim *s, const uint64_t *before)
{
    double least = 1e300;
    uint32_t i;

    for (i = 3; i < s->o.nodes; i++) {
        double heard = (double)(chat_bytes(s, i) - before[i]);
        least = heard < least ? heard : least;
    }
    return least;
}

/* One more round: how = 0: host 2 is sent nothing, 1: it is a reader like others, 2: it stops, 3: it
 * reads for a moment four times a second, 4: it stops, and the relay itself sends to it, too. Returns
 * the least throughput of the others. */
static double one_reader(struct sim *s, int how)
{
    static const char *const names[] = { "readers without", "readers with", "readers stopped",
                                         "readers slow", "readers stopped for two" };
    struct chat_plan plan = plan_for(0, 100, 0, s->o.nodes);
    uint64_t before[64], began;
    double least;
    uint32_t i;

    plan.talkers = 1; /* per_second is 0: nobody talks, some pour */
    chat_begin(s, &plan);
    for (i = 3; i < s->o.nodes; i++)
        chat_pour(s, 1, i, 20000);
    if (how > 0)
        chat_pour(s, 1, 2, 20000);
    if (how > 3)
        chat_pour(s, 0, 2, 20000);
    run_for(s, SECOND / 2);
    if (s->w->failed)
        return 0;
    for (i = 0; i < s->o.nodes && i < 64; i++)
        before[i] = chat_bytes(s, i);
    if (how == 2 || how == 4)
        stall(s, 2, STOPS);
    for (began = s->w->now; s->w->now < began + MEASURED && !s->w->failed; run_for(s, 10 * MS))
        if (how == 3 && s->w->hosts[2].stalled_until <= s->w->now)
            stall(s, 2, 250 * MS);
    least = worst_heard(s, before);
    chat_hush(s);
    run_for(s, SECOND + STOPS - MEASURED);
    chat_bars(s, names[how], TOLD);
    return least;
}

static void readers(struct sim *s)
{
    double alone, full, stopped, slow, twice;
    uint64_t lost;

    relays_and_leaves(s, 1, s->o.nodes - 1);
    lost = totals(s).links_lost;
    alone = one_reader(s, 0);
    full = one_reader(s, 1);
    stopped = one_reader(s, 2);
    slow = one_reader(s, 3);
    twice = one_reader(s, 4);
    if (!s->w->failed && totals(s).links_lost != lost)
        world_fail(s->w, "a link was lost: this proves nothing about slow readers");
    figure(s, "readers others alone, MB/s each", alone / (double)MEASURED);
    figure(s, "readers one more that reads, MB/s each", full / (double)MEASURED);
    /* Against a world in which that reader is sent nothing, which asks most. */
    bar(s, "readers % that a stopped one costs the others", 100 * (1 - stopped / alone), 10);
    bar(s, "readers % that a slow one costs the others", 100 * (1 - slow / alone), 10);
    bar(s, "readers % that a stopped one with two senders costs", 100 * (1 - twice / alone), 10);
}

/* Two relays between two ends: each relays for the other, everybody pours to everybody, and again and
 * again the ends stop until all is full. Nobody may wait for ever. */
static void mutual(struct sim *s)
{
    uint32_t n = s->o.nodes, a, b, round;
    struct chat_plan plan = plan_for(0, 100, 0, n);
    uint64_t before, stuck = 0, began;

    s->cfg.window = 1u << 20;
    chain(s, n);
    chat_begin(s, &plan);
    for (a = 0; a < n; a++)
        for (b = 0; b < n; b++)
            if (a != b)
                chat_pour(s, a, b, 1000 + (uint32_t)rnd(s, 30000));
    for (round = 0; round < 5 && !s->w->failed; round++) {
        run_for(s, SECOND);
        for (a = 0; a < n; a++)
            if (round % 2 == 0 ? a == 0 || a == n - 1 : rnd(s, 2))
                stall(s, a, STOPS / 2);
        run_for(s, STOPS / 2);
        before = chat_bytes(s, 0) + chat_bytes(s, n - 1);
        run_for(s, SECOND);
        stuck += chat_bytes(s, 0) + chat_bytes(s, n - 1) == before;
    }
    bar(s, "mutual seconds without a delivery after all read again", (double)stuck, 0);
    chat_hush(s);
    began = now_us(s);
    chat_bars(s, "mutual", TOLD);
    all_arrived(s, "mutual");
    figure(s, "mutual all delivered after s", (double)(now_us(s) - began) / 1e6);
}

/* The least credit there can be: one fragment. */
static void tiny_credit(struct sim *s)
{
    uint32_t n = s->o.nodes, i;
    struct chat_plan plan = plan_for(50, 200000, 0, n);

    s->cfg.window = 65536;
    s->cfg.hold_bytes = 65536;
    s->cfg.mem_limit = 24u << 20;
    chain(s, n);
    chat_begin(s, &plan);
    for (i = 0; i < 6 * n && !s->w->failed; i++) {
        uint32_t a = (uint32_t)rnd(s, n - 1);
        run_for(s, rnd(s, SECOND));
        unplug(s, a, a + 1);
    }
    chat_hush(s);
    chat_bars(s, "tiny_credit", TOLD);
    all_arrived(s, "tiny_credit");
}

/* Nothing, one byte, and 16 MiB, while links break in the midst of the large ones. */
static void mixed_sizes(struct sim *s)
{
    uint32_t n = s->o.nodes, i, leaf;
    struct chat_plan plan = plan_for(40, 1, 0, n);

    plan.huge_one_in = 60;
    s->cfg.mem_limit = (size_t)512 << 20;
    relays_and_leaves(s, 2, n - 2);
    chat_begin(s, &plan);
    for (i = 0; i < 3 * n && !s->w->failed; i++) {
        run_for(s, rnd(s, SECOND));
        leaf = 2 + (uint32_t)rnd(s, n - 2);
        unplug(s, (uint32_t)rnd(s, 2), leaf);
    }
    chat_hush(s);
    chat_bars(s, "mixed_sizes", TOLD);
    all_arrived(s, "mixed_sizes");
}

/* ---- Ends that die, restart and leave ------------------------------------------------------- */

/* Senders die and come back at once under other ids; what the new ones send is not held up by what the
 * old ones left half sent, nor taken for it. */
static void sender_restart(struct sim *s)
{
    uint32_t relays = 2, leaves = s->o.nodes - relays, i;
    struct chat_plan plan = plan_for(200, 150000, relays, leaves / 2);

    plan.talk_first = relays + leaves / 2;
    plan.talkers = leaves - leaves / 2;
    relays_and_leaves(s, relays, leaves);
    chat_begin(s, &plan);
    for (i = 0; i < s->o.nodes * 6 && !s->w->failed; i++) {
        run_for(s, rnd(s, 300 * MS));
        restart(s, plan.talk_first + (uint32_t)rnd(s, plan.talkers));
    }
    chat_hush(s);
    chat_bars(s, "sender_restart", TOLD);
    all_arrived(s, "sender_restart");
}

/* Processes leave in peace and come back, with roaming names on some of them: all that was sent is told
 * before they are gone, and nobody takes them for failed. */
static void leavers(struct sim *s)
{
    uint32_t n = s->o.nodes, i, names = 3;
    struct chat_plan plan = plan_for(100, 20000, 0, 0);

    plan.roaming = names;
    relays_and_leaves(s, 2, n - 2);
    chat_begin(s, &plan);
    for (i = 0; i < names; i++)
        chat_move(s, i, i % n, 0);
    for (i = 0; i < n * 3 && !s->w->failed; i++) {
        uint32_t who = 2 + (uint32_t)rnd(s, n - 2);
        run_for(s, rnd(s, 500 * MS));
        leave(s, who);
        run_for(s, rnd(s, 500 * MS));
        restart(s, who);
    }
    chat_hush(s);
    chat_bars(s, "leavers", TOLD);
}

/* ---- To many at once ------------------------------------------------------------------------ */

/* What one cast to all puts on links: each of the N - 1 of the tree carries the bytes once. More than
 * they can be is what heads and the rest of the world say meanwhile. */
static void cast_once(struct sim *s)
{
    const uint32_t bytes = 1000000;
    uint64_t before, told;

    run_for(s, 5 * SECOND);
    before = totals(s).bytes;
    told = s->nodes[2].outcomes;
    chat_cast_all(s, 2, bytes);
    run_for(s, 2 * SECOND);
    if (!s->w->failed && s->nodes[2].outcomes - told != s->o.nodes)
        world_fail(s->w, "a cast to %u on idle links had %u outcomes in 2 s", (unsigned)s->o.nodes,
                   (unsigned)(s->nodes[2].outcomes - told));
    bar(s, "casts bytes on all links, in those of N - 1 copies",
        (double)(totals(s).bytes - before) / bytes / (s->o.nodes - 1), 1.05);
}

/* Casts and sends to the same names, while names move and holders die and come back; and in the end some
 * die for good: of these, and of nobody else, all is told as failed. */
static void casts(struct sim *s)
{
    uint32_t n = s->o.nodes, relays = 2, names = 4, i;
    struct chat_plan plan = plan_for(1500 / n, 20000, 0, n);
    uint64_t dead;

    plan.roaming = names;
    plan.cast_one_in = 4;
    plan.dead_are_told = 1;
    relays_and_leaves(s, relays, n - relays);
    plan.per_second = 0;
    chat_begin(s, &plan);
    cast_once(s);
    plan.per_second = 1500 / n;
    chat_begin(s, &plan);
    for (i = 0; i < names; i++)
        chat_move(s, i, relays + i % (n - relays), 0);
    for (i = 0; i < n * 12 && !s->w->failed; i++) {
        run_for(s, rnd(s, 200 * MS));
        some_move(s, names, 1);
        if (i % 16 == 7) {
            crash(s, relays + (uint32_t)rnd(s, n - relays));
            run_for(s, rnd(s, 3 * SECOND));
            start_all(s);
        }
    }
    run_for(s, 10 * SECOND);
    bar(s, "casts messages that failed though an heir was there", (double)chat_failed(s), 0);
    crash(s, n - 1);
    power_off(s, n - 2);
    run_for(s, 20 * SECOND);
    chat_hush(s);
    chat_bars(s, "casts", TOLD);
    dead = chat_failed_to(s, n - 1) + chat_failed_to(s, n - 2);
    if (!s->w->failed && dead == 0)
        world_fail(s->w, "two hosts died under load, and nothing failed");
    bar(s, "casts messages to the living that failed", (double)(chat_failed(s) - dead), 0);
    figure(s, "casts casts", (double)chat_casts(s));
    figure(s, "casts messages that ended otherwise", (double)chat_failed(s));
}

/* Nothing but casts, with the least credit there can be: on_writable for one of the members is all that
 * lets a host go on, for a cast that finds no room is not tried again before that. */
static void casts_tiny(struct sim *s)
{
    uint32_t n = s->o.nodes, i;
    struct chat_plan plan = plan_for(400, 30000, 0, n);

    plan.cast_one_in = 1;
    s->cfg.window = 65536;
    s->cfg.hold_bytes = 65536;
    s->cfg.mem_limit = 24u << 20;
    chain(s, n);
    chat_begin(s, &plan);
    for (i = 0; i < 6 * n && !s->w->failed; i++) {
        uint32_t a = (uint32_t)rnd(s, n - 1);
        run_for(s, rnd(s, SECOND));
        unplug(s, a, a + 1);
    }
    chat_hush(s);
    if (!s->w->failed && chat_refused(s) == 0)
        world_fail(s->w, "each cast found room: this proves nothing about on_writable");
    chat_bars(s, "casts_tiny", TOLD);
    all_arrived(s, "casts_tiny");
    figure(s, "casts_tiny casts", (double)chat_casts(s));
    figure(s, "casts_tiny casts that found no room", (double)chat_refused(s));
}

const struct story delivery_stories[] = {
    { "relay_deaths", "a relay dies every second under load", 20, 6, 64, relay_deaths, NULL },
    { "links_cut", "links are cut and healed under load", 20, 5, 64, links_cut, NULL },
    { "to_direct", "from the relay to a direct link and back, under load", 6, 3, 32, to_direct,
      trickle },
    { "dup_dials", "all dial all again and again, under load", 8, 2, 32, dup_dials, NULL },
    { "moves", "names move under load", 24, 5, 64, moves, NULL },
    { "moves_kills", "names move under load, and holders die", 24, 5, 64, moves_kills, NULL },
    { "readers", "one reader stops, or is slow, behind a shared relay", 8, 4, 64, readers, narrow },
    { "mutual", "two relay for each other, and everything is full", 4, 4, 10, mutual, narrow },
    { "tiny_credit", "credit of one fragment", 5, 3, 16, tiny_credit, NULL },
    { "mixed_sizes", "one byte and 16 MiB, mixed", 8, 4, 16, mixed_sizes, NULL },
    { "sender_restart", "senders die and come back at once", 12, 6, 64, sender_restart, NULL },
    { "casts", "casts to many, names move, members die", 16, 6, 64, casts, NULL },
    { "casts_tiny", "casts with credit of one fragment", 6, 3, 16, casts_tiny, NULL },
    { "leavers", "processes leave in peace, under load", 10, 4, 64, leavers, NULL },
    { NULL, NULL, 0, 0, 0, NULL, NULL }
};
