/* coupled.c - two MPI jobs, started apart from each other, that exchange 1 MiB a time step by Phoenix.
 *
 *     cc -std=c99 -O2 -I. -Iextras/ftmpi -o coupled examples/coupled.c extras/ftmpi/lib/?*.c phoenix.c -lm
 *     make ftmpi
 *     build/ftmpi/ftmpirun -n 3 ./coupled sea tcp://127.0.0.1:7000 &
 *     build/ftmpi/ftmpirun -n 2 ./coupled air tcp://127.0.0.1:7000
 *
 * With another MPI: mpicc -std=c99 -O2 -I. -o coupled examples/coupled.c phoenix.c -lm, and its mpirun. Each
 * job may have another one.
 *
 * Sea and air have a temperature in each of 131,072 cells, and each step heat flows from the warmer to the
 * colder. The cells are dealt out to the ranks of a job. Its rank 0 has a Phoenix node: it gathers the job's
 * temperatures, sends them to the other job by name and takes theirs; all ranks then work on their cells.
 * In which order the jobs start does not matter: a message to a name that nobody has yet waits.
 *
 * What to learn from it is in collective(): MPI does not turn Phoenix while it blocks.
 */
#define _POSIX_C_SOURCE 200809L
#include "phoenix.h"

#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CELLS 131072
#define LIMIT_US 60000000u /* for the other job to say something */
#define EXCHANGE 0.125     /* of the difference, in a step */

enum { SEA = 1, AIR = 2 }; /* names, too */

static struct {
    phx *node; /* of rank 0; NULL: another rank */
    int me, other, rank, ranks;
    long step;
    long got;  /* the step of what is in theirs; 0: none yet */
    int lost;
    double *theirs, *early; /* the other job may be one step ahead, never two */
    long early_step;
} job;

