/* t_link.c - links alone: each word of the handshake, what is read and written at once, what frames cost. */

/* Promises 9, 34, 65, 105, 109 and 110. Two sets with one link each, joined by pipes in memory that take
 * anything; what the node would do is counted. */
#include "test.h"
#ifdef PHX_JOINED
#include "../../phoenix.c"
#else
#include "link/link.h"
#endif

#define KIB 1024u

struct side {
    struct test_heap heap;
    struct phx_alloc alloc;
    struct phx__mem mem;
    struct phx__timers timers;
    struct phx_os os;
    struct phx__link_set set;
    struct phx__link link;
    struct phx_id id;
    uint8_t *come; /* what waits to be read */
    size_t size, taken, asked, takes; /* asked: by the last read; takes: of one write at most */
    long randoms, random_fails; /* the so many-th call of random fails */
    int judged, ups, frames, frame_err, places; /* places: how often the node was asked for one */
    size_t data; /* that the node has for the link */
};

static struct side sides[2];
static struct phx__block *bulk; /* the node's data */

/* ---- The world and the node ------------------------------------------------------------------------ */

static long world_send(void *world, int handle, const struct iovec *iov, int count)
{
    struct side *s = world, *to = &sides[s == sides];
    long n = 0;
    int i;

    (void)handle;
    for (i = 0; i < count; i++) {
        size_t size = iov[i].iov_len < s->takes - (size_t)n ? iov[i].iov_len : s->takes - (size_t)n;

        to->come = realloc(to->come, to->size + size + 1);
        memcpy(to->come + to->size, iov[i].iov_base, size);
        to->size += size;
        n += (long)size;
    }
    return n > 0 ? n : PHX_EAGAIN;
}

static long world_recv(void *world, int handle, void *data, size_t size)
{
    struct side *s = world;
    size_t n = size < s->size - s->taken ? size : s->size - s->taken;

    (void)handle;
    s->asked = size;
    if (n == 0)
        return PHX_EAGAIN;
    memcpy(data, s->come + s->taken, n);
    s->taken += n;
    return (long)n;
}

static void world_close(void *world, int handle)
{
    (void)world, (void)handle;
}

static int node_judge(phx *ctx, struct phx__link *l)
{
    (void)l;
    return ((struct side *)(void *)ctx)->judged;
}

static void node_introduce(phx *ctx, const struct phx__link *l, struct phx__standing *out)
{
    (void)ctx, (void)l;
    out->seq = out->card_version = 1;
    out->have = 0;
}

static int node_up(phx *ctx, struct phx__link *l)
{
    (void)l;
    ((struct side *)(void *)ctx)->ups++;
    return 0;
}

static int node_frame(phx *ctx, struct phx__link *l, const struct phx__frame *f, const uint8_t *raw,
                      size_t size)
{
    struct side *s = (void *)ctx;

    (void)l, (void)f, (void)raw, (void)size;
    s->frames++;
    return s->frame_err;
}

static size_t node_place(phx *ctx, struct phx__link *l, const uint8_t *front, size_t size,
                         struct phx__place *out)
{
    (void)l, (void)front, (void)size, (void)out;
    ((struct side *)(void *)ctx)->places++;
    return 0;
}

static void node_placed(phx *ctx, struct phx__link *l, const uint8_t *head, size_t size,
                        const uint8_t *payload)
{
    (void)ctx, (void)l, (void)head, (void)size, (void)payload;
}

static int node_ahead(phx *ctx, struct phx__link *l, uint32_t from, struct phx__place *out)
{
    (void)ctx, (void)l, (void)from, (void)out;
    return 0;
}

static size_t node_pull(phx *ctx, struct phx__link *l, size_t budget)
{
    struct side *s = (void *)ctx;
    size_t size = budget < s->data ? budget : s->data;

    if (size > 0)
        check(phx__buf_slices_push(&l->out.stream, bulk, bulk->data, size) == 0, "data");
    s->data -= size;
    return size;
}

