/* wire_run.c - runs: DATA frames that carry many small messages; mirrors WIRE.md. */

/* A message of eight bytes in a frame of its own is eleven parts head and one part message. Those that wait
 * behind each other for the same name, from the same name, are whole, and differ only in their bytes and
 * perhaps in their tags, so one frame can carry them all:
 *
 *      head: target, source, number, epoch, to, from, tag, total | bytes | size bytes | size bytes | ...
 *            as in any frame; total is the first message's size   first    with TAGS: size tag bytes
 *
 * A size takes two bytes, which is enough for all that fits a frame. Either all that follow have a tag or
 * none has, so a run is read without looking at flags again, and how much of it is not messages follows
 * from their number. Any rest of a run, from some message on, has the shape of a run again, but for the
 * head: that is how a run that came back in part is kept without taking it to pieces.
 *
 * A decoder has walked a run to its end before anybody looks into it, so those who walk it again find
 * what they were promised. */
#include "wire.h"

/* The size field, which does not count itself, and the place of the flags behind it and the type. */
#define RUN_FIELD 4u
#define RUN_FLAGS_AT 5u

size_t phx__wire_more_head(int flags)
{
    return (flags & (int)PHX__DATA_TAGS) != 0 ? 10 : 2;
}

void phx__wire_put_more(struct phx__writer *w, int flags, uint64_t tag, size_t size)
{
    PHX_ASSERT(size <= UINT16_MAX);
    phx__put_u16(w, (uint16_t)size);
    if ((flags & (int)PHX__DATA_TAGS) != 0)
        phx__put_u64(w, tag);
}

int phx__wire_next_more(struct phx__reader *r, int flags, uint64_t *tag, size_t *size,
                        const uint8_t **data)
{
    if (!r->bad && r->left == 0)
        return 0;
    *size = phx__get_u16(r);
    if ((flags & (int)PHX__DATA_TAGS) != 0)
        *tag = phx__get_u64(r);
    *data = phx__get_bytes(r, *size);
    return r->bad ? PHX_EPROTO : 1;
}

int phx__wire_flags(const uint8_t *frame)
{
    return frame[RUN_FLAGS_AT];
}

void phx__wire_stretch(uint8_t *frame, int flags, size_t more)
{
    struct phx__reader r;
    struct phx__writer w;
    size_t size;

    phx__reader_init(&r, frame, RUN_FIELD);
    size = phx__get_u32(&r) + more;
    PHX_ASSERT(size <= PHX__FRAME_MAX - RUN_FIELD);
    phx__writer_init(&w, frame, RUN_FIELD);
    phx__put_u32(&w, (uint32_t)size);
    frame[RUN_FLAGS_AT] = (uint8_t)flags;
}

int phx__wire_count_run(struct phx__data *d, int flags)
{
    const unsigned whole = PHX__DATA_FIRST | PHX__DATA_LAST;
    const uint8_t *data;
    struct phx__reader r;
    uint64_t tag;
    size_t size;
    int got;

    if (((unsigned)flags & whole) != whole || d->size > PHX__FRAGMENT || d->total >= d->size)
        return 0;
    phx__reader_init(&r, d->payload, d->size);
    (void)phx__get_bytes(&r, (size_t)d->total);
    while ((got = phx__wire_next_more(&r, flags, &tag, &size, &data)) == 1)
        d->more++;
    return got == 0;
}

#undef RUN_FIELD
#undef RUN_FLAGS_AT
