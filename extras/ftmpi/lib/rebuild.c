/* rebuild.c - MPI_COMM_WORLD with new processes in the places of those that failed. */
#include "rebuild.h"

#include <string.h>

#include "comm.h"
#include "engine.h"
#include "flight.h"
#include "notice.h"
#include "recover.h"
#include "vote.h"

/* All members know from the agreement who has failed, and so which seats are to be filled, and by which life.
 * The lowest that lives asks the arbiter. What the arbiter tells (joined, failed, cannot be started) comes to
 * all in one order, and the first point in it at which every seat has a process is the same for all, however
 * late they look: events are kept, and looked through from the beginning. A life that fails before that point
 * is followed by the next one, three times for each seat.
 *
 *      WANTS -- every seat has its process --> ADMITS, a second agreement that includes the new ones
 *      WANTS -- nobody can be started --> MPI_ERR_SPAWN
 *      ADMITS -- nobody has failed --> the world has that generation
 *      ADMITS -- somebody has --> WANTS, one generation further, with the seats of those
 *
 * Generations are decided by that: the result of ADMITS holds for all, so nobody counts by itself.
 *
 * A new process learns who is who from a WELCOME: from the lowest living member that is not new, and again
 * from the next one when somebody fails; when none of those is left, from each new one that has had its own.
 * A WELCOME without ranks means that it is not wanted any more. As long as it has none it asks all that live,
 * again whenever somebody fails or joins: those that wait as it does say so, and if that is all of them,
 * nobody is left who knows the world, and it ends. */
#define REBUILD_TRIES 3

enum rebuild_state { REBUILD_NONE = 0, REBUILD_WANTS, REBUILD_ADMITS };

enum rebuild_event_kind { REBUILD_JOINED = 1, REBUILD_FAILED, REBUILD_NOSPAWN };

struct rebuild_event {
    enum rebuild_event_kind kind;
    int seat;
    uint32_t life;
};

/* A rank of the world that is made. */
struct rebuild_rank {
    int proc;           /* who holds it, or held it last */
    int seat;
    int wanted;         /* it has to be filled */
    int fresh;          /* filled in this recovery */
    uint32_t life;      /* that is wanted next, or has joined */
    uint32_t life_most; /* no more tries after it */
    uint32_t asked;     /* the life that was asked for last here */
};

struct ftm_rebuild {
    enum rebuild_state state;
    struct ftm_comm *world; /* that is recovered; held */
    struct ftm_modes modes;
    uint32_t generation;    /* that is tried */
    struct rebuild_rank *rank;
    int count;
    struct ftm_group *group; /* of the second agreement */
    struct ftm_vote *vote;
    struct rebuild_event *events;
    size_t events_count, events_capacity;
    size_t first;       /* the events before it belong to recoveries that were in vain */
    int vain;           /* the last one was: whoever joins now is not wanted */
    int restarted;      /* this process was, and has not been let in */
    uint32_t round;     /* of asking who knows the world */
    int *ignorant;      /* who has said in this round that it does not (places in procs) */
    size_t ignorant_count, ignorant_capacity;
};

static struct ftm_rebuild *rebuild_get(struct ftm *e)
{
    if (e->rebuild == NULL)
        e->rebuild = ftm_mem_new(&e->mem, sizeof *e->rebuild);
    if (e->rebuild == NULL)
        ftm_end(e, 1, "rank %d: no memory to recover MPI_COMM_WORLD", e->config.rank);
    return e->rebuild;
}

/* ---- What the arbiter tells -------------------------------------------------------------------------- */

static void rebuild_note(struct ftm *e, enum rebuild_event_kind kind, int seat, uint32_t life)
{
    struct ftm_rebuild *b = rebuild_get(e);
    void *array;

    if (b == NULL)
        return;
    array = b->events;
    if (!ftm_mem_grow(&e->mem, &array, &b->events_capacity, b->events_count, sizeof *b->events)) {
        ftm_end(e, 1, "rank %d: no memory to recover MPI_COMM_WORLD", e->config.rank);
        return;
    }
    b->events = array;
    b->events[b->events_count].kind = kind;
    b->events[b->events_count].seat = seat;
    b->events[b->events_count++].life = life;
}

