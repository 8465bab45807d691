/* record.c - every input of a node as bytes, for test/sim/replay to run the same node again. */
/* What a node does follows from its inputs: calls of the host with what its callbacks return, answers of the
 * world, time and chance among them, and whether there was memory. With cfg.record world and allocator of the
 * node are those of this file, which ask the real ones. A call is noted before it does anything and an answer
 * before the node has it, so what a process that dies has written is all that its node knew. */
#include "node/record.h"

static void record_put(phx *p, const struct phx__note *note, const void *data)
{
    p->cfg.record(note, sizeof *note, p->cfg.user);
    if (note->size > 0)
        p->cfg.record(data, note->size, p->cfg.user);
    p->own.allocations = 0;
}

PHX__COLD void phx__node_record_flush(phx *p)
{
    const struct phx__note step = { PHX__NOTE_STEP, 0, (int64_t)p->now, 0, 0, 0 };

    if (p->own.unsaid)
        p->cfg.record(&step, sizeof step, p->cfg.user);
    p->own.unsaid = 0;
}

PHX__COLD int64_t phx__node_record_note(phx *p, int kind, int64_t value, const void *data, size_t size)
{
    struct phx__note note;

    if (p->cfg.record == NULL)
        return value;
    phx__node_record_flush(p);
    note = (struct phx__note){ (uint32_t)kind, (uint32_t)size, value, p->mem.told, p->mem.used,
                               PHX__NOTE_STATE(p) };
    if (kind >= PHX__NOTE_STEP && p->step.active)
        note.kind |= PHX__NOTE_INSIDE;
    record_put(p, &note, data);
    return value;
}

int phx__node_record_wait(phx *p, struct phx_ready *out, int capacity)
{
    int n = p->own.world.wait(p->own.world.world, out, capacity);
    uint32_t size = n > 0 ? (uint32_t)n * (uint32_t)sizeof *out : 0;

    if (n >= 0 && p->own.unsaid) {
        p->own.unsaid = 0;
        record_put(p, &(struct phx__note){ PHX__NOTE_STEP_WAITED, size, (int64_t)p->now, p->mem.told,
                                           p->mem.used, PHX__NOTE_STATE(p) }, out);
    } else if (p->cfg.record != NULL)
        phx__node_record_note(p, PHX__NOTE_WAIT, n, out, size);
    return n;
}

PHX__COLD static void record_iov(phx *p, const struct iovec *iov, int count, size_t most)
{
    for (int i = 0; i < count && most > 0; i++) {
        size_t size = iov[i].iov_base == NULL ? 0 : PHX__MIN(iov[i].iov_len, most);
        int64_t at = iov[i].iov_base == NULL ? -(int64_t)iov[i].iov_len : (int64_t)(intptr_t)iov[i].iov_base;

        phx__node_record_note(p, PHX__NOTE_IOV, at, iov[i].iov_base, size);
        most -= size;
    }
}

void phx__node_record_send(phx *p, const struct phx_outgoing *m)
{
    if (m->token == 0 && m->time_limit_us == 0 && m->release == NULL && m->iov_count == 1 && m->iov != NULL
        && m->iov->iov_base != NULL && m->iov->iov_len <= UINT32_MAX) { /* most are */
        record_put(p, &(struct phx__note){ PHX__NOTE_SEND_PLAIN | (p->step.active ? PHX__NOTE_INSIDE : 0u),
                                           (uint32_t)m->iov->iov_len, (int64_t)m->to, p->mem.told, m->from,
                                           m->tag }, m->iov->iov_base);
        return;
    }
    phx__node_record_note(p, PHX__NOTE_SENDV, 0, m, sizeof *m);
    record_iov(p, m->iov, m->iov != NULL ? m->iov_count : 0, UINT32_MAX);
}

int phx__node_record_near(phx *p, int listen, const struct phx_address *a, int *handle)
{
    int err = (listen ? phx__os_samehost_listen : phx__os_samehost_dial)(&p->own.world, a, handle);

    return phx__node_record_note(p, PHX__NOTE_NEAR, err == 0 ? *handle : err, NULL, 0) < 0 ? err : 0;
}

/* ---- The world, and memory ------------------------------------------------------------------- */

/* What comes with each message is a long, and its note as short as can be. */
static void record_long(phx *p, uint32_t kind, long n, const void *data, size_t size)
{
    record_put(p, &(struct phx__note){ kind, (uint32_t)size, n, 0, 0, 0 }, data);
}

