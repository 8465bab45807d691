/* table.c - the routing table's memory: destinations, and per neighbour what was heard and told of them. */
/*
 * Rules live in route; this room only keeps the lists, and sees to it that they are small. A network of N
 * nodes has N destinations at each of them, and a hub N neighbours besides: what is kept per pair of the two
 * decides about everything. So:
 *
 *   - HEARD is a short sorted array. In the default routing most pairs of neighbour and destination have no
 *     entry at all (in a clique only the hub speaks of others). The usual single one lives in the
 *     destination.
 *   - TOLD is kept as runs. Who is told of a destination is told its route of that moment, so that nearly all
 *     neighbours have been told the same, and indices are dense: neighbours 3 to 90 were told (number 2, 1
 *     hop, card 1) is one run of 24 bytes. A list of them had 20 bytes for each, 335 MB at a hub of 4,096
 *     nodes. Where no two neighbours in a row were told the same, runs cost a fifth more than the list.
 *   - Requests stand in a list of their own, since few destinations have one and none for long.
 *
 * To take a neighbour out of the midst of a run makes two of one and may find no memory; whoever does that
 * must be able to fail (route_drop_lapsed can wait, route_up refuses the link).
 */
#include "route/table.h"

void phx__route_table_init(struct phx__route_table *t, struct phx__mem *mem)
{
    memset(t, 0, sizeof *t);
    t->mem = mem;
}

void phx__route_table_free(struct phx__route_table *t)
{
    uint32_t i;

    for (i = 0; i < t->capacity; i++)
        phx__route_table_clear(t, i);
    phx__mem_put(t->mem, t->at, t->capacity * sizeof *t->at);
    phx__mem_put(t->mem, t->asks, t->ask_capacity * sizeof *t->asks);
    phx__route_table_init(t, t->mem);
}

struct phx__dest *phx__route_table_make(struct phx__route_table *t, uint32_t node)
{
    uint32_t was = t->capacity;

    if (phx__mem_grow(t->mem, &t->at, &t->capacity, node + 1, sizeof *t->at) != 0)
        return NULL;
    for (; was < t->capacity; was++)
        phx__route_table_clear(t, was);
    return &t->at[node];
}

static size_t table_told_size(uint32_t capacity)
{
    return sizeof(struct phx__advertised_runs) + capacity * sizeof(struct phx__advertised_run);
}

static size_t table_heard_size(uint32_t capacity)
{
    return sizeof(struct phx__offer_list) + capacity * sizeof(struct phx__offer);
}

static size_t table_card_size(uint32_t size)
{
    return sizeof(struct phx__route_table_card) + size;
}

/* How long a list that must hold `need` is made: the small ones, of which there are many, without slack. */
static uint32_t table_room(uint32_t need)
{
    return need <= 4 ? need : need + need / 2;
}

static void table_untell_all(struct phx__route_table *t, struct phx__dest *d)
{
    if (d->advertised != NULL)
        phx__mem_put(t->mem, d->advertised, table_told_size(d->advertised->capacity));
    d->advertised = NULL;
}

void phx__route_table_clear(struct phx__route_table *t, uint32_t node)
{
    struct phx__dest *d = &t->at[node];

    phx__route_table_drop_offers(t, d);
    table_untell_all(t, d);
    phx__route_table_uncard(t, d);
    if (d->ask != 0)
        phx__route_table_unask(t, &t->asks[d->ask - 1]);
    memset(d, 0, sizeof *d);
    d->hops = d->feasible_hops = PHX__UNREACHABLE;
    d->next = PHX__NONE;
    d->pos = PHX__TABLE_FAR;
}

/* ---- Heard ----------------------------------------------------------------------------------- */

struct phx__offer *phx__route_table_offers(const struct phx__dest *d)
{
    /* The list belongs to the destination, which the caller may change where it got it from. */
    return d->offer_count > 1 ? d->offer.many->at : (struct phx__offer *)&d->offer.one;
}

