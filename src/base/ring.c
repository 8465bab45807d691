/* ring.c - circular lists whose links stand in the listed things. */
#include "base/ring.h"

PHX__APART void phx__ring_init(struct phx__ring *r)
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

void phx__ring_move(struct phx__ring *head, struct phx__ring *from)
{
    if (phx__ring_is_empty(from))
        return;
    from->next->prev = head->prev;
    head->prev->next = from->next;
    from->prev->next = head;
    head->prev = from->prev;
    phx__ring_init(from);
}
