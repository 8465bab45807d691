/* t_agree.c - the agreement: members die at each of their messages.
 *
 * Goal: all that survive return, and return the same; with two rounds those that returned and then died had
 * the same, too; nothing waits. Method: a world of its own under virtual time, and every kill point in it. A
 * run is (members, sites, rounds, victims, how many messages each victim sends, delays from a seed). Messages
 * of a pair stay in order and take 1 to 30 units, members begin within 30, and a death is known to each
 * survivor at a time of its own, up to 100 units later. The first k messages of a victim leave, those of the
 * same step that come after them are swallowed, and then it is dead; and once more, with victims that die in
 * the step after the k-th message although they say nothing in it. k grows until it dies no more.
 *
 *      t_agree                  a part of it
 *      t_agree full             all: n <= 5, one victim and two, one site and three, 10 seeds; n = 4, three
 *      t_agree full SEED N      the same with N seeds from SEED on
 *
 * `full` prints lines "bar NAME FIGURE LIMIT ok|short". */
#include "events.h"

#include "agree.h"

#define MEMBERS_MAX 96
#define VICTIMS_MAX 3
#define NEVER 1000000 /* messages that nobody sends */
#define EVENTS_MAX 200000 /* handled in one run: more is a loop */

enum event_kind { BEGIN, MESSAGE, FAILED };

struct member {
    struct ftm_agree *agree;
    int dead, dying, returned;
    int sent, most; /* messages; before it dies */
    struct ftm_agree_value mine, result;
    unsigned char sets[4][FTM_AGREE_SET(MEMBERS_MAX)];
    uint64_t last[MEMBERS_MAX]; /* when the last message to each arrives */
};

struct run {
    int n, sites, rounds;
    int victims, victim[VICTIMS_MAX], kill_at[VICTIMS_MAX];
    int soon; /* they die in the next step after those messages, even if they say nothing in it */
    uint64_t seed;
};

static struct {
    struct run run;
    struct member member[MEMBERS_MAX];
    int site[MEMBERS_MAX];
    long messages, handled;
} world;

static struct {
    long runs, hangs, disagreements, wrong, waste;
} total;

/* ---- The world --------------------------------------------------------------------------------------- */

static void on_send(void *ctx, int to, const void *bytes, size_t size)
{
    struct member *m = ctx;
    struct event e = { 0, 0, MESSAGE, to, (int)(m - world.member), 0, size, NULL };

    if (m->sent >= m->most) {
        m->dying = 1;
        return;
    }
    m->sent++;
    world.messages++;
    e.time = events.now + 1 + draw(30);
    if (e.time < m->last[to])
        e.time = m->last[to];
    m->last[to] = e.time;
    e.bytes = ftm_mem_resize(&events.mem, NULL, 0, size);
    memcpy(e.bytes, bytes, size);
    event_add(e);
}

static void crash(struct member *m)
{
    int i, me = (int)(m - world.member);

    m->dead = 1;
    ftm_agree_free(m->agree);
    m->agree = NULL;
    for (i = 0; i < world.run.n; i++) {
        struct event e = { events.now + 1 + draw(100), 0, FAILED, i, me, 0, 0, NULL };

        if (i != me)
            event_add(e);
    }
}

static void keep_result(struct member *m)
{
    const struct ftm_agree_value *v = m->agree != NULL ? ftm_agree_result(m->agree) : NULL;
    size_t size = FTM_AGREE_SET(world.run.n);

    if (v == NULL || m->returned)
        return;
    m->returned = 1;
    m->result = *v;
    m->result.failed = memcpy(m->sets[0], v->failed, size);
    m->result.acknowledged = memcpy(m->sets[1], v->acknowledged, size);
    m->result.covered = memcpy(m->sets[2], v->covered, size);
}

