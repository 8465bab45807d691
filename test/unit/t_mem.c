/* t_mem.c - the counted allocator: exact totals, the limit, growth, and failure at any point. */
#include "test.h"
#ifdef PHX_JOINED
#include "../../phoenix.c"
#else
#include "base/mem.h"
#endif

static void test_counting(void)
{
    /* Goal: used and peak are exact through get, resize both ways and put.
     * Method: a fixed sequence over the checking heap, compared after every step. */
    struct test_heap heap = { 0 };
    struct phx_alloc alloc = { test_alloc, &heap };
    struct phx__mem m;
    char *a, *b;
    int i, zero = 1;

    phx__mem_init(&m, &alloc, 0);
    ok(m.used == 0 && m.peak == 0, "starts empty");
    a = phx__mem_get(&m, 100);
    b = phx__mem_zero(&m, 50);
    ok(a != NULL && b != NULL && m.used == 150 && m.peak == 150, "two blocks");
    for (i = 0; i < 50; i++)
        zero &= b[i] == 0;
    ok(zero, "mem_zero zeroes");
    memset(a, 'x', 100);
    a = phx__mem_resize(&m, a, 100, 300);
    ok(a != NULL && a[0] == 'x' && a[99] == 'x' && m.used == 350 && m.peak == 350, "grown");
    a = phx__mem_resize(&m, a, 300, 10);
    ok(a != NULL && a[9] == 'x' && m.used == 60 && m.peak == 350, "shrunk; the peak stays");
    phx__mem_put(&m, NULL, 0);
    ok(m.used == 60, "putting NULL is nothing");
    phx__mem_put(&m, b, 50);
    phx__mem_put(&m, a, 10);
    ok(m.used == 0 && m.peak == 350 && test_heap_is_clean(&heap), "all back, sizes were right");
    a = phx__mem_resize(&m, NULL, 0, 7);
    ok(a != NULL && m.used == 7, "resize of NULL is get");
    phx__mem_put(&m, a, 7);
    ok(test_heap_is_clean(&heap), "clean at the end");
}

static void test_default(void)
{
    /* Goal: without an allocator of the host's, malloc serves. Method: one block through its life. */
    struct phx__mem m;
    char *p;

    phx__mem_init(&m, NULL, 0);
    p = phx__mem_get(&m, 16);
    if (!ok(p != NULL, "malloc"))
        return;
    memcpy(p, "0123456789abcde", 16);
    p = phx__mem_resize(&m, p, 16, 100000);
    ok(p != NULL && memcmp(p, "0123456789abcde", 16) == 0 && m.used == 100000, "realloc");
    phx__mem_put(&m, p, 100000);
    ok(m.used == 0 && m.peak == 100000, "free");
}

static void test_limit(void)
{
    /* Goal: the limit is the last byte that fits, and a refusal changes nothing and asks nobody.
     * Method: stand at the boundary from both sides. */
    struct test_heap heap = { 0 };
    struct phx_alloc alloc = { test_alloc, &heap };
    struct phx__mem m;
    char *a, *b;

    phx__mem_init(&m, &alloc, 100);
    ok(phx__mem_has_room(&m, 100) && !phx__mem_has_room(&m, 101), "room for all of it and no more");
    ok(!phx__mem_has_room(&m, SIZE_MAX), "no room for everything");
    ok(phx__mem_get(&m, 101) == NULL && heap.calls == 0, "one too many is not even asked for");
    a = phx__mem_get(&m, 60);
    b = phx__mem_get(&m, 40);
    ok(a != NULL && b != NULL && m.used == 100, "exactly full");
    ok(phx__mem_has_room(&m, 0) && !phx__mem_has_room(&m, 1), "no room for one");
    ok(phx__mem_get(&m, 1) == NULL && m.used == 100 && m.peak == 100, "one more fails");
    a[59] = 'z';
    ok(phx__mem_resize(&m, a, 60, 61) == NULL && a[59] == 'z' && m.used == 100, "growing fails, old lives");
    a = phx__mem_resize(&m, a, 60, 59);
    ok(a != NULL && m.used == 99, "shrinking at the limit works");
    a = phx__mem_resize(&m, a, 59, 60);
    ok(a != NULL && m.used == 100, "and growing back");
    phx__mem_put(&m, a, 60);
    phx__mem_put(&m, b, 40);
    phx__mem_init(&m, &alloc, 800);
    ok(phx__mem_has_room_for_mail(&m, 572) && !phx__mem_has_room_for_mail(&m, 573)
           && !phx__mem_has_room_for_mail(&m, SIZE_MAX),
       "messages leave an eighth");
    phx__mem_init(&m, &alloc, 0);
    ok(phx__mem_has_room_for_mail(&m, SIZE_MAX / 4), "of a limit, if there is one");
    m.used = SIZE_MAX - 1; /* as if */
    ok(phx__mem_has_room(&m, 1) && !phx__mem_has_room(&m, 2), "without a limit the counter cannot wrap");
    ok(test_heap_is_clean(&heap), "clean at the end");
}

