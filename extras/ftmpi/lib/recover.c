/* recover.c - how members that survive come to a successor of their communicator. */
#include "recover.h"

#include <string.h>

#include "comm.h"
#include "engine.h"
#include "error.h"
#include "fault.h"
#include "flight.h"
#include "mpi-ext.h"
#include "pump.h"
#include "rebuild.h"
#include "vote.h"

/* The recovery of a communicator in one generation is one vote, however many calls lead to it. A member
 * enters it when its program calls, or when it hears that another has: the engine takes part by itself, so
 * members that recover several communicators in different orders do not wait for each other. The successor
 * has the same context and a higher generation; from then on what is for it gets there, but the program
 * keeps the old one, on which everything is an error, until its own call takes the successor
 * (ftm_recover_take): else half of the programs would go on without having noticed.
 *
 *      NONE -- called, or heard of --> AGREES -- SHRINK, BLANK --> DONE, with a successor
 *                                      AGREES -- REBUILD of MPI_COMM_WORLD --> REBUILDS (rebuild.c) --> DONE
 *                                      AGREES -- REBUILD of another --> FOLLOWS MPI_COMM_WORLD --> DONE
 *
 * ENTER and REVOKE are flooded: who hears it for the first time tells its neighbours at distances 1, 2, 4 ...
 * in both directions among the living members in the order of ranks; and once more when somebody fails. */

enum recover_flood { RECOVER_ENTER = 1, RECOVER_REVOKE };

/* Of messages for what is not here yet: a recovery says little, and some WELCOMEs are the most of it. */
#define RECOVER_EARLY_MOST (4u << 20)

#define RECOVER_FLOOD_SIZE 8 /* generation u32, attempt u32 */

/* A message for a generation or a communicator that is not here yet. Its bytes follow. */
struct recover_early {
    struct ftm_list link;
    int proc;
    uint64_t from, tag;
    size_t size;
};

void ftm_recover_init(struct ftm *e)
{
    ftm_list_init(&e->recoveries);
    ftm_list_init(&e->early);
    ftm_vote_init(e);
}

static void recover_early_free(struct ftm *e, struct recover_early *item)
{
    ftm_list_remove(&item->link);
    e->early_bytes -= sizeof *item + item->size;
    ftm_mem_free(&e->mem, item, sizeof *item + item->size);
}

void ftm_recover_clear(struct ftm *e)
{
    while (!ftm_list_is_empty(&e->early))
        recover_early_free(e, FTM_LIST_OF(e->early.next, struct recover_early, link));
    ftm_vote_clear(e);
}

void ftm_recover_forget(struct ftm *e, struct ftm_comm *c)
{
    struct ftm_recovery *r = &c->recovery;

    ftm_list_remove(&r->link);
    ftm_vote_release(e, r->vote);
    r->vote = NULL;
    ftm_vote_forget(e, c);
    if (r->former != NULL)
        ftm_mem_free(&e->mem, r->former, (size_t)c->group->size * sizeof *r->former);
    r->former = NULL;
    if (r->successor != NULL)
        ftm_comm_drop(e, r->successor);
    r->successor = NULL;
}

int ftm_recover_is_on(const struct ftm_comm *c)
{
    return c->fault.modes.comm != FTMPI_COMM_MODE_ABORT;
}

/* Members may have set different modes. Without an arbiter there is only ABORT. */
int ftm_recover_votes(const struct ftm *e, const struct ftm_comm *c)
{
    return e->config.arbiter != 0 || ftm_recover_is_on(c);
}

static void recover_watch(struct ftm *e, struct ftm_comm *c)
{
    if (c->recovery.link.next == NULL)
        ftm_list_add(&e->recoveries, &c->recovery.link);
}

static void recover_no_memory(struct ftm *e)
{
    ftm_end(e, 1, "rank %d: no memory to recover a communicator", e->config.rank);
}

/* ---- Floods ------------------------------------------------------------------------------------------ */

/* The living members in the order of ranks; *me is our place among them. Given back by the caller. */
static int *recover_living(struct ftm *e, const struct ftm_group *g, int *count, int *me)
{
    int i, *living = ftm_mem_new(&e->mem, (size_t)g->size * sizeof *living);

    *count = *me = 0;
    for (i = 0; living != NULL && i < g->size; i++) {
        if (g->proc[i] < 0 || e->procs[g->proc[i]]->state == FTM_PROC_FAILED)
            continue;
        if (g->proc[i] == e->self_proc)
            *me = *count;
        living[(*count)++] = g->proc[i];
    }
    return living;
}

