/* agree.c - one agreement among processes of which any may die at any moment. */
#include "agree.h"

#include <string.h>

#include "wire.h"

/* Members stand in an order, and over all of them, whether they live or not, there is a tree: binomial within
 * a site, binomial over the first of each site. A parent stands before its children.
 *
 *      parent    the nearest living ancestor; if none lives, the first living member, which is the root
 *      ballot    the root's place in the order: it only grows
 *
 *      one round       UP ... UP  to the root, DOWN ... DOWN from it: whoever gets that has the result
 *      two rounds      and then ACK ... ACK to the root, COMMIT ... COMMIT from it
 *      a later root    QUERY to all first; they answer with HAVE (a value that was proposed before), with
 *                      what they would say in an UP, or with COMMIT
 *
 * A contribution carries the set of members that it covers, so it can be combined any number of times, and
 * come by any way. A value is committed when all living hold it; so whichever survive, a later root finds it.
 * All waiting is for one process, and ends with its message or its failure.
 *
 * As soon as a member has failed ways in the tree may be gone. Then everybody is *direct*: it says what it
 * knows at once, to its parent and to the root, and again whenever it knows more or somebody fails; and who
 * asks is remembered and told what comes later. Rules were tried by leaving them out: see t_agree.c. */

enum agree_kind { AGREE_UP = 1, AGREE_DOWN, AGREE_ACK, AGREE_COMMIT, AGREE_QUERY, AGREE_HAVE };

/* Before the value or set: kind u8, answer u8, rounds u8, 0, ballot u32. Little-endian.
 *
 *      UP      value       ballot: of the QUERY that it answers (answer 1)
 *      DOWN    value       ballot of the value
 *      ACK     set         ballot of the value that these have stored
 *      COMMIT  value
 *      QUERY
 *      HAVE    value       ballot of the value */
enum { AGREE_HEAD = 8, AGREE_NUMBERS = 20 };

struct agree_message {
    enum agree_kind kind;
    int answer;
    uint32_t ballot;
    struct ftm_agree_value value;
    const unsigned char *set;
};

struct ftm_agree {
    struct ftm_mem *mem;
    struct ftm_agree_ops ops;
    int n, me, rounds;
    int *parent; /* in the fixed tree; -1: the first */
    size_t set_size, size;
    int contributed;
    int direct;
    int up_sent, ack_sent;
    struct ftm_agree_value heard;  /* our part and what came in UPs */
    struct ftm_agree_value stored; /* what a root proposed; ballot -1: nothing */
    struct ftm_agree_value best;   /* of the answers to our QUERY */
    int stored_ballot, best_ballot;
    int promised;                  /* no lower ballot is taken any more */
    int root;                      /* we are, and know it */
    int querying, proposed;
    int owes;                      /* the ballot of a QUERY that is not answered yet; -1: none */
    int done;                      /* stored is the result */
    unsigned char *failed, *asked, *acked, *answered; /* sets; asked: who sent us an UP or an ACK */
    unsigned char *out;            /* the message that is built */
};

static int has(const unsigned char *set, int member)
{
    return FTM_AGREE_HAS(set, member);
}

static void put(unsigned char *set, int member)
{
    set[member / 8] = (unsigned char)(set[member / 8] | 1u << member % 8);
}

/* ---- Values ------------------------------------------------------------------------------------------ */

static void set_fill(unsigned char *set, int n)
{
    int i;

    for (i = 0; i < n; i++)
        put(set, i);
}

static int set_is_empty(const struct ftm_agree *a, const unsigned char *set)
{
    size_t i;

    for (i = 0; i < a->set_size; i++)
        if (set[i] != 0)
            return 0;
    return 1;
}

static void value_clear(const struct ftm_agree *a, struct ftm_agree_value *v)
{
    v->flags = UINT32_MAX;
    v->context = v->generation = v->settings = 0;
    v->rank = UINT32_MAX;
    memset(v->failed, 0, 3 * a->set_size);
    set_fill(v->acknowledged, a->n);
}

