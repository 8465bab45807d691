/* notice.c - what the arbiter tells a process: numbered events, acted upon in order at the end of a step. */

/* Events come with numbers without gaps, and each process acts upon them in that order, so all see the same
 * failures in the same order. They are kept until the end of the step that brought them: what had arrived
 * before has been matched then. A process that sees a gap, or had no way to the arbiter for a while, asks for
 * the rest. Numbers count from the TABLE, which is what a process is told first. */
#include "notice.h"

#include <stdio.h>
#include <string.h>

#include "arbiter.h"
#include "engine.h"
#include "fault.h"
#include "flight.h"
#include "rebuild.h"
#include "recover.h"

/* Of messages from processes that are not known yet: only those that take part in a recovery speak then, and
 * they say little. */
#define NOTICE_HELD_MOST (1u << 20)

/* A message that is held. Its bytes follow. */
struct notice_held {
    struct ftm_list link;
    uint64_t from, tag;
    size_t size;
};

/* ---- An arbiter of our own ---------------------------------------------------------------------- */

/* Without a launcher that has an arbiter rank 0 runs it: it hears of no exits, and starts nobody. */
static void notice_cast(void *ctx, const uint64_t *to, uint32_t count, uint64_t tag, const void *data,
                        size_t size)
{
    struct ftm *e = ctx;
    uint32_t i;

    for (i = 0; i < count; i++)
        ftm_proc_tell(e, (int)FTM_RANK(to[i]), tag, data, size);
}

static void notice_say(void *ctx, const char *line)
{
    ftm_end(ctx, 1, "%s", line);
}

static void notice_over(void *ctx, int code)
{
    struct ftm *e = ctx;

    ftm_end(e, code, NULL);
    e->end_code = code;
}

static const char *notice_host(void *ctx, uint32_t rank)
{
    (void)ctx;
    (void)rank;
    return "its host";
}

static const char *notice_start(void *ctx, uint32_t rank, uint32_t life)
{
    (void)ctx;
    (void)rank;
    (void)life;
    return "no launcher";
}

static void notice_kill(void *ctx, uint32_t rank, uint32_t life)
{
    (void)ctx;
    (void)rank;
    (void)life;
}

int ftm_notice_make_arbiter(struct ftm *e)
{
    struct ftm_arbiter_ops ops = { NULL,        notice_cast,  notice_say, notice_over,
                                   notice_host, notice_start, notice_kill };
    uint32_t i, size = (uint32_t)e->config.size;
    int err;

    ops.ctx = e;
    if ((err = ftm_arbiter_new(&e->start.arbiter, e->config.alloc, size, 0, &ops)) != 0)
        return err;
    for (i = 0; i < size; i++)
        ftm_arbiter_started(e->start.arbiter, i, 0);
    return 0;
}

/* ---- To the arbiter ------------------------------------------------------------------------------ */

int ftm_notice_tell(struct ftm *e, uint32_t what, const void *data, size_t size)
{
    uint64_t from = ftm_proc_from(e, 0), tag = FTM_WORD(FTM_START, what, 0, 0);

    if (e->start.arbiter != NULL) {
        ftm_arbiter_message(e->start.arbiter, from, tag, data, size);
        return 0;
    }
    if (e->config.arbiter != 0)
        return phx_send(e->node, e->config.arbiter, from, tag, data, size);
    return phx_send(e->node, e->procs[0]->name, from, tag, data, size);
}

int ftm_notice_hello(struct ftm *e)
{
    unsigned char bytes[FTM_HELLO_MOST];
    struct ftm_hello h;

    memset(&h, 0, sizeof h);
    ftm_start_layout(&h.layout);
    h.job_size = (uint32_t)e->config.size;
    h.host = (uint32_t)e->config.host;
    h.site = (uint32_t)e->config.site;
    snprintf(h.name, sizeof h.name, "%s", e->config.host_name != NULL ? e->config.host_name : "");
    return ftm_notice_tell(e, FTM_START_HELLO, bytes, ftm_hello_put(bytes, &h));
}

int ftm_notice_spawn(struct ftm *e, int seat, uint32_t life, uint32_t generation)
{
    unsigned char bytes[FTM_SPAWN_SIZE];
    struct ftm_spawn s;
    size_t size;

    s.rank = (uint32_t)seat;
    s.life = life;
    s.generation = generation;
    size = ftm_spawn_put(bytes, &s);
    if (e->config.on_protocol != NULL
        && e->config.on_protocol(e->config.user, -1, FTM_WORD(FTM_START, FTM_START_SPAWN, 0, 0), bytes, size))
        return 0;
    ftm_trace(e, "rank %d.%lu: asks for it", seat, (unsigned long)life);
    return ftm_notice_tell(e, FTM_START_SPAWN, bytes, size);
}

