/* replay.c - runs a recorded node again, bit by bit: make replay FILE=record [KEYS='file ...'] [V=1] */
/* The record is what cfg.record of a node was given; src/node/record.h says what is in it. This is all of
 * src/ but its room os, in place of which the record answers: the world, clock, chance and the memory that
 * there was not. The host's calls are made where they were made, in callbacks too.
 *
 * At each note the run must be where the recorded one was: the same callbacks and memory, and as much drawn
 * at random, looked at and set on timers. The last line says "same" (status 0), or where it differs (1). If
 * the process was killed the record ends in the midst of something, and so does this. Under a debugger:
 *
 *      gdb -ex 'break replay_call if at == 1234' -ex run --args build/replay/replay RECORD
 *
 * The keys of a node are not in its record. KEYS are files with them, in the order in which it got them:
 * cfg.key, then those of each phx_set_keys. PEM files are read again by their paths. */
#include "build/replay/all.h" /* made by replay.sh: src/, but for os */

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static const char *const kinds[] = {
    "end of the record", "phx_new", "text", "world", "no memory", "listen", "accept", "dial", "finish",
    "local", "send", "recv", "close", "watch", "wait", "random", "resolve", "recvv", "now", "fit",
    "near", "own", "on_begin", "cfg.dial", "iov", "phx_step",
    "phx_step with fds", "phx_step and wait", "phx_send", "phx_sendv", "phx_cast", "phx_cancel",
    "phx_reclaim", "phx_assume", "phx_release", "phx_hand", "phx_owner", "phx_broken", "phx_listen",
    "phx_advertise", "phx_join", "phx_unjoin", "phx_adopt", "phx_set_keys", "phx_set_detector", "phx_busy",
    "phx_fail", "phx_trace", "phx_fd", "phx_close", "phx_free",
};

/* Memory that the host lent, by the address that it had there. */
struct lent {
    int64_t was;
    unsigned char *bytes;
    size_t size;
    unsigned times; /* 0: free */
};

static unsigned char *record;
static size_t record_size, at_byte;
static struct phx__note note;    /* the one taken last, */
static const unsigned char *bytes; /* what is behind it, */
static long at;                  /* and which it is */
static int verbose, freed;
static phx *node;
static int64_t allocations;    /* since that note */
static struct phx__note waits;     /* a step that is to come to wait(), and what that says; or of kind 0 */
static const unsigned char *waits_for;
static int own_world, wake_handle, has_recvv, world_fd;
static uint64_t used_at_first;
static struct lent *lents;
static size_t lent_count;
static char **key_files;

/* ---- Notes */

static const char *kind_text(uint32_t kind)
{
    kind &= ~(uint32_t)PHX__NOTE_INSIDE;
    return kind < sizeof kinds / sizeof kinds[0] ? kinds[kind] : "nothing known";
}

static void end(int status, const char *said)
{
    printf("%s: %ld notes, %lu callbacks\n", said, at, (unsigned long)note.told);
    fflush(stdout);
    _Exit(status);
}

/* The next note, without its bytes; 0: there is none, or half of one. */
static int peek(struct phx__note *out)
{
    if (record_size - at_byte < sizeof *out)
        return 0;
    memcpy(out, record + at_byte, sizeof *out);
    return out->size <= record_size - at_byte - sizeof *out;
}

/* Is the run where the record was? */
static int agrees(const struct phx__note *next)
{
    const uint64_t state = PHX__NOTE_STATE(node);

    switch (next->kind & ~(uint32_t)PHX__NOTE_INSIDE) {
    case PHX__NOTE_STEP:
    case PHX__NOTE_SEND:
    case PHX__NOTE_RECV: return 1;
    case PHX__NOTE_SEND_PLAIN: return next->told == node->mem.told;
    default: return next->told == node->mem.told && next->used == node->mem.used && next->state == state;
    }
}

