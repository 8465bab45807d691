/* paper.h - the papers' update rules, plain DSDV and with trans and rcpt sets, for comparison. */
/*
 * This is how the figures of Kaneda, Taura and Yonezawa (CCGrid 2004) are drawn again, and how it is
 * known what the product's changes are worth. It is included behind a phoenix.c that was compiled with
 * -DPHX_PAPER, which asks struct phx__route_rules before its own rules. Both sets of rules follow
 * section 4.2: a larger number wins, at the same number fewer hops; a node that loses its next hop
 * raises the number itself and announces the loss, and the owner answers with a number above it. So one
 * cut link takes its destination from everybody for a round trip.
 *
 * PAPER_NAIVE tells every neighbour of every change. PAPER_SETS keeps section 4.5's two sets per entry:
 * trans, to whom it was sent, and rcpt, who has it or will soon get it from another. trans is the list
 * of advertised entries with the number and hops in use; rcpt is the list of offers, emptied whenever
 * the route improves. On an improving entry from u, rcpt becomes {u} and u's trans (Figure 2, not the
 * text, which forgets the latter); on others the rules are the corrected ones: whoever is behind leaves
 * both sets, so that it is told.
 *
 * The trans sets travel in frames of their own, in front of the UPDATE whose entries they belong to: u8
 * 1 for the first frame of an update, then for each run of entries with the same set u16 entries, u16
 * ids, the ids.
 */
#ifndef PAPER_H
#define PAPER_H
#include <stdlib.h>

enum { PAPER_NONE, PAPER_NAIVE, PAPER_SETS }; /* PAPER_NONE: the product's rules */

/* The trans sets of an update's entries, in their order. */
struct paper_sets {
    uint32_t count, next; /* runs of entries; the one that the next entry belongs to */
    struct paper_run {
        uint32_t entries, first, ids; /* entries: that are still to come */
    } *run;
    struct phx_id *id;
    uint32_t id_count;
};

struct paper {
    struct phx__route_rules rules; /* first */
    int kind;
    phx *p;                 /* sends the frames; NULL: paper_take_sets is asked instead */
    struct paper_sets out;  /* of the update that leaves now */
    struct paper_sets *in;  /* by neighbour */
    uint32_t in_count;
};

static inline struct paper *paper_of(const struct phx__route *r)
{
    return (struct paper *)(void *)(size_t)r->rules;
}

static inline void *paper_grow(void *old, size_t count, size_t item)
{
    void *p = realloc(old, count * item);

    if (p == NULL)
        abort();
    return p;
}

static inline void paper_clear(struct paper_sets *s)
{
    free(s->run);
    free(s->id);
    memset(s, 0, sizeof *s);
}

static inline void paper_add_run(struct paper_sets *s, uint32_t entries)
{
    struct paper_run *run;

    s->run = paper_grow(s->run, s->count + 1, sizeof *s->run);
    run = &s->run[s->count++];
    run->entries = entries;
    run->first = s->id_count;
    run->ids = 0;
}

static inline void paper_add_id(struct paper_sets *s, const struct phx_id *id)
{
    s->id = paper_grow(s->id, s->id_count + 1, sizeof *s->id);
    s->id[s->id_count++] = *id;
    s->run[s->count - 1].ids++;
}

/* ---- The rules */

/* A number that means "unreachable" must beat the one it ends, and the owner's next must beat it. */
static inline void paper_lost(struct phx__route *r, uint32_t nbr, uint32_t node, uint64_t now)
{
    struct phx__dest *d = &r->table.at[node];

    if (d->next != nbr || d->hops == PHX__UNREACHABLE)
        return;
    phx__route_table_drop_offers(&r->table, d);
    route_use(r, node, PHX__NONE, d->seq + 1, PHX__UNREACHABLE, now);
}

static inline int paper_improves(const struct phx__dest *d, const struct phx__entry *e)
{
    if (e->seq != d->seq)
        return e->seq > d->seq;
    return e->hops < PHX__UNREACHABLE - 1 && e->hops + 1 < d->hops;
}

static inline int paper_received(struct phx__route *r, struct phx__dest *d, uint32_t nbr,
                                 const struct phx__entry *e)
{
    struct phx__offer *h = phx__route_table_make_offer(&r->table, d, nbr);

    if (h == NULL)
        return PHX_ENOMEM;
    h->seq = e->seq;
    h->hops = e->hops;
    return 0;
}