static void rebuild_ask_around(struct ftm *e, struct ftm_rebuild *b);
static void rebuild_send_away(struct ftm *e, struct ftm_rebuild *b);

void ftm_rebuild_joined(struct ftm *e, int proc)
{
    rebuild_note(e, REBUILD_JOINED, e->procs[proc]->seat, e->procs[proc]->life);
    if (e->rebuild == NULL)
        return;
    rebuild_ask_around(e, e->rebuild);
    ftm_recover_early(e);
    if (e->rebuild->vain && e->rebuild->state == REBUILD_NONE)
        rebuild_send_away(e, e->rebuild);
}

void ftm_rebuild_nospawn(struct ftm *e, int seat, uint32_t life)
{
    rebuild_note(e, REBUILD_NOSPAWN, seat, life);
}

static void rebuild_welcome_all(struct ftm *e, struct ftm_rebuild *b);

void ftm_rebuild_failed(struct ftm *e, int proc)
{
    rebuild_note(e, REBUILD_FAILED, e->procs[proc]->seat, e->procs[proc]->life);
    if (e->rebuild == NULL)
        return;
    if (e->rebuild->state == REBUILD_ADMITS)
        rebuild_welcome_all(e, e->rebuild);
    rebuild_ask_around(e, e->rebuild);
    ftm_recover_early(e);
}

enum rebuild_outcome { REBUILD_GOES_ON, REBUILD_COMPLETE, REBUILD_IN_VAIN };

static struct rebuild_rank *rebuild_wanted(struct ftm_rebuild *b, int seat)
{
    int i;

    for (i = 0; i < b->count; i++)
        if (b->rank[i].wanted && b->rank[i].seat == seat)
            return &b->rank[i];
    return NULL;
}

/* Looks through all that the arbiter has told, up to the first point at which it is decided. `proc` of those
 * that have joined is set, and -1 of those that have not. */
static enum rebuild_outcome rebuild_look(struct ftm *e, struct ftm_rebuild *b)
{
    int i, missing = 0;
    size_t k;

    for (i = 0; i < b->count; i++) {
        missing += b->rank[i].wanted;
        if (b->rank[i].wanted)
            b->rank[i].proc = -1;
    }
    for (k = b->first; k < b->events_count && missing > 0; k++) {
        const struct rebuild_event *event = &b->events[k];
        struct rebuild_rank *r = rebuild_wanted(b, event->seat);

        if (r == NULL || event->life != r->life)
            continue;
        if (event->kind == REBUILD_JOINED && r->proc < 0) {
            r->proc = ftm_proc_find(e, (uint32_t)r->seat, r->life)->index;
            missing--;
        } else if (event->kind == REBUILD_FAILED) {
            missing += r->proc >= 0;
            r->proc = -1;
            r->life++;
        }
        if (event->kind == REBUILD_NOSPAWN || r->life > r->life_most) {
            b->first = k + 1;
            return REBUILD_IN_VAIN;
        }
    }
    return missing > 0 ? REBUILD_GOES_ON : REBUILD_COMPLETE;
}

/* ---- Asking ------------------------------------------------------------------------------------------ */

static int rebuild_lives(const struct ftm *e, const struct rebuild_rank *r)
{
    return !r->wanted && e->procs[r->proc]->state != FTM_PROC_FAILED;
}

/* 1: we are the lowest living member; of those that are not new, if one of them lives. */
static int rebuild_is_lowest(const struct ftm *e, const struct ftm_rebuild *b, int old_only)
{
    int i;

    for (i = 0; i < b->count; i++)
        if (rebuild_lives(e, &b->rank[i]) && !(old_only && b->rank[i].fresh))
            return b->rank[i].proc == e->self_proc;
    return 0;
}