static void differs(uint32_t wants)
{
    struct phx__note next = { 0 };

    (void)peek(&next);
    printf("# note %ld, byte %lu: the record has %s, and this node %s\n", at + 1, (unsigned long)at_byte,
           kind_text(next.kind), kind_text(wants));
    if (node != NULL && !freed)
        printf("# callbacks %lu and %lu, memory %lu and %lu, state %lx and %lx\n", (unsigned long)next.told,
               (unsigned long)node->mem.told, (unsigned long)next.used, (unsigned long)node->mem.used,
               (unsigned long)next.state,
               (unsigned long)PHX__NOTE_STATE(node));
    end(1, "differs");
}

static void take(uint32_t kind)
{
    struct phx__note next;

    if (!peek(&next))
        end(0, "same, until the record ends");
    if ((next.kind & ~(uint32_t)PHX__NOTE_INSIDE) != kind)
        differs(kind);
    /* A step that waited is looked at when it comes to wait(). */
    if (node != NULL && !freed && kind != PHX__NOTE_STEP_WAITED && !agrees(&next))
        differs(kind);
    note = next;
    bytes = record + at_byte + sizeof next;
    at_byte += sizeof next + next.size;
    at++;
    if (kind != PHX__NOTE_STEP && kind != PHX__NOTE_STEP_WAITED)
        allocations = 0;
    if (verbose)
        printf("# %ld %s %ld, %u bytes\n", at, kind_text(note.kind), (long)note.value, note.size);
}

/* The bytes behind the note are of so many, or the record is none. */
static const void *fits(size_t size)
{
    if (note.size != size)
        end(2, "malformed, or of another phoenix.c");
    return bytes;
}

/* What the world said. The real one may have asked for memory of the node, too. */
static int64_t answer(uint32_t kind)
{
    struct phx__note next;

    while (peek(&next) && next.kind == PHX__NOTE_NO_MEMORY)
        at_byte += sizeof next + next.size, at++;
    if (!own_world && node != NULL && peek(&next) && next.kind != PHX__NOTE_RECV
        && next.kind != PHX__NOTE_SEND)
        node->mem.used = next.used;
    take(kind);
    return note.value;
}

static void *need(void *p)
{
    if (p == NULL)
        end(2, "no memory");
    return p;
}

/* ---- What the host lent */

static struct lent *lend(int64_t was, const void *data, size_t size)
{
    struct lent *l = lents, *free_one = NULL;

    for (; l < lents + lent_count; l++) {
        if (l->times > 0 && l->was == was && l->size >= size) {
            l->times++;
            return l;
        }
        free_one = l->times == 0 ? l : free_one;
    }
    if (free_one == NULL) {
        lents = need(realloc(lents, ++lent_count * sizeof *lents));
        free_one = &lents[lent_count - 1];
    }
    *free_one = (struct lent){ was, need(calloc(1, size + 1)), size, 1 };
    if (data != NULL)
        memcpy(free_one->bytes, data, size);
    return free_one;
}

static void give_back(const void *data)
{
    for (struct lent *l = lents; l < lents + lent_count; l++)
        if (l->times > 0 && l->bytes == data && --l->times == 0)
            free(l->bytes);
}

/* ---- The host's calls */

static void call_inside(void);

static void on_release(const void *data, size_t size, void *arg)
{
    (void)size, (void)arg;
    call_inside();
    give_back(data);
}

static void call_send(void)
{
    struct phx_outgoing m;
    struct iovec *iov;
    int n;

    memcpy(&m, fits(sizeof m), sizeof m);
    n = m.iov != NULL && m.iov_count > 0 ? m.iov_count : 0;
    iov = need(calloc((size_t)n + 1, sizeof *iov));
    for (int i = 0; i < n; i++) {
        take(PHX__NOTE_IOV);
        iov[i].iov_len = note.value < 0 ? (size_t)-note.value : note.size;
        iov[i].iov_base = note.value <= 0 ? NULL : (void *)(uintptr_t)bytes;
        if (m.release != NULL && n == 1 && note.value > 0)
            iov[i].iov_base = lend(note.value, bytes, note.size)->bytes;
    }
    m.iov = m.iov != NULL ? iov : NULL;
    m.release = m.release != NULL ? on_release : NULL;
    if (phx_sendv(node, &m) != 0 && m.release != NULL)
        give_back(iov[0].iov_base); /* release is not called then */
    free(iov);
}

