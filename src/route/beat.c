/* beat.c - BRAIN: what a heartbeat says of routing: the digest, the neighbourhood, and who was lost. */
#include "route/route.h"

/* Summaries between two neighbours that go on disagreeing: 10 s apart at first, doubling to 5 minutes. */
#define BEAT_SUMMARY_WAIT (10 * PHX__SECOND)
#define BEAT_SUMMARY_WAIT_MAX (300 * PHX__SECOND)
/* The table is quiet after a second without a change, and 20 ms for each known node beyond 64: hundreds that
 * start on a few cores are silent for want of processor, and summaries would keep it busy. */
#define BEAT_QUIET_EACH (20 * PHX__MS)
/* What is held back for a neighbour whose neighbourhood does not come to stand is sent after so many moments
 * without a link, 16 s if 64 are known, 37 s if 400 are; while links come after BEAT_HELD_EVER times that. */
#define BEAT_HELD_MOST 16u
#define BEAT_HELD_EVER 4u
/* Twice the lost links between others that are noted until a flush; with fewer known all is checked. */
#define BEAT_CUTS_MOST 4096u
#define BEAT_CUTS_KNOWN 16u

uint64_t phx__route_beat_quiet_at(const struct phx__route *r)
{
    uint32_t beyond = r->known > PHX__ROUTE_CROWD ? r->known - PHX__ROUTE_CROWD : 0;

    return r->moved + PHX__ROUTE_QUIET + beyond * BEAT_QUIET_EACH;
}

static int beat_starts(const struct phx__route *r)
{
    return r->known > PHX__ROUTE_CROWD && !r->pace.frank && r->ops.starting(r->ops.ctx);
}

int phx__route_beat_stands(const struct phx__route *r, const struct phx__route_nbr *n)
{
    return n->stands && !beat_starts(r);
}

/* How long no link has come when none are expected any more. What is held waits for them, not for news. */
PHX__COLD static uint64_t beat_moment(const struct phx__route *r)
{
    return PHX__ROUTE_QUIET + (phx__route_beat_quiet_at(r) - r->moved - PHX__ROUTE_QUIET) / 5;
}

/* When what has waited since then has waited long enough. Where hundreds start on few cores links come for
 * minutes, and what waited, sent in the midst of that, would cost more than they do. */
PHX__COLD static uint64_t beat_late_at(const struct phx__route *r, uint64_t since)
{
    uint64_t most = BEAT_HELD_MOST * beat_moment(r);

    return PHX__MIN(PHX__MAX(since, r->pace.linked_at) + most, since + BEAT_HELD_EVER * most);
}

/* The link of neighbour n with that node is lost: entries for n that relied on it are due. */
PHX__COLD static void beat_cut(struct phx__route *r, struct phx__route_nbr *n, uint32_t node)
{
    struct phx__route_list *l = &r->cuts;

    n->cut = r->known >= BEAT_CUTS_KNOWN && l->count < BEAT_CUTS_MOST
             && phx__mem_grow(r->mem, &l->at, &l->capacity, l->count + 2, sizeof *l->at) == 0;
    if (!n->cut) {
        n->dirty = 2; /* all is checked */
        return;
    }
    l->at[l->count++] = n->node;
    l->at[l->count++] = node;
}

/* Neighbour n has lost the node of this hash. If we have, too, nobody needs an update. If not, updates that
 * we withheld may have relied on their link: to n of that node and its offers, to that node of n's. */
static void beat_named_lost(struct phx__route *r, struct phx__route_nbr *n, uint64_t hash, uint64_t now)
{
    uint32_t node = phx__map_get(&r->ids->places, hash);
    struct phx__route_nbr *k = phx__route_nbr(r, node);

    if (node == PHX__NONE || phx__route_gap_take(&n->gap, r->ids, node) || k == n
        || (k == NULL && (phx__route_dest(r, node) == NULL || r->table.at[node].pos != PHX__TABLE_LOST)))
        return;
    if (!phx__route_gap_has(&n->gap, node | PHX__GAP_THEIRS)
        && phx__route_gap_add(&n->gap, r->mem, r->ids, node | PHX__GAP_THEIRS) != 0)
        n->neighbourhood = 0; /* not known until its next beat */
    if (k == NULL)
        return;
    /* The way that we told it of proved good: its other end hears of it, too. */
    if (phx__route_table_word(&r->table.at[node], n->node).hops != PHX__UNREACHABLE
        && phx__route_table_word(&r->table.at[n->node], node).hops == PHX__UNREACHABLE)
        (void)phx__route_asked(r, node, n->node, 0, now);
    beat_cut(r, n, node);
    beat_cut(r, k, n->node);
    r->pace.look = r->pace.news = 1;
    r->counters.walked += 2 * (uint64_t)r->table.capacity + n->gap.count;
}

