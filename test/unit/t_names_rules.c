/* t_names_rules.c - the rules of claims, epochs and conflicts, by scripts. */
#include "names_rig.h"

/* ---- Scripts */

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

    {"a claim beyond all is elsewhere", "s1:0-0@M=0 a5-5=1 a7-7=1", "5-5@1 7-7@2", "",
     "0-0:1 5-5:0 7-7:0"},
    {"it is in the way", "s1:0-9@K=0 a5-5=1 a20-20=1", "5-5@L 20-20@1", "", "0-4:1 5-5:0 6-9:1 20-20:0"},
    {"ours join there", "s1:0-9@K=0 a5-5=1 a7-7=1 a6-6=1", "5-7@L", "", "0-4:1 5-7:0 8-9:1"},
    {"it has gone", "s1:0-9@K=0 a5-5=1 s1=0 r5-5=1 a5-6=1", "5-6@1", "", "5-6:0"},
    {"a step is remembered", "s2:0-9@1099511627776=0 f2 a0-9=1 a20-20=1",
     "0-9@1099511627777 20-20@1099511627778", "", "0-9:0 20-20:0"},
    {"a leap is not", "s2:0-9@1099511627777=0 f2 a0-9=1 a20-20=1", "0-9@1 20-20@2", "", "0-9:0 20-20:0"},
    {"nor the highest one", "s2:0-9@9223372036854775807=0 a5-5=1 f2 a0-3=1 a20-20=1",
     "0-3@1 5-5@9223372036854775808 20-20@2", "", "0-3:0 5-5:0 20-20:0"},
    {"who wins is known when forgotten", "a0-9=1 s2:0-9@5=1 f2", "", "0-9>2", ""},
    {"the upper one is not", "s2:0-9@9223372036854775808=0 f2 a0-9=1", "0-9@1", "", "0-9:0"},
    {"used up, lower id", "s1:0-0@M=0 a0-0=1", "0-0@L", "", "0-0:0"},
    {"used up, higher id", "s2:0-0@M=0 a0-9=L a1-9=1", "1-9@1", "", "0-0:2 1-9:0"},
    {"used up, higher id gone", "s2:0-0@M=0 a0-9=L s2=0 a0-9=1", "0-9@1", "", "0-9:0"},
    {"used up, tie on arrival", "s3:0-9@K=0 a5-6=1 s1:5-5@M=0 s2:6-6@M=1", "5-5@L", "6-6>2",
     "0-4:3 5-5:0 6-6:2 7-9:3"},
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
        print_part(&out, start, lost.range.first, lost.range.last, '>',
                   phx__id_find(&r->ids, &lost.winner));
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
     * once) and with a lookup after each call (it is built each time). */
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

/* ---- Limits and size */

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
            others += lost.range.first == 2 * (uint64_t)count && phx__id_find(&r.ids, &lost.winner) == 1;
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

