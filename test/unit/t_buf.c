/* t_buf.c - reader, writer, blocks and slices: every boundary, every truncation, a naive model. */
#include "test.h"
#ifdef PHX_JOINED
#include "../../phoenix.c"
#else
#include "base/buf.h"
#include "base/rnd.h"
#endif

/* One of each kind: 1 + 2 + 4 + 8 + 3 + 2 bytes. */
enum { ALL_SIZE = 20 };

static void put_all(struct phx__writer *w)
{
    phx__buf_put_u8(w, 0x01);
    phx__buf_put_u16(w, 0x0302);
    phx__buf_put_u32(w, UINT32_C(0x87060504));
    phx__buf_put_u64(w, UINT64_C(0xff0e0d0c0b0a0908));
    phx__buf_put_bytes(w, "xyz", 3);
    phx__buf_put_bytes(w, "!?", 2);
}

static void test_round_trip(void)
{
    /* Goal: little-endian on the wire, and what is put is got. Method: bytes spelled out, at each of 8
     * alignments. */
    static const uint8_t wire[ALL_SIZE + 1] = "\x01\x02\x03\x04\x05\x06\x87\x08\x09\x0a\x0b\x0c\x0d\x0e\xff"
                                              "xyz!?";
    uint8_t space[8 + ALL_SIZE];
    char copy[3];
    struct phx__writer w;
    struct phx__reader r;
    const uint8_t *p;
    size_t at;
    int bad = 0;

    for (at = 0; at < 8; at++) {
        phx__buf_writer_init(&w, space + at, ALL_SIZE);
        put_all(&w);
        bad += w.bad || w.size != ALL_SIZE || memcmp(space + at, wire, ALL_SIZE) != 0;
        phx__buf_reader_init(&r, space + at, ALL_SIZE);
        bad += phx__buf_get_u8(&r) != 0x01;
        bad += phx__buf_get_u16(&r) != 0x0302;
        bad += phx__buf_get_u32(&r) != UINT32_C(0x87060504);
        bad += phx__buf_get_u64(&r) != UINT64_C(0xff0e0d0c0b0a0908);
        phx__buf_get_copy(&r, copy, 3);
        p = phx__buf_get_bytes(&r, 2);
        bad += memcmp(copy, "xyz", 3) != 0 || p != space + at + ALL_SIZE - 2 || r.bad || r.left != 0;
    }
    ok(bad == 0, "round trip at 8 alignments");
    phx__buf_store_u32(space + 7 + 3, UINT32_C(0xa1b2c3d4));
    ok(memcmp(space + 7 + 3, "\xd4\xc3\xb2\xa1", 4) == 0, "overwriting in the middle");
}

static void test_truncated(void)
{
    /* Goal: a reader cut at any byte turns bad, gives zeroes from there on and never reads past the end.
     * Method: the sequence above cut at every length, in a block of exactly that size, so that the
     * address sanitizer sees a single byte too many. */
    struct phx__writer w;
    struct phx__reader r;
    uint8_t whole[ALL_SIZE], copy[3], *cut;
    size_t size;
    int bad = 0, zero;

    phx__buf_writer_init(&w, whole, sizeof whole);
    put_all(&w);
    for (size = 0; size < ALL_SIZE; size++) {
        cut = malloc(size > 0 ? size : 1);
        if (cut == NULL)
            break;
        memcpy(cut, whole, size);
        phx__buf_reader_init(&r, size > 0 ? cut : NULL, size);
        zero = phx__buf_get_u8(&r) == 0;
        bad += zero != (size < 1);
        zero = phx__buf_get_u16(&r) == 0;
        bad += zero != (size < 3);
        zero = phx__buf_get_u32(&r) == 0;
        bad += zero != (size < 7);
        zero = phx__buf_get_u64(&r) == 0;
        bad += zero != (size < 15);
        memset(copy, 'c', sizeof copy);
        phx__buf_get_copy(&r, copy, 3);
        zero = copy[0] == 0 && copy[1] == 0 && copy[2] == 0;
        bad += zero != (size < 18);
        bad += phx__buf_get_bytes(&r, 2) != NULL || !r.bad || r.left != 0;
        /* Once bad, also what would fit gives nothing. */
        bad += phx__buf_get_u8(&r) != 0 || phx__buf_get_bytes(&r, 0) != NULL;
        free(cut);
    }
    ok(size == ALL_SIZE && bad == 0, "cut at every length (%d wrong)", bad);
    phx__buf_reader_init(&r, whole, sizeof whole);
    ok(phx__buf_get_bytes(&r, SIZE_MAX) == NULL && r.bad, "a size that would wrap");
    phx__buf_reader_init(&r, NULL, 0);
    ok(phx__buf_get_bytes(&r, 0) != NULL && !r.bad, "nothing from nothing is not bad");
    phx__buf_get_copy(&r, NULL, 0);
    ok(!r.bad, "nor is a copy of nothing to nowhere");
}

