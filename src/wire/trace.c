/* trace.c - the frame TRACE: encode and decode; a part of wire.c, which has no room left. */

/* A question and its answer are one frame with two forms, told apart by a flag and both of fixed size.
 * What they say is the sender's word and nothing that a decoder could check, so that it only looks at
 * the size, and that hops are counted from 1. */
#include "wire/wire.h"

void phx__wire_put_trace(struct phx__writer *w, const struct phx__trace *t, int flags, int hops)
{
    size_t start = phx__wire_begin(w, PHX__TRACE, flags, hops);

    phx__buf_put_bytes(w, t->target.b, sizeof t->target.b);
    phx__buf_put_bytes(w, t->source.b, sizeof t->source.b);
    phx__buf_put_u64(w, t->key);
    phx__buf_put_u8(w, t->number);
    if ((flags & (int)PHX__TRACE_ANSWER) != 0) {
        PHX_ASSERT(t->why <= 0 && t->why >= -UINT16_MAX);
        phx__buf_put_u8(w, t->distance);
        phx__buf_put_u16(w, (uint16_t)-t->why);
    }
    phx__wire_end(w, start);
}

int phx__wire_get_trace(const struct phx__frame *f, struct phx__trace *t)
{
    struct phx__reader r;

    memset(t, 0, sizeof *t);
    phx__buf_reader_init(&r, f->body, f->size);
    phx__buf_get_copy(&r, t->target.b, sizeof t->target.b);
    phx__buf_get_copy(&r, t->source.b, sizeof t->source.b);
    t->key = phx__buf_get_u64(&r);
    t->number = phx__buf_get_u8(&r);
    if ((f->flags & PHX__TRACE_ANSWER) != 0) {
        t->distance = phx__buf_get_u8(&r);
        t->why = -(int)phx__buf_get_u16(&r);
    }
    return f->type != PHX__TRACE || r.bad || r.left != 0 || t->number == 0 ? PHX_EPROTO : 0;
}
