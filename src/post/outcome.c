/* outcome.c - what became of messages: promised when they are accepted, told in a step. */

/* phx__post_run alone reports outcomes, so no release function runs outside a step. Their memory is reserved
 * when the message is accepted, so no end can fail. */
#include "post/outcome.h"

/* After a peak the index of tokens goes if it has so many more than four for each message. */
#define OUTCOME_TOKENS 4096u

uint32_t phx__post_outcome_promises(uint64_t token, const struct phx__block *body)
{
    return (token != 0 ? 1u : 0u) + (body != NULL && body->release != NULL ? 1u : 0u);
}

int phx__post_outcome_promise(struct phx__post *p, uint32_t n)
{
    size_t need = p->outcomes.promised + p->outcomes.first + p->outcomes.count + n;

    if (n > 0 && (need > UINT32_MAX
                  || phx__mem_grow(p->mem, &p->outcomes.list, &p->outcomes.capacity, (uint32_t)need,
                                   sizeof *p->outcomes.list) != 0))
        return PHX_ENOMEM;
    p->outcomes.promised += n;
    return 0;
}

PHX__COLD void phx__post_outcome_fit(struct phx__post *p)
{
    struct phx__post_store *s = &p->store;
    struct phx__post_outcomes *o = &p->outcomes;
    size_t need = o->promised + o->first + o->count;

    phx__mem_fit(p->mem, &s->boxes, &s->capacity, s->count, sizeof *s->boxes);
    phx__map_fit(&s->index);
    phx__map_fit(&s->waiting);
    if (s->tokens.count > 4 * p->pending.count + OUTCOME_TOKENS)
        phx__post_tokens_drop(&s->tokens);
    phx__mem_fit(p->mem, &o->list, &o->capacity, (uint32_t)need, sizeof *o->list);
}

void phx__post_outcome_lost(struct phx__post *p, uint32_t count, uint64_t to, int result)
{
    p->outcomes.lost.count += count;
    p->outcomes.lost.to = to;
    p->outcomes.lost.result = result;
}

void phx__post_outcome_add(struct phx__post *p, const struct phx__message *m, int result)
{
    uint32_t n = phx__post_outcome_promises(m->token, m->body);
    struct phx__block *body = m->body != NULL && m->body->release != NULL ? m->body : NULL;

    if (result != PHX_OK && m->token == 0 && m->limit != 0)
        phx__post_outcome_lost(p, 1 + m->rest, m->to, result);
    if (n == 0) {
        phx__post_store_multicast_drop(&p->store, m->multicast);
        return;
    }
    PHX_ASSERT(p->outcomes.promised >= n && p->outcomes.first + p->outcomes.count < p->outcomes.capacity);
    p->outcomes.promised -= n;
    p->outcomes.list[p->outcomes.first + p->outcomes.count++] = (struct phx__outcome){
        m->token, result, body == NULL ? NULL : phx__buf_block_hold(body), m->multicast, m->to, m->tag
    };
}

int phx__post_outcome_may_call(struct phx__post *p, int share, uint32_t done)
{
    if (p->calls == 0)
        p->calls = p->ops.calls(p->ops.ctx, share);
    return p->calls > 0 || done == 0;
}

void phx__post_outcome_tell(struct phx__post *p)
{
    uint32_t n = p->outcomes.count, lost = p->outcomes.lost.count, told = 0;

    p->outcomes.lost.count = 0;
    if (lost > 0)
        p->ops.lost(p->ops.ctx, lost, p->outcomes.lost.to, p->outcomes.lost.result);
    /* Those that callbacks add are left for the next time: a host may send and cancel for ever. */
    for (; told < n && phx__post_outcome_may_call(p, PHX__SHARE_REST, told); told++) {
        struct phx__outcome o = p->outcomes.list[p->outcomes.first];

        p->calls -= p->calls > 0;
        if (o.multicast != NULL)
            p->ops.member(p->ops.ctx, o.token, o.to, o.result, o.multicast->refs - 1);
        else if (o.token != 0)
            p->ops.done(p->ops.ctx, o.token, o.to, o.tag, o.result);
        phx__post_store_multicast_drop(&p->store, o.multicast);
        p->outcomes.first++;
        p->outcomes.count--;
        phx__buf_block_drop(o.body); /* till now the host could reclaim it */
    }
    if (p->outcomes.count > 0)
        memmove(p->outcomes.list, p->outcomes.list + p->outcomes.first,
                p->outcomes.count * sizeof *p->outcomes.list);
    p->outcomes.first = 0;
}
