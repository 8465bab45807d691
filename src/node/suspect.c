/* suspect.c - what travels for failure detection: rumours that a node is silent, and probes. */
/* detect decides which nodes are suspected and given up; this file sends and passes on its two small frames.
 *
 * SUSPECT, the rumour that a node is silent, goes to everybody at once: all who have a link with the accused
 * are to check it. If each of N nodes of a mesh passed it on to all, that would be N^2 frames. So neighbours
 * adjacent to the one it came from, as far as routing knows, are left out: N frames in a full mesh, and one
 * question and one accusation per link with the accused. The rumour carries the number that the accuser
 * knows, as in SWIM: the accused raises its number, and whoever knows a higher one ignores the rumour.
 *
 * PROBE asks two other nodes about one that was lost. If routing works they see what we see, so probes are
 * for the moment in which routing is still at work, or has lost something. */
#include "node/suspect.h"

#define SUSPECT_PROBES 2u /* how many nodes are asked about a node that was lost */
/* A number this far above the one we know is nonsense. An owner jumps further: see route_request_self. */
#define SUSPECT_AHEAD 4096u

void phx__node_suspect_init(struct phx__node_suspect *s, const struct phx__node_env *env,
                            struct phx__rnd *rnd, const struct phx_detector *limits,
                            const struct phx__node_suspect_ops *ops)
{
    *s = (struct phx__node_suspect){ .env = *env, .ops = *ops, .rnd = rnd, .limits = limits };
}

/* ---- Rumours --------------------------------------------------------------------------------- */

PHX__COLD static void suspect_note_rumour(struct phx__node_suspect *s, uint32_t node,
                                          const struct phx__suspect *r, uint64_t now)
{
    struct phx__detect_rumour *last = s->ops.rumour(s->env.ctx, node, 1);

    if (last != NULL) /* else it may be passed on twice */
        *last = (struct phx__detect_rumour){ r->incarnation, now, r->seq };
}

/* 1 if it was passed on already, and not so long ago that something may have got lost; or if it closely
 * follows another: all have just checked, and nobody is to cause more than a few floods a second. */
static int suspect_is_old(const struct phx__node_suspect *s, uint32_t node, const struct phx__suspect *r,
                          uint64_t now)
{
    const struct phx__detect_rumour *last = s->ops.rumour(s->env.ctx, node, 0);
    uint64_t age;

    if (last == NULL || last->incarnation != r->incarnation)
        return 0;
    age = now - last->at;
    return age < s->limits->timeout_us / 4
           || (last->seq >= r->seq && age < s->limits->timeout_us + s->limits->broken_us);
}

/* To the neighbours not adjacent to the one that it came from (PHX__NONE: it is our own), and to the accused:
 * perhaps only the way back is broken. One that is lost costs time only: the insurance covers it. */
PHX__COLD static void suspect_spread(struct phx__node_suspect *s, uint32_t from, uint32_t node,
                           const struct phx__suspect *r, int hops)
{
    uint32_t i, nbr;

    for (i = 0; (nbr = s->ops.neighbour(s->env.ctx, i)) != PHX__NONE; i++)
        if (nbr == node || from == PHX__NONE
            || (nbr != from && !s->ops.is_adjacent(s->env.ctx, nbr, from)))
            (void)s->env.send(s->env.ctx, nbr, PHX__SUSPECT, 0, hops, r);
}

PHX__COLD void phx__node_suspect_raise(struct phx__node_suspect *s, uint32_t node, uint64_t now)
{
    struct phx__suspect r = { .id = s->env.ids->at[node], .accuser = s->env.ids->at[PHX__SELF] };

    if (!s->env.life(s->env.ctx, node, &r.incarnation, &r.seq))
        return;
    suspect_note_rumour(s, node, &r, now);
    suspect_spread(s, PHX__NONE, node, &r, s->env.hop_limit);
}

