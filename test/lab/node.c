/* node.c - the process that stands behind each wall of the lab: a node that the driver asks things. */

/* Usage: node -s SOCKET [-n NAME]... [-l ADDRESS]... [-a ADDRESS]... [-j HUB]... [-k KEYFILE] [-f]
 *             [-b SECONDS] [-r] [-S SSH-CONFIGURATION] [-t] [-v LEVEL]
 *
 *     -s  the UNIX socket on which the driver asks; its path works from every network namespace
 *     -n  a name it assumes; the first is the one it speaks as
 *     -l  listen, -a advertise, -j join
 *     -k  the key, without which nothing leaves a machine
 *     -f  the fast detector: silent death is seen within 2 s
 *     -b  how long a node is missed before it counts as failed and what is sent to it with it
 *     -r  never relay
 *     -S  the ssh configuration for hubs "ssh://..." (extras/ssh)
 *     -t  all TCP links speak TLS
 *
 * One question is one line on one connection, and so is its answer, "ok ..." or "no ...". Some answers
 * have to be waited for: those questions carry a time limit in seconds and are answered the moment it is
 * true, so no scene sleeps and hopes. Times in answers are microseconds of the machine's monotonic clock,
 * which all namespaces share, and so the driver may subtract one node's from another's.
 *
 *     reach SECONDS NAME...    each acknowledges a message: ok COUNT LAST-TIME | no COUNT of ALL: MISSING...
 *     linked SECONDS NAME...   a direct link with each: ok TIME | no MISSING...
 *     lost SECONDS NAME...     no route to the owner of each: ok TIME | no STILL-THERE...
 *     relayed SECONDS NAME...  a route to the owner of each and no link with it: ok TIME | no OTHERS...
 *     settled SECONDS          neither links nor routes changed for 500 ms: ok
 *     hops                     ok NAME=HOPS ..., - for none
 *     talk MILLISECONDS NAME...  from now on a numbered message to each, so often
 *     spoken SECONDS COUNT     so many messages to each are acknowledged: ok | no LEAST
 *     hush SECONDS             no more of it; all outcomes are in: ok NAME:SENT/DELIVERED/FAILED ...
 *     tally                    ok NAME:HEARD/MISSED/TURNED ...; TURNED are doubled or out of order
 *     mark                     begins to measure gaps: the longest silence of each talker since
 *     gap NAME...              ok LONGEST-MICROSECONDS
 *     pour SECONDS NAME BYTES  in 64 KiB messages: ok MICROSECONDS until the last is acknowledged
 *     peers                    ok NAME@ADDRESS ... of all direct links
 *     stats | explain NAME | quit
 */
#define _POSIX_C_SOURCE 200809L
#include "phoenix.h"
#include "extras/ssh/ssh.h"
#include "test/lab/talk.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define CLIENTS_MAX 32  /* questions under way at once */
#define ANSWER_MAX 8192 /* 64 names with three counters each, and a list of addresses */
#define POUR_BYTES 65536u
#define SECOND 1000000u

enum tag { TAG_PING = 1, TAG_TALK, TAG_POUR };
enum want {
    WANT_LINE, WANT_REACH, WANT_LINKED, WANT_LOST, WANT_RELAYED, WANT_SETTLED, WANT_SPOKEN, WANT_HUSH,
    WANT_POUR
};

/* A connection of the driver with its one question. */
struct client {
    int fd; /* -1: free */
    enum want want;
    char line[1024];
    size_t used;
    uint64_t serial, begun, limit, last;
    uint64_t name[NAMES_MAX];
    int done[NAMES_MAX]; /* 1: acknowledged, 0: asked and not answered, -1: to be asked again */
    int count;
    uint64_t bytes, given, acked, failed; /* pour */
};

/* What this node says to one name. */
struct talk {
    uint64_t name, sent, delivered, failed;
};