static void node_wants(phx *ctx, struct phx__link *l)
{
    (void)ctx, (void)l;
}

static int node_random(phx *ctx, void *out, size_t size)
{
    struct side *s = (void *)ctx;

    memset(out, (int)(++s->randoms * 7), size);
    return s->randoms == s->random_fails ? PHX_EIO : 0;
}

static const struct phx__link_ops ops = { node_judge, node_introduce, node_up,   node_frame, node_place,
                                          node_placed, node_ahead,    node_pull, node_wants, node_random };

static void begin(void)
{
    int i;

    for (i = 0; i < 2; i++) {
        struct side *s = &sides[i];

        memset(s, 0, sizeof *s);
        s->alloc = (struct phx_alloc){ test_alloc, &s->heap };
        phx__mem_init(&s->mem, &s->alloc, 0);
        phx__timer_init(&s->timers, &s->mem);
        s->os = (struct phx_os){ .version = PHX_OS_VERSION, .world = s, .send = world_send,
                                 .recv = world_recv, .close = world_close };
        memset(&s->id, 0x10 + i, sizeof s->id);
        s->takes = SIZE_MAX;
        s->set.mem = &s->mem;
        s->set.os = &s->os;
        s->set.timers = &s->timers;
        s->set.ops = &ops;
        s->set.ctx = (void *)s;
        s->set.self = &s->id;
        s->set.now = 1000 * PHX__SECOND;
        s->set.scratch_size = s->set.room = 256 * KIB;
        s->set.block = phx__buf_block_new(&s->mem, s->set.scratch_size);
        s->set.scratch = s->set.block->data;
        phx__link_hello_cluster(&s->set, "cluster");
        phx__link_hello_rekey(&s->set);
        s->link.dialer = i == 0;
        check(phx__link_open(&s->set, &s->link, i, PHX__LINK_HELLO, PHX__SECOND) == 0, "a link");
    }
    if (bulk == NULL)
        bulk = phx__buf_block_new(&sides[0].mem, 4096 * KIB);
}

/* 1 if all memory is back. */
static int end(void)
{
    int i, clean = 1;

    for (i = 0; i < 2; i++)
        phx__link_close(&sides[i].set, &sides[i].link, PHX_ECLOSED, 0);
    phx__buf_block_drop(bulk);
    bulk = NULL;
    for (i = 0; i < 2; i++) {
        struct side *s = &sides[i];

        phx__buf_block_drop(s->set.block);
        phx__buf_block_drop(s->set.spare);
        phx__timer_free(&s->timers);
        clean &= s->mem.used == 0 && s->set.waiting == 0 && test_heap_is_clean(&s->heap);
        free(s->come);
        s->come = NULL;
    }
    return clean;
}

/* Writes what side i has and lets the other one read it: 0, or why the other one's link must close. */
static int pass(int i)
{
    struct side *s = &sides[i], *to = &sides[!i];
    int err = phx__link_out_write(&s->set, &s->link, SIZE_MAX);

    while (err == 0 && to->taken < to->size)
        err = phx__link_read(&to->set, &to->link);
    return err;
}

/* These bytes come to side i. */
static void bring(int i, const void *data, size_t size)
{
    struct side *s = &sides[i];

    s->come = realloc(s->come, s->size + size + 1);
    memcpy(s->come + s->size, data, size);
    s->size += size;
}

/* Side 1 reads all that has come. */
static int reads(void)
{
    int err = 0;

    while (err == 0 && sides[1].taken < sides[1].size)
        err = phx__link_read(&sides[1].set, &sides[1].link);
    return err;
}

/* The three words: 0, or the first error. */
static int meet(void)
{
    int err = phx__link_hello_begin(&sides[0].set, &sides[0].link);

    err = err != 0 ? err : pass(0);
    err = err != 0 ? err : pass(1);
    return err != 0 ? err : pass(0);
}

static int is_up(void)
{
    return sides[0].link.state == PHX__LINK_UP && sides[1].link.state == PHX__LINK_UP && sides[0].ups == 1
           && sides[1].ups == 1;
}

