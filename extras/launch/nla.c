/* nla.c - the program's side of NLA_FD: requests, their answers, messages that wait to be received. */

/* Nothing here depends on the rest of the launcher but nlap.h, the numbers of the format. Every call
 * queues its
 * frame in `out`, writes what the descriptor takes, and reads what is there; a blocking call is a start and a
 * wait. Reading never stops while a write is blocked, so two programs that send to each other cannot block
 * each
 * other. */
#if !defined(_POSIX_C_SOURCE) && !defined(__APPLE__)
#define _POSIX_C_SOURCE 200809L
#endif
#include "nla.h"
#include "nlap.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#ifndef MSG_NOSIGNAL
#define MSG_NOSIGNAL 0
#endif

#define READ_SIZE 65536
#define KEPT_MOST ((size_t)64 << 20) /* bytes of messages that nobody has asked for */

enum kind { FREE, COLLECTIVE, SEND, RECEIVE, PUT, GET };

/* A request that was started. Its number is its place plus one plus NLA_REQUESTS times its turn, so that an
 * old number is noticed. */
struct request {
    enum kind kind;
    int done, result;
    uint32_t turn;
    void *to;     /* where the answer goes, or NULL */
    size_t room;
    uint32_t from; /* RECEIVE */
    uint64_t tag;
};

struct waiting { /* a message */
    struct nla_message m;
    struct waiting *next;
    int told; /* the agent knows that it is here, and gives more */
};

struct buffer {
    unsigned char *data;
    size_t from, size, capacity; /* size bytes from `from` on */
};

struct nla {
    int fd, error; /* error: the stream is of no use any more */
    uint32_t rank, size;
    int greeted;
    uint32_t busy; /* number of the collective operation under way, or 0 */
    struct request requests[NLA_REQUESTS];
    struct buffer in, out;
    struct waiting *first, *last;
    uint64_t taken; /* bytes of messages that are taken, which the agent has not been told */
    size_t kept;    /* bytes of messages in the list */
};

/* ---- Bytes ----------------------------------------------------------------------------------- */

static void put32(unsigned char *to, uint32_t n)
{
    int i;

    for (i = 0; i < 4; i++)
        to[i] = (unsigned char)(n >> (8 * i));
}

static void put64(unsigned char *to, uint64_t n)
{
    put32(to, (uint32_t)n);
    put32(to + 4, (uint32_t)(n >> 32));
}

static uint32_t get32(const unsigned char *from)
{
    return from[0] | (uint32_t)from[1] << 8 | (uint32_t)from[2] << 16 | (uint32_t)from[3] << 24;
}

static uint64_t get64(const unsigned char *from)
{
    return get32(from) | (uint64_t)get32(from + 4) << 32;
}

/* Room for so many bytes more behind what is there. */
static int buffer_room(struct buffer *b, size_t size)
{
    size_t want = b->capacity < 4096 ? 4096 : b->capacity;
    unsigned char *more;

    if (b->from > 0 && b->from + b->size + size > b->capacity) {
        memmove(b->data, b->data + b->from, b->size);
        b->from = 0;
    }
    if (b->from + b->size + size <= b->capacity)
        return 0;
    if (size > SIZE_MAX / 4 - b->size)
        return NLA_ENOMEM;
    while (want < b->size + size)
        want *= 2;
    more = realloc(b->data, want);
    if (more == NULL)
        return NLA_ENOMEM;
    b->data = more;
    b->capacity = want;
    return 0;
}

static void buffer_add(struct buffer *b, const void *data, size_t size)
{
    if (size > 0)
        memcpy(b->data + b->from + b->size, data, size);
    b->size += size;
}

static void buffer_drop(struct buffer *b, size_t size)
{
    b->from += size;
    b->size -= size;
    if (b->size > 0)
        return;
    b->from = 0;
    if (b->capacity > 4 * READ_SIZE) {
        free(b->data);
        b->data = NULL;
        b->capacity = 0;
    }
}