int ftm_notice_modes(struct ftm *e)
{
    if (e->node == NULL)
        return 0; /* a world of one */
    if (e->config.arbiter == 0)
        return -1;
    if (e->notice.modes == 0 && e->config.modes.comm == FTMPI_COMM_MODE_ABORT)
        e->notice.modes = 1;
    if (e->notice.modes == 1 && ftm_notice_tell(e, FTM_START_MODES, NULL, 0) == 0)
        e->notice.modes = 2;
    return 0;
}

static void notice_ask(struct ftm *e)
{
    struct ftm_notice *n = &e->notice;
    unsigned char bytes[4];

    if (!n->begun || !n->ask || n->asking)
        return;
    if (ftm_notice_tell(e, FTM_START_ASK, bytes, ftm_ask_put(bytes, n->taken + 1)) != 0)
        return; /* no room: the next step asks */
    n->ask = 0;
    n->asking = 1;
    ftm_trace(e, "notices: asks for %lu and what follows", (unsigned long)n->taken + 1);
}

/* ---- What comes ---------------------------------------------------------------------------------- */

static int notice_keep(struct ftm *e, const unsigned char *data, size_t size)
{
    struct ftm_notice *n = &e->notice;
    size_t capacity = n->capacity == 0 ? 1024 : n->capacity;
    unsigned char *bytes;

    while (capacity - n->size < size)
        capacity *= 2;
    if (capacity > n->capacity) {
        bytes = ftm_mem_resize(&e->mem, n->bytes, n->capacity, capacity);
        if (bytes == NULL)
            return -1;
        n->bytes = bytes;
        n->capacity = capacity;
    }
    memcpy(n->bytes + n->size, data, size);
    n->size += size;
    return 0;
}

/* That the job ends is acted upon at once; the rest waits for its turn. */
static void notice_take(struct ftm *e, const struct ftm_event *event, const unsigned char *data, size_t size)
{
    struct ftm_notice *n = &e->notice;

    if (event->kind == FTM_EVENT_ABORT) {
        ftm_end(e, (int)event->code, NULL);
        return;
    }
    if (event->number > n->highest)
        n->highest = event->number;
    if (!n->begun || event->number != n->taken + 1)
        return;
    if (notice_keep(e, data, size) == 0)
        n->taken++;
    else
        ftm_end(e, 1, "rank %d: no memory for a notice", e->config.rank);
}

static int notice_arrived(struct ftm *e, uint64_t tag, const unsigned char *data, size_t size)
{
    struct ftm_notice *n = &e->notice;
    struct ftm_event event;

    while (size > 0) {
        const unsigned char *first = data;

        if (ftm_event_take(&event, &data, &size) != 0)
            return -1;
        notice_take(e, &event, first, (size_t)(data - first));
    }
    if (FTM_FLAGS(tag) == FTM_FLAG_REST)
        n->asking = 0;
    n->ask |= n->begun && n->highest > n->taken;
    return 0;
}

static int notice_table(struct ftm *e, const void *data, size_t size)
{
    struct ftm_notice *n = &e->notice;
    struct ftm_seats_head head;

    if (n->begun)
        return -1;
    if (ftm_proc_table(e, &head, data, size) != 0)
        return -1;
    n->begun = n->table = 1;
    n->taken = head.number;
    n->generation = head.generation;
    n->ask = n->highest > n->taken;
    if (e->config.life == 0)
        e->start.ready = 1;
    return 0;
}

int ftm_notice_told(struct ftm *e, uint64_t from, uint64_t tag, const void *data, size_t size)
{
    if (FTM_KIND(tag) == FTM_OUT) {
        ftm_end(e, 1, "rank %d: was declared failed, and so ends", e->config.rank);
        return 0;
    }
    if (FTM_KIND(tag) == FTM_NOTICE)
        return notice_arrived(e, tag, data, size);
    if (FTM_FLAGS(tag) == FTM_START_TABLE)
        return notice_table(e, data, size);
    if (e->start.arbiter == NULL)
        return -1;
    ftm_arbiter_message(e->start.arbiter, from, tag, data, size);
    return 0;
}

/* ---- Messages of the unknown --------------------------------------------------------------------- */

static void notice_held_free(struct ftm *e, struct notice_held *h)
{
    e->notice.held_bytes -= sizeof *h + h->size;
    ftm_mem_free(&e->mem, h, sizeof *h + h->size);
}

