/* mpi_group.c - the calls with groups. */
#include "comm.h"
#include "group.h"
#include "mpi_call.h"

static int group_check(const char *call, const char *name, MPI_Group handle, struct ftm_group **group)
{
    int rc = ftm_check_init(call);

    if (rc != 0)
        return rc;
    *group = ftm_table_get(&ftm_this->handles, handle, FTM_GROUP);
    return *group != NULL ? 0 : ftm_fail(NULL, MPI_ERR_GROUP, call, name, handle);
}

/* Gives a new group its handle, or tells the error. There is one empty group. */
static int group_give(const char *call, int rc, struct ftm_group *g, MPI_Group *newgroup)
{
    *newgroup = MPI_GROUP_NULL;
    if (rc == 0 && g->size == 0) {
        ftm_group_drop(ftm_this, g);
        *newgroup = MPI_GROUP_EMPTY;
        return MPI_SUCCESS;
    }
    if (rc == 0 && ftm_table_add(&ftm_this->handles, FTM_GROUP, g, newgroup) != 0) {
        ftm_group_drop(ftm_this, g);
        rc = MPI_ERR_INTERN;
    }
    return rc == 0 ? MPI_SUCCESS : ftm_fail(NULL, rc, call, NULL, 0);
}

static int group_ask(const char *call, MPI_Group group, const void *out, struct ftm_group **g)
{
    int rc = group_check(call, "group", group, g);

    return rc != 0 ? rc : ftm_check_pointer(call, NULL, "the result", out);
}

FTM_ALIAS(Group_size)
int FTM_CALL(Group_size)(MPI_Group group, int *size)
{
    struct ftm_group *g;
    int rc = group_ask("MPI_Group_size", group, size, &g);

    if (rc == 0)
        *size = g->size;
    return rc;
}

FTM_ALIAS(Group_rank)
int FTM_CALL(Group_rank)(MPI_Group group, int *rank)
{
    struct ftm_group *g;
    int rc = group_ask("MPI_Group_rank", group, rank, &g);

    if (rc == 0)
        *rank = g->rank;
    return rc;
}

static int group_check_both(const char *call, MPI_Group group1, MPI_Group group2, const void *out,
                            struct ftm_group **a, struct ftm_group **b)
{
    int rc = group_check(call, "group1", group1, a);

    if (rc == 0)
        rc = group_check(call, "group2", group2, b);
    return rc != 0 ? rc : ftm_check_pointer(call, NULL, "the result", out);
}

FTM_ALIAS(Group_translate_ranks)
int FTM_CALL(Group_translate_ranks)(MPI_Group group1, int n, const int *ranks1, MPI_Group group2, int *ranks2)
{
    static const char call[] = "MPI_Group_translate_ranks";
    struct ftm_group *a, *b;
    int i, rc = group_check_both(call, group1, group2, n > 0 && ranks1 == NULL ? NULL : &n, &a, &b);

    if (rc != 0)
        return rc;
    if (n < 0)
        return ftm_fail(NULL, MPI_ERR_ARG, call, "n", n);
    if (n > 0 && (rc = ftm_check_pointer(call, NULL, "ranks2", ranks2)) != 0)
        return rc;
    for (i = 0; i < n; i++)
        if (ranks1[i] != MPI_PROC_NULL && (ranks1[i] < 0 || ranks1[i] >= a->size))
            return ftm_fail(NULL, MPI_ERR_RANK, call, "a rank", ranks1[i]);
    for (i = 0; i < n; i++)
        ranks2[i] = ranks1[i] == MPI_PROC_NULL ? MPI_PROC_NULL : ftm_group_rank_of(b, a->proc[ranks1[i]]);
    return MPI_SUCCESS;
}

FTM_ALIAS(Group_compare)
int FTM_CALL(Group_compare)(MPI_Group group1, MPI_Group group2, int *result)
{
    struct ftm_group *a, *b;
    int rc = group_check_both("MPI_Group_compare", group1, group2, result, &a, &b);

    if (rc == 0)
        *result = ftm_group_compare(a, b);
    return rc;
}

typedef int group_combination(struct ftm *e, const struct ftm_group *a, const struct ftm_group *b,
                              struct ftm_group **out);

static int group_combine(const char *call, group_combination *combine, MPI_Group group1, MPI_Group group2,
                         MPI_Group *newgroup)
{
    struct ftm_group *a, *b, *g = NULL;
    int rc = group_check_both(call, group1, group2, newgroup, &a, &b);

    if (rc != 0)
        return rc;
    rc = combine(ftm_this, a, b, &g);
    return group_give(call, rc, g, newgroup);
}

FTM_ALIAS(Group_union)
int FTM_CALL(Group_union)(MPI_Group group1, MPI_Group group2, MPI_Group *newgroup)
{
    return group_combine("MPI_Group_union", ftm_group_union, group1, group2, newgroup);
}

FTM_ALIAS(Group_intersection)
int FTM_CALL(Group_intersection)(MPI_Group group1, MPI_Group group2, MPI_Group *newgroup)
{
    return group_combine("MPI_Group_intersection", ftm_group_intersection, group1, group2, newgroup);
}

