#!/bin/sh
# run.sh - `make cliffs`: what one change costs, over several sizes, in exact counts.
#
#     make cliffs              full size, some minutes: lines "bar NAME FIGURE LIMIT ok|short", tab-separated
#     make cliffs ONLY=held    rows whose names contain the word
#     test/bench/cliffs/run.sh small    TAP, of small sizes: what `make test` runs
#
# Work is counted by -fsanitize-coverage=trace-pc; where the compiler has no such thing all is skipped, and
# said to be. phoenix.c is compiled as it ships, but for its calls of memcpy, memmove and memset, which are
# counted.
set -eu
export LC_ALL=C
cd "$(dirname "$0")/../../.."
cc=${CC:-cc}
dir=build/cliffs
mkdir -p "$dir"
warn='-Wall -Wextra -Wshadow -Wconversion -Wstrict-prototypes -Wundef -pedantic'
count='-fsanitize-coverage=trace-pc -U_FORTIFY_SOURCE -Dmemcpy=cliffs_memcpy -Dmemmove=cliffs_memmove
    -Dmemset=cliffs_memset'

skip() {
    if [ "${1-}" = small ]; then printf 'ok 1 - cliffs # SKIP %s counts no blocks\n1..1\n' "$cc"
    else echo "# cliffs: SKIP $cc counts no blocks"; fi
    exit 0
}

echo 'int main(void) { return 0; }' > "$dir/try.c"
$cc -fsanitize-coverage=trace-pc -c "$dir/try.c" -o "$dir/try.o" 2> /dev/null || skip "${1-}"
$cc -std=c99 -O2 $warn $count -c phoenix.c -o "$dir/phoenix.o"
for f in test/sim/world test/sim/stream test/sim/verbs test/bench/cliffs/net test/bench/cliffs/cliffs; do
    $cc -std=c99 -O2 $warn -c "$f.c" -o "$dir/$(basename "$f").o"
done
$cc -o "$dir/cliffs" "$dir/phoenix.o" "$dir/world.o" "$dir/stream.o" "$dir/verbs.o" "$dir/net.o" \
    "$dir/cliffs.o" -lm
[ "${1-}" = small ] || exec "$dir/cliffs" ${SMALL:+small} ${ONLY:+"$ONLY"}

# A row that is short fails, and so does a program that dies before its last row.
status=0
"$dir/cliffs" small > "$dir/small" || status=$?
awk -F '\t' -v status="$status" '
    $1 == "bar" {
        n++
        print ($5 == "ok" ? "ok " : "not ok ") n " - " $2 ": " $3 " <= " $4
        short += $5 != "ok"
    }
    $1 != "bar" { print }
    END {
        n++
        print (status == 0 || (status == 3 && short) ? "ok " : "not ok ") n " - cliffs: all rows were counted"
        print "1.." n
    }' "$dir/small"
