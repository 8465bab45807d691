/* ulfm.c - what stands behind the calls of mpi-ext.h: acknowledged failures, and agreements as requests. */
#include "ulfm.h"

#include "engine.h"
#include "fault.h"
#include "recover.h"
#include "vote.h"

/* Failures are acknowledged in the order in which they were declared, so a number says which are. A rank that
 * failed twice (its second process, too) counts once, as it does in groups. */

/* ---- Who has failed ------------------------------------------------------------------------------ */

/* 1: this place in the list is the first failure of its rank. */
static int ulfm_is_first(const struct ftm_fault *f, size_t place)
{
    return f->first[f->list[place]] == place;
}

struct ftm_group *ftm_ulfm_failed(struct ftm *e, const struct ftm_comm *c, int most)
{
    const struct ftm_fault *f = &c->fault;
    size_t i, bytes = (size_t)(f->gone + 1) * sizeof(int);
    int n = 0, *proc = ftm_mem_new(&e->mem, bytes);
    struct ftm_group *g = NULL;

    for (i = 0; proc != NULL && i < f->count && n < most; i++)
        if (ulfm_is_first(f, i))
            proc[n++] = ftm_comm_peers(c)->proc[f->list[i]];
    if (proc != NULL)
        g = ftm_group_new(e, proc, n);
    ftm_mem_free(&e->mem, proc, bytes);
    return g;
}

int ftm_ulfm_acknowledge(struct ftm_comm *c, int most)
{
    struct ftm_fault *f = &c->fault;
    size_t i;
    int n = 0;

    for (i = 0; i < f->count; i++) {
        n += ulfm_is_first(f, i);
        if (n > most)
            break;
        if (i >= f->acked)
            f->told[f->list[i]] = 1; /* no receive from anybody tells it any more */
    }
    if (i > f->acked)
        f->acked = i;
    return ftm_ulfm_acknowledged(c);
}

int ftm_ulfm_acknowledged(const struct ftm_comm *c)
{
    const struct ftm_fault *f = &c->fault;
    int n = 0;
    size_t i;

    for (i = 0; i < f->acked; i++)
        n += ulfm_is_first(f, i);
    return n;
}

/* ---- Agreements ---------------------------------------------------------------------------------- */

static int ulfm_has_acknowledged(const struct ftm_comm *c, int proc)
{
    int rank = ftm_group_rank_of(c->group, proc);

    return c->fault.times != NULL && rank != MPI_UNDEFINED && c->fault.times[rank] > 0
        && c->fault.first[rank] < c->fault.acked;
}

static int ulfm_start(struct ftm *e, struct ftm_comm *c, struct ftm_vote *v, int *result, int kind,
                      struct ftm_request **out)
{
    struct ftm_order order = { 0, 0, NULL, 0, NULL, 0, NULL, 0, 0 };
    int rc;

    *out = NULL;
    if (v == NULL)
        return MPI_ERR_INTERN;
    order.kind = kind;
    order.comm = c;
    order.buf = result;
    order.type = ftm_table_get(&e->handles, MPI_BYTE, FTM_TYPE);
    order.peer = MPI_PROC_NULL;
    if ((rc = ftm_request_make(e, out, &order)) != 0) {
        ftm_vote_release(e, v);
        return rc;
    }
    (*out)->vote = v;
    (*out)->done = 0;
    (*out)->active = 1;
    (*out)->proc = (*out)->fault = -1;
    (*out)->status.source = MPI_PROC_NULL;
    (*out)->status.tag = MPI_ANY_TAG;
    ftm_list_add(&e->agreeing, &(*out)->link);
    return 0;
}

int ftm_ulfm_agree(struct ftm *e, struct ftm_comm *c, int *and_of, struct ftm_request **out)
{
    struct ftm_vote_part part = { 0, 0, ulfm_has_acknowledged };

    part.flags = (uint32_t)*and_of;
    return ulfm_start(e, c, ftm_vote_start(e, c, FTM_VOTE_AGREE, c->recovery.agrees++, &part), and_of,
                      FTM_REQ_AGREE, out);
}

int ftm_ulfm_shrink(struct ftm *e, struct ftm_comm *c, int *newcomm, struct ftm_request **out)
{
    *newcomm = MPI_COMM_NULL;
    return ulfm_start(e, c, ftm_recover_shrink_begin(e, c), newcomm, FTM_REQ_SHRINK, out);
}

/* An error at all, if somebody is in the failed set whom not all have acknowledged. */
static int ulfm_agreed(struct ftm_request *r)
{
    const struct ftm_agree_value *value = ftm_vote_value(r->vote);
    int i;

    *(int *)r->order.buf = (int)ftm_vote_flags(r->vote);
    for (i = 0; value != NULL && i < ftm_vote_members(r->vote); i++)
        if (FTM_AGREE_HAS(value->failed, i) && !FTM_AGREE_HAS(value->acknowledged, i))
            return ftm_fault_code(r->order.comm);
    return value != NULL ? 0 : ftm_fault_code(r->order.comm);
}

static int ulfm_shrunk(struct ftm *e, struct ftm_request *r)
{
    struct ftm_comm *now;
    int rc = ftm_recover_shrink_take(e, r->order.comm, r->vote, &now);

    r->vote = NULL;
    if (now != NULL)
        *(int *)r->order.buf = now->handle;
    return rc;
}

void ftm_ulfm_run(struct ftm *e)
{
    struct ftm_list *link, *next;

    for (link = e->agreeing.next; link != &e->agreeing; link = next) {
        struct ftm_request *r = FTM_LIST_OF(link, struct ftm_request, link);
        int rc;

        next = link->next;
        if (!ftm_vote_done(r->vote))
            continue;
        ftm_list_remove(link);
        rc = r->order.kind == FTM_REQ_AGREE ? ulfm_agreed(r) : ulfm_shrunk(e, r);
        ftm_ulfm_forget(e, r);
        ftm_request_done(e, r, rc);
    }
}

void ftm_ulfm_forget(struct ftm *e, struct ftm_request *r)
{
    ftm_vote_release(e, r->vote);
    r->vote = NULL;
}