/* ---- The handshake --------------------------------------------------------------------------------- */

static void test_hello(void)
{
    struct phx__writer w;
    int padded;

    for (padded = 0; padded < 2; padded++) {
        begin();
        sides[0].link.hello->padded = (uint8_t)padded;
        ok(meet() == 0 && is_up(), "three words, and both are up%s", padded ? ", with full packets" : "");
        ok(sides[0].set.frames_in == 1 && sides[1].set.frames_in == 2 && sides[0].set.frames_out == 2,
           "each frame is counted");
        ok((sides[0].set.bytes_out > 1500) == padded && (sides[1].set.bytes_out > 1500) == padded,
           "%s packet is full", padded ? "each side's first" : "no");
        ok(memcmp(&sides[0].link.id, &sides[1].id, sizeof(struct phx_id)) == 0
               && memcmp(&sides[1].link.id, &sides[0].id, sizeof(struct phx_id)) == 0,
           "each knows the other one");
        phx__link_close(&sides[0].set, &sides[0].link, PHX_ECLOSED, 0);
        ok(phx__link_out_control(&sides[0].set, &sides[0].link, 10, &w) == PHX_ERESET, "closed");
        ok(end(), "all memory is back");
    }
}

/* The flags of the word that side i has before it, which it then reads. */
static int flagged(int i, uint8_t flags)
{
    sides[i].come[sides[i].taken + 5] = flags;
    return phx__link_read(&sides[i].set, &sides[i].link);
}

static void test_padding(void)
{
    /* Goal: who padded its HELLO wants an ANSWER that is padded, and who did not wants none; the flag is true
     * of the size. */
    int padded;

    for (padded = 0; padded < 2; padded++) {
        begin();
        sides[0].link.hello->padded = (uint8_t)padded;
        check(phx__link_hello_begin(&sides[0].set, &sides[0].link) == 0 && pass(0) == 0
                  && phx__link_out_write(&sides[1].set, &sides[1].link, SIZE_MAX) == 0, "an ANSWER");
        sides[0].link.hello->padded = !padded;
        ok(phx__link_read(&sides[0].set, &sides[0].link) == PHX_EPROTO, "an ANSWER that is%s padded",
           padded ? "" : " not");
        check(end(), "freed");
        begin();
        sides[0].link.hello->padded = (uint8_t)padded;
        check(phx__link_hello_begin(&sides[0].set, &sides[0].link) == 0 && pass(0) == 0
                  && phx__link_out_write(&sides[1].set, &sides[1].link, SIZE_MAX) == 0, "an ANSWER");
        ok(flagged(0, (uint8_t)!padded) == PHX_EPROTO, "an ANSWER with %s flag", padded ? "no" : "a");
        check(end(), "freed");
        begin();
        sides[0].link.hello->padded = (uint8_t)padded;
        check(phx__link_hello_begin(&sides[0].set, &sides[0].link) == 0
                  && phx__link_out_write(&sides[0].set, &sides[0].link, SIZE_MAX) == 0, "a HELLO");
        ok(flagged(1, (uint8_t)!padded) == PHX_EPROTO, "a HELLO with %s flag", padded ? "no" : "a");
        ok(end(), "all memory is back");
    }
}

/* One word with a byte that is another: what comes of it. */
struct slip {
    int word;        /* 0: HELLO, 1: ANSWER, 2: PROOF */
    int at;          /* in its body; below 0: from its end */
    uint8_t value;
    int error;
    const char *what;
};

static int meet_with(const struct slip *slip)
{
    int word, err = phx__link_hello_begin(&sides[0].set, &sides[0].link);

    for (word = 0; word < 3 && err == 0; word++) {
        struct side *from = &sides[word % 2], *to = &sides[!(word % 2)];

        err = phx__link_out_write(&from->set, &from->link, SIZE_MAX);
        if (word == slip->word)
            to->come[slip->at < 0 ? to->size - (size_t)-slip->at : to->taken + 8 + (size_t)slip->at] =
                slip->value;
        err = err != 0 ? err : phx__link_read(&to->set, &to->link);
    }
    return err;
}

