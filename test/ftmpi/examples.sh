#!/bin/sh
# examples.sh - the checkpoints and programs of extras/ftmpi/examples without failures, with MPICH as well.
. "$(dirname "$0")/tap.inc"
examples=$ROOT/extras/ftmpi/examples
parity=$examples/parity.c
copies=$examples/copies.c

example() { # program, other sources: with our compiler, and with MPICH's if there is one
    one=$1
    shift
    $FTMPICC -O1 -o "$work/$one" "$examples/$one.c" "$@" -lm > "$work/out" 2> "$work/err"
    ok $? "$one compiles"
    [ -n "$peer" ] || return 0
    $peer -std=c99 -O1 -o "$work/$one.peer" "$examples/$one.c" "$@" -lm > "$work/out" 2> "$work/err"
    ok $? ".. with MPICH"
}

says() { # pattern, lines of it, ranks, program, arguments
    pattern=$1 lines=$2
    shift 2
    n=$1
    shift
    run -n "$n" "$work/$@"
    same "$status $(grep -c "$pattern" "$work/out")" "0 $lines" "$* at $n ranks"
    [ -n "$peer" ] && [ "$n" -le 2 ] || return 0
    program=$1.peer
    shift
    timeout 60 mpiexec.mpich -n "$n" "$work/$program" "$@" > "$work/out" 2> "$work/err" < /dev/null
    same "$? $(grep -c "$pattern" "$work/out")" "0 $lines" ".. with MPICH"
}

peer=
if command -v mpicc.mpich > /dev/null && command -v mpiexec.mpich > /dev/null; then peer=mpicc.mpich
else ok 0 'the examples with MPICH # SKIP there is none'; fi

$FTMPICC -g -O1 -o "$work/p_checkpoint" "$ROOT/test/ftmpi/p_checkpoint.c" "$parity" "$copies" \
    > "$work/out" 2> "$work/err"
ok $? 'p_checkpoint.c compiles'
for n in 1 2 3 4 6; do
    run -n $n "$work/p_checkpoint"
    same "$status $(grep -c '^ok 1' "$work/out")" '0 1' "checkpoints in memory at $n ranks"
done
example cg "$parity" "$copies"
example example1
example example2
example example3
example example4 "$examples/farm.c"
example example5 "$parity"
says ', bits b5cdaf10$' 1 1 cg -n 40
says ', bits b5cdaf10$' 1 2 cg -n 40 -p
says ', bits b5cdaf10$' 1 5 cg -n 40
says 'nobody failed$' 2 2 example1
says 'nobody failed$' 3 3 example2
says 'done, 200 steps, 0 recoveries$' 2 2 example3
says ' 78498 primes, right, 0 workers died$' 1 1 example4
says ' 78498 primes, right, 0 workers died$' 1 4 example4
says 'rank 0: right$' 1 2 example5
says 'rank 0: right$' 1 4 example5
done_testing
