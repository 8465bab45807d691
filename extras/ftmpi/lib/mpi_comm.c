/* mpi_comm.c - the calls that make communicators and tell about them. */
#include <stdlib.h>
#include <string.h>

#include "coll.h"
#include "comm.h"
#include "fault.h"
#include "mpi_call.h"
#include "recover.h"

static int comm_ask(const char *call, MPI_Comm comm, const void *out, struct ftm_comm **c)
{
    int rc = ftm_check_comm(call, comm, c);

    return rc != 0 ? rc : ftm_check_pointer(call, *c, "the result", out);
}

/* As comm_ask, and what is made is nothing so far. inter 0: comm may not be an intercommunicator. */
static int comm_check_make(const char *call, MPI_Comm comm, MPI_Comm *newcomm, int inter, struct ftm_comm **c)
{
    int rc = comm_ask(call, comm, newcomm, c);

    if (rc != 0)
        return rc;
    *newcomm = MPI_COMM_NULL;
    if (!inter && (*c)->remote != NULL)
        return ftm_fail(*c, MPI_ERR_COMM, call, "comm (an intercommunicator)", comm);
    return 0;
}

/* Gives out what was made (NULL: nothing for this process), or tells the error. */
static int comm_give(const char *call, struct ftm_comm *parent, int rc, const struct ftm_comm *made,
                     MPI_Comm *newcomm)
{
    if (rc != 0)
        return ftm_fail(parent, rc, call, NULL, 0);
    *newcomm = made != NULL ? made->handle : MPI_COMM_NULL;
    return MPI_SUCCESS;
}

FTM_ALIAS(Comm_size)
int FTM_CALL(Comm_size)(MPI_Comm comm, int *size)
{
    struct ftm_comm *c;
    int rc = comm_ask("MPI_Comm_size", comm, size, &c);

    if (rc == 0)
        *size = c->size;
    return rc;
}

FTM_ALIAS(Comm_rank)
int FTM_CALL(Comm_rank)(MPI_Comm comm, int *rank)
{
    struct ftm_comm *c;
    int rc = comm_ask("MPI_Comm_rank", comm, rank, &c);

    if (rc == 0)
        *rank = c->rank;
    return rc;
}

FTM_ALIAS(Comm_test_inter)
int FTM_CALL(Comm_test_inter)(MPI_Comm comm, int *flag)
{
    struct ftm_comm *c;
    int rc = comm_ask("MPI_Comm_test_inter", comm, flag, &c);

    if (rc == 0)
        *flag = c->remote != NULL;
    return rc;
}

FTM_ALIAS(Comm_remote_size)
int FTM_CALL(Comm_remote_size)(MPI_Comm comm, int *size)
{
    static const char call[] = "MPI_Comm_remote_size";
    struct ftm_comm *c;
    int rc = comm_ask(call, comm, size, &c);

    if (rc != 0)
        return rc;
    if (c->remote == NULL)
        return ftm_fail(c, MPI_ERR_COMM, call, "comm (not an intercommunicator)", comm);
    *size = c->remote->size;
    return MPI_SUCCESS;
}

static int comm_compare(const struct ftm_comm *a, const struct ftm_comm *b)
{
    int local, remote = MPI_IDENT;

    if (a == b)
        return MPI_IDENT;
    if ((a->remote == NULL) != (b->remote == NULL))
        return MPI_UNEQUAL;
    local = ftm_group_compare(a->group, b->group);
    if (a->remote != NULL)
        remote = ftm_group_compare(a->remote, b->remote);
    if (local == MPI_UNEQUAL || remote == MPI_UNEQUAL)
        return MPI_UNEQUAL;
    return local == MPI_SIMILAR || remote == MPI_SIMILAR ? MPI_SIMILAR : MPI_CONGRUENT;
}

FTM_ALIAS(Comm_compare)
int FTM_CALL(Comm_compare)(MPI_Comm comm1, MPI_Comm comm2, int *result)
{
    struct ftm_comm *a, *b;
    int rc = comm_ask("MPI_Comm_compare", comm1, result, &a);

    if (rc != 0 || (rc = ftm_check_comm("MPI_Comm_compare", comm2, &b)) != 0)
        return rc;
    *result = comm_compare(a, b);
    return MPI_SUCCESS;
}

/* ---- Making ---------------------------------------------------------------------------------------- */

