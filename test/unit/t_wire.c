/* t_wire.c - frames there and back, cut off, changed, and fed byte by byte. */
#include "test.h"
#ifdef PHX_JOINED
#include "../../phoenix.c"
#else
#include "wire/data.h"
#include "wire/link.h"
#include "wire/route.h"
#endif
#include "wire_rig.h"

/* ---- Any bytes */

static void put_size(uint8_t *frame, size_t size)
{
    struct phx__writer w;

    phx__buf_writer_init(&w, frame, 4);
    phx__buf_put_u32(&w, (uint32_t)(size - 4));
}

static void test_round_trip(void)
{
    /* Goal: what is encoded is decoded to the same, for random contents. Method: 2,000 frames of each type
     * are decoded and encoded again, and the bytes compared. */
    static uint8_t frame[ROOM], again[ROOM];
    struct phx__frame f;
    size_t size, used, n;
    int type, i, bad;

    for (type = 1; type < (int)PHX__FRAME_TYPES; type++) {
        bad = 0;
        for (i = 0; i < 2000; i++) {
            size = make(frame, sizeof frame, type);
            bad += phx__wire_parse(frame, size, &f, &used) != 1 || used != size || f.type != type;
            bad += !remake(&f, again, &n) || n != size || memcmp(frame, again, n) != 0;
            bad += !taste(frame, size, 1);
        }
        ok(bad == 0, "type %d there and back", type);
    }
}

static void test_truncation(void)
{
    /* Goal: no frame is taken for another when its end is missing. Method: cut at every length, once as a
     * stream that has not arrived yet, once with a size field that agrees. Where a shorter body is another
     * good frame (an entry less, less data), the second opinion has to think so too. */
    static uint8_t frame[ROOM];
    struct phx__frame f;
    size_t size, n, used;
    int type, round, early, taken;

    for (type = 1; type < (int)PHX__FRAME_TYPES; type++) {
        early = taken = 0;
        for (round = 0; round < 50; round++) {
            size = make(frame, sizeof frame, type);
            for (n = 0; n < size; n++)
                early += phx__wire_parse(frame, n, &f, &used) != 0 || used != (n < 4 ? 0 : size);
            for (n = size - 1; n >= 8; n--) {
                put_size(frame, n);
                taken += taste(frame, n, 1);
            }
        }
        ok(early == 0, "type %d: part of a frame is not one", type);
        if (type != PHX__UPDATE && type != PHX__SUMMARY && type != PHX__CARD && type != PHX__DATA
            && type != PHX__CAST)
            ok(taken == 0, "type %d: cut short is refused at every length", type);
    }
}

static void test_trailing(void)
{
    /* Goal: bytes behind the last field are an error. Method: one more byte in the body. Those types whose
     * body ends with bytes of any number take it as one of these. */
    static uint8_t frame[ROOM];
    size_t size;
    int type, round, taken;

    for (type = 1; type < (int)PHX__FRAME_TYPES; type++) {
        taken = 0;
        for (round = 0; round < 200; round++) {
            size = make(frame, sizeof frame, type);
            frame[size] = 0;
            put_size(frame, size + 1);
            taken += taste(frame, size + 1, 1);
        }
        if (type != PHX__CARD && type != PHX__DATA
            && type != PHX__CAST)
            ok(taken == 0, "type %d: a byte too many is refused", type);
    }
}

static void test_mutation(void)
{
    /* Goal: no byte that a peer may send makes us crash, read too far, or understand it in two ways. Method:
     * every value of every byte, one at a time, in several frames of each type. */
    static uint8_t frame[ROOM];
    long tried, taken;
    size_t size, i;
    uint8_t was;
    int type, round, v;

    for (type = 1; type < (int)PHX__FRAME_TYPES; type++) {
        tried = taken = 0;
        for (round = 0; round < 6; round++) {
            size = make(frame, sizeof frame, type);
            for (i = 0; i < size; i++) {
                was = frame[i];
                for (v = 0; v < 256; v++) {
                    frame[i] = (uint8_t)v;
                    tried += v != was;
                    taken += taste(frame, size, 1) && v != was;
                }
                frame[i] = was;
            }
        }
        ok(taken > 0 && taken < tried, "type %d: %ld of %ld changed frames are good", type, taken,
           tried);
    }
}

