/* vote.c - agreements among the members of a communicator: their numbers, their messages, who takes part. */
#include "vote.h"

#include <stdlib.h>
#include <string.h>

#include "comm.h"
#include "engine.h"
#include "flight.h"

/* A vote is an agreement (agree.h) with a kind and a number, in a place: a communicator in one generation.
 * Messages are of kind FTM_AGREE: kind in the flags, context and number in the tag, and the generation in
 * front of the agreement's own bytes.
 *
 * A vote lives on when this process has its value, since others may have to learn it here when somebody dies.
 * Number k goes when k + 2 is decided: everybody had the value of k then, or had said no to it by itself. The
 * places of communicators that were freed stay for a while for the same reason.
 *
 * Two groups that make an intercommunicator have no communicator of both yet. They *meet* in a place of its
 * own kind, which each side names by its own communicator and how many such calls that has seen, and each
 * message has the name that its receiver knows. It also has the other name and all members: whoever never
 * learned of the other side, since its call failed before, can say no by that. */
#define VOTE_OLD_MOST 256
#define VOTE_HEAD 4       /* the generation */
#define VOTE_MEET_HEAD 24 /* and the other name (context, generation, number), how many members the receiver's
                           * side has, and how many both; and then who they are, u32 each */

/* Bytes of votes that are heard of before this process takes part in them, or so many votes if these take
 * more: others are one call ahead in each communicator, or more where nothing waits (MPIX_Comm_iagree). */
#define VOTE_HEARD_MOST (4u << 20)
#define VOTE_HEARD_VOTES 1024u
#define VOTE_AHEAD_MOST 1024u /* of a communicator that is gone here: what others still begin there */

struct vote_member {
    int site, rank, life, proc;
    int other; /* it is of the other side, where two meet */
};

struct vote_place {
    struct ftm_list link;
    uint32_t context, generation;
    int meets;                  /* two sides do: then ... */
    uint32_t number;            /* ... our name is context, generation and this ... */
    struct ftm_vote_side other; /* ... and this the other one; comm is our side as long as its call goes on */
    size_t head;                /* bytes in front of the agreement's */
    struct ftm_comm *comm; /* NULL: not there yet, or gone */
    int gone;
    int n, me, room;
    struct vote_member *member; /* by site, then rank */
    int *site;
    struct ftm_list votes;
    uint32_t next[FTM_VOTE_KINDS]; /* those of lower numbers are over and forgotten */
};

struct ftm_vote {
    struct ftm_list link;
    struct ftm *engine;
    struct vote_place *place; /* NULL: lost, see ftm_vote_flags */
    enum ftm_vote_kind kind;
    uint32_t number;
    int held;
    int called; /* we have told everybody that there is this vote */
    size_t size;
    struct ftm_agree *agree;
    unsigned char *out; /* the head and a message; and then two sets */
};

void ftm_vote_tell(struct ftm *e, int proc, uint64_t tag, const void *data, size_t size)
{
    if (e->procs[proc]->state == FTM_PROC_FAILED)
        return;
    if (e->config.on_protocol == NULL || !e->config.on_protocol(e->config.user, proc, tag, data, size))
        ftm_proc_tell(e, proc, tag, data, size);
}

/* ---- Places ------------------------------------------------------------------------------------------ */

static int place_order(const void *a, const void *b)
{
    const struct vote_member *x = a, *y = b;

    if (x->site != y->site)
        return x->site < y->site ? -1 : 1;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    return x->life < y->life ? -1 : x->life > y->life;
}

/* Both sides of an intercommunicator give its members one order by their seats, and lives of one seat. */
static void place_add(struct ftm *e, struct vote_place *p, const struct ftm_group *group, int both, int other)
{
    int i;

    for (i = 0; i < group->size; i++) {
        struct vote_member *m = &p->member[p->n];

        if (group->proc[i] < 0)
            continue;
        m->proc = group->proc[i];
        m->rank = both ? e->procs[m->proc]->seat : i;
        m->life = (int)e->procs[m->proc]->life;
        m->site = e->procs[m->proc]->site;
        m->other = other;
        p->n++;
    }
}

