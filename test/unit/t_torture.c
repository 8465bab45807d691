/* t_torture.c - the n-th allocation of a node fails, for every n, in a play of two nodes.
 *
 * Goal: never a crash, never a leak; a call that finds no memory reports it and works when it is
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

static const struct test tests[] = {
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
