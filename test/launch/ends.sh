#!/bin/sh
# ends.sh - how jobs end: statuses, kills of every role, signals; nothing is left.
# Promises 100 and 102.
. "$(dirname "$0")/tap.inc"

${CC:-cc} -std=c99 -O1 -I"$ROOT" -o "$work/client" "$ROOT/test/launch/pmi1_client.c" || exit 1
fork='--start fork'

# ---- Statuses

run -n 4 true
same "$status" 0 'true on one host'
run -n 2 sh -c 'exit $((PMI_RANK == 1 ? 7 : 0))'
same "$status" 7 'the status of the one that fails'
said '^phxrun: rank 1 on .*: ended with status 7$'
ok $? 'one line says which rank on which host'
same "$(wc -l < "$work/err" | tr -d ' ')" 1 '.. and only one'
run $fork -n 32 -ppn 2 --hosts 'h[1-16]' --degree 2 sh -c 'exit $((PMI_RANK == 31 ? 9 : 0))'
same "$status" 9 'a leaf of 16 hosts at degree 2'
said 'rank 31 on h16'
ok $? '.. is named'
run $fork -n 2 --hosts a,b "$work/missing"
same "$status" 127 'a program that is missing'
said 'rank . on [ab]: .*missing: No such file or directory'
ok $? '.. errno and host'
run $fork -n 2 --hosts a,b "$work"
same "$status" 126 'a folder as program'
echo 'exit 5' > "$work/script"
run -n 1 "$work/script"
same "$status" 126 'a file that may not be executed'
chmod +x "$work/script"
run -n 1 "$work/script"
same "$status" 5 'a script without #! is the shell'"'"'s'
run -n 1 -wdir "$work/nowhere" true
same "$status" 1 'no such directory'
run -n 2 sh -c 'kill -9 $$'
same "$status" 137 '128 + signal'
run -n 4 --timeout 0.2 sleep "$mark"
same "$status" 124 'a time-out'
has_ours 0
ok $? '.. leaves nothing'

# ---- PMI

for degree in 2 32; do
    run $fork -n 32 -ppn 2 --hosts 'h[1-16]' --degree $degree "$work/client" all 3
    same "$status" 0 "put, barrier, get all, three times, 16 hosts, degree $degree"
    same "$(grep -c good "$work/out")" 32 '.. all values are right'
done
run $fork -n 64 -ppn 4 --hosts 'h[1-16]' --pmi port "$work/client" one
same "$status" 0 '.. over a port'
run $fork -n 3 --hosts a,b,c "$work/client" names
same "$status" 0 'published names are found from other hosts'
export PMI1_RANK=3
run $fork -n 8 -ppn 2 --hosts 'h[1-4]' "$work/client" one 1 20 exit:0
same "$status" 1 'an exit with 0 while others wait is a failure'
said 'rank 3 on h2: ended with status 0 while rank'
ok $? '.. which names the one that ended'
run $fork -n 8 -ppn 2 --hosts 'h[1-4]' "$work/client" one 1 20 abort:7
same "$status" 7 'an abort with 7'
run $fork -n 8 -ppn 2 --hosts 'h[1-4]' "$work/client" one 1 20 abort:256
same "$status" 1 'an abort whose low byte is 0'
run $fork -n 8 -ppn 2 --hosts 'h[1-4]' "$work/client" one 1 20 kill
same "$status" 137 'a rank that dies between two barriers'
run $fork -n 4 --hosts 'h[1-4]' sh -c "[ \$PMI_RANK = 3 ] || exec '$work/client' one"
same "$status" 1 'an exit without init, which others have called'

# ---- One process on each host

run -k $fork --hosts a,b,c,d sh -c 'echo answer; exit $((PMI_RANK == 2 ? 3 : 0))'
same "$status" 3 '-k: the worst status'
same "$(cat "$work/out")" 'a,b,c,d: answer' '.. equal answers together'
run -k --json $fork --hosts a,b sh -c 'echo "a \"quote\""'
same "$(cat "$work/out")" '{"hosts":["a","b"],"status":0,"stdout":"a \"quote\"\n","stderr":""}' \
    '.. as JSON'

# ---- Kills

start() { # more arguments: 16 sleeps on 8 hosts in a deep tree; $launcher, $all
    "$PHXRUN" $fork -n 16 -ppn 2 --hosts 'h[1-8]' --degree 2 "$@" sleep "$mark" > "$work/out" 2> "$work/err" &
    launcher=$!
    soon has_ours 16
    ok $? '16 processes run'
    all=$(agents $launcher)
}

nothing_left() {
    has_ours 0 && [ -z "$(living $all $launcher)" ]
}

ended() { # wanted status, name: after what was done just now
    begun=$(now)
    soon nothing_left
    ok $? "$2: nothing is left"
    [ $(($(now) - begun)) -lt 3000 ] # it is 50 ms where nobody else computes
    ok $? '.. soon'
    wait $launcher
    same $? "$1" '.. and the status'
}

