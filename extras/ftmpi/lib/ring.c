/* ring.c - messages between two processes of one host through shared memory, beside Phoenix. */
#define _POSIX_C_SOURCE 200809L
#include "ring.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine.h"
#include "flight.h"

/* One ring for each ordered pair that speaks. The writer makes it when its first message goes (a file
 * without a name, which the other side opens through /proc) and tells by RING; the reader answers whether
 * it could open it. Until then, and for ever if it could not, messages go through Phoenix. The last that
 * does is SWITCH, and the reader does not look into the ring before it; so there is one order.
 *
 * A record is its size, from, tag and the data, in one piece and padded to eight bytes; where it would not
 * fit before the end of the ring a filler stands. One store of the tail publishes it, so a writer that
 * dies on the way has published nothing. Who goes to sleep raises a flag and looks once more; who sees the
 * flag sends BELL through Phoenix, which wakes the other.
 *
 * C99 has no atomic operations: without the compilers' built-in ones there are no rings. */

#if defined(__GNUC__) && defined(__linux__)
#define RING_WORKS 1
#define RING_LOAD(p) __atomic_load_n((p), __ATOMIC_ACQUIRE)
#define RING_STORE(p, value) __atomic_store_n((p), (value), __ATOMIC_RELEASE)
#define RING_FENCE() __atomic_thread_fence(__ATOMIC_SEQ_CST)
#else
#define RING_WORKS 0
#define RING_LOAD(p) (*(p))
#define RING_STORE(p, value) ((void)(*(p) = (value)))
#define RING_FENCE() ((void)0)
#endif

#define RING_BYTES (256u << 10)
#define RING_BYTES_MANY (64u << 10) /* where a job has more ranks than RING_FEW */
#define RING_FEW 8
#define RING_PROCS 64 /* larger jobs have no rings: there would be too many */
#define RING_HEAD 24  /* of a record */
#define RING_FILLER UINT64_MAX
#define RING_TOKEN 16
#define RING_OFFER (RING_TOKEN + 16)

enum ring_flag { RING_IS_OFFER, RING_YES, RING_NO, RING_SWITCH, RING_BELL };

/* Each side writes its own lines of the cache. What both look at with each message, and hardly ever changes,
 * is apart from what one of them writes each time. */
struct ring_shared {
    unsigned char token[RING_TOKEN];
    unsigned char apart[128 - RING_TOKEN];
    uint64_t tail; /* the writer's: bytes ever written */
    unsigned char after_tail[128 - 8];
    uint64_t head; /* the reader's: bytes ever taken */
    unsigned char after_head[128 - 8];
    uint32_t writer_waits, reader_sleeps;
    unsigned char after_flags[128 - 8];
};

enum ring_state { RING_NONE, RING_OFFERED, RING_AGREED, RING_ON, RING_REFUSED };

struct ftm_ring {
    struct ftm_list link; /* of those in use: e->rings_in, e->rings_out */
    enum ring_state state;
    struct ring_shared *shared; /* NULL: it could not be made */
    unsigned char *data;
    uint64_t size;       /* of data: a power of two */
    uint64_t own, other; /* what we last wrote of our end, and last saw of the other */
    int fd;
    int proc;
};

/* ---- Memory ------------------------------------------------------------------------------------ */

