#!/bin/sh
# replay.sh - builds replay.c, and runs the node of a record again: replay.sh [-v] RECORD [KEYFILE ...]
# SANE=1: under sanitizers. TLS=1: a node that speaks TLS. Without a record it only builds.
set -eu
cd "$(dirname "$0")/../.."
mkdir -p build/replay
program=build/replay/replay${SANE:+.sane}${TLS:+.tls}
if [ -z "$(find "$program" -newer phoenix.c -newer phoenix.h -newer test/sim/replay.c 2> /dev/null)" ]; then
    # Of its own name, and moved: two may build at once.
    echo '#define PHX_PRIVATE static' > build/replay/all.h.$$
    ./amalgamate.sh --list | sed -n '/^src\/os\//d; s/.*\.c$/#include "&"/p' >> build/replay/all.h.$$
    mv build/replay/all.h.$$ build/replay/all.h
    ${CC:-cc} -std=c99 -g -O0 -Wall -Wextra -Wno-unused-function -I. -Isrc -DPHX_DEBUG ${TLS:+-DPHX_TLS} \
        ${SANE:+-fsanitize=address,undefined -fno-sanitize-recover=all} \
        test/sim/replay.c ${TLS:+-lbearssl} -o "$program.$$"
    mv "$program.$$" "$program"
fi
[ $# = 0 ] || exec "$program" "$@"
