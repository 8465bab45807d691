/* t_handover_brain.c - the hand-over of names without a node: scripts, and a naive model of 64 names. */
#include "test.h"
#ifdef PHX_JOINED
#include "../../phoenix.c"
#else
#include "base/rnd.h"
#include "node/handover.h"
#endif

#define NODES 4u /* the node itself is 0 */
#define NAMES 64u  /* of the model */
#define WORLD 1100u /* of the scripts */
#define STRETCHED 140u
#define NOBODY 9u
#define HOPS 7

static const uint64_t first_wait = 200 * PHX__MS, last_wait = 2 * PHX__SECOND;

/* A brain and a world for it: who holds each name, by which epoch. What the brain asks for becomes text. */
struct rig {
    struct test_heap heap;
    struct phx__mem mem;
    struct phx__ids ids;
    struct phx__timers timers;
    struct phx__node_handover h;
    uint64_t now;
    uint8_t owner[WORLD], epoch[WORLD], epoch_max;
    int closing, held_fails; /* no memory to look at names */
    char said[4096];
};

static void say(struct rig *r, const char *format, ...)
{
    size_t n = strlen(r->said);
    va_list args;

    va_start(args, format);
    vsnprintf(r->said + n, sizeof r->said - n, format, args);
    va_end(args);
}

static void set_names(struct rig *r, uint64_t first, uint64_t last, uint32_t node, uint32_t epoch)
{
    for (; first <= last && first < WORLD; first++) {
        r->owner[first] = (uint8_t)node;
        r->epoch[first] = (uint8_t)epoch;
    }
    if (epoch > r->epoch_max)
        r->epoch_max = (uint8_t)epoch;
}

/* The next hop towards node i is i. */
static uint32_t rig_way(phx *ctx, const struct phx_id *id)
{
    struct rig *r = (void *)ctx;

    return phx__id_find(&r->ids, id);
}

static int rig_send(phx *ctx, uint32_t nbr, int type, int flags, int hops, const void *body)
{
    struct rig *r = (void *)ctx;
    uint8_t data[96];
    struct phx__writer w;
    struct phx__frame f;
    struct phx__hand hand;
    size_t used;

    phx__buf_writer_init(&w, data, sizeof data);
    phx__wire_link_put(&w, type, flags, hops, body);
    check(!w.bad && phx__wire_parse(data, w.size, &f, &used) == 1
              && phx__wire_link_get(&f, PHX__HAND, &hand) == 0 && used == w.size,
          "a good HAND");
    say(r, "HAND:%u-%u@%u>%u/%d ", (unsigned)hand.first, (unsigned)hand.last, (unsigned)hand.epoch,
        (unsigned)nbr, f.hops);
    return 1;
}

static int rig_life(phx *ctx, uint32_t node, uint64_t *incarnation, uint32_t *seq)
{
    (void)ctx;
    (void)seq;
    *incarnation = 100 + node;
    return node != 3; /* no route has ever told of that one */
}

static int rig_held(phx *ctx, uint32_t node, const struct phx_range *range, uint64_t epoch,
                    struct phx_range *out)
{
    struct rig *r = (void *)ctx;
    uint64_t i = range->first;

    if (r->held_fails)
        return PHX_ENOMEM;
    while (i < WORLD && i <= range->last && (r->owner[i] != node || r->epoch[i] > epoch))
        i++;
    if (i >= WORLD || i > range->last)
        return 0;
    out->first = out->last = i;
    while (++i < WORLD && i <= range->last && r->owner[i] == node && r->epoch[i] == r->epoch[i - 1])
        out->last = i;
    return 1;
}

static void rig_release(phx *ctx, const struct phx_range *range)
{
    struct rig *r = (void *)ctx;
    uint64_t i;

    if (range->last < WORLD)
        say(r, "release:%u-%u ", (unsigned)range->first, (unsigned)range->last);
    else
        say(r, "release:%u- ", (unsigned)range->first);
    for (i = range->first; i < WORLD && i <= range->last; i++)
        if (r->owner[i] == PHX__SELF)
            r->owner[i] = NOBODY;
}

