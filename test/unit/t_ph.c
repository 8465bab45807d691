/* t_ph.c - extras/ph: set algebra, blocking calls and their time limits, the bounded queue, broken
 * names.
 *
 * Goal: what ph.h promises. Method: sets are compared with a bitmap over random operations, at both
 * ends of the name space; handles are whole nodes in this process, linked by socketpairs, and while
 * one call blocks the others are turned by ph_poll (eventually) or live in a thread of their own.
 * Waits are for events and bounded; nothing sleeps and hopes. */
#include "test.h"

#ifdef PHX_JOINED
#include "../../phoenix.c"
#endif

#include "../../extras/ph/ph.h"

#include <math.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#define MS ((uint64_t)1000)
#define PATIENCE (10000 * MS)

/* ---- Sets ------------------------------------------------------------------------------------ */

#define BITS 40 /* names of the small universe; the bitmap is one word */

static uint64_t seed;

static uint64_t draw(uint64_t below)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed % below;
}

static uint64_t span(uint64_t first, uint64_t last) /* as a bitmap */
{
    return ((((uint64_t)1 << (last - first + 1)) - 1) << first);
}

/* Is the set canonical, and the bitmap's, through every question it answers? */
static int agrees(const struct ph_vps *s, uint64_t bits, uint64_t base)
{
    uint64_t i, name, seen = 0, count = 0;
    size_t r;

    for (r = 0; r < s->count; r++) {
        if (s->ranges[r].first > s->ranges[r].last
            || (r > 0 && s->ranges[r].first <= s->ranges[r - 1].last + 1)
            || s->ranges[r].first < base || s->ranges[r].last - base >= BITS)
            return 0;
        seen |= span(s->ranges[r].first - base, s->ranges[r].last - base);
    }
    for (i = 0; i < BITS; i++) {
        if (ph_vps_contains(s, base + i) != (int)(bits >> i & 1))
            return 0;
        if (bits >> i & 1)
            if (ph_vps_at(s, count++, &name) != 0 || name != base + i)
                return 0;
    }
    return seen == bits && ph_vps_size(s) == count && ph_vps_at(s, count, &name) == PHX_ENOTFOUND;
}

/* One random operation on one of three sets and its bitmap. */
static void operate(struct ph_vps *set, uint64_t *bits, uint64_t base)
{
    uint64_t a = draw(3), b = draw(3), out = draw(3), first = draw(BITS),
             last = first + draw(BITS - first);
    struct phx_range ranges[4];
    size_t i, count = (size_t)draw(5);
    uint64_t made = 0;

    switch (draw(6)) {
    case 0:
        check(ph_vps_union(&set[out], &set[a], &set[b]) == 0, "union");
        bits[out] = bits[a] | bits[b];
        break;
    case 1:
        check(ph_vps_intersection(&set[out], &set[a], &set[b]) == 0, "intersection");
        bits[out] = bits[a] & bits[b];
        break;
    case 2:
        check(ph_vps_difference(&set[out], &set[a], &set[b]) == 0, "difference");
        bits[out] = bits[a] & ~bits[b];
        break;
    case 3:
        check(ph_vps_add(&set[out], base + first, base + last) == 0, "add");
        bits[out] |= span(first, last);
        break;
    case 4:
        check(ph_vps_remove(&set[out], base + first, base + last) == 0, "remove");
        bits[out] &= ~span(first, last);
        break;
    default:
        for (i = 0; i < count; i++) {
            first = draw(BITS);
            last = first + draw(BITS - first < 6 ? BITS - first : 6);
            ranges[i].first = base + first;
            ranges[i].last = base + last;
            made |= span(first, last);
        }
        check(ph_vps_make(&set[out], ranges, count) == 0, "make");
        bits[out] = made;
    }
}

static void sets_in(uint64_t base, const char *where)
{
    struct test_heap heap;
    struct ph_vps set[3];
    uint64_t bits[3] = { 0, 0, 0 }, first, last;
    int i, k, wrong = 0;

    memset(&heap, 0, sizeof heap);
    memset(set, 0, sizeof set);
    for (i = 0; i < 3; i++) {
        set[i].alloc.alloc = test_alloc;
        set[i].alloc.world = &heap;
    }
    for (i = 0; i < 4000 && wrong == 0; i++) {
        operate(set, bits, base);
        for (k = 0; k < 3; k++)
            wrong += !agrees(&set[k], bits[k], base);
        wrong += ph_vps_equal(&set[0], &set[1]) != (bits[0] == bits[1]);
        wrong += ph_vps_covers(&set[1], &set[2]) != ((bits[2] & ~bits[1]) == 0);
        first = draw(BITS);
        last = first + draw(BITS - first);
        wrong += ph_vps_meets(&set[0], base + first, base + last)
                 != ((bits[0] & span(first, last)) != 0);
    }
    ok(wrong == 0, "4000 random operations %s agree with a bitmap (after %d)", where, i);
    for (i = 0; i < 3; i++)
        ph_vps_free(&set[i]);
    ok(test_heap_is_clean(&heap), "sets %s give their memory back", where);
}

