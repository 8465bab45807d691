/* delivery.c - real processes send each other numbered messages while their relays are killed and stopped.
 *
 *     cc -std=c99 -O2 -I. -o delivery test/real/delivery.c phoenix.c && ./delivery 60 1
 *
 * usage: delivery SECONDS SEED. Three relays listen on loopback TCP. Six leaves dial them and listen
 * nowhere, so no two leaves can ever have a link: all that they say to each other passes through a
 * relay. For SECONDS the driver, which is the parent of all, kills relays (SIGKILL) and starts
 * others at their ports, stops them (SIGSTOP) and lets them go on (SIGCONT), at moments drawn from
 * SEED. It always leaves one relay alone that has links with all leaves; else nothing would be promised.
 *
 * Every process numbers what it sends per name, from 0, and every receiver checks per sending process
 * that the next number comes next, with the bytes that belong to it. Leaves live all the time: all
 * that they send to each other must arrive, once and in order, and be told so. What is sent to a
 * relay's name may die with it, or be heard again by the next holder, but by each in order; and its
 * token has one outcome, too. What a relay sends has no outcome if it is killed, and arrives in order
 * as far as it does.
 *
 * The children write what they see into memory shared with the driver, which therefore knows of a
 * killed one, too. None outlives the driver: each ends when the driver's end of its pipe closes, and on
 * Linux a stopped one, which cannot see that, is killed by the system.
 */
#define _POSIX_C_SOURCE 200809L
#define _DEFAULT_SOURCE
#include "phoenix.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

#define RELAYS 3
#define LEAVES 6
#define ALL (RELAYS + LEAVES) /* names 0 ..; relays first */
#define MS 1000u
#define SECOND 1000000u
#define TICK_US (5 * MS)
#define LARGEST ((size_t)1 << 20)
#define TOKENS (1u << 22) /* of one process; it says so if they run out */
#define SENDERS 1024u     /* processes that one process may hear */
#define DRAIN_US (40 * SECOND)
#define FDS 64

/* What one process tells the driver. */
struct report {
    uint32_t life; /* grows with every process in this place */
    uint32_t links, port;
    int is_hushed; /* all that it sent has an outcome */
    uint64_t sent[ALL], heard[ALL]; /* by the other's place; heard of the present life there only */
    uint64_t tokens, outcomes, second_outcomes, not_delivered, relay_failed;
    uint64_t doubled, reordered, corrupt;
    uint64_t retransmitted, relayed, eagain;
    char why[160]; /* the first fault */
};

struct sender {
    struct phx_id id;
    uint64_t next[1]; /* what comes next; all that is sent here goes to one name */
};

struct node {
    phx *p;
    struct report *r;
    unsigned place, size_mix;
    uint64_t seed;
    uint64_t next[ALL]; /* of each name, the next number */
    unsigned char closed[ALL]; /* PHX_EAGAIN, until on_writable */
    unsigned char *told; /* by token */
    unsigned char *bytes;
    struct sender senders[SENDERS];
    unsigned sender_count;
};

struct child {
    pid_t pid; /* 0: none */
    int pipe;  /* its other end is the child's; -1: none */
    int is_stopped;
    uint32_t life;
    uint64_t again_at; /* when to start or continue it */
};

struct driver {
    struct report *reports; /* shared, ALL of them */
    struct child at[ALL];
    uint64_t seed;
    unsigned kills, stops;
};

static volatile sig_atomic_t interrupted;

static void on_signal(int number)
{
    (void)number;
    interrupted = 1;
}

static uint64_t chance(uint64_t *seed, uint64_t bound)
{
    uint64_t z = (*seed += 0x9e3779b97f4a7c15u);

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (z ^ (z >> 31)) % bound;
}

/* ---- A node -------------------------------------------------------------------------------- */

/* Short times, so that a stopped relay is noticed within a second and found again at once. What fails
 * after this must really have been out of reach. */
static void set_times(struct phx_config *cfg)
{
    cfg->detector.interval_us = cfg->detector.insurance_us = 400 * MS;
    cfg->detector.timeout_us = 600 * MS;
    cfg->detector.broken_us = 6 * SECOND;
    cfg->retry_max_us = 300 * MS;
}

static void fault(struct node *n, uint64_t *count, const struct phx_message *m, const char *what,
                  uint64_t expected)
{
    ++*count;
    if (!n->r->why[0])
        snprintf(n->r->why, sizeof n->r->why, "from %u to %u, number %llu, %zu bytes: %s, expected %llu",
                 (unsigned)m->from, n->place, (unsigned long long)m->tag, m->size, what,
                 (unsigned long long)expected);
}

