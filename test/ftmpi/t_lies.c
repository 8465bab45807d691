/* t_lies.c - messages that no rank sends: a line and an end, and nobody's memory is touched.
 *
 * Goal: a message of an unknown kind, of a size that its kind does not have, or that answers nothing, ends
 * the job with a line that names its sender; and whatever comes, nothing is written outside the buffers of
 * receives, and no memory is left behind.
 * Method: two engines in one process. One has sends and receives of several kinds under way, and is handed
 * messages by the test as if Phoenix had brought them: first one of each kind of lie, then many that are half
 * true, with numbers of requests that are there. After each it is told that nothing has ended.
 */
#include "engines.h"

#include "flight.h"

#define ROUNDS 150
#define LIES 400
#define LARGE 200000
#define PIECE 65536

static struct engines run;
static struct ftm_request *pending[6];
static char *buffers[6];
static unsigned chance = 1;

static unsigned any(unsigned below)
{
    chance = chance * 1103515245u + 12345u;
    return (chance >> 8) % below;
}

/* Three sends to rank 0 that it does not receive and three receives that nobody serves, each with a buffer of
 * just its size. */
static int begin(void)
{
    static const size_t sizes[] = { 8, 1000, LARGE };
    struct ftm_config how;
    struct ftm *e;
    int i, err = 0;

    memset(&how, 0, sizeof how);
    how.tcp = 1;
    how.piece = PIECE;
    if (!engines_begin(&run, 2, &how))
        return 0;
    e = run.at[1];
    for (i = 0; i < 6; i++) {
        struct ftm_type *byte = engines_type(&run, 1, MPI_BYTE);
        size_t size = sizes[i / 2];

        buffers[i] = calloc(1, size);
        err |= i % 2 ? ftm_recv_start(e, &pending[i], e->world, 0, buffers[i], size, byte, 0, i)
                     : ftm_send_start(e, &pending[i], FTM_SYNCHRONOUS, e->world, 0, buffers[i], size, byte, 0,
                                      i);
    }
    return check(err == 0, "they start");
}

static void end(void)
{
    int i;

    engines_finish(&run);
    for (i = 0; i < 6; i++)
        free(buffers[i]);
}

/* As Phoenix brings it: what is for a receive in place is written there first. */
static void comes(uint64_t from, uint64_t tag, const void *data, size_t size)
{
    void *place = size > 0 ? ftm_flight_place(run.at[1], from, tag, size) : NULL;

    if (place != NULL)
        memcpy(place, data, size);
    ftm_flight_arrived(run.at[1], from, tag, place != NULL ? place : data, size);
    ftm_step(run.at[1], phx_now_us(), NULL, 0);
}

static void goes_on(void)
{
    struct ftm *e = run.at[1];

    e->ended = e->end_told = e->end_has_line = 0;
    run.line[0] = '\0';
}

/* ---- One of each ------------------------------------------------------------------------------- */

static void test_each(void)
{
    static const struct { const char *what; uint64_t tag; size_t size; } lies[] = {
        { "kind 0", FTM_WORD(0, 0, 0, 0), 0 },
        { "kind 13", FTM_WORD(13, 0, 0, 0), 8 },
        { "kind 15", FTM_WORD(15, 15, FTM_CONTEXT_MAX, FTM_TAG_MAX), 64 },
        { "a rendezvous without its numbers", FTM_WORD(FTM_ASK, 0, 0, 1), 3 },
        { "a message shorter than it says", FTM_WORD(FTM_ASK, FTM_FLAG_DATA, 0, 1), 20 },
        { "an answer without its numbers", FTM_WORD(FTM_GO, 0, 0, 0), 3 },
        { "an answer to nothing", FTM_WORD(FTM_GO, 0, 0, 0), 16 },
        { "a piece of nothing", FTM_WORD(FTM_PART, 0, 77, 3), 64 },
        { "credit that nobody took", FTM_WORD(FTM_CREDIT, 0, 0, 1000000), 0 },
        { "credit with bytes", FTM_WORD(FTM_CREDIT, 0, 0, 0), 4 },
        { "a withdrawal without a number", FTM_WORD(FTM_WITHDRAW, 0, 0, 0), 1 },
        { "an offer of half a ring", FTM_WORD(FTM_RING, 0, 0, 0), 31 },
        { "yes to a ring that was not offered", FTM_WORD(FTM_RING, 1, 0, 0), 0 },
        { "a switch to a ring that is not there", FTM_WORD(FTM_RING, 3, 0, 0), 0 },
        { "a word about rings that there is not", FTM_WORD(FTM_RING, 9, 0, 0), 0 },
    };
    static const unsigned char bytes[64] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff };
    size_t i;

    if (!begin())
        return;
    for (i = 0; i < sizeof lies / sizeof *lies; i++) {
        int ended = run.ended;

        comes(FTM_FROM(0, 0, 0), lies[i].tag, bytes, lies[i].size);
        ok(run.ended == ended + 1 && strstr(run.line, "from rank 0, life 0: no rank sends it") != NULL,
           "%s: %s", lies[i].what, run.line);
        goes_on();
    }
    end();
}

/* ---- Pieces ------------------------------------------------------------------------------------ */

