/* t_trace.c - phx_trace and phx_dump: promises 33 and 113.
 *
 * Goal: a trace names each node on the way, in order, with its distance and its reason; it ends once,
 * whatever nodes on the way do; and hostile questions and answers cost next to nothing. A dump is JSON, or
 * a graph, of just what phx_nodes, phx_links and phx_names say. Method: chains of nodes that are joined
 * by socket pairs and have no addresses, and the raw peer of raw.h. */
#include "test.h"

#ifdef PHX_JOINED
#include "../../phoenix.c"
#else
#include "../../src/base/sha.h"
#endif

#include "raw.h"

#include <ctype.h>

/* ---- What on_trace has told ------------------------------------------------------------------- */

static struct {
    int count;
    uint64_t token;
    struct phx_id target;
    int result, why;
    struct phx_hop hops[300];
    size_t hops_count;
    int again; /* begin another one inside */
} got;

static void saw_trace(phx *p, const struct phx_trace *t, void *user)
{
    (void)user;
    got.count++;
    got.token = t->token;
    got.target = t->target;
    got.result = t->result;
    got.why = t->why;
    got.hops_count = t->hops_count;
    memcpy(got.hops, t->hops, t->hops_count * sizeof *t->hops);
    if (got.again > 0) {
        got.again--;
        check(phx_trace(p, &t->target, t->token + 1) == 0, "one inside another's end");
    }
}

static void begin_tracer(struct node *of, uint32_t hop_limit, int relay, const char *address)
{
    struct phx_config c;

    settings(of, &c);
    c.on_trace = saw_trace;
    c.hop_limit = hop_limit;
    c.relay = relay;
    begin_as(of, &c, address);
}

static void tie(struct node *from, struct node *to)
{
    int ends[2];

    if (!check(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0, "a pair"))
        return;
    check(phx_adopt(from->p, ends[0], 1) == 0 && phx_adopt(to->p, ends[1], 0) == 0, "adopted");
}

/* n[0] - n[1] - ... */
static void begin_chain(int count, uint32_t hop_limit)
{
    int i;

    memset(&got, 0, sizeof got);
    for (i = 0; i < count; i++)
        begin_tracer(&n[i], hop_limit, 1, NULL);
    for (i = 0; i + 1 < count; i++)
        tie(&n[i], &n[i + 1]);
    await(hops(&n[0], &n[count - 1]) == count - 1 && hops(&n[count - 1], &n[0]) == count - 1,
          PATIENCE);
    check(hops(&n[0], &n[count - 1]) == count - 1, "a chain of %d", count);
}

/* ---- Traces ------------------------------------------------------------------------------------ */

static void test_chain(void)
{
    uint64_t begun, took;
    int i;

    begin_chain(6, 16);
    begun = phx_now_us();
    ok(phx_trace(n[0].p, &n[5].id, 7) == 0, "a trace begins");
    eventually(got.count == 1, "and ends");
    took = phx_now_us() - begun;
    ok(got.result == PHX_OK && got.token == 7 && same_id(&got.target, &n[5].id), "well");
    ok(got.hops_count == 5, "five hops, promise 33");
    for (i = 0; i < 5; i++) {
        check(same_id(&got.hops[i].id, &n[i + 1].id), "hop %d is the one", i);
        check(got.hops[i].hops == 4 - i, "hop %d is at %d", i, got.hops[i].hops);
        check(got.hops[i].rtt_us > 0 && got.hops[i].rtt_us <= took, "hop %d took a part of it all", i);
        check(got.hops[i].why == (i < 3 ? PHX_ENOTFOUND : 0), "hop %d: %s", i,
              phx_strerror(got.hops[i].why));
    }
    ok(got.why == PHX_ENOTFOUND, "relayed for want of an address: %s", phx_strerror(got.why));
    ok(phx_trace(n[0].p, &n[1].id, 0) == 0, "a neighbour");
    eventually(got.count == 2, "answers");
    ok(got.result == 0 && got.why == 0 && got.hops_count == 1 && got.hops[0].hops == 0,
       "in one hop, over a link");
    got.again = 2;
    ok(phx_trace(n[2].p, &n[5].id, 10) == 0, "one that begins others");
    eventually(got.count == 5 && got.token == 12, "and all end");
    go_on(50 * MS);
    ok(got.count == 5, "once each");
    finish_all(n, 6);
}

