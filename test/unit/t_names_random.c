/* t_names_random.c - random calls against a naive model, without memory, and several nodes together. */
#include "names_rig.h"

/* ---- A naive model */

enum { NAMES = 64, NODES = 5, LOST_MAX = 4000 };

/* Name by name. The real names are base + 0..NAMES-1, so that both ends of the space are met. */
struct model {
    uint64_t base, epoch_max; /* of those in the lower half */
    uint64_t high;            /* of all */
    uint8_t has[NODES][NAMES];
    uint64_t epoch[NODES][NAMES];
    uint32_t lost_name[LOST_MAX], lost_to[LOST_MAX], lost_count, taken;
};

static const uint32_t model_ranks[NODES] = {20, 10, 30, 15, 25};

static int model_beats(const struct model *m, uint32_t a, uint32_t b, uint32_t name)
{
    if (m->epoch[a][name] != m->epoch[b][name])
        return m->epoch[a][name] > m->epoch[b][name];
    return model_ranks[a] > model_ranks[b];
}

static uint32_t model_owner(const struct model *m, uint32_t name)
{
    uint32_t node, best = PHX__NONE;

    for (node = 0; node < NODES; node++)
        if (m->has[node][name] && (best == PHX__NONE || model_beats(m, node, best, name)))
            best = node;
    return best;
}

static void model_see(struct model *m, uint64_t epoch)
{
    if (epoch <= UINT64_MAX / 2 && epoch > m->epoch_max && epoch - m->epoch_max <= UINT64_C(1) << 40)
        m->epoch_max = epoch;
    if (epoch > m->high)
        m->high = epoch;
}

static int model_assume(struct model *m, uint32_t first, uint32_t last)
{
    uint64_t epoch = m->epoch_max + 1;
    uint32_t name, node;
    int changed = 0;

    for (name = first; name <= last; name++)
        changed |= !m->has[0][name];
    if (!changed)
        return 0;
    for (name = first; name <= last; name++)
        for (node = 1; node < NODES; node++)
            if (m->has[node][name] && m->epoch[node][name] >= epoch)
                epoch = m->epoch[node][name] < TOP ? m->epoch[node][name] + 1 : TOP;
    for (name = first; name <= last; name++)
        for (node = 1; node < NODES; node++)
            if (m->has[node][name] && m->epoch[node][name] == epoch
                && model_ranks[node] > model_ranks[0])
                return PHX_ELIMIT;
    model_see(m, epoch);
    for (name = first; name <= last; name++) {
        if (!m->has[0][name])
            m->epoch[0][name] = epoch;
        m->has[0][name] = 1;
    }
    return 1;
}

static int model_release(struct model *m, uint32_t first, uint32_t last)
{
    uint32_t name;
    int changed = 0;

    for (name = first; name <= last; name++) {
        changed |= m->has[0][name];
        m->has[0][name] = 0;
    }
    return changed;
}

static int model_set(struct model *m, uint32_t node, const struct phx__claim *c, uint32_t count)
{
    uint32_t i, name;
    int changed = 0;

    memset(m->has[node], 0, sizeof m->has[node]);
    for (i = 0; i < count; i++) {
        uint64_t epoch = c[i].epoch < TOP ? c[i].epoch : TOP;

        model_see(m, epoch);
        for (name = (uint32_t)(c[i].first - m->base); name <= c[i].last - m->base; name++) {
            m->has[node][name] = 1;
            m->epoch[node][name] = epoch;
            if (m->has[0][name] && model_beats(m, node, 0, name)) {
                m->has[0][name] = 0;
                m->lost_name[m->lost_count] = name;
                m->lost_to[m->lost_count++] = node;
                changed = 1;
            }
        }
    }
    return changed;
}

