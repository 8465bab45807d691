/* t_post_model.c - random worlds, checked against a model of what may arrive where. */
#include "post_rig.h"

/* ---- Everything at once */

static size_t random_size(struct world *w)
{
    switch (below(w, 12)) {
    case 0: return 0;
    case 1: return 1;
    case 2: return 4090 + below(w, 12);
    case 3: return 65530 + below(w, 12);
    case 4: return below(w, 8) == 0 ? 1u << 20 : 200;
    case 5: return below(w, 200000);
    default: return below(w, 300);
    }
}

/* ---- A model: names that move, nodes that die and come back */

enum { STREAM = 2400 };
struct model {
    int holder[NAMES];     /* in truth; -1 nobody */
    uint64_t life[NODES];
    int news[NODES];       /* its view changed, and the room was not told yet */
    struct {               /* what node [a] in its present life sent to name [b] */
        struct {
            int by;        /* who got it; -1 nobody */
            uint64_t by_life;
            int ended;
            int is_mute;       /* it has no token, so nobody tells how it ended */
        } at[STREAM];
        uint64_t low;      /* all below were delivered, or have ended otherwise */
        uint64_t last[NODES]; /* the next that node may get */
    } stream[NODES][NAMES];
    struct {
        int sender, name;
        uint64_t seq, life;
    } token[TOKENS];
    int is_ending; /* nothing moves any more */
    int mortal; /* nodes die, and with them what is mute may end unheard */
    int doubles, gaps, backwards, lies;
    unsigned in_run; /* names that moved while a message of theirs was delivered */
};

static void model_give(struct world *w, int name, int to);

static void model_message(struct node *n, const struct phx_message *m)
{
    struct model *o = n->w->model;
    int sender = (int)m->from, name = (int)m->to;
    uint64_t seq = m->tag & UINT32_MAX, low = o->stream[sender][name].low;

    if (m->tag >> 32 != o->life[sender])
        return; /* its sender is no more */
    /* Somebody who lives has it already? */
    if (o->stream[sender][name].at[seq].by >= 0
        && !n->w->dead[o->stream[sender][name].at[seq].by]
        && o->stream[sender][name].at[seq].by_life
               == o->life[o->stream[sender][name].at[seq].by])
        o->doubles++;
    while (low < seq
           && (o->stream[sender][name].at[low].by >= 0 || o->stream[sender][name].at[low].ended
               || (o->mortal && o->stream[sender][name].at[low].is_mute)))
        low++;
    o->gaps += low < seq;
    o->stream[sender][name].low = low;
    o->backwards += seq < o->stream[sender][name].last[n->self];
    o->stream[sender][name].last[n->self] = seq + 1;
    o->stream[sender][name].at[seq].by = n->self;
    o->stream[sender][name].at[seq].by_life = o->life[n->self];
    /* in the midst of a run, perhaps */
    if (!o->is_ending && o->holder[name] == n->self && below(n->w, 100) == 0) {
        int to = (int)below(n->w, NODES);

        model_give(n->w, name, n->w->dead[to] ? -1 : to);
        o->in_run++;
    }
}

static void model_done(struct node *n, uint64_t token, int result)
{
    struct model *o = n->w->model;
    int sender = o->token[token].sender, name = o->token[token].name;
    uint64_t seq = o->token[token].seq;

    if (o->token[token].life != o->life[sender])
        return;
    o->stream[sender][name].at[seq].ended = 1;
    o->lies += result == 0 && o->stream[sender][name].at[seq].by < 0;
    o->lies += result == PHX_ECANCELLED && o->stream[sender][name].at[seq].by >= 0;
    o->lies += result != 0 && result != PHX_EFAILED && result != PHX_ECANCELLED;
}