/* A neighbour is next to fewer nodes: updates that we withheld may have relied on a link that is gone. */
static void beat_shrank(struct phx__route *r, struct phx__route_nbr *n, uint64_t now)
{
    uint64_t checks = 0;

    n->dirty = 2;
    r->pace.look = r->pace.news = 1;
    r->mem->looks += r->table.capacity;
    for (uint32_t v = 1; v < r->table.capacity; v++) {
        if (phx__route_table_offer(&r->table.at[v], n->node) == NULL)
            continue;
        checks += (r->table.at[v].flags & PHX__DEST_LOSS) == 0 ? r->nbr_count : 0;
        phx__route_touch_loss(r, v, now);
    }
    r->counters.walked += r->table.capacity + checks * PHX__ROUTE_CHECK_COST;
}

/* Entries that were held back for a neighbour are due. */
PHX__COLD static void beat_release(struct phx__route *r, struct phx__route_nbr *n)
{
    n->held_at = 0;
    n->dirty = PHX__MAX(n->dirty, 1);
    r->pace.look = r->pace.news = 1;
    r->counters.walked += r->table.live_count;
}

/* A beat has said what a neighbour's neighbourhood is. Where many are known it stands when it is ours, or has
 * not changed for a moment: who still has links to come does not say (phx__route_beat_fill). */
PHX__COLD static void beat_stands(struct phx__route *r, struct phx__route_nbr *n, int same, uint64_t now)
{
    if (!same)
        n->changed_at = now;
    n->stands &= (uint8_t)same;
    if (r->known <= PHX__ROUTE_CROWD || n->neighbourhood == r->neighbourhood
        || (same && n->neighbourhood != PHX__ROUTE_NOBODYS && now >= n->changed_at + beat_moment(r)))
        n->stands = 1;
    if (n->held_at != 0 && phx__route_beat_stands(r, n))
        beat_release(r, n);
}

PHX__COLD void phx__route_beat_in(struct phx__route *r, uint32_t nbr, const struct phx__beat *b, int shrunk,
                                  uint64_t now)
{
    struct phx__route_nbr *n = phx__route_nbr(r, nbr);
    uint64_t was = n != NULL ? n->neighbourhood : 0;

    if (n == NULL)
        return;
    if (shrunk && b->lost != 0)
        beat_named_lost(r, n, b->lost, now);
    else if (shrunk && n->neighbourhood != 0 && b->around != r->neighbourhood)
        beat_shrank(r, n, now); /* else all that it has lost we have lost, too */
    if (b->around != 0 || shrunk) {
        n->neighbourhood = b->around;
        n->neighbours = b->around_count - (b->around_count > 0);
    } else if (n->neighbourhood == 0) {
        n->neighbourhood = PHX__ROUTE_NOBODYS; /* it does not say */
    }
    if (n->neighbourhood == r->neighbourhood)
        phx__route_gap_free(&n->gap, r->mem);
    beat_stands(r, n, n->neighbourhood == was || (was == PHX__ROUTE_NOBODYS && n->stands), now);
    if (b->digest == r->digest) {
        n->summary_wait = n->disagreed = 0;
    } else if (now > phx__route_beat_quiet_at(r) && n->disagreed == 0) {
        r->pace.owed = n->disagreed = 1; /* perhaps the neighbour is only late: look again in a second */
        phx__route_plan(r, now + PHX__ROUTE_QUIET);
    } else if (now > phx__route_beat_quiet_at(r) && now >= n->summary_at) {
        n->summary_wait = PHX__MIN(n->summary_wait * 2, BEAT_SUMMARY_WAIT_MAX);
        n->summary_wait = PHX__MAX(n->summary_wait, BEAT_SUMMARY_WAIT);
        n->summary_at = now + n->summary_wait;
        n->disagreed = 0;
        r->ops.summary(r->ops.ctx, nbr, 0);
    }
}

void phx__route_beat_fill(struct phx__route *r, uint32_t nbr, struct phx__beat *b)
{
    struct phx__route_nbr *n = phx__route_nbr(r, nbr);

    b->digest = r->digest;
    /* While losses wait it may settle them before us, or after: what it was told stands (gap.c). */
    if (n != NULL && n->claimed != 0 && r->lost.count > 0 && r->lost.naming == 0 && !n->shrank)
        return;
    /* In a crowd's start what we would say is soon not true any more. */
    if (n != NULL && n->claimed == 0 && beat_starts(r))
        return;
    b->around = r->neighbourhood;
    b->around_count = r->nbr_count + 1;
    b->lost = r->lost.naming;
    if (n == NULL)
        return;
    n->claimed = r->lost.claimed;
    n->vague = r->lost.count > 0;
}

