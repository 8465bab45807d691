/* t_record.c - cfg.record: a node's inputs run the same node again, bit by bit (promise 115).
 *
 * Goal: a node whose host calls all there is, from callbacks too, over real sockets, one that is killed in
 * the midst of it, and one that gets no memory do again, from their records, what they did. Payloads are in a
 * record, keys are not. Method: nodes.h over loopback, and test/sim/replay.sh on what they have recorded;
 * that this sees a difference is shown by a record in which one bit is another. */
#include "test.h"

#ifdef PHX_JOINED
#include "../../phoenix.c"
#endif

#include "nodes.h"

#include <sys/stat.h>
#include <sys/wait.h>

#define KEY "a key that is in no record of it"
#define BIG ((size_t)300000)

static struct phx_config cfg;
static char key_path[200];
static struct { /* of the one that is recorded */
    FILE *file;
    unsigned char *big; /* lent by on_begin */
    int released, abandoned, traced, dialled, asked;
} rec;

static const char *path_of(const char *name)
{
    static char path[200];

    mkdir("build", 0777);
    mkdir("build/record", 0777);
    snprintf(path, sizeof path, "build/record/%s.%d", name, (int)getpid());
    return path;
}

static void keep(const void *bytes, size_t size, void *user)
{
    (void)user;
    if (fwrite(bytes, 1, size, rec.file) != size)
        exit(1);
}

/* The last line of a replay of this record. */
static const char *replay(const char *path)
{
    static char line[300];
    char command[500];
    FILE *f;

    snprintf(command, sizeof command, "sh test/sim/replay.sh %s %s %s", path, key_path, key_path);
    line[0] = '\0';
    if ((f = popen(command, "r")) == NULL)
        return line;
    while (fgets(line, sizeof line, f) != NULL)
        printf("# %s", line);
    pclose(f);
    return line;
}

static void write_key(void)
{
    FILE *f;

    snprintf(key_path, sizeof key_path, "%s", path_of("key"));
    f = fopen(key_path, "wb");
    if (f == NULL || fwrite(KEY, 1, strlen(KEY), f) != strlen(KEY) || fclose(f) != 0)
        exit(1);
}

/* ---- A host that calls everything ------------------------------------------------------------------ */

static void released(const void *data, size_t size, void *arg)
{
    struct node *n = arg;

    (void)data, (void)size;
    rec.released++;
    if (n->p != NULL)
        (void)phx_send(n->p, 2, 1, 5, text_of(5), 40);
}

static void *began(phx *p, const struct phx_message *m, void *user)
{
    (void)user;
    (void)phx_owner(p, m->to, NULL);
    return m->tag % 2 ? NULL : (rec.big = malloc(m->size));
}

static void abandoned(phx *p, void *buffer, size_t size, void *user)
{
    (void)p, (void)size, (void)user;
    rec.abandoned++;
    free(buffer);
}

static void traced(phx *p, const struct phx_trace *t, void *user)
{
    (void)t, (void)user;
    rec.traced++;
    (void)phx_assume(p, 50, 60);
}

static void alone(phx *p, void *user)
{
    (void)user;
    rec.asked++;
    (void)phx_join(p, "tcp://127.0.0.1:9"); /* nobody is there */
}

static int dialled(phx *p, const char *address, void *user)
{
    (void)address, (void)user;
    rec.dialled++;
    (void)phx_unjoin(p, "wall://nobody");
    return PHX_EREFUSED;
}

static void answer(struct node *n, const struct phx_message *m)
{
    struct phx_range all = { 1, 3 };
    struct phx_cast c = { .ranges = &all, .ranges_count = 1, .from = 1, .tag = 9, .data = text_of(9),
                          .size = 50 };

    if (m->from != 1)
        (void)phx_send(n->p, m->from, 1, m->tag, m->data, m->size < 1000 ? m->size : 1000);
    if (m->tag == 3)
        (void)phx_cast(n->p, &c);
    if (m->data == rec.big)
        free(rec.big);
}

static void begin_recorded(struct node *n, const char *path, size_t mem_limit)
{
    memset(&rec, 0, sizeof rec);
    settings(n, &cfg);
    hurry(&cfg);
    cfg.key = KEY;
    cfg.key_size = strlen(KEY);
    cfg.label = "recorded";
    cfg.mem_limit = mem_limit;
    cfg.on_begin = began;
    cfg.on_abandon = abandoned;
    cfg.on_trace = traced;
    cfg.dial = dialled;
    cfg.on_need_hubs = alone;
    cfg.record = keep;
    if ((rec.file = fopen(path, "wb")) == NULL)
        exit(1);
    begin_as(n, &cfg, LOOPBACK);
    n->hook = answer;
}

