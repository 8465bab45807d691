/* lost.c - which names are lost with nodes that failed, and what changed in that. */

/* The paper reports failures as sets of virtual nodes, because names are what its programs know (section
 * 3.2). A name is *lost* (in the API: broken) when a node that failed claims it and no living node does:
 *
 *      lost = claims of the failed - claims of all others
 *
 * Both sides are claims in cards, so all nodes that have seen the same cards and the same failures agree. A
 * name that was released, or whose holder said goodbye, is in nobody's claims and so is free, not lost. Where
 * two failed nodes claim a name, the higher (epoch, id) is named as its owner, as among the living.
 *
 * The list is made anew when claims or failures have changed and somebody asks, unless none of the names that
 * changed is claimed by a failed node. An index over the claims of the failed alone is kept, and each of its
 * segments is cut against the index of the living.
 *
 * News is the difference between two such lists, by name and not by owner: when a second failed node turns
 * out to have claimed the same name later, the host is not told again. It is taken out before it is told, so
 * that a host that assumes the names inside on_broken, as it will, disturbs nothing. A node that is forgotten
 * takes its names out of both lists: they are not lost any more, but not back either, so nothing is said.
 * Names that are back come before names that are lost: no program that hands them out has one too many. */
#include "names/lost.h"

static void lost_drop(struct phx__names_lost *l, struct phx__names_lost_list *list)
{
    phx__mem_put(l->mem, list->at, list->capacity * sizeof *list->at);
    memset(list, 0, sizeof *list);
}

static int lost_put(struct phx__names_lost *l, struct phx__names_lost_list *list, const struct phx_lost *like,
                    uint64_t first, uint64_t last)
{
    if (phx__mem_grow(l->mem, &list->at, &list->capacity, list->count + 1, sizeof *list->at) != 0)
        return PHX_ENOMEM;
    list->at[list->count++] = (struct phx_lost){ { first, last }, like->owner, like->since_us };
    return 0;
}

/* The parts of a segment that nobody alive claims. */
PHX__COLD static int lost_cut(struct phx__names_lost *l, struct phx__names_lost_list *list,
                              const struct phx__names_segment *dead)
{
    const struct phx_lost like = { { 0, 0 }, l->names->ids->at[dead->owner], l->since(l->ctx, dead->owner) };
    struct phx_range around;
    uint64_t first;
    int err;

    for (first = dead->first;; first = around.last + 1) {
        uint32_t owner = phx__names_owner(l->names, first, &around, &err);
        if (err != 0)
            return err;
        around.last = PHX__MIN(around.last, dead->last);
        if (owner == PHX__NONE && lost_put(l, list, &like, first, around.last) != 0)
            return PHX_ENOMEM;
        if (around.last == dead->last)
            return 0;
    }
}

/* The parts of the names of from that are not in less, appended to list. */
PHX__COLD static int lost_minus(struct phx__names_lost *l, const struct phx__names_lost_list *from,
                      const struct phx__names_lost_list *less, struct phx__names_lost_list *list)
{
    uint32_t i, k = 0;

    for (i = 0; i < from->count; i++) {
        uint64_t first = from->at[i].range.first, last = from->at[i].range.last;
        int some = 1; /* something of first..last remains */
        while (k < less->count && less->at[k].range.last < first)
            k++;
        for (; some && k < less->count && less->at[k].range.first <= last; k++) {
            const struct phx_range *cut = &less->at[k].range;
            if (cut->first > first && lost_put(l, list, &from->at[i], first, cut->first - 1) != 0)
                return PHX_ENOMEM;
            if (cut->last >= last) {
                some = 0;
                break; /* it may reach into the next of from, too */
            }
            first = cut->last + 1;
        }
        if (some && lost_put(l, list, &from->at[i], first, last) != 0)
            return PHX_ENOMEM;
    }
    return 0;
}

void phx__names_lost_init(struct phx__names_lost *l, struct phx__mem *mem, struct phx__names *names,
                          uint64_t (*since)(phx *p, uint32_t node), phx *ctx)
{
    *l = (struct phx__names_lost){
        .mem = mem, .names = names, .since = since, .ctx = ctx, .dead = { .mem = mem, .ids = names->ids }
    };
}