static void model_begin(struct world *w, int i, const struct phx__post_limits *limits)
{
    struct phx__post_limits l = *limits;
    struct model *o = w->model;
    int k, s;

    o->life[i]++;
    for (k = 0; k < NAMES; k++) {
        memset(&o->stream[i][k], 0, sizeof o->stream[i][k]);
        for (s = 0; s < STREAM; s++)
            o->stream[i][k].at[s].by = -1;
        for (s = 0; s < NODES; s++)
            o->stream[s][k].last[i] = 0;
        w->node[i].sent[k] = o->life[i] << 32;
    }
    w->dead[i] = 0;
    check(begin_node(w, i, &l) == 0, "node");
    for (k = 1; k < NODES; k++)
        announce(&w->node[i], (uint32_t)k, (uint32_t)limits->window);
    for (k = 0; k < NAMES; k++)
        see(w, i, k, o->holder[k]);
}

/* The links of a node that dies go with it, and its names are nobody's. */
static void model_kill(struct world *w, int i)
{
    struct model *o = w->model;
    int k, n;

    end_node(w, i);
    w->dead[i] = 1;
    for (k = 0; k < NODES; k++) {
        wire_cut(w, i, k);
        wire_cut(w, k, i);
    }
    check(test_heap_is_clean(&w->node[i].heap), "a dead node keeps nothing");
    for (n = 0; n < NAMES; n++)
        if (o->holder[n] == i)
            o->holder[n] = -1;
}

/* A peer at rest may be kept small at any time, not only when it is gone: 1 if it is now. */
static unsigned model_shrink(struct world *w, int i, int of)
{
    struct phx__post *p = &w->node[i].post;

    if (i == of || w->dead[i] || phx__post_sched_find(p, as_seen(i, of)) == NULL)
        return 0;
    phx__post_sched_shrink(p, as_seen(i, of));
    return phx__post_sched_find(p, as_seen(i, of)) == NULL;
}

static void model_hear(struct world *w, int i, int of, int reborn)
{
    struct model *o = w->model;
    int k;

    for (k = 0; k < NAMES; k++)
        if (w->node[i].view[k] == of)
            see(w, i, k, o->holder[k]);
    if (reborn)
        phx__post_sched_reborn(&w->node[i].post, as_seen(i, of));
    else
        phx__post_box_failed(&w->node[i].post, as_seen(i, of));
    (void)model_shrink(w, i, of);
    route(w, i, of, w->dead[of] ? -1 : of);
}

static void model_die(struct world *w, const struct phx__post_limits *limits)
{
    int i = (int)below(w, NODES), k, quick = (int)below(w, 2), others = 0;

    for (k = 0; k < NODES; k++)
        others += k != i && !w->dead[k];
    if (others == 0) /* somebody is to hold the names in the end */
        return;
    if (!w->dead[i]) {
        model_kill(w, i);
        for (k = 0; k < NODES && !quick; k++)
            if (k != i && !w->dead[k])
                model_hear(w, k, i, 0);
    } else {
        quick = 1;
    }
    if (!quick)
        return;
    model_begin(w, i, limits);
    for (k = 0; k < NODES; k++) {
        if (k != i && w->dead[k])
            route(w, i, k, -1);
        else if (k != i)
            model_hear(w, k, i, 1);
    }
}

/* Who gives a name away knows it at once, and so does who gets it. */
static void model_give(struct world *w, int name, int to)
{
    struct model *o = w->model;
    int from = o->holder[name];

    o->holder[name] = to;
    if (from >= 0) {
        see(w, from, name, to);
        o->news[from] = 1;
    }
    if (to >= 0) {
        see(w, to, name, to);
        o->news[to] = 1;
    }
}

static void model_move(struct world *w)
{
    struct model *o = w->model;
    int name = (int)below(w, NAMES), from = o->holder[name], to = (int)below(w, NODES + 1) - 1;

    if (to >= 0 && w->dead[to])
        return;
    model_give(w, name, to);
    /* Back at once, so that only few messages meet it away. */
    if (from >= 0 && to != from && below(w, 3) == 0) {
        turn(w, 1 + below(w, 3), 70000);
        o->holder[name] = from;
        if (to >= 0)
            see(w, to, name, from);
        see(w, from, name, from);
    }
}

static void model_spread(struct world *w, unsigned one_in)
{
    struct model *o = w->model;
    int i, k;

    for (i = 0; i < NODES; i++) {
        for (k = 0; k < NAMES && !w->dead[i]; k++) {
            if (w->node[i].view[k] != o->holder[k] && below(w, one_in) == 0) {
                see(w, i, k, o->holder[k]);
                o->news[i] = 1;
            }
        }
    }
}

