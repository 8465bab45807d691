/* coll_tree.c - trees over the members of a communicator that cross hosts and sites as rarely as can be. */

#include "coll.h"

#include "engine.h"

#include <stdlib.h>
#include <string.h>

/* Where members live; comm->coll. Host and site come from the TABLE, so all members have the same. */
struct coll_map {
    int walls;
    int *site_first, *host_first; /* by rank: the lowest rank of its site, and of its host there */
};

struct coll_home {
    int site, host, rank;
};

struct ftm_type *ftm_coll_byte(struct ftm_schedule *s)
{
    return ftm_table_get(&ftm_schedule_engine(s)->handles, MPI_BYTE, FTM_TYPE);
}

static int map_compare(const void *left, const void *right)
{
    const struct coll_home *a = left, *b = right;

    if (a->site != b->site)
        return a->site < b->site ? -1 : 1;
    if (a->host != b->host)
        return a->host < b->host ? -1 : 1;
    return a->rank < b->rank ? -1 : a->rank > b->rank;
}

/* Sorted by site, host and rank, the first of each is the lowest; homes of one site may have to be lowered
 * once more, since its hosts are not in the order of ranks. */
static void map_fill(struct coll_map *m, const struct coll_home *home, int n)
{
    int i, k, begin = 0, lowest, hosts = 0, sites = 0;

    for (i = 0; i < n; i++) {
        int new_host = i == 0 || home[i].site != home[i - 1].site || home[i].host != home[i - 1].host;
        m->host_first[home[i].rank] = new_host ? home[i].rank : m->host_first[home[i - 1].rank];
        hosts += new_host;
        if (i + 1 < n && home[i + 1].site == home[i].site)
            continue;
        lowest = home[begin].rank;
        for (k = begin; k <= i; k++)
            if (home[k].rank < lowest)
                lowest = home[k].rank;
        for (k = begin; k <= i; k++)
            m->site_first[home[k].rank] = lowest;
        begin = i + 1;
        sites++;
    }
    m->walls = sites > 1 || (hosts > 1 && hosts < n);
}

static size_t map_bytes(int n)
{
    return sizeof(struct coll_map) + 2 * (size_t)n * sizeof(int);
}

/* NULL: no memory. */
static struct coll_map *map_of(struct ftm_schedule *s)
{
    struct ftm *e = ftm_schedule_engine(s);
    struct ftm_comm *c = ftm_schedule_comm(s);
    struct coll_home *home;
    struct coll_map *m = c->coll;
    int i;

    if (m != NULL)
        return m;
    home = ftm_schedule_bytes(s, (size_t)c->size * sizeof *home);
    if (home == NULL)
        return NULL;
    m = ftm_mem_new(&e->mem, map_bytes(c->size));
    if (m == NULL)
        return NULL;
    m->site_first = (int *)(void *)(m + 1);
    m->host_first = m->site_first + c->size;
    for (i = 0; i < c->size; i++) {
        home[i].site = e->procs[c->group->proc[i]]->site;
        home[i].host = e->procs[c->group->proc[i]]->host;
        home[i].rank = i;
    }
    qsort(home, (size_t)c->size, sizeof *home, map_compare);
    map_fill(m, home, c->size);
    c->coll = m;
    return m;
}

void ftm_coll_forget(struct ftm *e, struct ftm_comm *comm)
{
    ftm_mem_free(&e->mem, comm->coll, map_bytes(comm->size));
    comm->coll = NULL;
}

int ftm_coll_has_walls(struct ftm_schedule *s)
{
    const struct coll_map *m = map_of(s);

    return m != NULL && m->walls;
}

/* ---- Trees ---------------------------------------------------------------------------------------- */

/* A list of ranks, of which the first is the root, as a binomial tree: this member is at `place`. */
static void tree_add(struct ftm_tree *t, const int *list, int n, int place)
{
    int bit;

    for (bit = 1; place + bit < n && (place & bit) == 0 && t->children < FTM_TREE_MOST; bit <<= 1)
        t->child[t->children++] = list[place + bit];
    if (place > 0)
        t->parent = list[place & (place - 1)];
}

/* Who leads whom depends on the root: it leads its host and its site, else the lowest rank does. */
static int tree_site_leader(const struct coll_map *m, int root, int rank)
{
    return m->site_first[rank] == m->site_first[root] ? root : m->site_first[rank];
}

/* The site's leader leads its own host, too. */
static int tree_host_leader(const struct coll_map *m, int root, int rank)
{
    int leader = tree_site_leader(m, root, rank);

    return m->host_first[rank] == m->host_first[leader] ? leader : m->host_first[rank];
}

enum tree_level { LEVEL_HOST, LEVEL_SITE, LEVEL_ALL };

static int tree_is_in(const struct coll_map *m, int root, int me, int rank, enum tree_level level)
{
    if (level == LEVEL_HOST)
        return m->host_first[rank] == m->host_first[me];
    if (level == LEVEL_SITE)
        return m->site_first[rank] == m->site_first[me] && tree_host_leader(m, root, rank) == rank;
    return tree_site_leader(m, root, rank) == rank;
}

/* The members of one level, its leader first, and this one's place among them; -1: it is none. */
static void tree_add_level(struct ftm_tree *t, const struct coll_map *m, int *list, int n, int root, int me,
                           enum tree_level level)
{
    int leader = level == LEVEL_HOST ? tree_host_leader(m, root, me)
                 : level == LEVEL_SITE ? tree_site_leader(m, root, me) : root;
    int i, count = 1, place = me == leader ? 0 : -1;

    list[0] = leader;
    for (i = 0; i < n; i++) {
        if (i == leader || !tree_is_in(m, root, me, i, level))
            continue;
        if (i == me)
            place = count;
        list[count++] = i;
    }
    if (place >= 0)
        tree_add(t, list, count, place);
}

static void tree_flat(struct ftm_tree *t, int n, int root, int me)
{
    int place = (me - root + n) % n, bit;

    for (bit = 1; place + bit < n && (place & bit) == 0; bit <<= 1)
        t->child[t->children++] = (place + bit + root) % n;
    if (place > 0)
        t->parent = ((place & (place - 1)) + root) % n;
}

void ftm_coll_tree(struct ftm_schedule *s, struct ftm_tree *t, int root, int walls)
{
    const struct ftm_comm *c = ftm_schedule_comm(s);
    int *list, level;

    t->parent = -1;
    t->children = 0;
    if (!walls || !ftm_coll_has_walls(s)) {
        tree_flat(t, c->size, root, c->rank);
        return;
    }
    list = ftm_schedule_bytes(s, (size_t)c->size * sizeof *list);
    if (list == NULL)
        return;
    for (level = LEVEL_HOST; level <= LEVEL_ALL; level++)
        tree_add_level(t, map_of(s), list, c->size, root, c->rank, (enum tree_level)level);
}
