#!/bin/sh
# stubs.sh - for each function, 129 of MPI-1.2 and ours: a test fails when it merely returns MPI_SUCCESS.
#
# The programs are linked with functions of their own names, which call PMPI_ or not. usage: stubs.sh
# [all|bars]; without it only some functions are tried, since those whose absence makes a program wait take
# seconds. bars: all, and one line for `make bars`.
. "$(dirname "$0")/tap.inc"

all=${1-}
[ "$all" != bars ] || exec 3>&1 > /dev/null

programs='p_env p_topo p_types p_comm p_p2p p_coll p_persist'
awk -f "$ROOT/test/ftmpi/stubs.awk" "$ROOT/extras/ftmpi/mpi.h" > "$work/stubs.c"
# Stubs are made of what the header calls MPI_; each of MPI-1.2 and each that has a PMPI_ must be among them.
sed -n 's/.*stubbed("\([A-Za-z_]*\)").*/\1/p' "$work/stubs.c" | sort > "$work/stubbed"
{
    sed '/^#/d' "$ROOT/test/ftmpi/functions" | tr ' ' '\n'
    sed -n 's/^[a-z]* PMPI_\([A-Za-z_]*\)(.*/\1/p' "$ROOT/extras/ftmpi/mpi.h"
} | sort -u > "$work/wanted"
same "$(comm -3 "$work/stubbed" "$work/wanted" | tr '\n' ' ')" '' 'each function is replaced, and no other'
kept=
for p in $programs; do
    [ -e "$ROOT/test/ftmpi/$p.c" ] || continue
    $FTMPICC -std=c99 -O1 -o "$work/$p" "$ROOT/test/ftmpi/$p.c" "$work/stubs.c" > "$work/out" 2> "$work/err"
    ok $? "$p.c with stubs compiles"
    kept="$kept $p"
done

# One run of a program. What it says with nothing replaced is success.
passes() { # program, function
    arguments=
    [ "$1" != p_coll ] || arguments=small
    FTM_STUB=$2 timeout 6 "$FTMPIRUN" -n 3 "$work/$1" $arguments > "$work/out" 2> "$work/err" \
        < /dev/null && grep -q '^ok' "$work/out"
}

# Functions that end programs, or are refused before MPI_Init.
ends() { # function, arguments, pattern that a good one says
    FTM_STUB=$1 timeout 6 "$FTMPIRUN" -n 1 "$work/$2" $3 > "$work/out" 2> "$work/err" < /dev/null
    grep -q "$4" "$work/err"
}

ends_only_with() { ends none "$2" "$3" "$4" && ! ends "$@"; }

noticed() { # function
    case $1 in
    Pcontrol) ends_only_with Pcontrol p_env pcontrol 'before MPI_Init' ;;
    Abort) ends_only_with Abort p_ends 'abort 0' MPI_Abort ;;
    Finalize) ends_only_with Finalize p_env late 'after MPI_Finalize' ;;
    *)
        for p in $kept; do
            passes "$p" "$1" || return 0
        done
        return 1 ;;
    esac
}

p=p_ends
$FTMPICC -std=c99 -O1 -o "$work/$p" "$ROOT/test/ftmpi/$p.c" "$work/stubs.c" > "$work/out" 2> "$work/err"
ok $? 'p_ends.c with stubs compiles'
for p in $kept; do
    passes "$p" none
    ok $? "$p passes when nothing is missing"
done
count=0
missed=0
for f in $(sed '/^#/d' "$ROOT/test/ftmpi/functions"); do
    count=$((count + 1))
    [ -n "$all" ] || [ $((count % 32)) -eq 7 ] || continue
    noticed "$f" && continue
    missed=$((missed + 1))
    echo "# nothing notices that MPI_$f does nothing"
done
same "$count functions, $missed" '129 functions, 0' 'a test notices each one that does nothing'
if [ "$all" = bars ]; then
    word=ok
    [ $tap_failures -eq 0 ] || word=short
    printf 'bar\tmpi: functions of %s that may do nothing without a test that fails\t%s\t0\t%s\n' \
        "$count" "$missed" $word >&3
fi
done_testing
