/* t_names.c - claims, epochs and conflicts against scripts, a naive model, and each other. */
#include "test.h"
#ifdef PHX_JOINED
#include "../../phoenix.c"
#else
#include "names/names.h"
#include "base/rnd.h"
#endif
#include <inttypes.h>

#define TOP (UINT64_MAX - 1) /* where epochs end */

/* One node's room and all it stands on. Node 0 is the node itself. */
struct rig {
    struct test_heap heap;
    struct phx__mem mem;
    struct phx__ids ids;
    struct phx__names names;
};

static void rig_id(struct phx_id *id, uint32_t rank)
{
    memset(id, 0, sizeof *id);
    id->b[0] = (unsigned char)(rank >> 8); /* compared first */
    id->b[1] = (unsigned char)rank;
    id->b[15] = 1;
}

/* Node i gets the id of ranks[i], or of i if ranks is NULL. */
static void rig_init(struct rig *r, uint32_t nodes, const uint32_t *ranks)
{
    struct phx_alloc alloc;
    struct phx_id id;
    uint32_t i, index;

    memset(&r->heap, 0, sizeof r->heap);
    alloc.alloc = test_alloc;
    alloc.world = &r->heap;
    phx__mem_init(&r->mem, &alloc, 0);
    phx__id_init(&r->ids, &r->mem, 65536);
    for (i = 0; i < nodes; i++) {
        rig_id(&id, ranks ? ranks[i] : i);
        check(phx__id_add(&r->ids, &id, &index) == 0 && index == i, "id %u", i);
    }
    phx__names_init(&r->names, &r->mem, &r->ids);
}

static int rig_free(struct rig *r)
{
    phx__names_free(&r->names);
    phx__id_free(&r->ids);
    return r->mem.used == 0 && test_heap_is_clean(&r->heap);
}

/* Through the wire, as the node gets it. */
static int set(struct rig *r, uint32_t node, int flags, const struct phx__claim *c,
               uint32_t count)
{
    size_t size = phx__wire_card_size(0, count);
    uint8_t *data = malloc(size);
    struct phx__card card;
    struct phx__writer w;
    int rc = -1000;

    memset(&card, 0, sizeof card);
    card.flags = (uint8_t)flags;
    card.window = 1u << 20;
    card.claim_count = count;
    phx__buf_writer_init(&w, data, size);
    phx__wire_put_card(&w, &card, c);
    if (check(!w.bad && phx__wire_get_card(w.data, w.size, &card) == 0, "the card is sound"))
        rc = phx__names_set(&r->names, node, &card);
    free(data);
    return rc;
}

static uint32_t owner(struct rig *r, uint64_t name)
{
    return phx__names_owner(&r->names, name, NULL, NULL);
}

static uint32_t own_count(const struct rig *r)
{
    return r->names.capacity > 0 ? r->names.of[PHX__SELF].count : 0;
}

/* ---- Scripts --------------------------------------------------------------------------------- */

/* A script is a row of calls, each with the result it must have:
 *
 *      a5-9=1              assume      results: a digit, E: PHX_ERANGE, L: PHX_ELIMIT
 *      r5-9=1              release
 *      s2:0-3@7,5-6@8=0    node 2's card: claims with epochs
 *      x2:0-3@7=0          the same, and the node has left
 *      f2                  forget
 *
 * M, L and K are the last three names or numbers. The rest of a case is what must be left: own
 * claims, what was lost to whom, and who owns what. Ids: node 1 ranks below us, 2 and 3 above. */
static const uint32_t ranks[] = {5, 3, 7, 9};