/* What leaders tell each other about their groups. */
struct comm_facts {
    uint32_t context;
    int32_t size, high;
};

/* Through an intercommunicator: both leaders are its ranks 0. */
static int comm_cross(struct ftm_comm *c, const struct comm_facts *mine, struct comm_facts *theirs)
{
    struct ftm_comm_bridge b = { c->local, 0, c, 1, 0, 0 };

    b.tag = (int)(c->collectives++ & 0x7fffffff);
    return ftm_comm_exchange(ftm_this, &b, mine, sizeof *mine, theirs, sizeof *theirs);
}

static int comm_agree_both(struct ftm_comm *c, uint32_t *context, int high, int *other_high)
{
    struct comm_facts mine = { 0, 0, 0 }, theirs = { 0, 0, 0 };
    int rc = ftm_comm_agree(ftm_this, c->local, &mine.context);

    if (rc != 0)
        return rc;
    mine.high = high;
    rc = comm_cross(c, &mine, &theirs);
    *context = mine.context > theirs.context ? mine.context : theirs.context;
    *other_high = theirs.high;
    return rc;
}

static int comm_dup(struct ftm_comm *c, struct ftm_comm **out)
{
    struct ftm_comm_parts parts = { c, 0, c->group, NULL, c->topo, 0 };
    int high, rc;

    *out = NULL;
    if (c->remote != NULL) {
        rc = comm_agree_both(c, &parts.context, 0, &high);
        return rc != 0 ? rc : ftm_comm_new_inter(ftm_this, c, parts.context, c->group, c->remote, out);
    }
    rc = ftm_comm_agree(ftm_this, c, &parts.context);
    return rc != 0 ? rc : ftm_comm_new(ftm_this, &parts, out);
}

/* After failures a call may recover the communicator: then it goes on with the successor, which *c is from
 * then on; the old one may be gone. An intercommunicator cannot be recovered. */
static int comm_recover(struct ftm_comm **c)
{
    struct ftm_comm *now;
    int rc;

    if ((*c)->remote != NULL && (*c)->fault.state != FT_OK)
        return MPI_ERR_COMM;
    if (!ftm_recover_is_due(ftm_this, *c))
        return 0;
    rc = ftm_recover_call(ftm_this, *c, &now);
    if (rc == 0)
        *c = now;
    return rc;
}

/* check: the program wants a recovery if anybody has failed, also if it was not told. */
static int comm_dup_or_recover(struct ftm_comm **c, int check, struct ftm_comm **made)
{
    struct ftm_comm *from = *c;
    int rc = comm_recover(c);

    *made = *c;
    if (rc != 0 || *c != from)
        return rc;
    rc = comm_dup(*c, made);
    if (!check || !ftm_fault_is(rc) || !ftm_recover_is_due(ftm_this, *c))
        return rc;
    rc = comm_recover(c);
    *made = *c;
    return rc;
}

/* The program's copy functions run when the duplicate is whole. MPI_COMM_WORLD is recovered in place, and
 * keeps what it has. */
FTM_ALIAS(Comm_dup)
int FTM_CALL(Comm_dup)(MPI_Comm comm, MPI_Comm *newcomm)
{
    static const char call[] = "MPI_Comm_dup";
    struct ftm_comm *c, *made = NULL, *from;
    int check, rc = comm_ask(call, comm, newcomm, &c);

    if (rc != 0)
        return rc;
    check = ftm_recover_is_on(ftm_this, c) && *newcomm == FT_MPI_CHECK_RECOVER;
    if ((rc = comm_check_make(call, comm, newcomm, 1, &c)) != 0)
        return rc;
    from = c;
    rc = comm_dup_or_recover(&c, check, &made);
    if (rc == 0 && made != ftm_this->world && (rc = ftm_attr_copy_all(ftm_this, from, made)) != 0) {
        ftm_attr_delete_all(ftm_this, made);
        ftm_comm_free(ftm_this, made);
        c = from;
    }
    return comm_give(call, c, rc, made, newcomm);
}