static void test_sets(void)
{
    seed = 88172645463325252u;
    sets_in(0, "at the bottom of the space");
    sets_in(UINT64_MAX - BITS + 1, "at its top");
    sets_in((uint64_t)1 << 40, "in the middle");
}

static void test_set_edges(void)
{
    struct ph_vps all = PH_VPS_EMPTY, s = PH_VPS_EMPTY, none = PH_VPS_EMPTY;
    struct phx_range bad = { 2, 1 };
    uint64_t name = 0;

    ok(ph_vps_add(&all, 0, UINT64_MAX) == 0 && ph_vps_size(&all) == UINT64_MAX
           && ph_vps_contains(&all, 0) && ph_vps_contains(&all, UINT64_MAX),
       "the whole space is a set");
    ok(ph_vps_at(&all, UINT64_MAX, &name) == 0 && name == UINT64_MAX,
       "its last name has its number");
    ok(ph_vps_copy(&s, &all) == 0 && ph_vps_remove(&s, 5, 5) == 0 && s.count == 2
           && ph_vps_size(&s) == UINT64_MAX && ph_vps_at(&s, 5, &name) == 0 && name == 6,
       "less one name it has the size that fits");
    ok(ph_vps_union(&s, &s, &all) == 0 && ph_vps_equal(&s, &all), "a union with itself aliases");
    ok(ph_vps_difference(&s, &s, &s) == 0 && s.count == 0 && ph_vps_equal(&s, &none),
       "less itself it is empty");
    ok(ph_vps_add(&s, 2, 1) == PHX_ERANGE && ph_vps_remove(&s, 2, 1) == PHX_ERANGE
           && ph_vps_make(&s, &bad, 1) == PHX_ERANGE && s.count == 0 && !ph_vps_meets(&all, 2, 1),
       "a range the wrong way round is refused");
    ok(ph_vps_make(&s, NULL, 0) == 0 && ph_vps_union(&s, &none, &none) == 0 && s.count == 0,
       "nothing is a set, too");
    ph_vps_free(&all);
    ph_vps_free(&s);
    ph_vps_free(NULL);
}

/* Goal: without memory a set is what it was. Method: every operation with an allocator that is dry. */
static void test_set_memory(void)
{
    struct test_heap heap;
    struct ph_vps s = PH_VPS_EMPTY, before = PH_VPS_EMPTY;
    struct phx_range r = { 7, 9 };

    memset(&heap, 0, sizeof heap);
    s.alloc.alloc = test_alloc;
    s.alloc.world = &heap;
    check(ph_vps_add(&s, 1, 2) == 0 && ph_vps_add(&s, 4, 5) == 0 && ph_vps_copy(&before, &s) == 0,
          "begin");
    heap.fail_from = 1;
    ok(ph_vps_add(&s, 3, 3) == PHX_ENOMEM && ph_vps_remove(&s, 1, 1) == PHX_ENOMEM
           && ph_vps_make(&s, &r, 1) == PHX_ENOMEM && ph_vps_union(&s, &s, &before) == PHX_ENOMEM
           && ph_vps_equal(&s, &before),
       "a set without memory says so and stays what it was");
    heap.fail_from = 0;
    ph_vps_free(&s);
    ph_vps_free(&before);
    ok(test_heap_is_clean(&heap), "and leaks nothing");
}

/* ---- Handles --------------------------------------------------------------------------------- */

static struct test_heap heaps[4];
static struct ph *h[4];
static int count;

/* All but the one that the test talks to are turned while it waits. */
static void turn_all(void)
{
    int i;

    for (i = 0; i < count; i++)
        if (h[i] != NULL)
            ph_poll(h[i]);
}

#define await(cond)                                                                                \
    do {                                                                                           \
        uint64_t until_ = phx_now_us() + PATIENCE;                                                 \
        while (!(cond) && phx_now_us() < until_)                                                   \
            turn_all();                                                                            \
    } while (0)
#define eventually(cond, ...)                                                                      \
    do {                                                                                           \
        await(cond);                                                                               \
        ok(cond, __VA_ARGS__);                                                                     \
    } while (0)

static void settings(struct ph_config *cfg, int i)
{
    static struct phx_alloc allocs[4]; /* ph_init copies it */

    ph_config_init(cfg);
    allocs[i].alloc = test_alloc;
    allocs[i].world = &heaps[i];
    cfg->core.alloc = &allocs[i];
    cfg->core.detector.broken_us = 100 * MS; /* the rest need not be fast: sockets close here */
}

static void begin(int i, const struct ph_config *cfg)
{
    int err = ph_init(&h[i], cfg);

    if (!check(err == 0, "handle %d: %s", i, phx_strerror(err)))
        exit(1);
    if (i >= count)
        count = i + 1;
    check(ph_assume(h[i], (uint64_t)(10 * i), (uint64_t)(10 * i + 9)) == 0, "assume");
}

