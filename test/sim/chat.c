/* chat.c - processes that send each other messages by name, names that move between them, and a ledger
 * of it all. */
#include "chat.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SLICE_US (5 * MS) /* messages are sent, and names moved, this often */
/* A message with a limit is given up after this. */
#define CHAT_LIMIT (20 * SECOND)
/* The first roaming name: far above what hosts own. */
#define ROAMING 1000000u
/* A name whose holder died finds another within this. It is well below broken_us, so that messages
 * for it find somebody at every moment at which they might be failed. */
#define ADOPTED (2 * SECOND)
#define POURS 64u
/* Messages of a burst, at most. */
#define BURST 40u
/* A silent death is seen after a heartbeat and a time-out, and counts as failed broken_us later: 15 s
 * with the usual detector, which the stories of deaths keep. */
#define DEATH_TOLD (16 * SECOND)
/* What a node says is pending is compared with the ledger once in so many of its steps: that walks all
 * its queues. */
#define PENDING_EVERY 32u

struct chat_roam {
    uint32_t to, from;       /* who is to assume it, who to release it */
    uint64_t to_at, from_at; /* when; 0: nothing is due */
};

struct chat_pour {
    uint32_t a, name, bytes;
};

struct sim_chat {
    struct chat_plan plan;
    struct ledger ledger;
    uint32_t hosts, names; /* hosts_max; names talked about, the roaming ones last */
    uint8_t *waiting;      /* by host and name: PHX_EAGAIN, and no on_writable yet */
    uint8_t *cast_waiting; /* ... of a cast: it is for one of these names that on_writable must come */
    uint32_t *members;     /* scratch: names of a cast */
    uint64_t *died_at;     /* by host: its last process */
    struct check_told *told; /* by host: what its process was told */
    uint64_t casts, refused, mute;
    uint8_t *holds;        /* by host and roaming name */
    struct chat_roam *roams;
    uint8_t *bytes;
    uint64_t *failed_at; /* by host: when somebody failed last in its process's eyes */
    uint64_t *heard;     /* by host, bytes */
    struct chat_pour pours[POURS];
    uint32_t pour_count;
    uint32_t most;       /* the largest message so far */
    size_t told_below;   /* the ledger's entries below it need no more looking at */
    int talking;
};

static uint32_t life_of(const struct sim *s, uint32_t host)
{
    return s->c->views[host].life;
}

static uint64_t name_at(const struct sim_chat *c, uint32_t name)
{
    uint32_t fixed = c->names - c->plan.roaming;

    return name < fixed ? (c->plan.first + name) * 10u : ROAMING + (name - fixed);
}

/* Which of the names that is; c->names: none. */
static uint32_t name_find(const struct sim_chat *c, uint64_t to)
{
    uint32_t fixed = c->names - c->plan.roaming;

    if (to >= ROAMING)
        return to - ROAMING < c->plan.roaming ? fixed + (uint32_t)(to - ROAMING) : c->names;
    return to % 10 == 0 && to / 10 >= c->plan.first && to / 10 - c->plan.first < fixed
               ? (uint32_t)(to / 10) - c->plan.first
               : c->names;
}

static uint8_t *waits(const struct sim_chat *c, uint32_t host, uint32_t name)
{
    return &c->waiting[(size_t)host * c->names + name];
}

static uint8_t *cast_waits(const struct sim_chat *c, uint32_t host)
{
    return &c->cast_waiting[(size_t)host * c->names];
}

static uint8_t *holds(const struct sim_chat *c, uint32_t host, uint32_t k)
{
    return &c->holds[(size_t)host * c->plan.roaming + k];
}

static void blame(struct sim *s)
{
    struct sim_chat *c = s->chat;

    world_say(s->w, 1, "%s", c->ledger.why);
    if (c->plan.is_strict)
        world_fail(s->w, "%s", c->ledger.why);
}

/* ---- Sending ------------------------------------------------------------------------------ */

static void entered(struct sim *s, uint32_t a, uint32_t name, uint32_t size, uint64_t limit_at,
                    int is_mute)
{
    struct sim_chat *c = s->chat;
    struct ledger_message *m = ledger_add(&c->ledger);

    if (!m) {
        world_fail(s->w, "the simulator is out of memory");
        return;
    }
    m->at = s->w->now;
    m->source = life_of(s, a);
    m->host = a;
    m->name = name;
    m->size = size;
    m->limit_at = limit_at;
    m->is_mute = is_mute;
    if (is_mute) {
        c->mute++;
        c->told[a].mute++;
        c->told[a].mute_bytes += size;
    } else {
        c->told[a].untold++;
        c->told[a].untold_bytes += size;
    }
    c->most = size > c->most ? size : c->most;
}

