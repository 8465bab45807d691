/* tree.c - the tree of agents: its calls, its edges with their credit, and what happens in which order. */

/* An edge is one neighbour. What its sender may have under way has a bound (the window): the receiver gives
 * credit back when what came has been passed on, and gives none while too much waits here. So a slow agent
 * stops those behind it, and nobody's memory grows. A single message may be larger than the window if less
 * than half of that is under way.
 *
 * Every call changes the state and then runs the tree: events first, since what was put before an operation
 * must arrive before it; then operations; then credit; until nothing can be done any more. Calls from inside
 * callbacks only change the state. */
#include "tree_state.h"

#include <stdlib.h>
#include <string.h>

/* ---- Small things ---------------------------------------------------------------------------- */

/* array: the address of a pointer, whose type does not matter here. */
int la_tree_grow(void *array, uint32_t *capacity, uint32_t count, size_t each)
{
    uint32_t want = *capacity < 4 ? 4 : *capacity;
    void *at, *grown;

    if (count <= *capacity)
        return 0;
    while (want < count)
        want *= 2;
    memcpy(&at, array, sizeof at);
    grown = realloc(at, want * each);
    if (grown == NULL)
        return PHX_ENOMEM;
    memset((unsigned char *)grown + *capacity * each, 0, (want - *capacity) * each);
    memcpy(array, &grown, sizeof grown);
    *capacity = want;
    return 0;
}

struct tree_job *la_tree_find_job(const struct la_tree *t, uint32_t job)
{
    struct tree_job *j = t->jobs;

    while (j != NULL && (j->id != job || j->over))
        j = j->next_job;
    return j;
}

struct tree_edge *la_tree_edge(struct la_tree *t, uint32_t agent)
{
    uint32_t i;

    if (!t->root && t->up.agent == agent)
        return &t->up;
    for (i = 0; i < t->kids_count; i++)
        if (t->kids[i].agent == agent)
            return &t->kids[i];
    return NULL;
}

int la_tree_has(const struct tree_edge *e, uint32_t agent)
{
    return agent >= e->agent && agent < e->end;
}

void la_tree_fail(struct la_tree *t)
{
    t->failed = 1;
}

void la_tree_restart(struct tree_edge *e, int state)
{
    e->state = state;
    e->blocked = 0;
    e->in_flight = e->owed = 0;
    la_wire_clear(&e->queue);
}

/* ---- Edges ----------------------------------------------------------------------------------- */

static int tree_is_windowed(uint32_t type)
{
    return type != TREE_CREDIT && type != TREE_JOIN && type != TREE_REJOIN && type != TREE_CUT;
}

/* The receiver owes less than half a window for as long as it likes. */
static int tree_has_room(const struct tree_edge *e, size_t size)
{
    return !e->blocked && (e->in_flight < e->window / 2 || e->in_flight + size <= e->window);
}

int la_tree_can_send(const struct tree_edge *e, size_t size)
{
    return e->state == TREE_LIVE && la_wire_left(&e->queue) == 0 && tree_has_room(e, size);
}

static int tree_send(struct la_tree *t, struct tree_edge *e, uint32_t type, const void *data, size_t size)
{
    int err = t->ops.send(t->ops.ctx, e->agent, type, data, size);

    if (err == PHX_EAGAIN) {
        e->blocked = 1;
        return err;
    }
    t->stats.messages_out++;
    t->stats.bytes_out += size;
    if (tree_is_windowed(type))
        e->in_flight += size;
    return 0; /* a message that was lost is one of a neighbour that is lost: la_tree_lost follows */
}

int la_tree_send(struct la_tree *t, struct tree_edge *e, uint32_t type, const struct la_buf *m)
{
    if (m->failed) {
        la_tree_fail(t);
        return PHX_ENOMEM;
    }
    return tree_send(t, e, type, la_wire_front(m), la_wire_left(m));
}

int la_tree_queue(struct la_tree *t, struct tree_edge *e, uint32_t type, const void *data, size_t size)
{
    (void)t;
    (void)la_wire_var(&e->queue, type);
    (void)la_wire_var(&e->queue, size);
    return la_wire_bytes(&e->queue, data, size);
}

int la_tree_queue_buf(struct la_tree *t, struct tree_edge *e, uint32_t type, struct la_buf *m)
{
    int err = m->failed ? PHX_ENOMEM : la_tree_queue(t, e, type, la_wire_front(m), la_wire_left(m));

    la_wire_free(m);
    return err;
}