static void handle(const struct event *e)
{
    struct member *m = &world.member[e->to];

    if (m->dead)
        return;
    if (e->kind == BEGIN)
        ftm_agree_contribute(m->agree, &m->mine);
    else if (e->kind == FAILED)
        ftm_agree_failed(m->agree, e->from);
    else if (ftm_agree_arrived(m->agree, e->from, e->bytes, e->size) != 0)
        total.wrong++;
    keep_result(m);
    if (m->dying || (world.run.soon && m->sent >= m->most))
        crash(m);
}

/* What each says can be told apart from what the others say. */
static void member_begin(int i)
{
    struct member *m = &world.member[i];
    struct ftm_agree_ops ops = { NULL, on_send };
    struct event e = { 0, 0, BEGIN, 0, 0, 0, 0, NULL };
    int k, n = world.run.n;

    memset(m, 0, sizeof *m);
    ops.ctx = m;
    m->most = NEVER;
    for (k = 0; k < world.run.victims; k++)
        if (world.run.victim[k] == i)
            m->most = world.run.kill_at[k];
    m->mine.flags = ~(1u << i % 32);
    m->mine.context = (uint32_t)(100 + i * 7 % n);
    m->mine.generation = (uint32_t)(i * 3 % n);
    m->mine.rank = (uint32_t)(n - i); /* the last member's settings count */
    m->mine.settings = (uint32_t)(1000 + i);
    m->mine.acknowledged = m->sets[3];
    for (k = 0; k < n; k++)
        if ((i + k) % 3 != 0)
            m->sets[3][k / 8] = (unsigned char)(m->sets[3][k / 8] | 1u << k % 8);
    if (ftm_agree_new(&m->agree, &events.mem, &ops, n, world.site, i,
                      world.run.rounds == 1 ? FTM_AGREE_ONE : FTM_AGREE_TWO) != 0)
        abort();
    e.to = i;
    e.time = draw(30);
    event_add(e);
}

/* ---- What must hold ---------------------------------------------------------------------------------- */

static int is_same(const struct ftm_agree_value *a, const struct ftm_agree_value *b)
{
    size_t size = FTM_AGREE_SET(world.run.n);

    return a->flags == b->flags && a->context == b->context && a->generation == b->generation
           && a->rank == b->rank && a->settings == b->settings && memcmp(a->failed, b->failed, size) == 0
           && memcmp(a->acknowledged, b->acknowledged, size) == 0
           && memcmp(a->covered, b->covered, size) == 0;
}

/* It is what those in covered said, all survivors are among them, and nobody is called failed who lives. */
static int is_right(const struct ftm_agree_value *v)
{
    uint32_t flags = UINT32_MAX, context = 0, generation = 0, rank = UINT32_MAX;
    int i, k, good = 1;

    for (i = 0; i < world.run.n; i++) {
        const struct member *m = &world.member[i];
        int covered = FTM_AGREE_HAS(v->covered, i), failed = FTM_AGREE_HAS(v->failed, i);

        good &= (covered || m->dead) && (covered || failed) && (!failed || m->dead);
        if (!covered)
            continue;
        flags &= m->mine.flags;
        context = m->mine.context > context ? m->mine.context : context;
        generation = m->mine.generation > generation ? m->mine.generation : generation;
        rank = m->mine.rank < rank ? m->mine.rank : rank;
        for (k = 0; k < world.run.n; k++)
            good &= FTM_AGREE_HAS(m->mine.acknowledged, k) || !FTM_AGREE_HAS(v->acknowledged, k);
    }
    return good && v->flags == flags && v->context == context && v->generation == generation
           && v->rank == rank && v->settings == (uint32_t)(1000 + world.run.n) - rank;
}

