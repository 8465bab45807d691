/* replay.c - agents that die while the job goes on: who joins whom, what is sent again, who is given up. */

/* A child that loses its parent joins an ancestor and says how far it is (JOIN). The ancestor answers with
 * what it has of the child's subtree (RESUME): the contributions of these agents need not come again. The
 * child hands the same down, so that every agent of its subtree sends what was lost with the dead one: its
 * own records, which it keeps until the operation is done, and its events that agent 0 has not heard. The
 * generation in RESUME comes back in UP: what was sent before says nothing about what is to come now.
 *
 * A parent that loses a child waits until each agent of that subtree is known to be dead, has come here,
 * or is said to be elsewhere (TAKEN from above, HERE from below); or for cut_wait. The rest is gone, for
 * all: agent 0 is told, and whoever comes later is cut. An orphan that finds no way within cut_wait ends
 * by itself. */
#include "tree_state.h"

#include <stdlib.h>
#include <string.h>

/* ---- Ranges of agents ------------------------------------------------------------------------ */

static int replay_add(struct tree_ranges *s, const struct tree_range *r)
{
    if (la_tree_grow(&s->at, &s->capacity, s->count + 1, sizeof *s->at) != 0)
        return PHX_ENOMEM;
    s->at[s->count++] = *r;
    return 0;
}

/* Takes these agents out of the ranges. */
static int replay_subtract(struct tree_ranges *s, uint32_t first, uint32_t end)
{
    struct tree_range rest;
    uint32_t i, count = s->count;
    int err = 0;

    for (i = 0; i < count && err == 0; i++) {
        if (s->at[i].end <= first || s->at[i].first >= end)
            continue;
        rest = s->at[i];
        rest.first = end;
        s->at[i].end = first > s->at[i].first ? first : s->at[i].first; /* may be empty */
        if (rest.first < rest.end)
            err = replay_add(s, &rest);
    }
    for (i = count = 0; i < s->count; i++)
        if (s->at[i].first < s->at[i].end)
            s->at[count++] = s->at[i];
    s->count = count;
    return err;
}

/* An agent's subtree is elsewhere, if nothing newer is known of it. */
static int replay_note(struct tree_ranges *s, const struct tree_range *r)
{
    uint32_t i;

    for (i = 0; i < s->count && s->at[i].first != r->first; i++)
        ;
    if (i == s->count)
        return replay_add(s, r);
    if (s->at[i].session <= r->session)
        s->at[i] = *r;
    return 0;
}

/* The end of the range that has this agent; 0: none has. */
static uint32_t replay_past(const struct tree_ranges *s, uint32_t agent)
{
    uint32_t i;

    for (i = 0; i < s->count; i++)
        if (s->at[i].first <= agent && agent < s->at[i].end)
            return s->at[i].end;
    return 0;
}

/* A child's edge ends, or begins anew: who asked there asks again, and what it said of others may be over. */
void la_replay_leave(struct la_tree *t, struct tree_edge *e, int state)
{
    uint32_t i, n = 0;

    la_tree_restart(e, state);
    la_board_forget(t, e->agent);
    for (i = 0; i < t->elsewhere.count; i++)
        if (t->elsewhere.at[i].via != e->agent)
            t->elsewhere.at[n++] = t->elsewhere.at[i];
    t->elsewhere.count = n;
}

static int replay_is_within(const struct tree_edge *e, uint32_t first, uint32_t end)
{
    return e->agent >= first && e->end <= end;
}

static int replay_say(struct la_tree *t, struct tree_edge *e, uint32_t type, const struct tree_range *r)
{
    struct la_buf m;

    memset(&m, 0, sizeof m);
    (void)la_wire_var(&m, r->first);
    (void)la_wire_var(&m, r->end);
    (void)la_wire_var(&m, r->session);
    return la_tree_queue_buf(t, e, type, &m);
}

static struct tree_range replay_range_of(const struct tree_edge *e)
{
    struct tree_range r;

    r.first = e->agent;
    r.end = e->end;
    r.via = LA_NONE;
    r.session = e->session;
    return r;
}

/* Tells all children but one below which somebody may wait for these agents. */
static int replay_say_taken(struct la_tree *t, const struct tree_edge *but, const struct tree_range *r)
{
    uint32_t i;
    int err = 0;

    for (i = 0; i < t->kids_count && err == 0; i++)
        if (&t->kids[i] != but && t->kids[i].state == TREE_LIVE && t->kids[i].agent < r->first
            && r->end <= t->kids[i].end)
            err = replay_say(t, &t->kids[i], TREE_TAKEN, r);
    return err;
}

