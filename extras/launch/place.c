/* place.c - deals ranks to hosts, writes PMI_process_mapping, chooses the degree and draws the tree. */

/* Ranks are dealt in rounds: each host in the order of the list gets as many as it has slots (block) or one
 * after the other while it has some left (cyclic); when all are full it goes round again.
 *
 * The tree follows ScELA (Sridhar, Koop, Perkins, Panda): the launcher is the root; an agent keeps the first
 * host of its part of the list and splits the rest evenly among its children. The degree is the least at
 * which max_depth levels hold all, within bounds.
 *
 * Hosts behind a gateway form a *zone*, which only the gateway's agent and agents of the zone can enter. So
 * an agent's part of the list has hosts of its own zone, its siblings, and if it is a gateway those of the
 * zone behind it; a child gets some of one zone. In a child's part the host with most hosts behind it is kept
 * first, so a gateway is met as high as it goes. */
#include "place.h"
#include "../../phoenix.h"
#include "text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A value of PMI-1 with the longest name and key holds 673 bytes. */
#define PLACE_MAPPING_MAX 673
#define PLACE_DEPTH 2
#define PLACE_CONN 1024
#define PLACE_DEGREE_MIN 2

/* Work on one job. Arrays have a place for each host of the list, unless said otherwise. */
struct placing {
    const struct la_hosts *hosts;
    const struct la_place_config *cfg;
    uint32_t size;       /* ranks */
    uint32_t local;      /* the launcher's host in the list, or LA_NONE */
    uint32_t most;       /* ranks of one host */
    uint32_t counted;    /* hosts with ranks, and the launcher */
    uint32_t agents;     /* how many */
    uint32_t *host_of;   /* of each rank */
    uint32_t *ranks;     /* how many */
    uint32_t *node;      /* number in the mapping, or LA_NONE */
    uint32_t *via;       /* gateway, or LA_NONE */
    uint32_t *weight;    /* counted hosts in it and behind it; 0: it gets no agent */
    uint32_t *pool;      /* hosts with agents, zone after zone; agents pick theirs from it */
    uint32_t *zone;      /* where the zone behind a host begins in pool; one more: the zone of no gateway */
    uint32_t *zone_size;
};

static void *array(size_t count, size_t each)
{
    return calloc(count + 1, each);
}

static int begin(struct placing *p)
{
    size_t n = (size_t)p->hosts->count + 1;

    p->host_of = array(p->size, sizeof *p->host_of);
    p->ranks = array(n, sizeof *p->ranks);
    p->node = array(n, sizeof *p->node);
    p->via = array(n, sizeof *p->via);
    p->weight = array(n, sizeof *p->weight);
    p->pool = array(n, sizeof *p->pool);
    p->zone = array(n, sizeof *p->zone);
    p->zone_size = array(n, sizeof *p->zone_size);
    return p->host_of == NULL || p->ranks == NULL || p->node == NULL || p->via == NULL || p->weight == NULL
            || p->pool == NULL || p->zone == NULL || p->zone_size == NULL
        ? PHX_ENOMEM
        : la_hosts_vias(p->hosts, p->via);
}

static void end(struct placing *p)
{
    free(p->host_of);
    free(p->ranks);
    free(p->node);
    free(p->via);
    free(p->weight);
    free(p->pool);
    free(p->zone);
    free(p->zone_size);
}

/* ---- Ranks ------------------------------------------------------------------------------------- */

/* How many ranks a host gets in each round. */
static uint32_t quota(const struct placing *p, uint32_t host)
{
    const struct la_host *h = &p->hosts->list[host];

    if (h->gateway_only)
        return 0;
    if (p->cfg->ppn > 0)
        return p->cfg->ppn;
    return h->slots > 0 ? h->slots : 1;
}

static void deal_block(struct placing *p)
{
    uint32_t rank = 0, host, n;

    for (host = 0; rank < p->size; host = host + 1 < p->hosts->count ? host + 1 : 0)
        for (n = quota(p, host); n > 0 && rank < p->size; n--)
            p->host_of[rank++] = host;
}

