/* returns.c - the messages of one flow that its target sent back. */

/* A node does not forward a message for a name it does not hold: it would have to answer for it, and would
 * lose it by failing. It returns it. The numbers of its fragments are taken, so the flow goes on, and the
 * acks say which messages came back; their source sends them to the name's owner of now.
 *
 *      source                                     target
 *        m1 to a --------------------------------> not mine: return 1
 *        m2 to a --------------------------------> [takes over a] return 2, for m1 is older
 *        <------------- ack: m1 and m2 came back (returns 1 and 2)
 *        m1, m2 to a, "I have seen 2 returns" ---> mine now, delivered
 *
 * Order is why m2 comes back: the name may have come here between m1 and m2. So after a return all that was
 * sent to that name without knowledge of it is returned, too. Every first fragment says how many returns its
 * source knew of when it put the message, a number that never falls along a flow. So an entry of `refused` is
 * over when a message comes that knows of it, and the whole map when one knows of all.
 *
 * Acks may be lost, so each repeats the returns until the source confirms them, in an ack of its own or by
 * the number in its messages. Confirming does not end a refusal: older messages may still be under way. One
 * return may stand for all messages from one place of a run to its end; then all their names are refused.
 *
 * Memory. The unconfirmed list holds PHX__RETURNS; what would need more is not taken, and the source's window
 * is closed until it confirms. The map holds RETURNS_NAMES; beyond, or without memory, every message that
 * does not know of the latest return is returned: more than needed, and always right. 2^32 returns end a
 * flow. */
#include "post/returns.h"

#define RETURNS_NAMES 4096u

void phx__post_returns_init(struct phx__post_returns *r, struct phx__mem *mem)
{
    *r = (struct phx__post_returns){ .mem = mem, .refused = { .mem = mem } };
}

void phx__post_returns_reset(struct phx__post_returns *r)
{
    phx__mem_put(r->mem, r->list, r->capacity);
    phx__map_free(&r->refused);
    phx__post_returns_init(r, r->mem);
}

void phx__post_returns_confirm(struct phx__post_returns *r, uint32_t seen)
{
    uint32_t rest, n;

    if (seen <= r->confirmed || seen > r->count)
        return;
    n = seen - r->confirmed;
    rest = r->count - seen;
    r->confirmed = seen;
    if (rest > 0) {
        memmove(r->list, r->list + n * PHX__RETURN_SIZE, rest * PHX__RETURN_SIZE);
        return;
    }
    phx__mem_put(r->mem, r->list, r->capacity);
    r->list = NULL;
    r->capacity = 0;
}

void phx__post_returns_seen(struct phx__post_returns *r, uint32_t seen)
{
    if (seen <= r->seen || seen > r->count)
        return;
    r->seen = seen;
    phx__post_returns_confirm(r, seen);
    if (seen == r->count)
        phx__map_free(&r->refused);
}

int phx__post_returns_refuses(const struct phx__post_returns *r, uint64_t name)
{
    return r->seen < r->count && (r->seen < r->all || r->seen < phx__post_returns_since(r, name));
}

uint32_t phx__post_returns_since(const struct phx__post_returns *r, uint64_t name)
{
    uint32_t at = phx__map_get(&r->refused, name);

    return at == UINT32_MAX ? 0 : at;
}

PHX__COLD void phx__post_returns_refuse(struct phx__post_returns *r, uint64_t name)
{
    if (r->refused.count >= RETURNS_NAMES || phx__map_put(&r->refused, name, r->count) != 0)
        r->all = r->count;
}

PHX__COLD int phx__post_returns_add(struct phx__post_returns *r, uint64_t name, const struct phx__return *t)
{
    uint32_t waiting = r->count - r->confirmed;
    struct phx__writer w;

    if (waiting >= PHX__RETURNS || r->count >= UINT32_MAX - 1)
        return PHX_ELIMIT;
    if (phx__mem_grow(r->mem, &r->list, &r->capacity, (waiting + 1) * PHX__RETURN_SIZE, 1) != 0)
        return PHX_ENOMEM;
    phx__buf_writer_init(&w, r->list + waiting * PHX__RETURN_SIZE, PHX__RETURN_SIZE);
    phx__wire_data_put_return(&w, t);
    r->count++;
    if (t->reason != (int)PHX__RETURN_LARGE) /* that will not come again, so nothing has to wait for it */
        phx__post_returns_refuse(r, name);
    return 0;
}
