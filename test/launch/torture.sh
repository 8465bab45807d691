#!/bin/sh
# torture.sh - each allocation and each call of the system fails, in the launcher and in agents of each kind.
#
#     torture.sh [STRIDE [DEPTH]]     every STRIDE-th call only (41); of that depth in the tree only
#
# One run again, of what was printed: TORTURE='1 77 0 1' TORTURE_WHERE=1, see torture.c; TORTURED=program
# takes that and builds none.
#
# Goal: whatever the system refuses to an agent, the job ends as without that, with the right answers of all
# its processes, or with a line that says why. It does not hang, nobody crashes or leaks, and no process is
# left. Method: phxrun with torture.c in it, on four played hosts, of which one is the child of a child. One
# run lists what the victim calls: the launcher (depth 0), an agent between (1) and one at the end (2); then
# each call fails in turn, once and from then on, with each error that it may give.
. "$(dirname "$0")/tap.inc"
cd "$ROOT" || exit 1
stride=${1:-41} depths=${2:-0 1 2}

calls='malloc calloc realloc read write writev readv recv send sendmsg poll pipe socketpair socket bind listen
    connect accept accept4 epoll_create1 epoll_ctl epoll_wait signalfd chdir gethostname fcntl open fork'
wrap=
for c in $calls; do wrap="$wrap -Wl,--wrap=$c"; done
sane='-fsanitize=address,undefined -fno-sanitize-recover=all'
cc=${CC:-cc}
echo 'int main(void) { return 0; }' > "$work/sane.c"
{ $cc $sane "$work/sane.c" -o "$work/sane" && "$work/sane"; } > /dev/null 2>&1 || sane=
if ! $cc -Wl,--wrap=read "$work/sane.c" -o "$work/sane" > /dev/null 2>&1; then
    echo 'ok 1 - torture of the launcher # SKIP the linker has no --wrap here'
    echo 1..1
    exit 0
fi

# What `make test` has just compiled in the same way is taken from there.
fresh() { # object, sources
    [ -n "$sane" ] && [ -e "$1" ] && [ -z "$(shift && find "$@" -newer "$object")" ]
}
parts="$(ls extras/launch/*.c | grep -v /nla.c) extras/ftmpi/lib/arbiter.c extras/ftmpi/lib/start.c
    extras/ftmpi/lib/modes.c"
object=build/launch/test/liblaunch.a
if fresh $object extras/launch extras/ftmpi/lib; then parts="extras/launch/phxrun.c $object"; fi
core=phoenix.c
object=build/split/joined.o
if fresh $object phoenix.c; then core=$object; fi
[ -n "${TORTURED:-}" ] || $cc -std=c99 -O1 -g $sane $wrap -I. -o "$work/phxrun" test/launch/torture.c \
    $parts "$core" -lm || exit 1
$cc -std=c99 -O1 -I. -o "$work/client" test/launch/pmi1_client.c || exit 1
PHXRUN=${TORTURED:-$work/phxrun}

job() { # TORTURE: a run of phxrun, in out, err and $status
    rm -f "$work/calls"
    status=0
    TORTURE=$1 TORTURE_FILE=$work/calls timeout -k 2 30 "$PHXRUN" --start fork -n 4 --hosts 'h[1-4]' \
        --degree 2 --start-timeout 10 "$work/client" all > "$work/out" 2> "$work/err" || status=$?
}

# What a run must not be: 0 if it is.
is_bad() {
    why=
    if grep -q 'Sanitizer\|runtime error\|ended by signal \(6\|7\|8\|11\)' "$work/err"; then
        why='a crash or a leak'
    elif [ $status = 124 ]; then why='it hangs'
    elif [ $status = 141 ] && grep -q '^write' "$work/calls"; then : # nobody reads the output: so it ends
    elif [ $status -gt 128 ]; then why="it ends with $status"
    elif [ $status = 0 ] && [ "$(grep -c good "$work/out")" != 4 ]; then why='answers are missing'
    elif [ $status = 0 ] || grep -q '^phxrun' "$work/err"; then : # told
    elif grep -q '^write' "$work/calls"; then : # there is nowhere to tell it
    else why='no line says why it ends'
    fi
    [ -n "$why" ]
}

points=0 failed=0
one_call() { # depth, number, how many errors it has
    for which in 0 1 2; do
        [ $which -lt "$3" ] || break
        for lasting in 0 1; do
            job "$1 $2 $which $lasting"
            tried=$((tried + 1))
            is_bad || continue
            bad=$((bad + 1))
            echo "# TORTURE='$1 $2 $which $lasting', $(cat "$work/calls"): $why"
            [ $bad -gt 3 ] || sed 's/^/#   /' "$work/err" | head -12
        done
    done
}

torture() { # depth
    bad=0 tried=0
    job "$1 0 0 0"
    if is_bad || [ $status != 0 ]; then
        ok 1 "depth $1: a run without faults"
        return
    fi
    mv "$work/calls" "$work/list"
    total=$(wc -l < "$work/list")
    n=$((1 + $1 * 7 % stride))
    while [ $n -le "$total" ]; do
        errors=$(sed -n "${n}p" "$work/list")
        one_call "$1" $n "${errors#* }"
        n=$((n + stride))
    done
    [ $bad = 0 ]
    ok $? "depth $1: of $total calls each ${stride}th fails in turn, $tried runs"
    points=$((points + tried)) failed=$((failed + bad))
}

for d in $depths; do torture "$d"; done
none_left() { # of all these runs; an agent whose parent died too early waits for --start-timeout
    procs | while read -r p rest; do arguments "$p"; echo; done > "$work/arguments"
    ! grep -q "^$work/client" "$work/arguments"
}
soon none_left || soon none_left || soon none_left || soon none_left
ok $? 'nothing is left'
echo "# $points torture points of the launcher, $failed failed"
done_testing
