/* frames.c - fuzz: each decoder of wire/ beside the second parser, and there and back (promise 134). */
/* The first byte says whether the size field is made to fit, so that a mutation of the length is no dead end,
 * and whether the bytes are one frame or a stream. */
#include "../unit/test.h"

#include "wire/data.h"
#include "wire/link.h"
#include "wire/route.h"

#include "../unit/wire_rig.h"

#include "fuzz.h"

static void frames_alone(uint8_t *bytes, size_t size, int fit)
{
    if (size < 8)
        return;
    if (fit) {
        struct phx__writer w;

        phx__buf_writer_init(&w, bytes, 4);
        phx__buf_put_u32(&w, (uint32_t)(size - 4));
    }
    (void)taste(bytes, size, 0);
}

/* As a stream the same frames are cut off, whatever is behind them. */
static void frames_stream(const uint8_t *bytes, size_t size)
{
    struct phx__frame f;
    size_t at = 0, used = 0;

    while (at < size && phx__wire_parse(bytes + at, size - at, &f, &used) == 1) {
        fuzz_must(used >= 8 && used <= size - at, "a frame of %zu bytes in %zu", used, size - at);
        (void)taste(bytes + at, used, 0);
        at += used;
    }
}

void fuzz_one(const uint8_t *data, size_t size)
{
    struct fuzz_in in = { data, size };
    unsigned how = fuzz_byte(&in);
    uint8_t *copy = (uint8_t *)fuzz_text(&in);

    size = size > 0 ? size - 1 : 0;
    size = size < ROOM / 4 ? size : ROOM / 4;
    if (how & 2)
        frames_stream(copy, size);
    else
        frames_alone(copy, size, how & 1);
    free(copy);
    fuzz_must(test_failures == 0, "a decoder, its encoder and WIRE.md do not agree");
}
