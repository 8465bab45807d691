/* t_timer.c - the heap of deadlines against a naive array, and its order of firing. */
#include "test.h"
#ifdef PHX_JOINED
#include "../../phoenix.c"
#else
#include "base/rnd.h"
#include "base/timer.h"
#endif

static void test_basics(void)
{
    /* Goal: the contract of each call at its edges. Method: two timers by hand. */
    struct phx__mem mem;
    struct phx__timers t;
    uint32_t a, b, c, arg = 0;
    int kind = 0;

    phx__mem_init(&mem, NULL, 0);
    phx__timer_init(&t, &mem);
    ok(phx__timer_next(&t) == UINT64_MAX && mem.used == 0, "empty: never, and no memory");
    ok(phx__timer_pop(&t, UINT64_MAX, &kind, &arg) == 0, "nothing to pop, not even at the end of time");
    ok(phx__timer_new(&t, PHX__TIMER_LINK, 11, &a) == 0, "first");
    ok(phx__timer_new(&t, PHX__TIMER_DIAL, 22, &b) == 0 && a != b, "second");
    ok(phx__timer_at(&t, a) == UINT64_MAX && phx__timer_next(&t) == UINT64_MAX, "new ones are stopped");
    phx__timer_set(&t, a, 100);
    phx__timer_set(&t, b, 50);
    ok(phx__timer_next(&t) == 50 && phx__timer_at(&t, a) == 100, "the earlier one is next");
    ok(phx__timer_pop(&t, 49, &kind, &arg) == 0, "not due a microsecond early");
    ok(phx__timer_pop(&t, 50, &kind, &arg) == 1 && kind == PHX__TIMER_DIAL && arg == 22, "due on the dot");
    ok(phx__timer_at(&t, b) == UINT64_MAX && phx__timer_next(&t) == 100, "what fired is stopped");
    phx__timer_stop(&t, b);
    phx__timer_set(&t, a, UINT64_MAX);
    ok(phx__timer_next(&t) == UINT64_MAX, "setting to never stops; stopping twice is nothing");
    phx__timer_set(&t, a, UINT64_MAX - 1);
    ok(phx__timer_pop(&t, UINT64_MAX - 1, &kind, &arg) == 1 && arg == 11, "the last possible time");
    phx__timer_set(&t, a, 0);
    ok(phx__timer_next(&t) == 0 && phx__timer_pop(&t, 0, &kind, &arg) == 1, "and the first");
    phx__timer_sooner(&t, a, 7);
    ok(phx__timer_next(&t) == 7, "a stopped one is set sooner");
    phx__timer_sooner(&t, a, 8);
    phx__timer_sooner(&t, a, 5);
    ok(phx__timer_next(&t) == 5, "later is no sooner");
    phx__timer_sooner(&t, a, 6);
    ok(phx__timer_next(&t) == 5, "and sets nothing");
    phx__timer_drop(&t, a);
    ok(phx__timer_next(&t) == UINT64_MAX, "dropping stops");
    ok(phx__timer_new(&t, PHX__TIMER_POST, 33, &c) == 0 && c == a, "a dropped handle is used again");
    ok(phx__timer_at(&t, c) == UINT64_MAX, "stopped");
    phx__timer_free(&t);
    ok(mem.used == 0, "all memory is back");
}

static void test_ties(void)
{
    /* Goal: equal deadlines fire in the order they were set, and setting again goes to the back.
     * Method: 50 timers at one time, every third set again, the rest expected first. */
    struct phx__mem mem;
    struct phx__timers t;
    uint32_t handle[50], i, arg, bad = 0;
    int kind;

    phx__mem_init(&mem, NULL, 0);
    phx__timer_init(&t, &mem);
    for (i = 0; i < 50; i++) {
        bad += phx__timer_new(&t, 1, i, &handle[i]) != 0;
        phx__timer_set(&t, handle[i], 1000);
    }
    for (i = 0; i < 50; i += 3)
        phx__timer_set(&t, handle[i], 1000);
    for (i = 0; i < 50; i++) {
        if (i % 3 != 0)
            bad += phx__timer_pop(&t, 1000, &kind, &arg) != 1 || arg != i;
    }
    ok(bad == 0, "those not set again, in order");
    for (i = 0; i < 50; i += 3)
        bad += phx__timer_pop(&t, 1000, &kind, &arg) != 1 || arg != i;
    ok(bad == 0 && phx__timer_pop(&t, 1000, &kind, &arg) == 0, "then those set again, in order");
    phx__timer_free(&t);
}

/* The naive array: all handles ever, searched for the earliest. */
enum { TIMERS = 200 };
struct naive {
    int live, kind;
    uint64_t at, order;
    uint32_t arg, handle;
};

static struct naive *naive_first(struct naive *all)
{
    struct naive *best = NULL;
    int i;

    for (i = 0; i < TIMERS; i++) {
        struct naive *x = &all[i];

        if (x->live && x->at != UINT64_MAX
            && (best == NULL || x->at < best->at || (x->at == best->at && x->order < best->order)))
            best = x;
    }
    return best;
}

