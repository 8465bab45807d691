/* torture.c - three nodes, one of which lacks each allocation and call in turn, or dies behind each frame. */
/* Goal: whatever the world refuses, once or from then on for a while, no node crashes, leaks memory or
 * handles, shows a message twice or out of order, or tells two outcomes; and when the world is well again all
 * three are at work again. Method: a play in the simulated world, with joins, names, small and large messages
 * both ways, a hand-over, a cast and a link that breaks. One run counts what the victim asks for; then each
 * call fails in turn with each error that it may give. And behind each of its sends, so behind each frame of
 * a handshake, a message, a hand-over and what follows from them, it is killed and starts anew, its link is
 * cut for a while, or it pauses (promise 131).
 *
 *      torture [STRIDE [VICTIM]]     every STRIDE-th call only */
#include "net.h"

enum call { LISTEN, ACCEPT, DIAL, FINISH, LOCAL, SEND, RECV, WATCH, WAIT, RANDOM, MEMORY, CALLS };
static const char *const call_name[] = { "listen", "accept", "dial", "finish", "local", "send", "recv",
                                         "watch", "wait", "random", "an allocation" };
/* 0 ends the list; of recv 1 stands for 0 bytes, the peer has closed. */
static const int errors[CALLS][6] = {
    { PHX_EINUSE, PHX_EACCES, PHX_ENOADDR, PHX_EMFILE, PHX_EIO, 0 },
    { PHX_EAGAIN, PHX_EMFILE, PHX_EIO, 0 },
    { PHX_EREFUSED, PHX_EUNREACH, PHX_EMFILE, PHX_ENOADDR, PHX_EIO, 0 },
    { PHX_EAGAIN, PHX_EREFUSED, PHX_ETIMEDOUT, PHX_EUNREACH, PHX_EIO, 0 },
    { PHX_EIO, 0 },
    { PHX_EAGAIN, PHX_ERESET, PHX_ETIMEDOUT, PHX_EIO, 0 },
    { PHX_EAGAIN, 1, PHX_ERESET, PHX_ETIMEDOUT, PHX_EIO, 0 },
    { PHX_ENOMEM, PHX_EMFILE, PHX_EIO, 0 },
    { PHX_EIO, 0 },
    { PHX_EIO, 0 },
    { PHX_ENOMEM, 0 },
};

static struct net net;
static struct phx_os well[NODES];
static struct phx_alloc well_memory[NODES];

static uint32_t victim;
static long count;         /* what the victim has asked for */
static long fail_at;       /* this one fails; 0: none */
static int fail_with, lasting; /* lasting: and all later ones of its kind, while ill */
static int ill;
static int fail_kind;

enum incident { NOTHING, KILL, CUT, PAUSE, INCIDENTS };
static const char *const incident_name[] = { "nothing", "killed", "cut off", "pauses" };
static enum incident incident; /* what happens behind the call fail_at, which succeeds */
static int is_due;
static uint8_t kinds[200000];

/* Does this call fail? 0 or the error. */
static int refused(uint32_t host, enum call c)
{
    if (host != victim)
        return 0;
    if (ill && count < (long)sizeof kinds)
        kinds[count] = (uint8_t)c;
    count += ill;
    if (!ill || fail_at == 0)
        return 0;
    if (incident != NOTHING) {
        is_due |= count == fail_at;
        return 0;
    }
    if (count == fail_at) {
        fail_kind = (int)c;
        return fail_with;
    }
    return lasting && count > fail_at && (int)c == fail_kind ? fail_with : 0;
}

#define HOST(world) (((struct world_host *)(world))->index)
#define OR_FAIL(kind)                                                                                       \
    int err = refused(HOST(world), kind);                                                                   \
    if (err != 0)                                                                                           \
        return err

static int t_listen(void *world, struct phx_address *at, int *handle)
{
    OR_FAIL(LISTEN);
    return well[HOST(world)].listen(world, at, handle);
}

static int t_accept(void *world, int listener, int *handle, struct phx_address *from)
{
    OR_FAIL(ACCEPT);
    return well[HOST(world)].accept(world, listener, handle, from);
}

static int t_dial(void *world, const struct phx_address *to, int *handle)
{
    OR_FAIL(DIAL);
    return well[HOST(world)].dial(world, to, handle);
}

static int t_finish(void *world, int handle)
{
    OR_FAIL(FINISH);
    return well[HOST(world)].finish(world, handle);
}

static int t_local(void *world, int handle, struct phx_address *out)
{
    OR_FAIL(LOCAL);
    return well[HOST(world)].local(world, handle, out);
}

static long t_send(void *world, int handle, const struct iovec *iov, int n)
{
    OR_FAIL(SEND);
    return well[HOST(world)].send(world, handle, iov, n);
}

