/* agreement.pml - MODEL: do all that survive an agreement of FT-MPI get one value, whoever dies when? */
/* N processes of one site agree by the rules of extras/ftmpi/lib/agree.c, from which this is written line by
 * line:
 *
 *      pass_on, store, say_up, tell                              what is due
 *      root_begin, root_go_on, propose                           root_begin, root_go_on, root_propose_heard
 *      answer_query, answer_asker, on_up .. on_have              what arrives
 *      told, contribute                                          ftm_agree_failed, ftm_agree_contribute
 *
 * A value is the set of processes that it covers and the union of the sets of failed ones that they knew of.
 *
 * Any process may die at any moment, and in any step after any number of its messages; the others hear of it
 * each at a time of its own. Messages between two processes keep their order, and what a dead one had sent
 * may still arrive. Programs call at any time.
 *
 * What must hold: if nothing moves any more all that live have returned, and the same value. With two rounds
 * at every instant: whoever returned, dead or alive, returned the same.
 *
 *      -DN=3 -DROUNDS=2 -DDEATHS=2
 *      -DUNIFORM    what two rounds promise is asked of one (with ROUNDS=1, the rule taken out). Finds two
 *                   decisions. */
#ifndef N
#define N 3
#endif
#ifndef ROUNDS
#define ROUNDS 2
#endif
#ifndef DEATHS
#define DEATHS (N - 1)
#endif
#define ALL ((1 << N) - 1)
#define HAS(set, m) (((set) >> (m)) & 1)
#define BIT(m) (1 << (m))
#define NONE 0           /* ballots are stored plus 1 */
#define NO_VALUE 0
#define VALUE(covered, dead) ((covered) * 16 + (dead))
#define COVERED(v) ((v) / 16)
#define DEAD(v) ((v) % 16)
#define MERGE(a, b) VALUE(COVERED(a) | COVERED(b), DEAD(a) | DEAD(b))

/* Binomial: 1 and 2 below 0, 3 below 2. */
#define PARENT(m) ((m) & ((m) - 1))
#define BELOW(m, above) ((m) == (above) || ((m) == 3 && (above) == 2) || (above) == 0)
#define ROOT(me) (!HAS(failed[me], 0) -> 0 : (!HAS(failed[me], 1) -> 1 : (!HAS(failed[me], 2) -> 2 : 3)))
#define LIVING_PARENT(me, m)                                                                                 \
    (!HAS(failed[me], PARENT(m)) -> PARENT(m) : (!HAS(failed[me], 0) -> 0 : ROOT(me)))

mtype = { UP, ANSWER, DOWN, ACK, COMMIT, QUERY, HAVE }; /* ANSWER: an UP that answers a QUERY */

bit dead[N], contributed[N], direct[N], up_sent[N], ack_sent[N], root[N], querying[N], proposed[N], done[N];
byte heard[N], stored[N], best[N];
byte stored_ballot[N], best_ballot[N], promised[N], owes[N];
byte failed[N], asked[N], acked[N], answered[N];
byte result[N];        /* what its program got */
byte deaths = DEATHS;
hidden byte i, to, grown;
byte leave, ballot;
chan way[N * N] = [8] of { mtype, byte, byte }; /* [from * N + to]: kind, ballot, value or set */

/* Sends, unless the process has died in this step: `leave` messages still go. */
inline say(sender, target, what, its, body) {
    if
    :: leave == 0 || dead[target]
    :: leave > 0 && !dead[target] ->
        leave = (leave == 255 -> 255 : leave - 1);
        way[sender * N + target]!what, its, body
    fi
}

inline say_stored(me, target) { say(me, target, DOWN, stored_ballot[me], stored[me]) }

/* DOWN, or COMMIT, goes to the children and to whoever asked. Direct members have none, but a root tells all.
 * */
inline pass_on(me, except) {
    i = 0;
    do
    :: i < N ->
        to = HAS(asked[me], i) || (direct[me] -> root[me] : LIVING_PARENT(me, i) == me);
        if
        :: i == me || i == except || HAS(failed[me], i) || !to
        :: else ->
            if
            :: done[me] && ROUNDS == 2 -> say(me, i, COMMIT, NONE, stored[me])
            :: else -> say_stored(me, i)
            fi
        fi;
        i++
    :: else -> break
    od;
    i = 0; to = 0
}

