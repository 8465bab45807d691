/* store.c - part of post: one box per name: what waits for it, in order, and what is under way. */

/* A store of boxes, one for each name that this node has messages for which have not ended. Some of
 * them are in a flow, the box counts how many; the others wait here as letters: because nobody has
 * the name, because this node itself has it and its application is called only inside a step,
 * because the flow to its owner is full, or because the name moved and what is in the flow to the
 * former owner must end first. It keeps them in order and counts them; where they go, box.c
 * decides, and draws it.
 *
 * Two rules give the order. While a box has letters, each new message joins them, and letters leave
 * from the front; so all that is in a box is younger than all of that name that is in a flow, but
 * for what came back out of it, which stands before the others. And messages to one name are in one
 * node's flow at a time.
 *
 * A box is found by its name in O(1), which is what every send pays, and most find it without a
 * search, because it is the one that was found last. Lists of boxes are circles of links inside
 * them; whoever forgets a list moves its boxes elsewhere first.
 *
 * What comes back out of a flow comes back as frames: a run stays one letter, which borrows the bytes
 * where they are, for a window of small messages would need tens of megabytes as letters of their own.
 * It goes into the next flow as a run again; only this node itself peels message after message off it.
 *
 * Waiters are names to which a send said "later". Each is in one list only, of whatever it waits
 * for, so the host hears of a name once. */
#include "post/store.h"

/* What a letter costs beside its bytes, about: the letter, its block and the allocator's share. */
#define STORE_OVERHEAD 192u

void phx__ring_init(struct phx__ring *r)
{
    r->prev = r->next = r;
}

int phx__ring_is_empty(const struct phx__ring *r)
{
    return r->next == r;
}

void phx__ring_del(struct phx__ring *r)
{
    r->prev->next = r->next;
    r->next->prev = r->prev;
    phx__ring_init(r);
}

void phx__ring_add(struct phx__ring *head, struct phx__ring *r)
{
    phx__ring_del(r);
    r->prev = head->prev;
    r->next = head;
    head->prev->next = r;
    head->prev = r;
}

/* ---- Boxes */

void phx__post_store_init(struct phx__post_store *h, struct phx__mem *mem)
{
    memset(h, 0, sizeof *h);
    h->mem = mem;
    phx__map_init(&h->index, mem);
    phx__map_init(&h->waiting, mem);
}

void phx__post_store_drop_boxes(struct phx__post_store *h)
{
    while (h->count > 0) {
        struct phx__box *b = h->boxes[h->count - 1];

        /* A release callback may cancel, and so close this box or another: look anew each time. */
        if (b->head != NULL)
            phx__post_store_letter_drop(h, phx__post_store_take(h, b, NULL));
        else
            phx__post_store_close(h, b);
    }
}

void phx__post_store_free(struct phx__post_store *h)
{
    PHX_ASSERT(h->count == 0);
    phx__mem_put(h->mem, h->boxes, h->capacity * sizeof *h->boxes);
    phx__map_free(&h->index);
    phx__map_free(&h->waiting);
    phx__post_store_init(h, h->mem);
}

struct phx__box *phx__post_store_find(struct phx__post_store *h, uint64_t name)
{
    uint32_t i;

    if (h->recent != NULL && h->recent->name == name)
        return h->recent;
    i = h->count == 0 ? UINT32_MAX : phx__map_get(&h->index, name);
    if (i == UINT32_MAX)
        return NULL;
    h->recent = h->boxes[i];
    return h->recent;
}

struct phx__box *phx__post_store_open(struct phx__post_store *h, uint64_t name)
{
    struct phx__box *b;

    if (phx__mem_grow(h->mem, &h->boxes, &h->capacity, h->count + 1, sizeof *h->boxes) != 0)
        return NULL;
    b = phx__mem_zero(h->mem, sizeof *b);
    if (b == NULL)
        return NULL;
    if (phx__map_put(&h->index, name, h->count) != 0) {
        phx__mem_put(h->mem, b, sizeof *b);
        return NULL;
    }
    phx__ring_init(&b->link);
    phx__ring_init(&b->age);
    b->name = name;
    b->index = h->count;
    b->state = PHX__BOX_HELD;
    h->boxes[h->count++] = b;
    return b;
}

void phx__post_store_close(struct phx__post_store *h, struct phx__box *b)
{
    struct phx__box *last = h->boxes[h->count - 1];

    PHX_ASSERT(b->head == NULL && b->bytes == 0 && b->waiters == NULL && b->flying == 0);
    if (h->recent == b)
        h->recent = NULL;
    phx__ring_del(&b->link);
    phx__map_del(&h->index, b->name);
    if (last != b) {
        int err;

        h->boxes[b->index] = last;
        last->index = b->index;
        err = phx__map_put(&h->index, last->name, last->index);
        PHX_ASSERT(err == 0); /* replacing needs no memory */
        (void)err;
    }
    h->count--;
    phx__mem_put(h->mem, b, sizeof *b);
}

/* Whose letters count as held: all but those that the next step delivers. */
static int store_counts(enum phx__box_state state)
{
    return state != PHX__BOX_LOCAL;
}

void phx__post_store_charge(struct phx__box *b, size_t *pool)
{
    if (b->pool != NULL)
        *b->pool -= b->bytes;
    b->pool = pool;
    if (pool != NULL)
        *pool += b->bytes;
}

