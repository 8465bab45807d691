/* t_store.c - the store of an agent: many keys, what is fresh, who wins at a fence, bounds. */
/* Promise 98. */
#include "test.h"
#include "phoenix.h"
#include "extras/launch/store.h"

static struct la_store *store(void)
{
    struct la_store *s;

    ok(la_store_new(&s, 42) == 0, "a store");
    return s;
}

static int has(const struct la_store *s, const char *key, const char *value)
{
    const char *is = la_store_get(s, key);

    return value == NULL ? is == NULL : is != NULL && strcmp(is, value) == 0;
}

static void test_many(void)
{
    /* Goal: every key is found again while the table grows, in the order of arrival, and replaced values of
     * any size stay right. Method: 20,000 keys; each third one gets a longer value, each fifth a shorter
     * one. */
    struct la_store *s = store();
    const char *k, *v;
    char key[32], value[64];
    int i, wrong = 0;
    size_t bytes = 0;

    for (i = 0; i < 20000; i++) {
        snprintf(key, sizeof key, "key-%d", i);
        snprintf(value, sizeof value, "value of %d", i);
        wrong += la_store_put(s, key, value, 0) != 0;
    }
    for (i = 0; i < 20000; i++) {
        snprintf(key, sizeof key, "key-%d", i);
        snprintf(value, sizeof value, "a longer value than that of before: %d", i);
        if (i % 3 == 0)
            wrong += la_store_put(s, key, value, 0) != 0;
        else if (i % 5 == 0)
            wrong += la_store_put(s, key, "s", 0) != 0;
    }
    ok(wrong == 0 && la_store_count(s) == 20000 && la_store_fresh(s) == 20000, "20,000 keys, each once");
    for (i = 0; i < 20000; i++) {
        snprintf(key, sizeof key, "key-%d", i);
        snprintf(value, sizeof value, i % 3 == 0 ? "a longer value than that of before: %d" : "value of %d",
                 i);
        if (i % 3 != 0 && i % 5 == 0)
            snprintf(value, sizeof value, "s");
        wrong += !has(s, key, value);
        la_store_at(s, (uint32_t)i, &k, &v);
        wrong += strcmp(k, key) != 0 || strcmp(v, value) != 0;
        bytes += strlen(key) + strlen(value) + 2;
    }
    ok(wrong == 0, "all are found, in the order of arrival");
    ok(la_store_bytes(s) == bytes && la_store_fresh_bytes(s) == bytes, "bytes are counted: %zu",
       la_store_bytes(s));
    ok(la_store_memory(s) > bytes && la_store_memory(s) < bytes + 20000 * 64, "memory: %zu",
       la_store_memory(s));
    ok(has(s, "key-20000", NULL) && has(s, "", NULL), "a key that was never put is not there");
    la_store_free(s);
}

static void test_fresh(void)
{
    /* Goal: fresh is what ranks here put since the last fence, each key once, as key NUL value. */
    struct la_store *s = store();
    const char *text;
    size_t size;

    ok(la_store_put(s, "a", "1", 0) == 0 && la_store_put(s, "b", "", 0) == 0, "two keys, one of them empty");
    ok(la_store_merge(s, "c", "3", 0) == 0 && la_store_learn(s, "d", "4") == 0, "two more from elsewhere");
    ok(la_store_put(s, "a", "11", 0) == 0 && la_store_fresh(s) == 2, "two of the four are fresh");
    text = la_store_fresh_at(s, 0, &size);
    ok(size == 4 && memcmp(text, "a\00011", 4) == 0, "the first with its last value");
    text = la_store_fresh_at(s, 1, &size);
    ok(size == 2 && memcmp(text, "b", 2) == 0, "the second: an empty value");
    la_store_told(s);
    ok(la_store_fresh(s) == 0 && la_store_fresh_bytes(s) == 0, "nothing is fresh after the fence");
    ok(la_store_learn(s, "a", "other") == 0 && has(s, "a", "other"),
       "what is learnt replaces what is not fresh");
    ok(la_store_put(s, "a", "mine", 1) == 0 && la_store_learn(s, "a", "late") == 0 && has(s, "a", "mine"),
       "but not what is");
    la_store_free(s);
}

static void test_conflict(void)
{
    /* Goal: three hosts put one key at a fence; all end with the same value, whatever the order. Method: all
     * six orders of the records, with and without a host's own among them, at a host that put before, between
     * or after the first records came. */
    static const char *const values[3] = { "beta", "alpha", "gamma" };
    static const int orders[6][3] = { { 0, 1, 2 }, { 0, 2, 1 }, { 1, 0, 2 },
                                      { 1, 2, 0 }, { 2, 0, 1 }, { 2, 1, 0 } };
    int order, when, own, i, wrong = 0;

    for (order = 0; order < 6; order++)
        for (own = 0; own < 3; own++)
            for (when = 0; when < 3; when++) {
                struct la_store *s;

                la_store_new(&s, 1);
                la_store_learn(s, "k", "zero: learnt before");
                for (i = 0; i < 3; i++) {
                    if (i == when)
                        la_store_put(s, "k", values[own], 7);
                    if (orders[order][i] != own || order % 2)
                        la_store_merge(s, "k", values[orders[order][i]], 7);
                }
                la_store_told(s);
                wrong += !has(s, "k", "gamma");
                la_store_merge(s, "k", "aaa", 8);
                wrong += !has(s, "k", "aaa");
                la_store_free(s);
            }
    ok(wrong == 0, "the greatest value of a fence wins everywhere, a later fence over an earlier one");
}

static void test_next_fence(void)
{
    /* Goal: a put for the next fence is not overwritten by a record of the fence under way. */
    struct la_store *s = store();

    la_store_put(s, "k", "a", 4);
    la_store_told(s);
    la_store_put(s, "k", "b", 5);
    ok(la_store_merge(s, "k", "z", 4) == 0 && has(s, "k", "b") && la_store_fresh(s) == 1,
       "the put of fence 5 stays");
    la_store_free(s);
}

static void test_bounds(void)
{
    /* Goal: keys and values have their limits, and one that is refused leaves nothing behind. */
    struct la_store *s = store();
    static char value[LA_STORE_VALUE + 1];
    char key[LA_STORE_KEY + 1];

    memset(key, 'k', sizeof key);
    memset(value, 'v', sizeof value);
    key[LA_STORE_KEY] = '\0';
    value[LA_STORE_VALUE] = '\0';
    ok(la_store_put(s, key, "v", 0) == PHX_EINVAL && la_store_put(s, "", "v", 0) == PHX_EINVAL,
       "a key of 256 bytes, and one of none");
    ok(la_store_put(s, "k", value, 0) == PHX_ETOOBIG && la_store_merge(s, "k", value, 0) == PHX_ETOOBIG
           && la_store_learn(s, "k", value) == PHX_ETOOBIG, "a value of 64 KiB");
    ok(la_store_count(s) == 0 && la_store_bytes(s) == 0 && la_store_fresh(s) == 0, "nothing is left of them");
    key[LA_STORE_KEY - 1] = '\0';
    value[LA_STORE_VALUE - 1] = '\0';
    ok(la_store_put(s, key, value, 0) == 0 && has(s, key, value), "the longest ones are taken");
    la_store_free(s);
    la_store_free(NULL);
}

int main(void)
{
    test_many();
    test_fresh();
    test_conflict();
    test_next_fence();
    test_bounds();
    return test_end();
}
