#!/bin/sh
# spawn.sh - processes that start others: jobs beside the first one, their ends, what becomes of failures.
. "$(dirname "$0")/tap.inc"

${CC:-cc} -std=c99 -O1 -I"$ROOT" -o "$work/client" "$ROOT/test/launch/pmi1_client.c" || exit 1
fork='--start fork'
five="$fork -n 5 --hosts a,b,c,d,e --degree 2"
good() { # how many ranks say so, status 0, and nobody says anything else
    [ "$status" -eq 0 ] && [ "$(grep -c ': good$' "$work/out")" -eq "$1" ] && [ ! -s "$work/err" ]
}

run $five "$work/client" spawn 3
good 10
ok $? 'a spawn of two programs: ranks, keys and barriers of its own'
run $fork -n 2 "$work/client" spawn 3
good 7
ok $? '.. on one host'
run $five --pmi port "$work/client" spawn 3
good 10
ok $? '.. over a port'
run $five --cache lazy "$work/client" spawn 3
good 10
ok $? '.. with the lazy cache'
run $five -l --on-failure continue "$work/client" spawn 3
good 10
ok $? '.. in a job that goes on'
same "$(sort "$work/out" | grep -c '^\[1\.[0-4]\] rank')" 5 '.. and its lines are labelled with its number'
run $five -outfile-pattern "$work/%h.%r" "$work/client" spawn 3
same "$status $(cat "$work"/[a-e].[0-4] | grep -c good)" '0 10' '.. and its output goes to files of its hosts'
export SPAWN_TIMES=80
run $five "$work/client" spawn 1
good 245
ok $? '80 spawns, one after the other'
unset SPAWN_TIMES
export SPAWN_SIZE=60000
run $five "$work/client" spawn 1
[ "$status" -ne 0 ] && said 'a spawn block without an end'
ok $? 'a block that is too long'
SPAWN_SIZE=15000
run $five "$work/client" spawn 1
good 8
ok $? 'a long value of the parent'
unset SPAWN_SIZE
export SPAWN_HOST=c
run $five -l "$work/client" spawn 4
good 11
ok $? 'a named host'
SPAWN_HOST=nowhere SPAWN_REFUSED=the_job_has_no_host_nowhere
export SPAWN_REFUSED
run $five "$work/client" spawn 4
same "$status $(grep -c good "$work/out")" '0 5' 'an unknown host: the answer says so, and the job goes on'
said '^phxrun: spawn: the job has no host nowhere$'
ok $? '.. and one line'
unset SPAWN_HOST
export SPAWN_PROGRAM="$work/missing"
SPAWN_REFUSED=No_such_file_or_directory
run $five "$work/client" spawn 4
same "$status $(grep -c good "$work/out")" '0 5' 'a program that is missing'
said '^phxrun: spawn 1: rank . on .: .*missing: No such file'
ok $? '.. and one line'
SPAWN_TIMES=20
export SPAWN_TIMES
run $five "$work/client" spawn 4
same "$status $(grep -c good "$work/out")" '0 5' '.. twenty times'
unset SPAWN_PROGRAM SPAWN_REFUSED SPAWN_TIMES
export SPAWN_END=abort:7
run $five "$work/client" spawn 3
same "$status" 7 'a child aborts'
SPAWN_END=exit:5
run $five "$work/client" spawn 3
same "$status" 5 'a child ends with 5'
said '^phxrun: spawn 1: rank . on .: ended with status 5$'
ok $? '.. and one line says which'
SPAWN_END=exit:0
export PMI1_RANK=1
run $five "$work/client" spawn 3
same "$status" 1 'a child ends with 0 while its peers wait for it'
said '^phxrun: spawn 1: rank 1 on .: ended with status 0 while rank'
ok $? '.. and one line says which'
unset PMI1_RANK
run -k $fork --hosts a,b "$work/client" spawn 1
same "$status" 1 'none with -k'
said 'spawn: not with -k'
ok $? '.. and one line'

# ---- Nothing is left

SPAWN_END=sleep:0
cat > "$work/child" <<END
#!/bin/sh
exec sleep $mark
END
chmod +x "$work/child"
start() {
    SPAWN_PROGRAM="$work/child" "$PHXRUN" $five --grace 0.5 "$work/client" spawn 3 1 hang \
        > "$work/out" 2> "$work/err" &
    launcher=$!
    soon has_ours 5
    ok $? '5 spawned processes run'
    all=$(agents $launcher)
}
nothing_left() {
    has_ours 0 && [ -z "$(living $all $launcher)" ]
}
ended() { # wanted status, name
    soon nothing_left
    ok $? "$2: nothing is left"
    wait $launcher
    same $? "$1" '.. and the status'
}
start
kill -9 "$(ours | tail -1)"
ended 137 'kill -9 of a spawned process'
start
kill -9 "$(children $launcher phxrun | head -1)"
ended 1 'kill -9 of an agent with agents below'
start
kill -9 $launcher
ended 137 'kill -9 of the launcher'
start
kill -TERM $launcher
ended 143 'TERM reaches all'
done_testing