static const struct script {
    const char *name, *calls, *own, *lost, *owners;
} scripts[] = {
    {"nothing", "r0-M=0", "", "", ""},
    {"assume", "a5-9=1", "5-9@1", "", "5-9:0"},
    {"assume again", "a5-9=1 a5-9=0 a6-8=0 a5-5=0 a9-9=0", "5-9@1", "", "5-9:0"},
    {"bad ranges", "a9-5=E r9-5=E aM-0=E", "", "", ""},
    {"right part held", "a5-9=1 a7-12=1", "5-9@1 10-12@2", "", "5-12:0"},
    {"left part held", "a5-9=1 a2-6=1", "2-4@2 5-9@1", "", "2-9:0"},
    {"middle held", "a5-6=1 a2-9=1", "2-4@2 5-6@1 7-9@2", "", "2-9:0"},
    {"held around a gap", "a2-3=1 a6-7=1 a3-6=1", "2-3@1 4-5@3 6-7@2", "", "2-7:0"},
    {"held side by side, nothing to do", "a2-3=1 a4-5=1 a2-5=0", "2-3@1 4-5@2", "", "2-5:0"},
    {"many gaps", "a2-3=1 a6-7=1 a10-11=1 a0-12=1",
     "0-1@4 2-3@1 4-5@4 6-7@2 8-9@4 10-11@3 12-12@4", "", "0-12:0"},
    {"gaps, others around", "a0-0=1 a4-4=1 a6-6=1 a9-9=1 a3-7=1",
     "0-0@1 3-3@5 4-4@2 5-5@5 6-6@3 7-7@5 9-9@4", "", "0-0:0 3-7:0 9-9:0"},
    {"everything", "a0-M=1 a0-M=0 aM-M=0 a0-0=0", "0-M@1", "", "0-M:0"},
    {"everything but the ends", "a0-0=1 aM-M=1 a0-M=1", "0-0@1 1-L@3 M-M@2", "", "0-M:0"},
    {"the ends cut off", "a0-M=1 r0-0=1 rM-M=1", "1-L@1", "", "1-L:0"},
    {"the ends only", "a0-M=1 r1-L=1", "0-0@1 M-M@1", "", "0-0:0 M-M:0"},
    {"everything released", "a0-M=1 r0-M=1 r0-M=0", "", "", ""},
    {"release and take back", "a0-9=1 r0-9=1 a0-9=1", "0-9@2", "", "0-9:0"},
    {"release a hole", "a0-9=1 r3-5=1 r3-5=0", "0-2@1 6-9@1", "", "0-2:0 6-9:0"},
    {"release the left", "a0-9=1 r0-4=1", "5-9@1", "", "5-9:0"},
    {"release the right", "a0-9=1 r5-20=1", "0-4@1", "", "0-4:0"},
    {"release several", "a0-2=1 a4-6=1 a8-10=1 r1-9=1", "0-0@1 10-10@3", "", "0-0:0 10-10:0"},
    {"release whole ones", "a0-2=1 a4-6=1 a8-10=1 r3-7=1", "0-2@1 8-10@3", "", "0-2:0 8-10:0"},
    {"release a part of neighbours", "a0-2=1 a3-6=1 r2-3=1", "0-1@1 4-6@2", "", "0-1:0 4-6:0"},

    {"an epoch above all seen", "s2:0-9@7=0 a20-29=1", "20-29@8", "", "0-9:2 20-29:0"},
    {"seen is remembered", "s2:0-9@7=0 f2 a0-9=1", "0-9@8", "", "0-9:0"},
    {"the epoch of a lost fight", "a0-9=1 s1:0-9@9=1 a0-9=1", "0-9@10", "0-9>1", "0-9:0"},
    {"outbid", "a0-9=1 s1:3-5@9=1", "0-2@1 6-9@1", "3-5>1", "0-2:0 3-5:1 6-9:0"},
    {"outbid by more than ours", "a3-5=1 s1:0-9@9=1", "", "3-5>1", "0-9:1"},
    {"outbid everywhere", "a0-M=1 s1:0-M@9=1", "", "0-M>1", "0-M:1"},
    {"outbid at the ends", "a0-M=1 s1:0-0@9,M-M@9=1", "1-L@1", "0-0>1 M-M>1",
     "0-0:1 1-L:0 M-M:1"},
    {"we outbid", "s3:99-99@4=0 a0-9=1 s1:3-5@4=0", "0-9@5", "", "0-9:0 99-99:3"},
    {"a shadow surfaces", "a0-9=1 s1:3-5@1=0 r4-9=1", "0-3@1", "", "0-3:0 4-5:1"},
    {"equal epoch, lower id", "a0-9=1 s1:0-9@1=0", "0-9@1", "", "0-9:0"},
    {"equal epoch, higher id", "a0-9=1 s2:0-9@1=1", "", "0-9>2", "0-9:2"},
    {"one of ours, many of theirs", "a0-9=1 r0-9=1 a0-9=1 s2:0-1@5,3-4@1,6-6@5,9-20@5=1",
     "2-5@2 7-8@2",
     "0-1>2 6-6>2 9-9>2", "0-1:2 2-5:0 6-6:2 7-8:0 9-20:2"},
    {"many of ours, one of theirs", "a0-1=1 a3-4=1 a6-7=1 a9-9=1 s2:1-6@3=1", "0-0@1 7-7@3 9-9@4",
     "1-1>2 3-4>2 6-6>2", "0-0:0 1-6:2 7-7:0 9-9:0"},
    {"one higher, one lower of ours", "a0-4=1 a5-9=1 s1:3-6@2=1", "0-2@1 5-9@2", "3-4>1",
     "0-2:0 3-4:1 5-9:0"},
    {"lost in order", "a0-9=1 s2:5-5@5=1 s1:0-0@5,9-9@5=1", "1-4@1 6-8@1", "5-5>2 0-0>1 9-9>1",
     "0-0:1 1-4:0 5-5:2 6-8:0 9-9:1"},
    {"the same card again", "a0-9=1 s2:5-5@5=1 s2:5-5@5=0", "0-4@1 6-9@1", "5-5>2",
     "0-4:0 5-5:2 6-9:0"},
    {"won back", "a0-9=1 s2:5-5@5=1 a5-5=1", "0-4@1 5-5@6 6-9@1", "5-5>2", "0-9:0"},

    {"a card replaces", "s1:0-9@1=0 s1:5-6@2,20-29@1=0", "", "", "5-6:1 20-29:1"},
    {"a card grows", "s1:5-6@1=0 s1:2-9@1=0", "", "", "2-9:1"},
    {"a card with nothing", "s1:0-9@1=0 s1=0", "", "", ""},
    {"a node that left", "s1:0-9@1=0 x1:0-9@1=0", "", "", ""},
    {"a node that left before", "x1:0-9@9=0 a0-9=1", "0-9@1", "", "0-9:0"},
    {"forgotten", "s1:0-9@1=0 s2:20-29@2=0 f1 f1 f3", "", "", "20-29:2"},
    {"neighbours are one", "s1:0-4@1,5-9@2=0 s2:10-14@1=0", "", "", "0-9:1 10-14:2"},
    {"joined from both sides", "s1:0-4@1,6-9@2=0 s1:0-4@1,5-5@3,6-9@2=0", "", "", "0-9:1"},
    {"parted in the middle", "s1:0-4@1,5-5@3,6-9@2=0 s1:0-4@1,6-9@2=0", "", "", "0-4:1 6-9:1"},

    {"three deep", "s1:0-99@2=0 s2:10-19@5,30-39@1=0 s3:15-34@3=0", "", "",
     "0-9:1 10-19:2 20-34:3 35-99:1"},
    {"equal epochs", "s1:0-9@1=0 s2:5-14@1=0 s3:8-9@1=0", "", "", "0-4:1 5-7:2 8-9:3 10-14:2"},
    {"holes in everything", "s1:0-M@1=0 s2:0-0@2,M-M@2=0 s3:5-5@3=0", "", "",
     "0-0:2 1-4:1 5-5:3 6-L:1 M-M:2"},
    {"buried and gone", "s1:0-5@1,7-7@9=0 s2:0-9@2=0 s3:3-6@3=0", "", "",
     "0-2:2 3-6:3 7-7:1 8-9:2"},
    {"buried at the end", "s1:0-M@1=0 s2:0-M@2=0 s3:9-M@3=0", "", "", "0-8:2 9-M:3"},
    {"a stair", "s1:0-5@1=0 s2:1-6@2=0 s3:2-7@3=0", "", "", "0-0:1 1-1:2 2-7:3"},
    {"a stair down", "s1:2-7@1=0 s2:1-6@2=0 s3:0-5@3=0", "", "", "0-5:3 6-6:2 7-7:1"},
    {"the cover is taken off", "s1:0-9@1=0 s2:0-9@2=0 s2=0", "", "", "0-9:1"},
    {"a new epoch turns it", "s1:0-9@1=0 s2:0-9@2=0 s1:0-9@3=0", "", "", "0-9:1"},

    {"epochs used up", "s1:0-0@M=0 a5-5=1", "5-5@L", "", "0-0:1 5-5:0"},
    {"used up, one below", "s1:0-0@K=0 a5-5=1 a7-7=1", "5-5@L 7-7@L", "", "0-0:1 5-5:0 7-7:0"},
    {"used up, ours join", "s1:0-0@L=0 a5-5=1 a7-7=1 a3-3=1 a6-6=1", "3-3@L 5-7@L", "",
     "0-0:1 3-3:0 5-7:0"},
    {"used up, lower id", "s1:0-0@M=0 a0-0=1", "0-0@L", "", "0-0:0"},
    {"used up, higher id", "s2:0-0@M=0 a0-9=L a1-9=1", "1-9@L", "", "0-0:2 1-9:0"},
    {"used up, higher id gone", "s2:0-0@M=0 a0-9=L s2=0 a0-9=1", "0-9@L", "", "0-9:0"},
    {"used up, tie on arrival", "s3:0-0@M=0 a5-6=1 s1:5-5@M=0 s2:6-6@M=1", "5-5@L", "6-6>2",
     "0-0:3 5-5:0 6-6:2"},
    {"used up, top and one below are one", "s1:0-0@M=0 s2:0-0@L=0", "", "", "0-0:2"},
};

