/* pipe.c - phx send and phx recv: standard input here is standard output there. */

/* Data goes in messages of up to PIPE_CHUNK bytes from buffers that are lent to the node (phx_send_owned),
 * and is received into buffers of our own (on_begin). The receiver says with TOOL_TAKEN how much it has
 * written, and the sender has at most PIPE_AHEAD bytes more under way: a slow reader of the pipe costs nobody
 * memory. */
#define _POSIX_C_SOURCE 200809L
#include "tool.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PIPE_CHUNK ((size_t)1 << 20)
#define PIPE_AHEAD ((uint64_t)8 << 20)

struct pipe_chunk { /* received, and not written yet */
    struct pipe_chunk *next;
    size_t size, written;
    unsigned char data[];
};

struct pipe_state {
    uint64_t to, from;     /* names: the other side's, ours */
    struct phx_id peer;    /* valid if there was a word of it */
    int met;               /* ... which is so */
    uint64_t moved, taken; /* bytes sent, or received; bytes that the receiver has written */
    int fd, plain;         /* what is read or written; plain: a file, which never makes one wait */
    int ended, over;       /* the end was read, sent or received; nothing is left to do */
    int status;
    uint64_t told_at; /* when the progress line was last written */
    struct pipe_chunk *first, *last;
    struct pipe_chunk *begun; /* lent to the node */
};

/* ---- Both sides ------------------------------------------------------------------------------ */

static void pipe_fail(struct pipe_state *s, const char *why)
{
    if (!s->over)
        s->status = tool_say(TOOL_FAILED, "%s", why);
    s->over = 1;
}

/* The other side is gone before the end. */
static void pipe_on_node(phx *p, const struct phx_node *n, void *user)
{
    struct pipe_state *s = ((struct tool *)user)->state;

    (void)p;
    if (s->met && memcmp(&n->id, &s->peer, sizeof n->id) == 0
        && (n->state == PHX_NODE_FAILED || n->state == PHX_NODE_LEFT))
        pipe_fail(s, n->state == PHX_NODE_LEFT ? "the other side has left before the end"
                                               : "the other side has died");
}

static void pipe_progress(struct tool *t, struct pipe_state *s, int end)
{
    uint64_t now = phx_now_us();

    if (t->json || !tool_is_terminal(2) || (!end && now < s->told_at + 200000))
        return;
    s->told_at = now;
    (void)fprintf(stderr, "\r%.1f MB%s", (double)s->moved / 1e6, end ? "\n" : "");
}

static void pipe_peer(struct tool *t, struct pipe_state *s, const struct phx_message *m)
{
    struct phx_node *nodes;
    size_t i, n;

    if (s->met)
        return;
    s->met = 1;
    s->peer = m->source;
    n = tool_nodes(t, &nodes); /* it may be gone already */
    for (i = 0; i < n; i++)
        pipe_on_node(t->p, &nodes[i], t);
    free(nodes);
}

/* ---- send ------------------------------------------------------------------------------------ */

static void send_on_message(phx *p, const struct phx_message *m, void *user)
{
    struct pipe_state *s = ((struct tool *)user)->state;
    const unsigned char *b = m->data;

    (void)p;
    if (m->from != s->to)
        return;
    pipe_peer(user, s, m);
    if (m->tag == TOOL_TAG + TOOL_TAKEN && m->size == 8) {
        s->taken = tool_get64(b);
    } else if (m->tag == TOOL_TAG + TOOL_DONE && m->size >= 4) {
        s->over = 1;
        s->status = (int)b[0];
        if (s->status != 0)
            (void)tool_say(0, "the receiver says: %.*s", (int)(m->size - 4 < 200 ? m->size - 4 : 200), b + 4);
    }
}

static void send_release(const void *data, size_t size, void *arg)
{
    (void)size;
    (void)arg;
    free((void *)(size_t)data);
}

/* Reads once and sends it; 1: there may be more at once. */
static int send_some(struct tool *t, struct pipe_state *s)
{
    unsigned char *data, status[4] = { 0 };
    ssize_t n;
    int err;

    if ((data = malloc(PIPE_CHUNK)) == NULL) {
        pipe_fail(s, "out of memory");
        return 0;
    }
    while ((n = read(s->fd, data, PIPE_CHUNK)) < 0 && errno == EINTR && !t->stop)
        ;
    if (n > 0) {
        if ((err = phx_send_owned(t->p, s->to, s->from, TOOL_TAG + TOOL_DATA, data, (size_t)n, send_release,
                                  NULL))
            == 0) {
            s->moved += (uint64_t)n;
            return 1;
        }
        pipe_fail(s, phx_strerror(err));
    } else if (n == 0 || errno != EAGAIN) {
        status[0] = n < 0 ? TOOL_FAILED : TOOL_OK;
        if (n < 0)
            s->status = tool_say(TOOL_FAILED, "cannot read: %s", strerror(errno));
        s->ended = 1;
        if ((err = tool_post(t, s->to, s->from, TOOL_END, status, sizeof status)) != 0)
            pipe_fail(s, phx_strerror(err));
    }
    free(data);
    return 0;
}

