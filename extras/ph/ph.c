/* ph.c - the papers' blocking calls over phoenix.h: sets of names, a queue with tags, broken names. */

/* Sets are arrays of ranges in canonical form: ascending, neither overlapping nor touching. Every
 * operation is one sweep over the borders of both operands with a truth table of two inputs
 * (sweep), so union, intersection and difference cannot differ in how they treat the ends of the
 * space. The result is built in fresh memory and swapped in last; hence a call that fails has
 * changed nothing and `out` may be an operand.
 *
 * The queue is one list in the order of arrival. A receive by tag walks it, which costs the number
 * of messages in front; queue_messages bounds that. Every message carries a serial number, and so
 * does the first break that the program has not been told of. ph_recv compares the two: messages
 * from before the break come before it, as they would have come had the program been waiting all
 * the time.
 *
 * The bound of the queue is kept by not reading. phx_step takes its news of readiness from the
 * host, and a host that never mentions PHX_READ is a host whose links are not read: TCP and then
 * the senders' credit hold the senders back. Heartbeats, acks and what is queued still go out.
 * Nothing is dropped, because the core keeps a message at its source until it has been handed over
 * here.
 *
 * Which names are broken is the core's knowledge (phx_broken). Here is only kept which breaks the
 * program has not been told of yet (fresh). Without memory to note one, `fresh_unnamed` still makes
 * ph_recv report it, and ph_get_broken_vps finds the name with the core, unless it healed in
 * between.
 *
 * Differences from the paper: ph_recv has a time limit and a result apart from the message; sets
 * are values with an owner; ph_get_broken_vps fills a set instead of returning one;
 * ph_set_parameter says which parameter; a watch set narrows which breaks interrupt a receive. */
#include "ph.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- Memory ---------------------------------------------------------------------------------- */

static void *ph_alloc(const struct phx_alloc *a, void *old, size_t old_size, size_t new_size)
{
    if (a->alloc != NULL)
        return a->alloc(a->world, old, old_size, new_size);
    if (new_size > 0)
        return realloc(old, new_size);
    free(old);
    return NULL;
}

/* An array of count elements; NULL also if that is more than there are bytes. */
static void *ph_array(const struct phx_alloc *a, size_t count, size_t each)
{
    return count > SIZE_MAX / each ? NULL : ph_alloc(a, NULL, 0, count * each);
}

/* ---- Sets ------------------------------------------------------------------------------------ */

/* Truth tables: bit 2 * in_a + in_b says whether such a name is in the result. */
enum { KEEP_UNION = 0xe, KEEP_INTERSECTION = 0x8, KEEP_DIFFERENCE = 0x4 };

/* Where a sweep is in one set: the first range that does not end before the current name. */
struct cursor {
    const struct phx_range *range, *end;
};

static int cursor_inside(const struct cursor *c, uint64_t name)
{
    return c->range < c->end && c->range->first <= name;
}

/* The last name from here on for which nothing changes. */
static uint64_t cursor_until(const struct cursor *c, uint64_t name)
{
    if (c->range == c->end)
        return UINT64_MAX;
    return cursor_inside(c, name) ? c->range->last : c->range->first - 1;
}

static void cursor_pass(struct cursor *c, uint64_t name)
{
    if (c->range < c->end && c->range->last == name)
        c->range++;
}

/* Appends, in ascending order; what touches is joined. */
static size_t append(struct phx_range *to, size_t count, uint64_t first, uint64_t last)
{
    if (count > 0 && to[count - 1].last == first - 1) {
        to[count - 1].last = last;
        return count;
    }
    to[count].first = first;
    to[count].last = last;
    return count + 1;
}

static size_t sweep(struct phx_range *to, struct cursor a, struct cursor b, int keep)
{
    uint64_t name = 0, until, until_b;
    size_t count = 0;

    for (;;) {
        until = cursor_until(&a, name);
        until_b = cursor_until(&b, name);
        until = until < until_b ? until : until_b;
        if (keep >> (2 * cursor_inside(&a, name) + cursor_inside(&b, name)) & 1)
            count = append(to, count, name, until);
        if (until == UINT64_MAX || (a.range == a.end && b.range == b.end))
            return count;
        cursor_pass(&a, until);
        cursor_pass(&b, until);
        name = until + 1;
    }
}

