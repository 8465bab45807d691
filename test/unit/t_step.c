/* t_step.c - what one step may do: connections taken, links looked at, bytes read and written, deadlines.
 *
 * Goal: phx_step does bounded work and returns 1 if there is more, promise 119, and in the end all is done.
 * What is new is told although messages never stop coming, promise 28.
 * Method: two nodes in a world of this file, whose pipes take any amount at once, so that nothing but the
 * node itself sets a bound; strangers whose connections wait, and whose bytes do. Each bound is met
 * exactly. */
#include "test.h"
#ifdef PHX_JOINED
#include "../../phoenix.c"
#else
#include "node/base.h"
#endif

#define SECOND ((uint64_t)1000000)
#define KIB 1024u
#define ENDS 1200
#define MESSAGE (3u << 20)

struct end {
    int side;     /* whose it is; 2: a stranger's, which only writes; -1: free */
    int peer;     /* the other end; -1: closed, or a listener's */
    int events, listener, waiting;
    unsigned char *data;
    size_t size, taken, room;
};

struct side {
    phx *p;
    struct phx_os os;
    uint64_t random;
    long accepts, reads, waits, asked_most; /* reads: ends that bytes were taken from */
    size_t sent, received, asked;           /* asked: the most bytes of one read */
    long messages, all;                     /* messages: of MESSAGE bytes */
    int emfile;                             /* so many calls have no descriptor */
};

static struct end ends[ENDS];
static struct side sides[2];
static uint64_t now, reading; /* reading: how long each read takes */

/* ---- The world ----------------------------------------------------------------------------------------- */

static int end_new(int side, int peer)
{
    int i = 0;

    while (i < ENDS && ends[i].side >= 0)
        i++;
    if (i == ENDS)
        return PHX_EMFILE;
    memset(&ends[i], 0, sizeof ends[i]);
    ends[i].side = side;
    ends[i].peer = peer;
    return i;
}

static int world_listen(void *w, struct phx_address *at, int *handle)
{
    *handle = end_new((int)((struct side *)w - sides), -1);
    ends[*handle].listener = 1;
    at->port = 7000;
    return 0;
}

/* A connection from that side, in the backlog of side 0. */
static int connect_from(int side)
{
    int own = end_new(side, -1), other = end_new(0, own);

    if (own < 0 || other < 0)
        return PHX_EMFILE;
    ends[own].peer = other;
    ends[other].waiting = 1;
    return own;
}

static int next_waiting(void)
{
    int i = 0;

    while (i < ENDS && !(ends[i].side == 0 && ends[i].waiting))
        i++;
    return i;
}

static int world_accept(void *w, int listener, int *handle, struct phx_address *from)
{
    int i = next_waiting();

    (void)listener, (void)from;
    if (((struct side *)w)->emfile > 0) {
        ((struct side *)w)->emfile--;
        return PHX_EMFILE;
    }
    if (i == ENDS)
        return PHX_EAGAIN;
    ((struct side *)w)->accepts++;
    ends[i].waiting = 0;
    *handle = i;
    return 0;
}

static int world_dial(void *w, const struct phx_address *to, int *handle)
{
    (void)to;
    if (((struct side *)w)->emfile > 0) {
        ((struct side *)w)->emfile--;
        return PHX_EMFILE;
    }
    *handle = connect_from((int)((struct side *)w - sides));
    return *handle < 0 ? *handle : 0;
}

static int world_finish(void *w, int handle)
{
    (void)w, (void)handle;
    return 0;
}

static int world_local(void *w, int handle, struct phx_address *out)
{
    (void)w, (void)handle, (void)out;
    return PHX_ENOTSUP;
}

static void end_put(struct end *e, const void *data, size_t size)
{
    if (e->size + size > e->room) {
        e->room = 2 * (e->size + size);
        e->data = realloc(e->data, e->room);
        if (e->data == NULL)
            exit(1);
    }
    memcpy(e->data + e->size, data, size);
    e->size += size;
}

static long world_send(void *w, int handle, const struct iovec *iov, int count)
{
    int i, to = ends[handle].peer;
    long sent = 0;

    if (to < 0)
        return PHX_ERESET;
    for (i = 0; i < count; i++) {
        end_put(&ends[to], iov[i].iov_base, iov[i].iov_len);
        sent += (long)iov[i].iov_len;
    }
    ((struct side *)w)->sent += (size_t)sent;
    return sent;
}