static void test_slips(void)
{
    static const struct slip slips[] = {
        { 0, 0, 'p', PHX_EPROTO, "a HELLO of another protocol" },
        { 0, 4, 3, PHX_EPROTO, "versions of which the lowest is above the highest" },
        { 0, 6, 1, PHX_EPROTO, "or the highest below the lowest" },
        { 0, 8, 0, PHX_ECLUSTER, "a HELLO to another cluster" },
        { 0, -1, 0, PHX_EKEY, "a HELLO with another nonce" },
        { 1, 0, 3, PHX_EVERSION, "an ANSWER of a version that was not offered" },
        { 1, 0, 0, PHX_EPROTO, "an ANSWER of no version" },
        { 1, 6, 0, PHX_EKEY, "an ANSWER with another id" },
        { 1, -64, 0, PHX_EKEY, "an ANSWER with another mac" },
        { 1, 46, 0, PHX_EPROTO, "an ANSWER with the number 0" },
        { 2, 0, 9, PHX_EKEY, "a PROOF with another number" },
        { 2, 0, 0, PHX_EPROTO, "a PROOF with none" },
        { 2, -1, 0, PHX_EKEY, "a PROOF with another mac" },
        { 1, -1, 0, PHX_EKEY, "an ANSWER with another second mac, over which there is a PROOF" },
    };
    static const uint8_t later[] = { 3, 0, 4, 0 }, earlier[] = { 1, 0, 1, 0 };
    size_t i;

    for (i = 0; i < PHX__COUNT(slips); i++) {
        int err;

        begin();
        err = meet_with(&slips[i]);
        ok(err == slips[i].error && is_up() == (err == 0), "%s: %s", slips[i].what, phx_strerror(err));
        check(end(), "freed");
    }
    for (i = 0; i < 2; i++) {
        begin();
        check(phx__link_hello_begin(&sides[0].set, &sides[0].link) == 0
                  && phx__link_out_write(&sides[0].set, &sides[0].link, SIZE_MAX) == 0, "a HELLO");
        memcpy(sides[1].come + 8 + 4, i == 0 ? later : earlier, 4);
        ok(phx__link_read(&sides[1].set, &sides[1].link) == PHX_EVERSION, "only %s versions are spoken",
           i == 0 ? "later" : "earlier");
        check(end(), "freed");
    }
    begin();
    bring(1, "\x16\x03\x01\x02\x00\x01\x00\x01", 8);
    ok(phx__link_read(&sides[1].set, &sides[1].link) == PHX_EPROTO && sides[1].link.end.why != NULL,
       "TLS: %s", sides[1].link.end.why != NULL ? sides[1].link.end.why : "not told");
    ok(end(), "all memory is back");
}

