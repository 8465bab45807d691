/* delivery.pml - MODEL: once and in order, while a name moves and relays and its old holder die. */
/* A source S sends MESSAGES messages to one name. Target 0 holds it, target 1 takes it over, and with MOVES=2
 * it goes back. S reaches both by two relays: one keeps what it has as long as it likes while S has changed
 * to the other, and dies with all of it at any moment. S may also take target 0 for failed though it lives,
 * and go on with it later. It stands for these functions of src/post:
 *
 *      put             phx__post_box_route, box_move_to_flow, box_put                    (box.c)
 *      fail            phx__post_box_failed, box_give_back: lives that were tried        (box.c)
 *      emit, rewind    phx__post_sched_pull, phx__post_flow_rewind                       (sched.c, flow.c)
 *      arrived         recv_arrived, recv_take, phx__post_returns_refuses                (recv.c, returns.c)
 *      acked           phx__post_recv_ack, recv_acked, recv_again, phx__post_box_gate    (recv.c, box.c)
 *      told            recv_ask, recv_told                                               (recv.c)
 *
 * Names come with cards, so each learns of a move at a time of its own; a target that has taken the name over
 * delivers at once, and the one before until it has learned of it.
 *
 * What must hold: no target delivers a message twice, or one behind a later one; no two targets that live
 * deliver the same one, or out of order, unless S has taken one of them for failed though it lived; what S
 * has reported as delivered is delivered by nobody later, and was delivered by somebody.
 *
 *      -DMESSAGES=n -DMOVES=n -DDEATHS=n -DWRONG=n -DSWAPS=n    WRONG: a living target is declared failed
 *      -DNOEPOCH    the rule taken out: flows have no conversation number (epoch); both sides start over with
 *                   number 0 when S was taken for failed. Finds a doubled message.
 *      -DNOTRIED    the rule taken out: a message that was emitted before its target was taken for failed may
 *                   go there again. Finds a doubled message.
 *      -DNOSEEN     the rule taken out: a message does not say how many returns its source knew of. Finds a
 *                   wrong order. */
#ifndef MESSAGES
#define MESSAGES 2
#endif
#ifndef MOVES
#define MOVES 1
#endif
#ifndef DEATHS
#define DEATHS 1
#endif
#ifndef WRONG
#define WRONG 0
#endif
#ifndef SWAPS
#define SWAPS 1
#endif
#ifndef RETRIES
#define RETRIES 1
#endif
#define NOBODY 3
#define HAS(set, m) (((set) >> (m)) & 1)
#define BIT(m) (1 << (m))

/* The name: which move was the last, and which one each knows of. Its holder is the parity. */
byte move, knows[3]; /* targets 0, 1, and S */
#define S 2
#define HOLDS(t) ((knows[t] & 1) == (t))

/* The source. */
byte queued = (1 << MESSAGES) - 1, reported, failed; /* sets of messages */
byte tried[2];                                       /* emitted to this life of the target before it failed */
byte to = NOBODY;                                    /* whose flow has what is under way */
byte list[2], count, sent, left;                     /* that flow's records; the next to emit; how many ever were */
byte knew[2];                                        /* returns known when they were put */
bit returned;                                        /* gated until all that is under way has ended */
byte moved, retries = RETRIES;                       /* 1 + the move known when the owner refused; box_has_to_wait */
byte epoch[2], base[2], seen[2], epochs;             /* flows; epoch 0: none begun */
bit path, dead[2], doubted, down[2];                 /* down: S has taken the target for failed */
byte deaths = DEATHS, wrong = WRONG, swaps = SWAPS;
bit relay_dead;

/* The targets. */
byte in_epoch[2], in_next[2], back[2];               /* back: the numbers that were returned, a set */
byte returns[2], rseen[2];
byte key[2], keys[2];
byte done[2];                                        /* delivered, a set */

chan data[4] = [2] of { byte, byte, byte, byte };    /* [target * 2 + path]: epoch, number, message, seen */
chan ack[2] = [1] of { byte, byte, byte };           /* epoch, next, the set of returned numbers */
chan ask[2] = [1] of { byte };                       /* key */
chan tell[2] = [1] of { byte, byte, byte, byte };    /* key, epoch, base, seen */

#define OWNER (down[knows[S] & 1] -> NOBODY : (knows[S] & 1))
#define LOWEST (HAS(queued, 0) -> 0 : (HAS(queued, 1) -> 1 : 2))
#define OTHER_LATER(t, m) ((done[1 - t] >> m) != 0 && !dead[1 - t] && !doubted)

