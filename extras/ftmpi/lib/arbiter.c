/* arbiter.c - who exists, who has failed, in which order: one per job, without I/O. */

#define _POSIX_C_SOURCE 200809L
#include "arbiter.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A process's way: nothing -> started -> greeted (it has said hello) -> finalized -> finished. One that never
 * calls MPI_Init goes from started to finished; failed is final, and only the next life has another way. */
enum arbiter_state { NOTHING, STARTED, GREETED, FINALIZED, FINISHED, FAILED };

struct arbiter_rank {
    enum arbiter_state state;
    struct ftm_seat seat; /* its life is that of the last process that was started here */
    struct ftm_layout layout;
    uint32_t wanted, generation; /* the life that ops.start was asked for; 0: none */
    int told;    /* it has the TABLE, and so gets events */
    int silent;  /* it has finished without MPI_Init */
    int closing; /* it was told CLOSING */
    int exited;  /* it was seen to end, and was dead before or died of that */
};

/* Events as they were sent. Bounded: the first half goes when it is full, and who still asks for that was
 * away for too long. */
#define ARBITER_LOG (256u << 10)
#define ARBITER_REST 32768u /* bytes of events in one answer to ASK, but for the last event */

struct ftm_arbiter {
    struct phx_alloc alloc;
    struct ftm_arbiter_ops ops;
    struct ftm_arbiter_counts counts;
    uint32_t size, greeted, finalized; /* that are in these states */
    uint32_t starting, restarted_greeted; /* the latter: of the greeted ones */
    uint32_t first_greeted, first_silent; /* the first that said hello; that ended without. size: none */
    uint32_t number;                /* of the last event */
    unsigned char *log;
    size_t log_size, log_capacity, log_sent; /* what lies behind log_sent was not cast yet */
    uint64_t *to;                   /* size words */
    int goes_on, tabled, closed, code, death, over;
    struct arbiter_rank rank[]; /* size of them */
};

#define ARBITER_LINE (FTM_ABORT_TEXT + 160)

/* ---- Memory --------------------------------------------------------------------------------------- */

static void *arbiter_heap(void *world, void *old, size_t old_size, size_t new_size)
{
    (void)world;
    (void)old_size;
    if (new_size != 0)
        return realloc(old, new_size);
    free(old);
    return NULL;
}

static size_t arbiter_bytes(uint32_t size)
{
    return sizeof(struct ftm_arbiter) + size * sizeof(struct arbiter_rank);
}

static void *arbiter_resize(struct ftm_arbiter *a, void *old, size_t old_size, size_t new_size)
{
    if (old == NULL && new_size == 0)
        return NULL;
    return a->alloc.alloc(a->alloc.world, old, old_size, new_size);
}

int ftm_arbiter_new(struct ftm_arbiter **out, const struct phx_alloc *alloc, uint32_t size, int goes_on,
                    const struct ftm_arbiter_ops *ops)
{
    struct phx_alloc usual = {arbiter_heap, NULL};
    struct ftm_arbiter *a;

    *out = NULL;
    if (size == 0 || size > FTM_RANK_MAX)
        return PHX_EINVAL;
    if (alloc == NULL)
        alloc = &usual;
    a = alloc->alloc(alloc->world, NULL, 0, arbiter_bytes(size));
    if (a == NULL)
        return PHX_ENOMEM;
    memset(a, 0, arbiter_bytes(size));
    a->alloc = *alloc;
    a->ops = *ops;
    a->goes_on = goes_on;
    a->size = a->first_greeted = a->first_silent = size;
    a->to = arbiter_resize(a, NULL, 0, size * sizeof *a->to);
    if (a->to == NULL) {
        ftm_arbiter_free(a);
        return PHX_ENOMEM;
    }
    *out = a;
    return 0;
}

void ftm_arbiter_free(struct ftm_arbiter *a)
{
    if (a == NULL)
        return;
    arbiter_resize(a, a->log, a->log_capacity, 0);
    arbiter_resize(a, a->to, a->size * sizeof *a->to, 0);
    a->alloc.alloc(a->alloc.world, a, arbiter_bytes(a->size), 0);
}

void ftm_arbiter_count(const struct ftm_arbiter *a, struct ftm_arbiter_counts *out)
{
    *out = a->counts;
}