inline store(me, number, value) {
    stored[me] = (done[me] -> stored[me] : value);
    stored_ballot[me] = number; promised[me] = number;
    acked[me] = BIT(me); ack_sent[me] = 0;
    done[me] = done[me] || ROUNDS == 1
}

inline say_up(me, kind, number, value) {
    to = LIVING_PARENT(me, me);
    say(me, to, kind, number, value);
    if
    :: direct[me] && ROOT(me) != to -> to = ROOT(me); say(me, to, kind, number, value)
    :: else
    fi;
    to = 0
}

/* The own fixed subtree is in the set, or has failed. */
#define SUBTREE_IN(me, set) (HAS(set, me) && (me != 2 || N < 4 || HAS(set, 3)) && (me != 0 || (set) == ALL))

inline tell(me, again) {
    if
    :: done[me]
    :: !done[me] && stored_ballot[me] != NONE ->
        if
        :: (direct[me] -> again : !ack_sent[me] && SUBTREE_IN(me, acked[me])) -> ack_sent[me] = 1; say_up(me, ACK, stored_ballot[me], acked[me])
        :: else
        fi
    :: !done[me] && stored_ballot[me] == NONE ->
        if
        :: (direct[me] -> again && COVERED(heard[me]) != 0 : !up_sent[me] && SUBTREE_IN(me, COVERED(heard[me]))) ->
            up_sent[me] = 1; say_up(me, UP, NONE, heard[me])
        :: else
        fi
    fi
}

inline propose(me, value) {
    proposed[me] = 1;
    store(me, me + 1, value);
    pass_on(me, N)
}

inline root_begin(me) {
    root[me] = 1;
    promised[me] = me + 1;
    if
    :: me == 0 || (done[me] && ROUNDS == 2)
    :: me != 0 && done[me] && ROUNDS == 1 ->
        stored_ballot[me] = me + 1; proposed[me] = 1;
        i = 0;
        do
        :: i < N ->
            if
            :: HAS(asked[me], i) && !HAS(failed[me], i) -> say_stored(me, i)
            :: else
            fi;
            i++
        :: else -> break
        od;
        i = 0
    :: me != 0 && !done[me] ->
        querying[me] = 1;
        answered[me] = answered[me] | BIT(me);
        best_ballot[me] = stored_ballot[me];
        best[me] = (stored_ballot[me] != NONE -> stored[me] : NO_VALUE);
        i = 0;
        do
        :: i < N ->
            if
            :: i != me && !HAS(failed[me], i) -> say(me, i, QUERY, me + 1, 0)
            :: else
            fi;
            i++
        :: else -> break
        od;
        i = 0
    fi
}

#define ALL_IN(me, set) (((set) | failed[me]) == ALL)

inline root_go_on(me) {
    if
    :: !root[me] -> root_begin(me)
    :: else
    fi;
    if
    :: !done[me] && querying[me] && ALL_IN(me, answered[me]) ->
        querying[me] = 0;
        if
        :: best_ballot[me] != NONE -> propose(me, best[me])
        :: else
        fi
    :: else
    fi;
    if
    :: !done[me] && !querying[me] && !proposed[me] && ALL_IN(me, COVERED(heard[me])) ->
        heard[me] = heard[me] | failed[me];
        propose(me, heard[me])
    :: else
    fi;
    if
    :: !done[me] && !querying[me] && proposed[me] && ALL_IN(me, acked[me]) -> done[me] = 1; pass_on(me, N)
    :: else
    fi
}

inline go_on(me, again) {
    if
    :: ROOT(me) == me -> root_go_on(me)
    :: else -> tell(me, again)
    fi
}

