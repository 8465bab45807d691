/* names.c - BRAIN: which virtual nodes live where: claims, epochs, conflicts. */

/* What this room promises. A *claim* says "names first..last are mine, since epoch e". A node's claims are
 * sorted and disjoint; claims of different nodes may overlap, after a bug or a healed partition. Where they
 * do, the higher (epoch, id) wins. That order is total and depends on nothing but the claims, so two nodes
 * that have heard the same cards give the same answer for each name, in whatever order the cards came.
 *
 * Our own claims never lose against a claim we know of: phx__names_assume outbids all of them and
 * phx__names_set cuts at once what a newly heard claim wins. Each name cut that way is a *conflict*, queued
 * once for the application. What we win is left to the other side: it will do the same cut when it hears of
 * us, and until then its claim lies in the shadow of ours.
 *
 * A call that returns an error has changed nothing, and a lookup without memory says so. This room does not
 * know whether a node is reachable, what is on its way to a name, how a card travels, or when.
 *
 * Epochs. A new claim gets one more than the highest epoch ever seen, from anybody (a Lamport clock), so
 * "assumed last, knowing of the other" always wins. Own claims that it meets or touches get its epoch, too,
 * and are one claim with it: names assumed one by one are one range in the card. But none is raised while
 * names are handed over (`keep`): the heir takes what is held by an old epoch.
 *
 * Honest nodes come near neither the upper half of the epochs nor 2^40 above what they have heard of: a
 * million claims a second take twelve days. A claim there is a lie, or outbids one, or this node is new. It
 * counts only where it is alive and in the way: what is left when it has gone is low again. Epochs end at
 * UINT64_MAX - 1, and a higher one in a card counts as that: against such a claim of a higher id
 * phx__names_assume says PHX_ELIMIT until the claim is gone. */
#include "names/names.h"

/* One below the top, so that one more is always representable. */
#define NAMES_EPOCH_TOP (UINT64_MAX - 1)
/* Above it an epoch is not remembered, nor one so far above those that are. */
#define NAMES_EPOCH_ROOM (UINT64_MAX / 2)
#define NAMES_EPOCH_LEAP (UINT64_C(1) << 40)

/* One past the last claim that begins at last or before it, counting from claim i. */
static uint32_t names_past(const struct phx__names_of *of, uint32_t i, uint64_t last)
{
    while (i < of->count && of->at[i].first <= last)
        i++;
    return i;
}

/* The first claim that ends at name or after it, or count. */
static uint32_t names_from(const struct phx__names_of *of, uint64_t name)
{
    return phx__names_index_find(of->at, sizeof *of->at, of->count, name);
}

/* ---- Own claims that lose */

/* How many pairs of an own claim and one of node's meet where node's is higher: usually none. */
static uint32_t names_losses(const struct phx__names *n, uint32_t node, const struct phx__names_of *theirs)
{
    const struct phx__names_of *own = &n->of[PHX__SELF];
    uint32_t i, k, losses = 0;

    for (i = 0; i < theirs->count; i++) {
        const struct phx__claim *c = &theirs->at[i];
        for (k = names_from(own, c->first); k < own->count && own->at[k].first <= c->last; k++)
            losses += (uint32_t)phx__names_index_beats(n->ids, c->epoch, node, own->at[k].epoch, PHX__SELF);
    }
    return losses;
}

/* Queues a conflict. There must be room. */
static void names_lose(struct phx__names *n, uint64_t first, uint64_t last, uint32_t winner)
{
    n->conflicts[n->conflict_count++] = (struct phx__names_conflict){ { first, last }, n->ids->at[winner] };
}

/* Cuts what node wins, from its claim i on, out of the own claim mine. Appends what remains to *rest. */
static void names_split(struct phx__names *n, uint32_t node, struct phx__claim mine,
                        const struct phx__names_of *theirs, uint32_t i, struct phx__names_of *rest)
{
    uint64_t last = mine.last;

    for (; i < theirs->count && theirs->at[i].first <= last; i++) {
        const struct phx__claim *c = &theirs->at[i];
        if (!phx__names_index_beats(n->ids, c->epoch, node, mine.epoch, PHX__SELF))
            continue;
        if (mine.first < c->first) {
            rest->at[rest->count] = mine;
            rest->at[rest->count++].last = c->first - 1;
            mine.first = c->first;
        }
        names_lose(n, mine.first, c->last < last ? c->last : last, node);
        if (c->last >= last)
            return;
        mine.first = c->last + 1;
    }
    rest->at[rest->count++] = mine;
}