int ftm_arbiter_is_starting(const struct ftm_arbiter *a)
{
    return a->starting > 0;
}

int ftm_arbiter_code(const struct ftm_arbiter *a)
{
    return a->code == 0 && a->counts.finished == 0 ? a->death : a->code;
}

/* ---- What it says --------------------------------------------------------------------------------- */

#if defined(__GNUC__)
__attribute__((format(printf, 3, 4)))
#endif
static void arbiter_line(struct ftm_arbiter *a, uint32_t rank, const char *format, ...)
{
    char line[ARBITER_LINE];
    va_list args;
    int n = snprintf(line, sizeof line, "rank %lu on %.100s: ", (unsigned long)rank,
                     a->ops.host(a->ops.ctx, rank));

    va_start(args, format);
    if (n >= 0 && (size_t)n < sizeof line)
        vsnprintf(line + n, sizeof line - (size_t)n, format, args);
    va_end(args);
    a->ops.say(a->ops.ctx, line);
}

static uint64_t arbiter_word(const struct ftm_arbiter *a, uint32_t rank)
{
    return FTM_FROM(0, a->rank[rank].seat.life, rank);
}

/* Who has said hello and lives; with told only those that know the TABLE. How many. */
static uint32_t arbiter_listeners(struct ftm_arbiter *a, int told)
{
    uint32_t i, count = 0;

    for (i = 0; i < a->size; i++) {
        const struct arbiter_rank *r = &a->rank[i];

        if ((r->state == GREETED || r->state == FINALIZED) && (!told || r->told))
            a->to[count++] = arbiter_word(a, i);
    }
    return count;
}

static void arbiter_cast(struct ftm_arbiter *a, uint32_t count, uint64_t tag, const void *data, size_t size)
{
    if (count > 0)
        a->ops.cast(a->ops.ctx, a->to, count, tag, data, size);
}

static void arbiter_cast_one(struct ftm_arbiter *a, uint64_t word, uint64_t tag, const void *data,
                             size_t size)
{
    a->ops.cast(a->ops.ctx, &word, 1, tag, data, size);
}

static void arbiter_note_code(struct ftm_arbiter *a, int code)
{
    if (a->code == 0)
        a->code = code;
}

static size_t arbiter_event_bytes(const unsigned char *at, size_t left)
{
    const unsigned char *end = at;
    struct ftm_event e;

    return ftm_event_take(&e, &end, &left) == 0 ? (size_t)(end - at) : left;
}

/* Forgets the older half of what was cast, where there is too much of it. */
static void arbiter_trim(struct ftm_arbiter *a)
{
    size_t gone = 0;

    if (a->log_size < ARBITER_LOG || a->log_sent < ARBITER_LOG / 2)
        return;
    while (gone < ARBITER_LOG / 2)
        gone += arbiter_event_bytes(a->log + gone, a->log_size - gone);
    if (gone > a->log_sent)
        return;
    memmove(a->log, a->log + gone, a->log_size - gone);
    a->log_size -= gone;
    a->log_sent -= gone;
}

static int arbiter_room(struct ftm_arbiter *a)
{
    size_t capacity = a->log_capacity == 0 ? 4 * FTM_EVENT_MOST : 2 * a->log_capacity;
    unsigned char *log;

    arbiter_trim(a);
    if (a->log_capacity - a->log_size >= FTM_EVENT_MOST)
        return 0;
    log = arbiter_resize(a, a->log, a->log_capacity, capacity);
    if (log == NULL)
        return -1;
    a->log = log;
    a->log_capacity = capacity;
    return 0;
}

/* The line has been said. The processes are told, although the launcher kills them too: one whose host
 * cannot be reached any more at least learns of it when it can. */
static void arbiter_over(struct ftm_arbiter *a, uint32_t rank, int code)
{
    unsigned char bytes[FTM_EVENT_MOST], *first = bytes;
    struct ftm_event e;
    size_t size;

    if (a->over)
        return;
    a->over = 1;
    arbiter_note_code(a, code);
    memset(&e, 0, sizeof e);
    e.number = ++a->number;
    e.kind = FTM_EVENT_ABORT;
    e.rank = rank < a->size ? rank : 0;
    e.life = rank < a->size ? a->rank[rank].seat.life : 0;
    e.code = (int32_t)code;
    size = ftm_event_put(bytes, &e);
    if (arbiter_room(a) == 0) { /* behind what was not told yet */
        memcpy(a->log + a->log_size, bytes, size);
        first = a->log + a->log_sent;
        size += a->log_size - a->log_sent;
    }
    arbiter_cast(a, arbiter_listeners(a, 0), FTM_WORD(FTM_NOTICE, 0, 0, 0), first, size);
    a->ops.over(a->ops.ctx, a->code);
}

