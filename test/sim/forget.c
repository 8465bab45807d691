/* forget.c - the story of a node that died and was forgotten: its names are not back for that. */

/* One node of a clique dies for good. All others are told that its names are broken, once. A day later they
 * forget it: it is in no table any more and its names are nobody's, free and not broken, but no host is
 * told that they are back, since nobody holds them. Then somebody takes them, of which nothing is said
 * either; and the next death is told as the first was. */
#include "story.h"

static struct {
    uint32_t broken, back; /* calls of on_broken, all nodes together */
} heard;

static void lost_names(phx *p, const struct phx_lost *lost, int broken, void *user)
{
    (void)p;
    (void)lost;
    (void)user;
    if (broken)
        heard.broken++;
    else
        heard.back++;
}

static double known_too_many(const struct sim *s, uint32_t want)
{
    uint32_t i;
    double sum = 0;

    for (i = 0; i < s->o.nodes; i++)
        if (s->nodes[i].p != NULL)
            sum += phx_nodes(s->nodes[i].p, NULL, 0) > want
                   || phx_broken(s->nodes[i].p, 0, UINT64_MAX, NULL, 0) != 0;
    return sum;
}

void tell_forgotten(struct sim *s)
{
    uint32_t n = s->o.nodes, last = n - 1;

    heard.broken = heard.back = 0;
    s->names = 1;
    s->cfg.on_broken = lost_names;
    add(s, n, 0, 0);
    join_all(s, 0);
    start_all(s);
    wait_until(s, all_well, MINUTE);
    wait_until(s, same_names, MINUTE);
    crash(s, last);
    run_for(s, 20 * SECOND);
    bar(s, "forgotten hosts not told of the death", (double)(n - 1) - (double)heard.broken, 0);
    run_for(s, 24 * 60 * MINUTE + 5 * MINUTE);
    bar(s, "forgotten hosts that still know the dead", known_too_many(s, n - 1), 0);
    bar(s, "forgotten hosts told that names are back", (double)heard.back, 0);
    bar(s, "forgotten hosts told of the death again", (double)heard.broken - (double)(n - 1), 0);
    if (!s->w->failed)
        (void)phx_assume(s->nodes[1].p, 10 * last, 10 * last + 9);
    world_touch(s->w, 1);
    run_for(s, 5 * SECOND);
    bar(s, "forgotten hosts told of a name that somebody takes", (double)heard.back, 0);
    crash(s, 1);
    run_for(s, 20 * SECOND);
    bar(s, "forgotten hosts not told of the next death",
        (double)(n - 1 + 2 * (n - 2)) - (double)heard.broken, 0);
    wait_until(s, all_well, MINUTE);
}