/* The members, in the order that all give them. -1: no memory, or we are not among them. */
static int place_fill(struct ftm *e, struct vote_place *p, const struct ftm_group *group,
                      const struct ftm_group *remote)
{
    int i;

    p->me = -1;
    p->room = group->size + (remote != NULL ? remote->size : 0);
    p->member = ftm_mem_new(&e->mem, (size_t)p->room * sizeof *p->member);
    p->site = ftm_mem_new(&e->mem, (size_t)p->room * sizeof *p->site);
    if (p->member == NULL || p->site == NULL)
        return -1;
    place_add(e, p, group, remote != NULL, 0);
    if (remote != NULL)
        place_add(e, p, remote, 1, 1);
    qsort(p->member, (size_t)p->n, sizeof *p->member, place_order);
    for (i = 0; i < p->n; i++) {
        p->site[i] = p->member[i].site;
        if (p->member[i].proc == e->self_proc)
            p->me = i;
    }
    return p->me >= 0 ? 0 : -1;
}

/* What a vote is not kept for cannot be answered later, and others wait for that. */
static void vote_no_memory(struct ftm *e)
{
    ftm_end(e, 1, "rank %d: no memory for an agreement", e->config.rank);
}

static size_t vote_bytes(const struct ftm_vote *v)
{
    return v->size + ftm_agree_size(v->agree);
}

static void vote_free(struct ftm *e, struct ftm_vote *v)
{
    if (v->agree != NULL && !ftm_agree_has_contributed(v->agree))
        e->votes.heard -= vote_bytes(v);
    ftm_list_remove(&v->link);
    ftm_agree_free(v->agree);
    ftm_mem_free(&e->mem, v, v->size);
}

static void place_free(struct ftm *e, struct vote_place *p)
{
    struct ftm_list *link, *next;

    for (link = p->votes.next; link != &p->votes; link = next) {
        next = link->next;
        vote_free(e, FTM_LIST_OF(link, struct ftm_vote, link));
    }
    e->votes.old -= p->gone;
    ftm_list_remove(&p->link);
    ftm_mem_free(&e->mem, p->member, (size_t)p->room * sizeof *p->member);
    ftm_mem_free(&e->mem, p->site, (size_t)p->room * sizeof *p->site);
    ftm_mem_free(&e->mem, p, sizeof *p);
}

static struct vote_place *place_new(struct ftm *e, uint32_t context, uint32_t generation,
                                    const struct ftm_group *group, const struct ftm_group *remote)
{
    struct vote_place *p = ftm_mem_new(&e->mem, sizeof *p);

    if (p == NULL)
        return NULL;
    p->context = context;
    p->generation = generation;
    p->head = VOTE_HEAD;
    ftm_list_init(&p->votes);
    ftm_list_add(&e->votes.places, &p->link);
    if (place_fill(e, p, group, remote) == 0)
        return p;
    place_free(e, p);
    return NULL;
}

static struct vote_place *place_find(struct ftm *e, uint32_t context, uint32_t generation)
{
    struct ftm_list *link;

    for (link = e->votes.places.next; link != &e->votes.places; link = link->next) {
        struct vote_place *p = FTM_LIST_OF(link, struct vote_place, link);

        if (p->context == context && p->generation == generation && !p->meets) {
            ftm_list_remove(link); /* to the front */
            ftm_list_add(e->votes.places.next, link);
            return p;
        }
    }
    return NULL;
}

static struct vote_place *place_of(struct ftm *e, struct ftm_comm *c)
{
    struct vote_place *p = place_find(e, c->context, c->generation);

    if (p == NULL)
        p = place_new(e, c->context, c->generation, c->group, c->remote);
    if (p != NULL)
        p->comm = c;
    return p;
}

static int place_member(const struct vote_place *p, int proc)
{
    int i;

    for (i = 0; i < p->n; i++)
        if (p->member[i].proc == proc)
            return i;
    return -1;
}

int ftm_vote_place(struct ftm *e, uint32_t context, uint32_t generation, const struct ftm_group *group)
{
    return place_find(e, context, generation) != NULL
                   || place_new(e, context, generation, group, NULL) != NULL ? 0 : -1;
}

void ftm_vote_bind(struct ftm *e, struct ftm_comm *comm)
{
    struct vote_place *p = place_find(e, comm->context, comm->generation);

    if (p != NULL)
        p->comm = comm;
}

