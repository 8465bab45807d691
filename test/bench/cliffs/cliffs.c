/* cliffs.c - what one change costs, over three sizes each: exact counts, and how they grow. */

/*     cliffs                 all, at full size: lines "bar NAME FIGURE LIMIT ok|short"
 *     cliffs small           the same at sizes that take seconds
 *     cliffs [small] held    those whose names contain the word
 *
 * The rule: an event costs each node what it changes for that node. Each row below makes one event in an
 * in-memory world (test/sim/world.c) at several sizes of what the event does not change, and counts: basic
 * blocks of phoenix.c (compiled with -fsanitize-coverage=trace-pc) and the bytes that it copies, as net_work
 * sums them up; or allocations, bytes on the wire, calls. The counts are the same on every machine with the
 * same compiler. A row's bar is the worst of its sizes, either by itself or beside its first size. Lines
 * "# NAME n: figure" have each size, and the exponent of the growth from the second size to the last.
 */
#include "net.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FAR 1000000000u /* names from here on are nobody's */

static int small;

/* ---- Names -------------------------------------------------------------------------------------- */

/* Every other name, so that no two ranges touch. */
static void assume_some(struct net *n, struct spot *s, uint64_t first, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        net_must(phx_assume(s->p, first + 2 * i, first + 2 * i), "phx_assume");
    net_touch(n, s);
    net_run(n, 10 * SECOND);
}

/* What one more name at spot `from` costs spot `at`. */
static double change_costs(struct net *n, uint32_t from, uint32_t at)
{
    double before = n->spots[at].work;

    net_must(phx_assume(n->spots[from].p, 5, 5), "phx_assume");
    net_touch(n, &n->spots[from]);
    net_run(n, 100 * MS);
    return n->spots[at].work - before;
}

static double after_failure(uint32_t ranges)
{
    struct phx_config cfg;
    struct net n;
    double work;

    net_config(&cfg);
    cfg.detector.interval_us = cfg.detector.insurance_us = 3600 * SECOND; /* no heartbeat comes between */
    net_mesh(&n, &cfg, 4, 0);
    assume_some(&n, &n.spots[1], 1000000, ranges);
    net_crash(&n, 1);
    net_run(&n, 60 * SECOND);
    work = change_costs(&n, 2, 3);
    net_free(&n);
    return work;
}

/* So many messages to as many names that nobody has. */
static void hold(struct net *n, struct spot *s, uint32_t messages)
{
    for (uint32_t i = 0; i < messages; i++)
        net_must(phx_send(s->p, FAR + i, 1, 0, "8 bytes", 8), "phx_send");
    net_touch(n, s);
    net_run(n, SECOND);
}

static double while_held(uint32_t messages)
{
    struct phx_config cfg;
    struct net n;
    double work;

    net_config(&cfg);
    cfg.hold_bytes = 64u << 20;
    net_mesh(&n, &cfg, 4, 0);
    hold(&n, &n.spots[3], messages);
    work = change_costs(&n, 2, 3);
    net_free(&n);
    return work;
}

/* The first look-up after a node with 100 ranges came to so many that are known. */
static double joiner(uint32_t ranges)
{
    struct phx_config cfg;
    struct net n;
    struct phx_id id;
    double work;

    net_config(&cfg);
    net_mesh(&n, &cfg, 3, 0);
    assume_some(&n, &n.spots[1], 1000000, ranges);
    (void)phx_owner(n.spots[0].p, 1000000, &id);
    work = n.spots[0].work;
    for (uint32_t i = 0; i < 100; i++)
        net_must(phx_assume(n.spots[2].p, 7 * i, 7 * i), "phx_assume");
    net_touch(&n, &n.spots[2]);
    net_run(&n, 100 * MS);
    work = n.spots[0].work - work - net_work();
    net_must(phx_owner(n.spots[0].p, 1000000, &id), "phx_owner");
    work += net_work();
    net_free(&n);
    return work;
}