static uint64_t script_number(const char **s)
{
    uint64_t v = 0;

    if (**s >= 'K' && **s <= 'M')
        return UINT64_MAX - (uint64_t)('M' - *(*s)++);
    while (**s >= '0' && **s <= '9')
        v = v * 10 + (uint64_t)(*(*s)++ - '0');
    return v;
}

/* One call, *s moves behind it. Is the result right? */
static int script_call(struct rig *r, const char **s)
{
    struct phx__claim c[16];
    uint32_t node = 0, count = 0;
    char what = *(*s)++;
    int rc = 0, want;

    if (strchr("sxf", what) != NULL)
        node = (uint32_t)script_number(s);
    while (**s == ':' || **s == ',' || (count == 0 && strchr("ar", what) != NULL)) {
        *s += strchr("ar", what) == NULL;
        c[count].first = script_number(s);
        ++*s;
        c[count].last = script_number(s);
        *s += **s == '@';
        c[count++].epoch = strchr("ar", what) == NULL ? script_number(s) : 0;
    }
    if (what == 'a')
        rc = phx__names_assume(&r->names, c[0].first, c[0].last);
    else if (what == 'r')
        rc = phx__names_release(&r->names, c[0].first, c[0].last);
    else if (what == 'f')
        phx__names_forget(&r->names, node);
    else
        rc = set(r, node, what == 'x' ? (int)PHX__CARD_LEFT : 0, c, count);
    if (**s != '=')
        return 1;
    want = (*s)[1] == 'E' ? PHX_ERANGE : (*s)[1] == 'L' ? PHX_ELIMIT : (*s)[1] - '0';
    *s += 2;
    return rc == want;
}

static void print_number(char **out, uint64_t v)
{
    if (v >= UINT64_MAX - 2)
        *out += sprintf(*out, "%c", (int)('M' - (UINT64_MAX - v)));
    else
        *out += sprintf(*out, "%" PRIu64, v);
}

static void print_part(char **out, const char *start, uint64_t first, uint64_t last, char mark,
                       uint64_t v)
{
    if (*out > start)
        *(*out)++ = ' ';
    print_number(out, first);
    *(*out)++ = '-';
    print_number(out, last);
    *(*out)++ = mark;
    print_number(out, v);
    **out = 0;
}

static void print_own(struct rig *r, char *out)
{
    const char *start = out;
    uint32_t i;

    *out = 0;
    for (i = 0; i < own_count(r); i++) {
        const struct phx__claim *c = &r->names.of[PHX__SELF].at[i];

        print_part(&out, start, c->first, c->last, '@', c->epoch);
    }
}

static void print_lost(struct rig *r, char *out)
{
    const char *start = out;
    struct phx__names_conflict lost;

    *out = 0;
    while (phx__names_take_conflict(&r->names, &lost))
        print_part(&out, start, lost.range.first, lost.range.last, '>', lost.winner);
}

/* Walks the whole space from range to range. */
static void print_owners(struct rig *r, char *out)
{
    const char *start = out;
    struct phx_range around;
    uint64_t name = 0;
    uint32_t node;
    int error;

    *out = 0;
    for (;;) {
        node = phx__names_owner(&r->names, name, &around, &error);
        check(error == 0 && around.first == name && around.last >= name, "ranges side by side");
        if (node != PHX__NONE)
            print_part(&out, start, around.first, around.last, ':', node);
        if (around.last == UINT64_MAX)
            break;
        name = around.last + 1;
    }
}

static void test_scripts(void)
{
    /* Goal: every rule, by name, with its edges.
     * Method: the table above; each script twice, without lookups until the end (the index is built
     * once) and with a lookup after each call (the index is changed in place). */
    char own[400], lost[400], owners[400];
    struct rig r;
    size_t i;
    int eager, good;

    for (i = 0; i < sizeof scripts / sizeof scripts[0]; i++) {
        for (eager = 0; eager < 2; eager++) {
            const struct script *t = &scripts[i];
            const char *s = t->calls;

            rig_init(&r, 4, ranks);
            for (good = 1; *s && good; s += *s == ' ') {
                good = script_call(&r, &s);
                if (eager)
                    owner(&r, 5);
            }
            print_own(&r, own);
            print_lost(&r, lost);
            print_owners(&r, owners);
            good = good && !strcmp(own, t->own) && !strcmp(lost, t->lost);
            good = good && !strcmp(owners, t->owners);
            if (!ok(good, "%s (%s)", t->name, eager ? "eager" : "lazy"))
                printf("# rest \"%s\", own \"%s\", lost \"%s\", owners \"%s\"\n", s, own, lost,
                       owners);
            check(rig_free(&r), "%s: freed", t->name);
        }
    }
}

