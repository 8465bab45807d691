/* coupled.c - one of two MPI jobs that are coupled by Phoenix: see coupled.sh.
 *
 * usage: coupled JOB PORT ROUNDS [keep]. Two processes in each job. In each round the first of job 0 sends to
 * the first of job 1, waits until that has it, and meets its own other process in a collective call; the
 * second ones do so after the collective call. The receivers enter theirs with the message in hand. If they
 * kept the ack that they owe, all four would wait in a circle for ever; with "keep" they do.
 */
#define _POSIX_C_SOURCE 200809L
#include "phoenix.h"
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static phx *node;
static uint64_t got;

static void on_message(phx *p, const struct phx_message *m, void *user)
{
    (void)p, (void)user;
    got = m->tag;
}

static void turn(void)
{
    struct pollfd fd = { phx_fd(node), POLLIN, 0 };
    int ms = phx_timeout_ms(node, phx_now_us());

    poll(&fd, 1, ms < 0 || ms > 100 ? 100 : ms);
    phx_step(node, phx_now_us(), NULL, 0);
}

/* Before this process blocks where Phoenix is not turned. */
static void collective(int keep)
{
    struct pollfd none = { -1, 0, 0 };

    if (!keep)
        phx_step(node, phx_now_us(), &none, 0);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void exchange(int job, int rank, uint64_t round)
{
    if (job == 0) {
        phx_send(node, 10 + (uint64_t)rank, 0, round, "x", 1);
        while (phx_pending(node) > 0)
            turn();
    }
    while (job == 1 && got < round)
        turn();
}

static int begin(int job, int rank, const char *port)
{
    struct phx_config cfg;
    char hub[64];
    uint64_t me = (uint64_t)job * 10 + (uint64_t)rank;

    (void)snprintf(hub, sizeof hub, "tcp://127.0.0.1:%s", port);
    phx_config_init(&cfg);
    cfg.on_message = on_message;
    if (phx_new(&node, &cfg, phx_now_us()) != 0 || phx_assume(node, me, me) != 0)
        return -1;
    if (me == 0)
        return phx_listen(node, hub);
    return phx_listen(node, "tcp://127.0.0.1:0") != 0 ? -1 : phx_join(node, hub); /* all link with all */
}

static int knows_all(void)
{
    return phx_owner(node, 0, NULL) == 0 && phx_owner(node, 1, NULL) == 0 && phx_owner(node, 10, NULL) == 0
           && phx_owner(node, 11, NULL) == 0;
}

static int is_linked(void)
{
    struct phx_stats s;

    phx_stats(node, &s);
    return s.links == 3;
}

int main(int argc, char **argv)
{
    int job, rank, rounds, i, keep = argc > 4 && strcmp(argv[4], "keep") == 0;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (argc < 4 || begin(job = atoi(argv[1]), rank, argv[2]) != 0)
        MPI_Abort(MPI_COMM_WORLD, 2);
    rounds = atoi(argv[3]);
    while (!knows_all() || !is_linked())
        turn();
    collective(0);
    for (i = 1; i <= rounds; i++) {
        if (job == 1 || rank == 0)
            exchange(job, rank, (uint64_t)i);
        collective(keep);
        if (job == 0 && rank == 1)
            exchange(job, rank, (uint64_t)i);
    }
    for (phx_close(node, 1000000); !phx_closed(node);)
        turn();
    phx_free(node);
    MPI_Finalize();
    return 0;
}