/* Piece number `which` of the large receive. 1: it was taken, 0: the job ended. */
static int piece(unsigned which, size_t size)
{
    static const unsigned char bytes[PIECE + 1];
    int ended = run.ended;

    comes(0, FTM_WORD(FTM_PART, 0, which, pending[5]->flight.number), bytes, size);
    if (run.ended == ended)
        return 1;
    check(strstr(run.line, "no rank sends it") != NULL, "%s", run.line);
    goes_on();
    return 0;
}

/* Goal: pieces are taken in turn, and each of its size. */
static void test_pieces(void)
{
    unsigned char ask[FTM_ASK_SIZE];
    const size_t last = LARGE - 3 * PIECE;

    if (!begin())
        return;
    ftm_put64(ask, LARGE);
    ftm_put32(ask + 8, 1);
    comes(0, FTM_WORD(FTM_ASK, 0, 0, 5), ask, sizeof ask);
    ok(run.ended == 0 && pending[5]->flight.number != 0, "a rendezvous is answered");
    ok(!piece(1, PIECE), "the second piece does not come first");
    ok(!piece(0, PIECE - 1) && !piece(0, PIECE + 1) && !piece(0, 0), "nor one of another size");
    ok(piece(0, PIECE) && !piece(0, PIECE), "the first one does, and not twice");
    ok(piece(1, PIECE) && piece(2, PIECE) && !piece(3, PIECE), "the last one is shorter");
    ok(!pending[5]->done && piece(3, last) && pending[5]->done, "and then the receive is done");
    end();
}

/* ---- Many -------------------------------------------------------------------------------------- */

/* A number as it may stand in a payload or a tag: small, of a request that is there, or enormous. */
static uint64_t number(void)
{
    static const uint64_t some[] = { 0, 1, 2, 7, 8, 9, 1000, 1001, LARGE, LARGE + 1, 0x7fffffff, 0xffffffff,
                                     UINT64_MAX };
    const struct ftm_request *r = pending[any(6)];

    switch (any(3)) {
    case 0:
        return r->flight.number;
    case 1:
        return r->flight.partner;
    default:
        return some[any(sizeof some / sizeof *some)];
    }
}

/* A rendezvous for one of the receives, a piece for one, or an answer to one of the sends: perhaps as it
 * should be, perhaps not quite. */
static void nearly(void)
{
    static const uint64_t sizes[] = { 0, 8, 999, 1000, 1001, PIECE, LARGE - 3 * PIECE, LARGE, LARGE + 1 };
    static unsigned char bytes[LARGE + 1 + FTM_ASK_SIZE];
    uint64_t size = sizes[any(9)];
    unsigned which = any(3);

    switch (any(3)) {
    case 0:
        ftm_put64(bytes, size);
        ftm_put32(bytes + 8, any(9));
        comes(0, FTM_WORD(FTM_ASK, 0, 0, 2 * which + 1), bytes, FTM_ASK_SIZE);
        break;
    case 1:
        comes(0, FTM_WORD(FTM_PART, 0, any(5), pending[2 * which + 1]->flight.number), bytes, (size_t)size);
        break;
    default:
        ftm_put32(bytes, pending[2 * which]->flight.number);
        ftm_put32(bytes + 4, any(9));
        ftm_put64(bytes + 8, size);
        ftm_put32(bytes + 16, (uint32_t)sizes[any(9)]);
        comes(0, FTM_WORD(FTM_GO, 0, 0, 0), bytes, FTM_GO_SIZE);
    }
}

static void lie(void)
{
    static const int kinds[] = { FTM_EAGER, FTM_ASK, FTM_GO, FTM_PART, FTM_CREDIT, FTM_WITHDRAW, FTM_AGREE,
                                 FTM_REVOKE, FTM_RING, 0, 14 };
    static const size_t sizes[] = { 0, 1, 4, 8, 12, 13, 16, 20, 32, 1000, 1001 };
    static unsigned char bytes[LARGE + 1];
    size_t size = any(20) == 0 ? LARGE + any(2) : sizes[any(sizeof sizes / sizeof *sizes)], at;
    uint64_t context = any(4) != 0 ? any(4) : number() & FTM_CONTEXT_MAX;
    uint64_t tag = any(2) ? any(6) : number() & FTM_TAG_MAX;

    for (at = 0; at + 8 <= 32; at += any(2) ? 4 : 8)
        ftm_put64(bytes + at, number());
    comes(FTM_FROM(any(8) == 0, any(16) == 0, any(6) == 0 ? any(4) : 0),
          FTM_WORD(kinds[any(sizeof kinds / sizeof *kinds)], any(3) ? 0 : any(16), context, tag), bytes,
          size);
}

static void test_many(void)
{
    int i, k, ended = 0, some = 0;

    for (i = 0; i < ROUNDS; i++) {
        chance = (unsigned)i + 1;
        if (!begin())
            return;
        for (k = 0; k < LIES; k++) {
            if (any(2))
                nearly();
            else
                lie();
            some += pending[5]->flight.moved > 0;
            if (run.at[1]->ended)
                check(run.line[0] != '\0', "it ends with a line");
            goes_on();
        }
        ended += run.ended;
        end();
    }
    ok(ended > ROUNDS * LIES / 10, "%d of %d half lies would have ended the job", ended, ROUNDS * LIES);
    ok(some > LIES, "%d times the large receive had a part of its data", some);
}

int main(void)
{
    test_each();
    test_pieces();
    test_many();
    return test_end();
}