/* The node's clock is its last step's. */
static uint64_t some_limit(struct sim *s, uint32_t a)
{
    return s->chat->plan.limits && rnd(s, 2) ? s->nodes[a].stepped_at + CHAT_LIMIT : 0;
}

/* 0, or why it was not accepted. */
static int say(struct sim *s, uint32_t a, uint32_t name, uint32_t size, int is_mute)
{
    struct sim_chat *c = s->chat;
    uint64_t number = c->ledger.count, limit_at;
    struct phx_outgoing o;
    struct iovec iov;
    int err;

    ledger_fill(c->bytes, size, number);
    memset(&o, 0, sizeof o);
    o.to = name_at(c, name);
    o.from = a * 10u;
    o.tag = number + 1;
    o.token = is_mute ? 0 : number + 1;
    limit_at = is_mute ? 0 : some_limit(s, a);
    o.time_limit_us = limit_at ? CHAT_LIMIT : 0;
    iov.iov_base = c->bytes;
    iov.iov_len = size;
    o.iov = &iov;
    o.iov_count = 1;
    err = phx_sendv(s->nodes[a].p, &o); /* outcomes come in a step, never here */
    world_touch(s->w, a);
    if (err == 0)
        entered(s, a, name, size, limit_at, is_mute);
    else if (err == PHX_EAGAIN)
        *waits(c, a, name) = 1;
    else if (err != PHX_ENOMEM && err != PHX_ECLOSED)
        world_fail(s->w, "host %u: phx_sendv to name %llu: %s", (unsigned)a,
                   (unsigned long long)o.to, phx_strerror(err));
    return err;
}

/* ---- Casting ------------------------------------------------------------------------------ */

/* Adds the members that a cast of a's to the range must have: who holds some of it in a's eyes, each under
 * the first name that it holds; a single name also if nobody does. Returns how many there are then; 0
 * if the range is not to be used: a has no memory to say, or one of them is there already (and then it
 * could not be said which of the two an outcome is of). */
static uint32_t add_members(struct sim *s, uint32_t a, const struct phx_range *r, uint32_t have)
{
    struct sim_chat *c = s->chat;
    uint32_t owners[512], owner, count = have, i;
    uint64_t name;

    for (name = r->first; name <= r->last; name++) {
        if (check_owner(s->c, a, name, &owner) < 0)
            return 0;
        for (i = have; i < count && owners[i - have] != owner; i++)
            continue;
        if (i < count || (owner == WORLD_NONE && r->first != r->last))
            continue;
        c->members[count] = name_find(c, name);
        for (i = 0; i < have && c->members[i] != c->members[count]; i++)
            continue;
        if (i < have || count == c->names || count - have == 512)
            return 0;
        if (c->members[count] == c->names)
            world_fail(s->w, "a range would have a member at name %llu", (unsigned long long)name);
        owners[count++ - have] = owner;
    }
    return count;
}

static struct phx_range some_range(struct sim *s)
{
    struct sim_chat *c = s->chat;
    uint32_t fixed = c->names - c->plan.roaming, a, b;
    uint64_t kind = rnd(s, 4);
    struct phx_range r;

    if (kind == 0 && fixed > 0) {
        a = (uint32_t)rnd(s, fixed);
        b = a + (uint32_t)rnd(s, fixed - a);
        r.first = name_at(c, a);
        r.last = name_at(c, b) + 9;
    } else if (kind == 1 && c->plan.roaming > 0) {
        r.first = name_at(c, fixed + (uint32_t)rnd(s, c->plan.roaming));
        r.last = name_at(c, c->names - 1);
    } else {
        r.first = r.last = name_at(c, (uint32_t)rnd(s, c->names));
    }
    return r;
}

/* It was accepted, for that many. */
static void cast_entered(struct sim *s, uint32_t a, const struct phx_cast *o, uint32_t count,
                         uint64_t limit_at)
{
    struct sim_chat *c = s->chat;
    uint32_t i;

    c->casts++;
    for (i = 0; i < count && !s->w->failed; i++) {
        entered(s, a, c->members[i], (uint32_t)o->size, limit_at, 0);
        c->ledger.at[c->ledger.count - 1].members = count;
        c->ledger.at[c->ledger.count - 1].place = i;
    }
}