/* ---- The stream ------------------------------------------------------------------------------ */

static void fail(struct nla *n, int error)
{
    if (n->error == 0)
        n->error = error;
}

static int again(void)
{
    return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
}

static void write_some(struct nla *n)
{
    ssize_t done = 1;

    while (n->error == 0 && n->out.size > 0 && done > 0) {
        done = send(n->fd, n->out.data + n->out.from, n->out.size, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (done > 0)
            buffer_drop(&n->out, (size_t)done);
        else if (!again())
            fail(n, NLA_ECLOSED);
    }
}

/* One frame is queued whole: a head of 9 bytes (length, type, request), then up to two pieces. */
static int queue_frame(struct nla *n, int type, uint32_t request, const void *a, size_t a_size, const void *b,
                       size_t b_size)
{
    unsigned char head[9];

    if (n->error != 0)
        return n->error;
    if (a_size + b_size > NLAP_FRAME_MOST - 5 || buffer_room(&n->out, sizeof head + a_size + b_size) != 0)
        return NLA_ENOMEM;
    put32(head, (uint32_t)(5 + a_size + b_size));
    head[4] = (unsigned char)type;
    put32(head + 5, request);
    buffer_add(&n->out, head, sizeof head);
    buffer_add(&n->out, a, a_size);
    buffer_add(&n->out, b, b_size);
    write_some(n);
    return 0;
}

/* The agent gives more messages when it knows which are taken. Without memory to say so it is said later. */
static void tell_taken(struct nla *n)
{
    unsigned char frame[13];

    if (n->error != 0 || n->taken == 0 || buffer_room(&n->out, sizeof frame) != 0)
        return;
    put32(frame, 9);
    frame[4] = NLAP_TAKEN;
    put64(frame + 5, n->taken);
    n->taken = 0;
    buffer_add(&n->out, frame, sizeof frame);
    write_some(n);
}

/* ---- What the agent says --------------------------------------------------------------------- */

static struct request *request_of(struct nla *n, uint32_t number)
{
    struct request *r = &n->requests[(number - 1) % NLA_REQUESTS];

    return number == 0 || r->kind == FREE || r->turn != (number - 1) / NLA_REQUESTS ? NULL : r;
}

static void finish(struct nla *n, struct request *r, int result)
{
    r->done = 1;
    r->result = result;
    if (r->kind == COLLECTIVE)
        n->busy = 0;
}

/* A value has the room of its caller, an operation exactly the bytes that were foreseen. */
static void take_done(struct nla *n, const unsigned char *data, size_t size)
{
    struct request *r = request_of(n, get32(data));
    int error = (int32_t)get32(data + 4);

    data += 8;
    size -= 8;
    if (r == NULL || r->done || r->kind == RECEIVE || error > 0) {
        fail(n, NLA_EPROTO);
        return;
    }
    if (r->kind == GET && error == 0) {
        error = size < r->room ? (int)size : NLA_ETOOBIG;
        if (error >= 0) {
            memcpy(r->to, data, size);
            ((char *)r->to)[size] = '\0';
        }
    } else if (size > 0) {
        if (r->to == NULL || size != r->room) {
            fail(n, NLA_EPROTO);
            return;
        }
        memcpy(r->to, data, size);
    } else if (error == NLA_EFAILED && r->kind == COLLECTIVE && r->room > 0) {
        memset(r->to, 0, r->room); /* nothing of it came */
    }
    finish(n, r, error);
}

static void take_message(struct nla *n, const unsigned char *data, size_t size)
{
    struct waiting *w = malloc(sizeof *w + size - 12 + 1);

    if (w == NULL) {
        fail(n, NLA_ENOMEM);
        return;
    }
    w->next = NULL;
    w->told = 0;
    w->m.from = get32(data);
    w->m.tag = get64(data + 4);
    w->m.size = size - 12;
    w->m.data = (unsigned char *)(w + 1);
    memcpy(w->m.data, data + 12, w->m.size);
    w->m.data[w->m.size] = '\0';
    if (n->first == NULL)
        n->first = w;
    else
        n->last->next = w;
    n->last = w;
    n->kept += w->m.size;
}

static void take_hello(struct nla *n, const unsigned char *data)
{
    n->rank = get32(data);
    n->size = get32(data + 4);
    n->greeted = 1;
    if (n->rank >= n->size)
        fail(n, NLA_EPROTO);
}

static void take_frame(struct nla *n, int type, const unsigned char *data, size_t size)
{
    if (type == NLAP_HELLO && size >= 8 && !n->greeted)
        take_hello(n, data);
    else if (type == NLAP_DONE && size >= 8 && n->greeted)
        take_done(n, data, size);
    else if (type == NLAP_MESSAGE && size >= 12 && n->greeted)
        take_message(n, data, size);
    else
        fail(n, NLA_EPROTO);
}

static void take_frames(struct nla *n)
{
    const unsigned char *data;
    uint32_t length;

    while (n->error == 0 && n->in.size >= 4) {
        data = n->in.data + n->in.from;
        length = get32(data);
        if (length < 1 || length > NLAP_FRAME_MOST) {
            fail(n, NLA_EPROTO);
            return;
        }
        if (n->in.size - 4 < length)
            return;
        take_frame(n, data[4], data + 5, length - 1);
        buffer_drop(&n->in, (size_t)length + 4);
    }
}

/* Reads until nothing is there. What came before the end of the stream is taken before the end is noticed. */
static void read_some(struct nla *n)
{
    ssize_t got = 1;

    while (n->error == 0 && got > 0) {
        if (buffer_room(&n->in, READ_SIZE) != 0) {
            fail(n, NLA_ENOMEM);
            return;
        }
        got = recv(n->fd, n->in.data + n->in.from + n->in.size, READ_SIZE, MSG_DONTWAIT);
        if (got > 0) {
            n->in.size += (size_t)got;
            take_frames(n);
        } else if (got == 0 || !again()) {
            fail(n, NLA_ECLOSED);
        }
    }
}

static void turn(struct nla *n)
{
    write_some(n);
    read_some(n);
}

static void block(struct nla *n)
{
    struct pollfd p;

    p.fd = n->fd;
    p.events = (short)nla_events(n);
    p.revents = 0;
    if (poll(&p, 1, -1) < 0 && errno != EINTR)
        fail(n, NLA_ECLOSED);
    turn(n);
}

/* ---- Requests -------------------------------------------------------------------------------- */

static struct request *new_request(struct nla *n, enum kind kind, uint32_t *number)
{
    struct request *r;
    uint32_t i;

    for (i = 0; i < NLA_REQUESTS; i++) {
        r = &n->requests[i];
        if (r->kind != FREE)
            continue;
        r->kind = kind;
        r->done = r->result = 0;
        r->turn = (r->turn + 1) % 0x1000000; /* numbers stay above 0 as an int */
        r->to = NULL;
        r->room = 0;
        *number = r->turn * NLA_REQUESTS + i + 1;
        return r;
    }
    return NULL;
}

/* Starts a request whose answer goes to `to`: its number, or an error. */
static int start(struct nla *n, enum kind kind, int type, const void *a, size_t a_size, const void *b,
                 size_t b_size,
                 void *to, size_t room)
{
    uint32_t number;
    struct request *r = new_request(n, kind, &number);
    int err;

    if (r == NULL)
        return NLA_EAGAIN;
    r->to = to;
    r->room = room;
    err = queue_frame(n, type, number, a, a_size, b, b_size);
    if (err != 0) {
        r->kind = FREE;
        return err;
    }
    if (kind == COLLECTIVE && !r->done)
        n->busy = number;
    return (int)number;
}

/* What every rank of an operation names: kind, root, bytes per rank. */
static int start_collective(struct nla *n, uint32_t kind, uint32_t root, size_t size, const void *in,
                            size_t in_size,
                            void *out, size_t out_size)
{
    unsigned char head[16];

    if (n == NULL || (in_size > 0 && in == NULL) || (out_size > 0 && out == NULL) || root >= n->size)
        return NLA_EINVAL;
    if (n->error == 0 && n->busy != 0) {
        turn(n);
        if (n->busy != 0)
            return NLA_EAGAIN;
    }
    if (size > NLAP_DATA_MOST / n->size)
        return NLA_ETOOBIG;
    put32(head, kind);
    put32(head + 4, root);
    put64(head + 8, size);
    return start(n, COLLECTIVE, NLAP_COLLECTIVE, head, sizeof head, in, in_size, out, out_size);
}

enum { BARRIER = 1, BROADCAST, GATHER, ALLGATHER, SCATTER, ALLTOALL };

/* N * size, or more than is allowed. */
static size_t all_of(const struct nla *n, size_t size)
{
    return n == NULL || size > NLAP_DATA_MOST ? 0 : size * n->size;
}

int nla_start_barrier(struct nla *n)
{
    return start_collective(n, BARRIER, 0, 0, NULL, 0, NULL, 0);
}

int nla_start_broadcast(struct nla *n, uint32_t root, void *data, size_t size)
{
    int is_root = n != NULL && n->rank == root;

    if (is_root && size > 0 && data == NULL)
        return NLA_EINVAL;
    return start_collective(n, BROADCAST, root, size, data, is_root ? size : 0, data, size);
}

int nla_start_gather(struct nla *n, uint32_t root, const void *in, size_t size, void *out)
{
    int is_root = n != NULL && n->rank == root;

    return start_collective(n, GATHER, root, size, in, size, out, is_root ? all_of(n, size) : 0);
}

int nla_start_allgather(struct nla *n, const void *in, size_t size, void *out)
{
    return start_collective(n, ALLGATHER, 0, size, in, size, out, all_of(n, size));
}

int nla_start_scatter(struct nla *n, uint32_t root, const void *in, size_t size, void *out)
{
    int is_root = n != NULL && n->rank == root;

    return start_collective(n, SCATTER, root, size, in, is_root ? all_of(n, size) : 0, out, size);
}

int nla_start_alltoall(struct nla *n, const void *in, size_t size, void *out)
{
    return start_collective(n, ALLTOALL, 0, size, in, all_of(n, size), out, all_of(n, size));
}

int nla_start_send(struct nla *n, uint32_t to, uint64_t tag, const void *data, size_t size)
{
    unsigned char head[12];

    if (n == NULL || to >= n->size || tag == NLA_ANY_TAG || (size > 0 && data == NULL))
        return NLA_EINVAL;
    if (size > NLA_MESSAGE_MAX)
        return NLA_ETOOBIG;
    put32(head, to);
    put64(head + 4, tag);
    return start(n, SEND, NLAP_SEND, head, sizeof head, data, size, NULL, 0);
}

int nla_start_put(struct nla *n, const char *key, const char *value)
{
    if (n == NULL || key == NULL || value == NULL || *key == '\0' || strlen(key) > NLA_KEY_MAX)
        return NLA_EINVAL;
    if (strlen(value) > NLA_VALUE_MAX)
        return NLA_ETOOBIG;
    return start(n, PUT, NLAP_PUT, key, strlen(key) + 1, value, strlen(value) + 1, NULL, 0);
}

int nla_start_get(struct nla *n, const char *key, char *value, size_t room)
{
    if (n == NULL || key == NULL || value == NULL || *key == '\0' || strlen(key) > NLA_KEY_MAX || room == 0)
        return NLA_EINVAL;
    return start(n, GET, NLAP_GET, key, strlen(key) + 1, NULL, 0, value, room);
}

int nla_start_recv(struct nla *n, uint32_t from, uint64_t tag, struct nla_message **message)
{
    struct request *r;
    uint32_t number;

    if (n == NULL || message == NULL || (from >= n->size && from != NLA_ANY_RANK))
        return NLA_EINVAL;
    *message = NULL;
    r = new_request(n, RECEIVE, &number);
    if (r == NULL)
        return NLA_EAGAIN;
    r->to = message;
    r->from = from;
    r->tag = tag;
    return (int)number;
}

/* ---- Receiving ------------------------------------------------------------------------------- */

static void unlink_message(struct nla *n, struct waiting *before, struct waiting *w)
{
    if (before == NULL)
        n->first = w->next;
    else
        before->next = w->next;
    if (n->last == w)
        n->last = before;
    n->kept -= w->m.size;
    if (!w->told)
        n->taken += w->m.size + NLAP_MESSAGE_COST;
    if (n->taken >= NLAP_WINDOW / 4)
        tell_taken(n);
}

/* What is asked for is not among the messages that are here, so the agent has to give more than its window
 * holds: those that are here count as taken. */
static void tell_kept(struct nla *n)
{
    struct waiting *w;

    for (w = n->first; w != NULL; w = w->next)
        if (!w->told) {
            w->told = 1;
            n->taken += w->m.size + NLAP_MESSAGE_COST;
        }
    tell_taken(n);
}

static void match(struct nla *n, struct request *r)
{
    struct waiting *w, *before = NULL;

    for (w = n->first; w != NULL; before = w, w = w->next)
        if ((r->from == NLA_ANY_RANK || r->from == w->m.from) && (r->tag == NLA_ANY_TAG
                                                                  || r->tag == w->m.tag)) {
            unlink_message(n, before, w);
            *(struct nla_message **)r->to = &w->m;
            finish(n, r, 0);
            return;
        }
    if (n->kept > KEPT_MOST)
        finish(n, r, NLA_ELIMIT);
    else
        tell_kept(n);
}

/* The message is the first member of the block. */
void nla_message_free(struct nla_message *m)
{
    free(m);
}

/* ---- Test and wait --------------------------------------------------------------------------- */

static void check(struct nla *n, struct request *r)
{
    if (r->kind == RECEIVE && !r->done)
        match(n, r);
    if (n->error != 0 && !r->done)
        finish(n, r, n->error);
}

int nla_test(struct nla *n, int number, int *result)
{
    struct request *r = n == NULL || number <= 0 ? NULL : request_of(n, (uint32_t)number);

    if (r == NULL)
        return NLA_ESTATE;
    if (!r->done)
        turn(n);
    check(n, r);
    if (!r->done)
        return 0;
    if (result != NULL)
        *result = r->result;
    r->kind = FREE;
    return 1;
}

int nla_wait(struct nla *n, int number)
{
    int result, done;

    if (number < 0)
        return number; /* the start failed: nla_wait(n, nla_start_...) is the blocking call */
    while ((done = nla_test(n, number, &result)) == 0)
        block(n);
    return done < 0 ? done : result;
}

int nla_fd(const struct nla *n)
{
    return n == NULL ? -1 : n->fd;
}

int nla_events(const struct nla *n)
{
    return n == NULL ? 0 : n->out.size > 0 ? POLLIN | POLLOUT : POLLIN;
}

/* ---- Blocking calls -------------------------------------------------------------------------- */

int nla_barrier(struct nla *n)
{
    return nla_wait(n, nla_start_barrier(n));
}

int nla_broadcast(struct nla *n, uint32_t root, void *data, size_t size)
{
    return nla_wait(n, nla_start_broadcast(n, root, data, size));
}

int nla_gather(struct nla *n, uint32_t root, const void *in, size_t size, void *out)
{
    return nla_wait(n, nla_start_gather(n, root, in, size, out));
}

int nla_allgather(struct nla *n, const void *in, size_t size, void *out)
{
    return nla_wait(n, nla_start_allgather(n, in, size, out));
}

int nla_scatter(struct nla *n, uint32_t root, const void *in, size_t size, void *out)
{
    return nla_wait(n, nla_start_scatter(n, root, in, size, out));
}

int nla_alltoall(struct nla *n, const void *in, size_t size, void *out)
{
    return nla_wait(n, nla_start_alltoall(n, in, size, out));
}

int nla_send(struct nla *n, uint32_t to, uint64_t tag, const void *data, size_t size)
{
    return nla_wait(n, nla_start_send(n, to, tag, data, size));
}

int nla_recv(struct nla *n, uint32_t from, uint64_t tag, struct nla_message **out)
{
    return nla_wait(n, nla_start_recv(n, from, tag, out));
}

int nla_put(struct nla *n, const char *key, const char *value)
{
    return nla_wait(n, nla_start_put(n, key, value));
}

int nla_get(struct nla *n, const char *key, char *value, size_t room)
{
    return nla_wait(n, nla_start_get(n, key, value, room));
}

/* ---- Life ------------------------------------------------------------------------------------ */

/* A number of the environment, or -1. */
static long number_in(const char *name)
{
    const char *text = getenv(name);
    char *end;
    long number;

    if (text == NULL || *text < '0' || *text > '9')
        return -1;
    errno = 0;
    number = strtol(text, &end, 10);
    return *end != '\0' || errno != 0 || number > 0x7fffffff ? -1 : number;
}

static int greet(struct nla *n)
{
    int err = buffer_room(&n->out, 4);

    if (err != 0)
        return err;
    buffer_add(&n->out, NLAP_MAGIC, 4);
    turn(n);
    while (n->error == 0 && !n->greeted)
        block(n);
    return n->greeted ? 0 : n->error;
}

int nla_init(struct nla **out)
{
    long fd = number_in("NLA_FD");
    struct nla *n;
    int err;

    if (out == NULL)
        return NLA_EINVAL;
    *out = NULL;
    if (fd < 0 || fcntl((int)fd, F_GETFD) < 0)
        return NLA_ENOAGENT;
    n = calloc(1, sizeof *n);
    if (n == NULL)
        return NLA_ENOMEM;
    n->fd = (int)fd;
    err = greet(n);
    if (err != 0) {
        nla_free(n);
        return err;
    }
    *out = n;
    return 0;
}

void nla_free(struct nla *n)
{
    struct waiting *w;

    if (n == NULL)
        return;
    while ((w = n->first) != NULL) {
        n->first = w->next;
        free(w);
    }
    free(n->in.data);
    free(n->out.data);
    close(n->fd);
    free(n);
}

int nla_finalize(struct nla *n)
{
    static const unsigned char frame[5] = { 1, 0, 0, 0, NLAP_FINISH };
    int err;

    if (n == NULL)
        return 0;
    err = n->error != 0 ? n->error : buffer_room(&n->out, sizeof frame);
    if (err == 0) {
        buffer_add(&n->out, frame, sizeof frame);
        write_some(n);
        while (n->error == 0 && n->out.size > 0)
            block(n);
        err = n->error;
    }
    nla_free(n);
    return err;
}

uint32_t nla_rank(const struct nla *n)
{
    return n == NULL ? 0 : n->rank;
}

uint32_t nla_size(const struct nla *n)
{
    return n == NULL ? 0 : n->size;
}

const char *nla_strerror(int error)
{
    switch (error) {
    case NLA_OK: return "success";
    case NLA_EINVAL: return "invalid argument, or ranks that disagree about an operation";
    case NLA_ENOMEM: return "out of memory";
    case NLA_EAGAIN: return "not now: something is under way";
    case NLA_ESTATE: return "no such request, or after the end";
    case NLA_ETOOBIG: return "too many bytes";
    case NLA_ENOTFOUND: return "nobody has put that key";
    case NLA_ELIMIT: return "the agents keep no more";
    case NLA_EACCES: return "keys that begin with PMI_ are the launcher's";
    case NLA_EPROTO: return "the agent speaks something else";
    case NLA_EFAILED: return "a rank that takes part is dead";
    case NLA_ECLOSED: return "the agent is gone";
    case NLA_ENOAGENT: return "not started by phxrun";
    default: return error > 0 ? "success" : "unknown error";
    }
}