/* Adds the sender's trans set to rcpt. Ids unknown here cannot be neighbours, so they do not matter. */
static inline int paper_promises(struct phx__route *r, struct phx__dest *d, const struct phx__entry *e,
                                 const struct phx_id *trans, uint32_t count)
{
    uint32_t i, node;

    for (i = 0; i < count; i++) {
        node = phx__id_find(r->ids, &trans[i]);
        if (node != PHX__NONE && paper_received(r, d, node, e) != 0)
            return PHX_ENOMEM;
    }
    return 0;
}

static inline int paper_other(struct phx__route *r, uint32_t nbr, uint32_t node, const struct phx__entry *e,
                              const struct phx_id *trans, uint32_t count, uint64_t now)
{
    struct phx__dest *d = &r->table.at[node];

    if (e->seq < d->seq
        || (e->seq == d->seq && e->hops > d->hops + 1 && d->hops != PHX__UNREACHABLE)) {
        phx__route_table_drop_offer(&r->table, d, nbr);
        route_touch(r, node, now);
        return phx__route_table_advertise(&r->table, d, nbr, NULL);
    }
    if (e->seq != d->seq)
        return 0;
    if (paper_received(r, d, nbr, e) != 0)
        return PHX_ENOMEM;
    return e->hops <= d->hops ? paper_promises(r, d, e, trans, count) : 0;
}

/* The trans set of the entry at hand: how many ids. */
static inline uint32_t paper_next_set(struct phx__route *r, uint32_t nbr, const struct phx_id **trans)
{
    struct paper *paper = paper_of(r);
    struct paper_sets *s = nbr < paper->in_count ? &paper->in[nbr] : NULL;
    struct paper_run *run;

    *trans = NULL;
    if (s == NULL || s->next == s->count)
        return 0;
    run = &s->run[s->next];
    s->next += --run->entries == 0;
    *trans = s->id + run->first;
    return run->ids;
}

static inline int paper_entry(struct phx__route *r, uint32_t nbr, uint32_t node, const struct phx__entry *e,
                              uint64_t now)
{
    struct phx__dest *d = &r->table.at[node];
    const struct phx_id *trans;
    uint32_t i, count = paper_next_set(r, nbr, &trans);

    if (!paper_improves(d, e))
        return paper_other(r, nbr, node, e, trans, count, now);
    phx__route_table_drop_offers(&r->table, d);
    for (i = 0; d->advertised != NULL && i < d->advertised->count; i++)
        d->advertised->at[i].word.hops = PHX__UNREACHABLE; /* out of trans; the card they have stays known */
    if (e->hops < PHX__UNREACHABLE - 1)
        route_use(r, node, nbr, e->seq, (uint8_t)(e->hops + 1), now);
    else
        route_use(r, node, PHX__NONE, e->seq, PHX__UNREACHABLE, now);
    route_touch(r, node, now);
    return paper_received(r, d, nbr, e) || paper_promises(r, d, e, trans, count) ? PHX_ENOMEM : 0;
}

static inline int paper_needs(const struct phx__route *r, const struct phx__dest *d, uint32_t nbr)
{
    const struct phx__advertised *t = phx__route_table_advertised(d, nbr);

    if (d->card_version == 0 && d->hops == PHX__UNREACHABLE && d->advertised == NULL
        && d->offer_count == 0)
        return 0;
    if (t != NULL && !t->asked && t->seq == d->seq && t->hops == d->hops && t->card >= d->card_version)
        return 0;
    return paper_of(r)->kind == PAPER_NAIVE || phx__route_table_offer(d, nbr) == NULL;
}

/* ---- Sets out and in */

static inline void paper_put_set(struct phx__route *r, struct paper_sets *s, const struct phx__dest *d)
{
    uint32_t i, k;

    paper_add_run(s, 1);
    for (i = 0; d->advertised != NULL && i < d->advertised->count; i++) {
        const struct phx__advertised_run *run = &d->advertised->at[i];
        if (run->word.seq == d->seq && run->word.hops == d->hops)
            for (k = run->first; k <= run->last; k++)
                paper_add_id(s, &r->ids->at[k]);
    }
}