static int rig_take(phx *ctx, const struct phx_range *range, const struct phx_id *giver)
{
    struct rig *r = (void *)ctx;

    if (r->closing)
        return 0;
    say(r, "take:%u-%u<%u ", (unsigned)range->first, (unsigned)range->last,
        (unsigned)phx__id_find(&r->ids, giver));
    set_names(r, range->first, range->last, PHX__SELF, r->epoch_max + (r->epoch_max < 200));
    return 1;
}

static void rig_end(phx *ctx, uint32_t ranges)
{
    say((void *)ctx, "end:%u ", (unsigned)ranges);
}

static const struct phx__node_handover_ops rig_ops = { rig_held, rig_release, rig_take, rig_end };

static int rig_init(struct rig *r, int relay, long fail_at)
{
    struct phx__node_env env = { &r->mem, &r->ids, &r->timers, HOPS, relay,
                                (void *)r, rig_way, rig_send, rig_life };
    struct phx_alloc alloc;
    struct phx_id id;
    uint32_t i, node;

    memset(r, 0, sizeof *r);
    memset(r->owner, (int)NOBODY, sizeof r->owner);
    alloc.alloc = test_alloc;
    alloc.world = &r->heap;
    phx__mem_init(&r->mem, &alloc, 0);
    phx__id_init(&r->ids, &r->mem, 100);
    phx__timer_init(&r->timers, &r->mem);
    for (i = 0; i < NODES; i++) {
        memset(&id, (int)i + 1, sizeof id);
        if (phx__id_add(&r->ids, &id, &node) != 0)
            exit(1);
    }
    r->now = 5 * PHX__SECOND;
    r->heap.fail_at = fail_at > 0 ? r->heap.calls + fail_at : 0;
    return phx__node_handover_init(&r->h, &env, &rig_ops);
}

static void rig_free(struct rig *r)
{
    phx__mem_put(r->h.env.mem, r->h.at, r->h.capacity * sizeof *r->h.at);
    phx__timer_free(&r->timers);
    phx__id_free(&r->ids);
    check(r->mem.used == 0 && test_heap_is_clean(&r->heap), "no memory is left behind");
}

/* Time passes, and timers fire in it. */
static void rig_wait(struct rig *r, uint64_t until)
{
    uint32_t arg;
    int kind;

    while (phx__timer_next(&r->timers) <= until) {
        if (phx__timer_next(&r->timers) > r->now)
            r->now = phx__timer_next(&r->timers);
        check(phx__timer_pop(&r->timers, r->now, &kind, &arg) == 1 && kind == PHX__TIMER_HAND, "its timer");
        phx__node_handover_due(&r->h, r->now);
    }
    r->now = until;
}

static int rig_hand(struct rig *r, uint32_t target, uint32_t giver, uint64_t first, uint64_t last,
                    uint64_t epoch, uint64_t incarnation, int hops)
{
    uint8_t data[128];
    struct phx__writer w;
    struct phx__hand hand;
    struct phx__frame f;
    size_t used;

    hand.target = r->ids.at[target];
    hand.giver = r->ids.at[giver];
    hand.first = first;
    hand.last = last;
    hand.epoch = epoch;
    hand.incarnation = incarnation;
    phx__buf_writer_init(&w, data, sizeof data);
    phx__wire_link_put(&w, PHX__HAND, 0, hops, &hand);
    check(phx__wire_parse(data, w.size, &f, &used) == 1, "a whole frame");
    return phx__node_handover_on_hand(&r->h, &f);
}

/* ---- Scripts --------------------------------------------------------------------------------- */

/* Steps, M being the last name of all:
 *
 *      o5-9:2@7        the names 5 to 9 are node 2's, by epoch 7 (9: nobody's); the brain is told
 *      g5-9>2=0        give them to node 2; results: 0, F PHX_ENOTFOUND, S PHX_ESTATE, M PHX_ENOMEM
 *      t250            250 ms pass
 *      x2              node 2 has failed
 *      r, e            release what is not handed; end
 *      h5-9:1@7        a HAND for us: node 1 gives them; i: in a former life; p: the HAND is for node 2
 *      c, f            this node is closing; there is no memory to look at names
 */