static void judge(void)
{
    const struct ftm_agree_value *first = NULL;
    int i, hangs = 0, differ = 0, wrong = 0;

    for (i = 0; i < world.run.n; i++) {
        const struct member *m = &world.member[i];

        hangs += !m->dead && !m->returned;
        if (!m->returned || (m->dead && world.run.rounds == 1))
            continue;
        if (first == NULL)
            first = &m->result;
        differ += !is_same(first, &m->result);
        wrong += !is_right(&m->result);
    }
    total.runs++;
    total.hangs += hangs > 0;
    total.disagreements += differ > 0;
    total.wrong += wrong > 0;
    if (hangs + differ + wrong > 0 && total.hangs + total.disagreements + total.wrong <= 5) {
        printf("# n %d, sites %d, rounds %d, seed %lu:", world.run.n, world.run.sites, world.run.rounds,
               (unsigned long)world.run.seed);
        for (i = 0; i < world.run.victims; i++)
            printf(" %d dies after %d", world.run.victim[i], world.run.kill_at[i]);
        printf(": %d wait, %d differ, %d wrong\n", hangs, differ, wrong);
    }
}

static void world_run(const struct run *run)
{
    int i;

    world.run = *run;
    events.random = run->seed * 7919 + 17;
    events.now = events.order = 0;
    world.messages = world.handled = 0;
    for (i = 0; i < run->n; i++) /* the sizes of sites differ */
        world.site[i] = i < run->n / 2 ? 0 : i < run->n - (run->n + 3) / 5 ? run->sites / 2 : run->sites - 1;
    for (i = 0; i < run->n; i++)
        member_begin(i);
    while (events.count > 0 && ++world.handled < EVENTS_MAX) {
        struct event e = event_take();

        events.now = e.time;
        handle(&e);
        ftm_mem_free(&events.mem, e.bytes, e.size);
    }
    total.waste += events.count > 0;
    while (events.count > 0) {
        struct event e = event_take();

        ftm_mem_free(&events.mem, e.bytes, e.size);
    }
    judge();
    for (i = 0; i < run->n; i++)
        ftm_agree_free(world.member[i].agree);
}

/* ---- All kill points --------------------------------------------------------------------------------- */

/* Every number of messages of victim which and of all after it. When others die it sends more, so it is done
 * with when it died in none of the runs. Returns which of the victims died in any, as bits. */
static unsigned kill_all(struct run *run, int which)
{
    unsigned died = 0, now = 1u << which;
    int k;

    if (which == run->victims) {
        world_run(run);
        for (k = 0; k < run->victims; k++)
            died |= (unsigned)world.member[run->victim[k]].dead << k;
        return died;
    }
    for (k = 0; (now >> which & 1) && k < 200; k++) {
        run->kill_at[which] = k;
        now = kill_all(run, which + 1);
        died |= now;
    }
    return died;
}

/* Every set of so many victims. */
static void kill_sets(struct run *run, int victims, int from)
{
    int i;

    if (run->victims == victims) {
        kill_all(run, 0);
        return;
    }
    for (i = from; i < run->n; i++) {
        run->victim[run->victims++] = i;
        kill_sets(run, victims, i + 1);
        run->victims--;
    }
}

static void enumerate(int n, int victims, unsigned long seed, int seeds)
{
    struct run run;
    int rounds, sites, s;

    for (rounds = 1; rounds <= 2; rounds++) {
        for (sites = 1; sites <= 3; sites += 2) {
            for (s = 0; s < seeds; s++) {
                memset(&run, 0, sizeof run);
                run.n = n;
                run.rounds = rounds;
                run.sites = sites;
                run.seed = seed + (unsigned long)s;
                kill_sets(&run, victims, 0);
                run.soon = 1;
                kill_sets(&run, victims, 0);
            }
        }
    }
}

static void show(const char *what)
{
    ok(total.hangs == 0 && total.waste == 0, "%s: nothing waits, in %ld runs", what, total.runs);
    ok(total.disagreements == 0, "%s: all got the same", what);
    ok(total.wrong == 0, "%s: and it is what was said", what);
}