/* 1: covered has grown. */
static int value_merge(const struct ftm_agree *a, struct ftm_agree_value *to, const struct ftm_agree_value *v)
{
    int grown = 0;
    size_t i;

    to->flags &= v->flags;
    to->context = v->context > to->context ? v->context : to->context;
    to->generation = v->generation > to->generation ? v->generation : to->generation;
    if (v->rank < to->rank) {
        to->rank = v->rank;
        to->settings = v->settings;
    }
    for (i = 0; i < a->set_size; i++) {
        grown |= (v->covered[i] & ~to->covered[i]) != 0;
        to->failed[i] |= v->failed[i];
        to->acknowledged[i] &= v->acknowledged[i];
        to->covered[i] |= v->covered[i];
    }
    return grown;
}

static void value_copy(const struct ftm_agree *a, struct ftm_agree_value *to, const struct ftm_agree_value *v)
{
    struct ftm_agree_value old = *to;

    *to = *v;
    to->failed = old.failed;
    to->acknowledged = old.acknowledged;
    to->covered = old.covered;
    memmove(to->failed, v->failed, a->set_size);
    memmove(to->acknowledged, v->acknowledged, a->set_size);
    memmove(to->covered, v->covered, a->set_size);
}

/* ---- Bytes ------------------------------------------------------------------------------------------- */

static size_t value_put(const struct ftm_agree *a, unsigned char *to, const struct ftm_agree_value *v)
{
    size_t s = a->set_size;

    ftm_put32(to, v->flags);
    ftm_put32(to + 4, v->context);
    ftm_put32(to + 8, v->generation);
    ftm_put32(to + 12, v->rank);
    ftm_put32(to + 16, v->settings);
    memcpy(to + AGREE_NUMBERS, v->failed, s);
    memcpy(to + AGREE_NUMBERS + s, v->acknowledged, s);
    memcpy(to + AGREE_NUMBERS + 2 * s, v->covered, s);
    return AGREE_NUMBERS + 3 * s;
}

/* No bits behind the last member. */
static int set_is_good(const struct ftm_agree *a, const unsigned char *set)
{
    return a->n % 8 == 0 || set[a->set_size - 1] >> a->n % 8 == 0;
}

/* The sets stay where they are: nobody writes into this value. */
static int value_get(const struct ftm_agree *a, struct ftm_agree_value *v, const unsigned char *from,
                     size_t size)
{
    size_t s = a->set_size;

    if (size != AGREE_NUMBERS + 3 * s)
        return -1;
    v->flags = ftm_get32(from);
    v->context = ftm_get32(from + 4);
    v->generation = ftm_get32(from + 8);
    v->rank = ftm_get32(from + 12);
    v->settings = ftm_get32(from + 16);
    v->failed = (unsigned char *)from + AGREE_NUMBERS;
    v->acknowledged = v->failed + s;
    v->covered = v->acknowledged + s;
    return set_is_good(a, v->failed) && set_is_good(a, v->acknowledged) && set_is_good(a, v->covered) ? 0
                                                                                                      : -1;
}

/* What a member may say: with one round there is no ACK and no COMMIT, a QUERY comes from the root, and an
 * answer is for a QUERY of ours. */
static int message_is_good(const struct ftm_agree *a, int from, const struct agree_message *m)
{
    if (m->ballot >= (uint32_t)a->n || (m->answer && m->kind != AGREE_UP && m->kind != AGREE_HAVE))
        return 0;
    switch (m->kind) {
    case AGREE_UP:
        return !m->answer || m->ballot == (uint32_t)a->me;
    case AGREE_DOWN:
        return 1;
    case AGREE_ACK:
    case AGREE_COMMIT:
        return a->rounds == FTM_AGREE_TWO;
    case AGREE_QUERY:
        return m->ballot == (uint32_t)from;
    case AGREE_HAVE:
        return m->answer && m->ballot < (uint32_t)a->me;
    }
    return 0;
}

/* Nobody can say that we have spoken if we have not, and a value that was proposed has something of
 * everybody: so what is decided never passes a member by that has not been asked. */
static int value_is_good(const struct ftm_agree *a, const struct agree_message *m)
{
    int i;

    if (has(m->value.covered, a->me) && !a->contributed)
        return 0;
    for (i = 0; m->kind != AGREE_UP && i < a->n; i++)
        if (!has(m->value.covered, i) && !has(m->value.failed, i))
            return 0;
    return 1;
}

