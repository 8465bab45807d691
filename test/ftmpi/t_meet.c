/* t_meet.c - two groups agree that they have an intercommunicator, of which either may have failed.
 *
 * Method: whole engines without Phoenix; what they say goes through config.on_protocol and arrives in any
 * order of pairs. */
#include <stdlib.h>
#include <string.h>

#include "comm.h"
#include "engine.h"
#include "fault.h"
#include "flight.h"
#include "mpi-ext.h"
#include "recover.h"
#include "test.h"
#include "vote.h"

#define SAID_MOST 256

static struct member {
    struct ftm *e;
    int seat;
} member[4];

static struct said {
    int from, to;
    uint64_t tag;
    size_t size;
    unsigned char bytes[256];
} said[SAID_MOST];

/* Refuses the allocation of that number, counted down; -1: none. */
static int refuse_at = -1;

static void *alloc(void *world, void *old, size_t old_size, size_t new_size)
{
    (void)world;
    (void)old_size;
    if (new_size == 0) {
        free(old);
        return NULL;
    }
    return refuse_at >= 0 && refuse_at-- == 0 ? NULL : realloc(old, new_size);
}

static const struct phx_alloc heap = { alloc, NULL };

static int said_count;
static unsigned random_state = 1;

static int on_protocol(void *user, int proc, uint64_t tag, const void *data, size_t size)
{
    const struct member *m = user;
    struct said *s = &said[said_count++];

    if (said_count == SAID_MOST || size > sizeof s->bytes)
        abort();
    s->from = m->seat;
    s->to = proc;
    s->tag = tag;
    s->size = size;
    memcpy(s->bytes, data, size);
    return 1;
}

static void start(int seat)
{
    struct ftm_config c;

    memset(&c, 0, sizeof c);
    member[seat].seat = c.rank = seat;
    c.size = 4;
    c.modes.comm = FTMPI_COMM_MODE_SHRINK;
    c.user = &member[seat];
    c.on_protocol = on_protocol;
    c.arbiter = 1;
    c.alloc = &heap;
    if (ftm_new(&member[seat].e, &c, 1) != 0)
        abort();
    member[seat].e->notice.begun = 1; /* nobody sends a TABLE here */
}

static void deliver(const struct said *s)
{
    struct ftm *e = member[s->to].e;
    struct ftm_arrival a = { NULL, 0, s->tag, s->bytes, s->size };

    if (e == NULL || e->procs[s->from]->state == FTM_PROC_FAILED)
        return;
    a.proc = e->procs[s->from];
    a.from = FTM_FROM(0, 0, (uint32_t)s->from);
    if (ftm_recover_arrived(e, &a) != 0)
        ok(0, "a message that nobody sends, from %d to %d", s->from, s->to);
}

/* The first one of any pair, until there is none. */
static void drain(void)
{
    while (said_count > 0) {
        struct said s;
        int i = 0, k;

        random_state = random_state * 1664525u + 1013904223u;
        k = (int)((random_state >> 8) % (unsigned)said_count);
        while (said[i].from != said[k].from || said[i].to != said[k].to)
            i++;
        s = said[i];
        memmove(&said[i], &said[i + 1], (size_t)(--said_count - i) * sizeof s);
        deliver(&s);
    }
}

static void crash(int seat)
{
    int i;

    ftm_free(member[seat].e);
    member[seat].e = NULL;
    for (i = 0; i < 4; i++)
        if (member[i].e != NULL)
            ftm_fault_declared(member[i].e, seat);
}

/* What becomes of the second side, {2, 3}, of an intercommunicator that is made. */
enum meeting { COMES, FAILED_BEFORE, FAILED_LATER, FREED, REVOKED, HAS_LOST_ONE };

/* A side of two as a communicator; both sides have the same context. */
static struct ftm_comm *side_of(struct ftm *e, uint32_t context, int first)
{
    struct ftm_comm_parts parts = { e->world, context, NULL, NULL, NULL, 0 };
    int proc[2] = { first, first + 1 };
    struct ftm_comm *comm = NULL;

    parts.group = ftm_group_new(e, proc, 2);
    if (ftm_comm_new(e, &parts, &comm) != 0)
        abort();
    ftm_group_drop(e, parts.group);
    return comm;
}

static struct ftm_vote *meet(struct ftm *e, struct ftm_comm *comm, const struct ftm_vote_side *name,
                             int others)
{
    static const struct ftm_vote_part part = { FTM_VOTE_CONTENT | FTM_VOTE_WHOLE, 0, NULL };
    int proc[2] = { others, others + 1 };
    struct ftm_group *remote = ftm_group_new(e, proc, 2);
    struct ftm_vote *v = ftm_vote_meet(e, comm, name, name, remote, &part);

    ftm_group_drop(e, remote);
    return v;
}