/* To the ranges, whose members are in c->members. */
static int cast_to(struct sim *s, uint32_t a, const struct phx_range *ranges, uint32_t ranges_count,
                   uint32_t count, uint32_t size)
{
    struct sim_chat *c = s->chat;
    uint64_t limit_at = some_limit(s, a);
    struct phx_cast o;
    uint32_t i;
    int n;

    ledger_fill(c->bytes, size, c->ledger.count);
    memset(&o, 0, sizeof o);
    o.ranges = ranges;
    o.ranges_count = ranges_count;
    o.from = a * 10u;
    o.tag = o.token = c->ledger.count + 1;
    o.time_limit_us = limit_at ? CHAT_LIMIT : 0;
    o.data = c->bytes;
    o.size = size;
    n = phx_cast(s->nodes[a].p, &o);
    world_touch(s->w, a);
    if (n > 0 && (uint32_t)n == count)
        cast_entered(s, a, &o, count, limit_at);
    else if (n == PHX_EAGAIN)
        for (c->refused++, i = 0; i < count; i++)
            cast_waits(c, a)[c->members[i]] = 1;
    else if (n != PHX_ENOMEM && n != PHX_ECLOSED && (n != PHX_ENOTFOUND || count > 0))
        world_fail(s->w, "host %u: phx_cast to %u members: %d", (unsigned)a, (unsigned)count, n);
    return n;
}

static int cast(struct sim *s, uint32_t a, uint32_t size)
{
    struct phx_range ranges[CHAT_RANGES];
    uint32_t count = 0, more, used = 0, tries = 1 + (uint32_t)rnd(s, CHAT_RANGES);

    if (memchr(cast_waits(s->chat, a), 1, s->chat->names) != NULL)
        return PHX_EAGAIN;
    while (tries--) {
        ranges[used] = some_range(s);
        more = add_members(s, a, &ranges[used], count);
        used += more > count;
        count = more > count ? more : count;
    }
    return used > 0 && !s->w->failed ? cast_to(s, a, ranges, used, count, size) : PHX_EAGAIN;
}

void chat_cast_all(struct sim *s, uint32_t a, uint32_t bytes)
{
    uint32_t fixed = s->chat ? s->chat->names - s->chat->plan.roaming : 0, count;
    struct phx_range all;

    if (s->w->failed)
        return;
    all.first = name_at(s->chat, 0);
    all.last = name_at(s->chat, fixed - 1) + 9;
    count = add_members(s, a, &all, 0);
    if (count < fixed || cast_to(s, a, &all, 1, count, bytes) != (int)fixed)
        world_fail(s->w, "host %u cannot cast to all", (unsigned)a);
}

/* ---- Talking ------------------------------------------------------------------------------ */

static uint32_t some_size(struct sim *s)
{
    const struct chat_plan *plan = &s->chat->plan;

    if (plan->huge_one_in && rnd(s, plan->huge_one_in) == 0)
        return (uint32_t)s->cfg.max_message;
    switch (rnd(s, 4)) {
    case 0: return (uint32_t)rnd(s, plan->bytes_max + 1);
    case 1: return (uint32_t)rnd(s, 3);
    default: return (uint32_t)rnd(s, plan->bytes_max < 200 ? plan->bytes_max + 1 : 200);
    }
}

static void cancel(struct sim *s, uint32_t a)
{
    struct ledger *l = &s->chat->ledger;
    uint64_t number = l->count - 1 - rnd(s, l->count < 32 ? l->count : 32);
    struct ledger_message *m = &l->at[number];
    uint32_t i;
    int err;

    if (m->source != life_of(s, a) || m->outcome != LEDGER_UNTOLD || m->cancelled)
        return;
    err = phx_cancel(s->nodes[a].p, number - m->place + 1);
    m->cancelled = err == 0 && !m->members;
    for (m -= m->place, i = 0; err == 0 && i < m->members; i++)
        m[i].cancelled = 2;
    world_touch(s->w, a);
    if (err != 0 && err != PHX_ENOTFOUND)
        world_fail(s->w, "host %u: phx_cancel: %s", (unsigned)a, phx_strerror(err));
}

/* Small ones to one name without a pause, which go in one frame where they can; every now and then one
 * between them that cannot. */
