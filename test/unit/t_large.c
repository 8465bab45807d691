/* t_large.c - large messages between real nodes: in place, in the host's buffers, cut anywhere. */

/* Three nodes in one process over loopback TCP; 1 relays between 0 and 2. Their world cuts each read at a
 * random place, so that frames, heads and guesses are torn everywhere, and every byte of every message is
 * compared. All of them send large and small messages at once, so what is read in place is interrupted by
 * other messages, acks and beats all the time. The seed is fixed; what the kernel does is not. */
#include "test.h"

#ifdef PHX_JOINED
#include "../../phoenix.c"
#else
#include "node/state.h"
#endif

#include <signal.h>
#include <stdlib.h>

#define PATIENCE ((uint64_t)60000000)
#define NODES 3
#define SLOW 4 /* senders of test_slow that are slow; the next one is not, and the one after it gets it all */
#define MESSAGES 100 /* of each node to each other */
#define SIZE_MOST 700000u

struct large {
    phx *p;
    struct phx_os real, hooks;
    struct phx__mem mem;
    struct phx__rnd rnd;
    struct test_heap heap;
    struct phx_alloc alloc;
    int silent; /* what comes is not looked at */
    int begins, whole; /* whole: its reads are not cut */
    int slow;          /* it sends no more than `budget` bytes */
    size_t budget;
    long got, wrong, begun, shown, abandoned, in_place;
    uint64_t next[NODES], sent[NODES];
    void *mine[64]; /* buffers that were given */
};
static struct large nodes[SLOW + 2];

/* ---- A world that cuts ------------------------------------------------------------------------- */

static size_t cut_below(struct large *n, size_t size)
{
    uint64_t r = phx__rnd_next(&n->rnd);

    if (n->whole || r % 4 == 0)
        return size; /* as it comes */
    return 1 + (size_t)(r >> 8) % (r % 4 == 1 && size > 200 ? 200 : size);
}

static long large_recv(void *w, int h, void *data, size_t size)
{
    struct large *n = w;
    return n->real.recv(n->real.world, h, data, cut_below(n, size));
}

static long large_recvv(void *w, int h, const struct iovec *iov, int count)
{
    struct large *n = w;
    struct iovec cut[64];
    size_t total = 0, left;
    long got;
    int i;

    for (i = 0; i < count; i++)
        total += iov[i].iov_len;
    left = cut_below(n, total);
    for (i = 0; i < count && left > 0; i++) {
        cut[i] = iov[i];
        if (cut[i].iov_len > left)
            cut[i].iov_len = left;
        left -= cut[i].iov_len;
    }
    got = n->real.recvv(n->real.world, h, cut, i);
    n->in_place += got > 0 ? got : 0;
    return got;
}

static int large_listen(void *w, struct phx_address *at, int *h)
{
    struct large *n = w;
    return n->real.listen(n->real.world, at, h);
}

static int large_accept(void *w, int l, int *h, struct phx_address *from)
{
    struct large *n = w;
    return n->real.accept(n->real.world, l, h, from);
}

static int large_dial(void *w, const struct phx_address *to, int *h)
{
    struct large *n = w;
    return n->real.dial(n->real.world, to, h);
}

static int large_finish(void *w, int h)
{
    struct large *n = w;
    return n->real.finish(n->real.world, h);
}

static int large_local(void *w, int h, struct phx_address *out)
{
    struct large *n = w;
    return n->real.local(n->real.world, h, out);
}

static long large_send(void *w, int h, const struct iovec *iov, int count)
{
    struct large *n = w;
    struct iovec first = *iov;
    long sent;

    if (!n->slow)
        return n->real.send(n->real.world, h, iov, count);
    if (n->budget == 0)
        return PHX_EAGAIN;
    if (first.iov_len > n->budget)
        first.iov_len = n->budget;
    sent = n->real.send(n->real.world, h, &first, 1);
    n->budget -= sent > 0 ? (size_t)sent : 0;
    return sent;
}

static void large_close(void *w, int h)
{
    struct large *n = w;
    n->real.close(n->real.world, h);
}

static int large_watch(void *w, int h, int events)
{
    struct large *n = w;
    return n->real.watch(n->real.world, h, events);
}

static int large_wait(void *w, struct phx_ready *out, int capacity)
{
    struct large *n = w;
    return n->real.wait(n->real.world, out, capacity);
}

static int large_random(void *w, void *out, size_t size)
{
    struct large *n = w;
    return n->real.random(n->real.world, out, size);
}

static int large_resolve(void *w, const char *host, struct phx_address *out, int capacity)
{
    struct large *n = w;
    return n->real.resolve(n->real.world, host, out, capacity);
}