void phx__post_store_move(struct phx__post_store *h, struct phx__box *b, enum phx__box_state state,
                    struct phx__ring *list)
{
    if (store_counts(b->state))
        h->held_bytes -= b->bytes;
    b->state = state;
    if (store_counts(state))
        h->held_bytes += b->bytes;
    if (list != NULL)
        phx__ring_add(list, &b->link);
    else
        phx__ring_del(&b->link);
}

/* ---- Letters */

size_t phx__post_store_letter_charge(size_t size)
{
    return size + STORE_OVERHEAD;
}

size_t phx__post_store_letter_cost(const struct phx__queued *l)
{
    return phx__post_store_letter_charge(l->mail.size + l->mail.rest_size);
}

struct phx__queued *phx__post_store_letter_new(struct phx__post_store *h, const struct phx__message *m)
{
    struct phx__queued *l = phx__mem_get(h->mem, sizeof *l);

    if (l == NULL)
        return NULL;
    l->next = NULL;
    l->mail = *m;
    l->mail.iov = NULL;
    l->mail.iov_count = 0;
    if (m->body != NULL) {
        phx__buf_block_hold(m->body);
        return l;
    }
    l->mail.body = phx__buf_block_new(h->mem, m->size);
    if (l->mail.body == NULL) {
        phx__mem_put(h->mem, l, sizeof *l);
        return NULL;
    }
    l->mail.data = l->mail.body->data;
    l->mail.body->used = m->size;
    phx__post_flow_mail_copy(m, l->mail.body->data);
    return l;
}

void phx__post_store_letter_drop(struct phx__post_store *h, struct phx__queued *l)
{
    struct phx__block *body = l->mail.body;

    phx__mem_put(h->mem, l, sizeof *l);
    phx__buf_block_drop(body); /* may call the host */
}

static void store_count(struct phx__post_store *h, struct phx__box *b, const struct phx__queued *l)
{
    size_t charge = phx__post_store_letter_cost(l);

    h->letters += 1 + l->mail.rest;
    b->bytes += charge;
    if (b->pool != NULL)
        *b->pool += charge;
    if (store_counts(b->state))
        h->held_bytes += charge;
}

static void store_discount(struct phx__post_store *h, struct phx__box *b, const struct phx__queued *l)
{
    size_t charge = phx__post_store_letter_cost(l);

    h->letters -= 1 + l->mail.rest;
    b->bytes -= charge;
    if (b->pool != NULL)
        *b->pool -= charge;
    if (store_counts(b->state))
        h->held_bytes -= charge;
}

void phx__post_store_push(struct phx__post_store *h, struct phx__box *b, struct phx__queued *l)
{
    l->next = NULL;
    if (b->head == NULL)
        b->head = l;
    else
        b->tail->next = l;
    b->tail = l;
    store_count(h, b, l);
}

void phx__post_store_insert(struct phx__post_store *h, struct phx__box *b, struct phx__queued *l)
{
    struct phx__queued **at = b->back == NULL ? &b->head : &b->back->next;

    l->next = *at;
    *at = l;
    if (l->next == NULL)
        b->tail = l;
    store_count(h, b, l);
}

struct phx__queued *phx__post_store_take(struct phx__post_store *h, struct phx__box *b,
                                   struct phx__queued *before)
{
    struct phx__queued **from = before == NULL ? &b->head : &before->next, *l = *from;

    *from = l->next;
    if (b->tail == l)
        b->tail = before;
    if (b->back == l)
        b->back = before;
    l->next = NULL;
    store_discount(h, b, l);
    return l;
}

void phx__post_store_peel(struct phx__post_store *h, struct phx__box *b, struct phx__message *m)
{
    struct phx__queued *l = b->head;

    *m = l->mail;
    m->run = 0;
    m->rest = 0;
    m->rest_size = 0;
    phx__buf_block_hold(m->body);
    store_discount(h, b, l);
    (void)phx__post_flow_mail_next(&l->mail);
    store_count(h, b, l);
}

/* ---- Waiters */

static void wait_add(struct phx__waiter **last, struct phx__waiter *w)
{
    if (*last == NULL) {
        w->next = w;
    } else {
        w->next = (*last)->next;
        (*last)->next = w;
    }
    *last = w;
}

int phx__post_store_wait(struct phx__post_store *h, struct phx__waiter **last, uint64_t name)
{
    struct phx__waiter *w;

    if (phx__map_get(&h->waiting, name) != UINT32_MAX)
        return 0;
    w = phx__mem_get(h->mem, sizeof *w);
    if (w == NULL)
        return PHX_ENOMEM;
    if (phx__map_put(&h->waiting, name, 0) != 0) {
        phx__mem_put(h->mem, w, sizeof *w);
        return PHX_ENOMEM;
    }
    w->name = name;
    wait_add(last, w);
    return 0;
}

void phx__post_store_wait_splice(struct phx__waiter **to, struct phx__waiter **from)
{
    struct phx__waiter *first;

    if (*from == NULL)
        return;
    if (*to != NULL) {
        first = (*to)->next;
        (*to)->next = (*from)->next;
        (*from)->next = first;
    }
    *to = *from;
    *from = NULL;
}

int phx__post_store_wait_pop(struct phx__post_store *h, struct phx__waiter **last, uint64_t *name)
{
    struct phx__waiter *first;

    if (*last == NULL)
        return 0;
    first = (*last)->next;
    if (first == *last)
        *last = NULL;
    else
        (*last)->next = first->next;
    *name = first->name;
    phx__map_del(&h->waiting, *name);
    phx__mem_put(h->mem, first, sizeof *first);
    return 1;
}

#undef STORE_OVERHEAD