/* Sends what waits at an edge: 1 if something has left. */
static int tree_pump(struct la_tree *t, struct tree_edge *e)
{
    const unsigned char *data;
    struct la_reader r;
    uint32_t type;
    size_t size, before;
    int did = 0;

    while (e->state == TREE_LIVE && (before = la_wire_left(&e->queue)) > 0) {
        la_wire_read(&r, la_wire_front(&e->queue), before);
        type = la_wire_take_u32(&r);
        size = (size_t)la_wire_take_var(&r);
        data = la_wire_take(&r, size);
        if (!tree_has_room(e, size) || tree_send(t, e, type, data, size) != 0)
            break;
        la_wire_drop(&e->queue, before - r.left);
        did = 1;
    }
    return did;
}

/* Gives credit back, in large pieces: an operation of few bytes costs no such message. */
static void tree_credit(struct la_tree *t, struct tree_edge *e, size_t window, size_t waiting)
{
    if (e->state != TREE_LIVE || e->blocked || e->owed < window / 2 || waiting > TREE_LIMIT)
        return;
    la_wire_clear(&t->scratch);
    (void)la_wire_var(&t->scratch, e->owed);
    if (la_tree_send(t, e, TREE_CREDIT, &t->scratch) == 0)
        e->owed = 0;
}

static void tree_credits(struct la_tree *t)
{
    size_t up = la_collect_waiting_up(t) + la_wire_left(&t->up.queue);
    size_t down = la_collect_waiting_down(t) + la_board_waiting_down(t);
    uint32_t i;

    for (i = 0; i < t->kids_count; i++)
        tree_credit(t, &t->kids[i], TREE_WINDOW_UP, up + la_wire_left(&t->kids[i].queue));
    if (!t->root)
        tree_credit(t, &t->up, TREE_WINDOW_DOWN, down);
}

/* ---- Life ------------------------------------------------------------------------------------ */

static int tree_new_kids(struct la_tree *t, const struct la_tree_config *cfg)
{
    uint32_t i;

    if (la_tree_grow(&t->kids, &t->kids_capacity, cfg->children_count, sizeof *t->kids) != 0)
        return PHX_ENOMEM;
    for (i = 0; i < cfg->children_count; i++) {
        uint32_t end = i + 1 < cfg->children_count ? cfg->children[i + 1] : cfg->end;
        if (cfg->children[i] <= cfg->self || end <= cfg->children[i] || end > cfg->end)
            return PHX_EINVAL;
        t->kids[i].agent = cfg->children[i];
        t->kids[i].end = end;
        t->kids[i].window = TREE_WINDOW_DOWN;
    }
    t->kids_count = i;
    return 0;
}

int la_tree_new(struct la_tree **out, const struct la_tree_config *cfg)
{
    struct la_tree *t;
    int err;

    *out = NULL;
    if (cfg->end <= cfg->self || (cfg->parent != LA_NONE && cfg->parent >= cfg->self))
        return PHX_EINVAL;
    if ((t = calloc(1, sizeof *t)) == NULL)
        return PHX_ENOMEM;
    t->ops = cfg->ops;
    t->self = cfg->self;
    t->end = cfg->end;
    t->root = cfg->parent == LA_NONE;
    t->go_on = cfg->go_on;
    t->cut_wait = cfg->cut_wait_us;
    t->notice = cfg->notice_us;
    t->up.agent = cfg->parent;
    t->up.window = TREE_WINDOW_UP;
    if ((err = tree_new_kids(t, cfg)) != 0) {
        la_tree_free(t);
        return err;
    }
    *out = t;
    return 0;
}

static void tree_job_free(struct tree_job *j)
{
    la_collect_op_free(&j->op[0]);
    la_collect_op_free(&j->op[1]);
    free(j->kids);
    free(j);
}

void la_tree_free(struct la_tree *t)
{
    struct tree_job *j;
    uint32_t i;

    if (t == NULL)
        return;
    while ((j = t->jobs) != NULL) {
        t->jobs = j->next_job;
        tree_job_free(j);
    }
    for (i = 0; i < t->kids_count; i++)
        la_wire_free(&t->kids[i].queue);
    la_wire_free(&t->up.queue);
    la_wire_free(&t->scratch);
    la_board_free(t);
    free(t->gone.at);
    free(t->elsewhere.at);
    free(t->kids);
    free(t);
}