PHX__COLD void phx__names_lost_free(struct phx__names_lost *l)
{
    lost_drop(l, &l->now);
    lost_drop(l, &l->told);
    lost_drop(l, &l->gone);
    lost_drop(l, &l->come);
    phx__names_index_free(&l->dead);
}

/* Do the changes touch no name that a failed node claims? */
PHX__COLD static int lost_is_untouched(const struct phx__names_lost *l)
{
    const struct phx__names_changes *c = &l->names->changes;

    if (c->count > PHX__COUNT(c->at) || l->dead_version != l->names->dead_version)
        return 0;
    for (uint32_t i = 0; i < c->count; i++) {
        uint32_t k = phx__names_index_find(l->dead.at, sizeof *l->dead.at, l->dead.count, c->at[i].first);

        if (k < l->dead.count && l->dead.at[k].first <= c->at[i].last)
            return 0;
    }
    return 1;
}

/* Brings `now` up to date. 0 or PHX_ENOMEM: nothing changed. */
PHX__COLD static int lost_find(struct phx__names_lost *l)
{
    struct phx__names_lost_list list = { NULL, 0, 0 };
    int err = 0;

    if (l->version == l->names->version || lost_is_untouched(l)) {
        l->version = l->names->version;
        return 0;
    }
    if (l->dead_version != l->names->dead_version)
        err = phx__names_index_build(&l->dead, l->names->of, l->names->capacity, 1);
    if (err == 0)
        l->dead_version = l->names->dead_version;
    for (uint32_t i = 0; err == 0 && i < l->dead.count; i++)
        err = lost_cut(l, &list, &l->dead.at[i]);
    if (err != 0) {
        lost_drop(l, &list);
        return err;
    }
    lost_drop(l, &l->now);
    l->now = list;
    l->fresh = 1;
    l->version = l->names->version;
    return 0;
}

PHX__COLD int phx__names_lost_compare(struct phx__names_lost *l)
{
    struct phx__names_lost_list told = { NULL, 0, 0 }, none = { NULL, 0, 0 };

    if (l->gone.count + l->come.count > 0)
        return 0; /* these first */
    if (lost_find(l) != 0)
        return PHX_ENOMEM;
    if (!l->fresh)
        return 0;
    if (lost_minus(l, &l->told, &l->now, &l->gone) != 0 || lost_minus(l, &l->now, &l->told, &l->come) != 0
        || lost_minus(l, &l->now, &none, &told) != 0) {
        lost_drop(l, &l->gone);
        lost_drop(l, &l->come);
        lost_drop(l, &told);
        return PHX_ENOMEM;
    }
    lost_drop(l, &l->told);
    l->told = told;
    l->fresh = 0;
    return 0;
}

PHX__COLD int phx__names_lost_take(struct phx__names_lost *l, struct phx_lost *out, int *is_lost)
{
    struct phx__names_lost_list *list = l->gone.count > 0 ? &l->gone : &l->come;

    if (list->count == 0)
        return 0;
    *is_lost = list == &l->come;
    *out = list->at[l->taken++];
    if (l->taken == list->count) {
        l->taken = 0;
        lost_drop(l, list);
    }
    return 1;
}

PHX__COLD void phx__names_lost_forget(struct phx__names_lost *l, const struct phx_id *owner)
{
    struct phx__names_lost_list *told = &l->told;
    uint32_t i, kept = 0;

    for (i = 0; i < told->count; i++)
        if (!phx__id_equal(&told->at[i].owner, owner))
            told->at[kept++] = told->at[i];
    told->count = kept;
}

size_t phx__names_lost_get(struct phx__names_lost *l, uint64_t first, uint64_t last, struct phx_lost *out,
                           size_t capacity)
{
    const struct phx__names_lost_list *now = &l->now;
    size_t n = 0;
    uint32_t i;

    if (lost_find(l) != 0)
        return 0;
    i = phx__names_index_find(now->at, sizeof *now->at, now->count, first);
    for (; i < now->count && now->at[i].range.first <= last; i++, n++) {
        if (n >= capacity)
            continue;
        out[n] = now->at[i];
        out[n].range.first = PHX__MAX(out[n].range.first, first);
        out[n].range.last = PHX__MIN(out[n].range.last, last);
    }
    return n;
}
