/* chat.c - processes that send each other numbered messages by name, and check what arrives. */
#include "chat.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SLICE_US (5 * MS) /* messages are sent this often */
/* A message is given up after this, one in two; the others wait for ever. */
#define CHAT_LIMIT (20 * SECOND)
#define NOT_YET 1 /* as an outcome; real ones are 0 or negative */
/* How long a dead process may pass for the owner of its names: the longest silence until its links
 * are given up, the time until it counts as failed, and as much again for the news. */
#define CHAT_GHOST (25 * SECOND)

struct chat_message {
    uint64_t at;
    uint32_t source, first_life; /* lives: the sender's, and that of the process that got it first */
    uint32_t host, to;           /* the sender's host, and that of the name */
    uint32_t size, received;
    int limited, outcome;
};

/* What a process has got from another one, to its name. */
struct chat_ear {
    uint32_t source; /* life */
    uint64_t next;   /* message numbers below it would be late */
};

struct sim_chat {
    struct chat_message *at;
    size_t count, capacity;
    struct chat_ear *ears; /* by receiving and sending host */
    uint8_t *waiting;      /* by sending and receiving host: PHX_EAGAIN, and no on_writable yet */
    uint8_t *bytes;
    uint64_t *born, *died; /* by host: its latest process's birth, unless it is the first; its last death */
    uint32_t per_second, bytes_max, first, hosts;
    uint64_t failed;
    int talking;
};

static uint32_t life_of(const struct sim *s, uint32_t host)
{
    return s->c->views[host].life;
}

static size_t pair_of(const struct sim *s, uint32_t a, uint32_t b)
{
    return (size_t)a * s->w->o.hosts_max + b;
}

/* ---- What a message looks like ------------------------------------------------------------ */

/* Its number, and then bytes that depend on the number and the place. */
static void fill(uint8_t *p, uint32_t size, uint64_t number)
{
    uint32_t i;

    memcpy(p, &number, sizeof number);
    for (i = (uint32_t)sizeof number; i < size; i++)
        p[i] = (uint8_t)(number * 31 + i * 7 + (i >> 8));
}

static int is_filled(const uint8_t *p, uint32_t size, uint64_t number)
{
    uint32_t i;

    for (i = (uint32_t)sizeof number; i < size; i++)
        if (p[i] != (uint8_t)(number * 31 + i * 7 + (i >> 8)))
            return 0;
    return 1;
}

/* ---- Sending ------------------------------------------------------------------------------ */

static struct chat_message *note(struct sim *s, uint32_t a, uint32_t b, uint32_t size)
{
    struct sim_chat *c = s->chat;
    struct chat_message *m;

    if (c->count == c->capacity) {
        size_t capacity = c->capacity ? c->capacity * 2 : 1024;
        m = realloc(c->at, capacity * sizeof *m);
        if (!m) {
            world_fail(s->w, "the simulator is out of memory");
            return NULL;
        }
        c->at = m;
        c->capacity = capacity;
    }
    m = &c->at[c->count];
    memset(m, 0, sizeof *m);
    m->at = s->w->now;
    m->source = life_of(s, a);
    m->host = a;
    m->to = b;
    m->size = size;
    m->outcome = NOT_YET;
    return m;
}

static void say(struct sim *s, uint32_t a, uint32_t b)
{
    struct sim_chat *c = s->chat;
    uint32_t size = 8 + (uint32_t)rnd(s, rnd(s, 4) ? 200 : c->bytes_max);
    struct chat_message *m = note(s, a, b, size);
    struct phx_outgoing o;
    struct iovec iov;
    int err;

    if (!m)
        return;
    fill(c->bytes, size, c->count);
    memset(&o, 0, sizeof o);
    o.to = b * 10u;
    o.from = a * 10u;
    o.tag = c->count * 3;
    o.token = c->count + 1;
    m->limited = (int)rnd(s, 2);
    o.time_limit_us = m->limited ? CHAT_LIMIT : 0;
    iov.iov_base = c->bytes;
    iov.iov_len = size;
    o.iov = &iov;
    o.iov_count = 1;
    c->count++; /* outcomes come in a step, never here */
    err = phx_sendv(s->nodes[a].p, &o);
    world_touch(s->w, a);
    if (err == 0)
        return;
    c->count--;
    if (err == PHX_EAGAIN)
        c->waiting[pair_of(s, a, b)] = 1;
    else if (err != PHX_ENOMEM && err != PHX_ECLOSED)
        world_fail(s->w, "host %u: phx_sendv to %u: %s", (unsigned)a, (unsigned)b,
                   phx_strerror(err));
}