static void test_version(void)
{
    /* Goal: the version moves with each change of a claim and with nothing else.
     * Method: by hand. */
    static const struct phx__claim one = {10, 19, 1}, newer = {10, 19, 2};
    struct rig r;

    rig_init(&r, 2, NULL);
    set(&r, 1, 0, NULL, 0);
    phx__names_release(&r.names, 0, 9);
    phx__names_assume(&r.names, 9, 0);
    phx__names_forget(&r.names, 1);
    ok(r.names.version == 0 && owner(&r, 0) == PHX__NONE, "nothing yet");
    phx__names_assume(&r.names, 0, 9);
    phx__names_assume(&r.names, 2, 9);
    ok(r.names.version == 1, "assume, and again");
    set(&r, 1, 0, &one, 1);
    set(&r, 1, 0, &one, 1);
    ok(r.names.version == 2, "a card, and again");
    set(&r, 1, 0, &newer, 1);
    ok(r.names.version == 3, "its epoch only");
    phx__names_release(&r.names, 5, 30);
    phx__names_release(&r.names, 5, 30);
    ok(r.names.version == 4, "release, and again");
    phx__names_forget(&r.names, 1);
    phx__names_forget(&r.names, 1);
    ok(r.names.version == 5, "forget, and again");
    ok(rig_free(&r), "freed");
}

/* ---- A naive model --------------------------------------------------------------------------- */

enum { NAMES = 64, NODES = 5, LOST_MAX = 4000 };

/* Name by name. The real names are base + 0..NAMES-1, so that both ends of the space are met. */
struct model {
    uint64_t base, epoch_max;
    uint8_t has[NODES][NAMES];
    uint64_t epoch[NODES][NAMES];
    uint32_t lost_name[LOST_MAX], lost_to[LOST_MAX], lost_count, taken;
};

static const uint32_t model_ranks[NODES] = {20, 10, 30, 15, 25};

static int model_beats(const struct model *m, uint32_t a, uint32_t b, uint32_t name)
{
    if (m->epoch[a][name] != m->epoch[b][name])
        return m->epoch[a][name] > m->epoch[b][name];
    return model_ranks[a] > model_ranks[b];
}

static uint32_t model_owner(const struct model *m, uint32_t name)
{
    uint32_t node, best = PHX__NONE;

    for (node = 0; node < NODES; node++)
        if (m->has[node][name] && (best == PHX__NONE || model_beats(m, node, best, name)))
            best = node;
    return best;
}

static int model_assume(struct model *m, uint32_t first, uint32_t last)
{
    uint64_t epoch = m->epoch_max < TOP ? m->epoch_max + 1 : TOP;
    uint32_t name, node;
    int changed = 0;

    for (name = first; name <= last; name++)
        changed |= !m->has[0][name];
    if (!changed)
        return 0;
    for (name = first; name <= last; name++)
        for (node = 1; node < NODES; node++)
            if (m->has[node][name] && m->epoch[node][name] == epoch
                && model_ranks[node] > model_ranks[0])
                return PHX_ELIMIT;
    m->epoch_max = epoch;
    for (name = first; name <= last; name++) {
        if (!m->has[0][name])
            m->epoch[0][name] = epoch;
        m->has[0][name] = 1;
    }
    return 1;
}

static int model_release(struct model *m, uint32_t first, uint32_t last)
{
    uint32_t name;
    int changed = 0;

    for (name = first; name <= last; name++) {
        changed |= m->has[0][name];
        m->has[0][name] = 0;
    }
    return changed;
}

static int model_set(struct model *m, uint32_t node, const struct phx__claim *c, uint32_t count)
{
    uint32_t i, name;
    int changed = 0;

    memset(m->has[node], 0, sizeof m->has[node]);
    for (i = 0; i < count; i++) {
        uint64_t epoch = c[i].epoch < TOP ? c[i].epoch : TOP;

        if (epoch > m->epoch_max)
            m->epoch_max = epoch;
        for (name = (uint32_t)(c[i].first - m->base); name <= c[i].last - m->base; name++) {
            m->has[node][name] = 1;
            m->epoch[node][name] = epoch;
            if (m->has[0][name] && model_beats(m, node, 0, name)) {
                m->has[0][name] = 0;
                m->lost_name[m->lost_count] = name;
                m->lost_to[m->lost_count++] = node;
                changed = 1;
            }
        }
    }
    return changed;
}

/* Own claims: sorted, disjoint, as few as their epochs allow, and those of the model. */
static int model_own_agrees(const struct model *m, const struct rig *r)
{
    const struct phx__claim *before = NULL;
    uint32_t i, name, held = 0, count = 0;

    for (i = 0; i < own_count(r); i++) {
        const struct phx__claim *c = &r->names.of[PHX__SELF].at[i];

        if (c->first > c->last || (before != NULL && before->last >= c->first))
            return 0;
        if (before != NULL && before->last + 1 == c->first && before->epoch == c->epoch)
            return 0;
        for (name = (uint32_t)(c->first - m->base); name <= c->last - m->base; name++) {
            if (name >= NAMES || !m->has[0][name] || m->epoch[0][name] != c->epoch)
                return 0;
            count++;
        }
        before = c;
    }
    for (name = 0; name < NAMES; name++)
        held += m->has[0][name];
    return held == count;
}

/* Every name's owner and the widest range around it. */
static int model_owners_agree(const struct model *m, struct rig *r)
{
    uint64_t top = UINT64_MAX - m->base < NAMES ? UINT64_MAX : 0;
    uint32_t name, first, last;
    struct phx_range around;
    int error;

    for (first = 0; first < NAMES; first = last + 1) {
        uint64_t want_first, want_last;

        for (last = first; last + 1 < NAMES && model_owner(m, last + 1) == model_owner(m, first);)
            last++;
        want_first = m->base + first;
        want_last = m->base + last;
        if (model_owner(m, first) == PHX__NONE && first == 0)
            want_first = 0;
        if (model_owner(m, first) == PHX__NONE && last == NAMES - 1 && !top)
            want_last = UINT64_MAX;
        for (name = first; name <= last; name++) {
            uint32_t node = phx__names_owner(&r->names, m->base + name, &around, &error);

            if (node != model_owner(m, first) || error != 0)
                return 0;
            if (around.first != want_first || around.last != want_last)
                return 0;
        }
    }
    return 1;
}

/* Takes what was lost, now or later, and compares it name by name in its order. */
static int model_lost_agrees(struct model *m, struct rig *r)
{
    struct phx__names_conflict lost;

    while (phx__names_take_conflict(&r->names, &lost)) {
        uint32_t name = (uint32_t)(lost.range.first - m->base);

        for (; name <= lost.range.last - m->base; name++, m->taken++)
            if (m->taken >= m->lost_count || m->lost_name[m->taken] != name
                || m->lost_to[m->taken] != lost.winner)
                return 0;
    }
    return m->taken == m->lost_count;
}