static uint64_t in_order(uint32_t i, uint32_t count, int order)
{
    static const uint64_t prime = 1000003; /* above every count: i -> i * prime mod count meets each once */

    return 2 * (order == 0 ? i : order == 1 ? count - 1 - i : (i * prime) % count);
}

/* All names are assumed in this order, and after a step released: which of the two is measured. */
static double change_all(uint32_t count, int order, int releases)
{
    struct phx_config cfg;
    struct net n;
    double work[3];

    net_config(&cfg);
    net_new(&n, 1);
    (void)net_add(&n, &cfg, 1);
    net_run(&n, SECOND);
    work[0] = net_work();
    for (uint32_t i = 0; i < count; i++)
        net_must(phx_assume(n.spots[0].p, in_order(i, count, order), in_order(i, count, order)), "assume");
    net_touch(&n, &n.spots[0]);
    net_run(&n, SECOND);
    work[1] = net_work();
    for (uint32_t i = 0; i < count; i++)
        net_must(phx_release(n.spots[0].p, in_order(i, count, order), in_order(i, count, order)), "release");
    net_touch(&n, &n.spots[0]);
    net_run(&n, SECOND);
    work[2] = net_work();
    net_free(&n);
    return work[1 + releases] - work[releases];
}

/* The worst order beside the best. */
static double change_order(uint32_t count, int releases)
{
    double worst = 0, best = HUGE_VAL;

    for (int order = 0; order < 3; order++) {
        double work = change_all(count, order, releases);

        worst = work > worst ? work : worst;
        best = work < best ? work : best;
    }
    return worst / best;
}

static double assume_order(uint32_t count)
{
    return change_order(count, 0);
}

static double release_order(uint32_t count)
{
    return change_order(count, 1);
}

/* Bytes on a link for the last of so many adjacent names. */
static double one_by_one(uint32_t count)
{
    struct phx_config cfg;
    struct net n;
    uint64_t bytes;

    net_config(&cfg);
    net_mesh(&n, &cfg, 2, 0);
    for (uint32_t i = 0; i + 1 < count; i++) {
        net_must(phx_assume(n.spots[0].p, i, i), "phx_assume");
        net_touch(&n, &n.spots[0]);
        if (count <= 100)
            net_run(&n, 50 * MS);
    }
    net_run(&n, 10 * SECOND);
    bytes = net_stats(&n.spots[0]).bytes_out;
    net_must(phx_assume(n.spots[0].p, count - 1, count - 1), "phx_assume");
    net_touch(&n, &n.spots[0]);
    net_run(&n, 50 * MS);
    bytes = net_stats(&n.spots[0]).bytes_out - bytes;
    net_free(&n);
    return (double)bytes;
}

/* All of so many ranges, one by one, to one heir: the work of both for each. */
static double hand_over(uint32_t count)
{
    struct phx_config cfg;
    struct net n;
    struct phx_id heir;
    double work;

    net_config(&cfg);
    net_mesh(&n, &cfg, 2, 0);
    assume_some(&n, &n.spots[0], 1000, count);
    phx_self(n.spots[1].p, &heir);
    work = net_work();
    for (uint32_t i = 0; i < count; i++)
        net_must(phx_hand(n.spots[0].p, 1000 + 2 * i, 1000 + 2 * i, &heir), "phx_hand");
    net_touch(&n, &n.spots[0]);
    net_run(&n, 10 * SECOND);
    work = net_work() - work;
    if (phx_names(n.spots[1].p, &heir, NULL, 0) != count)
        net_die("not all was handed over");
    net_free(&n);
    return work / count;
}

/* ---- Deaths ------------------------------------------------------------------------------------- */

/* Some die together; the work of one that holds so many messages and knows so many ranges. */
static double site_dies(uint32_t each)
{
    uint32_t dead = small ? 10 : 100;
    struct phx_config cfg;
    struct net n;
    double work;

    net_config(&cfg);
    cfg.hold_bytes = 64u << 20;
    net_mesh(&n, &cfg, dead + 2, 0);
    assume_some(&n, &n.spots[1], 1000000, each);
    hold(&n, &n.spots[0], each);
    work = n.spots[0].work;
    for (uint32_t i = 2; i < dead + 2; i++)
        net_crash(&n, i);
    net_run(&n, 60 * SECOND);
    work = n.spots[0].work - work;
    n.count = 2;
    net_free(&n);
    return work;
}

