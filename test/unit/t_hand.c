/* t_hand.c - names handed to another node: while messages flow, by one that leaves, and in vain.
 *
 * Goal: phx_hand moves names without a moment in which one has no owner, without a conflict, with every
 * message once and in order; a HAND that is lost is repeated, one that lies is ignored, and an
 * heir that is gone costs nothing. Method: whole nodes on real sockets (nodes.h), and as the heir or the
 * liar a peer that speaks by hand (raw.h). */
#include "test.h"

#ifdef PHX_JOINED
#include "../../phoenix.c"
#else
#include "../../src/base/sha.h"
#endif

#include "raw.h"

/* ---- What on_handed has seen ----------------------------------------------------------------- */

static struct {
    int count, before_mail; /* before_mail: it came when nothing had been delivered there yet */
    uint64_t names;
    struct phx_range range; /* the last */
    struct phx_id giver;
} handed[8]; /* by index in n */

static void saw_handed(phx *p, struct phx_range range, const struct phx_id *giver, void *user)
{
    struct node *at = user;
    int i = (int)(at - n);
    struct phx_id owner;

    check(phx_owner(p, range.first, &owner) == 0 && same_id(&owner, &at->id), "assumed already");
    handed[i].count++;
    handed[i].names += range.last - range.first + 1;
    handed[i].range = range;
    handed[i].giver = *giver;
    handed[i].before_mail = at->mail_count == 0;
}

static void hand_settings(struct node *of, struct phx_config *c)
{
    settings(of, c);
    hurry(c);
    c->on_handed = saw_handed;
}

/* So many nodes in a full mesh; the last, which sends, holds name 99. */
static void begin_mesh(int count)
{
    struct phx_config c;
    int i;

    memset(handed, 0, sizeof handed);
    for (i = 0; i < count; i++) {
        hand_settings(&n[i], &c);
        begin_as(&n[i], &c, LOOPBACK);
        if (i > 0)
            phx_join(n[i].p, n[0].at);
    }
    phx_assume(n[count - 1].p, 99, 99);
    await(is_mesh(n, count), PATIENCE);
    check(is_mesh(n, count), "a full mesh of %d", count);
}

/* Nobody is to die: a machine that stalls for a second is no reason to take a name. */
static void begin_patient_mesh(int count)
{
    struct phx_detector d;
    int i;

    begin_mesh(count);
    (void)phx_detector_preset(&d, PHX_PRESET_DEFAULT);
    for (i = 0; i < count; i++)
        check(phx_set_detector(n[i].p, &d) == 0, "patient");
}

static void own(struct node *owner, uint64_t first, uint64_t last, int count)
{
    int i;

    check(phx_assume(owner->p, first, last) == 0, "assume");
    for (i = 0; i < count; i++)
        await(owns(&n[i], first, owner) && owns(&n[i], last, owner), PATIENCE);
}

/* ---- Load ------------------------------------------------------------------------------------ */

/* Messages to the names first..first+3, numbered for each of them by their tags. */
#define NAMES 4u
struct load {
    struct node *from;
    uint64_t first;
    uint64_t sent[NAMES];
    int unowned; /* how often a message was sent while no owner was known */
};

static void send_some(struct load *l, int rounds)
{
    uint64_t i;

    for (; rounds > 0; rounds--) {
        for (i = 0; i < NAMES; i++) {
            l->unowned += phx_owner(l->from->p, l->first + i, NULL) != 0;
            if (post(l->from, l->first + i, l->sent[i], 300) == 0)
                l->sent[i]++;
        }
    }
}

static uint64_t sent_of(const struct load *l)
{
    return l->sent[0] + l->sent[1] + l->sent[2] + l->sent[3];
}

/* Is the mail of giver, and then that of heir, all of the load, each once and in order? */
static int all_once(const struct load *l, const struct node *giver, const struct node *heir)
{
    const struct node *at[2] = {giver, heir};
    uint64_t next[NAMES] = {0, 0, 0, 0};
    int i, k;

    for (k = 0; k < 2; k++) {
        for (i = 0; i < at[k]->mail_count; i++) {
            const struct mail *m = &at[k]->mail[i];
            if (!m->good || m->to - l->first >= NAMES || m->tag != next[m->to - l->first]++)
                return 0;
        }
    }
    return memcmp(next, l->sent, sizeof next) == 0;
}