static int large_fd(void *w)
{
    struct large *n = w;
    return n->real.fd(n->real.world);
}

static int large_wake(void *w)
{
    struct large *n = w;
    return n->real.wake(n->real.world);
}

static void large_free(void *w)
{
    struct large *n = w;
    n->real.free(n->real.world);
}

static void large_world(struct large *n)
{
    struct phx_os os = { PHX_OS_VERSION, n,           large_listen,  large_accept, large_dial,
                         large_finish,   large_local, large_send,    large_recv,   large_close,
                         large_watch,    large_wait,  large_random,  large_resolve, large_fd,
                         large_wake,     large_free,  large_recvv,   NULL };

    phx__mem_init(&n->mem, NULL, 0);
    check(phx__os_init(&n->real, &n->mem) == 0, "a world");
    n->hooks = os;
}

/* ---- Hosts ------------------------------------------------------------------------------------- */

/* The bytes of a message: a stretch of these, which begins elsewhere for each. */
static uint8_t pattern[SIZE_MOST + 1024];

static const uint8_t *large_bytes(uint64_t from, uint64_t tag)
{
    return pattern + (from * 331 + tag * 31) % 1024;
}

/* Takes the buffer out of those that were given: 1, or 0 if it is none. */
static int large_is_mine(struct large *n, const void *buffer)
{
    int i;

    for (i = 0; i < 64; i++) {
        if (n->mine[i] == NULL || n->mine[i] != buffer)
            continue;
        n->mine[i] = NULL;
        return 1;
    }
    return 0;
}

static void *large_begin(phx *p, const struct phx_message *m, void *user)
{
    struct large *n = user;
    int i;

    n->wrong += p != n->p || m->data != NULL || m->size == 0;
    if (!n->begins || m->tag % 3 == 0)
        return NULL;
    for (i = 0; i < 64 && n->mine[i] != NULL; i++)
        continue;
    if (i == 64)
        return NULL;
    n->begun++;
    return n->mine[i] = malloc(m->size); /* of exactly its size: the sanitizer looks at its end */
}

static void large_abandon(phx *p, void *buffer, size_t size, void *user)
{
    struct large *n = user;

    n->wrong += p != n->p || size == 0 || !large_is_mine(n, buffer);
    n->abandoned++;
    free(buffer);
}

static void large_message(phx *p, const struct phx_message *m, void *user)
{
    struct large *n = user;
    const uint8_t *data = m->data;

    (void)p;
    if (n->silent) {
        n->got++;
        if (large_is_mine(n, data))
            free((void *)(uintptr_t)data);
        return;
    }
    n->wrong += m->tag != n->next[m->from]++;
    n->wrong += m->size > 0 && memcmp(data, large_bytes(m->from, m->tag), m->size) != 0;
    n->got++;
    if (large_is_mine(n, data)) {
        n->shown++;
        memset((void *)(uintptr_t)data, 0xee, m->size); /* it is ours: whoever writes there now is wrong */
        free((void *)(uintptr_t)data);
    }
}

static void large_open(int i, const char *hub, size_t mem_limit)
{
    struct large *n = &nodes[i];
    struct phx_config c;

    memset(n, 0, sizeof *n);
    phx__rnd_seed(&n->rnd, (uint64_t)i + 7, 3);
    large_world(n);
    n->alloc.alloc = test_alloc;
    n->alloc.world = &n->heap;
    n->begins = 1;
    phx_config_init(&c);
    c.os = &n->hooks;
    c.mem_limit = mem_limit;
    c.alloc = &n->alloc;
    c.on_message = large_message;
    c.on_begin = large_begin;
    c.on_abandon = large_abandon;
    c.user = n;
    check(phx_new(&n->p, &c, phx_now_us()) == 0, "a node");
    check(phx_assume(n->p, (uint64_t)i, (uint64_t)i) == 0, "a name");
    check(hub == NULL ? phx_listen(n->p, "tcp://127.0.0.1:0") == 0 : phx_join(n->p, hub) == 0, "a hub");
}

static void large_turn(void)
{
    int i;

    for (i = 0; i < NODES; i++)
        phx_step(nodes[i].p, phx_now_us(), NULL, 0);
}

static int large_meet(void)
{
    uint64_t end = phx_now_us() + PATIENCE;
    struct phx_address at;
    char text[PHX_ADDRESS_TEXT];
    struct phx_id id;
    int i, known;

    large_open(1, NULL, 0);
    check(phx_listening(nodes[1].p, 0, &at) == 0, "listens");
    phx_address_text(&at, text);
    large_open(0, text, 0);
    large_open(2, text, 0);
    do {
        large_turn();
        for (known = i = 0; i < NODES * NODES; i++)
            known += phx_owner(nodes[i / NODES].p, (uint64_t)(i % NODES), &id) == 0;
    } while (known < NODES * NODES && phx_now_us() < end);
    return known == NODES * NODES;
}