static void rebuild_ask(struct ftm *e, struct ftm_rebuild *b)
{
    int i;

    if (!rebuild_is_lowest(e, b, 0))
        return;
    for (i = 0; i < b->count; i++) {
        struct rebuild_rank *r = &b->rank[i];

        if (!r->wanted || r->proc >= 0 || r->asked == r->life)
            continue;
        ftm_trace(e, "MPI_COMM_WORLD: asks for a process in seat %d, life %lu", r->seat,
                  (unsigned long)r->life);
        if (ftm_notice_spawn(e, r->seat, r->life, b->generation) == 0)
            r->asked = r->life;
    }
}

/* ---- WELCOME ----------------------------------------------------------------------------------------- */

enum { WELCOME_HEAD = 16, WELCOME_RANK = 24 };

static size_t welcome_size(int count)
{
    return WELCOME_HEAD + WELCOME_RANK * (size_t)count;
}

/* generation, count, modes, 0; for each rank: seat, life, host, site, fresh, the last life that may be tried.
 * count 0: go. */
static void welcome_send(struct ftm *e, struct ftm_rebuild *b, int to, int count)
{
    unsigned char *bytes = ftm_mem_new(&e->mem, welcome_size(count)), *p = bytes + WELCOME_HEAD;
    int i;

    if (bytes == NULL) {
        ftm_end(e, 1, "rank %d: no memory to recover MPI_COMM_WORLD", e->config.rank);
        return;
    }
    ftm_put32(bytes, b->generation);
    ftm_put32(bytes + 4, (uint32_t)count);
    ftm_put32(bytes + 8, ftm_modes_put(&b->modes));
    for (i = 0; i < count; i++, p += WELCOME_RANK) {
        const struct ftm_proc *proc = e->procs[b->rank[i].proc];

        ftm_put32(p, (uint32_t)proc->seat);
        ftm_put32(p + 4, proc->life);
        ftm_put32(p + 8, (uint32_t)proc->host);
        ftm_put32(p + 12, (uint32_t)proc->site);
        ftm_put32(p + 16, (uint32_t)b->rank[i].fresh);
        ftm_put32(p + 20, b->rank[i].life_most);
    }
    ftm_vote_tell(e, to, FTM_WORD(FTM_AGREE, FTM_VOTE_WELCOME, 0, 0), bytes, welcome_size(count));
    ftm_mem_free(&e->mem, bytes, welcome_size(count));
}

/* The new ones must hear it: from the lowest of the others, or, if none of these lives, from each new one. */
static void rebuild_welcome_all(struct ftm *e, struct ftm_rebuild *b)
{
    int i, old = 0;

    for (i = 0; i < b->count; i++)
        old += rebuild_lives(e, &b->rank[i]) && !b->rank[i].fresh;
    if (old > 0 && !rebuild_is_lowest(e, b, 1))
        return;
    for (i = 0; i < b->count; i++)
        if (b->rank[i].fresh && rebuild_lives(e, &b->rank[i]) && b->rank[i].proc != e->self_proc)
            welcome_send(e, b, b->rank[i].proc, b->count);
}

/* ---- The steps --------------------------------------------------------------------------------------- */

static void rebuild_drop(struct ftm *e, struct ftm_rebuild *b)
{
    ftm_vote_release(e, b->vote);
    b->vote = NULL;
    ftm_group_drop(e, b->group);
    b->group = NULL;
}

static void rebuild_end(struct ftm *e, struct ftm_rebuild *b)
{
    rebuild_drop(e, b);
    if (b->world != NULL)
        ftm_comm_drop(e, b->world);
    b->world = NULL;
    ftm_mem_free(&e->mem, b->rank, (size_t)b->count * sizeof *b->rank);
    b->rank = NULL;
    b->count = 0;
    b->state = REBUILD_NONE;
}

/* The last life of a seat that was tried before this recovery, or that which the world knows. */
static uint32_t rebuild_last_life(const struct ftm_rebuild *b, int seat, uint32_t life)
{
    size_t i;

    for (i = 0; i < b->first; i++)
        if (b->events[i].kind != REBUILD_NOSPAWN && b->events[i].seat == seat && b->events[i].life > life)
            life = b->events[i].life;
    return life;
}