static void recover_flood(struct ftm *e, struct ftm_comm *c, enum recover_flood what)
{
    uint64_t tag = FTM_WORD(FTM_REVOKE, what, c->context, 0);
    unsigned char bytes[RECOVER_FLOOD_SIZE];
    int i, me, count, d, *living = recover_living(e, c->group, &count, &me);

    if (living == NULL) {
        recover_no_memory(e);
        return;
    }
    ftm_put32(bytes, c->generation);
    ftm_put32(bytes + 4, c->recovery.attempt);
    for (d = 1; d < count; d *= 2) {
        ftm_vote_tell(e, living[(me + d) % count], tag, bytes, sizeof bytes);
        if (2 * d != count)
            ftm_vote_tell(e, living[(me + count - d) % count], tag, bytes, sizeof bytes);
    }
    for (i = 0; c->remote != NULL && i < c->remote->size; i++)
        if (c->remote->proc[i] >= 0)
            ftm_vote_tell(e, c->remote->proc[i], tag, bytes, sizeof bytes);
    ftm_mem_free(&e->mem, living, (size_t)c->group->size * sizeof *living);
}

void ftm_recover_revoke(struct ftm *e, struct ftm_comm *c)
{
    if (c->fault.revoked)
        return;
    recover_flood(e, c, RECOVER_REVOKE);
    ftm_fault_revoked(e, c);
    ftm_vote_revoked(e, c);
}

/* ---- Entering ---------------------------------------------------------------------------------------- */

static void recover_enter(struct ftm *e, struct ftm_comm *c)
{
    struct ftm_recovery *r = &c->recovery;
    struct ftm_vote_part part = { 0, 0, NULL };

    r->called = 0;
    if (r->state != FTM_RECOVERY_NONE)
        return;
    r->state = FTM_RECOVERY_AGREES;
    ftm_trace(e, "communicator %lu, generation %lu: enters its recovery", (unsigned long)c->context,
              (unsigned long)c->generation);
    recover_watch(e, c);
    ftm_fault_entered(e, c);
    recover_flood(e, c, RECOVER_ENTER);
    part.flags = FTM_VOTE_CONTENT | FTM_VOTE_WHOLE | (r->forced ? 0u : (uint32_t)FTM_VOTE_FREE);
    part.settings = ftm_modes_put(&c->fault.modes);
    r->vote = ftm_vote_start(e, c, FTM_VOTE_RECOVERY, r->attempt, &part);
    if (r->vote == NULL)
        recover_no_memory(e);
}

/* ---- Deciding ---------------------------------------------------------------------------------------- */

static void recover_set_next(struct ftm *e, uint32_t context)
{
    if (e->contexts.next < context)
        e->contexts.next = context;
}

/* The old group without those who failed, or with gaps in their places. */
static struct ftm_group *recover_group(struct ftm *e, const struct ftm_comm *c, int blank)
{
    size_t bytes = (size_t)c->size * sizeof(int);
    int i, n = 0, *proc = ftm_mem_new(&e->mem, bytes);
    struct ftm_group *g = NULL;

    for (i = 0; proc != NULL && i < c->size; i++) {
        int p = c->group->proc[i], lives = p >= 0 && !ftm_vote_says_failed(c->recovery.vote, p);

        if (lives || blank)
            proc[n++] = lives ? p : FTM_GAP;
    }
    if (proc != NULL)
        g = ftm_group_new(e, proc, n);
    ftm_mem_free(&e->mem, proc, bytes);
    return g;
}

/* Who stood at each rank last, for those who fill gaps later. -1: no memory. */
static int recover_keep_former(struct ftm *e, const struct ftm_comm *old, struct ftm_comm *now)
{
    int i, gaps = 0, *former;

    for (i = 0; i < now->size; i++)
        gaps += now->group->proc[i] == FTM_GAP;
    if (gaps == 0)
        return 0;
    former = ftm_mem_new(&e->mem, (size_t)now->size * sizeof *former);
    for (i = 0; former != NULL && i < now->size; i++)
        former[i] = ftm_recover_former(old, i);
    now->recovery.former = former;
    return former != NULL ? 0 : -1;
}

