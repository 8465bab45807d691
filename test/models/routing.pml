/* routing.pml - MODEL: next hops are free of loops at every instant, and no route is lost for good. */
/* Four nodes and one destination, node 0, the owner. It stands for these functions of src/route:
 *
 *      choose      route_select, route_best, route_better, phx__route_is_feasible      (route.c)
 *      take        route_offer, for an UPDATE                                          (route.c)
 *      tell        advert_needs without its three kinds of cover, advert_put           (advert.c)
 *      ask, asked  route_ask, phx__route_request, route_pass_request, route_raise      (route.c)
 *      lose, join  phx__route_down, phx__route_up and route_hello                      (route.c)
 *
 * Each ordered pair of nodes is a process, so every interleaving is searched: a link is lost at one end
 * before the other sees it, what was on it is lost, an update waits for any time while its sender's table
 * moves on, and with LOSS any update may vanish without a link being lost (as one that an advert_need
 * withheld wrongly).
 *
 * What must hold at every instant: no circle of next hops; a node that is linked with the owner has a route
 * of one hop. And if nothing is left to do: whoever is connected with the owner has a route (not with LOSS: a
 * digest repairs that, and is no part of this model).
 *
 *      -DTOPO=n        the links at the start: 0 all, 1 a ring, 2 owner - 1 - (2, 3), 3 a chord more
 *      -DCUTS=n -DJOINS=n -DLOSSES=n -DMOST=n     links lost, made again, updates lost, the owner's highest
 *                                                 number
 *      -DRAISE         the rule taken out: as printed in the paper, who loses its next hop raises the number
 *                      itself, and the larger number is taken. Finds a lost route.
 *      -DANYOFFER      the rule taken out: an offer needs not be feasible. Finds a loop. */
#ifndef TOPO
#define TOPO 0
#endif
#ifndef CUTS
#define CUTS 1
#endif
#ifndef JOINS
#define JOINS 0
#endif
#ifndef LOSSES
#define LOSSES 0
#endif
#ifndef MOST
#define MOST 2
#endif
#define N 4
#define FAR 9  /* unreachable */
#define NONE 9 /* no next hop */
#define P(i, j) ((i) * N + (j))
#define WORD(s, h) ((s) * 16 + (h))
#define SEQ(w) ((w) / 16)
#define HOPS(w) ((w) % 16)
#define NOTHING WORD(0, FAR)
#define HAS(set, i, j) (((set) >> P(i, j)) & 1)
#define BIT(i, j) (1 << P(i, j))

#define RING(i, j) ((i) + (j) == 1 || (i) + (j) == 3 || (i) + (j) == 5)
#if TOPO == 0
#define LINKED(i, j) ((i) != (j))
#elif TOPO == 1 /* 0 - 1 - 2 - 3 - 0 */
#define LINKED(i, j) ((i) != (j) && RING(i, j))
#elif TOPO == 2 /* 0 - 1, 1 - 2, 1 - 3, 2 - 3 */
#define LINKED(i, j) ((i) != (j) && ((i) + (j) == 1 || (i) * (j) > 0))
#else /* all but 0 - 3 */
#define LINKED(i, j) ((i) != (j) && (i) + (j) != 3 || (i) * (j) == 2)
#endif

byte seq[N], hops[N], next[N], fseq[N], fhops[N]; /* struct phx__dest */
bit need[N];                                      /* a request is not answered yet */
byte tries[N];
byte offer[16];                                   /* [P(i, j)]: what j offered i, as WORD */
byte told[16], want[16];                          /* what i told j; 1 + the number that j asked i for */
byte update[16];                                  /* the UPDATE on its way from i to j; 0: none */
byte request[16];                                 /* the REQUEST on its way: 1 + number; 0: none */
short links, asked;                               /* bits P(i, j): i sees a link with j; i has asked j, since its choice */
byte cuts = CUTS, joins = JOINS, losses = LOSSES;
bit capped;                                       /* the owner would have raised its number beyond MOST */
hidden byte k, best, other;

#define FEASIBLE(i, s, h) (fhops[i] == FAR || (s) > fseq[i] || ((s) == fseq[i] && (h) < fhops[i]))
#define BETTER(i, a, b)                                                                                      \
    (b == NONE || HOPS(offer[P(i, a)]) < HOPS(offer[P(i, b)])                                                \
     || (HOPS(offer[P(i, a)]) == HOPS(offer[P(i, b)])                                                        \
         && (SEQ(offer[P(i, a)]) > SEQ(offer[P(i, b)]) || (SEQ(offer[P(i, a)]) == SEQ(offer[P(i, b)]) && a == next[i]))))

/* Every state must be free of loops: three steps along the next hops lead out of any chain without one. */
#define HOP(i) (i == NONE || i == 0 -> i : next[i])
#define LOOP(i) (next[i] != NONE && HOP(HOP(HOP(i))) != NONE && HOP(HOP(HOP(i))) != 0)
#define NEAR(i) (!(HAS(links, i, 0) && HOPS(offer[P(i, 0)]) == 0) || hops[i] == 1)

