/* t_torture.c - the n-th allocation of a node fails, for every n, in a play of two nodes.
 *
 * Promise 131. Goal: never a crash, never a leak; a call that finds no memory reports it and works when it is
 * made again; what fails inside of a step is made up for. Method: the allocator of test.h, and
 * virtual time, so that time-outs and repeats cost nothing; the sockets are real. */
#include "test.h"

#ifdef PHX_JOINED
#include "../../phoenix.c"
#endif

#include "nodes.h"

static struct node n[2];

/* Two nodes in virtual time, so that waits cost nothing; their sockets are real. */
static uint64_t torture_now;
static const char *torture_step; /* where it stands */

static int torture_until(int (*done)(void), int ms)
{
    int i;

    while (ms-- > 0) {
        for (i = 0; i < 2; i++)
            if (n[i].p != NULL)
                phx_step(n[i].p, torture_now, NULL, 0);
        if (done())
            return 1;
        torture_now += MS;
    }
    return 0;
}

static int got_all(void)
{
    return n[0].mail_count >= 2 && n[1].mail_count >= 1 && result_of(&n[1], 5) == PHX_OK;
}

/* One that could not keep the goodbye finds out by itself. */
static int has_closed(void)
{
    enum phx_state state = look(&n[0], &n[1]).state;

    return phx_closed(n[1].p)
           && (state == PHX_NODE_LEFT || (n[0].heap.fail_at > 0 && state == PHX_NODE_FAILED));
}

/* A call that reports no memory works when it is made again. */
#define insist(call, name)                                                                         \
    do {                                                                                           \
        int tries_ = 0, said_ = 0;                                                                 \
        torture_step = name;                                                                       \
        while (tries_++ < 3 && (said_ = (call)) != 0)                                              \
            if (said_ != PHX_ENOMEM && said_ != PHX_EAGAIN)                                        \
                return said_;                                                                      \
        if (said_ != 0)                                                                            \
            return said_;                                                                          \
    } while (0)

static int torture_new(struct node *of, long fail_at, long fail_from)
{
    struct phx_config c;

    settings(of, &c);
    hurry(&c);
    c.log_level = 0;
    of->heap.fail_at = fail_at;
    of->heap.fail_from = fail_from;
    return phx_new(&of->p, &c, torture_now);
}

static int torture_join(void)
{
    struct phx_address a;

    phx_listening(n[0].p, 0, &a);
    phx_address_text(&a, n[0].at);
    return phx_join(n[1].p, n[0].at);
}

/* New, listen, join, assume, send, receive, close. 0: all of it happened. */
static int torture_play(int ms)
{
    insist(phx_listen(n[0].p, LOOPBACK), "listen");
    insist(torture_join(), "join");
    insist(phx_assume(n[0].p, 1, 1), "assume");
    insist(phx_assume(n[1].p, 2, 2), "assume");
    insist(post(&n[1], 1, 3, 200000), "send");
    insist(post_token(&n[1], 1, 5, 10, 0), "send with a token");
    insist(post(&n[0], 2, 4, 70000), "send back");
    torture_step = "messages";
    if (!torture_until(got_all, ms))
        return PHX_ETIMEDOUT;
    insist(phx_close(n[1].p, SECOND), "close");
    torture_step = "goodbye";
    return torture_until(has_closed, ms) ? 0 : PHX_ETIMEDOUT;
}

static int torture_end(struct node *of)
{
    int clean;

    phx_free(of->p);
    of->p = NULL;
    clean = test_heap_is_clean(&of->heap);
    finish(of);
    return clean;
}

/* Plays it with one node short of memory; *calls is how often that one asked. 0 or why not. */
static int torture(int victim, long fail_at, long fail_from, int ms, long *calls, int *clean)
{
    int err = 0, i;

    torture_now = 1000 * SECOND;
    memset(n, 0, 2 * sizeof n[0]);
    for (i = 0; i < 2 && err == 0; i++) {
        torture_step = "new";
        err = torture_new(&n[i], i == victim ? fail_at : 0, i == victim ? fail_from : 0);
        if (err == PHX_ENOMEM && fail_at > 0 && i == victim) {
            *clean &= test_heap_is_clean(&n[i].heap);
            err = torture_new(&n[i], 0, 0); /* it has reported */
        }
        if (err == 0)
            phx_self(n[i].p, &n[i].id);
    }
    if (err == 0)
        err = torture_play(ms);
    *calls = n[victim].heap.calls;
    for (i = 0; i < 2; i++)
        *clean &= torture_end(&n[i]);
    return err;
}