/* ---- A hub -------------------------------------------------------------------------------------- */

/* A client of the hub that has come, holds a name, and goes. */
static void come_and_go(struct net *n, struct phx_config *cfg, struct spot *s)
{
    net_start(n, s, cfg, 0);
    net_must(phx_assume(s->p, 10 * s->host, 10 * s->host), "phx_assume");
    net_run(n, 200 * MS);
    net_leave(n, s);
}

/* What a hub that so many clients have left does for one more that comes and goes. */
static double former(uint32_t clients)
{
    struct phx_config cfg;
    struct net n;
    struct spot *s;
    double work;

    net_config(&cfg);
    net_new(&n, 3);
    (void)net_add(&n, &cfg, 1);
    (void)net_add(&n, &cfg, 0); /* one stays */
    s = net_add(&n, &cfg, 0);
    net_run(&n, SECOND);
    net_leave(&n, s);
    for (uint32_t i = 0; i < clients; i++)
        come_and_go(&n, &cfg, s);
    net_run(&n, 70 * SECOND);
    net_start(&n, s, &cfg, 0);
    net_run(&n, 10 * SECOND);
    work = n.spots[0].work;
    net_leave(&n, s);
    net_run(&n, 5 * SECOND);
    work = n.spots[0].work - work;
    n.count = 2;
    net_free(&n);
    return work;
}

/* Half of a hub's clients die at once: the bytes that the living get, beside the 36 of one entry for each
 * dead and survivor. */
static double half_dies(uint32_t clients)
{
    struct phx_config cfg;
    struct net n;
    double bytes = 0;
    uint32_t dead = clients / 2;

    net_config(&cfg);
    cfg.detector.interval_us = cfg.detector.insurance_us = 3600 * SECOND; /* no heartbeat comes between */
    net_new(&n, clients + 1);
    for (uint32_t i = 0; i <= clients; i++)
        (void)net_add(&n, &cfg, i == 0);
    net_until(&n, 0, clients, 1, clients + 1);
    net_run(&n, 30 * SECOND);
    for (uint32_t i = 0; i <= clients - dead; i++)
        bytes -= (double)net_stats(&n.spots[i]).bytes_in;
    for (uint32_t i = clients - dead + 1; i <= clients; i++)
        net_crash(&n, i);
    net_run(&n, 60 * SECOND);
    n.count = clients - dead + 1;
    for (uint32_t i = 0; i < n.count; i++)
        bytes += (double)net_stats(&n.spots[i]).bytes_in;
    net_free(&n);
    return bytes / 36 / dead / (clients - dead);
}

/* A client's cast to so many others, one link each: what the hub does for each of them. */
static double cast_relayed(uint32_t members)
{
    struct phx_range all = { 1, UINT64_MAX };
    struct phx_cast c = { .ranges = &all, .ranges_count = 1, .data = "x", .size = 1 };
    struct phx_config cfg;
    struct net n;
    double work = 0;

    net_config(&cfg);
    cfg.detector.interval_us = cfg.detector.insurance_us = 3600 * SECOND;
    net_new(&n, members + 2);
    for (uint32_t i = 0; i < members + 2; i++) {
        (void)net_add(&n, &cfg, i == 0);
        if (i > 1)
            net_must(phx_assume(n.spots[i].p, i, i), "phx_assume");
    }
    net_until(&n, 0, members + 1, 1, members + 2);
    net_run(&n, 30 * SECOND);
    for (int i = 0; i < 2; i++) { /* the second time all know the way */
        work = n.spots[0].work;
        if (phx_cast(n.spots[1].p, &c) != (int)members)
            net_die("a cast has not all members");
        net_touch(&n, &n.spots[1]);
        net_run(&n, SECOND);
        work = n.spots[0].work - work;
    }
    net_free(&n);
    return work / members;
}