inline sound() {
    assert(!LOOP(1) && !LOOP(2) && !LOOP(3)); /* no circle of next hops */
    assert(NEAR(1) && NEAR(2) && NEAR(3))     /* linked with the owner: one hop */
}

inline choose(i) {
    best = NONE; other = NONE; k = 0;
    do
    :: k < N ->
        if
        :: HOPS(offer[P(i, k)]) < FAR - 1 ->
            if
#ifdef ANYOFFER
            :: BETTER(i, k, best) -> best = k
#else
            :: FEASIBLE(i, SEQ(offer[P(i, k)]), HOPS(offer[P(i, k)])) && BETTER(i, k, best) -> best = k
            :: !FEASIBLE(i, SEQ(offer[P(i, k)]), HOPS(offer[P(i, k)])) && BETTER(i, k, other) -> other = k
#endif
            :: else
            fi
        :: else
        fi;
        k++
    :: else -> break
    od;
    if
    :: best != NONE ->
        next[i] = best; seq[i] = SEQ(offer[P(i, best)]); hops[i] = HOPS(offer[P(i, best)]) + 1;
        need[i] = (other != NONE -> HOPS(offer[P(i, other)]) + 1 < hops[i] : 0)
    :: else ->
        need[i] = need[i] || hops[i] != FAR || other != NONE;
#ifdef RAISE
        if
        :: hops[i] != FAR && seq[i] < MOST -> seq[i]++ /* paper_lost */
        :: else
        fi;
#endif
        next[i] = NONE; hops[i] = FAR
    fi;
    asked = asked & ~(15 << P(i, 0));
    best = 0; other = 0; k = 0
}

inline take(i, j) { /* j takes what i told */
    if
    :: j == 0 -> /* route_self_entry */
        if
        :: SEQ(update[P(i, 0)]) > seq[0] && SEQ(update[P(i, 0)]) < MOST -> seq[0] = SEQ(update[P(i, 0)]) + 1
        :: SEQ(update[P(i, 0)]) > seq[0] && SEQ(update[P(i, 0)]) >= MOST -> capped = 1
        :: else
        fi
    :: else ->
        offer[P(j, i)] = (HOPS(update[P(i, j)]) == FAR -> NOTHING : update[P(i, j)]);
#ifdef RAISE
        if
        :: HOPS(update[P(i, j)]) == FAR && SEQ(update[P(i, j)]) > seq[j] -> /* the larger number wins */
            k = 0;
            do
            :: k < N -> offer[P(j, k)] = NOTHING; k++
            :: else -> break
            od;
            seq[j] = SEQ(update[P(i, j)]); next[j] = NONE; hops[j] = FAR; need[j] = 1; k = 0
        :: else -> choose(j)
        fi
#else
        if
        :: HOPS(update[P(i, j)]) == FAR && hops[j] == FAR && SEQ(update[P(i, j)]) > seq[j] -> seq[j] = SEQ(update[P(i, j)])
        :: else
        fi;
        choose(j)
#endif
    fi;
    update[P(i, j)] = 0
}

#define NEEDS(i, j)                                                                                          \
    (HAS(links, i, j) && update[P(i, j)] == 0 && j != 0                                                      \
     && ((want[P(i, j)] > 0 && hops[i] != FAR && seq[i] + 1 >= want[P(i, j)] && next[i] != j)                \
         || (HOPS(told[P(i, j)]) != FAR && hops[i] > HOPS(told[P(i, j)]))                                    \
         || (hops[i] != FAR && next[i] != j && told[P(i, j)] != WORD(seq[i], hops[i]))))

inline tell(i, j) {
    update[P(i, j)] = WORD(seq[i], hops[i]);
    told[P(i, j)] = update[P(i, j)]; want[P(i, j)] = 0;
    if
    :: hops[i] != FAR && i != 0 && FEASIBLE(i, seq[i], hops[i]) -> fseq[i] = seq[i]; fhops[i] = hops[i]
    :: else
    fi
}

#define ASKS(i, j)                                                                                           \
    (i != 0 && need[i] && HAS(links, i, j) && !HAS(asked, i, j) && request[P(i, j)] == 0                     \
     && (HOPS(offer[P(i, j)]) != FAR || (i == 0 || (HOPS(offer[P(i, 0)]) == FAR && HOPS(offer[P(i, 1)]) == FAR                     \
                                              && HOPS(offer[P(i, 2)]) == FAR && HOPS(offer[P(i, 3)]) == FAR))))

#define PASSES(i, j, number)                                                                                 \
    (j != 0 && (seq[j] < number || hops[j] == FAR) && next[j] != NONE && next[j] != i                        \
     && request[P(j, next[j])] == 0)

inline pass(i, j) { /* j has i's REQUEST */
    best = request[P(i, j)] - 1; /* the number */
    request[P(i, j)] = 0;
    if
    :: j == 0 && best > seq[0] && best <= MOST -> seq[0] = best
    :: j == 0 && best > seq[0] && best > MOST -> capped = 1
    :: else
    fi;
    want[P(j, i)] = best + 1;
    if
    :: PASSES(i, j, best) -> request[P(j, next[j])] = best + 1
    :: else
    fi;
    best = 0
}