static void test_full(void)
{
    /* Goal: a writer that is full at any byte turns bad and writes nothing more, in bounds or out.
     * Method: every capacity, in a block of exactly that size with a guard pattern. */
    struct phx__writer w;
    uint8_t *space;
    size_t capacity, size, i;
    int bad = 0;

    for (capacity = 0; capacity < ALL_SIZE; capacity++) {
        space = malloc(capacity > 0 ? capacity : 1);
        if (space == NULL)
            break;
        memset(space, 0xee, capacity);
        phx__buf_writer_init(&w, capacity > 0 ? space : NULL, capacity);
        put_all(&w);
        size = w.size;
        bad += !w.bad || size > capacity;
        phx__buf_put_u8(&w, 0); /* may fit, but the writer has failed */
        phx__buf_put_bytes(&w, NULL, 0);
        bad += w.size != size;
        for (i = size; i < capacity; i++)
            bad += space[i] != 0xee;
        bad += size > 0 && space[0] != 0x01;
        free(space);
    }
    ok(capacity == ALL_SIZE && bad == 0, "full at every capacity (%d wrong)", bad);
    phx__buf_writer_init(&w, NULL, 0);
    phx__buf_put_bytes(&w, NULL, 0);
    ok(!w.bad, "nothing into nothing is not bad");
}

/* Counts releases and remembers the last. With a queue, pushes another block to it, as a host may. */
struct released {
    int count;
    const void *data;
    size_t size;
    struct phx__slices *push_to;
    struct phx__block *push;
};

static void on_release(const void *data, size_t size, void *arg)
{
    struct released *r = arg;

    r->count++;
    r->data = data;
    r->size = size;
    if (r->push_to != NULL)
        phx__buf_slices_push(r->push_to, r->push, r->push->data, 1);
}

static void test_blocks(void)
{
    /* Goal: a block lives until its last drop, is counted to the byte, and release comes exactly once.
     * Method: one owned and one wrapped block over the checking heap; then failures. */
    static const char host[] = "the host's";
    struct test_heap heap = { 0 };
    struct phx_alloc alloc = { test_alloc, &heap };
    struct released r = { 0 };
    struct phx__mem mem;
    struct phx__block *b;

    phx__mem_init(&mem, &alloc, 0);
    b = phx__buf_block_new(&mem, 1000);
    ok(b != NULL && b->refs == 1 && b->capacity == 1000 && b->used == 0 && heap.blocks == 1, "an own block");
    memset(b->data, 1, 1000);
    ok(phx__buf_block_hold(b) == b && b->refs == 2, "held");
    phx__buf_block_drop(b);
    ok(heap.blocks == 1, "still there");
    phx__buf_block_drop(b);
    ok(test_heap_is_clean(&heap) && mem.used == 0, "gone with the last drop");
    b = phx__buf_block_wrap(&mem, host, sizeof host, on_release, &r);
    ok(b != NULL && b->data == (const void *)host && b->capacity == sizeof host && b->used == sizeof host,
       "a wrapped block");
    phx__buf_block_hold(b);
    phx__buf_block_drop(b);
    ok(r.count == 0, "not released early");
    phx__buf_block_drop(b);
    ok(r.count == 1 && r.data == host && r.size == sizeof host && mem.used == 0, "released once");
    phx__buf_block_drop(NULL);
    b = phx__buf_block_new(&mem, 0);
    ok(b != NULL && b->capacity == 0, "a block of nothing");
    phx__buf_block_drop(b);
    ok(phx__buf_block_new(&mem, SIZE_MAX) == NULL && phx__buf_block_new(&mem, SIZE_MAX - 8) == NULL,
       "a size that would wrap");
    heap.fail_from = heap.calls + 1;
    ok(phx__buf_block_new(&mem, 1) == NULL, "no memory for a block");
    ok(phx__buf_block_wrap(&mem, host, 1, on_release, &r) == NULL, "nor for a wrapped one");
    ok(r.count == 1 && test_heap_is_clean(&heap), "a failed wrap does not release");
}