static void test_errors(void)
{
    struct phx_id nobody;
    phx *p;
    int i;

    begin_chain(3, 16);
    memset(&nobody, 0x5a, sizeof nobody);
    p = n[0].p;
    ok(phx_trace(NULL, &n[2].id, 0) == PHX_EINVAL && phx_trace(p, NULL, 0) == PHX_EINVAL,
       "of nothing");
    ok(phx_trace(p, &n[0].id, 0) == PHX_EINVAL, "of this very node");
    ok(phx_trace(p, &nobody, 0) == PHX_ENOTFOUND, "of nobody");
    begin(&n[3], NULL);
    ok(phx_trace(n[3].p, &n[0].id, 0) == PHX_EINVAL, "without a callback");
    for (i = 0; i < 16; i++)
        check(phx_trace(p, &n[2].id, (uint64_t)i) == 0, "trace %d", i);
    ok(phx_trace(p, &n[2].id, 0) == PHX_ELIMIT, "16 are the most");
    eventually(got.count == 16, "which end");
    n[0].heap.fail_at = n[0].heap.calls + 1;
    ok(phx_trace(p, &n[2].id, 0) == PHX_ENOMEM, "without memory there is none");
    n[0].heap.fail_at = 0;
    kill_node(&n[1]);
    await(look(&n[0], &n[2]).hops == -1, PATIENCE);
    ok(phx_trace(p, &n[2].id, 3) == 0, "of one that cannot be reached");
    eventually(got.count == 17 && got.result == PHX_EUNREACH && got.hops_count == 0,
               "there is no way");
    ok(phx_trace(p, &n[2].id, 4) == 0 && phx_close(p, 0) == 0
           && phx_trace(p, &n[2].id, 5) == PHX_ECLOSED, "a node that leaves begins no more");
    eventually(phx_closed(p), "it has left");
    ok(got.count == 18 && got.token == 4, "and the last has ended, %s", phx_strerror(got.result));
    finish_all(n, 4);
}

/* A trace that is free'd with its node has no outcome, and leaves nothing (finish looks). */
static void test_freed(void)
{
    begin_chain(3, 16);
    ok(phx_trace(n[0].p, &n[2].id, 1) == 0, "under way");
    kill_node(&n[0]);
    ok(got.count == 0, "and gone with its node");
    finish_all(n, 3);
}

/* The target listens where nobody can come: that is the reason. It is dialled once, and not again so soon. */
static void test_reason(void)
{
    struct phx_config c;

    memset(&got, 0, sizeof got);
    settings(&n[0], &c);
    c.on_trace = saw_trace;
    c.retry_min_us = c.retry_max_us = 30 * SECOND;
    begin_as(&n[0], &c, NULL);
    begin_tracer(&n[1], 16, 1, NULL);
    begin_tracer(&n[2], 16, 1, NULL);
    check(phx_advertise(n[2].p, "tcp://127.0.0.1:1") == 0, "a dead address");
    tie(&n[0], &n[1]);
    tie(&n[1], &n[2]);
    await(hops(&n[0], &n[2]) == 2 && stats(&n[0]).dials_failed > 0, PATIENCE);
    ok(phx_trace(n[0].p, &n[2].id, 1) == 0, "a trace");
    eventually(got.count == 1 && got.result == 0 && got.hops_count == 2, "over a relay");
    ok(got.why == PHX_EREFUSED, "because of what dialling came to: %s", phx_strerror(got.why));
    finish_all(n, 3);
}

