#!/bin/sh
# kills.sh - ranks of the demo's solver are killed at random moments. usage: kills.sh [RUNS [SEED]]
#
# Without RUNS: nine of them, as part of the tests. With it, that many, half of them under AddressSanitizer.
# All must end right, with nothing left of processes, and of memory where the sanitizer looks.
LEAKS=1
. "$(dirname "$0")/tap.inc"
runs=${1-9}
seed=${2-1}
examples=$ROOT/extras/ftmpi/examples

solver() { # name, compiler
    $2 -g -O1 -o "$work/$1" "$examples/cg.c" "$examples/parity.c" "$examples/copies.c" -lm \
        > "$work/out" 2> "$work/err"
    ok $? "$1 compiles"
}

kills() { # program, runs, seed
    "$work/p_kills" "$FTMPIRUN" "$work/$1" "$2" "$3" > "$work/kills" 2> "$work/err"
    grep '^#' "$work/kills"
    last=$(tail -1 "$work/kills")
    same "${last##* } of ${last%% *}" "0 of $2" "runs with kills that ended badly ($1, seed $3)"
    last=${last% *}
    echo "# ${last#* } ranks were killed"
}

${CC:-cc} -std=c99 -O1 -o "$work/p_kills" "$ROOT/test/ftmpi/p_kills.c" "$ROOT/extras/ftmpi/demo/play.c" \
    > "$work/out" 2> "$work/err"
ok $? 'p_kills.c compiles'
if [ $# -eq 0 ]; then
    solver cg "$FTMPICC"
    kills cg "$runs" "$seed"
else
    solver cg "$ROOT/extras/ftmpi/ftmpicc"
    kills cg $((runs / 2)) "$seed"
    sane='-fsanitize=address,undefined -fno-sanitize-recover=all'
    FTMPI_BUILD=$work/asan FTMPI_CFLAGS="-g -O1 $sane"
    export FTMPI_BUILD FTMPI_CFLAGS
    solver cg.asan "$ROOT/extras/ftmpi/ftmpicc $sane"
    kills cg.asan $((runs - runs / 2)) $((seed + 1))
fi
done_testing