static int place_is_held(const struct vote_place *p)
{
    const struct ftm_list *link;
    int held = 0;

    for (link = p->votes.next; link != &p->votes; link = link->next)
        held += FTM_LIST_OF(link, const struct ftm_vote, link)->held;
    return held;
}

/* The ones that were not used for longest go, if there are too many. */
static void place_tidy_old(struct ftm *e)
{
    struct ftm_list *link, *before, *end = &e->votes.places;

    for (link = end->prev; link != end && e->votes.old > VOTE_OLD_MOST; link = before) {
        struct vote_place *p = FTM_LIST_OF(link, struct vote_place, link);

        before = link->prev;
        if (p->gone && !place_is_held(p))
            place_free(e, p);
    }
}

static void vote_go_on(struct ftm_vote *v);

/* Its communicator, or its call, is over here. */
static void place_leave(struct ftm *e, struct vote_place *p)
{
    struct ftm_list *link;

    ftm_list_remove(&p->link); /* to the front */
    ftm_list_add(e->votes.places.next, &p->link);
    p->comm = NULL;
    e->votes.old += !p->gone;
    p->gone = 1;
    for (link = p->votes.next; p->meets && !e->ended && link != &p->votes; link = link->next)
        vote_go_on(FTM_LIST_OF(link, struct ftm_vote, link));
}

/* Others may come to a vote on it when a failure has made us leave it, and are told no. */
void ftm_vote_forget(struct ftm *e, struct ftm_comm *comm)
{
    struct ftm_list *link, *next;

    if ((comm->size > 1 || comm->remote != NULL) && ftm_recover_is_on(comm)
        && place_find(e, comm->context, comm->generation) == NULL && place_of(e, comm) == NULL)
        vote_no_memory(e);
    for (link = e->votes.places.next; link != &e->votes.places; link = next) {
        struct vote_place *p = FTM_LIST_OF(link, struct vote_place, link);

        next = link->next;
        if (p->comm == comm)
            place_leave(e, p);
    }
    place_tidy_old(e);
}

void ftm_vote_init(struct ftm *e)
{
    ftm_list_init(&e->votes.places);
}

void ftm_vote_clear(struct ftm *e)
{
    while (e->votes.places.next != NULL && !ftm_list_is_empty(&e->votes.places))
        place_free(e, FTM_LIST_OF(e->votes.places.next, struct vote_place, link));
}

/* ---- One vote ---------------------------------------------------------------------------------------- */

/* What comes in front, for a member of our side or the other one. */
static void place_head(const struct ftm *e, const struct vote_place *p, int other, unsigned char *to)
{
    int i, pass, count = 0;

    ftm_put32(to, other ? p->other.generation : p->generation);
    if (!p->meets)
        return;
    for (i = 0; i < p->n; i++)
        count += p->member[i].other == other;
    ftm_put32(to + 4, other ? p->context : p->other.context);
    ftm_put32(to + 8, other ? p->generation : p->other.generation);
    ftm_put32(to + 12, other ? p->number : p->other.number);
    ftm_put32(to + 16, (uint32_t)count);
    ftm_put32(to + 20, (uint32_t)p->n);
    to += VOTE_MEET_HEAD;
    for (pass = 0; pass < 2; pass++)
        for (i = 0; i < p->n; i++)
            if (p->member[i].other == (other ^ pass)) {
                ftm_put32(to, (uint32_t)FTM_WHO(e->procs[p->member[i].proc]->name));
                to += 4;
            }
}

static void vote_send(void *ctx, int member, const void *bytes, size_t size)
{
    struct ftm_vote *v = ctx;
    const struct vote_place *p = v->place;
    int other = p->meets && p->member[member].other;
    uint32_t context = other ? p->other.context : p->context, number = other ? p->other.number : v->number;
    uint64_t tag = FTM_WORD(FTM_AGREE, v->kind, context, number);

    place_head(v->engine, p, other, v->out);
    memcpy(v->out + p->head, bytes, size);
    ftm_vote_tell(v->engine, p->member[member].proc, tag, v->out, p->head + size);
}

