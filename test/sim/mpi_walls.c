/* mpi_walls.c - collectives of twelve processes in three sites: how often data cross walls. */

/* Goal: over S sites Bcast and Reduce send S - 1 messages from one site to another, Allreduce and Barrier
 * 2 (S - 1), for every root and every size; and every result is right.
 * Method: sites behind gateways, four ranks to each. Messages are counted where they are given to Phoenix.
 * Above the eager limit a message is a question, an answer and the data, so crossings are counted below. */
#include "mpi_world.h"
#include "story.h"

#include "mpi.h"
#include "wire.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RANKS 12
#define SITES 3
#define INTS 12000

enum call { BARRIER, BCAST, REDUCE, ALLREDUCE, CALLS };

struct walls {
    int crossings, most[CALLS], wrong, arrived;
};

static int crosses(struct mpi_process *p, uint64_t to, uint64_t tag, size_t size)
{
    struct walls *w = p->job->plan.user;

    (void)tag;
    (void)size;
    if (FTM_NAME_ROLE(to) == FTM_PROCESS)
        w->crossings += mpi_holder(p->job, (int)FTM_RANK(to))->host % SITES != p->host % SITES;
    return 1;
}

/* All have come here, without a message: counts are between two of these. */
static void together(struct walls *w)
{
    int goal = (w->arrived / RANKS + 1) * RANKS;

    for (w->arrived++; w->arrived < goal;)
        mpi_compute(100);
    mpi_compute(20 * MS); /* for what is on its way */
}

static int is_right(const int *data, const int *sums, enum call call, int me, int root, int count)
{
    int k, good = 1;

    for (k = 0; k < count; k += 97) {
        if (call == BCAST)
            good = good && data[k] == root + k;
        if (call == ALLREDUCE || (call == REDUCE && me == root))
            good = good && sums[k] == RANKS * k + RANKS * (RANKS - 1) / 2;
    }
    return good;
}

static void collective(struct walls *w, int *data, int *sums, enum call call, int root, int count)
{
    int me, k, rc = MPI_SUCCESS;

    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    for (k = 0; k < count; k++) {
        data[k] = me + k;
        sums[k] = -1;
    }
    together(w);
    if (me == 0)
        w->crossings = 0;
    together(w);
    if (call == BARRIER)
        rc = MPI_Barrier(MPI_COMM_WORLD);
    else if (call == BCAST)
        rc = MPI_Bcast(data, count, MPI_INT, root, MPI_COMM_WORLD);
    else if (call == REDUCE)
        rc = MPI_Reduce(data, sums, count, MPI_INT, MPI_SUM, root, MPI_COMM_WORLD);
    else
        rc = MPI_Allreduce(data, sums, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    w->wrong += rc != MPI_SUCCESS || !is_right(data, sums, call, me, root, count);
    together(w);
    if (w->crossings > w->most[call])
        w->most[call] = w->crossings;
}

static int walls_rank(struct mpi_process *p)
{
    static const int counts[] = { 0, 1, 300, INTS };
    int *data = mpi_memory(INTS * sizeof *data), *sums = mpi_memory(INTS * sizeof *sums);
    struct walls *w = p->job->plan.user;
    int call, i, root;

    MPI_Init(NULL, NULL);
    for (call = 0; call < CALLS; call++)
        for (i = 0; i < 4; i++)
            for (root = 0; root < RANKS; root++)
                collective(w, data, sums, (enum call)call, root, call == BARRIER ? 0 : counts[i]);
    MPI_Finalize();
    return 0;
}

void tell_mpi_walls(struct sim *s)
{
    static const char *const names[CALLS] = { "Barrier", "Bcast", "Reduce", "Allreduce" };
    static const int limits[CALLS] = { 4, 2, 2, 4 };
    struct mpi_plan plan;
    struct walls w;
    struct mpi_job *j;
    char name[80];
    int i;

    memset(&w, 0, sizeof w);
    memset(&plan, 0, sizeof plan);
    plan.seed = s->o.seed;
    plan.trace = s->o.trace;
    plan.ranks = RANKS;
    plan.hosts = 6; /* two ranks on each, and neighbours are far away */
    plan.sites = SITES;
    plan.walls = 1;
    plan.program = walls_rank;
    plan.sends = crosses;
    plan.user = &w;
    j = mpi_job_new(&plan);
    if (mpi_job_run(j, 10 * MINUTE) != 0)
        world_fail(s->w, "%s; %s", j->w->why, j->line);
    for (i = 0; i < CALLS; i++) {
        (void)snprintf(name, sizeof name, "mpi_walls messages over the walls of 3 sites in %s", names[i]);
        bar(s, name, w.most[i], limits[i]);
        if (w.most[i] == 0)
            world_fail(s->w, "%s crosses no wall", names[i]);
    }
    bar(s, "mpi_walls results that are wrong", w.wrong, 0);
    mpi_job_end(s, j);
}