/* Own claims: sorted, disjoint, as few as their epochs allow, and those of the model. */
static int model_own_agrees(const struct model *m, struct rig *r)
{
    const struct phx__claim *before = NULL;
    uint32_t i, name, held = 0, count = 0;

    for (i = 0; i < own_count(r); i++) {
        const struct phx__claim *c = &r->names.of[PHX__SELF].at[i];

        if (c->first > c->last || (before != NULL && before->last >= c->first))
            return 0;
        if (before != NULL && before->last + 1 == c->first && before->epoch == c->epoch)
            return 0;
        for (name = (uint32_t)(c->first - m->base); name <= c->last - m->base; name++) {
            if (name >= NAMES || !m->has[0][name] || m->epoch[0][name] != c->epoch)
                return 0;
            count++;
        }
        before = c;
    }
    for (name = 0; name < NAMES; name++)
        held += m->has[0][name];
    return held == count;
}

/* Every name's owner and the widest range around it. */
static int model_owners_agree(const struct model *m, struct rig *r)
{
    uint64_t top = UINT64_MAX - m->base < NAMES ? UINT64_MAX : 0;
    uint32_t name, first, last;
    struct phx_range around;
    int error;

    for (first = 0; first < NAMES; first = last + 1) {
        uint64_t want_first, want_last;

        for (last = first; last + 1 < NAMES && model_owner(m, last + 1) == model_owner(m, first);)
            last++;
        want_first = m->base + first;
        want_last = m->base + last;
        if (model_owner(m, first) == PHX__NONE && first == 0)
            want_first = 0;
        if (model_owner(m, first) == PHX__NONE && last == NAMES - 1 && !top)
            want_last = UINT64_MAX;
        for (name = first; name <= last; name++) {
            uint32_t node = phx__names_owner(&r->names, m->base + name, &around, &error);

            if (node != model_owner(m, first) || error != 0)
                return 0;
            if (around.first != want_first || around.last != want_last)
                return 0;
        }
    }
    return 1;
}

/* Takes what was lost, now or later, and compares it name by name in its order. */
static int model_lost_agrees(struct model *m, struct rig *r)
{
    struct phx__names_conflict lost;

    while (phx__names_take_conflict(&r->names, &lost)) {
        uint32_t name = (uint32_t)(lost.range.first - m->base);

        for (; name <= lost.range.last - m->base; name++, m->taken++)
            if (m->taken >= m->lost_count || m->lost_name[m->taken] != name
                || m->lost_to[m->taken] != phx__id_find(&r->ids, &lost.winner))
                return 0;
    }
    return m->taken == m->lost_count;
}

static uint32_t random_claims(struct phx__rnd *rnd, const struct model *m, struct phx__claim *c)
{
    uint32_t name = (uint32_t)phx__rnd_below(rnd, NAMES), count = 0;

    while (name < NAMES && phx__rnd_below(rnd, 6) != 0) {
        uint32_t last = name + (uint32_t)phx__rnd_below(rnd, 8);
        uint64_t back = phx__rnd_below(rnd, 10);

        if (last >= NAMES)
            last = NAMES - 1;
        c[count].first = m->base + name;
        c[count].last = m->base + last;
        /* Around the highest known, sometimes above. */
        c[count].epoch = m->high <= back ? 1 : m->high - back;
        if (c[count].epoch < UINT64_MAX - 3)
            c[count].epoch += 3;
        count++;
        name = last + 1 + (uint32_t)(phx__rnd_below(rnd, 2) * phx__rnd_below(rnd, 10));
    }
    return count;
}

/* One random call on both. */
struct move {
    int what; /* 0..3 assume, 4..5 release, 6..8 set, 9 forget */
    uint32_t first, last, node, count;
    struct phx__claim c[NAMES];
};

static void move_draw(struct move *v, struct phx__rnd *rnd, const struct model *m)
{
    v->what = (int)phx__rnd_below(rnd, 10);
    v->first = (uint32_t)phx__rnd_below(rnd, NAMES);
    v->last = v->first + (uint32_t)phx__rnd_below(rnd, phx__rnd_below(rnd, 4) ? 8 : NAMES);
    if (v->last >= NAMES)
        v->last = NAMES - 1;
    v->node = 1 + (uint32_t)phx__rnd_below(rnd, NODES - 1);
    v->count = random_claims(rnd, m, v->c);
}