static void test_joined(void)
{
    /* Goal: names assumed one by one become one claim, in any order; what they do not touch keeps its epoch,
     * and what is won or lost does not depend on it. Method: by hand, then a thousand names at random. */
    char own[400], lost[400];
    struct phx__claim theirs = { 35, 36, 20 };
    uint32_t i, most = 0;
    struct rig r;

    rig_init(&r, 4, ranks);
    r.names.keep = 0;
    (void)phx__names_assume(&r.names, 10, 19);
    (void)phx__names_assume(&r.names, 30, 39);
    (void)phx__names_assume(&r.names, 20, 20);
    print_own(&r, own);
    ok(strcmp(own, "10-20@3 30-39@2") == 0, "what a new name touches is one claim with it: %s", own);
    (void)phx__names_assume(&r.names, 15, 29);
    print_own(&r, own);
    ok(strcmp(own, "10-39@4") == 0, "and what it meets, on both sides: %s", own);
    (void)phx__names_assume(&r.names, 0, 0);
    (void)phx__names_assume(&r.names, UINT64_MAX, UINT64_MAX);
    (void)phx__names_release(&r.names, 12, 12);
    (void)phx__names_assume(&r.names, 12, 12);
    print_own(&r, own);
    ok(strcmp(own, "0-0@5 10-39@7 M-M@6") == 0, "released and assumed again: %s", own);
    check(set(&r, 1, 0, &theirs, 1) == 1, "some are lost");
    print_lost(&r, lost);
    (void)phx__names_assume(&r.names, 40, 40);
    print_own(&r, own);
    ok(strcmp(lost, "35-36>1") == 0 && strcmp(own, "0-0@5 10-34@7 37-40@21 M-M@6") == 0,
       "a conflict is one as before: %s, %s", lost, own);
    r.names.keep = 1;
    (void)phx__names_assume(&r.names, 41, 41);
    print_own(&r, own);
    ok(strcmp(own, "0-0@5 10-34@7 37-40@21 41-41@22 M-M@6") == 0, "while names are handed over: %s", own);
    check(rig_free(&r), "freed");

    rig_init(&r, 4, ranks);
    r.names.keep = 0;
    for (i = 0; i < 1000; i++) {
        check(phx__names_assume(&r.names, i * 617 % 1000, i * 617 % 1000) == 1, "new");
        most = own_count(&r) > most ? own_count(&r) : most;
    }
    ok(own_count(&r) == 1 && most > 40 && r.names.of[PHX__SELF].at[0].last == 999, "a thousand are one");
    ok(rig_free(&r), "memory comes back");

    rig_init(&r, 4, ranks);
    r.names.keep = 0;
    theirs = (struct phx__claim){ 5, 5, UINT64_MAX - 2 }; /* beyond the epochs that count */
    check(set(&r, 1, 0, &theirs, 1) == 0 && phx__names_assume(&r.names, 5, 5) == 1, "outbid");
    (void)phx__names_assume(&r.names, 6, 6);
    print_own(&r, own);
    ok(strcmp(own, "5-5@L 6-6@1") == 0 && owner(&r, 5) == PHX__SELF,
       "but what it took to outbid a claim is not lowered: %s", own);
    ok(rig_free(&r), "memory comes back");
}

/* A node of so many claims, with gaps between them and the oldest last, fails. */
static void dead_with(struct rig *r, uint32_t count)
{
    struct phx__claim c[40];
    uint32_t i;

    rig_init(r, 4, ranks);
    for (i = 0; i < count; i++)
        c[i] = (struct phx__claim){ 10 * i, 10 * i + 4, 100 - i };
    check(set(r, 1, 0, c, count) == 0 && phx__names_dead(&r->names, 1, 1) == 0, "it failed");
    phx__names_trim(&r->names, 1);
}

static void test_trim(void)
{
    /* Goal: of a failed node 32 claims are kept as they were, and a 33rd that stands for the rest; when it is
     * back these are nothing. */
    const struct phx__names_of *of;
    struct rig r;

    dead_with(&r, 33);
    of = &r.names.of[1];
    ok(of->count == 33 && !of->trimmed && of->at[32].last == 324, "33 claims stay as they are");
    check(phx__names_dead(&r.names, 1, 0) == 0, "it is back");
    ok(of->count == 33 && owner(&r, 324) == 1, "and so they are when it is back");
    check(rig_free(&r), "freed");
    dead_with(&r, 34);
    of = &r.names.of[1];
    ok(of->count == 33 && of->trimmed && of->at[31].first == 310 && of->at[31].last == 314,
       "of 34 it is 32 ...");
    ok(of->at[32].first == 320 && of->at[32].last == 334 && of->at[32].epoch == 68,
       "... and the rest in one");
    check(phx__names_dead(&r.names, 1, 0) == 0, "it is back");
    ok(of->count == 0 && owner(&r, 0) == PHX__NONE, "without a card it has none of them");
    ok(rig_free(&r), "memory comes back");
}

static void test_epoch(void)
{
    /* Goal: an epoch at which names are handed over is above all that are remembered, and above those of own
     * claims there, also of such as are too high to be remembered. */
    struct phx__claim high = { 10, 19, (uint64_t)1 << 63 };
    struct rig r;

    rig_init(&r, 4, ranks);
    ok(phx__names_epoch(&r.names, 0, 99) == 0, "of nothing");
    (void)phx__names_assume(&r.names, 30, 39);
    ok(phx__names_epoch(&r.names, 0, 99) == 1 && phx__names_epoch(&r.names, 0, 9) == 1, "the highest so far");
    check(set(&r, 1, 0, &high, 1) == 0 && phx__names_assume(&r.names, 10, 12) == 1, "over a claim so high");
    ok(r.names.epoch_max == 1 && phx__names_epoch(&r.names, 12, 40) == high.epoch + 1
           && phx__names_epoch(&r.names, 0, 10) == high.epoch + 1,
       "that of the claim");
    ok(phx__names_epoch(&r.names, 13, 40) == 1 && phx__names_epoch(&r.names, 0, 9) == 1, "only where it is");
    ok(rig_free(&r), "memory comes back");
}