static struct cursor cursor_of(const struct phx_range *ranges, size_t count)
{
    struct cursor c;

    c.range = ranges;
    c.end = count > 0 ? ranges + count : ranges;
    return c;
}

/* Takes the array in place of what the set had. */
static void vps_swap(struct ph_vps *s, struct phx_range *ranges, size_t count, size_t capacity)
{
    ph_vps_free(s);
    s->ranges = ranges;
    s->count = count;
    s->capacity = capacity;
}

static int combine(struct ph_vps *out, const struct ph_vps *a, const struct phx_range *b,
                   size_t b_count, int keep)
{
    size_t room = a->count + b_count, count;
    struct phx_range *ranges;

    if (room == 0) {
        ph_vps_clear(out);
        return 0;
    }
    if ((ranges = ph_array(&out->alloc, room, sizeof *ranges)) == NULL)
        return PHX_ENOMEM;
    count = sweep(ranges, cursor_of(a->ranges, a->count), cursor_of(b, b_count), keep);
    vps_swap(out, ranges, count, room);
    return 0;
}

int ph_vps_union(struct ph_vps *out, const struct ph_vps *a, const struct ph_vps *b)
{
    return combine(out, a, b->ranges, b->count, KEEP_UNION);
}

int ph_vps_intersection(struct ph_vps *out, const struct ph_vps *a, const struct ph_vps *b)
{
    return combine(out, a, b->ranges, b->count, KEEP_INTERSECTION);
}

int ph_vps_difference(struct ph_vps *out, const struct ph_vps *a, const struct ph_vps *b)
{
    return combine(out, a, b->ranges, b->count, KEEP_DIFFERENCE);
}

int ph_vps_copy(struct ph_vps *out, const struct ph_vps *a)
{
    return combine(out, a, NULL, 0, KEEP_UNION);
}

static int change(struct ph_vps *s, uint64_t first, uint64_t last, int keep)
{
    struct phx_range one;

    if (first > last)
        return PHX_ERANGE;
    one.first = first;
    one.last = last;
    return combine(s, s, &one, 1, keep);
}

int ph_vps_add(struct ph_vps *s, uint64_t first, uint64_t last)
{
    return change(s, first, last, KEEP_UNION);
}

int ph_vps_remove(struct ph_vps *s, uint64_t first, uint64_t last)
{
    return change(s, first, last, KEEP_DIFFERENCE);
}

static int by_first(const void *a, const void *b)
{
    const struct phx_range *x = a, *y = b;

    return x->first < y->first ? -1 : x->first > y->first;
}

int ph_vps_make(struct ph_vps *out, const struct phx_range *ranges, size_t count)
{
    struct phx_range *sorted;
    size_t i, kept = 0;

    for (i = 0; i < count; i++)
        if (ranges[i].first > ranges[i].last)
            return PHX_ERANGE;
    if (count == 0) {
        ph_vps_clear(out);
        return 0;
    }
    if ((sorted = ph_array(&out->alloc, count, sizeof *sorted)) == NULL)
        return PHX_ENOMEM;
    memcpy(sorted, ranges, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, by_first);
    for (i = 0; i < count; i++) {
        if (kept > 0
            && (sorted[kept - 1].last == UINT64_MAX
                || sorted[kept - 1].last + 1 >= sorted[i].first)) {
            if (sorted[i].last > sorted[kept - 1].last)
                sorted[kept - 1].last = sorted[i].last;
        } else {
            sorted[kept++] = sorted[i];
        }
    }
    vps_swap(out, sorted, kept, count);
    return 0;
}

void ph_vps_clear(struct ph_vps *s)
{
    s->count = 0;
}

void ph_vps_free(struct ph_vps *s)
{
    if (s == NULL)
        return;
    if (s->ranges != NULL)
        ph_alloc(&s->alloc, s->ranges, s->capacity * sizeof *s->ranges, 0);
    s->ranges = NULL;
    s->count = s->capacity = 0;
}