FTM_ALIAS(Comm_create)
int FTM_CALL(Comm_create)(MPI_Comm comm, MPI_Group group, MPI_Comm *newcomm)
{
    static const char call[] = "MPI_Comm_create";
    struct ftm_comm *c, *made;
    struct ftm_group *g;
    int i, rc = comm_check_make(call, comm, newcomm, 0, &c);

    if (rc != 0)
        return rc;
    if ((rc = comm_recover(&c)) != 0)
        return ftm_fail(c, rc, call, "comm", comm);
    g = ftm_table_get(&ftm_this->handles, group, FTM_GROUP);
    for (i = 0; g != NULL && i < g->size; i++)
        if (ftm_group_rank_of(c->group, g->proc[i]) == MPI_UNDEFINED)
            return ftm_fail(c, MPI_ERR_GROUP, call, "group (not within comm)", group);
    if (g == NULL)
        return ftm_fail(c, MPI_ERR_GROUP, call, "group", group);
    rc = ftm_comm_sub(ftm_this, c, g, NULL, &made);
    return comm_give(call, c, rc, made, newcomm);
}

/* What each member says in a split, and who it is. */
struct comm_choice {
    uint32_t context;
    int32_t color, key, rank;
};

static int comm_by_key(const void *a, const void *b)
{
    const struct comm_choice *x = a, *y = b;

    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return x->rank < y->rank ? -1 : x->rank > y->rank;
}

/* Puts those of one color to the front, sorted; their processes into proc. Returns how many. */
static int comm_pick(const struct ftm_comm *c, struct comm_choice *all, int color, int *proc)
{
    int i, n = 0;

    for (i = 0; i < c->size; i++)
        if (c->group->proc[i] != FTM_GAP && all[i].color == color)
            all[n++] = all[i];
    qsort(all, (size_t)n, sizeof *all, comm_by_key);
    for (i = 0; i < n; i++)
        proc[i] = c->group->proc[all[i].rank];
    return n;
}

static int comm_split(struct ftm_comm *c, struct comm_choice *all, int *proc, int color, int key,
                      struct ftm_comm **out)
{
    struct ftm_comm_parts parts = { c, 0, NULL, NULL, NULL, 0 };
    struct comm_choice mine = { ftm_this->contexts.next, color, key, c->rank };
    int i, rc = ftm_coll_allgather_bytes(ftm_this, c, &mine, sizeof mine, all);

    for (i = 0; rc == 0 && i < c->size; i++)
        if (all[i].context > parts.context)
            parts.context = all[i].context;
    if (ftm_recover_is_on(ftm_this, c))
        rc = ftm_recover_create(ftm_this, c, rc, &parts.context);
    if (rc != 0 || color == MPI_UNDEFINED)
        return rc;
    parts.group = ftm_group_new(ftm_this, proc, comm_pick(c, all, color, proc));
    rc = parts.group != NULL ? ftm_comm_new(ftm_this, &parts, out) : MPI_ERR_INTERN;
    ftm_group_drop(ftm_this, parts.group);
    return rc;
}

int ftm_comm_split(struct ftm_comm *c, int color, int key, struct ftm_comm **out)
{
    size_t all_size = (size_t)c->size * sizeof(struct comm_choice), proc_size = (size_t)c->size * sizeof(int);
    struct comm_choice *all = ftm_mem_new(&ftm_this->mem, all_size);
    int rc, *proc = ftm_mem_new(&ftm_this->mem, proc_size);

    *out = NULL;
    rc = all != NULL && proc != NULL ? comm_split(c, all, proc, color, key, out) : MPI_ERR_INTERN;
    ftm_mem_free(&ftm_this->mem, all, all_size);
    ftm_mem_free(&ftm_this->mem, proc, proc_size);
    return rc;
}

FTM_ALIAS(Comm_split)
int FTM_CALL(Comm_split)(MPI_Comm comm, int color, int key, MPI_Comm *newcomm)
{
    static const char call[] = "MPI_Comm_split";
    struct ftm_comm *c, *made;
    int rc = comm_check_make(call, comm, newcomm, 0, &c);

    if (rc != 0)
        return rc;
    if (color < 0 && color != MPI_UNDEFINED)
        return ftm_fail(c, MPI_ERR_ARG, call, "color", color);
    if ((rc = comm_recover(&c)) != 0)
        return ftm_fail(c, rc, call, "comm", comm);
    rc = ftm_comm_split(c, color, key, &made);
    return comm_give(call, c, rc, made, newcomm);
}

