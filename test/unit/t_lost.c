/* t_lost.c - which names are lost, and what a host is told of it. */
#include "test.h"
#ifdef PHX_JOINED
#include "../../phoenix.c"
#else
#include "names/lost.h"
#endif

#define NODES 6u

struct rig {
    struct test_heap heap;
    struct phx__mem mem;
    struct phx__ids ids;
    struct phx__names names;
    struct phx__names_lost lost;
};

static uint64_t rig_since(phx *ctx, uint32_t node)
{
    (void)ctx;
    return 1000 + node;
}

static void rig_init(struct rig *r)
{
    struct phx_alloc alloc;
    struct phx_id id;
    uint32_t i, node;

    memset(r, 0, sizeof *r);
    alloc.alloc = test_alloc;
    alloc.world = &r->heap;
    phx__mem_init(&r->mem, &alloc, 0);
    phx__id_init(&r->ids, &r->mem, 100);
    for (i = 0; i < NODES; i++) {
        memset(&id, (int)i + 1, sizeof id);
        if (phx__id_add(&r->ids, &id, &node) != 0)
            exit(1);
    }
    phx__names_init(&r->names, &r->mem, &r->ids);
    phx__names_lost_init(&r->lost, &r->mem, &r->names, rig_since, NULL);
}

static void rig_free(struct rig *r)
{
    phx__names_lost_free(&r->lost);
    phx__names_free(&r->names);
    phx__id_free(&r->ids);
    check(r->mem.used == 0 && test_heap_is_clean(&r->heap), "no memory is left behind");
}

/* What node claims: up to two ranges, with this epoch; first above last: none. */
static int rig_claim(struct rig *r, uint32_t node, uint64_t epoch, uint64_t a, uint64_t b,
                     uint64_t c, uint64_t d)
{
    struct phx__claim claims[2];
    struct phx__card card, got;
    struct phx__writer w;
    uint8_t bytes[200];

    memset(&card, 0, sizeof card);
    card.window = 65536;
    claims[0].first = a;
    claims[0].last = b;
    claims[1].first = c;
    claims[1].last = d;
    claims[0].epoch = claims[1].epoch = epoch;
    card.claim_count = a > b ? 0 : c > d ? 1 : 2;
    phx__buf_writer_init(&w, bytes, sizeof bytes);
    phx__wire_route_put_card(&w, &card, claims);
    check(!w.bad && phx__wire_route_get_card(bytes, w.size, &got) == 0, "a good card");
    return phx__names_set(&r->names, node, &got);
}

/* All that is told now, as text: "+first-last@owner" for lost, "-" for back. */
static const char *rig_news(struct rig *r)
{
    static char text[512];
    struct phx_lost x;
    size_t n = 0;
    int lost;

    text[0] = 0;
    if (phx__names_lost_compare(&r->lost) != 0)
        return "no memory";
    while (phx__names_lost_take(&r->lost, &x, &lost)) {
        check(x.since_us == 1000u + x.owner.b[0] - 1, "and when it failed");
        n += (size_t)snprintf(text + n, sizeof text - n, "%c%llu-%llu@%d ", lost ? '+' : '-',
                              (unsigned long long)x.range.first, (unsigned long long)x.range.last,
                              x.owner.b[0] - 1);
    }
    return text;
}

#define NEWS(r, want)                                                                              \
    do {                                                                                           \
        const char *got_ = rig_news(r);                                                            \
        ok(strcmp(got_, want) == 0, "'%s' is '%s'", want, got_);                                   \
    } while (0)

static void test_story(void)
{
    /* Goal: lost are the names of the failed that nobody else has, and changes are told once.
     * Method: nodes that fail, come back, are replaced, release and leave. */
    struct rig r;

    rig_init(&r);
    NEWS(&r, "");
    rig_claim(&r, 1, 5, 10, 19, 30, 39);
    rig_claim(&r, 2, 5, 50, 59, 1, 0);
    NEWS(&r, "");
    phx__names_dead(&r.names, 1, 1);
    NEWS(&r, "+10-19@1 +30-39@1 ");
    NEWS(&r, "");
    phx__names_assume(&r.names, 15, 34);
    NEWS(&r, "-15-19@1 -30-34@1 ");
    phx__names_dead(&r.names, 2, 1);
    NEWS(&r, "+50-59@2 ");
    phx__names_dead(&r.names, 1, 0);
    NEWS(&r, "-10-14@1 -35-39@1 ");
    phx__names_dead(&r.names, 1, 1);
    rig_claim(&r, 1, 6, 1, 0, 0, 0);
    NEWS(&r, "");
    phx__names_release(&r.names, 0, UINT64_MAX);
    NEWS(&r, "");
    phx__names_forget(&r.names, 2);
    NEWS(&r, "-50-59@2 ");
    rig_free(&r);
}