/* ---- A peer that asks, and one that lies -------------------------------------------------------- */

/* Links with n[0], and shows a card without addresses, so that there is a way to it. */
static void raw_member(void)
{
    static struct node peer;

    raw_link(&n[0]);
    head(SPEC_UPDATE, 0, 0);
    put(0, 2);
    put_bytes(&r.id, 16);
    put(0, 8);
    put(2, 4);
    put(0, 1);
    put(1, 1); /* CARD */
    put(1, 4);
    put(11, 4);
    put(1, 1);
    put(65536, 4);
    put(0, 2); /* no label, no address */
    put(0, 4);
    tail();
    raw_send();
    peer.id = r.id;
    await(hops(&n[0], &peer) == 1, PATIENCE);
    check(hops(&n[0], &peer) == 1, "the raw peer is a member");
}

static void raw_trace(const struct phx_id *target, const struct phx_id *source, uint64_t key,
                      int number, int hop_count)
{
    head(SPEC_TRACE, 0, hop_count);
    put_bytes(target, 16);
    put_bytes(source, 16);
    put(key, 8);
    put((uint64_t)number, 1);
    tail();
}

static void raw_answer(const struct phx_id *target, const struct phx_id *source, uint64_t key,
                       int number, int distance)
{
    head(SPEC_TRACE, 1, 16);
    put_bytes(target, 16);
    put_bytes(source, 16);
    put(key, 8);
    put((uint64_t)number, 1);
    put((uint64_t)distance, 1);
    put(0, 2);
    tail();
}

/* Takes the frames off what has come; how many TRACE were among them, the last into out. */
static int raw_traces(unsigned char out[44])
{
    int count = 0;
    size_t size, at;

    raw_read();
    for (at = 0; r.got - at >= 8; at += size) {
        size = 4 + (size_t)r.in[at] + (size_t)r.in[at + 1] * 256;
        if (r.got - at < size)
            break;
        if (r.in[at + 4] != SPEC_TRACE)
            continue;
        memset(out, 0, 44);
        memcpy(out, r.in + at + 8, size - 8);
        count++;
    }
    memmove(r.in, r.in + at, r.got - at);
    r.got -= at;
    return count;
}

static int raw_asks(struct phx_id *target, int number, int hop_count, unsigned char out[44])
{
    int came = 0;

    raw_trace(target, &r.id, 77, number, hop_count);
    raw_send();
    await((came = raw_traces(out)) > 0, PATIENCE);
    return came;
}

static void test_questions(void)
{
    struct phx_config c = usual();
    struct phx_id nobody;
    unsigned char a[44];
    int came = 0, i;

    begin_pair(&c);
    raw_member();
    memset(&nobody, 0x5a, sizeof nobody);
    ok(raw_asks(&n[0].id, 1, 1, a) == 1 && memcmp(a, &r.id, 16) == 0
           && memcmp(a + 16, &n[0].id, 16) == 0 && a[32] == 77 && a[40] == 1 && a[41] == 0,
       "a target answers");
    ok(raw_asks(&n[1].id, 1, 1, a) == 1 && memcmp(a + 16, &n[0].id, 16) == 0 && a[41] == 1,
       "so does who is asked");
    ok(raw_asks(&n[1].id, 2, 2, a) == 1 && memcmp(a + 16, &n[1].id, 16) == 0 && a[41] == 0,
       "and who is behind it");
    ok(raw_asks(&nobody, 1, 9, a) == 1 && memcmp(a + 16, &n[0].id, 16) == 0 && a[41] == 255,
       "nobody is nowhere");
    ok(raw_asks(&r.id, 1, 9, a) == 1 && a[41] == 255, "it is not sent back");
    for (i = 0; i < 500; i++)
        raw_trace(&n[0].id, &r.id, (uint64_t)i, 1, 1);
    raw_send();
    ok(honest(), "of 500 more");
    go_on(100 * MS);
    came = raw_traces(a);
    ok(came > 0 && came <= 64 + 32, "%d are answered", came);
    raw_trace(&n[1].id, &nobody, 1, 1, 1); /* from somebody else, who is not there */
    raw_answer(&n[0].id, &n[1].id, 99, 1, 0);
    raw_answer(&n[0].id, &n[1].id, 99, 255, 0);
    raw_send();
    ok(honest() && !raw_is_closed(), "what nobody asked for is ignored");
    raw_trace(&n[0].id, &r.id, 1, 0, 1);
    raw_send();
    eventually(raw_is_closed(), "hop 0 is none");
    raw_finish();
    finish_all(n, 2);
}

