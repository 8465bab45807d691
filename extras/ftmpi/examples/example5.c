/* example5.c - an error handler that recovers and jumps: the fifth example and figure 1 of the paper. */

/*
 *      ftmpicc -o example5 example5.c parity.c
 *      ftmpirun -n 5 --ft rebuild ./example5 2 0        rank 2 kills itself, later rank 0
 *
 * The "library" below looks at no return code, many levels deep. When a rank dies, the next MPI call of each
 * survivor enters the handler, which recovers MPI_COMM_WORLD and jumps to the top level of main(); there the
 * checkpoint is loaded, by the survivors and by the process that was started again, and all go on.
 *
 * Each worker's state is a number that depends on all numbers of the step before, so the end is right only if
 * nothing was lost and nothing was done twice; rank 0 works it out alone as well. */
#define _POSIX_C_SOURCE 200809L
#include "parity.h"

#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#define STEPS 400
#define EVERY 10
#define DEPTH 20

#ifndef FTMPI /* the names of the paper are gone from later versions of MPI, or macros that say so */
#undef MPI_Errhandler_create
#undef MPI_Errhandler_get
#undef MPI_Errhandler_set
#define MPI_Handler_function MPI_Comm_errhandler_function
#define MPI_Errhandler_create MPI_Comm_create_errhandler
#define MPI_Errhandler_get MPI_Comm_get_errhandler
#define MPI_Errhandler_set MPI_Comm_set_errhandler
#endif

struct state {
    unsigned long step, value;
};

/* MPI hands an error handler nothing of ours. */
struct program {
    jmp_buf top;
    struct state state;
    struct parity parity;
    int rank, size, recovering, restarted;
    int victims[2]; /* who dies at a third, and at two thirds */
};
static struct program g;

static void on_error(MPI_Comm *comm, int *code, ...)
{
    MPI_Comm whole;
    int rc;

    (void)comm;
    if (g.recovering)
        return; /* another one died; the loop below goes round again */
    if (*code != MPI_ERR_OTHER)
        MPI_Abort(MPI_COMM_WORLD, *code);
    g.recovering = 1;
    do
        rc = MPI_Comm_dup(MPI_COMM_WORLD, &whole);
    while (rc == MPI_ERR_OTHER);
    if (rc != MPI_SUCCESS)
        MPI_Abort(MPI_COMM_WORLD, rc);
    MPI_Comm_free(&whole);
    g.recovering = 0;
    longjmp(g.top, 1);
}

static void install_handler(void)
{
    MPI_Handler_function *ehf = (MPI_Handler_function *)&on_error;
    MPI_Errhandler errh, errh_org;

    MPI_Errhandler_create(ehf, &errh);                /* create MPI handle to my function */
    MPI_Errhandler_get(MPI_COMM_WORLD, &errh_org);    /* get original MPI handler */
    MPI_Errhandler_free(&errh_org);
    MPI_Errhandler_set(MPI_COMM_WORLD, errh);         /* replace default with my function */
}

static unsigned long next_value(unsigned long mine, unsigned long sum, int rank)
{
    return (mine * 31 + sum + (unsigned long)rank) % 1000003u;
}

/* The library: one step, so deep down that nobody would like to carry an error up. */
static void step(int depth)
{
    unsigned long sum = 0, mine = g.rank < g.size - 1 ? g.state.value : 0;

    if (depth > 0) {
        step(depth - 1);
        return;
    }
    MPI_Allreduce(&mine, &sum, 1, MPI_UNSIGNED_LONG, MPI_SUM, MPI_COMM_WORLD);
    g.state.value = next_value(g.state.value, sum, g.rank);
    g.state.step++;
}

static void maybe_die(void)
{
    int i;

    for (i = 0; i < 2 && !g.restarted; i++)
        if (g.rank == g.victims[i] && g.state.step == (unsigned long)(STEPS / 3 * (i + 1)))
            raise(SIGKILL);
}

static void solve(void)
{
    int found;

    parity_load(&g.parity, &g.state, MPI_COMM_WORLD, &found);
    if (!found) {
        g.state.step = 0;
        g.state.value = (unsigned long)g.rank + 1;
    }
    MPI_Bcast(&g.state.step, 1, MPI_UNSIGNED_LONG, 0, MPI_COMM_WORLD); /* the rank with the parity lacks it */
    while (g.state.step < STEPS) {
        if (g.state.step % EVERY == 0)
            parity_save(&g.parity, &g.state, MPI_COMM_WORLD);
        maybe_die();
        step(DEPTH);
    }
}

/* Rank 0's value at the end, by one process. */
static unsigned long expected(int workers)
{
    unsigned long *v = calloc((size_t)workers + 1, sizeof *v), sum, last;
    int i, k;

    if (v == NULL)
        return 0;
    for (i = 0; i < workers; i++)
        v[i] = (unsigned long)i + 1;
    for (k = 0; k < STEPS; k++) {
        for (i = 0, sum = 0; i < workers; i++)
            sum += v[i];
        for (i = 0; i < workers; i++)
            v[i] = next_value(v[i], sum, i);
    }
    last = v[0];
    free(v);
    return last;
}

int main(int argc, char **argv)
{
    MPI_Comm done;
    int i, rc = MPI_Init(&argc, &argv);

#ifdef FTMPI
    g.restarted = rc == MPI_INIT_RESTARTED_NODE;
#else
    (void)rc;
#endif
    MPI_Comm_rank(MPI_COMM_WORLD, &g.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &g.size);
    for (i = 0; i < 2; i++)
        g.victims[i] = i + 1 < argc ? (int)strtol(argv[i + 1], NULL, 10) : -1;
    if (g.size < 2 || parity_open(&g.parity, sizeof g.state) != 0)
        MPI_Abort(MPI_COMM_WORLD, 2);
    install_handler();
    setjmp(g.top);
    solve();
    MPI_Comm_dup(MPI_COMM_WORLD, &done); /* ends alike at all: all are done, or all go back once more */
    MPI_Comm_free(&done);
    if (g.rank == 0)
        printf("rank 0: %s\n", g.state.value == expected(g.size - 1) ? "right" : "WRONG");
    parity_close(&g.parity);
    MPI_Finalize();
    return 0;
}
