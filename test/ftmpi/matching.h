/* matching.h - who sent and received what, and the rules of MPI that it is compared with. */
#ifndef MATCHING_H
#define MATCHING_H

#include <stdio.h>

#define MATCHING_RECORDS 2000
#define MATCHING_ANY (-1) /* source or tag: a wildcard */

/* In the order in which they were started. */
struct matching_sent {
    int from, to, tag, cancelled, bytes;
    unsigned char *data;
    int got_by; /* place in received, or -1 */
};

struct matching_received {
    int at, source, tag, wrong;
    unsigned char *data;
    int got; /* place in sent, -1: nothing, -2: cancelled */
};

struct matching {
    struct matching_sent sent[MATCHING_RECORDS];
    struct matching_received received[MATCHING_RECORDS];
    int sents, receiveds;
};

/* The first four bytes say which message it is, the others depend on it. */
static void matching_fill(unsigned char *data, int bytes, int which)
{
    int i;

    for (i = 0; i < bytes; i++)
        data[i] = (unsigned char)(i < 4 ? which >> 8 * i : which + i * 7);
}

/* A receive has ended with that: which message it was is read from its data, and noted on both sides. */
static void matching_got(struct matching *t, int received, int source, int tag, int bytes)
{
    struct matching_received *v = &t->received[received];
    int which = v->data[0] | v->data[1] << 8 | v->data[2] << 16, i;
    struct matching_sent *m;

    if (which >= t->sents || bytes < 4) {
        v->wrong = 1;
        return;
    }
    m = &t->sent[which];
    v->got = which;
    v->wrong |= m->got_by != -1 || m->to != v->at || m->bytes != bytes || source != m->from || tag != m->tag
        || (v->source != MATCHING_ANY && v->source != m->from)
        || (v->tag != MATCHING_ANY && v->tag != m->tag);
    for (i = 4; i < m->bytes; i++)
        v->wrong |= v->data[i] != (unsigned char)(which + i * 7);
    m->got_by = received;
}

/* ---- The rules --------------------------------------------------------------------------------- */

static int matching_fits(const struct matching_received *v, const struct matching_sent *m)
{
    return v->at == m->to && (v->source == MATCHING_ANY || v->source == m->from)
        && (v->tag == MATCHING_ANY || v->tag == m->tag);
}

/* Of two messages of one sender to one receiver, the later one was not taken by a receive that could have
 * taken the earlier one, unless that had been taken by a receive posted before. */
static int matching_overtaken(const struct matching *t)
{
    int a, b, count = 0;

    for (b = 0; b < t->sents; b++)
        for (a = 0; a < b; a++) {
            const struct matching_sent *first = &t->sent[a], *second = &t->sent[b];

            if (first->from == second->from && first->to == second->to && second->got_by >= 0
                && !first->cancelled && matching_fits(&t->received[second->got_by], first)
                && (first->got_by < 0 || first->got_by > second->got_by))
                count++;
        }
    return count;
}

/* Of two receives the later one took no message that the earlier one could have taken, unless that got one:
 * and of the same sender only an earlier one. A receive that was cancelled may have been gone. */
static int matching_passed_by(const struct matching *t)
{
    int a, b, count = 0;

    for (b = 0; b < t->receiveds; b++)
        for (a = 0; a < b; a++) {
            const struct matching_received *first = &t->received[a], *second = &t->received[b];

            if (second->got < 0 || first->got == -2 || first->at != second->at
                || !matching_fits(first, &t->sent[second->got]))
                continue;
            count += first->got < 0
                || (t->sent[first->got].from == t->sent[second->got].from && first->got > second->got);
        }
    return count;
}

static int matching_is_lost(const struct matching_sent *m)
{
    return m->got_by < 0 && !m->cancelled;
}

/* A receive waits, and a message that fits is left. */
static int matching_unmet(const struct matching *t)
{
    int i, j, count = 0;

    for (i = 0; i < t->receiveds; i++)
        for (j = 0; t->received[i].got == -1 && j < t->sents; j++)
            count += matching_is_lost(&t->sent[j]) && matching_fits(&t->received[i], &t->sent[j]);
    return count;
}

/* How many records are wrong in themselves: mixed up, lost, or cancelled and yet received. */
static int matching_wrong(const struct matching *t)
{
    int i, count = 0;

    for (i = 0; i < t->receiveds; i++)
        count += t->received[i].wrong;
    for (i = 0; i < t->sents; i++)
        count += matching_is_lost(&t->sent[i]) || (t->sent[i].got_by >= 0 && t->sent[i].cancelled);
    return count;
}

/* How often a rule was broken; and if it was, one line in why. */
static int matching_broken(const struct matching *t, char *why, size_t size)
{
    int wrong = matching_wrong(t), overtaken = matching_overtaken(t), passed_by = matching_passed_by(t);
    int unmet = matching_unmet(t);

    snprintf(why, size, "%d wrong or lost, %d overtaken, %d passed by, %d unmet", wrong, overtaken, passed_by,
             unmet);
    return wrong + overtaken + passed_by + unmet;
}

#endif