static void call_cast(void)
{
    struct phx_cast c;
    struct phx_range *ranges;

    memcpy(&c, fits(sizeof c), sizeof c);
    take(PHX__NOTE_IOV);
    ranges = need(malloc(note.size + 1)); /* aligned, as the record is not */
    memcpy(ranges, fits(c.ranges_count * sizeof *ranges), note.size);
    c.ranges = ranges;
    take(PHX__NOTE_IOV);
    c.data = c.data != NULL ? fits(c.size) : NULL;
    (void)phx_cast(node, &c);
    free(ranges);
}

static void call_hand(const struct phx_range *r)
{
    struct phx_id heir;

    take(PHX__NOTE_IOV);
    memcpy(&heir, fits(sizeof heir), sizeof heir);
    (void)phx_hand(node, r->first, r->last, &heir);
}

static void call_reclaim(int64_t was)
{
    void *arg;
    const void *buffer = &was; /* never lent */

    memcpy(&arg, fits(sizeof arg), sizeof arg);
    for (struct lent *l = lents; l < lents + lent_count; l++)
        if (l->times > 0 && l->was == was)
            buffer = l->bytes;
    (void)phx_reclaim(node, buffer, arg);
}

/* The next key, as long as there are KEYS. */
static size_t next_key(unsigned char *key)
{
    int size;

    if (key_files == NULL || *key_files == NULL)
        end(2, "this node has keys: KEYS='file ...' in the order in which it got them");
    if ((size = phx_read_key(*key_files, key, PHX_KEY_MAX)) < 0)
        end(2, *key_files);
    key_files++;
    return (size_t)size;
}

static void call_keys(int64_t count)
{
    unsigned char bytes_of[2][PHX_KEY_MAX];
    struct phx_key keys[2];

    for (int i = 0; i < count && count <= 2; i++)
        keys[i] = (struct phx_key){ bytes_of[i], next_key(bytes_of[i]) };
    (void)phx_set_keys(node, keys, (int)count);
}

static void call_step(uint64_t now)
{
    size_t n = note.size / sizeof(struct pollfd);
    struct pollfd *fds = need(calloc(n + 1, sizeof *fds));

    memcpy(fds, bytes, n * sizeof *fds);
    (void)phx_step(node, now, fds, (int)n);
    free(fds);
}

static void call_step_that_waits(uint64_t now)
{
    waits = note;
    waits_for = bytes;
    (void)phx_step(node, now, NULL, 0);
    if (waits.kind != 0 && !freed)
        differs(PHX__NOTE_STEP); /* without a wait() */
}

static void call_ranges(uint32_t kind, int64_t first)
{
    struct phx_range r = { (uint64_t)first, 0 };
    struct phx_lost lost;

    memcpy(&r.last, fits(sizeof r.last), sizeof r.last);
    switch (kind) {
    case PHX__NOTE_ASSUME: (void)phx_assume(node, r.first, r.last); break;
    case PHX__NOTE_RELEASE: (void)phx_release(node, r.first, r.last); break;
    case PHX__NOTE_HAND: call_hand(&r); break;
    default: (void)phx_broken(node, r.first, r.last, &lost, 1); break;
    }
}

static void call_ids(uint32_t kind, uint64_t token)
{
    struct phx_id id;

    memcpy(&id, fits(sizeof id), sizeof id);
    if (kind == PHX__NOTE_FAIL)
        (void)phx_fail(node, &id);
    else
        (void)phx_trace(node, &id, token);
}

static void call_addresses(uint32_t kind)
{
    const char *text = (const char *)bytes;

    if (note.size == 0 || text[note.size - 1] != 0)
        end(2, "malformed");
    switch (kind) {
    case PHX__NOTE_BIND: (void)phx_listen(node, text); break;
    case PHX__NOTE_ADVERTISE: (void)phx_advertise(node, text); break;
    case PHX__NOTE_JOIN: (void)phx_join(node, text); break;
    default: (void)phx_unjoin(node, text); break;
    }
}