static void test_place(void)
{
    /* Goal: a place is open until its block was filled in another way or retired, and over when dropped. */
    struct test_heap heap = { 0 };
    struct phx_alloc alloc = { test_alloc, &heap };
    struct phx__place p = { .at = 3, .size = 5 };
    struct phx__mem mem;
    struct phx__block *b;

    phx__mem_init(&mem, &alloc, 0);
    b = phx__buf_block_new(&mem, 8);
    p.block = phx__buf_block_hold(b);
    ok(!phx__buf_place_is_open(&p), "nothing stands before it yet");
    b->used = 3;
    ok(phx__buf_place_is_open(&p), "it is next");
    b->used = 4;
    ok(!phx__buf_place_is_open(&p), "another was faster");
    b->used = 3;
    phx__buf_block_retire(b);
    ok(!phx__buf_place_is_open(&p), "the block is over");
    phx__buf_place_drop(&p);
    ok(p.block == NULL && p.size == 0 && b->refs == 1, "dropped, and there is none");
    phx__buf_block_drop(b);
    ok(test_heap_is_clean(&heap), "no byte leaked");
}

static void test_reclaim(void)
{
    /* Goal: the host may have back what it lent: blocks and queues keep copies then, and release is not
     * called for it. Method: two buffers, one of which is asked for; then all, and no memory. */
    static uint8_t one[] = "one", two[] = "two";
    struct test_heap heap = { 0 };
    struct phx_alloc alloc = { test_alloc, &heap };
    struct released r = { 0 };
    struct phx__slices q;
    struct phx__mem mem;
    struct phx__block *a, *b;

    phx__mem_init(&mem, &alloc, 0);
    phx__buf_slices_init(&q, &mem);
    a = phx__buf_block_wrap(&mem, one, sizeof one, on_release, &r);
    b = phx__buf_block_wrap(&mem, two, sizeof two, on_release, &r);
    check(phx__buf_slices_push(&q, a, one, 2) == 0 && phx__buf_slices_push(&q, b, two, 3) == 0, "queued");
    phx__buf_block_drop(a);
    ok(phx__buf_slices_reclaim(&q, two, NULL) == 0 && phx__buf_slices_reclaim(&q, &r, &r) == 0,
       "buffers that were not lent, or not so");
    heap.fail_from = heap.calls + 1;
    ok(phx__buf_slices_reclaim(&q, one, &r) == PHX_ENOMEM && q.ring[q.first].data == one, "no memory");
    heap.fail_from = 0;
    ok(phx__buf_slices_reclaim(&q, one, &r) == 1 && r.count == 0, "one is given back");
    ok(q.ring[q.first].data != one && memcmp(q.ring[q.first].data, "on", 2) == 0, "and copied");
    ok(q.ring[q.first + 1].data == two, "the other is not");
    ok(phx__buf_block_reclaim(NULL, two, &r) == 0 && phx__buf_block_reclaim(b, one, &r) == 0, "not that");
    ok(phx__buf_block_reclaim(b, two, &r) == 1 && b->data != two && memcmp(b->data, two, sizeof two) == 0,
       "what holds it has a copy");
    ok(phx__buf_block_reclaim(b, two, &r) == 0 && phx__buf_block_reclaim(b, NULL, NULL) == 0, "once");
    phx__buf_block_drop(b);
    ok(phx__buf_slices_reclaim(&q, two, &r) == 0, "the queue holds that block, and not the buffer");
    phx__buf_slices_free(&q);
    ok(r.count == 0, "nothing was released");
    a = phx__buf_block_wrap(&mem, one, sizeof one, on_release, &r);
    check(phx__buf_slices_push(&q, a, one, 2) == 0, "queued");
    phx__buf_block_drop(a);
    ok(phx__buf_slices_reclaim(&q, NULL, NULL) == 1 && r.count == 1, "all at once: released");
    phx__buf_slices_free(&q);
    ok(r.count == 1 && test_heap_is_clean(&heap), "no byte leaked");
}