static void talk(struct sim *s)
{
    struct sim_chat *c = s->chat;
    uint64_t one_in = SECOND / SLICE_US;
    uint32_t i;

    for (i = 0; c->talking && i < s->w->host_count && !s->w->failed; i++) {
        uint64_t n = c->per_second / one_in + (rnd(s, one_in) < c->per_second % one_in);
        for (; n > 0 && s->nodes[i].p; n--) {
            uint32_t b = c->first + (uint32_t)rnd(s, c->hosts);
            if (!c->waiting[pair_of(s, i, b)])
                say(s, i, b);
        }
    }
}

void chat_begin(struct sim *s, uint32_t per_second, uint32_t bytes_max, uint32_t first, uint32_t count)
{
    size_t pairs = (size_t)s->w->o.hosts_max * s->w->o.hosts_max;
    struct sim_chat *c;

    if (s->w->failed)
        return;
    chat_free(s);
    c = s->chat = calloc(1, sizeof *c);
    if (c) {
        c->ears = calloc(pairs, sizeof *c->ears);
        c->waiting = calloc(pairs, 1);
        c->bytes = malloc(bytes_max + 208u);
        c->born = calloc(2 * (size_t)s->w->o.hosts_max, sizeof *c->born);
        c->died = c->born + s->w->o.hosts_max;
    }
    if (!c || !c->ears || !c->waiting || !c->bytes || !c->born) {
        world_fail(s->w, "the simulator is out of memory");
        return;
    }
    c->per_second = per_second;
    c->bytes_max = bytes_max;
    c->first = first;
    c->hosts = count;
    c->talking = 1;
    s->sample = talk;
    s->sample_us = SLICE_US;
}

void chat_hush(struct sim *s)
{
    if (s->chat)
        s->chat->talking = 0;
    s->sample = NULL;
}

void chat_free(struct sim *s)
{
    if (!s->chat)
        return;
    free(s->chat->at);
    free(s->chat->ears);
    free(s->chat->waiting);
    free(s->chat->bytes);
    free(s->chat->born);
    free(s->chat);
    s->chat = NULL;
}

/* ---- Hearing ------------------------------------------------------------------------------ */

/* A new process has heard nothing, and waits for nothing. */
void chat_born(struct sim *s, uint32_t host)
{
    uint32_t i;

    for (i = 0; s->chat && i < s->w->o.hosts_max; i++) {
        memset(&s->chat->ears[pair_of(s, host, i)], 0, sizeof *s->chat->ears);
        s->chat->waiting[pair_of(s, host, i)] = 0;
    }
    if (s->chat && s->w->hosts[host].life > 1)
        s->chat->born[host] = s->w->now;
}

void chat_died(struct sim *s, uint32_t host)
{
    if (s->chat)
        s->chat->died[host] = s->w->now;
}

static void wrong(struct sim *s, uint32_t host, uint64_t number, const char *what)
{
    const struct chat_message *m = &s->chat->at[number];

    world_fail(s->w, "message %llu from host %u (life %u) to name %u, %u bytes, at host %u (life %u): %s",
               (unsigned long long)number, (unsigned)m->host, (unsigned)m->source, (unsigned)m->to * 10u,
               (unsigned)m->size, (unsigned)host, (unsigned)life_of(s, host), what);
}

static const char *judge(struct sim *s, uint32_t host, const struct phx_message *in, uint64_t number)
{
    struct chat_message *m = &s->chat->at[number];
    struct chat_ear *ear = &s->chat->ears[pair_of(s, host, m->host)];

    if (in->size != m->size || in->from != m->host * 10u || in->tag != number * 3)
        return "size, sender or tag changed on the way";
    if (!is_filled(in->data, m->size, number))
        return "its bytes changed on the way";
    if (in->to != m->to * 10u || m->to != host)
        return "it was for somebody else";
    if (m->received > 0 && s->c->lives[m->first_life].alive)
        return "it was received before";
    /* Lives are numbered as they come: what a former life of the sender said may still arrive while
     * its successor speaks, but each of them is heard in order. */
    if (ear->source == m->source + 1 && number < ear->next
        && (!s->chat->born[host] || m->at > s->chat->born[host] + CHAT_GHOST))
        return "a later one was received before";
    return NULL;
}