static void model_news(struct world *w)
{
    int i;

    for (i = 0; i < NODES; i++) {
        if (w->model->news[i] && !w->dead[i])
            phx__post_box_names(&w->node[i].post);
        w->model->news[i] = 0;
    }
}

static void model_send(struct world *w)
{
    struct model *o = w->model;
    int from = (int)below(w, NODES), name = (int)below(w, NAMES);
    uint64_t token = w->tokens + 1, seq = w->node[from].sent[name] & UINT32_MAX;
    size_t size = below(w, 40) == 0 ? below(w, 200000) : below(w, 8) == 0 ? 5000 : below(w, 300);

    if (w->dead[from] || seq >= STREAM || token >= TOKENS)
        return;
    o->token[token].sender = from;
    o->token[token].name = name;
    o->token[token].seq = seq;
    o->token[token].life = o->life[from];
    if (send_size(&w->node[from], (uint64_t)name, size, token, 0, 0) == 0)
        w->tokens = token;
}

/* Some small ones to one name, which make a run wherever a flow takes them. */
static void model_burst(struct world *w)
{
    struct model *o = w->model;
    int from = (int)below(w, NODES), name = (int)below(w, NAMES), n;
    uint64_t seq;

    for (n = 2 + (int)below(w, 40); n > 0 && !w->dead[from]; n--) {
        seq = w->node[from].sent[name] & UINT32_MAX;
        if (seq >= STREAM)
            return;
        if (below(w, 30) == 0) {
            model_send(w); /* another name's between them, or one with a token */
        } else {
            size_t size = below(w, 3) * below(w, 100);

            if (send_size(&w->node[from], (uint64_t)name, size, 0, 0, 0) == 0)
                o->stream[from][name].at[seq].is_mute = 1;
        }
    }
}

static void model_cancel(struct world *w, uint64_t token)
{
    struct model *o = w->model;
    int sender = o->token[token].sender, name = o->token[token].name;

    if (!w->dead[sender] && o->token[token].life == o->life[sender]
        && phx__post_box_cancel(&w->node[sender].post, token) == 0)
        o->stream[sender][name].at[o->token[token].seq].ended = 1; /* others need not wait for it */
}

static int model_end(struct world *w)
{
    struct model *o = w->model;
    int i, k, bad = 0;

    w->loss = w->ack_loss = w->ack_late = 0;
    o->is_ending = 1;
    for (i = 0; i < NAMES; i++) {
        if (o->holder[i] < 0) {
            for (k = i % NODES; w->dead[k]; k = (k + 1) % NODES)
                continue;
            o->holder[i] = k;
        }
    }
    model_spread(w, 1);
    model_news(w);
    for (i = 0; i < NODES; i++)
        for (k = 0; k < NODES; k++)
            if (i != k && !w->dead[i] && !w->dead[k])
                route(w, i, k, k);
    for (i = 0; i < 3000; i++) {
        late_acks(w);
        turn(w, 1000, 4u << 20);
        w->now += 2000;
    }
    for (i = 0; i < NODES; i++)
        bad += !w->dead[i]
               && (w->node[i].post.pending.count > 0 || w->node[i].post.pending.bytes > 0
                   || w->node[i].post.outcomes.promised > 0 || w->node[i].post.store.queued > 0);
    for (i = 1; i <= (int)w->tokens; i++) {
        if (o->token[i].life == o->life[o->token[i].sender] && !w->dead[o->token[i].sender])
            bad += w->token[i].count != 1;
        else
            bad += w->token[i].count > 1;
    }
    for (i = 0; i < NODES * NAMES && !o->mortal; i++) /* and nothing of what is mute is missing */
        for (k = 0; k < (int)(w->node[i / NAMES].sent[i % NAMES] & UINT32_MAX); k++)
            bad += o->stream[i / NAMES][i % NAMES].at[k].is_mute
                   && o->stream[i / NAMES][i % NAMES].at[k].by < 0;
    return bad;
}