static void test_slices(void)
{
    /* Goal: order, merging of neighbours, iovecs, partial takes and references. Method: by hand. */
    struct test_heap heap = { 0 };
    struct phx_alloc alloc = { test_alloc, &heap };
    struct phx__mem mem;
    struct phx__slices q;
    struct phx__block *a, *b;
    struct iovec iov[4];

    phx__mem_init(&mem, &alloc, 0);
    phx__buf_slices_init(&q, &mem);
    ok(phx__buf_slices_iov(&q, iov, 4) == 0 && mem.used == 0, "empty, and costs nothing");
    phx__buf_slices_take(&q, 0);
    a = phx__buf_block_new(&mem, 100);
    b = phx__buf_block_new(&mem, 100);
    ok(phx__buf_slices_push(&q, a, a->data, 0) == 0 && q.count == 0 && a->refs == 1, "nothing pushed");
    phx__buf_slices_push(&q, a, a->data, 10);
    phx__buf_slices_push(&q, a, a->data + 10, 5);
    ok(q.count == 1 && q.bytes == 15 && a->refs == 2, "neighbours become one slice, one reference");
    phx__buf_slices_push(&q, b, b->data, 20);
    phx__buf_slices_push(&q, a, a->data + 15, 5);
    phx__buf_slices_push(&q, a, a->data + 30, 5);
    ok(q.count == 4 && q.bytes == 45 && a->refs == 4 && b->refs == 2, "others do not");
    ok(phx__buf_slices_iov(&q, iov, 2) == 2 && iov[1].iov_base == (void *)b->data && iov[1].iov_len == 20,
       "a short iovec");
    ok(phx__buf_slices_iov(&q, iov, 0) == 0 && phx__buf_slices_iov(&q, iov, 4) == 4, "none, and all");
    phx__buf_slices_take(&q, 14);
    ok(phx__buf_slices_iov(&q, iov, 1) == 1 && iov[0].iov_base == (void *)(a->data + 14)
           && iov[0].iov_len == 1,
       "a part of the first");
    phx__buf_slices_take(&q, 1 + 20 + 2);
    ok(q.count == 2 && q.bytes == 8 && a->refs == 3 && b->refs == 1, "across slices");
    phx__buf_slices_take(&q, 8);
    ok(q.count == 0 && q.bytes == 0 && a->refs == 1, "to the end");
    phx__buf_slices_push(&q, a, a->data + 35, 1);
    ok(q.count == 1 && a->refs == 2, "what was taken is not extended");
    phx__buf_block_drop(a);
    phx__buf_block_drop(b);
    phx__buf_slices_free(&q);
    ok(test_heap_is_clean(&heap) && mem.used == 0, "free drops the rest");
}

static void test_adjacent(void)
{
    /* Goal: slices of two blocks never merge, even if their bytes adjoin. Method: two wrapped halves of
     * one array of the host's; each must be released when its own half is taken. */
    static const uint8_t host[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };
    struct phx__mem mem;
    struct phx__slices q;
    struct released left = { 0 }, right = { 0 };
    struct phx__block *a, *b;

    phx__mem_init(&mem, NULL, 0);
    phx__buf_slices_init(&q, &mem);
    a = phx__buf_block_wrap(&mem, host, 4, on_release, &left);
    b = phx__buf_block_wrap(&mem, host + 4, 4, on_release, &right);
    phx__buf_slices_push(&q, a, a->data, 4);
    phx__buf_slices_push(&q, b, b->data, 4);
    phx__buf_block_drop(a);
    phx__buf_block_drop(b);
    ok(q.count == 2 && left.count == 0 && right.count == 0, "two slices");
    phx__buf_slices_take(&q, 4);
    ok(left.count == 1 && right.count == 0, "the first half is released alone");
    phx__buf_slices_free(&q);
    ok(left.count == 1 && right.count == 1 && mem.used == 0, "then the second");
}

static void test_release_pushes(void)
{
    /* Goal: a release callback may push to the queue that is being emptied. Method: it does, while the
     * ring is full and so moves in memory. */
    static const char host[8] = "12345678";
    struct phx__mem mem;
    struct phx__slices q;
    struct released r = { 0 };
    struct phx__block *b, *more;
    int i;

    phx__mem_init(&mem, NULL, 0);
    phx__buf_slices_init(&q, &mem);
    more = phx__buf_block_new(&mem, 4);
    b = phx__buf_block_wrap(&mem, host, sizeof host, on_release, &r);
    for (i = 0; i < 8; i++)
        phx__buf_slices_push(&q, b, b->data + 7 - i, 1); /* backwards, so they stay apart */
    phx__buf_block_drop(b);
    r.push_to = &q;
    r.push = more;
    phx__buf_slices_take(&q, 8);
    ok(r.count == 1 && q.count == 1 && q.bytes == 1 && more->refs == 2, "pushed during the take");
    r.push_to = NULL;
    phx__buf_slices_free(&q);
    phx__buf_block_drop(more);
    ok(mem.used == 0, "clean at the end");
}