static void test_failure(void)
{
    /* Goal: a failing allocator changes no counter. Method: fail each kind of call in turn. */
    struct test_heap heap = { 0 };
    struct phx_alloc alloc = { test_alloc, &heap };
    struct phx__mem m;
    char *a;

    phx__mem_init(&m, &alloc, 0);
    heap.fail_at = 1;
    ok(phx__mem_get(&m, 10) == NULL && m.used == 0 && m.peak == 0, "get");
    heap.fail_at = 2;
    ok(phx__mem_zero(&m, 10) == NULL && m.used == 0, "zero");
    a = phx__mem_get(&m, 10);
    heap.fail_at = 4;
    ok(phx__mem_resize(&m, a, 10, 20) == NULL && m.used == 10 && m.peak == 10, "resize up");
    heap.fail_at = 5;
    ok(phx__mem_resize(&m, a, 10, 5) == NULL && m.used == 10, "resize down");
    phx__mem_put(&m, a, 10);
    ok(m.used == 0 && test_heap_is_clean(&heap), "clean at the end");
}

static void test_grow(void)
{
    /* Goal: growth keeps contents, zeroes the rest, grows by half at first and by an
     * eighth from 256 items on, and fails without a trace.
     * Method: push 10,000 items one by one and look at every step; then overflow and failure. */
    struct test_heap heap = { 0 };
    struct phx_alloc alloc = { test_alloc, &heap };
    struct phx__mem m;
    struct { uint32_t a; uint64_t b; } *array = NULL;
    uint32_t capacity = 0, before, i, k, bad = 0, steps = 0;
    void *same;

    phx__mem_init(&m, &alloc, 0);
    ok(phx__mem_grow(&m, &array, &capacity, 0, sizeof *array) == 0 && array == NULL, "need 0 is nothing");
    for (i = 0; i < 10000; i++) {
        before = capacity;
        if (phx__mem_grow(&m, &array, &capacity, i + 1, sizeof *array) != 0)
            break;
        if (capacity != before) {
            steps++;
            bad += capacity < before + before / (before < 256 ? 2 : 8)
                   || (before > 256 && capacity > before + before / 8 + 1);
            for (k = before; k < capacity; k++)
                bad += array[k].a != 0 || array[k].b != 0;
        }
        bad += capacity <= i || m.used != capacity * sizeof *array;
        array[i].a = i;
    }
    for (k = 0; k < i; k++)
        bad += array[k].a != k;
    ok(i == 10000 && bad == 0, "10,000 pushes keep and zero (%u wrong)", (unsigned)bad);
    ok(steps < 50, "in %u steps", (unsigned)steps);
    before = capacity;
    same = array;
    heap.fail_at = heap.calls + 1;
    ok(phx__mem_grow(&m, &array, &capacity, capacity + 1, sizeof *array) == PHX_ENOMEM, "failure is told");
    ok((void *)array == same && capacity == before && array[9999].a == 9999, "and changes nothing");
    ok(phx__mem_grow(&m, &array, &capacity, UINT32_MAX, SIZE_MAX / 8) == PHX_ENOMEM && capacity == before,
       "a product that overflows is refused");
    ok(phx__mem_grow(&m, &array, &capacity, before, sizeof *array) == 0 && (void *)array == same,
       "what is there already costs nothing");
    phx__mem_put(&m, array, capacity * sizeof *array);
    ok(m.used == 0 && test_heap_is_clean(&heap), "clean at the end");
}

