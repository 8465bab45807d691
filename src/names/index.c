/* index.c - the claims of all nodes laid side by side: who owns a name. */

/* A sorted array of disjoint segments {first, last, owner}, neighbours of one owner merged, so a lookup is
 * one binary search and the segment is the widest range with that answer.
 *
 * The index is brought up to date at the first lookup after a change and not before: a node that joins hears
 * a thousand cards in a row and asks afterwards. A build takes 6 ms with 100,000 claims, 60 us with 1,000. So
 * a few new claims go to a second list of segments, which counts before the first until the next build.
 *
 * The build is a sweep from name 0 upwards over two heaps: for each node the next claim, lowest first, and
 * the claims open at this point, strongest first. A claim that ended while buried in the second heap is
 * thrown away when it surfaces. O(c log n) for c claims of n nodes without overlaps, at worst O(c log c). */
#include "names/index.h"

#define INDEX_COST 16u /* measured: of each claim */
#define INDEX_COST_MOST 512000u

uint32_t phx__names_index_find(const void *at, size_t each, uint32_t count, uint64_t name)
{
    uint32_t low = 0, high = count;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        struct phx_range range;
        memcpy(&range, (const char *)at + middle * each, sizeof range);
        if (range.last < name)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

int phx__names_index_beats(const struct phx__ids *ids, uint64_t epoch, uint32_t node, uint64_t other_epoch,
                           uint32_t other)
{
    return epoch != other_epoch ? epoch > other_epoch : phx__id_compare(&ids->at[node], &ids->at[other]) > 0;
}

/* A claim on its way through the sweep. */
struct index_item {
    uint64_t first, last, epoch;
    uint32_t node;
    uint32_t next; /* which of the node's claims comes after it */
};

struct index_heap {
    const struct phx__names_index *x; /* which has ids and memory */
    int by_strength; /* the strongest is on top; else the one with the lowest name */
    struct index_item *item;
    uint32_t count, capacity;
};

static int index_before(const struct index_heap *h, const struct index_item *a, const struct index_item *b)
{
    return h->by_strength ? phx__names_index_beats(h->x->ids, a->epoch, a->node, b->epoch, b->node)
                          : a->first < b->first;
}

static int index_heap_push(struct index_heap *h, const struct index_item *item)
{
    uint32_t i = h->count;

    if (phx__mem_grow(h->x->mem, &h->item, &h->capacity, h->count + 1, sizeof *h->item) != 0)
        return PHX_ENOMEM;
    h->count++;
    while (i > 0 && index_before(h, item, &h->item[(i - 1) / 2])) {
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
        if (child + 1 < h->count && index_before(h, &h->item[child + 1], &h->item[child]))
            child++;
        if (!index_before(h, &h->item[child], item))
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
    *item = (struct index_item){ of->at[i].first, of->at[i].last, of->at[i].epoch, node, i + 1 };
    return 1;
}

/* Appends a segment, or lengthens the last one. */
static int index_emit(struct phx__names_index *x, uint64_t first, uint64_t last, uint32_t owner)
{
    if (x->count > 0 && x->at[x->count - 1].owner == owner && x->at[x->count - 1].last + 1 == first) {
        x->at[x->count - 1].last = last;
        return 0;
    }
    if (phx__mem_grow(x->mem, &x->at, &x->capacity, x->count + 1, sizeof *x->at) != 0)
        return PHX_ENOMEM;
    x->at[x->count++] = (struct phx__names_segment){ first, last, owner };
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

    x->count = x->recent_count = x->cost = 0;
    while (waiting->count > 0) {
        x->cost += x->cost < INDEX_COST_MOST ? INDEX_COST : 0;
        item = waiting->item[0];
        if (item.first > from && index_sweep_to(x, open, from, item.first - 1) != 0)
            return PHX_ENOMEM;
        from = item.first;
        if (index_heap_push(open, &item) != 0)
            return PHX_ENOMEM;
        if (index_item_get(&of[item.node], item.node, item.next, &item))
            index_heap_replace(waiting, &item);
        else
            index_heap_pop(waiting);
    }
    return index_sweep_to(x, open, from, UINT64_MAX);
}

int phx__names_index_build(struct phx__names_index *x, const struct phx__names_of *of, uint32_t nodes,
                           uint32_t dead)
{
    struct index_heap waiting = { x, 0, NULL, 0, 0 };
    struct index_heap open = { x, 1, NULL, 0, 0 };
    struct index_item item;
    int err = 0;

    for (uint32_t node = 0; node < nodes && err == 0; node++)
        if (of[node].dead == dead && index_item_get(&of[node], node, 0, &item))
            err = index_heap_push(&waiting, &item);
    if (err == 0 && (err = index_sweep(x, of, &waiting, &open)) == 0) { /* the claims of a liar may be gone */
        phx__mem_fit(x->mem, &x->at, &x->capacity, x->count, sizeof *x->at);
        phx__mem_fit(x->mem, &x->recent, &x->recent_capacity, 0, sizeof *x->recent);
    }
    phx__mem_put(x->mem, waiting.item, waiting.capacity * sizeof *waiting.item);
    phx__mem_put(x->mem, open.item, open.capacity * sizeof *open.item);
    return err;
}

void phx__names_index_free(struct phx__names_index *x)
{
    phx__mem_put(x->mem, x->at, x->capacity * sizeof *x->at);
    phx__mem_put(x->mem, x->recent, x->recent_capacity * sizeof *x->recent);
}

PHX__COLD int phx__names_index_put(struct phx__names_index *x, const struct phx_range *names, uint32_t owner)
{
    struct phx__names_segment piece[3], *at;
    uint32_t i, end, n = 0;

    if (phx__mem_grow(x->mem, &x->recent, &x->recent_capacity, x->recent_count + 2, sizeof *at) != 0)
        return PHX_ENOMEM;
    at = x->recent;
    i = end = phx__names_index_find(at, sizeof *at, x->recent_count, names->first);
    while (end < x->recent_count && at[end].first <= names->last)
        end++;
    if (end > i && at[i].first < names->first)
        piece[n++] = (struct phx__names_segment){ at[i].first, names->first - 1, at[i].owner };
    piece[n++] = (struct phx__names_segment){ names->first, names->last, owner };
    if (end > i && at[end - 1].last > names->last)
        piece[n++] = (struct phx__names_segment){ names->last + 1, at[end - 1].last, at[end - 1].owner };
    memmove(at + i + n, at + end, (x->recent_count - end) * sizeof *at);
    memcpy(at + i, piece, n * sizeof *at);
    x->recent_count += n - (end - i);
    return 0;
}

/* In one list: the segment with this name, or what is between two. */
static uint32_t index_look_in(const struct phx__names_segment *at, uint32_t count, uint64_t name,
                              struct phx_range *around)
{
    uint32_t i = phx__names_index_find(at, sizeof *at, count, name);

    if (i < count && at[i].first <= name) {
        *around = (struct phx_range){ at[i].first, at[i].last };
        return at[i].owner;
    }
    *around = (struct phx_range){ i > 0 ? at[i - 1].last + 1 : 0, i < count ? at[i].first - 1 : UINT64_MAX };
    return PHX__NONE;
}

static uint32_t index_look_both(const struct phx__names_index *x, uint64_t name, struct phx_range *around)
{
    uint32_t owner = index_look_in(x->recent, x->recent_count, name, around);
    struct phx_range below;

    if (owner == PHX__NONE) {
        owner = index_look_in(x->at, x->count, name, &below);
        around->first = PHX__MAX(around->first, below.first);
        around->last = PHX__MIN(around->last, below.last);
    }
    return owner;
}

uint32_t phx__names_index_look(const struct phx__names_index *x, uint64_t name, struct phx_range *around)
{
    uint32_t owner = index_look_both(x, name, around);
    struct phx_range next = *around;

    while (x->recent_count > 0 && next.first > 0
           && index_look_both(x, around->first - 1, &next) == owner)
        around->first = next.first;
    next.last = around->last;
    while (x->recent_count > 0 && next.last < UINT64_MAX
           && index_look_both(x, around->last + 1, &next) == owner)
        around->last = next.last;
    return owner;
}
