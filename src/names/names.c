/* names.c - BRAIN: which virtual nodes live where: claims, epochs, conflicts. */

/* What this room promises
 *
 *   A *claim* says "names first..last are mine, since epoch e". A node's claims are sorted and
 *   disjoint; claims of different nodes may overlap, after a bug or a healed partition. Where they
 *   do, the higher (epoch, id) wins. That order is total and depends on nothing but the claims, so
 *   two nodes that have heard the same cards give the same answer for each name, in whatever order
 *   the cards came.
 *
 *   Our own claims never lose against a claim we know of: phx__names_assume outbids all of them and
 *   phx__names_set cuts at once what a newly heard claim wins. Each name cut that way is queued
 *   once for the application. What we win is left to the other side: it will do the same cut when
 *   it hears of us, and until then its claim lies in the shadow of ours.
 *
 *   A call that returns an error has changed nothing, and a lookup without memory says so.
 *
 * What it refuses to know
 *
 *   Whether a node is reachable, what is on its way to a name, how a card travels, and time.
 *   step.c forgets nodes, spreads cards and holds messages. Index numbers of nodes may be used again
 *   after phx__names_forget, so take what was lost before forgetting the winner.
 *
 * Epochs
 *
 *   A new claim gets one more than the highest epoch ever seen, from anybody (a Lamport clock), so
 *   "assumed last, knowing of the other" always wins. Parts that are held already keep their epoch:
 *   raising it would tell every node about a change that is none. One consequence: adjacent ranges
 *   assumed one by one differ in epoch and stay separate claims.
 *
 *   Epochs stop at UINT64_MAX - 1. A higher one in a card counts as that, so that a broken or
 *   hostile card neither makes ours wrap to 0 nor is out of reach. Once somebody has claimed there,
 *   all new claims are equal in epoch and ids alone decide: assuming a name from a node with a
 *   lower id works as ever, and against a higher id phx__names_assume says PHX_ELIMIT until that
 *   claim is gone. Honest nodes never come near: a million claims a second take half a million
 *   years.
 *
 * The index
 *
 *   A sorted array of disjoint segments {first, last, owner}, neighbours of one owner merged, so a
 *   lookup is one binary search and the segment is the widest range with that answer. Three states:
 *
 *               claim in a free place, or one gone
 *                       .------.
 *                       v      |
 *      start -------> DISJOINT -'------ overlap, many changes, ------> STALE
 *                       ^               no memory                      ^   |
 *                       |                                              |   | lookup
 *                       |   no two overlap                             |   v
 *                       '----------------------------------------------|- rebuild
 *                                                                      |   |
 *                      SHADOWED -------- overlap, or one gone ---------'   | some overlap
 *                       |   ^ ^                                            |
 *                       '---' '--------------------------------------------'
 *               claim in a free place
 *
 *   While no two claims overlap, the index is exactly the claims, and a change is a change of one
 *   or two segments in place. Once a claim lies in another's shadow, taking the upper one away
 *   would need a search for the lower, so then we build anew, at the next lookup and not before: a
 *   node that joins hears a thousand cards in a row and asks afterwards. A new claim where nobody
 *   has one is put in place either way, so that a conflict elsewhere does not slow arrivals down.
 *
 *   The build is a sweep from name 0 upwards over two heaps: for each node the next claim, lowest
 *   first, and the claims open at this point, strongest first. A claim that ended while buried in
 *   the second heap is thrown away when it surfaces. O(c log n) for c claims of n nodes without
 *   overlaps, never worse than O(c log c).
 */
#include "names/names.h"

/* One below the top, so that one more is always representable. */
#define NAMES_EPOCH_TOP (UINT64_MAX - 1)

/* More differences than this in one call are left to a rebuild. At 100,000 segments one costs a
 * memmove of 1.2 MB on average, up to 0.1 ms, and a rebuild measured 5 to 6 ms. */
#define NAMES_PATCH_MAX 64u

enum names_state {
    NAMES_DISJOINT = 0, /* the index is right, and no two claims overlap */
    NAMES_SHADOWED,     /* the index is right, but some claim lies under another */
    NAMES_STALE         /* the index is wrong */
};