int ftm_recover_former(const struct ftm_comm *c, int rank)
{
    return c->recovery.former != NULL ? c->recovery.former[rank] : c->group->proc[rank];
}

int ftm_recover_succeed(struct ftm *e, struct ftm_comm *c, struct ftm_group *group, uint32_t generation,
                        const struct ftm_modes *modes)
{
    int same = modes->comm == FTMPI_COMM_MODE_BLANK || modes->comm == FTMPI_COMM_MODE_REBUILD;
    struct ftm_comm *now = NULL;

    if (group == NULL || ftm_comm_succeed(e, c, group, same ? c->topo : NULL, generation, &now) != 0
        || (modes->comm == FTMPI_COMM_MODE_BLANK && recover_keep_former(e, c, now) != 0)) {
        if (now != NULL)
            ftm_comm_drop(e, now);
        recover_no_memory(e);
        return -1;
    }
    now->fault.modes = *modes;
    ftm_vote_bind(e, now);
    ftm_fault_succeeded(e, c, now, modes->msg);
    c->fault.state = FT_RECOVER; /* until the program takes the successor */
    c->recovery.successor = now;
    c->recovery.state = FTM_RECOVERY_DONE;
    ftm_trace(e, "communicator %lu: generation %lu has %d ranks", (unsigned long)c->context,
              (unsigned long)generation, now->size);
    ftm_recover_early(e);
    return 0;
}

void ftm_recover_ends(struct ftm *e, struct ftm_comm *c, int error)
{
    struct ftm_recovery *r = &c->recovery;

    ftm_trace(e, "communicator %lu, generation %lu: cannot be recovered", (unsigned long)c->context,
              (unsigned long)c->generation);
    ftm_vote_release(e, r->vote);
    r->vote = NULL;
    r->error = error;
    r->state = FTM_RECOVERY_DONE;
    r->attempt++;
}

/* The newest MPI_COMM_WORLD that this engine knows, which the program may not have taken yet. */
struct ftm_comm *ftm_recover_newest(struct ftm_comm *c)
{
    while (c->recovery.successor != NULL && c->recovery.successor->context == c->context)
        c = c->recovery.successor;
    return c;
}

/* REBUILD fills the world and nothing else. So a communicator that names the same seats follows it. */
static int recover_is_whole(struct ftm *e, const struct ftm_comm *c)
{
    const struct ftm_comm *world = ftm_recover_newest(e->world);
    int i;

    if (c->size != world->size)
        return 0;
    for (i = 0; i < c->size; i++) {
        int a = ftm_recover_former(c, i), b = ftm_recover_former(world, i);

        if (a < 0 || b < 0 || e->procs[a]->seat != e->procs[b]->seat)
            return 0;
    }
    return 1;
}

static void recover_decide(struct ftm *e, struct ftm_comm *c)
{
    struct ftm_recovery *r = &c->recovery;
    const struct ftm_agree_value *v = ftm_vote_value(r->vote);
    struct ftm_modes modes;
    struct ftm_group *g;
    int rebuild;

    if (ftm_vote_says_failed(r->vote, e->self_proc)) {
        ftm_end(e, 1, "rank %d: was declared failed, and so ends", e->config.rank);
        return;
    }
    if (ftm_modes_get(&modes, v->settings) != 0) {
        ftm_end(e, 1, "rank %d: was sent modes that do not exist", e->config.rank);
        return;
    }
    recover_set_next(e, v->context);
    if (!(v->flags & FTM_VOTE_CONTENT)) {
        ftm_recover_ends(e, c, MPI_ERR_COMM);
        return;
    }
    if (!(v->flags & FTM_VOTE_FREE) && modes.comm != FTMPI_COMM_MODE_REBUILD_END)
        modes.comm = FTMPI_COMM_MODE_REBUILD;
    rebuild = modes.comm == FTMPI_COMM_MODE_REBUILD || modes.comm == FTMPI_COMM_MODE_REBUILD_END;
    if (rebuild && c == ftm_recover_newest(e->world)) {
        r->state = FTM_RECOVERY_REBUILDS;
        ftm_rebuild_begin(e, c, &modes);
    } else if (rebuild && !recover_is_whole(e, c)) {
        ftm_recover_ends(e, c, MPI_ERR_COMM);
    } else if (rebuild) {
        r->state = FTM_RECOVERY_FOLLOWS;
        r->msg_mode = modes.msg;
    } else {
        g = recover_group(e, c, modes.comm == FTMPI_COMM_MODE_BLANK);
        ftm_recover_succeed(e, c, g, c->generation + 1, &modes);
        ftm_group_drop(e, g);
    }
}

