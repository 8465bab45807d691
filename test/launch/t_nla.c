/* t_nla.c - nla.h between real processes and engines in this one; and its format fed with odd bytes. */

/* Each rank is a child with one end of a socketpair; this process holds the other ends, the engines of all
 * hosts and their tree, and pumps bytes until every child has ended. A child's exit status is the number of
 * its failures. An alarm ends what hangs. */
#include "engine_rig.h"
#include "extras/launch/nla.h"
#include "extras/launch/nlap.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define RANKS 6

typedef int child_run(struct nla *n);

struct child {
    pid_t pid;
    int fd, status;
    struct rig_end end;
};

/* ---- The pump -------------------------------------------------------------------------------- */

static void child_main(int fd, child_run *run)
{
    char text[16];
    struct nla *n;
    int failures;

    alarm(30);
    snprintf(text, sizeof text, "%d", fd);
    setenv("NLA_FD", text, 1);
    if (nla_init(&n) != 0)
        _exit(99);
    failures = run(n);
    _exit(failures > 90 ? 90 : failures);
}

static void start_child(struct rig *g, struct child *c, uint32_t rank, child_run *run)
{
    int pair[2];

    c->end = rig_connect(g, rig_host_of(g, rank)->index, LA_PROTO_NLA, rank);
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0)
        exit(1);
    fcntl(pair[0], F_SETFL, O_NONBLOCK);
    fcntl(pair[0], F_SETFD, FD_CLOEXEC);
    fflush(stdout);
    c->pid = fork();
    if (c->pid == 0) {
        close(pair[0]);
        child_main(pair[1], run);
    }
    close(pair[1]);
    c->fd = pair[0];
}

static void end_child(struct child *c)
{
    close(c->fd);
    c->fd = -1;
    rig_close(c->end);
}

static void write_child(struct child *c)
{
    struct rig_client *to = &c->end.host->clients[c->end.client];
    ssize_t n = c->fd < 0 || to->size == 0 ? 0 : send(c->fd, to->out, to->size, MSG_NOSIGNAL);

    if (n <= 0)
        return;
    memmove(to->out, to->out + n, to->size - (size_t)n);
    to->size -= (size_t)n;
}

static void read_child(struct child *c)
{
    static unsigned char data[65536];
    ssize_t n = read(c->fd, data, sizeof data);

    if (n > 0 && rig_input(c->end, data, (size_t)n) == 0)
        return;
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    end_child(c);
}

static int pump_once(struct child *c, uint32_t count)
{
    struct pollfd fds[RANKS];
    uint32_t i, open = 0;

    for (i = 0; i < count; i++) {
        fds[i].fd = c[i].fd;
        fds[i].events = POLLIN;
        if (c[i].fd >= 0 && c[i].end.host->clients[c[i].end.client].size > 0)
            fds[i].events |= POLLOUT;
        open += c[i].fd >= 0;
    }
    if (open == 0)
        return 0;
    poll(fds, count, 1000);
    for (i = 0; i < count; i++) {
        if (fds[i].fd >= 0 && (fds[i].revents & POLLOUT))
            write_child(&c[i]);
        if (fds[i].fd >= 0 && (fds[i].revents & (POLLIN | POLLHUP | POLLERR)))
            read_child(&c[i]);
    }
    return 1;
}

/* All lose their agent once this was said. */
static void cut_all(struct rig *g, struct child *c, const char *said_so)
{
    uint32_t i;

    for (i = 0; i < g->program.ranks && said_so != NULL && strstr(g->said, said_so) != NULL; i++)
        if (c[i].fd >= 0)
            end_child(&c[i]);
}

/* Runs `run` on every rank; how many ranks failed. said_so: NULL, or what has to be said for all to be cut
 * off. */