static void test_mail_leaves_room(void)
{
    /* Goal: messages leave an eighth of the limit, also where large blocks are rounded up. Method: for sizes
     * around each step, whatever is said to have room is taken, with a block's head, and then asked for. */
    struct test_heap heap = { 0 };
    struct phx_alloc alloc = { test_alloc, &heap };
    struct phx__mem m;
    const size_t limit = (size_t)4 << 20;
    size_t size, taken, refused = 0, short_of = 0;
    void *p, *base;

    phx__mem_init(&m, &alloc, 37448); /* an eighth of it leaves 32,767 */
    ok(phx__mem_has_room_for_mail(&m, 32767 - 128) && !phx__mem_has_room_for_mail(&m, 32768 - 128),
       "128 bytes of head make a block large");
    phx__mem_init(&m, &alloc, limit);
    heap.bare = 1;                   /* gigabytes */
    base = phx__mem_get(&m, 100000); /* so that what is left is no round number */
    for (size = 20000; size < limit; size += 997) {
        if (!phx__mem_has_room_for_mail(&m, size)) {
            refused++;
            continue;
        }
        taken = size + 100;
        p = phx__mem_get_large(&m, taken);
        short_of += p == NULL || (size >= 32768 && !phx__mem_has_room(&m, limit / 8));
        phx__mem_put_large(&m, p, taken);
    }
    phx__mem_put(&m, base, 100000);
    ok(short_of == 0, "%d sizes left less than an eighth", (int)short_of);
    ok(refused > 0 && refused < 1000, "%d of 4187 were refused", (int)refused);
    ok(m.used == 0 && test_heap_is_clean(&heap), "clean at the end");
}

/* Goal: large blocks are rounded up and kept for the next of their size, up to spare_most; they are counted
 * as large, and make room when there is no other. Method: each count after each step. */