inline lose(i, j) { /* i loses its link with j */
    links = links & ~BIT(i, j);
    update[P(j, i)] = 0; request[P(j, i)] = 0;
    update[P(i, j)] = 0; request[P(i, j)] = 0;
    told[P(i, j)] = NOTHING; want[P(i, j)] = 0;
    if
    :: i != 0 && offer[P(i, j)] != NOTHING -> offer[P(i, j)] = NOTHING; choose(i)
    :: else
    fi
}

inline join(i, j) {
    links = links | BIT(i, j) | BIT(j, i);
    if
    :: i == 0 -> told[P(0, j)] = WORD(seq[0], 0); offer[P(j, 0)] = WORD(seq[0], 0); choose(j)
    :: else
    fi
}

/* What passes from i to j. */
proctype pair(byte i, j) {
end:
    do
    :: atomic { NEEDS(i, j) -> d_step { tell(i, j); sound() } }
    :: atomic { update[P(i, j)] != 0 && HAS(links, j, i) -> d_step { take(i, j); sound() } }
    :: atomic { ASKS(i, j) -> d_step {
           request[P(i, j)] = (fhops[i] == FAR -> 1 : fseq[i] + 2); asked = asked | BIT(i, j) } }
    :: atomic { request[P(i, j)] > 0 && HAS(links, j, i) -> d_step { pass(i, j); sound() } }
    :: atomic { HAS(links, i, j) && cuts > 0 && HAS(links, j, i) -> d_step { cuts--; lose(i, j); sound() } }
    :: atomic { HAS(links, i, j) && !HAS(links, j, i) -> d_step { lose(i, j); sound() } } /* the other end has lost it */
    :: atomic { i < j && !HAS(links, i, j) && !HAS(links, j, i) && joins > 0 -> d_step { joins--; join(i, j); sound() } }
    :: atomic { losses > 0 && update[P(i, j)] != 0 -> d_step {
           losses--; update[P(i, j)] = 0 } }
    od
}

#define REACHES(i) (HAS(links, i, 0) || (HAS(links, i, 1) && HAS(links, 1, 0)) || (HAS(links, i, 2) && HAS(links, 2, 0))                    \
    || (HAS(links, i, 3) && HAS(links, 3, 0))                                                                \
    || (HAS(links, i, 1) && (HAS(links, 1, 2) && HAS(links, 2, 0) || HAS(links, 1, 3) && HAS(links, 3, 0)))  \
    || (HAS(links, i, 2) && (HAS(links, 2, 1) && HAS(links, 1, 0) || HAS(links, 2, 3) && HAS(links, 3, 0)))  \
    || (HAS(links, i, 3) && (HAS(links, 3, 1) && HAS(links, 1, 0) || HAS(links, 3, 2) && HAS(links, 2, 0))))
#define LACKS(i) (hops[i] == FAR && REACHES(i))
#define NEXTTRY(i) (LACKS(i) && need[i] && tries[i] < 2)
#define SERVED(i) (capped || LOSSES > 0 || !LACKS(i))

/* Nothing moves any more: a timer asks again (ROUTE_ASKS_BLIND times); then all who can be reached are. */
proctype quiet() {
end:
    do
    :: timeout -> d_step {
        k = 1;
        do
        :: k < N ->
            if
            :: LACKS(k) && need[k] && tries[k] < 2 ->
                tries[k]++;
                asked = asked & ~(15 << P(k, 0))
            :: else -> assert(SERVED(k)) /* connected with the owner: a route */
            fi;
            k++
        :: else -> break
        od;
        k = 0;
        }
        if
        :: cuts == 0 && joins == 0 && !NEXTTRY(1) && !NEXTTRY(2) && !NEXTTRY(3) -> break
        :: else
        fi
    od
}

init {
    d_step {
        byte i, j;
        i = 0;
        do
        :: i < N ->
            seq[i] = (i == 0); hops[i] = (i == 0 -> 0 : FAR); next[i] = NONE; fhops[i] = FAR; j = 0;
            do
            :: j < N ->
                told[P(i, j)] = NOTHING; offer[P(i, j)] = NOTHING; j++
            :: else -> break
            od;
            i++
        :: else -> break
        od;
        i = 0;
        do
        :: i < N ->
            j = i + 1;
            do
            :: j < N ->
                if
                :: LINKED(i, j) -> join(i, j)
                :: else
                fi;
                j++
            :: else -> break
            od;
            i++
        :: else -> break
        od;
        i = 0; j = 0
    }
    atomic {
        run pair(0, 1); run pair(1, 0); run pair(0, 2); run pair(2, 0); run pair(0, 3); run pair(3, 0);
        run pair(1, 2); run pair(2, 1); run pair(1, 3); run pair(3, 1); run pair(2, 3); run pair(3, 2);
        run quiet()
    }
}