static uint32_t random_claims(struct phx__rnd *rnd, const struct model *m, struct phx__claim *c)
{
    uint32_t name = (uint32_t)phx__rnd_below(rnd, NAMES), count = 0;

    while (name < NAMES && phx__rnd_below(rnd, 6) != 0) {
        uint32_t last = name + (uint32_t)phx__rnd_below(rnd, 8);
        uint64_t back = phx__rnd_below(rnd, 10);

        if (last >= NAMES)
            last = NAMES - 1;
        c[count].first = m->base + name;
        c[count].last = m->base + last;
        /* Around the highest known, sometimes above. */
        c[count].epoch = m->epoch_max <= back ? 1 : m->epoch_max - back;
        if (c[count].epoch < UINT64_MAX - 3)
            c[count].epoch += 3;
        count++;
        name = last + 1 + (uint32_t)(phx__rnd_below(rnd, 2) * phx__rnd_below(rnd, 10));
    }
    return count;
}

/* One random call on both. */
struct move {
    int what; /* 0..3 assume, 4..5 release, 6..8 set, 9 forget */
    uint32_t first, last, node, count;
    struct phx__claim c[NAMES];
};

static void move_draw(struct move *v, struct phx__rnd *rnd, const struct model *m)
{
    v->what = (int)phx__rnd_below(rnd, 10);
    v->first = (uint32_t)phx__rnd_below(rnd, NAMES);
    v->last = v->first + (uint32_t)phx__rnd_below(rnd, phx__rnd_below(rnd, 4) ? 8 : NAMES);
    if (v->last >= NAMES)
        v->last = NAMES - 1;
    v->node = 1 + (uint32_t)phx__rnd_below(rnd, NODES - 1);
    v->count = random_claims(rnd, m, v->c);
}

static int move_real(const struct move *v, struct rig *r, uint64_t base)
{
    if (v->what < 4)
        return phx__names_assume(&r->names, base + v->first, base + v->last);
    if (v->what < 6)
        return phx__names_release(&r->names, base + v->first, base + v->last);
    if (v->what < 9)
        return set(r, v->node, 0, v->c, v->count);
    phx__names_forget(&r->names, v->node);
    return 0;
}

static int move_model(const struct move *v, struct model *m)
{
    if (v->what < 4)
        return model_assume(m, v->first, v->last);
    if (v->what < 6)
        return model_release(m, v->first, v->last);
    return model_set(m, v->node, v->c, v->what < 9 ? v->count : 0);
}

static void model_init(struct model *m, uint64_t seed)
{
    memset(m, 0, sizeof *m);
    m->base = seed % 3 == 0 ? 0 : seed % 3 == 1 ? UINT64_MAX - (NAMES - 1) : 1000;
}

/* Every third run begins where epochs nearly end. */
static void start_high(struct rig *r, struct model *m, uint64_t seed)
{
    struct phx__claim c;

    if (seed % 9 < 6)
        return;
    c.first = c.last = m->base;
    c.epoch = TOP - 10;
    set(r, 1, 0, &c, 1);
    model_set(m, 1, &c, 1);
}

static void test_model(void)
{
    /* Goal: any sequence of calls gives what name-by-name bookkeeping gives.
     * Method: 240 seeds, 100 random calls each, 5 nodes, 64 names at either end of the space or in
     * the middle, epochs from 1 or near their end. After each call own claims are compared; every
     * name's owner with its range, and the lost queue, each time, rarely, or only at the end. */
    static struct model m;
    struct phx__rnd rnd;
    struct move v;
    struct rig r;
    uint64_t seed;
    int i, bad = 0;

    for (seed = 0; seed < 240 && !bad; seed++) {
        phx__rnd_seed(&rnd, seed, 7);
        model_init(&m, seed);
        rig_init(&r, NODES, model_ranks);
        start_high(&r, &m, seed);
        for (i = 0; i < 100 && !bad; i++) {
            uint64_t version = r.names.version, pause = seed % 4 == 3 ? 100 : 1 + seed % 4 * 5;
            int rc;

            move_draw(&v, &rnd, &m);
            rc = move_real(&v, &r, m.base);
            bad |= rc != move_model(&v, &m) || (rc == 1 && r.names.version == version);
            bad |= r.names.epoch_max != m.epoch_max || !model_own_agrees(&m, &r);
            if (phx__rnd_below(&rnd, pause) == 0)
                bad |= !model_owners_agree(&m, &r);
            if (phx__rnd_below(&rnd, pause) == 0)
                bad |= !model_lost_agrees(&m, &r);
        }
        bad |= !model_owners_agree(&m, &r) || !model_lost_agrees(&m, &r);
        bad |= !rig_free(&r);
        check(!bad, "seed %u, call %d, move %d", (unsigned)seed, i, v.what);
    }
    ok(!bad, "240 random runs agree with the model");
}

/* ---- Out of memory --------------------------------------------------------------------------- */

/* All that a failing call must not touch. */
static uint64_t state_hash(const struct phx__names *n)
{
    uint64_t h = n->version ^ phx__map_mix(n->epoch_max) ^ phx__map_mix(n->lost_count + 99u);
    uint32_t node, i;

    for (node = 0; node < n->capacity; node++)
        for (i = 0; i < n->of[node].count; i++) {
            const struct phx__claim *c = &n->of[node].at[i];

            h = phx__map_mix(h + node) ^ c->first;
            h = phx__map_mix(h) ^ c->last;
            h = phx__map_mix(h) ^ c->epoch;
        }
    for (i = 0; i < n->lost_count; i++) {
        h = phx__map_mix(h + n->lost[i].winner) ^ n->lost[i].range.first;
        h = phx__map_mix(h) ^ n->lost[i].range.last;
    }
    return h;
}

/* The call with its first allocation failing, then the second, and so on until it gets through. The
 * last try may have failed inside and hidden it: the index is allowed to. */
static int move_failing(const struct move *v, struct rig *r, uint64_t base, uint32_t *refused)
{
    long k;

    for (k = 1;; k++) {
        uint64_t before = state_hash(&r->names);
        int rc;

        r->heap.fail_at = r->heap.calls + k;
        rc = move_real(v, r, base);
        r->heap.fail_at = 0;
        if (rc != PHX_ENOMEM)
            return rc;
        ++*refused;
        if (!check(before == state_hash(&r->names), "a call without memory changes nothing"))
            return rc;
    }
}