static int move_real(const struct move *v, struct rig *r, uint64_t base)
{
    if (v->what < 4)
        return phx__names_assume(&r->names, base + v->first, base + v->last);
    if (v->what < 6)
        return phx__names_release(&r->names, base + v->first, base + v->last);
    if (v->what < 9)
        return set(r, v->node, 0, v->c, v->count);
    phx__names_forget(&r->names, v->node);
    return 0;
}

static int move_model(const struct move *v, struct model *m)
{
    if (v->what < 4)
        return model_assume(m, v->first, v->last);
    if (v->what < 6)
        return model_release(m, v->first, v->last);
    return model_set(m, v->node, v->c, v->what < 9 ? v->count : 0);
}

static void model_init(struct model *m, uint64_t seed)
{
    memset(m, 0, sizeof *m);
    m->base = seed % 3 == 0 ? 0 : seed % 3 == 1 ? UINT64_MAX - (NAMES - 1) : 1000;
}

/* Every third run begins where epochs nearly end. */
static void start_high(struct rig *r, struct model *m, uint64_t seed)
{
    struct phx__claim c;

    if (seed % 9 < 6)
        return;
    c.first = c.last = m->base;
    c.epoch = TOP - 10;
    set(r, 1, 0, &c, 1);
    model_set(m, 1, &c, 1);
}

static void test_model(void)
{
    /* Goal: any sequence of calls gives what name-by-name bookkeeping gives.
     * Method: 240 seeds, 100 random calls each, 5 nodes, 64 names at either end of the space or in
     * the middle, epochs from 1 or near their end. After each call own claims are compared; every
     * name's owner with its range, and the lost queue, each time, rarely, or only at the end. */
    static struct model m;
    struct phx__rnd rnd;
    struct move v;
    struct rig r;
    uint64_t seed;
    int i, bad = 0;

    for (seed = 0; seed < 240 && !bad; seed++) {
        phx__rnd_seed(&rnd, seed, 7);
        model_init(&m, seed);
        rig_init(&r, NODES, model_ranks);
        start_high(&r, &m, seed);
        for (i = 0; i < 100 && !bad; i++) {
            uint64_t version = r.names.version, pause = seed % 4 == 3 ? 100 : 1 + seed % 4 * 5;
            int rc;

            move_draw(&v, &rnd, &m);
            rc = move_real(&v, &r, m.base);
            bad |= rc != move_model(&v, &m) || (rc == 1 && r.names.version == version);
            bad |= r.names.epoch_max != m.epoch_max || !model_own_agrees(&m, &r);
            if (phx__rnd_below(&rnd, pause) == 0)
                bad |= !model_owners_agree(&m, &r);
            if (phx__rnd_below(&rnd, pause) == 0)
                bad |= !model_lost_agrees(&m, &r);
        }
        bad |= !model_owners_agree(&m, &r) || !model_lost_agrees(&m, &r);
        bad |= !rig_free(&r);
        check(!bad, "seed %u, call %d, move %d", (unsigned)seed, i, v.what);
    }
    ok(!bad, "240 random runs agree with the model");
}

/* ---- Out of memory */

/* All that a failing call must not touch. */
static uint64_t state_hash(const struct phx__names *n)
{
    uint64_t h = n->version ^ phx__map_mix(n->epoch_max) ^ phx__map_mix(n->conflict_count + 99u);
    uint32_t node, i;

    for (node = 0; node < n->capacity; node++)
        for (i = 0; i < n->of[node].count; i++) {
            const struct phx__claim *c = &n->of[node].at[i];

            h = phx__map_mix(h + node) ^ c->first;
            h = phx__map_mix(h) ^ c->last;
            h = phx__map_mix(h) ^ c->epoch;
        }
    for (i = 0; i < n->conflict_count; i++) {
        h = phx__map_mix(h + phx__id_hash(&n->conflicts[i].winner)) ^ n->conflicts[i].range.first;
        h = phx__map_mix(h) ^ n->conflicts[i].range.last;
    }
    return h;
}

/* The call with its first allocation failing, then the second, and so on until it gets through. The
 * last try may have failed inside and hidden it: the index is allowed to. */