/* The program's delete functions run first; if one fails the communicator stays. */
FTM_ALIAS(Comm_free)
int FTM_CALL(Comm_free)(MPI_Comm *comm)
{
    static const char call[] = "MPI_Comm_free";
    struct ftm_comm *c;
    int rc = ftm_check_init(call);

    if (rc != 0 || (rc = ftm_check_pointer(call, NULL, "comm", comm)) != 0 ||
        (rc = ftm_check_comm(call, *comm, &c)) != 0)
        return rc;
    if (c == ftm_this->world && c->generation > 0) { /* the duplicate of a world that was recovered */
        *comm = MPI_COMM_NULL;
        return MPI_SUCCESS;
    }
    if (c == ftm_this->world || c == ftm_this->self)
        return ftm_fail(c, MPI_ERR_COMM, call, "comm (predefined)", *comm);
    rc = ftm_attr_delete_all(ftm_this, c);
    if (rc != 0)
        return ftm_fail(c, rc, call, "an attribute of comm", *comm);
    ftm_comm_free(ftm_this, c);
    *comm = MPI_COMM_NULL;
    return MPI_SUCCESS;
}

/* ---- Intercommunicators ---------------------------------------------------------------------------- */

/* 1: no process is in both. */
static int comm_disjoint(const struct ftm_group *a, const struct ftm_group *b)
{
    int i;

    for (i = 0; i < b->size; i++)
        if (ftm_group_rank_of(a, b->proc[i]) != MPI_UNDEFINED)
            return 0;
    return 1;
}

/* The list of the remote processes, which are checked since another process sent them, as a group. */
static int comm_remote_group(const struct ftm_comm_bridge *b, int size, int *proc, struct ftm_group **out)
{
    struct ftm_group *own = b->local->group;
    size_t n = (size_t)own->size + (size_t)size;
    uint64_t *mine = ftm_mem_new(&ftm_this->mem, n * sizeof *mine), *theirs = mine + own->size;
    struct ftm_proc *p;
    int i, rc = mine != NULL ? 0 : MPI_ERR_INTERN;

    for (i = 0; rc == 0 && i < own->size; i++)
        mine[i] = own->proc[i] >= 0 ? FTM_WHO(ftm_this->procs[own->proc[i]]->name) : UINT64_MAX;
    if (rc == 0)
        rc = ftm_comm_exchange(ftm_this, b, mine, (size_t)own->size * sizeof *mine, theirs,
                               (size_t)size * sizeof *mine);
    for (i = 0; rc == 0 && i < size; i++) {
        p = theirs[i] <= FTM_WHO(UINT64_MAX) ? ftm_proc_find(ftm_this, FTM_RANK(theirs[i]),
                                                             FTM_LIFE(theirs[i])) : NULL;
        if (p == NULL && theirs[i] != UINT64_MAX)
            rc = MPI_ERR_INTERN;
        proc[i] = p != NULL ? p->index : FTM_GAP;
    }
    ftm_mem_free(&ftm_this->mem, mine, n * sizeof *mine);
    if (rc == 0 && (*out = ftm_group_new(ftm_this, proc, size)) == NULL)
        rc = MPI_ERR_INTERN;
    return rc;
}

static int comm_connect(const struct ftm_comm_bridge *b, struct ftm_comm **out)
{
    struct comm_facts mine = { 0, b->local->size, 0 }, theirs = { 0, 0, 0 };
    struct ftm_group *remote = NULL;
    int *proc = NULL, rc = ftm_comm_agree(ftm_this, b->local, &mine.context);

    if (rc == 0)
        rc = ftm_comm_exchange(ftm_this, b, &mine, sizeof mine, &theirs, sizeof theirs);
    if (rc == 0 && (theirs.size < 1 || theirs.size > ftm_this->config.size))
        rc = MPI_ERR_INTERN;
    if (rc == 0 && (proc = ftm_mem_new(&ftm_this->mem, (size_t)theirs.size * sizeof *proc)) == NULL)
        rc = MPI_ERR_INTERN;
    if (rc == 0)
        rc = comm_remote_group(b, theirs.size, proc, &remote);
    if (rc == 0 && !comm_disjoint(b->local->group, remote))
        rc = MPI_ERR_COMM;
    if (rc == 0)
        rc = ftm_comm_new_inter(ftm_this, b->local, mine.context > theirs.context ? mine.context
                                : theirs.context,
                                b->local->group, remote, out);
    ftm_mem_free(&ftm_this->mem, proc, (size_t)theirs.size * sizeof *proc);
    ftm_group_drop(ftm_this, remote);
    return rc;
}