struct lab {
    phx *p;
    phx_ssh *ssh; /* NULL: none asked for */
    uint64_t self, now;
    int listener;
    uint64_t serial;
    struct client client[CLIENTS_MAX];
    struct talk talk[NAMES_MAX];
    int talks;
    uint64_t every, next; /* of talking; every 0: silence */
    struct talk_heard heard;
    uint64_t changed; /* when links or routes last changed */
    uint64_t digest;
    uint32_t links;
    int end;
};

/* ---- Answers ------------------------------------------------------------------------------------------ */

static void answer(struct client *c, const char *form, ...)
{
    char text[ANSWER_MAX];
    va_list args;
    int size;
    ssize_t n;

    va_start(args, form);
    size = vsnprintf(text, sizeof text - 1, form, args);
    va_end(args);
    if (size > (int)sizeof text - 2)
        size = (int)sizeof text - 2;
    text[size++] = '\n';
    n = send(c->fd, text, (size_t)size, MSG_NOSIGNAL); /* an answer fits into an empty socket */
    if (n != size)
        say("an answer was lost: %.40s", text);
    close(c->fd);
    c->fd = -1;
}

/* A list that grows inside an answer. */
struct list {
    char text[ANSWER_MAX];
    size_t used;
};

static void add(struct list *l, const char *form, ...)
{
    va_list args;
    int n;

    va_start(args, form);
    n = vsnprintf(l->text + l->used, sizeof l->text - l->used, form, args);
    va_end(args);
    if (n > 0 && (size_t)n < sizeof l->text - l->used)
        l->used += (size_t)n;
}

/* ---- What the node knows ------------------------------------------------------------------------------ */

static int hops_to(struct lab *lab, uint64_t name)
{
    struct phx_node node[4 * NAMES_MAX];
    struct phx_id owner;
    size_t n, i;

    if (phx_owner(lab->p, name, &owner) != 0)
        return -1;
    n = phx_nodes(lab->p, node, sizeof node / sizeof *node);
    for (i = 0; i < n && i < sizeof node / sizeof *node; i++)
        if (memcmp(&node[i].id, &owner, sizeof owner) == 0)
            return node[i].hops;
    return -1;
}

static const struct phx_link *link_with(struct lab *lab, uint64_t name, struct phx_link *all, size_t room)
{
    struct phx_id owner;
    size_t n, i;

    if (phx_owner(lab->p, name, &owner) != 0)
        return NULL;
    n = phx_links(lab->p, all, room);
    for (i = 0; i < n && i < room; i++)
        if (all[i].up && memcmp(&all[i].peer, &owner, sizeof owner) == 0)
            return &all[i];
    return NULL;
}

static void watch_changes(struct lab *lab)
{
    struct phx_stats s;

    phx_stats(lab->p, &s);
    if (s.digest == lab->digest && s.links == lab->links)
        return;
    lab->digest = s.digest;
    lab->links = s.links;
    lab->changed = lab->now;
}

/* ---- Messages ----------------------------------------------------------------------------------------- */

static void on_message(phx *p, const struct phx_message *m, void *user)
{
    struct lab *lab = user;

    (void)p;
    if (m->tag == TAG_TALK)
        talk_on(&lab->heard, m, lab->now);
}

/* Tokens: the kind in the top byte, then whose, then which. */
#define TOKEN(kind, whose, which) ((uint64_t)(kind) << 56 | (uint64_t)(whose) << 8 | (uint64_t)(which))

static struct client *client_of(struct lab *lab, uint64_t serial)
{
    int i;

    for (i = 0; i < CLIENTS_MAX; i++)
        if (lab->client[i].fd >= 0 && lab->client[i].serial == serial)
            return &lab->client[i];
    return NULL;
}