/* A message without content to a neighbour, or to who takes us for one. If it is lost another one follows. */
static void replay_send_bare(struct la_tree *t, uint32_t agent, uint32_t type)
{
    if (t->ops.send(t->ops.ctx, agent, type, "", 0) == 0)
        t->stats.messages_out++;
}

/* ---- Gone ------------------------------------------------------------------------------------ */

/* These agents are gone for good. */
static int replay_bury(struct la_tree *t, const struct tree_range *r)
{
    uint32_t i;

    if (replay_past(&t->gone, r->first) >= r->end)
        return 0; /* told again */
    if (replay_add(&t->gone, r) != 0)
        return PHX_ENOMEM;
    for (i = 0; i < t->kids_count; i++)
        if (replay_is_within(&t->kids[i], r->first, r->end) && t->kids[i].state != TREE_AWAY)
            la_replay_leave(t, &t->kids[i], TREE_AWAY);
    if (t->root)
        t->ops.gone(t->ops.ctx, r->first, r->end);
    return 0;
}

/* What an agent of this child's subtree has given up, but for those that have come to us meanwhile, of
 * which it did not hear. What is left is told above. */
int la_replay_gone(struct la_tree *t, const struct tree_edge *from, struct la_reader *r, struct la_buf *left)
{
    struct tree_ranges all = { NULL, 0, 0 };
    struct tree_range range;
    uint32_t i;
    int err = 0;

    memset(&range, 0, sizeof range);
    while (r->left > 0 && err == 0) {
        range.first = la_wire_take_u32(r);
        range.end = la_wire_take_u32(r);
        if (r->bad || range.first <= from->agent || range.end <= range.first || range.end > from->end)
            err = PHX_EPROTO;
        else
            err = replay_add(&all, &range);
    }
    for (i = 0; i < t->kids_count && err == 0; i++)
        if (&t->kids[i] != from && t->kids[i].state == TREE_LIVE && t->kids[i].agent > from->agent)
            err = replay_subtract(&all, t->kids[i].agent, t->kids[i].end);
    for (i = 0; i < all.count && err == 0; i++) {
        (void)la_wire_var(left, all.at[i].first);
        (void)la_wire_var(left, all.at[i].end);
        err = replay_bury(t, &all.at[i]);
    }
    free(all.at);
    return err != 0 ? err : left->failed ? PHX_ENOMEM : 0;
}

static void replay_give_up(struct la_tree *t, uint32_t first, uint32_t end)
{
    struct tree_range r;
    struct la_buf m;

    memset(&r, 0, sizeof r);
    r.first = first;
    r.end = end;
    memset(&m, 0, sizeof m);
    (void)la_wire_var(&m, first);
    (void)la_wire_var(&m, end);
    if (m.failed || replay_bury(t, &r) != 0
        || (!t->root && la_board_event(t, TREE_GONE, la_wire_front(&m), la_wire_left(&m)) != 0))
        la_tree_fail(t);
    la_wire_free(&m);
}

/* Where the agents from `at` on that are accounted for end; `at` itself: it is not. */
static uint32_t replay_accounted(const struct la_tree *t, const struct tree_edge *lost, uint32_t at)
{
    uint32_t i, past = replay_past(&t->gone, at);

    if (past == 0)
        past = replay_past(&t->elsewhere, at);
    for (i = 0; i < t->kids_count && past == 0; i++)
        if (t->kids[i].state == TREE_LIVE && replay_is_within(&t->kids[i], lost->agent, lost->end)
            && la_tree_has(&t->kids[i], at))
            past = t->kids[i].end;
    return past == 0 ? at : past;
}

/* Looks whether a child that was lost is to be waited for. 1: not any more. */
static int replay_settle(struct la_tree *t, struct tree_edge *e)
{
    int late = t->now - e->since >= t->cut_wait + t->notice;
    uint32_t at = e->agent + (e->dead != 0), first = e->agent, end = e->end;

    while (at < end && !late && replay_accounted(t, e, at) > at)
        at = replay_accounted(t, e, at);
    if (at < end && !late)
        return 0;
    e->state = TREE_AWAY;
    while (first < end && !t->failed) {
        for (at = first; at < end && replay_accounted(t, e, at) == at; at++)
            ;
        if (at > first)
            replay_give_up(t, first, at);
        first = at < end ? replay_accounted(t, e, at) : end;
    }
    return 1;
}