/* Own claims against those of node. 1 if some were lost, 0 if not; PHX_ENOMEM: nothing changed. */
static int names_contest(struct phx__names *n, uint32_t node, const struct phx__names_of *theirs)
{
    struct phx__names_of *own = &n->of[PHX__SELF], rest = { NULL, 0, 0, 0, 0 };
    uint32_t i, k = 0, losses = names_losses(n, node, theirs), surplus;

    if (losses == 0)
        return 0;
    rest.capacity = own->count + losses; /* each loss makes at most one piece more */
    surplus = rest.capacity > PHX__CARD_CLAIMS ? rest.capacity - PHX__CARD_CLAIMS : 0;
    if (phx__mem_grow(n->mem, &n->conflicts, &n->conflict_capacity, n->conflict_count + losses + surplus,
                      sizeof *n->conflicts) != 0)
        return PHX_ENOMEM;
    if ((rest.at = phx__mem_get(n->mem, rest.capacity * sizeof *rest.at)) == NULL)
        return PHX_ENOMEM;
    for (i = 0; i < own->count; i++) {
        while (k < theirs->count && theirs->at[k].last < own->at[i].first)
            k++;
        names_split(n, node, own->at[i], theirs, k, &rest);
    }
    PHX_ASSERT(n->conflict_count <= n->conflict_capacity && rest.count <= rest.capacity);
    phx__mem_put(n->mem, own->at, own->capacity * sizeof *own->at);
    *own = rest;
    /* What does not fit into a card (a hostile one cut ours) is given up, and the application told. */
    for (i = PHX__CARD_CLAIMS; i < own->count; i++)
        names_lose(n, own->at[i].first, own->at[i].last, node);
    own->count = PHX__MIN(own->count, PHX__CARD_CLAIMS);
    return 1;
}

/* ---- Own claims that change */

/* How many stretches of first..last are not ours. Claim i is the first that may meet the range. */
static uint32_t names_gaps(const struct phx__names_of *own, uint32_t i, uint64_t first, uint64_t last)
{
    uint32_t gaps = 0;

    for (; i < own->count && own->at[i].first <= last; i++) {
        gaps += first < own->at[i].first;
        if (own->at[i].last >= last)
            return gaps;
        first = own->at[i].last + 1;
    }
    return gaps + 1;
}

/* Fills the gaps of first..last with claims; claims i..j-1 meet the range and there is room for `gaps` more.
 * Works from the top down, so nothing moves twice. */
static void names_fill(struct phx__names_of *own, uint32_t i, uint32_t j, uint32_t gaps,
                       struct phx__claim want)
{
    struct phx__claim *at = own->at, gap = want;
    uint32_t out = j + gaps;

    memmove(at + out, at + j, (own->count - j) * sizeof *at);
    own->count += gaps;
    while (out > i) {
        if (j == i || at[j - 1].last < gap.last) {
            gap.first = j == i ? want.first : at[j - 1].last + 1;
            at[--out] = gap;
        }
        if (j > i) {
            struct phx__claim held = at[--j]; /* out may be its own place */
            at[--out] = held;
            gap.last = held.first - 1; /* wraps only at name 0, and then nothing is left to do */
        }
    }
}

/* Joins neighbours of the same epoch among the own claims from..to - 1. */
static void names_join(struct phx__names_of *own, uint32_t from, uint32_t to)
{
    uint32_t i, out = from;

    for (i = from + 1; i < to; i++) {
        struct phx__claim *end = &own->at[out];
        if (end->last + 1 == own->at[i].first && end->epoch == own->at[i].epoch)
            end->last = own->at[i].last;
        else
            own->at[++out] = own->at[i];
    }
    if (++out == to)
        return;
    memmove(own->at + out, own->at + to, (own->count - to) * sizeof *own->at);
    own->count -= to - out;
}

/* Those of the own claims from..to - 1 that a new one meets or touches get its epoch. */
static void names_raise(struct phx__names_of *own, const struct phx__claim *want, uint32_t from, uint32_t to)
{
    for (uint32_t i = from; i < to; i++)
        if ((own->at[i].last >= want->first || own->at[i].last + 1 == want->first)
            && (own->at[i].first <= want->last || own->at[i].first - 1 == want->last))
            own->at[i].epoch = want->epoch;
}

