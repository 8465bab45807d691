/* t_tree.c - the trees of collectives: all members are in them, and walls are crossed as rarely as can be. */

#include "test.h"

#include "coll.h"
#include "engine.h"

#define MOST 60

/* An engine that has a table of processes and nothing else. */
struct world {
    struct ftm e;
    struct ftm_comm comm;
    struct ftm_group group;
    struct ftm_proc one[MOST], *procs[MOST];
    int proc[MOST];
    int parent[MOST], children[MOST];
};

static void place(struct world *w, int n, int hosts, int sites)
{
    int i, k, swap;

    memset(w, 0, sizeof *w);
    w->e.procs = w->procs;
    w->comm.refs = 1;
    w->comm.size = n;
    w->comm.group = &w->group;
    w->group.size = n;
    w->group.proc = w->proc;
    for (i = 0; i < n; i++) {
        w->procs[i] = &w->one[i];
        w->procs[i]->host = rand() % hosts;
        w->procs[i]->site = rand() % sites;
        w->proc[i] = i;
    }
    for (i = 0; i < n; i++) { /* ranks in another order than processes */
        k = rand() % n;
        swap = w->proc[i];
        w->proc[i] = w->proc[k];
        w->proc[k] = swap;
    }
}

static int site_of(const struct world *w, int rank)
{
    return w->procs[w->proc[rank]]->site;
}

static int same_host(const struct world *w, int a, int b)
{
    return site_of(w, a) == site_of(w, b) && w->procs[w->proc[a]]->host == w->procs[w->proc[b]]->host;
}

/* Every member works out its own place; 1: they agree on one tree with this root. */
static int grow(struct world *w, int root, int walls)
{
    int n = w->comm.size, rank, i, good = 1, steps, at;
    struct ftm_tree t;

    memset(w->children, 0, sizeof w->children);
    for (rank = 0; rank < n; rank++) {
        struct ftm_schedule *s;
        w->comm.rank = rank;
        s = ftm_schedule_new(&w->e, &w->comm);
        ftm_coll_tree(s, &t, root, walls);
        w->parent[rank] = t.parent;
        for (i = 0; i < t.children; i++)
            w->children[t.child[i]] += 1 + 1000 * rank;
        ftm_schedule_free(s);
    }
    for (rank = 0; rank < n; rank++) {
        good = good && w->children[rank] == (rank == root ? 0 : 1 + 1000 * w->parent[rank]);
        for (at = rank, steps = 0; at != root && at >= 0 && steps < n; steps++)
            at = w->parent[at];
        good = good && at == root;
    }
    return good && w->parent[root] == -1;
}

static int count_first(const struct world *w, int of_sites)
{
    int i, k, n = w->comm.size, count = 0;

    for (i = 0; i < n; i++) {
        for (k = 0; k < i; k++)
            if (of_sites ? site_of(w, i) == site_of(w, k) : same_host(w, i, k))
                break;
        count += k == i;
    }
    return count;
}

/* Edges between sites, and between hosts. */
static void crossings(const struct world *w, int *sites, int *hosts)
{
    int i;

    *sites = *hosts = 0;
    for (i = 0; i < w->comm.size; i++)
        if (w->parent[i] >= 0) {
            *sites += site_of(w, i) != site_of(w, w->parent[i]);
            *hosts += !same_host(w, i, w->parent[i]);
        }
}

/* Goal: over S sites and H hosts a tree has S - 1 edges between sites and H - 1 between hosts, for each root.
 * Method: random places, 1 to 60 members. */
static void test_walls(void)
{
    int run, root, sites, hosts, bad = 0, wide = 0, trees = 0;
    struct world w;

    srand(3);
    for (run = 0; run < 300; run++) {
        place(&w, rand() % MOST + 1, rand() % 6 + 1, rand() % 4 + 1);
        for (root = 0; root < w.comm.size; root++, trees++) {
            bad += !grow(&w, root, 1);
            crossings(&w, &sites, &hosts);
            if (w.comm.coll != NULL)
                wide += sites != count_first(&w, 1) - 1
                        || (count_first(&w, 0) < w.comm.size && hosts != count_first(&w, 0) - 1);
        }
        ftm_coll_forget(&w.e, &w.comm);
        bad += w.e.mem.bytes != 0;
    }
    ok(bad == 0, "%d trees hold everybody once, under one root", trees);
    ok(wide == 0, "and cross each wall once");
}

/* Goal: in the tree of reductions in rank order, what a child brings is what comes next. */
static void test_order(void)
{
    int n, i, bad = 0, high[MOST];
    struct world w;

    srand(4);
    for (n = 1; n <= MOST; n++) {
        place(&w, n, 3, 3);
        bad += !grow(&w, 0, 0);
        for (i = n - 1; i >= 0; i--) { /* children have higher ranks than their parents */
            int k, next = i + 1;
            for (k = i + 1; k < n; k++)
                if (w.parent[k] == i) {
                    bad += k != next;
                    next = high[k] + 1;
                }
            high[i] = next - 1;
        }
        bad += high[0] != n - 1;
        ftm_coll_forget(&w.e, &w.comm);
    }
    ok(bad == 0, "each subtree is a range of ranks, and they follow each other");
}

int main(void)
{
    test_walls();
    test_order();
    return test_end();
}