struct phx__names_index {
    uint64_t first, last;
    uint32_t owner;
};

/* ---- Claims ---------------------------------------------------------------------------------- */

/* The first claim that ends at name or after it, or count. */
static uint32_t names_at(const struct phx__names_of *of, uint64_t name)
{
    uint32_t low = 0, high = of->count;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (of->at[middle].last < name)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* One past the last claim that begins at last or before it, counting from claim i. */
static uint32_t names_past(const struct phx__names_of *of, uint32_t i, uint64_t last)
{
    while (i < of->count && of->at[i].first <= last)
        i++;
    return i;
}

/* The order that everybody agrees on. */
static int names_beats(const struct phx__ids *ids, uint64_t epoch, uint32_t node,
                       uint64_t other_epoch, uint32_t other)
{
    if (epoch != other_epoch)
        return epoch > other_epoch;
    return phx__id_compare(&ids->at[node], &ids->at[other]) > 0;
}

/* ---- The index, changed in place ------------------------------------------------------------- */

/* The first segment that ends at name or after it, or index_count. */
static uint32_t names_segment(const struct phx__names *n, uint64_t name)
{
    uint32_t low = 0, high = n->index_count;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (n->index[middle].last < name)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static int names_insert(struct phx__names *n, uint32_t i, uint64_t first, uint64_t last,
                        uint32_t owner)
{
    struct phx__names_index *at;

    if (phx__mem_grow(n->mem, &n->index, &n->index_capacity, n->index_count + 1, sizeof *at) != 0)
        return PHX_ENOMEM;
    at = n->index + i;
    memmove(at + 1, at, (n->index_count - i) * sizeof *at);
    n->index_count++;
    at->first = first;
    at->last = last;
    at->owner = owner;
    return 0;
}

static void names_remove(struct phx__names *n, uint32_t i)
{
    struct phx__names_index *at = n->index + i;

    n->index_count--;
    memmove(at, at + 1, (n->index_count - i) * sizeof *at);
}

/* A new claim of node covers first..last. The index goes stale if that is not all free. */
static void names_index_add(struct phx__names *n, uint32_t node, uint64_t first, uint64_t last)
{
    struct phx__names_index *at = n->index;
    uint32_t i = names_segment(n, first);
    int left, right; /* does it continue its neighbour there? */

    if (i < n->index_count && at[i].first <= last)
        n->stale = NAMES_STALE;
    if (n->stale == NAMES_STALE)
        return;
    left = i > 0 && at[i - 1].owner == node && at[i - 1].last + 1 == first;
    right = i < n->index_count && at[i].owner == node && last + 1 == at[i].first;
    if (left && right) {
        at[i - 1].last = at[i].last;
        names_remove(n, i);
    } else if (left) {
        at[i - 1].last = last;
    } else if (right) {
        at[i].first = first;
    } else if (names_insert(n, i, first, last, node) != 0) {
        n->stale = NAMES_STALE;
    }
}

/* A claim, or part of one, that covered first..last is gone. With shadows about, the index does not
 * say who comes to light. */
static void names_index_cut(struct phx__names *n, uint64_t first, uint64_t last)
{
    struct phx__names_index *at;
    uint32_t i = names_segment(n, first);
    int left, right; /* does something remain there? */

    if (n->stale != NAMES_DISJOINT) {
        n->stale = NAMES_STALE;
        return;
    }
    at = n->index + i;
    PHX_ASSERT(i < n->index_count && at->first <= first && last <= at->last);
    left = at->first < first;
    right = at->last > last;
    if (left && right) {
        if (names_insert(n, i + 1, last + 1, at->last, at->owner) != 0)
            n->stale = NAMES_STALE;
        else
            n->index[i].last = first - 1; /* the array may have moved */
    } else if (left) {
        at->last = first - 1;
    } else if (right) {
        at->first = last + 1;
    } else {
        names_remove(n, i);
    }
}

/* What node claims turns from one list into another. An epoch alone matters only where claims
 * overlap. */
static void names_patch(struct phx__names *n, uint32_t node, const struct phx__names_of *old,
                        const struct phx__names_of *new)
{
    const struct phx__claim *gone[NAMES_PATCH_MAX], *came[NAMES_PATCH_MAX];
    uint32_t i = 0, j = 0, k, gone_count = 0, came_count = 0;

    while (n->stale != NAMES_STALE && (i < old->count || j < new->count)) {
        const struct phx__claim *a = i < old->count ? &old->at[i] : NULL;
        const struct phx__claim *b = j < new->count ? &new->at[j] : NULL;

        if (a != NULL && b != NULL && a->first == b->first && a->last == b->last
            && (a->epoch == b->epoch || n->stale == NAMES_DISJOINT)) {
            i++;
            j++;
        } else if (gone_count + came_count == NAMES_PATCH_MAX) {
            n->stale = NAMES_STALE;
        } else if (b == NULL || (a != NULL && a->first <= b->first)) {
            gone[gone_count++] = a;
            i++;
        } else {
            came[came_count++] = b;
            j++;
        }
    }
    /* First out, then in: a claim that grew overlaps its former self. */
    for (k = 0; k < gone_count; k++)
        names_index_cut(n, gone[k]->first, gone[k]->last);
    for (k = 0; k < came_count; k++)
        names_index_add(n, node, came[k]->first, came[k]->last);
}

/* ---- The index, built anew ------------------------------------------------------------------- */

/* A claim on its way through the sweep. */
struct names_item {
    uint64_t first, last, epoch;
    uint32_t node;
    uint32_t next; /* which of the node's claims comes after it */
};

struct names_heap {
    struct phx__mem *mem;
    const struct phx__ids *ids;
    int (*before)(const struct phx__ids *ids, const struct names_item *a,
                  const struct names_item *b);
    struct names_item *item;
    uint32_t count, capacity;
};

static int names_is_lower(const struct phx__ids *ids, const struct names_item *a,
                          const struct names_item *b)
{
    (void)ids;
    return a->first < b->first;
}

static int names_is_stronger(const struct phx__ids *ids, const struct names_item *a,
                             const struct names_item *b)
{
    return names_beats(ids, a->epoch, a->node, b->epoch, b->node);
}

static void names_heap_init(struct names_heap *h, struct phx__names *n,
                            int (*before)(const struct phx__ids *, const struct names_item *,
                                          const struct names_item *))
{
    memset(h, 0, sizeof *h);
    h->mem = n->mem;
    h->ids = n->ids;
    h->before = before;
}

static int names_heap_push(struct names_heap *h, const struct names_item *x)
{
    uint32_t i = h->count;

    if (phx__mem_grow(h->mem, &h->item, &h->capacity, h->count + 1, sizeof *h->item) != 0)
        return PHX_ENOMEM;
    h->count++;
    while (i > 0 && h->before(h->ids, x, &h->item[(i - 1) / 2])) {
        h->item[i] = h->item[(i - 1) / 2];
        i = (i - 1) / 2;
    }
    h->item[i] = *x;
    return 0;
}

/* Puts x in the place of the top and lets it sink. x must not point into the heap. */
static void names_heap_replace(struct names_heap *h, const struct names_item *x)
{
    uint32_t i = 0, child;

    while ((child = 2 * i + 1) < h->count) {
        if (child + 1 < h->count && h->before(h->ids, &h->item[child + 1], &h->item[child]))
            child++;
        if (!h->before(h->ids, &h->item[child], x))
            break;
        h->item[i] = h->item[child];
        i = child;
    }
    h->item[i] = *x;
}

static void names_heap_pop(struct names_heap *h)
{
    struct names_item x = h->item[--h->count];

    if (h->count > 0)
        names_heap_replace(h, &x);
}

/* The node's claim number i as an item; 0 if it has no such claim. */
static int names_item_get(const struct phx__names *n, uint32_t node, uint32_t i,
                          struct names_item *x)
{
    const struct phx__names_of *of = &n->of[node];

    if (of->dead || i >= of->count)
        return 0;
    x->first = of->at[i].first;
    x->last = of->at[i].last;
    x->epoch = of->at[i].epoch;
    x->node = node;
    x->next = i + 1;
    return 1;
}

/* Appends a segment, or lengthens the last one. */
static int names_emit(struct phx__names *n, uint64_t first, uint64_t last, uint32_t owner)
{
    struct phx__names_index *end;

    if (n->index_count > 0) {
        end = &n->index[n->index_count - 1];
        if (end->owner == owner && end->last + 1 == first) {
            end->last = last;
            return 0;
        }
    }
    return names_insert(n, n->index_count, first, last, owner);
}

/* Gives the names from..until to whoever is strongest among the open claims. */
static int names_sweep_to(struct phx__names *n, struct names_heap *open, uint64_t from,
                          uint64_t until)
{
    while (open->count > 0) {
        struct names_item top = open->item[0];
        uint64_t end = top.last < until ? top.last : until;

        if (top.last < from) { /* it ended in another's shadow */
            names_heap_pop(open);
            continue;
        }
        if (names_emit(n, from, end, top.node) != 0)
            return PHX_ENOMEM;
        if (top.last == end)
            names_heap_pop(open);
        if (end == until)
            break;
        from = end + 1;
    }
    return 0;
}

/* Takes all claims in order of their first names and leaves the finished index. */
static int names_sweep(struct phx__names *n, struct names_heap *waiting, struct names_heap *open)
{
    struct names_item x;
    uint64_t from = 0;
    int shadowed = 0;

    n->index_count = 0;
    while (waiting->count > 0) {
        x = waiting->item[0];
        if (x.first > from && names_sweep_to(n, open, from, x.first - 1) != 0)
            return PHX_ENOMEM;
        from = x.first;
        /* A stronger claim that ended may hide a weaker one that goes on, but those two overlapped
         * and were noticed before. */
        shadowed |= open->count > 0 && open->item[0].last >= from;
        if (names_heap_push(open, &x) != 0)
            return PHX_ENOMEM;
        if (names_item_get(n, x.node, x.next, &x))
            names_heap_replace(waiting, &x);
        else
            names_heap_pop(waiting);
    }
    if (names_sweep_to(n, open, from, UINT64_MAX) != 0)
        return PHX_ENOMEM;
    n->stale = shadowed ? NAMES_SHADOWED : NAMES_DISJOINT;
    return 0;
}

static int names_rebuild(struct phx__names *n)
{
    struct names_heap waiting, open;
    struct names_item x;
    uint32_t node;
    int err = 0;

    names_heap_init(&waiting, n, names_is_lower);
    names_heap_init(&open, n, names_is_stronger);
    for (node = 0; node < n->capacity && err == 0; node++)
        if (names_item_get(n, node, 0, &x))
            err = names_heap_push(&waiting, &x);
    if (err == 0)
        err = names_sweep(n, &waiting, &open);
    phx__mem_put(n->mem, waiting.item, waiting.capacity * sizeof *waiting.item);
    phx__mem_put(n->mem, open.item, open.capacity * sizeof *open.item);
    return err;
}

/* ---- Own claims that lose -------------------------------------------------------------------- */

/* How many pairs of an own claim and one of node's meet where node's is higher. Searches instead of
 * walking both lists: the usual card has few claims, and none of them meets ours. */
static uint32_t names_losses(const struct phx__names *n, uint32_t node,
                             const struct phx__names_of *theirs)
{
    const struct phx__names_of *own = &n->of[PHX__SELF];
    uint32_t i, k, losses = 0;

    for (i = 0; i < theirs->count; i++) {
        const struct phx__claim *c = &theirs->at[i];

        for (k = names_at(own, c->first); k < own->count && own->at[k].first <= c->last; k++)
            losses += (uint32_t)names_beats(n->ids, c->epoch, node, own->at[k].epoch, PHX__SELF);
    }
    return losses;
}

/* The queue stands in memory newest first, so that taking the oldest is taking the last. Moves what
 * waits up by count; the caller fills lost[count - 1] down to lost[0]. There must be room. */
static void names_lost_shift(struct phx__names *n, uint32_t count)
{
    memmove(n->lost + count, n->lost, n->lost_count * sizeof *n->lost);
    n->lost_count += count;
}

static void names_lost_fill(struct phx__names_conflict *lost, uint64_t first, uint64_t last,
                            uint32_t winner)
{
    lost->range.first = first;
    lost->range.last = last;
    lost->winner = winner;
}

/* Cuts what node wins out of the own claim mine. i is the first of node's claims that may meet it.
 * Appends what remains to *left and writes what is lost downwards from *lost. */
static void names_split(const struct phx__names *n, uint32_t node, struct phx__claim mine,
                        const struct phx__names_of *theirs, uint32_t i,
                        struct phx__names_of *left, struct phx__names_conflict **lost)
{
    uint64_t last = mine.last;

    for (; i < theirs->count && theirs->at[i].first <= last; i++) {
        const struct phx__claim *c = &theirs->at[i];

        if (!names_beats(n->ids, c->epoch, node, mine.epoch, PHX__SELF))
            continue;
        if (mine.first < c->first) {
            left->at[left->count] = mine;
            left->at[left->count++].last = c->first - 1;
            mine.first = c->first;
        }
        names_lost_fill(--*lost, mine.first, c->last < last ? c->last : last, node);
        if (c->last >= last)
            return;
        mine.first = c->last + 1;
    }
    left->at[left->count++] = mine;
}

/* A card has room for PHX__CARD_CLAIMS claims, and a hostile one can cut ours into more than that.
 * What does not fit is given up, and the application told, rather than held in secret: nobody would
 * send messages there. */
static void names_give_up(struct phx__names *n, uint32_t winner)
{
    struct phx__names_of *own = &n->of[PHX__SELF];
    uint32_t i, surplus;

    if (own->count <= PHX__CARD_CLAIMS)
        return;
    surplus = own->count - PHX__CARD_CLAIMS;
    names_lost_shift(n, surplus);
    for (i = 0; i < surplus; i++) {
        const struct phx__claim *c = &own->at[PHX__CARD_CLAIMS + i];

        names_lost_fill(&n->lost[surplus - 1 - i], c->first, c->last, winner);
    }
    own->count = PHX__CARD_CLAIMS;
}

/* Own claims against those of node. 1 if some were lost, 0 if not; PHX_ENOMEM: nothing changed. */
static int names_contest(struct phx__names *n, uint32_t node, const struct phx__names_of *theirs)
{
    struct phx__names_of *own = &n->of[PHX__SELF], left;
    struct phx__names_conflict *lost;
    uint32_t i, k = 0, losses = names_losses(n, node, theirs), surplus;

    if (losses == 0)
        return 0;
    left.count = left.dead = 0;
    left.capacity = own->count + losses; /* each loss makes at most one piece more */
    surplus = left.capacity > PHX__CARD_CLAIMS ? left.capacity - PHX__CARD_CLAIMS : 0;
    if (phx__mem_grow(n->mem, &n->lost, &n->lost_capacity, n->lost_count + losses + surplus,
                      sizeof *n->lost) != 0)
        return PHX_ENOMEM;
    left.at = phx__mem_get(n->mem, left.capacity * sizeof *left.at);
    if (left.at == NULL)
        return PHX_ENOMEM;
    names_lost_shift(n, losses);
    lost = n->lost + losses;
    for (i = 0; i < own->count; i++) {
        while (k < theirs->count && theirs->at[k].last < own->at[i].first)
            k++;
        names_split(n, node, own->at[i], theirs, k, &left, &lost);
    }
    PHX_ASSERT(lost == n->lost && left.count <= left.capacity);
    phx__mem_put(n->mem, own->at, own->capacity * sizeof *own->at);
    *own = left;
    names_give_up(n, node);
    n->stale = NAMES_STALE; /* conflicts are rare: not worth patching */
    return 1;
}

/* ---- Own claims that change ------------------------------------------------------------------ */

/* How many stretches of first..last are not ours. Claim i is the first that may meet the range. */
static uint32_t names_gaps(const struct phx__names_of *own, uint32_t i, uint64_t first,
                           uint64_t last)
{
    uint32_t gaps = 0;

    for (; i < own->count && own->at[i].first <= last; i++) {
        if (first < own->at[i].first)
            gaps++;
        if (own->at[i].last >= last)
            return gaps;
        first = own->at[i].last + 1;
    }
    return gaps + 1;
}

/* Fills the gaps of first..last with claims; claims i..j-1 meet the range and there is room for
 * `gaps` more. Works from the top down, so nothing moves twice. */
static void names_fill(struct phx__names *n, uint32_t i, uint32_t j, uint32_t gaps,
                       struct phx__claim want)
{
    struct phx__names_of *own = &n->of[PHX__SELF];
    struct phx__claim *at = own->at, gap = want;
    uint32_t out = j + gaps;

    if (gaps > NAMES_PATCH_MAX)
        n->stale = NAMES_STALE;
    memmove(at + out, at + j, (own->count - j) * sizeof *at);
    own->count += gaps;
    while (out > i) {
        if (j == i || at[j - 1].last < gap.last) {
            gap.first = j == i ? want.first : at[j - 1].last + 1;
            names_index_add(n, PHX__SELF, gap.first, gap.last);
            at[--out] = gap;
        }
        if (j > i) {
            struct phx__claim held = at[--j]; /* out may be its own place */

            at[--out] = held;
            gap.last = held.first - 1; /* wraps only at name 0, and then nothing is left to do */
        }
    }
}

/* Joins own neighbours of the same epoch. */
static void names_join(struct phx__names_of *own)
{
    uint32_t i, out = 0;

    for (i = 1; i < own->count; i++) {
        struct phx__claim *end = &own->at[out];

        if (end->last + 1 == own->at[i].first && end->epoch == own->at[i].epoch)
            end->last = own->at[i].last;
        else
            own->at[++out] = own->at[i];
    }
    own->count = out + 1;
}

/* With epochs used up: does a claim that ours cannot beat meet first..last? */
static int names_is_beyond(const struct phx__names *n, uint64_t first, uint64_t last)
{
    uint32_t node;

    for (node = PHX__SELF + 1; node < n->capacity; node++) {
        const struct phx__names_of *of = &n->of[node];
        uint32_t i = names_at(of, first);

        for (; i < of->count && of->at[i].first <= last; i++)
            if (names_beats(n->ids, of->at[i].epoch, node, NAMES_EPOCH_TOP, PHX__SELF))
                return 1;
    }
    return 0;
}

/* Tells the index that first..last is no longer ours; claims i..j-1 meet it. */
static void names_unindex(struct phx__names *n, uint32_t i, uint32_t j, uint64_t first,
                          uint64_t last)
{
    const struct phx__claim *at = n->of[PHX__SELF].at;

    if (j - i > NAMES_PATCH_MAX)
        n->stale = NAMES_STALE;
    for (; i < j && n->stale != NAMES_STALE; i++)
        names_index_cut(n, at[i].first > first ? at[i].first : first,
                        at[i].last < last ? at[i].last : last);
}

/* ---- Claims of others ------------------------------------------------------------------------ */

static void names_decode(const struct phx__card *card, uint32_t i, struct phx__claim *out)
{
    phx__wire_claim(card, i, out);
    if (out->epoch > NAMES_EPOCH_TOP)
        out->epoch = NAMES_EPOCH_TOP;
}

/* Cards come again for other reasons than names, such as a new address. */
static int names_is_same(const struct phx__names *n, uint32_t node, const struct phx__card *card,
                         uint32_t count)
{
    struct phx__claim c;
    uint32_t i;

    if (node >= n->capacity)
        return count == 0;
    if (n->of[node].count != count)
        return 0;
    for (i = 0; i < count; i++) {
        const struct phx__claim *have = &n->of[node].at[i];

        names_decode(card, i, &c);
        if (have->first != c.first || have->last != c.last || have->epoch != c.epoch)
            return 0;
    }
    return 1;
}

/* Takes over the memory of new. */
static void names_replace(struct phx__names *n, uint32_t node, const struct phx__names_of *new)
{
    struct phx__names_of *of = &n->of[node];

    if (of->dead)
        n->stale = NAMES_STALE; /* what is not in the index cannot be patched */
    else
        names_patch(n, node, of, new);
    phx__mem_put(n->mem, of->at, of->capacity * sizeof *of->at);
    *of = *new;
    n->version++;
}

/* ---- The door -------------------------------------------------------------------------------- */

void phx__names_init(struct phx__names *n, struct phx__mem *mem, struct phx__ids *ids)
{
    memset(n, 0, sizeof *n);
    n->mem = mem;
    n->ids = ids;
    n->stale = NAMES_DISJOINT; /* nothing is claimed, and the empty index says so */
}

void phx__names_free(struct phx__names *n)
{
    uint32_t node;

    for (node = 0; node < n->capacity; node++)
        phx__mem_put(n->mem, n->of[node].at, n->of[node].capacity * sizeof *n->of[node].at);
    phx__mem_put(n->mem, n->of, n->capacity * sizeof *n->of);
    phx__mem_put(n->mem, n->index, n->index_capacity * sizeof *n->index);
    phx__mem_put(n->mem, n->lost, n->lost_capacity * sizeof *n->lost);
    phx__names_init(n, n->mem, n->ids);
}

int phx__names_assume(struct phx__names *n, uint64_t first, uint64_t last)
{
    struct phx__names_of *own;
    struct phx__claim want;
    uint32_t i, gaps;
    int used_up = n->epoch_max >= NAMES_EPOCH_TOP;

    if (first > last)
        return PHX_ERANGE;
    if (phx__mem_grow(n->mem, &n->of, &n->capacity, PHX__SELF + 1, sizeof *n->of) != 0)
        return PHX_ENOMEM;
    own = &n->of[PHX__SELF];
    i = names_at(own, first);
    gaps = names_gaps(own, i, first, last);
    if (gaps == 0)
        return 0;
    if (gaps > PHX__CARD_CLAIMS - own->count || (used_up && names_is_beyond(n, first, last)))
        return PHX_ELIMIT;
    if (phx__mem_grow(n->mem, &own->at, &own->capacity, own->count + gaps, sizeof *own->at) != 0)
        return PHX_ENOMEM;
    if (!used_up)
        n->epoch_max++;
    want.first = first;
    want.last = last;
    want.epoch = n->epoch_max;
    names_fill(n, i, names_past(own, i, last), gaps, want);
    if (used_up) /* else the new claims have an epoch of their own */
        names_join(own);
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
    i = names_at(own, first);
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
    names_unindex(n, i, j, first, last);
    if (left)
        own->at[i].last = first - 1;
    memmove(own->at + keep, own->at + j, (own->count - j) * sizeof *own->at);
    own->count = own->count - j + keep;
    if (right) {
        end.first = last + 1;
        own->at[keep - 1] = end;
    }
    n->version++;
    return 1;
}

int phx__names_set(struct phx__names *n, uint32_t node, const struct phx__card *card)
{
    struct phx__names_of theirs = {NULL, 0, 0, 0};
    uint32_t i, count = card->flags & PHX__CARD_LEFT ? 0 : card->claim_count;
    int changed;

    PHX_ASSERT(node != PHX__SELF && node != PHX__NONE && count <= PHX__CARD_CLAIMS);
    if (names_is_same(n, node, card, count))
        return 0; /* ours never lose against what is known, so there is nothing to contest */
    if (phx__mem_grow(n->mem, &n->of, &n->capacity, node + 1, sizeof *n->of) != 0)
        return PHX_ENOMEM;
    if (count > 0 && (theirs.at = phx__mem_get(n->mem, count * sizeof *theirs.at)) == NULL)
        return PHX_ENOMEM;
    theirs.count = theirs.capacity = count;
    for (i = 0; i < count; i++)
        names_decode(card, i, &theirs.at[i]);
    theirs.dead = n->of[node].dead;
    changed = theirs.dead ? 0 : names_contest(n, node, &theirs);
    if (changed < 0) {
        phx__mem_put(n->mem, theirs.at, count * sizeof *theirs.at);
        return changed;
    }
    for (i = 0; i < count; i++)
        if (theirs.at[i].epoch > n->epoch_max)
            n->epoch_max = theirs.at[i].epoch;
    names_replace(n, node, &theirs);
    return changed;
}

int phx__names_dead(struct phx__names *n, uint32_t node, int dead)
{
    int changed = 0;

    PHX_ASSERT(node != PHX__SELF);
    if (node >= n->capacity || n->of[node].dead == (uint32_t)dead)
        return 0;
    if (!dead && (changed = names_contest(n, node, &n->of[node])) < 0)
        return changed;
    n->of[node].dead = (uint32_t)dead;
    n->stale = NAMES_STALE;
    n->version++;
    return changed;
}

int phx__names_of_dead(const struct phx__names *n, struct phx__names *out)
{
    uint32_t node;
    int some = 0;

    phx__names_init(out, n->mem, n->ids);
    for (node = 0; node < n->capacity && !some; node++)
        some = n->of[node].dead && n->of[node].count > 0;
    if (!some)
        return 0;
    out->of = phx__mem_zero(n->mem, n->capacity * sizeof *out->of);
    if (out->of == NULL)
        return PHX_ENOMEM;
    out->capacity = n->capacity;
    for (node = 0; node < n->capacity; node++) {
        if (!n->of[node].dead)
            continue;
        out->of[node] = n->of[node]; /* borrows its claims */
        out->of[node].dead = 0;
    }
    out->stale = NAMES_STALE;
    return 1;
}

void phx__names_of_dead_free(struct phx__names *dead)
{
    phx__mem_put(dead->mem, dead->of, dead->capacity * sizeof *dead->of);
    phx__mem_put(dead->mem, dead->index, dead->index_capacity * sizeof *dead->index);
}

void phx__names_forget(struct phx__names *n, uint32_t node)
{
    const struct phx__names_of none = {NULL, 0, 0, 0};

    PHX_ASSERT(node != PHX__SELF);
    if (node < n->capacity && (n->of[node].count > 0 || n->of[node].dead))
        names_replace(n, node, &none);
}

uint32_t phx__names_owner(struct phx__names *n, uint64_t name, struct phx_range *around, int *error)
{
    struct phx_range range = {name, name};
    uint32_t owner = PHX__NONE, i;
    int err = n->stale == NAMES_STALE ? names_rebuild(n) : 0;

    if (err == 0) {
        i = names_segment(n, name);
        if (i < n->index_count && n->index[i].first <= name) {
            owner = n->index[i].owner;
            range.first = n->index[i].first;
            range.last = n->index[i].last;
        } else {
            range.first = i > 0 ? n->index[i - 1].last + 1 : 0;
            range.last = i < n->index_count ? n->index[i].first - 1 : UINT64_MAX;
        }
    }
    if (around != NULL)
        *around = range;
    if (error != NULL)
        *error = err;
    return owner;
}

int phx__names_held(struct phx__names *n, uint32_t node, const struct phx_range *range,
                    uint64_t epoch, struct phx_range *out)
{
    uint32_t i = node < n->capacity ? names_at(&n->of[node], range->first) : 0;
    int err;

    for (; node < n->capacity && i < n->of[node].count; i++) {
        const struct phx__claim *c = &n->of[node].at[i];
        uint64_t name = c->first > range->first ? c->first : range->first;
        uint64_t end = c->last < range->last ? c->last : range->last;
        struct phx_range around = {0, 0};

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
    if (n->lost_count == 0)
        return 0;
    *out = n->lost[--n->lost_count];
    if (n->lost_count == 0) { /* conflicts are rare; their memory need not stay */
        phx__mem_put(n->mem, n->lost, n->lost_capacity * sizeof *n->lost);
        n->lost = NULL;
        n->lost_capacity = 0;
    }
    return 1;
}
