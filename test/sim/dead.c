/* dead.c - crash loops, and crowds that come and go: the dead harm nobody (promises 36, 40). */

#include "story.h"

#include "liar.h"

#include <string.h>

#define HONEST 3u
#define LIVES HONEST       /* the host where one process after the other lives */
#define NEWCOMER (HONEST + 1)
#define AT_ONCE 100u
#define DEAD_MOST (4.0 * 1048576)

static struct {
    struct liar liar;
    uint32_t ranges; /* of a life */
    uint64_t life, crowd;
} rig;

static struct phx_id id_of(uint64_t k)
{
    uint64_t word = world_mix(k + 1);
    struct phx_id id;

    memset(id.b, 0x3c, sizeof id.b);
    memcpy(id.b, &word, sizeof word);
    return id;
}

static void honest_start(struct sim *s)
{
    uint32_t a;

    memset(&rig, 0, sizeof rig);
    s->liars = 1;
    s->names = 1;
    (void)phx_detector_preset(&s->cfg.detector, PHX_PRESET_FAST);
    add(s, s->o.nodes, 0, 0);
    for (a = 0; a < HONEST; a++) {
        if (a > 0)
            join(s, a, 0);
        start(s, a);
    }
    wait_until(s, all_well, 10 * SECOND);
    wait_until(s, same_names, 10 * SECOND);
}

/* Messages from each to each that are refused, of 100 each. */
static double sends_refused(struct sim *s)
{
    uint32_t a, b, i, refused = 0;

    for (a = 0; a < HONEST; a++)
        for (b = 0; b < HONEST; b++)
            for (i = 0; a != b && i < 100; i++)
                refused += phx_send(s->nodes[a].p, b * 10u, a * 10u, 1, "what is said afterwards", 23) != 0;
    return refused;
}

static double dead_bytes_most(const struct sim *s)
{
    size_t most = 0;
    uint32_t a;

    for (a = 0; a < HONEST; a++)
        most = check_dead_bytes(s->c, a) > most ? check_dead_bytes(s->c, a) : most;
    return (double)most;
}

/* ---- A process that is killed and started again, with many names each time ---------------------- */

static void say_life(struct liar *l)
{
    liar_card(l, NULL, 1, rig.ranges, 1000 + (world_mix(rig.life) >> 8), 0, rig.life + 1);
    l->say_at = WORLD_NEVER;
}

void tell_crash_loop(struct sim *s)
{
    uint64_t lives = s->o.full ? 1000 : 40;
    double refused;

    s->cfg.mem_limit = (size_t)(s->o.full ? 64 : 4) << 20;
    honest_start(s);
    rig.ranges = s->o.full ? 100000 : 4000;
    for (rig.life = 0; rig.life < lives && !s->w->failed; rig.life++) {
        memset(&rig.liar, 0, sizeof rig.liar);
        liar_start(&rig.liar, s->w, LIVES, 0, PORT, say_life);
        rig.liar.id = id_of(rig.life);
        run_for(s, s->o.full ? 3 * SECOND : SECOND);
        liar_stop(&rig.liar);
    }
    run_for(s, 10 * SECOND);
    refused = s->w->failed ? 0 : sends_refused(s);
    bar(s, "crash_loop sends refused 10 s later", refused, 0);
    bar(s, "crash_loop kept of the dead / an eighth of the limit, 4 MiB at most",
        dead_bytes_most(s) / (s->o.full ? DEAD_MOST : (double)s->cfg.mem_limit / 8), 1);
    start(s, NEWCOMER);
    join(s, NEWCOMER, 0);
    run_for(s, 2 * SECOND);
    bar(s, "crash_loop hosts that a newcomer does not know",
        s->w->failed ? 1 : (double)HONEST - (double)phx_links(s->nodes[NEWCOMER].p, NULL, 0), 0);
}

/* ---- Many that come and say goodbye -------------------------------------------------------------- */

static void put_word(struct liar *l, uint64_t k, int left)
{
    struct phx_id id = id_of(k);

    liar_entry(l, &id, 0, left ? 2 : 1, left ? 255 : 1, 1, left ? 2 : 1);
    liar_put(l, 11, 4);
    liar_put(l, left ? 3 : 1, 1);
    liar_put(l, 65536, 4);
    liar_put(l, 0, 6);
}

