/* t_quiet.c - which links are quiet: whose first heartbeat is late.
 *
 * Goal: those of a crowd, if both ends know of many and neither announces less. Method: two nodes over
 * loopback, of which each is made to believe that it knows so many. */
#include "test.h"

#ifdef PHX_JOINED
#include "../../phoenix.c"
#else
#include "node/links.h"
#endif

#include "nodes.h"

static struct node n[2];

/* With known others beside those here, and detector limits of that insurance. */
static void begin_knowing(struct node *m, uint32_t known, uint64_t insurance_us)
{
    struct phx_config c;

    settings(m, &c);
    c.detector.insurance_us = insurance_us;
    begin_as(m, &c, LOOPBACK);
    m->p->route.known += known;
}

static int is_quiet(const struct node *of, const struct node *with)
{
    const struct phx__link *l = phx__node_link(of->p, phx__id_find(&of->p->ids, &with->id));

    return l != NULL && (l->said.features & l->heard.features & PHX__FEATURE_QUIET) != 0;
}

static void test_quiet(void)
{
    static const struct {
        uint32_t known[2];
        uint64_t insurance[2];
        int quiet;
    } rows[] = {
        { { 70, 70 }, { 90 * SECOND, 90 * SECOND }, 1 },  { { 70, 0 }, { 90 * SECOND, 90 * SECOND }, 0 },
        { { 0, 70 }, { 90 * SECOND, 90 * SECOND }, 0 },   { { 70, 70 }, { 20 * SECOND, 90 * SECOND }, 0 },
        { { 70, 70 }, { 90 * SECOND, 20 * SECOND }, 0 },  { { 70, 70 }, { 300 * SECOND, 300 * SECOND }, 1 },
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        for (int k = 0; k < 2; k++)
            begin_knowing(&n[k], rows[i].known[k], rows[i].insurance[k]);
        phx_join(n[0].p, n[1].at);
        eventually(linked(&n[0], &n[1]), "row %d", (int)i);
        ok(is_quiet(&n[0], &n[1]) == rows[i].quiet && is_quiet(&n[1], &n[0]) == rows[i].quiet, "both say so");
        for (int k = 0; k < 2; k++)
            n[k].p->route.known -= rows[i].known[k];
        finish_all(n, 2);
    }
}

static const struct test tests[] = { { "quiet", test_quiet }, { NULL, NULL } };

int main(int argc, char **argv)
{
    if (test_begin() != 0)
        return 1;
    run_tests(tests, argc, argv);
    return test_finish();
}