static unsigned char byte_at(uint64_t number, unsigned from, size_t i)
{
    return (unsigned char)(number * 31 + from * 17 + i * 7 + (i >> 8) + (i >> 16));
}

static struct sender *sender_of(struct node *n, const struct phx_id *id)
{
    unsigned i;

    for (i = 0; i < n->sender_count; i++)
        if (memcmp(&n->senders[i].id, id, sizeof *id) == 0)
            return &n->senders[i];
    if (n->sender_count == SENDERS)
        return NULL;
    n->senders[n->sender_count].id = *id;
    n->senders[n->sender_count].next[0] = UINT64_MAX; /* has not spoken yet */
    return &n->senders[n->sender_count++];
}

static void on_message(phx *p, const struct phx_message *m, void *user)
{
    struct node *n = user;
    const unsigned char *bytes = m->data;
    struct sender *s = sender_of(n, &m->source);
    int is_new, relay = n->place < RELAYS;
    size_t i;

    (void)p;
    if (s == NULL || m->from >= ALL || m->to != n->place) {
        fault(n, &n->r->corrupt, m, "a sender or name that cannot be", 0);
        return;
    }
    for (i = 0; i < m->size && bytes[i] == byte_at(m->tag, (unsigned)m->from, i); i++)
        continue;
    if (i < m->size)
        fault(n, &n->r->corrupt, m, "wrong byte", i);
    is_new = s->next[0] == UINT64_MAX;
    if (is_new) {
        n->r->heard[m->from] = 0;
        s->next[0] = relay ? m->tag : 0; /* the holder before us may have had the first ones */
    }
    if (m->tag < s->next[0])
        fault(n, &n->r->doubled, m, "again, or too late", s->next[0]);
    else if (m->tag > s->next[0] && !relay)
        fault(n, &n->r->reordered, m, "too early", s->next[0]);
    if (m->tag >= s->next[0])
        s->next[0] = m->tag + 1;
    n->r->heard[m->from]++;
}

static void on_done(phx *p, uint64_t token, uint64_t to, uint64_t tag, int result, void *user)
{
    struct node *n = user;

    (void)p, (void)to, (void)tag;
    if (token == 0 || token > n->r->tokens || (n->told[token] & 1)) {
        n->r->second_outcomes++;
        return;
    }
    n->told[token] |= 1;
    n->r->outcomes++;
    if (result != PHX_OK && (n->told[token] & 2)) {
        n->r->relay_failed++;
    } else if (result != PHX_OK) {
        n->r->not_delivered++;
        if (!n->r->why[0])
            snprintf(n->r->why, sizeof n->r->why, "%u: token %llu: %s", n->place,
                     (unsigned long long)token, phx_strerror(result));
    }
}

static void on_writable(phx *p, uint64_t to, void *user)
{
    struct node *n = user;

    (void)p;
    if (to < ALL)
        n->closed[to] = 0;
}

static size_t some_size(struct node *n)
{
    switch (chance(&n->seed, 64)) {
    case 0: return chance(&n->seed, LARGEST);
    case 1:
    case 2:
    case 3: return chance(&n->seed, 100000);
    case 4:
    case 5: return chance(&n->seed, 2);
    default: return 1 + chance(&n->seed, 300);
    }
}

static int say(struct node *n, unsigned to)
{
    struct phx_outgoing o;
    struct iovec iov;
    size_t i, size = to < RELAYS ? 1 + chance(&n->seed, 300) : some_size(n);
    int err;

    if (n->r->tokens + 1 >= TOKENS)
        return PHX_ELIMIT;
    for (i = 0; i < size; i++)
        n->bytes[i] = byte_at(n->next[to], n->place, i);
    memset(&o, 0, sizeof o);
    o.to = to;
    o.from = n->place;
    o.tag = n->next[to];
    o.token = n->r->tokens + 1;
    iov.iov_base = n->bytes;
    iov.iov_len = size;
    o.iov = &iov;
    o.iov_count = 1;
    err = phx_sendv(n->p, &o);
    if (err == PHX_EAGAIN) {
        n->closed[to] = 1;
        n->r->eagain++;
    }
    if (err != 0)
        return err;
    n->r->tokens++;
    n->told[n->r->tokens] = to < RELAYS ? 2 : 0; /* who may die has an excuse */
    n->next[to]++;
    n->r->sent[to]++;
    return 0;
}