inline answer_query(me) {
    if
    :: owes[me] == NONE || (!contributed[me] && stored_ballot[me] == NONE)
    :: else ->
        to = owes[me] - 1;
        owes[me] = NONE;
        if
        :: HAS(failed[me], to)
        :: else ->
            if
            :: done[me] && ROUNDS == 2 -> say(me, to, COMMIT, NONE, stored[me])
            :: !(done[me] && ROUNDS == 2) && stored_ballot[me] != NONE ->
                say(me, to, HAVE, stored_ballot[me], stored[me])
            :: !(done[me] && ROUNDS == 2) && stored_ballot[me] == NONE -> say(me, to, ANSWER, to + 1, heard[me])
            fi
        fi;
        to = 0
    fi
}

inline on_up(me, from, value) { /* answer: in `ballot` */
    grown = (COVERED(value) & ~COVERED(heard[me])) != 0;
    heard[me] = MERGE(heard[me], value);
    answered[me] = (ballot != NONE -> answered[me] | BIT(from) : answered[me]);
    asked[me] = asked[me] | BIT(from);
    if
    :: ballot != NONE && querying[me] -> go_on(me, grown)
    :: !(ballot != NONE && querying[me]) && done[me] && ROUNDS == 2 -> say(me, from, COMMIT, NONE, stored[me])
    :: !(ballot != NONE && querying[me]) && !(done[me] && ROUNDS == 2) && stored_ballot[me] != NONE ->
        say_stored(me, from)
    :: !(ballot != NONE && querying[me]) && !(done[me] && ROUNDS == 2) && stored_ballot[me] == NONE ->
        go_on(me, grown)
    fi
}

inline on_ack(me, from, set) {
    asked[me] = asked[me] | BIT(from);
    if
    :: done[me] && ROUNDS == 2 -> say(me, from, COMMIT, NONE, stored[me])
    :: !(done[me] && ROUNDS == 2) && stored_ballot[me] > ballot -> say_stored(me, from)
    :: !(done[me] && ROUNDS == 2) && stored_ballot[me] < ballot
    :: !(done[me] && ROUNDS == 2) && stored_ballot[me] == ballot ->
        grown = ((set) & ~acked[me]) != 0;
        acked[me] = acked[me] | (set);
        go_on(me, grown)
    fi
}

inline on_down(me, from, value) {
    if
    :: done[me] && ROUNDS == 2 -> say(me, from, COMMIT, NONE, stored[me])
    :: !(done[me] && ROUNDS == 2) && ballot < promised[me]
    :: !(done[me] && ROUNDS == 2) && ballot >= promised[me] && ballot == stored_ballot[me] ->
        if
        :: ROUNDS == 2 -> say(me, from, ACK, stored_ballot[me], acked[me])
        :: else
        fi
    :: !(done[me] && ROUNDS == 2) && ballot >= promised[me] && ballot != stored_ballot[me] ->
        store(me, ballot, value);
        answer_query(me);
        pass_on(me, from);
        go_on(me, 1)
    fi
}

inline on_commit(me, from, value) {
    if
    :: done[me]
    :: else ->
        stored[me] = value;
        stored_ballot[me] = (stored_ballot[me] != NONE -> stored_ballot[me] : 1);
        done[me] = 1; querying[me] = 0;
        answer_query(me);
        pass_on(me, from)
    fi
}

inline on_query(me) {
    grown = !direct[me] || ((BIT(ballot - 1) - 1) & ~failed[me] & ~BIT(me)) != 0;
    failed[me] = failed[me] | ((BIT(ballot - 1) - 1) & ~BIT(me));
    direct[me] = 1;
    if
    :: ballot >= promised[me] -> promised[me] = ballot; owes[me] = ballot; answer_query(me)
    :: else
    fi;
    if
    :: grown -> go_on(me, 1)
    :: else
    fi
}

inline on_have(me, from, value) {
    if
    :: !querying[me]
    :: else ->
        answered[me] = answered[me] | BIT(from);
        best[me] = (ballot > best_ballot[me] -> value : best[me]);
        best_ballot[me] = (ballot > best_ballot[me] -> ballot : best_ballot[me]);
        go_on(me, 0)
    fi
}

#define SAME(a, b) (result[a] == NO_VALUE || result[b] == NO_VALUE || result[a] == result[b])

#define NO_MAIL(me) (empty(way[me]) && empty(way[N + me]) && empty(way[2 * N + me]) && empty(way[(N - 1) * N + me]))

