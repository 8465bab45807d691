/* t_interface.c - what phoenix.h says of versions, labels, reasons and outcomes, on whole nodes. */
#include "test.h"
#ifdef PHX_JOINED
#include "../../phoenix.c"
#else
#include "../../phoenix.h"
#endif
#include "nodes.h"

static struct node n[4];

static int said_new(const struct phx_config *c)
{
    phx *p = NULL;
    int err = phx_new(&p, c, 0);

    phx_free(p);
    return err;
}

static void test_versions(void)
{
    /* Goal: a host or binding of another version is refused, and nothing is written past the end of its
     * structs. Method: calls with other sizes and versions, and bytes behind. */
    struct {
        struct phx_config c;
        unsigned char behind[64];
    } own;
    unsigned char small[64];
    struct phx_stats s;
    struct phx_node node;
    size_t i, bad = 0;

    memset(small, 0xaa, sizeof small);
    phx_config_init_as((struct phx_config *)(void *)small, 32, PHX_VERSION_NUMBER);
    for (i = 32; i < sizeof small; i++)
        bad += small[i] != 0xaa;
    ok(bad == 0 && said_new((struct phx_config *)(void *)small) == PHX_EVERSION, "a smaller struct");
    memset(&own, 0xaa, sizeof own);
    phx_config_init_as(&own.c, sizeof own, PHX_VERSION_NUMBER);
    ok(said_new(&own.c) == PHX_EVERSION, "a larger one");
    phx_config_init_as(&own.c, sizeof own.c, PHX_VERSION_NUMBER + 100);
    ok(said_new(&own.c) == PHX_EVERSION && own.c.cluster == NULL, "a later version");
    memset(&own.c, 0, sizeof own.c);
    ok(said_new(&own.c) == PHX_EVERSION, "one that was never asked for");
    phx_config_init(&own.c);
    ok(said_new(&own.c) == 0 && PHX_VERSION_NUMBER == 200 && strcmp(phx_version(), PHX_VERSION) == 0,
       "the same");
    begin(&n[0], NULL);
    memset(&s, 0xaa, sizeof s);
    ok(phx_stats_as(n[0].p, &s, sizeof s - 8, PHX_VERSION_NUMBER) == PHX_EVERSION
           && phx_stats_as(n[0].p, &s, sizeof s, 100) == PHX_EVERSION && s.steps == 0 && s.digest >> 32 == 0,
       "statistics of another version");
    ok(phx_nodes_as(n[0].p, &node, 1, sizeof node + 8, PHX_VERSION_NUMBER) == 0
           && phx_nodes_as(n[0].p, &node, 1, sizeof node, 100) == 0 && phx_nodes(n[0].p, &node, 1) == 1,
       "nodes of another version");
    finish(&n[0]);
}

/* Its host does not step. */
static void halt(const struct node *one)
{
    int i = 0;

    while (hosts[i] != one)
        i++;
    hosts[i] = hosts[--host_count];
}

static void begin_labelled(struct node *one, const char *label, const struct node *hub)
{
    struct phx_config c;
    char copy[PHX_LABEL];

    settings(one, &c);
    hurry(&c);
    strcpy(copy, label);
    c.label = copy;
    begin_as(one, &c, LOOPBACK);
    memset(copy, 'x', sizeof copy - 1);
    if (hub != NULL)
        phx_join(one->p, hub->at);
}

/* Goal: the defaults are those that phoenix.h names, promises 8, 12, 21, 43, 45, 47 and 49. */
static void test_defaults(void)
{
    struct phx_config c;
    const struct phx_detector *d = &c.detector;

    phx_config_init(&c);
    ok(c.max_message == 16u << 20 && c.window == 4u << 20 && c.hold_bytes == 16u << 20 && c.mem_limit == 0,
       "bytes: of a message, a window, what is held, all");
    ok(c.max_links == 1024 && c.full_mesh == UINT32_MAX && c.max_nodes == 65536 && c.max_dials == 64
           && c.max_accepts == 4096, "counts: links, nodes, dials, accepts");
    ok(c.hop_limit == 16 && c.step_bytes == 256u << 10, "links of a way, bytes of a step");
    ok(c.dial_timeout_us == 5 * SECOND && c.retry_min_us == 50 * MS && c.retry_max_us == 30 * SECOND,
       "5 s for a dial, and again after 50 ms to 30 s");
    ok(d->monitors == 2 && d->interval_us == 5 * SECOND && d->insurance_us == 90 * SECOND
           && d->timeout_us == 5 * SECOND && d->broken_us == 5 * SECOND, "2 monitors, 5 s, 90 s, 5 s, 5 s");
    ok(c.relay == 1 && c.same_host == 1 && c.log_level == PHX_LOG_INFO && strcmp(c.cluster, "phoenix") == 0
           && c.key == NULL && !c.insecure, "it relays, is near to its host's, tells of events");
}