/* A life that is over was never known to who was started after it. */
int ftm_notice_hold(struct ftm *e, uint64_t from, uint64_t tag, const void *data, size_t size)
{
    uint32_t seat = FTM_RANK(from);
    struct notice_held *h;

    if (seat >= (uint32_t)e->config.size)
        return -1;
    if (e->notice.begun && FTM_LIFE(from) < e->procs[seat]->life)
        return 0;
    if (size > NOTICE_HELD_MOST || e->notice.held_bytes > NOTICE_HELD_MOST)
        return -1;
    h = ftm_mem_resize(&e->mem, NULL, 0, sizeof *h + size);
    if (h == NULL) {
        ftm_end(e, 1, "rank %d: no memory for a message", e->config.rank);
        return 0;
    }
    memset(h, 0, sizeof *h);
    h->from = from;
    h->tag = tag;
    h->size = size;
    if (size > 0)
        memcpy(h + 1, data, size);
    e->notice.held_bytes += sizeof *h + size;
    ftm_list_add(&e->notice.held, &h->link);
    return 0;
}

/* What was kept for processes that are known now. */
static void notice_release(struct ftm *e)
{
    struct ftm_list kept, *link;

    ftm_list_init(&kept);
    while ((link = ftm_list_take(&e->notice.held)) != NULL) {
        struct notice_held *h = FTM_LIST_OF(link, struct notice_held, link);

        if (ftm_proc_find(e, FTM_RANK(h->from), FTM_LIFE(h->from)) == NULL
            && FTM_LIFE(h->from) >= e->procs[FTM_RANK(h->from)]->life) {
            ftm_list_add(&kept, &h->link);
            continue;
        }
        ftm_flight_arrived(e, h->from, h->tag, h + 1, h->size);
        notice_held_free(e, h);
    }
    while ((link = ftm_list_take(&kept)) != NULL)
        ftm_list_add(&e->notice.held, link);
}

/* ---- Acting -------------------------------------------------------------------------------------- */

static void notice_note_death(struct ftm *e, int proc, const char *text)
{
    struct ftm_notice *n = &e->notice;
    struct ftm_notice_death *d;
    void *deaths = n->deaths;

    if (!ftm_mem_grow(&e->mem, &deaths, &n->deaths_capacity, n->deaths_count, sizeof *n->deaths))
        return; /* nobody can say why */
    n->deaths = deaths;
    d = &n->deaths[n->deaths_count++];
    d->proc = proc;
    d->when = e->now;
    snprintf(d->text, sizeof d->text, "%.*s", (int)sizeof d->text - 1, text);
}

const char *ftm_notice_why(const struct ftm *e, int proc, uint64_t *when)
{
    size_t i;

    for (i = 0; i < e->notice.deaths_count; i++)
        if (e->notice.deaths[i].proc == proc) {
            if (when != NULL)
                *when = e->notice.deaths[i].when;
            return e->notice.deaths[i].text;
        }
    return NULL;
}

/* The process of an event, which may be the first that is heard of it. */
static struct ftm_proc *notice_proc(struct ftm *e, const struct ftm_event *event)
{
    struct ftm_proc *p = ftm_proc_find(e, event->rank, event->life);

    if (p == NULL && event->rank < (uint32_t)e->config.size)
        p = ftm_proc_add(e, (int)event->rank, event->life, (int)event->host, (int)event->site);
    if (p == NULL)
        ftm_end(e, 1, "rank %d: no memory for another process", e->config.rank);
    return p;
}

/* Phoenix would wait for it for a day. What it holds of ours comes back with the next step; who is not known
 * there has nothing of ours. If Phoenix has seen by itself that the node is gone its name is lost: messages
 * would wait for one who takes it over. */
static void notice_forget_node(struct ftm *e, const struct ftm_proc *p)
{
    struct phx_lost lost;
    struct phx_id id;

    if (phx_owner(e->node, p->name, &id) == 0)
        (void)phx_fail(e->node, &id);
    else if (phx_broken(e->node, p->name, p->name, &lost, 1) == 1)
        (void)phx_fail(e->node, &lost.owner);
}

static void notice_failed(struct ftm *e, struct ftm_proc *p, const char *text)
{
    ftm_trace(e, "notice: %s", text);
    notice_note_death(e, p->index, text);
    if (p->index == e->self_proc) {
        ftm_end(e, 1, "rank %d: was declared failed, and so ends", e->config.rank);
        return;
    }
    notice_forget_node(e, p);
    ftm_fault_declared(e, p->index);
}

/* A TABLE that was sent before it said hello has its life on the host of its last one. */
static void notice_joined(struct ftm *e, struct ftm_proc *p, const struct ftm_event *event)
{
    p->host = (int)event->host;
    p->site = (int)event->site;
    ftm_trace(e, "notice: rank %d.%lu has joined", p->seat, (unsigned long)p->life);
    p->state = FTM_PROC_JOINING;
    ftm_rebuild_joined(e, p->index);
    notice_release(e);
}