static int run_all(struct rig *g, child_run *run, const char *said_so)
{
    struct child c[RANKS];
    uint32_t i;
    int failed = 0;

    for (i = 0; i < g->program.ranks; i++)
        start_child(g, &c[i], i, run);
    while (pump_once(c, g->program.ranks))
        cut_all(g, c, said_so);
    for (i = 0; i < g->program.ranks; i++) {
        waitpid(c[i].pid, &c[i].status, 0);
        if (!WIFEXITED(c[i].status) || WEXITSTATUS(c[i].status) != 0) {
            printf("# rank %u: status 0x%x\n", i, (unsigned)c[i].status);
            failed++;
        }
    }
    return failed;
}

#define must(cond) (failures += (cond) ? 0 : (fprintf(stderr, "# %s:%d: %s\n", __FILE__, __LINE__, #cond), 1))

/* ---- Collective operations ------------------------------------------------------------------- */

static unsigned char said(uint32_t from, uint32_t to, size_t i)
{
    return (unsigned char)(from * 50 + to * 7 + i * 3 + i / 256);
}

static void say(unsigned char *to, uint32_t from, uint32_t whom, size_t size)
{
    size_t i;

    for (i = 0; i < size; i++)
        to[i] = said(from, whom, i);
}

static int heard(const unsigned char *data, uint32_t from, uint32_t to, size_t size)
{
    size_t i;

    for (i = 0; i < size; i++)
        if (data[i] != said(from, to, i))
            return 0;
    return 1;
}

static int run_root(struct nla *n, uint32_t root, size_t size, unsigned char *in, unsigned char *out)
{
    uint32_t me = nla_rank(n), i;
    int failures = 0;

    say(out, me, 99, size);
    must(nla_broadcast(n, root, out, size) == 0 && heard(out, root, 99, size));
    say(in, me, 98, size);
    must(nla_gather(n, root, in, size, me == root ? out : NULL) == 0);
    for (i = 0; me == root && i < nla_size(n); i++)
        must(heard(out + i * size, i, 98, size));
    for (i = 0; i < nla_size(n); i++)
        say(in + i * size, me, i, size);
    must(nla_scatter(n, root, me == root ? in : NULL, size, out) == 0 && heard(out, root, me, size));
    return failures;
}

static int run_collectives(struct nla *n)
{
    static const size_t sizes[] = { 0, 1, 1000, 100000 };
    unsigned char *in = malloc(RANKS * 100000), *out = malloc(RANKS * 100000);
    uint32_t me = nla_rank(n), i, root;
    int failures = 0, s;

    must(nla_size(n) == RANKS);
    for (s = 0; s < 4; s++) {
        for (root = 0; root < RANKS; root++)
            failures += run_root(n, root, sizes[s], in, out);
        say(in, me, 97, sizes[s]);
        must(nla_allgather(n, in, sizes[s], out) == 0);
        for (i = 0; i < RANKS; i++)
            must(heard(out + i * sizes[s], i, 97, sizes[s]));
        for (i = 0; i < RANKS; i++)
            say(in + i * sizes[s], me, i, sizes[s]);
        must(nla_alltoall(n, in, sizes[s], out) == 0);
        for (i = 0; i < RANKS; i++)
            must(heard(out + i * sizes[s], i, me, sizes[s]));
        must(nla_barrier(n) == 0);
    }
    free(in);
    free(out);
    must(nla_finalize(n) == 0);
    return failures;
}

static void test_collectives(void)
{
    struct rig *g = rig_new(RANKS, 2, 0, 0);

    ok(run_all(g, run_collectives, NULL) == 0, "every operation, root and size between %d processes",
       RANKS);
    ok(g->operations == 4 * (RANKS * 3 + 3), "which were %u operations", (unsigned)g->operations);
    ok(strstr(g->said, "finalize 5") != NULL && strstr(g->said, "ended") == NULL, "and all have finalized");
    rig_free(g);
}

/* ---- Messages -------------------------------------------------------------------------------- */

