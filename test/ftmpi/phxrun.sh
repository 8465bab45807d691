#!/bin/sh
# phxrun.sh - MPI programs under phxrun --ftmpi: several hosts, played here, some behind gateways. A host that
# dies is one event (promise 86).
. "$(dirname "$0")/tap.inc"

PHXRUN=${PHXRUN:-$ROOT/build/phxrun}
compile p_coll
compile p_ends
compile p_deaths
compile p_rebuild
cat > "$work/hosts" <<'END'
a:2
b:2 via=g1
c:2 via=g1
d:2 via=g2
END

job() { # arguments: on these hosts
    timeout 60 "$PHXRUN" --ftmpi --start fork -f "$work/hosts" -n 8 "$@" < /dev/null \
        > "$work/out" 2> "$work/err"
    status=$?
}

job sh -c 'echo $FTMPI_HOST.$FTMPI_SITE.$FTMPI_LOCAL.$FTMPI_SIZE'
hosts=$(sort "$work/out" | uniq -c | awk '{ split($2, of, "."); print $1, of[1], of[3], of[4] }' | tr '\n' ,)
same "$hosts" '2 0 2 8,2 1 2 8,2 2 2 8,2 3 2 8,' 'hosts are numbered'
same "$(awk -F. '{ print $1, $2 }' "$work/out" | sort -u | awk '{ site[$1] = $2 }
    END { print site[0] == 0, site[1] == site[2], site[1] != site[3], site[1] != 0 }')" '1 1 1 1' \
    'a site is what is behind one gateway'
job "$work/p_coll" small
same "$status $(cat "$work/out")" '0 ok - collectives of 8 ranks' 'collectives over three sites'
$FTMPICC -O1 -o "$work/jacobi" "$ROOT/examples/jacobi.c" -lm > "$work/out" 2> "$work/err"
job "$work/jacobi" 40
same "$status $(tail -1 "$work/out")" '0 every cell has the bits of the serial run' \
    'the example over three sites'
FTMPI_TCP=1 job "$work/p_coll" small
same "$status $(cat "$work/out")" '0 ok - collectives of 8 ranks' '.. over TCP'

ends() { # way, rank, status, pattern
    job "$work/p_ends" "$1" "$2"
    same "$status" "$3" "$1 of rank $2: status"
    said "^phxrun: rank $2 on [abcd]: $4"
    ok $? '.. who, where and how'
    same "$(grep -c '^phxrun: rank' "$work/err" | tr -d ' ')" 1 '.. in one line'
    same "$(procs | awk '$3 == "p_ends"' | wc -l | tr -d ' ')" 0 '.. nothing is left'
}
ends kill 3 137 'killed by signal 9'
ends exit0 5 1 'ended with status 0 without MPI_Finalize'
ends abort 1 7 '.*MPI_Abort'
ends early 2 1 'ended before MPI_Init, which rank . on'
timeout 60 "$PHXRUN" --ftmpi --on-failure continue -n 3 "$work/p_ends" kill 1 > "$work/out" 2> "$work/err"
same "$?" 137 'an MPI program does not go on after a failure'
job "$work/p_ends" late 4
same "$status" 5 'a status after MPI_Finalize counts'
same "$(grep -c ' of 8' "$work/out")" 8 '.. and others go on'

# Ranks and hosts that die in a job that goes on.
survivors() { # how many, who has failed: these see it, in one order
    same "$(grep -c ' sees it, failed ' "$work/out" | tr -d ' ')" "$1" "$1 others see it"
    same "$(sed 's/.* failed //' "$work/out" | sort -u | tr ' ' '\n' | sort -n | tr '\n' ' ')" "$2 " \
        ".. in one order: $2"
}
job --ft blank "$work/p_deaths" kill 3 6
same "$status" 0 'with --ft blank the others come to the end'
survivors 6 '3 6'
same "$(grep -c '^phxrun: rank' "$work/err" | tr -d ' ')" 2 '.. one line for each death'
job --ft blank "$work/p_deaths" nobody 3
same "$status" 137 'nobody comes to the end'
job --ft blank sh -c 'echo $FTMPI_MODE; exit 0'
same "$(sort "$work/out" | uniq -c | awk '{ print $1, $2 }') $status" '8 blank 0' 'no MPI program'
job --ft rebuild "$work/p_rebuild" again 3 6
same "$status $(grep -c 'rank [0-9]* of 8 ends' "$work/out") $(grep -c 'is life' "$work/out")" '0 8 4' \
    'agents start ranks again, and again'
