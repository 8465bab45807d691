/* soak.c - 32 real processes for long: joins, goodbyes, kills, stops, names that move, casts, large messages.
 *
 * usage: soak MINUTES SEED PROGRAM OTHER: the driver; half of the processes run PROGRAM and half OTHER, which
 * is this under sanitizers. What the processes see they write into a file that all have mapped.
 *
 * Each process holds the name of its place, 1000 + place, and there are 16 names that are handed around. All
 * send numbered messages with tokens to each other. To one that lives they come once and in order, each with
 * the next number (one may be missing if its sender was told so); so to names that move, where numbers rise.
 * Nobody who lives and was not stopped for longer than his neighbours are patient may be said to have FAILED.
 * Places 0 to 3 are never killed: their memory is as much at the end as after a sixth of the time, but for
 * what is kept of those who were killed since. That is kept for a day and has an eighth of cfg.mem_limit
 * (SOAK_LIMIT, in KiB); in the first sixth so many are killed that in a long run it is full. */
#define _POSIX_C_SOURCE 200809L
#define _DEFAULT_SOURCE
#include "phoenix.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define PLACES 32u
#define STABLE 4u
#define MOVING 16u
#define HOME 1000u
#define CASTS 2000u /* no name: they are numbered by themselves */
#define PORT 36400u
#define SECOND ((uint64_t)1000000)
#define LIMIT (2048u * 1024u)
#define OF_ONE 450u /* bytes that are kept of one that was killed */
#define LARGEST 400000u
#define TOKENS (1u << 16) /* under way at most; a ring */

struct report {
    volatile uint32_t life; /* grows with each process in this place; 0: none yet */
    volatile int alive, dying;
    volatile uint64_t sent, got, outcomes, bad_outcomes, second, casts, moves, mem, links;
    volatile uint64_t doubled, reordered, gaps, corrupt, false_failed, unexplained;
    char why[160];
};

struct payload {
    uint64_t sender, name, number, size; /* sender: place and life */
};

struct seen {
    uint64_t sender, name, number;
};

static struct report *all, *mine;
static unsigned place;
static uint64_t next_to[PLACES + MOVING], last_cast, dice, tokens, told_life[TOKENS];
static unsigned char told_place[TOKENS], done[TOKENS];
static struct seen *seen;
static size_t seen_count;
static volatile sig_atomic_t leaving;
static unsigned char bytes[LARGEST];

static uint64_t draw(uint64_t below)
{
    dice = dice * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (dice >> 33) % below;
}

static uint64_t slot_of(uint64_t name)
{
    return name >= HOME ? name - HOME : PLACES + name;
}

static void fault(volatile uint64_t *count, const char *what, const struct payload *m, uint64_t had)
{
    if ((*count)++ == 0)
        snprintf(mine->why, sizeof mine->why, "%s: from %lx to %lu number %lu after %lu", what,
                 (unsigned long)m->sender, (unsigned long)m->name, (unsigned long)m->number,
                 (unsigned long)had);
}

/* ---- A process ------------------------------------------------------------------------------------- */

static void on_message(phx *p, const struct phx_message *m, void *user)
{
    struct payload x;
    struct seen *s = seen;

    (void)p, (void)user;
    if (m->size < sizeof x)
        return;
    memcpy(&x, m->data, sizeof x);
    mine->got++;
    if (x.size != m->size
        || (m->size > sizeof x && ((const unsigned char *)m->data)[m->size - 1] != (x.number & 255)))
        fault(&mine->corrupt, "corrupt", &x, 0);
    for (; s < seen + seen_count && (s->sender != x.sender || s->name != x.name); s++)
        continue;
    if (s == seen + seen_count) {
        if (seen_count % 256 == 0 && (seen = realloc(seen, (seen_count + 256) * sizeof *seen)) == NULL)
            exit(1);
        seen[seen_count++] = (struct seen){ x.sender, x.name, x.number };
        return;
    }
    if (x.number == s->number)
        fault(&mine->doubled, "doubled", &x, s->number);
    else if (x.number < s->number)
        fault(&mine->reordered, "reordered", &x, s->number);
    else if (x.name >= HOME && x.name < HOME + PLACES)
        mine->gaps += x.number - s->number - 1;
    s->number = x.number;
}