static long t_recv(void *world, int handle, void *data, size_t size)
{
    int err = refused(HOST(world), RECV);

    if (err != 0)
        return err == 1 ? 0 : err;
    return well[HOST(world)].recv(world, handle, data, size);
}

static long t_recvv(void *world, int handle, const struct iovec *iov, int n)
{
    int err = refused(HOST(world), RECV);

    if (err != 0)
        return err == 1 ? 0 : err;
    return well[HOST(world)].recvv(world, handle, iov, n);
}

static int t_watch(void *world, int handle, int events)
{
    OR_FAIL(WATCH);
    return well[HOST(world)].watch(world, handle, events);
}

static int t_wait(void *world, struct phx_ready *out, int capacity)
{
    OR_FAIL(WAIT);
    return well[HOST(world)].wait(world, out, capacity);
}

static int t_random(void *world, void *out, size_t size)
{
    OR_FAIL(RANDOM);
    return well[HOST(world)].random(world, out, size);
}

static struct phx_os give_os(struct net_node *n)
{
    struct phx_os os = well[n->index] = net.w->hosts[n->host].os;

    os.listen = t_listen;
    os.accept = t_accept;
    os.dial = t_dial;
    os.finish = t_finish;
    os.local = t_local;
    os.send = t_send;
    os.recv = t_recv;
    os.recvv = t_recvv;
    os.watch = t_watch;
    os.wait = t_wait;
    os.random = t_random;
    return os;
}

static void *t_alloc(void *world, void *old, size_t old_size, size_t new_size)
{
    uint32_t host = HOST(world);

    if (new_size > old_size && refused(host, MEMORY) != 0)
        return NULL;
    return well_memory[host].alloc(well_memory[host].world, old, old_size, new_size);
}

static struct phx_alloc give_alloc(struct net_node *n)
{
    struct phx_alloc a = { t_alloc, &net.w->hosts[n->host] };

    well_memory[n->index] = net.w->hosts[n->host].alloc;
    return a;
}

/* ---- The play */

static void start(uint32_t i)
{
    int err = PHX_EIO;

    for (int tries = 0; tries < 3 && err != 0; tries++)
        err = net_start(&net, i);
    if (err != 0)
        ill = 0; /* it cannot begin as long as this lasts: then it lasts no longer */
    fuzz_must(net_start(&net, i) == 0, "a node begins when its world is well");
}

static void assume(uint32_t i, uint64_t name)
{
    for (int tries = 0; tries < 3 && phx_assume(net.nodes[i].p, name, name) != 0; tries++)
        continue;
    world_touch(net.w, i);
}

static void happen(void)
{
    uint32_t other = (victim + 1) % NODES;

    is_due = 0;
    if (incident == KILL) {
        net_crash(&net, victim);
        net_run(&net, 50 * MS);
        start(victim);
        assume(victim, 1 + victim);
    } else if (incident == CUT) {
        world_pair(net.w, victim, other, WORLD_PAIR_CUT, 1);
        world_pair(net.w, other, victim, WORLD_PAIR_CUT, 1);
    } else {
        world_stall(net.w, victim, 700 * MS);
    }
}

/* What is due happens before the next frame has come far. */
static void run(uint64_t us)
{
    const uint64_t slice = 100;

    for (uint64_t t = 0; t < us; t += slice) {
        net_run(&net, incident == NOTHING ? us : slice);
        if (incident == NOTHING)
            return;
        if (is_due)
            happen();
    }
}

static void play(void)
{
    struct phx_range all = { 1, NAMES };
    struct phx_cast cast = { .ranges = &all, .ranges_count = 1, .data = "all", .size = 3 };

    for (uint32_t i = 0; i < NODES; i++)
        start(i);
    for (uint32_t i = 0; i < NODES; i++)
        assume(i, 1 + i);
    run(200 * MS);
    for (uint32_t i = 0; i < NODES; i++) {
        net_send(&net, i, 1 + (i + 1) % NODES, 60, 1);
        net_send(&net, i, 1 + (i + 2) % NODES, 150000, 1);
    }
    run(100 * MS);
    (void)phx_hand(net.nodes[1].p, 2, 2, &net.nodes[2].id);
    (void)phx_cast(net.nodes[0].p, &cast);
    for (uint32_t i = 0; i < NODES; i++)
        net_send(&net, i, 2, 100, 1);
    world_touch(net.w, 1);
    run(100 * MS);
    world_reset_pair(net.w, 0, victim == 0 ? 1 : victim);
    for (uint32_t i = 0; i < NODES; i++)
        net_send(&net, i, 1 + (i + 1) % NODES, 60, 0);
    run(600 * MS);
}