static void test_noise(void)
{
    /* Goal: as above, further from anything good. Method: random bytes behind a good header, and good frames
     * with up to 8 changed bytes. */
    static uint8_t frame[ROOM];
    size_t size;
    int type, round, n;

    for (type = 1; type < (int)PHX__FRAME_TYPES; type++) {
        for (round = 0; round < 5000; round++) {
            size = make(frame, sizeof frame, type);
            for (n = (int)below(8); n >= 0; n--)
                frame[4 + below((uint32_t)size - 4)] = (uint8_t)dice();
            taste(frame, size, 0);
            size = 8 + below(200);
            scatter(frame + 8, size - 8);
            put_size(frame, size);
            frame[4] = (uint8_t)type;
            frame[6] = frame[7] = 0;
            taste(frame, size, 0);
        }
    }
    ok(1, "noise was survived, and both parsers agreed on it");
}

/* ---- Streams */

static void test_stream(void)
{
    /* Goal: frames are found in a stream however it is cut. Method: one of each type in a row, given a byte
     * more each time. */
    static uint8_t bytes[ROOM];
    size_t size = 0, at = 0, end[PHX__FRAME_TYPES], used, n;
    struct phx__frame f;
    int type, found = 1, bad = 0, got;

    for (type = 1; type < (int)PHX__FRAME_TYPES; type++) {
        size += make(bytes + size, sizeof bytes - size, type);
        end[type] = size;
    }
    for (n = 0; n <= size; n++) {
        got = phx__wire_parse(bytes + at, n - at, &f, &used);
        if (n < end[found]) {
            bad += got != 0 || used != (n - at < 4 ? 0 : end[found] - at);
            continue;
        }
        bad += got != 1 || f.type != found || at + used != end[found];
        at = end[found++];
        if (found == (int)PHX__FRAME_TYPES)
            break;
    }
    ok(bad == 0 && found == (int)PHX__FRAME_TYPES && at == size, "a stream fed byte by byte");
}

/* What parse says to a header of this size field, type, hops and zero byte, all 8 bytes of it or fewer. */
static int parse_header(uint32_t rest, int type, int hops, int zero, size_t given)
{
    uint8_t header[8];
    struct phx__writer w;
    struct phx__frame f;
    size_t used;

    phx__buf_writer_init(&w, header, sizeof header);
    phx__buf_put_u32(&w, rest);
    phx__buf_put_u8(&w, (uint8_t)type);
    phx__buf_put_u8(&w, 0xff); /* flags: all, also unknown ones */
    phx__buf_put_u8(&w, (uint8_t)hops);
    phx__buf_put_u8(&w, (uint8_t)zero);
    return phx__wire_parse(header, given, &f, &used);
}

static void test_headers(void)
{
    /* Goal: section 2 at its edges. Method: by hand; a bad size as soon as it is there, the rest with
     * the header. */
    ok(parse_header(3, PHX__BEAT, 0, 0, 3) == 0, "three bytes say nothing");
    ok(parse_header(3, PHX__BEAT, 0, 0, 4) == PHX_EPROTO, "size 3");
    ok(parse_header(4, PHX__SUMMARY, 0, 0, 8) == 1, "size 4");
    ok(parse_header(0, PHX__BEAT, 0, 0, 4) == PHX_EPROTO, "size 0");
    ok(parse_header(PHX__FRAME_MAX - 4, PHX__DATA, 0, 0, 8) == 0, "the largest frame");
    ok(parse_header(PHX__FRAME_MAX - 3, PHX__DATA, 0, 0, 4) == PHX_EPROTO, "one more");
    ok(parse_header(UINT32_MAX, PHX__DATA, 0, 0, 4) == PHX_EPROTO, "4 GiB");
    ok(parse_header(4, 0, 0, 0, 8) == PHX_EPROTO, "type 0");
    ok(parse_header(4, PHX__FRAME_TYPES, 0, 0, 8) == PHX_EPROTO, "type %d", (int)PHX__FRAME_TYPES);
    ok(parse_header(4, PHX__HELLO, 1, 0, 7) == 0
           && parse_header(4, PHX__HELLO, 1, 0, 8) == PHX_EPROTO, "hops where nothing travels");
    ok(parse_header(4, PHX__ACK, 255, 0, 8) == 1, "hops where it does");
    ok(parse_header(4, PHX__ACK, 0, 1, 8) == PHX_EPROTO, "the zero byte");
    ok(parse_header(0x20544547, ' ', '/', ' ', 4) == PHX_EPROTO, "GET");
}

int main(void)
{
    test_round_trip();
    test_truncation();
    test_trailing();
    test_mutation();
    test_noise();
    test_stream();
    test_headers();
    return test_end();
}
