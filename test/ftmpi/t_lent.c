/* t_lent.c - after an operation has ended with an error nobody reads or writes the program's buffer.
 *
 * Goal: a buffer is the program's again when a failure has ended an operation, although the other side lives
 * and goes on, and although Phoenix was in the middle of it.
 * Method: engines in one process. Large messages, in one block and packed, are stopped after each number of
 * turns: one of the two sides is told that a third process has failed,
    and the test scribbles over its buffer.
 * The other side knows nothing and goes on. Of what is scribbled nothing may arrive, and nothing of the
 * message may be written over it.
 */
#include "engines.h"

#include "fault.h"

#define RANKS 4
#define DEAD 3
#define BYTES (1u << 20)
#define STOPS 14

static struct engines run;
static int middle; /* moments in which a part of the data had gone */

static char from[BYTES], to[BYTES];

static struct ftm_request *start(int at, int kind, int peer, char *buf, struct ftm_type *type, size_t count)
{
    struct ftm *e = run.at[at];
    struct ftm_request *r = NULL;
    int rc = kind == FTM_REQ_SEND
                 ? ftm_send_start(e, &r, FTM_STANDARD, e->world, 0, buf, count, type, peer, 1)
                 : ftm_recv_start(e, &r, e->world, 0, buf, count, type, peer, 1);

    check(rc == 0, "it starts: %d", rc);
    return r;
}

/* Every second byte, so that it is packed in pieces. */
static struct ftm_type *packed(int at)
{
    struct ftm_type *byte = engines_type(&run, at, MPI_BYTE), *t = NULL;

    check(ftm_type_vector(run.at[at], BYTES / 2, 1, 2, byte, &t) == 0, "a type");
    return t;
}

struct stop {
    int after;  /* turns */
    int vector; /* packed */
    int sends;  /* it is the sender who is told; 0: the receiver */
    int self;   /* to this process itself */
    int victim; /* who fails */
};

static int holds(const char *buf, char what)
{
    size_t i;

    for (i = 0; i < BYTES; i++)
        if (buf[i] == what)
            return 1;
    return 0;
}

/* 1: the one who was told has ended with the error, and its buffer is its own. */
static int stop_in_the_middle(const struct stop *w)
{
    int i, good, receiver = w->self ? 0 : 1, told = w->sends ? 0 : receiver;
    struct ftm_type *out = engines_type(&run, 0, MPI_BYTE), *in = engines_type(&run, receiver, MPI_BYTE);
    size_t count = w->vector ? 1 : BYTES;
    struct ftm_request *s, *r, *mine;

    if (w->vector) {
        out = packed(0);
        in = packed(receiver);
    }
    memset(from, 5, BYTES);
    memset(to, 0, BYTES);
    s = start(0, FTM_REQ_SEND, receiver, from, out, count);
    r = start(receiver, FTM_REQ_RECV, 0, to, in, count);
    for (i = 0; i < w->after; i++)
        engines_turn(&run);
    mine = w->sends ? s : r;
    middle += !mine->done && mine->flight.number + mine->flight.moved > 0;
    ftm_fault_declared(run.at[told], w->victim);
    good = mine->done;
    memset(w->sends ? from : to, 9, BYTES);
    for (i = 0; i < 200; i++)
        engines_turn(&run);
    good = good && (w->sends ? !holds(to, 9) : !holds(to, 5) && !holds(to, 0));
    if (!w->sends && w->victim == DEAD && s->error == 0 && mine->error == 0)
        good = 1; /* it was over before */
    ftm_request_free(run.at[0], s);
    ftm_request_free(run.at[receiver], r);
    if (w->vector) {
        ftm_type_drop(run.at[0], out);
        ftm_type_drop(run.at[receiver], in);
    }
    return good;
}

static int try_stop(const struct stop *w, int msg, int piece)
{
    struct ftm_config how;
    int good;

    memset(&how, 0, sizeof how);
    how.modes.comm = FTMPI_COMM_MODE_SHRINK;
    how.modes.msg = msg;
    how.piece = (size_t)piece;
    if (!engines_begin(&run, RANKS, &how))
        return 0;
    good = stop_in_the_middle(w) && run.ended == 0;
    engines_finish(&run);
    return good;
}

static void all_moments(struct stop *w, int msg, const char *what)
{
    int bad = 0;

    for (w->after = 0; w->after < STOPS; w->after++)
        bad += !try_stop(w, msg, 1 << 17);
    ok(bad == 0, "%s, %s, %s: %d moments", what, w->vector ? "packed" : "a block",
       w->sends ? "sent" : "received", STOPS);
}

int main(void)
{
    struct stop w;

    memset(&w, 0, sizeof w);
    for (w.vector = 0; w.vector < 2; w.vector++)
        for (w.sends = 0; w.sends < 2; w.sends++) {
            w.victim = DEAD;
            all_moments(&w, FTMPI_MSG_MODE_NOP, "NOP, a third one fails");
            w.victim = w.sends ? 1 : 0;
            all_moments(&w, FTMPI_MSG_MODE_CONT, "CONT, the other one fails");
            w.victim = DEAD;
            w.self = 1;
            all_moments(&w, FTMPI_MSG_MODE_NOP, "NOP, to itself");
            w.self = 0;
        }
    ok(middle > 30, "in %d moments a part of it had gone", middle);
    return test_end();
}
