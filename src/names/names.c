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
/* In grown_count: the index must be built anew. */
#define NAMES_REBUILD (PHX__NAMES_GROWN + 1)
/* Patches that an index takes before it is built anew: so many, and one for each 64 segments. */
#define NAMES_PATCHED 256u

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
PHX__COLD static int names_contest(struct phx__names *n, uint32_t node, const struct phx__names_of *theirs)
{
    struct phx__names_of *own = &n->of[PHX__SELF], rest = { NULL, 0, 0, 0, 0 };
    uint32_t i, k = 0, losses = names_losses(n, node, theirs), surplus;

    if (losses == 0)
        return 0;
    rest.capacity = own->count + losses; /* each loss makes at most one piece more */
    surplus = rest.capacity > PHX__CARD_CLAIMS ? rest.capacity - PHX__CARD_CLAIMS : 0;
    if (phx__mem_grow(n->mem, &n->conflicts, &n->conflict_capacity, n->conflict_count + losses + surplus,
                      sizeof *n->conflicts) != 0
        || (rest.at = phx__mem_get(n->mem, rest.capacity * sizeof *rest.at)) == NULL)
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
    if (own->count > PHX__CARD_CLAIMS)
        n->grown_count = NAMES_REBUILD;
    own->count = PHX__MIN(own->count, PHX__CARD_CLAIMS);
    return 1;
}

/* ---- Own claims that change */

/* A claim that comes or goes moves those behind it. Where these are many the list is cut in two: so
 * of[PHX__SELF] has the first ones, and room for all; the rest is in pages, in order, none of them empty. */
#define NAMES_PAGE 128u