static void test_overlaps(void)
{
    /* Goal: two of the failed claim the same names: one is named, the later; and when it is the
     * other's turn nobody is told, for they were lost all the time. The ends of the name space. */
    struct phx_lost got[2];
    struct rig r;

    rig_init(&r);
    rig_claim(&r, 1, 5, 0, 100, 1, 0);
    rig_claim(&r, 2, 6, 50, UINT64_MAX, 1, 0);
    phx__names_dead(&r.names, 1, 1);
    NEWS(&r, "+0-49@1 ");
    phx__names_dead(&r.names, 2, 1);
    NEWS(&r, "+50-18446744073709551615@2 ");
    rig_claim(&r, 2, 6, 200, UINT64_MAX, 1, 0);
    NEWS(&r, "-101-199@2 ");
    ok(r.lost.now.count == 2 && r.lost.now.at[0].range.last == 100 && r.lost.now.at[1].range.first == 200,
       "the list says so as well");
    ok(phx__names_lost_get(&r.lost, 100, 300, got, 2) == 2 && got[0].range.first == 100
           && got[0].range.last == 100 && got[1].range.first == 200 && got[1].range.last == 300,
       "and is searched, and cut to what was asked for");
    ok(phx__names_lost_get(&r.lost, 101, 199, got, 2) == 0
           && phx__names_lost_get(&r.lost, 0, UINT64_MAX, got, 1) == 2
           && phx__names_lost_get(&r.lost, UINT64_MAX, UINT64_MAX, NULL, 0) == 1,
       "and counted");
    phx__names_assume(&r.names, 0, UINT64_MAX);
    NEWS(&r, "-0-100@1 -200-18446744073709551615@2 ");
    rig_free(&r);
}

static void test_random(void)
{
    /* Goal: the list is claims of the failed without claims of the others, name by name, and the
     * news lead from one list to the next. Method: 2000 random changes against 64 names. */
    static const uint32_t last = 63;
    int believed[64] = { 0 }, wrong = 0, dead[NODES] = { 0 };
    uint64_t claims[NODES] = { 0 }, x = 1; /* a bit per name */
    struct rig r;
    uint32_t i, k, node;

    rig_init(&r);
    for (i = 0; i < 2000; i++) {
        uint64_t lost = 0, have = 0, a, b;
        struct phx_lost news;
        int is_lost;
        x = phx__map_mix(x + i);
        node = 1 + (uint32_t)(x % (NODES - 1));
        a = x >> 8 & last;
        b = a + (x >> 16 & 15) > last ? last : a + (x >> 16 & 15);
        if (x >> 32 & 1) {
            dead[node] = !dead[node];
            phx__names_dead(&r.names, node, dead[node]);
        } else {
            rig_claim(&r, node, 1 + (x >> 40 & 7), a, b, 1, 0);
            claims[node] = (b == 63 ? ~(uint64_t)0 : ((uint64_t)1 << (b + 1)) - 1)
                           & ~(((uint64_t)1 << a) - 1);
        }
        for (k = 1; k < NODES; k++)
            *(dead[k] ? &lost : &have) |= claims[k];
        check(phx__names_lost_compare(&r.lost) == 0, "memory");
        while (phx__names_lost_take(&r.lost, &news, &is_lost))
            for (; news.range.first <= news.range.last; news.range.first++) {
                wrong += believed[news.range.first] == is_lost;
                believed[news.range.first] = is_lost;
            }
        for (k = 0; k <= last; k++)
            wrong += believed[k] != (int)((lost & ~have) >> k & 1);
    }
    ok(wrong == 0, "%d of 2000 x 64", wrong);
    rig_free(&r);
}

