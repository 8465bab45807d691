#!/bin/sh
# jacobi.sh - examples/jacobi.c on several grids of processes, and as a world of one without a launcher.
. "$(dirname "$0")/tap.inc"

$FTMPICC -g -O1 -o "$work/jacobi" "$ROOT/examples/jacobi.c" -lm > "$work/out" 2> "$work/err"
ok $? 'it compiles'
for n in 1 2 4 6; do
    run -n $n "$work/jacobi" 40
    same "$status $(tail -1 "$work/out")" '0 every cell has the bits of the serial run' "$n processes"
done
timeout 60 "$work/jacobi" 40 > "$work/out" 2> "$work/err"
same "$? $(tail -1 "$work/out")" '0 every cell has the bits of the serial run' 'without a launcher'
run -n 4 "$work/jacobi" 1
same "$status" 2 'too small a plate: MPI_Abort'
done_testing