static struct ftm_vote *vote_alloc(struct ftm *e, enum ftm_vote_kind kind, uint32_t number, size_t more)
{
    struct ftm_vote *v = ftm_mem_new(&e->mem, sizeof *v + more);

    if (v == NULL)
        return NULL;
    v->engine = e;
    v->kind = kind;
    v->number = number;
    v->size = sizeof *v + more;
    v->out = (unsigned char *)(v + 1);
    return v;
}

/* Where the first vote of that kind and of a higher number stands: those of a kind are in order. */
static struct ftm_list *vote_behind(struct vote_place *p, enum ftm_vote_kind kind, uint32_t number)
{
    struct ftm_list *link = &p->votes;

    while (link->prev != &p->votes) {
        const struct ftm_vote *v = FTM_LIST_OF(link->prev, const struct ftm_vote, link);

        if (v->kind == kind && v->number < number)
            break;
        link = link->prev;
    }
    return link;
}

static struct ftm_vote *vote_new(struct ftm *e, struct vote_place *p, enum ftm_vote_kind kind,
                                 uint32_t number)
{
    enum ftm_agree_rounds rounds = kind <= FTM_VOTE_COLLECTIVE ? FTM_AGREE_ONE : FTM_AGREE_TWO;
    size_t more = p->head + ftm_agree_most(p->n) + 2 * FTM_AGREE_SET(p->n);
    struct ftm_vote *v = vote_alloc(e, kind, number, more);
    struct ftm_agree_ops ops = { NULL, vote_send };
    int i;

    if (v == NULL)
        return NULL;
    ops.ctx = v;
    if (ftm_agree_new(&v->agree, &e->mem, &ops, p->n, p->site, p->me, rounds) != 0) {
        ftm_mem_free(&e->mem, v, v->size);
        return NULL;
    }
    v->place = p;
    e->votes.heard += vote_bytes(v);
    ftm_list_add(vote_behind(p, kind, number), &v->link);
    for (i = 0; i < p->n; i++)
        if (e->procs[p->member[i].proc]->state == FTM_PROC_FAILED)
            ftm_agree_failed(v->agree, i);
    return v;
}

static struct ftm_vote *vote_find(const struct vote_place *p, enum ftm_vote_kind kind, uint32_t number)
{
    struct ftm_list *link;

    for (link = p->votes.prev; link != &p->votes; link = link->prev) {
        struct ftm_vote *v = FTM_LIST_OF(link, struct ftm_vote, link);

        if (v->kind == kind && v->number <= number)
            return v->number == number ? v : NULL;
    }
    return NULL;
}

/* A set of the members that are marked; 0: nobody is. */
static int vote_mark_failed(const struct ftm_vote *v, unsigned char *set)
{
    const struct vote_place *p = v->place;
    int i, n = 0;

    memset(set, 0, FTM_AGREE_SET(p->n));
    for (i = 0; i < p->n; i++) {
        if (v->engine->procs[p->member[i].proc]->state != FTM_PROC_FAILED)
            continue;
        set[i / 8] = (unsigned char)(set[i / 8] | 1u << i % 8);
        n++;
    }
    return n;
}

static void vote_contribute(struct ftm_vote *v, const struct ftm_vote_part *part)
{
    const struct vote_place *p = v->place;
    unsigned char *failed = v->out + p->head + ftm_agree_most(p->n), *acked = failed + FTM_AGREE_SET(p->n);
    struct ftm_agree_value mine = { 0, 0, 0, 0, 0, NULL, NULL, NULL };
    int i;

    mine.flags = part->flags;
    if (vote_mark_failed(v, failed) > 0 && v->kind <= FTM_VOTE_RECOVERY)
        mine.flags &= ~(uint32_t)FTM_VOTE_WHOLE;
    memset(acked, 0, FTM_AGREE_SET(p->n));
    for (i = 0; part->acknowledged != NULL && p->comm != NULL && i < p->n; i++)
        if (part->acknowledged(p->comm, p->member[i].proc))
            acked[i / 8] = (unsigned char)(acked[i / 8] | 1u << i % 8);
    mine.context = v->engine->contexts.next;
    mine.generation = p->generation;
    mine.rank = (uint32_t)p->member[p->me].rank;
    mine.settings = part->settings;
    mine.failed = failed;
    mine.acknowledged = acked;
    if (!ftm_agree_has_contributed(v->agree))
        v->engine->votes.heard -= vote_bytes(v);
    ftm_agree_contribute(v->agree, &mine);
}

