/* proc.c - the other processes of the job: who they are, and what is owed to each. */
#include "proc.h"

#include <string.h>

#include "engine.h"
#include "flight.h"
#include "ring.h"
#include "start.h"

/* A message to this process itself: it is delivered by the next step, as all others are. */
struct proc_local {
    struct ftm_list link;
    uint64_t from, tag;
    const void *data; /* what follows, or borrowed until release is called */
    size_t size;
    void (*release)(const void *data, size_t size, void *arg);
    void *arg;
};

static void proc_name(const struct ftm *e, struct ftm_proc *p, uint32_t life)
{
    p->life = life;
    p->name = FTM_NAME(e->config.job, FTM_PROCESS, life, (uint32_t)p->seat);
}

struct ftm_proc *ftm_proc_add(struct ftm *e, int seat, uint32_t life, int host, int site)
{
    struct ftm_proc *p = ftm_mem_new(&e->mem, sizeof *p);
    void *procs = e->procs;

    if (p == NULL || !ftm_mem_grow(&e->mem, &procs, &e->procs_capacity, e->procs_count, sizeof *e->procs)) {
        ftm_mem_free(&e->mem, p, sizeof *p);
        return NULL;
    }
    e->procs = procs;
    p->index = (int)e->procs_count;
    p->seat = seat;
    p->host = host;
    p->site = site;
    proc_name(e, p, life);
    p->credit = e->config.eager_budget;
    ftm_list_init(&p->control);
    ftm_list_init(&p->queue);
    ftm_list_init(&p->parts);
    e->procs[e->procs_count++] = p;
    return p;
}

int ftm_proc_init(struct ftm *e)
{
    int i;

    e->self_proc = e->config.rank;
    for (i = 0; i < e->config.size; i++)
        if (ftm_proc_add(e, i, i == e->self_proc ? (uint32_t)e->config.life : 0, 0, 0) == NULL)
            return -1;
    return 0;
}

static size_t proc_local_bytes(const struct proc_local *l)
{
    return sizeof *l + (l->release == NULL ? l->size : 0);
}

static void proc_local_free(struct ftm *e, struct proc_local *l)
{
    if (l->release != NULL)
        l->release(l->data, l->size, l->arg);
    ftm_mem_free(&e->mem, l, proc_local_bytes(l));
}

void ftm_proc_drop_local(struct ftm *e)
{
    struct ftm_list *link;

    while ((link = ftm_list_take(&e->local)) != NULL)
        proc_local_free(e, FTM_LIST_OF(link, struct proc_local, link));
}

void ftm_proc_take_back(struct ftm *e, const void *arg)
{
    struct ftm_list *link, *next;

    for (link = e->local.next; link != &e->local; link = next) {
        struct proc_local *l = FTM_LIST_OF(link, struct proc_local, link);

        next = link->next;
        if (l->release == NULL || l->arg != arg)
            continue;
        ftm_list_remove(link);
        ftm_mem_free(&e->mem, l, proc_local_bytes(l));
    }
}

void ftm_proc_reclaim(struct ftm *e, const void *buffer, const void *arg)
{
    if (e->node != NULL && phx_reclaim(e->node, buffer, arg) == PHX_ENOMEM)
        ftm_end(e, 1, "rank %d: no memory to take a buffer back", e->config.rank);
}

static void proc_drop_control(struct ftm *e, struct ftm_proc *p)
{
    struct ftm_list *link;

    while ((link = ftm_list_take(&p->control)) != NULL) {
        struct ftm_control *c = FTM_LIST_OF(link, struct ftm_control, link);

        ftm_mem_free(&e->mem, c, sizeof *c + c->size);
    }
}

void ftm_proc_silence(struct ftm *e, struct ftm_proc *p)
{
    proc_drop_control(e, p);
    ftm_list_remove(&p->owing);
    p->blocked = 0;
}

