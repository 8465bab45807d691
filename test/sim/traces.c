/* traces.c - the story of phx_trace: each way is told as it is, and each trace ends once. */

/* Nodes in a row, each of which may link with the next, and with others only where chance allows it. When
 * all is quiet every node traces every other: what it is told must be the way that check.c sees from
 * outside. Then links are cut and nodes die while traces are under way: what they tell nobody can say
 * beforehand, but each ends once and within its patience. */
#include "story.h"

#include <stdlib.h>
#include <string.h>

struct trace_told { /* by asker and target */
    uint32_t begun, ended, wrong;
    int settled;
};

struct traces {
    struct sim *s;
    struct trace_told *told;
    uint64_t good;
};

static struct traces traces;

static struct trace_told *told_at(uint32_t from, uint32_t to)
{
    return &traces.told[from * traces.s->o.nodes + to];
}

/* Is it the time that the world takes over `links` links and back? The links there take `out` us; the answer
 * may come over others, and each frame is late by some jitter and by the delay of the host that steps. */
static int is_the_time(uint64_t rtt, uint64_t out, uint32_t links)
{
    const struct world_options *o = &traces.s->w->o;
    uint64_t late = o->jitter_us + o->delay_max_us;

    return rtt >= out + links * (uint64_t)o->latency_us
           && rtt <= out + links * (o->latency_us + o->spread_us + 2 * late) + o->delay_max_us;
}

/* Is this hop that host, as far from the target as it is, and for a reason if it relays? */
static int is_the_hop(struct check *c, const struct phx_hop *hop, uint32_t at, uint32_t to)
{
    uint32_t life = check_life(c, &hop->id);
    int distance = at == to ? 0 : check_hops(c, at, to);

    return life != WORLD_NONE && c->lives[life].host == at && hop->hops == distance
           && (distance <= 1) == (hop->why == 0);
}

/* Is it just the way that messages take at this moment? */
static int is_the_way(uint32_t from, uint32_t to, const struct phx_trace *t)
{
    struct check *c = traces.s->c;
    uint32_t at = from, next;
    uint64_t out = 0;
    size_t i;

    for (i = 0; i < t->hops_count && at != WORLD_NONE; i++) {
        check_look(c, at); /* sharing load among equal ways is no change to a view */
        next = check_next(c, at, to);
        if (next == WORLD_NONE || !is_the_hop(c, &t->hops[i], next, to))
            return 0;
        out += world_latency(traces.s->w, at, next);
        if (!is_the_time(t->hops[i].rtt_us, out, (uint32_t)i + 1))
            return 0;
        at = next;
    }
    return at == to && t->result == 0 && t->hops_count == check_hops(c, from, to)
           && (t->why == 0) == (t->hops_count == 1);
}

static void traced(phx *p, const struct phx_trace *t, void *user)
{
    const struct sim_node *n = user;
    uint32_t to = (uint32_t)t->token;
    struct trace_told *told = told_at(n->host, to);

    (void)p;
    told->ended++;
    if (told->settled && !is_the_way(n->host, to, t))
        told->wrong++;
    else if (!told->settled && t->result != 0 && t->result != PHX_EUNREACH
             && t->result != PHX_ETIMEDOUT)
        told->wrong++;
    traces.good += t->result == 0;
}

static void trace_all(struct sim *s, int settled)
{
    uint32_t a, b, n = s->o.nodes;
    struct phx_id id;

    for (a = 0; a < n && !s->w->failed; a++)
        for (b = 0; b < n; b++) {
            struct trace_told *told = told_at(a, b);
            if (a == b || s->nodes[a].p == NULL || s->nodes[b].p == NULL)
                continue;
            phx_self(s->nodes[b].p, &id);
            told->settled = settled;
            if (phx_trace(s->nodes[a].p, &id, b) == 0)
                told->begun++;
            else if (settled)
                told->wrong++;
            if (b % 8 == 7) { /* no more than 16 at once, and no more than a relay answers */
                world_touch(s->w, a);
                run_for(s, 200 * MS);
            }
        }
    for (a = 0; a < n; a++)
        world_touch(s->w, a);
}

static double sum_of(uint32_t n, int what)
{
    double sum = 0;
    uint32_t i;

    for (i = 0; i < n * n; i++)
        sum += what ? traces.told[i].wrong : traces.told[i].begun > 0 && traces.told[i].ended == 0;
    return sum;
}

static void traces_in_row(struct sim *s)
{
    uint32_t i, k, n = s->o.nodes;

    s->cfg.on_trace = traced;
    add(s, n, 0, 0);
    for (i = 0; i < n; i++)
        for (k = i + 2; k < n; k++)
            if (rnd(s, n) > 1)
                forbid(s, i, k);
    for (i = 1; i < n; i++)
        join(s, i, i - 1);
    start_all(s);
    wait_until(s, all_well, 2 * MINUTE);
    (void)settle(s, 3 * SECOND, MINUTE);
}

void tell_traces(struct sim *s)
{
    uint32_t i, n = s->o.nodes;

    traces.s = s;
    traces.good = 0;
    traces.told = calloc((size_t)n * n, sizeof *traces.told);
    if (traces.told == NULL)
        return;
    traces_in_row(s);
    trace_all(s, 1);
    run_for(s, SECOND);
    bar(s, "traces that tell another way", sum_of(n, 1), 0);
    bar(s, "traces of a quiet network without an outcome", sum_of(n, 0), 0);
    bar(s, "traces missing of all pairs", (double)(n * (n - 1)) - (double)traces.good, 0);
    memset(traces.told, 0, (size_t)n * n * sizeof *traces.told);
    for (i = 0; i < n / 2 && !s->w->failed; i++) {
        trace_all(s, 0);
        if (i % 3 == 0)
            sever(s, i, i + 1);
        else if (i % 3 == 1)
            power_off(s, i);
        else
            crash(s, i);
        run_for(s, 3 * SECOND);
    }
    run_for(s, 6 * SECOND);
    for (i = 0; i < n * n; i++) /* of a dead asker nobody hears */
        if (traces.told[i].ended > traces.told[i].begun
            || (s->nodes[i / n].p != NULL && traces.told[i].ended < traces.told[i].begun))
            traces.told[i].wrong++;
    bar(s, "traces in a broken network without one outcome", sum_of(n, 1), 0);
    free(traces.told);
    traces.told = NULL;
}
