#!/bin/sh
# mpi_figures.sh - figure 3 of Fagg and Dongarra (2004) again, a part of `make figures`: bandwidth over size.
#
# Two ranks of this machine over TCP, `stream` of mpi.c: extras/ftmpi in three modes, MPICH and Open MPI where
# they are, and bare TCP (mpi_raw.c). Medians of ROUNDS=3 runs of MS=100, the systems in turn; an MPI that did
# not use TCP has no figure. Writes build/figures/mpi.tsv. SIZES="1 1024" does with those.
set -eu
export LC_ALL=C
cd "$(dirname "$0")/../.."
dir=build/figures
mkdir -p "$dir"
out=build/bench/mpi
. test/bench/mpi_with.inc
${CC:-cc} -std=c99 -O2 -o "$out/raw" test/bench/mpi_raw.c

: > "$out/figure"
round=0
while [ $round -lt "${ROUNDS:-3}" ]; do
    round=$((round + 1))
    for bytes in ${SIZES:-1 4 16 64 256 1024 4096 16384 65536 262144 1048576 4194304 16777216}; do
        for mode in abort shrink,nop blank,cont; do
            FT=$mode
            launch ours tcp 2 stream "$bytes" "${MS:-100}"
            figure "$bytes" "${mode#*,}" tcp stream >> "$out/figure"
        done
        for who in $peers raw; do
            launch "$who" tcp 2 stream "$bytes" "${MS:-100}"
            figure "$bytes" "$who" tcp stream >> "$out/figure"
        done
    done
done

printf '# system\tbytes\tus a message\tMB/s\n' > "$dir/mpi.tsv"
for who in abort nop cont mpich openmpi raw; do
    awk -F '\t' -v who=$who '$2 == who && $3 != "-"' "$out/figure" | sort -k 1,1n -k 3,3n \
        | awk -F '\t' -v OFS='\t' -v who=$who '
        function said() { us = v[int((n + 1) / 2)]; print who, bytes, us, sprintf("%.3f", bytes / us) }
        $1 != bytes && n { said(); n = 0 }
        { bytes = $1; v[++n] = $3 }
        END { if (n) said() }' >> "$dir/mpi.tsv"
done
echo "$dir/mpi.tsv"