static void burst(struct sim *s, uint32_t a, uint32_t name)
{
    uint64_t n;
    int is_mute; /* drawn before the size: arguments are evaluated in any order, not the same everywhere */

    for (n = 2 + rnd(s, BURST); n > 0 && s->nodes[a].p && !s->w->failed; n--) {
        if (*waits(s->chat, a, name))
            return;
        is_mute = rnd(s, 16) != 0;
        if (say(s, a, name, (uint32_t)rnd(s, 100), is_mute) != 0)
            return;
    }
}

static void talk_one(struct sim *s, uint32_t a)
{
    const struct chat_plan *plan = &s->chat->plan;
    uint64_t one_in = SECOND / SLICE_US;
    uint64_t n = plan->per_second / one_in + (rnd(s, one_in) < plan->per_second % one_in);

    for (; n > 0 && s->nodes[a].p && !s->w->failed; n--) {
        uint32_t name = (uint32_t)rnd(s, s->chat->names);
        int is_said;
        if (plan->burst_one_in && rnd(s, plan->burst_one_in) == 0) {
            burst(s, a, name); /* and nothing behind it, so that its last frame is left open */
            continue;
        }
        if (plan->cast_one_in && rnd(s, plan->cast_one_in) == 0)
            is_said = cast(s, a, some_size(s)) > 0;
        else
            is_said = !*waits(s->chat, a, name) && say(s, a, name, some_size(s), 0) == 0;
        if (is_said && plan->cancels && rnd(s, 32) == 0)
            cancel(s, a);
    }
}

static void pour(struct sim *s, const struct chat_pour *q)
{
    while (s->chat->talking && s->nodes[q->a].p && !s->w->failed && !*waits(s->chat, q->a, q->name))
        if (say(s, q->a, q->name, q->bytes, 0) != 0)
            break;
}

void chat_pour(struct sim *s, uint32_t a, uint32_t b, uint32_t bytes)
{
    struct sim_chat *c = s->chat;
    struct chat_pour *q;

    if (s->w->failed)
        return;
    q = &c->pours[c->pour_count];
    if (c->pour_count == POURS || bytes > s->cfg.max_message) {
        world_fail(s->w, "no such pour");
        return;
    }
    q->a = a;
    q->name = name_find(c, b * 10u);
    q->bytes = bytes;
    c->pour_count++;
}

/* ---- Names that move ---------------------------------------------------------------------- */

static void release(struct sim *s, uint32_t k, uint32_t host)
{
    if (!s->nodes[host].p || !*holds(s->chat, host, k)
        || phx_release(s->nodes[host].p, ROAMING + k, ROAMING + k) != 0)
        return; /* without memory it stays there until somebody else claims it */
    *holds(s->chat, host, k) = 0;
    world_touch(s->w, host);
    world_say(s->w, 1, "host %u releases name %u", (unsigned)host, (unsigned)(ROAMING + k));
}

/* 0, or it could not be done now. */
static int assume(struct sim *s, uint32_t k, uint32_t host)
{
    if (!s->nodes[host].p || phx_assume(s->nodes[host].p, ROAMING + k, ROAMING + k) != 0)
        return -1;
    *holds(s->chat, host, k) = 1;
    world_touch(s->w, host);
    world_say(s->w, 1, "host %u assumes name %u", (unsigned)host, (unsigned)(ROAMING + k));
    return 0;
}

static uint32_t holder_of(const struct sim *s, uint32_t k)
{
    uint32_t i;

    for (i = 0; i < s->w->host_count; i++)
        if (s->nodes[i].p && *holds(s->chat, i, k))
            return i;
    return WORLD_NONE;
}

static void release_due(struct sim *s, uint32_t k)
{
    struct chat_roam *r = &s->chat->roams[k];

    if (r->from_at == 0 || r->from_at > s->w->now)
        return;
    r->from_at = 0;
    if (s->nodes[r->to].p && *holds(s->chat, r->to, k)) /* or the new holder has died already */
        release(s, k, r->from);
}

static void assume_due(struct sim *s, uint32_t k)
{
    struct chat_roam *r = &s->chat->roams[k];

    if (r->to_at == 0 && holder_of(s, k) == WORLD_NONE) { /* an orphan */
        r->to = (uint32_t)rnd(s, s->w->host_count);
        r->to_at = s->w->now + 1 + rnd(s, ADOPTED);
    }
    if (r->to_at == 0 || r->to_at > s->w->now)
        return;
    r->to_at = 0;
    if (assume(s, k, r->to) != 0) {
        r->to = (uint32_t)rnd(s, s->w->host_count);
        r->to_at = s->w->now + 50 * MS;
    }
}