/* A node that does not relay is asked about what is behind it: it answers for itself only. */
static void test_no_relay(void)
{
    unsigned char a[44];

    memset(&got, 0, sizeof got);
    begin_tracer(&n[0], 16, 0, LOOPBACK);
    begin_tracer(&n[1], 16, 1, NULL);
    phx_join(n[1].p, n[0].at);
    await(linked(&n[0], &n[1]), PATIENCE);
    raw_member();
    ok(raw_asks(&n[1].id, 2, 2, a) == 1 && memcmp(a + 16, &n[0].id, 16) == 0 && a[41] == 255,
       "no way through it");
    ok(raw_asks(&n[1].id, 1, 1, a) == 1 && a[41] == 1, "it has one itself");
    raw_finish();
    finish_all(n, 2);
}

/* A relay that says it leads to somebody: the trace goes through it, and it answers what it likes. */
static uint64_t lie_key;
static void begin_lie(struct phx_id *far)
{
    unsigned char a[44];

    memset(&got, 0, sizeof got);
    begin_tracer(&n[0], 8, 1, LOOPBACK);
    raw_member();
    memset(far, 0x99, sizeof *far);
    head(SPEC_UPDATE, 0, 0);
    put(0, 2);
    put_bytes(far, 16);
    put(0, 8);
    put(5, 4);
    put(1, 1);
    put(0, 1);
    put(0, 4);
    tail();
    raw_send();
    await(stats(&n[0]).reachable == 3, PATIENCE);
    ok(phx_trace(n[0].p, far, 1) == 0, "through a liar");
    await(raw_traces(a) == 2, PATIENCE);
    for (lie_key = 0; lie_key == 0;)
        lie_key = (uint64_t)a[32] | (uint64_t)a[33] << 8 | (uint64_t)a[34] << 16
                  | (uint64_t)a[35] << 24 | (uint64_t)a[36] << 32 | (uint64_t)a[37] << 40
                  | (uint64_t)a[38] << 48 | (uint64_t)a[39] << 56;
}

static void test_liar(void)
{
    struct phx_id far;
    unsigned char a[44];
    int i;

    begin_lie(&far);
    raw_answer(&n[0].id, &far, lie_key, 2, 3);   /* the target, three hops from itself */
    raw_answer(&n[0].id, &r.id, lie_key, 1, 0);  /* another, at no distance */
    raw_answer(&n[0].id, &r.id, lie_key, 200, 1); /* beyond what was asked */
    raw_send();
    go_on(50 * MS);
    ok(got.count == 0, "nonsense is no answer");
    for (i = 2; i <= 8; i++) { /* ever farther: up to the hop limit, one question each */
        raw_answer(&n[0].id, &r.id, lie_key, i, 9);
        raw_send();
        if (i < 8)
            await(raw_traces(a) == 1, PATIENCE);
    }
    raw_answer(&n[0].id, &r.id, lie_key, 1, 9);
    raw_send();
    eventually(got.count == 1 && got.result == PHX_EUNREACH && got.hops_count == 8,
               "a way without end ends");
    raw_finish();
    finish_all(n, 1);
    begin_lie(&far);
    raw_answer(&n[0].id, &r.id, lie_key, 1, 1);
    raw_send();
    eventually(got.count == 1 && got.result == PHX_ETIMEDOUT && got.hops_count == 1
                   && same_id(&got.hops[0].id, &r.id),
               "a way that falls silent is told as far as it goes");
    raw_finish();
    finish_all(n, 1);
}

