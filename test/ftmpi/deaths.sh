#!/bin/sh
# deaths.sh - ranks that die under ftmpirun --ft: who is told what, in which order, and how the job ends
# (promise 87).
. "$(dirname "$0")/tap.inc"

compile p_deaths
p=$work/p_deaths

left() { # how many p_deaths run
    procs | awk '$3 == "p_deaths"' | wc -l | tr -d ' '
}

# Survivors name the same ranks in the same order.
deaths() { # ranks, modes, way, victims...
    ranks=$1 modes=$2
    shift 2
    run -n "$ranks" --ft "$modes" "$p" "$@"
    same "$status" 0 "$* of $ranks in $modes: those that came to the end ended well"
    same "$(grep -c ' sees it, failed ' "$work/out" | tr -d ' ')" $((ranks - $# + 1)) '.. all others saw it'
    same "$(sed 's/.* failed //' "$work/out" | sort -u | wc -l | tr -d ' ')" 1 '.. in one order'
    same "$(sed 's/.* failed //;1q' "$work/out" | tr ' ' '\n' | sort -n | tr '\n' ' ')" \
        "$(shift; echo "$@" | tr ' ' '\n' | sort -n | tr '\n' ' ')" '.. of all that died'
    same "$(grep -c '^ftmpirun: rank' "$work/err" | tr -d ' ')" $(($# - 1)) '.. one line for each'
}
deaths 4 blank kill 2
deaths 4 shrink,cont exit 0
deaths 3 rebuild exit0 1
deaths 8 blank,cont,strict kill 1 2 3 5 6 7
deaths 4 blank,nop kill 3 0
deaths 5 blank early 4 2
same "$(left)" 0 'nothing is left'

run -n 4 "$p" attribute 1
same "$status" 0 'a program may choose its mode itself'
FTMPI_MODE=shrink run -n 4 "$p" kill 1
same "$status" 0 'FTMPI_MODE is --ft'
FTMPI_MODE=shrink run -n 4 --ft abort "$p" kill 1
same "$status" 137 '--ft outdoes it; abort'
run -n 4 --ft blank "$p" abort 2
same "$status" 7 'MPI_Abort is meant for all'
said '^ftmpirun: rank 2 on [^ ]*: called MPI_Abort'
ok $? '.. and told'
run -n 3 --ft blank "$p" nobody 1
same "$status" 137 'nobody comes to the end: the first death'"'"'s status'
same "$(left)" 0 '.. and nothing is left'
run -n 2 --ft blank sh -c 'exit 3'
same "$status" 3 'no MPI program at all'

run -n 2 --ft rebuilt true
same "$status" 2 'an unknown mode'
said '^ftmpirun: --ft rebuilt: it is abort|blank|'
ok $? '.. and what there is'
run -n 2 --ft
same "$status" 2 'no mode'
FTMPI_MODE=blank,blank run -n 2 true
same "$status" 2 'a mode twice'
FTMPI_MODE=blank timeout 20 "$p" kill > "$work/out" 2> "$work/err"
same "$?" 1 'without a launcher: refused'
said '^ftmpi: MPI_Init: FTMPI_MODE=blank wants a launcher'
ok $? '.. with a reason'
FTMPI_MODE=nonsense timeout 20 "$p" kill > "$work/out" 2> "$work/err"
said '^ftmpi: MPI_Init: FTMPI_MODE=nonsense is none of'
ok $? 'nonsense, too'
run -n 1 --ft blank --cut-wait 7 sh -c 'echo $FTMPI_CUT_WAIT $FTMPI_MODE $FTMPI_LIFE'
same "$(cat "$work/out")" '7 blank 0' 'what ranks are told'
FTMPI_TRACE=1 run -n 2 --ft blank "$p" kill 1
said 'ftmpi: [0-9.]* rank 0.0: notice: rank 1 on [^ ]*: killed by signal 9'
ok $? 'FTMPI_TRACE tells of notices'
done_testing
