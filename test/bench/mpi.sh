#!/bin/sh
# mpi.sh - `make bench ONLY=mpi`: extras/ftmpi beside MPICH and Open MPI as Debian has them, in the same run.
#
# One program (mpi.c) is compiled with each. A round runs each job with each MPI, one after the other and each
# time another one first. The figure of a bar is the median over the rounds of our time / the time of the
# faster peer of that round (jobs marked mpich: of MPICH). ROUNDS=5, MS=300 for each figure; QUICK=1: one
# short round. An MPI that was told to use TCP must have moved its bytes over TCP sockets, or its figure is
# dropped.
# A peer that is missing is named. The line below a bar has the medians in microseconds.
set -eu
export LC_ALL=C
cd "$(dirname "$0")/../.."
out=build/bench/mpi
rounds=${ROUNDS:-5} ms=${MS:-300}
[ -z "${QUICK-}" ] || rounds=1 ms=50

. test/bench/mpi_with.inc

# Latency around the eager limit, with FTMPI_EAGER below it, at it and above it: medians of the rounds, in
# turn.
: > "$out/eager"
round=0
while [ "$round" -lt "$rounds" ]; do
    round=$((round + 1))
    for bytes in 32768 49152 65536 98304 131072 262144; do
        for limit in 32768 65536 131072; do
            FTMPI_EAGER=$limit
            export FTMPI_EAGER
            launch ours tcp 2 latency $bytes "$ms"
            unset FTMPI_EAGER
            figure "$bytes $limit" ours tcp latency >> "$out/eager"
        done
    done
done
sort -k 1,1n -k 2,2n -k 4,4n "$out/eager" | awk '
    function said() {
        us[bytes, limit] = n ? sprintf("%.2f", v[int((n + 1) / 2)]) : "-"
        n = 0
    }
    BEGIN { print "#\tmpi_eager bytes\tus, limit 32 KiB\tlimit 64 KiB\tlimit 128 KiB" }
    $1 != bytes || $2 != limit { if (bytes) said(); bytes = $1; limit = $2 }
    $1 != row[rows] { row[++rows] = $1 }
    $4 != "-" { v[++n] = $4 }
    END {
        said()
        for (i = 1; i <= rows; i++)
            printf "#\tmpi_eager %d\t%s\t%s\t%s\n", row[i], us[row[i], 32768], us[row[i], 65536],
                us[row[i], 131072]
    }'
[ -n "$peers" ] || exit 0

# Name, ranks, way, pattern, bytes, the most of our time / theirs, and of whom: any or mpich.
cat > "$out/jobs" <<'JOBS'
latency_8_tcp 2 tcp latency 8 1.0 any
latency_1K_tcp 2 tcp latency 1024 1.0 any
latency_64K_tcp 2 tcp latency 65536 1.0 any
latency_1M_tcp 2 tcp latency 1048576 1.0 any
rate_8_tcp 2 tcp rate 8 0.1 any
rate_64_tcp 2 tcp rate 64 0.1 any
stream_64K_tcp 2 tcp stream 65536 1.0 any
stream_1M_tcp 2 tcp stream 1048576 1.111 any
stream_16M_tcp 2 tcp stream 16777216 1.111 any
latency_8 2 host latency 8 2.0 mpich
latency_1K 2 host latency 1024 1.5 mpich
reply_8 2 host reply 8 1.5 mpich
stream_64K 2 host stream 65536 1.25 mpich
stream_1M 2 host stream 1048576 1.25 mpich
rate_8 2 host rate 8 2.0 mpich
barrier_8_ranks 8 host barrier 0 0.5 mpich
barrier_16_ranks 16 host barrier 0 0.5 mpich
allreduce_8_ranks 8 host allreduce 8 0.5 mpich
allreduce_16_ranks 16 host allreduce 8 0.5 mpich
bcast_8_tcp 4 tcp bcast 8 1.0 any
bcast_4K_tcp 4 tcp bcast 4096 1.0 any
bcast_256K_tcp 4 tcp bcast 262144 1.0 any
allreduce_8_tcp 4 tcp allreduce 8 1.0 any
allreduce_4K_tcp 4 tcp allreduce 4096 1.0 any
allreduce_256K_tcp 4 tcp allreduce 262144 1.0 any
alltoall_8_tcp 4 tcp alltoall 8 1.0 any
alltoall_4K_tcp 4 tcp alltoall 4096 1.0 any
alltoall_256K_tcp 4 tcp alltoall 262144 1.0 any
init_16 16 host init 0 0.3 mpich
init_64 64 host init 0 0.3 mpich
JOBS
if [ -n "${QUICK-}" ]; then
    grep -E '^(latency_8|bcast_4K)_tcp |^init_16 ' "$out/jobs" > "$out/quick"
    mv "$out/quick" "$out/jobs"
fi

: > "$out/results"
round=0
while [ "$round" -lt "$rounds" ]; do
    round=$((round + 1))
    order="ours$peers"
    [ $((round % 2)) = 0 ] || order="$peers ours"
    while read -r job n way pattern bytes limit whom; do
        for who in $order; do
            [ "$who" != openmpi ] || [ "$whom" = any ] || continue
            launch "$who" "$way" "$n" "$pattern" "$bytes" "$ms"
            figure "$job" "$who" "$way" "$pattern" >> "$out/results"
        done
    done < "$out/jobs"
done

awk -F'\t' -v OFS='\t' -v rounds="$rounds" '
    function median(list, count,   i, k, t) {
        for (i = 2; i <= count; i++)
            for (k = i; k > 1 && list[k - 1] > list[k]; k--) {
                t = list[k]; list[k] = list[k - 1]; list[k - 1] = t
            }
        return count % 2 ? list[(count + 1) / 2] : (list[count / 2] + list[count / 2 + 1]) / 2
    }
    function best(job, i,   a, b) {
        a = got[job, "mpich", i]; b = got[job, "openmpi", i]
        return a == "" ? b : b == "" ? a : a < b ? a : b
    }
    function bar(job, limit,   i, count, r, ratios, a, b) {
        for (i = 1; i <= rounds; i++)
            if (got[job, "ours", i] != "" && best(job, i) != "") {
                ratios[++count] = got[job, "ours", i] / best(job, i)
                a[count] = got[job, "ours", i]; b[count] = best(job, i)
            }
        if (count == 0) {
            print "bar", "mpi_" job, "no round ended well", limit, "short"
            return
        }
        r = median(ratios, count)
        printf "bar\tmpi_%s\t%.3f\t%s\t%s\n", job, r, limit, r <= limit ? "ok" : "short"
        printf "#\tmpi_%s\t%.2f us, peer %.2f us, %d rounds\n", job, median(a, count), median(b, count), count
    }
    FILENAME ~ /jobs$/ { split($0, f, " "); name[++jobs] = f[1]; most[jobs] = f[6]; next }
    { n = ++seen[$1, $2]; if ($3 != "-") got[$1, $2, n] = $3 }
    END { for (j = 1; j <= jobs; j++) bar(name[j], most[j]) }' "$out/jobs" "$out/results"