/* Everybody sends a megabyte to the next, at once, and small ones with tags that are asked for backwards. */
static int run_messages(struct nla *n)
{
    uint32_t me = nla_rank(n), next = (me + 1) % RANKS, last = (me + RANKS - 1) % RANKS;
    unsigned char *big = malloc(NLA_MESSAGE_MAX);
    struct nla_message *m;
    uint64_t tag;
    int failures = 0, sent;

    say(big, me, next, NLA_MESSAGE_MAX);
    sent = nla_start_send(n, next, 7, big, NLA_MESSAGE_MAX);
    must(sent > 0);
    for (tag = 100; tag < 110; tag++)
        must(nla_send(n, next, tag, &tag, sizeof tag) == 0);
    for (tag = 109; tag >= 100; tag--) {
        must(nla_recv(n, last, tag, &m) == 0);
        must(m->tag == tag && m->from == last && m->size == sizeof tag && memcmp(m->data, &tag,
                                                                                 sizeof tag) == 0);
        nla_message_free(m);
    }
    must(nla_recv(n, NLA_ANY_RANK, NLA_ANY_TAG, &m) == 0 && m->tag == 7 && m->size == NLA_MESSAGE_MAX
         && heard(m->data, last, me, m->size));
    nla_message_free(m);
    must(nla_wait(n, sent) == 0 && nla_wait(n, sent) == NLA_ESTATE);
    must(nla_send(n, me, 1, "self", 4) == 0 && nla_recv(n, me, 1, &m) == 0 && strcmp((char *)m->data,
                                                                                     "self") == 0);
    nla_message_free(m);
    must(nla_send(n, next, 2, NULL, 0) == 0 && nla_recv(n, last, 2, &m) == 0 && m->size == 0);
    nla_message_free(m);
    must(nla_barrier(n) == 0);
    free(big);
    return failures + (nla_finalize(n) != 0);
}

/* All send 2,000 messages to rank 0, which first waits for the very last one of rank 1. */
static int run_flood(struct nla *n)
{
    char data[1000] = "";
    struct nla_message *m;
    uint32_t i, next[RANKS] = { 0 };
    int failures = 0;

    for (i = 0; nla_rank(n) != 0 && i < 2000; i++) {
        memcpy(data, &i, sizeof i);
        must(nla_send(n, 0, i == 1999 ? 9 : 1, data, sizeof data) == 0);
    }
    if (nla_rank(n) == 0) {
        must(nla_recv(n, 1, 9, &m) == 0);
        nla_message_free(m);
        for (i = 0; i < (RANKS - 1) * 2000 - 1; i++) {
            must(nla_recv(n, NLA_ANY_RANK, NLA_ANY_TAG, &m) == 0);
            must(memcmp(m->data, &next[m->from], sizeof next[0]) == 0);
            next[m->from]++;
            nla_message_free(m);
        }
    }
    return failures + (nla_finalize(n) != 0);
}

static void test_messages(void)
{
    struct rig *g = rig_new(RANKS, 2, 0, 0);

    ok(run_all(g, run_messages, NULL) == 0, "messages of a megabyte in a ring, tags, self, empty ones");
    rig_free(g);
    g = rig_new(RANKS, 2, 0, 0);
    ok(run_all(g, run_flood, NULL) == 0, "10,000 messages to one, in order from each");
    rig_free(g);
}

/* ---- Keys ------------------------------------------------------------------------------------ */