static void test_labels(void)
{
    /* Goal: a label travels, and is shown wherever a node is. Method: three nodes, one of them
     * without. */
    struct phx_config c;
    char text[4000];

    phx_config_init(&c);
    c.label = "with \"quotes\"";
    ok(said_new(&c) == PHX_EINVAL, "quotes");
    c.label = "a line\n";
    ok(said_new(&c) == PHX_EINVAL, "a line end");
    c.label = "0123456789abcdef0123456789abcdef+";
    ok(said_new(&c) == PHX_EINVAL, "33 characters");
    begin_labelled(&n[0], "the hub", NULL);
    begin_labelled(&n[1], "0123456789abcdef0123456789abcdef", &n[0]);
    begin(&n[2], LOOPBACK);
    phx_join(n[2].p, n[0].at);
    eventually(is_mesh(n, 3), "a mesh");
    eventually(strcmp(look(&n[2], &n[1]).label, "0123456789abcdef0123456789abcdef") == 0
                   && strcmp(look(&n[1], &n[0]).label, "the hub") == 0,
               "labels are known");
    ok(look(&n[0], &n[2]).label[0] == 0 && strcmp(look(&n[0], &n[0]).label, "the hub") == 0,
       "none is \"\", and one has one's own");
    ok(phx_explain(n[2].p, &n[0].id, text, sizeof text) > 0 && strstr(text, "\nlabel: the hub\n") != NULL
           && phx_explain(n[0].p, &n[2].id, text, sizeof text) > 0 && strstr(text, "label") == NULL,
       "phx_explain has it");
    ok(phx_dump(n[2].p, PHX_DUMP_JSON, text, sizeof text) > 0
           && strstr(text, "\"label\":\"the hub\"") != NULL && strstr(text, "\"label\":\"\"") != NULL,
       "and phx_dump");
    ok(phx_dump(n[2].p, PHX_DUMP_DOT, text, sizeof text) > 0 && strstr(text, "\"the hub\\n") != NULL,
       "as a picture, too");
    finish_all(n, 3);
}

/* What n[0] says of this node in this state, or reason 1. */
static int reason_at(const struct node *one, enum phx_state state)
{
    struct phx_node k = look(&n[0], one);

    return k.state == state ? k.reason : 1;
}

static void test_reasons(void)
{
    /* Goal: whoever is lost has a reason and the time when it was heard last, promise 68. Method: one
     * is killed, one falls silent, one leaves. */
    uint64_t before;
    int i;

    begin_labelled(&n[0], "", NULL);
    for (i = 1; i < 4; i++)
        begin_labelled(&n[i], "", &n[0]);
    eventually(is_mesh(n, 4), "a mesh");
    ok(reason_at(&n[1], PHX_NODE_OK) == 0 && look(&n[0], &n[1]).seen_us != 0
           && look(&n[0], &n[1]).seen_us <= phx_now_us(),
       "none is lost, and all were heard");
    before = phx_now_us();
    kill_node(&n[1]);
    eventually(reason_at(&n[1], PHX_NODE_FAILED) == PHX_ERESET, "one that was killed");
    ok(look(&n[0], &n[1]).seen_us >= before - 2 * SECOND && look(&n[0], &n[1]).seen_us <= before + 200 * MS,
       "it was heard until then");
    phx_close(n[2].p, 0);
    eventually(reason_at(&n[2], PHX_NODE_LEFT) == PHX_ECLOSED, "one that has left");
    halt(&n[3]);
    eventually(reason_at(&n[3], PHX_NODE_SUSPECT) == PHX_ETIMEDOUT, "one that is silent");
    eventually(reason_at(&n[3], PHX_NODE_FAILED) == PHX_ETIMEDOUT, "until it has failed");
    hosts[host_count++] = &n[3];
    eventually(reason_at(&n[3], PHX_NODE_OK) == 0, "back again");
    finish_all(n, 4);
}

/* A link of two streams' ends, as of an ssh pipe. */
static void tie(struct node *a, struct node *b)
{
    int ends[2];

    if (!check(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0, "socketpair"))
        exit(1);
    check(phx_adopt(a->p, ends[0], 1) == 0, "adopt as dialer");
    check(phx_adopt(b->p, ends[1], 0) == 0, "adopt as acceptor");
}