/* The end of a step: who had a number of messages leave and not endlessly many has died. */
inline over(me) {
    if
    :: leave != 255 ->
        dead[me] = 1;
        do
        :: nempty(way[me]) -> way[me]?_, _, _
        :: nempty(way[N + me]) -> way[N + me]?_, _, _
        :: nempty(way[2 * N + me]) -> way[2 * N + me]?_, _, _
        :: nempty(way[(N - 1) * N + me]) -> way[(N - 1) * N + me]?_, _, _
        :: NO_MAIL(me) -> break
        od;
        leave = 0
    :: else -> result[me] = (done[me] -> stored[me] : NO_VALUE)
    fi;
#if ROUNDS == 2 || defined(UNIFORM)
    assert(SAME(0, 1) && SAME(0, 2) && SAME(1, 2)); /* one decision */
#if N == 4
    assert(SAME(0, 3) && SAME(1, 3) && SAME(2, 3));
#endif
#endif
    leave = 0; ballot = 0; grown = 0
}

/* How many messages of this step leave: all, or it dies behind some. */
inline fate() {
    if
    :: leave = 255
    :: deaths > 0 -> deaths--; leave = 0
    :: deaths > 0 -> deaths--; leave = 1
    :: deaths > 0 -> deaths--; leave = 2
    :: deaths > 0 && N == 4 -> deaths--; leave = 3
    fi
}

#define ARRIVES(me, from, number)                                                                            \
    :: atomic { !dead[me] && nempty(way[from * N + me]) -> way[from * N + me]?kind, number, value;           \
           if                                                                                                \
           :: HAS(failed[me], from) -> number = 0; value = 0                                                 \
           :: else -> fate(); d_step {                                                                       \
               ballot = number;                                                                              \
               if                                                                                            \
               :: kind == UP || kind == ANSWER -> on_up(me, from, value)                                     \
               :: kind == DOWN -> on_down(me, from, value)                                                   \
               :: kind == ACK -> on_ack(me, from, value)                                                     \
               :: kind == COMMIT -> on_commit(me, from, value)                                               \
               :: kind == QUERY -> on_query(me)                                                              \
               :: kind == HAVE -> on_have(me, from, value)                                                   \
               fi;                                                                                           \
               over(me); number = 0; value = 0; kind = UP }                                                  \
           fi }

#define UNHEARD(me, m) (dead[m] && !HAS(failed[me], m))
#define HEARS(me, m)                                                                                         \
    :: atomic { !dead[me] && UNHEARD(me, m) -> fate(); d_step {                                              \
           failed[me] = failed[me] | BIT(m);                                                                 \
           direct[me] = 1;                                                                                   \
           go_on(me, 1);                                                                                     \
           over(me) } }

proctype member(byte me) {
    mtype kind = UP;
    byte number, value, from;
end:
    do
    :: atomic { !dead[me] && !contributed[me] -> fate(); d_step {
           contributed[me] = 1;
           heard[me] = MERGE(heard[me], VALUE(BIT(me), failed[me]));
           answer_query(me);
           go_on(me, 1);
           over(me) } }
    HEARS(me, 0)
    HEARS(me, 1)
    HEARS(me, 2)
#if N == 4
    HEARS(me, 3)
#endif
    ARRIVES(me, 0, number)
    ARRIVES(me, 1, number)
    ARRIVES(me, 2, number)
#if N == 4
    ARRIVES(me, 3, number)
#endif
    od
}

#define RETURNED(m) (dead[m] || done[m])
#define AGREES(a, b) (dead[a] || dead[b] || stored[a] == stored[b])

proctype quiet() {
    timeout ->
        assert(RETURNED(0) && RETURNED(1) && RETURNED(2)); /* nobody waits for ever */
        assert(AGREES(0, 1) && AGREES(0, 2) && AGREES(1, 2));
#if N == 4
        assert(RETURNED(3) && AGREES(0, 3) && AGREES(1, 3) && AGREES(2, 3))
#endif
}

init {
    atomic {
        run member(0); run member(1); run member(2);
#if N == 4
        run member(3);
#endif
        run quiet()
    }
}