/* ---- Dumps -------------------------------------------------------------------------------------- */

/* Reads JSON, as strictly as RFC 8259: where the value ends, or NULL. Objects and arrays are opened on a
 * stack of their own. */
static const char *json_string(const char *s)
{
    if (*s++ != '"')
        return NULL;
    for (; *s != '"'; s++) {
        if ((unsigned char)*s < 0x20 || (unsigned char)*s > 0x7e)
            return NULL;
        if (*s != '\\')
            continue;
        s++;
        if (*s == 'u') {
            if (!isxdigit((unsigned char)s[1]) || !isxdigit((unsigned char)s[2])
                || !isxdigit((unsigned char)s[3]) || !isxdigit((unsigned char)s[4]))
                return NULL;
            s += 4;
        } else if (*s == '\0' || strchr("\"\\/bfnrt", *s) == NULL) {
            return NULL;
        }
    }
    return s + 1;
}

static const char *json_scalar(const char *s)
{
    const char *start = s;

    if (*s == '"')
        return json_string(s);
    if (strncmp(s, "true", 4) == 0)
        return s + 4;
    if (strncmp(s, "false", 5) == 0)
        return s + 5;
    s += *s == '-';
    while (isdigit((unsigned char)*s))
        s++;
    return s > start + (*start == '-') ? s : NULL;
}

static const char *json_space(const char *s)
{
    return s == NULL ? NULL : s + strspn(s, " \n");
}

static const char *json_key(const char *s)
{
    s = json_space(json_string(s));
    return s != NULL && *s == ':' ? json_space(s + 1) : NULL;
}

/* 1 if it is one value and nothing else. */
static int json_is_good(const char *s)
{
    char open[64];
    int depth = 0, begun = 1; /* begun: a container has just been opened, or nothing read yet */

    for (;;) {
        s = json_space(s);
        if (depth > 0 && (*s == '}' || *s == ']')) {
            if (*s != open[--depth])
                return 0;
            s++;
        } else {
            if (depth > 0 && !begun) {
                if (*s != ',')
                    return 0;
                s = json_space(s + 1);
            }
            if (depth > 0 && open[depth - 1] == '}' && (s = json_key(s)) == NULL)
                return 0;
            if (*s == '{' || *s == '[') {
                if (depth == (int)sizeof open)
                    return 0;
                open[depth++] = *s++ == '{' ? '}' : ']';
                begun = 1;
                continue;
            }
            if ((s = json_scalar(s)) == NULL)
                return 0;
        }
        begun = 0;
        if (depth == 0)
            return *json_space(s) == '\0';
    }
}

static size_t occurs(const char *text, const char *word)
{
    size_t count = 0;

    for (; (text = strstr(text, word)) != NULL; text += strlen(word))
        count++;
    return count;
}

static char *dump_of(struct node *of, int format)
{
    int size = phx_dump(of->p, format, NULL, 0), got_size;
    char *text = malloc((size_t)size + 1);

    if (!check(size > 0 && text != NULL, "a dump"))
        exit(1);
    got_size = phx_dump(of->p, format, text, (size_t)size + 1);
    check(got_size == size && strlen(text) == (size_t)size, "of the size that was said");
    return text;
}

static void test_self_check(void)
{
    ok(json_is_good("{\"a\":[1,-2,true,\"x\\\"\\u00ff\"],\"b\":{}}\n"), "good JSON is good");
    ok(!json_is_good("{\"a\":[1,]}") && !json_is_good("{\"a\" 1}") && !json_is_good("{} {}")
           && !json_is_good("[1}") && !json_is_good("[\"\\x\"]") && !json_is_good("[1 2]")
           && !json_is_good("{1:2}") && !json_is_good("[\"\x01\"]"),
       "bad JSON is bad");
}