/* ---- A full mesh -------------------------------------------------------------------------------- */

enum event { NOTHING, JOIN, GOODBYE, DEATH };

struct mesh {
    uint32_t nodes;
    enum event event;
    double frames, work;
};

/* Adds up what all but `but` have done. */
static void mesh_sum(const struct net *n, uint32_t nodes, uint32_t but, struct mesh *m, double sign)
{
    for (uint32_t i = 0; i < nodes; i++)
        if (i != but) {
            m->frames += sign * (double)net_stats(&n->spots[i]).frames_out / (nodes - 1);
            m->work += sign * n->spots[i].work / (nodes - 1);
        }
}

/* One comes or goes after a minute, and ten seconds more. */
static void mesh_run(uint32_t nodes, enum event event, struct mesh *m, double sign)
{
    uint32_t who = nodes / 2;
    struct phx_config cfg;
    struct net n;

    net_config(&cfg);
    net_mesh(&n, &cfg, nodes, 1);
    net_run(&n, 60 * SECOND);
    if (event == JOIN)
        (void)net_add(&n, &cfg, 1);
    else if (event == DEATH)
        net_crash(&n, who);
    else if (event == GOODBYE)
        net_must(phx_close(n.spots[who].p, SECOND), "phx_close");
    if (event == GOODBYE)
        net_touch(&n, &n.spots[who]);
    net_run(&n, 10 * SECOND); /* less than insurance_us: no heartbeat told later is saved */
    mesh_sum(&n, nodes, who, m, sign);
    if (event == DEATH)
        n.spots[who] = n.spots[--n.count];
    net_free(&n);
}

/* What that costs each of the others: beside the same network, to which nothing happens. What that does at
 * rest differs from one ten seconds to the next, as many timers stand at the same time. */
static const struct mesh *mesh_of(uint32_t nodes, enum event event)
{
    static struct mesh known;

    if (known.nodes == nodes && known.event == event)
        return &known;
    known = (struct mesh){ nodes, event, 0, 0 };
    mesh_run(nodes, NOTHING, &known, -1);
    mesh_run(nodes, event, &known, 1);
    return &known;
}

static double join_frames(uint32_t nodes)
{
    return mesh_of(nodes, JOIN)->frames;
}

static double join_work(uint32_t nodes)
{
    return mesh_of(nodes, JOIN)->work;
}

static double goodbye_frames(uint32_t nodes)
{
    return mesh_of(nodes, GOODBYE)->frames;
}

static double goodbye_work(uint32_t nodes)
{
    return mesh_of(nodes, GOODBYE)->work;
}

static double death_frames(uint32_t nodes)
{
    return mesh_of(nodes, DEATH)->frames;
}

static double death_work(uint32_t nodes)
{
    return mesh_of(nodes, DEATH)->work;
}

/* Two die at once: what all others tell, for each dead and survivor. */
static double two_deaths(uint32_t nodes)
{
    struct phx_config cfg;
    struct net n;
    double entries = 0;

    net_config(&cfg);
    net_mesh(&n, &cfg, nodes, 0);
    net_run(&n, 60 * SECOND);
    for (uint32_t i = 0; i + 2 < nodes; i++)
        entries -= (double)net_stats(&n.spots[i]).entries_out;
    net_crash(&n, nodes - 2);
    net_crash(&n, nodes - 1);
    net_run(&n, 10 * SECOND);
    n.count = nodes - 2;
    for (uint32_t i = 0; i < n.count; i++)
        entries += (double)net_stats(&n.spots[i]).entries_out;
    net_free(&n);
    return entries / 2 / (nodes - 2);
}

/* ---- Messages ----------------------------------------------------------------------------------- */

struct turns {
    uint32_t names;
    double bytes, work, allocs;
};

static void assume_all(struct net *n)
{
    net_must(phx_assume(n->spots[0].p, 0, 1000000), "phx_assume");
    net_touch(n, &n->spots[0]);
    net_run(n, SECOND);
}