#define MAY_PUT (count == 0 -> moved != knows[S] + 1 || retries > 0 : count < 2 && !returned && to == OWNER)

/* ---- The source */

inline put() {
    if
    :: count == 0 ->
        retries = (moved == knows[S] + 1 -> retries - 1 : retries);
        to = OWNER; returned = 0; moved = 0; sent = 0; left = 0
    :: else
    fi;
    m = LOWEST;
    queued = queued & ~BIT(m);
    if
    :: HAS(tried[to], m) -> failed = failed | BIT(m)
    :: else ->
        if
        :: epoch[to] == 0 -> epochs++; epoch[to] = epochs; base[to] = 0; seen[to] = 0
        :: else
        fi;
        list[count] = m; knew[count] = seen[to]; count++
    fi;
    m = 0
}

inline pop() {
    list[0] = list[1]; knew[0] = knew[1]; list[1] = 0; knew[1] = 0;
    count--; base[to]++;
    sent = (sent > 0 -> sent - 1 : 0);
    left = (left > 0 -> left - 1 : 0)
}

inline acked(e, n, r) { /* by `to`: all below n have been taken, those in r came back */
    if
    :: e == epoch[to] && n >= base[to] && n <= base[to] + count ->
        do
        :: base[to] < n ->
            if
            :: HAS(r, base[to]) -> queued = queued | BIT(list[0]); returned = 1; seen[to]++; moved = knows[S] + 1
            :: else ->
#ifndef NOEPOCH /* then an old ack is believed, too */
                assert(HAS(done[0] | done[1], list[0])); /* reported as delivered: it was */
#endif
                reported = reported | BIT(list[0])
            fi;
            pop()
        :: else -> break
        od;
        if
        :: count == 0 -> to = NOBODY
        :: else
        fi
    :: else
    fi
}

inline fail(t) {
    down[t] = 1;
    if
    :: to == t ->
        do
        :: count > 0 ->
            count--;
            queued = queued | BIT(list[count]);
#ifndef NOTRIED
            tried[t] = (left > count -> tried[t] | BIT(list[count]) : tried[t]);
#endif
            list[count] = 0; knew[count] = 0
        :: else -> break
        od;
        to = NOBODY; sent = 0; left = 0; returned = 0; moved = 0
    :: else
    fi;
#ifdef NOEPOCH
    in_next[t] = 0; back[t] = 0; returns[t] = 0; rseen[t] = 0; epochs = 0;
#endif
    epoch[t] = 0; base[t] = 0; seen[t] = 0
}

/* ---- A target */

inline restart(t, its, from, saw) {
    in_epoch[t] = its; in_next[t] = from; back[t] = 0; returns[t] = saw; rseen[t] = 0
}

inline take(t, n, m, s) {
#ifndef NOSEEN
    rseen[t] = (s > rseen[t] && s <= returns[t] -> s : rseen[t]);
#else
    rseen[t] = returns[t];
#endif
    if
    :: !HOLDS(t) || rseen[t] < returns[t] -> back[t] = back[t] | BIT(n); returns[t]++
    :: else ->
        assert((done[t] >> m) == 0);  /* neither this nor a later one was delivered here */
        assert(!OTHER_LATER(t, m));   /* nor by the other one, if it lives */
        assert(!HAS(reported, m));
        done[t] = done[t] | BIT(m)
    fi;
    in_next[t] = n + 1
}

inline arrived(t, e, n, m, s) {
    if
#ifndef NOEPOCH
    :: e != in_epoch[t] && (in_epoch[t] != 0 || n != 0) -> /* its source is asked */
        if
        :: key[t] == 0 -> keys[t] = 1 + keys[t] % 3; key[t] = keys[t]
        :: else
        fi;
        if
        :: len(ask[t]) == 0 -> ask[t]!key[t]
        :: len(ask[t]) > 0
        fi
    :: e != in_epoch[t] && in_epoch[t] == 0 && n == 0 -> restart(t, e, 0, 0); take(t, n, m, s)
    :: e == in_epoch[t] && n == in_next[t] -> take(t, n, m, s)
    :: e == in_epoch[t] && n != in_next[t]
#else
    :: n == in_next[t] -> in_epoch[t] = e; take(t, n, m, s)
    :: n != in_next[t]
#endif
    fi;
    if
    :: len(ack[t]) == 0 && in_epoch[t] != 0 -> ack[t]!in_epoch[t], in_next[t], back[t]
    :: len(ack[t]) > 0 || in_epoch[t] == 0
    fi
}