/* The list with the last claim that begins at name or before it: 0 is of[PHX__SELF], i page i - 1. */
static uint32_t names_page(const struct phx__names *n, uint64_t name)
{
    uint32_t low = 0, high = n->page_count;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (n->pages[middle].at[0].first <= name)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Appends pages from..to - 1 to a list that has room. */
PHX__COLD static void names_append(struct phx__names *n, struct phx__names_of *list, uint32_t from,
                                   uint32_t to)
{
    for (uint32_t i = from; i < to; i++) {
        struct phx__names_of *page = &n->pages[i];
        memcpy(list->at + list->count, page->at, page->count * sizeof *page->at);
        list->count += page->count;
        phx__mem_put(n->mem, page->at, page->capacity * sizeof *page->at);
    }
    memmove(n->pages + from, n->pages + to, (n->page_count - to) * sizeof *n->pages);
    n->page_count -= to - from;
}

void phx__names_join_pages(struct phx__names *n)
{
    if (n->page_count > 0)
        names_append(n, n->of, 0, n->page_count);
    n->paged = 0;
}

uint32_t phx__names_count(const struct phx__names *n, uint32_t node)
{
    uint32_t count = node < n->capacity ? n->of[node].count : 0;

    return node == PHX__SELF ? count + n->paged : count;
}

PHX__COLD const struct phx__claim *phx__names_claim(const struct phx__names *n, uint32_t node, uint32_t i)
{
    const struct phx__names_of *list = &n->of[node], *next = n->pages;

    if (i >= phx__names_count(n, node))
        return NULL;
    for (; i >= list->count; list = next++)
        i -= list->count;
    return list->at + i;
}

/* The list of all own claims that meet or touch first..last, NULL: no memory. */
PHX__COLD static struct phx__names_of *names_open(struct phx__names *n, uint64_t first, uint64_t last)
{
    uint32_t i = names_page(n, first - (first > 0)), end = names_page(n, last + (last < UINT64_MAX));
    struct phx__names_of *list = i == 0 ? n->of : &n->pages[i - 1];
    uint32_t more = 0;

    for (uint32_t k = i; k < end; k++)
        more += n->pages[k].count;
    if (phx__mem_grow(n->mem, &list->at, &list->capacity, list->count + more, sizeof *list->at) != 0)
        return NULL;
    n->paged -= i == 0 ? more : 0;
    if (end > i)
        names_append(n, list, i, end);
    return list;
}

/* Room for more claims in the list, and in of[PHX__SELF] for those of all lists. 0, or there is none. */
PHX__COLD static int names_room(struct phx__names *n, struct phx__names_of *list, uint32_t more)
{
    return phx__mem_grow(n->mem, &list->at, &list->capacity, list->count + more, sizeof *list->at) != 0
           || phx__mem_grow(n->mem, &n->of->at, &n->of->capacity, n->of->count + n->paged + more,
                            sizeof *n->of->at) != 0;
}

/* After a change at claim i of a list that had `was` claims. Without memory for a page it stays long. A page
 * is never empty: its first claim begins before all that is released there. */
PHX__COLD static void names_close(struct phx__names *n, struct phx__names_of *list, uint32_t i, uint32_t was)
{
    struct phx__names_of page = { NULL, 0, 0, 0, 0 };
    uint32_t at = list == n->of ? 0 : (uint32_t)(list - n->pages) + 1, half = list->count / 2;

    n->version++;
    n->paged += at > 0 ? list->count - was : 0;
    page.count = list->count - half;
    PHX_ASSERT(at == 0 || list->count > 0);
    if (list->count >= 2 * NAMES_PAGE && list->count - i >= NAMES_PAGE
        && phx__mem_grow(n->mem, &n->pages, &n->page_capacity, n->page_count + 1, sizeof page) == 0
        && phx__mem_grow(n->mem, &page.at, &page.capacity, page.count, sizeof *page.at) == 0) {
        list = at == 0 ? n->of : &n->pages[at - 1]; /* which have moved */
        memcpy(page.at, list->at + half, page.count * sizeof *page.at);
        list->count = half;
        n->paged += at == 0 ? page.count : 0;
        memmove(n->pages + at + 1, n->pages + at, (n->page_count++ - at) * sizeof page);
        n->pages[at] = page;
    }
}

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

/* Puts a claim behind those from..out - 1, or into the last of these: how many more they are. */
static uint32_t names_emit(struct phx__claim *at, uint32_t from, uint32_t out, struct phx__claim c)
{
    int joins = out > from && at[out - 1].last + 1 == c.first && at[out - 1].epoch == c.epoch;

    if (joins)
        at[out - 1].last = c.last;
    else
        at[out] = c;
    return !joins;
}

/* Fills the gaps that own claims i..j - 1 leave in a new one, for which there is room. raises: those that it
 * meets or touches get its epoch. Neighbours of one epoch become one claim. */
PHX__COLD static void names_fill(struct phx__names_of *own, uint32_t i, uint32_t j, uint32_t gaps,
                                 const struct phx__claim *want, int raises)
{
    uint32_t in = i + gaps, out = i;
    struct phx__claim gap = *want;
    int open = 1; /* something of it is left to fill */

    memmove(own->at + in, own->at + i, (own->count - i) * sizeof *own->at);
    for (own->count += gaps; in < j + gaps; in++) {
        struct phx__claim held = own->at[in]; /* out may be its own place */
        gap.last = held.first <= want->last ? held.first - 1 : want->last; /* unused at name 0 */
        if (open && held.first > gap.first)
            out += names_emit(own->at, i, out, gap);
        open &= held.last < want->last;
        if (raises && (held.last >= want->first || held.last + 1 == want->first)
            && (held.first <= want->last || held.first - 1 == want->last))
            held.epoch = PHX__MAX(held.epoch, want->epoch); /* one beyond those that count stays */
        out += names_emit(own->at, i, out, held);
        gap.first = PHX__MAX(held.last + 1, want->first);
    }
    gap.last = want->last;
    if (open)
        out += names_emit(own->at, i, out, gap);
    if (out < in)
        memmove(own->at + out, own->at + in, (own->count - in) * sizeof *own->at);
    own->count -= in - out;
}

static void names_see_epoch(struct phx__names *n, uint64_t epoch)
{
    int counts = epoch <= NAMES_EPOCH_ROOM && epoch <= n->epoch_max + NAMES_EPOCH_LEAP;

    if (counts && epoch > n->epoch_max)
        n->epoch_max = epoch;
    n->beyond |= !counts;
}

/* The epoch of a new claim to first..last: above all that count. 0: there is none. */
PHX__COLD static uint64_t names_next_epoch(const struct phx__names *n, uint64_t first, uint64_t last)
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

PHX__APART static void names_change(struct phx__names *n, uint64_t first, uint64_t last)
{
    struct phx__names_changes *c = &n->changes;

    if (c->count < PHX__COUNT(c->at))
        c->at[c->count] = (struct phx_range){ first, last };
    c->count += c->count <= PHX__COUNT(c->at);
}

/* The node has new claims between these names: the index is patched at the next look-up. */
PHX__COLD static void names_grew(struct phx__names *n, uint32_t node, uint64_t first, uint64_t last)
{
    uint32_t i = 0;

    while (i < n->grown_count && i < PHX__COUNT(n->grown) && n->grown[i].node != node)
        i++;
    if (i == PHX__COUNT(n->grown)) {
        n->grown_count = NAMES_REBUILD;
    } else if (i == n->grown_count) {
        n->grown[n->grown_count++] = (struct phx__names_grown){ node, { first, last } };
    } else {
        n->grown[i].names.first = PHX__MIN(n->grown[i].names.first, first);
        n->grown[i].names.last = PHX__MAX(n->grown[i].names.last, last);
    }
}

/* Is all of this claim among the later ones of its node, at its epoch or above? */
PHX__COLD static int names_outdone(const struct phx__claim *c, const struct phx__names_of *later)
{
    uint32_t i = names_from(later, c->first);

    return i < later->count && later->at[i].first <= c->first && later->at[i].last >= c->last
           && later->at[i].epoch >= c->epoch;
}

/* The claims that are in one of the two only: what a node claimed before, and now. */
static void names_differ(struct phx__names *n, uint32_t node, const struct phx__names_of *a,
                         const struct phx__names_of *b)
{
    for (uint32_t i = 0, k = 0; i < a->count || k < b->count;) {
        const struct phx__claim *c;
        int is_old;

        if (i < a->count && k < b->count && memcmp(&a->at[i], &b->at[k], sizeof *a->at) == 0) {
            i++;
            k++;
            continue;
        }
        is_old = k == b->count || (i < a->count && a->at[i].first <= b->at[k].first);
        c = is_old ? &a->at[i++] : &b->at[k++];
        names_change(n, c->first, c->last);
        if (!is_old)
            names_grew(n, node, c->first, c->last);
        else if (!names_outdone(c, b))
            n->grown_count = NAMES_REBUILD;
    }
}

/* Takes over the memory of new. */
PHX__COLD static void names_replace(struct phx__names *n, uint32_t node, const struct phx__names_of *new)
{
    struct phx__names_of *of = &n->of[node];

    names_differ(n, node, of, new);
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

PHX__COLD void phx__names_free(struct phx__names *n)
{
    phx__names_join_pages(n);
    for (uint32_t node = 0; node < n->capacity; node++)
        phx__mem_put(n->mem, n->of[node].at, n->of[node].capacity * sizeof *n->of[node].at);
    phx__mem_put(n->mem, n->of, n->capacity * sizeof *n->of);
    phx__mem_put(n->mem, n->pages, n->page_capacity * sizeof *n->pages);
    phx__names_index_free(&n->index);
    phx__mem_put(n->mem, n->conflicts, n->conflict_capacity * sizeof *n->conflicts);
    phx__names_init(n, n->mem, n->ids);
}

PHX__COLD int phx__names_assume(struct phx__names *n, uint64_t first, uint64_t last)
{
    struct phx__names_of *own;
    struct phx__claim want = { first, last, 0 };
    uint32_t i, j, gaps, was;

    if (first > last)
        return PHX_ERANGE;
    if (phx__mem_grow(n->mem, &n->of, &n->capacity, PHX__SELF + 1, sizeof *n->of) != 0
        || (own = names_open(n, first, last)) == NULL)
        return PHX_ENOMEM;
    was = own->count;
    i = names_from(own, first);
    if ((gaps = names_gaps(own, i, first, last)) == 0)
        return 0;
    want.epoch = names_next_epoch(n, first, last);
    if (gaps > PHX__CARD_CLAIMS - n->of->count - n->paged || want.epoch == 0)
        return PHX_ELIMIT;
    if (names_room(n, own, gaps) != 0)
        return PHX_ENOMEM;
    names_see_epoch(n, want.epoch);
    j = names_past(own, i, last);
    j += j < own->count;
    i -= i > 0;
    names_fill(own, i, j, gaps, &want, want.epoch == n->epoch_max && !n->keep);
    names_grew(n, PHX__SELF, first, last);
    names_change(n, first, last);
    names_close(n, own, i, was);
    return 1;
}

PHX__COLD int phx__names_release(struct phx__names *n, uint64_t first, uint64_t last)
{
    struct phx__names_of *own;
    struct phx__claim piece[2]; /* what remains of the first one and of the last */
    uint32_t i, j, pieces = 0, was;

    if (first > last)
        return PHX_ERANGE;
    if (n->capacity == 0)
        return 0;
    if ((own = names_open(n, first, last)) == NULL)
        return PHX_ENOMEM;
    was = own->count;
    i = names_from(own, first);
    j = names_past(own, i, last);
    if (i == j)
        return 0;
    if (own->at[i].first < first)
        piece[pieces++] = (struct phx__claim){ own->at[i].first, first - 1, own->at[i].epoch };
    if (own->at[j - 1].last > last)
        piece[pieces++] = (struct phx__claim){ last + 1, own->at[j - 1].last, own->at[j - 1].epoch };
    if (i + pieces > j && n->of->count + n->paged == PHX__CARD_CLAIMS)
        return PHX_ELIMIT; /* a hole in the middle makes one claim more than a card can hold */
    if (names_room(n, own, i + pieces > j) != 0)
        return PHX_ENOMEM;
    memmove(own->at + i + pieces, own->at + j, (own->count - j) * sizeof *own->at);
    memcpy(own->at + i, piece, pieces * sizeof *own->at);
    own->count += i + pieces - j;
    n->grown_count = NAMES_REBUILD;
    names_change(n, first, last);
    names_close(n, own, i, was);
    return 1;
}

PHX__COLD int phx__names_set(struct phx__names *n, uint32_t node, const struct phx__card *card)
{
    struct phx__names_of theirs = { NULL, 0, 0, 0, 0 };
    uint32_t i, count = card->flags & PHX__CARD_LEFT ? 0 : card->claim_count;
    int same, changed;

    PHX_ASSERT(node != PHX__SELF && node != PHX__NONE && count <= PHX__CARD_CLAIMS);
    phx__names_join_pages(n);
    if (count == 0 && node >= n->capacity)
        return 0; /* many nodes have no names, and take no room here */
    if (phx__mem_grow(n->mem, &n->of, &n->capacity, node + 1, sizeof *n->of) != 0
        || (count > 0 && (theirs.at = phx__mem_get(n->mem, count * sizeof *theirs.at)) == NULL))
        return PHX_ENOMEM;
    theirs.count = theirs.capacity = count;
    for (i = 0; i < count; i++) {
        phx__wire_route_claim(card, i, &theirs.at[i]);
        theirs.at[i].epoch = PHX__MIN(theirs.at[i].epoch, NAMES_EPOCH_TOP);
    }
    theirs.dead = n->of[node].dead;
    /* Cards come again for other reasons than names: ours never lose against what is known. */
    same = count == n->of[node].count
           && (count == 0 || memcmp(theirs.at, n->of[node].at, count * sizeof *theirs.at) == 0);
    changed = same || theirs.dead ? 0 : names_contest(n, node, &theirs);
    if (same || changed < 0) {
        phx__mem_put(n->mem, theirs.at, count * sizeof *theirs.at);
        return changed;
    }
    for (i = 0; i < count; i++)
        names_see_epoch(n, theirs.at[i].epoch);
    names_replace(n, node, &theirs);
    return changed;
}

PHX__COLD int phx__names_dead(struct phx__names *n, uint32_t node, int dead)
{
    const struct phx__names_of none = { NULL, 0, 0, 0, 0 };
    int changed = 0;

    PHX_ASSERT(node != PHX__SELF);
    if (node >= n->capacity || n->of[node].dead == (uint32_t)dead)
        return 0;
    phx__names_join_pages(n);
    if (!dead && n->of[node].trimmed)
        phx__names_forget(n, node);
    else if (!dead && (changed = names_contest(n, node, &n->of[node])) < 0)
        return changed;
    n->of[node].dead = (uint32_t)dead;
    names_differ(n, node, &n->of[node], &none);
    n->version += n->of[node].count > 0;
    n->dead_version++;
    return changed;
}

PHX__COLD void phx__names_trim(struct phx__names *n, uint32_t node)
{
    struct phx__names_of *of = node < n->capacity ? &n->of[node] : NULL;
    struct phx__claim *rest;

    if (of == NULL || !of->dead || of->count <= PHX__NAMES_DEAD + 1)
        return;
    rest = &of->at[PHX__NAMES_DEAD];
    rest->last = of->at[of->count - 1].last;
    for (; of->count > PHX__NAMES_DEAD + 1; of->count--)
        rest->epoch = PHX__MAX(rest->epoch, of->at[of->count - 1].epoch);
    of->trimmed = 1;
    phx__mem_fit(n->mem, &of->at, &of->capacity, of->count, sizeof *of->at);
    n->version++;
    n->dead_version++;
}

PHX__COLD void phx__names_forget(struct phx__names *n, uint32_t node)
{
    const struct phx__names_of none = { NULL, 0, 0, 0, 0 };

    PHX_ASSERT(node != PHX__SELF);
    if (node < n->capacity && (n->of[node].count > 0 || n->of[node].dead))
        names_replace(n, node, &none);
}

/* Gives a node what its claim wins. 0 or PHX_ENOMEM. */
PHX__COLD static int names_patch_claim(struct phx__names *n, uint32_t node, const struct phx__claim *c,
                                       uint32_t most)
{
    struct phx_range part;

    for (uint64_t name = c->first;; name = part.last + 1) {
        uint32_t owner = phx__names_index_look(&n->index, name, &part);
        const struct phx__names_of *of = owner == PHX__NONE ? NULL : &n->of[owner];
        uint32_t i = of == NULL ? 0 : names_from(of, name);
        int wins = owner != node;
        part = (struct phx_range){ name, PHX__MIN(part.last, c->last) };
        if (of != NULL && i < of->count) { /* of an owner that has lost it the claim may be gone */
            int holds = of->at[i].first <= name;
            part.last = PHX__MIN(part.last, holds ? of->at[i].last : of->at[i].first - 1);
            wins &= !holds || phx__names_index_beats(n->ids, c->epoch, node, of->at[i].epoch, owner);
        }
        if (wins && phx__names_index_put(&n->index, &part, node) != 0)
            return PHX_ENOMEM;
        if (part.last == c->last || n->index.recent_count > most)
            return 0;
    }
}

/* Brings the index up to date: patches it where few claims are new, and none that counted is gone. */
PHX__COLD static int names_renew_index(struct phx__names *n)
{
    uint32_t k, i, looked = 0, most = n->index.count / 64 + NAMES_PATCHED;
    int err = 0;

    phx__names_join_pages(n);
    for (k = 0; k < n->grown_count && n->grown_count != NAMES_REBUILD; k++) {
        const struct phx__names_of *of = &n->of[n->grown[k].node];
        struct phx_range hull = n->grown[k].names;
        for (i = of->dead ? of->count : names_from(of, hull.first);
             i < of->count && of->at[i].first <= hull.last && err == 0; i++) {
            if (n->index.recent_count > most || looked++ > most) {
                n->grown_count = NAMES_REBUILD; /* also if there is no memory for it now */
                break;
            }
            err = names_patch_claim(n, n->grown[k].node, &of->at[i], most);
        }
    }
    if (n->index.recent_count > most)
        n->grown_count = NAMES_REBUILD;
    return n->grown_count == NAMES_REBUILD ? phx__names_index_build(&n->index, n->of, n->capacity, 0) : err;
}

uint32_t phx__names_owner(struct phx__names *n, uint64_t name, struct phx_range *around, int *error)
{
    struct phx_range range = { name, name };
    uint32_t owner = PHX__NONE, i;
    int err = 0;

    if (n->indexed != n->version)
        err = names_renew_index(n);
    if (err == 0) {
        n->indexed = n->version;
        n->grown_count = 0;
        owner = phx__names_index_look(&n->index, name, &range);
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

uint64_t phx__names_epoch(struct phx__names *n, uint64_t first, uint64_t last)
{
    const struct phx__names_of *own = n->of; /* PHX__SELF is the first */
    uint64_t epoch = n->epoch_max;

    phx__names_join_pages(n);
    if (n->capacity > 0)
        for (uint32_t i = names_from(own, first); i < own->count && own->at[i].first <= last; i++)
            epoch = PHX__MAX(epoch, own->at[i].epoch);
    return epoch;
}

int phx__names_held(struct phx__names *n, uint32_t node, const struct phx_range *range,
                    uint64_t epoch, struct phx_range *out)
{
    const struct phx__names_of *of = node < n->capacity ? &n->of[node] : NULL;
    int err;

    phx__names_join_pages(n);
    for (uint32_t i = of == NULL ? 0 : names_from(of, range->first); of != NULL && i < of->count; i++) {
        const struct phx__claim *c = &of->at[i];
        uint64_t name = PHX__MAX(c->first, range->first), end = PHX__MIN(c->last, range->last);
        struct phx_range around = { 0, 0 };
        if (c->first > range->last)
            break;
        for (; c->epoch <= epoch && name <= end; name = around.last + 1) {
            uint32_t owner = phx__names_owner(n, name, &around, &err);
            if (err != 0)
                return err;
            if (owner == node) {
                *out = (struct phx_range){ name, PHX__MIN(around.last, end) };
                return 1;
            }
            if (around.last >= end) /* which may be the last name of all */
                break;
        }
    }
    return 0;
}

PHX__COLD int phx__names_take_conflict(struct phx__names *n, struct phx__names_conflict *out)
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