/* So many messages of 8 bytes in turn to as many names of one node, as fast as they go. */
static void send_in_turn(struct net *n, uint32_t names, uint32_t messages)
{
    struct spot *s = &n->spots[1];
    double before;
    int err;

    for (uint32_t i = 0; i < messages;) {
        for (uint32_t k = 0; k < 1000 && i < messages; k++, i++) {
            before = net_work();
            err = phx_send(s->p, i % names, 1, 0, "8 bytes", 8);
            s->work += net_work() - before;
            if (err == PHX_EAGAIN)
                break;
            net_must(err, "phx_send");
        }
        net_touch(n, s);
        net_run(n, MS);
    }
    net_run(n, 20 * MS);
}

static struct turns in_turn(uint32_t names)
{
    uint32_t messages = small ? 20000 : 200000;
    struct turns t = { names, 0, 0, 0 };
    struct phx_config cfg;
    struct net n;

    net_config(&cfg);
    net_mesh(&n, &cfg, 2, 0);
    assume_all(&n);
    send_in_turn(&n, names, names > messages ? names : messages);
    t.bytes = (double)net_stats(&n.spots[1]).bytes_out;
    t.work = n.spots[0].work + n.spots[1].work;
    t.allocs = (double)(net_allocs(&n, &n.spots[0]) + net_allocs(&n, &n.spots[1]));
    n.spots[0].messages = 0;
    send_in_turn(&n, names, messages);
    if (n.spots[0].messages != messages)
        net_die("not all messages came");
    t.bytes = ((double)net_stats(&n.spots[1]).bytes_out - t.bytes) / messages;
    t.work = (n.spots[0].work + n.spots[1].work - t.work) / messages;
    t.allocs = ((double)(net_allocs(&n, &n.spots[0]) + net_allocs(&n, &n.spots[1])) - t.allocs) / messages;
    net_free(&n);
    return t;
}

static const struct turns *turns_of(uint32_t names)
{
    static struct turns known;

    if (known.names != names)
        known = in_turn(names);
    return &known;
}

static double turn_bytes(uint32_t names)
{
    return turns_of(names)->bytes;
}

static double turn_work(uint32_t names)
{
    return turns_of(names)->work;
}

static double turn_allocs(uint32_t names)
{
    return turns_of(names)->allocs;
}

/* One byte to all, where four nodes hold so many ranges. */
static double cast_wide(uint32_t ranges)
{
    struct phx_range all = { 0, UINT64_MAX };
    struct phx_cast c;
    struct phx_config cfg;
    struct net n;
    struct phx_id id;
    double work;

    memset(&c, 0, sizeof c);
    c.ranges = &all;
    c.ranges_count = 1;
    c.data = "x";
    c.size = 1;
    net_config(&cfg);
    net_mesh(&n, &cfg, 5, 0);
    for (uint32_t k = 0; k < 4; k++) {
        for (uint32_t i = 0; i < ranges / 4; i++)
            net_must(phx_assume(n.spots[k].p, 10 * i + 2 * k, 10 * i + 2 * k), "phx_assume");
        net_touch(&n, &n.spots[k]);
        net_run(&n, 10 * SECOND);
    }
    (void)phx_owner(n.spots[4].p, 0, &id);
    work = net_work();
    if (phx_cast(n.spots[4].p, &c) != 4)
        net_die("a cast has not four members");
    work = net_work() - work;
    net_free(&n);
    return work;
}

/* Messages with a token to `names` names of one node: memory of the sender and its target 11 s after all have
 * arrived, beside what it was before. held: nobody has the names until all are sent. */