void la_tree_dead(struct la_tree *t, uint32_t agent)
{
    struct tree_edge *e = la_tree_edge(t, agent);

    if (e != NULL && e != &t->up)
        e->dead = 1;
    la_tree_lost(t, agent);
}

/* ---- Joining --------------------------------------------------------------------------------- */

int la_tree_moved(struct la_tree *t, uint32_t parent)
{
    if (t->root || !t->go_on || parent >= t->self)
        return PHX_EINVAL;
    if (t->up.state == TREE_LIVE)
        t->up.since = t->now;
    t->up.agent = parent;
    t->up.session++;
    t->up.greeted = 0;
    la_tree_restart(&t->up, TREE_JOINING);
    la_tree_run(t);
    return 0;
}

/* Who this agent is and how far. */
static int replay_greet(struct la_tree *t)
{
    const struct tree_job *j;
    const struct tree_op *op;
    uint32_t count = 0;

    for (j = t->jobs; j != NULL; j = j->next_job)
        count++;
    la_wire_clear(&t->scratch);
    (void)la_wire_var(&t->scratch, t->up.session);
    (void)la_wire_var(&t->scratch, t->end);
    (void)la_wire_var(&t->scratch, t->events_number);
    (void)la_wire_var(&t->scratch, count);
    for (j = t->jobs; j != NULL; j = j->next_job) {
        op = &j->op[j->next & 1];
        (void)la_wire_var(&t->scratch, j->id);
        (void)la_wire_var(&t->scratch, j->next);
        (void)la_wire_var(&t->scratch, op->open && op->number == j->next ? la_wire_left(&op->log) : 0);
    }
    if (la_tree_send(t, &t->up, TREE_JOIN, &t->scratch) != 0)
        return 0;
    return t->up.greeted = 1;
}

/* An edge for a child that was none, with all that jobs keep for a child. */
static struct tree_edge *replay_new_kid(struct la_tree *t, uint32_t agent, uint32_t end)
{
    uint32_t was = t->kids_capacity, i;
    struct tree_kid *kids;
    struct tree_job *j;
    struct tree_edge *e;

    if (la_tree_grow(&t->kids, &t->kids_capacity, t->kids_count + 1, sizeof *t->kids) != 0)
        return NULL;
    for (j = t->jobs; j != NULL && t->kids_capacity > was; j = j->next_job) {
        if ((kids = realloc(j->kids, (t->kids_capacity + 1) * sizeof *kids)) == NULL) {
            la_tree_fail(t);
            return NULL;
        }
        j->kids = kids;
        for (i = was; i < t->kids_capacity; i++) {
            memset(&kids[i], 0, sizeof kids[i]);
            kids[i].out = TREE_NEVER;
        }
    }
    e = &t->kids[t->kids_count++];
    e->agent = agent;
    e->end = end;
    e->window = TREE_WINDOW_DOWN;
    e->state = TREE_AWAY;
    return e;
}

/* What one of the old ways to this child's agents has brought counts for it, too. */
static void replay_inherit(struct la_tree *t, struct tree_job *j, const struct tree_edge *e,
                           struct tree_kid *k)
{
    uint32_t i;
    int s;

    for (i = 0; i < t->kids_count; i++) {
        if (&t->kids[i] == e || t->kids[i].agent > e->agent || t->kids[i].end < e->end)
            continue;
        for (s = 0; s < 2; s++)
            k->complete[s] |= j->kids[i].complete[s];
        if (j->kids[i].out < k->out)
            k->out = j->kids[i].out;
    }
}

/* How far the child is in a job. PHX_EPROTO: so far behind, or before us, that no living agent can be. */
static int replay_job(struct la_tree *t, struct tree_job *j, const struct tree_edge *e, uint32_t next,
                      uint64_t got)
{
    struct tree_kid *k = &j->kids[e - t->kids];
    struct tree_cursor *c;
    struct tree_op *op;
    int s;

    if (next + 1 < j->next || next > j->next + 1)
        return PHX_EPROTO;
    replay_inherit(t, j, e, k);
    k->next = next;
    k->got = got;
    for (s = 0; s < 2; s++) {
        op = &j->op[s];
        if (!op->open)
            continue;
        c = &k->down[s];
        memset(c, 0, sizeof *c);
        c->ended = op->number < next;
        c->skip = op->number == next ? got : 0;
        k->complete[s] |= (uint8_t)(op->number < next);
    }
    return 0;
}