/* A message from node i to node k, if it is taken now. */
static void large_send_one(int i, int k)
{
    struct large *n = &nodes[i];
    uint64_t tag = n->sent[k], r = (tag * NODES + (uint64_t)i) * 2654435761u + (uint64_t)k * 40503u;
    size_t size = r % 3 == 0 ? (size_t)(r >> 4) % 3000 : (size_t)(r >> 4) % SIZE_MOST;
    int err = phx_send(n->p, (uint64_t)k, (uint64_t)i, tag, large_bytes((uint64_t)i, tag), size);

    n->wrong += err != 0 && err != PHX_EAGAIN;
    n->sent[k] += err == 0;
}

static void large_send_all(void)
{
    int i, k;

    for (i = 0; i < NODES; i++)
        for (k = 0; k < NODES; k++)
            if (i != k && nodes[i].sent[k] < MESSAGES)
                large_send_one(i, k);
}

static void test_torn(void)
{
    /* Goal: whatever is torn and interrupted, each message arrives whole, once and in order, and each buffer
     * of a host's comes back once. */
    uint64_t end = phx_now_us() + PATIENCE;
    long got = 0, wrong = 0, begun = 0, ended = 0, shown = 0, placed = 0;
    int i;

    do {
        large_send_all();
        large_turn();
        for (got = i = 0; i < NODES; i++)
            got += nodes[i].got;
    } while (got < NODES * (NODES - 1) * MESSAGES && phx_now_us() < end);
    for (i = 0; i < NODES; i++) {
        wrong += nodes[i].wrong;
        begun += nodes[i].begun;
        shown += nodes[i].shown;
        ended += nodes[i].shown + nodes[i].abandoned;
        placed += nodes[i].in_place;
    }
    ok(got == NODES * (NODES - 1) * MESSAGES, "%ld messages came", got);
    ok(wrong == 0, "%ld are wrong", wrong);
    ok(begun == ended && shown > 100, "%ld buffers of hosts', %ld came back, %ld with a message", begun,
       ended, shown);
    ok(placed > 100000000, "%ld bytes were read into place or as guesses", placed);
}

static void test_relay(void)
{
    /* Goal: a relay forwards large frames from where it read them. Method: count what it copied into
     * queues, and what it kept of frames whose end was not there yet. */
    uint64_t end = phx_now_us() + PATIENCE;
    static uint8_t data[1u << 20];
    struct phx__post *relay = &nodes[1].p->post;
    uint64_t copied = relay->transit.copied, relayed = relay->counters.relayed_bytes;
    long want = nodes[2].got + 60, sent = 0;
    int i;

    for (i = 0; i < NODES; i++)
        nodes[i].whole = nodes[i].silent = 1;
    while (nodes[2].got < want && phx_now_us() < end) {
        if (sent < 60)
            sent += phx_send(nodes[0].p, 2, 0, 0, data, sizeof data) == 0;
        large_turn();
    }
    copied = relay->transit.copied - copied;
    relayed = relay->counters.relayed_bytes - relayed;
    ok(nodes[2].got == want && relayed > 60u << 20, "60 MiB came through the relay");
    ok(copied <= relayed / 20, "%.3f of them were copied", (double)copied / (double)relayed);
    ok(relay->transit.bytes == 0, "nothing is left in the relay");
    ok(nodes[0].p->set.spare == NULL && nodes[2].p->set.spare == NULL,
       "who only receives has no second scratch");
}

static void test_end_in_midst(void)
{
    /* Goal: nodes that end, or are ended by their hosts, in the midst of messages give the buffers back. */
    uint64_t end = phx_now_us() + PATIENCE;
    static uint8_t data[4u << 20];
    long begun, ended;
    int i;

    for (i = 0; i < NODES; i++)
        nodes[i].got = nodes[i].begun = nodes[i].shown = nodes[i].abandoned = 0;
    check(phx_send(nodes[0].p, 2, 0, 1, data, sizeof data) == 0
              && phx_send(nodes[1].p, 2, 1, 1, data, sizeof data) == 0, "sent");
    nodes[2].whole = 0;
    while (nodes[2].begun < 2 && phx_now_us() < end)
        large_turn();
    begun = nodes[2].begun;
    ok(begun == 2 && nodes[2].shown == 0, "two have begun");
    for (i = 0; i < NODES; i++)
        phx_free(nodes[i].p);
    ended = nodes[2].abandoned;
    ok(ended == 2, "%ld were abandoned with the node", ended);
    for (i = 0; i < NODES; i++)
        ok(test_heap_is_clean(&nodes[i].heap), "node %d gave all its memory back", i);
}