static void arbiter_no_memory(struct ftm_arbiter *a, const char *what)
{
    char line[80];

    if (a->over)
        return;
    snprintf(line, sizeof line, "out of memory for %s", what);
    a->ops.say(a->ops.ctx, line);
    arbiter_over(a, a->size, 1);
}

/* ---- Events --------------------------------------------------------------------------------------- */

static void arbiter_event(struct ftm_arbiter *a, struct ftm_event *e)
{
    if (a->over)
        return;
    if (arbiter_room(a) != 0) {
        arbiter_no_memory(a, "what has happened");
        return;
    }
    e->number = ++a->number;
    a->log_size += ftm_event_put(a->log + a->log_size, e);
}

static void arbiter_event_of(struct ftm_arbiter *a, int kind, uint32_t rank, int code, const char *text)
{
    struct ftm_event e;

    memset(&e, 0, sizeof e);
    e.kind = kind;
    e.rank = rank;
    e.life = a->rank[rank].seat.life;
    e.host = a->rank[rank].seat.host;
    e.site = a->rank[rank].seat.site;
    e.code = (int32_t)code;
    snprintf(e.text, sizeof e.text, "%s", text);
    arbiter_event(a, &e);
}

/* What happened since the last time, in one NOTICE. */
static void arbiter_flush(struct ftm_arbiter *a)
{
    size_t from = a->log_sent;

    if (a->over || from == a->log_size)
        return;
    a->log_sent = a->log_size;
    if (a->tabled)
        arbiter_cast(a, arbiter_listeners(a, 1), FTM_WORD(FTM_NOTICE, 0, 0, 0), a->log + from,
                     a->log_size - from);
}

/* ---- The end of all ------------------------------------------------------------------------------- */

/* Nobody waits for a process any more: one that was started again and has not come out of MPI_Init ends. */
static void arbiter_close(struct ftm_arbiter *a)
{
    struct ftm_event e;
    uint32_t i, fresh = 0;

    for (i = 0; i < a->size; i++) {
        struct arbiter_rank *r = &a->rank[i];

        if (r->state == GREETED && !r->closing) {
            r->closing = 1;
            fresh++;
        }
    }
    if (fresh == 0)
        return;
    memset(&e, 0, sizeof e);
    e.kind = FTM_EVENT_CLOSING;
    arbiter_event(a, &e);
}

/* All that live have finalized, but for those who have not even begun and never will. */
static void arbiter_check_finished(struct ftm_arbiter *a)
{
    struct ftm_event e;
    uint32_t i;

    if (a->over || a->closed || !a->tabled || a->finalized == 0)
        return;
    if (a->greeted > 0) {
        if (a->greeted == a->restarted_greeted)
            arbiter_close(a);
        return;
    }
    a->closed = 1;
    memset(&e, 0, sizeof e);
    e.kind = FTM_EVENT_FINISHED;
    arbiter_event(a, &e);
    for (i = 0; i < a->size; i++)
        if (a->rank[i].state == STARTED && a->rank[i].seat.life > 0)
            a->ops.kill(a->ops.ctx, i, a->rank[i].seat.life);
}

static void arbiter_settle(struct ftm_arbiter *a)
{
    arbiter_check_finished(a);
    arbiter_flush(a);
}

/* ---- Processes ------------------------------------------------------------------------------------ */

