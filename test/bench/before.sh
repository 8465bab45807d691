#!/bin/sh
# before.sh - `make bench BEFORE=commit`: is this tree as fast as that commit was?
#
#   make bench BEFORE=HEAD~3   11 rounds, 250 ms each measurement: less than ten minutes
#   make bench BEFORE=v1 ROUNDS=3 MS=100 PAIRS=1 ONLY=stream
#
# The programs of this tree's test/bench are built twice, once with phoenix.c and phoenix.h of the commit
# (in build/bench/before) and once with the tree's. So they may use only what both headers have.
#
# A round runs all jobs in an order drawn from the seed. Of each job both builds run right after one another,
# four times in a round, and each time the other one is first: A B B A A B B A. The figure of a bar is the
# median over the rounds of how much faster the tree is: time before / time after, or rate after / rate
# before. Above 1 the tree is faster. The line below each bar tells the least and the greatest ratio, and
# the medians of both builds. Each process stays on a core of its own, since where the scheduler puts them
# changes more than what we look for: on a busy machine the ratio of two equal builds strayed by 12 % in a
# pair, without that by 30 %. CONGESTION works as in run.sh. A commit beside itself shows what the machine
# adds: BEFORE=HEAD in a clean tree.
set -eu
export LC_ALL=C
cd "$(dirname "$0")/../.."
out=build/bench
old=$out/before
limit=0.98
rounds=${ROUNDS:-11}
pairs=${PAIRS:-4}
ms=${MS:-250}
if [ -n "${QUICK-}" ]; then rounds=${ROUNDS:-1} pairs=${PAIRS:-1} ms=${MS:-20}; fi

commit=$(git rev-parse --verify --quiet "$BEFORE^{commit}") || {
    echo "before.sh: BEFORE=$BEFORE is no commit here" >&2
    exit 2
}
mkdir -p "$old"
for file in phoenix.c phoenix.h; do git show "$commit:$file" > "$old/$file"; done
build() { # directory of phoenix.c and phoenix.h, program
    ${CC:-cc} -std=c99 -O2 "-I$1" -o "$2" test/bench/bench.c test/bench/p_*.c test/bench/s_phx.c \
        "$1/phoenix.c"
}
build "$old" "$old/phx" || {
    echo "before.sh: test/bench does not compile with phoenix.h of $BEFORE" >&2
    exit 2
}
build . "$out/phx"

SYSTEMS='phx before/phx' BEFORE=1 QUICK="${QUICK-}" MS="$ms" sh test/bench/jobs.sh > "$old/jobs.all"
awk -F'\t' -v only="${ONLY-}" 'index($1, only)' "$old/jobs.all" > "$old/jobs"
# A bar for each job, as in bars.tsv. Small messages are counted by number, others by bytes.
awk -F'\t' -v OFS='\t' -v limit="$limit" '
    $2 == "after" {
        size = $1
        sub(/.*-/, "", size)
        bar = "speed_" $1
        gsub(/-/, "_", bar)
        figure = size + 0 < 1024 ? "kmsgs" : "GB/s"
        if ($1 ~ /latency/)
            print bar, $1, "us", "before", "us", "after", "min", limit
        else
            print bar, $1, figure, "after", figure, "before", "min", limit
    }' "$old/jobs" > "$old/bars.tsv"

echo "# before: $(git log -1 --format='%h %s' "$commit")"
changed=
git diff --quiet HEAD -- phoenix.c phoenix.h || changed=', changed'
echo "# after: $(git log -1 --format='%h %s')$changed"
echo "# $(wc -l < "$old/bars.tsv" | tr -d ' ') jobs, $rounds rounds of $pairs times $ms ms," \
    "seed ${SEED:-1}; $(nproc) cores; $(uptime | sed 's/.*load/load/')"
congestion=${CONGESTION:-$(cat /proc/sys/net/ipv4/tcp_congestion_control 2> /dev/null || echo unknown)}
echo "# congestion control: $congestion (the same for both)"
nothing=
ROUNDS=$rounds PAIRS=$pairs sh test/bench/rounds.sh "$old/jobs" "$old/results.tsv" || nothing=1
echo "# afterwards: $(uptime | sed 's/.*load/load/')"
awk -F'\t' -v all=1 -v bars_only=1 -f test/bench/report.awk "$old/bars.tsv" "$old/results.tsv"
[ -z "$nothing" ] || exit 1