void chat_move(struct sim *s, uint32_t k, uint32_t to, int64_t gap_us)
{
    struct chat_roam *r;
    uint32_t i;

    if (s->w->failed)
        return;
    r = &s->chat->roams[k];
    r->from = holder_of(s, k);
    r->from_at = 0;
    r->to = to;
    r->to_at = s->w->now + (uint64_t)(gap_us > 0 ? gap_us : 0);
    if (gap_us >= 0)
        for (i = 0; i < s->w->host_count; i++)
            release(s, k, i);
    else if (r->from != WORLD_NONE && r->from != to)
        r->from_at = s->w->now + (uint64_t)-gap_us;
    if (gap_us <= 0)
        assume_due(s, k);
}

uint32_t chat_roaming(const struct sim *s)
{
    return s->chat ? s->chat->plan.roaming : 0;
}

/* ---- Time passes --------------------------------------------------------------------------- */

static void slice(struct sim *s)
{
    struct sim_chat *c = s->chat;
    uint32_t i, first = c->plan.talk_first;
    uint32_t end = c->plan.talkers ? first + c->plan.talkers : s->w->host_count;

    for (i = 0; i < c->plan.roaming && !s->w->failed; i++) {
        release_due(s, i);
        assume_due(s, i);
    }
    for (i = first; c->talking && i < end && !s->w->failed; i++)
        talk_one(s, i);
    for (i = 0; i < c->pour_count; i++)
        pour(s, &c->pours[i]);
}

static int allocate(struct sim_chat *c, const struct sim *s)
{
    const struct chat_plan *plan = &c->plan;
    uint32_t most = plan->bytes_max > s->cfg.max_message ? plan->bytes_max : (uint32_t)s->cfg.max_message;

    c->waiting = calloc(c->hosts, c->names);
    c->cast_waiting = calloc(c->hosts, c->names);
    c->members = calloc(c->names + 1u, sizeof *c->members);
    c->died_at = calloc(c->hosts, sizeof *c->died_at);
    c->told = calloc(c->hosts, sizeof *c->told);
    c->holds = calloc(c->hosts, plan->roaming + 1);
    c->roams = calloc(plan->roaming + 1, sizeof *c->roams);
    c->bytes = malloc(most + 1u);
    c->failed_at = calloc(c->hosts, sizeof *c->failed_at);
    c->heard = calloc(c->hosts, sizeof *c->heard);
    return c->waiting && c->cast_waiting && c->members && c->died_at && c->told && c->holds && c->roams
                   && c->bytes && c->failed_at && c->heard
               ? 0
               : -1;
}

void chat_begin(struct sim *s, const struct chat_plan *plan)
{
    struct sim_chat *c;

    if (s->w->failed)
        return;
    chat_free(s);
    c = s->chat = calloc(1, sizeof *c);
    if (c) {
        c->plan = *plan;
        c->hosts = s->w->o.hosts_max;
        c->names = plan->count + plan->roaming;
        c->talking = 1;
    }
    if (!c || allocate(c, s) < 0) {
        world_fail(s->w, "the simulator is out of memory");
        return;
    }
    s->sample = slice;
    s->sample_us = SLICE_US;
}

void chat_hush(struct sim *s)
{
    if (s->chat)
        s->chat->talking = 0;
    if (s->chat && s->chat->plan.roaming == 0)
        s->sample = NULL;
}

void chat_free(struct sim *s)
{
    if (!s->chat)
        return;
    ledger_free(&s->chat->ledger);
    free(s->chat->waiting);
    free(s->chat->cast_waiting);
    free(s->chat->members);
    free(s->chat->died_at);
    free(s->chat->told);
    free(s->chat->holds);
    free(s->chat->roams);
    free(s->chat->bytes);
    free(s->chat->failed_at);
    free(s->chat->heard);
    free(s->chat);
    s->chat = NULL;
    if (s->sample == slice)
        s->sample = NULL;
}

/* ---- What processes tell ------------------------------------------------------------------- */

/* A new process waits for nothing, and knows of no failure. */
void chat_born(struct sim *s, uint32_t host)
{
    if (!s->chat)
        return;
    memset(waits(s->chat, host, 0), 0, s->chat->names);
    memset(cast_waits(s->chat, host), 0, s->chat->names);
    memset(&s->chat->told[host], 0, sizeof *s->chat->told);
    s->chat->failed_at[host] = 0;
}