/* Where two meet, the first that lives of each side knows that the other one may not. */
static int vote_is_first(const struct ftm_vote *v)
{
    const struct vote_place *p = v->place;
    int i;

    for (i = 0; p->meets && i < p->me; i++)
        if (!p->member[i].other && v->engine->procs[p->member[i].proc]->state != FTM_PROC_FAILED)
            return 0;
    return p->meets || ftm_agree_is_root(v->agree);
}

/* The root tells those of whom it has not heard: by an agreement's message without the agreement's bytes. */
static void vote_call(struct ftm_vote *v)
{
    static const unsigned char nothing[1] = { 0 };
    int i;

    if (v->called || ftm_agree_result(v->agree) != NULL || !vote_is_first(v))
        return;
    v->called = 1;
    for (i = 0; i < v->place->n; i++)
        if (i != v->place->me && !ftm_agree_has_heard(v->agree, i))
            vote_send(v, i, nothing, 0);
}

/* We say no, for a program that may never come to it; and others that do not know of this vote shall, too. */
static void vote_go_on(struct ftm_vote *v)
{
    static const struct ftm_vote_part no = { 0, 0, NULL };
    const struct vote_place *p = v->place;

    if (p->gone && (v->kind == FTM_VOTE_RECOVERY || p->meets) && !ftm_agree_has_contributed(v->agree))
        vote_contribute(v, &no); /* the others cannot have us in it */
    if (v->kind > FTM_VOTE_COLLECTIVE)
        return;
    if ((p->comm == NULL || !p->comm->fault.revoked)
        && vote_mark_failed(v, v->out + p->head + ftm_agree_most(p->n)) == 0)
        return;
    if (!ftm_agree_has_contributed(v->agree))
        vote_contribute(v, &no);
    vote_call(v);
}

/* What is over long since is forgotten. */
static void place_tidy(struct ftm *e, struct vote_place *p)
{
    struct ftm_list *link, *next;

    for (link = p->votes.next; link != &p->votes; link = link->next) {
        const struct ftm_vote *v = FTM_LIST_OF(link, const struct ftm_vote, link);

        if (p->next[v->kind] + 1 < v->number && ftm_agree_result(v->agree) != NULL)
            p->next[v->kind] = v->number - 1;
    }
    for (link = p->votes.next; link != &p->votes; link = next) {
        struct ftm_vote *v = FTM_LIST_OF(link, struct ftm_vote, link);

        next = link->next;
        if (v->number < p->next[v->kind] && v->held == 0)
            vote_free(e, v);
    }
}

/* Nobody begins so many where one member is gone: each ends with that member's no. */
static int vote_is_far(const struct vote_place *p, enum ftm_vote_kind kind, uint32_t number)
{
    return p->gone && number > p->next[kind] && number - p->next[kind] > VOTE_AHEAD_MOST;
}

/* The vote, which may begin here. *over: it is forgotten. */
static struct ftm_vote *vote_get(struct ftm *e, struct vote_place *p, enum ftm_vote_kind kind,
                                 uint32_t number, int *over)
{
    struct ftm_vote *v = vote_find(p, kind, number);

    *over = v == NULL && number < p->next[kind];
    return v != NULL || *over ? v : vote_new(e, p, kind, number);
}

static struct ftm_vote *vote_start(struct ftm *e, struct vote_place *p, enum ftm_vote_kind kind,
                                   uint32_t number, const struct ftm_vote_part *part)
{
    struct ftm_vote *v;
    int over;

    if (p == NULL)
        return NULL;
    v = vote_get(e, p, kind, number, &over);
    if (over)
        v = vote_alloc(e, kind, number, 0);
    if (v == NULL)
        return NULL;
    v->held++;
    if (over)
        return v;
    vote_contribute(v, part); /* the first time */
    if (p->meets)
        vote_call(v);
    vote_go_on(v);
    place_tidy(e, p);
    return v;
}

