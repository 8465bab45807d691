/* ledger.c - every message that was sent in the simulated world, and whether what became of it is right. */
#include "ledger.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What is remembered of (receiver, sender, name): the highest number heard, plus one. Two names are
 * not of messages: the stream as a whole, whoever hears it, and the excuse of a pair of processes. */
struct ledger_mark {
    uint64_t key, next; /* next 0: free */
};
#define LIFE_BITS 22
#define NAME_BITS 20
#define ANYBODY ((1u << LIFE_BITS) - 1)
#define EXCUSED ((1u << NAME_BITS) - 1)

/* ---- Marks: open addressing -------------------------------------------------------------- */

static uint64_t mark_key(uint32_t receiver, uint32_t source, uint32_t name)
{
    return ((uint64_t)receiver << (LIFE_BITS + NAME_BITS)) | ((uint64_t)source << NAME_BITS) | name;
}

static size_t mark_index(const struct ledger *l, uint64_t key)
{
    uint64_t h = key * 0x9e3779b97f4a7c15u;
    size_t i = (size_t)(h >> 20) & (l->mark_capacity - 1);

    while (l->marks[i].next != 0 && l->marks[i].key != key)
        i = (i + 1) & (l->mark_capacity - 1);
    return i;
}

static int marks_grow(struct ledger *l)
{
    struct ledger_mark *old = l->marks;
    size_t i, n = l->mark_capacity;

    l->mark_capacity = n ? 2 * n : 1024;
    l->marks = calloc(l->mark_capacity, sizeof *l->marks);
    if (!l->marks) {
        l->marks = old;
        l->mark_capacity = n;
        return -1;
    }
    for (i = 0; i < n; i++)
        if (old[i].next != 0)
            l->marks[mark_index(l, old[i].key)] = old[i];
    free(old);
    return 0;
}

static uint64_t mark_get(const struct ledger *l, uint64_t key)
{
    return l->mark_capacity ? l->marks[mark_index(l, key)].next : 0;
}

static void mark_set(struct ledger *l, uint64_t key, uint64_t next)
{
    size_t i;

    if (2 * l->mark_count >= l->mark_capacity && marks_grow(l) < 0) {
        ledger_fault(l, LEDGER_CORRUPT, UINT64_MAX, "the simulator is out of memory");
        return;
    }
    i = mark_index(l, key);
    l->mark_count += l->marks[i].next == 0;
    l->marks[i].key = key;
    l->marks[i].next = next;
}

/* ---- Entries ----------------------------------------------------------------------------- */

void ledger_free(struct ledger *l)
{
    free(l->at);
    free(l->marks);
    memset(l, 0, sizeof *l);
}

struct ledger_message *ledger_add(struct ledger *l)
{
    if (l->count == l->capacity) {
        size_t capacity = l->capacity ? l->capacity * 2 : 1024;
        struct ledger_message *at = realloc(l->at, capacity * sizeof *at);
        if (!at)
            return NULL;
        l->at = at;
        l->capacity = capacity;
    }
    memset(&l->at[l->count], 0, sizeof *l->at);
    l->at[l->count].outcome = LEDGER_UNTOLD;
    return &l->at[l->count++];
}

void ledger_withdraw(struct ledger *l)
{
    l->count--;
}

/* Bytes that depend on the number and the place, so that neither another message's nor shifted
 * ones pass. */
void ledger_fill(uint8_t *p, uint32_t size, uint64_t number)
{
    uint32_t i;

    for (i = 0; i < size; i++)
        p[i] = (uint8_t)(number * 31 + i * 7 + (i >> 8) + (i >> 16));
}

static int is_filled(const uint8_t *p, uint32_t size, uint64_t number)
{
    uint32_t i;

    for (i = 0; i < size; i++)
        if (p[i] != (uint8_t)(number * 31 + i * 7 + (i >> 8) + (i >> 16)))
            return 0;
    return 1;
}

uint64_t ledger_find(const struct ledger *l, uint64_t tag, uint32_t name)
{
    uint64_t number = tag - 1, i;

    if (number >= l->count || l->at[number].members == 0)
        return number < l->count ? number : LEDGER_NONE;
    for (i = number; l->at[number].place == 0 && i < number + l->at[number].members; i++)
        if (l->at[i].name == name)
            return i;
    return LEDGER_NONE;
}

void ledger_fault(struct ledger *l, enum ledger_fault fault, uint64_t number, const char *what)
{
    const struct ledger_message *m = number < l->count ? &l->at[number] : NULL;

    l->faults[fault]++;
    if (l->why[0])
        return;
    if (!m) {
        (void)snprintf(l->why, sizeof l->why, "%s", what);
        return;
    }
    (void)snprintf(l->why, sizeof l->why,
                   "message %llu, %u bytes, sent at %.6f s by host %u (life %u) to its name %u, heard "
                   "%u times, last by life %u, outcome %d: %s",
                   (unsigned long long)number, (unsigned)m->size, (double)m->at / 1e6 - 1,
                   (unsigned)m->host, (unsigned)m->source, (unsigned)m->name, (unsigned)m->received,
                   (unsigned)m->heard_by, m->outcome, what);
}

void ledger_excuse(struct ledger *l, uint32_t source, uint32_t receiver)
{
    mark_set(l, mark_key(receiver, source, EXCUSED), 1);
}

int ledger_excuses(const struct ledger *l, uint32_t source, uint32_t receiver)
{
    return mark_get(l, mark_key(receiver, source, EXCUSED)) != 0;
}