/* It gives up itself what it cannot deliver in time: from its view, all may fail. */
void chat_leaves(struct sim *s, uint32_t host)
{
    if (s->chat)
        s->chat->failed_at[host] = WORLD_NEVER;
}

/* Called while the process still counts as alive. */
void chat_died(struct sim *s, uint32_t host, int in_peace)
{
    struct sim_chat *c = s->chat;
    size_t i;

    if (!c)
        return;
    if (c->plan.roaming > 0)
        memset(holds(c, host, 0), 0, c->plan.roaming);
    c->died_at[host] = s->w->now;
    for (i = c->told_below; in_peace && i < c->ledger.count; i++)
        if (c->ledger.at[i].source == life_of(s, host) && c->ledger.at[i].outcome == LEDGER_UNTOLD
            && !c->ledger.at[i].is_mute) {
            ledger_fault(&c->ledger, LEDGER_UNTOLD_ONE, i, "its sender has left, and no outcome");
            blame(s);
        }
}

static int is_alive(void *ctx, uint32_t life)
{
    const struct sim *s = ctx;

    return s->c->lives[life].alive;
}

void chat_heard(struct sim *s, uint32_t host, const struct phx_message *in)
{
    struct sim_chat *c = s->chat;
    uint32_t name, fixed;
    uint64_t number;
    int right;

    if (!c)
        return;
    fixed = c->names - c->plan.roaming;
    name = name_find(c, in->to);
    right = name < fixed ? c->plan.first + name == host
                         : name < c->names && *holds(c, host, name - fixed);
    number = ledger_find(&c->ledger, in->tag, name);
    if (number != LEDGER_NONE)
        right = right && c->ledger.at[number].name == name
                && check_life(s->c, &in->source) == c->ledger.at[number].source;
    c->heard[host] += in->size;
    if (ledger_heard(&c->ledger, life_of(s, host), number, in, right, is_alive, s) != 0)
        blame(s);
    else if (number != LEDGER_NONE && c->ledger.at[number].heard_at == 0)
        c->ledger.at[number].heard_at = s->w->now;
    if (c->plan.flee_one_in && name >= fixed && name < c->names && rnd(s, c->plan.flee_one_in) == 0) {
        int64_t gap = (int64_t)(1 + rnd(s, 20 * MS));
        chat_move(s, name - fixed, (uint32_t)rnd(s, s->w->host_count), gap);
    }
}

static void told(struct sim *s, uint32_t host, uint64_t number, uint64_t left, int result)
{
    struct sim_chat *c = s->chat;
    struct check_told *t = &c->told[host];

    if (ledger_outcome(&c->ledger, life_of(s, host), number, left, result, s->w->now,
                       c->failed_at[host]) != 0)
        blame(s);
    if (number == LEDGER_NONE || s->w->failed)
        return;
    t->untold--;
    t->untold_bytes -= c->ledger.at[number].size;
    t->expired += (unsigned)ledger_expired(result);
    t->expired_bytes += ledger_expired(result) ? c->ledger.at[number].size : 0;
}

void chat_outcome(struct sim *s, uint32_t host, uint64_t token, uint64_t to, uint64_t tag, int result)
{
    struct ledger *l = s->chat ? &s->chat->ledger : NULL;

    if (l && token - 1 < l->count && (tag != token || l->at[token - 1].name != name_find(s->chat, to)))
        ledger_fault(l, LEDGER_CORRUPT, token - 1, "its outcome names another message");
    if (s->chat)
        told(s, host, token - 1 < s->chat->ledger.count ? token - 1 : LEDGER_NONE, LEDGER_NONE, result);
}

void chat_member(struct sim *s, uint32_t host, uint64_t token, uint64_t to, int result, uint64_t left)
{
    if (s->chat)
        told(s, host, ledger_find(&s->chat->ledger, token, name_find(s->chat, to)), left, result);
}

void chat_writable(struct sim *s, uint32_t host, uint64_t to)
{
    uint32_t i, name = s->chat ? name_find(s->chat, to) : 0;

    if (!s->chat || name == s->chat->names)
        return;
    *waits(s->chat, host, name) = 0;
    if (cast_waits(s->chat, host)[name])
        memset(cast_waits(s->chat, host), 0, s->chat->names);
    for (i = 0; i < s->chat->pour_count; i++)
        if (s->chat->pours[i].a == host && s->chat->pours[i].name == name)
            pour(s, &s->chat->pours[i]);
}