/* A receiver that does not come within --wait is an error, but by default it is waited for. */
static int send_waits(const struct tool *t, const struct pipe_state *s, uint64_t since)
{
    return s->met || t->wait_s < 0 || phx_now_us() < since + (uint64_t)(t->wait_s * 1e6);
}

static void send_loop(struct tool *t, struct pipe_state *s)
{
    struct pollfd in = { 0, POLLIN, 0 };
    uint64_t since = phx_now_us();
    int room;

    while (!s->over && !t->stop) {
        room = !s->ended && s->moved - s->taken < PIPE_AHEAD;
        in.fd = s->fd;
        tool_turn(t, room && s->plain ? 0 : 1000, &in, room && !s->plain);
        if (room && (s->plain || in.revents != 0))
            (void)send_some(t, s);
        in.revents = 0;
        pipe_progress(t, s, 0);
        if (!send_waits(t, s, since))
            pipe_fail(s, "nobody receives there; is `phx recv` running?");
    }
    pipe_progress(t, s, 1);
}

static int pipe_open(struct pipe_state *s, int fd)
{
    struct stat st;

    s->fd = fd;
    s->plain = fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
    return 0;
}

static int pipe_begin(struct tool *t, struct pipe_state *s)
{
    int err;

    t->state = s;
    t->cfg.on_node = pipe_on_node;
    t->cfg.window = 2 * PIPE_AHEAD;
    t->cfg.hold_bytes = 4 * PIPE_AHEAD;
    t->cfg.step_bytes = 1u << 20;
    if ((err = tool_node(t)) != 0)
        return err;
    return tool_join(t, 1);
}

static int send_run(struct tool *t, int argc, char **argv)
{
    static struct pipe_state s;
    struct phx_range to;
    int err;

    (void)argc;
    if (!tool_range(argv[0], &to) || to.first != to.last)
        return tool_say(TOOL_USAGE, "%s: not a name (7, 0x10)", argv[0]);
    t->cfg.on_message = send_on_message;
    if ((err = pipe_begin(t, &s)) != 0)
        return err;
    s.to = to.first;
    s.from = tool_name(t);
    (void)pipe_open(&s, 0);
    if ((err = phx_assume(t->p, s.from, s.from)) != 0)
        return tool_say(TOOL_FAILED, "%s", phx_strerror(err));
    send_loop(t, &s);
    if (t->stop)
        s.status = TOOL_FAILED;
    tool_leave(t, s.status == 0 ? 1 : 0);
    return s.status;
}

/* ---- recv ------------------------------------------------------------------------------------ */

static void *recv_on_begin(phx *p, const struct phx_message *m, void *user)
{
    struct pipe_state *s = ((struct tool *)user)->state;
    struct pipe_chunk *c;

    (void)p;
    if (m->tag != TOOL_TAG + TOOL_DATA || m->size > PIPE_CHUNK || (c = malloc(sizeof *c + m->size)) == NULL)
        return NULL;
    c->next = s->begun;
    s->begun = c;
    return c->data;
}

/* The chunk that was lent for this data, no longer lent; NULL: the data is the node's. */
static struct pipe_chunk *recv_back(struct pipe_state *s, const void *data)
{
    struct pipe_chunk **at, *c;

    for (at = &s->begun; (c = *at) != NULL && c->data != data; at = &c->next)
        ;
    if (c != NULL)
        *at = c->next;
    return c;
}

static void recv_on_abandon(phx *p, void *buffer, size_t size, void *user)
{
    (void)p;
    (void)size;
    free(recv_back(((struct tool *)user)->state, buffer));
}

/* The first who sends is served; others hear that this place is taken. */
static int recv_serves(struct tool *t, struct pipe_state *s, const struct phx_message *m)
{
    static const unsigned char busy[] = "\1\0\0\0receives from somebody else";

    if (!s->met || m->from == s->to)
        return 1;
    (void)tool_post(t, m->from, m->to, TOOL_DONE, busy, sizeof busy - 1);
    return 0;
}

/* A message of one fragment never asks for a buffer: its data is copied. */
static struct pipe_chunk *recv_copy(const struct phx_message *m)
{
    struct pipe_chunk *c = m->size <= PIPE_CHUNK ? malloc(sizeof *c + m->size) : NULL;

    if (c != NULL && m->size > 0)
        memcpy(c->data, m->data, m->size);
    return c;
}

static void recv_data(struct pipe_state *s, const struct phx_message *m)
{
    struct pipe_chunk *c = recv_back(s, m->data);

    if (c == NULL && (c = recv_copy(m)) == NULL) {
        pipe_fail(s, "out of memory");
        return;
    }
    c->size = m->size;
    c->written = 0;
    c->next = NULL;
    *(s->last != NULL ? &s->last->next : &s->first) = c;
    s->last = c;
    s->moved += m->size;
}