static int model_run(uint64_t seed, unsigned *in_run, unsigned *shrunk)
{
    struct phx__post_limits limits = default_limits();
    struct world *w = world_new(seed, &limits);
    struct model *o = calloc(1, sizeof *o);
    int i, n, bad;

    limits.window = (size_t)65536 << seed % 3;
    w->model = o;
    w->on_message = model_message;
    w->on_done = model_done;
    w->begins = w->places = 1;
    for (i = 0; i < NAMES; i++)
        o->holder[i] = i % 5 == 4 ? -1 : i % NODES;
    for (i = 0; i < NODES; i++) {
        end_node(w, i);
        model_begin(w, i, &limits);
    }
    model_spread(w, 1);
    if (seed % 2 == 0) {
        w->loss = below(w, 20);
        w->ack_loss = below(w, 200);
    }
    w->ack_late = seed % 3 == 0 ? 0 : below(w, 500);
    o->mortal = seed % 4 == 1;
    for (i = 0; i < 700; i++) {
        if (below(w, 3) == 0)
            model_burst(w);
        for (n = (int)below(w, 12); n > 0; n--)
            model_send(w);
        if (below(w, 3) == 0)
            model_move(w);
        if (below(w, 4) == 0)
            model_spread(w, 5);
        for (n = (int)below(w, 3); n > 0; n--) /* between the change and the room's look at it */
            model_send(w);
        if (below(w, 10) == 0 && w->tokens > 20) {
            uint64_t token = w->tokens - below(w, 20);

            model_cancel(w, token);
        }
        model_news(w);
        if (o->mortal && below(w, 60) == 0)
            model_die(w, &limits);
        n = (int)below(w, NODES);
        if (below(w, 20) == 0 && !w->dead[n] && !w->dead[(n + 1) % NODES])
            cut(w, n, (n + 1) % NODES);
        if (below(w, 4) == 0)
            late_acks(w);
        *shrunk += model_shrink(w, i % NODES, i / NODES % NODES);
        turn(w, below(w, 20), below(w, 2) == 0 ? 1u << 20 : 70000);
        w->now += below(w, 3000);
    }
    bad = model_end(w);
    bad += o->doubles + o->gaps + o->backwards + o->lies + w->content_errors + w->source_errors
           + w->name_errors;
    if (bad)
        printf("# seed %d: %d doubles, %d gaps, %d backwards, %d lies, name %d, bad %d\n",
               (int)seed, o->doubles, o->gaps, o->backwards, o->lies, w->name_errors, bad);
    *in_run += o->in_run;
    bad += !world_free(w);
    free(o);
    return bad > 0;
}

static void test_model(void)
{
    /* Goal: whatever names do, and nodes that die and come back: each message arrives once among
     * those who live, in order per sender and name wherever that is, and has one outcome, which is
     * true. Method: 4 nodes, 16 names, 700 turns of sends, moves of which each node hears at its own
     * time, lost frames, acks that are lost, late, doubled and overtaken; bursts that make runs, in whose
     * midst the name may go; a fourth of the seeds also kills and restarts. */
    int seed, bad = 0;
    int seeds = getenv("SEEDS") != NULL ? atoi(getenv("SEEDS")) : 40;
    unsigned in_run = 0, shrunk = 0;

    for (seed = 1; seed <= seeds; seed++)
        bad += model_run((uint64_t)seed, &in_run, &shrunk);
    ok(bad == 0, "%d of %d worlds with moving names are bad", bad, seeds);
    ok(shrunk > 20, "and %u times little was kept of a peer", shrunk);
    ok(in_run > 20, "and %u times a name went in the midst of its messages", in_run);
}

static void random_route(struct world *w)
{
    /* Any next hops, as long as there is no loop of two; longer ones end by hops. */
    int a = (int)below(w, NODES), b = (int)below(w, NODES), c = (int)below(w, NODES);

    if (a == b)
        return;
    switch (below(w, 5)) {
    case 0: route(w, a, b, below(w, 3) == 0 ? -1 : b); break;
    case 1: cut(w, a, b); break;
    default:
        if (c != a && w->node[c].hop[b] == b)
            route(w, a, b, c);
        break;
    }
}