static int message_get(const struct ftm_agree *a, struct agree_message *m, int from,
                       const unsigned char *bytes, size_t size)
{
    if (size < AGREE_HEAD || bytes[0] < AGREE_UP || bytes[0] > AGREE_HAVE || bytes[1] > 1
        || bytes[2] != a->rounds || bytes[3] != 0)
        return -1;
    memset(m, 0, sizeof *m);
    m->kind = (enum agree_kind)bytes[0];
    m->answer = bytes[1];
    m->ballot = ftm_get32(bytes + 4);
    m->set = bytes + AGREE_HEAD;
    if (!message_is_good(a, from, m))
        return -1;
    size -= AGREE_HEAD;
    if (m->kind == AGREE_QUERY)
        return size == 0 ? 0 : -1;
    if (m->kind == AGREE_ACK)
        return size == a->set_size && set_is_good(a, m->set) ? 0 : -1;
    return value_get(a, &m->value, bytes + AGREE_HEAD, size) == 0 && value_is_good(a, m) ? 0 : -1;
}

/* ---- Saying ------------------------------------------------------------------------------------------ */

static void say(struct ftm_agree *a, int to, enum agree_kind kind, int answer, int ballot)
{
    size_t size = AGREE_HEAD;

    memset(a->out, 0, AGREE_HEAD);
    a->out[0] = (unsigned char)kind;
    a->out[1] = (unsigned char)answer;
    a->out[2] = (unsigned char)a->rounds;
    ftm_put32(a->out + 4, (uint32_t)ballot);
    if (kind == AGREE_ACK) {
        memcpy(a->out + size, a->acked, a->set_size);
        size += a->set_size;
    } else if (kind != AGREE_QUERY) {
        size += value_put(a, a->out + size, kind == AGREE_UP ? &a->heard : &a->stored);
    }
    a->ops.send(a->ops.ctx, to, a->out, size);
}

static void say_stored(struct ftm_agree *a, int to)
{
    say(a, to, AGREE_DOWN, 0, a->stored_ballot);
}

static void say_commit(struct ftm_agree *a, int to)
{
    say(a, to, AGREE_COMMIT, 0, 0);
}

/* ---- The tree ---------------------------------------------------------------------------------------- */

/* leaders has room for each site's first member. */
static void tree_make(struct ftm_agree *a, const int *sites, int *leaders)
{
    int i, place, count = 0;

    for (i = 0; i < a->n; i++) {
        if (i == 0 || (sites != NULL && sites[i] != sites[i - 1]))
            leaders[count++] = i;
        place = i - leaders[count - 1];
        if (place > 0)
            a->parent[i] = leaders[count - 1] + (place & (place - 1));
        else
            a->parent[i] = i > 0 ? leaders[(count - 1) & (count - 2)] : -1;
    }
}

static int root_of(const struct ftm_agree *a)
{
    int i = 0;

    while (has(a->failed, i)) /* we live */
        i++;
    return i;
}

static int parent_of(const struct ftm_agree *a, int member)
{
    int p = a->parent[member];

    while (p >= 0 && has(a->failed, p))
        p = a->parent[p];
    return p >= 0 ? p : root_of(a);
}

static int is_below(const struct ftm_agree *a, int member)
{
    while (member > a->me)
        member = a->parent[member];
    return member == a->me;
}

static int subtree_is_in(const struct ftm_agree *a, const unsigned char *set)
{
    int i;

    for (i = a->me; i < a->n; i++)
        if (!has(set, i) && is_below(a, i))
            return 0;
    return 1;
}

/* Every member is in the set or has failed. */
static int all_are_in(const struct ftm_agree *a, const unsigned char *set)
{
    int i;

    for (i = 0; i < a->n; i++)
        if (!has(set, i) && !has(a->failed, i))
            return 0;
    return 1;
}

/* ---- What is due ------------------------------------------------------------------------------------- */

/* DOWN, or COMMIT, goes to the children and to whoever asked. Direct members have none, but the root tells
 * everybody. except: it has it; or -1. */