PHX__COLD int phx__node_suspect_on_suspect(struct phx__node_suspect *s, uint32_t from,
                                           const struct phx__frame *f, uint64_t now)
{
    struct phx__suspect r;
    uint64_t incarnation;
    uint32_t node, seq;

    if (phx__wire_link_get(f, PHX__SUSPECT, &r) != 0)
        return PHX_EPROTO;
    node = phx__id_find(s->env.ids, &r.id);
    if (node == PHX__NONE || !s->env.life(s->env.ctx, node, &incarnation, &seq)
        || r.incarnation != incarnation || r.seq < seq)
        return 0; /* of another life, or refuted */
    if (node == PHX__SELF) { /* a new number says that we live, and the neighbour that asks gets it at once */
        struct phx__request q = { r.id, r.incarnation, r.seq + 1 };
        s->ops.refute(s->env.ctx, from, &q);
    } else if (node != from && r.seq - seq < SUSPECT_AHEAD
               && !suspect_is_old(s, node, &r, now)
               && s->ops.accuse(s->env.ctx, node, phx__id_find(s->env.ids, &r.accuser))) {
        suspect_note_rumour(s, node, &r, now);
        if (f->hops > 1 && s->env.relay)
            suspect_spread(s, from, node, &r, f->hops - 1);
    }
    return 0;
}

PHX__COLD void phx__node_suspect_on_entry(struct phx__node_suspect *s, const struct phx__entry *e)
{
    const struct phx__detect_rumour *last;
    uint32_t seq, node = e->hops == PHX__UNREACHABLE ? PHX__NONE : phx__id_find(s->env.ids, &e->id);
    uint64_t incarnation;

    if (node == PHX__NONE || node == PHX__SELF || !s->env.life(s->env.ctx, node, &incarnation, &seq))
        return;
    last = s->ops.rumour(s->env.ctx, node, 0);
    if (e->incarnation > incarnation
        || (e->incarnation == incarnation && e->seq > seq
            && (last == NULL || last->incarnation != incarnation || e->seq > last->seq)))
        s->ops.alive(s->env.ctx, node);
}

/* ---- Probes ---------------------------------------------------------------------------------- */

PHX__COLD void phx__node_suspect_probe(struct phx__node_suspect *s, uint32_t node)
{
    uint32_t i, n = 0, sent = 0, first;
    struct phx__probe b = { .subject = s->env.ids->at[node], .asker = s->env.ids->at[PHX__SELF] };

    while (s->ops.neighbour(s->env.ctx, n) != PHX__NONE)
        n++;
    if (n == 0)
        return;
    first = (uint32_t)phx__rnd_below(s->rnd, n);
    for (i = 0; i < n && sent < SUSPECT_PROBES; i++) {
        uint32_t nbr = s->ops.neighbour(s->env.ctx, (first + i) % n);
        if (nbr == node || s->ops.is_vain(s->env.ctx, nbr, node))
            continue;
        b.target = s->env.ids->at[nbr];
        sent += (uint32_t)s->env.send(s->env.ctx, nbr, PHX__PROBE, 0, s->env.hop_limit, &b);
    }
}

/* A question about this node is answered; one about another goes on to that one. */
PHX__COLD int phx__node_suspect_on_probe(struct phx__node_suspect *s, uint32_t from,
                                         const struct phx__frame *f)
{
    int answer = (f->flags & PHX__PROBE_ANSWER) != 0, mine;
    struct phx__probe b;
    uint32_t node, way;

    if (phx__wire_link_get(f, PHX__PROBE, &b) != 0)
        return PHX_EPROTO;
    node = phx__id_find(s->env.ids, &b.subject);
    mine = phx__id_equal(&b.target, &s->env.ids->at[PHX__SELF]);
    if (mine && answer) {
        if (node != PHX__NONE && node != PHX__SELF)
            s->ops.alive(s->env.ctx, node);
    } else if (mine && node == PHX__SELF) {
        b.target = b.asker;
        way = s->env.way(s->env.ctx, &b.asker);
        (void)s->env.send(s->env.ctx, way == PHX__NONE ? from : way, PHX__PROBE, (int)PHX__PROBE_ANSWER,
                          s->env.hop_limit, &b);
    } else if (s->env.relay && f->hops > 1) {
        if (mine)
            b.target = b.subject;
        way = s->env.way(s->env.ctx, &b.target);
        (void)s->env.send(s->env.ctx, way, PHX__PROBE, mine ? 0 : f->flags, f->hops - 1, &b);
    }
    return 0;
}