/* Changes the state, and what is counted of it. */
static void arbiter_become(struct ftm_arbiter *a, uint32_t rank, enum arbiter_state state)
{
    struct arbiter_rank *r = &a->rank[rank];
    int lived = r->state == STARTED || r->state == GREETED || r->state == FINALIZED;
    int lives = state == STARTED || state == GREETED || state == FINALIZED;

    a->greeted = a->greeted - (r->state == GREETED) + (state == GREETED);
    if (r->seat.life > 0)
        a->restarted_greeted = a->restarted_greeted - (r->state == GREETED) + (state == GREETED);
    a->finalized = a->finalized - (r->state == FINALIZED) + (state == FINALIZED);
    a->counts.living = a->counts.living - (uint32_t)lived + (uint32_t)lives;
    a->counts.finished = a->counts.finished - (r->state == FINISHED) + (state == FINISHED);
    a->counts.failed += state == FAILED;
    r->state = state;
    r->seat.failed = state == FAILED;
}

int ftm_arbiter_started(struct ftm_arbiter *a, uint32_t rank, uint32_t life)
{
    struct arbiter_rank *r = rank < a->size ? &a->rank[rank] : NULL;

    if (r == NULL || life > FTM_LIFE_MAX)
        return PHX_EINVAL;
    if (r->state == NOTHING) {
        a->counts.started++;
    } else if (life > 0 && r->wanted == life) {
        a->counts.restarted++;
        a->starting--;
    } else {
        return PHX_EINVAL;
    }
    r->wanted = 0;
    r->seat.life = life;
    r->told = r->closing = r->exited = 0;
    arbiter_become(a, rank, STARTED);
    if (a->closed || a->over)
        a->ops.kill(a->ops.ctx, rank, life);
    return 0;
}

static void arbiter_nospawn(struct ftm_arbiter *a, uint32_t rank, uint32_t life, const char *why)
{
    struct ftm_event e;

    arbiter_line(a, rank, "cannot be started again: %s", why);
    memset(&e, 0, sizeof e);
    e.kind = FTM_EVENT_NOSPAWN;
    e.rank = rank;
    e.life = life;
    snprintf(e.text, sizeof e.text, "%s", why);
    arbiter_event(a, &e);
}

void ftm_arbiter_unstarted(struct ftm_arbiter *a, uint32_t rank, uint32_t life, const char *why)
{
    if (rank >= a->size || life == 0 || a->rank[rank].wanted != life)
        return;
    a->rank[rank].wanted = 0;
    a->starting--;
    if (!a->over && !a->closed)
        arbiter_nospawn(a, rank, life, why);
    arbiter_flush(a);
}

static void arbiter_tell_tables(struct ftm_arbiter *a);

/* Declares that this process has failed. */
static void arbiter_fail(struct ftm_arbiter *a, uint32_t rank, int code, const char *why)
{
    char text[200];

    if (a->rank[rank].state == FAILED)
        return;
    arbiter_become(a, rank, FAILED);
    if (a->death == 0)
        a->death = code < 0 ? 128 - code : code != 0 ? code : 1;
    snprintf(text, sizeof text, "rank %lu on %.60s: %s", (unsigned long)rank,
             a->ops.host(a->ops.ctx, rank), why);
    arbiter_event_of(a, FTM_EVENT_FAILED, rank, code, text);
}

/* It has failed, and that is the end of the job where failures are. code as in the event. */
static void arbiter_lose(struct ftm_arbiter *a, uint32_t rank, int code, const char *why)
{
    int told = a->over;

    arbiter_fail(a, rank, code, why);
    if (told)
        return;
    arbiter_line(a, rank, "%s", why);
    if (!a->goes_on)
        arbiter_over(a, rank, a->death);
}

/* Some ranks have called MPI_Init and wait for one that ended without: they would wait for ever. */
static void arbiter_check_silent(struct ftm_arbiter *a)
{
    char why[200];
    uint32_t i;

    if (a->over || a->first_greeted == a->size || a->first_silent == a->size)
        return;
    snprintf(why, sizeof why, "ended before MPI_Init, which rank %lu on %.100s has called",
             (unsigned long)a->first_greeted, a->ops.host(a->ops.ctx, a->first_greeted));
    for (i = a->first_silent; i < a->size && !a->over; i++) {
        if (!a->rank[i].silent)
            continue;
        a->rank[i].silent = 0;
        arbiter_lose(a, i, 0, why);
    }
    a->first_silent = a->size;
}