/* The note taken last is a call: here it is. */
static void replay_call(uint32_t kind, int64_t value)
{
    struct phx_detector d;
    int dialer;

    switch (kind) {
    case PHX__NOTE_STEP: (void)phx_step(node, (uint64_t)value, NULL, 0); break;
    case PHX__NOTE_STEP_GIVEN: call_step((uint64_t)value); break;
    case PHX__NOTE_STEP_WAITED: call_step_that_waits((uint64_t)value); break;
    case PHX__NOTE_SEND_PLAIN:
        (void)phx_send(node, (uint64_t)value, note.used, note.state, bytes, note.size);
        break;
    case PHX__NOTE_SENDV: call_send(); break;
    case PHX__NOTE_CAST: call_cast(); break;
    case PHX__NOTE_CANCEL: (void)phx_cancel(node, (uint64_t)value); break;
    case PHX__NOTE_RECLAIM: call_reclaim(value); break;
    case PHX__NOTE_ASSUME:
    case PHX__NOTE_RELEASE:
    case PHX__NOTE_HAND:
    case PHX__NOTE_BROKEN: call_ranges(kind, value); break;
    case PHX__NOTE_OWNER: (void)phx_owner(node, (uint64_t)value, NULL); break;
    case PHX__NOTE_BIND:
    case PHX__NOTE_ADVERTISE:
    case PHX__NOTE_JOIN:
    case PHX__NOTE_UNJOIN: call_addresses(kind); break;
    case PHX__NOTE_ADOPT:
        memcpy(&dialer, fits(sizeof dialer), sizeof dialer);
        (void)phx_adopt(node, (int)value, dialer);
        break;
    case PHX__NOTE_KEYS: call_keys(value); break;
    case PHX__NOTE_DETECTOR:
        memcpy(&d, fits(sizeof d), sizeof d);
        (void)phx_set_detector(node, &d);
        break;
    case PHX__NOTE_FD: (void)phx_fd(node); break;
    case PHX__NOTE_BUSY: (void)phx_busy(node, (uint64_t)value); break;
    case PHX__NOTE_FAIL:
    case PHX__NOTE_TRACE: call_ids(kind, (uint64_t)value); break;
    case PHX__NOTE_LEAVE: (void)phx_close(node, (uint64_t)value); break;
    case PHX__NOTE_FREE: phx_free(node); break;
    default: differs(0);
    }
}

static int is_call(const struct phx__note *n, int inside)
{
    return (n->kind & ~(uint32_t)PHX__NOTE_INSIDE) >= PHX__NOTE_STEP
           && ((n->kind & PHX__NOTE_INSIDE) != 0) == inside;
}

/* In a callback: the calls that were made in this one. */
static void call_inside(void)
{
    struct phx__note next;
    uint64_t told = node->mem.told;

    while (peek(&next) && is_call(&next, 1) && next.told == told) {
        take(next.kind & ~(uint32_t)PHX__NOTE_INSIDE);
        replay_call(next.kind & ~(uint32_t)PHX__NOTE_INSIDE, next.value);
    }
}

/* ---- Callbacks */

static void on_message(phx *p, const struct phx_message *m, void *user)
{
    (void)p, (void)user;
    call_inside();
    give_back(m->data); /* if it is a buffer of on_begin */
}

static void *on_begin(phx *p, const struct phx_message *m, void *user)
{
    size_t size = m->size;

    (void)p, (void)user;
    call_inside();
    take(PHX__NOTE_BEGIN);
    return note.value == 0 ? NULL : lend(note.value, NULL, size)->bytes;
}

static void on_abandon(phx *p, void *buffer, size_t size, void *user)
{
    (void)p, (void)size, (void)user;
    call_inside();
    give_back(buffer);
}

static void on_done(phx *p, uint64_t token, uint64_t to, uint64_t tag, int result, void *user)
{
    (void)p, (void)token, (void)to, (void)tag, (void)result, (void)user;
    call_inside();
}

