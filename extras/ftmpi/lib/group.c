/* group.c - ordered sets of processes. */
#include "group.h"

#include <limits.h>

#include "engine.h"
#include "mpi.h"

static void group_free(struct ftm *e, struct ftm_group *g)
{
    ftm_mem_free(&e->mem, g->proc, (size_t)g->size * sizeof *g->proc);
    ftm_mem_free(&e->mem, g->rank_of, (size_t)g->span * sizeof *g->rank_of);
    ftm_mem_free(&e->mem, g, sizeof *g);
}

/* 1: the processes follow one another, so that a rank is a difference. */
static int group_measure(struct ftm_group *g)
{
    int i, first = INT_MAX, last = -1, dense = 1;

    for (i = 0; i < g->size; i++) {
        dense = dense && g->proc[i] == g->proc[0] + i;
        g->gaps += g->proc[i] == FTM_GAP;
        if (g->proc[i] == FTM_GAP)
            continue;
        first = g->proc[i] < first ? g->proc[i] : first;
        last = g->proc[i] > last ? g->proc[i] : last;
    }
    if (last < 0)
        return 1;
    g->first = first;
    g->span = last - first + 1;
    return dense && g->proc[0] != FTM_GAP;
}

static int group_index(struct ftm *e, struct ftm_group *g)
{
    int i;

    g->rank_of = ftm_mem_new(&e->mem, (size_t)g->span * sizeof *g->rank_of);
    if (g->rank_of == NULL)
        return 0;
    for (i = 0; i < g->span; i++)
        g->rank_of[i] = MPI_UNDEFINED;
    for (i = 0; i < g->size; i++)
        if (g->proc[i] != FTM_GAP)
            g->rank_of[g->proc[i] - g->first] = i;
    return 1;
}

/* A group of this size whose processes are still to be entered. */
static struct ftm_group *group_begin(struct ftm *e, int size)
{
    struct ftm_group *g = ftm_mem_new(&e->mem, sizeof *g);

    if (g == NULL)
        return NULL;
    g->refs = 1;
    g->proc = ftm_mem_new(&e->mem, (size_t)size * sizeof *g->proc);
    if (g->proc == NULL) {
        ftm_mem_free(&e->mem, g, sizeof *g);
        return NULL;
    }
    g->size = size;
    return g;
}

static struct ftm_group *group_end(struct ftm *e, struct ftm_group *g)
{
    if (!group_measure(g) && !group_index(e, g)) {
        group_free(e, g);
        return NULL;
    }
    g->rank = ftm_group_rank_of(g, e->self_proc);
    return g;
}

struct ftm_group *ftm_group_new(struct ftm *e, const int *proc, int size)
{
    struct ftm_group *g = group_begin(e, size);
    int i;

    if (g == NULL)
        return NULL;
    for (i = 0; i < size; i++)
        g->proc[i] = proc[i];
    return group_end(e, g);
}

struct ftm_group *ftm_group_new_world(struct ftm *e, int size)
{
    struct ftm_group *g = group_begin(e, size);
    int i;

    if (g == NULL)
        return NULL;
    for (i = 0; i < size; i++)
        g->proc[i] = i;
    return group_end(e, g);
}

void ftm_group_drop(struct ftm *e, struct ftm_group *g)
{
    if (g != NULL && --g->refs == 0)
        group_free(e, g);
}

int ftm_group_rank_of(const struct ftm_group *g, int proc)
{
    if (proc < g->first || proc >= g->first + g->span)
        return MPI_UNDEFINED;
    return g->rank_of != NULL ? g->rank_of[proc - g->first] : proc - g->first;
}

int ftm_group_compare(const struct ftm_group *a, const struct ftm_group *b)
{
    int i, result = MPI_IDENT;

    if (a->size != b->size || a->gaps != b->gaps)
        return MPI_UNEQUAL;
    for (i = 0; i < a->size; i++) {
        if (a->proc[i] != FTM_GAP && ftm_group_rank_of(b, a->proc[i]) == MPI_UNDEFINED)
            return MPI_UNEQUAL;
        if (a->proc[i] != b->proc[i])
            result = MPI_SIMILAR;
    }
    return result;
}

/* Those of a of whom `wanted` tells whether they must be in b, behind each other; and then those of b who
 * are not in a, if `all`. */
static int group_combine(struct ftm *e, const struct ftm_group *a, const struct ftm_group *b, int any,
                         int wanted,
                         int all, struct ftm_group **out)
{
    size_t bytes = ((size_t)a->size + (size_t)b->size) * sizeof(int);
    int *proc = ftm_mem_new(&e->mem, bytes);
    int i, n = 0;

    *out = NULL;
    if (proc == NULL)
        return MPI_ERR_INTERN;
    for (i = 0; i < a->size; i++)
        if (a->proc[i] != FTM_GAP
            && (any || (ftm_group_rank_of(b, a->proc[i]) != MPI_UNDEFINED) == wanted))
            proc[n++] = a->proc[i];
    for (i = 0; all && i < b->size; i++)
        if (b->proc[i] != FTM_GAP && ftm_group_rank_of(a, b->proc[i]) == MPI_UNDEFINED)
            proc[n++] = b->proc[i];
    *out = ftm_group_new(e, proc, n);
    ftm_mem_free(&e->mem, proc, bytes);
    return *out != NULL ? 0 : MPI_ERR_INTERN;
}