/* `open` are the hosts that have slots left in this round, in order; pool and weight lend their room. */
static void deal_cyclic(struct placing *p)
{
    uint32_t *open = p->pool, *left = p->weight, count = 0, rank = 0, i, kept;

    while (rank < p->size) {
        if (count == 0)
            for (i = 0; i < p->hosts->count; i++)
                if ((left[i] = quota(p, i)) > 0)
                    open[count++] = i;
        for (i = kept = 0; i < count && rank < p->size; i++) {
            p->host_of[rank++] = open[i];
            if (--left[open[i]] > 0)
                open[kept++] = open[i];
        }
        count = kept;
    }
    memset(p->pool, 0, p->hosts->count * sizeof *p->pool);
    memset(p->weight, 0, p->hosts->count * sizeof *p->weight);
}

static int has_hosts(const struct la_hosts *h)
{
    uint32_t i;

    for (i = 0; i < h->count; i++)
        if (!h->list[i].gateway_only)
            return 1;
    return 0;
}

static void deal(struct placing *p, struct la_job *job)
{
    uint32_t i;

    if (p->cfg->cyclic)
        deal_cyclic(p);
    else
        deal_block(p);
    for (i = 0; i < p->size; i++)
        if (++p->ranks[p->host_of[i]] > p->most)
            p->most = p->ranks[p->host_of[i]];
    job->nodes = 0;
    for (i = 0; i < p->hosts->count; i++)
        p->node[i] = p->ranks[i] > 0 ? job->nodes++ : LA_NONE;
}

/* All slots, if each host's are known. */
static int32_t universe(const struct placing *p)
{
    uint64_t slots = 0;
    uint32_t i;

    for (i = 0; i < p->hosts->count; i++) {
        const struct la_host *h = &p->hosts->list[i];

        if (!h->gateway_only && h->slots == 0 && p->cfg->ppn == 0)
            return -1;
        slots += h->slots > 0 ? h->slots : quota(p, i);
    }
    return slots <= INT32_MAX ? (int32_t)slots : -1;
}

/* ---- Warnings ---------------------------------------------------------------------------------- */

static void warn_slots(const struct placing *p, struct la_place_said *said)
{
    uint32_t i, hosts = 0, first = 0;
    const char *what = "slots";

    for (i = 0; i < p->hosts->count; i++) {
        uint32_t room = p->hosts->list[i].slots;

        if (room == 0 && i == p->local)
            room = p->cfg->processors;
        if (room > 0 && p->ranks[i] > room && hosts++ == 0)
            first = i;
    }
    if (hosts == 0)
        return;
    i = p->hosts->list[first].slots;
    if (i == 0) {
        i = p->cfg->processors;
        what = "processors";
    }
    if (hosts == 1)
        snprintf(said->slots, LA_TEXT, "more ranks than %s: %lu on %.100s, which has %lu", what,
                 (unsigned long)p->ranks[first], p->hosts->list[first].name, (unsigned long)i);
    else
        snprintf(said->slots, LA_TEXT, "more ranks than %s on %lu hosts, %lu on %.100s, which has %lu",
                 what, (unsigned long)hosts, (unsigned long)p->ranks[first], p->hosts->list[first].name,
                 (unsigned long)i);
}

static void warn_localhost(const struct placing *p, const struct la_job *job, struct la_place_said *said)
{
    uint32_t i;

    if (job->starter == LA_FORK || job->nodes < 2)
        return;
    for (i = 0; i < p->hosts->count; i++) {
        const char *name = p->hosts->list[i].name;

        if (p->ranks[i] > 0 && (strcmp(name, "localhost") == 0 || strncmp(name, "127.", 4) == 0)) {
            snprintf(said->localhost, LA_TEXT,
                     "%.100s is named beside other hosts, which cannot reach it by that name", name);
            return;
        }
    }
}

/* ---- The mapping ------------------------------------------------------------------------------- */

/* Blocks of the mapping as they are found: runs of ranks of one host, with equal neighbours joined. */
struct blocks {
    struct la_text text;
    uint32_t first, hosts, each; /* the block that grows; each 0: none yet */
    uint32_t count;
};

