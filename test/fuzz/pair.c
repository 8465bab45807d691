/* pair.c - fuzz: three nodes and their messages, over clean links and falsified ones, with restarts. */
/* The input is a program: sends with tokens, names that are taken, released and handed on, casts, cut links,
 * a node that is killed and started again, stalls, and perhaps bytes that are changed on their way.
 *
 * What must hold: no crash or leak; our messages at most once and in order at each life of a holder, where no
 * bytes are falsified; one outcome for each token (net.c). In the end all is healed: then everybody hears
 * everybody, and in a run without falsified bytes and without restarts nothing is pending and every token has
 * its outcome. */
#include "net.h"

static struct net net;
static uint32_t falsify; /* one byte in so many; 0: none */
static struct phx_os plain[NODES];

/* Some of what is sent has one bit turned. */
static long false_send(void *world, int handle, const struct iovec *iov, int count)
{
    static uint8_t copy[1 << 18];
    struct world_host *h = world;
    size_t size = 0;
    struct iovec one = { copy, 0 };

    if (falsify == 0)
        return plain[h->index].send(world, handle, iov, count);
    for (int i = 0; i < count && size < sizeof copy; i++) {
        size_t n = iov[i].iov_len < sizeof copy - size ? iov[i].iov_len : sizeof copy - size;

        memcpy(copy + size, iov[i].iov_base, n);
        size += n;
    }
    for (size_t at = world_rng_below(&h->rng, falsify); at < size;
         at += 1 + world_rng_below(&h->rng, falsify))
        copy[at] = (uint8_t)(copy[at] ^ 1u << world_rng_below(&h->rng, 8));
    one.iov_len = size;
    return plain[h->index].send(world, handle, &one, 1);
}

static struct phx_os give_os(struct net_node *n)
{
    struct phx_os os = plain[n->index] = net.w->hosts[n->host].os;

    os.send = false_send;
    return os;
}

static int restarts, moved_by_force;

static void name_ops(struct fuzz_in *in, unsigned a)
{
    struct net_node *n = &net.nodes[a % NODES];
    uint64_t name = 1 + (a >> 2) % NAMES;

    if (n->p == NULL)
        return;
    switch (fuzz_byte(in) % 4) {
    case 0: (void)phx_assume(n->p, name, name); moved_by_force = 1; break;
    case 1: (void)phx_release(n->p, name, name); break;
    default: (void)phx_hand(n->p, name, name, &net.nodes[fuzz_byte(in) % NODES].id); break;
    }
    world_touch(net.w, n->host);
}

static void cast_op(unsigned a)
{
    struct phx_range range = { 1, NAMES };
    static const uint8_t data[40000];
    struct phx_cast c = { .ranges = &range, .ranges_count = 1, .data = data, .size = (size_t)a * 150 };

    if (net.nodes[a % NODES].p != NULL)
        (void)phx_cast(net.nodes[a % NODES].p, &c);
    world_touch(net.w, a % NODES);
}

static void obey(struct fuzz_in *in)
{
    unsigned op = fuzz_byte(in), a = fuzz_byte(in), b = a % NODES, c = (a >> 2) % NODES;

    switch (op % 12) {
    case 0: case 1: case 2:
        net_send(&net, b, 1 + (a >> 2) % NAMES, op > 200 ? (size_t)fuzz_byte(in) * 700 : op, op & 16);
        break;
    case 3: case 4: name_ops(in, a); break;
    case 5: cast_op(a); break;
    case 6: net_run(&net, (uint64_t)a * 200); break;
    case 7: net_run(&net, (uint64_t)a * 20 * MS); break;
    case 8: world_pair(net.w, b, c, WORLD_PAIR_CUT, (int)(a >> 6 & 1)); break;
    case 9: world_reset_pair(net.w, b, c); break;
    case 10: world_stall(net.w, b, (uint64_t)a * 10 * MS); break;
    default:
        if (a % 4 != 0 || restarts > 6)
            break;
        restarts++;
        net_crash(&net, (a >> 2) % NODES);
        if (a & 128)
            net_run(&net, (uint64_t)(a >> 4) * 300 * MS);
        fuzz_must(net_start(&net, (a >> 2) % NODES) == 0, "a node begins");
        break;
    }
}

/* All hear all, and no message of anybody is under way. */
static int is_whole(void)
{
    struct phx_stats s;

    for (uint32_t i = 0; i < NODES; i++) {
        phx_stats(net.nodes[i].p, &s);
        if (s.reachable < NODES || phx_pending(net.nodes[i].p) > 0)
            return 0;
    }
    return 1;
}

static uint64_t awaited; /* how many messages there are to be */

static int is_delivered(void)
{
    return net.delivered >= awaited;
}

static void heal(void)
{
    falsify = 0;
    for (uint32_t i = 0; i < NODES; i++)
        for (uint32_t j = 0; j < NODES; j++) {
            world_pair(net.w, i, j, WORLD_PAIR_CUT, 0);
            if (i < j)
                world_reset_pair(net.w, i, j);
        }
    for (uint32_t i = 0; i < NODES; i++)
        fuzz_must(net_start(&net, i) == 0, "a node begins");
    net_run_until(&net, 60 * SECOND, is_whole);
}

/* Everybody has a name, none is left without a holder, and all hear from all others. */
static void must_be_whole(int clean)
{
    uint64_t before;

    for (uint32_t i = 0; i < NODES; i++)
        (void)phx_assume(net.nodes[i].p, 1 + i, 1 + i);
    (void)phx_assume(net.nodes[0].p, NAMES, NAMES);
    net_run_until(&net, 10 * SECOND, is_whole);
    for (uint32_t i = 0; i < NODES && clean; i++) {
        fuzz_must(restarts > 0 || phx_pending(net.nodes[i].p) == 0, "node %u has %zu pending", i,
                  phx_pending(net.nodes[i].p));
        for (uint64_t t = 1; t <= net.nodes[i].tokens && restarts == 0; t++)
            fuzz_must(net.nodes[i].outcome[t] == 1, "token %lu of node %u: no outcome", (unsigned long)t, i);
    }
    before = net.delivered;
    awaited = before + NODES;
    for (uint32_t i = 0; i < NODES; i++)
        net_send(&net, i, 1 + (i + 1) % NODES, 100, 0);
    net_run_until(&net, 10 * SECOND, is_delivered);
    fuzz_must(!clean || net.delivered == before + NODES, "%lu of %u messages after all was healed",
              (unsigned long)(net.delivered - before), NODES);
}

void fuzz_one(const uint8_t *data, size_t size)
{
    struct fuzz_in in = { data, size };
    unsigned how = fuzz_byte(&in);
    int clean = how % 4 != 0;

    net_begin(&net, 1 + how / 8);
    net.os = give_os;
    net.false_bytes = !clean;
    falsify = 0;
    restarts = moved_by_force = 0;
    for (uint32_t i = 0; i < NODES; i++)
        fuzz_must(net_start(&net, i) == 0, "a node begins");
    for (uint32_t i = 0; i < NODES; i++)
        (void)phx_assume(net.nodes[i].p, 1 + i, 1 + i);
    (void)phx_assume(net.nodes[0].p, NAMES, NAMES);
    net_run(&net, 500 * MS);
    falsify = clean ? 0 : 20u << how / 4 % 8;
    for (int ops = 0; ops < 80 && in.left > 0; ops++)
        obey(&in);
    heal();
    must_be_whole(clean);
    net_end(&net);
}