static void recv_on_message(phx *p, const struct phx_message *m, void *user)
{
    struct tool *t = user;
    struct pipe_state *s = t->state;

    (void)p;
    if ((m->tag != TOOL_TAG + TOOL_DATA && m->tag != TOOL_TAG + TOOL_END) || !recv_serves(t, s, m)) {
        free(recv_back(s, m->data));
        return;
    }
    s->to = m->from;
    s->from = m->to;
    pipe_peer(t, s, m);
    if (m->tag == TOOL_TAG + TOOL_END) {
        s->ended = 1;
        s->status = m->size > 0 && ((const unsigned char *)m->data)[0] != 0 ? TOOL_FAILED : TOOL_OK;
    } else {
        recv_data(s, m);
    }
}

/* What the sender hears at the end. */
static void recv_done(struct tool *t, struct pipe_state *s, const char *why)
{
    unsigned char said[256] = { 0 };
    size_t size = strlen(why) < 200 ? strlen(why) : 200;

    said[0] = (unsigned char)(*why != 0);
    memcpy(said + 4, why, size);
    (void)tool_post(t, s->to, s->from, TOOL_DONE, said, 4 + size);
    if (*why != 0)
        pipe_fail(s, why);
    s->over = 1;
}

/* Writes what is there as far as it goes without a wait. */
static void recv_write(struct tool *t, struct pipe_state *s)
{
    struct pipe_chunk *c = s->first;
    unsigned char taken[8];
    char why[128];
    ssize_t n;

    n = write(s->fd, c->data + c->written, c->size - c->written);
    if (n < 0 && errno != EAGAIN && errno != EINTR) {
        (void)snprintf(why, sizeof why, "cannot write: %s", strerror(errno));
        recv_done(t, s, why);
        return;
    }
    c->written += n > 0 ? (size_t)n : 0;
    s->taken += n > 0 ? (uint64_t)n : 0;
    if (c->written < c->size)
        return;
    s->first = c->next;
    s->last = s->first != NULL ? s->last : NULL;
    free(c);
    tool_put64(taken, s->taken);
    (void)tool_post(t, s->to, s->from, TOOL_TAKEN, taken, sizeof taken); /* the next one says it again */
}

static void recv_loop(struct tool *t, struct pipe_state *s)
{
    struct pollfd out = { 0, POLLOUT, 0 };

    while (!s->over && !t->stop) {
        out.fd = s->fd;
        tool_turn(t, s->first != NULL && s->plain ? 0 : 1000, &out, s->first != NULL && !s->plain);
        if (s->first != NULL && (s->plain || out.revents != 0))
            recv_write(t, s);
        out.revents = 0;
        if (s->ended && s->first == NULL && !s->over)
            recv_done(t, s, "");
        pipe_progress(t, s, 0);
    }
    pipe_progress(t, s, 1);
}

/* Pipes and terminals are opened once more, so that "do not block" does not hold for others who have them.
 * Where that cannot be, a write may wait for the reader. */
static void recv_open(struct pipe_state *s)
{
    int fd;

    (void)pipe_open(s, 1);
    if (s->plain || (fd = open("/dev/fd/1", O_WRONLY | O_NONBLOCK | O_CLOEXEC)) < 0)
        return;
    s->fd = fd;
}

static int recv_run(struct tool *t, int argc, char **argv)
{
    static struct pipe_state s;
    struct phx_range at;
    struct pipe_chunk *c;
    int err;

    (void)argc;
    if (!tool_range(argv[0], &at))
        return tool_say(TOOL_USAGE, "%s: not a name (7, 0x10) or range of names (7-9)", argv[0]);
    t->cfg.on_message = recv_on_message;
    t->cfg.on_begin = recv_on_begin;
    t->cfg.on_abandon = recv_on_abandon;
    if ((err = pipe_begin(t, &s)) != 0)
        return err;
    recv_open(&s);
    if ((err = phx_assume(t->p, at.first, at.last)) != 0)
        return tool_say(TOOL_FAILED, "%s", phx_strerror(err));
    recv_loop(t, &s);
    if (t->stop)
        s.status = TOOL_FAILED;
    tool_leave(t, 2); /* the last word must reach the sender */
    while ((c = s.first) != NULL) {
        s.first = c->next;
        free(c);
    }
    return s.status;
}

const struct tool_command tool_send = {
    "send",
    "NAME",
    "standard input to `phx recv`",
    "  phx recv 7 > copy                             there\n"
    "  phx send 7 < file                             here; status 0 when all of it is written there\n"
    "  tar c dir | phx send 7                        and phx recv 7 | tar x\n\n"
    "Waits until somebody receives (--wait SECONDS: no longer). If either side dies the other ends with "
    "status 1.",
    1,
    1,
    send_run
};

const struct tool_command tool_recv = {
    "recv",
    "NAME|RANGE",
    "what `phx send` sends to that name, to standard output",
    "  phx recv 7 > file\n"
    "  phx recv 100-199                              the first who sends to any of these names",
    1,
    1,
    recv_run
};
