/* run.c - runs: DATA frames that carry many small messages; mirrors WIRE.md. */

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
#include "wire/wire.h"

/* The size field, which does not count itself, and the place of the flags behind it and the type. */
#define RUN_FIELD 4u
#define RUN_FLAGS_AT 5u
/* Before a message behind the first: its size, and perhaps its tag. */
#define RUN_SIZE 2u
#define RUN_TAG 8u

size_t phx__wire_more_head(int flags)
{
    return (flags & (int)PHX__DATA_TAGS) != 0 ? RUN_SIZE + RUN_TAG : RUN_SIZE;
}

void phx__wire_put_more(struct phx__writer *w, int flags, uint64_t tag, size_t size)
{
    PHX_ASSERT(size <= UINT16_MAX);
    phx__buf_put_u16(w, (uint16_t)size);
    if ((flags & (int)PHX__DATA_TAGS) != 0)
        phx__buf_put_u64(w, tag);
}

const uint8_t *phx__wire_more(const uint8_t *at, int flags, uint64_t *tag, size_t *size)
{
    *size = (size_t)(at[0] | at[1] << 8);
    if ((flags & (int)PHX__DATA_TAGS) == 0)
        return at + RUN_SIZE;
    *tag = phx__buf_load_u64(at + RUN_SIZE);
    return at + RUN_SIZE + RUN_TAG;
}

int phx__wire_flags(const uint8_t *frame)
{
    return frame[RUN_FLAGS_AT];
}

void phx__wire_stretch(uint8_t *frame, int flags, size_t size)
{
    struct phx__writer w;

    PHX_ASSERT(size <= PHX__FRAME_MAX);
    phx__buf_writer_init(&w, frame, RUN_FIELD);
    phx__buf_put_u32(&w, (uint32_t)(size - RUN_FIELD));
    frame[RUN_FLAGS_AT] = (uint8_t)flags;
}

int phx__wire_count_run(struct phx__data *d, int flags)
{
    const unsigned whole = PHX__DATA_FIRST | PHX__DATA_LAST;
    const size_t tag = phx__wire_more_head(flags) - RUN_SIZE;
    struct phx__reader r;

    if (((unsigned)flags & whole) != whole || d->size > PHX__FRAGMENT || d->total >= d->size)
        return 0;
    phx__buf_reader_init(&r, d->payload, d->size);
    (void)phx__buf_get_bytes(&r, (size_t)d->total);
    for (; r.left > 0; d->more++) {
        size_t size = phx__buf_get_u16(&r);

        (void)phx__buf_get_bytes(&r, tag + size); /* running past the end leaves nothing, and is bad */
    }
    return !r.bad;
}

#undef RUN_FIELD
#undef RUN_FLAGS_AT
#undef RUN_SIZE
#undef RUN_TAG