/* What we have of the child's subtree: a list of agents for each operation that may be under way. */
static void replay_list(const struct la_tree *t, const struct tree_job *j, const struct tree_edge *e,
                        uint32_t number, struct la_buf *m)
{
    const struct tree_op *op = &j->op[number & 1];
    int open = op->open && op->number == number && number >= j->next;
    int all = number < j->next || (open && j->kids[e - t->kids].complete[number & 1]);
    uint32_t i, count = 0;

    for (i = 0; i < op->blocks_count && open && !all; i++)
        count += op->blocks[i].whole && la_tree_has(e, op->blocks[i].agent);
    (void)la_wire_var(m, number);
    (void)la_wire_var(m, all ? 1 : 0);
    (void)la_wire_var(m, count);
    for (i = 0; i < op->blocks_count && count > 0; i++)
        if (op->blocks[i].whole && la_tree_has(e, op->blocks[i].agent))
            (void)la_wire_var(m, op->blocks[i].agent);
}

static int replay_resume(struct la_tree *t, struct tree_edge *e, int welcome)
{
    const struct tree_job *j;
    struct la_buf m;
    uint32_t count = 0, number, first;

    memset(&m, 0, sizeof m);
    for (j = t->jobs; j != NULL; j = j->next_job)
        count++;
    (void)la_wire_var(&m, e->session);
    (void)la_wire_var(&m, ++e->generation);
    (void)la_wire_var(&m, welcome ? 1 : 0);
    (void)la_wire_var(&m, count);
    for (j = t->jobs; j != NULL; j = j->next_job) {
        first = j->next > 0 ? j->next - 1 : 0;
        (void)la_wire_var(&m, j->id);
        (void)la_wire_var(&m, j->next + 2 - first);
        for (number = first; number < j->next + 2; number++)
            replay_list(t, j, e, number, &m);
    }
    return la_tree_queue_buf(t, e, TREE_RESUME, &m);
}

/* Tells the others whose child this is now, and the child who of its subtree is not with it. */
static int replay_spread(struct la_tree *t, struct tree_edge *e)
{
    struct tree_range r;
    uint32_t i;
    int err = 0;

    for (i = 0; i < t->elsewhere.count && err == 0; i++)
        if (t->elsewhere.at[i].first > e->agent && t->elsewhere.at[i].end <= e->end)
            err = replay_say(t, e, TREE_TAKEN, &t->elsewhere.at[i]);
    for (i = 0; i < t->kids_count && err == 0; i++) {
        if (&t->kids[i] == e || t->kids[i].state != TREE_LIVE
            || !replay_is_within(&t->kids[i], e->agent, e->end))
            continue;
        r = replay_range_of(&t->kids[i]);
        err = replay_say(t, e, TREE_TAKEN, &r);
    }
    r = replay_range_of(e);
    if (err == 0)
        err = replay_say_taken(t, e, &r);
    if (err == 0 && !t->root && t->up.state == TREE_LIVE)
        err = replay_say(t, &t->up, TREE_HERE, &r);
    return err;
}

/* Is a later session of this agent known elsewhere? */
static int replay_is_old(const struct tree_ranges *s, uint32_t agent, uint64_t session)
{
    uint32_t i;

    for (i = 0; i < s->count; i++)
        if (s->at[i].first == agent && s->at[i].session > session)
            return 1;
    return 0;
}

static int replay_recv_join(struct la_tree *t, uint32_t agent, struct la_reader *r)
{
    uint64_t session = la_wire_take_var(r), heard, got;
    uint32_t end = la_wire_take_u32(r), count, next, i;
    struct tree_edge *e = la_tree_edge(t, agent);
    struct tree_job *j;
    int err = 0;

    heard = la_wire_take_var(r);
    count = la_wire_take_u32(r);
    if (r->bad || agent <= t->self || end <= agent || end > t->end || (e != NULL && e->end != end))
        return PHX_EPROTO;
    if (replay_past(&t->gone, agent) != 0) {
        replay_send_bare(t, agent, TREE_CUT);
        return 0;
    }
    if ((e != NULL && session <= e->session) || replay_is_old(&t->elsewhere, agent, session))
        return 0; /* it has moved on since */
    if (e == NULL && (e = replay_new_kid(t, agent, end)) == NULL)
        return PHX_ENOMEM;
    la_replay_leave(t, e, TREE_LIVE);
    e->session = session;
    e->dead = 0;
    e->heard = heard;
    e->event_at = t->events_base;
    for (i = 0; i < count && err == 0; i++) {
        j = la_tree_find_job(t, la_wire_take_u32(r));
        next = la_wire_take_u32(r);
        got = la_wire_take_var(r);
        err = r->bad ? PHX_EPROTO : j == NULL ? 0 : replay_job(t, j, e, next, got);
    }
    if (err == 0)
        err = replay_resume(t, e, 1);
    return err != 0 ? err : replay_spread(t, e);
}