static double after_peak(uint32_t messages, int held)
{
    struct phx_config cfg;
    struct net n;
    size_t before;

    net_config(&cfg);
    cfg.window = cfg.hold_bytes = 1u << 30;
    net_mesh(&n, &cfg, 2, 0);
    if (!held)
        assume_all(&n);
    net_must(phx_send(n.spots[1].p, FAR - 1, 1, 0, "8 bytes", 8), "phx_send");
    net_touch(&n, &n.spots[1]);
    net_run(&n, 20 * SECOND);
    before = net_stats(&n.spots[0]).mem_bytes + net_stats(&n.spots[1]).mem_bytes;
    n.spots[0].messages = 0;
    for (uint32_t i = 0; i < messages; i++) {
        struct iovec iov = { (void *)(uintptr_t)"8 bytes", 8 };
        struct phx_outgoing o = { .to = held ? i : 1, .token = i + 1, .iov = &iov, .iov_count = 1 };

        net_must(phx_sendv(n.spots[1].p, &o), "phx_sendv");
    }
    net_touch(&n, &n.spots[1]);
    if (held)
        assume_all(&n);
    for (uint32_t i = 0; i < 600 && n.spots[0].messages < messages; i++)
        net_run(&n, SECOND);
    net_run(&n, 11 * SECOND);
    if (n.spots[0].messages < messages)
        net_die("not all messages came");
    before = (net_stats(&n.spots[0]).mem_bytes + net_stats(&n.spots[1]).mem_bytes) * 1000 / before;
    net_free(&n);
    return (double)before / 1000;
}

static double after_tokens(uint32_t messages)
{
    return after_peak(messages, 0);
}

static double after_held(uint32_t messages)
{
    return after_peak(messages, 1);
}

/* How many names there are that send again, each once, when they may. */
static uint8_t said[100000];
static uint32_t unsaid;

static void send_again(struct spot *s, uint64_t name)
{
    static const char message[1024];
    int err;

    if (said[name])
        return;
    err = phx_send(s->p, name, 1000000, 0, message, sizeof message);
    if (err != PHX_EAGAIN)
        net_must(err, "phx_send");
    said[name] = err == 0;
    unsaid -= err == 0;
}

/* Calls of on_writable for each of so many names that wait for one node's window. */
static double waiters(uint32_t names)
{
    struct phx_config cfg;
    struct net n;
    double calls;

    net_config(&cfg);
    cfg.window = 1u << 20;
    net_mesh(&n, &cfg, 2, 0);
    assume_all(&n);
    memset(said, 0, sizeof said);
    n.spots[1].on_writable = send_again;
    unsaid = names;
    for (uint32_t i = 0; i < names; i++)
        send_again(&n.spots[1], i);
    net_touch(&n, &n.spots[1]);
    for (uint32_t i = 0; i < 600 && unsaid > 0; i++)
        net_run(&n, SECOND / 10);
    if (unsaid > 0)
        net_die("some names wait for ever");
    net_run(&n, SECOND);
    calls = (double)n.spots[1].writable;
    net_free(&n);
    return calls / names;
}

/* What messages of one size cost both ends, once as many have gone before. */
struct stream {
    uint32_t size;
    size_t window;
    int lone; /* each is sent when the one before has arrived */
    double moved, allocs, calls;
};

static void stream_sum(const struct net *n, struct stream *t, double sign)
{
    for (uint32_t i = 0; i < 2; i++) {
        t->allocs += sign * (double)net_allocs(n, &n->spots[i]);
        t->calls += sign * (double)net_stats(&n->spots[i]).os_calls;
    }
    t->moved += sign * (double)net_moved();
}

static void stream_send(struct net *n, const struct stream *t, uint32_t messages)
{
    static const char message[1u << 24];
    uint32_t i = 0;
    int err = 0;

    n->spots[0].messages = 0;
    for (uint32_t tries = 0; n->spots[0].messages < messages; tries++) {
        for (; i < messages && err == 0 && (!t->lone || n->spots[0].messages == i); i += err == 0)
            if ((err = phx_send(n->spots[1].p, 1, 1, 0, message, t->size)) != PHX_EAGAIN)
                net_must(err, "phx_send");
        err = 0;
        net_touch(n, &n->spots[1]);
        net_run(n, MS);
        if (tries > 100000)
            net_die("not all messages came");
    }
    net_run(n, 20 * MS);
}

static struct stream stream_of(uint32_t size, size_t window, int lone)
{
    uint32_t messages = (small ? 16u : 64u) + (1u << (small ? 22 : 24)) / size;
    struct stream t = { size, window, lone, 0, 0, 0 };
    struct phx_config cfg;
    struct net n;

