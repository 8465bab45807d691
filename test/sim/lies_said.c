/* lies_said.c - the lies: what a member says that has the key, one story for each. */
#include "lies.h"

#include <string.h>

/* ---- No lie --------------------------------------------------------------------------------- */

/* What is asked for is asked of a member that only keeps its links, too. */
static void tell_nothing(struct sim *s)
{
    static const struct lie lie = { NULL, NULL, NULL, 0, 0, 0 };

    tell_lie(s, "lie_nothing", &lie);
}

/* ---- Goodbye in another's name -------------------------------------------------------------- */

/* What another host knows of this one, for who forges its word. */
struct forged {
    struct phx_id id;
    uint64_t incarnation;
    uint32_t seq;
};

static int known(uint32_t host, struct forged *of)
{
    struct phx_node nodes[64];
    struct phx_route routes[64];
    const phx *p = lies_seen.s->nodes[host == 0 ? 1 : 0].p;
    size_t i, n;

    phx_self(lies_seen.s->nodes[host].p, &of->id);
    n = phx_nodes(p, nodes, 64);
    for (i = 0; i < n && i < 64 && memcmp(nodes[i].id.b, of->id.b, 16) != 0; i++)
        continue;
    of->incarnation = i < n && i < 64 ? nodes[i].incarnation : 0;
    n = phx_routes(p, routes, 64);
    for (i = 0; i < n && i < 64 && memcmp(routes[i].id.b, of->id.b, 16) != 0; i++)
        continue;
    of->seq = i < n && i < 64 ? routes[i].seq : 0;
    return i < n && i < 64;
}

/* Says it of each honest host, and so again. */
static void say_of_each(struct liar *l, void (*say)(struct liar *l, const struct forged *of), uint64_t every)
{
    struct forged of;
    uint32_t a;

    for (a = 0; a < HONEST; a++)
        if (known(a, &of))
            say(l, &of);
    l->say_at = l->w->now + every;
}

/* Its card says goodbye, and it is unreachable. */
static void put_left(struct liar *l, const struct forged *of)
{
    liar_update(l);
    liar_entry(l, &of->id, of->incarnation, of->seq + 5, 255, 1, 1000 * (l->turns + 1) + l->number);
    liar_put(l, 11, 4);
    liar_put(l, 1 | 2, 1); /* RELAYS, LEFT */
    liar_put(l, 65536, 4);
    liar_put(l, 0, 6);
    liar_tail(l);
}

static void say_left(struct liar *l)
{
    say_of_each(l, put_left, SECOND);
}

static void tell_left(struct sim *s)
{
    static const struct lie lie = { say_left, NULL, NULL, 0, 0, 0 };

    tell_lie(s, "lie_left", &lie);
}

/* ---- A message in another's name, of a conversation that outbids the true one ------------------ */

/* A message of five bytes from host a to host b, by DATA or as a CAST with one line. */
static void put_message(struct liar *l, uint32_t a, uint32_t b, int is_cast)
{
    struct phx_id from, to;

    phx_self(lies_seen.s->nodes[a].p, &from);
    phx_self(lies_seen.s->nodes[b].p, &to);
    liar_head(l, is_cast ? LIAR_CAST : LIAR_DATA, 1 | 2, 16);
    if (is_cast)
        liar_put(l, 1, 2);
    liar_bytes(l, to.b, 16);
    if (!is_cast)
        liar_bytes(l, from.b, 16);
    liar_put(l, 0, 8);
    liar_put(l, UINT64_MAX - 100000 + l->turns * LINKS + l->number, 8);
    liar_put(l, b * 10u, 8);
    if (is_cast) {
        liar_put(l, 0, 4);
        liar_bytes(l, from.b, 16);
    }
    liar_put(l, a * 10u, 8);
    liar_put(l, 0, 8);
    liar_put(l, 5, 8);
    liar_bytes(l, "a lie", 5);
    liar_tail(l);
}

static void say_dumb(struct liar *l)
{
    uint32_t pair;

    for (pair = 0; pair < HONEST * HONEST; pair++)
        if (pair / HONEST != pair % HONEST)
            put_message(l, pair / HONEST, pair % HONEST, (int)(l->turns % 2));
    l->say_at = l->w->now + 100 * MS;
}

static void tell_dumb(struct sim *s)
{
    static const struct lie lie = { say_dumb, NULL, NULL, 0, 0, 0 };

    tell_lie(s, "lie_dumb", &lie);
}

/* ---- A later life of others, and their silence ------------------------------------------------- */

static void put_reborn(struct liar *l, const struct forged *of)
{
    liar_update(l);
    liar_entry(l, &of->id, of->incarnation + 1, 1, 1, 0, 0);
    liar_tail(l);
}

