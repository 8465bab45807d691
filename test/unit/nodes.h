/* nodes.h - whole nodes over real sockets, many in one process, and a strict host for them. */

/* A test calls begin() for each node, and then eventually(): that turns the hosts' loop until a
 * condition holds, with a bound on real time, and says ok or not ok. Nothing sleeps and hopes.
 *
 * The host is strict: it steps a node only when phoenix.h says that it must, because a descriptor
 * is ready or the deadline is due. So a test that passes has also shown that phx_fd, phx_fds and
 * phx_deadline tell the truth. It comes in the three kinds that phoenix.h describes; see enum
 * host_kind.
 *
 * Every node has an allocator that counts, and finish() checks that all of it came back.
 *
 * Contents of messages are slices of one pattern, so that a receiver can tell whether they are
 * whole.
 *
 * T_LOG=1 in the environment shows the nodes' log lines, T_TIME=1 how long each test takes, and
 * tests can be picked by name on the command line. */
#ifndef NODES_H
#define NODES_H

#include "test.h"

#ifndef PHX_JOINED
#include "../../phoenix.h"
#endif

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#define SECOND ((uint64_t)1000000)
#define MS ((uint64_t)1000)
/* A machine under load and sanitizers may be slow; what waits this long is broken. T_PATIENCE=3 in the
 * environment is for who expects a failure. */
#define PATIENCE (test_patience())
static inline uint64_t test_patience(void)
{
    const char *seconds = getenv("T_PATIENCE");

    return (seconds != NULL ? (uint64_t)atoi(seconds) : 10) * SECOND;
}

enum host_kind {
    HOST_FD,  /* its own epoll: watches phx_fd, steps with NULL */
    HOST_FDS, /* its own poll: asks phx_fds, hands the answers in */
    HOST_SPIN /* comes by all the time, steps with NULL */
};

struct mail {
    uint64_t to, from, tag;
    struct phx_id source;
    size_t size;
    int good; /* the pattern */
};

struct outcome {
    uint64_t token, to, tag;
    int result;
};

struct event {
    struct phx_id id;
    enum phx_state state;
};

struct node {
    phx *p; /* NULL: has ended */
    enum host_kind kind;
    struct phx_id id;
    char at[PHX_ADDRESS_TEXT]; /* its first listener */
    struct test_heap heap;
    unsigned long steps; /* that this host made */

    /* What its callbacks have seen. */
    struct mail *mail;
    struct outcome *outcomes;
    struct event *events;
    int mail_count, outcome_count, event_count, conflicts, writable;
    struct phx_range conflict;
    struct phx_id winner;
    char *log; /* lines of "level text" */
    size_t log_size;
    void (*hook)(struct node *n, const struct phx_message *m); /* runs inside on_message */
    void *hook_arg;
};

static struct node *hosts[512];
static int host_count;
static enum host_kind kind_of_new = HOST_FD;

/* ---- The pattern ----------------------------------------------------------------------------- */

#define PATTERN_PERIOD 251u
#define PATTERN_SIZE ((size_t)(16u << 20) + PATTERN_PERIOD)
static unsigned char *pattern;

/* What a message with this tag consists of. */
static inline const unsigned char *text_of(uint64_t tag)
{
    size_t i;

    if (pattern == NULL) {
        pattern = malloc(PATTERN_SIZE);
        if (pattern == NULL)
            exit(1);
        for (i = 0; i < PATTERN_SIZE; i++)
            pattern[i] = (unsigned char)(i % PATTERN_PERIOD);
    }
    return pattern + tag % PATTERN_PERIOD;
}

/* ---- Callbacks ------------------------------------------------------------------------------- */

/* Room for one more element; doubles whenever count is a power of two. */
static inline void *one_more(void *array, int count, size_t each)
{
    void *grown;

    if ((count & (count - 1)) != 0)
        return array;
    grown = realloc(array, (count == 0 ? 1 : 2 * (size_t)count) * each);
    if (grown == NULL)
        exit(1);
    return grown;
}

static inline void saw_message(phx *p, const struct phx_message *m, void *user)
{
    struct node *n = user;
    struct mail *x;

    (void)p;
    n->mail = one_more(n->mail, n->mail_count, sizeof *n->mail);
    x = &n->mail[n->mail_count++];
    x->to = m->to;
    x->from = m->from;
    x->tag = m->tag;
    x->source = m->source;
    x->size = m->size;
    x->good = m->size <= PATTERN_SIZE - PATTERN_PERIOD
              && (m->size == 0 || memcmp(m->data, text_of(m->tag), m->size) == 0);
    if (n->hook != NULL)
        n->hook(n, m);
}

