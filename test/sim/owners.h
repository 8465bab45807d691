/* owners.h - who holds a name, looked at after each step; a part of check.c, which sees inside phoenix.c. */
/*
 * Two claims to a name may well be alive at one time: a card takes time to arrive, and whoever hears of a
 * claim that beats its own gives the name up then. So "one owner" is not true of each instant. What is, and
 * is asked here after each step of a node that changed any claim it knows of (promise 133):
 *
 *   1. A card is one thing: all nodes that have read version v of a life's card know the same claims of it.
 *   2. Of the claims that a node knows, those of FAILED nodes left out, the one with the highest (epoch, id)
 *      is the owner in its eyes: no own claim is beaten by one that it knows, and its index says so, too.
 *
 * So no two nodes that have read the same cards believe in different owners, and where two believe in
 * different owners at the same epoch, one of them has not heard of the other's claim yet. Each name whose
 * claim moved is asked for by the ends of that claim, of up to OWNERS_CLAIMS of a card, and of as many own
 * ones. The index is built when somebody asks for a name: what moved before that is kept until then, up to
 * OWNERS_MOVED names. Nothing here changes the node. */
#ifndef OWNERS_H
#define OWNERS_H

#define OWNERS_CLAIMS 16u
#define OWNERS_MOVED 128u

struct owners_view { /* of one host */
    uint64_t version, dead_version;    /* of its names, when they were last looked at */
    uint64_t *shown;                   /* by node: the card that it has read, as owners_card */
    uint32_t capacity, steps, count;
    uint64_t moved[OWNERS_MOVED];      /* names to be asked when the index is fresh */
};

struct owners { /* of all */
    struct owners_card {
        uint64_t card, claims; /* hashes; card 0: none */
    } *cards;
    uint32_t size, count; /* size: a power of two */
    uint64_t compared, asked; /* cards with those of others; names */
};

static uint64_t id_word(const struct phx_id *id);
static void *grow(void *old, uint32_t from, uint32_t to, size_t item, int fill);

static struct owners *owners_new(void)
{
    return calloc(1, sizeof(struct owners));
}

static void owners_free(struct owners *o)
{
    free(o->cards);
    free(o);
}

static struct owners_view *owners_view_new(void)
{
    return calloc(1, sizeof(struct owners_view));
}

static void owners_view_free(struct owners_view *v)
{
    if (v != NULL)
        free(v->shown);
    free(v);
}

/* ---- One card is one thing */

static uint64_t owners_card(const phx *p, uint32_t node, uint64_t life, uint32_t version)
{
    return id_word(&p->ids.at[node]) ^ world_mix(life ^ world_mix(version + 1));
}

static uint64_t owners_claims(const struct phx__names_of *of)
{
    uint64_t hash = of->count;

    for (uint32_t i = 0; i < of->count; i++)
        hash = world_mix(world_mix(world_mix(hash ^ of->at[i].first) ^ of->at[i].last) ^ of->at[i].epoch);
    return hash;
}

static struct owners_card *owners_find(struct owners *o, uint64_t card)
{
    uint32_t i = (uint32_t)card & (o->size - 1);

    while (o->cards[i].card != 0 && o->cards[i].card != card)
        i = (i + 1) & (o->size - 1);
    return &o->cards[i];
}

static int owners_grow(struct owners *o)
{
    struct owners old = *o;

    o->size = old.size != 0 ? 2 * old.size : 256;
    if ((o->cards = calloc(o->size, sizeof *o->cards)) == NULL) {
        *o = old;
        return -1;
    }
    for (uint32_t i = 0; i < old.size; i++)
        if (old.cards[i].card != 0)
            *owners_find(o, old.cards[i].card) = old.cards[i];
    free(old.cards);
    return 0;
}

static void owners_compare(struct check *c, uint32_t host, uint32_t node, uint64_t card)
{
    const phx *p = c->views[host].p;
    struct owners *o = c->owners;
    uint64_t claims = owners_claims(&p->names.of[node]);
    struct owners_card *seen;
    char who[40];

    if (2 * o->count >= o->size && owners_grow(o) < 0)
        return;
    seen = owners_find(o, card);
    if (seen->card == 0) {
        *seen = (struct owners_card){ card, claims };
        o->count++;
        return;
    }
    o->compared++;
    if (seen->claims != claims)
        world_fail(c->w, "host %u has read other claims in a card of %s than somebody else", (unsigned)host,
                   check_who(c, &p->ids.at[node], who, sizeof who));
}

/* ---- The highest claim is the owner's */

/* The winner by the claims that p knows, one after the other, or PHX__NONE. */
static uint32_t owners_winner(const phx *p, uint64_t name)
{
    uint32_t best = PHX__NONE;
    uint64_t best_epoch = 0;

    for (uint32_t node = 0; node < p->names.capacity; node++) {
        const struct phx__names_of *of = &p->names.of[node];
        uint32_t low = 0, high = of->dead ? 0 : of->count;

        while (low < high) {
            uint32_t middle = low + (high - low) / 2;
            if (of->at[middle].last < name)
                low = middle + 1;
            else
                high = middle;
        }
        if (of->dead || low == of->count || of->at[low].first > name)
            continue;
        if (best == PHX__NONE || of->at[low].epoch > best_epoch
            || (of->at[low].epoch == best_epoch
                && memcmp(p->ids.at[node].b, p->ids.at[best].b, sizeof p->ids.at[node].b) > 0)) {
            best = node;
            best_epoch = of->at[low].epoch;
        }
    }
    return best;
}

