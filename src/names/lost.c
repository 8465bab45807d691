/* lost.c - part of names: which names are lost with nodes that failed, and what changed in that. */

/* The paper reports failures as sets of virtual nodes, because names are what its programs know
 * (section 3.2). A name is *broken* when a node that failed claims it and no living node does:
 *
 *      broken = claims of the failed - claims of all others
 *
 * Both sides are claims in cards, so all nodes that have seen the same cards and the same failures
 * agree. A name that was released, or whose holder said goodbye, is in nobody's claims and so is
 * free, not broken. Where two failed nodes claim a name, the one with the higher (epoch, id) is
 * named as its owner, by the same order as among the living.
 *
 * The list is made anew when claims or failures have changed and somebody asks, which is rare:
 * once per failure, return or card while any node is down. The set of the failed is indexed by the
 * sweep of names.c, run over their claims alone, and each of its segments is cut against the index
 * of the living. O(c log c) for c claims.
 *
 * News is the difference between two such lists, by name and not by owner: when a second failed
 * node turns out to have claimed the same name later, the host is not told again. It is taken out
 * before it is told, so that a host that assumes the names inside on_broken, as it will, disturbs
 * nothing. A node that is forgotten takes its names out of both lists: they are not broken any more, but
 * not back either, so nothing is said. Names that are back come before names that are
 * lost: a program that hands them out again is never one too many. */
#include "names/lost.h"

static void lost_drop(struct phx__names_lost *b, struct phx__names_lost_list *l)
{
    phx__mem_put(b->mem, l->at, l->capacity * sizeof *l->at);
    memset(l, 0, sizeof *l);
}

static int lost_put(struct phx__names_lost *b, struct phx__names_lost_list *l,
                      const struct phx_lost *like, uint64_t first, uint64_t last)
{
    struct phx_lost *x;

    if (phx__mem_grow(b->mem, &l->at, &l->capacity, l->count + 1, sizeof *l->at) != 0)
        return PHX_ENOMEM;
    x = &l->at[l->count++];
    *x = *like;
    x->range.first = first;
    x->range.last = last;
    return 0;
}

/* The parts of first..last that nobody alive claims. */
static int lost_cut(struct phx__names_lost *b, struct phx__names_lost_list *l,
                      const struct phx_lost *like, uint64_t first, uint64_t last)
{
    struct phx_range around;
    int err;

    for (;;) {
        uint32_t owner = phx__names_owner(b->names, first, &around, &err);
        if (err != 0)
            return err;
        if (around.last > last)
            around.last = last;
        if (owner == PHX__NONE && lost_put(b, l, like, first, around.last) != 0)
            return PHX_ENOMEM;
        if (around.last == last)
            return 0;
        first = around.last + 1;
    }
}

/* Goes through the index of the failed alone, segment by segment. */
static int lost_collect(struct phx__names_lost *b, struct phx__names *dead,
                          struct phx__names_lost_list *l)
{
    struct phx_range around;
    struct phx_lost like;
    uint64_t name = 0;
    int err;

    memset(&like, 0, sizeof like);
    for (;;) {
        uint32_t owner = phx__names_owner(dead, name, &around, &err);
        if (err != 0)
            return err;
        if (owner != PHX__NONE) {
            like.owner = b->names->ids->at[owner];
            like.since_us = b->since(b->ctx, owner);
            if ((err = lost_cut(b, l, &like, name, around.last)) != 0)
                return err;
        }
        if (around.last == UINT64_MAX)
            return 0;
        name = around.last + 1;
    }
}

