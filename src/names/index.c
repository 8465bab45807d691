/* index.c - the claims of all nodes laid side by side: who owns a name. */

/* A sorted array of disjoint segments {first, last, owner}, neighbours of one owner merged, so a lookup is
 * one binary search and the segment is the widest range with that answer. Three states:
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
 * While no two claims overlap, the index is exactly the claims, and a change is a change of one or two
 * segments in place. Once a claim lies in another's shadow, taking the upper one away would need a search for
 * the lower, so the index is built anew, at the next lookup and not before: a node that joins hears a
 * thousand cards in a row and asks afterwards. A new claim where nobody has one is put in place either way,
 * so that a conflict elsewhere does not slow arrivals down.
 *
 * The build is a sweep from name 0 upwards over two heaps: for each node the next claim, lowest first, and
 * the claims open at this point, strongest first. A claim that ended while buried in the second heap is
 * thrown away when it surfaces. O(c log n) for c claims of n nodes without overlaps, never worse than O(c log
 * c). */
#include "names/index.h"

uint32_t phx__names_index_claim(const struct phx__names_of *of, uint64_t name)
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

int phx__names_index_beats(const struct phx__ids *ids, uint64_t epoch, uint32_t node, uint64_t other_epoch,
                           uint32_t other)
{
    if (epoch != other_epoch)
        return epoch > other_epoch;
    return phx__id_compare(&ids->at[node], &ids->at[other]) > 0;
}

/* ---- Changes in place */

void phx__names_index_init(struct phx__names_index *x, struct phx__mem *mem, const struct phx__ids *ids)
{
    memset(x, 0, sizeof *x); /* nothing is claimed, and the empty index says so */
    x->mem = mem;
    x->ids = ids;
}

void phx__names_index_free(struct phx__names_index *x)
{
    phx__mem_put(x->mem, x->at, x->capacity * sizeof *x->at);
    phx__names_index_init(x, x->mem, x->ids);
}

