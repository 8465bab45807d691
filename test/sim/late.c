/* late.c - stories of nodes that are late: with the right key, and with anything after their first link. */
#include "story.h"

#include <string.h>

/* ---- A key that is given late ----------------------------------------------------------------- */

static int key_linked(struct sim *s)
{
    struct phx_stats st;

    phx_stats(s->nodes[1].p, &st);
    return st.links > 0;
}

/* Host 1 has the old key at a hub that has the new one, is refused, and rests. Then it is given the new one,
 * and is linked at once (promise 108). */
void tell_key_late(struct sim *s)
{
    static const char keys[2][24] = { "the key that they had", "the key of today now?" };
    const struct phx_key key = { keys[1], sizeof keys[1] };
    uint64_t given;

    add(s, s->o.nodes, 0, 0);
    join(s, 1, 0);
    s->liars = 1; /* an end of a link by a wrong key is none of the faults that are looked for */
    for (uint32_t i = 0; i < 2; i++) {
        s->cfg.key = keys[1 - i];
        s->cfg.key_size = sizeof keys[0];
        start(s, i);
    }
    run_for(s, 5 * SECOND);
    if (s->w->failed)
        return;
    if (key_linked(s) || phx_set_keys(s->nodes[1].p, &key, 1) != 0)
        world_fail(s->w, "it is linked with the old key, or is not given the new one");
    world_touch(s->w, 1);
    given = s->w->now;
    wait_until(s, key_linked, MINUTE);
    bar(s, "key_late from phx_set_keys to the link, s", (double)(s->w->now - given) / 1e6, 1);
}

/* ---- A joiner that computes ------------------------------------------------------------------- */

#define JOINED 1000000u /* its name */

static struct {
    uint32_t host;
    int linked;
} joiner;

static void joiner_node(phx *p, const struct phx_node *node, void *user)
{
    struct sim_node *n = user;

    if (n->host != joiner.host || joiner.linked || node->state != PHX_NODE_OK)
        return;
    joiner.linked = 1;
    if (phx_assume(p, JOINED, JOINED) != 0 || phx_busy(p, 10 * SECOND) != 0)
        world_fail(n->s->w, "it may not assume a name, or be busy");
}

static void joiner_stepped(void *ctx, uint32_t host)
{
    struct sim *s = ctx;

    if (host != joiner.host || joiner.linked != 1)
        return;
    joiner.linked = 2;
    stall(s, host, 10 * SECOND);
}

/* A host that assumes a name and says phx_busy in its first on_node, and then computes for 10 s, is known to
 * all before, with that name (promises 40, 61). */
void tell_joiner_computes(struct sim *s)
{
    uint32_t i, last = s->o.nodes - 1, unknown = 0;
    struct phx_id id, owner;

    memset(&joiner, 0, sizeof joiner);
    joiner.host = last;
    s->cfg.on_node = joiner_node;
    add(s, s->o.nodes, 0, 0);
    join_all(s, 0);
    for (i = 0; i < last; i++)
        start(s, i);
    wait_until(s, all_linked, MINUTE);
    s->w->after_step = joiner_stepped;
    start(s, last);
    run_for(s, 5 * SECOND);
    if (s->w->failed)
        return;
    phx_self(s->nodes[last].p, &id);
    for (i = 0; i < last; i++)
        unknown += phx_owner(s->nodes[i].p, JOINED, &owner) != 0 || memcmp(&owner, &id, sizeof id) != 0;
    bar(s, "joiner_computes hosts that do not know it meanwhile", unknown + (joiner.linked != 2), 0);
    run_for(s, 10 * SECOND);
    wait_until(s, all_linked, MINUTE);
}