void chat_heard(struct sim *s, uint32_t host, const struct phx_message *in)
{
    uint64_t number = UINT64_MAX;
    struct chat_message *m;
    struct chat_ear *ear;
    const char *why;

    if (!s->chat)
        return;
    if (in->size >= sizeof number)
        memcpy(&number, in->data, sizeof number);
    if (number >= s->chat->count) {
        world_fail(s->w, "host %u got a message that nobody sent", (unsigned)host);
        return;
    }
    why = judge(s, host, in, number);
    if (why)
        wrong(s, host, number, why);
    m = &s->chat->at[number];
    if (m->received++ == 0 || !s->c->lives[m->first_life].alive)
        m->first_life = life_of(s, host);
    ear = &s->chat->ears[pair_of(s, host, m->host)];
    if (m->source + 1 > ear->source || (m->source + 1 == ear->source && number >= ear->next)) {
        ear->source = m->source + 1;
        ear->next = number + 1;
    }
}

void chat_outcome(struct sim *s, uint32_t host, uint64_t token, int result)
{
    struct chat_message *m;

    if (!s->chat)
        return;
    if (token == 0 || token > s->chat->count || s->chat->at[token - 1].source != life_of(s, host)) {
        world_fail(s->w, "host %u is told the outcome of a send that it did not make", (unsigned)host);
        return;
    }
    m = &s->chat->at[token - 1];
    if (m->outcome != NOT_YET)
        wrong(s, host, token - 1, "a second outcome");
    m->outcome = result;
    s->chat->failed += result != 0;
}

void chat_writable(struct sim *s, uint32_t host, uint64_t to)
{
    if (s->chat && to / 10 < s->w->o.hosts_max)
        s->chat->waiting[pair_of(s, host, (uint32_t)(to / 10))] = 0;
}

/* ---- In the end --------------------------------------------------------------------------- */

static int untold(struct sim *s, const struct chat_message *m)
{
    if (m->outcome != NOT_YET || !s->c->lives[m->source].alive || s->w->now < m->at)
        return 0;
    if (m->limited && s->w->now > m->at + CHAT_LIMIT + SECOND)
        return 1;
    return s->nodes[m->to].p && (m->host == m->to || check_hops(s->c, m->host, m->to) != 255);
}

int chat_told(struct sim *s)
{
    uint32_t a, b;
    size_t i;

    for (i = 0; s->chat && i < s->chat->count; i++) {
        const struct chat_message *m = &s->chat->at[i];
        if (m->outcome == 0 && m->received == 0 && s->chat->died[m->to] < m->at) {
            (void)snprintf(s->why, sizeof s->why,
                           "message %zu from host %u to name %u is said to have arrived, and has not", i,
                           (unsigned)m->host, (unsigned)m->to * 10u);
            return 0;
        }
        if (!untold(s, m))
            continue;
        (void)snprintf(s->why, sizeof s->why,
                       "message %zu of %u bytes from host %u to name %u, %.3f s old, has no outcome, "
                       "and arrived %u times",
                       i, (unsigned)m->size, (unsigned)m->host, (unsigned)m->to * 10u,
                       (double)(s->w->now - m->at) / 1e6, (unsigned)m->received);
        return 0;
    }
    for (a = 0; s->chat && a < s->w->host_count; a++)
        for (b = 0; b < s->w->host_count; b++) {
            if (!s->chat->waiting[pair_of(s, a, b)] || !s->nodes[a].p || !s->nodes[b].p
                || (a != b && check_hops(s->c, a, b) == 255))
                continue;
            (void)snprintf(s->why, sizeof s->why,
                           "host %u was told PHX_EAGAIN for name %u, and nothing since", (unsigned)a,
                           (unsigned)b * 10u);
            return 0;
        }
    return 1;
}

uint64_t chat_sent(const struct sim *s)
{
    return s->chat ? s->chat->count : 0;
}

uint64_t chat_failed(const struct sim *s)
{
    return s->chat ? s->chat->failed : 0;
}
