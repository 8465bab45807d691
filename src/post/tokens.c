/* tokens.c - where the messages with a token are, for who cancels. */

/* phx_cancel names a message by its token, and a message moves: from a mailbox into a flow and back. An index
 * that every send had to keep would be paid by all for a call that most never make. So the first phx_cancel
 * walks over all messages and makes it. From then on who puts a message adds it, and a message in a mailbox
 * has its place in the list, so that it can leave. A message in a flow need not: its entry says a number, and
 * who takes the entry out sees whether the record of that number is still the message's.
 *
 * So entries may be old. When there are four times as many as things were walked over to make the index, it
 * ends, and the next phx_cancel makes another: each walk is paid by as many sends. Who cancels no more loses
 * it in this way, too. */
#include "post/tokens.h"

#define TOKENS_NONE UINT32_MAX

void phx__post_tokens_drop(struct phx__tokens *t)
{
    phx__mem_put(t->mem, t->list, t->capacity * sizeof *t->list);
    phx__map_free(&t->heads);
    t->list = NULL;
    t->count = t->capacity = t->most = 0;
}

void phx__post_tokens_begin(struct phx__tokens *t, size_t count)
{
    phx__post_tokens_drop(t);
    t->most = count < TOKENS_NONE / 8 ? (uint32_t)(4 * count + 64) : TOKENS_NONE / 2;
}

uint32_t phx__post_tokens_add(struct phx__tokens *t, uint64_t token, const struct phx__token_at *at)
{
    uint32_t next;

    if (t->most == 0)
        return TOKENS_NONE;
    next = phx__map_get(&t->heads, token);
    if (t->count == t->most
        || phx__mem_grow(t->mem, &t->list, &t->capacity, t->count + 1, sizeof *t->list) != 0
        || phx__map_put(&t->heads, token, t->count) != 0) {
        phx__post_tokens_drop(t);
        return TOKENS_NONE;
    }
    t->list[t->count] = *at;
    t->list[t->count].next = next;
    return t->count++;
}

void phx__post_tokens_gone(struct phx__tokens *t, uint32_t place)
{
    if (t->most == 0)
        return;
    t->list[place].queued = NULL;
    t->list[place].node = PHX__NONE;
}

int phx__post_tokens_take(struct phx__tokens *t, uint64_t token, struct phx__token_at *at)
{
    uint32_t i = phx__map_get(&t->heads, token);

    if (i == TOKENS_NONE)
        return 0;
    *at = t->list[i];
    if (at->next == TOKENS_NONE)
        phx__map_del(&t->heads, token);
    else
        (void)phx__map_put(&t->heads, token, at->next); /* replacing needs no memory */
    return 1;
}
