#!/bin/sh
# demo.sh - what `make demo_mpi` shows: the solver, the farm and the examples lose ranks and end right.
LEAKS=1
. "$(dirname "$0")/tap.inc"

export FTMPIRUN FTMPICC
timeout 150 "$ROOT/extras/ftmpi/demo/demo.sh" > "$work/all" 2> "$work/err"
status=$?
grep -e BAD -B 6 -A 8 "$work/all" > "$work/out"
same "$status $(tail -1 "$work/all")" '0 demo: good' 'the demo'
same "$(grep -c ' good' "$work/all")" 29 '.. with all that it shows'
same "$(grep -c '^| .* | right |$' "$work/all")" 6 '.. and a table'
done_testing