static void tie(int a, int b)
{
    int ends[2];

    if (!check(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0, "socketpair"))
        exit(1);
    check(phx_adopt(ph_core(h[a]), ends[0], 1) == 0 && phx_adopt(ph_core(h[b]), ends[1], 0) == 0,
          "adopt");
}

static int knows(int i, uint64_t name)
{
    struct phx_id id;

    return phx_owner(ph_core(h[i]), name, &id) == 0;
}

/* Has all links and knows all nodes. */
static int is_settled(int i)
{
    struct phx_stats s;

    phx_stats(ph_core(h[i]), &s);
    return (int)s.reachable == count && (int)s.links == count - 1;
}

/* n handles in a full mesh; handle i holds the names 10i to 10i+9. */
static void begin_all(int n)
{
    struct ph_config cfg;
    int i, k;

    for (i = 0; i < n; i++) {
        settings(&cfg, i);
        begin(i, &cfg);
        for (k = 0; k < i; k++)
            tie(i, k);
    }
    for (i = 0; i < n; i++)
        for (k = 0; k < n; k++)
            await(is_settled(i) && knows(i, (uint64_t)(10 * k)));
}

static void end_all(void)
{
    int i;

    for (i = 0; i < count; i++) {
        ph_free(h[i]);
        h[i] = NULL;
        check(test_heap_is_clean(&heaps[i]), "handle %d gives its memory back: %ld blocks", i,
              heaps[i].blocks);
        memset(&heaps[i], 0, sizeof heaps[i]);
    }
    count = 0;
}

static int sent(int i, uint64_t to, uint64_t tag, const char *text)
{
    return ph_send(h[i], to, (uint64_t)(10 * i), tag, text, strlen(text), 0) == 0;
}

/* Receives and compares; tag NULL: any. */
static int got(int i, const uint64_t *tag, const char *text)
{
    struct ph_msg *m;
    int err = tag != NULL ? ph_recv(h[i], *tag, 0, &m) : ph_recv_any(h[i], 0, &m), same;

    if (err != 0)
        return 0;
    same = m->size == strlen(text)
           && (m->size == 0 ? m->data == NULL : memcmp(m->data, text, m->size) == 0);
    ph_msg_free(h[i], m);
    return same;
}

/* ---- Messages -------------------------------------------------------------------------------- */

static void test_messages(void)
{
    /* Promise 69: receives by tag. */
    uint64_t one = 1, two = 2;
    struct ph_msg *m = NULL;
    struct phx_id id;

    begin_all(2);
    check(sent(0, 10, 1, "a") && sent(0, 11, 2, "b") && sent(0, 12, 1, "") && sent(0, 13, 2, "d"),
          "send");
    eventually(ph_queued(h[1]) == 4, "four messages wait to be received");
    ok(got(1, &two, "b") && got(1, &one, "a") && got(1, &one, "") && got(1, NULL, "d")
           && ph_queued(h[1]) == 0,
       "by tag, each tag in order, and any");
    check(sent(1, 5, 9, "back"), "send back");
    await(ph_queued(h[0]) == 1);
    phx_self(ph_core(h[1]), &id);
    ok(ph_recv(h[0], 9, 0, &m) == 0 && m->to == 5 && m->from == 10 && m->tag == 9
           && memcmp(&id, &m->source, sizeof id) == 0,
       "with names, tag and source");
    ph_msg_free(h[0], m);
    ph_msg_free(h[0], NULL);
    check(sent(0, 3, 1, "self"), "send to oneself");
    ok(ph_recv(h[0], 1, PH_FOREVER, &m) == 0 && m->size == 4, "a message to oneself comes, too");
    ph_msg_free(h[0], m);
    eventually(ph_flush(h[1], 0) == 0, "a flush ends when all is acknowledged");
    end_all();
}

/* Goal: limits of time are kept, neither earlier nor much later. */
static void test_limits(void)
{
    struct ph_msg *m = (struct ph_msg *)&m;
    uint64_t start, took;

    begin_all(1);
    ok(ph_recv(h[0], 1, 0, &m) == PHX_ETIMEDOUT && m == NULL,
       "nothing there, no wait: timed out, no message");
    start = phx_now_us();
    ok(ph_recv_any(h[0], 60 * MS, &m) == PHX_ETIMEDOUT, "nothing comes: timed out");
    took = phx_now_us() - start;
    ok(took >= 60 * MS && took < 5000 * MS, "after the time that was asked for (%d us)", (int)took);
    check(sent(0, 777, 1, "for nobody"), "a message for a name nobody holds is accepted");
    start = phx_now_us();
    ok(ph_flush(h[0], 30 * MS) == PHX_ETIMEDOUT && phx_now_us() - start >= 30 * MS,
       "a flush of what nobody takes ends in time");
    end_all();
}