static void test_large(void)
{
    struct test_heap heap = { 0 };
    struct phx_alloc alloc = { test_alloc, &heap };
    struct phx__mem m;
    void *a, *b, *c;

    phx__mem_init(&m, &alloc, 0);
    m.spare_most = (size_t)4 << 20;
    a = phx__mem_get_large(&m, 32767);
    ok(m.used == 32767 && m.large == 32767, "one byte below 32 KiB is not rounded");
    phx__mem_put_large(&m, a, 32767);
    ok(m.used == 0 && m.large == 0 && m.spare_bytes == 0, "nor kept");
    a = phx__mem_get_large(&m, 131072);
    b = phx__mem_get_large(&m, 200000);
    ok(m.used == 131072 + 212992 && m.large == m.used, "200,000 bytes are 13 times 16 KiB");
    phx__mem_put_large(&m, a, 131072);
    phx__mem_put_large(&m, b, 200000);
    ok(m.used == 131072 + 212992 && m.large == m.used && m.spare_bytes == m.used, "both are kept");
    c = phx__mem_get_large(&m, 210000);
    ok(c == b && m.spare_bytes == 131072 && m.used == 131072 + 212992, "what is rounded alike is used");
    b = phx__mem_get_large(&m, 131072);
    ok(b == a && m.spare_bytes == 0 && m.spare_uses > 0, "so is the other");
    a = phx__mem_get_large(&m, 300000);
    ok(a != b && a != c && m.used == 131072 + 212992 + 327680, "none is left for a third");
    phx__mem_put_large(&m, a, 300000);
    phx__mem_put_large(&m, b, 131072);
    phx__mem_put_large(&m, c, 200000);
    phx__mem_drop_spares(&m, UINT64_MAX);
    ok(m.used == 0 && m.large == 0 && m.spare_bytes == 0 && test_heap_is_clean(&heap), "all goes back");
    m.limit = 1 << 20;
    a = phx__mem_get_large(&m, 524288);
    phx__mem_put_large(&m, a, 524288);
    b = phx__mem_get(&m, 524288);
    ok(b != NULL && m.spare_bytes == 524288 && m.used == 1 << 20, "what is kept may fill the limit");
    a = phx__mem_get(&m, 1);
    ok(a != NULL && m.spare_bytes == 0 && m.used == 524289, "a byte more, and it is given back");
    phx__mem_put(&m, a, 1);
    a = phx__mem_get_large(&m, 262144);
    phx__mem_put_large(&m, a, 262144);
    heap.fail_at = heap.calls + 1;
    a = phx__mem_get(&m, 100);
    ok(a != NULL && m.spare_bytes == 0 && m.used == 524388, "nor is it kept where the host has no more");
    phx__mem_put(&m, a, 100);
    phx__mem_put(&m, b, 524288);
    ok(m.used == 0 && test_heap_is_clean(&heap), "clean at the end");
}

/* Goal: an array of more than 256 items gives back more than an eighth that is idle, and keeps what is in
 * it. */
static void test_fit(void)
{
    struct test_heap heap = { 0 };
    struct phx_alloc alloc = { test_alloc, &heap };
    struct phx__mem m;
    uint32_t *array = NULL, capacity = 0, k, bad = 0;

    phx__mem_init(&m, &alloc, 0);
    check(phx__mem_grow(&m, &array, &capacity, 256, sizeof *array) == 0 && capacity == 256, "256 items");
    phx__mem_fit(&m, &array, &capacity, 1, sizeof *array);
    ok(capacity == 256, "so few are kept");
    check(phx__mem_grow(&m, &array, &capacity, 1000, sizeof *array) == 0 && capacity == 1000, "1,000 items");
    for (k = 0; k < 1000; k++)
        array[k] = k;
    phx__mem_fit(&m, &array, &capacity, 876, sizeof *array);
    ok(capacity == 1000 && m.used == 4000, "less than an eighth is idle: it stays");
    heap.fail_at = heap.calls + 1;
    phx__mem_fit(&m, &array, &capacity, 875, sizeof *array);
    ok(capacity == 1000 && m.used == 4000, "so it does if the host cannot make it smaller");
    phx__mem_fit(&m, &array, &capacity, 875, sizeof *array);
    ok(capacity == 875 && m.used == 3500, "an eighth is given back");
    for (k = 0; k < 875; k++)
        bad += array[k] != k;
    ok(bad == 0, "the rest is as it was");
    phx__mem_fit(&m, &array, &capacity, 0, sizeof *array);
    ok(capacity == 4 && m.used == 16 && array[3] == 3, "four items are the least");
    phx__mem_put(&m, array, capacity * sizeof *array);
    ok(test_heap_is_clean(&heap), "clean at the end");
}

/* Goal: a ring doubles when more are to come than there is room for, and not before; its first is then at
 * 0. */
