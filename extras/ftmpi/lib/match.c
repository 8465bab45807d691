/* match.c - which receive gets which message, in one context. */
#include "match.h"

#include <string.h>

#include "comm.h"
#include "engine.h"
#include "flight.h"

#define MATCH_BINS 8

/* ---- Contexts ---------------------------------------------------------------------------------- */

/* The place of the first context that is not below this one. */
static size_t match_place(const struct ftm_contexts *c, uint32_t context)
{
    size_t low = 0, high = c->count, middle;

    while (low < high) {
        middle = low + (high - low) / 2;
        if (c->sorted[middle]->context < context)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Nothing more gets there. */
static void match_close(struct ftm *e, const struct ftm_match *m)
{
    struct ftm_contexts *c = &e->contexts;
    size_t place = match_place(c, m->context);

    if (c->last == m)
        c->last = NULL;
    if (place == c->count || c->sorted[place] != m)
        return;
    c->count--;
    memmove(&c->sorted[place], &c->sorted[place + 1], (c->count - place) * sizeof *c->sorted);
}

struct ftm_match *ftm_match_find(struct ftm *e, uint32_t context)
{
    struct ftm_contexts *c = &e->contexts;
    size_t place;

    if (c->last != NULL && c->last->context == context)
        return c->last;
    place = match_place(c, context);
    if (place == c->count || c->sorted[place]->context != context)
        return NULL;
    return c->last = c->sorted[place];
}

struct ftm_match *ftm_match_heard(struct ftm *e, uint32_t context)
{
    const struct ftm_contexts *c = &e->contexts;
    struct ftm_match *m = ftm_match_find(e, context);
    size_t i;

    for (i = 0; m == NULL && i < c->led_count; i++)
        if (c->led[i].from == context)
            m = ftm_match_find(e, c->led[i].to);
    return m;
}

int ftm_match_lead(struct ftm *e, struct ftm_comm *from, struct ftm_comm *to)
{
    struct ftm_contexts *c = &e->contexts;
    void *array = c->led;

    if (!ftm_mem_grow(&e->mem, &array, &c->led_capacity, c->led_count, sizeof *c->led))
        return -1;
    c->led = array;
    c->led[c->led_count].from = from->context;
    c->led[c->led_count++].to = to->context;
    match_close(e, &from->match[0]);
    return 0;
}

int ftm_match_is_over(const struct ftm *e, uint32_t context)
{
    return context < e->contexts.next;
}

static void match_insert(struct ftm_contexts *c, struct ftm_match *m)
{
    size_t place = match_place(c, m->context);

    memmove(&c->sorted[place + 1], &c->sorted[place], (c->count - place) * sizeof *c->sorted);
    c->sorted[place] = m;
    c->count++;
}

int ftm_match_attach(struct ftm *e, struct ftm_comm *comm)
{
    struct ftm_contexts *c = &e->contexts;
    void *array = c->sorted;
    int i;

    if (!ftm_mem_grow(&e->mem, &array, &c->capacity, c->count + 1, sizeof *c->sorted))
        return MPI_ERR_INTERN;
    c->sorted = array;
    for (i = 0; i < 2; i++) {
        struct ftm_match *m = &comm->match[i];

        memset(m, 0, sizeof *m);
        m->comm = comm;
        m->context = comm->context | (uint32_t)i;
        ftm_list_init(&m->wild);
        ftm_list_init(&m->all);
        match_insert(c, m);
    }
    if (c->next < comm->context + 2)
        c->next = comm->context + 2;
    for (i = 0; i < 2; i++)
        ftm_recv_early(e, &comm->match[i]);
    return 0;
}

void ftm_match_drop(struct ftm *e, struct ftm_match *m)
{
    while (!ftm_list_is_empty(&m->all)) {
        struct ftm_item *item = FTM_LIST_OF(m->all.next, struct ftm_item, all);

        ftm_match_unkeep(m, item);
        ftm_recv_drop(e, item);
    }
}

/* The head of a list is where its first and last link point to. */
static void match_move_head(struct ftm_list *from, struct ftm_list *to)
{
    ftm_list_init(to);
    if (!ftm_list_is_empty(from)) {
        *to = *from;
        to->next->prev = to->prev->next = to;
    }
    ftm_list_init(from);
}

void ftm_match_hand(struct ftm *e, struct ftm_comm *from, struct ftm_comm *to)
{
    struct ftm_contexts *c = &e->contexts;
    int i;

    for (i = 0; i < 2; i++) {
        struct ftm_match *old = &from->match[i], *now = &to->match[i];
        size_t place = match_place(c, old->context);

        *now = *old;
        now->comm = to;
        match_move_head(&old->wild, &now->wild);
        match_move_head(&old->all, &now->all);
        old->bins = NULL;
        old->bins_count = old->entries = 0;
        if (place < c->count && c->sorted[place] == old)
            c->sorted[place] = now;
    }
    c->last = NULL;
}

/* Receives that nobody will meet any more are forgotten with the bins that hold them. */
static void match_clear(struct ftm *e, struct ftm_match *m)
{
    ftm_match_drop(e, m);
    ftm_mem_free(&e->mem, m->bins, m->bins_count * sizeof *m->bins);
    m->bins = NULL;
    m->bins_count = 0;
    match_close(e, m);
}

void ftm_match_detach(struct ftm *e, struct ftm_comm *comm)
{
    match_clear(e, &comm->match[0]);
    match_clear(e, &comm->match[1]);
}

/* ---- Bins -------------------------------------------------------------------------------------- */

static struct ftm_bin *match_bin(const struct ftm_match *m, int proc)
{
    return m->bins_count == 0 ? NULL : &m->bins[(size_t)proc & (m->bins_count - 1)];
}

/* Everything of one process stays in its order, since it leaves one bin for another. */
static void match_move(struct ftm_match *m, struct ftm_bin *from)
{
    struct ftm_list *link;

    while ((link = ftm_list_take(&from->posted)) != NULL)
        ftm_list_add(&match_bin(m, FTM_LIST_OF(link, struct ftm_request, link)->proc)->posted, link);
    while ((link = ftm_list_take(&from->unexpected)) != NULL)
        ftm_list_add(&match_bin(m, FTM_LIST_OF(link, struct ftm_item, bin)->proc)->unexpected, link);
}

/* As many bins as entries, or nearly. Without memory for more there are as many as there were. */
static int match_make_room(struct ftm *e, struct ftm_match *m)
{
    size_t old_count = m->bins_count, count = old_count > 0 ? 2 * old_count : MATCH_BINS, i;
    struct ftm_bin *old = m->bins, *bins;

    if (m->entries < old_count)
        return 0;
    bins = ftm_mem_new(&e->mem, count * sizeof *bins);
    if (bins == NULL)
        return old_count > 0 ? 0 : -1;
    for (i = 0; i < count; i++) {
        ftm_list_init(&bins[i].posted);
        ftm_list_init(&bins[i].unexpected);
    }
    m->bins = bins;
    m->bins_count = count;
    for (i = 0; i < old_count; i++)
        match_move(m, &old[i]);
    ftm_mem_free(&e->mem, old, old_count * sizeof *old);
    return 0;
}

/* ---- Matching ---------------------------------------------------------------------------------- */

static int match_wants(const struct ftm_request *r, uint32_t tag)
{
    return r->order.tag == MPI_ANY_TAG || (uint32_t)r->order.tag == tag;
}

static struct ftm_request *match_first(const struct ftm_list *head, int proc, uint32_t tag)
{
    struct ftm_list *link;

    for (link = head->next; link != head; link = link->next) {
        struct ftm_request *r = FTM_LIST_OF(link, struct ftm_request, link);

        if ((r->proc == proc || r->proc < 0) && match_wants(r, tag))
            return r;
    }
    return NULL;
}

struct ftm_request *ftm_match_arrived(struct ftm_match *m, int proc, uint32_t tag)
{
    struct ftm_bin *bin = match_bin(m, proc);
    struct ftm_request *named = bin != NULL ? match_first(&bin->posted, proc, tag) : NULL;
    struct ftm_request *wild = match_first(&m->wild, proc, tag);

    if (named == NULL || (wild != NULL && wild->stamp < named->stamp))
        named = wild;
    if (named != NULL)
        ftm_match_unpost(m, named);
    return named;
}

static int match_fits(const struct ftm_item *item, int proc, int tag)
{
    return (proc < 0 || item->proc == proc) && (tag == MPI_ANY_TAG || item->tag == (uint32_t)tag);
}

struct ftm_item *ftm_match_look(struct ftm_match *m, int proc, int tag)
{
    struct ftm_bin *bin = proc < 0 ? NULL : match_bin(m, proc);
    struct ftm_list *head, *link;

    if (proc < 0) {
        for (link = m->all.next; link != &m->all; link = link->next)
            if (match_fits(FTM_LIST_OF(link, struct ftm_item, all), proc, tag))
                return FTM_LIST_OF(link, struct ftm_item, all);
    } else if (bin != NULL) {
        head = &bin->unexpected;
        for (link = head->next; link != head; link = link->next)
            if (match_fits(FTM_LIST_OF(link, struct ftm_item, bin), proc, tag))
                return FTM_LIST_OF(link, struct ftm_item, bin);
    }
    return NULL;
}

int ftm_match_post(struct ftm *e, struct ftm_match *m, struct ftm_request *r)
{
    r->stamp = e->contexts.stamp++;
    if (r->proc < 0) {
        ftm_list_add(&m->wild, &r->link);
        return 0;
    }
    if (match_make_room(e, m) != 0)
        return -1;
    ftm_list_add(&match_bin(m, r->proc)->posted, &r->link);
    m->entries++;
    return 0;
}

int ftm_match_keep(struct ftm *e, struct ftm_match *m, struct ftm_item *item)
{
    if (match_make_room(e, m) != 0)
        return -1;
    ftm_list_add(&match_bin(m, item->proc)->unexpected, &item->bin);
    ftm_list_add(&m->all, &item->all);
    m->entries++;
    return 0;
}

void ftm_match_unpost(struct ftm_match *m, struct ftm_request *r)
{
    ftm_list_remove(&r->link);
    if (r->proc >= 0)
        m->entries--;
}

void ftm_match_unkeep(struct ftm_match *m, struct ftm_item *item)
{
    ftm_list_remove(&item->bin);
    ftm_list_remove(&item->all);
    m->entries--;
}
