/* engine.c - the clients of one host: their bytes, what they wait for, the keys they put and ask for. */

/* Every call from outside is bracketed by begin and end. Inside it clients are only marked: as having input
 * to be read (ready), as closed. The outermost end reads the ready ones, one after the other, until none is
 * left, and frees the closed ones. So an operation that is done inside ops.enter, or an answer that comes
 * inside ops.get, never reads a client from within another client's message, and a client that sends a
 * thousand requests at once costs no depth of the stack. operation.c has the operations of the whole host. */
#include "codec.h"
#include "phoenix.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOTES_MOST 16
#define KEEP_INPUT 65536           /* an empty buffer larger than this is given back */
#define WAITING_MOST 65536         /* bytes of a client that waits for an answer */
#define WAITING_MOST_DATA INT32_MAX /* of PMGR and NLA, whose next message may be as large as any */

/* ---- Life -------------------------------------------------------------------------------------- */

static uint32_t ranks_of(const struct la_job *job)
{
    const struct la_agent *self = &job->agents[0];
    uint32_t i, count = 0;

    for (i = 0; i < self->runs_count; i++)
        count += self->runs[i].count;
    return count;
}

static void fill_ranks(struct la_engine *e)
{
    const struct la_agent *self = &e->job->agents[0];
    struct la_rank *r = e->ranks;
    uint32_t i, k;

    for (i = 0; i < self->runs_count; i++)
        for (k = 0; k < self->runs[i].count; k++, r++) {
            r->rank = self->runs[i].first + k;
            r->in_client = r->nla_client = LA_NONE;
        }
}

int la_engine_new(struct la_engine **out, const struct la_job *job, const char *spawner,
                  const struct la_engine_ops *ops)
{
    struct la_engine *e = calloc(1, sizeof *e);
    uint64_t seed;

    *out = NULL;
    if (e == NULL)
        return PHX_ENOMEM;
    memcpy(&seed, job->key, sizeof seed);
    e->job = job;
    e->spawner = spawner;
    e->ops = *ops;
    e->lazy = job->lazy != 0;
    e->ranks_count = ranks_of(job);
    e->ranks = calloc((size_t)e->ranks_count + 1, sizeof *e->ranks);
    if (e->ranks == NULL || la_store_new(&e->store, seed) != 0 || la_store_new(&e->node_store, seed) != 0) {
        la_engine_free(e);
        return PHX_ENOMEM;
    }
    fill_ranks(e);
    *out = e;
    return 0;
}

static void free_client(struct la_engine *e, struct la_client *c)
{
    if (c->codec->closed != NULL)
        c->codec->closed(e, c);
    e->clients[c->number] = NULL;
    free(c->in);
    free(c);
}

static void free_rank(struct la_rank *r)
{
    struct la_message *m;

    free(r->data);
    while ((m = r->first) != NULL) {
        r->first = m->next;
        free(m);
    }
}

void la_engine_free(struct la_engine *e)
{
    uint32_t i;

    if (e == NULL)
        return;
    for (i = 0; i < e->clients_capacity; i++)
        if (e->clients[i] != NULL)
            free_client(e, e->clients[i]);
    for (i = 0; e->ranks != NULL && i < e->ranks_count; i++)
        free_rank(&e->ranks[i]);
    for (i = 0; i < e->pending_capacity; i++)
        free(e->pending[i].key);
    la_operation_free(&e->op);
    la_store_free(e->store);
    la_store_free(e->node_store);
    free(e->clients);
    free(e->ranks);
    free(e->pending);
    free(e);
}

/* ---- Brackets ---------------------------------------------------------------------------------- */

static struct la_client *client_of(const struct la_engine *e, uint32_t number)
{
    struct la_client *c = number < e->clients_capacity ? e->clients[number] : NULL;

    return c == NULL || c->closed ? NULL : c;
}

static void make_ready(struct la_engine *e, struct la_client *c)
{
    if (c->queued || c->closed)
        return;
    c->queued = 1;
    c->next_ready = NULL;
    if (e->ready == NULL)
        e->ready = c;
    else
        e->ready_last->next_ready = c;
    e->ready_last = c;
}

static void forget_pending(struct la_engine *e, const struct la_client *c)
{
    uint32_t i;

    for (i = 0; i < e->pending_capacity && c->pending > 0; i++)
        if (e->pending[i].what != LA_ASKED_NOTHING && e->pending[i].client == c->number) {
            free(e->pending[i].key);
            memset(&e->pending[i], 0, sizeof e->pending[i]);
        }
}