static inline void saw_done(phx *p, uint64_t token, uint64_t to, uint64_t tag, int result, void *user)
{
    struct node *n = user;

    (void)p;
    n->outcomes = one_more(n->outcomes, n->outcome_count, sizeof *n->outcomes);
    n->outcomes[n->outcome_count].token = token;
    n->outcomes[n->outcome_count].to = to;
    n->outcomes[n->outcome_count].tag = tag;
    n->outcomes[n->outcome_count++].result = result;
}

static inline void saw_writable(phx *p, uint64_t to, void *user)
{
    struct node *n = user;

    (void)p;
    (void)to;
    n->writable++;
}

static inline void saw_node(phx *p, const struct phx_node *of, void *user)
{
    struct node *n = user;

    (void)p;
    n->events = one_more(n->events, n->event_count, sizeof *n->events);
    n->events[n->event_count].id = of->id;
    n->events[n->event_count++].state = of->state;
}

static inline void saw_conflict(phx *p, struct phx_range range, const struct phx_id *winner,
                                void *user)
{
    struct node *n = user;

    (void)p;
    n->conflicts++;
    n->conflict = range;
    n->winner = *winner;
}

static inline void saw_log(phx *p, int level, const char *line, void *user)
{
    struct node *n = user;
    size_t more = strlen(line) + 4;

    (void)p;
    if (getenv("T_LOG") != NULL)
        printf("# %d: %d %s\n", (int)n->id.b[0], level, line);
    n->log = realloc(n->log, n->log_size + more);
    if (n->log == NULL)
        exit(1);
    n->log_size += (size_t)snprintf(n->log + n->log_size, more, "%d %s\n", level, line);
}

/* How many log lines contain both words. */
static inline int logged(const struct node *n, const char *word, const char *other)
{
    const char *at = n->log, *end;
    char line[512];
    int count = 0;

    for (; at != NULL && *at != '\0'; at = end + 1) {
        size_t size;
        end = strchr(at, '\n');
        size = (size_t)(end - at) < sizeof line - 1 ? (size_t)(end - at) : sizeof line - 1;
        memcpy(line, at, size);
        line[size] = '\0';
        count += strstr(line, word) != NULL && strstr(line, other) != NULL;
    }
    return count;
}

/* ---- Life ------------------------------------------------------------------------------------ */

static int fd_works = -1; /* this build has phx_fd */

/* The defaults, and this harness's callbacks and allocator. */
static inline void settings(struct node *n, struct phx_config *c)
{
    static struct phx_alloc alloc[sizeof hosts / sizeof hosts[0]];
    static int next;
    struct phx_alloc *a = &alloc[next++ % (int)(sizeof alloc / sizeof alloc[0])];

    memset(n, 0, sizeof *n);
    phx_config_init(c);
    a->alloc = test_alloc;
    a->world = &n->heap;
    c->user = n;
    c->alloc = a;
    c->on_message = saw_message;
    c->on_done = saw_done;
    c->on_writable = saw_writable;
    c->on_node = saw_node;
    c->on_conflict = saw_conflict;
    c->on_log = saw_log;
    c->log_level = PHX_LOG_DEBUG;
#ifdef T_OVER_TLS /* the same tests once more, over TLS */
    c->tls = 1;
    c->key = "0123456789abcdef";
    c->key_size = 16;
#endif
}

/* For tests of failure: all times in tenths of a second. */
static inline void hurry(struct phx_config *c)
{
    c->detector.interval_us = 200 * MS;
    c->detector.timeout_us = 400 * MS;
    c->detector.broken_us = 300 * MS;
    c->retry_max_us = 500 * MS;
    c->dial_timeout_us = SECOND;
}

static inline void begin_as(struct node *n, const struct phx_config *c, const char *address)
{
    int err = phx_new(&n->p, c, phx_now_us());
    struct phx_address a;

    if (!check(err == 0, "a node begins: %s", phx_strerror(err)))
        exit(1);
    if (fd_works < 0)
        fd_works = phx_fd(n->p) >= 0;
    n->kind = kind_of_new == HOST_FD && !fd_works ? HOST_FDS : kind_of_new;
    phx_self(n->p, &n->id);
    hosts[host_count++] = n;
    if (address == NULL)
        return;
    err = phx_listen(n->p, address);
    if (check(err == 0, "listen at %s: %s", address, phx_strerror(err))
        && phx_listening(n->p, 0, &a) == 0)
        phx_address_text(&a, n->at);
}

static inline void begin(struct node *n, const char *address)
{
    struct phx_config c;

    settings(n, &c);
    begin_as(n, &c, address);
}

#define LOOPBACK "tcp://127.0.0.1:0"