static void test_one_failure(void)
{
    int victim, bad = 0, clean = 1, err, before = open_fds();
    long i, calls = 0, most;

    for (victim = 0; victim < 2; victim++) {
        err = torture(victim, 0, 0, 20000, &most, &clean);
        ok(err == 0, "the play, with memory: %s, %s", torture_step, phx_strerror(err));
        for (i = 1; i <= most; i++) {
            err = torture(victim, i, 0, 20000, &calls, &clean);
            if (err == 0 && clean)
                continue;
            bad++;
            printf("# node %d, allocation %ld of %ld fails: %s, %s%s\n", victim, i, most,
                   torture_step, phx_strerror(err), clean ? "" : ", leaks");
            clean = 1;
        }
        ok(bad == 0, "each of %ld allocations of node %d fails: nothing leaks, all is made up for",
           most, victim);
    }
    ok(open_fds() == before, "and no descriptor is left");
}

static void test_no_memory(void)
{
    int victim, leaks = 0, clean, wrong = 0, before = open_fds();
    long i, calls, most;

    for (victim = 0; victim < 2; victim++) {
        clean = 1;
        torture(victim, 0, 0, 20000, &most, &clean);
        for (i = 1; i <= most; i++) {
            int err = torture(victim, 0, i, 300, &calls, &clean);
            wrong += err != 0 && err != PHX_ENOMEM && err != PHX_ETIMEDOUT && err != PHX_EAGAIN;
            leaks += !clean;
            clean = 1;
        }
    }
    ok(leaks == 0 && wrong == 0,
       "all allocations from the n-th on fail: never a crash, leak or odd error");
    ok(open_fds() == before, "and no descriptor is left");
}

static int torture_broken; /* what on_broken told */

static void torture_saw_broken(phx *p, const struct phx_lost *lost, int broken, void *user)
{
    (void)p;
    (void)user;
    torture_broken += broken && lost->range.first == 2 && lost->range.last == 2;
}

static int torture_known(void)
{
    struct phx_id id;

    return phx_owner(n[0].p, 2, &id) == 0 && memcmp(&id, &n[1].id, sizeof id) == 0;
}

/* The other one dies, and from the i-th allocation on there is no memory, until one was missed. It steps
 * only when it must. 1, and *told is how often the host was told that the name is broken; 0: there are not
 * as many allocations. */
static int torture_lose(long i, int *told)
{
    struct phx_config c;
    uint64_t at;
    int steps, missed = 0;

    torture_now = 1000 * SECOND;
    torture_broken = 0;
    memset(n, 0, 2 * sizeof n[0]);
    settings(&n[0], &c);
    hurry(&c);
    c.log_level = 0;
    c.on_broken = torture_saw_broken;
    *told = -1;
    if (phx_new(&n[0].p, &c, torture_now) != 0 || torture_new(&n[1], 0, 0) != 0)
        return 0;
    phx_self(n[1].p, &n[1].id);
    if (phx_listen(n[0].p, LOOPBACK) != 0 || torture_join() != 0 || phx_assume(n[1].p, 2, 2) != 0
        || !torture_until(torture_known, 20000))
        return 0;
    phx_free(n[1].p);
    n[1].p = NULL;
    n[0].heap.fail_from = n[0].heap.calls + i;
    for (steps = 0; steps < 20000 && torture_broken == 0; steps++) {
        phx_step(n[0].p, torture_now, NULL, 0);
        if (n[0].heap.fail_from > 0 && n[0].heap.calls >= n[0].heap.fail_from) {
            n[0].heap.fail_from = 0;
            missed = 1;
        }
        at = phx_deadline(n[0].p);
        if (at == UINT64_MAX || at > 1060 * SECOND)
            break;
        torture_now = at > torture_now ? at : torture_now;
    }
    *told = torture_broken;
    return missed;
}

static void test_broken_late(void)
{
    /* Goal: names of a node that died are told as broken, even if there was no memory to find out which. */
    int told, bad = 0, clean = 1, missed;
    long i = 0;

    do {
        missed = torture_lose(++i, &told);
        bad += told != 1;
        clean &= torture_end(&n[0]);
        clean &= torture_end(&n[1]);
    } while (missed && i < 100);
    ok(bad == 0 && clean && i > 3 && i < 100,
       "memory ends at each of %ld allocations: %d times nothing was told", i - 1, bad);
}

static const struct test tests[] = {
    {"broken_late", test_broken_late},
    {"one_failure", test_one_failure},
    {"no_memory", test_no_memory},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
    if (test_begin() != 0)
        return 1;
    run_tests(tests, argc, argv);
    return test_finish();
}