inline told(t, answers, its, from, saw) {
    if
    :: answers == key[t] ->
        key[t] = 0;
        if
        :: its == in_epoch[t] && from <= in_next[t]
        :: else -> restart(t, its, from, saw)
        fi
    :: else
    fi
}

proctype source() {
    byte m, e, n, r;
end:
    do
    :: atomic { queued != 0 && OWNER != NOBODY && MAY_PUT ->
           d_step { put() } }
    :: atomic { sent < count && nfull(data[to * 2 + path]) -> d_step {
           data[to * 2 + path]!epoch[to], base[to] + sent, list[sent], knew[sent]; sent++;
           left = (sent > left -> sent : left) } }
    :: atomic { sent > 0 && sent == count -> sent = 0 }
    :: atomic { swaps > 0 && !relay_dead -> d_step { swaps--; path = 1 - path; sent = 0 } }
    :: atomic { path == 1 && !relay_dead -> d_step { /* the one that was left dies */
           do
           :: nempty(data[0]) -> data[0]?_, _, _, _
           :: nempty(data[2]) -> data[2]?_, _, _, _
           :: empty(data[0]) && empty(data[2]) -> break
           od;
           relay_dead = 1 } }
    :: atomic { nempty(ack[0]) -> ack[0]?e, n, r; d_step {
           if
           :: to == 0 -> acked(e, n, r)
           :: else
           fi;
           e = 0; n = 0; r = 0 } }
    :: atomic { nempty(ack[1]) -> ack[1]?e, n, r; d_step {
           if
           :: to == 1 -> acked(e, n, r)
           :: else
           fi;
           e = 0; n = 0; r = 0 } }
    :: atomic { nempty(ask[0]) && empty(tell[0]) -> d_step { ask[0]?m;
           if
           :: epoch[0] != 0 -> tell[0]!m, epoch[0], base[0], seen[0]
           :: else
           fi;
           m = 0 } }
    :: atomic { nempty(ask[1]) && empty(tell[1]) -> d_step { ask[1]?m;
           if
           :: epoch[1] != 0 -> tell[1]!m, epoch[1], base[1], seen[1]
           :: else
           fi;
           m = 0 } }
    :: atomic { knows[S] < move -> knows[S]++ }
    :: atomic { !down[0] && dead[0] -> d_step { fail(0) } }
    :: atomic { !down[0] && !dead[0] && wrong > 0 -> d_step { wrong--; doubted = 1; fail(0) } }
    :: atomic { down[0] && !dead[0] -> down[0] = 0 } /* it is heard again */
    :: atomic { queued == 0 && count == 0 -> d_step {
           assert(failed == 0 || doubted);
           assert((reported | failed) == (1 << MESSAGES) - 1) } -> break }
    od
}

proctype target(byte t) {
    byte e, n, m, s;
end:
    do
    :: atomic { !dead[t] && nempty(data[t * 2]) -> data[t * 2]?e, n, m, s; d_step {
           arrived(t, e, n, m, s); e = 0; n = 0; m = 0; s = 0 } }
    :: atomic { !dead[t] && nempty(data[t * 2 + 1]) -> data[t * 2 + 1]?e, n, m, s; d_step {
           arrived(t, e, n, m, s); e = 0; n = 0; m = 0; s = 0 } }
    :: atomic { !dead[t] && nempty(tell[t]) -> tell[t]?e, n, m, s; d_step {
           told(t, e, n, m, s); e = 0; n = 0; m = 0; s = 0 } }
    :: atomic { !dead[t] && knows[t] < move -> knows[t]++ }
    :: atomic { !dead[t] && move < MOVES && (move & 1) != t -> d_step { /* it takes the name over */
           move++; knows[t] = move } }
    :: atomic { t == 0 && !dead[0] && deaths > 0 -> d_step { deaths--; dead[0] = 1 } }
    :: atomic { dead[t] && nempty(data[t * 2]) -> data[t * 2]?_, _, _, _ }
    :: atomic { dead[t] && nempty(data[t * 2 + 1]) -> data[t * 2 + 1]?_, _, _, _ }
    :: atomic { nempty(tell[t]) -> tell[t]?_, _, _, _ } /* lost */
    od
}

init {
    atomic { run source(); run target(0); run target(1) }
}