static int random_run(uint64_t seed, int with_loss)
{
    struct phx__post_limits limits = default_limits();
    struct world *w;
    unsigned changes = seed % 3 == 0 ? 4 : 30; /* one in so many turns */
    uint64_t accepted = 0;
    int i, n, bad, k;

    limits.window = (size_t)65536 << seed % 5;
    w = world_new(seed, &limits);
    w->begins = w->places = 1;
    for (i = 0; i < NAMES; i++)
        all_see(w, i, i % 5 == 4 ? -1 : i % NODES);
    if (with_loss) {
        w->loss = below(w, 30);
        w->ack_loss = below(w, 300);
        w->emit_fails = (int)below(w, 100);
    }
    for (i = 0; i < 1500; i++) {
        for (n = (int)below(w, 10); n > 0; n--) {
            uint64_t token = below(w, 2) == 0 ? claim_token(w) : 0;
            int owned = below(w, 6) == 0 && token != 0 ? (int)token : 0;
            int err = send_size(&w->node[below(w, NODES)], below(w, NAMES), random_size(w), token,
                                0, owned);

            accepted += err == 0;
            if (err != 0 && token != 0)
                w->token[token].count = 1; /* never asked for */
            if (err != 0 && owned)
                w->released[owned] = 1;
            check(err == 0 || err == PHX_EAGAIN, "sends are taken or put off");
        }
        if (below(w, 8) == 0) { /* what makes runs */
            struct node *from = &w->node[below(w, NODES)];
            uint64_t name = below(w, NAMES);

            for (n = (int)below(w, 100); n > 0; n--)
                accepted += send_size(from, name, below(w, 2) * below(w, 300), 0, 0, 0) == 0;
        }
        if (below(w, changes) == 0)
            random_route(w);
        if (below(w, 200) == 0) {
            k = (int)below(w, 3) * 5 + 4; /* names that nobody has at first */
            if (w->node[0].view[k] < 0)
                all_see(w, k, (int)below(w, NODES));
        }
        turn(w, below(w, 20), below(w, 2) == 0 ? 1u << 20 : 70000);
        w->now += below(w, 3000);
    }
    for (i = 0; i < NAMES; i++)
        if (w->node[0].view[i] < 0)
            all_see(w, i, i % NODES);
    w->loss = w->ack_loss = 0;
    w->emit_fails = 0;
    for (i = 0; i < NODES; i++)
        for (k = 0; k < NODES; k++)
            if (k != i)
                route(w, i, k, k);
    bad = !settle(w) || !no_errors(w) || !all_arrived(w) || accepted != w->got;
    for (i = 1; i <= (int)w->tokens; i++)
        bad |= w->token[i].count != 1 || w->token[i].result != 0;
    for (i = 1; i <= (int)w->tokens; i++)
        bad |= w->released[i] > 1;
    for (i = 0; i < NODES; i++)
        bad |= w->node[i].post.store.queued > 0 || w->node[i].post.outcomes.promised > 0
               || w->node[i].post.pending.bytes > 0 || w->node[i].post.pending.count > 0
            || w->node[i].post.transit.bytes > 0;
    if (bad)
        printf("# seed %d: got %d of %d, order %d content %d source %d name %d\n", (int)seed,
               (int)w->got, (int)accepted, w->order_errors, w->content_errors, w->source_errors,
               w->name_errors);
    return !world_free(w) || bad;
}

static void test_random(void)
{
    /* Goal: whatever happens to routes, links and frames, every message arrives once and in order,
     * every token has one outcome, owned memory is released once, all counters come back to zero.
     * Method: 4 nodes, 16 names, 1,500 turns of random sends and changes for each seed; every
     * second one also loses single frames and acks and cannot queue some frames. */
    int seed, bad = 0;
    int seeds = getenv("SEEDS") != NULL ? atoi(getenv("SEEDS")) : 30;

    for (seed = 1; seed <= seeds; seed++)
        bad += random_run((uint64_t)seed, seed % 2);
    ok(bad == 0, "%d of %d random runs are bad", bad, seeds);
}

int main(void)
{
    test_random();
    test_model();
    return test_end();
}