static int conflicts(int count)
{
    int i, sum = 0;

    for (i = 0; i < count; i++)
        sum += n[i].conflicts;
    return sum;
}

/* ---- In life --------------------------------------------------------------------------------- */

static void test_live(void)
{
    struct load l;
    int i;

    begin_patient_mesh(3);
    memset(&l, 0, sizeof l);
    l.from = &n[2];
    l.first = 10;
    own(&n[0], 10, 19, 3);
    for (i = 0; i < 30; i++) {
        send_some(&l, 10);
        turn(1);
    }
    ok(phx_hand(n[0].p, 10, 13, &n[1].id) == 0, "the giver gives four of its names");
    ok(owns(&n[0], 10, &n[0]), "and holds them for now");
    for (i = 0; i < 3000 && !owns(&n[2], 10, &n[1]); i++) {
        send_some(&l, 5);
        turn(1);
    }
    for (i = 0; i < 30; i++) {
        send_some(&l, 10);
        turn(1);
    }
    eventually(n[0].mail_count + n[1].mail_count >= (int)sent_of(&l), "all %d messages arrive",
               (int)sent_of(&l));
    ok(n[0].mail_count > 0 && n[1].mail_count > 0, "%d at the giver, %d at the heir",
       n[0].mail_count, n[1].mail_count);
    ok(all_once(&l, &n[0], &n[1]), "each once and in order");
    ok(l.unowned == 0, "and none was sent at a moment without an owner: %d", l.unowned);
    ok(handed[1].count == 1 && handed[1].range.first == 10 && handed[1].range.last == 13
           && same_id(&handed[1].giver, &n[0].id) && handed[1].before_mail,
       "the heir was told once, and before the first message");
    ok(handed[0].count + handed[2].count == 0 && conflicts(3) == 0, "and nobody else of anything");
    ok(owns(&n[0], 13, &n[1]) && owns(&n[2], 14, &n[0]) && owns(&n[1], 19, &n[0]),
       "the giver keeps the others");
    finish_all(n, 3);
}

/* Names go round and come back: late copies of HAND must not move them again. */
static void test_round(void)
{
    int i, err = 0;

    begin_patient_mesh(3);
    own(&n[0], 10, 19, 3);
    for (i = 0; i < 30 && err == 0; i++) {
        struct node *heir = &n[(i + 1) % 3];
        err = phx_hand(n[i % 3].p, 10, 19, &heir->id);
        await(owns(heir, 10, heir), PATIENCE);
        if (i % 3 != 0) /* else the next heir may be asked before it knows who the giver is */
            await(owns(&n[0], 10, heir) && owns(&n[1], 10, heir) && owns(&n[2], 10, heir),
                  PATIENCE);
    }
    ok(err == 0 && i == 30, "thirty hands in a circle");
    for (i = 0; i < 3; i++)
        await(owns(&n[i], 10, &n[0]) && owns(&n[i], 19, &n[0]), PATIENCE);
    go_on(500 * MS);
    ok(owns(&n[0], 10, &n[0]) && owns(&n[1], 15, &n[0]) && owns(&n[2], 19, &n[0]),
       "they are back at the first, and stay");
    ok(handed[0].count == 10 && handed[1].count == 10 && handed[2].count == 10
           && conflicts(3) == 0,
       "each was told of each, and there was no conflict");
    finish_all(n, 3);
}