FTM_ALIAS(Group_difference)
int FTM_CALL(Group_difference)(MPI_Group group1, MPI_Group group2, MPI_Group *newgroup)
{
    return group_combine("MPI_Group_difference", ftm_group_difference, group1, group2, newgroup);
}

typedef int group_selection(struct ftm *e, const struct ftm_group *g, int n, const int *ranks,
                            struct ftm_group **out);

static int group_check_list(const char *call, MPI_Group group, int n, const void *list, const void *newgroup,
                            struct ftm_group **g)
{
    int rc = group_ask(call, group, newgroup, g);

    if (rc == 0 && n < 0)
        rc = ftm_fail(NULL, MPI_ERR_ARG, call, "n", n);
    if (rc == 0 && n > 0)
        rc = ftm_check_pointer(call, NULL, "the list of ranks", list);
    return rc;
}

static int group_select(const char *call, group_selection *select, MPI_Group group, int n, const int *ranks,
                        MPI_Group *newgroup)
{
    struct ftm_group *old, *g = NULL;
    int rc = group_check_list(call, group, n, ranks, newgroup, &old);

    if (rc != 0)
        return rc;
    rc = select(ftm_this, old, n, ranks, &g);
    return group_give(call, rc, g, newgroup);
}

FTM_ALIAS(Group_incl)
int FTM_CALL(Group_incl)(MPI_Group group, int n, const int *ranks, MPI_Group *newgroup)
{
    return group_select("MPI_Group_incl", ftm_group_incl, group, n, ranks, newgroup);
}

FTM_ALIAS(Group_excl)
int FTM_CALL(Group_excl)(MPI_Group group, int n, const int *ranks, MPI_Group *newgroup)
{
    return group_select("MPI_Group_excl", ftm_group_excl, group, n, ranks, newgroup);
}

static int group_select_ranges(const char *call, group_selection *select, MPI_Group group, int n,
                               int ranges[][3],
                               MPI_Group *newgroup)
{
    struct ftm_group *old, *g = NULL;
    int rc = group_check_list(call, group, n, ranges, newgroup, &old), count = 0, *ranks;

    if (rc != 0)
        return rc;
    rc = ftm_group_ranges(ftm_this, old, n, ranges, &ranks, &count);
    if (rc == 0)
        rc = select(ftm_this, old, count, ranks, &g);
    ftm_group_ranks_free(ftm_this, ranks, count);
    return group_give(call, rc, g, newgroup);
}

FTM_ALIAS(Group_range_incl)
int FTM_CALL(Group_range_incl)(MPI_Group group, int n, int ranges[][3], MPI_Group *newgroup)
{
    return group_select_ranges("MPI_Group_range_incl", ftm_group_incl, group, n, ranges, newgroup);
}

FTM_ALIAS(Group_range_excl)
int FTM_CALL(Group_range_excl)(MPI_Group group, int n, int ranges[][3], MPI_Group *newgroup)
{
    return group_select_ranges("MPI_Group_range_excl", ftm_group_excl, group, n, ranges, newgroup);
}

FTM_ALIAS(Group_free)
int FTM_CALL(Group_free)(MPI_Group *group)
{
    static const char call[] = "MPI_Group_free";
    struct ftm_group *g;
    int rc = ftm_check_init(call);

    if (rc != 0 || (rc = ftm_check_pointer(call, NULL, "group", group)) != 0 ||
        (rc = group_check(call, "group", *group, &g)) != 0)
        return rc;
    if (*group != MPI_GROUP_EMPTY) {
        ftm_table_remove(&ftm_this->handles, *group, FTM_GROUP);
        ftm_group_drop(ftm_this, g);
    }
    *group = MPI_GROUP_NULL;
    return MPI_SUCCESS;
}

/* A new handle of the communicator's own group. */
static int group_of(const char *call, struct ftm_group *g, MPI_Group *group)
{
    g->refs++;
    return group_give(call, 0, g, group);
}

FTM_ALIAS(Comm_group)
int FTM_CALL(Comm_group)(MPI_Comm comm, MPI_Group *group)
{
    static const char call[] = "MPI_Comm_group";
    struct ftm_comm *c;
    int rc = ftm_check_comm(call, comm, &c);

    if (rc != 0 || (rc = ftm_check_pointer(call, c, "group", group)) != 0)
        return rc;
    return group_of(call, c->group, group);
}

FTM_ALIAS(Comm_remote_group)
int FTM_CALL(Comm_remote_group)(MPI_Comm comm, MPI_Group *group)
{
    static const char call[] = "MPI_Comm_remote_group";
    struct ftm_comm *c;
    int rc = ftm_check_comm(call, comm, &c);

    if (rc != 0 || (rc = ftm_check_pointer(call, c, "group", group)) != 0)
        return rc;
    if (c->remote == NULL)
        return ftm_fail(c, MPI_ERR_COMM, call, "comm (not an intercommunicator)", comm);
    return group_of(call, c->remote, group);
}
