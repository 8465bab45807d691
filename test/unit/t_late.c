/* t_late.c - how long a hello may take where turns are late.
 *
 * Goal: who had no turn closes nothing that has come meanwhile (promise 51), who is starved waits longer, and
 * in a crowd a proof, whose sender uses the link already, may be late. Method: a peer by hand that says HELLO
 * and later PROOF, and a node whose clock goes on by half a second, or at once, as in a stall. */
#include "test.h"

#ifdef PHX_JOINED
#include "../../phoenix.c"
#else
#include "base/sha.h"
#include "node/links.h"
#endif

#include "raw.h"

static void begin_hello(uint32_t known)
{
    kind_of_new = HOST_FDS;
    begin(&n[0], LOOPBACK);
    n[0].p->route.known += known;
    raw_begin(&n[0]);
    raw_hello("phoenix", 2, 2);
    raw_send();
    await(raw_front(SPEC_ANSWER) > 0, PATIENCE);
}

static void finish_hello(uint32_t known)
{
    raw_finish();
    n[0].p->route.known -= known;
    finish(&n[0]);
    host_ahead = 0;
}

/* Time passes. blind: the host finds nothing ready, whatever has come. */
static void pass(uint64_t us, uint64_t at_once, int blind)
{
    struct pollfd fds[16];

    for (uint64_t end = host_ahead + us; host_ahead < end;) {
        int i, count = phx_fds(n[0].p, fds, 16);
        host_ahead += PHX__MIN(at_once, end - host_ahead);
        for (i = 0; i < count; i++)
            fds[i].revents = 0;
        if (blind)
            phx_step(n[0].p, phx_now_us() + host_ahead, fds, count);
        else
            turn(0);
    }
}

static void test_usual(void)
{
    begin_hello(0);
    pass(4500 * MS, SECOND / 2, 0);
    ok(!raw_is_closed(), "4.5 s without a proof");
    pass(SECOND, SECOND / 2, 0);
    eventually(raw_is_closed(), "5 s: no more");
    finish_hello(0);
}

static void test_unread(void)
{
    begin_hello(0);
    raw_proof("phoenix", "", 0);
    check(send(r.fd, b.at, b.size, MSG_NOSIGNAL) == (ssize_t)b.size, "the proof is under way");
    pass(10 * SECOND, SECOND / 2, 1);
    ok(raw_is_linked(&n[0]) && !raw_is_closed(), "what has come is read before it is given up");
    finish_hello(0);
}

static void test_starved(void)
{
    begin_hello(0);
    pass(8 * SECOND, 8 * SECOND, 0);
    ok(!raw_is_closed(), "a stall of 8 s");
    pass(30 * SECOND, SECOND / 2, 0);
    ok(!raw_is_closed(), "and 30 s more");
    pass(3 * SECOND, SECOND / 2, 0);
    eventually(raw_is_closed(), "and no more: eight times the limit");
    finish_hello(0);
}

static void test_crowd(void)
{
    begin_hello(70);
    pass(39 * SECOND, SECOND / 2, 0);
    ok(!raw_is_closed(), "39 s without a proof");
    raw_proof("phoenix", "", 0);
    raw_send();
    eventually(raw_is_linked(&n[0]), "then it comes");
    finish_hello(70);
    begin_hello(70);
    pass(41 * SECOND, SECOND / 2, 0);
    eventually(raw_is_closed(), "41 s are too many");
    finish_hello(70);
}

static const struct test tests[] = {
    { "usual", test_usual }, { "unread", test_unread }, { "starved", test_starved },
    { "crowd", test_crowd }, { NULL, NULL }
};

int main(int argc, char **argv)
{
    if (test_begin() != 0)
        return 1;
    run_tests(tests, argc, argv);
    return test_finish();
}