static void close_block(struct blocks *b)
{
    if (b->each == 0 || b->text.size > PLACE_MAPPING_MAX)
        return;
    la_text_say(&b->text, ",(%lu,%lu,%lu)", (unsigned long)b->first, (unsigned long)b->hosts,
                (unsigned long)b->each);
    b->count++;
}

static void add_run(struct blocks *b, uint32_t node, uint32_t each)
{
    if (b->each == each && node == b->first + b->hosts) {
        b->hosts++;
        return;
    }
    close_block(b);
    b->first = node;
    b->hosts = 1;
    b->each = each;
}

static void write_blocks(const struct placing *p, uint32_t ranks, struct blocks *b)
{
    uint32_t i, first = 0;

    la_text_say(&b->text, "(vector");
    for (i = 1; i <= ranks && b->text.size <= PLACE_MAPPING_MAX; i++)
        if (i == ranks || p->host_of[i] != p->host_of[first]) {
            add_run(b, p->node[p->host_of[first]], i - first);
            first = i;
        }
    close_block(b);
    la_text_say(&b->text, ")");
}

/* After how many ranks the hosts repeat, perhaps cut at the end; by the borders of Knuth, Morris, Pratt. */
static int period(const struct placing *p, uint32_t *out)
{
    uint32_t *border = array((size_t)p->size + 1, sizeof *border), i, k = 0;
    const uint32_t *s = p->host_of;

    if (border == NULL)
        return PHX_ENOMEM;
    for (i = 1; i < p->size; i++) {
        while (k > 0 && s[i] != s[k])
            k = border[k];
        if (s[i] == s[k])
            k++;
        border[i + 1] = k;
    }
    *out = p->size - k;
    free(border);
    return 0;
}

/* What repeats is said once if that is shorter: readers go round from the first block of host 0 on, and the
 * first rank is on host 0. */
static int write_mapping(const struct placing *p, struct la_job *job, struct la_place_said *said)
{
    struct blocks whole, once;
    uint32_t every = 0;
    int err = period(p, &every);

    memset(&whole, 0, sizeof whole);
    memset(&once, 0, sizeof once);
    if (err != 0)
        return err;
    write_blocks(p, p->size, &whole);
    write_blocks(p, every, &once);
    if (whole.text.failed || once.text.failed) {
        err = PHX_ENOMEM;
    } else if (once.text.size <= PLACE_MAPPING_MAX && (once.count < whole.count
                                                       || whole.text.size > PLACE_MAPPING_MAX)) {
        job->mapping = once.text.at;
        once.text.at = NULL;
    } else if (whole.text.size <= PLACE_MAPPING_MAX) {
        job->mapping = whole.text.at;
        whole.text.at = NULL;
    } else {
        snprintf(said->mapping, LA_TEXT,
                 "the places of %lu ranks cannot be told in %d bytes: MPI programs will ask for host names",
                 (unsigned long)p->size, PLACE_MAPPING_MAX);
    }
    free(whole.text.at);
    free(once.text.at);
    return err;
}

/* ---- The degree -------------------------------------------------------------------------------- */

/* Whether a tree of that degree and depth holds n. */
static int holds(uint32_t degree, uint32_t depth, uint32_t n)
{
    uint64_t all = 1, level = 1;

    while (depth-- > 0 && all < n) {
        level *= degree;
        all += level;
    }
    return all >= n;
}