/* Of a process that lives, and was not about to die, only success is no surprise. */
static void on_done(phx *p, uint64_t token, uint64_t to, uint64_t tag, int result, void *user)
{
    unsigned at = (unsigned)(token % TOKENS), whom = told_place[at];

    (void)p, (void)tag, (void)user;
    mine->outcomes++;
    mine->second += done[at]++ > 0;
    mine->bad_outcomes += result != 0;
    if (result != 0 && to >= HOME && all[whom].life == told_life[at] && all[whom].alive && !all[whom].dying
        && !leaving && mine->unexplained++ == 0)
        snprintf(mine->why, sizeof mine->why, "to %lu, which lives: %s", (unsigned long)to,
                 phx_strerror(result));
}

static void on_node(phx *p, const struct phx_node *n, void *user)
{
    unsigned whom, life;

    (void)p, (void)user;
    if (n->state != PHX_NODE_FAILED || sscanf(n->label, "%u.%u", &whom, &life) != 2 || whom >= PLACES)
        return;
    if (all[whom].life == life && all[whom].alive && !all[whom].dying && mine->false_failed++ == 0)
        snprintf(mine->why, sizeof mine->why, "%s is said to have failed: %s", n->label,
                 phx_strerror(n->reason));
}

static void on_broken(phx *p, const struct phx_lost *lost, int broken, void *user)
{
    (void)user;
    for (uint64_t n = lost->range.first; broken && place == 0 && n < MOVING && n <= lost->range.last; n++)
        (void)phx_assume(p, n, n);
}

static void on_term(int signal_number)
{
    (void)signal_number;
    leaving = 1;
}

static void say(phx *p, uint64_t name, unsigned whom)
{
    struct payload x = { (uint64_t)place << 32 | mine->life, name, next_to[slot_of(name)], sizeof x };
    struct iovec iov = { bytes, 0 };
    struct phx_outgoing m = { .to = name, .from = HOME + place, .iov = &iov, .iov_count = 1,
                              .token = tokens + 1, .time_limit_us = 60 * SECOND };

    if (tokens - mine->outcomes >= TOKENS - 1)
        return;
    x.size += draw(40) == 0 ? draw(LARGEST - sizeof x) : draw(200);
    iov.iov_len = x.size;
    memcpy(bytes, &x, sizeof x);
    if (x.size > sizeof x)
        bytes[x.size - 1] = (unsigned char)x.number;
    told_place[m.token % TOKENS] = (unsigned char)whom;
    told_life[m.token % TOKENS] = all[whom].life;
    done[m.token % TOKENS] = 0;
    if (phx_sendv(p, &m) != 0)
        return;
    tokens++;
    mine->sent++;
    next_to[slot_of(name)]++;
}

static void cast(phx *p)
{
    struct phx_range range = { HOME, HOME + PLACES - 1 };
    struct payload x = { (uint64_t)place << 32 | mine->life, CASTS, ++last_cast, sizeof x };
    struct phx_cast c = { .ranges = &range, .ranges_count = 1, .from = HOME + place, .data = &x,
                          .size = sizeof x };

    mine->casts += phx_cast(p, &c) > 0;
}

static void move(phx *p)
{
    struct phx_id to, self;
    uint64_t name = draw(MOVING);
    unsigned whom = (unsigned)draw(PLACES);

    phx_self(p, &self);
    if (!all[whom].alive || whom == place || phx_owner(p, name, &to) != 0
        || memcmp(&to, &self, sizeof to) != 0 || phx_owner(p, HOME + whom, &to) != 0)
        return;
    mine->moves += phx_hand(p, name, name, &to) == 0;
}

static void tick(phx *p)
{
    struct phx_stats s;
    unsigned whom = (unsigned)draw(PLACES);

    if (leaving)
        return;
    if (all[whom].alive && whom != place)
        say(p, HOME + whom, whom);
    if (draw(4) == 0)
        say(p, draw(MOVING), place);
    if (draw(50) == 0)
        cast(p);
    if (draw(20) == 0)
        move(p);
    if (phx_stats(p, &s) == 0) {
        mine->mem = s.mem_bytes;
        mine->links = s.links;
    }
}

static size_t limit(void)
{
    const char *kib = getenv("SOAK_LIMIT");

    return kib != NULL ? (size_t)atoi(kib) * 1024 : LIMIT;
}

static void run(phx *p)
{
    uint64_t next = phx_now_us(), now;
    int closing = 0;

    while (!phx_closed(p)) {
        struct pollfd fd = { phx_fd(p), POLLIN, 0 };
        int ms = phx_timeout_ms(p, phx_now_us());

        poll(&fd, 1, ms >= 0 && ms < 20 ? ms : 20);
        now = phx_now_us();
        phx_step(p, now, NULL, 0);
        if (now >= next) {
            tick(p);
            next = now + 40000;
        }
        if (leaving && !closing)
            closing = phx_close(p, 5 * SECOND) == 0;
    }
}

