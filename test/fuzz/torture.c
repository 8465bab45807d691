/* torture.c - three nodes, one of which lacks each allocation and call in turn, or dies behind each frame. */
/* Goal: whatever the world refuses, once or from then on for a while, no node crashes, leaks memory or
 * handles, shows a message twice or out of order, or tells two outcomes; and when the world is well again all
 * three are at work again. Method: a play in the simulated world, with joins, names, small and large messages
 * both ways, a hand-over, a name that moves, a cast and a link that breaks. One run counts what the victim
 * asks for; then each call fails in turn with each error that it may give. And behind each of its frames, of
 * handshakes, messages, a hand-over, a name that moves and what follows from them, it is killed and starts
 * anew, the link is cut for a while, or it pauses (promise 131).
 *
 *      torture [STRIDE [VICTIM]]     every STRIDE-th call only */
#include "net.h"
#include "../sim/refuse.h"

static struct net net;
static struct phx_os refusing; /* the victim's */
static struct phx_alloc well_memory[NODES];
static uint32_t victim;

enum incident { NOTHING, KILL, CUT, PAUSE, INCIDENTS };
static const char *const incident_name[] = { "nothing", "killed", "cut off", "pauses" };
static enum incident incident; /* what happens behind the victim's frame frame_at */
static long frames, frame_at;  /* frames: that it has sent */
static int is_due;
static uint32_t cut_from;      /* who got that frame */
static uint8_t frame_types[256];

/* ---- Frames of the victim ------------------------------------------------------------------------- */

#define HANDLES 256
static struct sending { /* of a handle: where its bytes stand */
    uint8_t head[5];
    size_t have, left; /* of the frame at hand: bytes of head, and those to come */
} sending[HANDLES];

/* How many of these bytes go up to the end of the frame frame_at, all if it does not end in them. taken: they
 * have been sent, and count. */
static size_t frames_in(struct sending *to, const uint8_t *p, size_t size, int taken)
{
    struct sending s = *to;
    long n = frames;

    for (size_t i = 0; i < size; i++) {
        if (s.have < sizeof s.head) {
            s.head[s.have++] = p[i];
            if (s.have == sizeof s.head)
                s.left = (size_t)s.head[0] + s.head[1] * 256u + s.head[2] * 65536u - 1;
        } else {
            s.left--;
        }
        if (s.have < sizeof s.head || s.left > 0)
            continue;
        s.have = 0;
        if (taken)
            frame_types[s.head[4]] = 1;
        if (++n == frame_at && !taken)
            return i + 1;
    }
    if (taken) {
        *to = s;
        is_due |= frames < frame_at && n >= frame_at;
        frames = n;
    }
    return size;
}

static uint32_t host_behind(struct world_host *h, int handle)
{
    return world_end_at(h->w, world_slot_at(h, handle, WORLD_SLOT_END)->ref ^ 1u)->host;
}

/* No more is sent at once than up to the frame behind which something is to happen. */
static long t_send(void *world, int handle, const struct iovec *iov, int n)
{
    static uint8_t bytes[1 << 20];
    struct iovec one = { bytes, 0 };
    size_t size = 0;
    long sent;

    fuzz_must(handle < HANDLES, "handle %d", handle);
    if (is_due)
        return PHX_EAGAIN; /* until it has happened */
    for (int i = 0; i < n && size + iov[i].iov_len <= sizeof bytes; size += iov[i++].iov_len)
        memcpy(bytes + size, iov[i].iov_base, iov[i].iov_len);
    one.iov_len = frames_in(&sending[handle], bytes, size, 0);
    if ((sent = refusing.send(world, handle, &one, 1)) > 0 && refuse.ill) {
        frames_in(&sending[handle], bytes, (size_t)sent, 1);
        if (is_due && cut_from == NODES)
            cut_from = host_behind(world, handle);
    }
    return sent;
}

static void t_close(void *world, int handle)
{
    if (handle >= 0 && handle < HANDLES)
        memset(&sending[handle], 0, sizeof sending[handle]);
    refusing.close(world, handle);
}

static struct phx_os give_os(struct net_node *n)
{
    struct phx_os os = refuse_os(&net.w->hosts[n->host]);

