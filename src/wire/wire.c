/* wire.c - the header of frames: begin, end and parse. The specification of all frames is src/WIRE.md. */

/* A decoder of this room that returns 0 (or 1, for those that iterate) has checked everything that can be
 * checked without knowing more than the frame: sizes, counts before they are used, order and sense of ranges,
 * limits, and that no byte is left over. So nobody above this room looks at a length again. A decoder that
 * returns PHX_EPROTO has found bytes that no correct peer sends; the link that carried them is closed.
 * Nothing here allocates or remembers, and what decoders hand out points into the frame they were given.
 * Encoders append a whole frame to a writer.
 *
 * Keys and MACs are the business of link, whether an entry is news that of route. A number that is odd but
 * possible, such as a distance of 254, is accepted here.
 *
 * Two rules keep the format able to grow. Unknown bits in flags mean nothing and are ignored, so that a later
 * version may give them a meaning that older nodes can do without. Everything else unknown is an error: a new
 * frame type or a longer body is a new version, and versions are agreed in the handshake before such a frame
 * is sent.
 *
 * Each meaning has one form: for each accepted frame there is one encoding (up to ignored flags), so what is
 * decoded and encoded again is the same bytes. The tests hold us to that for every single-byte change, and
 * parse our frames with a second parser that was written from WIRE.md alone. */
#include "wire/wire.h"

/* What the size field may say: it counts type, flags, hops and the zero byte. */
#define WIRE_SIZE_MAX (PHX__FRAME_MAX - PHX__WIRE_FIELD)

/* May cross more than one link, and so carries a hop count. */
static int wire_type_travels(int type)
{
    return type == PHX__REQUEST || type == PHX__DATA || type == PHX__ACK || type == PHX__SUSPECT
           || type == PHX__PROBE || type == PHX__CAST || type == PHX__HAND
           || type == PHX__TRACE;
}

int phx__wire_parse(const uint8_t *data, size_t size, struct phx__frame *f, size_t *used)
{
    uint32_t rest;

    *used = 0;
    if (size < PHX__WIRE_FIELD)
        return 0;
    rest = phx__buf_load_u32(data);
    /* Refused at once: another protocol fails on its first four bytes, and no stranger sizes a buffer. */
    if (rest < PHX__WIRE_HEADER - PHX__WIRE_FIELD || rest > WIRE_SIZE_MAX)
        return PHX_EPROTO;
    *used = rest + PHX__WIRE_FIELD;
    if (size < PHX__WIRE_HEADER)
        return 0;
    *f = (struct phx__frame){ data[4], data[5], data[6], data + PHX__WIRE_HEADER, *used - PHX__WIRE_HEADER };
    if (f->type == 0 || f->type >= PHX__FRAME_TYPES || (f->hops != 0 && !wire_type_travels(f->type))
        || data[7] != 0)
        return PHX_EPROTO;
    return size >= *used;
}

size_t phx__wire_begin(struct phx__writer *w, int type, int flags, int hops)
{
    size_t start = w->size;

    PHX_ASSERT(type > 0 && type < (int)PHX__FRAME_TYPES);
    PHX_ASSERT(hops == 0 || wire_type_travels(type));
    phx__buf_put_u32(w, 0); /* the size, when it is known */
    /* Four bytes: type, flags, hops, zero. */
    phx__buf_put_u32(w, (uint32_t)type | (uint32_t)(flags & 255) << 8 | (uint32_t)(hops & 255) << 16);
    return start;
}

/* A frame that no receiver would take must not leave: it makes the writer bad, which its owner checks. */
void phx__wire_end_head(struct phx__writer *w, size_t start, size_t more)
{
    size_t rest;

    if (w->bad)
        return;
    rest = w->size - start - PHX__WIRE_FIELD;
    if (rest > WIRE_SIZE_MAX || more > WIRE_SIZE_MAX - rest) {
        w->bad = 1;
        return;
    }
    phx__buf_store_u32(w->data + start, (uint32_t)(rest + more));
}

int phx__wire_is_honest(uint64_t incarnation, uint32_t seq)
{
    return incarnation <= PHX__INCARNATION_MAX && seq <= PHX__SEQ_MAX;
}

int phx__wire_open(const struct phx__frame *f, int type, struct phx__reader *r)
{
    phx__buf_reader_init(r, f->body, f->size);
    return f->type == type ? 0 : PHX_EPROTO;
}

int phx__wire_close(const struct phx__reader *r)
{
    return r->bad || r->left != 0 ? PHX_EPROTO : 0;
}

PHX__COLD static void wire_get_zeros(struct phx__reader *r)
{
    const uint8_t *p = phx__buf_get_bytes(r, PHX__PAD);

    r->bad |= p != NULL && (p[0] != 0 || memcmp(p, p + 1, PHX__PAD - 1) != 0);
}

void phx__wire_put_fields(struct phx__writer *w, const struct phx__field *f, size_t count, const void *from)
{
    for (; count > 0; count--, f++) {
        const void *at = (const uint8_t *)from + f->at;

        switch (f->number) {
        case 1: phx__buf_put_u8(w, *(const uint8_t *)at); break;
        case 2: phx__buf_put_u16(w, *(const uint16_t *)at); break;
        case PHX__ERROR: phx__buf_put_u16(w, (uint16_t)-*(const int *)at); break;
        case PHX__ZEROS: phx__buf_put_bytes(w, (const uint8_t[PHX__PAD]){ 0 }, PHX__PAD); break;
        case 4: phx__buf_put_u32(w, *(const uint32_t *)at); break;
        case 8: phx__buf_put_u64(w, *(const uint64_t *)at); break;
        default:
            if (f->bytes > 0)
                phx__buf_put_bytes(w, at, f->bytes);
            else
                phx__addr_put(w, at);
        }
    }
}

void phx__wire_get_fields(struct phx__reader *r, const struct phx__field *f, size_t count, void *to)
{
    for (; count > 0; count--, f++) {
        void *at = (uint8_t *)to + f->at;

        switch (f->number) {
        case 1: *(uint8_t *)at = phx__buf_get_u8(r); break;
        case 2: *(uint16_t *)at = phx__buf_get_u16(r); break;
        case PHX__ERROR: *(int *)at = -(int)phx__buf_get_u16(r); break;
        case PHX__ZEROS: wire_get_zeros(r); break;
        case 4: *(uint32_t *)at = phx__buf_get_u32(r); break;
        case 8: *(uint64_t *)at = phx__buf_get_u64(r); break;
        default:
            if (f->bytes > 0)
                phx__buf_get_copy(r, at, f->bytes);
            else if (phx__addr_get(r, at) != 0)
                r->bad = 1;
        }
    }
}