static void begin_other(struct node *n, const char *join)
{
    settings(n, &cfg);
    hurry(&cfg);
    cfg.key = KEY;
    cfg.key_size = strlen(KEY);
    begin_as(n, &cfg, LOOPBACK);
    (void)phx_join(n->p, join);
    (void)phx_assume(n->p, 2, 2);
}

static void call_all(struct node *n, struct node *other)
{
    static unsigned char lent[100000];
    struct iovec iov[2] = { { (void *)(uintptr_t)text_of(1), 30 }, { NULL, 0 } };
    struct phx_outgoing m = { .to = 2, .from = 1, .tag = 1, .token = 7, .iov = iov, .iov_count = 2 };
    struct phx_key keys[1] = { { KEY, strlen(KEY) } };
    struct phx_lost lost;
    struct phx_detector d;

    memcpy(lent, text_of(1), sizeof lent);
    (void)phx_sendv(n->p, &m);
    (void)phx_send_owned(n->p, 2, 1, 1, lent, sizeof lent, released, n);
    (void)phx_send_owned(n->p, 999, 1, 1, lent, 10, released, n);
    ok(phx_reclaim(n->p, lent, n) == 0, "memory is taken back");
    m.token = 8;
    m.to = 998;
    (void)phx_sendv(n->p, &m);
    ok(phx_cancel(n->p, 8) == 0, "a message is");
    iov[1].iov_len = 5;
    ok(phx_sendv(n->p, &m) == PHX_EINVAL, "what is no message is none");
    (void)phx_trace(n->p, &other->id, 3);
    (void)phx_join(n->p, "wall://nobody");
    (void)phx_advertise(n->p, "tcp://127.0.0.1:99");
    (void)phx_set_keys(n->p, keys, 1);
    phx_get_detector(n->p, &d);
    d.timeout_us += 1000;
    (void)phx_set_detector(n->p, &d);
    (void)phx_broken(n->p, 0, UINT64_MAX, &lost, 1);
    (void)phx_hand(n->p, 3, 3, &other->id);
    (void)phx_release(n->p, 4, 4);
    (void)phx_busy(n->p, 1000);
    (void)phx_send(other->p, 1, 2, 3, text_of(3), 20);
    (void)phx_send(other->p, 1, 2, 4, text_of(4), BIG);
    (void)phx_send(other->p, 1, 2, 7, text_of(7), BIG);
}

static void live(struct node *n, struct node *other)
{
    struct phx_id stranger = { { 1, 2, 3 } };

    (void)phx_assume(n->p, 1, 1);
    (void)phx_assume(n->p, 3, 4);
    begin_other(other, n->at);
    eventually(n->event_count > 0 && phx_owner(n->p, 2, NULL) == 0, "two nodes know each other");
    call_all(n, other);
    eventually(rec.traced == 1 && rec.dialled > 0 && rec.asked > 0 && n->outcome_count == 2
                   && n->mail_count >= 3,
               "all that was called for has come");
    (void)phx_fail(n->p, &stranger);
    (void)phx_step(n->p, phx_now_us(), host_fds, 0);
}

/* promise 115 */
static void lived_again(enum host_kind kind)
{
    struct node n[2];
    char path[200];

    snprintf(path, sizeof path, "%s", path_of(kind == HOST_FD ? "fd" : "fds"));
    kind_of_new = kind;
    begin_recorded(&n[0], path, 0);
    live(&n[0], &n[1]);
    (void)phx_close(n[0].p, SECOND);
    eventually(phx_closed(n[0].p) == 1, "it leaves");
    finish_all(n, 2);
    fclose(rec.file);
    ok(strncmp(replay(path), "same: ", 6) == 0, "its record runs the same node again");
    kind_of_new = HOST_FD;
}

static int contains(const char *path, const void *what, size_t size, size_t *at, size_t *whole)
{
    FILE *f = fopen(path, "rb");
    unsigned char *bytes = malloc(8u << 20);
    int found = 0;

    *whole = f != NULL && bytes != NULL ? fread(bytes, 1, 8u << 20, f) : 0;
    for (*at = 0; !found && *at + size <= *whole; (*at)++)
        found = memcmp(bytes + *at, what, size) == 0;
    if (f != NULL)
        fclose(f);
    free(bytes);
    return found;
}

static void flip(const char *path, size_t at)
{
    FILE *f = fopen(path, "r+b");
    int c;

    if (f == NULL || fseek(f, (long)at, SEEK_SET) != 0 || (c = getc(f)) == EOF)
        exit(1);
    fseek(f, (long)at, SEEK_SET);
    putc(c ^ 1, f);
    fclose(f);
}