/* The world is to be recovered as long as somebody who failed in c is in it. */
static void recover_follow(struct ftm *e, struct ftm_comm *c)
{
    struct ftm_comm *world = ftm_recover_newest(e->world);
    struct ftm_recovery *r = &c->recovery;
    int i, broken = 0;

    for (i = 0; i < world->size; i++)
        broken += world->group->proc[i] < 0 || ftm_vote_says_failed(r->vote, world->group->proc[i]);
    if (!broken) {
        r->successor = world;
        world->refs++;
        ftm_fault_joined(e, c, world, r->msg_mode);
        r->state = FTM_RECOVERY_DONE;
    } else if (world->recovery.state == FTM_RECOVERY_NONE) {
        world->recovery.forced = 1;
        recover_enter(e, world);
    } else if (world->recovery.state == FTM_RECOVERY_DONE) { /* without a successor */
        ftm_recover_ends(e, c, world->recovery.error);
    }
}

/* One step of it. 1: something happened. */
static int recover_step(struct ftm *e, struct ftm_comm *c)
{
    struct ftm_recovery *r = &c->recovery;
    enum ftm_recovery_state before = r->state;

    if (r->state == FTM_RECOVERY_DONE && r->successor == NULL && r->called)
        r->state = FTM_RECOVERY_NONE; /* others try again */
    if (r->called)
        recover_enter(e, c);
    if (r->state == FTM_RECOVERY_AGREES && r->vote != NULL && ftm_vote_done(r->vote))
        recover_decide(e, c);
    if (r->state == FTM_RECOVERY_FOLLOWS)
        recover_follow(e, c);
    if (r->state == FTM_RECOVERY_DONE)
        ftm_list_remove(&r->link);
    return r->state != before;
}

void ftm_recover_run(struct ftm *e)
{
    struct ftm_list *link, *next;
    int more = 1;

    while (more && !e->ended) {
        more = ftm_rebuild_run(e);
        for (link = e->recoveries.next; link != &e->recoveries; link = next) {
            next = link->next;
            more |= recover_step(e, FTM_LIST_OF(link, struct ftm_comm, recovery.link));
        }
    }
}

/* ---- What is heard ----------------------------------------------------------------------------------- */

static int recover_flooded(struct ftm *e, const struct ftm_arrival *a)
{
    struct ftm_match *m = ftm_match_find(e, FTM_CONTEXT(a->tag));
    uint32_t what = FTM_FLAGS(a->tag), generation, attempt;
    const unsigned char *bytes = a->data;
    struct ftm_comm *c;

    if (a->size != RECOVER_FLOOD_SIZE || what < RECOVER_ENTER || what > RECOVER_REVOKE)
        return -1;
    generation = ftm_get32(bytes);
    attempt = ftm_get32(bytes + 4);
    if (m == NULL && what == RECOVER_ENTER
        && ftm_vote_decline(e, FTM_CONTEXT(a->tag), generation, attempt) != 0)
        return -1;
    if (m == NULL)
        return !ftm_match_is_over(e, FTM_CONTEXT(a->tag));
    c = m->comm;
    if (generation != c->generation)
        return generation > c->generation;
    if (what == RECOVER_REVOKE)
        ftm_recover_revoke(e, c);
    else if (attempt > c->recovery.attempt)
        return 1;
    else if (attempt == c->recovery.attempt) {
        c->recovery.called = 1;
        recover_watch(e, c);
    }
    return 0;
}

