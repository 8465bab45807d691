#!/bin/sh
# coupled.sh - examples/coupled.c: two MPI jobs that are coupled by Phoenix, in either order of start.
. "$(dirname "$0")/tap.inc"

$FTMPICC -std=c99 -g -O1 -I"$ROOT" -o "$work/coupled" "$ROOT/examples/coupled.c" -lm \
    > "$work/out" 2> "$work/err"
ok $? 'it compiles'
port=$((20000 + $$ % 12000))
steps=20

# The two jobs: who starts first, with how many ranks.
couple() {
    hub=tcp://127.0.0.1:$port
    port=$((port + 1))
    timeout 60 "$FTMPIRUN" -n $2 "$work/coupled" $1 $hub $steps > "$work/first" 2>&1 < /dev/null &
    first=$!
    run -n $4 "$work/coupled" $3 $hub $steps
    wait $first || status=1
    same "$status $(cat "$work/first" "$work/out" | grep -c ': 0 cells differ')" '0 2' \
        "$1 with $2 ranks, then $3 with $4: the bits of a serial run at both"
}
couple sea 3 air 2
couple air 2 sea 3
couple sea 1 air 4
run -n 2 "$work/coupled" fire
same "$status" 2 'neither sea nor air'
done_testing