int la_tree_job(struct la_tree *t, uint32_t job)
{
    struct tree_job *j;
    uint32_t i;

    if (la_tree_find_job(t, job) != NULL)
        return 0;
    if ((j = calloc(1, sizeof *j)) == NULL
        || (j->kids = calloc(t->kids_capacity + 1, sizeof *j->kids)) == NULL) {
        free(j);
        return PHX_ENOMEM;
    }
    j->id = job;
    j->out = TREE_NEVER;
    for (i = 0; i < t->kids_capacity; i++)
        j->kids[i].out = TREE_NEVER;
    j->next_job = t->jobs;
    t->jobs = j;
    return 0;
}

void la_tree_job_end(struct la_tree *t, uint32_t job)
{
    struct tree_job *j = la_tree_find_job(t, job);

    if (j != NULL)
        j->over = 1; /* freed by the run: this may be one of its own callbacks */
    la_tree_run(t);
}

int la_tree_enter(struct la_tree *t, const struct la_coll *c, const struct la_record *records, size_t count)
{
    struct tree_job *j = la_tree_find_job(t, c->job);
    int err = j == NULL ? PHX_EINVAL : la_collect_enter(t, j, c, records, count);

    la_tree_run(t);
    return err;
}

int la_tree_out(struct la_tree *t, uint32_t job, uint32_t number)
{
    struct tree_job *j = la_tree_find_job(t, job);

    if (j == NULL || number < j->next)
        return PHX_EINVAL;
    if (number < j->out)
        j->out = number;
    la_tree_run(t);
    return 0;
}

int la_tree_up(struct la_tree *t, uint32_t type, const void *data, size_t size)
{
    int err;

    if (type >= TREE_EVENTS || size > LA_TREE_EVENT)
        return PHX_EINVAL;
    if (!la_tree_ready(t))
        return PHX_EAGAIN;
    err = la_board_event(t, type, data, size);
    la_tree_run(t);
    return err;
}

int la_tree_ready(const struct la_tree *t)
{
    return la_wire_left(&t->mine) <= TREE_LIMIT && la_wire_left(&t->events) <= TREE_LIMIT;
}

/* ---- What happens ---------------------------------------------------------------------------- */

static int tree_recv_credit(struct tree_edge *e, struct la_reader *r)
{
    uint64_t size = la_wire_take_var(r);

    if (r->bad || size > e->in_flight)
        return PHX_EPROTO;
    e->in_flight -= (size_t)size;
    return 0;
}

static int tree_recv_parent(struct la_tree *t, uint32_t type, struct la_reader *r)
{
    switch (type) {
    case TREE_DOWN: return la_collect_recv_down(t, r);
    case TREE_EVENT_DOWN: return la_board_recv_down(t, r);
    case TREE_GOT: return la_board_recv_got(t, r);
    case TREE_HEARD_UP: return la_board_recv_heard_up(t, r);
    case TREE_CREDIT: return tree_recv_credit(&t->up, r);
    default: return t->go_on ? la_replay_recv(t, t->up.agent, type, r) : PHX_EPROTO;
    }
}

static int tree_recv_kid(struct la_tree *t, struct tree_edge *e, uint32_t type, struct la_reader *r)
{
    uint32_t kid = (uint32_t)(e - t->kids);
    uint64_t heard;

    switch (type) {
    case TREE_UP: return la_collect_recv_up(t, kid, r);
    case TREE_EVENT_UP: return la_board_recv_up(t, kid, r);
    case TREE_GET: return la_board_recv_get(t, kid, r);
    case TREE_OUT: return la_collect_recv_out(t, kid, r);
    case TREE_CREDIT: return tree_recv_credit(e, r);
    case TREE_HEARD_DOWN:
        heard = la_wire_take_var(r);
        e->heard = heard > e->heard ? heard : e->heard;
        return r->bad ? PHX_EPROTO : 0;
    default: return t->go_on ? la_replay_recv(t, e->agent, type, r) : PHX_EPROTO;
    }
}

