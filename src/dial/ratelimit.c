/* ratelimit.c - how often something may be done to a place: dials at an address, lines in the log. */

/* A member that lies may announce any address for any number of nodes, and everybody believes it: that
 * is how discovery works. Without a bound one liar turns a cluster of a thousand nodes into a thousand
 * machines that knock at a victim's door, as often as the liar sends a new card. So a node dials
 * what it was told by others at three rates, whichever is the least:
 *
 *   - one address: 16 times, then once in 30 s. An honest node that is down is tried ten times within
 *     half a minute and then more rarely than that (see dial.c), so it never feels this. A node that
 *     has proved that it lives there is forgiven what was spent, so a flapping one does not either.
 *   - one host, whatever the port: 128 times, then 8 a second. As many as a large machine
 *     has processes. Not for the loopback: there the victim would be this very machine.
 *   - all together: 1024 times, then 64 a second. A full mesh of the default size starts without
 *     noticing; what a liar adds later is slow.
 *
 * A dial that leads to a node is given back to its host and to all together: 400 processes of one machine
 * that are started again, at new ports, need not wait for each other, and a victim is not a node.
 *
 * Hubs are the user's word and have no budget.
 *
 * Each rate is one number per place, the time at which all that was taken is paid for (GCRA, the
 * virtual scheduling algorithm of ITU-T I.371): taking one moves it on by the interval, and one may be
 * taken while it is less than burst intervals ahead of now.
 *
 * The table has a fixed size. A place is looked for in four lines; when all are others' one makes room:
 * one that is paid for already, else the address that is paid for soonest, a host only if there is
 * no address (an address is paid for after 30 s and more, so a victim's hosts would go first, driven out
 * by its own ports). So forgetting is generous, and a liar could forget a victim's line by naming
 * hundreds of other hosts; but they come out of the budget of all together, and which lines share a
 * place's fate is salted. */
#include "dial/ratelimit.h"

#define RATELIMIT_WAYS 4u
#define RATELIMIT_HOST 1u
static const struct phx__ratelimit_rule budget_address = { 30 * PHX__SECOND, 16 };
static const struct phx__ratelimit_rule budget_host = { 125 * PHX__MS, 128 };
static const struct phx__ratelimit_rule budget_all = { 15625, 1024 };

int phx__ratelimit_init(struct phx__ratelimit *b, struct phx__mem *mem, uint32_t count, uint64_t salt)
{
    PHX_ASSERT(count >= RATELIMIT_WAYS && (count & (count - 1)) == 0);
    b->mem = mem;
    b->salt = salt;
    b->all = 0;
    b->lines = phx__mem_zero(mem, count * sizeof *b->lines);
    b->count = b->lines == NULL ? 0 : count;
    return b->lines == NULL ? PHX_ENOMEM : 0;
}

void phx__ratelimit_free(struct phx__ratelimit *b)
{
    if (b->lines != NULL)
        phx__mem_put(b->mem, b->lines, b->count * sizeof *b->lines);
    b->lines = NULL;
    b->count = 0;
}

/* FNV-1a with a salt, and the bits mixed once more at the end, since the low ones pick the line. */
static uint64_t ratelimit_hash(uint64_t h, const void *data, size_t size)
{
    const uint8_t *p = data;

    while (size-- > 0)
        h = (h ^ *p++) * 0x100000001b3u;
    return h;
}

/* The lowest bit, which does not pick the line, says that it is a host. */
uint64_t phx__ratelimit_place(const struct phx__ratelimit *b, const struct phx_address *a, int with_port)
{
    uint64_t h = ratelimit_hash(b->salt ^ 0xcbf29ce484222325u, &a->family, 1);
    uint8_t port[3];

    port[0] = (uint8_t)(with_port ? a->port & 255 : 0); /* the same on all machines */
    port[1] = (uint8_t)(with_port ? a->port >> 8 : 0);
    port[2] = (uint8_t)(with_port ? 0 : 1);

    if (a->family == PHX_UNIX || a->family == PHX_OTHER)
        h = ratelimit_hash(h, a->path, strlen(a->path));
    else
        h = ratelimit_hash(ratelimit_hash(h, a->ip, sizeof a->ip), port, sizeof port);
    h = (h ^ h >> 33) * 0xff51afd7ed558ccdu;
    h = (h ^ h >> 33) & ~(uint64_t)RATELIMIT_HOST;
    if (!with_port)
        return h | RATELIMIT_HOST;
    return h != 0 ? h : 2 * RATELIMIT_HOST;
}

/* The line of a place, or NULL. */
static struct phx__ratelimit_line *ratelimit_find(const struct phx__ratelimit *b, uint64_t place)
{
    uint32_t i, first = (uint32_t)place & (b->count - 1) & ~(RATELIMIT_WAYS - 1);

    for (i = first; i < first + RATELIMIT_WAYS; i++)
        if (b->lines[i].place == place)
            return &b->lines[i];
    return NULL;
}