static void pass_on(struct ftm_agree *a, int except)
{
    int i;

    for (i = 0; i < a->n; i++) {
        int to = has(a->asked, i);

        if (i == a->me || i == except || has(a->failed, i))
            continue;
        if (a->direct)
            to |= a->root;
        else
            to |= parent_of(a, i) == a->me;
        if (to && a->done && a->rounds == FTM_AGREE_TWO)
            say_commit(a, i);
        else if (to)
            say_stored(a, i);
    }
}

static void store(struct ftm_agree *a, int ballot, const struct ftm_agree_value *v)
{
    if (!a->done) /* what was returned stays; only the ballot under which it is told grows */
        value_copy(a, &a->stored, v);
    a->stored_ballot = a->promised = ballot;
    memset(a->acked, 0, a->set_size);
    put(a->acked, a->me);
    a->ack_sent = 0;
    a->done |= a->rounds == FTM_AGREE_ONE;
}

/* To the parent; direct: and to the root. */
static void say_up(struct ftm_agree *a, enum agree_kind kind)
{
    int parent = parent_of(a, a->me), root = root_of(a), ballot = kind == AGREE_ACK ? a->stored_ballot : 0;

    say(a, parent, kind, 0, ballot);
    if (a->direct && root != parent)
        say(a, root, kind, 0, ballot);
}

/* What others are to know of us. again: we know more, or somebody has failed. */
static void tell(struct ftm_agree *a, int again)
{
    if (a->done)
        return;
    if (a->stored_ballot >= 0) {
        if (a->direct ? again : !a->ack_sent && subtree_is_in(a, a->acked)) {
            a->ack_sent = 1;
            say_up(a, AGREE_ACK);
        }
    } else if (a->direct ? again && !set_is_empty(a, a->heard.covered)
                         : !a->up_sent && subtree_is_in(a, a->heard.covered)) {
        a->up_sent = 1;
        say_up(a, AGREE_UP);
    }
}

static void root_propose(struct ftm_agree *a, const struct ftm_agree_value *v)
{
    a->proposed = 1;
    store(a, a->me, v);
    pass_on(a, -1);
}

/* What everybody said; who said nothing has failed, since all are in one of the two. */
static void root_propose_heard(struct ftm_agree *a)
{
    size_t i;

    for (i = 0; i < a->set_size; i++)
        a->heard.failed[i] |= a->failed[i];
    root_propose(a, &a->heard);
}

/* The first member has nobody to ask. Another one that has returned from one round tells that result as its
 * own. Else it must find out what earlier roots have proposed. */
static void root_begin(struct ftm_agree *a)
{
    int i;

    a->root = 1;
    a->promised = a->me;
    if (a->me == 0)
        return;
    if (a->done) {
        if (a->rounds == FTM_AGREE_ONE) {
            a->stored_ballot = a->me;
            a->proposed = 1;
            for (i = 0; i < a->n; i++)
                if (has(a->asked, i) && !has(a->failed, i))
                    say_stored(a, i);
        }
        return;
    }
    a->querying = 1;
    put(a->answered, a->me);
    a->best_ballot = a->stored_ballot;
    if (a->stored_ballot >= 0)
        value_copy(a, &a->best, &a->stored);
    for (i = 0; i < a->n; i++)
        if (i != a->me && !has(a->failed, i))
            say(a, i, AGREE_QUERY, 0, a->me);
}

static void root_go_on(struct ftm_agree *a)
{
    if (!a->root)
        root_begin(a);
    if (a->done)
        return;
    if (a->querying && all_are_in(a, a->answered)) {
        a->querying = 0;
        if (a->best_ballot >= 0)
            root_propose(a, &a->best);
    }
    if (a->querying)
        return;
    if (!a->proposed && all_are_in(a, a->heard.covered))
        root_propose_heard(a);
    if (a->proposed && !a->done && all_are_in(a, a->acked)) {
        a->done = 1;
        pass_on(a, -1);
    }
}

static void go_on(struct ftm_agree *a, int again)
{
    if (root_of(a) == a->me)
        root_go_on(a);
    else
        tell(a, again);
}

/* ---- What arrives ------------------------------------------------------------------------------------ */