static void names_see_epoch(struct phx__names *n, uint64_t epoch)
{
    int counts = epoch <= NAMES_EPOCH_ROOM && epoch <= n->epoch_max + NAMES_EPOCH_LEAP;

    if (counts && epoch > n->epoch_max)
        n->epoch_max = epoch;
    n->beyond |= !counts;
}

/* The epoch of a new claim to first..last: above all that count. 0: there is none. */
static uint64_t names_next_epoch(const struct phx__names *n, uint64_t first, uint64_t last)
{
    uint64_t next = n->epoch_max + 1;

    for (uint32_t node = PHX__SELF + 1; n->beyond && node < n->capacity; node++) {
        const struct phx__names_of *of = &n->of[node];
        for (uint32_t i = names_from(of, first); !of->dead && i < of->count && of->at[i].first <= last; i++) {
            uint64_t epoch = of->at[i].epoch;
            if (epoch >= next)
                next = epoch < NAMES_EPOCH_TOP ? epoch + 1 : epoch;
            if (phx__names_index_beats(n->ids, epoch, node, next, PHX__SELF))
                return 0;
        }
    }
    return next;
}

/* ---- Claims of others */

static void names_change(struct phx__names *n, uint64_t first, uint64_t last)
{
    struct phx__names_changes *c = &n->changes;

    if (c->count < PHX__COUNT(c->at))
        c->at[c->count] = (struct phx_range){ first, last };
    c->count += c->count <= PHX__COUNT(c->at);
}

/* The claims that are in one of the two only. */
static void names_differ(struct phx__names *n, const struct phx__names_of *a, const struct phx__names_of *b)
{
    for (uint32_t i = 0, k = 0; i < a->count || k < b->count;) {
        const struct phx__claim *c;

        if (i < a->count && k < b->count && memcmp(&a->at[i], &b->at[k], sizeof *a->at) == 0) {
            i++;
            k++;
            continue;
        }
        c = k == b->count || (i < a->count && a->at[i].first <= b->at[k].first) ? &a->at[i++] : &b->at[k++];
        names_change(n, c->first, c->last);
    }
}

/* Takes over the memory of new. */
static void names_replace(struct phx__names *n, uint32_t node, const struct phx__names_of *new)
{
    struct phx__names_of *of = &n->of[node];

    names_differ(n, of, new);
    n->dead_version += of->dead;
    phx__mem_put(n->mem, of->at, of->capacity * sizeof *of->at);
    *of = *new;
    n->version++;
}

/* ---- The door */

void phx__names_init(struct phx__names *n, struct phx__mem *mem, struct phx__ids *ids)
{
    *n = (struct phx__names){ .mem = mem, .ids = ids, .index = { .mem = mem, .ids = ids } };
}

void phx__names_free(struct phx__names *n)
{
    for (uint32_t node = 0; node < n->capacity; node++)
        phx__mem_put(n->mem, n->of[node].at, n->of[node].capacity * sizeof *n->of[node].at);
    phx__mem_put(n->mem, n->of, n->capacity * sizeof *n->of);
    phx__mem_put(n->mem, n->index.at, n->index.capacity * sizeof *n->index.at);
    phx__mem_put(n->mem, n->conflicts, n->conflict_capacity * sizeof *n->conflicts);
    phx__names_init(n, n->mem, n->ids);
}

int phx__names_assume(struct phx__names *n, uint64_t first, uint64_t last)
{
    struct phx__names_of *own;
    struct phx__claim want = { first, last, 0 };
    uint32_t i, j, gaps;

    if (first > last)
        return PHX_ERANGE;
    if (phx__mem_grow(n->mem, &n->of, &n->capacity, PHX__SELF + 1, sizeof *n->of) != 0)
        return PHX_ENOMEM;
    own = &n->of[PHX__SELF];
    i = names_from(own, first);
    if ((gaps = names_gaps(own, i, first, last)) == 0)
        return 0;
    want.epoch = names_next_epoch(n, first, last);
    if (gaps > PHX__CARD_CLAIMS - own->count || want.epoch == 0)
        return PHX_ELIMIT;
    if (phx__mem_grow(n->mem, &own->at, &own->capacity, own->count + gaps, sizeof *own->at) != 0)
        return PHX_ENOMEM;
    names_see_epoch(n, want.epoch);
    j = names_past(own, i, last);
    names_fill(own, i, j, gaps, want);
    j += gaps;
    j += j < own->count;
    i -= i > 0;
    if (want.epoch == n->epoch_max && !n->keep)
        names_raise(own, &want, i, j);
    names_join(own, i, j);
    names_change(n, first, last);
    n->version++;
    return 1;
}

