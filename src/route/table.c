/* table.c - the routing table's memory: destinations, and per neighbour what was offered and advertised. */
/* The rules are in route.c; this file keeps the lists and keeps them small. In a network of N nodes each node
 * has N destinations, and a hub N neighbours besides: the memory per pair of the two counts.
 *
 *   - Offers are a short sorted array. Most pairs of neighbour and destination have none (in a clique only
 *     the hub advertises others). The usual single offer is part of the destination.
 *   - What was advertised is kept as runs. Nearly all neighbours have been sent the same, and node indices
 *     are dense: "number 2, 1 hop, card 1 to neighbours 3 to 90" is one run of 24 bytes. A list of neighbours
 *     would have 20 bytes for each, 335 MB at a hub of 4,096 nodes.
 *   - Requests are a list of their own: few destinations have one, and none for long.
 *
 * To take a neighbour out of the middle of a run makes two runs and may find no memory. The callers can fail:
 * advert_drop_lapsed postpones the work, phx__route_up refuses the link. */
#include "route/table.h"

PHX__COLD void phx__route_table_free(struct phx__route_table *t)
{
    for (uint32_t i = 0; i < t->capacity; i++)
        phx__route_table_clear(t, i);
    phx__mem_put(t->mem, t->at, t->capacity * sizeof *t->at);
    phx__mem_put(t->mem, t->asks, t->ask_capacity * sizeof *t->asks);
}

struct phx__dest *phx__route_table_make(struct phx__route_table *t, uint32_t node)
{
    uint32_t was = t->capacity;

    if (phx__mem_grow(t->mem, &t->at, &t->capacity, node + 1, sizeof *t->at) != 0)
        return NULL;
    for (; was < t->capacity; was++) {
        phx__route_table_clear(t, was);
        t->at[was].live = PHX__NONE;
    }
    return &t->at[node];
}

void phx__route_table_wake(struct phx__route_table *t, uint32_t node)
{
    if (t->at[node].live != PHX__NONE)
        return;
    t->at[node].live = PHX__SELF; /* the end */
    t->at[t->live_last].live = node;
    t->live_last = node;
    t->live_count++;
}

static int table_is_at_rest(const struct phx__dest *d)
{
    return d->hops == PHX__UNREACHABLE && d->pos > PHX__TABLE_LOST && d->offer_count == 0
           && d->advertised == NULL
           && (d->flags & (PHX__DEST_DIRTY | PHX__DEST_CHANGED | PHX__DEST_LAPSED)) == 0;
}

void phx__route_table_rest(struct phx__route_table *t)
{
    uint32_t before = PHX__SELF, v;

    t->mem->looks += t->live_count;
    while ((v = t->at[before].live) != PHX__SELF) {
        struct phx__dest *d = &t->at[v];
        if (!table_is_at_rest(d)) {
            before = v;
            continue;
        }
        t->at[before].live = d->live;
        t->live_count--;
        d->live = PHX__NONE;
        d->flags &= (uint8_t) ~(PHX__DEST_DELEGATED | PHX__DEST_UNDELEGATED);
    }
    t->live_last = before;
}

static size_t table_runs_size(uint32_t capacity)
{
    return capacity > 0 ? sizeof(struct phx__advertised_runs) + capacity * sizeof(struct phx__advertised_run)
                        : 0;
}

static size_t table_offers_size(uint32_t capacity)
{
    return capacity > 0 ? sizeof(struct phx__offer_list) + capacity * sizeof(struct phx__offer) : 0;
}

/* The capacity of a list that must hold `need`: small lists, of which there are many, have no slack. */
static uint32_t table_capacity(uint32_t need)
{
    return need <= 4 ? need : need + need / 2;
}

void phx__route_table_unadvertise(struct phx__route_table *t, struct phx__dest *d)
{
    t->told_count -= d->advertised != NULL;
    if (d->advertised != NULL)
        phx__mem_put(t->mem, d->advertised, table_runs_size(d->advertised->capacity));
    d->advertised = NULL;
}