static void test_no_hello(void)
{
    /* Goal: without random bytes, or without memory, there is no hello, and nothing is left of it; a node
     * that does not want the link says why. Method: each call and each allocation fails, on both sides. */
    int i, err, failed = 0, wrong = 0, k;

    for (i = 0; i < 2; i++)
        for (k = 1; k <= 3; k++) {
            begin();
            sides[i].random_fails = k;
            err = meet();
            wrong += err != (k <= i + 1 ? PHX_EIO : 0) || is_up() != (err == 0) || !end();
        }
    ok(wrong == 0, "one call of random for a HELLO, two for an ANSWER");
    for (i = 0; i < 2; i++)
        for (k = 1; k < 30; k++) {
            begin();
            sides[0].link.hello->padded = 1;
            sides[i].heap.fail_at = sides[i].heap.calls + k;
            err = meet();
            failed += err == PHX_ENOMEM;
            wrong += (err != PHX_ENOMEM && err != 0) || is_up() != (err == 0);
            wrong += !end();
        }
    ok(wrong == 0 && failed >= 6, "%d allocations fail", failed);
    for (i = 0; i < 2; i++) {
        begin();
        sides[i].judged = PHX_EDUPLICATE;
        err = meet();
        ok(err == PHX_EDUPLICATE && !is_up(), "the %s says no", i == 0 ? "dialer" : "acceptor");
        check(end(), "freed");
    }
    begin();
    sides[1].judged = PHX_EAGAIN;
    ok(meet() == 0 && sides[1].link.state == PHX__LINK_PARKED && phx__link_events(&sides[1].link) == 0,
       "or not yet, and is not woken meanwhile");
    sides[1].judged = 0;
    ok(phx__link_hello_resume(&sides[1].set, &sides[1].link) == 0 && pass(1) == 0 && pass(0) == 0 && is_up(),
       "and goes on");
    check(end(), "freed");
    begin();
    check(phx__link_hello_begin(&sides[0].set, &sides[0].link) == 0 && pass(0) == 0 && pass(1) == 0,
          "two words");
    sides[1].judged = PHX_EDUPLICATE;
    ok(pass(0) == PHX_EDUPLICATE && !is_up(), "another link came up before the PROOF");
    ok(end(), "all memory is back");
}

/* ---- Reading and writing --------------------------------------------------------------------------- */

/* A whole frame of this type and size, in a buffer of its own. */
static uint8_t *frame_of(int type, size_t size)
{
    static uint8_t bytes[PHX__FRAME_MAX];
    struct phx__writer w;
    size_t start;

    phx__buf_writer_init(&w, bytes, sizeof bytes);
    start = phx__wire_begin(&w, type, 0, 0);
    w.size = size;
    phx__wire_end(&w, start);
    check(!w.bad, "a frame");
    return bytes;
}

static void test_reads(void)
{
    /* Goal: one read asks for what there is room for; where large frames of one size come, 32 KiB or more,
     * for whole numbers of them; behind the front of a frame for what is left of that. */
    static const size_t sizes[] = { 32 * 1024 - 1, 32 * 1024, 60000 };
    static const size_t asked[] = { 256 * 1024 - 100, 256 * 1024 - 100, 4 * 60000 - 100 };
    int i;

    for (i = 0; i < 3; i++) {
        begin();
        check(meet() == 0 && is_up(), "a link");
        bring(1, frame_of(PHX__BEAT, sizes[i]), 100);
        check(phx__link_read(&sides[1].set, &sides[1].link) == 0 && sides[1].asked == 256 * KIB, "its front");
        (void)phx__link_read(&sides[1].set, &sides[1].link);
        ok(sides[1].asked == asked[i], "behind 100 bytes of %d it asks for %d", (int)sizes[i],
           (int)sides[1].asked);
        bring(1, frame_of(PHX__BEAT, sizes[i]) + 100, sizes[i] - 100);
        ok(reads() == 0 && sides[1].frames == 1 && sides[1].link.in.stash == NULL, "and takes the rest");
        check(end(), "freed");
    }
    begin();
    check(meet() == 0 && is_up(), "a link");
    sides[1].heap.fail_at = sides[1].heap.calls + 1;
    bring(1, frame_of(PHX__BEAT, 1000), 100);
    ok(reads() == PHX_ENOMEM, "no memory for a front");
    ok(end(), "all memory is back");
}

static long world_recvv(void *world, int handle, const struct iovec *iov, int count)
{
    (void)count;
    return world_recv(world, handle, iov->iov_base, iov->iov_len);
}

static void test_places(void)
{
    /* Goal: the front of a DATA frame of 16 KiB is shown to the node, who may have a place for the rest; of a
     * smaller one it is not. */
    static const size_t sizes[] = { 16384 - 1, 16384 };
    int i;

    for (i = 0; i < 2; i++) {
        begin();
        check(meet() == 0 && is_up(), "a link");
        sides[1].os.recvv = world_recvv;
        bring(1, frame_of(PHX__DATA, sizes[i]), 100);
        check(reads() == 0, "its front");
        ok(sides[1].places == i, "%d bytes: asked %d times", (int)sizes[i], sides[1].places);
        bring(1, frame_of(PHX__DATA, sizes[i]) + 100, sizes[i] - 100);
        ok(reads() == 0 && sides[1].frames == 1, "without a place it comes whole");
        check(end(), "freed");
    }
}

