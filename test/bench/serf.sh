#!/bin/sh
# serf.sh - failure detection beside serf: 50 idle agents each on loopback, one after the other, same measure.
#
# serf (Debian: serf) is a daemon for membership and failure detection, on the SWIM protocol. It runs with
# its two profiles for fast networks, lan and local. Phoenix runs with k = 2 and T_interval 2.5 s, T_timeout
# 2 s, T_broken 2 s, which say about as much per second as serf does (it probes one agent per second: a
# question and an answer), and with its default preset. detect.c watches both from outside; each runs in a
# network namespace of its own, so that the packets of the loopback interface are its own.
#
# Bars: ours over serf's better profile in seconds until all see a kill -9 and a SIGSTOP (medians and the
# last), in packets and in CPU per agent; each must be below 1. The time until all know all is no comparison:
# here all agents start at once, which serf is not made for. The load of the machine is printed; with much of
# it the figures say little. COUNT=50, WINDOW=30 (idle seconds), ROUNDS=3. About six minutes; each run is
# bounded by 170 s. Only processes of its own are ended, by their pids.
set -eu
export LC_ALL=C
cd "$(dirname "$0")/../.."
out=build/bench
mkdir -p "$out"
count=${COUNT:-50} window=${WINDOW:-30} rounds=${ROUNDS:-3}
if ! command -v serf > /dev/null 2>&1; then
    echo '# skipped: serf is not installed (Debian: serf)'
    exit 0
fi
if ! command -v ip > /dev/null 2>&1 || ! unshare -rn ip link set lo up 2> /dev/null; then
    echo '# skipped: no network namespaces here (Debian: util-linux, iproute2)'
    exit 0
fi
${CC:-cc} -std=c99 -O2 -I. -o "$out/detect" test/bench/detect.c phoenix.c
: > "$out/serf.tsv"
echo '# system, setting, agents, s until all know all; per agent and second packets, bytes, CPU ms;'
echo '# heartbeats per T_interval; s until all see a kill -9, median and last; a SIGSTOP, median and last;'
echo '# false alarms; load'
run() { # system, setting
    unshare -rn sh -c "ip link set lo up &&
        exec timeout -k 5 170 $out/detect -w $window -r $rounds $1 $count $2" |
        tee -a "$out/serf.tsv" || echo "# $1 $2: not all was seen in time"
}
run phx 2,2500,100000,2000,2000
run serf lan
run phx 2,5000,90000,5000,5000
run serf local

# The first line of ours against the better of serf's two, column by column.
awk -F '\t' '
    function least(c,    i, best) {
        for (i = 1; i <= serfs; i++)
            if (best == "" || serf[i, c] < best) best = serf[i, c]
        return best
    }
    function bar(name, c,    ratio) {
        ratio = least(c) > 0 ? ours[c] / least(c) : 99
        printf "bar\tserf_%s_ratio\t%.3f\t1\t%s\n", name, ratio, ratio < 1 ? "ok" : "short"
    }
    $2 == "phx" && !seen { seen = 1; for (c = 1; c <= NF; c++) ours[c] = $c + 0 }
    $2 == "serf" { serfs++; for (c = 1; c <= NF; c++) serf[serfs, c] = $c + 0 }
    END {
        if (!seen || !serfs) { print "# no comparison: a run is missing"; exit }
        bar("packets", 6); bar("cpu", 8); bar("kill_median", 10); bar("kill_last", 11)
        bar("stop_median", 12); bar("stop_last", 13)
    }' "$out/serf.tsv"