/* What became of the first agreement: who failed is wanted, and gaps are. */
void ftm_rebuild_begin(struct ftm *e, struct ftm_comm *world, const struct ftm_modes *modes)
{
    struct ftm_rebuild *b = rebuild_get(e);
    int i;

    if (b == NULL)
        return;
    b->rank = ftm_mem_new(&e->mem, (size_t)world->size * sizeof *b->rank);
    if (b->rank == NULL) {
        ftm_end(e, 1, "rank %d: no memory to recover MPI_COMM_WORLD", e->config.rank);
        return;
    }
    world->refs++;
    b->world = world;
    b->count = world->size;
    b->modes = *modes;
    b->generation = world->generation + 1;
    b->state = REBUILD_WANTS;
    b->vain = 0;
    for (i = 0; i < world->size; i++) {
        struct rebuild_rank *r = &b->rank[i];
        int proc = world->group->proc[i];

        r->proc = ftm_recover_former(world, i);
        r->seat = e->procs[r->proc]->seat;
        r->wanted = proc < 0 || ftm_vote_says_failed(world->recovery.vote, proc);
        r->life = rebuild_last_life(b, r->seat, e->procs[r->proc]->life) + 1;
        r->life_most = r->life + REBUILD_TRIES - 1;
    }
}

/* Those at the end are in the order of the ranks that they fill. */
static void rebuild_order(struct ftm *e, struct ftm_rebuild *b)
{
    struct rebuild_rank *ordered;
    int i, pass, n = 0;

    if (b->modes.comm != FTMPI_COMM_MODE_REBUILD_END)
        return;
    ordered = ftm_mem_new(&e->mem, (size_t)b->count * sizeof *ordered);
    if (ordered == NULL) {
        ftm_end(e, 1, "rank %d: no memory to recover MPI_COMM_WORLD", e->config.rank);
        return;
    }
    for (pass = 0; pass < 2; pass++)
        for (i = 0; i < b->count; i++)
            if (b->rank[i].wanted == pass)
                ordered[n++] = b->rank[i];
    ftm_mem_free(&e->mem, b->rank, (size_t)b->count * sizeof *b->rank);
    b->rank = ordered;
}

/* The second agreement, among all of the new world. */
static void rebuild_vote(struct ftm *e, struct ftm_rebuild *b)
{
    struct ftm_vote_part part = { UINT32_MAX, 0, NULL };
    size_t bytes = (size_t)b->count * sizeof(int);
    int i, *proc = ftm_mem_new(&e->mem, bytes);

    for (i = 0; proc != NULL && i < b->count; i++)
        proc[i] = b->rank[i].proc;
    b->group = proc != NULL ? ftm_group_new(e, proc, b->count) : NULL;
    ftm_mem_free(&e->mem, proc, bytes);
    b->state = REBUILD_ADMITS;
    if (b->group != NULL && ftm_vote_place(e, 0, b->generation, b->group) == 0)
        b->vote = ftm_vote_start_at(e, 0, b->generation, FTM_VOTE_REBUILD, 0, &part);
    if (b->vote == NULL) {
        ftm_end(e, 1, "rank %d: no memory to recover MPI_COMM_WORLD", e->config.rank);
        return;
    }
    rebuild_welcome_all(e, b);
    ftm_recover_early(e);
}

static void rebuild_admit(struct ftm *e, struct ftm_rebuild *b)
{
    int i;

    rebuild_order(e, b);
    for (i = 0; i < b->count; i++) {
        b->rank[i].fresh |= b->rank[i].wanted;
        b->rank[i].wanted = 0;
    }
    ftm_trace(e, "MPI_COMM_WORLD: every seat has its process, generation %lu", (unsigned long)b->generation);
    rebuild_vote(e, b);
}

