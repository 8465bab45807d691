#!/bin/sh
# rounds.sh - runs each job of a list once in each round, and writes down what each said.
#
# usage: rounds.sh JOBS RESULTS; ROUNDS=n SEED=n. JOBS has lines of name, system and command, RESULTS gets
# lines of round, name, system and the figures, all tab-separated. PAIRS=n: the systems of one name run right
# after one another, n times in each round, and each time in the other order: A B B A A B. Exits 1 if some run
# gave nothing.
set -eu
export LC_ALL=C
jobs=$1 results=$2
said=$results.said
tab=$(printf '\t')
cores=
if command -v taskset > /dev/null 2>&1; then cores='taskset -c 0,1'; fi
: > "$results"
round=1 nothing=0
while [ "$round" -le "$ROUNDS" ]; do
    awk -F'\t' -v seed="$((${SEED:-1} * 1000 + round))" -v round="$round" -v pairs="${PAIRS:-0}" '
        BEGIN { srand(seed) }
        !pairs || !($1 in place) { place[$1] = rand() }
        {
            i = 0
            do {
                turn = (round + i) % 2 ? NR : 9999 - NR
                printf "%.9f\t%04d\t%04d\t%s\n", place[$1], i, turn, $0
            } while (++i < pairs)
        }' "$jobs" \
        | sort | cut -f4- > "$results.order"
    while IFS=$tab read -r name system command; do
        line=$(timeout -k 5 90 $cores sh -c "$command" 2> "$said" < /dev/null | grep = | head -1) || :
        if [ -z "$line" ]; then
            echo "# round $round: nothing from: $command ($(head -1 "$said"))"
            nothing=$((nothing + 1))
        fi
        printf '%s\t%s\t%s\t%s\n' "$round" "$name" "$system" "$line" >> "$results"
    done < "$results.order"
    round=$((round + 1))
done
rm -f "$said" "$results.order"
if [ "$nothing" -gt 0 ]; then
    echo "# $nothing runs gave nothing"
    exit 1
fi