static long world_recv(void *w, int handle, void *data, size_t size)
{
    struct end *e = &ends[handle];
    size_t n = e->size - e->taken < size ? e->size - e->taken : size;

    ((struct side *)w)->asked = PHX__MAX(((struct side *)w)->asked, size);
    if (n == 0)
        return e->peer < 0 ? 0 : PHX_EAGAIN;
    memcpy(data, e->data + e->taken, n);
    e->taken += n;
    now += reading;
    ((struct side *)w)->received += n;
    ((struct side *)w)->reads++;
    return (long)n;
}

static void world_close(void *w, int handle)
{
    struct end *e = &ends[handle];

    (void)w;
    if (e->peer >= 0)
        ends[e->peer].peer = -1;
    free(e->data);
    e->data = NULL;
    e->side = -1;
}

static int world_watch(void *w, int handle, int events)
{
    (void)w;
    ends[handle].events = events;
    return 0;
}

static int world_wait(void *w, struct phx_ready *out, int capacity)
{
    struct side *s = w;
    int i, n = 0;

    s->asked_most = capacity > s->asked_most ? capacity : s->asked_most;
    s->waits++;
    for (i = 0; i < ENDS && n < capacity; i++) {
        const struct end *e = &ends[i];
        int events = e->listener ? (next_waiting() < ENDS ? PHX_READ : 0)
                                 : (e->taken < e->size || e->peer < 0 ? PHX_READ : 0) | PHX_WRITE;
        if (e->side == s - sides && !e->waiting && (events & e->events) != 0)
            out[n++] = (struct phx_ready){ i, events & e->events };
    }
    return n;
}

static int world_random(void *w, void *out, size_t size)
{
    struct side *s = w;
    size_t i;

    for (i = 0; i < size; i++) {
        s->random = s->random * UINT64_C(6364136223846793005) + 1442695040888963407u;
        ((unsigned char *)out)[i] = (unsigned char)(s->random >> 56);
    }
    return 0;
}

static int world_resolve(void *w, const char *name, struct phx_address *out, int capacity)
{
    (void)w, (void)name, (void)out, (void)capacity;
    return PHX_ERESOLVE;
}

static int world_fd(void *w)
{
    (void)w;
    return PHX_ENOTSUP;
}

static int world_wake(void *w)
{
    (void)w;
    return 0;
}

/* Callbacks take no time here, so only counts bound a step. */
static uint64_t world_now(void *w)
{
    (void)w;
    return now;
}

static const struct phx_os world = {
    PHX_OS_VERSION, NULL, world_listen, world_accept, world_dial, world_finish, world_local, world_send,
    world_recv, world_close, world_watch, world_wait, world_random, world_resolve, world_fd, world_wake, NULL,
    NULL, world_now
};

/* ---- Two nodes ----------------------------------------------------------------------------------------- */

static void saw_message(phx *p, const struct phx_message *m, void *user)
{
    (void)p;
    ((struct side *)user)->messages += m->size == MESSAGE;
    ((struct side *)user)->all++;
}

static uint32_t step_bytes; /* of the next nodes; 0: as they are */

static void begin_side(int i)
{
    struct side *s = &sides[i];
    struct phx_config c;

    memset(s, 0, sizeof *s);
    s->random = 77 + (uint64_t)i;
    s->os = world;
    s->os.world = s;
    phx_config_init(&c);
    c.os = &s->os;
    c.user = s;
    c.on_message = saw_message;
    c.same_host = 0;
    c.step_bytes = step_bytes > 0 ? step_bytes : c.step_bytes;
    check(phx_new(&s->p, &c, now) == 0, "a node begins");
}

static void begin_hub(void)
{
    int i;

    for (i = 0; i < ENDS; i++)
        ends[i].side = -1;
    now = SECOND;
    begin_side(0);
    i = phx_listen(sides[0].p, "tcp://127.0.0.1:7000");
    check(i == 0, "it listens: %s", phx_strerror(i));
}

static void end_all(void)
{
    int i;

    for (i = 0; i < 2; i++) {
        phx_free(sides[i].p);
        sides[i].p = NULL;
    }
    for (i = 0; i < ENDS; i++) {
        free(ends[i].data);
        ends[i].data = NULL;
    }
}

