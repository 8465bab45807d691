#!/bin/sh
# starters.sh - agents started by something that is called like ssh: noise, refusal, silence, other versions.
. "$(dirname "$0")/tap.inc"

# Plays ssh: runs the command here. What kind of host it is stands in the host's name.
cat > "$work/ssh" <<'END'
#!/bin/sh
echo "$*" >> "$(dirname "$0")/calls"
user=
while :; do
    case $1 in
    -x) shift ;;
    -o) shift 2 ;;
    -l) user=$2; shift 2 ;;
    *) break ;;
    esac
done
host=$1
shift
case $host in
noise*) echo "Welcome to $host"; echo "phxrun-agents are fine"; printf 'no newline here' ;;
refuse*) echo "banner" >&2; echo "ssh: connect to host $host port 22: Connection refused" >&2; exit 255 ;;
key*) echo "Host key verification failed." >&2; exit 255 ;;
hang*) exec sleep "$MARK" ;;
flood*) exec yes ;;
old*) echo "phxrun-agent 1 0.0.1"; exec sleep "$MARK" ;;
talk*) printf '\nphxrun-agent 1 %s\nmore' "$VERSION"; exec sleep "$MARK" ;;
none*) exec sh -c "exec '/no/such/phxrun' --as-agent" ;;
quiet*) exit 3 ;;
two*)
    dir=$(mktemp -d "$(dirname "$0")/two.XXXXXX")
    mkfifo "$dir/in"
    exec 3<&0
    cat <&3 > "$dir/in" &
    sh -c "$*" < "$dir/in" | cat
    kill $!
    exit
    ;;
esac
exec sh -c "$*"
END
chmod +x "$work/ssh"
export MARK="$mark"
VERSION=$(sed -n 's/^#define PHX_VERSION "\(.*\)"/\1/p' "$ROOT/phoenix.h")
export VERSION
ssh="--start ssh --ssh $work/ssh"

run $ssh -n 6 -ppn 2 --hosts a,b,c -l sh -c 'echo $PMI_RANK $MPI_LOCALRANKID $MPI_LOCALNRANKS'
same "$status" 0 'three hosts'
same "$(sort "$work/out" | tr '\n' ' ')" \
    '[0] 0 0 2 [1] 1 1 2 [2] 2 0 2 [3] 3 1 2 [4] 4 0 2 [5] 5 1 2 ' '.. ranks'
grep -q '^-x -o BatchMode=yes a exec ' "$work/calls"
ok $? '.. how ssh is called'
run $ssh -n 2 --hosts a,noise1 hostname
same "$status" 0 'noise before the first line'
run $ssh -n 2 --hosts a,two1 hostname
same "$status" 0 'two pipes in place of a socket'
"$PHXRUN" $ssh -n 2 --hosts two1,two2 -l sh -c 'head -c 3000000 /dev/zero | tr "\0" "\n"' > "$work/out"
same "$(wc -l < "$work/out" | tr -d ' ')" 6000000 '.. which carry 6 million lines'

fails() { # host, pattern: the whole job ends with 1 and says why
    begun=$(now)
    run $ssh -n 3 --hosts "a,$1,c" --start-timeout 0.5 sleep "$mark"
    same "$status" 1 "$1: status"
    said "^phxrun: host $1: $2"
    ok $? '.. the cause in one line'
    has_ours 0
    ok $? '.. nothing left'
    [ $(($(now) - begun)) -lt 2500 ]
    ok $? '.. soon'
}
fails refuse1 '.*Connection refused$'
fails key1 '.*Host key verification failed'
fails hang1 'no answer within 500 ms'
fails flood1 'a mebibyte of noise'
fails old1 'another version of phxrun'
fails talk1 'its agent speaks before it is asked'
fails none1 '.*/no/such/phxrun'
fails quiet1 '.*ended with status 3'

run --start ssh --ssh "$work/missing" -n 2 --hosts a,b true
same "$status" 1 'no such ssh'
said 'host [ab]: .*missing: No such file or directory'
ok $? '.. is said'

# A hundred hosts, of which the last does not answer: those before are not held up, and none is left.
run $ssh -n 40 --hosts 'h[1-39],hang1' --start-timeout 3 sleep "$mark"
same "$status" 1 'one of 40 hosts hangs'
said '^phxrun: host hang1: no answer'
ok $? '.. and is named'
has_ours 0
ok $? '.. nothing left'