/* The other side of a conversation, straight-line in a thread: answers each message with tag + 1. */
static void *echo(void *arg)
{
    struct ph *mine = arg;
    struct ph_msg *m;

    while (ph_recv_any(mine, PATIENCE, &m) == 0 && m->tag != 0) {
        if (ph_send(mine, m->from, m->to, m->tag + 1, m->data, m->size, PATIENCE) != 0)
            return NULL;
        ph_msg_free(mine, m);
    }
    ph_msg_free(mine, m);
    return ph_flush(mine, PATIENCE) == 0 ? mine : NULL;
}

/* Goal: blocking calls on both sides, with nobody turning the nodes but they themselves. */
static void test_blocking(void)
{
    static unsigned char big[300000];
    pthread_t thread;
    struct ph_msg *m;
    struct ph *other;
    void *end = NULL;
    uint64_t i;
    int good = 0;

    begin_all(2);
    other = h[1];
    if (!check(pthread_create(&thread, NULL, echo, other) == 0, "thread"))
        exit(1);
    for (i = 1; i <= 100; i++) {
        check(ph_send(h[0], 15, 2, 10 * i, big, i * 3000, PATIENCE) == 0, "send");
        if (ph_recv(h[0], 10 * i + 1, PATIENCE, &m) == 0) {
            good += m->size == i * 3000 && m->from == 15 && m->to == 2;
            ph_msg_free(h[0], m);
        }
    }
    ok(good == 100, "a hundred questions and answers, both sides blocking");
    check(sent(0, 15, 0, "stop"), "stop");
    ok(ph_poll(h[0]) == 0 && pthread_join(thread, &end) == 0 && end == other,
       "the other side ends well");
    eventually(ph_flush(h[0], 0) == 0, "and has got all");
    end_all();
}

/* Goal: the queue is bounded, nothing is lost by it, and who waits in vain is told.
 * Method: one side sends more than queue and window hold, the other turns its node but does not
 * receive. */
static void test_bounded(void)
{
    enum { MESSAGES = 9000, ROOM = 100 };
    static unsigned char kilo[1000];
    struct ph_config cfg;
    struct ph_msg *m;
    uint64_t i = 0, received = 0, until;
    size_t peak = 0;
    int err, good = 1, waits = 0;

    begin_all(1);
    settings(&cfg, 1);
    cfg.queue_messages = ROOM;
    cfg.core.step_bytes = 80u << 10;
    begin(1, &cfg);
    tie(0, 1);
    await(knows(0, 10) && knows(1, 0));
    until = phx_now_us() + PATIENCE;
    for (err = 0; i < MESSAGES && phx_now_us() < until; i += err == 0) {
        err = ph_send(h[0], 10, 0, i, kilo, sizeof kilo, MS);
        /* Held back, though the other side was turned many times with a full queue. */
        waits = err == PHX_ETIMEDOUT && ph_queued(h[1]) >= ROOM ? waits + 1 : 0;
        if (waits == 100)
            break;
        ph_poll(h[1]);
        peak = ph_queued(h[1]) > peak ? ph_queued(h[1]) : peak;
    }
    ok(err == PHX_ETIMEDOUT, "the sender is held back, after %d messages", (int)i);
    ok(peak >= ROOM && peak <= ROOM + 2 * (80u << 10) / 1000,
       "the queue grew to %d, %d are allowed and a step's", (int)peak, ROOM);
    ok(ph_recv(h[1], MESSAGES, PH_FOREVER, &m) == PHX_ELIMIT,
       "who waits for a message behind the others is told");
    ok(ph_recv(h[1], 50, 0, &m) == 0, "one that is there is received, also from a full queue");
    ph_msg_free(h[1], m);
    until = phx_now_us() + PATIENCE;
    while (received + 1 < MESSAGES && phx_now_us() < until) {
        if (i < MESSAGES && ph_send(h[0], 10, 0, i, kilo, sizeof kilo, 0) == 0)
            i++;
        ph_poll(h[0]);
        if (ph_recv_any(h[1], 0, &m) != 0)
            continue;
        good &= m->tag == received + (received >= 50) && m->size == sizeof kilo;
        received++;
        ph_msg_free(h[1], m);
    }
    ok(received + 1 == MESSAGES && good, "all of them arrive in order in the end (%d)",
       (int)received);
    end_all();
}

/* Two that send and do not receive must not wait for each other for ever. */
static void test_both_full(void)
{
    static unsigned char big[60000];
    struct ph_config cfg;
    uint64_t until = phx_now_us() + PATIENCE;
    int i, err[2] = { 0, 0 };

    for (i = 0; i < 2; i++) {
        settings(&cfg, i);
        cfg.queue_messages = 1;
        cfg.core.window = 65536;
        begin(i, &cfg);
    }
    tie(0, 1);
    await(knows(0, 10) && knows(1, 0));
    while ((err[0] != PHX_ELIMIT || err[1] != PHX_ELIMIT) && phx_now_us() < until)
        for (i = 0; i < 2; i++)
            err[i] = ph_send(h[i], (uint64_t)(10 - 10 * i), 0, 1, big, sizeof big, 10 * MS);
    ok(err[0] == PHX_ELIMIT && err[1] == PHX_ELIMIT,
       "a send that could only wait for ever says that the queue is full");
    end_all();
}