static int ring_map(struct ftm_ring *r, int fd, uint64_t size)
{
    void *memory = mmap(NULL, sizeof *r->shared + size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

    if (memory == MAP_FAILED)
        return -1;
    r->shared = memory;
    r->data = (unsigned char *)(r->shared + 1);
    r->size = size;
    return 0;
}

static void ring_free(struct ftm *e, struct ftm_ring *r)
{
    if (r == NULL)
        return;
    ftm_list_remove(&r->link);
    if (r->shared != NULL)
        munmap(r->shared, sizeof *r->shared + r->size);
    if (r->fd >= 0)
        close(r->fd);
    ftm_mem_free(&e->mem, r, sizeof *r);
}

/* A file of that size without a name, all of it really there; -1: not here. */
static int ring_file(uint64_t size)
{
    char path[] = "/dev/shm/ftmpiXXXXXX";
    struct rlimit most;
    int fd;

    if (getrlimit(RLIMIT_FSIZE, &most) == 0 && most.rlim_cur < size)
        return -1; /* the signal for that would end the process */
    fd = mkstemp(path);
    if (fd < 0)
        return -1;
    unlink(path);
    if (fcntl(fd, F_SETFD, FD_CLOEXEC) == 0 && posix_fallocate(fd, 0, (off_t)size) == 0)
        return fd;
    close(fd);
    return -1;
}

static struct ftm_ring *ring_new(struct ftm *e, int proc)
{
    struct ftm_ring *r = ftm_mem_new(&e->mem, sizeof *r);

    if (r != NULL) {
        r->fd = -1;
        r->proc = proc;
    }
    return r;
}

/* A token tells the other side that it opened this file, and not one of another host by the same path. */
static int ring_token(unsigned char *token)
{
    int fd = open("/dev/urandom", O_RDONLY);
    ssize_t n = fd < 0 ? -1 : read(fd, token, RING_TOKEN);

    if (fd >= 0)
        close(fd);
    return n == RING_TOKEN ? 0 : -1;
}

static int ring_make(struct ftm *e, struct ftm_ring *r)
{
    uint64_t size = e->config.size > RING_FEW ? RING_BYTES_MANY : RING_BYTES;

    r->fd = ring_file(sizeof *r->shared + size);
    return r->fd < 0 || ring_map(r, r->fd, size) != 0 || ring_token(r->shared->token) != 0 ? -1 : 0;
}

/* ---- Agreeing ---------------------------------------------------------------------------------- */

static void ring_tell(struct ftm *e, const struct ftm_proc *p, uint32_t what, const void *data, size_t size)
{
    uint64_t tag = FTM_WORD(FTM_RING, what, 0, 0);

    if (phx_send(e->node, p->name, ftm_proc_from(e, 0), tag, data, size) == PHX_ENOMEM)
        ftm_end(e, 1, "rank %d: no memory for a message to rank %d", e->config.rank, p->seat);
}

static void ring_offer(struct ftm *e, struct ftm_proc *p)
{
    unsigned char offer[RING_OFFER];
    struct ftm_ring *r = ring_new(e, p->index);

    p->ring_out = r;
    if (r == NULL)
        return;
    r->state = RING_REFUSED;
    if (ring_make(e, r) != 0)
        return;
    memcpy(offer, r->shared->token, RING_TOKEN);
    ftm_put64(offer + RING_TOKEN, (uint64_t)getpid());
    ftm_put64(offer + RING_TOKEN + 8, (uint64_t)r->fd << 32 | r->size);
    if (phx_send(e->node, p->name, ftm_proc_from(e, 0), FTM_WORD(FTM_RING, RING_IS_OFFER, 0, 0), offer,
                 sizeof offer) == 0)
        r->state = RING_OFFERED;
}

static int ring_may(const struct ftm *e, const struct ftm_proc *p)
{
    return RING_WORKS && e->config.ring && !e->config.tcp && e->config.os == NULL
        && e->config.size <= RING_PROCS && p->index != e->self_proc && e->start.ready
        && p->host == e->procs[e->self_proc]->host && p->site == e->procs[e->self_proc]->site;
}

void ftm_ring_consider(struct ftm *e, struct ftm_proc *p)
{
    struct ftm_ring *r = p->ring_out;

    if (r == NULL) {
        if (ring_may(e, p))
            ring_offer(e, p);
        return;
    }
    if (r->state != RING_AGREED || p->blocked
        || phx_send(e->node, p->name, ftm_proc_from(e, 0), FTM_WORD(FTM_RING, RING_SWITCH, 0, 0), NULL, 0))
        return;
    r->state = RING_ON;
    ftm_list_add(&e->rings_out, &r->link);
}

/* Opens what was offered. The mapping is checked before a byte of it is believed. */
static int ring_open(struct ftm *e, struct ftm_ring *r, const unsigned char *offer)
{
    uint64_t pid = ftm_get64(offer + RING_TOKEN), rest = ftm_get64(offer + RING_TOKEN + 8);
    uint64_t size = rest & 0xffffffff;
    char path[64];
    struct stat s;
    int fd, good;

    if (size < RING_BYTES_MANY || size > RING_BYTES || (size & (size - 1)) != 0 || !e->config.ring
        || e->config.tcp || e->config.os != NULL || !RING_WORKS)
        return -1;
    snprintf(path, sizeof path, "/proc/%lu/fd/%lu", (unsigned long)pid, (unsigned long)(rest >> 32));
    fd = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return -1;
    good = fstat(fd, &s) == 0 && S_ISREG(s.st_mode) && (uint64_t)s.st_size == sizeof *r->shared + size
        && ring_map(r, fd, size) == 0;
    close(fd);
    return good && memcmp(r->shared->token, offer, RING_TOKEN) == 0 ? 0 : -1;
}

static int ring_offered(struct ftm *e, struct ftm_proc *p, const void *offer, size_t size)
{
    if (p->ring_in != NULL || size != RING_OFFER)
        return -1;
    p->ring_in = ring_new(e, p->index);
    if (p->ring_in == NULL || ring_open(e, p->ring_in, offer) != 0) {
        ring_free(e, p->ring_in);
        p->ring_in = NULL;
        ring_tell(e, p, RING_NO, NULL, 0);
    } else {
        p->ring_in->state = RING_AGREED;
        ring_tell(e, p, RING_YES, NULL, 0);
    }
    return 0;
}

static int ring_answered(struct ftm *e, struct ftm_proc *p, int yes)
{
    struct ftm_ring *r = p->ring_out;

    if (r == NULL || r->state != RING_OFFERED)
        return -1;
    r->state = yes ? RING_AGREED : RING_REFUSED;
    close(r->fd);
    r->fd = -1;
    if (!yes) {
        munmap(r->shared, sizeof *r->shared + r->size);
        r->shared = NULL;
    }
    (void)e;
    return 0;
}

int ftm_ring_told(struct ftm *e, const struct ftm_arrival *a)
{
    struct ftm_ring *in = a->proc->ring_in;

    switch (FTM_FLAGS(a->tag)) {
    case RING_IS_OFFER:
        return ring_offered(e, a->proc, a->data, a->size);
    case RING_YES:
    case RING_NO:
        return ring_answered(e, a->proc, FTM_FLAGS(a->tag) == RING_YES);
    case RING_SWITCH:
        if (in == NULL || in->state != RING_AGREED)
            return -1;
        in->state = RING_ON;
        ftm_list_add(&e->rings_in, &in->link);
        return 0;
    case RING_BELL:
        return 0; /* it woke us: that was all */
    default:
        return -1;
    }
}

/* ---- Writing ----------------------------------------------------------------------------------- */

int ftm_ring_is_on(const struct ftm_proc *p)
{
    return p->ring_out != NULL && p->ring_out->state == RING_ON;
}

int ftm_ring_comes(const struct ftm_proc *p)
{
    return p->ring_in != NULL && p->ring_in->state == RING_ON;
}

size_t ftm_ring_most(const struct ftm_proc *p)
{
    return (size_t)p->ring_out->size / 2 - 2 * RING_HEAD;
}

static uint64_t ring_record(size_t size)
{
    return ((uint64_t)size + RING_HEAD + 7) & ~(uint64_t)7;
}

static void ring_bell(struct ftm *e, int proc, uint32_t *flag)
{
    if (RING_LOAD(flag) == 0)
        return;
    RING_STORE(flag, 0);
    ring_tell(e, e->procs[proc], RING_BELL, NULL, 0);
}

static int ring_has_room(struct ftm_ring *r, uint64_t bytes)
{
    if (r->own + bytes - r->other > r->size)
        r->other = RING_LOAD(&r->shared->head);
    return r->own + bytes - r->other <= r->size;
}

int ftm_ring_send(struct ftm *e, struct ftm_proc *p, uint64_t from, uint64_t tag, const void *data,
                  size_t size)
{
    struct ftm_ring *r = p->ring_out;
    uint64_t bytes = ring_record(size), at = r->own & (r->size - 1), skip = 0, head[3];

    if (at + bytes > r->size)
        skip = r->size - at;
    if (!ring_has_room(r, skip + bytes))
        return PHX_EAGAIN;
    if (skip > 0) {
        head[0] = RING_FILLER;
        memcpy(r->data + at, head, sizeof head[0]);
        at = 0;
    }
    head[0] = size;
    head[1] = from;
    head[2] = tag;
    memcpy(r->data + at, head, sizeof head);
    if (size > 0)
        memcpy(r->data + at + RING_HEAD, data, size);
    r->own += skip + bytes;
    RING_STORE(&r->shared->tail, r->own);
    RING_FENCE();
    ring_bell(e, p->index, &r->shared->reader_sleeps);
    return 0;
}

/* ---- Reading ----------------------------------------------------------------------------------- */

/* One record, or a filler. -1: nonsense. */
static int ring_take(struct ftm *e, struct ftm_ring *r, uint64_t ready)
{
    uint64_t at = r->own & (r->size - 1), head[3], bytes;

    memcpy(head, r->data + at, sizeof head[0]);
    if (head[0] == RING_FILLER) {
        if (r->size - at > ready)
            return -1;
        r->own += r->size - at;
        return 0;
    }
    if (head[0] > r->size || (bytes = ring_record((size_t)head[0])) > ready || at + bytes > r->size)
        return -1;
    memcpy(head, r->data + at, sizeof head);
    if (FTM_WHO(head[1]) != FTM_WHO(e->procs[r->proc]->name))
        return -1;
    ftm_flight_arrived(e, head[1], head[2], r->data + at + RING_HEAD, (size_t)head[0]);
    r->own += bytes;
    return 0;
}

static int ring_read(struct ftm *e, struct ftm_ring *r)
{
    uint64_t tail = RING_LOAD(&r->shared->tail);

    if (tail == r->own)
        return 0;
    if (tail - r->own > r->size) {
        ftm_end(e, 1, "rank %d: rank %d has broken the memory that they share", e->config.rank,
                e->procs[r->proc]->seat);
        return 1;
    }
    while (r->own != tail && !e->ended) {
        if (ring_take(e, r, tail - r->own) != 0) {
            ftm_end(e, 1, "rank %d: rank %d has broken the memory that they share", e->config.rank,
                e->procs[r->proc]->seat);
            return 1;
        }
        RING_STORE(&r->shared->head, r->own);
    }
    RING_FENCE();
    ring_bell(e, r->proc, &r->shared->writer_waits);
    return 1;
}

int ftm_ring_look(struct ftm *e)
{
    struct ftm_list *link;
    int found = 0;

    for (link = e->rings_in.next; link != &e->rings_in; link = link->next)
        found |= ring_read(e, FTM_LIST_OF(link, struct ftm_ring, link));
    e->counters.rings += (uint64_t)found;
    return found;
}

/* ---- Sleeping ---------------------------------------------------------------------------------- */

int ftm_ring_sleep(struct ftm *e)
{
    struct ftm_list *link;
    int may = 1;

    for (link = e->rings_in.next; link != &e->rings_in; link = link->next)
        RING_STORE(&FTM_LIST_OF(link, struct ftm_ring, link)->shared->reader_sleeps, 1);
    for (link = e->rings_out.next; link != &e->rings_out; link = link->next) {
        struct ftm_ring *r = FTM_LIST_OF(link, struct ftm_ring, link);

        if (e->procs[r->proc]->owing.next != NULL)
            RING_STORE(&r->shared->writer_waits, 1);
    }
    RING_FENCE();
    for (link = e->rings_in.next; link != &e->rings_in; link = link->next) {
        struct ftm_ring *r = FTM_LIST_OF(link, struct ftm_ring, link);

        may &= RING_LOAD(&r->shared->tail) == r->own;
    }
    for (link = e->rings_out.next; link != &e->rings_out; link = link->next) {
        struct ftm_ring *r = FTM_LIST_OF(link, struct ftm_ring, link);

        if (e->procs[r->proc]->owing.next != NULL)
            may &= RING_LOAD(&r->shared->head) == r->other;
    }
    if (!may)
        ftm_ring_wake(e);
    return may;
}

void ftm_ring_wake(struct ftm *e)
{
    struct ftm_list *link;

    for (link = e->rings_in.next; link != &e->rings_in; link = link->next)
        RING_STORE(&FTM_LIST_OF(link, struct ftm_ring, link)->shared->reader_sleeps, 0);
    for (link = e->rings_out.next; link != &e->rings_out; link = link->next)
        RING_STORE(&FTM_LIST_OF(link, struct ftm_ring, link)->shared->writer_waits, 0);
}

void ftm_ring_drop(struct ftm *e, struct ftm_proc *p)
{
    ring_free(e, p->ring_in);
    ring_free(e, p->ring_out);
    p->ring_in = p->ring_out = NULL;
}

void ftm_ring_clear(struct ftm *e)
{
    size_t i;

    for (i = 0; i < e->procs_count; i++)
        ftm_ring_drop(e, e->procs[i]);
}
