/* mpi_comm.c - the calls that make communicators and tell about them. */
#include <stdlib.h>
#include <string.h>

#include "coll.h"
#include "comm.h"
#include "fault.h"
#include "mpi_call.h"
#include "recover.h"
#include "vote.h"

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

static int comm_dup(struct ftm_comm *c, struct ftm_comm **out)
{
    struct ftm_comm_parts parts = { c, 0, c->group, NULL, c->topo, 0 };
    int rc = ftm_comm_agree(ftm_this, c, &parts.context);

    *out = NULL;
    if (rc == 0 && c->remote != NULL)
        rc = ftm_comm_new_inter(ftm_this, c, parts.context, c->group, c->remote, out);
    else if (rc == 0)
        rc = ftm_comm_new(ftm_this, &parts, out);
    return rc;
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
    check = ftm_recover_is_on(c) && *newcomm == FT_MPI_CHECK_RECOVER;
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
    int32_t color, key, rank, votes;
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
    struct comm_choice mine = { ftm_this->contexts.next, color, key, c->rank, ftm_recover_is_on(c) };
    int i, votes = mine.votes, rc = ftm_coll_allgather_bytes(ftm_this, c, &mine, sizeof mine, all);

    for (i = 0; rc == 0 && i < c->size; i++) {
        votes |= c->group->proc[i] != FTM_GAP && all[i].votes;
        if (all[i].context > parts.context)
            parts.context = all[i].context;
    }
    if (votes)
        rc = ftm_recover_create(ftm_this, c, rc, &parts.context, NULL);
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

/* What a leader says of its group: the context, how they name what they agree upon with the others, and who
 * is in it. */
enum { OFFER_HEAD = 3 };

/* Returns the bytes. */
static size_t comm_offer(const struct ftm_group *own, uint32_t context, const struct ftm_vote_side *name,
                         uint64_t *offer)
{
    int i;

    offer[0] = context;
    offer[1] = name->context | (uint64_t)name->generation << 32;
    offer[2] = name->number;
    for (i = 0; i < own->size; i++)
        offer[OFFER_HEAD + i] = own->proc[i] >= 0 ? FTM_WHO(ftm_this->procs[own->proc[i]]->name) : UINT64_MAX;
    return (OFFER_HEAD + (size_t)own->size) * sizeof *offer;
}

struct comm_connection {
    uint64_t *mine, *theirs;
    int *proc;
    struct ftm_group *remote;
    uint32_t context;
    struct ftm_vote_side own, other;
};

/* The other group, which is checked since another process sent it. */
static int comm_remote_group(struct comm_connection *c, size_t bytes)
{
    const uint64_t *offer = c->theirs;
    size_t i, n = bytes / sizeof *offer;
    const struct ftm_proc *p;

    if (n <= OFFER_HEAD || bytes % sizeof *offer != 0 || (uint32_t)offer[0] > FTM_CONTEXT_MAX
        || (uint32_t)offer[1] > FTM_CONTEXT_MAX || offer[2] > FTM_TAG_MAX)
        return MPI_ERR_INTERN;
    c->other.context = (uint32_t)offer[1];
    c->other.generation = (uint32_t)(offer[1] >> 32);
    c->other.number = (uint32_t)offer[2];
    for (i = OFFER_HEAD; i < n; i++) {
        p = offer[i] <= FTM_WHO(UINT64_MAX) ? ftm_proc_find(ftm_this, FTM_RANK(offer[i]), FTM_LIFE(offer[i]))
                                            : NULL;
        if (p == NULL && offer[i] != UINT64_MAX)
            return MPI_ERR_INTERN;
        c->proc[i - OFFER_HEAD] = p != NULL ? p->index : FTM_GAP;
    }
    c->remote = ftm_group_new(ftm_this, c->proc, (int)(n - OFFER_HEAD));
    return c->remote != NULL ? 0 : MPI_ERR_INTERN;
}

/* The end is agreed upon within each side, since its leader may die while it tells; and then by both, since
 * a side may have heard of the other and yet have failed. */
static int comm_meet(const struct ftm_comm_bridge *b, struct comm_connection *c)
{
    size_t size = (OFFER_HEAD + (size_t)ftm_this->config.size) * sizeof *c->theirs, mine;
    uint32_t ours = 0;
    int rc = ftm_comm_agree(ftm_this, b->local, &ours);

    if (rc != 0) {
        ftm_comm_decline(ftm_this, b, c->theirs, size);
        return rc;
    }
    mine = comm_offer(b->local->group, ours, &c->own, c->mine);
    rc = ftm_comm_exchange(ftm_this, b, c->mine, mine, c->theirs, &size);
    if (rc == 0)
        rc = comm_remote_group(c, size);
    if (rc == 0 && !comm_disjoint(b->local->group, c->remote))
        rc = MPI_ERR_COMM;
    if (rc == 0)
        c->context = ours > (uint32_t)c->theirs[0] ? ours : (uint32_t)c->theirs[0];
    if (!ftm_recover_votes(ftm_this, b->local))
        return rc;
    rc = ftm_recover_create(ftm_this, b->local, rc, &ours, NULL);
    return rc != 0 ? rc : ftm_recover_meet(ftm_this, b->local, &c->own, &c->other, c->remote);
}

static int comm_connect(const struct ftm_comm_bridge *b, struct ftm_comm **out)
{
    size_t n = (size_t)ftm_this->config.size;
    struct comm_connection c = { NULL, NULL, NULL, NULL, 0, { 0, 0, 0 }, { 0, 0, 0 } };
    int rc = MPI_ERR_INTERN;

    c.mine = ftm_mem_new(&ftm_this->mem, (OFFER_HEAD + n) * sizeof *c.mine);
    c.theirs = ftm_mem_new(&ftm_this->mem, (OFFER_HEAD + n) * sizeof *c.theirs);
    c.proc = ftm_mem_new(&ftm_this->mem, n * sizeof *c.proc);
    ftm_vote_meeting(b->local, &c.own);
    if (c.mine != NULL && c.theirs != NULL && c.proc != NULL)
        rc = comm_meet(b, &c);
    ftm_vote_met(ftm_this, b->local, &c.own);
    if (rc == 0)
        rc = ftm_comm_new_inter(ftm_this, b->local, c.context, b->local->group, c.remote, out);
    ftm_mem_free(&ftm_this->mem, c.mine, (OFFER_HEAD + n) * sizeof *c.mine);
    ftm_mem_free(&ftm_this->mem, c.theirs, (OFFER_HEAD + n) * sizeof *c.theirs);
    ftm_mem_free(&ftm_this->mem, c.proc, n * sizeof *c.proc);
    ftm_group_drop(ftm_this, c.remote);
    return rc;
}

FTM_ALIAS(Intercomm_create)
int FTM_CALL(Intercomm_create)(MPI_Comm local_comm, int local_leader, MPI_Comm peer_comm, int remote_leader,
                               int tag,
                               MPI_Comm *newintercomm)
{
    static const char call[] = "MPI_Intercomm_create";
    struct ftm_comm *c, *made = NULL;
    struct ftm_comm_bridge b = { NULL, local_leader, NULL, remote_leader, tag };
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
 * world does so here. What the first process of a side says counts: two flags for each side, of which it
 * takes one away. */
static int comm_merge(struct ftm_comm *c, int high, struct ftm_comm **out)
{
    enum { HIGH = FTM_VOTE_SAID, LOW = 2 * HIGH, SIDE = 2 };
    struct ftm_comm_parts parts = { c, 0, NULL, NULL, NULL, 0 };
    int first = comm_first_seat(c->group), side = first > comm_first_seat(c->remote), rc;
    uint32_t said = (HIGH | LOW) * (1u + (1u << SIDE)), ours, others;

    if (first == ftm_this->config.rank)
        said &= ~((uint32_t)(high ? LOW : HIGH) << (side ? SIDE : 0));
    rc = ftm_recover_create(ftm_this, c, 0, &parts.context, &said);
    if (rc != 0)
        return rc;
    ours = said >> (side ? SIDE : 0) & HIGH;
    others = said >> (side ? 0 : SIDE) & HIGH;
    if (ours != others)
        side = ours != 0;
    rc = ftm_group_union(ftm_this, side ? c->remote : c->group, side ? c->group : c->remote, &parts.group);
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
    int rc = comm_check_make(call, intercomm, newintracomm, 1, &c);

    if (rc != 0)
        return rc;
    if (c->remote == NULL)
        return ftm_fail(c, MPI_ERR_COMM, call, "intercomm (not an intercommunicator)", intercomm);
    rc = comm_merge(c, high, &made);
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
