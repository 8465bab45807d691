/* flight.c - messages between processes: their bytes, and who handles which. */
#include "flight.h"

#include "engine.h"
#include "recover.h"
#include "ring.h"

void ftm_flight_put_ask(unsigned char *to, const struct ftm_ask *a)
{
    ftm_put64(to, a->bytes);
    ftm_put32(to + 8, a->number);
}

int ftm_flight_get_ask(struct ftm_ask *a, const void *data, size_t size)
{
    const unsigned char *from = data;

    if (size < FTM_ASK_SIZE)
        return -1;
    a->bytes = ftm_get64(from);
    a->number = ftm_get32(from + 8);
    return 0;
}

void ftm_flight_put_go(unsigned char *to, const struct ftm_go *g)
{
    ftm_put32(to, g->send);
    ftm_put32(to + 4, g->receive);
    ftm_put64(to + 8, g->wanted);
    ftm_put32(to + 16, g->piece);
}

int ftm_flight_get_go(struct ftm_go *g, const void *data, size_t size)
{
    const unsigned char *from = data;

    if (size != FTM_GO_SIZE)
        return -1;
    g->send = ftm_get32(from);
    g->receive = ftm_get32(from + 4);
    g->wanted = ftm_get64(from + 8);
    g->piece = ftm_get32(from + 16);
    return g->wanted > 0 && g->piece == 0 ? -1 : 0;
}

static int flight_dispatch(struct ftm *e, const struct ftm_arrival *a)
{
    switch (FTM_KIND(a->tag)) {
    case FTM_EAGER:
        return ftm_recv_eager(e, a);
    case FTM_ASK:
        return ftm_recv_ask(e, a);
    case FTM_GO:
        return ftm_send_go(e, a);
    case FTM_PART:
        return ftm_recv_part(e, a);
    case FTM_CREDIT:
        return ftm_send_credit(e, a);
    case FTM_WITHDRAW:
        return (FTM_FLAGS(a->tag) & FTM_FLAG_ANSWER) != 0 ? ftm_send_withdrawn(e, a)
                                                          : ftm_recv_withdraw(e, a);
    case FTM_AGREE:
    case FTM_REVOKE:
        return ftm_recover_arrived(e, a);
    case FTM_RING:
        return ftm_ring_told(e, a);
    default:
        return -1;
    }
}

void ftm_flight_bad(struct ftm *e, uint64_t from, uint64_t tag, size_t size)
{
    ftm_end(e, 1, "rank %d: a message of kind %d, %lu bytes, from rank %lu, life %lu: no rank sends it",
            e->config.rank, FTM_KIND(tag), (unsigned long)size, (unsigned long)FTM_RANK(from),
            (unsigned long)FTM_LIFE(from));
}

void ftm_flight_arrived(struct ftm *e, uint64_t from, uint64_t tag, const void *data, size_t size)
{
    int kind = FTM_KIND(tag), bad;
    struct ftm_arrival a;

    a.proc = ftm_proc_find(e, FTM_RANK(from), FTM_LIFE(from));
    a.from = from;
    a.tag = tag;
    a.data = data;
    a.size = size;
    e->counters.arrived++;
    if (e->ended)
        return;
    if (kind == FTM_START || kind == FTM_NOTICE || kind == FTM_OUT)
        bad = ftm_notice_told(e, from, tag, data, size);
    else if (a.proc == NULL || (e->config.life > 0 && !e->notice.begun))
        bad = ftm_notice_hold(e, from, tag, data, size);
    else if (a.proc->state == FTM_PROC_FAILED)
        bad = 0; /* failed is final: whatever it still says is not heard */
    else
        bad = flight_dispatch(e, &a);
    if (bad)
        ftm_flight_bad(e, from, tag, size);
}

void *ftm_flight_place(struct ftm *e, uint64_t from, uint64_t tag, size_t size)
{
    struct ftm_arrival a;

    a.proc = ftm_proc_find(e, FTM_RANK(from), FTM_LIFE(from));
    a.from = from;
    a.tag = tag;
    a.data = NULL;
    a.size = size;
    return a.proc == NULL || e->ended || FTM_KIND(tag) != FTM_PART ? NULL : ftm_recv_place(e, &a);
}