/* Does line a make room before line b? A free one is at 0. */
static int ratelimit_goes(const struct phx__ratelimit_line *a, const struct phx__ratelimit_line *b,
                       uint64_t now)
{
    int a_stays = a->at > now && (a->place & RATELIMIT_HOST) != 0;
    int b_stays = b->at > now && (b->place & RATELIMIT_HOST) != 0;

    return a_stays != b_stays ? b_stays : a->at < b->at;
}

static struct phx__ratelimit_line *ratelimit_line(struct phx__ratelimit *b, uint64_t place, uint64_t now)
{
    uint32_t i, first = (uint32_t)place & (b->count - 1) & ~(RATELIMIT_WAYS - 1), soonest = first;
    struct phx__ratelimit_line *line = ratelimit_find(b, place);

    if (line != NULL)
        return line;
    for (i = first; i < first + RATELIMIT_WAYS; i++)
        if (ratelimit_goes(&b->lines[i], &b->lines[soonest], now))
            soonest = i;
    line = &b->lines[soonest];
    line->place = place;
    line->at = 0;
    line->denied = 0;
    return line;
}

/* How long until one may be taken. */
static uint64_t ratelimit_until(uint64_t at, const struct phx__ratelimit_rule *rule, uint64_t now)
{
    uint64_t ahead = (rule->burst - 1) * rule->interval_us;

    return at <= now || at - now <= ahead ? 0 : at - now - ahead;
}

static uint64_t ratelimit_spend(uint64_t at, const struct phx__ratelimit_rule *rule, uint64_t now)
{
    return (at > now ? at : now) + rule->interval_us;
}

/* One that was taken is given back. */
static uint64_t ratelimit_return(uint64_t at, const struct phx__ratelimit_rule *rule)
{
    return at > rule->interval_us ? at - rule->interval_us : 0;
}

int64_t phx__ratelimit_take(struct phx__ratelimit *b, uint64_t place, const struct phx__ratelimit_rule *rule,
                         uint64_t now)
{
    struct phx__ratelimit_line *line = ratelimit_line(b, place, now);
    int64_t denied = line->denied;

    if (ratelimit_until(line->at, rule, now) > 0) {
        line->denied += line->denied < UINT32_MAX;
        return -1;
    }
    line->at = ratelimit_spend(line->at, rule, now);
    line->denied = 0;
    return denied;
}

int phx__ratelimit_take_all(struct phx__ratelimit *b, const struct phx__ratelimit_rule *rule, uint64_t now)
{
    if (ratelimit_until(b->all, rule, now) > 0)
        return 0;
    b->all = ratelimit_spend(b->all, rule, now);
    return 1;
}

/* ---- Dials ----------------------------------------------------------------------------------- */

static uint64_t ratelimit_wait(const struct phx__ratelimit *b, const struct phx_address *a, uint64_t now)
{
    const struct phx__ratelimit_line *line = ratelimit_find(b, phx__ratelimit_place(b, a, 1));
    uint64_t most = ratelimit_until(b->all, &budget_all, now), wait;

    wait = line == NULL ? 0 : ratelimit_until(line->at, &budget_address, now);
    most = wait > most ? wait : most;
    line = phx__addr_is_local(a) ? NULL : ratelimit_find(b, phx__ratelimit_place(b, a, 0));
    wait = line == NULL ? 0 : ratelimit_until(line->at, &budget_host, now);
    return wait > most ? wait : most;
}

uint64_t phx__ratelimit_first(const struct phx__ratelimit *b, const struct phx__dial_addr *at,
                           uint32_t count, unsigned which, uint64_t now)
{
    uint64_t first = UINT64_MAX, wait;
    struct phx_address a;
    uint32_t i;

    for (i = 0; i < count; i++) {
        if ((which & 1u << i) == 0)
            continue;
        phx__dial_addr_address(at, i, &a);
        if ((wait = ratelimit_wait(b, &a, now)) < first)
            first = wait;
    }
    return first == UINT64_MAX ? 0 : first;
}

void phx__ratelimit_dialled(struct phx__ratelimit *b, const struct phx_address *a, uint64_t now)
{
    struct phx__ratelimit_line *line = ratelimit_line(b, phx__ratelimit_place(b, a, 1), now);

    line->at = ratelimit_spend(line->at, &budget_address, now);
    b->all = ratelimit_spend(b->all, &budget_all, now);
    if (phx__addr_is_local(a))
        return;
    line = ratelimit_line(b, phx__ratelimit_place(b, a, 0), now);
    line->at = ratelimit_spend(line->at, &budget_host, now);
}

void phx__ratelimit_good(struct phx__ratelimit *b, const struct phx_address *a, int paid)
{
    struct phx__ratelimit_line *line = ratelimit_find(b, phx__ratelimit_place(b, a, 1));
    struct phx__ratelimit_line *host = ratelimit_find(b, phx__ratelimit_place(b, a, 0));

    if (line != NULL)
        line->at = 0;
    if (!paid)
        return;
    if (host != NULL && !phx__addr_is_local(a))
        host->at = ratelimit_return(host->at, &budget_host);
    b->all = ratelimit_return(b->all, &budget_all);
}

#undef RATELIMIT_WAYS
#undef RATELIMIT_HOST