/* Those that have joined and have no place. The lowest living member of the world tells them. */
static void rebuild_send_away(struct ftm *e, struct ftm_rebuild *b)
{
    const struct ftm_group *g = ftm_recover_newest(e->world)->group;
    size_t i;

    for (i = 0; i < (size_t)g->size; i++)
        if (g->proc[i] >= 0 && e->procs[g->proc[i]]->state != FTM_PROC_FAILED)
            break;
    if (i == (size_t)g->size || g->proc[i] != e->self_proc)
        return;
    for (i = 0; i < e->procs_count; i++)
        if (e->procs[i]->state == FTM_PROC_JOINING)
            welcome_send(e, b, (int)i, 0);
}

/* Nobody can be started: those that have joined meanwhile are not wanted. */
static void rebuild_in_vain(struct ftm *e, struct ftm_rebuild *b)
{
    struct ftm_comm *world = b->world;

    b->vain = 1;
    rebuild_send_away(e, b);
    world->refs++;
    rebuild_end(e, b);
    ftm_recover_ends(e, world, MPI_ERR_SPAWN);
    ftm_comm_drop(e, world);
}

static void rebuild_done(struct ftm *e, struct ftm_rebuild *b)
{
    struct ftm_modes modes = b->modes;
    int i;

    for (i = 0; i < b->count; i++)
        if (e->procs[b->rank[i].proc]->state == FTM_PROC_JOINING)
            e->procs[b->rank[i].proc]->state = FTM_PROC_OK;
    if (ftm_recover_succeed(e, b->world, b->group, b->generation, &modes) != 0)
        return;
    rebuild_end(e, b);
    if (!b->restarted)
        return;
    b->restarted = 0;
    ftm_recover_take_world(e);
    e->start.ready = 1;
}

/* The second agreement is over. Who failed during it is wanted in the next generation. */
static void rebuild_admitted(struct ftm *e, struct ftm_rebuild *b)
{
    uint32_t context = ftm_vote_context(b->vote);
    int i, failed = 0;

    if (ftm_vote_says_failed(b->vote, e->self_proc)) {
        ftm_end(e, 1, "rank %d: was declared failed, and so ends", e->config.rank);
        return;
    }
    if (e->contexts.next < context)
        e->contexts.next = context;
    for (i = 0; i < b->count; i++) {
        struct rebuild_rank *r = &b->rank[i];

        r->wanted = ftm_vote_says_failed(b->vote, r->proc);
        failed += r->wanted;
        if (!r->wanted)
            continue;
        r->life = e->procs[r->proc]->life + 1;
        if (!r->fresh) /* a member that dies now has its own three tries */
            r->life_most = e->procs[r->proc]->life + REBUILD_TRIES;
    }
    if (failed == 0) {
        rebuild_done(e, b);
        return;
    }
    rebuild_drop(e, b);
    b->generation++;
    b->state = REBUILD_WANTS;
}

int ftm_rebuild_run(struct ftm *e)
{
    struct ftm_rebuild *b = e->rebuild;
    enum rebuild_outcome outcome;

    if (b == NULL || b->state == REBUILD_NONE)
        return 0;
    if (b->state == REBUILD_ADMITS) {
        if (b->vote == NULL || !ftm_vote_done(b->vote))
            return 0;
        rebuild_admitted(e, b);
        return 1;
    }
    outcome = rebuild_look(e, b);
    if (outcome == REBUILD_COMPLETE)
        rebuild_admit(e, b);
    else if (outcome == REBUILD_IN_VAIN)
        rebuild_in_vain(e, b);
    else
        rebuild_ask(e, b);
    return outcome != REBUILD_GOES_ON;
}

/* ---- A process that was started again ---------------------------------------------------------------- */

enum welcome_number { WELCOME_RANKS = 0, WELCOME_ASK, WELCOME_IGNORANT };

static int rebuild_waits(const struct ftm_rebuild *b)
{
    return b->restarted && b->state == REBUILD_NONE;
}