static int process(void)
{
    struct phx_config c;
    char at[60], label[30];
    phx *p;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    signal(SIGTERM, on_term);
    dice = place * 7919 + mine->life;
    snprintf(label, sizeof label, "%u.%u", place, (unsigned)mine->life);
    phx_config_init(&c);
    c.label = label;
    c.mem_limit = limit();
    c.on_message = on_message;
    c.on_done = on_done;
    c.on_node = on_node;
    c.on_broken = on_broken;
    if (phx_new(&p, &c, phx_now_us()) != 0)
        return 1;
    snprintf(at, sizeof at, "tcp://127.0.0.1:%u", place < STABLE ? PORT + place : 0);
    if (phx_listen(p, at) != 0)
        return 1;
    for (unsigned i = 0; i < STABLE; i++)
        if (i != place) {
            snprintf(at, sizeof at, "tcp://127.0.0.1:%u", PORT + i);
            (void)phx_join(p, at);
        }
    (void)phx_assume(p, HOME + place, HOME + place);
    if (place == 0)
        (void)phx_assume(p, 0, MOVING - 1);
    run(p);
    phx_free(p);
    free(seen);
    return 0;
}

/* ---- The driver ------------------------------------------------------------------------------------- */

static pid_t pids[PLACES];
static char **programs;
static uint64_t kills, stops, goodbyes, starts, sick;

static void start(unsigned i)
{
    char text[20];

    all[i].life++;
    all[i].dying = 0;
    if ((pids[i] = fork()) == 0) {
        snprintf(text, sizeof text, "%u", i);
        execl(programs[i % 2], programs[i % 2], "place", text, (char *)NULL);
        _exit(127);
    }
    all[i].alive = 1;
    starts++;
}

/* The process of a place ended, or is to end now. */
static void wait_for(unsigned i)
{
    int status = 0;

    waitpid(pids[i], &status, 0);
    sick += !(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) && status != 0;
    pids[i] = 0;
    all[i].alive = 0;
}

/* kinds 1: kill, if not start; 4: or a goodbye, or a stop as often as both. */
static void disturb(unsigned kinds)
{
    unsigned i = STABLE + (unsigned)draw(PLACES - STABLE);

    if (pids[i] == 0) {
        start(i);
        return;
    }
    switch (draw(kinds)) {
    case 0:
        all[i].dying = 1;
        kill(pids[i], SIGKILL);
        wait_for(i);
        kills++;
        break;
    case 1:
        all[i].dying = 1;
        kill(pids[i], SIGTERM);
        wait_for(i);
        goodbyes++;
        break;
    default: /* shorter than anybody's patience */
        kill(pids[i], SIGSTOP);
        usleep((useconds_t)(200000 + draw(1500000)));
        kill(pids[i], SIGCONT);
        stops++;
    }
}

static uint64_t resident(pid_t pid)
{
    char path[60], line[200];
    unsigned long kb = 0;
    FILE *f;

    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    if ((f = fopen(path, "r")) == NULL)
        return 0;
    while (fgets(line, sizeof line, f) != NULL && sscanf(line, "VmRSS: %lu", &kb) != 1)
        continue;
    fclose(f);
    return kb;
}

/* Of the places that are never killed: what they have of memory, node and process (KiB, unsanitized ones). */
static void sample(uint64_t *node, uint64_t *kb)
{
    uint64_t n = 0, r = 0;

    for (unsigned i = 0; i < STABLE; i++) {
        n += all[i].mem;
        r += i % 2 == 0 ? resident(pids[i]) : 0;
    }
    *node = n < *node ? n : *node;
    *kb = r < *kb ? r : *kb;
}

#define SUM(what) sum(offsetof(struct report, what))
static uint64_t sum(size_t offset)
{
    uint64_t n = 0;

    for (unsigned i = 0; i < PLACES; i++)
        n += *(volatile uint64_t *)((char *)&all[i] + offset);
    return n;
}

static int bar(const char *name, double figure, double most)
{
    printf("bar\tsoak: %s\t%.3f\t%g\t%s\n", name, figure, most, figure <= most ? "ok" : "short");
    return figure > most;
}