/* ---- Resuming -------------------------------------------------------------------------------- */

/* Nothing of this operation was passed on. */
static void replay_forget(struct la_tree *t, struct tree_job *j, struct tree_op *op)
{
    uint32_t i;

    op->said = 0;
    op->own_sent = 0;
    op->cut = 0;
    la_wire_clear(&op->pieces);
    la_collect_blocks_free(op);
    for (i = 0; i < t->kids_count; i++)
        j->kids[i].complete[op->number & 1] = op->number < j->kids[i].next;
}

/* One operation of RESUME. */
static int replay_take_list(struct la_tree *t, struct tree_job *j, struct la_reader *r)
{
    uint32_t number = la_wire_take_u32(r), all = la_wire_take_u32(r), count = la_wire_take_u32(r), i, agent;
    struct tree_op *op = j == NULL ? NULL : la_collect_op(j, number);
    struct tree_block *b;

    if (op != NULL && op->told)
        op = NULL;
    for (i = 0; i < t->kids_count && op != NULL && all; i++)
        j->kids[i].complete[number & 1] = 1;
    if (op != NULL && all) {
        op->said = 1;
        op->own_sent = la_wire_left(&op->own);
    }
    for (i = 0; i < count && !r->bad; i++) {
        agent = la_wire_take_u32(r);
        if (r->bad || agent < t->self || agent >= t->end)
            return PHX_EPROTO;
        if (op == NULL)
            continue;
        if (agent == t->self)
            op->own_sent = la_wire_left(&op->own);
        else if ((b = la_collect_block(op, agent)) == NULL)
            return PHX_ENOMEM;
        else
            b->whole = 1;
    }
    return r->bad ? PHX_EPROTO : 0;
}

static int replay_take_jobs(struct la_tree *t, struct la_reader *r)
{
    uint32_t count = la_wire_take_u32(r), lists, i, k;
    struct tree_job *j;
    int err = 0;

    for (i = 0; i < count && err == 0 && !r->bad; i++) {
        j = la_tree_find_job(t, la_wire_take_u32(r));
        lists = la_wire_take_u32(r);
        for (k = 0; k < lists && err == 0 && !r->bad; k++)
            err = replay_take_list(t, j, r);
    }
    return r->bad ? PHX_EPROTO : err;
}

/* A new parent has answered: nothing waits for the old one, and what was asked of it is asked again. */
static int replay_welcome(struct la_tree *t)
{
    struct tree_range r;
    uint32_t i;
    int err;

    la_tree_restart(&t->up, TREE_LIVE);
    err = la_board_ask_again(t);
    for (i = 0; i < t->kids_count && err == 0; i++) {
        r = replay_range_of(&t->kids[i]);
        if (r.session > 0 && t->kids[i].state == TREE_LIVE)
            err = replay_say(t, &t->up, TREE_HERE, &r);
    }
    return err;
}

static int replay_recv_resume(struct la_tree *t, struct la_reader *r)
{
    uint64_t session = la_wire_take_var(r);
    uint32_t generation = la_wire_take_u32(r), welcome = la_wire_take_u32(r), i;
    struct tree_job *j;
    int err, s;

    if (r->bad)
        return PHX_EPROTO;
    if (session != t->up.session || welcome != (t->up.state == TREE_JOINING))
        return 0; /* an answer to an older JOIN */
    if ((err = welcome ? replay_welcome(t) : 0) != 0)
        return err;
    t->up.generation = generation;
    t->stats.replays++;
    for (j = t->jobs; j != NULL; j = j->next_job) {
        j->out_said = 0;
        for (s = 0; s < 2; s++)
            if (j->op[s].open && !j->op[s].told)
                replay_forget(t, j, &j->op[s]);
    }
    t->mine_at = t->mine_base;
    err = replay_take_jobs(t, r);
    for (i = 0; i < t->kids_count && err == 0; i++)
        if (t->kids[i].state == TREE_LIVE)
            err = replay_resume(t, &t->kids[i], 0);
    return err;
}

/* ---- Elsewhere ------------------------------------------------------------------------------- */