/* JOIN, RESUME and the like speak for themselves; of who is lost nothing else counts. */
static int tree_recv(struct la_tree *t, uint32_t agent, uint32_t type, struct la_reader *r, size_t size)
{
    struct tree_edge *e = la_tree_edge(t, agent);
    int err;

    if (e == NULL || e->state != TREE_LIVE) {
        if (!t->go_on)
            return e == NULL ? PHX_EPROTO : 0;
        if (type != TREE_JOIN && type != TREE_RESUME && type != TREE_CUT && type != TREE_REJOIN)
            return la_replay_stranger(t, agent);
        err = la_replay_recv(t, agent, type, r);
    } else {
        err = e == &t->up ? tree_recv_parent(t, type, r) : tree_recv_kid(t, e, type, r);
    }
    if ((e = la_tree_edge(t, agent)) != NULL && tree_is_windowed(type))
        e->owed += size;
    return err;
}

int la_tree_recv(struct la_tree *t, uint32_t agent, uint32_t type, const void *data, size_t size)
{
    struct la_reader r;
    int err;

    if (t->busy || t->cut)
        return t->cut ? 0 : PHX_ESTATE;
    t->stats.messages_in++;
    t->stats.bytes_in += size;
    la_wire_read(&r, data, size);
    t->busy = 1;
    err = size > LA_TREE_MESSAGE ? PHX_EPROTO : tree_recv(t, agent, type, &r, size);
    t->busy = 0;
    if (err == PHX_ENOMEM)
        la_tree_fail(t);
    la_tree_run(t);
    return err == PHX_EPROTO ? err : 0;
}

void la_tree_writable(struct la_tree *t, uint32_t agent)
{
    struct tree_edge *e = la_tree_edge(t, agent);

    if (e != NULL)
        e->blocked = 0;
    la_tree_run(t);
}

void la_tree_lost(struct la_tree *t, uint32_t agent)
{
    struct tree_edge *e = la_tree_edge(t, agent);

    if (e != NULL && (e->state == TREE_LIVE || e->state == TREE_JOINING)) {
        if (e->state == TREE_LIVE)
            e->since = t->now; /* a parent that did not answer is no new start of the wait */
        if (e != &t->up)
            la_replay_leave(t, e, TREE_LOST);
        else
            la_tree_restart(e, TREE_LOST);
        t->failed |= e == &t->up && !t->go_on;
    }
    la_tree_run(t);
}

/* ---- The run --------------------------------------------------------------------------------- */

static void tree_measure(struct la_tree *t)
{
    size_t sum = sizeof *t + la_collect_memory(t) + t->up.queue.capacity + t->scratch.capacity
                 + t->mine.capacity + t->events.capacity + t->kids_capacity * sizeof *t->kids
                 + t->wants_count * (sizeof(struct tree_want) + 64)
                 + t->origins_capacity * sizeof *t->origins
                 + (t->gone.capacity + t->elsewhere.capacity) * sizeof *t->gone.at;
    uint32_t i;

    for (i = 0; i < t->kids_count; i++)
        sum += t->kids[i].queue.capacity;
    t->stats.memory = sum;
    if (sum > t->stats.memory_most)
        t->stats.memory_most = sum;
}

static void tree_sweep(struct la_tree *t)
{
    struct tree_job **at = &t->jobs, *j;

    while ((j = *at) != NULL) {
        if (!j->over) {
            at = &j->next_job;
            continue;
        }
        *at = j->next_job;
        tree_job_free(j);
    }
}

static int tree_turn(struct la_tree *t)
{
    struct tree_job *j;
    uint32_t i;
    int did = t->go_on ? la_replay_run(t) : 0;

    did |= la_board_run(t);
    if (!t->root)
        did |= tree_pump(t, &t->up);
    for (i = 0; i < t->kids_count; i++)
        did |= tree_pump(t, &t->kids[i]);
    for (j = t->jobs; j != NULL && !t->failed; j = j->next_job)
        if (!j->over)
            did |= la_collect_run(t, j);
    tree_credits(t);
    return did;
}

void la_tree_run(struct la_tree *t)
{
    if (t->busy || t->cut)
        return;
    t->busy = 1;
    while (!t->failed && tree_turn(t)) /* ends: windows are bounded, and what has come is finite */
        tree_sweep(t);
    tree_sweep(t);
    tree_measure(t);
    t->busy = 0;
    if (!t->failed)
        return;
    t->cut = 1;
    t->ops.cut_off(t->ops.ctx);
}

void la_tree_step(struct la_tree *t, uint64_t now_us)
{
    t->now = now_us > t->now ? now_us : t->now;
    la_tree_run(t);
}

void la_tree_stats(const struct la_tree *t, struct la_tree_stats *out)
{
    *out = t->stats;
}