cp "$work/p_rebuild" "$work/p_gone"
job --ft rebuild "$work/p_gone" missing 5
same "$status $(grep -c 'rank [0-9]* of 7 ends' "$work/out") $(grep -c 'nobody comes' "$work/out")" '0 7 7' \
    'an agent cannot start one again'
said '^phxrun: rank 5 on c: cannot be started again: No such file'
ok $? '.. and says why'
job --ft blank "$work/missing"
same "$status" 127 'no such program: it does not begin'

# An agent that has ranks gets a signal; ranks 98 and 99, which there are not, make all wait for two deaths.
# One that is stopped is silent, and its ranks, which live, are told OUT. Below one that is not the last in
# its branch others look for another way up.
last_agent() {
    procs | awk '$3 == "p_deaths" { print $2 }' | sort -n | tail -1
}
inner_agent() {
    procs | awk '$3 == "p_deaths" { has[$2] = 1 } $3 == "phxrun" { above[$1] = $2 }
        END { for (pid in above) if (has[pid] && has[above[pid]]) print above[pid] }' | head -1
}
host_dies() { # which agent, signal, what it is
    timeout 60 "$PHXRUN" --ft blank --start fork -f "$work/hosts" -n 8 "$work/p_deaths" kill 98 99 \
        < /dev/null > "$work/out" 2> "$work/err" &
    runner=$!
    until_run p_deaths
    kill "-$2" "$($1)"
    wait $runner
    same "$?" 0 "the agent of a host is $3: the others come to the end"
    survivors 6 "$(sed 's/.* failed //;1q' "$work/out" | tr ' ' '\n' | sort -n | tr '\n' ' ' | sed 's/ $//')"
    said '^phxrun: rank [0-7] on [abcd]: its host is gone'
    ok $? '.. and say so'
    same "$(procs | awk '$3 == "p_deaths"' | wc -l | tr -d ' ')" 0 '.. nothing is left'
}
until_run() { # until all eight of this name run
    tries=500
    until [ "$(procs | awk -v name="$1" '$3 == name' | wc -l)" -eq 8 ] || [ $tries -eq 0 ]; do
        tries=$((tries - 1))
        sleep 0.02
    done
}
host_dies last_agent KILL killed
host_dies inner_agent KILL 'killed, with agents below'
host_dies last_agent STOP stopped

# The same with REBUILD: its ranks are started on the hosts that are left.
mkfifo "$work/go"
timeout 60 "$PHXRUN" --ft rebuild --start fork -f "$work/hosts" -n 8 "$work/p_rebuild" wait 99 < "$work/go" \
    > "$work/out" 2> "$work/err" &
runner=$!
exec 9> "$work/go"
until_run p_rebuild
kill -9 "$(procs | awk '$3 == "p_rebuild" { print $2 }' | sort -n | tail -1)"
tries=500
until [ "$(grep -c 'is life 1' "$work/out")" -eq 2 ] || [ $tries -eq 0 ]; do
    tries=$((tries - 1))
    sleep 0.02
done
echo go >&9
exec 9>&-
wait $runner
same "$? $(grep -c 'rank [0-9]* of 8 ends' "$work/out") $(grep -c 'is life 1' "$work/out")" '0 8 2' \
    'the ranks of a killed agent go on elsewhere'
done_testing