static void stop(const char *what, int err)
{
    fprintf(stderr, "%s: %s: %s\n", job.me == SEA ? "sea" : "air", what, phx_strerror(err));
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* ---- The side of Phoenix: rank 0 ---- */

static void on_message(phx *p, const struct phx_message *m, void *user)
{
    (void)p, (void)user;
    if (m->size != CELLS * sizeof(double))
        return; /* not of the other job; the run ends by its limit and says so */
    if ((long)m->tag == job.step) {
        memcpy(job.theirs, m->data, m->size);
        job.got = job.step;
    } else {
        memcpy(job.early, m->data, m->size);
        job.early_step = (long)m->tag;
    }
}

static void on_node(phx *p, const struct phx_node *node, void *user)
{
    (void)p, (void)user;
    job.lost |= node->state == PHX_NODE_FAILED || node->state == PHX_NODE_LEFT;
}

static void open_node(const char *hub)
{
    struct phx_config cfg;
    int err;

    phx_config_init(&cfg);
    cfg.on_message = on_message;
    cfg.on_node = on_node;
    if ((err = phx_new(&job.node, &cfg, phx_now_us())) != 0)
        stop("phx_new", err);
    if ((err = phx_assume(job.node, (uint64_t)job.me, (uint64_t)job.me)) != 0)
        stop("phx_assume", err);
    /* The sea listens, the air joins. With a hub of their own, both would join it. */
    err = job.me == SEA ? phx_listen(job.node, hub) : phx_join(job.node, hub);
    if (err != 0)
        stop(hub, err);
}

/* One turn of a wait: sleeps until something is due or has come. */
static void turn(uint64_t until)
{
    struct pollfd fd = { phx_fd(job.node), POLLIN, 0 };
    int ms = phx_timeout_ms(job.node, phx_now_us());

    poll(&fd, 1, ms >= 0 && ms < 100 ? ms : 100);
    phx_step(job.node, phx_now_us(), NULL, 0);
    if (phx_now_us() > until)
        stop("nothing from the other job", PHX_ETIMEDOUT);
}

/* Our temperatures of this step for theirs of the same. */
static void exchange(const double *ours)
{
    uint64_t until = phx_now_us() + LIMIT_US;
    int err;

    if (job.early_step == job.step) {
        memcpy(job.theirs, job.early, CELLS * sizeof(double));
        job.got = job.step;
    }
    while ((err = phx_send(job.node, (uint64_t)job.other, (uint64_t)job.me, (uint64_t)job.step, ours,
                           CELLS * sizeof(double))) == PHX_EAGAIN)
        turn(until); /* full: Phoenix must work first */
    if (err != 0)
        stop("phx_send", err);
    while (job.got != job.step) {
        turn(until);
        if (job.lost && job.got != job.step)
            stop("the other job", PHX_EFAILED);
    }
}

static void close_node(void)
{
    uint64_t until = phx_now_us() + LIMIT_US;

    while (phx_pending(job.node) > 0 && !job.lost)
        turn(until);
    phx_close(job.node, 2000000);
    while (!phx_closed(job.node))
        turn(until);
    phx_free(job.node);
}

/* ---- The side of MPI ---- */

/* Comes before each call that blocks in MPI: what the node still owes to others leaves, above all the ack of
 * what it has just received. Kept back, it would leave with the next step, which is after the collective
 * call, and the other job might wait for it in front of its own: a circle. Before a call that takes longer
 * than cfg.detector.interval_us (5 s) one says phx_busy as well, or is suspected to be dead. */
static void collective(void)
{
    struct pollfd none = { -1, 0, 0 };

    if (job.node != NULL)
        phx_step(job.node, phx_now_us(), &none, 0);
}

static int first_cell(int rank)
{
    return (int)((long)CELLS * rank / job.ranks);
}

static double initial(int who, int cell)
{
    return who == SEA ? 15 + sin(cell * 0.001) : 5 + 20 * cos(cell * 0.0007);
}

/* One step of a cell: what all ranks do to theirs, and the check at the end to all. */
static double advance(double mine, double other)
{
    return mine + EXCHANGE * (other - mine);
}

static void deal_out(int *counts, int *first)
{
    int i;

    for (i = 0; i < job.ranks; i++) {
        first[i] = first_cell(i);
        counts[i] = first_cell(i + 1) - first[i];
    }
}

/* The largest flow of heat in the last step, which all ranks learn. */
static double run(long steps, double *mine, double *whole)
{
    int *counts = malloc(2 * (size_t)job.ranks * sizeof *counts), *first = counts + job.ranks, i, count;
    double *other = malloc(CELLS * sizeof *other), flow = 0, local;

    if (counts == NULL || other == NULL)
        stop("memory", PHX_ENOMEM);
    deal_out(counts, first);
    count = counts[job.rank];
    for (i = 0; i < count; i++)
        mine[i] = initial(job.me, first[job.rank] + i);
    for (job.step = 1; job.step <= steps; job.step++) {
        collective();
        MPI_Gatherv(mine, count, MPI_DOUBLE, whole, counts, first, MPI_DOUBLE, 0, MPI_COMM_WORLD);
        if (job.node != NULL)
            exchange(whole);
        collective();
        MPI_Scatterv(job.theirs, counts, first, MPI_DOUBLE, other, count, MPI_DOUBLE, 0, MPI_COMM_WORLD);
        for (local = 0, i = 0; i < count; i++) {
            local = fmax(local, fabs(EXCHANGE * (other[i] - mine[i])));
            mine[i] = advance(mine[i], other[i]);
        }
        collective();
        MPI_Allreduce(&local, &flow, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    }
    collective();
    MPI_Gatherv(mine, count, MPI_DOUBLE, whole, counts, first, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    free(other);
    free(counts);
    return flow;
}

/* How many cells differ from what one process alone computes: the same operations, so not a bit may. */
static int differ(long steps, const double *whole)
{
    int i, different = 0;
    long s;

    for (i = 0; i < CELLS; i++) {
        double mine = initial(job.me, i), other = initial(job.other, i), next;

        for (s = 0; s < steps; s++) {
            next = advance(mine, other);
            other = advance(other, mine);
            mine = next;
        }
        different += memcmp(&mine, &whole[i], sizeof mine) != 0;
    }
    return different;
}

int main(int argc, char **argv)
{
    double *mine, *whole, flow;
    long steps;
    int different = 0;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &job.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &job.ranks);
    if (argc > 2)
        job.me = strcmp(argv[1], "sea") == 0 ? SEA : strcmp(argv[1], "air") == 0 ? AIR : 0;
    steps = argc > 3 ? atol(argv[3]) : 50;
    if (argc > 4 || job.me == 0 || steps < 1 || steps > 100000) {
        if (job.rank == 0)
            fprintf(stderr, "usage: coupled sea|air ADDRESS [STEPS]\n");
        MPI_Finalize();
        return 2;
    }
    job.other = SEA + AIR - job.me;
    mine = malloc(CELLS * sizeof *mine);
    whole = malloc(CELLS * sizeof *whole);
    job.theirs = malloc(CELLS * sizeof *whole);
    job.early = malloc(CELLS * sizeof *whole);
    if (mine == NULL || whole == NULL || job.theirs == NULL || job.early == NULL)
        stop("memory", PHX_ENOMEM);
    if (job.rank == 0)
        open_node(argv[2]);
    flow = run(steps, mine, whole);
    if (job.rank == 0) {
        different = differ(steps, whole);
        printf("%s: %d ranks, %ld steps of 1 MiB each way, last flow %.3g: %d cells differ from a serial "
               "run\n", argv[1], job.ranks, steps, flow, different);
        close_node();
    }
    free(job.early);
    free(job.theirs);
    free(whole);
    free(mine);
    MPI_Finalize();
    return different == 0 ? 0 : 1;
}