static void test_errors(void)
{
    struct phx_id nobody;
    uint64_t i;
    int err = 0;

    begin_patient_mesh(3);
    memset(&nobody, 0xee, sizeof nobody);
    own(&n[0], 10, 19, 3);
    own(&n[1], 20, 29, 3);
    ok(phx_hand(NULL, 10, 10, &n[1].id) == PHX_EINVAL
           && phx_hand(n[0].p, 10, 10, NULL) == PHX_EINVAL
           && phx_hand(n[0].p, 10, 10, &n[0].id) == PHX_EINVAL,
       "nobody, to nobody, to itself");
    ok(phx_hand(n[0].p, 11, 10, &n[1].id) == PHX_ERANGE, "a range upside down");
    ok(phx_hand(n[0].p, 10, 10, &nobody) == PHX_ENOTFOUND, "an heir that nobody knows");
    ok(phx_hand(n[0].p, 9, 10, &n[1].id) == PHX_ENOTFOUND
           && phx_hand(n[0].p, 19, 20, &n[1].id) == PHX_ENOTFOUND
           && phx_hand(n[0].p, 0, UINT64_MAX, &n[1].id) == PHX_ENOTFOUND
           && phx_hand(n[0].p, 25, 25, &n[1].id) == PHX_ENOTFOUND,
       "names that are not held");
    n[0].heap.fail_from = n[0].heap.calls + 1;
    err = phx_hand(n[0].p, 10, 12, &n[1].id);
    n[0].heap.fail_from = 0;
    ok(err == PHX_ENOMEM, "no memory: %d", err);
    ok(phx_hand(n[0].p, 10, 12, &n[1].id) == 0 && phx_hand(n[0].p, 10, 12, &n[1].id) == 0
           && phx_hand(n[0].p, 12, 13, &n[2].id) == PHX_ESTATE,
       "twice to one is once, and to another not at all");
    own(&n[0], 1000, 5000, 1);
    for (i = 1000, err = 0; i <= 5000 && err == 0; i += 2)
        err = phx_hand(n[0].p, i, i, &n[1].id);
    ok(err == PHX_ELIMIT && i == 1000 + 2 * 1024, "1,024 at a time: the %d",
       (int)(i - 1000) / 2);
    eventually(handed[1].names == 3 + 1023, "all of them move: %d", (int)handed[1].names);
    eventually(owns(&n[0], 1000, &n[1]) && owns(&n[0], 1001, &n[0])
                   && owns(&n[0], 3044, &n[1]) && owns(&n[0], 3046, &n[0]),
               "and only they");
    ok(phx_close(n[0].p, 0) == 0 && phx_hand(n[0].p, 13, 13, &n[1].id) == PHX_ECLOSED, "closed");
    ok(conflicts(3) == 0, "no conflict");
    finish_all(n, 3);
}

/* ---- A peer that speaks by hand -------------------------------------------------------------- */

/* An UPDATE of the raw peer itself: a new card that claims first..last, or, with epoch 0, nothing. */
static void raw_card(unsigned version, uint64_t first, uint64_t last, uint64_t epoch)
{
    head(SPEC_UPDATE, 0, 0);
    put(0, 2);
    put_bytes(&r.id, 16);
    put(0, 8);
    put(2 * version, 4); /* seq */
    put(0, 1);
    put(1, 1);
    put(version, 4);
    put(epoch > 0 ? 11 + 24 : 11, 4);
    put(1, 1);
    put(65536, 4);
    put(0, 2); /* no label, no address */
    put(epoch > 0, 4);
    if (epoch > 0) {
        put(first, 8);
        put(last, 8);
        put(epoch, 8);
    }
    tail();
    raw_send();
}

/* Links with n[0], which then has a way there. */
static void raw_member(void)
{
    static struct node peer;

    raw_link(&n[0]);
    raw_card(2, 0, 0, 0);
    peer.id = r.id;
    await(hops(&n[0], &peer) == 1, PATIENCE);
    check(hops(&n[0], &peer) == 1, "the raw peer is a member");
}

/* ---- Leaving --------------------------------------------------------------------------------- */

