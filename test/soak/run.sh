#!/bin/sh
# run.sh - builds soak.c, plain and under sanitizers, and runs it: MINUTES=30 SEED=1 test/soak/run.sh
# Prints lines "bar NAME FIGURE LIMIT ok|short"; status 0 if all are kept.
set -eu
cd "$(dirname "$0")/../.."
mkdir -p build/soak
warn='-std=c99 -g -O1 -Wall -Wextra -Wshadow -Wno-unused-function -I.'
cc=${CC:-cc}
$cc $warn test/soak/soak.c phoenix.c -o build/soak/soak
$cc $warn -DPHX_DEBUG -fsanitize=address,undefined -fno-sanitize-recover=all test/soak/soak.c phoenix.c \
    -o build/soak/soak.sane
SOAK_FILE=build/soak/reports
export SOAK_FILE
rm -f "$SOAK_FILE"
build/soak/soak "${MINUTES:-30}" "${SEED:-1}" build/soak/soak build/soak/soak.sane