static void end_client(struct la_engine *e, struct la_client *c)
{
    if (c->codec->ended != NULL && !c->broken)
        c->codec->ended(e, c, c->in != NULL ? c->in + c->in_from : c->in, c->in_size);
    c->closed = 1;
    e->closed++;
    forget_pending(e, c);
    if (c->rank != NULL && c->rank->nla_client == c->number)
        c->rank->nla_client = LA_NONE;
    if (c->inited && !c->finalized && !c->broken)
        e->ops.stream_ended(e->ops.ctx, c->rank->rank);
}

static void spend(struct la_client *c, size_t size)
{
    c->in_from += size;
    c->in_size -= size;
    if (c->in_size > 0)
        return;
    c->in_from = 0;
    if (c->in_capacity > KEEP_INPUT) {
        free(c->in);
        c->in = NULL;
        c->in_capacity = 0;
    }
}

/* What was sent before the stream ended, and waits for an operation, still counts. */
int la_engine_draining(const struct la_client *c)
{
    return !c->broken && !c->closed && c->in_size > 0 && (c->wait == LA_WAIT_OPERATION || c->queued);
}

static void feed(struct la_engine *e, struct la_client *c)
{
    int64_t taken = 1;

    while (taken > 0 && c->in_size > 0 && c->wait == LA_WAIT_NOTHING && !c->broken && !c->closed) {
        taken = c->codec->take(e, c, c->in + c->in_from, c->in_size);
        if (taken == PHX_ENOMEM)
            la_engine_garbage(e, c, "out of memory");
        if (taken > 0)
            spend(c, (size_t)taken);
    }
    if (c->wait != LA_WAIT_NOTHING && c->in_size > 0 && c->codec->peek != NULL && !c->broken && !c->closed)
        c->codec->peek(e, c, c->in + c->in_from, c->in_size);
    if (c->ended && !c->closed && !la_engine_draining(c))
        end_client(e, c);
    if (c->rank != NULL && c->rank->gone)
        la_operation_check(e);
}

static void reap(struct la_engine *e)
{
    uint32_t i;

    for (i = 0; i < e->clients_capacity && e->closed > 0; i++)
        if (e->clients[i] != NULL && e->clients[i]->closed) {
            free_client(e, e->clients[i]);
            e->closed--;
        }
}

void la_engine_begin(struct la_engine *e)
{
    e->depth++;
}

/* Only the outermost call reads clients. */
static void read_ready(struct la_engine *e)
{
    struct la_client *c;

    while (e->depth == 1 && (c = e->ready) != NULL) {
        e->ready = c->next_ready;
        c->queued = 0;
        feed(e, c);
    }
}

void la_engine_end(struct la_engine *e)
{
    read_ready(e);
    e->depth--;
    if (e->depth == 0)
        reap(e);
}

/* ---- Clients ----------------------------------------------------------------------------------- */

static const struct la_codec *codec_of(enum la_protocol protocol)
{
    switch (protocol) {
    case LA_PROTO_PMGR: return &la_pmgr_codec;
    case LA_PROTO_NLA: return &la_nlap_codec;
    default: return &la_pmi1_codec; /* an init for version 2 changes it */
    }
}

static int free_number(struct la_engine *e, uint32_t *number)
{
    uint32_t i, want = e->clients_capacity == 0 ? 16 : e->clients_capacity * 2;
    struct la_client **more;

    for (i = 0; i < e->clients_capacity; i++)
        if (e->clients[i] == NULL) {
            *number = i;
            return 0;
        }
    more = realloc(e->clients, want * sizeof *more);
    if (more == NULL)
        return PHX_ENOMEM;
    for (i = e->clients_capacity; i < want; i++)
        more[i] = NULL;
    *number = e->clients_capacity;
    e->clients = more;
    e->clients_capacity = want;
    return 0;
}

int64_t la_engine_client(struct la_engine *e, enum la_protocol protocol, uint32_t rank)
{
    struct la_rank *r = rank == LA_NONE ? NULL : la_engine_rank(e, rank);
    struct la_client *c;
    uint32_t number;

    if (r == NULL && (rank != LA_NONE || protocol == LA_PROTO_PMI || protocol == LA_PROTO_NLA))
        return PHX_EINVAL;
    if (r != NULL && r->taken[protocol])
        return PHX_EDUPLICATE;
    c = calloc(1, sizeof *c);
    if (c == NULL || free_number(e, &number) != 0) {
        free(c);
        return PHX_ENOMEM;
    }
    c->number = number;
    c->protocol = protocol;
    c->codec = codec_of(protocol);
    c->rank = r;
    if (r != NULL)
        r->taken[protocol] = 1;
    e->clients[number] = c;
    return number;
}