static const struct script {
    const char *name, *steps, *said;
} scripts[] = {
    { "nothing held, nothing given", "g5-9>1=F", "" },
    { "not all held", "o5-8:0@1 g5-9>1=F o5-9:0@1 o7-7:2@2 g5-9>1=F g5-6>1=0", "" },
    { "two claims side by side", "o5-6:0@1 o7-9:0@2 g5-9>1=0 t0", "HAND:5-9@2>1/7 " },
    { "asked again, less and less often", "o5-9:0@1 g5-9>1=0 t0 t199 t1 t399 t1 t799 t1 t1599 t1 t1999 t1",
      "HAND:5-9@1>1/7 HAND:5-9@1>1/7 HAND:5-9@1>1/7 HAND:5-9@1>1/7 HAND:5-9@1>1/7 HAND:5-9@1>1/7 " },
    { "the same once more", "o5-9:0@1 g5-9>1=0 g5-9>1=0 g6-7>1=0 t0", "HAND:5-9@1>1/7 " },
    { "to another", "o5-9:0@1 g5-9>1=0 g9-9>2=S g5-5>2=S g4-4>2=F", "" },
    { "more to the same", "o4-9:0@1 g5-6>1=0 g5-9>1=0 t0", "HAND:5-9@1>1/7 " },
    { "more on both sides: each name once", "o0-9:0@1 g2-3>1=0 g6-7>1=0 o0-9:0@1 g3-6>1=0 t0",
      "HAND:2-2@1>1/7 HAND:3-6@1>1/7 HAND:7-7@1>1/7 " },
    { "taken", "o5-9:0@1 g5-9>1=0 t0 o5-9:1@2 t5000 g5-9>1=F", "HAND:5-9@1>1/7 " },
    { "the beginning taken: the rest at once", "o5-9:0@1 g5-9>1=0 t0 o5-6:1@2 t0 t100",
      "HAND:5-9@1>1/7 HAND:7-9@1>1/7 " },
    { "the middle taken: all is asked for", "o5-9:0@1 g5-9>1=0 t0 o6-6:1@2 t0 t200",
      "HAND:5-9@1>1/7 HAND:5-9@1>1/7 " },
    { "released and taken back: another claim", "o5-9:0@1 g5-9>1=0 o5-9:9@0 t0 o5-9:0@2 t5000", "" },
    { "taken back by a later claim at once", "o5-9:0@1 g5-9>1=0 o5-9:0@2 t5000 g5-9>2=0", "" },
    { "the heir fails", "o5-9:0@1 g5-6>1=0 g7-7>2=0 g8-9>1=0 x1 t0 x1 x3", "end:2 HAND:7-7@1>2/7 " },
    { "nothing to release", "r", "release:0- " },
    { "released but for those", "o0-9:0@1 g5-6>1=0 g0-1>2=0 r t0",
      "release:2-4 release:7- HAND:0-1@1>2/7 HAND:5-6@1>1/7 " },
    { "the end releases all", "o0-9:0@1 g5-6>1=0 e t5000", "release:0- " },
    { "overlapping ones", "o0-9:0@1 g3-4>1=0 g2-6>1=0 r", "release:0-1 release:7- " },
    { "no memory to look", "o5-9:0@1 f g5-9>1=M", "" },
    { "nor later: asked for as before", "o5-9:0@1 g5-9>1=0 f o5-9:1@2 t0", "HAND:5-9@1>1/7 " },

    { "the heir takes", "o5-9:1@7 h5-9:1@7", "take:5-9<1 " },
    { "what the giver holds", "o5-9:1@7 o7-7:2@8 h0-M:1@7", "take:5-6<1 take:8-9<1 " },
    { "claims side by side are one", "o5-6:1@7 o7-9:1@6 h5-9:1@7", "take:5-9<1 " },
    { "nothing of a later claim", "o5-9:1@7 o7-8:1@8 h5-9:1@7", "take:5-6<1 take:9-9<1 " },
    { "nothing twice", "o5-9:1@7 h5-9:1@7 h5-9:1@7", "take:5-9<1 " },
    { "of another life", "o5-9:1@7 i5-9:1@7", "" },
    { "of a third node", "o5-9:1@7 h5-9:2@7", "" },
    { "of ourselves", "o5-9:0@7 h5-9:0@7", "" },
    { "of a node that nobody told of", "o5-9:3@7 h5-9:3@7", "" },
    { "closing", "o5-9:1@7 c h5-9:1@7", "" },
    { "to pass on", "p5-9:1@7", "HAND:5-9@7>2/6 " },
};