static void say_reborn(struct liar *l)
{
    say_of_each(l, put_reborn, SECOND);
}

static void tell_reborn(struct sim *s)
{
    static const struct lie lie = { say_reborn, NULL, NULL, 0, 0, 0 };

    tell_lie(s, "lie_reborn", &lie);
}

static void put_suspect(struct liar *l, const struct forged *of)
{
    liar_head(l, LIAR_SUSPECT, 0, 16);
    liar_bytes(l, of->id.b, 16);
    liar_put(l, of->incarnation, 8);
    liar_put(l, of->seq, 4);
    liar_bytes(l, l->id.b, 16);
    liar_tail(l);
}

static void say_suspect(struct liar *l)
{
    say_of_each(l, put_suspect, 10 * MS);
}

static void tell_suspect(struct sim *s)
{
    static const struct lie lie = { say_suspect, NULL, NULL, 0, 0, 0 };

    tell_lie(s, "lie_suspect", &lie);
}

/* ---- Nodes that are not there --------------------------------------------------------------- */

/* An id that nobody has, the k-th of this liar. */
static struct phx_id nobody(const struct liar *l, uint64_t k)
{
    struct phx_id id;
    uint64_t word = world_mix(k + ((uint64_t)(l->number + 1) << 40));

    memset(id.b, 0x5a, sizeof id.b);
    memcpy(id.b, &word, sizeof word);
    return id;
}

/* `count` entries of nodes that lie just behind the liar. */
static void put_nobodies(struct liar *l, uint64_t first, uint32_t count, uint64_t seq)
{
    struct phx_id id;
    uint32_t i;

    liar_update(l);
    for (i = 0; i < count; i++) {
        id = nobody(l, first + i);
        liar_entry(l, &id, 0, seq, 1, 0, 0);
    }
    liar_tail(l);
}

/* More than any table takes. */
static void say_ids(struct liar *l)
{
    const uint32_t at_once = 100;

    l->say_at = l->w->now + 4 * MS;
    if (l->turns * at_once * lies_seen.links < lies_seen.s->cfg.max_nodes + 1000u)
        put_nobodies(l, l->turns * at_once, at_once, 1);
}

static void tell_ids(struct sim *s)
{
    static const struct lie lie = { say_ids, NULL, NULL, 0, 2000, 0 };

    tell_lie(s, "lie_ids", &lie);
}

/* ---- Control frames, as many as are taken ---------------------------------------------------- */

static void put_beat(struct liar *l)
{
    liar_head(l, LIAR_BEAT, 4, 0); /* SHRUNK */
    liar_put(l, 60000, 4);
    liar_put(l, l->turns, 8);
    liar_put(l, l->turns, 8);
    liar_put(l, 1, 8);
    liar_put(l, 0, 8); /* lost: some that are not named, the dearest */
    liar_tail(l);
}

static void put_request(struct liar *l, uint64_t k)
{
    struct phx_id id = nobody(l, k);

    liar_head(l, LIAR_REQUEST, 0, 16);
    liar_bytes(l, id.b, 16);
    liar_put(l, 0, 8);
    liar_put(l, 0, 4);
    liar_tail(l);
}

/* Names that the giver does not hold. */
static void put_hand(struct liar *l)
{
    struct phx_id hub;

    phx_self(lies_seen.s->nodes[0].p, &hub);
    liar_head(l, LIAR_HAND, 0, 16);
    liar_bytes(l, hub.b, 16);
    liar_bytes(l, l->id.b, 16);
    liar_put(l, 0, 8);
    liar_put(l, 0, 8);
    liar_put(l, UINT64_MAX, 8);
    liar_put(l, UINT64_MAX, 8);
    liar_tail(l);
}

/* Up to 500 nodes that are not there, news of them, questions for them, names given away, answers that nobody
 * asked for. */
static void say_flood(struct liar *l)
{
    uint32_t i;

    for (i = 0; i < 100; i++) {
        uint64_t k = (l->turns * 100 + i) % (500 / lies_seen.links);
        if (i % 10 < 4)
            put_beat(l);
        else if (i % 10 < 7)
            put_nobodies(l, k, 1, 1 + l->turns);
        else if (i % 10 < 8)
            put_request(l, k);
        else if (i % 10 < 9)
            put_hand(l);
        else {
            liar_head(l, LIAR_SUMMARY, 1, 0); /* REPLY */
            liar_tail(l);
        }
    }
    l->say_at = l->w->now;
}

static void tell_flood(struct sim *s)
{
    static const struct lie lie = { say_flood, NULL, NULL, 0, 0, 0 };

    tell_lie(s, "lie_flood", &lie);
}

/* ---- Cards, as large as they may be, one after the other -------------------------------------- */