static void on_done(phx *p, uint64_t token, uint64_t to, uint64_t tag, int result, void *user)
{
    struct lab *lab = user;
    uint64_t whose = token >> 8 & 0xffffffffffffu;
    unsigned which = token & 0xff;
    struct client *c;

    (void)p, (void)to, (void)tag;
    if (token >> 56 == TAG_TALK) {
        if (result == 0)
            lab->talk[which].delivered++;
        else
            lab->talk[which].failed++;
        if (result != 0)
            say("to %" PRIu64 ": %s", lab->talk[which].name, phx_strerror(result));
        return;
    }
    c = client_of(lab, whose);
    if (c == NULL)
        return;
    if (c->want == WANT_POUR) {
        c->acked += result == 0;
        c->failed += result != 0;
    } else if (c->want == WANT_REACH) {
        c->done[which] = result == 0 ? 1 : -1;
        c->last = lab->now;
    }
}

static void on_node(phx *p, const struct phx_node *node, void *user)
{
    static const char *const word[] = { "?", "ok", "suspect", "unreachable", "failed", "left" };
    struct lab *lab = user;
    char id[PHX_ID_TEXT];

    (void)p;
    say("node %.8s: %s, %d hops", phx_id_text(&node->id, id),
        word[node->state <= PHX_NODE_LEFT ? (int)node->state : 0], node->hops);
    lab->changed = lab->now;
}

/* A process that is started again claims its name before it knows of its last life's claim, and loses to
 * it every other time, by id. The driver never gives a name to two that live, so take it back: now that
 * the other claim is known here, ours is above it. */
static void on_conflict(phx *p, struct phx_range range, const struct phx_id *winner, void *user)
{
    char id[PHX_ID_TEXT];

    (void)user;
    say("name %" PRIu64 " went to %.8s: taken back", range.first, phx_id_text(winner, id));
    if (phx_assume(p, range.first, range.last) != 0)
        say("BAD cannot take it back");
}

static void on_log(phx *p, int level, const char *line, void *user)
{
    (void)p;
    (void)user;
    say("log %d %s", level, line);
}

static int on_dial(phx *p, const char *address, void *user)
{
    struct lab *lab = user;

    return lab->ssh != NULL ? phx_ssh_dial(lab->ssh, p, address) : PHX_ESCHEME;
}

static void on_tunnel(phx_ssh *s, const struct phx_ssh_report *r, void *user)
{
    (void)s;
    (void)user;
    say("tunnel %s: %s: %.200s", r->address, phx_ssh_reason_text(r->reason), r->text);
}

static int speak(struct lab *lab, uint64_t to, enum tag tag, uint64_t token, const void *data, size_t size,
                 uint64_t limit)
{
    struct phx_outgoing m;
    struct iovec iov;

    memset(&m, 0, sizeof m);
    iov.iov_base = (void *)(uintptr_t)data;
    iov.iov_len = size;
    m.to = to;
    m.from = lab->self;
    m.tag = tag;
    m.token = token;
    m.time_limit_us = limit;
    m.iov = &iov;
    m.iov_count = 1;
    return phx_sendv(lab->p, &m);
}

static void talk_round(struct lab *lab)
{
    unsigned char data[TALK_MOST];
    struct talk *t;
    int i;

    for (i = 0; i < lab->talks; i++) {
        t = &lab->talk[i];
        talk_fill(data, talk_size(t->sent + 1), t->sent + 1, lab->self);
        if (speak(lab, t->name, TAG_TALK, TOKEN(TAG_TALK, 0, i), data, talk_size(t->sent + 1), 0) == 0)
            t->sent++; /* else there is no room now, and this number goes next time */
    }
    while (lab->next <= lab->now)
        lab->next += lab->every;
}

/* ---- Questions that wait ------------------------------------------------------------------------------ */

static void reach_work(struct lab *lab, struct client *c)
{
    struct list missing = { "", 0 };
    int i, got = 0;

    for (i = 0; i < c->count; i++) {
        if (c->done[i] < 0 && lab->now < c->limit
            && speak(lab, c->name[i], TAG_PING, TOKEN(TAG_PING, c->serial, i), "ping", 4,
                     c->limit - lab->now) == 0)
            c->done[i] = 0;
        if (c->done[i] == 1)
            got++;
        else
            add(&missing, " %" PRIu64, c->name[i]);
    }
    if (got == c->count)
        answer(c, "ok %d %" PRIu64, got, c->last);
    else if (lab->now >= c->limit)
        answer(c, "no %d of %d:%s", got, c->count, missing.text);
}

