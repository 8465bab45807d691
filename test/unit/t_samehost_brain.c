/* t_samehost_brain.c - links within a host: when a companion is tried and logged, when TCP is the way. */
#include "test.h"
#ifdef PHX_JOINED
#include "../../phoenix.c"
#else
#include "base/rnd.h"
#include "node/samehost.h"
#endif

#define AGAIN (500 * PHX__MS)
#define NEVER UINT64_MAX

static int wants(const struct phx__node_samehost *s, uint32_t listener)
{
    return s->wanted >> listener & 1;
}

static struct phx_address at(const char *host, int family)
{
    struct phx_address a;

    memset(&a, 0, sizeof a);
    check(phx__addr_numeric(host, &a) == 0, "%s is numeric", host);
    a.family = (unsigned char)family;
    a.port = 7000;
    return a;
}

static void test_tried(void)
{
    /* Goal: what one try leads to. Method: a table of a first and a second result. */
    static const struct {
        int first, can_log, logs;
        uint64_t again;
        int wants, second_logs; /* after a second one of PHX_EMFILE */
        const char *what;
    } table[] = {
        { 0, 1, 0, NEVER, 0, 0, "it is there" },
        { 0, 0, 0, NEVER, 0, 0, "it is there, outside a step" },
        { PHX_ENOTSUP, 1, 0, NEVER, 0, 0, "no such thing here" },
        { PHX_ENOTSUP, 0, 0, NEVER, 0, 0, "no such thing here, outside a step" },
        { PHX_EINUSE, 1, 1, NEVER, 0, 0, "another has the name" },
        { PHX_EACCES, 1, 1, NEVER, 0, 0, "not allowed" },
        { PHX_EINUSE, 0, 0, 1000, 1, 1, "another has the name, outside a step" },
        { PHX_EMFILE, 0, 0, 1000, 1, 1, "no descriptor, outside a step" },
        { PHX_EMFILE, 1, 1, 1000 + AGAIN, 1, 0, "no descriptor" },
        { PHX_ENOMEM, 1, 1, 1000 + AGAIN, 1, 0, "no memory" },
    };
    struct phx__node_samehost s;
    uint64_t again;
    size_t i;

    for (i = 0; i < PHX__COUNT(table); i++) {
        int logs;
        s = (struct phx__node_samehost){ 1u << 3, 0 };
        logs = phx__node_samehost_tried(&s, 3, table[i].first, table[i].can_log, 1000, &again);
        ok(logs == table[i].logs && again == table[i].again && wants(&s, 3) == table[i].wants, "%s",
           table[i].what);
        if (!wants(&s, 3))
            continue;
        logs = phx__node_samehost_tried(&s, 3, PHX_EMFILE, 1, 2000, &again);
        ok(logs == table[i].second_logs && again == 2000 + AGAIN && wants(&s, 3),
           "%s, and no descriptor then", table[i].what);
    }
}

static void test_dials(void)
{
    /* Goal: which failures within the host say nothing of TCP. */
    static const int always[] = { PHX_EPROTO, PHX_ETLS, PHX_EVERSION, PHX_ECLUSTER, PHX_EKEY,
                                  PHX_ERESET, PHX_ETIMEDOUT };
    static const int elsewhere[] = { PHX_EPEER, PHX_ESELF };
    struct phx_address v4 = at("10.0.0.1", PHX_IPV4), v6 = at("2001::1", PHX_IPV6);
    struct phx_address local = at("127.0.0.1", PHX_IPV4);
    int reason, bad = 0;
    size_t i;

    for (reason = 0; reason >= PHX_ERROR_LAST; reason--) {
        int far = 0, near = 0;
        for (i = 0; i < PHX__COUNT(always); i++)
            far |= reason == always[i], near |= reason == always[i];
        for (i = 0; i < PHX__COUNT(elsewhere); i++)
            far |= reason == elsewhere[i];
        bad += phx__node_samehost_is_doubtful(&v4, reason) != far
               || phx__node_samehost_is_doubtful(&v6, reason) != far
               || phx__node_samehost_is_doubtful(&local, reason) != near;
    }
    ok(bad == 0, "TCP may lead to another node for nine reasons, seven of them at loopback: %d wrong", bad);
}

/* The model: of each listener what is to happen, in words. */
enum state { NONE, WANTED, WANTED_AND_TOLD, SETTLED };

static void test_random(void)
{
    /* Goal: listeners do not touch each other, and each is logged at most once. Method: 20 seeds, 2000 tries
     * of 32 listeners that come one after another, beside a state for each. */
    static const int errors[] = { 0, PHX_ENOTSUP, PHX_EINUSE, PHX_EACCES, PHX_EMFILE, PHX_ENOMEM };
    uint32_t seed, i, k, count, told = 0;
    struct phx__node_samehost s;
    struct phx__rnd rnd;
    int bad = 0;

    for (seed = 1; seed <= 20; seed++) {
        enum state want[32] = { NONE };
        memset(&s, 0, sizeof s);
        phx__rnd_seed(&rnd, seed, 3);
        for (i = count = 0; i < 2000; i++) {
            int err = errors[phx__rnd_below(&rnd, PHX__COUNT(errors))], can_log = phx__rnd_below(&rnd, 2) > 0;
            uint64_t again, now = phx__rnd_below(&rnd, 1u << 30), due = NEVER;
            int logs, may_log = 0;
            if (count < 32 && phx__rnd_below(&rnd, 8) == 0) {
                s.wanted |= 1u << count;
                want[count++] = WANTED;
            }
            k = (uint32_t)phx__rnd_below(&rnd, 32);
            if (want[k] == WANTED || want[k] == WANTED_AND_TOLD) {
                enum state was = want[k];
                int passes = err == PHX_EMFILE || err == PHX_ENOMEM;
                logs = phx__node_samehost_tried(&s, k, err, can_log, now, &again);
                if (err == 0 || err == PHX_ENOTSUP) {
                    want[k] = SETTLED;
                } else if (!can_log) {
                    due = now;
                } else {
                    may_log = was == WANTED;
                    want[k] = passes ? WANTED_AND_TOLD : SETTLED;
                    due = passes ? now + AGAIN : NEVER;
                }
                told += (uint32_t)logs;
                bad += logs != may_log || again != due;
            }
            for (k = 0; k < 32; k++)
                bad += wants(&s, k) != (want[k] == WANTED || want[k] == WANTED_AND_TOLD);
        }
    }
    ok(bad == 0 && told > 200, "20 x 2000 tries, %u lines in the log, %d wrong", told, bad);
}

int main(void)
{
    test_tried();
    test_dials();
    test_random();
    return test_end();
}