static int run_keys(struct nla *n)
{
    uint32_t me = nla_rank(n), next = (me + 1) % RANKS;
    char key[32], value[64], *longest = malloc(NLA_VALUE_MAX + 2);
    int failures = 0;

    memset(longest, 'v', NLA_VALUE_MAX + 1);
    longest[NLA_VALUE_MAX + 1] = '\0';
    snprintf(key, sizeof key, "key-%u", me);
    snprintf(value, sizeof value, "value of %u", me);
    must(nla_put(n, key, value) == 0);
    must(nla_put(n, "longest", longest) == NLA_ETOOBIG && nla_put(n, "longest", longest + 1) == 0);
    must(nla_put(n, "PMI_x", "v") == NLA_EACCES && nla_put(n, "", "v") == NLA_EINVAL);
    must(nla_barrier(n) == 0);
    snprintf(key, sizeof key, "key-%u", next);
    must(nla_get(n, key, value, sizeof value) == 10 && value[9] == (char)('0' + next));
    must(nla_get(n, key, value, 10) == NLA_ETOOBIG && nla_get(n, key, value, 11) == 10);
    must(nla_get(n, "longest", longest, NLA_VALUE_MAX + 1) == NLA_VALUE_MAX);
    must(nla_get(n, "nobody's", value, sizeof value) == NLA_ENOTFOUND);
    must(nla_get(n, "PMI_process_mapping", value, sizeof value) > 0 && value[0] == '(');
    free(longest);
    return failures + (nla_finalize(n) != 0);
}

static void test_keys(void)
{
    struct rig *g = rig_new(RANKS, 2, 1, 0);

    ok(run_all(g, run_keys, NULL) == 0, "the bulletin board");
    rig_free(g);
}

/* ---- Start and test -------------------------------------------------------------------------- */

static int run_started(struct nla *n)
{
    uint32_t me = nla_rank(n), all[RANKS], i;
    int barrier, requests[NLA_REQUESTS], count, result = 1, failures = 0;
    struct nla_message *m, *late;
    struct pollfd p = { nla_fd(n), POLLIN, 0 };

    barrier = nla_start_recv(n, NLA_ANY_RANK, 5, &late);
    must(nla_test(n, barrier, &result) == 0 && late == NULL && result == 1);
    must(nla_wait(n, nla_start_send(n, me, 5, "x", 1)) == 0 && nla_wait(n, barrier) == 0 && late->size == 1);
    nla_message_free(late);
    if (me != 0) { /* rank 0 holds the barrier until all have sent */
        barrier = nla_start_barrier(n);
        must(nla_start_barrier(n) == NLA_EAGAIN && nla_allgather(n, &me, sizeof me, all) == NLA_EAGAIN);
        must(nla_test(n, barrier, NULL) == 0);
        must(nla_send(n, 0, 3, &me, sizeof me) == 0);
        must(nla_recv(n, 0, 4, &m) == 0);
        nla_message_free(m);
    }
    for (i = 1; me == 0 && i < RANKS; i++) {
        must(nla_recv(n, i, 3, &m) == 0);
        nla_message_free(m);
        must(nla_send(n, i, 4, NULL, 0) == 0);
    }
    if (me == 0)
        barrier = nla_start_barrier(n);
    while ((count = nla_test(n, barrier, &result)) == 0)
        poll(&p, 1, 1000);
    must(count == 1 && result == 0 && nla_test(n, barrier, NULL) == NLA_ESTATE);
    must(nla_wait(n, nla_start_allgather(n, &me, sizeof me, all)) == 0 && all[0] == 0
         && all[RANKS - 1] == RANKS - 1);
    for (count = 0; count < NLA_REQUESTS; count++)
        must((requests[count] = nla_start_send(n, me, 6, &count, sizeof count)) > 0);
    must(nla_start_send(n, me, 6, &count, sizeof count) == NLA_EAGAIN);
    for (count = 0; count < NLA_REQUESTS; count++)
        must(nla_wait(n, requests[count]) == 0);
    must(nla_send(n, RANKS, 1, "x", 1) == NLA_EINVAL && nla_send(n, me, NLA_ANY_TAG, "x", 1) == NLA_EINVAL);
    must(nla_broadcast(n, RANKS, all, 4) == NLA_EINVAL && nla_allgather(n, NULL, 4, all) == NLA_EINVAL);
    must(nla_allgather(n, all, (size_t)1 << 30, all) == NLA_ETOOBIG && nla_test(n, 0, NULL) == NLA_ESTATE);
    return failures + (nla_finalize(n) != 0);
}