static void test_lends(void)
{
    /* Goal: bytes of the last read may be held beyond it, if it read into a megabyte at most, and the next
     * one then reads elsewhere. */
    struct phx__link_set *s = &sides[1].set;
    struct phx__block *lent;
    uint8_t byte;

    begin();
    check(meet() == 0 && is_up(), "a link");
    lent = phx__buf_block_hold(phx__link_lend(s, s->scratch + 5));
    ok(lent == s->block && s->spare != NULL, "held");
    bring(1, frame_of(PHX__BEAT, 1000), 1000);
    ok(reads() == 0 && s->block != lent && s->scratch == s->block->data && s->spare == NULL, "and kept");
    phx__buf_block_drop(lent);
    ok(phx__link_lend(s, &byte) == NULL && phx__link_lend(s, s->scratch + s->scratch_size) == NULL,
       "not what was not read there");
    s->scratch_size = 1024 * KIB;
    sides[1].heap.fail_at = sides[1].heap.calls + 1;
    ok(phx__link_lend(s, s->scratch) == NULL, "nor without memory for another");
    ok(phx__link_lend(s, s->scratch) == s->block, "a megabyte");
    s->scratch_size++;
    ok(phx__link_lend(s, s->scratch) == NULL, "and not a byte more");
    s->scratch_size = 256 * KIB;
    ok(end(), "all memory is back");
}

static void test_ahead(void)
{
    /* Goal: a stream that takes all is given 128 KiB of data at once, then 256, 512 and no more; one that
     * does not, half as much, and never less than 128 KiB. */
    struct phx__link_out *o = &sides[0].link.out;

    begin();
    check(meet() == 0 && is_up(), "a link");
    ok(o->ahead == 128 * KIB, "128 KiB at first");
    sides[0].data = 4096 * KIB;
    check(phx__link_out_write(&sides[0].set, &sides[0].link, 1) == 0, "written");
    ok(o->ahead == 256 * KIB && sides[0].data == 3968 * KIB, "all is taken: twice as much");
    check(phx__link_out_write(&sides[0].set, &sides[0].link, 1536 * KIB) == 0, "written");
    ok(o->ahead == 512 * KIB && sides[0].data == 2176 * KIB, "512 KiB at most");
    sides[0].takes = 1000;
    check(phx__link_out_write(&sides[0].set, &sides[0].link, SIZE_MAX) == 0 && o->full, "the stream is full");
    ok(o->ahead == 256 * KIB, "half as much");
    check(phx__link_out_write(&sides[0].set, &sides[0].link, SIZE_MAX) == 0, "once more");
    check(phx__link_out_write(&sides[0].set, &sides[0].link, SIZE_MAX) == 0, "and again");
    ok(o->ahead == 128 * KIB && (phx__link_events(&sides[0].link) & PHX_WRITE), "128 KiB are the least");
    ok(end(), "all memory is back");
}

/* Queues a frame of this type and size on side 0's link. */
static void queue(int type, size_t size)
{
    struct phx__writer w;
    size_t start;

    check(phx__link_out_control(&sides[0].set, &sides[0].link, size, &w) == 0, "room");
    start = phx__wire_begin(&w, type, 0, 0);
    w.size = start + size;
    phx__wire_end(&w, start);
    check(phx__link_out_control_end(&sides[0].set, &sides[0].link, &w) == 0, "queued");
}