static void say_crowd(struct liar *l)
{
    uint64_t first = l->turns * AT_ONCE, k;

    l->say_at = l->w->now + 15 * MS;
    if (first >= rig.crowd + 10 * AT_ONCE)
        return;
    liar_update(l);
    for (k = first; k < first + AT_ONCE; k++) {
        if (k < rig.crowd)
            put_word(l, k, 0);
        if (k >= 10 * AT_ONCE)
            put_word(l, k - 10 * AT_ONCE, 1);
    }
    liar_tail(l);
}

void tell_came_and_left(struct sim *s)
{
    size_t before, known;

    if (!s->o.full)
        s->cfg.max_nodes = 3000;
    honest_start(s);
    run_for(s, 5 * SECOND);
    before = s->w->hosts[0].mem_used;
    rig.crowd = s->o.full ? 200000 : 10000;
    liar_start(&rig.liar, s->w, LIVES, 0, PORT, say_crowd);
    run_for(s, (rig.crowd / AT_ONCE + 20) * 15 * MS + SECOND);
    known = s->w->failed ? 0 : phx_nodes(s->nodes[0].p, NULL, 0);
    figure(s, "nodes known when all have left", (double)known);
    start(s, NEWCOMER);
    join(s, NEWCOMER, 0);
    run_for(s, 2 * SECOND);
    bar(s, "came_and_left hosts that a newcomer does not know",
        s->w->failed ? 1 : (double)HONEST - (double)phx_links(s->nodes[NEWCOMER].p, NULL, 0), 0);
    crash(s, NEWCOMER);
    liar_stop(&rig.liar);
    run_for(s, 5 * SECOND);
    bar(s, "came_and_left bytes kept / 4 MiB",
        ((double)s->w->hosts[0].mem_used - (double)before) / DEAD_MOST, 1);
}

/* ---- Processes that come, talk and die or say goodbye, for ever ---------------------------------- */

#define COMERS 5u

static void one_crowd(struct sim *s, uint32_t alive)
{
    uint32_t a, b;

    for (b = alive; b < alive + COMERS; b++)
        start(s, b);
    wait_until(s, all_linked, 20 * SECOND);
    wait_until(s, same_names, 20 * SECOND);
    for (b = alive; b < alive + COMERS && !s->w->failed; b++) {
        for (a = 0; a < alive; a++) {
            (void)phx_send(s->nodes[a].p, b * 10u, a * 10u, 1, "what is said", 12);
            (void)phx_send(s->nodes[b].p, a * 10u, b * 10u, 1, "what is answered", 16);
            world_touch(s->w, a);
        }
        world_touch(s->w, b);
    }
    run_for(s, SECOND);
    for (b = alive; b < alive + COMERS; b++)
        b % 2 == 0 ? crash(s, b) : leave(s, b);
    run_for(s, 4 * SECOND);
}

static double bytes_of_living(const struct sim *s, uint32_t alive)
{
    size_t sum = 0;
    uint32_t a;

    for (a = 0; a < alive; a++)
        sum += s->w->hosts[a].mem_used;
    return (double)sum;
}

/* The dead have an eighth of mem_limit. It is full before half of the crowds were there; from then on memory
 * does not grow. Before, one that is gone costs what must be known of it, and not what was under way. */
void tell_come_and_go(struct sim *s)
{
    uint32_t alive = s->o.nodes - COMERS, crowds = s->o.full ? 1000 : 140, k, b;
    double begin = 0, few = 0, full = 0, each;

    s->cfg.mem_limit = (size_t)(s->o.full ? 4096 : 1024) << 10;
    s->names = 1;
    (void)phx_detector_preset(&s->cfg.detector, PHX_PRESET_FAST);
    add(s, s->o.nodes, 0, 0);
    for (b = 1; b < s->o.nodes; b++)
        join(s, b, 0);
    for (b = 0; b < alive; b++)
        start(s, b);
    wait_until(s, all_well, 20 * SECOND);
    for (k = 0; k < crowds && !s->w->failed; k++) {
        one_crowd(s, alive);
        if (k == 2)
            begin = bytes_of_living(s, alive);
        if (k == 2 + crowds / 14)
            few = bytes_of_living(s, alive);
        if (k == crowds / 2)
            full = bytes_of_living(s, alive);
    }
    each = (few - begin) / (crowds / 14 * COMERS * alive);
    bar(s, "come_and_go bytes kept of each that is gone, by each", each, 600);
    bar(s, "come_and_go memory at the end / in the middle", bytes_of_living(s, alive) / full, 1.05);
}