static void linked_work(struct lab *lab, struct client *c)
{
    struct phx_link all[4 * NAMES_MAX];
    struct list missing = { "", 0 };
    int i, got = 0, holds;

    for (i = 0; i < c->count; i++) {
        if (c->want == WANT_LINKED)
            holds = link_with(lab, c->name[i], all, sizeof all / sizeof *all) != NULL;
        else if (c->want == WANT_RELAYED)
            holds = hops_to(lab, c->name[i]) > 1;
        else
            holds = hops_to(lab, c->name[i]) < 0;
        got += holds;
        if (!holds)
            add(&missing, " %" PRIu64, c->name[i]);
    }
    if (got == c->count)
        answer(c, "ok %" PRIu64, lab->now);
    else if (lab->now >= c->limit)
        answer(c, "no%s", missing.text);
}

static void spoken_work(struct lab *lab, struct client *c)
{
    uint64_t least = UINT64_MAX;
    int i;

    for (i = 0; i < lab->talks; i++)
        if (lab->talk[i].delivered < least)
            least = lab->talk[i].delivered;
    if (lab->talks > 0 && c->count > 0 && least >= c->name[0])
        answer(c, "ok");
    else if (lab->now >= c->limit)
        answer(c, "no %" PRIu64, lab->talks > 0 ? least : 0);
}

static void hush_work(struct lab *lab, struct client *c)
{
    struct list out = { "", 0 };
    struct talk *t;
    int i, open = 0;

    for (i = 0; i < lab->talks; i++) {
        t = &lab->talk[i];
        open += t->sent != t->delivered + t->failed;
        add(&out, " %" PRIu64 ":%" PRIu64 "/%" PRIu64 "/%" PRIu64, t->name, t->sent, t->delivered,
            t->failed);
    }
    if (open == 0)
        answer(c, "ok%s", out.text);
    else if (lab->now >= c->limit)
        answer(c, "no %d without an outcome:%s", open, out.text);
}

static void pour_work(struct lab *lab, struct client *c)
{
    static const unsigned char data[POUR_BYTES] = { 1 };
    uint64_t pieces = (c->bytes + POUR_BYTES - 1) / POUR_BYTES;

    while (c->given < pieces
           && speak(lab, c->name[0], TAG_POUR, TOKEN(TAG_POUR, c->serial, 0), data, POUR_BYTES, 0) == 0)
        c->given++;
    if (c->acked == pieces)
        answer(c, "ok %" PRIu64, lab->now - c->begun);
    else if (c->failed > 0 || lab->now >= c->limit)
        answer(c, "no %" PRIu64 " of %" PRIu64 " pieces, %" PRIu64 " failed", c->acked, pieces, c->failed);
}

static void client_work(struct lab *lab, struct client *c)
{
    switch (c->want) {
    case WANT_LINE:
        break;
    case WANT_REACH:
        reach_work(lab, c);
        break;
    case WANT_LINKED:
    case WANT_LOST:
    case WANT_RELAYED:
        linked_work(lab, c);
        break;
    case WANT_SETTLED:
        if (lab->now - lab->changed >= SECOND / 2)
            answer(c, "ok");
        else if (lab->now >= c->limit)
            answer(c, "no");
        break;
    case WANT_SPOKEN:
        spoken_work(lab, c);
        break;
    case WANT_HUSH:
        hush_work(lab, c);
        break;
    case WANT_POUR:
        pour_work(lab, c);
        break;
    }
}

/* ---- Questions that are answered at once -------------------------------------------------------------- */