static void test_turns(void)
{
    /* Goal: news are in front of data up to 64 KiB of control frames, and beyond that take turns with it, in
     * order; other frames pass them. Control frames are written into blocks of 512 bytes, which a link at
     * rest keeps, and larger ones into their own, which it does not. */
    struct phx__link_out *o = &sides[0].link.out;

    begin();
    check(meet() == 0 && is_up() && phx__link_out_write(&sides[0].set, &sides[0].link, SIZE_MAX) == 0,
          "a link");
    ok(o->tail != NULL && o->tail->capacity == 512 && o->tail->refs == 1, "512 bytes");
    queue(PHX__UPDATE, 65536);
    ok(o->control.bytes == 65536 && o->news.bytes == 0 && o->tail->capacity == 65536, "64 KiB in one");
    queue(PHX__UPDATE, 100);
    ok(o->control.bytes == 65636 && o->news.bytes == 0, "and some more, since it was not above");
    queue(PHX__UPDATE, 100);
    queue(PHX__BEAT, 50);
    ok(o->control.bytes == 65686 && o->news.bytes == 100, "then they wait, and a heartbeat does not");
    o->tail->used = 512 - 100;
    queue(PHX__BEAT, 100);
    ok(o->tail->used == 512, "a block is filled");
    queue(PHX__BEAT, 50);
    ok(o->tail->used == 50, "and there is another");
    check(phx__link_out_write(&sides[0].set, &sides[0].link, SIZE_MAX) == 0 && o->dry, "all is written");
    ok(o->tail != NULL && o->tail->capacity == 512 && o->tail->refs == 1, "which is kept");
    queue(PHX__BEAT, 50);
    ok(o->tail->capacity == 512 && o->tail->used == 50, "and filled again from its beginning");
    check(phx__link_out_write(&sides[0].set, &sides[0].link, SIZE_MAX) == 0 && o->dry, "so is that");
    queue(PHX__SUMMARY, 2049);
    check(phx__link_out_write(&sides[0].set, &sides[0].link, SIZE_MAX) == 0 && o->dry, "all is written");
    ok(o->tail == NULL, "a larger one is not");
    ok(end(), "all memory is back");
}

static void test_room(void)
{
    /* Goal: news of 1 MiB may wait for a link, of an eighth of what 32 MiB for all leave if that is less, and
     * 128 KiB in any case; there is room when half of that is free, if the last news are paid for in 5 s. */
    struct phx__link_set *s = &sides[0].set;
    struct phx__link *l = &sides[0].link;

    begin();
    check(meet() == 0 && is_up() && s->waiting == 0, "a link");
    ok(phx__link_out_room(s, l) == 1024 * KIB, "1 MiB");
    l->out.news.bytes = 512 * KIB - 1;
    ok(phx__link_out_room(s, l) == 512 * KIB + 1, "half of it");
    l->out.news.bytes++;
    ok(phx__link_out_room(s, l) == 0, "less than half is none");
    l->out.news.bytes = 0;
    s->waiting = 24 * 1024 * KIB;
    ok(phx__link_out_room(s, l) == 1024 * KIB, "24 MiB wait for others: an eighth of the rest");
    s->waiting += 8 * 256 * KIB;
    ok(phx__link_out_room(s, l) == 768 * KIB, "2 MiB more: less");
    s->waiting = 32 * 1024 * KIB - 1;
    ok(phx__link_out_room(s, l) == 128 * KIB, "nothing is left: 128 KiB");
    s->waiting = 0;
    l->out.paid_at = s->now + 5 * PHX__SECOND;
    ok(phx__link_out_room(s, l) == 1024 * KIB, "5 s");
    l->out.paid_at++;
    ok(phx__link_out_room(s, l) == 0, "and more is too much");
    ok(end(), "all memory is back");
}

/* ---- What frames cost ------------------------------------------------------------------------------ */

/* What a heartbeat of 16 bytes is charged when all links owe that much and this one is so old. */
static unsigned charged(uint64_t owed, uint64_t age)
{
    struct side *s = &sides[1];
    uint64_t before = s->link.in.paid_at = s->set.now;

    s->set.paid_at = s->set.now + owed;
    s->link.since = s->set.now - age;
    bring(1, frame_of(PHX__BEAT, 16), 16);
    check(reads() == 0, "read");
    return (unsigned)(s->link.in.paid_at - before);
}

