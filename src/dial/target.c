/* target.c - part of disc: what may be dialled gets a target, and who may not is only counted. */
/*
 * A target with one address costs some 110 bytes: its rounds, its timer, how each address fared. Beyond
 * max_links nodes nearly all that are known are never dialled, and of them only is kept that they have
 * addresses. Which these are is on their cards, so ops.addresses can tell when it is needed: when somebody
 * sends to the node, when it becomes one of the best, or when so many others are gone that all may be
 * dialled. A host of this room without ops.addresses gives every node its target at once.
 *
 * A target that finds no memory when it is needed is tried again with the next of these events.
 */
#include "dial/target.h"

int phx__dial_target_new(struct phx__dial *d, const struct phx_address *a, const uint32_t *picked,
                    uint32_t n, uint32_t *slot)
{
    uint32_t s = d->target_free != PHX__NONE ? d->target_free : d->target_count, timer;
    struct phx__dial_addr *at;
    struct phx__dial_target *t;

    if (phx__mem_grow(d->mem, &d->targets, &d->target_capacity, s + 1, sizeof *d->targets) != 0)
        return PHX_ENOMEM;
    at = phx__dial_addr_new(d->mem, a, picked, n);
    if (at == NULL)
        return PHX_ENOMEM;
    if (phx__timer_new(d->timers, PHX__TIMER_DISC, s, &timer) != 0) {
        phx__dial_addr_free(d->mem, at, n);
        return PHX_ENOMEM;
    }
    t = &d->targets[s];
    if (s == d->target_count)
        d->target_count++;
    else
        d->target_free = t->after;
    memset(t, 0, sizeof *t);
    t->at = at;
    t->count = (uint8_t)n;
    t->in_use = 1;
    t->node = PHX__NONE;
    t->timer = timer;
    *slot = s;
    return 0;
}

uint32_t phx__dial_target_of(const struct phx__dial *d, uint32_t node)
{
    uint32_t target = node < d->node_capacity ? d->nodes[node].target : 0;

    return target != 0 && target != PHX__TARGET_LATENT ? target - 1 : PHX__NONE;
}

int phx__dial_target_can_wait(const struct phx__dial *d, uint32_t node)
{
    uint32_t known = d->known + !d->nodes[node].linked;

    return d->ops.addresses != NULL && known > d->limits.max_links && !d->nodes[node].wanted
           && !phx__dial_pick_takes(&d->best, d->ids, node);
}

uint32_t phx__dial_target_wake(struct phx__dial *d, uint32_t node)
{
    struct phx_address a[PHX__DISC_ADDRESSES];
    uint32_t picked[PHX__DISC_ADDRESSES], n, slot = phx__dial_target_of(d, node);

    if (node >= d->node_capacity || d->nodes[node].target != PHX__TARGET_LATENT)
        return slot;
    n = phx__dial_addr_order(a, d->ops.addresses(d->ops.ctx, node, a), picked);
    if (n == 0 || phx__dial_target_new(d, a, picked, n, &slot) != 0)
        return PHX__NONE;
    d->targets[slot].node = node;
    d->nodes[node].target = slot + 1;
    d->latent--;
    return slot;
}

int phx__dial_target_wake_all(struct phx__dial *d)
{
    uint32_t node, before = d->latent;

    if (d->known > d->limits.max_links)
        return 0;
    for (node = 0; d->latent > 0 && node < d->node_capacity; node++)
        if (d->nodes[node].target == PHX__TARGET_LATENT)
            (void)phx__dial_target_wake(d, node);
    return d->latent < before;
}

uint32_t phx__dial_target_next_best(const struct phx__dial *d)
{
    uint64_t score, least = UINT64_MAX;
    uint32_t node, next = PHX__NONE;

    for (node = 0; node < d->node_capacity; node++) {
        if (d->nodes[node].target == 0 || phx__dial_pick_has(&d->best, node))
            continue;
        score = phx__dial_pick_score(d->ids, node);
        if (next == PHX__NONE || score < least) {
            next = node;
            least = score;
        }
    }
    return next;
}
