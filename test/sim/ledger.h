/* ledger.h - every message that was sent in the simulated world, and whether what became of it is right.
 *
 * The ledger sees all processes at once, and so it asks for more than any receiver could. Messages
 * are numbered in the order of their sending; a *stream* is what one process sends to one name. A cast
 * is entered as one message for each of its members, next to each other, and these have one tag, one
 * token and the same bytes: those of the first.
 *
 *   once       a message that was delivered is never delivered again ...
 *   in order   the first deliveries of a stream's messages come in the order of their sending,
 *              whoever holds the name at the time; and what one process hears of a stream only
 *              ever goes up
 *   whole      bytes, size, sender, tag and name are those that were sent, and who hears it holds
 *              the name at that moment
 *   told       each message has one outcome; PHX_OK only after a delivery, and nothing comes after
 *              it; that it expired only after its limit; PHX_ECANCELLED only if it was cancelled, and
 *              then it never arrives; PHX_EFAILED only if somebody has failed in the sender's eyes since
 *              it was sent, or left, or if the sender leaves itself; of a cast it is told for each
 *              member, with the right number of those that are still to come
 *
 * A *mute* message was sent without a token: nobody says how it ended, so that it arrives must be asked in
 * the end, of those that cannot have failed.
 *
 * ... and this is all that is excused: a process that dies, or that counts as failed or left with the
 * sender, takes with it which of the messages without an outcome it has delivered. These may come
 * once more, at the successor, in order there; and if it lives after all (a partition), what is under
 * way to it may still come there, while the rest goes on at the successor. No other second delivery
 * and no other turn in the order is right, and nothing may be missing.
 */
#ifndef LEDGER_H
#define LEDGER_H

#include "../../phoenix.h"

#define LEDGER_UNTOLD 1 /* as an outcome; real ones are 0 or negative */

struct ledger_message {
    uint64_t at, heard_at;       /* heard_at 0: not yet */
    uint64_t limit_at;           /* not to expire before; 0: never */
    uint32_t source, host, name; /* the sender's life and host; which of the names */
    uint32_t heard_by;           /* the life that heard it last */
    uint32_t size, received;
    uint32_t members, place;     /* of a cast, and which of them this is; 0: of no cast */
    int outcome;
    int is_mute;   /* it has no token: its outcome is never told */
    int cancelled; /* 1: it was taken back; 2: it may have been, with other members */
};

enum ledger_fault {
    LEDGER_LOST = 0,  /* said to be delivered, and it was not */
    LEDGER_DOUBLED,
    LEDGER_REORDERED,
    LEDGER_UNTOLD_ONE, /* no outcome, or two */
    LEDGER_CORRUPT,   /* bytes, address, or an outcome that cannot be true */
    LEDGER_FAULTS
};

struct ledger_mark; /* see ledger.c */

struct ledger {
    struct ledger_message *at;
    size_t count, capacity;
    struct ledger_mark *marks;
    size_t mark_count, mark_capacity;
    uint64_t faults[LEDGER_FAULTS];
    uint64_t not_delivered, heard_again; /* outcomes but PHX_OK; second deliveries that are excused */
    uint64_t bytes_heard;
    char why[320]; /* the first fault */
};

void ledger_free(struct ledger *l);
/* A message that is about to be sent; NULL: no memory. Its number is l->count - 1 afterwards. */
struct ledger_message *ledger_add(struct ledger *l);
void ledger_withdraw(struct ledger *l); /* the last one was not accepted */

void ledger_fill(uint8_t *p, uint32_t size, uint64_t number);
/* The message with that tag, or token, to that name; LEDGER_NONE: there is none. */
#define LEDGER_NONE UINT64_MAX
uint64_t ledger_find(const struct ledger *l, uint64_t tag, uint32_t name);

/* That process (a life) counts as failed or left with the sender's process from now on, or has died. */
void ledger_excuse(struct ledger *l, uint32_t source, uint32_t receiver);
int ledger_excuses(const struct ledger *l, uint32_t source, uint32_t receiver);

/* A delivery of the message with that number. is_addressed: it is for that name, and the receiver
 * holds it. 0, or -1 and the fault is counted. */
int ledger_heard(struct ledger *l, uint32_t receiver, uint64_t number, const struct phx_message *in,
                 int is_addressed, int (*is_alive)(void *ctx, uint32_t life), void *ctx);
/* Does this outcome say that a time limit passed? */
int ledger_expired(int result);
/* An outcome, told to that life at that time; failed_at: when somebody failed last in its eyes. left:
 * how many it says are to come of the cast; LEDGER_NONE: it is not told as a cast's. */
int ledger_outcome(struct ledger *l, uint32_t life, uint64_t number, uint64_t left, int result,
                   uint64_t now, uint64_t failed_at);
/* Counts a fault of message `number`, and keeps what is said of the first. */
void ledger_fault(struct ledger *l, enum ledger_fault fault, uint64_t number, const char *what);

#endif