static int move_failing(const struct move *v, struct rig *r, uint64_t base, uint32_t *refused)
{
    long k;

    for (k = 1;; k++) {
        uint64_t before = state_hash(&r->names);
        int rc;

        r->heap.fail_at = r->heap.calls + k;
        rc = move_real(v, r, base);
        r->heap.fail_at = 0;
        if (rc != PHX_ENOMEM)
            return rc;
        ++*refused;
        if (!check(before == state_hash(&r->names), "a call without memory changes nothing"))
            return rc;
    }
}

/* Without memory own names are known all the same, and no others. */
static int lookup_failing(struct rig *r, uint64_t name, uint32_t *refused)
{
    struct phx_range around;
    uint32_t node, before = PHX__NONE;
    int error, failed = 0;
    long k;

    for (k = 1;; k++) {
        r->heap.fail_at = r->heap.calls + k;
        node = phx__names_owner(&r->names, name, &around, &error);
        r->heap.fail_at = 0;
        if (error == 0)
            return !failed || (before == PHX__SELF) == (node == PHX__SELF);
        ++*refused;
        if (error != PHX_ENOMEM || (node != PHX__NONE && node != PHX__SELF) || around.first != name
            || around.last != name)
            return 0;
        failed = 1;
        before = node;
    }
}

static void test_memory(void)
{
    /* Goal: a call that finds no memory changes nothing and succeeds when repeated; a lookup that
     * finds none says so.
     * Method: 300 fresh rooms, 30 random calls each, every call with its 1st, 2nd, ... allocation
     * failing until it succeeds; then all is compared with the model. */
    static struct model m;
    uint32_t refused = 0, blind = 0;
    struct phx__rnd rnd;
    struct move v;
    struct rig r;
    uint64_t seed;
    int i, bad = 0;

    for (seed = 0; seed < 300 && !bad; seed++) {
        phx__rnd_seed(&rnd, seed, 8);
        model_init(&m, seed);
        rig_init(&r, NODES, model_ranks);
        start_high(&r, &m, seed);
        for (i = 0; i < 30 && !bad; i++) {
            move_draw(&v, &rnd, &m);
            bad |= move_failing(&v, &r, m.base, &refused) != move_model(&v, &m);
            if (seed % 2 == 0) {
                bad |= !lookup_failing(&r, m.base + v.first, &blind);
                bad |= !model_owners_agree(&m, &r);
            }
            bad |= !model_own_agrees(&m, &r);
            if (phx__rnd_below(&rnd, 8) == 0)
                bad |= !model_lost_agrees(&m, &r);
        }
        bad |= !model_owners_agree(&m, &r) || !model_lost_agrees(&m, &r) || !rig_free(&r);
        check(!bad, "seed %u, call %d, move %d", (unsigned)seed, i, v.what);
    }
    ok(!bad && refused > 1000 && blind > 1000, "%u calls and %u lookups without memory", refused,
       blind);
}

/* ---- Several nodes together */

enum { PEERS = 5, SPACE = 40 };

/* Each peer numbers the others its own way: peer p knows q as peer_index(p, q). */
struct peer {
    struct rig r;
    uint8_t held[SPACE]; /* what its application believes to hold */
    uint32_t notices;
};

static uint32_t peer_index(uint32_t p, uint32_t q)
{
    return (q + PEERS - p) % PEERS;
}

static int peer_hear(struct peer *all, uint32_t p, uint32_t q)
{
    const struct phx__names *from = &all[q].r.names;
    uint32_t count = own_count(&all[q].r);

    return set(&all[p].r, peer_index(p, q), 0, count > 0 ? from->of[PHX__SELF].at : NULL, count);
}

/* Tells the application. Is it told only of what it believes to hold? */
static int peer_notify(struct peer *a)
{
    struct phx__names_conflict lost;

    while (phx__names_take_conflict(&a->r.names, &lost)) {
        uint64_t name;

        for (name = lost.range.first; name <= lost.range.last; name++) {
            if (name >= SPACE || !a->held[name])
                return 0;
            a->held[name] = 0;
            a->notices++;
        }
    }
    return 1;
}