/* Room for size more bytes behind what is there. */
static int make_room(struct la_client *c, size_t size)
{
    size_t want = c->in_capacity < 1024 ? 1024 : c->in_capacity;
    unsigned char *more;

    if (c->in_from + c->in_size + size <= c->in_capacity)
        return 0;
    if (c->in_from > 0) {
        memmove(c->in, c->in + c->in_from, c->in_size);
        c->in_from = 0;
    }
    if (size > SIZE_MAX / 4 - c->in_size)
        return PHX_ENOMEM;
    while (want < c->in_size + size)
        want *= 2;
    if (want == c->in_capacity)
        return 0;
    more = realloc(c->in, want);
    if (more == NULL)
        return PHX_ENOMEM;
    c->in = more;
    c->in_capacity = want;
    return 0;
}

static void check_waiting(struct la_engine *e, struct la_client *c)
{
    int data = c->protocol == LA_PROTO_PMGR || c->protocol == LA_PROTO_NLA;
    size_t most = data ? WAITING_MOST_DATA : WAITING_MOST;

    if (c->wait != LA_WAIT_NOTHING && c->in_size > most && !c->broken)
        la_engine_garbage(e, c, "sends on and on without waiting for answers");
}

static int take_in(struct la_engine *e, struct la_client *c, const void *data, size_t size)
{
    if (make_room(c, size) != 0) {
        la_engine_garbage(e, c, "out of memory");
        return PHX_ENOMEM;
    }
    memcpy(c->in + c->in_from + c->in_size, data, size);
    c->in_size += size;
    make_ready(e, c);
    return 0;
}

int la_engine_input(struct la_engine *e, uint32_t client, const void *data, size_t size)
{
    struct la_client *c = client_of(e, client);
    int err;

    if (c == NULL || c->ended)
        return PHX_EINVAL;
    if (c->broken)
        return PHX_EPROTO;
    if (size == 0)
        return 0;
    la_engine_begin(e);
    err = take_in(e, c, data, size);
    read_ready(e);
    check_waiting(e, c);
    if (err == 0 && c->broken)
        err = PHX_EPROTO;
    la_engine_end(e);
    return err;
}

/* The codec may find an abort in what is left; what waits for an operation is kept until it is taken. */
void la_engine_closed(struct la_engine *e, uint32_t client)
{
    struct la_client *c = client_of(e, client);

    if (c == NULL || c->ended)
        return;
    la_engine_begin(e);
    c->ended = 1;
    if (!la_engine_draining(c))
        end_client(e, c);
    la_engine_end(e);
}

void la_engine_reply(struct la_engine *e, struct la_client *c, const void *data, size_t size)
{
    if (!c->ended && !c->closed && !c->broken)
        e->ops.reply(e->ops.ctx, c->number, data, size);
}

/* What clients send must not move the cursor of a terminal. */
static void make_printable(char *text)
{
    for (; *text != '\0'; text++)
        if ((unsigned char)*text < 32 || *text == 127)
            *text = '?';
}

int la_engine_garbage(struct la_engine *e, struct la_client *c, const char *format, ...)
{
    char text[256];
    va_list args;

    if (c->broken || c->closed)
        return PHX_EPROTO;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    make_printable(text);
    c->broken = 1;
    if (c->ended && c->inited)
        return PHX_EPROTO; /* it is gone, and its end is told */
    e->ops.complain(e->ops.ctx, c->rank == NULL ? LA_NONE : c->rank->rank, text);
    if (!c->closed && !c->ended)
        e->ops.hangup(e->ops.ctx, c->number);
    return PHX_EPROTO;
}

void la_engine_note(struct la_engine *e, struct la_client *c, const char *format, ...)
{
    char text[256];
    va_list args;

    if (e->notes >= NOTES_MOST)
        return;
    e->notes++;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    make_printable(text);
    e->ops.note(e->ops.ctx, c->rank == NULL ? LA_NONE : c->rank->rank, text);
}

void la_engine_resume(struct la_engine *e, struct la_client *c)
{
    c->wait = LA_WAIT_NOTHING;
    if (c->in_size > 0)
        make_ready(e, c);
}

/* ---- Ranks ------------------------------------------------------------------------------------- */

struct la_rank *la_engine_rank(struct la_engine *e, uint32_t rank)
{
    uint32_t low = 0, high = e->ranks_count, middle;

    while (low < high) {
        middle = low + (high - low) / 2;
        if (e->ranks[middle].rank < rank)
            low = middle + 1;
        else
            high = middle;
    }
    return low < e->ranks_count && e->ranks[low].rank == rank ? &e->ranks[low] : NULL;
}