static void notice_act_on(struct ftm *e, const struct ftm_event *event)
{
    struct ftm_proc *p = NULL;

    if (event->kind == FTM_EVENT_FAILED || event->kind == FTM_EVENT_JOINED)
        p = notice_proc(e, event);
    switch (event->kind) {
    case FTM_EVENT_FINISHED:
        e->start.finished = 1;
        break;
    case FTM_EVENT_FAILED:
        if (p != NULL && p->state != FTM_PROC_FAILED)
            notice_failed(e, p, event->text);
        break;
    case FTM_EVENT_JOINED:
        if (p != NULL && p->index != e->self_proc && p->state != FTM_PROC_FAILED)
            notice_joined(e, p, event);
        break;
    case FTM_EVENT_NOSPAWN:
        ftm_trace(e, "notice: rank %lu.%lu cannot be started: %s", (unsigned long)event->rank,
                  (unsigned long)event->life, event->text);
        ftm_rebuild_nospawn(e, (int)event->rank, event->life);
        break;
    default:
        if (!e->start.ready)
            ftm_end(e, 1, "rank %d: the others have ended without it", e->config.rank);
        break;
    }
}

/* Who was dead before MPI_Init was over is so for all, in the order of ranks. In one that was started again
 * the world comes into being with its recovery, which begins here. */
static void notice_act_on_table(struct ftm *e)
{
    int i, size = e->config.size;

    e->notice.table = 0;
    for (i = 0; i < size && e->config.life == 0; i++) {
        char text[64];

        if (e->procs[i]->state != FTM_PROC_FAILED)
            continue;
        e->procs[i]->state = FTM_PROC_OK;
        snprintf(text, sizeof text, "rank %d: died before MPI_Init was over", i);
        notice_failed(e, e->procs[i], text);
    }
    if (e->config.life > 0)
        ftm_rebuild_restarted(e, e->notice.generation);
    notice_release(e);
    ftm_recover_early(e);
}

int ftm_notice_act(struct ftm *e)
{
    struct ftm_notice *n = &e->notice;
    const unsigned char *data = n->bytes;
    size_t size = n->size;
    struct ftm_event event;
    int acts = n->table || size > 0;

    notice_ask(e);
    if (n->modes == 1)
        (void)ftm_notice_modes(e);
    if (n->table)
        notice_act_on_table(e);
    while (size > 0 && !e->ended && ftm_event_take(&event, &data, &size) == 0)
        notice_act_on(e, &event);
    n->size = 0;
    return acts;
}

/* ---- Cut off ------------------------------------------------------------------------------------- */

/* A node that loses the arbiter's is cut off, or the launcher has died: either way it cannot go on for
 * long. */
void ftm_notice_node(struct ftm *e, const struct phx_node *node)
{
    uint64_t name = e->config.arbiter != 0 ? e->config.arbiter : e->procs[0]->name;

    if (!e->start.known)
        e->start.known = phx_owner(e->node, name, &e->start.where) == 0;
    if (!e->start.known || memcmp(&node->id, &e->start.where, sizeof node->id) != 0)
        return;
    if (node->state < PHX_NODE_UNREACHABLE) {
        e->notice.ask |= e->start.cut_at != 0; /* what was said meanwhile */
        e->start.cut_at = 0;
    } else if (e->start.cut_at == 0 && e->config.cut_us > 0) {
        e->start.cut_at = e->now + e->config.cut_us;
    }
}

void ftm_notice_check_cut(struct ftm *e)
{
    if (e->start.cut_at != 0 && e->now >= e->start.cut_at && !e->start.finished)
        ftm_end(e, 1, "rank %d: no way to %s for %lu s: ends", e->config.rank,
                e->config.arbiter != 0 ? "the launcher" : "rank 0",
                (unsigned long)(e->config.cut_us / 1000000));
}

/* ---- Life ---------------------------------------------------------------------------------------- */

void ftm_notice_init(struct ftm *e)
{
    ftm_list_init(&e->notice.held);
}

void ftm_notice_clear(struct ftm *e)
{
    struct ftm_notice *n = &e->notice;
    struct ftm_list *link;

    while ((link = ftm_list_take(&n->held)) != NULL)
        notice_held_free(e, FTM_LIST_OF(link, struct notice_held, link));
    ftm_mem_free(&e->mem, n->bytes, n->capacity);
    ftm_mem_free(&e->mem, n->deaths, n->deaths_capacity * sizeof *n->deaths);
    ftm_arbiter_free(e->start.arbiter);
    e->start.arbiter = NULL;
}