static void peer_act(struct peer *a, struct phx__rnd *rnd)
{
    uint64_t first = phx__rnd_below(rnd, SPACE), last = first + phx__rnd_below(rnd, 12);

    if (last >= SPACE)
        last = SPACE - 1;
    if (phx__rnd_below(rnd, 3) > 0) {
        if (phx__names_assume(&a->r.names, first, last) >= 0)
            memset(a->held + first, 1, (size_t)(last - first + 1));
    } else {
        phx__names_release(&a->r.names, first, last);
        memset(a->held + first, 0, (size_t)(last - first + 1));
    }
}

/* Everybody hears everybody, in random order, until nobody changes. Rounds needed, or 0: never. */
static int peers_settle(struct peer *all, struct phx__rnd *rnd)
{
    int round, changed = 1, k;
    uint32_t p, q;

    for (round = 1; round <= 8 && changed; round++) {
        changed = 0;
        for (k = 0; k < 40; k++) {
            p = (uint32_t)phx__rnd_below(rnd, PEERS);
            q = (uint32_t)phx__rnd_below(rnd, PEERS);
            if (p != q)
                changed |= peer_hear(all, p, q);
        }
        for (p = 0; p < PEERS; p++)
            for (q = 0; q < PEERS; q++)
                if (p != q)
                    changed |= peer_hear(all, p, q);
    }
    return changed ? 0 : round;
}

/* One owner per name in everybody's eyes, and its application thinks so too. */
static int peers_agree(struct peer *all)
{
    uint32_t p, q, name, holder, holders;

    for (name = 0; name < SPACE; name++) {
        holder = PHX__NONE;
        holders = 0;
        for (p = 0; p < PEERS; p++) {
            if (!all[p].held[name])
                continue;
            holder = p;
            holders++;
        }
        if (holders > 1)
            return 0;
        for (q = 0; q < PEERS; q++)
            if (owner(&all[q].r, name) != (holders == 0 ? PHX__NONE : peer_index(q, holder)))
                return 0;
    }
    return 1;
}

static void test_convergence(void)
{
    /* Goal: nodes that assume the same names at the same time agree on one owner per name once all
     * have heard all, and each loser is told once, of each name.
     * Method: 200 seeds; 5 rooms assume and release at random and hear some of each other's cards,
     * at first split in two halves that do not hear each other, then all; then everybody hears
     * everybody and nobody acts. A third of the runs begins near the end of epochs. */
    static struct peer all[PEERS];
    uint32_t rank[PEERS], p, q, notices = 0;
    struct phx__rnd rnd;
    uint64_t seed;
    int i, half, bad = 0;

    for (seed = 0; seed < 200 && !bad; seed++) {
        phx__rnd_seed(&rnd, seed, 9);
        memset(all, 0, sizeof all);
        for (p = 0; p < PEERS; p++) {
            for (q = 0; q < PEERS; q++)
                rank[peer_index(p, q)] = 1 + q * 7 % PEERS;
            rig_init(&all[p].r, PEERS, rank);
            if (seed % 3 == 2)
                all[p].r.names.epoch_max = UINT64_MAX / 2 - 4;
        }
        for (half = 0; half < 3; half++) {
            for (i = 0; i < 60 && !bad; i++) {
                p = (uint32_t)phx__rnd_below(&rnd, PEERS);
                q = (uint32_t)phx__rnd_below(&rnd, PEERS);
                if (p == q)
                    peer_act(&all[p], &rnd);
                else if (half == 2 || (p < 2) == (q < 2))
                    peer_hear(all, p, q);
                bad |= !peer_notify(&all[p]);
            }
            bad |= half == 2 && peers_settle(all, &rnd) == 0;
        }
        for (p = 0; p < PEERS; p++) {
            bad |= !peer_notify(&all[p]);
            notices += all[p].notices;
        }
        bad |= !peers_agree(all);
        for (p = 0; p < PEERS; p++)
            bad |= !rig_free(&all[p].r);
        check(!bad, "seed %u", (unsigned)seed);
    }
    ok(!bad && notices > 1000, "all agree after 200 splits, %u names lost and told once", notices);
}

int main(void)
{
    test_model();
    test_memory();
    test_convergence();
    return test_end();
}