static void test_ring(void)
{
    struct test_heap heap = { 0 };
    struct phx_alloc alloc = { test_alloc, &heap };
    struct phx__mem m;
    uint32_t *ring = NULL, first = 0, capacity = 0, k, bad = 0;

    phx__mem_init(&m, &alloc, 0);
    ok(phx__mem_grow_ring(&m, &ring, &first, 0, &capacity, 1, sizeof *ring) == 0 && capacity == 8,
       "eight at first");
    for (k = 0; k < 8; k++)
        ring[(k + 5) % 8] = k;
    first = 5;
    ok(phx__mem_grow_ring(&m, &ring, &first, 8, &capacity, 8, sizeof *ring) == 0 && capacity == 16
           && first == 0, "8 and 8 are 16");
    for (k = 0; k < 8; k++)
        bad += ring[k] != k;
    ok(bad == 0, "in order");
    ok(phx__mem_grow_ring(&m, &ring, &first, 8, &capacity, UINT32_MAX, sizeof *ring) == PHX_ENOMEM
           && capacity == 16, "too many are refused");
    heap.fail_from = heap.calls + 1;
    ok(phx__mem_grow_ring(&m, &ring, &first, 8, &capacity, (1u << 29) - 8, sizeof *ring) == PHX_ENOMEM
           && heap.calls == heap.fail_from, "2 GiB are asked for");
    ok(phx__mem_grow_ring(&m, &ring, &first, 8, &capacity, (1u << 29) - 7, sizeof *ring) == PHX_ENOMEM
           && heap.calls == heap.fail_from, "and not one item more");
    heap.fail_from = 0;
    phx__mem_put(&m, ring, capacity * sizeof *ring);
    ok(test_heap_is_clean(&heap), "clean at the end");
}

/* Goal: as many are kept as spare_most has room for, those not used for longest go first, and a size that
 * takes turns with others is found. */
static void test_spares(void)
{
    struct test_heap heap = { 0 };
    struct phx_alloc alloc = { test_alloc, &heap };
    struct phx__mem m;
    void *p[100];
    int i;

    phx__mem_init(&m, &alloc, 0);
    m.spare_most = 100 * 32768;
    for (i = 0; i < 100; i++)
        p[i] = phx__mem_get_large(&m, 32768);
    for (i = 0; i < 100; i++)
        phx__mem_put_large(&m, p[i], 32768);
    ok(m.spare_bytes == 100 * 32768 && m.large == m.spare_bytes && heap.blocks == 100, "a hundred are kept");
    for (i = 0; i < 60; i++)
        p[i] = phx__mem_get_large(&m, 32768);
    ok(heap.calls == 100 && m.spare_bytes == 40 * 32768, "and used again, without a call");
    for (i = 0; i < 60; i++)
        phx__mem_put_large(&m, p[i], 32768);
    phx__mem_drop_spares(&m, 100);
    ok(m.spare_bytes == 60 * 32768 && heap.blocks == 60, "those that were not used go");
    for (i = 0; i < 8; i++)
        p[i] = phx__mem_get_large(&m, 36864 + 4096 * (size_t)i);
    for (i = 0; i < 8; i++)
        phx__mem_put_large(&m, p[i], 36864 + 4096 * (size_t)i);
    p[0] = phx__mem_get_large(&m, 36864);
    ok(heap.blocks == 68 && heap.calls == 108, "the eighth of as many sizes is found");
    phx__mem_put_large(&m, p[0], 36864);
    m.spare_most = 8 * 131072;
    phx__mem_drop_spares(&m, UINT64_MAX);
    p[0] = phx__mem_get_large(&m, 262144);
    phx__mem_put_large(&m, p[0], 262144);
    ok(m.spare_bytes == 262144 && heap.blocks == 1, "a size for which there is no room replaces the others");
    p[0] = phx__mem_get_large(&m, 9 * 131072);
    phx__mem_put_large(&m, p[0], 9 * 131072);
    ok(m.spare_bytes == 262144 && heap.blocks == 1, "one that is larger than all that is kept does not");
    phx__mem_drop_spares(&m, UINT64_MAX);
    ok(m.used == 0 && m.large == 0 && test_heap_is_clean(&heap), "all goes back");
}

int main(void)
{
    test_large();
    test_spares();
    test_fit();
    test_ring();
    test_counting();
    test_default();
    test_limit();
    test_failure();
    test_grow();
    test_mail_leaves_room();
    return test_end();
}