static void on_member(phx *p, uint64_t token, uint64_t to, int result, size_t left, void *user)
{
    (void)p, (void)token, (void)to, (void)result, (void)left, (void)user;
    call_inside();
}

static void on_writable(phx *p, uint64_t to, void *user)
{
    (void)p, (void)to, (void)user;
    call_inside();
}

static void on_node(phx *p, const struct phx_node *n, void *user)
{
    (void)p, (void)n, (void)user;
    call_inside();
}

static void on_broken(phx *p, const struct phx_lost *lost, int broken, void *user)
{
    (void)p, (void)lost, (void)broken, (void)user;
    call_inside();
}

static void on_conflict(phx *p, struct phx_range range, const struct phx_id *winner, void *user)
{
    (void)p, (void)range, (void)winner, (void)user;
    call_inside();
}

static void on_trace(phx *p, const struct phx_trace *trace, void *user)
{
    (void)p, (void)trace, (void)user;
    call_inside();
}

static void on_need_hubs(phx *p, void *user)
{
    (void)p, (void)user;
    call_inside();
}

static void on_log(phx *p, int level, const char *line, void *user)
{
    (void)p, (void)user;
    if (verbose)
        printf("# log %d: %s\n", level, line);
    call_inside();
}

static int on_dial(phx *p, const char *address, void *user)
{
    (void)p, (void)address, (void)user;
    call_inside();
    take(PHX__NOTE_STREAM);
    return (int)note.value;
}

/* ---- The world, and memory */

static int world_made(uint32_t kind, int *handle)
{
    int64_t n = answer(kind);

    if (n >= 0)
        *handle = (int)n;
    return n < 0 ? (int)n : 0;
}

static int world_listen(void *world, struct phx_address *at_which, int *handle)
{
    int err = world_made(PHX__NOTE_LISTEN, handle);

    (void)world;
    memcpy(at_which, fits(sizeof *at_which), sizeof *at_which);
    return err;
}

static int world_accept(void *world, int listener, int *handle, struct phx_address *from)
{
    int err = world_made(PHX__NOTE_ACCEPT, handle);

    (void)world, (void)listener;
    memcpy(from, bytes, err == 0 ? sizeof *from : 0);
    return err;
}

static int world_dial(void *world, const struct phx_address *to, int *handle)
{
    (void)world, (void)to;
    return world_made(PHX__NOTE_DIAL, handle);
}

static int world_finish(void *world, int handle)
{
    (void)world, (void)handle;
    return (int)answer(PHX__NOTE_FINISH);
}

static int world_local(void *world, int handle, struct phx_address *out)
{
    int err = (int)answer(PHX__NOTE_LOCAL);

    (void)world, (void)handle;
    memcpy(out, fits(sizeof *out), sizeof *out);
    return err;
}

static long world_send(void *world, int handle, const struct iovec *iov, int count)
{
    (void)world, (void)handle, (void)iov, (void)count;
    return (long)answer(PHX__NOTE_SEND);
}

static long world_recv(void *world, int handle, void *data, size_t size)
{
    int64_t n = answer(PHX__NOTE_RECV);

    (void)world, (void)handle;
    if (n > 0 && ((size_t)n != note.size || note.size > size))
        differs(PHX__NOTE_RECV);
    memcpy(data, bytes, n > 0 ? (size_t)n : 0);
    return (long)n;
}

static long world_recvv(void *world, int handle, const struct iovec *iov, int count)
{
    int64_t n = answer(PHX__NOTE_RECVV);
    int64_t left = n;

    (void)world, (void)handle;
    for (int i = 0; i < count && left > 0; i++) {
        take(PHX__NOTE_IOV);
        if (note.size > iov[i].iov_len)
            differs(PHX__NOTE_RECVV);
        memcpy(iov[i].iov_base, bytes, note.size);
        left -= note.size;
    }
    return (long)n;
}

