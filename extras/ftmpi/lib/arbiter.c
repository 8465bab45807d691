/* arbiter.c - who exists, who has failed, in which order: one per job, without I/O. */

#define _POSIX_C_SOURCE 200809L
#include "arbiter.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A rank's way: nothing -> started -> greeted (it has said hello) -> finalized -> finished. One that never
 * calls MPI_Init goes from started to finished; failed is final. */
enum arbiter_state { NOTHING, STARTED, GREETED, FINALIZED, FINISHED, FAILED };

struct arbiter_rank {
    enum arbiter_state state;
    struct ftm_seat seat;
    struct ftm_layout layout;
};

struct ftm_arbiter {
    struct phx_alloc alloc;
    struct ftm_arbiter_ops ops;
    struct ftm_arbiter_counts counts;
    uint32_t size, greeted, finalized;
    uint32_t first_greeted, silent; /* a rank that has said hello; one that ended without. size: none */
    uint32_t number;                /* of the last event */
    int code, over;
    struct arbiter_rank rank[]; /* size of them */
};

#define ARBITER_LINE (FTM_ABORT_TEXT + 160)

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

int ftm_arbiter_new(struct ftm_arbiter **out, const struct phx_alloc *alloc, uint32_t size,
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
    a->size = a->first_greeted = a->silent = size;
    *out = a;
    return 0;
}

void ftm_arbiter_free(struct ftm_arbiter *a)
{
    if (a != NULL)
        a->alloc.alloc(a->alloc.world, a, arbiter_bytes(a->size), 0);
}

void ftm_arbiter_count(const struct ftm_arbiter *a, struct ftm_arbiter_counts *out)
{
    *out = a->counts;
}