static void test_others_lose(void)
{
    /* Goal: the same of a node that only others had a link with. Method: a chain of three. */
    struct phx_config c;
    int i;

    for (i = 0; i < 3; i++) {
        settings(&n[i], &c);
        hurry(&c);
        begin_as(&n[i], &c, NULL);
    }
    tie(&n[0], &n[1]);
    tie(&n[1], &n[2]);
    eventually(hops(&n[0], &n[2]) == 2, "a chain");
    ok(reason_at(&n[2], PHX_NODE_OK) == 0 && look(&n[0], &n[2]).seen_us == 0, "never heard itself");
    kill_node(&n[2]);
    eventually(reason_at(&n[2], PHX_NODE_FAILED) == PHX_EUNREACH, "others lost it");
    finish_all(n, 3);
}

static const struct outcome *outcome_of(const struct node *of, uint64_t token)
{
    static const struct outcome none = { 0, 0, 0, 1 };
    int i;

    for (i = 0; i < of->outcome_count; i++)
        if (of->outcomes[i].token == token)
            return &of->outcomes[i];
    return &none;
}

static int is_outcome(const struct node *of, uint64_t token, uint64_t to, uint64_t tag, int result)
{
    const struct outcome *o = outcome_of(of, token);

    return o->result == result && o->to == to && o->tag == tag;
}

static int send_limited(struct node *from, uint64_t to, uint64_t tag, uint64_t token, size_t size,
                        uint64_t limit)
{
    struct phx_outgoing m;
    struct iovec iov;

    memset(&m, 0, sizeof m);
    m.to = to;
    m.tag = tag;
    m.token = token;
    m.time_limit_us = limit;
    iov.iov_base = (void *)text_of(tag);
    iov.iov_len = size;
    m.iov = &iov;
    m.iov_count = 1;
    return phx_sendv(from->p, &m);
}

static void test_outcomes(void)
{
    /* Goal: on_done names the message, and says which of three reasons made its time too short, promise 66; a
     * loss without a token is one line of the log. Method: a name of nobody, one of a host that does not
     * step, and the same when its link is lost. */
    int i;

    begin_labelled(&n[0], "", NULL);
    begin_labelled(&n[1], "", &n[0]);
    phx_assume(n[1].p, 1, 1);
    eventually(owns(&n[0], 1, &n[1]), "a pair");
    check(send_limited(&n[0], 1, 11, 1, 10, 0) == 0
              && send_limited(&n[0], 1, 12, 2, 200000, 0) == 0
              && send_limited(&n[0], 5, 13, 3, 10, 50 * MS) == 0, "sent");
    eventually(is_outcome(&n[0], 1, 1, 11, PHX_OK) && is_outcome(&n[0], 2, 1, 12, PHX_OK),
               "small and large, with name and tag");
    eventually(is_outcome(&n[0], 3, 5, 13, PHX_ENOOWNER), "nobody holds the name");
    halt(&n[1]);
    check(send_limited(&n[0], 1, 14, 4, 10, 50 * MS) == 0, "sent");
    eventually(is_outcome(&n[0], 4, 1, 14, PHX_EEXPIRED), "no time left under way");
    for (i = 0; i < 20; i++)
        check(send_limited(&n[0], 5, 20, 0, 10, 50 * MS) == 0, "sent without a token");
    eventually(logged(&n[0], "messages without a token lost: 20, the last one to name 5", "") == 1,
               "a loss that nobody waits for is logged");
    eventually(look(&n[0], &n[1]).state == PHX_NODE_UNREACHABLE, "the way is lost");
    check(send_limited(&n[0], 1, 15, 5, 10, 50 * MS) == 0, "sent");
    eventually(is_outcome(&n[0], 5, 1, 15, PHX_ENOROUTE), "no route leads to its holder");
    hosts[host_count++] = &n[1];
    finish_all(n, 2);
}

/* ---- A world of the host's ------------------------------------------------------------------- */

/* It has one listener and no peers. */
static struct {
    unsigned long calls, frees, resolves, dials;
} host;

static int host_listen(void *w, struct phx_address *at, int *handle)
{
    (void)w, (void)at;
    host.calls++;
    *handle = 7;
    return at->port == 13 ? PHX_EINUSE : 0;
}

static int host_accept(void *w, int listener, int *handle, struct phx_address *from)
{
    (void)w, (void)listener, (void)handle, (void)from;
    host.calls++;
    return PHX_EAGAIN;
}