static void arbiter_died(struct ftm_arbiter *a, uint32_t rank, int status, int signal)
{
    const char *when = a->rank[rank].state == GREETED     ? "without MPI_Finalize"
                       : a->rank[rank].state == FINALIZED ? "in MPI_Finalize"
                                                          : "before MPI_Init";
    char why[120];

    if (signal != 0)
        snprintf(why, sizeof why, "killed by signal %d (%s)", signal, strsignal(signal));
    else
        snprintf(why, sizeof why, "ended with status %d %s", status, when);
    a->rank[rank].exited = 1;
    arbiter_lose(a, rank, signal != 0 ? -signal : status, why);
}

/* Of a process that had to wait for nobody any more: its status counts, and others go on. */
static void arbiter_ended(struct ftm_arbiter *a, uint32_t rank, int status, int signal)
{
    if (a->rank[rank].state == STARTED && !a->closed) {
        a->rank[rank].silent = 1;
        if (rank < a->first_silent)
            a->first_silent = rank;
    }
    arbiter_become(a, rank, FINISHED);
    if (a->code == 0 && !a->over && signal != 0)
        arbiter_line(a, rank, "killed by signal %d (%s)", signal, strsignal(signal));
    else if (a->code == 0 && !a->over && status != 0)
        arbiter_line(a, rank, "ended with status %d", status);
    if (signal == 0 || !a->goes_on) /* a death ends nothing there, the least after the end */
        arbiter_note_code(a, signal != 0 ? 128 + signal : status);
}

/* One that has finalized may owe others the result of an agreement, until all have. */
static int arbiter_is_death(const struct ftm_arbiter *a, const struct arbiter_rank *r, int status, int signal)
{
    switch (r->state) {
    case STARTED:
        return signal != 0 || r->seat.life > 0 || (a->goes_on && status != 0);
    case FINALIZED:
        return a->goes_on && !a->closed;
    default:
        return r->state == GREETED;
    }
}

int ftm_arbiter_exited(struct ftm_arbiter *a, uint32_t rank, uint32_t life, int status, int signal)
{
    struct arbiter_rank *r;

    if (rank >= a->size || life > a->rank[rank].seat.life)
        return PHX_EINVAL;
    r = &a->rank[rank];
    if (r->state == FAILED || life < r->seat.life) {
        r->exited |= life == r->seat.life;
        return 0; /* it aborted, or was declared dead before */
    }
    if (r->state == NOTHING || r->state == FINISHED)
        return PHX_EINVAL;
    if (a->closed && r->state != FINALIZED)
        arbiter_become(a, rank, FINISHED); /* it was killed, since nobody needs it any more */
    else if (arbiter_is_death(a, r, status, signal))
        arbiter_died(a, rank, status, signal);
    else
        arbiter_ended(a, rank, status, signal);
    arbiter_check_silent(a);
    arbiter_tell_tables(a);
    arbiter_settle(a);
    return 0;
}

static void arbiter_out(struct ftm_arbiter *a, uint64_t word)
{
    arbiter_cast_one(a, word, FTM_WORD(FTM_OUT, 0, 0, 0), NULL, 0);
    a->ops.kill(a->ops.ctx, FTM_RANK(word), FTM_LIFE(word));
}

void ftm_arbiter_host_lost(struct ftm_arbiter *a, const uint64_t *words, uint32_t count, const char *why)
{
    uint32_t i, rank;

    for (i = 0; i < count; i++) {
        rank = FTM_RANK(words[i]);
        if (rank >= a->size || a->rank[rank].seat.life != FTM_LIFE(words[i]))
            continue;
        if (a->rank[rank].state == FAILED || a->rank[rank].state == NOTHING
            || a->rank[rank].state == FINISHED)
            continue;
        arbiter_lose(a, rank, 1, why);
        if (!a->over)
            arbiter_out(a, words[i]);
    }
    arbiter_tell_tables(a);
    arbiter_settle(a);
}

/* ---- Messages ------------------------------------------------------------------------------------- */

static void arbiter_put_table(struct ftm_arbiter *a, unsigned char *out, uint32_t generation)
{
    struct ftm_seats_head head;
    uint32_t i;

    head.number = a->number;
    head.generation = generation;
    out += ftm_seats_head_put(out, &head);
    for (i = 0; i < a->size; i++)
        out += ftm_seat_put(out, &a->rank[i].seat);
}