/* The first place whose nbr is not below: where the entry is, or would go. */
static uint32_t table_place(const struct phx__offer *h, uint32_t count, uint32_t nbr)
{
    uint32_t low = 0, high = count;

    while (low < high) {
        uint32_t mid = low + (high - low) / 2;
        if (h[mid].nbr < nbr)
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

    if (d->offer_count <= 1) /* nearly always, and this is asked more often than anything else */
        return d->offer_count == 1 && h->nbr == nbr ? h : NULL;
    i = table_place(h, d->offer_count, nbr);
    return i < d->offer_count && h[i].nbr == nbr ? &h[i] : NULL;
}

/* Room for one more. 0 or PHX_ENOMEM. */
static int table_more_heard(struct phx__route_table *t, struct phx__dest *d)
{
    uint32_t had = d->offer_count > 1 ? d->offer.many->capacity : 0;
    uint32_t capacity = table_room(d->offer_count + 1u);
    struct phx__offer_list *list;

    if (d->offer_count == 0 || d->offer_count < had)
        return 0;
    if (capacity > UINT16_MAX)
        capacity = UINT16_MAX;
    if (d->offer_count == capacity)
        return PHX_ENOMEM;
    list = phx__mem_resize(t->mem, had > 0 ? d->offer.many : NULL,
                           had > 0 ? table_heard_size(had) : 0, table_heard_size(capacity));
    if (list == NULL)
        return PHX_ENOMEM;
    if (had == 0)
        list->at[0] = d->offer.one;
    list->capacity = capacity;
    d->offer.many = list;
    return 0;
}

struct phx__offer *phx__route_table_make_offer(struct phx__route_table *t, struct phx__dest *d, uint32_t nbr)
{
    struct phx__offer *h = phx__route_table_offers(d);
    uint32_t i = table_place(h, d->offer_count, nbr);

    if (i < d->offer_count && h[i].nbr == nbr)
        return &h[i];
    if (table_more_heard(t, d) != 0)
        return NULL;
    d->offer_count++;
    h = phx__route_table_offers(d);
    memmove(h + i + 1, h + i, (d->offer_count - 1u - i) * sizeof *h);
    memset(&h[i], 0, sizeof h[i]);
    h[i].nbr = nbr;
    h[i].hops = PHX__UNREACHABLE;
    return &h[i];
}

int phx__route_table_drop_offer(struct phx__route_table *t, struct phx__dest *d, uint32_t nbr)
{
    struct phx__offer *h = phx__route_table_offer(d, nbr), one;
    struct phx__offer_list *list = d->offer.many;

    if (h == NULL)
        return 0;
    if (d->offer_count > 1)
        memmove(h, h + 1, (size_t)(list->at + d->offer_count - (h + 1)) * sizeof *h);
    if (d->offer_count-- == 2) {
        one = list->at[0];
        phx__mem_put(t->mem, list, table_heard_size(list->capacity));
        d->offer.one = one;
    }
    return 1;
}

void phx__route_table_drop_offers(struct phx__route_table *t, struct phx__dest *d)
{
    if (d->offer_count > 1)
        phx__mem_put(t->mem, d->offer.many, table_heard_size(d->offer.many->capacity));
    d->offer_count = 0;
}

/* ---- Told ------------------------------------------------------------------------------------ */

/* The first run that does not end below nbr: where it is, or would go. */
static uint32_t table_run(const struct phx__advertised_runs *runs, uint32_t nbr)
{
    uint32_t low = 0, high = runs->count;

    while (low < high) {
        uint32_t mid = low + (high - low) / 2;
        if (runs->at[mid].first + (runs->at[mid].count - 1) < nbr)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

const struct phx__advertised *phx__route_table_advertised(const struct phx__dest *d, uint32_t nbr)
{
    uint32_t i;

    if (d->advertised == NULL)
        return NULL;
    i = table_run(d->advertised, nbr);
    return i < d->advertised->count && d->advertised->at[i].first <= nbr ? &d->advertised->at[i].word : NULL;
}

static int table_same(const struct phx__advertised *a, const struct phx__advertised *b)
{
    return a->seq == b->seq && a->card == b->card && a->want == b->want && a->hops == b->hops
           && a->asked == b->asked;
}

/* Appends neighbours first..last to runs out[0..n-1], if there are any; how many runs it is then. */
static uint32_t table_append(struct phx__advertised_run *out, uint32_t n, uint64_t first, uint64_t last,
                             const struct phx__advertised *word)
{
    if (first > last)
        return n;
    if (n > 0 && out[n - 1].first + (uint64_t)out[n - 1].count == first
        && table_same(&out[n - 1].word, word)) {
        out[n - 1].count += (uint32_t)(last - first + 1);
        return n;
    }
    out[n].first = (uint32_t)first;
    out[n].count = (uint32_t)(last - first + 1);
    out[n].word = *word;
    return n + 1;
}

/* Gives the runs room for `need`. What is much too large shrinks, if the world lets it. 0 or PHX_ENOMEM. */
static int table_runs_fit(struct phx__route_table *t, struct phx__dest *d, uint32_t need)
{
    uint32_t had = d->advertised != NULL ? d->advertised->capacity : 0, capacity = table_room(need);
    struct phx__advertised_runs *runs;

    if (need <= had && (had <= 8 || need > had / 4))
        return 0;
    runs = phx__mem_resize(t->mem, d->advertised, had > 0 ? table_told_size(had) : 0,
                           table_told_size(capacity));
    if (runs == NULL)
        return need <= had ? 0 : PHX_ENOMEM;
    if (had == 0)
        runs->count = 0;
    runs->capacity = capacity;
    d->advertised = runs;
    return 0;
}

/* Runs at..end-1 become the n of out: 0 or PHX_ENOMEM. */
static int table_splice(struct phx__route_table *t, struct phx__dest *d, uint32_t at, uint32_t end,
                        const struct phx__advertised_run *out, uint32_t n)
{
    uint32_t was = d->advertised != NULL ? d->advertised->count : 0, count = was - (end - at) + n;

    if (count == 0) {
        table_untell_all(t, d);
        return 0;
    }
    if (count > was && table_runs_fit(t, d, count) != 0)
        return PHX_ENOMEM;
    memmove(d->advertised->at + at + n, d->advertised->at + end, (was - end) * sizeof *out);
    memcpy(d->advertised->at + at, out, n * sizeof *out);
    d->advertised->count = count;
    return count < was ? table_runs_fit(t, d, count) : 0;
}

int phx__route_table_advertise(struct phx__route_table *t, struct phx__dest *d, uint32_t nbr,
                    const struct phx__advertised *word)
{
    /* What changes are the run that nbr is in, and those that end or begin beside it: three at most. They
     * are written anew: what lies below nbr, nbr, and what lies above. */
    struct phx__advertised_run out[5];
    const struct phx__advertised *now = phx__route_table_advertised(d, nbr);
    const struct phx__advertised_run *run = d->advertised != NULL ? d->advertised->at : NULL;
    uint32_t i, at, end, n = 0, count = d->advertised != NULL ? d->advertised->count : 0;

    PHX_ASSERT(nbr > 0 && nbr != PHX__NONE);
    if (word == NULL ? now == NULL : now != NULL && table_same(now, word))
        return 0;
    at = count > 0 ? table_run(d->advertised, nbr - 1) : 0;
    for (end = at; end < count && run[end].first <= nbr + 1; end++) {
        uint32_t last = run[end].first + (run[end].count - 1);
        n = table_append(out, n, run[end].first, last < nbr ? last : nbr - 1, &run[end].word);
    }
    if (word != NULL)
        n = table_append(out, n, nbr, nbr, word);
    for (i = at; i < end; i++)
        n = table_append(out, n, run[i].first > nbr ? run[i].first : nbr + 1,
                         run[i].first + (run[i].count - 1), &run[i].word);
    return table_splice(t, d, at, end, out, n);
}

void phx__route_table_set_number(struct phx__dest *d, uint32_t seq, uint32_t card)
{
    uint32_t i;

    for (i = 0; d->advertised != NULL && i < d->advertised->count; i++) {
        d->advertised->at[i].word.seq = seq;
        d->advertised->at[i].word.card = card;
    }
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
    struct phx__route_table_card *copy = phx__mem_get(t->mem, table_card_size(size));

    if (copy == NULL)
        return PHX_ENOMEM;
    copy->size = size;
    memcpy(copy->at, card, size);
    phx__route_table_uncard(t, d);
    d->card = copy;
    d->card_version = version;
    return 0;
}

void phx__route_table_uncard(struct phx__route_table *t, struct phx__dest *d)
{
    if (d->card != NULL)
        phx__mem_put(t->mem, d->card, table_card_size(d->card->size));
    d->card = NULL;
    d->card_version = 0;
}