/* A start is over when no first dial waits, and counts no more when some have for long: a dead site, or a
 * liar who makes nodes up, would hold back for ever what waits for its end. */
PHX__COLD static void beat_note_start(struct phx__route *r, uint64_t now)
{
    struct phx__route_pace *pace = &r->pace;
    int starting = r->ops.starting(r->ops.ctx);

    pace->starts_at = !starting ? 0 : pace->starts_at == 0 ? now : pace->starts_at;
    pace->frank = starting && (pace->frank || now >= beat_late_at(r, pace->starts_at));
}

/* Entries are held back for n: it is asked when no link has come for a moment and none is to come, then after
 * two moments, four .. When to look again; UINT64_MAX: it was late, they are sent. */
PHX__COLD static uint64_t beat_held_due(struct phx__route *r, struct phx__route_nbr *n, uint64_t now)
{
    uint64_t moment = beat_moment(r), late = beat_late_at(r, n->held_at);
    uint64_t since = PHX__MAX(n->held_at, beat_starts(r) ? now : r->pace.linked_at);
    uint64_t at = PHX__MAX(since + moment, 2 * n->asked_at - PHX__MIN(since, n->asked_at));

    if (now >= late) {
        n->stands = 1;
        r->pace.frank = 1;
        beat_release(r, n);
        return UINT64_MAX;
    }
    if (now >= at) {
        n->asked_at = now;
        r->ops.beat(r->ops.ctx, n->node, (int)PHX__BEAT_REPLY);
        at = now + moment;
    }
    return PHX__MIN(at, late);
}

PHX__COLD static void beat_all_held_due(struct phx__route *r, uint64_t now)
{
    uint64_t next = UINT64_MAX;

    r->mem->looks += r->nbr_count;
    for (uint32_t i = 0; i < r->nbr_count; i++)
        if (r->nbrs[i].held_at != 0)
            next = PHX__MIN(beat_held_due(r, &r->nbrs[i], now), next);
    r->pace.held = next != UINT64_MAX;
    phx__route_plan(r, next);
}

PHX__COLD void phx__route_beat_due(struct phx__route *r, uint64_t now)
{
    uint64_t quiet = phx__route_beat_quiet_at(r);
    uint64_t last = 0; /* nearly all neighbours have the same news to hear */
    int known = 0, starts;

    beat_note_start(r, now);
    if (r->pace.held)
        beat_all_held_due(r, now);
    if (now < quiet) {
        phx__route_plan(r, quiet);
        return;
    }
    for (uint32_t v = 0; r->pace.choice && (v = r->table.at[v].live) != PHX__SELF; r->mem->looks++)
        phx__route_share(r, v, now);
    r->pace.choice = 0;
    r->mem->looks += r->pace.owed ? r->nbr_count : 0;
    starts = r->pace.owed && beat_starts(r);
    for (uint32_t i = 0; r->pace.owed && i < r->nbr_count; i++) {
        struct phx__route_nbr *n = &r->nbrs[i];
        uint64_t news = n->claimed ^ r->lost.claimed;
        unsigned again = n->disagreed == 1, flags = again * PHX__BEAT_REPLY | n->shrank * PHX__BEAT_SHRUNK;
        if (starts && n->claimed == 0 && flags == 0)
            continue; /* it would not be told (phx__route_beat_fill) */
        if (news != last)
            known = phx__route_nbr(r, phx__map_get(&r->ids->places, last = news)) != NULL;
        if ((news != 0 && !(n->claimed != 0 && known)) || flags != 0)
            r->ops.beat(r->ops.ctx, n->node, (int)flags);
        n->shrank = 0;
        n->disagreed = (uint8_t)(n->disagreed + again);
    }
    r->pace.owed = starts;
    if (starts)
        phx__route_plan(r, now + beat_moment(r));
}

PHX__COLD void phx__route_beat_silent(struct phx__route *r, uint32_t node)
{
    const struct phx__dest *d = &r->table.at[node];

    if (d->hops == PHX__UNREACHABLE || d->seq >= PHX__SEQ_MAX)
        return;
    r->counters.requests_out++;
    r->ops.request(r->ops.ctx, d->next, node, d->seq + 1, r->hop_limit);
}