static uint64_t number(const char **s)
{
    uint64_t v = 0;

    if (**s == 'M') {
        (*s)++;
        return UINT64_MAX;
    }
    for (; **s >= '0' && **s <= '9'; (*s)++)
        v = v * 10 + (uint64_t)(**s - '0');
    return v;
}

/* A number behind this character, which is skipped. */
static uint64_t behind(const char **s)
{
    (*s)++;
    return number(s);
}

static int code(char c)
{
    return c == 'F' ? PHX_ENOTFOUND : c == 'S' ? PHX_ESTATE : c == 'M' ? PHX_ENOMEM : 0;
}

static void script_step(struct rig *r, const char **s)
{
    char what = *(*s)++;
    struct phx_range range;
    uint64_t node, epoch;

    switch (what) {
    case 't': rig_wait(r, r->now + number(s) * PHX__MS); return;
    case 'x': phx__node_handover_gone(&r->h, (uint32_t)number(s)); return;
    case 'r': phx__node_handover_release(&r->h); return;
    case 'e':
        r->h.count = 0;
        phx__node_handover_release(&r->h);
        return;
    case 'c': r->closing = 1; return;
    case 'f': r->held_fails = 1; return;
    default: break;
    }
    range.first = number(s);
    range.last = behind(s);
    node = behind(s);
    if (what == 'g') {
        int got = phx__node_handover_give(&r->h, range, (uint32_t)node, r->epoch_max, r->now);
        check(got == code((*s)[1]), "give: %d", got);
        *s += 2;
        return;
    }
    epoch = behind(s);
    if (what == 'o') {
        set_names(r, range.first, range.last, (uint32_t)node, (uint32_t)epoch);
        phx__node_handover_names(&r->h, &range, r->now);
    } else {
        rig_hand(r, what == 'p' ? 2 : 0, (uint32_t)node, range.first, range.last, epoch,
                 100 + node - (what == 'i'), 7);
    }
}

static void test_scripts(void)
{
    /* Goal: who is asked when, who takes what, and when it ends. Method: see above. */
    struct rig r;
    size_t i;

    for (i = 0; i < sizeof scripts / sizeof scripts[0]; i++) {
        const char *s = scripts[i].steps;
        int bad = test_failures;
        check(rig_init(&r, 1, 0) == 0, "init");
        while (*s != 0) {
            script_step(&r, &s);
            s += *s == ' ';
        }
        ok(strcmp(r.said, scripts[i].said) == 0 && bad == test_failures, "%s: '%s'", scripts[i].name, r.said);
        rig_free(&r);
    }
}

static void test_frames(void)
{
    /* Goal: who does not relay passes nothing on, and nothing goes on that has crossed all its links;
     * a frame that is none is the sender's fault. */
    struct phx__frame f;
    struct rig r;

    check(rig_init(&r, 0, 0) == 0, "init");
    ok(rig_hand(&r, 2, 1, 5, 9, 7, 101, 7) == 0 && r.said[0] == 0, "no relay");
    rig_free(&r);
    check(rig_init(&r, 1, 0) == 0, "init");
    ok(rig_hand(&r, 2, 1, 5, 9, 7, 101, 1) == 0 && r.said[0] == 0, "its last link");
    ok(rig_hand(&r, 2, 1, 5, 9, 7, 101, 2) == 0 && strcmp(r.said, "HAND:5-9@7>2/1 ") == 0, "and before it");
    memset(&f, 0, sizeof f);
    f.type = PHX__HAND;
    ok(phx__node_handover_on_hand(&r.h, &f) == PHX_EPROTO, "an empty one");
    rig_free(&r);
}