/* Whether all that live have said that they know no more than we do. */
static void rebuild_check_ignorance(struct ftm *e, const struct ftm_rebuild *b)
{
    size_t i, k;

    for (i = 0; i < e->procs_count; i++) {
        int state = e->procs[i]->state;

        if ((int)i == e->self_proc || state == FTM_PROC_FAILED || state == FTM_PROC_FINISHED)
            continue;
        for (k = 0; k < b->ignorant_count && b->ignorant[k] != (int)i; k++)
            ;
        if (k == b->ignorant_count)
            return;
    }
    ftm_end(e, 1, "rank %d: was started again, but nobody is left who knows the others", e->config.rank);
}

static void rebuild_ask_around(struct ftm *e, struct ftm_rebuild *b)
{
    unsigned char bytes[4];
    size_t i;

    if (!rebuild_waits(b))
        return;
    b->ignorant_count = 0;
    ftm_put32(bytes, ++b->round);
    for (i = 0; i < e->procs_count; i++)
        if ((int)i != e->self_proc)
            ftm_vote_tell(e, (int)i, FTM_WORD(FTM_AGREE, FTM_VOTE_WELCOME, 0, WELCOME_ASK), bytes,
                          sizeof bytes);
    rebuild_check_ignorance(e, b);
}

/* A question or an answer of one that waits, too. */
static int rebuild_asked(struct ftm *e, const struct ftm_arrival *a)
{
    struct ftm_rebuild *b = e->rebuild;
    void *array;
    size_t i;

    if (a->size != 4)
        return -1;
    if (b == NULL || !rebuild_waits(b))
        return 0; /* we know the world, and it will be welcomed or sent away */
    if (FTM_TAG(a->tag) == WELCOME_ASK) {
        ftm_vote_tell(e, a->proc->index, FTM_WORD(FTM_AGREE, FTM_VOTE_WELCOME, 0, WELCOME_IGNORANT), a->data,
                      a->size);
        return 0;
    }
    if (ftm_get32(a->data) != b->round)
        return 0;
    for (i = 0; i < b->ignorant_count; i++)
        if (b->ignorant[i] == a->proc->index)
            return 0;
    array = b->ignorant;
    if (!ftm_mem_grow(&e->mem, &array, &b->ignorant_capacity, b->ignorant_count, sizeof *b->ignorant)) {
        ftm_end(e, 1, "rank %d: no memory to recover MPI_COMM_WORLD", e->config.rank);
        return 0;
    }
    b->ignorant = array;
    b->ignorant[b->ignorant_count++] = a->proc->index;
    rebuild_check_ignorance(e, b);
    return 0;
}

void ftm_rebuild_restarted(struct ftm *e, uint32_t generation)
{
    struct ftm_rebuild *b = rebuild_get(e);

    if (b == NULL)
        return;
    b->restarted = 1;
    rebuild_ask_around(e, b);
    ftm_trace(e, "was started again, for generation %lu: waits to be let in", (unsigned long)generation);
    ftm_recover_early(e);
}

/* A life of which this process has never heard failed before it was started, and its seat has a new one. */
static int welcome_proc(struct ftm *e, const unsigned char *from)
{
    uint32_t seat = ftm_get32(from), life = ftm_get32(from + 4);
    struct ftm_proc *p;

    if (seat >= (uint32_t)e->config.size || life > FTM_LIFE_MAX)
        return -1;
    p = ftm_proc_find(e, seat, life);
    if (p != NULL) { /* our TABLE may have it where its seat's last life was */
        p->host = (int)ftm_get32(from + 8);
        p->site = (int)ftm_get32(from + 12);
        return p->index;
    }
    p = ftm_proc_add(e, (int)seat, life, (int)ftm_get32(from + 8), (int)ftm_get32(from + 12));
    if (p == NULL)
        return -1;
    p->state = FTM_PROC_FAILED;
    return p->index;
}