/* ---- Failures -------------------------------------------------------------------------------- */

static void set_to(struct ph_vps *s, uint64_t first, uint64_t last)
{
    ph_vps_clear(s);
    check(ph_vps_add(s, first, last) == 0, "a set");
}

/* What ph_recv_any says of a handle that has nothing more than a break to tell. */
static int recv_code(int i)
{
    struct ph_msg *m;
    int err = ph_recv_any(h[i], 0, &m);

    ph_msg_free(h[i], m);
    return err;
}

static void die(int i)
{
    ph_free(h[i]);
    h[i] = NULL;
}

static uint64_t steps_of(int i)
{
    struct phx_stats st;

    phx_stats(ph_core(h[i]), &st);
    return st.steps;
}

static void test_break(void)
{
    uint64_t steps;
    struct ph_vps s = PH_VPS_EMPTY, out = PH_VPS_EMPTY;
    struct ph_msg *m;

    begin_all(3);
    ok(!ph_exist_broken_vps(h[0], NULL) && ph_get_broken_vps(h[0], NULL, &out) == 0
           && out.count == 0,
       "nothing is broken");
    check(sent(1, 0, 7, "last words"), "send");
    await(ph_queued(h[0]) == 1);
    die(1);
    await(ph_exist_broken_vps(h[0], NULL));
    ok(ph_recv(h[0], 8, PH_FOREVER, &m) == PH_MSG_ERROR && m == NULL,
       "a receive that waits ends when a name breaks");
    ok(got(0, NULL, "last words"), "what came before the break is received before it");
    ok(recv_code(0) == PH_MSG_ERROR && recv_code(0) == PH_MSG_ERROR,
       "the error is repeated until it was heard");
    set_to(&s, 0, 9);
    ok(!ph_exist_broken_vps(h[0], &s), "a set without broken names has none");
    set_to(&s, 15, 40);
    ok(ph_exist_broken_vps(h[0], &s) && ph_get_broken_vps(h[0], &s, &out) == 0 && out.count == 1
           && out.ranges[0].first == 15 && out.ranges[0].last == 19,
       "broken names of a set are told, and no others");
    ok(recv_code(0) == PH_MSG_ERROR && ph_get_broken_vps(h[0], NULL, &out) == 0
           && ph_vps_size(&out) == 10,
       "the rest is told to who asks for it");
    ok(recv_code(0) == PHX_ETIMEDOUT && ph_exist_broken_vps(h[0], NULL),
       "then it is known, though still broken");
    die(2);
    await(recv_code(0) == PH_MSG_ERROR);
    steps = steps_of(0);
    ok(recv_code(0) == PH_MSG_ERROR && steps_of(0) > steps,
       "a program that does not ask what broke still lives: each call turns the node, promise 50");
    ok(ph_get_broken_vps(h[0], NULL, &out) == 0 && ph_vps_size(&out) == 20,
       "the next break is a new one");
    ph_vps_free(&s);
    ph_vps_free(&out);
    end_all();
}

static void test_watch(void)
{
    struct ph_vps s = PH_VPS_EMPTY, out = PH_VPS_EMPTY;

    begin_all(3);
    set_to(&s, 20, 29);
    check(ph_watch(h[0], &s) == 0, "watch");
    die(1);
    await(ph_exist_broken_vps(h[0], NULL));
    ok(recv_code(0) == PHX_ETIMEDOUT, "a name that is not watched breaks without an error");
    set_to(&s, 12, 13);
    ok(ph_watch(h[0], &s) == 0 && recv_code(0) == PH_MSG_ERROR,
       "one that is broken already is told when watched");
    set_to(&s, 20, 29);
    ok(ph_watch(h[0], &s) == 0 && recv_code(0) == PHX_ETIMEDOUT, "and no longer when it is not");
    set_to(&s, 12, 25);
    ok(ph_watch(h[0], &s) == 0 && recv_code(0) == PH_MSG_ERROR
           && ph_get_broken_vps(h[0], &s, &out) == 0 && ph_vps_size(&out) == 8
           && recv_code(0) == PHX_ETIMEDOUT,
       "a larger set has more broken names");
    ok(ph_watch(h[0], &s) == 0 && recv_code(0) == PHX_ETIMEDOUT,
       "the same set again tells nothing new");
    ph_vps_free(&s);
    ph_vps_free(&out);
    end_all();
}

/* Goal: who leaves is not broken; names that somebody else takes over are back, but the break is
 * told. */
