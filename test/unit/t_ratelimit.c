/* t_ratelimit.c - token buckets by key: what may be taken when, and whose bucket makes room. */
#include "test.h"
#ifdef PHX_JOINED
#include "../../phoenix.c"
#else
#include "base/ratelimit.h"
#endif

static const struct phx__ratelimit_rule rule = { 10 * PHX__MS, 3 };
static struct test_heap heap;
static struct phx_alloc heap_alloc = { test_alloc, &heap };
static struct phx__mem mem;
static struct phx__ratelimit limit;

static void begin(uint32_t count)
{
    phx__mem_init(&mem, &heap_alloc, 0);
    check(phx__ratelimit_init(&limit, &mem, count, 77) == 0, "a table");
}

static void end(void)
{
    phx__ratelimit_free(&limit);
    phx__ratelimit_free(&limit); /* harmless */
    check(test_heap_is_clean(&heap), "no byte leaked");
}

static struct phx_address address(unsigned family, unsigned port)
{
    struct phx_address a = { .family = (unsigned char)family, .port = (uint16_t)port };

    a.ip[0] = 10;
    if (family == PHX_UNIX || family == PHX_OTHER)
        memcpy(a.path, "/x", 2);
    return a;
}

static void test_keys(void)
{
    /* Goal: another key for each family, port and host, with and without its port; and by another salt. */
    static const unsigned families[] = { PHX_IPV4, PHX_IPV6, PHX_UNIX, PHX_OTHER };
    struct phx__ratelimit other = { .salt = UINT64_C(0x123456789abcdef) };
    struct phx_address a;
    uint64_t keys[32];
    int i, k, count = 0, same = 0, families_count = 4;

    begin(4);
    for (i = 0; i < families_count; i++) {
        a = address(families[i], 1);
        keys[count++] = phx__ratelimit_key(&limit, &a, 1);
        keys[count++] = phx__ratelimit_key(&limit, &a, 0);
        keys[count++] = phx__ratelimit_key(&other, &a, 1);
    }
    for (i = 0; i < 4; i++) {
        a = address(PHX_IPV4, 1u << (3 * i + 1));
        keys[count++] = phx__ratelimit_key(&limit, &a, 1);
    }
    a = address(PHX_IPV4, 0);
    a.ip[3] = 1;
    keys[count++] = phx__ratelimit_key(&limit, &a, 1);
    keys[count++] = phx__ratelimit_key(&limit, &a, 0);
    for (i = 0; i < count; i++)
        for (k = 0; k < i; k++)
            same += keys[i] == keys[k];
    ok(same == 0, "%d keys", count);
    a = address(PHX_IPV4, 1);
    ok(keys[1] == phx__ratelimit_key(&limit, &a, 0) && keys[1] != keys[0], "a host has one for all ports");
    end();
}

static void test_rule(void)
{
    /* Goal: three at once, and one more after each interval; the denied are counted. */
    uint64_t now = PHX__SECOND;

    begin(4);
    ok(phx__ratelimit_wait(&limit, 8, &rule, now) == 0, "a key that is not known may");
    ok(phx__ratelimit_take(&limit, 8, &rule, now) == 0 && phx__ratelimit_take(&limit, 8, &rule, now) == 0
           && phx__ratelimit_take(&limit, 8, &rule, now) == 0, "three at once");
    ok(phx__ratelimit_take(&limit, 8, &rule, now) == -1
           && phx__ratelimit_wait(&limit, 8, &rule, now) == 10000, "not a fourth");
    ok(phx__ratelimit_take(&limit, 8, &rule, now + 9999) == -1
           && phx__ratelimit_wait(&limit, 8, &rule, now + 9999) == 1, "nor just before the interval is over");
    ok(phx__ratelimit_take(&limit, 8, &rule, now + 10000) == 2, "then one, and two were denied");
    phx__ratelimit_return(&limit, 8, &rule);
    ok(phx__ratelimit_take(&limit, 8, &rule, now + 10000) == 0, "one that was given back");
    phx__ratelimit_spend(&limit, 8, &rule, now + 10000);
    ok(phx__ratelimit_wait(&limit, 8, &rule, now + 10000) == 20000, "one whatever the rule says");
    phx__ratelimit_clear(&limit, 8);
    ok(phx__ratelimit_wait(&limit, 8, &rule, now) == 0, "nothing was taken");
    phx__ratelimit_return(&limit, 8, &rule);
    ok(phx__ratelimit_wait(&limit, 8, &rule, now) == 0, "nothing can be given back below that");
    ok(phx__ratelimit_wait(&limit, PHX__RATELIMIT_ALL, &rule, now) == 0
           && phx__ratelimit_take(&limit, PHX__RATELIMIT_ALL, &rule, now) == 0, "all share one");
    end();
}

static void test_room(void)
{
    /* Goal: four keys share four buckets; for a fifth one makes room: what is paid for soonest, and a host
     * only if there is no address. Method: even keys are addresses, odd ones hosts. */
    const struct phx__ratelimit_rule one = { 10 * PHX__MS, 1 };
    uint64_t now = PHX__SECOND, key;

    begin(4);
    for (key = 2; key <= 8; key += 2)
        phx__ratelimit_spend(&limit, key, &rule, now + key);
    for (key = 2; key <= 8; key += 2)
        check(phx__ratelimit_wait(&limit, key, &one, now) > 0, "known");
    phx__ratelimit_spend(&limit, 11, &rule, now);
    ok(limit.buckets[0].key == 11, "the one that is paid for soonest goes");
    phx__ratelimit_spend(&limit, 12, &rule, now);
    ok(limit.buckets[0].key == 11 && limit.buckets[1].key == 12, "a host stays if there is an address");
    for (key = 13; key <= 17; key += 2)
        phx__ratelimit_spend(&limit, key, &rule, now + key);
    ok(limit.buckets[0].key == 11, "four hosts");
    phx__ratelimit_spend(&limit, 20, &rule, now + 1);
    ok(limit.buckets[0].key == 20, "one goes if there are only hosts");
    end();
    heap.fail_from = heap.calls + 1;
    ok(phx__ratelimit_init(&limit, &mem, 4, 1) == PHX_ENOMEM, "no memory");
    heap.fail_from = 0;
}

int main(void)
{
    test_keys();
    test_rule();
    test_room();
    return test_end();
}