static void say_cards(struct liar *l)
{
    uint32_t count = (lies_seen.s->o.full ? 100000u : 20000u) / (lies_seen.links > 1 ? 10 : 1);

    liar_card(l, NULL, 1, count, (uint64_t)(l->number + 1) << 40, 0, 1 + l->turns);
    l->say_at = l->w->now;
}

static void tell_cards(struct sim *s)
{
    static const struct lie lie = { say_cards, NULL, NULL, 0, 0, 0 };

    tell_lie(s, "lie_cards", &lie);
}

/* The same, of nodes that are not there, where memory is short. */
static void say_hoard(struct liar *l)
{
    struct phx_id id = nobody(l, l->turns);

    liar_card(l, &id, 1, 20000, world_mix(1 + l->turns + l->number) >> 1, 0, 1);
    l->say_at = l->w->now;
}

static void tell_hoard(struct sim *s)
{
    static const struct lie lie = { say_hoard, NULL, NULL, (size_t)8 << 20, 0, 0 };

    tell_lie(s, "lie_hoard", &lie);
}

/* One link brings cards, and the others do not read what the hub passes on to them. */
static void say_deaf(struct liar *l)
{
    l->deaf = l->number > 0;
    l->say_at = WORLD_NEVER;
    if (!l->deaf)
        say_cards(l);
}

/* 32 MiB that wait to be written, the card that goes to all, and what the hub has of its own. */
static void hub_memory(struct sim *s)
{
    bar(s, "lie_deaf memory of the hub meanwhile, MiB", (double)lies_seen.hub_memory / 1048576, 40);
}

static void tell_deaf(struct sim *s)
{
    static const struct lie lie = { say_deaf, NULL, hub_memory, 0, 0, 0 };

    tell_lie(s, "lie_deaf", &lie);
}

/* ---- What is logged ------------------------------------------------------------------------- */

/* Lives from nowhere; and now and then a frame that ends the link. */
static void say_log(struct liar *l)
{
    struct phx_id id;
    uint32_t i;

    for (i = 0; i < 10; i++) {
        phx_self(lies_seen.s->nodes[i % HONEST].p, &id);
        liar_update(l);
        liar_entry(l, &id, (uint64_t)1 << 62, 1, 1, 0, 0);
        liar_tail(l);
    }
    if (l->turns % 10 == 9) {
        liar_head(l, 99, 0, 0);
        liar_tail(l);
    }
    l->say_at = l->w->now + MS;
}

static void tell_log(struct sim *s)
{
    static const struct lie lie = { say_log, NULL, NULL, 0, 0, 1 };

    tell_lie(s, "lie_log", &lie);
}

/* ---- All names that nobody has yet, by a claim that cannot be outbid ----------------------------- */

#define FREE_NAMES 1000u /* .. and above */

static void say_claim(struct liar *l)
{
    liar_card(l, NULL, 1, 1, FREE_NAMES, UINT64_MAX, UINT64_MAX);
    l->say_at = l->w->now + SECOND;
}

/* The first link says goodbye, of the others every second one. */
static void say_no_claim(struct liar *l)
{
    if (l->number % 2 == 0)
        liar_card(l, NULL, 1 | 2, 0, 0, 0, 0);
    l->over = 1;
    l->say_at = WORLD_NEVER;
}

/* How many hosts do not believe that this one holds the name. */
static uint32_t doubts(const struct sim *s, uint64_t name, uint32_t holder)
{
    struct phx_id id, owner;
    uint32_t a, n = 0;

    phx_self(s->nodes[holder].p, &id);
    for (a = 0; a < HOSTS; a++)
        n += phx_owner(s->nodes[a].p, name, &owner) != 0 || memcmp(owner.b, id.b, sizeof id.b) != 0;
    return n;
}

/* Two hosts take a name from each other, and give it to each other. */
static void take_and_give(struct sim *s)
{
    uint32_t i, wrong = 0, lost = 0;
    struct phx_id heir;

    for (i = 0; i < 4 && !s->w->failed; i++) {
        uint32_t to = 1 + i % 2;
        wrong += phx_assume(s->nodes[to].p, 5000, 5000) != 0;
        world_touch(s->w, to);
        run_for(s, SECOND);
        wrong += doubts(s, 5000, to);
    }
    for (i = 0; i < 4 && !s->w->failed; i++) {
        uint32_t to = 1 + i % 2, from = 3 - to;
        phx_self(s->nodes[to].p, &heir);
        lost += phx_hand(s->nodes[from].p, 5000, 5000, &heir) != 0;
        world_touch(s->w, from);
        run_for(s, SECOND);
        lost += doubts(s, 5000, to);
    }
    bar(s, "lie_claim hosts that do not see a name go to who assumes it", wrong, 0);
    bar(s, "lie_claim hosts that do not see a name go to whom it is given", lost, 0);
}