static void test_left_and_back(void)
{
    struct ph_vps out = PH_VPS_EMPTY;
    struct phx_id id, self;
    uint64_t until;

    begin_all(3);
    check(phx_close(ph_core(h[1]), 1000 * MS) == 0, "close");
    await(phx_closed(ph_core(h[1])));
    die(1);
    until = phx_now_us() + 300 * MS; /* three times broken_us: it must not come */
    while (phx_now_us() < until)
        turn_all();
    ok(!ph_exist_broken_vps(h[0], NULL) && recv_code(0) == PHX_ETIMEDOUT,
       "names of who has left are not broken");
    die(2);
    await(ph_exist_broken_vps(h[0], NULL));
    phx_self(ph_core(h[0]), &self);
    ok(ph_assume(h[0], 20, 29) == 0 && phx_owner(ph_core(h[0]), 25, &id) == 0
           && memcmp(&id, &self, sizeof id) == 0,
       "broken names can be taken over");
    eventually(!ph_exist_broken_vps(h[0], NULL), "and then they are not broken");
    ok(recv_code(0) == PH_MSG_ERROR && ph_get_broken_vps(h[0], NULL, &out) == 0
           && ph_vps_size(&out) == 10 && recv_code(0) == PHX_ETIMEDOUT
           && ph_get_broken_vps(h[0], NULL, &out) == 0 && out.count == 0,
       "that they broke is told all the same, once");
    ph_vps_free(&out);
    end_all();
}

static void test_held(void)
{
    struct ph_vps s = PH_VPS_EMPTY, out = PH_VPS_EMPTY;

    begin_all(3);
    check(ph_release(h[0], 3, 9) == 0, "release");
    ok(ph_get_held_vps(h[0], NULL, &out) == 0 && out.count == 2 && ph_vps_size(&out) == 23
           && out.ranges[0].last == 2,
       "held are the own names and those of others");
    set_to(&s, 2, 11);
    ok(ph_get_held_vps(h[0], &s, &out) == 0 && ph_vps_size(&out) == 3, "of a set, those in it");
    die(2);
    await(ph_exist_broken_vps(h[0], NULL));
    ok(ph_get_held_vps(h[0], NULL, &out) == 0 && ph_vps_size(&out) == 13, "the dead hold nothing");
    ph_vps_free(&s);
    ph_vps_free(&out);
    end_all();
}

/* No room, and the one who should make it is dead. */
static void test_send_to_the_dead(void)
{
    static unsigned char big[60000];
    struct ph_config cfg;
    int i, err = 0;

    begin_all(1);
    settings(&cfg, 1);
    cfg.core.hold_bytes = 100000;
    begin(1, &cfg);
    tie(0, 1);
    await(knows(1, 0) && knows(0, 10));
    die(0);
    await(ph_exist_broken_vps(h[1], NULL));
    for (i = 0; i < 200 && err == 0; i++)
        err = ph_send(h[1], 0, 10, 1, big, sizeof big, PATIENCE);
    ok(err == PHX_EFAILED, "a send to a broken name does not wait for room: %s, after %d",
       phx_strerror(err), i);
    end_all();
}

static void test_parameters(void)
{
    struct phx_detector d;

    begin_all(1);
    ok(ph_set_parameter(h[0], PH_K, 3) == 0 && ph_set_parameter(h[0], PH_T_INTERVAL, 2.5) == 0
           && ph_set_parameter(h[0], PH_T_INSURANCE, 100) == 0
           && ph_set_parameter(h[0], PH_T_TIMEOUT, 4) == 0
           && ph_set_parameter(h[0], PH_T_BROKEN, 0.5) == 0,
       "each parameter can be set");
    ok(ph_set_parameter(h[0], PH_K, 2.5) == PHX_EINVAL
           && ph_set_parameter(h[0], PH_K, -1) == PHX_EINVAL
           && ph_set_parameter(h[0], PH_T_BROKEN, (double)NAN) == PHX_EINVAL
           && ph_set_parameter(h[0], PH_T_BROKEN, 1e300) == PHX_EINVAL
           && ph_set_parameter(h[0], PH_T_TIMEOUT, 0) != 0
           && ph_set_parameter(h[0], 0, 1) == PHX_EINVAL
           && ph_set_parameter(h[0], PH_T_BROKEN + 1, 1) == PHX_EINVAL,
       "nonsense is refused");
    ok(phx_detector_preset(&d, PHX_PRESET_PAPER) == 0 && ph_set_parameters(h[0], &d) == 0,
       "or all at once");
    d.timeout_us = 0;
    ok(ph_set_parameters(h[0], &d) != 0 && ph_set_parameter(h[0], PH_T_BROKEN, 6) == 0,
       "a refused set leaves the old one");
    end_all();
}

/* ---- Life ------------------------------------------------------------------------------------ */

static int seen_nodes, seen_state;

