/* tree.c - the stories of nodes whose host alone decides who is linked: a tree that stays one. */
#include "story.h"

#include <string.h>

#define DEGREE 3u /* children of a node; 40 and 64 nodes are then up to four levels deep */
#define HEAD 12u  /* whose death the orphans tell of: of 40 nodes its children are the last three, leaves */

static uint32_t parent_of(uint32_t i)
{
    return (i - 1) / DEGREE;
}

/* All nodes listen, each joins its parent, and nobody dials unasked. */
static void make_tree(struct sim *s)
{
    uint32_t i;

    s->cfg.full_mesh = 0;
    s->cfg.hop_limit = 32;
    s->names = 1;
    add(s, s->o.nodes, 0, 0);
    for (i = 1; i < s->o.nodes; i++)
        join(s, i, parent_of(i));
    start_all(s);
    wait_until(s, all_reachable, 10 * SECOND);
}

/* Sums over the living. Both ends of a link count it. */
static uint64_t links_of(const struct sim *s)
{
    struct phx_stats st;
    uint64_t sum = 0;
    uint32_t i;

    for (i = 0; i < s->o.nodes; i++)
        if (s->nodes[i].p && phx_stats(s->nodes[i].p, &st) == 0)
            sum += st.links;
    return sum / 2;
}

/* Each living node sends to its parent and gets an answer's worth back. */
static void speak(struct sim *s, const uint32_t *parent)
{
    uint32_t i;

    for (i = 1; i < s->o.nodes && !s->w->failed; i++) {
        if (!s->nodes[i].p)
            continue;
        if (phx_send(s->nodes[i].p, parent[i] * 10u, i * 10u, 0, "up", 2) < 0
            || phx_send(s->nodes[parent[i]].p, i * 10u, parent[i] * 10u, 0, "down", 4) < 0)
            world_fail(s->w, "nodes %u and %u cannot send", (unsigned)i, (unsigned)parent[i]);
        world_touch(s->w, i);
        world_touch(s->w, parent[i]);
    }
}

static uint64_t heard(const struct sim *s)
{
    uint64_t sum = 0;
    uint32_t i;

    for (i = 0; i < s->o.nodes; i++)
        sum += s->nodes[i].messages;
    return sum;
}

/* Goal: with full_mesh 0 a tree of hubs stays a tree, and costs one dial a node, while neighbours talk.
 * Method: ten minutes, with words up and down. */
void tell_tree(struct sim *s)
{
    uint32_t *parent = (uint32_t *)(void *)s->scratch, i, n = s->o.nodes;

    make_tree(s);
    for (i = 1; i < n; i++)
        parent[i] = parent_of(i);
    for (i = 0; i < 10; i++) {
        speak(s, parent);
        run_for(s, MINUTE);
    }
    bar(s, "tree links beyond N - 1", (double)links_of(s) - (n - 1), 0);
    bar(s, "tree links missing", (double)(n - 1) - (double)links_of(s), 0);
    bar(s, "tree dials beyond N - 1", (double)totals(s).dials - (n - 1), 0);
    bar(s, "tree messages lost", 20.0 * (n - 1) - (double)heard(s), 0);
}

/* The node forgets the hub `from` and joins `to`. */
static void moves_hub(struct sim *s, uint32_t i, uint32_t from, uint32_t to)
{
    char text[PHX_ADDRESS_TEXT];
    struct phx_address a;

    world_address(s->w, from, PORT, &a);
    phx_address_text(&a, text);
    if (phx_unjoin(s->nodes[i].p, text) != 0)
        world_fail(s->w, "node %u had no hub %u", (unsigned)i, (unsigned)from);
    join(s, i, to);
}

/* Goal: orphans that change their hub leave one link each, and none dials the dead or strangers. Method: an
 * inner node is killed; its children, told by on_node in the same millisecond, go to their grandparent. A
 * second later the links are counted; then its process comes back at the same address. */
void tell_orphans(struct sim *s)
{
    uint32_t *parent = (uint32_t *)(void *)s->scratch, i, n = s->o.nodes;
    uint64_t dials;

    make_tree(s);
    for (i = 1; i < n; i++)
        parent[i] = parent_of(i);
    speak(s, parent);
    run_for(s, 10 * SECOND);
    dials = totals(s).dials;
    crash(s, HEAD);
    run_for(s, MS);
    for (i = 1; i < n; i++)
        if (parent[i] == HEAD)
            moves_hub(s, i, HEAD, parent[i] = parent[HEAD]);
    run_for(s, 100 * MS); /* a parent speaks when the child has come: who is sent to is dialled */
    speak(s, parent);
    run_for(s, 900 * MS);
    bar(s, "orphans links beyond the living - 1", (double)links_of(s) - (living(s) - 1.0), 0);
    bar(s, "orphans links missing", living(s) - 1.0 - (double)links_of(s), 0);
    run_for(s, 10 * MINUTE);
    bar(s, "orphans dials beyond one each", (double)(totals(s).dials - dials) - DEGREE, 0);
    start(s, HEAD);
    run_for(s, MINUTE);
    bar(s, "orphans links when it is back, beyond the living - 1",
        (double)links_of(s) - (living(s) - 1.0), 0);
}