/* The first range that does not end before this name; count if there is none. */
static size_t vps_find(const struct ph_vps *s, uint64_t name)
{
    size_t low = 0, high = s->count, middle;

    while (low < high) {
        middle = low + (high - low) / 2;
        if (s->ranges[middle].last < name)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

int ph_vps_meets(const struct ph_vps *s, uint64_t first, uint64_t last)
{
    size_t i = vps_find(s, first);

    return first <= last && i < s->count && s->ranges[i].first <= last;
}

int ph_vps_contains(const struct ph_vps *s, uint64_t name)
{
    return ph_vps_meets(s, name, name);
}

int ph_vps_covers(const struct ph_vps *a, const struct ph_vps *b)
{
    size_t i, at;

    for (i = 0; i < b->count; i++) {
        at = vps_find(a, b->ranges[i].first);
        if (at == a->count || a->ranges[at].first > b->ranges[i].first
            || a->ranges[at].last < b->ranges[i].last)
            return 0;
    }
    return 1;
}

int ph_vps_equal(const struct ph_vps *a, const struct ph_vps *b)
{
    return a->count == b->count
           && (a->count == 0 || memcmp(a->ranges, b->ranges, a->count * sizeof *a->ranges) == 0);
}

uint64_t ph_vps_size(const struct ph_vps *s)
{
    uint64_t size = 0;
    size_t i;

    for (i = 0; i < s->count; i++)
        size += s->ranges[i].last - s->ranges[i].first + 1;
    return size == 0 && s->count > 0 ? UINT64_MAX : size; /* only the whole space wraps to 0 */
}

int ph_vps_at(const struct ph_vps *s, uint64_t index, uint64_t *name)
{
    uint64_t gap;
    size_t i;

    for (i = 0; i < s->count; i++) {
        gap = s->ranges[i].last - s->ranges[i].first;
        if (index <= gap) {
            *name = s->ranges[i].first + index;
            return 0;
        }
        index -= gap + 1;
    }
    return PHX_ENOTFOUND;
}

#define TURN_EACH_US 10000 /* a call that need not wait turns the node so often all the same */

/* ---- The handle ------------------------------------------------------------------------------ */

/* The message comes first, so that its address is the queued one's. The bytes follow behind. */
struct queued {
    struct ph_msg msg;
    struct queued *next;
    uint64_t serial;
    size_t bytes; /* of this allocation */
};

struct ph {
    phx *p;
    struct phx_alloc alloc;
    struct phx_config user; /* the program's callbacks and its pointer for them */
    size_t messages_max, bytes_max;
    struct queued *first, **end; /* end: where the next one is hung */
    size_t messages, bytes;
    uint64_t serial;       /* of the latest message */
    uint64_t lost;         /* messages there was no memory for, not told yet */
    struct ph_vps watch;   /* which breaks are reported */
    struct ph_vps fresh;   /* broken since they were last asked for; a part of watch */
    int fresh_unnamed;     /* there was no memory to note which */
    uint64_t broke_serial; /* the latest message when the first of fresh broke */
    struct pollfd *fds;
    size_t fds_capacity;
    int more;    /* the last phx_step left work */
    int closing; /* messages are no longer wanted */
    uint64_t turned_at; /* when phx_step was last called */
};

phx *ph_core(struct ph *h)
{
    return h->p;
}

size_t ph_queued(const struct ph *h)
{
    return h->messages;
}

static int queue_is_full(const struct ph *h)
{
    return h->messages >= h->messages_max || h->bytes >= h->bytes_max;
}

static int break_is_untold(const struct ph *h)
{
    return h->fresh.count > 0 || h->fresh_unnamed;
}

/* ---- Callbacks of the core ------------------------------------------------------------------- */

static void on_message(phx *p, const struct phx_message *m, void *user)
{
    struct ph *h = user;
    size_t bytes = sizeof(struct queued) + m->size;
    struct queued *q;

    (void)p;
    if (h->closing)
        return;
    q = m->size > SIZE_MAX - sizeof *q ? NULL : ph_alloc(&h->alloc, NULL, 0, bytes);
    if (q == NULL) {
        h->lost++;
        return;
    }
    memset(q, 0, sizeof *q);
    q->bytes = bytes;
    q->serial = ++h->serial;
    q->msg.to = m->to;
    q->msg.from = m->from;
    q->msg.tag = m->tag;
    q->msg.source = m->source;
    q->msg.size = m->size;
    if (m->size > 0) {
        q->msg.data = q + 1;
        memcpy(q->msg.data, m->data, m->size);
    }
    *h->end = q;
    h->end = &q->next;
    h->messages++;
    h->bytes += m->size;
}

/* Notes which of these names are watched and so must be told of. */
static void note_break(struct ph *h, uint64_t first, uint64_t last)
{
    struct ph_vps both = PH_VPS_EMPTY;
    int known = break_is_untold(h);

    if (!ph_vps_meets(&h->watch, first, last))
        return;
    both.alloc = h->alloc;
    if (ph_vps_add(&both, first, last) != 0 || ph_vps_intersection(&both, &both, &h->watch) != 0
        || ph_vps_union(&h->fresh, &h->fresh, &both) != 0)
        h->fresh_unnamed = 1;
    ph_vps_free(&both);
    if (!known)
        h->broke_serial = h->serial;
}

static void on_broken(phx *p, const struct phx_lost *lost, int broken, void *user)
{
    struct ph *h = user;

    if (broken)
        note_break(h, lost->range.first, lost->range.last);
    if (h->user.on_broken != NULL)
        h->user.on_broken(p, lost, broken, h->user.user);
}

static void on_done(phx *p, uint64_t token, uint64_t to, uint64_t tag, int result, void *user)
{
    struct ph *h = user;

    h->user.on_done(p, token, to, tag, result, h->user.user);
}

static void on_member(phx *p, uint64_t token, uint64_t to, int result, size_t left, void *user)
{
    struct ph *h = user;

    h->user.on_member(p, token, to, result, left, h->user.user);
}

static void on_node(phx *p, const struct phx_node *node, void *user)
{
    struct ph *h = user;

    h->user.on_node(p, node, h->user.user);
}

static void on_conflict(phx *p, struct phx_range range, const struct phx_id *winner, void *user)
{
    struct ph *h = user;

    h->user.on_conflict(p, range, winner, h->user.user);
}

static void on_handed(phx *p, struct phx_range range, const struct phx_id *giver, void *user)
{
    struct ph *h = user;

    h->user.on_handed(p, range, giver, h->user.user);
}

static void on_trace(phx *p, const struct phx_trace *trace, void *user)
{
    struct ph *h = user;

    h->user.on_trace(p, trace, h->user.user);
}

static void on_need_hubs(phx *p, void *user)
{
    struct ph *h = user;

    h->user.on_need_hubs(p, h->user.user);
}

static void on_log(phx *p, int level, const char *line, void *user)
{
    struct ph *h = user;

    h->user.on_log(p, level, line, h->user.user);
}

static int dial(phx *p, const char *address, void *user)
{
    struct ph *h = user;

    return h->user.dial(p, address, h->user.user);
}

static void record(const void *bytes, size_t size, void *user)
{
    struct ph *h = user;

    h->user.record(bytes, size, h->user.user);
}

/* ---- Life ------------------------------------------------------------------------------------ */

void ph_config_init(struct ph_config *cfg)
{
    memset(cfg, 0, sizeof *cfg);
    phx_config_init(&cfg->core);
    cfg->queue_messages = 16384; /* a tag is looked for in a tenth of a millisecond at most */
    cfg->queue_bytes = (size_t)64 << 20;
}

/* Puts ph between the core and the callbacks that the program has set. */
static void interpose(struct ph *h, struct phx_config *core)
{
    h->user = *core;
    core->user = h;
    core->on_message = on_message;
    core->on_broken = on_broken;
    core->on_done = h->user.on_done != NULL ? on_done : NULL;
    core->on_member = h->user.on_member != NULL ? on_member : NULL;
    core->on_node = h->user.on_node != NULL ? on_node : NULL;
    core->on_conflict = h->user.on_conflict != NULL ? on_conflict : NULL;
    core->on_handed = h->user.on_handed != NULL ? on_handed : NULL;
    core->on_trace = h->user.on_trace != NULL ? on_trace : NULL;
    core->on_need_hubs = h->user.on_need_hubs != NULL ? on_need_hubs : NULL;
    core->on_log = h->user.on_log != NULL ? on_log : NULL;
    core->dial = h->user.dial != NULL ? dial : NULL;
    core->record = h->user.record != NULL ? record : NULL;
}

int ph_init(struct ph **out, const struct ph_config *cfg)
{
    struct phx_alloc alloc = { NULL, NULL };
    struct ph_config defaults;
    struct phx_config core;
    struct ph *h;
    int err;

    *out = NULL;
    ph_config_init(&defaults);
    cfg = cfg != NULL ? cfg : &defaults;
    core = cfg->core;
    if (cfg->queue_messages == 0 || cfg->queue_bytes == 0 || core.on_message != NULL
        || core.on_writable != NULL || core.on_begin != NULL || core.on_abandon != NULL)
        return PHX_EINVAL;
    if (core.alloc != NULL)
        alloc = *core.alloc;
    if ((h = ph_alloc(&alloc, NULL, 0, sizeof *h)) == NULL)
        return PHX_ENOMEM;
    memset(h, 0, sizeof *h);
    h->alloc = h->watch.alloc = h->fresh.alloc = alloc;
    h->messages_max = cfg->queue_messages;
    h->bytes_max = cfg->queue_bytes;
    h->end = &h->first;
    interpose(h, &core);
    if ((err = ph_vps_add(&h->watch, 0, UINT64_MAX)) == 0)
        err = phx_new(&h->p, &core, phx_now_us());
    if (err != 0)
        ph_free(h);
    else
        *out = h;
    return err;
}

void ph_msg_free(struct ph *h, struct ph_msg *m)
{
    struct queued *q = (struct queued *)m;

    if (q != NULL)
        ph_alloc(&h->alloc, q, q->bytes, 0);
}

static void queue_drop(struct ph *h)
{
    struct queued *q;

    while ((q = h->first) != NULL) {
        h->first = q->next;
        ph_msg_free(h, &q->msg);
    }
    h->end = &h->first;
    h->messages = h->bytes = 0;
}

void ph_free(struct ph *h)
{
    struct phx_alloc alloc;

    if (h == NULL)
        return;
    alloc = h->alloc;
    phx_free(h->p);
    queue_drop(h);
    ph_vps_free(&h->watch);
    ph_vps_free(&h->fresh);
    if (h->fds != NULL)
        ph_alloc(&alloc, h->fds, h->fds_capacity * sizeof *h->fds, 0);
    ph_alloc(&alloc, h, sizeof *h, 0);
}

/* ---- Turning the node ------------------------------------------------------------------------ */

/* What the core wants watched, in h->fds; how many, or PHX_ENOMEM. */
static int collect_fds(struct ph *h)
{
    int n = phx_fds(h->p, h->fds, (int)h->fds_capacity);
    struct pollfd *fds;

    if ((size_t)n > h->fds_capacity) {
        fds = ph_array(&h->alloc, (size_t)n, sizeof *fds);
        if (fds == NULL)
            return PHX_ENOMEM;
        if (h->fds != NULL)
            ph_alloc(&h->alloc, h->fds, h->fds_capacity * sizeof *fds, 0);
        h->fds = fds;
        h->fds_capacity = (size_t)n;
        n = phx_fds(h->p, h->fds, n);
    }
    return n;
}

static int stepped(struct ph *h, int result)
{
    h->turned_at = phx_now_us();
    h->more = result > 0;
    return result < 0 ? result : 0;
}

/* A step that writes and keeps its times, but reads nothing. */
static int turn_unread(struct ph *h)
{
    int i, n = collect_fds(h);

    if (n < 0)
        return n;
    for (i = 0; i < n; i++) {
        h->fds[i].events = (short)(h->fds[i].events & POLLOUT);
        h->fds[i].revents = 0;
        if (h->fds[i].events == 0)
            h->fds[i].fd = -1; /* poll would still speak of errors and hang-ups */
    }
    if (poll(h->fds, (nfds_t)n, 0) < 0)
        n = 0;
    for (i = 0; i < n; i++)
        h->fds[i].revents = (short)(h->fds[i].revents & POLLOUT);
    return stepped(h, phx_step(h->p, phx_now_us(), h->fds, n));
}

/* A step that looks by itself. */
static int turn(struct ph *h)
{
    if (queue_is_full(h))
        return turn_unread(h);
    return stepped(h, phx_step(h->p, phx_now_us(), NULL, 0));
}

/* Sleeps until the node has something to do, but at most until `end` on the clock. */
static int rest(struct ph *h, uint64_t end)
{
    uint64_t now = phx_now_us(), left = end > now ? end - now : 0;
    int ms = phx_timeout_ms(h->p, now), n = 1, fd = phx_fd(h->p);
    struct pollfd one = { -1, POLLIN, 0 };

    if (h->more)
        return 0;
    if (left < (uint64_t)INT32_MAX * 1000 && (ms < 0 || (uint64_t)ms * 1000 > left))
        ms = (int)((left + 999) / 1000);
    one.fd = fd;
    if (fd < 0 && (n = collect_fds(h)) < 0)
        return n;
    if (poll(fd >= 0 ? &one : h->fds, (nfds_t)n, ms) < 0 && errno != EINTR)
        return PHX_EIO;
    return 0;
}

static uint64_t end_of(uint64_t wait_us)
{
    uint64_t now = phx_now_us();

    return wait_us > UINT64_MAX - now ? UINT64_MAX : now + wait_us;
}

/* One round of waiting for something until `end`: 0 to look again, or why not. */
static int wait_once(struct ph *h, uint64_t end)
{
    int err;

    if (queue_is_full(h)) {
        err = turn_unread(h); /* what we have to say may still go out */
        return err != 0 ? err : PHX_ELIMIT;
    }
    if (phx_now_us() < end && (err = rest(h, end)) != 0)
        return err;
    if ((err = turn(h)) != 0)
        return err;
    return phx_now_us() >= end ? PHX_ETIMEDOUT : 0;
}

/* What was sent gets its time before the goodbye, for the goodbye ends what is left. The names go first:
 * what is sent to them meanwhile should wait for another owner. */
static int finish(struct ph *h, uint64_t drain_us)
{
    uint64_t end = end_of(drain_us), last = end_of(drain_us > UINT64_MAX - 1000000 ? drain_us
                                                                                   : drain_us + 1000000);
    int err = phx_release(h->p, 0, UINT64_MAX), late;

    while (err == 0 && phx_pending(h->p) > 0 && phx_now_us() < end)
        if ((err = rest(h, end)) == 0)
            err = turn(h);
    late = phx_pending(h->p) > 0;
    if (err == 0)
        err = phx_close(h->p, 0);
    while (err == 0 && !phx_closed(h->p) && phx_now_us() < last)
        if ((err = rest(h, last)) == 0)
            err = turn(h);
    return err == 0 && (late || !phx_closed(h->p)) ? PHX_ETIMEDOUT : err;
}

int ph_finalize(struct ph *h, uint64_t drain_us)
{
    int err;

    if (h == NULL)
        return 0;
    if ((err = turn(h)) == PHX_ESTATE) /* inside a callback */
        return err;
    h->closing = 1;
    queue_drop(h);
    err = finish(h, drain_us);
    ph_free(h);
    return err;
}

/* ---- Names and messages ---------------------------------------------------------------------- */

int ph_assume(struct ph *h, uint64_t first, uint64_t last)
{
    return phx_assume(h->p, first, last);
}

int ph_release(struct ph *h, uint64_t first, uint64_t last)
{
    return phx_release(h->p, first, last);
}

/* Adds what one node holds. */
static int add_held(struct ph *h, const struct phx_id *owner, struct ph_vps *to)
{
    size_t count = phx_names(h->p, owner, NULL, 0);
    struct ph_vps one = PH_VPS_EMPTY;
    struct phx_range *ranges;
    int err;

    if (count == 0)
        return 0;
    if ((ranges = ph_array(&h->alloc, count, sizeof *ranges)) == NULL)
        return PHX_ENOMEM;
    phx_names(h->p, owner, ranges, count);
    one.alloc = h->alloc;
    if ((err = ph_vps_make(&one, ranges, count)) == 0)
        err = ph_vps_union(to, to, &one);
    ph_vps_free(&one);
    ph_alloc(&h->alloc, ranges, count * sizeof *ranges, 0);
    return err;
}

int ph_get_held_vps(struct ph *h, const struct ph_vps *names, struct ph_vps *out)
{
    size_t i, count = phx_nodes(h->p, NULL, 0);
    struct phx_node *nodes = ph_array(&h->alloc, count, sizeof *nodes);
    struct ph_vps held = PH_VPS_EMPTY;
    int err = nodes == NULL ? PHX_ENOMEM : 0;

    held.alloc = h->alloc;
    if (err == 0)
        phx_nodes(h->p, nodes, count);
    for (i = 0; i < count && err == 0; i++)
        if (nodes[i].hops >= 0)
            err = add_held(h, &nodes[i].id, &held);
    if (err == 0)
        err = names != NULL ? ph_vps_intersection(out, &held, names) : ph_vps_copy(out, &held);
    ph_vps_free(&held);
    if (nodes != NULL)
        ph_alloc(&h->alloc, nodes, count * sizeof *nodes, 0);
    return err;
}

int ph_send(struct ph *h, uint64_t to, uint64_t from, uint64_t tag, const void *data, size_t size,
            uint64_t wait_us)
{
    uint64_t end = end_of(wait_us);
    int err, over = 0;

    while ((err = phx_send(h->p, to, from, tag, data, size)) == PHX_EAGAIN && over == 0)
        over = phx_broken(h->p, to, to, NULL, 0) > 0 ? PHX_EFAILED : wait_once(h, end);
    return err == PHX_EAGAIN ? over : err;
}

/* Unhangs the first message that fits and came before any break that is still to be told. */
static int take(struct ph *h, const uint64_t *tag, struct ph_msg **out)
{
    struct queued **at, *q;

    if (h->lost > 0) {
        h->lost--;
        return PHX_ENOMEM;
    }
    for (at = &h->first; *at != NULL && tag != NULL && (*at)->msg.tag != *tag; at = &(*at)->next)
        ;
    q = *at;
    if (break_is_untold(h) && (q == NULL || q->serial > h->broke_serial))
        return PH_MSG_ERROR;
    if (q == NULL)
        return PHX_EAGAIN;
    *at = q->next;
    if (*at == NULL)
        h->end = at;
    h->messages--;
    h->bytes -= q->msg.size;
    *out = &q->msg;
    return 0;
}

static int receive(struct ph *h, const uint64_t *tag, uint64_t wait_us, struct ph_msg **out)
{
    uint64_t end = end_of(wait_us);
    int err, over = 0;

    *out = NULL;
    /* A program that has much to read, or looks for nothing but breaks, must not seem dead to others. */
    if (break_is_untold(h) || phx_now_us() > h->turned_at + TURN_EACH_US)
        (void)turn(h);
    while ((err = take(h, tag, out)) == PHX_EAGAIN && over == 0)
        over = wait_once(h, end);
    return err == PHX_EAGAIN ? over : err;
}

int ph_recv(struct ph *h, uint64_t tag, uint64_t wait_us, struct ph_msg **out)
{
    return receive(h, &tag, wait_us, out);
}

int ph_recv_any(struct ph *h, uint64_t wait_us, struct ph_msg **out)
{
    return receive(h, NULL, wait_us, out);
}

int ph_poll(struct ph *h)
{
    int err = turn(h);

    return err != 0 ? err : h->first != NULL || h->lost > 0 || break_is_untold(h);
}

int ph_flush(struct ph *h, uint64_t wait_us)
{
    uint64_t end = end_of(wait_us);
    int err = 0;

    while (phx_pending(h->p) > 0 && err == 0)
        err = wait_once(h, end);
    return phx_pending(h->p) == 0 && err == PHX_ETIMEDOUT ? 0 : err;
}

/* ---- Failures -------------------------------------------------------------------------------- */

/* Adds what the core calls broken among first..last. */
static int add_broken(struct ph *h, uint64_t first, uint64_t last, struct ph_vps *to)
{
    size_t i, count = phx_broken(h->p, first, last, NULL, 0);
    struct phx_lost *lost;
    int err = 0;

    if (count == 0)
        return 0;
    if ((lost = ph_array(&h->alloc, count, sizeof *lost)) == NULL)
        return PHX_ENOMEM;
    phx_broken(h->p, first, last, lost, count);
    for (i = 0; i < count && err == 0; i++)
        err = ph_vps_add(to, lost[i].range.first, lost[i].range.last);
    ph_alloc(&h->alloc, lost, count * sizeof *lost, 0);
    return err;
}

/* What of `names` is broken now, in *to. */
static int find_broken(struct ph *h, const struct ph_vps *names, struct ph_vps *to)
{
    size_t i;
    int err = 0;

    for (i = 0; i < names->count && err == 0; i++)
        err = add_broken(h, names->ranges[i].first, names->ranges[i].last, to);
    return err != 0 ? err : ph_vps_intersection(to, to, names);
}

int ph_watch(struct ph *h, const struct ph_vps *names)
{
    struct ph_vps watch = PH_VPS_EMPTY, fresh = PH_VPS_EMPTY;
    int err, known = break_is_untold(h);

    watch.alloc = fresh.alloc = h->alloc;
    /* Those that are new to the set and broken; then those that were fresh and stay in it. */
    if ((err = ph_vps_difference(&watch, names, &h->watch)) == 0
        && (err = find_broken(h, &watch, &fresh)) == 0
        && (err = ph_vps_intersection(&watch, &h->fresh, names)) == 0
        && (err = ph_vps_union(&fresh, &fresh, &watch)) == 0
        && (err = ph_vps_copy(&watch, names)) == 0) {
        vps_swap(&h->watch, watch.ranges, watch.count, watch.capacity);
        vps_swap(&h->fresh, fresh.ranges, fresh.count, fresh.capacity);
        if (!known)
            h->broke_serial = h->serial;
        return 0;
    }
    ph_vps_free(&watch);
    ph_vps_free(&fresh);
    return err;
}

int ph_exist_broken_vps(struct ph *h, const struct ph_vps *names)
{
    size_t i;

    if (names == NULL)
        return phx_broken(h->p, 0, UINT64_MAX, NULL, 0) > 0;
    for (i = 0; i < names->count; i++)
        if (phx_broken(h->p, names->ranges[i].first, names->ranges[i].last, NULL, 0) > 0)
            return 1;
    return 0;
}

int ph_get_broken_vps(struct ph *h, const struct ph_vps *names, struct ph_vps *out)
{
    static const struct phx_range everything = { 0, UINT64_MAX };
    struct ph_vps all = PH_VPS_EMPTY, found = PH_VPS_EMPTY, fresh = PH_VPS_EMPTY;
    int err;

    all.alloc = found.alloc = fresh.alloc = h->alloc;
    err = names != NULL ? ph_vps_copy(&all, names) : ph_vps_make(&all, &everything, 1);
    if (err == 0 && (err = find_broken(h, &all, &found)) == 0
        && (err = ph_vps_intersection(&fresh, &h->fresh, &all)) == 0
        && (err = ph_vps_union(&found, &found, &fresh)) == 0
        && (err = ph_vps_difference(&fresh, &h->fresh, &all)) == 0
        && (err = ph_vps_copy(out, &found)) == 0) {
        vps_swap(&h->fresh, fresh.ranges, fresh.count, fresh.capacity);
        h->fresh_unnamed &= !ph_vps_covers(&all, &h->watch);
    } else {
        ph_vps_free(&fresh);
    }
    ph_vps_free(&all);
    ph_vps_free(&found);
    return err;
}

int ph_set_parameters(struct ph *h, const struct phx_detector *detector)
{
    return phx_set_detector(h->p, detector);
}

int ph_set_parameter(struct ph *h, int parameter, double value)
{
    struct phx_detector d;
    uint64_t us;

    if (!(value >= 0 && value <= 1e9)) /* 30 years; not a number fails as well */
        return PHX_EINVAL;
    us = (uint64_t)(value * 1e6 + 0.5);
    phx_get_detector(h->p, &d);
    switch (parameter) {
    case PH_K:
        d.monitors = (uint32_t)value;
        if ((double)d.monitors != value)
            return PHX_EINVAL;
        break;
    case PH_T_INTERVAL: d.interval_us = us; break;
    case PH_T_INSURANCE: d.insurance_us = us; break;
    case PH_T_TIMEOUT: d.timeout_us = us; break;
    case PH_T_BROKEN: d.broken_us = us; break;
    default: return PHX_EINVAL;
    }
    return ph_set_parameters(h, &d);
}