static void answer_hops(struct lab *lab, struct client *c)
{
    struct list out = { "", 0 };
    uint64_t name;
    int hops;

    for (name = 1; name <= NAMES_MAX; name++) {
        hops = name == lab->self ? 0 : hops_to(lab, name);
        if (hops > 0)
            add(&out, " %" PRIu64 "=%d", name, hops);
    }
    answer(c, "ok%s", out.text);
}

static void answer_tally(struct lab *lab, struct client *c)
{
    struct list out = { "", 0 };
    struct heard *h;
    int i;

    for (i = 0; i < lab->heard.count; i++) {
        h = &lab->heard.of[i];
        add(&out, " %" PRIu64 ":%" PRIu64 "/%" PRIu64 "/%" PRIu64, h->name, h->count, h->missed,
            h->turned + h->spoilt);
    }
    answer(c, "ok%s", out.text);
}

static void mark(struct lab *lab, struct client *c)
{
    int i;

    for (i = 0; i < lab->heard.count; i++)
        lab->heard.of[i].longest = 0;
    answer(c, "ok");
}

/* The silence that lasts still counts too: else the worst of all would not. */
static void answer_gap(struct lab *lab, struct client *c)
{
    uint64_t worst = 0, gap;
    int i, k;

    for (i = 0; i < lab->heard.count; i++)
        for (k = 0; k < c->count; k++)
            if (lab->heard.of[i].name == c->name[k]) {
                gap = lab->now - lab->heard.of[i].last;
                gap = gap > lab->heard.of[i].longest ? gap : lab->heard.of[i].longest;
                worst = gap > worst ? gap : worst;
            }
    answer(c, "ok %" PRIu64, worst);
}

static void answer_peers(struct lab *lab, struct client *c)
{
    struct phx_link all[4 * NAMES_MAX];
    const struct phx_link *l;
    char text[PHX_ADDRESS_TEXT];
    struct list out = { "", 0 };
    uint64_t name;

    for (name = 1; name <= NAMES_MAX; name++)
        if ((l = link_with(lab, name, all, sizeof all / sizeof *all)) != NULL)
            add(&out, " %" PRIu64 "@%s", name, phx_address_text(&l->address, text));
    answer(c, "ok%s", out.text);
}

static void answer_stats(struct lab *lab, struct client *c)
{
    struct phx_stats s;

    phx_stats(lab->p, &s);
    answer(c,
           "ok nodes=%u reachable=%u links=%u dials=%" PRIu64 " dials_failed=%" PRIu64 " relayed=%" PRIu64
           " retransmitted=%" PRIu64 " duplicate=%" PRIu64 " dropped=%" PRIu64 " lost_links=%" PRIu64
           " bad=%" PRIu64 " mem=%zu",
           s.nodes, s.reachable, s.links, s.dials, s.dials_failed, s.relayed_frames,
           s.retransmitted_frames, s.duplicate_frames, s.dropped_frames, s.links_lost, s.bad_frames,
           s.mem_bytes);
}

/* ---- Questions ---------------------------------------------------------------------------------------- */

/* The words after the question: for most a time limit, then names. */
static void names_of(struct client *c, char *words, uint64_t *number)
{
    char *word = words, *end;
    uint64_t value;
    int first = number != NULL;

    for (c->count = 0; c->count < NAMES_MAX; word = end) {
        value = strtoull(word, &end, 10);
        if (end == word)
            return;
        if (first) {
            *number = value;
            first = 0;
        } else {
            c->done[c->count] = -1;
            c->name[c->count++] = value;
        }
    }
}

/* The driver asks everybody about everybody; of itself a node says nothing. */
static void but_me(const struct lab *lab, struct client *c)
{
    int i, kept = 0;

    for (i = 0; i < c->count; i++)
        if (c->name[i] != lab->self)
            c->name[kept++] = c->name[i];
    c->count = kept;
}