/* A tenth of a second of all, in which each slow one sends `most` bytes. */
static void slow_turns(uint64_t *now, size_t most)
{
    for (int t = 0; t < 10; t++) {
        for (int i = 0; i < SLOW + 2; i++) {
            nodes[i].budget = most / 10;
            phx_step(nodes[i].p, *now, NULL, 0);
        }
        *now += 10000;
    }
}

/* All of them send as much, one after the other; that it gets `want` messages takes how many turns? */
static int slow_send(uint64_t *now, size_t size, size_t most, long want)
{
    static uint8_t data[1u << 20];
    struct large *to = &nodes[SLOW + 1];
    int i, turns;

    for (i = 0; i <= SLOW; i++) {
        check(phx_send(nodes[i].p, SLOW + 1, 0, 0, data, size) == 0, "sent");
        slow_turns(now, 4000);
    }
    for (turns = 0; turns < 1000 && to->got < want; turns++)
        slow_turns(now, most);
    return turns;
}

static void test_slow(void)
{
    /* Goal: where half of mem_limit is full a message that comes slowly does not give way, and one that
     * stands still does (promise 110). Method: four nodes of 320 kbit/s, whose fragments take 1.6 s each,
     * fill it with 1 MiB each, and a fifth one sends as much; then they do that again, and stop in the
     * midst of a fragment. All have sent something before: of a flow that is new nothing comes to a place.
     * */
    struct large *to = &nodes[SLOW + 1];
    uint64_t now = phx_now_us(), out[SLOW];
    struct phx_address at;
    char text[PHX_ADDRESS_TEXT];
    struct phx_stats s;
    struct phx_id id;
    int i, turns, known = 0;

    large_open(SLOW + 1, NULL, 8u << 20);
    check(phx_listening(to->p, 0, &at) == 0, "listens");
    for (i = 0; i <= SLOW; i++)
        large_open(i, phx_address_text(&at, text), 0);
    to->silent = to->whole = 1;
    for (turns = 0; turns < 1000 && known <= SLOW; turns++) {
        slow_turns(&now, 0);
        for (known = i = 0; i <= SLOW; i++)
            known += phx_owner(nodes[i].p, SLOW + 1, &id) == 0;
    }
    (void)slow_send(&now, 1000, 4000, SLOW + 1);
    ok(to->got == SLOW + 1, "all five have sent something");
    for (i = 0; i < SLOW; i++) {
        nodes[i].slow = 1;
        check(phx_stats(nodes[i].p, &s) == 0, "counters");
        out[i] = s.bytes_out;
    }
    turns = slow_send(&now, 1u << 20, 4000, 2 * (SLOW + 1));
    ok(to->got == 2 * (SLOW + 1), "all five messages are there after %d.%d s", turns / 10, turns % 10);
    for (i = 0; i < SLOW; i++) {
        check(phx_stats(nodes[i].p, &s) == 0, "counters");
        out[i] = s.bytes_out - out[i];
        ok(out[i] < (1u << 20) + 40000, "a slow one sent %lu bytes", (unsigned long)out[i]);
    }
    turns = slow_send(&now, 1u << 20, 0, 2 * (SLOW + 1) + 1);
    ok(to->got == 2 * (SLOW + 1) + 1 && turns < 20,
       "when they stand still the fifth one is there %d.%d s later", turns / 10, turns % 10);
    for (i = 0; i < SLOW + 2; i++) {
        phx_free(nodes[i].p);
        ok(test_heap_is_clean(&nodes[i].heap), "node %d gave all its memory back", i);
    }
}

static void test_config(void)
{
    struct phx_config c;
    phx *p;

    phx_config_init(&c);
    c.on_begin = large_begin;
    ok(phx_new(&p, &c, 1) == PHX_EINVAL && p == NULL, "on_begin without on_abandon is refused");
}

int main(void)
{
    size_t i;

    signal(SIGPIPE, SIG_IGN);
    for (i = 0; i < sizeof pattern; i++)
        pattern[i] = (uint8_t)(i * 7 + i / 251 + (i >> 16) * 13);
    test_config();
    test_slow();
    if (ok(large_meet(), "three nodes know each other")) {
        test_torn();
        test_relay();
        test_end_in_midst();
    }
    return test_end();
}
