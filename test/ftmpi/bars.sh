#!/bin/sh
# bars.sh - what extras/ftmpi promises that can be counted. usage: bars.sh [bars], for `make bars`
#
# Without a word it is a test, at small sizes; with it, lines "bar NAME FIGURE LIMIT ok|short".
. "$(dirname "$0")/tap.inc"

all=${1-}
bar() { # name, figure, limit: at most
    word=ok
    [ -n "$2" ] && [ "$2" -le "$3" ] || word=short
    if [ -n "$all" ]; then printf 'bar\tmpi: %s\t%s\t%s\t%s\n' "$1" "${2:--}" "$3" $word
    else
        [ $word = ok ]
        ok $? "$1: ${2:-nothing}, at most $3"
    fi
}

worst() { # column of out: the greatest number in it
    awk -v c="$1" '$c > most { most = $c } END { if (NR > 0) print most + 0 }' "$work/out"
}

need() { # a command that prepares
    "$@" > "$work/out" 2> "$work/err" || { bar "$*" '' 0; exit 1; }
}

ranks=12
[ -z "$all" ] || ranks=64
need $FTMPICC -O1 -I"$ROOT" -I"$ROOT/extras/ftmpi/lib" -o "$work/p_init" "$ROOT/test/ftmpi/p_init.c"
run -n $ranks "$work/p_init"
bar "ranks of $ranks that came through MPI_Init badly" $((ranks - $(wc -l < "$work/out"))) 0
bar "MPI_Init of $ranks ranks, messages of a rank" "$(worst 1)" 4
bar "MPI_Init of $ranks ranks, the core's frames of a rank" "$(worst 2)" 20
[ -n "$all" ] || done_testing

need $FTMPICC -O1 -o "$work/p_coll" "$ROOT/test/ftmpi/p_coll.c"
bad=0
for n in 1 2 3 4 5 6 7 8 9; do
    run -n $n "$work/p_coll"
    [ $status -eq 0 ] && [ "$(cat "$work/out")" = "ok - collectives of $n ranks" ] || bad=$((bad + 1))
done
bar 'collectives beside a model, 1 to 9 ranks: sizes at which one was wrong' $bad 0
need $FTMPICC -O1 -I"$ROOT" -I"$ROOT/test" -I"$ROOT/test/unit" -I"$ROOT/extras/ftmpi/lib" \
    -o "$work/t_walls" "$ROOT/test/ftmpi/t_walls.c"
"$work/t_walls" bars || bar 'walls: results that are wrong' '' 0