static int host_dial(void *w, const struct phx_address *to, int *handle)
{
    (void)w, (void)to;
    host.calls++;
    host.dials++;
    *handle = 8;
    return 0;
}

static int host_finish(void *w, int handle)
{
    (void)w, (void)handle;
    host.calls++;
    return PHX_EREFUSED;
}

static int host_local(void *w, int handle, struct phx_address *out)
{
    (void)w, (void)handle, (void)out;
    host.calls++;
    return PHX_ENOTSUP;
}

static long host_send(void *w, int handle, const struct iovec *iov, int count)
{
    (void)w, (void)handle, (void)iov, (void)count;
    host.calls++;
    return PHX_EAGAIN;
}

static long host_recv(void *w, int handle, void *data, size_t size)
{
    (void)w, (void)handle, (void)data, (void)size;
    host.calls++;
    return PHX_EAGAIN;
}

static void host_close(void *w, int handle)
{
    (void)w, (void)handle;
    host.calls++;
}

static int host_watch(void *w, int handle, int events)
{
    (void)w, (void)handle, (void)events;
    host.calls++;
    return 0;
}

static int host_wait(void *w, struct phx_ready *out, int capacity)
{
    (void)w, (void)out, (void)capacity;
    host.calls++;
    return 0;
}

static int host_random(void *w, void *out, size_t size)
{
    (void)w;
    host.calls++;
    memset(out, 0x5a, size);
    return 0;
}

static int host_resolve(void *w, const char *name, struct phx_address *out, int capacity)
{
    (void)w, (void)capacity;
    host.calls++;
    host.resolves++;
    memset(out, 0, sizeof *out);
    out->family = PHX_IPV4;
    out->ip[0] = 127;
    out->ip[3] = 1;
    return strcmp(name, "hub.example") == 0 ? 1 : PHX_ERESOLVE;
}

static int host_fd(void *w)
{
    (void)w;
    return PHX_ENOTSUP;
}

static int host_wake(void *w)
{
    (void)w;
    return 0;
}

static void host_free(void *w)
{
    (void)w;
    host.frees++;
}

static const struct phx_os host_os = {
    PHX_OS_VERSION, NULL, host_listen, host_accept, host_dial, host_finish, host_local, host_send, host_recv,
    host_close, host_watch, host_wait, host_random, host_resolve, host_fd, host_wake, host_free, NULL, NULL
};

static void test_host_world(void)
{
    /* Promise 6. Goal: phx_new that fails leaves the host's world to the host, and stats.os_calls counts
     * the calls that were made. Method: a world that counts, with each allocation failing in turn; then a
     * few calls. */
    struct test_heap heap;
    struct phx_alloc alloc = { test_alloc, &heap };
    struct phx_config c;
    struct phx_stats s;
    phx *p = NULL;
    long k;
    int i;

    phx_config_init(&c);
    c.os = &host_os;
    c.alloc = &alloc;
    for (k = 1; p == NULL && k < 1000; k++) {
        memset(&heap, 0, sizeof heap);
        heap.fail_at = k;
        memset(&host, 0, sizeof host);
        if (phx_new(&p, &c, 0) != 0)
            check(host.frees == 0 && test_heap_is_clean(&heap), "allocation %ld fails", k);
    }
    ok(p != NULL && k > 10 && host.frees == 0, "%ld failures, and none frees the world", k - 2);
    heap.fail_at = 0;
    check(phx_listen(p, "tcp://127.0.0.1:7000") == 0 && phx_listen(p, "tcp://127.0.0.1:13") == PHX_EINUSE
              && phx_listen(p, "tcp://nowhere.example:1") == PHX_ERESOLVE
              && phx_join(p, "tcp://127.0.0.1:7001") == 0, "calls");
    for (i = 0; i < 100; i++)
        phx_step(p, (uint64_t)i * 100 * MS, NULL, 0);
    phx_stats(p, &s);
    ok(s.dials > 2 && s.os_calls == host.calls, "%lu calls were made, %lu counted", host.calls,
       (unsigned long)s.os_calls);
    check(host.resolves == 1 && phx_join(p, "tcp://hub.example:7002") == 0, "another hub");
    host.dials = 0;
    for (; i < 10000; i++)
        phx_step(p, (uint64_t)i * 100 * MS, NULL, 0);
    ok(host.dials > 20 && host.resolves == 2, "%lu dials, and the name is asked for in the call alone",
       host.dials);
    phx_free(p);
    ok(host.frees == 1 && test_heap_is_clean(&heap), "phx_free frees it");
}