start
kill -9 "$(ours | tail -1)"
ended 137 'kill -9 of a rank'
start
kill -9 "$(children "$(children $launcher phxrun | tail -1)" phxrun | tail -1)"
ended 1 'kill -9 of a leaf agent'
said 'its agent is gone'
ok $? '.. is said'
start
kill -9 "$(children $launcher phxrun | head -1)"
ended 1 'kill -9 of an agent with agents below'
start
kill -9 $launcher
ended 137 'kill -9 of the launcher'
start
for guard in $(procs | awk -v top="$launcher" '$2 == top && $3 ~ /guard/ { print $1 }'); do
    kill -9 "$guard"
done
kill -9 $launcher
ended 137 'kill -9 of its guard, and then of the launcher'
start
kill -TERM $launcher
ended 143 'TERM reaches all'
start
kill -INT $launcher
ended 130 'INT, too'

# A job that goes on: the agents below a dead one find the next above, and their ranks run to their end.
"$PHXRUN" $fork -n 16 -ppn 2 --hosts 'h[1-8]' --degree 2 --on-failure continue \
    sh -c "sleep $mark & echo up; wait; echo done \$PMI_RANK" > "$work/out" 2> "$work/err" &
launcher=$!
soon has_ours 16
all=$(agents $launcher)
kill -9 "$(children $launcher phxrun | head -1)"
soon has_ours 14
ok $? 'with --on-failure continue only the ranks of a killed agent die'
soon said 'its agent is gone'
ok $? '.. which is said'
for pid in $(ours); do
    kill "$pid"
done
soon nothing_left
ok $? '.. the others run to their end, and nothing is left'
wait $launcher
same $? 1 '.. and the status'
same "$(grep -c done "$work/out")" 14 '.. what orphans write gets through'

# Links only where the tree has them: of 40 agents an inner one with leaves dies. Each of its neighbours loses
# one end of a link, each leaf finds one other parent, which is two ends, and nobody dials anybody else. Then
# there are as many links as agents that live, but one.
ends_of_links() { # sockets of all agents but $1
    for ends_pid in $(agents $launcher) $launcher; do
        [ "$ends_pid" = "$1" ] || ls -l "/proc/$ends_pid/fd" 2> /dev/null
    done | grep -c 'socket:'
}
has_ends() {
    [ "$(ends_of_links 0)" -eq "$1" ]
}
if [ -d /proc/self/fd ]; then
    "$PHXRUN" $fork -n 40 --hosts 'h[1-40]' --on-failure continue sleep "$mark" > "$work/out" 2> "$work/err" &
    launcher=$!
    soon has_ours 40
    ok $? '40 hosts'
    inner=$(children $launcher phxrun | while read -r pid; do
        echo "$(children "$pid" phxrun | wc -l) $pid"
    done | sort -n | tail -1)
    leaves=$((${inner% *}))
    want=$(($(ends_of_links "${inner#* }") - leaves - 1 + 2 * leaves))
    kill -9 "${inner#* }"
    soon has_ends $want
    ok $? "an inner agent with $leaves leaves is killed: 39 links among 40 agents"
    most=0 samples=0
    while [ $samples -lt 10 ]; do
        links=$(ends_of_links 0)
        [ "$links" -le "$most" ] || most=$links
        samples=$((samples + 1))
        sleep 0.1
    done
    same "$most" "$want" '.. and still a second later'
    kill "$launcher"
    wait "$launcher"
else
    echo '# no /proc: how many links there are is skipped'
fi
run $fork -n 4 --hosts 'h[1-4]' --on-failure continue sh -c 'exit $PMI_RANK'
same "$(grep -c 'ended with status' "$work/err")" 3 'each failure has its line'
[ "$status" -ge 1 ] && [ "$status" -le 3 ]
ok $? '.. and the first one the status'

# What a process leaves in its group goes with it.
"$PHXRUN" $fork -n 2 --hosts a,b sh -c "sleep $mark & sleep $mark & wait" > "$work/out" 2> "$work/err" &
launcher=$!
soon has_ours 4
ok $? 'grandchildren run'
all=$(agents $launcher)
kill -9 "$(children $launcher phxrun | head -1)"
ended 1 'kill -9 of the agent of grandchildren'
run $fork -n 2 --hosts a,b sh -c "sleep $mark > /dev/null 2>&1 &"
same "$status" 0 'a job that leaves something in the background'
has_ours 0
ok $? '.. leaves nothing'

# TERM is not heeded: KILL follows after the grace.
"$PHXRUN" $fork -n 3 --hosts a,b,c --grace 0.3 \
    sh -c "[ \$PMI_RANK = 2 ] || trap '' TERM; sleep $mark" > "$work/out" 2> "$work/err" &
launcher=$!
soon has_ours 3
all=$(agents $launcher)
kill -9 "$(ours | tail -1)"
ended 137 'ranks that ignore TERM'

# The grace is whole, however long nothing happened before.
begun=$(now)
run $fork -n 2 --hosts a,b --grace 1 \
    sh -c '[ $PMI_RANK = 1 ] || { sleep 1.5; exit 3; }
        trap "sleep 0.4; echo heeded; exit 0" TERM; while :; do sleep 0.05; done'
same "$status" 3 'a rank that takes its time after TERM'
same "$(cat "$work/out")" heeded '.. has it'

done_testing
