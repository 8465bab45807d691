/* ranks.c - the processes of one job on this host: start, environment, streams, PMI, end. */

/* A rank is *over* when its process has been collected and its two output pipes have been read to their end.
 * A grandchild may hold a pipe open for ever, so after the exit that end is waited for RANKS_LINGER_US only,
 * and what is in the pipe then is still read. The engine hears of an exit after what the process had said on
 * its PMI stream before.
 *
 * A connection (PMI_FD, or one accepted at the port) becomes a client of the engine with its first byte.
 * Connections are freed between two steps only, so what the engine calls from inside its own calls may close
 * them. */
#define _POSIX_C_SOURCE 200809L
#include "ranks.h"
#include "fds.h"
#include "programs.h"
#include "../../phoenix.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define RANKS_AT_ONCE 8                    /* started in one step */
#define RANKS_READ ((size_t)64 * 1024)     /* read from one stream at once */
#define RANKS_LINGER_US ((uint64_t)300000)
#define RANKS_ANSWERS ((size_t)1 << 20)    /* a client that reads no answers may ask no more */
#define RANKS_LAST_READS 64
#define RANKS_ACCEPTS 64
#define RANKS_PORT_US ((uint64_t)20000)    /* then descriptors may be free again */
#define RANKS_INPUT ((size_t)64 * 1024)

struct ranks_proc;

struct ranks_conn {
    struct la_ranks *of;
    struct ranks_proc *proc; /* NULL: accepted at the port */
    int fd;
    int known;       /* client is its number */
    uint32_t client;
    int protocol;    /* enum la_protocol, or -1: the first byte tells */
    int hangup;      /* to be closed once its answers are out */
    int closing;     /* to be freed by the next step */
    struct la_queue out;
};

struct ranks_stream {
    int fd;
    int paused;
    struct la_lines lines;
};

struct ranks_proc {
    struct la_ranks *of;
    uint32_t rank, life, place; /* place: the how many of its host */
    pid_t pid;
    int started, exited, over;
    int inited, finalized;
    struct ranks_stream out[2];
    int in_fd, in_ended;
    struct la_queue in;
    struct ranks_conn *conn;
    uint64_t linger; /* 0: none */
};

struct la_ranks {
    const struct la_job *job;
    struct la_watch *watch;
    struct la_procs *procs;
    struct la_ranks_ops ops;
    struct la_engine *engine;
    struct ranks_proc **list; /* a rank that was started again has one more */
    uint32_t number;            /* of the job */
    uint32_t count, next, over; /* next: the first that is not started */
    uint32_t here, capacity;    /* here: that have not ended, or were not started yet */
    struct la_ready **programs;
    struct ranks_conn **conns, **clients; /* all; and by their numbers */
    uint32_t conns_count, conns_capacity, clients_capacity, closing;
    int null_fd, listener, port, spawned, ending;
    uint32_t paused; /* streams that wait for room */
    uint64_t now, kill_at, linger; /* UINT64_MAX: never */
    uint64_t port_again;           /* there were no descriptors; the same */
    unsigned char *scratch;
};

/* ---- Connections --------------------------------------------------------------------------------- */

static void conn_on(void *ctx, int fd, int events);

static struct ranks_conn *conn_new(struct la_ranks *r, int fd, int protocol)
{
    struct ranks_conn *c;

    if (r->conns_count == r->conns_capacity) {
        uint32_t n = r->conns_capacity > 0 ? r->conns_capacity * 2 : 16;
        struct ranks_conn **more = (struct ranks_conn **)realloc(r->conns, n * sizeof *more);
        if (more == NULL)
            return NULL;
        r->conns = more;
        r->conns_capacity = n;
    }
    c = (struct ranks_conn *)calloc(1, sizeof *c);
    if (c == NULL)
        return NULL;
    c->of = r;
    c->fd = fd;
    c->protocol = protocol;
    if (la_nonblocking(fd) != 0 || la_watch_add(r->watch, fd, LA_READ, conn_on, c) != 0) {
        free(c);
        return NULL;
    }
    r->conns[r->conns_count++] = c;
    return c;
}