static void test_leave(void)
{
    struct load l;
    int i;

    begin_mesh(3);
    memset(&l, 0, sizeof l);
    l.from = &n[2];
    l.first = 10;
    own(&n[0], 10, 13, 3);
    phx_assume(n[0].p, 50, 59);
    for (i = 0; i < 30; i++) {
        send_some(&l, 10);
        turn(1);
    }
    ok(phx_hand(n[0].p, 10, 13, &n[1].id) == 0 && phx_close(n[0].p, 5 * SECOND) == 0,
       "the giver gives its names and leaves");
    ok(phx_owner(n[0].p, 50, NULL) == PHX_ENOTFOUND && owns(&n[0], 10, &n[0]),
       "others it releases at once");
    for (i = 0; i < 3000 && !phx_closed(n[0].p); i++) {
        send_some(&l, 5);
        turn(1);
    }
    ok(phx_closed(n[0].p), "it has left");
    send_some(&l, 10);
    eventually(n[0].mail_count + n[1].mail_count >= (int)sent_of(&l), "all %d messages arrive",
               (int)sent_of(&l));
    ok(all_once(&l, &n[0], &n[1]), "each once and in order: %d and %d", n[0].mail_count,
       n[1].mail_count);
    eventually(told(&n[1], &n[0], PHX_NODE_LEFT) == 1 && told(&n[2], &n[0], PHX_NODE_LEFT) == 1,
               "both others see that it left");
    go_on(SECOND);
    ok(told(&n[1], &n[0], PHX_NODE_FAILED) + told(&n[2], &n[0], PHX_NODE_FAILED) == 0,
       "and never a failure");
    ok(handed[1].count == 1 && conflicts(3) == 0 && owns(&n[2], 13, &n[1]), "the heir has them");
    ok(phx_owner(n[2].p, 50, NULL) == PHX_ENOTFOUND, "the others are free");
    finish_all(n, 3);
}

/* ---- Heirs that are gone --------------------------------------------------------------------- */

static void test_heir_dies(void)
{
    uint64_t start;

    begin_mesh(3);
    own(&n[0], 10, 19, 3);
    kill_node(&n[1]);
    ok(phx_hand(n[0].p, 10, 14, &n[1].id) == 0, "given to one that has just died");
    eventually(told(&n[0], &n[1], PHX_NODE_FAILED) == 1, "it is found to have failed");
    ok(phx_hand(n[0].p, 10, 14, &n[1].id) == PHX_ENOTFOUND, "no heir any more");
    ok(phx_hand(n[0].p, 10, 19, &n[2].id) == 0, "but another may have them now");
    eventually(handed[2].names == 10 && owns(&n[0], 10, &n[2]), "and gets them");
    kill_node(&n[2]);
    eventually(told(&n[0], &n[2], PHX_NODE_FAILED) == 1, "it dies as well");
    ok(conflicts(1) == 0, "no conflict");
    finish_all(n, 3);

    begin_mesh(3);
    own(&n[0], 10, 19, 3);
    kill_node(&n[1]);
    start = phx_now_us();
    ok(phx_hand(n[0].p, 10, 19, &n[1].id) == 0 && phx_close(n[0].p, 60 * SECOND) == 0,
       "a giver that leaves with a dead heir");
    eventually(phx_closed(n[0].p), "waits until it is known that the heir has failed");
    ok(phx_now_us() - start < 10 * SECOND && told(&n[0], &n[1], PHX_NODE_FAILED) == 1,
       "and not for all of its drain");
    eventually(told(&n[2], &n[0], PHX_NODE_LEFT) == 1
                   && phx_owner(n[2].p, 10, NULL) == PHX_ENOTFOUND,
               "its names are free");
    finish_all(n, 3);
}

static void test_heir_leaves(void)
{
    uint64_t start;

    begin_mesh(3);
    own(&n[0], 10, 19, 3);
    post(&n[1], 12345, 1, 10); /* nobody holds it: the heir waits for all of its drain */
    ok(phx_close(n[1].p, 2 * SECOND) == 0 && phx_hand(n[0].p, 10, 19, &n[1].id) == 0,
       "given to one that is leaving");
    go_on(SECOND);
    ok(owns(&n[0], 10, &n[0]) && owns(&n[2], 10, &n[0]) && handed[1].count == 0,
       "which does not take them");
    start = phx_now_us();
    ok(phx_close(n[0].p, 60 * SECOND) == 0, "the giver leaves, too");
    eventually(phx_closed(n[0].p) && phx_now_us() - start < 10 * SECOND,
               "and can when the heir has left");
    ok(told(&n[0], &n[1], PHX_NODE_LEFT) == 1 && conflicts(3) == 0, "which is no conflict");
    finish_all(n, 3);
}

