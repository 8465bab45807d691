/* door.c - who is let in and who must go, when links, descriptors or the processor are short. */
/* Strangers. A connection that has proved nothing may be anybody's. The next one replaces the oldest that has
 * had time for a handshake: a silent crowd keeps nobody out, and a fast one waits in the listen queue.
 *
 * Descriptors. When they run out, the node counts its links and stays DOOR_KEPT below from there on. Members
 * have what they need of the rest, strangers the remainder. After a while it tries some more.
 *
 * A full hub. A node that others lead to does not need it. One that is alone is let in as a *guest*, beyond
 * the limit, learns of the others and links with them. Then the hub gives up some link that both sides can do
 * without, never one to a hub of ours or a stream of the host's. If there is none, the last guest goes.
 *
 * TLS. To answer a stranger's first words costs up to 30 ms. So strangers share a tenth of the processor, one
 * in a step, a second of it in advance. The newest goes first, of the host that has the fewest here: those
 * that only hold their connections open are older than who comes to join. */
#include "node/base.h"

#define DOOR_STRANGERS 1024u
#define DOOR_STRANGERS_LEAST 4u
#define DOOR_FAIR_TIME (250 * PHX__MS) /* for a handshake */
#define DOOR_KEPT 8u
#define DOOR_ROOM_LEAST 16u
#define DOOR_MORE_AFTER (5 * PHX__SECOND) /* then a quarter more, again after twice as long */
#define DOOR_MORE_MOST (60 * PHX__SECOND) /* in the end one more */
#define DOOR_GUESTS 8u                     /* and at most a quarter of all */
#define DOOR_GUEST_LOOK (250 * PHX__MS)
#define DOOR_GUEST_TIME (3 * PHX__SECOND)
#define DOOR_LOOKS 64u /* links that are looked at for one to give up: a full hub may have thousands */
#define DOOR_TLS_SHARE 10u
#define DOOR_TLS_AHEAD (10 * PHX__SECOND)

/* ---- Strangers and descriptors --------------------------------------------------------------- */

PHX__COLD static uint32_t door_strangers(const phx *p)
{
    uint32_t room = p->links.door.room, up = p->links.up;

    if (room == 0 || room > up + DOOR_STRANGERS)
        return DOOR_STRANGERS;
    return room > up + DOOR_STRANGERS_LEAST ? room - up : DOOR_STRANGERS_LEAST;
}

/* How many links may be up. */
PHX__COLD static uint32_t door_links(const phx *p)
{
    uint32_t room = p->links.door.room - DOOR_STRANGERS_LEAST;
    uint32_t most = p->cfg.max_links > p->cfg.max_accepts ? p->cfg.max_links : p->cfg.max_accepts;

    return p->links.door.room == 0 || room > most ? most : room;
}

PHX__COLD static struct phx__link *door_oldest(const phx *p)
{
    struct phx__link *l = NULL, *oldest = NULL;

    while ((l = phx__node_each_link(p, l)) != NULL)
        if (l->unauthenticated && (oldest == NULL || l->since < oldest->since))
            oldest = l;
    return oldest;
}

uint64_t phx__node_door_room_at(const phx *p)
{
    return p->links.unauthenticated < door_strangers(p) ? 0 : door_oldest(p)->since + DOOR_FAIR_TIME;
}

PHX__COLD static void door_set_room(phx *p, uint32_t room)
{
    p->links.door.room = room;
    p->links.door.short_at = p->now;
    p->dial.limits.max_links = door_links(p) < p->cfg.max_links ? door_links(p) : p->cfg.max_links;
}

PHX__COLD void phx__node_door_is_short(phx *p)
{
    uint32_t open = p->links.handles.count - (uint32_t)p->listeners.count;
    uint32_t room = open > DOOR_ROOM_LEAST + DOOR_KEPT ? open - DOOR_KEPT : DOOR_ROOM_LEAST;

    if (p->links.door.room == 0)
        p->links.door.more_after = DOOR_MORE_AFTER;
    else if (open > p->links.door.room) /* it has not come down yet: the same shortage */
        room = p->links.door.room;
    door_set_room(p, room);
}

/* ---- A full hub ------------------------------------------------------------------------------ */

/* How many links may be up before the next one that is accepted is a guest's. */
static uint32_t door_places(const phx *p)
{
    return p->cfg.max_accepts < door_links(p) ? p->cfg.max_accepts : door_links(p);
}

/* Of those that were let in beyond the places; a link that goes leaves its place to one of them. */
PHX__COLD static uint32_t door_guests(const phx *p)
{
    uint32_t beyond = p->links.up > door_places(p) ? p->links.up - door_places(p) : 0;

    return p->links.door.guests < beyond ? p->links.door.guests : beyond;
}

PHX__COLD int phx__node_door_is_full(const phx *p, uint32_t node)
{
    const struct phx__dest *d = phx__route_dest(&p->route, node);
    uint32_t most = 1 + door_places(p) / 4;

    if (p->links.up < door_places(p))
        return 0;
    return (d != NULL && d->hops != PHX__UNREACHABLE)
           || door_guests(p) >= (most < DOOR_GUESTS ? most : DOOR_GUESTS);
}

