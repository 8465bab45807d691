/* collect.c - operations of a tree: contributions go up in pieces, the result comes down as a log. */

/* Up. An agent passes its children's pieces on as they come; it keeps only its own records. Pieces wait for
 * company until they are worth a message, or until the operation is complete below: then the last message
 * says so, and an operation without records costs one message per agent each way.
 *
 * Down. Agent 0 puts whole records one after the other into the log of the operation. Each child gets those
 * records of the log that its subtree wants, in this order, and its log is what it got. So a number of bytes
 * says all about how far an agent is, whoever sends it the rest.
 *
 * Without go_on a log is dropped as soon as all children have it; with go_on it stays until the next
 * operation is done here: then everybody has entered that, and so nobody wants this one any more. */
#include "tree_state.h"

#include <stdlib.h>
#include <string.h>

#define COLLECT_MESSAGE_UP ((size_t)8 << 10) /* half of the window: one is written while one is read */
#define COLLECT_MESSAGE_DOWN ((size_t)32 << 10)
#define COLLECT_HEAD 64u /* bytes of a message's head at most */

/* ---- Opening and closing --------------------------------------------------------------------- */

void la_collect_blocks_free(struct tree_op *op)
{
    uint32_t i;

    for (i = 0; i < op->blocks_count; i++)
        la_wire_free(&op->blocks[i].part);
    free(op->blocks);
    op->blocks = NULL;
    op->blocks_count = op->blocks_capacity = 0;
}

void la_collect_op_free(struct tree_op *op)
{
    la_wire_free(&op->own);
    la_wire_free(&op->pieces);
    la_wire_free(&op->log);
    la_collect_blocks_free(op);
    memset(op, 0, sizeof *op);
}

struct tree_op *la_collect_op(struct tree_job *j, uint32_t number)
{
    struct tree_op *op = &j->op[number & 1];

    return op->open && op->number == number ? op : NULL;
}

static int collect_same(const struct la_coll *a, const struct la_coll *b)
{
    return a->kind == b->kind && a->root == b->root && a->size == b->size;
}

/* The operation, which is opened if it is new; NULL: it is over, or cannot be (*err), or ranks differ in
 * it. */
static struct tree_op *collect_open(struct la_tree *t, struct tree_job *j, const struct la_coll *c, int *err)
{
    struct tree_op *op = la_collect_op(j, c->number);
    uint32_t i;

    *err = c->number > j->next + 1 ? PHX_EPROTO : 0;
    if (*err != 0 || c->number < j->next || j->apart)
        return NULL;
    if (op == NULL) {
        op = &j->op[c->number & 1];
        la_collect_op_free(op); /* two numbers back: everybody has entered the one between */
        op->open = 1;
        op->number = c->number;
        op->coll = *c;
        for (i = 0; i < t->kids_count; i++) {
            struct tree_kid *k = &j->kids[i];
            int past = c->number < k->next;
            memset(&k->down[c->number & 1], 0, sizeof k->down[0]);
            k->down[c->number & 1].ended = past;
            k->down[c->number & 1].skip = c->number == k->next ? k->got : 0;
            k->complete[c->number & 1] = (uint8_t)past;
        }
    } else if (!collect_same(&op->coll, c)) {
        j->apart = 1;
        j->differ[0] = op->coll;
        j->differ[1] = *c;
        return NULL;
    }
    return op;
}

int la_collect_enter(struct la_tree *t, struct tree_job *j, const struct la_coll *c,
                     const struct la_record *records, size_t count)
{
    struct tree_op *op;
    size_t i;
    int err;

    if (c->number != j->next || c->number >= j->out)
        return PHX_EINVAL;
    if ((op = collect_open(t, j, c, &err)) == NULL)
        return err;
    if (op->in)
        return PHX_EINVAL;
    for (i = 0; i < count; i++)
        if (la_wire_record(&op->own, &records[i]) != 0) {
            la_wire_free(&op->own);
            return PHX_ENOMEM;
        }
    op->in = 1;
    t->stats.operations++;
    return 0;
}

/* ---- Contributions --------------------------------------------------------------------------- */