/* What may be kept of so many who were killed. */
static double kept(uint64_t killed)
{
    double all_of_it = (double)killed * OF_ONE, most = (double)limit() / 8;

    return all_of_it < most ? all_of_it : most;
}

static int drive(double minutes)
{
    uint64_t begun = phx_now_us(), end = begun + (uint64_t)(minutes * 60e6), sixth = (end - begun) / 6;
    uint64_t first[2] = { UINT64_MAX, UINT64_MAX }, last[2] = { UINT64_MAX, UINT64_MAX }, now;
    uint64_t gaps, bad_outcomes, gone = 0;
    double since;
    int short_of = 0, part = 0;

    for (unsigned i = 0; i < PLACES; i++)
        start(i);
    while ((now = phx_now_us()) < end) {
        usleep(now < begun + sixth ? 50000 : 300000);
        disturb(now < begun + sixth ? 1 : 4);
        if (now <= begun + sixth * 3 / 2)
            gone = kills;
        else if (now < begun + sixth * 5 / 2) /* as many live as later */
            sample(&first[0], &first[1]);
        if (now > end - sixth)
            sample(&last[0], &last[1]);
        if (now > begun + (unsigned)part * sixth / 2) {
            uint64_t node = UINT64_MAX, kb = UINT64_MAX;
            sample(&node, &kb);
            printf("# %2d/12: %u nodes that stay have %lu KiB, %u of their processes %lu KiB; %lu killed\n",
                   part++, STABLE, (unsigned long)node / 1024, STABLE / 2, (unsigned long)kb,
                   (unsigned long)kills);
            fflush(stdout);
        }
    }
    sleep(8);
    gaps = SUM(gaps), bad_outcomes = SUM(bad_outcomes);
    printf("# %lu processes, %lu killed, %lu stopped, %lu goodbyes; %lu messages, %lu came, %lu outcomes,"
           " %lu of failure; %lu casts, %lu moves\n", (unsigned long)starts, (unsigned long)kills,
           (unsigned long)stops, (unsigned long)goodbyes, (unsigned long)SUM(sent), (unsigned long)SUM(got),
           (unsigned long)SUM(outcomes), (unsigned long)bad_outcomes, (unsigned long)SUM(casts),
           (unsigned long)SUM(moves));
    for (unsigned i = 0; i < PLACES; i++)
        if (all[i].why[0] != '\0')
            printf("# place %u: %s\n", i, all[i].why);
    gaps -= gaps < bad_outcomes ? gaps : bad_outcomes; /* of these the senders know */
    short_of |= bar("lost", (double)gaps + (double)SUM(unexplained), 0);
    short_of |= bar("doubled", (double)SUM(doubled) + (double)SUM(second), 0);
    short_of |= bar("reordered or corrupt", (double)SUM(reordered) + (double)SUM(corrupt), 0);
    short_of |= bar("false FAILED", (double)SUM(false_failed), 0);
    short_of |= bar("processes that ended badly", (double)sick, 0);
    since = kept(kills) - kept(gone);
    printf("# %.0f KiB may be kept at each of those who were killed since: not counted\n", since / 1024);
    short_of |= bar("memory of nodes, end / after a sixth",
                    ((double)last[0] - STABLE * since) / (double)first[0], 1.05);
    short_of |= bar("memory of processes, end / after a sixth",
                    ((double)last[1] - STABLE / 2 * since / 1024) / (double)first[1], 1.05);
    for (unsigned i = 0; i < PLACES; i++)
        if (pids[i] != 0) {
            all[i].dying = 1;
            kill(pids[i], SIGKILL);
            wait_for(i);
        }
    return short_of;
}

int main(int argc, char **argv)
{
    int driver = argc == 5, fd;

    if (!driver && !(argc == 3 && strcmp(argv[1], "place") == 0)) {
        fprintf(stderr, "usage: soak MINUTES SEED PROGRAM OTHER\n");
        return 2;
    }
    fd = open(getenv("SOAK_FILE"), O_RDWR | O_CREAT, 0600);
    if (fd < 0 || ftruncate(fd, PLACES * sizeof *all) != 0)
        return 1;
    all = mmap(NULL, PLACES * sizeof *all, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (all == MAP_FAILED)
        return 1;
    if (!driver) {
        place = (unsigned)atoi(argv[2]) % PLACES;
        mine = &all[place];
        return process();
    }
    dice = (uint64_t)atoi(argv[2]);
    programs = argv + 3;
    return drive(atof(argv[1]));
}