static int step(int i)
{
    sides[i].accepts = sides[i].reads = 0;
    sides[i].sent = sides[i].received = sides[i].asked = 0;
    return phx_step(sides[i].p, now, NULL, 0);
}

/* Both step until neither has more to do, a millisecond later each time. */
static void rest(void)
{
    int more = 1, i;

    for (i = 0; i < 1000 && more; i++) {
        now += 1000;
        more = step(0);
        more |= sides[1].p != NULL && step(1);
    }
}

static void join_hub(void)
{
    struct phx_id id;
    int i;

    begin_side(1);
    check(phx_assume(sides[0].p, 1, 1) == 0 && phx_join(sides[1].p, "tcp://127.0.0.1:7000") == 0, "it joins");
    for (i = 0; i < 1000 && phx_owner(sides[1].p, 1, &id) != 0; i++)
        rest();
    check(phx_owner(sides[1].p, 1, &id) == 0, "and knows the hub's name");
}

/* ---- The bounds ---------------------------------------------------------------------------------------- */

static void test_accepts(void)
{
    int i, more[4];
    long took[4];

    begin_hub();
    for (i = 0; i < 200; i++)
        check(connect_from(2) >= 0, "a stranger");
    for (i = 0; i < 4; i++) {
        more[i] = step(0);
        took[i] = sides[0].accepts;
    }
    ok(took[0] == 64 && took[1] == 64 && took[2] == 64, "64 connections are accepted in a step");
    ok(took[3] == 8, "and what is left in the last: %ld", took[3]);
    ok(more[0] == 1 && more[1] == 1 && more[2] == 1, "which the steps before it had said");
    end_all();
}

static void test_ready(void)
{
    int i, all = 0, own[200];
    long first, second;

    begin_hub();
    for (i = 0; i < 200; i++)
        own[i] = connect_from(2);
    rest();
    for (i = 0; i < 200; i++)
        end_put(&ends[ends[own[i]].peer], "\0", 1);
    now += 1000;
    i = step(0);
    first = sides[0].reads;
    ok(i == 1 && first > 100 && first <= 128, "of 200 links with a byte %ld are read in a step: 1",
       first);
    ok(sides[0].asked_most == 128, "the world is asked for 128 at once");
    step(0);
    second = sides[0].reads;
    rest();
    for (i = 0; i < 200; i++)
        all += ends[own[i]].peer < 0 || ends[ends[own[i]].peer].taken == 1;
    ok(second > 0 && all == 200, "the others come next");
    end_all();
}

static void test_starved(void)
{
    /* Goal: a node that seldom gets its processor reads for a tenth of the interval that it announces, and
     * goes on in the next step where it stopped. Method: 60 links that always have a byte; a read takes 20 ms
     * of 5 s / 10, and after 16 the clock is asked. */
    int i, k, more = 1, all = 0, own[60];

    begin_hub();
    for (i = 0; i < 60; i++)
        own[i] = connect_from(2);
    rest();
    reading = 20 * PHX__MS;
    for (k = 0; k < 2; k++) {
        for (i = 0; i < 60; i++)
            end_put(&ends[ends[own[i]].peer], "\0", 1);
        more &= step(0) == 1 && sides[0].reads == 32;
    }
    reading = 0;
    ok(more, "60 slow links: 32 are read in a step");
    for (i = 0; i < 60; i++)
        all += ends[ends[own[i]].peer].taken > 0;
    ok(all == 60, "and in two each of them: %d", all);
    end_all();
}

static void test_bytes(void)
{
    static unsigned char data[MESSAGE];
    size_t written, read;
    int more_out, more_in;

    begin_hub();
    join_hub();
    rest();
    check(phx_send(sides[1].p, 1, 0, 0, data, sizeof data) == 0, "a message of 3 MiB");
    more_out = step(1);
    written = sides[1].sent;
    ok(more_out == 1 && written >= 1024 * KIB && written < 2048 * KIB,
       "a link writes 1 MiB in a step, and ends what it is at: %zu, and there is more", written);
    more_in = step(0);
    read = sides[0].received;
    ok(more_in == 1 && read > 128 * KIB && read <= 256 * KIB, "it reads 256 KiB at most: %zu, and says so",
       read);
    rest();
    ok(sides[0].messages == 1, "all of it comes");
    end_all();
}

