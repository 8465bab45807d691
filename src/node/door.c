/* door.c - who is let in and who must go, when links, descriptors or the processor are short. */
/* Strangers. A connection that has proved nothing may be anybody's. The next one replaces the oldest that has
 * had time for a handshake: a silent crowd keeps nobody out, and a fast one waits in the listen queue.
 *
 * Descriptors. How many there are nobody can tell beforehand. When they run out, the node counts the links it
 * has and stays DOOR_KEPT below from there on: some for the host, some for links to come. Members have what
 * they need of the rest, strangers the remainder. Minute by minute it tries one more.
 *
 * A full hub. A node that others lead to does not need the hub. One that is alone is let in as a *guest*,
 * beyond the limit: over its link it learns of the others and links with them, which takes a moment. Then the
 * hub gives up some link that both sides can do without, as there is another way between them (advert.c).
 * Never one to a hub of ours, or a stream of the host's. A guest whom nobody else takes in goes after a
 * while. */
#include "node/door.h"

#define DOOR_STRANGERS 1024u
#define DOOR_STRANGERS_LEAST 4u
#define DOOR_FAIR_TIME (250 * PHX__MS) /* for a handshake */
#define DOOR_KEPT 8u
#define DOOR_ROOM_LEAST 16u
#define DOOR_MORE_AFTER (60 * PHX__SECOND) /* then one more link is tried */
#define DOOR_GUESTS 8u /* and at most a quarter of all */
#define DOOR_GUEST_LOOK (250 * PHX__MS)
#define DOOR_GUEST_TIME (3 * PHX__SECOND)
/* Links that are looked at for one to give up: a full hub may have thousands. */
#define DOOR_LOOKS 64u

/* ---- Strangers ------------------------------------------------------------------------------- */

static uint32_t door_strangers(const phx *p)
{
    uint32_t room = p->links.door.room, up = p->links.up;

    if (room == 0 || room > up + DOOR_STRANGERS)
        return DOOR_STRANGERS;
    return room > up + DOOR_STRANGERS_LEAST ? room - up : DOOR_STRANGERS_LEAST;
}

static struct phx__link *door_oldest(const phx *p)
{
    struct phx__link *l, *oldest = NULL;
    uint32_t slot = 0;

    while ((l = phx__node_each_link(p, &slot)) != NULL)
        if (l->unauthenticated && (oldest == NULL || l->since < oldest->since))
            oldest = l;
    return oldest;
}

uint64_t phx__node_door_room_at(const phx *p)
{
    return p->links.unauthenticated < door_strangers(p) ? 0 : door_oldest(p)->since + DOOR_FAIR_TIME;
}

struct phx__link *phx__node_door_stranger(const phx *p)
{
    struct phx__link *l = p->links.unauthenticated > door_strangers(p) ? door_oldest(p) : NULL;

    return l != NULL && l->since + DOOR_FAIR_TIME <= p->now ? l : NULL;
}

/* ---- Descriptors ----------------------------------------------------------------------------- */

void phx__node_door_is_short(phx *p)
{
    struct phx__door *d = &p->links.door;
    uint32_t open = p->links.handles.count - (uint32_t)p->listeners.count;

    d->room = open > DOOR_ROOM_LEAST + DOOR_KEPT ? open - DOOR_KEPT : DOOR_ROOM_LEAST;
    d->short_at = p->now;
    phx__dial_limit(&p->dial, phx__node_door_links(p, p->cfg.max_links));
}

uint32_t phx__node_door_links(const phx *p, uint32_t most)
{
    uint32_t room = p->links.door.room;

    return room == 0 || room - DOOR_STRANGERS_LEAST > most ? most : room - DOOR_STRANGERS_LEAST;
}

/* ---- A full hub ------------------------------------------------------------------------------ */

int phx__node_door_takes_guest(const phx *p, uint32_t node)
{
    const struct phx__dest *d = phx__route_dest(&p->route, node);
    uint32_t most = 1 + phx__node_door_links(p, p->cfg.max_accepts) / 4;

    return (d == NULL || d->hops == PHX__UNREACHABLE)
           && p->links.door.guests < (most < DOOR_GUESTS ? most : DOOR_GUESTS);
}

/* Of those that can be spared the one that has carried least. */
static struct phx__link *door_least(phx *p)
{
    uint32_t i, count = p->route.nbr_count, first = (uint32_t)phx__rnd_below(&p->rnd, count);
    struct phx__link *l, *least = NULL;

    for (i = 0; i < count && i < DOOR_LOOKS; i++) {
        l = phx__node_link(p, p->route.nbrs[(first + i) % count].node);
        if (l == NULL || l->address.family == 0 || phx__dial_is_hub(&p->dial, l->peer)
            || (least != NULL && l->in.bytes + l->out.bytes >= least->in.bytes + least->out.bytes)
            || !phx__route_advert_has_detour(&p->route, l->peer))
            continue;
        least = l;
    }
    return least;
}

/* Some say how many neighbours they have, before the next look. */
static void door_ask(phx *p)
{
    uint32_t i, count = p->route.nbr_count, first = count > 0 ? (uint32_t)phx__rnd_below(&p->rnd, count) : 0;

    for (i = 0; i < count && i < DOOR_LOOKS; i++)
        phx__node_frames_beat(p, p->route.nbrs[(first + i) % count].node, (int)PHX__BEAT_REPLY);
}

/* A guest whose time is over, or else any. */
static struct phx__link *door_guest(const phx *p, uint64_t before)
{
    struct phx__link *l;
    uint32_t slot = 0;

    while ((l = phx__node_each_link(p, &slot)) != NULL)
        if (l->end.guest && l->state == PHX__LINK_UP && l->since <= before)
            return l;
    return NULL;
}

struct phx__link *phx__node_door_spare(phx *p)
{
    struct phx__link *l, *guest;

    if (p->route.nbr_count == 0
        || (p->links.door.guests == 0 && p->links.up <= phx__node_door_links(p, UINT32_MAX)))
        return NULL;
    if ((l = door_least(p)) == NULL)
        return p->now > DOOR_GUEST_TIME ? door_guest(p, p->now - DOOR_GUEST_TIME) : NULL;
    if (!l->end.guest && (guest = door_guest(p, p->now)) != NULL) {
        guest->end.guest = 0; /* it has the place */
        p->links.door.guests--;
    }
    return l;
}

uint64_t phx__node_door_look(phx *p)
{
    struct phx__door *d = &p->links.door;

    if (d->room != 0 && p->now >= d->short_at + DOOR_MORE_AFTER) {
        d->short_at = p->now;
        d->room = d->room < p->cfg.max_links + p->cfg.max_accepts ? d->room + 1 : 0;
        phx__dial_limit(&p->dial, phx__node_door_links(p, p->cfg.max_links));
    }
    if (d->guests > 0 || p->links.up > phx__node_door_links(p, UINT32_MAX)) {
        door_ask(p);
        return p->now + DOOR_GUEST_LOOK;
    }
    return d->room != 0 ? d->short_at + DOOR_MORE_AFTER : UINT64_MAX;
}
