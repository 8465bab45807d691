/* rate.c - how often a node dials the addresses that it was told by others. */

/* A member that lies may announce any address for any number of nodes, and everybody believes it. Without a
 * bound one liar turns a thousand nodes into a thousand machines that knock at a victim's door, as often as
 * the liar sends a new card. So a node dials what it was told by others at the least of three rates:
 *
 *   - one address: 16 times, then once in 30 s. An honest node that is down is tried ten times within half a
 *     minute and then more rarely (dial.c), so it never feels this rate. Nor does a flapping one: if it has
 *     proved that it lives at the address, it is forgiven what was spent.
 *   - one host, whatever the port: 128 times, as many as a large machine has processes, then 8 a second. Not
 *     for the loopback: there the victim would be this very machine.
 *   - all together: 1024 times, then 64 a second, which a full mesh of the default size never notices.
 *
 * A dial that leads to a node is given back to its host and to all together: a victim is no node, and 400
 * processes of one machine that start again, at new ports, need not wait. Hubs are the user's word and have
 * no rate. */
#include "dial/addr.h"

static const struct phx__ratelimit_rule rate_address = { 30 * PHX__SECOND, 16 };
static const struct phx__ratelimit_rule rate_host = { 125 * PHX__MS, 128 };
static const struct phx__ratelimit_rule rate_all = { 15625, 1024 };

PHX__COLD uint64_t phx__dial_rate_wait(const struct phx__ratelimit *l, const struct phx_address *a,
                                       uint64_t now)
{
    uint64_t most = phx__ratelimit_wait(l, PHX__RATELIMIT_ALL, &rate_all, now);

    most = PHX__MAX(phx__ratelimit_wait(l, phx__ratelimit_key(l, a, 1), &rate_address, now), most);
    if (phx__addr_is_local(a))
        return most;
    return PHX__MAX(phx__ratelimit_wait(l, phx__ratelimit_key(l, a, 0), &rate_host, now), most);
}

PHX__COLD void phx__dial_rate_spend(struct phx__ratelimit *l, const struct phx_address *a, uint64_t now)
{
    phx__ratelimit_spend(l, phx__ratelimit_key(l, a, 1), &rate_address, now);
    phx__ratelimit_spend(l, PHX__RATELIMIT_ALL, &rate_all, now);
    if (!phx__addr_is_local(a))
        phx__ratelimit_spend(l, phx__ratelimit_key(l, a, 0), &rate_host, now);
}

PHX__COLD void phx__dial_rate_return(struct phx__ratelimit *l, const struct phx_address *a)
{
    phx__ratelimit_clear(l, phx__ratelimit_key(l, a, 1));
    phx__ratelimit_return(l, PHX__RATELIMIT_ALL, &rate_all);
    if (!phx__addr_is_local(a))
        phx__ratelimit_return(l, phx__ratelimit_key(l, a, 0), &rate_host);
}