/* A function of the world: its answer n, and what it filled in. */
#define record_int phx__node_record_note
#define RECORD_LIST(...) __VA_ARGS__
#define RECORD_WORLD(type, name, kind, value, data, size, arguments, ...)                                   \
    static type record_##name(void *world, __VA_ARGS__)                                                    \
    {                                                                                                      \
        phx *p = world;                                                                                    \
        type n = p->own.world.name(p->own.world.world, RECORD_LIST arguments);                             \
                                                                                                           \
        record_##type(p, PHX__NOTE_##kind, value, data, size);                                             \
        return n;                                                                                          \
    }
#define RECORD_MADE (n == 0 ? *handle : n)

RECORD_WORLD(int, listen, LISTEN, RECORD_MADE, at, sizeof *at, (at, handle), struct phx_address *at,
             int *handle)
RECORD_WORLD(int, accept, ACCEPT, RECORD_MADE, from, n == 0 ? sizeof *from : 0, (listener, handle, from),
             int listener, int *handle, struct phx_address *from)
RECORD_WORLD(int, dial, DIAL, RECORD_MADE, NULL, 0, (to, handle), const struct phx_address *to, int *handle)
RECORD_WORLD(int, finish, FINISH, n, NULL, 0, (handle), int handle)
RECORD_WORLD(int, local, LOCAL, n, out, sizeof *out, (handle, out), int handle, struct phx_address *out)
RECORD_WORLD(int, watch, WATCH, n, NULL, 0, (handle, events), int handle, int events)
RECORD_WORLD(int, random, RANDOM, n, out, n == 0 ? size : 0, (out, size), void *out, size_t size)
RECORD_WORLD(int, resolve, RESOLVE, n, out, n > 0 ? (size_t)n * sizeof *out : 0, (host, out, capacity),
             const char *host, struct phx_address *out, int capacity)

RECORD_WORLD(long, send, SEND, n, NULL, 0, (handle, iov, count), int handle, const struct iovec *iov,
             int count)
RECORD_WORLD(long, recv, RECV, n, data, n > 0 ? (size_t)n : 0, (handle, data, size), int handle, void *data,
             size_t size)

PHX__COLD static long record_recvv(void *world, int handle, const struct iovec *iov, int count)
{
    phx *p = world;
    long n = p->own.world.recvv(p->own.world.world, handle, iov, count);

    phx__node_record_note(p, PHX__NOTE_RECVV, n, NULL, 0);
    record_iov(p, iov, count, n > 0 ? (size_t)n : 0);
    return n;
}

PHX__COLD static void record_close(void *world, int handle)
{
    phx *p = world;

    p->own.world.close(p->own.world.world, handle);
    phx__node_record_note(p, PHX__NOTE_CLOSE, handle, NULL, 0);
}

PHX__COLD static void *record_alloc(void *world, void *old, size_t old_size, size_t new_size)
{
    phx *p = world;
    void *got = p->own.alloc.alloc(p->own.alloc.world, old, old_size, new_size); /* perhaps *p is gone */

    if (new_size == 0)
        return got;
    p->own.allocations++;
    if (got == NULL)
        phx__node_record_note(p, PHX__NOTE_NO_MEMORY, p->own.allocations, NULL, 0);
    return got;
}

PHX__COLD void phx__node_record_open(phx *p, const struct phx_config *cfg)
{
    const char *texts[] = { cfg->cluster, cfg->label, cfg->tls_ca, cfg->tls_cert, cfg->tls_key };
    int more[2] = { phx__os_wake_handle(&p->os), p->os.recvv != NULL };

    phx__node_record_note(p, PHX__NOTE_NEW, (int64_t)p->now, cfg, sizeof *cfg);
    for (size_t i = 0; i < PHX__COUNT(texts); i++)
        if (texts[i] != NULL)
            phx__node_record_note(p, PHX__NOTE_TEXT, (int64_t)i, texts[i], strlen(texts[i]) + 1);
    if (cfg->id != NULL)
        phx__node_record_note(p, PHX__NOTE_TEXT, PHX__COUNT(texts), cfg->id, sizeof *cfg->id);
    phx__node_record_note(p, PHX__NOTE_WORLD, p->os.fd(p->os.world), more, sizeof more);
    p->os = (struct phx_os){
        PHX_OS_VERSION, p, record_listen, record_accept, record_dial, record_finish, record_local,
        record_send, record_recv, record_close, record_watch, p->os.wait, record_random, record_resolve,
        NULL, NULL, NULL, more[1] ? record_recvv : NULL, NULL
    };
    p->own.alloc = p->mem.alloc;
    p->mem.alloc = (struct phx_alloc){ record_alloc, p };
}
