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
    ok(phx__mem_has_room_for_mail(&m, 700) && !phx__mem_has_room_for_mail(&m, 701)
           && !phx__mem_has_room_for_mail(&m, SIZE_MAX),
       "messages leave an eighth");
    phx__mem_init(&m, &alloc, 0);
    ok(phx__mem_has_room_for_mail(&m, SIZE_MAX), "of a limit, if there is one");
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

    phx__mem_init(&m, &alloc, limit);
    base = phx__mem_get(&m, 100000); /* so that what is left is no round number */
    for (size = 60000; size < limit; size += 997) {
        if (!phx__mem_has_room_for_mail(&m, size)) {
            refused++;
            continue;
        }
        taken = size + 100;
        p = phx__mem_get_large(&m, taken);
        short_of += p == NULL || (size >= 131072 && !phx__mem_has_room(&m, limit / 8));
        phx__mem_put_large(&m, p, taken);
    }
    phx__mem_put(&m, base, 100000);
    ok(short_of == 0, "%d sizes left less than an eighth", (int)short_of);
    ok(refused > 0 && refused < 1000, "%d of 4142 were refused", (int)refused);
    ok(m.used == 0 && test_heap_is_clean(&heap), "clean at the end");
}

int main(void)
{
    test_counting();
    test_default();
    test_limit();
    test_failure();
    test_grow();
    test_mail_leaves_room();
    return test_end();
}