/* A drain that ends first: the raw heir neither answers nor goes. */
static void test_drain_ends(void)
{
    struct phx_config c = usual();
    uint64_t start;

    begin_pair(&c);
    raw_member();
    start = phx_now_us();
    ok(phx_hand(n[0].p, 1, 1, &r.id) == 0 && phx_close(n[0].p, 800 * MS) == 0,
       "a giver leaves whose heir does not listen");
    go_on(300 * MS);
    ok(!phx_closed(n[0].p) && owns(&n[1], 1, &n[0]), "it keeps the names");
    eventually(phx_closed(n[0].p) && phx_now_us() - start >= 600 * MS,
               "until shortly before the end of its drain");
    eventually(told(&n[1], &n[0], PHX_NODE_LEFT) == 1
                   && phx_owner(n[1].p, 1, NULL) == PHX_ENOTFOUND,
               "then they are free");
    raw_finish();
    finish_all(n, 2);
}

/* ---- Frames lost, late and forged ------------------------------------------------------------ */

static void raw_hand(const struct phx_id *giver, uint64_t incarnation, uint64_t first,
                     uint64_t last, uint64_t epoch)
{
    head(SPEC_HAND, 0, 3);
    put_bytes(&n[0].id, 16);
    put_bytes(giver, 16);
    put(incarnation, 8);
    put(first, 8);
    put(last, 8);
    put(epoch, 8);
    tail();
    raw_send();
}

/* Takes the frames off what has come; returns how many HAND were among them, the last into *out. */
static int raw_hands(unsigned char out[64])
{
    int count = 0;

    raw_read();
    while (r.got >= 8) {
        size_t size = 4 + (size_t)r.in[0] + (size_t)r.in[1] * 256;
        if (r.got < size)
            break;
        if (r.in[4] == SPEC_HAND && size == 72) {
            memcpy(out, r.in + 8, 64);
            count++;
        }
        memmove(r.in, r.in + size, r.got - size);
        r.got -= size;
    }
    return count;
}

static uint64_t number_at(const unsigned char *at)
{
    uint64_t v = 0;
    int i;

    for (i = 8; i > 0; i--)
        v = v << 8 | at[i - 1];
    return v;
}

static int handed_at(const struct node *at)
{
    return logged(at, "handed to this node", "");
}