/* 0: the first side waits for ever, or gets what is not so. */
static int meet_once(enum meeting what, uint32_t context)
{
    struct ftm_vote_side name[4];
    struct ftm_comm *comm[4];
    struct ftm_vote *v[4] = { NULL, NULL, NULL, NULL };
    int i, good = 1;

    for (i = 0; i < 4; i++) {
        comm[i] = side_of(member[i].e, context, i & 2);
        ftm_vote_meeting(comm[i], &name[i]);
    }
    for (i = 3; i >= 0; i--) {
        if (i < 2 || what == COMES)
            v[i] = meet(member[i].e, comm[i], &name[i], ~i & 2);
        else if (what == FAILED_BEFORE)
            ftm_vote_met(member[i].e, comm[i], &name[i]);
    }
    drain();
    good &= what == COMES || what == FAILED_BEFORE || !ftm_vote_done(v[0]);
    for (i = 2; i < 4; i++) {
        if (what == FAILED_LATER)
            ftm_vote_met(member[i].e, comm[i], &name[i]);
        else if (what == FREED)
            ftm_comm_free(member[i].e, comm[i]);
        else if (what == REVOKED && i == 2)
            ftm_recover_revoke(member[i].e, comm[i]);
    }
    if (what == HAS_LOST_ONE)
        crash(3);
    drain();
    for (i = 0; i < 4; i++) {
        struct ftm *e = member[i].e;

        if (v[i] != NULL)
            good &= ftm_vote_done(v[i]) && (ftm_vote_flags(v[i]) & FTM_VOTE_CONTENT) == (what == COMES);
        ftm_vote_release(e, v[i]);
        if (e == NULL || (i >= 2 && what == FREED))
            continue;
        if (i < 2 || (what != FAILED_BEFORE && what != FAILED_LATER))
            ftm_vote_met(e, comm[i], &name[i]);
        ftm_comm_free(e, comm[i]);
    }
    drain();
    return good;
}

/* Goal: an intercommunicator is made at all of both sides, or at nobody. Method: one side comes to it, and
 * the other one does, or failed before, or later, or its communicator goes, or one of it dies; often, in many
 * orders, and it takes no memory. */
static void test_meet(enum meeting what, const char *name)
{
    size_t after[2] = { 0, 0 };
    int i, good = 1, most = what == HAS_LOST_ONE ? 1 : 600;
    uint32_t k;

    for (i = 0; i < 4; i++)
        start(i);
    for (k = 0; (int)k < most; k++) {
        good &= meet_once(what, 100 + 2 * k);
        after[k > 400] = member[1].e->mem.bytes;
    }
    ok(good, "two sides meet, and one %s", name);
    if (most > 1)
        ok(after[0] == after[1], "600 times take as much memory as 400: %lu, %lu bytes",
           (unsigned long)after[0], (unsigned long)after[1]);
    for (i = 0; i < 4; i++)
        ftm_free(member[i].e);
}

/* A message of seat 2 for a call of seats 0 and 1 that has not come; one word of it is wrong (-1: none), the
 * allocation of that number fails (-1: none). 10: it is taken, and the process has ended. */
static int heard_without(int refused, int at, uint32_t value, size_t less)
{
    unsigned char bytes[24 + 4 * 4];
    struct ftm_arrival a = { NULL, 0, FTM_WORD(FTM_AGREE, FTM_VOTE_MEET, 0, 0), bytes, sizeof bytes };
    uint32_t words[10] = { 0, 0, 0, 0, 2, 4, 0, 1, 2, 3 };
    int i, rc;

    if (at >= 0)
        words[at] = value;
    for (i = 0; i < 10; i++)
        ftm_put32(bytes + 4 * i, words[i]);
    start(0);
    a.proc = member[0].e->procs[2];
    a.size -= less;
    refuse_at = refused;
    rc = ftm_recover_arrived(member[0].e, &a);
    if (rc == 0 && member[0].e->ended)
        rc = 10;
    ftm_free(member[0].e);
    member[0].e = NULL;
    return rc;
}

static int heard(int at, uint32_t value, size_t less)
{
    return heard_without(-1, at, value, less);
}

/* Goal: want of memory is not taken for a lie of the sender. Method: each allocation fails once. */
static void test_heard_without(void)
{
    int i, n = 0, rc = 10;

    for (i = 0; rc == 10; i++) {
        rc = heard_without(i, -1, 0, 0);
        n = refuse_at < 0 ? i + 1 : n;
    }
    refuse_at = -1;
    ok(rc == 0 && n > 3, "a message ends the process for want of memory, %d times, and blames nobody", n);
}

/* Goal: what such a message says is checked. Method: a good one, and each of its words made wrong. */
static void test_heard(void)
{
    static const uint32_t wrong[][2] = { { 1, FTM_CONTEXT_MAX + 1u }, { 3, UINT32_MAX }, { 4, 5 }, { 4, 0 },
                                         { 5, 5 }, { 5, 1 }, { 5, UINT32_MAX }, { 6, 1 }, { 8, 3 } };
    size_t i;

    ok(heard(-1, 0, 0) == 0, "a message of the other side");
    for (i = 0; i < sizeof wrong / sizeof *wrong; i++)
        ok(heard((int)wrong[i][0], wrong[i][1], 0) == -1, "not with %lu as word %lu",
           (unsigned long)wrong[i][1], (unsigned long)wrong[i][0]);
    ok(heard(-1, 0, 1) == -1, "nor without its end");
    ok(heard(-1, 0, 17) == -1, "nor without its middle");
}

int main(void)
{
    test_meet(COMES, "comes");
    test_meet(FAILED_BEFORE, "failed before");
    test_meet(FAILED_LATER, "fails later");
    test_meet(FREED, "is freed");
    test_meet(REVOKED, "is revoked");
    test_meet(HAS_LOST_ONE, "has lost a member");
    test_heard();
    test_heard_without();
    return test_end();
}