/* A few messages to anybody, and now and then a burst to one. */
static void talk(struct node *n)
{
    unsigned count = 1 + (unsigned)chance(&n->seed, 3), to = (unsigned)chance(&n->seed, ALL);

    if (chance(&n->seed, 200) == 0)
        count = 300;
    for (; count > 0; count--) {
        if (count < 10)
            to = (unsigned)chance(&n->seed, ALL);
        if (to != n->place && !n->closed[to])
            (void)say(n, to);
    }
}

static void tell(struct node *n, int hushed)
{
    struct phx_stats st;

    phx_stats(n->p, &st);
    n->r->links = st.links;
    n->r->retransmitted = st.retransmitted_frames;
    n->r->relayed = st.relayed_frames;
    n->r->is_hushed = hushed && n->r->outcomes == n->r->tokens;
}

/* Until the driver closes the pipe. A byte in it says: be silent from now on. */
static void live(struct node *n, int pipe)
{
    struct pollfd fds[FDS];
    uint64_t now = phx_now_us(), next = now;
    int hushed = 0, ms, count;
    char c;

    for (;;) {
        fds[0].fd = pipe;
        fds[0].events = POLLIN;
        fds[0].revents = 0;
        count = phx_fds(n->p, fds + 1, FDS - 1);
        ms = phx_timeout_ms(n->p, now);
        if (ms < 0 || ms > (int)(TICK_US / MS))
            ms = (int)(TICK_US / MS);
        if (poll(fds, (nfds_t)count + 1, ms) < 0 && errno != EINTR)
            return;
        now = phx_now_us();
        if (phx_step(n->p, now, fds + 1, count) < 0)
            return;
        if (fds[0].revents != 0) {
            if (read(pipe, &c, 1) != 1)
                return;
            hushed = 1;
        }
        if (now < next)
            continue;
        next = now + TICK_US;
        if (!hushed)
            talk(n);
        tell(n, hushed);
    }
}

/* Where the relays are; they tell each other and the leaves dial them all. */
static int open_node(struct node *n, struct report *all)
{
    char text[PHX_ADDRESS_TEXT];
    struct phx_address at;
    unsigned i;
    int err = 0, tries;

    if (n->place < RELAYS) {
        snprintf(text, sizeof text, "tcp://127.0.0.1:%u", (unsigned)all[n->place].port);
        for (tries = 0; tries < 50; tries++) { /* the port of one that is dying is free in a moment */
            err = phx_listen(n->p, text);
            if (err != PHX_EINUSE)
                break;
            poll(NULL, 0, 100);
        }
        if (err == 0)
            err = phx_listening(n->p, 0, &at);
        if (err != 0)
            return err;
        all[n->place].port = at.port;
    }
    for (i = 0; i < RELAYS && err == 0; i++) {
        if (i == n->place || all[i].port == 0)
            continue;
        snprintf(text, sizeof text, "tcp://127.0.0.1:%u", (unsigned)all[i].port);
        err = phx_join(n->p, text);
    }
    return err == 0 ? phx_assume(n->p, n->place, n->place) : err;
}

static int node_main(unsigned place, struct report *all, uint64_t seed, int pipe)
{
    static struct node n; /* large, and zero */
    struct phx_config cfg;
    int err;

    n.r = &all[place];
    n.place = place;
    n.seed = seed;
    n.told = calloc(TOKENS, 1);
    n.bytes = malloc(LARGEST);
    if (n.told == NULL || n.bytes == NULL)
        return 1;
    phx_config_init(&cfg);
    cfg.same_host = 0; /* TCP is what is tested */
    cfg.user = &n;
    cfg.on_message = on_message;
    cfg.on_done = on_done;
    cfg.on_writable = on_writable;
    cfg.window = 1u << 20;
    set_times(&cfg);
    err = phx_new(&n.p, &cfg, phx_now_us());
    if (err == 0)
        err = open_node(&n, all);
    if (err != 0) {
        fprintf(stderr, "delivery: process %u: %s\n", place, phx_strerror(err));
        return 1;
    }
    live(&n, pipe);
    phx_free(n.p);
    return 0;
}

/* ---- The driver ---------------------------------------------------------------------------- */

/* What was counted of a process that is no more stays; what it had going does not. */
static void reset_report(struct report *r)
{
    r->life++;
    r->links = 0;
    r->is_hushed = 0;
    r->tokens = r->outcomes = 0;
    memset(r->sent, 0, sizeof r->sent);
    memset(r->heard, 0, sizeof r->heard);
}