/* The first HANDs are lost on an heir that does not act on them. */
static void test_lost(void)
{
    struct phx_config c = usual();
    unsigned char hand[64] = {0};
    uint64_t start, at[4] = {0, 0, 0, 0};
    int i = 0, got;

    begin_pair(&c);
    phx_assume(n[0].p, 10, 19);
    raw_member();
    await(owns(&n[1], 10, &n[0]), PATIENCE);
    start = phx_now_us();
    ok(phx_hand(n[0].p, 10, 19, &r.id) == 0, "given to a raw peer");
    while (i < 4 && phx_now_us() - start < PATIENCE) {
        turn(5);
        for (got = raw_hands(hand); got > 0 && i < 4; got--)
            at[i++] = phx_now_us() - start;
    }
    ok(i == 4 && at[1] >= 190 * MS && at[2] >= 580 * MS && at[3] >= 1350 * MS,
       "it is asked again after 200, 400, 800 ms: at %d, %d, %d ms", (int)(at[1] / MS),
       (int)(at[2] / MS), (int)(at[3] / MS));
    ok(memcmp(hand, r.id.b, 16) == 0 && memcmp(hand + 16, n[0].id.b, 16) == 0
           && number_at(hand + 40) == 10 && number_at(hand + 48) == 19
           && number_at(hand + 56) >= 1,
       "and told what WIRE.md says");
    raw_card(3, 10, 14, number_at(hand + 56) + 10);
    eventually(phx_owner(n[0].p, 12, NULL) == 0 && !owns(&n[0], 12, &n[0]),
               "it takes one half, as if it held the rest from elsewhere");
    for (start = phx_now_us(), i = 0; i == 0 && phx_now_us() - start < PATIENCE; turn(5))
        i = raw_hands(hand);
    ok(i > 0 && phx_now_us() - start < SECOND && number_at(hand + 40) == 15,
       "the other half is offered at once");
    ok(n[0].conflicts == 0, "which is no conflict");
    raw_card(4, 10, 20, number_at(hand + 56) + 20);
    eventually(phx_owner(n[0].p, 19, NULL) == 0 && !owns(&n[0], 19, &n[0]), "it takes all");
    (void)raw_hands(hand);
    go_on(2500 * MS);
    ok(raw_hands(hand) == 0, "and is asked no more");
    ok(n[0].conflicts == 0, "no conflict");
    own(&n[0], 30, 39, 2);
    ok(phx_hand(n[0].p, 33, 34, &r.id) == 0, "two in the middle are given");
    turn(5);
    raw_card(5, 30, 39, number_at(hand + 56) + 40);
    eventually(n[0].conflicts == 2 && n[0].conflict.first == 35 && n[0].conflict.last == 39,
               "and all are taken: of what was not given there is a conflict");
    ok(same_id(&n[0].winner, &r.id) && honest(), "and all else goes on");
    raw_finish();
    finish_all(n, 2);
}

static void test_forged(void)
{
    struct phx_config c = usual();
    struct phx_id nobody;
    uint64_t high = 1000;

    begin_pair(&c);
    memset(&nobody, 0xee, sizeof nobody);
    own(&n[1], 20, 29, 2);
    raw_member();
    raw_hand(&r.id, 0, 20, 29, high); /* of names that are another's */
    raw_hand(&r.id, 0, 500, 599, high); /* that are nobody's */
    raw_hand(&nobody, 0, 20, 29, high); /* of a giver that there is not */
    raw_hand(&n[0].id, 0, 20, 29, high); /* of the heir itself */
    raw_hand(&n[1].id, 7, 20, 29, high); /* of another life */
    raw_hand(&n[1].id, 0, 20, 29, 0); /* from before they were assumed */
    raw_card(3, 40, 49, 500);
    eventually(phx_owner(n[0].p, 40, NULL) == 0, "a peer that claims names of its own");
    ok(handed_at(&n[0]) == 0 && owns(&n[0], 20, &n[1]) && owns(&n[1], 29, &n[1])
           && phx_owner(n[0].p, 500, NULL) == PHX_ENOTFOUND,
       "what is not the giver's is not taken");
    raw_hand(&r.id, 0, 15, 60, 499);
    raw_hand(&r.id, 0, 15, 60, 500);
    eventually(handed_at(&n[0]) == 1 && owns(&n[0], 40, &n[0]) && owns(&n[0], 49, &n[0]),
               "what is, and no more, is taken");
    raw_hand(&r.id, 0, 40, 49, 500);
    raw_hand(&r.id, 0, 40, 49, UINT64_MAX);
    eventually(owns(&n[1], 45, &n[0]), "and all know");
    ok(honest() && handed_at(&n[0]) == 1 && owns(&n[0], 20, &n[1])
           && phx_owner(n[0].p, 50, NULL) == PHX_ENOTFOUND,
       "again and again it is taken once");
    raw_hand(&r.id, 0, 49, 40, 500);
    eventually(raw_is_closed(), "a range upside down ends the link");
    ok(honest() && conflicts(2) == 0, "and all else goes on");
    raw_finish();
    finish_all(n, 2);
}

