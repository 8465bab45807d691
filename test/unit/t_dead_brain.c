/* t_dead_brain.c - how much of those that failed is kept: the world of known.h, in virtual time. */

/* Promises 30 and 36. */
#include "test.h"
#ifdef PHX_JOINED
#include "../../phoenix.c"
#else
#include "node/links.h"
#endif
#include "known.h"

enum { MANY = 400 };

static uint32_t broken, back;

static void count_broken(phx *p, const struct phx_lost *lost, int is_broken, void *user)
{
    (void)p, (void)lost, (void)user;
    broken += is_broken != 0;
    back += !is_broken;
}

/* So many nodes with a range of names each, all reached through one link, which ends; in a minute they have
 * failed. The limit of memory is eight times `most`. */
static void begin_dead(struct known *k, size_t most)
{
    struct phx__link *l;
    uint32_t i, bad = 0;

    known_begin(k, 0, 65536);
    k->p->cfg.on_broken = count_broken;
    broken = back = 0;
    l = known_link(k, 1);
    k->takes = SIZE_MAX;
    for (i = 0; i < MANY; i++)
        bad += known_hears(k, l->peer, 100 + i, 1, 1) != 0;
    known_steps(k, 3);
    check(bad == 0 && known_stats(k).reachable == 2 + MANY, "they are reached");
    k->p->mem.limit = 8 * most;
    check(k->p->mem.limit == 0 || k->p->mem.used < k->p->mem.limit, "and fit");
    phx__node_links_close(k->p, l, PHX_ERESET, 0);
    known_steps(k, 600);
}

static uint32_t known_nodes(const struct known *k, uint32_t *last)
{
    uint32_t i, count = 0;

    for (i = 0; i < MANY; i++) {
        struct phx_id id = id_of(100 + i);
        uint32_t node = phx__id_find(&k->p->ids, &id);

        count += node != PHX__NONE;
        *last = node != PHX__NONE && node > *last ? node : *last;
    }
    return count;
}

static void test_all_stay(void)
{
    /* Goal: the dead stay known, and their names are broken. */
    struct known k;
    uint32_t last = 0;

    begin_dead(&k, 0);
    ok(known_nodes(&k, &last) == MANY && broken == MANY && back == 0, "%u ranges are broken", broken);
    known_end(&k);
}

static void test_some_go(void)
{
    /* Goal: when the dead take more than an eighth of the memory so many are forgotten that they take an
     * eighth less; of those that failed together the ones with the highest index, and arrays by node shrink.
     * Nobody is told that their names are back, and those that stay are broken as before. Method: 150 KB. */
    struct known k;
    uint32_t last = 0, count;
    uint64_t used;

    begin_dead(&k, 150000);
    used = known_stats(&k).mem_bytes;
    count = known_nodes(&k, &last);
    ok(count > MANY / 4 && count < MANY / 4 * 3, "%u of %u are left", count, (unsigned)MANY);
    ok(last == count + 1 && k.p->ids.size == count + 2, "the first of them");
    ok(broken == MANY && back == 0, "no name is back: %u, %u", broken, back);
    k.p->mem.limit = 8 * (size_t)(150000 / 8 * 7 + 8);
    phx__node_dead_note(k.p, 1);
    known_steps(&k, 20);
    ok(known_nodes(&k, &last) == count, "they take seven eighths of what they may");
    k.p->mem.limit -= 8 * 1000;
    phx__node_dead_note(k.p, 1);
    known_steps(&k, 20);
    ok(known_nodes(&k, &last) < count, "and not less");
    count = known_nodes(&k, &last);
    k.p->mem.limit = 0;
    known_steps(&k, 600);
    ok(known_nodes(&k, &last) == count && known_stats(&k).mem_bytes <= used, "the others stay");
    known_end(&k);
}

int main(void)
{
    test_all_stay();
    test_some_go();
    return test_end();
}
