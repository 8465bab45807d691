/* engine.c - one process of an MPI job as a state machine: making it, stepping it, its end. */
#include "engine.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "attr.h"
#include "comm.h"
#include "error.h"
#include "flight.h"
#include "op.h"
#include "rebuild.h"
#include "recover.h"
#include "request.h"
#include "ring.h"
#include "schedule.h"
#include "type.h"
#include "ulfm.h"

/* Ranks compute for hours between two calls, and nothing works for them meanwhile. So they announce a day
 * of silence, have a day of patience with others, and relay for nobody; who is dead is said by the
 * launcher. */
#define ENGINE_DAY_US 86400000000u

/* Agents step always and announce that they do: one that says nothing for so long beyond that is gone or cut
 * off, and nothing is sent through it any more. Ranks have announced a day. */
#define ENGINE_REFUSED_US 5000000u /* a node has had no memory for so long */
#define ENGINE_PATIENCE_US 5000000u

/* Read at once, and so copied, of a large message before it is known where it goes: the least that is
 * allowed. */
#define ENGINE_STEP_BYTES (80u << 10)

/* ---- The end ----------------------------------------------------------------------------------- */

void ftm_end(struct ftm *e, int code, const char *format, ...)
{
    va_list args;

    if (e->ended)
        return;
    e->ended = 1;
    e->end_code = code;
    e->end_has_line = format != NULL;
    if (format != NULL) {
        va_start(args, format);
        vsnprintf(e->end_line, sizeof e->end_line, format, args);
        va_end(args);
    }
}

static void engine_tell_end(struct ftm *e)
{
    if (!e->ended || e->end_told)
        return;
    e->end_told = 1;
    if (e->config.on_end != NULL)
        e->config.on_end(e->config.user, e->end_code, e->end_has_line ? e->end_line : NULL);
}

void ftm_trace(struct ftm *e, const char *format, ...)
{
    char line[256];
    va_list args;

    if (e->config.on_trace == NULL)
        return;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    e->config.on_trace(e->config.user, line);
}

void ftm_abort(struct ftm *e, int code, const char *line)
{
    unsigned char bytes[FTM_ABORT_MOST];

    if (e->ended)
        return;
    if (e->node != NULL)
        ftm_notice_tell(e, FTM_START_ABORT, bytes, ftm_abort_put(bytes, (int32_t)code, line));
    if (e->node != NULL && e->config.arbiter != 0)
        return; /* the launcher says the line, and its notice ends us */
    ftm_end(e, code, "rank %d: %s", e->config.rank, line);
}

void ftm_finalize(struct ftm *e)
{
    if (e->node == NULL)
        e->start.finished = 1;
    else if (ftm_notice_tell(e, FTM_START_FINALIZED, NULL, 0) != 0)
        ftm_end(e, 1, "rank %d: cannot tell that it ends", e->config.rank);
}

int ftm_finished(const struct ftm *e)
{
    return e->start.finished;
}

int ftm_has_sent(const struct ftm *e)
{
    return e->sends == 0 && ftm_list_is_empty(&e->owing) && ftm_list_is_empty(&e->local);
}

/* ---- Phoenix ----------------------------------------------------------------------------------- */

static void engine_on_message(phx *p, const struct phx_message *m, void *user)
{
    (void)p;
    ftm_flight_arrived(user, m->from, m->tag, m->data, m->size);
}

static void *engine_on_begin(phx *p, const struct phx_message *m, void *user)
{
    (void)p;
    return ftm_flight_place(user, m->from, m->tag, m->size);
}

/* The place is part of a receive that goes on waiting: the piece begins again. */
static void engine_on_abandon(phx *p, void *buffer, size_t size, void *user)
{
    (void)p;
    (void)buffer;
    (void)size;
    (void)user;
}

static void engine_on_writable(phx *p, uint64_t to, void *user)
{
    (void)p;
    ftm_proc_writable(user, to);
}

static void engine_on_node(phx *p, const struct phx_node *node, void *user)
{
    (void)p;
    ftm_notice_node(user, node);
}

/* What arrives while there is no memory comes again. Where it never does, and nothing else fails, a job would
 * wait for ever. */
static void *engine_alloc(void *world, void *old, size_t old_size, size_t new_size)
{
    struct ftm *e = world;
    void *memory = ftm_mem_resize(&e->node_mem, old, old_size, new_size);

    if (memory != NULL)
        e->refused_us = 0;
    else if (new_size > 0 && e->refused_us == 0)
        e->refused_us = e->now;
    else if (new_size > 0 && e->now - e->refused_us > ENGINE_REFUSED_US)
        ftm_end(e, 1, "rank %d: no memory for messages", e->config.rank);
    return memory;
}