static int lookup_failing(struct rig *r, uint64_t name, uint32_t *refused)
{
    struct phx_range around;
    uint32_t node;
    int error;
    long k;

    for (k = 1;; k++) {
        r->heap.fail_at = r->heap.calls + k;
        node = phx__names_owner(&r->names, name, &around, &error);
        r->heap.fail_at = 0;
        if (error == 0)
            return 1;
        ++*refused;
        if (error != PHX_ENOMEM || node != PHX__NONE || around.first != name || around.last != name)
            return 0;
    }
}

static void test_memory(void)
{
    /* Goal: a call that finds no memory changes nothing and succeeds when repeated; a lookup that
     * finds none says so.
     * Method: 300 fresh rooms, 30 random calls each, every call with its 1st, 2nd, ... allocation
     * failing until it succeeds; then all is compared with the model. */
    static struct model m;
    uint32_t refused = 0, blind = 0;
    struct phx__rnd rnd;
    struct move v;
    struct rig r;
    uint64_t seed;
    int i, bad = 0;

    for (seed = 0; seed < 300 && !bad; seed++) {
        phx__rnd_seed(&rnd, seed, 8);
        model_init(&m, seed);
        rig_init(&r, NODES, model_ranks);
        start_high(&r, &m, seed);
        for (i = 0; i < 30 && !bad; i++) {
            move_draw(&v, &rnd, &m);
            bad |= move_failing(&v, &r, m.base, &refused) != move_model(&v, &m);
            if (seed % 2 == 0) {
                bad |= !lookup_failing(&r, m.base + v.first, &blind);
                bad |= !model_owners_agree(&m, &r);
            }
            bad |= !model_own_agrees(&m, &r);
            if (phx__rnd_below(&rnd, 8) == 0)
                bad |= !model_lost_agrees(&m, &r);
        }
        bad |= !model_owners_agree(&m, &r) || !model_lost_agrees(&m, &r) || !rig_free(&r);
        check(!bad, "seed %u, call %d, move %d", (unsigned)seed, i, v.what);
    }
    ok(!bad && refused > 1000 && blind > 1000, "%u calls and %u lookups without memory", refused,
       blind);
}

/* ---- Several nodes together ------------------------------------------------------------------ */

enum { PEERS = 5, SPACE = 40 };

/* Each peer numbers the others its own way: peer p knows q as peer_index(p, q). */
struct peer {
    struct rig r;
    uint8_t held[SPACE]; /* what its application believes to hold */
    uint32_t notices;
};

static uint32_t peer_index(uint32_t p, uint32_t q)
{
    return (q + PEERS - p) % PEERS;
}

static int peer_hear(struct peer *all, uint32_t p, uint32_t q)
{
    const struct phx__names *from = &all[q].r.names;
    uint32_t count = own_count(&all[q].r);

    return set(&all[p].r, peer_index(p, q), 0, count > 0 ? from->of[PHX__SELF].at : NULL, count);
}

/* Tells the application. Is it told only of what it believes to hold? */
static int peer_notify(struct peer *a)
{
    struct phx__names_conflict lost;

    while (phx__names_take_conflict(&a->r.names, &lost)) {
        uint64_t name;

        for (name = lost.range.first; name <= lost.range.last; name++) {
            if (name >= SPACE || !a->held[name])
                return 0;
            a->held[name] = 0;
            a->notices++;
        }
    }
    return 1;
}

static void peer_act(struct peer *a, struct phx__rnd *rnd)
{
    uint64_t first = phx__rnd_below(rnd, SPACE), last = first + phx__rnd_below(rnd, 12);

    if (last >= SPACE)
        last = SPACE - 1;
    if (phx__rnd_below(rnd, 3) > 0) {
        if (phx__names_assume(&a->r.names, first, last) >= 0)
            memset(a->held + first, 1, (size_t)(last - first + 1));
    } else {
        phx__names_release(&a->r.names, first, last);
        memset(a->held + first, 0, (size_t)(last - first + 1));
    }
}

/* Everybody hears everybody, in random order, until nobody changes. Rounds needed, or 0: never. */
static int peers_settle(struct peer *all, struct phx__rnd *rnd)
{
    int round, changed = 1, k;
    uint32_t p, q;

    for (round = 1; round <= 8 && changed; round++) {
        changed = 0;
        for (k = 0; k < 40; k++) {
            p = (uint32_t)phx__rnd_below(rnd, PEERS);
            q = (uint32_t)phx__rnd_below(rnd, PEERS);
            if (p != q)
                changed |= peer_hear(all, p, q);
        }
        for (p = 0; p < PEERS; p++)
            for (q = 0; q < PEERS; q++)
                if (p != q)
                    changed |= peer_hear(all, p, q);
    }
    return changed ? 0 : round;
}

/* One owner per name in everybody's eyes, and its application thinks so too. */
static int peers_agree(struct peer *all)
{
    uint32_t p, q, name, holder, holders;

    for (name = 0; name < SPACE; name++) {
        holder = PHX__NONE;
        holders = 0;
        for (p = 0; p < PEERS; p++) {
            if (!all[p].held[name])
                continue;
            holder = p;
            holders++;
        }
        if (holders > 1)
            return 0;
        for (q = 0; q < PEERS; q++)
            if (owner(&all[q].r, name) != (holders == 0 ? PHX__NONE : peer_index(q, holder)))
                return 0;
    }
    return 1;
}

