#!/bin/sh
# papers.sh - the papers' figures that are times: kept with the machine and the day that they are of.
#
# usage: papers.sh mesh     after `make bench ONLY=mesh`: figure 4 of Kaneda and others (CCGrid 2004)
#        papers.sh detect   after `make bench_detect`: table 2 of Horita and others (2003)
#
# Reads build/bench, writes test/bench/papers. Both commands call it themselves if KEEP=1 is set.
set -eu
export LC_ALL=C
cd "$(dirname "$0")/../.."
out=build/bench kept=test/bench/papers

machine() {
    sed -n 's/^model name[^:]*: *//p' /proc/cpuinfo 2> /dev/null | sed 's/  */ /g;q' | grep . || uname -m
}
header() { # what the columns are, with a | between two
    printf '# drawn at %s, %s; %s, %s cores, %s %s; load %s\n# ' \
        "$(git describe --always --dirty 2> /dev/null || echo unknown)" "$(date -u +%Y-%m-%d)" "$(machine)" \
        "$(nproc)" "$(uname -s)" "$(uname -r | sed 's/-.*//')" \
        "$(cut -d ' ' -f 1 /proc/loadavg 2> /dev/null || echo unknown)"
    echo "$1" | tr '|' '\t'
}

# The medians over the rounds, of jobs mesh-N and mesh-sites-N. A peer's mesh is all that it has: ms.
mesh() {
    awk -F'\t' '{
        size = $2
        sub(/.*-/, "", size)
        how = $2 ~ /sites/ ? "sites" : $3 == "phx" ? "hub" : $3
        for (i = 4; i <= NF; i++)
            if (split($i, part, "=") == 2 && part[1] ~ /^(reached_ms|full_ms|ms)$/)
                print how "\t" size "\t" (part[1] == "reached_ms" ? 3 : 4) "\t" part[2]
    }' "$out/results.tsv" | sort -t "$(printf '\t')" -k1,1 -k2,2n -k3,3n -k4,4n | awk -F'\t' '
        function say() { if (n) print row "\t" reached "\t" full }
        {
            if ($1 "\t" $2 != row) { say(); reached = full = "-"; row = $1 "\t" $2; column = "" }
            if ($3 != column) n = 0
            column = $3
            v[++n] = $4
            median = (v[int((n + 1) / 2)] + v[int(n / 2) + 1]) / 2
            if (column == 3) reached = median
            else full = median
        }
        END { say() }'
}

case ${1-} in
mesh)
    { header 'how|processes|every pair reachable, ms|full mesh, ms'; mesh; } > "$kept/mesh.tsv"
    if command -v gnuplot > /dev/null 2>&1; then
        { printf 'set terminal svg size 800,600\nset output "%s"\ndata = "%s"\n' "$kept/mesh.svg" "$kept"
            cat "$kept/mesh.gp"; } | gnuplot
    else
        echo '# skipped: the picture (Debian: gnuplot-nox)'
    fi ;;
detect)
    { header 'processes|queens|plain, s|tolerant, s|over|plain CPU, s|tolerant CPU, s|over'
        cat "$out/table2.tsv"; } > "$kept/detect.tsv" ;;
*) echo 'usage: papers.sh mesh|detect' >&2; exit 2 ;;
esac
echo "# kept: $kept/$1.tsv"
