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
need mkdir "$work/met"
run -n $ranks "$work/p_init" "$work/met"
bar "ranks of $ranks that came through MPI_Init badly" $((ranks - $(wc -l < "$work/out"))) 0
bar "MPI_Init of $ranks ranks, messages of a rank" "$(worst 1)" 4
bar "MPI_Init of $ranks ranks, the core's frames of a rank" "$(worst 2)" 20

need $FTMPICC -O1 -Wl,--wrap=memcpy -Wl,--wrap=memmove -o "$work/p_copied" "$ROOT/test/ftmpi/p_copied.c"
FTMPI_TCP=1 run -n 2 "$work/p_copied" 1000
# Of a message the core has read 4 KiB before it knows its place, and copies those. On a machine that has much
# else to do it has read more (106 were seen), and a test must not depend on that: 1,000 a side is no place.
copied=$(awk '{ n += $1 } END { if (NR == 2) print n }' "$work/out")
most=300
[ -z "$all" ] || most=20
bar 'bytes copied of 1,000 at 1 MiB over TCP, both sides' "$copied" $most
[ -n "$all" ] || done_testing

unit() { # a unit test that counts: work/NAME
    need $FTMPICC -O1 -I"$ROOT" -I"$ROOT/test" -I"$ROOT/test/unit" -I"$ROOT/extras/ftmpi/lib" \
        -o "$work/$1" "$ROOT/test/ftmpi/$1.c"
}
unit t_bounds
timeout 600 "$work/t_bounds" > "$work/out" 2> "$work/err"
bar 'a flood to one that receives nothing: KiB kept for a sender' \
    "$(sed -n 's/^# \([0-9]*\) KiB were kept.*/\1/p' "$work/out")" 5120

need $FTMPICC -O1 -o "$work/p_coll" "$ROOT/test/ftmpi/p_coll.c"
bad=0
for n in 1 2 3 4 5 6 7 8 9; do
    run -n $n "$work/p_coll"
    [ $status -eq 0 ] && [ "$(cat "$work/out")" = "ok - collectives of $n ranks" ] || bad=$((bad + 1))
done
bar 'collectives beside a model, 1 to 9 ranks: sizes at which one was wrong' $bad 0
need $FTMPICC -O1 -I"$ROOT" -I"$ROOT/test/unit" -I"$ROOT/extras/ftmpi/lib" \
    -o "$work/t_type" "$ROOT/test/ftmpi/t_type.c"
"$work/t_type" bars | grep '^bar' || bar 'datatypes beside a model' '' 0
sh "$ROOT/test/ftmpi/stubs.sh" bars | grep '^bar' || bar 'functions of 129 with a test' '' 0
