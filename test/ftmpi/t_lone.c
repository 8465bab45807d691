/* t_lone.c - a lone message between ranks that sleep costs what it costs the core, and no system call more.
 *
 * Goal: between two ranks over TCP of which one sleeps in MPI_Recv, a message of 8 bytes takes as many system
 * calls as between two hosts of Phoenix that sleep in poll: what MPI_Send and MPI_Recv do above Phoenix is
 * none. With patience that holds from the moment in which the receiver sleeps.
 * Method: phoenix.c and pump.c are here, with the calls counted: those of the world of Phoenix and those of
 * the pump itself. Two engines in one process; when one is about to sleep the other one sends. Two nodes of
 * Phoenix alone make the same exchange, and the counts are compared. The clock stands, or goes on where a
 * call looks before it sleeps, so that no timer is due in one and not in the other.
 */
#include "test.h"

#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>

#if defined(__GNUC__)
#pragma GCC diagnostic ignored "-Wunused-function"
#endif
#include "../../phoenix.c"

#include "engine.h"
#include "mpi.h"
#include "mpi_call.h"

#define MESSAGES 2000 /* fewer than what makes a receiver give credit */
#define PATIENCE_US 50

struct lone_calls {
    long sends, recvs, waits, watches, polls, yields;
};

static struct lone_calls calls, begun, spent;
static uint64_t lone_clock = 1000000, lone_patience; /* in microseconds, of who waits */
static void (*meanwhile)(void); /* the other side acts, when this one is about to sleep */
static struct phx_os real;

/* ---- What is counted --------------------------------------------------------------------------- */

static long lone_send(void *w, int h, const struct iovec *iov, int count)
{
    calls.sends++;
    return real.send(w, h, iov, count);
}

static long lone_recv(void *w, int h, void *data, size_t size)
{
    calls.recvs++;
    return real.recv(w, h, data, size);
}

static long lone_recvv(void *w, int h, const struct iovec *iov, int count)
{
    calls.recvs++;
    return real.recvv(w, h, iov, count);
}

static int lone_watch(void *w, int h, int events)
{
    calls.watches++;
    return real.watch(w, h, events);
}

static int lone_wait(void *w, struct phx_ready *out, int capacity)
{
    calls.waits++;
    return real.wait(w, out, capacity);
}

/* The built-in world of a node, of which the calls that messages take are counted. wake stays its own, since
 * Phoenix knows that world by it. */
static int lone_world(struct phx_os *os, struct phx__mem *mem)
{
    phx__mem_init(mem, NULL, 0);
    if (phx__os_init(os, mem) != 0)
        return -1;
    real = *os;
    os->send = lone_send;
    os->recv = lone_recv;
    os->recvv = lone_recvv;
    os->watch = lone_watch;
    os->wait = lone_wait;
    return 0;
}

static uint64_t lone_now(void) { return lone_clock; }

static int lone_yield(void)
{
    calls.yields++;
    lone_clock += PATIENCE_US + 10;
    return 0;
}

static int lone_poll(struct pollfd *fds, nfds_t n, int ms)
{
    void (*act)(void) = meanwhile;

    meanwhile = NULL;
    if (act != NULL) {
        if (lone_patience > 0)
            begun = calls; /* how a call looks before it sleeps is its own affair */
        act();
    }
    calls.polls++;
    if (calls.polls > 100000 || poll(fds, n, ms < 0 || ms > 10000 ? 10000 : ms) == 0) {
        printf("Bail out! nothing came\n");
        exit(1);
    }
    return 1;
}

#define phx_now_us lone_now
#define poll lone_poll
#define sched_yield lone_yield
#include "../../extras/ftmpi/lib/pump.c"
#undef phx_now_us
#undef poll
#undef sched_yield

/* A message has been received. */
static void lone_received(void)
{
    spent.sends += calls.sends - begun.sends;
    spent.recvs += calls.recvs - begun.recvs;
    spent.waits += calls.waits - begun.waits;
    spent.watches += calls.watches - begun.watches;
    spent.polls += calls.polls - begun.polls;
    spent.yields += calls.yields - begun.yields;
}

static long lone_sum(const struct lone_calls *c)
{
    return c->sends + c->recvs + c->waits + c->watches + c->polls + c->yields;
}

static void lone_show(const char *who, const struct lone_calls *c)
{
    printf("# %s: %ld sends, %ld receives, %ld looks, %ld watches, %ld polls, %ld yields for %d messages\n",
           who, c->sends, c->recvs, c->waits, c->watches, c->polls, c->yields, 2 * MESSAGES);
}

/* ---- The core alone ---------------------------------------------------------------------------- */

static struct phx *nodes[2];
static struct phx_os node_os[2];
static struct phx__mem node_mem[2];
static long heard[2];
static int speaks; /* whose turn it is */

static void core_message(phx *p, const struct phx_message *m, void *user)
{
    (void)p;
    *(long *)user += m->size == 8;
}

static int core_begin(void)
{
    char at[PHX_ADDRESS_TEXT];
    struct phx_address address;
    struct phx_config cfg;
    struct phx_id id;
    int i, tries;

    for (i = 0; i < 2; i++) {
        phx_config_init(&cfg);
        cfg.relay = cfg.full_mesh = cfg.same_host = 0;
        cfg.detector.interval_us = cfg.detector.insurance_us = cfg.detector.timeout_us = 86400000000u;
        cfg.detector.broken_us = 86400000000u;
        cfg.on_message = core_message;
        cfg.user = &heard[i];
        cfg.os = &node_os[i];
        if (lone_world(&node_os[i], &node_mem[i]) != 0 || phx_new(&nodes[i], &cfg, lone_clock) != 0
            || phx_assume(nodes[i], (uint64_t)i + 1, (uint64_t)i + 1) != 0)
            return 0;
    }
    if (phx_listen(nodes[0], "tcp://127.0.0.1:0") != 0 || phx_listening(nodes[0], 0, &address) != 0
        || phx_join(nodes[1], phx_address_text(&address, at)) != 0)
        return 0;
    for (tries = 0; tries < 100000; tries++) {
        lone_clock += 100;
        phx_step(nodes[0], lone_clock, NULL, 0);
        phx_step(nodes[1], lone_clock, NULL, 0);
        if (phx_owner(nodes[0], 2, &id) == 0 && phx_owner(nodes[1], 1, &id) == 0 && tries > 1000)
            return 1;
    }
    return 0;
}