static void test_kills(void)
{
    /* Goal: promise 83. Method: above, for few members, and some delays. */
    int n;

    for (n = 2; n <= 5; n++)
        enumerate(n, 1, 1, n < 5 ? 10 : 5);
    for (n = 3; n <= 4; n++)
        enumerate(n, 2, 1, n < 4 ? 10 : 3);
    show("one victim and two");
}

/* ---- Without failures, and large --------------------------------------------------------------------- */

static void test_messages(void)
{
    /* Goal: 2(n - 1) and 4(n - 1) messages without failures. Method: worlds in which nobody dies. */
    struct run run;
    int bad = 0;

    memset(&run, 0, sizeof run);
    for (run.n = 1; run.n <= 40; run.n++)
        for (run.sites = 1; run.sites <= 3; run.sites += 2)
            for (run.rounds = 1; run.rounds <= 2; run.rounds++)
                for (run.seed = 1; run.seed <= 3; run.seed++) {
                    world_run(&run);
                    bad += world.messages != 2 * run.rounds * (run.n - 1);
                }
    ok(bad == 0, "an agreement without failures costs 2(n - 1) messages, or 4(n - 1)");
    show("nobody dies");
}

static void test_random(long runs)
{
    /* Goal: more members, more victims. Method: random ones. */
    struct run run;
    long i;
    int k;

    for (i = 0; i < runs; i++) {
        memset(&run, 0, sizeof run);
        events.random = (uint64_t)i * 2654435761u + 3;
        run.n = 2 + (int)draw(i % 16 == 0 ? MEMBERS_MAX - 2 : 9);
        run.sites = 1 + 2 * (int)draw(2);
        run.rounds = 1 + (int)draw(2);
        run.seed = (uint64_t)i;
        run.victims = 1 + (int)draw(VICTIMS_MAX);
        run.soon = (int)draw(2);
        for (k = 0; k < run.victims; k++) {
            run.victim[k] = (int)draw((unsigned)run.n);
            run.kill_at[k] = (int)draw(16);
        }
        world_run(&run);
    }
    show("random ones");
}

/* ---- Bytes ------------------------------------------------------------------------------------------- */

static void on_nothing(void *ctx, int to, const void *bytes, size_t size)
{
    (void)ctx;
    (void)to;
    (void)bytes;
    (void)size;
}