static void choose_degree(const struct placing *p, struct la_place_said *said)
{
    uint32_t depth = p->cfg->max_depth > 0 ? p->cfg->max_depth : PLACE_DEPTH;
    uint32_t conn = p->cfg->max_conn > 0 ? p->cfg->max_conn : PLACE_CONN;
    uint32_t room = conn > p->most ? conn - p->most : 0, k = 1;
    unsigned long n = p->counted;

    said->degree = p->cfg->degree;
    snprintf(said->why, LA_TEXT, "degree %lu, as asked for", (unsigned long)said->degree);
    if (said->degree > 0)
        return;
    while (k < LA_DEGREE_MAX && !holds(k, depth, p->counted))
        k++;
    if (!holds(k, depth, p->counted))
        snprintf(said->why, LA_TEXT, "degree %d, the most; %lu hosts need more levels than %lu",
                 LA_DEGREE_MAX, n, (unsigned long)depth);
    else
        snprintf(said->why, LA_TEXT, "degree %lu, the least that holds %lu hosts in %lu levels",
                 (unsigned long)k, n, (unsigned long)depth);
    if (k > room) {
        k = room;
        snprintf(said->why, LA_TEXT, "degree %lu, %lu connections less %lu processes of a host",
                 (unsigned long)k, (unsigned long)conn, (unsigned long)p->most);
    }
    if (k < PLACE_DEGREE_MIN) {
        k = PLACE_DEGREE_MIN;
        snprintf(said->why, LA_TEXT, "degree %lu, the least there is", (unsigned long)k);
    }
    said->degree = k;
}

/* ---- The tree ---------------------------------------------------------------------------------- */

/* Which host of the list is the launcher's own. */
static uint32_t find_local(const struct placing *p)
{
    uint32_t i;

    for (i = 0; p->cfg->local != NULL && i < p->hosts->count; i++) {
        const char *at = p->cfg->local, *name = p->hosts->list[i].name;
        size_t size = strlen(name);

        while (at != NULL) {
            if (strncmp(at, name, size) == 0 && (at[size] == ',' || at[size] == '\0'))
                return i;
            at = strchr(at, ',');
            at = at != NULL ? at + 1 : NULL;
        }
    }
    return LA_NONE;
}

/* The zone of a host as an index into zone; the launcher's host has every way that the launcher has. */
static uint32_t zone_of(const struct placing *p, uint32_t host)
{
    return p->via[host] != LA_NONE ? p->via[host] : p->hosts->count;
}

/* Each host with ranks weighs 1, and so do all gateways before it for its sake. Gateways are never in a
 * circle here. */
static int weigh(struct placing *p, char why[LA_TEXT])
{
    uint32_t i, up, steps;

    p->counted = p->local == LA_NONE || p->ranks[p->local] == 0;
    for (i = 0; i < p->hosts->count; i++) {
        if (p->hosts->list[i].via != NULL && p->via[i] == LA_NONE) {
            snprintf(why, LA_TEXT, "no gateway %.100s", p->hosts->list[i].via);
            return PHX_EINVAL;
        }
        if (p->ranks[i] == 0)
            continue;
        p->counted++;
        for (up = i, steps = 0; up != LA_NONE && up != p->local; up = p->via[up], steps++) {
            if (steps > p->hosts->count) {
                snprintf(why, LA_TEXT, "a circle of gateways: %.100s", p->hosts->list[i].name);
                return PHX_EINVAL;
            }
            p->weight[up]++;
        }
    }
    return 0;
}

/* Hosts that get agents of their own, sorted by zone and in their order. */
static void fill_pool(struct placing *p)
{
    uint32_t i, start = 0, count = p->hosts->count;

    for (i = 0; i < count; i++)
        if (p->weight[i] > 0)
            p->zone_size[zone_of(p, i)]++;
    for (i = 0; i <= count; i++) {
        p->zone[i] = start;
        start += p->zone_size[i];
        p->zone_size[i] = 0;
    }
    for (i = 0; i < count; i++)
        if (p->weight[i] > 0)
            p->pool[p->zone[zone_of(p, i)] + p->zone_size[zone_of(p, i)]++] = i;
    p->agents = start + 1;
}

/* A stretch of the pool, all of one zone; and the agent whose child will keep its first host. */
struct part {
    uint32_t start, count, parent;
};

/* What is drawn: agents in preorder, and parts that wait, the next one last. */
struct drawing {
    struct part *waiting;
    uint32_t waiting_count;
    uint32_t *host, *parent, *depth; /* of each agent; host LA_NONE: none in the list */
};

