#!/bin/sh
# ucx.sh - UCX's own test programs as a system of the bench: usage: ucx.sh latency|stream SIZE [QUICK]
#
# Two processes over TCP on loopback; both spin. Its latency is half of a round trip, the median, as ours;
# its stream has a window of its own choosing. UCX is what MPICH and Open MPI may stand on, and has no
# messages by name, no relays and no membership: so there is no adapter of it, and these figures stand
# beside ours. Prints one line of tab-separated name=value, or nothing.
set -eu
export LC_ALL=C UCX_TLS=tcp,self UCX_NET_DEVICES=lo UCX_LOG_LEVEL=fatal
what=$1 size=$2
case $what in latency) test=tag_lat count=10000 ;; *) test=tag_bw count=50000 ;; esac
if [ "$size" -ge 16777216 ]; then count=20
elif [ "$size" -ge 1048576 ]; then count=300
elif [ "$size" -ge 65536 ]; then count=3000; fi
[ -z "${3-}" ] || count=$((count / 100 + 10)) # spinning against a busy machine takes its time

# The port of a run is its own: nobody else's server answers.
port=$((20000 + $$ % 12000))
timeout -k 2 30 ucx_perftest -p "$port" > /dev/null 2>&1 &
server=$!
trap 'kill "$server" 2> /dev/null || :' EXIT
tries=0
while [ $((tries += 1)) -le 20 ] && kill -0 "$server" 2> /dev/null; do
    said=$(timeout -k 2 30 ucx_perftest 127.0.0.1 -p "$port" -t "$test" -s "$size" -n "$count" -w 100 -f -v \
        2> /dev/null | tail -1 | tr -d ' ') || :
    case $said in
    [0-9]*,*)
        echo "$said" | awk -F, -v what="$what" '
            what == "latency" { printf "us=%.4g\trounds=%d\n", $2, $1; exit }
            { printf "kmsgs=%.4g\tMB/s=%.4g\tmessages=%d\n", 1000 / $4, $6, $1 }'
        exit 0 ;;
    esac
    sleep 0.1 # it does not listen yet
done
exit 1