static void conn_close(struct ranks_conn *c)
{
    if (c->closing)
        return;
    c->closing = 1;
    c->of->closing++;
    la_watch_drop(c->of->watch, c->fd);
    close(c->fd);
    la_queue_free(&c->out);
    if (c->proc != NULL)
        c->proc->conn = NULL;
}

/* The engine is told here, outside of its own calls. */
static void conn_bury(struct la_ranks *r)
{
    uint32_t i;

    for (i = r->conns_count; i > 0 && r->closing > 0; i--) {
        struct ranks_conn *c = r->conns[i - 1];
        if (!c->closing)
            continue;
        r->conns[i - 1] = r->conns[--r->conns_count];
        r->closing--;
        if (c->known) {
            r->clients[c->client] = NULL;
            la_engine_closed(r->engine, c->client);
        }
        free(c);
    }
}

static void conn_write(struct ranks_conn *c)
{
    while (c->out.size > 0) {
        ssize_t n = send(c->fd, la_queue_first(&c->out), c->out.size, MSG_NOSIGNAL);
        if (n > 0) {
            la_queue_take(&c->out, (size_t)n);
        } else if (n < 0 && errno == EAGAIN) {
            la_watch_set(c->of->watch, c->fd, LA_WRITE | (c->out.size < RANKS_ANSWERS ? LA_READ : 0));
            return;
        } else if (n == 0 || errno != EINTR) {
            conn_close(c);
            return;
        }
    }
    if (c->hangup)
        conn_close(c);
    else
        la_watch_set(c->of->watch, c->fd, LA_READ);
}

static struct ranks_conn *conn_of(const struct la_ranks *r, uint32_t client)
{
    struct ranks_conn *c = client < r->clients_capacity ? r->clients[client] : NULL;

    return c != NULL && !c->closing ? c : NULL;
}

static void conn_reply(void *ctx, uint32_t client, const void *data, size_t size)
{
    const struct la_ranks *r = (const struct la_ranks *)ctx;
    struct ranks_conn *c = conn_of(r, client);
    ssize_t n = 0;

    if (c == NULL || c->hangup)
        return;
    if (c->out.size == 0) {
        n = send(c->fd, data, size, MSG_NOSIGNAL);
        if ((size_t)(n < 0 ? 0 : n) == size && size > 0)
            return;
        n = n < 0 ? 0 : n; /* an error comes again with what is left */
    }
    if (la_queue_add(&c->out, (const unsigned char *)data + n, size - (size_t)n) != 0) {
        conn_close(c);
        return;
    }
    if (c->out.size == size - (size_t)n)
        conn_write(c);
    else if (c->out.size >= RANKS_ANSWERS)
        la_watch_set(r->watch, c->fd, LA_WRITE);
}

static void conn_hangup(void *ctx, uint32_t client)
{
    struct ranks_conn *c = conn_of((const struct la_ranks *)ctx, client);

    if (c == NULL)
        return;
    c->hangup = 1;
    if (c->out.size == 0)
        conn_close(c);
}

static int conn_register(struct ranks_conn *c, unsigned char first)
{
    struct la_ranks *r = c->of;
    int64_t client;

    if (c->protocol < 0)
        c->protocol = first == 'N' ? LA_PROTO_NLA : LA_PROTO_PMI;
    client = la_engine_client(r->engine, (enum la_protocol)c->protocol,
                              c->proc != NULL ? c->proc->rank : LA_NONE);
    if (client < 0)
        return (int)client;
    if ((uint64_t)client >= r->clients_capacity) {
        uint32_t n = (uint32_t)client + 64;
        struct ranks_conn **more = (struct ranks_conn **)realloc(r->clients, n * sizeof *more);
        if (more == NULL) {
            la_engine_closed(r->engine, (uint32_t)client);
            return PHX_ENOMEM;
        }
        memset(more + r->clients_capacity, 0, (n - r->clients_capacity) * sizeof *more);
        r->clients = more;
        r->clients_capacity = n;
    }
    c->client = (uint32_t)client;
    c->known = 1;
    r->clients[client] = c;
    return 0;
}