/* A message that was sent before a barrier is there behind it. */
static int run_started_late(struct nla *n)
{
    struct nla_message *m;
    uint32_t i;
    int failures = 0;

    if (nla_rank(n) != 0)
        must(nla_send(n, 0, 1, NULL, 0) == 0);
    must(nla_barrier(n) == 0);
    for (i = 1; nla_rank(n) == 0 && i < RANKS; i++) {
        must(nla_recv(n, NLA_ANY_RANK, 1, &m) == 0);
        nla_message_free(m);
    }
    return failures + (nla_finalize(n) != 0);
}

static void test_started(void)
{
    struct rig *g = rig_new(RANKS, 3, 0, 0);

    ok(run_all(g, run_started, NULL) == 0, "requests beside a barrier, at most %d", NLA_REQUESTS);
    rig_free(g);
    g = rig_new(RANKS, 3, 0, 0);
    ok(run_all(g, run_started_late, NULL) == 0, "messages before a barrier");
    rig_free(g);
}

/* ---- What goes wrong ------------------------------------------------------------------------- */

static int run_lonely(struct nla *n)
{
    struct nla_message *m;
    int failures = 0, started = nla_start_get(n, "k", (char[8]){ 0 }, 8);

    must(started > 0 && nla_recv(n, 0, 1, &m) == NLA_ECLOSED && m == NULL);
    must(nla_wait(n, started) == NLA_ECLOSED && nla_barrier(n) == NLA_ECLOSED);
    must(nla_put(n, "k", "v") == NLA_ECLOSED && nla_finalize(n) == NLA_ECLOSED);
    return failures;
}

static int run_disagreeing(struct nla *n)
{
    uint32_t word = 1;
    int failures = 0, err = nla_broadcast(n, nla_rank(n), &word, sizeof word);

    must(err == NLA_EINVAL || err == NLA_ECLOSED);
    nla_free(n);
    return failures;
}

static int run_missing(struct nla *n)
{
    uint32_t me = nla_rank(n), all[RANKS] = { 9, 9, 9, 9, 9, 9 };
    int failures = 0;

    must(nla_barrier(n) == 0);
    must(nla_allgather(n, &me, sizeof me, all) == NLA_EFAILED && all[0] == 0 && all[4] == 4 && all[5] == 0);
    must(nla_broadcast(n, 5, &all[1], sizeof me) == NLA_EFAILED && all[1] == 0);
    must(nla_send(n, 5, 1, "x", 1) == NLA_EFAILED);
    must(nla_barrier(n) == 0);
    return failures + (nla_finalize(n) != 0);
}

static void test_wrong(void)
{
    struct rig *g = rig_new(1, 1, 0, 0);
    struct nla *n;

    ok(run_all(g, run_lonely, "get k") == 0, "an agent that goes away");
    rig_free(g);
    unsetenv("NLA_FD");
    ok(nla_init(&n) == NLA_ENOAGENT && n == NULL, "no NLA_FD");
    setenv("NLA_FD", "777", 1);
    ok(nla_init(&n) == NLA_ENOAGENT, "an NLA_FD that is not open");
    setenv("NLA_FD", "7x", 1);
    ok(nla_init(&n) == NLA_ENOAGENT && nla_init(NULL) == NLA_EINVAL, "one that is no number");
    ok(nla_finalize(NULL) == 0 && nla_test(NULL, 1, NULL) == NLA_ESTATE && nla_barrier(NULL) == NLA_EINVAL,
       "NULL instead of a handle");
    g = rig_new(RANKS, RANKS, 0, 0);
    g->program.ranks = 5;
    la_engine_gone(g->hosts[0].engine, 5);
    ok(run_all(g, run_missing, NULL) == 0,
       "rank 5 is dead: operations that lack it fail, barriers do not");
    rig_free(g);
}