int ftm_arbiter_code(const struct ftm_arbiter *a)
{
    return a->code;
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

static void arbiter_cast(struct ftm_arbiter *a, struct ftm_event *e)
{
    unsigned char bytes[FTM_EVENT_MOST];

    e->number = ++a->number;
    a->ops.cast(a->ops.ctx, FTM_WORD(FTM_NOTICE, 0, 0, 0), bytes, ftm_event_put(bytes, e));
}

static void arbiter_note_code(struct ftm_arbiter *a, int code)
{
    if (a->code == 0)
        a->code = code;
}

/* The line has been said. The processes are told, although the launcher kills them too: one whose host
 * cannot be reached any more at least learns of it when it can. */
static void arbiter_over(struct ftm_arbiter *a, uint32_t rank, int code)
{
    struct ftm_event e;

    if (a->over)
        return;
    a->over = 1;
    arbiter_note_code(a, code);
    memset(&e, 0, sizeof e);
    e.kind = FTM_EVENT_ABORT;
    e.rank = rank;
    e.life = rank < a->size ? a->rank[rank].seat.life : 0;
    e.code = (int32_t)code;
    arbiter_cast(a, &e);
    a->ops.over(a->ops.ctx, a->code);
}

static void arbiter_fail(struct ftm_arbiter *a, uint32_t rank)
{
    if (a->rank[rank].state == FAILED)
        return;
    a->rank[rank].state = FAILED;
    a->counts.living--;
    a->counts.failed++;
}

/* ---- Processes ------------------------------------------------------------------------------------ */

int ftm_arbiter_started(struct ftm_arbiter *a, uint32_t rank, uint32_t life)
{
    if (rank >= a->size || life > FTM_LIFE_MAX || a->rank[rank].state != NOTHING)
        return PHX_EINVAL;
    a->rank[rank].state = STARTED;
    a->rank[rank].seat.life = life;
    a->counts.started++;
    a->counts.living++;
    return 0;
}

static void arbiter_finish(struct ftm_arbiter *a, uint32_t rank)
{
    a->rank[rank].state = FINISHED;
    a->counts.living--;
    a->counts.finished++;
}

/* Some ranks have called MPI_Init and wait for one that ended without: they would wait for ever. */
static void arbiter_check_silent(struct ftm_arbiter *a)
{
    if (a->over || a->first_greeted == a->size || a->silent == a->size)
        return;
    arbiter_line(a, a->silent, "ended before MPI_Init, which rank %lu on %.100s has called",
                 (unsigned long)a->first_greeted, a->ops.host(a->ops.ctx, a->first_greeted));
    arbiter_over(a, a->silent, 1);
}

static void arbiter_died(struct ftm_arbiter *a, uint32_t rank, int status, int signal)
{
    const char *when = a->rank[rank].state == GREETED ? "without MPI_Finalize" : "before MPI_Init";

    arbiter_fail(a, rank);
    if (a->over)
        return;
    if (signal != 0)
        arbiter_line(a, rank, "killed by signal %d (%s)", signal, strsignal(signal));
    else
        arbiter_line(a, rank, "ended with status %d %s", status, when);
    arbiter_over(a, rank, signal != 0 ? 128 + signal : status != 0 ? status : 1);
}

/* Of a process that had to wait for nobody any more: its status counts, and others go on. */
static void arbiter_ended(struct ftm_arbiter *a, uint32_t rank, int status, int signal)
{
    if (a->rank[rank].state == STARTED && a->silent == a->size)
        a->silent = rank;
    arbiter_finish(a, rank);
    if (a->code == 0 && !a->over && signal != 0)
        arbiter_line(a, rank, "killed by signal %d (%s)", signal, strsignal(signal));
    else if (a->code == 0 && !a->over && status != 0)
        arbiter_line(a, rank, "ended with status %d", status);
    arbiter_note_code(a, signal != 0 ? 128 + signal : status);
}

int ftm_arbiter_exited(struct ftm_arbiter *a, uint32_t rank, uint32_t life, int status, int signal)
{
    struct arbiter_rank *r;

    if (rank >= a->size || a->rank[rank].seat.life != life)
        return PHX_EINVAL;
    r = &a->rank[rank];
    if (r->state == FAILED)
        return 0; /* it aborted */
    if (r->state == NOTHING || r->state == FINISHED)
        return PHX_EINVAL;
    if (r->state == GREETED || (r->state == STARTED && signal != 0))
        arbiter_died(a, rank, status, signal);
    else
        arbiter_ended(a, rank, status, signal);
    arbiter_check_silent(a);
    return 0;
}

/* ---- Messages ------------------------------------------------------------------------------------- */

static void arbiter_tell_table(struct ftm_arbiter *a)
{
    size_t bytes = (size_t)a->size * FTM_SEAT_SIZE;
    struct ftm_seat *seats = a->alloc.alloc(a->alloc.world, NULL, 0, a->size * sizeof *seats);
    unsigned char *out = a->alloc.alloc(a->alloc.world, NULL, 0, bytes);
    uint32_t i;

    for (i = 0; seats != NULL && i < a->size; i++)
        seats[i] = a->rank[i].seat;
    if (seats != NULL && out != NULL) {
        a->ops.cast(a->ops.ctx, FTM_WORD(FTM_START, FTM_START_TABLE, 0, 0), out,
                    ftm_seats_put(out, seats, a->size));
    } else {
        a->ops.say(a->ops.ctx, "out of memory for the table of processes");
        arbiter_over(a, a->size, 1);
    }
    if (seats != NULL)
        a->alloc.alloc(a->alloc.world, seats, a->size * sizeof *seats, 0);
    if (out != NULL)
        a->alloc.alloc(a->alloc.world, out, bytes, 0);
}

static void arbiter_refuse(struct ftm_arbiter *a, uint32_t rank, const char *why)
{
    arbiter_line(a, rank, "%s", why);
    arbiter_over(a, rank, 1);
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
    r->state = GREETED;
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
    if (++a->greeted == a->size && !a->over)
        arbiter_tell_table(a);
}

static void arbiter_finalized(struct ftm_arbiter *a, uint32_t rank, size_t size)
{
    struct ftm_event e;

    if (a->rank[rank].state != GREETED || size != 0) {
        arbiter_refuse(a, rank, "finalized as no process of this job does");
        return;
    }
    a->rank[rank].state = FINALIZED;
    if (++a->finalized < a->size)
        return;
    memset(&e, 0, sizeof e);
    e.kind = FTM_EVENT_FINISHED;
    arbiter_cast(a, &e);
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
    arbiter_fail(a, rank);
    arbiter_line(a, rank, "%s", text[0] != '\0' ? text : "aborted");
    arbiter_over(a, rank, low != 0 ? low : 1);
}

void ftm_arbiter_message(struct ftm_arbiter *a, uint64_t from, uint64_t tag, const void *data, size_t size)
{
    uint32_t rank = FTM_RANK(from);
    enum arbiter_state state = rank < a->size ? a->rank[rank].state : NOTHING;

    if (a->over || state == FAILED || state == FINISHED)
        return; /* failed is final, and what a process sent may come after news of its end */
    if (state == NOTHING || FTM_LIFE(from) != a->rank[rank].seat.life) {
        a->ops.say(a->ops.ctx, "a process that is no rank of this job speaks to the arbiter");
        arbiter_over(a, a->size, 1);
    } else if (FTM_KIND(tag) == FTM_START && FTM_FLAGS(tag) == FTM_START_HELLO) {
        arbiter_hello(a, rank, data, size);
    } else if (FTM_KIND(tag) == FTM_START && FTM_FLAGS(tag) == FTM_START_FINALIZED) {
        arbiter_finalized(a, rank, size);
    } else if (FTM_KIND(tag) == FTM_START && FTM_FLAGS(tag) == FTM_START_ABORT) {
        arbiter_abort(a, rank, data, size);
    } else {
        arbiter_refuse(a, rank, "sent the arbiter what no process sends");
    }
}