static void world_close(void *world, int handle)
{
    (void)world;
    if (answer(PHX__NOTE_CLOSE) != handle)
        differs(PHX__NOTE_CLOSE);
}

static int world_watch(void *world, int handle, int events)
{
    (void)world, (void)handle, (void)events;
    return (int)answer(PHX__NOTE_WATCH);
}

static int world_wait(void *world, struct phx_ready *out, int capacity)
{
    const struct phx__note step = waits;
    int n;

    (void)world, (void)capacity;
    if (step.kind != 0) {
        waits.kind = 0;
        allocations = 0;
        if (!agrees(&step))
            differs(PHX__NOTE_STEP_WAITED);
        memcpy(out, waits_for, step.size);
        return (int)(step.size / sizeof *out);
    }
    n = (int)answer(PHX__NOTE_WAIT);
    memcpy(out, bytes, n > 0 ? (size_t)n * sizeof *out : 0);
    return n;
}

static int world_random(void *world, void *out, size_t size)
{
    int err = (int)answer(PHX__NOTE_RANDOM);

    (void)world;
    if (err == 0)
        memcpy(out, fits(size), size);
    return err;
}

static int world_resolve(void *world, const char *host, struct phx_address *out, int capacity)
{
    int n = (int)answer(PHX__NOTE_RESOLVE);

    (void)world, (void)host, (void)capacity;
    memcpy(out, bytes, n > 0 ? (size_t)n * sizeof *out : 0);
    return n;
}

static int world_fd_of(void *world)
{
    (void)world;
    return world_fd;
}

static int world_wake(void *world)
{
    (void)world;
    return 0;
}

/* Of a world that is not the built-in one. */
static int world_wake_other(void *world)
{
    (void)world;
    return 0;
}

static uint64_t world_now(void *world)
{
    (void)world;
    return (uint64_t)answer(PHX__NOTE_NOW);
}

static void world_os(struct phx_os *os)
{
    *os = (struct phx_os){ PHX_OS_VERSION, NULL, world_listen, world_accept, world_dial, world_finish,
                           world_local, world_send, world_recv, world_close, world_watch, world_wait,
                           world_random, world_resolve, world_fd_of, world_wake, NULL,
                           has_recvv ? world_recvv : NULL, world_now };
}

/* What the room os is to the node, if it had no world of its own. */
int phx__os_init(struct phx_os *os, struct phx__mem *mem)
{
    mem->used = used_at_first;
    world_os(os);
    return 0;
}

int phx__os_wake_handle(const struct phx_os *os)
{
    return os->wake == world_wake ? wake_handle : -1;
}

void phx__os_wake_drain(const struct phx_os *os)
{
    (void)os;
}

void phx__os_patience(const struct phx_os *os, int handle, int yes)
{
    (void)os, (void)handle, (void)yes;
}

int phx__os_adopt(const struct phx_os *os, int fd)
{
    (void)os, (void)fd;
    return (int)answer(PHX__NOTE_FIT);
}

int phx__os_samehost_listen(const struct phx_os *os, const struct phx_address *address, int *handle)
{
    (void)os, (void)address;
    return world_made(PHX__NOTE_NEAR, handle);
}

int phx__os_samehost_dial(const struct phx_os *os, const struct phx_address *to, int *handle)
{
    (void)os, (void)to;
    return world_made(PHX__NOTE_NEAR, handle);
}

int phx__os_samehost_is_own(const struct phx_os *os, const struct phx_address *a)
{
    (void)os, (void)a;
    return (int)answer(PHX__NOTE_OWN);
}

long phx__os_read_file(const char *path, void *out, size_t capacity)
{
    FILE *f = fopen(path, "rb");
    size_t size;

    if (f == NULL)
        return PHX_EFILE;
    size = fread(out, 1, capacity, f);
    fclose(f);
    return (long)size;
}

#ifdef PHX_TLS
uint64_t phx__os_wall_seconds(void)
{
    return (uint64_t)time(NULL);
}
#endif

uint64_t phx_now_us(void)
{
    return 0; /* not asked: the world has a clock */
}

