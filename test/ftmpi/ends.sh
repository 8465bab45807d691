#!/bin/sh
# ends.sh - how jobs end under ftmpirun: statuses, one line, and nothing is left.
. "$(dirname "$0")/tap.inc"

compile p_ends
p=$work/p_ends

left() { # how many p_ends run
    procs | awk '$3 == "p_ends"' | wc -l | tr -d ' '
}

ends() { # way, rank, status, pattern: with 4 ranks
    run -n 4 "$p" "$1" "$2"
    same "$status" "$3" "$1 of rank $2: status"
    said "^ftmpirun: rank $2 on [^ ]*: $4"
    ok $? '.. who, where and how'
    same "$(grep -c '^ftmpirun:' "$work/err" | tr -d ' ')" 1 '.. in one line'
    same "$(left)" 0 '.. nothing is left'
}

run -n 4 "$p"
same "$status" 0 'a good end'
same "$(sort "$work/out" | tr '\n' ,)" '0 of 4,1 of 4,2 of 4,3 of 4,' '.. of four'
same "$(grep -c ftmpirun "$work/err")" 0 '.. without a word'
run -l -np 3 "$p"
same "$(sort "$work/out" | tr '\n' ,)" '[0] 0 of 3,[1] 1 of 3,[2] 2 of 3,' 'labels'
ends kill 2 137 'killed by signal 9'
ends exit 3 3 'ended with status 3 without MPI_Finalize'
ends exit0 0 1 'ended with status 0 without MPI_Finalize'
ends abort 1 7 '.*MPI_Abort'
ends abort256 1 1 '.*MPI_Abort'
ends error 2 6 '.*MPI_Send.*12345'
ends early 1 1 'ended before MPI_Init, which rank . on'
run -n 4 "$p" late 2
same "$status" 5 'a status after MPI_Finalize counts'
same "$(grep -c ' of 4' "$work/out")" 4 '.. and others go on'

echo 42 | timeout 20 "$FTMPIRUN" -n 2 "$p" stdin > "$work/out" 2> "$work/err"
grep -q '^read 42$' "$work/out"
ok $? 'standard input is that of rank 0'
run -n 3 --timeout 1 "$p" wait 9
same "$status" 124 'a time-out'
same "$(left)" 0 '.. leaves nothing'

# The launcher itself is killed: nobody is there to end its ranks but they themselves.
timeout 20 "$FTMPIRUN" -n 3 "$p" wait 9 > "$work/out" 2> "$work/err" &
runner=$!
tries=500
until [ "$(left)" -eq 3 ] || [ $tries -eq 0 ]; do
    tries=$((tries - 1))
    sleep 0.02
done
same "$(left)" 3 'three ranks run'
for pid in $(children $runner); do
    kill -9 "$pid"
done
wait $runner
tries=100
until [ "$(left)" -eq 0 ] || [ $tries -eq 0 ]; do
    tries=$((tries - 1))
    sleep 0.02
done
same "$(left)" 0 'the launcher is killed: nothing is left'

run -n 2 "$work/missing"
same "$status" 127 'no such program'
run -n 2 "$work"
same "$status" 126 'a folder'
run -n 0 true
same "$status" 2 'no ranks'
run -n 2 -H a,b true
same "$status" 2 'hosts'
said 'phxrun'
ok $? '.. are for phxrun'
run --help
same "$status" 0 'help'
done_testing