/* Own claims that are in pages are not where owners_winner looks, until the index is renewed. */
static int owners_is_fresh(const phx *p)
{
    return p->names.indexed == p->names.version && p->names.page_count == 0;
}

static void owners_ask(struct check *c, uint32_t host, uint64_t name)
{
    const phx *p = c->views[host].p;
    struct phx_range around = { name, name };
    uint32_t want = owners_winner(p, name), got = phx__names_index_look(&p->names.index, name, &around);
    char claims[300];

    c->owners->asked++;
    if (want == got)
        return;
    check_explain_name(c, host, name, claims, sizeof claims);
    world_fail(c->w, "host %u: its index has another owner of name %llu than its claims%s", (unsigned)host,
               (unsigned long long)name, claims);
}

static void owners_move(struct check *c, uint32_t host, uint64_t name)
{
    struct owners_view *v = c->views[host].owners;

    if (owners_is_fresh(c->views[host].p))
        owners_ask(c, host, name);
    else if (v->count < OWNERS_MOVED)
        v->moved[v->count++] = name;
}

/* Own claims that lost are no more, whatever the index. */
static void owners_own(struct check *c, uint32_t host)
{
    const phx *p = c->views[host].p;
    const struct phx__names_of *own = &p->names.of[PHX__SELF];
    const struct phx__dest *self = phx__route_dest(&p->route, PHX__SELF);
    char claims[300];

    /* Its own card says what it claims, unless one is to be written still, or it has said goodbye. */
    if (!p->news.card_stale && !p->news.card_late && !p->leave.departed && p->names.page_count == 0)
        owners_compare(c, host, PHX__SELF,
                       owners_card(p, PHX__SELF, self->incarnation + 1, self->card_version));
    for (uint32_t i = 0; p->names.page_count == 0 && i < own->count && i < OWNERS_CLAIMS; i++)
        for (int end = 0; end < 2; end++) {
            uint64_t name = end ? own->at[i].last : own->at[i].first;

            owners_move(c, host, name);
            if (owners_winner(p, name) == PHX__SELF)
                continue;
            check_explain_name(c, host, name, claims, sizeof claims);
            world_fail(c->w, "host %u holds name %llu and knows of a higher claim%s", (unsigned)host,
                       (unsigned long long)name, claims);
        }
}

static int owners_view_grow(struct owners_view *v, uint32_t need)
{
    uint32_t to = v->capacity != 0 ? v->capacity : 16;
    void *shown;

    while (to < need)
        to *= 2;
    if (to == v->capacity)
        return 0;
    if ((shown = grow(v->shown, v->capacity, to, sizeof *v->shown, 0)) == NULL)
        return -1;
    v->shown = shown;
    v->capacity = to;
    return 0;
}

/* The node's card is new here. What is left of the claims of the dead is no card. */
static void owners_node(struct check *c, uint32_t host, uint32_t node, uint64_t card)
{
    const struct phx__names_of *of = &c->views[host].p->names.of[node];
    uint32_t life = check_life(c, &c->views[host].p->ids.at[node]);

    if (life != WORLD_NONE && !of->trimmed && !c->w->has_liar)
        owners_compare(c, host, node, card);
    for (uint32_t i = 0; i < of->count && i < OWNERS_CLAIMS && !c->w->failed; i++) {
        owners_move(c, host, of->at[i].first);
        owners_move(c, host, of->at[i].last);
    }
}

static void owners_step(struct check *c, uint32_t host)
{
    struct owners_view *v = c->views[host].owners;
    const phx *p = c->views[host].p;
    const struct phx__names *n = &p->names;

    for (; v->count > 0 && owners_is_fresh(p) && !c->w->failed; v->count--)
        owners_ask(c, host, v->moved[v->count - 1]);
    if ((n->version == v->version && n->dead_version == v->dead_version) || ++v->steps % c->every != 0)
        return;
    v->version = n->version;
    v->dead_version = n->dead_version;
    if (owners_view_grow(v, n->capacity) < 0)
        return;
    for (uint32_t node = 1; node < n->capacity && node < p->ids.size && !c->w->failed; node++) {
        const struct phx__dest *d = phx__route_dest(&p->route, node);
        uint64_t card = d != NULL && d->card_version != 0 && !d->card_new
                            ? owners_card(p, node, d->incarnation + 1, d->card_version)
                            : 0;

        if (card != 0 && card != v->shown[node])
            owners_node(c, host, node, card);
        v->shown[node] = card;
    }
    if (n->capacity > 0)
        owners_own(c, host);
}

#endif
