#!/bin/sh
# ft.sh - `make bench ONLY=ft`: what failures cost programs of extras/ftmpi, and what it costs without any.
#
# Lines "bar NAME FIGURE LIMIT ok|short"; times are medians of ROUNDS (11) runs that take turns. QUICK=1: one
# short round of each, and without the counts of instructions, which want valgrind. An agreement of two rounds
# is an MPI_Comm_dup in a mode of --ft; that of one round is what a strict MPI_Allreduce takes longer than a
# loose one.
set -eu
export LC_ALL=C
cd "$(dirname "$0")/../.."
out=build/bench/ft
mkdir -p "$out"
rounds=${ROUNDS:-11} ms=${MS:-300} ranks='8 64' count=6400
[ -z "${QUICK-}" ] || rounds=1 ms=30 ranks=8

make -s ftmpi
run=build/ftmpi/ftmpirun
build/ftmpi/ftmpicc -O2 -o "$out/ft_mpi" test/bench/ft_mpi.c
build/ftmpi/ftmpicc -O2 -o "$out/mpi" test/bench/mpi.c
${CC:-cc} -std=c99 -O2 -o "$out/ft" test/bench/ft.c extras/ftmpi/demo/play.c

median() { # of numbers, one in a line; "-" if there is none
    sort -n | awk '$1 != "-" && $1 != "" { v[++n] = $1 }
        END { if (n == 0) print "-"; else print n % 2 ? v[(n + 1) / 2] : (v[n / 2] + v[n / 2 + 1]) / 2 }'
}

bar() { # name, figure, limit: at most
    awk -v name="$1" -v figure="$2" -v limit="$3" 'BEGIN {
        word = figure != "-" && figure + 0 <= limit ? "ok" : "short"
        printf "bar\tft_%s\t%s\t%s\t%s\n", name, figure, limit, word
    }'
}

note() { printf '#\t%s\n' "$*"; }

pairs() { # two files: what the awk expression $3 makes of x and y, the figures of one round; the median
    paste "$out/$1" "$out/$2" | awk "{ x = \$1; y = \$2 } x != \"-\" && y != \"-\" { print $3 }" | median
}

column() { cut -f "$1" "$out/$2"; } # of the figures of one kind of job

# ---- A death ------------------------------------------------------------------------------------------

jobs=
for n in $ranks; do
    for mode in shrink blank; do
        jobs="$jobs $mode:$n"
    done
done
jobs="$jobs rebuild:7" # with the one that is killed there are eight
for job in $jobs; do
    : > "$out/${job%:*}.${job#*:}"
done
round=0
while [ "$round" -lt "$rounds" ]; do
    round=$((round + 1))
    for job in $jobs; do
        "$out/ft" $run "$out/ft_mpi" "${job%:*}" "${job#*:}" >> "$out/${job%:*}.${job#*:}" 2>> "$out/err"
    done
done
for n in $ranks; do
    told=20 recovered=20
    [ "$n" = 8 ] || told=100 recovered=200
    bar "told_${n}_survivors_ms" "$(cat "$out/shrink.$n" "$out/blank.$n" | cut -f 1 | median)" $told
    for mode in shrink blank; do
        bar "${mode}_${n}_ranks_ms" "$(column 2 $mode.$n | median)" $recovered
    done
done
column 2 rebuild.7 > "$out/rebuild.all"
column 3 rebuild.7 > "$out/rebuild.exec"
bar rebuild_8_ranks_ms "$(pairs rebuild.all rebuild.exec 'x - y')" 50
note "rebuild: fork and exec until main() take $(median < "$out/rebuild.exec") ms of it, not counted here"

# ---- Agreement ----------------------------------------------------------------------------------------

figure() { # file, words of ftmpirun: the first figure of the last line
    to=$1
    shift
    { timeout 60 $run "$@" 2>> "$out/err" < /dev/null || echo -; } > "$out/said"
    awk 'END { print NR > 0 ? $1 : "-" }' "$out/said" >> "$out/$to"
}

for one in reduce strict dup; do : > "$out/$one"; done
round=0
while [ "$round" -lt "$rounds" ]; do
    round=$((round + 1))
    figure reduce -n 8 --ft shrink "$out/ft_mpi" reduce "$ms"
    figure strict -n 8 --ft shrink,nop,strict "$out/ft_mpi" reduce "$ms"
    figure dup -n 8 --ft shrink "$out/ft_mpi" dup "$ms"
done
bar agree_1_round_of_allreduce "$(pairs strict reduce 'x / y - 1')" 2
bar agree_2_rounds_of_allreduce "$(pairs dup reduce 'x / y')" 4
note "8 ranks, us: allreduce $(median < "$out/reduce"), strict $(median < "$out/strict")," \
    "dup $(median < "$out/dup")"

# ---- Nobody dies --------------------------------------------------------------------------------------

modes='abort shrink,nop shrink,cont'
for mode in $modes; do : > "$out/latency.$mode"; : > "$out/stream.$mode"; done
round=0
while [ "$round" -lt "$rounds" ]; do
    round=$((round + 1))
    for mode in $modes; do
        figure "latency.$mode" -n 2 --ft $mode "$out/mpi" latency 8 "$ms"
        figure "stream.$mode" -n 2 --ft $mode "$out/mpi" stream 1048576 "$ms"
    done
done
for mode in shrink,nop shrink,cont; do
    for what in latency stream; do
        bar "${what}_${mode#*,}_of_abort" "$(pairs $what.$mode $what.abort 'x / y')" 1.05
    done
done

# Instructions of a message, both sides: those of twice as many messages, less those of as many, so that what
# comes once is not counted; the least of seven runs each that take turns, since a process that is put aside
# looks for news more often.
instructions() { # mode, messages
    timeout 300 $run -n 2 --ft "$1" valgrind --tool=callgrind --callgrind-out-file=/dev/null \
        --collect-atstart=no --toggle-collect=batch "$out/ft_mpi" messages "$2" 2>&1 < /dev/null \
        | awk '/Collected/ { n++; sum += $NF } END { if (n == 2) print sum }'
}
if [ -n "${QUICK-}" ]; then exit 0; fi
if ! command -v valgrind > /dev/null; then
    echo '# skipped: instructions per message (Debian: valgrind)'
    exit 0
fi
for mode in $modes; do : > "$out/once.$mode"; : > "$out/twice.$mode"; done
for round in 1 2 3 4 5 6 7; do
    for mode in $modes; do
        instructions $mode $count >> "$out/once.$mode"
        instructions $mode $((2 * count)) >> "$out/twice.$mode"
    done
done
least() { sort -n "$1" | head -1; }
for mode in $modes; do
    each=$(awk -v a="$(least "$out/once.$mode")" -v b="$(least "$out/twice.$mode")" -v n=$count \
        'BEGIN { print a == "" || b == "" ? "-" : (b - a) / n }')
    [ "$mode" != abort ] || alone=$each
    [ "$mode" = abort ] || bar "instructions_${mode#*,}_of_abort" \
        "$(echo "$each $alone" | awk '{ print $1 == "-" || $2 == "-" ? "-" : $1 / $2 }')" 1.005
    note "instructions of a message, $mode: $each"
done