static void test_bytes(void)
{
    /* Goal: nothing that comes makes it read behind its end, and what no member sends is refused. Method:
     * random bytes that begin like messages, under the sanitizers, and some by hand. */
    struct ftm_agree_ops ops = { NULL, on_nothing };
    static const struct ftm_agree_value mine = { 0, 0, 0, 0, 0, NULL, NULL, NULL };
    unsigned char bytes[64], query[8] = { 5, 0, 2, 0, 3, 0, 0, 0 }, down[34] = { 2, 0, 2 };
    struct ftm_agree *a;
    long i, taken = 0;
    size_t k;

    events.random = 5;
    ftm_agree_new(&a, &events.mem, &ops, 11, NULL, 4, FTM_AGREE_TWO);
    ok(ftm_agree_arrived(a, 2, query, 8) == -1, "a QUERY comes from its root");
    ok(ftm_agree_arrived(a, 4, query, 8) == -1 && ftm_agree_arrived(a, 11, query, 8) == -1
           && ftm_agree_arrived(a, -1, query, 8) == -1, "messages come from other members");
    ok(ftm_agree_arrived(a, 3, query, 7) == -1, "a QUERY has its size");
    ok(ftm_agree_arrived(a, 3, query, 8) == 0, "a QUERY");
    ftm_agree_free(a);
    ftm_agree_new(&a, &events.mem, &ops, 11, NULL, 4, FTM_AGREE_TWO);
    memset(down + 32, 255, 1); /* covered: all */
    down[33] = 7;
    ok(ftm_agree_arrived(a, 0, down, sizeof down) == -1, "nobody decides with a part that we did not say");
    down[32] = 0xef;
    ok(ftm_agree_arrived(a, 0, down, sizeof down) == -1, "nor without any");
    down[28] = 0x10; /* failed: we */
    ok(ftm_agree_arrived(a, 0, down, sizeof down) == 0, "unless we count as failed");
    ftm_agree_free(a);
    for (i = 0; i < 200000; i++) {
        size_t size = draw(4) == 0 ? draw(64) : i % 3 == 0 ? 8 : i % 3 == 1 ? 10 : 8 + 20 + 6;

        if (i % 50 == 0) {
            if (i > 0)
                ftm_agree_free(a);
            ftm_agree_new(&a, &events.mem, &ops, 11, NULL, (int)draw(11), i % 100 < 50 ? FTM_AGREE_TWO
                                                                                          : FTM_AGREE_ONE);
            if (i % 150 > 0)
                ftm_agree_contribute(a, &mine);
        }
        for (k = 0; k < size; k++)
            bytes[k] = (unsigned char)draw(256);
        bytes[0] = (unsigned char)draw(8);
        bytes[1] = (unsigned char)(draw(8) == 0);
        bytes[2] = (unsigned char)(i % 100 < 50 ? 2 : 1);
        bytes[3] = bytes[5] = bytes[6] = bytes[7] = 0;
        bytes[4] = (unsigned char)draw(12);
        for (k = 8 + 20 + 1; k < 8 + 20 + 6; k += 2)
            bytes[k] &= 7;
        for (k = 28; i % 4 > 0 && k < 30; k++) /* of each member something, or it has failed */
            bytes[k] = (unsigned char)((~bytes[k + 4] & (k == 28 ? 255 : 7)) | (bytes[k] & bytes[k + 4]));
        bytes[9] = size == 10 ? bytes[9] & 7 : bytes[9];
        taken += ftm_agree_arrived(a, (int)draw(11), bytes, size) == 0;
    }
    ftm_agree_free(a);
    ok(taken > 10000 && taken < 190000, "random bytes: %ld of %ld messages were taken", taken, i);
}

static void test_memory(void)
{
    /* Goal: no memory is told, and everything comes back. */
    struct test_heap heap = { 0, 0, 0, 0, 0, 0, 0, 0 };
    struct phx_alloc alloc;
    struct ftm_mem mem = { NULL, 0, 0, 0 };
    struct ftm_agree_ops ops = { NULL, on_nothing };
    struct ftm_agree *a;

    alloc.alloc = test_alloc;
    alloc.world = &heap;
    mem.alloc = &alloc;
    heap.fail_at = 1;
    ok(ftm_agree_new(&a, &mem, &ops, 9, NULL, 3, FTM_AGREE_ONE) == -1, "no memory");
    ok(ftm_agree_new(&a, &mem, &ops, 9, NULL, 3, FTM_AGREE_ONE) == 0, "memory");
    ftm_agree_free(a);
    ok(heap.blocks == 0 && heap.lies == 0 && events.mem.bytes == events.capacity * sizeof *events.heap,
       "all of it came back");
}

static int bar(const char *name, long figure)
{
    printf("bar %s %ld 0 %s\n", name, figure, figure == 0 ? "ok" : "short");
    return figure != 0;
}

static int full(unsigned long seed, int seeds)
{
    int n, victims;

    for (victims = 1; victims <= 2; victims++)
        for (n = 2; n <= 5; n++)
            if (n > victims)
                enumerate(n, victims, seed, seeds);
    enumerate(4, 3, seed, 1);
    printf("# %ld runs\n", total.runs);
    return bar("agree_kills.disagreements", total.disagreements + total.wrong)
           + bar("agree_kills.hangs", total.hangs + total.waste);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "full") == 0)
        return full(argc > 2 ? strtoul(argv[2], NULL, 10) : 1, argc > 3 ? atoi(argv[3]) : 10) != 0;
    test_messages();
    test_kills();
    test_random(20000);
    test_bytes();
    test_memory();
    events_free();
    return test_end();
}