struct ftm_vote *ftm_vote_start(struct ftm *e, struct ftm_comm *comm, enum ftm_vote_kind kind,
                                uint32_t number, const struct ftm_vote_part *part)
{
    return vote_start(e, place_of(e, comm), kind, number, part);
}

struct ftm_vote *ftm_vote_start_at(struct ftm *e, uint32_t context, uint32_t generation,
                                   enum ftm_vote_kind kind, uint32_t number,
                                   const struct ftm_vote_part *part)
{
    return vote_start(e, place_find(e, context, generation), kind, number, part);
}

int ftm_vote_decline(struct ftm *e, uint32_t context, uint32_t generation, uint32_t number)
{
    struct vote_place *p = place_find(e, context, generation);
    struct ftm_vote *v;
    int over;

    if (p == NULL || !p->gone)
        return 0;
    if (vote_is_far(p, FTM_VOTE_RECOVERY, number))
        return -1;
    v = vote_get(e, p, FTM_VOTE_RECOVERY, number, &over);
    if (v != NULL)
        vote_go_on(v);
    else if (!over)
        vote_no_memory(e);
    return 0;
}

void ftm_vote_release(struct ftm *e, struct ftm_vote *v)
{
    if (v != NULL && --v->held == 0 && v->place == NULL)
        vote_free(e, v);
}

/* ---- Two that meet ----------------------------------------------------------------------------------- */

static struct vote_place *meet_find(struct ftm *e, const struct ftm_vote_side *own)
{
    struct ftm_list *link;

    for (link = e->votes.places.next; link != &e->votes.places; link = link->next) {
        struct vote_place *p = FTM_LIST_OF(link, struct vote_place, link);

        if (p->meets && p->context == own->context && p->generation == own->generation
            && p->number == own->number) {
            ftm_list_remove(link); /* to the front */
            ftm_list_add(e->votes.places.next, link);
            return p;
        }
    }
    return NULL;
}

/* NULL: no memory, or we are not of our side. */
static struct vote_place *meet_new(struct ftm *e, const struct ftm_vote_side *own,
                                   const struct ftm_vote_side *other, const struct ftm_group *group,
                                   const struct ftm_group *remote)
{
    struct vote_place *p = place_new(e, own->context, own->generation, group, remote);

    if (p == NULL)
        return NULL;
    p->meets = 1;
    p->number = own->number;
    p->other = *other;
    p->head = VOTE_MEET_HEAD + 4 * (size_t)p->n;
    if (!p->member[p->me].other)
        return p;
    place_free(e, p);
    return NULL;
}

void ftm_vote_meeting(struct ftm_comm *comm, struct ftm_vote_side *own)
{
    own->context = comm->context;
    own->generation = comm->generation;
    own->number = comm->recovery.meets++;
}

struct ftm_vote *ftm_vote_meet(struct ftm *e, struct ftm_comm *comm, const struct ftm_vote_side *own,
                               const struct ftm_vote_side *other, const struct ftm_group *remote,
                               const struct ftm_vote_part *part)
{
    struct vote_place *p = meet_find(e, own);

    if (p == NULL)
        p = meet_new(e, own, other, comm->group, remote);
    if (p != NULL)
        p->comm = comm;
    return vote_start(e, p, FTM_VOTE_MEET, own->number, part);
}

void ftm_vote_met(struct ftm *e, struct ftm_comm *comm, const struct ftm_vote_side *own)
{
    struct vote_place *p = meet_find(e, own);

    comm->recovery.met = own->number + 1;
    if (p != NULL)
        place_leave(e, p);
    place_tidy_old(e);
}

/* So many members of a message. *early: one of them is not known here yet; or there is no memory. */
static struct ftm_group *meet_group(struct ftm *e, const unsigned char *from, uint32_t count, int *early)
{
    size_t bytes = (count + 1) * sizeof(int); /* a side may be nobody */
    int *proc = ftm_mem_new(&e->mem, bytes);
    struct ftm_group *g = NULL;
    uint32_t i;