/* The first segment that ends at name or after it, or count. */
static uint32_t index_segment(const struct phx__names_index *x, uint64_t name)
{
    uint32_t low = 0, high = x->count;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (x->at[middle].last < name)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Puts some segments in the place of segments i..j-1. PHX_ENOMEM: nothing changed. */
static int index_splice(struct phx__names_index *x, uint32_t i, uint32_t j,
                        const struct phx__names_segment *some, uint32_t count)
{
    uint32_t rest = x->count - j;

    if (phx__mem_grow(x->mem, &x->at, &x->capacity, i + count + rest, sizeof *x->at) != 0)
        return PHX_ENOMEM;
    memmove(x->at + i + count, x->at + j, rest * sizeof *x->at);
    memcpy(x->at + i, some, count * sizeof *x->at);
    x->count = i + count + rest;
    return 0;
}

void phx__names_index_add(struct phx__names_index *x, uint32_t node, uint64_t first, uint64_t last)
{
    struct phx__names_segment *at = x->at, one = { first, last, node };
    uint32_t i = index_segment(x, first), j = i;

    if (i < x->count && at[i].first <= last)
        x->state = PHX__NAMES_STALE;
    if (x->state == PHX__NAMES_STALE)
        return;
    if (i > 0 && at[i - 1].owner == node && at[i - 1].last + 1 == first)
        one.first = at[--i].first; /* it continues its neighbour */
    if (j < x->count && at[j].owner == node && last + 1 == at[j].first)
        one.last = at[j++].last;
    if (index_splice(x, i, j, &one, 1) != 0)
        x->state = PHX__NAMES_STALE;
}

void phx__names_index_cut(struct phx__names_index *x, uint64_t first, uint64_t last)
{
    struct phx__names_segment *at, some[2];
    uint32_t i = index_segment(x, first), count = 0;

    if (x->state != PHX__NAMES_DISJOINT) { /* with shadows about, it does not say who comes to light */
        x->state = PHX__NAMES_STALE;
        return;
    }
    at = x->at + i;
    PHX_ASSERT(i < x->count && at->first <= first && last <= at->last);
    if (at->first < first) {
        some[count] = *at;
        some[count++].last = first - 1;
    }
    if (at->last > last) {
        some[count] = *at;
        some[count++].first = last + 1;
    }
    if (index_splice(x, i, i + 1, some, count) != 0)
        x->state = PHX__NAMES_STALE;
}

/* An epoch alone matters only where claims overlap. */
static int index_is_same(const struct phx__names_index *x, const struct phx__claim *a,
                         const struct phx__claim *b)
{
    return a != NULL && b != NULL && a->first == b->first && a->last == b->last
           && (a->epoch == b->epoch || x->state == PHX__NAMES_DISJOINT);
}

void phx__names_index_patch(struct phx__names_index *x, uint32_t node, const struct phx__names_of *old,
                            const struct phx__names_of *new)
{
    const struct phx__claim *gone[PHX__NAMES_PATCH_MAX], *came[PHX__NAMES_PATCH_MAX];
    uint32_t i = 0, j = 0, k, gone_count = 0, came_count = 0;

    while (x->state != PHX__NAMES_STALE && (i < old->count || j < new->count)) {
        const struct phx__claim *a = i < old->count ? &old->at[i] : NULL;
        const struct phx__claim *b = j < new->count ? &new->at[j] : NULL;
        if (index_is_same(x, a, b)) {
            i++;
            j++;
        } else if (gone_count + came_count == PHX__NAMES_PATCH_MAX) {
            x->state = PHX__NAMES_STALE;
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
        phx__names_index_cut(x, gone[k]->first, gone[k]->last);
    for (k = 0; k < came_count; k++)
        phx__names_index_add(x, node, came[k]->first, came[k]->last);
}

/* ---- The build */

/* A claim on its way through the sweep. */
struct index_item {
    uint64_t first, last, epoch;
    uint32_t node;
    uint32_t next; /* which of the node's claims comes after it */
};

struct index_heap {
    struct phx__mem *mem;
    const struct phx__ids *ids;
    int (*before)(const struct phx__ids *ids, const struct index_item *a, const struct index_item *b);
    struct index_item *item;
    uint32_t count, capacity;
};

static int index_is_lower(const struct phx__ids *ids, const struct index_item *a, const struct index_item *b)
{
    (void)ids;
    return a->first < b->first;
}

static int index_is_stronger(const struct phx__ids *ids, const struct index_item *a,
                             const struct index_item *b)
{
    return phx__names_index_beats(ids, a->epoch, a->node, b->epoch, b->node);
}

static int index_heap_push(struct index_heap *h, const struct index_item *item)
{
    uint32_t i = h->count;

    if (phx__mem_grow(h->mem, &h->item, &h->capacity, h->count + 1, sizeof *h->item) != 0)
        return PHX_ENOMEM;
    h->count++;
    while (i > 0 && h->before(h->ids, item, &h->item[(i - 1) / 2])) {
        h->item[i] = h->item[(i - 1) / 2];
        i = (i - 1) / 2;
    }
    h->item[i] = *item;
    return 0;
}

/* Puts an item, which must not be in the heap, in the place of the top and lets it sink. */
static void index_heap_replace(struct index_heap *h, const struct index_item *item)
{
    uint32_t i = 0, child;

    while ((child = 2 * i + 1) < h->count) {
        if (child + 1 < h->count && h->before(h->ids, &h->item[child + 1], &h->item[child]))
            child++;
        if (!h->before(h->ids, &h->item[child], item))
            break;
        h->item[i] = h->item[child];
        i = child;
    }
    h->item[i] = *item;
}

static void index_heap_pop(struct index_heap *h)
{
    struct index_item item = h->item[--h->count];

    if (h->count > 0)
        index_heap_replace(h, &item);
}

/* Claim i of a node as an item; 0 if it has no such claim. */
static int index_item_get(const struct phx__names_of *of, uint32_t node, uint32_t i, struct index_item *item)
{
    if (i >= of->count)
        return 0;
    item->first = of->at[i].first;
    item->last = of->at[i].last;
    item->epoch = of->at[i].epoch;
    item->node = node;
    item->next = i + 1;
    return 1;
}

/* Appends a segment, or lengthens the last one. */
static int index_emit(struct phx__names_index *x, uint64_t first, uint64_t last, uint32_t owner)
{
    struct phx__names_segment *end = x->count > 0 ? &x->at[x->count - 1] : NULL, one = { first, last, owner };

    if (end == NULL || end->owner != owner || end->last + 1 != first)
        return index_splice(x, x->count, x->count, &one, 1);
    end->last = last;
    return 0;
}

/* Gives the names from..until to whoever is strongest among the open claims. */
static int index_sweep_to(struct phx__names_index *x, struct index_heap *open, uint64_t from, uint64_t until)
{
    while (open->count > 0) {
        struct index_item top = open->item[0];
        uint64_t end = top.last < until ? top.last : until;
        if (top.last < from) { /* it ended in another's shadow */
            index_heap_pop(open);
            continue;
        }
        if (index_emit(x, from, end, top.node) != 0)
            return PHX_ENOMEM;
        if (top.last == end)
            index_heap_pop(open);
        if (end == until)
            break;
        from = end + 1;
    }
    return 0;
}

/* Takes all claims in order of their first names and leaves the finished index. */
static int index_sweep(struct phx__names_index *x, const struct phx__names_of *of, struct index_heap *waiting,
                       struct index_heap *open)
{
    struct index_item item;
    uint64_t from = 0;
    int shadowed = 0;

    x->count = 0;
    while (waiting->count > 0) {
        item = waiting->item[0];
        if (item.first > from && index_sweep_to(x, open, from, item.first - 1) != 0)
            return PHX_ENOMEM;
        from = item.first;
        /* A stronger claim that ended may hide a weaker one that goes on, but those two overlapped and were
         * noticed before. */
        shadowed |= open->count > 0 && open->item[0].last >= from;
        if (index_heap_push(open, &item) != 0)
            return PHX_ENOMEM;
        if (index_item_get(&of[item.node], item.node, item.next, &item))
            index_heap_replace(waiting, &item);
        else
            index_heap_pop(waiting);
    }
    if (index_sweep_to(x, open, from, UINT64_MAX) != 0)
        return PHX_ENOMEM;
    x->state = shadowed ? PHX__NAMES_SHADOWED : PHX__NAMES_DISJOINT;
    return 0;
}

int phx__names_index_build(struct phx__names_index *x, const struct phx__names_of *of, uint32_t nodes,
                           uint32_t dead)
{
    struct index_heap waiting = { x->mem, x->ids, index_is_lower, NULL, 0, 0 };
    struct index_heap open = { x->mem, x->ids, index_is_stronger, NULL, 0, 0 };
    struct index_item item;
    uint32_t node;
    int err = 0;

    x->state = PHX__NAMES_STALE;
    for (node = 0; node < nodes && err == 0; node++)
        if (of[node].dead == dead && index_item_get(&of[node], node, 0, &item))
            err = index_heap_push(&waiting, &item);
    if (err == 0)
        err = index_sweep(x, of, &waiting, &open);
    phx__mem_put(x->mem, waiting.item, waiting.capacity * sizeof *waiting.item);
    phx__mem_put(x->mem, open.item, open.capacity * sizeof *open.item);
    return err;
}

uint32_t phx__names_index_owner(const struct phx__names_index *x, uint64_t name, struct phx_range *around)
{
    uint32_t i = index_segment(x, name);

    if (i < x->count && x->at[i].first <= name) {
        around->first = x->at[i].first;
        around->last = x->at[i].last;
        return x->at[i].owner;
    }
    around->first = i > 0 ? x->at[i - 1].last + 1 : 0;
    around->last = i < x->count ? x->at[i].first - 1 : UINT64_MAX;
    return PHX__NONE;
}