/* That many deadlines that ask for nothing but a step, all due now. */
static void set_deadlines(phx *p, int count)
{
    uint32_t handle;
    int i;

    for (i = 0; i < count; i++) {
        check(phx__timer_new(&p->timers, PHX__TIMER_CLOSE, 0, &handle) == 0, "a deadline");
        phx__timer_set(&p->timers, handle, now);
    }
}

static void test_deadlines(void)
{
    phx *p;
    uint32_t others;

    begin_hub();
    rest();
    p = sides[0].p;
    others = p->timers.heap_count;
    check(phx__timer_next(&p->timers) > now, "nothing is due");
    set_deadlines(p, 10000);
    step(0);
    ok(p->timers.heap_count == others, "10,000 deadlines are over in a step");
    rest();
    others = p->timers.heap_count;
    check(phx__timer_next(&p->timers) > now, "nothing is due again");
    set_deadlines(p, 10001);
    ok(step(0) == 1 && p->timers.heap_count == others + 1, "of 10,001 one is left, and the step says so");
    ok(step(0) == 0 && p->timers.heap_count == others, "and it is over in the next");
    end_all();
}

/* The inbox is never empty: 3 MiB are read in twelve steps. */
static void test_news(void)
{
    static unsigned char data[MESSAGE];
    const uint64_t *told_at;
    uint64_t told;
    int more;

    begin_hub();
    join_hub();
    rest();
    told_at = &sides[0].p->route.pace.told_at;
    now += SECOND;
    check(phx_assume(sides[0].p, 2, 2) == 0, "a name is new");
    step(0);
    told = *told_at;
    check(told == now, "that is told at once, since nothing waits to be read");
    check(phx_send(sides[1].p, 1, 0, 0, data, sizeof data) == 0 && step(1) == 1, "3 MiB are on their way");
    check(phx_assume(sides[0].p, 3, 3) == 0, "another name is");
    now = told + 20000;
    more = step(0);
    ok(more == 1 && *told_at == told, "for 20 ms, messages are read first");
    now++;
    more = step(0);
    ok(more == 1 && *told_at == now, "then the news is told in between");
    rest();
    end_all();
}

/* The head of a frame of `size` bytes: is it waited for what a stranger says? */
static int is_waited_for(uint32_t size)
{
    static uint8_t bytes[4096];
    struct phx__writer w;
    size_t start;
    int own = connect_from(2), waits;

    phx__buf_writer_init(&w, bytes, sizeof bytes);
    start = phx__wire_begin(&w, PHX__HELLO, 0, 0);
    w.size = size;
    phx__wire_end(&w, start);
    check(!w.bad && w.size == size, "a frame");
    rest();
    end_put(&ends[ends[own].peer], bytes, PHX__WIRE_HEADER);
    rest();
    waits = ends[own].peer >= 0;
    return waits;
}

static void test_strangers(void)
{
    static unsigned char noise[10000];
    int own, at;

    begin_hub();
    ok(is_waited_for(2048), "a stranger may say 2,048 bytes at once");
    ok(!is_waited_for(2049), "and not one more");
    own = connect_from(2);
    rest();
    at = ends[own].peer;
    end_put(&ends[at], noise, sizeof noise);
    step(0);
    ok(sides[0].asked == 2048, "so many are read at once: %zu", sides[0].asked);
    end_all();
}

/* The other side says something, and the hub steps: how many times did it ask what is ready? */
static long asks_for_message(void)
{
    check(phx_send(sides[1].p, 1, 0, 0, "m", 1) == 0, "sent");
    step(1);
    sides[0].waits = 0;
    step(0);
    return sides[0].waits;
}

/* Goal: which link will be ready next is guessed 16 times in a row, and then the world is asked again; not
 * before four guesses would have been right since the last wrong one. Method: there is a message in each
 * step, at one time. */