/* Through a relay: neither end listens. */
static void test_relayed(void)
{
    struct phx_config c;
    int i;

    memset(handed, 0, sizeof handed);
    for (i = 0; i < 3; i++) {
        hand_settings(&n[i], &c);
        begin_as(&n[i], &c, i == 1 ? LOOPBACK : NULL);
    }
    phx_join(n[0].p, n[1].at);
    phx_join(n[2].p, n[1].at);
    own(&n[0], 10, 19, 3);
    await(hops(&n[0], &n[2]) == 2, PATIENCE);
    ok(hops(&n[0], &n[2]) == 2 && phx_hand(n[0].p, 10, 19, &n[2].id) == 0, "given at two hops");
    eventually(handed[2].count == 1 && owns(&n[0], 10, &n[2]) && owns(&n[1], 19, &n[2]),
               "and taken");
    ok(handed[1].count == 0 && conflicts(3) == 0, "by nobody else");
    finish_all(n, 3);
}

/* The heir has no memory to take names with when it is asked first. */
static void test_memory(void)
{
    begin_patient_mesh(3);
    own(&n[0], 10, 19, 3);
    n[1].heap.fail_from = n[1].heap.calls + 1;
    ok(phx_hand(n[0].p, 10, 19, &n[1].id) == 0, "given to one without memory");
    await(logged(&n[1], "names 10 to 19", phx_strerror(PHX_ENOMEM)) > 0, PATIENCE);
    ok(logged(&n[1], "names 10 to 19", phx_strerror(PHX_ENOMEM)) > 0 && handed[1].count == 0
           && owns(&n[0], 10, &n[0]),
       "which does not take them");
    n[1].heap.fail_from = 0;
    eventually(handed[1].count == 1 && owns(&n[0], 10, &n[1]), "but does when it has some");
    ok(conflicts(3) == 0, "no conflict");
    finish_all(n, 3);
}

/* ---- Hosts that act inside on_handed --------------------------------------------------------- */

static void closes(phx *p, struct phx_range range, const struct phx_id *giver, void *user)
{
    saw_handed(p, range, giver, user);
    phx_close(p, 0);
}

/* Gives them back at once. */
static void refuses(phx *p, struct phx_range range, const struct phx_id *giver, void *user)
{
    saw_handed(p, range, giver, user);
    if (handed[(struct node *)user - n].count <= 3)
        check(phx_hand(p, range.first, range.last, giver) == 0, "given back");
}

static void test_callbacks(void)
{
    struct phx_config c;
    int i;

    memset(handed, 0, sizeof handed);
    for (i = 0; i < 3; i++) {
        hand_settings(&n[i], &c);
        c.on_handed = i == 2 ? closes : refuses;
        begin_as(&n[i], &c, LOOPBACK);
        if (i > 0)
            phx_join(n[i].p, n[0].at);
    }
    await(is_mesh(n, 3), PATIENCE);
    own(&n[0], 10, 19, 3);
    ok(phx_hand(n[0].p, 10, 19, &n[1].id) == 0, "two that hand to each other inside on_handed");
    eventually(handed[0].count == 3 && handed[1].count == 4, "three times each way, and once more");
    for (i = 0; i < 3; i++)
        await(owns(&n[i], 10, &n[1]), PATIENCE);
    go_on(SECOND);
    ok(handed[0].count == 3 && handed[1].count == 4 && owns(&n[2], 19, &n[1])
           && owns(&n[0], 10, &n[1]) && conflicts(3) == 0,
       "then it rests");
    ok(phx_hand(n[1].p, 10, 19, &n[2].id) == 0, "to one that leaves when it gets them");
    eventually(phx_closed(n[2].p) && told(&n[0], &n[2], PHX_NODE_LEFT) == 1, "it does");
    ok(handed[2].count == 1 && conflicts(3) == 0, "having been told once");
    finish_all(n, 3);
}

static const struct test tests[] = {
    {"live", test_live},
    {"round", test_round},
    {"errors", test_errors},
    {"leave", test_leave},
    {"heir_dies", test_heir_dies},
    {"heir_leaves", test_heir_leaves},
    {"drain_ends", test_drain_ends},
    {"lost", test_lost},
    {"forged", test_forged},
    {"relayed", test_relayed},
    {"memory", test_memory},
    {"callbacks", test_callbacks},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
    if (test_begin() != 0)
        return 1;
    run_tests(tests, argc, argv);
    return test_finish();
}