static int recover_heard(struct ftm *e, const struct ftm_arrival *a)
{
    struct ftm_comm *called;
    int rc;

    if (FTM_KIND(a->tag) == FTM_REVOKE)
        return recover_flooded(e, a);
    if (FTM_FLAGS(a->tag) == FTM_VOTE_WELCOME)
        return ftm_rebuild_welcome(e, a);
    rc = ftm_vote_arrived(e, a, &called);
    if (rc == 0 && called != NULL) {
        called->recovery.called = 1;
        recover_watch(e, called);
    }
    return rc;
}

int ftm_recover_arrived(struct ftm *e, const struct ftm_arrival *a)
{
    struct recover_early *item;
    int rc = recover_heard(e, a);

    if (rc <= 0)
        return rc;
    if (a->size > RECOVER_EARLY_MOST || e->early_bytes > RECOVER_EARLY_MOST)
        return -1;
    item = ftm_mem_new(&e->mem, sizeof *item + a->size);
    if (item == NULL) {
        recover_no_memory(e);
        return 0;
    }
    item->proc = a->proc->index;
    item->from = a->from;
    item->tag = a->tag;
    item->size = a->size;
    memcpy(item + 1, a->data, a->size);
    e->early_bytes += sizeof *item + a->size;
    ftm_list_add(&e->early, &item->link);
    return 0;
}

static void recover_replay(struct ftm *e)
{
    struct ftm_list *link, *next, *last = e->early.prev;
    int more = !ftm_list_is_empty(&e->early);

    for (link = e->early.next; more; link = next) {
        struct recover_early *item = FTM_LIST_OF(link, struct recover_early, link);
        struct ftm_arrival a;
        int rc = 0;

        next = link->next;
        more = link != last;
        a.proc = e->procs[item->proc];
        a.from = item->from;
        a.tag = item->tag;
        a.data = item + 1;
        a.size = item->size;
        if (a.proc->state != FTM_PROC_FAILED)
            rc = recover_heard(e, &a);
        if (rc < 0)
            ftm_flight_bad(e, a.from, a.tag, a.size);
        if (rc <= 0)
            recover_early_free(e, item);
    }
}

/* What it finds may make room for more. */
void ftm_recover_early(struct ftm *e)
{
    if (e->early_again > 0) {
        e->early_again = 2;
        return;
    }
    do {
        e->early_again = 1;
        recover_replay(e);
    } while (e->early_again > 1);
    e->early_again = 0;
}

void ftm_recover_failed(struct ftm *e, int proc)
{
    struct ftm_list *link;
    size_t i;

    ftm_vote_failed(e, proc);
    ftm_rebuild_failed(e, proc);
    for (link = e->recoveries.next; link != &e->recoveries; link = link->next) {
        struct ftm_comm *c = FTM_LIST_OF(link, struct ftm_comm, recovery.link);

        if (c->recovery.state == FTM_RECOVERY_AGREES && ftm_group_rank_of(c->group, proc) >= 0)
            recover_flood(e, c, RECOVER_ENTER);
    }
    for (i = 0; i < e->contexts.count; i++) {
        struct ftm_comm *c = e->contexts.sorted[i]->comm;

        if (&c->match[0] == e->contexts.sorted[i] && c->fault.revoked
            && (ftm_group_rank_of(c->group, proc) >= 0 || ftm_group_rank_of(ftm_comm_peers(c), proc) >= 0))
            recover_flood(e, c, RECOVER_REVOKE);
    }
}

/* ---- Calls ------------------------------------------------------------------------------------------- */

int ftm_recover_is_due(struct ftm *e, struct ftm_comm *c)
{
    if (c->remote != NULL || !ftm_recover_is_on(c) || c->fault.modes.comm == FTMPI_COMM_MODE_ULFM)
        return 0;
    if (c->fault.state == FT_FAILED)
        return c->recovery.successor == NULL;
    return ftm_fault_is_recovery(e, c);
}

int ftm_recover_begin(struct ftm *e, struct ftm_comm *c)
{
    struct ftm_recovery *r = &c->recovery;

    if (c->fault.state == FT_FAILED && r->successor == NULL && r->state == FTM_RECOVERY_DONE) {
        r->state = FTM_RECOVERY_NONE; /* what ended without a successor may be tried again */
        r->error = 0;
    }
    if (r->state == FTM_RECOVERY_NONE)
        recover_enter(e, c);
    ftm_recover_run(e);
    return e->ended ? MPI_ERR_INTERN : 0;
}