static void test_predictions(void)
{
    long waits[5], all;
    int i;

    begin_hub();
    join_hub();
    rest();
    for (i = 0; i < 20; i++, rest())
        check(phx_send(sides[1].p, 1, 0, 0, "m", 1) == 0, "sent");
    rest();
    all = sides[0].all;
    for (i = 0; i < 5 * 17; i++) {
        check(phx_send(sides[1].p, 1, 0, 0, "m", 1) == 0, "sent");
        step(1);
        if (i % 17 == 0)
            sides[0].waits = 0;
        step(0);
        waits[i / 17] = sides[0].waits;
    }
    ok(sides[0].all - all == 5 * 17, "each step has its message: %ld", sides[0].all - all);
    ok(waits[1] == 1 && waits[2] == 1 && waits[3] == 1 && waits[4] == 1, "of 17 steps one asks for it");
    for (i = 0; i < 20 && sides[0].p->links.predicted != 4; i++) {
        check(phx_send(sides[1].p, 1, 0, 0, "m", 1) == 0 && step(1) == 0, "sent");
        step(0); /* which asked in the end */
    }
    sides[0].waits = 0;
    for (i = 0; i < 2; i++) {
        now += i == 0 ? 5000 : 1;
        check(phx_send(sides[1].p, 1, 0, 0, "m", 1) == 0, "sent");
        step(1);
        step(0);
        waits[i] = sides[0].waits;
    }
    ok(waits[0] == 0 && waits[1] == 1, "5 ms after it was asked it is asked again");
    rest(); /* nothing is ready: not what was foreseen */
    for (i = 0; i < 20 && asks_for_message() == 1; i++)
        ;
    ok(i == 4, "after four times in which the foreseen link was ready it is read without asking: %d", i);
    end_all();
}

/* Goal: the clock is read after 1, 4, 16, 64, 256 and 1,024 callbacks, if they take no time, and then again
 * after as many. */
static void test_calls(void)
{
    static const uint32_t most[] = { 1, 4, 16, 64, 256, 1024, 1024 };
    uint32_t i, bad = 0;
    phx *p;

    begin_hub();
    rest();
    p = sides[0].p;
    p->step.timed = 0;
    p->step.granted = 0;
    for (i = 0; i < 7; i++)
        bad += phx__node_calls(p, PHX__SHARE_LOCAL) != most[i];
    ok(bad == 0, "1,024 at most");
    end_all();
}

static void test_step_bytes(void)
{
    static unsigned char data[MESSAGE];
    size_t most = 0;
    int i;

    step_bytes = 80 * KIB;
    begin_hub();
    join_hub();
    rest();
    check(phx_send(sides[1].p, 1, 0, 0, data, sizeof data) == 0, "a message of 3 MiB");
    for (i = 0; i < 1000 && sides[0].messages == 0; i++) {
        step(1);
        step(0);
        most = PHX__MAX(most, sides[0].received);
    }
    ok(sides[0].messages == 1 && most > 64 * KIB && most <= 80 * KIB, "with step_bytes of 80 KiB: %zu", most);
    end_all();
    step_bytes = 0;
}

/* Goal: what phx_stats says is what the rooms have counted, each in its place. */
static void test_stats(void)
{
    struct phx_stats s;
    phx *p;

    begin_hub();
    rest();
    p = sides[0].p;
    p->post.counters.relayed_frames = 101;
    p->post.counters.relayed_bytes = 102;
    p->post.counters.retransmitted = 103;
    p->post.counters.duplicates = 104;
    p->post.counters.dropped = 105;
    p->post.counters.messages_in = 106;
    p->post.counters.messages_out = 107;
    p->post.counters.frames_out = 108;
    p->route.counters.updates_out = 109;
    p->route.counters.entries_out = 110;
    p->route.counters.requests_out = 111;
    p->detect.saved = 112;
    p->detect.saved_insurance = 113;
    p->set.bytes_in = 114;
    p->set.bytes_out = 115;
    p->set.frames_in = 116;
    p->set.frames_out = 117;
    check(phx_stats(p, &s) == 0, "statistics");
    ok(s.relayed_frames == 101 && s.relayed_bytes == 102 && s.retransmitted_frames == 103
           && s.duplicate_frames == 104 && s.dropped_frames == 105 && s.messages_in == 106
           && s.messages_out == 107 && s.frames_out == 108 + 117, "of messages, promise 112");
    ok(s.updates_out == 109 && s.entries_out == 110 && s.requests_out == 111 && s.beats_saved == 112
           && s.insurance_saved == 113, "of routes and of heartbeats");
    ok(s.bytes_in == 114 && s.bytes_out == 115 && s.frames_in == 116, "of links");
    ok(s.mem_bytes == p->mem.used && s.mem_peak == p->mem.peak && s.looks == p->mem.looks && s.nodes == 1
           && s.reachable == 1 && s.links == 0 && s.digest == p->route.digest, "and what there is");
    end_all();
}