void chat_conflict(struct sim *s, uint32_t host, struct phx_range range)
{
    uint32_t k;

    for (k = 0; s->chat && k < s->chat->plan.roaming; k++)
        if (range.first <= ROAMING + k && ROAMING + k <= range.last)
            *holds(s->chat, host, k) = 0;
}

void chat_judged(struct sim *s, uint32_t host, const struct phx_node *node)
{
    uint32_t life;

    if (!s->chat || (node->state != PHX_NODE_FAILED && node->state != PHX_NODE_LEFT))
        return;
    if (s->chat->failed_at[host] != WORLD_NEVER)
        s->chat->failed_at[host] = s->w->now;
    life = check_life(s->c, &node->id);
    world_say(s->w, 1, "host %u: life %u has %s", (unsigned)host, (unsigned)life,
              node->state == PHX_NODE_FAILED ? "failed" : "left");
    if (life != WORLD_NONE)
        ledger_excuse(&s->chat->ledger, life_of(s, host), life);
}

void chat_stepped(struct sim *s, uint32_t host)
{
    if (!s->chat || !s->nodes[host].p)
        return;
    check_bounds(s->c, host, &s->cfg, s->chat->most, s->chat->plan.cast_one_in ? CHAT_RANGES : 1);
    if (s->w->hosts[host].steps % PENDING_EVERY == 0)
        check_pending(s->c, host, &s->chat->told[host]);
}

/* ---- In the end --------------------------------------------------------------------------- */

static int is_near(struct sim *s, uint32_t a, uint32_t b)
{
    return s->nodes[b].p && (a == b || check_hops(s->c, a, b) != 255);
}

/* Nothing more is to be asked of it. What is mute may have failed when somebody has. */
static int is_over(const struct sim *s, const struct ledger_message *m)
{
    if (!s->c->lives[m->source].alive)
        return 1;
    return m->is_mute ? m->received > 0 || s->chat->failed_at[m->host] >= m->at
                      : m->outcome != LEDGER_UNTOLD;
}

/* Should it have its outcome by now? */
static int is_overdue(struct sim *s, const struct ledger_message *m)
{
    const struct sim_chat *c = s->chat;
    uint32_t fixed = c->names - c->plan.roaming, b;

    if (m->limit_at != 0 && s->w->now > m->limit_at + SECOND)
        return 1;
    b = m->name < fixed ? c->plan.first + m->name : holder_of(s, m->name - fixed);
    if (b != WORLD_NONE && c->plan.dead_are_told && !s->nodes[b].p && m->at < c->died_at[b]
        && c->died_at[b] + DEATH_TOLD < s->w->now)
        return 1;
    return b != WORLD_NONE && is_near(s, m->host, b);
}

static int all_writable(struct sim *s)
{
    const struct sim_chat *c = s->chat;
    uint32_t a, name;

    for (a = 0; a < s->w->host_count; a++)
        for (name = 0; name < c->names - c->plan.roaming; name++) {
            if (!*waits(c, a, name) || !s->nodes[a].p || !is_near(s, a, c->plan.first + name))
                continue;
            (void)snprintf(s->why, sizeof s->why,
                           "host %u was told PHX_EAGAIN for name %llu, and nothing since", (unsigned)a,
                           (unsigned long long)name_at(c, name));
            return 0;
        }
    return 1;
}

/* One of the names for which a cast found no room must have become writable: it is not known which, so
 * only where all their holders are near. */
static int all_castable(struct sim *s)
{
    const struct sim_chat *c = s->chat;
    uint32_t fixed = c->names - c->plan.roaming, a, name, b;

    for (a = 0; a < s->w->host_count; a++) {
        int near = s->nodes[a].p && memchr(cast_waits(c, a), 1, c->names) != NULL;
        for (name = 0; near && name < c->names; name++) {
            b = name < fixed ? c->plan.first + name : holder_of(s, name - fixed);
            near = !cast_waits(c, a)[name] || (b != WORLD_NONE && is_near(s, a, b));
        }
        if (!near)
            continue;
        (void)snprintf(s->why, sizeof s->why, "host %u: a cast was told PHX_EAGAIN, and nothing since",
                       (unsigned)a);
        return 0;
    }
    return 1;
}