static void engine_configure(struct ftm *e, struct phx_config *cfg)
{
    phx_config_init(cfg);
    cfg->user = e;
    cfg->cluster = "ftmpi";
    cfg->key = e->config.key;
    cfg->key_size = e->config.key_size;
    cfg->relay = e->start.arbiter != NULL; /* rank 0 of a job without a launcher is the hub */
    cfg->full_mesh = 0;
    cfg->step_bytes = ENGINE_STEP_BYTES;
    cfg->same_host = !e->config.tcp;
    cfg->detector.interval_us = ENGINE_DAY_US;
    cfg->detector.insurance_us = ENGINE_DAY_US;
    cfg->detector.timeout_us = ENGINE_PATIENCE_US;
    cfg->detector.broken_us = ENGINE_DAY_US;
    cfg->on_message = engine_on_message;
    cfg->on_begin = engine_on_begin;
    cfg->on_abandon = engine_on_abandon;
    cfg->on_writable = engine_on_writable;
    cfg->on_node = engine_on_node;
    cfg->log_level = PHX_LOG_ERROR;
    e->node_mem.alloc = e->config.alloc;
    e->node_alloc.alloc = engine_alloc;
    e->node_alloc.world = e;
    cfg->alloc = &e->node_alloc;
    cfg->os = e->config.os;
}

/* Addresses separated by blanks. */
static int engine_join_one(struct ftm *e, const char *address)
{
    int err = PHX_EINUSE;

    if (e->start.arbiter != NULL) /* ours is the hub, unless somebody listens there already */
        err = phx_listen(e->node, address);
    return err == PHX_EINUSE ? phx_join(e->node, address) : err;
}

/* One host name that is not known here is no harm where there is another address. */
static int engine_join(struct ftm *e, const char *hubs)
{
    char address[PHX_ADDRESS_TEXT];
    int err, joined = 0, unknown = 0;
    size_t n;

    for (hubs += strspn(hubs, " "); *hubs != '\0'; hubs += n, hubs += strspn(hubs, " ")) {
        n = strcspn(hubs, " ");
        if (n >= sizeof address)
            return PHX_EADDRESS;
        memcpy(address, hubs, n);
        address[n] = '\0';
        err = engine_join_one(e, address);
        if (err != 0 && err != PHX_ERESOLVE)
            return err;
        joined += err == 0;
        unknown += err == PHX_ERESOLVE;
    }
    return joined == 0 && unknown > 0 ? PHX_ERESOLVE : 0;
}

static int engine_make_node(struct ftm *e)
{
    struct phx_config cfg;
    uint64_t name = e->procs[e->self_proc]->name;
    int err;

    if (e->config.hubs == NULL)
        return PHX_EINVAL;
    if (e->config.arbiter == 0 && e->config.rank == 0 && (err = ftm_notice_make_arbiter(e)) != 0)
        return err;
    engine_configure(e, &cfg);
    if ((err = phx_new(&e->node, &cfg, e->made_us)) != 0 || (err = phx_assume(e->node, name, name)) != 0)
        return err;
    if (e->config.listen != NULL && (err = phx_listen(e->node, e->config.listen)) != 0)
        return err;
    if ((err = engine_join(e, e->config.hubs)) != 0)
        return err;
    return ftm_notice_hello(e);
}

/* ---- Life -------------------------------------------------------------------------------------- */

static void engine_defaults(struct ftm_config *c)
{
    if (c->eager_limit == 0)
        c->eager_limit = FTM_EAGER_LIMIT;
    if (c->eager_budget == 0)
        c->eager_budget = FTM_EAGER_BUDGET;
    if (c->eager_limit > c->eager_budget / 4)
        c->eager_limit = c->eager_budget / 4;
    if (c->piece == 0)
        c->piece = FTM_PIECE;
    if (c->asks == 0)
        c->asks = FTM_ASKS;
}

static int engine_make_objects(struct ftm *e)
{
    int err;

    if ((err = ftm_type_init(e)) == 0 && (err = ftm_op_init(e)) == 0 && (err = ftm_error_init(e)) == 0
        && (err = ftm_attr_init(e)) == 0)
        err = ftm_comm_init(e);
    return err;
}

static int engine_make(struct ftm *e)
{
    int err;

    e->scratch = ftm_mem_resize(&e->mem, NULL, 0, e->config.eager_limit + FTM_ASK_SIZE);
    if (e->scratch == NULL || ftm_proc_init(e) != 0)
        return PHX_ENOMEM;
    if ((err = engine_make_objects(e)) != 0)
        return err;
    if (e->config.size > 1 && (e->config.hubs != NULL || e->config.on_protocol == NULL))
        return engine_make_node(e);
    e->start.ready = e->config.life == 0;
    return 0;
}