/* To those in a->to. */
static void arbiter_tell_table(struct ftm_arbiter *a, uint32_t count, uint32_t generation)
{
    size_t bytes = FTM_SEATS_HEAD + (size_t)a->size * FTM_SEAT_SIZE;
    unsigned char *out = arbiter_resize(a, NULL, 0, bytes);
    uint32_t i;

    if (out == NULL) {
        arbiter_no_memory(a, "the table of processes");
        return;
    }
    arbiter_put_table(a, out, generation);
    for (i = 0; i < count; i++)
        a->rank[FTM_RANK(a->to[i])].told = 1;
    arbiter_cast(a, count, FTM_WORD(FTM_START, FTM_START_TABLE, 0, 0), out, bytes);
    arbiter_resize(a, out, bytes, 0);
}

/* The first TABLE, when each process has said hello or failed. */
static void arbiter_tell_tables(struct ftm_arbiter *a)
{
    uint32_t i;

    if (a->over || a->tabled || a->greeted == 0)
        return;
    for (i = 0; i < a->size; i++)
        if (a->rank[i].state != GREETED && a->rank[i].state != FAILED)
            return;
    a->tabled = 1;
    arbiter_flush(a); /* to nobody: the table has it all */
    arbiter_tell_table(a, arbiter_listeners(a, 0), 0);
}

static void arbiter_refuse(struct ftm_arbiter *a, uint32_t rank, const char *why)
{
    arbiter_line(a, rank, "%s", why);
    arbiter_over(a, rank, 1);
}

/* A process that was started again: the table is for it alone, and the news of it for all. */
static void arbiter_joined(struct ftm_arbiter *a, uint32_t rank, const struct ftm_hello *h)
{
    struct arbiter_rank *r = &a->rank[rank];

    if (a->closed) {
        arbiter_out(a, arbiter_word(a, rank));
        return;
    }
    arbiter_event_of(a, FTM_EVENT_JOINED, rank, (int)r->generation, h->name);
    arbiter_flush(a); /* it is in the table, which is the first thing that the new one gets */
    a->to[0] = arbiter_word(a, rank);
    arbiter_tell_table(a, 1, r->generation);
}

static void arbiter_hello(struct ftm_arbiter *a, uint32_t rank, const void *data, size_t size)
{
    struct arbiter_rank *r = &a->rank[rank];
    struct ftm_hello h;

    if (ftm_hello_get(&h, data, size) != 0 || r->state != STARTED) {
        arbiter_refuse(a, rank, "said hello as no process of this job does");
        return;
    }
    if (h.job_size != a->size) {
        arbiter_refuse(a, rank, "takes the job for one of another size");
        return;
    }
    arbiter_become(a, rank, GREETED);
    r->layout = h.layout;
    r->seat.host = h.host;
    r->seat.site = h.site;
    if (a->first_greeted == a->size)
        a->first_greeted = rank;
    if (memcmp(&a->rank[a->first_greeted].layout, &r->layout, sizeof r->layout) != 0) {
        arbiter_line(a, rank, "has another byte order or other sizes of types than rank %lu on %.100s",
                     (unsigned long)a->first_greeted, a->ops.host(a->ops.ctx, a->first_greeted));
        arbiter_over(a, rank, 1);
        return;
    }
    arbiter_check_silent(a);
    if (a->tabled)
        arbiter_joined(a, rank, &h);
    else
        arbiter_tell_tables(a);
}

static void arbiter_finalized(struct ftm_arbiter *a, uint32_t rank, size_t size)
{
    if (a->rank[rank].state != GREETED || size != 0)
        arbiter_refuse(a, rank, "finalized as no process of this job does");
    else
        arbiter_become(a, rank, FINALIZED);
}

static void arbiter_abort(struct ftm_arbiter *a, uint32_t rank, const void *data, size_t size)
{
    char text[FTM_ABORT_TEXT];
    int32_t code;
    int low;

    if (ftm_abort_get(&code, text, data, size) != 0) {
        arbiter_refuse(a, rank, "aborted as no process of this job does");
        return;
    }
    low = (int)((uint32_t)code & 0xff);
    arbiter_become(a, rank, FAILED);
    arbiter_line(a, rank, "%s", text[0] != '\0' ? text : "aborted");
    arbiter_over(a, rank, low != 0 ? low : 1);
}