void ftm_proc_clear(struct ftm *e)
{
    size_t i;

    for (i = 0; i < e->procs_count; i++) {
        proc_drop_control(e, e->procs[i]);
        ftm_mem_free(&e->mem, e->procs[i], sizeof *e->procs[i]);
    }
    ftm_mem_free(&e->mem, e->procs, e->procs_capacity * sizeof *e->procs);
    e->procs = NULL;
    e->procs_count = e->procs_capacity = 0;
}

int ftm_proc_table(struct ftm *e, struct ftm_seats_head *head, const void *data, size_t size)
{
    uint32_t count = (uint32_t)e->config.size, i;
    struct ftm_seat *seats = ftm_mem_new(&e->mem, count * sizeof *seats);
    int result = seats == NULL ? -1 : ftm_seats_get(head, seats, count, data, size);

    for (i = 0; result == 0 && i < count; i++) {
        struct ftm_proc *p = e->procs[i];

        proc_name(e, p, seats[i].life);
        p->host = (int)seats[i].host;
        p->site = (int)seats[i].site;
        p->state = seats[i].failed ? FTM_PROC_FAILED : FTM_PROC_OK;
    }
    ftm_mem_free(&e->mem, seats, count * sizeof *seats);
    return result;
}

struct ftm_proc *ftm_proc_find(struct ftm *e, uint32_t seat, uint32_t life)
{
    size_t i;

    if (seat >= (uint32_t)e->config.size)
        return NULL;
    if (e->procs[seat]->life == life)
        return e->procs[seat];
    for (i = e->procs_count; i > (size_t)e->config.size; i--)
        if (e->procs[i - 1]->seat == (int)seat && e->procs[i - 1]->life == life)
            return e->procs[i - 1];
    return NULL;
}

uint64_t ftm_proc_from(const struct ftm *e, uint32_t generation)
{
    return FTM_FROM(generation, (uint32_t)e->config.life, (uint32_t)e->config.rank);
}

/* ---- Sending ----------------------------------------------------------------------------------- */

static int proc_send_local(struct ftm *e, const struct proc_local *what)
{
    struct proc_local *l = ftm_mem_resize(&e->mem, NULL, 0, proc_local_bytes(what));

    if (l == NULL)
        return PHX_ENOMEM;
    *l = *what;
    if (l->release == NULL && l->size > 0) {
        memcpy(l + 1, what->data, l->size);
        l->data = l + 1;
    }
    ftm_list_add(&e->local, &l->link);
    return 0;
}

int ftm_proc_is_blocked(const struct ftm_proc *p)
{
    return p->blocked && !ftm_ring_is_on(p);
}

int ftm_proc_send(struct ftm *e, int proc, uint64_t from, uint64_t tag, const void *data, size_t size,
                  void (*release)(const void *data, size_t size, void *arg), void *arg)
{
    struct ftm_proc *p = e->procs[proc];
    int err;

    if (e->node != NULL && !ftm_ring_is_on(p))
        ftm_ring_consider(e, p);
    if (!ftm_ring_is_on(p))
        return ftm_proc_send_large(e, proc, from, tag, data, size, release, arg);
    err = ftm_ring_send(e, p, from, tag, data, size);
    return err == 0 && release != NULL ? FTM_COPIED : err;
}

int ftm_proc_send_large(struct ftm *e, int proc, uint64_t from, uint64_t tag, const void *data, size_t size,
                        void (*release)(const void *data, size_t size, void *arg), void *arg)
{
    struct ftm_proc *p = e->procs[proc];
    struct proc_local local;
    int err;

    if (proc == e->self_proc) {
        memset(&local, 0, sizeof local);
        local.from = from;
        local.tag = tag;
        local.data = data;
        local.size = size;
        local.release = release;
        local.arg = arg;
        return proc_send_local(e, &local);
    }
    if (e->node == NULL)
        return PHX_ECLOSED;
    if (p->blocked)
        return PHX_EAGAIN;
    e->counters.sent++;
    p->sent++;
    err = release != NULL ? phx_send_owned(e->node, p->name, from, tag, data, size, release, arg)
                          : phx_send(e->node, p->name, from, tag, data, size);
    p->blocked = err == PHX_EAGAIN;
    return err;
}