int phx__names_release(struct phx__names *n, uint64_t first, uint64_t last)
{
    struct phx__names_of *own = n->of; /* PHX__SELF is the first; NULL before anything is known */
    struct phx__claim end;
    uint32_t i, j, keep;
    int left, right; /* does something remain there? */

    if (first > last)
        return PHX_ERANGE;
    if (n->capacity == 0)
        return 0;
    i = names_from(own, first);
    j = names_past(own, i, last);
    if (i == j)
        return 0;
    end = own->at[j - 1];
    left = own->at[i].first < first;
    right = end.last > last;
    keep = i + (uint32_t)left + (uint32_t)right;
    if (keep > j && own->count == PHX__CARD_CLAIMS)
        return PHX_ELIMIT; /* a hole in the middle makes one claim more than a card can hold */
    if (phx__mem_grow(n->mem, &own->at, &own->capacity, own->count - j + keep,
                      sizeof *own->at) != 0)
        return PHX_ENOMEM;
    if (left)
        own->at[i].last = first - 1;
    memmove(own->at + keep, own->at + j, (own->count - j) * sizeof *own->at);
    own->count = own->count - j + keep;
    if (right) {
        end.first = last + 1;
        own->at[keep - 1] = end;
    }
    names_change(n, first, last);
    n->version++;
    return 1;
}

int phx__names_set(struct phx__names *n, uint32_t node, const struct phx__card *card)
{
    struct phx__names_of theirs = { NULL, 0, 0, 0, 0 };
    uint32_t i, count = card->flags & PHX__CARD_LEFT ? 0 : card->claim_count;
    int changed;

    PHX_ASSERT(node != PHX__SELF && node != PHX__NONE && count <= PHX__CARD_CLAIMS);
    if (count == 0 && node >= n->capacity)
        return 0; /* many nodes have no names, and take no room here */
    if (phx__mem_grow(n->mem, &n->of, &n->capacity, node + 1, sizeof *n->of) != 0)
        return PHX_ENOMEM;
    if (count > 0 && (theirs.at = phx__mem_get(n->mem, count * sizeof *theirs.at)) == NULL)
        return PHX_ENOMEM;
    theirs.count = theirs.capacity = count;
    for (i = 0; i < count; i++) {
        phx__wire_route_claim(card, i, &theirs.at[i]);
        theirs.at[i].epoch = PHX__MIN(theirs.at[i].epoch, NAMES_EPOCH_TOP);
    }
    theirs.dead = n->of[node].dead;
    /* Cards come again for other reasons than names: ours never lose against what is known. */
    if (count == n->of[node].count
        && (count == 0 || memcmp(theirs.at, n->of[node].at, count * sizeof *theirs.at) == 0)) {
        phx__mem_put(n->mem, theirs.at, count * sizeof *theirs.at);
        return 0;
    }
    changed = theirs.dead ? 0 : names_contest(n, node, &theirs);
    if (changed < 0) {
        phx__mem_put(n->mem, theirs.at, count * sizeof *theirs.at);
        return changed;
    }
    for (i = 0; i < count; i++)
        names_see_epoch(n, theirs.at[i].epoch);
    names_replace(n, node, &theirs);
    return changed;
}

int phx__names_dead(struct phx__names *n, uint32_t node, int dead)
{
    const struct phx__names_of none = { NULL, 0, 0, 0, 0 };
    int changed = 0;

    PHX_ASSERT(node != PHX__SELF);
    if (node >= n->capacity || n->of[node].dead == (uint32_t)dead)
        return 0;
    if (!dead && n->of[node].trimmed)
        phx__names_forget(n, node);
    else if (!dead && (changed = names_contest(n, node, &n->of[node])) < 0)
        return changed;
    n->of[node].dead = (uint32_t)dead;
    names_differ(n, &n->of[node], &none);
    n->version += n->of[node].count > 0;
    n->dead_version++;
    return changed;
}

