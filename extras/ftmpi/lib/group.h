/* group.h - ordered sets of processes, and the calculations of MPI with them. */
#ifndef FTM_GROUP_H
#define FTM_GROUP_H

#include <stddef.h>

struct ftm;

/* Never changed after it was made, so that communicators and handles share one. Ranks are 0 .. size - 1; a
 * process is its index in e->procs. A rank whose process has failed may be a gap (FTMPI_COMM_MODE_BLANK). */
#define FTM_GAP (-3)
struct ftm_group {
    int refs;
    int size, rank;  /* of this process; MPI_UNDEFINED: it is not in it */
    int gaps;        /* ranks that are nobody's */
    int first, span; /* processes first .. first + span - 1 may be in it */
    int *proc;       /* by rank; FTM_GAP: nobody */
    int *rank_of;    /* by process - first; NULL: the process of rank r is first + r */
};

/* A group of these processes, in this order, each at most once but for gaps. NULL: no memory. */
struct ftm_group *ftm_group_new(struct ftm *e, const int *proc, int size);
/* Processes 0 .. size - 1. */
struct ftm_group *ftm_group_new_world(struct ftm *e, int size);
void ftm_group_drop(struct ftm *e, struct ftm_group *g);

/* MPI_UNDEFINED: it is not in the group, or no process. Takes the same time for each group. */
int ftm_group_rank_of(const struct ftm_group *g, int proc);

/* MPI_IDENT, MPI_SIMILAR or MPI_UNEQUAL. Gaps must be as many, and for MPI_IDENT at the same ranks. */
int ftm_group_compare(const struct ftm_group *a, const struct ftm_group *b);

/* Each returns an MPI class and, if that is 0, a new group. The first three leave gaps out, as no processes;
 * to include one is MPI_ERR_RANK; excl keeps those that it does not name. */
int ftm_group_union(struct ftm *e, const struct ftm_group *a, const struct ftm_group *b,
                    struct ftm_group **out);
int ftm_group_intersection(struct ftm *e, const struct ftm_group *a, const struct ftm_group *b,
                           struct ftm_group **out);
int ftm_group_difference(struct ftm *e, const struct ftm_group *a, const struct ftm_group *b,
                         struct ftm_group **out);
int ftm_group_incl(struct ftm *e, const struct ftm_group *g, int n, const int *ranks, struct ftm_group **out);
int ftm_group_excl(struct ftm *e, const struct ftm_group *g, int n, const int *ranks, struct ftm_group **out);

/* The ranks that n triples (first, last, stride) name, in order, as a new array of *count (give it back with
 * ftm_group_ranks_free). A rank that is not in the group, or a stride of 0: MPI_ERR_ARG or MPI_ERR_RANK. */
int ftm_group_ranges(struct ftm *e, const struct ftm_group *g, int n, int ranges[][3], int **ranks,
                     int *count);
void ftm_group_ranks_free(struct ftm *e, int *ranks, int count);

#endif
