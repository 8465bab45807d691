/* t_route_burst.c - the routing brain while a crowd starts: what neighbours say too early. */
#include "test.h"
#ifdef PHX_JOINED
#include "../../phoenix.c"
#else
#include "route/route.h"
#endif
#include "route_rig.h"

static void test_burst(void)
{
    /* Goal: in a crowd's start what a neighbour says of its neighbourhood ends no wait. It is asked when no
     * link has come for a moment (here 1.05 s) and no first dial waits, and after eight moments in any case.
     * Rows: until when dials wait and links come; what is held after so many ms, 2: and was asked for. */
    static const struct {
        uint32_t starting_ms, links_ms, ms, held;
    } rows[] = { { 1, 0, 800, 1 },         { 1, 0, 1300, 2 },        { 5000, 0, 4900, 1 },
                 { 5000, 0, 5300, 2 },     { 1, 5000, 4900, 1 },     { 1, 5000, 5300, 2 },
                 { 99000, 0, 8000, 1 },    { 99000, 0, 8700, 2 },    { 99000, 99000, 8000, 1 },
                 { 99000, 99000, 8700, 2 } };
    struct phx__beat b = { .around = 77, .around_count = 2 };

    for (uint32_t i = 0; i < PHX__COUNT(rows); i++) {
        begin();
        r->known += 70; /* of whom we hear nothing here */
        r->pace.starting = 1;
        for (uint32_t rank = 1; rank <= 3; rank++)
            up(rank);
        tell(1, 2, 2, 1);
        tell(1, 5, 2, 3);
        check(told(2, 5) == -1, "node 1 tells it");
        tell(3, 5, 2, 1);
        tell(3, 1, 2, 1);
        check(told(2, 5) == -1, "node 1 leads to both");
        b.digest = r->digest;
        phx__route_beat_in(r, node_of(2), &b, 0, world.now);
        host_flush(h);
        check(phx__route_nbr(r, node_of(2))->held == 1, "row %u: a first heartbeat is too early", i);
        for (uint32_t ms = 0; ms < rows[i].ms; ms += 100) {
            r->pace.starting = ms < rows[i].starting_ms;
            if (ms < rows[i].links_ms && ms % 1000 == 0)
                up(6 + ms / 1000);
            phx__route_beat_due(r, world.now);
            wait(PHX__MIN(rows[i].ms - ms, 100) * PHX__MS);
        }
        phx__route_beat_due(r, world.now);
        ok(phx__route_nbr(r, node_of(2))->held == rows[i].held, "row %u: held after %u ms", i, rows[i].ms);
        phx__route_beat_in(r, node_of(2), &b, 0, world.now);
        ok(told(2, 5) == (rows[i].held == 2 ? 2 : -1), "and told if it was asked");
        end();
    }
}

int main(void)
{
    test_burst();
    return test_end();
}