static void test_many(void)
{
    /* Goal: 1,024 ranges at once, and 64 stretches of one. Method: names are given one by one, from the last
     * down; every second name is another's. */
    struct phx_range range;
    struct rig r;
    uint32_t i, given = 0;
    int err = 0;

    check(rig_init(&r, 1, 0) == 0, "init");
    set_names(&r, 0, WORLD - 1, PHX__SELF, 1);
    for (i = WORLD; err == 0 && i-- > 0; given += err == 0) {
        range.first = range.last = i;
        err = phx__node_handover_give(&r.h, range, 1, 1, r.now);
    }
    ok(err == PHX_ELIMIT && given == 1024 && r.h.count == 1024, "%u at once", (unsigned)given);
    range.first = range.last = WORLD - 3;
    set_names(&r, range.first, range.last, 1, 2);
    phx__node_handover_names(&r.h, &range, r.now);
    ok(r.h.count == 1023, "one that was taken is over");
    phx__node_handover_gone(&r.h, 1);
    ok(r.h.count == 0 && strcmp(r.said, "end:1023 ") == 0, "and all with their heir");
    rig_free(&r);

    check(rig_init(&r, 1, 0) == 0, "init");
    for (i = 0; i < STRETCHED; i += 2)
        set_names(&r, i, i, 1, 1);
    rig_hand(&r, PHX__SELF, 1, 0, UINT64_MAX, 1, 101, 7);
    ok(r.owner[126] == PHX__SELF && r.owner[128] == 1, "64 stretches are taken from one HAND");
    rig_hand(&r, PHX__SELF, 1, 0, UINT64_MAX, 1, 101, 7);
    ok(r.owner[128] == PHX__SELF && r.owner[138] == PHX__SELF, "and the rest from the next");
    rig_free(&r);
}

/* ---- The model ------------------------------------------------------------------------------- */

struct model {
    struct {
        uint64_t first, last, epoch, at, wait;
        uint32_t heir;
    } at[1100];
    uint32_t count;
};

static int model_has(const struct model *m, uint32_t i, uint64_t name)
{
    return m->at[i].first <= name && name <= m->at[i].last;
}

static int model_handed(const struct model *m, uint32_t heir, uint64_t name)
{
    uint32_t i;

    for (i = 0; i < m->count; i++)
        if (model_has(m, i, name) && (heir == NOBODY || m->at[i].heir == heir))
            return 1;
    return 0;
}

static void model_drop(struct model *m, uint32_t i)
{
    for (m->count--; i < m->count; i++)
        m->at[i] = m->at[i + 1];
}

static int model_give(struct model *m, const struct rig *r, struct phx_range range, uint32_t heir)
{
    uint64_t name;
    uint32_t i, k;

    for (name = range.first; name <= range.last; name++)
        if (r->owner[name] != PHX__SELF)
            return PHX_ENOTFOUND;
    for (name = range.first; name <= range.last; name++)
        for (k = 1; k < NODES; k++)
            if (k != heir && model_handed(m, k, name))
                return PHX_ESTATE;
    for (i = 0; i < m->count; i++)
        if (model_has(m, i, range.first) && model_has(m, i, range.last))
            return 0;
    for (i = m->count; i-- > 0;) { /* the later word on a name counts */
        if (m->at[i].first >= range.first && m->at[i].last <= range.last)
            model_drop(m, i);
        else if (model_has(m, i, range.first))
            m->at[i].last = range.first - 1;
        else if (model_has(m, i, range.last))
            m->at[i].first = range.last + 1;
    }
    for (i = m->count++; i > 0 && m->at[i - 1].first > range.first; i--)
        m->at[i] = m->at[i - 1];
    m->at[i].first = range.first;
    m->at[i].last = range.last;
    m->at[i].heir = heir;
    m->at[i].epoch = r->epoch_max;
    m->at[i].at = r->now;
    m->at[i].wait = first_wait;
    return 0;
}