static void test_memory(void)
{
    /* Goal: without memory nothing is told twice or lost. Method: the n-th allocation fails, and
     * the question is asked again. */
    struct rig r;
    long n, failed = 0;

    for (n = 1; n < 200; n++) {
        rig_init(&r);
        rig_claim(&r, 1, 5, 10, 19, 30, 39);
        phx__names_assume(&r.names, 15, 34);
        phx__names_assume(&r.names, 11, 11);
        phx__names_dead(&r.names, 1, 1);
        r.heap.fail_at = r.heap.calls + n;
        if (strcmp(rig_news(&r), "no memory") == 0) {
            failed++;
            check(strcmp(rig_news(&r), "+10-10@1 +12-14@1 +35-39@1 ") == 0, "told when there is memory");
            rig_free(&r);
            continue;
        }
        rig_free(&r);
        break;
    }
    ok(failed >= 5, "%ld failures were survived", failed);
    for (n = 1, failed = 0; n < 20; n++) {
        rig_init(&r);
        rig_claim(&r, 1, 5, 10, 19, 30, 39);
        phx__names_assume(&r.names, 10, 11);
        phx__names_assume(&r.names, 15, 39);
        phx__names_dead(&r.names, 1, 1);
        check(strcmp(rig_news(&r), "+12-14@1 ") == 0, "the middle is lost");
        phx__names_release(&r.names, 10, 19);
        r.heap.fail_at = r.heap.calls + n;
        if (strcmp(rig_news(&r), "no memory") == 0) {
            failed++;
            check(strcmp(rig_news(&r), "+10-11@1 +15-19@1 ") == 0, "and both its sides");
        }
        rig_free(&r);
    }
    ok(failed >= 4, "%ld failures where what is lost grows", failed);
}

static void test_forgotten(void)
{
    /* Goal: what is forgotten of a failed node is not told as back: nobody knows that. What was found and not
     * taken yet is told before what changed meanwhile; without memory nothing is known. Method: two nodes
     * fail, one is forgotten; and others while the host takes nothing. */
    struct phx_lost got[2];
    struct phx_id id;
    struct rig r;

    rig_init(&r);
    rig_claim(&r, 1, 5, 10, 19, 30, 39);
    rig_claim(&r, 2, 5, 50, 59, 1, 0);
    phx__names_dead(&r.names, 1, 1);
    phx__names_dead(&r.names, 2, 1);
    NEWS(&r, "+10-19@1 +30-39@1 +50-59@2 ");
    id = r.ids.at[1];
    phx__names_lost_forget(&r.lost, &id);
    phx__names_forget(&r.names, 1);
    NEWS(&r, "");
    phx__names_assume(&r.names, 50, 54);
    check(phx__names_lost_compare(&r.lost) == 0, "compared");
    phx__names_assume(&r.names, 55, 59);
    NEWS(&r, "-50-54@2 ");
    NEWS(&r, "-55-59@2 ");
    phx__names_release(&r.names, 50, 51);
    r.heap.fail_from = r.heap.calls + 1;
    ok(phx__names_lost_get(&r.lost, 0, 99, got, 2) == 0, "without memory nothing is said to be lost");
    r.heap.fail_from = 0;
    ok(phx__names_lost_get(&r.lost, 0, 99, got, 2) == 1 && got[0].range.first == 50
           && got[0].range.last == 51, "and with it what is");
    rig_free(&r);
}

static void test_index_of_dead(void)
{
    /* Goal: the index of the names of the failed is built when these change, not when those of others do. */
    struct phx_range mark = { 7, 7 };
    struct rig r;

    rig_init(&r);
    rig_claim(&r, 1, 5, 10, 19, 30, 39);
    phx__names_dead(&r.names, 1, 1);
    NEWS(&r, "+10-19@1 +30-39@1 ");
    check(phx__names_index_put(&r.lost.dead, &mark, 1) == 0, "a mark that a new index would not have");
    rig_claim(&r, 2, 5, 12, 13, 1, 0);
    (void)rig_news(&r);
    ok(phx__names_index_look(&r.lost.dead, 7, &(struct phx_range){ 7, 7 }) == 1, "others");
    rig_claim(&r, 3, 5, 50, 59, 1, 0);
    phx__names_dead(&r.names, 3, 1);
    (void)rig_news(&r);
    ok(phx__names_index_look(&r.lost.dead, 7, &(struct phx_range){ 7, 7 }) == PHX__NONE, "the failed");
    rig_free(&r);
}

int main(void)
{
    test_story();
    test_overlaps();
    test_forgotten();
    test_random();
    test_memory();
    test_index_of_dead();
    return test_end();
}