/* A life that is newer than all that we have been told of: the arbiter's word is still on its way. */
static int welcome_is_early(struct ftm *e, const unsigned char *from, uint32_t count)
{
    uint32_t i;

    for (i = 0; i < count; i++, from += WELCOME_RANK) {
        uint32_t seat = ftm_get32(from), life = ftm_get32(from + 4);

        if (seat < (uint32_t)e->config.size && life > e->procs[seat]->life && life <= FTM_LIFE_MAX
            && ftm_proc_find(e, seat, life) == NULL)
            return 1;
    }
    return 0;
}

/* One rank: a process that has no other, and no more tries than there are lives. seats: those seen. */
static int welcome_rank(struct ftm *e, struct rebuild_rank *r, const unsigned char *from,
                        unsigned char *seats)
{
    uint32_t fresh = ftm_get32(from + 16), most = ftm_get32(from + 20);

    r->proc = welcome_proc(e, from);
    if (r->proc < 0 || fresh > 1 || most > FTM_LIFE_MAX + REBUILD_TRIES)
        return -1;
    r->seat = e->procs[r->proc]->seat;
    if (seats[r->seat]++ != 0)
        return -1;
    r->life = e->procs[r->proc]->life;
    r->fresh = (int)fresh;
    r->life_most = most;
    return most < r->life ? -1 : 0;
}

static int welcome_read(struct ftm *e, struct ftm_rebuild *b, const unsigned char *from)
{
    size_t bytes = (size_t)e->config.size;
    unsigned char *seats = ftm_mem_new(&e->mem, bytes);
    int i, bad = seats == NULL, self = 0;

    for (i = 0; !bad && i < b->count; i++, from += WELCOME_RANK) {
        bad = welcome_rank(e, &b->rank[i], from, seats) != 0;
        self += b->rank[i].proc == e->self_proc;
    }
    ftm_mem_free(&e->mem, seats, bytes);
    return !bad && self == 1 ? 0 : -1;
}

/* Only the first one counts, of this process's generation. */
static int rebuild_welcome(struct ftm *e, const unsigned char *from, size_t size)
{
    struct ftm_rebuild *b = e->rebuild;
    uint32_t count;

    if (e->config.life == 0)
        return -1;
    count = size >= WELCOME_HEAD ? ftm_get32(from + 4) : 0;
    if (size < WELCOME_HEAD || count > (uint32_t)e->config.size || size != welcome_size((int)count))
        return -1;
    if (e->start.ready || (b != NULL && b->state != REBUILD_NONE))
        return 0; /* it is in, or comes in */
    if (b == NULL || !b->restarted)
        return 1;
    if (count == 0) {
        ftm_end(e, 1, "rank %d: is not needed any more", e->config.rank);
        return 0;
    }
    if (welcome_is_early(e, from + WELCOME_HEAD, count))
        return 1;
    if (ftm_modes_get(&b->modes, ftm_get32(from + 8)) != 0)
        return -1;
    b->generation = ftm_get32(from);
    b->rank = ftm_mem_new(&e->mem, count * sizeof *b->rank);
    b->count = b->rank != NULL ? (int)count : 0;
    if (b->rank == NULL || welcome_read(e, b, from + WELCOME_HEAD) != 0)
        return -1;
    b->world = e->world;
    b->world->refs++;
    rebuild_vote(e, b);
    return 0;
}

int ftm_rebuild_welcome(struct ftm *e, const struct ftm_arrival *a)
{
    if (FTM_TAG(a->tag) == WELCOME_RANKS)
        return rebuild_welcome(e, a->data, a->size);
    return FTM_TAG(a->tag) <= WELCOME_IGNORANT ? rebuild_asked(e, a) : -1;
}

void ftm_rebuild_clear(struct ftm *e)
{
    struct ftm_rebuild *b = e->rebuild;

    if (b == NULL)
        return;
    rebuild_end(e, b);
    ftm_mem_free(&e->mem, b->ignorant, b->ignorant_capacity * sizeof *b->ignorant);
    ftm_mem_free(&e->mem, b->events, b->events_capacity * sizeof *b->events);
    ftm_mem_free(&e->mem, b, sizeof *b);
    e->rebuild = NULL;
}