static void test_dump(void)
{
    char id[PHX_ID_TEXT], odd[128], *text, *part;
    size_t i, size;

    begin_chain(4, 16);
    phx_assume(n[3].p, 18446744073709551000u, UINT64_MAX);
    for (i = 0; i < 6; i++)
        phx_assume(n[1].p, 100 * i, 100 * i + 9);
    snprintf(odd, sizeof odd, "unix://%s/q\"b\\ \xc3\xa4", dir);
    check(phx_listen(n[2].p, odd) == 0, "at an odd path");
    ok(phx_join(n[0].p, odd) == 0, "which is dialled");
    eventually(owns(&n[0], UINT64_MAX, &n[3]) && owns(&n[0], 509, &n[1]) && linked(&n[0], &n[2]),
               "a small network");
    text = dump_of(&n[0], PHX_DUMP_JSON);
    ok(json_is_good(text), "JSON, promise 113");
    ok(occurs(text, "\"incarnation\"") == phx_nodes(n[0].p, NULL, 0)
           && occurs(text, "\"peer\"") == phx_links(n[0].p, NULL, 0) + phx_hubs(n[0].p, NULL, 0),
       "all nodes, all links, all hubs");
    ok(occurs(text, "[\"18446744073709551000\",\"18446744073709551615\"]") == 1
           && occurs(text, "[\"500\",\"509\"]") == 1, "names, whole");
    ok(occurs(text, "q\\\"b\\\\ \\u00c3\\u00a4\"") == 2, "an odd path of a link and a hub, escaped");
    size = strlen(text);
    part = malloc(size + 1);
    for (i = 0; part != NULL && i <= size; i += 1 + i / 8) {
        memset(part, '#', size + 1);
        check(phx_dump(n[0].p, PHX_DUMP_JSON, part, i) == (int)size, "a part of %d", (int)i);
        check(i == 0 || (strlen(part) == i - 1 && memcmp(part, text, i - 1) == 0),
              "is the beginning");
        check(part[i] == '#', "and no byte more");
    }
    free(part);
    free(text);
    text = dump_of(&n[0], PHX_DUMP_DOT);
    for (i = 0; i < 4; i++)
        check(strstr(text, phx_id_text(&n[i].id, id)) != NULL, "node %d", (int)i);
    ok(occurs(text, "shape=doublecircle") == 1 && occurs(text, "label=") == 4
           && occurs(text, " -- ") - occurs(text, "color=gray];") == 2, "a graph");
    ok(occurs(text, "...\"") == 1, "a long list of names is cut");
    free(text);
    ok(phx_dump(n[0].p, 0, NULL, 0) == PHX_EINVAL && phx_dump(n[0].p, 3, NULL, 0) == PHX_EINVAL
           && phx_dump(NULL, PHX_DUMP_DOT, NULL, 0) == PHX_EINVAL
           && phx_dump(n[0].p, PHX_DUMP_DOT, NULL, 1) == PHX_EINVAL, "what it refuses");
    kill_node(&n[3]);
    await(look(&n[0], &n[3]).state != PHX_NODE_OK, PATIENCE);
    text = dump_of(&n[0], PHX_DUMP_JSON);
    ok(json_is_good(text) && occurs(text, "\"hops\":-1") == 1, "one that is gone");
    free(text);
    finish_all(n, 4);
}

static const struct test tests[] = {
    {"chain", test_chain},
    {"errors", test_errors},
    {"freed", test_freed},
    {"reason", test_reason},
    {"questions", test_questions},
    {"no_relay", test_no_relay},
    {"liar", test_liar},
    {"self_check", test_self_check},
    {"dump", test_dump},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
    if (test_begin() != 0)
        return 1;
    run_tests(tests, argc, argv);
    return test_finish();
}