/* The parts of a's names that are not in b, appended to l. */
static int lost_minus(struct phx__names_lost *b, const struct phx__names_lost_list *from,
                        const struct phx__names_lost_list *less, struct phx__names_lost_list *l)
{
    uint32_t i, k = 0;

    for (i = 0; i < from->count; i++) {
        uint64_t first = from->at[i].range.first, last = from->at[i].range.last;
        int left = 1; /* is something of first..last left? */
        while (k < less->count && less->at[k].range.last < first)
            k++;
        for (; left && k < less->count && less->at[k].range.first <= last; k++) {
            const struct phx_range *cut = &less->at[k].range;
            if (cut->first > first && lost_put(b, l, &from->at[i], first, cut->first - 1) != 0)
                return PHX_ENOMEM;
            if (cut->last >= last) {
                left = 0;
                break; /* it may reach into the next of a's, too */
            }
            first = cut->last + 1;
        }
        if (left && lost_put(b, l, &from->at[i], first, last) != 0)
            return PHX_ENOMEM;
    }
    return 0;
}

void phx__names_lost_init(struct phx__names_lost *b, struct phx__mem *mem, struct phx__names *names,
                      uint64_t (*since)(void *ctx, uint32_t node), void *ctx)
{
    memset(b, 0, sizeof *b);
    b->mem = mem;
    b->names = names;
    b->since = since;
    b->ctx = ctx;
}

void phx__names_lost_free(struct phx__names_lost *b)
{
    lost_drop(b, &b->now);
    lost_drop(b, &b->told);
    lost_drop(b, &b->gone);
    lost_drop(b, &b->come);
}

int phx__names_lost_find(struct phx__names_lost *b)
{
    struct phx__names_lost_list list = { NULL, 0, 0 };
    struct phx__names dead;
    int err;

    if (b->version == b->names->version)
        return 0;
    err = phx__names_of_dead(b->names, &dead);
    if (err > 0)
        err = lost_collect(b, &dead, &list);
    phx__names_of_dead_free(&dead);
    if (err != 0) {
        lost_drop(b, &list);
        return err;
    }
    lost_drop(b, &b->now);
    b->now = list;
    b->version = b->names->version;
    return 0;
}

/* Told newest first, so they stand in memory the other way round. */
static void lost_turn(struct phx__names_lost_list *l)
{
    uint32_t i, k;

    for (i = 0, k = l->count; i + 1 < k--; i++) {
        struct phx_lost x = l->at[i];
        l->at[i] = l->at[k];
        l->at[k] = x;
    }
}

int phx__names_lost_compare(struct phx__names_lost *b)
{
    struct phx__names_lost_list told = { NULL, 0, 0 }, none = { NULL, 0, 0 };

    if (b->gone.count + b->come.count > 0)
        return 0; /* these first */
    if (phx__names_lost_find(b) != 0)
        return PHX_ENOMEM;
    if (b->now.count + b->told.count == 0)
        return 0;
    if (lost_minus(b, &b->told, &b->now, &b->gone) != 0
        || lost_minus(b, &b->now, &b->told, &b->come) != 0
        || lost_minus(b, &b->now, &none, &told) != 0) {
        lost_drop(b, &b->gone);
        lost_drop(b, &b->come);
        lost_drop(b, &told);
        return PHX_ENOMEM;
    }
    lost_turn(&b->gone);
    lost_turn(&b->come);
    lost_drop(b, &b->told);
    b->told = told;
    return 0;
}

int phx__names_lost_take(struct phx__names_lost *b, struct phx_lost *out, int *broken)
{
    struct phx__names_lost_list *l = b->gone.count > 0 ? &b->gone : &b->come;

    if (l->count == 0)
        return 0;
    *broken = l == &b->come;
    *out = l->at[--l->count];
    if (l->count == 0)
        lost_drop(b, l);
    return 1;
}

void phx__names_lost_forget(struct phx__names_lost *b, const struct phx_id *owner)
{
    struct phx__names_lost_list *l = &b->told;
    uint32_t i, kept = 0;

    for (i = 0; i < l->count; i++)
        if (!phx__id_equal(&l->at[i].owner, owner))
            l->at[kept++] = l->at[i];
    l->count = kept;
}

uint32_t phx__names_lost_at(const struct phx__names_lost *b, uint64_t first)
{
    uint32_t low = 0, high = b->now.count;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (b->now.at[middle].range.last < first)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}