static void test_disagreement(void)
{
    /* Goal: ranks that name different roots are told of by name. Method: the first one would wait for ever;
     * as the agent would then end the job, both are cut off. */
    struct rig *g = rig_new(2, 2, 0, 0);
    int failed = run_all(g, run_disagreeing, "differ");

    ok(failed == 0, "both ranks have an error");
    ok(strstr(g->said, "differ ") != NULL && strstr(g->said, ":2,0,4") != NULL && strstr(g->said,
                                                                                         ":2,1,4") != NULL,
       "two ranks are named");
    rig_free(g);
}

/* ---- The format ------------------------------------------------------------------------------ */

static size_t make_frame(unsigned char *to, uint32_t type, uint32_t request, const char *data, size_t size)
{
    uint32_t length = (uint32_t)(5 + size);

    memcpy(to, &length, 4); /* the test runs where ints are little endian, or turns them */
    to[0] = (unsigned char)length;
    to[1] = (unsigned char)(length >> 8);
    to[2] = to[3] = 0;
    to[4] = (unsigned char)type;
    to[5] = (unsigned char)request;
    to[6] = to[7] = to[8] = 0;
    memcpy(to + 9, data, size);
    return 9 + size;
}

static int refused(uint32_t type, const char *data, size_t size)
{
    struct rig *g = calloc(1, sizeof *g);
    unsigned char frame[256];
    struct rig_end a;
    int err;

    g->hosts_count = 1;
    g->program.ranks = 1;
    rig_host_quiet(g, 0, 1, 1);
    a = rig_connect(g, 0, LA_PROTO_NLA, 0);
    rig_write(a, "NLA1");
    err = rig_input(a, frame, make_frame(frame, type, 1, data, size));
    err = err == PHX_EPROTO && a.host->clients[a.client].hung_up;
    rig_free(g);
    return err;
}

static void test_format(void)
{
    /* Goal: frames that lack something or contradict themselves are garbage, not crashes. */
    struct rig *g = rig_new(1, 1, 0, 0);
    struct rig_end a = rig_connect(g, 0, LA_PROTO_NLA, 0);

    ok(rig_write(a, "NL") == 0 && rig_write(a, "A2") == PHX_EPROTO && rig_heard(g, "complain 0 NLA: another"),
       "another version");
    rig_free(g);
    ok(refused(NLAP_COLLECTIVE, "", 0) && refused(NLAP_COLLECTIVE, "\2\0\0\0\0\0\0\0\4\0\0\0\0\0\0\0abc", 19),
       "an operation without its head, and without all its bytes");
    ok(refused(NLAP_SEND, "\0\0\0\0", 4) && refused(NLAP_PUT, "key", 4) && refused(NLAP_PUT, "key", 3)
           && refused(NLAP_PUT, "k\0v\0x", 6) && refused(NLAP_GET, "key", 3) && refused(NLAP_GET, "", 0)
           && refused(NLAP_GET, "k\0k", 4), "a send without a tag, keys without an end");
    ok(refused(77, "", 0) && refused(0, "", 0), "frames that are none");
}