/* What the node does not hold any more, name by name. */
static void model_names(struct model *m, const struct rig *r)
{
    uint64_t name;
    uint32_t i;

    for (i = m->count; i-- > 0;) {
        for (name = m->at[i].first; name <= m->at[i].last; name++)
            if (r->owner[name] == PHX__SELF && r->epoch[name] <= m->at[i].epoch)
                break;
        if (name > m->at[i].last) {
            model_drop(m, i);
        } else if (name > m->at[i].first) {
            m->at[i].first = name;
            m->at[i].wait = first_wait;
            m->at[i].at = r->now;
        }
    }
}

/* Asks all whose time has come, and says so as the rig does. */
static void model_due(struct model *m, const struct rig *r, char *said)
{
    uint32_t i;

    model_names(m, r);
    for (i = 0; i < m->count; i++) {
        if (m->at[i].at > r->now)
            continue;
        sprintf(said + strlen(said), "HAND:%u-%u@%u>%u/%d ", (unsigned)m->at[i].first,
                (unsigned)m->at[i].last, (unsigned)m->at[i].epoch, (unsigned)m->at[i].heir, HOPS);
        m->at[i].at = r->now + m->at[i].wait;
        m->at[i].wait = m->at[i].wait * 2 < last_wait ? m->at[i].wait * 2 : last_wait;
    }
}

static int agrees(const struct model *m, const struct rig *r)
{
    uint64_t soonest = UINT64_MAX;
    uint32_t i;

    for (i = 0; i < m->count && i < r->h.count; i++) {
        const struct phx__node_handover_item *it = &r->h.at[i];
        if (m->at[i].at < soonest)
            soonest = m->at[i].at;
        if (it->range.first != m->at[i].first || it->range.last != m->at[i].last
            || it->epoch != m->at[i].epoch || it->at != m->at[i].at || it->wait != m->at[i].wait
            || !phx__id_equal(&it->heir, &r->ids.at[m->at[i].heir]))
            return 0;
    }
    return m->count == r->h.count && phx__timer_at(&r->timers, r->h.timer) <= soonest;
}

/* The stretches of a range that are not handed to this heir, from the brain and name by name. */
static int next_agrees(const struct model *m, const struct rig *r, struct phx_range range, uint32_t heir)
{
    struct phx_range rest = range, part;
    uint64_t name = range.first;

    while (phx__node_handover_next(&r->h, heir == NOBODY ? NULL : &r->ids.at[heir], &rest, &part)) {
        for (; name < part.first; name++)
            if (!model_handed(m, heir, name))
                return 0;
        for (; name <= part.last; name++)
            if (model_handed(m, heir, name))
                return 0;
        if (name <= range.last && !model_handed(m, heir, name))
            return 0; /* it could have been longer */
    }
    for (; name <= range.last; name++)
        if (!model_handed(m, heir, name))
            return 0;
    return 1;
}

/* What the giver holds of the range, stretch by stretch, as the rig says it. */
static void model_take(const struct rig *r, uint32_t giver, struct phx_range range, uint64_t epoch,
                       char *said)
{
    uint64_t name, first = NAMES;

    for (name = range.first; name <= range.last + 1; name++) {
        int held = name <= range.last && r->owner[name] == giver && r->epoch[name] <= epoch;
        if (held && first == NAMES)
            first = name;
        if (!held && first < NAMES) {
            sprintf(said + strlen(said), "take:%u-%u<%u ", (unsigned)first, (unsigned)name - 1,
                    (unsigned)giver);
            first = NAMES;
        }
    }
}