int ftm_recover_is_done(void *c)
{
    return ((struct ftm_comm *)c)->recovery.state == FTM_RECOVERY_DONE;
}

/* Requests that are started again and again are of the world, whoever is in it. */
static void recover_move_persistent(struct ftm *e, struct ftm_comm *old, struct ftm_comm *now)
{
    struct ftm_list *link;

    for (link = e->requests.next; link != &e->requests; link = link->next) {
        struct ftm_request *r = FTM_LIST_OF(link, struct ftm_request, all);

        if (r->order.comm != old || !r->persistent || !r->done)
            continue;
        now->refs++;
        r->order.comm = now;
        ftm_comm_drop(e, old);
    }
}

/* What the program has set since the successor was made counts. */
static void recover_take_handler(struct ftm *e, const struct ftm_comm *old, struct ftm_comm *now)
{
    old->errhandler->refs++;
    ftm_error_drop(e, now->errhandler);
    now->errhandler = old->errhandler;
    now->handler_set = old->handler_set;
}

/* MPI_COMM_WORLD is repaired in place: the handle, and what the program has hung on it. */
static void recover_take_world(struct ftm *e, struct ftm_comm *now)
{
    struct ftm_comm *old = e->world;

    if (now == old)
        return;
    now->refs++;
    ftm_table_replace(&e->handles, old->handle, FTM_COMM, now);
    now->handle = old->handle;
    old->handle = 0;
    now->attrs = old->attrs;
    old->attrs = NULL;
    memcpy(now->name, old->name, sizeof now->name);
    recover_take_handler(e, old, now);
    recover_move_persistent(e, old, now);
    e->world = now;
    old->fault.state = FT_FAILED;
    ftm_fault_opened(e, now);
    ftm_comm_drop(e, old);
}

void ftm_recover_take_world(struct ftm *e)
{
    recover_take_world(e, ftm_recover_newest(e->world));
}

int ftm_recover_take(struct ftm *e, struct ftm_comm *c, struct ftm_comm **out)
{
    struct ftm_comm *now = c->recovery.successor;
    int rc = c->recovery.error;

    *out = NULL;
    if (now == NULL) {
        c->fault.state = FT_FAILED;
        return rc != 0 ? rc : MPI_ERR_INTERN;
    }
    now = ftm_recover_newest(now);
    if (now->context == e->world->context) {
        if (c != e->world)
            c->fault.state = FT_FAILED;
        recover_take_world(e, now);
        *out = e->world;
        return 0;
    }
    if (ftm_table_add(&e->handles, FTM_COMM, now, &now->handle) != 0)
        return MPI_ERR_INTERN;
    now->refs++;
    recover_take_handler(e, c, now);
    c->fault.state = FT_FAILED;
    ftm_fault_opened(e, now);
    *out = now;
    return 0;
}

int ftm_recover_call(struct ftm *e, struct ftm_comm *c, struct ftm_comm **out)
{
    int rc = ftm_recover_begin(e, c);

    *out = NULL;
    if (rc == 0)
        rc = ftm_pump_until(e, ftm_recover_is_done, c);
    return rc != 0 ? rc : ftm_recover_take(e, c, out);
}

/* What we say at the end of a call; more: flags besides. */
static struct ftm_vote_part create_part(const struct ftm_comm *c, int worked, uint32_t more)
{
    struct ftm_vote_part part = { FTM_VOTE_WHOLE, 0, NULL };

    if (worked == 0)
        part.flags |= FTM_VOTE_CONTENT | more;
    if (c->fault.state >= FT_RECOVER || c->fault.revoked)
        part.flags = 0;
    return part;
}

/* What all say. The vote is held by the caller. */
static int create_wait(struct ftm *e, struct ftm_comm *c, struct ftm_vote *v, int worked, uint32_t *flags)
{
    int rc = v != NULL ? ftm_pump_until(e, ftm_vote_done, v) : MPI_ERR_INTERN;

    if (rc == 0) {
        *flags = ftm_vote_flags(v);
        if (!(*flags & FTM_VOTE_WHOLE))
            rc = ftm_fault_code(c);
        else if (!(*flags & FTM_VOTE_CONTENT))
            rc = worked != 0 ? worked : ftm_fault_code(c);
    }
    if (rc != 0 && v != NULL && c->fault.revoked)
        rc = MPIX_ERR_REVOKED;
    if (ftm_fault_is(rc))
        ftm_fault_tell_known(e, c);
    return rc;
}