static void test_pieces(void)
{
    /* Goal: frames in pieces of any size; a rank that sends to itself through its own agent. */
    unsigned char all[512], reply[128];
    size_t size = 4, piece, at, expected;
    int wrong = 0;

    memcpy(all, NLAP_MAGIC, 4);
    size += make_frame(all + size, NLAP_PUT, 1, "k\0v", 4);
    size += make_frame(all + size, NLAP_GET, 2, "k", 2);
    size += make_frame(all + size, NLAP_SEND, 3, "\0\0\0\0\5\0\0\0\0\0\0\0hello", 17);
    size += make_frame(all + size, NLAP_COLLECTIVE, 4, "\1\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 16);
    expected = NLAP_HELLO_HEAD + 4 * NLAP_DONE_HEAD + 1 + NLAP_MESSAGE_HEAD + 5;
    memset(reply, 0, sizeof reply);
    for (piece = 1; piece < 80; piece++) {
        struct rig *g = calloc(1, sizeof *g);
        struct rig_end a;

        g->hosts_count = 1;
        g->program.ranks = 1;
        rig_host_quiet(g, 0, 1, 1);
        a = rig_connect(g, 0, LA_PROTO_NLA, 0);
        for (at = 0; at < size; at += piece)
            wrong += rig_input(a, all + at, size - at < piece ? size - at : piece) != 0;
        wrong += a.host->clients[a.client].size != expected;
        if (piece == 1)
            memcpy(reply, a.host->clients[a.client].out, expected);
        wrong += memcmp(reply, a.host->clients[a.client].out, expected) != 0;
        rig_free(g);
    }
    ok(wrong == 0, "the same answers for pieces of 1 to 79 bytes");
}

static void test_spoilt(void)
{
    /* Goal: no bytes crash it. Method: a conversation with every frame, spoilt in 2,000 ways. */
    unsigned char all[1024];
    size_t size = 4;
    uint32_t seed;
    int odd = 0;

    memcpy(all, NLAP_MAGIC, 4);
    size += make_frame(all + size, NLAP_PUT, 1, "k\0v", 4);
    size += make_frame(all + size, NLAP_COLLECTIVE, 2, "\1\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 16);
    size += make_frame(all + size, NLAP_GET, 3, "k", 2);
    size += make_frame(all + size, NLAP_SEND, 4, "\3\0\0\0\5\0\0\0\0\0\0\0hello", 17);
    size += make_frame(all + size, NLAP_COLLECTIVE, 5, "\4\0\0\0\0\0\0\0\2\0\0\0\0\0\0\0ab", 18);
    size += make_frame(all + size, NLAP_COLLECTIVE, 6, "\6\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0abcd", 20);
    size += make_frame(all + size, NLAP_TAKEN, 100, "\0\0\0", 4);
    for (seed = 1; seed <= 2000; seed++)
        odd += rig_spoil(LA_PROTO_NLA, all, size, seed);
    ok(odd == 0, "2,000 spoilt conversations");
}

static void test_full(void)
{
    /* Goal: what waits for a rank that never receives is bounded, with a line; a finalized one takes none. */
    struct rig *g = rig_new(2, 2, 0, 0);
    struct la_engine *e = g->hosts[0].engine;
    struct rig_end a = rig_connect(g, 0, LA_PROTO_NLA, 0);
    char *big = calloc(1, NLA_MESSAGE_MAX);
    int i, err = 0;

    rig_write(a, "NLA1");
    for (i = 0; i < 100 && err == 0; i++)
        err = la_engine_message(e, 1, 0, 0, big, NLA_MESSAGE_MAX);
    ok(err == PHX_ELIMIT && i > 60 && i < 68 && rig_heard(g, "complain 0 NLA: it does not receive"),
       "%d MiB", i);
    ok(a.host->clients[a.client].size < 2 * NLA_MESSAGE_MAX, "one message is given ahead, not all");
    err = 0;
    for (i = 0; i < 100 && err == 0; i++)
        err = la_engine_message(e, 0, 1, 0, big, NLA_MESSAGE_MAX);
    ok(err == PHX_ELIMIT && rig_heard(g, "complain 1 "), "also for one that has not come yet");
    la_engine_gone(e, 1);
    ok(la_engine_message(e, 0, 1, 0, big, 1) == PHX_EFAILED && la_engine_message(e, 0, 9, 0, big,
                                                                                 1) == PHX_EINVAL,
       "a rank that is gone, one that is none of this host");
    free(big);
    rig_free(g);
}

int main(void)
{
    test_collectives();
    test_messages();
    test_keys();
    test_started();
    test_wrong();
    test_disagreement();
    test_format();
    test_pieces();
    test_spoilt();
    test_full();
    return test_end();
}