static void test_convergence(void)
{
    /* Goal: nodes that assume the same names at the same time agree on one owner per name once all
     * have heard all, and each loser is told once, of each name.
     * Method: 200 seeds; 5 rooms assume and release at random and hear some of each other's cards,
     * at first split in two halves that do not hear each other, then all; then everybody hears
     * everybody and nobody acts. A third of the runs begins near the end of epochs. */
    static struct peer all[PEERS];
    uint32_t rank[PEERS], p, q, notices = 0;
    struct phx__rnd rnd;
    uint64_t seed;
    int i, half, bad = 0;

    for (seed = 0; seed < 200 && !bad; seed++) {
        phx__rnd_seed(&rnd, seed, 9);
        memset(all, 0, sizeof all);
        for (p = 0; p < PEERS; p++) {
            for (q = 0; q < PEERS; q++)
                rank[peer_index(p, q)] = 1 + q * 7 % PEERS;
            rig_init(&all[p].r, PEERS, rank);
            if (seed % 3 == 2)
                all[p].r.names.epoch_max = TOP - 4;
        }
        for (half = 0; half < 3; half++) {
            for (i = 0; i < 60 && !bad; i++) {
                p = (uint32_t)phx__rnd_below(&rnd, PEERS);
                q = (uint32_t)phx__rnd_below(&rnd, PEERS);
                if (p == q)
                    peer_act(&all[p], &rnd);
                else if (half == 2 || (p < 2) == (q < 2))
                    peer_hear(all, p, q);
                bad |= !peer_notify(&all[p]);
            }
            bad |= half == 2 && peers_settle(all, &rnd) == 0;
        }
        for (p = 0; p < PEERS; p++) {
            bad |= !peer_notify(&all[p]);
            notices += all[p].notices;
        }
        bad |= !peers_agree(all);
        for (p = 0; p < PEERS; p++)
            bad |= !rig_free(&all[p].r);
        check(!bad, "seed %u", (unsigned)seed);
    }
    ok(!bad && notices > 1000, "all agree after 200 splits, %u names lost and told once", notices);
}

/* ---- Limits and size ------------------------------------------------------------------------- */

static void test_limit(void)
{
    /* Goal: own claims never outgrow a card, whoever cuts them.
     * Method: 100,000 single names of ours; then a hostile card that punches 100,000 holes. */
    uint32_t i, count = PHX__CARD_CLAIMS, holes = 0, others = 0;
    struct phx__claim *c = malloc(count * sizeof *c);
    struct phx__names_conflict lost;
    struct rig r;
    int good = 1;

    rig_init(&r, 2, NULL);
    for (i = 0; i < count; i++)
        good &= phx__names_assume(&r.names, 10 + i * 10u, 14 + i * 10u) == 1;
    ok(good && own_count(&r) == count, "100,000 ranges");
    ok(phx__names_assume(&r.names, 0, 0) == PHX_ELIMIT, "not one more");
    ok(phx__names_assume(&r.names, 0, UINT64_MAX) == PHX_ELIMIT, "nor many more");
    ok(phx__names_assume(&r.names, 11, 12) == 0, "what is held is no news");
    ok(phx__names_release(&r.names, 12, 12) == PHX_ELIMIT, "a hole would be one more");
    ok(own_count(&r) == count && owner(&r, 12) == 0 && owner(&r, 0) == PHX__NONE, "unchanged");
    ok(phx__names_release(&r.names, 13, 14) == 1 && phx__names_release(&r.names, 20, 24) == 1,
       "an edge and a whole one may go");
    ok(phx__names_assume(&r.names, 0, 0) == 1 && own_count(&r) == count, "which makes room");
    ok(phx__names_release(&r.names, 0, UINT64_MAX) == 1 && own_count(&r) == 0, "all released");

    phx__names_assume(&r.names, 0, UINT64_MAX);
    for (i = 0; i < count; i++) {
        c[i].first = c[i].last = 1 + 2 * (uint64_t)i;
        c[i].epoch = r.names.epoch_max + 1;
    }
    ok(set(&r, 1, 0, c, count) == 1 && own_count(&r) == count, "100,000 holes, 100,000 pieces");
    while (phx__names_take_conflict(&r.names, &lost)) {
        if (lost.range.last == UINT64_MAX)
            others += lost.range.first == 2 * (uint64_t)count && lost.winner == 1;
        else
            holes += lost.range.first == lost.range.last && lost.range.first == 1 + 2 * holes;
    }
    ok(holes == count && others == 1, "the last piece is given up, and that is told");
    ok(owner(&r, 2 * (uint64_t)count) == PHX__NONE && owner(&r, 0) == 0 && owner(&r, 1) == 1,
       "and everybody can know it");
    phx__names_free(&r.names);
    free(c);
    ok(rig_free(&r), "freed");
}

static void test_arrivals(void)
{
    /* Goal: hearing of nodes one by one with a lookup after each costs little.
     * Method: 1,000 nodes with one range each, out of order; allocations are counted: a rebuild
     * makes at least two, a change in place none but when the array grows by half. */
    enum { MANY = 1000 };
    struct phx__claim c;
    struct rig r;
    uint32_t i, bad = 0;
    long calls;

    rig_init(&r, MANY + 1, NULL);
    calls = r.heap.calls;
    for (i = 0; i < MANY; i++) {
        uint32_t node = 1 + i * 387 % MANY;

        c.first = node * 100;
        c.last = node * 100 + 49;
        c.epoch = 1 + i;
        bad += set(&r, node, 0, &c, 1) != 0 || owner(&r, c.first + 25) != node;
    }
    calls = r.heap.calls - calls;
    ok(bad == 0 && calls < MANY + 60, "1,000 arrivals, %ld allocations", calls);
    calls = r.heap.calls;
    for (i = 0; i < MANY; i++) {
        phx__names_forget(&r.names, 1 + i * 71 % MANY);
        bad += owner(&r, 100 * (1 + i * 71 % MANY)) != PHX__NONE;
    }
    ok(bad == 0 && r.heap.calls == calls, "1,000 departures, none");
    ok(rig_free(&r), "freed");
}

static void test_scale(void)
{
    /* Goal: many ranges are no trouble, in a free space and where all overlap.
     * Method: 100 nodes with 1,000 ranges each, interleaved; then each node also claims what its
     * neighbour has, a little shifted; every boundary is looked up. The run must end, soon. */
    enum { HOSTS = 100, EACH = 1000 };
    struct phx__claim *c = malloc(EACH * sizeof *c);
    uint32_t node, i, bad = 0;
    struct rig r;
    long calls;
    int wide;

    rig_init(&r, HOSTS + 1, NULL);
    for (wide = 0; wide < 2; wide++) {
        for (node = 1; node <= HOSTS; node++) {
            for (i = 0; i < EACH; i++) {
                c[i].first = (i * (uint64_t)HOSTS + node) * 10;
                c[i].last = c[i].first + (wide ? 14 : 9);
                c[i].epoch = 1 + (uint64_t)wide * 2 + (i + node) % 2;
            }
            bad += set(&r, node, 0, c, EACH) != 0;
        }
        calls = r.heap.calls;
        for (node = 1; node <= HOSTS; node++) {
            for (i = 0; i < EACH; i++) {
                uint64_t name = (i * (uint64_t)HOSTS + node) * 10;

                bad += owner(&r, name + 5) != node; /* only its own */
                bad += owner(&r, name + 9) != node;
                if (!wide)
                    bad += owner(&r, name) != node;
            }
        }
        calls = r.heap.calls - calls;
        ok(bad == 0 && calls < 100, "100,000 ranges%s: one build, %ld allocations",
           wide ? " that overlap" : "", calls);
    }
    free(c);
    ok(rig_free(&r), "freed");
}

