#!/bin/sh
# linger.sh - examples/pingpong.c runs: two hosts that look before they sleep do sleep when nothing happens.
set -u
cd "$(dirname "$0")/../.."
dir=$(mktemp -d "${TMPDIR:-/tmp}/phoenix.XXXXXX") || exit 1
trap 'rm -rf "$dir"' EXIT
if ! ${CC:-cc} -std=c99 -O2 -I. -o "$dir/pingpong" examples/pingpong.c "${PHOENIX_O:-phoenix.c}"; then
    echo 'not ok - it compiles'
    exit 1
fi
echo '1..1'
what='a message is answered either way of waiting, and idle hosts sleep'
said=$("$dir/pingpong") && echo "ok - $what" || echo "not ok - $what"
printf '%s\n' "$said" | sed 's/^/# /'