static void saw_node(phx *p, const struct phx_node *node, void *user)
{
    struct ph_msg *m;

    (void)p;
    (void)node;
    seen_nodes += user == &seen_nodes;
    if (h[0] != NULL)
        seen_state += ph_poll(h[0]) == PHX_ESTATE && ph_recv_any(h[0], PH_FOREVER, &m) == PHX_ESTATE
                      && ph_finalize(h[0], 0) == PHX_ESTATE;
}

/* What each callback was called with is a pointer to the count of its calls. */
enum { NODE, DONE, MEMBER, CONFLICT, HANDED, TRACE, HUBS, LOG, DIAL, RECORD, KINDS };
static int calls[KINDS], astray;

static void called(int kind, const void *user)
{
    calls[kind]++;
    astray += user != &calls;
}
static void heard_node(phx *p, const struct phx_node *n, void *user)
{
    (void)p;
    (void)n;
    called(NODE, user);
}
static void heard_done(phx *p, uint64_t token, uint64_t to, uint64_t tag, int result, void *user)
{
    (void)p;
    called(DONE, token == 7 && to == 11 && tag == 3 && result == 0 ? user : NULL);
}
static void heard_member(phx *p, uint64_t token, uint64_t to, int result, size_t left, void *user)
{
    (void)p;
    called(MEMBER, token == 8 && to == 12 && result == 0 && left == 0 ? user : NULL);
}
static void heard_conflict(phx *p, struct phx_range range, const struct phx_id *winner, void *user)
{
    (void)p;
    (void)winner;
    called(CONFLICT, range.first == 5 && range.last == 5 ? user : NULL);
}
static void heard_handed(phx *p, struct phx_range range, const struct phx_id *giver, void *user)
{
    (void)p;
    (void)giver;
    called(HANDED, range.first == 13 && range.last == 13 ? user : NULL);
}
static void heard_trace(phx *p, const struct phx_trace *trace, void *user)
{
    (void)p;
    called(TRACE, trace->token == 9 ? user : NULL);
}
static void heard_hubs(phx *p, void *user)
{
    (void)p;
    called(HUBS, user);
}
static void heard_log(phx *p, int level, const char *line, void *user)
{
    (void)p;
    (void)level;
    (void)line;
    called(LOG, user);
}
static int asked_dial(phx *p, const char *address, void *user)
{
    (void)p;
    called(DIAL, strcmp(address, "odd://there") == 0 ? user : NULL);
    return PHX_EUNREACH;
}
static void heard_record(const void *bytes, size_t size, void *user)
{
    (void)bytes;
    (void)size;
    called(RECORD, user);
}

static void not_this_message(phx *p, const struct phx_message *m, void *user)
{
    (void)p;
    (void)m;
    (void)user;
}
static void *not_this_begin(phx *p, const struct phx_message *m, void *user)
{
    (void)p;
    (void)m;
    (void)user;
    return NULL;
}
static void not_this_abandon(phx *p, void *buffer, size_t size, void *user)
{
    (void)p;
    (void)buffer;
    (void)size;
    (void)user;
}
static void not_this_writable(phx *p, uint64_t to, void *user)
{
    (void)p;
    (void)to;
    (void)user;
}

static void test_callbacks(void)
{
    /* Goal: each callback that ph.h leaves to the program comes, with the program's pointer. */
    const struct phx_range member = { 12, 12 };
    struct phx_outgoing message;
    struct phx_cast cast;
    struct ph_config cfg;
    struct ph *other = (struct ph *)&cfg;
    struct phx_id self, peer;
    phx *a, *b;
    int i, silent = 0;

    for (i = 0; i < 4; i++) {
        settings(&cfg, 0);
        cfg.core.on_message = i == 0 ? not_this_message : NULL;
        cfg.core.on_writable = i == 1 ? not_this_writable : NULL;
        cfg.core.on_begin = i == 2 ? not_this_begin : NULL;
        cfg.core.on_abandon = i >= 2 ? not_this_abandon : NULL;
        check(ph_init(&other, &cfg) == PHX_EINVAL && other == NULL, "callback %d is ph's", i);
    }
    for (i = 0; i < 2; i++) {
        settings(&cfg, i);
        cfg.core.user = &calls;
        cfg.core.on_node = heard_node;
        cfg.core.on_done = heard_done;
        cfg.core.on_member = heard_member;
        cfg.core.on_conflict = heard_conflict;
        cfg.core.on_handed = heard_handed;
        cfg.core.on_trace = heard_trace;
        cfg.core.on_need_hubs = heard_hubs;
        cfg.core.on_log = heard_log;
        cfg.core.dial = asked_dial;
        cfg.core.record = heard_record;
        begin(i, &cfg);
    }
    a = ph_core(h[0]);
    b = ph_core(h[1]);
    await(calls[HUBS] > 0);
    check(phx_join(a, "odd://there") == 0, "join");
    await(calls[DIAL] > 0);
    tie(0, 1);
    await(knows(0, 12) && knows(1, 5));
    memset(&cast, 0, sizeof cast);
    memset(&message, 0, sizeof message);
    cast.ranges = &member;
    cast.ranges_count = 1;
    cast.token = 8;
    cast.data = "x";
    cast.size = 1;
    message.to = 11;
    message.tag = 3;
    message.token = 7;
    phx_self(a, &self);
    phx_self(b, &peer);
    check(phx_sendv(a, &message) == 0 && phx_cast(a, &cast) == 1 && phx_trace(a, &peer, 9) == 0
              && phx_hand(b, 13, 13, &self) == 0 && phx_assume(b, 5, 5) == 0, "asked");
    await(calls[DONE] && calls[MEMBER] && calls[HANDED] && calls[CONFLICT]);
    await(calls[TRACE] > 0);
    for (i = 0; i < KINDS; i++)
        silent += calls[i] == 0;
    ok(silent == 0 && astray == 0, "all ten callbacks come as they were set (%d, %d)", silent, astray);
    end_all();
}