int la_engine_identify(struct la_engine *e, struct la_client *c, int64_t rank)
{
    struct la_rank *r = rank < 0 || rank >= LA_NONE ? NULL : la_engine_rank(e, (uint32_t)rank);

    if (r == NULL)
        return la_engine_garbage(e, c, "it says that it is rank %lld, which is not of this host",
                                 (long long)rank);
    if (r->taken[c->protocol])
        return la_engine_garbage(e, c, "it says that it is rank %u, which is connected already", r->rank);
    r->taken[c->protocol] = 1;
    c->rank = r;
    return 0;
}

void la_engine_init_said(struct la_engine *e, struct la_client *c)
{
    if (c->inited)
        return;
    c->inited = 1;
    c->rank->speaking++;
    if (c->rank->inited)
        return;
    c->rank->inited = 1;
    e->stats.inited++;
    e->ops.said_init(e->ops.ctx, c->rank->rank);
}

void la_engine_finalize_seen(struct la_engine *e, struct la_client *c)
{
    if (c->rank->finalize_told || c->rank->speaking > 1)
        return;
    c->rank->finalize_told = 1;
    e->ops.said_finalize(e->ops.ctx, c->rank->rank);
}

/* A rank takes part in operations until each of its connections that said init has said finalize. */
void la_engine_finalize_said(struct la_engine *e, struct la_client *c)
{
    struct la_rank *r = c->rank;

    if (c->finalized)
        return;
    la_engine_finalize_seen(e, c);
    c->finalized = 1;
    if (c->inited)
        r->speaking--;
    if (r->speaking > 0 || r->finalized)
        return;
    r->finalized = 1;
    e->stats.finalized++;
    la_operation_check(e);
}

void la_engine_abort_said(struct la_engine *e, struct la_client *c, int code, const char *text)
{
    if (c->aborted)
        return;
    c->aborted = 1;
    e->ops.abort(e->ops.ctx, c->rank == NULL ? LA_NONE : c->rank->rank, code, text);
}

void la_engine_gone(struct la_engine *e, uint32_t rank)
{
    struct la_rank *r = la_engine_rank(e, rank);

    if (r == NULL || r->gone)
        return;
    la_engine_begin(e);
    r->gone = 1;
    la_operation_check(e);
    la_engine_end(e);
}

/* The list ends before it is too long for an answer. */
void la_engine_dead(struct la_engine *e, uint32_t rank)
{
    char number[16];
    int size = snprintf(number, sizeof number, e->dead_size == 0 ? "%u" : ",%u", rank);

    if (e->dead_full || e->dead_size + (size_t)size >= sizeof e->dead) {
        e->dead_full = 1;
        return;
    }
    memcpy(e->dead + e->dead_size, number, (size_t)size + 1);
    e->dead_size += (size_t)size;
}

/* ---- Keys -------------------------------------------------------------------------------------- */

int la_engine_put(struct la_engine *e, const char *key, const char *value, int now)
{
    int err;

    if (strncmp(key, "PMI_", 4) == 0)
        return PHX_EACCES;
    e->stats.puts++;
    if (!now && !e->lazy)
        return la_store_put(e->store, key, value, e->number);
    err = la_store_learn(e->store, key, value);
    if (err == 0)
        e->ops.put(e->ops.ctx, key, value);
    return err;
}

const char *la_engine_key(struct la_engine *e, const char *key, int climb, int *ask)
{
    const char *value = NULL;

    *ask = 0;
    e->stats.gets++;
    if (strcmp(key, "PMI_process_mapping") == 0)
        value = e->job->mapping;
    else if (strcmp(key, "PMI_dead_processes") == 0)
        value = e->dead;
    else if (strncmp(key, "PMI_", 4) != 0) {
        value = la_store_get(e->store, key);
        *ask = value == NULL && (climb || e->lazy);
    }
    if (!*ask)
        e->stats.gets_here++;
    return value;
}

int la_engine_lookup(struct la_engine *e, const char *key, const char **value)
{
    *value = la_store_get(e->store, key);
    return *value != NULL;
}

/* A cache may do without a key for which it has no room. */
void la_engine_learn(struct la_engine *e, const char *key, const char *value)
{
    (void)la_store_learn(e->store, key, value);
}

/* ---- Answers that come later ------------------------------------------------------------------- */