static void test_null(void)
{
    /* Goal: no call breaks for want of a node or a place. Method: each of them. */
    struct phx_detector d = { 1, 2, 3, 4, 5 };
    struct pollfd fd;
    struct phx_id id;

    ok(phx_step(NULL, 0, NULL, 0) == PHX_EINVAL && phx_fds(NULL, &fd, 1) == PHX_EINVAL
           && phx_fd(NULL) == PHX_EINVAL && phx_wake(NULL) == PHX_EINVAL && phx_busy(NULL, 0) == PHX_EINVAL
           && phx_closed(NULL) == PHX_EINVAL && phx_close(NULL, 0) == PHX_EINVAL
           && phx_stats(NULL, NULL) == PHX_EINVAL,
       "of what returns an int");
    ok(phx_deadline(NULL) == UINT64_MAX && phx_timeout_ms(NULL, 0) == -1, "never");
    ok(phx_nodes(NULL, NULL, 0) == 0 && phx_links(NULL, NULL, 0) == 0 && phx_routes(NULL, NULL, 0) == 0
           && phx_names(NULL, NULL, NULL, 0) == 0 && phx_broken(NULL, 0, 1, NULL, 0) == 0
           && phx_pending(NULL) == 0,
       "counts are 0");
    phx_get_detector(NULL, &d);
    phx_self(NULL, &id);
    phx_free(NULL);
    phx_config_init_as(NULL, sizeof(struct phx_config), PHX_VERSION_NUMBER);
    begin(&n[0], NULL);
    phx_get_detector(n[0].p, NULL);
    phx_self(n[0].p, NULL);
    ok(d.monitors == 1 && phx_nodes(n[0].p, NULL, 5) == 0 && phx_links(n[0].p, NULL, 5) == 0
           && phx_routes(n[0].p, NULL, 5) == 0 && phx_names(n[0].p, NULL, NULL, 0) == 0
           && phx_names(n[0].p, &n[0].id, NULL, 5) == 0 && phx_fds(n[0].p, NULL, 5) == PHX_EINVAL
           && phx_stats(n[0].p, NULL) == PHX_EINVAL && phx_broken(n[0].p, 0, 1, NULL, 5) == 0,
       "nowhere to put it");
    finish(&n[0]);
}

static void test_watched_deadline(void)
{
    /* Goal: a host that watches phx_fd alone, with the time-out that it asked for after its last step, hears
     * in time of a deadline that its own call has made (promises 66, 67). Method: a node that knows nobody
     * sends to a name with a time limit. */
    struct iovec part = { "x", 1 };
    struct phx_outgoing m;
    struct pollfd fd = { -1, POLLIN, 0 };

    begin(&n[0], NULL);
    memset(&m, 0, sizeof m);
    m.to = 7;
    m.iov = &part;
    m.iov_count = 1;
    m.time_limit_us = 3600u * 1000000u;
    fd.fd = phx_fd(n[0].p);
    eventually(fd.fd < 0 || (poll(&fd, 1, 0) == 0 && phx_deadline(n[0].p) > phx_now_us() + 4000000000u),
               "nothing is left to do");
    ok(phx_sendv(n[0].p, &m) == 0 && (fd.fd < 0 || poll(&fd, 1, 0) == 1), "a call that makes it due earlier");
    finish(&n[0]);
}

static void test_watched_detector(void)
{
    /* Goal: the same of a shorter interval, in which a heartbeat is due (promise 45). */
    struct pollfd fd = { -1, POLLIN, 0 };
    struct phx_detector d;

    begin(&n[0], LOOPBACK);
    begin(&n[1], NULL);
    phx_join(n[1].p, n[0].at);
    eventually(linked(&n[0], &n[1]), "two nodes");
    fd.fd = phx_fd(n[0].p);
    phx_get_detector(n[0].p, &d);
    d.interval_us = d.insurance_us = 100 * MS;
    eventually(fd.fd < 0 || (poll(&fd, 1, 0) == 0 && phx_deadline(n[0].p) > phx_now_us() + 200 * MS),
               "nothing is left to do");
    ok(phx_set_detector(n[0].p, &d) == 0 && (fd.fd < 0 || poll(&fd, 1, 0) == 1), "a shorter interval");
    finish_all(n, 2);
}

int main(void)
{
    test_watched_deadline();
    test_watched_detector();
    test_host_world();
    test_null();
    test_versions();
    test_defaults();
    test_labels();
    test_reasons();
    test_others_lose();
    test_outcomes();
    return test_end();
}