static void core_say(void)
{
    struct pollfd none = { -1, 0, 0 };

    check(phx_send(nodes[speaks], 2 - (uint64_t)speaks, 1, 0, "1234567", 8) == 0, "a message is sent");
    phx_step(nodes[speaks], lone_clock, &none, 1);
}

/* As MPI_Recv: it has looked for a while, and sleeps. */
static void core_hear(int i)
{
    struct pollfd fds[8];
    long before = heard[i];

    begun = calls;
    if (lone_patience > 0) {
        lone_yield();
        phx_step(nodes[i], lone_clock, NULL, 0);
    }
    speaks = 1 - i;
    meanwhile = core_say;
    while (heard[i] == before) {
        lone_poll(fds, (nfds_t)phx_fds(nodes[i], fds, 8), -1);
        phx_step(nodes[i], lone_clock, NULL, 0);
    }
    lone_received();
}

static struct lone_calls core_run(void)
{
    int k;

    memset(&spent, 0, sizeof spent);
    for (k = 0; k < 2 * MESSAGES; k++)
        core_hear(k & 1);
    return spent;
}

static void core_end(void)
{
    phx_free(nodes[0]);
    phx_free(nodes[1]);
}

/* ---- Two ranks --------------------------------------------------------------------------------- */

static struct ftm *ranks[2];
static struct phx_os rank_os[2];
static struct phx__mem rank_mem[2];
static char folder[64], hub[80];

static void mpi_ended(void *user, int code, const char *line)
{
    (void)user;
    printf("Bail out! the job ends with %d: %s\n", code, line != NULL ? line : "");
    exit(1);
}

static int mpi_begin(void)
{
    const char *base = getenv("TMPDIR");
    struct ftm_config c;
    int i, tries;

    snprintf(folder, sizeof folder, "%.30s/ftm_XXXXXX", base != NULL ? base : "/tmp");
    if (mkdtemp(folder) == NULL)
        return 0;
    snprintf(hub, sizeof hub, "unix://%s/hub", folder);
    for (i = 0; i < 2; i++) {
        memset(&c, 0, sizeof c);
        c.os = &rank_os[i];
        c.rank = i;
        c.size = 2;
        c.hubs = hub;
        c.listen = "tcp://127.0.0.1:0";
        c.tcp = 1;
        c.patience_us = lone_patience;
        c.on_end = mpi_ended;
        if (lone_world(&rank_os[i], &rank_mem[i]) != 0 || ftm_new(&ranks[i], &c, lone_clock) != 0)
            return 0;
    }
    for (tries = 0; tries < 100000; tries++) {
        lone_clock += 100;
        ftm_step(ranks[0], lone_clock, NULL, 0);
        ftm_step(ranks[1], lone_clock, NULL, 0);
        if (ftm_ready(ranks[0]) && ftm_ready(ranks[1]) && tries > 1000)
            return 1;
    }
    return 0;
}

static void mpi_say(void)
{
    struct ftm *receiver = ftm_this;

    ftm_this = ranks[speaks];
    check(MPI_Send("1234567", 8, MPI_CHAR, 1 - speaks, 7, MPI_COMM_WORLD) == 0, "MPI_Send");
    ftm_this = receiver;
}

static struct lone_calls mpi_run(void)
{
    char text[8];
    int k;

    memset(&spent, 0, sizeof spent);
    for (k = 0; k < 2 * MESSAGES; k++) {
        speaks = 1 - (k & 1);
        meanwhile = mpi_say;
        begun = calls;
        ftm_this = ranks[k & 1];
        memset(text, 0, sizeof text);
        check(MPI_Recv(text, 8, MPI_CHAR, speaks, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE) == 0
                  && strcmp(text, "1234567") == 0 && meanwhile == NULL, "MPI_Recv slept and has it");
        lone_received();
    }
    ftm_this = NULL;
    return spent;
}

static void mpi_end(void)
{
    ftm_free(ranks[0]);
    ftm_free(ranks[1]);
    remove(hub + strlen("unix://"));
    check(rmdir(folder) == 0, "nothing is left behind");
}

/* ---- Both -------------------------------------------------------------------------------------- */

static void test_lone(void)
{
    struct lone_calls core, mpi;

    if (!ok(core_begin(), "two nodes of Phoenix"))
        return;
    core_run(); /* the first messages make room for themselves */
    core = core_run();
    core_end();
    if (!ok(mpi_begin(), "two ranks"))
        return;
    mpi_run();
    mpi = mpi_run();
    mpi_end();
    lone_show("the core alone", &core);
    lone_show("MPI_Send, MPI_Recv", &mpi);
    ok(lone_sum(&mpi) - lone_sum(&core) == 0, "%d lone messages, patience %d us: %ld system calls beyond %ld",
       2 * MESSAGES, (int)lone_patience, lone_sum(&mpi) - lone_sum(&core), lone_sum(&core));
}

int main(void)
{
    signal(SIGPIPE, SIG_IGN);
    test_lone();
    lone_patience = PATIENCE_US;
    test_lone();
    return test_end();
}