static void what_is_in_it(void)
{
    char path[200];
    size_t at, whole;

    snprintf(path, sizeof path, "%s", path_of("fds"));
    ok(contains(path, text_of(4), 60000, &at, &whole), "payloads are in a record");
    ok(!contains(path, KEY, 16, &at, &whole), "keys are not");
    flip(path, whole - 100); /* in what the run says of its state, at the end */
    ok(strncmp(replay(path), "differs: ", 9) == 0, "one bit of state is another: the replay sees it");
    remove(path);
    snprintf(path, sizeof path, "%s", path_of("fd"));
    ok(contains(path, text_of(3), 20, &at, &whole), "a message");
    remove(path);
}

/* promise 115: what the process did before it died */
static void killed(void)
{
    struct node n[2];
    char path[200];
    pid_t child;
    int status;

    snprintf(path, sizeof path, "%s", path_of("killed"));
    fflush(stdout);
    if ((child = fork()) == 0) {
        if (freopen("/dev/null", "w", stdout) == NULL)
            _exit(1);
        begin_recorded(&n[0], path, 0);
        setvbuf(rec.file, NULL, _IONBF, 0);
        live(&n[0], &n[1]);
        kill(getpid(), SIGKILL);
    }
    ok(waitpid(child, &status, 0) == child && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL, "killed");
    ok(strncmp(replay(path), "same, until the record ends: ", 29) == 0, "its record runs until then");
    remove(path);
}

/* promise 115: allocations that failed fail again, each at its place */
static void no_memory(void)
{
    struct node n[2];
    char path[200];

    snprintf(path, sizeof path, "%s", path_of("memory"));
    begin_recorded(&n[0], path, 0);
    begin_other(&n[1], n[0].at);
    for (int i = 0; i < 300; i++) {
        n[0].heap.fail_at = n[0].heap.calls + 1 + i % 4;
        (void)phx_assume(n[0].p, 100 + 2 * (uint64_t)i, 100 + 2 * (uint64_t)i);
        (void)phx_send(n[0].p, 2, 1, 1, text_of(1), 100 * (size_t)i);
        turn(1);
    }
    n[0].heap.fail_at = 0;
    eventually(phx_owner(n[0].p, 2, NULL) == 0 && phx_pending(n[0].p) == 0, "it has lived through it");
    finish_all(n, 2);
    fclose(rec.file);
    ok(strncmp(replay(path), "same: ", 6) == 0, "its record runs the same node again");
    remove(path);
}

static void ask_all(struct node *n, const struct phx_id *other)
{
    static char text[100000];
    struct phx_range range;
    struct phx_node node;
    struct phx_stats stats;

    ok(phx_nodes(n->p, &node, 1) > 0 && phx_names(n->p, &n->id, &range, 1) > 300
           && phx_stats(n->p, &stats) == 0 && phx_explain(n->p, &n->id, text, sizeof text) > 0
           && phx_explain(n->p, other, text, sizeof text) > 0
           && phx_dump(n->p, PHX_DUMP_JSON, text, sizeof text) > 0
           && phx_dump(n->p, PHX_DUMP_DOT, text, sizeof text) > 0 && phx_routes(n->p, NULL, 0) > 0
           && phx_links(n->p, NULL, 0) > 0 && phx_hubs(n->p, NULL, 0) == 1 && phx_pending(n->p) == 0,
       "questions are answered");
}

/* promise 115: questions are in no record, so they change nothing. Names that come in front of many others
 * are in several lists until the next step, and where they are decides what memory the next one takes. */
static void questions(void)
{
    struct node n[2];
    char path[200];

    snprintf(path, sizeof path, "%s", path_of("questions"));
    begin_recorded(&n[0], path, 0);
    begin_other(&n[1], n[0].at);
    eventually(phx_owner(n[0].p, 2, NULL) == 0, "two nodes know each other");
    for (uint64_t i = 0; i < 3000; i++) {
        (void)phx_assume(n[0].p, 10000 - 3 * i, 10000 - 3 * i);
        if (i % 500 == 499)
            ask_all(&n[0], &n[1].id);
        if (i % 1000 == 999)
            turn(1);
    }
    finish_all(n, 2);
    fclose(rec.file);
    ok(strncmp(replay(path), "same: ", 6) == 0, "its record runs the same node again");
    remove(path);
}

static void by_descriptor(void)
{
    lived_again(HOST_FD);
}

static void by_descriptors(void)
{
    lived_again(HOST_FDS);
}

static const struct test tests[] = {
    { "fd", by_descriptor },
    { "fds", by_descriptors },
    { "in_it", what_is_in_it },
    { "killed", killed },
    { "no_memory", no_memory },
    { "questions", questions },
    { NULL, NULL },
};

int main(int argc, char **argv)
{
    if (test_begin() != 0)
        return 1;
    write_key();
    run_tests(tests, argc, argv);
    remove(key_path);
    return test_finish();
}