static uint64_t weight_of(const struct placing *p, uint32_t start, uint32_t count)
{
    uint64_t sum = 0;

    while (count-- > 0)
        sum += p->weight[p->pool[start++]];
    return sum;
}

/* Splits a stretch into at most so many parts of about equal weight, the first of them last. */
static void split(const struct placing *p, struct drawing *d, struct part all, uint32_t parts)
{
    uint64_t left = weight_of(p, all.start, all.count);
    uint32_t from = d->waiting_count, at = all.start, low, high;

    for (; parts > 0 && at < all.start + all.count; parts--) {
        uint64_t share = (left + parts - 1) / parts, sum = 0;
        struct part one = { 0, 0, 0 };

        one.start = at;
        one.parent = all.parent;
        while (at < all.start + all.count
               && (parts == 1 || sum == 0 || sum + p->weight[p->pool[at]] <= share))
            sum += p->weight[p->pool[at++]];
        one.count = at - one.start;
        left -= sum;
        d->waiting[d->waiting_count++] = one;
    }
    for (low = from, high = d->waiting_count; low + 1 < high; low++) {
        struct part one = d->waiting[low];

        d->waiting[low] = d->waiting[--high];
        d->waiting[high] = one;
    }
}

/* The parts of an agent's siblings and of the zone behind it. */
static void split_both(const struct placing *p, struct drawing *d, struct part siblings, struct part behind,
                       uint32_t degree)
{
    uint64_t ws = weight_of(p, siblings.start, siblings.count), wb = weight_of(p, behind.start, behind.count);
    uint32_t parts = ws + wb > 0 ? (uint32_t)((ws * degree + (ws + wb) / 2) / (ws + wb)) : 0;

    if (ws > 0 && parts == 0)
        parts = 1;
    if (wb > 0 && parts >= degree)
        parts = degree - 1;
    if (parts > siblings.count)
        parts = siblings.count;
    if (wb > 0 && degree - parts > behind.count)
        parts = degree - behind.count;
    split(p, d, behind, degree - parts);
    split(p, d, siblings, parts);
}

/* Moves the heaviest host to the front; the others keep their order. */
static void keep_heaviest(const struct placing *p, const struct part *one)
{
    uint32_t *at = p->pool + one->start, best = 0, host, i;

    for (i = 1; i < one->count; i++)
        if (p->weight[at[i]] > p->weight[at[best]])
            best = i;
    host = at[best];
    memmove(at + 1, at, best * sizeof *at);
    at[0] = host;
}

static struct part zone_part(const struct placing *p, uint32_t zone, uint32_t parent)
{
    struct part one = { 0, 0, 0 };

    one.parent = parent;
    if (zone == LA_NONE)
        return one;
    one.start = p->zone[zone];
    one.count = p->zone_size[zone];
    return one;
}

/* Numbers the agents in preorder. */
static void draw(const struct placing *p, struct drawing *d, struct la_place_said *said)
{
    uint32_t agent;

    d->host[0] = p->local;
    d->parent[0] = LA_NONE;
    split_both(p, d, zone_part(p, p->hosts->count, 0), zone_part(p, p->local, 0), said->degree);
    for (agent = 1; d->waiting_count > 0; agent++) {
        struct part one = d->waiting[--d->waiting_count];
        uint32_t host;

        keep_heaviest(p, &one);
        host = p->pool[one.start];
        d->host[agent] = host;
        d->parent[agent] = one.parent;
        d->depth[agent] = d->depth[one.parent] + (p->ranks[host] > 0);
        if (d->depth[agent] > said->depth)
            said->depth = d->depth[agent];
        one.start++;
        one.count--;
        one.parent = agent;
        split_both(p, d, one, zone_part(p, host, agent), said->degree);
    }
}

/* ---- The agents -------------------------------------------------------------------------------- */

static const char *own_name(const struct placing *p)
{
    return p->cfg->local != NULL && p->cfg->local[0] != '\0' ? p->cfg->local : "launcher";
}