static void answer_query(struct ftm_agree *a)
{
    int root = a->owes;

    if (root < 0 || (!a->contributed && a->stored_ballot < 0))
        return;
    a->owes = -1;
    if (has(a->failed, root))
        return;
    if (a->done && a->rounds == FTM_AGREE_TWO)
        say_commit(a, root);
    else if (a->stored_ballot >= 0)
        say(a, root, AGREE_HAVE, 1, a->stored_ballot);
    else
        say(a, root, AGREE_UP, 1, root);
}

/* Something is said that we may know more of. 1: it was answered. */
static int answer_asker(struct ftm_agree *a, int from, int ballot)
{
    put(a->asked, from);
    if (a->done && a->rounds == FTM_AGREE_TWO)
        say_commit(a, from);
    else if (a->stored_ballot > ballot)
        say_stored(a, from);
    else
        return 0;
    return 1;
}

static void on_up(struct ftm_agree *a, int from, const struct agree_message *m)
{
    int grown = value_merge(a, &a->heard, &m->value);

    if (m->answer)
        put(a->answered, from);
    if (m->answer && a->querying)
        put(a->asked, from);
    else if (answer_asker(a, from, -1))
        return;
    go_on(a, grown);
}

static void on_ack(struct ftm_agree *a, int from, const struct agree_message *m)
{
    int grown = 0;
    size_t i;

    if (answer_asker(a, from, (int)m->ballot) || a->stored_ballot != (int)m->ballot)
        return;
    for (i = 0; i < a->set_size; i++) {
        grown |= (m->set[i] & ~a->acked[i]) != 0;
        a->acked[i] |= m->set[i];
    }
    go_on(a, grown);
}

static void on_down(struct ftm_agree *a, int from, const struct agree_message *m)
{
    if (a->done && a->rounds == FTM_AGREE_TWO) {
        say_commit(a, from);
    } else if ((int)m->ballot < a->promised) {
        return;
    } else if ((int)m->ballot == a->stored_ballot) {
        if (a->rounds == FTM_AGREE_TWO)
            say(a, from, AGREE_ACK, 0, a->stored_ballot);
    } else {
        store(a, (int)m->ballot, &m->value);
        answer_query(a);
        pass_on(a, from);
        go_on(a, 1);
    }
}

static void on_commit(struct ftm_agree *a, int from, const struct agree_message *m)
{
    if (a->done)
        return;
    value_copy(a, &a->stored, &m->value);
    a->stored_ballot = a->stored_ballot >= 0 ? a->stored_ballot : 0;
    a->done = 1;
    a->querying = 0;
    answer_query(a);
    pass_on(a, from);
}

/* All before that root have failed. If that is said of us, too, a mistake was made that others mend. */
static void on_query(struct ftm_agree *a, const struct agree_message *m)
{
    int i, root = (int)m->ballot, news = !a->direct;

    for (i = 0; i < root; i++) {
        news |= i != a->me && !has(a->failed, i);
        if (i != a->me)
            put(a->failed, i);
    }
    a->direct = 1;
    if (root >= a->promised) {
        a->promised = root;
        a->owes = root;
        answer_query(a);
    }
    if (news)
        go_on(a, 1);
}

static void on_have(struct ftm_agree *a, int from, const struct agree_message *m)
{
    if (!a->querying)
        return;
    put(a->answered, from);
    if ((int)m->ballot > a->best_ballot) {
        a->best_ballot = (int)m->ballot;
        value_copy(a, &a->best, &m->value);
    }
    go_on(a, 0);
}

int ftm_agree_arrived(struct ftm_agree *a, int member, const void *bytes, size_t size)
{
    struct agree_message m;

    if (member < 0 || member >= a->n || member == a->me || message_get(a, &m, member, bytes, size) != 0)
        return -1;
    if (has(a->failed, member))
        return 0;
    switch (m.kind) {
    case AGREE_UP:
        on_up(a, member, &m);
        break;
    case AGREE_DOWN:
        on_down(a, member, &m);
        break;
    case AGREE_ACK:
        on_ack(a, member, &m);
        break;
    case AGREE_COMMIT:
        on_commit(a, member, &m);
        break;
    case AGREE_QUERY:
        on_query(a, &m);
        break;
    case AGREE_HAVE:
        on_have(a, member, &m);
        break;
    }
    return 0;
}

