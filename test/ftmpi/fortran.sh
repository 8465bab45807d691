#!/bin/sh
# fortran.sh - programs in Fortran: mpif.h in fixed form, and the module mpi.
. "$(dirname "$0")/tap.inc"

if ! command -v gfortran > /dev/null; then
    echo 'ok 1 - programs in Fortran # SKIP no gfortran'
    echo '1..1'
    exit 0
fi

try() { # wrapper, program, ending
    # shellcheck disable=SC2086 # the flags are several words
    "$ROOT/extras/ftmpi/$1" ${FTMPI_CFLAGS-} -w -J "$work" -o "$work/$2" "$ROOT/test/ftmpi/$2.$3" \
        > "$work/out" 2> "$work/err"
    ok $? "$2.$3 compiles"
    for n in 1 2 3; do
        run -n $n "$work/$2"
        same "$status $(grep -c '^ok 1' "$work/out")" '0 1' "$2 at $n ranks"
    done
}
try ftmpif77 p_fortran f
try ftmpif90 p_module f90
done_testing