/* The entry of an agent, or where it would be. */
static uint32_t collect_find(const struct tree_op *op, uint32_t agent)
{
    uint32_t low = 0, high = op->blocks_count;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (op->blocks[middle].agent < agent)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

struct tree_block *la_collect_block(struct tree_op *op, uint32_t agent)
{
    uint32_t i = collect_find(op, agent);

    if (i < op->blocks_count && op->blocks[i].agent == agent)
        return &op->blocks[i];
    if (la_tree_grow(&op->blocks, &op->blocks_capacity, op->blocks_count + 1, sizeof *op->blocks) != 0)
        return NULL;
    memmove(&op->blocks[i + 1], &op->blocks[i], (op->blocks_count - i) * sizeof *op->blocks);
    op->blocks_count++;
    memset(&op->blocks[i], 0, sizeof op->blocks[i]);
    op->blocks[i].agent = agent;
    return &op->blocks[i];
}

/* Records that are whole go from `from` to the log. */
static int collect_log_whole(struct tree_op *op, struct la_buf *from, size_t most)
{
    struct la_record r;
    size_t before = la_wire_left(&op->log);
    int n;

    while (la_wire_left(from) > 0 && la_wire_left(&op->log) - before < most) {
        n = la_wire_record_head(la_wire_front(from), la_wire_left(from), &r);
        if (n < 0)
            return n;
        if (n == 0 || la_wire_left(from) - (size_t)n < r.size)
            return 0;
        if (la_wire_bytes(&op->log, la_wire_front(from), (size_t)n + r.size) != 0)
            return PHX_ENOMEM;
        la_wire_drop(from, (size_t)n + r.size);
    }
    return 0;
}

static int collect_pass(struct la_tree *t, struct tree_op *op, struct tree_block *b, uint32_t agent,
                        uint64_t offset, int whole, const unsigned char *data, size_t size)
{
    int err;

    if (t->root) {
        if (la_wire_bytes(&b->part, data, size) != 0)
            return PHX_ENOMEM;
        err = collect_log_whole(op, &b->part, SIZE_MAX);
        if (la_wire_left(&b->part) == 0)
            la_wire_free(&b->part); /* there are as many as agents */
        return err != 0 ? err : whole && la_wire_left(&b->part) > 0 ? PHX_EPROTO : 0;
    }
    (void)la_wire_var(&op->pieces, agent);
    (void)la_wire_var(&op->pieces, offset);
    (void)la_wire_var(&op->pieces, (uint64_t)size << 1 | (whole ? 1 : 0));
    return la_wire_bytes(&op->pieces, data, size);
}

/* One piece: what was there already is left out, and what lacks something before it as well: the rest of that
 * contribution was lost with an agent, and comes again. */
static int collect_piece(struct la_tree *t, struct tree_op *op, uint32_t agent, uint64_t offset, int whole,
                         const unsigned char *data, size_t size)
{
    struct tree_block *b = NULL;
    uint64_t skip;

    if (t->root || t->go_on) {
        if ((b = la_collect_block(op, agent)) == NULL)
            return PHX_ENOMEM;
        if (b->whole || offset > b->size || (offset + size <= b->size && !whole))
            return 0;
        if (offset + size < b->size)
            return PHX_EPROTO; /* shorter than it was */
        skip = b->size - offset;
        b->size = offset + size;
        b->whole = whole;
        offset += skip;
        data += skip;
        size -= (size_t)skip;
    }
    return collect_pass(t, op, b, agent, offset, whole, data, size);
}

int la_collect_recv_up(struct la_tree *t, uint32_t kid, struct la_reader *r)
{
    uint32_t generation = la_wire_take_u32(r), flags = la_wire_take_u32(r), agent;
    const unsigned char *data;
    struct tree_job *j;
    struct tree_op *op;
    struct la_coll c;
    uint64_t offset, size;
    int err;

    la_wire_take_coll(r, &c);
    if (r->bad)
        return PHX_EPROTO;
    j = la_tree_find_job(t, c.job);
    if (j == NULL || generation != t->kids[kid].generation)
        return 0;
    if ((op = collect_open(t, j, &c, &err)) == NULL)
        return err;
    while (r->left > 0) {
        agent = la_wire_take_u32(r);
        offset = la_wire_take_var(r);
        size = la_wire_take_var(r);
        data = la_wire_take(r, (size_t)(size >> 1));
        if (r->bad || !la_tree_has(&t->kids[kid], agent) || offset > UINT64_MAX / 2)
            return PHX_EPROTO;
        err = collect_piece(t, op, agent, offset, size & 1, data, (size_t)(size >> 1));
        if (err != 0)
            return err;
    }
    if (flags & TREE_LAST)
        j->kids[kid].complete[c.number & 1] = 1;
    return 0;
}

int la_collect_recv_out(struct la_tree *t, uint32_t kid, struct la_reader *r)
{
    struct tree_job *j = la_tree_find_job(t, la_wire_take_u32(r));
    uint32_t number = la_wire_take_u32(r);

    if (r->bad)
        return PHX_EPROTO;
    if (j != NULL && number < j->kids[kid].out)
        j->kids[kid].out = number;
    return 0;
}

/* Has everybody below entered who may? */
static int collect_is_complete(const struct la_tree *t, const struct tree_job *j, const struct tree_op *op)
{
    uint32_t i;

    if (!op->in && op->number < j->out)
        return 0;
    for (i = 0; i < t->kids_count; i++)
        if (t->kids[i].state != TREE_AWAY && !j->kids[i].complete[op->number & 1]
            && op->number < j->kids[i].out)
            return 0;
    return 1;
}

/* ---- Upward ---------------------------------------------------------------------------------- */

/* How far a message that is being written has come. */
struct collect_taken {
    size_t own, pieces;
    uint64_t cut;
};

/* A piece of this host's records. */
static void collect_take_own(struct la_tree *t, const struct tree_op *op, struct collect_taken *to)
{
    size_t left = la_wire_left(&op->own) - op->own_sent, n = left;

    if (!op->in || left == 0)
        return;
    if (n > COLLECT_MESSAGE_UP - COLLECT_HEAD)
        n = COLLECT_MESSAGE_UP - COLLECT_HEAD;
    (void)la_wire_var(&t->scratch, t->self);
    (void)la_wire_var(&t->scratch, op->own_sent);
    (void)la_wire_var(&t->scratch, (uint64_t)n << 1 | (n == left));
    (void)la_wire_bytes(&t->scratch, la_wire_front(&op->own) + op->own_sent, n);
    to->own = n;
}

/* The first piece behind `to`, as much of it as there is room for; 0: no piece, or no room. */
static int collect_take_piece(struct la_tree *t, const struct tree_op *op, struct collect_taken *to)
{
    size_t room, head, n;
    uint64_t offset, size;
    uint32_t agent;
    struct la_reader r;

    la_wire_read(&r, la_wire_front(&op->pieces) + to->pieces, la_wire_left(&op->pieces) - to->pieces);
    if (r.left == 0 || la_wire_left(&t->scratch) + COLLECT_HEAD >= COLLECT_MESSAGE_UP)
        return 0;
    head = r.left;
    agent = la_wire_take_u32(&r);
    offset = la_wire_take_var(&r);
    size = la_wire_take_var(&r);
    head -= r.left;
    room = COLLECT_MESSAGE_UP - COLLECT_HEAD / 2 - la_wire_left(&t->scratch);
    n = (size_t)(size >> 1) - (size_t)to->cut;
    if (n > room)
        n = room;
    (void)la_wire_var(&t->scratch, agent);
    (void)la_wire_var(&t->scratch, offset + to->cut);
    (void)la_wire_var(&t->scratch, (uint64_t)n << 1 | (to->cut + n == size >> 1 ? size & 1 : 0));
    (void)la_wire_bytes(&t->scratch, r.at + to->cut, n);
    if (to->cut + n == size >> 1) {
        to->pieces += head + (size_t)(size >> 1);
        to->cut = 0;
    } else {
        to->cut += n;
    }
    return 1;
}

static size_t collect_pending_up(const struct tree_op *op)
{
    return la_wire_left(&op->pieces) - (size_t)op->cut + (op->in ? la_wire_left(&op->own) - op->own_sent : 0);
}

/* One message to the parent: 1, or 0 if there is none, or it cannot go now. */
static int collect_send_up(struct la_tree *t, struct tree_job *j, struct tree_op *op)
{
    struct collect_taken to = { 0, 0, op->cut };
    int complete = collect_is_complete(t, j, op), last;
    size_t flags;

    if (op->said || (!complete && collect_pending_up(op) < TREE_FLUSH_UP)
        || !la_board_is_quiet(t) || !la_tree_can_send(&t->up, COLLECT_MESSAGE_UP))
        return 0;
    la_wire_clear(&t->scratch);
    (void)la_wire_var(&t->scratch, t->up.generation);
    flags = t->scratch.size;
    (void)la_wire_var(&t->scratch, 0);
    la_wire_coll(&t->scratch, &op->coll);
    collect_take_own(t, op, &to);
    while (collect_take_piece(t, op, &to))
        ;
    last = complete && to.pieces == la_wire_left(&op->pieces)
           && (!op->in || op->own_sent + to.own == la_wire_left(&op->own));
    if (!t->scratch.failed)
        t->scratch.at[flags] = last ? TREE_LAST : 0;
    if (la_tree_send(t, &t->up, TREE_UP, &t->scratch) != 0)
        return 0;
    op->own_sent += to.own;
    la_wire_drop(&op->pieces, to.pieces);
    op->cut = to.cut;
    op->said = last;
    return 1;
}

/* Nobody below enters any more: said once for all of them. */
static int collect_send_out(struct la_tree *t, struct tree_job *j)
{
    uint32_t i, number = j->out;

    if (t->root || j->out_said || j->out == TREE_NEVER || !la_tree_can_send(&t->up, COLLECT_HEAD))
        return 0;
    for (i = 0; i < t->kids_count; i++) {
        if (t->kids[i].state == TREE_AWAY)
            continue;
        if (j->kids[i].out == TREE_NEVER)
            return 0;
        if (j->kids[i].out > number)
            number = j->kids[i].out;
    }
    la_wire_clear(&t->scratch);
    (void)la_wire_var(&t->scratch, j->id);
    (void)la_wire_var(&t->scratch, number);
    if (la_tree_send(t, &t->up, TREE_OUT, &t->scratch) != 0)
        return 0;
    return j->out_said = 1;
}

/* ---- Downward -------------------------------------------------------------------------------- */

static uint64_t collect_log_end(const struct tree_op *op)
{
    return op->log_base + la_wire_left(&op->log);
}

static const unsigned char *collect_log_at(const struct tree_op *op, uint64_t at)
{
    return la_wire_front(&op->log) + (at - op->log_base);
}

int la_collect_recv_down(struct la_tree *t, struct la_reader *r)
{
    uint32_t flags = la_wire_take_u32(r);
    struct tree_job *j;
    struct tree_op *op;
    struct la_coll c;
    int err;

    la_wire_take_coll(r, &c);
    if (r->bad)
        return PHX_EPROTO;
    if ((j = la_tree_find_job(t, c.job)) == NULL)
        return 0;
    if ((op = collect_open(t, j, &c, &err)) == NULL)
        return err;
    if (op->ended)
        return r->left > 0 ? PHX_EPROTO : 0;
    if (la_wire_bytes(&op->log, r->at, r->left) != 0)
        return PHX_ENOMEM;
    op->ended = (flags & TREE_LAST) != 0;
    return 0;
}

/* Does an agent of first .. end - 1 want this record? */
static int collect_wants(const struct la_tree *t, const struct tree_op *op, const struct la_record *r,
                         uint32_t first, uint32_t end)
{
    uint32_t agent;

    if (r->to == LA_ALL)
        return 1;
    agent = t->ops.agent_of(t->ops.ctx, op->coll.job, r->to);
    return agent != LA_NONE && agent >= first && agent < end;
}

/* At a record that is not wanted, or to be skipped: past it, as far as it is there. 0: the cursor stands in
 * wanted bytes, or at the end. */
static int collect_pass_by(const struct la_tree *t, const struct tree_op *op, struct tree_cursor *c,
                           uint32_t first, uint32_t end)
{
    uint64_t there = collect_log_end(op) - c->at, n;
    struct la_record r;
    int head;

    if (there == 0)
        return 0;
    if (c->rest == 0) {
        head = la_wire_record_head(collect_log_at(op, c->at), (size_t)there, &r);
        if (head <= 0)
            return 0;
        c->wanted = collect_wants(t, op, &r, first, end);
        c->rest = (uint64_t)head + r.size;
    }
    n = c->rest < there ? c->rest : there;
    if (c->wanted && n > c->skip)
        n = c->skip;
    if (c->wanted)
        c->skip -= n;
    c->at += n;
    c->rest -= n;
    return n > 0;
}

/* Writes what the child wants and there is room for. */
static void collect_fill(struct la_tree *t, const struct tree_op *op, struct tree_cursor *c,
                         const struct tree_edge *e)
{
    size_t room, n;

    for (;;) {
        while (collect_pass_by(t, op, c, e->agent, e->end))
            ;
        n = (size_t)(collect_log_end(op) - c->at);
        room = COLLECT_MESSAGE_DOWN - la_wire_left(&t->scratch);
        if (n > c->rest)
            n = (size_t)c->rest;
        if (n > room)
            n = room;
        if (n == 0)
            return;
        (void)la_wire_bytes(&t->scratch, collect_log_at(op, c->at), n);
        c->at += n;
        c->rest -= n;
    }
}

/* One message to a child: 1, or 0 if there is none, or it cannot go now. */
static int collect_send_down(struct la_tree *t, struct tree_job *j, struct tree_op *op, uint32_t kid)
{
    struct tree_edge *e = &t->kids[kid];
    struct tree_cursor *c = &j->kids[kid].down[op->number & 1], to = *c;
    uint64_t pending = collect_log_end(op) - c->at;
    size_t flags, head;
    int last;

    if (c->ended || e->state != TREE_LIVE || j->kids[kid].out <= op->number
        || (!op->ended && pending < TREE_FLUSH_DOWN) || !la_tree_can_send(e, COLLECT_MESSAGE_DOWN))
        return 0;
    la_wire_clear(&t->scratch);
    flags = t->scratch.size;
    (void)la_wire_var(&t->scratch, 0);
    la_wire_coll(&t->scratch, &op->coll);
    head = la_wire_left(&t->scratch);
    collect_fill(t, op, &to, e);
    last = op->ended && to.at == collect_log_end(op);
    if (la_wire_left(&t->scratch) == head && !last) {
        *c = to; /* nothing of all this is wanted there */
        return 0;
    }
    if (!last && la_wire_left(&t->scratch) < TREE_FLUSH_DOWN && pending < TREE_LIMIT / 2)
        return 0;
    if (!t->scratch.failed)
        t->scratch.at[flags] = last ? TREE_LAST : 0;
    if (la_tree_send(t, e, TREE_DOWN, &t->scratch) != 0)
        return 0;
    *c = to;
    c->ended = last;
    return 1;
}

/* How much of the result some child has not been sent. */
static uint64_t collect_unsent(const struct la_tree *t, const struct tree_job *j, const struct tree_op *op)
{
    const struct tree_cursor *c;
    uint64_t most = 0, end = collect_log_end(op);
    uint32_t i;

    for (i = 0; i < t->kids_count && op->open; i++) {
        c = &j->kids[i].down[op->number & 1];
        if (t->kids[i].state == TREE_LIVE && !c->ended && j->kids[i].out > op->number && end - c->at > most)
            most = end - c->at;
    }
    return most;
}

/* ---- This host ------------------------------------------------------------------------------- */

/* The records for this host that are whole. 1, 0, or PHX_EPROTO. */
static int collect_deliver(struct la_tree *t, struct tree_op *op)
{
    struct tree_cursor *c = &op->self;
    struct la_record r;
    uint64_t there;
    int n, did = 0;

    for (;;) {
        while (collect_pass_by(t, op, c, t->self, t->self + 1))
            ;
        there = collect_log_end(op) - c->at;
        n = la_wire_record_head(collect_log_at(op, c->at), (size_t)there, &r);
        if (n < 0)
            return n;
        if (n == 0 || there - (uint64_t)n < r.size)
            return did;
        r.data = collect_log_at(op, c->at) + n;
        c->at += (uint64_t)n + r.size;
        c->rest = 0;
        did = 1;
        t->ops.record(t->ops.ctx, &op->coll, &r);
    }
}

/* Drops what nobody wants any more. */
static void collect_trim(struct la_tree *t, struct tree_job *j, struct tree_op *op)
{
    uint64_t to = op->self.at, unsent = collect_log_end(op) - collect_unsent(t, j, op);

    if (t->go_on)
        return;
    if (unsent < to)
        to = unsent;
    la_wire_drop(&op->log, (size_t)(to - op->log_base));
    op->log_base = to;
}

static int collect_tell(struct la_tree *t, struct tree_job *j, struct tree_op *op)
{
    struct la_coll c = op->coll;

    if (op->told || !op->ended || op->self.at != collect_log_end(op))
        return 0;
    op->told = 1;
    j->next = op->number + 1;
    la_wire_free(&op->own);
    la_collect_blocks_free(op);
    if (j->op[!(op->number & 1)].open && j->op[!(op->number & 1)].number < op->number)
        la_collect_op_free(&j->op[!(op->number & 1)]);
    t->ops.done(t->ops.ctx, &c);
    return 1;
}

/* At the root the log grows by the host's own records, and ends when all have entered. */
static int collect_root(struct la_tree *t, struct tree_job *j, struct tree_op *op)
{
    size_t before = la_wire_left(&op->own);

    if (op->ended)
        return 0;
    if (before > 0 && collect_unsent(t, j, op) <= TREE_LIMIT) {
        if (collect_log_whole(op, &op->own, TREE_LIMIT) != 0)
            la_tree_fail(t);
        return la_wire_left(&op->own) < before;
    }
    op->ended = before == 0 && collect_is_complete(t, j, op);
    return op->ended;
}

static int collect_run_op(struct la_tree *t, struct tree_job *j, struct tree_op *op)
{
    uint32_t i;
    int did = t->root ? collect_root(t, j, op) : collect_send_up(t, j, op), n;

    if ((n = collect_deliver(t, op)) < 0)
        la_tree_fail(t);
    did |= n > 0;
    for (i = 0; i < t->kids_count; i++)
        while (collect_send_down(t, j, op, i))
            did = 1;
    collect_trim(t, j, op);
    return did | collect_tell(t, j, op);
}

/* Ranks have gone apart: said here, and to agent 0. */
static int collect_differ(struct la_tree *t, struct tree_job *j)
{
    struct la_buf both;

    j->apart = 2;
    memset(&both, 0, sizeof both);
    la_wire_coll(&both, &j->differ[0]);
    la_wire_coll(&both, &j->differ[1]);
    if (!t->root
        && (both.failed || la_board_event(t, TREE_DIFFER, la_wire_front(&both), la_wire_left(&both)) != 0))
        la_tree_fail(t);
    la_wire_free(&both);
    t->ops.differ(t->ops.ctx, &j->differ[0], &j->differ[1]);
    return 1;
}

int la_collect_run(struct la_tree *t, struct tree_job *j)
{
    uint32_t first = j->op[0].open && j->op[1].open && j->op[1].number < j->op[0].number, i;
    int did = 0;

    if (j->apart == 1)
        return collect_differ(t, j);
    for (i = 0; i < 2 && !j->apart && !t->failed && !j->over; i++)
        if (j->op[first ^ i].open)
            did |= collect_run_op(t, j, &j->op[first ^ i]);
    return did | collect_send_out(t, j);
}

/* ---- What waits ------------------------------------------------------------------------------ */

size_t la_collect_waiting_up(const struct la_tree *t)
{
    const struct tree_job *j;
    size_t sum = 0;
    int i;

    for (j = t->jobs; j != NULL; j = j->next_job)
        for (i = 0; i < 2; i++)
            sum += t->root ? (size_t)collect_unsent(t, j, &j->op[i]) : la_wire_left(&j->op[i].pieces);
    return sum;
}

size_t la_collect_waiting_down(const struct la_tree *t)
{
    const struct tree_job *j;
    size_t sum = 0;
    int i;

    for (j = t->jobs; j != NULL; j = j->next_job)
        for (i = 0; i < 2; i++)
            sum += (size_t)collect_unsent(t, j, &j->op[i]);
    return sum;
}

/* What an agent has of others; see struct la_tree_stats. */
size_t la_collect_memory(const struct la_tree *t)
{
    const struct tree_job *j;
    const struct tree_op *op;
    size_t sum = 0;
    uint32_t i, k;

    for (j = t->jobs; j != NULL; j = j->next_job) {
        sum += sizeof *j + t->kids_capacity * sizeof *j->kids;
        for (i = 0; i < 2; i++) {
            op = &j->op[i];
            sum += op->pieces.capacity + op->blocks_capacity * sizeof *op->blocks;
            sum += t->go_on ? 0 : op->log.capacity;
            for (k = 0; k < op->blocks_count; k++)
                sum += op->blocks[k].part.capacity;
        }
    }
    return sum;
}