/* 1: there may be more to read. */
static int conn_read(struct ranks_conn *c)
{
    struct la_ranks *r = c->of;
    ssize_t n = recv(c->fd, r->scratch, RANKS_READ, 0);

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    if (n <= 0) {
        conn_close(c);
        return 0;
    }
    if (c->hangup)
        return 1;
    if (!c->known && conn_register(c, r->scratch[0]) != 0) {
        conn_close(c);
        return 0;
    }
    if (la_engine_input(r->engine, c->client, r->scratch, (size_t)n) != 0 && !c->closing) {
        c->hangup = 1;
        if (c->out.size == 0)
            conn_close(c);
    }
    return (size_t)n == RANKS_READ && !c->closing;
}

static void conn_on(void *ctx, int fd, int events)
{
    struct ranks_conn *c = (struct ranks_conn *)ctx;

    (void)fd;
    if (events & LA_WRITE)
        conn_write(c);
    if ((events & LA_READ) && !c->closing)
        (void)conn_read(c);
}

/* ---- The port ------------------------------------------------------------------------------------ */

static void port_on(void *ctx, int fd, int events)
{
    struct la_ranks *r = (struct la_ranks *)ctx;
    int on = 1, stream = 0, i;

    (void)events;
    for (i = 0; i < RANKS_ACCEPTS && (stream = accept(fd, NULL, NULL)) >= 0; i++) {
        if (r->conns_count >= 4 * r->count + RANKS_ACCEPTS) { /* nobody needs so many */
            close(stream);
            continue;
        }
        (void)fcntl(stream, F_SETFD, FD_CLOEXEC);
        (void)setsockopt(stream, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        if (conn_new(r, stream, r->job->pmi == LA_PMI_PMGR ? LA_PROTO_PMGR : LA_PROTO_PMI_PORT) == NULL)
            close(stream);
    }
    if (stream < 0 && (errno == EMFILE || errno == ENFILE)) { /* it would be ready again at once */
        la_watch_set(r->watch, fd, 0);
        r->port_again = r->now + RANKS_PORT_US;
    }
}

/* On loopback only: nobody proves anything there. */
static int port_open(struct la_ranks *r)
{
    struct sockaddr_in at;
    socklen_t size = sizeof at;
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    if (fd < 0)
        return PHX_EMFILE;
    memset(&at, 0, sizeof at);
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    (void)fcntl(fd, F_SETFD, FD_CLOEXEC);
    if (bind(fd, (const struct sockaddr *)&at, sizeof at) != 0 || listen(fd, 1024) != 0
        || getsockname(fd, (struct sockaddr *)&at, &size) != 0 || la_nonblocking(fd) != 0
        || la_watch_add(r->watch, fd, LA_READ, port_on, r) != 0) {
        close(fd);
        return PHX_EIO;
    }
    r->listener = fd;
    r->port = ntohs(at.sin_port);
    return 0;
}

/* ---- Output -------------------------------------------------------------------------------------- */

struct ranks_writer {
    struct ranks_proc *proc;
    int stream;
};

static int stream_lines(void *ctx, const void *data, size_t size)
{
    const struct ranks_writer *w = (const struct ranks_writer *)ctx;
    struct la_chunk c;

    c.job = w->proc->of->number;
    c.rank = w->proc->rank;
    c.stream = w->stream;
    c.data = (const unsigned char *)data;
    c.size = size;
    w->proc->of->ops.output(w->proc->of->ops.ctx, &c);
    return 0;
}

static void proc_check_over(struct ranks_proc *p)
{
    if (p->over || !p->exited || p->out[0].fd >= 0 || p->out[1].fd >= 0)
        return;
    p->over = 1;
    p->of->over++;
    p->linger = 0;
}

static void stream_close(struct ranks_proc *p, int which)
{
    struct ranks_stream *s = &p->out[which];
    struct ranks_writer w;

    if (s->fd < 0)
        return;
    w.proc = p;
    w.stream = which + 1;
    (void)la_lines_end(&s->lines, stream_lines, &w);
    if (s->paused)
        p->of->paused--;
    la_watch_drop(p->of->watch, s->fd);
    close(s->fd);
    s->fd = -1;
    proc_check_over(p);
}

/* A full buffer stops the reading, and so in the end the process. 1: there may be more to read. */
static int stream_read(struct ranks_proc *p, int which)
{
    struct la_ranks *r = p->of;
    struct ranks_stream *s = &p->out[which];
    struct ranks_writer w;
    ssize_t n;

    if (!r->ops.room(r->ops.ctx)) {
        if (!s->paused) {
            s->paused = 1;
            r->paused++;
            la_watch_set(r->watch, s->fd, 0);
        }
        return 0;
    }
    n = read(s->fd, r->scratch, RANKS_READ);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    w.proc = p;
    w.stream = which + 1;
    if (n <= 0 || la_lines_feed(&s->lines, r->scratch, (size_t)n, stream_lines, &w) != 0) {
        stream_close(p, which);
        return 0;
    }
    return 1;
}

static void stream_on(void *ctx, int fd, int events)
{
    struct ranks_proc *p = (struct ranks_proc *)ctx;

    (void)events;
    (void)stream_read(p, fd == p->out[1].fd);
}

void la_ranks_room(struct la_ranks *r)
{
    uint32_t i;
    int which;

    for (i = 0; i < r->count && r->paused > 0; i++)
        for (which = 0; which < 2; which++) {
            struct ranks_stream *s = &r->list[i]->out[which];
            if (!s->paused || !r->ops.room(r->ops.ctx))
                continue;
            s->paused = 0;
            r->paused--;
            la_watch_set(r->watch, s->fd, LA_READ);
            (void)stream_read(r->list[i], which);
        }
}

/* After the exit: what is there already; the end of the stream is, too, unless somebody else holds it. */
static void proc_drain(struct ranks_proc *p)
{
    int which, i;

    for (which = 0; which < 2; which++)
        for (i = 0; i < 64 && p->out[which].fd >= 0; i++)
            if (!stream_read(p, which))
                break;
}

static void proc_linger(struct ranks_proc *p)
{
    proc_drain(p);
    if (p->out[0].paused || p->out[1].paused) { /* what it wrote is still to be read */
        p->linger = p->of->now + RANKS_LINGER_US;
        return;
    }
    stream_close(p, 0);
    stream_close(p, 1);
}

/* ---- Input --------------------------------------------------------------------------------------- */

static void input_close(struct ranks_proc *p)
{
    if (p->in_fd < 0)
        return;
    la_watch_drop(p->of->watch, p->in_fd);
    close(p->in_fd);
    p->in_fd = -1;
    la_queue_free(&p->in);
}

static void input_write(struct ranks_proc *p)
{
    while (p->in.size > 0) {
        ssize_t n = write(p->in_fd, la_queue_first(&p->in), p->in.size);
        if (n > 0) {
            la_queue_take(&p->in, (size_t)n);
        } else if (n < 0 && errno == EAGAIN) {
            la_watch_set(p->of->watch, p->in_fd, LA_WRITE);
            return;
        } else if (n == 0 || errno != EINTR) {
            input_close(p);
            return;
        }
    }
    la_watch_set(p->of->watch, p->in_fd, 0);
    if (p->in_ended)
        input_close(p);
}

static void input_on(void *ctx, int fd, int events)
{
    (void)fd;
    (void)events;
    input_write((struct ranks_proc *)ctx);
}

/* Before its process is started it is kept. */
void la_ranks_input(struct la_ranks *r, const struct la_chunk *c)
{
    uint32_t i;

    for (i = 0; i < r->count; i++) {
        struct ranks_proc *p = r->list[i];
        if ((c->rank != LA_ALL && c->rank != p->rank) || p->in_ended || p->exited
            || (p->started && p->in_fd < 0))
            continue;
        if (c->size == 0 || la_queue_add(&p->in, c->data, c->size) != 0)
            p->in_ended = 1;
        if (p->in_fd >= 0)
            input_write(p);
    }
}

int la_ranks_input_room(const struct la_ranks *r)
{
    uint32_t i;

    if (r->job->stdin_to == LA_STDIN_NONE)
        return 1;
    for (i = 0; i < r->count; i++)
        if (r->list[i]->in.size >= RANKS_INPUT)
            return 0;
    return 1;
}

/* ---- Ends ---------------------------------------------------------------------------------------- */

static void proc_ended(struct ranks_proc *p, const struct la_end *e)
{
    struct la_ranks *r = p->of;

    p->exited = 1;
    r->here--;
    input_close(p);
    if (p->finalized || r->job->go_on || r->job->each)
        la_engine_gone(r->engine, p->rank);
    r->ops.ended(r->ops.ctx, e);
    proc_check_over(p);
}

static void proc_not_started(struct ranks_proc *p, int error, const char *what, int directory)
{
    struct la_end e;

    memset(&e, 0, sizeof e);
    e.rank = p->rank;
    e.life = p->life;
    e.error = error;
    e.what = what;
    e.directory = directory;
    p->started = 1;
    proc_ended(p, &e);
}

/* What processes said over the port before they ended: nobody knows yet whose connection is whose. */
static void port_read(struct la_ranks *r)
{
    uint32_t i, n;

    if (r->listener < 0)
        return;
    port_on(r, r->listener, LA_READ);
    n = r->conns_count;
    for (i = 0; i < n; i++)
        if (!r->conns[i]->closing && r->conns[i]->proc == NULL)
            (void)conn_read(r->conns[i]);
}

int la_ranks_exited(struct la_ranks *r, pid_t pid, int status)
{
    struct ranks_proc *p = NULL;
    struct la_end e;
    uint32_t i;

    for (i = 0; i < r->next && p == NULL; i++)
        if (r->list[i]->pid == pid)
            p = r->list[i];
    if (p == NULL)
        return 0;
    p->pid = 0;
    r->now = phx_now_us();
    for (i = 0; i < RANKS_LAST_READS && p->conn != NULL && conn_read(p->conn); i++)
        continue; /* its last words; a grandchild might speak for ever */
    port_read(r);
    memset(&e, 0, sizeof e);
    e.rank = p->rank;
    e.life = p->life;
    e.wait = status;
    e.inited = p->inited;
    e.finalized = p->finalized;
    proc_drain(p);
    p->linger = r->now + RANKS_LINGER_US;
    if (p->linger < r->linger)
        r->linger = p->linger;
    proc_ended(p, &e);
    return 1;
}

void la_ranks_signal(struct la_ranks *r, int number)
{
    uint32_t i;

    for (i = 0; i < r->next; i++)
        if (r->list[i]->pid > 0)
            la_proc_signal(r->procs, r->list[i]->pid, number);
}

void la_ranks_end(struct la_ranks *r, int now)
{
    uint32_t i;

    r->now = phx_now_us();
    if (r->kill_at == UINT64_MAX && !now) {
        r->kill_at = r->now + r->job->grace_us;
        la_ranks_signal(r, SIGTERM);
        la_ranks_signal(r, SIGCONT); /* one that is stopped could not heed it */
    } else if (now) {
        la_ranks_signal(r, SIGKILL);
    }
    r->ending = 1;
    for (i = r->next; i < r->count; i++)
        proc_not_started(r->list[i], ECANCELED, "", 0);
    r->next = r->count;
}

int la_ranks_over(const struct la_ranks *r)
{
    return r->over == r->count;
}

/* ---- Starting ------------------------------------------------------------------------------------ */

static int proc_wants_input(const struct ranks_proc *p)
{
    const struct la_job *job = p->of->job;

    return job->stdin_to == LA_STDIN_ALL || (job->stdin_to == LA_STDIN_RANK && job->stdin_rank == p->rank);
}

static int take_stream(struct ranks_proc *p, int which, int *fd)
{
    if (la_nonblocking(*fd) != 0 || la_watch_add(p->of->watch, *fd, LA_READ, stream_on, p) != 0)
        return ENOMEM;
    p->out[which].fd = *fd;
    *fd = -1;
    return 0;
}

/* Takes our ends over; what is taken is -1 in f. 0 or errno. */
static int proc_take(struct ranks_proc *p, struct la_fds *f)
{
    struct la_ranks *r = p->of;
    int err = take_stream(p, 0, &f->out[0]);

    if (err == 0)
        err = take_stream(p, 1, &f->err[0]);
    if (err == 0) {
        p->conn = conn_new(r, f->pmi[0], r->job->pmi == LA_PMI_FD ? -1 : (int)LA_PROTO_NLA);
        err = p->conn == NULL ? ENOMEM : 0;
    }
    if (err != 0)
        return err;
    p->conn->proc = p;
    f->pmi[0] = -1;
    if (f->in[1] < 0)
        return 0;
    if (la_nonblocking(f->in[1]) != 0 || la_watch_add(r->watch, f->in[1], 0, input_on, p) != 0)
        return ENOMEM;
    p->in_fd = f->in[1];
    f->in[1] = -1;
    return 0;
}

static void proc_untake(struct ranks_proc *p)
{
    stream_close(p, 0);
    stream_close(p, 1);
    input_close(p);
    if (p->conn != NULL)
        conn_close(p->conn);
}

static int proc_exec(struct ranks_proc *p, struct la_ready *g, const struct la_fds *f,
                     enum la_exec_stage *stage)
{
    struct la_ranks *r = p->of;
    struct la_environ_own own;
    struct la_environ_rank env;
    struct la_exec x;
    int keep[2];

    memset(&env, 0, sizeof env);
    env.rank = p->rank;
    env.local_rank = p->place;
    env.local_count = r->here;
    env.life = p->life;
    env.fd = f->pmi[1];
    env.port = r->port;
    env.spawned = r->spawned;
    env.key_fd = f->key[0];
    la_environ_rank(&g->env, &own, r->job, &env);
    memset(&x, 0, sizeof x);
    x.path = g->path;
    x.argv = g->argv + 1;
    x.envp = g->env.list;
    x.dir = g->dir;
    x.fds[0] = f->in[0] >= 0 ? f->in[0] : r->null_fd;
    x.fds[1] = f->out[1];
    x.fds[2] = f->err[1];
    keep[0] = f->pmi[1];
    keep[1] = f->key[0];
    x.keep = keep;
    x.keep_count = f->key[0] >= 0 ? 2 : 1;
    x.guarded = 1;
    return la_proc_start(r->procs, &x, &p->pid, stage);
}

static void proc_start(struct ranks_proc *p)
{
    struct la_ranks *r = p->of;
    struct la_ready *g = r->programs[la_job_program_of(r->job, p->rank)];
    enum la_exec_stage stage = LA_EXEC_PROGRAM;
    struct la_fds f;
    int err = g->error;

    if (err == 0) {
        stage = LA_EXEC_FORK;
        err = la_fds_open(&f, proc_wants_input(p), r->job);
        if (err == 0) {
            err = proc_take(p, &f);
            if (err == 0)
                err = proc_exec(p, g, &f, &stage);
            la_fds_close(&f);
        }
    }
    if (err != 0) {
        proc_untake(p);
        proc_not_started(p, err, stage == LA_EXEC_DIR ? g->dir : g->argv[1], stage == LA_EXEC_DIR);
        return;
    }
    p->started = 1;
    if (p->life > 0)
        r->ops.again(r->ops.ctx, p->rank, p->life);
    if (p->in.size > 0 || p->in_ended) {
        if (p->in_fd >= 0)
            input_write(p);
    }
}

void la_ranks_step(struct la_ranks *r, uint64_t now_us)
{
    uint32_t i;

    r->now = now_us;
    for (i = 0; i < RANKS_AT_ONCE && r->next < r->count && !r->ending; i++)
        proc_start(r->list[r->next++]);
    if (r->linger <= now_us) {
        r->linger = UINT64_MAX;
        for (i = 0; i < r->next; i++) {
            if (r->list[i]->linger != 0 && r->list[i]->linger <= now_us)
                proc_linger(r->list[i]);
            if (r->list[i]->linger != 0 && r->list[i]->linger < r->linger)
                r->linger = r->list[i]->linger;
        }
    }
    if (r->kill_at <= now_us) {
        r->kill_at = UINT64_MAX - 1;
        la_ranks_signal(r, SIGKILL);
    }
    if (r->closing > 0)
        conn_bury(r);
    if (r->port_again <= now_us) {
        r->port_again = UINT64_MAX;
        la_watch_set(r->watch, r->listener, LA_READ);
    }
}

int la_ranks_started(const struct la_ranks *r)
{
    return r->next == r->count;
}

uint64_t la_ranks_deadline(const struct la_ranks *r)
{
    if (r->closing > 0 || (r->next < r->count && !r->ending))
        return 0;
    if (r->port_again < r->linger)
        return r->port_again < r->kill_at ? r->port_again : r->kill_at;
    return r->linger < r->kill_at ? r->linger : r->kill_at;
}

/* ---- Life ---------------------------------------------------------------------------------------- */

static void ranks_said(struct la_ranks *r, uint32_t rank, int finalize)
{
    uint32_t i;

    for (i = 0; i < r->count; i++)
        if (r->list[i]->rank == rank) {
            int *flag = finalize ? &r->list[i]->finalized : &r->list[i]->inited;
            if (*flag)
                return;
            *flag = 1;
            r->ops.said(r->ops.ctx, rank, finalize);
            return;
        }
}

static void ranks_said_init(void *ctx, uint32_t rank)
{
    ranks_said((struct la_ranks *)ctx, rank, 0);
}

static void ranks_said_finalize(void *ctx, uint32_t rank)
{
    ranks_said((struct la_ranks *)ctx, rank, 1);
}

static int ranks_add(struct la_ranks *r, uint32_t rank, uint32_t life, uint32_t place)
{
    struct ranks_proc *p, **more;
    uint32_t n = r->capacity > 0 ? r->capacity * 2 : 16;

    if (r->count == r->capacity) {
        more = (struct ranks_proc **)realloc(r->list, n * sizeof *more);
        if (more == NULL)
            return PHX_ENOMEM;
        r->list = more;
        r->capacity = n;
    }
    p = (struct ranks_proc *)calloc(1, sizeof *p);
    if (p == NULL)
        return PHX_ENOMEM;
    p->of = r;
    p->rank = rank;
    p->life = life;
    p->place = place;
    p->out[0].fd = p->out[1].fd = p->in_fd = -1;
    p->out[0].lines.raw = p->out[1].lines.raw = r->number == 0 && r->job->size == 1 && !r->job->label;
    r->list[r->count++] = p;
    r->here++;
    return 0;
}

static int ranks_list(struct la_ranks *r)
{
    const struct la_agent *a = &r->job->agents[0];
    uint32_t i, j, n = 0;
    int err = 0;

    for (i = 0; i < a->runs_count; i++)
        for (j = 0; j < a->runs[i].count && err == 0; j++)
            err = ranks_add(r, a->runs[i].first + j, 0, n++);
    return err;
}

int la_ranks_again(struct la_ranks *r, uint32_t rank, uint32_t life)
{
    uint32_t i, place = r->here;
    int err;

    if (r->ending || r->scratch == NULL)
        return PHX_ECLOSED;
    for (i = 0; i < r->count; i++)
        if (r->list[i]->rank == rank) {
            if (r->list[i]->life >= life || !r->list[i]->exited)
                return PHX_EINVAL;
            place = r->list[i]->place;
        }
    err = ranks_add(r, rank, life, place);
    if (err == 0)
        r->list[r->count - 1]->in_ended = 1; /* the input was for its first life */
    return err;
}

void la_ranks_kill(struct la_ranks *r, uint32_t rank, uint32_t life)
{
    uint32_t i;

    for (i = 0; i < r->next; i++)
        if (r->list[i]->rank == rank && r->list[i]->life == life && r->list[i]->pid > 0)
            la_proc_signal(r->procs, r->list[i]->pid, SIGKILL);
}

static int ranks_engine(struct la_ranks *r, const char *spawner)
{
    struct la_engine_ops ops = r->ops.engine;

    ops.ctx = r;
    ops.reply = conn_reply;
    ops.hangup = conn_hangup;
    ops.said_init = ranks_said_init;
    ops.said_finalize = ranks_said_finalize;
    return la_engine_new(&r->engine, r->job, spawner, &ops);
}

/* What only a host with ranks of the job needs. */
static int ranks_hands(struct la_ranks *r)
{
    int err;

    r->null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (r->null_fd < 0)
        return PHX_EMFILE;
    r->scratch = (unsigned char *)malloc(RANKS_READ);
    err = r->scratch == NULL ? PHX_ENOMEM : la_programs_new(&r->programs, r->job);
    return err == 0 && r->job->pmi != LA_PMI_FD ? port_open(r) : err;
}

int la_ranks_new(struct la_ranks **out, const struct la_job *job, uint32_t number, const char *spawner,
                 struct la_watch *w, struct la_procs *p, const struct la_ranks_ops *ops)
{
    struct la_ranks *r = (struct la_ranks *)calloc(1, sizeof *r);
    int err;

    *out = NULL;
    if (r == NULL)
        return PHX_ENOMEM;
    r->job = job;
    r->number = number;
    r->watch = w;
    r->procs = p;
    r->ops = *ops;
    r->spawned = spawner != NULL;
    r->listener = r->null_fd = -1;
    r->kill_at = r->linger = r->port_again = UINT64_MAX;
    err = ranks_list(r);
    if (err == 0)
        err = ranks_engine(r, spawner);
    if (err == 0 && r->count > 0)
        err = ranks_hands(r);
    if (err != 0) {
        la_ranks_free(r);
        return err;
    }
    *out = r;
    return 0;
}

void la_ranks_free(struct la_ranks *r)
{
    uint32_t i;

    if (r == NULL)
        return;
    la_ranks_signal(r, SIGKILL);
    for (i = 0; r->list != NULL && i < r->count; i++) {
        la_queue_free(&r->list[i]->out[0].lines.part);
        la_queue_free(&r->list[i]->out[1].lines.part);
        r->list[i]->exited = 0; /* nothing more is counted or said */
        proc_untake(r->list[i]);
        la_queue_free(&r->list[i]->in);
        free(r->list[i]);
    }
    for (i = 0; i < r->conns_count; i++)
        conn_close(r->conns[i]);
    for (i = 0; i < r->conns_count; i++)
        free(r->conns[i]);
    if (r->listener >= 0) {
        la_watch_drop(r->watch, r->listener);
        close(r->listener);
    }
    la_engine_free(r->engine);
    la_programs_free(r->programs, r->job->programs_count);
    if (r->null_fd >= 0)
        close(r->null_fd);
    free(r->conns);
    free(r->clients);
    free(r->list);
    free(r->scratch);
    free(r);
}

struct la_engine *la_ranks_engine(struct la_ranks *r)
{
    return r->engine;
}

void *la_ranks_owner(const struct la_ranks *r)
{
    return r->ops.ctx;
}
