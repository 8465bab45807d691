#!/bin/sh
# torture.sh - each allocation and each call of the system fails, in the launcher and in agents of each kind.
#
#     torture.sh [STRIDE [DEPTH]]     every STRIDE-th call only (29); of that depth in the tree only
#
# Goal: whatever the system refuses to an agent, the job ends as without that, with the right answers of all
# its processes, or with a line that says why. It does not hang, nobody crashes or leaks, and no process is
# left. Method: phxrun with torture.c in it, on four played hosts, of which one is the child of a child. One
# run lists what the victim calls: the launcher (depth 0), an agent between (1) and one at the end (2); then
# each call fails in turn, once and from then on, with each error that it may give.
. "$(dirname "$0")/tap.inc"
cd "$ROOT" || exit 1
stride=${1:-29} depths=${2:-0 1 2}

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
[ -n "${TORTURED:-}" ] || $cc -std=c99 -O1 -g $sane $wrap -I. -o "$work/phxrun" test/launch/torture.c \
    $(ls extras/launch/*.c | grep -v /nla.c) extras/ftmpi/lib/arbiter.c extras/ftmpi/lib/start.c \
    extras/ftmpi/lib/modes.c phoenix.c || exit 1
$cc -std=c99 -O1 -I. -o "$work/client" test/launch/pmi1_client.c || exit 1
PHXRUN=${TORTURED:-$work/phxrun}

# The errors of a call as "errno lasting". What says "not now" or "interrupted" says so once: it would be a
# system in which nothing ever goes on.
errors_of() {
    case $1 in
    malloc | calloc | realloc | epoll_ctl) echo '12 0 12 1' ;;                # ENOMEM
    read | readv | recv) echo '4 0 11 0 5 0 5 1 104 0 104 1' ;;                # EINTR EAGAIN EIO ECONNRESET
    write | writev | send | sendmsg) echo '4 0 11 0 32 0 32 1 28 0' ;;         # .. EPIPE ENOSPC
    poll | epoll_wait) echo '4 0 12 0 12 1' ;;
    pipe | socketpair | socket | epoll_create1 | signalfd | open) echo '24 0 24 1 23 0' ;; # EMFILE ENFILE
    accept | accept4) echo '11 0 24 0 24 1 103 0' ;;                           # .. ECONNABORTED
    bind | listen) echo '98 0 98 1' ;;                                         # EADDRINUSE
    connect) echo '111 0 111 1 101 0' ;;                                       # ECONNREFUSED ENETUNREACH
    fork) echo '11 0 11 1 12 0' ;;
    *) echo '22 0 22 1' ;;                                                     # EINVAL
    esac
}

job() { # TORTURE: a run of phxrun, in out, err and $status
    rm -f "$work/calls"
    status=0
    TORTURE=$1 TORTURE_FILE=$work/calls timeout -k 2 30 "$PHXRUN" --start fork -n 4 --hosts 'h[1-4]' --degree 2 \
        "$work/client" all > "$work/out" 2> "$work/err" || status=$?
}

# What a run must not be: 0 if it is.
is_bad() {
    why=
    if grep -q 'Sanitizer\|runtime error\|ended by signal \(6\|7\|8\|11\)' "$work/err"; then why='a crash or a leak'
    elif [ $status = 124 ]; then why='it hangs'
    elif [ $status -gt 128 ]; then why="it ends with $status"
    elif [ $status = 0 ] && [ "$(grep -c good "$work/out")" != 4 ]; then why='answers are missing'
    elif [ $status != 0 ] && ! grep -q '^phxrun' "$work/err"; then why='no line says why it ends'
    fi
    [ -n "$why" ]
}

points=0 failed=0
torture() { # depth
    job "$1 0 0 0"
    is_bad || [ $status != 0 ] && { ok 1 "depth $1: a run without faults"; return; }
    mv "$work/calls" "$work/list.$1"
    total=$(wc -l < "$work/list.$1")
    bad=0 tried=0 n=$((1 + $1 * 7 % stride))
    while [ $n -le "$total" ]; do
        name=$(sed -n "${n}p" "$work/list.$1")
        set -- "$1" $(errors_of "$name")
        depth=$1
        shift
        while [ $# -gt 0 ]; do
            job "$depth $n $1 $2"
            tried=$((tried + 1))
            if is_bad; then
                bad=$((bad + 1))
                echo "# TORTURE='$depth $n $1 $2', $name: $why"
                [ $bad -gt 3 ] || sed 's/^/#   /' "$work/err" | head -12
            fi
            shift 2
        done
        set -- "$depth"
        n=$((n + stride))
    done
    [ $bad = 0 ]
    ok $? "depth $1: of $total calls each ${stride}th fails in turn, $tried runs"
    points=$((points + tried)) failed=$((failed + bad))
}

for d in $depths; do torture "$d"; done
soon has_ours 0
left=$(procs | awk '{ print $1 }' | while read -r p; do case $(arguments "$p") in *"$work"*) echo "$p" ;; esac; done)
[ -z "$left" ]
ok $? "nothing is left"
echo "# $points torture points of the launcher, $failed failed"
done_testing
