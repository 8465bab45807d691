/* store.c - mailboxes, one per name: queued messages, in order, and those who wait for room. */

/* A mailbox exists for each name that this node has sent messages to which have not ended. It counts the
 * frames of those in a flow. The others are queued here: nobody has the name; or this node itself has it, and
 * calls its application only inside a step; or the flow to the owner is full; or the name moved and what is
 * in the former owner's flow must end first. box.c decides where they go, and draws it.
 *
 * Two rules keep the order. While a mailbox has queued messages, each new one joins them, and they leave from
 * the front; so they are younger than all of that name in a flow, but for what came back, which stands before
 * the others. And messages to one name are in one node's flow at a time. A LOCAL mailbox stays when it is
 * empty, and its messages share blocks: what a node sends to itself needs no memory in a steady state.
 *
 * Most sends find the mailbox without a search, because it is the one found last. A run that comes back stays
 * one queued message, which borrows its bytes, and goes into the next flow as a run: a window of small
 * messages would need tens of megabytes one by one. Only this node itself splits it. Waiters are names to
 * which a send returned PHX_EAGAIN. Each is in one list, so the host is told once. */
#include "post/store.h"

/* What a queued message costs beside its bytes, about: the struct, its block and the allocator's share. */
#define STORE_OVERHEAD 192u
/* What this node sends to itself, up to so many bytes, shares blocks, up to a size that base/mem.c keeps. */
#define STORE_SMALL 4096u
#define STORE_TAIL_MOST 131072u

/* ---- Boxes */

void phx__post_store_init(struct phx__post_store *s, struct phx__mem *mem)
{
    *s = (struct phx__post_store){ .mem = mem, .index = { .mem = mem }, .waiting = { .mem = mem },
                                   .tokens = { .mem = mem, .heads = { .mem = mem } } };
}

void phx__post_store_free(struct phx__post_store *s)
{
    PHX_ASSERT(s->count == 0);
    phx__mem_put(s->mem, s->boxes, s->capacity * sizeof *s->boxes);
    phx__map_free(&s->index);
    phx__map_free(&s->waiting);
    phx__post_tokens_drop(&s->tokens);
    phx__buf_block_drop(s->tail);
}

PHX__APART static struct phx__box *store_look(struct phx__post_store *s, uint64_t name)
{
    uint32_t i = phx__map_get(&s->index, name);

    return i == UINT32_MAX ? NULL : (s->recent = s->boxes[i]);
}

struct phx__box *phx__post_store_find(struct phx__post_store *s, uint64_t name)
{
    return s->recent != NULL && s->recent->name == name ? s->recent : store_look(s, name);
}

struct phx__box *phx__post_store_open(struct phx__post_store *s, uint64_t name)
{
    struct phx__box *b;

    if (phx__mem_grow(s->mem, &s->boxes, &s->capacity, s->count + 1, sizeof *s->boxes) != 0
        || (b = phx__mem_zero(s->mem, sizeof *b)) == NULL)
        return NULL;
    if (phx__map_put(&s->index, name, s->count) != 0) {
        phx__mem_put(s->mem, b, sizeof *b);
        return NULL;
    }
    phx__ring_init(&b->link);
    phx__ring_init(&b->age);
    phx__ring_init(&b->waiters);
    b->name = name;
    b->index = s->count;
    b->state = PHX__BOX_HELD;
    s->boxes[s->count++] = b;
    return b;
}

void phx__post_store_close(struct phx__post_store *s, struct phx__box *b)
{
    struct phx__box *last = s->boxes[s->count - 1];

    PHX_ASSERT(b->head == NULL && b->bytes == 0 && phx__ring_is_empty(&b->waiters) && b->flying == 0);
    if (s->recent == b)
        s->recent = NULL;
    phx__ring_del(&b->link);
    phx__ring_del(&b->age);
    phx__map_del(&s->index, b->name);
    if (last != b) {
        s->boxes[b->index] = last;
        last->index = b->index;
        (void)phx__map_put(&s->index, last->name, last->index); /* replacing needs no memory */
    }
    s->count--;
    phx__mem_put(s->mem, b, sizeof *b);
}

static size_t *store_total(struct phx__post_store *s, const struct phx__box *b)
{
    return b->state == PHX__BOX_LOCAL ? &s->local_bytes : &s->held_bytes;
}

void phx__post_store_move(struct phx__post_store *s, struct phx__box *b, enum phx__box_state state,
                          struct phx__ring *list)
{
    *store_total(s, b) -= b->bytes;
    b->state = state;
    *store_total(s, b) += b->bytes;
    if (list != NULL)
        phx__ring_add(list, &b->link);
    else
        phx__ring_del(&b->link);
}

/* ---- Queued messages */

size_t phx__post_store_cost(size_t size)
{
    return size + STORE_OVERHEAD;
}

/* It joins the mailbox, or leaves it. */
static void store_count(struct phx__post_store *s, struct phx__box *b, const struct phx__queued *q,
                        int leaves)
{
    uint32_t messages = 1 + q->message.rest;
    size_t bytes = phx__post_store_cost(q->message.size + q->message.rest_size);

    s->queued += leaves ? 0 - messages : messages;
    bytes = leaves ? 0 - bytes : bytes;
    b->bytes += bytes;
    if (b->pool != NULL)
        *b->pool += bytes;
    *store_total(s, b) += bytes;
}