static int start(struct driver *d, unsigned place)
{
    struct child *c = &d->at[place];
    uint64_t seed = chance(&d->seed, UINT64_MAX);
    int ends[2];
    unsigned i;

    if (pipe(ends) != 0)
        return -1;
    reset_report(&d->reports[place]);
    c->pid = fork();
    if (c->pid < 0) {
        c->pid = 0;
        return -1;
    }
    if (c->pid == 0) {
#ifdef __linux__
        prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
        signal(SIGINT, SIG_IGN); /* the driver sees to it */
        close(ends[1]);
        for (i = 0; i < ALL; i++) /* or the others' pipes would stay open with this process */
            if (i != place && d->at[i].pipe >= 0)
                close(d->at[i].pipe);
        exit(node_main(place, d->reports, seed, ends[0]));
    }
    close(ends[0]);
    c->pipe = ends[1];
    c->is_stopped = 0;
    c->again_at = 0;
    return 0;
}

static void bury(struct driver *d, unsigned place, int number)
{
    struct child *c = &d->at[place];

    if (c->pid == 0)
        return;
    if (number != 0)
        kill(c->pid, number);
    close(c->pipe);
    c->pipe = -1;
    while (waitpid(c->pid, NULL, 0) < 0 && errno == EINTR)
        continue;
    c->pid = 0;
}

/* Has it links with all leaves? Their routes to each other pass here, if need be. */
static int is_of_use(const struct driver *d, unsigned relay)
{
    return d->at[relay].pid != 0 && !d->at[relay].is_stopped && d->reports[relay].links >= LEAVES;
}

static void repair(struct driver *d, uint64_t now)
{
    unsigned i;

    for (i = 0; i < RELAYS; i++) {
        struct child *c = &d->at[i];
        if (c->again_at == 0 || now < c->again_at)
            continue;
        c->again_at = 0;
        if (c->is_stopped)
            kill(c->pid, SIGCONT);
        else if (c->pid == 0 && start(d, i) != 0)
            c->again_at = now + 100 * MS;
        c->is_stopped = 0;
    }
}

static void disturb(struct driver *d, uint64_t now)
{
    unsigned victim = (unsigned)chance(&d->seed, RELAYS), i, others = 0;

    for (i = 0; i < RELAYS; i++)
        others += i != victim && is_of_use(d, i);
    if (others == 0 || d->at[victim].pid == 0 || d->at[victim].is_stopped)
        return;
    if (chance(&d->seed, 2)) {
        bury(d, victim, SIGKILL);
        d->kills++;
        d->at[victim].again_at = now + 50 * MS + chance(&d->seed, 700 * MS);
    } else {
        kill(d->at[victim].pid, SIGSTOP);
        d->at[victim].is_stopped = 1;
        d->stops++;
        /* One in three is long enough to be given up. */
        d->at[victim].again_at = now + 20 * MS
                                 + chance(&d->seed, chance(&d->seed, 3) ? 600 * MS : 4 * SECOND);
    }
}

/* 1 when it came true; 0 after limit, or if we were told to stop. */
static int wait_for(struct driver *d, int (*is_so)(const struct driver *d), uint64_t limit_us)
{
    uint64_t until = phx_now_us() + limit_us;

    while (!interrupted && phx_now_us() < until) {
        if (is_so(d))
            return 1;
        repair(d, phx_now_us());
        poll(NULL, 0, 10);
    }
    return 0;
}

static int have_ports(const struct driver *d)
{
    unsigned i, n = 0;

    for (i = 0; i < RELAYS; i++)
        n += d->at[i].pid == 0 || d->reports[i].port != 0;
    return n == RELAYS;
}

static int all_of_use(const struct driver *d)
{
    unsigned i, n = 0;

    for (i = 0; i < RELAYS; i++)
        n += (unsigned)is_of_use(d, i);
    return n == RELAYS;
}

static int all_hushed(const struct driver *d)
{
    unsigned i, n = 0;

    for (i = RELAYS; i < ALL; i++)
        n += d->reports[i].is_hushed != 0;
    return n == LEAVES;
}

static void trouble(struct driver *d, uint64_t us)
{
    uint64_t until = phx_now_us() + us, now, next = 0;

    while (!interrupted && (now = phx_now_us()) < until) {
        repair(d, now);
        if (now >= next) {
            disturb(d, now);
            next = now + 50 * MS + chance(&d->seed, 500 * MS);
        }
        poll(NULL, 0, 5);
    }
}

static int bar(const char *what, uint64_t figure)
{
    printf("bar\tdelivery on real processes: %s\t%llu\t0\t%s\n", what, (unsigned long long)figure,
           figure == 0 ? "ok" : "short");
    return figure != 0;
}

/* Sent by one leaf to another, and not heard there. */
static uint64_t count_lost(const struct driver *d)
{
    uint64_t lost = 0;
    unsigned a, b;

    for (a = RELAYS; a < ALL; a++)
        for (b = RELAYS; b < ALL; b++) {
            uint64_t sent = d->reports[a].sent[b], heard = d->reports[b].heard[a];
            lost += sent > heard ? sent - heard : 0;
        }
    return lost;
}