int ftm_new(struct ftm **out, const struct ftm_config *config, uint64_t now)
{
    struct ftm_mem mem = { NULL, 0, 0, 0 };
    struct ftm *e;
    int err;

    *out = NULL;
    if (config->size < 1 || config->rank < 0 || config->rank >= config->size
        || config->size > (int)FTM_RANK_MAX || config->life < 0 || config->life > (int)FTM_LIFE_MAX)
        return PHX_EINVAL;
    mem.alloc = config->alloc;
    e = ftm_mem_new(&mem, sizeof *e);
    if (e == NULL)
        return PHX_ENOMEM;
    e->config = *config;
    e->mem = mem;
    e->made_us = now;
    e->fault.latest = -1;
    e->looks = FTM_LOOKS(e);
    engine_defaults(&e->config);
    ftm_table_init(&e->handles, &e->mem);
    ftm_table_init(&e->flights, &e->mem);
    ftm_list_init(&e->contexts.early);
    ftm_list_init(&e->bsend.segments);
    ftm_list_init(&e->rings_in);
    ftm_list_init(&e->rings_out);
    ftm_list_init(&e->requests);
    ftm_list_init(&e->agreeing);
    ftm_list_init(&e->pool);
    ftm_list_init(&e->local);
    ftm_list_init(&e->owing);
    ftm_recover_init(e);
    ftm_notice_init(e);
    if ((err = engine_make(e)) != 0) {
        ftm_free(e);
        return err;
    }
    e->config.key = NULL; /* what was lent is not looked at again */
    e->config.hubs = e->config.listen = e->config.host_name = NULL;
    *out = e;
    return 0;
}

int ftm_ready(const struct ftm *e)
{
    return e->start.ready;
}

static void engine_settle(struct ftm *e)
{
    ftm_proc_deliver(e);
    ftm_recover_run(e);
    ftm_proc_flush(e);
    ftm_schedule_run(e);
    ftm_ulfm_run(e);
    engine_tell_end(e);
}

int ftm_step(struct ftm *e, uint64_t now, const struct pollfd *ready, int n)
{
    const struct pollfd none = { -1, 0, 0 };
    int more;

    e->now = now;
    more = e->node != NULL ? phx_step(e->node, now, ready, n) : 0;

    if (e->awaited && e->node != NULL)
        phx_step(e->node, now, &none, 0);
    e->awaited = 0;
    ftm_ring_look(e);
    ftm_notice_check_cut(e);
    engine_settle(e);
    if (ftm_notice_act(e))
        engine_settle(e); /* what failed is told, and what was waited for may go on */
    return more > 0 || !ftm_list_is_empty(&e->local);
}

int ftm_look(struct ftm *e)
{
    int found = ftm_ring_look(e);

    if (found || !ftm_list_is_empty(&e->owing) || !ftm_list_is_empty(&e->local))
        engine_settle(e);
    return found;
}

uint64_t ftm_deadline(const struct ftm *e)
{
    uint64_t deadline;

    if (!ftm_list_is_empty(&e->local) || (e->ended && !e->end_told))
        return 0;
    deadline = e->node != NULL ? phx_deadline(e->node) : UINT64_MAX;
    return e->start.cut_at != 0 && e->start.cut_at < deadline ? e->start.cut_at : deadline;
}

void ftm_close(struct ftm *e, uint64_t drain_us)
{
    if (e->node != NULL)
        phx_close(e->node, drain_us);
}

int ftm_closed(const struct ftm *e)
{
    return e->node == NULL || phx_closed(e->node);
}

static void engine_drop_early(struct ftm *e)
{
    struct ftm_list *link;

    while ((link = ftm_list_take(&e->contexts.early)) != NULL) {
        struct ftm_item *item = FTM_LIST_OF(link, struct ftm_item, bin);

        item->charged = 0;
        ftm_recv_drop(e, item);
    }
}

/* Phoenix goes first, since it gives memory back that requests hold. */
void ftm_free(struct ftm *e)
{
    struct ftm_mem mem;

    if (e == NULL)
        return;
    e->ended = e->end_told = 1;
    phx_free(e->node);
    e->node = NULL;
    ftm_ring_clear(e);
    ftm_proc_drop_local(e);
    ftm_request_clear(e);
    ftm_rebuild_clear(e);
    ftm_comm_clear(e);
    ftm_recover_clear(e);
    engine_drop_early(e);
    ftm_attr_clear(e);
    ftm_error_clear(e);
    ftm_op_clear(e);
    ftm_type_clear(e);
    ftm_notice_clear(e);
    ftm_proc_drop_local(e); /* credit for messages of our own that were dropped here */
    ftm_proc_clear(e);
    ftm_mem_free(&e->mem, e->fault.failed, e->fault.capacity * sizeof *e->fault.failed);
    ftm_mem_free(&e->mem, e->contexts.led, e->contexts.led_capacity * sizeof *e->contexts.led);
    ftm_mem_free(&e->mem, e->contexts.sorted, e->contexts.capacity * sizeof *e->contexts.sorted);
    ftm_mem_free(&e->mem, e->scratch, e->config.eager_limit + FTM_ASK_SIZE);
    ftm_table_clear(&e->handles);
    ftm_table_clear(&e->flights);
    mem = e->mem;
    ftm_mem_free(&mem, e, sizeof *e);
}