PHX__COLD void phx__node_door_passes(phx *p, const struct phx__link *l, int in)
{
    p->links.door.guests = door_guests(p);
    if (!l->dialer && (in ? p->links.up >= door_places(p) : p->links.door.guests > 0))
        p->links.door.guests += in ? 1u : UINT32_MAX;
}

/* The i-th of the neighbours that are looked at, from the first, which is drawn; NULL: it stays. */
PHX__COLD static struct phx__link *door_look(phx *p, uint32_t first, uint32_t i)
{
    struct phx__link *l = phx__node_link(p, p->route.nbrs[(first + i) % p->route.nbr_count].node);

    return l == NULL || l->address.family == 0 || (l->dialer && l->expect == PHX__NONE) ? NULL : l;
}

/* Of those that can be spared the one that has carried least; or else the last that came, after a while. */
PHX__COLD static struct phx__link *door_spare(phx *p)
{
    uint32_t i, count = p->route.nbr_count, first = (uint32_t)phx__rnd_below(&p->rnd, count);
    struct phx__link *l, *least = NULL, *last = NULL;

    for (i = 0; i < count && i < DOOR_LOOKS; i++) {
        if ((l = door_look(p, first, i)) == NULL)
            continue;
        if ((least == NULL || l->in.bytes + l->out.bytes < least->in.bytes + least->out.bytes)
            && phx__route_advert_has_detour(&p->route, l->peer))
            least = l;
        if (l->since + DOOR_GUEST_TIME <= p->now && (last == NULL || l->since > last->since))
            last = l;
    }
    return least != NULL ? least : last;
}

PHX__COLD struct phx__link *phx__node_door_goes(phx *p, int stranger)
{
    struct phx__link *l;

    if (!stranger)
        return p->links.up > door_links(p) || door_guests(p) > 0 ? door_spare(p) : NULL;
    l = p->links.unauthenticated > door_strangers(p) ? door_oldest(p) : NULL;
    return l != NULL && l->since + DOOR_FAIR_TIME <= p->now ? l : NULL;
}

PHX__COLD uint64_t phx__node_door_due(phx *p)
{
    struct phx__door *d = &p->links.door;
    uint32_t i, count = p->route.nbr_count, first = (uint32_t)phx__rnd_below(&p->rnd, count + 1);
    struct phx__link *l;

    if (d->room != 0 && p->now >= d->short_at + d->more_after) {
        uint32_t more = d->more_after < DOOR_MORE_MOST ? 1 + d->room / 4 : 1;
        d->more_after = d->more_after < DOOR_MORE_MOST / 2 ? 2 * d->more_after : DOOR_MORE_MOST;
        door_set_room(p, d->room < p->cfg.max_links + p->cfg.max_accepts ? d->room + more : 0);
        phx__dial_moved(&p->dial);
    }
    if (p->links.up > door_links(p) || door_guests(p) > 0) {
        for (i = 0; i < count && i < DOOR_LOOKS; i++) /* how many neighbours have they by now? */
            if ((l = door_look(p, first, i)) != NULL)
                phx__node_frames_beat(p, l->peer, (int)PHX__BEAT_REPLY);
        return p->now + DOOR_GUEST_LOOK;
    }
    return d->room != 0 ? d->short_at + d->more_after : UINT64_MAX;
}

/* ---- TLS ------------------------------------------------------------------------------------- */

PHX__COLD int phx__node_door_waits(phx *p, struct phx__link *l)
{
    /* It waits until it is answered: its first words may come in pieces. */
    if (!l->unauthenticated || !l->secure || l->out.bytes > 0)
        return 0;
    p->links.door.waiting += !l->in.turn;
    l->in.turn = 1;
    return 1;
}

PHX__COLD struct phx__link *phx__node_door_turn(phx *p, uint64_t *next)
{
    struct phx__link *l = NULL, *best = NULL;
    uint32_t here[256] = { 0 }, fewest = UINT32_MAX, host;
    int late = p->links.door.paid_at > p->now + DOOR_TLS_AHEAD;

    *next = p->links.door.waiting > 0 && late ? p->links.door.paid_at - DOOR_TLS_AHEAD : UINT64_MAX;
    if (p->links.door.waiting == 0 || late)
        return NULL;
    while ((l = phx__node_each_link(p, l)) != NULL)
        here[phx__ratelimit_key(&p->keys.lines, &l->address, 0) >> 8 & 255] += l->unauthenticated;
    while ((l = phx__node_each_link(p, l)) != NULL) {
        host = phx__ratelimit_key(&p->keys.lines, &l->address, 0) >> 8 & 255;
        if (l->in.turn && (here[host] < fewest || (here[host] == fewest && l->since >= best->since))) {
            best = l;
            fewest = here[host];
        }
    }
    return best;
}

PHX__COLD void phx__node_door_charge(phx *p, uint64_t us)
{
    struct phx__door *d = &p->links.door;

    d->paid_at = (d->paid_at > p->now ? d->paid_at : p->now) + us * DOOR_TLS_SHARE;
}