    net_config(&cfg);
    cfg.window = window;
    net_mesh(&n, &cfg, 2, 0);
    assume_all(&n);
    for (int i = 0; i < 2; i++) /* what is needed once is there after the first */
        stream_send(&n, &t, messages);
    stream_sum(&n, &t, -1);
    stream_send(&n, &t, messages);
    stream_sum(&n, &t, 1);
    net_free(&n);
    t.moved /= (double)messages * size;
    t.allocs /= messages;
    t.calls /= messages;
    return t;
}

static double moved_lone(uint32_t size)
{
    return stream_of(size, 4u << 20, 1).moved;
}

static double moved_narrow(uint32_t size)
{
    return stream_of(size, 65536, 0).moved;
}

static double allocs_lone(uint32_t size)
{
    return stream_of(size, 4u << 20, 1).allocs;
}

static double allocs_stream(uint32_t size)
{
    return stream_of(size, 4u << 20, 0).allocs;
}

/* Calls for 1 MiB through a window of so many KiB. */
static double calls_window(uint32_t kib)
{
    return stream_of(1u << 20, (size_t)kib << 10, 0).calls;
}

/* ---- Rows --------------------------------------------------------------------------------------- */

struct row {
    const char *name;
    double (*measure)(uint32_t n);
    uint32_t full[4], small[4];
    int beside; /* the figures are those beside that of the first size */
    double limit; /* 0: none, the figure is only shown */
};