static void test_price(void)
{
    /* Goal: a unit costs 50 us; where all links owe more than 4 s, once more for each half second above, for
     * links older than a minute each second; all together owe 36 s at most. */
    const uint64_t s = PHX__SECOND, young = 60 * s, old = young + 1;

    begin();
    check(meet() == 0 && is_up(), "a link");
    ok(charged(0, young) == 50 && charged(4 * s, young) == 50, "50 us, also where 4 s are owed");
    ok(charged(4 * s + s / 2 - 1, young) == 50 && charged(4 * s + s / 2, young) == 100,
       "half a second above");
    ok(charged(5 * s - 1, old) == 50 && charged(5 * s, old) == 100, "an old link: a second");
    ok(charged(20 * s, young) == 50 * 33 && charged(20 * s, old) == 50 * 17, "16 seconds above");
    ok(charged(36 * s - 25, young) == 50 * 64 && sides[1].set.paid_at == sides[1].set.now + 36 * s - 5,
       "20 us");
    ok(charged(36 * s - 5, young) == 50 * 64 && sides[1].set.paid_at == sides[1].set.now + 36 * s,
       "36 s");
    ok(end(), "all memory is back");
}

static void test_rests(void)
{
    /* Goal: a link that owes more than 5 s is not read until it owes so much again, but half a second at
     * most; one that owes more than half a second where others owe a second is read by 64 KiB, divided by the
     * price up to sixteen. */
    static const uint64_t owed[] = { 0, 4500000, 6000000, 12000000 }; /* of all links: prices 1, 2, 5, 17 */
    static const size_t asked[] = { 65536, 32768, 65536 / 5, 4096 };
    struct side *s = &sides[1];
    unsigned i;

    begin();
    check(meet() == 0 && is_up(), "a link");
    bring(1, frame_of(PHX__BEAT, 16), 16);
    s->link.in.paid_at = s->set.now + 5 * PHX__SECOND;
    ok(reads() == 0 && s->frames == 1 && !s->link.in.resting, "5 s");
    s->link.in.paid_at = s->set.now + 5 * PHX__SECOND + 499999;
    ok(phx__link_read(&s->set, &s->link) == 0 && s->link.in.resting
           && phx__timer_at(&s->timers, s->link.timer) == s->set.now + 499999, "more: it rests");
    s->asked = 0;
    ok((phx__link_events(&s->link) & PHX_READ) == 0 && phx__link_read(&s->set, &s->link) == 0
           && s->asked == 0,
       "and is not looked at");
    s->link.in.resting = 0;
    s->link.in.paid_at = s->set.now + 50 * PHX__SECOND;
    ok(phx__link_read(&s->set, &s->link) == 0 && s->link.in.resting
           && phx__timer_at(&s->timers, s->link.timer) == s->set.now + 500000, "half a second at most");
    s->link.in.resting = 0;
    for (i = 0; i < 4; i++) {
        s->set.paid_at = s->set.now + owed[i];
        s->link.in.paid_at = s->set.now + (i == 0 ? 500001 : 1);
        (void)phx__link_read(&s->set, &s->link);
        ok(s->asked == asked[i], "where all owe %u ms it asks for %u", (unsigned)(owed[i] / 1000),
           (unsigned)s->asked);
    }
    s->set.paid_at = s->set.now;
    s->link.in.paid_at = s->set.now + 500000;
    (void)phx__link_read(&s->set, &s->link);
    ok(s->asked == 256 * KIB, "half a second is nothing where nobody owes much");
    ok(end(), "all memory is back");
}

int main(void)
{
    test_hello();
    test_padding();
    test_slips();
    test_no_hello();
    test_reads();
    test_places();
    test_lends();
    test_ahead();
    test_turns();
    test_room();
    test_price();
    test_rests();
    return test_end();
}