int ftm_recover_create(struct ftm *e, struct ftm_comm *c, int worked, uint32_t *context, uint32_t *said)
{
    struct ftm_vote_part part = create_part(c, worked, said != NULL ? *said : 0);
    struct ftm_vote *v;
    uint32_t flags = 0;
    int rc;

    if (c->fault.state == FT_FAILED)
        return MPI_ERR_COMM;
    v = ftm_vote_start(e, c, FTM_VOTE_CREATE, c->recovery.creates++, &part);
    rc = create_wait(e, c, v, worked, &flags);
    if (v != NULL && ftm_vote_done(v))
        *context = ftm_vote_context(v);
    if (said != NULL)
        *said = flags;
    ftm_vote_release(e, v);
    return rc;
}

int ftm_recover_meet(struct ftm *e, struct ftm_comm *c, const struct ftm_vote_side *own,
                     const struct ftm_vote_side *other, const struct ftm_group *remote)
{
    struct ftm_vote_part part = create_part(c, 0, 0);
    struct ftm_vote *v = ftm_vote_meet(e, c, own, other, remote, &part);
    uint32_t flags;
    int rc = create_wait(e, c, v, 0, &flags);

    ftm_vote_release(e, v);
    return rc;
}

static int shrink_make(struct ftm *e, struct ftm_comm *c, const struct ftm_vote *v, struct ftm_comm **out)
{
    struct ftm_comm_parts parts = { c, 0, NULL, NULL, NULL, 0 };
    size_t bytes = (size_t)c->size * sizeof(int);
    int i, n = 0, rc = MPI_ERR_INTERN, *proc = ftm_mem_new(&e->mem, bytes);

    *out = NULL;
    for (i = 0; proc != NULL && i < c->size; i++)
        if (c->group->proc[i] >= 0 && !ftm_vote_says_failed(v, c->group->proc[i]))
            proc[n++] = c->group->proc[i];
    parts.context = ftm_vote_context(v);
    if (proc != NULL)
        parts.group = ftm_group_new(e, proc, n);
    if (parts.group != NULL)
        rc = ftm_comm_new(e, &parts, out);
    ftm_group_drop(e, parts.group);
    ftm_mem_free(&e->mem, proc, bytes);
    return rc;
}

struct ftm_vote *ftm_recover_shrink_begin(struct ftm *e, struct ftm_comm *c)
{
    static const struct ftm_vote_part part = { UINT32_MAX, 0, NULL };

    return ftm_vote_start(e, c, FTM_VOTE_SHRINK, c->recovery.shrinks++, &part);
}

int ftm_recover_shrink_take(struct ftm *e, struct ftm_comm *c, struct ftm_vote *v, struct ftm_comm **out)
{
    int rc = shrink_make(e, c, v, out);

    ftm_vote_release(e, v);
    return rc;
}

/* ---- MPI_Finalize ------------------------------------------------------------------------------------ */

struct recover_end {
    struct ftm *e;
    struct ftm_comm *world;
    struct ftm_vote *vote;
};

/* Others may recover the world meanwhile: then the end is agreed upon by who is in the new one. */
static int recover_end_met(void *arg)
{
    static const struct ftm_vote_part part = { UINT32_MAX, 0, NULL };
    struct recover_end *end = arg;
    struct ftm_comm *newest = ftm_recover_newest(end->e->world);

    if (newest != end->world) {
        ftm_vote_release(end->e, end->vote);
        end->world = newest;
        end->vote = ftm_vote_start(end->e, newest, FTM_VOTE_FINALIZE, 0, &part);
    }
    return end->vote == NULL || ftm_vote_done(end->vote);
}

int ftm_recover_finalize(struct ftm *e)
{
    struct recover_end end = { NULL, NULL, NULL };
    int rc;

    if (!ftm_recover_votes(e, e->world))
        return 0;
    end.e = e;
    rc = ftm_pump_until(e, recover_end_met, &end);
    if (rc == 0 && end.vote == NULL)
        rc = MPI_ERR_INTERN;
    ftm_vote_release(e, end.vote);
    return rc;
}