static int free_pending(struct la_engine *e, uint32_t *place)
{
    uint32_t i, want = e->pending_capacity == 0 ? 16 : e->pending_capacity * 2;
    struct la_pending *more;

    for (i = 0; i < e->pending_capacity; i++)
        if (e->pending[i].what == LA_ASKED_NOTHING) {
            *place = i;
            return 0;
        }
    more = realloc(e->pending, want * sizeof *more);
    if (more == NULL)
        return PHX_ENOMEM;
    memset(more + e->pending_capacity, 0, (want - e->pending_capacity) * sizeof *more);
    *place = e->pending_capacity;
    e->pending = more;
    e->pending_capacity = want;
    return 0;
}

static char *copy_of(const char *text)
{
    size_t size = strlen(text) + 1;
    char *copy = malloc(size);

    return copy == NULL ? NULL : memcpy(copy, text, size);
}

int la_engine_pend(struct la_engine *e, struct la_client *c, enum la_asked what, const char *mark,
                   const char *key, uint64_t *token)
{
    char *copy = key == NULL ? NULL : copy_of(key);
    struct la_pending *p;
    uint32_t place;

    if (c->pending >= LA_PENDING_MOST) {
        free(copy);
        return PHX_ELIMIT;
    }
    if ((key != NULL && copy == NULL) || free_pending(e, &place) != 0) {
        free(copy);
        return PHX_ENOMEM;
    }
    p = &e->pending[place];
    p->what = what;
    p->client = c->number;
    p->serial = ++e->serial;
    p->key = copy;
    snprintf(p->mark, sizeof p->mark, "%s", mark);
    c->pending++;
    *token = (uint64_t)p->serial << 32 | place;
    return 0;
}

/* The codec may ask for the next thing while it hands out this answer: the place is free before. */
static void answer_at(struct la_engine *e, uint32_t place, int result, const char *text)
{
    struct la_pending p = e->pending[place];
    struct la_client *c = client_of(e, p.client);

    memset(&e->pending[place], 0, sizeof e->pending[place]);
    if (c != NULL) {
        c->pending--;
        c->codec->answer(e, c, &p, result, text);
    }
    free(p.key);
}

static void answer_token(struct la_engine *e, uint64_t token, enum la_asked what, int result,
                         const char *text)
{
    uint32_t place = (uint32_t)token;

    if (place >= e->pending_capacity || e->pending[place].what != what
        || e->pending[place].serial != (uint32_t)(token >> 32))
        return;
    la_engine_begin(e);
    answer_at(e, place, result, text);
    la_engine_end(e);
}

static void answer_key(struct la_engine *e, enum la_asked what, const char *key, int result,
                       const char *value)
{
    uint32_t i;

    la_engine_begin(e);
    for (i = 0; i < e->pending_capacity; i++)
        if (e->pending[i].what == what && strcmp(e->pending[i].key, key) == 0)
            answer_at(e, i, result, value);
    la_engine_end(e);
}

static int is_asked(const struct la_engine *e, const char *key)
{
    uint32_t i;

    for (i = 0; i < e->pending_capacity; i++)
        if (e->pending[i].what == LA_ASKED_KEY && strcmp(e->pending[i].key, key) == 0)
            return 1;
    return 0;
}

/* Ranks of a host that ask for the same key share one question. */
int la_engine_ask(struct la_engine *e, struct la_client *c, const char *mark, const char *key)
{
    int err, asked = is_asked(e, key);
    uint64_t token;

    err = la_engine_pend(e, c, LA_ASKED_KEY, mark, key, &token);
    if (err == 0 && !asked)
        e->ops.get(e->ops.ctx, key, token);
    return err;
}

void la_engine_got(struct la_engine *e, const char *key, const char *value, uint64_t token)
{
    (void)token; /* all that wait for the key are answered */
    if (value != NULL)
        la_engine_learn(e, key, value);
    answer_key(e, LA_ASKED_KEY, key, value == NULL ? PHX_ENOTFOUND : 0, value);
}

void la_engine_node_put(struct la_engine *e, const char *key, const char *value)
{
    answer_key(e, LA_ASKED_NODE_KEY, key, 0, value);
}

void la_engine_sent(struct la_engine *e, uint64_t token, int result)
{
    answer_token(e, token, LA_ASKED_SEND, result, NULL);
}

void la_engine_spawned(struct la_engine *e, uint64_t token, int rc, const char *kvsname, const char *why)
{
    answer_token(e, token, LA_ASKED_SPAWN, rc, rc == 0 ? kvsname : why);
}

void la_engine_named(struct la_engine *e, uint64_t token, int found, const char *port)
{
    answer_token(e, token, LA_ASKED_NAME, found ? 0 : PHX_ENOTFOUND, port);
}

void la_engine_stats(const struct la_engine *e, struct la_engine_stats *out)
{
    *out = e->stats;
    out->store_bytes = la_store_bytes(e->store);
}