/* A queued message stands in one block with its bytes, if those are not held already. */
struct phx__queued *phx__post_store_put(struct phx__post_store *s, struct phx__box *b,
                                        struct phx__queued *before, const struct phx__message *m)
{
    struct phx__queued *q, **at = before == NULL ? &b->head : &before->next;
    size_t size = m->body == NULL ? m->size : 0, need = (sizeof *q + size + 7) / 8 * 8;
    struct phx__block *home = b->state == PHX__BOX_LOCAL && size <= STORE_SMALL
                              ? phx__buf_block_tail(s->mem, &s->tail, need, STORE_TAIL_MOST)
                              : phx__buf_block_new(s->mem, need);

    if (home == NULL)
        return NULL;
    if (home == s->tail)
        phx__buf_block_hold(home);
    q = (void *)(home->data + home->used);
    home->used += need;
    *q = (struct phx__queued){ .home = home, .prev = before, .next = *at, .message = *m };
    q->message.box = b;
    q->message.body = phx__buf_block_hold(m->body != NULL ? m->body : home);
    if (m->body == NULL) {
        phx__post_flow_copy(m, (uint8_t *)(q + 1));
        q->message.data = (uint8_t *)(q + 1);
    }
    *at = q;
    *(q->next == NULL ? &b->tail : &q->next->prev) = q;
    store_count(s, b, q, 0);
    phx__post_store_note(s, q);
    return q;
}

void phx__post_store_note(struct phx__post_store *s, struct phx__queued *q)
{
    struct phx__token_at at = {q, PHX__NONE, 0, 0};

    if (q->message.token != 0)
        q->place = phx__post_tokens_add(&s->tokens, q->message.token, &at);
}

void phx__post_store_drop(struct phx__post_store *s, struct phx__box *b, struct phx__queued *q)
{
    struct phx__block *body = q->message.body, *home = q->home;

    *(q->prev == NULL ? &b->head : &q->prev->next) = q->next;
    *(q->next == NULL ? &b->tail : &q->next->prev) = q->prev;
    if (b->last_returned == q)
        b->last_returned = q->prev;
    if (q->message.token != 0)
        phx__post_tokens_gone(&s->tokens, q->place);
    store_count(s, b, q, 1);
    phx__buf_block_drop(home);
    phx__buf_block_drop(body); /* may call the host */
}

void phx__post_store_take_message(struct phx__post_store *s, struct phx__box *b, struct phx__message *m)
{
    struct phx__queued *q = b->head;

    *m = q->message;
    phx__buf_block_hold(m->body);
    if (m->run == 0) {
        phx__post_store_drop(s, b, q);
        return;
    }
    m->run = 0;
    m->rest_size = m->rest = 0;
    store_count(s, b, q, 1);
    (void)phx__post_flow_message_next(&q->message);
    store_count(s, b, q, 0);
}

unsigned phx__post_store_note_life(struct phx__box *b, uint64_t life)
{
    uint32_t i;

    for (i = 0; i < b->life_count && b->lives[i] != life; i++)
        continue;
    if (i == PHX__BOX_LIVES)
        return PHX__BOX_ALL_LIVES;
    b->lives[i] = life;
    b->life_count += i == b->life_count;
    return 1u << i;
}

int phx__post_store_was_tried(const struct phx__box *b, const struct phx__queued *q, uint64_t life)
{
    for (uint32_t i = 0; i < b->life_count; i++)
        if (b->lives[i] == life && (q->message.tried >> i & 1u) != 0)
            return 1;
    return q->message.tried == PHX__BOX_ALL_LIVES;
}

/* ---- Multicasts */

void phx__post_store_multicast_drop(struct phx__post_store *s, struct phx__multicast *c)
{
    if (c != NULL && --c->refs == 0)
        phx__mem_put(s->mem, c, sizeof *c);
}

/* ---- Waiters */

int phx__post_store_wait(struct phx__post_store *s, struct phx__ring *list, uint64_t name)
{
    struct phx__waiter *w;

    if (phx__map_get(&s->waiting, name) != UINT32_MAX)
        return 0;
    if ((w = phx__mem_get(s->mem, sizeof *w)) == NULL)
        return PHX_ENOMEM;
    if (phx__map_put(&s->waiting, name, 0) != 0) {
        phx__mem_put(s->mem, w, sizeof *w);
        return PHX_ENOMEM;
    }
    w->name = name;
    phx__ring_init(&w->link);
    phx__ring_add(list, &w->link);
    return 0;
}

int phx__post_store_wait_pop(struct phx__post_store *s, struct phx__ring *list, uint64_t *name)
{
    struct phx__waiter *first = PHX__RING_OF(list->next, phx__waiter, link);

    if (phx__ring_is_empty(list))
        return 0;
    *name = first->name;
    phx__ring_del(&first->link);
    phx__map_del(&s->waiting, *name);
    phx__mem_put(s->mem, first, sizeof *first);
    return 1;
}