int ftm_group_union(struct ftm *e, const struct ftm_group *a, const struct ftm_group *b,
                    struct ftm_group **out)
{
    return group_combine(e, a, b, 1, 0, 1, out);
}

int ftm_group_intersection(struct ftm *e, const struct ftm_group *a, const struct ftm_group *b,
                           struct ftm_group **out)
{
    return group_combine(e, a, b, 0, 1, 0, out);
}

int ftm_group_difference(struct ftm *e, const struct ftm_group *a, const struct ftm_group *b,
                         struct ftm_group **out)
{
    return group_combine(e, a, b, 0, 0, 0, out);
}

/* Marks the ranks in seen[], one byte for each. A rank that does not exist, or comes twice, or is a gap where
 * these may not be: MPI_ERR_RANK. */
static int group_mark(const struct ftm_group *g, int n, const int *ranks, int gaps, char *seen)
{
    int i;

    for (i = 0; i < n; i++) {
        if (ranks[i] < 0 || ranks[i] >= g->size || seen[ranks[i]]
            || (!gaps && g->proc[ranks[i]] == FTM_GAP))
            return MPI_ERR_RANK;
        seen[ranks[i]] = 1;
    }
    return 0;
}

/* The ranks in their order, or the others in the group's order. */
static int group_pick(struct ftm *e, const struct ftm_group *g, int n, const int *ranks, const char *seen,
                      int excluded, struct ftm_group **out)
{
    struct ftm_group *made = group_begin(e, excluded ? g->size - n : n);
    int i, k = 0;

    if (made == NULL)
        return MPI_ERR_INTERN;
    for (i = 0; !excluded && i < n; i++)
        made->proc[i] = g->proc[ranks[i]];
    for (i = 0; excluded && i < g->size; i++)
        if (!seen[i])
            made->proc[k++] = g->proc[i];
    *out = group_end(e, made);
    return *out != NULL ? 0 : MPI_ERR_INTERN;
}

static int group_select(struct ftm *e, const struct ftm_group *g, int n, const int *ranks, int excluded,
                        struct ftm_group **out)
{
    char *seen = ftm_mem_new(&e->mem, (size_t)g->size);
    int rc;

    *out = NULL;
    if (seen == NULL)
        return MPI_ERR_INTERN;
    rc = group_mark(g, n, ranks, excluded, seen);
    if (rc == 0)
        rc = group_pick(e, g, n, ranks, seen, excluded, out);
    ftm_mem_free(&e->mem, seen, (size_t)g->size);
    return rc;
}

int ftm_group_incl(struct ftm *e, const struct ftm_group *g, int n, const int *ranks, struct ftm_group **out)
{
    return group_select(e, g, n, ranks, 0, out);
}

int ftm_group_excl(struct ftm *e, const struct ftm_group *g, int n, const int *ranks, struct ftm_group **out)
{
    return group_select(e, g, n, ranks, 1, out);
}

/* How many ranks a triple names; or an MPI class as a negative number. The last rank named must exist,
 * which `last` itself may not be. */
static int group_range(const struct ftm_group *g, const int r[3])
{
    long long steps;

    if (r[2] == 0)
        return -MPI_ERR_ARG;
    steps = ((long long)r[1] - r[0]) / r[2];
    if ((r[2] > 0 && r[1] < r[0]) || (r[2] < 0 && r[1] > r[0]))
        return -MPI_ERR_ARG;
    if (r[0] < 0 || r[0] >= g->size || r[0] + steps * r[2] < 0 || r[0] + steps * r[2] >= g->size)
        return -MPI_ERR_RANK;
    return (int)steps + 1;
}

int ftm_group_ranges(struct ftm *e, const struct ftm_group *g, int n, int ranges[][3], int **ranks,
                     int *count)
{
    long long total = 0;
    int i, k, m, at = 0;

    *ranks = NULL;
    for (i = 0; i < n; i++) {
        m = group_range(g, ranges[i]);
        if (m < 0)
            return -m;
        total += m;
    }
    if (total > g->size)
        return MPI_ERR_RANK; /* one of them comes twice */
    *count = (int)total;
    *ranks = ftm_mem_new(&e->mem, (size_t)total * sizeof **ranks);
    if (*ranks == NULL)
        return MPI_ERR_INTERN;
    for (i = 0; i < n; i++)
        for (k = group_range(g, ranges[i]), m = 0; m < k; m++)
            (*ranks)[at++] = ranges[i][0] + m * ranges[i][2];
    return 0;
}

void ftm_group_ranks_free(struct ftm *e, int *ranks, int count)
{
    ftm_mem_free(&e->mem, ranks, (size_t)count * sizeof *ranks);
}