static void test_model(void)
{
    /* Goal: the queue gives back the bytes in the order pushed, whatever the calls.
     * Method: 20 seeds; random pushes of random parts of 5 blocks and random takes, against one long
     * array of the expected bytes. The allocator fails now and then; a failed push must change nothing. */
    enum { BLOCKS = 5, SIZE = 64, LONG = 400000 };
    struct phx__block *block[BLOCKS];
    struct phx__slices q;
    struct phx__mem mem;
    struct phx__rnd r;
    struct iovec iov[7];
    uint8_t *expected = malloc(LONG);
    size_t head, tail, at, size, i;
    uint64_t seed;
    int n, k, m, good;

    for (seed = 1; seed <= 20 && expected != NULL; seed++) {
        struct test_heap heap = { 0 };
        struct phx_alloc alloc = { test_alloc, &heap };

        phx__mem_init(&mem, &alloc, 0);
        phx__buf_slices_init(&q, &mem);
        phx__rnd_seed(&r, seed, 2);
        for (k = 0; k < BLOCKS; k++) {
            block[k] = phx__buf_block_new(&mem, SIZE);
            for (i = 0; i < SIZE; i++)
                block[k]->data[i] = (uint8_t)phx__rnd_next(&r);
        }
        head = tail = 0;
        good = 1;
        for (n = 0; n < 10000 && good; n++) {
            heap.fail_at = phx__rnd_below(&r, 3) == 0 ? heap.calls + 1 : 0;
            k = (int)phx__rnd_below(&r, BLOCKS);
            at = (size_t)phx__rnd_below(&r, SIZE);
            size = (size_t)phx__rnd_below(&r, SIZE - at + 1);
            if (phx__rnd_below(&r, 2) == 0) {
                if (phx__buf_slices_push(&q, block[k], block[k]->data + at, size) == 0) {
                    memcpy(expected + tail, block[k]->data + at, size);
                    tail += size;
                }
            } else {
                size = (size_t)phx__rnd_below(&r, (n / 1000 % 2 == 0 ? 40u : 120u));
                size = size < tail - head ? size : tail - head;
                phx__buf_slices_take(&q, size);
                head += size;
            }
            m = phx__buf_slices_iov(&q, iov, 7);
            for (k = 0, at = head; k < m; at += iov[k++].iov_len)
                good = good && at + iov[k].iov_len <= tail
                       && memcmp(expected + at, iov[k].iov_base, iov[k].iov_len) == 0;
            good = good && q.bytes == tail - head && (m == 7 || at == tail);
        }
        phx__buf_slices_free(&q);
        for (k = 0; k < BLOCKS; k++) {
            good = good && block[k]->refs == 1;
            phx__buf_block_drop(block[k]);
        }
        ok(good && test_heap_is_clean(&heap) && mem.used == 0, "seed %d", (int)seed);
    }
    free(expected);
}

static void test_failure(void)
{
    /* Goal: a push without memory changes nothing, extending needs none. Method: fail each n-th
     * allocation while 100 slices go in, and retry. */
    struct test_heap heap;
    struct phx_alloc alloc;
    struct phx__mem mem;
    struct phx__slices q;
    struct phx__block *b;
    long fail_at;
    uint32_t i;
    int failed, bad = 0;

    alloc.alloc = test_alloc;
    alloc.world = &heap;
    for (fail_at = 2, failed = 1; failed; fail_at++) {
        memset(&heap, 0, sizeof heap);
        heap.fail_at = fail_at; /* the first makes the block */
        phx__mem_init(&mem, &alloc, 0);
        phx__buf_slices_init(&q, &mem);
        b = phx__buf_block_new(&mem, 300);
        for (i = 0, failed = 0; i < 100; i++) {
            if (phx__buf_slices_push(&q, b, b->data + 3 * i, 1) != 0) {
                failed++;
                bad += q.count != i || q.bytes != 2 * i || b->refs != i + 1;
                bad += phx__buf_slices_push(&q, b, b->data + 3 * i, 1) != 0;
            }
            bad += phx__buf_slices_push(&q, b, b->data + 3 * i + 1, 1) != 0 || q.count != i + 1;
        }
        bad += failed > 1 || q.bytes != 200;
        phx__buf_slices_free(&q);
        phx__buf_block_drop(b);
        bad += !test_heap_is_clean(&heap) || mem.used != 0;
    }
    ok(bad == 0 && fail_at > 5, "%d allocations failed in turn", (int)fail_at - 3);
}

int main(void)
{
    test_round_trip();
    test_truncated();
    test_full();
    test_blocks();
    test_place();
    test_reclaim();
    test_slices();
    test_adjacent();
    test_release_pushes();
    test_model();
    test_failure();
    return test_end();
}