# ssh itself dies: its host is gone, and so is the job.
"$PHXRUN" $ssh -n 4 --hosts a,b,c,d sleep "$mark" > "$work/out" 2> "$work/err" &
launcher=$!
soon has_ours 4
ok $? 'four sleeps behind ssh'
all=$(agents $launcher)
kill -9 "$(for pid in $(children $launcher); do
    ! arguments "$pid" | grep -q as-agent || echo "$pid"
done | head -1)"
wait $launcher
same $? 1 'an ssh is killed'
nothing_left() {
    has_ours 0 && [ -z "$(living $all)" ]
}
soon nothing_left
ok $? '.. nothing left'

# ---- Files that go along

mkdir "$work/tmp"
is_empty() {
    [ -z "$(ls "$work/tmp")" ]
}
tmp() { # arguments of phxrun
    TMPDIR="$work/tmp" run "$@"
}
tmp $ssh --copy -n 7 --degree 2 --hosts a,b,c,d,noise1,two1,f --agent /no/such/phxrun \
    sh -c 'readlink /proc/$PPID/exe'
same "$status" 0 'the agent comes by ssh, to the leaves of a deep tree, too'
same "$(grep -c "^$work/tmp/phxrun\..*/phxrun" "$work/out")" 7 '.. and runs'
is_empty
ok $? '.. and leaves nothing'
TMPDIR="$work/nowhere" run $ssh --copy -n 2 --hosts a,b true
same "$status" 1 'no place for it'
said '^phxrun: host [ab]: .*mkdir'
ok $? '.. is said'
printf '#!/bin/sh\necho "$0 $(wc -c < "$0") $*"\n# ' > "$work/staged prog"
head -c 3000000 /dev/zero | tr '\0' x >> "$work/staged prog"
for how in "$ssh" "$ssh --copy" '--start fork'; do
    tmp $how --stage "$work/staged prog" -n 14 -ppn 2 --degree 2 --hosts a,b,c,d,two1,e,f \
        "$work/staged prog" x y
    same "$status" 0 "$how: a program is sent along"
    same "$(grep -c "^$work/tmp/phxrun\.[^/]*/staged prog 300[0-9]* x y" "$work/out")" 14 \
        '.. and runs on all hosts'
    is_empty
    ok $? '.. and nothing is left of it'
done
chmod +x "$work/staged prog"
run --stage "$work/staged prog" -n 2 "$work/staged prog"
same "$status $(grep -c "^$work/staged prog 300" "$work/out")" '0 2' 'here it is run where it is'
run $ssh --stage "$work/none" -n 2 --hosts a,b "$work/none"
same "$status" 2 'a staged file that is missing'
said '^phxrun: --stage: .*none: No such file'
ok $? '.. is said'
printf '#!/bin/sh\nexec sleep %s\n' "$mark" > "$work/sleeper"
TMPDIR="$work/tmp" "$PHXRUN" $ssh --copy --stage "$work/sleeper" -n 4 --degree 2 --hosts a,b,c,d \
    "$work/sleeper" > "$work/out" 2> "$work/err" &
launcher=$!
soon has_ours 4
ok $? 'four of them sleep'
same "$(ls "$work/tmp" | wc -l | tr -d ' ')" 4 '.. a folder each'
all=" $(agents $launcher | tr '\n' ' ')$launcher "
kill -9 $(procs | awk -v all="$all" '$3 == "phxrun" && index(all, " " $1 " ") { print $1 }')
soon is_empty
ok $? 'all agents and the launcher are killed: their guards remove the folders'
soon has_ours 0
ok $? '.. and nothing runs'
wait $launcher

# ---- srun, played: standard input goes to all, their standard output comes together

mkdir "$work/bin"
cat > "$work/bin/srun" <<'END'
#!/bin/sh
echo "$*" >> "$(dirname "$0")/steps"
[ -z "${SRUN_FAILS:-}" ] || { echo 'srun: error: Unable to create step: Invalid account' >&2; exit 1; }
while :; do
    case $1 in
    --nodelist=*) nodes=${1#--nodelist=}; shift ;;
    --*) shift ;;
    *) break ;;
    esac