PHX__COLD void phx__route_table_clear(struct phx__route_table *t, uint32_t node)
{
    struct phx__dest *d = &t->at[node];
    uint32_t live = d->live;

    phx__route_table_drop_offers(t, d);
    phx__route_table_unadvertise(t, d);
    phx__route_table_uncard(t, d);
    if (d->ask != 0)
        phx__route_table_unask(t, &t->asks[d->ask - 1]);
    memset(d, 0, sizeof *d);
    d->hops = d->feasible_hops = PHX__UNREACHABLE;
    d->next = PHX__NONE;
    d->pos = PHX__TABLE_FAR;
    d->live = live; /* rest takes it out */
}

/* ---- Offers ---------------------------------------------------------------------------------- */

static struct phx__offer_list *table_many(const struct phx__dest *d)
{
    struct phx__offer_list *list;

    memcpy(&list, d->offer.many, sizeof list);
    return list;
}

struct phx__offer *phx__route_table_offers(const struct phx__dest *d)
{
    /* The list belongs to the destination, which the caller may change where it got it from. */
    return d->offer_count > 1 ? table_many(d)->at : (struct phx__offer *)&d->offer.one;
}

/* Where nbr is or would go among `count` sorted elements, `each` bytes apart. node: of the first. */
static uint32_t table_find(const uint32_t *node, size_t each, uint32_t count, uint32_t nbr)
{
    uint32_t low = 0, high = count;

    while (low < high) {
        uint32_t mid = low + (high - low) / 2;
        if (*(const uint32_t *)(const void *)((const char *)node + mid * each) < nbr)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

struct phx__offer *phx__route_table_offer(const struct phx__dest *d, uint32_t nbr)
{
    struct phx__offer *h = phx__route_table_offers(d);
    uint32_t i;

    if (d->offer_count <= 1) /* nearly always, and no function is called more often */
        return d->offer_count == 1 && h->nbr == nbr ? h : NULL;
    i = table_find(&h->nbr, sizeof *h, d->offer_count, nbr);
    return i < d->offer_count && h[i].nbr == nbr ? &h[i] : NULL;
}

/* Makes room for one more offer. 0 or PHX_ENOMEM. */
static int table_grow_offers(struct phx__route_table *t, struct phx__dest *d)
{
    uint32_t count = d->offer_count, had = count > 1 ? table_many(d)->capacity : 0;
    struct phx__offer_list *list;

    if (count == 0 || count < had)
        return 0;
    if (count == UINT16_MAX)
        return PHX_ENOMEM;
    list = phx__mem_resize(t->mem, had > 0 ? table_many(d) : NULL, table_offers_size(had),
                           table_offers_size(table_capacity(count + 1)));
    if (list == NULL)
        return PHX_ENOMEM;
    if (had == 0)
        list->at[0] = d->offer.one;
    list->capacity = table_capacity(count + 1);
    memcpy(d->offer.many, &list, sizeof list);
    return 0;
}

int phx__route_table_is_spare(const struct phx__dest *d, uint32_t nbr, const struct phx__offer *h,
                              uint32_t seq, uint8_t hops)
{
    return nbr != d->next && d->ask == 0 && d->hops != PHX__UNREACHABLE
           && hops + 1 >= d->hops && seq <= d->seq && (h == NULL || (h->hops >= hops && h->seq <= seq));
}

struct phx__offer *phx__route_table_make_offer(struct phx__route_table *t, struct phx__dest *d, uint32_t nbr)
{
    struct phx__offer *h = phx__route_table_offers(d);
    uint32_t i = table_find(&h->nbr, sizeof *h, d->offer_count, nbr);

    if (i < d->offer_count && h[i].nbr == nbr)
        return &h[i];
    if (table_grow_offers(t, d) != 0)
        return NULL;
    d->offer_count++;
    h = phx__route_table_offers(d) + i;
    memmove(h + 1, h, (d->offer_count - 1u - i) * sizeof *h);
    memset(h, 0, sizeof *h);
    h->nbr = nbr;
    h->hops = PHX__UNREACHABLE;
    return h;
}

int phx__route_table_drop_offer(struct phx__route_table *t, struct phx__dest *d, uint32_t nbr)
{
    struct phx__offer *h = phx__route_table_offer(d, nbr), one;
    struct phx__offer_list *list = table_many(d);

    if (h == NULL)
        return 0;
    if (d->offer_count > 1)
        memmove(h, h + 1, (size_t)(list->at + d->offer_count - (h + 1)) * sizeof *h);
    if (d->offer_count-- == 2) {
        one = list->at[0];
        phx__mem_put(t->mem, list, table_offers_size(list->capacity));
        d->offer.one = one;
    }
    return 1;
}

void phx__route_table_drop_offers(struct phx__route_table *t, struct phx__dest *d)
{
    if (d->offer_count > 1)
        phx__mem_put(t->mem, table_many(d), table_offers_size(table_many(d)->capacity));
    d->offer_count = 0;
    d->offer.one.nbr = PHX__SELF; /* nobody has taken it back */
}

/* ---- What was advertised --------------------------------------------------------------------- */

static uint32_t table_run_count(const struct phx__dest *d)
{
    return d->advertised != NULL ? d->advertised->count : 0;
}

/* The first run that does not end below nbr. */
static uint32_t table_find_run(const struct phx__dest *d, uint32_t nbr)
{
    const struct phx__advertised_runs *runs = d->advertised;

    return runs != NULL ? table_find(&runs->at->last, sizeof *runs->at, runs->count, nbr) : 0;
}

const struct phx__advertised *phx__route_table_advertised(const struct phx__dest *d, uint32_t nbr)
{
    uint32_t i = table_find_run(d, nbr);

    return i < table_run_count(d) && d->advertised->at[i].first <= nbr ? &d->advertised->at[i].word : NULL;
}

struct phx__advertised phx__route_table_word(const struct phx__dest *d, uint32_t nbr)
{
    static const struct phx__advertised nothing = { 0, 0, 0, PHX__UNREACHABLE, 0, 0 };
    const struct phx__advertised *t = phx__route_table_advertised(d, nbr);

    return t != NULL ? *t : nothing;
}

int phx__route_table_is_told(const struct phx__dest *d)
{
    for (uint32_t i = 0; i < table_run_count(d); i++)
        if (d->advertised->at[i].word.hops != PHX__UNREACHABLE)
            return 1;
    return 0;
}

static int table_same(const struct phx__advertised *a, const struct phx__advertised *b)
{
    return a->seq == b->seq && a->card == b->card && a->want == b->want && a->hops == b->hops
           && a->asked == b->asked && a->rtt == b->rtt;
}

/* Appends neighbours first..last, if there are any, to the n runs of out: how many runs there are then. */
static uint32_t table_append(struct phx__advertised_run *out, uint32_t n, uint32_t first, uint32_t last,
                             const struct phx__advertised *word)
{
    if (first > last)
        return n;
    if (n == 0 || out[n - 1].last + 1 != first || !table_same(&out[n - 1].word, word)) {
        out[n].first = first;
        out[n++].word = *word;
    }
    out[n - 1].last = last;
    return n;
}

/* Makes room for `need` runs. A list that is much too large shrinks if it can. 0 or PHX_ENOMEM. */
static int table_fit_runs(struct phx__route_table *t, struct phx__dest *d, uint32_t need)
{
    uint32_t had = d->advertised != NULL ? d->advertised->capacity : 0;
    struct phx__advertised_runs *runs;

    if (need <= had && (had <= 8 || need > had / 4))
        return 0;
    runs = phx__mem_resize(t->mem, d->advertised, table_runs_size(had),
                           table_runs_size(table_capacity(need)));
    if (runs == NULL)
        return need <= had ? 0 : PHX_ENOMEM;
    t->told_count += had == 0;
    runs->capacity = table_capacity(need);
    d->advertised = runs;
    return 0;
}

/* Replaces runs at..end-1 by the n of out: 0 or PHX_ENOMEM. */
static int table_splice(struct phx__route_table *t, struct phx__dest *d, uint32_t at, uint32_t end,
                        const struct phx__advertised_run *out, uint32_t n)
{
    uint32_t was = table_run_count(d), count = was - (end - at) + n;

    if (count == 0) {
        phx__route_table_unadvertise(t, d);
        return 0;
    }
    if (count > was && table_fit_runs(t, d, count) != 0)
        return PHX_ENOMEM;
    memmove(d->advertised->at + at + n, d->advertised->at + end, (was - end) * sizeof *out);
    memcpy(d->advertised->at + at, out, n * sizeof *out);
    d->advertised->count = count;
    return count < was ? table_fit_runs(t, d, count) : 0;
}

int phx__route_table_advertise(struct phx__route_table *t, struct phx__dest *d, uint32_t nbr,
                               const struct phx__advertised *word)
{
    /* The run with nbr, and those that end or begin beside it, three at most, are written anew. */
    struct phx__advertised_run out[5];
    const struct phx__advertised *now = phx__route_table_advertised(d, nbr);
    const struct phx__advertised_run *run = d->advertised != NULL ? d->advertised->at : NULL;
    uint32_t i, at, end, n = 0, count = table_run_count(d);

    PHX_ASSERT(nbr > 0 && nbr != PHX__NONE);
    if (word == NULL ? now == NULL : now != NULL && table_same(now, word))
        return 0;
    at = table_find_run(d, nbr - 1);
    for (end = at; end < count && run[end].first <= nbr + 1; end++)
        n = table_append(out, n, run[end].first, run[end].last < nbr ? run[end].last : nbr - 1,
                         &run[end].word);
    if (word != NULL)
        n = table_append(out, n, nbr, nbr, word);
    for (i = at; i < end; i++)
        n = table_append(out, n, run[i].first > nbr ? run[i].first : nbr + 1, run[i].last, &run[i].word);
    return table_splice(t, d, at, end, out, n);
}

PHX__COLD int phx__route_table_forget_nbr(struct phx__route_table *t, uint32_t nbr)
{
    uint32_t left = t->told_count; /* in a mesh that is only ourselves, who stand first */
    int err = 0;

    for (struct phx__dest *d = t->at; left > 0; d = &t->at[d->live]) {
        t->mem->looks++;
        if (d->advertised == NULL)
            continue;
        left--;
        err |= phx__route_table_advertise(t, d, nbr, NULL);
    }
    return err;
}

/* ---- Requests -------------------------------------------------------------------------------- */

struct phx__ask *phx__route_table_asked(const struct phx__route_table *t, uint32_t node)
{
    uint32_t slot = t->at[node].ask;

    return slot != 0 ? &t->asks[slot - 1] : NULL;
}

struct phx__ask *phx__route_table_ask(struct phx__route_table *t, uint32_t node)
{
    struct phx__ask *a = phx__route_table_asked(t, node);

    if (a != NULL)
        return a;
    if (phx__mem_grow(t->mem, &t->asks, &t->ask_capacity, t->ask_count + 1, sizeof *t->asks) != 0)
        return NULL;
    a = &t->asks[t->ask_count++];
    memset(a, 0, sizeof *a);
    a->node = node;
    a->at = UINT64_MAX;
    t->at[node].ask = t->ask_count;
    return a;
}

void phx__route_table_unask(struct phx__route_table *t, struct phx__ask *a)
{
    t->at[a->node].ask = 0;
    *a = t->asks[--t->ask_count];
    if (a != &t->asks[t->ask_count])
        t->at[a->node].ask = (uint32_t)(a - t->asks) + 1;
}

/* ---- Cards ----------------------------------------------------------------------------------- */

int phx__route_table_card(struct phx__route_table *t, struct phx__dest *d, const uint8_t *card, uint32_t size,
                          uint32_t version)
{
    struct phx__route_table_card *copy = phx__mem_get(t->mem, sizeof *copy + size);

    if (copy == NULL)
        return PHX_ENOMEM;
    copy->size = size;
    memcpy(copy->at, card, size);
    phx__route_table_uncard(t, d);
    d->card = copy;
    d->card_version = version;
    d->card_new = 1;
    return 0;
}

PHX__COLD void phx__route_table_uncard(struct phx__route_table *t, struct phx__dest *d)
{
    if (d->card != NULL)
        phx__mem_put(t->mem, d->card, sizeof *d->card + d->card->size);
    d->card = NULL;
    d->card_version = 0;
    d->card_own = 0;
}

int phx__route_table_has_left(const struct phx__dest *d)
{
    return d->card != NULL && (d->card->at[0] & PHX__CARD_LEFT) != 0;
}