/* What is told of an agent's subtree. 1: it is news here, and if it was our child it is not any more. */
static int replay_take_range(struct la_tree *t, struct la_reader *r, uint32_t via, struct tree_range *out)
{
    struct tree_edge *e;

    out->first = la_wire_take_u32(r);
    out->end = la_wire_take_u32(r);
    out->session = la_wire_take_var(r);
    out->via = via;
    if (r->bad || out->first <= t->self || out->end <= out->first || out->end > t->end)
        return PHX_EPROTO;
    e = la_tree_edge(t, out->first);
    if (e != NULL && e != &t->up) {
        if (e->session >= out->session)
            return 0; /* it has come to us since */
        la_replay_leave(t, e, TREE_AWAY);
    }
    if (replay_subtract(&t->gone, out->first, out->end) != 0)
        return PHX_ENOMEM; /* given up too early */
    return replay_note(&t->elsewhere, out) != 0 ? PHX_ENOMEM : 1;
}

/* Agents of our subtree have another parent now, which is above: whoever waits for them is told. */
static int replay_recv_taken(struct la_tree *t, struct la_reader *r)
{
    struct tree_range range;
    int news = replay_take_range(t, r, LA_NONE, &range);

    return news <= 0 ? news : replay_say_taken(t, NULL, &range);
}

/* Agents of this child's subtree have a parent there: whoever else waits for them is told, above and
 * below. */
static int replay_recv_here(struct la_tree *t, struct tree_edge *from, struct la_reader *r)
{
    struct tree_range range;
    int news = replay_take_range(t, r, from->agent, &range);

    if (news <= 0)
        return news;
    if (replay_say_taken(t, from, &range) != 0)
        return PHX_ENOMEM;
    return t->root || t->up.state != TREE_LIVE ? 0 : replay_say(t, &t->up, TREE_HERE, &range);
}

/* ---- Together -------------------------------------------------------------------------------- */

int la_replay_stranger(struct la_tree *t, uint32_t agent)
{
    const struct tree_edge *e = la_tree_edge(t, agent);

    if (replay_past(&t->gone, agent) != 0)
        replay_send_bare(t, agent, TREE_CUT);
    else if (e != NULL && e != &t->up && e->state == TREE_LOST)
        replay_send_bare(t, agent, TREE_REJOIN);
    return 0;
}

int la_replay_recv(struct la_tree *t, uint32_t agent, uint32_t type, struct la_reader *r)
{
    int is_parent = !t->root && agent == t->up.agent;
    struct tree_edge *e = la_tree_edge(t, agent);

    if (type == TREE_JOIN && !is_parent)
        return replay_recv_join(t, agent, r);
    if (type == TREE_HERE && !is_parent && e != NULL)
        return replay_recv_here(t, e, r);
    if (!is_parent)
        return type == TREE_RESUME || type == TREE_CUT || type == TREE_REJOIN ? 0 : PHX_EPROTO;
    if (type == TREE_RESUME)
        return replay_recv_resume(t, r);
    if (type == TREE_TAKEN)
        return replay_recv_taken(t, r);
    if (type == TREE_CUT)
        la_tree_fail(t);
    else if (type == TREE_REJOIN && t->up.state == TREE_LIVE)
        return la_tree_moved(t, agent);
    return type == TREE_CUT || type == TREE_REJOIN ? 0 : PHX_EPROTO;
}

int la_replay_run(struct la_tree *t)
{
    uint32_t i;
    int did = 0;

    if (!t->root && t->up.state != TREE_LIVE) {
        if (t->now - t->up.since >= t->cut_wait)
            la_tree_fail(t);
        else if (t->up.state == TREE_JOINING && !t->up.greeted && !t->up.blocked)
            did = replay_greet(t);
    }
    for (i = 0; i < t->kids_count && !t->failed; i++)
        if (t->kids[i].state == TREE_LOST)
            did |= replay_settle(t, &t->kids[i]);
    return did;
}

uint64_t la_tree_deadline(const struct la_tree *t)
{
    uint64_t at = UINT64_MAX, due;
    uint32_t i;

    if (!t->go_on || t->cut)
        return at;
    if (!t->root && t->up.state != TREE_LIVE)
        at = t->up.since + t->cut_wait;
    for (i = 0; i < t->kids_count; i++) {
        due = t->kids[i].since + t->cut_wait + t->notice;
        if (t->kids[i].state == TREE_LOST && due < at)
            at = due;
    }
    return at;
}
