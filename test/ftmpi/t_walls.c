/* t_walls.c - collectives of twelve processes in three sites: how often data cross walls.
 *
 * Goal: over S sites Bcast and Reduce send S - 1 messages from one site to another, Allreduce and Barrier
 * 2 (S - 1), for every root and every size.
 * Method: engines in one process, whose tables say who lives where. Messages are counted where they are given
 * to Phoenix. usage: t_walls [bars]
 */
#include "engines.h"

#include "coll.h"

#define RANKS 12
#define SITES 3

static struct engines run;
static int *data[RANKS], *sums[RANKS];
static int wrong;

static uint64_t crossings(void)
{
    uint64_t n = 0;
    int i, k;

    for (i = 0; i < RANKS; i++)
        for (k = 0; k < RANKS; k++)
            if (run.at[i]->procs[i]->site != run.at[i]->procs[k]->site)
                n += run.at[i]->procs[k]->sent;
    return n;
}

/* Four ranks to a site and two to a host; ranks go round the sites, so that neighbours are far away. */
static void settle(void)
{
    int i, k;

    for (i = 0; i < RANKS; i++)
        for (k = 0; k < RANKS; k++) {
            run.at[i]->procs[k]->site = k % SITES;
            run.at[i]->procs[k]->host = k / 6;
        }
}

enum call { BARRIER, BCAST, REDUCE, ALLREDUCE, CALLS };

static void build(struct ftm_schedule *s, enum call call, int rank, int root, int count)
{
    struct ftm *e = run.at[rank];
    struct ftm_reduction r;

    r.op = ftm_table_get(&e->handles, MPI_SUM, FTM_OP);
    r.type = engines_type(&run, rank, MPI_INT);
    r.count = (size_t)count;
    r.in = data[rank];
    r.out = call == ALLREDUCE || rank == root ? sums[rank] : NULL;
    if (call == BARRIER)
        ftm_coll_barrier(s);
    else if (call == BCAST)
        ftm_coll_bcast(s, data[rank], (size_t)count, r.type, root);
    else if (call == REDUCE)
        ftm_coll_reduce(s, &r, root);
    else
        ftm_coll_allreduce(s, &r);
}

static struct ftm_schedule *schedules[RANKS];

static int are_done(struct engines *s, void *arg)
{
    int i;

    (void)s;
    (void)arg;
    for (i = 0; i < RANKS; i++)
        if (!ftm_schedule_done(schedules[i]))
            return 0;
    return 1;
}

static int is_right(enum call call, int root, int count)
{
    int i, k, good = 1;

    for (i = 0; i < RANKS; i++)
        for (k = 0; k < count; k += 97) {
            if (call == BCAST)
                good = good && data[i][k] == root + k;
            if (call == ALLREDUCE || (call == REDUCE && i == root))
                good = good && sums[i][k] == RANKS * k + RANKS * (RANKS - 1) / 2;
        }
    return good;
}

/* One call by all; returns how many messages went from one site to another. */
static uint64_t collective(enum call call, int root, int count)
{
    uint64_t before = crossings();
    int i, k;

    for (i = 0; i < RANKS; i++)
        for (k = 0; k < count; k++) {
            data[i][k] = i + k;
            sums[i][k] = -1;
        }
    for (i = 0; i < RANKS; i++) {
        schedules[i] = ftm_schedule_new(run.at[i], run.at[i]->world);
        build(schedules[i], call, i, root, count);
        wrong += ftm_schedule_begin(schedules[i]) != 0;
    }
    wrong += !engines_until(&run, are_done, NULL);
    for (i = 0; i < RANKS; i++) {
        wrong += ftm_schedule_error(schedules[i]) != 0;
        ftm_schedule_free(schedules[i]);
    }
    wrong += !is_right(call, root, count);
    return crossings() - before;
}

/* The most that any root and size needs. Above the eager limit a message is a question, an answer and the
 * data, so crossings are counted below it. */
static uint64_t most(enum call call)
{
    static const int counts[] = {0, 1, 300, 12000};
    uint64_t high = 0, n;
    int i, root;

    for (i = 0; i < 4; i++)
        for (root = 0; root < RANKS; root++) {
            n = collective(call, root, call == BARRIER ? 0 : counts[i]);
            high = n > high ? n : high;
        }
    return high;
}

int main(int argc, char **argv)
{
    static const char *const names[CALLS] = {"Barrier", "Bcast", "Reduce", "Allreduce"};
    static const uint64_t limits[CALLS] = {4, 2, 2, 4};
    int bars = argc > 1 && strcmp(argv[1], "bars") == 0, i;
    struct ftm_config how;

    memset(&how, 0, sizeof how);
    for (i = 0; i < RANKS; i++) {
        data[i] = calloc(12000, sizeof(int));
        sums[i] = calloc(12000, sizeof(int));
    }
    if (!engines_begin(&run, RANKS, &how))
        return 1;
    settle();
    for (i = 0; i < CALLS; i++) {
        uint64_t n = most((enum call)i);
        if (bars)
            printf("bar\tmpi: messages over the walls of 3 sites in %s\t%d\t%d\t%s\n", names[i], (int)n,
                   (int)limits[i], n <= limits[i] ? "ok" : "short");
        else
            ok(n == limits[i], "%s over 3 sites: %d messages over walls", names[i], (int)n);
    }
    if (!bars)
        ok(wrong == 0, "and every result is right");
    engines_finish(&run);
    for (i = 0; i < RANKS; i++) {
        free(data[i]);
        free(sums[i]);
    }
    return bars ? wrong != 0 : test_end();
}