static void test_many_at_once(void)
{
    /* Goal: calls that change more than is worth patching leave the same index as small ones.
     * Method: 200 ranges of ours around 200 of another, index built; then all gaps are filled in
     * one call and all is released in one call, each followed by lookups. */
    enum { HALF = 200 };
    struct phx__claim c[HALF];
    uint32_t i, bad = 0;
    struct rig r;

    rig_init(&r, 2, NULL);
    for (i = 0; i < HALF; i++) {
        c[i].first = c[i].last = i * 4u;
        c[i].epoch = 1;
        bad += phx__names_assume(&r.names, i * 4u + 2, i * 4u + 2) != 1;
    }
    bad += set(&r, 1, 0, c, HALF) != 0;
    for (i = 0; i < HALF * 4; i++)
        bad += owner(&r, i) != (i % 4 == 0 ? 1 : i % 4 == 2 ? 0 : PHX__NONE);
    ok(bad == 0, "ours and theirs, interleaved");
    ok(phx__names_assume(&r.names, 0, HALF * 4) == 1, "all gaps in one call");
    for (i = 0; i < HALF * 4; i++)
        bad += owner(&r, i) != 0;
    ok(bad == 0, "all are ours");
    phx__names_forget(&r.names, 1);
    ok(owner(&r, 4) == 0 && r.names.stale == 0, "without them too");
    ok(phx__names_release(&r.names, 1, HALF * 4) == 1, "all but one released in one call");
    for (i = 1; i < HALF * 4; i++)
        bad += owner(&r, i) != PHX__NONE;
    ok(bad == 0 && owner(&r, 0) == 0, "one is left");
    ok(rig_free(&r), "freed");
}

static void test_arrivals_beside_conflict(void)
{
    /* Goal: a conflict that lasts does not make each arrival elsewhere cost a rebuild.
     * Method: two others overlap; 100 more arrive in free places, no allocation but their claims;
     * then the upper one's epoch falls, with its range unchanged. */
    struct phx__claim c;
    struct rig r;
    uint32_t i, bad = 0;
    long calls;

    rig_init(&r, 110, NULL);
    c.first = 0;
    c.last = 9;
    for (i = 1; i <= 2; i++) {
        c.epoch = 10 + i;
        set(&r, i, 0, &c, 1);
    }
    ok(owner(&r, 5) == 2, "two overlap");
    calls = r.heap.calls;
    for (i = 3; i < 103; i++) {
        c.first = i * 10;
        c.last = c.first + 5;
        bad += set(&r, i, 0, &c, 1) != 0 || owner(&r, c.first) != i || owner(&r, 5) != 2;
    }
    calls = r.heap.calls - calls;
    ok(bad == 0 && calls < 125, "100 arrive beside them, %ld allocations", calls);
    c.first = 0;
    c.last = 9;
    c.epoch = 1;
    set(&r, 2, 0, &c, 1);
    ok(owner(&r, 5) == 1, "an epoch alone turns it");
    ok(rig_free(&r), "freed");
}

static int held(struct rig *r, uint32_t node, uint64_t first, uint64_t last, uint64_t epoch,
                uint64_t want_first, uint64_t want_last)
{
    struct phx_range range = {first, last}, out = {1, 0};
    int got = phx__names_held(&r->names, node, &range, epoch, &out);

    return got == 1 ? out.first == want_first && out.last == want_last : got - 1;
}

/* Goal: what a node holds is what it claims and nobody else wins. Method: node 2 claims three
 * stretches, of which node 3 takes the middle of one; asked at all edges. */
static void test_held(void)
{
    static const struct phx__claim two[] = {{10, 19, 1}, {20, 29, 5}, {UINT64_MAX, UINT64_MAX, 1}};
    static const struct phx__claim three = {13, 14, 2};
    struct rig r;

    rig_init(&r, 4, ranks);
    ok(held(&r, 2, 0, UINT64_MAX, 9, 0, 0) == -1, "of nothing, nothing");
    ok(set(&r, 2, 0, two, 3) == 0 && set(&r, 3, 0, &three, 1) == 0, "two nodes");
    ok(held(&r, 2, 0, UINT64_MAX, 9, 10, 12) && held(&r, 2, 12, 12, 9, 12, 12)
           && held(&r, 2, 13, 25, 9, 15, 19) && held(&r, 2, 16, UINT64_MAX, 9, 16, 19),
       "stretch by stretch");
    ok(held(&r, 2, 20, 22, 9, 20, 22) && held(&r, 2, 20, 22, 5, 20, 22)
           && held(&r, 2, 18, 22, 4, 18, 19) && held(&r, 2, 20, 22, 4, 0, 0) == -1
           && held(&r, 2, 20, UINT64_MAX, 4, UINT64_MAX, UINT64_MAX),
       "claims of later epochs do not count");
    ok(held(&r, 2, 13, 14, 9, 0, 0) == -1 && held(&r, 3, 0, 99, 9, 13, 14)
           && held(&r, 2, 30, UINT64_MAX - 1, 9, 0, 0) == -1 && held(&r, 1, 0, 99, 9, 0, 0) == -1
           && held(&r, 77, 0, 99, 9, 0, 0) == -1,
       "what is another's is not held");
    ok(phx__names_dead(&r.names, 3, 1) == 0, "the other fails");
    r.heap.fail_from = r.heap.calls + 1;
    ok(held(&r, 2, 10, 19, 9, 0, 0) == PHX_ENOMEM - 1, "no memory to find out");
    r.heap.fail_from = 0;
    ok(held(&r, 2, 10, 19, 9, 10, 19), "then all of it is");
    ok(rig_free(&r), "memory comes back");
}

int main(void)
{
    test_held();
    test_scripts();
    test_version();
    test_model();
    test_memory();
    test_convergence();
    test_limit();
    test_arrivals();
    test_arrivals_beside_conflict();
    test_many_at_once();
    test_scale();
    return test_end();
}