static void test_no_memory(void)
{
    /* Goal: a name that cannot be noted for want of memory is not taken, nor does a node come back that would
     * take some of ours. Method: whichever allocation fails. */
    struct phx__claim theirs = { 12, 14, 9 };
    uint32_t failed = 0, wrong = 0;
    char own[400];
    struct rig r;
    int k, err;

    for (k = 1; k < 20; k++) {
        rig_init(&r, 4, ranks);
        r.heap.fail_at = r.heap.calls + k;
        err = phx__names_assume(&r.names, 10, 19);
        failed += err == PHX_ENOMEM;
        wrong += err == PHX_ENOMEM ? phx__names_assume(&r.names, 10, 19) != 1 : err != 1;
        r.heap.fail_at = 0;
        check(set(&r, 1, 0, &theirs, 0) == 0, "a node");
        check(phx__names_dead(&r.names, 1, 1) == 0 && set(&r, 1, 0, &theirs, 1) == 0, "failed, with a claim");
        r.heap.fail_at = r.heap.calls + k;
        err = phx__names_dead(&r.names, 1, 0);
        failed += err == PHX_ENOMEM;
        print_own(&r, own);
        wrong += err == PHX_ENOMEM && strcmp(own, "10-19@1") != 0;
        wrong += err == PHX_ENOMEM && phx__names_dead(&r.names, 1, 0) != 1;
        print_own(&r, own);
        wrong += strcmp(own, "10-11@1 15-19@1") != 0;
        wrong += !rig_free(&r);
    }
    ok(failed >= 3 && wrong == 0, "%u failures, and all as it should be in the end (%u)", failed, wrong);
}

static void test_page_goes(void)
{
    /* Goal: names that are released page by page are gone, and come back; what meets many pages and finds no
     * memory to join them changes nothing. Method: 2,000 claims that do not touch, from the last to the
     * first, which are many pages; those in the middle one by one. */
    uint32_t i, wrong = 0, pages;
    struct rig r;

    rig_init(&r, 4, ranks);
    for (i = 2000; i-- > 0;)
        wrong += phx__names_assume(&r.names, 10 * i, 10 * i) != 1;
    pages = r.names.page_count;
    r.heap.fail_from = r.heap.calls + 1;
    ok(phx__names_assume(&r.names, 9000, 19000) == PHX_ENOMEM
           && phx__names_release(&r.names, 9000, 19000) == PHX_ENOMEM && r.names.page_count == pages,
       "%u pages are too many to join", pages);
    r.heap.fail_from = 0;
    for (i = 200; i < 1800; i++)
        wrong += phx__names_release(&r.names, 10 * i, 10 * i) != 1;
    ok(pages > 10 && r.names.page_count < pages / 2, "%u are left of them", r.names.page_count);
    for (i = 0; i < 2000; i++)
        wrong += owner(&r, 10 * i) != (i < 200 || i >= 1800 ? PHX__SELF : PHX__NONE);
    for (i = 200; i < 1800; i++)
        wrong += phx__names_assume(&r.names, 10 * i, 10 * i) != 1;
    ok(wrong == 0 && own_count(&r) == 2000 && rig_free(&r), "all as it was");
}

static void test_no_names(void)
{
    /* Goal: a node without names takes no room. */
    struct phx__claim c = { 5, 5, 1 };
    struct rig r;
    size_t used;

    rig_init(&r, 60, NULL);
    check(set(&r, 2, 0, &c, 1) == 0, "one that has a name");
    used = r.mem.used;
    ok(set(&r, 50, 0, NULL, 0) == 0 && r.mem.used == used, "one that has none");
    ok(set(&r, 50, 0, &c, 1) == 0 && r.mem.used > used, "until it has");
    ok(rig_free(&r), "freed");
}

int main(void)
{
    test_joined();
    test_scripts();
    test_version();
    test_limit();
    test_epoch();
    test_no_memory();
    test_page_goes();
    test_trim();
    test_held();
    test_no_names();
    return test_end();
}