/* Lets a node of which the process forgets all but what its callbacks saw end at once. */
static inline void kill_node(struct node *n)
{
    int i;

    phx_free(n->p);
    n->p = NULL;
    for (i = 0; i < host_count && hosts[i] != n; i++)
        ;
    if (i < host_count)
        hosts[i] = hosts[--host_count];
    check(test_heap_is_clean(&n->heap), "memory came back: %ld blocks, %ld lies", n->heap.blocks,
          n->heap.lies);
}

static inline void finish(struct node *n)
{
    if (n->p != NULL)
        kill_node(n);
    free(n->mail);
    free(n->outcomes);
    free(n->events);
    free(n->log);
    memset(n, 0, sizeof *n);
}

static inline void finish_all(struct node *n, int count)
{
    while (count > 0)
        finish(&n[--count]);
}

/* ---- The loop -------------------------------------------------------------------------------- */

static uint64_t host_ahead; /* of the real time: a test need not wait until a second is over */

static struct pollfd host_fds[20000];
static int host_first[sizeof hosts / sizeof hosts[0] + 1];

/* What all hosts together watch; returns how many, and for how long at most. */
static inline int host_collect(uint64_t now, int *timeout)
{
    int i, n = 0, room = (int)(sizeof host_fds / sizeof host_fds[0]);

    for (i = 0; i < host_count; i++) {
        int ms = phx_timeout_ms(hosts[i]->p, now);
        host_first[i] = n;
        if (hosts[i]->kind == HOST_FD) {
            host_fds[n].fd = phx_fd(hosts[i]->p);
            host_fds[n].revents = 0;
            host_fds[n++].events = POLLIN;
        } else if (hosts[i]->kind == HOST_FDS) {
            n += phx_fds(hosts[i]->p, host_fds + n, room - n);
        } else {
            ms = 1;
        }
        if (ms >= 0 && ms < *timeout)
            *timeout = ms;
    }
    host_first[i] = n;
    return n;
}

/* A callback may end nodes, or begin some: those wait for the next turn. */
static inline void host_serve(struct node *n, const struct pollfd *fds, int count, uint64_t now)
{
    int i, ready = n->kind == HOST_SPIN || phx_deadline(n->p) <= now;

    for (i = 0; i < count; i++)
        ready |= fds[i].revents != 0;
    if (!ready)
        return;
    n->steps++;
    phx_step(n->p, now, n->kind == HOST_FDS ? fds : NULL, n->kind == HOST_FDS ? count : 0);
}

/* Sleeps until something is due for a node, at most so many ms, and lets it happen. */
static inline void turn(int timeout)
{
    struct node *list[sizeof hosts / sizeof hosts[0]];
    int i, count = host_count, n = host_collect(phx_now_us() + host_ahead, &timeout);
    uint64_t now;

    poll(host_fds, (nfds_t)n, timeout);
    now = phx_now_us() + host_ahead;
    memcpy(list, hosts, sizeof list[0] * (size_t)count);
    for (i = 0; i < count; i++)
        if (list[i]->p != NULL)
            host_serve(list[i], host_fds + host_first[i], host_first[i + 1] - host_first[i], now);
}

/* Turns until cond holds, or patience is over. */
#define await(cond, us)                                                                            \
    do {                                                                                           \
        uint64_t until_ = phx_now_us() + (us);                                                     \
        while (!(cond) && phx_now_us() < until_)                                                   \
            turn(20);                                                                              \
    } while (0)

#define eventually(cond, ...)                                                                      \
    do {                                                                                           \
        await(cond, PATIENCE);                                                                     \
        ok(cond, __VA_ARGS__);                                                                     \
    } while (0)

/* The hosts go on for a while; for what must not happen. */
static inline void go_on(uint64_t us)
{
    await(0, us);
}

/* ---- Questions ------------------------------------------------------------------------------- */

static inline int same_id(const struct phx_id *a, const struct phx_id *b)
{
    return memcmp(a, b, sizeof *a) == 0;
}

/* What n knows of m; state 0: nothing. */
static inline struct phx_node look(const struct node *n, const struct node *m)
{
    static struct phx_node nodes[1024];
    size_t i, count = phx_nodes(n->p, nodes, sizeof nodes / sizeof nodes[0]);
    struct phx_node none;

    for (i = 0; i < count; i++)
        if (same_id(&nodes[i].id, &m->id))
            return nodes[i];
    memset(&none, 0, sizeof none);
    none.hops = -1;
    return none;
}

static inline int hops(const struct node *n, const struct node *m)
{
    return look(n, m).hops;
}

