/* t_door_brain.c - who is let in and who must go, decided by hand: the world of known.h, in virtual time. */

/* Promises 35 and 36. */
#include "test.h"
#ifdef PHX_JOINED
#include "../../phoenix.c"
#else
#include "node/links.h"
#endif
#include "known.h"

enum { S = 1000000 };

static void test_more(void)
{
    /* Goal: a node that was short of descriptors tries a quarter more after 5 s, after twice as long each
     * time, and in the end one more each minute; above all links that it may have there is no limit. */
    static const uint32_t seconds[] = { 5, 10, 20, 40, 60, 60 }, rooms[] = { 251, 314, 393, 492, 493, 494 };
    struct known k;
    uint32_t i, bad = 0;
    phx *p;

    known_begin(&k, 0, 1000);
    p = k.p;
    p->now = k.now;
    ok(phx__node_door_due(p) == UINT64_MAX, "there is no shortage");
    p->links.handles.count += 208;
    phx__node_door_is_short(p);
    p->links.handles.count -= 208;
    check(p->links.door.room == 200, "eight are kept: %u", p->links.door.room);
    for (i = 0; i < 6; i++) {
        p->now += (uint64_t)seconds[i] * S - 1;
        bad += phx__node_door_due(p) != p->now + 1 || p->links.door.room != (i > 0 ? rooms[i - 1] : 200);
        p->now++;
        bad += phx__node_door_due(p) <= p->now || p->links.door.room != rooms[i];
    }
    ok(bad == 0, "251, 314, 393, 492, 493, 494: %u", p->links.door.room);
    ok(p->dial.limits.max_links == 490, "four are for strangers, the others for links");
    p->links.door.room = p->cfg.max_links + p->cfg.max_accepts - 1;
    p->now += 60 * S;
    phx__node_door_due(p);
    check(p->links.door.room == p->cfg.max_links + p->cfg.max_accepts, "one more");
    p->now += 60 * S;
    ok(phx__node_door_due(p) == UINT64_MAX && p->links.door.room == 0, "then all that there may be");
    known_end(&k);
}

static void test_guests_most(void)
{
    /* Goal: a hub lets in a quarter more than it may, and one, but eight at most. */
    static const uint32_t places[] = { 24, 28, 32, 1000 }, most[] = { 7, 8, 8, 8 };
    static phx p;
    uint32_t i, bad = 0;

    p.cfg.max_links = 4096;
    for (i = 0; i < 4; i++) {
        p.cfg.max_accepts = places[i];
        p.links.up = places[i] - 1;
        bad += phx__node_door_is_full(&p, PHX__NONE) != 0;
        p.links.door.guests = most[i] - 1;
        p.links.up = places[i] + most[i] - 1;
        bad += phx__node_door_is_full(&p, PHX__NONE) != 0;
        p.links.door.guests = most[i];
        p.links.up++;
        bad += !phx__node_door_is_full(&p, PHX__NONE);
    }
    ok(bad == 0, "7 for 24 places, 8 for more");
}

/* Links with nodes 1..count, from one second after the other on; one more than there may be. */
static void begin_full(struct known *k, struct phx__link **l, uint32_t count)
{
    uint32_t i;

    known_begin(k, 0, 1000);
    for (i = 0; i < count; i++) {
        l[i] = known_link(k, i + 1);
        l[i]->address.family = PHX_IPV4;
        l[i]->since = k->now + (uint64_t)i * S;
        l[i]->in.bytes = 1000 - i;
    }
    k->p->now = k->now + (uint64_t)count * S;
    k->p->cfg.max_links = k->p->cfg.max_accepts = count - 1;
}

static void end_full(struct known *k)
{
    k->p->cfg.max_links = k->p->cfg.max_accepts = 1024;
    known_end(k);
}

static void test_goes(void)
{
    /* Goal: a full hub gives up the link that has carried least of those whose peers have another way; if
     * none has, the last one that is 3 s old. Never one to a hub of ours or a stream of the host's. */
    struct phx__link *l[10];
    struct known k;
    phx *p;

    begin_full(&k, l, 10);
    p = k.p;
    ok(phx__node_door_goes(p, 0) == l[7], "the last one that is 3 s old");
    p->now--;
    ok(phx__node_door_goes(p, 0) == l[6], "not one that is younger by a microsecond");
    l[6]->address.family = 0;
    ok(phx__node_door_goes(p, 0) == l[5], "nor a stream of the host's");
    l[5]->dialer = 1;
    ok(phx__node_door_goes(p, 0) == l[4], "nor one to a hub");
    l[5]->expect = l[5]->peer;
    ok(phx__node_door_goes(p, 0) == l[5], "but one that we dialled for its node");
    phx__route_nbr(&p->route, l[1]->peer)->neighbours = 2;
    phx__route_nbr(&p->route, l[2]->peer)->neighbours = 2;
    ok(phx__node_door_goes(p, 0) == l[2], "who has another way, and carried least");
    l[1]->out.bytes = 5;
    l[2]->out.bytes = 7;
    ok(phx__node_door_goes(p, 0) == l[1], "in both directions");
    p->links.door.room = 1000;
    ok(phx__node_door_goes(p, 0) == l[1], "descriptors for a thousand are no places");
    p->links.door.room = 0;
    p->cfg.max_accepts = p->cfg.max_links = 10;
    ok(phx__node_door_goes(p, 0) == NULL, "where there is room nobody goes");
    end_full(&k);
}

static void test_looks(void)
{
    /* Goal: a full hub asks its neighbours four times a second how many they have by now, 64 at most. */
    static struct phx__link *l[200];
    struct known k;
    uint64_t before;
    uint32_t count;

    for (count = 64; count <= 200; count += 136) {
        begin_full(&k, l, count);
        before = known_stats(&k).heartbeats_out;
        ok(phx__node_door_due(k.p) == k.p->now + 250000, "again in 250 ms");
        ok(known_stats(&k).heartbeats_out - before == 64, "of %u neighbours 64 are asked", count);
        end_full(&k);
    }
}

int main(void)
{
    test_more();
    test_guests_most();
    test_goes();
    test_looks();
    return test_end();
}