    *early = 0;
    for (i = 0; proc != NULL && !*early && i < count; i++, from += 4) {
        const struct ftm_proc *p = ftm_proc_find(e, FTM_RANK(ftm_get32(from)), FTM_LIFE(ftm_get32(from)));

        *early = p == NULL;
        proc[i] = p != NULL ? p->index : 0;
    }
    if (proc != NULL && !*early)
        g = ftm_group_new(e, proc, (int)count);
    ftm_mem_free(&e->mem, proc, bytes);
    return g;
}

/* The place that a message describes, since our call has not come so far, or is over. */
static struct vote_place *meet_read(struct ftm *e, const struct ftm_arrival *a,
                                    const struct ftm_vote_side *own, int *early)
{
    const unsigned char *from = a->data;
    struct ftm_vote_side other = { ftm_get32(from + 4), ftm_get32(from + 8), ftm_get32(from + 12) };
    uint32_t ours = ftm_get32(from + 16), all = ftm_get32(from + 20);
    struct ftm_group *group, *remote = NULL;
    struct vote_place *p = NULL;

    *early = -1;
    if (all > (uint32_t)e->config.size || ours > all || a->size < VOTE_MEET_HEAD + 4 * (size_t)all
        || other.context > FTM_CONTEXT_MAX || other.number > FTM_TAG_MAX)
        return NULL;
    from += VOTE_MEET_HEAD;
    group = meet_group(e, from, ours, early);
    if (group != NULL)
        remote = meet_group(e, from + 4 * ours, all - ours, early);
    if (remote != NULL)
        p = meet_new(e, own, &other, group, remote);
    *early = *early ? 1 : -1;
    ftm_group_drop(e, group);
    ftm_group_drop(e, remote);
    return p;
}

/* As place_heard; *early -1: no process sends it. */
static struct vote_place *meet_heard(struct ftm *e, const struct ftm_arrival *a, int *early)
{
    struct ftm_vote_side own = { FTM_CONTEXT(a->tag), ftm_get32(a->data), FTM_TAG(a->tag) };
    struct ftm_match *m = ftm_match_find(e, own.context);
    struct vote_place *p = meet_find(e, &own);

    *early = -1;
    if (p != NULL)
        return a->size >= p->head ? p : NULL;
    if (m == NULL ? !ftm_match_is_over(e, own.context) : own.generation > m->comm->generation) {
        *early = 1;
        return NULL;
    }
    place_tidy_old(e);
    if (a->size < VOTE_MEET_HEAD || (p = meet_read(e, a, &own, early)) == NULL)
        return NULL;
    p->comm = m != NULL && m->comm->generation == own.generation ? m->comm : NULL;
    if (p->comm == NULL || own.number < p->comm->recovery.met)
        place_leave(e, p);
    return p;
}

/* ---- What became of it ------------------------------------------------------------------------------- */

int ftm_vote_done(void *arg)
{
    const struct ftm_vote *v = arg;
    const struct ftm_agree_value *value = ftm_vote_value(v);
    int i;

    for (i = 0; value != NULL && i < v->place->n; i++)
        if (FTM_AGREE_HAS(value->failed, i)
            && v->engine->procs[v->place->member[i].proc]->state != FTM_PROC_FAILED && i != v->place->me)
            return 0;
    return value != NULL || v->place == NULL;
}

const struct ftm_agree_value *ftm_vote_value(const struct ftm_vote *v)
{
    return v->place != NULL ? ftm_agree_result(v->agree) : NULL;
}

/* Who failed without a word counts, too. */
uint32_t ftm_vote_flags(const struct ftm_vote *v)
{
    const struct ftm_agree_value *value = ftm_vote_value(v);
    uint32_t flags = value != NULL ? value->flags : 0;
    int i;

    for (i = 0; value != NULL && v->kind <= FTM_VOTE_RECOVERY && i < v->place->n; i++)
        if (FTM_AGREE_HAS(value->failed, i))
            flags &= ~(uint32_t)FTM_VOTE_WHOLE;
    return flags;
}

uint32_t ftm_vote_context(const struct ftm_vote *v)
{
    return v->place != NULL ? ftm_vote_value(v)->context : v->engine->contexts.next;
}

int ftm_vote_members(const struct ftm_vote *v)
{
    return v->place != NULL ? v->place->n : 0;
}

int ftm_vote_member(const struct ftm_vote *v, int i)
{
    return v->place->member[i].proc;
}