void phx__names_trim(struct phx__names *n, uint32_t node)
{
    struct phx__names_of *of = node < n->capacity ? &n->of[node] : NULL;
    struct phx__claim *rest;

    if (of == NULL || !of->dead || of->count <= PHX__NAMES_DEAD + 1)
        return;
    for (rest = &of->at[PHX__NAMES_DEAD]; of->count > PHX__NAMES_DEAD + 1; of->count--) {
        const struct phx__claim *last = &of->at[of->count - 1];
        rest->last = rest->last > last->last ? rest->last : last->last;
        rest->epoch = rest->epoch > last->epoch ? rest->epoch : last->epoch;
    }
    of->trimmed = 1;
    phx__mem_fit(n->mem, &of->at, &of->capacity, of->count, sizeof *of->at);
    n->version++;
    n->dead_version++;
}

void phx__names_forget(struct phx__names *n, uint32_t node)
{
    const struct phx__names_of none = { NULL, 0, 0, 0, 0 };

    PHX_ASSERT(node != PHX__SELF);
    if (node < n->capacity && (n->of[node].count > 0 || n->of[node].dead))
        names_replace(n, node, &none);
}

/* The owner of a name by the index, or PHX__NONE, and the widest range around it with the same answer. */
static uint32_t names_look(const struct phx__names_index *x, uint64_t name, struct phx_range *around)
{
    uint32_t i = phx__names_index_find(x->at, sizeof *x->at, x->count, name);

    if (i < x->count && x->at[i].first <= name) {
        around->first = x->at[i].first;
        around->last = x->at[i].last;
        return x->at[i].owner;
    }
    around->first = i > 0 ? x->at[i - 1].last + 1 : 0;
    around->last = i < x->count ? x->at[i].first - 1 : UINT64_MAX;
    return PHX__NONE;
}

uint32_t phx__names_owner(struct phx__names *n, uint64_t name, struct phx_range *around, int *error)
{
    struct phx_range range = { name, name };
    uint32_t owner = PHX__NONE, i;
    int err = 0;

    if (n->indexed != n->version)
        err = phx__names_index_build(&n->index, n->of, n->capacity, 0);
    if (err == 0) {
        n->indexed = n->version;
        owner = names_look(&n->index, name, &range);
    } else if (n->capacity > 0 && (i = names_from(n->of, name)) < n->of->count
               && n->of->at[i].first <= name) {
        owner = PHX__SELF; /* own claims that lost are no more, so this needs no index */
    }
    if (around != NULL)
        *around = range;
    if (error != NULL)
        *error = err;
    return owner;
}

uint64_t phx__names_epoch(const struct phx__names *n, uint64_t first, uint64_t last)
{
    const struct phx__names_of *own = n->of; /* PHX__SELF is the first */
    uint64_t epoch = n->epoch_max;

    for (uint32_t i = n->capacity > 0 ? names_from(own, first) : 0; n->capacity > 0 && i < own->count; i++)
        if (own->at[i].first <= last && own->at[i].epoch > epoch)
            epoch = own->at[i].epoch;
    return epoch;
}

int phx__names_held(struct phx__names *n, uint32_t node, const struct phx_range *range,
                    uint64_t epoch, struct phx_range *out)
{
    uint32_t i = node < n->capacity ? names_from(&n->of[node], range->first) : 0;
    int err;

    for (; node < n->capacity && i < n->of[node].count; i++) {
        const struct phx__claim *c = &n->of[node].at[i];
        uint64_t name = c->first > range->first ? c->first : range->first;
        uint64_t end = c->last < range->last ? c->last : range->last;
        struct phx_range around = { 0, 0 };
        if (c->first > range->last)
            break;
        for (; c->epoch <= epoch && name <= end; name = around.last + 1) {
            uint32_t owner = phx__names_owner(n, name, &around, &err);
            if (err != 0)
                return err;
            if (owner == node) {
                out->first = name;
                out->last = around.last < end ? around.last : end;
                return 1;
            }
            if (around.last >= end) /* which may be the last name of all */
                break;
        }
    }
    return 0;
}

int phx__names_take_conflict(struct phx__names *n, struct phx__names_conflict *out)
{
    if (n->conflict_count == 0)
        return 0;
    *out = n->conflicts[n->conflict_taken++];
    if (n->conflict_taken == n->conflict_count) { /* conflicts are rare; their memory need not stay */
        phx__mem_put(n->mem, n->conflicts, n->conflict_capacity * sizeof *n->conflicts);
        n->conflicts = NULL;
        n->conflict_count = n->conflict_taken = n->conflict_capacity = 0;
    }
    return 1;
}