int chat_told(struct sim *s)
{
    struct sim_chat *c = s->chat;
    int in_front = 1;
    size_t i;

    for (i = c ? c->told_below : 0; c && i < c->ledger.count; i++) {
        const struct ledger_message *m = &c->ledger.at[i];
        int over = is_over(s, m);
        if (in_front && over)
            c->told_below = i + 1;
        in_front = in_front && over;
        if (over || !is_overdue(s, m))
            continue;
        (void)snprintf(s->why, sizeof s->why,
                       "message %zu of %u bytes from host %u to name %llu, %.3f s old, has no outcome, "
                       "and arrived %u times",
                       i, (unsigned)m->size, (unsigned)m->host, (unsigned long long)name_at(c, m->name),
                       (double)(s->w->now - m->at) / 1e6, (unsigned)m->received);
        return 0;
    }
    return !c || (all_writable(s) && all_castable(s));
}

uint64_t chat_bytes(const struct sim *s, uint32_t b)
{
    return s->chat ? s->chat->heard[b] : 0;
}

uint64_t chat_sent(const struct sim *s)
{
    return s->chat ? s->chat->ledger.count : 0;
}

uint64_t chat_casts(const struct sim *s)
{
    return s->chat ? s->chat->casts : 0;
}

uint64_t chat_refused(const struct sim *s)
{
    return s->chat ? s->chat->refused : 0;
}

uint64_t chat_mute(const struct sim *s)
{
    return s->chat ? s->chat->mute : 0;
}

uint64_t chat_failed(const struct sim *s)
{
    return s->chat ? s->chat->ledger.not_delivered : 0;
}

uint64_t chat_failed_to(const struct sim *s, uint32_t b)
{
    const struct sim_chat *c = s->chat;
    uint64_t n = 0;
    size_t i;

    for (i = 0; c && i < c->ledger.count; i++)
        n += c->ledger.at[i].name == name_find(c, b * 10u) && c->ledger.at[i].outcome < 0;
    return n;
}

size_t chat_delays(const struct sim *s, uint32_t a, uint32_t b, uint64_t since, uint64_t *out, size_t most)
{
    const struct sim_chat *c = s->chat;
    uint32_t name = c ? name_find(c, b * 10u) : 0;
    size_t i, n = 0;

    for (i = 0; c && i < c->ledger.count && n < most; i++) {
        const struct ledger_message *m = &c->ledger.at[i];
        if (m->host == a && m->name == name && m->at >= since)
            out[n++] = (m->heard_at ? m->heard_at : s->w->now) - m->at;
    }
    return n;
}

/* While there is no route nobody owes an outcome or on_writable; so it must be true when there are all. */
static int told_and_well(struct sim *s)
{
    return chat_told(s) && all_well(s);
}

static void count_untold(struct sim *s)
{
    struct sim_chat *c = s->chat;
    size_t i;

    for (i = c->told_below; i < c->ledger.count; i++)
        if (!is_over(s, &c->ledger.at[i]) && is_overdue(s, &c->ledger.at[i]))
            ledger_fault(&c->ledger, c->ledger.at[i].is_mute ? LEDGER_LOST : LEDGER_UNTOLD_ONE, i,
                         c->ledger.at[i].is_mute ? "mute, and it never arrived" : "no outcome");
}

void chat_bars(struct sim *s, const char *story, uint64_t limit_us)
{
    static const char *const what[LEDGER_FAULTS] = { "messages lost", "messages doubled",
        "messages reordered", "sends without one outcome", "messages or outcomes corrupt" };
    char name[96];
    int i, told;

    if (s->w->failed)
        return;
    told = wait_for(s, told_and_well, limit_us);
    if (s->w->failed)
        return;
    count_untold(s);
    for (i = 0; i < LEDGER_FAULTS; i++) {
        (void)snprintf(name, sizeof name, "%s %s", story, what[i]);
        bar(s, name, (double)s->chat->ledger.faults[i], 0);
    }
    (void)snprintf(name, sizeof name, "%s messages", story);
    figure(s, name, (double)s->chat->ledger.count);
    if (s->chat->mute > 0) {
        (void)snprintf(name, sizeof name, "%s of them in bursts", story);
        figure(s, name, (double)s->chat->mute);
    }
    if (s->chat->ledger.heard_again > 0) {
        (void)snprintf(name, sizeof name, "%s second deliveries at an heir", story);
        figure(s, name, (double)s->chat->ledger.heard_again);
    }
    if (s->chat->ledger.why[0])
        world_fail(s->w, "%s", s->chat->ledger.why);
    else if (!told)
        world_fail(s->w, "%s", s->why);
}