int ftm_vote_says_failed(const struct ftm_vote *v, int proc)
{
    int i = v->place != NULL ? place_member(v->place, proc) : -1;

    return i >= 0 && FTM_AGREE_HAS(ftm_vote_value(v)->failed, i);
}

/* ---- What is heard ----------------------------------------------------------------------------------- */

void ftm_vote_failed(struct ftm *e, int proc)
{
    struct ftm_list *at, *link;

    for (at = e->votes.places.next; at != &e->votes.places; at = at->next) {
        struct vote_place *p = FTM_LIST_OF(at, struct vote_place, link);
        int member = place_member(p, proc);

        for (link = p->votes.next; member >= 0 && link != &p->votes; link = link->next) {
            struct ftm_vote *v = FTM_LIST_OF(link, struct ftm_vote, link);

            ftm_agree_failed(v->agree, member);
            vote_go_on(v);
        }
        place_tidy(e, p);
    }
}

void ftm_vote_revoked(struct ftm *e, struct ftm_comm *comm)
{
    struct ftm_list *at, *link;

    for (at = e->votes.places.next; at != &e->votes.places; at = at->next) {
        struct vote_place *p = FTM_LIST_OF(at, struct vote_place, link);

        for (link = p->votes.next; p->comm == comm && link != &p->votes; link = link->next)
            vote_go_on(FTM_LIST_OF(link, struct ftm_vote, link));
    }
}

/* The place of a message. NULL and *early: it is not here yet; or it is over. */
static struct vote_place *place_heard(struct ftm *e, uint32_t context, uint32_t generation, int *early)
{
    struct vote_place *p = place_find(e, context, generation);
    struct ftm_match *m = ftm_match_find(e, context);

    *early = 0;
    if (p != NULL)
        return p;
    if (m == NULL)
        *early = !ftm_match_is_over(e, context);
    else if (generation != m->comm->generation)
        *early = generation > m->comm->generation;
    else
        p = place_of(e, m->comm);
    return p;
}

int ftm_vote_arrived(struct ftm *e, const struct ftm_arrival *a, struct ftm_comm **called)
{
    const unsigned char *bytes = a->data;
    enum ftm_vote_kind kind = (enum ftm_vote_kind)FTM_FLAGS(a->tag);
    const unsigned refused = e->mem.refused;
    int early, member, over;
    struct vote_place *p;
    struct ftm_vote *v;
    uint32_t generation;

    *called = NULL;
    if (a->size < VOTE_HEAD || kind < FTM_VOTE_CREATE || kind >= FTM_VOTE_KINDS)
        return -1;
    if (!e->notice.begun)
        return 1; /* the TABLE has the sites, and members that do not all have the same tree wait for ever */
    generation = ftm_get32(bytes);
    p = kind == FTM_VOTE_MEET ? meet_heard(e, a, &early)
                              : place_heard(e, FTM_CONTEXT(a->tag), generation, &early);
    if (p == NULL && e->mem.refused != refused) {
        vote_no_memory(e); /* which is nobody's lie */
        return 0;
    }
    if (p == NULL)
        return early;
    member = place_member(p, a->proc->index);
    if (member < 0 || vote_is_far(p, kind, FTM_TAG(a->tag)))
        return -1;
    v = vote_get(e, p, kind, FTM_TAG(a->tag), &over);
    if (v == NULL && !over)
        vote_no_memory(e);
    if (v == NULL)
        return 0;
    if (e->votes.heard > VOTE_HEARD_MOST && e->votes.heard > VOTE_HEARD_VOTES * vote_bytes(v)) {
        ftm_end(e, 1, "rank %d: rank %d is too many agreements ahead: %lu KiB wait for this process",
                e->config.rank, a->proc->seat, (unsigned long)(e->votes.heard >> 10));
        return 0;
    }
    if (a->size > p->head
        && ftm_agree_arrived(v->agree, member, bytes + p->head, a->size - p->head) != 0)
        return -1;
    if (kind == FTM_VOTE_RECOVERY && !ftm_agree_has_contributed(v->agree))
        *called = p->comm;
    vote_go_on(v);
    if (ftm_agree_result(v->agree) != NULL)
        place_tidy(e, p);
    return 0;
}