static void test_life(void)
{
    struct ph_config cfg;
    struct ph *other = (struct ph *)&cfg;

    settings(&cfg, 0);
    cfg.queue_messages = 0;
    ok(ph_init(&other, &cfg) == PHX_EINVAL && other == NULL, "a queue of nothing is refused");
    settings(&cfg, 0);
    cfg.core.max_message = 0;
    ok(ph_init(&other, &cfg) == PHX_EINVAL && other == NULL, "as is what the core refuses");
    settings(&cfg, 0);
    cfg.core.on_node = saw_node;
    cfg.core.user = &seen_nodes;
    begin(0, &cfg);
    settings(&cfg, 1);
    begin(1, &cfg);
    tie(0, 1);
    eventually(seen_nodes > 0, "callbacks of the program are called, with its pointer");
    ok(seen_state == seen_nodes, "in them what would turn the node is refused");
    await(knows(0, 10) && knows(1, 0));
    check(sent(0, 10, 1, "x"), "send");
    await(phx_pending(ph_core(h[0])) == 0);
    ok(ph_finalize(h[0], 1000 * MS) == 0, "a handle ends when its goodbye is said");
    h[0] = NULL;
    ok(ph_init(&other, NULL) == 0 && ph_send(other, 5, 0, 0, "x", 1, 0) == 0
           && ph_finalize(other, 10 * MS) == PHX_ETIMEDOUT,
       "with all defaults; what nobody took is said at the end");
    ok(ph_finalize(NULL, 0) == 0, "nothing ends well");
    end_all();
}

/* Goal: without memory every call fails cleanly. Method: the n-th allocation of a small life fails,
 * for every n until one life needs no more. */
static int small_life(void)
{
    struct ph_vps s = PH_VPS_EMPTY, out = PH_VPS_EMPTY;
    struct ph_config cfg;
    struct ph_msg *m = NULL;
    int err;

    settings(&cfg, 0);
    if ((err = ph_init(&h[0], &cfg)) == 0 && (err = ph_assume(h[0], 1, 5)) == 0
        && (err = ph_vps_add(&s, 0, 9)) == 0 && (err = ph_watch(h[0], &s)) == 0
        && (err = ph_send(h[0], 2, 1, 7, "x", 1, 0)) == 0
        && (err = ph_recv(h[0], 7, 1000 * MS, &m)) == 0
        && (err = ph_get_held_vps(h[0], NULL, &out)) == 0)
        err = ph_get_broken_vps(h[0], &s, &out);
    if (h[0] != NULL)
        ph_msg_free(h[0], m);
    ph_vps_free(&s);
    ph_vps_free(&out);
    ph_free(h[0]);
    h[0] = NULL;
    return err;
}

static void test_memory(void)
{
    int n, err = PHX_ENOMEM, odd = 0, unclean = 0;

    for (n = 1; n < 400 && err != 0; n++) {
        memset(&heaps[0], 0, sizeof heaps[0]);
        heaps[0].fail_at = n;
        err = small_life();
        odd += err != 0 && err != PHX_ENOMEM && err != PHX_ETIMEDOUT;
        unclean += !test_heap_is_clean(&heaps[0]);
        if (err == 0 && heaps[0].calls >= n)
            err = PHX_ENOMEM; /* the failure was survived: go on */
    }
    ok(err == 0 && odd == 0 && unclean == 0, "each of %d allocations may fail (%d odd, %d leak)",
       n - 2, odd, unclean);
    memset(&heaps[0], 0, sizeof heaps[0]);
}

int main(void)
{
    setvbuf(stdout, NULL, _IOLBF, 0); /* a crash must not take the lines before it */
    test_sets();
    test_set_edges();
    test_set_memory();
    test_messages();
    test_limits();
    test_blocking();
    test_bounded();
    test_both_full();
    test_break();
    test_watch();
    test_left_and_back();
    test_held();
    test_send_to_the_dead();
    test_parameters();
    test_callbacks();
    test_life();
    test_memory();
    return test_end();
}