/* One random call on both: 1 if they agree. */
static int model_step(struct phx__timers *t, struct naive *all, struct phx__rnd *r, uint64_t *now,
                      uint64_t *order)
{
    struct naive *x = &all[phx__rnd_below(r, TIMERS)], *first;
    uint64_t what = phx__rnd_below(r, 10);
    uint32_t arg = 0;
    int kind = 0, popped;

    if (!x->live) {
        x->live = 1;
        x->kind = (int)phx__rnd_below(r, 9) + 1;
        x->arg = (uint32_t)phx__rnd_next(r);
        x->at = UINT64_MAX;
        return phx__timer_new(t, x->kind, x->arg, &x->handle) == 0;
    }
    if (what < 6) {
        x->at = *now + phx__rnd_below(r, 30); /* so few values that ties are common */
        x->order = (*order)++;
        phx__timer_set(t, x->handle, x->at);
    } else if (what == 6) {
        x->at = UINT64_MAX;
        phx__timer_stop(t, x->handle);
    } else if (what == 7) {
        x->live = 0;
        phx__timer_drop(t, x->handle);
        return 1;
    } else {
        *now += phx__rnd_below(r, 4);
        first = naive_first(all);
        popped = phx__timer_pop(t, *now, &kind, &arg);
        if (first == NULL || first->at > *now)
            return popped == 0;
        first->at = UINT64_MAX;
        return popped == 1 && kind == first->kind && arg == first->arg;
    }
    return phx__timer_at(t, x->handle) == x->at;
}

static void test_model(void)
{
    /* Goal: any sequence of calls behaves as the naive array does.
     * Method: 20 seeds, 10,000 random calls each over 200 timers; the next deadline is compared after
     * every call; at the end both are drained in step. */
    struct naive all[TIMERS], *first;
    struct phx__mem mem;
    struct phx__timers t;
    struct phx__rnd r;
    uint64_t seed, now, order;
    uint32_t arg;
    int n, kind, good;

    for (seed = 1; seed <= 20; seed++) {
        memset(all, 0, sizeof all);
        phx__mem_init(&mem, NULL, 0);
        phx__timer_init(&t, &mem);
        phx__rnd_seed(&r, seed, 1);
        now = order = 0;
        good = 1;
        for (n = 0; n < 10000 && good; n++) {
            good = model_step(&t, all, &r, &now, &order);
            first = naive_first(all);
            good = good && phx__timer_next(&t) == (first == NULL ? UINT64_MAX : first->at);
        }
        while (good && (first = naive_first(all)) != NULL) {
            good = phx__timer_pop(&t, UINT64_MAX, &kind, &arg) == 1 && arg == first->arg;
            first->at = UINT64_MAX;
        }
        good = good && phx__timer_pop(&t, UINT64_MAX, &kind, &arg) == 0;
        good = good && t.count <= TIMERS; /* dropped handles were used again */
        phx__timer_free(&t);
        ok(good && mem.used == 0, "seed %d", (int)seed);
    }
}

static void test_failure(void)
{
    /* Goal: only timer_new can fail, and then nothing has changed; what exists can always be set.
     * Method: for every n, fail the n-th allocation while making 100 timers, all set at once while
     * memory stays away; then retry. */
    struct test_heap heap;
    struct phx_alloc alloc;
    struct phx__mem mem;
    struct phx__timers t;
    uint32_t handle[100], i, k, arg;
    long fail_from;
    int kind, failed, bad = 0;

    alloc.alloc = test_alloc;
    alloc.world = &heap;
    for (fail_from = 1, failed = 1; failed; fail_from++) {
        memset(&heap, 0, sizeof heap);
        heap.fail_from = fail_from;
        phx__mem_init(&mem, &alloc, 0);
        phx__timer_init(&t, &mem);
        for (i = 0, failed = 0; i < 100; i++) {
            if (phx__timer_new(&t, 1, i, &handle[i]) != 0) {
                failed++;
                for (k = 0; k < i; k++)
                    phx__timer_set(&t, handle[k], 100 - k);
                heap.fail_from = 0;
                bad += phx__timer_new(&t, 1, i, &handle[i]) != 0;
            }
        }
        for (i = 0; i < 100; i++)
            phx__timer_set(&t, handle[i], 200 - i);
        for (i = 100; i-- > 0;)
            bad += phx__timer_pop(&t, 200, &kind, &arg) != 1 || arg != i;
        phx__timer_free(&t);
        bad += !test_heap_is_clean(&heap) || mem.used != 0;
    }
    ok(bad == 0 && fail_from > 10, "%d allocations failed in turn", (int)fail_from - 2);
}

/* Goal: what dropped timers took is given back, and the rest keep their handles and times. Method: 1,000
 * timers, of which a few among the first 100 stay. */
static void test_fit(void)
{
    struct phx__mem mem;
    struct phx__timers t;
    uint32_t handle[1000], i, h, arg, bad = 0;
    size_t before;
    int kind;

    phx__mem_init(&mem, NULL, 0);
    phx__timer_init(&t, &mem);
    for (i = 0; i < 1000; i++) {
        bad += phx__timer_new(&t, 1, i, &handle[i]) != 0;
        phx__timer_set(&t, handle[i], 5000 - i);
    }
    before = mem.used;
    for (i = 0; i < 1000; i++)
        if (i > 99 || i % 10 != 0)
            phx__timer_drop(&t, handle[i]);
    phx__timer_fit(&t);
    ok(bad == 0 && t.count == 91 && mem.used < before / 2, "91 places are left of 1,000, and %d of %d bytes",
       (int)mem.used, (int)before);
    for (i = 0; i < 81; i++)
        bad += phx__timer_new(&t, 2, i, &h) != 0 || h > 90 || h % 10 == 0;
    ok(bad == 0 && t.count == 91, "new ones use the places between");
    for (i = 10; i-- > 0;)
        bad += phx__timer_pop(&t, 5000, &kind, &arg) != 1 || kind != 1 || arg != 10 * i;
    ok(bad == 0 && phx__timer_next(&t) == UINT64_MAX, "those that stayed come in their order");
    phx__timer_free(&t);
    ok(mem.used == 0, "all memory is back");
}

int main(void)
{
    test_fit();
    test_basics();
    test_ties();
    test_model();
    test_failure();
    return test_end();
}
