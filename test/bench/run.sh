#!/bin/sh
# run.sh - `make bench`: figures that are times, on real processes. They inform and never fail a build.
#
# Prints a line per size for people, and lines "bar NAME FIGURE LIMIT ok|short" for scripts.
set -eu
cd "$(dirname "$0")/../.."
mkdir -p build/bench
${CC:-cc} -std=c99 -O2 -I. -o build/bench/mesh test/bench/mesh.c phoenix.c

echo '# start of a full mesh on loopback, one hub known: median of 5 by "full"'
for n in ${NODES:-16 32 64 100}; do
    for round in 1 2 3 4 5; do build/bench/mesh "$n"; done | sort -t "$(printf '\t')" -k4n | sed -n 3p
done

# The price of TLS, where there is BearSSL: two processes, one link.
if ${CC:-cc} -std=c99 -O2 -DPHX_TLS -I. -o build/bench/tls test/bench/tls.c phoenix.c -lbearssl 2> /dev/null
then
    echo '# one link over loopback, messages of 1 MB, without and with TLS: best of 3'
    for how in plain tls; do
        for round in 1 2 3; do build/bench/tls "$how" 1024; done | sort -t "$(printf '\t')" -k2rn | sed -n 1p
    done
else
    echo '# no libbearssl-dev here: nothing is said about TLS'
fi

# The simulator's speed is a time too: a clique of 1,000 within 120 s on one core.
if [ -z "${QUICK-}" ]; then
    start=$(date +%s)
    SCENARIO=cold_start NODES=1000 EVERY=1000000 ./test/sim/run.sh > build/bench/sim.log
    took=$(($(date +%s) - start))
    verdict=ok
    [ "$took" -le 120 ] || verdict=short
    printf 'bar\tsim_1000_clique_s\t%d\t120\t%s\n' "$took" "$verdict"
fi