FTM_ALIAS(Intercomm_create)
int FTM_CALL(Intercomm_create)(MPI_Comm local_comm, int local_leader, MPI_Comm peer_comm, int remote_leader,
                               int tag,
                               MPI_Comm *newintercomm)
{
    static const char call[] = "MPI_Intercomm_create";
    struct ftm_comm *c, *made = NULL;
    struct ftm_comm_bridge b = { NULL, local_leader, NULL, 0, remote_leader, tag };
    int rc = comm_check_make(call, local_comm, newintercomm, 0, &c);

    if (rc != 0)
        return rc;
    if (local_leader < 0 || local_leader >= c->size)
        return ftm_fail(c, MPI_ERR_RANK, call, "local_leader", local_leader);
    if (tag < 0)
        return ftm_fail(c, MPI_ERR_TAG, call, "tag", tag);
    b.local = c;
    b.between = ftm_table_get(&ftm_this->handles, peer_comm, FTM_COMM);
    rc = comm_connect(&b, &made);
    if (ftm_fault_is(rc) && b.between != NULL)
        ftm_fault_tell(ftm_this, b.between, -1);
    return comm_give(call, c, rc, made, newintercomm);
}

/* Places in e->procs are each process's own; seats are the same for all. */
static int comm_first_seat(const struct ftm_group *g)
{
    int i = 0;

    while (i < g->size - 1 && g->proc[i] < 0)
        i++;
    return g->proc[i] >= 0 ? ftm_this->procs[g->proc[i]]->seat : ftm_this->config.size;
}

/* The side that said high comes last; if both said the same, the one whose first process comes first in the
 * world does so here. */
static int comm_merge(struct ftm_comm *c, int high, struct ftm_comm **out)
{
    struct ftm_comm_parts parts = { c, 0, NULL, NULL, NULL, 0 };
    int other = 0, rc = comm_agree_both(c, &parts.context, high, &other), last;

    if (rc != 0)
        return rc;
    last = high != other ? high : comm_first_seat(c->group) > comm_first_seat(c->remote);
    rc = ftm_group_union(ftm_this, last ? c->remote : c->group, last ? c->group : c->remote, &parts.group);
    if (rc == 0)
        rc = ftm_comm_new(ftm_this, &parts, out);
    ftm_group_drop(ftm_this, parts.group);
    return rc;
}

FTM_ALIAS(Intercomm_merge)
int FTM_CALL(Intercomm_merge)(MPI_Comm intercomm, int high, MPI_Comm *newintracomm)
{
    static const char call[] = "MPI_Intercomm_merge";
    struct ftm_comm *c, *made = NULL;
    int32_t told = high != 0;
    int rc = comm_check_make(call, intercomm, newintracomm, 1, &c);

    if (rc != 0)
        return rc;
    if (c->remote == NULL)
        return ftm_fail(c, MPI_ERR_COMM, call, "intercomm (not an intercommunicator)", intercomm);
    rc = ftm_coll_bcast_bytes(ftm_this, c->local, &told, sizeof told, 0); /* what rank 0 says counts */
    if (rc == 0)
        rc = comm_merge(c, told, &made);
    return comm_give(call, c, rc, made, newintracomm);
}

/* ---- Names ----------------------------------------------------------------------------------------- */

FTM_ALIAS(Comm_set_name)
int FTM_CALL(Comm_set_name)(MPI_Comm comm, const char *name)
{
    struct ftm_comm *c;
    size_t n;
    int rc = comm_ask("MPI_Comm_set_name", comm, name, &c);

    if (rc != 0)
        return rc;
    n = strlen(name);
    n = n < sizeof c->name ? n : sizeof c->name - 1;
    memcpy(c->name, name, n);
    c->name[n] = 0;
    return MPI_SUCCESS;
}

FTM_ALIAS(Comm_get_name)
int FTM_CALL(Comm_get_name)(MPI_Comm comm, char *name, int *resultlen)
{
    struct ftm_comm *c;
    int rc = comm_ask("MPI_Comm_get_name", comm, name, &c);

    if (rc != 0 || (rc = ftm_check_pointer("MPI_Comm_get_name", c, "resultlen", resultlen)) != 0)
        return rc;
    *resultlen = (int)strlen(c->name);
    memcpy(name, c->name, (size_t)*resultlen + 1);
    return MPI_SUCCESS;
}