static void wait_for(struct lab *lab, struct client *c, enum want want, uint64_t seconds)
{
    c->want = want;
    c->begun = lab->now;
    c->limit = lab->now + seconds * SECOND;
    if (want == WANT_REACH || want == WANT_LINKED || want == WANT_LOST
        || want == WANT_RELAYED)
        but_me(lab, c);
    if (want == WANT_HUSH)
        lab->every = 0;
    if (want == WANT_POUR) {
        c->bytes = c->count > 1 ? c->name[1] : 0;
        c->given = c->acked = c->failed = 0;
    }
}

static void begin_talk(struct lab *lab, struct client *c, uint64_t every)
{
    int i;

    but_me(lab, c);
    if (lab->talks == 0) /* later only the pace changes: numbers go on */
        for (i = 0; i < c->count; i++) {
            memset(&lab->talk[i], 0, sizeof lab->talk[i]);
            lab->talk[i].name = c->name[i];
            lab->talks = i + 1;
        }
    lab->every = every > 0 ? every * 1000 : 1000;
    lab->next = lab->now;
    answer(c, "ok");
}

static void answer_explain(struct lab *lab, struct client *c)
{
    char text[ANSWER_MAX - 8], *s;
    struct phx_id id;
    int n = phx_owner(lab->p, c->count > 0 ? c->name[0] : 0, &id);

    if (n == 0)
        n = phx_explain(lab->p, &id, text, sizeof text);
    if (n < 0) {
        answer(c, "no %s", phx_strerror(n));
        return;
    }
    for (s = text; *s != '\0'; s++)
        if (*s == '\n')
            *s = ';';
    answer(c, "ok %s", text);
}

static void question(struct lab *lab, struct client *c)
{
    static const struct {
        const char *word;
        enum want want;
    } waits[] = { { "reach", WANT_REACH },     { "linked", WANT_LINKED }, { "lost", WANT_LOST },
                  { "settled", WANT_SETTLED }, { "hush", WANT_HUSH },     { "pour", WANT_POUR },
                  { "spoken", WANT_SPOKEN },   { "relayed", WANT_RELAYED } };
    char *rest = c->line + strcspn(c->line, " ");
    uint64_t number = 0;
    size_t i;

    if (*rest != '\0')
        *rest++ = '\0';
    for (i = 0; i < sizeof waits / sizeof *waits; i++)
        if (strcmp(c->line, waits[i].word) == 0) {
            names_of(c, rest, &number);
            wait_for(lab, c, waits[i].want, number);
            return;
        }
    if (strcmp(c->line, "talk") == 0) {
        names_of(c, rest, &number);
        begin_talk(lab, c, number);
    } else if (strcmp(c->line, "gap") == 0) {
        names_of(c, rest, NULL);
        answer_gap(lab, c);
    } else if (strcmp(c->line, "hops") == 0) {
        answer_hops(lab, c);
    } else if (strcmp(c->line, "tally") == 0) {
        answer_tally(lab, c);
    } else if (strcmp(c->line, "mark") == 0) {
        mark(lab, c);
    } else if (strcmp(c->line, "peers") == 0) {
        answer_peers(lab, c);
    } else if (strcmp(c->line, "stats") == 0) {
        answer_stats(lab, c);
    } else if (strcmp(c->line, "explain") == 0) {
        names_of(c, rest, NULL);
        answer_explain(lab, c);
    } else if (strcmp(c->line, "quit") == 0) {
        lab->end = 1;
        phx_close(lab->p, SECOND);
        answer(c, "ok");
    } else {
        answer(c, "no such question: %.40s", c->line);
    }
}

static void client_read(struct lab *lab, struct client *c)
{
    ssize_t n = recv(c->fd, c->line + c->used, sizeof c->line - 1 - c->used, 0);
    char *end;

    if (n <= 0 && !(n < 0 && (errno == EAGAIN || errno == EINTR))) {
        close(c->fd); /* the driver gave up waiting */
        c->fd = -1;
        return;
    }
    if (n <= 0 || c->want != WANT_LINE)
        return;
    c->used += (size_t)n;
    c->line[c->used] = '\0';
    end = strchr(c->line, '\n');
    if (end != NULL) {
        *end = '\0';
        question(lab, c);
    } else if (c->used == sizeof c->line - 1) {
        answer(c, "no: too long");
    }
}