static void random_step(struct rig *r, struct model *m, struct phx__rnd *rnd, char *said, int *good)
{
    uint32_t node = 1 + (uint32_t)phx__rnd_below(rnd, NODES - 1), i;
    uint64_t until;
    struct phx_range range;

    range.first = phx__rnd_below(rnd, NAMES);
    range.last = range.first + phx__rnd_below(rnd, phx__rnd_below(rnd, 2) ? 4 : NAMES - range.first);
    range.last = range.last < NAMES ? range.last : NAMES - 1;
    switch (phx__rnd_below(rnd, 10)) {
    case 0: case 1: case 2:
        *good = phx__node_handover_give(&r->h, range, node, r->epoch_max, r->now)
                == model_give(m, r, range, node);
        break;
    case 3: case 4:
    case 5:
        i = phx__rnd_below(rnd, 3) == 0 ? node : PHX__SELF;
        set_names(r, range.first, range.last, i, r->epoch_max + (phx__rnd_below(rnd, 8) == 0));
        phx__node_handover_names(&r->h, &range, r->now);
        model_names(m, r);
        break;
    case 6:
        model_take(r, node == 3 ? NOBODY + 1 : node, range, r->epoch_max / 2u, said);
        rig_hand(r, PHX__SELF, node, range.first, range.last, r->epoch_max / 2u, 100 + node, 3);
        break;
    case 7:
        for (i = m->count; i-- > 0;)
            if (m->at[i].heir == node)
                model_drop(m, i);
        if (m->count < r->h.count)
            sprintf(said + strlen(said), "end:%u ", (unsigned)(r->h.count - m->count));
        phx__node_handover_gone(&r->h, node);
        break;
    case 8:
        *good = next_agrees(m, r, range, phx__rnd_below(rnd, 2) ? node : NOBODY);
        break;
    default:
        /* Every 10 ms, as a node that has nothing else to do: the model needs no timer. */
        for (until = r->now + phx__rnd_below(rnd, 60) * 10 * PHX__MS; r->now <= until;) {
            rig_wait(r, r->now);
            model_due(m, r, said);
            r->now += 10 * PHX__MS;
        }
        break;
    }
}

static void test_random(void)
{
    /* Goal: the brain does what the model does. Method: 40 seeds, 500 steps each: names move between
     * nodes, are given and taken, heirs fail, time passes; what was said and all that is kept is compared. */
    struct phx__rnd rnd;
    static struct model m;
    static struct rig r;
    char said[sizeof r.said];
    uint64_t seed;
    int i, good, bad = 0, most = 0;

    for (seed = 1; seed <= 40; seed++) {
        phx__rnd_seed(&rnd, seed, 0);
        memset(&m, 0, sizeof m);
        check(rig_init(&r, 1, 0) == 0, "init");
        set_names(&r, 0, NAMES - 1, PHX__SELF, 1);
        for (i = 0, good = 1; good && i < 500; i++) {
            said[0] = r.said[0] = 0;
            random_step(&r, &m, &rnd, said, &good);
            good = good && strcmp(said, r.said) == 0 && agrees(&m, &r);
            most = (int)m.count > most ? (int)m.count : most;
        }
        bad += !check(good, "seed %d, step %d: '%s', and the model '%s'", (int)seed, i, r.said, said);
        rig_free(&r);
    }
    ok(bad == 0 && most > 5, "%d of 40 runs differ; up to %d ranges at once", bad, most);
}

static void test_memory(void)
{
    /* Goal: without memory nothing is handed and nothing is lost. Method: the n-th allocation fails, and what
     * failed is asked again. */
    struct phx_range range;
    struct rig r;
    long n, failed = 0;
    uint64_t i;
    int err;

    for (n = 1; n < 100; n++) {
        err = rig_init(&r, 1, n);
        if (err == 0)
            set_names(&r, 0, NAMES - 1, PHX__SELF, 1);
        for (i = 0; err == 0 && i < NAMES; i++) {
            range.first = range.last = i;
            if ((err = phx__node_handover_give(&r.h, range, 2, 1, r.now)) != 0)
                check(r.h.count == i && phx__node_handover_give(&r.h, range, 2, 1, r.now) == 0, "now it is");
        }
        check(err == 0 || err == PHX_ENOMEM, "no other reason");
        failed += err != 0;
        rig_free(&r);
        if (err == 0)
            break;
    }
    ok(failed >= 4, "%ld failures were survived", failed);
}

int main(void)
{
    test_scripts();
    test_frames();
    test_many();
    test_random();
    test_memory();
    return test_end();
}