done
dir=$(mktemp -d "$(dirname "$0")/step.XXXXXX")
case $nodes in *\[*) pre=${nodes%%\[*}; to=${nodes##*-}; to=${to%\]}
    nodes=$(seq -f "$pre%g" "$(echo "$nodes" | sed 's/.*\[\([0-9]*\).*/\1/')" "$to") ;;
esac
for node in $(echo "$nodes" | tr ',' ' '); do
    [ "$node" != "${SRUN_HANGS:-}" ] || continue
    mkfifo "$dir/$node"
    SLURMD_NODENAME=$node "$@" < "$dir/$node" &
    pids="$pids $!"
done
exec 3<&0
cd "$dir"
tee $(ls) <&3 > /dev/null &
tee=$!
trap 'kill $pids $tee' TERM
wait $pids
kill $tee
END
chmod +x "$work/bin/srun"
PATH=$work/bin:$PATH
run --start srun -n 6 -ppn 2 --hosts a,b,c sh -c 'echo $PMI_RANK $MPI_LOCALRANKID'
same "$status $(sort "$work/out" | tr '\n' ' ')" '0 0 0 1 1 2 0 3 1 4 0 5 1 ' 'agents started by srun'
same "$(cat "$work/bin/steps")" "--nodes=3 --ntasks=3 --ntasks-per-node=1 --nodelist=a,b,c --cpu-bind=none\
 --mpi=none --overlap --kill-on-bad-exit=1 $PHXRUN --as-step" '.. by one call'
${CC:-cc} -std=c99 -O1 -I"$ROOT" -o "$work/client" "$ROOT/test/launch/pmi1_client.c" || exit 1
for degree in 2 32; do
    run --start srun -n 24 -ppn 2 --hosts 'h[1-12]' --degree $degree "$work/client" all 2
    same "$status $(grep -c good "$work/out")" '0 24' ".. 12 hosts, degree $degree, put, barrier, get"
done
run --start srun -n 6 --hosts 'h[1-6]' --degree 2 --on-failure continue "$work/client" all
same "$status $(grep -c good "$work/out")" '0 6' '.. in a job that goes on'
run --start srun --stage "$work/staged prog" -n 3 --hosts a,b,c "$work/staged prog" x y
same "$status $(grep -c '/phxrun\.[^/]*/staged prog 300[0-9]* x y' "$work/out")" '0 3' '.. with a staged file'
SRUN_FAILS=1 run --start srun -n 3 --hosts a,b,c true
why='srun ended with status 1: srun: error: Unable to create step: Invalid account'
same "$status $(cat "$work/err")" "1 phxrun: host a: $why" 'srun refuses'
SRUN_HANGS=c run --start srun -n 3 --hosts a,b,c --start-timeout 1 --degree 2 sleep "$mark"
same "$status $(cat "$work/err")" '1 phxrun: host c: no answer within 1000 ms of its start' \
    'a host that hangs'
has_ours 0
ok $? '.. and nothing is left'
run --start srun -n 2 --hosts a,b,a true
same "$status $(cat "$work/err")" '2 phxrun: a is named twice, and srun starts one agent on a host' \
    'a host twice'
srun_killed() { # whom: all end, with this status
    "$PHXRUN" --start srun -n 8 -ppn 2 --hosts 'h[1-4]' --degree 2 sleep "$mark" \
        > "$work/out" 2> "$work/err" &
    launcher=$!
    soon has_ours 8
    ok $? '8 processes run'
    all=$(agents $launcher)
    agent=$(children "$(children $launcher srun)" phxrun | head -1)
    case $1 in
    launcher) kill -9 $launcher ;;
    agent) kill -9 "$agent" ;;
    srun) kill -9 "$(children $launcher srun)" ;;
    esac
    soon nothing_left
    ok $? "kill -9 of $1 under srun: nothing is left"
    wait $launcher
    same $? "$2" '.. and the status'
}
srun_killed launcher 137
srun_killed agent 1
srun_killed srun 1

# The file of hosts names login names.
printf 'a user=kim\nb\n' > "$work/hosts"
: > "$work/calls"
run $ssh -n 2 -f "$work/hosts" true
same "$status" 0 'a host file with a login name'
grep -q -e '-l kim a ' "$work/calls"
ok $? '.. which ssh gets'

done_testing