static const struct row rows[] = {
    { "a name assumed, of a failed holder's ranges", after_failure,
      { 0, 1000, 10000, 100000 }, { 0, 100, 1000, 10000 }, 1, 2 },
    { "a name assumed, messages held", while_held,
      { 0, 1000, 10000, 100000 }, { 0, 100, 1000, 10000 }, 1, 2 },
    { "a site dies, messages held and ranges known", site_dies,
      { 10, 100, 1000, 10000 }, { 10, 100, 1000, 3000 }, 1, 3 },
    { "a client leaves a hub, of former clients", former,
      { 10, 100, 1000, 5000 }, { 10, 30, 100, 300 }, 1, 1.5 },
    { "half of a hub's clients die, bytes beside 36 for each of both halves", half_dies,
      { 100, 200, 300, 1000 }, { 30, 40, 50, 60 }, 0, 1.2 },
    { "frames of each of a mesh for one join", join_frames,
      { 50, 75, 100, 200 }, { 10, 20, 30, 40 }, 0, 4 },
    { "work of each of a mesh for one join", join_work,
      { 50, 75, 100, 200 }, { 10, 20, 30, 40 }, 1, 1.5 },
    { "frames of each of a mesh for one goodbye", goodbye_frames,
      { 50, 75, 100, 200 }, { 10, 20, 30, 40 }, 0, 1 },
    { "work of each of a mesh for one goodbye", goodbye_work,
      { 50, 75, 100, 200 }, { 10, 20, 30, 40 }, 1, 1.5 },
    { "frames of each of a mesh for one death", death_frames,
      { 50, 75, 100, 200 }, { 10, 20, 30, 40 }, 0, 8 },
    { "work of each of a mesh for one death", death_work,
      { 50, 75, 100, 200 }, { 10, 20, 30, 40 }, 1, 1.5 },
    { "entries told in a mesh for each of two dead and each survivor", two_deaths,
      { 50, 100, 200, 400 }, { 10, 20, 30, 40 }, 0, 2 },
    { "bytes of a message in turn to names of one node", turn_bytes,
      { 1, 2, 1000, 100000 }, { 1, 2, 100, 10000 }, 0, 20 },
    { "work of a message in turn to names of one node", turn_work,
      { 1, 2, 1000, 100000 }, { 1, 2, 100, 10000 }, 1, 2 },
    { "allocations of a message in turn to names of one node", turn_allocs,
      { 1, 2, 1000, 100000 }, { 1, 2, 100, 10000 }, 0, 0.01 },
    { "bytes on a link for the last of adjacent names", one_by_one,
      { 10, 100, 10000, 90000 }, { 10, 100, 1000, 10000 }, 0, 200 },
    { "names assumed, the worst order beside the best", assume_order,
      { 100, 1000, 10000, 100000 }, { 10, 100, 1000, 5000 }, 0, 3 },
    { "names released, the worst order beside the best", release_order,
      { 100, 1000, 10000, 100000 }, { 10, 100, 1000, 5000 }, 0, 3 },
    { "the first look-up after a joiner, of ranges known", joiner,
      { 1000, 10000, 50000, 100000 }, { 100, 1000, 5000, 10000 }, 1, 2 },
    { "work of a hub for each member of a cast", cast_relayed,
      { 10, 100, 250, 1000 }, { 10, 20, 40, 200 }, 1, 1.5 },
    { "memory after so many tokens, beside before", after_tokens,
      { 1000, 10000, 100000, 1000000 }, { 1000, 3000, 10000, 30000 }, 0, 1.2 },
    { "memory after so many names held, beside before", after_held,
      { 1000, 3000, 10000, 100000 }, { 1000, 3000, 10000, 20000 }, 0, 1.2 },
    { "a cast to four members, of ranges known", cast_wide,
      { 40, 4000, 40000, 200000 }, { 40, 400, 4000, 20000 }, 1, 2 },
    { "calls of on_writable for a name that waits", waiters,
      { 2000, 3000, 10000, 30000 }, { 2000, 3000, 5000, 8000 }, 0, 2 },
    { "bytes moved beside those of a lone message, by size", moved_lone,
      { 65537, 131072, 1100000, 16777216 }, { 65537, 131072, 262144, 1100000 }, 0, 1.1 },
    { "the same in a stream through 64 KiB of window", moved_narrow,
      { 65537, 131072, 1100000, 16777216 }, { 65537, 131072, 262144, 1100000 }, 0, 1.1 },
    { "allocations of a lone message, by size", allocs_lone,
      { 5000, 60000, 100000, 1100000 }, { 5000, 60000, 100000, 262144 }, 0, 0.01 },
    { "allocations of a message in a stream, by size", allocs_stream,
      { 5000, 16384, 100000, 1048576 }, { 5000, 16384, 100000, 262144 }, 0, 0.1 },
    { "calls of both ends for 1 MiB, by KiB of window", calls_window,
      { 64, 256, 1024, 4096 }, { 64, 256, 1024, 4096 }, 0, 80 },
    { "phx_hand of many, each", hand_over,
      { 10, 30, 100, 1000 }, { 10, 30, 100, 1000 }, 1, 2 },
};

static int row_bar(const struct row *r)
{
    const uint32_t *n = small ? r->small : r->full;
    double y[4], figure, worst = 0;

    for (int i = 0; i < 4; i++) {
        y[i] = r->measure(n[i]);
        printf("# %s %lu: %.4g\n", r->name, (unsigned long)n[i], y[i]);
        fflush(stdout);
        figure = r->beside ? y[i] / y[0] : y[i];
        worst = figure > worst ? figure : worst;
    }
    if (y[1] > 0 && y[3] > 0)
        printf("# %s grows as n^%.2f\n", r->name, log(y[3] / y[1]) / log((double)n[3] / n[1]));
    if (r->limit > 0)
        printf("bar\tcliffs: %s\t%.4g\t%g\t%s\n", r->name, worst, r->limit,
               worst <= r->limit ? "ok" : "short");
    else
        printf("figure\tcliffs: %s\t%.4g\n", r->name, worst);
    fflush(stdout);
    return r->limit > 0 && worst > r->limit;
}

int main(int argc, char **argv)
{
    const char *word = "";
    int bad = 0;

    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "small") == 0)
            small = 1;
        else
            word = argv[i];
    }
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strstr(rows[i].name, word) != NULL)
            bad |= row_bar(&rows[i]);
    return bad ? 3 : 0; /* a compiler or a network that fails says 1 */
}
