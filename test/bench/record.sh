#!/bin/sh
# record.sh - instructions of a lone message, and what cfg.record adds, counted by valgrind: lines "bar NAME
# FIGURE LIMIT ok|short".
set -eu
cd "$(dirname "$0")/../.."
mkdir -p build/bench
command -v valgrind > /dev/null || { echo '# record: no valgrind here'; exit 0; }
${CC:-cc} -std=gnu99 -O2 -g -I. test/bench/record.c phoenix.c -o build/bench/record

count() { # what, who is recorded, who is measured
    valgrind --tool=callgrind --callgrind-out-file=/dev/null --toggle-collect="measured_$3*" \
        build/bench/record "$1" "$2" \
        2>&1 | sed -n 's/.*Collected : //p'
}

bar() { # name, with, without, limit
    echo "$2 $3 $4" | awk -v name="$1" '{ printf "bar\trecord: %s\t%.3f\t%s\t%s\n", name, $1 / $2, $3,
        $1 / $2 <= $3 ? "ok" : "short" }'
}

# 2,000 there and as many back: 4,000 messages of which each side has one end.
bar 'a lone message of 8 B, instructions a side / 2,000' "$(count lone nobody sender)" $((4000 * 2000)) 1
bar 'the same between hosts that spin as in latency-spin-8' "$(count spin nobody sender)" $((4000 * 2000)) 1
bar 'stream of 8 B, receiver, of that without' \
    "$(count stream receiver receiver)" "$(count stream nobody receiver)" 1.05
bar 'stream of 8 B, sender, of that without' \
    "$(count stream sender sender)" "$(count stream nobody sender)" 1.5
bar 'lone message, sender, of that without' "$(count lone sender sender)" "$(count lone nobody sender)" 1.05