/* The same question from many, or again, is one: each life is started once. */
static void arbiter_spawn(struct ftm_arbiter *a, uint32_t from, const void *data, size_t size)
{
    struct arbiter_rank *r;
    struct ftm_spawn s;
    const char *why;

    if (ftm_spawn_get(&s, data, size) != 0 || s.rank >= a->size
        || s.life > a->rank[s.rank].seat.life + 1) {
        arbiter_refuse(a, from, "wants a process started that cannot be");
        return;
    }
    r = &a->rank[s.rank];
    if (s.life <= r->seat.life || r->wanted != 0 || r->state != FAILED || a->closed)
        return;
    if (!a->goes_on || s.life > FTM_LIFE_MAX) {
        arbiter_nospawn(a, s.rank, s.life, a->goes_on ? "too many lives" : "the job has mode abort");
        return;
    }
    r->wanted = s.life;
    r->generation = s.generation;
    a->starting++;
    why = a->ops.start(a->ops.ctx, s.rank, s.life);
    if (why != NULL)
        ftm_arbiter_unstarted(a, s.rank, s.life, why);
}

/* Who asks has seen a later number, or was cut off. */
static void arbiter_rest(struct ftm_arbiter *a, uint32_t rank, const void *data, size_t size)
{
    const unsigned char *at = a->log, *begin = NULL;
    size_t left = a->log_sent;
    struct ftm_event e;
    uint32_t number;

    if (ftm_ask_get(&number, data, size) != 0 || number > a->number + 1) {
        arbiter_refuse(a, rank, "asks for what never happened");
        return;
    }
    while (left > 0) {
        const unsigned char *first = at;

        if (ftm_event_take(&e, &at, &left) != 0)
            break;
        if (begin == NULL && e.number > number && first == a->log) {
            arbiter_line(a, rank, "was away for too long");
            arbiter_out(a, arbiter_word(a, rank));
            return;
        }
        if (begin == NULL && e.number == number)
            begin = first;
        if (begin != NULL && (size_t)(at - begin) >= ARBITER_REST)
            break;
    }
    arbiter_cast_one(a, arbiter_word(a, rank), FTM_WORD(FTM_NOTICE, FTM_FLAG_REST, 0, 0),
                     begin, begin != NULL ? (size_t)(at - begin) : 0);
}

static void arbiter_hear(struct ftm_arbiter *a, uint32_t rank, uint32_t what, const void *data, size_t size)
{
    switch (what) {
    case FTM_START_HELLO:
        arbiter_hello(a, rank, data, size);
        return;
    case FTM_START_FINALIZED:
        arbiter_finalized(a, rank, size);
        return;
    case FTM_START_ABORT:
        arbiter_abort(a, rank, data, size);
        return;
    case FTM_START_SPAWN:
        arbiter_spawn(a, rank, data, size);
        return;
    case FTM_START_ASK:
        arbiter_rest(a, rank, data, size);
        return;
    case FTM_START_MODES:
        a->goes_on = 1;
        return;
    default:
        arbiter_refuse(a, rank, "sent the arbiter what no process sends");
        return;
    }
}

void ftm_arbiter_message(struct ftm_arbiter *a, uint64_t from, uint64_t tag, const void *data, size_t size)
{
    uint32_t rank = FTM_RANK(from), life = FTM_LIFE(from);
    enum arbiter_state state = rank < a->size ? a->rank[rank].state : NOTHING;

    if (a->over)
        return;
    if (state == NOTHING || life > a->rank[rank].seat.life) {
        a->ops.say(a->ops.ctx, "a process that is no rank of this job speaks to the arbiter");
        arbiter_over(a, a->size, 1);
    } else if (life < a->rank[rank].seat.life || (state == FAILED && !a->rank[rank].exited)) {
        arbiter_out(a, FTM_FROM(0, life, rank)); /* failed is final */
    } else if (state == FAILED || state == FINISHED) {
        return; /* what it sent may come after the news of its end */
    } else if (FTM_KIND(tag) != FTM_START) {
        arbiter_refuse(a, rank, "sent the arbiter what no process sends");
    } else {
        arbiter_hear(a, rank, FTM_FLAGS(tag), data, size);
        arbiter_settle(a);
    }
}