void ftm_agree_failed(struct ftm_agree *a, int member)
{
    if (member < 0 || member >= a->n || member == a->me || has(a->failed, member))
        return;
    put(a->failed, member);
    a->direct = 1;
    go_on(a, 1);
}

/* ---- Our own part ------------------------------------------------------------------------------------ */

void ftm_agree_contribute(struct ftm_agree *a, const struct ftm_agree_value *mine)
{
    unsigned char *nobody = a->out; /* not in use now */
    struct ftm_agree_value v = *mine;

    if (a->contributed)
        return;
    a->contributed = 1;
    memset(nobody, 0, 2 * a->set_size);
    v.covered = nobody + a->set_size;
    put(v.covered, a->me);
    v.failed = v.failed != NULL ? v.failed : nobody;
    v.acknowledged = v.acknowledged != NULL ? v.acknowledged : nobody;
    value_merge(a, &a->heard, &v);
    answer_query(a);
    go_on(a, 1);
}

int ftm_agree_has_contributed(const struct ftm_agree *a)
{
    return a->contributed;
}

const struct ftm_agree_value *ftm_agree_result(const struct ftm_agree *a)
{
    return a->done ? &a->stored : NULL;
}

int ftm_agree_is_root(const struct ftm_agree *a)
{
    return root_of(a) == a->me;
}

int ftm_agree_has_heard(const struct ftm_agree *a, int member)
{
    return has(a->heard.covered, member);
}

/* ---- Life -------------------------------------------------------------------------------------------- */

size_t ftm_agree_size(const struct ftm_agree *a)
{
    return a->size;
}

size_t ftm_agree_most(int members)
{
    return AGREE_HEAD + AGREE_NUMBERS + 3 * FTM_AGREE_SET(members);
}

/* The next piece of the one block of memory that an agreement is. */
static unsigned char *take(unsigned char **next, size_t size)
{
    unsigned char *piece = *next;

    *next += size;
    return piece;
}

static void value_place(struct ftm_agree *a, struct ftm_agree_value *v, unsigned char **next)
{
    v->failed = take(next, a->set_size);
    v->acknowledged = take(next, a->set_size);
    v->covered = take(next, a->set_size);
    value_clear(a, v);
}

static void agree_init(struct ftm_agree *a, const int *sites)
{
    unsigned char *next = (unsigned char *)(a + 1);
    int *leaders;

    a->parent = (int *)(void *)take(&next, (size_t)a->n * sizeof(int));
    leaders = (int *)(void *)take(&next, (size_t)a->n * sizeof(int));
    tree_make(a, sites, leaders);
    value_place(a, &a->heard, &next);
    value_place(a, &a->stored, &next);
    value_place(a, &a->best, &next);
    a->failed = take(&next, a->set_size);
    a->asked = take(&next, a->set_size);
    a->acked = take(&next, a->set_size);
    a->answered = take(&next, a->set_size);
    a->out = take(&next, ftm_agree_most(a->n));
    a->stored_ballot = a->best_ballot = a->owes = -1;
}

int ftm_agree_new(struct ftm_agree **out, struct ftm_mem *mem, const struct ftm_agree_ops *ops, int members,
                  const int *sites, int me, enum ftm_agree_rounds rounds)
{
    size_t set = FTM_AGREE_SET(members);
    size_t size = sizeof **out + 2 * (size_t)members * sizeof(int) + 13 * set + ftm_agree_most(members);

    *out = ftm_mem_new(mem, size);
    if (*out == NULL)
        return -1;
    (*out)->mem = mem;
    (*out)->ops = *ops;
    (*out)->n = members;
    (*out)->me = me;
    (*out)->rounds = (int)rounds;
    (*out)->set_size = set;
    (*out)->size = size;
    agree_init(*out, sites);
    return 0;
}

void ftm_agree_free(struct ftm_agree *a)
{
    if (a != NULL)
        ftm_mem_free(a->mem, a, a->size);
}