    if (n->host != victim)
        return os;
    memset(sending, 0, sizeof sending);
    refusing = os;
    os.send = t_send;
    os.close = t_close;
    return os;
}

static void *t_alloc(void *world, void *old, size_t old_size, size_t new_size)
{
    uint32_t host = ((struct world_host *)world)->index;

    if (new_size > old_size && refuse_this(host, REFUSE_MEMORY) != 0)
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
        refuse.ill = 0; /* it cannot begin as long as this lasts: then it lasts no longer */
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
    is_due = 0;
    if (incident == KILL) {
        net_crash(&net, victim);
        net_run(&net, 50 * MS);
        start(victim);
        assume(victim, 1 + victim);
    } else if (incident == CUT) {
        world_pair(net.w, victim, cut_from, WORLD_PAIR_CUT, 1);
        world_pair(net.w, cut_from, victim, WORLD_PAIR_CUT, 1);
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
    assume(0, 3); /* node 2's name moves while messages to it are under way */
    for (uint32_t i = 0; i < NODES; i++)
        net_send(&net, i, 3, 100, 1);
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

    refuse.ill = 0;
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
    refuse_begin(victim);
    is_due = 0;
    frames = 0;
    cut_from = NODES;
    net_begin(&net, 7);
    net.os = give_os;
    net.alloc = give_alloc;
    play();
    must_work_again();
    net_end(&net);
}

static long runs[REFUSE_CALLS], incidents;

static void torture_calls(long stride, long from)
{
    static uint8_t kind[REFUSE_MOST];
    long most = refuse.count < REFUSE_MOST ? refuse.count : REFUSE_MOST;

    memcpy(kind, refuse.kinds, sizeof kind);
    for (long n = from; n <= most; n += stride)
        for (int c = kind[n - 1], e = 0; refuse_errors[c][e] != 0; e++)
            for (refuse.lasting = 0; refuse.lasting < 2; refuse.lasting++, runs[c]++) {
                refuse.at = n;
                refuse.with = refuse_errors[c][e];
                fprintf(stderr, "\r# node %u: call %ld of %ld, %s: %s %s        ", victim, n, most,
                        refuse_name[c], refuse.with == 1 ? "closed" : phx_strerror(refuse.with),
                        refuse.lasting ? "from then on" : "once");
                fuzz_one(NULL, 0);
            }
    refuse.at = 0;
    printf("ok %u - node %u: each of %ld calls fails (every %ld was tried)\n", 2 * victim + 1, victim, most,
           stride);
}

static void torture_frames(long most, long stride, long from)
{
    for (frame_at = from; frame_at <= most; frame_at += stride)
        for (int i = KILL; i < INCIDENTS; i++, incidents++) {
            incident = (enum incident)i;
            fprintf(stderr, "\r# node %u: behind frame %ld of %ld: %s       ", victim, frame_at, most,
                    incident_name[i]);
            fuzz_one(NULL, 0);
        }
    incident = NOTHING;
    frame_at = 0;
    printf("ok %u - node %u: killed, cut off and pausing behind each of %ld frames\n", 2 * victim + 2, victim,
           most);
}

static void torture(uint32_t who, long stride)
{
    long most, from = 1 + (long)who % stride;

    victim = who;
    refuse.at = 0;
    fuzz_one(NULL, 0);
    most = frames;
    torture_calls(stride, from);
    torture_frames(most, stride, from);
    fputc('\n', stderr);
}

int main(int argc, char **argv)
{
    long stride = argc > 1 ? atol(argv[1]) : 1, all = 0;
    uint32_t only = argc > 2 ? (uint32_t)atol(argv[2]) : NODES;
    int types = 0;

    for (uint32_t who = 0; who < NODES; who++)
        if (only == NODES || only == who)
            torture(who, stride);
    for (int c = 0; c < REFUSE_CALLS; c++) {
        printf("# %ld runs in which %s failed\n", runs[c], refuse_name[c]);
        all += runs[c];
    }
    for (int t = 0; t < 256; t++)
        types += frame_types[t];
    printf("# %ld runs in which a node was killed, cut off or paused behind a frame, of %d types\n",
           incidents, types);
    all += incidents;
    printf("# %ld torture points, 0 failed\n", all);
    printf("1..%d\n", 2 * (int)(only == NODES ? NODES : only + 1));
    return 0;
}