static void client_accept(struct lab *lab)
{
    int fd = accept(lab->listener, NULL, NULL), i;
    struct client *c;

    if (fd < 0)
        return;
    for (i = 0; i < CLIENTS_MAX; i++) {
        c = &lab->client[i];
        if (c->fd < 0) {
            memset(c, 0, sizeof *c);
            c->fd = fd;
            c->serial = ++lab->serial;
            return;
        }
    }
    close(fd);
}

/* ---- The loop ----------------------------------------------------------------------------------------- */

/* 10 ms while somebody waits: what they wait for may have no event of its own. */
static int patience(const struct lab *lab)
{
    int ms = phx_timeout_ms(lab->p, lab->now), until = -1, i;

    if (lab->ssh != NULL) /* its descriptors are not in our poll; it is content with a look now and then */
        until = 50;
    for (i = 0; i < CLIENTS_MAX; i++)
        if (lab->client[i].fd >= 0 && lab->client[i].want != WANT_LINE)
            until = 10;
    if (lab->every != 0) {
        i = lab->next > lab->now ? (int)((lab->next - lab->now + 999) / 1000) : 0;
        until = until < 0 || i < until ? i : until;
    }
    if (until >= 0 && (ms < 0 || until < ms))
        return until;
    return ms;
}

static void turn(struct lab *lab)
{
    struct pollfd fds[2 + CLIENTS_MAX];
    int i;

    fds[0].fd = phx_fd(lab->p);
    fds[1].fd = lab->listener;
    for (i = 0; i < CLIENTS_MAX; i++)
        fds[2 + i].fd = lab->client[i].fd;
    for (i = 0; i < 2 + CLIENTS_MAX; i++) {
        fds[i].events = POLLIN;
        fds[i].revents = 0;
    }
    poll(fds, 2 + CLIENTS_MAX, patience(lab));
    lab->now = phx_now_us();
    phx_step(lab->p, lab->now, NULL, 0);
    if (lab->ssh != NULL)
        phx_ssh_step(lab->ssh);
    if (lab->every != 0 && lab->now >= lab->next)
        talk_round(lab);
    watch_changes(lab);
    for (i = 0; i < CLIENTS_MAX; i++)
        if (fds[2 + i].revents != 0 && lab->client[i].fd >= 0)
            client_read(lab, &lab->client[i]);
    for (i = 0; i < CLIENTS_MAX; i++)
        if (lab->client[i].fd >= 0)
            client_work(lab, &lab->client[i]);
    if (fds[1].revents != 0)
        client_accept(lab);
}

/* ---- The start ---------------------------------------------------------------------------------------- */

static void refuse(const char *what, const char *why)
{
    fprintf(stderr, "node: %s: %s\n", what, why);
    exit(2);
}

static void check(const char *what, int err)
{
    if (err != 0)
        refuse(what, phx_strerror(err));
}

static int control(const char *path)
{
    struct sockaddr_un at;
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);

    memset(&at, 0, sizeof at);
    at.sun_family = AF_UNIX;
    if (strlen(path) >= sizeof at.sun_path)
        refuse(path, "too long for a UNIX socket");
    strncpy(at.sun_path, path, sizeof at.sun_path - 1);
    unlink(path);
    if (fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof at) != 0 || listen(fd, CLIENTS_MAX) != 0)
        refuse(path, strerror(errno));
    fcntl(fd, F_SETFD, FD_CLOEXEC);
    return fd;
}

static size_t key_read(const char *path, unsigned char *key, size_t room)
{
    FILE *f = fopen(path, "rb");
    size_t n;

    if (f == NULL)
        refuse(path, strerror(errno));
    n = fread(key, 1, room, f);
    fclose(f);
    return n;
}

/* The back-off too, or a scene would mostly wait for its end. */
static void fast(struct phx_config *cfg)
{
    phx_detector_preset(&cfg->detector, PHX_PRESET_FAST);
    cfg->retry_max_us = 5 * SECOND;
}