/* Links that are up with m. */
static inline int links_with(const struct node *n, const struct node *m)
{
    static struct phx_link links[1024];
    size_t i, count = phx_links(n->p, links, sizeof links / sizeof links[0]);
    int up = 0;

    for (i = 0; i < count; i++)
        up += links[i].up && same_id(&links[i].peer, &m->id);
    return up;
}

static inline int linked(const struct node *a, const struct node *b)
{
    return links_with(a, b) == 1 && links_with(b, a) == 1;
}

static inline struct phx_stats stats(const struct node *n)
{
    struct phx_stats s;

    phx_stats(n->p, &s);
    return s;
}

/* All know all, and the same. */
static inline int settled(const struct node *n, int count)
{
    struct phx_stats s, first = stats(&n[0]);
    int i;

    for (i = 0; i < count; i++) {
        s = stats(&n[i]);
        if (s.reachable != (uint32_t)count || s.digest != first.digest)
            return 0;
    }
    return 1;
}

static inline int is_mesh(const struct node *n, int count)
{
    int i;

    for (i = 0; i < count; i++)
        if (stats(&n[i]).links != (uint32_t)count - 1)
            return 0;
    return settled(n, count);
}

static inline int owns(const struct node *asked, uint64_t name, const struct node *owner)
{
    struct phx_id id;

    return phx_owner(asked->p, name, &id) == 0 && same_id(&id, &owner->id);
}

/* So many messages have come, all with the right content. */
static inline int has_mail(const struct node *n, int count)
{
    int i;

    for (i = 0; i < n->mail_count; i++)
        if (!n->mail[i].good)
            return 0;
    return n->mail_count == count;
}

/* Message i, or nothing that any test expects. */
static inline const struct mail *mail_at(const struct node *n, int i)
{
    static struct mail none;

    none.tag = UINT64_MAX;
    return i < n->mail_count ? &n->mail[i] : &none;
}

static inline int result_of(const struct node *n, uint64_t token)
{
    int i, result = 1, times = 0;

    for (i = 0; i < n->outcome_count; i++) {
        if (n->outcomes[i].token == token) {
            result = n->outcomes[i].result;
            times++;
        }
    }
    return times > 1 ? 2 : result; /* 1: not yet; 2: more than once */
}

/* Has n been told that m is in this state? How many times? */
static inline int told(const struct node *n, const struct node *m, enum phx_state state)
{
    int i, times = 0;

    for (i = 0; i < n->event_count; i++)
        times += n->events[i].state == state && same_id(&n->events[i].id, &m->id);
    return times;
}

static inline int post(struct node *n, uint64_t to, uint64_t tag, size_t size)
{
    return phx_send(n->p, to, 0, tag, size == 0 ? NULL : text_of(tag), size);
}

static inline int post_token(struct node *n, uint64_t to, uint64_t token, size_t size,
                             uint64_t limit)
{
    struct phx_outgoing m;
    struct iovec iov;

    memset(&m, 0, sizeof m);
    iov.iov_base = (void *)(uintptr_t)text_of(token);
    iov.iov_len = size;
    m.to = to;
    m.tag = m.token = token;
    m.time_limit_us = limit;
    m.iov = &iov;
    m.iov_count = 1;
    return phx_sendv(n->p, &m);
}

/* ---- Surroundings ---------------------------------------------------------------------------- */

static char dir[64]; /* for UNIX sockets */

static inline int open_fds(void)
{
    int fd, n = 0;

    for (fd = 0; fd < 4096; fd++)
        n += fcntl(fd, F_GETFD) >= 0;
    return n;
}

static inline int test_begin(void)
{
    const char *base = getenv("TMPDIR");
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
    setvbuf(stdout, NULL, _IOLBF, 0); /* a crash must not take the lines before it */
    snprintf(dir, sizeof dir, "%s/phx_XXXXXX", base != NULL && strlen(base) < 30 ? base : "/tmp");
    return mkdtemp(dir) == NULL;
}

struct test {
    const char *name;
    void (*run)(void);
};

/* All tests of the list, or those that are named as arguments. */
static inline void run_tests(const struct test *list, int argc, char **argv)
{
    for (; list->name != NULL; list++) {
        uint64_t start = phx_now_us();
        int i, wanted = argc < 2;
        for (i = 1; i < argc; i++)
            wanted |= strcmp(argv[i], list->name) == 0;
        if (!wanted)
            continue;
        list->run();
        if (getenv("T_TIME") != NULL)
            printf("# %s: %d ms\n", list->name, (int)((phx_now_us() - start) / MS));
    }
}

static inline int test_finish(void)
{
    ok(rmdir(dir) == 0, "no path is left");
    free(pattern);
    return test_end();
}

#endif