void ftm_proc_deliver(struct ftm *e)
{
    struct ftm_list *last = e->local.prev, *link;
    int more = !ftm_list_is_empty(&e->local);

    while (more) { /* what these messages cause is for the next step */
        struct proc_local *l;

        link = ftm_list_take(&e->local);
        more = link != last;
        l = FTM_LIST_OF(link, struct proc_local, link);
        ftm_flight_arrived(e, l->from, l->tag, l->data, l->size);
        proc_local_free(e, l);
    }
}

/* ---- What waits -------------------------------------------------------------------------------- */

void ftm_proc_owe(struct ftm *e, struct ftm_proc *p)
{
    if (p->owing.next == NULL)
        ftm_list_add(&e->owing, &p->owing);
}

void ftm_proc_tell(struct ftm *e, int proc, uint64_t tag, const void *data, size_t size)
{
    struct ftm_proc *p = e->procs[proc];
    struct ftm_control *c;
    int err;

    if (p->state == FTM_PROC_FAILED)
        return;
    err = ftm_list_is_empty(&p->control)
              ? ftm_proc_send(e, proc, ftm_proc_from(e, 0), tag, data, size, NULL, NULL) : PHX_EAGAIN;
    if (err == 0)
        return;
    c = err == PHX_EAGAIN ? ftm_mem_resize(&e->mem, NULL, 0, sizeof *c + size) : NULL;
    if (c == NULL) {
        ftm_end(e, 1, "rank %d: cannot send to rank %d: %s", e->config.rank, p->seat,
                phx_strerror(err == PHX_EAGAIN ? PHX_ENOMEM : err));
        return;
    }
    memset(c, 0, sizeof *c);
    c->from = ftm_proc_from(e, 0);
    c->tag = tag;
    c->size = size;
    if (size > 0)
        memcpy(c + 1, data, size);
    ftm_list_add(&p->control, &c->link);
    ftm_proc_owe(e, p);
}

static void proc_flush_control(struct ftm *e, struct ftm_proc *p)
{
    while (!ftm_proc_is_blocked(p) && !ftm_list_is_empty(&p->control)) {
        struct ftm_control *c = FTM_LIST_OF(p->control.next, struct ftm_control, link);
        int err = ftm_proc_send(e, p->index, c->from, c->tag, c + 1, c->size, NULL, NULL);

        if (err == PHX_EAGAIN)
            return;
        ftm_list_remove(&c->link);
        ftm_mem_free(&e->mem, c, sizeof *c + c->size);
        if (err != 0)
            ftm_end(e, 1, "rank %d: cannot send to rank %d: %s", e->config.rank, p->seat, phx_strerror(err));
    }
}

void ftm_proc_flush(struct ftm *e)
{
    struct ftm_list *link, *next;

    for (link = e->owing.next; link != &e->owing; link = next) {
        struct ftm_proc *p = FTM_LIST_OF(link, struct ftm_proc, owing);

        next = link->next;
        if (ftm_proc_is_blocked(p))
            continue;
        proc_flush_control(e, p);
        ftm_send_continue(e, p);
        if (ftm_list_is_empty(&p->control) && ftm_list_is_empty(&p->queue) && ftm_list_is_empty(&p->parts))
            ftm_list_remove(&p->owing);
    }
}

void ftm_proc_writable(struct ftm *e, uint64_t name)
{
    struct ftm_proc *p = ftm_proc_find(e, FTM_RANK(name), FTM_LIFE(name));

    if (p != NULL && p->name == name)
        p->blocked = 0;
}