static int name_agent(const struct placing *p, struct la_agent *a, uint32_t host)
{
    const char *own = own_name(p);

    a->node = host != LA_NONE ? p->node[host] : LA_NONE;
    a->site = host != LA_NONE && p->via[host] != LA_NONE ? p->via[host] + 1 : 0;
    if (host == LA_NONE) {
        a->host = la_text_copy(own, strcspn(own, ","));
        return a->host != NULL ? 0 : PHX_ENOMEM;
    }
    a->host = la_text_dup(p->hosts->list[host].name);
    a->user = la_text_dup(p->hosts->list[host].user);
    return a->host == NULL || (p->hosts->list[host].user != NULL && a->user == NULL) ? PHX_ENOMEM : 0;
}

/* Runs of all hosts, in two rounds: how many, then which. agent_of: of each host. */
static int fill_runs(const struct placing *p, struct la_job *job, const uint32_t *agent_of)
{
    uint32_t i, round;

    for (round = 0; round < 2; round++) {
        for (i = 0; i < p->size; i++) {
            struct la_agent *a = &job->agents[agent_of[p->host_of[i]]];

            if (i > 0 && p->host_of[i] == p->host_of[i - 1]) {
                if (round == 1)
                    a->runs[a->runs_count - 1].count++;
                continue;
            }
            if (round == 1) {
                a->runs[a->runs_count].first = i;
                a->runs[a->runs_count].count = 1;
            }
            a->runs_count++;
        }
        for (i = 0; round == 0 && i < job->agents_count; i++) {
            struct la_agent *a = &job->agents[i];

            a->runs = a->runs_count > 0 ? calloc(a->runs_count, sizeof *a->runs) : NULL;
            if (a->runs_count > 0 && a->runs == NULL)
                return PHX_ENOMEM;
            a->runs_count = 0;
        }
    }
    return 0;
}

static int fill_agents(struct placing *p, struct la_job *job, const struct drawing *d)
{
    uint32_t *agent_of = p->weight, i; /* weights have been used */
    int err = 0;

    job->agents = calloc(p->agents, sizeof *job->agents);
    if (job->agents == NULL)
        return PHX_ENOMEM;
    job->agents_count = p->agents;
    job->first = 0;
    job->parent = LA_NONE;
    for (i = 0; i < p->agents && err == 0; i++) {
        err = name_agent(p, &job->agents[i], d->host[i]);
        job->agents[i].subtree = 1;
        if (d->host[i] != LA_NONE)
            agent_of[d->host[i]] = i;
    }
    for (i = p->agents - 1; i > 0; i--)
        job->agents[d->parent[i]].subtree += job->agents[i].subtree;
    return err != 0 ? err : fill_runs(p, job, agent_of);
}

static int place_agents(struct placing *p, struct la_job *job, struct la_place_said *said, char why[LA_TEXT])
{
    struct drawing d;
    int err = weigh(p, why);

    if (err != 0)
        return err;
    memset(&d, 0, sizeof d);
    fill_pool(p);
    choose_degree(p, said);
    d.waiting = array(p->agents, sizeof *d.waiting);
    d.host = array(p->agents, sizeof *d.host);
    d.parent = array(p->agents, sizeof *d.parent);
    d.depth = array(p->agents, sizeof *d.depth);
    if (d.waiting == NULL || d.host == NULL || d.parent == NULL || d.depth == NULL) {
        err = PHX_ENOMEM;
    } else {
        draw(p, &d, said);
        err = fill_agents(p, job, &d);
    }
    free(d.waiting);
    free(d.host);
    free(d.parent);
    free(d.depth);
    return err;
}

/* ---- All of it --------------------------------------------------------------------------------- */

static int count_ranks(const struct la_job *job, const struct la_place_config *cfg, uint32_t *size,
                       char why[LA_TEXT])
{
    uint64_t ranks = 0;
    uint32_t i;

    for (i = 0; i < job->programs_count; i++)
        ranks += job->programs[i].ranks;
    *size = (uint32_t)ranks;
    if (ranks > 0 && ranks <= LA_RANKS_MAX && (cfg->degree == 0 || cfg->degree >= PLACE_DEGREE_MIN))
        return 0;
    if (ranks == 0)
        snprintf(why, LA_TEXT, "no process is asked for");
    else if (ranks > LA_RANKS_MAX)
        snprintf(why, LA_TEXT, "more than %lu processes", (unsigned long)LA_RANKS_MAX);
    else
        snprintf(why, LA_TEXT, "a tree of degree 1 is none");
    return PHX_EINVAL;
}