static void *memory(void *world, void *old, size_t old_size, size_t new_size)
{
    struct phx__note next;
    void *got;

    (void)world, (void)old_size;
    if (new_size == 0) {
        freed |= old == node;
        free(old);
        return NULL;
    }
    allocations += node != NULL;
    if (node != NULL && peek(&next) && next.kind == PHX__NOTE_NO_MEMORY && next.value == allocations) {
        take(PHX__NOTE_NO_MEMORY);
        return NULL;
    }
    got = need(realloc(old, new_size));
    if (node == NULL)
        node = got; /* the first one is the node itself */
    return got;
}

/* ---- All of it */

static const struct phx_alloc alloc = { memory, NULL };
static struct phx_os os;

/* The node's configuration, from the first notes. */
static void config(struct phx_config *c, uint64_t *now)
{
    static unsigned char key[PHX_KEY_MAX];
    static struct phx_id id;
    struct phx__note next;
    const char **texts[] = { &c->cluster, &c->label, &c->tls_ca, &c->tls_cert, &c->tls_key };

    take(PHX__NOTE_NEW);
    memcpy(c, fits(sizeof *c), sizeof *c);
    *now = (uint64_t)note.value;
    used_at_first = note.used;
    own_world = c->os != NULL;
    while (peek(&next) && next.kind == PHX__NOTE_TEXT) {
        take(PHX__NOTE_TEXT);
        if (note.value == PHX__COUNT(texts))
            c->id = memcpy(&id, fits(sizeof id), sizeof id);
        else
            *texts[note.value % (int)PHX__COUNT(texts)] = (const char *)bytes;
    }
    if (c->key != NULL) {
        c->key = key;
        c->key_size = next_key(key);
    }
    c->alloc = &alloc;
    c->os = own_world ? &os : NULL;
    c->record = NULL;
}

#define SET(name) c->name = c->name != NULL ? name : NULL
static void callbacks(struct phx_config *c)
{
    SET(on_message);
    SET(on_begin);
    SET(on_abandon);
    SET(on_done);
    SET(on_member);
    SET(on_writable);
    SET(on_node);
    SET(on_broken);
    SET(on_conflict);
    SET(on_trace);
    SET(on_need_hubs);
    SET(on_log);
    c->on_handed = c->on_handed != NULL ? on_conflict : NULL;
    c->dial = c->dial != NULL ? on_dial : NULL;
}

static void start(void)
{
    struct phx_config c;
    uint64_t now;
    int two[2], err;
    phx *p;

    config(&c, &now);
    callbacks(&c);
    take(PHX__NOTE_WORLD);
    memcpy(two, fits(sizeof two), sizeof two);
    world_fd = (int)note.value;
    wake_handle = two[0];
    has_recvv = two[1];
    world_os(&os);
    os.wake = own_world ? world_wake_other : world_wake; /* it is not the built-in one */
    if ((err = phx_new(&p, &c, now)) != 0)
        end(at_byte < record_size, phx_strerror(err));
}

static void load(const char *path)
{
    FILE *f = fopen(path, "rb");

    if (f == NULL || fseek(f, 0, SEEK_END) != 0)
        end(2, path);
    record_size = (size_t)ftell(f);
    rewind(f);
    record = need(malloc(record_size + 1));
    if (fread(record, 1, record_size, f) != record_size)
        end(2, path);
    fclose(f);
}

int main(int argc, char **argv)
{
    struct phx__note next;

    if (argc > 1 && strcmp(argv[1], "-v") == 0)
        verbose = 1, argc--, argv++;
    if (argc < 2) {
        fprintf(stderr, "usage: replay [-v] RECORD [KEYFILE ...]\n");
        return 2;
    }
    load(argv[1]);
    key_files = argv + 2;
    start();
    while (!freed && peek(&next)) {
        if (!is_call(&next, 0))
            differs(0);
        take(next.kind);
        replay_call(next.kind, next.value);
    }
    if (freed && at_byte < record_size)
        differs(0);
    end(0, freed ? "same" : "same, until the record ends");
    return 0;
}