static void tell_claim(struct sim *s)
{
    static const struct lie lie = { say_claim, say_no_claim, take_and_give, 0, 0, 0 };

    tell_lie(s, "lie_claim", &lie);
}

/* ---- "It has arrived", in another's name ------------------------------------------------------- */

/* The liar guesses well how much was sent, and tries the conversations that a node would begin with. */
static void say_acks(struct liar *l)
{
    struct phx_id from, to;
    uint64_t epoch, more;
    uint32_t pair;

    for (pair = 0; pair < HONEST * HONEST; pair++) {
        uint32_t a = pair / HONEST, b = pair % HONEST;
        phx_self(lies_seen.s->nodes[a].p, &from);
        phx_self(lies_seen.s->nodes[b].p, &to);
        for (epoch = 1; a != b && epoch <= 4; epoch++)
            for (more = 0; more < 2; more++) {
                liar_head(l, LIAR_ACK, 0, 16);
                liar_bytes(l, from.b, 16);
                liar_bytes(l, to.b, 16);
                liar_put(l, epoch, 8);
                liar_put(l, lies_seen.sent[a][b] + more, 8);
                liar_put(l, 4u << 20, 4);
                liar_tail(l);
            }
    }
    l->say_at = l->w->now + 3300 * lies_seen.links;
}

static void tell_acks(struct sim *s)
{
    static const struct lie lie = { say_acks, NULL, NULL, 0, 0, 0 };

    tell_lie(s, "lie_acks", &lie);
}

/* ---- The first byte of messages that never go on ------------------------------------------------ */

/* Of `total` bytes, to host b's first name. */
static void put_first(struct liar *l, const struct phx_id *source, uint32_t b, uint64_t total, size_t size)
{
    static const unsigned char some[60000];
    struct phx_id target;

    phx_self(lies_seen.s->nodes[b].p, &target);
    liar_head(l, LIAR_DATA, 1, 16); /* FIRST */
    liar_bytes(l, target.b, 16);
    liar_bytes(l, source->b, 16);
    liar_put(l, 0, 8);
    liar_put(l, 1, 8);
    liar_put(l, b * 10, 8);
    liar_put(l, 0, 8);
    liar_put(l, 0, 8);
    liar_put(l, total, 8);
    liar_bytes(l, some, size);
    liar_tail(l);
}

/* From as many sources as there are messages; they would have 16 MiB, 8, 4 ... for each host. */
static void put_parts(struct liar *l, size_t size)
{
    uint32_t i, count = 200 / lies_seen.links;

    put_nobodies(l, l->turns * count, count, 1);
    for (i = 0; i < count; i++) {
        struct phx_id source = nobody(l, l->turns * count + i);
        put_first(l, &source, i % HONEST, 16u << 20 >> (i / HONEST + l->number) % 8, size);
    }
    l->say_at = l->w->now + SECOND;
}

static void say_parts(struct liar *l)
{
    put_parts(l, 1);
}

static void tell_parts(struct sim *s)
{
    static const struct lie lie = { say_parts, NULL, NULL, (size_t)64 << 20, 0, 0 };

    tell_lie(s, "lie_parts", &lie);
}

/* 12 MB a second that has come, and waits for its rest. */
static void say_halves(struct liar *l)
{
    put_parts(l, 60000);
}

static void tell_halves(struct sim *s)
{
    static const struct lie lie = { say_halves, NULL, NULL, (size_t)16 << 20, 0, 0 };

    tell_lie(s, "lie_halves", &lie);
}

#define LIE(name, what) { "lie_" #name, what, HOSTS + 20, HOSTS + 1, HOSTS + LINKS, tell_##name, NULL }

const struct story lie_stories[] = {
    LIE(nothing, "a member says nothing: all must be well"),
    LIE(left, "a member says goodbye in the name of others"),
    LIE(dumb, "a member sends in the name of others"),
    LIE(reborn, "a member tells of a later life of others"),
    LIE(suspect, "a member says that others are silent"),
    LIE(ids, "a member makes up nodes"),
    LIE(flood, "a member sends control frames without end"),
    LIE(cards, "a member sends large cards without end"),
    LIE(hoard, "a member makes up nodes that have large cards"),
    LIE(deaf, "a member brings cards and does not read them"),
    LIE(log, "a member says what is worth a line of log"),
    LIE(claim, "a member claims all that is free, with the highest epoch"),
    LIE(acks, "a member acknowledges in the name of others"),
    LIE(parts, "a member begins messages that never go on"),
    LIE(halves, "the same with 60,000 bytes of each"),
    { NULL, NULL, 0, 0, 0, NULL, NULL }
};