/* ---- Judging ----------------------------------------------------------------------------- */

static int wrong(struct ledger *l, enum ledger_fault fault, uint64_t number, const char *what)
{
    ledger_fault(l, fault, number, what);
    return -1;
}

/* Is it what was sent, to whom it was sent? */
static const char *judge_whole(const struct ledger_message *m, const struct phx_message *in,
                               uint64_t number, int is_addressed)
{
    if (in->size != m->size || in->from != m->host * 10u)
        return "its size or sender changed on the way";
    if (!is_filled(in->data, m->size, number - m->place))
        return "its bytes changed on the way";
    if (!is_addressed)
        return "who heard it does not hold its name";
    if (m->outcome == PHX_ECANCELLED)
        return "it was cancelled, and arrived";
    return NULL;
}

static int judge_once(struct ledger *l, uint64_t number, int is_excused)
{
    const struct ledger_message *m = &l->at[number];

    if (m->outcome == PHX_OK)
        return wrong(l, LEDGER_DOUBLED, number, "it comes again after its outcome");
    if (m->received > 0 && !is_excused)
        return wrong(l, LEDGER_DOUBLED, number, "it comes again");
    l->heard_again += m->received > 0;
    return 0;
}

/* is_excused: the sender gave this receiver up. */
static int judge_order(struct ledger *l, uint32_t receiver, uint64_t number, int is_excused)
{
    const struct ledger_message *m = &l->at[number];
    uint64_t ear = mark_key(receiver, m->source, m->name), all = mark_key(ANYBODY, m->source, m->name);
    uint64_t ear_next = mark_get(l, ear), all_next = mark_get(l, all);
    int bad = 0;

    if (number < ear_next)
        bad = wrong(l, LEDGER_REORDERED, number, "this process has heard a later one");
    else if (m->received == 0 && number < all_next && !is_excused)
        bad = wrong(l, LEDGER_REORDERED, number, "another holder of the name has heard a later one");
    if (number >= ear_next)
        mark_set(l, ear, number + 1);
    if (number >= all_next)
        mark_set(l, all, number + 1);
    return bad;
}

int ledger_heard(struct ledger *l, uint32_t receiver, uint64_t number, const struct phx_message *in,
                 int is_addressed, int (*is_alive)(void *ctx, uint32_t life), void *ctx)
{
    struct ledger_message *m;
    int given_up, err;
    const char *what;

    if (number >= l->count)
        return wrong(l, LEDGER_CORRUPT, UINT64_MAX, "a message that nobody sent");
    m = &l->at[number];
    what = judge_whole(m, in, number, is_addressed);
    if (what)
        return wrong(l, LEDGER_CORRUPT, number, what);
    given_up = ledger_excuses(l, m->source, receiver);
    err = judge_once(l, number, given_up || ledger_excuses(l, m->source, m->heard_by)
                                    || !is_alive(ctx, m->heard_by));
    if (err == 0)
        err = judge_order(l, receiver, number, given_up);
    m->received++;
    m->heard_by = receiver;
    l->bytes_heard += m->size;
    return err;
}

int ledger_expired(int result)
{
    return result == PHX_EEXPIRED || result == PHX_ENOOWNER || result == PHX_ENOROUTE;
}

static const char *judge_outcome(const struct ledger_message *m, int result, uint64_t now,
                                 uint64_t failed_at)
{
    if (result == PHX_ECANCELLED ? m->cancelled == 0 : m->cancelled == 1)
        return "cancelled, and not told so, or the other way round";
    if (ledger_expired(result) && (m->limit_at == 0 || now < m->limit_at))
        return "it expired before its limit";
    if (result == PHX_EFAILED && failed_at < m->at)
        return "it failed, and nobody has failed since it was sent";
    if (result == PHX_ECLOSED && failed_at == UINT64_MAX)
        return NULL; /* it leaves */
    if (result != PHX_OK && result != PHX_ECANCELLED && !ledger_expired(result)
        && result != PHX_EFAILED && result != PHX_ENOMEM)
        return "an outcome that no send can have";
    return NULL;
}

/* How many outcomes of its cast are still to come; LEDGER_NONE: it is of no cast. */
static uint64_t to_come(const struct ledger *l, uint64_t number)
{
    const struct ledger_message *m = &l->at[number];
    uint64_t i, n = 0;

    for (i = number - m->place; i < number - m->place + m->members; i++)
        n += l->at[i].outcome == LEDGER_UNTOLD;
    return m->members ? n : LEDGER_NONE;
}

int ledger_outcome(struct ledger *l, uint32_t life, uint64_t number, uint64_t left, int result,
                   uint64_t now, uint64_t failed_at)
{
    struct ledger_message *m;
    const char *what;

    if (number >= l->count || l->at[number].source != life)
        return wrong(l, LEDGER_UNTOLD_ONE, UINT64_MAX, "an outcome of a send that it did not make");
    m = &l->at[number];
    if (m->outcome != LEDGER_UNTOLD)
        return wrong(l, LEDGER_UNTOLD_ONE, number, "a second outcome");
    m->outcome = result;
    l->not_delivered += result != PHX_OK;
    if (left != to_come(l, number))
        return wrong(l, LEDGER_UNTOLD_ONE, number, "another number of outcomes of its cast is to come");
    if (result == PHX_OK && m->received == 0)
        return wrong(l, LEDGER_LOST, number, "said to have arrived, and it has not");
    what = judge_outcome(m, result, now, failed_at);
    return what ? wrong(l, LEDGER_CORRUPT, number, what) : 0;
}