static int all_reach_all(void)
{
    struct phx_stats s;

    for (uint32_t i = 0; i < NODES; i++) {
        phx_stats(net.nodes[i].p, &s);
        if (s.reachable < NODES)
            return 0;
    }
    return 1;
}

/* Everybody listens, knows everybody and gets a message from everybody. */
static void must_work_again(void)
{
    uint64_t before;
    struct phx_address a;
    char text[PHX_ADDRESS_TEXT];

    ill = 0;
    for (uint32_t i = 0; i < NODES; i++)
        for (uint32_t j = 0; j < NODES; j++)
            world_pair(net.w, i, j, WORLD_PAIR_CUT, 0);
    for (uint32_t i = 0; i < NODES; i++) { /* a host that was told that it cannot listen tries again */
        world_address(net.w, i, PORT, &a);
        (void)phx_listen(net.nodes[i].p, phx_address_text(&a, text));
        for (uint32_t j = 0; j < 2; j++) {
            world_address(net.w, j, PORT, &a);
            if (j != i)
                (void)phx_join(net.nodes[i].p, phx_address_text(&a, text));
        }
        world_touch(net.w, i);
    }
    for (int s = 0; s < 90 && !all_reach_all(); s++)
        net_run(&net, SECOND);
    fuzz_must(all_reach_all(), "not all reach all 90 s later");
    for (uint32_t i = 0; i < NODES; i++)
        assume(i, 1 + i);
    net_run(&net, 10 * SECOND);
    before = net.delivered;
    for (uint32_t i = 0; i < NODES; i++)
        for (uint32_t j = 1; j < NODES; j++)
            net_send(&net, i, 1 + (i + j) % NODES, 100, 0);
    net_run(&net, 10 * SECOND);
    fuzz_must(net.delivered == before + NODES * (NODES - 1), "%lu of %u messages arrive afterwards",
              (unsigned long)(net.delivered - before), NODES * (NODES - 1));
    for (uint32_t i = 0; i < NODES; i++)
        fuzz_must(net.w->hosts[i].handles <= 8, "host %u has %u handles open", i, net.w->hosts[i].handles);
}

void fuzz_one(const uint8_t *data, size_t size)
{
    (void)data, (void)size;
    count = 0;
    ill = 1;
    fail_kind = -1;
    is_due = 0;
    net_begin(&net, 7);
    net.os = give_os;
    net.alloc = give_alloc;
    play();
    must_work_again();
    net_end(&net);
}

static long runs[CALLS], incidents;

static void torture(uint32_t who, long stride, long from)
{
    static uint8_t kind[sizeof kinds];
    long most;

    victim = who;
    fail_at = 0;
    fuzz_one(NULL, 0);
    most = count < (long)sizeof kinds ? count : (long)sizeof kinds;
    memcpy(kind, kinds, sizeof kind);
    for (long n = from; n <= most; n += stride) {
        enum call c = (enum call)kind[n - 1];

        for (int e = 0; errors[c][e] != 0; e++)
            for (lasting = 0; lasting < 2; lasting++, runs[c]++) {
                fail_at = n;
                fail_with = errors[c][e];
                fprintf(stderr, "\r# node %u: call %ld of %ld, %s: %s %s        ", who, n, most,
                        call_name[c], fail_with == 1 ? "closed" : phx_strerror(fail_with),
                        lasting ? "from then on" : "once");
                fuzz_one(NULL, 0);
            }
        for (int i = KILL; c == SEND && i < INCIDENTS; i++, incidents++) {
            fail_at = n;
            incident = (enum incident)i;
            fprintf(stderr, "\r# node %u: behind call %ld of %ld, a send: %s       ", who, n, most,
                    incident_name[i]);
            fuzz_one(NULL, 0);
        }
        incident = NOTHING;
    }
    fputc('\n', stderr);
    printf("ok %u - node %u: each of %ld calls fails (every %ld was tried)\n", who + 1, who, most, stride);
}

int main(int argc, char **argv)
{
    long stride = argc > 1 ? atol(argv[1]) : 1, all = 0;
    uint32_t only = argc > 2 ? (uint32_t)atol(argv[2]) : NODES;

    for (uint32_t who = 0; who < NODES; who++)
        if (only == NODES || only == who)
            torture(who, stride, 1 + (long)who % stride);
    for (int c = 0; c < CALLS; c++) {
        printf("# %ld runs in which %s failed\n", runs[c], call_name[c]);
        all += runs[c];
    }
    printf("# %ld runs in which a node was killed, cut off or paused behind a send\n", incidents);
    all += incidents;
    printf("# %ld torture points, 0 failed\n1..%d\n", all, only == NODES ? (int)NODES : (int)only + 1);
    return 0;
}