static int conclude(const struct driver *d)
{
    struct report sum;
    const struct report *r;
    uint64_t untold = 0;
    unsigned i;
    int bad;

    memset(&sum, 0, sizeof sum);
    for (i = 0; i < ALL; i++) {
        r = &d->reports[i];
        untold += r->second_outcomes + (i >= RELAYS ? r->tokens - r->outcomes : 0);
        sum.not_delivered += r->not_delivered;
        sum.relay_failed += r->relay_failed;
        sum.doubled += r->doubled;
        sum.reordered += r->reordered;
        sum.corrupt += r->corrupt;
        sum.retransmitted += r->retransmitted;
        sum.relayed += r->relayed;
        sum.eagain += r->eagain;
        sum.tokens += i >= RELAYS ? r->tokens : 0;
        if (r->why[0])
            printf("# %s\n", r->why);
    }
    bad = bar("messages lost", count_lost(d));
    bad |= bar("messages doubled or late", sum.doubled);
    bad |= bar("messages too early", sum.reordered);
    bad |= bar("messages corrupt", sum.corrupt);
    bad |= bar("sends without one outcome", untold);
    bad |= bar("sends between the living that were not delivered", sum.not_delivered);
    printf("# %llu messages of leaves, %u relays killed, %u stopped, %llu frames relayed by the last ones, "
           "%llu sent again, %llu times out of credit, %llu to dying relays failed\n",
           (unsigned long long)sum.tokens, d->kills, d->stops, (unsigned long long)sum.relayed,
           (unsigned long long)sum.retransmitted, (unsigned long long)sum.eagain,
           (unsigned long long)sum.relay_failed);
    if (sum.tokens == 0 || d->kills == 0 || d->stops == 0) {
        printf("# nothing was shown: no message, no kill or no stop\n");
        bad = 1;
    }
    return bad;
}

static int drive(struct driver *d, uint64_t us)
{
    unsigned i;

    for (i = 0; i < RELAYS; i++) /* one after the other: each joins those before it */
        if (start(d, i) != 0 || !wait_for(d, have_ports, 10 * SECOND))
            return -1;
    for (i = RELAYS; i < ALL; i++)
        if (start(d, i) != 0)
            return -1;
    if (!wait_for(d, all_of_use, 20 * SECOND)) {
        printf("# the relays had no links with all leaves after 20 s\n");
        return -1;
    }
    trouble(d, us);
    for (i = 0; i < RELAYS; i++)
        d->at[i].again_at = d->at[i].again_at ? 1 : 0; /* now */
    repair(d, phx_now_us());
    for (i = 0; i < ALL; i++)
        if (d->at[i].pid != 0 && write(d->at[i].pipe, "q", 1) != 1)
            return -1;
    (void)wait_for(d, all_hushed, DRAIN_US); /* or what is missing will be counted */
    return interrupted ? -1 : 0;
}

static void number_of(const char *text, uint64_t most, uint64_t *out)
{
    char *end;
    unsigned long long v = strtoull(text, &end, 10);

    if (*text < '0' || *text > '9' || *end || v > most) {
        fprintf(stderr, "usage: delivery SECONDS (1..3600) SEED\n");
        exit(2);
    }
    *out = v;
}

int main(int argc, char **argv)
{
    static struct driver d;
    struct sigaction action;
    uint64_t seconds = 8, seed = 1;
    unsigned i;
    int bad;

    if (argc > 1)
        number_of(argv[1], 3600, &seconds);
    if (argc > 2)
        number_of(argv[2], UINT64_MAX, &seed);
    setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
    memset(&action, 0, sizeof action);
    action.sa_handler = on_signal;
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGHUP, &action, NULL);
    signal(SIGPIPE, SIG_IGN); /* a child that died is counted, it does not end us */
    d.seed = seed;
    for (i = 0; i < ALL; i++)
        d.at[i].pipe = -1;
    d.reports = mmap(NULL, ALL * sizeof *d.reports, PROT_READ | PROT_WRITE,
                     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (d.reports == MAP_FAILED) {
        perror("delivery: mmap");
        return 1;
    }
    bad = drive(&d, seconds * SECOND);
    for (i = 0; i < ALL; i++)
        bury(&d, i, d.at[i].is_stopped || bad ? SIGKILL : 0); /* the others end as their pipe closes */
    if (bad == 0)
        bad = conclude(&d);
    return bad != 0;
}
