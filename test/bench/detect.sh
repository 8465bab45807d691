#!/bin/sh
# detect.sh - what failure detection costs: table 2 of the paper again, and its heartbeats, on real processes.
#
# Table 2: N queens by random stealing, plain against fault tolerant, for 2, 4, 8 and 16 processes. "Plain" is
# the same program without fault handling (-x) and with a detector that says nothing (-d off); "tolerant" has
# both, as the paper's Normal and FT do. The paper's T_interval is 5 s and its runs took minutes. Ours take
# seconds, so T_interval is 0.5 s here: per run as many heartbeats as in one ten times as long. Rounds are
# interleaved, plain and tolerant in turn, and medians compared: of time on the clock, which on few cores with
# other users wanders by more than what is measured, of CPU time, and of instructions per process
# (perf if the machine counts them, else valgrind on a smaller board).
#
# Heartbeats: 16 idle processes, the paper's k = 2 and T_insurance = 40 T_interval, counted by themselves. (In
# a run of a second, what is said at the beginning of each link would outweigh them.)
#
# Prints lines for people and "bar NAME FIGURE LIMIT ok|short". N=16 queens, ROUNDS=5, PROCESSES="2 4 8 16".
# About six minutes on two quiet cores; QUICK=1: two, with 14 queens. KEEP=1: the table goes to
# test/bench/papers, with machine and day. All children end by themselves or
# are ended by the programs that started them.
set -eu
export LC_ALL=C
cd "$(dirname "$0")/../.."
out=build/bench
mkdir -p "$out"
queens=${N:-16} rounds=${ROUNDS:-5} window=20
if [ -n "${QUICK-}" ]; then queens=${N:-14} rounds=${ROUNDS:-3} window=5; fi
${CC:-cc} -std=c99 -O2 -g -I. -o "$out/nqueens" examples/nqueens.c extras/ph/ph.c phoenix.c
${CC:-cc} -std=c99 -O2 -I. -o "$out/detect" test/bench/detect.c phoenix.c
plain='-x -d off' tolerant='-d paper -i 500'

bar() { # name, figure, limit: good if it is not above
    awk -v name="$1" -v figure="$2" -v limit="$3" 'BEGIN {
        printf "bar\t%s\t%s\t%s\t%s\n", name, figure, limit, figure + 0 <= limit + 0 ? "ok" : "short" }'
}
median() { # column of file: 2 arguments
    cut -f "$1" "$2" | sort -n | awk '{ v[NR] = $1 } END {
        print NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'
}
percent() { awk -v a="$1" -v b="$2" 'BEGIN { printf "%.2f", (b / a - 1) * 100 }'; } # how much b is above a

echo "# load of the machine: $(cut -d ' ' -f 1-3 /proc/loadavg 2> /dev/null || echo unknown)"
: > "$out/table2.tsv"
echo "# processes, queens, plain s, tolerant s, over %; plain CPU s, tolerant CPU s, over %"
for p in ${PROCESSES:-2 4 8 16}; do
    : > "$out/plain.tsv"
    : > "$out/tolerant.tsv"
    round=0
    while [ "$round" -lt "$rounds" ]; do
        round=$((round + 1))
        timeout 190 "$out/nqueens" -q -n "$queens" -p "$p" -s "$round" $plain >> "$out/plain.tsv"
        timeout 190 "$out/nqueens" -q -n "$queens" -p "$p" -s "$round" $tolerant >> "$out/tolerant.tsv"
    done
    s0=$(median 8 "$out/plain.tsv") s1=$(median 8 "$out/tolerant.tsv")
    c0=$(median 11 "$out/plain.tsv") c1=$(median 11 "$out/tolerant.tsv")
    printf '%s\t%s\t%s\t%s\t%s %%\t%s\t%s\t%s %%\n' "$p" "$queens" "$s0" "$s1" "$(percent "$s0" "$s1")" \
        "$c0" "$c1" "$(percent "$c0" "$c1")" | tee -a "$out/table2.tsv"
    bar "detect_time_percent_$p" "$(percent "$s0" "$s1")" 1
    bar "detect_cpu_percent_$p" "$(percent "$c0" "$c1")" 1
done

# Instructions of all processes but the launcher, per process; the total is divided by what is the same in
# both, so it does not matter who did which task.
by_perf() { # arguments of nqueens
    perf stat -x , -e instructions:u "$out/nqueens" -q "$@" 2>&1 > /dev/null |
        awk -F , '$3 ~ /instructions/ && $1 + 0 > 0 { print $1 }'
}
by_valgrind() {
    valgrind --tool=cachegrind --cache-sim=no --cachegrind-out-file=/dev/null \
        "$out/nqueens" -q "$@" 2>&1 > /dev/null |
        awk '/I +refs:/ { gsub(",", "", $NF); sum += $NF } END { print sum }'
}
count='' small=$queens
if [ -n "$(by_perf -n 8 -p 1 2> /dev/null)" ]; then count=by_perf
elif command -v valgrind > /dev/null 2>&1; then count=by_valgrind small=14
else echo '# skipped: instructions (no counter of the machine for perf, and no valgrind)'; fi
if [ -n "$count" ]; then
    echo "# instructions ($count), $small queens: processes, plain, tolerant per process, over %"
    for p in ${PROCESSES:-2 4 8 16}; do
        : > "$out/plain.tsv"
        : > "$out/tolerant.tsv"
        for round in 1 2 3; do
            $count -n $small -p "$p" -s $round $plain >> "$out/plain.tsv"
            $count -n $small -p "$p" -s $round $tolerant >> "$out/tolerant.tsv"
        done
        i0=$(median 1 "$out/plain.tsv") i1=$(median 1 "$out/tolerant.tsv")
        printf '%s\t%.0f\t%.0f\t%s %%\n' "$p" $((${i0%.*} / p)) $((${i1%.*} / p)) "$(percent "$i0" "$i1")"
        bar "detect_instructions_percent_$p" "$(percent "$i0" "$i1")" 1
    done
fi

echo "# 16 idle processes, k = 2, T_interval 1 s, T_insurance 40 s; see detect.c for the columns"
timeout 120 "$out/detect" -w "$window" -r 1 phx 16 2,1000,40000,1000,1000 > "$out/idle.tsv"
cat "$out/idle.tsv"
bar detect_heartbeats_16 "$(cut -f 9 "$out/idle.tsv")" 2.5
if [ -n "${KEEP-}" ]; then sh test/bench/papers.sh detect; fi