/* Agents are what running has, without ranks; nodes are numbered as ranks come to them. */
static int copy_agents(struct placing *p, struct la_job *job, const struct la_job *running)
{
    uint32_t i;

    job->agents = calloc(running->agents_count, sizeof *job->agents);
    if (job->agents == NULL)
        return PHX_ENOMEM;
    job->agents_count = running->agents_count;
    job->first = running->first;
    job->parent = running->parent;
    for (i = 0; i < running->agents_count; i++) {
        const struct la_agent *from = &running->agents[i];
        struct la_agent *a = &job->agents[i];

        a->host = la_text_dup(from->host);
        a->user = la_text_dup(from->user);
        a->subtree = from->subtree;
        a->site = from->site;
        a->node = p->node[i] = LA_NONE;
        if (a->host == NULL || (from->user != NULL && a->user == NULL))
            return PHX_ENOMEM;
    }
    for (i = 0; i < p->size; i++)
        if (p->node[p->host_of[i]] == LA_NONE)
            job->agents[p->host_of[i]].node = p->node[p->host_of[i]] = job->nodes++;
    for (i = 0; i < running->agents_count; i++)
        p->weight[i] = i; /* which agent a host has: itself */
    return 0;
}

int la_place_beside(struct la_job *job, const struct la_job *running, const uint32_t *at,
                    struct la_place_said *said, char why[LA_TEXT])
{
    const struct la_place_config cfg = { 0 };
    const struct la_hosts none = { NULL, 0, 0 };
    struct placing p;
    uint32_t i;
    int err;

    memset(said, 0, sizeof *said);
    memset(&p, 0, sizeof p);
    p.hosts = &none;
    err = count_ranks(job, &cfg, &p.size, why);
    if (err != 0)
        return err;
    for (i = 0; i < p.size; i++)
        if (at[i] >= running->agents_count) {
            snprintf(why, LA_TEXT, "no agent for rank %lu", (unsigned long)i);
            return PHX_EINVAL;
        }
    p.host_of = array(p.size, sizeof *p.host_of);
    p.node = array(running->agents_count, sizeof *p.node);
    p.weight = array(running->agents_count, sizeof *p.weight);
    err = p.host_of == NULL || p.node == NULL || p.weight == NULL ? PHX_ENOMEM : 0;
    if (err == 0) {
        memcpy(p.host_of, at, p.size * sizeof *at);
        job->size = p.size;
        job->nodes = 0;
        job->universe = running->universe;
        err = copy_agents(&p, job, running);
    }
    if (err == 0)
        err = write_mapping(&p, job, said);
    if (err == 0)
        err = fill_runs(&p, job, p.weight);
    end(&p);
    return err;
}

int la_place(struct la_job *job, const struct la_hosts *hosts, const struct la_place_config *cfg,
             struct la_place_said *said, char why[LA_TEXT])
{
    struct placing p;
    int err;

    memset(said, 0, sizeof *said);
    memset(&p, 0, sizeof p);
    p.hosts = hosts;
    p.cfg = cfg;
    err = count_ranks(job, cfg, &p.size, why);
    if (err == 0 && !has_hosts(hosts)) {
        snprintf(why, LA_TEXT, "no host is named");
        err = PHX_EINVAL;
    }
    if (err == 0)
        err = begin(&p);
    if (err == 0) {
        p.local = find_local(&p);
        deal(&p, job);
        job->size = p.size;
        job->universe = universe(&p);
        warn_slots(&p, said);
        warn_localhost(&p, job, said);
        err = write_mapping(&p, job, said);
    }
    if (err == 0)
        err = place_agents(&p, job, said, why);
    end(&p);
    return err;
}