/* Goal: phx_fds says how many descriptors there are, whatever there is room for, and fills no more. */
static void test_fds(void)
{
    struct pollfd fds[12];
    int i, k, count, bad = 0;

    begin_hub();
    for (i = 0; i < 9; i++)
        check(connect_from(2) >= 0, "a stranger");
    rest();
    count = phx_fds(sides[0].p, NULL, 0);
    ok(count == 10, "a listener and nine links are %d", count);
    for (i = 0; i <= 12; i++) {
        for (k = 0; k < 12; k++)
            fds[k].fd = -7;
        bad += phx_fds(sides[0].p, fds, i) != count;
        for (k = 0; k < 12; k++)
            bad += (fds[k].fd == -7) != (k >= i || k >= count);
    }
    ok(bad == 0, "with room for any number of them, promise 118");
    ok(phx_fds(sides[0].p, fds, -1) == count, "or for less than none");
    end_all();
}

static uint32_t strangers(void)
{
    return sides[0].p->links.unauthenticated;
}

static void test_descriptors(void)
{
    /* Goal: where descriptors run out a listener rests for 500 ms, and then takes as many strangers as there
     * were links, 16 at least, and others in place of those that have had their 250 ms; a dial without one is
     * a shortage, too (promise 36). */
    uint64_t began;
    int i, left = 0;

    begin_hub();
    rest();
    began = now;
    sides[0].emfile = 1;
    for (i = 0; i < 40; i++)
        check(connect_from(2) >= 0, "a stranger");
    step(0);
    ok(strangers() == 0 && sides[0].emfile == 0, "no descriptor for the first");
    now = began + 499999;
    for (i = 0; i < 5; i++)
        step(0);
    ok(strangers() == 0 && next_waiting() < ENDS, "none is asked for");
    now++;
    for (i = 0; i < 5; i++)
        step(0);
    ok(strangers() == 16, "then 16 come: %u", strangers());
    now += 249999;
    step(0);
    check(strangers() == 16, "no more");
    now++;
    for (i = 0; i < 5; i++)
        step(0);
    for (i = 0; i < ENDS; i++)
        left += ends[i].side == 0 && ends[i].waiting;
    ok(strangers() == 16 && left == 8, "then the next 16 in their place: %d wait", left);
    end_all();
    begin_hub();
    join_hub();
    ok(phx_join(sides[1].p, "tcp://127.0.0.1:7001") == 0, "another hub");
    sides[1].emfile = 1;
    for (i = 0; i < 100 && sides[1].emfile > 0; i++)
        rest();
    ok(sides[1].emfile == 0 && sides[1].p->links.door.room == 16, "a dial without one is a shortage");
    end_all();
}

/* Goal: memory of finished messages is kept for the next for 2 s, 34 MiB of it. */
static void test_spare(void)
{
    struct phx__mem *m;
    void *p;

    begin_hub();
    rest();
    m = &sides[0].p->mem;
    ok(m->spare_most == (size_t)34 << 20, "34 MiB");
    p = phx__mem_get_large(m, 1 << 20);
    phx__mem_put_large(m, p, 1 << 20);
    step(0);
    now += 2 * SECOND - 1;
    step(0);
    ok(m->spare_bytes == 1 << 20, "it is kept");
    now++;
    step(0);
    ok(m->spare_bytes == 0, "but for 2 s");
    end_all();
}

/* Goal: the clock of a host that steps back stands still for its node, whose rooms need not look. */
static void test_clock(void)
{
    uint64_t was;

    begin_hub();
    rest();
    was = now;
    now -= SECOND;
    step(0);
    ok(sides[0].p->now == was && sides[0].p->detect.last_step == was, "a second back is no time");
    now = was + 1;
    step(0);
    ok(sides[0].p->now == was + 1, "until it has caught up");
    end_all();
}

int main(void)
{
    test_accepts();
    test_ready();
    test_starved();
    test_bytes();
    test_deadlines();
    test_news();
    test_strangers();
    test_predictions();
    test_calls();
    test_step_bytes();
    test_stats();
    test_fds();
    test_descriptors();
    test_spare();
    test_clock();
    return test_end();
}