#define OPTIONS "s:n:l:a:j:k:fb:rS:tv:"

static phx_ssh *tunnels(const char *configuration)
{
    const char *arguments[3] = { "-F", NULL, NULL };
    struct phx_ssh_config cfg;
    phx_ssh *s = NULL;

    arguments[1] = configuration;
    phx_ssh_config_init(&cfg);
    cfg.arguments = arguments;
    cfg.on_report = on_tunnel;
    check("-S", phx_ssh_new(&s, &cfg));
    return s;
}

/* What must be known before the node is made. */
static void configure(struct phx_config *cfg, int argc, char **argv, unsigned char *key, size_t room)
{
    int o;

    while ((o = getopt(argc, argv, OPTIONS)) != -1)
        switch (o) {
        case 'k':
            cfg->key_size = key_read(optarg, key, room);
            cfg->key = key;
            break;
        case 'f':
            fast(cfg);
            break;
        case 'b':
            cfg->detector.broken_us = strtoull(optarg, NULL, 10) * SECOND;
            break;
        case 'r':
            cfg->relay = 0;
            break;
        case 'S':
            ((struct lab *)cfg->user)->ssh = tunnels(optarg);
            break;
        case 't':
#ifdef PHX_TLS
            cfg->tls = 1;
#else
            refuse("-t", "built without TLS");
#endif
            break;
        case 'v':
            cfg->log_level = (int)strtol(optarg, NULL, 10);
            break;
        case '?':
            refuse("usage", "node -s SOCKET [-n NAME] [-l ADDRESS] [-a ADDRESS] [-j HUB] [-k KEYFILE] [-f] "
                            "[-b SECONDS] [-r] [-S SSH-CONFIGURATION] [-t] [-v LEVEL]");
        }
}

/* What is said to the node. The control socket comes last: who can ask finds all done. */
static void begin(struct lab *lab, int argc, char **argv)
{
    const char *path = NULL;
    uint64_t name;
    int o;

    optind = 1;
    while ((o = getopt(argc, argv, OPTIONS)) != -1)
        switch (o) {
        case 's':
            path = optarg;
            break;
        case 'n':
            name = strtoull(optarg, NULL, 10);
            lab->self = lab->self != 0 ? lab->self : name;
            check(optarg, phx_assume(lab->p, name, name));
            break;
        case 'l':
            check(optarg, phx_listen(lab->p, optarg));
            break;
        case 'a':
            check(optarg, phx_advertise(lab->p, optarg));
            break;
        case 'j':
            check(optarg, phx_join(lab->p, optarg));
            break;
        }
    if (path == NULL)
        refuse("-s", "where is the driver to ask?");
    lab->listener = control(path);
}

int main(int argc, char **argv)
{
    static struct lab lab;
    unsigned char key[1024];
    struct phx_config cfg;
    struct phx_id id;
    char text[PHX_ID_TEXT];
    int i;

    signal(SIGPIPE, SIG_IGN);
    for (i = 0; i < CLIENTS_MAX; i++)
        lab.client[i].fd = -1;
    phx_config_init(&cfg);
    cfg.user = &lab;
    cfg.on_message = on_message;
    cfg.on_done = on_done;
    cfg.on_node = on_node;
    cfg.on_conflict = on_conflict;
    cfg.on_log = on_log;
    cfg.dial = on_dial;
    configure(&cfg, argc, argv, key, sizeof key);
    lab.now = phx_now_us();
    check("phx_new", phx_new(&lab.p, &cfg, lab.now));
    begin(&lab, argc, argv);
    phx_self(lab.p, &id);
    say("node %.8s is %" PRIu64, phx_id_text(&id, text), lab.self);
    while (!lab.end || !phx_closed(lab.p))
        turn(&lab);
    phx_free(lab.p);
    phx_ssh_free(lab.ssh);
    say("ended");
    return 0;
}