/* The last run's set is the one before it: they become one run. */
static inline void paper_merge(struct paper_sets *s)
{
    struct paper_run *b = &s->run[s->count - 1], *a = b - 1;

    if (s->count < 2 || a->ids != b->ids
        || memcmp(s->id + a->first, s->id + b->first, a->ids * sizeof *s->id) != 0)
        return;
    a->entries++;
    s->id_count -= b->ids;
    s->count--;
}

static inline void paper_send(struct paper *paper, uint32_t nbr)
{
    enum { MOST = 60000 };
    const struct paper_sets *s = &paper->out;
    struct phx__link *l = phx__node_link(paper->p, nbr);
    struct phx__writer w;
    uint32_t i = 0;
    size_t size, start;

    while (l != NULL && i < s->count) {
        uint32_t k = i;
        for (size = 64; k < s->count && size + s->run[k].ids * sizeof *s->id < MOST; k++)
            size += 4 + s->run[k].ids * sizeof *s->id;
        if (k == i || phx__link_out_control(&paper->p->set, l, size, &w) != 0)
            return;
        start = phx__wire_begin(&w, PHX__PAPER, 0, 0);
        phx__buf_put_u8(&w, i == 0);
        for (; i < k; i++) {
            phx__buf_put_u16(&w, (uint16_t)s->run[i].entries);
            phx__buf_put_u16(&w, (uint16_t)s->run[i].ids);
            phx__buf_put_bytes(&w, s->id + s->run[i].first, s->run[i].ids * sizeof *s->id);
        }
        phx__wire_end(&w, start);
        (void)phx__link_out_control_end(&paper->p->set, l, &w);
    }
}

static inline void paper_leaves(struct phx__route *r, uint32_t nbr, uint32_t count)
{
    struct paper *paper = paper_of(r);
    uint32_t i;

    paper_clear(&paper->out);
    for (i = 0; paper->kind == PAPER_SETS && i < count; i++) {
        paper_put_set(r, &paper->out, &r->table.at[phx__id_find(r->ids, &r->out[i].id)]);
        paper_merge(&paper->out);
    }
    if (paper->p != NULL)
        paper_send(paper, nbr);
}

/* What neighbour nbr says of its next entries. */
static inline struct paper_sets *paper_from(struct paper *paper, uint32_t nbr)
{
    for (; paper->in_count <= nbr; paper->in_count++) {
        paper->in = paper_grow(paper->in, paper->in_count + 1, sizeof *paper->in);
        memset(&paper->in[paper->in_count], 0, sizeof *paper->in);
    }
    return &paper->in[nbr];
}

/* A frame of sets. 0, or PHX_EPROTO. */
static inline int paper_frame(phx *p, uint32_t nbr, const struct phx__frame *f)
{
    struct paper_sets *s = paper_from(paper_of(&p->route), nbr);
    struct phx__reader in;
    struct phx_id id;
    uint32_t ids;

    phx__buf_reader_init(&in, f->body, f->size);
    if (phx__buf_get_u8(&in))
        paper_clear(s);
    while (!in.bad && in.left > 0) {
        paper_add_run(s, phx__buf_get_u16(&in));
        for (ids = phx__buf_get_u16(&in); !in.bad && ids > 0; ids--) {
            phx__buf_get_copy(&in, &id, sizeof id);
            paper_add_id(s, &id);
        }
    }
    return in.bad ? PHX_EPROTO : 0;
}

/* ---- Life */

static inline struct paper *paper_new(int kind, phx *p)
{
    struct paper *paper = paper_grow(NULL, 1, sizeof *paper);

    memset(paper, 0, sizeof *paper);
    paper->rules.entry = paper_entry;
    paper->rules.lost = paper_lost;
    paper->rules.needs = paper_needs;
    paper->rules.leaves = paper_leaves;
    paper->kind = kind;
    paper->p = p;
    return paper;
}

static inline void paper_free(struct paper *paper)
{
    if (paper == NULL)
        return;
    while (paper->in_count > 0)
        paper_clear(&paper->in[--paper->in_count]);
    paper_clear(&paper->out);
    free(paper->in);
    free(paper);
}

#endif
